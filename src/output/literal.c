/* How does Python print a list? Elements as their repr, None where one is missing, texts quoted and escaped.
 *
 * Which characters a text's repr escapes is a table of Unicode, unprintable.inc. */
#include "output/literal.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

static const struct {
    uint32_t first, last;
} unprintable[] = {
#include "output/unprintable.inc"
};

bool gt_is_printable(uint32_t code_point)
{
    if (code_point >= 0x20 && code_point < 0x7F) return true;
    size_t low = 0, high = sizeof unprintable / sizeof *unprintable;
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

void gt_literal_add_escape(gt_buffer *buffer, uint32_t code_point)
{
    static const struct {
        uint32_t code_point;
        char escape[3];
    } short_escapes[] = {{'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}};
    for (size_t i = 0; i < sizeof short_escapes / sizeof *short_escapes; i++) {
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

static void add_text(gt_buffer *buffer, gt_text text)
{
    bool only_single = memchr(text.bytes, '\'', text.len) && !memchr(text.bytes, '"', text.len);
    char quote = only_single ? '"' : '\'';
    gt_buffer_add(buffer, &quote, 1);
    const char *place = text.bytes, *end = text.bytes + text.len;
    while (place < end) {
        uint32_t code_point = gt_utf8_next(&place, end);
        if (code_point == (unsigned char)quote || code_point == '\\') gt_buffer_add(buffer, "\\", 1);
        if (gt_is_printable(code_point)) {
            gt_buffer_add_code_point(buffer, code_point);
        } else {
            gt_literal_add_escape(buffer, code_point);
        }
    }
    gt_buffer_add(buffer, &quote, 1);
}

static void add_list(gt_buffer *buffer, const gt_column *column, size_t row, const gt_strings *strings)
{
    size_t first = gt_list_begin_of(column, row);
    size_t end = gt_list_end_of(column, row);
    gt_buffer_add(buffer, column->items_as_tuple ? "(" : "[", 1);
    for (size_t i = first; i < end; i++) {
        if (i > first) gt_buffer_add(buffer, ", ", 2);
        gt_literal_add(buffer, column->items, i, strings);
    }
    if (column->items_as_tuple && end - first == 1) gt_buffer_add(buffer, ",", 1);
    gt_buffer_add(buffer, column->items_as_tuple ? ")" : "]", 1);
}

void gt_literal_add(gt_buffer *buffer, const gt_column *column, size_t row, const gt_strings *strings)
{
    if (column->type == GT_TYPE_FLOAT) {
        buffer->len += gt_print_double(gt_buffer_room(buffer, GT_NUMBER_MAX), column->floats[row]);
        return;
    }
    if (gt_column_is_null(column, row)) {
        gt_buffer_add_cstr(buffer, "None");
        return;
    }
    switch (column->type) {
    case GT_TYPE_INT:
        buffer->len += gt_print_int(gt_buffer_room(buffer, GT_NUMBER_MAX), column->ints[row]);
        break;
    case GT_TYPE_TEXT:
        add_text(buffer, gt_strings_get(strings, column->texts[row]));
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
