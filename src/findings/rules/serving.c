/* Rules for servers, from the list of steps (analysis/serving): what holds up the steps that generate tokens?
 *
 *     decode_gap             the GPU is idle between these steps
 *     decode_idle_in_step    the GPU is idle within them
 *     prefill_stall          prefill steps hold up running requests
 *     graph_padding          graphs compute for more rows than there are requests
 *     decode_bound           reading weights and KV cache takes most of the time
 *
 * Gains are those times, over all steps of the window as all gains, in the model without the profiler's own
 * cost: as much as the model shortens the steps, it shortens the gaps. The last three are measures, not
 * repairs that were tried, so they are hints.
 */
#include "analysis/graphs/memory.h"
#include "findings/rules/rules_table.h"
#include "table/stats.h"

enum { FEWEST_STEPS = 3 };
static const double least_share = 0.05, least_padding = 0.01,
                    least_bound = 0.5; /* of the time of these steps */

/* Steps of decode and verify that have an interval. */
typedef struct generation {
    const gt_step_list *list;
    size_t steps, graph_ops, ops;
    double took_ns, gap_ns, idle_ns; /* sums */
    double all_ns;                   /* intervals of all steps */
    double shrinks;                  /* the model's time of these steps / the recorded one */
} generation;

/* How much the model without the profiler's cost shortens these steps. */
static double model_share(const gt_rule_input *input)
{
    const gt_schedule *s = input->schedule;
    double model_ns = 0, recorded_ns = 0;
    for (size_t i = 0; input->model_step_ns && i + 1 < s->used_step_count; i++) {
        const gt_step_times *step = &s->steps[s->used_steps[i]], *next = &s->steps[s->used_steps[i + 1]];
        if (!gt_phase_generates(s->listed->steps[step->listed].phase)) continue;
        model_ns += input->model_step_ns[i + 1] - input->model_step_ns[i];
        recorded_ns += (double)(s->ops[next->first_op].start_ns - s->ops[step->first_op].start_ns);
    }
    return recorded_ns > 0 && model_ns < recorded_ns ? model_ns / recorded_ns : 1;
}

static bool find_generation(const gt_rule_input *input, generation *g)
{
    *g = (generation){.list = input->schedule->listed};
    for (size_t i = 0; i < g->list->on_gpu_count; i++) {
        const gt_listed_step *step = &g->list->steps[g->list->on_gpu[i]];
        g->all_ns += (double)step->interval_ns;
        if (!step->has_interval || !gt_phase_generates(step->phase)) continue;
        g->steps++;
        g->took_ns += (double)step->interval_ns;
        g->gap_ns += (double)step->gap_ns;
        g->idle_ns += (double)(step->gpu_end_ns - step->gpu_start_ns - step->busy_ns);
        g->graph_ops += step->graph_ops;
        g->ops += step->op_count;
    }
    g->shrinks = model_share(input);
    return g->steps >= FEWEST_STEPS && g->took_ns > 0;
}

static bool is_counted(const gt_listed_step *step)
{
    return step->has_interval && gt_phase_generates(step->phase);
}

/* Sets the gain to a sum of times of these steps. */
static void set_gain(const gt_rule_input *input, gt_finding *finding, const generation *g, double sum_ns)
{
    finding->gain_is_given = true;
    finding->gain_ns = sum_ns * g->shrinks / (double)input->schedule->window.steps;
    finding->phase = "decode";
    finding->phase_gain_ns = sum_ns * g->shrinks / (double)g->steps;
}

static double ms(double ns)
{
    return ns / 1e6;
}

/* ---- decode_gap ---- */

static const struct {
    const char *what, *advice;
} parts[] = {
    {"finishes the step before", "Read results asynchronously: copy tokens to pinned memory and detokenise "
                                 "in another thread or process."},
    {"does something between the steps",
     "Make the scheduler cheaper or run it ahead: asynchronous scheduling (vLLM --async-scheduling, SGLang's "
     "overlap schedule), fewer Python objects per step."},
    {"prepares the step", "Keep input buffers on the GPU and update only what changed."},
    {"launches", "Launch fewer and larger graphs."},
};

static const char sampling_advice[] = "Choose tokens on the GPU: apply temperature, top-k and arg max there, "
                                      "and copy only the tokens to the host.";

/* Whether the host is in an operator that chooses tokens: "runner.py(27): sample -> argmax()". */
static bool is_sampling(const char *site)
{
    static const char *const operators[] = {"argmax()",      "multinomial()", "topk()",         "softmax()",
                                            "log_softmax()", "sort()",        "exponential_()", "cumsum()"};
    const char *at = site ? strstr(site, " -> ") : NULL;
    for (const char *next = at; next; next = strstr(at + 1, " -> ")) at = next;
    for (size_t i = 0; at && i < GT_LENGTH(operators); i++)
        if (strcmp(at + strlen(" -> "), operators[i]) == 0) return true;
    return false;
}

/* The sums of the four parts over these steps; returns the largest. */
static size_t sum_parts(const generation *g, double sums[GT_LENGTH(parts)])
{
    size_t largest = 0;
    for (size_t k = 0; k < GT_LENGTH(parts); k++) sums[k] = 0;
    for (size_t i = 0; i < g->list->on_gpu_count; i++) {
        if (!is_counted(&g->list->steps[g->list->on_gpu[i]])) continue;
        gt_host_parts p = gt_serving_host_parts(g->list, i);
        sums[0] += (double)p.finish_ns;
        sums[1] += (double)p.between_ns;
        sums[2] += (double)p.prepare_ns;
        sums[3] += (double)p.launch_ns;
    }
    for (size_t k = 1; k < GT_LENGTH(parts); k++)
        if (sums[k] > sums[largest]) largest = k;
    return largest;
}

/* The site with most of the idle time of a cause in the steps of a phase. GT_SERVING_PHASES: of those that
 * generate. GT_CAUSES: of any cause, but only before the steps. GT_STR_NONE: none is known. */
static uint32_t site_of_idle(const gt_rule_input *input, gt_serving_phase phase, gt_cause cause)
{
    const gt_schedule *s = input->schedule;
    const gt_step_list *list = s->listed;
    int64_t offset_ns = s->listed_rows ? s->listed_ns : list->base_ns - (int64_t)llrint(s->base_us * 1000);
    gt_tally sites = {0};
    size_t piece = 0;
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        if (phase == GT_SERVING_PHASES ? !is_counted(step) : step->phase != phase || !step->has_interval)
            continue;
        int64_t from_ns = step->before_ns + offset_ns;
        int64_t to_ns = (cause == GT_CAUSES ? step->gpu_start_ns : step->gpu_end_ns) + offset_ns;
        while (piece < input->idle->piece_count && input->idle->pieces[piece].end_ns <= from_ns) piece++;
        for (size_t k = piece; k < input->idle->piece_count; k++) {
            const gt_idle_piece *p = &input->idle->pieces[k];
            if (p->start_ns >= to_ns) break;
            if (p->event == GT_NONE || (cause != GT_CAUSES && p->cause != cause)) continue;
            uint32_t site = gt_site_of_idle(s, p->cause, p->event);
            int64_t start_ns = p->start_ns > from_ns ? p->start_ns : from_ns;
            int64_t end_ns = p->end_ns < to_ns ? p->end_ns : to_ns;
            if (end_ns > start_ns && gt_site_is_known(s, site))
                gt_tally_add(&sites, site, (double)(end_ns - start_ns));
        }
    }
    gt_tally_sort(&sites);
    uint32_t found = sites.item_count ? sites.items[0].text : GT_STR_NONE;
    gt_tally_free(&sites);
    return found;
}

bool gt_rule_decode_gap(const gt_rule_input *input, gt_finding *finding)
{
    generation g;
    if (!find_generation(input, &g) || g.gap_ns < least_share * g.took_ns) return false;
    double sums[GT_LENGTH(parts)], steps = (double)g.steps;
    size_t largest = sum_parts(&g, sums);
    finding->id = "decode_gap";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title = gt_rule_text("The GPU is idle for %.2f ms before each decode step: the host %s",
                                  ms(g.gap_ns / steps), parts[largest].what);
    finding->where = gt_rule_string(input, site_of_idle(input, GT_SERVING_PHASES, GT_CAUSES));
    gt_rule_evidence(
        finding,
        "per decode step the host finishes the step before for %.3f ms, is between the steps for "
        "%.3f ms, prepares for %.3f ms and launches for %.3f ms",
        ms(sums[0] / steps), ms(sums[1] / steps), ms(sums[2] / steps), ms(sums[3] / steps));
    set_gain(input, finding, &g, g.gap_ns);
    gt_rule_evidence(
        finding,
        "these gaps are %.0f%% of the time of %zu decode steps, and without them each takes up to "
        "%.2f ms less",
        100 * g.gap_ns / g.took_ns, g.steps, ms(finding->phase_gain_ns));
    finding->advice =
        gt_rule_text("%s", is_sampling(finding->where) ? sampling_advice : parts[largest].advice);
    return true;
}

/* ---- decode_idle_in_step ---- */

static const char capture_decode[] =
    "Capture decode as CUDA or HIP graphs (vLLM: not --enforce-eager; SGLang: not "
    "--disable-cuda-graph) for the batch sizes that you run.";

bool gt_rule_decode_idle_in_step(const gt_rule_input *input, gt_finding *finding)
{
    generation g;
    if (!find_generation(input, &g) || g.idle_ns < least_share * g.took_ns) return false;
    bool has_graphs = g.graph_ops * 2 >= g.ops;
    finding->id = "decode_idle_in_step";
    bool is_jax = input->schedule->origin == GT_BY_JAX; /* whose profiles do not tell graphs */
    /* With graphs it is not known what would end the idle time. */
    finding->confidence = has_graphs || is_jax ? GT_CONFIDENCE_LOW : GT_CONFIDENCE_HIGH;
    finding->title =
        gt_rule_text("The GPU is idle for %.2f ms within each decode step%s", ms(g.idle_ns / (double)g.steps),
                     has_graphs || is_jax ? "" : ": its kernels are launched one by one");
    double idle_pct = 100 * g.idle_ns / g.took_ns, graph_pct = 100 * (double)g.graph_ops / (double)g.ops;
    if (is_jax)
        gt_rule_evidence(finding, "%.0f%% of the time of %zu decode steps", idle_pct, g.steps);
    else
        gt_rule_evidence(
            finding, "%.0f%% of the time of %zu decode steps; %.0f%% of their GPU operations are in graphs",
            idle_pct, g.steps, graph_pct);
    finding->advice = gt_rule_text(
        "%s", has_graphs ? "Look at the gaps of the sheet graph_replays, and at what is launched before the "
                           "graph and after it."
              : is_jax   ? "Use XLA's command buffers, and one jax.jit for the whole step."
                         : capture_decode);
    set_gain(input, finding, &g, g.idle_ns);
    return true;
}

/* ---- prefill_stall ---- */

typedef struct stalls {
    size_t steps;
    double ns;
} stalls;

/* Prefill steps right before a step that generates tokens for more requests than they began. */
static stalls find_stalls(const gt_step_list *list)
{
    stalls all = {0}, pending = {0};
    int64_t begun = 0;
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        if (step->phase == GT_SERVING_PREFILL) {
            pending.steps++;
            pending.ns += step->has_interval ? (double)step->interval_ns : (double)NAN;
            begun += step->said.context_requests > 0 ? step->said.context_requests : 0;
            continue;
        }
        if (!gt_phase_generates(step->phase) && step->phase != GT_SERVING_MIXED) continue;
        if (pending.steps && step->said.generation_requests > begun && !isnan(pending.ns)) {
            all.steps += pending.steps;
            all.ns += pending.ns;
        }
        pending = (stalls){0};
        begun = 0;
    }
    return all;
}

bool gt_rule_prefill_stall(const gt_rule_input *input, gt_finding *finding)
{
    generation g;
    if (!find_generation(input, &g)) return false;
    stalls found = find_stalls(g.list);
    if (!found.steps || found.ns < least_share * g.all_ns) return false;
    finding->id = "prefill_stall";
    finding->is_gpu = true;
    finding->confidence = GT_CONFIDENCE_LOW;
    finding->title = gt_rule_text("%zu prefill steps hold up running requests for %.2f ms each", found.steps,
                                  ms(found.ns / (double)found.steps));
    gt_rule_evidence(finding, "%.0f%% of the time of all steps", 100 * found.ns / g.all_ns);
    gt_rule_evidence(finding, "how much of it another schedule would hide was not measured");
    finding->advice =
        gt_rule_text("Use chunked prefill, a smaller token budget per step, or prefill on other "
                     "GPUs.");
    finding->gain_is_given = true;
    finding->gain_ns = found.ns / (double)input->schedule->window.steps;
    finding->phase = "prefill";
    finding->phase_gain_ns = found.ns / (double)found.steps;
    return true;
}

/* ---- graph_padding ---- */

typedef struct graph_size {
    int64_t padded;
    double *spans;
    size_t count, capacity;
    double median_ns;
} graph_size;

GT_ORDER_BY(by_padded, graph_size, GT_UP(padded))

typedef struct graph_sizes {
    graph_size *items; /* the smallest first */
    size_t count, capacity;
} graph_sizes;

static graph_size *size_of(const graph_sizes *sizes, int64_t padded)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->items[i].padded == padded) return &sizes->items[i];
    return NULL;
}

static graph_sizes find_sizes(const gt_step_list *list)
{
    graph_sizes sizes = {0};
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        if (!is_counted(step) || step->padded <= 0) continue;
        if (!size_of(&sizes, step->padded)) {
            graph_size size = {.padded = step->padded};
            GT_PUSH(sizes.items, sizes.count, sizes.capacity, size);
        }
        graph_size *size = size_of(&sizes, step->padded);
        GT_PUSH(size->spans, size->count, size->capacity, (double)(step->gpu_end_ns - step->gpu_start_ns));
    }
    if (sizes.count) qsort(sizes.items, sizes.count, sizeof *sizes.items, by_padded);
    for (size_t i = 0; i < sizes.count; i++)
        sizes.items[i].median_ns = gt_quantile(sizes.items[i].spans, sizes.items[i].count, .5);
    return sizes;
}

/* What these steps would have taken less with a graph of the next smaller size, at most. */
static double sum_padding(const gt_step_list *list, const graph_sizes *sizes, size_t *steps)
{
    double sum_ns = 0;
    *steps = 0;
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        int64_t tokens = step->said.generation_tokens;
        if (!is_counted(step) || step->padded <= 0 || tokens <= 0 || tokens >= step->padded) continue;
        const graph_size *size = size_of(sizes, step->padded);
        if (size == sizes->items || tokens <= size[-1].padded) continue;
        double more_ns = size->median_ns - size[-1].median_ns;
        sum_ns += more_ns > 0 ? more_ns : 0;
        (*steps)++;
    }
    return sum_ns;
}

bool gt_rule_graph_padding(const gt_rule_input *input, gt_finding *finding)
{
    generation g;
    size_t steps = 0;
    if (!find_generation(input, &g)) return false;
    graph_sizes sizes = find_sizes(g.list);
    double sum_ns = sum_padding(g.list, &sizes, &steps);
    for (size_t i = 0; i < sizes.count; i++) gt_free(sizes.items[i].spans);
    gt_free(sizes.items);
    if (!steps || sum_ns < least_padding * g.took_ns) return false;
    finding->id = "graph_padding";
    finding->is_gpu = true;
    finding->confidence = GT_CONFIDENCE_LOW;
    finding->title =
        gt_rule_text("Graphs are larger than the batch in %zu of %zu decode steps, which costs at most "
                     "%.3f ms per decode step",
                     steps, g.steps, ms(sum_ns / (double)g.steps));
    gt_rule_evidence(finding, "the next smaller graph would be too small; the cost lies between both sizes");
    finding->advice = gt_rule_text("Capture graphs of more sizes, between those that are used.");
    set_gain(input, finding, &g, sum_ns);
    return true;
}

/* ---- decode_bound ---- */

/* Half of the larger part: what 8 instead of 16 bits would save. */
bool gt_rule_decode_bound(const gt_rule_input *input, gt_finding *finding)
{
    generation g;
    if (!find_generation(input, &g)) return false;
    double bound_ns = 0, weights = 0, kv = 0, peak = input->gpu->bytes;
    for (size_t i = 0; i < g.list->on_gpu_count; i++) {
        const gt_listed_step *step = &g.list->steps[g.list->on_gpu[i]];
        if (!is_counted(step)) continue;
        gt_step_bound bound = gt_step_bound_of(step, peak);
        bound_ns += bound.ns;
        weights += bound.ns > 0 ? bound.weight_bytes : 0;
        kv += bound.ns > 0 ? bound.kv_bytes : 0;
    }
    if (!(bound_ns >= least_bound * g.took_ns)) return false;
    double steps = (double)g.steps;
    finding->id = "decode_bound";
    finding->is_gpu = true;
    finding->confidence = GT_CONFIDENCE_LOW;
    finding->title = gt_rule_text(
        "Reading weights and KV cache takes at least %.2f ms per decode step, %.0f%% of its time",
        ms(bound_ns / steps), 100 * bound_ns / g.took_ns);
    gt_rule_evidence(finding, "%.2f GB of weights and %.2f GB of KV cache per decode step, at %.2f TB/s",
                     weights / steps / 1e9, kv / steps / 1e9, peak / 1000);
    finding->advice = gt_rule_text(
        "%s", weights > kv
                  ? "Serve more requests per step, quantise the weights, or divide them among more GPUs."
                  : "Keep the KV cache in 8 bits, or divide it among more GPUs.");
    set_gain(input, finding, &g, (weights > kv ? weights : kv) / 2 / peak);
    return true;
}

/* ---- phases of all findings ---- */

/* What other advice a finding of a server needs, and the place. */
static void advise(const gt_rule_input *input, gt_finding *finding, gt_serving_phase phase)
{
    bool is_launch = strcmp(finding->id, "launch_bound") == 0 && !finding->where;
    if (!is_launch) return;
    finding->where = gt_rule_string(input, site_of_idle(input, phase, GT_CAUSE_LAUNCH));
    if (input->schedule->origin == GT_BY_JAX) return;
    gt_free(finding->advice);
    finding->advice =
        gt_rule_text("%s", phase == GT_SERVING_PREFILL
                               ? "Use torch.compile or piecewise graphs, larger chunks, or batch prompts."
                               : capture_decode);
}

void gt_rule_find_phase(const gt_rule_input *input, gt_finding *finding, const double *edited_ns)
{
    const gt_schedule *s = input->schedule;
    double gains[GT_SERVING_PHASES] = {0}, all = 0;
    size_t steps[GT_SERVING_PHASES] = {0};
    gt_serving_phase best = 0;
    if (!input->model_step_ns || s->used_step_count < 2 || !(finding->gain_ns > 0)) return;
    for (size_t i = 0; i + 1 < s->used_step_count; i++) {
        gt_serving_phase phase = s->listed->steps[s->steps[s->used_steps[i]].listed].phase;
        double gain =
            (input->model_step_ns[i + 1] - input->model_step_ns[i]) - (edited_ns[i + 1] - edited_ns[i]);
        steps[phase]++;
        if (gain > 0) gains[phase] += gain, all += gain;
    }
    for (gt_serving_phase phase = 1; phase < GT_SERVING_PHASES; phase++)
        if (gains[phase] > gains[best]) best = phase;
    if (!(all > 0)) return;
    finding->phase = gt_serving_phase_name(best);
    finding->phase_gain_ns =
        finding->gain_ns * (double)s->window.steps * (gains[best] / all) / (double)steps[best];
    char *title = finding->title;
    finding->title = gt_rule_text("%s; most of it in %s steps", title, finding->phase);
    gt_free(title);
    gt_rule_evidence(finding, "%.0f%% of the gain is in %zu %s steps, %.2f ms in each",
                     100 * gains[best] / all, steps[best], finding->phase, ms(finding->phase_gain_ns));
    advise(input, finding, best);
}
