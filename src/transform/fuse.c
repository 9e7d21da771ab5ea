/* Merges the traces of several ranks into one: the events of each rank, copied or taken from its part, then
 * names and order of the processes. */
#include "transform/fuse.h"

/* ---- clocks ---- */

/* Base times of ranks, if times are not aligned. */
typedef struct clocks {
    gt_base_time first_base;                           /* of the first rank that has one */
    size_t first_base_rank, other_clocks, other_clock; /* ranks with another base: how many, the first one */
    int64_t other_clock_ns;                            /* its difference */
} clocks;

static void note_base_time(clocks *c, size_t rank, int64_t base_ns)
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

static void warn_of_clocks(const clocks *c)
{
    if (c->other_clocks)
        gt_warn("rank %zu%s: baseTimeNanoseconds differs from that of rank %zu by %.6f s, so its events are "
                "shifted in the fused trace; --align_times aligns them",
                c->other_clock, c->other_clocks > 1 ? " and others" : "", c->first_base_rank,
                (double)c->other_clock_ns / 1e9);
}

/* ---- names and order of processes ---- */

enum { COPY_BYTES = 256 * 1024 };

GT_ORDER_BY(by_rank_and_id, gt_fuse_process, GT_UP(rank) GT_UP(id))

static void add_metadata(gt_buffer *text, const gt_fuse_process *p, const char *name, const char *args)
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
static void write_processes(gt_fuse_copier *c)
{
    gt_fuse_processes *list = &c->processes;
    gt_buffer text = {0};
    if (list->count) qsort(list->items, list->count, sizeof *list->items, by_rank_and_id);
    for (size_t i = 0; i < list->count; i++) {
        const gt_fuse_process *p = &list->items[i];
        char args[80];
        snprintf(args, sizeof args, "{\"name\":\"RANK %zu - %s\"}", p->rank, p->has_gpu_work ? "GPU" : "CPU");
        add_metadata(&text, p, "process_name", args);
        snprintf(args, sizeof args, "{\"sort_index\":%zu}", 2 * p->rank + p->has_gpu_work);
        add_metadata(&text, p, "process_sort_index", args);
        if (text.len < COPY_BYTES && i + 1 < list->count) continue;
        gt_text_file_write(c->file, (gt_str){text.bytes, text.len});
        text.len = 0;
    }
    gt_buffer_free(&text);
    c->result->processes = list->count;
    c->result->events_written += 2 * list->count;
}

/* ---- all ranks ---- */

/* Adds the part of a rank that another process has made. */
static void take_part(gt_fuse_copier *c, const gt_fuse_part *part)
{
    gt_text_file_append(c->file, part->path, &part->facts);
    c->result->ranks += part->counts.ranks;
    c->result->events_read += part->counts.events_read;
    c->result->events_written += part->counts.events_written;
    for (size_t i = 0; i < part->processes.count; i++)
        GT_PUSH(c->processes.items, c->processes.count, c->processes.capacity, part->processes.items[i]);
}

/* Whether there is a part, and its first event begins as it has to, with or without a comma. */
static bool part_fits(const gt_fuse_copier *c, const gt_fuse_part *part)
{
    return part && part->path &&
           (!part->counts.events_written || part->continues == (c->result->events_written > 0));
}

/* The messages about a rank whose part does not fit were given when the part was made. */
static void copy_rank(gt_fuse_copier *c, bool is_repeated, gt_base_time *base)
{
    gt_log_record messages = {0}, *before = is_repeated ? gt_log_keep(&messages) : NULL;
    gt_fuse_copy_rank(c, base);
    if (!is_repeated) return;
    gt_text_file_finish_pieces(c->file);
    gt_log_keep(before);
    gt_log_forget(&messages);
}

static bool copy_all(gt_fuse_copier *c, const gt_fuse_plan *p, const gt_fuse_parts *parts, size_t rank_count,
                     gt_error *error)
{
    static const gt_str begin = {"{\"traceEvents\":[\n", 17}, end = {"\n]}\n", 4};
    clocks seen = {0};
    gt_text_file_write(c->file, begin);
    for (size_t rank = 0; rank < rank_count && !c->has_stopped; rank++) {
        const gt_fuse_part *part = parts ? &parts->ranks[rank] : NULL;
        gt_base_time base = {0};
        if (!c->paths[rank]) continue;
        c->change = gt_fuse_plan_of_rank(p, rank);
        if (part_fits(c, part)) {
            take_part(c, part);
            base = part->base;
        } else {
            copy_rank(c, part && part->path, &base);
        }
        if (!c->options->align_times && base.known) note_base_time(&seen, rank, base.ns);
    }
    gt_text_file_finish_pieces(c->file);
    if (c->has_stopped) {
        *error = c->error;
        return false;
    }
    warn_of_clocks(&seen);
    write_processes(c);
    gt_text_file_write(c->file, end);
    return true;
}

bool gt_fuse(gt_output *output, const char *path, char *const *paths, size_t rank_count,
             const gt_fuse_options *options, gt_fuse_result *result, gt_error *error)
{
    gt_fuse_plan own = {0};
    const gt_fuse_plan *p = options->parts ? &options->parts->plan : &own;
    *result = (gt_fuse_result){0};
    gt_fuse_copier c = {.options = options, .paths = paths, .result = result, .taken_rank = SIZE_MAX};
    bool made = (options->parts || gt_fuse_plan_make(&own, paths, rank_count, options, error)) &&
                (c.file = gt_text_file_open(output, path, options->threads, error)) != NULL;
    if (made) {
        gt_error closing;
        made = copy_all(&c, p, options->parts, rank_count, error);
        bool closed = gt_text_file_close(c.file, &closing);
        if (made && !closed) *error = closing;
        made = made && closed;
    }
    gt_fuse_copier_free(&c);
    gt_fuse_plan_free(&own);
    return made;
}
