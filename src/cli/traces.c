/* One report per trace. All output paths are chosen before the first trace is read. */
#include "cli/traces.h"

#include "base/guard.h"
#include "base/progress.h"
#include "procs/procs.h"
#include "input/files.h"
#include "os/paths.h"
#include "output/file.h"

/* The first trace before this one that would write to one of its output paths; SIZE_MAX: none. `known` has
 * the paths of all traces before it, `owners` by their ids the first trace with each. */
static size_t find_clash(gt_interner *known, const gt_destinations *to, size_t trace, size_t *owners)
{
    const char *const paths[] = {to->xlsx_path, to->csvs_dir, to->json_path, to->md_path, to->html_path};
    size_t first = SIZE_MAX;
    for (size_t kind = 0; kind < GT_LENGTH(paths); kind++) {
        if (!paths[kind]) continue;
        char *name = gt_format("%zu%s", kind, paths[kind]); /* a folder may have the name of another's file */
        uint32_t count = gt_interner_count(known), id = gt_interner_add_cstr(known, name);
        if (id == count)
            owners[id] = trace;
        else if (owners[id] < first)
            first = owners[id];
        gt_free(name);
    }
    return first;
}

/* Linear in the number of traces: a folder may have thousands. */
static bool choose_destinations(const gt_call *call, const gt_trace_item *items, size_t count,
                                gt_destinations *destinations, gt_error *error)
{
    enum { PATHS_OF_TRACE = 5, FIRST_IDS = 2 };
    gt_interner *known = gt_interner_new();
    size_t *owners = gt_alloc((FIRST_IDS + count * PATHS_OF_TRACE) * sizeof *owners);
    bool chosen = true;
    for (size_t i = 0; chosen && i < count; i++) {
        chosen = gt_destinations_choose(&destinations[i], call, items[i].path, items[i].label, count, error);
        size_t other = chosen ? find_clash(known, &destinations[i], i, owners) : SIZE_MAX;
        if (other == SIZE_MAX) continue;
        chosen =
            gt_fail(error, "reports of %.300s and %.300s have the same output path %.300s", items[other].path,
                    items[i].path, gt_destinations_clash(&destinations[i], &destinations[other]));
    }
    gt_free(owners);
    gt_interner_free(known);
    return chosen;
}

static bool is_missing(const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool gt_trace_is_shown(const gt_trace_call *trace)
{
    return !gt_journal_is_kept() && !gt_arguments_flag(&trace->call->arguments, "quiet");
}

void gt_trace_show_files(FILE *out, const gt_output *output)
{
    if (gt_output_file_count(output)) fputc('\n', out);
    for (size_t i = 0; i < gt_output_file_count(output); i++)
        fprintf(out, "wrote %s\n", gt_output_file_path(output, i));
}

/* ---- the reports of report/report.h ---- */

static void set_option(gt_report_options *options, const gt_option *option, const gt_option_value *value)
{
    if (!value->given) return; /* defaults are those of the report */
    char number[32];
    gt_error error = {""};
    bool valid = true;
    snprintf(number, sizeof number, "%" PRId64, value->number);
    if (option->kind == GT_OPTION_FLAG)
        valid = gt_report_options_set(options, option->name, "true", &error);
    else if (option->kind == GT_OPTION_INT)
        valid = !value->text || gt_report_options_set(options, option->name, number, &error);
    else if (option->kind == GT_OPTION_STRING)
        valid = !value->text || gt_report_options_set(options, option->name, value->text, &error);
    for (size_t i = 0; i < value->text_count && valid; i++)
        valid = gt_report_options_set(options, option->name, value->texts[i], &error);
    if (!valid) gt_raise_internal("option %s", error.text); /* the command has checked the values */
}

static void note_line(const char *line)
{
    gt_journal_print("%s", line);
}

gt_report_options gt_trace_report_options(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    const gt_syntax *syntax = arguments->syntax;
    gt_report_options options = syntax->best_defaults        ? gt_report_options_best()
                                : syntax->inference_defaults ? gt_report_options_inference()
                                                             : gt_report_options_default();
    for (gt_option_walk at = {.syntax = arguments->syntax}; gt_option_next(&at);)
        if (!at.option->unused && gt_report_option_exists(at.option->name))
            set_option(&options, at.option, &arguments->values[at.index]);
    if (call->by_old_name) /* these programs have none of them */
        options.rocprof.extra_sheets = options.pytorch.extra_sheets =
            options.pytorch.gpu_only_kernel_summary = false;
    options.pytorch.reference_messages = options.pytorch.params_as_text = options.jax.params_as_text =
        call->by_old_name;
    if (call->by_old_name) options.journal = note_line;
    options.all_findings = gt_arguments_flag_if(arguments, "all_findings");
    return options;
}

/* "rank 3: total 12.345 ms, computation 31.2 %, ...; wrote t_perf_report.xlsx and .html" */
static void show_rank(const gt_trace_call *trace, const gt_report *report, const gt_output *output)
{
    fprintf(trace->out, "rank %" PRId64 ": ", trace->rank);
    gt_report_print_line(trace->out, report);
    const char *place = trace->destinations->csvs_dir, *page = trace->destinations->html_path;
    if (!gt_output_file_count(output)) {
        fputc('\n', trace->out);
        return;
    }
    if (!place) place = gt_output_file_path(output, 0);
    fprintf(trace->out, "; wrote %s", place);
    size_t stem = strrchr(place, '.') ? (size_t)(strrchr(place, '.') - place) : SIZE_MAX;
    bool is_beside =
        page && stem != SIZE_MAX && strncmp(page, place, stem) == 0 && strcmp(page + stem, ".html") == 0;
    if (page && strcmp(page, place) != 0) fprintf(trace->out, " and %s", is_beside ? ".html" : page);
    fputc('\n', trace->out);
}

static bool is_below(const char *path, const char *folder)
{
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

/* The same with one line for all CSV files. The page comes last: it is what people open first. */
static void show_files_in_short(const gt_trace_call *trace, const gt_output *output)
{
    const char *csvs_dir = trace->destinations->csvs_dir, *page = trace->destinations->html_path;
    size_t csvs = 0;
    if (gt_output_file_count(output)) fputc('\n', trace->out);
    for (size_t i = 0; i < gt_output_file_count(output); i++) {
        const char *path = gt_output_file_path(output, i);
        size_t len = strlen(path);
        if (is_below(path, csvs_dir) && len > 4 && strcmp(path + len - 4, ".csv") == 0)
            csvs++;
        else if (!page || strcmp(path, page) != 0)
            fprintf(trace->out, "wrote %s\n", path);
    }
    if (csvs) fprintf(trace->out, "wrote %zu CSV files to %s\n", csvs, csvs_dir);
    if (page) fprintf(trace->out, "wrote %s\n", page);
}

static void show_report(const gt_trace_call *trace, const gt_report *report, const gt_output *output)
{
    if (trace->rank >= 0) {
        show_rank(trace, report, output);
        return;
    }
    gt_terminal terminal = gt_terminal_for(trace->out);
    if (trace->call->first_finding)
        gt_answers_add_first(&(gt_answers){.trace = report->title, .tables = &report->tables},
                             trace->call->first_finding);
    if (trace->call->answers_only) {
        gt_report_print_answers(trace->out, report, (int)terminal.width, terminal.utf8);
        return;
    }
    if (trace->is_one_of_several) fprintf(trace->out, "%s\n", report->title);
    gt_report_print_summary(trace->out, report, (int)terminal.width, terminal.utf8);
    if (gt_answers_exist(&report->tables))
        show_files_in_short(trace, output);
    else
        gt_trace_show_files(trace->out, output);
}

/* What the files other than the documents need. */
typedef struct more_files {
    const gt_trace_call *trace;
    const gt_report *report;
    gt_write_more *write_more; /* of the command; NULL: nothing */
} more_files;

bool gt_answers_write(const gt_destinations *to, const char *title, const gt_table_list *tables,
                      gt_output *output, gt_error *error)
{
    gt_table_list sheets = gt_sheets_chosen(to->json_sheets, to->sheets_optional || !to->json_path, tables);
    const gt_answers answers = {.trace = title, .tables = tables, .sheets = &sheets};
    gt_buffer text = {0};
    bool written = true;
    if (to->json_path) written = gt_answers_write_json(&answers, output, to->json_path, error);
    if (written && to->md_path) {
        gt_answers_markdown(&answers, &text);
        written = gt_output_write_file(output, to->md_path, gt_buffer_str(&text), error);
    }
    gt_free(sheets.items);
    gt_buffer_free(&text);
    return written;
}

static bool write_page(const more_files *more, gt_output *output, gt_error *error)
{
    const char *path = more->trace->destinations->html_path;
    if (!path) return true;
    char *command = gt_call_describe(more->trace->call, more->trace->path);
    gt_buffer html = {0};
    gt_report_add_page(more->report, command, &html);
    bool written = gt_output_write_file(output, path, gt_buffer_str(&html), error);
    gt_buffer_free(&html);
    gt_free(command);
    return written;
}

static bool write_more_files(const void *context, const gt_table_list *tables, gt_output *output,
                             gt_error *error)
{
    const more_files *more = context;
    const gt_trace_call *trace = more->trace;
    return gt_answers_write(trace->destinations, gt_trace_title(trace->path), tables, output, error) &&
           (!more->write_more || more->write_more(more->trace, tables, output, error)) &&
           write_page(more, output, error);
}

/* Writes the JSON file of a trace that failed: the error, and what was found out before. Another failure is
 * ignored, because the first one is reported. */
static void write_error(const gt_trace_call *trace, const gt_table_list *tables, const gt_error *failure)
{
    const char *path = trace->destinations->json_path;
    gt_error ignored;
    if (!path || !gt_check_not_input(path, trace->path, &ignored)) return;
    gt_table_list sheets = gt_sheets_chosen(trace->destinations->json_sheets, true, tables);
    const gt_answers answers = {.trace = gt_trace_title(trace->path),
                                .tables = tables,
                                .sheets = &sheets,
                                .error = failure->text,
                                .exit = GT_EXIT_FAILED};
    gt_output *output = gt_output_new();
    trace->result->has_json =
        gt_answers_write_json(&answers, output, path, &ignored) && gt_output_commit(output, &ignored);
    if (trace->result->has_json) gt_written_add(&trace->result->written, output);
    gt_output_free(output);
    gt_free(sheets.items);
}

/* The first check that failed, if the verdict is "do not trust"; else NULL. The caller frees it. */
static char *distrust_of(const gt_table_list *tables)
{
    if (!gt_answers_distrusted(tables)) return NULL;
    const gt_table *trust = gt_table_list_find(tables, GT_SHEET_TRUST);
    for (size_t row = 0; trust && row < trust->row_count; row++)
        if (gt_str_equals(gt_answers_cell(trust, GT_COL_LEVEL, row), "fail"))
            return gt_strdup(gt_answers_cell(trust, GT_COL_TEXT, row).bytes);
    return gt_strdup("no check says why");
}

/* Whether every row of a sheet is needed once, in order: the other documents look at their sheets before. */
static bool has_only_csvs(const gt_destinations *to)
{
    return !to->xlsx_path && !to->db_path && !to->json_path && !to->md_path && !to->html_path &&
           !to->text_path;
}

bool gt_trace_make_report(const gt_trace_call *trace, gt_trace_kind kind, const gt_report_hooks *hooks,
                          gt_error *error)
{
    gt_report_options options = gt_trace_report_options(trace->call);
    gt_report report;
    gt_run_info run = {0};
    options.read = *trace->read;
    options.page = trace->destinations->html_path != NULL;
    options.rocprof.late_details = !hooks->write_more && has_only_csvs(trace->destinations);
    if (trace->wants_collectives) options.read.run = &run;
    gt_trace_result *result = trace->result;
    result->kinds |= 1u << kind;
    gt_output *output = NULL;
    bool made = gt_report_read(&report, kind, trace->stream, trace->path, &options, error);
    result->is_read = made;
    if (made && trace->wants_collectives && kind == GT_TRACE_PYTORCH)
        result->collectives = gt_rank_collectives_of_trace(gt_report_events(&report), &run, trace->rank);
    if (made) report.collectives = result->collectives;
    if (!made && hooks->read_failed) hooks->read_failed(error);
    if (made && hooks->was_read) hooks->was_read(&report);
    made = made && gt_report_make_tables(&report, error);
    if (made && hooks->was_made) hooks->was_made(trace, &report);
    gt_destinations to = *trace->destinations;
    const more_files more = {trace, &report, hooks->write_more};
    to.write_more = write_more_files;
    to.more_context = &more;
    result->distrust = distrust_of(&report.tables);
    if (made) output = gt_destinations_write(&to, trace->path, &report.tables, error);
    if (output && gt_trace_is_shown(trace)) show_report(trace, &report, output);
    made = output != NULL;
    if (made) gt_written_add(&result->written, output);
    if (!made) write_error(trace, &report.tables, error);
    gt_output_free(output);
    gt_report_free(&report);
    gt_report_options_free(&options);
    return made;
}

/* ---- all traces of a command ---- */

typedef struct job {
    const gt_call *call;
    gt_trace_item *items;
    size_t count;
    gt_read_options read;
    const gt_destinations *destinations;
    gt_report_maker *make;
    bool quiet, strict_trust;
    gt_trace_result *results;
    gt_exit status;
    unsigned kinds; /* of all traces */
} job;

static bool open_and_make(gt_trace_call *trace, gt_report_maker *make, gt_error *error)
{
    if (trace->call->command->syntax->folders && gt_path_is_folder(trace->path)) return make(trace, error);
    trace->stream = gt_stream_open(trace->path, error);
    if (!trace->stream) return false;
    /* Readers begin their own line; this one is for the wait before, if a pipe is slow. */
    bool alone = !trace->read->is_part;
    if (alone) gt_progress_begin(gt_stream_path(trace->stream), gt_stream_size(trace->stream));
    bool made = make(trace, error);
    if (alone) gt_progress_end();
    gt_stream_close(trace->stream);
    return made;
}

static void make_one(gt_trace_call *trace, gt_report_maker *make, gt_trace_result *r)
{
    gt_error error = {""};
    r->is_missing = is_missing(trace->path);
    if (r->is_missing)
        gt_fail(&error, "Input file not found: %s", trace->path);
    else
        r->made = open_and_make(trace, make, &error);
    if (r->made) return;
    if (!r->is_missing && !r->is_read) gt_call_explain_format(trace->call, trace->path, &error);
    if (!r->has_json) write_error(trace, &(gt_table_list){0}, &error);
    r->error = gt_strdup(error.text);
}

/* What the log of an old name has before the error. */
static const char *before_error(const job *j, const gt_trace_result *r)
{
    if (r->is_missing) return "";
    const char *failure = gt_old_program_of(j->call->command)->failure;
    return failure ? failure : "Error generating report: ";
}

/* A single trace prints at once, also what the journal of an old name says. */
static bool make_item(void *context, size_t index)
{
    job *j = context;
    const gt_trace_item *item = &j->items[index];
    gt_trace_result *r = &j->results[index];
    bool several = j->count > 1;
    gt_trace_call trace = {.is_one_of_several = several,
                           .call = j->call,
                           .path = item->path,
                           .rank = item->rank,
                           .read = &j->read,
                           .destinations = &j->destinations[index],
                           .out = stdout,
                           .wants_collectives = item->rank >= 0,
                           .result = r};
    const char *about = gt_log_about(several ? gt_trace_title(item->path) : NULL);
    if (several) gt_print_keep(&r->printed, stdout);
    if (several) trace.out = r->printed.file;
    make_one(&trace, j->make, r);
    if (several) gt_print_keep_end(&r->printed);
    gt_log_about(about);
    return true;
}

static void show_item(void *context, size_t index)
{
    job *j = context;
    gt_trace_result *r = &j->results[index];
    gt_trace_item *item = &j->items[index];
    item->collectives = r->collectives;
    r->collectives = NULL;
    gt_written_free(&r->written);
    if (item->lines)
        gt_print_join(item->lines, &r->printed);
    else
        gt_print_kept(&r->printed);
    if (!r->made && !gt_journal_error("%s%s", before_error(j, r), r->error))
        fprintf(stderr, "gputally: %s\n", r->error);
    if (!r->made) j->status = GT_EXIT_FAILED;
    if (r->made && r->distrust && j->strict_trust) {
        fprintf(stderr, "gputally: %s: do not trust it: %s\n", gt_trace_title(item->path), r->distrust);
        if (j->status == GT_EXIT_DONE) j->status = GT_EXIT_TRUST;
    }
    j->kinds |= r->kinds;
    if (index + 1 < j->count && !j->quiet && item->rank < 0) putchar('\n');
}

/* ---- traces of another process (input/files.h) ---- */

static bool pack_item(void *context, size_t index, gt_image *image)
{
    const job *j = context;
    gt_trace_result_save(&j->results[index], j->items[index].rank, j->items[index].label, image);
    return true;
}

/* Not a failure, which may pass, nor for another terminal; output files may have been removed since. */
static bool item_is_usable(void *context, size_t index, const gt_image *image)
{
    (void)context;
    (void)index;
    return gt_trace_result_is_usable(image);
}

static void use_terminal(void *context, const char *note)
{
    (void)context;
    gt_terminal_use(note);
}

static bool unpack_item(void *context, size_t index, const gt_image *image)
{
    job *j = context;
    return gt_trace_result_load(&j->results[index], j->items[index].rank, j->items[index].label, image);
}

static void drop_item(void *context, size_t index)
{
    job *j = context;
    gt_trace_result_free(&j->results[index]);
}

/* ---- all of them ---- */

/* The journal of an old name has one line after the other, so its traces are read that way, too. */
static void make_all(job *j)
{
    bool one_by_one = j->count == 1 || j->call->by_old_name;
    if (one_by_one) gt_procs_pass_first();
    if (j->call->by_old_name) gt_journal_start(gt_old_program_of(j->call->command)->form, j->quiet);
    for (size_t i = 0; one_by_one && i < j->count; i++) {
        make_item(j, i);
        show_item(j, i);
    }
    if (!one_by_one) {
        j->read.is_part = true;
        const char **paths = gt_alloc(j->count * sizeof *paths);
        char *key = gt_call_key(j->call), terminal[GT_TERMINAL_TEXT_MAX];
        const gt_terminal own = gt_terminal_for(stdout);
        gt_terminal_describe(&own, terminal);
        for (size_t i = 0; i < j->count; i++) paths[i] = j->items[i].path;
        gt_files_work(&(gt_file_work){.paths = paths,
                                      .count = j->count,
                                      .one = "trace",
                                      .many = "traces",
                                      .work = make_item,
                                      .finish = show_item,
                                      .key = key,
                                      .pack = pack_item,
                                      .unpack = unpack_item,
                                      .drop = drop_item,
                                      .is_usable = item_is_usable,
                                      .note = terminal,
                                      .use_note = use_terminal,
                                      .context = j});
        gt_free_all(key, paths);
    }
    gt_report_options options = gt_trace_report_options(j->call);
    gt_report_options_warn(&options, j->kinds, "--");
    gt_report_options_free(&options);
}

gt_exit gt_each_item(const gt_call *call, gt_trace_item *items, size_t count, gt_report_maker *make)
{
    gt_error error;
    job j = {.call = call,
             .items = items,
             .count = count,
             .make = make,
             .quiet = gt_arguments_flag(&call->arguments, "quiet"),
             .strict_trust = gt_arguments_flag_if(&call->arguments, "strict_trust")};
    gt_destinations *destinations = gt_alloc_zero(count, sizeof *destinations);
    j.destinations = destinations;
    j.results = gt_alloc_zero(count, sizeof *j.results);
    if (gt_common_apply(call, &j.read, &error) &&
        choose_destinations(call, items, count, destinations, &error))
        make_all(&j);
    else
        j.status = gt_usage_error(call->program, "%s", error.text);
    for (size_t i = 0; i < count; i++) gt_destinations_free(&destinations[i]);
    for (size_t i = 0; i < count; i++) gt_trace_result_free(&j.results[i]);
    gt_free_all(destinations, j.results);
    return j.status;
}

gt_exit gt_each_trace(const gt_call *call, const char *const *paths, size_t count, gt_report_maker *make)
{
    gt_trace_item *items = gt_alloc(count * sizeof *items);
    for (size_t i = 0; i < count; i++) items[i] = (gt_trace_item){.path = paths[i], .rank = -1};
    gt_exit status = gt_each_item(call, items, count, make);
    gt_free(items);
    return status;
}
