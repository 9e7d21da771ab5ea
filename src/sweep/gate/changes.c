/* Settings of two sweeps are matched by the values of their axes, whatever the order of the axes. Each
 * measure of each setting is then compared, with what the settings of both sweeps say about noise and
 * disturbed runs (decide/model.c), and all p-values of one measure are corrected for their number (Holm).
 * What was run once is not compared: the spread of its steps, ranks or calls says nothing about the next run.
 *
 * A measure that is 0 in one of the runs, such as exposed communication, has no logarithm. Such a change is
 * tested on a linear scale, with its own noise (Welch). */
#include "sweep/gate/gate.h"

const char *const gt_sweep_measure_names[GT_MEASURES] = {
    [GT_MEASURE_STEP] = "step_ms", [GT_MEASURE_EXPOSED] = "exposed_comm_ms",
    [GT_MEASURE_GEMM] = "gemm_ms", [GT_MEASURE_SLOWDOWN] = "gemm_slowdown",
    [GT_MEASURE_BUS] = "bus_gb_s",
};
const char *const gt_change_verdict_names[GT_CHANGE_VERDICTS] = {
    [GT_CHANGE_WORSE] = "worse",
    [GT_CHANGE_BETTER] = "better",
    [GT_CHANGE_UNDECIDED] = "not told apart",
    [GT_CHANGE_UNKNOWN] = "unknown",
    [GT_CHANGE_MISSING] = "missing",
    [GT_CHANGE_NEW] = "new",
    [GT_CHANGE_UNEQUAL] = "not comparable",
};

enum { OLD, NEW };

/* ---- settings ---- */

static bool is_measured(const gt_sweep_measures *m, size_t setting)
{
    for (size_t i = m->first_config[setting]; i < gt_setting_runs_end(m, setting); i++)
        if (!isnan(m->runs[i].step_ms)) return true;
    return false;
}

static int by_axis(const void *a, const void *b)
{
    return strcmp(((const gt_sweep_value *)a)->axis, ((const gt_sweep_value *)b)->axis);
}

/* Axes and values in the order of the names of the axes, as a key. */
static uint32_t key_of(gt_interner *keys, const gt_sweep_measures *m, size_t setting)
{
    const gt_sweep_config *config = &m->sweep->configs[m->first_config[setting]];
    size_t count = 0;
    gt_buffer text = {0};
    gt_sweep_value *values = gt_alloc((m->sweep->axis_count + 1) * sizeof *values);
    for (size_t a = 0; a < m->sweep->axis_count; a++)
        if (config->values[a].value) values[count++] = config->values[a];
    if (count) qsort(values, count, sizeof *values, by_axis);
    for (size_t a = 0; a < count; a++) {
        gt_buffer_add(&text, values[a].axis, strlen(values[a].axis) + 1);
        gt_buffer_add(&text, values[a].value, strlen(values[a].value) + 1);
    }
    if (!count) gt_buffer_add_cstr(&text, config->setting);
    uint32_t key = gt_interner_add(keys, gt_buffer_str(&text).bytes, text.len);
    gt_buffer_free(&text);
    gt_free(values);
    return key;
}

static void match_settings(gt_sweep_changes *c)
{
    size_t most = c->sweeps[OLD]->setting_count + c->sweeps[NEW]->setting_count;
    gt_interner *keys = gt_interner_new();
    gt_map pairs = {0};
    c->settings = gt_alloc_zero(most + 1, sizeof *c->settings);
    for (size_t k = OLD; k <= NEW; k++) {
        const gt_sweep_measures *m = c->sweeps[k];
        for (size_t s = 0; s < m->setting_count; s++) {
            if (!is_measured(m, s) && !gt_setting_left_out(m, s)) continue;
            uint32_t *index = gt_map_put(&pairs, key_of(keys, m, s), 0);
            if (*index == GT_MAP_NONE) {
                *index = (uint32_t)c->setting_count;
                c->settings[c->setting_count++] =
                    (gt_setting_pair){{SIZE_MAX, SIZE_MAX},
                                      m->sweep->configs[m->first_config[s]].setting,
                                      SIZE_MAX,
                                      k == OLD ? GT_CHANGE_MISSING : GT_CHANGE_NEW,
                                      NULL};
            }
            c->settings[*index].settings[k] = s;
        }
    }
    for (size_t i = 0; i < c->setting_count; i++)
        c->in_both += c->settings[i].settings[OLD] != SIZE_MAX && c->settings[i].settings[NEW] != SIZE_MAX;
    gt_map_free(&pairs);
    gt_interner_free(keys);
}

/* ---- what cannot be compared ---- */

/* The first run of a setting that counts. */
static const gt_run_measures *first_run(const gt_sweep_measures *m, size_t setting)
{
    size_t i = m->first_config[setting];
    while (i + 1 < gt_setting_runs_end(m, setting) && isnan(m->runs[i].step_ms)) i++;
    return &m->runs[i];
}

/* Why the measures of a setting are not of the same kind in both sweeps; NULL: they are. */
static char *find_reason(const gt_sweep_changes *c, const gt_setting_pair *pair)
{
    static const char *const names[] = {"old", "new"};
    for (size_t k = OLD; k <= NEW; k++) {
        const char *reason =
            pair->settings[k] == SIZE_MAX ? NULL : gt_setting_left_out(c->sweeps[k], pair->settings[k]);
        if (reason) return gt_format("in the %s sweep, %s", names[k], reason);
    }
    if (pair->settings[OLD] == SIZE_MAX || pair->settings[NEW] == SIZE_MAX) return NULL;
    for (size_t k = OLD; k <= NEW; k++)
        if (c->sweeps[k]->is_partial)
            return gt_format("in the %s sweep, no run has whole traces of all ranks", names[k]);
    const gt_run_measures *runs[] = {first_run(c->sweeps[OLD], pair->settings[OLD]),
                                     first_run(c->sweeps[NEW], pair->settings[NEW])};
    if (runs[OLD]->basis != runs[NEW]->basis)
        return gt_format("traces of the %s sweep have several marked steps, those of the %s sweep do not",
                         names[runs[OLD]->basis != GT_BASIS_STEPS],
                         names[runs[OLD]->basis == GT_BASIS_STEPS]);
    for (size_t k = OLD; k <= NEW; k++) {
        char *lacking = gt_rank_set_lacks(&runs[k]->measured, &runs[!k]->measured, runs[k]->world), *reason;
        if (!lacking) continue;
        reason = gt_format("in the %s sweep, there is no trace of %s", names[k], lacking);
        gt_free(lacking);
        return reason;
    }
    return NULL;
}

static void find_unequal(gt_sweep_changes *c)
{
    for (size_t i = 0; i < c->setting_count; i++) {
        char *reason = find_reason(c, &c->settings[i]);
        if (!reason) continue;
        uint32_t id = gt_interner_add_cstr(c->strings, reason);
        c->settings[i].verdict = GT_CHANGE_UNEQUAL;
        c->settings[i].reason = gt_interner_get(c->strings, id).bytes;
        gt_free(reason);
    }
}

static bool is_compared(const gt_setting_pair *pair)
{
    return pair->settings[OLD] != SIZE_MAX && pair->settings[NEW] != SIZE_MAX &&
           pair->verdict != GT_CHANGE_UNEQUAL;
}

/* ---- values ---- */

/* With repeats in one of the sweeps, runs are compared with runs. */
static gt_spread_source choose_spread(const gt_sweep_changes *c)
{
    size_t most_runs = 0, most_steps[2] = {0}, most_ranks[2] = {0};
    for (size_t i = 0; i < c->setting_count; i++)
        for (size_t k = OLD; k <= NEW; k++) {
            size_t setting = c->settings[i].settings[k], runs = 0;
            const gt_sweep_measures *m = c->sweeps[k];
            for (size_t r = setting == SIZE_MAX ? SIZE_MAX : m->first_config[setting];
                 setting != SIZE_MAX && r < gt_setting_runs_end(m, setting); r++) {
                const gt_run_measures *run = &m->runs[r];
                runs += isnan(run->step_ms) ? 0 : 1;
                if (m->has_steps && run->steps.count > most_steps[k]) most_steps[k] = run->steps.count;
                if (run->per_rank.count > most_ranks[k]) most_ranks[k] = run->per_rank.count;
            }
            if (runs > most_runs) most_runs = runs;
        }
    return most_runs > 1                                ? GT_SPREAD_REPEATS
           : most_steps[OLD] > 1 && most_steps[NEW] > 1 ? GT_SPREAD_STEPS
           : most_ranks[OLD] > 1 && most_ranks[NEW] > 1 ? GT_SPREAD_RANKS
                                                        : GT_SPREAD_NONE;
}

/* Slowdowns compare calls of the whole run, so their spread within a run is that of ranks. */
static gt_spread_source spread_of(gt_spread_source spread, gt_sweep_measure_kind kind)
{
    return kind == GT_MEASURE_SLOWDOWN && spread == GT_SPREAD_STEPS ? GT_SPREAD_RANKS : spread;
}

static double of_run(const gt_run_measures *run, gt_sweep_measure_kind kind)
{
    const double values[] = {run->step_ms, run->exposed_ms, run->gemm_ms, run->slowdown};
    return values[kind];
}

static const gt_number_series *within_run(const gt_run_measures *run, gt_sweep_measure_kind kind,
                                          gt_spread_source spread)
{
    const gt_number_series *const steps[] = {&run->steps, &run->step_exposed_ms, &run->step_gemm_ms, NULL};
    const gt_number_series *const ranks[] = {&run->per_rank, &run->rank_exposed_ms, &run->rank_gemm_ms,
                                             &run->rank_slowdowns};
    return spread == GT_SPREAD_STEPS ? steps[kind] : ranks[kind];
}

static void take_values(gt_number_series *values, const gt_sweep_measures *m, size_t setting,
                        gt_sweep_measure_kind kind, gt_spread_source spread)
{
    for (size_t i = m->first_config[setting]; i < gt_setting_runs_end(m, setting); i++) {
        const gt_run_measures *run = &m->runs[i];
        if (isnan(run->step_ms)) continue;
        if (spread == GT_SPREAD_REPEATS || spread == GT_SPREAD_NONE) {
            if (isfinite(of_run(run, kind))) gt_series_add(values, of_run(run, kind));
            continue;
        }
        const gt_number_series *from = within_run(run, kind, spread);
        for (size_t k = 0; k < from->count; k++) gt_series_add(values, from->items[k]);
    }
}

static void add_times(gt_sweep_changes *c, gt_sweep_measure_kind kind)
{
    gt_spread_source spread = spread_of(c->spread, kind);
    for (size_t i = 0; i < c->setting_count; i++) {
        const gt_setting_pair *pair = &c->settings[i];
        if (!is_compared(pair)) continue;
        gt_sweep_change change = {
            .setting = i, .kind = kind, .message_mb = NAN, .spread = gt_spread_source_names[spread]};
        for (size_t k = OLD; k <= NEW; k++)
            take_values(&change.values[k], c->sweeps[k], pair->settings[k], kind, spread);
        if (!change.values[OLD].count && !change.values[NEW].count) continue; /* nobody has it */
        GT_PUSH(c->changes, c->change_count, c->change_capacity, change);
    }
}

/* ---- bandwidths ---- */

static void copy_series(gt_number_series *to, const gt_number_series *from)
{
    for (size_t i = 0; i < from->count; i++) gt_series_add(to, from->items[i]);
}

static int by_collective(const void *left, const void *right)
{
    const gt_sweep_change *a = left, *b = right;
    int order = strcmp(a->collective, b->collective);
    if (order) return order;
    if (a->message_mb != b->message_mb) return a->message_mb < b->message_mb ? -1 : 1;
    return (a->setting > b->setting) - (a->setting < b->setting);
}

/* One change per setting of both sweeps, collective and size that one of them has. */
static void add_bandwidths(gt_sweep_changes *c)
{
    gt_interner *keys = gt_interner_new();
    gt_map rows = {0}, pairs[2] = {{0}, {0}};
    size_t first = c->change_count;
    for (size_t i = 0; i < c->setting_count; i++)
        for (size_t k = OLD; k <= NEW; k++)
            if (is_compared(&c->settings[i]))
                *gt_map_put(&pairs[k], c->settings[i].settings[k], 0) = (uint32_t)i;
    for (size_t k = OLD; k <= NEW; k++)
        for (size_t i = 0; i < c->sweeps[k]->bandwidth_count; i++) {
            const gt_bandwidth_row *row = &c->sweeps[k]->bandwidths[i];
            uint32_t pair = gt_map_get(&pairs[k], row->setting, 0);
            if (pair == GT_MAP_NONE) continue;
            gt_str name = gt_interner_get(c->sweeps[k]->strings, row->collective);
            uint32_t collective = gt_interner_add(c->strings, name.bytes, name.len);
            struct {
                double mb;
                uint32_t pair, collective;
            } parts = {row->size_mb, pair, collective};
            uint32_t *index = gt_map_put(&rows, gt_interner_add(keys, &parts, sizeof parts), 0);
            if (*index == GT_MAP_NONE) {
                gt_sweep_change change = {.setting = pair,
                                          .kind = GT_MEASURE_BUS,
                                          .collective = gt_interner_get(c->strings, collective).bytes,
                                          .message_mb = row->size_mb,
                                          .spread = c->spread == GT_SPREAD_REPEATS ? "repeats" : "calls"};
                *index = (uint32_t)c->change_count;
                GT_PUSH(c->changes, c->change_count, c->change_capacity, change);
            }
            copy_series(&c->changes[*index].values[k],
                        c->spread == GT_SPREAD_REPEATS ? &row->run_bus_gb_s : &row->bus_gb_s);
        }
    if (c->change_count > first)
        qsort(c->changes + first, c->change_count - first, sizeof *c->changes, by_collective);
    for (size_t k = OLD; k <= NEW; k++) gt_map_free(&pairs[k]);
    gt_map_free(&rows);
    gt_interner_free(keys);
}

/* ---- tests ---- */

/* Values as multiples of the mean of all, whose differences are tested as those of logarithms are. */
static gt_log_sample linear_sample(const gt_number_series *values, double scale)
{
    double *scaled = gt_alloc((values->count + 1) * sizeof *scaled);
    for (size_t i = 0; i < values->count; i++) scaled[i] = values->items[i] / scale;
    gt_log_sample sample = gt_log_sample_of_logs(scaled, values->count);
    gt_free(scaled);
    return sample;
}

/* A measure that may be 0 is compared as it is. */
static void find_scale(gt_sweep_change *change)
{
    double sum = 0;
    size_t count = 0;
    bool is_positive = true;
    for (size_t k = OLD; k <= NEW; k++)
        for (size_t i = 0; i < change->values[k].count; i++, count++) {
            sum += change->values[k].items[i];
            is_positive &= change->values[k].items[i] > 0;
        }
    change->scale = is_positive || !count ? 0 : sum > 0 ? sum / (double)count : 1;
}

/* What a disturbance makes larger: of a bandwidth, its reciprocal. */
static gt_number_series costs_of(const gt_sweep_change *change, size_t which)
{
    gt_number_series costs = {0};
    for (size_t i = 0; i < change->values[which].count; i++) {
        double value = change->values[which].items[i];
        gt_series_add(&costs, change->kind == GT_MEASURE_BUS ? 1 / value : value);
    }
    return costs;
}

/* The noise of small and of large messages differs, so only settings of one collective and size share it. */
static size_t group_end(const gt_sweep_change *changes, size_t begin, size_t count)
{
    size_t end = begin + 1;
    while (end < count &&
           (!changes[end].collective || (strcmp(changes[end].collective, changes[begin].collective) == 0 &&
                                         changes[end].message_mb == changes[begin].message_mb)))
        end++;
    return end;
}

static double percent(double difference, double old_value)
{
    if (old_value > 0) return 100 * difference / old_value;
    return difference == 0 ? 0 : isnan(difference) ? NAN : copysign(INFINITY, difference);
}

static void set_change(gt_sweep_change *change, gt_ratio_test test, bool are_runs)
{
    const gt_log_sample *old = &change->samples[OLD], *new = &change->samples[NEW];
    bool is_bus = change->kind == GT_MEASURE_BUS;
    if (!are_runs) test.p = test.ratio.low = test.ratio.high = NAN;
    change->p_single = test.p;
    if (change->scale > 0) {
        double scale = change->scale;
        change->old_value = old->mean * scale;
        change->new_value = new->mean *scale;
        change->change_pct = (gt_estimate){percent((new->mean - old->mean) * scale, change->old_value),
                                           percent(log(test.ratio.low) * scale, change->old_value),
                                           percent(log(test.ratio.high) * scale, change->old_value)};
        return;
    }
    gt_estimate ratio = test.ratio;
    if (is_bus) ratio = (gt_estimate){1 / ratio.value, 1 / ratio.high, 1 / ratio.low};
    change->old_value = exp(is_bus ? -old->typical : old->typical);
    change->new_value = exp(is_bus ? -new->typical : new->typical);
    change->change_pct =
        (gt_estimate){100 * (ratio.value - 1), 100 * (ratio.low - 1), 100 * (ratio.high - 1)};
}

/* Compares changes whose settings share what is known of the noise. */
static void compare(gt_sweep_change *changes, size_t count, bool are_runs)
{
    size_t used = 0;
    gt_log_sample *samples = gt_alloc((2 * count + 1) * sizeof *samples);
    gt_number_series *costs = gt_alloc((2 * count + 1) * sizeof *costs);
    for (size_t i = 0; i < count; i++) {
        find_scale(&changes[i]);
        for (size_t k = OLD; k <= NEW && !(changes[i].scale > 0); k++)
            costs[used++] = costs_of(&changes[i], k);
    }
    for (size_t i = 0; !are_runs && i < used; i++)
        samples[i] = gt_log_sample_of(costs[i].items, costs[i].count);
    gt_runs_model *model = are_runs ? gt_runs_model_new(samples, costs, used) : NULL;
    for (size_t i = used; i-- > 0;) gt_free(costs[i].items);
    used = 0;
    for (size_t i = 0; i < count; i++) {
        gt_sweep_change *change = &changes[i];
        gt_log_sample *pair = change->samples;
        bool is_linear = change->scale > 0;
        for (size_t k = OLD; k <= NEW; k++)
            pair[k] = is_linear ? linear_sample(&change->values[k], change->scale) : samples[used + k];
        set_change(change,
                   model && !is_linear ? gt_runs_compare(model, samples, used + NEW, used + OLD, true)
                                       : gt_compare_samples(&pair[NEW], &pair[OLD]),
                   are_runs);
        if (!is_linear) used += 2;
    }
    gt_runs_model_free(model);
    gt_free(samples);
    gt_free(costs);
}

static gt_change_verdict verdict_of(const gt_sweep_change *change)
{
    if (!change->values[NEW].count) return GT_CHANGE_MISSING;
    if (!change->values[OLD].count) return GT_CHANGE_NEW;
    if (isnan(change->p_value)) return GT_CHANGE_UNKNOWN;
    if (!(change->p_value < GT_CHANGE_ALPHA)) return GT_CHANGE_UNDECIDED;
    bool is_more = change->new_value > change->old_value;
    return is_more == (change->kind == GT_MEASURE_BUS) ? GT_CHANGE_BETTER : GT_CHANGE_WORSE;
}

void gt_sweep_changes_test(gt_sweep_change *changes, size_t count, bool are_runs)
{
    double *p = gt_alloc((count + 1) * sizeof *p);
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = group_end(changes, begin, count);
        compare(&changes[begin], end - begin, are_runs);
    }
    for (size_t i = 0; i < count; i++) p[i] = changes[i].p_single;
    gt_holm_correct(p, count);
    for (size_t i = 0; i < count; i++) {
        changes[i].p_value = p[i];
        changes[i].verdict = verdict_of(&changes[i]);
    }
    gt_free(p);
}

/* ---- all of them ---- */

void gt_sweep_changes_find(gt_sweep_changes *c, const gt_sweep_measures *old_sweep,
                           const gt_sweep_measures *new_sweep)
{
    *c = (gt_sweep_changes){.sweeps = {old_sweep, new_sweep}, .strings = gt_interner_new()};
    match_settings(c);
    find_unequal(c);
    c->spread = choose_spread(c);
    for (gt_sweep_measure_kind kind = 0; kind < GT_MEASURES; kind++) {
        size_t first = c->change_count;
        if (kind == GT_MEASURE_BUS)
            add_bandwidths(c);
        else
            add_times(c, kind);
        if (c->change_count > first)
            gt_sweep_changes_test(c->changes + first, c->change_count - first,
                                  c->spread == GT_SPREAD_REPEATS);
    }
    for (size_t i = 0; i < c->change_count; i++) {
        if (c->changes[i].kind != GT_MEASURE_STEP) continue;
        c->settings[c->changes[i].setting].step = i;
        c->settings[c->changes[i].setting].verdict = c->changes[i].verdict;
    }
}

void gt_sweep_changes_free(gt_sweep_changes *c)
{
    for (size_t i = 0; i < c->change_count; i++)
        for (size_t k = OLD; k <= NEW; k++) gt_free(c->changes[i].values[k].items);
    gt_free(c->changes);
    gt_free(c->settings);
    gt_interner_free(c->strings);
    *c = (gt_sweep_changes){0};
}

size_t gt_sweep_changes_count(const gt_sweep_changes *c, gt_change_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < c->setting_count; i++) count += c->settings[i].verdict == verdict;
    return count;
}
