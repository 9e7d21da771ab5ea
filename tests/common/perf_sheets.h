/* Performance sheets of a small trace. Include pytorch_trace.h first. */
#ifndef GT_TEST_PERF_SHEETS_H
#define GT_TEST_PERF_SHEETS_H

#include "analysis/pytorch/sheets.h"

/* A trace and the state of its report. */
typedef struct perf_case {
    gt_pytorch_linked *linked;
    const gt_linked_view *trace; /* of it */
    gt_launchers *launchers;
    gt_overlaps *overlaps;
    gt_perf *perf;
} perf_case;

__attribute__((unused)) static perf_case begin_case(gt_pytorch_linked *linked, bool overlap,
                                                    const gt_gpu_arch *arch)
{
    gt_error error;
    const gt_linked_view *trace = gt_pytorch_view(linked);
    perf_case c = {.linked = linked, .trace = trace, .launchers = gt_alloc(sizeof *c.launchers)};
    *c.launchers = gt_launchers_find(trace);
    if (overlap) assert_non_null(c.overlaps = gt_overlaps_find(trace, false, &error));
    c.perf = gt_perf_new(trace, c.launchers, c.overlaps, (gt_perf_options){.gpu = arch});
    return c;
}

__attribute__((unused)) static void end_case(perf_case *c)
{
    gt_perf_free(c->perf);
    gt_overlaps_free(c->overlaps);
    gt_launchers_free(c->launchers);
    free(c->launchers);
    gt_pytorch_linked_free(c->linked);
}

/* The named columns of a table as CSV; the names are the first line of `expected`. */
__attribute__((unused)) static void expect_columns(const gt_table *table, const char *expected)
{
    gt_col names[64];
    size_t count = 0;
    char *line = strndup(expected, strcspn(expected, "\n"));
    for (char *name = strtok(line, ","); name; name = strtok(NULL, ",")) names[count++] = gt_col_named(name);
    gt_table *shown = gt_table_copy(table);
    gt_table_select(shown, names, count);
    expect_csv(shown, expected);
    gt_table_free(shown);
    free(line);
}

/* One cell of a text column. */
__attribute__((unused)) static const char *text_cell(const gt_table *table, const char *column, size_t row)
{
    return gt_interner_get(table->strings, gt_table_column(table, gt_col_named(column))->texts[row]).bytes;
}

__attribute__((unused)) static gt_table *unified_sheet(perf_case *c, bool call_stacks)
{
    gt_unified *unified = gt_unified_new(c->perf, call_stacks);
    gt_table *sheet = gt_unified_summary(unified);
    gt_unified_free(unified);
    return sheet;
}

/* The sheet of this name, which must exist. */
__attribute__((unused)) static gt_table *find_sheet(const gt_table_list *sheets, const char *name)
{
    for (size_t i = 0; i < sheets->count; i++)
        if (strcmp(sheets->items[i]->name, name) == 0) return sheets->items[i];
    fail_msg("there is no sheet %s", name);
    return NULL;
}

__attribute__((unused)) static void expect_sheets(const gt_table_list *sheets, const char *names)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < sheets->count; i++) fprintf(out, "%s%s", i ? " " : "", sheets->items[i]->name);
    fclose(out);
    assert_string_equal(text, names);
    free(text);
}

__attribute__((unused)) static void free_sheets(gt_table_list *sheets)
{
    for (size_t i = 0; i < sheets->count; i++) gt_table_free(sheets->items[i]);
    free(sheets->items);
}

/* An op of any thread with the given arguments: JSON members without braces. */
__attribute__((unused)) static void op_on(trace_text *t, int thread, const char *name, double start,
                                          double dur, const char *args)
{
    add_event(
        t,
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":100,\"tid\":%d,\"ts\":%.15g,\"dur\":%.15g,"
        "\"args\":{%s}}",
        name, thread, start, dur, args);
}

/* A launch from any thread. */
__attribute__((unused)) static void launch_from(trace_text *t, int thread, const char *kernel,
                                                double call_start, double start, double dur, int id)
{
    add_event(t,
              "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipLaunchKernel\",\"pid\":100,\"tid\":%d,"
              "\"ts\":%.15g,\"dur\":2,\"args\":{\"correlation\":%d}}",
              thread, call_start, id);
    gpu(t, "kernel", kernel, start, dur, id, 0);
    arrow(t, id, 0);
}

/* Arguments of aten::mm with matrices of bfloat16. */
#define MM(m, n, k)                                                                                          \
    "\"Input Dims\":[[" #m "," #k "],[" #k "," #n "]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]," \
    "\"Input Strides\":[[" #k ",1],[" #n ",1]],\"Concrete Inputs\":[\"\",\"\"]"

#endif
