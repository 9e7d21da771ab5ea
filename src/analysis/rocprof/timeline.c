/* Sheet gpu_timeline: was the GPU busy, and with what?
 *
 *     total_time  fini_time - init_time of the process
 *     kernel      time in which at least one kernel ran, on any GPU and stream
 *     memory      time in which at least one memory copy ran
 *     busy_time   time in which at least one kernel or copy ran
 *     idle        total_time - busy_time, at least 0
 *
 * time ms = nanoseconds / 1,000,000; percent = time / total_time * 100.0, or 0 if total_time is not above 0.
 *
 * All sums are integers of nanoseconds: timestamps are about 2^60 if the clock counts from 1970, so that a
 * double of microseconds would be a multiple of 0.25. */
#include "analysis/rocprof/sheets.h"

#include "analysis/sheet_parts.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "table/operations.h"

#include <string.h>

/* ---- times in which something ran ---- */

typedef __int128 wide; /* of damaged records, even one duration may not fit an int64 */

/* Kernels or copies, in any order. */
typedef struct spans {
    int64_t *starts, *ends;
    size_t count;
} spans;

static void free_spans(spans *s)
{
    gt_free(s->starts);
    gt_free(s->ends);
    *s = (spans){0};
}

static bool is_sorted(const int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (values[i] < values[i - 1]) return false;
    return true;
}

/* The length of the union. A span that ends before it starts counts with its negative length, unless another
 * one covers its start. */
static wide covered_ns(const spans *s)
{
    uint32_t *order = is_sorted(s->starts, s->count) ? NULL : gt_order_new(s->count);
    if (order) gt_order_by_ints(order, s->count, s->starts, NULL, false);
    wide length = 0;
    int64_t begin = 0, end = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t at = order ? order[i] : i;
        if (i && s->starts[at] <= end) {
            end = s->ends[at] > end ? s->ends[at] : end;
            continue;
        }
        length += (wide)end - begin;
        begin = s->starts[at];
        end = s->ends[at];
    }
    gt_free(order);
    return length + ((wide)end - begin);
}

static void copy_ints(int64_t *to, const int64_t *from, size_t count)
{
    if (count) memcpy(to, from, count * sizeof *to);
}

/* The length of the union of kernels and copies. */
static wide busy_ns(const spans *kernels, const spans *copies)
{
    size_t first = kernels->count, count = first + copies->count;
    spans both = {gt_alloc((count + 1) * sizeof *both.starts), gt_alloc((count + 1) * sizeof *both.ends),
                  count};
    copy_ints(both.starts, kernels->starts, first);
    copy_ints(both.ends, kernels->ends, first);
    copy_ints(both.starts + first, copies->starts, copies->count);
    copy_ints(both.ends + first, copies->ends, copies->count);
    wide length = covered_ns(&both);
    free_spans(&both);
    return length;
}

/* ---- sheets ---- */

static gt_table *make_timeline(gt_interner *strings, const spans *kernels, const spans *copies, wide total)
{
    gt_table *timeline = gt_gpu_timeline_new(strings);
    wide busy = busy_ns(kernels, copies);
    const struct {
        const char *type;
        wide ns;
    } parts[] = {
        {"kernel", covered_ns(kernels)},
        {"memory", covered_ns(copies)},
        {"busy_time", busy},
        {"idle", total > busy ? total - busy : 0},
    };
    gt_gpu_timeline_add_ns(timeline, "total_time", (double)total, 100.0);
    for (size_t i = 0; i < GT_LENGTH(parts); i++) {
        double ns = (double)parts[i].ns;
        gt_gpu_timeline_add_ns(timeline, parts[i].type, ns, total > 0 ? ns / (double)total * 100.0 : 0.0);
    }
    return timeline;
}

static spans spans_of(const gt_store *events, size_t start_column, size_t end_column)
{
    return (spans){gt_store_ints(events, start_column), gt_store_ints(events, end_column),
                   gt_store_count(events)};
}

gt_table *gt_rocprof_gpu_timeline(const gt_rocprof *run)
{
    if (!gt_store_count(run->dispatches)) return gt_gpu_timeline_new(run->strings);
    spans kernels = spans_of(run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END);
    spans copies = spans_of(run->copies, GT_COPY_START, GT_COPY_END);
    gt_table *timeline = make_timeline(run->strings, &kernels, &copies, (wide)run->fini_ns - run->init_ns);
    free_spans(&kernels);
    free_spans(&copies);
    return timeline;
}
