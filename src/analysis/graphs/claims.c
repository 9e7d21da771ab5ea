/* The order in which references, names and classes are asked for the op of a kernel. */
#include "analysis/graphs/claims.h"

/* Eager references that are aligned with a unit. */
enum { CANDIDATES = 3 };

typedef struct search {
    gt_graph_facts facts;
    const gt_graph_references *references;
    const gt_graph_replay *replay;
    bool is_found; /* the rest is about the best reference so far */
    int64_t worth;
    gt_graph_match match;
    gt_claim_source source;
    gt_claim_confidence confidence;
    bool is_exact;      /* a capture of the graph's own size, paired by position */
    uint32_t *token_of; /* by graph kernel */
} search;

/* ---- captures ---- */

static int64_t distance_of(const search *s, const gt_capture_reference *capture)
{
    int64_t a = capture->padded > 0 ? capture->padded : 0, b = s->replay->padded > 0 ? s->replay->padded : 0;
    return a > b ? a - b : b - a;
}

static bool is_of_other_size(const search *s, const gt_capture_reference *capture)
{
    return capture->padded != s->replay->padded;
}

/* Captures in the order in which they are tried. */
static size_t *order_captures(const search *s)
{
    size_t count = s->references->capture_count, *order = gt_alloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        const gt_capture_reference *one = &s->references->captures[i];
        size_t at = i;
        for (; at > 0; at--) {
            const gt_capture_reference *other = &s->references->captures[order[at - 1]];
            bool a = is_of_other_size(s, one), b = is_of_other_size(s, other);
            if (a != b ? a : distance_of(s, one) >= distance_of(s, other)) break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return order;
}

/* The parts of a capture, one per launch, as one sequence; the caller frees it. NULL: their number fits the
 * launches in no way. */
static gt_graph_token *join_parts(const search *s, const gt_capture_reference *capture, size_t *count)
{
    size_t launches = s->replay->launches, total = 0;
    bool repeats = capture->part_count == 1;
    if (!repeats && capture->part_count != launches) return NULL;
    for (size_t i = 0; i < launches; i++) total += capture->parts[repeats ? 0 : i].count;
    gt_graph_token *joined = gt_alloc(total * sizeof *joined);
    *count = 0;
    for (size_t i = 0; i < launches; i++) {
        const gt_graph_reference *part = &capture->parts[repeats ? 0 : i];
        if (part->count) memcpy(joined + *count, part->tokens, part->count * sizeof *joined);
        *count += part->count;
    }
    return joined;
}

/* What a server launches, names and classes know: each pair must be one. */
static bool all_are_pairs(const search *s, const gt_graph_token *tokens)
{
    for (size_t i = 0; i < s->replay->kernel_count; i++)
        if (gt_graph_similarity(&s->facts, &s->replay->kernels[i], &tokens[i]) <= 0) return false;
    return true;
}

/* What other programs launch, they know less well: a kernel must be no copy, and have the name of the token
 * if it has one; and of the pairs whose classes are known, 90 % must agree. */
static bool most_are_pairs(const search *s, const gt_graph_token *tokens)
{
    size_t known = 0, alike = 0;
    for (size_t i = 0; i < s->replay->kernel_count; i++) {
        const gt_graph_kernel *kernel = &s->replay->kernels[i];
        if (tokens[i].is_memory != kernel->is_memory) return false;
        if (tokens[i].name != GT_STR_NONE && tokens[i].name != kernel->name) return false;
        uint8_t class = gt_graph_kernel_name(s->facts.names, kernel->name).class;
        uint8_t of_op = gt_graph_op_class(s->facts.names, tokens[i].op);
        if (of_op == GT_OP_CLASS_NONE || !gt_class_is_skeleton(class)) continue;
        known++;
        alike += of_op == class;
    }
    return alike * 10 >= known * 9;
}

static bool pairs_by_position(const search *s, const gt_graph_token *tokens, size_t count)
{
    if (count != s->replay->kernel_count) return false;
    return s->replay->is_serving ? all_are_pairs(s, tokens) : most_are_pairs(s, tokens);
}

static void use_capture(search *s, const gt_capture_reference *capture, gt_graph_token *tokens,
                        const uint32_t *token_of)
{
    gt_graph_match_free(&s->match);
    bool same = !is_of_other_size(s, capture), has_names = tokens[0].name != GT_STR_NONE;
    s->is_found = true;
    s->match = (gt_graph_match){tokens, same, tokens};
    s->source = same ? GT_CLAIM_CAPTURE_ALIGNED : GT_CLAIM_CAPTURE_OTHER_SIZE;
    s->confidence = s->replay->is_serving || has_names ? GT_CLAIM_MEDIUM : GT_CLAIM_LOW;
    for (size_t i = 0; i < s->replay->kernel_count; i++) s->token_of[i] = token_of[i];
}

static void use_by_position(search *s, const gt_capture_reference *capture, gt_graph_token *tokens,
                            uint32_t *token_of)
{
    for (size_t i = 0; i < s->replay->kernel_count; i++) token_of[i] = (uint32_t)i;
    use_capture(s, capture, tokens, token_of);
    s->is_exact = !is_of_other_size(s, capture) || s->replay->padded < 0;
    s->match.has_same_shapes |= !s->replay->is_serving;
    s->source = s->is_exact ? GT_CLAIM_CAPTURE : GT_CLAIM_CAPTURE_OTHER_SIZE;
    s->confidence = GT_CLAIM_HIGH;
}

/* Whether the search is over. */
static bool try_capture(search *s, const gt_capture_reference *capture, uint32_t *token_of)
{
    const gt_graph_replay *r = s->replay;
    size_t count;
    gt_graph_token *tokens = join_parts(s, capture, &count);
    if (!tokens) return false;
    if (pairs_by_position(s, tokens, count)) {
        use_by_position(s, capture, tokens, token_of);
        return true;
    }
    int64_t worth = gt_graph_align(&s->facts, r->kernels, r->kernel_count, tokens, count, token_of);
    gt_graph_fit fit = gt_graph_fit_of(&s->facts, r->kernels, r->kernel_count, tokens, count, token_of);
    if (fit.is_same_model && (!s->is_found || worth > s->worth)) {
        use_capture(s, capture, tokens, token_of);
        s->worth = worth;
    } else {
        gt_free(tokens);
    }
    return false;
}

static void try_captures(search *s)
{
    size_t *order = order_captures(s);
    uint32_t *token_of = gt_alloc(s->replay->kernel_count * sizeof *token_of);
    bool is_over = false;
    for (size_t i = 0; i < s->references->capture_count && !is_over; i++)
        is_over = try_capture(s, &s->references->captures[order[i]], token_of);
    gt_free_all(token_of, order);
}

/* ---- eager steps ---- */

/* The references that have most in common with the step, the best one first. Returns how many there are. */
static size_t choose_candidates(const search *s, const gt_graph_reference *chosen[CANDIDATES])
{
    uint64_t common[CANDIDATES];
    size_t count = 0;
    gt_graph_contents contents = gt_graph_contents_of(s->facts.names, s->replay->step, s->replay->step_count);
    for (size_t i = 0; i < s->references->eager_count; i++) {
        const gt_graph_reference *one = &s->references->eager[i];
        uint64_t shared = gt_graph_in_common(&contents, &one->bag);
        size_t at = count;
        while (at > 0 && common[at - 1] < shared) at--;
        if (at == CANDIDATES) continue;
        if (count < CANDIDATES) count++;
        for (size_t k = count - 1; k > at; k--) {
            common[k] = common[k - 1];
            chosen[k] = chosen[k - 1];
        }
        common[at] = shared;
        chosen[at] = one;
    }
    gt_graph_contents_free(&contents);
    return count;
}

static size_t skeleton_of(const search *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->replay->step_count; i++) {
        gt_kernel_name name = gt_graph_kernel_name(s->facts.names, s->replay->step[i].name);
        count += gt_class_is_skeleton(name.class) && !name.is_helper;
    }
    return count;
}

/* Two skeletons whose lengths differ too much cannot be paired, so they are not aligned. */
static bool may_fit(size_t skeleton, const gt_graph_reference *reference)
{
    enum { FEW = 3 };
    size_t other = reference->skeleton, less = skeleton < other ? skeleton : other;
    size_t more = skeleton < other ? other : skeleton;
    return less < FEW || less * 10 >= more * 9;
}

static void try_eager(search *s, const gt_graph_reference *reference, uint32_t *token_of)
{
    const gt_graph_replay *r = s->replay;
    int64_t worth =
        gt_graph_align(&s->facts, r->step, r->step_count, reference->tokens, reference->count, token_of);
    gt_graph_fit fit =
        gt_graph_fit_of(&s->facts, r->step, r->step_count, reference->tokens, reference->count, token_of);
    if (!fit.is_same_model || (s->is_found && worth <= s->worth)) return;
    size_t same = 0;
    for (size_t i = 0; i < r->step_count; i++)
        same += token_of[i] != GT_NO_TOKEN && reference->tokens[token_of[i]].name == r->step[i].name;
    s->is_found = true;
    s->worth = worth;
    bool same_size = r->padded >= 0 && reference->padded == r->padded;
    s->match = (gt_graph_match){reference->tokens, same_size, NULL};
    s->source = GT_CLAIM_EAGER;
    s->confidence = same * 20 >= 19 * r->step_count ? GT_CLAIM_HIGH : GT_CLAIM_MEDIUM;
    for (size_t i = 0; i < r->kernel_count; i++) s->token_of[i] = token_of[r->place[i]];
}

static void try_eager_steps(search *s)
{
    const gt_graph_reference *chosen[CANDIDATES];
    size_t count = choose_candidates(s, chosen), skeleton = skeleton_of(s);
    uint32_t *token_of = gt_alloc(s->replay->step_count * sizeof *token_of);
    for (size_t i = 0; i < count; i++)
        if (may_fit(skeleton, chosen[i])) try_eager(s, chosen[i], token_of);
    gt_free(token_of);
}

/* ---- claims ---- */

/* What the name of a kernel alone says. */
static uint32_t op_by_name(const search *s, gt_kernel_name name)
{
    uint32_t op = gt_stem_ops_sure(s->facts.learned, name.stem);
    return op != GT_STR_NONE ? op : name.op;
}

static bool is_by_class_only(const search *s, gt_kernel_name name, const gt_graph_token *token)
{
    if (s->is_exact || name.class == GT_CLASS_GEMM || name.class == GT_CLASS_MOE_GEMM ||
        name.class == GT_CLASS_ATTENTION)
        return false;
    return token->name == GT_STR_NONE || gt_graph_kernel_name(s->facts.names, token->name).stem != name.stem;
}

static gt_claim_confidence of_names(const search *s)
{
    return s->replay->is_serving ? GT_CLAIM_MEDIUM : GT_CLAIM_LOW;
}

static gt_graph_claim claim_of_token(const search *s, size_t kernel)
{
    const gt_graph_token *token = &s->match.tokens[s->token_of[kernel]];
    gt_graph_claim claim = {.op = token->op,
                            .module = token->module,
                            .token = s->token_of[kernel],
                            .source = (uint8_t)s->source,
                            .confidence = (uint8_t)s->confidence};
    gt_kernel_name name = gt_graph_kernel_name(s->facts.names, s->replay->kernels[kernel].name);
    uint32_t op = is_by_class_only(s, name, token) ? op_by_name(s, name) : (uint32_t)GT_STR_NONE;
    if (op == GT_STR_NONE || op == token->op) return claim;
    claim.op = op;
    claim.by_name = true;
    claim.confidence = (uint8_t)of_names(s);
    return claim;
}

static uint32_t class_op(const search *s, uint8_t class)
{
    char *text = gt_format("graph::%s", gt_kernel_class_name((gt_kernel_class) class));
    uint32_t op = gt_interner_add_cstr(s->facts.names->strings, text);
    gt_free(text);
    return op;
}

/* Whether a helper belongs to the kernel before it. */
static bool helps(gt_kernel_name helper, gt_kernel_name before)
{
    return helper.class == before.class || helper.class == GT_CLASS_GEMM ||
           helper.class == GT_CLASS_ATTENTION;
}

/* The claim of a kernel without a token; that of the kernel before it is known. */
static gt_graph_claim claim_of_name(const search *s, size_t kernel, const gt_graph_claim *before)
{
    const gt_graph_kernel *kernels = s->replay->kernels;
    gt_kernel_name name = gt_graph_kernel_name(s->facts.names, kernels[kernel].name);
    gt_graph_claim claim = {.token = GT_NO_TOKEN, .confidence = GT_CLAIM_MEDIUM};
    if (name.is_helper && before &&
        helps(name, gt_graph_kernel_name(s->facts.names, kernels[kernel - 1].name))) {
        claim.op = before->op;
        claim.module = before->module;
        claim.source = GT_CLAIM_HELPER;
        claim.confidence = before->confidence;
        return claim;
    }
    claim.op = s->is_found ? gt_stem_ops_sure(s->facts.learned, name.stem) : (uint32_t)GT_STR_NONE;
    claim.source = GT_CLAIM_EAGER_NAME;
    if (claim.op != GT_STR_NONE) return claim;
    claim.op = name.op;
    claim.source = GT_CLAIM_NAME;
    claim.confidence = (uint8_t)of_names(s);
    if (claim.op != GT_STR_NONE) return claim;
    claim.op = class_op(s, name.class);
    claim.source = GT_CLAIM_CLASS;
    claim.confidence = GT_CLAIM_LOW;
    return claim;
}

static void make_claims(const search *s, gt_graph_claim *claims)
{
    for (size_t i = 0; i < s->replay->kernel_count; i++)
        claims[i] = s->token_of[i] != GT_NO_TOKEN ? claim_of_token(s, i)
                                                  : claim_of_name(s, i, i ? &claims[i - 1] : NULL);
}

gt_graph_match gt_graph_claims_find(gt_graph_names *names, const gt_graph_references *references,
                                    const gt_graph_replay *replay, gt_graph_claim *claims)
{
    search s = {.facts = {names, &references->learned}, .references = references, .replay = replay};
    s.token_of = gt_alloc(replay->kernel_count * sizeof *s.token_of);
    for (size_t i = 0; i < replay->kernel_count; i++) s.token_of[i] = GT_NO_TOKEN;
    try_captures(&s);
    if (!s.is_found) try_eager_steps(&s);
    make_claims(&s, claims);
    gt_free(s.token_of);
    return s.match;
}

void gt_graph_match_free(gt_graph_match *match)
{
    gt_free(match->joined);
    *match = (gt_graph_match){0};
}

/* The part of both skeletons that an alignment pairs; with fewer than 3 on a side, of all kernels. */
static double share_of(const search *s, const gt_graph_reference *reference, uint32_t *token_of)
{
    enum { FEW = 3 };
    const gt_graph_replay *r = s->replay;
    gt_graph_align(&s->facts, r->step, r->step_count, reference->tokens, reference->count, token_of);
    gt_graph_fit fit =
        gt_graph_fit_of(&s->facts, r->step, r->step_count, reference->tokens, reference->count, token_of);
    if (fit.kernels < FEW || fit.tokens < FEW) return (double)fit.paired / (double)r->step_count;
    double kernels = (double)fit.paired_kernels / (double)fit.kernels;
    double tokens = (double)fit.paired_tokens / (double)fit.tokens;
    return kernels < tokens ? kernels : tokens;
}

bool gt_graph_eager_fits(gt_graph_names *names, const gt_graph_references *references,
                         const gt_graph_replay *replay, double *share)
{
    search s = {.facts = {names, &references->learned}, .references = references, .replay = replay};
    const gt_graph_reference *chosen[CANDIDATES];
    s.token_of = gt_alloc(replay->kernel_count * sizeof *s.token_of);
    uint32_t *token_of = gt_alloc(replay->step_count * sizeof *token_of);
    size_t count = choose_candidates(&s, chosen), skeleton = skeleton_of(&s);
    *share = 0;
    for (size_t i = 0; i < count && !s.is_found; i++) {
        if (may_fit(skeleton, chosen[i])) try_eager(&s, chosen[i], token_of);
        double found = share_of(&s, chosen[i], token_of);
        if (found > *share) *share = found;
    }
    gt_free_all(token_of, s.token_of);
    return s.is_found;
}

/* ---- names ---- */

const char *gt_claim_confidence_name(gt_claim_confidence confidence)
{
    static const char *const names[] = {
        [GT_CLAIM_LOW] = "low", [GT_CLAIM_MEDIUM] = "medium", [GT_CLAIM_HIGH] = "high"};
    return names[confidence];
}

const char *gt_claim_source_name(const gt_graph_claim *claim)
{
    static const char *const names[GT_CLAIM_SOURCES][2] = {
        [GT_CLAIM_CAPTURE] = {"capture", "capture+name"},
        [GT_CLAIM_CAPTURE_ALIGNED] = {"capture aligned", "capture aligned+name"},
        [GT_CLAIM_CAPTURE_OTHER_SIZE] = {"capture other size", "capture other size+name"},
        [GT_CLAIM_EAGER] = {"eager", "eager+name"},
        [GT_CLAIM_HELPER] = {"helper", "helper"},
        [GT_CLAIM_EAGER_NAME] = {"eager name", "eager name"},
        [GT_CLAIM_NAME] = {"name", "name"},
        [GT_CLAIM_CLASS] = {"class", "class"},
    };
    return names[claim->source][claim->by_name];
}
