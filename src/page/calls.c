/* What launched the GPU's work? Ops, with their path in the program, their shapes and the call that launched.
 *
 * A trace has as many launches as kernels, but few different ones. So a launch is first reduced to numbers
 * that the trace has anyway: its path (paths.h), the string of its input shapes, the name of the call. Only
 * for the combinations that occur, texts are made: how Python prints the shapes, the site. Different
 * combinations may then be displayed the same, and are one row.
 *
 *     launch  ->  raw call (path, shapes as JSON, call)  ->  row of page_calls
 *
 * In profiles of JAX, ops have no launching op on the host, and all launches look alike; what the compiler
 * says about ops takes their place. */
#include "page/paths.h"

#include "compat/python_literal.h"
#include "schema/page.h"

enum { CALLS_MAX = 50000 };

/* A combination that occurs. */
typedef struct raw_call {
    uint32_t path;
    gt_page_call call; /* its node is found at the end */
} raw_call;

typedef struct call_finder {
    gt_page_work *w;
    gt_page_paths paths;
    uint8_t *op_is_known; /* by host event: some GPU work of it was seen */
    raw_call *raws;
    size_t raw_count, raw_capacity;
    gt_map raw_keys;
    gt_python_literals *literals;
    /* Launches: those of the schedule's points, then those of other devices' ops. */
    uint32_t *launch_events, *launch_dims;
    size_t launch_count;
    /* Rows of page_calls. */
    size_t call_capacity;
    gt_map places, texts, rows; /* (node, op); (shapes, python); (these two, runtime) -> row */
} call_finder;

/* ---- launches ---- */

static bool has_launch(const gt_host_point *point)
{
    return point->op_count != 0;
}

/* Lists the events of all calls that launched an op. */
static void list_launches(call_finder *f)
{
    const gt_schedule *s = f->w->schedule;
    const gt_all_devices *devices = &f->w->devices;
    f->launch_events = gt_alloc((s->point_count + devices->other_count) * sizeof *f->launch_events);
    for (size_t i = 0; i < s->point_count; i++)
        if (has_launch(&s->points[i])) f->launch_events[f->launch_count++] = s->points[i].event;
    for (size_t i = 0; i < devices->other_count; i++)
        if (devices->others[i].event != GT_NONE)
            f->launch_events[f->launch_count++] = devices->others[i].event;
}

/* Looks up the shapes of the ops that launches count for, many at a time. */
static void read_dims(call_finder *f)
{
    const gt_schedule *s = f->w->schedule;
    f->launch_dims = gt_alloc_zero(f->launch_count, sizeof *f->launch_dims);
    if (!s->trace || !s->trace->store) return;
    uint32_t *rows = gt_alloc(f->launch_count * sizeof *rows);
    uint32_t *launches = gt_alloc(f->launch_count * sizeof *launches);
    uint32_t *dims = gt_alloc(f->launch_count * sizeof *dims);
    size_t count = 0;
    for (uint32_t i = 0; i < f->launch_count; i++) {
        uint32_t op = f->w->launch_ops[f->launch_events[i]];
        if (op == GT_NONE) continue;
        rows[count] = s->events[op].row;
        launches[count++] = i;
    }
    gt_store_string_ids_at(s->trace->store, GT_EVENT_INPUT_DIMS, rows, count, dims);
    for (size_t i = 0; i < count; i++) f->launch_dims[launches[i]] = dims[i];
    gt_free_all(rows, launches, dims);
}

/* ---- raw calls ---- */

/* Where in the Python program a launch happens. */
static uint32_t python_of(const gt_schedule *s, uint32_t event, uint32_t op)
{
    if (!s->has_stacks || s->origin != GT_BY_PYTORCH) return GT_STR_NONE;
    uint32_t site = op != GT_NONE ? gt_site_of_op(s, op) : gt_site_of_call(s, event);
    return gt_site_is_known(s, site) ? site : (uint32_t)GT_STR_NONE;
}

static raw_call describe(call_finder *f, uint32_t event, uint32_t dims)
{
    const gt_schedule *s = f->w->schedule;
    uint32_t op = f->w->launch_ops[event];
    raw_call raw = {.path = f->paths.of_event[event],
                    .call = {.op = op == GT_NONE ? (uint32_t)GT_STR_NONE : s->events[op].name,
                             .shapes = gt_python_literals_of(f->literals, dims),
                             .python = python_of(s, event, gt_op_above(s, event)),
                             .runtime = s->events[event].name,
                             .in_optimizer = s->events[event].flags & GT_HOST_OPTIMIZER}};
    return raw;
}

/* The raw call of a launch. What called it says more than its path if that is no op. */
static uint32_t raw_of_launch(call_finder *f, size_t launch)
{
    const gt_host_event *events = f->w->schedule->events;
    uint32_t event = f->launch_events[launch], parent = events[event].parent;
    uint32_t dims = f->launch_dims[launch];
    bool is_called_by_python = parent != GT_NONE && events[parent].kind == GT_KIND_PYTHON;
    uint64_t place = (uint64_t)f->paths.of_event[event] << 32 | dims;
    uint64_t what = (uint64_t)events[event].name << 32 | (is_called_by_python ? events[parent].name : 0);
    uint32_t *raw = gt_map_put(&f->raw_keys, place, what);
    if (*raw != GT_MAP_NONE) return *raw;
    uint32_t number = *raw = (uint32_t)f->raw_count;
    GT_PUSH(f->raws, f->raw_count, f->raw_capacity, describe(f, event, dims));
    return number;
}

/* Whether GPU work is the first of the op that it counts for. */
static bool begins_op(call_finder *f, uint32_t event)
{
    uint32_t op = f->w->launch_ops[event];
    if (op == GT_NONE || f->op_is_known[op]) return false;
    f->op_is_known[op] = 1;
    return true;
}

/* ---- origins ---- */

/* "jit(step)/Dense_0/dot_general": the last part is the op. */
static uint32_t path_of_origin(call_finder *f, const gt_op_origin *origin)
{
    gt_interner *strings = f->w->schedule->strings;
    gt_str text = gt_interner_get(strings, origin->path);
    uint32_t path = 0;
    for (size_t begin = 0, end; begin < text.len; begin = end + 1) {
        const char *slash = memchr(text.bytes + begin, '/', text.len - begin);
        end = slash ? (size_t)(slash - text.bytes) : text.len;
        if (end == begin) continue;
        uint32_t name = gt_interner_add(strings, text.bytes + begin, end - begin);
        path = gt_page_paths_below(&f->paths, path, slash ? GT_NODE_MODULE : GT_NODE_OP, name, 0);
    }
    if (!path && origin->name != GT_STR_NONE)
        path = gt_page_paths_below(&f->paths, 0, GT_NODE_OP, origin->name, 0);
    return path;
}

static uint32_t raw_of_origin(call_finder *f, const gt_op_origin *origin)
{
    if (origin->name == GT_STR_NONE && origin->path == GT_STR_NONE) return GT_NONE;
    uint64_t place = (uint64_t)origin->path << 32 | origin->name;
    uint32_t *raw = gt_map_put(&f->raw_keys, place, origin->shapes);
    if (*raw != GT_MAP_NONE) return *raw;
    uint32_t number = *raw = (uint32_t)f->raw_count;
    raw_call made = {.path = path_of_origin(f, origin),
                     .call = {.op = origin->name, .shapes = origin->shapes}};
    GT_PUSH(f->raws, f->raw_count, f->raw_capacity, made);
    return number;
}

/* Sets op_call to raw calls. */
static void find_by_origins(call_finder *f)
{
    gt_page_work *w = f->w;
    const gt_schedule *s = w->schedule;
    memset(w->op_begins, true, w->op_count);
    for (size_t i = 0; i < s->op_count; i++) w->op_call[i] = raw_of_origin(f, &s->origins[i]);
    for (size_t i = 0; i < w->devices.other_count; i++)
        w->op_call[s->op_count + i] = raw_of_origin(f, &w->devices.others[i].origin);
}

/* Kernels of graphs: the op that they belong to says more than the call that launched the graph. */
static void prefer_origins(call_finder *f)
{
    gt_page_work *w = f->w;
    const gt_schedule *s = w->schedule;
    for (size_t i = 0; s->origins && i < s->op_count; i++) {
        uint32_t raw = raw_of_origin(f, &s->origins[i]);
        if (raw == GT_NONE) continue;
        w->op_call[i] = raw;
        w->op_begins[i] = !s->origins[i].continues;
    }
}

static void find_by_launches(call_finder *f)
{
    gt_page_work *w = f->w;
    const gt_schedule *s = w->schedule;
    size_t launch = 0;
    uint32_t *raw_of_point = gt_alloc(s->point_count * sizeof *raw_of_point);
    list_launches(f);
    read_dims(f);
    for (size_t i = 0; i < s->point_count; i++)
        raw_of_point[i] = has_launch(&s->points[i]) ? raw_of_launch(f, launch++) : GT_NONE;
    for (size_t i = 0; i < s->op_count; i++) {
        uint32_t point = s->ops[i].point;
        w->op_call[i] = point == GT_NONE ? GT_NONE : raw_of_point[point];
        w->op_begins[i] = point != GT_NONE && begins_op(f, s->points[point].event);
    }
    for (size_t i = 0; i < w->devices.other_count; i++) {
        uint32_t event = w->devices.others[i].event;
        w->op_call[s->op_count + i] = event == GT_NONE ? GT_NONE : raw_of_launch(f, launch++);
        w->op_begins[s->op_count + i] = event != GT_NONE && begins_op(f, event);
    }
    prefer_origins(f);
    gt_free_all(raw_of_point, f->launch_events, f->launch_dims);
}

/* ---- rows ---- */

/* A number of its own for each pair. */
static uint32_t number_pair(gt_map *map, uint32_t a, uint32_t b)
{
    uint32_t next = (uint32_t)map->count, *number = gt_map_put(map, a, b);
    if (*number == GT_MAP_NONE) *number = next;
    return *number;
}

static uint32_t row_of(call_finder *f, gt_page_call call)
{
    gt_page_work *w = f->w;
    uint32_t place = number_pair(&f->places, call.node, call.op);
    uint32_t text = number_pair(&f->texts, call.shapes, call.python);
    uint32_t *row = gt_map_put(&f->rows, (uint64_t)place << 32 | text, call.runtime);
    if (*row == GT_MAP_NONE) {
        *row = (uint32_t)w->call_count;
        uint32_t made = *row;
        GT_PUSH(w->calls, w->call_count, f->call_capacity, call);
        return made;
    }
    w->calls[*row].in_optimizer |= call.in_optimizer;
    return *row;
}

static void forget_rows(call_finder *f)
{
    gt_map_free(&f->places);
    gt_map_free(&f->texts);
    gt_map_free(&f->rows);
}

typedef struct call_use {
    size_t count; /* of ops */
    uint32_t call;
} call_use;

GT_ORDER_BY(rarest_last, call_use, GT_DOWN(count) GT_UP(call))

/* Joins the rarest calls: without shapes and sites, and if that is not enough, they become unknown. */
static void join_rarest(call_finder *f)
{
    gt_page_work *w = f->w;
    size_t count = w->call_count;
    call_use *uses = gt_alloc(count * sizeof *uses);
    for (uint32_t i = 0; i < count; i++) uses[i] = (call_use){0, i};
    for (size_t i = 0; i < w->op_count; i++)
        if (w->op_call[i] != GT_NONE) uses[w->op_call[i]].count++;
    qsort(uses, count, sizeof *uses, rarest_last);
    gt_page_call *calls = w->calls;
    for (size_t i = CALLS_MAX / 2; i < count; i++)
        calls[uses[i].call].shapes = calls[uses[i].call].python = GT_STR_NONE;
    gt_free(uses);
    forget_rows(f);
    w->calls = NULL;
    w->call_count = f->call_capacity = 0;
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    for (size_t i = 0; i < count; i++) rows[i] = row_of(f, calls[i]);
    for (size_t i = 0; i < w->op_count; i++)
        if (w->op_call[i] != GT_NONE) {
            uint32_t row = rows[w->op_call[i]];
            w->op_call[i] = row < CALLS_MAX ? row : GT_NONE;
        }
    if (w->call_count > CALLS_MAX) w->call_count = CALLS_MAX;
    gt_free_all(rows, calls);
}

/* From raw calls to rows. The call that launched a graph has no work if all its kernels have ops. */
static void make_rows(call_finder *f)
{
    gt_page_work *w = f->w;
    uint8_t *wanted = gt_alloc_zero(f->paths.count, 1);
    uint8_t *has_work = gt_alloc_zero(f->raw_count, 1);
    uint32_t *rows = gt_alloc(f->raw_count * sizeof *rows);
    for (size_t i = 0; i < w->op_count; i++)
        if (w->op_call[i] != GT_NONE) has_work[w->op_call[i]] = 1;
    for (size_t i = 0; i < f->raw_count; i++) wanted[f->raws[i].path] |= has_work[i];
    uint32_t *nodes = gt_page_make_nodes(w, &f->paths, wanted);
    for (size_t i = 0; i < f->raw_count; i++) {
        if (!has_work[i]) continue;
        f->raws[i].call.node = nodes[f->raws[i].path];
        rows[i] = row_of(f, f->raws[i].call);
    }
    for (size_t i = 0; i < w->op_count; i++)
        if (w->op_call[i] != GT_NONE) w->op_call[i] = rows[w->op_call[i]];
    gt_free_all(wanted, has_work, nodes, rows);
}

void gt_page_find_calls(gt_page_work *w)
{
    const gt_schedule *s = w->schedule;
    bool all = w->devices.other_count != 0;
    w->launch_ops = all ? gt_launch_ops_find(s, true) : w->findings->launch_ops;
    w->op_begins = gt_alloc_zero(w->op_count, sizeof *w->op_begins);
    call_finder f = {.w = w,
                     .paths = gt_page_paths_new(s, all),
                     .op_is_known = gt_alloc_zero(s->event_count, 1),
                     .literals = gt_python_literals_new(s->strings, GT_PYTHON_TUPLES)};
    w->op_call = gt_alloc(w->op_count * sizeof *w->op_call);
    if (s->origins && s->origin != GT_BY_PYTORCH)
        find_by_origins(&f);
    else
        find_by_launches(&f);
    make_rows(&f);
    if (w->call_count > CALLS_MAX) join_rarest(&f);
    forget_rows(&f);
    gt_map_free(&f.raw_keys);
    gt_free_all(f.raws, f.op_is_known);
    gt_python_literals_free(f.literals);
    gt_page_paths_free(&f.paths);
}

/* ---- the tables ---- */

void gt_page_add_calls(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {{GT_COL_PAGE_NODE, GT_TYPE_INT},
                                           {GT_COL_PAGE_OP, GT_TYPE_STRING},
                                           {GT_COL_PAGE_SHAPES, GT_TYPE_STRING},
                                           {GT_COL_PAGE_PYTHON, GT_TYPE_STRING},
                                           {GT_COL_PAGE_RUNTIME, GT_TYPE_STRING}};
    enum { NODE, OP, SHAPES, PYTHON, RUNTIME };
    gt_table *table = gt_table_new(GT_SHEET_PAGE_CALLS, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, w->call_count);
    for (size_t i = 0; i < w->call_count; i++) {
        const gt_page_call *call = &w->calls[i];
        if (call->node == GT_NONE)
            gt_table_set_null(table, NODE, i);
        else
            gt_table_set_int(table, NODE, i, call->node);
        table->columns[OP].texts[i] = call->op;
        table->columns[SHAPES].texts[i] = call->shapes;
        table->columns[PYTHON].texts[i] = call->python;
        table->columns[RUNTIME].texts[i] = call->runtime;
    }
    gt_table_list_add(tables, table);
    gt_page_add_nodes(w, tables);
}
