/* Decides what a truncated file means, a warning or an error, and words the message for all readers. */
#include "input/options.h"

const char *gt_trace_member_find(const gt_trace_members *members, const char *name)
{
    for (size_t i = 0; i < members->count; i++)
        if (strcmp(members->items[i].name, name) == 0) return members->items[i].value;
    return NULL;
}

bool gt_accept_truncated(const char *path, const char *damage, size_t count, const char *what,
                         uint64_t offset, const gt_read_options *options, gt_error *error)
{
    unsigned long long bytes = offset;
    char why[160] = "";
    if (damage) snprintf(why, sizeof why, " (%s)", damage);
    if (!count)
        return gt_fail(error, "%s: truncated%s at byte %llu; no %s before that", path, why, bytes, what);
    if (options->strict) return gt_fail(error, "%s: truncated%s at byte %llu", path, why, bytes);
    gt_warn("%s: truncated%s: read %zu %s up to byte %llu", path, why, count, what, bytes);
    return true;
}
