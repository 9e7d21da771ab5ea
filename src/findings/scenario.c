/* Durations of ops in a scenario, the run with them, and its sheets.
 *
 * A repaired finding is its edit. On another GPU, products of matrices, convolutions and attention keep the
 * time that their arithmetic takes, unless reading their operands takes much of it; all other kernels follow
 * the memory bandwidth. With larger batches
 *
 * - optimizers, collectives and memsets take what they took;
 * - kernels and copies grow in proportion beyond a fixed part; kernels with fewer blocks than the GPU has
 *   multiprocessors first fill the others;
 * - products of matrices with one short side are limited by reading the larger operand, the weights, which
 *   does not grow.
 *
 * docs/what_if.md says how the figures below were measured. */
#include "findings/scenario.h"
#include "findings/rules/gpu_rules.h"
#include "schema/columns.h"

static const double most_idle = 0.1; /* of a step that the GPU bounds */
/* Nine of ten predicted step times differ from measured ones by at most so many %. */
static const double fix_error = 21, twice_error = 11, four_times_error = 16;
/* The same for the time of kernels on another GPU: of kernels that take at least `short_ns`, and of others.
 */
static const double gpu_error = 6, gpu_short_error = 53;
static const int64_t short_ns = 10000;

static const double fixed_ns = 2000;  /* of a kernel or copy: does not grow with the batch */
static const double short_side = 256; /* of a matrix: below this, its other operand is the weights */
static const double reading = 0.4;    /* share of a kernel's time from which reading operands limits it */

typedef struct scenario_run {
    const gt_findings *f;
    const gt_scenario *scenario;
    gt_gpu_rates target;
    gt_edit *edits; /* of repairs, without durations of ops */
    size_t edit_count;
    double *dur_ns, *blocks; /* by op */
    double gains_ns;         /* of the repairs, as the findings limit them */
    double given_ns;         /* of these, gains that no run gives */
    double error_pct;
    gt_buffer fixed; /* names of the repaired findings */
} scenario_run;

/* ---- repairs ---- */

static bool is_named(const gt_finding *finding, const char *names)
{
    for (const char *at = names; *at;) {
        size_t len = strcspn(at, ", ");
        gt_str name = {at, len};
        char *end;
        unsigned long rank = strtoul(at, &end, 10);
        bool is_rank = end == at + len && rank == finding->rank;
        bool is_any = gt_str_equals(name, "all") && !gt_finding_is_hint(finding);
        if (len && (is_any || is_rank || gt_str_equals(name, finding->id))) return true;
        at += len + strspn(at + len, ", ");
    }
    return false;
}

/* The names that are those of no finding: NULL, or the first one. */
static char *find_unknown(const gt_finding_list *list, const char *names)
{
    for (const char *at = names; *at;) {
        size_t len = strcspn(at, ", ");
        char *name = gt_format("%.*s", (int)len, at);
        bool is_known = !len || strcmp(name, "all") == 0;
        for (size_t i = 0; i < list->shown; i++) is_known |= is_named(&list->items[i], name);
        if (!is_known) return name;
        gt_free(name);
        at += len + strspn(at + len, ", ");
    }
    return NULL;
}

static void add_repair(scenario_run *run, const gt_finding *finding)
{
    gt_buffer_add_format(&run->fixed, "%s%zu. %s", run->fixed.len ? ", " : "", finding->rank, finding->id);
    run->gains_ns += finding->gain_ns;
    if (finding->gain_is_given) {
        run->given_ns += finding->gain_ns;
        return;
    }
    gt_edit *edit = &run->edits[run->edit_count++];
    for (size_t i = 0; i < finding->edit.point_count; i++)
        gt_edit_point_add(edit, finding->edit.points[i].point, finding->edit.points[i].flags,
                          finding->edit.points[i].before_ns);
    for (size_t i = 0; i < finding->edit.op_count; i++) {
        const gt_edit_op *op = &finding->edit.ops[i];
        run->dur_ns[op->op] = fmin(run->dur_ns[op->op], op->dur_ns);
        if (op->soon) gt_edit_op_start_soon(edit, op->op);
        if (op->gap_ns < INFINITY) gt_edit_op_cut_gap(edit, op->op, op->gap_ns);
    }
}

static bool repair(scenario_run *run, gt_error *error)
{
    const gt_finding_list *list = run->f->list;
    run->edits = gt_alloc_zero(list->shown + 1, sizeof *run->edits);
    if (!run->scenario->fixes) return true;
    char *unknown = find_unknown(list, run->scenario->fixes);
    if (unknown) {
        gt_fail(error, "argument --fix: '%.100s' is neither the rank nor the name of one of the %zu findings",
                unknown, list->shown);
        gt_free(unknown);
        return false;
    }
    for (size_t i = 0; i < list->shown; i++)
        if (is_named(&list->items[i], run->scenario->fixes)) add_repair(run, &list->items[i]);
    if (!run->fixed.len) return gt_fail(error, "argument --fix: there is no finding to repair");
    run->error_pct = hypot(run->error_pct, fix_error);
    return true;
}

/* ---- another GPU ---- */

/* Of the same units and clocks, so that only memory differs. */
static bool was_measured(const char *name)
{
    const gt_gpu_arch *arch = gt_gpu_arch_of_device(name);
    return arch && (strcmp(arch->name, "H100") == 0 || strcmp(arch->name, "H200") == 0);
}

/* Time to read and write the operands of a product of matrices at the full rate. */
static double reading_ns(const gt_op_shape *shape, const gt_gpu_rates *gpu)
{
    return shape->elements * (gt_operand_is_half(shape->type) ? 2 : 4) / gpu->bytes;
}

static double gpu_factor(const scenario_run *run, size_t op)
{
    const gt_findings *f = run->f;
    const gt_gpu_op *one = &f->schedule->ops[op];
    const gt_op_shape *shape = gt_gpu_facts_shape(f->facts, op);
    double bandwidth = f->gpu.bytes / run->target.bytes,
           arithmetic = f->gpu.half_flops / run->target.half_flops;
    if (one->communicates || one->kind == GT_KIND_MEMCPY) return 1;
    bool computes = shape && (shape->kind == GT_WORK_GEMM || shape->kind == GT_WORK_CONVOLUTION ||
                              shape->kind == GT_WORK_ATTENTION);
    if (!computes) return bandwidth;
    bool reads = shape->kind == GT_WORK_GEMM && shape->is_known &&
                 reading_ns(shape, &f->gpu) >= reading * (double)gt_op_ns(one);
    return reads ? bandwidth : arithmetic;
}

static bool move_to_gpu(scenario_run *run, gt_error *error)
{
    const gt_findings *f = run->f;
    const gt_schedule *s = f->schedule;
    const gt_gpu_arch *gpu = run->scenario->gpu;
    if (!gpu) return true;
    if (!was_measured(f->gpu.name) || !was_measured(gpu->name))
        return gt_fail(
            error,
            "argument --gpu: kernel times are predicted from H100 to H200 and back only, not from %s to %s: "
            "between H100 and MI300X they were wrong by up to 93 %%, other GPUs were not measured",
            *f->gpu.name ? f->gpu.name : "an unknown GPU", gpu->name);
    run->target = gt_gpu_rates_find(gpu->name, gpu, f->gpu.compute_major, f->gpu.is_amd);
    double all_ns = 0, in_short_ns = 0;
    for (size_t i = 0; i < s->op_count; i++) {
        double ns = (double)gt_op_ns(&s->ops[i]);
        all_ns += ns;
        if (gt_op_ns(&s->ops[i]) < short_ns) in_short_ns += ns;
        run->dur_ns[i] *= gpu_factor(run, i);
    }
    double share = all_ns > 0 ? in_short_ns / all_ns : 0;
    double error_pct = gpu_error * (1 - share) + gpu_short_error * share;
    if (error_pct > GT_SCENARIO_ERROR_MAX)
        return gt_fail(
            error,
            "argument --gpu: %.0f %% of the GPU time is in kernels of less than 10 us, whose time on "
            "another GPU was predicted wrong by up to %.0f %%",
            100 * share, gpu_short_error);
    run->error_pct = hypot(run->error_pct, error_pct);
    return true;
}

/* ---- larger batches ---- */

/* How much longer a product of matrices with one short side takes; 0: both are long, or it is not known. */
static double weights_factor(const scenario_run *run, const gt_op_shape *shape, double batch)
{
    const gt_gpu_rates *gpu = &run->f->gpu;
    double m = shape->m, n = shape->n, k = shape->k;
    double least = fmin(m, fmin(n, k)),
           flops_rate = gt_operand_is_half(shape->type) ? gpu->half_flops : gpu->tf32_flops;
    if (least > short_side || shape->batch > 1 || !(gpu->bytes > 0)) return 0;
    double weights = m * n * k / least, rest = m * n + n * k + k * m - weights;
    double bytes = gt_operand_is_half(shape->type) ? 2 : 4, reach = GT_REACH_MEMORY * gpu->bytes;
    double compute_ns = shape->flops / flops_rate / GT_REACH_GEMM;
    double before_ns = fmax(compute_ns, bytes * (weights + rest) / reach);
    double after_ns = fmax(batch * compute_ns, bytes * (weights + batch * rest) / reach);
    return before_ns > 0 ? after_ns / before_ns : 0;
}

static double batch_ns(const scenario_run *run, size_t op, double ns)
{
    const gt_schedule *s = run->f->schedule;
    const gt_gpu_op *one = &s->ops[op];
    double batch = run->scenario->batch, fill = 1;
    bool optimizes = one->point != GT_NONE && s->points[one->point].flags & GT_HOST_OPTIMIZER;
    if (optimizes || one->communicates || one->kind == GT_KIND_MEMSET) return ns;
    const gt_op_shape *shape = gt_gpu_facts_shape(run->f->facts, op);
    if (shape && shape->kind == GT_WORK_GEMM && shape->is_known && shape->batch <= 1) {
        double factor = weights_factor(run, shape, batch);
        return ns * (factor > 0 ? factor : batch);
    }
    if (run->blocks && run->blocks[op] > 0 && run->f->gpu.multiprocessors > 0)
        fill = fmin(1, run->blocks[op] / (double)run->f->gpu.multiprocessors);
    double fixed = fmin(ns, fixed_ns);
    return fixed + (ns - fixed) * fmax(1, batch * fill);
}

/* The blocks of each kernel; 0: unknown. */
static double *find_blocks(const gt_schedule *s)
{
    uint32_t *rows = gt_alloc((s->op_count + 1) * sizeof *rows),
             *grids = gt_alloc((s->op_count + 1) * sizeof *grids);
    double *blocks = gt_alloc_zero(s->op_count + 1, sizeof *blocks);
    for (size_t i = 0; i < s->op_count; i++) rows[i] = s->ops[i].row;
    gt_store_string_ids_at(s->trace->store, GT_EVENT_GRID, rows, s->op_count, grids);
    for (size_t i = 0; i < s->op_count; i++)
        if (grids[i] != GT_STR_NONE) blocks[i] = gt_grid_blocks(gt_interner_get(s->strings, grids[i]));
    gt_free(rows);
    gt_free(grids);
    return blocks;
}

static bool enlarge(scenario_run *run, gt_error *error)
{
    const gt_schedule *s = run->f->schedule;
    double batch = run->scenario->batch;
    if (batch == 1) return true;
    if (s->listed)
        return gt_fail(error,
                       "argument --batch: the batch of a server is that of its requests, not of its program");
    run->blocks = find_blocks(s);
    for (size_t i = 0; i < s->op_count; i++) run->dur_ns[i] = batch_ns(run, i, run->dur_ns[i]);
    run->error_pct = hypot(run->error_pct, batch <= 2 ? twice_error : four_times_error);
    return true;
}

/* ---- the run ---- */

static double replay(const scenario_run *run, bool changes_ops, gt_replay_times *times)
{
    const gt_schedule *s = run->f->schedule;
    gt_edit ops = {0};
    const gt_edit **edits = gt_alloc((run->edit_count + 1) * sizeof *edits);
    for (size_t i = 0; i < run->edit_count; i++) edits[i] = &run->edits[i];
    for (uint32_t i = 0; i < s->op_count && changes_ops; i++)
        if (run->dur_ns[i] != (double)gt_op_ns(&s->ops[i])) gt_edit_op_add(&ops, i, run->dur_ns[i]);
    edits[run->edit_count] = &ops;
    double step_ns = gt_replay_run(s, edits, run->edit_count + 1, (gt_replay_options){0}, times);
    gt_edit_free(&ops);
    gt_free(edits);
    return step_ns;
}

/* Time per step in which the GPU works. The ops are in the order of their recorded starts. */
static double busy_ns(const gt_schedule *s, const gt_replay_times *times)
{
    double busy = 0, until = -INFINITY;
    for (size_t i = 0; i < s->op_count; i++) {
        if (!gt_window_has(&s->window, s->ops[i].start_ns)) continue;
        busy += fmax(0, times->end_ns[i] - fmax(until, times->start_ns[i]));
        until = fmax(until, times->end_ns[i]);
    }
    return busy / (double)s->window.steps;
}

static double run_step(const scenario_run *run, double *busy)
{
    const gt_schedule *s = run->f->schedule;
    gt_replay_times times = {.start_ns = gt_alloc(s->op_count * sizeof(double)),
                             .end_ns = gt_alloc(s->op_count * sizeof(double))};
    double step_ns = replay(run, true, &times);
    *busy = busy_ns(s, &times);
    gt_free(times.start_ns);
    gt_free(times.end_ns);
    return fmax(step_ns, *busy);
}

/* ---- the sheets ---- */

enum { PART, KIND, NOW, THEN, LOW, HIGH };

static void add_row(gt_table *sheet, const char *part, const char *kind, double now_ns, double then_ns,
                    double error_pct)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, PART, row, part);
    gt_table_set_cstr(sheet, KIND, row, kind);
    gt_table_set_float(sheet, NOW, row, now_ns / 1e6);
    gt_table_set_float(sheet, THEN, row, then_ns / 1e6);
    bool has_range = isfinite(error_pct);
    gt_table_set_float(sheet, LOW, row, has_range ? then_ns / (1 + error_pct / 100) / 1e6 : NAN);
    gt_table_set_float(sheet, HIGH, row, has_range ? then_ns * (1 + error_pct / 100) / 1e6 : NAN);
}

/* The time of all ops of a category, those side by side included. */
static void add_categories(gt_table *sheet, const scenario_run *run)
{
    const gt_schedule *s = run->f->schedule;
    double now[GT_CATEGORIES] = {0}, then[GT_CATEGORIES] = {0}, steps = (double)s->window.steps;
    for (size_t i = 0; i < s->op_count; i++) {
        if (!gt_window_has(&s->window, s->ops[i].start_ns)) continue;
        now[run->f->categories[i]] += (double)gt_op_ns(&s->ops[i]) / steps;
        then[run->f->categories[i]] += run->dur_ns[i] / steps;
    }
    for (size_t count = 0; count < GT_CATEGORIES; count++) {
        size_t most = 0;
        for (size_t c = 1; c < GT_CATEGORIES; c++)
            if (now[c] > now[most]) most = c;
        if (!(now[most] > 0)) break;
        add_row(sheet, gt_category_name((gt_category)most), "gpu_time", now[most], then[most], NAN);
        now[most] = 0;
    }
}

/* Takes over the text. */
static void add_note(gt_table *notes, char *text)
{
    gt_table_set_cstr(notes, 0, gt_table_add_row(notes), text);
    gt_free(text);
}

static gt_table *notes_sheet(const scenario_run *run, double step_ns, double busy)
{
    static const gt_column_head heads[] = {{GT_COL_NOTE, GT_TYPE_STRING}};
    gt_table *notes = gt_table_new(GT_SHEET_SCENARIO_NOTES, run->f->schedule->strings);
    gt_table_add_columns(notes, heads, GT_LENGTH(heads));
    double idle_pct = step_ns > 0 ? 100 * (1 - busy / step_ns) : 0;
    add_note(notes, gt_format("The %s bounds the step: the GPU is idle for %.0f%% of it.",
                              idle_pct < 100 * most_idle ? "GPU" : "host", idle_pct));
    add_note(notes, gt_format("Nine of ten such predictions were within %.0f%% of the measured step.",
                              run->error_pct));
    add_note(notes, gt_format("The host does what it did, at the same speed, without the profiler."));
    if (run->fixed.len) add_note(notes, gt_format("Repaired: %.*s.", (int)run->fixed.len, run->fixed.bytes));
    if (run->scenario->gpu)
        add_note(notes, gt_format("%s: kernels that compute take %.2f times as long, others %.2f times.",
                                  run->scenario->gpu->name, run->f->gpu.half_flops / run->target.half_flops,
                                  run->f->gpu.bytes / run->target.bytes));
    if (run->scenario->batch != 1)
        add_note(
            notes,
            gt_format(
                "Batch %gx: the same kernels and launches on more data; optimizer and collectives as they "
                "are.",
                run->scenario->batch));
    return notes;
}

static gt_table *scenario_sheet(const scenario_run *run, double step_ns, double busy)
{
    static const gt_column_head heads[] = {
        [PART] = {GT_COL_PART, GT_TYPE_STRING},      [KIND] = {GT_COL_KIND, GT_TYPE_STRING},
        [NOW] = {GT_COL_NOW_MS, GT_TYPE_FLOAT},      [THEN] = {GT_COL_THEN_MS, GT_TYPE_FLOAT},
        [LOW] = {GT_COL_THEN_LOW_MS, GT_TYPE_FLOAT}, [HIGH] = {GT_COL_THEN_HIGH_MS, GT_TYPE_FLOAT},
    };
    const gt_findings *f = run->f;
    gt_table *sheet = gt_table_new(GT_SHEET_SCENARIO, f->schedule->strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    add_row(sheet, f->per, "step", f->model_ns, step_ns, run->error_pct);
    add_row(sheet, "GPU busy", "busy", fmin(f->busy_ns, f->model_ns), busy, NAN);
    add_row(sheet, "GPU idle", "idle", fmax(0, f->model_ns - f->busy_ns), step_ns - busy, NAN);
    add_categories(sheet, run);
    return sheet;
}

bool gt_scenario_add_sheets(const gt_findings *f, const gt_scenario *scenario, gt_table_list *tables,
                            gt_error *error)
{
    const gt_schedule *s = f->schedule;
    if (!s->op_count || !(f->model_ns > 0)) return gt_fail(error, "there is no GPU work to run again");
    scenario_run run = {
        .f = f, .scenario = scenario, .target = f->gpu, .dur_ns = gt_alloc(s->op_count * sizeof(double))};
    for (size_t i = 0; i < s->op_count; i++) run.dur_ns[i] = (double)gt_op_ns(&s->ops[i]);
    bool is_made = repair(&run, error);
    /* No repairs together gain more than they do one by one. */
    double missing_ns =
        is_made ? fmax(0, f->model_ns - run.gains_ns - (replay(&run, true, NULL) - run.given_ns)) : 0;
    is_made = is_made && move_to_gpu(&run, error) && enlarge(&run, error);
    if (is_made && run.error_pct > GT_SCENARIO_ERROR_MAX)
        is_made = gt_fail(error, "all of this together may be wrong by %.0f %%; ask for less at once",
                          run.error_pct);
    double busy = 0, step_ns = 0;
    if (is_made) step_ns = run_step(&run, &busy);
    step_ns = fmax(busy, step_ns + missing_ns - run.given_ns);
    if (is_made && (scenario->gpu || scenario->batch != 1) && step_ns - busy > most_idle * step_ns)
        is_made =
            gt_fail(error,
                    "the GPU would work for %.2f ms of a step, and the host would bound it: such steps were "
                    "predicted wrong by up to 50 %%; repair what holds up the host first",
                    busy / 1e6);
    if (is_made) {
        gt_table_list_add(tables, scenario_sheet(&run, step_ns, busy));
        gt_table_list_add(tables, notes_sheet(&run, step_ns, busy));
    }
    for (size_t i = 0; i < run.edit_count; i++) gt_edit_free(&run.edits[i]);
    gt_free(run.edits);
    gt_free(run.dur_ns);
    gt_free(run.blocks);
    gt_buffer_free(&run.fixed);
    return is_made;
}
