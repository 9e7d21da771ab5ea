/* Changes to the call tree.
 *
 * In the arrays of a trace the tree is a numbering: the subtree of an event is a range of preorder numbers.
 * That is fast to read and impossible to change in place, because one more event shifts all later numbers. So
 * an edit turns the numbers into linked lists of children, changes the lists, and then walks over them to
 * number the events again:
 *
 *     numbers                    lists              wrap b in n        numbers
 *     a [0,4)  b [1,3)  ..   ->  a: b, d        ->  a: n, d        ->  a [0,5)  n [1,4)
 *     c [2,3)  d [3,4)           b: c               n: b    b: c       b [2,4)  c [3,4)  d [4,5) */
#include "trace/pytorch/tree_edit.h"

#include "base/memory.h"
#include "trace/pytorch/state.h"
#include "trace/pytorch/calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tree as lists of children ---- */

/* Arrays by row; GT_NO_EVENT: none. */
typedef struct lists {
    uint32_t *caller; /* the event in whose list a row is; not always its parent (gt_tree_wrap_launch) */
    uint32_t *first, *last; /* of an event's own list */
    uint32_t *previous, *next;
    gt_row_list roots; /* in order */
} lists;

/* Appends an event that is in no list to the list of `caller`. */
static void lists_append(lists *l, uint32_t caller, uint32_t row)
{
    uint32_t previous = l->last[caller];
    l->caller[row] = caller;
    l->previous[row] = previous;
    l->next[row] = GT_NO_EVENT;
    *(previous == GT_NO_EVENT ? &l->first[caller] : &l->next[previous]) = row;
    l->last[caller] = row;
}

/* Removes an event from the list that it is in. */
static void lists_remove(lists *l, uint32_t row)
{
    uint32_t caller = l->caller[row], previous = l->previous[row], next = l->next[row];
    *(previous == GT_NO_EVENT ? &l->first[caller] : &l->next[previous]) = next;
    *(next == GT_NO_EVENT ? &l->last[caller] : &l->previous[next]) = previous;
    l->caller[row] = l->previous[row] = l->next[row] = GT_NO_EVENT;
}

/* The lists of the tree as it is, with room for `rows` rows. */
static lists lists_new(const gt_linked_view *trace, size_t rows)
{
    lists l = {.caller = gt_no_events(rows),
               .first = gt_no_events(rows),
               .last = gt_no_events(rows),
               .previous = gt_no_events(rows),
               .next = gt_no_events(rows)};
    gt_calls *calls = gt_calls_new(trace);
    uint32_t *callers = gt_calls_callers(calls);
    for (uint32_t n = 0; n < trace->numbered; n++) {
        uint32_t row = calls->row_of[n];
        if (callers[n] == GT_NO_EVENT)
            GT_PUSH(l.roots.items, l.roots.count, l.roots.capacity, row);
        else
            lists_append(&l, calls->row_of[callers[n]], row);
    }
    gt_free(callers);
    gt_calls_free(calls);
    return l;
}

static void lists_free(lists *l)
{
    gt_free(l->caller);
    gt_free(l->first);
    gt_free(l->last);
    gt_free(l->previous);
    gt_free(l->next);
    gt_free(l->roots.items);
}

/* Numbers the subtree of a root in preorder. It follows the lists instead of recursing, because a broken
 * trace can be deeper than the C stack. */
static void number_subtree(const lists *l, gt_pytorch_state *trace, uint32_t root, uint32_t *number)
{
    for (uint32_t row = root;;) {
        trace->preorder[row] = (*number)++;
        if (l->first[row] != GT_NO_EVENT) {
            row = l->first[row];
            continue;
        }
        for (;; row = l->caller[row]) {
            trace->subtree_end[row] = *number;
            if (row == root || l->next[row] != GT_NO_EVENT) break;
        }
        if (row == root) return;
        row = l->next[row];
    }
}

/* Sets preorder, subtree_end and what depends on them from the lists. */
static void number_tree(const lists *l, gt_pytorch_state *trace)
{
    uint32_t number = 0;
    memset(trace->preorder, 0xFF, trace->count * sizeof *trace->preorder);
    memset(trace->subtree_end, 0xFF, trace->count * sizeof *trace->subtree_end);
    for (size_t i = 0; i < l->roots.count; i++) number_subtree(l, trace, l->roots.items[i], &number);
    trace->numbered = number;
    gt_state_find_ops_above(trace);
}

/* ---- new rows ---- */

static void set_string(gt_store_cell *cells, uint64_t *present, size_t column, uint32_t id)
{
    cells[column].text = id;
    if (id != GT_STR_NONE) *present |= UINT64_C(1) << column;
}

static void add_to_store(gt_pytorch_state *trace, const gt_new_row *rows, size_t count)
{
    gt_store_writer *writer = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, trace->strings);
    for (size_t i = 0; i < count; i++) {
        const gt_new_row *row = &rows[i];
        gt_store_cell cells[GT_EVENT_COLUMNS] = {0};
        uint64_t present = UINT64_C(1) << GT_EVENT_KIND | UINT64_C(1) << GT_EVENT_SEQUENCE;
        cells[GT_EVENT_KIND].integer = GT_KIND_CPU_OP;
        cells[GT_EVENT_SEQUENCE].integer = row->sequence;
        set_string(cells, &present, GT_EVENT_NAME, row->name);
        set_string(cells, &present, GT_EVENT_PROCESS, row->lane.process);
        set_string(cells, &present, GT_EVENT_THREAD, row->lane.thread);
        set_string(cells, &present, GT_EVENT_INPUT_DIMS, row->dims);
        set_string(cells, &present, GT_EVENT_INPUT_TYPES, row->types);
        set_string(cells, &present, GT_EVENT_INPUT_STRIDES, row->strides);
        set_string(cells, &present, GT_EVENT_CONCRETE_INPUTS, row->concrete);
        gt_store_writer_add(writer, present, cells);
    }
    gt_store_append(trace->store, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
}

static void *resize(void *array, size_t count, size_t item_size)
{
    return gt_realloc(array, count * item_size);
}

/* Makes the arrays `count` rows long. Entries of new rows are not set, except in recompute and extra. */
static void resize_arrays(gt_pytorch_state *trace, size_t count)
{
    uint32_t **ids[] = {&trace->name, &trace->parent, &trace->preorder, &trace->subtree_end};
    for (size_t i = 0; i < GT_LENGTH(ids); i++) *ids[i] = resize(*ids[i], count, sizeof **ids[i]);
    double **times[] = {&trace->start_us, &trace->dur_us};
    for (size_t i = 0; i < GT_LENGTH(times); i++) *times[i] = resize(*times[i], count, sizeof **times[i]);
    trace->kind = resize(trace->kind, count, 1);
    trace->integral = resize(trace->integral, count, 1);
    if (trace->recompute) {
        trace->recompute = resize(trace->recompute, count, 1);
        memset(trace->recompute + trace->count, 0, count - trace->count);
    }
    size_t known = trace->extra ? trace->count : 0;
    trace->extra = resize(trace->extra, count, sizeof *trace->extra);
    memset(trace->extra + known, 0, (count - known) * sizeof *trace->extra);
}

static void append_lanes(gt_pytorch_state *trace, const gt_new_row *rows, size_t count)
{
    gt_lane_ids *ids = gt_alloc(count * sizeof *ids);
    for (size_t i = 0; i < count; i++) ids[i] = rows[i].lane;
    gt_event_lanes_append(&trace->lanes, trace->count, ids, count);
    gt_free(ids);
}

/* Appends cpu_ops that are in no list and have no parent. */
static void append_rows(gt_pytorch_state *trace, const gt_new_row *rows, size_t count)
{
    add_to_store(trace, rows, count);
    append_lanes(trace, rows, count);
    resize_arrays(trace, trace->count + count);
    for (size_t i = 0; i < count; i++) {
        size_t row = trace->count + i;
        trace->kind[row] = GT_KIND_CPU_OP;
        trace->name[row] = rows[i].name;
        trace->start_us[row] = rows[i].start_us;
        trace->dur_us[row] = rows[i].dur_us;
        trace->integral[row] = rows[i].integral;
        trace->extra[row] = rows[i].extra;
        trace->parent[row] = trace->preorder[row] = trace->subtree_end[row] = GT_NO_EVENT;
    }
    trace->count += count;
    trace->uid_count += count;
}

/* ---- wrapping events in new ops ---- */

typedef enum change_kind { WRAP_CHILDREN, WRAP_EVENT, WRAP_LAUNCH } change_kind;

typedef struct change {
    change_kind kind;
    uint32_t row; /* the event or runtime call given to gt_tree_wrap_* */
    gt_new_op op;
} change;

struct gt_tree_edit {
    gt_pytorch_state *trace;
    change *changes;
    size_t count, capacity;
    uint8_t *moved; /* by row: the launch was wrapped */
    lists lists;    /* only while changes are made */
};

gt_tree_edit *gt_tree_edit_begin(gt_pytorch_linked *trace)
{
    gt_tree_edit *e = gt_alloc_zero(1, sizeof *e);
    e->trace = trace->state;
    e->moved = gt_alloc_zero(trace->state->count, 1);
    return e;
}

static void add_change(gt_tree_edit *e, change_kind kind, uint32_t row, gt_new_op op)
{
    GT_PUSH(e->changes, e->count, e->capacity, ((change){kind, row, op}));
}

void gt_tree_wrap_children(gt_tree_edit *e, uint32_t row, gt_new_op op)
{
    add_change(e, WRAP_CHILDREN, row, op);
}

void gt_tree_wrap_event(gt_tree_edit *e, uint32_t row, gt_new_op op)
{
    add_change(e, WRAP_EVENT, row, op);
}

bool gt_tree_wrap_launch(gt_tree_edit *e, uint32_t runtime, gt_new_op op)
{
    if (e->moved[runtime] || e->trace->parent[runtime] == GT_NO_EVENT) return false;
    e->moved[runtime] = 1;
    add_change(e, WRAP_LAUNCH, runtime, op);
    return true;
}

static void add_new_ops(gt_tree_edit *e)
{
    static const size_t inputs[] = {GT_EVENT_INPUT_DIMS, GT_EVENT_INPUT_TYPES, GT_EVENT_INPUT_STRIDES,
                                    GT_EVENT_CONCRETE_INPUTS};
    enum { INPUTS = GT_LENGTH(inputs) };
    gt_pytorch_state *trace = e->trace;
    uint32_t *columns[INPUTS];
    for (size_t i = 0; i < INPUTS; i++) columns[i] = gt_store_string_ids(trace->store, inputs[i]);
    gt_new_row *rows = gt_alloc(e->count * sizeof *rows);
    for (size_t i = 0; i < e->count; i++) {
        uint32_t of = e->changes[i].row, like = e->changes[i].op.arguments_of;
        bool timed = e->changes[i].kind != WRAP_LAUNCH;
        rows[i] = (gt_new_row){
            .name = e->changes[i].op.name,
            .lane = gt_lane_ids_of(&trace->lanes, of),
            .start_us = timed ? trace->start_us[of] : (double)NAN,
            .dur_us = timed ? trace->dur_us[of] : (double)NAN,
            .integral = timed ? trace->integral[of] : 0,
            .dims = columns[0][like],
            .types = columns[1][like],
            .strides = columns[2][like],
            .concrete = columns[3][like],
            .sequence = GT_EVENT_NONE,
            .extra = e->changes[i].op.extra,
        };
    }
    append_rows(trace, rows, e->count);
    gt_free(rows);
    for (size_t i = 0; i < INPUTS; i++) gt_free(columns[i]);
}

static void wrap_children(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    gt_pytorch_state *trace = e->trace;
    lists *l = &e->lists;
    l->first[op] = l->first[row];
    l->last[op] = l->last[row];
    for (uint32_t child = l->first[op]; child != GT_NO_EVENT; child = l->next[child]) {
        l->caller[child] = op;
        trace->parent[child] = op;
    }
    l->first[row] = l->last[row] = GT_NO_EVENT;
    lists_append(l, row, op);
    trace->parent[op] = row;
    trace->late_roots =
        gt_realloc(trace->late_roots, (trace->late_root_count + 1) * sizeof *trace->late_roots);
    trace->late_roots[trace->late_root_count++] = op;
}

static void wrap_event(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    lists *l = &e->lists;
    uint32_t caller = l->caller[row], previous = l->previous[row], next = l->next[row];
    l->caller[op] = caller;
    l->previous[op] = previous;
    l->next[op] = next;
    *(previous == GT_NO_EVENT ? &l->first[caller] : &l->next[previous]) = op;
    *(next == GT_NO_EVENT ? &l->last[caller] : &l->previous[next]) = op;
    lists_append(l, op, row);
    e->trace->parent[op] = e->trace->parent[row];
    e->trace->parent[row] = op;
}

static void wrap_launch(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    uint32_t caller = e->lists.caller[row];
    lists_remove(&e->lists, row);
    lists_append(&e->lists, caller, op);
    lists_append(&e->lists, op, row);
    e->trace->parent[op] = e->trace->parent[row];
}

static void make_changes(gt_tree_edit *e, size_t first_row)
{
    static void (*const make[])(gt_tree_edit *, uint32_t, uint32_t) = {
        [WRAP_CHILDREN] = wrap_children, [WRAP_EVENT] = wrap_event, [WRAP_LAUNCH] = wrap_launch};
    for (size_t i = 0; i < e->count; i++)
        make[e->changes[i].kind](e, e->changes[i].row, (uint32_t)(first_row + i));
}

size_t gt_tree_edit_finish(gt_tree_edit *e)
{
    gt_pytorch_state *trace = e->trace;
    size_t added = e->count, first_row = trace->count;
    if (added) {
        e->lists = lists_new(&trace->view, first_row + added);
        add_new_ops(e);
        make_changes(e, first_row);
        number_tree(&e->lists, trace);
        lists_free(&e->lists);
        gt_state_publish(trace);
    }
    gt_free(e->changes);
    gt_free(e->moved);
    gt_free(e);
    return added;
}

/* ---- any change, checked ---- */

static bool fail_at(const gt_pytorch_state *trace, uint32_t row, const char *what, gt_error *error)
{
    return gt_fail(error, "event %u (%s) %s", gt_store_position(trace->store, row),
                   gt_state_name(trace, row).bytes, what);
}

/* Empties all lists that are replaced. This comes before any list is filled, so that the order in which the
 * lists are given does not matter. */
static void empty_lists(lists *l, const gt_rewiring *r)
{
    for (size_t i = 0; i < r->caller_count; i++)
        for (uint32_t child = l->first[r->caller_of[i]], next; child != GT_NO_EVENT; child = next) {
            next = l->next[child];
            lists_remove(l, child);
        }
}

static bool fill_lists(lists *l, const gt_pytorch_state *trace, const gt_rewiring *r, gt_error *error)
{
    for (size_t i = 0; i < r->caller_count; i++)
        for (size_t c = r->child_begin[i]; c < r->child_begin[i + 1]; c++) {
            uint32_t child = r->children[c];
            if (!gt_kind_is_host(trace->kind[child])) continue;
            if (l->caller[child] != GT_NO_EVENT)
                return fail_at(trace, child, "is a child of two events, or twice of one", error);
            lists_append(l, r->caller_of[i], child);
        }
    return true;
}

/* Keeps the roots that are still roots, and adds new events that nothing calls. */
static void update_roots(lists *l, size_t first_new, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->roots.count; i++)
        if (l->caller[l->roots.items[i]] == GT_NO_EVENT) l->roots.items[kept++] = l->roots.items[i];
    l->roots.count = kept;
    for (size_t row = first_new; row < count; row++)
        if (l->caller[row] == GT_NO_EVENT)
            GT_PUSH(l->roots.items, l->roots.count, l->roots.capacity, (uint32_t)row);
}

/* Checks that the walk from any row to its parent, the parent's parent and so on ends. */
static bool check_parents(const gt_pytorch_state *trace, gt_error *error)
{
    enum { NEW, OPEN, DONE };
    uint8_t *state = gt_alloc_zero(trace->count, 1);
    uint32_t bad = GT_NO_EVENT;
    for (uint32_t from = 0; from < trace->count && bad == GT_NO_EVENT; from++) {
        uint32_t row = from;
        for (; row != GT_NO_EVENT && state[row] == NEW; row = trace->parent[row]) state[row] = OPEN;
        if (row != GT_NO_EVENT && state[row] == OPEN) bad = row;
        for (row = from; row != GT_NO_EVENT && state[row] == OPEN && bad == GT_NO_EVENT;
             row = trace->parent[row])
            state[row] = DONE;
    }
    gt_free(state);
    return bad == GT_NO_EVENT || fail_at(trace, bad, "is its own ancestor", error);
}

bool gt_tree_rewire(gt_pytorch_linked *linked, const gt_rewiring *r, gt_error *error)
{
    gt_pytorch_state *trace = linked->state;
    size_t first_new = trace->count;
    lists l = lists_new(&trace->view, trace->count + r->row_count);
    if (r->row_count) append_rows(trace, r->rows, r->row_count);
    for (size_t i = 0; i < r->parent_count; i++) trace->parent[r->parent_of[i]] = r->parents[i];
    empty_lists(&l, r);
    bool done = fill_lists(&l, trace, r, error) && check_parents(trace, error);
    if (done) {
        update_roots(&l, first_new, trace->count);
        number_tree(&l, trace);
    }
    lists_free(&l);
    gt_state_publish(trace);
    return done;
}

/* ---- names ---- */

void gt_tree_rename(gt_pytorch_linked *trace, uint32_t row, uint32_t name)
{
    trace->state->name[row] = name;
}

static const char SGLANG_PREFIX[] = "sglang_profiler::";

/* By name: its earliest host event, GT_NO_EVENT for names that are not wanted. */
static uint32_t *earliest_events(const gt_pytorch_state *trace, const uint8_t *wanted, uint32_t names)
{
    uint32_t *first = gt_no_events(names);
    for (uint32_t row = 0; row < trace->count; row++) {
        uint32_t *earliest = &first[trace->name[row]];
        if (wanted[trace->name[row]] && gt_kind_is_host(trace->kind[row]) &&
            (*earliest == GT_NO_EVENT || trace->start_us[row] < trace->start_us[*earliest]))
            *earliest = row;
    }
    return first;
}

/* The name without its number, GT_STR_NONE if it has none. */
static uint32_t strip_number(gt_interner *strings, uint32_t name)
{
    gt_str text = gt_interner_get(strings, name);
    size_t len = text.len;
    while (text.bytes[len - 1] >= '0' && text.bytes[len - 1] <= '9') len--;
    bool numbered = len < text.len && text.bytes[len - 1] == '_' && len > sizeof SGLANG_PREFIX;
    return numbered ? gt_interner_add(strings, text.bytes, len - 1) : GT_STR_NONE;
}

/* Works on names first, because there are far fewer of them than events. As in TraceLens, the earliest event
 * of a name decides: if it is a cpu_op, all events of that name in the tree are renamed. */
void gt_tree_strip_sglang_numbers(gt_pytorch_linked *linked)
{
    gt_pytorch_state *trace = linked->state;
    uint8_t *wanted = gt_name_set_with_prefix(trace->strings, SGLANG_PREFIX);
    if (!wanted) return;
    uint32_t names = gt_interner_count(trace->strings);
    uint32_t *first = earliest_events(trace, wanted, names);
    uint32_t *stripped = gt_alloc_zero(names, sizeof *stripped);
    for (uint32_t name = 0; name < names; name++)
        if (first[name] != GT_NO_EVENT && trace->kind[first[name]] == GT_KIND_CPU_OP)
            stripped[name] = strip_number(trace->strings, name);
    for (uint32_t row = 0; row < trace->count; row++) {
        bool in_tree = gt_kind_is_host(trace->kind[row]) || trace->parent[row] != GT_NO_EVENT;
        if (in_tree && stripped[trace->name[row]]) trace->name[row] = stripped[trace->name[row]];
    }
    gt_free(wanted);
    gt_free(first);
    gt_free(stripped);
}
