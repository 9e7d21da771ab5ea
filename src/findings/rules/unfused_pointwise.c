/* unfused_pointwise: chains of pointwise kernels, reductions and losses (chains.c finds them) that one kernel
 * each way could do. There is one finding per function.
 *
 * The edit shrinks the kernels of each chain so that together they take what the fused version takes, and
 * removes their launches but one each way. So the replay decides what is gained: GPU time in a program that
 * the GPU limits, launches in one that the host limits. Where it is mostly launches, the confidence is
 * medium, because graphs save more of them. It is medium, too, for a few operators of a library in a row:
 * that is normal, and the repair needs another operator. */
#include "findings/chains.h"
#include "findings/rules/gpu_rules.h"

#include "findings/schedule/names.h"

/* ---- what a chain computes ---- */

enum { WORDS_MAX = 8 };

/* The first row of which the chain has an op of `ops` and, if there are any, one of `also`. */
static const struct {
    const char *what, *ops[WORDS_MAX], *also[WORDS_MAX], *advice;
} kinds[] = {
    {"loss",
     {"log_softmax", "_log_softmax", "nll_loss_forward", "cross_entropy_loss"},
     {NULL},
     "Give the loss half-precision logits and compute conversion, softmax and loss in one kernel: "
     "torch.compile on the loss, or a fused (chunked) linear cross-entropy."},
    {"rotary embedding",
     {"cos", "sin"},
     {"cat", "neg", "mul"},
     "Compute cos and sin once outside of the layer, and apply the rotation in one kernel: torch.compile on "
     "this function, or a fused rotary embedding."},
    {"a norm and what is around it",
     {"native_layer_norm", "_fused_rms_norm", "native_group_norm"},
     {NULL},
     "torch.compile on this function, or one kernel that adds the residual and normalises."},
    {"normalisation",
     {"rsqrt", "var", "var_mean"},
     {NULL},
     "Use torch.nn.functional.rms_norm, layer_norm or group_norm, which are one kernel or two each way, or "
     "torch.compile on this function."},
    {"softmax or loss",
     {"exp", "logsumexp", "_softmax"},
     {"sum", "amax", "max", "_softmax"},
     "Use torch.nn.functional.cross_entropy or log_softmax instead of the formula, or torch.compile on this "
     "function."},
    {"an activation and what is around it",
     {"silu", "gelu", "relu"},
     {NULL},
     "torch.compile on this function, or one kernel for the activation and what follows."},
    {"activation",
     {"tanh", "erf", "sigmoid", "exp", "clamp_min"},
     {NULL},
     "Use the fused activation (torch.nn.functional.gelu with approximate=\"tanh\", silu), or torch.compile "
     "on this function."},
    {"pointwise operators",
     {NULL},
     {NULL},
     "Put these operators into one function and wrap it in torch.compile, or write one Triton kernel; for "
     "lists of tensors use torch._foreach operators."},
};
enum { ANY_KIND = GT_LENGTH(kinds) - 1 };

static const gt_chain_part *part_of(const gt_chain *chain, int direction)
{
    return &chain->parts[direction];
}

/* Whether the forward part has an op with one of these names, at or around its kernels. */
static bool has_op(const gt_schedule *s, const gt_chains *chains, const gt_chain *chain,
                   const char *const names[WORDS_MAX])
{
    static const char prefix[] = "aten::";
    const gt_chain_part *part = part_of(chain, GT_CHAIN_FORWARD);
    size_t count = 0, skip = strlen(prefix);
    while (count < WORDS_MAX && names[count]) count++;
    for (size_t i = 0; i < part->count && count; i++) {
        uint32_t event = s->ops[chains->ops[GT_CHAIN_FORWARD][part->first + i]].host_op;
        for (; event != GT_NONE && s->events[event].kind == GT_KIND_CPU_OP; event = s->events[event].parent) {
            gt_str name = gt_interner_get(s->strings, s->events[event].name);
            if (gt_str_starts_with(name, prefix) &&
                gt_str_is_one_of((gt_str){name.bytes + skip, name.len - skip}, names, count))
                return true;
        }
    }
    return false;
}

enum { ROTARY = 1 };

/* Cosines may come from outside: then the function's name tells. */
static bool is_rotary_name(gt_str name)
{
    return gt_str_contains(name, "rotary") || gt_str_contains(name, "rope");
}

static size_t kind_of(const gt_schedule *s, const gt_chains *chains, const gt_chain *chain)
{
    size_t kind = 0;
    if (chain->call != GT_NONE && is_rotary_name(gt_interner_get(s->strings, s->events[chain->call].name)))
        return ROTARY;
    while (kind < ANY_KIND && !(has_op(s, chains, chain, kinds[kind].ops) &&
                                (!*kinds[kind].also || has_op(s, chains, chain, kinds[kind].also))))
        kind++;
    return kind;
}

/* ---- the edit ---- */

/* Whether all ops of a point belong to a chain: a graph launches others as well. */
static bool is_all_of(const gt_schedule *s, const gt_chains *chains, const gt_host_point *point)
{
    for (uint32_t i = 0; i < point->op_count; i++)
        if (!gt_chains_have(chains, s->point_ops[point->first_op + i])) return false;
    return true;
}

static void fuse(const gt_rule_input *input, const gt_chains *chains, const gt_chain_part *part,
                 const uint32_t *ops, gt_finding *finding)
{
    const gt_schedule *s = input->schedule;
    for (size_t i = 0; i < part->count; i++) {
        const gt_gpu_op *op = &s->ops[ops[i]];
        gt_edit_op_add(&finding->edit, ops[i], (double)gt_op_ns(op) * part->fused_ns / part->now_ns);
        if (i + 1 < part->count && is_all_of(s, chains, &s->points[op->point]))
            gt_edit_point_add(&finding->edit, op->point, GT_EDIT_NO_CALL,
                              gt_point_label_ns(s, op->point, GT_CAUSE_LAUNCH));
    }
}

/* Edits all chains of a site; sums up the time of their ops in the window by name. */
static gt_tally fuse_site(const gt_rule_input *input, const gt_chains *chains, uint32_t site,
                          gt_finding *finding)
{
    const gt_schedule *s = input->schedule;
    gt_tally names = {0};
    for (size_t i = 0; i < chains->count; i++) {
        const gt_chain *chain = &chains->items[i];
        for (int d = 0; chain->site == site && d < GT_CHAIN_DIRECTIONS; d++) {
            const gt_chain_part *part = part_of(chain, d);
            if (!part->count) continue;
            const uint32_t *ops = chains->ops[d] + part->first;
            fuse(input, chains, part, ops, finding);
            for (size_t k = 0; k < part->count; k++)
                if (gt_window_has(&s->window, s->ops[ops[k]].start_ns))
                    gt_tally_add(&names, s->events[s->ops[ops[k]].host_op].name,
                                 (double)gt_op_ns(&s->ops[ops[k]]));
        }
    }
    return names;
}

/* ---- words ---- */

/* "model.py(12): rms in module Block". */
static char *describe_place(const gt_schedule *s, const gt_chain_site *site, const gt_chain *chain)
{
    gt_str name = gt_interner_get(s->strings, site->name), module = {0};
    for (uint32_t event = chain->call; event != GT_NONE && !module.len; event = s->events[event].parent)
        if (gt_name_has(s, s->events[event].name, GT_NAME_LAYER))
            module = gt_interner_get(s->strings, s->events[event].name);
    if (!module.len) return gt_rule_text("%.*s", (int)name.len, name.bytes);
    size_t skip = strlen("nn.Module:");
    skip += module.len > skip && module.bytes[skip] == ' ';
    module.bytes += skip;
    module.len -= skip;
    size_t len = module.len; /* "Block_3" */
    while (len && module.bytes[len - 1] >= '0' && module.bytes[len - 1] <= '9') len--;
    if (len > 1 && len < module.len && module.bytes[len - 1] == '_') module.len = len - 1;
    return gt_rule_text("%.*s in module %.*s", (int)name.len, name.bytes, (int)module.len, module.bytes);
}

/* The size of the chain's largest tensor, "[16, 1024, 1024]". */
static void add_size(const gt_rule_input *input, const gt_chains *chains, const gt_chain *chain,
                     gt_buffer *out)
{
    const gt_chain_part *part = part_of(chain, GT_CHAIN_FORWARD);
    for (size_t i = 0; i < part->count; i++) {
        uint32_t source = input->facts->op_source[chains->ops[GT_CHAIN_FORWARD][part->first + i]];
        uint32_t shape = input->facts->sources[source].shape;
        if (gt_shapes_get(input->facts->shapes, shape)->size != chain->largest) continue;
        gt_buffer_add_cstr(out, " ");
        gt_shapes_add_dims(input->facts->shapes, shape, 0, 1, out);
        return;
    }
}

static void describe(const gt_rule_input *input, const gt_chains *chains, const gt_chain *chain,
                     gt_tally *names, gt_finding *finding)
{
    uint32_t forward = part_of(chain, GT_CHAIN_FORWARD)->passes;
    uint32_t backward = part_of(chain, GT_CHAIN_BACKWARD)->passes;
    gt_buffer text = {0};
    gt_buffer_add_format(&text, "%s forward", gt_rule_count(forward, "kernel", "kernels").text);
    if (backward) gt_buffer_add_format(&text, " and %u backward", backward);
    gt_buffer_add_format(&text, " %s over the whole tensor", forward + backward == 1 ? "goes" : "go");
    if (chain->is_sized) add_size(input, chains, chain, &text);
    gt_rule_evidence(finding, "%s", gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    gt_rule_evidence_sums(input, finding, names, 4);
    if (chain->is_sized)
        gt_rule_evidence(finding,
                         "the fused version reads its inputs once and writes its outputs once, at %.2f TB/s "
                         "as other kernels of this trace do",
                         chains->rate / 1e3);
    else
        gt_rule_evidence(finding, "sizes were not recorded: the fused version is taken to need as long as "
                                  "the longest kernel of the chain");
}

/* "8 chains of 26 kernels per step (normalisation) could be two each: 6.30 ms now, about 0.36 ms fused". */
static char *describe_chains(const gt_rule_input *input, const gt_chain_site *site, const char *what,
                             bool has_backward)
{
    double calls = (double)site->calls / (double)input->schedule->window.steps;
    gt_number_text kernels = gt_rule_count((double)site->kernels / (double)site->calls, "kernel", "kernels");
    const char *number = has_backward ? "two" : "one";
    double now_ms = gt_rule_ms(input, site->now_ns), fused_ms = gt_rule_ms(input, site->fused_ns);
    if (calls == 1)
        return gt_rule_text("A chain of %s per %s (%s) could be %s: %.2f ms now, about %.2f ms fused",
                            kernels.text, input->per, what, number, now_ms, fused_ms);
    return gt_rule_text("%s of %s per %s (%s) could be %s each: %.2f ms now, about %.2f ms fused",
                        gt_rule_count(calls, "chain", "chains").text, kernels.text, input->per, what, number,
                        now_ms, fused_ms);
}

bool gt_rule_unfused_pointwise(const gt_rule_input *input, gt_finding *finding)
{
    const gt_chains *chains = input->chains;
    if (!chains || input->turn >= chains->site_count) return false;
    const gt_chain_site *site = &chains->sites[input->turn];
    const gt_chain *chain = &chains->items[site->chain];
    size_t kind = kind_of(input->schedule, chains, chain);
    bool is_by_hand = 2 * site->long_ones > site->chains;
    bool is_sure = is_by_hand && chain->is_sized && chain->call != GT_NONE;
    finding->id = "unfused_pointwise";
    finding->is_gpu = true;
    finding->is_mild = !is_by_hand;
    finding->confidence = is_sure ? GT_CONFIDENCE_HIGH : GT_CONFIDENCE_MEDIUM;
    finding->saved_ns = (site->now_ns - site->fused_ns) / (double)input->schedule->window.steps;
    finding->title = describe_chains(input, site, kinds[kind].what, part_of(chain, GT_CHAIN_BACKWARD)->count);
    finding->where = describe_place(input->schedule, site, chain);
    gt_tally names = fuse_site(input, chains, (uint32_t)input->turn, finding);
    describe(input, chains, chain, &names, finding);
    finding->advice = gt_rule_text("%s", kinds[kind].advice);
    gt_tally_free(&names);
    return true;
}
