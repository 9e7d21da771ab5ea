/* The schedule of a rocprofv3 run or an Nsight Systems export.
 *
 * Ops are kernel dispatches and memory copies of the GPU that is busy longest. Calls are those of HIP, or of
 * HSA if no call of HIP was recorded; ranges that the program marked say where calls belong. Many runs have
 * no calls: then the schedule has no host.
 *
 * Dispatches of one stream run one after the other. Some formats do not record streams, then those of one
 * hardware queue do, and copies of one direction. A launch of a whole CUDA graph is one op. */
#include "findings/formats/formats.h"
#include "findings/formats/plain.h"
#include "findings/formats/spans.h"

#include "analysis/rocprof/agents.h"
#include "findings/schedule/names.h"
#include "model/arch.h"

enum { COPY_BETWEEN_GPUS = GT_COPY_DIRECTIONS };

/* ---- devices ---- */

typedef struct gpu_use {
    uint32_t agent; /* row of the run's agents; GT_MAP_NONE: unknown */
    int64_t node;   /* its number on the host */
    size_t count;   /* of ops */
} gpu_use;

typedef struct rocprof_builder {
    gt_rocprof *run;
    gt_plain_trace plain;
    gt_agent_list agents;
    gt_map gpus;   /* (host, number of the GPU) to a number of its own */
    gt_map places; /* (that number, node) to index of uses */
    gpu_use *uses;
    size_t use_count, use_capacity;
    gt_device_spans spans; /* of ops, once they are measured */
    bool measures;
    uint32_t device;  /* the busiest */
    gt_map processes; /* that use it */
    size_t unnamed_calls;
    gt_map other_launches; /* (process, launch id) of ops of other devices */
    bool has_streams;
    bool to_show;           /* the other devices, too */
    bool several_processes; /* have ops */
    uint64_t first_process; /* that has any */
} rocprof_builder;

/* The index of the device that an agent of a process is. */
static uint32_t device_of(rocprof_builder *b, int64_t process, int64_t number)
{
    const gt_agent_list *agents = &b->agents;
    uint32_t row = gt_agent_list_find(agents, process, number);
    bool has_node = row != GT_MAP_NONE && agents->nodes[row] != GT_AGENT_ABSENT;
    int64_t node = has_node ? agents->nodes[row] : number;
    uint32_t host = gt_rocprof_host_of(b->run, process);
    if (row == GT_MAP_NONE && agents->count) /* another process of the host may list it */
        row = gt_map_get(&agents->firsts, host, (uint64_t)node);
    uint32_t *gpu = gt_map_put(&b->gpus, host, row == GT_MAP_NONE ? 0 : agents->gpus[row]);
    if (*gpu == GT_MAP_NONE) *gpu = (uint32_t)b->gpus.count;
    uint32_t *place = gt_map_put(&b->places, *gpu, (uint64_t)node);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)b->use_count;
        GT_PUSH(b->uses, b->use_count, b->use_capacity, ((gpu_use){.agent = row, .node = node}));
    }
    return *place;
}

/* Either counts an op of a device, or notes when it runs. */
static void add_use(rocprof_builder *b, uint32_t device, int64_t start_ns, int64_t end_ns)
{
    gt_device_span span = {start_ns, end_ns, device};
    if (b->measures)
        GT_PUSH(b->spans.items, b->spans.count, b->spans.capacity, span);
    else
        b->uses[device].count++;
}

/* ---- dispatches ---- */

typedef struct dispatch_columns {
    int64_t *start, *end, *stream, *agent, *process, *queue, *launch;
    uint32_t *names, *devices;
    size_t count;
} dispatch_columns;

static dispatch_columns read_dispatches(rocprof_builder *b)
{
    const gt_store *store = b->run->dispatches;
    dispatch_columns d = {.start = gt_store_ints(store, GT_DISPATCH_START),
                          .end = gt_store_ints(store, GT_DISPATCH_END),
                          .stream = gt_store_ints(store, GT_DISPATCH_STREAM),
                          .agent = gt_store_ints(store, GT_DISPATCH_AGENT),
                          .process = gt_store_ints(store, GT_DISPATCH_PROCESS),
                          .queue = gt_store_ints(store, GT_DISPATCH_QUEUE),
                          .launch = gt_store_ints(store, GT_DISPATCH_CORRELATION),
                          .names = gt_rocprof_dispatch_names(b->run),
                          .count = gt_store_count(store)};
    d.devices = gt_alloc(d.count * sizeof *d.devices);
    for (size_t i = 0; i < d.count; i++) {
        bool is_same = i && d.agent[i] == d.agent[i - 1] && d.process[i] == d.process[i - 1];
        d.devices[i] = is_same ? d.devices[i - 1] : device_of(b, d.process[i], d.agent[i]);
        add_use(b, d.devices[i], d.start[i], d.end[i]);
        b->has_streams |= d.stream[i] != 0;
    }
    return d;
}

static void free_dispatches(dispatch_columns *d)
{
    gt_free_all(d->start, d->end, d->stream, d->agent, d->process, d->queue, d->launch, d->names, d->devices);
}

static bool communicates(const gt_rocprof *run, uint32_t name)
{
    gt_str text = gt_interner_get(run->strings, name);
    return gt_name_bits_of(text, GT_NAMES_GPU) & GT_NAME_COMMUNICATION ||
           (run->communication && gt_comm_family(run->communication, text));
}

/* Adds an op of the busiest device or of another one. */
static void add_op(rocprof_builder *b, const gt_plain_op *op)
{
    gt_plain_trace *plain = &b->plain;
    if (!plain->op_count && !plain->other_count) b->first_process = op->process;
    b->several_processes |= op->process != b->first_process;
    if (op->device == b->device)
        GT_PUSH(plain->ops, plain->op_count, plain->op_capacity, *op);
    else if (b->to_show)
        GT_PUSH(plain->others, plain->other_count, plain->other_capacity, *op);
}

/* Adds the dispatches. */
static void add_dispatches(rocprof_builder *b, const dispatch_columns *d)
{
    size_t name_count = gt_interner_count(b->run->strings);
    enum { COMPUTES = 1, COMMUNICATES };
    uint8_t *kinds = gt_alloc_zero(name_count, 1); /* of kernels, by name */
    uint64_t last = 0;                             /* process that was noted */
    for (size_t i = 0; i < d->count; i++) {
        uint64_t process = (uint64_t)d->process[i], launch = (uint64_t)d->launch[i];
        bool is_other = d->devices[i] != b->device;
        if (is_other && launch) *gt_map_put(&b->other_launches, process, launch) = 1;
        if (is_other && !b->to_show) continue;
        uint8_t *kind = &kinds[d->names[i]];
        if (!*kind) *kind = communicates(b->run, d->names[i]) ? COMMUNICATES : COMPUTES;
        if (!is_other && (!b->processes.count || process != last)) {
            *gt_map_put(&b->processes, process, 0) = 1;
            last = process;
        }
        gt_plain_op op = {.start_ns = d->start[i],
                          .end_ns = d->end[i],
                          .process = process,
                          .launch = launch,
                          .stream = (uint64_t)(b->has_streams ? d->stream[i] : d->queue[i]),
                          .device = d->devices[i],
                          .name = d->names[i],
                          .row = (uint32_t)i,
                          .kind = GT_KIND_KERNEL,
                          .is_dispatch = true,
                          .has_launch = launch != 0,
                          .communicates = *kind == COMMUNICATES};
        add_op(b, &op);
    }
    gt_free(kinds);
}

/* ---- graphs ---- */

/* Either counts the graph launches of each device, or adds them. */
static void visit_graphs(rocprof_builder *b, bool adds)
{
    if (!b->run->graphs) return;
    gt_store_cell cells[GT_GRAPH_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(b->run->graphs);
    for (uint32_t row = 0; gt_store_scan_next(scan, cells); row++) {
        uint64_t process = (uint64_t)cells[GT_GRAPH_PROCESS].integer;
        uint64_t launch = (uint64_t)cells[GT_GRAPH_CORRELATION].integer;
        uint32_t device = device_of(b, (int64_t)process, cells[GT_GRAPH_AGENT].integer);
        if (!adds) {
            add_use(b, device, cells[GT_GRAPH_START].integer, cells[GT_GRAPH_END].integer);
            b->has_streams |= cells[GT_GRAPH_STREAM].integer != 0;
            continue;
        }
        gt_plain_op op = {.start_ns = cells[GT_GRAPH_START].integer,
                          .end_ns = cells[GT_GRAPH_END].integer,
                          .process = process,
                          .launch = launch,
                          .stream = (uint64_t)cells[GT_GRAPH_STREAM].integer,
                          .device = device,
                          .name = gt_graph_name(b->run->strings, cells[GT_GRAPH_ID].integer),
                          .row = row,
                          .kind = GT_KIND_KERNEL,
                          .has_launch = launch != 0};
        if (device == b->device)
            *gt_map_put(&b->processes, process, 0) = 1;
        else if (launch)
            *gt_map_put(&b->other_launches, process, launch) = 1;
        add_op(b, &op);
    }
    gt_store_scan_free(scan);
}

/* ---- copies ---- */

/* Whether an end of a copy is a GPU: by the type of the agent, or else by the direction of the copy. */
static bool is_gpu(const rocprof_builder *b, int64_t process, int64_t agent, bool by_direction)
{
    if (agent < 0) return false;
    uint32_t row = gt_agent_list_find(&b->agents, process, agent);
    gt_str type = gt_interner_get(b->run->strings, row == GT_MAP_NONE ? GT_STR_NONE : b->agents.types[row]);
    if (gt_str_equals(type, "GPU")) return true;
    return by_direction && !gt_str_equals(type, "CPU");
}

/* The devices at the ends of a copy: none, one or two. */
static size_t copy_devices(rocprof_builder *b, const gt_store_cell *cells, uint32_t devices[2])
{
    int64_t process = cells[GT_COPY_PROCESS].integer, direction = cells[GT_COPY_DIRECTION].integer;
    int64_t from = cells[GT_COPY_SOURCE].integer, to = cells[GT_COPY_DESTINATION].integer;
    size_t count = 0;
    if (is_gpu(b, process, from, gt_copy_is_from_gpu(direction)))
        devices[count++] = device_of(b, process, from);
    if (is_gpu(b, process, to, gt_copy_is_to_gpu(direction))) {
        devices[count] = device_of(b, process, to);
        if (!count || devices[count] != devices[0]) count++;
    }
    if (!count && from < 0 && to < 0 && direction != GT_COPY_HOST_TO_HOST && b->use_count == 1)
        devices[count++] = 0; /* the format does not say, but there is only one */
    return count;
}

/* PyTorch's names, which the rules know: "Memcpy HtoD (Pageable -> Device)". */
static uint32_t copy_name(rocprof_builder *b, const gt_store_cell *cells, bool is_between)
{
    static const char *const names[] = {[GT_COPY_UNKNOWN] = "Memcpy",
                                        [GT_COPY_HOST_TO_HOST] = "Memcpy HtoH",
                                        [GT_COPY_HOST_TO_DEVICE] = "Memcpy HtoD",
                                        [GT_COPY_DEVICE_TO_HOST] = "Memcpy DtoH",
                                        [GT_COPY_DEVICE_TO_DEVICE] = "Memcpy DtoD",
                                        [GT_COPY_HOST_TO_ARRAY] = "Memcpy HtoD",
                                        [GT_COPY_ARRAY_TO_HOST] = "Memcpy DtoH",
                                        [GT_COPY_ARRAY_TO_ARRAY] = "Memcpy DtoD",
                                        [GT_COPY_ARRAY_TO_DEVICE] = "Memcpy DtoD",
                                        [GT_COPY_DEVICE_TO_ARRAY] = "Memcpy DtoD",
                                        [GT_COPY_PEER_TO_PEER] = "Memcpy PtoP",
                                        [GT_COPY_UNIFIED_HOST_TO_DEVICE] = "Memcpy HtoD (Managed -> Device)",
                                        [GT_COPY_UNIFIED_DEVICE_TO_HOST] = "Memcpy DtoH (Device -> Managed)",
                                        [GT_COPY_UNIFIED_DEVICE_TO_DEVICE] =
                                            "Memcpy DtoD (Managed -> Managed)",
                                        [GT_COPY_SET] = "Memset (Device)",
                                        [GT_COPY_NOT_KNOWN] = "Memcpy",
                                        [GT_COPY_OTHER_KIND] = "Memcpy",
                                        [COPY_BETWEEN_GPUS] = "Memcpy PtoP"};
    int64_t direction = cells[GT_COPY_DIRECTION].integer;
    size_t index = direction > 0 && direction < GT_COPY_DIRECTIONS ? (size_t)direction : GT_COPY_UNKNOWN;
    const char *name = names[is_between ? COPY_BETWEEN_GPUS : index];
    const char *from = gt_memory_kind_name(cells[GT_COPY_FROM].integer);
    const char *to = gt_memory_kind_name(cells[GT_COPY_TO].integer);
    if (!from || !to || strchr(name, '(')) return gt_interner_add_cstr(b->run->strings, name);
    char text[64];
    snprintf(text, sizeof text, "%s (%s -> %s)", name, from, to);
    return gt_interner_add_cstr(b->run->strings, text);
}

static const uint64_t copy_engine = UINT64_C(1) << 63; /* a bit of the streams of copies without streams */

/* `is_between`: two GPUs. */
static void add_copy(rocprof_builder *b, const gt_store_cell *cells, uint32_t row, uint32_t device,
                     bool is_between)
{
    uint64_t process = (uint64_t)cells[GT_COPY_PROCESS].integer;
    uint64_t launch = (uint64_t)cells[GT_COPY_CORRELATION].integer;
    int64_t direction = cells[GT_COPY_DIRECTION].integer;
    gt_plain_op op = {.start_ns = cells[GT_COPY_START].integer,
                      .end_ns = cells[GT_COPY_END].integer,
                      .bytes = cells[GT_COPY_BYTES].integer,
                      .process = process,
                      .launch = launch,
                      .stream = b->has_streams ? (uint64_t)cells[GT_COPY_STREAM].integer
                                               : copy_engine | (uint64_t)direction,
                      .device = device,
                      .name = copy_name(b, cells, is_between),
                      .row = row,
                      .kind = direction == GT_COPY_SET ? GT_KIND_MEMSET : GT_KIND_MEMCPY,
                      .has_launch = launch != 0};
    if (device == b->device) *gt_map_put(&b->processes, process, 0) = 1;
    add_op(b, &op);
}

/* Either counts the copies of each device, or adds the copies. One between two GPUs is the busiest one's, or
 * else that of its source. */
static void visit_copies(rocprof_builder *b, bool adds)
{
    gt_store_cell cells[GT_COPY_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(b->run->copies);
    for (uint32_t row = 0; gt_store_scan_next(scan, cells); row++) {
        uint32_t devices[2];
        size_t count = copy_devices(b, cells, devices);
        bool is_ours = false;
        for (size_t i = 0; i < count; i++) {
            is_ours |= devices[i] == b->device;
            if (!adds) add_use(b, devices[i], cells[GT_COPY_START].integer, cells[GT_COPY_END].integer);
        }
        if (!adds) continue;
        bool is_of_gpu = count || cells[GT_COPY_DIRECTION].integer != GT_COPY_HOST_TO_HOST;
        if (is_of_gpu)
            add_copy(b, cells, row, is_ours ? b->device : count ? devices[0] : GT_NONE, count == 2);
        if (!is_ours && cells[GT_COPY_CORRELATION].integer)
            *gt_map_put(&b->other_launches, (uint64_t)cells[GT_COPY_PROCESS].integer,
                        (uint64_t)cells[GT_COPY_CORRELATION].integer) = 1;
    }
    gt_store_scan_free(scan);
}

/* ---- calls ---- */

static bool has_domain(const int64_t *domains, size_t count, gt_call_domain domain)
{
    for (size_t i = 0; i < count; i++)
        if (domains[i] == (int64_t)domain) return true;
    return false;
}

/* GT_STR_NONE if the run has no such kind of calls. */
static uint32_t kind_named(const rocprof_builder *b, const char *kind)
{
    return gt_interner_find(b->run->strings, kind, strlen(kind));
}

static void add_calls(rocprof_builder *b)
{
    size_t count = b->run->calls ? gt_store_count(b->run->calls) : 0;
    if (!count || !b->plain.op_count) return;
    int64_t *domains = gt_store_ints(b->run->calls, GT_CALL_DOMAIN);
    uint32_t across = kind_named(b, GT_CALL_ACROSS_THREADS), again = kind_named(b, GT_CALL_SAME_LAUNCH);
    gt_call_domain used = has_domain(domains, count, GT_CALL_HIP) ? GT_CALL_HIP : GT_CALL_HSA;
    gt_store_cell cells[GT_CALL_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(b->run->calls);
    for (uint32_t row = 0; gt_store_scan_next(scan, cells); row++) {
        uint64_t process = (uint64_t)cells[GT_CALL_PROCESS].integer;
        uint64_t launch = (uint64_t)cells[GT_CALL_CORRELATION].integer;
        int64_t domain = cells[GT_CALL_DOMAIN].integer;
        bool is_range = domain == GT_CALL_MARKER;
        if (domain != (int64_t)used && !is_range) continue;
        if (cells[GT_CALL_NAME].text == GT_STR_NONE) {
            b->unnamed_calls += !is_range;
            continue;
        }
        uint64_t kind = cells[GT_CALL_KIND].text;
        if (kind != GT_STR_NONE && (kind == across || kind == again)) continue;
        if (gt_map_get(&b->processes, process, 0) == GT_MAP_NONE) continue;
        bool has_launch = !is_range && launch != 0;
        uint32_t name = (uint32_t)cells[GT_CALL_NAME].text;
        gt_plain_call call = {.start_ns = cells[GT_CALL_START].integer,
                              .end_ns = cells[GT_CALL_END].integer,
                              .process = process,
                              .thread = (uint64_t)cells[GT_CALL_THREAD].integer,
                              .launch = launch,
                              .name = is_range ? gt_range_name(b->run->strings, name) : name,
                              .row = row,
                              .has_launch = has_launch,
                              .is_range = is_range,
                              .is_other = has_launch &&
                                          gt_map_get(&b->other_launches, process, launch) != GT_MAP_NONE};
        GT_PUSH(b->plain.calls, b->plain.call_count, b->plain.call_capacity, call);
    }
    gt_store_scan_free(scan);
    gt_free(domains);
}

/* The blocks of the kernels: in graphs they tell the batch size. rocprofv3 counts work-items, nsys blocks. */
static void add_blocks(rocprof_builder *b)
{
    const gt_store *store = b->run->dispatches;
    int64_t *items = gt_store_ints(store, GT_DISPATCH_GRID_X),
            *sizes = gt_store_ints(store, GT_DISPATCH_BLOCK_X);
    for (size_t i = 0; i < b->plain.op_count; i++) {
        gt_plain_op *op = &b->plain.ops[i];
        if (!op->is_dispatch || items[op->row] <= 0 || sizes[op->row] <= 0) continue;
        int64_t blocks = items[op->row] / (b->plain.origin == GT_BY_NSYS ? 1 : sizes[op->row]);
        op->blocks = blocks < INT32_MAX ? (uint32_t)blocks : 0;
    }
    gt_free_all(items, sizes);
}

/* ---- the device ---- */

static uint64_t agent_number(const rocprof_builder *b, size_t column, uint32_t agent)
{
    int64_t number;
    gt_store_ints_at(b->run->agents, column, &agent, 1, &number);
    return number > 0 ? (uint64_t)number : 0;
}

/* The product that an architecture such as gfx942 must be: string id; GT_STR_NONE if it is unknown. */
static uint32_t product_of(const rocprof_builder *b, gt_str architecture, uint32_t agent)
{
    gt_amd_properties gpu = {.units = agent_number(b, GT_AGENT_CU_COUNT, agent),
                             .clock_mhz = agent_number(b, GT_AGENT_CLOCK, agent)};
    if (architecture.len != strlen("gfx942") || !gt_str_starts_with(architecture, "gfx")) return GT_STR_NONE;
    gpu.major = (uint64_t)(architecture.bytes[3] - '0');
    gpu.minor = (uint64_t)(architecture.bytes[4] - '0');
    gt_buffer name = {0};
    uint32_t product = gt_amd_gpu_add_name(&gpu, &name)
                           ? gt_interner_add_cstr(b->run->strings, gt_buffer_str(&name).bytes)
                           : GT_STR_NONE;
    gt_buffer_free(&name);
    return product;
}

/* The product's name if its rates are known, or the one that its architecture must be. Otherwise what there
 * is. */
static uint32_t device_name(const rocprof_builder *b, bool *is_deduced)
{
    uint32_t agent = b->use_count ? b->uses[b->device].agent : GT_MAP_NONE;
    if (agent == GT_MAP_NONE) return GT_STR_NONE;
    uint32_t product = gt_store_string_id(b->run->agents, GT_AGENT_PRODUCT_NAME, agent);
    uint32_t architecture = gt_store_string_id(b->run->agents, GT_AGENT_NAME, agent);
    gt_str name = gt_interner_get(b->run->strings, product);
    if (gt_gpu_arch_match(name.bytes)) return product;
    uint32_t other = product_of(b, gt_interner_get(b->run->strings, architecture), agent);
    *is_deduced = other != GT_STR_NONE &&
                  (!name.len || gt_gpu_arch_match(gt_interner_get(b->run->strings, other).bytes));
    if (*is_deduced) return other;
    return name.len ? product : architecture;
}

/* Of CUDA; -1 if it is unknown. */
static int64_t compute_major(const rocprof_builder *b)
{
    uint32_t agent = b->use_count ? b->uses[b->device].agent : GT_MAP_NONE;
    uint64_t version = agent == GT_MAP_NONE ? 0 : agent_number(b, GT_AGENT_VERSION, agent);
    return version ? (int64_t)(version / 10000) : -1;
}

static bool is_busier(const rocprof_builder *b, const gt_busy_sum *busy, uint32_t device, uint32_t than)
{
    if (busy[device].sum != busy[than].sum) return busy[device].sum > busy[than].sum;
    return b->uses[device].node < b->uses[than].node;
}

static void find_busiest(rocprof_builder *b, const dispatch_columns *d)
{
    for (uint32_t i = 0; i < b->use_count; i++) b->plain.device_count += b->uses[i].count != 0;
    if (b->use_count < 2) return;
    gt_busy_sum *busy = gt_alloc_zero(b->use_count, sizeof *busy);
    b->measures = true;
    for (size_t i = 0; i < d->count; i++) add_use(b, d->devices[i], d->start[i], d->end[i]);
    visit_graphs(b, false);
    visit_copies(b, false);
    gt_device_spans_measure(&b->spans, busy);
    for (uint32_t i = 1; i < b->use_count; i++)
        if (is_busier(b, busy, i, b->device)) b->device = i;
    gt_free(busy);
}

/* ---- names of streams ---- */

static const char *const copy_streams[GT_COPY_DIRECTIONS] = {[GT_COPY_UNKNOWN] = "copies",
                                                             [GT_COPY_HOST_TO_HOST] = "copies on the host",
                                                             [GT_COPY_HOST_TO_DEVICE] = "copies to the GPU",
                                                             [GT_COPY_DEVICE_TO_HOST] = "copies to the host",
                                                             [GT_COPY_DEVICE_TO_DEVICE] =
                                                                 "copies on the GPU"};

/* "GPU 4", or "GPU" if its number is unknown. */
static uint32_t name_gpu(const rocprof_builder *b, uint32_t device, int64_t *number)
{
    char text[32] = "GPU";
    *number = device < b->use_count && b->uses[device].node >= 0 ? b->uses[device].node : -1;
    if (*number >= 0) snprintf(text, sizeof text, "GPU %" PRId64, *number);
    return gt_interner_add_cstr(b->run->strings, text);
}

static gt_stream_names name_stream(const void *context, const gt_plain_op *op)
{
    const rocprof_builder *b = context;
    gt_stream_names names = {0};
    char stream[96];
    int length;
    names.device = name_gpu(b, op->device, &names.device_number);
    if (op->stream & copy_engine) {
        uint64_t direction = op->stream & ~copy_engine;
        bool is_named = direction < GT_LENGTH(copy_streams) && copy_streams[direction];
        length = snprintf(stream, sizeof stream, "%s", copy_streams[is_named ? direction : GT_COPY_UNKNOWN]);
    } else {
        length = snprintf(stream, sizeof stream, "%s %" PRId64, b->has_streams ? "stream" : "queue",
                          (int64_t)op->stream);
    }
    if (b->several_processes)
        snprintf(stream + length, sizeof stream - (size_t)length, " of process %" PRIu64, op->process);
    names.stream = gt_interner_add_cstr(b->run->strings, stream);
    return names;
}

gt_schedule *gt_schedule_of_rocprof(gt_rocprof *run, bool to_show)
{
    rocprof_builder b = {.run = run, .agents = gt_agent_list_new(run), .to_show = to_show};
    b.plain.strings = run->strings;
    if (to_show) b.plain.name_stream = name_stream;
    b.plain.context = &b;
    bool is_nsys = run->recorder == GT_RECORDER_NSYS;
    b.plain.origin = is_nsys ? GT_BY_NSYS : GT_BY_ROCPROF;
    b.has_streams = is_nsys; /* it records no queues, and stream 0 is one as good as any */
    dispatch_columns dispatches = read_dispatches(&b);
    visit_graphs(&b, false);
    visit_copies(&b, false);
    find_busiest(&b, &dispatches);
    add_dispatches(&b, &dispatches);
    free_dispatches(&dispatches);
    visit_graphs(&b, true);
    visit_copies(&b, true);
    add_calls(&b);
    if (gt_plain_serves(&b.plain)) add_blocks(&b);
    int64_t number;
    bool is_deduced = false;
    uint32_t name = device_name(&b, &is_deduced);
    b.plain.device = (gt_device_facts){.name = name,
                                       .is_deduced = is_deduced,
                                       .place = name_gpu(&b, b.device, &number),
                                       .compute_major = is_nsys ? compute_major(&b) : -1,
                                       .is_amd = !is_nsys};
    gt_schedule *schedule = gt_schedule_of_plain(&b.plain);
    if (schedule) schedule->unnamed_calls = b.unnamed_calls;
    gt_plain_free(&b.plain);
    gt_agent_list_free(&b.agents);
    gt_map_free(&b.gpus);
    gt_map_free(&b.places);
    gt_map_free(&b.processes);
    gt_map_free(&b.other_launches);
    gt_free(b.uses);
    return schedule;
}
