/* Fuzzes the reader of XLA's text dumps: every line of the input. */
#include "input/xla/xplane.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gt_interner *strings = gt_interner_new();
    gt_xla program = {.strings = strings};
    for (const uint8_t *end; size && (end = memchr(data, '\n', size));
         size -= (size_t)(end + 1 - data), data = end + 1) {
        size_t len = (size_t)(end - data);
        char *exact = malloc(len ? len : 1); /* so that AddressSanitizer reports reads past the line */
        if (!exact) abort();
        memcpy(exact, data, len);
        gt_xla_dump_add_line(&program, (gt_str){exact, len});
        free(exact);
    }
    for (size_t i = 0; i < program.count; i++) {
        const gt_xla_collective *c = &program.items[i];
        if (c->data_bytes < 0 || !gt_xla_find(&program, c->name)) abort();
        if (c->group_count && c->replicas == GT_STR_NONE) abort();
    }
    gt_xla_free(&program);
    gt_interner_free(strings);
    return 0;
}
