/* Each name is looked at once, and the events then take the new ones. */
#include "trace/pytorch/profiler_names.h"

#include "base/memory.h"
#include "trace/names.h"

#include <stdlib.h>
#include <string.h>

static const char PREFIX[] = "sglang_profiler::";

/* The first host event of each name that is wanted, GT_NO_EVENT for other names. */
static uint32_t *first_events(const gt_pytorch *trace, const uint8_t *wanted, uint32_t names)
{
    uint32_t *first = gt_alloc(names * sizeof *first);
    memset(first, 0xFF, names * sizeof *first);
    for (uint32_t row = 0; row < trace->count; row++) {
        uint32_t *earliest = &first[trace->name[row]];
        if (wanted[trace->name[row]] && gt_kind_is_host(trace->kind[row]) &&
            (*earliest == GT_NO_EVENT || trace->start_us[row] < trace->start_us[*earliest]))
            *earliest = row;
    }
    return first;
}

/* The name without its number, GT_STR_NONE where it has none. */
static uint32_t strip(gt_interner *strings, uint32_t name)
{
    gt_str text = gt_interner_get(strings, name);
    size_t len = text.len;
    while (text.bytes[len - 1] >= '0' && text.bytes[len - 1] <= '9') len--;
    bool numbered = len < text.len && text.bytes[len - 1] == '_' && len > sizeof PREFIX;
    return numbered ? gt_interner_add(strings, text.bytes, len - 1) : GT_STR_NONE;
}

void gt_profiler_names_strip(gt_pytorch *trace)
{
    uint8_t *wanted = gt_names_with_prefix(trace->strings, PREFIX);
    if (!wanted) return;
    uint32_t names = gt_interner_count(trace->strings);
    uint32_t *first = first_events(trace, wanted, names), *stripped = gt_alloc_zero(names, sizeof *stripped);
    for (uint32_t name = 0; name < names; name++)
        if (first[name] != GT_NO_EVENT && trace->kind[first[name]] == GT_KIND_CPU_OP)
            stripped[name] = strip(trace->strings, name);
    for (uint32_t row = 0; row < trace->count; row++) {
        bool in_tree = gt_kind_is_host(trace->kind[row]) || trace->parent[row] != GT_NO_EVENT;
        if (in_tree && stripped[trace->name[row]]) trace->name[row] = stripped[trace->name[row]];
    }
    gt_free(wanted);
    gt_free(first);
    gt_free(stripped);
}
