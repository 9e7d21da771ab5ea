/* `gputally collective`: one report on the collectives of all ranks, from one trace per rank. */
#include "cli/commands/commands.h"
#include "os/paths.h"
#include "output/file.h"
#include "base/threads.h"
#include "cli/whole_rank.h"

static const gt_option input_options[] = {
    GT_RANK_OPTIONS(
        "set the number of ranks (default: up to the last rank with a trace; warns if more ranks ran)",
        "warn about ranks whose trace is missing or damaged and analyse the others"),
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option report_options[] = {
    {"agg_metrics", GT_OPTION_STRINGS, "NAME...", "mean median min max",
     "set the aggregations in the summaries: any of mean median min max std var sum count first last nunique "
     "size",
     .choices = "mean|median|min|max|std|var|sum|count|first|last|nunique|size|"},
    {"gpus_per_node", GT_OPTION_INT, "N", NULL,
     "add the columns node_id and node_span for N GPUs per node (default: from deviceProperties of the first "
     "trace)"},
    {"all2allv_heatmap", GT_OPTION_FLAG, NULL, NULL,
     "add the sheet nccl_all2allv_heatmap: bytes sent between each pair of ranks"},
    {"leave_out_mismatches", GT_OPTION_FLAG, NULL, NULL,
     "skip collectives whose ranks disagree on type or size, instead of failing"},
};
const gt_option_group gt_collective_sheets_group = {"Sheets", report_options, GT_LENGTH(report_options)};

static const gt_option output_options[] = {
    GT_OUTPUT_OPTIONS(GT_COLLECTIVE_WORKBOOK " in the folder of the traces"), GT_RANKS_ANSWERS_OPTIONS};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

static const gt_option unused_options[] = {
    {"use_multiprocessing", GT_OPTION_FLAG, NULL, NULL, "read ranks in parallel",
     .unused = "ranks are always read in parallel"},
    {"max_workers", GT_OPTION_INT, "N", NULL, "use N threads; --threads is preferred", .needs = "!threads"},
    {"detailed_analysis", GT_OPTION_FLAG, NULL, NULL, "write all sheets",
     .unused = "all sheets are always written"},
};
static const gt_option_group unused_group = {"Accepted for compatibility", unused_options,
                                             GT_LENGTH(unused_options)};

const gt_syntax gt_collective_syntax = {
    .groups = {&input_group, &gt_collective_sheets_group, &gt_communication_group, &gt_extra_group,
               &output_group, &gt_page_group, &gt_partials_group, &unused_group, &gt_whole_files_group},
    .main_options = {"trace_dir", "trace_glob", "world_size", "output_xlsx_path", "gpus_per_node"},
    .files = "",
    .files_max = 0,
    .file_hint = "traces are named by --trace_dir, --trace_pattern or --trace_glob, and `gputally report "
                 "DIR` finds those of all ranks in a folder",
    .output_option = "output_xlsx_path",
    .error_option = "output_json",
    .one_report = true,
};

/* ---- options ---- */

static bool read_aggregations(const gt_arguments *arguments, gt_aggregations *wanted, gt_error *error)
{
    const gt_option_value *value = gt_arguments_value(arguments, "agg_metrics");
    *wanted = (gt_aggregations){0};
    for (size_t i = 0; i < value->text_count; i++)
        if (!gt_aggregations_add(wanted, value->texts[i], error)) return false;
    if (value->text_count) return true;
    for (const char *at = value->text; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        char *word = gt_format("%.*s", (int)len, at);
        bool known = gt_aggregations_add(wanted, word, error);
        gt_free(word);
        if (!known) return false;
        at += len;
    }
    return true;
}

static bool read_sheet_options(const gt_arguments *arguments, gt_collective_options *options, gt_error *error)
{
    const gt_option_value *gpus = gt_arguments_value(arguments, "gpus_per_node");
    if (gpus->given && gpus->number < 1)
        return gt_fail(error, "--gpus_per_node must be a positive integer, got %" PRId64, gpus->number);
    *options = (gt_collective_options){
        .gpus_per_node = gpus->given ? gpus->number : 0,
        .heatmap = gt_arguments_flag(arguments, "all2allv_heatmap"),
        .leave_out_mismatches = gt_arguments_flag(arguments, "leave_out_mismatches"),
    };
    return read_aggregations(arguments, &options->aggregations, error);
}

static bool read_options(const gt_call *call, gt_rank_search *search, gt_collective_options *options,
                         gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    const gt_option_value *world_size = gt_arguments_value(arguments, "world_size");
    if (!world_size->given && call->by_old_name) return gt_fail(error, "world_size must be provided");
    if (world_size->given && (world_size->number < 1 || world_size->number > GT_RANKS_MAX))
        return gt_fail(error, "--world_size must be between 1 and %d, got %" PRId64, GT_RANKS_MAX,
                       world_size->number);
    *search = gt_rank_options_read(arguments);
    return read_sheet_options(arguments, options, error);
}

static unsigned threads_of(const gt_arguments *arguments, const gt_read_options *read)
{
    const gt_option_value *workers = gt_arguments_value(arguments, "max_workers");
    bool use = workers->given && !gt_arguments_value(arguments, "threads")->given;
    return use && workers->number >= 1 && workers->number <= GT_THREADS_MAX ? (unsigned)workers->number
                                                                            : read->threads;
}

static gt_destinations choose_destinations(const gt_call *call, const char *folder)
{
    gt_destinations to = gt_destinations_named(&call->arguments);
    to.warn_of_earlier = !call->by_old_name;
    if (!to.xlsx_path && !to.csvs_dir && !to.db_path && !gt_destinations_have_answers(&to))
        to.xlsx_path = gt_path_in(folder, GT_COLLECTIVE_WORKBOOK);
    return to;
}

/* ---- standard output of the TraceLens program ---- */

static void print_old_steps(const gt_collective_options *options, bool detected)
{
    if (detected)
        printf("Auto-detected gpus_per_node=%" PRId64 " from trace deviceProperties.\n",
               options->gpus_per_node);
    puts("Generating summary reports...\nGenerating all2allv summary...");
    if (options->heatmap) puts("Generating all2allv heatmap...");
    puts("Generating detailed per-rank analysis...\nGenerating straggler summary...");
    if (options->gpus_per_node)
        printf("Adding node_span columns (gpus_per_node=%" PRId64 ")...\n", options->gpus_per_node);
}

static void print_old_files(const gt_destinations *to, const gt_table_list *tables)
{
    for (size_t i = 0; i < tables->count && to->csvs_dir; i++)
        printf("DataFrame '%s' written to %s/%s.csv\n", tables->items[i]->name, to->csvs_dir,
               tables->items[i]->name);
    if (to->xlsx_path)
        printf("Writing Excel report to %s...\nExcel report successfully written to %s\n", to->xlsx_path,
               to->xlsx_path);
}

/* ---- the report ---- */

static const char no_collectives[] = "No NCCL collective events found in the trace data.";

/* Reports every rank that could not be read. */
static bool accept_problems(const gt_rank_traces *traces, const gt_rank_files *files, bool allowed,
                            gt_error *error)
{
    size_t damaged = 0;
    for (size_t rank = 0; rank < traces->rank_count; rank++) {
        if (!traces->problems[rank] || !files->paths[rank])
            continue; /* ranks without a file were reported before */
        damaged++;
        if (allowed)
            gt_warn("%s: skipped", traces->problems[rank]);
        else if (damaged == 1)
            gt_fail(error, "%s", traces->problems[rank]);
        else
            gt_warn("%s", traces->problems[rank]);
    }
    if (!allowed && damaged) {
        gt_error first = *error;
        return gt_fail(error, "%.900s; use --allow_missing_ranks to continue without such ranks", first.text);
    }
    if (traces->bad_count == traces->rank_count) return gt_fail(error, "no rank could be read");
    if (!traces->rows->row_count) return gt_fail(error, "%s", no_collectives);
    return true;
}

/* What to report, and where to. */
typedef struct request {
    const gt_arguments *arguments; /* for the kernels that count as communication */
    const gt_rank_files *files;
    gt_collective_options options;
    const gt_merge_call *merge;  /* partials instead of traces; NULL: traces */
    bool findings;               /* about all ranks */
    bool answer_findings;        /* the same, for page, JSON and Markdown alone: documents have the sheets of
                                    TraceLens */
    const gt_call *call;         /* of answer_findings */
    const gt_read_options *read; /* likewise */
    const gt_table_list *shown;  /* what these three show; NULL: what the documents have */
    gt_rank_collectives **ready; /* by rank: of those that need not be read, with facts; NULL: none */
    const gt_hta_options *extra; /* NULL: not requested */
    const gt_destinations *to;
    unsigned threads;
    bool allow_missing;
    bool world_size_given, gaps_reported;
    bool all_findings;        /* in the terminal */
    const char *const *pages; /* by rank: see gt_ranks_page */
    char *command;            /* owned; for the page */
    gt_buffer *first_finding; /* see gt_call; NULL: not wanted */
    bool quiet, as_old;       /* prints nothing; prints the lines of the TraceLens program */
} request;

/* The answers about all ranks come first. */
static void show_answers(const request *r, const gt_table_list *tables, const gt_terminal *terminal)
{
    static const gt_answers_limits usual = {3, 2, 3}, everything = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    const gt_answers answers = {.trace = r->files->common_folder, .tables = tables};
    if (!gt_answers_exist(tables)) return;
    if (r->first_finding) gt_answers_add_first(&answers, r->first_finding);
    gt_answers_print_ranks(&answers, terminal, r->all_findings ? &everything : &usual);
    putchar('\n');
}

static void show(const request *r, const gt_rank_traces *traces, size_t collectives,
                 const gt_table_list *tables, const gt_table *stragglers, const gt_output *output)
{
    gt_terminal terminal = gt_terminal_for(stdout);
    show_answers(r, tables, &terminal);
    size_t ranks = traces->rank_count - traces->bad_count;
    printf("%zu %s, %zu %s, %zu %s\n", ranks, gt_noun(ranks, "rank", "ranks"), traces->events,
           gt_noun(traces->events, "event", "events"), collectives,
           gt_noun(collectives, "collective", "collectives"));
    gt_collective_print_summary(stdout, tables, stragglers, (int)terminal.width, terminal.utf8);
    gt_trace_show_files(stdout, output);
}

/* Sheets with rows are added after the other sheets. */
static void add_extra(gt_table_list *tables, gt_table_list *extra)
{
    for (size_t i = 0; i < extra->count; i++) {
        if (extra->items[i]->row_count)
            gt_table_list_add(tables, extra->items[i]);
        else
            gt_table_free(extra->items[i]);
    }
    extra->count = 0; /* they have a new owner */
}

static bool write_page(const request *r, const gt_table_list *tables, gt_output *output, gt_error *error)
{
    if (!r->to->html_path) return true;
    gt_buffer html = {0};
    char *folder = gt_path_trim(r->files->common_folder);
    const gt_ranks_page page = {.sheets = r->shown ? r->shown : tables,
                                .pages = r->pages,
                                .rank_count = r->files->count,
                                .title = gt_path_name(folder),
                                .folder = folder,
                                .command = r->command};
    gt_ranks_add_page(&page, &html);
    bool written = gt_output_write_file(output, r->to->html_path, gt_buffer_str(&html), error);
    gt_buffer_free(&html);
    gt_free(folder);
    return written;
}

static bool write_answers(const void *context, const gt_table_list *tables, gt_output *output,
                          gt_error *error)
{
    const request *r = context;
    return gt_answers_write(r->to, r->files->common_folder, r->shown ? r->shown : tables, output, error) &&
           write_page(r, tables, output, error);
}

/* The sheets after those of answer_findings. Borrows them. */
static gt_table_list documents_of(const request *r, const gt_table_list *tables)
{
    size_t first = 0;
    while (r->answer_findings && first < tables->count &&
           !gt_table_is(tables->items[first], GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC))
        first++;
    return (gt_table_list){.items = tables->items + first, .count = tables->count - first};
}

static bool make_report(request *r, gt_rank_traces *traces, bool detected, gt_error *error)
{
    size_t collectives = traces->rows->row_count;
    gt_table_list tables = {0}, documents = {0};
    gt_output *output = NULL;
    gt_table *rows = traces->rows;
    traces->rows = NULL; /* it is now a sheet */
    if (r->as_old) print_old_steps(&r->options, detected);
    gt_table *stragglers = NULL;
    if (gt_collective_tables(rows, &r->options, &tables, &stragglers, error)) {
        add_extra(&tables, &traces->extra);
        documents = documents_of(r, &tables);
        r->shown = &tables;
        size_t first = 0;
        while (!r->files->paths[first]) first++; /* one rank was read, so one has a file */
        gt_destinations to = *r->to;
        to.write_more = write_answers;
        to.more_context = r;
        output = gt_destinations_write(&to, r->files->paths[first], &documents, error);
    }
    if (output && r->as_old)
        print_old_files(r->to, &documents);
    else if (output && !r->quiet)
        show(r, traces, collectives, &documents, stragglers, output);
    bool made = output != NULL;
    gt_output_free(output);
    gt_table_free(stragglers);
    gt_table_list_free(&tables);
    return made;
}

/* With --world_size, the user has decided how many ranks there are. In `gputally collective`, missing ranks
 * below the last one with a trace were reported before. */
static void warn_of_missing(const request *r, const gt_rank_traces *traces)
{
    size_t world_size = (size_t)traces->world_size;
    if (r->world_size_given || (r->gaps_reported && world_size <= r->files->count)) return;
    gt_rank_files_warn_missing(r->files, r->files->common_folder, world_size);
}

/* The whole trace of a rank, for findings; as report/rank_traces.c does it for extra sheets. */
static gt_rank_collectives *load_whole(const void *context, size_t rank, gt_error *error)
{
    const request *r = context;
    gt_extra_sheets extra = {0};
    gt_interner *strings = gt_interner_new();
    const gt_whole_rank whole = {.call = r->call,
                                 .read = r->read,
                                 .path = r->files->paths[rank],
                                 .rank = (int64_t)rank,
                                 .strings = strings};
    bool is_read;
    gt_rank_collectives *c = gt_whole_rank_read(&whole, &extra, &is_read, error);
    if (!c) {
        gt_error why = {""};
        gt_comm_kernels *comm = gt_communication_wanted(r->arguments);
        c = gt_rank_collectives_read(whole.path, whole.rank, comm, r->threads, &why);
        gt_comm_kernels_free(comm);
        if (!c) *error = why;
        if (c && r->extra && !is_read) {
            gt_rank_collectives_free(c);
            c = NULL;
        }
    }
    if (c)
        gt_rank_collectives_set_extra(c, extra);
    else
        gt_table_list_free(&extra.tables);
    gt_interner_free(strings);
    return c;
}

static bool read_and_report(request *r, gt_error *error)
{
    gt_rank_traces traces;
    gt_comm_kernels *comm = r->merge ? NULL : gt_communication_wanted(r->arguments);
    char *comm_text = r->merge ? NULL : gt_communication_text(r->arguments);
    gt_rank_traces_read(&traces, &(gt_rank_request){.paths = r->files->paths,
                                                    .rank_count = r->files->count,
                                                    .load = r->merge             ? r->merge->load
                                                            : r->answer_findings ? load_whole
                                                                                 : NULL,
                                                    .load_context = r->merge ? r->merge->load_context : r,
                                                    .ready = r->ready,
                                                    .comm = comm,
                                                    .extra = r->extra,
                                                    .threads = r->threads,
                                                    .comm_text = comm_text});
    bool detected = !r->options.gpus_per_node && traces.devices;
    if (detected) r->options.gpus_per_node = (int64_t)traces.devices;
    r->options.world_size = (int64_t)r->files->count;
    if (!r->world_size_given) r->options.ran_count = traces.world_size;
    r->options.apart_s = traces.apart_s;
    if (r->findings || r->answer_findings) r->options.facts = traces.facts;
    warn_of_missing(r, &traces);
    bool made = accept_problems(&traces, r->files, r->allow_missing, error) &&
                make_report(r, &traces, detected, error);
    gt_rank_traces_free(&traces);
    gt_comm_kernels_free(comm);
    gt_free(comm_text);
    return made;
}

static double expected_bus_gbps(const gt_arguments *arguments)
{
    static const char name[] = "expected_bus_gbps";
    if (!gt_syntax_option(arguments->syntax, name)) return 0;
    const gt_option_value *value = gt_arguments_value(arguments, name);
    return value->given ? (double)value->number : 0;
}

gt_exit gt_collective_of_ranks(const gt_call *call, const char *path, const gt_rank_files *files,
                               gt_rank_collectives **ready, const char *const *pages,
                               const gt_destinations *to, unsigned threads, bool *is_written)
{
    static const char *const aggregations[] = {"mean", "median", "min", "max"};
    request r = {
        .arguments = &call->arguments,
        .files = files,
        .ready = ready,
        .findings = true,
        .pages = pages,
        .command = gt_call_describe(call, path),
        .options = {.leave_out_mismatches = true, .expected_bus_gbps = expected_bus_gbps(&call->arguments)},
        .to = to,
        .threads = threads,
        .allow_missing = true,
        .all_findings = gt_arguments_flag(&call->arguments, "all_findings"),
        .first_finding = call->first_finding,
        .quiet = gt_arguments_flag(&call->arguments, "quiet")};
    gt_error error = {""};
    for (size_t i = 0; i < GT_LENGTH(aggregations); i++)
        gt_aggregations_add(&r.options.aggregations, aggregations[i], &error);
    *is_written = read_and_report(&r, &error);
    gt_free(r.command);
    if (*is_written) return GT_EXIT_DONE;
    if (strcmp(error.text, no_collectives) == 0) {
        gt_info("%s: no collectives in the traces, so no collective report", files->common_folder);
        return GT_EXIT_DONE;
    }
    fprintf(stderr, "gputally: %s: no collective report: %s\n", files->common_folder, error.text);
    gt_error_write(to->json_path, files->common_folder, error.text, GT_EXIT_FAILED);
    return GT_EXIT_FAILED;
}

bool gt_collective_check_sheets(const gt_arguments *arguments, gt_error *error)
{
    gt_collective_options ignored;
    return read_sheet_options(arguments, &ignored, error);
}

bool gt_collective_merge(const gt_merge_call *merge, gt_error *error)
{
    const gt_arguments *arguments = &merge->call->arguments;
    request r = {.arguments = arguments,
                 .files = merge->files,
                 .merge = merge,
                 .findings = merge->findings,
                 .answer_findings = !merge->findings && gt_destinations_have_answers(merge->to),
                 .pages = merge->pages,
                 .to = merge->to,
                 .threads = merge->threads,
                 .allow_missing = merge->findings || gt_arguments_flag(arguments, "allow_missing_ranks"),
                 .world_size_given = gt_arguments_value(arguments, "world_size")->given,
                 .gaps_reported = !merge->findings,
                 .all_findings = gt_arguments_flag(arguments, "all_findings"),
                 .quiet = gt_arguments_flag(arguments, "quiet")};
    if (!read_sheet_options(arguments, &r.options, error)) return false;
    r.options.leave_out_mismatches |= merge->findings;
    r.command = gt_strdup(merge->command);
    bool made = read_and_report(&r, error);
    gt_free(r.command);
    return made;
}

static bool check_not_traces(const gt_destinations *to, const gt_rank_files *files, gt_error *error)
{
    const char *const outputs[] = {to->json_path, to->md_path, to->html_path};
    for (size_t i = 0; i < GT_LENGTH(outputs); i++)
        for (size_t rank = 0; outputs[i] && rank < files->count; rank++)
            if (!gt_check_not_input(outputs[i], files->paths[rank], error)) return false;
    return true;
}

static bool report_as_asked(const gt_call *call, const gt_rank_files *files,
                            const gt_collective_options *options, const gt_read_options *read,
                            gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    gt_hta_options extra;
    bool extra_wanted = gt_extra_wanted(arguments, &extra), quiet = gt_arguments_flag(arguments, "quiet");
    gt_destinations to = choose_destinations(call, files->common_folder);
    gt_read_options part = *read;
    part.is_part = true;
    request r = {.arguments = arguments,
                 .files = files,
                 .options = *options,
                 .answer_findings = gt_destinations_have_answers(&to),
                 .call = call,
                 .read = &part,
                 .extra = extra_wanted ? &extra : NULL,
                 .to = &to,
                 .command = gt_call_describe(call, NULL),
                 .threads = threads_of(arguments, read),
                 .allow_missing = gt_arguments_flag(arguments, "allow_missing_ranks"),
                 .world_size_given = gt_arguments_value(arguments, "world_size")->given,
                 .gaps_reported = true,
                 .quiet = quiet,
                 .as_old = call->by_old_name && !quiet};
    bool made = check_not_traces(&to, files, error) && read_and_report(&r, error);
    gt_free(r.command);
    gt_destinations_free(&to);
    return made;
}

gt_exit gt_cmd_collective(const gt_call *call)
{
    static const char none_given[] =
        "one of the arguments --trace_dir --trace_pattern --trace_glob is required";
    if (gt_rank_options_check(call, none_given) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (gt_communication_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    gt_error error;
    gt_read_options read;
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    gt_rank_search search;
    gt_collective_options options;
    gt_rank_files files = {0};
    bool valid = read_options(call, &search, &options, &error);
    if (!valid && !call->by_old_name) return gt_usage_error(call->program, "%s", error.text);
    bool made = valid && gt_rank_files_find(&files, &search, &error) &&
                report_as_asked(call, &files, &options, &read, &error);
    gt_rank_files_free(&files);
    if (made) return GT_EXIT_DONE;
    fprintf(stderr, "gputally: %s\n", error.text);
    gt_call_error_write(call, error.text, GT_EXIT_FAILED);
    return GT_EXIT_FAILED;
}
