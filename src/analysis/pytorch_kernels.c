/* Kernels by op category, op, name and stream:
 *
 *     Parent op category             of the nearest cpu_op above; without one "graph" or "runtime" after the
 * call that launched the kernel; empty where no launch is known Parent cpu_op                  its name, or
 * the call's; no such column where no kernel has a cpu_op Kernel duration (µs)_sum ...   also _count, _mean,
 * _min, _max Percent of kernels time (%)    sum / durations of all kernels * 100 Percent of total time (%)
 * sum / total_time of the timeline * 100 */
#include "analysis/pytorch_kernels.h"

#include "analysis/json_column.h"
#include "analysis/op_category.h"
#include "analysis/percentages.h"
#include "base/memory.h"
#include "table/group.h"
#include "table/sort.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const double EXACT_BELOW = 9007199254740992.0; /* doubles hold every integer up to here */

static const char *const graph_launches[] = {"cudagraph",
                                             "graphlaunch"}; /* parts of a call's name, in any case */

static const gt_aggregate of_kernel[] = {
    {"Kernel duration (µs)", GT_GROUP_SUM, "Kernel duration (µs)_sum"},
    {"Kernel duration (µs)", GT_GROUP_COUNT, "Kernel duration (µs)_count"},
    {"Kernel duration (µs)", GT_GROUP_MEAN, "Kernel duration (µs)_mean"},
    {"Kernel duration (µs)", GT_GROUP_MIN, "Kernel duration (µs)_min"},
    {"Kernel duration (µs)", GT_GROUP_MAX, "Kernel duration (µs)_max"},
};

/* ---- the kernels ---- */

static bool is_whole(const gt_pytorch *trace, size_t row)
{
    return (trace->integral[row] & GT_INTEGRAL_DURATION) && fabs(trace->dur_us[row]) < EXACT_BELOW;
}

gt_pytorch_kernels gt_pytorch_kernels_find(const gt_pytorch *trace)
{
    gt_pytorch_kernels kernels = {.trace = trace, .integral = true};
    for (size_t row = 0; row < trace->count; row++) kernels.count += trace->kind[row] == GT_KIND_KERNEL;
    kernels.rows = gt_alloc(kernels.count * sizeof *kernels.rows);
    kernels.cpu_ops = gt_alloc(kernels.count * sizeof *kernels.cpu_ops);
    size_t place = 0;
    for (uint32_t row = 0; row < trace->count; row++) {
        if (trace->kind[row] != GT_KIND_KERNEL) continue;
        uint32_t cpu_op = gt_pytorch_cpu_op_above(trace, row);
        kernels.rows[place] = row;
        kernels.cpu_ops[place++] = cpu_op;
        kernels.have_cpu_ops |= cpu_op != GT_NO_EVENT;
        kernels.integral &= is_whole(trace, row);
    }
    return kernels;
}

void gt_pytorch_kernels_free(gt_pytorch_kernels *kernels)
{
    free(kernels->rows);
    free(kernels->cpu_ops);
    *kernels = (gt_pytorch_kernels){0};
}

void gt_pytorch_kernels_add_durations(const gt_pytorch_kernels *kernels, const uint32_t *places,
                                      gt_table *table)
{
    gt_type type = kernels->integral ? GT_TYPE_INT : GT_TYPE_FLOAT;
    size_t added = gt_table_add_zeroed(table, "Kernel duration (µs)", type);
    gt_column *column = &table->columns[added];
    for (size_t row = 0; row < table->row_count; row++) {
        double dur_us = kernels->trace->dur_us[kernels->rows[places ? places[row] : row]];
        if (kernels->integral)
            column->ints[row] = (int64_t)dur_us;
        else
            column->floats[row] = dur_us;
    }
}

void gt_pytorch_kernels_add_share(gt_table *table, const char *column, double total_us, const char *name)
{
    if (total_us > 0)
        gt_table_add_percentage(table, gt_table_find(table, column), total_us, name);
    else
        gt_table_add_filled(table, name, GT_TYPE_FLOAT);
}

/* ---- which op, and which kind of op, a kernel ran for ---- */

/* By row: the name of the first kernel that an op launched itself. */
static uint32_t *first_kernels(const gt_pytorch *trace, const gt_launchers *launchers)
{
    uint32_t *names = gt_alloc_zero(trace->count, sizeof *names);
    for (size_t i = 0; i < launchers->count; i++) {
        const gt_launcher *launcher = &launchers->items[i];
        names[launcher->row] = trace->name[launchers->kernels[launcher->first]];
    }
    return names;
}

static const char *category_of_call(gt_text call)
{
    for (size_t i = 0; i < LENGTH(graph_launches); i++)
        if (strcasestr(call.bytes, graph_launches[i])) return "graph";
    return "runtime";
}

/* Fills "Parent op category" and "Parent cpu_op", both null where no launch is known. */
static void fill_parents(const gt_pytorch_kernels *kernels, const gt_launchers *launchers, uint32_t *category,
                         uint32_t *parent)
{
    const gt_pytorch *trace = kernels->trace;
    uint32_t *first_kernel = first_kernels(trace, launchers);
    gt_op_categories *categories = gt_op_categories_new(trace->strings);
    uint32_t last_call = GT_TEXT_NONE,
             category_of_last = GT_TEXT_NONE; /* one call may launch a graph of thousands */
    for (size_t i = 0; i < kernels->count; i++) {
        uint32_t op = kernels->cpu_ops[i], call = trace->parent[kernels->rows[i]];
        if (op != GT_NO_EVENT) {
            category[i] = gt_op_categories_of(categories, trace->name[op], first_kernel[op]);
        } else if (call != GT_NO_EVENT) {
            if (trace->name[call] != last_call)
                category_of_last =
                    gt_strings_add_cstr(trace->strings, category_of_call(gt_pytorch_name(trace, call)));
            last_call = trace->name[call];
            category[i] = category_of_last;
        }
        uint32_t shown = op != GT_NO_EVENT ? op : call;
        if (parent && shown != GT_NO_EVENT) parent[i] = trace->name[shown];
    }
    gt_op_categories_free(categories);
    free(first_kernel);
}

/* ---- the sheet ---- */

static void fill_names_and_streams(const gt_pytorch_kernels *kernels, gt_table *table)
{
    const gt_pytorch *trace = kernels->trace;
    uint32_t *all_streams = gt_store_texts(trace->store, GT_EVENT_STREAM);
    uint32_t *streams = gt_alloc(kernels->count * sizeof *streams);
    size_t added = gt_table_add_filled(table, "Kernel name", GT_TYPE_TEXT);
    uint32_t *names = table->columns[added].texts;
    for (size_t i = 0; i < kernels->count; i++) {
        names[i] = trace->name[kernels->rows[i]];
        streams[i] = all_streams[kernels->rows[i]];
    }
    gt_table_add_json(table, "Kernel stream", streams);
    free(streams);
    free(all_streams);
}

static gt_table *kernel_table(const gt_pytorch_kernels *kernels, const gt_launchers *launchers)
{
    gt_table *table = gt_table_new("kernels", kernels->trace->strings);
    gt_table_add_rows(table, kernels->count);
    size_t category = gt_table_add_filled(table, "Parent op category", GT_TYPE_TEXT);
    size_t parent = SIZE_MAX;
    if (kernels->have_cpu_ops) parent = gt_table_add_filled(table, "Parent cpu_op", GT_TYPE_TEXT);
    fill_parents(kernels, launchers, table->columns[category].texts,
                 parent == SIZE_MAX ? NULL : table->columns[parent].texts);
    fill_names_and_streams(kernels, table);
    gt_pytorch_kernels_add_durations(kernels, NULL, table);
    return table;
}

static double time_of_all(const gt_pytorch_kernels *kernels)
{
    double *dur_us = gt_alloc(kernels->count * sizeof *dur_us);
    for (size_t i = 0; i < kernels->count; i++) dur_us[i] = kernels->trace->dur_us[kernels->rows[i]];
    double sum = gt_sum_pairwise(dur_us, kernels->count);
    free(dur_us);
    return sum;
}

gt_table *gt_pytorch_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                    double total_ms)
{
    static const char *const keys[] = {"Parent op category", "Parent cpu_op", "Kernel name", "Kernel stream"};
    static const char *const keys_without_ops[] = {"Parent op category", "Kernel name", "Kernel stream"};
    static const gt_sort_key longest_first[] = {{"Kernel duration (µs)_sum", true}};

    gt_table *table = kernel_table(kernels, launchers);
    gt_table *summary =
        gt_table_group(table, kernels->have_cpu_ops ? keys : keys_without_ops,
                       kernels->have_cpu_ops ? LENGTH(keys) : LENGTH(keys_without_ops), of_kernel,
                       LENGTH(of_kernel), (gt_group_options){.sorted = true, .keep_nulls = true});
    gt_table_free(table);
    gt_table_rename(summary, "kernel_summary");
    gt_table_sort(summary, longest_first, LENGTH(longest_first));
    gt_pytorch_kernels_add_share(summary, "Kernel duration (µs)_sum", time_of_all(kernels),
                                 "Percent of kernels time (%)");
    gt_pytorch_kernels_add_share(summary, "Kernel duration (µs)_sum", total_ms * 1e3,
                                 "Percent of total time (%)");
    return summary;
}
