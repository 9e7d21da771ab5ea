/* Findings as Markdown for a pull request: verdict, findings as a list, causes of idle time and the timeline
 * as tables. Text from the trace is escaped, so that it cannot change the page. */
#include "report/answers.h"

#include "analysis/serving/sheets.h"
#include "report/summary.h"
#include "schema/columns.h"

/* ---- text ---- */

void gt_answers_escape(gt_buffer *out, gt_str text)
{
    gt_buffer scratch = {0};
    text = gt_utf8_repair(text, &scratch);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.bytes[i];
        if ((unsigned char)c < ' ' || c == 0x7f) {
            gt_buffer_add_cstr(out, " ");
            continue;
        }
        if (strchr("\\`*_{}[]<>#|~&!", c)) gt_buffer_add_cstr(out, "\\");
        gt_buffer_add(out, &c, 1);
    }
    gt_buffer_free(&scratch);
}

static void add_cell(gt_buffer *out, const gt_table *sheet, gt_col column, size_t row)
{
    gt_answers_escape(out, gt_answers_cell(sheet, column, row));
}

static void add_fact(gt_buffer *out, const gt_answers *a, const char *name)
{
    const char *text = gt_answers_text(a, name);
    gt_answers_escape(out, (gt_str){text, strlen(text)});
}

/* ---- parts ---- */

/* Of a folder: the verdict on the ranks, and how many there are. */
static void add_ranks(gt_buffer *out, const gt_answers *a)
{
    double ranks = gt_answers_number(a, "ranks"), nodes = gt_answers_number(a, "nodes");
    if (!(ranks > 0)) return;
    gt_buffer_add_cstr(out, "**");
    add_fact(out, a, "all_ranks");
    gt_buffer_add_format(out, ".**\n\n%.0f ranks", ranks);
    if (nodes > 1) gt_buffer_add_format(out, " on %.0f nodes", nodes);
    gt_buffer_add_cstr(out, ", ");
}

static void add_header(gt_buffer *out, const gt_answers *a)
{
    double step_ms = gt_answers_recorded_ms(a), busy_ms = gt_answers_number(a, "busy_ms");
    double capture_ms = gt_answers_number(a, "capture_ms"),
           median_ms = gt_answers_number(a, "median_step_ms");
    gt_buffer_add_cstr(out, "## GPU report: ");
    gt_answers_escape(out, gt_answers_trace(a));
    gt_buffer_add_cstr(out, "\n\n");
    add_ranks(out, a);
    add_fact(out, a, "device");
    gt_buffer_add_cstr(out, gt_answers_device_note(a));
    char median[48] = "";
    if (median_ms > 0) snprintf(median, sizeof median, "median %.2f ms, mean ", median_ms);
    if (step_ms > 0)
        gt_buffer_add_format(out, ", %s%.2f ms %s: GPU busy %.2f ms (%.0f %%), idle %.2f ms.", median,
                             step_ms, gt_answers_per(a), busy_ms, 100 * busy_ms / step_ms,
                             gt_answers_number(a, "idle_ms"));
    else
        gt_buffer_add_cstr(out, ": no GPU events.");
    if (capture_ms > 0) gt_buffer_add_format(out, " The capture takes %.2f ms.", capture_ms);
    gt_buffer_add_format(out, "\n\nTrust: **%s**\n\n", gt_answers_text(a, "verdict"));
}

/* The checks that are not passed. */
static void add_checks(gt_buffer *out, const gt_answers *a)
{
    const gt_table *trust = gt_answers_sheet(a, GT_SHEET_TRUST);
    size_t count = 0;
    for (size_t row = 0; trust && row < trust->row_count; row++) {
        if (gt_str_equals(gt_answers_cell(trust, GT_COL_LEVEL, row), "ok")) continue;
        gt_buffer_add_cstr(out, "- ");
        add_cell(out, trust, GT_COL_ID, row);
        gt_buffer_add_cstr(out, " ");
        add_cell(out, trust, GT_COL_LEVEL, row);
        gt_buffer_add_cstr(out, ": ");
        add_cell(out, trust, GT_COL_TEXT, row);
        gt_buffer_add_cstr(out, "\n");
        count++;
    }
    if (count) gt_buffer_add_cstr(out, "\n");
}

static void add_finding(gt_buffer *out, const gt_answers *a, const gt_table *findings, size_t row)
{
    gt_str evidence = gt_answers_cell(findings, GT_COL_EVIDENCE, row), item;
    gt_buffer_add_format(out, "%.0f. **", gt_answers_value(findings, GT_COL_RANK, row));
    add_cell(out, findings, GT_COL_ID, row);
    gt_buffer_add_cstr(out, "** (");
    add_cell(out, findings, GT_COL_SEVERITY, row);
    if (gt_answers_is_hint(findings, row)) gt_buffer_add_cstr(out, ", hint");
    gt_buffer_add_cstr(out, "): ");
    add_cell(out, findings, GT_COL_TITLE, row);
    gt_buffer_add_cstr(out, ". ");
    size_t at = out->len;
    gt_answers_add_gain(a, row, out);
    out->bytes[at] = (char)toupper((unsigned char)out->bytes[at]);
    double alone_ms = gt_answers_alone_ms(findings, row);
    if (isfinite(alone_ms))
        gt_buffer_add_format(out, " after the repairs before it, %.2f ms alone", alone_ms);
    gt_buffer_add_cstr(out, ", confidence ");
    add_cell(out, findings, GT_COL_CONFIDENCE, row);
    gt_buffer_add_cstr(out, ".\n");
    if (gt_answers_cell(findings, GT_COL_WHERE, row).len) {
        gt_buffer_add_cstr(out, "   - in ");
        add_cell(out, findings, GT_COL_WHERE, row);
        gt_buffer_add_cstr(out, "\n");
    }
    while (gt_answers_next_item(&evidence, &item)) {
        gt_buffer_add_cstr(out, "   - ");
        gt_answers_escape(out, item);
        gt_buffer_add_cstr(out, "\n");
    }
    gt_buffer_add_cstr(out, "   - Next: ");
    add_cell(out, findings, GT_COL_ADVICE, row);
    gt_buffer_add_cstr(out, "\n");
}

static void add_findings(gt_buffer *out, const gt_answers *a)
{
    const gt_table *findings = gt_answers_sheet(a, GT_SHEET_FINDINGS);
    gt_buffer_add_cstr(out, "### Findings\n\n");
    if (!gt_answers_any_important(a)) {
        gt_answers_add_unimportant(a, out);
        gt_buffer_add_cstr(out, "\n\n");
    }
    if (!findings) return;
    for (size_t row = 0; row < findings->row_count; row++) add_finding(out, a, findings, row);
    if (!gt_answers_is_hint(findings, 0))
        gt_buffer_add_format(out, "\nAll of this together: at best %.2f ms %s.\n",
                             gt_answers_number(a, "all_fixed_ms"), gt_answers_per(a));
    gt_buffer_add_cstr(out, "\n");
}

/* Of a server; the cells of phases without new tokens are empty. */
static void add_phases(gt_buffer *out, const gt_answers *a)
{
    const gt_table *summary = gt_answers_sheet(a, GT_SHEET_SERVING_SUMMARY);
    if (!summary) return;
    gt_buffer_add_cstr(
        out, "### Phases\n\n| phase | steps | % of the time | median ms | tokens/s | idle between steps % | "
             "within steps % |\n|---|--:|--:|--:|--:|--:|--:|\n");
    for (size_t row = 0; row < summary->row_count; row++) {
        gt_phase_figures f;
        if (!gt_serving_phase_figures(summary, row, &f)) continue;
        gt_buffer_add_format(out, "| %.*s | %.0f | %.1f | %.3f |", (int)f.phase.len, f.phase.bytes, f.steps,
                             f.time_pct, f.median_ms);
        if (f.generates)
            gt_buffer_add_format(out, " %.0f | %.1f | %.1f |\n", f.tokens_per_s, f.gap_pct,
                                 f.idle_inside_pct);
        else
            gt_buffer_add_cstr(out, " | | |\n");
    }
    gt_buffer_add_cstr(out, "\n");
}

static void add_causes(gt_buffer *out, const gt_answers *a)
{
    const gt_table *causes = gt_answers_sheet(a, GT_SHEET_IDLE_CAUSES);
    if (!causes) return;
    gt_buffer_add_format(out, "### Idle time\n\n| cause | ms %s | %% | most of it |\n|---|--:|--:|---|\n",
                         gt_answers_per(a));
    for (size_t row = 0; row < causes->row_count; row++) {
        gt_buffer_add_cstr(out, "| ");
        add_cell(out, causes, GT_COL_CAUSE, row);
        gt_buffer_add_format(out, " | %.2f | %.1f | ", gt_answers_value(causes, GT_COL_MS, row),
                             gt_answers_value(causes, GT_COL_PCT_OF_STEP, row));
        add_cell(out, causes, GT_COL_TOP_SITE, row);
        gt_buffer_add_cstr(out, " |\n");
    }
    gt_buffer_add_cstr(out, "\n");
}

/* JAX profiles have a timeline per GPU; shown is the mean, as on the terminal. */
static void add_timeline(gt_buffer *out, const gt_answers *a)
{
    const gt_table *mean = gt_answers_sheet(a, GT_SHEET_GPU_EVENTS_AVERAGES);
    const gt_table *timeline = mean ? mean : gt_answers_sheet(a, GT_SHEET_GPU_TIMELINE);
    const gt_table *by_device = gt_answers_sheet(a, GT_SHEET_GPU_TIMELINE_BY_DEVICE);
    if (!timeline) return;
    gt_buffer_add_cstr(out, "### GPU timeline of the whole trace");
    if (mean)
        gt_buffer_add_cstr(out, ", mean of the GPUs");
    else if (by_device && timeline->row_count)
        gt_buffer_add_format(out, ", %zu devices together (busy: at least one of them is)",
                             by_device->row_count / timeline->row_count);
    gt_buffer_add_cstr(out, "\n\n| type | ms | % |\n|---|--:|--:|\n");
    for (size_t row = 0; row < timeline->row_count; row++) {
        gt_buffer_add_cstr(out, "| ");
        add_cell(out, timeline, GT_COL_TYPE, row);
        if (gt_summary_is_recompute(timeline, row)) gt_buffer_add_cstr(out, " (recompute)");
        double percent = gt_answers_value(timeline, GT_COL_PERCENT, row);
        gt_buffer_add_format(out, " | %.3f | ", gt_answers_value(timeline, GT_COL_TIME_MS, row));
        if (isfinite(percent)) gt_buffer_add_format(out, "%.1f", percent);
        gt_buffer_add_cstr(out, " |\n");
    }
}

void gt_answers_markdown(const gt_answers *a, gt_buffer *out)
{
    if (gt_answers_exist(a->tables)) {
        add_header(out, a);
        add_checks(out, a);
        add_phases(out, a);
        add_findings(out, a);
        add_causes(out, a);
    } else {
        gt_buffer_add_cstr(out, "## GPU report: ");
        gt_answers_escape(out, gt_answers_trace(a));
        gt_buffer_add_cstr(out, "\n\n");
    }
    add_timeline(out, a);
}
