/* For targets that run a command of the program as main does, on files made from the input (input_files.h).
 * The target defines `commands` before it includes this: the names of the commands that may run, and ends the
 * list with NULL. A step is named "sweep top", and an old name ("TraceLens_...") runs if the command may.
 *
 * Files lie in a temporary folder, which is the current one while the command runs; words that name other
 * places are rejected, and so are options that start programs. To keep what fails, run the target with an
 * absolute path as -artifact_prefix, as scripts/fuzz does.
 *
 * A target that defines STAND_INS, the names of programs, allows those options: each of the programs is then
 * a stand-in that prints the file `reply` of the input.
 *
 * A word "&&" separates commands that run one after the other: the later ones read what the earlier ones
 * wrote, such as indexes and partials, which only the build that wrote them reads.
 *
 * A command whose words do not say how many threads it uses has one or four, by the size of the input.
 *
 * A command that fails must say why, and leave no temporary files. With GPUTALLY_FUZZ_PRINT in the
 * environment, what the command prints is shown. */
#ifndef GT_FUZZ_COMMAND_H
#define GT_FUZZ_COMMAND_H

#include "base/log.h"
#include "cli/common.h"
#include "cli/effects.h"
#include "input/files.h"
#include "input_files.h"
#include "mutate_text.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <unistd.h>

static char work_folder[64];
static int old_folder;

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type;
    if (place->level > 0) remove(path);
    return 0;
}

static int find_temporary_file(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type;
    return strstr(path + place->base, ".tmp-") != NULL;
}

static void remove_work_folder(void)
{
    rmdir(work_folder);
}

#ifdef STAND_INS
static char program_folder[64];

static void remove_program_folder(void)
{
    nftw(program_folder, remove_entry, 4, FTW_DEPTH | FTW_PHYS);
    rmdir(program_folder);
}

/* SIG_IGN would mean nohup: commands would go on waiting. */
static void survive_hangup(int number)
{
    (void)number;
}

/* The stand-in for NAME prints the file reply.NAME of the input, if there is one. Extensions reply on
 * descriptor 4, and other programs on standard output; there, descriptor 4 may be the fuzzer's. squeue hangs
 * up when it is called for the eighth time, which ends the waiting for a job that never ends. */
static void make_programs(void)
{
    static const char *const names[] = STAND_INS;
    char path[128];
    snprintf(program_folder, sizeof program_folder, "/tmp/gputally-fuzz-programs-XXXXXX");
    if (!mkdtemp(program_folder)) abort();
    atexit(remove_program_folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", program_folder, names[i]);
        FILE *file = fopen(path, "w");
        if (!file) abort();
        fprintf(file, "#!/bin/sh\ncd %s\nreply=reply.%s\n[ -f $reply ] || reply=reply\n", work_folder,
                names[i]);
        if (strcmp(names[i], "squeue") == 0)
            fprintf(file,
                    "calls=\n[ -f .calls ] && read -r calls <.calls\necho x$calls >.calls\n"
                    "[ ${#calls} -lt 7 ] || kill -HUP %d\n",
                    (int)getpid()); /* $PPID is a supervisor */
        fprintf(file, "exec /bin/cat $reply 2>/dev/null%s\n",
                strncmp(names[i], "extension", 9) == 0 ? " >&4" : "");
        fclose(file);
        chmod(path, 0755);
    }
    setenv("PATH", program_folder, 1);
    setenv("GEMM_SIMULATOR_PATH", path, 1);
    setenv("GPUTALLY_SLURM_POLL_SECONDS", "0.001", 1);
    signal(SIGHUP, survive_hangup);
}
#endif

/* Cairo's font library keeps what it allocates for its settings. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    snprintf(work_folder, sizeof work_folder, "%s/gputally-fuzz-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    old_folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int nothing = open("/dev/null", O_RDONLY);
    if (!mkdtemp(work_folder) || old_folder < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) abort();
    close(nothing);
    atexit(remove_work_folder);
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("PATH");
#ifdef STAND_INS
    make_programs();
#endif
    return 0;
}

static bool may_run(const char *name)
{
    for (const char *const *command = commands; *command; command++)
        if (strcmp(*command, name) == 0) return true;
    return false;
}

/* The command that the words name; *used counts them. NULL: none, or one that may not run. */
static const gt_command *find_command(const command_input *input, bool *by_old_name, int *used)
{
    if (!input->count) return NULL;
    const gt_command *command = gt_command_find(input->words[0]);
    *by_old_name = !command;
    *used = 1;
    if (!command) command = gt_command_find_by_old_name(input->words[0]);
    if (!command) return NULL;
    const gt_command *step = gt_command_steps(command);
    if (!step) return may_run(command->name) ? command : NULL;
    char name[96];
    while (input->count > 1 && step->name && strcmp(step->name, input->words[1]) != 0) step++;
    snprintf(name, sizeof name, "%s %s", command->name, step->name ? step->name : "");
    *used = 2;
    return input->count > 1 && step->name && may_run(name) ? step : NULL;
}

static bool is_harmless_value(const gt_option_value *value)
{
    for (size_t i = 0; i < value->text_count; i++)
        if (value->texts[i][0] == '/' || strstr(value->texts[i], "..")) return false;
    return !value->text || (value->text[0] != '/' && !strstr(value->text, ".."));
}

static bool has_group(const gt_syntax *syntax, const gt_option_group *group)
{
    for (size_t i = 0; i < GT_OPTION_GROUPS_MAX; i++)
        if (syntax->groups[i] == group) return true;
    return false;
}

/* Whether the folder of --partials can be made: otherwise the process ends, as those of a process group must.
 */
static bool can_keep_partials(const gt_arguments *arguments)
{
    struct stat status;
    const char *folder =
        gt_syntax_option(arguments->syntax, "partials") ? gt_arguments_string(arguments, "partials") : NULL;
    if (!folder || !is_inside(folder)) return !folder;
    make_folders(folder);
    mkdir(folder, 0755);
    return stat(folder, &status) == 0 && S_ISDIR(status.st_mode);
}

static const char *const resolutions[] = {"dpi", "plot_dpi"};

/* Whether `run` or `sweep run` starts nothing that the input names. */
static bool starts_nothing(const gt_arguments *arguments)
{
    if (gt_arguments_flag(arguments, "dry_run")) return true;
#ifdef STAND_INS
    return gt_syntax_option(arguments->syntax, "task") && !gt_arguments_value(arguments, "task")->given &&
           strcmp(gt_arguments_string(arguments, "target"), "slurm") == 0;
#else
    return false;
#endif
}

/* No program is started, every path stays in the folder, and threads and pixels are few. */
static bool is_harmless(const gt_command *command, const gt_arguments *arguments)
{
    if (strcmp(command->name, "run") == 0 && !starts_nothing(arguments)) return false;
    if (has_group(command->syntax, &gt_common_group) && gt_arguments_int(arguments, "threads") > 4)
        return false;
    for (size_t i = 0; i < sizeof resolutions / sizeof *resolutions; i++) {
        if (!gt_syntax_option(command->syntax, resolutions[i])) continue;
        const gt_option_value *dots = gt_arguments_value(arguments, resolutions[i]);
        if (dots->given && dots->number > 50) return false;
    }
#ifndef STAND_INS
    static const char *const programs[] = {"enable_origami", "extension_file", "node_replay", "python_path",
                                           "run",            "traceconv"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (gt_syntax_option(arguments->syntax, programs[i]) &&
            gt_arguments_value(arguments, programs[i])->given)
            return false;
#endif
    for (size_t i = 0; i < arguments->file_count; i++)
        if (!is_inside(arguments->files[i])) return false;
    for (size_t i = 0; i < GT_OPTIONS_MAX; i++)
        if (!is_harmless_value(&arguments->values[i])) return false;
    return can_keep_partials(arguments);
}

static bool has_word(const command_input *input, const char *word)
{
    for (int i = 0; i < input->count; i++)
        if (strcmp(input->words[i], word) == 0) return true;
    return false;
}

/* Adds an option that the input does not have. */
static void add_option(command_input *input, const char *name, const char *value)
{
    if (has_word(input, name)) return;
    input->words[input->count++] = strdup(name);
    input->words[input->count++] = strdup(value);
}

/* Whether the command has --threads in the sense of all commands; a sweep has settings of that name. */
static bool has_threads(const gt_syntax *syntax)
{
    const gt_option *option = gt_syntax_option(syntax, "threads");
    return option && option->kind == GT_OPTION_INT;
}

/* As main does: with a team of threads, and with the folder that --partials names. */
static gt_exit run_call(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    bool shares = gt_syntax_option(arguments->syntax, "partials") != NULL;
    if (shares) gt_parts_allow(call->command->name, gt_arguments_string(arguments, "partials"));
    bool has_several = has_threads(arguments->syntax) && gt_arguments_int(arguments, "threads") > 1;
    gt_exit status = gt_call_run(call, has_several ? 4 : 1);
    gt_warn_without_effect(arguments);
    if (shares) gt_parts_end(status == GT_EXIT_FAILED);
    return status;
}

static gt_exit run_command(const gt_command *command, bool by_old_name, command_input *input, int used,
                           const char *threads)
{
    char program[64];
    snprintf(program, sizeof program, "gputally %s", command->name);
    gt_call call = {
        .command = command, .program = by_old_name ? command->old_name : program, .by_old_name = by_old_name};
    gt_error error;
    gt_exit status = GT_EXIT_DONE;
    if (has_threads(command->syntax)) add_option(input, "--threads", threads);
    if (strcmp(command->name, "query") == 0)
        add_option(input, "--timeout", "1"); /* statements may be endless */
    if (gt_syntax_option(command->syntax, "dpi")) add_option(input, "--dpi", "20");
    if (has_word(input, "--generate_plots")) add_option(input, "--plot_dpi", "20");
    if (!gt_arguments_parse(&call.arguments, command->syntax, input->count - used, input->words + used,
                            &error))
        status = gt_usage_error(program, "%s", error.text);
    else if (!gt_check_outputs(&call, &error) || !gt_check_endings(&call, &error) ||
             !gt_check_minimums(&call, &error) || !gt_memory_option_apply(&call.arguments, &error))
        status = gt_usage_error(program, "%s", error.text);
    else if (!call.arguments.help && !call.arguments.version && is_harmless(command, &call.arguments))
        status = run_call(&call);
    gt_log_end_repeats();
    gt_arguments_free(&call.arguments);
    return status;
}

/* Runs a command with everything that it prints in memory: the fuzzer and the sanitizers use the descriptors.
 */
static void run_and_check(command_input *input, const char *threads, bool names_temporary)
{
    bool by_old_name;
    int used;
    const gt_command *command = find_command(input, &by_old_name, &used);
    if (!command) return;
    FILE *usual_output = stdout, *usual_errors = stderr;
    char *text = NULL;
    size_t len = 0;
    gt_journal_end();
    gt_log_quiet(false);
    stdout = stderr = open_memstream(&text, &len);
    gt_exit status = run_command(command, by_old_name, input, used, threads);
    fclose(stderr);
    stdout = usual_output;
    stderr = usual_errors;
    if ((status == GT_EXIT_FAILED || status == GT_EXIT_USAGE) && !len) abort();
    if (!names_temporary && nftw(".", find_temporary_file, 16, FTW_PHYS) != 0) abort();
    if (getenv("GPUTALLY_FUZZ_PRINT")) fprintf(stderr, "%sexit status %d\n", text, (int)status);
    free(text);
}

/* The words from *first on, up to "&&" or the end; *first is moved after them. */
static command_input take_command(const command_input *all, int *first)
{
    command_input one = {.count = 0};
    while (*first < all->count && strcmp(all->words[*first], "&&") != 0)
        one.words[one.count++] = strdup(all->words[(*first)++]);
    ++*first;
    return one;
}

enum { COMMANDS_MAX = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (chdir(work_folder) != 0) abort();
    command_input input = unpack_input((gt_str){(const char *)data, size});
    bool names_temporary =
        size && memmem(data, size, ".tmp-", 5); /* files of that name are the input's own */
    for (int first = 0, count = 0; first < input.count && count < COMMANDS_MAX; count++) {
        command_input one = take_command(&input, &first);
        run_and_check(&one, size % 4 ? "1" : "4", names_temporary);
        free_input(&one);
    }
    free_input(&input);
    nftw(".", remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (fchdir(old_folder) != 0) abort();
    return 0;
}

#endif
