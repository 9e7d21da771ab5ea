/* `gputally compare`: explains why the steps of traces differ, compares the sheets of reports and traces, and
 * checks the --fail_if conditions. */
#include "cli/commands/commands.h"
#include "input/files.h"
#include "os/paths.h"
#include "output/file.h"
#include "report/compare/compare.h"

static const gt_option compare_options[] = {
    {"names", GT_OPTION_STRINGS, "NAME...", NULL,
     "set one tag per report, used as the prefix of its columns (default: file name without extension, with "
     "folders if "
     "names are equal)"},
    {"sheets", GT_OPTION_STRINGS, "GROUP...", "all",
     "compare only these groups: waterfall (of traces), gpu_timeline, ops_summary, kernel_summary, ops_all, "
     "roofline or all; a named group must exist in the baseline",
     .choices = "waterfall|gpu_timeline|ops_summary|kernel_summary|ops_all|roofline|all"},
    {"fail_if", GT_OPTION_STRINGS, "CONDITION", NULL,
     "exit with status 3 if a report meets the condition SHEET.ROW[.COLUMN] OP NUMBER[%], such as "
     "'gpu_timeline.busy_time > 5%', or a trace the condition TOTAL OP NUMBER[%] on its waterfall, such as "
     "'step_ms > 5%' or 'idle_data_ms > 1', of a server 'step_ms_prefill > 5%'; compares the change from the "
     "baseline, in percent or in the column's unit; repeatable"},
};
static const gt_option_group compare_group = {"Comparison", compare_options, GT_LENGTH(compare_options)};

static const gt_option output_options[] = {
    {"output", GT_OPTION_STRING, "PATH", NULL, "write an Excel workbook to PATH",
     .ending = GT_WORKBOOK_ENDING},
    GT_CSV_OPTIONS,
    {"output_db", GT_OPTION_STRING, "PATH", NULL, "write an SQLite database with one table per sheet to PATH",
     .ending = GT_DATABASE_ENDINGS},
    {"output_json", GT_OPTION_STRING, "PATH", NULL,
     "write waterfalls, met conditions and all sheets as JSON to PATH, for scripts; - is standard output"},
    GT_JSON_SHEETS_OPTION,
    {"output_md", GT_OPTION_STRING, "PATH", NULL,
     "write waterfalls and met conditions as Markdown to PATH, for pull requests; - is standard output"},
    {"output_html", GT_OPTION_STRING, "PATH", NULL,
     "write the comparison of two files as a page for the browser to PATH (docs/page.md)"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_compare_syntax = {
    .groups = {&compare_group, &output_group, &gt_partials_group, &gt_common_group},
    .main_options = {"output", "output_csvs_dir", "fail_if", "sheets", "names"},
    .files = "FILE FILE...",
    .file_endings = GT_TRACE_ENDINGS ",xlsx",
    .files_max = 10000,
    .output_option = "output",
    .best_defaults = true,
};

typedef struct comparison {
    const gt_call *call;
    gt_read_options read;
    gt_compare_report *reports;
    char **own_tags; /* derived from the paths, without --names */
    size_t count;
    gt_compare_options options;
    const char **groups;
    size_t group_capacity;
    gt_table_list shown; /* for the summary on the terminal */
    char *why_not;       /* there is no waterfall; owned; NULL: there is one, or it was not asked for */
} comparison;

/* ---- the command line ---- */

/* The file name without its extension: "runs/mi300.xlsx" and "runs/mi300/" give "mi300". */
static char *tag_of(const char *path)
{
    char *name = gt_path_last_name(path), *point = strrchr(name, '.');
    if (point && point > name) *point = 0;
    return name;
}

/* "runs/mi300.json.gz" gives "mi300". */
static char *tag_of_trace(const char *path)
{
    char *stem = gt_trace_stem(path), *tag = gt_strdup(gt_path_name(stem));
    gt_free(stem);
    return tag;
}

/* A tag with the names of so many folders before it: "a/trace" of "runs/a/trace.json.gz". */
static char *tag_with_folders(const char *path, const char *tag, size_t folders)
{
    char *result = gt_strdup(tag);
    size_t end = strlen(path);
    for (size_t i = 0; i <= folders && end; i++) {
        while (end && path[end - 1] == '/') end--;
        size_t begin = end;
        while (begin && path[begin - 1] != '/') begin--;
        bool is_dot = end - begin == 1 && path[begin] == '.';
        if (i && end > begin && !is_dot) {
            char *longer = gt_format("%.*s/%s", (int)(end - begin), path + begin, result);
            gt_free(result);
            result = longer;
        }
        end = begin;
        if (is_dot) i--; /* says nothing; the name itself is none, because it has a tag */
    }
    return result;
}

static bool are_distinct(char *const *tags, const size_t *reports, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(tags[reports[i]], tags[reports[j]]) == 0) return false;
    return true;
}

/* Gives files of one name in different folders as many folders as tell them apart. */
static void extend_tags(comparison *c, const size_t *reports, size_t count)
{
    size_t most = 0;
    char *tag = gt_strdup(c->own_tags[reports[0]]);
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(c->reports[reports[i]].path);
        if (len > most) most = len;
    }
    for (size_t folders = 1; folders <= most && !are_distinct(c->own_tags, reports, count); folders++) {
        bool is_longer = false;
        for (size_t i = 0; i < count; i++) {
            char **own = &c->own_tags[reports[i]];
            char *longer = tag_with_folders(c->reports[reports[i]].path, tag, folders);
            is_longer = is_longer || strcmp(longer, *own) != 0;
            gt_free(*own);
            *own = longer;
        }
        if (!is_longer) break;
    }
    gt_free(tag);
}

static void tell_apart(comparison *c)
{
    size_t *reports = gt_alloc(c->count * sizeof *reports);
    for (size_t i = 0; i < c->count; i++) {
        size_t count = 0;
        for (size_t j = i; j < c->count; j++)
            if (strcmp(c->own_tags[i], c->own_tags[j]) == 0) reports[count++] = j;
        if (count > 1) extend_tags(c, reports, count);
    }
    gt_free(reports);
}

static const char *page_path(const comparison *c)
{
    return gt_arguments_string(&c->call->arguments, "output_html");
}

static bool choose_tags(comparison *c, gt_error *error)
{
    const gt_option_value *names = gt_arguments_value(&c->call->arguments, "names");
    if (c->count < 2) return gt_fail(error, "Need at least two report files");
    if (page_path(c) && c->count > 2)
        return gt_fail(error, "argument --output_html: a page compares two files, not %zu", c->count);
    if (names->given && names->text_count != c->count)
        return gt_fail(error, "--names count must equal number of reports");
    for (size_t i = 0; i < c->count; i++) {
        c->reports[i].path = c->call->arguments.files[i];
        c->reports[i].is_trace = gt_compare_is_trace(c->reports[i].path);
        if (!names->given)
            c->own_tags[i] = (c->reports[i].is_trace ? tag_of_trace : tag_of)(c->reports[i].path);
    }
    if (!names->given && !c->call->by_old_name) tell_apart(c);
    for (size_t i = 0; i < c->count; i++) {
        c->reports[i].tag = names->given ? names->texts[i] : c->own_tags[i];
        for (size_t j = 0; j < i; j++)
            if (!strcmp(c->reports[i].tag, c->reports[j].tag))
                return gt_fail(error, "two reports are named '%.200s'; set names with --names",
                               c->reports[i].tag);
    }
    return true;
}

static void choose_groups(comparison *c)
{
    const gt_option_value *sheets = gt_arguments_value(&c->call->arguments, "sheets");
    bool all = !sheets->given;
    for (size_t i = 0; i < sheets->text_count; i++) {
        if (!strcmp(sheets->texts[i], "all"))
            all = true;
        else
            GT_PUSH(c->groups, c->options.group_count, c->group_capacity, sheets->texts[i]);
    }
    if (all) c->options.group_count = 0;
    c->options.groups = c->groups;
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
        const gt_gate *gate = &c->options.gates[c->options.gate_count++];
        if (gate->is_total && !gt_compare_has_total(gate->row))
            return gt_fail(
                error,
                "argument --fail_if: '%.200s' is no total (choose from step_ms, median_step_ms, "
                "step_ms_PHASE such as "
                "step_ms_decode, kernels_ms, new_ms, vanished_ms, slower_ms, faster_ms, more_calls_ms, "
                "fewer_calls_ms, overlap_ms, "
                "communication_ms, copies_ms, idle_ms, and idle_CAUSE_ms such as idle_data_ms)",
                gate->row);
    }
    return true;
}

/* ---- outputs ---- */

static gt_destinations destinations_of(const gt_call *call)
{
    gt_destinations to = gt_destinations_named(&call->arguments);
    const char *xlsx = gt_arguments_string(&call->arguments, "output");
    if (!xlsx && call->by_old_name) xlsx = "comparison.xlsx";
    if (xlsx) to.xlsx_path = gt_strdup(xlsx);
    return to;
}

static bool check_not_reports(const comparison *c, const gt_destinations *to, gt_error *error)
{
    const char *outputs[] = {to->xlsx_path, to->csvs_dir, to->db_path,
                             to->json_path, to->md_path,  to->html_path};
    for (size_t i = 0; i < c->count; i++)
        for (size_t o = 0; o < GT_LENGTH(outputs); o++)
            if (gt_path_is_same_file(outputs[o], c->reports[i].path))
                return gt_fail(error, "%s: output path is one of the input reports", outputs[o]);
    return true;
}

static bool write_page(const comparison *c, const gt_table_list *tables, gt_output *output, gt_error *error)
{
    char *command = gt_call_describe(c->call, NULL);
    gt_buffer html = {0};
    gt_compare_add_page(c->reports, tables, &c->options, command, &html);
    bool written = gt_output_write_file(output, page_path(c), gt_buffer_str(&html), error);
    gt_buffer_free(&html);
    gt_free(command);
    return written;
}

static bool write_answers(const void *context, const gt_table_list *tables, gt_output *output,
                          gt_error *error)
{
    const comparison *c = context;
    const char *json = gt_arguments_string(&c->call->arguments, "output_json");
    const char *md = gt_arguments_string(&c->call->arguments, "output_md");
    gt_buffer text = {0};
    bool written = true;
    if (json) {
        gt_table_list sheets =
            gt_sheets_chosen(gt_arguments_value(&c->call->arguments, "json_sheets"), false, tables);
        gt_compare_json(c->reports, c->count, tables, &sheets, NULL, &text);
        gt_free(sheets.items);
        written = gt_output_write_file(output, json, gt_buffer_str(&text), error);
    }
    text.len = 0;
    if (written && md) {
        gt_compare_markdown(c->reports, c->count, tables, &text);
        written = gt_output_write_file(output, md, gt_buffer_str(&text), error);
    }
    gt_buffer_free(&text);
    return written && (!page_path(c) || write_page(c, tables, output, error));
}

/* The JSON file of a comparison that failed. Another failure is ignored, because the first one is reported.
 */
static void write_error(const comparison *c, const gt_destinations *to, const gt_error *failure)
{
    gt_error ignored;
    if (!to->json_path || !check_not_reports(c, to, &ignored)) return;
    gt_buffer text = {0};
    gt_output *output = gt_output_new();
    gt_compare_json(c->reports, c->count, NULL, NULL, failure->text, &text);
    if (gt_output_write_file(output, to->json_path, gt_buffer_str(&text), &ignored))
        gt_output_commit(output, &ignored);
    gt_output_free(output);
    gt_buffer_free(&text);
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
    if (!quiet) gt_compare_print_summary(stdout, c->reports, c->count, tables, &c->shown);
    if (met && (!quiet || met->row_count)) gt_compare_print_met(stdout, met);
    if (!quiet) gt_trace_show_files(stdout, output);
}

/* ---- comparison ---- */

/* TraceLens compares reports only. */
static bool check_no_traces(const comparison *c, gt_error *error)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->reports[i].is_trace)
            return gt_fail(error, "%s: a trace, not a report; use gputally compare", c->reports[i].path);
    return true;
}

typedef struct opening {
    comparison *c;
    gt_compare_wanted wanted;
    gt_error *errors; /* by report */
} opening;

static bool open_report(void *context, size_t index)
{
    opening *o = context;
    return gt_compare_open(&o->c->reports[index], o->wanted, &o->c->read, &o->errors[index]);
}

/* ---- of another process (input/files.h): traces only, reports on disk are opened again ---- */

static bool pack_report(void *context, size_t index, gt_image *image)
{
    opening *o = context;
    const char *error = o->errors[index].text;
    gt_image_add_text(image, "opened", "error", *error ? error : NULL);
    if (!*error) gt_compare_save(&o->c->reports[index], image);
    return true;
}

static bool unpack_report(void *context, size_t index, const gt_image *image)
{
    opening *o = context;
    char *error = NULL;
    if (!gt_image_get_text(image, "opened", "error", &error)) return false;
    if (error) gt_fail(&o->errors[index], "%s", error);
    bool failed = error != NULL;
    gt_free(error);
    if (failed) return true;
    if (o->c->reports[index].is_trace) return gt_compare_load(&o->c->reports[index], image);
    return gt_compare_open(&o->c->reports[index], o->wanted, &o->c->read, &o->errors[index]);
}

/* A failure may pass. */
static bool report_is_usable(void *context, size_t index, const gt_image *image)
{
    size_t len;
    (void)context;
    (void)index;
    return !gt_image_get(image, "opened", "error", 1, &len);
}

static void drop_report(void *context, size_t index)
{
    opening *o = context;
    gt_compare_close(&o->c->reports[index]);
}

/* If only the waterfall of traces is wanted, and no page, their reports need not be made. */
static bool wants_sheets(const comparison *c)
{
    for (size_t i = 0; i < c->options.group_count; i++)
        if (strcmp(c->groups[i], gt_compare_group(0)) != 0) return true;
    for (size_t i = 0; i < c->count; i++)
        if (!c->reports[i].is_trace) return true;
    return !c->options.group_count || page_path(c);
}

static bool open_reports(comparison *c, gt_error *error)
{
    opening o = {
        c, {.sheets = wants_sheets(c), .page = page_path(c)}, gt_alloc_zero(c->count, sizeof *o.errors)};
    c->read.is_part = true;
    char *key = gt_call_key(c->call);
    size_t failed = gt_files_work(&(gt_file_work){.paths = (const char *const *)c->call->arguments.files,
                                                  .count = c->count,
                                                  .one = "file",
                                                  .many = "files",
                                                  .work = open_report,
                                                  .key = key,
                                                  .pack = pack_report,
                                                  .unpack = unpack_report,
                                                  .drop = drop_report,
                                                  .is_usable = report_is_usable,
                                                  .context = &o});
    if (failed < c->count) *error = o.errors[failed];
    gt_free_all(key, o.errors);
    if (failed == c->count && !c->call->by_old_name) gt_compare_warn(c->reports, c->count);
    return failed == c->count;
}

static gt_exit compare(comparison *c, gt_interner *strings, gt_table_list *tables, gt_error *error)
{
    gt_destinations to = destinations_of(c->call);
    to.write_more = write_answers;
    to.more_context = c;
    gt_output *output = NULL;
    c->options.reports_only = c->call->by_old_name;
    if (!c->call->by_old_name && !gt_arguments_flag(&c->call->arguments, "quiet"))
        c->options.shown = &c->shown;
    if ((!c->call->by_old_name || check_no_traces(c, error)) && open_reports(c, error) &&
        check_not_reports(c, &to, error) &&
        gt_compare_tables(c->reports, c->count, &c->options, strings, tables, error))
        output = gt_destinations_write(&to, c->reports[0].path, tables, error);
    gt_exit status = GT_EXIT_FAILED;
    if (output) {
        const gt_table *met = gt_table_list_find(tables, GT_SHEET_FAIL_IF);
        show(c, &to, tables, output);
        status = met && met->row_count ? GT_EXIT_GATE : GT_EXIT_DONE;
    } else {
        write_error(c, &to, error);
        fprintf(stderr, "gputally: %s\n", error->text);
    }
    gt_output_free(output);
    gt_destinations_free(&to);
    return status;
}

gt_exit gt_cmd_compare(const gt_call *call)
{
    gt_error error = {""};
    comparison c = {.call = call, .count = call->arguments.file_count};
    c.reports = gt_alloc_zero(c.count, sizeof *c.reports);
    c.own_tags = gt_alloc_zero(c.count, sizeof *c.own_tags);
    gt_exit status;
    if (gt_common_apply(call, &c.read, &error) && choose_tags(&c, &error) && parse_gates(&c, &error)) {
        choose_groups(&c);
        gt_interner *strings = gt_interner_new();
        gt_table_list tables = {0};
        c.options.why_no_waterfall = &c.why_not;
        status = compare(&c, strings, &tables, &error);
        gt_table_list_free(&c.shown);
        gt_table_list_free(&tables);
        gt_interner_free(strings);
    } else {
        status = gt_usage_error(call->program, "%s", error.text);
    }
    for (size_t i = 0; i < c.count; i++) {
        gt_compare_close(&c.reports[i]);
        gt_free(c.own_tags[i]);
    }
    for (size_t i = 0; i < c.options.gate_count; i++) gt_gate_free(&c.options.gates[i]);
    gt_free_all(c.options.gates, c.why_not, c.groups, c.reports, c.own_tags);
    return status;
}
