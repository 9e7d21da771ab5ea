/* Columns in the trace's order, and agents' numbers. */
#include "trace/chrome.h"
#include "base/memory.h"
#include "json/string.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void gt_chrome_free(gt_chrome *trace)
{
    if (!trace) return;
    gt_store_free(trace->store);
    gt_interner_free(trace->strings);
    gt_free(trace->order);
    gt_free(trace);
}

#define IN_ORDER(values)                                                                                     \
    do {                                                                                                     \
        if (!trace->order) return values;                                                                    \
        __typeof__(values) ordered = gt_alloc(trace->count * sizeof *ordered);                               \
        for (size_t i = 0; i < trace->count; i++) ordered[i] = values[trace->order[i]];                      \
        gt_free(values);                                                                                        \
        return ordered;                                                                                      \
    } while (0)

int64_t *gt_chrome_ints(const gt_chrome *trace, size_t column)
{
    int64_t *values = gt_store_ints(trace->store, column);
    IN_ORDER(values);
}

uint32_t *gt_chrome_strings(const gt_chrome *trace, size_t column)
{
    uint32_t *values = gt_store_string_ids(trace->store, column);
    IN_ORDER(values);
}

double *gt_chrome_times(const gt_chrome *trace, size_t column)
{
    double *values = gt_store_times(trace->store, column);
    IN_ORDER(values);
}

int64_t gt_chrome_agent_number(gt_str json, bool only_numbers)
{
    json = gt_json_unquote(json);
    size_t at = json.len;
    while (at && isdigit((unsigned char)json.bytes[at - 1])) at--;
    if (at == json.len || json.len - at > 9 || (only_numbers && at)) return -1;
    int64_t number = 0;
    for (; at < json.len; at++) number = number * 10 + (json.bytes[at] - '0');
    return number;
}
