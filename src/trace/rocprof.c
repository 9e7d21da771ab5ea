/* A rocprofv3 run: which name each dispatch has, and how long it took.
 *
 * Names come as a list of (kernel id, name) in file order. Before use the list is sorted by id and only the
 * last name of each id is kept; ids that lie close together, as they do in practice, are then looked up by
 * subtraction, others by binary search. No choice of ids makes this slow, as it could a hash map. */
#include "trace/rocprof.h"

#include "base/memory.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

const gt_store_column gt_dispatch_columns[GT_DISPATCH_COLUMNS] = {
    [GT_DISPATCH_KERNEL_ID] = {GT_STORE_INT, GT_NO_KERNEL_ID},
    [GT_DISPATCH_START] = {GT_STORE_INT, 0},
    [GT_DISPATCH_END] = {GT_STORE_INT, 0},
    [GT_DISPATCH_STREAM] = {GT_STORE_INT, 0},
    [GT_DISPATCH_ID] = {GT_STORE_INT, 0},
    [GT_DISPATCH_GRID_X] = {GT_STORE_INT, 1},
    [GT_DISPATCH_GRID_Y] = {GT_STORE_INT, 1},
    [GT_DISPATCH_GRID_Z] = {GT_STORE_INT, 1},
    [GT_DISPATCH_BLOCK_X] = {GT_STORE_INT, 1},
    [GT_DISPATCH_BLOCK_Y] = {GT_STORE_INT, 1},
    [GT_DISPATCH_BLOCK_Z] = {GT_STORE_INT, 1},
    [GT_DISPATCH_AGENT] = {GT_STORE_INT, 0},
    [GT_DISPATCH_THREAD] = {GT_STORE_INT, 0},
};

const gt_store_column gt_copy_columns[GT_COPY_COLUMNS] = {
    [GT_COPY_START] = {GT_STORE_INT, 0},
    [GT_COPY_END] = {GT_STORE_INT, 0},
};

gt_rocprof *gt_rocprof_new(void)
{
    gt_rocprof *run = gt_alloc_zero(1, sizeof *run);
    run->strings = gt_strings_new();
    run->dispatches = gt_store_new(gt_dispatch_columns, GT_DISPATCH_COLUMNS, run->strings);
    run->copies = gt_store_new(gt_copy_columns, GT_COPY_COLUMNS, run->strings);
    run->hostname = gt_strings_add_cstr(run->strings, "unknown");
    run->processes = 1;
    return run;
}

typedef struct kernel_name {
    int64_t kernel_id;
    size_t order; /* in the file */
    uint32_t text;
} kernel_name;

struct gt_kernel_names {
    kernel_name *items;
    size_t count, capacity;
    bool sorted; /* by id, one entry an id */
};

void gt_kernel_names_set(gt_rocprof *run, int64_t kernel_id, uint32_t text)
{
    if (!run->kernel_names) run->kernel_names = gt_alloc_zero(1, sizeof *run->kernel_names);
    struct gt_kernel_names *names = run->kernel_names;
    names->sorted = false;
    kernel_name name = {.kernel_id = kernel_id, .order = names->count, .text = text};
    GT_PUSH(names->items, names->count, names->capacity, name);
}

static int by_id_then_order(const void *a, const void *b)
{
    const kernel_name *x = a, *y = b;
    if (x->kernel_id != y->kernel_id) return x->kernel_id < y->kernel_id ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_names(struct gt_kernel_names *names)
{
    if (names->sorted) return;
    size_t ascending = 1;
    while (ascending < names->count &&
           by_id_then_order(&names->items[ascending - 1], &names->items[ascending]) < 0)
        ascending++;
    if (ascending < names->count) qsort(names->items, names->count, sizeof *names->items, by_id_then_order);

    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (kept && names->items[kept - 1].kernel_id == names->items[i].kernel_id) kept--;
        names->items[kept] = names->items[i];
        names->items[kept].order = kept; /* names set later come after all of these */
        kept++;
    }
    names->count = kept;
    names->sorted = true;
}

/* The place of an id among the names, or SIZE_MAX. Where the ids have no gaps, the first guess hits. */
static size_t find_place(const struct gt_kernel_names *names, int64_t kernel_id)
{
    if (!names || !names->count || kernel_id < names->items[0].kernel_id) return SIZE_MAX;
    uint64_t guess = (uint64_t)kernel_id - (uint64_t)names->items[0].kernel_id;
    if (guess < names->count && names->items[guess].kernel_id == kernel_id) return (size_t)guess;

    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names->items[middle].kernel_id < kernel_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < names->count && names->items[low].kernel_id == kernel_id ? low : SIZE_MAX;
}

/* The name of an id, or GT_TEXT_NONE. */
static uint32_t find_name(const struct gt_kernel_names *names, int64_t kernel_id)
{
    size_t place = find_place(names, kernel_id);
    return place == SIZE_MAX ? GT_TEXT_NONE : names->items[place].text;
}

static uint8_t *names_in_use(const gt_rocprof *run)
{
    size_t count = gt_store_count(run->dispatches);
    int64_t *kernel_ids = gt_store_ints(run->dispatches, GT_DISPATCH_KERNEL_ID);
    uint8_t *used = gt_alloc_zero(run->kernel_names->count, 1);
    for (size_t i = 0; i < count; i++) {
        size_t place = find_place(run->kernel_names, kernel_ids[i]);
        if (place != SIZE_MAX) used[place] = 1;
    }
    free(kernel_ids);
    return used;
}

static uint32_t move_text(gt_strings *to, const gt_strings *from, uint32_t id)
{
    gt_text text = gt_strings_get(from, id);
    return id == GT_TEXT_NONE ? GT_TEXT_NONE : gt_strings_add(to, text.bytes, text.len);
}

void gt_rocprof_forget_unused_names(gt_rocprof *run)
{
    struct gt_kernel_names *names = run->kernel_names;
    if (!names) return;
    sort_names(names);
    uint8_t *used = names_in_use(run);
    gt_strings *strings = gt_strings_new();
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (!used[i]) continue;
        names->items[kept] = names->items[i];
        names->items[kept].order = kept;
        names->items[kept].text = move_text(strings, run->strings, names->items[i].text);
        kept++;
    }
    free(used);
    names->count = kept;
    names->capacity = kept ? kept : 1;
    names->items = gt_realloc(names->items, names->capacity * sizeof *names->items);
    run->hostname = move_text(strings, run->strings, run->hostname);
    gt_strings_free(run->strings);
    run->strings = strings;
    gt_store_use_strings(run->dispatches, strings);
    gt_store_use_strings(run->copies, strings);
    gt_memory_trim();
}

static uint32_t unknown_name(gt_strings *strings, int64_t kernel_id)
{
    static const char prefix[] = "unknown_kernel_";
    if (kernel_id == GT_NO_KERNEL_ID) return gt_strings_add_cstr(strings, "unknown_kernel_None");
    char text[sizeof prefix + GT_NUMBER_MAX];
    memcpy(text, prefix, sizeof prefix - 1);
    size_t len = sizeof prefix - 1;
    len += gt_print_int(text + len, kernel_id);
    return gt_strings_add(strings, text, len);
}

uint32_t *gt_rocprof_dispatch_names(gt_rocprof *run)
{
    size_t count = gt_store_count(run->dispatches);
    uint32_t *texts = gt_alloc(count * sizeof *texts);
    int64_t *kernel_ids = gt_store_ints(run->dispatches, GT_DISPATCH_KERNEL_ID);
    if (run->kernel_names) sort_names(run->kernel_names);
    for (size_t i = 0; i < count; i++) {
        if (i && kernel_ids[i] == kernel_ids[i - 1]) {
            texts[i] = texts[i - 1];
            continue;
        }
        texts[i] =
            kernel_ids[i] == GT_NO_KERNEL_ID ? GT_TEXT_NONE : find_name(run->kernel_names, kernel_ids[i]);
        if (texts[i] == GT_TEXT_NONE) texts[i] = unknown_name(run->strings, kernel_ids[i]);
    }
    free(kernel_ids);
    return texts;
}

/* Turns ends into durations in place; returns the first dispatch where that fails, or `count`. */
static size_t subtract_starts(const int64_t *starts, int64_t *ends, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t duration;
        if (__builtin_sub_overflow(ends[i], starts[i], &duration)) return i;
        uint64_t size = duration < 0 ? 0 - (uint64_t)duration : (uint64_t)duration;
        if (size > INT64_MAX - total) return i;
        total += size;
        ends[i] = duration;
    }
    return count;
}

int64_t *gt_rocprof_dispatch_durations(const gt_rocprof *run, gt_error *error)
{
    size_t count = gt_store_count(run->dispatches);
    int64_t *starts = gt_store_ints(run->dispatches, GT_DISPATCH_START);
    int64_t *durations = gt_store_ints(run->dispatches, GT_DISPATCH_END);
    size_t bad = subtract_starts(starts, durations, count);
    if (bad < count) {
        gt_fail(error,
                "kernel dispatch %zu: its time from %lld to %lld ns brings the kernel time beyond 292 years",
                bad + 1, (long long)starts[bad], (long long)durations[bad]);
        free(durations);
        durations = NULL;
    }
    free(starts);
    return durations;
}

void gt_rocprof_free(gt_rocprof *run)
{
    if (!run) return;
    gt_store_free(run->dispatches);
    gt_store_free(run->copies);
    if (run->kernel_names) free(run->kernel_names->items);
    free(run->kernel_names);
    gt_strings_free(run->strings);
    free(run);
}
