/* Where in the program does a host event happen?
 *
 * The site of an event follows from the events above it, so each event remembers what holds for it and all
 * above it, and asks only its parent:
 *
 *     event                                  user's function    innermost call
 *     train.py(127): step                    train.py(127)      train.py(127): step
 *      <built-in method item of Tensor ...>  train.py(127)      <built-in method item ...>
 *       aten::item                           train.py(127)      <built-in method item ...>
 *        aten::_local_scalar_dense           train.py(127)      <built-in method item ...>
 *         cudaMemcpyAsync                    train.py(127)      <built-in method item ...>
 *
 * Ops without a built-in above them are named by the outermost of them. The text of a site is made once per
 * distinct pair of function and call. */
#include "findings/schedule/sites.h"

#include "findings/schedule/names.h"
#include "model/model.h"

/* The nearest Python function, op or annotation at or above an event. */
enum { NEAREST_NOTHING, NEAREST_OP, NEAREST_BUILT_IN, NEAREST_FUNCTION };

typedef struct event_place {
    uint32_t function, call; /* string ids; GT_STR_EMPTY: there is none */
    uint32_t op;             /* the nearest cpu_op */
    uint32_t outermost;      /* the outermost of the ops that directly enclose it; GT_NONE: none, as `op` */
    uint32_t range, step;    /* the nearest annotation inside the nearest step, and that step; GT_NONE */
    uint32_t site;           /* string id; GT_STR_NONE: not asked for yet */
    uint8_t nearest;
} event_place;

static const event_place no_place = {.function = GT_STR_EMPTY,
                                     .call = GT_STR_EMPTY,
                                     .op = GT_NONE,
                                     .outermost = GT_NONE,
                                     .range = GT_NONE,
                                     .step = GT_NONE,
                                     .site = GT_STR_NONE,
                                     .nearest = NEAREST_NOTHING};

struct gt_sites {
    uint32_t *place; /* by host event: the index of what is remembered, from 1; 0: not looked at yet */
    event_place *places;
    size_t place_count, place_capacity;
    uint32_t *path; /* events on the way up */
    size_t path_capacity;
    uint32_t unknown;  /* the site of no event; GT_STR_NONE: not made yet */
    gt_map texts;      /* (function, call) -> site */
    gt_map backward;   /* (site, 0) or (name, 1) -> "backward of ..." */
    gt_map forward;    /* sequence number -> the op of the forward pass */
    int64_t *sequence; /* by row of the trace; NULL: not read yet, or there are none */
    size_t sequence_count;
    bool has_forward;
};

static struct gt_sites *sites_of(const gt_schedule *schedule)
{
    if (!schedule->sites) {
        struct gt_sites *sites = gt_alloc_zero(1, sizeof *sites);
        sites->place = gt_alloc_zero(schedule->event_count, sizeof *sites->place);
        /* What is remembered is no part of the schedule's value. */
        ((gt_schedule *)schedule)->sites = sites;
    }
    return schedule->sites;
}

void gt_sites_free(gt_schedule *schedule)
{
    struct gt_sites *sites = schedule->sites;
    if (!sites) return;
    gt_free_all(sites->place, sites->places, sites->path, sites->sequence);
    gt_map_free(&sites->texts);
    gt_map_free(&sites->backward);
    gt_map_free(&sites->forward);
    gt_free(sites);
    schedule->sites = NULL;
}

/* ---- places ---- */

/* Annotations that PyTorch makes, and that have causes and rules of their own. */
static const uint64_t not_the_users = GT_NAME_FRAMEWORK | GT_NAME_DATA | GT_NAME_OPTIMIZER;

/* Fills the place of an event from that above it. */
static void place_below(const gt_schedule *schedule, uint32_t event, const event_place *above,
                        event_place *place)
{
    const gt_host_event *now = &schedule->events[event];
    uint32_t function = above->function, call = above->call, op = above->op, outermost = above->outermost;
    uint8_t nearest = above->nearest;
    if (now->kind == GT_KIND_PYTHON) {
        if (!gt_name_has(schedule, now->name, GT_NAME_FRAMEWORK)) function = now->name;
        call = now->name;
        bool is_built_in = gt_name_has(schedule, now->name, GT_NAME_BUILT_IN);
        nearest = is_built_in ? NEAREST_BUILT_IN : NEAREST_FUNCTION;
    } else if (now->kind == GT_KIND_CPU_OP ||
               (now->kind == GT_KIND_ANNOTATION && !gt_name_has(schedule, now->name, GT_NAME_STEP))) {
        if (nearest == NEAREST_NOTHING || nearest == NEAREST_FUNCTION) call = now->name;
        nearest = NEAREST_OP;
    }
    if (now->kind == GT_KIND_CPU_OP) {
        op = event;
        if (now->parent == GT_NONE || schedule->events[now->parent].kind != GT_KIND_CPU_OP) outermost = event;
    }
    place->range = above->range;
    place->step = above->step;
    if (now->kind == GT_KIND_ANNOTATION && gt_name_has(schedule, now->name, GT_NAME_STEP)) {
        place->range = GT_NONE;
        place->step = event;
    } else if (now->kind == GT_KIND_ANNOTATION && !gt_name_has(schedule, now->name, not_the_users)) {
        place->range = event;
    }
    place->function = function;
    place->call = call;
    place->op = op;
    place->outermost = outermost;
    place->site = GT_STR_NONE;
    place->nearest = nearest;
}

/* What is remembered of an event, until the next call. */
static event_place *place_of(struct gt_sites *sites, const gt_schedule *schedule, uint32_t event)
{
    size_t depth = 0;
    uint32_t at = event;
    for (; at != GT_NONE && !sites->place[at]; at = schedule->events[at].parent)
        GT_PUSH(sites->path, depth, sites->path_capacity, at);
    uint32_t above = at == GT_NONE ? 0 : sites->place[at];
    while (depth > 0) {
        at = sites->path[--depth];
        sites->places =
            gt_grow(sites->places, &sites->place_capacity, sites->place_count + 1, sizeof *sites->places);
        place_below(schedule, at, above ? &sites->places[above - 1] : &no_place,
                    &sites->places[sites->place_count++]);
        sites->place[at] = above = (uint32_t)sites->place_count;
    }
    return &sites->places[above - 1];
}

/* ---- texts ---- */

/* Appends a call as people write it: "item()" for "<built-in method item of Tensor object at 0x7f...>". */
static void add_call(gt_buffer *buffer, gt_str call)
{
    static const char *const openings[] = {"<built-in method ", "<built-in function "};
    for (size_t i = 0; i < call.len; i++) {
        gt_str rest = {call.bytes + i, call.len - i};
        for (size_t k = 0; k < GT_LENGTH(openings); k++) {
            if (!gt_str_starts_with(rest, openings[k])) continue;
            size_t begin = strlen(openings[k]), end = begin;
            while (end < rest.len &&
                   (gt_is_letter(rest.bytes[end]) || gt_is_digit(rest.bytes[end]) || rest.bytes[end] == '_'))
                end++;
            if (end == begin) continue;
            gt_buffer_add(buffer, rest.bytes + begin, end - begin);
            gt_buffer_add_cstr(buffer, "()");
            return;
        }
        if (gt_str_starts_with(rest, " at 0x")) { /* an address says nothing and differs in each run */
            size_t end = strlen(" at 0x");
            while (end < rest.len && memchr("0123456789abcdef", rest.bytes[end], 16)) end++;
            if (end > strlen(" at 0x")) {
                i += end - 1;
                continue;
            }
        }
        gt_buffer_add(buffer, call.bytes + i, 1);
    }
}

static uint32_t make_text(gt_interner *strings, gt_str function, gt_str call)
{
    gt_buffer words = {0}, text = {0};
    add_call(&words, call);
    if (function.len > 0) gt_buffer_add(&text, function.bytes, function.len);
    bool is_same =
        words.len == function.len && (words.len == 0 || memcmp(words.bytes, function.bytes, words.len) == 0);
    if (words.len > 0 && !is_same) {
        if (text.len > 0) gt_buffer_add_cstr(&text, " -> ");
        gt_buffer_add(&text, words.bytes, words.len);
    }
    if (text.len == 0) gt_buffer_add_cstr(&text, "unknown");
    uint32_t id = gt_interner_add(strings, text.bytes, text.len);
    gt_buffer_free(&words);
    gt_buffer_free(&text);
    return id;
}

static bool is_nowhere(const event_place *place)
{
    return place->function == GT_STR_EMPTY && place->call == GT_STR_EMPTY;
}

static bool is_call(const gt_schedule *schedule, uint32_t event)
{
    if (event == GT_NONE) return false;
    uint8_t kind = schedule->events[event].kind;
    return kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
}

static uint32_t text_of(struct gt_sites *sites, const gt_schedule *schedule, const event_place *place)
{
    uint32_t *text = gt_map_put(&sites->texts, place->function, place->call);
    if (*text == GT_MAP_NONE)
        *text = make_text(schedule->strings, gt_interner_get(schedule->strings, place->function),
                          gt_interner_get(schedule->strings, place->call));
    return *text;
}

uint32_t gt_site_of(const gt_schedule *schedule, uint32_t event)
{
    struct gt_sites *sites = sites_of(schedule);
    if (event == GT_NONE) {
        if (sites->unknown == GT_STR_NONE) sites->unknown = text_of(sites, schedule, &no_place);
        return sites->unknown;
    }
    if (sites->place[event]) {
        uint32_t known = sites->places[sites->place[event] - 1].site;
        if (known != GT_STR_NONE) return known;
    }
    event_place *place = place_of(sites, schedule, event);
    bool is_named = is_nowhere(place) && is_call(schedule, event);
    place->site = is_named ? schedule->events[event].name : text_of(sites, schedule, place);
    return place->site;
}

/* ---- ranges ---- */

/* Whether a range covers nearly all of a time, with most of the calls in it. A range without them may be as
 * long: then it is what the step waits for. */
static bool is_most_of(const gt_schedule *schedule, const gt_host_event *range, int64_t start_ns,
                       int64_t end_ns)
{
    static const double least_share = 0.9;
    int64_t from = range->start_ns > start_ns ? range->start_ns : start_ns;
    int64_t until = range->end_ns < end_ns ? range->end_ns : end_ns;
    if ((double)(until - from) < least_share * (double)(end_ns - start_ns)) return false;
    size_t count = schedule->point_count;
    size_t calls = gt_points_before(schedule, count, end_ns) - gt_points_before(schedule, count, start_ns);
    return 2 * (gt_points_before(schedule, count, until) - gt_points_before(schedule, count, from)) > calls;
}

uint32_t gt_range_of(const gt_schedule *schedule, uint32_t event)
{
    if (event == GT_NONE) return GT_STR_NONE;
    const event_place *place = place_of(sites_of(schedule), schedule, event);
    if (place->range == GT_NONE) return GT_STR_NONE;
    const gt_host_event *range = &schedule->events[place->range];
    const gt_step_window *window = &schedule->window;
    if (is_most_of(schedule, range, window->start_ns, window->end_ns)) return GT_STR_NONE;
    if (place->step != GT_NONE) {
        const gt_host_event *step = &schedule->events[place->step];
        if (is_most_of(schedule, range, step->start_ns, step->end_ns)) return GT_STR_NONE;
    }
    return range->name;
}

uint32_t gt_site_of_idle(const gt_schedule *schedule, uint8_t cause, uint32_t event)
{
    bool is_range =
        event != GT_NONE && cause == GT_CAUSE_UNTRACED && schedule->events[event].kind == GT_KIND_ANNOTATION;
    if (!is_range) return gt_site_of(schedule, event);
    uint32_t range = gt_range_of(schedule, event), name = schedule->events[event].name;
    if (range != GT_STR_NONE) return range;
    return gt_name_has(schedule, name, not_the_users) ? name : gt_site_of(schedule, GT_NONE);
}

/* ---- the backward pass ---- */

/* Links an op of the forward pass with its backward pass; GT_EVENT_NONE if it has none. */
static int64_t sequence_of(const struct gt_sites *sites, const gt_host_event *op)
{
    return op->row < sites->sequence_count ? sites->sequence[op->row] : GT_EVENT_NONE;
}

/* The first op with each sequence number that is not part of a backward pass. */
static void find_forward_ops(struct gt_sites *sites, const gt_schedule *schedule)
{
    sites->has_forward = true;
    if (!schedule->trace || !schedule->trace->store) return;
    sites->sequence = gt_store_ints(schedule->trace->store, GT_EVENT_SEQUENCE);
    sites->sequence_count = gt_store_count(schedule->trace->store);
    for (size_t i = 0; i < schedule->event_count; i++) {
        const gt_host_event *event = &schedule->events[i];
        if (event->kind != GT_KIND_CPU_OP || event->flags & GT_HOST_BACKWARD) continue;
        int64_t sequence = sequence_of(sites, event);
        if (sequence == GT_EVENT_NONE) continue;
        uint32_t *place = gt_map_put(&sites->forward, (uint64_t)sequence, 0);
        if (*place == GT_MAP_NONE) *place = (uint32_t)i;
    }
}

uint32_t gt_op_above(const gt_schedule *schedule, uint32_t event)
{
    return event == GT_NONE ? GT_NONE : place_of(sites_of(schedule), schedule, event)->op;
}

uint32_t gt_outermost_op(const gt_schedule *schedule, uint32_t event)
{
    return event == GT_NONE ? GT_NONE : place_of(sites_of(schedule), schedule, event)->outermost;
}

static uint32_t backward_text(struct gt_sites *sites, gt_interner *strings, uint32_t text, bool is_name)
{
    uint32_t *place = gt_map_put(&sites->backward, text, is_name);
    if (*place != GT_MAP_NONE) return *place;
    gt_str words = gt_interner_get(strings, text);
    if (is_name) { /* "autograd::engine::evaluate_function: MulBackward0" */
        for (size_t i = words.len; i >= 2; i--) {
            if (words.bytes[i - 2] != ':' || words.bytes[i - 1] != ' ') continue;
            words = (gt_str){words.bytes + i, words.len - i};
            break;
        }
    }
    gt_buffer buffer = {0};
    gt_buffer_add_cstr(&buffer, "backward of ");
    gt_buffer_add(&buffer, words.bytes, words.len);
    uint32_t id = gt_interner_add(strings, buffer.bytes, buffer.len);
    gt_buffer_free(&buffer);
    *place = id;
    return id;
}

bool gt_site_is_known(const gt_schedule *schedule, uint32_t site)
{
    return site != gt_site_of(schedule, GT_NONE);
}

uint32_t gt_site_of_call(const gt_schedule *schedule, uint32_t event)
{
    if (event == GT_NONE) return gt_site_of(schedule, GT_NONE);
    uint32_t parent = schedule->events[event].parent;
    const event_place *place = &no_place;
    if (parent != GT_NONE) place = place_of(sites_of(schedule), schedule, parent);
    if (schedule->origin != GT_BY_PYTORCH && place->call == GT_STR_EMPTY) return schedule->events[event].name;
    if (is_nowhere(place) && is_call(schedule, event)) return schedule->events[event].name;
    return gt_site_of(schedule, parent);
}

uint32_t gt_forward_op(const gt_schedule *schedule, uint32_t event)
{
    struct gt_sites *sites = sites_of(schedule);
    if (!sites->has_forward) find_forward_ops(sites, schedule);
    int64_t sequence = sequence_of(sites, &schedule->events[event]);
    return sequence == GT_EVENT_NONE ? GT_NONE : gt_map_get(&sites->forward, (uint64_t)sequence, 0);
}

uint32_t gt_site_of_op(const gt_schedule *schedule, uint32_t host_op)
{
    if (host_op == GT_NONE) return gt_site_of(schedule, host_op);
    struct gt_sites *sites = sites_of(schedule);
    uint32_t outermost = place_of(sites, schedule, host_op)->outermost;
    const gt_host_event *top = &schedule->events[outermost];
    if (!gt_str_starts_with(gt_interner_get(schedule->strings, top->name), "autograd::engine"))
        return gt_site_of(schedule, host_op);
    uint32_t forward = gt_forward_op(schedule, outermost);
    if (forward == GT_NONE) return backward_text(sites, schedule->strings, top->name, true);
    return backward_text(sites, schedule->strings, gt_site_of(schedule, forward), false);
}

/* ---- tallies ---- */

void gt_tally_add(gt_tally *tally, uint32_t text, double value)
{
    if (!tally->places) tally->places = gt_alloc_zero(1, sizeof *tally->places);
    uint32_t *place = gt_map_put(tally->places, text, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)tally->item_count;
        GT_PUSH(tally->items, tally->item_count, tally->item_capacity, ((gt_tally_item){.text = text}));
    }
    tally->items[*place].sum += value;
    tally->items[*place].count++;
}

double gt_tally_of(const gt_tally *tally, uint32_t text)
{
    uint32_t place = tally->places ? gt_map_get(tally->places, text, 0) : GT_MAP_NONE;
    return place == GT_MAP_NONE ? 0 : tally->items[place].sum;
}

typedef struct placed_item {
    gt_tally_item item;
    size_t place;
} placed_item;

GT_ORDER_BY(compare_items, placed_item, GT_DOWN(item.sum) GT_UP(place))

void gt_tally_sort(gt_tally *tally)
{
    if (tally->item_count < 2) return;
    placed_item *order = gt_alloc(tally->item_count * sizeof *order);
    for (size_t i = 0; i < tally->item_count; i++) order[i] = (placed_item){tally->items[i], i};
    qsort(order, tally->item_count, sizeof *order, compare_items);
    for (size_t i = 0; i < tally->item_count; i++) {
        tally->items[i] = order[i].item;
        *gt_map_put(tally->places, order[i].item.text, 0) = (uint32_t)i; /* more may be added */
    }
    gt_free(order);
}

void gt_tally_free(gt_tally *tally)
{
    if (tally->places) gt_map_free(tally->places);
    gt_free_all(tally->places, tally->items);
    *tally = (gt_tally){0};
}

/* ---- launches ---- */

/* Which op does a launch count for? First, from the last event to the first, what is below each; then, from
 * the first to the last, the choice, which what is inside of a chosen op follows. */

static const uint32_t IS_CHOSEN = UINT32_C(1) << 31; /* a bit of ops: what is inside counts for this op */

/* ---- names ---- */

/* What names of ops say, found out once for each. */
enum { OP_SEEN = 1, OP_MODELLED = 2, OP_MODELS_GRADIENT = 4 };

/* What is below an event. */
enum { MODELLED_BELOW = 1, LAUNCHES_ITSELF = 2 };

typedef struct op_walk {
    const gt_schedule *schedule;
    uint32_t *ops;     /* by host event: that of its launches, and IS_CHOSEN */
    uint8_t *op_names; /* by string id */
    uint8_t *below;    /* by host event */
    bool all;
} op_walk;

static bool name_is(const op_walk *w, uint32_t name, uint8_t bit)
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

/* Finds out what is below events, from the last to the first: children come after their parents. */
static void look_below(const op_walk *w)
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
static bool is_gradient(const op_walk *w, const gt_host_event *op)
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
static bool takes_all(const op_walk *w, uint32_t number)
{
    const gt_host_event *op = &w->schedule->events[number];
    if (name_is(w, op->name, OP_MODELLED)) return true;
    if (w->below[number] & MODELLED_BELOW) return false;
    return w->below[number] & LAUNCHES_ITSELF || is_gradient(w, op);
}

static uint32_t op_of(const op_walk *w, uint32_t number, uint32_t above)
{
    const gt_host_event *event = &w->schedule->events[number];
    if (event->kind != GT_KIND_CPU_OP || (above != GT_NONE && above & IS_CHOSEN)) return above;
    return takes_all(w, number) ? number | IS_CHOSEN : number;
}

/* ---- all events ---- */

/* Ops of the backward pass are on threads of their own, and no event has its parent on another thread:
 * parents come before their children. */
static void choose(const op_walk *w)
{
    const gt_host_event *events = w->schedule->events;
    for (uint32_t i = 0; i < w->schedule->event_count; i++) {
        uint32_t parent = events[i].parent;
        bool launches = events[i].launches || w->all;
        w->ops[i] = launches ? op_of(w, i, parent == GT_NONE ? GT_NONE : w->ops[parent]) : GT_NONE;
    }
}

uint32_t *gt_launch_ops_find(const gt_schedule *schedule, bool all)
{
    size_t count = schedule->event_count;
    op_walk w = {.schedule = schedule,
                 .ops = gt_alloc(count * sizeof *w.ops),
                 .op_names = gt_alloc_zero(gt_interner_count(schedule->strings), 1),
                 .below = gt_alloc_zero(count, 1),
                 .all = all};
    look_below(&w);
    choose(&w);
    for (size_t i = 0; i < count; i++)
        if (w.ops[i] != GT_NONE) w.ops[i] &= ~IS_CHOSEN;
    gt_free_all(w.op_names, w.below);
    return w.ops;
}
