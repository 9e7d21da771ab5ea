/* Phases of inference: prefill reads the prompt, decode generates one token after another. Which phase does
 * an op belong to?
 *
 * A trace does not say, so there are several methods, and each uses some of these clues: words and sequence
 * lengths in names (names.c), the number of rows of an input, the query length of attention, and how often an
 * op occurs. For example a GEMM with M = 2048 is prefill, because it works on all tokens of a prompt at once;
 * the same GEMM with M = 1 is decode, because it works on the newest token. And with one prefill and a
 * hundred decode steps, an op that occurs rarely is prefill. The method auto judges steps instead of ops
 * (auto.c). */
#include "analysis/phases/phases.h"

#include "analysis/phases/state.h"
#include "table/stats.h"

static const char *const method_names[GT_PHASE_METHODS] = {
    [GT_PHASES_HYBRID] = "hybrid",
    [GT_PHASES_KERNEL_NAMES] = "kernel_names",
    [GT_PHASES_FRAMEWORK_APIS] = "framework_apis",
    [GT_PHASES_ATTENTION_PATTERNS] = "attention_patterns",
    [GT_PHASES_OPERATION_FREQUENCY] = "operation_frequency",
    [GT_PHASES_GEMM_PARAMS] = "gemm_params",
    [GT_PHASES_UNION] = "union",
    [GT_PHASES_AUTO] = "auto",
};

const char *gt_phase_method_name(gt_phase_method method)
{
    return method_names[method];
}

/* Attention with more queries than this is prefill. */
static const int64_t DECODE_QUERIES_MAX = 10;

/* Quantiles of the number of occurrences per op name. Ops that occur more often than the quantile `decode`
 * are decode, ops that occur less often than the quantile `prefill` are prefill, and the others are
 * `between`. */
typedef struct frequency_rule {
    double prefill, decode;
    gt_phase between;
} frequency_rule;

static const frequency_rule frequency = {0.15, 0.5, GT_PHASE_DECODE};
static const frequency_rule union_frequency = {0.3, 0.7, GT_PHASE_MIXED};

enum { UNION_VOTES_MIN = 2 };

static const size_t argument_columns[GT_CLUE_ARGUMENTS] = {
    [GT_CLUE_DIMS] = GT_EVENT_INPUT_DIMS,
    [GT_CLUE_TYPES] = GT_EVENT_INPUT_TYPES,
    [GT_CLUE_STRIDES] = GT_EVENT_INPUT_STRIDES,
    [GT_CLUE_CONCRETE] = GT_EVENT_CONCRETE_INPUTS,
};

typedef gt_phase_subject subject;

/* ---- shapes and query lengths ---- */

void gt_phases_load_arguments(gt_phases *p)
{
    if (p->values) return;
    for (size_t i = 0; i < GT_CLUE_ARGUMENTS; i++)
        p->arguments[i] = gt_store_string_ids(p->trace->store, argument_columns[i]);
    p->values = gt_values_new(p->trace->strings);
    p->models = gt_models_new(p->trace->strings);
}

bool gt_phases_parameters(gt_phases *p, const gt_phase_subject *op, gt_op_family family, const char *category,
                          const char *const *names, double *values, size_t count)
{
    gt_model_event event = {
        .name = op->name,
        .dims = p->arguments[GT_CLUE_DIMS][op->row],
        .types = p->arguments[GT_CLUE_TYPES][op->row],
        .strides = p->arguments[GT_CLUE_STRIDES][op->row],
        .concrete = p->arguments[GT_CLUE_CONCRETE][op->row],
        .extra = p->trace->extra ? p->trace->extra[op->row] : GT_STR_NONE,
        .sequence = GT_EVENT_NONE,
    };
    for (size_t n = 0; n < count; n++) values[n] = (double)NAN;
    const gt_model *model = gt_model_find(p->models, &event);
    if (!model || model->family != family || strcmp(model->category, category) != 0) return false;
    const gt_model_result *result = gt_model_evaluate(p->models, model, &event, false);
    if (result->outcome != GT_MODEL_VALUE) return false;
    for (size_t i = 0; i < result->parameter_count; i++)
        for (size_t n = 0; n < count; n++)
            if (strcmp(result->parameters[i].name, names[n]) == 0 &&
                result->parameters[i].value.type == GT_VALUE_INT)
                values[n] = (double)result->parameters[i].value.integer;
    return true;
}

static double model_parameter(gt_phases *p, const subject *op, gt_op_family family, const char *category,
                              const char *parameter)
{
    double value;
    gt_phases_parameters(p, op, family, category, &parameter, &value, 1);
    return value;
}

/* The first dimension of the first input, truncated to an integer; NaN if there are fewer than two inputs or
 * it is not above 0. */
static double first_dimension(gt_phases *p, uint32_t row)
{
    const gt_value *dims = gt_values_get(p->values, p->arguments[GT_CLUE_DIMS][row]);
    if (!gt_value_is_list(dims) || dims->count < 2 || !gt_value_is_list(&dims->items[0])) return (double)NAN;
    const gt_value *size = gt_value_at(&dims->items[0], 0);
    double number = size->type == GT_VALUE_INT     ? (double)size->integer
                    : size->type == GT_VALUE_FLOAT ? size->number
                    : size->type == GT_VALUE_BIG   ? (size->text.bytes[0] == '-' ? -1 : (double)INFINITY)
                                                   : (double)NAN;
    return number > 0 ? trunc(number) : (double)NAN;
}

static gt_phase by_rows(gt_phases *p, const subject *op)
{
    if (op->row == GT_NO_EVENT) return GT_PHASE_MIXED;
    gt_phases_load_arguments(p);
    double rows = (double)NAN;
    if (!p->options.as_reference) rows = model_parameter(p, op, GT_FAMILY_GEMM, "GEMM", "M");
    if (isnan(rows)) rows = first_dimension(p, op->row);
    if (isnan(rows)) return GT_PHASE_MIXED;
    return rows > (double)p->options.decode_threshold ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
}

static gt_phase by_query_length(gt_phases *p, const subject *op)
{
    if (op->row == GT_NO_EVENT) return GT_PHASE_MIXED;
    gt_phases_load_arguments(p);
    double queries = model_parameter(p, op, GT_FAMILY_SDPA, "SDPA_fwd", "N_Q");
    if (isnan(queries)) return GT_PHASE_MIXED;
    return queries > (double)DECODE_QUERIES_MAX ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
}

/* ---- frequency ---- */

static void count_names(gt_phases *p)
{
    const frequency_rule *rule = p->options.method == GT_PHASES_UNION ? &union_frequency : &frequency;
    const gt_launchers *l = p->launchers;
    const uint32_t *names = p->trace->name;
    double *counts = gt_alloc(l->count * sizeof *counts);
    uint32_t *distinct = gt_alloc(l->count * sizeof *distinct); /* names, each once */
    size_t count = 0;
    p->counts = gt_alloc_zero(gt_interner_count(p->trace->strings), sizeof *p->counts);
    for (size_t i = 0; i < l->count; i++) {
        uint32_t name = names[l->items[i].row];
        if (p->counts[name]++ == 0) distinct[count++] = name;
    }
    for (size_t i = 0; i < count; i++) counts[i] = p->counts[distinct[i]];
    p->rare_max = gt_quantile(counts, count, rule->prefill);
    p->often_min = gt_quantile(counts, count, rule->decode);
    p->between = rule->between;
    gt_free_all(distinct, counts);
}

static gt_phase by_frequency(gt_phases *p, const subject *op)
{
    if (op->row == GT_NO_EVENT) return GT_PHASE_MIXED;
    if (!p->counts) count_names(p);
    double count = p->counts[op->name];
    if (count > p->often_min) return GT_PHASE_DECODE;
    return count < p->rare_max ? GT_PHASE_PREFILL : p->between;
}

/* ---- the methods ---- */

gt_phase_text gt_phases_text(gt_phases *p, const subject *op)
{
    gt_phase_text text = gt_phase_text_begin(p->names, op->name);
    for (size_t i = 0; i < op->kernel_count; i++)
        gt_phase_text_add(&text, p->names, p->trace->name[op->kernels[i]]);
    return text;
}

static gt_phase by_kernel_names(gt_phases *p, const subject *op)
{
    gt_phase_text text = gt_phases_text(p, op);
    return gt_phase_by_names(&text);
}

static gt_phase by_framework(gt_phases *p, const subject *op)
{
    return gt_phase_names_op(p->names, op->name).by_framework;
}

static gt_phase by_attention(gt_phases *p, const subject *op)
{
    gt_phase_op clues = gt_phase_names_op(p->names, op->name);
    if (p->options.as_reference) return clues.is_attention ? clues.by_attention : GT_PHASE_MIXED;
    if (clues.by_attention != GT_PHASE_MIXED || !clues.is_attention) return clues.by_attention;
    return by_query_length(p, op);
}

static gt_phase by_gemm_params(gt_phases *p, const subject *op)
{
    gt_phase_text text = gt_phases_text(p, op);
    bool found;
    gt_phase phase = gt_phase_by_gemm_names(&text, &found);
    return found ? phase : by_rows(p, op);
}

typedef gt_phase method(gt_phases *p, const subject *op);

/* The first method that gives an answer decides. */
static gt_phase by_first_answer(gt_phases *p, const subject *op)
{
    static method *const in_order[] = {by_kernel_names, by_framework, by_attention, by_frequency};
    gt_phase phase = GT_PHASE_MIXED;
    for (size_t i = 0; i < GT_LENGTH(in_order) && phase == GT_PHASE_MIXED; i++) phase = in_order[i](p, op);
    return phase;
}

/* A weighted vote; the frequency decides if there are too few votes or as many for both. */
static gt_phase by_union(gt_phases *p, const subject *op)
{
    gt_phase_text text = gt_phases_text(p, op);
    gt_phase_op clues = gt_phase_names_op(p->names, op->name);
    const struct {
        gt_phase phase;
        int weight;
    } votes[] = {
        {by_rows(p, op), 3},       {gt_phase_explicit_vote(&text), 4}, {gt_phase_paged_vote(&text), 2},
        {clues.framework_vote, 2}, {clues.batching_vote, 1},
    };
    int prefill = 0, decode = 0;
    for (size_t i = 0; i < GT_LENGTH(votes); i++) {
        if (votes[i].phase == GT_PHASE_PREFILL) prefill += votes[i].weight;
        if (votes[i].phase == GT_PHASE_DECODE) decode += votes[i].weight;
    }
    if (prefill + decode < UNION_VOTES_MIN || prefill == decode) return by_frequency(p, op);
    return prefill > decode ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
}

static method *const methods[GT_PHASE_METHODS] = {
    [GT_PHASES_HYBRID] = by_first_answer,
    [GT_PHASES_KERNEL_NAMES] = by_kernel_names,
    [GT_PHASES_FRAMEWORK_APIS] = by_framework,
    [GT_PHASES_ATTENTION_PATTERNS] = by_attention,
    [GT_PHASES_OPERATION_FREQUENCY] = by_frequency,
    [GT_PHASES_GEMM_PARAMS] = by_gemm_params,
    [GT_PHASES_UNION] = by_union,
};

/* ---- training ---- */

/* "Optimizer.step#AdamW.step", "autograd::engine::evaluate_function: MmBackward0", "MmBackward0",
 * "aten::convolution_backward" */
static bool is_of_training(gt_str name)
{
    if (gt_str_starts_with(name, "Optimizer.step") ||
        gt_str_starts_with(name, "autograd::engine::evaluate_function"))
        return true;
    while (name.len && name.bytes[name.len - 1] >= '0' && name.bytes[name.len - 1] <= '9') name.len--;
    return gt_str_ends_with(name, "Backward") || gt_str_ends_with(name, "_backward");
}

uint32_t gt_phases_sign_of_training(const gt_linked_view *trace)
{
    uint8_t *known = gt_alloc_zero(gt_interner_count(trace->strings), 1); /* by name: it is not */
    uint32_t sign = GT_STR_NONE;
    for (uint32_t row = 0; row < trace->count && sign == GT_STR_NONE; row++) {
        uint32_t name = trace->name[row];
        if ((trace->kind[row] != GT_KIND_CPU_OP && !gt_kind_is_annotation(trace->kind[row])) || known[name])
            continue;
        known[name] = 1;
        if (is_of_training(gt_interner_get(trace->strings, name))) sign = name;
    }
    gt_free(known);
    return sign;
}

/* ---- launchers and kernels ---- */

gt_phase_subject gt_phases_subject(const gt_phases *p, size_t launcher)
{
    const gt_launcher *found = &p->launchers->items[launcher];
    return (gt_phase_subject){found->row, p->trace->name[found->row], p->launchers->kernels + found->first,
                              found->count};
}

gt_phases *gt_phases_find(const gt_linked_view *trace, const gt_launchers *launchers,
                          gt_phase_options options)
{
    gt_phases *p = gt_alloc_zero(1, sizeof *p);
    p->trace = trace;
    p->launchers = launchers;
    p->options = options;
    p->names = gt_phase_names_new(trace->strings);
    if (options.method == GT_PHASES_AUTO && !launchers) gt_phases_find_steps(p);
    if (!launchers) return p;
    p->of_launcher = gt_alloc_zero(launchers->count, 1);
    for (size_t i = 0; i < launchers->count && options.method != GT_PHASES_AUTO; i++) {
        subject op = gt_phases_subject(p, i);
        p->of_launcher[i] = (uint8_t)methods[options.method](p, &op);
    }
    if (options.method == GT_PHASES_AUTO) gt_phases_find_steps(p);
    return p;
}

void gt_phases_free(gt_phases *p)
{
    if (!p) return;
    gt_phase_names_free(p->names);
    gt_free_all(p->of_launcher, p->counts);
    for (size_t i = 0; i < GT_CLUE_ARGUMENTS; i++) gt_free(p->arguments[i]);
    gt_values_free(p->values);
    gt_models_free(p->models);
    gt_free_all(p->steps, p->step_of_gpu, p);
}

gt_phase gt_phases_of_launcher(const gt_phases *p, size_t launcher)
{
    return (gt_phase)p->of_launcher[launcher];
}

const gt_phase_step *gt_phases_steps(const gt_phases *p, size_t *count)
{
    *count = p->step_count;
    return p->steps;
}

int64_t gt_phases_decode_threshold(const gt_phases *p)
{
    return p->options.decode_threshold;
}

gt_phase_evidence gt_phases_evidence_of_launcher(const gt_phases *p, size_t launcher)
{
    return p->steps[p->step_of_gpu[gt_phases_subject(p, launcher).kernels[0]]].evidence;
}

uint8_t *gt_phases_of_kernels(gt_phases *p)
{
    enum { NO_LAUNCHER = UINT8_MAX };
    const gt_linked_view *trace = p->trace;
    uint8_t *phases = gt_alloc(trace->count);
    memset(phases, NO_LAUNCHER, trace->count);
    for (size_t i = 0; p->launchers && i < p->launchers->count; i++) {
        const gt_launcher *launcher = &p->launchers->items[i];
        for (size_t k = 0; k < launcher->count; k++)
            phases[p->launchers->kernels[launcher->first + k]] = p->of_launcher[i];
    }
    for (uint32_t row = 0; row < trace->count; row++) {
        if (phases[row] != NO_LAUNCHER) continue;
        if (p->options.method == GT_PHASES_AUTO) {
            phases[row] = (uint8_t)gt_phases_of_lone_event(p, row);
            continue;
        }
        subject alone = {GT_NO_EVENT, GT_STR_EMPTY, &row, 1};
        phases[row] = (uint8_t)(trace->kind[row] == GT_KIND_KERNEL ? methods[p->options.method](p, &alone)
                                                                   : GT_PHASE_MIXED);
    }
    return phases;
}
