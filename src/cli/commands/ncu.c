/* `gputally ncu`: the report on the metrics of kernel launches that `ncu --csv` printed. */
#include "cli/commands/commands.h"
#include "analysis/ncu/sheets.h"

static const gt_option input_options[] = {
    {"csv_path", GT_OPTION_STRING, "FILE", NULL,
     "read this output of ncu --csv, with --page raw or --page details (same as FILE)"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

const gt_syntax gt_ncu_syntax = {
    .groups = {&input_group, &gt_output_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_db", "threads", "quiet"},
    .files = "FILE",
    .file_endings = "csv,csv.gz,csv.zst",
    .file_option = "csv_path",
    .files_max = 1,
    .output_option = "output_xlsx_path",
};

/* ---- terminal ---- */

enum { ROWS_SHOWN = 10 };

static void print_kernels(const gt_terminal *terminal, const gt_table *table)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_PERCENT, "time", 1, "%"},       {GT_COL_TOTAL_US, "total µs", 1, NULL},
        {GT_COL_LAUNCHES, "launches", 0, NULL}, {GT_COL_SM_PCT, "SM", 1, "%"},
        {GT_COL_MEMORY_PCT, "memory", 1, "%"},  {GT_COL_ACHIEVED_OCCUPANCY_PCT, "occupancy", 1, "%"},
        {GT_COL_KERNEL, "kernel", 0, NULL},
    };
    gt_terminal_heading(terminal, "Kernels");
    gt_summary_rows(terminal, table, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

static void print_summary(FILE *out, const gt_ncu *trace, const gt_table_list *tables)
{
    static const gt_summary_part parts[] = {{GT_SHEET_NCU_KERNELS, print_kernels}};
    gt_terminal terminal = gt_terminal_for(out);
    fprintf(out, "%zu profiled %s\n", trace->launch_count,
            gt_noun(trace->launch_count, "launch", "launches"));
    gt_summary_parts(&terminal, tables, parts, GT_LENGTH(parts));
}

/* ---- the report ---- */

/* The JSON and Markdown files of `gputally report`. */
static bool write_answers(const void *context, const gt_table_list *tables, gt_output *output,
                          gt_error *error)
{
    const gt_trace_call *trace = context;
    return gt_answers_write(trace->destinations, gt_trace_title(trace->path), tables, output, error);
}

bool gt_ncu_report(const gt_trace_call *call, gt_error *error)
{
    gt_ncu *trace = gt_ncu_read(call->stream, error);
    if (!trace) return false;
    const gt_option *html = gt_syntax_option(call->call->command->syntax, "output_html");
    if (html && gt_arguments_value(&call->call->arguments, "output_html")->given)
        gt_warn("%s: there is no page on metrics of Nsight Compute", gt_trace_title(call->path));
    gt_table_list tables = {0};
    gt_ncu_tables(trace, &tables);
    gt_destinations to = *call->destinations;
    to.html_path = NULL;
    to.write_more = write_answers;
    to.more_context = call;
    gt_output *output = gt_destinations_write(&to, call->path, &tables, error);
    if (output && gt_trace_is_shown(call)) {
        print_summary(call->out ? call->out : stdout, trace, &tables);
        if (!call->call->answers_only) gt_trace_show_files(call->out ? call->out : stdout, output);
    }
    bool made = output != NULL;
    if (made) gt_written_add(&call->result->written, output);
    gt_output_free(output);
    gt_table_list_free(&tables);
    gt_ncu_free(trace);
    return made;
}

gt_exit gt_cmd_ncu(const gt_call *call)
{
    const char *path = gt_arguments_value(&call->arguments, "csv_path")->text;
    return gt_each_trace(call, &path, 1, gt_ncu_report);
}
