/* How Python prints values. A string is quoted, with escapes for what cannot be seen; which code points those
 * are is a table of Unicode, unprintable.inc. Lists and tuples print their elements by repr. */
#include "compat/python_repr.h"

/* ---- strings ---- */

static const struct {
    uint32_t first, last;
} unprintable[] = {
#include "compat/unprintable.inc"
};

bool gt_is_printable(uint32_t code_point)
{
    if (code_point >= 0x20 && code_point < 0x7F) return true;
    size_t low = 0, high = GT_LENGTH(unprintable);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code_point < unprintable[middle].first) {
            high = middle;
        } else if (code_point > unprintable[middle].last) {
            low = middle + 1;
        } else {
            return false;
        }
    }
    return true;
}

void gt_python_add_escape(gt_buffer *buffer, uint32_t code_point)
{
    static const struct {
        uint32_t code_point;
        char escape[3];
    } short_escapes[] = {{'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}};
    for (size_t i = 0; i < GT_LENGTH(short_escapes); i++) {
        if (short_escapes[i].code_point != code_point) continue;
        gt_buffer_add_cstr(buffer, short_escapes[i].escape);
        return;
    }
    char escape[16];
    snprintf(escape, sizeof escape,
             code_point < 0x100     ? "\\x%02x"
             : code_point < 0x10000 ? "\\u%04x"
                                    : "\\U%08x",
             code_point);
    gt_buffer_add_cstr(buffer, escape);
}

static bool is_unescaped(char c, char quote)
{
    return c >= 0x20 && c < 0x7F && c != quote && c != '\\';
}

void gt_python_add_repr(gt_buffer *buffer, gt_str text)
{
    bool only_single = memchr(text.bytes, '\'', text.len) && !memchr(text.bytes, '"', text.len);
    char quote = only_single ? '"' : '\'';
    gt_buffer_add(buffer, &quote, 1);
    const char *place = text.bytes, *end = text.bytes + text.len;
    for (;;) {
        const char *plain = place;
        while (place < end && is_unescaped(*place, quote)) place++;
        gt_buffer_add(buffer, plain, (size_t)(place - plain));
        if (place == end) break;
        uint32_t code_point = gt_utf8_next(&place, end);
        if (code_point == (unsigned char)quote || code_point == '\\') gt_buffer_add(buffer, "\\", 1);
        if (gt_is_printable(code_point)) {
            gt_buffer_add_code_point(buffer, code_point);
        } else {
            gt_python_add_escape(buffer, code_point);
        }
    }
    gt_buffer_add(buffer, &quote, 1);
}

/* ---- cells ---- */

static void add_list(gt_buffer *buffer, const gt_column *column, size_t row, const gt_interner *strings)
{
    size_t first = gt_list_begin_of(column, row);
    size_t end = gt_list_end_of(column, row);
    gt_buffer_add(buffer, column->items_as_tuple ? "(" : "[", 1);
    for (size_t i = first; i < end; i++) {
        if (i > first) gt_buffer_add(buffer, ", ", 2);
        gt_python_add_cell(buffer, column->items, i, strings);
    }
    if (column->items_as_tuple && end - first == 1) gt_buffer_add(buffer, ",", 1);
    gt_buffer_add(buffer, column->items_as_tuple ? ")" : "]", 1);
}

void gt_python_add_cell(gt_buffer *buffer, const gt_column *column, size_t row, const gt_interner *strings)
{
    if (column->type == GT_TYPE_FLOAT) {
        gt_buffer_add_double(buffer, column->floats[row]);
        return;
    }
    if (gt_column_is_null(column, row)) {
        gt_buffer_add_cstr(buffer, "None");
        return;
    }
    switch (column->type) {
    case GT_TYPE_INT:
        gt_buffer_add_int(buffer, column->ints[row]);
        break;
    case GT_TYPE_STRING:
        gt_python_add_repr(buffer, gt_interner_get(strings, column->texts[row]));
        break;
    case GT_TYPE_BOOL:
        gt_buffer_add_cstr(buffer, column->bools[row] ? "True" : "False");
        break;
    case GT_TYPE_LIST:
        add_list(buffer, column, row, strings);
        break;
    case GT_TYPE_FLOAT:
        break;
    }
}

/* ---- values ---- */

static void print_items(gt_buffer *buffer, const gt_value *value)
{
    static const char brackets[][3] = {
        [GT_VALUE_LIST] = "[]", [GT_VALUE_TUPLE] = "()", [GT_VALUE_DICT] = "{}"};
    const char *around = brackets[value->type];
    bool is_dict = value->type == GT_VALUE_DICT;
    gt_buffer_add(buffer, &around[0], 1);
    for (uint32_t i = 0; i < value->count; i++) {
        if (i) gt_buffer_add_cstr(buffer, is_dict && i % 2 ? ": " : ", ");
        gt_python_add_value_repr(buffer, &value->items[i]);
    }
    if (value->type == GT_VALUE_TUPLE && value->count == 1) gt_buffer_add(buffer, ",", 1);
    gt_buffer_add(buffer, &around[1], 1);
}

void gt_python_add_value_repr(gt_buffer *buffer, const gt_value *value)
{
    switch (value->type) {
    case GT_VALUE_MISSING:
    case GT_VALUE_NONE:
        gt_buffer_add_cstr(buffer, "None");
        break;
    case GT_VALUE_BOOL:
        gt_buffer_add_cstr(buffer, value->boolean ? "True" : "False");
        break;
    case GT_VALUE_INT:
        gt_buffer_add_int(buffer, value->integer);
        break;
    case GT_VALUE_FLOAT:
        gt_buffer_add_double(buffer, value->number);
        break;
    case GT_VALUE_BIG:
        gt_buffer_add(buffer, value->text.bytes, value->text.len);
        break;
    case GT_VALUE_STRING:
        gt_python_add_repr(buffer, value->text);
        break;
    default:
        print_items(buffer, value);
        break;
    }
}

void gt_python_add_value(gt_buffer *buffer, const gt_value *value)
{
    if (value->type == GT_VALUE_STRING)
        gt_buffer_add(buffer, value->text.bytes, value->text.len);
    else
        gt_python_add_value_repr(buffer, value);
}

gt_shown gt_python_shown(const gt_value *value)
{
    switch (value->type) {
    case GT_VALUE_MISSING:
    case GT_VALUE_NONE:
        return GT_SHOWN_NULL;
    case GT_VALUE_INT:
        return GT_SHOWN_INT;
    case GT_VALUE_FLOAT:
        return isnan(value->number) ? GT_SHOWN_NULL : GT_SHOWN_FLOAT;
    case GT_VALUE_BOOL:
        return GT_SHOWN_BOOL;
    default:
        return GT_SHOWN_STRING;
    }
}

void gt_python_set_cell(gt_table *table, size_t column, size_t row, const gt_value *value, gt_buffer *spare)
{
    spare->len = 0;
    gt_python_add_value(spare, value);
    gt_table_set_shown(table, column, row, gt_interner_add(table->strings, spare->bytes, spare->len),
                       gt_python_shown(value));
}
