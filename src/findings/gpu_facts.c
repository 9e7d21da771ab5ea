/* Facts about GPU ops that rules share, the rates of GPUs, and what kernel names say. All of it is linear in
 * ops and events; names and shapes are looked at once per distinct one. */
#include "findings/gpu_facts.h"

/* ---- rates ---- */

/* The first of these specs that is known, in flops per ns; 0: none. */
static double flops_per_ns(const gt_gpu_arch *arch, const char *const specs[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double tflops = gt_gpu_arch_peak(arch, specs[i]);
        if (isfinite(tflops) && tflops > 0) return tflops * 1e3;
    }
    return 0;
}

/* Drivers name some boards after the GPU and a number: "NVIDIA A100-PG509-200". */
const gt_gpu_arch *gt_gpu_arch_of_device(const char *name)
{
    char part[128];
    size_t len = strlen(name);
    if (len >= sizeof part) return NULL;
    memcpy(part, name, len + 1);
    for (;;) {
        const gt_gpu_arch *arch = gt_gpu_arch_match(part);
        char *dash = strrchr(part, '-');
        if (arch || !dash) return arch;
        *dash = 0;
    }
}

gt_gpu_rates gt_gpu_rates_find(const char *device_name, const gt_gpu_arch *arch, int64_t compute_major,
                               bool is_amd)
{
    static const char *const half[] = {"matrix_bf16", "matrix_fp16"};
    static const char *const tf32[] = {"matrix_fp32", "vector_fp32"};
    static const char *const vector[] = {"vector_fp32"};
    gt_gpu_rates rates = {
        .name = device_name ? device_name : "", .compute_major = compute_major, .is_amd = is_amd};
    if (!arch) arch = gt_gpu_arch_of_device(rates.name);
    if (!arch) return rates;
    double bytes = isfinite(arch->mem_bw_gbps) && arch->mem_bw_gbps > 0 ? arch->mem_bw_gbps : 0;
    double half_flops = flops_per_ns(arch, half, GT_LENGTH(half));
    double tf32_flops = flops_per_ns(arch, tf32, GT_LENGTH(tf32));
    double float_flops = flops_per_ns(arch, vector, GT_LENGTH(vector));
    if (float_flops == 0) float_flops = tf32_flops;
    if (bytes == 0 || half_flops == 0 || tf32_flops == 0) return rates; /* rules need all of them */
    rates.bytes = bytes;
    rates.half_flops = half_flops;
    rates.tf32_flops = tf32_flops;
    rates.float_flops = float_flops;
    return rates;
}

bool gt_gpu_has_matrix_units(const gt_gpu_rates *gpu)
{
    if (gpu->is_amd || gpu->compute_major >= 7) return true;
    /* The user named the GPU of a trace that does not. */
    return gpu->compute_major < 0 && gpu->half_flops > 2 * gpu->float_flops;
}

/* ---- kernel names ---- */

/* Whether a word stands in a name, and then one of others after it. */
static bool has_after(gt_str name, const char *first, const char *const words[], size_t count)
{
    const char *at = memmem(name.bytes, name.len, first, strlen(first));
    if (!at) return false;
    at += strlen(first);
    size_t len = (size_t)(name.bytes + name.len - at);
    for (size_t i = 0; i < count; i++)
        if (memmem(at, len, words[i], strlen(words[i]))) return true;
    return false;
}

static bool has_any(gt_str name, const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gt_str_contains(name, words[i])) return true;
    return false;
}

static bool is_float_matrix_name(gt_str name)
{
    static const char *const whole[] = {"sgemm",
                                        "s1688gemm",
                                        "fmha_cutlassf_f32",
                                        "fmha_cutlassb_f32",
                                        "scudnn", /* of cuDNN, as the next ones */
                                        "implicit_convolve_sgemm"};
    static const char *const engines[] = {"_engine<float"}, *const winograd[] = {"sgemm", "<float", "_fp32"};
    static const char *const grouped[] = {"<float"}, *const cnn[] = {"float, float"};
    static const char *const gemm_types[] = {"tf32", "f32f32", "_f32"};
    static const char *const conv[] = {"conv", "dgrad", "wgrad", "fprop"};
    /* Of rocBLAS and hipBLASLt: Cijk_..._S_B..., Cijk_..._S_M... */
    static const char *const single[] = {"_s_b", "_s_m"};
    static const char *const half[] = {"bf16",  "f16",  "bfloat", "half", "_h_",
                                       "nvjet", "_bbs", "_hhs",   "_b_b", "_h_h"};
    bool is_float =
        has_any(name, whole, GT_LENGTH(whole)) ||
        has_after(name, "gemm", gemm_types, GT_LENGTH(gemm_types)) ||
        has_after(name, "cijk_", single, GT_LENGTH(single)) || has_after(name, "dgrad", engines, 1) ||
        has_after(name, "wgrad", engines, 1) || has_after(name, "winograd", winograd, GT_LENGTH(winograd)) ||
        has_after(name, "conv2d_grouped_direct", grouped, 1) || has_after(name, "cudnn::cnn::", cnn, 1);
    for (size_t i = 0; i < GT_LENGTH(conv) && !is_float; i++)
        is_float = has_after(name, conv[i], gemm_types, 2);
    return is_float && !has_any(name, half, GT_LENGTH(half));
}

/* ..._bf16_..._align2...: CUTLASS kernels for operands that are not aligned to 16 bytes. */
static bool is_narrow_name(gt_str name)
{
    const char *at = memmem(name.bytes, name.len, "f16", 3), *end = name.bytes + name.len;
    while (at && (at = memmem(at, (size_t)(end - at), "_align", 6))) {
        at += 6;
        bool is_small = at < end && (*at == '1' || *at == '2' || *at == '4');
        if (is_small && (at + 1 == end || !(gt_is_letter(at[1]) || gt_is_digit(at[1]) || at[1] == '_')))
            return true;
    }
    return false;
}

/* Kernels that could be part of a fused one. Those of Triton are. */
static bool is_fusable_name(gt_str name)
{
    static const char *const words[] = {
        "elementwise_kernel", "reduce_kernel",  "softmax",  "soft_max", "layernorm",
        "layer_norm",         "rowwisemoments", "rmsnorm",  "rms_norm", "catarraybatchedcopy",
        "nll_loss",           "dropout",        "gammabeta"};
    static const char *const others[] = {
        "index_elementwise", "triton", "index_put", "embedding", "multi_tensor", "batchnorm",
        "batch_norm",        "bn_fw",  "bn_bw",     "fmha",      "flash",        "gemm"};
    return has_any(name, words, GT_LENGTH(words)) && !has_any(name, others, GT_LENGTH(others));
}

/* `name` has lower-case letters only. */
static uint8_t bits_of_lower(gt_str name)
{
    static const char *const tf32[] = {"tf32", "s1688gemm", "tensorop_s", "cutlassf_f32", "cutlassb_f32"};
    static const char *const layout[] = {"nchwtonhwc", "nhwctonchw", "nchw2nhwc", "batched_transpose",
                                         "transpose_kernel"};
    static const char *const sm80[] = {"sm80"};
    uint8_t bits = GT_KERNEL_SEEN;
    if (has_any(name, tf32, GT_LENGTH(tf32)) || has_after(name, "f32_aligned", sm80, 1))
        bits |= GT_KERNEL_TF32;
    if (is_float_matrix_name(name)) bits |= GT_KERNEL_MATRIX;
    if (is_narrow_name(name)) bits |= GT_KERNEL_NARROW;
    if (has_any(name, layout, GT_LENGTH(layout))) bits |= GT_KERNEL_LAYOUT;
    if (gt_str_contains(name, "copy")) bits |= GT_KERNEL_COPY;
    if (is_fusable_name(name)) bits |= GT_KERNEL_FUSABLE;
    if (gt_str_contains(name, "reduce_kernel")) bits |= GT_KERNEL_REDUCES;
    return bits;
}

static uint8_t name_bits_of(gt_str name)
{
    char *lower = gt_alloc(name.len);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.bytes[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    uint8_t bits = bits_of_lower((gt_str){lower, name.len});
    gt_free(lower);
    return bits;
}

static uint8_t *find_name_bits(const gt_schedule *schedule)
{
    size_t name_count = gt_interner_count(schedule->strings);
    uint8_t *by_name = gt_alloc_zero(name_count, 1), *by_op = gt_alloc(schedule->op_count);
    for (size_t i = 0; i < schedule->op_count; i++) {
        uint32_t name = schedule->ops[i].name;
        if (!by_name[name]) by_name[name] = name_bits_of(gt_interner_get(schedule->strings, name));
        by_op[i] = by_name[name];
    }
    gt_free(by_name);
    return by_op;
}

/* ---- who launched what ---- */

/* Gives each cpu_op that launched GPU ops a source, in the order of events. Returns the set of these events;
 * the rank of an event in it is the index of its source. */
static gt_row_set find_sources(gt_gpu_facts *facts, const gt_schedule *schedule)
{
    gt_row_set events = gt_row_set_new(schedule->event_count);
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (op->point != GT_NONE && op->host_op != GT_NONE) gt_row_set_add(&events, op->host_op);
    }
    facts->source_count = gt_row_set_finish(&events);
    facts->sources = gt_alloc_zero(facts->source_count, sizeof *facts->sources);
    facts->op_source = gt_alloc(schedule->op_count * sizeof *facts->op_source);
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        bool has_source = op->point != GT_NONE && op->host_op != GT_NONE;
        facts->op_source[i] = has_source ? gt_row_set_rank(&events, op->host_op) : GT_NONE;
        if (!has_source) continue;
        gt_op_source *source = &facts->sources[facts->op_source[i]];
        source->event = op->host_op;
        source->attention = GT_NONE;
        source->op_count++;
        if (op->kind == GT_KIND_KERNEL) source->kernel_ns += gt_op_ns(op);
    }
    return events;
}

static void find_source_shapes(gt_gpu_facts *facts, const gt_schedule *schedule)
{
    uint32_t *rows = gt_alloc(facts->source_count * sizeof *rows);
    uint32_t *shapes = gt_alloc(facts->source_count * sizeof *shapes);
    for (size_t i = 0; i < facts->source_count; i++) {
        if (i + GT_EVENTS_AHEAD < facts->source_count)
            gt_event_prefetch(schedule, facts->sources[i + GT_EVENTS_AHEAD].event);
        rows[i] = schedule->events[facts->sources[i].event].row;
    }
    gt_shapes_find(facts->shapes, rows, facts->source_count, shapes);
    for (size_t i = 0; i < facts->source_count; i++) {
        facts->sources[i].shape = shapes[i];
        facts->has_types |= gt_shapes_get(facts->shapes, shapes[i])->has_types;
    }
    gt_free_all(rows, shapes);
}

gt_gpu_facts *gt_gpu_facts_new(const gt_schedule *schedule, const gt_gpu_rates *gpu)
{
    gt_gpu_facts *facts = gt_alloc_zero(1, sizeof *facts);
    facts->names = find_name_bits(schedule);
    gt_row_set events = find_sources(facts, schedule);
    if (schedule->trace) {
        facts->shapes = gt_shapes_new(schedule->trace);
        find_source_shapes(facts, schedule);
        gt_gpu_facts_find_attention(facts, schedule, gpu, &events);
    }
    gt_row_set_free(&events);
    return facts;
}

void gt_gpu_facts_free(gt_gpu_facts *facts)
{
    if (!facts) return;
    gt_shapes_free(facts->shapes);
    gt_free_all(facts->sources, facts->op_source, facts->names, facts->attentions, facts);
}
