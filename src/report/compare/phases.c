/* How the steps of two servers differ, phase by phase.
 *
 * Steps of a server differ by their work, so that the mean of all says more about the requests than about the
 * server. Only like steps are compared: those of one cell,
 *
 *     phase
 *     batch      rows of the replayed graph (padded) if both reports know them for most steps of the phase;
 *                else requests that generate, or of steps that generate nothing the bits of context_tokens
 *     context    the bits of sk_sum
 *
 * Of a cell the medians t are compared, and it counts as often as the report with fewer such steps has it, m:
 *
 *     change = sum(m tB) / sum(m tA) - 1
 *
 * The time is that from one step to the next (interval); of phases that may have waited for requests, that of
 * their GPU work (span). The sheet phase_changes has a row per variant and phase, that of the main phase
 * first:
 *
 *     report, phase, time                  time: "interval" or "span"
 *     a_steps, b_steps                     steps with GPU work
 *     a_alike, b_alike                     those of cells that both have
 *     a_ms, b_ms, delta_ms, pct            means over the cells; empty: `note` says why */
#include "report/compare/compare.h"

#include "analysis/serving/step_list.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps of one report ---- */

typedef struct like_step {
    gt_serving_phase phase;
    int64_t batch, context; /* of its cell */
    double time_us;
    double padded, requests, context_tokens; /* NaN: unknown */
} like_step;

typedef struct server_steps {
    like_step *items; /* by cell */
    size_t count;
    double phase_us[GT_SERVING_PHASES]; /* the time of all steps */
} server_steps;

/* The sheet of the report, which may be of another version; NULL: a column that it does not have. */
typedef struct step_columns {
    const gt_interner *strings;
    const gt_column *phase, *kind, *span, *interval, *padded, *requests, *context_tokens, *sk_sum;
} step_columns;

static const gt_column *find_column(const gt_table *sheet, gt_col name, bool is_text)
{
    size_t at = gt_table_find(sheet, name);
    const gt_column *column = at == SIZE_MAX ? NULL : &sheet->columns[at];
    return column && (column->type == GT_TYPE_STRING) == is_text ? column : NULL;
}

/* NaN: unknown, or no number that a server has. */
static double number_at(const gt_column *column, size_t row)
{
    double number = column ? gt_column_number(column, row) : (double)NAN;
    return fabs(number) < 0x1p53 ? number : (double)NAN;
}

static const char *text_at(const step_columns *from, const gt_column *column, size_t row)
{
    bool is_known = column && !gt_column_is_null(column, row);
    return is_known ? gt_interner_get(from->strings, column->texts[row]).bytes : "";
}

static gt_serving_phase phase_of(const char *name)
{
    gt_serving_phase phase = 0;
    while (phase < GT_SERVING_PHASES && strcmp(gt_serving_phase_name(phase), name) != 0) phase++;
    return phase;
}

/* Without requests, these do not begin. */
static bool may_wait(gt_serving_phase phase)
{
    return phase == GT_SERVING_PREFILL || phase == GT_SERVING_DIFFUSION || phase == GT_SERVING_IDLE;
}

static int64_t bits_of(double number)
{
    return isnan(number) ? GT_STEP_UNKNOWN : number < 1 ? 0 : ilogb(number) + 1;
}

static void add_step(server_steps *steps, const step_columns *from, size_t row)
{
    like_step step = {.phase = phase_of(text_at(from, from->phase, row)),
                      .context = bits_of(number_at(from->sk_sum, row)),
                      .time_us = number_at(from->span, row),
                      .padded = number_at(from->padded, row),
                      .requests = number_at(from->requests, row),
                      .context_tokens = number_at(from->context_tokens, row)};
    if (step.phase == GT_SERVING_PHASES || !(step.time_us > 0)) return;
    double interval_us = number_at(from->interval, row);
    steps->phase_us[step.phase] += interval_us > 0 ? interval_us : step.time_us;
    if (!may_wait(step.phase) && interval_us > 0) step.time_us = interval_us;
    steps->items[steps->count++] = step;
}

static server_steps steps_of_sheet(const gt_table *sheet)
{
    const step_columns from = {.strings = sheet->strings,
                               .phase = find_column(sheet, GT_COL_PHASE, true),
                               .kind = find_column(sheet, GT_COL_KIND, true),
                               .span = find_column(sheet, GT_COL_GPU_SPAN_US, false),
                               .interval = find_column(sheet, GT_COL_INTERVAL_US, false),
                               .padded = find_column(sheet, GT_COL_PADDED, false),
                               .requests = find_column(sheet, GT_COL_GENERATION_REQUESTS, false),
                               .context_tokens = find_column(sheet, GT_COL_CONTEXT_TOKENS, false),
                               .sk_sum = find_column(sheet, GT_COL_SK_SUM, false)};
    server_steps steps = {.items = gt_alloc_zero(sheet->row_count, sizeof *steps.items)};
    const char *of_profiler = gt_step_kind_name(GT_STEP_PROFILER);
    bool serves = false;
    for (size_t row = 0; row < sheet->row_count; row++) {
        serves = serves || strcmp(text_at(&from, from.kind, row), of_profiler) != 0;
        add_step(&steps, &from, row);
    }
    if (!serves) steps.count = 0;
    return steps;
}

/* None if the report is not of a server: its steps, if any, are those of the profiler. */
static server_steps steps_of(const gt_compare_report *report, gt_interner *strings)
{
    gt_error ignored;
    server_steps steps = {0};
    if (!gt_perf_sheets_has(report->sheets, GT_SHEET_SERVING_STEPS)) return steps;
    gt_table *sheet = gt_perf_sheets_read(report->sheets, GT_SHEET_SERVING_STEPS, strings, &ignored);
    if (sheet) steps = steps_of_sheet(sheet);
    gt_table_free(sheet);
    return steps;
}

/* ---- cells ---- */

static bool are_padded(const server_steps *steps, gt_serving_phase phase)
{
    size_t count = 0, padded = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->items[i].phase != phase) continue;
        count++;
        padded += steps->items[i].padded > 0;
    }
    return 2 * padded > count;
}

static int64_t batch_of(const like_step *step, bool by_padded)
{
    if (by_padded && step->padded > 0) return (int64_t)step->padded;
    if (!gt_phase_generates(step->phase)) return bits_of(step->context_tokens);
    return isnan(step->requests) ? GT_STEP_UNKNOWN : (int64_t)step->requests;
}

static int by_cell(const void *left, const void *right)
{
    const like_step *a = left, *b = right;
    if (a->phase != b->phase) return a->phase < b->phase ? -1 : 1;
    if (a->batch != b->batch) return a->batch < b->batch ? -1 : 1;
    return a->context != b->context ? (a->context < b->context ? -1 : 1) : 0;
}

static void put_into_cells(server_steps *a, server_steps *b)
{
    server_steps *sides[] = {a, b};
    bool by_padded[GT_SERVING_PHASES];
    for (gt_serving_phase phase = 0; phase < GT_SERVING_PHASES; phase++)
        by_padded[phase] = are_padded(a, phase) && are_padded(b, phase);
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < sides[side]->count; i++) {
            like_step *step = &sides[side]->items[i];
            step->batch = batch_of(step, by_padded[step->phase]);
        }
        if (sides[side]->count) qsort(sides[side]->items, sides[side]->count, sizeof(like_step), by_cell);
    }
}

static size_t cell_end(const server_steps *steps, size_t begin)
{
    size_t end = begin + 1;
    while (end < steps->count && by_cell(&steps->items[begin], &steps->items[end]) == 0) end++;
    return end;
}

static double median_of(const server_steps *steps, size_t begin, size_t end, double *times)
{
    for (size_t i = begin; i < end; i++) times[i - begin] = steps->items[i].time_us;
    return gt_median(times, end - begin);
}

/* ---- changes ---- */

typedef struct phase_change {
    size_t steps[2], alike[2], compared; /* compared: the sum of m */
    double sum_us[2];
} phase_change;

static void count_steps(phase_change *changes, const server_steps *steps, size_t side)
{
    for (size_t i = 0; i < steps->count; i++) changes[steps->items[i].phase].steps[side]++;
}

static void compare_cells(phase_change *changes, const server_steps *a, const server_steps *b)
{
    double *times = gt_alloc_zero(a->count + b->count, sizeof *times);
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        int order = by_cell(&a->items[i], &b->items[k]);
        size_t a_end = order <= 0 ? cell_end(a, i) : i, b_end = order >= 0 ? cell_end(b, k) : k;
        if (order == 0) {
            phase_change *change = &changes[a->items[i].phase];
            size_t m = a_end - i < b_end - k ? a_end - i : b_end - k;
            change->alike[0] += a_end - i, change->alike[1] += b_end - k;
            change->compared += m;
            change->sum_us[0] += (double)m * median_of(a, i, a_end, times);
            change->sum_us[1] += (double)m * median_of(b, k, b_end, times);
        }
        i = a_end, k = b_end;
    }
    gt_free(times);
}

/* Why the change is not known, which the caller frees; NULL: it is. */
static char *obstacle(const phase_change *change, gt_serving_phase phase, const char *const tags[2])
{
    const char *name = gt_serving_phase_name(phase);
    for (size_t side = 0; side < 2; side++)
        if (!change->steps[side]) return gt_format("%s has no %s steps", tags[side], name);
    for (size_t side = 0; side < 2; side++)
        if (2 * change->alike[side] < change->steps[side])
            return gt_format("too few steps are alike: %zu of %zu %s steps of %s have the batch size and the "
                             "context length of one of %s",
                             change->alike[side], change->steps[side], name, tags[side], tags[!side]);
    return NULL;
}

/* ---- the sheet ---- */

enum { REPORT, PHASE, TIME, A_STEPS, B_STEPS, A_ALIKE, B_ALIKE, A_MS, B_MS, DELTA_MS, PCT, NOTE };

static const gt_column_head columns[] = {
    {GT_COL_REPORT, GT_TYPE_STRING},  {GT_COL_PHASE, GT_TYPE_STRING}, {GT_COL_TIME_KIND, GT_TYPE_STRING},
    {GT_COL_A_STEPS, GT_TYPE_INT},    {GT_COL_B_STEPS, GT_TYPE_INT},  {GT_COL_A_ALIKE, GT_TYPE_INT},
    {GT_COL_B_ALIKE, GT_TYPE_INT},    {GT_COL_A_MS, GT_TYPE_FLOAT},   {GT_COL_B_MS, GT_TYPE_FLOAT},
    {GT_COL_DELTA_MS, GT_TYPE_FLOAT}, {GT_COL_PCT, GT_TYPE_FLOAT},    {GT_COL_NOTE, GT_TYPE_STRING}};

gt_table *gt_phase_changes_new(gt_interner *strings)
{
    gt_table *sheet = gt_table_new(GT_SHEET_PHASE_CHANGES, strings);
    gt_table_add_columns(sheet, columns, GT_LENGTH(columns));
    return sheet;
}

static void add_row(gt_table *sheet, gt_serving_phase phase, const phase_change *change,
                    const char *const tags[2])
{
    if (!change->steps[0] && !change->steps[1]) return;
    size_t row = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, REPORT, row, tags[1]);
    gt_table_set_cstr(sheet, PHASE, row, gt_serving_phase_name(phase));
    gt_table_set_cstr(sheet, TIME, row, may_wait(phase) ? "span" : "interval");
    gt_table_set_int(sheet, A_STEPS, row, (int64_t)change->steps[0]);
    gt_table_set_int(sheet, B_STEPS, row, (int64_t)change->steps[1]);
    gt_table_set_int(sheet, A_ALIKE, row, (int64_t)change->alike[0]);
    gt_table_set_int(sheet, B_ALIKE, row, (int64_t)change->alike[1]);
    char *note = obstacle(change, phase, tags);
    if (!note) {
        double a_ms = change->sum_us[0] / (double)change->compared / 1e3;
        double b_ms = change->sum_us[1] / (double)change->compared / 1e3;
        gt_table_set_float(sheet, A_MS, row, a_ms);
        gt_table_set_float(sheet, B_MS, row, b_ms);
        gt_table_set_float(sheet, DELTA_MS, row, b_ms - a_ms);
        gt_table_set_float(sheet, PCT, row, 100 * (b_ms - a_ms) / a_ms);
    }
    gt_table_set_cstr(sheet, NOTE, row, note ? note : "");
    gt_free(note);
}

/* Decode or verify, or else the phase with the most time. */
static gt_serving_phase main_phase(const server_steps *steps)
{
    gt_serving_phase best = GT_SERVING_PREFILL;
    for (gt_serving_phase phase = 1; phase < GT_SERVING_PHASES; phase++) {
        bool generates = gt_phase_generates(phase) && steps->phase_us[phase] > 0;
        bool best_generates = gt_phase_generates(best);
        if (generates == best_generates ? steps->phase_us[phase] > steps->phase_us[best] : generates)
            best = phase;
    }
    return best;
}

bool gt_compare_serves(const gt_compare_report *report)
{
    gt_interner *strings = gt_interner_new();
    server_steps steps = steps_of(report, strings);
    gt_interner_free(strings);
    gt_free(steps.items);
    return steps.count > 0;
}

void gt_phase_changes_add(gt_table *sheet, const gt_compare_report *base, const gt_compare_report *variant)
{
    server_steps a = steps_of(base, sheet->strings), b = steps_of(variant, sheet->strings);
    if (a.count && b.count) {
        phase_change changes[GT_SERVING_PHASES] = {0};
        const char *const tags[] = {base->tag, variant->tag};
        gt_serving_phase first = main_phase(&a);
        put_into_cells(&a, &b);
        count_steps(changes, &a, 0);
        count_steps(changes, &b, 1);
        compare_cells(changes, &a, &b);
        add_row(sheet, first, &changes[first], tags);
        for (gt_serving_phase phase = 0; phase < GT_SERVING_PHASES; phase++)
            if (phase != first) add_row(sheet, phase, &changes[phase], tags);
    }
    gt_free(a.items);
    gt_free(b.items);
}
