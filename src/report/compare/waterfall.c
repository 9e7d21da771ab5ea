/* The waterfall of a comparison: its sheets, the conditions of --fail_if on it, and its bars on the terminal.
 */
#include "report/compare/compare.h"

#include "schema/columns.h"
#include "table/stats.h"

/* ---- which reports can be compared ----
 *
 * Two traces by op and kernel; if one of them is a report, both by their sheet balance. Both must be of the
 * same profiler, and both of steps or both of whole traces: anything else would compare what has nothing in
 * common. */

static gt_table *read_sheet(const gt_compare_report *report, gt_sheet name, gt_interner *strings)
{
    gt_error ignored;
    return gt_perf_sheets_has(report->sheets, name)
               ? gt_perf_sheets_read(report->sheets, name, strings, &ignored)
               : NULL;
}

/* NULL if the report does not have what is needed. */
static gt_step_parts *parts_of_sheets(const gt_compare_report *report, gt_interner *strings)
{
    gt_table *balance = read_sheet(report, GT_SHEET_BALANCE, strings);
    gt_table *overview = read_sheet(report, GT_SHEET_OVERVIEW, strings);
    gt_step_parts *parts = balance && overview ? gt_step_parts_of_balance(balance, overview) : NULL;
    gt_table_free(balance);
    gt_table_free(overview);
    return parts;
}

typedef struct sides {
    const gt_step_parts *base, *variant; /* NULL: this one cannot be compared */
    gt_step_parts *own[2];               /* made for this pair */
} sides;

static sides sides_of(const gt_compare_report *base, const gt_compare_report *variant, gt_interner *strings)
{
    sides s = {base->parts, variant->parts, {NULL, NULL}};
    if (base->is_trace && variant->is_trace) return s;
    s.base = s.own[0] = parts_of_sheets(base, strings);
    s.variant = s.own[1] = parts_of_sheets(variant, strings);
    return s;
}

static const char *origin_name(const gt_compare_report *report)
{
    static const char *const names[] = {[GT_BY_PYTORCH] = "PyTorch",
                                        [GT_BY_ROCPROF] = "rocprofv3",
                                        [GT_BY_JAX] = "JAX",
                                        [GT_BY_NSYS] = "Nsight Systems"};
    return names[report->origin];
}

/* Why there is no waterfall; NULL if there is one. */
static char *obstacle(const sides *s, const gt_compare_report *base, const gt_compare_report *variant)
{
    const gt_compare_report *without = s->base ? variant : base;
    if ((!s->base || !s->variant) && without->is_trace) return gt_format("%s has no GPU ops", without->path);
    if (!s->base || !s->variant)
        return gt_format("%s has no sheets balance and overview that add up, which `gputally report` writes; "
                         "give the traces instead",
                         without->path);
    if (base->origin != variant->origin)
        return gt_format("%s is of %s and %s of %s, which record different things", base->path,
                         origin_name(base), variant->path, origin_name(variant));
    if (s->base->has_steps == s->variant->has_steps) return NULL;
    return gt_format("the time of %s is per step, but %s has no steps",
                     (s->base->has_steps ? base : variant)->path,
                     (s->base->has_steps ? variant : base)->path);
}

/* ---- conditions ----
 *
 * A condition compares what one contribution, or all of a kind, add to the step time; percentages are of the
 * step time of the baseline. */

#define TOTAL_SUFFIX "_ms"

/* What a total adds up: parts of the step, changed or not, or contributions of a kind. */
typedef struct total {
    const char *name;
    unsigned parts;            /* a set of 1 << gt_part_kind; 0: contributions */
    gt_contribution_kind kind; /* of the contributions */
} total;

enum {
    KERNELS = 1u << GT_PART_KERNEL | 1u << GT_PART_CATEGORY,
    COMMUNICATION = 1u << GT_PART_COMMUNICATION,
    COPIES = 1u << GT_PART_COPY,
    IDLE = 1u << GT_PART_IDLE,
};

static const total totals[] = {
    {"step", KERNELS | COMMUNICATION | COPIES | IDLE, 0},
    {"kernels", KERNELS, 0},
    {"communication", COMMUNICATION, 0},
    {"copies", COPIES, 0},
    {"idle", IDLE, 0},
    {"new", 0, GT_CONTRIBUTION_NEW},
    {"vanished", 0, GT_CONTRIBUTION_VANISHED},
    {"slower", 0, GT_CONTRIBUTION_SLOWER},
    {"faster", 0, GT_CONTRIBUTION_FASTER},
    {"more_calls", 0, GT_CONTRIBUTION_MORE_CALLS},
    {"fewer_calls", 0, GT_CONTRIBUTION_FEWER_CALLS},
    {"overlap", 0, GT_CONTRIBUTION_OVERLAP},
};

static bool is_total(const char *name, const char *part)
{
    size_t len = strlen(part);
    return strncmp(name, part, len) == 0 && strcmp(name + len, TOTAL_SUFFIX) == 0;
}

static const total *find_total(const char *name)
{
    for (size_t i = 0; i < GT_LENGTH(totals); i++)
        if (is_total(name, totals[i].name)) return &totals[i];
    return NULL;
}

/* "idle_data_ms": the cause; GT_CAUSES if it names none. */
static gt_cause find_cause(const char *name)
{
    gt_cause cause = GT_CAUSES;
    if (strncmp(name, "idle_", strlen("idle_")) == 0)
        for (cause = 0; cause < GT_CAUSES && !is_total(name + strlen("idle_"), gt_cause_name(cause));)
            cause++;
    return cause;
}

/* What a condition is about takes in both traces, and what it adds to the step. These differ if a kernel is
 * both slower and called more often: then `delta_ns` is only one of the reasons. */
typedef struct change {
    int64_t a_ns, b_ns, delta_ns;
} change;

static void add_pairs(change *sum, const gt_waterfall *w, unsigned parts, const char *what)
{
    for (size_t i = 0; i < w->pairs.count; i++) {
        const gt_part_pair *pair = &w->pairs.items[i];
        if (!(parts >> pair->kind & 1)) continue;
        if (what && !gt_str_equals(gt_interner_get(w->strings, pair->what), what)) continue;
        sum->a_ns += pair->a_ns, sum->b_ns += pair->b_ns;
        sum->delta_ns += pair->b_ns - pair->a_ns;
    }
}

static void add_contributions(change *sum, const gt_waterfall *w, gt_contribution_kind kind)
{
    for (size_t i = 0; i < w->count; i++) {
        const gt_contribution *item = &w->items[i];
        if (item->kind != kind) continue;
        sum->a_ns += item->a_ns, sum->b_ns += item->b_ns;
        sum->delta_ns += item->delta_ns;
    }
}

static change change_of_total(const gt_waterfall *w, const char *name)
{
    const total *found = find_total(name);
    change sum = {0};
    if (!found)
        add_pairs(&sum, w, IDLE, gt_cause_name(find_cause(name)));
    else if (found->parts)
        add_pairs(&sum, w, found->parts, NULL);
    else
        add_contributions(&sum, w, found->kind);
    return sum;
}

static void check_change(gt_gate *gate, const gt_waterfall *w, const char *report, const char *row,
                         const change *of, gt_table *met)
{
    gt_gate_compare(gate,
                    &(gt_gate_values){.report = report,
                                      .sheet = GT_SHEET_WATERFALL.name,
                                      .row = row,
                                      .column = GT_COL_DELTA_MS.name,
                                      .baseline = (double)of->a_ns / 1e6,
                                      .variant = (double)of->b_ns / 1e6,
                                      .diff = (double)of->delta_ns / 1e6,
                                      .whole = (double)w->a_ns / 1e6},
                    met);
}

/* What did not change is no contribution, so one that does not exist is 0; the name may be mistyped as well.
 */
static void check_missing(gt_gate *gate, const gt_waterfall *w, const char *report, gt_table *met)
{
    if (gate->exact_row || !strpbrk(gate->row, "*?[")) {
        gt_warn("--fail_if '%s': %s has no contribution of this name, which counts as 0%s", gate->condition,
                report, strpbrk(gate->row, "*?[") ? "; names in quotes are no patterns" : "");
        check_change(gate, w, report, gate->row, &(change){0}, met);
        return;
    }
    gt_warn("--fail_if '%s': %s has no contribution that matches", gate->condition, report);
}

static void check_contributions(gt_gate *gate, const gt_waterfall *w, const char *report, gt_table *met)
{
    size_t checked = gate->rows_checked;
    for (size_t i = 0; i < w->count; i++) {
        const gt_contribution *item = &w->items[i];
        char *text = gt_contribution_text(w, item);
        if (gt_gate_matches(gate, text))
            check_change(gate, w, report, text, &(change){item->a_ns, item->b_ns, item->delta_ns}, met);
        gt_free(text);
    }
    if (gate->rows_checked == checked) check_missing(gate, w, report, met);
}

/* ---- conditions on the step time ----
 *
 * Steps of servers are compared phase by phase (phases.c). A trace without steps has no step time: that of
 * its window depends on how long was recorded. */

#define STEP_TOTAL   "step" TOTAL_SUFFIX
#define MEDIAN_TOTAL "median_" STEP_TOTAL

/* "step_ms_decode": "decode"; "step_ms": ""; NULL: another total. */
static const char *phase_of_total(const char *name)
{
    size_t len = strlen(STEP_TOTAL);
    if (strncmp(name, STEP_TOTAL, len) != 0 || (name[len] && name[len] != '_')) return NULL;
    return name[len] ? name + len + 1 : name + len;
}

bool gt_compare_has_total(const char *name)
{
    const char *phase = phase_of_total(name);
    return find_total(name) || find_cause(name) < GT_CAUSES || strcmp(name, MEDIAN_TOTAL) == 0 ||
           (phase && gt_serving_phase_named(phase) < GT_SERVING_PHASES);
}

/* A baseline and a variant. */
typedef struct pair {
    const gt_compare_report *base, *variant;
    const gt_waterfall *waterfall;
    const gt_table *phases; /* its rows of phase_changes are those from ... */
    size_t first_phase;     /* ... to the end; none: not both are of servers */
} pair;

static bool refuse(const gt_gate *gate, gt_error *error, const char *why)
{
    return gt_fail(error, "--fail_if '%.300s': %s", gate->condition, why);
}

static bool check_phase(gt_gate *gate, const pair *p, const char *phase, gt_table *met, gt_error *error)
{
    size_t row = p->first_phase;
    while (*phase && row < p->phases->row_count &&
           strcmp(gt_compare_text(p->phases, GT_COL_PHASE, row), phase) != 0)
        row++;
    if (row == p->phases->row_count)
        return gt_fail(error, "--fail_if '%.300s': neither %s nor %s has %s steps", gate->condition,
                       p->base->path, p->variant->path, phase);
    double a_ms = gt_compare_number(p->phases, GT_COL_A_MS, row);
    if (isnan(a_ms)) return refuse(gate, error, gt_compare_text(p->phases, GT_COL_NOTE, row));
    gt_gate_compare(gate,
                    &(gt_gate_values){.report = p->variant->tag,
                                      .sheet = GT_SHEET_PHASE_CHANGES.name,
                                      .row = gt_compare_text(p->phases, GT_COL_PHASE, row),
                                      .column = GT_COL_DELTA_MS.name,
                                      .baseline = a_ms,
                                      .variant = gt_compare_number(p->phases, GT_COL_B_MS, row),
                                      .diff = gt_compare_number(p->phases, GT_COL_DELTA_MS, row),
                                      .whole = a_ms},
                    met);
    return true;
}

/* Whether the steps of a report, if it is of a server, are known. */
static bool check_served(const gt_gate *gate, const gt_compare_report *report, gt_error *error)
{
    if (report->served == GT_SERVED_UNKNOWN)
        return gt_fail(
            error,
            "--fail_if '%.300s': %s is the report of a server without the sheet serving_steps; compare "
            "the traces",
            gate->condition, report->path);
    return report->served != GT_SERVED_DAMAGED ||
           gt_fail(error, "--fail_if '%.300s': the sheet serving_steps of %s has texts where numbers belong",
                   gate->condition, report->path);
}

static bool check_step_time(gt_gate *gate, const pair *p, const char *phase, gt_table *met, gt_error *error)
{
    bool a_serves = p->base->served != GT_NOT_SERVED, b_serves = p->variant->served != GT_NOT_SERVED;
    if (!check_served(gate, p->base, error) || !check_served(gate, p->variant, error)) return false;
    if (a_serves != b_serves)
        return gt_fail(error, "--fail_if '%.300s': %s has steps of a server, but %s has none",
                       gate->condition, (a_serves ? p->base : p->variant)->path,
                       (a_serves ? p->variant : p->base)->path);
    if (a_serves) return check_phase(gate, p, phase, met, error);
    if (*phase) return refuse(gate, error, "the steps of a training loop have no phases");
    if (!p->waterfall->has_steps[0])
        return gt_fail(
            error,
            "--fail_if '%.300s': %s has no steps, and how long it was recorded is no step time; use "
            "a condition on its kernels, such as kernels_ms",
            gate->condition, p->base->path);
    change of = change_of_total(p->waterfall, gate->row);
    check_change(gate, p->waterfall, p->variant->tag, gate->row, &of, met);
    return true;
}

/* One slow step, such as that of a checkpoint, changes the mean, but not the median. */
static bool check_median(gt_gate *gate, const pair *p, gt_table *met, gt_error *error)
{
    double ms[2];
    for (size_t side = 0; side < 2; side++) {
        const gt_compare_report *report = side ? p->variant : p->base;
        const gt_step_parts *parts = report->parts;
        if (report->served != GT_NOT_SERVED)
            return refuse(gate, error, "of servers use step_ms, which compares like steps");
        if (!parts || !parts->time_count)
            return gt_fail(error,
                           "--fail_if '%.300s': %s has no two steps whose times are known; use step_ms",
                           gate->condition, report->path);
        ms[side] = gt_median(parts->times_ns, parts->time_count) / 1e6;
    }
    gt_gate_compare(gate,
                    &(gt_gate_values){.report = p->variant->tag,
                                      .sheet = GT_SHEET_STEP_TIMES.name,
                                      .row = p->variant->tag,
                                      .column = GT_COL_MEDIAN_MS.name,
                                      .baseline = ms[0],
                                      .variant = ms[1],
                                      .diff = ms[1] - ms[0],
                                      .whole = ms[0]},
                    met);
    return true;
}

static bool check_gate(gt_gate *gate, const pair *p, gt_table *met, gt_error *error)
{
    const char *phase = gate->is_total ? phase_of_total(gate->row) : NULL;
    if (!gate->is_total && gate->column && strcmp(gate->column, GT_COL_DELTA_MS.name) != 0)
        return gt_fail(error, "'%.200s': conditions on the waterfall are on its column %s", gate->condition,
                       GT_COL_DELTA_MS.name);
    if (phase) return check_step_time(gate, p, phase, met, error);
    if (gate->is_total && strcmp(gate->row, MEDIAN_TOTAL) == 0) return check_median(gate, p, met, error);
    if (p->first_phase < p->phases->row_count)
        gt_warn(
            "--fail_if '%s': of servers this is on the mean over the steps of all phases, which changes with "
            "their mix; step_ms compares like steps",
            gate->condition);
    if (gate->is_total) {
        change of = change_of_total(p->waterfall, gate->row);
        check_change(gate, p->waterfall, p->variant->tag, gate->row, &of, met);
    } else {
        check_contributions(gate, p->waterfall, p->variant->tag, met);
    }
    return true;
}

static bool check_gates(const gt_compare_options *options, size_t *sheets_met, const pair *p, gt_table *met,
                        gt_error *error)
{
    for (size_t i = 0; i < options->gate_count; i++) {
        gt_gate *gate = &options->gates[i];
        if (strcmp(gate->sheet, GT_SHEET_WATERFALL.name) != 0) continue;
        sheets_met[i]++;
        if (!check_gate(gate, p, met, error)) return false;
    }
    return true;
}

/* ---- sheets ---- */

bool gt_compare_waterfall(const gt_compare_report *reports, size_t count, const gt_compare_options *options,
                          gt_interner *strings, gt_table_list *tables, size_t *sheets_met, gt_table *met,
                          char **why_not, gt_error *error)
{
    gt_table *rows = gt_waterfall_sheet_new(strings), *parts = gt_waterfall_parts_sheet_new(strings);
    gt_table *phases = gt_phase_changes_new(strings);
    bool ok = true;
    *why_not = NULL;
    for (size_t i = 1; i < count && ok; i++) {
        sides s = sides_of(&reports[0], &reports[i], strings);
        char *reason = obstacle(&s, &reports[0], &reports[i]);
        if (!reason) {
            if (s.own[0])
                gt_info("the waterfall is by category, because %s is a report; traces give ops and kernels",
                        (reports[0].is_trace ? reports[i] : reports[0]).path);
            gt_waterfall *w = gt_waterfall_new(s.base, s.variant, strings);
            gt_waterfall_sheet_add(rows, w, reports[0].tag, reports[i].tag);
            gt_waterfall_parts_sheet_add(parts, w, reports[i].tag);
            const pair p = {&reports[0], &reports[i], w, phases, phases->row_count};
            gt_phase_changes_add(phases, &reports[0], &reports[i]);
            ok = check_gates(options, sheets_met, &p, met, error);
            gt_waterfall_free(w);
        } else if (!*why_not) {
            *why_not = reason;
            reason = NULL;
        }
        gt_free(reason);
        for (size_t side = 0; side < 2; side++) gt_step_parts_free(s.own[side]);
    }
    gt_table *const sheets[] = {phases, rows, parts};
    for (size_t i = 0; i < GT_LENGTH(sheets); i++) {
        if (ok && sheets[i]->row_count)
            gt_table_list_add(tables, sheets[i]);
        else
            gt_table_free(sheets[i]);
    }
    return ok;
}

/* ---- bars ---- */

enum {
    BAR_MAX = 60,
    BAR_MIN = 10,
    NUMBER_WIDTH = 11,
    GAP = 2,
    INDENT = 2,
    LABEL_MAX = 46,
    DETAILS_MAX = 2,
    WIDTH_MIN = 40
};

typedef struct bar_lines {
    const gt_terminal *terminal;
    size_t label_width, bar_width;
    double full_ms; /* what a bar of full width stands for */
} bar_lines;

static size_t usable_width(const gt_terminal *terminal)
{
    return (terminal->width < WIDTH_MIN ? WIDTH_MIN : terminal->width) - INDENT;
}

static void add_cut(gt_buffer *line, const gt_terminal *terminal, const char *name, size_t width)
{
    gt_buffer text = {0};
    gt_display_add(&text, (gt_str){name, strlen(name)}, terminal->utf8);
    gt_display_add_cut(line, gt_buffer_str(&text), width, terminal->utf8);
    gt_buffer_free(&text);
}

/* One line: "  idle: data      +44.980      ██████". Bars of contributions hang between the step times. */
static void print_bar(const bar_lines *lines, const char *label, const char *number, double from, double to)
{
    gt_buffer line = {0};
    add_cut(&line, lines->terminal, label, lines->label_width);
    gt_buffer_add_spaces(&line, lines->label_width - gt_display_width(gt_buffer_str(&line)));
    gt_buffer_add_format(&line, "%*s", NUMBER_WIDTH, number);
    double scale = lines->full_ms > 0 ? (double)lines->bar_width / lines->full_ms : 0;
    size_t first = (size_t)lround(fmin(from, to) * scale), last = (size_t)lround(fmax(from, to) * scale);
    if (last > lines->bar_width) last = lines->bar_width;
    if (first >= last && from != to) first = last ? last - 1 : 0, last = first + 1;
    if (last > first) gt_buffer_add_spaces(&line, GAP + first);
    for (size_t i = first; i < last; i++) gt_buffer_add_cstr(&line, lines->terminal->utf8 ? "█" : "#");
    fprintf(lines->terminal->file, "%*s%s\n", INDENT, "", gt_buffer_str(&line).bytes);
    gt_buffer_free(&line);
}

static bool is_step(const gt_table *sheet, size_t row)
{
    return strcmp(gt_compare_text(sheet, GT_COL_KIND, row), "step") == 0;
}

static char *label_of(const gt_table *sheet, size_t row)
{
    const char *text = gt_compare_text(sheet, GT_COL_CONTRIBUTION, row);
    if (!is_step(sheet, row)) return gt_strdup(text);
    return gt_format("%s of %s", text, gt_compare_text(sheet, GT_COL_WHAT, row));
}

/* Makes room for the longest label and the longest bar. */
static bar_lines measure(const gt_terminal *terminal, const gt_table *sheet, size_t begin, size_t end)
{
    bar_lines lines = {.terminal = terminal};
    for (size_t row = begin; row < end; row++) {
        char *label = label_of(sheet, row);
        size_t width = gt_display_width((gt_str){label, strlen(label)});
        if (width > lines.label_width) lines.label_width = width;
        lines.full_ms = fmax(lines.full_ms, gt_compare_number(sheet, GT_COL_CUMULATIVE_MS, row));
        gt_free(label);
    }
    size_t width = usable_width(terminal), others = NUMBER_WIDTH + GAP;
    if (lines.label_width > LABEL_MAX) lines.label_width = LABEL_MAX;
    if (lines.label_width + others + BAR_MIN > width) lines.label_width = width - others - BAR_MIN;
    lines.bar_width = width - others - lines.label_width;
    if (lines.bar_width > BAR_MAX) lines.bar_width = BAR_MAX;
    return lines;
}

static void print_rows(const gt_terminal *terminal, const gt_table *sheet, size_t begin, size_t end)
{
    bar_lines lines = measure(terminal, sheet, begin, end);
    double before = 0;
    for (size_t row = begin; row < end; row++) {
        double now = gt_compare_number(sheet, GT_COL_CUMULATIVE_MS, row);
        char *label = label_of(sheet, row);
        char *number = is_step(sheet, row)
                           ? gt_format("%.3f", now)
                           : gt_format("%+.3f", gt_compare_number(sheet, GT_COL_DELTA_MS, row));
        print_bar(&lines, label, number, is_step(sheet, row) ? 0 : before, now);
        before = now;
        gt_free_all(label, number);
    }
}

/* "slower: aten::mm: nvjet_... -> sm80_xmma_...": which kernels; of idle time, where in the program. */
static void print_detail(const gt_terminal *terminal, const gt_table *sheet, size_t row)
{
    const char *a = gt_compare_text(sheet, GT_COL_A_DETAIL, row),
               *b = gt_compare_text(sheet, GT_COL_B_DETAIL, row);
    bool longer = gt_compare_number(sheet, GT_COL_DELTA_MS, row) > 0;
    bool one =
        strcmp(gt_compare_text(sheet, GT_COL_KIND, row), "idle") == 0 || strcmp(a, b) == 0 || !*a || !*b;
    gt_buffer line = {0};
    add_cut(&line, terminal, gt_compare_text(sheet, GT_COL_CONTRIBUTION, row), usable_width(terminal) / 2);
    size_t used = gt_display_width(gt_buffer_str(&line)) + strlen(": "), rest = usable_width(terminal) - used;
    gt_buffer_add_cstr(&line, ": ");
    if (one) {
        add_cut(&line, terminal, longer ? (*b ? b : a) : *a ? a : b, rest);
    } else {
        add_cut(&line, terminal, a, (rest - strlen(" -> ")) / 2);
        gt_buffer_add_cstr(&line, " -> ");
        add_cut(&line, terminal, b, (rest - strlen(" -> ")) / 2);
    }
    fprintf(terminal->file, "%*s%s\n", INDENT, "", gt_buffer_str(&line).bytes);
    gt_buffer_free(&line);
}

/* Of the largest contributions that have details. */
static void print_details(const gt_terminal *terminal, const gt_table *sheet, size_t begin, size_t end)
{
    for (size_t row = begin, shown = 0; row < end && shown < DETAILS_MAX; row++) {
        if (!*gt_compare_text(sheet, GT_COL_A_DETAIL, row) && !*gt_compare_text(sheet, GT_COL_B_DETAIL, row))
            continue;
        if (!shown++) fprintf(terminal->file, "Largest:\n");
        print_detail(terminal, sheet, row);
    }
}

size_t gt_compare_waterfall_end(const gt_table *sheet, size_t begin)
{
    const int64_t *orders = gt_table_column(sheet, GT_COL_ORDER)->ints;
    size_t end = begin + 1;
    while (end < sheet->row_count && orders[end] > 0) end++;
    return end;
}

void gt_compare_print_waterfall(const gt_terminal *terminal, const gt_table *sheet)
{
    for (size_t begin = 0, end; begin < sheet->row_count; begin = end) {
        end = gt_compare_waterfall_end(sheet, begin);
        char *heading =
            gt_format("Why %s differs from %s, in ms", gt_compare_text(sheet, GT_COL_WHAT, end - 1),
                      gt_compare_text(sheet, GT_COL_WHAT, begin));
        fputc('\n', terminal->file);
        gt_terminal_heading(terminal, heading);
        print_rows(terminal, sheet, begin, end);
        print_details(terminal, sheet, begin, end);
        gt_free(heading);
    }
}
