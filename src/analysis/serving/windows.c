/* Which steps show a server at work: regions of many requests, and windows in the longest of them. */
#include "analysis/serving/steps.h"

#include "base/memory.h"

#include <math.h>

enum { STEPS_TO_BEGIN = 5 }; /* a region begins with one more than these */

/* ---- regions ---- */

typedef struct regions {
    gt_step_range *items;
    size_t count, capacity;
} regions;

static int64_t most_requests(const gt_serving_step *steps, size_t count)
{
    int64_t most = INT64_MIN;
    for (size_t i = 0; i < count; i++)
        most = gt_step_requests(&steps[i]) > most ? gt_step_requests(&steps[i]) : most;
    return most;
}

static gt_step_range middle(size_t count, size_t wanted)
{
    size_t lacking = wanted > count ? wanted - count : 0, cut = lacking > 8 ? lacking : 8;
    cut = cut < count ? cut : count;
    size_t begin = cut / 2, end = count - cut / 2;
    return (gt_step_range){begin, end > begin + 1 ? end : begin + 1 < count ? begin + 1 : count};
}

gt_step_range *gt_steady_regions(const gt_serving_step *steps, size_t count, size_t wanted,
                                 size_t *region_count)
{
    regions found = {0};
    double most = (double)most_requests(steps, count), reach = (count >= wanted ? 0.1 : 0.2) * most;
    size_t begin = 0;
    int64_t near = 0;
    bool is_open = false;
    for (size_t i = 0; i < count; i++) {
        bool is_near = fabs((double)gt_step_requests(&steps[i]) - most) <= (reach > 1 ? reach : 1);
        if (is_near && !is_open) near++;
        if (!is_near && is_open) near--;
        if (near > STEPS_TO_BEGIN && !is_open) {
            is_open = true;
            begin = i + 1 - (size_t)near;
        }
        if (near <= 0 && is_open) {
            GT_PUSH(found.items, found.count, found.capacity, ((gt_step_range){begin, i}));
            is_open = false;
            near = 0;
        }
    }
    if (is_open) GT_PUSH(found.items, found.count, found.capacity, ((gt_step_range){begin, count - 1}));
    if (!found.count && count) GT_PUSH(found.items, found.count, found.capacity, middle(count, wanted));
    *region_count = found.count;
    return found.items;
}

/* ---- windows ---- */

static size_t length(gt_step_range range)
{
    return range.end - range.begin;
}

static size_t count_prefill(const gt_serving_step *steps, gt_step_range range)
{
    size_t count = 0;
    for (size_t i = range.begin; i < range.end; i++) count += gt_step_has_context(&steps[i]);
    return count;
}

static double share(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static double share_of_all(const gt_serving_step *steps, const gt_step_range *found, size_t count)
{
    size_t prefill = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        prefill += count_prefill(steps, found[i]);
        all += length(found[i]);
    }
    return share(prefill, all);
}

/* The first of the longest rows of steps of one kind, cut to `most`. */
static gt_step_range longest_row(const gt_serving_step *steps, gt_step_range in, bool decode, size_t most)
{
    gt_step_range best = {in.begin, in.begin}, row = best;
    for (size_t i = in.begin; i < in.end; i++) {
        bool fits = decode ? gt_step_is_decode(&steps[i]) : gt_step_has_context(&steps[i]);
        row.begin = fits ? row.begin : i + 1;
        row.end = i + 1;
        if (fits && length(row) > length(best)) best = row;
    }
    if (length(best) > most) best.end = best.begin + most;
    return best;
}

/* The window whose share of steps with prefill is nearest; of equal ones that with the most requests, then
 * the first. Windows without any prefill count only where there is no other. */
static gt_step_range mixed_window(const gt_serving_step *steps, gt_step_range in, gt_window_request wish)
{
    size_t parts = wish.steps / 2 < 10 ? wish.steps / 2 : 10, stride = wish.steps / (parts ? parts : 1);
    size_t size = length(in) < wish.steps ? length(in) : wish.steps;
    gt_step_range best = {in.begin, in.begin + size};
    double best_distance = INFINITY, best_requests = -INFINITY;
    bool best_has_prefill = false;
    for (size_t begin = in.begin; begin + size <= in.end; begin += stride ? stride : 1) {
        gt_step_range range = {begin, begin + size};
        size_t prefill = count_prefill(steps, range);
        double requests = 0, distance = fabs(share(prefill, size) - wish.share_of_prefill);
        for (size_t i = range.begin; i < range.end; i++) requests += (double)gt_step_requests(&steps[i]);
        bool better = prefill > 0 && !best_has_prefill;
        if ((prefill > 0) == best_has_prefill)
            better = distance < best_distance || (distance == best_distance && requests > best_requests);
        if (better) {
            best = range;
            best_distance = distance;
            best_requests = requests;
            best_has_prefill = prefill > 0;
        }
        if (size == length(in)) break;
    }
    return best;
}

gt_step_range gt_steady_window(const gt_serving_step *steps, const gt_step_range *found, size_t count,
                               gt_window_kind kind, gt_window_request wish)
{
    gt_step_range largest = count ? found[0] : (gt_step_range){0, 0};
    for (size_t i = 1; i < count; i++)
        if (length(found[i]) > length(largest)) largest = found[i];
    if (kind != GT_WINDOW_MIXED) return longest_row(steps, largest, kind == GT_WINDOW_DECODE, wish.steps);
    if (isnan(wish.share_of_prefill)) wish.share_of_prefill = share_of_all(steps, found, count);
    return mixed_window(steps, largest, wish);
}
