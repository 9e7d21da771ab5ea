/* The categories of what a schedule's device did. A host event is looked up for each launch; names only once.
 */
#include "findings/categories.h"

#include "schema/columns.h"

void gt_gpu_work_launched(const gt_schedule *schedule, const uint32_t *launch_ops, uint32_t event,
                          gt_gpu_work *work)
{
    if (event == GT_NONE) return;
    uint32_t op = launch_ops[event];
    if (op != GT_NONE) work->op = schedule->events[op].name;
    work->in_optimizer = schedule->events[event].flags & GT_HOST_OPTIMIZER;
}

uint8_t *gt_op_categories_find(const gt_schedule *s, const uint32_t *launch_ops)
{
    uint8_t *found = gt_alloc(s->op_count);
    gt_categories *categories = gt_categories_new(s->strings);
    for (size_t i = 0; i < s->op_count; i++) {
        if (i + GT_EVENTS_AHEAD < s->op_count) gt_event_prefetch(s, s->ops[i + GT_EVENTS_AHEAD].host_op);
        const gt_gpu_op *op = &s->ops[i];
        gt_gpu_work work = {.name = op->name,
                            .said = s->categories ? s->categories[i] : (uint32_t)GT_STR_NONE,
                            .copies = op->kind != GT_KIND_KERNEL,
                            .communicates = op->communicates};
        if (op->point != GT_NONE) gt_gpu_work_launched(s, launch_ops, s->points[op->point].event, &work);
        if (gt_graph_op_of(s, i) != GT_STR_NONE) work.op = gt_graph_op_of(s, i);
        found[i] = (uint8_t)gt_categories_find(categories, &work);
    }
    gt_categories_free(categories);
    return found;
}

/* ---- kernels ---- */

typedef struct kernel_times {
    uint32_t name; /* string id */
    int64_t ns[GT_CATEGORIES];
} kernel_times;

static gt_category largest(const kernel_times *kernel)
{
    gt_category most = 0;
    for (gt_category c = 1; c < GT_CATEGORIES; c++)
        if (kernel->ns[c] > kernel->ns[most]) most = c;
    return most;
}

gt_table *gt_kernel_categories(const gt_schedule *s, const uint8_t *op_categories)
{
    static const gt_column_head heads[] = {{GT_COL_NAME, GT_TYPE_STRING}, {GT_COL_CATEGORY, GT_TYPE_STRING}};
    gt_table *table = gt_table_new(GT_SHEET_UNNAMED, s->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    kernel_times *kernels = NULL;
    size_t count = 0, capacity = 0;
    uint32_t *places = gt_no_events(gt_interner_count(s->strings)); /* by string id of the name */
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (places[op->name] == GT_NO_EVENT) {
            places[op->name] = (uint32_t)count;
            GT_PUSH(kernels, count, capacity, ((kernel_times){.name = op->name}));
        }
        int64_t ns = op->end_ns - op->start_ns + 1; /* kernels without a duration count, too */
        kernels[places[op->name]].ns[op_categories[i]] += ns;
    }
    gt_table_add_rows(table, count);
    for (size_t i = 0; i < count; i++) {
        table->columns[0].texts[i] = kernels[i].name;
        gt_table_set_cstr(table, 1, i, gt_category_name(largest(&kernels[i])));
    }
    gt_free_all(places, kernels);
    return table;
}
