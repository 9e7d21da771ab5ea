/* `gputally compare`: compares the sheets of reports, and checks the --fail_if conditions. */
#include "cli/commands/commands.h"
#include "base/many.h"
#include "base/memory.h"
#include "cli/common.h"
#include "input/detect.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"
#include "os/shell_words.h"
#include "report/compare.h"
#include "schema/sheets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WORKBOOK "comparison.xlsx"

static const gt_option compare_options[] = {
    {"names", GT_OPTION_STRINGS, "NAME...", NULL,
     "set one tag per report, used as the prefix of its columns (default: file name without extension)"},
    {"sheets", GT_OPTION_STRINGS, "GROUP...", "all",
     "compare only these groups: gpu_timeline, ops_summary, kernel_summary, ops_all, roofline or all; a "
     "named group must exist in the baseline"},
    {"fail_if", GT_OPTION_STRINGS, "CONDITION", NULL,
     "exit with status 3 if a report meets the condition SHEET.ROW[.COLUMN] OP NUMBER[%], such as "
     "'gpu_timeline.busy_time > 5%'; compares the change from the baseline, in percent or in the column's "
     "unit; repeatable"},
};
static const gt_option_group compare_group = {"Comparison", compare_options, GT_LENGTH(compare_options)};

static const gt_option output_options[] = {
    {"output", GT_OPTION_STRING, "PATH", NULL,
     "write an Excel workbook to PATH (default without any output option: " DEFAULT_WORKBOOK ")",
     .ending = GT_WORKBOOK_ENDING},
    {"output_csvs_dir", GT_OPTION_STRING, "DIR", NULL, "write one CSV file per sheet into DIR"},
    {"csv_safe", GT_OPTION_FLAG, NULL, NULL, GT_CSV_SAFE_HELP, .needs = "output_csvs_dir"},
    {"output_db", GT_OPTION_STRING, "PATH", NULL, "write an SQLite database with one table per sheet to PATH",
     .ending = GT_DATABASE_ENDINGS},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_compare_syntax = {
    .groups = {&compare_group, &output_group, &gt_sheets_group},
    .main_options = {"output", "output_csvs_dir", "fail_if", "sheets", "names"},
    .files = "REPORT REPORT...",
    .files_max = 10000,
    .output_option = "output",
};

typedef struct comparison {
    const gt_call *call;
    gt_compare_report *reports;
    char **own_tags; /* derived from the paths, without --names */
    size_t count;
    gt_compare_options options;
    const char **groups;
    size_t group_capacity;
} comparison;

/* ---- the command line ---- */

/* The file name without its extension: "runs/mi300.xlsx" and "runs/mi300/" give "mi300". */
static char *tag_of(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') len--;
    const char *name = path + len;
    while (name > path && name[-1] != '/') name--;
    len -= (size_t)(name - path);
    for (size_t at = len; at-- > 1;)
        if (name[at] == '.') {
            len = at;
            break;
        }
    return gt_format("%.*s", (int)len, name);
}

static bool choose_tags(comparison *c, gt_error *error)
{
    const gt_option_value *names = gt_arguments_value(&c->call->arguments, "names");
    if (c->count < 2) return gt_fail(error, "Need at least two report files");
    if (names->given && names->text_count != c->count)
        return gt_fail(error, "--names count must equal number of reports");
    for (size_t i = 0; i < c->count; i++) {
        c->reports[i].path = c->call->arguments.files[i];
        if (!names->given) c->own_tags[i] = tag_of(c->reports[i].path);
        c->reports[i].tag = names->given ? names->texts[i] : c->own_tags[i];
        for (size_t j = 0; j < i; j++)
            if (!strcmp(c->reports[i].tag, c->reports[j].tag))
                return gt_fail(error, "two reports are named '%.200s'; set names with --names",
                               c->reports[i].tag);
    }
    return true;
}

static bool is_group(const char *name)
{
    for (size_t i = 0; gt_compare_group(i); i++)
        if (!strcmp(gt_compare_group(i), name)) return true;
    return false;
}

static bool choose_groups(comparison *c, gt_error *error)
{
    const gt_option_value *sheets = gt_arguments_value(&c->call->arguments, "sheets");
    bool all = !sheets->given;
    for (size_t i = 0; i < sheets->text_count; i++) {
        if (!strcmp(sheets->texts[i], "all"))
            all = true;
        else if (is_group(sheets->texts[i]))
            GT_PUSH(c->groups, c->options.group_count, c->group_capacity, sheets->texts[i]);
        else
            return gt_fail(
                error,
                "argument --sheets: invalid choice: '%.200s' (choose from gpu_timeline, ops_summary, "
                "kernel_summary, ops_all, roofline, all)",
                sheets->texts[i]);
    }
    if (all) c->options.group_count = 0;
    c->options.groups = c->groups;
    return true;
}

static bool parse_gates(comparison *c, gt_error *error)
{
    const gt_option_value *conditions = gt_arguments_value(&c->call->arguments, "fail_if");
    c->options.gates = gt_alloc_zero(conditions->text_count, sizeof *c->options.gates);
    for (size_t i = 0; i < conditions->text_count; i++) {
        if (!gt_gate_parse(&c->options.gates[i], conditions->texts[i], error)) {
            gt_error_prefix(error, "argument --fail_if");
            return false;
        }
        c->options.gate_count++;
    }
    return true;
}

/* ---- outputs ---- */

static gt_destinations destinations_of(const gt_call *call)
{
    const char *xlsx = gt_arguments_string(&call->arguments, "output");
    const char *csvs = gt_arguments_string(&call->arguments, "output_csvs_dir");
    const char *db = gt_arguments_string(&call->arguments, "output_db");
    if (!xlsx && (call->by_old_name || (!csvs && !db))) xlsx = DEFAULT_WORKBOOK;
    return (gt_destinations){.xlsx_path = xlsx ? gt_strdup(xlsx) : NULL,
                             .csvs_dir = csvs ? gt_strdup(csvs) : NULL,
                             .db_path = db ? gt_strdup(db) : NULL};
}

static bool check_not_reports(const comparison *c, const gt_destinations *to, gt_error *error)
{
    const char *outputs[] = {to->xlsx_path, to->csvs_dir, to->db_path};
    for (size_t i = 0; i < c->count; i++)
        for (size_t o = 0; o < GT_LENGTH(outputs); o++)
            if (gt_path_is_same_file(outputs[o], c->reports[i].path))
                return gt_fail(error, "%s: output path is one of the input reports", outputs[o]);
    return true;
}

/* The lines that TraceLens prints. */
static void print_old_lines(const gt_destinations *to, const gt_table_list *tables)
{
    for (size_t i = 0; to->csvs_dir && i < tables->count; i++)
        printf("Wrote '%s.csv' with %zu rows × %zu columns\n", tables->items[i]->name,
               tables->items[i]->row_count, tables->items[i]->column_count);
    for (size_t i = 0; i < tables->count; i++) {
        if (!tables->items[i]->row_count)
            printf("Sheet '%s' is empty (no matching rows)\n", tables->items[i]->name);
        printf("Wrote sheet '%s' with %zu rows × %zu columns\n", tables->items[i]->name,
               tables->items[i]->row_count, tables->items[i]->column_count);
    }
}

/* Conditions that were met are always printed: a failure must be explained. */
static void show(const comparison *c, const gt_destinations *to, const gt_table_list *tables,
                 const gt_output *output)
{
    const gt_table *met = gt_table_list_find(tables, GT_SHEET_FAIL_IF);
    bool quiet = gt_arguments_flag(&c->call->arguments, "quiet");
    if (c->call->by_old_name) {
        if (!quiet) print_old_lines(to, tables);
        if (met) gt_compare_print_met(stdout, met);
        return;
    }
    if (!quiet) gt_compare_print_summary(stdout, c->reports, c->count, tables);
    if (met && (!quiet || met->row_count)) gt_compare_print_met(stdout, met);
    if (quiet) return;
    putchar('\n');
    for (size_t i = 0; i < gt_output_file_count(output); i++)
        printf("wrote %s\n", gt_output_file_path(output, i));
}

/* ---- traces given instead of reports ---- */

/* Whether the path is a trace that `gputally report` reads. SQLite files are not among them: a report may be
 * one, too. */
static bool is_trace(const char *path, bool *is_pytorch)
{
    gt_error error;
    gt_trace_format format = GT_FORMAT_UNKNOWN;
    *is_pytorch = false;
    if (gt_path_is_folder(path)) {
        char *sheet = gt_format("%s/%s.csv", path, GT_SHEET_GPU_TIMELINE.name);
        bool is_report = gt_path_is_file(sheet);
        gt_free(sheet);
        return !is_report && gt_rocprof_is_folder(path);
    }
    gt_stream *stream = gt_path_is_file(path) ? gt_stream_open(path, &error) : NULL;
    bool known = stream && gt_detect(stream, &format, &error);
    gt_stream_close(stream);
    *is_pytorch = format == GT_FORMAT_KINETO_JSON;
    return known && (*is_pytorch || format == GT_FORMAT_ROCPROF_JSON || format == GT_FORMAT_ROCPROF_CSV ||
                     format == GT_FORMAT_XPLANE || format == GT_FORMAT_PERFETTO);
}

/* Adds the commands that do what was asked: `diff` for two PyTorch traces, otherwise reports first. */
static void add_commands(gt_buffer *line, const comparison *c, const bool *traces, bool diff)
{
    const char *const begin = diff ? "gputally diff" : "gputally report";
    gt_buffer_add_cstr(line, begin);
    for (size_t i = 0; i < c->count; i++) {
        if (!traces[i]) continue;
        gt_buffer_add_cstr(line, " ");
        gt_shell_quote(line, c->reports[i].path);
    }
    if (diff) return;
    gt_buffer_add_cstr(line, " && gputally compare");
    for (size_t i = 0; i < c->count; i++) {
        char *report = traces[i] ? gt_default_xlsx_path(c->reports[i].path) : gt_strdup(c->reports[i].path);
        gt_buffer_add_cstr(line, " ");
        gt_shell_quote(line, report);
        gt_free(report);
    }
}

/* Fails with the commands to type if one of the files is a trace. */
static bool check_no_traces(const comparison *c, gt_error *error)
{
    bool *traces = gt_alloc_zero(c->count, sizeof *traces);
    size_t first = c->count, pytorch = 0;
    for (size_t i = 0; i < c->count; i++) {
        bool is_pytorch;
        traces[i] = is_trace(c->reports[i].path, &is_pytorch);
        pytorch += is_pytorch;
        if (traces[i] && first == c->count) first = i;
    }
    if (first < c->count) {
        gt_buffer line = {0};
        add_commands(&line, c, traces, pytorch == 2 && c->count == 2);
        gt_fail(error, "%s: a trace, not a report; use %s", c->reports[first].path,
                gt_buffer_str(&line).bytes);
        gt_buffer_free(&line);
    }
    gt_free(traces);
    return first == c->count;
}

/* ---- comparison ---- */

typedef struct opening {
    gt_compare_report *reports;
    gt_error *errors; /* by report */
} opening;

static bool open_report(void *context, size_t index)
{
    opening *o = context;
    gt_compare_report *report = &o->reports[index];
    return (report->sheets = gt_perf_sheets_open(report->path, &o->errors[index])) != NULL;
}

static bool open_reports(comparison *c, gt_error *error)
{
    opening o = {c->reports, gt_alloc_zero(c->count, sizeof *o.errors)};
    size_t failed = gt_many_run(&(gt_many){.count = c->count, .work = open_report, .context = &o});
    if (failed < c->count) *error = o.errors[failed];
    gt_free(o.errors);
    return failed == c->count;
}

static gt_exit compare(comparison *c, gt_interner *strings, gt_table_list *tables, gt_error *error)
{
    gt_destinations to = destinations_of(c->call);
    gt_output *output = NULL;
    if (check_no_traces(c, error) && open_reports(c, error) && check_not_reports(c, &to, error) &&
        gt_compare_tables(c->reports, c->count, &c->options, strings, tables, error))
        output = gt_destinations_write(&to, c->reports[0].path, tables, error);
    gt_exit status = GT_EXIT_FAILED;
    if (output) {
        const gt_table *met = gt_table_list_find(tables, GT_SHEET_FAIL_IF);
        show(c, &to, tables, output);
        status = met && met->row_count ? GT_EXIT_GATE : GT_EXIT_DONE;
    } else {
        fprintf(stderr, "gputally: %s\n", error->text);
    }
    gt_output_free(output);
    gt_destinations_free(&to);
    return status;
}

gt_exit gt_cmd_compare(const gt_call *call)
{
    gt_error error = {""};
    gt_read_options read;
    comparison c = {.call = call, .count = call->arguments.file_count};
    c.reports = gt_alloc_zero(c.count, sizeof *c.reports);
    c.own_tags = gt_alloc_zero(c.count, sizeof *c.own_tags);
    gt_exit status;
    if (gt_common_apply(call, &read, &error) && choose_tags(&c, &error) && choose_groups(&c, &error) &&
        parse_gates(&c, &error)) {
        gt_interner *strings = gt_interner_new();
        gt_table_list tables = {0};
        status = compare(&c, strings, &tables, &error);
        gt_table_list_free(&tables);
        gt_interner_free(strings);
    } else {
        status = gt_usage_error(call->program, "%s", error.text);
    }
    for (size_t i = 0; i < c.count; i++) {
        gt_perf_sheets_close(c.reports[i].sheets);
        gt_free(c.own_tags[i]);
    }
    for (size_t i = 0; i < c.options.gate_count; i++) gt_gate_free(&c.options.gates[i]);
    gt_free(c.options.gates);
    gt_free(c.groups);
    gt_free(c.reports);
    gt_free(c.own_tags);
    return status;
}
