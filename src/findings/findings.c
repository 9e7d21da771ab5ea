/* From a trace to its findings: schedule, idle causes, the GPU's rates, rules and trust. */
#include "findings/findings.h"
#include "findings/schedule/all_devices.h"

/* ---- the GPU ---- */

/* The device that is scheduled, as the trace describes it: the one with the number of its ops, or else the
 * first. NULL if the trace describes none. */
static const gt_device_properties *find_device(const gt_schedule *s)
{
    const gt_event_view *trace = s->trace;
    if (!trace || !trace->facts || !trace->facts->device_count) return NULL;
    const gt_trace_facts *facts = trace->facts;
    int64_t id = -1;
    if (s->op_count) {
        uint32_t text = gt_store_string_id(trace->store, GT_EVENT_DEVICE, s->ops[0].row);
        gt_str json = gt_interner_get(s->strings, text);
        if (json.len) id = strtoll(json.bytes + (*json.bytes == '"'), NULL, 10);
    }
    for (size_t i = 0; i < facts->device_count; i++)
        if (facts->devices[i].id == id) return &facts->devices[i];
    return &facts->devices[0];
}

const char *gt_schedule_device_name(const gt_schedule *schedule)
{
    if (schedule->origin != GT_BY_PYTORCH && schedule->device.name != GT_STR_NONE)
        return gt_interner_get(schedule->strings, schedule->device.name).bytes;
    const gt_device_properties *device = find_device(schedule);
    return device ? gt_interner_get(schedule->strings, device->name).bytes : "";
}

static bool is_amd_name(const char *name)
{
    static const char *const words[] = {"AMD", "Instinct", "Radeon"};
    gt_str text = {name, strlen(name)};
    for (size_t i = 0; i < GT_LENGTH(words); i++)
        if (gt_str_contains(text, words[i])) return true;
    return false;
}

/* Calls have the names of HIP. */
static bool calls_hip(const gt_schedule *s)
{
    for (size_t i = 0; i < s->point_count; i++) {
        if (i + GT_EVENTS_AHEAD < s->point_count) gt_event_prefetch(s, s->points[i + GT_EVENTS_AHEAD].event);
        if (gt_str_starts_with(gt_interner_get(s->strings, s->events[s->points[i].event].name), "hip"))
            return true;
    }
    return false;
}

static gt_gpu_rates find_rates(const gt_schedule *s, const gt_gpu_arch *chosen)
{
    const gt_device_properties *device = find_device(s);
    const char *name = gt_schedule_device_name(s);
    gt_gpu_rates rates;
    if (s->origin != GT_BY_PYTORCH) {
        rates = gt_gpu_rates_find(name, chosen, s->device.compute_major, s->device.is_amd);
        rates.is_deduced = s->device.is_deduced;
        return rates;
    }
    int64_t major = device && device->compute_major != GT_EVENT_NONE ? device->compute_major : -1;
    rates = gt_gpu_rates_find(name, chosen, major, is_amd_name(name) || calls_hip(s));
    rates.is_deduced = device && device->is_deduced;
    if (device && device->multiprocessors > 0) rates.multiprocessors = device->multiprocessors;
    return rates;
}

/* ---- step times ---- */

static void measure(gt_findings *f)
{
    const gt_schedule *s = f->schedule;
    double steps = (double)s->window.steps;
    f->per = s->used_step_count ? "step" : "trace";
    f->step_ns = (double)(s->window.end_ns - s->window.start_ns) / steps;
    f->idle_ns = (double)f->idle->total_ns / steps;
    f->busy_ns = f->step_ns - f->idle_ns;
    gt_replay_times again = {0};
    f->raw_ns = gt_replay_run(s, NULL, 0, (gt_replay_options){.recorded = true}, &again);
    gt_replay_times model = {.step_ns = gt_alloc(s->used_step_count * sizeof *model.step_ns)};
    f->model_ns = gt_replay_run(s, NULL, 0, (gt_replay_options){0}, &model);
    f->model_step_ns = model.step_ns;
    f->replay_error_ns = again.gpu_ns - f->step_ns;
    f->replay_error_pct = f->step_ns > 0 ? 100 * f->replay_error_ns / f->step_ns : 0;
}

static gt_finding_list *run_rules(const gt_findings *f)
{
    gt_rule_input input = {.schedule = f->schedule,
                           .idle = f->idle,
                           .gpu = &f->gpu,
                           .facts = f->facts,
                           .per = f->per,
                           .step_ns = f->step_ns,
                           .raw_ns = f->raw_ns,
                           .model_ns = f->model_ns,
                           .error_ns = fabs(f->replay_error_ns),
                           .model_step_ns = f->model_step_ns};
    return gt_rules_run(&input);
}

/* ---- all of it ---- */

gt_findings *gt_findings_of_schedule(gt_schedule *schedule, const gt_findings_options *options)
{
    gt_findings *f = gt_alloc_zero(1, sizeof *f);
    f->schedule = schedule;
    f->arch = options->gpu;
    f->per = "trace";
    f->gpu = find_rates(schedule, options->gpu);
    gt_replay_prepare(schedule);
    f->idle = gt_idle_find(schedule);
    if (schedule->op_count) f->facts = gt_gpu_facts_new(schedule, &f->gpu);
    f->launch_ops = gt_launch_ops_find(schedule, false);
    f->categories = gt_op_categories_find(schedule, f->launch_ops);
    if (schedule->op_count) measure(f);
    if (schedule->op_count && !schedule->is_capture) {
        f->list = run_rules(f);
        f->no_rule = gt_no_rule_text(schedule, f->facts, &f->gpu, f->list);
    } else {
        f->list = gt_alloc_zero(1, sizeof *f->list);
        f->list->all_fixed_ns = f->model_ns;
    }
    f->trust = gt_trust_judge(&(gt_trust_input){.schedule = schedule,
                                                .idle = f->idle,
                                                .per = f->per,
                                                .step_ns = f->step_ns,
                                                .busy_ns = f->busy_ns,
                                                .model_ns = f->model_ns,
                                                .replay_error_pct = f->replay_error_pct,
                                                .is_cut_off = options->is_cut_off,
                                                .account = options->account});
    return f;
}

void gt_findings_add_device(gt_findings *f, gt_schedule *device, const gt_findings_options *options)
{
    gt_findings *other = gt_findings_of_schedule(device, options);
    bool has_own_host = device->main_process != f->schedule->main_process;
    gt_finding_list_add_device(f->list, other->list, gt_schedule_place(device), has_own_host);
    gt_findings_free(other);
    if (f->list->shown && f->list->items[0].severity != GT_SEVERITY_LOW) {
        gt_free(f->no_rule);
        f->no_rule = NULL;
    }
}

gt_findings *gt_findings_find(const gt_event_view *trace, const gt_findings_options *options)
{
    gt_findings_options wanted = *options;
    if (trace->facts && trace->facts->is_cut_off) wanted.is_cut_off = true;
    if (trace->facts && !wanted.account) wanted.account = &trace->facts->account;
    return gt_findings_of_schedule(gt_schedule_new(trace), &wanted);
}

void gt_findings_free(gt_findings *f)
{
    if (!f) return;
    gt_trust_free(&f->trust);
    gt_finding_list_free(f->list);
    gt_free(f->no_rule);
    gt_gpu_facts_free(f->facts);
    gt_free_all(f->model_step_ns, f->launch_ops, f->categories);
    gt_idle_free(f->idle);
    gt_schedule_free(f->schedule);
    gt_free(f);
}
