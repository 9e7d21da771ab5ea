/* The sheets of findings as facts and rows, and what a terminal shows of them:
 *
 *     t.json.gz  NVIDIA H200  3 steps  77.68 ms per step: GPU busy 30.96 (40%), idle 46.72
 *     Trust: good
 *     1. HIGH  data_stall: The GPU waits 44.98 ms per step for input data. Likely gain 30 to 64 ms of ...
 *          in train.py(121): __getitem__ -> sleep()
 *          data loading holds the launching thread for 60.33 ms per step, the GPU is idle for 44.98 ms of it
 *          Next: Load data in worker processes ...
 *     All of this together: at best 31.4 ms per step.
 *     Idle: data 44.98, launch 1.34, device_gap 0.38, device_wait 0.02 ms per step. */
#include "report/answers.h"

#include "analysis/serving/sheets.h"

#include "index/index.h"
#include "model/arch.h"
#include "os/paths.h"
#include "page/measures.h"
#include "schema/columns.h"

static const double important_pct = 5;
static const double smallest_shown_ms = 0.005; /* rounds to 0.01 */

enum { INDENT = 5, SENTENCE_LINES = 3 };

/* ---- sheets ---- */

const gt_table *gt_answers_sheet(const gt_answers *a, gt_sheet name)
{
    const gt_table *sheet = gt_table_list_find(a->tables, name);
    return sheet && sheet->row_count ? sheet : NULL;
}

bool gt_answers_exist(const gt_table_list *tables)
{
    return gt_table_list_find(tables, GT_SHEET_OVERVIEW) != NULL;
}

gt_str gt_answers_cell(const gt_table *sheet, gt_col column, size_t row)
{
    return gt_interner_get(sheet->strings, gt_table_column_of(sheet, column, GT_TYPE_STRING)->texts[row]);
}

double gt_answers_value(const gt_table *sheet, gt_col column, size_t row)
{
    return gt_column_number(gt_table_column(sheet, column), row);
}

gt_str gt_answers_trace(const gt_answers *a)
{
    const char *name = gt_path_name(a->trace);
    size_t len = strlen(name), suffix = strlen(GT_INDEX_SUFFIX);
    if (len > suffix && strcmp(name + len - suffix, GT_INDEX_SUFFIX) == 0) len -= suffix;
    return (gt_str){name, len};
}

static size_t find_fact(const gt_table *overview, const char *name)
{
    size_t row = 0;
    while (row < overview->row_count && !gt_str_equals(gt_answers_cell(overview, GT_COL_NAME, row), name))
        row++;
    return row;
}

double gt_answers_number(const gt_answers *a, const char *name)
{
    const gt_table *overview = gt_answers_sheet(a, GT_SHEET_OVERVIEW);
    size_t row = overview ? find_fact(overview, name) : 0;
    return overview && row < overview->row_count ? gt_answers_value(overview, GT_COL_VALUE, row) : NAN;
}

const char *gt_answers_text(const gt_answers *a, const char *name)
{
    const gt_table *overview = gt_answers_sheet(a, GT_SHEET_OVERVIEW);
    size_t row = overview ? find_fact(overview, name) : 0;
    return overview && row < overview->row_count ? gt_answers_cell(overview, GT_COL_TEXT, row).bytes : "";
}

double gt_answers_recorded_ms(const gt_answers *a)
{
    double recorded_ms = gt_answers_number(a, "recorded_ms"); /* not of ranks */
    return isnan(recorded_ms) ? gt_answers_number(a, "step_ms") : recorded_ms;
}

const char *gt_answers_device_note(const gt_answers *a)
{
    return *gt_answers_text(a, "device_by") ? GT_BY_PROPERTIES : "";
}

const char *gt_answers_per(const gt_answers *a)
{
    return strcmp(gt_answers_text(a, "per"), "trace") == 0 ? "in the window" : "per step";
}

bool gt_answers_distrusted(const gt_table_list *tables)
{
    gt_answers a = {.tables = tables};
    return strcmp(gt_answers_text(&a, "verdict"), "do not trust") == 0;
}

bool gt_answers_is_hint(const gt_table *findings, size_t row)
{
    return gt_table_column_of(findings, GT_COL_HINT, GT_TYPE_BOOL)->bools[row] != 0;
}

double gt_answers_alone_ms(const gt_table *findings, size_t row)
{
    static const double notable = 0.02;
    if (gt_table_find(findings, GT_COL_GAIN_ALONE_MS) == SIZE_MAX) return NAN;
    double alone_ms = gt_answers_value(findings, GT_COL_GAIN_ALONE_MS, row);
    double gain_ms = gt_answers_value(findings, GT_COL_GAIN_MS, row), differs_ms = fabs(gain_ms - alone_ms);
    return differs_ms >= smallest_shown_ms && differs_ms >= notable * gain_ms ? alone_ms : NAN;
}

/* Three digits of a time are enough for an estimate. */
static const char *estimate(char text[32], double ms)
{
    snprintf(text, 32, "%.*f", ms < 10 ? 2 : ms < 100 ? 1 : 0, ms);
    return text;
}

/* Two digits of the borders of a range. */
static void add_border(gt_buffer *out, double ms)
{
    if (ms > 0 && ms < 1 && ms >= 0.01)
        gt_buffer_add_format(out, "%.2g", ms);
    else
        gt_buffer_add_format(out, "%.*f", ms >= 10 || ms == 0 ? 0 : ms >= 1 ? 1 : 4, ms);
}

void gt_answers_add_gain(const gt_answers *answers, size_t row, gt_buffer *out)
{
    static const double rounded = 0.01; /* the percentage is */
    const gt_table *findings = gt_answers_sheet(answers, GT_SHEET_FINDINGS);
    char text[32];
    double gain_ms = gt_answers_value(findings, GT_COL_GAIN_MS, row);
    double pct = gt_answers_value(findings, GT_COL_GAIN_PCT, row), low_ms = NAN, high_ms = NAN;
    if (gt_table_find(findings, GT_COL_GAIN_LOW_MS) != SIZE_MAX) {
        low_ms = gt_answers_value(findings, GT_COL_GAIN_LOW_MS, row);
        high_ms = gt_answers_value(findings, GT_COL_GAIN_HIGH_MS, row);
    }
    if (!isfinite(low_ms) || !(gain_ms > 0) || !(pct > 0)) {
        gt_buffer_add_format(out, "up to about %s ms (%.0f%%)", estimate(text, gain_ms), pct);
        return;
    }
    gt_buffer_add_cstr(out, "likely gain ");
    add_border(out, low_ms);
    gt_buffer_add_cstr(out, " to ");
    add_border(out, high_ms);
    double whole_ms = 100 * gain_ms / pct, model_ms = gt_answers_number(answers, "model_step_ms");
    if (fabs(whole_ms - model_ms) < rounded * model_ms) whole_ms = model_ms;
    double from = floor(pct * low_ms / gain_ms + 0.5), to = floor(pct * high_ms / gain_ms + 0.5);
    gt_buffer_add_format(out, " ms of %s (", estimate(text, whole_ms));
    if (from < to) gt_buffer_add_format(out, "%.0f-", from);
    gt_buffer_add_format(out, "%.0f%%)", to);
}

static bool is_important(const gt_table *findings, size_t row)
{
    return !gt_answers_is_hint(findings, row) &&
           gt_answers_value(findings, GT_COL_GAIN_PCT, row) >= important_pct;
}

bool gt_answers_any_important(const gt_answers *a)
{
    const gt_table *findings = gt_answers_sheet(a, GT_SHEET_FINDINGS);
    for (size_t row = 0; findings && row < findings->row_count; row++)
        if (is_important(findings, row)) return true;
    return false;
}

/* Whether a hint would matter. */
static bool any_hint(const gt_answers *a)
{
    const gt_table *findings = gt_answers_sheet(a, GT_SHEET_FINDINGS);
    for (size_t row = 0; findings && row < findings->row_count; row++)
        if (gt_answers_value(findings, GT_COL_GAIN_PCT, row) >= important_pct) return true;
    return false;
}

void gt_answers_add_unimportant(const gt_answers *a, gt_buffer *out)
{
    static const double idle_share = 0.1;
    double idle_ms = gt_answers_number(a, "idle_ms"), step_ms = gt_answers_recorded_ms(a);
    gt_page_source source = {.sheets = a->tables};
    gt_page_measures measures = gt_page_measures_find(&source);
    gt_buffer limit = {0};
    if (measures.is_graph_capture) {
        gt_page_add_sentence(&measures, out);
        gt_page_measures_free(&measures);
        return;
    }
    gt_page_add_limit(&measures, &limit);
    gt_page_measures_free(&measures);
    if (!limit.len && idle_ms >= idle_share * step_ms) /* of all ranks */
        gt_buffer_add_format(&limit, "GPUs are idle %.0f %% of the time", 100 * idle_ms / step_ms);
    if (limit.len) {
        limit.bytes[0] = (char)toupper((unsigned char)limit.bytes[0]);
        gt_buffer_add_format(out, "%s. %s", gt_buffer_str(&limit).bytes,
                             any_hint(a) ? "What would help is not certain: see the hints."
                                         : "No rule finds a repair.");
    } else {
        gt_buffer_add_cstr(out, "No important finding.");
    }
    const char *no_rule = gt_answers_text(a, "no_rule");
    if (*no_rule) gt_buffer_add_format(out, " %s", no_rule);
    gt_buffer_free(&limit);
}

bool gt_answers_next_item(gt_str *rest, gt_str *item)
{
    if (!rest->len) return false;
    const char *end = memmem(rest->bytes, rest->len, "; ", 2);
    *item = (gt_str){rest->bytes, end ? (size_t)(end - rest->bytes) : rest->len};
    size_t used = item->len + (end ? 2 : 0);
    *rest = (gt_str){rest->bytes + used, rest->len - used};
    return true;
}

/* ---- lines ---- */

static size_t usable_width(const gt_terminal *terminal)
{
    return terminal->width < 40 ? 40 : terminal->width;
}

/* The length of the longest beginning of a text that fits in `room` cells and ends with a word; 0 if the
 * first word does not fit. */
static size_t fitting_words(gt_str text, size_t room)
{
    size_t len = 0, at = 0;
    while (at < text.len) {
        while (at < text.len && text.bytes[at] == ' ') at++;
        while (at < text.len && text.bytes[at] != ' ') at++;
        if (gt_display_width((gt_str){text.bytes, at}) > room) break;
        len = at;
    }
    return len;
}

/* The length of a text's first word with the blanks before it. */
static size_t first_word(gt_str text)
{
    size_t len = 0;
    while (len < text.len && text.bytes[len] == ' ') len++;
    while (len < text.len && text.bytes[len] != ' ') len++;
    return len;
}

/* Prints a text in at most `lines_max` lines, broken at blanks; lines after the first begin with `indent`
 * blanks. If it is longer, the last line ends with a whole word and "...". Only a word that is longer than a
 * line loses its middle. */
static void print_wrapped(const gt_terminal *terminal, size_t indent, gt_str text, size_t lines_max)
{
    static const char dots[] = "...";
    gt_buffer shown = {0}, line = {0};
    gt_display_add(&shown, text, terminal->utf8);
    gt_str rest = gt_buffer_str(&shown);
    for (size_t i = 0; rest.len && i < lines_max; i++) {
        size_t room = usable_width(terminal) - (i ? indent : 0);
        bool is_cut = i + 1 == lines_max && gt_display_width(rest) > room;
        if (is_cut) room -= strlen(dots);
        size_t len = fitting_words(rest, room);
        if (!len) len = first_word(rest);
        line.len = 0;
        if (i) gt_buffer_add_spaces(&line, indent);
        gt_display_add_cut(&line, (gt_str){rest.bytes, len}, room, terminal->utf8);
        if (is_cut && len < rest.len) gt_buffer_add_cstr(&line, dots);
        fprintf(terminal->file, "%s\n", gt_buffer_str(&line).bytes);
        while (len < rest.len && rest.bytes[len] == ' ') len++;
        rest = (gt_str){rest.bytes + len, rest.len - len};
    }
    gt_buffer_free(&line);
    gt_buffer_free(&shown);
}

/* A place in the program in one line: its beginning and its end matter most. */
static void print_where(const gt_terminal *terminal, gt_str where)
{
    gt_buffer shown = {0}, line = {0};
    gt_buffer_add_cstr(&shown, "in ");
    gt_display_add(&shown, where, terminal->utf8);
    gt_buffer_add_spaces(&line, INDENT);
    gt_display_add_cut(&line, gt_buffer_str(&shown), usable_width(terminal) - INDENT, terminal->utf8);
    fprintf(terminal->file, "%s\n", gt_buffer_str(&line).bytes);
    gt_buffer_free(&line);
    gt_buffer_free(&shown);
}

__attribute__((format(printf, 4, 5))) static void print_line(const gt_terminal *terminal, size_t indent,
                                                             size_t lines_max, const char *format, ...)
{
    gt_buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    if (len > 0) vsnprintf(gt_buffer_reserve(&text, (size_t)len + 1), (size_t)len + 1, format, arguments);
    va_end(arguments);
    text.len = len > 0 ? (size_t)len : 0;
    print_wrapped(terminal, indent, gt_buffer_str(&text), lines_max);
    gt_buffer_free(&text);
}

/* ---- the parts ---- */

/* Names are shortened, so that none of the figures after them is. */
static void add_name(gt_buffer *line, const gt_terminal *terminal, gt_str name, size_t least)
{
    size_t room = usable_width(terminal) / 2;
    gt_display_add_cut(line, name, room > least ? room : least, terminal->utf8);
}

static void print_header(const gt_answers *a, const gt_terminal *terminal)
{
    double steps = gt_answers_number(a, "steps"), step_ms = gt_answers_recorded_ms(a);
    double busy_ms = gt_answers_number(a, "busy_ms"), devices = gt_answers_number(a, "device_count");
    const char *device = gt_answers_text(a, "device");
    gt_buffer names = {0};
    add_name(&names, terminal, gt_answers_trace(a), 40);
    gt_buffer_add_cstr(&names, "  ");
    add_name(&names, terminal, (gt_str){device, strlen(device)}, 30);
    gt_buffer_add_cstr(&names, gt_answers_device_note(a));
    char count[48] = "", others[48] = "";
    if (steps >= 1)
        snprintf(count, sizeof count, "  %.0f %s", steps, steps == 1 ? "step" : "steps");
    else if (gt_answers_number(a, "empty_steps") > 0)
        snprintf(count, sizeof count, "  no steps with GPU work");
    if (devices > 1) snprintf(others, sizeof others, " (the busiest of %.0f devices)", devices);
    double capture_ms = gt_answers_number(a, "capture_ms"),
           median_ms = gt_answers_number(a, "median_step_ms");
    char capture[48] = "", median[48] = "";
    if (median_ms > 0) snprintf(median, sizeof median, "median %.2f, mean ", median_ms);
    if (capture_ms > 0) snprintf(capture, sizeof capture, "; the capture takes %.2f", capture_ms);
    if (step_ms > 0)
        print_line(terminal, INDENT, 4, "%s%s%s  %s%.2f ms %s: GPU busy %.2f (%.0f%%), idle %.2f%s",
                   gt_buffer_str(&names).bytes, others, count, median, step_ms, gt_answers_per(a), busy_ms,
                   100 * busy_ms / step_ms, gt_answers_number(a, "idle_ms"), capture);
    else
        print_line(terminal, INDENT, 3, "%s  no GPU events", gt_buffer_str(&names).bytes);
    gt_buffer_free(&names);
}

/* The share of the time of a phase that reading takes at least, in percent; 0: unknown. */
static double bound_pct(const gt_table *bounds, gt_str phase)
{
    double bound_us = 0, step_us = 0;
    for (size_t row = 0; bounds && row < bounds->row_count; row++) {
        if (gt_str_compare(gt_answers_cell(bounds, GT_COL_PHASE, row), phase) != 0) continue;
        double steps = gt_answers_value(bounds, GT_COL_STEPS, row);
        bound_us += steps * gt_answers_value(bounds, GT_COL_BOUND_US, row);
        step_us += steps * gt_answers_value(bounds, GT_COL_STEP_US, row);
    }
    return step_us > 0 ? 100 * bound_us / step_us : 0;
}

/* Of a server: each phase, and what limits the steps that generate tokens. */
static void print_serving(const gt_answers *a, const gt_terminal *terminal)
{
    const gt_table *phases = gt_answers_sheet(a, GT_SHEET_SERVING_SUMMARY);
    for (size_t row = 0; phases && row < phases->row_count; row++) {
        gt_phase_figures f;
        if (!gt_serving_phase_figures(phases, row, &f)) continue;
        char more[120] = "", bound[80] = "";
        if (f.generates)
            snprintf(more, sizeof more, "; %.0f tokens/s; GPU idle between steps %.0f%%, within steps %.0f%%",
                     f.tokens_per_s, f.gap_pct, f.idle_inside_pct);
        double pct = bound_pct(gt_answers_sheet(a, GT_SHEET_DECODE_BOUND), f.phase);
        if (pct > 0) snprintf(bound, sizeof bound, "; at least %.0f%% is reading weights and KV cache", pct);
        print_line(terminal, INDENT, 3, "%.*s: %.0f %s, %.0f%% of the time, median %.2f ms%s%s",
                   (int)f.phase.len, f.phase.bytes, f.steps, f.steps == 1 ? "step" : "steps", f.time_pct,
                   f.median_ms, more, bound);
    }
}

/* What clients measured of requests, and what the trace explains of it. The rows of a latency follow each
 * other; the last one is what it does not explain. */
static void print_requests(const gt_answers *a, const gt_terminal *terminal)
{
    const gt_table *parts = gt_answers_sheet(a, GT_SHEET_SERVING_REQUEST_PARTS);
    gt_buffer line = {0};
    double sum_ms = 0;
    for (size_t row = 0; parts && row < parts->row_count; row++) {
        gt_str latency = gt_answers_cell(parts, GT_COL_LATENCY, row);
        gt_str part = gt_answers_cell(parts, GT_COL_PART, row);
        double ms = gt_answers_value(parts, GT_COL_MS, row);
        sum_ms += ms;
        if (!gt_str_equals(part, "not_in_trace")) {
            if (ms >= smallest_shown_ms)
                gt_buffer_add_format(&line, "%s%.*s %.2f", line.len ? ", " : "", (int)part.len, part.bytes,
                                     ms);
            continue;
        }
        print_line(terminal, INDENT, 3, "%.*s: mean %.2f ms = %s%snot in the trace %.2f (%.0f%%)",
                   (int)latency.len, latency.bytes, sum_ms, gt_buffer_str(&line).bytes, line.len ? ", " : "",
                   ms, gt_answers_value(parts, GT_COL_PCT, row));
        line.len = 0;
        sum_ms = 0;
    }
    gt_buffer_free(&line);
}

/* Failures come before warnings, and notes last. All failures are shown: any of them may be why nothing else
 * counts. */
static void print_trust(const gt_answers *a, const gt_terminal *terminal, size_t checks_max)
{
    static const char *const levels[] = {"fail", "warn", "note"};
    const gt_table *trust = gt_answers_sheet(a, GT_SHEET_TRUST);
    size_t shown = 0, more = 0;
    fprintf(terminal->file, "Trust: %s\n", gt_answers_text(a, "verdict"));
    for (size_t level = 0; trust && level < GT_LENGTH(levels); level++)
        for (size_t row = 0; row < trust->row_count; row++) {
            if (!gt_str_equals(gt_answers_cell(trust, GT_COL_LEVEL, row), levels[level])) continue;
            if (level > 0 && shown >= checks_max) {
                more++;
                continue;
            }
            shown++;
            print_line(terminal, INDENT, SENTENCE_LINES, "  %s %s: %s",
                       gt_answers_cell(trust, GT_COL_ID, row).bytes, levels[level],
                       gt_answers_cell(trust, GT_COL_TEXT, row).bytes);
        }
    if (more) fprintf(terminal->file, "  and %zu more in the sheet trust\n", more);
}

static void print_finding(const gt_answers *a, size_t row, const gt_terminal *terminal, size_t evidence_max)
{
    const gt_table *findings = gt_answers_sheet(a, GT_SHEET_FINDINGS);
    char severity[16] = "", alone[80] = "";
    gt_buffer gain = {0};
    double alone_ms = gt_answers_alone_ms(findings, row);
    if (isfinite(alone_ms))
        snprintf(alone, sizeof alone, " after the repairs before it, %.2f ms alone", alone_ms);
    gt_str name = gt_answers_cell(findings, GT_COL_SEVERITY, row), item;
    for (size_t i = 0; i < name.len && i + 1 < sizeof severity; i++)
        severity[i] = (char)toupper((unsigned char)name.bytes[i]);
    gt_answers_add_gain(a, row, &gain);
    gain.bytes[0] = (char)toupper((unsigned char)gain.bytes[0]);
    print_line(terminal, INDENT, SENTENCE_LINES, "%.0f. %s%s  %s: %s. %s%s, confidence %s.",
               gt_answers_value(findings, GT_COL_RANK, row), severity,
               gt_answers_is_hint(findings, row) ? " (hint)" : "",
               gt_answers_cell(findings, GT_COL_ID, row).bytes,
               gt_answers_cell(findings, GT_COL_TITLE, row).bytes, gt_buffer_str(&gain).bytes, alone,
               gt_answers_cell(findings, GT_COL_CONFIDENCE, row).bytes);
    gt_buffer_free(&gain);
    gt_str where = gt_answers_cell(findings, GT_COL_WHERE, row);
    if (where.len) print_where(terminal, where);
    gt_str evidence = gt_answers_cell(findings, GT_COL_EVIDENCE, row);
    for (size_t i = 0; i < evidence_max && gt_answers_next_item(&evidence, &item); i++)
        print_line(terminal, INDENT + 2, SENTENCE_LINES, "%*s%.*s", INDENT, "", (int)item.len, item.bytes);
    print_line(terminal, INDENT + 6, SENTENCE_LINES, "%*sNext: %s", INDENT, "",
               gt_answers_cell(findings, GT_COL_ADVICE, row).bytes);
}

void gt_answers_add_first(const gt_answers *answers, gt_buffer *line)
{
    const gt_table *findings = gt_answers_sheet(answers, GT_SHEET_FINDINGS);
    if (!gt_answers_exist(answers->tables)) return;
    if (!findings) {
        gt_buffer_add_cstr(line, "none");
        return;
    }
    gt_buffer_add_format(line, "%s: %s, ", gt_answers_cell(findings, GT_COL_ID, 0).bytes,
                         gt_answers_cell(findings, GT_COL_TITLE, 0).bytes);
    gt_answers_add_gain(answers, 0, line);
}

static void print_more(const gt_table *findings, size_t shown, const gt_terminal *terminal)
{
    gt_buffer names = {0};
    for (size_t row = shown; row < findings->row_count; row++)
        gt_buffer_add_format(&names, "%s%s", row > shown ? ", " : "",
                             gt_answers_cell(findings, GT_COL_ID, row).bytes);
    if (findings->row_count > shown)
        print_line(terminal, INDENT, 2, "And %zu more: %s (--all_findings)", findings->row_count - shown,
                   gt_buffer_str(&names).bytes);
    gt_buffer_free(&names);
}

static void print_findings(const gt_answers *a, const gt_terminal *terminal, const gt_answers_limits *limits)
{
    const gt_table *findings = gt_answers_sheet(a, GT_SHEET_FINDINGS);
    if (gt_answers_recorded_ms(a) > 0 && !gt_answers_any_important(a)) {
        gt_buffer line = {0};
        gt_answers_add_unimportant(a, &line);
        print_line(terminal, INDENT, SENTENCE_LINES, "%s", gt_buffer_str(&line).bytes);
        gt_buffer_free(&line);
    }
    if (!findings) return;
    size_t shown = 0;
    for (; shown < findings->row_count && shown < limits->findings; shown++)
        print_finding(a, shown, terminal, limits->evidence);
    print_more(findings, shown, terminal);
    char best[32];
    if (!gt_answers_is_hint(findings, 0))
        print_line(terminal, INDENT, 2, "All of this together: at best %s ms %s.",
                   estimate(best, gt_answers_number(a, "all_fixed_ms")), gt_answers_per(a));
}

static void print_idle(const gt_answers *a, const gt_terminal *terminal)
{
    const gt_table *causes = gt_answers_sheet(a, GT_SHEET_IDLE_CAUSES);
    gt_buffer list = {0};
    for (size_t row = 0; causes && row < causes->row_count; row++) {
        double ms = gt_answers_value(causes, GT_COL_MS, row);
        if (ms >= smallest_shown_ms)
            gt_buffer_add_format(&list, "%s%s %.2f", list.len ? ", " : "",
                                 gt_answers_cell(causes, GT_COL_CAUSE, row).bytes, ms);
    }
    if (list.len)
        print_line(terminal, INDENT, 2, "Idle: %s ms %s.", gt_buffer_str(&list).bytes, gt_answers_per(a));
    gt_buffer_free(&list);
}

void gt_answers_print_ranks(const gt_answers *a, const gt_terminal *terminal, const gt_answers_limits *limits)
{
    double step_ms = gt_answers_recorded_ms(a), busy_ms = gt_answers_number(a, "busy_ms");
    double nodes = gt_answers_number(a, "nodes");
    char on_nodes[48] = "";
    if (nodes > 1) snprintf(on_nodes, sizeof on_nodes, " on %.0f nodes", nodes);
    print_line(terminal, INDENT, 3, "%s: %s.", gt_path_name(a->trace), gt_answers_text(a, "all_ranks"));
    print_line(terminal, INDENT, 2, "%.0f ranks%s  %s  %.2f ms %s: GPU busy %.2f (%.0f%%), idle %.2f",
               gt_answers_number(a, "ranks"), on_nodes, gt_answers_text(a, "device"), step_ms,
               gt_answers_per(a), busy_ms, step_ms > 0 ? 100 * busy_ms / step_ms : 0,
               gt_answers_number(a, "idle_ms"));
    if (*gt_answers_text(a, "critical_path"))
        print_line(terminal, INDENT, 2, "Critical path: %s.", gt_answers_text(a, "critical_path"));
    print_trust(a, terminal, limits->checks);
    print_findings(a, terminal, limits);
}

void gt_answers_print(const gt_answers *a, const gt_terminal *terminal, const gt_answers_limits *limits)
{
    print_header(a, terminal);
    print_serving(a, terminal);
    print_requests(a, terminal);
    print_trust(a, terminal, limits->checks);
    print_findings(a, terminal, limits);
    print_idle(a, terminal);
}
