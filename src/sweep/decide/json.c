/* The decision about a sweep as JSON, for scripts (docs/sweep.md describes it). */
#include "sweep/decide/decide.h"

#include "report/answers.h"

static const gt_sweep_config *config_of(const gt_decision *d, size_t setting)
{
    return &d->measures->sweep->configs[d->measures->first_config[setting]];
}

/* A setting with the values of its axes and the variables that set them. */
static void put_setting(gt_json_writer *w, const char *key, const gt_decision *d, size_t setting)
{
    const gt_sweep *sweep = d->measures->sweep;
    const gt_sweep_config *config = config_of(d, setting);
    gt_arena arena = {0};
    gt_json_put_open(w, key, '{');
    gt_json_put_cstr(w, "setting", config->setting);
    gt_json_put_open(w, "values", '{');
    for (size_t a = 0; a < sweep->axis_count; a++)
        if (config->values[a].value) gt_json_put_cstr(w, sweep->axes[a].name, config->values[a].value);
    gt_json_close(w, '}');
    gt_json_put_open(w, "environment", '{');
    for (size_t a = 0; a < sweep->axis_count; a++) {
        const char *variable = gt_decision_variable(sweep, sweep->axes[a].name, &arena);
        if (variable && config->values[a].value) gt_json_put_cstr(w, variable, config->values[a].value);
    }
    gt_json_close(w, '}');
    gt_json_close(w, '}');
    gt_arena_free(&arena);
}

static void put_candidates(gt_json_writer *w, const gt_decision *d)
{
    gt_json_put_open(w, "candidates", '[');
    for (size_t r = 0; r < d->best.measured; r++)
        if (d->best.settings[d->best.order[r]].is_candidate)
            gt_json_add_cstr(w, config_of(d, d->best.order[r])->setting);
    gt_json_close(w, ']');
}

/* What the fastest setting saves of the time of the one in use. */
static void put_worth(gt_json_writer *w, const gt_decision *d, size_t given)
{
    size_t baseline = gt_decision_baseline(d, given);
    const gt_standing *standing = &d->best.settings[baseline];
    gt_json_put_cstr(w, "baseline", config_of(d, baseline)->setting);
    gt_json_put_real(w, "saved_pct", 100 * (1 - 1 / standing->to_best.ratio.value));
}

/* What `sweep run --more` adds runs to, and how many each needs in all; null: unknown. */
static void put_more(gt_json_writer *w, const gt_decision *d)
{
    size_t settings[GT_UNDECIDED_MAX], count = gt_decision_undecided(d, settings);
    double needed = NAN;
    gt_json_put_open(w, "more", '{');
    gt_json_put_open(w, "settings", '[');
    for (size_t i = 0; i < count; i++) {
        gt_json_add_cstr(w, config_of(d, settings[i])->setting);
        needed = fmax(needed, d->best.settings[settings[i]].runs_needed);
    }
    gt_json_close(w, ']');
    gt_json_put_real(w, "runs_needed", needed);
    gt_json_close(w, '}');
}

void gt_decision_json(const gt_decision *d, size_t baseline, const gt_table_list *tables, gt_buffer *out)
{
    gt_buffer answer = {0};
    gt_json_writer w = {0};
    gt_decision_say(d, baseline, &answer);
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "schema", GT_DECISION_SCHEMA);
    gt_json_put_cstr(&w, "answer", gt_buffer_str(&answer).bytes);
    gt_json_key(&w, "is_supported"); /* the fastest setting is the best one */
    gt_json_add_bool(&w, d->best.candidates == 1 && d->best.measured > 1);
    if (d->best.measured) {
        put_setting(&w, "fastest", d, d->best.order[0]);
        put_worth(&w, d, baseline);
    }
    put_candidates(&w, d);
    put_more(&w, d);
    gt_json_put_cstr(&w, "spread", gt_spread_source_names[d->spread]);
    gt_answers_put_sheets(&w, tables);
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    gt_buffer_add(out, w.text.bytes, w.text.len);
    gt_json_writer_free(&w);
    gt_buffer_free(&answer);
}
