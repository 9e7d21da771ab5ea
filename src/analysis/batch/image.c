/* The rows of a rank as an image (base/image.h), and back: the process that read the trace of a rank passes
 * them to the one that makes the report.
 *
 * What is loaded may be anything. The sheets rely on the columns that the functions of this folder make, on
 * ids and lists that exist, and on counts that can be added up. */
#include "analysis/batch/batch.h"

/* ---- columns ---- */

static const gt_column_head launchers[] = {{GT_COL_NAME, GT_TYPE_STRING},
                                           {GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_TYPE_FLOAT}};
static const gt_column_head counts[] = {{GT_COL_RANK, GT_TYPE_INT},
                                        {GT_COL_NUM_KERNEL_EVENTS, GT_TYPE_INT},
                                        {GT_COL_NUM_KERNEL_EVENTS_LINKED, GT_TYPE_INT},
                                        {GT_COL_NUM_KERNEL_EVENTS_UNLINKED, GT_TYPE_INT},
                                        {GT_COL_NUM_SHORT_KERNEL_EVENTS_LINKED, GT_TYPE_INT},
                                        {GT_COL_NUM_SHORT_KERNEL_EVENTS_UNLINKED, GT_TYPE_INT}};
static const gt_column_head unlinked[] = {
    {GT_COL_NAME, GT_TYPE_STRING}, {GT_COL_CAT, GT_TYPE_STRING}, {GT_COL_DUR, GT_TYPE_FLOAT}};
static const gt_column_head short_ops[] = {{GT_COL_OP, GT_TYPE_STRING}, {GT_COL_COUNT, GT_TYPE_INT}};
static const gt_column_head calls[] = {
    {GT_COL_NAME, GT_TYPE_STRING},   {GT_COL_CAT, GT_TYPE_STRING},    {GT_COL_RANK, GT_TYPE_INT},
    {GT_COL_COUNT, GT_TYPE_INT},     {GT_COL_MIN_DUR, GT_TYPE_FLOAT}, {GT_COL_MAX_DUR, GT_TYPE_FLOAT},
    {GT_COL_SUM_DUR, GT_TYPE_FLOAT},
};
static const gt_column_head timeline[] = {
    {GT_COL_TYPE, GT_TYPE_STRING}, {GT_COL_TIME_MS, GT_TYPE_FLOAT}, {GT_COL_PERCENT, GT_TYPE_FLOAT}};
/* Followed by one STRING column per parameter. */
static const gt_column_head ops_columns[] = {
    {GT_COL_NAME, GT_TYPE_STRING},
    {GT_COL_UID, GT_TYPE_INT},
    {GT_COL_INPUT_DIMS, GT_TYPE_STRING},
    {GT_COL_INPUT_TYPE, GT_TYPE_STRING},
    {GT_COL_INPUT_STRIDES, GT_TYPE_STRING},
    {GT_COL_CONCRETE_INPUTS, GT_TYPE_STRING},
    {GT_COL_GFLOPS, GT_TYPE_FLOAT},
    {GT_COL_DATA_MOVED_MB, GT_TYPE_FLOAT},
    {GT_COL_FLOPS_PER_BYTE, GT_TYPE_FLOAT},
    {GT_COL_TB_PER_S, GT_TYPE_FLOAT},
    {GT_COL_TFLOPS_PER_S, GT_TYPE_FLOAT},
    {GT_COL_KERNEL_TIME_US, GT_TYPE_FLOAT},
    {GT_COL_NON_DATA_MOV_KERNEL_TIME_US, GT_TYPE_FLOAT},
    {GT_COL_NON_DATA_MOV_TFLOPS_PER_S, GT_TYPE_FLOAT},
    {GT_COL_DIMS_AS_JSON, GT_TYPE_STRING},
    {GT_COL_TYPES_AS_JSON, GT_TYPE_STRING},
    {GT_COL_STRIDES_AS_JSON, GT_TYPE_STRING},
    {GT_COL_CONCRETE_INPUTS_AS_JSON, GT_TYPE_STRING},
};

enum { TIMELINE_ROWS = 8 };

#define LAYOUT(sheet, columns)                                                                               \
    {                                                                                                        \
        sheet, columns, GT_LENGTH(columns)                                                                   \
    }
static const struct layout {
    gt_sheet sheet;
    const gt_column_head *columns;
    size_t count;
} layouts[] = {
    LAYOUT(GT_SHEET_KERNEL_LAUNCHERS, launchers),
    LAYOUT(GT_SHEET_LINKED_AND_SHORT_KERNELS, counts),
    LAYOUT(GT_SHEET_UNLINKED_SHORT_KERNELS_SUMMARY, unlinked),
    LAYOUT(GT_SHEET_SHORT_CPU_OP_COUNTS, short_ops),
    LAYOUT(GT_SHEET_CUDA_EVENTS_SUMMARY, calls),
    LAYOUT(GT_SHEET_GPU_TIMELINE, timeline),
};

/* Counts of many ranks can be added without overflow. */
static bool are_counts(const gt_column *column, size_t rows)
{
    const int64_t limit = (int64_t)1 << 40;
    if (gt_column_has_nulls(column, rows)) return false;
    for (size_t row = 0; row < rows; row++)
        if (column->ints[row] > limit || column->ints[row] < -limit) return false;
    return true;
}

static bool is_column(const gt_table *table, size_t at, const gt_column_head *head)
{
    const gt_column *column = &table->columns[at];
    return gt_column_is(column, head->name) && column->type == head->type && !column->shown &&
           !column->widened && !column->hidden && !column->over && !column->under &&
           (column->type != GT_TYPE_INT || are_counts(column, table->row_count));
}

static bool begins_with(const gt_table *table, const gt_column_head *columns, size_t count)
{
    if (table->is_foreign || table->column_count < count) return false;
    for (size_t c = 0; c < count; c++)
        if (!is_column(table, c, &columns[c])) return false;
    return true;
}

bool gt_batch_rows_are_sound(const gt_table *rows, gt_sheet sheet)
{
    for (size_t i = 0; i < GT_LENGTH(layouts); i++) {
        const struct layout *layout = &layouts[i];
        if (strcmp(layout->sheet.name, sheet.name) != 0) continue;
        return gt_table_is(rows, sheet) && rows->column_count == layout->count &&
               begins_with(rows, layout->columns, layout->count) &&
               (layout->columns != timeline || rows->row_count >= TIMELINE_ROWS);
    }
    return false;
}

static bool ops_are_sound(const gt_table *rows)
{
    if (!begins_with(rows, ops_columns, GT_LENGTH(ops_columns))) return false;
    for (size_t c = GT_LENGTH(ops_columns); c < rows->column_count; c++) {
        const gt_column_head parameter = {gt_col_named(rows->columns[c].name), GT_TYPE_STRING};
        if (strncmp(parameter.name.name, GT_BATCH_PARAMETER, strlen(GT_BATCH_PARAMETER)) != 0 ||
            !is_column(rows, c, &parameter) || gt_table_find(rows, parameter.name) != c)
            return false;
    }
    return true;
}

/* ---- ops: the rows are among the tables of the image, the kernels are here ---- */

typedef struct saved_kernel {
    double dur_us;
    uint32_t name, stream; /* strings */
    uint32_t integral, unused;
} saved_kernel;

static const char *owner_of(size_t group, char name[16])
{
    snprintf(name, 16, "ops%zu", group);
    return name;
}

void gt_batch_ops_save(const gt_batch_ops ops[GT_BATCH_GROUPS], gt_image *image)
{
    for (size_t group = 0; group < GT_BATCH_GROUPS; group++) {
        char owner[16];
        const gt_kernel_lists *lists = &ops[group].kernels;
        saved_kernel *kernels = gt_alloc((lists->kernel_count + 1) * sizeof *kernels);
        uint64_t *ends = gt_alloc((lists->count + 1) * sizeof *ends);
        for (size_t i = 0; i < lists->kernel_count; i++)
            kernels[i] = (saved_kernel){.dur_us = lists->kernels[i].dur_us,
                                        .name = lists->kernels[i].name,
                                        .stream = lists->kernels[i].stream,
                                        .integral = lists->kernels[i].integral};
        for (size_t i = 0; i < lists->count; i++) ends[i] = lists->ends[i];
        owner_of(group, owner);
        gt_image_give(image, owner, "kernels", kernels, lists->kernel_count * sizeof *kernels);
        gt_image_give(image, owner, "ends", ends, lists->count * sizeof *ends);
        gt_image_add_numbers(image, owner, "found", &(int64_t){(int64_t)ops[group].found}, 1);
    }
}

static bool load_kernels(const saved_kernel *kernels, size_t count, const gt_interner *strings,
                         gt_kernel_lists *lists, uint64_t end)
{
    uint32_t ids = gt_interner_count(strings);
    for (size_t i = lists->kernel_count; i < end; i++) {
        if (i >= count || kernels[i].name >= ids || kernels[i].stream >= ids || isnan(kernels[i].dur_us))
            return false;
        gt_kernel_lists_push(lists, (gt_kernel_detail){.name = kernels[i].name,
                                                       .stream = kernels[i].stream,
                                                       .dur_us = kernels[i].dur_us,
                                                       .overlap_pct = NAN,
                                                       .integral = kernels[i].integral != 0});
    }
    gt_kernel_lists_close(lists);
    return true;
}

static bool load_group(gt_batch_ops *ops, const char *owner, const gt_interner *strings,
                       const gt_image *image)
{
    size_t kernel_count = 0, count = 0;
    const saved_kernel *kernels = gt_image_get(image, owner, "kernels", sizeof *kernels, &kernel_count);
    const uint64_t *ends = gt_image_get(image, owner, "ends", sizeof *ends, &count);
    const int64_t *found = gt_image_get_all(image, owner, "found", sizeof *found, 1);
    if (!kernels || !ends || !found || *found < 0 || *found > (int64_t)1 << 40) return false;
    if (count != (ops->rows ? ops->rows->row_count : 0) || (ops->rows && !ops_are_sound(ops->rows)))
        return false;
    ops->found = (size_t)*found;
    for (size_t i = 0; i < count; i++)
        if (ends[i] < ops->kernels.kernel_count ||
            !load_kernels(kernels, kernel_count, strings, &ops->kernels, ends[i]))
            return false;
    return ops->kernels.kernel_count == kernel_count;
}

bool gt_batch_ops_load(gt_batch_ops ops[GT_BATCH_GROUPS], const gt_interner *strings, const gt_image *image)
{
    char owner[16];
    for (size_t group = 0; group < GT_BATCH_GROUPS; group++)
        if (!load_group(&ops[group], owner_of(group, owner), strings, image)) return false;
    return true;
}
