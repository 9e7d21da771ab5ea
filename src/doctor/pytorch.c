/* PyTorch traces: which settings torch.profiler had, what it recorded, and what it did not.
 *
 * Settings come from the members that PyTorch writes next to the events (record_shapes, with_stack, ...);
 * older versions write none, so what the events have is counted, too, and that is what gaps are judged by. */
#include "doctor/parts.h"

#include "analysis/serving/serving.h"
#include "analysis/serving/step_list.h"
#include "os/paths.h"

enum { STEPS_FOR_VARIATION = 3 };
static const char step_prefix[] = "ProfilerStep#";

/* Servers whose profiler has its own options. */
typedef enum server_kind { NO_SERVER, VLLM, SGLANG, TRTLLM, SERVERS } server_kind;

/* What the events have. */
typedef struct event_counts {
    size_t ops, ops_with_shapes, calls, kernels, copies, memsets, annotations, steps, frames, memory,
        processes;
    size_t
        server_steps[GT_STEP_DETAILED + 1]; /* annotations of steps of an inference server, by their names */
    double first_us, last_us;
    int64_t first_step, last_step;
    size_t listed;      /* steps of a server or of generation with GPU work, also inferred ones */
    server_kind server; /* by the annotations of its steps; SGLang may also write those of vLLM */
    bool is_short;      /* they do not say how long the sequences are */
    bool is_jax, is_inferred, is_capture;
    int64_t capture_batch;
} event_counts;

static server_kind server_of(gt_step_kind kind)
{
    bool is_vllm = kind == GT_STEP_VLLM_DETAILED || kind == GT_STEP_VLLM || kind == GT_STEP_VLLM_NEW;
    bool is_sglang = kind == GT_STEP_SGLANG_DETAILED || kind == GT_STEP_SGLANG;
    return is_vllm ? VLLM : is_sglang ? SGLANG : kind == GT_STEP_TRTLLM ? TRTLLM : NO_SERVER;
}

static void count_listed(event_counts *c, const gt_event_view *trace)
{
    gt_step_list *steps = gt_step_list_find(trace);
    for (size_t i = 0; i < steps->count; i++) c->is_short |= steps->steps[i].said.sk_sum == GT_STEP_UNKNOWN;
    if (gt_step_list_serves(steps)) {
        c->listed = steps->on_gpu_count;
        c->is_inferred = steps->steps[0].is_inferred;
    }
    c->is_capture = steps->is_capture;
    c->capture_batch = steps->capture_batch;
    gt_step_list_free(steps);
}

static void extend_span(event_counts *c, double start_us, double end_us)
{
    if (!isfinite(start_us) || !isfinite(end_us)) return;
    if (!(c->first_us <= start_us)) c->first_us = start_us;
    if (!(c->last_us >= end_us)) c->last_us = end_us;
}

static void count_annotation(event_counts *c, gt_str name, gt_map *steps, uint32_t name_id)
{
    c->annotations++;
    c->server_steps[gt_step_any_name_kind(name)]++;
    gt_step_said said;
    server_kind server = gt_step_name_says(name, &said) ? server_of(said.kind) : NO_SERVER;
    if (server > c->server) c->server = server;
    if (!gt_str_starts_with(name, step_prefix)) return;
    uint32_t *seen = gt_map_put(steps, name_id, 0);
    if (*seen != GT_MAP_NONE) return;
    *seen = 1;
    int64_t number = strtoll(name.bytes + strlen(step_prefix), NULL, 10);
    if (!c->steps || number < c->first_step) c->first_step = number;
    if (!c->steps || number > c->last_step) c->last_step = number;
    c->steps++;
}

/* Servers may name a step twice, in short and in detail; `gputally split` cuts at the detailed names. */
static size_t server_steps(const event_counts *c)
{
    return c->server_steps[c->server_steps[GT_STEP_DETAILED] ? GT_STEP_DETAILED : GT_STEP_SHORT];
}

static void count_row(event_counts *c, const gt_event_view *trace, size_t row, gt_map *steps,
                      gt_map *processes)
{
    uint8_t kind = trace->kind[row];
    if (kind == GT_KIND_CPU_OP && gt_is_profiler_step(gt_event_name(trace, (uint32_t)row)))
        kind = GT_KIND_ANNOTATION;
    c->ops += kind == GT_KIND_CPU_OP;
    c->calls += kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
    c->kernels += kind == GT_KIND_KERNEL;
    c->copies += kind == GT_KIND_MEMCPY;
    c->memsets += kind == GT_KIND_MEMSET;
    if (kind == GT_KIND_ANNOTATION)
        count_annotation(c, gt_event_name(trace, (uint32_t)row), steps, trace->name[row]);
    if (gt_kind_is_host(kind) || gt_kind_is_gpu(kind) || gt_kind_is_annotation(kind))
        extend_span(c, trace->start_us[row], gt_event_end_us(trace, row));
    if (!gt_kind_is_host(kind)) return;
    uint32_t *seen = gt_map_put(processes, gt_event_process(trace, row), 0);
    c->processes += *seen == GT_MAP_NONE;
    *seen = 1;
}

static size_t count_shapes(const gt_event_view *trace)
{
    uint32_t *dims = gt_store_string_ids(trace->store, GT_EVENT_INPUT_DIMS);
    size_t count = 0;
    for (size_t row = 0; row < trace->recorded; row++)
        count += trace->kind[row] == GT_KIND_CPU_OP && dims[row] != GT_STR_NONE;
    gt_free(dims);
    return count;
}

static event_counts count_events(const gt_inspection *p, const gt_event_view *trace)
{
    event_counts c = {.first_us = NAN, .last_us = NAN};
    gt_map steps = {0}, processes = {0};
    for (size_t row = 0; row < trace->recorded; row++) count_row(&c, trace, row, &steps, &processes);
    gt_map_free(&steps);
    count_listed(&c, trace);
    gt_map_free(&processes);
    c.ops_with_shapes = count_shapes(trace);
    c.is_jax = p->has_jax_names && !c.ops && !c.kernels;
    c.frames = trace->frames ? gt_store_count(trace->frames) : 0;
    gt_memory_events memory = gt_memory_events_unpack(trace->memory, trace->strings);
    c.memory = memory.count;
    gt_memory_events_free(&memory);
    return c;
}

/* ---- how it was made ---- */

static const char *const settings[] = {"record_shapes", "with_stack", "profile_memory", "with_flops",
                                       "with_modules"};

/* PyTorch writes the settings that are on. A trace without any of them may come from an old version. */
static void add_settings(gt_inspection *p)
{
    bool any = false;
    for (size_t i = 0; i < GT_LENGTH(settings); i++)
        any |= gt_trace_member_find(p->members, settings[i]) != NULL;
    for (size_t i = 0; any && i < GT_LENGTH(settings); i++) {
        const char *value = gt_trace_member_find(p->members, settings[i]);
        gt_fact_add_bool(p->d, GT_FACT_MADE, settings[i], value && strcmp(value, "0") != 0);
    }
}

/* 12040 is 12.4 of CUDA; HIP has other rules, and its number is shown as it is. */
static void add_versions(gt_inspection *p)
{
    static const char *const cuda[] = {"cuda_runtime_version", "cuda_driver_version"};
    static const char *const others[] = {"hip_runtime_version",     "hip_driver_version",
                                         "cupti_version",           "roctracer_version",
                                         "torch_version",           "pytorch_version",
                                         "distributedInfo/backend", "distributedInfo/nccl_version"};
    for (size_t i = 0; i < GT_LENGTH(cuda); i++) {
        const char *value = gt_trace_member_find(p->members, cuda[i]);
        long number = value ? strtol(value, NULL, 10) : 0;
        if (number > 0 && number < 1000000)
            gt_fact_add_text(p->d, GT_FACT_MADE, cuda[i],
                             gt_diagnosis_text(p->d, "%ld.%ld", number / 1000, number % 1000 / 10));
    }
    for (size_t i = 0; i < GT_LENGTH(others); i++) {
        const char *value = gt_trace_member_find(p->members, others[i]);
        const char *slash = strchr(others[i], '/');
        if (value) gt_fact_add_text(p->d, GT_FACT_MADE, slash ? slash + 1 : others[i], value);
    }
}

static void add_devices(gt_inspection *p, const gt_event_view *trace)
{
    const gt_trace_facts *facts = trace->facts;
    const char **names = gt_alloc((facts->device_count + 1) * sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < facts->device_count; i++) {
        uint32_t name = facts->devices[i].name;
        const char *text =
            name == GT_STR_NONE ? "" : gt_diagnosis_string(p->d, gt_interner_get(trace->strings, name));
        if (facts->devices[i].is_deduced) text = gt_diagnosis_text(p->d, "%s%s", text, GT_BY_PROPERTIES);
        names[count++] = *text ? text : "unnamed";
    }
    if (count)
        gt_fact_add_text(p->d, GT_FACT_MADE, "devices_of_host", gt_doctor_count_names(p->d, names, count));
    gt_free(names);
}

/* What was recorded after the end of a truncated file is unknown. */
static const char *activities_of(const event_counts *c, bool is_cut_off)
{
    bool gpu = c->kernels || c->copies || c->memsets || c->calls, cpu = c->ops != 0;
    if (is_cut_off && !(cpu && gpu)) return "unknown, because the file is truncated";
    return cpu && gpu ? "CPU, CUDA" : cpu ? "CPU" : gpu ? "CUDA" : "none";
}

static void add_made(gt_inspection *p, const event_counts *c, const gt_event_view *trace)
{
    gt_diagnosis *d = p->d;
    gt_fact_add_text(d, GT_FACT_MADE, "profiler",
                     c->is_jax ? "jax.profiler, saved as a Chrome trace"
                     : c->ops || gt_trace_member_find(p->members, "schemaVersion") ? "torch.profiler (Kineto)"
                                                                                   : "not stated");
    if (!c->is_jax)
        gt_fact_add_text(d, GT_FACT_MADE, "activities", activities_of(c, trace->facts->is_cut_off));
    add_settings(p);
    add_versions(p);
    add_devices(p, trace);
    if (trace->facts->host != GT_STR_NONE)
        gt_fact_add_text(d, GT_FACT_MADE, "host",
                         gt_diagnosis_string(d, gt_interner_get(trace->strings, trace->facts->host)));
    if (p->run->distributed.rank != GT_EVENT_NONE)
        gt_fact_add_count(d, GT_FACT_MADE, "rank", (double)p->run->distributed.rank);
    if (p->run->distributed.world_size != GT_EVENT_NONE)
        gt_fact_add_count(d, GT_FACT_MADE, "world_size", (double)p->run->distributed.world_size);
}

static void add_contents(gt_diagnosis *d, const event_counts *c, const gt_event_view *trace)
{
    gt_fact_add_count(d, GT_FACT_CONTENTS, "events", (double)trace->uid_count);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "ops", (double)c->ops);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "ops_with_shapes", (double)c->ops_with_shapes);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "runtime_calls", (double)c->calls);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "kernels", (double)c->kernels);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "copies", (double)c->copies);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "memsets", (double)c->memsets);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "python_functions", (double)c->frames);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "gpu_memory_events", (double)c->memory);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "annotations", (double)c->annotations);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "host_processes", (double)c->processes);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "profiler_steps", (double)c->steps);
    if (c->steps) {
        gt_fact_add_count(d, GT_FACT_CONTENTS, "first_step", (double)c->first_step);
        gt_fact_add_count(d, GT_FACT_CONTENTS, "last_step", (double)c->last_step);
    }
    if (c->listed) {
        gt_fact_add_count(d, GT_FACT_CONTENTS, "server_steps", (double)c->listed);
        gt_fact_add_text(d, GT_FACT_CONTENTS, "server_steps_by", c->is_inferred ? "waits" : "annotations");
    }
    if (c->last_us >= c->first_us)
        gt_fact_add_number(d, GT_FACT_CONTENTS, "span_ms", (c->last_us - c->first_us) / 1e3, "ms");
}

/* ---- what is missing ---- */

static void add_rank_gap(gt_inspection *p)
{
    int64_t world = p->run->distributed.world_size;
    if (world < 2) return;
    gt_missing_add(
        p->d, "ranks", gt_diagnosis_text(p->d, "one of %" PRId64 " ranks", world),
        "which rank is late, and how fast the collectives are, takes the traces of all ranks",
        "export_chrome_trace(f\"traces/rank{rank}_trace.json\") on every rank, then gputally report traces");
}

static void add_step_gap(gt_inspection *p, const event_counts *c)
{
    if (c->steps >= STEPS_FOR_VARIATION || c->listed >= STEPS_FOR_VARIATION) return;
    if (server_steps(c) && !c->steps) {
        size_t count = server_steps(c);
        if (count < STEPS_FOR_VARIATION)
            gt_missing_add(p->d, "steps",
                           gt_diagnosis_text(p->d, "only %zu %s of the inference server", count,
                                             count == 1 ? "step" : "steps"),
                           "how step times vary is unknown",
                           "send more requests between start_profile and stop_profile");
        return;
    }
    gt_missing_add(
        p->d, "steps",
        c->steps ? gt_diagnosis_text(p->d, "only %zu profiler %s", c->steps, c->steps == 1 ? "step" : "steps")
                 : "no profiler steps",
        c->steps ? "how step times vary is unknown" : "times are per trace, not per step",
        "schedule=torch.profiler.schedule(wait=1, warmup=2, active=5, repeat=1), and prof.step() after each "
        "step");
}

/* What records more in a server, as its command line or request takes it; "": it has no such option.
 * vLLM: vllm/config/profiler.py, since 0.13. SGLang: /start_profile, and bench_serving. TensorRT-LLM always
 * records shapes, and has no options. */
static const struct {
    const char *setting, *options[SERVERS];
} server_options[] = {
    {"record_shapes",
     {[VLLM] = "--profiler-config.torch_profiler_record_shapes=true", [SGLANG] = "\"record_shapes\": true"}},
    {"with_stack",
     {[VLLM] = "--profiler-config.torch_profiler_with_stack=true",
      [SGLANG] = "\"with_stack\": true",
      [TRTLLM] = ""}},
    {"profile_memory",
     {[VLLM] = "--profiler-config.torch_profiler_with_memory=true", [SGLANG] = "", [TRTLLM] = ""}},
    {"lengths",
     {[VLLM] = "--profiler-config.detailed_trace_annotation=true",
      [SGLANG] = "\"detailed_annotations\": true",
      [TRTLLM] = ""}},
};

/* NULL: as for any program. "": it has no such option. */
static const char *server_option(server_kind server, const char *setting)
{
    for (size_t i = 0; i < GT_LENGTH(server_options); i++)
        if (strcmp(server_options[i].setting, setting) == 0) return server_options[i].options[server];
    return NULL;
}

static bool is_on(const gt_inspection *p, const char *setting)
{
    const char *value = gt_trace_member_find(p->members, setting);
    return value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

/* How to record what is missing; if it was asked for already, that is said instead. */
static const char *setting_fix(gt_inspection *p, const event_counts *c, const char *setting)
{
    const char *option = server_option(c->server, setting);
    if (option && !is_on(p, setting)) return *option ? option : "the server's profiler has no option for it";
    return is_on(p, setting)
               ? gt_diagnosis_text(p->d, "%s is on, but no events of this kind were recorded", setting)
               : gt_diagnosis_text(p->d, "%s=True", setting);
}

static void add_gaps(gt_inspection *p, const event_counts *c, const gt_event_view *trace)
{
    gt_diagnosis *d = p->d;
    static const char both[] = "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]";
    static const char whole[] = "record the whole trace first; only then is it known what was recorded";
    if (trace->facts->is_cut_off)
        gt_missing_add(d, "end", "the end of the file", "events at the end are missing",
                       "let the program end by itself, and look whether the disk was full");
    bool is_cut_off = trace->facts->is_cut_off;
    if (!c->kernels && !c->copies && !c->memsets)
        gt_missing_add(d, "gpu_events",
                       is_cut_off ? "no GPU events before the end of the file" : "no GPU events",
                       "no report can be made", is_cut_off ? whole : both);
    if (!c->ops)
        gt_missing_add(d, "ops", is_cut_off ? "no CPU ops before the end of the file" : "no CPU ops",
                       "no sheets about ops, and kernels are not assigned to ops", is_cut_off ? whole : both);
    if (c->ops && c->ops_with_shapes * 2 <= c->ops)
        gt_missing_add(d, "shapes",
                       c->ops_with_shapes ? gt_diagnosis_text(d, "input shapes of only %zu of %zu ops",
                                                              c->ops_with_shapes, c->ops)
                                          : "no input shapes",
                       "no sheets of op families (GEMM, SDPA, CONV, ...), no flops, no roofline",
                       is_on(p, "record_shapes") && c->ops_with_shapes
                           ? "record_shapes is on; the other ops were recorded without shapes"
                           : setting_fix(p, c, "record_shapes"));
    if (c->ops && !c->frames)
        gt_missing_add(
            d, "stacks", "no Python functions",
            "--include_call_stack and --detect_recompute find nothing, and causes on the host have no "
            "source location",
            setting_fix(p, c, "with_stack"));
    if (!c->memory)
        gt_missing_add(d, "memory", "no memory events of the GPU",
                       "the page has no graph of allocated memory", setting_fix(p, c, "profile_memory"));
    const char *lengths = c->is_short ? server_option(c->server, "lengths") : NULL;
    if (lengths && *lengths)
        gt_missing_add(
            d, "lengths", "no lengths of the sequences in the names of the steps",
            "decode_cost does not tell batch and context apart, and attention in decode steps has no "
            "flops",
            lengths);
    if (c->is_capture) {
        gt_missing_add(d, "replay",
                       c->capture_batch == GT_STEP_UNKNOWN
                           ? "the kernels: this is a graph capture"
                           : gt_diagnosis_text(d, "the kernels: this is a graph capture (batch %" PRId64 ")",
                                               c->capture_batch),
                       "its kernels did not run, so times say nothing",
                       "give it with --capture_folder to the report on a trace that replays the graph");
        d->next = "gputally report TRACE --capture_folder FOLDER";
        d->next_text = "TRACE replays the graph, FOLDER has this capture";
    } else
        add_step_gap(p, c);
    add_rank_gap(p);
}

/* What is missing and which setting records it; NULL: none. */
static const struct {
    const char *lack, *setting;
} recordable[] = {
    {"gpu_events", NULL},         {"ops", NULL},   {"shapes", "record_shapes"}, {"stacks", "with_stack"},
    {"memory", "profile_memory"}, {"steps", NULL}, {"lengths", "lengths"}};

/* Adds the options that record what is missing, each after `before`. */
static void add_server_options(const gt_diagnosis *d, server_kind server, const char *before, gt_buffer *text)
{
    for (size_t i = 0; i < GT_LENGTH(recordable); i++) {
        const char *option = recordable[i].setting && gt_missing_exists(d, recordable[i].lack)
                                 ? server_option(server, recordable[i].setting)
                                 : NULL;
        if (option && *option) gt_buffer_add_format(text, "%s%s", before, option);
    }
}

/* The commands that record a few steps of the server with what is missing. */
static void add_server_recording(gt_diagnosis *d, server_kind server)
{
    gt_buffer text = {0};
    if (server == VLLM) {
        gt_buffer_add_cstr(&text,
                           "vllm serve MODEL --profiler-config.profiler=torch "
                           "--profiler-config.torch_profiler_dir=traces "
                           "--profiler-config.ignore_frontend=true --profiler-config.max_iterations=50");
        add_server_options(d, server, " ", &text);
        gt_buffer_add_cstr(&text,
                           "; under load: curl -X POST SERVER/start_profile, then SERVER/stop_profile");
    } else if (server == SGLANG) {
        gt_buffer_add_cstr(
            &text, "under load: curl -X POST SERVER/start_profile -H 'Content-Type: application/json' -d "
                   "'{\"output_dir\": \"/tmp/traces\", \"num_steps\": 50, \"activities\": [\"CPU\", "
                   "\"GPU\"]");
        add_server_options(d, server, ", ", &text);
        gt_buffer_add_cstr(&text, "}'");
    } else {
        gt_buffer_add_cstr(&text,
                           "TLLM_PROFILE_START_STOP=100-150 TLLM_TORCH_PROFILE_TRACE=trace.json trtllm-serve "
                           "MODEL, and load for more than 150 steps");
    }
    d->recording = gt_diagnosis_text(d, "%s", gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

/* The call that records what is missing, as one line. */
static void add_recording(gt_inspection *p, const event_counts *c)
{
    const gt_diagnosis *d = p->d;
    bool any = false, are_ranks = p->run->distributed.world_size > 1;
    for (size_t i = 0; i < GT_LENGTH(recordable); i++) {
        const char *setting = recordable[i].setting;
        const char *option = setting ? server_option(c->server, setting) : NULL;
        bool is_possible = !setting || !(is_on(p, setting) || (option && !*option));
        any |= is_possible && gt_missing_exists(d, recordable[i].lack);
    }
    if (any && c->server != NO_SERVER && !c->steps)
        add_server_recording(p->d, c->server);
    else if (any)
        p->d->recording = gt_diagnosis_text(
            p->d,
            "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, "
            "torch.profiler.ProfilerActivity.CUDA], schedule=torch.profiler.schedule(wait=1, warmup=2, "
            "active=5, repeat=1), record_shapes=True, with_stack=True, profile_memory=True, "
            "on_trace_ready=lambda p: p.export_chrome_trace(%s)) as prof:  # prof.step() after each step",
            are_ranks ? "f\"rank{torch.distributed.get_rank()}_trace.json.gz\"" : "\"trace.json.gz\"");
}

/* The profile that a Chrome trace was made from lies in the same folder. */
static void name_profile(gt_diagnosis *d)
{
    gt_profile_list profiles = {0};
    gt_error ignored;
    char *folder = gt_path_folder(d->path);
    gt_missing_add(d, "profile", "the profile itself",
                   "this trace is a view of it without shapes and modules",
                   "gputally report on the *.xplane.pb file next to it");
    if (gt_profiles_find(&profiles, folder, &ignored) && profiles.count)
        d->next = gt_diagnosis_command(d, "gputally report", folder, NULL);
    gt_profiles_free(&profiles);
    gt_free(folder);
}

void gt_doctor_pytorch(gt_inspection *p)
{
    const gt_event_view *trace = gt_report_events(p->report);
    event_counts c = count_events(p, trace);
    bool is_other = !c.ops && !c.kernels && !c.copies && !c.memsets && !c.calls && !c.frames &&
                    !c.annotations && !gt_trace_member_find(p->members, "schemaVersion");
    if (c.is_jax)
        gt_diagnosis_is(p->d, "jax-chrome-trace", "Chrome trace of a JAX profile");
    else if (is_other)
        gt_diagnosis_is(p->d, "chrome-trace",
                        trace->uid_count ? "Chrome trace of another program" : "Chrome trace without events");
    if (trace->facts->is_cut_off) p->d->what = gt_diagnosis_text(p->d, "%s, truncated", p->d->what);
    add_made(p, &c, trace);
    add_contents(p->d, &c, trace);
    if (server_steps(&c)) gt_fact_add_count(p->d, GT_FACT_CONTENTS, "server_steps", (double)server_steps(&c));
    if (c.is_jax) {
        name_profile(p->d);
        return;
    }
    if (is_other) {
        gt_missing_add(p->d, "gpu_events", "no GPU events of a profiler that gputally knows",
                       "no report can be made", "torch.profiler, rocprofv3, nsys or jax.profiler");
        return;
    }
    add_gaps(p, &c, trace);
    add_recording(p, &c);
}

/* ---- what can be done ---- */

static void explain_omitted(gt_inspection *p)
{
    static const struct {
        gt_sheet sheet;
        const char *why;
    } rows[] = {
        {GT_SHEET_OPS_SUMMARY, "no CPU ops"},
        {GT_SHEET_OPS_SUMMARY_BY_CATEGORY, "no CPU ops"},
        {GT_SHEET_OPS_UNIQUE_ARGS, "no CPU ops"},
        {GT_SHEET_UNIFIED_PERF_SUMMARY, "no CPU ops"},
        {GT_SHEET_MEMORY_COPIES, "no copies"},
        {GT_SHEET_COLL_ANALYSIS, "no collectives with their arguments"},
        {GT_SHEET_GPU_TIMELINE_BY_DEVICE, "events of one GPU only"},
        {GT_SHEET_GEMM, "no such op with input shapes"},
        {GT_SHEET_SDPA_FWD, "no such op with input shapes"},
        {GT_SHEET_CONV_FWD, "no such op with input shapes"},
    };
    for (size_t i = 0; i < GT_LENGTH(rows); i++) gt_doctor_omitted(p, rows[i].sheet, rows[i].why);
    gt_doctor_omitted(p, GT_SHEET_INFERENCE_PHASES,
                      gt_fact_find(p->d, "server_steps") ? "written with --inference_phase_analysis"
                                                         : "no steps of an inference server");
}

void gt_doctor_pytorch_commands(gt_inspection *p)
{
    gt_diagnosis *d = p->d;
    bool reports = d->usable;
    const gt_fact *server = gt_fact_find(d, "server_steps"), *world = gt_fact_find(d, "world_size");
    if (reports) explain_omitted(p);
    gt_supported_command_add(d, "report", reports, reports ? "findings, sheets and page" : d->problem);
    gt_supported_command_add(d, "compare", reports,
                             reports ? "why a step takes longer than one of another trace"
                                     : "needs a report");
    gt_supported_command_add(
        d, "diff", !gt_missing_exists(d, "ops"),
        gt_missing_exists(d, "ops") ? "needs CPU ops" : "call trees and kernels of this and another trace");
    gt_supported_command_add(d, "collective", false,
                             world && world->number > 1
                                 ? "needs the traces of the other ranks; put them into one folder"
                                 : "needs the traces of several ranks");
    gt_supported_command_add(d, "split", server != NULL,
                             server ? "single steps of the inference server as traces"
                                    : "no annotations of an inference server (vLLM, SGLang)");
    gt_supported_command_add(d, "convert", true, "a Perfetto trace (.pftrace)");
    gt_supported_command_add(d, "index", reports,
                             reports ? "makes the next commands on this trace fast" : "needs a report");
}
