/* Repeats: statistics, the order of the runs, and the figures as JSON, sheets and a sentence. */
#include "run/execute/trials.h"
#include "os/paths.h"
#include "schema/columns.h"
#include "table/distributions.h"
#include "table/stats.h"

static const char *const kind_names[] = {"warmup", "profiled", "baseline"};
static const char *const folder_names[] = {"warmup", "repeat", "baseline"};
static const char *const figure_names[GT_TRIAL_FIGURES] = {"wall_s", "performance", "step_ms", "energy_J"};

/* ---- statistics ---- */

double gt_student_t975(size_t freedom)
{
    return gt_student_quantile(0.975, (double)freedom);
}

gt_spread gt_spread_of(const double *values, size_t count)
{
    gt_spread s = {.mean = gt_mean(values, count),
                   .median = gt_median(values, count),
                   .std = gt_std(values, count),
                   .min = NAN,
                   .max = NAN};
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) continue;
        s.count++;
        s.min = fmin(s.min, values[i]);
        s.max = fmax(s.max, values[i]);
    }
    double half = s.count > 1 ? gt_student_t975(s.count - 1) * s.std / sqrt((double)s.count) : NAN;
    s.low = s.mean - half;
    s.high = s.mean + half;
    return s;
}

/* The trial of a kind with this number, if it has ended. */
static const gt_trial *find(const gt_trials *trials, gt_trial_kind kind, size_t number)
{
    for (size_t i = 0; i < trials->done; i++)
        if (trials->items[i].kind == kind && trials->items[i].number == number) return &trials->items[i];
    return NULL;
}

gt_spread gt_trials_spread(const gt_trials *trials, gt_trial_kind kind, gt_trial_figure figure)
{
    double *values = gt_alloc((trials->done + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < trials->done; i++)
        if (trials->items[i].kind == kind) values[count++] = trials->items[i].figures[figure];
    gt_spread s = gt_spread_of(values, count);
    gt_free(values);
    return s;
}

static double to_percent(double logarithm)
{
    return 100 * (exp(logarithm) - 1);
}

gt_spread gt_trials_overhead(const gt_trials *trials, gt_trial_figure figure)
{
    double *values = gt_alloc((trials->repeats + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 1; i <= trials->repeats; i++) {
        const gt_trial *with = find(trials, GT_TRIAL_PROFILED, i),
                       *without = find(trials, GT_TRIAL_BASELINE, i);
        double ratio = with && without ? with->figures[figure] / without->figures[figure] : NAN;
        if (isfinite(ratio) && ratio > 0) values[count++] = log(ratio);
    }
    gt_spread s = gt_spread_of(values, count);
    gt_free(values);
    s.mean = to_percent(s.mean), s.median = to_percent(s.median);
    s.min = to_percent(s.min), s.max = to_percent(s.max);
    s.low = to_percent(s.low), s.high = to_percent(s.high);
    s.std = NAN; /* of logarithms: no percentage */
    return s;
}

const gt_trial *gt_trials_typical(const gt_trials *trials)
{
    double median = gt_trials_spread(trials, GT_TRIAL_PROFILED, GT_TRIAL_WALL_S).median;
    const gt_trial *typical = NULL;
    for (size_t i = 0; i < trials->done; i++) {
        const gt_trial *t = &trials->items[i];
        double off = fabs(t->figures[GT_TRIAL_WALL_S] - median);
        if (t->kind == GT_TRIAL_PROFILED &&
            (!typical || off < fabs(typical->figures[GT_TRIAL_WALL_S] - median)))
            typical = t;
    }
    return typical;
}

/* ---- planning ---- */

static void add(gt_trials *trials, gt_arena *arena, gt_trial_kind kind, size_t number, const char *folder)
{
    gt_trial *t = &trials->items[trials->count++];
    const char *name = gt_arena_format(arena, "%s_%zu", folder_names[kind], number);
    *t = (gt_trial){.kind = kind, .number = number, .name = name, .exit_code = -1};
    t->output_dir = gt_path_join(arena, folder, name);
    for (size_t i = 0; i < GT_TRIAL_FIGURES; i++) t->figures[i] = NAN;
}

gt_trials gt_trials_plan(gt_arena *arena, size_t warmups, size_t repeats, bool has_baseline,
                         const char *folder)
{
    gt_trials trials = {.warmups = warmups, .repeats = repeats, .has_baseline = has_baseline};
    trials.items = gt_arena_alloc(arena, (warmups + 2 * repeats + 1) * sizeof *trials.items);
    for (size_t i = 1; i <= warmups; i++) add(&trials, arena, GT_TRIAL_WARMUP, i, folder);
    for (size_t i = 1; i <= repeats; i++) {
        bool baseline_first = i % 2 == 0;
        if (has_baseline && baseline_first) add(&trials, arena, GT_TRIAL_BASELINE, i, folder);
        add(&trials, arena, GT_TRIAL_PROFILED, i, folder);
        if (has_baseline && !baseline_first) add(&trials, arena, GT_TRIAL_BASELINE, i, folder);
    }
    return trials;
}

/* ---- JSON ---- */

static void put_spread(gt_json_writer *w, const char *key, gt_spread s)
{
    if (!s.count) return;
    gt_json_put_open(w, key, '{');
    gt_json_put_int(w, "count", (int64_t)s.count);
    gt_json_put_real(w, "mean", s.mean);
    gt_json_put_real(w, "median", s.median);
    gt_json_put_real(w, "std", s.std);
    gt_json_put_real(w, "ci95_low", s.low);
    gt_json_put_real(w, "ci95_high", s.high);
    gt_json_put_real(w, "min", s.min);
    gt_json_put_real(w, "max", s.max);
    gt_json_close(w, '}');
}

static void put_runs(const gt_trials *trials, gt_json_writer *w)
{
    gt_json_put_open(w, "runs", '[');
    for (size_t i = 0; i < trials->done + trials->has_failed; i++) {
        const gt_trial *t = &trials->items[i];
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "kind", kind_names[t->kind]);
        gt_json_put_int(w, "number", (int64_t)t->number);
        gt_json_put_cstr(w, "folder", t->output_dir);
        if (t->exit_code < 0)
            gt_json_put_cstr(w, "exit_code", NULL);
        else
            gt_json_put_int(w, "exit_code", t->exit_code);
        for (size_t f = 0; f < GT_TRIAL_FIGURES; f++) gt_json_put_real(w, figure_names[f], t->figures[f]);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

void gt_trials_write(const gt_trials *trials, gt_json_writer *w)
{
    gt_json_key(w, "repeats");
    if (!trials) {
        gt_json_add_cstr(w, NULL);
        return;
    }
    gt_json_open(w, '{');
    gt_json_put_int(w, "warmup", (int64_t)trials->warmups);
    gt_json_put_int(w, "repeat", (int64_t)trials->repeats);
    gt_json_put_bool(w, "has_baseline", trials->has_baseline);
    const gt_trial *typical = gt_trials_typical(trials);
    gt_json_put_cstr(w, "typical", typical ? typical->output_dir : NULL);
    for (gt_trial_kind kind = GT_TRIAL_PROFILED; kind <= GT_TRIAL_BASELINE; kind++) {
        gt_json_put_open(w, kind_names[kind], '{');
        for (gt_trial_figure f = 0; f < GT_TRIAL_FIGURES; f++)
            put_spread(w, figure_names[f], gt_trials_spread(trials, kind, f));
        gt_json_close(w, '}');
    }
    gt_json_put_open(w, "overhead_pct", '{');
    for (gt_trial_figure f = 0; f < GT_TRIAL_FIGURES; f++)
        put_spread(w, figure_names[f], gt_trials_overhead(trials, f));
    gt_json_close(w, '}');
    put_runs(trials, w);
    gt_json_close(w, '}');
}

/* ---- sheets ---- */

static void add_spread(gt_table *table, const char *what, const char *runs, const char *unit, gt_spread s)
{
    if (!s.count) return;
    size_t row = gt_table_add_row(table);
    gt_table_set_cstr(table, 0, row, what);
    gt_table_set_cstr(table, 1, row, runs);
    gt_table_set_cstr(table, 2, row, unit);
    gt_table_set_int(table, 3, row, (int64_t)s.count);
    const double numbers[] = {s.mean, s.median, s.std, s.low, s.high, s.min, s.max};
    for (size_t i = 0; i < GT_LENGTH(numbers); i++) gt_table_set_float(table, 4 + i, row, numbers[i]);
}

static gt_table *figures_table(const gt_trials *trials, gt_interner *strings)
{
    static const gt_column_head heads[] = {
        {GT_COL_WHAT, GT_TYPE_STRING}, {GT_COL_RUNS, GT_TYPE_STRING},    {GT_COL_UNIT, GT_TYPE_STRING},
        {GT_COL_COUNT, GT_TYPE_INT},   {GT_COL_MEAN, GT_TYPE_FLOAT},     {GT_COL_MEDIAN, GT_TYPE_FLOAT},
        {GT_COL_STD, GT_TYPE_FLOAT},   {GT_COL_CI95_LOW, GT_TYPE_FLOAT}, {GT_COL_CI95_HIGH, GT_TYPE_FLOAT},
        {GT_COL_MIN, GT_TYPE_FLOAT},   {GT_COL_MAX, GT_TYPE_FLOAT}};
    static const char *const whats[GT_TRIAL_FIGURES] = {"wall time", "performance", "step time", "energy"};
    const char *units[GT_TRIAL_FIGURES] = {"s", trials->metric ? trials->metric : "", "ms", "J"};
    gt_table *table = gt_table_new(GT_SHEET_REPEATS, strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    for (gt_trial_figure f = 0; f < GT_TRIAL_FIGURES; f++) {
        for (gt_trial_kind kind = GT_TRIAL_PROFILED; kind <= GT_TRIAL_BASELINE; kind++)
            add_spread(table, whats[f], kind_names[kind], units[f], gt_trials_spread(trials, kind, f));
        add_spread(table, whats[f], "overhead", "%", gt_trials_overhead(trials, f));
    }
    return table;
}

static gt_table *runs_table(const gt_trials *trials, gt_interner *strings)
{
    static const gt_column_head heads[] = {
        {GT_COL_RUN, GT_TYPE_INT},           {GT_COL_KIND, GT_TYPE_STRING},
        {GT_COL_NUMBER, GT_TYPE_INT},        {GT_COL_WALL_S, GT_TYPE_FLOAT},
        {GT_COL_PERFORMANCE, GT_TYPE_FLOAT}, {GT_COL_STEP_MS, GT_TYPE_FLOAT},
        {GT_COL_ENERGY_J, GT_TYPE_FLOAT},    {GT_COL_EXIT_CODE, GT_TYPE_INT},
        {GT_COL_FOLDER, GT_TYPE_STRING}};
    gt_table *table = gt_table_new(GT_SHEET_REPEAT_RUNS, strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    for (size_t i = 0; i < trials->done + trials->has_failed; i++) {
        const gt_trial *t = &trials->items[i];
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, 0, row, (int64_t)i + 1);
        gt_table_set_cstr(table, 1, row, kind_names[t->kind]);
        gt_table_set_int(table, 2, row, (int64_t)t->number);
        for (size_t f = 0; f < GT_TRIAL_FIGURES; f++) gt_table_set_float(table, 3 + f, row, t->figures[f]);
        if (t->exit_code >= 0) gt_table_set_int(table, 7, row, t->exit_code);
        gt_table_set_cstr(table, 8, row, t->output_dir);
    }
    return table;
}

void gt_trials_add_tables(const gt_trials *trials, gt_table_list *tables, gt_interner *strings)
{
    gt_table_list_add(tables, figures_table(trials, strings));
    gt_table_list_add(tables, runs_table(trials, strings));
}

/* ---- terminal ---- */

/* "12.3 s ± 0.4 s" */
static void say_spread(gt_buffer *text, gt_spread s, const char *unit)
{
    gt_buffer_add_format(text, "%.4g %s", s.mean, unit);
    if (isfinite(s.high)) gt_buffer_add_format(text, " ± %.2g", s.high - s.mean);
}

const char *gt_trials_say(const gt_trials *trials, gt_arena *arena)
{
    gt_buffer text = {0};
    gt_spread wall = gt_trials_spread(trials, GT_TRIAL_PROFILED, GT_TRIAL_WALL_S);
    gt_spread figure = gt_trials_spread(trials, GT_TRIAL_PROFILED, GT_TRIAL_PERFORMANCE);
    gt_spread step = gt_trials_spread(trials, GT_TRIAL_PROFILED, GT_TRIAL_STEP_MS);
    gt_spread baseline = gt_trials_spread(trials, GT_TRIAL_BASELINE, GT_TRIAL_WALL_S);
    gt_spread overhead = gt_trials_overhead(trials, GT_TRIAL_WALL_S);
    gt_buffer_add_format(&text, "%zu repeat%s: wall time ", wall.count, wall.count == 1 ? "" : "s");
    say_spread(&text, wall, "s");
    if (figure.count) {
        gt_buffer_add_cstr(&text, ", performance ");
        say_spread(&text, figure, trials->metric ? trials->metric : "");
    }
    if (step.count) {
        gt_buffer_add_cstr(&text, ", step time ");
        say_spread(&text, step, "ms");
    }
    if (baseline.count) {
        gt_buffer_add_cstr(&text, "; without the profiler ");
        say_spread(&text, baseline, "s");
    }
    if (overhead.count) {
        gt_buffer_add_format(&text, "; overhead %.3g %%", overhead.mean);
        if (isfinite(overhead.low))
            gt_buffer_add_format(&text, " (%.3g to %.3g %%)", overhead.low, overhead.high);
    }
    if (isfinite(wall.high)) gt_buffer_add_cstr(&text, "; intervals of 95 %");
    return gt_buffer_move(&text, arena);
}
