/* What names say about phases: lists of words, and sequence lengths in kernel names.
 *
 * Words are found in any case and at any position, as in TraceLens, so "context" is also found in a name that
 * has nothing to do with a prompt, and "sl1" in the "USL1" of hipBLASLt's kernels. A word that contains
 * another word of its list is not listed, because it cannot change the result. */
#include "analysis/phases/names.h"

#include "base/keywords.h"

/* ---- words in the name of an op or of one of its kernels ---- */

enum {
    NAMED_PREFILL,
    NAMED_DECODE,
    GEMM_PREFILL,
    GEMM_DECODE,
    EXPLICIT_PREFILL,
    EXPLICIT_DECODE,
    PAGED_PREFILL,
    PAGED_DECODE,
    OPENING, /* words after which "decode" or "prefill" count */
    DECODE,
    PREFILL,
    LENGTHS, /* words that start a sequence length */
    LISTS
};

static const char *const lists[LISTS] = {
    [NAMED_PREFILL] = "prefill context prompt initialization first_token",
    [NAMED_DECODE] = "decode generation autoregressive continuous_batch paged_attention kv_cache "
                     "reshape_and_cache incremental single_token",
    [GEMM_PREFILL] = "prefill",
    [GEMM_DECODE] = "decode continuous_batch",
    [EXPLICIT_PREFILL] = "prefill context_attention prompt_attention context_phase first_token "
                         "initialization prompt_processing",
    [EXPLICIT_DECODE] = "decode generation continuous_batch paged_attention autoregressive incremental "
                        "single_token next_token",
    [PAGED_PREFILL] = "chunked_prefill block_prefill flash_prefill",
    [PAGED_DECODE] = "paged_attn_v2 kv_cache reshape_and_cache block_sparse_attention page_attention "
                     "flash_decode",
    [OPENING] = "paged_attention flash_attn varlen",
    [DECODE] = "decode",
    [PREFILL] = "prefill",
    [LENGTHS] = "sl seq",
};

/* ---- words in the name of an op ---- */

typedef struct op_words {
    const char *words, *decode, *prefill; /* decode is checked before prefill */
} op_words;

/* The first framework that the op belongs to decides. It belongs to one by the exact namespace or by a word.
 */
static const struct {
    const char *name_space;
    op_words op;
} frameworks[] = {
    {"vllm::", {"paged_attention reshape_and_cache batch_decode", "decode cache", "prefill"}},
    {"sglang::", {"radix_attention prefix_cache tree_attention", "decode cache", "prefill"}},
    {"tgi::", {"continuous_batch decode_kernel token_generation", "decode generation", "prefill encode"}},
    {NULL,
     {"context_phase generation_phase mha_ mlp_", "generation decode", "context prefill"}}, /* TensorRT-LLM */
};

static const op_words attention = {
    "attention attn sdpa",
    "paged_attention kv_cache reshape_and_cache batch_decode decode_attention",
    "prefill_attention chunked_prefill batch_prefill",
};

/* For the method union: the first row that gives an answer decides. */
static const op_words framework_votes[] = {
    {"vllm::", "decode cache paged", "prefill"},
    {"sglang::", "decode cache radix", "prefill"},
    {"tgi::", "decode generation continuous", "prefill encode"},
};

static const op_words batching = {
    "",
    "continuous_batch dynamic_batch batch_decode multi_request request_batch",
    "single_request request_init batch_prefill",
};

/* ---- the tables as sets of keywords ---- */

typedef struct ready_words {
    gt_keyword_set words, decode, prefill;
} ready_words;

/* Everything that one name says. */
typedef struct name_facts {
    gt_phase_op op;
    gt_phase_text text;    /* as if it were the only name */
    double leading_number; /* -1: it does not start with a digit */
} name_facts;

struct gt_phase_names {
    const gt_interner *strings;
    gt_keywords *words;
    gt_keyword_set lists[LISTS];
    ready_words frameworks[GT_LENGTH(frameworks)], framework_votes[GT_LENGTH(framework_votes)];
    ready_words attention, batching;
    uint32_t *places; /* by string id: index of its facts + 1; 0: not computed yet */
    size_t place_count;
    name_facts *facts;
    size_t count, capacity;
};

static ready_words prepare(gt_keywords *words, const op_words *source)
{
    return (ready_words){gt_keywords_add(words, source->words), gt_keywords_add(words, source->decode),
                         gt_keywords_add(words, source->prefill)};
}

gt_phase_names *gt_phase_names_new(const gt_interner *strings)
{
    gt_phase_names *names = gt_alloc_zero(1, sizeof *names);
    gt_keywords *words = names->words = gt_keywords_new();
    names->strings = strings;
    for (size_t i = 0; i < LISTS; i++) names->lists[i] = gt_keywords_add(words, lists[i]);
    for (size_t i = 0; i < GT_LENGTH(frameworks); i++)
        names->frameworks[i] = prepare(words, &frameworks[i].op);
    for (size_t i = 0; i < GT_LENGTH(framework_votes); i++)
        names->framework_votes[i] = prepare(words, &framework_votes[i]);
    names->attention = prepare(words, &attention);
    names->batching = prepare(words, &batching);
    return names;
}

void gt_phase_names_free(gt_phase_names *names)
{
    if (!names) return;
    gt_keywords_free(names->words);
    gt_free_all(names->places, names->facts, names);
}

/* ---- one op ---- */

static gt_phase phase_of(const ready_words *words, const gt_keyword_set *found)
{
    if (gt_keyword_sets_intersect(&words->decode, found)) return GT_PHASE_DECODE;
    return gt_keyword_sets_intersect(&words->prefill, found) ? GT_PHASE_PREFILL : GT_PHASE_MIXED;
}

static gt_phase by_framework(const gt_phase_names *names, gt_str name, const gt_keyword_set *found)
{
    for (size_t i = 0; i < GT_LENGTH(frameworks); i++) {
        const char *space = frameworks[i].name_space;
        if ((space && gt_str_contains(name, space)) ||
            gt_keyword_sets_intersect(&names->frameworks[i].words, found))
            return phase_of(&names->frameworks[i], found);
    }
    return GT_PHASE_MIXED;
}

static gt_phase framework_vote(const gt_phase_names *names, const gt_keyword_set *found)
{
    gt_phase phase = GT_PHASE_MIXED;
    for (size_t i = 0; i < GT_LENGTH(framework_votes) && phase == GT_PHASE_MIXED; i++)
        if (gt_keyword_sets_intersect(&names->framework_votes[i].words, found))
            phase = phase_of(&names->framework_votes[i], found);
    return phase;
}

/* ---- sequence lengths: sl512, seqlen512, seqlen_512, seqlen 512, seq512 ---- */

/* With one length above this, the mean of all lengths in a trace is above 10, so larger ones need not be
 * distinguished. */
static const double LENGTH_MAX = 0x1p40;

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
}

/* Reads the digits at *at and moves *at after them. */
static double read_number(gt_str name, size_t *at)
{
    double number = 0;
    for (; *at < name.len && gt_is_digit(name.bytes[*at]); ++*at)
        if (number < LENGTH_MAX) number = number * 10 + (name.bytes[*at] - '0');
    return number;
}

/* Whether the word is at this position, in any case. */
static bool is_at(gt_str name, size_t at, const char *word)
{
    size_t len = strlen(word);
    return name.len >= len && at <= name.len - len && strncasecmp(name.bytes + at, word, len) == 0;
}

/* The position of the number if a sequence length starts at `at`; SIZE_MAX if none does. */
static size_t length_number(gt_str name, size_t at)
{
    size_t number = SIZE_MAX;
    if (is_at(name, at, "sl")) {
        number = at + 2;
    } else if (is_at(name, at, "seqlen")) {
        number = at + 6;
        if (number < name.len && (name.bytes[number] == '_' || is_space(name.bytes[number]))) number++;
    } else if (is_at(name, at, "seq")) {
        number = at + 3;
    }
    return number < name.len && gt_is_digit(name.bytes[number]) ? number : SIZE_MAX;
}

static void add_length(gt_phase_text *text, double length)
{
    if (length == 0) return;
    text->length_sum += length;
    text->length_count++;
}

static void find_lengths(gt_phase_text *text, gt_str name)
{
    for (size_t at = 0; at < name.len;) {
        bool may_begin = name.bytes[at] == 's' || name.bytes[at] == 'S';
        size_t number = may_begin ? length_number(name, at) : SIZE_MAX;
        if (number == SIZE_MAX) {
            at++;
        } else {
            add_length(text, read_number(name, &number));
            at = number;
        }
    }
    text->ends_in_seqlen = name.len >= 6 && is_at(name, name.len - 6, "seqlen");
}

/* ---- "paged_attention ... decode" and the like ---- */

/* The end of the first opening word; SIZE_MAX if there is none. */
static size_t opening_end(gt_str name)
{
    size_t end = SIZE_MAX;
    for (const char *word = lists[OPENING]; *word; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");
        for (size_t at = 0; at + len <= name.len && at + len < end; at++)
            if (strncasecmp(name.bytes + at, word, len) == 0) end = at + len;
        word += len;
    }
    return end;
}

static void find_opened(gt_phase_names *names, gt_phase_text *text, gt_str name)
{
    size_t end = opening_end(name);
    if (end == SIZE_MAX) return;
    gt_keyword_set after = gt_keywords_find(names->words, (gt_str){name.bytes + end, name.len - end});
    text->opened = true;
    text->opened_decode = gt_keyword_sets_intersect(&names->lists[DECODE], &after);
    text->opened_prefill = gt_keyword_sets_intersect(&names->lists[PREFILL], &after);
}

/* ---- names ---- */

static bool has(const gt_phase_text *text, int list)
{
    return text->lists >> list & 1;
}

static name_facts compute_facts(gt_phase_names *names, gt_str name)
{
    gt_keyword_set found = gt_keywords_find(names->words, name);
    name_facts facts = {.leading_number = -1};
    facts.op.by_framework = by_framework(names, name, &found);
    facts.op.by_attention = phase_of(&names->attention, &found);
    facts.op.is_attention = gt_keyword_sets_intersect(&names->attention.words, &found);
    facts.op.framework_vote = framework_vote(names, &found);
    facts.op.batching_vote = phase_of(&names->batching, &found);
    for (int i = 0; i < LISTS; i++)
        facts.text.lists |= (uint32_t)gt_keyword_sets_intersect(&names->lists[i], &found) << i;
    if (has(&facts.text, LENGTHS)) find_lengths(&facts.text, name);
    if (has(&facts.text, OPENING)) find_opened(names, &facts.text, name);
    size_t begin = 0;
    if (name.len && gt_is_digit(name.bytes[0])) facts.leading_number = read_number(name, &begin);
    return facts;
}

static void grow_places(gt_phase_names *names)
{
    size_t count = gt_interner_count(names->strings);
    names->places = gt_realloc(names->places, count * sizeof *names->places);
    memset(names->places + names->place_count, 0, (count - names->place_count) * sizeof *names->places);
    names->place_count = count;
}

static const name_facts *facts_of(gt_phase_names *names, uint32_t name)
{
    if (name >= names->place_count) grow_places(names);
    uint32_t *place = &names->places[name];
    if (*place == 0) {
        name_facts facts = compute_facts(names, gt_interner_get(names->strings, name));
        GT_PUSH(names->facts, names->count, names->capacity, facts);
        *place = (uint32_t)names->count;
    }
    return &names->facts[*place - 1];
}

gt_phase_op gt_phase_names_op(gt_phase_names *names, uint32_t op_name)
{
    return facts_of(names, op_name)->op;
}

gt_phase_text gt_phase_text_begin(gt_phase_names *names, uint32_t op_name)
{
    return facts_of(names, op_name)->text;
}

void gt_phase_text_add(gt_phase_text *text, gt_phase_names *names, uint32_t kernel_name)
{
    const name_facts *kernel = facts_of(names, kernel_name);
    if (text->ends_in_seqlen && kernel->leading_number >= 0) add_length(text, kernel->leading_number);
    text->opened_decode |= kernel->text.opened_decode || (text->opened && has(&kernel->text, DECODE));
    text->opened_prefill |= kernel->text.opened_prefill || (text->opened && has(&kernel->text, PREFILL));
    text->opened |= kernel->text.opened;
    text->lists |= kernel->text.lists;
    text->length_sum += kernel->text.length_sum;
    text->length_count += kernel->text.length_count;
    text->ends_in_seqlen = kernel->text.ends_in_seqlen;
}

/* ---- the answers ---- */

/* A mean length of 1 is decode, above 10 prefill. */
static gt_phase by_lengths(const gt_phase_text *text)
{
    if (text->length_count == 0) return GT_PHASE_MIXED;
    if (text->length_sum == text->length_count) return GT_PHASE_DECODE;
    return text->length_sum > 10 * text->length_count ? GT_PHASE_PREFILL : GT_PHASE_MIXED;
}

gt_phase gt_phase_by_names(const gt_phase_text *text)
{
    gt_phase phase = by_lengths(text);
    if (phase != GT_PHASE_MIXED) return phase;
    if (has(text, NAMED_PREFILL)) return GT_PHASE_PREFILL;
    return has(text, NAMED_DECODE) ? GT_PHASE_DECODE : GT_PHASE_MIXED;
}

/* The phase for which a word was found, if none was found for the other. */
static gt_phase only_one(bool prefill, bool decode)
{
    if (prefill == decode) return GT_PHASE_MIXED;
    return prefill ? GT_PHASE_PREFILL : GT_PHASE_DECODE;
}

gt_phase gt_phase_by_gemm_names(const gt_phase_text *text, bool *found)
{
    bool prefill = has(text, GEMM_PREFILL), decode = has(text, GEMM_DECODE);
    *found = prefill || decode;
    return only_one(prefill, decode);
}

gt_phase gt_phase_explicit_vote(const gt_phase_text *text)
{
    gt_phase phase = by_lengths(text);
    if (phase != GT_PHASE_MIXED) return phase;
    return only_one(has(text, EXPLICIT_PREFILL), has(text, EXPLICIT_DECODE));
}

gt_phase gt_phase_paged_vote(const gt_phase_text *text)
{
    if (has(text, PAGED_DECODE) || text->opened_decode) return GT_PHASE_DECODE;
    return has(text, PAGED_PREFILL) || text->opened_prefill ? GT_PHASE_PREFILL : GT_PHASE_MIXED;
}
