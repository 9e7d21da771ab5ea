/* What the names of steps say. The forms are those that servers write today; each has a function that reads
 * it. Names are read from their start; what follows the form does not count. */
#include "trace/step_names.h"

#include "trace/name_reader.h"

static const char *const phase_names[GT_SERVING_PHASES] = {
    [GT_SERVING_PREFILL] = "prefill", [GT_SERVING_MIXED] = "mixed", [GT_SERVING_DECODE] = "decode",
    [GT_SERVING_VERIFY] = "verify",   [GT_SERVING_DRAFT] = "draft", [GT_SERVING_DIFFUSION] = "diffusion",
    [GT_SERVING_STEP] = "step",       [GT_SERVING_IDLE] = "idle",
};

static const char *const kind_names[GT_STEP_KINDS] = {
    [GT_STEP_VLLM_DETAILED] = "vllm_detailed",
    [GT_STEP_VLLM] = "vllm_native",
    [GT_STEP_VLLM_NEW] = "vllm_new_cached",
    [GT_STEP_SGLANG_DETAILED] = "sglang_detailed",
    [GT_STEP_SGLANG] = "sglang_native",
    [GT_STEP_ATOM_DETAILED] = "atom_detailed",
    [GT_STEP_ATOM] = "atom_native",
    [GT_STEP_TRTLLM] = "trtllm",
    [GT_STEP_DIFFUSION] = "diffusion",
    [GT_STEP_PROFILER] = "profiler_step",
    [GT_STEP_WAITS] = "waits",
    [GT_STEP_READ_BACKS] = "read-backs",
};

const char *gt_serving_phase_name(gt_serving_phase phase)
{
    return phase_names[phase];
}

gt_serving_phase gt_serving_phase_named(const char *name)
{
    gt_serving_phase phase = 0;
    while (phase < GT_SERVING_PHASES && strcmp(gt_serving_phase_name(phase), name) != 0) phase++;
    return phase;
}

gt_serving_phase gt_serving_main_phase(const double times[GT_SERVING_PHASES])
{
    gt_serving_phase best = 0;
    for (gt_serving_phase phase = 1; phase < GT_SERVING_PHASES; phase++) {
        bool generates = gt_phase_generates(phase) && times[phase] > 0;
        bool best_generates = gt_phase_generates(best);
        if (generates == best_generates ? times[phase] > times[best] : generates) best = phase;
    }
    return best;
}

const char *gt_step_kind_name(gt_step_kind kind)
{
    return kind_names[kind];
}

static gt_step_said unknown(gt_step_kind kind, uint8_t rank)
{
    return (gt_step_said){
        kind,           rank, {"", 0}, GT_STEP_UNKNOWN, GT_STEP_UNKNOWN, GT_STEP_UNKNOWN, GT_STEP_UNKNOWN,
        GT_STEP_UNKNOWN};
}

/* ---- vLLM ---- */

/* 3(sq5sk8sqsq25sqsk40) */
static bool read_sums(gt_name_reader *r, int64_t *requests, int64_t *tokens, int64_t *sk)
{
    int64_t other;
    return gt_name_number(r, requests) && gt_name_skip(r, "(sq") && gt_name_number(r, tokens) &&
           gt_name_skip(r, "sk") && gt_name_number(r, sk) && gt_name_skip(r, "sqsq") &&
           gt_name_number(r, &other) && gt_name_skip(r, "sqsk") && gt_name_number(r, &other) &&
           gt_name_skip(r, ")");
}

/* execute_40_context_1(sq3sk5sqsq9sqsk15)_generation_37(sq37sk34489sqsq37sqsk34489) */
static bool says_vllm_detailed(gt_name_reader r, gt_step_said *s)
{
    int64_t all, context_sk, generation_sk;
    *s = unknown(GT_STEP_VLLM_DETAILED, 0);
    if (!gt_name_skip(&r, "execute_") || !gt_name_number(&r, &all) || !gt_name_skip(&r, "_context_") ||
        !read_sums(&r, &s->context_requests, &s->context_tokens, &context_sk) ||
        !gt_name_skip(&r, "_generation_") ||
        !read_sums(&r, &s->generation_requests, &s->generation_tokens, &generation_sk))
        return false;
    s->sk_sum = context_sk + generation_sk;
    return true;
}

/* execute_context_2(6144)_generation_3(3) */
static bool says_vllm(gt_name_reader r, gt_step_said *s)
{
    *s = unknown(GT_STEP_VLLM, 1);
    return gt_name_skip(&r, "execute_context_") && gt_name_number(&r, &s->context_requests) &&
           gt_name_skip(&r, "(") && gt_name_number(&r, &s->context_tokens) &&
           gt_name_skip(&r, ")_generation_") && gt_name_number(&r, &s->generation_requests) &&
           gt_name_skip(&r, "(") && gt_name_number(&r, &s->generation_tokens) && gt_name_skip(&r, ")");
}

/* execute_new_1_cached_7, as older versions write it: requests that begin and those that are running, which
 * generate unless their prompt is in chunks. */
static bool says_vllm_new(gt_name_reader r, gt_step_said *s)
{
    *s = unknown(GT_STEP_VLLM_NEW, 1);
    if (!gt_name_skip(&r, "execute_new_") || !gt_name_number(&r, &s->context_requests) ||
        !gt_name_skip(&r, "_cached_") || !gt_name_number(&r, &s->generation_requests))
        return false;
    s->context_tokens = s->context_requests ? GT_STEP_UNKNOWN : 0;
    s->generation_tokens = s->generation_requests;
    return true;
}

/* ---- SGLang ---- */

static bool is_mode_char(char c)
{
    return (c >= 'A' && c <= 'Z') || c == '_' || gt_is_digit(c);
}

/* The number that a value begins with; GT_STEP_UNKNOWN if there is none. */
static int64_t number_of(gt_name_reader body, const char *key)
{
    gt_name_reader value;
    int64_t number;
    return gt_name_value(body, key, &value) && gt_name_number(&value, &number) ? number : GT_STEP_UNKNOWN;
}

static int64_t known(int64_t number, int64_t otherwise)
{
    return number != GT_STEP_UNKNOWN ? number : otherwise;
}

static void read_sglang_numbers(gt_name_reader body, gt_step_said *s)
{
    static const char *const contexts[] = {"EXTEND", "PREFILL", "SPLIT_PREFILL", "DLLM_EXTEND"};
    int64_t bs = number_of(body, "bs"), c = number_of(body, "c"), tokens = number_of(body, "toks");
    int64_t all = known(bs, 0);
    bool is_idle = gt_str_equals(s->mode, "IDLE");
    s->context_requests = s->context_tokens = s->generation_requests = s->generation_tokens = 0;
    if (gt_str_is_one_of(s->mode, contexts, GT_LENGTH(contexts))) {
        s->context_requests = all;
        s->context_tokens = known(number_of(body, "c_sq"), tokens);
    } else if (gt_str_equals(s->mode, "MIXED")) {
        s->context_requests = known(c, all);
        s->context_tokens = known(number_of(body, "c_sq"), tokens);
        s->generation_requests = known(number_of(body, "g"), c != GT_STEP_UNKNOWN ? 0 : GT_STEP_UNKNOWN);
        s->generation_tokens = number_of(body, "g_sq");
    } else if (!is_idle) {
        s->generation_requests = all;
        s->generation_tokens =
            known(number_of(body, "g_sq"), gt_str_equals(s->mode, "DECODE") ? all : tokens);
    }
}

/* step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 ...], step[DECODE bs=8] */
static bool says_sglang(gt_name_reader r, gt_step_said *s)
{
    if (!gt_name_skip(&r, "step[")) return false;
    const char *mode = r.at, *close = memchr(r.at, ']', (size_t)(r.end - r.at));
    while (r.at < r.end && is_mode_char(*r.at)) r.at++;
    if (!close || r.at == mode || gt_is_digit(*mode) || gt_name_is_word(*r.at)) return false;
    gt_name_reader body = {r.at, close};
    int64_t c_sk = number_of(body, "c_sk"), g_sk = number_of(body, "g_sk");
    bool has_sums = c_sk != GT_STEP_UNKNOWN || g_sk != GT_STEP_UNKNOWN;
    *s = has_sums ? unknown(GT_STEP_SGLANG_DETAILED, 0) : unknown(GT_STEP_SGLANG, 1);
    s->mode = (gt_str){mode, (size_t)(r.at - mode)};
    if (has_sums) s->sk_sum = known(c_sk, 0) + known(g_sk, 0);
    read_sglang_numbers(body, s);
    return number_of(body, "bs") != GT_STEP_UNKNOWN || number_of(body, "c") != GT_STEP_UNKNOWN ||
           number_of(body, "g") != GT_STEP_UNKNOWN;
}

/* ---- ATOM ---- */

/* The first number in a value, also in a list. */
static int64_t number_in(gt_name_reader body, const char *key)
{
    gt_name_reader value;
    int64_t number;
    if (!gt_name_value(body, key, &value)) return GT_STEP_UNKNOWN;
    for (; value.at < value.end; value.at++)
        if (gt_name_number(&value, &number)) return number;
    return GT_STEP_UNKNOWN;
}

/* prefill[bs=2 tok=14721 ctx=[7803, 6918]], decode[bs=117/128 tok=117 d=117] */
static bool says_atom(gt_name_reader r, gt_step_said *s)
{
    const char *mode = r.at;
    bool is_prefill = gt_name_skip(&r, "prefill");
    if (!is_prefill && !gt_name_skip(&r, "decode")) return false;
    gt_str word = {mode, (size_t)(r.at - mode)};
    const char *close = memrchr(r.at, ']', (size_t)(r.end - r.at));
    if (!gt_name_skip(&r, "[") || !close) return false;
    gt_name_reader body = {r.at, close}, value;
    int64_t requests = number_in(body, "bs"), tokens = number_in(body, "tok"), sk = GT_STEP_UNKNOWN;
    if (gt_name_value(body, "sqsq", &value) && gt_name_value(body, "sqsk", &value))
        sk = number_in(body, "sk");
    *s = sk != GT_STEP_UNKNOWN ? unknown(GT_STEP_ATOM_DETAILED, 0) : unknown(GT_STEP_ATOM, 1);
    s->mode = word;
    s->sk_sum = sk;
    s->context_requests = is_prefill ? requests : 0;
    s->context_tokens = is_prefill ? tokens : 0;
    s->generation_requests = is_prefill ? 0 : requests;
    s->generation_tokens = is_prefill ? 0 : tokens;
    return requests != GT_STEP_UNKNOWN || tokens != GT_STEP_UNKNOWN;
}

/* ---- others ---- */

/* [Executor] _forward_step 12: 1 ctx reqs, 7 gen reqs */
static bool says_trtllm(gt_name_reader r, gt_step_said *s)
{
    int64_t number;
    *s = unknown(GT_STEP_TRTLLM, 1);
    if (!gt_name_skip(&r, "[Executor] _forward_step ") || !gt_name_number(&r, &number) ||
        !gt_name_skip(&r, ": ") || !gt_name_number(&r, &s->context_requests) ||
        !gt_name_skip(&r, " ctx reqs, ") || !gt_name_number(&r, &s->generation_requests) ||
        !gt_name_skip(&r, " gen reqs"))
        return false;
    s->context_tokens = s->context_requests ? GT_STEP_UNKNOWN : 0;
    s->generation_tokens = s->generation_requests;
    return true;
}

/* execute_diffusion_1_1024x1024 */
static bool says_diffusion(gt_name_reader r, gt_step_said *s)
{
    int64_t number;
    *s = unknown(GT_STEP_DIFFUSION, 1);
    s->context_requests = s->context_tokens = s->generation_requests = s->generation_tokens = 0;
    return gt_name_skip(&r, "execute_diffusion_") && gt_name_number(&r, &number) && gt_name_skip(&r, "_") &&
           gt_name_number(&r, &number) && gt_name_skip(&r, "x") && gt_name_number(&r, &number);
}

static bool says_profiler(gt_name_reader r, gt_step_said *s)
{
    int64_t number;
    *s = unknown(GT_STEP_PROFILER, 2);
    return gt_name_skip(&r, "ProfilerStep#") && gt_name_number(&r, &number);
}

bool gt_step_name_says(gt_str name, gt_step_said *said)
{
    gt_name_reader r = gt_name_read(name);
    return says_vllm_detailed(r, said) || says_vllm(r, said) || says_vllm_new(r, said) ||
           says_sglang(r, said) || says_atom(r, said) || says_trtllm(r, said) || says_diffusion(r, said) ||
           says_profiler(r, said);
}

bool gt_range_is_step(gt_str *name)
{
    gt_step_said said;
    const char *colon = memchr(name->bytes, ':', name->len);
    if (!gt_step_name_says(*name, &said)) {
        if (!colon) return false;
        *name = (gt_str){colon + 1, (size_t)(name->bytes + name->len - colon - 1)};
        if (!gt_step_name_says(*name, &said)) return false;
    }
    return said.kind != GT_STEP_PROFILER;
}

/* ---- phases ---- */

gt_serving_phase gt_step_said_phase(const gt_step_said *s, bool drafts)
{
    bool has_context = s->context_requests > 0, has_generation = s->generation_requests > 0;
    if (s->kind == GT_STEP_DIFFUSION) return GT_SERVING_DIFFUSION;
    if (s->kind == GT_STEP_PROFILER) return GT_SERVING_STEP;
    if (gt_str_contains(s->mode, "DRAFT")) return GT_SERVING_DRAFT;
    if (drafts && gt_str_equals(s->mode, "DECODE")) return GT_SERVING_DRAFT;
    if (gt_str_equals(s->mode, "TARGET_VERIFY")) return GT_SERVING_VERIFY;
    if (gt_str_equals(s->mode, "MIXED") || (has_context && has_generation)) return GT_SERVING_MIXED;
    if (has_context) return GT_SERVING_PREFILL;
    if (!has_generation) return GT_SERVING_IDLE;
    return s->generation_tokens > s->generation_requests ? GT_SERVING_VERIFY : GT_SERVING_DECODE;
}
