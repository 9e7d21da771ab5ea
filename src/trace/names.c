/* A walk over all texts. */
#include "trace/names.h"

#include "base/memory.h"

#include <string.h>

uint8_t *gt_names_with_prefix(const gt_interner *strings, const char *prefix)
{
    uint8_t *found = NULL;
    size_t len = strlen(prefix);
    uint32_t count = gt_interner_count(strings);
    for (uint32_t id = GT_STR_EMPTY; id < count; id++) {
        gt_str text = gt_interner_get(strings, id);
        if (text.len < len || memcmp(text.bytes, prefix, len) != 0) continue;
        if (!found) found = gt_alloc_zero(count, 1);
        found[id] = 1;
    }
    return found;
}
