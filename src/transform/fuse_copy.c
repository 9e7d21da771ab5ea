/* Copies the events of ranks; see fuse_copy.h. Each batch is some text of the trace, whose events a thread
 * reads, changes and writes as new text. */
#include "transform/fuse_copy.h"
#include "json/scan.h"

enum { BATCH_BYTES = 256 * 1024 };

/* ---- batches of events, written on the output's threads ---- */

/* Events of one rank: their text, and the result. */
typedef struct batch {
    gt_fuse_copier *copier;
    gt_fuse_change change;
    bool is_first;    /* no event was written before */
    gt_buffer text;   /* the events, separated by commas */
    uint64_t *places; /* of the events in the file */
    size_t count, capacity;
    unsigned depth; /* of the events in the file's JSON */

    uint64_t read, written;
    gt_fuse_processes processes;
    bool failed;
    gt_error error;
} batch;

gt_fuse_process *gt_fuse_processes_find(gt_fuse_processes *list, const gt_fuse_change *change, gt_wide_int id)
{
    uint32_t *place = gt_map_put(&list->places, (uint64_t)(id >> 64), (uint64_t)id);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)list->count;
        gt_fuse_process added = {.rank = change->rank, .id = id, .moved_id = id};
        for (size_t i = 0; i < change->moved_count; i++)
            if (change->moved[i].member == GT_FUSE_PROCESS) added.moved_id += change->moved[i].shift;
        GT_PUSH(list->items, list->count, list->capacity, added);
    }
    return &list->items[*place];
}

void gt_fuse_processes_free(gt_fuse_processes *list)
{
    gt_map_free(&list->places);
    gt_free(list->items);
    *list = (gt_fuse_processes){0};
}

static bool is_dropped(const gt_fuse_options *options, const gt_fuse_event *event, bool is_metadata)
{
    static const char *const replaced[] = {"process_name", "process_sort_index", "process_labels"};
    if (is_metadata && gt_str_is_one_of(gt_fuse_event_value(event, GT_FUSE_NAME), replaced, 3)) return true;
    return event->at[GT_FUSE_CATEGORY].end && gt_str_is_one_of(gt_fuse_event_value(event, GT_FUSE_CATEGORY),
                                                               options->dropped, options->dropped_count);
}

static void note_process(batch *b, const gt_fuse_event *event)
{
    static const char *const gpu_work[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    gt_wide_int id;
    if (!gt_fuse_event_int(event, GT_FUSE_PROCESS, &id)) return;
    gt_fuse_process *p = gt_fuse_processes_find(&b->processes, &b->change, id);
    p->has_gpu_work |= gt_str_is_one_of(gt_fuse_event_value(event, GT_FUSE_CATEGORY), gpu_work, 3);
}

static void copy_event(batch *b, const gt_fuse_event *event, gt_buffer *text)
{
    bool is_metadata = gt_str_equals(gt_fuse_event_value(event, GT_FUSE_PHASE), "M");
    if (is_dropped(b->copier->options, event, is_metadata)) return;
    if (!is_metadata) note_process(b, event);
    if (!b->is_first || b->written) gt_buffer_add_cstr(text, ",\n");
    gt_fuse_event_write(event, &b->change, text);
    b->written++;
}

static void make_batch(void *piece, gt_buffer *text)
{
    batch *b = piece;
    gt_json json;
    gt_json_begin_str(&json, (gt_str){b->text.bytes, b->text.len});
    json.depth = b->depth;
    for (; b->read < b->count && gt_json_next_element(&json); b->read++) {
        gt_fuse_event event;
        bool is_event;
        json.block_offset =
            b->places[b->read] - (uint64_t)(json.at - json.block); /* for the position in a message */
        if (!gt_fuse_event_read(&json, &event, &is_event)) break;
        if (is_event) copy_event(b, &event, text);
        gt_json_clear_mark(&json);
    }
    b->failed = json.failed;
    b->error = json.error;
}

static void note_failure(gt_fuse_copier *c, size_t rank, const gt_error *error)
{
    if (c->has_stopped) return;
    c->taken_rank_failed = true;
    c->error = *error;
    gt_fuse_name_rank(&c->error, rank);
    if (c->options->keep_damaged)
        gt_warn("%s: kept the %" PRIu64 " events before the damage", c->error.text, c->taken_events);
    else
        c->has_stopped = true;
}

static void start_rank(gt_fuse_copier *c, size_t rank)
{
    if (rank == c->taken_rank) return;
    c->taken_rank = rank;
    c->taken_events = 0;
    c->taken_rank_failed = false;
    gt_map_free(&c->processes.places);
}

static bool finish_batch(void *piece)
{
    batch *b = piece;
    gt_fuse_copier *c = b->copier;
    start_rank(c, b->change.rank);
    bool counts = !c->taken_rank_failed && !c->has_stopped;
    if (counts) {
        c->taken_events += b->read;
        c->result->events_read += b->read;
        c->result->events_written += b->written;
        for (size_t i = 0; i < b->processes.count; i++) {
            gt_fuse_process *p = gt_fuse_processes_find(&c->processes, &b->change, b->processes.items[i].id);
            p->has_gpu_work |= b->processes.items[i].has_gpu_work;
        }
        if (b->failed) {
            gt_error_prefix(&b->error, c->paths[b->change.rank]);
            note_failure(c, b->change.rank, &b->error);
        }
    }
    GT_PUSH(c->idle, c->idle_count, c->idle_capacity, b);
    return counts;
}

static batch *new_batch(gt_fuse_copier *c, unsigned depth)
{
    batch *b = c->idle_count ? c->idle[--c->idle_count] : gt_alloc_zero(1, sizeof *b);
    b->copier = c;
    b->change = c->change;
    b->depth = depth;
    b->text.len = 0;
    b->count = 0;
    b->read = b->written = 0;
    gt_fuse_processes_free(&b->processes);
    return b;
}

static void free_batch(batch *b)
{
    if (!b) return;
    gt_buffer_free(&b->text);
    gt_free(b->places);
    gt_fuse_processes_free(&b->processes);
    gt_free(b);
}

static void submit_batch(gt_fuse_copier *c)
{
    static const gt_text_file_job work = {make_batch, finish_batch};
    batch *b = c->filling;
    if (!b) return;
    char *pad = gt_buffer_reserve(&b->text, GT_STREAM_PAD);
    memset(pad, 0, GT_STREAM_PAD);
    pad[0] = pad[1] = '"';
    b->is_first = !c->continues && !c->result->events_written;
    c->filling = NULL;
    gt_text_file_add(c->file, &work, b);
    if (b->is_first)
        gt_text_file_finish_pieces(c->file); /* then it is known whether an event has been written */
}

/* Adds the event at the cursor to the batch. If its end is in memory, the thread that writes the batch
 * checks its grammar. */
static bool gather_record(gt_fuse_walk *w)
{
    gt_fuse_copier *c = w->context;
    gt_json *json = &w->json;
    if (c->has_stopped || (c->taken_rank_failed && c->taken_rank == c->change.rank)) {
        w->has_stopped = true;
        return false;
    }
    uint64_t place = gt_json_offset(json);
    gt_json_set_mark(json);
    const uint8_t *end = *json->at == '{' ? gt_scan_container(json->at + 1, json->end) : NULL;
    if (end)
        json->at = end;
    else if (!gt_json_skip(json))
        return false;
    batch *b = c->filling = c->filling ? c->filling : new_batch(c, json->depth);
    if (b->count) gt_buffer_add(&b->text, ",", 1);
    gt_buffer_add(&b->text, json->mark, (size_t)(json->at - json->mark));
    GT_PUSH(b->places, b->count, b->capacity, place);
    gt_json_clear_mark(json);
    if (b->text.len >= BATCH_BYTES) submit_batch(c);
    return true;
}

void gt_fuse_copy_rank(gt_fuse_copier *c, gt_base_time *base)
{
    gt_fuse_walk w;
    gt_error error;
    size_t rank = c->change.rank;
    bool whole = gt_fuse_walk_trace(&w, c->paths[rank], gather_record, c, &error);
    submit_batch(c);
    c->result->ranks += whole || w.events;
    *base = (gt_base_time){w.has_base_time, w.base_time_ns};
    if (whole) return;
    gt_text_file_finish_pieces(c->file);
    start_rank(c, rank);
    if (!c->taken_rank_failed) note_failure(c, rank, &error); /* an earlier position was reported otherwise */
}

void gt_fuse_copier_free(gt_fuse_copier *c)
{
    free_batch(c->filling);
    for (size_t i = 0; i < c->idle_count; i++) free_batch(c->idle[i]);
    gt_free(c->idle);
    gt_fuse_processes_free(&c->processes);
}
