/* The interpreter is given the program on its command line, the question as file 3 and a place for the answer
 * as file 4; what the extension prints goes to standard error. */
#include "extension/extension.h"

#include "base/guard.h"
#include "extension/apply.h"
#include "extension/question.h"
#include "os/child.h"
#include "base/length.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef GT_EXTENSION_DIR
#define GT_EXTENSION_DIR "src/extension"
#endif

/* models.py and run.py, one behind the other. */
__asm__(".pushsection .rodata\n"
        "gt_extension_program:\n"
        ".incbin \"" GT_EXTENSION_DIR "/models.py\"\n"
        ".incbin \"" GT_EXTENSION_DIR "/run.py\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char gt_extension_program[] __attribute__((visibility("hidden")));

static bool start(const char *python, int question, int answer, pid_t *child, gt_error *error)
{
    const char *arguments[] = {python, "-c", gt_extension_program, NULL};
    const int descriptors[] = {-1, STDERR_FILENO, STDERR_FILENO, question, answer};
    int failed = gt_child_spawn(arguments, NULL, descriptors, GT_LENGTH(descriptors), child);
    return !failed || gt_fail(error, "%s: %s; an extension needs Python 3 (--python_path says where it is)",
                              python, strerror(failed));
}

static bool wait_for(pid_t child, const char *python, gt_error *error)
{
    int status;
    if (!gt_child_wait(child, &status)) return gt_fail(error, "%s: %s", python, strerror(errno));
    if (WIFSIGNALED(status)) return gt_fail(error, "%s was ended by signal %d", python, WTERMSIG(status));
    if (WEXITSTATUS(status)) return gt_fail(error, "%s ended with status %d", python, WEXITSTATUS(status));
    return true;
}

static bool read_answer(FILE *file, gt_buffer *text, gt_error *error)
{
    rewind(file);
    size_t got;
    do {
        char *room = gt_buffer_reserve(text, 1 << 16);
        got = fread(room, 1, 1 << 16, file);
        text->len += got;
    } while (got);
    return !ferror(file) || gt_fail(error, "the extension's answer cannot be read: %s", strerror(errno));
}

static void close_temporary(FILE *file)
{
    if (!file) return;
    gt_guard_remove(file);
    fclose(file);
}

bool gt_extension_run(gt_pytorch_linked *trace, const gt_extension_source *source, gt_extension_answer *answer,
                      gt_error *error)
{
    const char *python = source->python ? source->python : "python3";
    FILE *question = tmpfile(), *reply = tmpfile();
    if (question) gt_guard_add(gt_close_file, question);
    if (reply) gt_guard_add(gt_close_file, reply);
    gt_buffer text = {0};
    pid_t child;
    bool done = question && reply;
    if (!done) gt_fail(error, "a temporary file cannot be made: %s", strerror(errno));
    if (done) {
        gt_extension_write_question(question, gt_pytorch_view(trace), source);
        done = fflush(question) == 0 && !ferror(question);
        if (!done) gt_fail(error, "a temporary file cannot be written: %s", strerror(errno));
        rewind(question);
    }
    done = done && start(python, fileno(question), fileno(reply), &child, error) &&
           wait_for(child, python, error) && read_answer(reply, &text, error) &&
           gt_extension_apply(trace, gt_buffer_str(&text), answer, error);
    close_temporary(question);
    close_temporary(reply);
    gt_buffer_free(&text);
    return done;
}
