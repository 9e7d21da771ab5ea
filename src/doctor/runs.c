/* Runs of rocprofv3 and exports of Nsight Systems, which have the same structure: what was recorded, and with
 * which option the profiler records the rest. */
#include "doctor/parts.h"

#include "input/nsys/tables.h"
#include "input/rocprof/readers.h"
#include "os/paths.h"

static bool is_nsys(const gt_inspection *p)
{
    return p->report->kind == GT_TRACE_NSYS;
}

/* ---- what it has ---- */

/* The names of GPUs, or those of their architectures. */
static void add_gpus(gt_inspection *p, gt_rocprof *run)
{
    size_t rows = run->agents ? gt_store_count(run->agents) : 0, count = 0;
    const char **names = gt_alloc((rows + 1) * sizeof *names);
    for (size_t row = 0; row < rows; row++) {
        uint32_t type = gt_store_string_id(run->agents, GT_AGENT_TYPE, row);
        if (type == GT_STR_NONE || !gt_str_equals(gt_interner_get(run->strings, type), "GPU")) continue;
        uint32_t name = gt_store_string_id(run->agents, GT_AGENT_PRODUCT_NAME, row);
        gt_str text = name == GT_STR_NONE ? (gt_str){"", 0} : gt_interner_get(run->strings, name);
        if (!text.len && (name = gt_store_string_id(run->agents, GT_AGENT_NAME, row)) != GT_STR_NONE)
            text = gt_interner_get(run->strings, name);
        names[count++] = text.len ? gt_diagnosis_string(p->d, text) : "unnamed";
    }
    if (count)
        gt_fact_add_text(p->d, GT_FACT_MADE, "devices_of_host", gt_doctor_count_names(p->d, names, count));
    gt_free(names);
}

/* The first begin and the last end of records with times. */
static void extend_span(const gt_store *store, size_t start_column, size_t end_column, int64_t *first,
                        int64_t *last)
{
    size_t count = store ? gt_store_count(store) : 0;
    if (!count) return;
    int64_t *starts = gt_store_ints(store, start_column), *ends = gt_store_ints(store, end_column);
    for (size_t row = 0; row < count; row++) {
        if (starts[row] < *first) *first = starts[row];
        if (ends[row] > *last) *last = ends[row];
    }
    gt_free_all(starts, ends);
}

static void add_span(gt_diagnosis *d, const gt_rocprof *run)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    extend_span(run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END, &first, &last);
    extend_span(run->copies, GT_COPY_START, GT_COPY_END, &first, &last);
    extend_span(run->calls, GT_CALL_START, GT_CALL_END, &first, &last);
    if (first <= last)
        gt_fact_add_number(d, GT_FACT_CONTENTS, "span_ms", ((double)last - (double)first) / 1e6, "ms");
}

static const struct {
    gt_call_domain domain;
    const char *fact;
} call_facts[] = {{GT_CALL_HIP, "hip_calls"},         {GT_CALL_HSA, "hsa_calls"},
                  {GT_CALL_MARKER, "marker_ranges"},  {GT_CALL_RCCL, "rccl_calls"},
                  {GT_CALL_ROCDECODE, "other_calls"}, {GT_CALL_ROCJPEG, "other_calls"},
                  {GT_CALL_OTHER, "other_calls"},     {GT_CALL_OSRT, "os_calls"}};

static const char *fact_of(gt_call_domain domain, bool nsys)
{
    if (nsys && domain == GT_CALL_HIP) return "cuda_calls";
    if (nsys && domain == GT_CALL_MARKER) return "nvtx_ranges";
    if (nsys && domain == GT_CALL_RCCL) return "nccl_calls";
    for (size_t i = 0; i < GT_LENGTH(call_facts); i++)
        if (call_facts[i].domain == domain) return call_facts[i].fact;
    return "other_calls";
}

static void add_calls(gt_inspection *p, const gt_rocprof *run)
{
    size_t counts[GT_CALL_DOMAINS] = {0}, rows = run->calls ? gt_store_count(run->calls) : 0;
    int64_t *domains = rows ? gt_store_ints(run->calls, GT_CALL_DOMAIN) : NULL;
    for (size_t row = 0; row < rows; row++)
        if (domains[row] >= 0 && domains[row] < GT_CALL_DOMAINS) counts[domains[row]]++;
    gt_free(domains);
    static const gt_call_domain shown[] = {GT_CALL_HIP, GT_CALL_HSA, GT_CALL_MARKER, GT_CALL_RCCL};
    for (size_t i = 0; i < GT_LENGTH(shown); i++)
        if (!is_nsys(p) || shown[i] != GT_CALL_HSA)
            gt_fact_add_count(p->d, GT_FACT_CONTENTS, fact_of(shown[i], is_nsys(p)),
                              (double)counts[shown[i]]);
    if (is_nsys(p)) gt_fact_add_count(p->d, GT_FACT_CONTENTS, "os_calls", (double)counts[GT_CALL_OSRT]);
    size_t others = counts[GT_CALL_ROCDECODE] + counts[GT_CALL_ROCJPEG] + counts[GT_CALL_OTHER];
    if (others) gt_fact_add_count(p->d, GT_FACT_CONTENTS, "other_calls", (double)others);
}

static size_t count_of(const gt_store *store)
{
    return store ? gt_store_count(store) : 0;
}

static void add_contents(gt_inspection *p, const gt_rocprof *run)
{
    gt_diagnosis *d = p->d;
    gt_fact_add_count(d, GT_FACT_CONTENTS, "kernels", (double)count_of(run->dispatches));
    gt_fact_add_count(d, GT_FACT_CONTENTS, "copies", (double)count_of(run->copies));
    add_calls(p, run);
    if (!is_nsys(p)) {
        gt_fact_add_count(d, GT_FACT_CONTENTS, "counter_values", (double)count_of(run->counters));
        gt_fact_add_count(d, GT_FACT_CONTENTS, "samples", (double)count_of(run->samples));
        if (run->stats) gt_fact_add_count(d, GT_FACT_CONTENTS, "statistics", (double)count_of(run->stats));
    } else {
        gt_fact_add_count(d, GT_FACT_CONTENTS, "graph_launches", (double)count_of(run->graphs));
        gt_fact_add_count(d, GT_FACT_CONTENTS, "nccl_messages", (double)count_of(run->messages));
    }
    gt_fact_add_count(d, GT_FACT_CONTENTS, "processes",
                      (double)(run->processes > run->process_count ? run->processes : run->process_count));
    add_span(d, run);
}

/* The version of nsys, and what its export was told to include. */
static void add_export(gt_inspection *p)
{
    static const char *const tables[] = {"META_DATA_EXPORT", "EXPORT_META_DATA"};
    static const struct {
        const char *key, *fact;
    } rows_of[] = {{"EXPORT_PRODUCT_VERSION", "nsys_version"},
                   {"EXPORT_SCHEMA_VERSION", "schema_version"},
                   {"EXPORT_PARAM_LAZY", "export_lazy"},
                   {"EXPORT_PARAM_TIMES_TO_EXPORT", "export_times"}};
    gt_nsys_tables database = {0};
    gt_error ignored; /* the report has read the same file */
    if (!gt_nsys_tables_open(&database, p->d->path, &ignored)) return;
    for (size_t i = 0; i < GT_LENGTH(tables); i++) {
        gt_nsys_rows rows;
        gt_nsys_begin(&rows, &database, tables[i], GT_NSYS_COLUMNS("name", "value"), &ignored);
        while (gt_nsys_next(&rows))
            for (size_t k = 0; k < GT_LENGTH(rows_of); k++)
                if (gt_str_equals(gt_nsys_text(&rows, 0), rows_of[k].key) && gt_nsys_text(&rows, 1).len)
                    gt_fact_add_text(p->d, GT_FACT_MADE, rows_of[k].fact,
                                     gt_diagnosis_string(p->d, gt_nsys_text(&rows, 1)));
        gt_nsys_end(&rows);
    }
    gt_nsys_tables_close(&database);
}

static void add_made(gt_inspection *p, gt_rocprof *run)
{
    gt_diagnosis *d = p->d;
    gt_fact_add_text(d, GT_FACT_MADE, "profiler", is_nsys(p) ? "NVIDIA Nsight Systems (nsys)" : "rocprofv3");
    if (is_nsys(p) && p->stream) add_export(p);
    gt_str host = gt_interner_get(run->strings, run->hostname);
    if (!gt_str_equals(host, "unknown"))
        gt_fact_add_text(d, GT_FACT_MADE, "host", gt_diagnosis_string(d, host));
    if (run->process_count && run->process[0].command != GT_STR_NONE)
        gt_fact_add_text(d, GT_FACT_MADE, "command",
                         gt_diagnosis_string(d, gt_interner_get(run->strings, run->process[0].command)));
    add_gpus(p, run);
}

/* The options that record what is there: the file does not say which were given. */
static void add_options(gt_inspection *p)
{
    static const struct {
        const char *fact, *rocprof, *nsys;
    } rows[] = {{"kernels", "--kernel-trace", "cuda"},
                {"hip_calls", "--hip-trace", NULL},
                {"cuda_calls", NULL, "cuda"},
                {"graph_launches", NULL, "cuda"},
                {"hsa_calls", "--hsa-trace", NULL},
                {"copies", "--memory-copy-trace", NULL},
                {"marker_ranges", "--marker-trace", NULL},
                {"nvtx_ranges", NULL, "nvtx"},
                {"rccl_calls", "--rccl-trace", NULL},
                {"os_calls", NULL, "osrt"},
                {"counter_values", "--pmc", NULL},
                {"samples", "--pc-sampling-beta-enabled", NULL}};
    gt_buffer text = {0};
    for (size_t i = 0; i < GT_LENGTH(rows); i++) {
        const gt_fact *fact = gt_fact_find(p->d, rows[i].fact);
        const char *option = is_nsys(p) ? rows[i].nsys : rows[i].rocprof;
        if (!fact || fact->number == 0 || !option) continue;
        if (text.len && strstr(gt_buffer_str(&text).bytes, option)) continue;
        gt_buffer_add_format(&text, "%s%s",
                             !text.len    ? is_nsys(p) ? "--trace=" : ""
                             : is_nsys(p) ? ","
                                          : " ",
                             option);
    }
    if (text.len) gt_fact_add_text(p->d, GT_FACT_MADE, "options_by_contents", gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

/* ---- what is missing ---- */

/* Facts whose count is zero, and the option of the profiler that records them. */
typedef struct recorded {
    const char *fact, *id, *text, *effect, *option;
} recorded;

static const recorded of_rocprof[] = {
    {"kernels", "gpu_events", "no kernels", "no timeline and no kernel sheets", "--kernel-trace"},
    {"hip_calls", "calls", "no HIP calls", "idle time cannot be explained, and there is no hip_api_summary",
     "--hip-trace"},
    {"copies", "copies", "no memory copies", "no memory_copy_summary", "--memory-copy-trace"},
    {"marker_ranges", "markers", "no markers (ROCTx ranges)", "no steps and no marker sheet",
     "--marker-trace"},
    {"counter_values", "counters", "no hardware counters", "no counters_by_kernel",
     "--pmc SQ_WAVES GRBM_COUNT"},
};
static const recorded of_nsys[] = {
    {"kernels", "gpu_events", "no kernels", "no timeline and no kernel sheets", "--trace=cuda"},
    {"cuda_calls", "calls", "no CUDA calls",
     "idle time cannot be explained, and there is no cuda_api_summary", "--trace=cuda"},
    {"copies", "copies", "no memory copies", "no memory_copy_summary", "--trace=cuda"},
    {"nvtx_ranges", "markers", "no NVTX ranges", "no steps and no nvtx_summary", "--trace=cuda,nvtx"},
    {"os_calls", "os_calls", "no calls of the operating system", "no osrt_summary", "--trace=cuda,nvtx,osrt"},
};

static void add_gaps(gt_inspection *p, const gt_rocprof *run)
{
    gt_diagnosis *d = p->d;
    const recorded *rows = is_nsys(p) ? of_nsys : of_rocprof;
    size_t count = is_nsys(p) ? GT_LENGTH(of_nsys) : GT_LENGTH(of_rocprof);
    if (run->is_cut_off)
        gt_missing_add(d, "end", "records at the end of a file", "records at the end are missing",
                       "let the program end by itself, and look whether the disk was full");
    for (size_t i = 0; i < count; i++) {
        const gt_fact *fact = gt_fact_find(d, rows[i].fact);
        const gt_fact *graphs = gt_fact_find(d, "graph_launches");
        if (fact && fact->number == 0 && strcmp(rows[i].fact, "kernels") == 0 && graphs && graphs->number > 0)
            gt_missing_add(d, "graph_kernels", "no kernels, only launches of whole CUDA graphs",
                           "kernel sheets are empty", "--cuda-graph-trace=node");
        else if (fact && fact->number == 0)
            gt_missing_add(d, rows[i].id, rows[i].text, rows[i].effect, rows[i].option);
    }
    const gt_fact *processes = gt_fact_find(d, "processes");
    if (!is_nsys(p) && processes && processes->number > 1 && run->process_count <= 1)
        gt_missing_add(d, "processes",
                       gt_diagnosis_text(d, "%.0f of the %.0f processes in this file are not read",
                                         processes->number - 1, processes->number),
                       "the report is about the first process", "gputally rocprof --all_processes");
    if (gt_missing_exists(d, "gpu_events") || gt_missing_exists(d, "calls") ||
        gt_missing_exists(d, "copies") || gt_missing_exists(d, "markers") || gt_missing_exists(d, "counters"))
        d->recording =
            is_nsys(p)
                ? "nsys profile --trace=cuda,nvtx,osrt --cuda-graph-trace=node -o run -- python3 "
                  "train.py && nsys export --type sqlite run.nsys-rep"
                : gt_diagnosis_text(d,
                                    "rocprofv3 --kernel-trace --hip-trace --memory-copy-trace "
                                    "--marker-trace %s--output-format json -d run -- python3 "
                                    "train.py",
                                    gt_missing_exists(d, "counters") ? "--pmc SQ_WAVES GRBM_COUNT " : "");
}

/* One CSV file has one kind of records; the others are next to it. */
static void add_csv_gap(gt_inspection *p)
{
    const uint8_t *text;
    size_t len;
    gt_error ignored;
    if (p->format != GT_FORMAT_ROCPROF_CSV || !p->stream) return;
    gt_stream *again = gt_stream_open(p->d->path, &ignored);
    if (again && gt_stream_peek(again, &text, &len, &ignored)) {
        gt_csv_kind kind = gt_rocprof_csv_kind((gt_str){(const char *)text, len});
        gt_fact_add_text(p->d, GT_FACT_FILE, "csv_kind", gt_rocprof_csv_kind_name(kind));
    }
    gt_stream_close(again);
    char *folder = gt_path_folder(p->d->path);
    gt_missing_add(p->d, "files", "the other CSV files of the run", "this file has only one kind of records",
                   gt_diagnosis_command(p->d, "gputally report", folder, NULL));
    gt_free(folder);
}

void gt_doctor_run(gt_inspection *p)
{
    gt_rocprof *run = p->report->trace.rocprof;
    add_made(p, run);
    add_contents(p, run);
    add_options(p);
    add_csv_gap(p);
    add_gaps(p, run);
}

/* ---- what can be done ---- */

static void explain_omitted(gt_inspection *p)
{
    static const struct {
        gt_sheet sheet;
        const char *why;
    } rocprof[] = {{GT_SHEET_HIP_API_SUMMARY, "no HIP calls"},
                   {GT_SHEET_HSA_API_SUMMARY, "no HSA calls"},
                   {GT_SHEET_MEMORY_COPY_SUMMARY, "no memory copies"},
                   {GT_SHEET_COUNTERS_BY_KERNEL, "no hardware counters"},
                   {GT_SHEET_PC_SAMPLING_HOTSPOTS, "no samples of the program counter"},
                   {GT_SHEET_GPU_TIMELINE_BY_DEVICE, "events of one GPU only"},
                   {GT_SHEET_PROCESS_SUMMARY, "one process"}},
      nsys[] = {{GT_SHEET_CUDA_API_SUMMARY, "no CUDA calls"},
                {GT_SHEET_NVTX_SUMMARY, "no NVTX ranges"},
                {GT_SHEET_MEMORY_COPY_SUMMARY, "no memory copies"},
                {GT_SHEET_CUDA_GRAPH_SUMMARY, "no launches of whole CUDA graphs"},
                {GT_SHEET_NCCL_API_SUMMARY, "no NCCL calls"},
                {GT_SHEET_NCCL_MESSAGES, "no sizes of NCCL messages"},
                {GT_SHEET_OSRT_SUMMARY, "no calls of the operating system"},
                {GT_SHEET_GPU_TIMELINE_BY_DEVICE, "events of one GPU only"},
                {GT_SHEET_PROCESS_SUMMARY, "one process"}};
    if (is_nsys(p))
        for (size_t i = 0; i < GT_LENGTH(nsys); i++) gt_doctor_omitted(p, nsys[i].sheet, nsys[i].why);
    else
        for (size_t i = 0; i < GT_LENGTH(rocprof); i++)
            gt_doctor_omitted(p, rocprof[i].sheet, rocprof[i].why);
}

void gt_doctor_run_commands(gt_inspection *p)
{
    gt_diagnosis *d = p->d;
    bool reports = d->usable;
    if (reports) explain_omitted(p);
    gt_supported_command_add(d, "report", reports, reports ? "findings, sheets and page" : d->problem);
    gt_supported_command_add(d, "compare", reports,
                             reports ? "sheets of this and other runs side by side" : "needs a report");
    if (is_nsys(p)) {
        gt_supported_command_add(d, "convert", false, "reads files of rocprofv3 and Chrome traces");
    } else {
        gt_supported_command_add(d, "convert", true, "a Perfetto trace, Chrome JSON or an SQLite database");
        if (p->format == GT_FORMAT_PERFETTO) {
            gt_supported_command_add(d, "pftrace-hip-api", true,
                                     "call, wait and kernel time of each HIP call");
            gt_supported_command_add(d, "pftrace-hip-activity", true,
                                     "GPU time by category, overlap, HIP calls");
            gt_supported_command_add(d, "pftrace-memory-copy", true, "copies by size and direction");
        }
    }
    gt_supported_command_add(d, "index", reports && p->stream != NULL,
                             !p->stream ? "an index is made of a file, not of a folder"
                             : reports  ? "makes the next commands on this run fast"
                                        : "needs a report");
}
