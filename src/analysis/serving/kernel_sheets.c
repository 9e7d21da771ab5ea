/* kernel_classes: what kind of kernels the GPU runs in a step, one row per phase, batch and class, the class
 * with the most time first:
 *
 *     batch            padded batch of the replayed graphs, else the number of generating requests
 *     steps            of this phase and batch
 *     class            kernel_classifier.h
 *     us_per_step, ops_per_step    sum of durations and number / steps
 *     pct              of the durations of this phase and batch
 *
 * The last rows are those of ops outside of all steps: "outside".
 *
 * graph_replays: distinct graphs, in the order of their first launches. Graphs are equal if their kernels
 * have the same names and grids, in order:
 *
 *     launches, kernels, streams         kernels and streams: of one launch
 *     padded, batches                    of the steps that launch it
 *     launch_host_p50_us                 how long the launching call takes
 *     submit_to_first_kernel_p50_us      from the start of the call
 *     span_p50_us, busy_p50_us, gap_p50_us, span_sum_us, busy_sum_us, gap_sum_us
 *                                        from the first start to the last end; when any kernel ran; when none
 *                                        did
 *     gaps_over_5us, largest_gap_us, largest_gap_before    the last one: the kernel after the largest gap
 *     gap_while_launching_us             the part of the gaps before the call had returned
 *     [attributed_pct]                   share of the time whose op is known
 *     [how]                              shares of where it is known from, "eager/high 77.3;
 * name/medium 16.9" */
#include "analysis/serving/cells.h"
#include "analysis/serving/sheets.h"
#include "analysis/serving/step_parts.h"
#include "schema/columns.h"
#include "table/stats.h"

/* ---- kernel_classes ---- */

static const gt_column_head class_columns[] = {
    {GT_COL_PHASE, GT_TYPE_STRING}, {GT_COL_SERVING_BATCH, GT_TYPE_INT}, {GT_COL_STEPS, GT_TYPE_INT},
    {GT_COL_CLASS, GT_TYPE_STRING}, {GT_COL_US_PER_STEP, GT_TYPE_FLOAT}, {GT_COL_OPS_PER_STEP, GT_TYPE_FLOAT},
    {GT_COL_PCT, GT_TYPE_FLOAT},
};

/* A phase and a batch. */
typedef struct batch_group {
    int phase;     /* GT_SERVING_PHASES: outside */
    int64_t batch; /* 0: unknown */
    size_t steps;
    double ns[GT_KERNEL_CLASSES], all_ns;
    size_t ops[GT_KERNEL_CLASSES];
} batch_group;

typedef struct batch_groups {
    batch_group *items;
    size_t count, capacity;
    gt_map places;
} batch_groups;

static batch_group *group_of(batch_groups *groups, int phase, int64_t batch)
{
    uint32_t *place = gt_map_put(&groups->places, (uint64_t)batch, (uint64_t)phase);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)groups->count;
        batch_group group = {.phase = phase, .batch = batch};
        GT_PUSH(groups->items, groups->count, groups->capacity, group);
    }
    return &groups->items[*place];
}

static void add_op(batch_group *group, const gt_listed_op *op)
{
    double ns = (double)(op->end_ns - op->start_ns);
    group->ns[op->class] += ns;
    group->all_ns += ns;
    group->ops[op->class]++;
}

static batch_groups find_groups(const gt_step_list *list)
{
    batch_groups groups = {0};
    for (size_t i = 0; i < list->count; i++) {
        const gt_listed_step *step = &list->steps[i];
        if (!step->op_count) continue;
        batch_group *group = group_of(&groups, (int)step->phase, gt_step_batch(step));
        group->steps++;
        for (size_t k = 0; k < step->op_count; k++)
            add_op(group, &list->ops[list->of_steps[step->first_op + k]]);
    }
    for (size_t i = 0; i < list->op_count; i++)
        if (list->ops[i].step == GT_OUTSIDE_STEPS) {
            batch_group *outside = group_of(&groups, GT_SERVING_PHASES, 0);
            outside->steps = 1;
            add_op(outside, &list->ops[i]);
        }
    gt_map_free(&groups.places);
    return groups;
}

GT_ORDER_BY(by_phase_and_batch, batch_group, GT_UP(phase) GT_UP(batch))

/* More time first, then by name. */
static int by_time(const void *left, const void *right, void *context)
{
    const batch_group *group = context;
    gt_kernel_class a = *(const gt_kernel_class *)left, b = *(const gt_kernel_class *)right;
    if (group->ns[a] != group->ns[b]) return group->ns[a] > group->ns[b] ? -1 : 1;
    return strcmp(gt_kernel_class_name(a), gt_kernel_class_name(b));
}

static void add_group(gt_table *table, batch_group *group)
{
    gt_kernel_class order[GT_KERNEL_CLASSES];
    size_t count = 0;
    for (gt_kernel_class class = 0; class < GT_KERNEL_CLASSES; class ++)
        if (group->ops[class]) order[count++] = class;
    qsort_r(order, count, sizeof *order, by_time, group);
    bool is_outside = group->phase == GT_SERVING_PHASES;
    double steps = (double)group->steps;
    for (size_t i = 0; i < count; i++) {
        gt_cells c = gt_cells_of_new_row(table);
        gt_cells_text(&c, is_outside ? "outside" : gt_serving_phase_name((gt_serving_phase)group->phase));
        gt_cells_count(&c, group->batch ? group->batch : GT_STEP_UNKNOWN);
        gt_cells_count(&c, (int64_t)group->steps);
        gt_cells_text(&c, gt_kernel_class_name(order[i]));
        gt_cells_number(&c, group->ns[order[i]] / steps / 1000, 4);
        gt_cells_number(&c, (double)group->ops[order[i]] / steps, 4);
        gt_cells_number(&c, 100 * gt_share_of(group->ns[order[i]], group->all_ns), 4);
    }
}

gt_table *gt_serving_kernel_classes(const gt_step_list *list, const gt_event_view *trace)
{
    gt_table *table = gt_table_new(GT_SHEET_KERNEL_CLASSES, trace->strings);
    gt_table_add_columns(table, class_columns, GT_LENGTH(class_columns));
    batch_groups groups = find_groups(list);
    if (groups.count) qsort(groups.items, groups.count, sizeof *groups.items, by_phase_and_batch);
    for (size_t i = 0; i < groups.count; i++) add_group(table, &groups.items[i]);
    gt_free(groups.items);
    return table;
}

/* ---- graph_replays ---- */

static const gt_column_head replay_columns[] = {
    {GT_COL_GRAPH, GT_TYPE_INT},
    {GT_COL_LAUNCHES, GT_TYPE_INT},
    {GT_COL_KERNELS, GT_TYPE_INT},
    {GT_COL_STREAMS, GT_TYPE_INT},
    {GT_COL_PADDED, GT_TYPE_INT},
    {GT_COL_BATCHES, GT_TYPE_STRING},
    {GT_COL_LAUNCH_HOST_P50_US, GT_TYPE_FLOAT},
    {GT_COL_SUBMIT_TO_FIRST_KERNEL_P50_US, GT_TYPE_FLOAT},
    {GT_COL_SPAN_P50_US, GT_TYPE_FLOAT},
    {GT_COL_BUSY_P50_US, GT_TYPE_FLOAT},
    {GT_COL_GAP_P50_US, GT_TYPE_FLOAT},
    {GT_COL_SPAN_SUM_US, GT_TYPE_FLOAT},
    {GT_COL_BUSY_SUM_US, GT_TYPE_FLOAT},
    {GT_COL_GAP_SUM_US, GT_TYPE_FLOAT},
    {GT_COL_GAPS_OVER_5US, GT_TYPE_INT},
    {GT_COL_LARGEST_GAP_US, GT_TYPE_FLOAT},
    {GT_COL_LARGEST_GAP_BEFORE, GT_TYPE_STRING},
    {GT_COL_GAP_WHILE_LAUNCHING_US, GT_TYPE_FLOAT},
};

enum { LONG_GAP_NS = 5000 };

/* One launch of a graph. */
typedef struct replay {
    size_t first, count; /* its ops: ops[first ...], by start */
    uint32_t graph;
} replay;

typedef struct replays {
    const gt_step_list *list;
    const gt_event_view *trace;
    replay *items; /* by their first ops */
    size_t count, graph_count;
    uint32_t *ops;
} replays;

/* Groups the ops of graphs by their launches. */
static void find_launches(replays *r)
{
    const gt_step_list *list = r->list;
    gt_map places = {0};
    r->items = gt_alloc_zero(list->graph_launches, sizeof *r->items);
    r->ops = gt_alloc(list->op_count * sizeof *r->ops);
    for (size_t i = 0; i < list->op_count; i++) {
        if (!list->ops[i].in_graph) continue;
        uint32_t *place = gt_map_put(&places, list->ops[i].call, 0);
        if (*place == GT_MAP_NONE) *place = (uint32_t)r->count++;
        r->items[*place].count++;
    }
    size_t total = 0;
    for (size_t i = 0; i < r->count; i++) {
        r->items[i].first = total;
        total += r->items[i].count;
        r->items[i].count = 0;
    }
    for (uint32_t i = 0; i < list->op_count; i++) {
        if (!list->ops[i].in_graph) continue;
        replay *launch = &r->items[gt_map_get(&places, list->ops[i].call, 0)];
        r->ops[launch->first + launch->count++] = i;
    }
    gt_map_free(&places);
}

/* Graphs are numbered by the names and grids of their kernels. */
static void find_graphs(replays *r)
{
    gt_interner *keys = gt_interner_new();
    gt_map graphs = {0};
    gt_buffer key = {0};
    for (size_t i = 0; i < r->count; i++) {
        key.len = 0;
        for (size_t k = 0; k < r->items[i].count; k++) {
            const gt_listed_op *op = &r->list->ops[r->ops[r->items[i].first + k]];
            gt_buffer_add(&key, &op->name, sizeof op->name);
            gt_buffer_add(&key, &op->grid, sizeof op->grid);
        }
        uint32_t *graph = gt_map_put(&graphs, gt_interner_add(keys, key.bytes, key.len), 0);
        if (*graph == GT_MAP_NONE) *graph = (uint32_t)r->graph_count++;
        r->items[i].graph = *graph;
    }
    gt_buffer_free(&key);
    gt_map_free(&graphs);
    gt_interner_free(keys);
}

/* What a row sums up. */
typedef struct graph_totals {
    const replay **launches;
    size_t count;
    double *host, *submit, *span, *busy, *gap; /* by launch, ns */
    double span_ns, busy_ns, launching_ns;
    size_t long_gaps;
    int64_t largest_ns;
    uint32_t largest_before; /* string id of a kernel */
} graph_totals;

static void measure_gaps(const replays *r, graph_totals *t, const replay *launch, int64_t returned_ns)
{
    int64_t end_ns = INT64_MAX;
    for (size_t i = 0; i < launch->count; i++) {
        const gt_listed_op *op = &r->list->ops[r->ops[launch->first + i]];
        int64_t gap_ns = i ? op->start_ns - end_ns : 0;
        if (gap_ns > 0) {
            int64_t until_ns = op->start_ns < returned_ns ? op->start_ns : returned_ns;
            t->long_gaps += gap_ns > LONG_GAP_NS;
            t->launching_ns += until_ns > end_ns ? (double)(until_ns - end_ns) : 0;
            if (gap_ns > t->largest_ns) {
                t->largest_ns = gap_ns;
                t->largest_before = op->name;
            }
        }
        end_ns = !i || op->end_ns > end_ns ? op->end_ns : end_ns;
    }
}

static void measure_launch(const replays *r, graph_totals *t, size_t i)
{
    const replay *launch = t->launches[i];
    const uint32_t *ops = r->ops + launch->first;
    const gt_listed_op *first = &r->list->ops[ops[0]];
    int64_t end_ns = first->end_ns;
    gt_step_times_of call = gt_step_row_times(r->list, r->trace, first->call);
    for (size_t k = 1; k < launch->count; k++)
        if (r->list->ops[ops[k]].end_ns > end_ns) end_ns = r->list->ops[ops[k]].end_ns;
    t->host[i] = (double)(call.end_ns - call.start_ns);
    t->submit[i] = (double)(first->start_ns - call.start_ns);
    t->span_ns += t->span[i] = (double)(end_ns - first->start_ns);
    t->busy_ns += t->busy[i] = (double)gt_step_ops_union(r->list, ops, launch->count);
    t->gap[i] = t->span[i] - t->busy[i];
    measure_gaps(r, t, launch, call.end_ns);
}

static int64_t count_streams(const replays *r, const replay *launch)
{
    uint32_t *rows = gt_alloc(2 * launch->count * sizeof *rows), *streams = rows + launch->count;
    for (size_t i = 0; i < launch->count; i++) rows[i] = r->list->ops[r->ops[launch->first + i]].row;
    gt_store_string_ids_at(r->trace->store, GT_EVENT_STREAM, rows, launch->count, streams);
    qsort(streams, launch->count, sizeof *streams, gt_by_u32);
    int64_t distinct = 0;
    for (size_t i = 0; i < launch->count; i++) distinct += !i || streams[i] != streams[i - 1];
    gt_free(rows);
    return distinct;
}

static const gt_listed_step *step_of(const replays *r, const replay *launch)
{
    uint32_t step = r->list->ops[r->ops[launch->first]].step;
    return step == GT_OUTSIDE_STEPS ? NULL : &r->list->steps[step];
}

/* The numbers of requests of the steps, "1 3 4". */
static void print_batches(gt_buffer *out, const replays *r, const graph_totals *t)
{
    int64_t *batches = gt_alloc(t->count * sizeof *batches);
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        const gt_listed_step *step = step_of(r, t->launches[i]);
        if (step && step->said.generation_requests >= 0) batches[count++] = step->said.generation_requests;
    }
    if (count) qsort(batches, count, sizeof *batches, gt_by_i64);
    out->len = 0;
    for (size_t i = 0; i < count; i++)
        if (!i || batches[i] != batches[i - 1])
            gt_buffer_add_format(out, i ? " %lld" : "%lld", (long long)batches[i]);
    gt_free(batches);
}

static void add_distributions(gt_cells *c, const graph_totals *t)
{
    const double *const middle[] = {t->host, t->submit, t->span, t->busy, t->gap};
    for (size_t i = 0; i < GT_LENGTH(middle); i++) gt_cells_us(c, gt_quantile(middle[i], t->count, .5));
    gt_cells_us(c, t->span_ns);
    gt_cells_us(c, t->busy_ns);
    gt_cells_us(c, t->span_ns - t->busy_ns);
}

static void add_graph(gt_table *table, const replays *r, uint32_t graph, graph_totals *t)
{
    enum { NAME_MAX_SHOWN = 120 };
    int64_t padded = GT_STEP_UNKNOWN;
    gt_buffer batches = {0};
    for (size_t i = 0; i < t->count; i++) {
        const gt_listed_step *step = step_of(r, t->launches[i]);
        if (step && padded <= 0) padded = step->padded;
        measure_launch(r, t, i);
    }
    print_batches(&batches, r, t);
    gt_cells c = gt_cells_of_new_row(table);
    gt_cells_count(&c, graph);
    gt_cells_count(&c, (int64_t)t->count);
    gt_cells_count(&c, (int64_t)t->launches[0]->count);
    gt_cells_count(&c, count_streams(r, t->launches[0]));
    gt_cells_count(&c, padded);
    gt_cells_text(&c, gt_buffer_str(&batches).bytes);
    add_distributions(&c, t);
    gt_cells_count(&c, (int64_t)t->long_gaps);
    gt_cells_us(&c, (double)t->largest_ns);
    gt_str before = gt_interner_get(table->strings, t->largest_before);
    size_t shown = before.len < NAME_MAX_SHOWN ? before.len : NAME_MAX_SHOWN;
    if (shown)
        gt_table_set_string(table, c.column, c.row, gt_interner_add(table->strings, before.bytes, shown));
    gt_cells_skip(&c, 1);
    gt_cells_us(&c, t->launching_ns);
    gt_buffer_free(&batches);
}

static void add_graphs(gt_table *table, const replays *r)
{
    size_t *ends = gt_alloc_zero(r->graph_count + 1, sizeof *ends);
    const replay **sorted = gt_alloc(r->count * sizeof *sorted);
    double *values = gt_alloc(5 * r->count * sizeof *values);
    for (size_t i = 0; i < r->count; i++) ends[r->items[i].graph + 1]++;
    for (size_t g = 0; g < r->graph_count; g++) ends[g + 1] += ends[g];
    for (size_t i = 0; i < r->count; i++) sorted[ends[r->items[i].graph]++] = &r->items[i];
    for (uint32_t g = 0; g < r->graph_count; g++) {
        size_t begin = g ? ends[g - 1] : 0, count = ends[g] - begin;
        graph_totals t = {.launches = sorted + begin,
                          .count = count,
                          .host = values,
                          .submit = values + count,
                          .span = values + 2 * count,
                          .busy = values + 3 * count,
                          .gap = values + 4 * count};
        add_graph(table, r, g, &t);
    }
    gt_free_all(values, sorted, ends);
}

gt_table *gt_serving_graph_replays(const gt_step_list *list, const gt_event_view *trace)
{
    gt_table *table = gt_table_new(GT_SHEET_GRAPH_REPLAYS, trace->strings);
    gt_table_add_columns(table, replay_columns, GT_LENGTH(replay_columns));
    replays r = {.list = list, .trace = trace};
    find_launches(&r);
    find_graphs(&r);
    add_graphs(table, &r);
    gt_free_all(r.items, r.ops);
    return table;
}

/* ---- where the ops of graphs are known from ---- */

typedef struct source_time {
    size_t source;
    double ns;
} source_time;

GT_ORDER_BY(by_source_time, source_time, GT_DOWN(ns) GT_UP(source))

/* Fills the cells of a graph from the times of its sources. */
static void add_source_cells(gt_table *table, size_t row, size_t pct, const gt_replay_sources *sources,
                             source_time *times)
{
    double all_ns = 0, known_ns = 0;
    gt_buffer text = {0};
    for (size_t i = 0; i < sources->count; i++) {
        all_ns += times[i].ns;
        if (sources->items[i].is_known) known_ns += times[i].ns;
    }
    qsort(times, sources->count, sizeof *times, by_source_time);
    for (size_t i = 0; i < sources->count && times[i].ns > 0; i++)
        gt_buffer_add_format(&text, "%s%s %.1f", i ? "; " : "", sources->items[times[i].source].name,
                             100 * times[i].ns / all_ns);
    gt_cells c = {table, row, pct};
    gt_cells_number(&c, 100 * gt_share_of(known_ns, all_ns), 3);
    gt_cells_text(&c, gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

void gt_serving_add_sources(gt_table *table, const gt_step_list *list, const gt_event_view *trace,
                            const gt_replay_sources *sources)
{
    replays r = {.list = list, .trace = trace};
    find_launches(&r);
    find_graphs(&r);
    size_t kinds = sources->count;
    source_time *times = gt_alloc_zero(r.graph_count * kinds + 1, sizeof *times);
    for (size_t i = 0; i < r.graph_count * kinds; i++) times[i].source = i % kinds;
    for (size_t i = 0; i < r.count; i++)
        for (size_t k = 0; k < r.items[i].count; k++) {
            uint32_t number = r.ops[r.items[i].first + k];
            uint8_t source = sources->of_op[number];
            const gt_listed_op *op = &list->ops[number];
            if (source != GT_NO_SOURCE)
                times[r.items[i].graph * kinds + source].ns += (double)(op->end_ns - op->start_ns);
        }
    size_t pct = gt_table_add_column(table, GT_COL_ATTRIBUTED_PCT, GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_HOW, GT_TYPE_STRING);
    for (size_t graph = 0; graph < r.graph_count; graph++)
        add_source_cells(table, graph, pct, sources, times + graph * kinds);
    gt_free_all(times, r.items, r.ops);
}
