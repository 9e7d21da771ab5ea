/* JAX profiles (XPlane): GPUs, events, and whether XLA's modules and the host's waits were recorded. */
#include "doctor/parts.h"

static void add_gpus(gt_diagnosis *d, const gt_jax *trace)
{
    const char **names = gt_alloc((trace->gpu_count + 1) * sizeof *names);
    bool any = false; /* older versions of JAX do not name the GPUs */
    for (size_t i = 0; i < trace->gpu_count; i++) {
        uint32_t name = trace->gpus[i].device.name;
        any |= name != GT_STR_NONE;
        names[i] =
            name == GT_STR_NONE ? "unnamed" : gt_diagnosis_string(d, gt_interner_get(trace->strings, name));
    }
    if (any) gt_fact_add_text(d, GT_FACT_MADE, "devices", gt_doctor_count_names(d, names, trace->gpu_count));
    gt_free(names);
}

static void add_span(gt_diagnosis *d, const gt_jax *trace)
{
    double first = 0, last = 0;
    for (size_t i = 0; i < trace->count; i++) {
        double start = (double)trace->start_ps[i], end = start + (double)trace->dur_ps[i];
        if (!i || start < first) first = start;
        if (!i || end > last) last = end;
    }
    if (trace->count) gt_fact_add_number(d, GT_FACT_CONTENTS, "span_ms", (last - first) / 1e9, "ms");
}

void gt_doctor_jax(gt_inspection *p)
{
    gt_diagnosis *d = p->d;
    const gt_jax *trace = p->report->trace.jax;
    size_t launched = 0, described = 0, steps = 0;
    for (size_t i = 0; i < trace->count; i++) launched += trace->launch_us[i] == trace->launch_us[i];
    for (size_t i = 0; i < trace->op_count; i++) described += trace->ops[i].record != GT_JAX_NONE;
    gt_fact_add_text(d, GT_FACT_MADE, "profiler", "jax.profiler (XLA)");
    add_gpus(d, trace);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "gpu_events", (double)trace->count);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "gpus", (double)trace->gpu_count);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "ops", (double)trace->op_count);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "ops_with_modules", (double)described);
    gt_fact_add_count(d, GT_FACT_CONTENTS, "events_with_launch", (double)launched);
    for (size_t i = 0; i < trace->host_count; i++) steps += trace->host[i].is_step;
    gt_fact_add_count(d, GT_FACT_CONTENTS, "host_waits", (double)(trace->host_count - steps));
    if (steps) gt_fact_add_count(d, GT_FACT_CONTENTS, "server_steps", (double)steps);
    add_span(d, trace);
    if (!trace->count)
        gt_missing_add(
            d, "gpu_events", "no GPU events", "no report can be made",
            "jax.block_until_ready(result) before jax.profiler.stop_trace(), on a machine whose JAX "
            "uses the GPU");
    if (trace->count && !described)
        gt_missing_add(d, "modules", "no compiled modules (HLO)",
                       "no shapes, flops and bytes of GEMMs and convolutions",
                       "enable_hlo_proto = True of jax.profiler.ProfileOptions");
    if (trace->count && !launched)
        gt_missing_add(d, "calls", "no launches on the host", "idle time cannot be explained",
                       "host_tracer_level = 2 of jax.profiler.ProfileOptions");
    if (d->missing_count)
        d->recording = "options = jax.profiler.ProfileOptions(); options.host_tracer_level = 2; "
                       "options.enable_hlo_proto = True; jax.profiler.start_trace(\"profile\", "
                       "profiler_options=options); jax.block_until_ready(step(...)); "
                       "jax.profiler.stop_trace()";
}

void gt_doctor_jax_commands(gt_inspection *p)
{
    gt_diagnosis *d = p->d;
    gt_supported_command_add(d, "report", d->usable, d->usable ? "findings, sheets and page" : d->problem);
    gt_supported_command_add(d, "jax-analysis", d->usable,
                             d->usable ? "five small sheets: GPU times, kernel classes, GEMMs"
                                       : "needs GPU events");
    gt_supported_command_add(
        d, "jax-collective", d->usable,
        "with one profile per node and the text dumps of XLA (XLA_FLAGS=--xla_dump_to=DIR)");
    gt_supported_command_add(d, "index", d->usable,
                             d->usable ? "makes the next commands on this profile fast" : "needs a report");
}
