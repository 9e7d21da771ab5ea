/* How the user's command is started: by the launcher of the context, or as it is.
 *
 *     python3 train.py --n 2        torchrun --standalone --nproc_per_node=8 train.py --n 2
 *     torchrun train.py             the same: its own options say nothing about processes
 *     torchrun --nnodes=1 train.py  as it is
 *     bash run.sh                   as it is if run.sh mentions torchrun or MAD_MULTI_NODE_RUNNER, otherwise
 *                                   torchrun ... --no_python bash run.sh
 *
 * A command that is started twice by a launcher has the square of its processes, so a command that mentions
 * the launcher is left alone. */
#include "run/plan/launcher.h"
#include "os/own.h"
#include "os/paths.h"

enum { SCRIPT_MAX_BYTES = 1 << 20 };

static const char runner_variable[] = "MAD_MULTI_NODE_RUNNER";

/* mpirun and srun do not set the variables that PyTorch's env:// initialisation reads. */
static const char set_ranks[] =
    "bash -c 'export RANK=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}} "
    "WORLD_SIZE=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-$SLURM_NTASKS}} "
    "LOCAL_RANK=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-$SLURM_LOCALID}}; exec \"$@\"' rank";

/* ---- what the command is ---- */

static bool is_python(const char *word)
{
    const char *name = gt_path_name(word);
    if (strncmp(name, "python", 6) != 0) return false;
    return strspn(name + 6, "0123456789.") == strlen(name + 6);
}

static bool is_shell(const char *word)
{
    return gt_path_is_named(word, "bash") || gt_path_is_named(word, "sh");
}

static bool is_program_of(const gt_distributed *d, const char *word)
{
    for (const char *const *name = gt_launcher_programs(d->kind); *name; name++)
        if (gt_path_is_named(word, *name)) return true;
    return false;
}

/* Whether a shell text calls a program of the launcher, or uses its variable. Comments do not count. */
static bool text_launches(const gt_distributed *d, const char *text)
{
    while (*text) {
        const char *line = text + strspn(text, " \t");
        size_t len = strcspn(line, "\n");
        if (*line != '#') {
            if (memmem(line, len, runner_variable, sizeof runner_variable - 1)) return true;
            for (const char *const *name = gt_launcher_programs(d->kind); *name; name++) {
                size_t name_len = strlen(*name);
                for (const char *at = line; (at = memmem(at, len - (size_t)(at - line), *name, name_len));
                     at++) {
                    bool begins = at == line || strchr(" \t/\"'`(;&|{=", at[-1]);
                    if (begins && (!at[name_len] || isspace((unsigned char)at[name_len]))) return true;
                }
            }
        }
        text = line + len + (line[len] == '\n');
    }
    return false;
}

/* The beginning of a script, NUL-terminated; NULL if it cannot be read or is not text. */
static char *read_script(gt_arena *arena, const char *path)
{
    struct stat status; /* a FIFO would block */
    FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? gt_fopen(path, "re") : NULL;
    if (!file) return NULL;
    char *text = gt_arena_alloc(arena, SCRIPT_MAX_BYTES + 1);
    size_t len = fread(text, 1, SCRIPT_MAX_BYTES, file);
    fclose(file);
    text[len] = 0;
    return strlen(text) == len ? text : NULL;
}

/* The shell script among the words: that of "bash -x run.sh", or "./run.sh". NULL: none. */
static const char *script_of(const char *const *words, size_t count)
{
    if (!is_shell(words[0])) return gt_has_ending(words[0], ".sh") ? words[0] : NULL;
    size_t i = 1;
    while (i < count && words[i][0] == '-') i++;
    return i < count ? words[i] : NULL;
}

/* The place of the launcher's program among the words before a Python program or a script; SIZE_MAX: it is
 * not there. "env A=1 torchrun x.py" and "python3 -m torch.distributed.run x.py" are found, "train.py
 * torchrun" is not. */
static size_t find_program(const gt_distributed *d, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_program_of(d, words[i])) return i;
        if (is_python(words[i])) {
            bool module = i + 2 < count && strcmp(words[i + 1], "-m") == 0;
            return module && is_program_of(d, words[i + 2]) ? i + 2 : SIZE_MAX;
        }
        if (gt_has_ending(words[i], ".py") || gt_has_ending(words[i], ".sh")) return SIZE_MAX;
    }
    return SIZE_MAX;
}

static const char starts_itself[] = "the command starts %s itself; it is not started by it again";
static const char is_unreadable[] =
    "the script cannot be read here, so it is not started by %s; it can use $MAD_MULTI_NODE_RUNNER";

/* Why the command is not started by the launcher, with a %s for its name; NULL if it is. A script that cannot
 * be read, because it is in an image or on another machine, may use the variable, as scripts of models do. */
static const char *why_not(gt_arena *arena, const gt_distributed *d, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(words[i], runner_variable)) return starts_itself;
    bool shell = is_shell(words[0]);
    for (size_t i = 1; shell && i < count; i++)
        if (words[i][0] == '-' && strchr(words[i], 'c') && words[i][1] != '-')
            return i + 1 < count && text_launches(d, words[i + 1]) ? starts_itself : NULL;
    const char *script = script_of(words, count);
    const char *text = script ? read_script(arena, script) : NULL;
    if (script && !text) return is_unreadable;
    return text && text_launches(d, text) ? starts_itself : NULL;
}

/* ---- the line ---- */

/* Whether the options between the launcher and its program say where processes run. Without a file name
 * nobody can tell where the options end, so all words count. */
static bool places_processes(const gt_distributed *d, const char *const *words, size_t count)
{
    static const char *const marks[] = {"nnodes",     "nproc",         "node_rank",    "rdzv",
                                        "standalone", "master_",       "num_gpus",     "num_nodes",
                                        "hostfile",   "num_processes", "num_machines", "config_file",
                                        "include",    "host",          "ntasks",       "nodes"};
    static const char *const letters[] = {"-n", "-np", "-N", "-H", "-i"};
    for (size_t i = 0; i < count && !gt_has_ending(words[i], ".py") && !gt_has_ending(words[i], ".sh"); i++) {
        char word[64];
        snprintf(word, sizeof word, "%.63s", words[i]);
        for (char *c = word; *c; c++)
            if (*c == '-' && c != word) *c = '_';
        for (size_t m = 0; m < GT_LENGTH(marks); m++)
            if (word[0] == '-' && strstr(word, marks[m])) return true;
        for (size_t m = 0; m < GT_LENGTH(letters); m++)
            if (strcmp(words[i], letters[m]) == 0) return true;
    }
    return d->kind == GT_LAUNCHER_MPIRUN || d->kind == GT_LAUNCHER_SRUN; /* their options are too many */
}

/* The command as an argument of a Python launcher, which starts Python programs and modules itself. The plain
 * name of an interpreter stands for the launcher's own one. */
static const char *python_command(gt_arena *arena, const gt_distributed *d, const char *const *words,
                                  size_t count)
{
    size_t at = strchr(words[0], '/') ? 0 : is_python(words[0]);
    if (at && count > 1 && strcmp(words[1], "-u") == 0) at++; /* launchers pass it themselves */
    if (at < count && gt_has_ending(words[at], ".py")) return gt_shell_line(arena, words + at, count - at);
    if (at && at < count && words[at][0] != '-') return gt_shell_line(arena, words + at, count - at);
    if (at && at + 1 < count && strcmp(words[at], "-m") == 0)
        return gt_arena_format(arena, "--module %s", gt_shell_line(arena, words + at + 1, count - at - 1));
    return gt_arena_format(arena, "--no_python %s%s",
                           d->kind == GT_LAUNCHER_DEEPSPEED ? "--no_local_rank " : "",
                           gt_shell_line(arena, words, count));
}

static gt_launch as_it_is(gt_arena *arena, const gt_distributed *d, const char *const *words, size_t count,
                          const char *why)
{
    gt_launch launch = {.command = gt_shell_line(arena, words, count)};
    const char *name = why ? strstr(why, "%s") : NULL;
    if (name) launch.note = gt_arena_format(arena, "%.*s%s%s", (int)(name - why), why, d->name, name + 2);
    return launch;
}

gt_launch gt_launch_plan(gt_arena *arena, const gt_distributed *d, const char *const *command, size_t count)
{
    const char *runner = gt_launcher_runner(arena, d);
    if (!d->given || !*runner || !count) return as_it_is(arena, d, command, count, NULL);
    bool remote = gt_launcher_runs_once(d);
    size_t program = find_program(d, command, count);
    size_t options = program == SIZE_MAX ? 0 : program + 1;
    if (program != SIZE_MAX && d->kind == GT_LAUNCHER_ACCELERATE && options < count) options++; /* launch */
    const char *why = why_not(arena, d, command, count);
    bool placed = program != SIZE_MAX && (program || places_processes(d, command + options, count - options));
    if (why || placed) return as_it_is(arena, d, command, count, why ? why : starts_itself);
    gt_launch launch = {
        .runner = runner, .program = remote ? d->name : gt_launcher_programs(d->kind)[0], .remote = remote};
    if (program == 0) {
        launch.runner = gt_arena_format(arena, "%s%s", gt_shell_line(arena, command, 1), strchr(runner, ' '));
        launch.program = command[0];
        launch.command = gt_shell_line(arena, command + options, count - options);
        launch.note = gt_arena_format(arena, "options added to the command: %s", runner);
    } else if (remote) {
        launch.runner = gt_arena_format(arena, "%s %s", runner, set_ranks);
        launch.command = gt_shell_line(arena, command, count);
    } else {
        launch.command = python_command(arena, d, command, count);
    }
    return launch;
}
