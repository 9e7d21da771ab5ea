/* Runs that are far from the others of their setting (model.c), and what was different in them.
 *
 * outlier_runs, one row per such run:
 *     run, step_ms, slower_pct         compared with the runs of its setting that agree
 *     started, node, host              as sweep.json has them
 *     differs                          in words: node, host, order, attempts, longer part of the step
 *     left_out                         false: too many runs of its setting are like this one */
#include "sweep/decide/decide.h"

#include "schema/columns.h"
#include "sweep/record.h"

/* What sweep.json says about a run; strings are empty where it says nothing. */
typedef struct run_facts {
    const char *start, *node, *host;
    size_t attempts;
} run_facts;

static const char *text_of(gt_arena *arena, const gt_value *value)
{
    const char *text = value->type == GT_VALUE_STRING ? gt_value_copy(arena, value) : NULL;
    return text ? text : "";
}

/* The host of the last call of `sweep run` that began before the run; times of one sweep sort as text. */
static const char *host_of(gt_arena *arena, const gt_value *record, const char *start)
{
    const gt_value *sessions = gt_value_get(record, "sessions");
    const char *host = "";
    for (uint32_t i = 0; gt_value_is_list(sessions) && i < sessions->count; i++)
        if (strcmp(text_of(arena, gt_value_get(&sessions->items[i], "start")), start) <= 0)
            host = text_of(arena, gt_value_get(gt_value_get(&sessions->items[i], "machine"), "host"));
    return host;
}

static run_facts facts_of(gt_arena *arena, const gt_sweep *sweep, size_t run)
{
    const gt_value *point = gt_sweep_record_point(sweep->record, sweep->configs[run].place),
                   *attempts = gt_value_get(point, "attempts");
    run_facts facts = {.start = text_of(arena, gt_value_get(point, "start")), .node = "", .host = ""};
    if (gt_value_is_list(attempts) && attempts->count) {
        facts.attempts = attempts->count;
        facts.node = text_of(arena, gt_value_get(&attempts->items[attempts->count - 1], "node"));
    }
    if (*facts.start) facts.host = host_of(arena, sweep->record->json, facts.start);
    return facts;
}

static void add(gt_buffer *text, char *words)
{
    gt_buffer_add_format(text, "%s%s", text->len ? "; " : "", words);
    gt_free(words);
}

/* The part of the step that explains at least half of what the run takes longer. */
static void add_longer_part(gt_buffer *text, const gt_run_measures *run, const gt_run_measures *usual)
{
    double longer = run->step_ms - usual->step_ms;
    const struct {
        const char *name;
        double now, before;
    } parts[] = {{"GEMMs take", run->gemm_ms, usual->gemm_ms},
                 {"exposed communication takes", run->exposed_ms, usual->exposed_ms}};
    bool found = false;
    for (size_t i = 0; i < GT_LENGTH(parts) && longer > 0; i++) {
        if (!(parts[i].now - parts[i].before >= longer / 2)) continue;
        add(text, gt_format("%s %.4g instead of %.4g ms", parts[i].name, parts[i].now, parts[i].before));
        found = true;
    }
    if (!found && longer > 0) add(text, gt_strdup("neither GEMMs nor exposed communication explain it"));
}

static bool is_outlier(const gt_decision *d, size_t run)
{
    return d->spread == GT_SPREAD_REPEATS &&
           gt_log_sample_is_outlier(&d->samples[d->measures->runs[run].setting],
                                    d->measures->runs[run].step_ms);
}

/* What no agreeing run of the setting has in common with this one. */
static void find_differences(const gt_decision *d, size_t outlier, gt_buffer *text)
{
    const gt_sweep_measures *m = d->measures;
    const gt_run_measures *run = &m->runs[outlier];
    gt_arena arena = {0};
    run_facts facts = facts_of(&arena, m->sweep, outlier);
    bool is_first = *facts.start, has_node = !*facts.node, has_host = !*facts.host, was_tried = false;
    double agreeing = 0;
    gt_run_measures usual = {0};
    for (size_t i = 0; is_first && i < m->sweep->count; i++) {
        const char *start = facts_of(&arena, m->sweep, i).start;
        is_first = i == outlier || !*start || strcmp(facts.start, start) < 0;
    }
    for (size_t i = m->first_config[run->setting]; i < gt_setting_runs_end(m, run->setting); i++) {
        if (isnan(m->runs[i].step_ms) || is_outlier(d, i)) continue;
        run_facts its = facts_of(&arena, m->sweep, i);
        has_node |= strcmp(its.node, facts.node) == 0;
        has_host |= strcmp(its.host, facts.host) == 0;
        was_tried |= its.attempts >= facts.attempts;
        usual.step_ms += m->runs[i].step_ms;
        usual.gemm_ms += m->runs[i].gemm_ms;
        usual.exposed_ms += m->runs[i].exposed_ms;
        agreeing++;
    }
    usual.step_ms /= agreeing;
    usual.gemm_ms /= agreeing;
    usual.exposed_ms /= agreeing;
    if (!has_node) add(text, gt_format("only run on node %.60s", facts.node));
    if (has_node && !has_host) add(text, gt_format("only run on host %.60s", facts.host));
    if (is_first) add(text, gt_strdup("first run of the sweep"));
    if (!was_tried) add(text, gt_format("attempt %zu", facts.attempts));
    add_longer_part(text, run, &usual);
    gt_arena_free(&arena);
}

static double slower_pct(const gt_decision *d, size_t run)
{
    const gt_run_measures *r = &d->measures->runs[run];
    return 100 * (r->step_ms / exp(d->samples[r->setting].mean) - 1);
}

gt_table *gt_decision_outlier_runs(const gt_decision *d)
{
    enum { RUN, STEP_MS, SLOWER_PCT, STARTED, NODE, HOST, DIFFERS, LEFT_OUT };
    static const gt_column_head columns[] = {
        {GT_COL_RUN, GT_TYPE_STRING},     {GT_COL_STEP_MS, GT_TYPE_FLOAT}, {GT_COL_SLOWER_PCT, GT_TYPE_FLOAT},
        {GT_COL_STARTED, GT_TYPE_STRING}, {GT_COL_NODE, GT_TYPE_STRING},   {GT_COL_RUN_HOST, GT_TYPE_STRING},
        {GT_COL_DIFFERS, GT_TYPE_STRING}, {GT_COL_LEFT_OUT, GT_TYPE_BOOL}};
    const gt_sweep_measures *m = d->measures;
    gt_table *table = gt_table_new(GT_SHEET_OUTLIER_RUNS, m->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < m->sweep->count; i++) {
        if (!is_outlier(d, i)) continue;
        gt_arena arena = {0};
        gt_buffer differs = {0};
        run_facts facts = facts_of(&arena, m->sweep, i);
        size_t row = gt_table_add_row(table);
        find_differences(d, i, &differs);
        gt_table_set_cstr(table, RUN, row, m->sweep->configs[i].name);
        gt_table_set_float(table, STEP_MS, row, m->runs[i].step_ms);
        gt_table_set_float(table, SLOWER_PCT, row, slower_pct(d, i));
        gt_table_set_cstr(table, STARTED, row, facts.start);
        gt_table_set_cstr(table, NODE, row, facts.node);
        gt_table_set_cstr(table, HOST, row, facts.host);
        gt_table_set_cstr(table, DIFFERS, row, gt_buffer_str(&differs).bytes);
        gt_table_set_bool(table, LEFT_OUT, row, d->samples[m->runs[i].setting].is_clear);
        gt_buffer_free(&differs);
        gt_arena_free(&arena);
    }
    return table;
}

enum { NAMED_MAX = 5 };

void gt_decision_say_outliers(const gt_decision *d, gt_buffer *text)
{
    const gt_sweep_measures *m = d->measures;
    size_t count = 0, said = 0;
    for (size_t i = 0; i < m->sweep->count; i++) count += is_outlier(d, i);
    if (!count) return;
    gt_buffer_add_format(text, "%zu %s far from the other runs of %s setting and left out:\n", count,
                         count == 1 ? "run is" : "runs are", count == 1 ? "its" : "their");
    for (size_t i = 0; i < m->sweep->count && said < NAMED_MAX; i++) {
        if (!is_outlier(d, i)) continue;
        gt_buffer differs = {0};
        double pct = slower_pct(d, i);
        find_differences(d, i, &differs);
        if (!d->samples[m->runs[i].setting].is_clear)
            add(&differs, gt_strdup("not left out: too many runs of its setting are like this"));
        gt_buffer_add_format(text, "  %.100s: %.4g ms, %.1f %% %s%s%s\n", m->sweep->configs[i].name,
                             m->runs[i].step_ms, fabs(pct), pct > 0 ? "slower" : "faster",
                             differs.len ? "; " : "", gt_buffer_str(&differs).bytes);
        gt_buffer_free(&differs);
        said++;
    }
    if (count > said) gt_buffer_add_format(text, "  and %zu more in the sheet outlier_runs\n", count - said);
}
