/* The first sheet: verdict, trust, figures and findings as cells; charts.c adds the charts. */
#include "report/overview/overview.h"

#include "page/measures.h"
#include "page/words.h"
#include "report/answers.h"
#include "schema/columns.h"

/* Widths in characters, without their padding of 5 pixels; all columns together have 1140 pixels. */
static const double fact_widths[GT_OVERVIEW_FACTS_WIDE] = {18.5, 12, 7, 18};
static const double gap_width = 1.5, summary_width = 7.7;
static const double helper_widths[] = {46, 11, 15};

enum { FIGURES = 6, FIGURE_WIDE = GT_OVERVIEW_SUMMARY_WIDE / FIGURES };
enum { HEADLINE_ROWS = 3, HEADLINE_MAX = 230 };
enum { FINDINGS_SHOWN = 6, RANK_WIDE = 1, GAIN_WIDE = 2 };
enum { TITLE_WIDE = GT_OVERVIEW_SUMMARY_WIDE - RANK_WIDE - GAIN_WIDE };
enum { ADVICE_WIDE = GT_OVERVIEW_SUMMARY_WIDE - RANK_WIDE };
/* Characters that certainly fit on a line. */
enum { TITLE_LINE = 88, ADVICE_LINE = 98, NOTE_LINE = 120, REASON_LINE = 100, TEXT_ROWS_MAX = 4 };

typedef struct summary {
    gt_dashboard *dashboard;
    gt_answers answers;
    bool is_of_ranks;
    size_t row; /* the next that is free */
} summary;

/* ---- text ---- */

/* Controls, and what changes the direction of the text after it. */
static bool is_shown(uint32_t c)
{
    return !(c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || c == 0x2028 ||
             c == 0x2029 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff ||
             c == 0xfffe || c == 0xffff);
}

char *gt_overview_line(gt_arena *texts, gt_str text, size_t max)
{
    static const char dots[] = "...";
    gt_buffer clean = {0}, line = {0};
    size_t count = 0, cut_begin = (max - strlen(dots) + 1) / 2, cut_end;
    for (const char *at = text.bytes; at < text.bytes + text.len;) {
        uint32_t c = gt_utf8_next(&at, text.bytes + text.len);
        if (!is_shown(c)) c = ' ';
        bool is_blank = c == ' ' && (!clean.len || clean.bytes[clean.len - 1] == ' '); /* one is enough */
        if (!is_blank) gt_buffer_add_code_point(&clean, c);
        count += !is_blank;
    }
    if (clean.len && clean.bytes[clean.len - 1] == ' ') clean.len--, count--;
    cut_end = count > max ? count - (max - strlen(dots) - cut_begin) : 0;
    const char *at = gt_buffer_str(&clean).bytes, *end = at + clean.len;
    for (size_t i = 0; at < end; i++) {
        const char *begin = at;
        gt_utf8_next(&at, end);
        if (cut_end && i == cut_begin) gt_buffer_add_cstr(&line, dots);
        if (!cut_end || i < cut_begin || i >= cut_end) gt_buffer_add(&line, begin, (size_t)(at - begin));
    }
    char *kept = gt_arena_bytes(texts, gt_buffer_str(&line).bytes, line.len);
    gt_buffer_free(&clean);
    gt_buffer_free(&line);
    return kept;
}

char *gt_overview_beginning(gt_arena *texts, const char *line, size_t max)
{
    const char *at = line, *end = line + strlen(line), *cut = line;
    size_t count = 0;
    while (at < end) {
        gt_utf8_next(&at, end);
        if (++count == max - 3) cut = at;
    }
    return count > max ? gt_arena_format(texts, "%.*s...", (int)(cut - line), line)
                       : gt_arena_bytes(texts, line, (size_t)(end - line));
}

static char *beginning(gt_arena *texts, gt_str text, size_t max)
{
    return gt_overview_beginning(texts, gt_overview_line(texts, text, SIZE_MAX / 2), max);
}

static size_t count_rows(const char *text, size_t per_line)
{
    size_t rows = (strlen(text) + per_line - 1) / per_line;
    return rows < 1 ? 1 : rows > TEXT_ROWS_MAX ? TEXT_ROWS_MAX : rows;
}

static gt_dash_cell *add_text(summary *s, size_t row, size_t column, size_t columns, gt_look look,
                              const char *text)
{
    gt_dash_cell *cell = gt_dashboard_add_text(s->dashboard, row, GT_OVERVIEW_SUMMARY + column, look, text);
    cell->columns = columns;
    return cell;
}

/* ---- the verdict ---- */

static char *sentence_of_ranks(const summary *s)
{
    const char *text = gt_answers_text(&s->answers, "all_ranks");
    char *line = beginning(&s->dashboard->texts, (gt_str){text, strlen(text)}, HEADLINE_MAX);
    line[0] = (char)toupper((unsigned char)line[0]);
    return gt_ends_with(line, "...") ? line : gt_arena_format(&s->dashboard->texts, "%s.", line);
}

/* The sentence of the page, in which words to be bold are between asterisks. */
static char *sentence_of_trace(const summary *s, const gt_page_measures *measures)
{
    gt_buffer text = {0};
    gt_page_add_sentence(measures, &text);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.bytes[i] != '*') text.bytes[len++] = text.bytes[i];
    char *line = beginning(&s->dashboard->texts, (gt_str){text.bytes, len}, HEADLINE_MAX);
    gt_buffer_free(&text);
    return line;
}

/* The first check that is not passed, and how many more there are; NULL: all are. Failures come first. */
static char *reason(const summary *s)
{
    const gt_table *trust = gt_answers_sheet(&s->answers, GT_SHEET_TRUST);
    size_t first = SIZE_MAX, count = 0;
    bool has_failure = false;
    for (size_t row = 0; trust && row < trust->row_count; row++) {
        gt_str level = gt_answers_cell(trust, GT_COL_LEVEL, row);
        if (gt_str_equals(level, "ok") || gt_str_equals(level, "note")) continue;
        bool fails = gt_str_equals(level, "fail");
        if (!count++ || (fails && !has_failure)) first = row;
        has_failure |= fails;
    }
    if (!count) return NULL;
    gt_arena *texts = &s->dashboard->texts;
    char *text = beginning(texts, gt_answers_cell(trust, GT_COL_TEXT, first), REASON_LINE);
    return count == 1 ? text : gt_arena_format(texts, "%s And %zu more.", text, count - 1);
}

static void add_trust(summary *s)
{
    const char *verdict = gt_answers_text(&s->answers, "verdict");
    gt_look look = strcmp(verdict, "good") == 0           ? GT_LOOK_GOOD
                   : strcmp(verdict, "do not trust") == 0 ? GT_LOOK_BAD
                                                          : GT_LOOK_CARE;
    const char *why = reason(s);
    add_text(s, s->row, 0, FIGURE_WIDE, look, verdict);
    add_text(s, s->row, FIGURE_WIDE, GT_OVERVIEW_SUMMARY_WIDE - FIGURE_WIDE, GT_LOOK_REASON,
             why ? why : "All checks of the trace are passed.");
    s->row += 2;
}

static void add_headline(summary *s, const char *sentence)
{
    add_text(s, s->row, 0, GT_OVERVIEW_SUMMARY_WIDE, GT_LOOK_HEADLINE, sentence)->rows = HEADLINE_ROWS;
    s->row += HEADLINE_ROWS;
}

/* ---- figures ---- */

typedef struct figure_list {
    const char *labels[FIGURES];
    char *values[FIGURES];
    size_t count;
} figure_list;

static void add_figure(summary *s, figure_list *figures, const char *label, gt_buffer *value)
{
    figures->labels[figures->count] = label;
    figures->values[figures->count++] =
        gt_arena_bytes(&s->dashboard->texts, gt_buffer_str(value).bytes, value->len);
    value->len = 0;
}

static void add_time_figure(summary *s, figure_list *figures, const char *label, double ns)
{
    gt_buffer value = {0};
    if (isfinite(ns) && ns > 0)
        gt_words_add_time(&value, ns);
    else
        gt_buffer_add_cstr(&value, "none");
    add_figure(s, figures, label, &value);
    gt_buffer_free(&value);
}

static void add_share_figure(summary *s, figure_list *figures, const char *label, double part, double whole)
{
    gt_buffer value = {0};
    if (isfinite(part) && whole > 0)
        gt_buffer_add_format(&value, "%.1f %%", 100 * part / whole);
    else
        gt_buffer_add_cstr(&value, "unknown");
    add_figure(s, figures, label, &value);
    gt_buffer_free(&value);
}

static figure_list figures_of_trace(summary *s, const gt_page_measures *m)
{
    figure_list figures = {0};
    double window = (double)m->window_ns, best_ms = gt_answers_number(&s->answers, "all_fixed_ms");
    best_ms = fmin(best_ms, gt_answers_recorded_ms(&s->answers)); /* the replay may take longer */
    add_time_figure(s, &figures, m->has_steps ? "step time" : "time of the window", window / m->window_steps);
    add_share_figure(s, &figures, "GPU busy", window - (double)m->kind_ns[GT_PART_IDLE], window);
    add_time_figure(s, &figures, "exposed communication",
                    (double)m->kind_ns[GT_PART_COMMUNICATION] / m->window_steps);
    add_time_figure(s, &figures, "exposed copies and memsets",
                    (double)m->kind_ns[GT_PART_COPY] / m->window_steps);
    add_share_figure(s, &figures, "of the roofline", m->roofline.ideal_us, m->roofline.kernel_us);
    add_time_figure(s, &figures, "at best, all fixed", 1e6 * best_ms);
    return figures;
}

static figure_list figures_of_ranks(summary *s)
{
    figure_list figures = {0};
    const gt_answers *a = &s->answers;
    gt_buffer ranks = {0};
    double step_ms = gt_answers_recorded_ms(a);
    gt_buffer_add_format(&ranks, "%.0f", fmax(gt_answers_number(a, "ranks"), 0));
    add_time_figure(s, &figures, "step time", 1e6 * step_ms);
    add_share_figure(s, &figures, "GPUs busy", gt_answers_number(a, "busy_ms"), step_ms);
    add_time_figure(s, &figures, "idle, mean of ranks", 1e6 * gt_answers_number(a, "idle_ms"));
    add_time_figure(s, &figures, "waiting for ranks", 1e6 * gt_answers_number(a, "wait_ms"));
    add_figure(s, &figures, "ranks", &ranks);
    add_time_figure(s, &figures, "at best, all fixed", 1e6 * gt_answers_number(a, "all_fixed_ms"));
    gt_buffer_free(&ranks);
    return figures;
}

static void show_figures(summary *s, const figure_list *figures)
{
    for (size_t i = 0; i < figures->count; i++) {
        add_text(s, s->row, i * FIGURE_WIDE, FIGURE_WIDE, GT_LOOK_LABEL, figures->labels[i]);
        add_text(s, s->row + 1, i * FIGURE_WIDE, FIGURE_WIDE, GT_LOOK_FIGURE, figures->values[i])->rows = 2;
    }
    s->row += 3;
}

/* ---- findings ---- */

static void add_heading(summary *s, const char *text, const char *right)
{
    add_text(s, s->row, 0, 1, GT_LOOK_HEADING, text);
    for (size_t i = 1; i < GT_OVERVIEW_SUMMARY_WIDE; i++)
        gt_dashboard_add_number(s->dashboard, s->row, GT_OVERVIEW_SUMMARY + i,
                                i + 1 < GT_OVERVIEW_SUMMARY_WIDE ? GT_LOOK_HEADING : GT_LOOK_HEADING_RIGHT,
                                NAN);
    s->dashboard->cells[s->dashboard->cell_count - 1].text = right;
    s->row++;
}

static void add_finding(summary *s, const gt_table *findings, size_t row)
{
    gt_arena *texts = &s->dashboard->texts;
    gt_buffer gain = {0};
    char *title = beginning(texts, gt_answers_cell(findings, GT_COL_TITLE, row), 2 * TITLE_LINE);
    char *advice =
        beginning(texts, gt_answers_cell(findings, GT_COL_ADVICE, row), TEXT_ROWS_MAX * ADVICE_LINE);
    gt_str where = gt_answers_cell(findings, GT_COL_WHERE, row);
    gt_words_add_time(&gain, fmax(1e6 * gt_answers_value(findings, GT_COL_GAIN_MS, row), 0));
    gt_buffer_add_format(&gain, " (%.0f %%)", gt_answers_value(findings, GT_COL_GAIN_PCT, row));
    size_t title_rows = count_rows(title, TITLE_LINE), advice_rows = count_rows(advice, ADVICE_LINE);
    gt_dashboard_add_number(s->dashboard, s->row, GT_OVERVIEW_SUMMARY, GT_LOOK_RANK,
                            gt_answers_value(findings, GT_COL_RANK, row));
    add_text(s, s->row, RANK_WIDE, TITLE_WIDE, GT_LOOK_TITLE, title)->rows = title_rows;
    add_text(s, s->row, RANK_WIDE + TITLE_WIDE, GAIN_WIDE, GT_LOOK_GAIN, gt_buffer_str(&gain).bytes);
    s->row += title_rows;
    double alone_ms = gt_answers_alone_ms(findings, row);
    if (isfinite(alone_ms))
        add_text(s, s->row++, RANK_WIDE, ADVICE_WIDE, GT_LOOK_NOTE,
                 gt_arena_format(texts, "The gain is after the repairs before it; alone %.2f ms.", alone_ms));
    if (where.len) {
        char *place = gt_overview_line(texts, where, NOTE_LINE);
        add_text(s, s->row++, RANK_WIDE, ADVICE_WIDE, GT_LOOK_NOTE, gt_arena_format(texts, "in %s", place));
    }
    add_text(s, s->row, RANK_WIDE, ADVICE_WIDE, GT_LOOK_TEXT, advice)->rows = advice_rows;
    s->row += advice_rows;
    gt_buffer_free(&gain);
}

static void add_findings(summary *s)
{
    const gt_table *findings = gt_answers_sheet(&s->answers, GT_SHEET_FINDINGS);
    size_t count = findings ? findings->row_count : 0,
           shown = count < FINDINGS_SHOWN ? count : FINDINGS_SHOWN;
    const char *per = gt_answers_text(&s->answers, "per");
    add_heading(s, "Findings",
                count ? gt_arena_format(&s->dashboard->texts, "gain per %s, at most", per) : NULL);
    if (!gt_answers_any_important(&s->answers)) {
        gt_buffer line = {0};
        gt_answers_add_unimportant(&s->answers, &line);
        char *text = beginning(&s->dashboard->texts, gt_buffer_str(&line), 2 * ADVICE_LINE);
        size_t rows = count_rows(text, ADVICE_LINE);
        add_text(s, s->row, 0, GT_OVERVIEW_SUMMARY_WIDE, GT_LOOK_TEXT, text)->rows = rows;
        s->row += rows;
        gt_buffer_free(&line);
    }
    for (size_t i = 0; i < shown; i++) add_finding(s, findings, i);
    if (count > shown)
        add_text(s, s->row++, RANK_WIDE, ADVICE_WIDE, GT_LOOK_NOTE,
                 gt_arena_format(&s->dashboard->texts, "and %zu more in the sheet findings", count - shown));
    s->row++;
}

/* ---- the sheet ---- */

static void set_widths(gt_dashboard *dashboard)
{
    for (size_t i = 0; i < GT_LENGTH(fact_widths); i++) gt_dashboard_add_width(dashboard, fact_widths[i]);
    gt_dashboard_add_width(dashboard, gap_width);
    for (size_t i = 0; i < GT_OVERVIEW_SUMMARY_WIDE; i++) gt_dashboard_add_width(dashboard, summary_width);
    gt_dashboard_add_width(dashboard, gap_width);
    for (size_t i = 0; i < GT_LENGTH(helper_widths); i++) gt_dashboard_add_width(dashboard, helper_widths[i]);
    dashboard->print_columns = GT_OVERVIEW_SUMMARY + GT_OVERVIEW_SUMMARY_WIDE;
}

/* The summary is a column of the sheet, too: it has a name for those who read the sheet as a table. */
static void add_header(summary *s)
{
    add_text(s, 0, 0, 1, GT_LOOK_HEADER, "summary");
    for (size_t i = 1; i < GT_OVERVIEW_SUMMARY_WIDE; i++)
        gt_dashboard_add_number(s->dashboard, 0, GT_OVERVIEW_SUMMARY + i, GT_LOOK_HEADER, NAN);
    s->row = 1;
}

static void add_summary(summary *s)
{
    const gt_table_list *tables = s->answers.tables;
    const gt_page_source source = {.sheets = tables};
    gt_page_measures measures = gt_page_measures_find(&source);
    add_header(s);
    add_headline(s, s->is_of_ranks ? sentence_of_ranks(s) : sentence_of_trace(s, &measures));
    add_trust(s);
    if (s->is_of_ranks || measures.window_ns > 0) {
        figure_list figures = s->is_of_ranks ? figures_of_ranks(s) : figures_of_trace(s, &measures);
        show_figures(s, &figures);
    }
    gt_page_measures_free(&measures);
    s->row += s->is_of_ranks ? gt_overview_add_ranks(s->dashboard, tables, s->row)
                             : gt_overview_add_parts(s->dashboard, tables, s->row);
    add_findings(s);
    gt_overview_add_kernels(s->dashboard, tables, s->row);
}

gt_dashboard *gt_overview_dashboard(const gt_table_list *tables)
{
    const gt_table *sheet = gt_table_list_find(tables, GT_SHEET_OVERVIEW);
    if (!sheet || !sheet->row_count) return NULL;
    summary s = {.dashboard = gt_dashboard_new(sheet), .answers = {.tables = tables}};
    s.is_of_ranks = *gt_answers_text(&s.answers, "all_ranks") != 0;
    set_widths(s.dashboard);
    add_summary(&s);
    size_t below = sheet->row_count + 2;
    if (s.is_of_ranks)
        gt_overview_add_blame(s.dashboard, tables, below);
    else
        gt_overview_add_causes(s.dashboard, tables, below);
    return s.dashboard;
}
