/* decode_cost: what a step of decode, verify or draft costs by batch size and context.
 *
 * Rows with `row` "cell", one per phase, padded batch, number of requests and sk_bucket, the largest power of
 * two that is not above sk_sum:
 *
 *     steps, gpu_span_p50_us
 *     us_per_token     that span / generation tokens of the first of the steps
 *     busy_pct         sum of busy times / sum of spans
 *
 * Rows with `row` "fit": the plane y = a + b x + c sk_sum with the least squares, for y of gpu_busy_us and
 * gpu_span_us:
 *
 *     x                "padded" if that is known for 9 of 10 steps, else "requests"
 *     a_us, us_per_x, us_per_sk    a, b and c; empty: fewer than 3 different values of x or sk_sum
 *     r2, rmse_us      how well it fits: the share of the variance that it explains, and the typical error
 *
 * A phase with fewer than 8 steps has no fit. */
#include "analysis/serving/cells.h"
#include "analysis/serving/sheets.h"
#include "schema/columns.h"
#include "table/stats.h"

static const gt_column_head columns[] = {
    {GT_COL_ROW, GT_TYPE_STRING},
    {GT_COL_PHASE, GT_TYPE_STRING},
    {GT_COL_PADDED, GT_TYPE_INT},
    {GT_COL_REQUESTS, GT_TYPE_INT},
    {GT_COL_SK_BUCKET, GT_TYPE_INT},
    {GT_COL_STEPS, GT_TYPE_INT},
    {GT_COL_GPU_SPAN_P50_US, GT_TYPE_FLOAT},
    {GT_COL_US_PER_TOKEN, GT_TYPE_FLOAT},
    {GT_COL_BUSY_PCT, GT_TYPE_FLOAT},
    {GT_COL_FIT_Y, GT_TYPE_STRING},
    {GT_COL_FIT_X, GT_TYPE_STRING},
    {GT_COL_FIT_A_US, GT_TYPE_FLOAT},
    {GT_COL_US_PER_X, GT_TYPE_FLOAT},
    {GT_COL_US_PER_SK, GT_TYPE_FLOAT},
    {GT_COL_FIT_R2, GT_TYPE_FLOAT},
    {GT_COL_RMSE_US, GT_TYPE_FLOAT},
};

static bool has_cost(const gt_listed_step *step)
{
    return step->op_count && (gt_phase_generates(step->phase) || step->phase == GT_SERVING_DRAFT);
}

static int64_t bucket_of(int64_t sk_sum)
{
    if (sk_sum <= 0) return sk_sum;
    return INT64_C(1) << (63 - __builtin_clzll((unsigned long long)sk_sum));
}

static double span_of(const gt_listed_step *step)
{
    return (double)(step->gpu_end_ns - step->gpu_start_ns);
}

/* ---- cells ---- */

typedef struct cell {
    gt_serving_phase phase;
    int64_t padded, requests, bucket; /* GT_STEP_UNKNOWN */
    size_t step;
} cell;

static int by_cell(const void *left, const void *right)
{
    const cell *a = left, *b = right;
    const int64_t x[] = {a->phase, a->padded, a->requests, a->bucket, (int64_t)a->step};
    const int64_t y[] = {b->phase, b->padded, b->requests, b->bucket, (int64_t)b->step};
    for (size_t i = 0; i < GT_LENGTH(x); i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static bool are_same(const cell *a, const cell *b)
{
    return a->phase == b->phase && a->padded == b->padded && a->requests == b->requests &&
           a->bucket == b->bucket;
}

static void add_cell(gt_table *table, const gt_step_list *list, const cell *cells, size_t count,
                     double *spans)
{
    double span_ns = 0, busy_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const gt_listed_step *step = &list->steps[cells[i].step];
        span_ns += spans[i] = span_of(step);
        busy_ns += (double)step->busy_ns;
    }
    double middle_ns = gt_quantile(spans, count, .5);
    int64_t tokens = list->steps[cells[0].step].said.generation_tokens;
    gt_cells c = gt_cells_of_new_row(table);
    gt_cells_text(&c, "cell");
    gt_cells_text(&c, gt_serving_phase_name(cells->phase));
    gt_cells_count(&c, cells->padded);
    gt_cells_count(&c, cells->requests);
    gt_cells_count(&c, cells->bucket);
    gt_cells_count(&c, (int64_t)count);
    gt_cells_us(&c, middle_ns);
    gt_cells_number(&c, gt_share_of(middle_ns / 1000, (double)tokens), 3);
    gt_cells_number(&c, 100 * gt_share_of(busy_ns, span_ns), 3);
}

static void add_cells(gt_table *table, const gt_step_list *list)
{
    cell *cells = gt_alloc(list->count * sizeof *cells);
    double *spans = gt_alloc(list->count * sizeof *spans);
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const gt_listed_step *step = &list->steps[i];
        if (!has_cost(step)) continue;
        cells[count++] = (cell){step->phase, step->padded > 0 ? step->padded : GT_STEP_UNKNOWN,
                                step->said.generation_requests, bucket_of(step->said.sk_sum), i};
    }
    if (count) qsort(cells, count, sizeof *cells, by_cell);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && are_same(&cells[begin], &cells[end]);) end++;
        add_cell(table, list, cells + begin, end - begin, spans);
    }
    gt_free_all(cells, spans);
}

/* ---- fits ---- */

enum { TERMS = 2, UNKNOWNS = TERMS + 1, FEWEST_STEPS = 8, FEWEST_VALUES = 3 };

typedef struct point {
    double x[TERMS], y; /* batch and sk_sum; microseconds */
} point;

typedef struct fit {
    double a, b[TERMS], r2, rmse; /* NaN: the term is left out */
} fit;

static bool varies(const point *points, size_t count, size_t term)
{
    double seen[FEWEST_VALUES];
    size_t values = 0;
    for (size_t i = 0; i < count && values < FEWEST_VALUES; i++) {
        size_t k = 0;
        while (k < values && seen[k] != points[i].x[term]) k++;
        if (k == values) seen[values++] = points[i].x[term];
    }
    return values == FEWEST_VALUES;
}

/* Gauss-Jordan elimination with pivots; false if the equations do not determine a solution. */
static bool solve(double rows[UNKNOWNS][UNKNOWNS + 1], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t pivot = i;
        for (size_t r = i + 1; r < count; r++)
            if (fabs(rows[r][i]) > fabs(rows[pivot][i])) pivot = r;
        for (size_t k = 0; k <= count; k++) {
            double other = rows[i][k];
            rows[i][k] = rows[pivot][k];
            rows[pivot][k] = other;
        }
        if (!(fabs(rows[i][i]) >= 1e-9 * fmax(1, fabs(rows[0][0])))) return false;
        for (size_t r = 0; r < count; r++) {
            double factor = rows[r][i] / rows[i][i];
            for (size_t k = 0; r != i && k <= count; k++) rows[r][k] -= factor * rows[i][k];
        }
    }
    for (size_t i = 0; i < count; i++) rows[i][count] /= rows[i][i];
    return true;
}

static double value_at(const fit *f, const point *p)
{
    double y = f->a;
    for (size_t term = 0; term < TERMS; term++)
        if (!isnan(f->b[term])) y += f->b[term] * p->x[term];
    return y;
}

static void judge(fit *f, const point *points, size_t count)
{
    double mean = 0, spread = 0, rest = 0;
    for (size_t i = 0; i < count; i++) mean += points[i].y;
    mean /= (double)count;
    for (size_t i = 0; i < count; i++) {
        double error = points[i].y - value_at(f, &points[i]);
        spread += (points[i].y - mean) * (points[i].y - mean);
        rest += error * error;
    }
    f->r2 = spread > 0 ? 1 - rest / spread : 1;
    f->rmse = sqrt(rest / (double)count);
}

static bool fit_plane(fit *f, const point *points, size_t count)
{
    size_t terms[TERMS], used = 0;
    for (size_t term = 0; term < TERMS; term++)
        if (varies(points, count, term)) terms[used++] = term;
    if (count < FEWEST_STEPS || !used) return false;
    double rows[UNKNOWNS][UNKNOWNS + 1] = {{0}};
    for (size_t i = 0; i < count; i++) {
        double x[UNKNOWNS + 1] = {1};
        for (size_t k = 0; k < used; k++) x[k + 1] = points[i].x[terms[k]];
        x[used + 1] = points[i].y;
        for (size_t r = 0; r <= used; r++)
            for (size_t k = 0; k <= used + 1; k++) rows[r][k] += x[r] * x[k];
    }
    if (!solve(rows, used + 1)) return false;
    *f = (fit){.a = rows[0][used + 1], .b = {(double)NAN, (double)NAN}};
    for (size_t k = 0; k < used; k++) f->b[terms[k]] = rows[k + 1][used + 1];
    judge(f, points, count);
    return true;
}

static void add_fit(gt_table *table, gt_serving_phase phase, const point *points, size_t count,
                    bool by_padded, const char *y)
{
    fit f;
    if (!fit_plane(&f, points, count)) return;
    gt_cells c = gt_cells_of_new_row(table);
    gt_cells_text(&c, "fit");
    gt_cells_text(&c, gt_serving_phase_name(phase));
    gt_cells_skip(&c, 3);
    gt_cells_count(&c, (int64_t)count);
    gt_cells_skip(&c, 3);
    gt_cells_text(&c, y);
    gt_cells_text(&c, by_padded ? "padded" : "requests");
    gt_cells_number(&c, f.a, 4);
    gt_cells_number(&c, f.b[0], 6);
    gt_cells_number(&c, f.b[1], 9);
    gt_cells_number(&c, f.r2, 6);
    gt_cells_number(&c, f.rmse, 4);
}

static void add_fits(gt_table *table, const gt_step_list *list, gt_serving_phase phase)
{
    size_t steps = 0, padded = 0, count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const gt_listed_step *step = &list->steps[i];
        if (!has_cost(step) || step->phase != phase || step->said.generation_requests < 0) continue;
        steps++;
        padded += step->padded >= 0;
    }
    if (!steps) return;
    bool by_padded = padded * 10 >= 9 * steps;
    point *busy = gt_alloc(2 * steps * sizeof *busy), *spans = busy + steps;
    for (size_t i = 0; i < list->count; i++) {
        const gt_listed_step *step = &list->steps[i];
        if (!has_cost(step) || step->phase != phase || step->said.generation_requests < 0 ||
            (by_padded && step->padded < 0))
            continue;
        double x = (double)(by_padded ? step->padded : step->said.generation_requests);
        double sk = step->said.sk_sum > 0 ? (double)step->said.sk_sum : 0;
        busy[count] = (point){{x, sk}, (double)step->busy_ns / 1000};
        spans[count++] = (point){{x, sk}, span_of(step) / 1000};
    }
    add_fit(table, phase, busy, count, by_padded, "gpu_busy_us");
    add_fit(table, phase, spans, count, by_padded, "gpu_span_us");
    gt_free(busy);
}

gt_table *gt_serving_decode_cost(const gt_step_list *list, const gt_event_view *trace)
{
    static const gt_serving_phase phases[] = {GT_SERVING_DECODE, GT_SERVING_VERIFY, GT_SERVING_DRAFT};
    gt_table *table = gt_table_new(GT_SHEET_DECODE_COST, trace->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    add_cells(table, list);
    for (size_t i = 0; i < GT_LENGTH(phases); i++) add_fits(table, list, phases[i]);
    return table;
}
