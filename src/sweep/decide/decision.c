/* From measurements to a decision: what the measurements of a setting are, which setting is the best, and
 * which axes matter.
 *
 * With repeats, each run is one measurement. Otherwise the intervals are of the steps of the run, or of its
 * ranks if the traces have no steps: a spread within one run. It says nothing about the next run, so it is
 * not used to compare settings, and effects are compared with the interactions. */
#include "sweep/decide/decide.h"

const char *const gt_spread_source_names[] = {"repeats", "steps", "ranks", "none"};

/* The most measurements that any setting has of each kind. */
static gt_spread_source choose_spread(const gt_sweep_measures *m)
{
    size_t most[GT_SPREAD_NONE] = {0};
    for (size_t s = 0; s < m->setting_count; s++) {
        size_t runs = 0;
        for (size_t i = m->first_config[s]; i < gt_setting_runs_end(m, s); i++) {
            const gt_run_measures *run = &m->runs[i];
            runs += isnan(run->step_ms) ? 0 : 1;
            if (m->has_steps && run->steps.count > most[GT_SPREAD_STEPS])
                most[GT_SPREAD_STEPS] = run->steps.count;
            if (run->per_rank.count > most[GT_SPREAD_RANKS]) most[GT_SPREAD_RANKS] = run->per_rank.count;
        }
        if (runs > most[GT_SPREAD_REPEATS]) most[GT_SPREAD_REPEATS] = runs;
    }
    for (gt_spread_source source = 0; source < GT_SPREAD_NONE; source++)
        if (most[source] > 1) return source;
    return GT_SPREAD_NONE;
}

static void take_values(gt_decision *d)
{
    const gt_sweep_measures *m = d->measures;
    for (size_t i = 0; i < m->sweep->count; i++) {
        const gt_run_measures *run = &m->runs[i];
        gt_number_series *values = &d->values[run->setting];
        const gt_number_series *from = d->spread == GT_SPREAD_STEPS ? &run->steps : &run->per_rank;
        if (isnan(run->step_ms)) continue;
        if (d->spread == GT_SPREAD_REPEATS || d->spread == GT_SPREAD_NONE) {
            gt_series_add(values, run->step_ms);
            continue;
        }
        for (size_t k = 0; k < from->count; k++) gt_series_add(values, from->items[k]);
    }
}

/* What effects are computed from: runs, without outliers, each setting with its own noise. */
static gt_log_sample *samples_of_effects(const gt_decision *d)
{
    const gt_sweep_measures *m = d->measures;
    gt_log_sample *samples = gt_alloc((m->setting_count + 1) * sizeof *samples);
    for (size_t s = 0; s < m->setting_count; s++) {
        samples[s] = d->samples[s];
        if (d->spread == GT_SPREAD_REPEATS && samples[s].is_clear) continue;
        gt_number_series runs = {0};
        for (size_t i = m->first_config[s]; i < gt_setting_runs_end(m, s); i++)
            gt_series_add(&runs, m->runs[i].step_ms);
        samples[s] = gt_log_sample_of(runs.items, runs.count);
        gt_free(runs.items);
    }
    return samples;
}

static void find_effects(gt_decision *d)
{
    const gt_sweep *sweep = d->measures->sweep;
    size_t count = d->measures->setting_count, axes = sweep->axis_count;
    gt_log_sample *samples = samples_of_effects(d);
    size_t *levels = gt_alloc((axes + 1) * sizeof *levels),
           *places = gt_alloc((count * axes + 1) * sizeof *places);
    for (size_t a = 0; a < axes; a++) {
        levels[a] = sweep->axes[a].value_count;
        bool is_missing = false;
        for (size_t s = 0; s < count; s++) {
            size_t place = sweep->configs[d->measures->first_config[s]].values[a].place;
            is_missing |= place >= sweep->axes[a].value_count;
            places[s * axes + a] = place < sweep->axes[a].value_count ? place : sweep->axes[a].value_count;
        }
        levels[a] += is_missing; /* settings without the axis have a value of their own */
    }
    d->has_effects = gt_effects_find(&d->effects, &(gt_effect_design){samples, count, axes, levels, places});
    gt_free(samples);
    gt_free(levels);
    gt_free(places);
}

/* Without whole runs, nothing is told apart. */
static void doubt_all(gt_best *best)
{
    for (size_t r = 0; r < best->measured; r++) best->settings[best->order[r]].is_candidate = true;
    best->candidates = best->measured;
}

void gt_decide(gt_decision *d, gt_sweep_measures *measures)
{
    *d = (gt_decision){.measures = measures, .spread = choose_spread(measures)};
    d->values = gt_alloc_zero(measures->setting_count + 1, sizeof *d->values);
    d->samples = gt_alloc((measures->setting_count + 1) * sizeof *d->samples);
    take_values(d);
    bool are_runs = d->spread == GT_SPREAD_REPEATS;
    if (are_runs) d->model = gt_runs_model_new(d->samples, d->values, measures->setting_count);
    for (size_t s = 0; !are_runs && s < measures->setting_count; s++)
        d->samples[s] = gt_log_sample_of(d->values[s].items, d->values[s].count);
    find_effects(d);
    d->best = gt_best_find(d->samples, measures->setting_count, d->model);
    if (measures->is_partial) doubt_all(&d->best);
}

void gt_decision_free(gt_decision *d)
{
    for (size_t s = 0; s < d->measures->setting_count; s++) gt_free(d->values[s].items);
    gt_free(d->values);
    gt_free(d->samples);
    gt_runs_model_free(d->model);
    gt_best_free(&d->best);
    gt_effects_free(&d->effects);
}

gt_estimate gt_decision_step(const gt_decision *d, size_t setting)
{
    return d->model ? gt_runs_mean(d->model, d->samples, setting) : gt_log_sample_mean(&d->samples[setting]);
}

size_t gt_decision_setting(const gt_decision *d, const char *name)
{
    const gt_sweep_measures *m = d->measures;
    for (size_t s = 0; s < m->setting_count; s++)
        if (strcmp(m->sweep->configs[m->first_config[s]].setting, name) == 0) return s;
    return SIZE_MAX;
}
