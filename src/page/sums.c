/* How long did the GPU work for each call, kernel by kernel? Exact sums over all ops of all devices. */
#include "page/work_parts.h"

#include "base/map.h"
#include "base/memory.h"
#include "schema/page.h"

enum { SUMS_MAX = 100000 };

/* The last sum of each call: most calls launch one kernel, or a few in turn. */
typedef struct last_sum {
    uint32_t kernel, sum;
} last_sum;

static uint32_t sum_of(gt_page_work *w, gt_map *rows, size_t *capacity, uint32_t call, uint32_t kernel)
{
    uint32_t *row = gt_map_put(rows, call, kernel);
    if (*row != GT_MAP_NONE) return *row;
    uint32_t number = *row = (uint32_t)w->sum_count;
    GT_PUSH(w->sums, w->sum_count, *capacity, ((gt_page_sum){.call = call, .kernel = kernel}));
    return number;
}

static void add_up(gt_page_work *w)
{
    gt_map rows = {0};
    size_t capacity = 0;
    last_sum *last = gt_alloc((w->call_count + 1) * sizeof *last);
    for (size_t i = 0; i <= w->call_count; i++) last[i].kernel = GT_NONE;
    w->op_sum = gt_alloc(w->op_count * sizeof *w->op_sum);
    for (size_t i = 0; i < w->op_count; i++) {
        uint32_t call = w->op_call[i], kernel = w->op_kernel[i];
        last_sum *at = &last[call == GT_NONE ? w->call_count : call];
        if (at->kernel != kernel) *at = (last_sum){kernel, sum_of(w, &rows, &capacity, call, kernel)};
        gt_page_op op = gt_page_op_at(w, i);
        gt_page_sum *sum = &w->sums[at->sum];
        sum->count++;
        sum->ns = gt_page_add_ns(sum->ns, op.end_ns - op.start_ns);
        w->op_sum[i] = at->sum;
    }
    gt_free(last);
    gt_map_free(&rows);
}

/* A trace with absurdly many combinations: for those with the least time only their kernels are told. */
static void join_shortest(gt_page_work *w)
{
    size_t count = w->sum_count, capacity = 0;
    int64_t *times = gt_alloc(count * sizeof *times);
    uint32_t *places = gt_alloc(count * sizeof *places);
    gt_page_sum *sums = w->sums;
    gt_map rows = {0};
    for (size_t i = 0; i < count; i++) times[i] = sums[i].ns;
    gt_page_largest largest = gt_page_largest_find(times, count, SUMS_MAX);
    w->sums = NULL;
    w->sum_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t call = gt_page_largest_keeps(&largest, sums[i].ns) ? sums[i].call : GT_NONE;
        places[i] = sum_of(w, &rows, &capacity, call, sums[i].kernel);
        gt_page_sum *sum = &w->sums[places[i]];
        sum->count += sums[i].count;
        sum->ns = gt_page_add_ns(sum->ns, sums[i].ns);
    }
    for (size_t i = 0; i < w->op_count; i++) w->op_sum[i] = places[w->op_sum[i]];
    gt_map_free(&rows);
    gt_free(times);
    gt_free(places);
    gt_free(sums);
}

/* What a trace that is not of PyTorch says about the kind of an op's work. */
static uint32_t category_of(const gt_page_work *w, size_t op)
{
    const gt_schedule *s = w->schedule;
    if (op >= s->op_count) return w->devices.others[op - s->op_count].category;
    return s->categories ? s->categories[op] : (uint32_t)GT_STR_NONE;
}

/* The category of each sum, by its first op. */
static void find_categories(gt_page_work *w)
{
    gt_page_categories *categories = gt_page_categories_new(w->schedule->strings);
    uint8_t *is_done = gt_alloc_zero(w->sum_count, 1);
    for (size_t i = 0; i < w->op_count; i++) {
        uint32_t number = w->op_sum[i];
        gt_page_sum *sum = &w->sums[number];
        if (is_done[number]) continue;
        is_done[number] = 1;
        const gt_page_call *call = sum->call == GT_NONE ? NULL : &w->calls[sum->call];
        sum->category = (uint8_t)gt_page_categories_find(categories, call ? call->op : (uint32_t)GT_STR_NONE,
                                                         category_of(w, i), &w->kernels[sum->kernel],
                                                         call && call->in_optimizer);
    }
    gt_free(is_done);
    gt_page_categories_free(categories);
}

/* The category of a kernel is the one with most of its time. */
static void judge_kernels(gt_page_work *w)
{
    int64_t(*times)[GT_PAGE_CATEGORIES] = gt_alloc_zero(w->kernel_count, sizeof *times);
    for (size_t i = 0; i < w->sum_count; i++) {
        const gt_page_sum *sum = &w->sums[i];
        int64_t *time = &times[sum->kernel][sum->category];
        *time = gt_page_add_ns(*time, gt_page_add_ns(sum->ns, 1)); /* kernels without a duration count, too */
    }
    for (size_t i = 0; i < w->kernel_count; i++)
        for (uint8_t c = 0; c < GT_PAGE_CATEGORIES; c++)
            if (times[i][c] > times[i][w->kernels[i].category]) w->kernels[i].category = c;
    gt_free(times);
}

void gt_page_find_sums(gt_page_work *w)
{
    add_up(w);
    if (w->sum_count > SUMS_MAX) join_shortest(w);
    find_categories(w);
    judge_kernels(w);
}

void gt_page_add_sums(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {{GT_COL_PAGE_CALL, GT_TYPE_INT},
                                           {GT_COL_PAGE_KERNEL, GT_TYPE_INT},
                                           {GT_COL_PAGE_COUNT, GT_TYPE_INT},
                                           {GT_COL_PAGE_NS, GT_TYPE_INT}};
    enum { CALL, KERNEL, COUNT, NS };
    gt_table *table = gt_table_new(GT_SHEET_PAGE_SUMS, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, w->sum_count);
    for (size_t i = 0; i < w->sum_count; i++) {
        const gt_page_sum *sum = &w->sums[i];
        table->columns[CALL].ints[i] = sum->call;
        if (sum->call == GT_NONE) gt_table_set_null(table, CALL, i);
        table->columns[KERNEL].ints[i] = sum->kernel;
        table->columns[COUNT].ints[i] = sum->count;
        table->columns[NS].ints[i] = sum->ns;
    }
    gt_table_list_add(tables, table);
}
