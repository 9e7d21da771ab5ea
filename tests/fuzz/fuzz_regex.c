/* Python regular expressions: a first byte that says how long the expression is, the expression, and a text.
 * Neither may crash, read out of bounds or run without end; groups lie inside of the text. */
#include "compat/python_regex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    size_t len = data[0] < size ? data[0] : size - 1;
    char pattern[256];
    memcpy(pattern, data + 1, len);
    pattern[len] = 0;
    gt_str text = {(const char *)data + 1 + len, size - 1 - len};
    gt_python_regex regex;
    gt_python_match match = {0};
    gt_error error = {{0}};
    if (!gt_python_regex_compile(&regex, pattern, &error)) {
        if (!error.text[0]) abort(); /* a failure without a message */
        return 0;
    }
    bool searched = gt_python_regex_search(&regex, text, &match, &error);
    if (!searched && !error.text[0]) abort();
    if (match.text.len && searched) text = (gt_str){match.text.bytes, match.text.len};
    for (size_t i = 0; searched && match.found && i <= regex.group_count; i++) {
        gt_str group = match.groups[i];
        if (group.bytes && (group.bytes < text.bytes || group.bytes + group.len > text.bytes + text.len))
            abort();
    }
    gt_python_match_free(&match);
    gt_python_regex_free(&regex);
    return 0;
}
