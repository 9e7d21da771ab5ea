/* kv_roofline: how fast attention reads the KV cache, in the steps whose sk_sum is known. A row per phase,
 * kernel and kind of layer:
 *
 *     reads                 "context": the layers that take longest, which read all of it; "part": they are
 *                           faster by half, so they read less: a window, say. Empty: unknown
 *     layers, steps         kernels per step
 *     sk_sum                its mean
 *     us_per_layer          mean time of a kernel
 *     kv_bytes_per_token    of one layer
 *     tb_per_s, pct_of_peak    of "context": sum of sk_sum x kv_bytes_per_token / time; share of the memory's
 *                           bandwidth
 *
 * A kernel that would have read more than the memory's bandwidth allows does not read all of the context.
 *
 * decode_bound: how long steps that generate take at least, a row per phase and batch (as in kernel_classes)
 * with a bound:
 *
 *     weights_mb            10^6 bytes of weights that a step reads; of experts those of one token
 *     weights_known_pct     share of the time of GEMMs whose weights are among them
 *     sk_sum, kv_mb         means; of the layers that read the whole context
 *     bound_us, step_us     means of the least time, and of the time
 *     bound_pct, bound_by   bound_us / step_us; what most of the bytes are
 *
 * The bound is a lower one: bytes that are not known do not count, nor does what caches may hold. */
#include "analysis/graphs/memory.h"

#include "analysis/serving/cells.h"
#include "schema/columns.h"

/* A kernel of attention. */
typedef struct attention {
    uint32_t step, name; /* string id */
    uint32_t place;      /* the how-manieth of its step */
    uint32_t of_step;    /* how many the step has */
    bool reads_part;     /* not the whole context */
    double ns, kv_bytes; /* 0: unknown */
} attention;

struct gt_memory_reads {
    const gt_step_list *steps;
    gt_interner *strings;
    attention *items; /* step by step */
    size_t count, capacity;
};

/* ---- steps ---- */

typedef struct finder {
    gt_memory_reads *found;
    gt_step_list *steps;
    const gt_linked_view *trace;
    gt_graphs *graphs;
    gt_graph_names own_names; /* without graphs */
    gt_graph_names *names;
    gt_values *values;
    gt_map counted; /* ops whose weights the step has */
    double *cached; /* by op that writes to the cache, of the step: kv_bytes */
    size_t cached_count, cached_capacity;
} finder;

static gt_op_reads reads_of(const finder *f, uint32_t index)
{
    static const gt_op_reads none = {.op = GT_NO_EVENT};
    const gt_listed_op *op = &f->steps->ops[index];
    if (!op->in_graph)
        return op->call == GT_NO_EVENT ? none
                                       : gt_op_reads_around(f->trace, f->found->strings, f->values, op->call);
    const gt_graph_claim *claim = f->graphs ? gt_graphs_claim(f->graphs, index) : NULL;
    if (!claim || claim->token == GT_NO_TOKEN || claim->by_name || claim->confidence == GT_CLAIM_LOW)
        return none;
    return f->graphs->units[f->graphs->unit_of[index]].match.tokens[claim->token].reads;
}

/* Kernels that choose what they read. */
static bool is_sparse(const finder *f, uint32_t name)
{
    return gt_str_contains_nocase(gt_interner_get(f->names->strings, name), "sparse");
}

static void add_weights(finder *f, gt_listed_step *step, const gt_listed_op *op, const gt_op_reads *reads)
{
    double ns = (double)(op->end_ns - op->start_ns);
    step->gemm_ns += ns;
    if (!(reads->weight_bytes > 0)) return;
    step->weighed_ns += ns;
    uint32_t *known = gt_map_put(&f->counted, reads->op, op->in_graph);
    if (*known == GT_MAP_NONE) step->weight_bytes += reads->weight_bytes;
    *known = 0;
}

static void add_op(finder *f, uint32_t number, uint32_t index)
{
    gt_listed_step *step = &f->steps->steps[number];
    const gt_listed_op *op = &f->steps->ops[index];
    bool is_gemm = op->class == GT_CLASS_GEMM || op->class == GT_CLASS_MOE_GEMM;
    bool is_attention = op->class == GT_CLASS_ATTENTION;
    if (!is_gemm && !is_attention && op->class != GT_CLASS_KV_CACHE) return;
    if (gt_graph_kernel_name(f->names, op->name).is_helper) return;
    gt_op_reads reads = reads_of(f, index);
    if (is_gemm)
        add_weights(f, step, op, &reads);
    else if (is_attention) {
        double bytes = reads.is_cached || is_sparse(f, op->name) ? 0 : reads.kv_bytes;
        attention one = {
            .step = number, .name = op->name, .ns = (double)(op->end_ns - op->start_ns), .kv_bytes = bytes};
        uint32_t *known = gt_map_put(&f->counted, reads.op, 2 + op->in_graph);
        /* If an op has several, nobody says which of them reads the cache. */
        if (reads.op != GT_NO_EVENT && *known != GT_MAP_NONE)
            one.kv_bytes = f->found->items[*known].kv_bytes = 0;
        *known = (uint32_t)f->found->count;
        GT_PUSH(f->found->items, f->found->count, f->found->capacity, one);
    } else if (reads.is_cached) {
        uint32_t *known = gt_map_put(&f->counted, reads.op, 4 + op->in_graph);
        if (*known == GT_MAP_NONE) GT_PUSH(f->cached, f->cached_count, f->cached_capacity, reads.kv_bytes);
        *known = 0;
    }
}

/* The ops that write to the cache know its type. They count if there is one per kernel of attention. */
static void use_cached(finder *f, attention *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        items[i].place = (uint32_t)i;
        items[i].of_step = (uint32_t)count;
        if (items[i].kv_bytes > 0 && f->cached_count == count) items[i].kv_bytes = f->cached[i];
    }
}

static void find_step(finder *f, uint32_t number)
{
    const gt_listed_step *step = &f->steps->steps[number];
    size_t first = f->found->count;
    gt_map_free(&f->counted);
    f->cached_count = 0;
    for (size_t k = 0; k < step->op_count; k++) add_op(f, number, f->steps->of_steps[step->first_op + k]);
    if (f->found->count > first) use_cached(f, f->found->items + first, f->found->count - first);
}

/* ---- kinds of layers ---- */

/* The time per byte of a token's cache at nine tenths of the kernels of a step; 0: no bytes are known. */
static double slow_of(const attention *items, size_t count, double *spare)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (items[i].kv_bytes > 0) spare[known++] = items[i].ns / items[i].kv_bytes;
    if (!known) return 0;
    qsort(spare, known, sizeof *spare, gt_by_double);
    return spare[(9 * known + 9) / 10 - 1];
}

static uint32_t *layer_of(gt_map *layers, const gt_step_list *steps, const attention *one)
{
    uint64_t phase = steps->steps[one->step].phase;
    return gt_map_put(layers, phase << 32 | one->of_step, (uint64_t)one->place << 32 | one->name);
}

/* A kernel that is faster than those of other layers by half in the mean of all steps reads less. */
static void find_kinds(gt_memory_reads *reads)
{
    struct {
        double shares;
        size_t steps;
    } *layers = gt_alloc_zero(reads->count, sizeof *layers);
    double *spare = gt_alloc(reads->count * sizeof *spare);
    gt_map places = {0};
    uint32_t layer_count = 0;
    for (size_t begin = 0, end; begin < reads->count; begin = end) {
        end = begin + reads->items[begin].of_step;
        double slow = slow_of(reads->items + begin, end - begin, spare);
        for (size_t i = begin; i < end; i++) {
            const attention *one = &reads->items[i];
            uint32_t *layer = layer_of(&places, reads->steps, one);
            if (*layer == GT_MAP_NONE) *layer = layer_count++;
            layers[*layer].shares += one->kv_bytes > 0 && slow > 0 ? one->ns / one->kv_bytes / slow : 0;
            layers[*layer].steps++;
        }
    }
    for (size_t i = 0; i < reads->count; i++) {
        uint32_t layer = *layer_of(&places, reads->steps, &reads->items[i]);
        reads->items[i].reads_part = layers[layer].shares * 3 < 2 * (double)layers[layer].steps;
    }
    gt_map_free(&places);
    gt_free_all(layers, spare);
}

/* What the steps read of the cache: of the layers that read all of it. */
static void add_kv_bytes(gt_memory_reads *reads, gt_step_list *steps)
{
    for (size_t i = 0; i < reads->count; i++) {
        const attention *one = &reads->items[i];
        gt_listed_step *step = &steps->steps[one->step];
        step->attention_ns += one->ns;
        if (one->reads_part || !(one->kv_bytes > 0) || step->said.sk_sum <= 0) continue;
        step->kv_bytes += one->kv_bytes * (double)step->said.sk_sum;
        step->kv_ns += one->ns;
    }
}

gt_memory_reads *gt_memory_reads_find(gt_step_list *steps, const gt_linked_view *trace, gt_interner *strings,
                                      gt_graphs *graphs)
{
    gt_memory_reads *found = gt_alloc_zero(1, sizeof *found);
    found->steps = steps;
    found->strings = strings;
    finder f = {.found = found, .steps = steps, .trace = trace, .graphs = graphs};
    f.values = gt_values_new(strings);
    if (!graphs) f.own_names = gt_graph_names_new(strings);
    f.names = graphs ? &graphs->names : &f.own_names;
    for (uint32_t i = 0; i < steps->count; i++)
        if (steps->steps[i].phase != GT_SERVING_STEP) find_step(&f, i);
    find_kinds(found);
    add_kv_bytes(found, steps);
    if (!graphs) gt_graph_names_free(&f.own_names);
    gt_values_free(f.values);
    gt_map_free(&f.counted);
    gt_free(f.cached);
    return found;
}

void gt_memory_reads_free(gt_memory_reads *reads)
{
    if (!reads) return;
    gt_free_all(reads->items, reads);
}

/* ---- kv_roofline ---- */

static const gt_column_head kv_columns[] = {
    {GT_COL_PHASE, GT_TYPE_STRING},
    {GT_COL_KERNEL, GT_TYPE_STRING},
    {GT_COL_READS, GT_TYPE_STRING},
    {GT_COL_LAYERS, GT_TYPE_FLOAT},
    {GT_COL_STEPS, GT_TYPE_INT},
    {GT_COL_SK_SUM, GT_TYPE_FLOAT},
    {GT_COL_US_PER_LAYER, GT_TYPE_FLOAT},
    {GT_COL_KV_BYTES_PER_TOKEN, GT_TYPE_FLOAT},
    {GT_COL_SERVING_TB_PER_S, GT_TYPE_FLOAT},
    {GT_COL_PCT_OF_PEAK, GT_TYPE_FLOAT},
};

/* Kernels of one name and kind in the steps of a phase whose sk_sum is known. */
typedef struct kv_row {
    gt_serving_phase phase;
    uint32_t name, last_step;
    bool reads_part;
    double kv_bytes, ns, read_bytes, sk_sum; /* the last three: sums */
    size_t kernels, steps;
} kv_row;

GT_ORDER_BY(by_phase_and_time, kv_row, GT_UP(phase) GT_DOWN(ns) GT_UP(name))

static kv_row *row_of(kv_row *rows, size_t *count, const gt_listed_step *step, const attention *one)
{
    size_t i = 0;
    while (i < *count && (rows[i].phase != step->phase || rows[i].name != one->name ||
                          rows[i].reads_part != one->reads_part || rows[i].kv_bytes != one->kv_bytes))
        i++;
    if (i == *count)
        rows[(*count)++] = (kv_row){.phase = step->phase,
                                    .name = one->name,
                                    .reads_part = one->reads_part,
                                    .kv_bytes = one->kv_bytes,
                                    .last_step = GT_OUTSIDE_STEPS};
    return &rows[i];
}

static void add_kernel(kv_row *row, const gt_listed_step *step, const attention *one)
{
    row->kernels++;
    row->ns += one->ns;
    row->read_bytes += one->kv_bytes * (double)step->said.sk_sum;
    if (row->last_step == one->step) return;
    row->last_step = one->step;
    row->steps++;
    row->sk_sum += (double)step->said.sk_sum;
}

static void print_row(gt_table *table, const kv_row *row, const gt_gpu_arch *arch)
{
    double peak = arch && arch->mem_bw_gbps > 0 ? arch->mem_bw_gbps : (double)NAN;
    double rate = row->reads_part || !(row->kv_bytes > 0) ? (double)NAN : row->read_bytes / row->ns;
    if (rate > peak) rate = (double)NAN;
    gt_cells c = gt_cells_of_new_row(table);
    gt_cells_text(&c, gt_serving_phase_name(row->phase));
    gt_table_set_string(table, c.column++, c.row, row->name);
    gt_cells_text(&c, isnan(rate) ? row->reads_part && row->kv_bytes > 0 ? "part" : "" : "context");
    gt_cells_number(&c, (double)row->kernels / (double)row->steps, 2);
    gt_cells_count(&c, (int64_t)row->steps);
    gt_cells_number(&c, row->sk_sum / (double)row->steps, 1);
    gt_cells_us(&c, row->ns / (double)row->kernels);
    gt_cells_number(&c, row->kv_bytes > 0 ? row->kv_bytes : (double)NAN, 1);
    gt_cells_number(&c, rate / 1000, 4);
    gt_cells_number(&c, 100 * rate / peak, 2);
}

gt_table *gt_kv_roofline(const gt_memory_reads *reads, const gt_gpu_arch *arch)
{
    enum { MOST_ROWS = 512 }; /* phases x names x kinds */
    gt_table *table = gt_table_new(GT_SHEET_KV_ROOFLINE, reads->strings);
    gt_table_add_columns(table, kv_columns, GT_LENGTH(kv_columns));
    kv_row rows[MOST_ROWS];
    size_t count = 0;
    for (size_t i = 0; i < reads->count && count < MOST_ROWS; i++) {
        const gt_listed_step *step = &reads->steps->steps[reads->items[i].step];
        if (step->said.sk_sum > 0)
            add_kernel(row_of(rows, &count, step, &reads->items[i]), step, &reads->items[i]);
    }
    qsort(rows, count, sizeof *rows, by_phase_and_time);
    for (size_t i = 0; i < count; i++) print_row(table, &rows[i], arch);
    return table;
}

/* ---- decode_bound ---- */

static const gt_column_head bound_columns[] = {
    {GT_COL_PHASE, GT_TYPE_STRING},
    {GT_COL_SERVING_BATCH, GT_TYPE_INT},
    {GT_COL_STEPS, GT_TYPE_INT},
    {GT_COL_WEIGHTS_MB, GT_TYPE_FLOAT},
    {GT_COL_WEIGHTS_KNOWN_PCT, GT_TYPE_FLOAT},
    {GT_COL_SK_SUM, GT_TYPE_FLOAT},
    {GT_COL_KV_MB, GT_TYPE_FLOAT},
    {GT_COL_BOUND_US, GT_TYPE_FLOAT},
    {GT_COL_STEP_US, GT_TYPE_FLOAT},
    {GT_COL_BOUND_PCT, GT_TYPE_FLOAT},
    {GT_COL_BOUND_BY, GT_TYPE_STRING},
};

gt_step_bound gt_step_bound_of(const gt_listed_step *step, double peak)
{
    gt_step_bound bound = {0};
    if (!(peak > 0)) return bound;
    /* Where the time of the kernels does not suffice, they read something else than the shapes say. */
    if (step->weight_bytes <= step->weighed_ns * peak + GT_CACHE_BYTES)
        bound.weight_bytes = step->weight_bytes;
    if (step->kv_bytes <= step->kv_ns * peak) bound.kv_bytes = step->kv_bytes;
    double bytes = bound.weight_bytes + bound.kv_bytes - GT_CACHE_BYTES;
    bound.ns = bytes > 0 && bytes / peak <= (double)gt_step_took_ns(step) ? bytes / peak : 0;
    return bound;
}

/* Steps of one phase and batch. */
typedef struct bound_row {
    gt_serving_phase phase;
    int64_t batch; /* 0: unknown */
    size_t steps, known_sk;
    double weights, kv, sk_sum, bound_ns, step_ns, gemm_ns, weighed_ns, attention_ns, kv_ns; /* sums */
    double peak; /* bytes per ns */
} bound_row;

GT_ORDER_BY(by_phase_and_batch, bound_row, GT_UP(phase) GT_UP(batch))

static void add_step(bound_row *row, const gt_listed_step *step, const gt_step_bound *bound)
{
    row->steps++;
    row->weights += bound->weight_bytes;
    row->kv += bound->kv_bytes;
    row->bound_ns += bound->ns;
    row->step_ns += (double)gt_step_took_ns(step);
    row->gemm_ns += step->gemm_ns;
    row->weighed_ns += step->weighed_ns;
    row->attention_ns += step->attention_ns;
    row->kv_ns += bound->kv_bytes > 0 ? step->kv_ns : 0;
    if (step->said.sk_sum <= 0) return;
    row->known_sk++;
    row->sk_sum += (double)step->said.sk_sum;
}

static void print_bound(gt_table *table, const bound_row *row)
{
    double steps = (double)row->steps, known_sk = row->known_sk == row->steps ? steps : (double)NAN;
    gt_cells c = gt_cells_of_new_row(table);
    gt_cells_text(&c, gt_serving_phase_name(row->phase));
    gt_cells_count(&c, row->batch ? row->batch : GT_STEP_UNKNOWN);
    gt_cells_count(&c, (int64_t)row->steps);
    gt_cells_number(&c, row->weights > 0 ? row->weights / steps / 1e6 : (double)NAN, 3);
    gt_cells_number(&c, row->weights > 0 ? 100 * gt_share_of(row->weighed_ns, row->gemm_ns) : (double)NAN, 2);
    gt_cells_number(&c, row->sk_sum / known_sk, 1);
    gt_cells_number(&c, row->kv > 0 ? row->kv / known_sk / 1e6 : (double)NAN, 3);
    gt_cells_us(&c, row->bound_ns / steps);
    gt_cells_us(&c, row->step_ns / steps);
    gt_cells_number(&c, 100 * row->bound_ns / row->step_ns, 2);
    /* What is unknown may be as much as the memory could deliver in its time. */
    bool is_cache = row->kv > row->weights + (row->gemm_ns - row->weighed_ns) * row->peak;
    bool is_weights = row->weights > row->kv + (row->attention_ns - row->kv_ns) * row->peak;
    gt_cells_text(&c, is_cache ? "KV cache" : is_weights ? "weights" : "");
}

gt_table *gt_decode_bound(const gt_step_list *steps, gt_interner *strings, const gt_gpu_arch *arch)
{
    gt_table *table = gt_table_new(GT_SHEET_DECODE_BOUND, strings);
    gt_table_add_columns(table, bound_columns, GT_LENGTH(bound_columns));
    double peak = arch && arch->mem_bw_gbps > 0 ? arch->mem_bw_gbps : 0;
    bound_row *rows = gt_alloc(steps->count * sizeof *rows);
    gt_map places = {0};
    size_t count = 0;
    for (size_t i = 0; i < steps->count; i++) {
        const gt_listed_step *step = &steps->steps[i];
        gt_step_bound bound = gt_step_bound_of(step, peak);
        if (!step->op_count || !gt_phase_generates(step->phase) || !(bound.ns > 0)) continue;
        int64_t batch = gt_step_batch(step);
        uint32_t *place = gt_map_put(&places, (uint64_t)batch, step->phase);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)count;
            rows[count++] = (bound_row){.phase = step->phase, .batch = batch, .peak = peak};
        }
        add_step(&rows[*place], step, &bound);
    }
    if (count) qsort(rows, count, sizeof *rows, by_phase_and_batch);
    for (size_t i = 0; i < count; i++) print_bound(table, &rows[i]);
    gt_map_free(&places);
    gt_free(rows);
    return table;
}
