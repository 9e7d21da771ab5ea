/* `gputally what-if`: the step of a PyTorch trace under other conditions (findings/scenario.h). */
#include "cli/commands/commands.h"
#include "findings/scenario.h"

static const gt_option scenario_options[] = {
    {"gpu", GT_OPTION_STRING, "NAME", NULL,
     "run the kernels on this GPU: H100 or H200 (other GPUs are refused)", .choices = "H100|H200|"},
    {"fix", GT_OPTION_STRING, "FINDINGS", NULL,
     "repair these findings: ranks or names, separated by commas, or all but hints: all", .choices = "all|"},
    {"batch", GT_OPTION_STRING, "FACTORx", "1x", "make batches so many times as large, from 1x to 4x"},
    {"ranks", GT_OPTION_INT, "N", NULL,
     "predict for N ranks: refused, because what more ranks change was never measured"},
};
static const gt_option_group scenario_group = {"What changes", scenario_options, GT_LENGTH(scenario_options)};

static const gt_option output_options[] = {
    {"output_xlsx_path", GT_OPTION_STRING, "PATH", NULL, "write an Excel workbook to PATH",
     .ending = GT_WORKBOOK_ENDING},
    GT_CSV_OPTIONS,
    {"output_db", GT_OPTION_STRING, "PATH", NULL, "write an SQLite database with one table per sheet to PATH",
     .ending = GT_DATABASE_ENDINGS},
    {"output_json", GT_OPTION_STRING, "PATH", NULL,
     "write findings and all sheets as JSON to PATH (docs/json.md); - is standard output"},
    GT_JSON_SHEETS_OPTION,
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_what_if_syntax = {
    .groups = {&scenario_group, &output_group, &gt_common_group},
    .main_options = {"fix", "batch", "gpu", "output_json", "output_xlsx_path"},
    .files = "TRACE",
    .file_endings = "json,json.gz,json.zst",
    .files_max = 1,
    .output_option = "output_xlsx_path",
    .error_option = "output_json",
    .best_defaults = true,
};

/* ---- options ---- */

/* "2x", "2" or "1.5x". */
static bool read_batch(const char *text, double *batch, gt_error *error)
{
    char *end;
    *batch = strtod(text, &end);
    if (end != text && (*end == 'x' || *end == 'X')) end++;
    bool is_number = end != text && !*end && strspn(text, "0123456789.") >= 1;
    if (!is_number || !isfinite(*batch) || *batch <= 0)
        return gt_fail(error, "argument --batch: '%.50s': expected a factor, such as 2x", text);
    if (*batch < 1 || *batch > GT_SCENARIO_BATCH_MAX)
        return gt_fail(
            error,
            "argument --batch: %gx: possible are 1x to %gx; beyond that, the predicted GPU time was wrong by "
            "up to 51 %%",
            *batch, GT_SCENARIO_BATCH_MAX);
    return true;
}

static bool read_scenario(const gt_arguments *arguments, gt_scenario *scenario, gt_error *error)
{
    const char *gpu = gt_arguments_string(arguments, "gpu");
    *scenario = (gt_scenario){.fixes = gt_arguments_string(arguments, "fix")};
    if (gt_arguments_value(arguments, "ranks")->given)
        return gt_fail(
            error,
            "argument --ranks: there are no measurements of one program on different numbers of ranks, "
            "so nobody knows how wrong a prediction would be");
    if (!read_batch(gt_arguments_string(arguments, "batch"), &scenario->batch, error)) return false;
    if (gpu && !(scenario->gpu = gt_gpu_arch_find(gpu, error))) return false;
    if (!gpu && !scenario->fixes && scenario->batch == 1)
        return gt_fail(error, "nothing changes: give --fix, --batch or --gpu");
    return true;
}

/* ---- terminal ---- */

static void print_parts(const gt_terminal *terminal, const gt_table *sheet)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_NOW_MS, "now ms", 2, NULL},
        {GT_COL_THEN_MS, "then ms", 2, NULL},
        {GT_COL_THEN_LOW_MS, "from", 2, NULL},
        {GT_COL_THEN_HIGH_MS, "to", 2, NULL},
        {GT_COL_PART, "part", 0, NULL},
    };
    gt_summary_rows(terminal, sheet, columns, GT_LENGTH(columns), SIZE_MAX);
}

static void print_notes(const gt_terminal *terminal, const gt_table *sheet)
{
    fputc('\n', terminal->file);
    for (size_t row = 0; row < sheet->row_count; row++)
        fprintf(terminal->file, "%s\n",
                gt_interner_get(sheet->strings,
                                gt_table_column_of(sheet, GT_COL_NOTE, GT_TYPE_STRING)->texts[row])
                    .bytes);
}

static void print_scenario(FILE *out, const gt_table_list *tables, const char *title)
{
    gt_terminal terminal = gt_terminal_for(out);
    gt_answers answers = {.trace = title, .tables = tables};
    fprintf(out, "%s  %s\n", title, gt_answers_text(&answers, "device"));
    if (gt_answers_distrusted(tables)) fprintf(out, "Trust: do not trust (see gputally report)\n");
    fputc('\n', out);
    print_parts(&terminal, gt_table_list_find(tables, GT_SHEET_SCENARIO));
    print_notes(&terminal, gt_table_list_find(tables, GT_SHEET_SCENARIO_NOTES));
}

/* ---- the command ---- */

static bool write_answers(const void *context, const gt_table_list *tables, gt_output *output,
                          gt_error *error)
{
    const gt_trace_call *trace = context;
    return gt_answers_write(trace->destinations, gt_trace_title(trace->path), tables, output, error);
}

static bool write_and_print(const gt_trace_call *call, const gt_table_list *tables, gt_error *error)
{
    gt_destinations to = *call->destinations;
    if (!gt_arguments_value(&call->call->arguments, "output_xlsx_path")->given) to.xlsx_path = NULL;
    to.write_more = write_answers;
    to.more_context = call;
    gt_output *output = gt_destinations_write(&to, call->path, tables, error);
    if (!output) return false;
    FILE *out = call->out ? call->out : stdout;
    if (gt_trace_is_shown(call)) {
        print_scenario(out, tables, gt_trace_title(call->path));
        gt_trace_show_files(out, output);
    }
    gt_written_add(&call->result->written, output);
    gt_output_free(output);
    return true;
}

static bool make_scenario(const gt_trace_call *call, gt_error *error)
{
    gt_trace_kind kind;
    gt_report report;
    gt_scenario scenario;
    gt_error reason;
    const char *title = gt_trace_title(call->path);
    if (!read_scenario(&call->call->arguments, &scenario, error) ||
        !gt_report_detect(call->stream, &kind, error))
        return false;
    if (kind != GT_TRACE_PYTORCH) return gt_fail(error, "%s: what-if needs a PyTorch trace", title);
    gt_report_options options = gt_trace_report_options(call->call);
    options.read = *call->read;
    bool made = gt_report_read(&report, kind, call->stream, call->path, &options, error);
    if (made) {
        gt_table_list tables = {0};
        gt_findings *findings = gt_findings_find(gt_report_events(&report), &(gt_findings_options){0});
        made = gt_scenario_add_sheets(findings, &scenario, &tables, &reason);
        if (!made) gt_fail(error, "%s: %s", title, reason.text);
        if (made) gt_findings_add_sheets(findings, &tables);
        made = made && write_and_print(call, &tables, error);
        gt_table_list_free(&tables);
        gt_findings_free(findings);
    }
    gt_report_free(&report);
    gt_report_options_free(&options);
    return made;
}

gt_exit gt_cmd_what_if(const gt_call *call)
{
    gt_scenario scenario;
    gt_error error;
    if (call->arguments.file_count < 1)
        return gt_usage_error(call->program, "the following arguments are required: trace");
    if (!read_scenario(&call->arguments, &scenario, &error))
        return gt_usage_error(call->program, "%s", error.text);
    return gt_each_trace(call, call->arguments.files, 1, make_scenario);
}
