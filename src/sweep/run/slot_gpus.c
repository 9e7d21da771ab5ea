/* The GPUs of each slot: divides a list of them, and chooses some for this process. */
#include "run/sensors/sensors.h"
#include "sweep/run/slots.h"

/* The variables that choose GPUs; the numbers of the later ones count only what the first leaves. */
static const char *const VARIABLES[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                        "CUDA_VISIBLE_DEVICES"};

static const char *set_variable(void)
{
    for (size_t i = 0; i < GT_LENGTH(VARIABLES); i++) {
        const char *value = getenv(VARIABLES[i]);
        if (value && *value) return VARIABLES[i];
    }
    return NULL;
}

static const char *all_gpus(gt_arena *arena)
{
    gt_inventory *inventory = gt_inventory_open(arena);
    size_t count = gt_inventory_count(inventory);
    gt_buffer list = {0};
    for (size_t i = 0; i < count; i++) gt_buffer_add_format(&list, "%s%zu", i ? "," : "", i);
    gt_inventory_close(inventory);
    return gt_buffer_move(&list, arena);
}

/* The first `count` elements of a list; *rest is what follows. */
static const char *take_gpus(gt_arena *arena, const char *list, size_t count, const char **rest)
{
    const char *end = list;
    for (size_t i = 0; i < count && *end; i++) {
        end += strcspn(end, ",");
        if (i + 1 < count && *end) end++;
    }
    *rest = *end ? end + 1 : end;
    return gt_arena_bytes(arena, list, (size_t)(end - list));
}

/* Whether `name` is in the list of names, before `end`. */
static bool is_listed(const char *list, const char *end, const char *name, size_t len)
{
    for (const char *at = list; at < end; at += strcspn(at, ",") + 1)
        if (strcspn(at, ",") == len && memcmp(at, name, len) == 0) return true;
    return false;
}

/* The number of GPUs in a list. A GPU that two slots would share, or a name that no GPU has, is an error. */
static bool count_gpus(const char *list, size_t *count, gt_error *error)
{
    *count = 0;
    for (const char *at = list; *list; at++) {
        size_t len = strcspn(at, ",");
        if (!len || strcspn(at, " \t\n") < len)
            return gt_fail(error, "'%.200s' is not a comma-separated list of GPUs", list);
        if (is_listed(list, at, at, len))
            return gt_fail(error, "GPU %.*s is named twice in '%.200s'", (int)len, at, list);
        ++*count;
        at += len;
        if (!*at) break;
    }
    return true;
}

bool gt_slots_divide(size_t slots, const char *given, gt_arena *arena, const char **lists,
                     const char **unused, gt_error *error)
{
    const char *variable = set_variable();
    const char *all = given ? given : variable ? getenv(variable) : all_gpus(arena);
    size_t count;
    for (size_t i = 0; i < slots; i++) lists[i] = "";
    *unused = "";
    if (strcmp(all, "none") == 0) return true;
    if (!count_gpus(all, &count, error)) return false;
    if (count < slots)
        return gt_fail(error, "%zu slots but %zu GPUs; --gpus names them, and --gpus none runs without",
                       slots, count);
    for (size_t i = 0; i < slots; i++) lists[i] = take_gpus(arena, all, count / slots, &all);
    *unused = all;
    return true;
}

void gt_slot_use_gpus(const char *list)
{
    const char *variable = set_variable();
    if (!*list) return;
    if (variable) {
        setenv(variable, list, 1);
        return;
    }
    setenv("HIP_VISIBLE_DEVICES", list, 1);
    setenv("CUDA_VISIBLE_DEVICES", list, 1);
}
