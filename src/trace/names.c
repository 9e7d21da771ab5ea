/* A walk over all texts. */
#include "trace/names.h"

#include "base/memory.h"

#include <string.h>

uint8_t *gt_names_with_prefix(const gt_strings *strings, const char *prefix)
{
    uint8_t *found = NULL;
    size_t len = strlen(prefix);
    uint32_t count = gt_strings_count(strings);
    for (uint32_t id = GT_TEXT_EMPTY; id < count; id++) {
        gt_text text = gt_strings_get(strings, id);
        if (text.len < len || memcmp(text.bytes, prefix, len) != 0) continue;
        if (!found) found = gt_alloc_zero(count, 1);
        found[id] = 1;
    }
    return found;
}
