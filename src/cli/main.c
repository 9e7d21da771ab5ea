/* The gputally program: finds the command, by the name it was called by or by its first argument, and runs
 * it. */
#include "base/printing.h"
#include "base/threads.h"
#include "cli/common.h"
#include "cli/completion/completion.h"
#include "cli/effects.h"
#include "cli/index_files.h"
#include "cli/version.h"
#include "procs/procs.h"
#include "helper/helper.h"
#include "input/files.h"
#include "json/scan_set.h"
#include "output/terminal.h"
#include "os/child.h"
#include "os/own.h"
#include "os/paths.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Whether a word is an option, or a prefix of it that cannot mean --version or --verbose both. */
static bool is_long_option(const char *word, const char *option)
{
    size_t len = strlen(word);
    return len >= strlen("--ver") + 1 && strncmp(word, option, len) == 0;
}

/* `words`: those of the command line after the program. */
static gt_exit print_version(int count, char **words)
{
    bool details = false;
    for (int i = 0; i < count; i++) details |= is_long_option(words[i], "--verbose");
    if (details)
        gt_version_print_verbose(stdout);
    else
        gt_version_print(stdout);
    return GT_EXIT_DONE;
}

/* How many threads the options ask for, or one per core, as far as memory allows. Numbers that make no sense
 * are the command's to refuse. */
static unsigned threads_of(const gt_arguments *arguments)
{
    static const char *const names[] = {"threads", "max_workers"}; /* the first one counts */
    for (size_t i = 0; i < GT_LENGTH(names); i++) {
        const gt_option *option = gt_syntax_option(arguments->syntax, names[i]);
        if (!option || option->kind != GT_OPTION_INT) continue;
        const gt_option_value *value = gt_arguments_value(arguments, names[i]);
        if (value->given && value->number >= 1 && value->number <= GT_THREADS_MAX)
            return gt_memory_option_threads((unsigned)value->number);
    }
    return gt_memory_option_threads(gt_threads_default());
}

/* Columns are allocated and freed all the time. Freed memory is kept for the next ones, because returning it
 * to the system would cost a page fault per 4 KiB. Few threads seldom wait for each other's arena, and one
 * keeps less freed memory than several; many threads need one each. */
static void arrange_memory(unsigned threads)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 256 << 10);
    mallopt(M_ARENA_MAX, threads < GT_MANY_THREADS ? 1 : (int)threads);
#endif
}

static gt_exit run_with_threads(const gt_call *call)
{
    unsigned threads = threads_of(&call->arguments);
    arrange_memory(threads);
    return gt_call_run(call, threads);
}

/* Says on a terminal what a call by an old name is. */
static void introduce(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    if (call->by_old_name && !gt_arguments_flag_if(arguments, "quiet") && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: this is gputally %s\n", call->program, call->command->name);
}

/* ---- several processes ---- */

static bool can_share(const gt_command *command)
{
    return command->syntax && gt_syntax_option(command->syntax, "partials");
}

/* The processes on one machine share its cores, unless they are bound to some. */
static void share_cores(void)
{
    size_t processes = gt_procs_local_size();
    const char *given = getenv("SLURM_CPUS_ON_NODE");
    unsigned long cores = given ? strtoul(given, NULL, 10) : 0;
    if (!cores || cores > gt_threads_of_machine()) cores = gt_threads_of_machine();
    if (processes > 1) gt_threads_limit_default(cores > processes ? (unsigned)(cores / processes) : 1);
}

static void before_leaving(void)
{
    gt_output_remove_unfinished();
    gt_parts_abandon();
}

static bool start_group(const gt_call *call, bool is_group, int argc, char **argv, gt_error *error)
{
    const gt_procs_setup setup = {.argc = argc, .argv = argv, .before_leaving = before_leaving};
    if (!can_share(call->command)) return true;
    gt_parts_allow(call->command->name, gt_arguments_string(&call->arguments, "partials"));
    if (!is_group) return true;
    gt_cleanup_install_now();
    return gt_procs_start(&setup, error);
}

static gt_exit end_group(const gt_call *call, gt_exit status)
{
    if (!can_share(call->command)) return status;
    status = (gt_exit)gt_procs_end((int)status);
    gt_parts_end(status == GT_EXIT_FAILED);
    return status;
}

enum { MESSAGE_WAIT_US = 5000000 };

static gt_exit run_command(const gt_command *command, const char *program, bool by_old_name, int argc,
                           char **argv)
{
    gt_call call = {.command = command, .program = program, .by_old_name = by_old_name};
    gt_error error;
    gt_exit status = GT_EXIT_DONE;
    bool is_group = can_share(command) && gt_procs_prepare();
    if (is_group) share_cores();
    bool parsed = gt_arguments_parse(&call.arguments, command->syntax, argc, argv, &error);
    introduce(&call); /* also if the call is wrong or asks for help */
    gt_claim_standard_output(&call);
    if (!parsed)
        status = gt_usage_error(program, "%s", error.text);
    else if (call.arguments.version)
        status = print_version(argc, argv);
    else if (call.arguments.help)
        gt_help_command(stdout, gt_terminal_for(stdout).width, command, program);
    else if (!gt_check_outputs(&call, &error) || !gt_check_endings(&call, &error) ||
             !gt_check_minimums(&call, &error) || !gt_memory_option_apply(&call.arguments, &error))
        status = gt_usage_error(program, "%s", error.text);
    else if (!start_group(&call, is_group, argc, argv, &error)) {
        fprintf(stderr, "gputally: %s\n", error.text);
        status = GT_EXIT_FAILED;
    } else {
        status = GT_EXIT_FAILED;
        if (command->syntax->is_command || command->syntax->keeps_indexes ||
            gt_arguments_resolve_indexes(&call.arguments, &error))
            status = run_with_threads(&call);
        else
            fprintf(stderr, "gputally: %s\n", error.text);
        gt_log_end_repeats();
        gt_log_to(NULL); /* also for old names, whose log goes to standard output */
        if (status != GT_EXIT_USAGE) gt_warn_without_effect(&call.arguments);
        status = end_group(&call, status);
    }
    if (status == GT_EXIT_USAGE) gt_usage_error_write(&call);
    /* A launcher ends all processes when one fails: not before the first one has said why. */
    if (is_group && status != GT_EXIT_DONE && !gt_procs_is_first()) usleep(MESSAGE_WAIT_US);
    gt_arguments_free(&call.arguments);
    return status;
}

/* `what` is "command" or "step"; `commands` are the ones that exist. */
static gt_exit unknown_name(const char *program, const char *what, const char *word,
                            const gt_command *commands, size_t command_count)
{
    const char *names[64] = {"help"};
    size_t count = 1;
    for (size_t i = 0; i < command_count && count < GT_LENGTH(names); i++) names[count++] = commands[i].name;
    const char *nearest = gt_nearest(word, names, count);
    return nearest ? gt_usage_error(program, "unknown %s '%s' (did you mean %s?)", what, word, nearest)
                   : gt_usage_error(program, "unknown %s '%s'", what, word);
}

static gt_exit unknown_command(const char *word)
{
    if (access(word, F_OK) == 0)
        return gt_usage_error("gputally", "'%s' is a file, not a command; did you mean 'gputally report %s'?",
                              word, word);
    return unknown_name("gputally", "command", word, gt_commands, gt_command_count);
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool asks_for_version(const char *word)
{
    return is_long_option(word, "--version") || strcmp(word, "-V") == 0;
}

/* `gputally --version` takes nothing else than --verbose. */
static gt_exit run_version(int count, char **words)
{
    for (int i = 0; i < count; i++)
        if (!asks_for_version(words[i]) && !asks_for_help(words[i]) && !is_long_option(words[i], "--verbose"))
            return gt_usage_error("gputally", "unrecognized arguments: %.200s", words[i]);
    return print_version(count, words);
}

/* Runs the step that the first argument names. */
static gt_exit run_steps(const gt_command *command, int argc, char **argv)
{
    char program[64];
    snprintf(program, sizeof program, "gputally %s", command->name);
    bool help = argc > 0 && asks_for_help(argv[0]);
    if (argc == 0 || (help && argc == 1)) {
        FILE *out = help ? stdout : stderr;
        gt_help_command(out, gt_terminal_for(out).width, command, program);
        return help ? GT_EXIT_DONE : GT_EXIT_USAGE;
    }
    if (asks_for_version(argv[0])) return print_version(argc, argv);
    const char *word = argv[help ? 1 : 0];
    const gt_command *steps = gt_command_steps(command), *step = steps;
    while (step->name && strcmp(step->name, word) != 0) step++;
    if (!step->name) return unknown_name(program, "step", word, steps, (size_t)(step - steps));
    char step_program[96];
    snprintf(step_program, sizeof step_program, "%s %s", program, step->name);
    return help ? run_command(step, step_program, false, 1, (char *[]){(char[]){"--help"}})
                : run_command(step, step_program, false, argc - 1, argv + 1);
}

static gt_exit run_named(const char *name, int argc, char **argv)
{
    const gt_command *command = gt_command_find(name);
    if (!command) return unknown_command(name);
    if (gt_command_steps(command)) return run_steps(command, argc, argv);
    char program[64];
    snprintf(program, sizeof program, "gputally %s", command->name);
    return run_command(command, program, false, argc, argv);
}

/* Of madengine's commands that gputally does not have: what to use instead. */
static const struct {
    const char *name, *instead;
} madengine_others[] = {
    {"report",
     "gputally run writes the page and the workbook of each run itself (NAME_perf_report.html, .xlsx); to "
     "show perf.csv as a table, open it in a spreadsheet or use pandas.read_csv(\"perf.csv\").to_html()"},
    {"database",
     "to store perf.csv in MongoDB, use mongoimport --type csv --headerline --db NAME --collection NAME "
     "--file perf.csv"},
};

/* madengine's commands that gputally has, by its own name: -o of `run` is the performance table. */
static gt_exit run_madengine(int argc, char **argv)
{
    static const char *const names[] = {"run", "build", "discover"};
    char program[64];
    for (size_t i = 0; argc > 1 && i < GT_LENGTH(names); i++) {
        if (strcmp(argv[1], names[i]) != 0) continue;
        gt_command command = *gt_command_find(names[i]);
        gt_syntax syntax = *command.syntax;
        if (i == 0) syntax.output_option = "output";
        command.syntax = &syntax;
        snprintf(program, sizeof program, "madengine %s", names[i]);
        return run_command(&command, program, true, argc - 2, argv + 2);
    }
    if (isatty(STDERR_FILENO)) fputs("madengine: this is gputally\n", stderr);
    if (argc > 1 && asks_for_version(argv[1])) return print_version(argc - 1, argv + 1);
    for (size_t i = 0; argc > 1 && i < GT_LENGTH(madengine_others); i++)
        if (strcmp(argv[1], madengine_others[i].name) == 0)
            return gt_usage_error("madengine", "gputally has no %s: %s", argv[1],
                                  madengine_others[i].instead);
    bool help = argc > 1 && asks_for_help(argv[1]);
    fprintf(help ? stdout : stderr, "usage: madengine run|build|discover [options]\n"
                                    "This is gputally under madengine's name; see gputally --help.\n");
    return help ? GT_EXIT_DONE : GT_EXIT_USAGE;
}

static gt_exit run_gputally(int argc, char **argv)
{
    if (argc < 2) {
        gt_help_program(stderr, gt_terminal_for(stderr).width);
        return GT_EXIT_USAGE;
    }
    const char *word = argv[1];
    bool wants_help = asks_for_help(word);
    if (wants_help && argc > 2 && strcmp(argv[2], "--man") == 0) { /* for the build of the man page */
        gt_manual_print(stdout);
        return GT_EXIT_DONE;
    }
    if (wants_help && argc > 2 && asks_for_version(argv[2])) return print_version(argc - 1, argv + 1);
    if (wants_help && argc > 2 && asks_for_help(argv[2])) argc = 2;
    if (wants_help && argc > 2)
        return run_named(argv[2], argc > 3 ? 2 : 1, (char *[]){(char[]){"--help"}, argv[argc > 3 ? 3 : 2]});
    if (wants_help) {
        gt_help_program(stdout, gt_terminal_for(stdout).width);
        return GT_EXIT_DONE;
    }
    if (asks_for_version(word) || strcmp(word, "version") == 0) return run_version(argc - 2, argv + 2);
    if (is_long_option(word, "--verbose") && argc > 2 && asks_for_version(argv[2]))
        return run_version(argc - 1, argv + 1);
    if (word[0] == '-')
        return gt_usage_error("gputally", "expected a command before %s: gputally COMMAND [options]", word);
    return run_named(word, argc - 2, argv + 2);
}

/* The instruction set of the JSON reader, for tests and measurements. */
static bool choose_instructions(void)
{
    const char *name = getenv("GPUTALLY_SIMD");
    gt_error error;
    if (!name || !*name || gt_scan_set_use(name, &error)) return true;
    gt_usage_error("gputally", "GPUTALLY_SIMD: %s", error.text);
    return false;
}

/* Ends without what libraries do at exit, for which their code would be mapped: 0.5 MB, and there is nothing
 * left to do for them. Sanitizers have something to do. */
static int end(int status)
{
#ifndef __SANITIZE_THREAD__
    if (!GT_ADDRESS_SANITIZER && fflush(NULL) == 0) quick_exit(status);
#endif
    return status;
}

#ifdef GT_PORTABLE
/* A program in ../libexec/gputally, next to the program's folder. */
static void name_helper(void)
{
    static gt_arena arena; /* until the end of the process */
    const char *self = gt_path_program(&arena);
    if (self)
        gt_child_set_helper(gt_arena_format(&arena, "%.*s../libexec/gputally/gputally-helper",
                                            (int)gt_path_folder_len(self), self));
}
#endif

int main(int argc, char **argv)
{
    gt_print_escaped();
    gt_cleanup_install();
    gt_own_name_paths(argv, (size_t)argc);
    if (!choose_instructions()) return GT_EXIT_USAGE;
#ifdef GT_PORTABLE
    name_helper();
#else /* this program is its own helper */
    gt_child_set_helper("/proc/self/exe");
    if (argc > 2 && strcmp(argv[1], GT_CHILD_HELPER) == 0) return gt_helper_run(argv + 2);
#endif
    /* For the scripts of shells, whatever the program is called. */
    if (argc > 2 && strcmp(argv[1], "__complete") == 0) {
        gt_complete(stdout, strtoul(argv[2], NULL, 10), argv + 3, (size_t)argc - 3);
        return GT_EXIT_DONE;
    }
    const char *called_as = argc ? gt_path_name(argv[0]) : "";
    const gt_command *command = gt_command_find_by_old_name(called_as);
    gt_exit status = command ? run_command(command, command->old_name, true, argc - 1, argv + 1)
                     : strcmp(called_as, "madengine") == 0 ? run_madengine(argc, argv)
                                                           : run_gputally(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gputally: cannot write to standard output: %s\n", strerror(errno));
        return status ? (int)status : GT_EXIT_FAILED;
    }
    return end((int)status);
}
