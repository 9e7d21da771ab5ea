/* How the steps of two servers differ, phase by phase.
 *
 * Steps of a server differ by their work, so that the mean of all says more about the requests than about the
 * server. Only like steps are compared: those of one cell, with the same
 *
 *     phase
 *     step before   whether it generated tokens: after a prefill the host has more to do
 *     batch         rows of the replayed graph, or else the tokens or the requests of generation
 *     requests      that generate, in mixed and verify steps
 *     prompt        context_tokens, in four buckets for each factor of two
 *     context       the bits of sk_sum
 *
 * Numbers that are not known of most steps of the phase in both reports count as unknown in both. A cell
 * counts as often as the report with fewer such steps has it, m, with the mean t of its steps:
 *
 *     change = sum(m tB) / sum(m tA) - 1
 *
 * The time is that from one step to the next (interval); of phases that may have waited for requests, that of
 * their GPU work (span). The sheet phase_changes has a row per variant and phase, that of the main phase
 * first:
 *
 *     report, phase, time                  time: "interval" or "span"
 *     a_steps, b_steps                     steps with such a time
 *     a_alike, b_alike                     those of cells that both have
 *     a_ms, b_ms, delta_ms, pct            means over the cells; empty: `note` says why */
#include "report/compare/compare.h"

#include "schema/columns.h"

/* ---- steps of one report ---- */

enum { PADDED, TOKENS, REQUESTS, PROMPT, CONTEXT, NUMBERS };
static const gt_col number_columns[NUMBERS] = {GT_COL_PADDED, GT_COL_GENERATION_TOKENS,
                                               GT_COL_GENERATION_REQUESTS, GT_COL_CONTEXT_TOKENS,
                                               GT_COL_SK_SUM};

enum { CELL_PHASE, CELL_AFTER, CELL_BATCH, CELL_REQUESTS, CELL_PROMPT, CELL_CONTEXT, CELL_PARTS };

typedef struct like_step {
    gt_serving_phase phase;
    double start_us, time_us;
    double numbers[NUMBERS]; /* NaN: unknown */
    bool is_inferred;
    int64_t cell[CELL_PARTS];
} like_step;

typedef struct server_steps {
    like_step *items; /* by cell */
    size_t count;
    double phase_us[GT_SERVING_PHASES]; /* the time of all steps */
    bool is_damaged;                    /* the sheet has no numbers where it should */
} server_steps;

/* The sheet of the report, which may be of another version; NULL: a column that it does not have. */
typedef struct step_columns {
    const gt_interner *strings;
    const gt_column *phase, *kind, *source, *start, *span, *interval, *numbers[NUMBERS];
    bool is_damaged;
} step_columns;

static bool has_values(const gt_column *column, size_t rows)
{
    size_t row = 0;
    while (row < rows && gt_column_is_null(column, row)) row++;
    return row < rows;
}

static const gt_column *find_column(const gt_table *sheet, gt_col name, bool is_text, step_columns *from)
{
    size_t at = gt_table_find(sheet, name);
    const gt_column *column = at == SIZE_MAX ? NULL : &sheet->columns[at];
    if (column && (column->type == GT_TYPE_STRING) == is_text) return column;
    if (column && has_values(column, sheet->row_count)) from->is_damaged = true;
    return NULL;
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

/* Without requests, these do not begin. */
static bool may_wait(gt_serving_phase phase)
{
    return phase == GT_SERVING_PREFILL || phase == GT_SERVING_DIFFUSION || phase == GT_SERVING_IDLE;
}

/* The first step of a trace has no interval. */
static void add_step(server_steps *steps, const step_columns *from, size_t row)
{
    double span_us = number_at(from->span, row), interval_us = number_at(from->interval, row);
    like_step step = {.phase = gt_serving_phase_named(text_at(from, from->phase, row)),
                      .start_us = number_at(from->start, row),
                      .is_inferred = strcmp(text_at(from, from->source, row), "inferred") == 0};
    if (step.phase == GT_SERVING_PHASES || !(span_us > 0) || isnan(step.start_us)) return;
    step.time_us = may_wait(step.phase) ? span_us : interval_us;
    for (size_t i = 0; i < NUMBERS; i++) step.numbers[i] = number_at(from->numbers[i], row);
    steps->phase_us[step.phase] += interval_us > 0 ? interval_us : span_us;
    steps->items[steps->count++] = step;
}

GT_ORDER_BY(by_start, like_step, GT_UP(start_us))

/* Notes what each step follows, and drops steps without a time. */
static void look_back(server_steps *steps)
{
    size_t kept = 0;
    int64_t after = 0;
    if (steps->count) qsort(steps->items, steps->count, sizeof *steps->items, by_start);
    for (size_t i = 0; i < steps->count; i++) {
        like_step step = steps->items[i];
        step.cell[CELL_AFTER] = may_wait(step.phase) ? 0 : after;
        after = gt_phase_generates(step.phase);
        if (step.time_us > 0) steps->items[kept++] = step;
    }
    steps->count = kept;
}

static server_steps steps_of_sheet(const gt_table *sheet)
{
    step_columns from = {.strings = sheet->strings};
    from.phase = find_column(sheet, GT_COL_PHASE, true, &from);
    from.kind = find_column(sheet, GT_COL_KIND, true, &from);
    from.source = find_column(sheet, GT_COL_SOURCE, true, &from);
    from.start = find_column(sheet, GT_COL_GPU_START_US, false, &from);
    from.span = find_column(sheet, GT_COL_GPU_SPAN_US, false, &from);
    from.interval = find_column(sheet, GT_COL_INTERVAL_US, false, &from);
    for (size_t i = 0; i < NUMBERS; i++)
        from.numbers[i] = find_column(sheet, number_columns[i], false, &from);
    server_steps steps = {.items = gt_alloc_zero(sheet->row_count, sizeof *steps.items),
                          .is_damaged = from.is_damaged};
    const char *of_profiler = gt_step_kind_name(GT_STEP_PROFILER);
    bool serves = false;
    for (size_t row = 0; row < sheet->row_count; row++) {
        serves = serves || strcmp(text_at(&from, from.kind, row), of_profiler) != 0;
        add_step(&steps, &from, row);
    }
    if (!serves || steps.is_damaged) steps.count = 0;
    look_back(&steps);
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

static bool is_known(const server_steps *steps, gt_serving_phase phase, size_t number)
{
    size_t count = 0, known = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->items[i].phase != phase) continue;
        count++;
        known += isnan(steps->items[i].numbers[number]) ? 0 : 1;
    }
    return 2 * known > count;
}

/* 4 more for a factor of two; 0: none. */
static int64_t bucket_of(double number, double per_octave)
{
    return number >= 1 ? (int64_t)floor(per_octave * log2(number)) + 1 : 0;
}

static void set_cell(like_step *step, const bool known[NUMBERS])
{
    const double *n = step->numbers;
    const int64_t unknown = GT_STEP_UNKNOWN;
    bool has[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++) has[i] = known[i] && !isnan(n[i]);
    bool by_requests = step->phase == GT_SERVING_MIXED || step->phase == GT_SERVING_VERIFY;
    step->cell[CELL_PHASE] = step->phase;
    step->cell[CELL_BATCH] = has[PADDED]     ? (int64_t)n[PADDED]
                             : has[TOKENS]   ? (int64_t)n[TOKENS]
                             : has[REQUESTS] ? (int64_t)n[REQUESTS]
                                             : unknown;
    step->cell[CELL_REQUESTS] = by_requests && has[REQUESTS] ? (int64_t)n[REQUESTS] : unknown;
    step->cell[CELL_PROMPT] = has[PROMPT] ? bucket_of(n[PROMPT], 4) : unknown;
    step->cell[CELL_CONTEXT] = has[CONTEXT] ? bucket_of(n[CONTEXT], 1) : unknown;
}

static int by_cell(const void *left, const void *right)
{
    const like_step *a = left, *b = right;
    for (size_t i = 0; i < CELL_PARTS; i++)
        if (a->cell[i] != b->cell[i]) return a->cell[i] < b->cell[i] ? -1 : 1;
    return 0;
}

static int by_cell_and_time(const void *left, const void *right)
{
    const like_step *a = left, *b = right;
    int order = by_cell(a, b);
    return order ? order : a->time_us < b->time_us ? -1 : a->time_us > b->time_us;
}

static bool is_annotated(const server_steps *steps, gt_serving_phase phase)
{
    for (size_t i = 0; i < steps->count; i++)
        if (steps->items[i].phase == phase && !steps->items[i].is_inferred) return true;
    return false;
}

/* What is known of the steps of the phases in both reports. */
typedef struct known_numbers {
    bool of[GT_SERVING_PHASES][NUMBERS];
    bool is_annotated[GT_SERVING_PHASES];
} known_numbers;

static known_numbers put_into_cells(server_steps *a, server_steps *b)
{
    server_steps *const sides[] = {a, b};
    known_numbers known;
    for (gt_serving_phase phase = 0; phase < GT_SERVING_PHASES; phase++) {
        known.is_annotated[phase] = is_annotated(a, phase) || is_annotated(b, phase);
        for (size_t i = 0; i < NUMBERS; i++)
            known.of[phase][i] = is_known(a, phase, i) && is_known(b, phase, i);
    }
    for (size_t side = 0; side < 2; side++) {
        server_steps *steps = sides[side];
        for (size_t i = 0; i < steps->count; i++) set_cell(&steps->items[i], known.of[steps->items[i].phase]);
        if (steps->count) qsort(steps->items, steps->count, sizeof *steps->items, by_cell_and_time);
    }
    return known;
}

/* The steps [begin, end) of a cell, the fastest first. */
typedef struct cell {
    const like_step *steps;
    size_t count;
    double sum_us;
} cell;

static cell cell_at(const server_steps *steps, size_t begin)
{
    cell c = {.steps = &steps->items[begin]};
    while (begin + c.count < steps->count && by_cell(c.steps, &c.steps[c.count]) == 0)
        c.sum_us += c.steps[c.count++].time_us;
    return c;
}

/* ---- changes ---- */

/* The step whose time adds most to the mean of its phase. */
typedef struct odd_step {
    double adds_us, time_us, usual_us;
} odd_step;

typedef struct phase_change {
    size_t steps[2], alike[2], compared; /* compared: the sum of m */
    double all_us[2], alike_us[2];       /* the time of these steps */
    double sum_us[2];                    /* of m t */
    odd_step odd[2];
} phase_change;

static void count_steps(phase_change *changes, const server_steps *steps, size_t side)
{
    for (size_t i = 0; i < steps->count; i++) {
        phase_change *change = &changes[steps->items[i].phase];
        change->steps[side]++;
        change->all_us[side] += steps->items[i].time_us;
    }
}

static void add_cell(phase_change *change, const cell *c, size_t side, size_t m)
{
    double weight = (double)m / (double)c->count, usual_us = c->steps[c->count / 2].time_us;
    double longest_us = c->steps[c->count - 1].time_us, adds_us = weight * (longest_us - usual_us);
    change->alike[side] += c->count;
    change->alike_us[side] += c->sum_us;
    change->sum_us[side] += weight * c->sum_us;
    if (adds_us > change->odd[side].adds_us) change->odd[side] = (odd_step){adds_us, longest_us, usual_us};
}

static void compare_cells(phase_change *changes, const server_steps *a, const server_steps *b)
{
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        int order = by_cell(&a->items[i], &b->items[k]);
        cell of_a = cell_at(a, i), of_b = cell_at(b, k);
        if (order == 0) {
            phase_change *change = &changes[a->items[i].phase];
            size_t m = of_a.count < of_b.count ? of_a.count : of_b.count;
            change->compared += m;
            add_cell(change, &of_a, 0, m);
            add_cell(change, &of_b, 1, m);
        }
        if (order <= 0) i += of_a.count;
        if (order >= 0) k += of_b.count;
    }
}

/* Whether it is known how much work the steps of a phase are. What loops without annotations do over and over
 * is taken to be alike. */
static bool is_sized(gt_serving_phase phase, const known_numbers *all)
{
    const bool *known = all->of[phase];
    if (!all->is_annotated[phase]) return true;
    switch (phase) {
    case GT_SERVING_PREFILL:
    case GT_SERVING_MIXED:
        return known[PROMPT];
    case GT_SERVING_DIFFUSION:
        return false;
    case GT_SERVING_STEP:
    case GT_SERVING_IDLE:
        return true;
    default:
        return known[PADDED] || known[TOKENS] || known[REQUESTS];
    }
}

/* Why the change is not known, which the caller frees; NULL: it is. */
static char *obstacle(const phase_change *change, gt_serving_phase phase, bool is_sized,
                      const char *const tags[2])
{
    enum { FEWEST = 3 };
    const char *name = gt_serving_phase_name(phase);
    for (size_t side = 0; side < 2; side++)
        if (!change->steps[side]) return gt_format("%s has no %s steps to compare", tags[side], name);
    if (!is_sized) return gt_format("the traces do not say how much work their %s steps are", name);
    for (size_t side = 0; side < 2; side++) {
        if (2 * change->alike[side] < change->steps[side])
            return gt_format("too few steps are alike: %zu of %zu %s steps of %s have the batch size and the "
                             "context length of one of %s",
                             change->alike[side], change->steps[side], name, tags[side], tags[!side]);
        if (2 * change->alike_us[side] < change->all_us[side])
            return gt_format("the %s steps of %s that are like steps of %s are only %.0f %% of their time",
                             name, tags[side], tags[!side],
                             100 * change->alike_us[side] / change->all_us[side]);
    }
    if (change->compared < FEWEST)
        return gt_format("too few steps are alike: %zu %s step%s, but it takes %d", change->compared, name,
                         change->compared == 1 ? "" : "s", FEWEST);
    return NULL;
}

/* That a single step makes the difference, which the caller frees; NULL: none does. */
static char *find_odd_step(const phase_change *change, const char *const tags[2])
{
    static const double most_left = 0.25, least_difference = 0.01;
    double delta_us = change->sum_us[1] - change->sum_us[0];
    size_t side = delta_us > 0;
    double left_us = fabs(delta_us) - change->odd[side].adds_us;
    if (fabs(delta_us) < least_difference * change->sum_us[0] || left_us > most_left * fabs(delta_us))
        return NULL;
    return gt_format("one step makes the difference: it takes %.3f ms in %s, where like steps take %.3f ms",
                     change->odd[side].time_us / 1e3, tags[side], change->odd[side].usual_us / 1e3);
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

static void add_row(gt_table *sheet, gt_serving_phase phase, const phase_change *change, bool is_sized,
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
    char *note = obstacle(change, phase, is_sized, tags);
    if (!note) {
        double a_ms = change->sum_us[0] / (double)change->compared / 1e3;
        double b_ms = change->sum_us[1] / (double)change->compared / 1e3;
        gt_table_set_float(sheet, A_MS, row, a_ms);
        gt_table_set_float(sheet, B_MS, row, b_ms);
        gt_table_set_float(sheet, DELTA_MS, row, b_ms - a_ms);
        gt_table_set_float(sheet, PCT, row, 100 * (b_ms - a_ms) / a_ms);
        note = find_odd_step(change, tags);
    }
    gt_table_set_cstr(sheet, NOTE, row, note ? note : "");
    gt_free(note);
}

gt_served gt_compare_find_served(const gt_compare_report *report)
{
    gt_interner *strings = gt_interner_new();
    server_steps steps = steps_of(report, strings);
    bool has_phases = false;
    for (gt_serving_phase phase = 0; phase < GT_SERVING_PHASES && !steps.count && !has_phases; phase++) {
        char *name = gt_format("steps_%s", gt_serving_phase_name(phase));
        char *fact = gt_compare_fact(report, name);
        has_phases = fact != NULL;
        gt_free_all(name, fact);
    }
    gt_interner_free(strings);
    gt_free(steps.items);
    if (steps.count) return GT_SERVED;
    return steps.is_damaged ? GT_SERVED_DAMAGED : has_phases ? GT_SERVED_UNKNOWN : GT_NOT_SERVED;
}

void gt_phase_changes_add(gt_table *sheet, const gt_compare_report *base, const gt_compare_report *variant)
{
    if (base->served != GT_SERVED || variant->served != GT_SERVED) return;
    server_steps a = steps_of(base, sheet->strings), b = steps_of(variant, sheet->strings);
    phase_change changes[GT_SERVING_PHASES] = {0};
    const char *const tags[] = {base->tag, variant->tag};
    gt_serving_phase first = gt_serving_main_phase(a.phase_us);
    known_numbers known = put_into_cells(&a, &b);
    count_steps(changes, &a, 0);
    count_steps(changes, &b, 1);
    compare_cells(changes, &a, &b);
    add_row(sheet, first, &changes[first], is_sized(first, &known), tags);
    for (gt_serving_phase phase = 0; phase < GT_SERVING_PHASES; phase++)
        if (phase != first) add_row(sheet, phase, &changes[phase], is_sized(phase, &known), tags);
    gt_free_all(a.items, b.items);
}
