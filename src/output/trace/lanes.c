/* The first lane where a slice fits is taken. For nested slices a few lanes are tried one after another, each
 * with a stack of what is open on it; all that fit none of them go to lanes without nesting, of which the
 * first free one is found in a tree that knows the least end below each node. So no input makes this slow. */
#include "output/trace/lanes.h"

#include "base/memory.h"

#include <stdlib.h>

enum { NESTED_LANES = 8 };

typedef struct gt_lane {
    int64_t *ends; /* of the open slices, outermost first */
    size_t count, capacity;
} gt_lane;

static bool fits(gt_lane *lane, int64_t start, int64_t end)
{
    while (lane->count && lane->ends[lane->count - 1] <= start) lane->count--;
    return !lane->count || end <= lane->ends[lane->count - 1];
}

static size_t place_nested(gt_lanes *lanes, int64_t start, int64_t end)
{
    size_t at = 0;
    while (at < lanes->nested_count && !fits(&lanes->nested[at], start, end)) at++;
    if (at == NESTED_LANES) return SIZE_MAX;
    if (at == lanes->nested_count)
        GT_PUSH(lanes->nested, lanes->nested_count, lanes->nested_capacity, (gt_lane){0});
    gt_lane *lane = &lanes->nested[at];
    GT_PUSH(lane->ends, lane->count, lane->capacity, end);
    return at;
}

/* Nodes 1 .. leaves - 1 are inner ones, node n is above 2n and 2n + 1; lanes not used yet end before all. */
static void set_end(gt_lanes *lanes, size_t lane, int64_t end)
{
    size_t node = lanes->leaves + lane;
    lanes->ends[node] = end;
    for (node /= 2; node; node /= 2) {
        int64_t left = lanes->ends[2 * node], right = lanes->ends[2 * node + 1];
        lanes->ends[node] = left < right ? left : right;
    }
}

static void add_leaves(gt_lanes *lanes)
{
    gt_lanes bigger = *lanes;
    bigger.leaves = lanes->leaves ? lanes->leaves * 2 : 4;
    bigger.ends = gt_alloc(2 * bigger.leaves * sizeof *bigger.ends);
    for (size_t i = 0; i < 2 * bigger.leaves; i++) bigger.ends[i] = INT64_MIN;
    for (size_t i = 0; i < lanes->count; i++) set_end(&bigger, i, lanes->ends[lanes->leaves + i]);
    gt_free(lanes->ends);
    *lanes = bigger;
}

static size_t place_flat(gt_lanes *lanes, int64_t start, int64_t end)
{
    if (!lanes->leaves || lanes->ends[1] > start) add_leaves(lanes);
    size_t node = 1;
    while (node < lanes->leaves) node = 2 * node + (lanes->ends[2 * node] > start);
    size_t lane = node - lanes->leaves;
    if (lane == lanes->count) lanes->count++;
    set_end(lanes, lane, end);
    return lane;
}

size_t gt_lanes_place(gt_lanes *lanes, int64_t start, int64_t end)
{
    size_t lane = lanes->nests ? place_nested(lanes, start, end) : SIZE_MAX;
    if (lane != SIZE_MAX) return lane;
    return (lanes->nests ? NESTED_LANES : 0) + place_flat(lanes, start, end);
}

void gt_lanes_free(gt_lanes *lanes)
{
    for (size_t i = 0; i < lanes->nested_count; i++) gt_free(lanes->nested[i].ends);
    gt_free(lanes->nested);
    gt_free(lanes->ends);
    *lanes = (gt_lanes){0};
}
