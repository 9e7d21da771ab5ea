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

static const uint32_t IS_MODELLED = UINT32_C(1) << 31;

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

/* What names of ops say, found out once for each: 0 is unknown. */
enum { OP_PLAIN = 1, OP_MODELLED };

typedef struct path_walk {
    const gt_schedule *schedule;
    gt_page_paths *paths;
    uint8_t *op_names; /* by string id */
    bool all;
} path_walk;

static bool is_modelled(const path_walk *w, uint32_t name)
{
    if (!w->op_names[name]) {
        const gt_model *model = gt_op_find(gt_interner_get(w->schedule->strings, name));
        w->op_names[name] = model && model->evaluate ? OP_MODELLED : OP_PLAIN;
    }
    return w->op_names[name] == OP_MODELLED;
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
    *tag = schedule->events[forward].launches ? path : IS_MODELLED | gt_site_of(schedule, forward);
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

static uint32_t op_of(const path_walk *w, uint32_t number, uint32_t above)
{
    const gt_host_event *event = &w->schedule->events[number];
    if (event->kind != GT_KIND_CPU_OP || (above != GT_NONE && above & IS_MODELLED)) return above;
    return is_modelled(w, event->name) ? number | IS_MODELLED : number;
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
                   .all = all};
    GT_PUSH(paths.items, paths.count, paths.capacity, ((gt_page_path){.parent = GT_NONE}));
    walk(&w, false);
    walk(&w, true);
    gt_free(w.op_names);
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
