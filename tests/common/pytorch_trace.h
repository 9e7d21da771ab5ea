/* Small PyTorch traces written event by event, for tests of reports:
 *
 *     trace_text t = new_trace();
 *     cpu(&t, "aten::relu", 1000, 100);
 *     launch(&t, "relu_kernel", 1010, 5, 1200, 30, 7);
 *     gt_pytorch_linked *linked = read_trace(&t, false);
     const gt_linked_view *trace = gt_pytorch_view(linked);
 *
 * Times are written as integers where they are whole. Host events are of process 100, thread 100. */
#ifndef GT_TEST_PYTORCH_TRACE_H
#define GT_TEST_PYTORCH_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "input/chrome/kineto.h"
#include "table/table.h"
#include "trace/pytorch/pytorch.h"

/* ---- writing traces ---- */

typedef struct trace_text {
    char *items;
    size_t count, capacity;
} trace_text;

__attribute__((format(printf, 2, 3), unused)) static void add_event(trace_text *t, const char *format, ...)
{
    char event[4096];
    va_list values;
    va_start(values, format);
    int len = vsnprintf(event, sizeof event, format, values);
    va_end(values);
    assert_in_range(len, 1, sizeof event - 1);
    if (t->count > 1) GT_PUSH(t->items, t->count, t->capacity, ',');
    for (int i = 0; i < len; i++) GT_PUSH(t->items, t->count, t->capacity, event[i]);
}

__attribute__((unused)) static trace_text new_trace(void)
{
    trace_text t = {0};
    GT_PUSH(t.items, t.count, t.capacity, '[');
    return t;
}

static inline void host(trace_text *t, const char *category, const char *name, double start, double dur,
                        const char *args)
{
    add_event(
        t,
        "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":100,\"tid\":100,\"ts\":%.15g,\"dur\":%.15g,"
        "\"args\":{%s}}",
        category, name, start, dur, args);
}

static inline void cpu(trace_text *t, const char *name, double start, double dur)
{
    host(
        t, "cpu_op", name, start, dur,
        "\"Input Dims\":[[4]],\"Input type\":[\"float\"],\"Input Strides\":[[1]],\"Concrete Inputs\":[\"\"]");
}

static inline void call(trace_text *t, const char *category, const char *name, double start, double dur,
                        int id)
{
    char args[64];
    snprintf(args, sizeof args, "\"correlation\":%d", id);
    host(t, category, name, start, dur, args);
}

static inline void gpu(trace_text *t, const char *category, const char *name, double start, double dur,
                       int id, int stream)
{
    add_event(t,
              "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%.15g,\"dur\":%.15g,"
              "\"args\":{\"correlation\":%d,\"stream\":%d}}",
              category, name, stream, start, dur, id, stream);
}

static inline void arrow(trace_text *t, int id, int stream)
{
    add_event(t,
              "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%d,\"pid\":100,\"tid\":100,\"ts\":1}",
              id);
    add_event(t, "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%d,\"pid\":0,\"tid\":%d,\"ts\":2}",
              id, stream);
}

/* A launch of any GPU work, on any stream; and the usual one, of a kernel on stream 0. */
static inline void launch_on(trace_text *t, int stream, const char *category, const char *name,
                             double call_start, double start, double dur, int id)
{
    call(t, "cuda_runtime", "hipLaunchKernel", call_start, 5, id);
    gpu(t, category, name, start, dur, id, stream);
    arrow(t, id, stream);
}

static inline void launch(trace_text *t, const char *kernel, double call_start, double call_dur, double start,
                          double dur, int id)
{
    call(t, "cuda_runtime", "hipLaunchKernel", call_start, call_dur, id);
    gpu(t, "kernel", kernel, start, dur, id, 0);
    arrow(t, id, 0);
}

/* ---- reading them ---- */

/* Frees the text. The trace has its tree and links. */
__attribute__((unused)) static gt_pytorch_linked *read_trace(trace_text *t, bool python)
{
    gt_error error;
    gt_read_options options = {.threads = 1, .strict = true};
    GT_PUSH(t->items, t->count, t->capacity, ']');
    gt_stream *stream = gt_stream_memory(t->items, t->count, 0, &error);
    gt_pytorch_read *trace =
        gt_kineto_read_stream(stream, (gt_kineto_options){.python_functions = python}, &options, &error);
    if (!trace) fail_msg("%s", error.text);
    gt_stream_close(stream);
    free(t->items);
    return gt_pytorch_link(gt_pytorch_build_tree(trace));
}

/* ---- results ---- */

static inline void print_cell(FILE *out, const gt_column *column, size_t row, const gt_interner *strings)
{
    char digits[GT_NUMBER_MAX];
    if (gt_column_is_null(column, row)) return;
    if (column->type == GT_TYPE_INT)
        fwrite(digits, 1, gt_print_int(digits, column->ints[row]), out);
    else if (column->type == GT_TYPE_FLOAT)
        fwrite(digits, 1, gt_print_double(digits, column->floats[row]), out);
    else if (column->type == GT_TYPE_BOOL)
        fputs(column->bools[row] ? "True" : "False", out);
    else
        fputs(gt_interner_get(strings, column->texts[row]).bytes, out);
}

/* The columns and rows as CSV without quotes: 5 is an INT, 5.0 a FLOAT, nothing is null. */
__attribute__((unused)) static void expect_csv(const gt_table *table, const char *expected)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t c = 0; c < table->column_count; c++)
        fprintf(out, "%s%s", c ? "," : "", table->columns[c].name);
    fputc('\n', out);
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (c) fputc(',', out);
            print_cell(out, &table->columns[c], row, table->strings);
        }
        fputc('\n', out);
    }
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

/* The last warning, for gt_log_to. */
static char last_warning[512];
__attribute__((unused)) static void keep_warning(bool warning, const char *text)
{
    if (warning) snprintf(last_warning, sizeof last_warning, "%s", text);
}

#endif
