/* How does Python print a list? Elements as their repr, None where one is missing. */
#include "compat/literal.h"

#include "compat/python_text.h"

static void add_list(gt_buffer *buffer, const gt_column *column, size_t row, const gt_interner *strings)
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

void gt_literal_add(gt_buffer *buffer, const gt_column *column, size_t row, const gt_interner *strings)
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
