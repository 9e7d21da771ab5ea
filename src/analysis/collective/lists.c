/* Digits out of text; what stands between them only decides whether it was a list. */
#include "analysis/collective/lists.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_list(gt_str text)
{
    if (text.len < 2) return false;
    char open = text.bytes[0], close = text.bytes[text.len - 1];
    return ((open == '[' && close == ']') || (open == '(' && close == ')')) &&
           strspn(text.bytes + 1, "0123456789, ") == text.len - 2;
}

void gt_int_list_read(gt_int_list *list, gt_str text)
{
    list->count = 0;
    list->cut = gt_str_contains(text, "...");
    list->clean = is_list(text);
    for (size_t at = 0; at < text.len;) {
        if (!isdigit((unsigned char)text.bytes[at])) {
            at++;
            continue;
        }
        int64_t value = 0;
        for (; at < text.len && isdigit((unsigned char)text.bytes[at]); at++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, text.bytes[at] - '0', &value))
                value = INT64_MAX;
        GT_PUSH(list->items, list->count, list->capacity, value);
    }
}

void gt_int_list_free(gt_int_list *list)
{
    gt_free(list->items);
    *list = (gt_int_list){0};
}
