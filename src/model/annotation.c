/* The names that inference servers give to their steps. They contain how many queries and keys the step had,
 * summed over its requests:
 *
 *     execute_40_context_1(sq3sk5sqsq9sqsk15)_generation_37(sq37sk34489sqsq37sqsk34489)      vLLM
 *     step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]                        SGLang
 *     decode[bs=32 tok=128 d=32 sqsq=512 sqsk=262144 sk=65536]                                ATOM
 *
 * The start of a name decides which of them it is. Tests: tests/json/test_values.c. */
#include "model/family.h"

typedef struct reader {
    const char *place, *end;
} reader;

static bool skip_prefix(reader *r, const char *prefix)
{
    size_t len = strlen(prefix);
    if ((size_t)(r->end - r->place) < len || memcmp(r->place, prefix, len) != 0) return false;
    r->place += len;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool read_number(reader *r, __int128 *out)
{
    if (r->place == r->end || !gt_is_digit(*r->place)) return false;
    *out = 0;
    for (; r->place < r->end && gt_is_digit(*r->place); r->place++)
        if (!gt_multiply(*out, 10, out) || __builtin_add_overflow(*out, *r->place - '0', out)) return false;
    return true;
}

/* ---- vLLM ---- */

static bool read_vllm_sums(reader *r, gt_length_sums *sums)
{
    __int128 requests;
    return read_number(r, &requests) && skip_prefix(r, "(sq") && read_number(r, &sums->sq) &&
           skip_prefix(r, "sk") && read_number(r, &sums->sk) && skip_prefix(r, "sqsq") &&
           read_number(r, &sums->sqsq) && skip_prefix(r, "sqsk") && read_number(r, &sums->sqsk) &&
           skip_prefix(r, ")");
}

static bool read_vllm(reader *r, gt_step_lengths *lengths)
{
    __int128 tokens;
    return read_number(r, &tokens) && skip_prefix(r, "_context_") && read_vllm_sums(r, &lengths->context) &&
           skip_prefix(r, "_generation_") && read_vllm_sums(r, &lengths->generation);
}

/* ---- key=value ---- */

typedef struct field {
    const char *key;
    __int128 *value; /* if a key occurs twice, the last value counts */
    bool found;
} field;

static void set_field(field *fields, size_t count, gt_str key, gt_str value, bool *valid)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(fields[i].key) != key.len || memcmp(fields[i].key, key.bytes, key.len) != 0) continue;
        reader digits = {value.bytes, value.bytes + value.len};
        bool all_digits = value.len > 0;
        for (size_t j = 0; j < value.len; j++) all_digits &= gt_is_digit(value.bytes[j]);
        fields[i].found = true;
        *fields[i].value = 0; /* the value if it is not a number */
        if (all_digits) *valid &= read_number(&digits, fields[i].value);
    }
}

/* The end of a value that starts at `place` and has only digits. */
static const char *number_end(const char *place, const char *end)
{
    while (place < end && gt_is_digit(*place)) place++;
    return place;
}

/* The end of a value that is a list in brackets, such as [1, 2]...+3, or a word. */
static const char *value_end(const char *place, const char *end)
{
    const char *close = place < end && *place == '[' ? memchr(place, ']', (size_t)(end - place)) : NULL;
    if (close) {
        place = close + 1;
        reader more = {place, end};
        __int128 count;
        return skip_prefix(&more, "...+") && read_number(&more, &count) ? more.place : place;
    }
    while (place < end && !isspace((unsigned char)*place)) place++;
    return place;
}

/* Reads all pairs of a key, "=" and a non-empty value. */
static bool read_pairs(reader body, field *fields, size_t count,
                       const char *(*end_of)(const char *, const char *))
{
    bool valid = true;
    const char *from = body.place; /* the end of the last pair */
    for (const char *equals = from; equals < body.end; equals++) {
        if (*equals != '=') continue;
        const char *key = equals;
        while (key > from && is_word(key[-1])) key--;
        const char *end = end_of(equals + 1, body.end);
        if (key == equals || end == equals + 1) continue;
        set_field(fields, count, (gt_str){key, (size_t)(equals - key)},
                  (gt_str){equals + 1, (size_t)(end - equals - 1)}, &valid);
        from = end;
        equals = end - 1;
    }
    return valid;
}

/* Limits the reader to the part before the last bracket on the line. */
static bool limit_to_body(reader *r)
{
    const char *line = memchr(r->place, '\n', (size_t)(r->end - r->place));
    const char *close = memrchr(r->place, ']', (size_t)((line ? line : r->end) - r->place));
    if (!close) return false;
    r->end = close;
    return true;
}

/* ---- SGLang ---- */

static bool has_sums(reader body)
{
    static const char key[] = "sqsq=";
    const char *close = memchr(body.place, ']', (size_t)(body.end - body.place)),
               *end = close ? close : body.end;
    for (const char *at = body.place; (at = memmem(at, (size_t)(end - at), key, strlen(key))); at++)
        if (at + strlen(key) < end && gt_is_digit(at[strlen(key)])) return true;
    return false;
}

static bool read_sglang(reader *r, gt_step_lengths *lengths)
{
    gt_length_sums *c = &lengths->context, *g = &lengths->generation;
    field fields[] = {{"c_sq", &c->sq, 0},     {"c_sk", &c->sk, 0},    {"c_sqsq", &c->sqsq, 0},
                      {"c_sqsk", &c->sqsk, 0}, {"g_sq", &g->sq, 0},    {"g_sk", &g->sk, 0},
                      {"g_sqsq", &g->sqsq, 0}, {"g_sqsk", &g->sqsk, 0}};
    if (!skip_prefix(r, "EXTEND") && !skip_prefix(r, "DECODE") && !skip_prefix(r, "MIXED")) return false;
    if (r->place < r->end && is_word(*r->place)) return false;
    if (!limit_to_body(r) || !has_sums(*r)) return false;
    return read_pairs(*r, fields, GT_LENGTH(fields), number_end);
}

/* ---- ATOM ---- */

static bool read_atom(reader *r, gt_length_sums *sums)
{
    field fields[] = {
        {"sqsq", &sums->sqsq, 0}, {"sqsk", &sums->sqsk, 0}, {"tok", &sums->sq, 0}, {"sk", &sums->sk, 0}};
    return limit_to_body(r) && read_pairs(*r, fields, GT_LENGTH(fields), value_end) && fields[0].found &&
           fields[1].found;
}

bool gt_step_has_lengths(gt_str name)
{
    gt_step_lengths lengths;
    return gt_step_lengths_parse(name, &lengths);
}

bool gt_step_lengths_parse(gt_str name, gt_step_lengths *lengths)
{
    reader r = {name.bytes, name.bytes + name.len};
    *lengths = (gt_step_lengths){0};
    if (skip_prefix(&r, "execute_")) return read_vllm(&r, lengths);
    if (skip_prefix(&r, "step[")) return read_sglang(&r, lengths);
    if (skip_prefix(&r, "prefill[")) return read_atom(&r, &lengths->context);
    if (skip_prefix(&r, "decode[")) return read_atom(&r, &lengths->generation);
    return false;
}
