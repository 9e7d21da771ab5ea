/* Finding launchers: one pass over the GPU events gives each its launcher, counting sort brings each launcher's kernels
 * together, and the numbering of the call tree makes the work below a launcher a run of launches. */
#include "analysis/launchers.h"
#include "base/memory.h"
#include "trace/intervals.h"
#include "trace/order.h"

#include <stdlib.h>
#include <string.h>

enum { BOTH_INTEGRAL = GT_INTEGRAL_START | GT_INTEGRAL_DURATION };

uint32_t gt_launcher_of(const gt_pytorch *trace, uint32_t gpu_row)
{
    uint32_t runtime = trace->parent[gpu_row];
    uint32_t op = trace->launch_op[runtime];
    return op == GT_NO_EVENT ? runtime : op;
}

/* ---- whether names are those of communication kernels, asked once a name ---- */

typedef struct name_cache {
    uint8_t *known; /* by name: 0 not asked, 1 no, 2 yes */
} name_cache;

static bool is_communication(name_cache *cache, const gt_pytorch *trace, uint32_t row)
{
    uint8_t *known = &cache->known[trace->name[row]];
    if (!*known) *known = gt_is_communication(gt_pytorch_name(trace, row)) ? 2 : 1;
    return *known == 2;
}

/* ---- launchers and their kernels ---- */

/* The launchers in the order of their first kernels, with the number of kernels of each. */
static uint32_t *assign_kernels(const gt_pytorch *trace, gt_launchers *l, size_t *kernel_count)
{
    uint32_t *index_of = gt_alloc(trace->count * sizeof *index_of);    /* by row: the launcher that a row is */
    uint32_t *launcher_of = gt_alloc(trace->count * sizeof *launcher_of); /* by row of a GPU event */
    name_cache cache = {gt_alloc_zero(gt_strings_count(trace->strings), 1)};
    size_t capacity = 0;
    memset(index_of, 0xFF, trace->count * sizeof *index_of);
    *kernel_count = 0;
    for (uint32_t row = 0; row < trace->count; row++) {
        launcher_of[row] = GT_NO_EVENT;
        if (!gt_kind_is_gpu(trace->kind[row]) || trace->parent[row] == GT_NO_EVENT ||
            is_communication(&cache, trace, row))
            continue;
        uint32_t op = gt_launcher_of(trace, row);
        if (index_of[op] == GT_NO_EVENT) {
            index_of[op] = (uint32_t)l->count;
            GT_PUSH(l->items, l->count, capacity, (gt_launcher){.row = op});
        }
        launcher_of[row] = index_of[op];
        l->items[index_of[op]].count++;
        ++*kernel_count;
    }
    free(index_of);
    free(cache.known);
    return launcher_of;
}

static void place_kernels(const gt_pytorch *trace, gt_launchers *l, const uint32_t *launcher_of, size_t kernel_count)
{
    size_t *next = gt_alloc(l->count * sizeof *next), sum = 0;
    for (size_t i = 0; i < l->count; i++) {
        l->items[i].first = next[i] = sum;
        sum += l->items[i].count;
    }
    l->kernels = gt_alloc(kernel_count * sizeof *l->kernels);
    for (uint32_t row = 0; row < trace->count; row++)
        if (launcher_of[row] != GT_NO_EVENT) l->kernels[next[launcher_of[row]]++] = row;
    for (size_t i = 0; i < l->count; i++)
        gt_order_rows(l->kernels + l->items[i].first, l->items[i].count, trace->start_us);
    free(next);
}

static void sort_launchers(const gt_pytorch *trace, gt_launchers *l)
{
    uint32_t *order = gt_alloc(l->count * sizeof *order);
    double *starts = gt_alloc(l->count * sizeof *starts);
    gt_launcher *items = gt_alloc(l->count * sizeof *items);
    for (size_t i = 0; i < l->count; i++) {
        order[i] = (uint32_t)i;
        starts[i] = trace->start_us[l->items[i].row];
    }
    gt_order_rows(order, l->count, starts);
    for (size_t i = 0; i < l->count; i++) items[i] = l->items[order[i]];
    free(l->items);
    l->items = items;
    free(order);
    free(starts);
}

/* ---- times ---- */

static double busy_time(const gt_pytorch *trace, const uint32_t *rows, size_t count, gt_intervals *spare, bool *integral)
{
    uint8_t all = BOTH_INTEGRAL;
    spare->count = 0;
    for (size_t i = 0; i < count; i++) {
        gt_intervals_add(spare, trace->start_us[rows[i]], trace->end_us[rows[i]]);
        all &= trace->integral[rows[i]];
    }
    *integral = all == BOTH_INTEGRAL;
    if (count > 1) gt_intervals_merge(spare);
    return gt_intervals_length(spare);
}

/* The GPU rows of all launches by the number of the call that made them, and where each number's begin. */
typedef struct launches {
    uint32_t *gpu;
    uint32_t *begin; /* by number, and one more */
    uint32_t *loose; /* launches by calls that are not in the tree: pairs of call and GPU row, in file order */
    size_t loose_count;
} launches;

static launches order_launches(const gt_pytorch *trace)
{
    launches o = {0};
    o.begin = gt_alloc_zero((size_t)trace->numbered + 2, sizeof *o.begin);
    o.gpu = gt_alloc(trace->link_count * sizeof *o.gpu);
    o.loose = gt_alloc(2 * trace->link_count * sizeof *o.loose);
    for (size_t i = 0; i < trace->link_count; i++) {
        uint32_t number = trace->preorder[trace->link_runtime[i]];
        if (number != GT_NO_EVENT) o.begin[number + 2]++;
    }
    for (size_t i = 2; i < (size_t)trace->numbered + 2; i++) o.begin[i] += o.begin[i - 1];
    for (size_t i = 0; i < trace->link_count; i++) {
        uint32_t number = trace->preorder[trace->link_runtime[i]];
        if (number != GT_NO_EVENT) {
            o.gpu[o.begin[number + 1]++] = trace->link_gpu[i];
        } else {
            o.loose[2 * o.loose_count] = trace->link_runtime[i];
            o.loose[2 * o.loose_count++ + 1] = trace->link_gpu[i];
        }
    }
    return o;
}

/* The launches of a call outside the tree; they stand together, in file order of the calls. */
static size_t loose_launches(const launches *o, uint32_t row, uint32_t *rows)
{
    size_t low = 0, high = o->loose_count, count = 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (o->loose[2 * middle] < row) low = middle + 1;
        else high = middle;
    }
    for (; low < o->loose_count && o->loose[2 * low] == row; low++) rows[count++] = o->loose[2 * low + 1];
    return count;
}

static void measure(const gt_pytorch *trace, gt_launchers *l)
{
    launches o = order_launches(trace);
    gt_intervals spare = {0};
    uint32_t *loose = gt_alloc(o.loose_count * sizeof *loose);
    for (size_t i = 0; i < l->count; i++) {
        gt_launcher *item = &l->items[i];
        uint32_t number = trace->preorder[item->row];
        item->direct_us = busy_time(trace, l->kernels + item->first, item->count, &spare, &item->direct_integral);
        if (number == GT_NO_EVENT) {
            size_t count = loose_launches(&o, item->row, loose);
            item->subtree_us = busy_time(trace, loose, count, &spare, &item->subtree_integral);
        } else {
            uint32_t begin = o.begin[number], end = o.begin[trace->subtree_end[item->row]];
            item->subtree_us = busy_time(trace, o.gpu + begin, end - begin, &spare, &item->subtree_integral);
        }
    }
    gt_intervals_free(&spare);
    free(loose);
    free(o.gpu);
    free(o.begin);
    free(o.loose);
}

gt_launchers gt_launchers_find(const gt_pytorch *trace)
{
    gt_launchers l = {0};
    size_t kernel_count;
    uint32_t *launcher_of = assign_kernels(trace, &l, &kernel_count);
    place_kernels(trace, &l, launcher_of, kernel_count);
    free(launcher_of);
    sort_launchers(trace, &l);
    measure(trace, &l);
    return l;
}

void gt_launchers_free(gt_launchers *l)
{
    free(l->items);
    free(l->kernels);
    *l = (gt_launchers){0};
}
