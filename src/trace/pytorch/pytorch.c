/* Traces as they are read: the columns that every analysis uses become arrays, and metadata events name
 * processes and threads. Also the ownership of all stages, and questions that need only events. */
#include "trace/pytorch/state.h"

struct gt_tracks {
    gt_map names; /* from (process, thread) to an index in items */
    gt_track_names *items;
    size_t count, capacity;
    uint32_t unknown;
};

/* What a range of rows tells about the trace. */
typedef struct range_facts {
    gt_account account;
    bool has_cpu_op;
    gt_row_list metadata;
} range_facts;

typedef struct row_check {
    gt_pytorch_state *trace;
    range_facts *ranges;
} row_check;

/* Events of the host and of GPUs must have a time. Those that are left out get a kind that no analysis uses.
 */
static void check_range(void *context, size_t begin, size_t end)
{
    row_check *c = context;
    range_facts facts = {0};
    uint8_t *kinds = c->trace->kind;
    for (size_t row = begin; row < end; row++) {
        gt_fault why = gt_state_judge(c->trace, row);
        if (why) gt_state_leave_out(c->trace, &facts.account, why, row);
        if (kinds[row] == GT_KIND_CPU_OP) facts.has_cpu_op = true;
        if (kinds[row] == GT_KIND_METADATA)
            GT_PUSH(facts.metadata.items, facts.metadata.count, facts.metadata.capacity, (uint32_t)row);
    }
    c->ranges[begin / GT_ROWS_GRAIN] = facts;
}

static gt_track_names *track_of(struct gt_tracks *tracks, uint32_t process, uint32_t thread)
{
    uint32_t *at = gt_map_put(&tracks->names, process, thread);
    if (*at == GT_MAP_NONE) {
        gt_track_names unknown = {tracks->unknown, tracks->unknown, tracks->unknown};
        *at = (uint32_t)tracks->count;
        GT_PUSH(tracks->items, tracks->count, tracks->capacity, unknown);
    }
    return &tracks->items[*at];
}

/* If several metadata events name the same thread, the last one wins. */
static void read_track(gt_pytorch_state *trace, uint32_t row)
{
    const char *what = gt_state_name(trace, row).bytes;
    uint32_t name = gt_store_string_id(trace->store, GT_EVENT_META_NAME, row);
    uint32_t label = gt_store_string_id(trace->store, GT_EVENT_META_LABELS, row);
    gt_lane_ids ids = gt_lane_ids_of(&trace->lanes, row);
    gt_track_names *track = track_of(trace->tracks, ids.process, ids.thread);
    if (strcmp(what, "process_name") == 0 && name) track->process_name = name;
    if (strcmp(what, "process_labels") == 0 && label) track->process_label = label;
    if (strcmp(what, "thread_name") == 0 && name) track->thread_name = name;
}

/* One look at all rows: whether they have times, whether there are cpu_ops, and the metadata events. */
static void check_rows(gt_pytorch_state *trace)
{
    size_t range_count = gt_range_count(trace->count, GT_ROWS_GRAIN);
    row_check check = {trace, gt_alloc(range_count * sizeof *check.ranges)};
    gt_parallel_ranges(trace->count, GT_ROWS_GRAIN, check_range, &check);
    trace->gpu_only = true;
    trace->tracks = gt_alloc_zero(1, sizeof *trace->tracks);
    trace->tracks->unknown = gt_interner_add_cstr(trace->strings, "Unknown");
    for (size_t i = 0; i < range_count; i++) {
        range_facts *facts = &check.ranges[i];
        gt_account_add_left(&trace->facts.account, &facts->account);
        if (facts->has_cpu_op) trace->gpu_only = false;
        for (size_t k = 0; k < facts->metadata.count; k++) read_track(trace, facts->metadata.items[k]);
        gt_free(facts->metadata.items);
    }
    gt_free(check.ranges);
}

/* ---- stages ---- */

/* Columns of the store that all readers take from the arrays. */
static const uint8_t unpacked_columns[] = {GT_EVENT_KIND,     GT_EVENT_NAME,      GT_EVENT_PROCESS,
                                           GT_EVENT_THREAD,   GT_EVENT_START,     GT_EVENT_DURATION,
                                           GT_EVENT_INTEGRAL, GT_EVENT_META_NAME, GT_EVENT_META_LABELS};

static void drop_unpacked_columns(gt_store *store)
{
    uint64_t columns = 0;
    for (size_t i = 0; i < GT_LENGTH(unpacked_columns); i++) columns |= UINT64_C(1) << unpacked_columns[i];
    gt_store_drop_columns(store, columns);
}

gt_pytorch_stores gt_pytorch_stores_new(bool with_frames, bool with_memory)
{
    gt_interner *strings = gt_interner_new();
    return (gt_pytorch_stores){
        .strings = strings,
        .events = gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, strings),
        .flow_events = gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, strings),
        .frames = with_frames ? gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, strings) : NULL,
        .memory = with_memory ? gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, strings) : NULL,
    };
}

void gt_pytorch_stores_free(gt_pytorch_stores *stores)
{
    gt_store_free(stores->events);
    gt_store_free(stores->flow_events);
    gt_store_free(stores->frames);
    gt_store_free(stores->memory);
    gt_interner_free(stores->strings);
    gt_free(stores->facts.devices);
    *stores = (gt_pytorch_stores){0};
}

bool gt_frames_read(const gt_store *frames, size_t first, unsigned columns, gt_frame_block *block)
{
    size_t count = frames ? gt_store_count(frames) : 0;
    if (first >= count) return false;
    size_t left = count - first, end = left < GT_FRAMES_PER_BLOCK ? count : first + GT_FRAMES_PER_BLOCK;
    block->count = end - first;
    if (columns & GT_FRAMES_NAME) gt_store_read_string_ids(frames, GT_EVENT_NAME, first, end, block->name);
    if (columns & GT_FRAMES_THREAD) {
        gt_store_read_string_ids(frames, GT_EVENT_PROCESS, first, end, block->process);
        gt_store_read_string_ids(frames, GT_EVENT_THREAD, first, end, block->thread);
    }
    if (columns & GT_FRAMES_START) gt_store_read_times(frames, GT_EVENT_START, first, end, block->start_us);
    if (columns & GT_FRAMES_DURATION)
        gt_store_read_times(frames, GT_EVENT_DURATION, first, end, block->dur_us);
    if (columns & GT_FRAMES_UID) gt_store_read_row_order(frames, first, end, block->uid);
    return true;
}

/* No memory has more bytes, and doubles hold all numbers up to here. */
static const int64_t MEMORY_MAX = INT64_C(1) << 53;

static bool is_memory_event(const gt_memory_events *e, size_t row, int64_t type)
{
    return isfinite(e->start_us[row]) && type > 0 && e->device[row] >= 0 && e->device[row] <= INT32_MAX &&
           e->allocated[row] >= 0 && e->allocated[row] <= MEMORY_MAX && e->reserved[row] >= 0 &&
           e->reserved[row] <= MEMORY_MAX;
}

gt_memory_events gt_memory_events_unpack(const gt_store *store, const gt_interner *strings)
{
    static const char name[] = "[memory]";
    if (!store) return (gt_memory_events){0};
    uint32_t wanted = gt_interner_find(strings, name, strlen(name));
    if (wanted == GT_STR_NONE) return (gt_memory_events){0};
    size_t rows = gt_store_count(store);
    uint32_t *names = gt_store_string_ids(store, GT_EVENT_NAME);
    int64_t *types = gt_store_ints(store, GT_EVENT_MEMORY_TYPE);
    gt_memory_events e = {.start_us = gt_store_times(store, GT_EVENT_START),
                          .process = gt_store_string_ids(store, GT_EVENT_PROCESS),
                          .device = gt_store_ints(store, GT_EVENT_MEMORY_ID),
                          .allocated = gt_store_ints(store, GT_EVENT_ALLOCATED),
                          .reserved = gt_store_ints(store, GT_EVENT_RESERVED)};
    for (size_t row = 0; row < rows; row++) {
        if (names[row] != wanted || !is_memory_event(&e, row, types[row])) continue;
        e.start_us[e.count] = e.start_us[row];
        e.process[e.count] = e.process[row];
        e.device[e.count] = e.device[row];
        e.allocated[e.count] = e.allocated[row];
        e.reserved[e.count++] = e.reserved[row];
    }
    gt_free_all(names, types);
    return e;
}

void gt_memory_events_free(gt_memory_events *e)
{
    gt_free_all(e->start_us, e->process, e->device, e->allocated, e->reserved);
    *e = (gt_memory_events){0};
}

/* The columns are unpacked by all threads, but clearing their memory keeps few of them busy. */
static void unpack_column(void *context, size_t index)
{
    gt_pytorch_state *state = context;
    const gt_store *store = state->store;
    switch (index) {
    case 0:
        state->kind = gt_store_small_ints(store, GT_EVENT_KIND);
        break;
    case 1:
        state->integral = gt_store_small_ints(store, GT_EVENT_INTEGRAL);
        break;
    case 2:
        state->name = gt_store_string_ids(store, GT_EVENT_NAME);
        break;
    case 3:
        state->start_us = gt_store_times(store, GT_EVENT_START);
        break;
    case 4:
        state->dur_us = gt_store_times(store, GT_EVENT_DURATION);
        break;
    default:
        state->lanes = gt_event_lanes_read(store);
        break;
    }
}
enum { UNPACKED_COLUMNS = 6 };

gt_pytorch_read *gt_pytorch_new(const gt_pytorch_stores *stores, bool has_python)
{
    gt_pytorch_state *state = gt_alloc_zero(1, sizeof *state);
    gt_store *store = stores->events;
    state->strings = stores->strings;
    state->store = store;
    state->flow_events = stores->flow_events;
    state->frames = stores->frames;
    state->memory = stores->memory;
    state->facts = stores->facts;
    state->count = state->recorded = gt_store_count(store);
    state->uid_count = gt_store_records(store);
    state->has_python = has_python;
    gt_parallel_each(UNPACKED_COLUMNS, unpack_column, state);
    check_rows(state);
    gt_state_finish_account(state);
    drop_unpacked_columns(store);
    gt_state_publish(state);
    gt_pytorch_read *read = gt_alloc(sizeof *read);
    read->state = state;
    return read;
}

gt_store *gt_pytorch_read_take_frames(gt_pytorch_read *read)
{
    gt_store *frames = read->state->frames;
    read->state->frames = NULL;
    gt_state_publish(read->state);
    return frames;
}

void gt_state_publish(gt_pytorch_state *state)
{
    state->view = (gt_linked_view){
        .events =
            {
                .strings = state->strings,
                .store = state->store,
                .tracks = state->tracks,
                .communication = state->communication,
                .count = state->count,
                .recorded = state->recorded,
                .uid_count = state->uid_count,
                .has_python = state->has_python,
                .gpu_only = state->gpu_only,
                .kind = state->kind,
                .name = state->name,
                .start_us = state->start_us,
                .dur_us = state->dur_us,
                .integral = state->integral,
                .lanes = &state->lanes,
                .extra = state->extra,
                .frames = state->frames,
                .memory = state->memory,
                .facts = &state->facts,
            },
        .parent = state->parent,
        .preorder = state->preorder,
        .subtree_end = state->subtree_end,
        .numbered = state->numbered,
        .ops_above = state->ops_above,
        .recompute = state->recompute,
        .grafted = state->grafted,
        .link_runtime = state->link_runtime,
        .link_gpu = state->link_gpu,
        .link_count = state->link_count,
        .late_roots = state->late_roots,
        .late_root_count = state->late_root_count,
        .graph_first = state->graph_first,
        .graph_count = state->graph_count,
        .graph_sources = state->graph_sources,
    };
}

void gt_pytorch_read_use_communication(gt_pytorch_read *read, const gt_comm_kernels *comm)
{
    read->state->communication = comm;
    gt_state_publish(read->state);
}

void gt_pytorch_use_communication(gt_pytorch_linked *trace, const gt_comm_kernels *comm)
{
    trace->state->communication = comm;
    gt_state_publish(trace->state);
}

static void state_free(gt_pytorch_state *state)
{
    gt_free_all(state->kind, state->name, state->start_us, state->dur_us, state->integral, state->parent,
                state->preorder, state->subtree_end, state->recompute, state->grafted, state->link_runtime,
                state->link_gpu, state->extra, state->late_roots, state->graph_sources);
    gt_event_lanes_free(&state->lanes);
    gt_store_free(state->frames);
    gt_store_free(state->memory);
    gt_free(state->facts.devices);
    gt_ancestors_free(&state->ops_above);
    gt_map_free(&state->owners);
    gt_map_free(&state->tracks->names);
    gt_free_all(state->tracks->items, state->tracks);
    gt_store_free(state->store);
    gt_store_free(state->flow_events);
    gt_interner_free(state->strings);
    gt_free(state);
}

void gt_pytorch_read_free(gt_pytorch_read *read)
{
    if (!read) return;
    state_free(read->state);
    gt_free(read);
}

void gt_pytorch_tree_free(gt_pytorch_tree *tree)
{
    if (!tree) return;
    state_free(tree->state);
    gt_free(tree);
}

void gt_pytorch_linked_free(gt_pytorch_linked *trace)
{
    if (!trace) return;
    state_free(trace->state);
    gt_free(trace);
}

const gt_event_view *gt_pytorch_read_view(const gt_pytorch_read *read)
{
    return &read->state->view.events;
}

const gt_linked_view *gt_pytorch_view(const gt_pytorch_linked *trace)
{
    return &trace->state->view;
}

/* ---- questions about one event ---- */

static void fill_none(void *rows, size_t begin, size_t end)
{
    memset((uint32_t *)rows + begin, 0xFF, (end - begin) * sizeof(uint32_t));
}

/* On all threads, because the memory is touched here for the first time. */
uint32_t *gt_no_events(size_t count)
{
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    gt_parallel_ranges(count, GT_ROWS_GRAIN, fill_none, rows);
    return rows;
}

gt_str gt_event_name(const gt_event_view *events, uint32_t row)
{
    return gt_interner_get(events->strings, events->name[row]);
}

/* "ProfilerStep #12" is one, too. */
bool gt_is_profiler_step(gt_str name)
{
    if (!gt_str_starts_with(name, "ProfilerStep")) return false;
    size_t at = strlen("ProfilerStep");
    while (at < name.len && name.bytes[at] == ' ') at++;
    if (at == name.len || name.bytes[at++] != '#') return false;
    while (at < name.len && name.bytes[at] == ' ') at++;
    return at < name.len && gt_is_digit(name.bytes[at]);
}

gt_track_names gt_event_track(const gt_event_view *events, uint32_t row)
{
    const struct gt_tracks *tracks = events->tracks;
    uint32_t zero = gt_interner_find(events->strings, "0", 1);
    gt_track_names track = {tracks->unknown, tracks->unknown, tracks->unknown};
    gt_lane_ids ids = gt_lane_ids_of(events->lanes, row);
    uint32_t at = gt_map_get(&tracks->names, ids.process, zero);
    if (at != GT_MAP_NONE) {
        track.process_name = tracks->items[at].process_name;
        track.process_label = tracks->items[at].process_label;
    }
    at = gt_map_get(&tracks->names, ids.process, ids.thread);
    if (at != GT_MAP_NONE) track.thread_name = tracks->items[at].thread_name;
    return track;
}

/* ---- questions about many events ---- */

uint8_t *gt_name_set_with_prefix(const gt_interner *strings, const char *prefix)
{
    uint8_t *found = NULL;
    size_t len = strlen(prefix);
    uint32_t count = gt_interner_count(strings);
    for (uint32_t id = GT_STR_EMPTY; id < count; id++) {
        gt_str text = gt_interner_get(strings, id);
        if (text.len < len || memcmp(text.bytes, prefix, len) != 0) continue;
        if (!found) found = gt_alloc_zero(count, 1);
        found[id] = 1;
    }
    return found;
}

gt_busy gt_busy_time(const gt_event_view *events, const uint32_t *rows, size_t count, gt_intervals *spare)
{
    const uint8_t both = GT_INTEGRAL_START | GT_INTEGRAL_DURATION;
    uint8_t written = both;
    spare->count = 0;
    for (size_t i = 0; i < count; i++) {
        gt_intervals_add(spare, events->start_us[rows[i]], gt_event_end_us(events, rows[i]));
        written &= events->integral[rows[i]];
    }
    if (count > 1) gt_intervals_merge(spare);
    return (gt_busy){gt_intervals_length(spare), written == both};
}

/* Annotations in order of their starts. latest_end_us never decreases, so the first annotation that ends
 * after an event is found by binary search; if that one starts too late, so do all that follow. */
typedef struct annotations {
    uint32_t *rows;
    double *latest_end_us; /* of this annotation and all before it */
    size_t count, capacity;
} annotations;

static annotations list_annotations(const gt_event_view *trace, bool (*is_wanted)(gt_str name))
{
    annotations a = {0};
    for (uint32_t row = 0; row < trace->count; row++)
        if (gt_kind_is_annotation(trace->kind[row]) && isfinite(gt_event_end_us(trace, row)) &&
            (!is_wanted || is_wanted(gt_event_name(trace, row))))
            GT_PUSH(a.rows, a.count, a.capacity, row);
    gt_order_rows(a.rows, a.count, trace->start_us);
    a.latest_end_us = gt_alloc(a.count * sizeof *a.latest_end_us);
    for (size_t i = 0; i < a.count; i++) {
        double end_us = gt_event_end_us(trace, a.rows[i]);
        a.latest_end_us[i] = i && a.latest_end_us[i - 1] > end_us ? a.latest_end_us[i - 1] : end_us;
    }
    return a;
}

static void annotations_free(annotations *a)
{
    gt_free_all(a->rows, a->latest_end_us);
}

static uint32_t annotation_of(const gt_event_view *trace, const annotations *a, uint32_t row, uint32_t none)
{
    size_t low = 0, high = a->count;
    double end_us = gt_event_end_us(trace, row);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->latest_end_us[middle] <= end_us)
            low = middle + 1;
        else
            high = middle;
    }
    bool around = low < a->count && trace->start_us[a->rows[low]] <= trace->start_us[row];
    return around ? trace->name[a->rows[low]] : none;
}

static uint8_t *name_set_with_prefixes(const gt_interner *strings, const char *const *prefixes, size_t count)
{
    uint8_t *all = NULL;
    for (size_t i = 0; i < count; i++) {
        uint8_t *more = gt_name_set_with_prefix(strings, prefixes[i]);
        for (uint32_t id = 0; all && more && id < gt_interner_count(strings); id++) all[id] |= more[id];
        if (all)
            gt_free(more);
        else
            all = more;
    }
    return all;
}

uint32_t *gt_events_find_annotations(const gt_event_view *trace, const char *const *prefixes, size_t count,
                                     bool (*is_preferred)(gt_str name))
{
    uint8_t *wanted = name_set_with_prefixes(trace->strings, prefixes, count);
    if (!wanted) return NULL;
    uint32_t *found = gt_alloc_zero(trace->count, sizeof *found);
    uint32_t none = gt_interner_add_cstr(trace->strings, "NA");
    annotations all = list_annotations(trace, NULL), preferred = {0};
    if (is_preferred) preferred = list_annotations(trace, is_preferred);
    for (uint32_t row = 0; row < trace->count; row++) {
        if (!wanted[trace->name[row]]) continue;
        found[row] = annotation_of(trace, &preferred, row, GT_STR_NONE);
        if (found[row] == GT_STR_NONE) found[row] = annotation_of(trace, &all, row, none);
    }
    gt_free(wanted);
    annotations_free(&all);
    annotations_free(&preferred);
    return found;
}
