/* The reader of XPlane profiles: lists the planes, reads the launches of the host and the events of the GPUs,
 * looks up the ops of the events in the compiled modules, and stores all of it as the columns of a gt_jax. */
#include "input/xla/xplane.h"
#include "input/xla/plane.h"
#include "trace/step_names.h"

enum { GPU_PID_OFFSET = 1, OPS_SEEN = 256 };
static const uint32_t FIRST_DERIVED_TID = 0xdeadbeef;

/* ---- launches: when the host last used each correlation id ----
 *
 * Of several calls with the same id, the launch is the last one when sorted by thread, start, and duration
 * (longest first). */

typedef struct launch_times {
    double *us_of; /* by ids below us_count; NaN: no launch */
    size_t us_count;
    gt_map sparse; /* larger ids to indexes of sparse_us */
    double *sparse_us;
    size_t sparse_count, sparse_capacity;
} launch_times;

enum { IDS_PER_CALL = 8 }; /* ids below this many per call are stored in an array */

typedef struct host_call {
    uint64_t correlation;
    int64_t start_ps, dur_ps;
    uint32_t tid;
} host_call;

typedef struct call_list {
    host_call *items;
    size_t count, capacity;
    size_t line_begin; /* the first call of the current line */
    const xplane *host;
    gt_jax *trace;
    size_t host_begin; /* the first kept event of the current line */
    uint8_t *names;    /* by string id: what events with this name are; grows with the names */
    size_t name_capacity;
} call_list;

enum { NAME_OTHER = 1, NAME_WAITS, NAME_STEP };

/* JAX's own functions that wait until arrays are computed, or read their values; steps of servers. */
static uint8_t judge_name(gt_str name)
{
    gt_str step = name;
    if (gt_range_is_step(&step)) return NAME_STEP;
    bool reads_value = gt_str_starts_with(name, "$array.py:") && gt_str_contains(name, " _value");
    return gt_str_contains(name, "block_until_ready") || reads_value ? NAME_WAITS : NAME_OTHER;
}

static void add_host_event(call_list *list, const xevent *event)
{
    uint32_t name = event->kind->name;
    if (name >= list->name_capacity) {
        size_t old = list->name_capacity;
        list->names = gt_grow(list->names, &list->name_capacity, (size_t)name + 1, 1);
        memset(list->names + old, 0, list->name_capacity - old);
    }
    if (!list->names[name]) list->names[name] = judge_name(gt_interner_get(list->host->strings, name));
    if (list->names[name] == NAME_OTHER) return;
    gt_str text = gt_interner_get(list->host->strings, name);
    gt_jax_host_event kept = {.start_ps = event->offset_ps,
                              .end_ps =
                                  event->dur_ps > 0 ? event->dur_ps : 0, /* its length until the line ends */
                              .name = gt_interner_add(list->trace->strings, text.bytes, text.len),
                              .is_step = list->names[name] == NAME_STEP};
    GT_PUSH(list->trace->host, list->trace->host_count, list->trace->host_capacity, kept);
}

static void end_host_events(call_list *list, const xline *line)
{
    gt_jax *trace = list->trace;
    if (line->is_skipped) trace->host_count = list->host_begin;
    for (size_t i = list->host_begin; i < trace->host_count; i++) {
        gt_jax_host_event *kept = &trace->host[i];
        kept->start_ps = gt_xline_start_ps(line, kept->start_ps);
        if (__builtin_add_overflow(kept->start_ps, kept->end_ps, &kept->end_ps)) kept->end_ps = INT64_MAX;
        kept->tid = line->tid;
    }
    list->host_begin = trace->host_count;
}

static void add_call(void *context, const xevent *event)
{
    call_list *list = context;
    add_host_event(list, event);
    if (!event->attributes.has_correlation) return;
    host_call c = {event->attributes.correlation, event->offset_ps, event->dur_ps > 1 ? event->dur_ps : 1, 0};
    GT_PUSH(list->items, list->count, list->capacity, c);
}

static void end_call_line(void *context, const xline *line)
{
    call_list *list = context;
    end_host_events(list, line);
    if (line->is_skipped) list->count = list->line_begin;
    for (size_t i = list->line_begin; i < list->count; i++) {
        list->items[i].start_ps = gt_xline_start_ps(line, list->items[i].start_ps);
        list->items[i].tid = line->tid;
    }
    list->line_begin = list->count;
}

static bool is_later(const host_call *a, const host_call *b)
{
    if (a->tid != b->tid) return a->tid > b->tid;
    if (a->start_ps != b->start_ps) return a->start_ps > b->start_ps;
    return a->dur_ps <= b->dur_ps;
}

static void keep_later(uint32_t *place, const call_list *calls, uint32_t i)
{
    if (*place == GT_MAP_NONE || is_later(&calls->items[i], &calls->items[*place])) *place = i;
}

static double start_us(const call_list *calls, uint32_t place)
{
    return place == GT_MAP_NONE ? (double)NAN : (double)calls->items[place].start_ps / 1e6;
}

static void index_calls(launch_times *l, const call_list *calls)
{
    uint64_t last = 0, limit = (uint64_t)calls->count * IDS_PER_CALL;
    for (size_t i = 0; i < calls->count; i++) {
        uint64_t id = calls->items[i].correlation;
        if (id < limit && id > last) last = id;
    }
    l->us_count = calls->count ? (size_t)last + 1 : 0;
    uint32_t *dense = gt_alloc(l->us_count * sizeof *dense);
    for (size_t i = 0; i < l->us_count; i++) dense[i] = GT_MAP_NONE;
    for (uint32_t i = 0; i < calls->count; i++) {
        uint64_t id = calls->items[i].correlation;
        keep_later(id < l->us_count ? &dense[id] : gt_map_put(&l->sparse, id, 0), calls, i);
    }
    l->us_of = gt_alloc(l->us_count * sizeof *l->us_of);
    for (size_t i = 0; i < l->us_count; i++) l->us_of[i] = start_us(calls, dense[i]);
    for (size_t i = 0; i < l->sparse.capacity; i++) {
        gt_map_entry *entry = &l->sparse.entries[i];
        if (!entry->used) continue;
        double us = start_us(calls, entry->value);
        entry->value = (uint32_t)l->sparse_count;
        GT_PUSH(l->sparse_us, l->sparse_count, l->sparse_capacity, us);
    }
    gt_free(dense);
}

/* Reads the plane "/host:CPU". False if it is damaged or cannot be read. */
static bool read_launches(launch_times *l, xplane *host, xfile *file, gt_jax *trace)
{
    static const xstat_role skipped[] = {XSTAT_HLO_OP,         XSTAT_HLO_MODULE, XSTAT_PROGRAM,
                                         XSTAT_GROUP,          XSTAT_SCOPE,      XSTAT_GRAPH,
                                         XSTAT_KERNEL_DETAILS, XSTAT_TF_OP,      XSTAT_HLO_PROTO};
    gt_interner *unused = gt_interner_new(); /* few of the names of host events are kept */
    call_list calls = {.host = host, .trace = trace};
    bool ok = gt_xplane_open(host, file, unused, true);
    if (ok && host->has_role[XSTAT_CORRELATION]) {
        gt_xplane_skip_stats(host, skipped, GT_LENGTH(skipped));
        ok = gt_xplane_visit(host, file, &(xvisitor){&calls, add_call, end_call_line}) &&
             calls.count < GT_MAP_NONE;
    }
    if (ok) index_calls(l, &calls);
    gt_free_all(calls.items, calls.names);
    gt_interner_free(unused);
    return ok;
}

static void free_launches(launch_times *l)
{
    gt_free_all(l->us_of, l->sparse_us);
    gt_map_free(&l->sparse);
    *l = (launch_times){0};
}

/* In microseconds; NaN if there is no launch. */
static double find_launch(const launch_times *l, uint64_t correlation)
{
    if (correlation < l->us_count) return l->us_of[correlation];
    uint32_t place = gt_map_get(&l->sparse, correlation, 0);
    return place == GT_MAP_NONE ? (double)NAN : l->sparse_us[place];
}

/* ---- the reader ---- */

typedef struct plane_list {
    xplane *items;
    size_t count, capacity;
} plane_list;

/* An op and the key that it is found by. */
typedef struct op_entry {
    uint64_t names, program; /* the key in op_of */
    uint32_t op;
    bool is_used;
} op_entry;

typedef struct reader {
    const char *path;
    xfile file;
    gt_jax *trace;
    const char *products_of; /* start of a module's name, or NULL */
    plane_list gpus;
    xplane host, metadata, scopes;
    bool has_host, has_metadata, has_scopes;
    launch_times launches;
    gt_map op_of;
    op_entry ops_seen[OPS_SEEN]; /* a cache: the last op per slot */
    size_t line_begin;           /* the first event of the current line */
    gt_account before_line;      /* the account when it began */
    gt_jax_scopes scope_parents;
    gt_error *error;
} reader;

static bool fail_damaged(reader *r, const xplane *plane)
{
    if (r->file.failed) return false;
    return gt_fail(r->error, "%s: damaged plane \"%.*s\"", r->path,
                   (int)(plane->name.len < 100 ? plane->name.len : 100), plane->name.bytes);
}

/* ---- planes ---- */

static bool keep_first(xplane *place, bool *is_taken, const xplane *plane)
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
        is_used = keep_first(&r->host, &r->has_host, &plane);
    } else if (gt_str_equals(plane.name, "/host:metadata")) {
        is_used = keep_first(&r->metadata, &r->has_metadata, &plane);
    } else if (gt_str_equals(plane.name, "/host:__ScopeRangeCallStack__")) {
        is_used = keep_first(&r->scopes, &r->has_scopes, &plane);
    }
    if (!is_used) gt_xplane_close(&plane);
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
    bool is_truncated = false;
    xfield field;
    size_t planes = 0;
    while (gt_xfile_next(&r->file, &space, &field, &is_truncated)) {
        if (field.number != 1) continue;
        xplane plane;
        bool is_sound = gt_xplane_peek(&plane, &r->file, field.body);
        if (!is_sound) gt_xplane_close(&plane);
        if (!is_sound && r->file.failed) return false;
        if (!is_sound)
            return gt_fail(r->error, "%s: plane %zu is damaged; not an XPlane profile, or truncated", r->path,
                           planes + 1);
        add_plane(r, plane);
        planes++;
    }
    if (r->file.failed) return false;
    if (is_truncated && (strict || !planes))
        return gt_fail(r->error, "%s: truncated, or not an XPlane profile", r->path);
    if (is_truncated) gt_warn("%s: truncated; read %zu complete planes", r->path, planes);
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

static void add_event(void *context, const xevent *event)
{
    reader *r = context;
    const xattributes *a = &event->attributes;
    gt_account *account = &r->trace->account;
    uint64_t number = account->records++;
    if (event->dur_ps < 0) {
        gt_account_leave_out(account, GT_LEFT_NEGATIVE, "GPU event", number, true);
        return;
    }
    gt_jax_event row = {
        .start_ps = event->offset_ps,
        .dur_ps = event->dur_ps,
        .correlation = a->correlation,
        .launch_us = a->has_correlation ? find_launch(&r->launches, a->correlation) : (double)NAN,
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

static void end_line(void *context, const xline *l)
{
    reader *r = context;
    gt_jax *trace = r->trace;
    size_t first = r->line_begin;
    if (l->is_skipped) {
        trace->count = first;
        r->before_line.records = trace->account.records;
        trace->account = r->before_line;
    }
    r->before_line = trace->account;
    if (trace->count == first) return;
    for (size_t i = first; i < trace->count; i++)
        trace->start_ps[i] = gt_xline_start_ps(l, trace->start_ps[i]);
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

/* Stats that only the lines that viewers derive need. */
static const xstat_role viewer_roles[] = {XSTAT_GROUP, XSTAT_SCOPE, XSTAT_KERNEL_DETAILS, XSTAT_GRAPH,
                                          XSTAT_TF_OP};

/* Viewers derive further lines, whose events are numbered too. So the derived events of a GPU must be counted
 * if another GPU follows (has_followers). */
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
    bool ok = gt_xplane_open(plane, &r->file, trace->strings, true);
    ok = ok && gt_xplane_device(plane, &r->file, &trace->gpus[trace->gpu_count - 1].device);
    if (ok && !has_followers) gt_xplane_skip_stats(plane, viewer_roles, GT_LENGTH(viewer_roles));
    ok = ok && gt_xplane_visit(plane, &r->file, &(xvisitor){r, add_event, end_line});
    if (!ok) fail_damaged(r, plane);
    gt_jax_gpu *gpu = &trace->gpus[trace->gpu_count - 1];
    gpu->end = trace->count;
    if (gpu->begin == gpu->end) trace->gpu_count--;
    return ok;
}

/* ---- event ids ---- */

static bool read_scopes(reader *r)
{
    xrange plane = r->scopes.range;
    bool is_damaged = false;
    xfield field;
    gt_jax_scopes *scopes = &r->scope_parents;
    while (gt_xfile_next(&r->file, &plane, &field, &is_damaged)) {
        gt_str bytes;
        if (field.number != 6) continue;
        if (!gt_xfile_show(&r->file, field.body, &bytes)) return fail_damaged(r, &r->scopes);
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
    return !is_damaged || fail_damaged(r, &r->scopes);
}

/* A profile with groups has been through a viewer before, which adds no lines a second time. */
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
        if (derived_lines && g + 1 < trace->gpu_count) /* no ids follow those of the last GPU */
            gpu->derived = gt_jax_count_derived(trace, gpu, &r->scope_parents);
        uid += gpu->end - gpu->begin + gpu->derived;
    }
}

/* ---- the profile ---- */

static bool read_gpus(reader *r)
{
    for (size_t i = 0; i < r->gpus.count; i++) {
        bool ok = read_gpu(r, &r->gpus.items[i], i + 1 < r->gpus.count);
        gt_xplane_close(&r->gpus.items[i]);
        if (!ok) return false;
    }
    return true;
}

static bool read_space(reader *r, bool strict)
{
    if (!list_planes(r, strict)) return false;
    if (r->has_host && !read_launches(&r->launches, &r->host, &r->file, r->trace))
        return fail_damaged(r, &r->host);
    gt_xplane_close(&r->host);
    if ((r->has_scopes && !read_scopes(r)) || !read_gpus(r)) return false;
    if (r->has_metadata && !gt_xplane_read_modules(&r->metadata, &r->file, r->products_of, r->trace))
        return fail_damaged(r, &r->metadata);
    gt_jax_sort_events(r->trace);
    number_events(r);
    gt_jax_find_kinds(r->trace);
    return true;
}

static void free_reader(reader *r)
{
    for (size_t i = 0; i < r->gpus.count; i++) gt_xplane_close(&r->gpus.items[i]);
    gt_free(r->gpus.items);
    gt_xplane_close(&r->host);
    gt_xplane_close(&r->metadata);
    gt_xplane_close(&r->scopes);
    free_launches(&r->launches);
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
    bool ok =
        gt_window_open(&r.file.window, stream, options->strict, error) && read_space(&r, options->strict);
    free_reader(&r);
    if (ok) {
        r.trace->account.used = r.trace->account.gpu_used = r.trace->count;
        gt_account_warn(&r.trace->account);
        return r.trace;
    }
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
    /* The plane may be longer than the available bytes, so its length is decoded here. */
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
