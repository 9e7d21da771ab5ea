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
 * Functions above a module are left out when nodes are made from paths (below); here they stay, and an op
 * has a tag, the Python function that called it, so that all events with one path have one site (sites.h).
 *
 * Ops of the backward pass run on a thread of their own. Their path begins with that of the module whose op
 * they belong to, so it must be known before: they are looked at in a second pass. */
#include "page/paths.h"

#include "findings/schedule/names.h"
#include "schema/page.h"

enum { ANNOTATIONS_MAX = 8 }; /* between an op and the function that called it */

static const uint32_t IS_SITE = UINT32_C(1) << 31; /* a bit of tags that are no paths */

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

typedef struct path_walk {
    const gt_schedule *schedule;
    gt_page_paths *paths;
    bool all;
} path_walk;

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

/* ---- all events ---- */

static void walk(const path_walk *w, bool backward)
{
    const gt_host_event *events = w->schedule->events;
    uint32_t *paths = w->paths->of_event;
    size_t count = w->schedule->event_count;
    for (uint32_t i = 0; i < count; i++) {
        const gt_host_event *event = &events[i];
        if (backward != ((event->flags & GT_HOST_BACKWARD) != 0)) continue;
        uint32_t parent = event->parent;
        uint32_t path = parent == GT_NONE ? 0 : paths[parent];
        paths[i] = event->launches || w->all ? path_of(w, i, path) : path;
    }
}

gt_page_paths gt_page_paths_new(const gt_schedule *schedule, bool all)
{
    gt_page_paths paths = {.of_event = gt_alloc(schedule->event_count * sizeof *paths.of_event)};
    path_walk w = {.schedule = schedule, .paths = &paths, .all = all};
    GT_PUSH(paths.items, paths.count, paths.capacity, ((gt_page_path){.parent = GT_NONE}));
    walk(&w, false);
    walk(&w, true);
    return paths;
}

void gt_page_paths_free(gt_page_paths *paths)
{
    gt_free(paths->items);
    gt_map_free(&paths->children);
    gt_free(paths->of_event);
    *paths = (gt_page_paths){0};
}

/* ---- nodes ----
 *
 * Which call paths does the page show? Those above, made readable:
 *
 *     - below a module there are no functions: the modules tell more;
 *     - an op of autograd's engine is called like the function that it evaluates, and both are one;
 *     - annotations that differ only in numbers are one, "step #", so that steps share their tree;
 *     - paths that differ only in tags are one;
 *     - what is deeper than DEPTH_MAX counts for the node above it. */

enum { DEPTH_MAX = 200 };
enum { WITH_FUNCTIONS = 1, WITHOUT_FUNCTIONS = 2 }; /* in which form a path is wanted */

/* ---- annotations ---- */

/* The name with each number replaced by "#"; GT_STR_NONE if there is none in it. */
static uint32_t without_numbers(gt_interner *strings, uint32_t name, gt_buffer *spare)
{
    gt_str text = gt_interner_get(strings, name);
    bool any = false;
    spare->len = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = gt_is_digit(text.bytes[i]);
        any |= is_digit;
        if (!is_digit)
            gt_buffer_add(spare, text.bytes + i, 1);
        else if (!i || !gt_is_digit(text.bytes[i - 1]))
            gt_buffer_add_cstr(spare, "#");
    }
    return any ? gt_interner_add(strings, spare->bytes, spare->len) : (uint32_t)GT_STR_NONE;
}

/* ---- names ---- */

static const char MODULE[] = "nn.Module: ", ENGINE[] = "autograd::engine::evaluate_function: ";

/* What follows `begin` in a name, "Linear_0" in "nn.Module: Linear_0"; the name itself if it begins
 * otherwise. */
static uint32_t name_after(gt_interner *strings, const char *begin, uint32_t name)
{
    size_t len = strlen(begin);
    gt_str text = gt_interner_get(strings, name);
    if (!gt_str_starts_with(text, begin) || text.len == len) return name;
    return gt_interner_add(strings, text.bytes + len, text.len - len);
}

/* By path: the name of its node. */
static uint32_t *name_paths(gt_interner *strings, const gt_page_paths *paths)
{
    uint32_t *names = gt_alloc(paths->count * sizeof *names);
    gt_map forms = {0}, uses = {0}; /* name -> form; form -> its only name, or GT_STR_NONE */
    gt_buffer spare = {0};
    for (size_t i = 0; i < paths->count; i++) {
        names[i] = paths->items[i].name;
        if (!i) continue;
        if (paths->items[i].kind == GT_NODE_MODULE) names[i] = name_after(strings, MODULE, names[i]);
        if (paths->items[i].kind == GT_NODE_OP) names[i] = name_after(strings, ENGINE, names[i]);
        if (paths->items[i].kind != GT_NODE_ANNOTATION) continue;
        uint32_t *form = gt_map_put(&forms, names[i], 0);
        if (*form == GT_MAP_NONE) *form = without_numbers(strings, names[i], &spare);
        if (*form == GT_STR_NONE) continue;
        uint32_t *use = gt_map_put(&uses, *form, 0);
        *use = *use == GT_MAP_NONE || *use == names[i] ? names[i] : (uint32_t)GT_STR_NONE;
    }
    for (size_t i = 1; i < paths->count; i++) {
        if (paths->items[i].kind != GT_NODE_ANNOTATION) continue;
        uint32_t form = gt_map_get(&forms, names[i], 0);
        if (form != GT_STR_NONE && gt_map_get(&uses, form, 0) == GT_STR_NONE) names[i] = form;
    }
    gt_buffer_free(&spare);
    gt_map_free(&forms);
    gt_map_free(&uses);
    return names;
}

/* ---- nodes ---- */

typedef struct node_maker {
    gt_page_work *w;
    size_t capacity;
    gt_map numbers; /* (parent, name), kind -> node */
} node_maker;

static uint32_t node_below(node_maker *m, uint32_t parent, uint8_t kind, uint32_t name)
{
    gt_page_work *w = m->w;
    uint8_t depth = parent == GT_NONE ? 0 : (uint8_t)(w->nodes[parent].depth + 1);
    if (depth >= DEPTH_MAX) return parent;
    uint32_t *number = gt_map_put(&m->numbers, (uint64_t)parent << 32 | name, kind);
    if (*number != GT_MAP_NONE) return *number;
    *number = (uint32_t)w->node_count;
    gt_page_node node = {.parent = parent, .name = name, .kind = kind, .depth = depth};
    uint32_t made = *number;
    GT_PUSH(w->nodes, w->node_count, m->capacity, node);
    return made;
}

/* Whether a path has no node of its own: the function that autograd's engine evaluates. */
static bool is_same(const gt_page_paths *paths, const uint32_t *names, size_t path)
{
    const gt_page_path *item = &paths->items[path];
    bool is_shortened = names[item->parent] != paths->items[item->parent].name;
    return item->kind == GT_NODE_OP && paths->items[item->parent].kind == GT_NODE_OP && is_shortened &&
           names[item->parent] == names[path];
}

/* In which forms paths are wanted: those above a wanted one are, too. */
static uint8_t *find_forms(const gt_page_paths *paths, const uint8_t *wanted)
{
    uint8_t *forms = gt_alloc_zero(paths->count, 1);
    for (size_t i = paths->count; i-- > 1;) {
        const gt_page_path *path = &paths->items[i];
        if (wanted[i]) forms[i] |= path->has_module ? WITHOUT_FUNCTIONS : WITH_FUNCTIONS;
        forms[path->parent] |= forms[i];
    }
    return forms;
}

uint32_t *gt_page_make_nodes(gt_page_work *w, const gt_page_paths *paths, const uint8_t *wanted)
{
    node_maker m = {.w = w};
    uint32_t *names = name_paths(w->schedule->strings, paths);
    uint32_t *with = gt_no_events(paths->count), *without = gt_no_events(paths->count);
    uint8_t *forms = find_forms(paths, wanted);
    for (size_t i = 1; i < paths->count; i++) {
        const gt_page_path *path = &paths->items[i];
        bool same = is_same(paths, names, i);
        with[i] = with[path->parent];
        without[i] = without[path->parent];
        if (forms[i] & WITH_FUNCTIONS && !same) with[i] = node_below(&m, with[i], path->kind, names[i]);
        if (forms[i] & WITHOUT_FUNCTIONS && !same && path->kind != GT_NODE_FUNCTION)
            without[i] = node_below(&m, without[i], path->kind, names[i]);
    }
    for (size_t i = 1; i < paths->count; i++)
        if (paths->items[i].has_module) with[i] = without[i];
    gt_map_free(&m.numbers);
    gt_free_all(names, without, forms);
    return with;
}

/* ---- the table ---- */

void gt_page_add_nodes(const gt_page_work *w, gt_table_list *tables)
{
    static const char *const kinds[] = {[GT_NODE_MODULE] = "module",
                                        [GT_NODE_FUNCTION] = "function",
                                        [GT_NODE_ANNOTATION] = "annotation",
                                        [GT_NODE_OP] = "op"};
    static const gt_column_head heads[] = {{GT_COL_PAGE_PARENT, GT_TYPE_INT},
                                           {GT_COL_PAGE_KIND, GT_TYPE_STRING},
                                           {GT_COL_PAGE_NAME, GT_TYPE_STRING}};
    enum { PARENT, KIND, NAME };
    gt_table *table = gt_table_new(GT_SHEET_PAGE_NODES, w->schedule->strings);
    uint32_t ids[GT_LENGTH(kinds)];
    for (size_t i = 0; i < GT_LENGTH(kinds); i++) ids[i] = gt_interner_add_cstr(table->strings, kinds[i]);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, w->node_count);
    for (size_t i = 0; i < w->node_count; i++) {
        const gt_page_node *node = &w->nodes[i];
        if (node->parent == GT_NONE)
            gt_table_set_null(table, PARENT, i);
        else
            gt_table_set_int(table, PARENT, i, node->parent);
        table->columns[KIND].texts[i] = ids[node->kind];
        table->columns[NAME].texts[i] = node->name;
    }
    gt_table_list_add(tables, table);
}
