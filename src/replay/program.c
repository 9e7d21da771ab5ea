/* Runs Python programs that call ops again, and the benchmark programs of the batch report. */
#include "replay/replay.h"

#include <signal.h>

#ifndef GT_REPLAY_DIR
#define GT_REPLAY_DIR "src/replay"
#endif

__asm__(".pushsection .rodata\n"
        "gt_replay_ops_source:\n"
        ".incbin \"" GT_REPLAY_DIR "/ops.py\"\n"
        ".byte 0\n"
        "gt_replay_main_source:\n"
        ".incbin \"" GT_REPLAY_DIR "/replay.py\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char gt_replay_ops_source[] __attribute__((visibility("hidden")));
extern const char gt_replay_main_source[] __attribute__((visibility("hidden")));

enum { MOST_BYTES_KEPT = 4 << 20 };

extern char **environ;

char *gt_replay_program(const char *rest)
{
    return gt_format("%s%s", gt_replay_ops_source, rest ? rest : gt_replay_main_source);
}

static bool keep_line(void *context, gt_child_stream stream, gt_str line)
{
    gt_program_result *run = context;
    gt_buffer *kept = stream == GT_CHILD_STDOUT ? &run->output : &run->errors;
    if (kept->len + line.len >= MOST_BYTES_KEPT) return false;
    gt_buffer_add(kept, line.bytes, line.len);
    gt_buffer_add(kept, "\n", 1);
    return false;
}

/* The environment of this process, and further variables. */
static const char **join_environment(const char *const *more)
{
    size_t count = 0, added = 0;
    while (environ[count]) count++;
    while (more[added]) added++;
    const char **all = gt_alloc((count + added + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++) all[i] = environ[i];
    for (size_t i = 0; i <= added; i++) all[count + i] = more[i];
    return all;
}

gt_program_result gt_program_run(const char *const *argv, const char *const *environment, int64_t timeout_s)
{
    gt_program_result run = {0};
    gt_error error;
    const char **all = environment ? join_environment(environment) : NULL;
    const gt_child_setup setup = {.argv = argv,
                                  .environment = all,
                                  .silent = true,
                                  .timeout_s = (double)timeout_s,
                                  .grace_s = 2,
                                  .line = keep_line,
                                  .line_context = &run};
    gt_child_result result;
    gt_child_run(&setup, &result, &error); /* if it cannot be started, the exit code shows it */
    gt_free(all);
    if (result.interrupted) {
        signal(result.interrupted, SIG_DFL);
        raise(result.interrupted);
    }
    run.exit_code = result.exit_code;
    run.timed_out = result.timed_out;
    if (run.timed_out)
        gt_warn("%s: not finished after %" PRId64 " s and ended (--replay_timeout)", argv[0], timeout_s);
    return run;
}

void gt_program_free(gt_program_result *run)
{
    gt_buffer_free(&run->output);
    gt_buffer_free(&run->errors);
}

gt_program_result gt_program_run_python(const char *source, const char *const *arguments,
                                        const char *const *environment, int64_t timeout_s)
{
    enum { MOST = 8 };
    char *program = gt_format("%s%s", gt_python_prelude, source);
    const char *argv[MOST + 4] = {"python3", "-Ic", program};
    for (size_t i = 0; i < MOST && arguments[i]; i++) argv[3 + i] = arguments[i];
    gt_program_result run = gt_program_run(argv, environment, timeout_s);
    gt_free(program);
    return run;
}

bool gt_program_has_torch(int64_t timeout_s)
{
    gt_program_result run =
        gt_program_run_python("import torch\n", (const char *const[]){NULL}, NULL, timeout_s);
    gt_program_free(&run);
    return run.exit_code == 0;
}

gt_str gt_program_last_line(const gt_program_result *run)
{
    gt_str errors = run->errors.len ? (gt_str){run->errors.bytes, run->errors.len - 1} : (gt_str){"", 0};
    const char *end = errors.len ? memrchr(errors.bytes, '\n', errors.len) : NULL;
    size_t skipped = end ? (size_t)(end - errors.bytes) + 1 : 0;
    return (gt_str){errors.bytes + skipped, errors.len - skipped};
}
