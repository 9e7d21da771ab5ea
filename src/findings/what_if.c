/* How long would a step take if something were perfect?
 *
 * Each case is an edit of the schedule that is replayed without the profiler's own cost, so its step time is
 * compared with model_step_ms, the row as_is. The cases are bounds and not proposals; they do not add up.
 *
 *     as_is                     no change
 *     kernels_at_roofline       kernels of matrix products, convolutions and attention with known shapes take
 *                               what the GPU's peak rates allow; no change on an unknown GPU
 *     no_launch_gaps            the host prepares and issues launches in no time
 *     no_host_waits             no call waits for the GPU
 *     overlapped_communication  communication takes only the time in which computation runs at the same time
 *     no_copies                 copies and memsets take no time, and their calls neither take time nor wait
 *     no_idle                   the GPU works all the time: its busy time, without a replay */
#include "findings/sheets.h"
#include "findings/overlap.h"
#include "schema/columns.h"

/* ---- edits ---- */

static void edit_communication(const gt_findings *f, gt_edit *edit)
{
    gt_overlap overlap = gt_overlap_find(f->schedule);
    gt_overlap_edit(&overlap, f->schedule, edit);
    gt_overlap_free(&overlap);
}

static void edit_launches(const gt_findings *f, gt_edit *edit)
{
    const gt_schedule *s = f->schedule;
    gt_edit_reserve_points(edit, 2 * s->point_count);
    gt_edit_remove_label(edit, s, GT_CAUSE_LAUNCH);
    for (uint32_t i = 0; i < s->point_count; i++)
        if (s->points[i].kind == GT_API_LAUNCH) gt_edit_point_add(edit, i, GT_EDIT_NO_CALL, 0);
}

static void edit_waits(const gt_findings *f, gt_edit *edit)
{
    const gt_schedule *s = f->schedule;
    for (uint32_t i = 0; i < s->point_count; i++)
        if (s->points[i].awaited != GT_NONE) gt_edit_point_add(edit, i, GT_EDIT_NO_WAIT, 0);
}

static void edit_copies(const gt_findings *f, gt_edit *edit)
{
    const gt_schedule *s = f->schedule;
    for (uint32_t i = 0; i < s->op_count; i++)
        if (s->ops[i].kind != GT_KIND_KERNEL) gt_edit_op_add(edit, i, 0);
    for (uint32_t i = 0; i < s->point_count; i++)
        if (s->points[i].kind == GT_API_COPY)
            gt_edit_point_add(edit, i, GT_EDIT_NO_CALL | GT_EDIT_NO_WAIT, 0);
}

/* The time that peak rates allow for all kernels of an op; 0: unknown. */
static double roofline_ns(const gt_gpu_rates *gpu, const gt_op_shape *shape)
{
    bool is_half = gt_operand_is_half(shape->type);
    if (!shape->is_known || (!is_half && shape->type != GT_OPERAND_FLOAT)) return 0;
    double flops_ns = shape->flops / (is_half ? gpu->half_flops : gpu->tf32_flops);
    double bytes_ns = shape->elements * (is_half ? 2 : 4) / gpu->bytes;
    double ns = flops_ns > bytes_ns ? flops_ns : bytes_ns;
    return isfinite(ns) && ns > 0 ? ns : 0;
}

/* The kernels of an op share its roofline time in proportion to what they take. */
static void edit_kernels(const gt_findings *f, gt_edit *edit)
{
    const gt_schedule *s = f->schedule;
    const gt_gpu_facts *facts = f->facts;
    if (!(f->gpu.half_flops > 0) || !(f->gpu.bytes > 0)) return;
    for (uint32_t i = 0; i < s->op_count; i++) {
        const gt_op_shape *shape = gt_gpu_facts_shape(facts, i);
        if (!shape || s->ops[i].kind != GT_KIND_KERNEL) continue;
        double whole_ns = (double)facts->sources[facts->op_source[i]].kernel_ns;
        double ns = roofline_ns(&f->gpu, shape);
        if (ns > 0 && ns < whole_ns) gt_edit_op_add(edit, i, (double)gt_op_ns(&s->ops[i]) * ns / whole_ns);
    }
}

/* ---- the sheet ---- */

static const struct {
    const char *name;
    void (*edit)(const gt_findings *f, gt_edit *edit); /* NULL: no change */
    const char *how;
} cases[] = {
    {"as_is", NULL, "replayed without the profiler's own cost"},
    {"kernels_at_roofline", edit_kernels,
     "matrix products, convolutions and attention with known shapes run at the GPU's peak rates"},
    {"no_launch_gaps", edit_launches, "the host prepares and issues launches in no time"},
    {"no_host_waits", edit_waits, "no host call waits for the GPU"},
    {"overlapped_communication", edit_communication,
     "communication takes only the time in which computation runs beside it"},
    {"no_copies", edit_copies, "copies and memsets take no time, and their calls do not wait"},
};

enum { CASE, STEP, GAIN, PCT, HOW };

static void add_case(gt_table *sheet, const gt_findings *f, const char *name, double step_ns, const char *how)
{
    size_t row = gt_table_add_row(sheet);
    bool counts = gt_gain_counts(f->model_ns - step_ns, fabs(f->replay_error_ns));
    if (step_ns < f->model_ns && !counts) step_ns = f->model_ns;
    double gain_ns = f->model_ns > step_ns ? f->model_ns - step_ns : 0;
    gt_table_set_cstr(sheet, CASE, row, name);
    gt_table_set_float(sheet, STEP, row, gt_replayed_ms(step_ns));
    gt_table_set_float(sheet, GAIN, row, gt_replayed_ms(gain_ns));
    gt_table_set_float(sheet, PCT, row, f->model_ns > 0 ? floor(1e4 * gain_ns / f->model_ns + 0.5) / 100 : 0);
    gt_table_set_cstr(sheet, HOW, row, how);
}

static double replay_case(const gt_findings *f, void (*change)(const gt_findings *, gt_edit *))
{
    gt_edit edit = {0};
    double step_ns = f->model_ns;
    if (change) change(f, &edit);
    if (edit.point_count || edit.op_count)
        step_ns =
            gt_replay_run(f->schedule, (const gt_edit *const[]){&edit}, 1, (gt_replay_options){0}, NULL);
    gt_edit_free(&edit);
    return step_ns;
}

gt_table *gt_what_if_sheet(const gt_findings *f)
{
    static const gt_column_head heads[] = {
        [CASE] = {GT_COL_CASE, GT_TYPE_STRING},   [STEP] = {GT_COL_STEP_MS, GT_TYPE_FLOAT},
        [GAIN] = {GT_COL_GAIN_MS, GT_TYPE_FLOAT}, [PCT] = {GT_COL_GAIN_PCT, GT_TYPE_FLOAT},
        [HOW] = {GT_COL_HOW, GT_TYPE_STRING},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_WHAT_IF, f->schedule->strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    if (!f->schedule->op_count) return sheet;
    for (size_t i = 0; i < GT_LENGTH(cases); i++)
        add_case(sheet, f, cases[i].name, replay_case(f, cases[i].edit), cases[i].how);
    add_case(sheet, f, "no_idle", f->busy_ns < f->model_ns ? f->busy_ns : f->model_ns,
             "the GPU works all the time: its busy time per step as recorded");
    return sheet;
}
