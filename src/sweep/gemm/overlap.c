/* `sweep overlap`: reads the collectives of each setting once, per rank, then goes through the rows. Times
 * are added in milliseconds like the Python script does, so that the last digits are equal. */
#include "sweep/gemm/gemm.h"
#include "base/many.h"
#include "os/paths.h"
#include "schema/columns.h"
#include "sweep/setting_reports.h"

typedef struct collective {
    uint32_t name; /* string id; GT_STR_NONE: no name */
    double begin_ms, end_ms;
} collective;

/* The collectives of one rank, in the order of the sheet. */
typedef struct rank_list {
    collective *items;
    size_t count, capacity;
} rank_list;

/* One setting whose collectives are needed. */
typedef struct setting {
    const gt_gemm_run *run; /* of any rank */
    gt_map of_rank;         /* index in `ranks` */
    rank_list *ranks;
    size_t rank_count, rank_capacity;
    gt_report_grid sheet; /* until it is kept */
    bool is_read;
} setting;

typedef struct work {
    gt_table *table;
    gt_gemm_rows rows;
    const char *analysis;
    setting *settings;
    size_t setting_count, setting_capacity;
    gt_map setting_of; /* (threads, channels) */
    gt_map counted;    /* name to index in counts */
    gt_overlap_counts *counts;
    size_t count_capacity;
    bool has_reports; /* at least one collective report */
} work;

/* ---- a collective report ---- */

/* Columns by name; if the sheet has no such name, by their usual position. */
enum { RANK, NAME, START, DURATION, COLUMNS };
static const struct {
    gt_col name;
    uint32_t place;
} wanted[COLUMNS] = {{GT_COL_RANK, 2}, {GT_COL_COLLECTIVE_NAME, 5}, {GT_COL_TS, 15}, {GT_COL_DUR, 16}};

static rank_list *list_of(setting *s, int64_t rank)
{
    uint32_t *place = gt_map_put(&s->of_rank, (uint64_t)rank, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)s->rank_count;
        GT_PUSH(s->ranks, s->rank_count, s->rank_capacity, ((rank_list){0}));
    }
    return &s->ranks[*place];
}

static void take_sheet(setting *s, const gt_report_grid *sheet, gt_interner *strings)
{
    const gt_sheet_grid *grid = &sheet->grid;
    uint32_t columns[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        columns[i] = gt_report_grid_find(sheet, wanted[i].name);
        if (columns[i] == UINT32_MAX) columns[i] = wanted[i].place;
        if (columns[i] >= grid->columns) return;
    }
    /* The report may have moved a rank to the clock of another one; GEMMs have the times of the trace. */
    uint32_t offset = gt_report_grid_find(sheet, GT_COL_CLOCK_OFFSET_US);
    for (uint32_t row = 1; row < grid->rows; row++) {
        double rank = gt_sheet_cell_as_number(gt_sheet_grid_at(grid, row, columns[RANK]));
        double start_us = gt_sheet_cell_as_number(gt_sheet_grid_at(grid, row, columns[START]));
        if (offset != UINT32_MAX) start_us -= gt_sheet_cell_as_number(gt_sheet_grid_at(grid, row, offset));
        double dur_us = gt_sheet_cell_as_number(gt_sheet_grid_at(grid, row, columns[DURATION]));
        if (!(rank >= 0 && rank <= INT32_MAX) || isnan(start_us) || isnan(dur_us) || start_us == 0 ||
            dur_us == 0)
            continue;
        double begin_ms = start_us / 1000;
        collective c = {.name = gt_sheet_cell_as_string(gt_sheet_grid_at(grid, row, columns[NAME]), strings),
                        .begin_ms = begin_ms,
                        .end_ms = begin_ms + dur_us / 1000};
        rank_list *list = list_of(s, (int64_t)rank);
        GT_PUSH(list->items, list->count, list->capacity, c);
    }
}

static bool read_setting(void *context, size_t index)
{
    work *w = context;
    setting *s = &w->settings[index];
    char *path = s->run->config
                     ? gt_sweep_collective_report(w->analysis, s->run->config)
                     : gt_format("%s/%" PRId64 "thread/collective_reports/collective_%" PRId64 "ch.xlsx",
                                 w->analysis, s->run->threads, s->run->channels);
    gt_error error = {""};
    if (!gt_path_is_file(path)) {
        if (w->has_reports) gt_warn("Collective report not found: %s", path);
    } else if (gt_read_report_grid(path, GT_SHEET_NCCL_LONG, &s->sheet, &error) != GT_SHEET_READ)
        gt_warn("%s", error.text);
    else
        s->is_read = true;
    gt_free(path);
    return true;
}

static void keep_setting(void *context, size_t index)
{
    work *w = context;
    setting *s = &w->settings[index];
    if (s->is_read) take_sheet(s, &s->sheet, w->table->strings);
    gt_report_grid_close(&s->sheet);
}

static void free_setting(setting *s)
{
    for (size_t i = 0; i < s->rank_count; i++) gt_free(s->ranks[i].items);
    gt_free(s->ranks);
    gt_map_free(&s->of_rank);
}

/* ---- rows ---- */

typedef struct interval {
    double begin, end;
} interval;

GT_ORDER_BY(by_begin, interval, GT_UP(begin) GT_UP(end))

static double length_of_union(interval *intervals, size_t count)
{
    if (!count) return 0;
    qsort(intervals, count, sizeof *intervals, by_begin);
    double total = 0;
    interval now = intervals[0];
    for (size_t i = 1; i < count; i++) {
        if (intervals[i].begin <= now.end) {
            now.end = fmax(now.end, intervals[i].end);
        } else {
            total += now.end - now.begin;
            now = intervals[i];
        }
    }
    return total + (now.end - now.begin);
}

static void count_name(work *w, uint32_t name)
{
    uint32_t *place = gt_map_put(&w->counted, name, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)w->counts->count;
        GT_PUSH(w->counts->items, w->counts->count, w->count_capacity, ((gt_collective_count){name, 0}));
    }
    w->counts->items[*place].count++;
}

enum { COUNT_COLUMN, NAMES_COLUMN, PERCENT_COLUMN, LARGEST_COLUMN, TOTAL_COLUMN };
static const gt_column_head new_columns[] = {
    [COUNT_COLUMN] = {GT_COL_OVERLAPPING_COLLECTIVE_COUNT, GT_TYPE_INT},
    [NAMES_COLUMN] = {GT_COL_OVERLAPPING_COLLECTIVE_NAMES, GT_TYPE_STRING},
    [PERCENT_COLUMN] = {GT_COL_MAX_OVERLAP_PERCENTAGE, GT_TYPE_FLOAT},
    [LARGEST_COLUMN] = {GT_COL_MAX_OVERLAP_COLLECTIVE, GT_TYPE_STRING},
    [TOTAL_COLUMN] = {GT_COL_TOTAL_OVERLAP_DURATION_MS, GT_TYPE_FLOAT},
};

static void fill_row(work *w, size_t row, size_t first, const rank_list *list, double begin_ms, double dur_us)
{
    double end_ms = begin_ms + dur_us / 1000, largest = 0;
    const collective *largest_one = NULL;
    gt_buffer names = {0};
    interval *intervals = gt_alloc(list->count * sizeof *intervals);
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const collective *c = &list->items[i];
        if (!(c->begin_ms < end_ms && c->end_ms > begin_ms)) continue;
        interval both = {fmax(begin_ms, c->begin_ms), fmin(end_ms, c->end_ms)};
        double percentage = (both.end - both.begin) / (dur_us / 1000) * 100;
        gt_str name = gt_interner_get(w->table->strings, c->name);
        if (!largest_one || percentage > largest) {
            largest = percentage;
            largest_one = c;
        }
        if (count) gt_buffer_add(&names, ";", 1);
        gt_buffer_add(&names, name.bytes, name.len);
        intervals[count++] = both;
        count_name(w, c->name);
    }
    if (count) {
        gt_table_set_int(w->table, first + COUNT_COLUMN, row, (int64_t)count);
        gt_table_set_string(w->table, first + NAMES_COLUMN, row,
                            gt_interner_add(w->table->strings, names.bytes, names.len));
        gt_table_set_float(w->table, first + PERCENT_COLUMN, row, largest);
        gt_table_set_string(w->table, first + LARGEST_COLUMN, row, largest_one->name);
        gt_table_set_float(w->table, first + TOTAL_COLUMN, row, length_of_union(intervals, count));
    }
    gt_free(intervals);
    gt_buffer_free(&names);
}

/* Start and duration of the longest instance of a row; false if the row does not have them. */
static bool instance_of(const work *w, size_t row, double *begin_ms, double *dur_us)
{
    bool has_found = gt_table_find(w->table, GT_COL_MAX_DURATION_FOUND_US) != SIZE_MAX;
    *begin_ms = gt_gemm_number(w->table, GT_COL_MAX_DURATION_TIMESTAMP_MS, row);
    *dur_us =
        gt_gemm_number(w->table, has_found ? GT_COL_MAX_DURATION_FOUND_US : GT_COL_KERNEL_TIME_MAX_US, row);
    return w->rows.run_of_row[row] != GT_NO_RUN && !isnan(*begin_ms) && *dur_us > 0;
}

/* The place in setting_of: by config, or by threads and channels. */
static uint32_t *setting_place(work *w, const gt_gemm_run *run)
{
    return run->config ? gt_map_put(&w->setting_of, (uintptr_t)run->config, UINT64_MAX)
                       : gt_map_put(&w->setting_of, (uint64_t)run->threads, (uint64_t)run->channels);
}

/* Reads the settings that the rows need, several at a time. */
static void read_settings(work *w)
{
    double begin_ms, dur_us;
    for (size_t row = 0; row < w->table->row_count; row++) {
        if (!instance_of(w, row, &begin_ms, &dur_us)) continue;
        const gt_gemm_run *run = &w->rows.runs[w->rows.run_of_row[row]];
        uint32_t *place = setting_place(w, run);
        if (*place != GT_MAP_NONE) continue;
        *place = (uint32_t)w->setting_count;
        GT_PUSH(w->settings, w->setting_count, w->setting_capacity, ((setting){.run = run}));
    }
    gt_many_run(
        &(gt_many){.count = w->setting_count, .work = read_setting, .finish = keep_setting, .context = w});
}

static void fill_rows(work *w, size_t first)
{
    size_t skipped = 0;
    for (size_t row = 0; row < w->table->row_count; row++) {
        double begin_ms, dur_us;
        gt_table_set_int(w->table, first + COUNT_COLUMN, row, 0);
        gt_table_set_float(w->table, first + PERCENT_COLUMN, row, 0);
        gt_table_set_float(w->table, first + TOTAL_COLUMN, row, 0);
        if (!instance_of(w, row, &begin_ms, &dur_us)) {
            skipped++;
            continue;
        }
        const gt_gemm_run *run = &w->rows.runs[w->rows.run_of_row[row]];
        const setting *s = &w->settings[*setting_place(w, run)];
        uint32_t list = gt_map_get(&s->of_rank, (uint64_t)run->rank, 0);
        if (list != GT_MAP_NONE) fill_row(w, row, first, &s->ranks[list], begin_ms, dur_us);
    }
    if (skipped)
        gt_warn("%zu rows without timestamp or duration of the longest instance; no overlap", skipped);
}

/* Most frequent first; equal ones in the order of appearance. */
static void sort_counts(gt_overlap_counts *counts)
{
    int64_t *keys = gt_alloc(counts->count * sizeof *keys);
    gt_collective_count *sorted = gt_alloc(counts->count * sizeof *sorted);
    uint32_t *order = gt_order_new(counts->count);
    for (size_t i = 0; i < counts->count; i++) keys[i] = (int64_t)counts->items[i].count;
    gt_order_by_ints(order, counts->count, keys, NULL, true);
    for (size_t i = 0; i < counts->count; i++) sorted[i] = counts->items[order[i]];
    gt_free(counts->items);
    counts->items = sorted;
    gt_free_all(order, keys);
}

static bool add_overlap(work *w, const gt_sweep *sweep, gt_error *error)
{
    if (!gt_gemm_rows_find(&w->rows, w->table, sweep, error)) return false;
    if (gt_table_find(w->table, GT_COL_MAX_DURATION_TIMESTAMP_MS) == SIZE_MAX) {
        gt_gemm_rows_free(&w->rows);
        return gt_fail(error, "no column max_duration_timestamp_ms; run `gputally sweep timestamps` first");
    }
    if (!w->has_reports) gt_warn("no collective reports in %s, so no overlap with collectives", w->analysis);
    read_settings(w);
    fill_rows(w, gt_gemm_new_columns(w->table, new_columns, GT_LENGTH(new_columns)));
    sort_counts(w->counts);
    for (size_t i = 0; i < w->setting_count; i++) free_setting(&w->settings[i]);
    gt_free(w->settings);
    gt_map_free(&w->setting_of);
    gt_map_free(&w->counted);
    gt_gemm_rows_free(&w->rows);
    return true;
}

bool gt_sweep_add_overlap(gt_table *table, const char *root, const char *analysis, gt_overlap_counts *counts,
                          gt_error *error)
{
    *counts = (gt_overlap_counts){0};
    work w = {.table = table, .analysis = analysis, .counts = counts};
    gt_setting_reports reports;
    gt_error ignored;
    /* Rows say which runs are wanted, so failed ones are not left out here. */
    const gt_reports_wanted in_folder = {
        .root = root, .analysis = analysis, .kind = GT_REPORTS_COLLECTIVE, .any_status = true};
    bool found = gt_setting_reports_find(&reports, &in_folder, &ignored);
    w.has_reports = found;
    gt_sweep sweep = {0}; /* without collective reports, the folders tell the axes */
    bool opened = !found && root && gt_sweep_open(&sweep, root, &ignored);
    bool made = add_overlap(&w, found ? &reports.sweep : opened ? &sweep : NULL, error);
    gt_sweep_free(&sweep);
    gt_setting_reports_free(&reports);
    return made;
}

gt_overlap_summary gt_overlap_summarize(const gt_table *table)
{
    const int64_t *overlapping = gt_table_column(table, GT_COL_OVERLAPPING_COLLECTIVE_COUNT)->ints;
    const double *percent = gt_table_column(table, GT_COL_MAX_OVERLAP_PERCENTAGE)->floats;
    gt_overlap_summary summary = {.mean_percent = NAN};
    size_t positive = 0;
    double sum = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        summary.overlapped += overlapping[row] > 0;
        summary.high += percent[row] > GT_HIGH_OVERLAP_PERCENT;
        positive += percent[row] > 0;
        sum += percent[row] > 0 ? percent[row] : 0;
    }
    if (positive) summary.mean_percent = sum / (double)positive;
    return summary;
}
