/* The tables that only the page of sweeps has (schema/page.h): what the sheets say, with settings and axes as
 * numbers, with intervals that charts need, and small enough to be drawn. */
#include "sweep/page/page.h"

#include "input/sheets/sheets.h"
#include "os/paths.h"
#include "page/words.h"
#include "schema/columns.h"
#include "schema/page.h"
#include "table/distributions.h"

enum { CELLS_MAX = 4096, GEMMS_MAX = 40, BANDWIDTH_ROWS_MAX = 40000 };

static void set(gt_table *table, gt_col name, size_t row, double value)
{
    gt_table_set_float(table, gt_table_find(table, name), row, value);
}

static void set_count(gt_table *table, gt_col name, size_t row, size_t value)
{
    gt_table_set_int(table, gt_table_find(table, name), row, (int64_t)value);
}

/* ---- names ---- */

static const char *setting_name(const gt_decision *d, size_t row)
{
    return d->measures->sweep->configs[d->measures->first_config[d->best.order[row]]].setting;
}

static const char *run_name(const gt_decision *d, size_t run)
{
    return d->measures->sweep->configs[run].name;
}

static gt_name_index index_names(const char *(*name_of)(const gt_decision *d, size_t i), const gt_decision *d,
                                 size_t count)
{
    gt_name_index index = {gt_interner_new(), NULL};
    size_t ids = gt_interner_count(index.names) + count;
    index.places = gt_alloc((ids + 1) * sizeof *index.places);
    for (size_t id = 0; id <= ids; id++) index.places[id] = SIZE_MAX;
    for (size_t i = 0; i < count; i++) index.places[gt_interner_add_cstr(index.names, name_of(d, i))] = i;
    return index;
}

gt_name_index gt_name_index_settings(const gt_decision *d)
{
    return index_names(setting_name, d, d->measures->setting_count);
}

gt_name_index gt_name_index_runs(const gt_decision *d)
{
    return index_names(run_name, d, d->measures->sweep->count);
}

size_t gt_name_index_find(const gt_name_index *index, gt_str name)
{
    return index->places[gt_interner_find(index->names, name.bytes, name.len)];
}

void gt_name_index_free(gt_name_index *index)
{
    gt_interner_free(index->names);
    gt_free(index->places);
}

static double percent_of(double ratio)
{
    return 100 * (ratio - 1);
}

/* ---- settings ---- */

static gt_table *settings_table(const gt_page_sweep *s)
{
    static const gt_column_head columns[] = {{GT_COL_PAGE_BASELINE_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_PAGE_BASELINE_LOW_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_PAGE_BASELINE_HIGH_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_PAGE_BASELINE_P, GT_TYPE_FLOAT}};
    const gt_decision *d = s->decision;
    const gt_sweep_measures *m = d->measures;
    size_t baseline = gt_decision_baseline(d, s->baseline);
    gt_table *table = gt_table_new(GT_SHEET_PAGE_SETTINGS, m->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t a = 0; a < m->sweep->axis_count; a++) {
        char *name = gt_format("axis %s", m->sweep->axes[a].name);
        gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
        gt_free(name);
    }
    gt_table_add_rows(table, m->setting_count);
    for (size_t row = 0; row < m->setting_count; row++) {
        size_t setting = d->best.order[row];
        const gt_sweep_value *values = m->sweep->configs[m->first_config[setting]].values;
        gt_ratio_test test = {{exp(d->samples[setting].typical - d->samples[baseline].typical), NAN, NAN},
                              NAN};
        if (setting != baseline && d->model)
            test = gt_runs_compare(d->model, d->samples, setting, baseline, true);
        set(table, GT_COL_PAGE_BASELINE_PCT, row, percent_of(test.ratio.value));
        set(table, GT_COL_PAGE_BASELINE_LOW_PCT, row, percent_of(test.ratio.low));
        set(table, GT_COL_PAGE_BASELINE_HIGH_PCT, row, percent_of(test.ratio.high));
        set(table, GT_COL_PAGE_BASELINE_P, row, test.p);
        for (size_t a = 0; a < m->sweep->axis_count; a++)
            if (values[a].value) gt_table_set_cstr(table, GT_LENGTH(columns) + a, row, values[a].value);
    }
    return table;
}

/* ---- means of axes ---- */

/* The mean of the logarithms of several settings, which are measured independently. Its error follows from
 * those of the settings, its degrees of freedom from Satterthwaite's formula. */
typedef struct mean_of_settings {
    size_t count;
    double mean, error, per_freedom; /* sums: of means, of squared errors, of their squares by freedom */
    double most_freedom;             /* of one of them: shared noise is not independent */
    bool has_error;
} mean_of_settings;

static void add_setting(mean_of_settings *sum, const gt_log_sample *sample)
{
    double error = sample->variance / (double)sample->count;
    bool has_error = sample->freedom > 0 && sample->is_clear;
    sum->has_error = (sum->count == 0 || sum->has_error) && has_error;
    sum->count++;
    sum->mean += sample->typical;
    if (!has_error) return;
    sum->most_freedom = fmax(sum->most_freedom, sample->freedom);
    sum->error += error;
    sum->per_freedom += error * error / sample->freedom;
}

static gt_estimate estimate_of(const mean_of_settings *sum)
{
    double count = (double)sum->count, mean = sum->mean / count;
    gt_estimate estimate = {exp(mean), NAN, NAN};
    if (!sum->has_error) return estimate;
    double half = 0;
    if (sum->error > 0) {
        double freedom =
            sum->per_freedom > 0 ? sum->error * sum->error / sum->per_freedom : GT_EFFECT_COLUMNS_MAX;
        freedom = fmin(freedom, sum->most_freedom);
        half = gt_student_quantile(1 - GT_OUTSIDE_INTERVAL / 2, freedom) * sqrt(sum->error) / count;
    }
    estimate.low = exp(mean - half);
    estimate.high = exp(mean + half);
    return estimate;
}

/* Adds the means of the values of one axis, or of all pairs of values of two. */
static void add_means(gt_table *table, const gt_decision *d, size_t first, size_t second)
{
    const gt_sweep *sweep = d->measures->sweep;
    size_t wide = second == SIZE_MAX ? 1 : sweep->axes[second].value_count,
           cells = sweep->axes[first].value_count * wide;
    mean_of_settings *sums = gt_alloc_zero(cells, sizeof *sums);
    for (size_t s = 0; s < d->measures->setting_count; s++) {
        const gt_sweep_value *values = sweep->configs[d->measures->first_config[s]].values;
        size_t place = values[first].place, other = second == SIZE_MAX ? 0 : values[second].place;
        if (d->samples[s].count && place < sweep->axes[first].value_count && other < wide)
            add_setting(&sums[place * wide + other], &d->samples[s]);
    }
    for (size_t cell = 0; cell < cells; cell++) {
        if (!sums[cell].count) continue;
        size_t row = gt_table_add_row(table);
        gt_estimate mean = estimate_of(&sums[cell]);
        set_count(table, GT_COL_AXIS_1, row, first);
        set_count(table, GT_COL_VALUE_1, row, cell / wide);
        if (second != SIZE_MAX) {
            set_count(table, GT_COL_AXIS_2, row, second);
            set_count(table, GT_COL_VALUE_2, row, cell % wide);
        }
        set_count(table, GT_COL_SETTINGS, row, sums[cell].count);
        set(table, GT_COL_STEP_MS, row, mean.value);
        set(table, GT_COL_STEP_LOW_MS, row, mean.low);
        set(table, GT_COL_STEP_HIGH_MS, row, mean.high);
    }
    gt_free(sums);
}

static gt_table *means_table(const gt_decision *d)
{
    static const gt_column_head columns[] = {
        {GT_COL_AXIS_1, GT_TYPE_INT},        {GT_COL_VALUE_1, GT_TYPE_INT},
        {GT_COL_AXIS_2, GT_TYPE_INT},        {GT_COL_VALUE_2, GT_TYPE_INT},
        {GT_COL_SETTINGS, GT_TYPE_INT},      {GT_COL_STEP_MS, GT_TYPE_FLOAT},
        {GT_COL_STEP_LOW_MS, GT_TYPE_FLOAT}, {GT_COL_STEP_HIGH_MS, GT_TYPE_FLOAT}};
    const gt_sweep *sweep = d->measures->sweep;
    gt_table *table = gt_table_new(GT_SHEET_PAGE_EFFECT_MEANS, d->measures->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t a = 0; a < sweep->axis_count; a++)
        if (sweep->axes[a].value_count > 1) add_means(table, d, a, SIZE_MAX);
    for (size_t a = 0; a < sweep->axis_count; a++)
        for (size_t b = a + 1; b < sweep->axis_count; b++) {
            size_t rows = sweep->axes[a].value_count, wide = sweep->axes[b].value_count;
            if (rows > 1 && wide > 1 && rows <= CELLS_MAX / wide) add_means(table, d, a, b);
        }
    return table;
}

/* ---- overlap ---- */

/* A GEMM of any setting, with its rows of the sheet. */
typedef struct page_gemm {
    uint32_t kernel, op, shape;
    double cost_ms;
    size_t order; /* of its first row */
} page_gemm;

static int by_cost(const void *left, const void *right)
{
    const page_gemm *a = left, *b = right;
    if (a->cost_ms != b->cost_ms) return a->cost_ms > b->cost_ms ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* The column of a sheet of the decision. The columns of axes come first and may have the same name. */
static const gt_column *sheet_column(const gt_table *sheet, gt_col name)
{
    for (size_t c = sheet->column_count; c--;)
        if (gt_column_is(&sheet->columns[c], name)) return &sheet->columns[c];
    return NULL;
}

/* The GEMM of each row of the sheet as an index; the GEMMs, which the caller frees. */
static page_gemm *find_gemms(const gt_table *sheet, size_t *gemm_of_row, size_t *count)
{
    const gt_column *kernel = sheet_column(sheet, GT_COL_GEMM_KERNEL_NAME),
                    *op = sheet_column(sheet, GT_COL_OP), *shape = sheet_column(sheet, GT_COL_SHAPE),
                    *cost = sheet_column(sheet, GT_COL_COST_MS);
    gt_interner *keys = gt_interner_new();
    page_gemm *gemms = NULL;
    size_t capacity = 0, first = gt_interner_count(keys);
    *count = 0;
    for (size_t row = 0; row < sheet->row_count; row++) {
        uint32_t parts[] = {kernel->texts[row], op->texts[row], shape->texts[row]};
        gemm_of_row[row] = gt_interner_add(keys, parts, sizeof parts) - first;
        if (gemm_of_row[row] == *count) {
            page_gemm gemm = {parts[0], parts[1], parts[2], 0, *count};
            GT_PUSH(gemms, *count, capacity, gemm);
        }
        double ms = gt_column_number(cost, row);
        if (isfinite(ms)) gemms[gemm_of_row[row]].cost_ms += ms;
    }
    gt_interner_free(keys);
    return gemms;
}

static gt_table *gemms_table(const page_gemm *gemms, size_t count, gt_interner *strings)
{
    static const gt_column_head columns[] = {{GT_COL_GEMM_KERNEL_NAME, GT_TYPE_STRING},
                                             {GT_COL_OP, GT_TYPE_STRING},
                                             {GT_COL_SHAPE, GT_TYPE_STRING}};
    gt_table *table = gt_table_new(GT_SHEET_PAGE_GEMMS, strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    gt_table_add_rows(table, count);
    for (size_t i = 0; i < count; i++) {
        gt_table_set_string(table, 0, i, gemms[i].kernel);
        gt_table_set_string(table, 1, i, gemms[i].op);
        gt_table_set_string(table, 2, i, gemms[i].shape);
    }
    return table;
}

static void note(gt_sweep_notes *notes, const char *label, const char *what, size_t all, const char *kept)
{
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, label);
    gt_buffer_add_cstr(&text, " has ");
    gt_words_add_count(&text, all);
    gt_buffer_add_cstr(&text, what);
    gt_buffer_add_cstr(&text, kept);
    char *sentence = gt_buffer_take(&text);
    GT_PUSH(notes->items, notes->count, notes->capacity, sentence);
}

/* The rows of a sheet with the columns that charts use; `setting` and `extra` are numbers of rows. */
static gt_table *chart_rows(const gt_table *sheet, gt_sheet name, const gt_col *columns, size_t column_count,
                            const gt_decision *d, const size_t *extra, size_t extra_max)
{
    gt_name_index settings = gt_name_index_settings(d);
    gt_table *table = gt_table_new(name, sheet->strings);
    size_t setting = gt_table_add_column(table, GT_COL_SETTING, GT_TYPE_INT),
           gemm = extra ? gt_table_add_column(table, GT_COL_PAGE_GEMM, GT_TYPE_INT) : 0;
    const gt_column *names = sheet_column(sheet, GT_COL_SETTING);
    size_t first = table->column_count;
    for (size_t c = 0; c < column_count; c++)
        gt_table_add_column(table, columns[c], sheet_column(sheet, columns[c])->type);
    for (size_t r = 0; r < sheet->row_count; r++) {
        size_t place = gt_name_index_find(&settings, gt_interner_get(sheet->strings, names->texts[r]));
        if (extra ? extra[r] >= extra_max : place >= extra_max) continue;
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, setting, row, (int64_t)place);
        if (extra) gt_table_set_int(table, gemm, row, (int64_t)extra[r]);
        for (size_t c = 0; c < column_count; c++) {
            const gt_column *from = sheet_column(sheet, columns[c]);
            if (from->type == GT_TYPE_STRING)
                gt_table_set_string(table, first + c, row, from->texts[r]);
            else if (from->type == GT_TYPE_INT)
                gt_table_set_int(table, first + c, row, (int64_t)gt_column_number(from, r));
            else
                gt_table_set_float(table, first + c, row, gt_column_number(from, r));
        }
    }
    gt_name_index_free(&settings);
    return table;
}

static void add_overlap(const gt_page_sweep *s, gt_table_list *work, gt_sweep_notes *notes)
{
    static const gt_col columns[] = {GT_COL_CALLS_WITHOUT, GT_COL_CALLS_WITH,    GT_COL_CALLS_PARTIAL,
                                     GT_COL_US_WITHOUT,    GT_COL_US_WITH,       GT_COL_SLOWDOWN,
                                     GT_COL_SLOWDOWN_LOW,  GT_COL_SLOWDOWN_HIGH, GT_COL_COST_MS};
    const gt_table *sheet = gt_table_list_find(s->sheets, GT_SHEET_OVERLAP_SLOWDOWN);
    size_t count, *gemm_of_row = gt_alloc((sheet->row_count + 1) * sizeof *gemm_of_row);
    page_gemm *gemms = find_gemms(sheet, gemm_of_row, &count);
    if (count) qsort(gemms, count, sizeof *gemms, by_cost);
    size_t *place = gt_alloc((count + 1) * sizeof *place);
    for (size_t i = 0; i < count; i++) place[gemms[i].order] = i;
    for (size_t row = 0; row < sheet->row_count; row++) gemm_of_row[row] = place[gemm_of_row[row]];
    size_t kept = count < GEMMS_MAX ? count : GEMMS_MAX;
    if (kept < count)
        note(notes, s->label, " GEMMs that ran during collectives", count,
             "; the page has the 40 that collectives cost the most time.");
    gt_table_list_add(work, gemms_table(gemms, kept, sheet->strings));
    gt_table_list_add(work, chart_rows(sheet, GT_SHEET_PAGE_OVERLAP, columns, GT_LENGTH(columns), s->decision,
                                       gemm_of_row, kept));
    gt_free(place);
    gt_free(gemms);
    gt_free(gemm_of_row);
}

/* ---- bandwidth ---- */

static void add_bandwidth(const gt_page_sweep *s, gt_table_list *work, gt_sweep_notes *notes)
{
    static const gt_col columns[] = {GT_COL_COLLECTIVE, GT_COL_MESSAGE_MB,   GT_COL_COUNT,
                                     GT_COL_BUS_GB_S,   GT_COL_BUS_LOW_GB_S, GT_COL_BUS_HIGH_GB_S,
                                     GT_COL_LATENCY_US};
    const gt_table *sheet = gt_table_list_find(s->sheets, GT_SHEET_BANDWIDTH_BY_SIZE);
    size_t settings = s->decision->measures->setting_count, kept = settings;
    if (sheet->row_count > BANDWIDTH_ROWS_MAX) {
        kept = settings * BANDWIDTH_ROWS_MAX / sheet->row_count;
        note(notes, s->label, " bandwidths of collectives", sheet->row_count,
             "; the page has those of the fastest settings.");
    }
    gt_table_list_add(work, chart_rows(sheet, GT_SHEET_PAGE_BANDWIDTH, columns, GT_LENGTH(columns),
                                       s->decision, NULL, kept));
}

/* ---- timelines ---- */

/* The sheet Summary_By_Config of the workbook of `sweep timeline`; NULL if there is none that can be read. */
static gt_table *read_timelines(const char *analysis, gt_interner *strings)
{
    gt_error error;
    gt_table *table = NULL;
    char *path = gt_format("%s/gpu_timeline_all_configs_mean.xlsx", analysis);
    gt_perf_sheets *book = gt_path_is_file(path) ? gt_perf_sheets_open(path, &error) : NULL;
    if (book && gt_perf_sheets_has(book, GT_SHEET_SUMMARY_BY_CONFIG))
        table = gt_perf_sheets_read(book, GT_SHEET_SUMMARY_BY_CONFIG, strings, &error);
    gt_perf_sheets_close(book);
    gt_free(path);
    return table;
}

enum { COMPUTATION, COMMUNICATION, BUSY, IDLE, TOTAL, PARTS };

static bool find_parts(const gt_table *table, const gt_column *parts[PARTS])
{
    static const gt_col names[PARTS] = {GT_COL_COMPUTATION_TIME_MS, GT_COL_EXPOSED_COMM_TIME_MS,
                                        GT_COL_BUSY_TIME_MS, GT_COL_IDLE_TIME_MS, GT_COL_TOTAL_TIME_MS};
    for (size_t i = 0; i < PARTS; i++) {
        size_t c = gt_table_find(table, names[i]);
        if (c == SIZE_MAX) return false;
        parts[i] = &table->columns[c];
        if (parts[i]->type != GT_TYPE_INT && parts[i]->type != GT_TYPE_FLOAT) return false;
    }
    return true;
}

/* Means over the repeats of each setting. Rows of runs that the sweep does not have are of an older one. */
static void sum_timelines(const gt_decision *d, const gt_table *table, double *sums, double *counts)
{
    const gt_column *parts[PARTS];
    size_t config = gt_table_find(table, GT_COL_FULL_CONFIG);
    if (config == SIZE_MAX || table->columns[config].type != GT_TYPE_STRING || !find_parts(table, parts))
        return;
    const gt_column *names = &table->columns[config];
    gt_name_index runs = gt_name_index_runs(d);
    for (size_t row = 0; row < table->row_count; row++) {
        size_t run = gt_name_index_find(&runs, gt_interner_get(table->strings, names->texts[row]));
        if (run == SIZE_MAX) continue;
        size_t setting = d->measures->runs[run].setting;
        bool is_whole = true;
        for (size_t i = 0; i < PARTS; i++) is_whole &= isfinite(gt_column_number(parts[i], row));
        if (!is_whole) continue;
        counts[setting]++;
        for (size_t i = 0; i < PARTS; i++) sums[setting * PARTS + i] += gt_column_number(parts[i], row);
    }
    gt_name_index_free(&runs);
}

static void add_timelines(const gt_page_sweep *s, gt_table_list *work)
{
    static const gt_column_head columns[] = {{GT_COL_SETTING, GT_TYPE_INT},
                                             {GT_COL_COMPUTATION_TIME_MS, GT_TYPE_FLOAT},
                                             {GT_COL_EXPOSED_COMM_TIME_MS, GT_TYPE_FLOAT},
                                             {GT_COL_BUSY_TIME_MS, GT_TYPE_FLOAT},
                                             {GT_COL_IDLE_TIME_MS, GT_TYPE_FLOAT},
                                             {GT_COL_TOTAL_TIME_MS, GT_TYPE_FLOAT}};
    const gt_decision *d = s->decision;
    gt_table *read = s->analysis ? read_timelines(s->analysis, d->measures->strings) : NULL;
    if (!read) return;
    size_t settings = d->measures->setting_count;
    double *sums = gt_alloc_zero(settings * PARTS + 1, sizeof *sums),
           *counts = gt_alloc_zero(settings + 1, sizeof *counts);
    sum_timelines(d, read, sums, counts);
    gt_table *table = gt_table_new(GT_SHEET_PAGE_TIMELINES, d->measures->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t r = 0; r < settings; r++) {
        size_t setting = d->best.order[r];
        if (!(counts[setting] > 0)) continue;
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, 0, row, (int64_t)r);
        for (size_t i = 0; i < PARTS; i++)
            gt_table_set_float(table, 1 + i, row, sums[setting * PARTS + i] / counts[setting]);
    }
    gt_table_list_add(work, table);
    gt_table_free(read);
    gt_free(sums);
    gt_free(counts);
}

void gt_sweep_page_tables(const gt_page_sweep *sweep, gt_table_list *work, gt_sweep_notes *notes)
{
    gt_table_list_add(work, settings_table(sweep));
    gt_table_list_add(work, means_table(sweep->decision));
    add_overlap(sweep, work, notes);
    add_bandwidth(sweep, work, notes);
    add_timelines(sweep, work);
}
