/* Where in the program does a host event happen?
 *
 * Each thread's events come with parents before children, so one pass gives each event the path of its parent
 * and adds what the event itself is:
 *
 *     event                                   path
 *     train.py(7): main                       main
 *      nn.Module: Net_0                       main / Net_0
 *       torch/nn/modules/linear.py: forward   main / Net_0                          not the user's code
 *        <built-in function linear>           main / Net_0
 *         aten::linear                        main / Net_0 / aten::linear           tag: <built-in ...>
 *          aten::addmm                        main / Net_0 / aten::linear / aten::addmm
 *           cudaLaunchKernel                  the same
 *
 * Functions above a module are left out when nodes are made from paths (nodes.c); here they stay, and an op
 * has a tag, the Python function that called it, so that all events with one path have one site (sites.h).
 *
 * Ops of the backward pass run on a thread of their own. Their path begins with that of the module whose op
 * they belong to, so it must be known before: they are looked at in a second pass. */
#include "page/paths.h"

#include "base/memory.h"
#include "findings/schedule/names.h"
#include "findings/schedule/sites.h"
#include "model/model.h"
#include "page/work_parts.h"

enum { ANNOTATIONS_MAX = 8 }; /* between an op and the function that called it */

static const uint32_t IS_CHOSEN = UINT32_C(1) << 31; /* a bit of op_of: what is inside counts for this op */
static const uint32_t IS_SITE = UINT32_C(1) << 31;   /* a bit of tags that are no paths */

uint32_t gt_page_paths_below(gt_page_paths *paths, uint32_t parent, uint8_t kind, uint32_t name, uint32_t tag)
{
    uint32_t *path = gt_map_put(&paths->children, (uint64_t)parent << 32 | name, (uint64_t)kind << 32 | tag);
    if (*path != GT_MAP_NONE) return *path;
    uint32_t number = *path = (uint32_t)paths->count;
    const gt_page_path *above = &paths->items[parent];
    gt_page_path item = {.parent = parent,
                         .name = name,
                         .prefix = kind == GT_NODE_OP ? above->prefix : number,
                         .kind = kind,
                         .has_module = above->has_module || kind == GT_NODE_MODULE};
    GT_PUSH(paths->items, paths->count, paths->capacity, item);
    return number;
}

/* ---- names ---- */

/* What names of ops say, found out once for each. */
enum { OP_SEEN = 1, OP_MODELLED = 2, OP_MODELS_GRADIENT = 4 };

/* What is below an event. */
enum { MODELLED_BELOW = 1, LAUNCHES_ITSELF = 2 };

typedef struct path_walk {
    const gt_schedule *schedule;
    gt_page_paths *paths;
    uint8_t *op_names; /* by string id */
    uint8_t *below;    /* by host event */
    bool all;
} path_walk;

static bool name_is(const path_walk *w, uint32_t name, uint8_t bit)
{
    if (!w->op_names[name]) {
        const gt_model *model = gt_op_find(gt_interner_get(w->schedule->strings, name));
        bool has_gradient = model && model->backward_category && model->backward == GT_BACKWARD_KNOWN;
        w->op_names[name] = (uint8_t)(OP_SEEN | (model && model->evaluate ? OP_MODELLED : 0) |
                                      (has_gradient ? OP_MODELS_GRADIENT : 0));
    }
    return w->op_names[name] & bit;
}

/* ---- one event ---- */

/* The Python function that called an op; GT_STR_NONE if another op did, or nothing is known. */
static uint32_t caller_of(const gt_schedule *schedule, const gt_host_event *op)
{
    uint32_t at = op->parent;
    for (int i = 0; i < ANNOTATIONS_MAX && at != GT_NONE; i++) {
        const gt_host_event *event = &schedule->events[at];
        if (event->kind == GT_KIND_PYTHON) return event->name;
        if (event->kind != GT_KIND_ANNOTATION) break;
        at = event->parent;
    }
    return GT_STR_NONE;
}

/* Where the outermost op of autograd's engine belongs: to the module of the forward pass. */
static uint32_t begin_backward(const path_walk *w, uint32_t number, uint32_t *tag)
{
    const gt_schedule *schedule = w->schedule;
    uint32_t forward = gt_forward_op(schedule, number);
    if (forward == GT_NONE) {
        uint32_t name = gt_interner_add_cstr(schedule->strings, "backward");
        return gt_page_paths_below(w->paths, 0, GT_NODE_ANNOTATION, name, 0);
    }
    uint32_t path = w->paths->of_event[forward];
    *tag = schedule->events[forward].launches ? path : IS_SITE | gt_site_of(schedule, forward);
    return w->paths->items[path].prefix;
}

static uint32_t path_of_op(const path_walk *w, uint32_t number, uint32_t above)
{
    const gt_host_event *op = &w->schedule->events[number];
    const uint8_t backward = GT_HOST_BACKWARD;
    uint32_t tag = caller_of(w->schedule, op);
    bool begins_backward = op->flags & backward &&
                           (op->parent == GT_NONE || !(w->schedule->events[op->parent].flags & backward));
    if (begins_backward) above = begin_backward(w, number, &tag);
    return gt_page_paths_below(w->paths, above, GT_NODE_OP, op->name, tag);
}

static uint32_t path_of(const path_walk *w, uint32_t number, uint32_t above)
{
    const gt_schedule *schedule = w->schedule;
    const gt_host_event *event = &schedule->events[number];
    if (event->kind == GT_KIND_CPU_OP) return path_of_op(w, number, above);
    if (event->kind == GT_KIND_ANNOTATION) {
        if (gt_name_has(schedule, event->name, GT_NAME_STEP)) return above;
        return gt_page_paths_below(w->paths, above, GT_NODE_ANNOTATION, event->name, 0);
    }
    if (event->kind != GT_KIND_PYTHON) return above;
    if (gt_name_has(schedule, event->name, GT_NAME_LAYER))
        return gt_page_paths_below(w->paths, above, GT_NODE_MODULE, event->name, 0);
    if (gt_name_has(schedule, event->name, GT_NAME_FRAMEWORK | GT_NAME_INTERNAL)) return above;
    return gt_page_paths_below(w->paths, above, GT_NODE_FUNCTION, event->name, 0);
}

/* ---- the op that launches count for ---- */

/* Finds out what is below events, from the last to the first: children come after their parents. */
static void look_below(const path_walk *w)
{
    const gt_host_event *events = w->schedule->events;
    for (size_t i = w->schedule->event_count; i-- > 0;) {
        const gt_host_event *event = &events[i];
        if (event->parent == GT_NONE || !(event->launches || w->all)) continue;
        bool is_op = event->kind == GT_KIND_CPU_OP;
        bool is_call = event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER;
        uint8_t passed = w->below[i];
        if (is_op) passed &= MODELLED_BELOW;
        if (is_op && name_is(w, event->name, OP_MODELLED)) passed |= MODELLED_BELOW;
        if (is_call) passed |= LAUNCHES_ITSELF;
        w->below[event->parent] |= passed;
    }
}

/* Whether an op is the gradient of one whose model knows it: the outermost op that the engine calls. */
static bool is_gradient(const path_walk *w, const gt_host_event *op)
{
    enum { NEAR = 8 };
    const gt_schedule *s = w->schedule;
    const gt_host_event *events = s->events;
    if (op->parent == GT_NONE || !gt_name_has(s, events[op->parent].name, GT_NAME_BACKWARD)) return false;
    uint32_t forward = gt_forward_op(s, op->parent);
    if (forward == GT_NONE) return false;
    for (size_t i = forward; i < s->event_count && i < (size_t)forward + NEAR; i++) {
        if (events[i].start_ns >= events[forward].end_ns && i > forward) return false;
        if (events[i].kind == GT_KIND_CPU_OP && name_is(w, events[i].name, OP_MODELS_GRADIENT)) return true;
    }
    return false;
}

/* Whether all launches below an op count for it. */
static bool takes_all(const path_walk *w, uint32_t number)
{
    const gt_host_event *op = &w->schedule->events[number];
    if (name_is(w, op->name, OP_MODELLED)) return true;
    if (w->below[number] & MODELLED_BELOW) return false;
    return w->below[number] & LAUNCHES_ITSELF || is_gradient(w, op);
}

static uint32_t op_of(const path_walk *w, uint32_t number, uint32_t above)
{
    const gt_host_event *event = &w->schedule->events[number];
    if (event->kind != GT_KIND_CPU_OP || (above != GT_NONE && above & IS_CHOSEN)) return above;
    return takes_all(w, number) ? number | IS_CHOSEN : number;
}

/* ---- all events ---- */

static void walk(const path_walk *w, bool backward)
{
    const gt_host_event *events = w->schedule->events;
    uint32_t *paths = w->paths->of_event, *ops = w->paths->op_of;
    size_t count = w->schedule->event_count;
    for (uint32_t i = 0; i < count; i++) {
        const gt_host_event *event = &events[i];
        if (backward != ((event->flags & GT_HOST_BACKWARD) != 0)) continue;
        uint32_t parent = event->parent;
        uint32_t path = parent == GT_NONE ? 0 : paths[parent];
        if (event->launches || w->all) {
            path = path_of(w, i, path);
            ops[i] = op_of(w, i, parent == GT_NONE ? GT_NONE : ops[parent]);
        } else {
            ops[i] = GT_NONE;
        }
        paths[i] = path;
    }
}

gt_page_paths gt_page_paths_new(const gt_schedule *schedule, bool all)
{
    gt_page_paths paths = {.of_event = gt_alloc(schedule->event_count * sizeof *paths.of_event),
                           .op_of = gt_alloc(schedule->event_count * sizeof *paths.op_of)};
    path_walk w = {.schedule = schedule,
                   .paths = &paths,
                   .op_names = gt_alloc_zero(gt_interner_count(schedule->strings), 1),
                   .below = gt_alloc_zero(schedule->event_count, 1),
                   .all = all};
    GT_PUSH(paths.items, paths.count, paths.capacity, ((gt_page_path){.parent = GT_NONE}));
    look_below(&w);
    walk(&w, false);
    walk(&w, true);
    gt_free(w.op_names);
    gt_free(w.below);
    return paths;
}

void gt_page_paths_free(gt_page_paths *paths)
{
    gt_free(paths->items);
    gt_map_free(&paths->children);
    gt_free(paths->of_event);
    gt_free(paths->op_of);
    *paths = (gt_page_paths){0};
}
