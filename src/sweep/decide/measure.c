/* Measurements of all runs of a sweep: traces are read several at a time and put together in their order, so
 * that the result does not depend on the number of threads. */
#include "sweep/decide/decide.h"

#include "analysis/collective/sheets.h"
#include "input/chrome/kineto.h"
#include "input/files.h"
#include "schema/columns.h"
#include "table/stats.h"

typedef struct task {
    size_t config;
    const gt_sweep_trace *trace;
    gt_trace_measures *found;
    int64_t world; /* processes; 0: unknown */
} task;

/* What GEMMs during collectives take, and what they would take without. */
typedef struct overlap_cost {
    double cost_ms, expected_ms;
} overlap_cost;

typedef struct job {
    gt_sweep_measures *measures;
    const gt_read_options *read;
    const gt_sweep_cache *cache;
    gt_sweep_traces *traces; /* by config */
    task *tasks;
    size_t count, capacity;
    size_t done;       /* traces that could be read */
    overlap_cost cost; /* of the run so far */
    gt_table *rows;    /* collectives of the run so far */
    size_t unmeasured; /* collectives of kinds whose bandwidth is not measured */
    bool rows_missing; /* a rank of the run is missing, so its collectives cannot be matched */
    gt_map overlaps, bandwidths;
    gt_interner *keys;
} job;

/* ---- settings ---- */

static void find_settings(gt_sweep_measures *m)
{
    const gt_sweep *sweep = m->sweep;
    m->first_config = gt_alloc((sweep->count + 1) * sizeof *m->first_config);
    for (size_t i = 0; i < sweep->count; i++) {
        if (!i || strcmp(sweep->configs[i].setting, sweep->configs[i - 1].setting) != 0)
            m->first_config[m->setting_count++] = i;
        m->runs[i] = (gt_run_measures){.setting = m->setting_count - 1,
                                       .step_ms = NAN,
                                       .exposed_ms = NAN,
                                       .gemm_ms = NAN,
                                       .slowdown = NAN};
    }
    m->first_config[m->setting_count] = sweep->count;
}

/* ---- one trace ---- */

/* How many processes the run had, by the trace; 0: unknown. */
static int64_t world_of(const char *path)
{
    gt_error ignored;
    gt_stream *stream = gt_stream_open(path, &ignored);
    int64_t world = stream ? gt_kineto_find_distributed(stream).world_size : 0;
    gt_stream_close(stream);
    return world > 0 && world != GT_EVENT_NONE ? world : 0;
}

static bool read_trace(void *context, size_t index)
{
    job *j = context;
    task *t = &j->tasks[index];
    gt_error error = {""};
    const char *about = gt_log_about(t->trace->path);
    t->found = j->measures->source == GT_SOURCE_TORCH
                   ? gt_trace_measures_read(t->trace->path, t->trace->rank, j->read, j->cache, &error)
                   : gt_trace_measures_read_other(t->trace->path, j->measures->source, j->read, &error);
    if (j->measures->source == GT_SOURCE_TORCH) t->world = world_of(t->trace->path);
    gt_log_about(about);
    if (!t->found)
        gt_warn("%s rank %" PRId64 ": not measured: %s", j->measures->sweep->configs[t->config].name,
                t->trace->rank, error.text);
    return true;
}

/* The steps of a run are means over its ranks, by number; a rank without a step does not count in it. Until
 * the run is complete, `steps` has sums and `per_rank` the medians. */
static void add_steps(gt_run_measures *run, const gt_trace_measures *found, double *counts)
{
    for (size_t i = 0; i < found->step_ms.count; i++) {
        run->steps.items[i] += found->step_ms.items[i];
        run->step_exposed_ms.items[i] += found->step_exposed_ms.items[i];
        run->step_gemm_ms.items[i] += found->step_gemm_ms.items[i];
        counts[i]++;
    }
}

static double slowdown_of(overlap_cost cost)
{
    return cost.expected_ms > 0 ? 1 + cost.cost_ms / cost.expected_ms : NAN;
}

static gt_overlap_row *overlap_of(job *j, size_t setting, const gt_overlap_row *like)
{
    gt_sweep_measures *m = j->measures;
    uint32_t parts[] = {like->kernel, like->op, like->shape},
             key = gt_interner_add(j->keys, parts, sizeof parts),
             *index = gt_map_put(&j->overlaps, setting, key);
    if (*index == GT_MAP_NONE) {
        *index = (uint32_t)m->overlap_count;
        GT_PUSH(m->overlaps, m->overlap_count, m->overlap_capacity, *like);
    }
    return &m->overlaps[*index];
}

static void add_gemm(job *j, size_t setting, const gt_trace_measures *found, const gt_gemm_calls *calls,
                     overlap_cost *cost)
{
    gt_overlap_row *row = overlap_of(
        j, setting,
        &(gt_overlap_row){.setting = setting,
                          .kernel = gt_interner_add_from(j->measures->strings, found->strings, calls->kernel),
                          .op = gt_interner_add_from(j->measures->strings, found->strings, calls->op),
                          .shape = gt_interner_add_from(j->measures->strings, found->strings, calls->shape)});
    double usual = gt_median(calls->without.items, calls->without.count), sum = 0;
    row->partial += calls->partial;
    for (size_t i = 0; i < calls->without.count; i++) {
        gt_series_add(&row->without_us, calls->without.items[i]);
        gt_series_add(&row->without, calls->without.items[i] / usual);
    }
    for (size_t i = 0; i < calls->with.count; i++) {
        gt_series_add(&row->with_us, calls->with.items[i]);
        if (!calls->without.count) continue;
        gt_series_add(&row->with, calls->with.items[i] / usual);
        sum += calls->with.items[i];
    }
    if (!calls->without.count) return;
    double expected = usual * (double)calls->with.count;
    row->expected_ms += expected / 1e3 / found->steps;
    row->cost_ms += (sum - expected) / 1e3 / found->steps;
    cost->expected_ms += expected / 1e3 / found->steps;
    cost->cost_ms += (sum - expected) / 1e3 / found->steps;
}

/* ---- collectives of a run ---- */

static void add_collectives(job *j, size_t setting, const gt_table *sync)
{
    gt_sweep_measures *m = j->measures;
    if (!sync->row_count) return;
    const gt_column *name = gt_table_column(sync, GT_COL_COLLECTIVE_NAME),
                    *size = gt_table_column(sync, GT_COL_FULL_MSG_SIZE_MB),
                    *bus = gt_table_column(sync, GT_COL_BUS_BW_GB_PER_S),
                    *latency = gt_table_column(sync, GT_COL_COMM_LATENCY);
    for (size_t i = 0; i < sync->row_count; i++) {
        double mb = gt_column_number(size, i), gb_s = gt_column_number(bus, i),
               us = gt_column_number(latency, i);
        if (!(mb >= 0 && gb_s > 0 && us > 0 && isfinite(gb_s) && isfinite(us)) ||
            name->type != GT_TYPE_STRING)
            continue;
        struct {
            double mb;
            uint32_t name, setting;
        } parts = {mb, gt_interner_add_from(j->measures->strings, sync->strings, name->texts[i]),
                   (uint32_t)setting};
        uint32_t key = gt_interner_add(j->keys, &parts, sizeof parts),
                 *index = gt_map_put(&j->bandwidths, key, 0);
        if (*index == GT_MAP_NONE) {
            gt_bandwidth_row row = {.setting = setting, .collective = parts.name, .size_mb = mb};
            *index = (uint32_t)m->bandwidth_count;
            GT_PUSH(m->bandwidths, m->bandwidth_count, m->bandwidth_capacity, row);
        }
        gt_series_add(&m->bandwidths[*index].bus_gb_s, gb_s);
        gt_series_add(&m->bandwidths[*index].latency_us, us);
    }
}

/* Runs of a setting follow each other, so its rows are the last ones. */
static void end_run(job *j, size_t setting)
{
    gt_sweep_measures *m = j->measures;
    for (size_t i = m->bandwidth_count; i-- > 0 && m->bandwidths[i].setting == setting;) {
        gt_bandwidth_row *row = &m->bandwidths[i];
        size_t calls = row->bus_gb_s.count - row->in_earlier_runs;
        if (!calls) continue;
        gt_series_add(&row->run_bus_gb_s, gt_median(row->bus_gb_s.items + row->in_earlier_runs, calls));
        row->in_earlier_runs = row->bus_gb_s.count;
    }
}

/* Collectives are matched by their order, which needs the traces of all ranks. */
static void finish_collectives(job *j, size_t config)
{
    gt_error error;
    if (j->rows && j->rows->row_count && !j->rows_missing) {
        bool by_order_alone = gt_collectives_number(j->rows);
        gt_collective_matches matches = gt_collective_match(j->rows);
        gt_collective_sync sync;
        for (size_t i = 0; i < matches.count; i++) {
            gt_collective_type type = gt_collective_match_type(&matches, i);
            j->unmeasured += type == GT_COLLECTIVE_OTHER || type == GT_COLLECTIVE_ALLTOALLV;
        }
        if (gt_collective_sync_find(&sync, &matches, by_order_alone, GT_MISMATCH_SKIP, &error)) {
            gt_table *table = gt_collective_sync_table(&sync, false);
            add_collectives(j, j->measures->runs[config].setting, table);
            gt_table_free(table);
        }
        gt_collective_sync_free(&sync);
        gt_collective_matches_free(&matches);
    }
    gt_table_free(j->rows);
    j->rows = NULL;
    j->rows_missing = false;
    end_run(j, j->measures->runs[config].setting);
}

/* ---- one run ---- */

static void take_collectives(job *j, gt_trace_measures *found)
{
    if (!found || !found->collectives) {
        j->rows_missing = true;
        return;
    }
    gt_table *rows = found->collectives;
    found->collectives = NULL;
    gt_table_use_strings(rows, j->measures->strings);
    if (!j->rows) {
        j->rows = rows;
        return;
    }
    gt_table_append_same(j->rows, rows);
    gt_table_free(rows);
}

/* Means over the ranks of a run, whose traces are tasks first ... end - 1. */
static void sum_up_ranks(job *j, gt_run_measures *run, size_t first, size_t end)
{
    size_t longest = 0, with_steps = 0;
    for (size_t i = first; i < end; i++)
        if (j->tasks[i].found && j->tasks[i].found->step_ms.count > longest)
            longest = j->tasks[i].found->step_ms.count;
    gt_number_series *by_step[] = {&run->steps, &run->step_exposed_ms, &run->step_gemm_ms};
    for (size_t k = 0; k < GT_LENGTH(by_step); k++)
        *by_step[k] = (gt_number_series){gt_alloc_zero(longest + 1, sizeof(double)), longest, longest + 1};
    double *counts = gt_alloc_zero(longest + 1, sizeof *counts), exposed = 0, gemm = 0;
    for (size_t i = first; i < end; i++) {
        const gt_trace_measures *found = j->tasks[i].found;
        if (!found || !found->step_ms.count) continue;
        run->ranks++;
        add_steps(run, found, counts);
        gt_series_add(&run->per_rank, gt_median(found->step_ms.items, found->step_ms.count));
        gt_series_add(&run->rank_exposed_ms, found->exposed_ms);
        gt_series_add(&run->rank_gemm_ms, found->gemm_ms);
        exposed += found->exposed_ms;
        gemm += found->gemm_ms;
        with_steps += found->has_steps;
        if (!found->is_cut_off) gt_rank_set_add(&run->measured, j->tasks[i].trace->rank);
    }
    run->basis = !with_steps ? GT_BASIS_TRACE : with_steps == run->ranks ? GT_BASIS_STEPS : GT_BASIS_MIXED;
    for (size_t k = 0; k < GT_LENGTH(by_step); k++)
        for (size_t i = 0; i < longest; i++) by_step[k]->items[i] /= counts[i];
    gt_free(counts);
    if (!run->ranks) return;
    run->step_ms = gt_mean(run->per_rank.items, run->per_rank.count);
    run->exposed_ms = exposed / (double)run->ranks;
    run->gemm_ms = gemm / (double)run->ranks;
}

/* Called in the order of the traces: those of a run follow each other. */
static void keep_trace(void *context, size_t index)
{
    job *j = context;
    task *t = &j->tasks[index];
    gt_run_measures *run = &j->measures->runs[t->config];
    if (t->found) {
        overlap_cost cost = {0};
        j->done++;
        for (size_t i = 0; i < t->found->gemm_count; i++)
            add_gemm(j, run->setting, t->found, &t->found->gemms[i], &cost);
        if (cost.expected_ms > 0) gt_series_add(&run->rank_slowdowns, slowdown_of(cost));
        j->cost.cost_ms += cost.cost_ms;
        j->cost.expected_ms += cost.expected_ms;
    }
    gt_rank_set_add(&run->recorded, t->trace->rank);
    if (t->world > run->world) run->world = t->world;
    take_collectives(j, t->found);
    if (index + 1 < j->count && j->tasks[index + 1].config == t->config) return;
    size_t first = index;
    while (first && j->tasks[first - 1].config == t->config) first--;
    sum_up_ranks(j, run, first, index + 1);
    run->slowdown = slowdown_of(j->cost);
    j->cost = (overlap_cost){0};
    finish_collectives(j, t->config);
    for (size_t i = first; i <= index; i++) {
        gt_trace_measures_free(j->tasks[i].found);
        j->tasks[i].found = NULL;
    }
}

/* The costs of a setting are sums over all its traces until here. */
static void divide_costs(gt_sweep_measures *m)
{
    double *traces = gt_alloc_zero(m->setting_count + 1, sizeof *traces);
    for (size_t i = 0; i < m->sweep->count; i++) traces[m->runs[i].setting] += (double)m->runs[i].ranks;
    for (size_t i = 0; i < m->overlap_count; i++) {
        m->overlaps[i].cost_ms /= traces[m->overlaps[i].setting];
        m->overlaps[i].expected_ms /= traces[m->overlaps[i].setting];
    }
    gt_free(traces);
}

/* ---- all of them ---- */

static gt_sweep_traces traces_of(const gt_sweep_config *config, gt_trace_source source)
{
    return source == GT_SOURCE_TORCH     ? gt_sweep_torch_traces(config->folder)
           : source == GT_SOURCE_ROCPROF ? gt_sweep_rocprof_traces(config->folder, false)
                                         : gt_sweep_jax_traces(config->folder);
}

/* The first source that a run has traces of. */
static gt_trace_source find_source(const gt_sweep *sweep)
{
    for (gt_trace_source source = GT_SOURCE_TORCH; source < GT_SOURCE_ANY; source++)
        for (size_t i = 0; i < sweep->count; i++) {
            gt_sweep_traces traces = traces_of(&sweep->configs[i], source);
            bool found = traces.count > 0;
            gt_sweep_traces_free(&traces);
            if (found) return source;
        }
    return GT_SOURCE_TORCH;
}

/* Profilers that record every few steps leave several traces. */
static void warn_about_others(const job *j)
{
    size_t runs = 0;
    const gt_sweep_trace *first = NULL;
    for (size_t i = 0; i < j->measures->sweep->count; i++) {
        bool has_others = false;
        for (size_t r = 0; r < j->traces[i].count; r++) {
            if (!j->traces[i].items[r].others) continue;
            if (!first) first = &j->traces[i].items[r];
            has_others = true;
        }
        runs += has_others;
    }
    if (first)
        gt_warn("%zu %s more than one trace per rank; the first by name is used, such as %s", runs,
                runs == 1 ? "run has" : "runs have", first->path);
}

static void add_tasks(job *j)
{
    const gt_sweep *sweep = j->measures->sweep;
    for (size_t i = 0; i < sweep->count; i++) {
        j->traces[i] = traces_of(&sweep->configs[i], j->measures->source);
        if (!j->traces[i].count) gt_warn("Skip %s - no traces", sweep->configs[i].name);
        for (size_t r = 0; r < j->traces[i].count; r++) {
            task t = {.config = i, .trace = &j->traces[i].items[r]};
            GT_PUSH(j->tasks, j->count, j->capacity, t);
        }
    }
}

static void read_all(job *j)
{
    const char **paths = gt_alloc((j->count + 1) * sizeof *paths);
    for (size_t i = 0; i < j->count; i++) paths[i] = j->tasks[i].trace->path;
    gt_files_work(&(gt_file_work){.paths = paths,
                                  .count = j->count,
                                  .one = "trace",
                                  .many = "traces",
                                  .work = read_trace,
                                  .finish = keep_trace,
                                  .context = j});
    gt_free(paths);
}

bool gt_sweep_measure_source(gt_sweep_measures *measures, const gt_sweep *sweep, gt_trace_source source,
                             const gt_read_options *read, const gt_sweep_cache *cache, gt_error *error)
{
    *measures = (gt_sweep_measures){.sweep = sweep, .strings = gt_interner_new()};
    measures->runs = gt_alloc_zero(sweep->count + 1, sizeof *measures->runs);
    find_settings(measures);
    measures->source = source == GT_SOURCE_ANY ? find_source(sweep) : source;
    gt_read_options part = *read;
    part.is_part = true;
    job j = {.measures = measures, .read = &part, .cache = cache, .keys = gt_interner_new()};
    j.traces = gt_alloc_zero(sweep->count + 1, sizeof *j.traces);
    add_tasks(&j);
    warn_about_others(&j);
    bool measured =
        j.count > 0 || (source == GT_SOURCE_ANY
                            ? gt_fail(error, "no traces of torch.profiler, rocprofv3 or JAX in the sweep")
                            : gt_fail(error, "no traces of %s in the sweep", gt_trace_source_names[source]));
    if (measured) {
        read_all(&j);
        divide_costs(measures);
        if (j.unmeasured)
            gt_hint("no bus bandwidth for %zu collective%s whose ranks need not wait for each other, such as "
                    "broadcast and all_to_allv",
                    j.unmeasured, j.unmeasured == 1 ? "" : "s");
        gt_sweep_measures_select(measures);
        measured = j.done > 0 || gt_fail(error, "none of the traces could be measured");
    }
    for (size_t i = 0; i < sweep->count; i++) gt_sweep_traces_free(&j.traces[i]);
    gt_free_all(j.traces, j.tasks);
    gt_map_free(&j.overlaps);
    gt_map_free(&j.bandwidths);
    gt_interner_free(j.keys);
    return measured;
}

void gt_sweep_measures_free(gt_sweep_measures *m)
{
    for (size_t i = 0; m->runs && i < m->sweep->count; i++) {
        gt_run_measures *run = &m->runs[i];
        gt_number_series *lists[] = {&run->steps,         &run->step_exposed_ms, &run->step_gemm_ms,
                                     &run->per_rank,      &run->rank_exposed_ms, &run->rank_gemm_ms,
                                     &run->rank_slowdowns};
        for (size_t k = 0; k < GT_LENGTH(lists); k++) gt_free(lists[k]->items);
        gt_free_all(run->recorded.items, run->measured.items, run->left_out);
    }
    for (size_t i = 0; i < m->overlap_count; i++) {
        gt_overlap_row *row = &m->overlaps[i];
        gt_number_series *lists[] = {&row->with, &row->without, &row->with_us, &row->without_us};
        for (size_t k = 0; k < GT_LENGTH(lists); k++) gt_free(lists[k]->items);
    }
    for (size_t i = 0; i < m->bandwidth_count; i++) {
        gt_free_all(m->bandwidths[i].bus_gb_s.items, m->bandwidths[i].latency_us.items,
                    m->bandwidths[i].run_bus_gb_s.items);
    }
    gt_free_all(m->runs, m->first_config, m->overlaps, m->bandwidths);
    gt_interner_free(m->strings);
    *m = (gt_sweep_measures){0};
}
