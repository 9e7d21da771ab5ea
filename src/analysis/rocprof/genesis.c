/* Kernel categories and steady state of a physics simulation (Genesis, Taichi). */
#include "analysis/rocprof/genesis.h"

#include "analysis/sheet_parts.h"
#include "schema/columns.h"

/* ---- categories ----
 *
 * The first part that occurs in the kernel's name gives the category. */

static const struct {
    const char *category, *part;
} name_parts[] = {
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
    for (size_t i = 0; i < GT_LENGTH(name_parts); i++)
        if (gt_str_contains(name, name_parts[i].part)) return name_parts[i].category;
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

/* ---- steady state ----
 *
 * A pause lasts from the end of a dispatch to the start of the next one, in order of starts; it is negative
 * if the two overlap. Sums are of whole nanoseconds. */

/* a - b, clamped to the range of int64. */
static int64_t difference(int64_t a, int64_t b)
{
    int64_t result;
    if (!__builtin_sub_overflow(a, b, &result)) return result;
    return b < 0 ? INT64_MAX : INT64_MIN;
}

static void set_fallback_method(gt_steady_state *found, int64_t fallback_ns)
{
    snprintf(found->method, sizeof found->method, "last_%.1fs", (double)fallback_ns / 1e9);
}

void gt_steady_state_cutoff(const int64_t *starts, const int64_t *ends, size_t count, int64_t gap_ns,
                            int64_t fallback_ns, gt_steady_state *found)
{
    *found = (gt_steady_state){.method = "single_dispatch", .cutoff_ns = count ? starts[0] : 0};
    if (count < 2) return;
    uint32_t *order = gt_order_new(count);
    gt_order_by_ints(order, count, starts, NULL, false);
    int64_t longest = INT64_MIN;
    size_t after_gap = 0;
    for (size_t i = 1; i < count; i++) {
        int64_t gap = difference(starts[order[i]], ends[order[i - 1]]);
        if (i == 1 || gap > longest) {
            longest = gap;
            after_gap = i;
        }
    }
    if (longest >= gap_ns) {
        found->cutoff_ns = starts[order[after_gap]];
        snprintf(found->method, sizeof found->method, "after_max_gap_%.1fms", (double)longest / 1e6);
    } else {
        found->cutoff_ns = difference(ends[order[count - 1]], fallback_ns);
        set_fallback_method(found, fallback_ns);
    }
    gt_free(order);
}

/* Measures the dispatches that start at the cutoff or later. */
static void measure(const int64_t *starts, const int64_t *ends, size_t count, gt_steady_state *state)
{
    uint32_t *order = gt_order_new(count);
    gt_order_by_ints(order, count, starts, NULL, false);
    int64_t running_until = 0;
    state->dispatches = 0;
    state->busy_ns = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t start = starts[order[i]], end = ends[order[i]];
        if (start < state->cutoff_ns) continue;
        bool is_first = !state->dispatches++;
        if (is_first) state->begin_ns = running_until = start;
        if (is_first || end > state->end_ns) state->end_ns = end;
        if (start > running_until) running_until = start;
        if (end > running_until) {
            state->busy_ns += difference(end, running_until);
            running_until = end;
        }
    }
    gt_free(order);
    int64_t total = difference(state->end_ns, state->begin_ns);
    state->busy_percent =
        state->dispatches ? 100.0 * (double)state->busy_ns / (double)(total > 1 ? total : 1) : 0.0;
}

bool gt_steady_state_find(const int64_t *starts, const int64_t *ends, size_t count, int64_t gap_ns,
                          int64_t fallback_ns, gt_steady_state *found, gt_error *error)
{
    gt_steady_state last = {.method = ""};
    if (!count) return gt_fail(error, "no kernel dispatches, so there is no steady state");
    gt_steady_state_cutoff(starts, ends, count, gap_ns, fallback_ns, found);
    measure(starts, ends, count, found);
    int64_t last_end = ends[0];
    for (size_t i = 1; i < count; i++) last_end = ends[i] > last_end ? ends[i] : last_end;
    last.cutoff_ns = difference(last_end, fallback_ns);
    set_fallback_method(&last, fallback_ns);
    measure(starts, ends, count, &last);
    if (last.busy_percent > found->busy_percent) *found = last;
    if (!found->dispatches)
        return gt_fail(error, "no kernel starts within the last %g s; increase --steady-state-fallback-s",
                       (double)fallback_ns / 1e9);
    return true;
}

gt_table *gt_steady_state_timeline(const gt_steady_state *state, gt_interner *strings)
{
    int64_t total = difference(state->end_ns, state->begin_ns), idle;
    if (total < 1) total = 1;
    idle = total > state->busy_ns ? total - state->busy_ns : 0;
    const struct {
        const char *type;
        int64_t ns;
    } rows[] = {{"total_time", total},
                {"kernel", state->busy_ns},
                {"memory", 0},
                {"busy_time", state->busy_ns},
                {"idle", idle}};
    gt_table *timeline = gt_gpu_timeline_new(strings);
    for (size_t i = 0; i < GT_LENGTH(rows); i++)
        gt_gpu_timeline_add_ns(timeline, rows[i].type, (double)rows[i].ns,
                               100.0 * (double)rows[i].ns / (double)total);
    return timeline;
}
