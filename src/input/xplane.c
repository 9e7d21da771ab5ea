/* XPlane profiles: planes are listed, the host's launches and the GPUs' events are read, modules are looked
 * into for the ops that the events name, and all of it becomes the columns of a gt_jax. */
#include "input/xplane.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "input/xplane_modules.h"
#include "trace/jax_derived.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    GPU_PID_OFFSET = 1,
    OPS_SEEN = 256,
    RELEASED_AT_ONCE = 1 << 20,
    DENSE_IDS = 8, /* correlation ids are dense where there are at most so many a launch */
};
static const uint32_t FIRST_DERIVED_TID = 0xdeadbeef;

typedef struct plane_list {
    xplane *items;
    size_t count, capacity;
} plane_list;

/* A call of the host that may have launched something. */
typedef struct launch {
    uint64_t correlation;
    int64_t start_ps, dur_ps;
    uint32_t tid;
} launch;

/* An op and what names it. */
typedef struct op_entry {
    uint64_t names, program; /* as keys of op_of */
    uint32_t op;
    bool is_used;
} op_entry;

typedef struct reader {
    const char *path;
    gt_jax *trace;
    plane_list gpus;
    xplane host, metadata, scopes;
    bool has_host, has_metadata, has_scopes;
    launch *launches;
    size_t launch_count, launch_capacity;
    uint32_t *launch_of; /* by correlation id below launch_of_count */
    size_t launch_of_count;
    gt_map launch_of_sparse; /* of greater ones */
    gt_map op_of;
    op_entry ops_seen[OPS_SEEN]; /* the last one asked for in each slot */
    gt_jax_raw_event *events;
    size_t event_count, event_capacity;
    gt_jax_scopes scope_parents;
    gt_error *error;
} reader;

static bool is(gt_text text, const char *other)
{
    size_t len = strlen(other);
    return text.len == len && memcmp(text.bytes, other, len) == 0;
}

static bool begins(gt_text text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.bytes, with, len) == 0;
}

static bool damaged(reader *r, const xplane *plane)
{
    return gt_fail(r->error, "%s: the plane \"%.*s\" is damaged", r->path,
                   (int)(plane->name.len < 100 ? plane->name.len : 100), plane->name.bytes);
}

/* ---- planes ---- */

static void add_plane(reader *r, xplane plane)
{
    if (begins(plane.name, "/device:GPU:") && plane.has_lines)
        GT_PUSH(r->gpus.items, r->gpus.count, r->gpus.capacity, plane);
    else if (is(plane.name, "/host:CPU") && !r->has_host) {
        r->host = plane;
        r->has_host = true;
    } else if (is(plane.name, "/host:metadata") && !r->has_metadata) {
        r->metadata = plane;
        r->has_metadata = true;
    } else if (is(plane.name, "/host:__ScopeRangeCallStack__") && !r->has_scopes) {
        r->scopes = plane;
        r->has_scopes = true;
    }
}

static int by_pid(const void *left, const void *right)
{
    const xplane *a = left, *b = right;
    uint32_t pid_a = (uint32_t)(uint64_t)a->id, pid_b = (uint32_t)(uint64_t)b->id;
    if (pid_a != pid_b) return pid_a < pid_b ? -1 : 1;
    return (a->message.bytes > b->message.bytes) - (a->message.bytes < b->message.bytes);
}

static bool list_planes(reader *r, gt_text file, bool strict)
{
    gt_proto space = gt_proto_begin(file);
    gt_proto_field field;
    size_t planes = 0;
    while (gt_proto_next(&space, &field)) {
        if (field.number != 1) continue;
        xplane plane;
        if (!xplane_peek(&plane, gt_proto_bytes(&field)))
            return gt_fail(r->error,
                           "%s: plane %zu is damaged: this is no XPlane profile, or not a whole one", r->path,
                           planes + 1);
        add_plane(r, plane);
        planes++;
    }
    if (space.damaged && (strict || !planes))
        return gt_fail(r->error, "%s: the file ends early or is no XPlane profile", r->path);
    if (space.damaged)
        gt_warn("%s: the file ends early; the report is of the %zu planes that are whole", r->path, planes);
    if (r->gpus.count) qsort(r->gpus.items, r->gpus.count, sizeof *r->gpus.items, by_pid);
    return true;
}

/* ---- lines and events ---- */

/* Picoseconds; sums that do not fit, which no real profile has, stay at the end of what does. */
static int64_t clamped_sum(int64_t timestamp_ns, int64_t offset_ps)
{
    int64_t sum;
    if (!__builtin_mul_overflow(timestamp_ns, 1000, &sum) && !__builtin_add_overflow(sum, offset_ps, &sum))
        return sum;
    return timestamp_ns < 0 ? INT64_MIN : INT64_MAX;
}

typedef struct line_head {
    int64_t id, display_id, timestamp_ns;
    gt_text name, display_name;
} line_head;

static uint32_t tid_of(const line_head *head)
{
    return (uint32_t)(uint64_t)(head->display_id ? head->display_id : head->id);
}

static gt_text shown_name(const line_head *head)
{
    return head->display_name.len ? head->display_name : head->name;
}

static bool is_skipped(const line_head *head)
{
    return is(shown_name(head), "Async XLA Ops");
}

typedef struct xevent {
    const xevent_kind *kind;
    int64_t offset_ps, dur_ps;
    xattributes attributes;
} xevent;

static bool read_event(xplane *plane, gt_proto proto, xevent *event)
{
    gt_proto stats = proto;
    gt_proto_field field;
    int64_t kind = 0;
    bool has_stats = false;
    event->offset_ps = event->dur_ps = 0;
    while (gt_proto_next(&proto, &field)) switch (field.number) {
        case 1:
            kind = gt_proto_int(&field);
            break;
        case 2:
            event->offset_ps = gt_proto_int(&field);
            break;
        case 3:
            event->dur_ps = gt_proto_int(&field);
            break;
        case 4:
            has_stats = true;
            break;
        }
    event->kind = xplane_kind(plane, kind);
    if (proto.damaged || !event->kind) return false;
    event->attributes = event->kind->attributes;
    if (event->dur_ps < 1) event->dur_ps = 1; /* viewers draw nothing shorter */
    while (has_stats && gt_proto_next(&stats, &field))
        if (field.number == 4 && !xplane_add_stat(plane, &event->attributes, gt_proto_message(&field)))
            return false;
    return true;
}

/* Gives pages that hold nothing but events that were read back to the system: [from, to) of the file in
 * memory, which is this reader's own. What is read next is kept instead, so that memory stays near the size
 * of the file. */
static void release(const uint8_t *from, const uint8_t *to)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)from + page - 1) / page * page, last = (uintptr_t)to / page * page;
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}

static void read_head_field(line_head *head, const gt_proto_field *field)
{
    switch (field->number) {
    case 1:
        head->id = gt_proto_int(field);
        break;
    case 2:
        head->name = gt_proto_bytes(field);
        break;
    case 3:
        head->timestamp_ns = gt_proto_int(field);
        break;
    case 10:
        head->display_id = gt_proto_int(field);
        break;
    case 11:
        head->display_name = gt_proto_bytes(field);
        break;
    }
}

/* Reads one line; each of its events is handed to `take`. The line's own fields may stand behind them. */
typedef void take_event(reader *r, const xevent *event);

static bool read_line(reader *r, xplane *plane, gt_proto proto, line_head *head, take_event *take)
{
    *head = (line_head){.name = {"", 0}, .display_name = {"", 0}};
    const uint8_t *kept = proto.at; /* all before it is released, or still needed */
    gt_proto_field field;
    xevent event;
    while (gt_proto_next(&proto, &field)) {
        if (field.number != 4) {
            read_head_field(head, &field);
            kept = proto.at;
            continue;
        }
        if (!read_event(plane, gt_proto_message(&field), &event)) return false;
        if (!event.kind->is_dropped) take(r, &event);
        if (proto.at - kept < RELEASED_AT_ONCE) continue;
        release(kept, proto.at);
        kept = proto.at;
    }
    return !proto.damaged;
}

/* ---- the host: what launched what ---- */

static void take_launch(reader *r, const xevent *event)
{
    if (!event->attributes.has_correlation) return;
    launch l = {event->attributes.correlation, event->offset_ps, event->dur_ps, 0};
    GT_PUSH(r->launches, r->launch_count, r->launch_capacity, l);
}

static bool is_later(const launch *a, const launch *b)
{
    if (a->tid != b->tid) return a->tid > b->tid;
    if (a->start_ps != b->start_ps) return a->start_ps > b->start_ps;
    return a->dur_ps <= b->dur_ps;
}

/* The launches of a line, once the line's own fields are known. */
static void finish_launches(reader *r, size_t first, const line_head *head)
{
    if (is_skipped(head)) r->launch_count = first;
    for (size_t i = first; i < r->launch_count; i++) {
        r->launches[i].start_ps = clamped_sum(head->timestamp_ns, r->launches[i].start_ps);
        r->launches[i].tid = tid_of(head);
    }
}

/* Of calls with the same id, the last one in the order of threads and times is the launch. */
static void index_launches(reader *r)
{
    uint64_t last = 0, most = (uint64_t)r->launch_count * DENSE_IDS;
    for (size_t i = 0; i < r->launch_count; i++)
        if (r->launches[i].correlation < most && r->launches[i].correlation > last)
            last = r->launches[i].correlation;
    r->launch_of_count = r->launch_count ? (size_t)last + 1 : 0;
    r->launch_of = gt_alloc(r->launch_of_count * sizeof *r->launch_of);
    for (size_t i = 0; i < r->launch_of_count; i++) r->launch_of[i] = GT_MAP_NONE;
    for (size_t i = 0; i < r->launch_count; i++) {
        uint64_t id = r->launches[i].correlation;
        uint32_t *place =
            id < r->launch_of_count ? &r->launch_of[id] : gt_map_put(&r->launch_of_sparse, id, 0);
        if (*place == GT_MAP_NONE || is_later(&r->launches[i], &r->launches[*place])) *place = (uint32_t)i;
    }
}

static uint32_t find_launch(const reader *r, uint64_t correlation)
{
    if (correlation < r->launch_of_count) return r->launch_of[correlation];
    return gt_map_get(&r->launch_of_sparse, correlation, 0);
}

static bool read_host(reader *r)
{
    gt_strings *unused = gt_strings_new(); /* names of host events are in no sheet */
    xplane *plane = &r->host;
    bool sound = xplane_open(plane, unused);
    xplane_read_only(plane, XSTAT_CORRELATION);
    gt_proto proto = gt_proto_begin(plane->message);
    gt_proto_field field;
    while (sound && plane->has_role[XSTAT_CORRELATION] && gt_proto_next(&proto, &field)) {
        if (field.number != 3) continue;
        line_head head;
        size_t first = r->launch_count;
        sound = read_line(r, plane, gt_proto_message(&field), &head, take_launch) &&
                r->launch_count < GT_MAP_NONE;
        if (sound) finish_launches(r, first, &head);
    }
    if (sound)
        index_launches(r);
    else
        damaged(r, plane);
    xplane_close(plane);
    gt_strings_free(unused);
    return sound;
}

/* ---- GPUs ---- */

static uint32_t op_of(reader *r, const xattributes *a)
{
    gt_jax *trace = r->trace;
    uint32_t tf_op = a->hlo_op == GT_TEXT_NONE ? a->tf_op : GT_TEXT_NONE;
    if (!a->hlo_op && !a->hlo_module && !tf_op) return GT_JAX_NONE;
    uint64_t names = (a->hlo_op ? a->hlo_op : (uint64_t)tf_op | 0x80000000u) << 32 | a->hlo_module;
    uint64_t program = a->has_program ? a->program_id + 1 : 0;
    op_entry *seen = &r->ops_seen[(a->hlo_op ^ (uint32_t)program) % OPS_SEEN];
    if (seen->is_used && seen->names == names && seen->program == program) return seen->op;
    uint32_t *place = gt_map_put(&r->op_of, names, program);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)trace->op_count;
        gt_jax_op op = {.hlo_op = a->hlo_op,
                        .hlo_module = a->hlo_module,
                        .tf_op = tf_op,
                        .has_program = a->has_program,
                        .program_id = a->program_id,
                        .record = GT_JAX_NONE};
        GT_PUSH(trace->ops, trace->op_count, trace->op_capacity, op);
    }
    *seen = (op_entry){names, program, *place, true};
    return *place;
}

static void take_gpu_event(reader *r, const xevent *event)
{
    const xattributes *a = &event->attributes;
    gt_jax_raw_event raw = {
        .start_ps = event->offset_ps,
        .dur_ps = event->dur_ps,
        .correlation = a->correlation,
        .group = a->group,
        .scope = a->scope,
        .name = event->kind->name,
        .line = (uint32_t)r->trace->line_count,
        .op = op_of(r, a),
        .has_correlation = a->has_correlation,
        .has_group = a->has_group,
        .has_scope = a->has_scope,
        .is_described = a->has_details || a->has_graph,
    };
    GT_PUSH(r->events, r->event_count, r->event_capacity, raw);
}

static void add_line(reader *r, size_t first_event, const line_head *head)
{
    gt_jax *trace = r->trace;
    if (is_skipped(head)) r->event_count = first_event;
    if (r->event_count == first_event) return;
    for (size_t i = first_event; i < r->event_count; i++)
        r->events[i].start_ps = clamped_sum(head->timestamp_ns, r->events[i].start_ps);
    gt_text name = shown_name(head);
    gt_jax_line line = {
        .gpu = (uint32_t)trace->gpu_count - 1,
        .tid = tid_of(head),
        .thread_name = gt_strings_add(trace->strings, name.bytes, name.len),
        .is_counter = is(head->name, "_counters_"),
        .is_derived = tid_of(head) >= FIRST_DERIVED_TID,
    };
    GT_PUSH(trace->lines, trace->line_count, trace->line_capacity, line);
}

static bool read_gpu(reader *r, xplane *plane)
{
    gt_jax *trace = r->trace;
    uint32_t pid = (uint32_t)(uint64_t)plane->id + GPU_PID_OFFSET;
    size_t first = r->event_count, gpus_before = trace->gpu_count;
    if (!trace->gpu_count || trace->gpus[trace->gpu_count - 1].pid != pid)
        GT_PUSH(trace->gpus, trace->gpu_count, trace->gpu_capacity, ((gt_jax_gpu){.pid = pid}));
    bool sound = xplane_open(plane, trace->strings);
    gt_proto proto = gt_proto_begin(plane->message);
    gt_proto_field field;
    while (sound && gt_proto_next(&proto, &field)) {
        if (field.number != 3) continue;
        line_head head;
        size_t first_of_line = r->event_count;
        sound = read_line(r, plane, gt_proto_message(&field), &head, take_gpu_event);
        if (sound) add_line(r, first_of_line, &head);
    }
    if (!sound) damaged(r, plane);
    if (r->event_count == first) trace->gpu_count = gpus_before;
    xplane_close(plane);
    return sound;
}

/* ---- columns ---- */

static bool read_scopes(reader *r)
{
    gt_proto proto = gt_proto_begin(r->scopes.message);
    gt_proto_field field;
    gt_jax_scopes *scopes = &r->scope_parents;
    while (gt_proto_next(&proto, &field)) {
        if (field.number != 6) continue;
        gt_proto stat = gt_proto_message(&field);
        int64_t child = 0, parent = 0;
        while (gt_proto_next(&stat, &field)) {
            if (field.number == 1) child = gt_proto_int(&field);
            if (field.number == 3 || field.number == 4) parent = gt_proto_int(&field);
        }
        *gt_map_put(&scopes->parent, (uint64_t)child, 0) = (uint32_t)scopes->count;
        GT_PUSH(scopes->ids, scopes->count, scopes->capacity, parent);
    }
    return !proto.damaged || damaged(r, &r->scopes);
}

/* Profiles that a viewer has been over already have its groups, and get no lines again. */
static bool gets_derived_lines(const reader *r, const bool *gpu_has_groups)
{
    if (!r->has_host || !r->host.has_role[XSTAT_GROUP]) return true;
    for (size_t i = 0; i < r->gpus.count; i++)
        if (!gpu_has_groups[i]) return true;
    return false;
}

static void number_events(reader *r, bool derived_lines)
{
    gt_jax *trace = r->trace;
    uint64_t uid = 0;
    size_t begin = 0;
    for (size_t g = 0; g < trace->gpu_count; g++) {
        gt_jax_gpu *gpu = &trace->gpus[g];
        size_t end = begin;
        while (end < r->event_count && trace->lines[r->events[end].line].gpu == g) end++;
        gpu->begin = begin;
        gpu->end = end;
        for (size_t i = begin; i < end; i++) trace->uid[i] = uid++;
        if (derived_lines && g + 1 < trace->gpu_count) /* no ids follow those of the last one */
            gpu->derived = gt_jax_count_derived(trace, r->events + begin, end - begin, &r->scope_parents);
        uid += gpu->derived;
        begin = end;
    }
}

static double launch_us(const reader *r, const gt_jax_raw_event *event)
{
    uint32_t place = event->has_correlation ? find_launch(r, event->correlation) : GT_MAP_NONE;
    return place == GT_MAP_NONE ? (double)NAN : (double)r->launches[place].start_ps / 1e6;
}

static void make_columns(reader *r, bool derived_lines)
{
    gt_jax *trace = r->trace;
    size_t count = trace->count = r->event_count;
    gt_jax_sort_events(trace, r->events, count);
    trace->uid = gt_alloc(count * sizeof *trace->uid);
    number_events(r, derived_lines);
    trace->start_ps = gt_alloc(count * sizeof *trace->start_ps);
    trace->dur_ps = gt_alloc(count * sizeof *trace->dur_ps);
    trace->name = gt_alloc(count * sizeof *trace->name);
    trace->line = gt_alloc(count * sizeof *trace->line);
    trace->op = gt_alloc(count * sizeof *trace->op);
    trace->launch_us = gt_alloc(count * sizeof *trace->launch_us);
    for (size_t i = 0; i < count; i++) {
        const gt_jax_raw_event *event = &r->events[i];
        trace->start_ps[i] = event->start_ps;
        trace->dur_ps[i] = event->dur_ps;
        trace->name[i] = event->name;
        trace->line[i] = event->line;
        trace->op[i] = event->op;
        trace->launch_us[i] = launch_us(r, event);
    }
}

/* Each name and each thread is looked at once. */
static void find_kinds(gt_jax *trace)
{
    enum { NOT_ASKED = 0xff };
    const gt_text stream = {"Stream", 6};
    size_t names = gt_strings_count(trace->strings);
    uint8_t *of_name = gt_alloc(names), *is_stream = gt_alloc(trace->line_count);
    memset(of_name, NOT_ASKED, names);
    for (size_t i = 0; i < trace->line_count; i++) {
        gt_text thread = gt_strings_get(trace->strings, trace->lines[i].thread_name);
        is_stream[i] = gt_jax_kind_of(thread, (gt_text){"", 0}) != GT_JAX_OTHER;
    }
    trace->kind = gt_alloc(trace->count);
    for (size_t i = 0; i < trace->count; i++) {
        uint8_t *kind = &of_name[trace->name[i]];
        if (*kind == NOT_ASKED) *kind = (uint8_t)gt_jax_kind_of(stream, gt_jax_name(trace, i));
        trace->kind[i] = is_stream[trace->line[i]] ? *kind : GT_JAX_OTHER;
    }
    free(of_name);
    free(is_stream);
}

static bool read_space(reader *r, gt_text file, bool strict)
{
    if (!list_planes(r, file, strict)) return false;
    if (r->has_host && !read_host(r)) return false;
    if (r->has_scopes && !read_scopes(r)) return false;
    bool *has_groups = gt_alloc_zero(r->gpus.count + 1, sizeof *has_groups), sound = true;
    for (size_t i = 0; sound && i < r->gpus.count; i++) {
        sound = read_gpu(r, &r->gpus.items[i]);
        has_groups[i] = r->gpus.items[i].has_role[XSTAT_GROUP];
    }
    if (sound && r->has_metadata) {
        if (xplane_open(&r->metadata, r->trace->strings))
            xplane_read_modules(&r->metadata, r->trace);
        else
            sound = damaged(r, &r->metadata);
        xplane_close(&r->metadata);
    }
    if (sound) make_columns(r, gets_derived_lines(r, has_groups));
    if (sound) find_kinds(r->trace);
    free(has_groups);
    return sound;
}

/* ---- the file ---- */

static bool read_all(gt_stream *stream, gt_buffer *file, bool strict, gt_error *error)
{
    const uint8_t *block;
    size_t len;
    if (gt_stream_compression(stream) == GT_PLAIN) gt_buffer_room(file, (size_t)gt_stream_size(stream) + 1);
    do {
        if (!gt_stream_next(stream, NULL, 0, &block, &len, error)) return false;
        gt_buffer_add(file, block, len);
        gt_progress_add(len, 0);
    } while (len);
    const char *damage = gt_stream_damage(stream);
    if (damage && strict) return gt_fail(error, "%s: %s", gt_stream_path(stream), damage);
    if (damage) gt_warn("%s: %s", gt_stream_path(stream), damage);
    return true;
}

gt_jax *gt_xplane_read_stream(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    gt_buffer file = {0};
    reader r = {.path = gt_stream_path(stream), .trace = gt_jax_new(), .error = error};
    bool sound = read_all(stream, &file, options->strict, error) &&
                 read_space(&r, gt_buffer_text(&file), options->strict);
    gt_buffer_free(&file);
    free(r.gpus.items);
    free(r.launches);
    free(r.events);
    free(r.scope_parents.ids);
    gt_map_free(&r.scope_parents.parent);
    free(r.launch_of);
    gt_map_free(&r.launch_of_sparse);
    gt_map_free(&r.op_of);
    if (sound) return r.trace;
    gt_jax_free(r.trace);
    return NULL;
}

/* ---- detection ---- */

static bool is_plain_text(gt_text name)
{
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.bytes[i] < ' ') return false;
    return name.len > 0;
}

bool gt_is_xplane(gt_text first_bytes)
{
    gt_proto space = gt_proto_begin(first_bytes), plane;
    if (first_bytes.len < 4 || first_bytes.bytes[0] != (1 << 3 | GT_WIRE_BYTES)) return false;
    /* The plane may be longer than the bytes that are there: its length is passed by hand. */
    size_t at = 1;
    while (at < first_bytes.len && at < 11 && (uint8_t)first_bytes.bytes[at] >= 0x80) at++;
    if (++at >= first_bytes.len) return false;
    gt_proto_field field;
    uint64_t len = 0;
    for (size_t i = at; i-- > 1;) len = len << 7 | ((uint8_t)first_bytes.bytes[i] & 0x7f);
    plane = space;
    plane.at += at;
    if (len < (uint64_t)(plane.end - plane.at)) plane.end = plane.at + len;
    while (gt_proto_next(&plane, &field)) {
        bool is_id = field.number == 1 && field.wire == GT_WIRE_VARINT;
        if (field.number == 2) return field.wire == GT_WIRE_BYTES && is_plain_text(gt_proto_bytes(&field));
        if (!is_id && !(field.number >= 3 && field.number <= 6 && field.wire == GT_WIRE_BYTES)) return false;
    }
    return false;
}
