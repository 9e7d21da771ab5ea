/* Arguments that the trace has as text: "0.5", "True", "[2, 2]". Each reader takes what Python's own would
 * take. */
#include "model/family.h"
#include "base/buffer.h"
#include "compat/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBER_LEN = 400, MAX_ITEMS = 4096 };

static const gt_str no_text = {"", 0};

static gt_str text_of(const gt_value *v)
{
    return v->type == GT_VALUE_STRING ? v->text : no_text;
}

static gt_str trim(gt_str text)
{
    while (text.len && gt_is_blank(text.bytes[0])) text.bytes++, text.len--;
    while (text.len && gt_is_blank(text.bytes[text.len - 1])) text.len--;
    return text;
}

/* ---- numbers ---- */

bool gt_parse_int(const gt_value *v, gt_int *out)
{
    switch (v->type) {
    case GT_VALUE_INT:
        *out = v->integer;
        return true;
    case GT_VALUE_BOOL:
        *out = v->boolean;
        return true;
    case GT_VALUE_STRING:
        return gt_python_parse_int(v->text, out) == GT_PYTHON_PARSED;
    default:
        return false;
    }
}

gt_int gt_read_int(gt_reader *r, const gt_value *v)
{
    gt_int value = 0;
    gt_require(r, gt_parse_int(v, &value));
    return value;
}

static bool parse_float(const gt_value *v, double *out)
{
    switch (v->type) {
    case GT_VALUE_INT:
        *out = (double)v->integer;
        return true;
    case GT_VALUE_BOOL:
        *out = v->boolean;
        return true;
    case GT_VALUE_FLOAT:
        *out = v->number;
        return true;
    case GT_VALUE_STRING:
        return gt_python_parse_float(v->text, out);
    default:
        return false;
    }
}

double gt_optional_float(const gt_value *v)
{
    double value;
    return parse_float(v, &value) ? value : 0.0;
}

double gt_read_float(gt_reader *r, const gt_value *v)
{
    double value = 0;
    gt_require(r, parse_float(v, &value));
    return value;
}

/* ---- truth ---- */

bool gt_str_is_true(const gt_value *v)
{
    return gt_str_equals_nocase(text_of(v), "true");
}

bool gt_parse_bool(const gt_value *v)
{
    if (v->type != GT_VALUE_STRING) return !gt_value_is_empty(v);
    gt_str text = trim(v->text);
    return text.len && !gt_str_equals_nocase(text, "false") && !gt_str_equals(text, "0");
}

static bool parse_literal(gt_str text, gt_value *out)
{
    gt_int integer;
    double number;
    if (gt_str_equals(text, "True") || gt_str_equals(text, "False"))
        *out = gt_value_bool(text.bytes[0] == 'T');
    else if (gt_str_equals(text, "None"))
        *out = gt_value_none;
    else if (gt_python_parse_int(text, &integer) == GT_PYTHON_PARSED && integer >= INT64_MIN &&
             integer <= INT64_MAX)
        *out = gt_value_int((int64_t)integer);
    else if (text.len && !isalpha((unsigned char)text.bytes[text.len - 1]) &&
             gt_python_parse_float(text, &number))
        *out = gt_value_float(number);
    else
        return false;
    return true;
}

gt_value gt_read_literal(gt_reader *r, const gt_value *v)
{
    gt_value value = gt_value_none;
    gt_require(r, v->type == GT_VALUE_STRING && parse_literal(trim(v->text), &value));
    return value;
}

/* ---- lists ---- */

typedef bool item_parser(gt_str text, gt_value *out);

static bool parse_int_item(gt_str text, gt_value *out)
{
    gt_int integer;
    if (gt_python_parse_int(text, &integer) != GT_PYTHON_PARSED || integer < INT64_MIN ||
        integer > INT64_MAX)
        return false;
    *out = gt_value_int((int64_t)integer);
    return true;
}

/* The parts of a text between commas. */
static bool parse_items(gt_reader *r, gt_str text, item_parser *parse, gt_value *out)
{
    gt_value items[MAX_ITEMS];
    size_t count = 0;
    const char *place = text.bytes, *end = place + text.len;
    for (bool more = true; more; count++) {
        const char *comma = memchr(place, ',', (size_t)(end - place));
        gt_str part = {place, (size_t)((comma ? comma : end) - place)};
        if (count == MAX_ITEMS || !parse(trim(part), &items[count])) return false;
        more = comma != NULL;
        if (more) place = comma + 1;
    }
    *out = gt_value_tuple(r->arena, items, count);
    return true;
}

gt_value gt_read_tuple(gt_reader *r, const gt_value *v)
{
    gt_str text = text_of(v);
    gt_value tuple = {.type = GT_VALUE_TUPLE};
    if (!gt_require(r, text.len >= 2)) return tuple;
    gt_str inside = {text.bytes + 1, text.len - 2};
    gt_require(r, parse_items(r, inside, parse_int_item, &tuple));
    return tuple;
}

static bool parse_int_or_bool(gt_str text, gt_value *out)
{
    return parse_literal(text, out) && (out->type == GT_VALUE_INT || out->type == GT_VALUE_BOOL);
}

gt_value gt_read_list(gt_reader *r, const gt_value *v)
{
    gt_str text = trim(text_of(v));
    gt_value list = {.type = GT_VALUE_LIST};
    if (!gt_require(r, text.len >= 2 && text.bytes[0] == '[' && text.bytes[text.len - 1] == ']')) return list;
    gt_str inside = trim((gt_str){text.bytes + 1, text.len - 2});
    if (!inside.len) return list;
    gt_require(r, parse_items(r, inside, parse_int_or_bool, &list));
    list.type = GT_VALUE_LIST;
    return list;
}
