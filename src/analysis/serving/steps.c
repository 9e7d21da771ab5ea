/* Steps of an inference server: what the name of a step says, and which steps show the server at full load.
 *
 * Each form of name has a small parser of its own. Numbers that are too large to calculate with are limited.
 */
#include "analysis/serving/serving.h"

#include "trace/name_reader.h"
#include "analysis/serving/step_list.h"

/* ---- vLLM ---- */

/* 3(sq5sk8sqsq25sqsk40) */
static bool read_chunk(gt_name_reader *r, int64_t *requests, int64_t *tokens, int64_t *length)
{
    int64_t other;
    return gt_name_number(r, requests) && gt_name_skip(r, "(sq") && gt_name_number(r, tokens) &&
           gt_name_skip(r, "sk") && gt_name_number(r, length) && gt_name_skip(r, "sqsq") &&
           gt_name_number(r, &other) && gt_name_skip(r, "sqsk") && gt_name_number(r, &other) &&
           gt_name_skip(r, ")");
}

static bool read_vllm(gt_name_reader r, gt_serving_step *s)
{
    int64_t all;
    bool fits = gt_name_skip(&r, "execute_") && gt_name_number(&r, &all) && gt_name_skip(&r, "_context_") &&
                read_chunk(&r, &s->context_requests, &s->context_sum, &s->context_length) &&
                gt_name_skip(&r, "_generation_") &&
                read_chunk(&r, &s->generation_requests, &s->generation_sum, &s->generation_length);
    s->batch_size = s->context_sum + s->generation_sum;
    return fits;
}

static bool read_short_vllm(gt_name_reader r, gt_serving_step *s)
{
    bool fits = gt_name_skip(&r, "execute_context_") && gt_name_number(&r, &s->context_requests) &&
                gt_name_skip(&r, "(") && gt_name_number(&r, &s->context_sum) &&
                gt_name_skip(&r, ")_generation_") && gt_name_number(&r, &s->generation_requests) &&
                gt_name_skip(&r, "(") && gt_name_number(&r, &s->generation_sum) && gt_name_skip(&r, ")");
    s->batch_size = s->context_sum + s->generation_sum;
    return fits;
}

/* ---- key=value ---- */

/* The number at the start of a value; 0 if there is none. */
static int64_t number_of(gt_name_reader body, const char *key)
{
    gt_name_reader value;
    int64_t number = 0;
    if (gt_name_value(body, key, &value)) gt_name_number(&value, &number);
    return number;
}

/* The value if it is a number and nothing else; otherwise 0. */
static int64_t whole_number_of(gt_name_reader body, const char *key)
{
    gt_name_reader value;
    int64_t number;
    return gt_name_value(body, key, &value) && gt_name_number(&value, &number) && value.at == value.end
               ? number
               : 0;
}

/* Whether the string contains "sqsq=" and a digit. */
static bool has_squares(gt_name_reader body)
{
    static const char word[] = "sqsq=";
    for (const char *at = body.at; at < body.end; at++) {
        gt_name_reader here = {at, body.end};
        if (gt_name_skip(&here, word) && here.at < here.end && gt_is_digit(*here.at)) return true;
    }
    return false;
}

static const char *last_bracket(const gt_name_reader *r)
{
    for (const char *at = r->end; at > r->at; at--)
        if (at[-1] == ']') return at - 1;
    return NULL;
}

/* ---- SGLang ---- */

typedef enum mode { EXTEND, DECODE, MIXED, MODES } mode;

/* Reads "step[MODE", where the mode must end at a word boundary. */
static bool read_mode(gt_name_reader *r, mode *found)
{
    static const char *const modes[MODES] = {"EXTEND", "DECODE", "MIXED"};
    if (!gt_name_skip(r, "step[")) return false;
    for (int m = 0; m < MODES; m++)
        if (gt_name_skip(r, modes[m])) {
            *found = (mode)m;
            return r->at == r->end || !gt_name_is_word(*r->at);
        }
    return false;
}

static bool read_sglang(gt_name_reader r, gt_serving_step *s)
{
    mode found;
    if (!read_mode(&r, &found)) return false;
    const char *first = memchr(r.at, ']', (size_t)(r.end - r.at)), *last = last_bracket(&r);
    if (!first || !has_squares((gt_name_reader){r.at, first})) return false;
    gt_name_reader body = {r.at, last};
    int64_t requests = number_of(body, "bs");
    s->context_sum = number_of(body, "c_sq");
    s->generation_sum = number_of(body, "g_sq");
    s->context_length = number_of(body, "c_sk");
    s->generation_length = number_of(body, "g_sk");
    s->batch_size = s->context_sum + s->generation_sum;
    if (!s->batch_size) s->batch_size = number_of(body, "toks");
    if (!s->batch_size) s->batch_size = requests;
    s->context_requests = found == MIXED ? number_of(body, "c") : found == EXTEND ? requests : 0;
    s->generation_requests = found == MIXED ? number_of(body, "g") : found == DECODE ? requests : 0;
    if (found == DECODE) s->context_sum = 0;
    if (found == EXTEND) s->generation_sum = 0;
    return true;
}

static bool skip_spaces(gt_name_reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && gt_is_blank(*r->at)) r->at++;
    return r->at > from;
}

static bool read_short_sglang(gt_name_reader r, gt_serving_step *s)
{
    mode found;
    int64_t requests, tokens = 0;
    if (!read_mode(&r, &found) || !skip_spaces(&r) || !gt_name_skip(&r, "bs=") ||
        !gt_name_number(&r, &requests))
        return false;
    gt_name_reader more = r;
    if (skip_spaces(&more) && gt_name_skip(&more, "toks=") && gt_name_number(&more, &tokens)) r = more;
    if (!gt_name_skip(&r, "]")) return false;
    if (found == DECODE) {
        s->generation_requests = s->generation_sum = requests;
    } else {
        s->context_requests = requests;
        s->context_sum = tokens;
    }
    s->batch_size = s->context_sum + s->generation_sum ? s->context_sum + s->generation_sum : requests;
    return true;
}

/* ---- ATOM ---- */

static bool read_atom(gt_name_reader r, gt_serving_step *s, bool *has_sums)
{
    bool is_prefill = gt_name_skip(&r, "prefill[");
    if (!is_prefill && !gt_name_skip(&r, "decode[")) return false;
    const char *line_end = memchr(r.at, '\n', (size_t)(r.end - r.at));
    gt_name_reader line = {r.at, line_end ? line_end : r.end};
    const char *last = last_bracket(&line);
    if (!last) return false;
    gt_name_reader body = {r.at, last};
    int64_t requests = number_of(body, "bs"), tokens = whole_number_of(body, "tok");
    *(is_prefill ? &s->context_requests : &s->generation_requests) = requests;
    *(is_prefill ? &s->context_sum : &s->generation_sum) = tokens;
    *(is_prefill ? &s->context_length : &s->generation_length) = whole_number_of(body, "sk");
    s->batch_size = tokens;
    *has_sums = has_squares(body);
    return true;
}

/* ---- all forms ---- */

static bool read_diffusion(gt_name_reader r, gt_serving_step *s)
{
    int64_t other;
    return gt_name_skip(&r, "execute_diffusion_") && gt_name_number(&r, &s->batch_size) &&
           gt_name_skip(&r, "_") && gt_name_number(&r, &other) && gt_name_skip(&r, "x") &&
           gt_name_number(&r, &other);
}

/* Whether a name has SGLang's form, even if its numbers cannot be read. */
static bool looks_like_sglang(gt_name_reader r)
{
    mode found;
    if (!read_mode(&r, &found)) return false;
    const char *line_end = memchr(r.at, '\n', (size_t)(r.end - r.at));
    gt_name_reader line = {r.at, line_end ? line_end : r.end};
    return last_bracket(&line) != NULL;
}

static gt_step_name read_step(gt_str name, gt_serving_step *step)
{
    const gt_serving_step other = {.batch_size = 1, .generation_requests = 1, .generation_sum = 1};
    gt_name_reader r = {name.bytes, name.bytes + name.len};
    bool has_sums = false;
    if (*step = (gt_serving_step){0}, read_vllm(r, step)) return GT_STEP_DETAILED;
    if (*step = (gt_serving_step){0}, read_short_vllm(r, step)) return GT_STEP_SHORT;
    if (*step = (gt_serving_step){0}, read_sglang(r, step)) return GT_STEP_DETAILED;
    if (*step = (gt_serving_step){0}, read_short_sglang(r, step)) return GT_STEP_SHORT;
    if (*step = (gt_serving_step){0}, read_atom(r, step, &has_sums))
        return has_sums ? GT_STEP_DETAILED : GT_STEP_SHORT;
    if (*step = (gt_serving_step){0}, read_diffusion(r, step)) return GT_STEP_SHORT;
    *step = other;
    return looks_like_sglang(r) ? GT_STEP_SHORT : GT_STEP_NONE;
}

gt_step_name gt_step_name_kind(gt_str name)
{
    gt_serving_step step;
    return read_step(name, &step);
}

/* A name that only step_names.c knows: of TensorRT-LLM, or a mode of SGLang such as TARGET_VERIFY. */
static bool read_other(gt_str name, gt_serving_step *s)
{
    gt_step_said said;
    if (!gt_step_name_says(name, &said) || said.kind == GT_STEP_PROFILER) return false;
    *s = (gt_serving_step){.context_requests = said.context_requests,
                           .context_sum = said.context_tokens,
                           .generation_requests = said.generation_requests,
                           .generation_sum = said.generation_tokens,
                           .generation_length = said.sk_sum};
    int64_t *const numbers[] = {&s->context_requests, &s->context_sum, &s->generation_requests,
                                &s->generation_sum, &s->generation_length};
    for (size_t i = 0; i < GT_LENGTH(numbers); i++)
        if (*numbers[i] == GT_STEP_UNKNOWN) *numbers[i] = 0;
    s->batch_size = s->context_sum + s->generation_sum;
    if (!s->batch_size) s->batch_size = gt_step_requests(s);
    return true;
}

gt_step_name gt_step_any_name_kind(gt_str name)
{
    gt_serving_step step;
    gt_step_name kind = read_step(name, &step);
    return kind == GT_STEP_NONE && read_other(name, &step) ? GT_STEP_SHORT : kind;
}

gt_serving_step gt_serving_step_of(gt_str name)
{
    gt_serving_step step, other;
    bool is_other = read_step(name, &step) == GT_STEP_NONE && read_other(name, &other);
    return is_other ? other : step;
}

gt_step_phase gt_step_phase_of(gt_str name)
{
    gt_serving_step step;
    gt_name_reader r = {name.bytes, name.bytes + name.len}, body = r;
    mode found = MODES;
    bool is_sglang = read_mode(&body, &found), has_sums = false;
    step = (gt_serving_step){0};
    bool is_read = read_vllm(r, &step) || (step = (gt_serving_step){0}, read_short_vllm(r, &step)) ||
                   (step = (gt_serving_step){0}, read_sglang(r, &step)) ||
                   (step = (gt_serving_step){0}, read_short_sglang(r, &step)) ||
                   (step = (gt_serving_step){0}, read_atom(r, &step, &has_sums));
    if (!is_read) return GT_STEP_OTHER;
    /* SGLang's short form does not say how many requests of a mixed step are in which phase. */
    if (is_sglang && found == MIXED && step.generation_requests == 0) return GT_STEP_MIXED;
    if (gt_step_has_context(&step)) return step.generation_requests > 0 ? GT_STEP_MIXED : GT_STEP_PREFILL;
    return step.generation_requests > 0 ? GT_STEP_DECODE : GT_STEP_OTHER;
}

gt_step_mix gt_step_mix_of(const gt_serving_step *steps, size_t count)
{
    gt_step_mix mix = {0};
    double batch_size = 0, requests = 0;
    for (size_t i = 0; i < count; i++) {
        bool context = steps[i].context_requests > 0, generation = steps[i].generation_requests > 0;
        mix.prefill += context && !generation;
        mix.mixed += context && generation;
        mix.decode += generation && !context;
        batch_size += (double)steps[i].batch_size;
        requests += (double)gt_step_requests(&steps[i]);
    }
    if (count) {
        mix.batch_size = (int64_t)(batch_size / (double)count);
        mix.requests = (int64_t)(requests / (double)count);
    }
    return mix;
}

/* ---- regions of full load ---- */

enum { STEPS_TO_BEGIN = 5 }; /* a region begins when more steps than this are near the maximum */

typedef struct regions {
    gt_step_range *items;
    size_t count, capacity;
} regions;

static int64_t most_requests(const gt_serving_step *steps, size_t count)
{
    int64_t most = INT64_MIN;
    for (size_t i = 0; i < count; i++)
        most = gt_step_requests(&steps[i]) > most ? gt_step_requests(&steps[i]) : most;
    return most;
}

/* The middle of the trace, without the first and the last steps. */
static gt_step_range middle(size_t count, size_t wanted)
{
    size_t missing = wanted > count ? wanted - count : 0, cut = missing > 8 ? missing : 8;
    cut = cut < count ? cut : count;
    size_t begin = cut / 2, end = count - cut / 2;
    return (gt_step_range){begin, end > begin + 1 ? end : begin + 1 < count ? begin + 1 : count};
}

gt_step_range *gt_steady_regions(const gt_serving_step *steps, size_t count, size_t wanted,
                                 size_t *region_count)
{
    regions found = {0};
    double most = (double)most_requests(steps, count), reach = (count >= wanted ? 0.1 : 0.2) * most;
    size_t begin = 0;
    int64_t near = 0;
    bool is_open = false;
    for (size_t i = 0; i < count; i++) {
        bool is_near = fabs((double)gt_step_requests(&steps[i]) - most) <= (reach > 1 ? reach : 1);
        if (is_near && !is_open) near++;
        if (!is_near && is_open) near--;
        if (near > STEPS_TO_BEGIN && !is_open) {
            is_open = true;
            begin = i + 1 - (size_t)near;
        }
        if (near <= 0 && is_open) {
            GT_PUSH(found.items, found.count, found.capacity, ((gt_step_range){begin, i}));
            is_open = false;
            near = 0;
        }
    }
    if (is_open) GT_PUSH(found.items, found.count, found.capacity, ((gt_step_range){begin, count - 1}));
    if (!found.count && count) GT_PUSH(found.items, found.count, found.capacity, middle(count, wanted));
    *region_count = found.count;
    return found.items;
}

/* ---- windows ---- */

static size_t length(gt_step_range range)
{
    return range.end - range.begin;
}

static size_t count_prefill(const gt_serving_step *steps, gt_step_range range)
{
    size_t count = 0;
    for (size_t i = range.begin; i < range.end; i++) count += gt_step_has_context(&steps[i]);
    return count;
}

static double share(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static double share_of_all(const gt_serving_step *steps, const gt_step_range *found, size_t count)
{
    size_t prefill = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        prefill += count_prefill(steps, found[i]);
        all += length(found[i]);
    }
    return share(prefill, all);
}

/* The longest run of steps of one kind, the first one if there are several, cut to `most`. */
static gt_step_range longest_run(const gt_serving_step *steps, gt_step_range in, bool decode, size_t most)
{
    gt_step_range best = {in.begin, in.begin}, run = best;
    for (size_t i = in.begin; i < in.end; i++) {
        bool fits = decode ? gt_step_is_decode(&steps[i]) : gt_step_has_context(&steps[i]);
        run.begin = fits ? run.begin : i + 1;
        run.end = i + 1;
        if (fits && length(run) > length(best)) best = run;
    }
    if (length(best) > most) best.end = best.begin + most;
    return best;
}

/* The window whose share of steps with prefill is closest to the wanted one; among equals the one with the
 * most requests, then the first. Windows without prefill are chosen only if there is no other. */
static gt_step_range mixed_window(const gt_serving_step *steps, gt_step_range in, gt_window_request request)
{
    size_t parts = request.steps / 2 < 10 ? request.steps / 2 : 10,
           stride = request.steps / (parts ? parts : 1);
    size_t size = length(in) < request.steps ? length(in) : request.steps;
    gt_step_range best = {in.begin, in.begin + size};
    double best_distance = INFINITY, best_requests = -INFINITY;
    bool best_has_prefill = false;
    for (size_t begin = in.begin; begin + size <= in.end; begin += stride ? stride : 1) {
        gt_step_range range = {begin, begin + size};
        size_t prefill = count_prefill(steps, range);
        double requests = 0, distance = fabs(share(prefill, size) - request.share_of_prefill);
        for (size_t i = range.begin; i < range.end; i++) requests += (double)gt_step_requests(&steps[i]);
        bool better = prefill > 0 && !best_has_prefill;
        if ((prefill > 0) == best_has_prefill)
            better = distance < best_distance || (distance == best_distance && requests > best_requests);
        if (better) {
            best = range;
            best_distance = distance;
            best_requests = requests;
            best_has_prefill = prefill > 0;
        }
        if (size == length(in)) break;
    }
    return best;
}

gt_step_range gt_steady_window(const gt_serving_step *steps, const gt_step_range *found, size_t count,
                               gt_window_kind kind, gt_window_request request)
{
    gt_step_range largest = count ? found[0] : (gt_step_range){0, 0};
    for (size_t i = 1; i < count; i++)
        if (length(found[i]) > length(largest)) largest = found[i];
    if (kind != GT_WINDOW_MIXED) return longest_run(steps, largest, kind == GT_WINDOW_DECODE, request.steps);
    if (isnan(request.share_of_prefill)) request.share_of_prefill = share_of_all(steps, found, count);
    return mixed_window(steps, largest, request);
}
