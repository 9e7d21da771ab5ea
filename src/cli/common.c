/* Options of every command, and the documents of a report: names like those of TraceLens, written all
 * together or not at all. */
#include "cli/common.h"

#include "base/memory_limit.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/earlier_sheets.h"
#include "index/index.h"
#include "model/arch.h"
#include "os/paths.h"
#include "output/file.h"
#include "report/overview/overview.h"

static const gt_option output_options[] = {
    GT_OUTPUT_OPTIONS("next to the trace, 908_results.json gives 908_perf_report.xlsx")};

#define THREADS_OPTION "threads", GT_OPTION_INT, "N", NULL, "use N threads (default: one per core)"
#define MAX_MEMORY_OPTION                                                                                    \
    "max_memory", GT_OPTION_STRING, "SIZE", NULL,                                                            \
        "fail if more than SIZE of memory is needed (bytes, or with K, M, G; default: the limit of the "     \
        "control group)"
#define STRICT_OPTION                                                                                        \
    "strict", GT_OPTION_FLAG, NULL, NULL,                                                                    \
        "fail on a damaged or truncated trace instead of reporting its readable part"
#define NO_PROGRESS_OPTION "no_progress", GT_OPTION_FLAG, NULL, NULL, "do not show a progress line"
#define MESSAGE_OPTIONS                                                                                      \
    {"quiet", GT_OPTION_FLAG, NULL, NULL, "print only warnings and errors"},                                 \
    {                                                                                                        \
        "version", GT_OPTION_FLAG, NULL, NULL, "print the version, and exit"                                 \
    }

static const gt_option common_options[] = {
    {THREADS_OPTION}, {MAX_MEMORY_OPTION}, {STRICT_OPTION}, {NO_PROGRESS_OPTION}, MESSAGE_OPTIONS,
};

static const gt_option whole_files_options[] = {
    {THREADS_OPTION},
    {MAX_MEMORY_OPTION},
    {STRICT_OPTION, .unused = "a damaged file is never read in part here"},
    {NO_PROGRESS_OPTION},
    MESSAGE_OPTIONS,
};

static const gt_option sheets_options[] = {
    {THREADS_OPTION, .unused = "no trace is read"},
    {MAX_MEMORY_OPTION, .unused = "no trace is read"},
    {STRICT_OPTION, .unused = "no trace is read"},
    {NO_PROGRESS_OPTION, .unused = "no trace is read"},
    MESSAGE_OPTIONS,
};

/* Of this run of the program; set by gt_memory_option_apply. */
static gt_memory_bound memory_bound;

static const gt_option messages_options[] = {MESSAGE_OPTIONS};

static const gt_option index_options[] = {
    {"index", GT_OPTION_STRING, "WHERE", NULL,
     "keep what is read, and the sheets, for the next time: in TRACE" GT_INDEX_SUFFIX
     " (auto), or in this folder or "
     "file; off: use no index (default: use an index that exists, and write none)",
     .choices = "auto|off|"},
};
static const gt_option partials_options[] = {
    {"partials", GT_OPTION_STRING, "DIR", NULL,
     "keep what is made of each trace in DIR, and use what is there and still fits (default: started by "
     "mpirun or "
     "srun, in .gputally-parts-RANDOM next to the traces until the report is written)"},
};
const gt_option_group gt_partials_group = {"Several processes", partials_options,
                                           GT_LENGTH(partials_options)};

const gt_option_group gt_index_group = {"Index", index_options, GT_LENGTH(index_options)};

static const gt_option short_kernel_options[] = {
    {"short_kernel_study", GT_OPTION_FLAG, NULL, NULL,
     "add the sheets short_kernels_summary and short_kernel_histogram"},
    {"short_kernel_threshold_us", GT_OPTION_INT, "N", "10",
     "treat kernels shorter than N microseconds as short", .minimum = "0"},
    {"short_kernel_histogram_bins", GT_OPTION_INT, "N", "100",
     "set the number of bins of short_kernel_histogram", .minimum = "1"},
};

static const gt_option extra_sheets_options[] = {
    {"no_extra_sheets", GT_OPTION_FLAG, NULL, NULL,
     "omit sheets that TraceLens does not have, such as those of devices, API calls, memory copies, "
     "counters, "
     "agents and processes"},
};

const gt_option_group gt_extra_sheets_group = {"Extra sheets", extra_sheets_options,
                                               GT_LENGTH(extra_sheets_options)};
const gt_option_group gt_short_kernel_group = {
    "Short kernels", short_kernel_options, GT_LENGTH(short_kernel_options), .needs = "short_kernel_study"};
static const gt_option page_options[] = {
    {"output_html", GT_OPTION_STRING, "PATH", NULL,
     "write a page for the browser to PATH (docs/page.md); without another output option, no workbook is "
     "written"},
};
const gt_option_group gt_page_group = {"Page", page_options, GT_LENGTH(page_options)};
const gt_option_group gt_output_group = {"Output", output_options, GT_LENGTH(output_options)};
const gt_option_group gt_common_group = {"Common options", common_options, GT_LENGTH(common_options)};

const gt_option_group gt_whole_files_group = {"Common options", whole_files_options,
                                              GT_LENGTH(whole_files_options)};
const gt_option_group gt_sheets_group = {"Common options", sheets_options, GT_LENGTH(sheets_options)};
const gt_option_group gt_messages_group = {"Common options", messages_options, GT_LENGTH(messages_options)};

/* A command has one policy; what reads traces refers to it. */
static const gt_index_policy *index_policy(const gt_arguments *arguments)
{
    static gt_index_policy policy;
    const char *where = gt_arguments_string_if(arguments, "index");
    policy = (gt_index_policy){.mode = where ? GT_INDEX_AUTO : GT_INDEX_USE};
    if (!where && arguments->index_count == 1) policy.place = arguments->index_path;
    if (where && strcmp(where, "off") == 0)
        policy.mode = GT_INDEX_OFF;
    else if (where && strcmp(where, "auto") != 0)
        policy.place = where;
    return &policy;
}

bool gt_memory_option_apply(const gt_arguments *arguments, gt_error *error)
{
    bool has = gt_syntax_option(arguments->syntax, "max_memory") != NULL;
    const gt_option_value *size = has ? gt_arguments_value(arguments, "max_memory") : NULL;
    uint64_t bytes = 0;
    if (has && size->given && !gt_memory_parse_limit(size->text, &bytes, error)) {
        gt_error_prefix(error, "argument --max_memory");
        return false;
    }
    memory_bound = gt_memory_bound_find(bytes);
    gt_memory_set_limit(memory_bound.bytes, memory_bound.name);
    return true;
}

unsigned gt_memory_option_threads(unsigned threads)
{
    return gt_memory_threads(memory_bound, threads);
}

bool gt_common_apply(const gt_call *call, gt_read_options *options, gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    const gt_option_value *threads = gt_arguments_value(arguments, "threads");
    if (threads->given && (threads->number < 1 || threads->number > GT_THREADS_MAX))
        return gt_fail(error, "argument --threads: must be between 1 and %d, got %" PRId64, GT_THREADS_MAX,
                       threads->number);
    bool quiet = gt_arguments_flag(arguments, "quiet");
    bool is_own = !call->by_old_name && (!call->command->old_name || arguments->syntax->best_defaults);
    if (gt_syntax_option(arguments->syntax, "csv_safe"))
        gt_output_default_csv_safe((is_own || gt_arguments_flag(arguments, "csv_safe")) &&
                                   !gt_arguments_flag(arguments, "no_csv_safe"));
    gt_log_quiet(quiet);
    gt_progress_enable(!quiet && !gt_arguments_flag(arguments, "no_progress"));
    unsigned wanted = threads->given ? (unsigned)threads->number : gt_threads_default();
    *options = (gt_read_options){.threads = gt_memory_option_threads(wanted),
                                 .strict = gt_arguments_flag(arguments, "strict"),
                                 .index = index_policy(arguments)};
    return true;
}

typedef struct team_call {
    const gt_call *call;
    gt_exit status;
} team_call;

static void run_in_team(void *context)
{
    team_call *t = context;
    t->status = t->call->command->run(t->call);
}

gt_exit gt_call_run(const gt_call *call, unsigned threads)
{
    team_call in_team = {.call = call, .status = GT_EXIT_FAILED};
    gt_team_run(threads, run_in_team, &in_team);
    return in_team.status;
}

/* ---- --extra, and the options that have an effect only with it ---- */

static const gt_option extra_options[] = {
    {"extra", GT_OPTION_FLAG, NULL, NULL,
     "add the analyses of HolisticTraceAnalysis per rank and device: the sheets temporal_breakdown, "
     "comm_comp_overlap, "
     "idle_time_breakdown, idle_interval_stats, queue_length_summary, launch_stats_summary"},
    {"extra_kernel_delay_us", GT_OPTION_INT, "N", "30",
     "count gaps shorter than N microseconds between kernels launched in time as kernel_wait",
     .minimum = "0"},
    {"extra_max_queue_length", GT_OPTION_INT, "N", "1024", "treat a queue of N launches as full",
     .minimum = "1"},
    {"extra_last_step", GT_OPTION_FLAG, NULL, NULL,
     "include the last of several profiler steps, which is often incomplete"},
    {"extra_hta_times", GT_OPTION_FLAG, NULL, NULL,
     "use the times and types of HolisticTraceAnalysis: starts rounded up and ends down to whole "
     "microseconds, types by name, negative idle time where kernels overlap, all devices as one"},
};
const gt_option_group gt_extra_group = {"Idle time, queues, overlap and launches", extra_options,
                                        GT_LENGTH(extra_options), .needs = "extra"};

bool gt_extra_wanted(const gt_arguments *arguments, gt_hta_options *options)
{
    *options = (gt_hta_options){
        .hta_times = gt_arguments_flag(arguments, "extra_hta_times"),
        .include_last_step = gt_arguments_flag(arguments, "extra_last_step"),
        .kernel_delay_us = gt_arguments_int(arguments, "extra_kernel_delay_us"),
        .max_queue_length = gt_arguments_int(arguments, "extra_max_queue_length"),
    };
    return gt_arguments_flag(arguments, "extra");
}

/* ---- communication kernels ---- */

static const gt_option communication_options[] = {
    {"comm_kernels", GT_OPTION_STRING, "SET", NULL,
     "count as communication: tracelens (NCCL, RCCL and cross_device_reduce) or all (also DeepEP, NVSHMEM, "
     "MSCCL++, symmetric memory, custom all-reduce, ...; default of gputally report)",
     .choices = "tracelens|all"},
    {"comm_kernel_regex", GT_OPTION_EACH, "REGEX", NULL,
     "count kernels whose name matches this Python regular expression as communication, too; repeatable"},
};
const gt_option_group gt_communication_group = {"Communication kernels", communication_options,
                                                GT_LENGTH(communication_options)};

gt_exit gt_communication_check(const gt_call *call)
{
    const gt_option_value *regexes = gt_arguments_value(&call->arguments, "comm_kernel_regex");
    gt_error error;
    for (size_t i = 0; i < regexes->text_count; i++)
        if (!gt_comm_regex_check(regexes->texts[i], &error))
            return gt_usage_error(call->program,
                                  "argument --comm_kernel_regex: invalid regular expression '%.200s': %s",
                                  regexes->texts[i], error.text);
    return GT_EXIT_DONE;
}

gt_comm_kernels *gt_communication_wanted(const gt_arguments *arguments)
{
    const gt_option_value *set = gt_arguments_value(arguments, "comm_kernels");
    const gt_option_value *regexes = gt_arguments_value(arguments, "comm_kernel_regex");
    bool all = set->text && strcmp(set->text, "all") == 0;
    gt_error ignored; /* gt_communication_check has checked them */
    if (!all && !regexes->text_count) return NULL;
    gt_comm_kernels *comm = gt_comm_kernels_new(GT_COMM_TRACELENS | (all ? GT_COMM_OTHERS : 0));
    for (size_t i = 0; i < regexes->text_count; i++) gt_comm_kernels_add(comm, regexes->texts[i], &ignored);
    return comm;
}

char *gt_communication_text(const gt_arguments *arguments)
{
    const gt_option_value *regexes = gt_arguments_value(arguments, "comm_kernel_regex");
    const char *set = gt_arguments_string(arguments, "comm_kernels");
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, set ? set : "tracelens");
    for (size_t i = 0; i < regexes->text_count; i++)
        gt_buffer_add_format(&text, " %zu:%s", strlen(regexes->texts[i]), regexes->texts[i]);
    return gt_buffer_take(&text);
}

/* ---- GPU ---- */

gt_exit gt_gpu_options_check(const gt_call *call)
{
    const char *gpu = gt_arguments_string(&call->arguments, "gpu_arch_platform");
    gt_error error;
    if (!gpu && gt_arguments_value(&call->arguments, "gpu_arch_platform")->given && !call->by_old_name)
        return gt_usage_error(call->program, "argument --gpu_arch_platform: the name is empty");
    if (!gpu) return GT_EXIT_DONE;
    if (!gt_arguments_string(&call->arguments, "gpu_arch_json_path")) {
        if (call->by_old_name || gt_gpu_arch_find(gpu, &error)) return GT_EXIT_DONE;
        return gt_usage_error(call->program, "argument --gpu_arch_platform: %s", error.text);
    }
    return gt_usage_error(call->program,
                          "argument --gpu_arch_platform: not allowed with argument --gpu_arch_json_path");
}

/* ---- destinations ---- */

#define REPORT_SUFFIX "_perf_report.xlsx"

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len > end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* Length of the part of a file name that identifies the run: "908_results.json" gives 3, "t.json.gz" 1,
 * "t" 1. */
static size_t stem_length(const char *name)
{
    size_t len = strlen(name);
    static const char *const results[] = {"_results.json", "_results.db", "_results.pftrace"};
    for (size_t i = 0; i < GT_LENGTH(results); i++)
        if (ends_with(name, len, results[i])) return len - strlen(results[i]);
    for (size_t at = len; at-- > 1;) /* the last ".json", whatever follows */
        if (strncmp(name + at, ".json", 5) == 0) return at;
    if (ends_with(name, len, ".gz")) len -= 3;
    if (ends_with(name, len, ".zst")) len -= 4;
    if (ends_with(name, len, ".xplane.pb")) return len - strlen(".xplane.pb");
    for (size_t at = len; at-- > 1;)
        if (name[at] == '.') return at;
    return len;
}

/* For a folder: next to it, with its name. */
static char *xlsx_of_folder(const char *folder)
{
    char *whole = realpath(folder, NULL);
    char *xlsx = gt_format("%s" REPORT_SUFFIX, whole ? whole : folder);
    gt_free(whole);
    return xlsx;
}

char *gt_default_xlsx_path(const char *trace_path)
{
    if (strcmp(trace_path, "-") == 0) return gt_strdup("stdin" REPORT_SUFFIX);
    if (gt_path_is_folder(trace_path)) return xlsx_of_folder(trace_path);
    const char *name = gt_path_name(trace_path);
    return gt_format("%.*s%.*s" REPORT_SUFFIX, (int)(name - trace_path), trace_path, (int)stem_length(name),
                     name);
}

char *gt_trace_stem(const char *trace_path)
{
    char *xlsx = gt_default_xlsx_path(trace_path);
    xlsx[strlen(xlsx) - strlen(REPORT_SUFFIX)] = 0;
    return xlsx;
}

char *gt_default_path(const char *trace_path, const char *ending)
{
    static const char *const suffixes[] = {".pftrace", ".json", NULL};
    if (strcmp(trace_path, "-") == 0) return gt_format("stdin%s", ending);
    const char *name = gt_path_name(trace_path);
    size_t len = strlen(name);
    if (ends_with(name, len, ".gz")) len -= 3;
    if (ends_with(name, len, ".zst")) len -= 4;
    size_t stem = len;
    for (size_t i = 0; suffixes[i]; i++)
        if (ends_with(name, len, suffixes[i])) stem = len - strlen(suffixes[i]);
    for (size_t at = len; stem == len && at-- > 1;)
        if (name[at] == '.') stem = at;
    return gt_format("%.*s%.*s%s", (int)(name - trace_path), trace_path, (int)stem, name, ending);
}

static char *folder_of_trace(const char *csvs_dir, const char *trace_path)
{
    char *stem = gt_trace_stem(trace_path);
    char *folder = gt_path_in(csvs_dir, gt_path_name(stem));
    gt_free(stem);
    return folder;
}

char *gt_answers_path(const gt_call *call, const char *option, const char *trace_path, const char *label,
                      size_t traces, const char *ending)
{
    const char *path = gt_arguments_string_if(&call->arguments, option);
    if (!path) return NULL;
    if (gt_output_is_sent(path)) return gt_strdup(path);
    bool ends_in_slash = path[strlen(path) - 1] == '/';
    bool one = traces == 1 && !call->has_more_traces;
    if (one && !ends_in_slash && !gt_path_is_folder(path)) return gt_strdup(path);
    char *stem = gt_trace_stem(trace_path);
    char *file =
        gt_format("%s%s%s%s", path, ends_in_slash ? "" : "/", label ? label : gt_path_name(stem), ending);
    gt_free(stem);
    return file;
}

char *gt_all_ranks_label(const char *folder, bool several)
{
    char *name = gt_path_last_name(folder);
    char *label = several ? gt_format("%s_collective", name) : gt_strdup("collective");
    gt_free(name);
    return label;
}

/* Several reports have no file of their own that is standard output. */
static bool check_sent(const gt_call *call, gt_error *error)
{
    static const char *const options[] = {"output_csvs_dir", "output_json", "output_md"};
    for (size_t i = 0; i < GT_LENGTH(options); i++)
        if (gt_output_is_sent(gt_arguments_string_if(&call->arguments, options[i])))
            return gt_fail(error,
                           "argument --%s: standard output takes one report, not those of several traces",
                           options[i]);
    return true;
}

/* An output that needs a folder may be a file, such as that of a call with one trace. */
static bool check_folders(const gt_call *call, size_t traces, gt_error *error)
{
    static const char *const options[] = {"output_json", "output_md", "output_html"};
    for (size_t i = 0; (traces > 1 || call->has_more_traces) && i < GT_LENGTH(options); i++) {
        const char *path = gt_arguments_string_if(&call->arguments, options[i]);
        if (path && gt_path_is_file(path))
            return gt_fail(error,
                           "argument --%s: %s is a file, but several traces need a folder; remove it or name "
                           "another path",
                           options[i], path);
    }
    return true;
}

/* The page next to a workbook: the same name with another ending. NULL: the command has none, or it is not
 * wanted. */
static char *page_beside(const gt_call *call, const char *xlsx_path)
{
    if (!xlsx_path || call->by_old_name || !gt_syntax_option(call->arguments.syntax, "no_html") ||
        gt_arguments_flag(&call->arguments, "no_html"))
        return NULL;
    size_t len = strlen(xlsx_path);
    if (len > strlen(GT_WORKBOOK_ENDING)) len -= strlen(GT_WORKBOOK_ENDING);
    return gt_format("%.*s.html", (int)len, xlsx_path);
}

bool gt_destinations_choose(gt_destinations *destinations, const gt_call *call, const char *trace_path,
                            const char *label, size_t traces, gt_error *error)
{
    *destinations = (gt_destinations){.warn_of_earlier = !call->by_old_name,
                                      .with_charts = call->arguments.syntax->best_defaults,
                                      .sheets_optional = traces > 1};
    gt_destinations_choose_sheets(destinations, &call->arguments);
    if (gt_arguments_flag_if(&call->arguments, "print")) return true;
    const char *xlsx = gt_arguments_string(&call->arguments, "output_xlsx_path");
    const char *csvs = gt_arguments_string(&call->arguments, "output_csvs_dir");
    const char *db = gt_arguments_string(&call->arguments, "output_db");
    if (traces > 1 && (xlsx || db))
        return gt_fail(error,
                       "argument --%s: one output file for %zu traces; use --output_csvs_dir, which creates "
                       "a folder per trace",
                       xlsx ? "output_xlsx_path" : "output_db", traces);
    if ((traces > 1 || call->has_more_traces) && !check_sent(call, error)) return false;
    if (!check_folders(call, traces, error)) return false;
    if (csvs)
        destinations->csvs_dir = traces == 1 ? gt_strdup(csvs)
                                 : label     ? gt_format("%s/%s", csvs, label)
                                             : folder_of_trace(csvs, trace_path);
    if (db) destinations->db_path = gt_strdup(db);
    destinations->json_path =
        gt_answers_path(call, "output_json", trace_path, label, traces, ".findings.json");
    destinations->md_path = gt_answers_path(call, "output_md", trace_path, label, traces, ".findings.md");
    destinations->html_path = gt_answers_path(call, "output_html", trace_path, label, traces, ".html");
    bool answers = gt_destinations_have_answers(destinations);
    bool only_csvs = csvs && call->by_old_name && !gt_old_program_of(call->command)->writes_both;
    if (xlsx && !only_csvs)
        destinations->xlsx_path = gt_strdup(xlsx);
    else if (!csvs && !db && !answers)
        destinations->xlsx_path = call->arguments.syntax->report_ending
                                      ? gt_default_path(trace_path, call->arguments.syntax->report_ending)
                                      : gt_default_xlsx_path(trace_path);
    if (!destinations->html_path) destinations->html_path = page_beside(call, destinations->xlsx_path);
    return true;
}

static char *named_or_null(const gt_arguments *arguments, const char *option)
{
    const char *path = gt_arguments_string_if(arguments, option);
    return path ? gt_strdup(path) : NULL;
}

gt_destinations gt_destinations_named(const gt_arguments *arguments)
{
    gt_destinations to = {.xlsx_path = named_or_null(arguments, "output_xlsx_path"),
                          .csvs_dir = named_or_null(arguments, "output_csvs_dir"),
                          .db_path = named_or_null(arguments, "output_db"),
                          .json_path = named_or_null(arguments, "output_json"),
                          .md_path = named_or_null(arguments, "output_md"),
                          .html_path = named_or_null(arguments, "output_html")};
    gt_destinations_choose_sheets(&to, arguments);
    return to;
}

bool gt_destinations_have_answers(const gt_destinations *destinations)
{
    return destinations->json_path || destinations->md_path || destinations->html_path;
}

void gt_destinations_free(gt_destinations *destinations)
{
    gt_free_all(destinations->xlsx_path, destinations->csvs_dir, destinations->db_path,
                destinations->json_path, destinations->md_path, destinations->html_path);
    *destinations = (gt_destinations){0};
}

const char *gt_destinations_clash(const gt_destinations *a, const gt_destinations *b)
{
    if (a->xlsx_path && b->xlsx_path && strcmp(a->xlsx_path, b->xlsx_path) == 0) return a->xlsx_path;
    if (a->csvs_dir && b->csvs_dir && strcmp(a->csvs_dir, b->csvs_dir) == 0) return a->csvs_dir;
    if (a->json_path && b->json_path && strcmp(a->json_path, b->json_path) == 0) return a->json_path;
    if (a->md_path && b->md_path && strcmp(a->md_path, b->md_path) == 0) return a->md_path;
    if (a->html_path && b->html_path && strcmp(a->html_path, b->html_path) == 0) return a->html_path;
    return NULL;
}

bool gt_check_not_input(const char *output_path, const char *trace_path, gt_error *error)
{
    return gt_output_is_sent(output_path) || !gt_path_is_same_file(output_path, trace_path) ||
           gt_fail(error, "%s: output path is the input trace", output_path);
}

/* What the log of an old name says about a document. Returns whether it was written. */
static bool log_document(const gt_document *document, const gt_table_list *tables)
{
    bool is_csv = document->kind == GT_DOCUMENT_CSVS;
    if (document->kind == GT_DOCUMENT_SQLITE) return document->is_written;
    gt_journal_info(is_csv ? "Writing CSV files to: %s" : "Writing Excel file to: %s", document->path);
    for (size_t i = 0; document->is_written && i < tables->count; i++)
        gt_journal_info(is_csv ? "  - %s.csv (%zu rows)" : "  - Sheet '%s' (%zu rows)",
                        tables->items[i]->name, tables->items[i]->row_count);
    return document->is_written;
}

/* `csvs`: the sheets that become CSV files. */
static bool write_documents(const gt_destinations *to, gt_output *output, const gt_table_list *tables,
                            const gt_table_list *csvs, gt_error *error)
{
    gt_document documents[3];
    size_t count = 0;
    if (gt_output_is_sent(to->csvs_dir) && !csvs->count)
        return gt_fail(error, "no CSV on standard output: the report does not have the sheet");
    gt_dashboard *dashboard = to->with_charts && to->xlsx_path ? gt_overview_dashboard(tables) : NULL;
    if (to->csvs_dir)
        documents[count++] = (gt_document){.kind = GT_DOCUMENT_CSVS, .path = to->csvs_dir, .tables = csvs};
    if (to->xlsx_path)
        documents[count++] =
            (gt_document){.kind = GT_DOCUMENT_XLSX, .path = to->xlsx_path, .dashboard = dashboard};
    if (to->db_path) documents[count++] = (gt_document){.kind = GT_DOCUMENT_SQLITE, .path = to->db_path};
    bool written = gt_output_documents(output, documents, count, tables->items, tables->count, error);
    gt_dashboard_free(dashboard);
    for (size_t i = 0; i < count; i++)
        if (!log_document(&documents[i], documents[i].tables ? documents[i].tables : tables)) break;
    return written;
}

/* Prints the written files, in the plain form of the journal. */
static void print_written(const gt_destinations *to, const gt_table_list *csvs)
{
    const char *dir = to->csvs_dir;
    for (size_t i = 0; dir && i < csvs->count; i++)
        gt_journal_print("DataFrame '%s' written to %s%s%s.csv", csvs->items[i]->name, dir,
                         ends_with(dir, strlen(dir), "/") ? "" : "/", csvs->items[i]->name);
    if (to->xlsx_path) gt_journal_print("DataFrames successfully written to %s", to->xlsx_path);
}

static bool write_text(gt_output *output, const char *path, gt_str text, gt_error *error)
{
    gt_journal_info("Writing Markdown to: %s", path);
    return gt_output_write_file(output, path, text, error);
}

gt_output *gt_destinations_write(const gt_destinations *to, const char *trace_path,
                                 const gt_table_list *tables, gt_error *error)
{
    if (!gt_check_not_input(to->xlsx_path, trace_path, error) ||
        !gt_check_not_input(to->db_path, trace_path, error) ||
        !gt_check_not_input(to->json_path, trace_path, error) ||
        !gt_check_not_input(to->md_path, trace_path, error) ||
        !gt_check_not_input(to->html_path, trace_path, error) ||
        !gt_check_not_input(to->text_path, trace_path, error))
        return NULL;
    gt_output *output = gt_output_new();
    gt_table_list csvs =
        to->csvs_dir ? gt_sheets_chosen(to->csv_sheets, to->sheets_optional, tables) : (gt_table_list){0};
    bool written = write_documents(to, output, tables, &csvs, error) &&
                   (!to->text_path || write_text(output, to->text_path, to->text, error)) &&
                   (!to->write_more || to->write_more(to->more_context, tables, output, error)) &&
                   gt_output_commit(output, error);
    if (written && to->xlsx_path) gt_journal_info("Successfully written to %s", to->xlsx_path);
    if (written) print_written(to, &csvs);
    gt_free(csvs.items);
    if (!written) {
        gt_output_free(output);
        return NULL;
    }
    if (to->csvs_dir && to->warn_of_earlier) gt_warn_of_earlier_sheets(to->csvs_dir, output);
    return output;
}
