/* Takes names of folders apart. */
#include "sweep/folder_names.h"

#include <sys/stat.h>

enum { DIGITS_MAX = 9 };

bool gt_take_number(const char **text, int64_t *number)
{
    const char *at = *text;
    *number = 0;
    for (; isdigit((unsigned char)*at) && at - *text < DIGITS_MAX; at++) *number = *number * 10 + (*at - '0');
    bool any = at > *text && !isdigit((unsigned char)*at);
    if (any) *text = at;
    return any;
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

size_t gt_folder_threads(const char *name)
{
    static const char end[] = "thread";
    size_t len = strlen(name), end_len = strlen(end);
    return len >= end_len && strcmp(name + len - end_len, end) == 0 ? len - end_len : SIZE_MAX;
}

const char *gt_folder_digits(const char *name, const char *begin, const char *end, size_t *len)
{
    int64_t number;
    if (strncmp(name, begin, strlen(begin)) != 0) return NULL;
    const char *digits = name + strlen(begin), *at = digits;
    if (!gt_take_number(&at, &number) || strcmp(at, end) != 0) return NULL;
    *len = (size_t)(at - digits);
    return digits;
}

/* Folders that programs write and that look like those of an axis. */
static bool is_of_programs(const char *name)
{
    static const char *const names[] = {GT_SWEEP_ANALYSIS, "torch_profiler", "rocprof_traces",
                                        "individual_reports", "collective_reports"};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

bool gt_folder_is_odd_channels(const char *name)
{
    static const char begin[] = "nccl_", end[] = "channels";
    const char *rest = name + strlen(begin), *found;
    int64_t number;
    if (strncmp(name, begin, strlen(begin)) != 0) return false;
    bool is_numbered = gt_take_number(&rest, &number);
    if (!(found = strstr(rest, end))) return false;
    return is_numbered ? found == rest && found[strlen(end)] : !found[strlen(end)];
}

size_t gt_folder_axis(const char *folder)
{
    size_t len = 0;
    while (is_name_byte(folder[len])) len++;
    const char *first = memchr(folder, '_', len), *last = memrchr(folder, '_', len);
    if (!first || first == folder || !first[1] || is_of_programs(folder) || gt_folder_is_odd_channels(folder))
        return 0;
    bool is_number = isdigit((unsigned char)last[1]) || last[1] == '-';
    return (size_t)((is_number ? last : first) - folder);
}

bool gt_folder_is_axis(const char *name)
{
    size_t len;
    return gt_folder_threads(name) != SIZE_MAX || gt_folder_digits(name, "nccl_", "channels", &len) ||
           gt_folder_axis(name);
}

char *gt_folder_short_name(gt_arena *arena, const char *folder)
{
    size_t len;
    const char *digits = gt_folder_digits(folder, "nccl_", "channels", &len);
    return digits ? gt_arena_format(arena, "%.*sch", (int)len, digits)
                  : gt_arena_bytes(arena, folder, strlen(folder));
}

char *gt_folder_of_report(const char *report_name)
{
    size_t len;
    const char *digits = gt_folder_digits(report_name, "", "ch", &len);
    return digits ? gt_format("nccl_%.*schannels", (int)len, digits) : gt_strdup(report_name);
}

bool gt_folder_repeat(const char *folder, int64_t *repeat)
{
    size_t len;
    const char *digits = gt_folder_digits(folder, "repeat_", "", &len);
    return digits && gt_take_number(&digits, repeat) && *repeat > 0;
}

bool gt_folder_enter(gt_folder_chain *chain, const gt_folder_chain *above, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return false;
    *chain = (gt_folder_chain){status.st_dev, status.st_ino, above};
    for (; above; above = above->above)
        if (above->device == chain->device && above->number == chain->number) return false;
    return true;
}
