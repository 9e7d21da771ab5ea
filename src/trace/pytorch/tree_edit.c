/* Changes to the call tree: ops that wrap events, and trees that an extension computed. Both change lists of
 * children (tree_parts.h). */
#include "trace/pytorch/tree_edit.h"

#include "trace/pytorch/tree_parts.h"

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

static void append_lanes(gt_pytorch_state *trace, const gt_new_row *rows, size_t count)
{
    gt_lane_ids *ids = gt_alloc(count * sizeof *ids);
    for (size_t i = 0; i < count; i++) ids[i] = rows[i].lane;
    gt_event_lanes_append(&trace->lanes, trace->count, ids, count);
    gt_free(ids);
}

void gt_state_append_ops(gt_pytorch_state *trace, const gt_new_row *rows, size_t count)
{
    add_to_store(trace, rows, count);
    append_lanes(trace, rows, count);
    gt_state_resize(trace, trace->count + count);
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
    uint8_t *moved;       /* by row: the launch was wrapped */
    gt_child_lists lists; /* only while changes are made */
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
    gt_state_append_ops(trace, rows, e->count);
    gt_free(rows);
    for (size_t i = 0; i < INPUTS; i++) gt_free(columns[i]);
}

static void wrap_children(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    gt_pytorch_state *trace = e->trace;
    gt_child_lists *l = &e->lists;
    l->first[op] = l->first[row];
    l->last[op] = l->last[row];
    for (uint32_t child = l->first[op]; child != GT_NO_EVENT; child = l->next[child]) {
        l->caller[child] = op;
        trace->parent[child] = op;
    }
    l->first[row] = l->last[row] = GT_NO_EVENT;
    gt_child_lists_append(l, row, op);
    trace->parent[op] = row;
    gt_state_add_late_root(trace, op);
}

static void wrap_event(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    gt_child_lists *l = &e->lists;
    uint32_t caller = l->caller[row], previous = l->previous[row], next = l->next[row];
    l->caller[op] = caller;
    l->previous[op] = previous;
    l->next[op] = next;
    *(previous == GT_NO_EVENT ? &l->first[caller] : &l->next[previous]) = op;
    *(next == GT_NO_EVENT ? &l->last[caller] : &l->previous[next]) = op;
    gt_child_lists_append(l, op, row);
    e->trace->parent[op] = e->trace->parent[row];
    e->trace->parent[row] = op;
}

static void wrap_launch(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    uint32_t caller = e->lists.caller[row];
    gt_child_lists_remove(&e->lists, row);
    gt_child_lists_append(&e->lists, caller, op);
    gt_child_lists_append(&e->lists, op, row);
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
        e->lists = gt_child_lists_new(&trace->view, first_row + added);
        add_new_ops(e);
        make_changes(e, first_row);
        gt_child_lists_number(&e->lists, trace);
        gt_child_lists_free(&e->lists);
        gt_state_publish(trace);
    }
    gt_free_all(e->changes, e->moved, e);
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
static void empty_lists(gt_child_lists *l, const gt_rewiring *r)
{
    for (size_t i = 0; i < r->caller_count; i++)
        for (uint32_t child = l->first[r->caller_of[i]], next; child != GT_NO_EVENT; child = next) {
            next = l->next[child];
            gt_child_lists_remove(l, child);
        }
}

static bool fill_lists(gt_child_lists *l, const gt_pytorch_state *trace, const gt_rewiring *r,
                       gt_error *error)
{
    for (size_t i = 0; i < r->caller_count; i++)
        for (size_t c = r->child_begin[i]; c < r->child_begin[i + 1]; c++) {
            uint32_t child = r->children[c];
            if (!gt_kind_is_host(trace->kind[child])) continue;
            if (l->caller[child] != GT_NO_EVENT)
                return fail_at(trace, child, "is a child of two events, or twice of one", error);
            gt_child_lists_append(l, r->caller_of[i], child);
        }
    return true;
}

/* Keeps the roots that are still roots, and adds new events that nothing calls. */
static void update_roots(gt_child_lists *l, size_t first_new, size_t count)
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
    gt_child_lists l = gt_child_lists_new(&trace->view, trace->count + r->row_count);
    if (r->row_count) gt_state_append_ops(trace, r->rows, r->row_count);
    for (size_t i = 0; i < r->parent_count; i++) trace->parent[r->parent_of[i]] = r->parents[i];
    empty_lists(&l, r);
    bool done = fill_lists(&l, trace, r, error) && check_parents(trace, error);
    if (done) {
        update_roots(&l, first_new, trace->count);
        gt_child_lists_number(&l, trace);
    }
    gt_child_lists_free(&l);
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
    gt_free_all(wanted, first, stripped);
}
