/* Names of steps of inference servers. The three forms have different beginnings, so a name is tried as one
 * only. */
#include "model/annotation.h"
#include "base/number.h"

#include "base/length.h"
#include "base/buffer.h"
#include "json/values.h"

#include <ctype.h>
#include <string.h>

typedef struct reader {
    const char *place, *end;
} reader;

static bool skip(reader *r, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(r->end - r->place) < len || memcmp(r->place, text, len) != 0) return false;
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

static bool read_vllm_chunk(reader *r, gt_chunk *chunk)
{
    __int128 requests;
    return read_number(r, &requests) && skip(r, "(sq") && read_number(r, &chunk->sq) && skip(r, "sk") &&
           read_number(r, &chunk->sk) && skip(r, "sqsq") && read_number(r, &chunk->sqsq) && skip(r, "sqsk") &&
           read_number(r, &chunk->sqsk) && skip(r, ")");
}

static bool read_vllm(reader *r, gt_step_lengths *lengths)
{
    __int128 tokens;
    return read_number(r, &tokens) && skip(r, "_context_") && read_vllm_chunk(r, &lengths->context) &&
           skip(r, "_generation_") && read_vllm_chunk(r, &lengths->generation);
}

/* ---- key=value ---- */

typedef struct field {
    const char *key;
    __int128 *value; /* the last one counts where a key occurs twice */
    bool found;
} field;

static void set_field(field *fields, size_t count, gt_str key, gt_str value, bool *sound)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(fields[i].key) != key.len || memcmp(fields[i].key, key.bytes, key.len) != 0) continue;
        reader digits = {value.bytes, value.bytes + value.len};
        bool all_digits = value.len > 0;
        for (size_t j = 0; j < value.len; j++) all_digits &= gt_is_digit(value.bytes[j]);
        fields[i].found = true;
        *fields[i].value = 0; /* what is no number counts as 0 */
        if (all_digits) *sound &= read_number(&digits, fields[i].value);
    }
}

/* Where a value ends that begins at `place`: behind its digits. */
static const char *number_end(const char *place, const char *end)
{
    while (place < end && gt_is_digit(*place)) place++;
    return place;
}

/* Behind a list in brackets, such as [1, 2]...+3, or before the next blank. */
static const char *value_end(const char *place, const char *end)
{
    const char *close = place < end && *place == '[' ? memchr(place, ']', (size_t)(end - place)) : NULL;
    if (close) {
        place = close + 1;
        reader more = {place, end};
        __int128 count;
        return skip(&more, "...+") && read_number(&more, &count) ? more.place : place;
    }
    while (place < end && !isspace((unsigned char)*place)) place++;
    return place;
}

/* Reads all pairs of a word, "=" and a value that is not empty. */
static bool read_pairs(reader body, field *fields, size_t count,
                       const char *(*end_of)(const char *, const char *))
{
    bool sound = true;
    const char *from = body.place; /* behind the last pair */
    for (const char *equals = from; equals < body.end; equals++) {
        if (*equals != '=') continue;
        const char *key = equals;
        while (key > from && is_word(key[-1])) key--;
        const char *end = end_of(equals + 1, body.end);
        if (key == equals || end == equals + 1) continue;
        set_field(fields, count, (gt_str){key, (size_t)(equals - key)},
                  (gt_str){equals + 1, (size_t)(end - equals - 1)}, &sound);
        from = end;
        equals = end - 1;
    }
    return sound;
}

/* What stands between the first bracket and the last one on its line. */
static bool find_body(reader *r)
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
    gt_chunk *c = &lengths->context, *g = &lengths->generation;
    field fields[] = {{"c_sq", &c->sq, 0},     {"c_sk", &c->sk, 0},    {"c_sqsq", &c->sqsq, 0},
                      {"c_sqsk", &c->sqsk, 0}, {"g_sq", &g->sq, 0},    {"g_sk", &g->sk, 0},
                      {"g_sqsq", &g->sqsq, 0}, {"g_sqsk", &g->sqsk, 0}};
    if (!skip(r, "EXTEND") && !skip(r, "DECODE") && !skip(r, "MIXED")) return false;
    if (r->place < r->end && is_word(*r->place)) return false;
    if (!find_body(r) || !has_sums(*r)) return false;
    return read_pairs(*r, fields, GT_LENGTH(fields), number_end);
}

/* ---- ATOM ---- */

static bool read_atom(reader *r, gt_chunk *chunk)
{
    field fields[] = {
        {"sqsq", &chunk->sqsq, 0}, {"sqsk", &chunk->sqsk, 0}, {"tok", &chunk->sq, 0}, {"sk", &chunk->sk, 0}};
    return find_body(r) && read_pairs(*r, fields, GT_LENGTH(fields), value_end) && fields[0].found &&
           fields[1].found;
}

bool gt_annotation_lengths(gt_str name, gt_step_lengths *lengths)
{
    reader r = {name.bytes, name.bytes + name.len};
    *lengths = (gt_step_lengths){0};
    if (skip(&r, "execute_")) return read_vllm(&r, lengths);
    if (skip(&r, "step[")) return read_sglang(&r, lengths);
    if (skip(&r, "prefill[")) return read_atom(&r, &lengths->context);
    if (skip(&r, "decode[")) return read_atom(&r, &lengths->generation);
    return false;
}
