/* A run as an image, and back. What is loaded is checked for what the readers guarantee: string ids
 * and numbers of processes that exist, and values of enums. */
#include "trace/rocprof/rocprof.h"

enum {
    RUN_WANTED,
    RUN_INIT_NS,
    RUN_FINI_NS,
    RUN_PID,
    RUN_HOSTNAME,
    RUN_API_CALLS,
    RUN_PROCESSES,
    RUN_STORES, /* bit i: has stores[i] */
    RUN_RECORDER,
    RUN_NUMBERS
};

enum {
    PROCESS_PID,
    PROCESS_INIT_NS,
    PROCESS_FINI_NS,
    PROCESS_HOSTNAME,
    PROCESS_COMMAND,
    PROCESS_PLACE,
    PROCESS_LABEL,
    PROCESS_NUMBERS
};

/* A column of a store whose values must be less than `limit`, or numbers of processes. */
typedef struct limited_column {
    size_t column;
    int64_t limit; /* OF_PROCESSES: the number of processes */
} limited_column;
enum { OF_PROCESSES = -1, LIMITED_MAX = 3 };

static const struct stored {
    const char *name;
    size_t at; /* in gt_rocprof */
    const gt_store_column *columns;
    size_t (*width)(unsigned wanted);
    size_t column_count; /* if width is NULL */
    size_t limited_count;
    limited_column limited[LIMITED_MAX];
} stores[] = {
    {"dispatches",
     offsetof(gt_rocprof, dispatches),
     gt_dispatch_columns,
     gt_dispatch_width,
     0,
     1,
     {{GT_DISPATCH_PROCESS, OF_PROCESSES}}},
    {"copies",
     offsetof(gt_rocprof, copies),
     gt_copy_columns,
     gt_copy_width,
     0,
     2,
     {{GT_COPY_PROCESS, OF_PROCESSES}, {GT_COPY_DIRECTION, GT_COPY_DIRECTIONS}}},
    {"calls",
     offsetof(gt_rocprof, calls),
     gt_call_columns,
     NULL,
     GT_CALL_COLUMNS,
     2,
     {{GT_CALL_PROCESS, OF_PROCESSES}, {GT_CALL_DOMAIN, GT_CALL_DOMAINS}}},
    {"counters",
     offsetof(gt_rocprof, counters),
     gt_counter_columns,
     NULL,
     GT_COUNTER_COLUMNS,
     1,
     {{GT_COUNTER_PROCESS, OF_PROCESSES}}},
    {"agents",
     offsetof(gt_rocprof, agents),
     gt_agent_columns,
     NULL,
     GT_AGENT_COLUMNS,
     1,
     {{GT_AGENT_PROCESS, OF_PROCESSES}}},
    {"samples",
     offsetof(gt_rocprof, samples),
     gt_sample_columns,
     NULL,
     GT_SAMPLE_COLUMNS,
     1,
     {{GT_SAMPLE_PROCESS, OF_PROCESSES}}},
    {"stats",
     offsetof(gt_rocprof, stats),
     gt_stats_columns,
     NULL,
     GT_STATS_COLUMNS,
     1,
     {{GT_STATS_OF, GT_STATS_OTHER + 1}}},
    {"graphs",
     offsetof(gt_rocprof, graphs),
     gt_graph_columns,
     NULL,
     GT_GRAPH_COLUMNS,
     1,
     {{GT_GRAPH_PROCESS, OF_PROCESSES}}},
    {"messages", offsetof(gt_rocprof, messages), gt_message_columns, NULL, GT_MESSAGE_COLUMNS, 0, {{0, 0}}},
};
enum { RARE_STORES = 3 }; /* the last ones: not every run has them */

static gt_store **store_at(gt_rocprof *run, size_t i)
{
    return (gt_store **)(void *)((char *)run + stores[i].at);
}

static size_t width_of(size_t i, unsigned wanted)
{
    return stores[i].width ? stores[i].width(wanted) : stores[i].column_count;
}

/* ---- saving ---- */

static void save_processes(const gt_rocprof *run, gt_image *image)
{
    int64_t *all = gt_alloc(run->process_count * PROCESS_NUMBERS * sizeof *all);
    for (size_t i = 0; i < run->process_count; i++) {
        const gt_rocprof_process *p = &run->process[i];
        int64_t *numbers = all + i * PROCESS_NUMBERS;
        numbers[PROCESS_PID] = p->pid;
        numbers[PROCESS_INIT_NS] = p->init_ns;
        numbers[PROCESS_FINI_NS] = p->fini_ns;
        numbers[PROCESS_HOSTNAME] = p->hostname;
        numbers[PROCESS_COMMAND] = p->command;
        numbers[PROCESS_PLACE] = p->place;
        numbers[PROCESS_LABEL] = p->label;
    }
    gt_image_give(image, "run", "processes", all, run->process_count * PROCESS_NUMBERS * sizeof *all);
}

static void save_keys(const gt_map *map, gt_image *image, const char *name)
{
    uint64_t *keys = gt_alloc(map->count * 2 * sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; i < map->capacity; i++) {
        if (!map->entries[i].used) continue;
        keys[count++] = map->entries[i].a;
        keys[count++] = map->entries[i].b;
    }
    gt_image_give(image, "names", name, keys, count * sizeof *keys);
}

void gt_rocprof_save(gt_rocprof *run, gt_image *image)
{
    int64_t numbers[RUN_NUMBERS] = {
        [RUN_WANTED] = run->wanted,
        [RUN_INIT_NS] = run->init_ns,
        [RUN_FINI_NS] = run->fini_ns,
        [RUN_PID] = run->pid,
        [RUN_HOSTNAME] = run->hostname,
        [RUN_API_CALLS] = (int64_t)run->api_calls,
        [RUN_PROCESSES] = (int64_t)run->processes,
        [RUN_RECORDER] = run->recorder,
    };
    gt_kernel_names_save(run, image);
    gt_strings_save(run->strings, image);
    for (size_t i = 0; i < GT_LENGTH(stores); i++) {
        gt_store *store = *store_at(run, i);
        if (!store) continue;
        numbers[RUN_STORES] |= INT64_C(1) << i;
        gt_store_save(store, image, stores[i].name);
    }
    gt_image_add_numbers(image, "run", "numbers", numbers, RUN_NUMBERS);
    save_processes(run, image);
    save_keys(&run->full_to_short, image, "full_to_short");
    save_keys(&run->short_names, image, "short_names");
}

/* ---- loading ---- */

static bool load_string(const gt_rocprof *run, int64_t number, uint32_t *id)
{
    *id = (uint32_t)number;
    return number >= 0 && number < gt_interner_count(run->strings);
}

static bool load_processes(gt_rocprof *run, const gt_image *image)
{
    size_t count = 0;
    const int64_t *all = gt_image_get(image, "run", "processes", PROCESS_NUMBERS * sizeof *all, &count);
    if (!all) return false;
    for (size_t i = 0; i < count; i++) {
        const int64_t *numbers = all + i * PROCESS_NUMBERS;
        gt_rocprof_process p = {.pid = numbers[PROCESS_PID],
                                .init_ns = numbers[PROCESS_INIT_NS],
                                .fini_ns = numbers[PROCESS_FINI_NS]};
        if (!load_string(run, numbers[PROCESS_HOSTNAME], &p.hostname) ||
            !load_string(run, numbers[PROCESS_COMMAND], &p.command) ||
            !load_string(run, numbers[PROCESS_PLACE], &p.place) ||
            !load_string(run, numbers[PROCESS_LABEL], &p.label))
            return false;
        gt_rocprof_add_process(run, p);
    }
    return true;
}

static bool load_keys(gt_map *map, const gt_image *image, const char *name)
{
    size_t count = 0;
    const uint64_t *keys = gt_image_get(image, "names", name, 2 * sizeof *keys, &count);
    for (size_t i = 0; keys && i < count; i++) *gt_map_put(map, keys[2 * i], keys[2 * i + 1]) = 0;
    return keys != NULL;
}

/* Whether the columns that are indexes have only values that exist. */
static bool is_limited(const gt_rocprof *run, const gt_store *store, const struct stored *of, size_t width)
{
    int64_t processes = run->process_count ? (int64_t)run->process_count : 1;
    for (size_t i = 0; i < of->limited_count; i++) {
        limited_column limited = of->limited[i];
        int64_t limit = limited.limit == OF_PROCESSES ? processes : limited.limit;
        if (limited.column < width && !gt_store_ints_between(store, limited.column, 0, limit - 1))
            return false;
    }
    return true;
}

static bool load_stores(gt_rocprof *run, const gt_image *image, int64_t which)
{
    for (size_t i = 0; i < GT_LENGTH(stores); i++) {
        size_t width = width_of(i, run->wanted);
        gt_store **place = store_at(run, i);
        gt_store_free(*place); /* the empty one of a new run */
        *place = NULL;
        if (!(which >> i & 1)) continue;
        *place = gt_store_load(image, stores[i].name, stores[i].columns, width, run->strings, NULL);
        if (!*place || !is_limited(run, *place, &stores[i], width)) return false;
    }
    return run->dispatches && run->copies;
}

/* The stores that a run has follow from what was wanted, except the rare ones. */
static bool are_wanted(const gt_rocprof *run, int64_t which)
{
    gt_rocprof *usual = gt_rocprof_new_wanted(run->wanted);
    bool same = which >= 0 && which < INT64_C(1) << GT_LENGTH(stores);
    for (size_t i = 0; i < GT_LENGTH(stores) - RARE_STORES; i++)
        same = same && (*store_at(usual, i) != NULL) == (which >> i & 1);
    gt_rocprof_free(usual);
    return same;
}

gt_rocprof *gt_rocprof_load(const gt_image *image)
{
    const int64_t *numbers = gt_image_get_all(image, "run", "numbers", sizeof *numbers, RUN_NUMBERS);
    if (!numbers || numbers[RUN_WANTED] < 0 || numbers[RUN_WANTED] > GT_WANT_ALL) return NULL;
    if (numbers[RUN_RECORDER] < 0 || numbers[RUN_RECORDER] >= GT_RECORDERS) return NULL;
    gt_rocprof *run = gt_rocprof_new_wanted((unsigned)numbers[RUN_WANTED]);
    gt_interner *strings = gt_strings_load(image);
    bool sound = strings && are_wanted(run, numbers[RUN_STORES]);
    if (sound) {
        gt_interner_free(run->strings);
        run->strings = strings;
        strings = NULL;
        run->recorder = (gt_recorder)numbers[RUN_RECORDER];
        run->init_ns = numbers[RUN_INIT_NS];
        run->fini_ns = numbers[RUN_FINI_NS];
        run->pid = numbers[RUN_PID];
        run->api_calls = (uint64_t)numbers[RUN_API_CALLS];
        run->processes = (size_t)numbers[RUN_PROCESSES];
        sound = load_string(run, numbers[RUN_HOSTNAME], &run->hostname) && load_processes(run, image) &&
                load_stores(run, image, numbers[RUN_STORES]) && gt_kernel_names_load(run, image) &&
                load_keys(&run->full_to_short, image, "full_to_short") &&
                load_keys(&run->short_names, image, "short_names");
    }
    gt_interner_free(strings);
    if (sound) return run;
    gt_rocprof_free(run);
    return NULL;
}
