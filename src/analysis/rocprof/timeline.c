/* Sheet gpu_timeline: was the GPU busy, and with what? And gpu_timeline_by_device: the same per GPU.
 *
 *     total_time  fini_time - init_time of the process, the whole capture; of gputally report and the like
 * the window of GPU work, from the first start to the last end of a kernel or copy kernel      time in which
 * at least one kernel, or a whole CUDA graph, ran, on any GPU and stream memory      time in which at least
 * one memory copy ran busy_time   time in which at least one kernel or copy ran idle        total_time -
 * busy_time, at least 0
 *
 * time ms = nanoseconds / 1,000,000; percent = time / total_time * 100.0, or 0 if total_time is not above 0.
 *
 * All sums are integers of nanoseconds: timestamps are about 2^60 if the clock counts from 1970, so that a
 * double of microseconds would be a multiple of 0.25. */
#include "analysis/rocprof/sheets.h"

#include "analysis/rocprof/agents.h"
#include "analysis/rocprof/spans.h"
#include "analysis/sheet_parts.h"
#include "schema/columns.h"

enum { DEVICES_MAX = 1 << 16 }; /* a run with more is damaged */

/* Adds the spans of `more` after those of `spans`. */
static void append_spans(gt_spans *spans, const gt_spans *more)
{
    size_t count = spans->count + more->count;
    gt_spans all = {gt_alloc((count + 1) * sizeof *all.starts), gt_alloc((count + 1) * sizeof *all.ends),
                    count};
    const gt_spans *const parts[] = {spans, more};
    size_t at = 0;
    for (size_t i = 0; i < GT_LENGTH(parts); i++) {
        if (!parts[i]->count) continue;
        memcpy(all.starts + at, parts[i]->starts, parts[i]->count * sizeof *all.starts);
        memcpy(all.ends + at, parts[i]->ends, parts[i]->count * sizeof *all.ends);
        at += parts[i]->count;
    }
    gt_spans_free(spans);
    *spans = all;
}

/* ---- sheets ---- */

static gt_table *make_timeline(gt_interner *strings, const gt_activity *of, gt_wide_ns total)
{
    gt_table *timeline = gt_gpu_timeline_new(strings);
    const struct {
        const char *type;
        gt_wide_ns ns;
    } parts[] = {
        {"kernel", of->kernel_ns},
        {"memory", of->copy_ns},
        {"busy_time", of->busy_ns},
        {"idle", total > of->busy_ns ? total - of->busy_ns : 0},
    };
    gt_gpu_timeline_add_ns(timeline, "total_time", (double)total, 100.0);
    for (size_t i = 0; i < GT_LENGTH(parts); i++) {
        double ns = (double)parts[i].ns;
        gt_gpu_timeline_add_ns(timeline, parts[i].type, ns, total > 0 ? ns / (double)total * 100.0 : 0.0);
    }
    return timeline;
}

/* ---- the time of each host ----
 *
 * rocprofv3 records the time since the start of the machine, so times of different hosts cannot be compared.
 */

/* From the first start to the last end of a host's processes; if not all of them have these times, of their
 * kernels and copies. */
typedef struct host_time {
    uint32_t host;
    bool is_recorded; /* all its processes have times */
    int64_t first, last;
} host_time;

typedef struct host_times {
    host_time *items;
    size_t count, capacity;
    gt_map places; /* host to item */
} host_times;

static host_time *time_of_host(host_times *times, uint32_t host)
{
    uint32_t *place = gt_map_put(&times->places, host, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)times->count;
        GT_PUSH(times->items, times->count, times->capacity, ((host_time){host, true, INT64_MAX, INT64_MIN}));
    }
    return &times->items[*place];
}

static void extend_time(host_time *time, int64_t start, int64_t end)
{
    time->first = start < time->first ? start : time->first;
    time->last = end > time->last ? end : time->last;
}

static void extend_by_events(host_times *times, const gt_rocprof *run, const gt_store *events,
                             const size_t columns[3])
{
    gt_spans all = gt_spans_of(events, columns[0], columns[1]);
    int64_t *processes = gt_store_ints(events, columns[2]);
    for (size_t i = 0; i < all.count; i++) {
        host_time *time = time_of_host(times, gt_rocprof_host_of(run, processes[i]));
        if (!time->is_recorded) extend_time(time, all.starts[i], all.ends[i]);
    }
    gt_free(processes);
    gt_spans_free(&all);
}

/* No items if the run has only one host, or does not say which process a kernel belongs to. */
static host_times find_host_times(const gt_rocprof *run)
{
    host_times times = {0};
    bool all_recorded = true, has_process = gt_dispatch_width(run->wanted) > GT_DISPATCH_PROCESS;
    for (size_t i = 0; i < run->process_count; i++) {
        const gt_rocprof_process *process = &run->process[i];
        host_time *time = time_of_host(&times, process->hostname);
        time->is_recorded = time->is_recorded && process->fini_ns > process->init_ns;
        all_recorded = all_recorded && time->is_recorded;
    }
    if (times.count < 2 || (!all_recorded && !has_process)) {
        times.count = 0;
        return times;
    }
    for (size_t i = 0; i < run->process_count; i++) {
        host_time *time = time_of_host(&times, run->process[i].hostname);
        if (time->is_recorded) extend_time(time, run->process[i].init_ns, run->process[i].fini_ns);
    }
    if (!all_recorded) {
        extend_by_events(&times, run, run->dispatches,
                         (const size_t[]){GT_DISPATCH_START, GT_DISPATCH_END, GT_DISPATCH_PROCESS});
        if (run->wanted & GT_WANT_COPY_DETAILS)
            extend_by_events(&times, run, run->copies,
                             (const size_t[]){GT_COPY_START, GT_COPY_END, GT_COPY_PROCESS});
    }
    return times;
}

static void free_host_times(host_times *times)
{
    gt_free(times->items);
    gt_map_free(&times->places);
}

/* The time of a device on this host: that of the run if there is only one host. */
static gt_wide_ns total_of_host(const host_times *times, const gt_rocprof *run, uint32_t host)
{
    uint32_t place = times->count ? gt_map_get(&times->places, host, 0) : GT_MAP_NONE;
    const host_time *time = place == GT_MAP_NONE ? NULL : &times->items[place];
    if (!time || time->first > time->last) return (gt_wide_ns)run->fini_ns - run->init_ns;
    return (gt_wide_ns)time->last - time->first;
}

/* Whether there is a timeline: rocprofv3's begins with the first kernel. */
static bool has_timeline(const gt_rocprof *run)
{
    bool is_nsys = run->recorder == GT_RECORDER_NSYS;
    return gt_store_count(run->dispatches) || (is_nsys && (run->graphs || gt_store_count(run->copies)));
}

/* Hosts of one run work at the same time, so times that do not overlap are those of different clocks. */
void gt_rocprof_warn_of_clocks(const gt_rocprof *run)
{
    host_times times = {0};
    if (has_timeline(run)) times = find_host_times(run);
    int64_t latest_start = INT64_MIN, earliest_end = INT64_MAX;
    for (size_t i = 0; i < times.count; i++) {
        const host_time *time = &times.items[i];
        if (time->first > time->last) continue;
        latest_start = time->first > latest_start ? time->first : latest_start;
        earliest_end = time->last < earliest_end ? time->last : earliest_end;
    }
    if (latest_start > earliest_end)
        gt_warn("the times of the %zu hosts do not overlap: clocks of different hosts are not comparable, so "
                "total_time and idle in %s mean nothing",
                times.count, GT_SHEET_GPU_TIMELINE.name);
    free_host_times(&times);
}

/* Kernels, and the launches of graphs, which are kernels that were not recorded one by one. */
static gt_spans kernel_spans(const gt_rocprof *run)
{
    gt_spans kernels = gt_spans_of(run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END);
    if (!run->graphs) return kernels;
    gt_spans graphs = gt_spans_of(run->graphs, GT_GRAPH_START, GT_GRAPH_END);
    append_spans(&kernels, &graphs);
    gt_spans_free(&graphs);
    return kernels;
}

gt_table *gt_rocprof_gpu_timeline(const gt_rocprof *run, bool gpu_window)
{
    if (!has_timeline(run)) return gt_gpu_timeline_new(run->strings);
    gt_activity all = {0};
    if (run->graphs || gt_store_count(run->copies)) {
        all.kernels = kernel_spans(run);
        all.copies = gt_spans_of(run->copies, GT_COPY_START, GT_COPY_END);
        gt_activity_measure(&all);
    } else {
        all = gt_activity_of(run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END);
    }
    gt_wide_ns total = gpu_window ? all.window_ns : (gt_wide_ns)run->fini_ns - run->init_ns;
    gt_table *timeline = make_timeline(run->strings, &all, total);
    gt_spans_free(&all.kernels);
    gt_spans_free(&all.copies);
    return timeline;
}

/* ---- gpu_timeline_by_device ----
 *
 *     device    the GPU's Logical_Node_Id, as in agent_info
 *     hostname  only if the run has GPUs of several hosts
 *     Gpu_Id, Location_Id  as in agent_info; only if GPUs of a host have the same Logical_Node_Id
 *
 * and the columns of gpu_timeline. The whole capture is that of the host, or of the run if there is only one
 * host; the window of GPU work is that of the GPU. A copy belongs to the GPUs at its ends: one between two
 * GPUs counts for both.
 *
 * Records refer to agents by numbers that may differ between processes (JSON), so a GPU is identified by its
 * host, its node id and the ids that do not depend on the process (agents.h). If the run does not list its
 * agents, the number itself is the node id: it is in the formats without such a list. */

typedef struct device {
    uint32_t host;
    int64_t node;
    uint32_t row; /* of the run's agents; GT_MAP_NONE if they do not include it */
} device;

/* Copies or launches of graphs, each on one device. */
typedef struct uses {
    gt_spans spans;
    uint32_t *devices; /* of each */
    size_t capacity, ends_capacity, devices_capacity;
} uses;

typedef struct devices {
    const gt_rocprof *run;
    device *items;
    size_t count, capacity;
    gt_map gpus;   /* (host, number in gt_agent_list.gpus) to a number of its own */
    gt_map places; /* (that number, node) to device */
    gt_agent_list agents;
    uint32_t *of_kernels; /* the device of each dispatch */
    uses copies, graphs;
} devices;

static uint32_t device_of(devices *d, int64_t process, int64_t number)
{
    const gt_rocprof *run = d->run;
    const gt_agent_list *agents = &d->agents;
    uint32_t row = gt_agent_list_find(agents, process, number);
    bool has_node = row != GT_MAP_NONE && agents->nodes[row] != GT_AGENT_ABSENT;
    device found = {gt_rocprof_host_of(run, process), has_node ? agents->nodes[row] : number, row};
    if (row == GT_MAP_NONE && agents->count) /* another process of the host may list it */
        found.row = gt_map_get(&agents->firsts, found.host, (uint64_t)found.node);
    uint32_t gpu = found.row == GT_MAP_NONE ? 0 : agents->gpus[found.row];
    uint32_t *host_and_gpu = gt_map_put(&d->gpus, found.host, gpu);
    if (*host_and_gpu == GT_MAP_NONE) *host_and_gpu = (uint32_t)d->gpus.count;
    uint32_t *place = gt_map_put(&d->places, *host_and_gpu, (uint64_t)found.node);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)d->count;
        GT_PUSH(d->items, d->count, d->capacity, found);
    }
    return *place;
}

static void add_use(uses *list, int64_t start, int64_t end, uint32_t number)
{
    size_t ends = list->spans.count, numbers = list->spans.count;
    GT_PUSH(list->spans.ends, ends, list->ends_capacity, end);
    GT_PUSH(list->devices, numbers, list->devices_capacity, number);
    GT_PUSH(list->spans.starts, list->spans.count, list->capacity, start);
}

/* Finds the device of each dispatch. Devices are numbered in the order in which they appear. */
static void add_kernels(devices *d)
{
    const gt_store *dispatches = d->run->dispatches;
    size_t count = gt_store_count(dispatches);
    bool has_process = gt_dispatch_width(d->run->wanted) > GT_DISPATCH_PROCESS;
    int64_t *agents = gt_store_ints(dispatches, GT_DISPATCH_AGENT);
    int64_t *processes = has_process ? gt_store_ints(dispatches, GT_DISPATCH_PROCESS) : NULL;
    gt_map known = {0}; /* (process, agent) to device */
    d->of_kernels = gt_alloc(count * sizeof *d->of_kernels);
    for (size_t i = 0; i < count; i++) {
        int64_t process = processes ? processes[i] : 0;
        uint32_t *place = gt_map_put(&known, (uint64_t)process, (uint64_t)agents[i]);
        if (*place == GT_MAP_NONE) *place = device_of(d, process, agents[i]);
        d->of_kernels[i] = *place;
    }
    gt_map_free(&known);
    gt_free_all(agents, processes);
}

/* Whether an end of a copy is a GPU: by the type of the agent, or else by the direction of the copy. */
static bool is_gpu(const devices *d, int64_t process, int64_t agent, bool by_direction)
{
    if (agent < 0) return false;
    uint32_t row = gt_agent_list_find(&d->agents, process, agent);
    gt_str type = gt_interner_get(d->run->strings, row == GT_MAP_NONE ? GT_STR_NONE : d->agents.types[row]);
    if (gt_str_equals(type, "GPU")) return true;
    return by_direction && !gt_str_equals(type, "CPU");
}

static void add_copy(devices *d, const gt_store_cell *cells)
{
    int64_t process = cells[GT_COPY_PROCESS].integer, direction = cells[GT_COPY_DIRECTION].integer;
    int64_t start = cells[GT_COPY_START].integer, end = cells[GT_COPY_END].integer;
    int64_t from = cells[GT_COPY_SOURCE].integer, to = cells[GT_COPY_DESTINATION].integer;
    bool to_gpu = gt_copy_is_to_gpu(direction), from_gpu = gt_copy_is_from_gpu(direction);
    uint32_t first = GT_MAP_NONE;
    if (is_gpu(d, process, from, from_gpu)) {
        first = device_of(d, process, from);
        add_use(&d->copies, start, end, first);
    }
    if (is_gpu(d, process, to, to_gpu)) {
        uint32_t second = device_of(d, process, to);
        if (second != first) add_use(&d->copies, start, end, second);
    }
}

static void add_copies(devices *d)
{
    if (!(d->run->wanted & GT_WANT_COPY_DETAILS)) return;
    gt_store_cell cells[GT_COPY_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(d->run->copies);
    while (gt_store_scan_next(scan, cells)) add_copy(d, cells);
    gt_store_scan_free(scan);
}

static void add_graphs(devices *d)
{
    if (!d->run->graphs) return;
    gt_store_cell cells[GT_GRAPH_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(d->run->graphs);
    while (gt_store_scan_next(scan, cells))
        add_use(&d->graphs, cells[GT_GRAPH_START].integer, cells[GT_GRAPH_END].integer,
                device_of(d, cells[GT_GRAPH_PROCESS].integer, cells[GT_GRAPH_AGENT].integer));
    gt_store_scan_free(scan);
}

/* The spans of all devices, those of device i from begins[i] to begins[i + 1], in the same order. */
static gt_spans group_spans(const gt_spans *all, const uint32_t *device_of_span, size_t device_count,
                            size_t **begins)
{
    gt_spans grouped = {gt_alloc((all->count + 1) * sizeof *grouped.starts),
                        gt_alloc((all->count + 1) * sizeof *grouped.ends), all->count};
    size_t *next = gt_alloc_zero(device_count + 2, sizeof *next);
    for (size_t i = 0; i < all->count; i++) next[device_of_span[i] + 2]++;
    for (size_t i = 1; i < device_count + 2; i++) next[i] += next[i - 1];
    for (size_t i = 0; i < all->count; i++) {
        size_t at = next[device_of_span[i] + 1]++;
        grouped.starts[at] = all->starts[i];
        grouped.ends[at] = all->ends[i];
    }
    *begins = next;
    return grouped;
}

static gt_spans part_of(const gt_spans *all, const size_t *begins, size_t number)
{
    return (gt_spans){all->starts + begins[number], all->ends + begins[number],
                      begins[number + 1] - begins[number]};
}

/* By host, in the order of the processes, and node. */
static uint32_t *sort_devices(const devices *d)
{
    int64_t *nodes = gt_alloc((d->count + 1) * sizeof *nodes),
            *hosts = gt_alloc((d->count + 1) * sizeof *hosts);
    gt_map first = {0};
    for (size_t i = 0; i < d->run->process_count; i++) {
        uint32_t *place = gt_map_put(&first, d->run->process[i].hostname, 0);
        if (*place == GT_MAP_NONE) *place = (uint32_t)i;
    }
    for (size_t i = 0; i < d->count; i++) {
        nodes[i] = d->items[i].node;
        hosts[i] = first.count ? (int64_t)gt_map_get(&first, d->items[i].host, 0) : 0;
    }
    uint32_t *order = gt_order_new(d->count);
    gt_order_by_ints(order, d->count, nodes, NULL, false);
    gt_order_by_ints(order, d->count, hosts, NULL, false);
    gt_map_free(&first);
    gt_free_all(nodes, hosts);
    return order;
}

static bool has_several_hosts(const devices *d)
{
    for (size_t i = 1; i < d->count; i++)
        if (d->items[i].host != d->items[0].host) return true;
    return false;
}

/* Whether host and node do not tell all devices apart. */
static bool has_equal_nodes(const devices *d)
{
    gt_map seen = {0};
    for (size_t i = 0; i < d->count; i++)
        *gt_map_put(&seen, d->items[i].host, (uint64_t)d->items[i].node) = 0;
    bool has = seen.count < d->count;
    gt_map_free(&seen);
    return has;
}

/* The columns that tell GPUs with the same node apart: Gpu_Id, and Location_Id after it. */
static size_t add_id_columns(gt_table *sheet, size_t at)
{
    gt_table_move_column(sheet, gt_table_add_column(sheet, GT_COL_AGENT_GPU_ID, GT_TYPE_INT), at);
    gt_table_move_column(sheet, gt_table_add_column(sheet, GT_COL_AGENT_LOCATION_ID, GT_TYPE_INT), at + 1);
    return at;
}

static void set_ids(const devices *d, const device *of, gt_table *sheet, size_t column, size_t row)
{
    if (of->row == GT_MAP_NONE) return;
    int64_t ids[] = {d->agents.gpu_ids[of->row], d->agents.locations[of->row]};
    for (size_t i = 0; i < GT_LENGTH(ids); i++)
        if (ids[i] != GT_AGENT_ABSENT) gt_table_set_int(sheet, column + i, row, ids[i]);
}

/* Adds the graph launches of each device to its kernels. */
static void join_graphs(const devices *d, gt_spans *kernels, size_t *begins)
{
    size_t *graph_begins, at = 0;
    if (!d->graphs.spans.count) return;
    gt_spans graphs = group_spans(&d->graphs.spans, d->graphs.devices, d->count, &graph_begins), all = {0};
    all.starts = gt_alloc((kernels->count + graphs.count) * sizeof *all.starts);
    all.ends = gt_alloc((kernels->count + graphs.count) * sizeof *all.ends);
    for (size_t i = 0; i < d->count; i++) {
        const gt_spans parts[] = {part_of(kernels, begins, i), part_of(&graphs, graph_begins, i)};
        begins[i] = at;
        for (size_t p = 0; p < GT_LENGTH(parts); p++)
            for (size_t s = 0; s < parts[p].count; s++, at++) {
                all.starts[at] = parts[p].starts[s];
                all.ends[at] = parts[p].ends[s];
            }
    }
    all.count = begins[d->count] = at;
    gt_spans_free(&graphs);
    gt_free(graph_begins);
    gt_spans_free(kernels);
    *kernels = all;
}

static gt_table *make_by_device(const devices *d, bool gpu_window)
{
    const gt_rocprof *run = d->run;
    size_t *kernel_begins, *copy_begins, hostname = 0, ids = 0;
    gt_spans dispatches = gt_spans_of(run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END);
    gt_spans kernels = group_spans(&dispatches, d->of_kernels, d->count, &kernel_begins);
    gt_spans copies = group_spans(&d->copies.spans, d->copies.devices, d->count, &copy_begins);
    gt_spans_free(&dispatches);
    join_graphs(d, &kernels, kernel_begins);
    gt_activity *of_devices = gt_alloc_zero(d->count, sizeof *of_devices);
    for (size_t i = 0; i < d->count; i++) {
        of_devices[i] = (gt_activity){.kernels = part_of(&kernels, kernel_begins, i),
                                      .copies = part_of(&copies, copy_begins, i)};
        gt_activity_measure(&of_devices[i]);
    }
    gt_table *sheet = gt_gpu_timeline_by_device_new(run->strings);
    if (has_several_hosts(d)) {
        hostname = 1;
        gt_table_move_column(sheet, gt_table_add_column(sheet, GT_COL_HOSTNAME, GT_TYPE_STRING), hostname);
    }
    if (has_equal_nodes(d)) ids = add_id_columns(sheet, hostname + 1);
    host_times times = find_host_times(run);
    uint32_t *order = sort_devices(d);
    for (size_t i = 0; i < d->count; i++) {
        const device *of = &d->items[order[i]];
        const gt_activity *activity = &of_devices[order[i]];
        gt_wide_ns total = gpu_window ? activity->window_ns : total_of_host(&times, run, of->host);
        gt_table *timeline = make_timeline(run->strings, activity, total);
        size_t row = gt_gpu_timeline_add_device(sheet, of->node, timeline);
        for (; row < sheet->row_count; row++) {
            if (hostname) gt_table_set_string(sheet, hostname, row, of->host);
            if (ids) set_ids(d, of, sheet, ids, row);
        }
        gt_table_free(timeline);
    }
    free_host_times(&times);
    gt_free_all(of_devices, order, kernel_begins, copy_begins);
    gt_spans_free(&kernels);
    gt_spans_free(&copies);
    return sheet;
}

/* The usual case, found without looking at each dispatch: they are all of one agent. */
static bool has_one_agent(const gt_rocprof *run)
{
    int64_t agent;
    bool has_copies = run->wanted & GT_WANT_COPY_DETAILS && gt_store_count(run->copies);
    bool has_process = gt_dispatch_width(run->wanted) > GT_DISPATCH_PROCESS;
    if (has_copies || has_process || run->graphs || !gt_store_count(run->dispatches)) return false;
    gt_store_read_ints(run->dispatches, GT_DISPATCH_AGENT, 0, 1, &agent);
    return gt_store_ints_between(run->dispatches, GT_DISPATCH_AGENT, agent, agent);
}

gt_table *gt_rocprof_gpu_timeline_by_device(const gt_rocprof *run, bool gpu_window)
{
    if (has_one_agent(run)) return NULL;
    devices d = {.run = run, .agents = gt_agent_list_new(run)};
    gt_table *sheet = NULL;
    if (has_timeline(run)) {
        add_kernels(&d);
        add_graphs(&d);
        add_copies(&d);
    }
    if (d.count > DEVICES_MAX)
        gt_warn("%s omitted: the run has %zu devices (limit: %d)", GT_SHEET_GPU_TIMELINE_BY_DEVICE.name,
                d.count, DEVICES_MAX);
    else if (d.count > 1)
        sheet = make_by_device(&d, gpu_window);
    gt_map_free(&d.gpus);
    gt_map_free(&d.places);
    gt_agent_list_free(&d.agents);
    gt_free_all(d.items, d.of_kernels);
    gt_spans_free(&d.copies.spans);
    gt_spans_free(&d.graphs.spans);
    gt_free_all(d.copies.devices, d.graphs.devices);
    return sheet;
}
