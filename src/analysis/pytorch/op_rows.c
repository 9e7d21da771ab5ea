/* Ops as rows of a table: names, arguments, overlap, and the figures of their models as columns. */
#include "analysis/pytorch/op_rows.h"

/* ---- figures ---- */

typedef enum group { FIGURES, ROOFLINE, SIMULATED } group;

static const struct {
    gt_col name;
    group group;
    size_t offset; /* of a double in gt_metrics */
} numbers[] = {
    {GT_COL_GFLOPS, FIGURES, offsetof(gt_metrics, gflops)},
    {GT_COL_DATA_MOVED_MB, FIGURES, offsetof(gt_metrics, data_moved_mb)},
    {GT_COL_FLOPS_PER_BYTE, FIGURES, offsetof(gt_metrics, flops_per_byte)},
    {GT_COL_TB_PER_S, FIGURES, offsetof(gt_metrics, tb_per_s)},
    {GT_COL_TFLOPS_PER_S, FIGURES, offsetof(gt_metrics, tflops_per_s)},
    {GT_COL_ROOFLINE_TIME_US, ROOFLINE, offsetof(gt_metrics, roofline_us)},
    {GT_COL_PCT_ROOFLINE, ROOFLINE, offsetof(gt_metrics, pct_roofline)},
    {GT_COL_ORIGAMI_TIME_US, SIMULATED, offsetof(gt_metrics, simulated_us)},
    {GT_COL_ORIGAMI_TFLOPS_PER_S, SIMULATED, offsetof(gt_metrics, simulated_tflops_per_s)},
    {GT_COL_ORIGAMI_TB_PER_S, SIMULATED, offsetof(gt_metrics, simulated_tb_per_s)},
    {GT_COL_PCT_ORIGAMI, SIMULATED, offsetof(gt_metrics, pct_simulated)},
};

/* ---- rows ---- */

void gt_op_rows_push(gt_op_rows *r, gt_op_row op)
{
    GT_PUSH(r->items, r->count, r->capacity, op);
}

void gt_op_rows_set_overlap(gt_op_rows *r, gt_op_overlap overlap)
{
    size_t names = r->overlapping.count, pcts = r->overlapping.count;
    GT_PUSH(r->overlapping_names, names, r->names_capacity, overlap.names);
    GT_PUSH(r->overlapping_pct, pcts, r->pct_capacity, overlap.overlap_pct);
    for (size_t i = 0; i < overlap.count; i++) gt_kernel_lists_push(&r->overlapping, overlap.kernels[i]);
    gt_kernel_lists_close(&r->overlapping);
}

void gt_op_rows_free(gt_op_rows *r)
{
    gt_free(r->items);
    gt_kernel_lists_free(&r->kernels);
    gt_kernel_lists_free(&r->overlapping);
    gt_free_all(r->overlapping_names, r->overlapping_pct);
    *r = (gt_op_rows){0};
}

/* ---- columns ---- */

enum { TRACKS = 3 };

static const gt_col track_columns[TRACKS] = {GT_COL_PROCESS_NAME, GT_COL_PROCESS_LABEL, GT_COL_THREAD_NAME};
static const gt_col argument_columns[GT_PERF_ARGUMENTS] = {
    [GT_PERF_DIMS] = GT_COL_INPUT_DIMS,
    [GT_PERF_TYPES] = GT_COL_INPUT_TYPE,
    [GT_PERF_STRIDES] = GT_COL_INPUT_STRIDES,
    [GT_PERF_CONCRETE] = GT_COL_CONCRETE_INPUTS,
};

/* A table being filled: the arrays of its columns, NULL where it does not have the column. */
typedef struct filling {
    const gt_op_rows *ops;
    const gt_perf *perf;
    gt_table *table;
    unsigned groups;   /* bit g: some op has figures of group g */
    unsigned fraction; /* 1: a kernel time is not an integer */
    uint32_t *names, *tracks[TRACKS], *arguments[GT_PERF_ARGUMENTS], *specs, *bounds;
    int64_t *uids, *whole_times;
    uint8_t *recompute;
    double *numbers[GT_LENGTH(numbers)], *times;
    const gt_model_result **results; /* by id; with __atomic: NULL if no op has it */
    uint32_t *spec_of;               /* by id of a result: string id of its compute spec */
    uint32_t bound_texts[3];
} filling;

/* Which columns are needed? */
static void look_at_rows(void *context, size_t begin, size_t end)
{
    filling *f = context;
    unsigned groups = 0, fraction = 0;
    for (size_t i = begin; i < end; i++) {
        const gt_op_metrics *m = &f->ops->items[i].metrics;
        fraction |= !m->busy_integral || !(fabs(m->busy_us) < 0x1p53);
        if (!m->result) continue;
        const gt_model_result **known = &f->results[m->result->id];
        if (!__atomic_load_n(known, __ATOMIC_RELAXED)) __atomic_store_n(known, m->result, __ATOMIC_RELAXED);
        groups |= 1 << FIGURES | (unsigned)!isnan(m->simulated_us) << SIMULATED;
        if (f->perf->arch && gt_perf_figures(f->perf, m).bound != GT_BOUND_UNKNOWN) groups |= 1 << ROOFLINE;
    }
    __atomic_fetch_or(&f->groups, groups, __ATOMIC_RELAXED);
    __atomic_fetch_or(&f->fraction, fraction, __ATOMIC_RELAXED);
}

static void *add_array(filling *f, gt_col name, gt_type type)
{
    return gt_table_add_unset(f->table, name, type)->ints;
}

static void add_columns(filling *f)
{
    f->names = add_array(f, GT_COL_NAME, GT_TYPE_STRING);
    f->uids = add_array(f, GT_COL_UID, GT_TYPE_INT);
    for (size_t i = 0; i < TRACKS; i++) f->tracks[i] = add_array(f, track_columns[i], GT_TYPE_STRING);
    for (size_t i = 0; i < GT_PERF_ARGUMENTS; i++)
        f->arguments[i] = add_array(f, argument_columns[i], GT_TYPE_STRING);
    if (f->perf->trace->recompute) f->recompute = add_array(f, GT_COL_IS_RECOMPUTE, GT_TYPE_BOOL);
    if (f->perf->overlaps) {
        uint32_t *names = add_array(f, GT_COL_OVERLAPPING_KERNEL_NAMES, GT_TYPE_STRING);
        double *pct = add_array(f, GT_COL_OVERLAP_PCT, GT_TYPE_FLOAT);
        for (size_t i = 0; i < f->ops->count; i++) names[i] = f->ops->overlapping_names[i];
        for (size_t i = 0; i < f->ops->count; i++) pct[i] = f->ops->overlapping_pct[i];
    }
    for (size_t i = 0; i < GT_LENGTH(numbers); i++)
        if (f->groups >> numbers[i].group & 1) f->numbers[i] = add_array(f, numbers[i].name, GT_TYPE_FLOAT);
    if (f->groups >> FIGURES & 1) f->specs = add_array(f, GT_COL_COMPUTE_SPEC, GT_TYPE_STRING);
    if (f->groups >> ROOFLINE & 1) f->bounds = add_array(f, GT_COL_ROOFLINE_BOUND, GT_TYPE_STRING);
    if (f->fraction)
        f->times = add_array(f, GT_COL_KERNEL_TIME_US, GT_TYPE_FLOAT);
    else
        f->whole_times = add_array(f, GT_COL_KERNEL_TIME_US, GT_TYPE_INT);
}

/* Interns the texts that threads fill in. */
static void intern_texts(filling *f)
{
    gt_interner *strings = f->table->strings;
    size_t count = gt_models_result_count(f->perf->models);
    f->spec_of = gt_alloc_zero(count, sizeof *f->spec_of);
    for (size_t id = 0; f->specs && id < count; id++)
        if (f->results[id]) f->spec_of[id] = gt_interner_add_cstr(strings, f->results[id]->compute_spec);
    for (gt_bound b = GT_BOUND_UNKNOWN; f->bounds && b <= GT_BOUND_MEMORY; b++)
        if (gt_bound_name(b)) f->bound_texts[b] = gt_interner_add_cstr(strings, gt_bound_name(b));
}

/* Names of process and thread. Most ops are on the same thread as the one before. */
static void fill_tracks(const filling *f, size_t begin, size_t end)
{
    const gt_linked_view *trace = f->perf->trace;
    const gt_op_row *ops = f->ops->items;
    gt_track_names track = {0};
    for (size_t i = begin; i < end; i++) {
        uint32_t row = ops[i].row, before = i > begin ? ops[i - 1].row : row;
        if (i == begin || gt_event_lane(&trace->events, row) != gt_event_lane(&trace->events, before))
            track = gt_event_track(&trace->events, row);
        f->tracks[0][i] = track.process_name;
        f->tracks[1][i] = track.process_label;
        f->tracks[2][i] = track.thread_name;
    }
}

/* As JSON. */
static void fill_arguments(const filling *f, size_t begin, size_t end)
{
    enum { BLOCK = 128 };
    uint32_t rows[BLOCK], ids[BLOCK * GT_PERF_ARGUMENTS];
    for (; begin < end; begin += BLOCK) {
        size_t count = end - begin < BLOCK ? end - begin : BLOCK;
        for (size_t i = 0; i < count; i++) rows[i] = f->ops->items[begin + i].row;
        gt_perf_arguments(f->perf, rows, count, ids);
        for (size_t a = 0; a < GT_PERF_ARGUMENTS; a++)
            for (size_t i = 0; i < count; i++) f->arguments[a][begin + i] = ids[i * GT_PERF_ARGUMENTS + a];
    }
}

static void fill_figures(const filling *f, size_t i)
{
    const gt_op_metrics *m = &f->ops->items[i].metrics;
    gt_metrics figures = {0};
    if (m->result) figures = gt_perf_figures(f->perf, m);
    for (size_t n = 0; n < GT_LENGTH(numbers); n++)
        if (f->numbers[n])
            f->numbers[n][i] =
                m->result ? *(const double *)((const char *)&figures + numbers[n].offset) : (double)NAN;
    if (f->specs) f->specs[i] = m->result ? f->spec_of[m->result->id] : GT_STR_NONE;
    if (f->bounds) f->bounds[i] = m->result ? f->bound_texts[figures.bound] : GT_STR_NONE;
    if (f->times)
        f->times[i] = m->busy_us;
    else
        f->whole_times[i] = (int64_t)m->busy_us;
}

static void fill_rows(void *context, size_t begin, size_t end)
{
    const filling *f = context;
    const gt_linked_view *trace = f->perf->trace;
    fill_tracks(f, begin, end);
    fill_arguments(f, begin, end);
    for (size_t i = begin; i < end; i++) {
        const gt_op_row *op = &f->ops->items[i];
        f->names[i] = op->name;
        f->uids[i] = op->uid;
        if (f->recompute) f->recompute[i] = trace->recompute[op->row] != 0;
        fill_figures(f, i);
    }
}

gt_table *gt_op_rows_table(const gt_op_rows *r, const gt_perf *perf, gt_python_form form)
{
    filling f = {.ops = r, .perf = perf, .table = gt_table_new(GT_SHEET_OPS, perf->trace->strings)};
    gt_python_literals *literals = gt_python_literals_new(perf->trace->strings, form);
    gt_table_add_rows(f.table, r->count);
    f.results = gt_alloc_zero(gt_models_result_count(perf->models), sizeof *f.results);
    gt_parallel_ranges(r->count, GT_OPS_GRAIN, look_at_rows, &f);
    add_columns(&f);
    intern_texts(&f);
    gt_parallel_ranges(r->count, GT_OPS_GRAIN, fill_rows, &f);
    for (size_t a = 0; a < GT_PERF_ARGUMENTS; a++)
        gt_python_literals_convert(literals, f.arguments[a], r->count);
    gt_python_literals_free(literals);
    gt_free_all(f.results, f.spec_of);
    return f.table;
}
