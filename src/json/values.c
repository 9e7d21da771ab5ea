/* Values: a parser of JSON text into a tree in an arena. */
#include "json/values.h"

#include "json/string.h"

enum { MAX_DEPTH = 64, MAX_BYTES = 16 << 20 };

const gt_value gt_value_missing = {.type = GT_VALUE_MISSING}, gt_value_none = {.type = GT_VALUE_NONE};

/* ---- values ---- */

gt_value gt_value_bool(bool boolean)
{
    return (gt_value){.type = GT_VALUE_BOOL, .boolean = boolean};
}

gt_value gt_value_int(int64_t integer)
{
    return (gt_value){.type = GT_VALUE_INT, .integer = integer};
}

gt_value gt_value_float(double number)
{
    return (gt_value){.type = GT_VALUE_FLOAT, .number = number};
}

gt_value gt_value_cstr(const char *text)
{
    return (gt_value){.type = GT_VALUE_STRING, .text = {text, strlen(text)}};
}

static const gt_value *keep_items(gt_arena *arena, const gt_value *items, size_t count)
{
    gt_value *copy = gt_arena_alloc(arena, count * sizeof *copy);
    if (count) memcpy(copy, items, count * sizeof *copy);
    return copy;
}

gt_value gt_value_tuple(gt_arena *arena, const gt_value *items, size_t count)
{
    return (gt_value){
        .type = GT_VALUE_TUPLE, .count = (uint32_t)count, .items = keep_items(arena, items, count)};
}

gt_value gt_value_as_tuple(const gt_value *list)
{
    gt_value tuple = *list;
    if (tuple.type == GT_VALUE_LIST) tuple.type = GT_VALUE_TUPLE;
    return tuple;
}

bool gt_value_is_list(const gt_value *value)
{
    return value->type == GT_VALUE_LIST || value->type == GT_VALUE_TUPLE;
}

bool gt_value_is_empty(const gt_value *value)
{
    switch (value->type) {
    case GT_VALUE_MISSING:
    case GT_VALUE_NONE:
        return true;
    case GT_VALUE_BOOL:
        return !value->boolean;
    case GT_VALUE_INT:
        return value->integer == 0;
    case GT_VALUE_FLOAT:
        return value->number == 0;
    case GT_VALUE_BIG:
        return false;
    case GT_VALUE_STRING:
        return value->text.len == 0;
    default:
        return value->count == 0;
    }
}

bool gt_value_equals_cstr(const gt_value *value, const char *text)
{
    return value->type == GT_VALUE_STRING && gt_str_equals(value->text, text);
}

const char *gt_value_copy(gt_arena *arena, const gt_value *value)
{
    return value->type == GT_VALUE_STRING ? gt_arena_bytes(arena, value->text.bytes, value->text.len) : NULL;
}

const gt_value *gt_value_at(const gt_value *list, int64_t i)
{
    if (!gt_value_is_list(list)) return &gt_value_missing;
    if (i < 0) i += list->count;
    return i >= 0 && i < list->count ? &list->items[i] : &gt_value_missing;
}

const gt_value *gt_value_get(const gt_value *dict, const char *key)
{
    if (dict->type != GT_VALUE_DICT) return &gt_value_missing;
    for (uint32_t i = dict->count; i >= 2; i -= 2)
        if (gt_value_equals_cstr(&dict->items[i - 2], key)) return &dict->items[i - 1];
    return &gt_value_missing;
}

/* ---- parsing ---- */

typedef struct parser {
    const char *place, *end;
    gt_arena *arena;
    gt_value *open; /* items of the lists that are not closed yet */
    size_t count, capacity;
    gt_buffer scratch;
} parser;

static bool parse_value(parser *p, int depth, gt_value *out);

static char look(parser *p)
{
    while (p->place < p->end && (*p->place == ' ' || (*p->place >= '\t' && *p->place <= '\r'))) p->place++;
    return p->place < p->end ? *p->place : 0;
}

static bool take(parser *p, char c)
{
    if (look(p) != c) return false;
    p->place++;
    return true;
}

static gt_value keep_text(parser *p, const char *bytes, size_t len)
{
    return (gt_value){.type = GT_VALUE_STRING, .text = {gt_arena_bytes(p->arena, bytes, len), len}};
}

static bool parse_text(parser *p, gt_value *out)
{
    gt_str text;
    p->place++;
    if (!gt_json_string_read(&p->place, p->end, &p->scratch, &text)) return false;
    *out = keep_text(p, text.bytes, text.len);
    return true;
}

/* Digits, possibly after a minus sign; beyond 64 bits they are kept as digits. */
static bool parse_integer(parser *p, gt_str word, gt_value *out)
{
    bool negative = word.bytes[0] == '-', fits = true;
    int64_t value = 0; /* counted downwards, because the least integer has no positive counterpart */
    if (word.len == negative) return false;
    for (size_t i = negative; i < word.len; i++) {
        int digit = word.bytes[i] - '0';
        if (digit < 0 || digit > 9) return false;
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_sub_overflow(value, digit, &value);
    }
    if (fits && !negative) fits = !__builtin_sub_overflow(0, value, &value);
    *out = fits ? gt_value_int(value) : keep_text(p, word.bytes, word.len);
    if (!fits) out->type = GT_VALUE_BIG;
    return true;
}

static bool parse_number(parser *p, gt_value *out)
{
    gt_str word = {p->place, 0};
    bool is_float = false;
    for (; p->place < p->end && *p->place && strchr("+-.0123456789eE", *p->place); p->place++)
        is_float |= strchr(".eE", *p->place) != NULL;
    word.len = (size_t)(p->place - word.bytes);
    if (!word.len) return false;
    if (!is_float) return parse_integer(p, word, out);
    char *copy = gt_arena_bytes(p->arena, word.bytes, word.len), *rest;
    *out = gt_value_float(strtod(copy, &rest));
    return *rest == 0;
}

static bool parse_word(parser *p, gt_value *out)
{
    const struct {
        const char *word;
        gt_value value;
    } words[] = {
        {"true", gt_value_bool(true)},
        {"false", gt_value_bool(false)},
        {"null", gt_value_none},
        {"NaN", gt_value_float((double)NAN)},
        {"Infinity", gt_value_float((double)INFINITY)},
        {"-Infinity", gt_value_float(-(double)INFINITY)},
    };
    for (size_t i = 0; i < GT_LENGTH(words); i++) {
        size_t len = strlen(words[i].word);
        if ((size_t)(p->end - p->place) < len || memcmp(p->place, words[i].word, len) != 0) continue;
        p->place += len;
        *out = words[i].value;
        return true;
    }
    return false;
}

/* The items of a list or dict, from after its opening bracket to after the closing one. */
static bool parse_items(parser *p, int depth, bool is_dict, gt_value *out)
{
    char close = is_dict ? '}' : ']';
    size_t first = p->count;
    bool closed = take(p, close);
    while (!closed) {
        gt_value item;
        if (is_dict) {
            if (look(p) != '"' || !parse_text(p, &item) || !take(p, ':')) return false;
            GT_PUSH(p->open, p->count, p->capacity, item);
        }
        if (!parse_value(p, depth + 1, &item)) return false;
        GT_PUSH(p->open, p->count, p->capacity, item);
        closed = take(p, close);
        if (!closed && !take(p, ',')) return false;
    }
    size_t count = p->count - first;
    if (count > UINT32_MAX) return false;
    *out = (gt_value){.type = is_dict ? GT_VALUE_DICT : GT_VALUE_LIST,
                      .count = (uint32_t)count,
                      .items = keep_items(p->arena, p->open ? p->open + first : NULL, count)};
    p->count = first;
    return true;
}

static bool parse_value(parser *p, int depth, gt_value *out)
{
    if (depth > MAX_DEPTH) return false;
    switch (look(p)) {
    case '[':
        return p->place++, parse_items(p, depth, false, out);
    case '{':
        return p->place++, parse_items(p, depth, true, out);
    case '"':
        return parse_text(p, out);
    case 0:
        return false;
    default:
        return parse_word(p, out) || parse_number(p, out);
    }
}

const gt_value *gt_value_parse(gt_arena *arena, gt_str json)
{
    parser p = {.place = json.bytes, .end = json.bytes + json.len, .arena = arena};
    gt_value value;
    bool ok = parse_value(&p, 0, &value) && look(&p) == 0 && p.place == p.end;
    gt_free(p.open);
    gt_buffer_free(&p.scratch);
    return ok ? keep_items(arena, &value, 1) : &gt_value_missing;
}

/* ---- interned values ---- */

struct gt_values {
    const gt_interner *strings;
    gt_arena arena;
    const gt_value **known; /* by string id; NULL if not parsed yet */
    size_t count;
};

gt_values *gt_values_new(const gt_interner *strings)
{
    gt_values *values = gt_alloc_zero(1, sizeof *values);
    values->strings = strings;
    return values;
}

void gt_values_free(gt_values *values)
{
    if (!values) return;
    gt_arena_free(&values->arena);
    gt_free_all(values->known, values);
}

void gt_values_forget(gt_values *values)
{
    gt_free(values->known);
    values->known = NULL;
    values->count = 0;
}

const gt_value *gt_values_get(gt_values *values, uint32_t text)
{
    if (text == GT_STR_NONE) return &gt_value_missing;
    if (text >= values->count) {
        size_t count = gt_interner_count(values->strings);
        values->known = gt_realloc(values->known, count * sizeof *values->known);
        memset(values->known + values->count, 0, (count - values->count) * sizeof *values->known);
        values->count = count;
    }
    gt_str json = gt_interner_get(values->strings, text);
    if (!values->known[text])
        values->known[text] = json.len > MAX_BYTES ? &gt_value_missing : gt_value_parse(&values->arena, json);
    return values->known[text];
}
