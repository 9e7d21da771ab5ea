/* Collects events, then sorts them by start and, for equal starts, longest first, so that a slice comes after
 * the slices around it. See timeline.h. */
#include "output/trace/timeline_format.h"

#include "base/progress.h"

/* ---- lanes ----
 *
 * A slice gets the first lane where it fits. For nested slices, a few lanes are tried one after another, each
 * with a stack of its open slices. Slices that fit none of them go to lanes without nesting; the first free
 * one is found in a tree that stores the smallest end below each node. So no input makes this slow. */

enum { NESTED_LANES = 8 };

typedef struct gt_lane {
    int64_t *ends; /* ends of the open slices, outermost first */
    size_t count, capacity;
} gt_lane;

static bool fits_lane(gt_lane *lane, int64_t start, int64_t end)
{
    while (lane->count && lane->ends[lane->count - 1] <= start) lane->count--;
    return !lane->count || end <= lane->ends[lane->count - 1];
}

static size_t place_nested(gt_lanes *lanes, int64_t start, int64_t end)
{
    size_t at = 0;
    while (at < lanes->nested_count && !fits_lane(&lanes->nested[at], start, end)) at++;
    if (at == NESTED_LANES) return SIZE_MAX;
    if (at == lanes->nested_count)
        GT_PUSH(lanes->nested, lanes->nested_count, lanes->nested_capacity, (gt_lane){0});
    gt_lane *lane = &lanes->nested[at];
    GT_PUSH(lane->ends, lane->count, lane->capacity, end);
    return at;
}

/* Nodes 1 .. leaves - 1 are inner nodes; the children of node n are 2n and 2n + 1. The end of an unused lane
 * is INT64_MIN. */
static void set_end(gt_lanes *lanes, size_t lane, int64_t end)
{
    size_t node = lanes->leaves + lane;
    lanes->ends[node] = end;
    for (node /= 2; node; node /= 2) {
        int64_t left = lanes->ends[2 * node], right = lanes->ends[2 * node + 1];
        lanes->ends[node] = left < right ? left : right;
    }
}

static void add_leaves(gt_lanes *lanes)
{
    gt_lanes bigger = *lanes;
    bigger.leaves = lanes->leaves ? lanes->leaves * 2 : 4;
    bigger.ends = gt_alloc(2 * bigger.leaves * sizeof *bigger.ends);
    for (size_t i = 0; i < 2 * bigger.leaves; i++) bigger.ends[i] = INT64_MIN;
    for (size_t i = 0; i < lanes->count; i++) set_end(&bigger, i, lanes->ends[lanes->leaves + i]);
    gt_free(lanes->ends);
    *lanes = bigger;
}

static size_t place_flat(gt_lanes *lanes, int64_t start, int64_t end)
{
    if (!lanes->leaves || lanes->ends[1] > start) add_leaves(lanes);
    size_t node = 1;
    while (node < lanes->leaves) node = 2 * node + (lanes->ends[2 * node] > start);
    size_t lane = node - lanes->leaves;
    if (lane == lanes->count) lanes->count++;
    set_end(lanes, lane, end);
    return lane;
}

size_t gt_lanes_place(gt_lanes *lanes, int64_t start, int64_t end)
{
    size_t lane = lanes->nests ? place_nested(lanes, start, end) : SIZE_MAX;
    if (lane != SIZE_MAX) return lane;
    return (lanes->nests ? NESTED_LANES : 0) + place_flat(lanes, start, end);
}

void gt_lanes_free(gt_lanes *lanes)
{
    for (size_t i = 0; i < lanes->nested_count; i++) gt_free(lanes->nested[i].ends);
    gt_free_all(lanes->nested, lanes->ends);
    *lanes = (gt_lanes){0};
}

/* ---- creation ---- */

static const gt_timeline_writer *const writers[] = {
    [GT_TIMELINE_PERFETTO] = &gt_timeline_perfetto,
    [GT_TIMELINE_CHROME] = &gt_timeline_chrome,
};

gt_timeline *gt_timeline_new(gt_output *output, const char *path, gt_timeline_format format, unsigned threads,
                             gt_error *error)
{
    gt_timeline *t = gt_alloc_zero(1, sizeof *t);
    t->writer = writers[format];
    t->strings = gt_interner_new();
    t->file = gt_text_file_open(output, path, threads, error);
    if (t->file) t->store = gt_temp_store_open(path, error);
    if (t->store) return t;
    gt_timeline_free(t);
    return NULL;
}

gt_interner *gt_timeline_strings(const gt_timeline *t)
{
    return t->strings;
}

/* ---- processes and tracks ---- */

static uint32_t intern(gt_timeline *t, gt_str text)
{
    return text.len ? gt_interner_add(t->strings, text.bytes, text.len) : GT_STR_NONE;
}

uint32_t gt_timeline_process(gt_timeline *t, int64_t pid, gt_str name)
{
    gt_timeline_process_row row = {.pid = pid, .name = intern(t, name)};
    GT_PUSH(t->processes, t->process_count, t->process_capacity, row);
    return (uint32_t)t->process_count - 1;
}

uint32_t gt_timeline_track(gt_timeline *t, uint32_t process, gt_track_spec ask)
{
    gt_timeline_track_row row = {.process = process,
                                 .name = intern(t, ask.name),
                                 .form = ask.form,
                                 .tid = ask.tid,
                                 .places = {.nests = ask.form == GT_FORM_THREAD}};
    GT_PUSH(t->tracks, t->track_count, t->track_capacity, row);
    return (uint32_t)t->track_count - 1;
}

void gt_timeline_name_process(gt_timeline *t, uint32_t process, gt_str name)
{
    t->processes[process].name = intern(t, name);
}

void gt_timeline_label_process(gt_timeline *t, uint32_t process, gt_str label)
{
    t->processes[process].label = intern(t, label);
}

void gt_timeline_name_track(gt_timeline *t, uint32_t track, gt_str name)
{
    t->tracks[track].name = intern(t, name);
}

/* ---- events ---- */

/* Viewers cannot draw events before time 0, or events that end before they start. */
static void clamp_times(gt_timeline *t)
{
    gt_timeline_entry *e = &t->entry;
    bool is_invalid = e->start_ns < 0 || e->end_ns < e->start_ns;
    if (e->start_ns < 0) e->start_ns = 0;
    if (e->end_ns < e->start_ns) e->end_ns = e->start_ns;
    t->totals.mended += is_invalid;
}

void gt_timeline_begin(gt_timeline *t, gt_timeline_kind kind, uint32_t track, int64_t start_ns,
                       int64_t end_ns, uint32_t category, uint32_t name)
{
    t->entry = (gt_timeline_entry){.start_ns = start_ns,
                                   .end_ns = kind == GT_TIMELINE_SLICE ? end_ns : start_ns,
                                   .track = track,
                                   .kind = kind};
    clamp_times(t);
    t->body.len = 0;
    t->writer->begin(t, category, name);
}

void gt_timeline_flow(gt_timeline *t, uint64_t flow, bool arrives)
{
    t->writer->flow(t, flow, arrives);
}

void gt_timeline_value(gt_timeline *t, double value)
{
    t->writer->value(t, value);
}

void gt_timeline_arg_int(gt_timeline *t, uint32_t key, int64_t value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_INT, .integer = value});
}

void gt_timeline_arg_uint(gt_timeline *t, uint32_t key, uint64_t value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_UINT, .natural = value});
}

void gt_timeline_arg_double(gt_timeline *t, uint32_t key, double value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_DOUBLE, .real = value});
}

void gt_timeline_arg_bool(gt_timeline *t, uint32_t key, bool value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_BOOL, .yes = value});
}

void gt_timeline_arg_string(gt_timeline *t, uint32_t key, gt_str value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_STRING, .text = value});
}

void gt_timeline_arg_interned(gt_timeline *t, uint32_t key, uint32_t value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_LITERAL, .word = value});
}

void gt_timeline_arg_json(gt_timeline *t, uint32_t key, gt_str value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_JSON, .text = value});
}

size_t gt_timeline_end(gt_timeline *t)
{
    if (t->writer->end) t->writer->end(t);
    t->entry.position = gt_temp_store_add(t->store, t->body.bytes, t->body.len);
    GT_PUSH(t->entries, t->entry_count, t->entry_capacity, t->entry);
    return t->entry_count - 1;
}

void gt_timeline_set_end(gt_timeline *t, size_t number, int64_t end_ns)
{
    gt_timeline_entry *e = &t->entries[number];
    t->totals.mended += end_ns < e->start_ns;
    e->end_ns = end_ns < e->start_ns ? e->start_ns : end_ns;
}

void gt_timeline_arrow(gt_timeline *t, uint32_t track, int64_t time_ns, uint64_t flow, bool arrives)
{
    uint32_t *last = gt_map_put(&t->arrow_places, track, (uint64_t)time_ns);
    gt_timeline_arrow_row row = {flow, time_ns, track, *last, SIZE_MAX, arrives};
    *last = (uint32_t)t->arrow_count;
    GT_PUSH(t->arrows, t->arrow_count, t->arrow_capacity, row);
}

/* ---- sorting ---- */

static bool comes_before(const gt_timeline_entry *a, const gt_timeline_entry *b)
{
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    return a->end_ns > b->end_ns;
}

/* Merges two adjacent sorted ranges of event indices; if they are already in order, they are copied. */
static void merge(const gt_timeline_entry *entries, const uint32_t *from, uint32_t *to, size_t begin,
                  size_t middle, size_t end)
{
    size_t a = begin, b = middle, out = begin;
    if (middle < end && comes_before(&entries[from[middle]], &entries[from[middle - 1]]))
        while (a < middle && b < end)
            to[out++] = comes_before(&entries[from[b]], &entries[from[a]]) ? from[b++] : from[a++];
    memcpy(to + out, from + a, (middle - a) * sizeof *to);
    memcpy(to + out + (middle - a), from + b, (end - b) * sizeof *to);
}

/* Sorts the event indices: a bottom-up merge sort between two arrays. It is stable, and traces, which are
 * nearly sorted, need few comparisons. */
static void sort_entries(gt_timeline *t)
{
    size_t count = t->entry_count;
    uint32_t *from = gt_alloc(count * sizeof *from), *to = gt_alloc(count * sizeof *to);
    for (size_t i = 0; i < count; i++) from[i] = (uint32_t)i;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t middle = begin + width < count ? begin + width : count;
            size_t end = begin + 2 * width < count ? begin + 2 * width : count;
            merge(t->entries, from, to, begin, middle, end);
        }
        uint32_t *swap = from;
        from = to, to = swap;
    }
    gt_free(to);
    t->order = from;
}

GT_ORDER_BY(by_owner, gt_timeline_arrow_row, GT_UP(owner) GT_UP(flow))

/* Finds the slice of each arrow, which is the last of those that start there, and sorts the arrows by slice.
 */
static void place_arrows(gt_timeline *t)
{
    if (!t->arrow_count) return;
    for (size_t i = 0; i < t->entry_count; i++) {
        const gt_timeline_entry *e = &t->entries[t->order[i]];
        if (e->kind != GT_TIMELINE_SLICE) continue;
        uint32_t at = gt_map_get(&t->arrow_places, e->track, (uint64_t)e->start_ns);
        if (at != GT_MAP_NONE) t->arrows[at].owner = i;
    }
    for (size_t i = t->arrow_count;
         i-- > 0;) { /* the latest arrow of a position has the slice; the others get it from there */
        const gt_timeline_arrow_row *arrow = &t->arrows[i];
        if (arrow->next != GT_MAP_NONE) t->arrows[arrow->next].owner = arrow->owner;
        t->totals.loose += arrow->owner == SIZE_MAX;
    }
    qsort(t->arrows, t->arrow_count, sizeof *t->arrows, by_owner);
}

/* ---- writing ---- */

static void flush(gt_timeline *t)
{
    gt_text_file_write(t->file, gt_buffer_str(&t->out));
    t->out.len = 0;
}

void gt_timeline_put(gt_timeline *t, const void *bytes, size_t len)
{
    if (t->out.len + len > GT_FILE_BUFFER && t->out.len) flush(t);
    gt_buffer_add(&t->out, bytes, len);
}

static size_t lane_of(gt_timeline *t, const gt_timeline_entry *e)
{
    gt_timeline_track_row *track = &t->tracks[e->track];
    size_t lane = e->kind == GT_TIMELINE_SLICE ? gt_lanes_place(&track->places, e->start_ns, e->end_ns) : 0;
    while (track->lane_count <= lane)
        GT_PUSH(track->lanes, track->lane_count, track->lane_capacity, (gt_timeline_lane){0});
    if (!track->lanes[lane].described) {
        track->lanes[lane].described = true;
        t->totals.tracks++;
        t->totals.extra_tracks += lane > 0;
        t->writer->describe(t, e->track, lane);
    }
    t->totals.moved += lane > 0;
    return lane;
}

/* Ends the slices on a lane that end before this time. */
static void end_slices(gt_timeline *t, uint32_t track, size_t lane_number, int64_t before_ns)
{
    gt_timeline_lane *lane = &t->tracks[track].lanes[lane_number];
    while (lane->open_count && lane->open[lane->open_count - 1] <= before_ns)
        t->writer->write_end(t, track, lane_number, lane->open[--lane->open_count]);
}

/* The body of an event, with the arrows that were given separately. */
static gt_str body_of(gt_timeline *t, size_t index)
{
    gt_str body = gt_temp_store_read(t->store, t->entries[t->order[index]].position);
    if (t->next_arrow == t->arrow_count || t->arrows[t->next_arrow].owner != index) return body;
    t->body.len = 0;
    gt_buffer_add(&t->body, body.bytes, body.len);
    for (; t->next_arrow < t->arrow_count && t->arrows[t->next_arrow].owner == index; t->next_arrow++)
        t->writer->flow(t, t->arrows[t->next_arrow].flow, t->arrows[t->next_arrow].arrives);
    return (gt_str){t->body.bytes, t->body.len};
}

static void write_entry(gt_timeline *t, size_t index)
{
    const gt_timeline_entry *e = &t->entries[t->order[index]];
    size_t lane_number = lane_of(t, e);
    if (t->writer->write_end) end_slices(t, e->track, lane_number, e->start_ns);
    t->writer->write(t, e, lane_number, body_of(t, index));
    if (!t->writer->write_end || e->kind != GT_TIMELINE_SLICE) return;
    gt_timeline_lane *lane = &t->tracks[e->track].lanes[lane_number];
    GT_PUSH(lane->open, lane->open_count, lane->open_capacity, e->end_ns);
}

static void end_all_slices(gt_timeline *t)
{
    for (size_t track = 0; track < t->track_count; track++)
        for (size_t lane = 0; lane < t->tracks[track].lane_count; lane++)
            end_slices(t, (uint32_t)track, lane, INT64_MAX);
}

bool gt_timeline_finish(gt_timeline *t, gt_timeline_totals *totals, gt_error *error)
{
    bool ok = gt_temp_store_seal(t->store, error);
    if (ok && t->entry_count > UINT32_MAX) ok = gt_fail(error, "more than %u events", UINT32_MAX);
    if (ok) {
        sort_entries(t);
        place_arrows(t);
        t->writer->write_head(t);
        gt_progress_begin("writing", 0);
        for (size_t i = 0; i < t->entry_count; i++) {
            write_entry(t, i);
            gt_progress_add(0, 1);
        }
        gt_progress_end();
        if (t->writer->write_end) end_all_slices(t);
        if (t->writer->write_tail) t->writer->write_tail(t);
        flush(t);
        t->totals.events = t->entry_count;
        *totals = t->totals;
        ok = gt_text_file_close(t->file, error);
        t->file = NULL;
    }
    gt_timeline_free(t);
    return ok;
}

void gt_timeline_free(gt_timeline *t)
{
    gt_error ignored;
    if (t->file) gt_text_file_close(t->file, &ignored);
    gt_temp_store_close(t->store);
    for (size_t i = 0; i < t->track_count; i++) {
        for (size_t lane = 0; lane < t->tracks[i].lane_count; lane++) gt_free(t->tracks[i].lanes[lane].open);
        gt_free(t->tracks[i].lanes);
        gt_lanes_free(&t->tracks[i].places);
    }
    gt_free_all(t->tracks, t->processes, t->entries, t->order, t->arrows);
    gt_map_free(&t->arrow_places);
    gt_free(t->roles);
    gt_buffer_free(&t->body);
    gt_buffer_free(&t->packet);
    gt_buffer_free(&t->part);
    gt_buffer_free(&t->out);
    gt_map_free(&t->tids);
    gt_interner_free(t->strings);
    gt_free(t);
}
