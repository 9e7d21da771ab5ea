/* Gathers events, then puts them in order: by start, of those that start together the longest first, so that
 * a slice comes after those around it. See timeline.h. */
#include "output/trace/timeline_format.h"

#include "base/memory.h"
#include "base/progress.h"
#include "output/file.h"

#include <stdlib.h>
#include <string.h>

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
    if (t->file) t->spool = gt_temp_store_open(path, error);
    if (t->spool) return t;
    gt_timeline_drop(t);
    return NULL;
}

gt_interner *gt_timeline_strings(const gt_timeline *t)
{
    return t->strings;
}

/* ---- processes and tracks ---- */

static uint32_t text_id(gt_timeline *t, gt_str text)
{
    return text.len ? gt_interner_add(t->strings, text.bytes, text.len) : GT_STR_NONE;
}

uint32_t gt_timeline_process(gt_timeline *t, int64_t pid, gt_str name)
{
    gt_timeline_process_row row = {.pid = pid, .name = text_id(t, name)};
    GT_PUSH(t->processes, t->process_count, t->process_capacity, row);
    return (uint32_t)t->process_count - 1;
}

uint32_t gt_timeline_track(gt_timeline *t, uint32_t process, gt_track_ask ask)
{
    gt_timeline_track_row row = {.process = process,
                                 .name = text_id(t, ask.name),
                                 .form = ask.form,
                                 .tid = ask.tid,
                                 .places = {.nests = ask.form == GT_FORM_THREAD}};
    GT_PUSH(t->tracks, t->track_count, t->track_capacity, row);
    return (uint32_t)t->track_count - 1;
}

void gt_timeline_name_process(gt_timeline *t, uint32_t process, gt_str name)
{
    t->processes[process].name = text_id(t, name);
}

void gt_timeline_label_process(gt_timeline *t, uint32_t process, gt_str label)
{
    t->processes[process].label = text_id(t, label);
}

void gt_timeline_name_track(gt_timeline *t, uint32_t track, gt_str name)
{
    t->tracks[track].name = text_id(t, name);
}

/* ---- events ---- */

/* What viewers can draw: nothing before time 0, nothing that ends before it starts. */
static void mend_times(gt_timeline *t)
{
    gt_timeline_entry *e = &t->entry;
    bool odd = e->start_ns < 0 || e->end_ns < e->start_ns;
    if (e->start_ns < 0) e->start_ns = 0;
    if (e->end_ns < e->start_ns) e->end_ns = e->start_ns;
    t->totals.mended += odd;
}

void gt_timeline_begin(gt_timeline *t, gt_timeline_kind kind, uint32_t track, int64_t start_ns,
                       int64_t end_ns, uint32_t category, uint32_t name)
{
    t->entry = (gt_timeline_entry){.start_ns = start_ns,
                                   .end_ns = kind == GT_TIMELINE_SLICE ? end_ns : start_ns,
                                   .track = track,
                                   .kind = kind};
    mend_times(t);
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

void gt_timeline_note_int(gt_timeline *t, uint32_t key, int64_t value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_INT, .integer = value});
}

void gt_timeline_note_uint(gt_timeline *t, uint32_t key, uint64_t value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_UINT, .natural = value});
}

void gt_timeline_note_double(gt_timeline *t, uint32_t key, double value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_DOUBLE, .real = value});
}

void gt_timeline_note_bool(gt_timeline *t, uint32_t key, bool value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_BOOL, .yes = value});
}

void gt_timeline_note_string(gt_timeline *t, uint32_t key, gt_str value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_STRING, .text = value});
}

void gt_timeline_note_literal(gt_timeline *t, uint32_t key, uint32_t value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_LITERAL, .word = value});
}

void gt_timeline_note_json(gt_timeline *t, uint32_t key, gt_str value)
{
    t->writer->note(t, key, (gt_timeline_note){GT_TIMELINE_NOTE_JSON, .text = value});
}

size_t gt_timeline_end(gt_timeline *t)
{
    if (t->writer->end) t->writer->end(t);
    t->entry.place = gt_temp_store_add(t->spool, t->body.bytes, t->body.len);
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

/* ---- in order ---- */

static bool comes_before(const gt_timeline_entry *a, const gt_timeline_entry *b)
{
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    return a->end_ns > b->end_ns;
}

/* Merges two neighbouring stretches of numbers of events; what is in order already is copied whole. */
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

/* Numbers of events in order. A merge sort by turns between two arrays: events that come before each other in
 * neither way keep their order, and traces, which are nearly sorted, take few comparisons. */
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

static int by_owner(const void *a, const void *b)
{
    const gt_timeline_arrow_row *x = a, *y = b;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    return x->flow < y->flow ? -1 : x->flow > y->flow;
}

/* Finds each arrow's slice, the last in order of those that start there, and puts arrows in order of these.
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
    for (size_t i = t->arrow_count; i-- > 0;) { /* the last said of a place has the slice; it hands it on */
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

/* Ends the slices on a lane that end before the next one begins, or all of them. */
static void end_slices(gt_timeline *t, uint32_t track, size_t lane_number, int64_t before_ns)
{
    gt_timeline_lane *lane = &t->tracks[track].lanes[lane_number];
    while (lane->open_count && lane->open[lane->open_count - 1] <= before_ns)
        t->writer->write_end(t, track, lane_number, lane->open[--lane->open_count]);
}

/* What was said of an event, and the arrows that were said apart from it. */
static gt_str body_of(gt_timeline *t, size_t place)
{
    gt_str body = gt_temp_store_read(t->spool, t->entries[t->order[place]].place);
    if (t->next_arrow == t->arrow_count || t->arrows[t->next_arrow].owner != place) return body;
    t->body.len = 0;
    gt_buffer_add(&t->body, body.bytes, body.len);
    for (; t->next_arrow < t->arrow_count && t->arrows[t->next_arrow].owner == place; t->next_arrow++)
        t->writer->flow(t, t->arrows[t->next_arrow].flow, t->arrows[t->next_arrow].arrives);
    return (gt_str){t->body.bytes, t->body.len};
}

static void write_entry(gt_timeline *t, size_t place)
{
    const gt_timeline_entry *e = &t->entries[t->order[place]];
    size_t lane_number = lane_of(t, e);
    if (t->writer->write_end) end_slices(t, e->track, lane_number, e->start_ns);
    t->writer->write(t, e, lane_number, body_of(t, place));
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
    bool ok = gt_temp_store_seal(t->spool, error);
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
    gt_timeline_drop(t);
    return ok;
}

void gt_timeline_drop(gt_timeline *t)
{
    gt_error ignored;
    if (t->file) gt_text_file_close(t->file, &ignored);
    gt_temp_store_close(t->spool);
    for (size_t i = 0; i < t->track_count; i++) {
        for (size_t lane = 0; lane < t->tracks[i].lane_count; lane++) gt_free(t->tracks[i].lanes[lane].open);
        gt_free(t->tracks[i].lanes);
        gt_lanes_free(&t->tracks[i].places);
    }
    gt_free(t->tracks);
    gt_free(t->processes);
    gt_free(t->entries);
    gt_free(t->order);
    gt_free(t->arrows);
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
