/* The host call tree: on each thread, the parent of an event is the innermost event that is open when it
 * starts.
 *
 * For each thread, one pass over its events in order of their starts, with a stack of the open events. An
 * event gets the next preorder number when it is pushed and its subtree_end when it is popped, so that later
 * questions about a subtree are questions about a range of numbers and need no walk:
 *
 *     time ─────────────────────►      preorder  subtree_end
 *     [ a                        ]     a  0      4
 *       [ b         ]   [ d   ]        b  1      3
 *         [ c   ]                      c  2      3
 *                                      d  3      4 */
#include "base/map.h"
#include "base/memory.h"
#include "trace/rows.h"
#include "trace/pytorch/state.h"

#include <stdlib.h>
#include <string.h>

/* Profilers round times, so that an event may seem to start inside the event that ends just before it. If
 * both overlap by less than this, the earlier event counts as ended. */
static const double MAX_OVERLAP_US = 1.0;

/* Rows of host events, grouped by thread, each group in file order. */
typedef struct threads {
    uint32_t *rows;
    size_t *ends; /* by thread: index after its last row */
    size_t count;
} threads;

static threads rows_by_thread(const gt_pytorch_state *trace)
{
    gt_map ids = {0};
    threads t = {0};
    size_t hosts = 0, capacity = 0;
    uint32_t *thread_of = gt_alloc(trace->count * sizeof *thread_of);
    uint32_t last = GT_NO_EVENT; /* the previous host event, mostly of the same thread */
    for (uint32_t row = 0; row < trace->count; row++) {
        if (!gt_kind_is_host(trace->kind[row])) continue;
        if (last != GT_NO_EVENT && trace->process[row] == trace->process[last] &&
            trace->thread[row] == trace->thread[last]) {
            thread_of[row] = thread_of[last];
        } else {
            uint32_t *id = gt_map_put(&ids, trace->process[row], trace->thread[row]);
            if (*id == GT_MAP_NONE) {
                *id = (uint32_t)t.count;
                GT_PUSH(t.ends, t.count, capacity, 0);
            }
            thread_of[row] = *id;
        }
        t.ends[thread_of[row]]++;
        hosts++;
        last = row;
    }
    /* Counting sort: `ends` first holds where each thread begins, and becomes its end as rows are added. */
    for (size_t i = 0, sum = 0; i < t.count; i++) {
        size_t rows = t.ends[i];
        t.ends[i] = sum;
        sum += rows;
    }
    t.rows = gt_alloc(hosts * sizeof *t.rows);
    for (size_t row = 0; row < trace->count; row++)
        if (gt_kind_is_host(trace->kind[row])) t.rows[t.ends[thread_of[row]]++] = (uint32_t)row;
    gt_free(thread_of);
    gt_map_free(&ids);
    return t;
}

typedef struct open_events {
    uint32_t *rows;
    size_t count, capacity;
    uint32_t next_number;
} open_events;

static double end_of(const gt_pytorch_state *trace, uint32_t row)
{
    return trace->start_us[row] + trace->dur_us[row];
}

static void close_top(gt_pytorch_state *trace, open_events *open)
{
    trace->subtree_end[open->rows[--open->count]] = open->next_number;
}

static bool is_execute(const gt_pytorch_state *trace, uint32_t row)
{
    gt_str name = gt_state_name(trace, row);
    return gt_str_equals(name, "execute");
}

void gt_state_inherit(gt_pytorch_state *trace, uint32_t row)
{
    uint32_t parent = trace->parent[row];
    if (parent == GT_NO_EVENT) {
        trace->cpu_op_above[row] = trace->launch_op[row] = GT_NO_EVENT;
        return;
    }
    uint8_t kind = trace->kind[parent];
    trace->cpu_op_above[row] = kind == GT_KIND_CPU_OP ? parent : trace->cpu_op_above[parent];
    if (kind == GT_KIND_PYTHON || (kind == GT_KIND_CPU_OP && is_execute(trace, parent)))
        trace->launch_op[row] = trace->launch_op[parent];
    else
        trace->launch_op[row] = kind == GT_KIND_CPU_OP ? parent : GT_NO_EVENT;
}

static void open_event(gt_pytorch_state *trace, open_events *open, uint32_t row)
{
    trace->preorder[row] = open->next_number++;
    if (open->count) {
        trace->parent[row] = open->rows[open->count - 1];
        gt_state_inherit(trace, row);
    }
    GT_PUSH(open->rows, open->count, open->capacity, row);
}

static void build_thread(gt_pytorch_state *trace, const uint32_t *rows, size_t count, open_events *open)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        double start = trace->start_us[row], end = end_of(trace, row);
        while (open->count && start >= end_of(trace, open->rows[open->count - 1])) close_top(trace, open);
        if (open->count && end > end_of(trace, open->rows[open->count - 1])) {
            double overlap = end_of(trace, open->rows[open->count - 1]) - start;
            if (!(overlap < MAX_OVERLAP_US && open->count >= 2))
                continue; /* overlaps without being inside: not in the tree */
            close_top(trace, open);
        }
        open_event(trace, open, row);
    }
    while (open->count) close_top(trace, open);
}

gt_pytorch_tree *gt_pytorch_build_tree(gt_pytorch_read *read)
{
    gt_pytorch_state *trace = read->state;
    gt_free(read);
    trace->parent = gt_no_events(trace->count);
    trace->preorder = gt_no_events(trace->count);
    trace->subtree_end = gt_no_events(trace->count);
    trace->cpu_op_above = gt_no_events(trace->count);
    trace->launch_op = gt_no_events(trace->count);
    threads t = rows_by_thread(trace);
    open_events open = {0};
    for (size_t i = 0, begin = 0; i < t.count; begin = t.ends[i++]) {
        gt_order_rows(t.rows + begin, t.ends[i] - begin, trace->start_us);
        build_thread(trace, t.rows + begin, t.ends[i] - begin, &open);
    }
    trace->numbered = open.next_number;
    gt_free(open.rows);
    gt_free(t.rows);
    gt_free(t.ends);
    gt_state_publish(trace);
    gt_pytorch_tree *tree = gt_alloc(sizeof *tree);
    tree->state = trace;
    return tree;
}

uint32_t gt_pytorch_cpu_op_above(const gt_linked_view *trace, uint32_t row)
{
    if (!gt_kind_is_gpu(trace->kind[row])) return trace->cpu_op_above[row];
    uint32_t runtime = trace->parent[row];
    return runtime == GT_NO_EVENT ? GT_NO_EVENT : trace->cpu_op_above[runtime];
}
