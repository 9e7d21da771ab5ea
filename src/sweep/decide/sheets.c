/* The decision about a sweep as sheets.
 *
 * recommendation, one row per setting, the fastest first:
 *     rank, setting, the value of each axis
 *     spread, measurements             of what the interval is: repeats, steps or ranks; how many there are
 *     outliers                         measurements that are far from the others (model.c)
 *     step_ms, step_low_ms, step_high_ms          geometric mean of the step time, 95 % interval
 *     difference_pct, difference_low_pct, difference_high_pct     to the first row, 95 % interval of this one
 *                                      comparison
 *     p_value                          corrected for the selection of the best and the number of settings
 *     p_single                         of this one comparison
 *     told_apart                       the difference to the first row is supported (p_value < 0.0155)
 *     runs_needed                      of both, to tell a difference like the measured one apart
 *     pareto_front                     no other setting is at least as good in all figures that follow and in
 *                                      step_ms, and better in one
 *     exposed_comm_ms, gemm_ms, gemm_slowdown_ms  per step, means over ranks and repeats
 *     gemm_slowdown                    what GEMMs during collectives take, divided by what they would take
 *     bus_gb_s                         bytes on the links divided by the time of the transfers
 *     not_compared                     if settings are left out (basis.c): why
 *     status                           if runs that failed are included: the first outcome that is no success
 *
 * effects, one row per axis, pair of axes, rest and error: term, sum_of_squares, degrees_of_freedom,
 * mean_square, f_value, p_value, share_pct, compared_with (anova.c). effect_means, for heat maps: per value
 * of an axis, and per pair of values of two axes, the number of settings, the geometric mean of step_ms and
 * its difference to that of all settings.
 *
 * overlap_slowdown, one row per setting, GEMM kernel, op and shape that ran during a collective: numbers of
 * calls, medians in microseconds, the ratio of the medians with its 95 % interval, cost_ms per step.
 *
 * bandwidth_by_size, one row per setting, collective and message size. outlier_runs: odd_runs.c. */
#include "sweep/decide/decide.h"

#include "schema/columns.h"
#include "table/stats.h"

/* ---- cells ---- */

static void set(gt_table *table, gt_col name, size_t row, double value)
{
    gt_table_set_float(table, gt_table_find(table, name), row, value);
}

static void set_count(gt_table *table, gt_col name, size_t row, size_t value)
{
    gt_table_set_int(table, gt_table_find(table, name), row, (int64_t)value);
}

static void set_text(gt_table *table, gt_col name, size_t row, const char *text)
{
    gt_table_set_cstr(table, gt_table_find(table, name), row, text);
}

static void set_estimate(gt_table *table, const gt_col names[3], size_t row, gt_estimate estimate)
{
    set(table, names[0], row, estimate.value);
    set(table, names[1], row, estimate.low);
    set(table, names[2], row, estimate.high);
}

static gt_type type_of_axis(const gt_sweep_dimension *axis)
{
    return axis->is_whole ? GT_TYPE_INT : axis->is_numeric ? GT_TYPE_FLOAT : GT_TYPE_STRING;
}

/* Inserts the column setting and one per axis at this position, of rows whose settings are given. They come
 * last, because the name of an axis may be that of another column. */
static void insert_settings(gt_table *table, const gt_sweep_measures *m, const size_t *setting_of_row,
                            size_t at)
{
    const gt_sweep *sweep = m->sweep;
    size_t first = gt_table_add_column(table, GT_COL_SETTING, GT_TYPE_STRING);
    for (size_t a = 0; a < sweep->axis_count; a++)
        gt_table_add_column(table, gt_col_named(sweep->axes[a].column), type_of_axis(&sweep->axes[a]));
    for (size_t row = 0; row < table->row_count; row++) {
        const gt_sweep_config *config = &sweep->configs[m->first_config[setting_of_row[row]]];
        gt_table_set_cstr(table, first, row, config->setting);
        for (size_t a = 0; a < sweep->axis_count; a++) {
            const char *value = config->values[a].value;
            gt_type type = type_of_axis(&sweep->axes[a]);
            if (!value) continue;
            if (type == GT_TYPE_INT)
                gt_table_set_int(table, first + 1 + a, row, strtoll(value, NULL, 10));
            else if (type == GT_TYPE_FLOAT)
                gt_table_set_float(table, first + 1 + a, row, strtod(value, NULL));
            else
                gt_table_set_cstr(table, first + 1 + a, row, value);
        }
    }
    for (size_t i = 0; i <= sweep->axis_count; i++) gt_table_move_column(table, first + i, at + i);
}

/* ---- recommendation ---- */

/* What is compared for the Pareto front; smaller is better. */
enum { STEP, EXPOSED, SLOWDOWN, BANDWIDTH, GOALS };

typedef struct figures {
    double goals[GOALS]; /* the bandwidth is negative; NaN: unknown */
    double gemm_ms, cost_ms;
} figures;

static figures *find_figures(const gt_decision *d)
{
    const gt_sweep_measures *m = d->measures;
    figures *all = gt_alloc_zero(m->setting_count + 1, sizeof *all);
    double *sums = gt_alloc_zero(4 * m->setting_count + 1, sizeof *sums);
    double *expected = sums, *cost = sums + m->setting_count, *moved = cost + m->setting_count,
           *took = moved + m->setting_count;
    for (size_t i = 0; i < m->overlap_count; i++) {
        expected[m->overlaps[i].setting] += m->overlaps[i].expected_ms;
        cost[m->overlaps[i].setting] += m->overlaps[i].cost_ms;
    }
    for (size_t i = 0; i < m->bandwidth_count; i++)
        for (size_t k = 0; k < m->bandwidths[i].bus_gb_s.count; k++) {
            took[m->bandwidths[i].setting] += m->bandwidths[i].latency_us.items[k];
            moved[m->bandwidths[i].setting] +=
                m->bandwidths[i].bus_gb_s.items[k] * m->bandwidths[i].latency_us.items[k];
        }
    for (size_t s = 0; s < m->setting_count; s++) {
        gt_number_series exposed = {0}, gemm = {0};
        for (size_t i = m->first_config[s]; i < gt_setting_runs_end(m, s); i++) {
            gt_series_add(&exposed, m->runs[i].exposed_ms);
            gt_series_add(&gemm, m->runs[i].gemm_ms);
        }
        all[s] = (figures){.goals = {exp(d->samples[s].typical), gt_mean(exposed.items, exposed.count),
                                     expected[s] > 0 ? 1 + cost[s] / expected[s] : NAN,
                                     took[s] > 0 ? -moved[s] / took[s] : NAN},
                           .gemm_ms = gt_mean(gemm.items, gemm.count),
                           .cost_ms = expected[s] > 0 ? cost[s] : NAN};
        gt_free(exposed.items);
        gt_free(gemm.items);
    }
    gt_free(sums);
    return all;
}

/* Unknown figures are not compared. */
static bool dominates(const figures *a, const figures *b)
{
    bool better = false;
    for (size_t g = 0; g < GOALS; g++) {
        if (a->goals[g] > b->goals[g]) return false;
        better |= a->goals[g] < b->goals[g];
    }
    return better;
}

static bool is_on_front(const gt_decision *d, const figures *all, size_t setting)
{
    if (isnan(all[setting].goals[STEP])) return false;
    for (size_t s = 0; s < d->measures->setting_count; s++)
        if (!isnan(all[s].goals[STEP]) && dominates(&all[s], &all[setting])) return false;
    return true;
}

static gt_estimate in_percent(gt_estimate ratio)
{
    return (gt_estimate){100 * (ratio.value - 1), 100 * (ratio.low - 1), 100 * (ratio.high - 1)};
}

static void set_comparison(gt_table *table, const gt_decision *d, size_t row, size_t setting)
{
    static const gt_col difference[] = {GT_COL_DIFFERENCE_PCT, GT_COL_DIFFERENCE_LOW_PCT,
                                        GT_COL_DIFFERENCE_HIGH_PCT},
                        step[] = {GT_COL_STEP_MS, GT_COL_STEP_LOW_MS, GT_COL_STEP_HIGH_MS};
    const gt_standing *standing = &d->best.settings[setting];
    set_text(table, GT_COL_SPREAD, row, gt_spread_source_names[d->spread]);
    set_count(table, GT_COL_MEASUREMENTS, row, d->samples[setting].runs);
    set_count(table, GT_COL_OUTLIERS, row, d->samples[setting].runs - d->samples[setting].count);
    set_estimate(table, step, row, gt_decision_step(d, setting));
    set_estimate(table, difference, row, in_percent(standing->to_best.ratio));
    set(table, GT_COL_P_VALUE, row, standing->p);
    set(table, GT_COL_P_SINGLE, row, standing->to_best.p);
    size_t best = d->best.order[0];
    set(table, GT_COL_RUNS_NEEDED, row, standing->runs_needed);
    gt_table_set_bool(table, gt_table_find(table, GT_COL_TOLD_APART), row,
                      setting != best && !standing->is_candidate && d->samples[setting].count);
}

/* How the runs of a setting ended: the first outcome that is not a success. */
static void add_status(gt_table *table, const gt_decision *d)
{
    const gt_sweep_measures *m = d->measures;
    size_t column = gt_table_add_column(table, GT_COL_RUN_STATUS, GT_TYPE_STRING);
    for (size_t r = 0; r < m->setting_count; r++) {
        size_t setting = d->best.order[r], run = m->first_config[setting];
        while (run + 1 < gt_setting_runs_end(m, setting) && !gt_run_has_failed(m->sweep->configs[run].status))
            run++;
        gt_table_set_cstr(table, column, r, gt_run_status_names[m->sweep->configs[run].status]);
    }
}

/* Why settings are left out, if some are. */
static void add_reasons(gt_table *table, const gt_decision *d)
{
    size_t column = SIZE_MAX;
    for (size_t r = 0; r < d->measures->setting_count; r++) {
        const char *reason = gt_setting_left_out(d->measures, d->best.order[r]);
        if (!reason) continue;
        if (column == SIZE_MAX) column = gt_table_add_column(table, GT_COL_NOT_COMPARED, GT_TYPE_STRING);
        gt_table_set_cstr(table, column, r, reason);
    }
}

static gt_table *recommendation(const gt_decision *d)
{
    static const gt_column_head columns[] = {
        {GT_COL_SPREAD, GT_TYPE_STRING},
        {GT_COL_MEASUREMENTS, GT_TYPE_INT},
        {GT_COL_OUTLIERS, GT_TYPE_INT},
        {GT_COL_STEP_MS, GT_TYPE_FLOAT},
        {GT_COL_STEP_LOW_MS, GT_TYPE_FLOAT},
        {GT_COL_STEP_HIGH_MS, GT_TYPE_FLOAT},
        {GT_COL_DIFFERENCE_PCT, GT_TYPE_FLOAT},
        {GT_COL_DIFFERENCE_LOW_PCT, GT_TYPE_FLOAT},
        {GT_COL_DIFFERENCE_HIGH_PCT, GT_TYPE_FLOAT},
        {GT_COL_P_VALUE, GT_TYPE_FLOAT},
        {GT_COL_P_SINGLE, GT_TYPE_FLOAT},
        {GT_COL_TOLD_APART, GT_TYPE_BOOL},
        {GT_COL_RUNS_NEEDED, GT_TYPE_FLOAT},
        {GT_COL_PARETO_FRONT, GT_TYPE_BOOL},
        {GT_COL_EXPOSED_COMM_MS, GT_TYPE_FLOAT},
        {GT_COL_GEMM_MS, GT_TYPE_FLOAT},
        {GT_COL_GEMM_SLOWDOWN_MS, GT_TYPE_FLOAT},
        {GT_COL_GEMM_SLOWDOWN, GT_TYPE_FLOAT},
        {GT_COL_BUS_GB_S, GT_TYPE_FLOAT},
    };
    const gt_sweep_measures *m = d->measures;
    figures *all = find_figures(d);
    gt_table *table = gt_table_new(GT_SHEET_RECOMMENDATION, m->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t r = 0; r < m->setting_count; r++) {
        size_t setting = d->best.order[r], row = gt_table_add_row(table);
        set_count(table, GT_COL_RANK, row, r + 1);
        set_comparison(table, d, row, setting);
        gt_table_set_bool(table, gt_table_find(table, GT_COL_PARETO_FRONT), row,
                          is_on_front(d, all, setting));
        set(table, GT_COL_EXPOSED_COMM_MS, row, all[setting].goals[EXPOSED]);
        set(table, GT_COL_GEMM_MS, row, all[setting].gemm_ms);
        set(table, GT_COL_GEMM_SLOWDOWN_MS, row, all[setting].cost_ms);
        set(table, GT_COL_GEMM_SLOWDOWN, row, all[setting].goals[SLOWDOWN]);
        set(table, GT_COL_BUS_GB_S, row, -all[setting].goals[BANDWIDTH]);
    }
    if (m->sweep->failed) add_status(table, d);
    add_reasons(table, d);
    insert_settings(table, m, d->best.order, 1);
    gt_free(all);
    return table;
}

/* ---- effects ---- */

static void set_term(gt_table *table, const gt_decision *d, size_t row, const gt_effect *effect)
{
    const gt_sweep *sweep = d->measures->sweep;
    if (effect->kind != GT_EFFECT_TERM) {
        set_text(table, GT_COL_TERM, row,
                 effect->kind == GT_EFFECT_ERROR ? "error (repeats)" : "other interactions");
        return;
    }
    const char *a = sweep->axes[effect->axes[0]].name;
    char *pair = effect->axes[1] == SIZE_MAX ? gt_strdup(a)
                                             : gt_format("%s x %s", a, sweep->axes[effect->axes[1]].name);
    set_text(table, GT_COL_TERM, row, pair);
    gt_free(pair);
}

static gt_table *effects(const gt_decision *d)
{
    static const gt_column_head columns[] = {
        {GT_COL_TERM, GT_TYPE_STRING},
        {GT_COL_SUM_OF_SQUARES, GT_TYPE_FLOAT},
        {GT_COL_DEGREES_OF_FREEDOM, GT_TYPE_INT},
        {GT_COL_MEAN_SQUARE, GT_TYPE_FLOAT},
        {GT_COL_F_VALUE, GT_TYPE_FLOAT},
        {GT_COL_P_VALUE, GT_TYPE_FLOAT},
        {GT_COL_SHARE_PCT, GT_TYPE_FLOAT},
        {GT_COL_COMPARED_WITH, GT_TYPE_STRING},
    };
    gt_table *table = gt_table_new(GT_SHEET_EFFECTS, d->measures->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < d->effects.count; i++) {
        const gt_effect *effect = &d->effects.items[i];
        if (effect->kind == GT_EFFECT_REST && !effect->freedom) continue;
        size_t row = gt_table_add_row(table);
        set_term(table, d, row, effect);
        set(table, GT_COL_SUM_OF_SQUARES, row, effect->squares);
        set_count(table, GT_COL_DEGREES_OF_FREEDOM, row, effect->freedom);
        set(table, GT_COL_MEAN_SQUARE, row,
            effect->freedom ? effect->squares / (double)effect->freedom : NAN);
        set(table, GT_COL_F_VALUE, row, effect->f);
        set(table, GT_COL_P_VALUE, row, effect->p);
        set(table, GT_COL_SHARE_PCT, row, effect->share_pct);
        if (!isnan(effect->p))
            set_text(table, GT_COL_COMPARED_WITH, row,
                     d->effects.has_error ? "repeats" : "other interactions");
    }
    return table;
}

/* The mean of the settings that have these values; adds a row if there are any. */
static void add_mean(gt_table *table, const gt_decision *d, const size_t axes[2], const size_t places[2],
                     double all)
{
    const gt_sweep *sweep = d->measures->sweep;
    gt_number_series means = {0};
    for (size_t s = 0; s < d->measures->setting_count; s++) {
        const gt_sweep_value *values = sweep->configs[d->measures->first_config[s]].values;
        if (d->samples[s].count && values[axes[0]].place == places[0] &&
            (axes[1] == SIZE_MAX || values[axes[1]].place == places[1]))
            gt_series_add(&means, d->samples[s].typical);
    }
    if (means.count) {
        double mean = gt_mean(means.items, means.count);
        size_t row = gt_table_add_row(table);
        set_text(table, GT_COL_AXIS_1, row, sweep->axes[axes[0]].name);
        set_text(table, GT_COL_VALUE_1, row, sweep->axes[axes[0]].values[places[0]]);
        if (axes[1] != SIZE_MAX) {
            set_text(table, GT_COL_AXIS_2, row, sweep->axes[axes[1]].name);
            set_text(table, GT_COL_VALUE_2, row, sweep->axes[axes[1]].values[places[1]]);
        }
        set_count(table, GT_COL_SETTINGS, row, means.count);
        set(table, GT_COL_STEP_MS, row, exp(mean));
        set(table, GT_COL_RELATIVE_PCT, row, 100 * (exp(mean - all) - 1));
    }
    gt_free(means.items);
}

enum { CELLS_MAX = 4096 }; /* of one pair of axes */

static gt_table *effect_means(const gt_decision *d)
{
    static const gt_column_head columns[] = {
        {GT_COL_AXIS_1, GT_TYPE_STRING},     {GT_COL_VALUE_1, GT_TYPE_STRING},
        {GT_COL_AXIS_2, GT_TYPE_STRING},     {GT_COL_VALUE_2, GT_TYPE_STRING},
        {GT_COL_SETTINGS, GT_TYPE_INT},      {GT_COL_STEP_MS, GT_TYPE_FLOAT},
        {GT_COL_RELATIVE_PCT, GT_TYPE_FLOAT}};
    const gt_sweep *sweep = d->measures->sweep;
    gt_table *table = gt_table_new(GT_SHEET_EFFECT_MEANS, d->measures->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    double sum = 0, count = 0;
    for (size_t s = 0; s < d->measures->setting_count; s++)
        if (d->samples[s].count) {
            sum += d->samples[s].typical;
            count++;
        }
    for (size_t a = 0; a < sweep->axis_count; a++)
        for (size_t v = 0; sweep->axes[a].value_count > 1 && v < sweep->axes[a].value_count; v++)
            add_mean(table, d, (const size_t[]){a, SIZE_MAX}, (const size_t[]){v, 0}, sum / count);
    for (size_t a = 0; a < sweep->axis_count; a++)
        for (size_t b = a + 1; b < sweep->axis_count; b++) {
            size_t rows = sweep->axes[a].value_count, columns_count = sweep->axes[b].value_count;
            if (rows < 2 || columns_count < 2 || rows * columns_count > CELLS_MAX) continue;
            for (size_t v = 0; v < rows; v++)
                for (size_t w = 0; w < columns_count; w++)
                    add_mean(table, d, (const size_t[]){a, b}, (const size_t[]){v, w}, sum / count);
        }
    return table;
}

/* ---- overlap and bandwidth ---- */

static int by_cost(const void *left, const void *right)
{
    const gt_overlap_row *a = left, *b = right;
    if (a->setting != b->setting) return a->setting < b->setting ? -1 : 1;
    if (a->cost_ms != b->cost_ms) return a->cost_ms > b->cost_ms ? -1 : 1;
    return a->kernel != b->kernel ? (a->kernel < b->kernel ? -1 : 1)
           : a->op != b->op       ? (a->op < b->op ? -1 : 1)
                                  : (a->shape > b->shape) - (a->shape < b->shape);
}

static gt_table *overlap_slowdown(const gt_decision *d)
{
    static const gt_column_head columns[] = {{GT_COL_GEMM_KERNEL_NAME, GT_TYPE_STRING},
                                             {GT_COL_OP, GT_TYPE_STRING},
                                             {GT_COL_SHAPE, GT_TYPE_STRING},
                                             {GT_COL_CALLS_WITHOUT, GT_TYPE_INT},
                                             {GT_COL_CALLS_WITH, GT_TYPE_INT},
                                             {GT_COL_CALLS_PARTIAL, GT_TYPE_INT},
                                             {GT_COL_US_WITHOUT, GT_TYPE_FLOAT},
                                             {GT_COL_US_WITH, GT_TYPE_FLOAT},
                                             {GT_COL_SLOWDOWN, GT_TYPE_FLOAT},
                                             {GT_COL_SLOWDOWN_LOW, GT_TYPE_FLOAT},
                                             {GT_COL_SLOWDOWN_HIGH, GT_TYPE_FLOAT},
                                             {GT_COL_COST_MS, GT_TYPE_FLOAT}};
    static const gt_col slowdown[] = {GT_COL_SLOWDOWN, GT_COL_SLOWDOWN_LOW, GT_COL_SLOWDOWN_HIGH};
    gt_sweep_measures *m = d->measures;
    gt_table *table = gt_table_new(GT_SHEET_OVERLAP_SLOWDOWN, m->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    size_t *settings = gt_alloc((m->overlap_count + 1) * sizeof *settings);
    if (m->overlap_count) qsort(m->overlaps, m->overlap_count, sizeof *m->overlaps, by_cost);
    for (size_t i = 0; i < m->overlap_count; i++) {
        gt_overlap_row *o = &m->overlaps[i];
        if (!o->with_us.count && !o->partial) continue; /* never during a collective */
        size_t row = gt_table_add_row(table);
        settings[row] = o->setting;
        gt_table_set_string(table, gt_table_find(table, GT_COL_GEMM_KERNEL_NAME), row, o->kernel);
        gt_table_set_string(table, gt_table_find(table, GT_COL_OP), row, o->op);
        gt_table_set_string(table, gt_table_find(table, GT_COL_SHAPE), row, o->shape);
        set_count(table, GT_COL_CALLS_WITHOUT, row, o->without_us.count);
        set_count(table, GT_COL_CALLS_WITH, row, o->with_us.count);
        set_count(table, GT_COL_CALLS_PARTIAL, row, o->partial);
        set(table, GT_COL_US_WITHOUT, row, gt_median(o->without_us.items, o->without_us.count));
        set(table, GT_COL_US_WITH, row, gt_median(o->with_us.items, o->with_us.count));
        if (!o->with.count) continue;
        set_estimate(table, slowdown, row,
                     gt_ratio_of_estimates(gt_median_estimate(o->with.items, o->with.count),
                                           gt_median_estimate(o->without.items, o->without.count)));
        set(table, GT_COL_COST_MS, row, o->cost_ms);
    }
    insert_settings(table, m, settings, 0);
    gt_free(settings);
    return table;
}

static int by_size(const void *left, const void *right, void *names)
{
    const gt_bandwidth_row *a = left, *b = right;
    if (a->collective != b->collective)
        return gt_str_compare(gt_interner_get(names, a->collective), gt_interner_get(names, b->collective));
    if (a->size_mb != b->size_mb) return a->size_mb < b->size_mb ? -1 : 1;
    return (a->setting > b->setting) - (a->setting < b->setting);
}

static gt_table *bandwidth_by_size(const gt_decision *d)
{
    static const gt_column_head columns[] = {
        {GT_COL_COLLECTIVE, GT_TYPE_STRING},  {GT_COL_MESSAGE_MB, GT_TYPE_FLOAT},
        {GT_COL_COUNT, GT_TYPE_INT},          {GT_COL_BUS_GB_S, GT_TYPE_FLOAT},
        {GT_COL_BUS_LOW_GB_S, GT_TYPE_FLOAT}, {GT_COL_BUS_HIGH_GB_S, GT_TYPE_FLOAT},
        {GT_COL_LATENCY_US, GT_TYPE_FLOAT}};
    static const gt_col bus[] = {GT_COL_BUS_GB_S, GT_COL_BUS_LOW_GB_S, GT_COL_BUS_HIGH_GB_S};
    gt_sweep_measures *m = d->measures;
    gt_table *table = gt_table_new(GT_SHEET_BANDWIDTH_BY_SIZE, m->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    size_t *settings = gt_alloc((m->bandwidth_count + 1) * sizeof *settings);
    if (m->bandwidth_count)
        qsort_r(m->bandwidths, m->bandwidth_count, sizeof *m->bandwidths, by_size, m->strings);
    for (size_t i = 0; i < m->bandwidth_count; i++) {
        gt_bandwidth_row *b = &m->bandwidths[i];
        size_t row = gt_table_add_row(table);
        settings[row] = b->setting;
        gt_table_set_string(table, gt_table_find(table, GT_COL_COLLECTIVE), row, b->collective);
        set(table, GT_COL_MESSAGE_MB, row, b->size_mb);
        set_count(table, GT_COL_COUNT, row, b->bus_gb_s.count);
        set(table, GT_COL_LATENCY_US, row, gt_median(b->latency_us.items, b->latency_us.count));
        set_estimate(table, bus, row, gt_median_estimate(b->bus_gb_s.items, b->bus_gb_s.count));
    }
    insert_settings(table, m, settings, 0);
    gt_free(settings);
    return table;
}

/* All of them, also without rows, so that none is left over from an earlier decision. */
void gt_decision_add_sheets(const gt_decision *d, gt_table_list *tables)
{
    gt_table *(*const sheets[])(const gt_decision *) = {
        recommendation, effects, effect_means, overlap_slowdown, bandwidth_by_size, gt_decision_outlier_runs};
    for (size_t i = 0; i < GT_LENGTH(sheets); i++) gt_table_list_add(tables, sheets[i](d));
}
