/* Merges the traces of several ranks into one: first computes how far the ids and times of each rank are
 * shifted, then copies the events. */
#include "transform/fuse.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "json/scan.h"
#include "output/file.h"
#include "trace/store.h"
#include "transform/fuse_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how far ids and times are shifted ---- */

typedef struct fuse_plan {
    gt_fuse_change of_rank_one; /* ids of rank r are shifted r times as far */
    int64_t *shift_ns;          /* by rank; owned; NULL: times are not shifted */
} fuse_plan;

/* Fields whose ids are shifted. The first launch decides which of the last two is shifted. */
static const gt_fuse_member fields[] = {GT_FUSE_ID, GT_FUSE_PROCESS, GT_FUSE_CORRELATION,
                                        GT_FUSE_EXTERNAL_ID};
enum { FIELDS = GT_LENGTH(fields) };

typedef struct id_range {
    gt_wide_int largest[FIELDS]; /* 0 if all are negative */
    uint64_t first_seen[FIELDS]; /* number of the first event that has it as an integer, from 1; 0: none */
    uint64_t events;
    bool launch_seen, launch_has_correlation;
} id_range;

static bool is_launch(const gt_fuse_event *event)
{
    gt_str category = gt_fuse_event_value(event, GT_FUSE_CATEGORY);
    if (!gt_str_equals(category, "cuda_runtime") && !gt_str_equals(category, "cuda_driver")) return false;
    return gt_str_contains_nocase(gt_fuse_event_value(event, GT_FUSE_NAME), "launch");
}

static void note_ids(id_range *range, const gt_fuse_event *event)
{
    range->events++;
    for (size_t i = 0; i < FIELDS; i++) {
        gt_wide_int value;
        if (!gt_fuse_event_int(event, fields[i], &value)) continue;
        if (!range->first_seen[i]) range->first_seen[i] = range->events;
        if (value > range->largest[i]) range->largest[i] = value;
    }
    if (range->launch_seen || !is_launch(event)) return;
    range->launch_seen = true;
    range->launch_has_correlation = event->at[GT_FUSE_CORRELATION].end;
}

static bool note_ids_of_record(gt_fuse_walk *w)
{
    gt_fuse_event event;
    bool is_event;
    if (!gt_fuse_event_read(&w->json, &event, &is_event)) return false;
    if (is_event) note_ids(w->context, &event);
    gt_json_clear_mark(&w->json);
    return true;
}

/* 42 gives 1000: one digit more than needed, so that shifted ids are easy to read. */
static gt_wide_int multiplier_of(gt_wide_int largest)
{
    gt_wide_int multiplier = 10;
    for (; largest; largest /= 10) multiplier = gt_wide_times(multiplier, 10);
    return multiplier;
}

/* The fields that are shifted, in the order in which they first appear in the trace. */
static void plan_ids(fuse_plan *p, const id_range *range)
{
    gt_fuse_change *change = &p->of_rank_one;
    gt_fuse_member other_link = range->launch_has_correlation ? GT_FUSE_EXTERNAL_ID : GT_FUSE_CORRELATION;
    bool planned[FIELDS] = {false};
    for (;;) {
        size_t next = FIELDS;
        for (size_t i = 0; i < FIELDS; i++) {
            if (planned[i] || !range->first_seen[i] || fields[i] == other_link) continue;
            if (next == FIELDS || range->first_seen[i] < range->first_seen[next]) next = i;
        }
        if (next == FIELDS) return;
        planned[next] = true;
        change->moved[change->moved_count].member = fields[next];
        change->moved[change->moved_count++].shift = multiplier_of(range->largest[next]);
    }
}

static void plan_times(fuse_plan *p, char *const *paths, const gt_base_time *bases, size_t first,
                       size_t rank_count)
{
    p->shift_ns = gt_alloc_zero(rank_count, sizeof *p->shift_ns);
    for (size_t rank = first; rank < rank_count; rank++) {
        int64_t shift_ns;
        if (!paths[rank]) continue;
        if (bases[rank].known && bases[first].known &&
            !__builtin_sub_overflow(bases[rank].ns, bases[first].ns, &shift_ns))
            p->shift_ns[rank] = shift_ns;
        else
            gt_warn("rank %zu: no baseTimeNanoseconds in %s or in the first trace; times not aligned", rank,
                    paths[rank]);
    }
}

static bool make_plan(fuse_plan *p, char *const *paths, size_t rank_count, const gt_fuse_options *options,
                      gt_error *error)
{
    id_range range = {0};
    size_t first = 0;
    bool planned = true;
    gt_base_time *bases = gt_alloc_zero(rank_count, sizeof *bases);
    *p = (fuse_plan){0};
    while (!paths[first]) first++;
    for (size_t rank = first; rank < rank_count && planned; rank++) {
        gt_fuse_walk w;
        id_range unused = {0};
        if (!paths[rank]) continue;
        bool counts = rank == first || options->ids_of_all_ranks;
        planned = gt_fuse_walk_trace(&w, paths[rank], note_ids_of_record, counts ? &range : &unused, error) ||
                  options->keep_damaged;
        if (!planned) gt_fuse_name_rank(error, rank);
        bases[rank] = (gt_base_time){w.has_base_time, w.base_time_ns};
        if (!options->ids_of_all_ranks && !options->align_times) break;
    }
    plan_ids(p, &range);
    if (options->align_times && planned) plan_times(p, paths, bases, first, rank_count);
    gt_free(bases);
    return planned;
}

static gt_fuse_change plan_of_rank(const fuse_plan *p, size_t rank)
{
    gt_fuse_change change = p->of_rank_one;
    change.rank = rank;
    for (size_t i = 0; i < change.moved_count; i++)
        change.moved[i].shift = gt_wide_times(change.moved[i].shift, rank);
    change.shift_ns = p->shift_ns ? p->shift_ns[rank] : 0;
    return change;
}

static void free_plan(fuse_plan *p)
{
    gt_free(p->shift_ns);
}

/* ---- copying events ---- */

enum { BATCH_BYTES = 256 * 1024 };

static bool is_one_of(gt_str text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gt_str_equals(text, names[i])) return true;
    return false;
}

/* ---- batches of events, written on the output's threads ---- */

typedef struct process {
    size_t rank;
    gt_wide_int id, moved_id;
    bool has_gpu_work;
} process;

typedef struct process_list {
    process *items;
    size_t count, capacity;
    gt_map places; /* of the processes of one rank, by id */
} process_list;

/* Events of one rank: their text, and the result. */
typedef struct batch {
    struct copier *copier;
    gt_fuse_change change;
    bool is_first;    /* no event was written before */
    gt_buffer text;   /* the events, separated by commas */
    uint64_t *places; /* of the events in the file */
    size_t count, capacity;
    unsigned depth; /* of the events in the file's JSON */

    uint64_t read, written;
    process_list processes;
    bool failed;
    gt_error error;
} batch;

typedef struct copier {
    const gt_fuse_options *options;
    char *const *paths;
    gt_text_file *file;
    gt_fuse_change change; /* of the rank being read */
    batch *filling;        /* NULL: none */
    batch **idle;
    size_t idle_count, idle_capacity;
    process_list processes;

    gt_base_time first_base; /* of the first rank that has one; noted if times are not aligned */
    size_t first_base_rank, other_clocks, other_clock; /* ranks with another base: how many, the first one */
    int64_t other_clock_ns;                            /* its difference */
    size_t taken_rank;                                 /* of the batch finished last */
    uint64_t taken_events;                             /* of that rank */
    bool taken_rank_failed;                            /* the rest of that rank is dropped */
    gt_error error;
    bool has_stopped;
    gt_fuse_result *result;
} copier;

static process *find_process(process_list *list, const gt_fuse_change *change, gt_wide_int id)
{
    uint32_t *place = gt_map_put(&list->places, (uint64_t)(id >> 64), (uint64_t)id);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)list->count;
        process added = {.rank = change->rank, .id = id, .moved_id = id};
        for (size_t i = 0; i < change->moved_count; i++)
            if (change->moved[i].member == GT_FUSE_PROCESS) added.moved_id += change->moved[i].shift;
        GT_PUSH(list->items, list->count, list->capacity, added);
    }
    return &list->items[*place];
}

static void free_processes(process_list *list)
{
    gt_map_free(&list->places);
    gt_free(list->items);
    *list = (process_list){0};
}

static bool is_dropped(const gt_fuse_options *options, const gt_fuse_event *event, bool is_metadata)
{
    static const char *const replaced[] = {"process_name", "process_sort_index", "process_labels"};
    if (is_metadata && is_one_of(gt_fuse_event_value(event, GT_FUSE_NAME), replaced, 3)) return true;
    return event->at[GT_FUSE_CATEGORY].end &&
           is_one_of(gt_fuse_event_value(event, GT_FUSE_CATEGORY), options->dropped, options->dropped_count);
}

static void note_process(batch *b, const gt_fuse_event *event)
{
    static const char *const gpu_work[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    gt_wide_int id;
    if (!gt_fuse_event_int(event, GT_FUSE_PROCESS, &id)) return;
    process *p = find_process(&b->processes, &b->change, id);
    p->has_gpu_work |= is_one_of(gt_fuse_event_value(event, GT_FUSE_CATEGORY), gpu_work, 3);
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

static void note_failure(copier *c, size_t rank, const gt_error *error)
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

static void start_rank(copier *c, size_t rank)
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
    copier *c = b->copier;
    start_rank(c, b->change.rank);
    bool counts = !c->taken_rank_failed && !c->has_stopped;
    if (counts) {
        c->taken_events += b->read;
        c->result->events_read += b->read;
        c->result->events_written += b->written;
        for (size_t i = 0; i < b->processes.count; i++) {
            process *p = find_process(&c->processes, &b->change, b->processes.items[i].id);
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

static batch *new_batch(copier *c, unsigned depth)
{
    batch *b = c->idle_count ? c->idle[--c->idle_count] : gt_alloc_zero(1, sizeof *b);
    b->copier = c;
    b->change = c->change;
    b->depth = depth;
    b->text.len = 0;
    b->count = 0;
    b->read = b->written = 0;
    free_processes(&b->processes);
    return b;
}

static void free_batch(batch *b)
{
    if (!b) return;
    gt_buffer_free(&b->text);
    gt_free(b->places);
    free_processes(&b->processes);
    gt_free(b);
}

static void submit_batch(copier *c)
{
    static const gt_text_file_job work = {make_batch, finish_batch};
    batch *b = c->filling;
    if (!b) return;
    char *pad = gt_buffer_reserve(&b->text, GT_STREAM_PAD);
    memset(pad, 0, GT_STREAM_PAD);
    pad[0] = pad[1] = '"';
    b->is_first = !c->result->events_written;
    c->filling = NULL;
    gt_text_file_add(c->file, &work, b);
    if (b->is_first)
        gt_text_file_finish_pieces(c->file); /* then it is known whether an event has been written */
}

/* Adds the event at the cursor to the batch. If its end is in memory, the thread that writes the batch
 * checks its grammar. */
static bool gather_record(gt_fuse_walk *w)
{
    copier *c = w->context;
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

static void note_base_time(copier *c, size_t rank, int64_t base_ns)
{
    int64_t difference_ns;
    if (!c->first_base.known) {
        c->first_base = (gt_base_time){true, base_ns};
        c->first_base_rank = rank;
    } else if (base_ns != c->first_base.ns && !c->other_clocks++) {
        c->other_clock = rank;
        c->other_clock_ns =
            __builtin_sub_overflow(base_ns, c->first_base.ns, &difference_ns) ? INT64_MAX : difference_ns;
    }
}

static void warn_of_clocks(const copier *c)
{
    if (c->other_clocks)
        gt_warn("rank %zu%s: baseTimeNanoseconds differs from that of rank %zu by %.6f s, so its events are "
                "shifted in the fused trace; --align_times aligns them",
                c->other_clock, c->other_clocks > 1 ? " and others" : "", c->first_base_rank,
                (double)c->other_clock_ns / 1e9);
}

/* Failures in the events of a rank are known when its batches are finished, possibly only when the next
 * rank is read. */
static void copy_rank(copier *c, size_t rank)
{
    gt_fuse_walk w;
    gt_error error;
    bool whole = gt_fuse_walk_trace(&w, c->paths[rank], gather_record, c, &error);
    submit_batch(c);
    c->result->ranks += whole || w.events;
    if (!c->options->align_times && w.has_base_time) note_base_time(c, rank, w.base_time_ns);
    if (whole) return;
    gt_text_file_finish_pieces(c->file);
    start_rank(c, rank);
    if (!c->taken_rank_failed) note_failure(c, rank, &error); /* an earlier position was reported otherwise */
}

/* ---- names and order of processes ---- */

static int by_rank_and_id(const void *a, const void *b)
{
    const process *one = a, *other = b;
    if (one->rank != other->rank) return one->rank < other->rank ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

static void add_metadata(gt_buffer *text, const process *p, const char *name, const char *args)
{
    gt_buffer_add_cstr(text, ",\n{\"name\":\"");
    gt_buffer_add_cstr(text, name);
    gt_buffer_add_cstr(text, "\",\"ph\":\"M\",\"pid\":");
    gt_buffer_add_wide_int(text, p->moved_id);
    gt_buffer_add_cstr(text, ",\"tid\":0,\"args\":");
    gt_buffer_add_cstr(text, args);
    gt_buffer_add_cstr(text, "}");
}

/* Each process has an event, so each of these needs a comma before it. */
static void write_processes(copier *c)
{
    process_list *list = &c->processes;
    gt_buffer text = {0};
    if (list->count) qsort(list->items, list->count, sizeof *list->items, by_rank_and_id);
    for (size_t i = 0; i < list->count; i++) {
        const process *p = &list->items[i];
        char args[80];
        snprintf(args, sizeof args, "{\"name\":\"RANK %zu - %s\"}", p->rank, p->has_gpu_work ? "GPU" : "CPU");
        add_metadata(&text, p, "process_name", args);
        snprintf(args, sizeof args, "{\"sort_index\":%zu}", 2 * p->rank + p->has_gpu_work);
        add_metadata(&text, p, "process_sort_index", args);
        if (text.len < BATCH_BYTES && i + 1 < list->count) continue;
        gt_text_file_write(c->file, (gt_str){text.bytes, text.len});
        text.len = 0;
    }
    gt_buffer_free(&text);
    c->result->processes = list->count;
    c->result->events_written += 2 * list->count;
}

/* ---- all ranks ---- */

static void free_copier(copier *c)
{
    free_batch(c->filling);
    for (size_t i = 0; i < c->idle_count; i++) free_batch(c->idle[i]);
    gt_free(c->idle);
    free_processes(&c->processes);
}

static bool copy_all(copier *c, const fuse_plan *p, size_t rank_count, gt_error *error)
{
    static const gt_str begin = {"{\"traceEvents\":[\n", 17}, end = {"\n]}\n", 4};
    gt_text_file_write(c->file, begin);
    for (size_t rank = 0; rank < rank_count && !c->has_stopped; rank++) {
        if (!c->paths[rank]) continue;
        c->change = plan_of_rank(p, rank);
        copy_rank(c, rank);
    }
    gt_text_file_finish_pieces(c->file);
    if (c->has_stopped) {
        *error = c->error;
        return false;
    }
    warn_of_clocks(c);
    write_processes(c);
    gt_text_file_write(c->file, end);
    return true;
}

bool gt_fuse(gt_output *output, const char *path, char *const *paths, size_t rank_count,
             const gt_fuse_options *options, gt_fuse_result *result, gt_error *error)
{
    fuse_plan p;
    *result = (gt_fuse_result){0};
    copier c = {.options = options, .paths = paths, .result = result, .taken_rank = SIZE_MAX};
    bool made = make_plan(&p, paths, rank_count, options, error) &&
                (c.file = gt_text_file_open(output, path, options->threads, error)) != NULL;
    if (made) {
        gt_error closing;
        made = copy_all(&c, &p, rank_count, error);
        bool closed = gt_text_file_close(c.file, &closing);
        if (made && !closed) *error = closing;
        made = made && closed;
    }
    free_copier(&c);
    free_plan(&p);
    return made;
}
