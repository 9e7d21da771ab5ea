/* `sweep top`: reports are read in parallel, each for its own first rows, which are combined in the order
 * of the reports and sorted again. */
#include "sweep/gemm/gemm.h"
#include "base/guard.h"
#include "base/many.h"
#include "compat/number.h"
#include "os/paths.h"
#include "schema/columns.h"
#include "sweep/record.h"
#include "sweep/setting_reports.h"
#include "table/stats.h"

/* The columns of the result that sheets do not have, after those of the axes. */
enum { RANK, KERNEL_NAME, TIME_MIN, TIME_MAX, TIME_DIFF, LONGEST, OWN_COLUMNS };
static const gt_col own_columns[OWN_COLUMNS] = {
    GT_COL_RANK,         GT_COL_GEMM_KERNEL_NAME,   GT_COL_KERNEL_TIME_MIN_US, GT_COL_KERNEL_TIME_MAX_US,
    GT_COL_TIME_DIFF_US, GT_COL_LONGEST_KERNEL_NAME};

/* One report. */
typedef struct task {
    const gt_sweep_config *config; /* in a sweep with other axes than threads and channels; else NULL */
    int64_t threads, channels, rank;
    char *path;
    gt_table *table;      /* its first rows; NULL: none */
    gt_interner *strings; /* of the table, until it is kept */
    double *difference;
    bool is_read;
} task;

typedef struct job {
    const char *analysis;
    const gt_sweep *sweep; /* of the configs; NULL: threads and channels */
    int64_t top;
    gt_interner *strings;
    task *tasks;
    size_t count, capacity, files;
} job;

/* ---- columns of the axes ---- */

/* How many columns of axes the result has. */
static size_t axis_columns(const job *j)
{
    return j->sweep ? j->sweep->axis_count + (j->sweep->repeats > 1) : 2;
}

static gt_col axis_column(const job *j, size_t index)
{
    static const gt_col classic[] = {GT_COL_THREADS, GT_COL_CHANNEL};
    if (!j->sweep) return classic[index];
    if (index == j->sweep->axis_count) return GT_COL_REPEAT;
    return gt_col_named(gt_gemm_axis_column(&j->sweep->axes[index]));
}

static void set_int(gt_table *table, size_t column, size_t row, int64_t number)
{
    char text[GT_NUMBER_MAX];
    gt_table_set_string(table, column, row,
                        gt_interner_add(table->strings, text, gt_print_int(text, number)));
}

static void fill_axes(const job *j, const task *t, gt_table *table, size_t row)
{
    if (!t->config) {
        set_int(table, 0, row, t->threads);
        set_int(table, 1, row, t->channels);
        return;
    }
    for (size_t i = 0; i < j->sweep->axis_count; i++)
        if (t->config->values[i].value) gt_table_set_cstr(table, i, row, t->config->values[i].value);
    if (j->sweep->repeats > 1) set_int(table, j->sweep->axis_count, row, t->config->repeat);
}

/* ---- one sheet ---- */

/* Finds the first match of 'name':\s*'([^']+)'. */
static bool first_name(gt_str text, gt_str *name)
{
    static const char key[] = "'name':";
    const char *end = text.bytes + text.len, *at = text.bytes;
    while ((at = memmem(at, (size_t)(end - at), key, strlen(key)))) {
        at += strlen(key);
        const char *start = at;
        while (start < end && (*start == ' ' || (*start >= '\t' && *start <= '\r'))) start++;
        if (start == end || *start != '\'') continue;
        start++;
        const char *close = memchr(start, '\'', (size_t)(end - start));
        if (!close || close == start) continue;
        *name = (gt_str){start, (size_t)(close - start)};
        return true;
    }
    return false;
}

/* The string that begins at `at` with a quote, and the byte after it; NULL if there is none. */
static const char *quoted(const char *at, const char *end, gt_str *text)
{
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) at++;
    if (at == end || (*at != '\'' && *at != '"')) return NULL;
    const char *start = at + 1;
    for (const char *p = start; p < end; p++) {
        if (*p == '\\') {
            p++;
        } else if (*p == *at) {
            *text = (gt_str){start, (size_t)(p - start)};
            return p + 1;
        }
    }
    return NULL;
}

/* The number after a key between `at` and `end`, which NumPy may have printed as np.float64(1.5); 0 if there
 * is none. */
static double number_after(const char *at, const char *end, const char *key)
{
    static const char wrapper[] = "np.float64(";
    const char *found = memmem(at, (size_t)(end - at), key, strlen(key));
    if (!found) return NAN;
    found += strlen(key);
    while (found < end && *found == ' ') found++;
    if ((size_t)(end - found) > strlen(wrapper) && memcmp(found, wrapper, strlen(wrapper)) == 0)
        found += strlen(wrapper);
    char text[64] = "";
    for (size_t len = 0; found < end && len + 1 < sizeof text; found++) text[len++] = *found;
    double number = strtod(text, NULL);
    return number;
}

/* The kernel with the longest total time, the last of equal ones, as the list is sorted by time: what an op
 * does, also if it clears memory before. */
static bool longest_name(gt_str text, gt_str *longest)
{
    static const char key[] = "'name':";
    const char *end = text.bytes + text.len;
    double most = -1;
    for (const char *at = memmem(text.bytes, text.len, key, strlen(key)); at;) {
        gt_str name;
        const char *after = quoted(at + strlen(key), end, &name);
        const char *rest = after ? after : at + strlen(key);
        const char *next = memmem(rest, (size_t)(end - rest), key, strlen(key));
        double total = number_after(rest, next ? next : end, "'total_duration_us':");
        if (after && name.len && total >= most) {
            most = total;
            *longest = name;
        }
        at = next;
    }
    return most >= 0;
}

typedef struct sheet {
    const gt_sheet_grid *grid;
    uint32_t details, shortest, longest; /* columns */
    uint32_t *rows;                      /* rows of the sheet that are used */
    double *difference;                  /* per used row */
    size_t count;
} sheet;

static bool find_columns(const gt_report_grid *grid, sheet *s, gt_error *error)
{
    static const gt_col names[] = {GT_COL_KERNEL_DETAILS_SUMMARIZE_KERNEL_STATS, GT_COL_KERNEL_TIME_US_MIN,
                                   GT_COL_KERNEL_TIME_US_MAX};
    uint32_t *const places[] = {&s->details, &s->shortest, &s->longest};
    s->grid = &grid->grid;
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if ((*places[i] = gt_report_grid_find(grid, names[i])) == UINT32_MAX)
            return gt_fail(error, "Required column not found: '%s'", names[i].name);
    return true;
}

static void find_rows(sheet *s)
{
    s->rows = gt_alloc(s->grid->rows * sizeof *s->rows);
    s->difference = gt_alloc(s->grid->rows * sizeof *s->difference);
    for (uint32_t row = 1; row < s->grid->rows; row++) {
        const gt_sheet_cell *details = gt_sheet_grid_at(s->grid, row, s->details);
        double shortest = gt_sheet_cell_as_number(gt_sheet_grid_at(s->grid, row, s->shortest));
        double longest = gt_sheet_cell_as_number(gt_sheet_grid_at(s->grid, row, s->longest));
        gt_str name;
        if (details->kind != GT_CELL_STRING || !first_name((gt_str){details->bytes, details->len}, &name))
            continue;
        if (isnan(shortest) || isnan(longest)) continue;
        s->difference[s->count] = longest - shortest;
        s->rows[s->count++] = row;
    }
}

/* Fills the columns that the sheet does not have, for the used row `index` of the sheet. */
static void fill_own(const job *j, gt_table *table, size_t row, const sheet *s, uint32_t index, const task *t)
{
    gt_interner *strings = table->strings;
    char text[GT_NUMBER_MAX];
    size_t first = axis_columns(j);
    const gt_sheet_cell *details = gt_sheet_grid_at(s->grid, s->rows[index], s->details);
    const gt_sheet_cell *shortest = gt_sheet_grid_at(s->grid, s->rows[index], s->shortest);
    const gt_sheet_cell *longest = gt_sheet_grid_at(s->grid, s->rows[index], s->longest);
    gt_str name = {"", 0}, kernels = {details->bytes, details->len};
    first_name(kernels, &name);
    fill_axes(j, t, table, row);
    set_int(table, first + RANK, row, t->rank);
    gt_table_set_string(table, first + KERNEL_NAME, row, gt_interner_add(strings, name.bytes, name.len));
    gt_table_set_string(table, first + TIME_MIN, row, gt_sheet_cell_as_string(shortest, strings));
    gt_table_set_string(table, first + TIME_MAX, row, gt_sheet_cell_as_string(longest, strings));
    gt_table_set_string(table, first + TIME_DIFF, row,
                        gt_interner_add(strings, text, gt_print_double(text, s->difference[index])));
    longest_name(kernels, &name);
    gt_table_set_string(table, first + LONGEST, row, gt_interner_add(strings, name.bytes, name.len));
}

/* The first rows of the sheet as a table with the column names of the result. */
static gt_table *take_rows(const job *j, const sheet *s, const task *t, const uint32_t *order, size_t count,
                           gt_interner *strings)
{
    gt_table *table = gt_table_new(GT_SHEET_GEMM, strings);
    gt_table_add_rows(table, count);
    for (size_t c = 0; c < axis_columns(j); c++)
        gt_table_add_column(table, axis_column(j, c), GT_TYPE_STRING);
    for (size_t c = 0; c < OWN_COLUMNS; c++) gt_table_add_column(table, own_columns[c], GT_TYPE_STRING);
    size_t *column_of = gt_alloc(s->grid->columns * sizeof *column_of);
    for (uint32_t c = 0; c < s->grid->columns; c++) {
        gt_str header =
            gt_interner_get(strings, gt_sheet_cell_as_string(gt_sheet_grid_at(s->grid, 0, c), strings));
        char *name = gt_format("col_%s", header.bytes);
        column_of[c] = !header.len ? SIZE_MAX : gt_table_find(table, gt_col_named(name));
        if (header.len && column_of[c] == SIZE_MAX)
            column_of[c] = gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
        gt_free(name);
    }
    for (size_t i = 0; i < count; i++) {
        fill_own(j, table, i, s, order[i], t);
        for (uint32_t c = 0; c < s->grid->columns; c++)
            if (column_of[c] != SIZE_MAX)
                gt_table_set_string(
                    table, column_of[c], i,
                    gt_sheet_cell_as_string(gt_sheet_grid_at(s->grid, s->rows[order[i]], c), strings));
    }
    gt_free(column_of);
    return table;
}

static void take_sheet(job *j, task *t, sheet *s, gt_interner *strings)
{
    find_rows(s);
    uint32_t *order = gt_order_new(s->count);
    gt_order_by_floats(order, s->count, s->difference, true);
    size_t kept = gt_pandas_head(s->count, j->top);
    if (kept) {
        t->table = take_rows(j, s, t, order, kept, strings);
        t->difference = gt_alloc(kept * sizeof *t->difference);
        for (size_t i = 0; i < kept; i++) t->difference[i] = s->difference[order[i]];
    }
    gt_free_all(order, s->rows, s->difference);
}

static bool read_report(void *context, size_t index)
{
    job *j = context;
    task *t = &j->tasks[index];
    gt_error error = {""};
    gt_report_grid grid;
    sheet s = {0};
    gt_interner *strings = gt_interner_new();
    const char *path = t->path;
    gt_sheet_found found = GT_SHEET_BROKEN;
    const char *about = gt_log_about(path);
    if (!gt_path_is_file(path)) {
        gt_warn("File not found: %s", path);
    } else {
        found = gt_read_report_grid(path, GT_SHEET_GEMM, &grid, &error);
        if (found == GT_SHEET_ABSENT)
            gt_warn("GEMM sheet not found in %s", path);
        else if (found == GT_SHEET_BROKEN)
            gt_warn("%s", error.text);
        else if (!find_columns(&grid, &s, &error))
            gt_warn("%s: %s", path, error.text);
        else
            take_sheet(j, t, &s, strings);
        gt_report_grid_close(&grid);
    }
    gt_log_about(about);
    t->strings = strings;
    t->is_read = found == GT_SHEET_READ;
    return true;
}

static void keep_report(void *context, size_t index)
{
    job *j = context;
    task *t = &j->tasks[index];
    if (t->table) gt_table_use_strings(t->table, j->strings);
    j->files += t->is_read;
    gt_interner_free(t->strings);
}

/* ---- all reports ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const gt_column *)a)->name, ((const gt_column *)b)->name);
}

static gt_table *join_tables(const job *j)
{
    gt_table *all = gt_table_new(GT_SHEET_TOP_GEMMS, j->strings);
    gt_error error;
    for (size_t i = 0; i < j->count; i++)
        if (j->tasks[i].table && !gt_table_append_outer(all, j->tasks[i].table, &error))
            gt_raise_internal("%s", error.text); /* all columns are strings */
    size_t own = axis_columns(j) + OWN_COLUMNS;
    if (all->column_count > own)
        qsort(all->columns + own, all->column_count - own, sizeof *all->columns, by_name);
    return all;
}

/* Moves the longest kernels to the end, or drops them if they are the first kernels in all rows. */
static void place_longest(gt_table *all, size_t first)
{
    if (!all->column_count) return;
    const uint32_t *names = all->columns[first + KERNEL_NAME].texts,
                   *longest = all->columns[first + LONGEST].texts;
    bool differs = false;
    for (size_t row = 0; row < all->row_count && !differs; row++) differs = names[row] != longest[row];
    if (differs)
        gt_table_move_column(all, first + LONGEST, all->column_count - 1);
    else
        gt_table_drop_column(all, first + LONGEST);
}

/* Marks the rows of runs that did not end well, after time_diff_us. */
static void add_status(const job *j, gt_table *all)
{
    if (!j->sweep || !j->sweep->failed || !all->column_count) return;
    size_t column = gt_table_add_column(all, GT_COL_RUN_STATUS, GT_TYPE_STRING), row = 0;
    for (size_t i = 0; i < j->count; i++)
        for (size_t r = 0; j->tasks[i].table && r < j->tasks[i].table->row_count; r++)
            gt_table_set_cstr(all, column, row++, gt_run_status_names[j->tasks[i].config->status]);
    gt_table_move_column(all, column, axis_columns(j) + LONGEST);
}

static void sort_rows(gt_top_gemms *found, const job *j)
{
    size_t count = found->table->row_count, at = 0;
    double *unsorted = gt_alloc(count * sizeof *unsorted);
    for (size_t i = 0; i < j->count; i++)
        for (size_t r = 0; j->tasks[i].table && r < j->tasks[i].table->row_count; r++)
            unsorted[at++] = j->tasks[i].difference[r];
    uint32_t *order = gt_order_new(count);
    gt_order_by_floats(order, count, unsorted, true);
    gt_table_take(found->table, order, count);
    found->difference = gt_alloc(count * sizeof *found->difference);
    for (size_t i = 0; i < count; i++) found->difference[i] = unsorted[order[i]];
    gt_free_all(order, unsorted);
}

/* ---- choosing reports ---- */

/* Adds a number that is not in the list yet. */
static void add_new(gt_number_list *list, int64_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == number) return;
    GT_PUSH(list->items, list->count, list->capacity, number);
}

/* Fills the empty lists with the numbers in the names of the existing reports, ascending. */
static void complete_lists(const char *analysis, gt_top_gemms_options *options)
{
    gt_number_list *const lists[] = {&options->threads, &options->channels, &options->ranks};
    const bool find[] = {!lists[0]->count, !lists[1]->count, !lists[2]->count};
    gt_folder_list folders = gt_list_folder(analysis);
    for (size_t i = 0; i < folders.count; i++) {
        const char *at = folders.items[i];
        int64_t thread, channel, rank;
        if (!gt_take_number(&at, &thread) || strcmp(at, "thread") != 0) continue;
        char *folder = gt_format("%s/%s/individual_reports", analysis, folders.items[i]);
        gt_folder_list files = gt_list_folder(folder);
        if (find[0] && files.count) add_new(lists[0], thread);
        for (size_t f = 0; f < files.count; f++) {
            if (strncmp(files.items[f], "perf_", 5) != 0) continue;
            at = files.items[f] + 5;
            if (!gt_take_number(&at, &channel) || strncmp(at, "ch_rank", 7) != 0) continue;
            at += 7;
            if (!gt_take_number(&at, &rank) || strcmp(at, ".xlsx") != 0) continue;
            if (find[1]) add_new(lists[1], channel);
            if (find[2]) add_new(lists[2], rank);
        }
        gt_folder_list_free(&files);
        gt_free(folder);
    }
    gt_folder_list_free(&folders);
    for (size_t i = 0; i < GT_LENGTH(lists); i++)
        if (find[i] && lists[i]->count)
            qsort(lists[i]->items, lists[i]->count, sizeof *lists[i]->items, gt_by_i64);
}

static size_t count_kernels(const gt_table *table)
{
    const uint32_t *names = gt_table_column(table, GT_COL_GEMM_KERNEL_NAME)->texts;
    uint8_t *met = gt_alloc_zero(gt_interner_count(table->strings), 1);
    size_t count = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        count += !met[names[row]];
        met[names[row]] = 1;
    }
    gt_free(met);
    return count;
}

/* Whether sweep.json says that the run did not end well. */
static bool is_left_out(const gt_sweep_record *record, int64_t threads, int64_t channels)
{
    char place[96];
    gt_arena arena = {0};
    snprintf(place, sizeof place, "%" PRId64 "thread/nccl_%" PRId64 "channels", threads, channels);
    const char *status = gt_value_copy(&arena, gt_value_get(gt_sweep_record_point(record, place), "status"));
    bool failed = gt_run_has_failed(gt_run_status_named(status));
    gt_arena_free(&arena);
    return failed;
}

/* All combinations of threads, channels and ranks, like the script. */
static void add_combinations(job *j, const gt_top_gemms_options *options, const gt_sweep_record *record)
{
    for (size_t t = 0; t < options->threads.count; t++)
        for (size_t c = 0; c < options->channels.count; c++) {
            int64_t threads = options->threads.items[t], channels = options->channels.items[c];
            if (is_left_out(record, threads, channels)) continue;
            for (size_t r = 0; r < options->ranks.count; r++) {
                task one = {.threads = threads, .channels = channels, .rank = options->ranks.items[r]};
                one.path = gt_format("%s/%" PRId64 "thread/individual_reports/perf_%" PRId64 "ch_rank%" PRId64
                                     ".xlsx",
                                     j->analysis, threads, channels, one.rank);
                GT_PUSH(j->tasks, j->count, j->capacity, one);
            }
        }
}

static bool is_listed(const gt_number_list *list, int64_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == number) return true;
    return !list->count;
}

/* Whether the run has one of the values of the axis; a run without the axis has none. */
static bool has_listed(const gt_sweep *sweep, const gt_sweep_config *config, const char *name,
                       const gt_number_list *list)
{
    size_t axis = gt_sweep_axis_named(sweep, name);
    const char *value = axis == SIZE_MAX ? NULL : config->values[axis].value;
    return !list->count || (value && is_listed(list, strtoll(value, NULL, 10)));
}

/* The reports that there are. */
static void add_reports(job *j, const gt_setting_reports *reports, const gt_top_gemms_options *options)
{
    j->sweep = &reports->sweep;
    for (size_t i = 0; i < reports->count; i++) {
        const gt_setting_report *report = &reports->items[i];
        if (!is_listed(&options->ranks, report->rank) ||
            !has_listed(j->sweep, report->config, "threads", &options->threads) ||
            !has_listed(j->sweep, report->config, "channels", &options->channels))
            continue;
        task one = {.config = report->config, .rank = report->rank, .path = gt_strdup(report->path)};
        GT_PUSH(j->tasks, j->count, j->capacity, one);
    }
}

static void free_tasks(job *j)
{
    for (size_t i = 0; i < j->count; i++) {
        gt_table_free(j->tasks[i].table);
        gt_free_all(j->tasks[i].difference, j->tasks[i].path);
    }
    gt_free(j->tasks);
}

gt_top_gemms gt_top_gemms_find(const char *analysis, gt_top_gemms_options *options, gt_interner *strings)
{
    job j = {.analysis = analysis, .top = options->top, .strings = strings};
    gt_setting_reports reports;
    gt_error ignored;
    const gt_reports_wanted wanted = {.root = options->root,
                                      .analysis = analysis,
                                      .kind = GT_REPORTS_OF_RANKS,
                                      .include_failed = options->include_failed};
    bool is_found = gt_setting_reports_find(&reports, &wanted, &ignored);
    if (is_found && (!reports.sweep.is_classic || reports.sweep.failed)) {
        add_reports(&j, &reports, options);
    } else {
        complete_lists(analysis, options);
        add_combinations(&j, options, reports.sweep.record);
    }
    gt_many_run(&(gt_many){.count = j.count, .work = read_report, .finish = keep_report, .context = &j});
    gt_top_gemms found = {.table = join_tables(&j), .files = j.files, .rank_column = axis_columns(&j)};
    place_longest(found.table, found.rank_column);
    add_status(&j, found.table);
    sort_rows(&found, &j);
    if (found.table->row_count) {
        found.mean = gt_mean(found.difference, found.table->row_count);
        found.unique_kernels = count_kernels(found.table);
    }
    free_tasks(&j);
    gt_setting_reports_free(&reports);
    return found;
}

void gt_top_gemms_free(gt_top_gemms *found)
{
    gt_table_free(found->table);
    gt_free(found->difference);
    *found = (gt_top_gemms){0};
}
