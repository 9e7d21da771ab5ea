/* How long did the GPU work for each call, kernel by kernel, and at what kind of work? Exact sums over all
 * ops of all devices. */
#include "page/work_parts.h"

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
        sum->calls += w->op_begins[i];
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
        sum->calls += sums[i].calls;
        sum->ns = gt_page_add_ns(sum->ns, sums[i].ns);
    }
    for (size_t i = 0; i < w->op_count; i++) w->op_sum[i] = places[w->op_sum[i]];
    gt_map_free(&rows);
    gt_free_all(times, places, sums);
}

/* ---- categories ---- */

/* Of the scheduled device, those of the findings; of others, the same rules. */
static void find_categories(gt_page_work *w)
{
    const gt_schedule *s = w->schedule;
    gt_categories *categories = gt_categories_new(s->strings);
    w->op_category = gt_alloc(w->op_count);
    memcpy(w->op_category, w->findings->categories, s->op_count);
    for (size_t i = 0; i < w->devices.other_count; i++) {
        const gt_other_op *op = &w->devices.others[i];
        gt_gpu_work work = {.name = op->name,
                            .said = op->category,
                            .copies = op->kind != GT_KIND_KERNEL,
                            .communicates = op->communicates};
        gt_gpu_work_launched(s, w->launch_ops, op->event, &work);
        w->op_category[s->op_count + i] = (uint8_t)gt_categories_find(categories, &work);
    }
    gt_categories_free(categories);
    for (size_t i = w->op_count; i-- > 0;) w->sums[w->op_sum[i]].category = w->op_category[i];
}

/* Those of the sheet kernel_summary; a kernel that only other devices have gets that of its first op. */
static void judge_kernels(gt_page_work *w)
{
    gt_table *known = gt_kernel_categories(w->schedule, w->op_category);
    uint32_t *places = gt_no_events(gt_interner_count(w->schedule->strings)); /* by string id of the name */
    for (uint32_t row = 0; row < known->row_count; row++) places[known->columns[0].texts[row]] = row;
    for (size_t i = w->op_count; i-- > w->schedule->op_count;)
        w->kernels[w->op_kernel[i]].category = w->op_category[i];
    for (size_t i = 0; i < w->kernel_count; i++) {
        uint32_t row = places[w->kernels[i].name];
        if (row == GT_NO_EVENT) continue;
        gt_str name = gt_interner_get(known->strings, known->columns[1].texts[row]);
        w->kernels[i].category = (uint8_t)gt_category_named(name);
    }
    gt_free(places);
    gt_table_free(known);
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
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_CALL, GT_TYPE_INT},  {GT_COL_PAGE_KERNEL, GT_TYPE_INT},
        {GT_COL_PAGE_COUNT, GT_TYPE_INT}, {GT_COL_PAGE_CALLS, GT_TYPE_INT},
        {GT_COL_PAGE_NS, GT_TYPE_INT},    {GT_COL_PAGE_CATEGORY, GT_TYPE_STRING}};
    enum { CALL, KERNEL, COUNT, CALLS, NS, CATEGORY };
    gt_table *table = gt_table_new(GT_SHEET_PAGE_SUMS, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, w->sum_count);
    for (size_t i = 0; i < w->sum_count; i++) {
        const gt_page_sum *sum = &w->sums[i];
        table->columns[CALL].ints[i] = sum->call;
        if (sum->call == GT_NONE) gt_table_set_null(table, CALL, i);
        table->columns[KERNEL].ints[i] = sum->kernel;
        table->columns[COUNT].ints[i] = sum->count;
        table->columns[CALLS].ints[i] = sum->calls;
        table->columns[NS].ints[i] = sum->ns;
        gt_table_set_cstr(table, CATEGORY, i, gt_category_name(sum->category));
    }
    gt_table_list_add(tables, table);
}
