/* Limits of memory, as users type them and as control groups and resource limits have them. */
#include "base/memory_limit.h"
#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES_PER_THREAD = 12 * 1024 * 1024 };

/* ---- sizes ---- */

/* The factor of a suffix such as "", "M", "MiB" or "MB"; 0 if it is none. */
static double factor_of(const char *suffix)
{
    static const char letters[] = "kmgt";
    if (!*suffix || strcasecmp(suffix, "b") == 0) return 1;
    const char *letter = strchr(letters, tolower((unsigned char)*suffix));
    if (!letter) return 0;
    int power = (int)(letter - letters) + 1;
    if (!suffix[1] || strcasecmp(suffix + 1, "ib") == 0) return ldexp(1, 10 * power);
    return strcasecmp(suffix + 1, "b") == 0 ? pow(1000, power) : 0;
}

bool gt_memory_parse(const char *text, uint64_t *bytes)
{
    if (!isdigit((unsigned char)*text)) return false;
    size_t digits = strspn(text, "0123456789.");
    char number[32], *end;
    if (digits >= sizeof number) return false;
    memcpy(number, text, digits);
    number[digits] = 0;
    double value = strtod(number, &end) * factor_of(text + digits + strspn(text + digits, " "));
    if (*end || !(value >= 1) || value >= 0x1p63) return false;
    *bytes = (uint64_t)value;
    return true;
}

bool gt_memory_parse_limit(const char *text, uint64_t *bytes, gt_error *error)
{
    if (!gt_memory_parse(text, bytes))
        return gt_fail(error, "invalid size: '%.200s' (expected bytes, or a number with K, M, G or T)", text);
    if (*bytes < GT_MEMORY_MIN)
        return gt_fail(error, "must be at least %dM, got %.200s", (int)(GT_MEMORY_MIN >> 20), text);
    return true;
}

/* ---- control groups ---- */

/* The number in a file of a group; 0 if it has none ("max"). */
static uint64_t limit_in_file(const char *folder, const char *group, const char *name)
{
    char path[4096];
    unsigned long long bytes = 0;
    if ((size_t)snprintf(path, sizeof path, "%s%s/%s", folder, group, name) >= sizeof path) return 0;
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    if (fscanf(file, "%llu", &bytes) != 1 || bytes > INT64_MAX / 2) bytes = 0; /* version 1 has no "max" */
    fclose(file);
    return bytes;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a && (!b || a < b) ? a : b;
}

/* Of a group and those around it. */
static uint64_t limit_of_group(const char *folder, char *group, const char *name)
{
    uint64_t least = 0;
    for (;;) {
        least = smaller(least, limit_in_file(folder, group, name));
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

/* A line is "0::/path" in version 2 and "4:memory:/path" in version 1. In a container, the path may be that
 * outside of it, while the files are those of the container's own group. */
uint64_t gt_memory_of_groups(const char *list, const char *folder)
{
    char line[4096], version_1[4096];
    uint64_t least = 0;
    FILE *file = fopen(list, "re");
    if (!file) return 0;
    snprintf(version_1, sizeof version_1, "%s/memory", folder);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        controllers++;
        if (!*controllers)
            least = smaller(least, limit_of_group(folder, group, "memory.max"));
        else if (strcmp(controllers, "memory") == 0)
            least = smaller(least, limit_of_group(version_1, group, "memory.limit_in_bytes"));
    }
    fclose(file);
    return least;
}

static uint64_t limit_of_groups(void)
{
    return gt_memory_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
}

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

uint64_t gt_memory_limit(void)
{
    return smaller(gt_memory_limit_set(), smaller(machine_memory(), limit_of_groups()));
}

/* ---- the limit in use ---- */

gt_memory_bound gt_memory_bound_find(uint64_t bytes)
{
    if (bytes) return (gt_memory_bound){bytes, "max_memory"};
    struct rlimit data;
    uint64_t of_groups = limit_of_groups(), machine = machine_memory(), of_data = 0;
    if (machine && of_groups > machine) of_groups = 0;
    if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY) of_data = data.rlim_cur;
    uint64_t limit = smaller(of_groups, of_data);
    if (limit && limit < GT_MEMORY_MIN) limit = GT_MEMORY_MIN;
    return (gt_memory_bound){limit / 8 * 7, of_groups && of_groups == smaller(of_groups, of_data)
                                                ? "memory of the control group"
                                                : "ulimit -d"};
}

unsigned gt_memory_threads(gt_memory_bound bound, unsigned threads)
{
    if (!bound.bytes) return threads;
    uint64_t room = bound.bytes / BYTES_PER_THREAD;
    return room < threads ? room ? (unsigned)room : 1 : threads;
}
