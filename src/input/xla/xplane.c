/* XPlane profiles: planes are listed, the host's launches and the GPUs' events are read, modules are looked
 * into for the ops that the events name, and all of it becomes the columns of a gt_jax. */
#include "input/xla/xplane.h"
#include "base/length.h"
#include "base/log.h"
#include "input/xla/launches.h"
#include "input/xla/modules.h"
#include "trace/jax/jax.h"

#include <math.h>
#include <stdlib.h>

enum { GPU_PID_OFFSET = 1, OPS_SEEN = 256 };
static const uint32_t FIRST_DERIVED_TID = 0xdeadbeef;

typedef struct plane_list {
    xplane *items;
    size_t count, capacity;
} plane_list;

/* An op and what names it. */
typedef struct op_entry {
    uint64_t names, program; /* as keys of op_of */
    uint32_t op;
    bool is_used;
} op_entry;

typedef struct reader {
    const char *path;
    xfile file;
    gt_jax *trace;
    const char *products_of; /* beginning of a module's name; NULL for none */
    plane_list gpus;
    xplane host, metadata, scopes;
    bool has_host, has_metadata, has_scopes;
    xlaunches launches;
    gt_map op_of;
    op_entry ops_seen[OPS_SEEN]; /* the last one asked for in each slot */
    size_t line_begin;           /* the first event of the line that is being read */
    gt_jax_scopes scope_parents;
    gt_error *error;
} reader;

static bool damaged(reader *r, const xplane *plane)
{
    if (r->file.failed) return false;
    return gt_fail(r->error, "%s: the plane \"%.*s\" is damaged", r->path,
                   (int)(plane->name.len < 100 ? plane->name.len : 100), plane->name.bytes);
}

/* ---- planes ---- */

static bool take_once(xplane *place, bool *is_taken, const xplane *plane)
{
    if (*is_taken) return false;
    *place = *plane;
    return *is_taken = true;
}

static void add_plane(reader *r, xplane plane)
{
    bool is_used = false;
    if (gt_str_starts_with(plane.name, "/device:GPU:") && plane.has_lines) {
        GT_PUSH(r->gpus.items, r->gpus.count, r->gpus.capacity, plane);
        is_used = true;
    } else if (gt_str_equals(plane.name, "/host:CPU")) {
        is_used = take_once(&r->host, &r->has_host, &plane);
    } else if (gt_str_equals(plane.name, "/host:metadata")) {
        is_used = take_once(&r->metadata, &r->has_metadata, &plane);
    } else if (gt_str_equals(plane.name, "/host:__ScopeRangeCallStack__")) {
        is_used = take_once(&r->scopes, &r->has_scopes, &plane);
    }
    if (!is_used) xplane_close(&plane);
}

static int by_pid(const void *left, const void *right)
{
    const xplane *a = left, *b = right;
    uint32_t pid_a = (uint32_t)(uint64_t)a->id, pid_b = (uint32_t)(uint64_t)b->id;
    if (pid_a != pid_b) return pid_a < pid_b ? -1 : 1;
    return (a->range.begin > b->range.begin) - (a->range.begin < b->range.begin);
}

static bool list_planes(reader *r, bool strict)
{
    xrange space = {0, r->file.window.size};
    bool ends_early = false;
    xfield field;
    size_t planes = 0;
    while (xfile_next(&r->file, &space, &field, &ends_early)) {
        if (field.number != 1) continue;
        xplane plane;
        bool is_sound = xplane_peek(&plane, &r->file, field.body);
        if (!is_sound) xplane_close(&plane);
        if (!is_sound && r->file.failed) return false;
        if (!is_sound)
            return gt_fail(r->error,
                           "%s: plane %zu is damaged: this is no XPlane profile, or not a whole one", r->path,
                           planes + 1);
        add_plane(r, plane);
        planes++;
    }
    if (r->file.failed) return false;
    if (ends_early && (strict || !planes))
        return gt_fail(r->error, "%s: the file ends early or is no XPlane profile", r->path);
    if (ends_early)
        gt_warn("%s: the file ends early; the report is of the %zu planes that are whole", r->path, planes);
    if (r->gpus.count) qsort(r->gpus.items, r->gpus.count, sizeof *r->gpus.items, by_pid);
    return true;
}

/* ---- GPUs ---- */

static uint32_t op_of(reader *r, const xattributes *a)
{
    gt_jax *trace = r->trace;
    uint32_t tf_op = a->hlo_op == GT_STR_NONE ? a->tf_op : GT_STR_NONE;
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

static void take_event(void *context, const xevent *event)
{
    reader *r = context;
    const xattributes *a = &event->attributes;
    gt_jax_event row = {
        .start_ps = event->offset_ps,
        .dur_ps = event->dur_ps,
        .correlation = a->correlation,
        .launch_us = a->has_correlation ? xlaunches_find(&r->launches, a->correlation) : (double)NAN,
        .group = a->group,
        .scope = a->scope,
        .name = event->kind->name,
        .line = (uint32_t)r->trace->line_count,
        .op = op_of(r, a),
        .flags = (uint8_t)((a->has_correlation ? GT_JAX_HAS_CORRELATION : 0) |
                           (a->has_group ? GT_JAX_HAS_GROUP : 0) | (a->has_scope ? GT_JAX_HAS_SCOPE : 0) |
                           (a->has_details || a->has_graph ? GT_JAX_IS_DESCRIBED : 0)),
    };
    gt_jax_add_event(r->trace, &row);
}

static void take_line(void *context, const xline *l)
{
    reader *r = context;
    gt_jax *trace = r->trace;
    size_t first = r->line_begin;
    if (l->is_skipped) trace->count = first;
    if (trace->count == first) return;
    for (size_t i = first; i < trace->count; i++) trace->start_ps[i] = xline_start_ps(l, trace->start_ps[i]);
    gt_jax_line line = {
        .gpu = (uint32_t)trace->gpu_count - 1,
        .tid = l->tid,
        .thread_name = gt_interner_add(trace->strings, l->shown_name.bytes, l->shown_name.len),
        .is_counter = gt_str_equals(l->name, "_counters_"),
        .is_derived = l->tid >= FIRST_DERIVED_TID,
    };
    GT_PUSH(trace->lines, trace->line_count, trace->line_capacity, line);
    r->line_begin = trace->count;
}

/* What only the lines that viewers add are made from. */
static const xstat_role viewer_roles[] = {XSTAT_GROUP, XSTAT_SCOPE, XSTAT_KERNEL_DETAILS, XSTAT_GRAPH,
                                          XSTAT_TF_OP};

/* `has_followers`: ids of other GPUs count the lines that viewers add to this one. */
static bool read_gpu(reader *r, xplane *plane, bool has_followers)
{
    gt_jax *trace = r->trace;
    uint32_t pid = (uint32_t)(uint64_t)plane->id + GPU_PID_OFFSET;
    bool is_new = !trace->gpu_count || trace->gpus[trace->gpu_count - 1].pid != pid;
    if (is_new)
        GT_PUSH(trace->gpus, trace->gpu_count, trace->gpu_capacity,
                ((gt_jax_gpu){.pid = pid,
                              .plane = gt_interner_add(trace->strings, plane->name.bytes, plane->name.len),
                              .begin = trace->count}));
    bool sound = xplane_open(plane, &r->file, trace->strings, true);
    if (sound && !has_followers) xplane_pass_over(plane, viewer_roles, GT_LENGTH(viewer_roles));
    sound = sound && xplane_visit(plane, &r->file, &(xvisitor){r, take_event, take_line});
    if (!sound) damaged(r, plane);
    gt_jax_gpu *gpu = &trace->gpus[trace->gpu_count - 1];
    gpu->end = trace->count;
    if (gpu->begin == gpu->end) trace->gpu_count--;
    return sound;
}

/* ---- ids ---- */

static bool read_scopes(reader *r)
{
    xrange plane = r->scopes.range;
    bool is_damaged = false;
    xfield field;
    gt_jax_scopes *scopes = &r->scope_parents;
    while (xfile_next(&r->file, &plane, &field, &is_damaged)) {
        gt_str bytes;
        if (field.number != 6) continue;
        if (!xfile_show(&r->file, field.body, &bytes)) return damaged(r, &r->scopes);
        gt_proto stat = gt_proto_begin(bytes);
        gt_proto_field part;
        int64_t child = 0, parent = 0;
        while (gt_proto_next(&stat, &part)) {
            if (part.number == 1) child = gt_proto_int(&part);
            if (part.number == 3 || part.number == 4) parent = gt_proto_int(&part);
        }
        *gt_map_put(&scopes->parent, (uint64_t)child, 0) = (uint32_t)scopes->count;
        GT_PUSH(scopes->ids, scopes->count, scopes->capacity, parent);
    }
    return !is_damaged || damaged(r, &r->scopes);
}

/* Profiles that a viewer has been over already have its groups, and get no lines again. */
static bool gets_derived_lines(const reader *r)
{
    if (!r->has_host || !r->host.has_role[XSTAT_GROUP]) return true;
    for (size_t i = 0; i < r->gpus.count; i++)
        if (!r->gpus.items[i].has_role[XSTAT_GROUP]) return true;
    return false;
}

static void number_events(reader *r)
{
    gt_jax *trace = r->trace;
    const bool derived_lines = gets_derived_lines(r);
    uint64_t uid = 0;
    for (size_t g = 0; g < trace->gpu_count; g++) {
        gt_jax_gpu *gpu = &trace->gpus[g];
        gpu->first_uid = uid;
        if (derived_lines && g + 1 < trace->gpu_count) /* no ids follow those of the last one */
            gpu->derived = gt_jax_count_derived(trace, gpu, &r->scope_parents);
        uid += gpu->end - gpu->begin + gpu->derived;
    }
}

/* ---- the profile ---- */

static bool read_gpus(reader *r)
{
    for (size_t i = 0; i < r->gpus.count; i++) {
        bool sound = read_gpu(r, &r->gpus.items[i], i + 1 < r->gpus.count);
        xplane_close(&r->gpus.items[i]);
        if (!sound) return false;
    }
    return true;
}

static bool read_space(reader *r, bool strict)
{
    if (!list_planes(r, strict)) return false;
    if (r->has_host && !xlaunches_read(&r->launches, &r->host, &r->file)) return damaged(r, &r->host);
    xplane_close(&r->host);
    if ((r->has_scopes && !read_scopes(r)) || !read_gpus(r)) return false;
    if (r->has_metadata && !xplane_read_modules(&r->metadata, &r->file, r->products_of, r->trace))
        return damaged(r, &r->metadata);
    gt_jax_sort_events(r->trace);
    number_events(r);
    gt_jax_find_kinds(r->trace);
    return true;
}

static void free_reader(reader *r)
{
    for (size_t i = 0; i < r->gpus.count; i++) xplane_close(&r->gpus.items[i]);
    gt_free(r->gpus.items);
    xplane_close(&r->host);
    xplane_close(&r->metadata);
    xplane_close(&r->scopes);
    xlaunches_free(&r->launches);
    gt_map_free(&r->op_of);
    gt_free(r->scope_parents.ids);
    gt_map_free(&r->scope_parents.parent);
    gt_window_close(&r->file.window);
}

gt_jax *gt_xplane_read_stream(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    return gt_xplane_read_with_products(stream, NULL, options, error);
}

gt_jax *gt_xplane_read_with_products(gt_stream *stream, const char *module, const gt_read_options *options,
                                     gt_error *error)
{
    reader r = {.path = gt_stream_path(stream),
                .file = {.error = error},
                .trace = gt_jax_new(),
                .products_of = module,
                .error = error};
    bool sound =
        gt_window_open(&r.file.window, stream, options->strict, error) && read_space(&r, options->strict);
    free_reader(&r);
    if (sound) return r.trace;
    gt_jax_free(r.trace);
    return NULL;
}

/* ---- detection ---- */

static bool is_plain_text(gt_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.bytes[i] < ' ') return false;
    return name.len > 0;
}

bool gt_is_xplane(gt_str first_bytes)
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
