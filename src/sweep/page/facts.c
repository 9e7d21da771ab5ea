/* The front of the page of sweeps: what it says before any table is unpacked. Of one sweep, that is the
 * recommendation and how sure it is; of several, what changed between the first and the others. */
#include "sweep/page/page.h"

#include "page/words.h"
#include "schema/columns.h"

enum { TILES_MAX = 5 };

/* Puts a sentence; a number and its % stay on one line. */
static void put_sentences(gt_json_writer *w, const char *key, gt_buffer *text)
{
    gt_buffer kept = {0};
    while (text->len && strchr("\n ", text->bytes[text->len - 1])) text->len--;
    for (size_t i = 0; i < text->len; i++)
        if (text->bytes[i] == ' ' && i + 1 < text->len && text->bytes[i + 1] == '%')
            gt_buffer_add_cstr(&kept, "\u00A0");
        else
            gt_buffer_add(&kept, &text->bytes[i], 1);
    gt_json_put_cstr(w, key, gt_buffer_str(&kept).bytes);
    gt_buffer_free(&kept);
    gt_buffer_free(text);
}

/* Puts a text without the line end or space at its end. */
static void put_text(gt_json_writer *w, const char *key, gt_buffer *text)
{
    while (text->len && strchr("\n ", text->bytes[text->len - 1])) text->len--;
    gt_json_put_cstr(w, key, gt_buffer_str(text).bytes);
    gt_buffer_free(text);
}

/* A cell of the sheet recommendation; the column of an axis may have the same name and comes before. */
static double figure(const gt_page_sweep *s, gt_col name, size_t row)
{
    const gt_table *sheet = gt_table_list_find(s->sheets, GT_SHEET_RECOMMENDATION);
    for (size_t c = sheet->column_count; c--;)
        if (gt_column_is(&sheet->columns[c], name)) return gt_column_number(&sheet->columns[c], row);
    return NAN;
}

/* ---- the sentence ---- */

/* Of more than three sweeps, the first screen has no room for all changes. */
static void put_sentence(gt_json_writer *w, const gt_page_sweep *sweeps, size_t count)
{
    gt_buffer text = {0};
    if (count == 1) gt_decision_say_verdict(sweeps[0].decision, true, &text);
    for (size_t i = 1; i < count && i < 3; i++) gt_sweep_page_say_changes(&sweeps[i], sweeps, &text);
    put_sentences(w, "sentence", &text);
}

/* ---- tiles ---- */

static void open_tile(gt_json_writer *w, const char *id, const char *label, double value, const char *unit)
{
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "id", id);
    gt_json_put_cstr(w, "label", label);
    gt_json_put_real(w, "value", value);
    gt_json_put_cstr(w, "unit", unit);
}

static void close_tile(gt_json_writer *w, gt_buffer *detail)
{
    put_sentences(w, "detail", detail);
    gt_json_close(w, '}');
}

static void say_interval(gt_buffer *text, gt_estimate ms)
{
    if (isnan(ms.low)) {
        gt_buffer_add_cstr(text, "one measurement");
        return;
    }
    gt_buffer_add_cstr(text, "95 % interval ");
    gt_words_add_time(text, ms.low * 1e6);
    gt_buffer_add_cstr(text, " to ");
    gt_words_add_time(text, ms.high * 1e6);
}

static void put_step_tile(gt_json_writer *w, const gt_page_sweep *s, const char *label)
{
    const gt_decision *d = s->decision;
    gt_estimate step = gt_decision_step(d, d->best.order[0]);
    gt_time_unit unit = gt_words_time_unit(step.value * 1e6);
    gt_buffer detail = {0};
    open_tile(w, "step", label, step.value * 1e6 / unit.ns, unit.name);
    gt_decision_say_setting(d, d->best.order[0], false, &detail);
    gt_buffer_add_cstr(&detail, "; ");
    say_interval(&detail, step);
    close_tile(w, &detail);
}

static void put_margin_tile(gt_json_writer *w, const gt_decision *d)
{
    gt_buffer detail = {0};
    const gt_standing *next = d->best.measured > 1 ? &d->best.settings[d->best.order[1]] : NULL;
    open_tile(w, "margin", "faster than the next", next ? 100 * (1 - 1 / next->to_best.ratio.value) : NAN,
              "%");
    if (!next)
        gt_buffer_add_cstr(&detail, "only one setting was measured");
    else if (isnan(next->to_best.p))
        gt_buffer_add_cstr(&detail, "one measurement per setting: noise is unknown");
    else if (next->is_candidate)
        gt_buffer_add_format(&detail, "may be noise: %zu of %zu settings cannot be told apart",
                             d->best.candidates, d->best.measured);
    else
        gt_buffer_add_format(&detail, "supported; 95 %% interval %.1f to %.1f %%",
                             100 * (1 - 1 / next->to_best.ratio.low),
                             100 * (1 - 1 / next->to_best.ratio.high));
    close_tile(w, &detail);
}

static void put_worth_tile(gt_json_writer *w, const gt_page_sweep *s)
{
    const gt_decision *d = s->decision;
    size_t other = gt_decision_baseline(d, s->baseline);
    const gt_standing *standing = &d->best.settings[other];
    double ratio = standing->to_best.ratio.value;
    gt_buffer detail = {0};
    open_tile(w, "worth", "saved per day", d->best.measured > 1 && ratio >= 1 ? 24 * (1 - 1 / ratio) : NAN,
              "h");
    gt_buffer_add_cstr(&detail,
                       s->baseline == SIZE_MAX ? "compared with the median setting, " : "compared with ");
    gt_decision_say_setting(d, other, false, &detail);
    if (standing->is_candidate && other != d->best.order[0]) gt_buffer_add_cstr(&detail, "; not supported");
    close_tile(w, &detail);
}

/* A figure of the fastest setting, and what others have. */
static void put_figure_tile(gt_json_writer *w, const gt_page_sweep *s, gt_col name, const char *id,
                            const char *label, const char *unit, const char *nothing)
{
    const gt_best *best = &s->decision->best;
    double value = figure(s, name, 0), low = INFINITY, high = -INFINITY;
    gt_buffer detail = {0};
    for (size_t row = 0; row < best->measured; row++) {
        double other = figure(s, name, row);
        if (other < low) low = other;
        if (other > high) high = other;
    }
    open_tile(w, id, label, value, unit);
    if (high >= low && best->measured > 1)
        gt_buffer_add_format(&detail, "all settings: %.3g to %.3g %s", low, high, unit);
    else if (isnan(value))
        gt_buffer_add_cstr(&detail, nothing);
    else
        gt_buffer_add_cstr(&detail, "per step, of the fastest setting");
    close_tile(w, &detail);
}

static void put_tiles(gt_json_writer *w, const gt_page_sweep *sweeps, size_t count)
{
    gt_json_put_open(w, "tiles", '[');
    if (count == 1 && sweeps[0].decision->best.measured) {
        put_step_tile(w, sweeps, "step time of the fastest");
        put_margin_tile(w, sweeps[0].decision);
        put_worth_tile(w, sweeps);
        put_figure_tile(w, sweeps, GT_COL_EXPOSED_COMM_MS, "exposed", "exposed communication", "ms",
                        "no communication");
        put_figure_tile(w, sweeps, GT_COL_GEMM_SLOWDOWN, "slowdown", "GEMM time during collectives", "\u00D7",
                        "no GEMM ran both with and without a collective");
    }
    for (size_t i = 0; count > 1 && i < count && i < TILES_MAX; i++)
        if (sweeps[i].decision->best.measured) {
            char *label = gt_format("fastest of %s", sweeps[i].label);
            put_step_tile(w, &sweeps[i], label);
            gt_free(label);
        }
    gt_json_close(w, ']');
}

/* ---- decisions ---- */

static void put_axes(gt_json_writer *w, const gt_sweep *sweep)
{
    gt_json_put_open(w, "axes", '[');
    for (size_t a = 0; a < sweep->axis_count; a++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "name", sweep->axes[a].name);
        gt_json_put_cstrs(w, "values", sweep->axes[a].values, sweep->axes[a].value_count);
        gt_json_put_bool(w, "numeric", sweep->axes[a].is_numeric);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_decision(gt_json_writer *w, const gt_page_sweep *s)
{
    const gt_decision *d = s->decision;
    gt_buffer verdict = {0}, worth = {0}, limits = {0}, environment = {0};
    gt_decision_say_verdict(d, true, &verdict);
    if (d->best.measured) {
        gt_decision_say_worth(d, s->baseline, true, &worth);
        gt_decision_say_limits(d, &limits);
        gt_decision_say_environment(d, &environment);
    }
    gt_json_open(w, '{');
    put_sentences(w, "verdict", &verdict);
    put_sentences(w, "worth", &worth);
    put_sentences(w, "limits", &limits);
    put_text(w, "environment", &environment);
    gt_json_put_int(w, "settings", (int64_t)d->measures->setting_count);
    gt_json_put_int(w, "measured", (int64_t)d->best.measured);
    gt_json_put_int(w, "candidates", (int64_t)d->best.candidates);
    gt_json_put_cstr(w, "spread", gt_spread_source_names[d->spread]);
    size_t baseline = gt_decision_baseline(d, s->baseline);
    gt_json_put_int(w, "baseline", (int64_t)d->best.settings[baseline].rank - 1);
    gt_json_put_bool(w, "baseline_given", s->baseline != SIZE_MAX);
    gt_json_put_bool(w, "balanced", d->effects.is_balanced);
    put_axes(w, d->measures->sweep);
    gt_json_close(w, '}');
}

/* The conditions of --fail_if. */
static void put_gate(gt_json_writer *w, const gt_sweep_answer *answer)
{
    gt_json_put_open(w, "gate", '{');
    gt_json_put_cstr(w, "outcome", gt_gate_outcome_names[answer->outcome]);
    gt_json_put_cstr(w, "problem", answer->problem);
    gt_json_put_cstrs(w, "conditions", answer->conditions, answer->condition_count);
    gt_json_close(w, '}');
}

void gt_sweep_page_facts(const gt_page_sweep *sweeps, const gt_sweep_spread *spreads, size_t count,
                         const gt_sweep_notes *notes, gt_buffer *json)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    put_sentence(&w, sweeps, count);
    put_tiles(&w, sweeps, count);
    gt_json_put_cstrs(&w, "notes", (const char *const *)notes->items, notes->count);
    gt_json_put_open(&w, "decisions", '[');
    for (size_t i = 0; i < count; i++) put_decision(&w, &sweeps[i]);
    gt_json_close(&w, ']');
    for (size_t i = 1; i < count; i++)
        if (sweeps[i].answer->condition_count) put_gate(&w, sweeps[i].answer);
    gt_sweep_spread_put_axes(&w, spreads, count);
    gt_json_close(&w, '}');
    gt_buffer_add(json, w.text.bytes, w.text.len);
    gt_json_writer_free(&w);
}
