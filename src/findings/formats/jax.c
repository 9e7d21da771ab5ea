/* The schedule of a JAX profile.
 *
 * Ops are the kernels, copies and memsets on the streams of the GPU that is busy longest. Of the host the
 * times of launches are known: each becomes a call without a duration on one thread, so that an op that was
 * launched after a gap began was late, and others were queued. Between launches the host may wait for arrays,
 * if Python functions were recorded; what else it does is not known. */
#include "findings/formats/formats.h"
#include "findings/formats/plain.h"
#include "findings/formats/spans.h"

#include "analysis/jax/kernels.h"
#include "analysis/jax/models.h"
#include "findings/schedule/names.h"

static const int64_t ps_per_ns = 1000;

static int64_t rounded_ns(int64_t ps)
{
    return ps / ps_per_ns + (ps % ps_per_ns >= ps_per_ns / 2) - (ps % ps_per_ns < -ps_per_ns / 2);
}

/* The end of an event; times that do not fit are cut. */
static int64_t end_ps(const gt_jax *trace, size_t event)
{
    int64_t end;
    if (trace->dur_ps[event] <= 0) return trace->start_ps[event];
    return __builtin_add_overflow(trace->start_ps[event], trace->dur_ps[event], &end) ? INT64_MAX : end;
}

static bool is_work(const gt_jax *trace, size_t event)
{
    return trace->kind[event] != GT_JAX_OTHER && !trace->lines[trace->line[event]].is_counter &&
           !trace->lines[trace->line[event]].is_derived;
}

static size_t count_used(const gt_jax *trace)
{
    size_t used = 0;
    for (size_t g = 0; g < trace->gpu_count; g++) {
        size_t i = trace->gpus[g].begin;
        while (i < trace->gpus[g].end && !is_work(trace, i)) i++;
        used += i < trace->gpus[g].end;
    }
    return used;
}

/* The GPU that is busy longest, and how many have events. */
static const gt_jax_gpu *find_busiest(const gt_jax *trace, size_t *used)
{
    gt_busy_sum *busy = gt_alloc_zero(trace->gpu_count, sizeof *busy);
    gt_device_spans spans = {0};
    const gt_jax_gpu *busiest = NULL;
    uint64_t most_ps = 0;
    *used = count_used(trace);
    for (uint32_t g = 0; g < trace->gpu_count; g++) {
        const gt_jax_gpu *gpu = &trace->gpus[g];
        for (size_t i = gpu->begin; i < gpu->end; i++) {
            if (!is_work(trace, i)) continue;
            if (!busiest) busiest = gpu;
            if (*used < 2) break; /* there is nothing to choose */
            gt_device_span span = {trace->start_ps[i], end_ps(trace, i), g};
            GT_PUSH(spans.items, spans.count, spans.capacity, span);
        }
    }
    gt_device_spans_measure(&spans, busy);
    for (size_t g = 0; g < trace->gpu_count; g++)
        if (busy[g].sum > most_ps) {
            most_ps = busy[g].sum;
            busiest = &trace->gpus[g];
        }
    gt_free(busy);
    return busiest;
}

/* What names say, found once per name. */
typedef struct name_facts {
    uint8_t class; /* 1 + gt_jax_class; 0: not looked at yet */
    bool communicates;
} name_facts;

typedef struct jax_builder {
    const gt_jax *trace;
    gt_plain_trace plain;
    name_facts *names; /* by string id */
    uint32_t categories[GT_JAX_CLASSES];
    uint32_t launch_name;
    gt_map launches;       /* ids that have their call */
    gt_op_origin *origins; /* by op of the trace; NULL: not wanted */
} jax_builder;

static const name_facts *facts_of(jax_builder *b, uint32_t name)
{
    name_facts *facts = &b->names[name];
    if (facts->class) return facts;
    gt_str text = gt_interner_get(b->trace->strings, name);
    facts->class = (uint8_t)(1 + gt_jax_class_of_name(text));
    facts->communicates = gt_name_bits_of(text, GT_NAMES_GPU) & GT_NAME_COMMUNICATION;
    return facts;
}

static uint32_t category_of(jax_builder *b, size_t event)
{
    uint32_t hlo_op = gt_jax_hlo_op(b->trace, event);
    gt_jax_class kernel = (gt_jax_class)(facts_of(b, b->trace->name[event])->class - 1);
    gt_jax_class op =
        hlo_op == GT_STR_NONE ? GT_JAX_CLASS_XLA : (gt_jax_class)(facts_of(b, hlo_op)->class - 1);
    gt_jax_class class = gt_jax_class_combine(kernel, op);
    if (b->categories[class] == GT_STR_NONE)
        b->categories[class] = gt_interner_add_cstr(b->trace->strings, gt_jax_class_name(class));
    return b->categories[class];
}

/* What the compiler says about the ops of the trace. */
static void find_origins(jax_builder *b)
{
    const gt_jax *trace = b->trace;
    gt_arena arena = {0};
    b->origins = gt_alloc_zero(trace->op_count, sizeof *b->origins);
    for (size_t i = 0; i < trace->op_count; i++) {
        const gt_jax_op *op = &trace->ops[i];
        gt_op_origin *origin = &b->origins[i];
        origin->name = op->hlo_op != GT_STR_NONE ? op->hlo_op : op->tf_op;
        if (op->record != GT_JAX_NONE)
            origin->shapes = gt_jax_arguments_of(trace, &trace->records[op->record], &arena).dims;
        gt_str path = op->source.found ? op->source.op_name : (gt_str){0};
        if (path.len)
            origin->path = gt_interner_add(trace->strings, path.bytes, path.len);
        else
            origin->path = op->tf_op;
    }
    gt_arena_free(&arena);
}

static gt_plain_op op_of(jax_builder *b, size_t event)
{
    static const uint8_t kinds[] = {
        [GT_JAX_KERNEL] = GT_KIND_KERNEL, [GT_JAX_MEMCPY] = GT_KIND_MEMCPY, [GT_JAX_MEMSET] = GT_KIND_MEMSET};
    const gt_jax *trace = b->trace;
    bool has_launch = isfinite(trace->launch_us[event]) && fabs(trace->launch_us[event]) < 9e15;
    gt_plain_op op = {.start_ns = rounded_ns(trace->start_ps[event]),
                      .end_ns = rounded_ns(end_ps(trace, event)),
                      .launch = has_launch ? trace->correlation[event] : 0,
                      .stream = trace->line[event],
                      .device = trace->lines[trace->line[event]].gpu,
                      .name = trace->name[event],
                      .category = category_of(b, event),
                      .row = (uint32_t)event,
                      .kind = kinds[trace->kind[event]],
                      .has_launch = has_launch,
                      .communicates = facts_of(b, trace->name[event])->communicates};
    if (b->origins && trace->op[event] != GT_JAX_NONE) op.origin = b->origins[trace->op[event]];
    return op;
}

static void add_event(jax_builder *b, size_t event)
{
    const gt_jax *trace = b->trace;
    gt_plain_op op = op_of(b, event);
    GT_PUSH(b->plain.ops, b->plain.op_count, b->plain.op_capacity, op);
    uint32_t *call_of_id = op.has_launch ? gt_map_put(&b->launches, op.launch, 0) : NULL;
    if (!op.has_launch || *call_of_id != GT_MAP_NONE) return; /* the ops of a graph have one call */
    *call_of_id = (uint32_t)b->plain.call_count;
    int64_t launch_ns = (int64_t)llround(trace->launch_us[event] * 1e3);
    gt_plain_call call = {.start_ns = launch_ns,
                          .end_ns = launch_ns,
                          .launch = op.launch,
                          .name = b->launch_name,
                          .row = op.row,
                          .has_launch = true};
    GT_PUSH(b->plain.calls, b->plain.call_count, b->plain.call_capacity, call);
}

/* ---- what the host does ---- */

GT_ORDER_BY(by_start, gt_plain_call, GT_UP(start_ns) GT_DOWN(end_ns) GT_UP(row))

/* Launches are on thread 0, waits on thread 1, steps on those that follow. */
static gt_plain_call host_call(const gt_jax *trace, size_t i)
{
    const gt_jax_host_event *event = &trace->host[i];
    return (gt_plain_call){.start_ns = rounded_ns(event->start_ps),
                           .end_ns = rounded_ns(event->end_ps),
                           .thread = event->is_step ? UINT64_C(2) + event->tid : 1,
                           .name = event->name,
                           .row = (uint32_t)i,
                           .is_range = event->is_step,
                           .waits = !event->is_step};
}

/* Adds the annotations that are steps of a server, as ranges. */
static void add_steps(jax_builder *b)
{
    for (size_t i = 0; i < b->trace->host_count; i++)
        if (b->trace->host[i].is_step)
            GT_PUSH(b->plain.calls, b->plain.call_count, b->plain.call_capacity, host_call(b->trace, i));
}

/* Adds the functions in which the host waits, as synchronising calls. While one thread waits, others may
 * launch: a wait counts from the last launch in it on, so that the host does one thing at a time. */
static void add_waits(jax_builder *b)
{
    const gt_jax *trace = b->trace;
    gt_plain_trace *plain = &b->plain;
    size_t launches = plain->call_count, next = 0, count = 0;
    if (!launches || !trace->host_count) return;
    qsort(plain->calls, launches, sizeof *plain->calls, by_start);
    gt_plain_call *waits = gt_alloc(trace->host_count * sizeof *waits);
    for (size_t i = 0; i < trace->host_count; i++)
        if (!trace->host[i].is_step) waits[count++] = host_call(trace, i);
    if (count) qsort(waits, count, sizeof *waits, by_start);
    int64_t until = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        gt_plain_call wait = waits[i];
        if (wait.end_ns <= until) continue; /* inside of another */
        if (wait.start_ns < until) wait.start_ns = until;
        until = wait.end_ns;
        while (next < launches && plain->calls[next].start_ns < wait.end_ns) next++;
        if (next && plain->calls[next - 1].start_ns > wait.start_ns)
            wait.start_ns = plain->calls[next - 1].start_ns;
        GT_PUSH(plain->calls, plain->call_count, plain->call_capacity, wait);
    }
    gt_free(waits);
}

/* ---- the device ---- */

static gt_device_facts describe_device(const gt_jax *trace, const gt_jax_device *device)
{
    gt_device_facts facts = {.name = device->name, .compute_major = -1};
    facts.is_amd = gt_str_equals(gt_interner_get(trace->strings, device->vendor), "AMD");
    if (!facts.is_amd && device->compute_major > 0 && device->compute_major < 1000)
        facts.compute_major = (int64_t)device->compute_major;
    const gt_amd_properties properties = {device->compute_major, device->compute_minor, device->cores,
                                          device->clock_khz / 1000, device->memory_bytes};
    gt_buffer product = {0};
    if (facts.is_amd && facts.name == GT_STR_NONE && /* those of AMD GPUs do not name them */
        gt_amd_gpu_add_name(&properties, &product)) {
        facts.name = gt_interner_add_cstr(trace->strings, gt_buffer_str(&product).bytes);
        facts.is_deduced = true;
    }
    gt_buffer_free(&product);
    return facts;
}

/* "/device:GPU:0" is GPU 0. */
static gt_stream_names name_gpu(const gt_jax *trace, const gt_jax_gpu *gpu)
{
    gt_str plane = gt_interner_get(trace->strings, gpu->plane);
    size_t digits = 0;
    while (digits < plane.len && gt_is_digit(plane.bytes[plane.len - 1 - digits])) digits++;
    gt_stream_names names = {.device = gpu->plane, .device_number = -1};
    if (!digits || digits > 9) return names;
    char text[32];
    names.device_number = strtoll(plane.bytes + plane.len - digits, NULL, 10);
    snprintf(text, sizeof text, "GPU %" PRId64, names.device_number);
    names.device = gt_interner_add_cstr(trace->strings, text);
    return names;
}

/* ---- what only a page shows ---- */

static gt_stream_names name_stream(const void *context, const gt_plain_op *op)
{
    const jax_builder *b = context;
    const gt_jax_line *line = &b->trace->lines[op->stream];
    gt_stream_names names = name_gpu(b->trace, &b->trace->gpus[line->gpu]);
    names.stream = line->thread_name;
    return names;
}

/* Adds the ops of the other GPUs. Their launches stay unknown: the host of the schedule is that of one GPU.
 */
static void add_others(jax_builder *b, const gt_jax_gpu *busiest)
{
    const gt_jax *trace = b->trace;
    for (size_t i = 0; i < trace->count; i++) {
        if (!is_work(trace, i) || (i >= busiest->begin && i < busiest->end)) continue;
        gt_plain_op op = op_of(b, i);
        op.has_launch = false;
        GT_PUSH(b->plain.others, b->plain.other_count, b->plain.other_capacity, op);
    }
}

/* ---- all of it ---- */

gt_schedule *gt_schedule_of_jax(const gt_jax *trace, bool to_show)
{
    jax_builder b = {.trace = trace,
                     .names = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *b.names),
                     .launch_name = gt_interner_add_cstr(trace->strings, "launch")};
    b.plain.strings = trace->strings;
    b.plain.origin = GT_BY_JAX;
    b.plain.device = (gt_device_facts){.name = GT_STR_NONE, .compute_major = -1};
    const gt_jax_gpu *gpu = find_busiest(trace, &b.plain.device_count);
    if (gpu) b.plain.device = describe_device(trace, &gpu->device);
    if (gpu) b.plain.device.place = name_gpu(trace, gpu).device;
    if (to_show) {
        b.plain.name_stream = name_stream;
        b.plain.context = &b;
        b.plain.has_origins = true;
        find_origins(&b);
    }
    for (size_t i = gpu ? gpu->begin : 0; gpu && i < gpu->end; i++)
        if (is_work(trace, i)) add_event(&b, i);
    add_waits(&b);
    add_steps(&b);
    if (gpu && to_show) add_others(&b, gpu);
    gt_schedule *schedule = gt_schedule_of_plain(&b.plain);
    gt_plain_free(&b.plain);
    gt_map_free(&b.launches);
    gt_free_all(b.names, b.origins);
    return schedule;
}
