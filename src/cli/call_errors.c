/* Errors of a call before any trace is read: options that make no sense, a folder without traces.
 *
 * They are printed. A call that asks for the JSON of a report also gets them there, so that a script finds
 * the reason where it looks for the result. */
#include "cli/command.h"

#include "base/memory.h"
#include "cli/common.h"
#include "crew/crew.h"
#include "report/answers.h"
#include "report/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static gt_error usage; /* the last usage error */

gt_exit gt_usage_error(const char *program, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(usage.text, sizeof usage.text, format, args);
    va_end(args);
    va_start(args, format);
    fprintf(stderr, "%s: error: ", program);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nTry '%s --help'.\n", program);
    va_end(args);
    return GT_EXIT_USAGE;
}

/* An output that is refused as such, because it is no file. */
static void print_document(const gt_answers *answers)
{
    gt_buffer text = {0};
    gt_answers_json(answers, &text);
    fwrite(text.bytes, 1, text.len, stdout);
    gt_buffer_free(&text);
}

static void write_document(const gt_answers *answers, const char *path)
{
    gt_error ignored;
    gt_output *output = gt_output_new();
    if (gt_answers_write_json(answers, output, path, &ignored)) gt_output_commit(output, &ignored);
    gt_output_free(output);
}

/* `trace` may be "": the call names none. */
static void write_for_trace(const gt_call *call, const char *trace, size_t traces, gt_answers *answers)
{
    gt_error ignored;
    answers->trace = gt_trace_title(trace);
    char *path = gt_answers_path(call, call->arguments.syntax->error_option, trace, *trace ? NULL : "error",
                                 traces, ".findings.json");
    if (path && strcmp(path, "-") == 0)
        print_document(answers);
    else if (path && gt_check_not_input(path, trace, &ignored))
        write_document(answers, path);
    gt_free(path);
}

void gt_call_error_write(const gt_call *call, const char *message, gt_exit exit)
{
    const gt_arguments *arguments = &call->arguments;
    if (!arguments->syntax->error_option || !gt_crew_is_first()) return;
    const gt_table_list none = {0};
    gt_answers answers = {.tables = &none, .error = message, .exit = (int)exit};
    /* What is no file may be the value of an option that does not exist. */
    const char **traces = gt_alloc((arguments->file_count + 1) * sizeof *traces);
    size_t count = 0;
    for (size_t i = 0; i < arguments->file_count; i++)
        if (access(arguments->files[i], F_OK) == 0) traces[count++] = arguments->files[i];
    if (!count) traces[count++] = arguments->file_count ? arguments->files[0] : "";
    for (size_t i = 0; i < count; i++) write_for_trace(call, traces[i], count, &answers);
    gt_free(traces);
}

void gt_usage_error_write(const gt_call *call)
{
    gt_call_error_write(call, usage.text, GT_EXIT_USAGE);
}
