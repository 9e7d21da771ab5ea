/* Unique names; see names.h. */
#include "output/names.h"

#include "base/memory.h"
#include "base/buffer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_taken(const gt_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcasecmp(names->names[i], name) == 0) return true;
    return false;
}

/* The bytes that the first `chars` code points of valid UTF-8 take. */
static size_t bytes_of_chars(const char *text, size_t chars)
{
    const char *place = text, *end = text + strlen(text);
    while (place < end && chars-- > 0) gt_utf8_next(&place, end);
    return (size_t)(place - text);
}

const char *gt_names_add(gt_names *names, const char *wanted, size_t max_chars)
{
    char *name = gt_format("%.*s", (int)bytes_of_chars(wanted, max_chars), wanted);
    for (unsigned number = 2; is_taken(names, name); number++) {
        char suffix[16];
        size_t suffix_len = (size_t)snprintf(suffix, sizeof suffix, "_%u", number);
        size_t kept = max_chars > suffix_len ? max_chars - suffix_len : 0;
        gt_free(name);
        name = gt_format("%.*s%s", (int)bytes_of_chars(wanted, kept), wanted, suffix);
    }
    GT_PUSH(names->names, names->count, names->capacity, name);
    return name;
}

void gt_names_free(gt_names *names)
{
    for (size_t i = 0; i < names->count; i++) gt_free(names->names[i]);
    gt_free(names->names);
    *names = (gt_names){0};
}
