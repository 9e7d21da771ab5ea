/* Parts of kernel names; the first row that fits tells the kind. */
#include "analysis/rocprof/genesis_category.h"

#include "analysis/percentages.h"
#include "base/length.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

static const struct {
    const char *category, *part;
} parts[] = {
    {"Rigid Body Solver", "_kernel_solve_body"},
    {"Rigid Body Solver", "_kernel_solve_one_iter"},
    {"Rigid Body Solver", "func_solve_body"},
    {"Rigid Body Solver", "func_solve_init"},
    {"Rigid Body Solver", "_kernel_linesearch"},
    {"Rigid Body Solver", "_kernel_solve_iter_post_linesearch"},
    {"Rigid Body Solver", "_kernel_update_constraint"},
    {"Rigid Body Solver", "_kernel_update_gradient"},
    {"Rigid Body Solver", "_kernel_cg_save"},
    {"Rigid Body Solver", "_kernel_update_search_direction"},
    {"Rigid Body Solver", "kernel_compute_mass_matrix"},
    {"Broadphase Collision", "func_broad_phase"},
    {"Narrowphase Collision", "_func_narrowphase"},
    {"Narrowphase Collision", "_func_prepare_gjk"},
    {"Narrowphase Collision", "_func_reset_narrowphase"},
    {"Contact Management", "func_sort_contacts"},
    {"Contact Management", "func_update_contact"},
    {"Time Integration", "kernel_step_1"},
    {"Time Integration", "kernel_step_2"},
    {"Time Integration", "func_update_qacc"},
    {"Constraints", "add_equality_constraints"},
    {"Constraints", "add_inequality_constraints"},
    {"Forward Kinematics", "kernel_forward_kinematics"},
    {"Forward Kinematics", "kernel_update_verts"},
    {"Geometry / AABB", "kernel_update_geom"},
    {"Geometry / AABB", "kernel_bit_reduction"},
    {"Memory Ops (ROCm)", "__amd_rocclr_copyBuffer"},
    {"Memory Ops (ROCm)", "__amd_rocclr_fillBuffer"},
    {"Memory Ops (ROCm)", "__amd_rocclr_initHeap"},
    {"Runtime Init", "runtime_initialize"},
    {"Runtime Init", "runtime_get_memory"},
    {"Runtime Init", "runtime_allocate"},
    {"Runtime Init", "fill_ndarray"},
    {"Runtime Init", "kernel_init_geom"},
    {"Runtime Init", "kernel_init_vvert"},
    {"Runtime Init", "ext_arr_to_ndarray"},
    {"PyTorch Runtime", "at::native::"},
    {"PyTorch Runtime", "elementwise_kernel"},
};

const char *gt_genesis_category(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(parts); i++)
        if (gt_str_contains(name, parts[i].part)) return parts[i].category;
    return "Other";
}

void gt_genesis_categorize(gt_table *summary)
{
    const gt_column *names = gt_table_column(summary, GT_COL_NAME);
    size_t category = gt_table_find(summary, GT_COL_CATEGORY);
    for (size_t row = 0; row < summary->row_count; row++)
        gt_table_set_cstr(summary, category, row,
                          gt_genesis_category(gt_interner_get(summary->strings, names->texts[row])));
}

gt_table *gt_genesis_by_category(const gt_table *summary)
{
    static const gt_col keys[] = {GT_COL_CATEGORY};
    static const gt_aggregate sums[] = {
        {GT_COL_COUNT_TITLE, GT_GROUP_SUM, GT_COL_COUNT_TITLE},
        {GT_COL_TOTAL_KERNEL_TIME_MS, GT_GROUP_SUM, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS},
    };
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, true}};
    gt_table *table =
        gt_table_group(summary, keys, 1, sums, GT_LENGTH(sums), (gt_group_options){.sorted = true});
    gt_table_rename(table, GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY);
    gt_table_rename_column(table, gt_table_find(table, GT_COL_CATEGORY), GT_COL_OP_CATEGORY);
    gt_table_sort(table, longest_first, 1);
    gt_table_add_percentages(table, gt_table_find(table, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS));
    return table;
}
