/* Pseudo-ops: ops of inference frameworks that the trace does not name, such as the GEMMs inside a fused
 * mixture of experts.
 *
 * Each row of the table `detectors` says what the trace must contain (ops, kernels, Python functions) and
 * which function adds the new ops then. For example, if the trace has vllm::moe_forward and kernels named
 * *matmul_ogs*, the launch of the first such kernel below it is wrapped in the op
 * pseudo_op::moe_triton_unfused_up, the others in
 * ..._down. To add a detector, add a row and, if no existing function fits, a function. */
#include "analysis/pytorch/sheets.h"

#include "compat/python_regex.h"
#include "json/string.h"
#include "trace/pytorch/tree_edit.h"

typedef struct search search;

typedef struct detector {
    const char *op;       /* an op that the trace must have; NULL: any */
    const char *other_op; /* a second op that it must have */
    const char *no_op;    /* an op that it must not have */
    const char *kernel;   /* one of its kernels must have this in its name, in any case */
    const char *function; /* Python regular expression: it must have a Python function that matches */
    const char *added;    /* name of the new op, or its prefix */
    void (*add)(search *s, const struct detector *d);
} detector;

static void add_fused_moe(search *s, const detector *d);
static void add_triton_moe(search *s, const detector *d);
static void add_quantized_moe(search *s, const detector *d);
static void add_moe_stages(search *s, const detector *d);
static void add_latent_attention(search *s, const detector *d);
static void add_paged_attention(search *s, const detector *d);

static const char MOE[] = "vllm::moe_forward", FUSED_MOE[] = "vllm::rocm_aiter_fused_moe";
static const char ATTENTION[] = "aiter::v4_attention_with_output";

static const detector detectors[] = {
    {.op = FUSED_MOE, .other_op = MOE, .added = "pseudo_op::moe_aiter_fused_1stage", .add = add_fused_moe},
    {.op = MOE,
     .no_op = FUSED_MOE,
     .kernel = "matmul_ogs",
     .added = "pseudo_op::moe_triton_unfused_",
     .add = add_triton_moe},
    {.op = "vllm::outplace_fused_experts",
     .kernel = "fused_moe_kernel_gptq_awq",
     .added = "pseudo_op::moe_gptq_awq_",
     .add = add_quantized_moe},
    {.op = "aiter::fused_moe_",
     .function = ": flydsl_moe_stage1$",
     .added = "pseudo_op::moe_flydsl_stage1",
     .add = add_moe_stages},
    {.op = "aiter::fused_moe_",
     .function = ": flydsl_moe_stage2$",
     .added = "pseudo_op::moe_flydsl_stage2",
     .add = add_moe_stages},
    {.op = "aiter::mla_decode_stage1_asm_fwd",
     .function = "aiter/mla.py\\([0-9]+\\): mla_decode_fwd",
     .added = "pseudo_mla_decode_fwd",
     .add = add_latent_attention},
    {.op = "aiter::mla_prefill_ps_asm_fwd",
     .function = ":\\s*mla_fp8_prefill_attn\\b",
     .added = "pseudo_mla_prefill_fwd",
     .add = add_latent_attention},
    {.function = "paged_decode\\.py\\([0-9]+\\):\\s*sparse_attn_v4_paged_decode\\b",
     .added = "pseudo_v4_paged_decode_",
     .add = add_paged_attention},
};

struct search {
    const gt_linked_view *trace;
    gt_calls *calls;
    uint32_t *callers; /* gt_calls_callers; NULL: not needed so far */
    gt_tree_edit *edit;
    gt_arena arena;
    uint32_t *dims, *concrete; /* by row: JSON; NULL: not loaded yet */
    gt_row_list matches;       /* of the current detector: its Python functions, or else the rows of its op */
    gt_row_list gpu;           /* GPU events of the current op */
};

/* ---- searching ---- */

/* Host events with this name, by start. */
static void find_named(search *s, const char *name, gt_row_list *found)
{
    uint32_t id = gt_interner_find(s->trace->strings, name, strlen(name));
    found->count = 0;
    for (uint32_t row = 0; id != GT_STR_NONE && row < s->trace->count; row++)
        if (s->trace->name[row] == id && gt_kind_is_host(s->trace->kind[row]))
            GT_PUSH(found->items, found->count, found->capacity, row);
    gt_order_rows(found->items, found->count, s->trace->start_us);
}

static bool has_op(search *s, const char *name)
{
    find_named(s, name, &s->matches);
    return s->matches.count > 0;
}

static bool has_kernel(const search *s, const char *word)
{
    uint32_t before = GT_STR_NONE;
    for (uint32_t row = 0; row < s->trace->count; row++) {
        if (s->trace->kind[row] != GT_KIND_KERNEL || s->trace->name[row] == before) continue;
        before = s->trace->name[row];
        if (gt_str_contains_nocase(gt_event_name(&s->trace->events, row), word)) return true;
    }
    return false;
}

/* Puts the Python functions whose names match into s->matches, by start. Matches each name once. */
static bool has_function(search *s, const char *pattern)
{
    enum { UNKNOWN, NO, YES };
    gt_python_regex expression;
    gt_python_match match = {0};
    gt_error ignored;
    s->matches.count = 0;
    if (!s->trace->has_python || !gt_python_regex_compile(&expression, pattern, &ignored)) return false;
    uint8_t *known = gt_alloc_zero(gt_interner_count(s->trace->strings), 1);
    for (uint32_t row = 0; row < s->trace->count; row++) {
        if (s->trace->kind[row] != GT_KIND_PYTHON) continue;
        uint8_t *answer = &known[s->trace->name[row]];
        if (*answer == UNKNOWN)
            *answer = gt_python_regex_search(&expression, gt_event_name(&s->trace->events, row), &match,
                                             &ignored) &&
                              match.found
                          ? YES
                          : NO;
        if (*answer == YES) GT_PUSH(s->matches.items, s->matches.count, s->matches.capacity, row);
    }
    gt_free(known);
    gt_python_match_free(&match);
    gt_python_regex_free(&expression);
    gt_order_rows(s->matches.items, s->matches.count, s->trace->start_us);
    return s->matches.count > 0;
}

/* Whether a detector applies. Then s->matches has its Python functions, or else the rows of its op. */
static bool applies(search *s, const detector *d)
{
    return !(d->no_op && has_op(s, d->no_op)) && !(d->other_op && !has_op(s, d->other_op)) &&
           !(d->kernel && !has_kernel(s, d->kernel)) && !(d->op && !has_op(s, d->op)) &&
           !(d->function && !has_function(s, d->function));
}

/* The nearest event above a row with this name, and the first event below it. */
static uint32_t above(const search *s, uint32_t row, const char *name)
{
    uint32_t id = gt_interner_find(s->trace->strings, name, strlen(name));
    if (id == GT_STR_NONE) return GT_NO_EVENT;
    for (row = s->trace->parent[row]; row != GT_NO_EVENT && s->trace->name[row] != id;)
        row = s->trace->parent[row];
    return row;
}

static uint32_t below(const search *s, uint32_t row, const char *name)
{
    uint32_t id = gt_interner_find(s->trace->strings, name, strlen(name));
    if (s->trace->preorder[row] == GT_NO_EVENT) return GT_NO_EVENT;
    for (uint32_t n = s->trace->preorder[row] + 1; n < s->trace->subtree_end[row]; n++)
        if (s->trace->name[s->calls->row_of[n]] == id) return s->calls->row_of[n];
    return GT_NO_EVENT;
}

/* Fills s->gpu with the GPU events launched by an event or below it whose names contain `word`, by start. */
static void find_gpu_events(search *s, uint32_t row, const char *word)
{
    gt_row_list *gpu = &s->gpu;
    size_t kept = 0;
    gpu->count = 0;
    gt_calls_add_gpu_events(s->calls, row, gpu);
    for (size_t i = 0; i < gpu->count; i++)
        if (gt_str_contains_nocase(gt_event_name(&s->trace->events, gpu->items[i]), word))
            gpu->items[kept++] = gpu->items[i];
    gpu->count = kept;
    gt_order_rows(gpu->items, gpu->count, s->trace->start_us);
}

static void keep_kernels(search *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->gpu.count; i++)
        if (s->trace->kind[s->gpu.items[i]] == GT_KIND_KERNEL) s->gpu.items[kept++] = s->gpu.items[i];
    s->gpu.count = kept;
}

static const gt_value *argument(search *s, uint32_t **texts, size_t column, uint32_t row)
{
    if (!*texts) *texts = gt_store_string_ids(s->trace->store, column);
    return gt_value_parse(&s->arena, gt_interner_get(s->trace->strings, (*texts)[row]));
}

/* Reads an integer, which may also be written as a string. */
static bool read_integer(const gt_value *value, int64_t *integer)
{
    char *end;
    if (value->type == GT_VALUE_INT) *integer = value->integer;
    if (value->type != GT_VALUE_STRING || !value->text.len) return value->type == GT_VALUE_INT;
    *integer = strtoll(value->text.bytes, &end, 10);
    return end == value->text.bytes + value->text.len;
}

/* ---- adding ops ---- */

static uint32_t add_name(search *s, const char *beginning, const char *end)
{
    char *name = gt_format("%s%s", beginning, end);
    uint32_t id = gt_interner_add_cstr(s->trace->strings, name);
    gt_free(name);
    return id;
}

/* A new op with the detector's name plus `end`, and the arguments of an event. */
static gt_new_op like(search *s, const detector *d, const char *end, uint32_t arguments_of)
{
    return (gt_new_op){.name = add_name(s, d->added, end), .arguments_of = arguments_of};
}

/* The arguments of a GEMM in a mixture of experts: which of the GEMMs it is. */
static uint32_t gemm_arguments(search *s, const char *type, size_t index, bool gated, int64_t topk)
{
    char *json =
        gt_format("{\"MoE GEMM type\":\"%s\",\"MoE GEMM index\":%zu,\"MoE GEMM gated\":%s,\"MoE topk\":%lld}",
                  type, index, gated ? "true" : "false", (long long)topk);
    uint32_t id = gt_interner_add_cstr(s->trace->strings, json);
    gt_free(json);
    return id;
}

/* ---- mixtures of experts ---- */

static bool calls_ops(const search *s, uint32_t row)
{
    const gt_linked_view *trace = s->trace;
    if (trace->preorder[row] == GT_NO_EVENT) return false;
    for (uint32_t n = trace->preorder[row] + 1; n < trace->subtree_end[row];) {
        uint32_t inner = s->calls->row_of[n];
        if (trace->kind[inner] == GT_KIND_CPU_OP) return true;
        n = gt_calls_use_gpu(s->calls, inner) ? n + 1 : trace->subtree_end[inner];
    }
    return false;
}

static bool is_fused_moe_kernel(gt_str name)
{
    return gt_str_contains(name, "aiter::") && gt_str_contains(name, "fmoe") &&
           !gt_str_contains(name, "MoeSorting") && !gt_str_contains_nocase(name, "quant");
}

/* Adds an op for the one kernel that multiplies; other kernels of the op sort and quantize. */
static void add_fused_moe(search *s, const detector *d)
{
    for (size_t i = 0; i < s->matches.count; i++) {
        uint32_t op = s->matches.items[i], kernel = GT_NO_EVENT;
        size_t found = 0;
        if (calls_ops(s, op)) continue;
        find_gpu_events(s, op, "fmoe");
        keep_kernels(s);
        for (size_t k = 0; k < s->gpu.count; k++) {
            if (!is_fused_moe_kernel(gt_event_name(&s->trace->events, s->gpu.items[k]))) continue;
            kernel = s->gpu.items[k];
            found++;
        }
        if (found == 1) gt_tree_wrap_launch(s->edit, s->trace->parent[kernel], like(s, d, "", op));
    }
}

/* How many experts a token is sent to: the second input of the first op below with TopK in its name, at most
 * ten levels down. */
static int64_t experts_of(search *s, uint32_t op)
{
    enum { LEVELS = 11, DEFAULT = 4 };
    const gt_linked_view *trace = s->trace;
    int64_t topk;
    if (trace->preorder[op] == GT_NO_EVENT) return DEFAULT;
    if (!s->callers) s->callers = gt_calls_callers(s->calls);
    for (uint32_t n = trace->preorder[op] + 1; n < trace->subtree_end[op];) {
        uint32_t row = s->calls->row_of[n];
        int level = 1;
        for (uint32_t c = s->callers[n]; c != trace->preorder[op] && level <= LEVELS; c = s->callers[c])
            level++;
        gt_str name = gt_event_name(&trace->events, row);
        if (level <= LEVELS && gt_str_contains(name, "TopK") &&
            read_integer(gt_value_at(argument(s, &s->concrete, GT_EVENT_CONCRETE_INPUTS, row), 1), &topk))
            return topk;
        n = level < LEVELS ? n + 1 : trace->subtree_end[row];
    }
    return DEFAULT;
}

static void add_scatter(search *s, const detector *d, uint32_t op)
{
    find_gpu_events(s, op, "matmul_scatter");
    if (s->gpu.count != 1) return;
    gt_new_op added = like(s, d, "finalize_matmul_scatter", op);
    added.extra = gt_interner_add_cstr(s->trace->strings, "{\"MoE GEMM type\":\"finalize_matmul_scatter\"}");
    gt_tree_wrap_launch(s->edit, s->trace->parent[s->gpu.items[0]], added);
}

/* The first GEMM is the up projection, the others are down projections. */
static void add_gemm(search *s, const detector *d, uint32_t op, size_t index, bool gated, int64_t topk)
{
    const char *type = index ? "down" : "up";
    gt_new_op added = like(s, d, type, op);
    added.extra = gemm_arguments(s, type, index, gated, topk);
    gt_tree_wrap_launch(s->edit, s->trace->parent[s->gpu.items[index]], added);
}

static void add_triton_moe(search *s, const detector *d)
{
    for (size_t i = 0; i < s->matches.count; i++) {
        uint32_t op = s->matches.items[i];
        find_gpu_events(s, op, d->kernel);
        keep_kernels(s);
        if (!s->gpu.count) continue;
        int64_t topk = experts_of(s, op);
        for (size_t k = 0; k < s->gpu.count; k++) {
            gt_str name = gt_event_name(&s->trace->events, s->gpu.items[k]);
            add_gemm(s, d, op, k,
                     gt_str_contains_nocase(name, "_swiglu") || gt_str_contains_nocase(name, "_glu"), topk);
        }
        add_scatter(s, d, op);
    }
}

static void add_quantized_moe(search *s, const detector *d)
{
    enum { EXPERTS = 4 /* index of the input */, DEFAULT = 8 };
    for (size_t i = 0; i < s->matches.count; i++) {
        uint32_t op = s->matches.items[i];
        int64_t topk;
        find_gpu_events(s, op, d->kernel);
        keep_kernels(s);
        const gt_value *dims = argument(s, &s->dims, GT_EVENT_INPUT_DIMS, op);
        if (!read_integer(gt_value_at(gt_value_at(dims, EXPERTS), 1), &topk)) topk = DEFAULT;
        for (size_t k = 0; k < s->gpu.count; k++) add_gemm(s, d, op, k, k == 0, topk);
    }
}

static void add_moe_stages(search *s, const detector *d)
{
    gt_buffer json = {0}, scratch = {0};
    for (size_t i = 0; i < s->matches.count; i++) {
        uint32_t function = s->matches.items[i], op = above(s, function, d->op);
        if (op == GT_NO_EVENT) continue;
        gt_new_op added = like(s, d, "", op);
        gt_str name = gt_event_name(&s->trace->events, function);
        const char *space =
            memrchr(name.bytes, ' ', name.len); /* the pattern has one; NUL may be before it */
        gt_str stage = {space + 1, name.len - (size_t)(space + 1 - name.bytes)};
        json.len = 0;
        gt_buffer_add_cstr(&json, "{\"MoE flydsl stage\":");
        gt_json_string_add(&json, stage, &scratch);
        gt_buffer_add_cstr(&json, "}");
        added.extra = gt_interner_add(s->trace->strings, json.bytes, json.len);
        gt_tree_wrap_event(s->edit, function, added);
    }
    gt_buffer_free(&json);
    gt_buffer_free(&scratch);
}

/* ---- attention ---- */

static void add_latent_attention(search *s, const detector *d)
{
    for (size_t i = 0; i < s->matches.count; i++) {
        uint32_t function = s->matches.items[i], op = below(s, function, d->op);
        if (op != GT_NO_EVENT && gt_calls_use_gpu(s->calls, function))
            gt_tree_wrap_children(s->edit, function, like(s, d, "", op));
    }
}

/* Numbers by value, before other strings. */
static int compare_ids(const gt_interner *strings, uint32_t a, uint32_t b)
{
    char *end_a, *end_b;
    gt_str left = gt_interner_get(strings, a), right = gt_interner_get(strings, b);
    long long x = strtoll(left.bytes, &end_a, 10), y = strtoll(right.bytes, &end_b, 10);
    bool number_a = left.len && !*end_a, number_b = right.len && !*end_b;
    if (number_a && number_b) return (x > y) - (x < y);
    return number_a != number_b ? number_b - number_a : gt_str_compare(left, right);
}

static int by_thread(const void *left, const void *right, void *context)
{
    const gt_linked_view *trace = ((const search *)context)->trace;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    gt_lane_ids ids_a = gt_lane_ids_of(trace->lanes, a), ids_b = gt_lane_ids_of(trace->lanes, b);
    int order = compare_ids(trace->strings, ids_a.process, ids_b.process);
    if (!order) order = compare_ids(trace->strings, ids_a.thread, ids_b.thread);
    if (!order) order = (trace->start_us[a] > trace->start_us[b]) - (trace->start_us[a] < trace->start_us[b]);
    return order ? order : (a > b) - (a < b);
}

static const char *attention_mode(const search *s)
{
    bool compresses = false;
    for (size_t i = 0; i < s->gpu.count; i++) {
        gt_str name = gt_event_name(&s->trace->events, s->gpu.items[i]);
        if (gt_str_starts_with(name, "hca_")) return "hca";
        compresses |= gt_str_starts_with(name, "fused_compress_attn") ||
                      gt_str_starts_with(name, "_update_compressor_states_kernel");
    }
    return compresses ? "csa" : "swa";
}

/* Number and size of heads, from the name of the kernel that applies rotary embedding. */
static void add_heads(const search *s, gt_buffer *json)
{
    gt_python_regex expression;
    gt_python_match match = {0};
    gt_error ignored;
    if (!gt_python_regex_compile(&expression, "qk_norm_rope_H([0-9]+)_D([0-9]+)_RD[0-9]+", &ignored)) return;
    for (size_t i = 0; i < s->gpu.count && !match.found; i++) {
        gt_str name = gt_event_name(&s->trace->events, s->gpu.items[i]);
        if (!gt_python_regex_search(&expression, name, &match, &ignored) || !match.found) continue;
        gt_buffer_add_cstr(json, ",\"v4_H_Q\":");
        gt_buffer_add(json, match.groups[1].bytes, match.groups[1].len);
        gt_buffer_add_cstr(json, ",\"v4_d_h\":");
        gt_buffer_add(json, match.groups[2].bytes, match.groups[2].len);
    }
    gt_python_match_free(&match);
    gt_python_regex_free(&expression);
}

static void add_json_text(gt_buffer *json, const char *text)
{
    gt_buffer scratch = {0};
    gt_json_string_add(json, (gt_str){text, strlen(text)}, &scratch);
    gt_buffer_free(&scratch);
}

/* The trace does not say which model it is and how many GPUs share it; environment variables may. */
static uint32_t attention_arguments(search *s, const char *mode, size_t call)
{
    const char *model = getenv("TL_MODEL"), *shards = getenv("TL_TP");
    char *end = NULL, *head = NULL;
    long tp = shards ? strtol(shards, &end, 10) : 1;
    if (!shards || end == shards || *end) tp = 1;
    gt_buffer json = {0};
    gt_buffer_add_cstr(
        &json, head = gt_format("{\"v4_mode\":\"%s\",\"v4_call_index\":%zu,\"v4_tp\":%ld", mode, call, tp));
    gt_free(head);
    gt_buffer_add_cstr(&json, ",\"v4_model_name\":");
    if (model)
        add_json_text(&json, model);
    else
        gt_buffer_add_cstr(&json, "null");
    add_heads(s, &json);
    gt_buffer_add_cstr(&json, "}");
    uint32_t id = gt_interner_add(s->trace->strings, json.bytes, json.len);
    gt_buffer_free(&json);
    return id;
}

static void add_paged_attention(search *s, const detector *d)
{
    qsort_r(s->matches.items, s->matches.count, sizeof *s->matches.items, by_thread, s);
    for (size_t i = 0; i < s->matches.count; i++) {
        uint32_t function = s->matches.items[i], op = above(s, function, ATTENTION);
        if (op == GT_NO_EVENT || !gt_calls_use_gpu(s->calls, function)) continue;
        find_gpu_events(s, op, "");
        const char *mode = attention_mode(s);
        gt_new_op added = like(s, d, mode, op);
        added.extra = attention_arguments(s, mode, i);
        gt_tree_wrap_children(s->edit, function, added);
    }
}

size_t gt_pseudo_ops_add(gt_pytorch_linked *linked)
{
    gt_tree_strip_sglang_numbers(linked);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    search s = {.trace = trace, .calls = gt_calls_new(trace), .edit = gt_tree_edit_begin(linked)};
    for (size_t i = 0; i < GT_LENGTH(detectors); i++)
        if (applies(&s, &detectors[i])) detectors[i].add(&s, &detectors[i]);
    gt_calls_free(s.calls);
    gt_free(s.callers);
    gt_arena_free(&s.arena);
    gt_free_all(s.dims, s.concrete, s.matches.items, s.gpu.items);
    return gt_tree_edit_finish(s.edit);
}
