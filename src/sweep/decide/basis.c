/* Which runs can be compared with each other?
 *
 * The time of a run is the mean over its ranks, so a run without its slowest rank looks fast. A run is left
 * out if a rank is missing that another run has, or if the trace of a rank is damaged or cut off. A run with
 * fewer ranks because it is of fewer processes (the world size of its traces says so) is whole. If only some
 * ranks were recorded in all runs, all runs have the same basis, and nothing is left out.
 *
 * A marked step and a whole trace are different things, too: runs with several marked steps are compared, or
 * those without, whichever are more. */
#include "sweep/decide/decide.h"

enum { WARNINGS_MAX = 20, RANKS_NAMED_MAX = 8 };

void gt_rank_set_add(gt_rank_set *set, int64_t rank)
{
    GT_PUSH(set->items, set->count, set->capacity, rank);
}

/* Ascending, each once. */
static void sort_ranks(gt_rank_set *set)
{
    size_t kept = 0;
    if (set->count) qsort(set->items, set->count, sizeof *set->items, gt_by_i64);
    for (size_t i = 0; i < set->count; i++)
        if (!kept || set->items[kept - 1] != set->items[i]) set->items[kept++] = set->items[i];
    set->count = kept;
}

char *gt_rank_set_lacks(const gt_rank_set *set, const gt_rank_set *wanted, int64_t world)
{
    gt_buffer text = {0};
    size_t lacking = 0, at = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        int64_t rank = wanted->items[i];
        if (world > 0 && rank >= world) continue;
        while (at < set->count && set->items[at] < rank) at++;
        if (at < set->count && set->items[at] == rank) continue;
        if (lacking++ < RANKS_NAMED_MAX)
            gt_buffer_add_format(&text, "%s%" PRId64, lacking > 1 ? ", " : "", rank);
    }
    char *said = !lacking                     ? NULL
                 : lacking == 1               ? gt_format("rank %s", gt_buffer_str(&text).bytes)
                 : lacking <= RANKS_NAMED_MAX ? gt_format("ranks %s", gt_buffer_str(&text).bytes)
                                              : gt_format("ranks %s and %zu more", gt_buffer_str(&text).bytes,
                                                          lacking - RANKS_NAMED_MAX);
    gt_buffer_free(&text);
    return said;
}

/* Its measures do not count; GEMMs with and without collectives are compared within one trace, so they do. */
static void leave_out(gt_run_measures *run, char *reason)
{
    gt_number_series *lists[] = {&run->steps,         &run->step_exposed_ms, &run->step_gemm_ms,
                                 &run->per_rank,      &run->rank_exposed_ms, &run->rank_gemm_ms,
                                 &run->rank_slowdowns};
    for (size_t i = 0; i < GT_LENGTH(lists); i++) lists[i]->count = 0;
    run->step_ms = run->exposed_ms = run->gemm_ms = run->slowdown = NAN;
    run->left_out = reason;
}

/* ---- ranks ---- */

static void check_ranks(gt_sweep_measures *m)
{
    size_t count = m->sweep->count, whole = 0, measured = 0, partial = 0;
    gt_rank_set all = {0};
    char **lacking = gt_alloc_zero(count + 1, sizeof *lacking);
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < m->runs[i].recorded.count; r++)
            gt_rank_set_add(&all, m->runs[i].recorded.items[r]);
    sort_ranks(&all);
    for (size_t i = 0; i < count; i++) {
        gt_run_measures *run = &m->runs[i];
        sort_ranks(&run->measured);
        if (isnan(run->step_ms)) continue;
        lacking[i] = gt_rank_set_lacks(&run->measured, &all, run->world);
        measured++;
        whole += !lacking[i];
        partial += run->world > 0 && run->measured.count < (size_t)run->world;
    }
    m->is_partial = measured && !whole;
    for (size_t i = 0; i < count; i++) {
        if (lacking[i] && whole)
            leave_out(&m->runs[i], gt_format("there is no whole trace of %s", lacking[i]));
        gt_free(lacking[i]);
    }
    gt_free_all(lacking, all.items);
    if (m->is_partial)
        gt_warn("No run has whole traces of all ranks: the settings cannot be compared");
    else if (whole && partial >= measured)
        gt_info("the runs have traces of some of their ranks only: times are means over these");
}

/* ---- steps ---- */

static void check_steps(gt_sweep_measures *m)
{
    size_t with = 0, without = 0;
    for (size_t i = 0; i < m->sweep->count; i++) {
        const gt_run_measures *run = &m->runs[i];
        if (isnan(run->step_ms)) continue;
        with += run->basis == GT_BASIS_STEPS;
        without += run->basis == GT_BASIS_TRACE;
    }
    gt_time_basis basis = with >= without && with ? GT_BASIS_STEPS : GT_BASIS_TRACE;
    m->has_steps = basis == GT_BASIS_STEPS;
    for (size_t i = 0; i < m->sweep->count; i++) {
        gt_run_measures *run = &m->runs[i];
        if (isnan(run->step_ms) || run->basis == basis) continue;
        leave_out(run, gt_strdup(run->basis == GT_BASIS_STEPS
                                     ? "its traces have several marked steps, those of most runs do not"
                                 : run->basis == GT_BASIS_TRACE
                                     ? "its traces do not have several marked steps, others do"
                                     : "only some of its ranks have several marked steps"));
    }
}

void gt_sweep_measures_select(gt_sweep_measures *m)
{
    size_t warned = 0;
    check_ranks(m);
    check_steps(m);
    for (size_t i = 0; i < m->sweep->count; i++)
        if (m->runs[i].left_out && warned++ < WARNINGS_MAX)
            gt_warn("%s: not compared: %s", m->sweep->configs[i].name, m->runs[i].left_out);
    if (warned > WARNINGS_MAX) gt_warn("%zu more runs are not compared", warned - WARNINGS_MAX);
}

const char *gt_setting_left_out(const gt_sweep_measures *m, size_t setting)
{
    const char *reason = NULL;
    for (size_t i = m->first_config[setting]; i < gt_setting_runs_end(m, setting); i++) {
        if (!isnan(m->runs[i].step_ms)) return NULL;
        if (!reason) reason = m->runs[i].left_out;
    }
    return reason;
}
