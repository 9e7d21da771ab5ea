/* uneven_steps: do some steps take much longer than the others (uneven.c finds them)?
 *
 * A checkpoint, an evaluation or a collection of garbage every few steps makes the mean step longer, and no
 * step has that mean. The gain is the excess divided by the period where there is one: a window holds one or
 * two of them by chance, so the mean of the window may be wrong by half. Findings whose gain lies in these
 * steps are part of this one (engine.c).
 *
 * The place is the deepest name with most of the largest addition, of those that the other steps lack if
 * there are any, and the deepest of the user's functions. Where it is a function that always takes that long,
 * the host was slower for no reason that the trace shows: a hint. Loading of input data is data_stall's
 * matter, and an optimizer that steps every few batches is no fault. */
#include "findings/rules/rules_table.h"
#include "findings/schedule/names.h"
#include "findings/uneven.h"

static const double host_share = 0.6, gpu_share = 0.9; /* of the largest addition */

enum { WORDS_MAX = 7 };

/* Why: the first row with a part of its place, or with a word of the names of its place and its function: of
 * "train.py(30): save_model" these are "save" and "model". A '*' stands for any rest of a word. */
typedef enum reason {
    CHECKPOINT,
    COMPILING,
    GARBAGE,
    EVALUATION,
    INPUT_DATA,
    LOGGING,
    PYTHON,
    UNTRACED,
    GPU_WORK
} reason;
static const struct {
    const char *what, *parts[WORDS_MAX], *words[WORDS_MAX], *advice;
} reasons[] = {
    [CHECKPOINT] = {"a checkpoint",
                    {"torch/serialization.py", "torch/distributed/checkpoint", "safetensors"},
                    {"save", "checkpoint", "ckpt"},
                    "Save less often, or copy the weights to pinned host memory and write them in another "
                    "thread or process (torch.distributed.checkpoint async_save)."},
    [COMPILING] = {"recompilation",
                   {"torch/_dynamo", "torch/_inductor"},
                   {NULL},
                   "Run all shapes once before profiling, and mark sizes that vary as dynamic "
                   "(torch._dynamo.mark_dynamic)."},
    [GARBAGE] = {"garbage collection",
                 {"built-in function collect"},
                 {NULL},
                 "Call gc.freeze() after start-up and gc.disable(), and collect at a step of your choice, in "
                 "all ranks at the same one."},
    [EVALUATION] = {"evaluation",
                    {NULL},
                    {"eval*", "valid*", "test"},
                    "Evaluate less often or on fewer batches, in inference mode with a larger batch; profile "
                    "training and evaluation apart."},
    [INPUT_DATA] = {"input data", {"torch/utils/data", "DataLoader"}, {"loader", "dataloader"}, ""},
    [LOGGING] = {"logging",
                 {"logging/__init__.py", "wandb/", "tensorboard/"},
                 {"log", "logs", "logging", "print", "plot", "wandb", "tensorboard"},
                 "Log from another thread, or less often, and without reading GPU values."},
    [PYTHON] = {"Python code",
                {NULL},
                {NULL},
                "See what this function does only in these steps; if nothing in it explains the pause, it "
                "may be garbage collection (try gc.freeze() and gc.disable())."},
    [UNTRACED] = {"host code that the trace does not show",
                  {NULL},
                  {NULL},
                  "Record with Python functions (with_stack=True) to see what these steps do in addition."},
    [GPU_WORK] = {"GPU work",
                  {NULL},
                  {NULL},
                  "See what these steps compute in addition, and do it less often or beside training."},
};

/* ---- where ---- */

typedef struct place {
    uint32_t site, function; /* string ids; GT_STR_NONE: none. The function is the user's */
    bool is[PYTHON];         /* of some: what calls the site, or is called there, says so */
    bool is_usual;           /* the other steps have the site, too, and for longer than the difference */
    bool is_async;           /* the checkpoint is written in another thread */
    bool optimizes;          /* an optimizer's step is in it */
} place;

static bool has_part(gt_str text, const char *const parts[WORDS_MAX])
{
    for (size_t i = 0; i < WORDS_MAX && parts[i]; i++)
        if (gt_str_contains(text, parts[i])) return true;
    return false;
}

static bool is_word_byte(char c)
{
    return gt_is_letter(c) || gt_is_digit(c);
}

static bool word_is(gt_str word, const char *pattern)
{
    size_t len = strlen(pattern);
    if (pattern[len - 1] == '*') return word.len >= len - 1 && memcmp(word.bytes, pattern, len - 1) == 0;
    return gt_str_equals(word, pattern);
}

/* Whether a function's name, without its file, has one of these words: "train.py(30): evaluate". */
static bool has_word(gt_str name, const char *const words[WORDS_MAX])
{
    size_t start = 0;
    for (size_t i = 2; i <= name.len; i++)
        if (name.bytes[i - 2] == ':' && name.bytes[i - 1] == ' ') start = i;
    for (size_t i = start, end; i < name.len; i = end + 1) {
        for (end = i; end < name.len && is_word_byte(name.bytes[end]); end++) continue;
        for (size_t w = 0; w < WORDS_MAX && words[w]; w++)
            if (word_is((gt_str){name.bytes + i, end - i}, words[w])) return true;
    }
    return false;
}

/* Keeps the deeper of two additions; NULL: none so far. */
static void take_deeper(const gt_addition **best, const gt_addition *addition)
{
    if (!*best || addition->depth > (*best)->depth) *best = addition;
}

static place find_place(const gt_schedule *s, const gt_uneven *uneven)
{
    place found = {.site = GT_STR_NONE, .function = GT_STR_NONE};
    if (!uneven->addition_count) return found;
    double least = uneven->additions[0].ns * (uneven->is_of_gpu ? gpu_share : host_share);
    const gt_addition *sites[2] = {0}, *functions[2] = {0}; /* any, and those that other steps lack */
    uint64_t not_a_site = GT_NAME_INTERNAL | (uneven->is_of_gpu ? GT_NAME_INNER : 0);
    for (size_t i = 0; i < uneven->addition_count && uneven->additions[i].ns >= least; i++) {
        const gt_addition *addition = &uneven->additions[i];
        gt_str name = gt_interner_get(s->strings, addition->name);
        bool is_new = gt_addition_is_new(addition);
        found.is[COMPILING] |= has_part(name, reasons[COMPILING].parts);
        found.is[GARBAGE] |= has_part(name, reasons[GARBAGE].parts);
        found.is[INPUT_DATA] |= is_new && gt_name_has(s, addition->name, GT_NAME_DATA);
        found.is_async |= gt_str_contains(name, "async_save");
        found.optimizes |= gt_name_has(s, addition->name, GT_NAME_OPTIMIZER);
        for (int only_new = 0; only_new <= is_new; only_new++) {
            if (!gt_name_has(s, addition->name, not_a_site)) take_deeper(&sites[only_new], addition);
            if (!gt_name_has(s, addition->name, GT_NAME_FRAMEWORK | GT_NAME_INNER))
                take_deeper(&functions[only_new], addition);
        }
    }
    const gt_addition *site = sites[1] ? sites[1] : sites[0] ? sites[0] : &uneven->additions[0];
    const gt_addition *function = functions[1] ? functions[1] : functions[0];
    found.site = site->name;
    if (function) found.function = function->name;
    found.is_usual = !gt_addition_is_new(site) && site->usual_ns > site->ns;
    return found;
}

static reason find_reason(const gt_schedule *s, const gt_uneven *uneven, const place *at)
{
    gt_str site = gt_interner_get(s->strings, at->site), function = gt_interner_get(s->strings, at->function);
    bool is_users = at->function != GT_STR_NONE;
    for (reason r = CHECKPOINT; r < PYTHON && at->site != GT_STR_NONE; r++) {
        if (r == EVALUATION && !uneven->launches_more) continue; /* it computes something */
        if (at->is[r] || has_part(site, reasons[r].parts) || has_word(site, reasons[r].words) ||
            (is_users && has_word(function, reasons[r].words)))
            return r;
    }
    if (uneven->only_forward) return EVALUATION;
    return uneven->is_of_gpu ? GPU_WORK : s->has_stacks ? PYTHON : UNTRACED;
}

/* ---- words ---- */

/* "<built-in function collect>" of "<built-in ... at 0x7f...>": an address differs in each run. */
static gt_number_text without_address(gt_str name)
{
    static const char address[] = " at 0x";
    gt_number_text out;
    const char *at = memmem(name.bytes, name.len, address, strlen(address));
    int len = (int)(at ? (size_t)(at - name.bytes) : name.len);
    snprintf(out.text, sizeof out.text, "%.*s%s", len, name.bytes, at ? ">" : "");
    return out;
}

static void add_step_name(const gt_schedule *s, size_t used, gt_buffer *out)
{
    static const char prefix[] = "ProfilerStep#";
    const gt_step_times *step = &s->steps[s->used_steps[used]];
    gt_str name = gt_interner_get(s->strings, step->name);
    size_t skip = gt_str_starts_with(name, prefix) ? strlen(prefix) : 0;
    if (name.len > skip)
        gt_buffer_add(out, name.bytes + skip, name.len - skip);
    else
        gt_buffer_add_int(out, (int64_t)s->used_steps[used]);
}

static void add_step_names(const gt_schedule *s, const gt_uneven *uneven, gt_buffer *out)
{
    enum { NAMED = 6 };
    size_t named = 0;
    for (size_t i = 0; i < s->used_step_count && named < NAMED; i++) {
        if (!uneven->is_named[i]) continue;
        gt_buffer_add_cstr(out, named++ ? ", " : "");
        add_step_name(s, i, out);
    }
    if (uneven->count > named) gt_buffer_add_cstr(out, " ...");
}

static void describe(const gt_rule_input *input, const gt_uneven *uneven, reason why, gt_finding *finding)
{
    const gt_schedule *s = input->schedule;
    gt_buffer names = {0}, how = {0};
    add_step_names(s, uneven, &names);
    if (uneven->period)
        gt_buffer_add_format(&how, "every %zu steps", uneven->period);
    else
        gt_buffer_add_format(&how, "%zu of %zu, %s", uneven->count, s->used_step_count,
                             uneven->is_warm_up ? "the first ones"
                             : uneven->is_mixed ? "which do different things"
                                                : "in no regular row");
    double ms = uneven->excess_ns / 1e6;
    if (uneven->count == 1)
        finding->title = gt_rule_text("Step %s takes %.2f ms longer than the others: %s",
                                      gt_buffer_str(&names).bytes, ms, reasons[why].what);
    else
        finding->title = gt_rule_text("Some steps take %.2f ms longer than the others (%s): %s", ms,
                                      gt_buffer_str(&how).bytes, reasons[why].what);
    gt_buffer_add_cstr(&names, " of ");
    add_step_name(s, 0, &names);
    gt_buffer_add_cstr(&names, " to ");
    add_step_name(s, s->used_step_count - 1, &names);
    gt_rule_evidence(finding, "step%s %s; the median step takes %.2f ms, the mean %.2f ms",
                     uneven->count == 1 ? "" : "s", gt_buffer_str(&names).bytes, uneven->median_ns / 1e6,
                     uneven->mean_ns / 1e6);
    for (size_t i = 0; i < uneven->addition_count && i < 4; i++)
        gt_rule_evidence(finding, "in addition: %s %.2f ms%s",
                         without_address(gt_interner_get(s->strings, uneven->additions[i].name)).text,
                         uneven->additions[i].ns / 1e6, uneven->is_of_gpu ? " of GPU time" : "");
    if (uneven->is_warm_up)
        gt_rule_evidence(finding, "the first steps may be a warm-up: profile later to see");
    gt_buffer_free(&names);
    gt_buffer_free(&how);
}

bool gt_rule_uneven_steps(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *s = input->schedule;
    gt_uneven *uneven = gt_uneven_find(s);
    if (!uneven) return false;
    place at = find_place(s, uneven);
    reason why = find_reason(s, uneven, &at);
    bool found = why != INPUT_DATA && !(uneven->is_of_gpu && at.optimizes);
    if (found) {
        finding->id = "uneven_steps";
        finding->is_gpu = uneven->is_of_gpu;
        finding->confidence = uneven->is_warm_up || at.is_usual ? GT_CONFIDENCE_LOW
                              : uneven->period                  ? GT_CONFIDENCE_HIGH
                                                                : GT_CONFIDENCE_MEDIUM;
        finding->gain_is_given = true;
        finding->gain_ns = uneven->gain_ns;
        finding->usual_ns = uneven->median_ns;
        finding->names_cause = why != PYTHON && why != UNTRACED;
        finding->lacks_cause = at.is_usual && !uneven->is_warm_up;
        if (at.site != GT_STR_NONE) {
            bool is_inside = at.function != GT_STR_NONE && at.function != at.site;
            char *site = gt_rule_string(input, at.site);
            finding->where =
                is_inside ? gt_rule_text("%s -> %s", gt_interner_get(s->strings, at.function).bytes, site)
                          : gt_strdup(site);
            gt_free(site);
        }
        describe(input, uneven, why, finding);
        for (size_t i = 0; i < s->used_step_count; i++) uneven->is_uneven[i] |= uneven->is_named[i];
        finding->steps = uneven->is_uneven; /* the finding's from now on */
        uneven->is_uneven = NULL;
        finding->advice =
            gt_rule_text("%s", why == CHECKPOINT && at.is_async
                                   ? "The checkpoint is written in another thread already, and what is "
                                     "left is its copy: save less often."
                                   : reasons[why].advice);
    }
    gt_uneven_free(uneven);
    return found;
}
