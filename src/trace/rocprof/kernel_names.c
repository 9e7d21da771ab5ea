/* Kernel names: from kernel ids to names, and from long names to short ones.
 *
 * Names arrive as a list of (kernel id, name) in file order. Before the first lookup the list is sorted by id
 * and only the last name of each id is kept. Ids that are close together, the usual case, are then found in a
 * table, others by binary search. A hash map could be made slow by the choice of ids; this cannot. */
#include "trace/rocprof/rocprof.h"

typedef struct kernel_name {
    int64_t kernel_id;
    size_t order; /* in the file */
    uint32_t text;
    gt_kernel_use use;
    uint64_t full; /* hash of the full name; 0: unknown */
} kernel_name;

struct gt_kernel_names {
    kernel_name *items;
    size_t count, capacity;
    bool sorted;      /* by id, one entry per id */
    uint32_t *places; /* by id, from the first one on: index + 1, or 0; NULL if the ids are too far apart */
    size_t span;      /* of `places` */
    gt_map uses;      /* from a gt_kernel_use to a number of its own */
    gt_map ids;       /* from (name, number of its use) to the id from gt_kernel_names_add */
};

void gt_kernel_names_free(struct gt_kernel_names *names)
{
    if (!names) return;
    gt_free_all(names->items, names->places);
    gt_map_free(&names->uses);
    gt_map_free(&names->ids);
    gt_free(names);
}

static struct gt_kernel_names *names_of(gt_rocprof *run)
{
    if (!run->kernel_names) run->kernel_names = gt_alloc_zero(1, sizeof *run->kernel_names);
    return run->kernel_names;
}

void gt_kernel_names_set_use(gt_rocprof *run, int64_t kernel_id, uint32_t text, gt_kernel_use use)
{
    struct gt_kernel_names *names = names_of(run);
    names->sorted = false;
    kernel_name name = {.kernel_id = kernel_id, .order = names->count, .text = text, .use = use};
    GT_PUSH(names->items, names->count, names->capacity, name);
}

void gt_kernel_names_set(gt_rocprof *run, int64_t kernel_id, uint32_t text)
{
    gt_kernel_names_set_use(run, kernel_id, text, GT_KERNEL_USE_UNKNOWN);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

/* Four words at a time, which do not wait for each other: names have hundreds of bytes. */
uint64_t gt_kernel_name_hash(gt_str full_name)
{
    enum { LANES = 4 };
    uint64_t lanes[LANES] = {full_name.len + 1, 2, 3, 4}, words[LANES];
    size_t at = 0;
    for (; at + sizeof words <= full_name.len; at += sizeof words) {
        memcpy(words, full_name.bytes + at, sizeof words);
        for (size_t i = 0; i < LANES; i++) lanes[i] = mix(lanes[i], words[i]);
    }
    uint64_t hash = mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3]);
    for (; at < full_name.len; at++) hash = mix(hash, (uint8_t)full_name.bytes[at]);
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

void gt_kernel_names_note(gt_rocprof *run, uint32_t short_name, uint64_t full_name)
{
    *gt_map_put(&run->full_to_short, short_name, full_name) = 0;
    *gt_map_put(&run->short_names, short_name, 0) = 0;
}

/* Of the name that was set last. */
void gt_kernel_names_set_full(gt_rocprof *run, int64_t kernel_id, uint64_t full_name)
{
    struct gt_kernel_names *names = run->kernel_names;
    if (!names || !names->count) return;
    kernel_name *last = &names->items[names->count - 1];
    if (last->kernel_id == kernel_id) last->full = full_name;
}

static uint64_t pair(int32_t a, int32_t b)
{
    return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}

int64_t gt_kernel_names_add(gt_rocprof *run, uint32_t text, gt_kernel_use use)
{
    struct gt_kernel_names *names = names_of(run);
    uint32_t *number =
        gt_map_put(&names->uses, pair(use.vgprs, use.accum_vgprs), pair(use.sgprs, use.lds_bytes));
    if (*number == GT_MAP_NONE) *number = (uint32_t)names->uses.count;
    uint32_t *id = gt_map_put(&names->ids, text, *number);
    if (*id == GT_MAP_NONE) {
        *id = (uint32_t)names->count;
        gt_kernel_names_set_use(run, *id, text, use);
    }
    return *id;
}

GT_ORDER_BY(by_id_then_order, kernel_name, GT_UP(kernel_id) GT_UP(order))

/* A table of ids, unless it would be much larger than the list. */
static void make_places(struct gt_kernel_names *names)
{
    enum { SPREAD = 16, SMALL = 64 * 1024 };
    gt_free(names->places);
    names->places = NULL;
    if (!names->count) return;
    int64_t first = names->items[0].kernel_id;
    uint64_t span = (uint64_t)names->items[names->count - 1].kernel_id - (uint64_t)first;
    if (span >= (uint64_t)names->count * SPREAD + SMALL || names->count >= UINT32_MAX) return;
    names->span = (size_t)span + 1;
    names->places = gt_alloc_zero(names->span, sizeof *names->places);
    for (size_t i = 0; i < names->count; i++)
        names->places[(uint64_t)names->items[i].kernel_id - (uint64_t)first] = (uint32_t)i + 1;
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
    make_places(names);
}

/* The index of an id among the sorted names, or SIZE_MAX. */
static size_t find_place(const struct gt_kernel_names *names, int64_t kernel_id)
{
    if (!names || !names->count || kernel_id < names->items[0].kernel_id) return SIZE_MAX;
    if (names->places) {
        uint64_t at = (uint64_t)kernel_id - (uint64_t)names->items[0].kernel_id;
        return at < names->span && names->places[at] ? names->places[at] - 1 : SIZE_MAX;
    }
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

/* The name of an id, or GT_STR_NONE. */
static uint32_t find_name(const struct gt_kernel_names *names, int64_t kernel_id)
{
    size_t place = find_place(names, kernel_id);
    return place == SIZE_MAX ? GT_STR_NONE : names->items[place].text;
}

/* Dispatches, of which each thread takes a range, some at a time. */
typedef struct dispatch_job {
    const gt_rocprof *run;
    uint8_t *used;   /* of names_in_use: by name */
    uint32_t *texts; /* of gt_rocprof_dispatch_names: by dispatch */
} dispatch_job;

enum { DISPATCH_BATCH = 1024 };

/* The kernel ids of at most DISPATCH_BATCH dispatches of [begin, end). Returns how many they are. */
static size_t read_kernel_ids(const gt_rocprof *run, size_t begin, size_t end, int64_t *ids)
{
    size_t count = end - begin < DISPATCH_BATCH ? end - begin : DISPATCH_BATCH;
    gt_store_read_ints(run->dispatches, GT_DISPATCH_KERNEL_ID, begin, begin + count, ids);
    return count;
}

static void mark_used(void *context, size_t begin, size_t end)
{
    const dispatch_job *job = context;
    int64_t ids[DISPATCH_BATCH];
    for (size_t count; begin < end; begin += count) {
        count = read_kernel_ids(job->run, begin, end, ids);
        for (size_t i = 0; i < count; i++) {
            if (i && ids[i] == ids[i - 1]) continue;
            size_t place = find_place(job->run->kernel_names, ids[i]);
            if (place == SIZE_MAX || __atomic_load_n(&job->used[place], __ATOMIC_RELAXED)) continue;
            __atomic_store_n(&job->used[place], 1, __ATOMIC_RELAXED);
        }
    }
}

/* Of the sorted names. */
static uint8_t *names_in_use(const gt_rocprof *run)
{
    dispatch_job job = {run, gt_alloc_zero(run->kernel_names->count, 1), NULL};
    gt_parallel_ranges(gt_store_count(run->dispatches), GT_ROCPROF_ROWS, mark_used, &job);
    return job.used;
}

_Static_assert(GT_AGENT_COLUMNS < 64, "one bit per column");

/* Copies the agents, which are few, into a store with other strings. */
static void move_agents(gt_rocprof *run, gt_interner *to)
{
    gt_store_cell cells[GT_AGENT_COLUMNS];
    gt_store *moved = gt_store_new(gt_agent_columns, GT_AGENT_COLUMNS, to);
    gt_store_writer *writer = gt_store_writer_new(gt_agent_columns, GT_AGENT_COLUMNS, to);
    gt_store_scan *scan = gt_store_scan_new(run->agents);
    while (gt_store_scan_next(scan, cells)) {
        for (size_t c = 0; c < GT_AGENT_COLUMNS; c++)
            if (gt_agent_columns[c].type == GT_STORE_STRING)
                cells[c].text = gt_interner_add_from(to, run->strings, (uint32_t)cells[c].text);
        gt_store_writer_add(writer, (UINT64_C(1) << GT_AGENT_COLUMNS) - 1, cells);
    }
    gt_store_append(moved, gt_store_writer_take(writer));
    gt_store_scan_free(scan);
    gt_store_writer_free(writer);
    gt_store_free(run->agents);
    run->agents = moved;
}

/* Whether the strings hold more than kernel names: then none of them is removed. */
static bool has_other_strings(const gt_rocprof *run)
{
    return run->stats || (run->samples && gt_store_count(run->samples)) ||
           (run->calls && gt_store_count(run->calls)) || (run->counters && gt_store_count(run->counters));
}

void gt_rocprof_forget_unused_names(gt_rocprof *run)
{
    struct gt_kernel_names *names = run->kernel_names;
    if (!names || has_other_strings(run)) return;
    sort_names(names);
    uint8_t *used = names_in_use(run);
    gt_interner *strings = gt_interner_new();
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (!used[i]) continue;
        names->items[kept] = names->items[i];
        names->items[kept].order = kept;
        names->items[kept].text = gt_interner_add_from(strings, run->strings, names->items[i].text);
        kept++;
    }
    gt_free(used);
    names->count = kept;
    names->capacity = kept ? kept : 1;
    names->items = gt_realloc(names->items, names->capacity * sizeof *names->items);
    make_places(names);
    run->hostname = gt_interner_add_from(strings, run->strings, run->hostname);
    for (size_t i = 0; i < run->process_count; i++) {
        run->process[i].hostname = gt_interner_add_from(strings, run->strings, run->process[i].hostname);
        run->process[i].command = gt_interner_add_from(strings, run->strings, run->process[i].command);
        run->process[i].place = gt_interner_add_from(strings, run->strings, run->process[i].place);
        run->process[i].label = gt_interner_add_from(strings, run->strings, run->process[i].label);
    }
    if (run->agents) move_agents(run, strings);
    gt_interner_free(run->strings);
    run->strings = strings;
    gt_store_use_strings(run->dispatches, strings);
    gt_store_use_strings(run->copies, strings);
    if (run->calls) gt_store_use_strings(run->calls, strings);
    if (run->samples) gt_store_use_strings(run->samples, strings);
    if (run->counters) gt_store_use_strings(run->counters, strings);
}

void gt_kernel_names_note_dispatched(gt_rocprof *run, bool all_were)
{
    struct gt_kernel_names *names = run->kernel_names;
    if (!names) return;
    sort_names(names);
    uint8_t *used = all_were ? NULL : names_in_use(run);
    for (size_t i = 0; i < names->count; i++)
        if ((all_were || used[i]) && names->items[i].full && names->items[i].text != GT_STR_NONE)
            gt_kernel_names_note(run, names->items[i].text, names->items[i].full);
    gt_free(used);
}

static uint32_t unknown_name(gt_interner *strings, int64_t kernel_id)
{
    static const char prefix[] = "unknown_kernel_";
    if (kernel_id == GT_NO_KERNEL_ID) return gt_interner_add_cstr(strings, "unknown_kernel_None");
    char text[sizeof prefix + GT_NUMBER_MAX];
    memcpy(text, prefix, sizeof prefix - 1);
    size_t len = sizeof prefix - 1;
    len += gt_print_int(text + len, kernel_id);
    return gt_interner_add(strings, text, len);
}

uint32_t gt_rocprof_kernel_name(gt_rocprof *run, int64_t kernel_id)
{
    if (run->kernel_names) sort_names(run->kernel_names);
    uint32_t text = kernel_id == GT_NO_KERNEL_ID ? GT_STR_NONE : find_name(run->kernel_names, kernel_id);
    return text == GT_STR_NONE ? unknown_name(run->strings, kernel_id) : text;
}

gt_kernel_use gt_rocprof_kernel_use(gt_rocprof *run, int64_t kernel_id)
{
    if (run->kernel_names) sort_names(run->kernel_names);
    size_t place = find_place(run->kernel_names, kernel_id);
    return place == SIZE_MAX ? GT_KERNEL_USE_UNKNOWN : run->kernel_names->items[place].use;
}

static void find_names(void *context, size_t begin, size_t end)
{
    const dispatch_job *job = context;
    int64_t ids[DISPATCH_BATCH];
    for (size_t count; begin < end; begin += count) {
        count = read_kernel_ids(job->run, begin, end, ids);
        uint32_t *texts = job->texts + begin;
        for (size_t i = 0; i < count; i++)
            texts[i] = i && ids[i] == ids[i - 1]   ? texts[i - 1]
                       : ids[i] == GT_NO_KERNEL_ID ? GT_STR_NONE
                                                   : find_name(job->run->kernel_names, ids[i]);
    }
}

/* Names the dispatches of unknown kernels, from `first` on. */
static void name_unknown(gt_rocprof *run, size_t first, uint32_t *texts)
{
    size_t count = gt_store_count(run->dispatches);
    int64_t id, before = 0;
    uint32_t name = GT_STR_NONE; /* of `before` */
    for (size_t i = first; i < count; i++) {
        if (texts[i] != GT_STR_NONE) continue;
        gt_store_read_ints(run->dispatches, GT_DISPATCH_KERNEL_ID, i, i + 1, &id);
        if (name == GT_STR_NONE || id != before) name = unknown_name(run->strings, id);
        texts[i] = name;
        before = id;
    }
}

/* The known names are looked up on all threads; then the unknown ones are made, which are few in any real
 * run. */
uint32_t *gt_rocprof_dispatch_names(gt_rocprof *run)
{
    size_t count = gt_store_count(run->dispatches), known = 0;
    if (run->kernel_names) sort_names(run->kernel_names);
    uint32_t *texts = gt_alloc(count * sizeof *texts);
    dispatch_job job = {run, NULL, texts};
    gt_parallel_ranges(count, GT_ROCPROF_ROWS, find_names, &job);
    while (known < count && texts[known] != GT_STR_NONE) known++;
    if (known < count) name_unknown(run, known, texts);
    return texts;
}

/* ---- images ---- */

typedef struct image_name {
    int64_t kernel_id;
    uint64_t full;
    uint32_t text;
    int32_t vgprs, accum_vgprs, sgprs, lds_bytes;
    uint32_t unused;
} image_name;

void gt_kernel_names_save(gt_rocprof *run, gt_image *image)
{
    size_t count = run->kernel_names ? run->kernel_names->count : 0;
    if (count) {
        sort_names(run->kernel_names);
        count = run->kernel_names->count;
    }
    image_name *names = gt_alloc_zero(count, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        const kernel_name *name = &run->kernel_names->items[i];
        names[i] = (image_name){.kernel_id = name->kernel_id,
                                .full = name->full,
                                .text = name->text,
                                .vgprs = name->use.vgprs,
                                .accum_vgprs = name->use.accum_vgprs,
                                .sgprs = name->use.sgprs,
                                .lds_bytes = name->use.lds_bytes};
    }
    gt_image_give(image, "kernels", "names", names, count * sizeof *names);
}

bool gt_kernel_names_load(gt_rocprof *run, const gt_image *image)
{
    size_t count = 0;
    const image_name *names = gt_image_get(image, "kernels", "names", sizeof *names, &count);
    if (!names) return false;
    for (size_t i = 0; i < count; i++) {
        bool ascends = !i || names[i - 1].kernel_id < names[i].kernel_id;
        if (!ascends || names[i].text >= gt_interner_count(run->strings)) return false;
        gt_kernel_use use = {names[i].vgprs, names[i].accum_vgprs, names[i].sgprs, names[i].lds_bytes};
        gt_kernel_names_set_use(run, names[i].kernel_id, names[i].text, use);
        gt_kernel_names_set_full(run, names[i].kernel_id, names[i].full);
    }
    return true;
}

/* ---- short names ---- */

static bool is_closing(char c)
{
    return c == ')' || c == '>' || c == ']';
}

static size_t skip_spaces_back(gt_str name, size_t end)
{
    while (end && name.bytes[end - 1] == ' ') end--;
    return end;
}

/* From the index after a closing bracket to the index of its opening one; 0 if it has none. */
static size_t skip_bracket_back(gt_str name, size_t end)
{
    char closing = name.bytes[end - 1];
    char opening = closing == ')' ? '(' : closing == '>' ? '<' : '[';
    size_t depth = 0;
    while (end) {
        char c = name.bytes[--end];
        if (c == closing) depth++;
        if (c == opening && --depth == 0) break;
    }
    return end;
}

gt_str gt_kernel_short_name(gt_str name)
{
    size_t end = skip_spaces_back(name, name.len);
    while (end && is_closing(name.bytes[end - 1])) end = skip_spaces_back(name, skip_bracket_back(name, end));
    size_t begin = end;
    while (begin && name.bytes[begin - 1] != ' ' && name.bytes[begin - 1] != ':') begin--;
    return (gt_str){name.bytes + begin, end - begin};
}

uint32_t gt_kernel_name_of_displayed(gt_interner *strings, gt_str name)
{
    size_t end = skip_spaces_back(name, name.len);
    bool has_arguments = end && is_closing(name.bytes[end - 1]);
    bool has_suffix = end >= 3 && memcmp(name.bytes + end - 3, ".kd", 3) == 0;
    gt_str short_name = gt_kernel_short_name(name);
    if (has_arguments || has_suffix || !short_name.len)
        return gt_interner_add(strings, short_name.bytes, short_name.len);
    char *with_suffix = gt_alloc(short_name.len + 3);
    memcpy(with_suffix, short_name.bytes, short_name.len);
    memcpy(with_suffix + short_name.len, ".kd", 3);
    uint32_t id = gt_interner_add(strings, with_suffix, short_name.len + 3);
    gt_free(with_suffix);
    return id;
}
