/* Joins the passes of counter collection.
 *
 * rocprofv3 collects only as many counters at a time as the hardware has registers for. With more counters it
 * runs the program once per pass, and each pass writes its files into a folder of its own:
 *
 *     pass_1/node/4711_counter_collection.csv     pass_2/node/4802_counter_collection.csv
 *     pass_1/node/4712_counter_collection.csv     pass_2/node/4803_counter_collection.csv
 *
 * A dispatch is identified by its process and its dispatch id, which counts from 1 in every process. Neither
 * says which dispatch of pass 1 is which of pass 2: all processes are new ones, with other ids. So the
 * processes of a pass are matched with those of the run first, by what stays the same when a program runs
 * again: the folder without the pass, the prefix of the file names, the host, the GPUs that the process used
 * and the kernels that it ran. Then a dispatch id means the same in both, unless the kernels ran in another
 * order or have other ids, because more or fewer kernels that are not counted ran before them: then the n-th
 * dispatch of a kernel is matched with the n-th of that kernel.
 *
 * The number of a GPU in JSON files has an offset that is another one in each process, so GPUs are compared
 * by their logical node ids. */
#include "input/rocprof/readers.h"
#include "base/raise.h"
#include "os/paths.h"

enum { NOT_MATCHED = -1 };

/* ---- what is known about the dispatches of a run ---- */

typedef struct fact {
    int64_t process, dispatch, agent;
    uint32_t name; /* string id of the joined run */
    bool counted;  /* the dispatch has counters */
} fact;

typedef struct facts {
    fact *items; /* sorted by process and dispatch, each dispatch once */
    size_t count, capacity;
    gt_map places;        /* (process, dispatch) to its place in items */
    size_t *first;        /* by process, and one more: its first item */
    size_t *counted;      /* by process: its items with counters */
    size_t process_count; /* processes of the run */
} facts;

static uint32_t own_string(gt_interner *strings, gt_rocprof *run, uint32_t id)
{
    if (run->strings == strings || id == GT_STR_NONE) return id;
    gt_str text = gt_interner_get(run->strings, id);
    return gt_interner_add(strings, text.bytes, text.len);
}

/* Adds a dispatch, unless it is known. `names` remembers the string ids of kernels. */
static void add_fact(facts *f, gt_rocprof *run, gt_interner *strings, gt_map *names, fact next,
                     int64_t kernel_id)
{
    if (next.process < 0 || (size_t)next.process >= f->process_count) return;
    uint32_t *place = gt_map_put(&f->places, (uint64_t)next.process, (uint64_t)next.dispatch);
    if (*place != GT_MAP_NONE) return;
    *place = (uint32_t)f->count;
    uint32_t *name = gt_map_put(names, (uint64_t)kernel_id, 0);
    if (*name == GT_MAP_NONE) *name = own_string(strings, run, gt_rocprof_kernel_name(run, kernel_id));
    next.name = *name;
    GT_PUSH(f->items, f->count, f->capacity, next);
}

/* The columns of a store that tell dispatches apart. */
typedef struct fact_columns {
    size_t process, dispatch, agent, kernel;
} fact_columns;

/* Adds the dispatches that a store mentions. `counted`: it is that of the counters. */
static void add_facts(facts *f, gt_rocprof *run, gt_interner *strings, gt_map *names, const gt_store *store,
                      const fact_columns *columns, bool counted)
{
    size_t count = gt_store_count(store);
    int64_t *processes = gt_store_ints(store, columns->process);
    int64_t *dispatches = gt_store_ints(store, columns->dispatch);
    int64_t *agents = gt_store_ints(store, columns->agent);
    int64_t *kernels = gt_store_ints(store, columns->kernel);
    for (size_t i = 0; i < count; i++) {
        fact next = {processes[i], dispatches[i], agents[i], GT_STR_NONE, counted};
        add_fact(f, run, strings, names, next, kernels[i]);
    }
    gt_free_all(processes, dispatches, agents, kernels);
}

static const fact_columns counter_facts = {GT_COUNTER_PROCESS, GT_COUNTER_DISPATCH, GT_COUNTER_AGENT,
                                           GT_COUNTER_KERNEL_ID};
static const fact_columns dispatch_facts = {GT_DISPATCH_PROCESS, GT_DISPATCH_ID, GT_DISPATCH_AGENT,
                                            GT_DISPATCH_KERNEL_ID};

GT_ORDER_BY(by_dispatch, fact, GT_UP(process) GT_UP(dispatch))

static void index_facts(facts *f)
{
    if (f->count) qsort(f->items, f->count, sizeof *f->items, by_dispatch);
    f->first = gt_alloc_zero(f->process_count + 1, sizeof *f->first);
    f->counted = gt_alloc_zero(f->process_count + 1, sizeof *f->counted);
    for (size_t i = 0; i < f->count; i++) {
        fact *item = &f->items[i];
        f->first[item->process + 1] = i + 1;
        f->counted[item->process] += item->counted;
        *gt_map_put(&f->places, (uint64_t)item->process, (uint64_t)item->dispatch) = (uint32_t)i;
    }
    for (size_t p = 0; p < f->process_count; p++)
        if (f->first[p + 1] < f->first[p]) f->first[p + 1] = f->first[p];
}

/* The logical node ids of the GPUs replace the numbers that the process uses for them. */
static void use_node_ids(facts *f, const gt_rocprof *run)
{
    size_t count = run->agents ? gt_store_count(run->agents) : 0;
    gt_map agents = {0};
    int64_t *processes = count ? gt_store_ints(run->agents, GT_AGENT_PROCESS) : NULL;
    int64_t *ids = count ? gt_store_ints(run->agents, GT_AGENT_ID) : NULL;
    int64_t *nodes = count ? gt_store_ints(run->agents, GT_AGENT_LOGICAL_NODE_ID) : NULL;
    for (size_t i = 0; i < count; i++)
        if (nodes[i] != GT_AGENT_ABSENT)
            *gt_map_put(&agents, (uint64_t)processes[i], (uint64_t)ids[i]) = (uint32_t)i;
    for (size_t i = 0; i < f->count && agents.count; i++) {
        fact *item = &f->items[i];
        uint32_t row = gt_map_get(&agents, (uint64_t)item->process, (uint64_t)item->agent);
        if (row != GT_MAP_NONE) item->agent = nodes[row];
    }
    gt_free_all(processes, ids, nodes);
    gt_map_free(&agents);
}

/* `dispatches`: also those without counters. */
static facts facts_of(gt_rocprof *run, gt_interner *strings, bool dispatches)
{
    facts f = {.process_count = run->process_count};
    gt_map names = {0};
    add_facts(&f, run, strings, &names, run->counters, &counter_facts, true);
    if (dispatches && gt_dispatch_width(run->wanted) > GT_DISPATCH_PROCESS)
        add_facts(&f, run, strings, &names, run->dispatches, &dispatch_facts, false);
    gt_map_free(&names);
    index_facts(&f);
    use_node_ids(&f, run);
    return f;
}

static void free_facts(facts *f)
{
    gt_free_all(f->items, f->first, f->counted);
    gt_map_free(&f->places);
}

/* Whether an item counts when processes are compared: all of a process without counters, else those with. */
static bool is_compared(const facts *f, const fact *item)
{
    return item->counted || !f->counted[item->process];
}

/* ---- matching of processes ---- */

/* What can be compared. */
enum { PLACE = 1, LABEL = 2, HOST = 4, GPUS = 8, KERNELS = 16, PID = 32, NAMES = 64 };
enum { TRAITS = 7 };

/* Which traits must be equal, the most certain first. Where a process is does not identify it: other GPUs and
 * other kernels are another process. But the user's prefix of its files does (`is_labelled`), and a process
 * whose counted kernels are not known can only be found by its place (`is_uncounted`). */
typedef struct tier_rule {
    unsigned traits;
    bool is_labelled, is_uncounted;
} tier_rule;

static const tier_rule tiers[] = {
    {PLACE | LABEL | HOST | GPUS | KERNELS | PID, false, false},
    {PLACE | LABEL | HOST | GPUS | KERNELS, false, false},
    {PLACE | LABEL | HOST | GPUS | NAMES, false, false},
    {PLACE | LABEL | HOST | GPUS, false, false},
    {PLACE | LABEL | HOST | KERNELS, false, false},
    {PLACE | LABEL | HOST | NAMES, false, false},
    {PLACE | HOST | GPUS | KERNELS, false, false},
    {PLACE | HOST | GPUS | NAMES, false, false},
    {PLACE | HOST | GPUS, false, false},
    {PLACE | HOST | KERNELS, false, false},
    {PLACE | HOST | NAMES, false, false},
    {PLACE | LABEL | HOST, true, false},
    {PLACE | HOST, false, true},
    {GPUS | KERNELS, false, false},
    {KERNELS, false, false},
};

typedef struct traits {
    uint64_t hash[TRAITS]; /* by bit of the trait */
} traits;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* A hash of the set of GPUs that a process used. */
static uint64_t hash_gpus(const facts *f, size_t process)
{
    size_t first = f->first[process], end = f->first[process + 1], count = 0;
    int64_t *agents = gt_alloc((end - first + 1) * sizeof *agents);
    uint64_t hash = 1;
    for (size_t i = first; i < end; i++)
        if (is_compared(f, &f->items[i])) agents[count++] = f->items[i].agent;
    if (count) qsort(agents, count, sizeof *agents, gt_by_i64);
    for (size_t i = 0; i < count; i++)
        if (!i || agents[i] != agents[i - 1]) hash = mix(hash, (uint64_t)agents[i]);
    gt_free(agents);
    return hash;
}

static uint64_t hash_kernels(const facts *f, size_t process)
{
    uint64_t hash = 2;
    for (size_t i = f->first[process]; i < f->first[process + 1]; i++) {
        const fact *item = &f->items[i];
        if (is_compared(f, item)) hash = mix(mix(hash, (uint64_t)item->dispatch), item->name);
    }
    return hash;
}

/* The same for any order and any dispatch ids. */
static uint64_t hash_names(const facts *f, size_t process)
{
    uint64_t hash = 3;
    for (size_t i = f->first[process]; i < f->first[process + 1]; i++)
        if (is_compared(f, &f->items[i])) hash += mix(3, f->items[i].name);
    return hash;
}

/* The host that the files say; GT_STR_NONE if it is just the name of their folder, which is a trait already.
 */
static uint32_t host_of(gt_rocprof *run, const gt_rocprof_process *process)
{
    if (process->hostname == GT_STR_NONE || process->place == GT_STR_NONE) return process->hostname;
    const char *folder = gt_path_name(gt_interner_get(run->strings, process->place).bytes);
    return gt_str_equals(gt_interner_get(run->strings, process->hostname), folder) ? GT_STR_NONE
                                                                                   : process->hostname;
}

/* The caller frees them. */
static traits *traits_of(const facts *f, gt_rocprof *run, gt_interner *strings)
{
    traits *all = gt_alloc_zero(f->process_count + 1, sizeof *all);
    for (size_t i = 0; i < f->process_count; i++) {
        const gt_rocprof_process *process = &run->process[i];
        all[i] = (traits){{own_string(strings, run, process->place), own_string(strings, run, process->label),
                           own_string(strings, run, host_of(run, process)), hash_gpus(f, i),
                           hash_kernels(f, i), (uint64_t)process->pid, hash_names(f, i)}};
    }
    return all;
}

static uint64_t key_of(const traits *of, unsigned tier)
{
    uint64_t key = tier;
    for (unsigned t = 0; t < TRAITS; t++)
        if (tier >> t & 1) key = mix(key, of->hash[t]);
    return key;
}

struct gt_rocprof_passes {
    gt_rocprof *run;
    facts facts; /* of the first pass, and of processes that only later passes have: these come after those of
                    the run */
    traits *traits;
};

typedef struct matching {
    const facts *run, *pass;
    const traits *run_traits, *pass_traits;
    int64_t *process_of; /* by process of the pass: the process of the run, or NOT_MATCHED */
    bool *taken;         /* by process of the run */
    size_t unsure;       /* matched in order of the processes only */
    size_t matched, counted;
} matching;

/* The processes with equal traits. */
typedef struct alike {
    size_t of_run, of_pass; /* how many there are */
    size_t next;            /* of the run that is not taken, or SIZE_MAX; `after` links to the next one */
} alike;

/* Whether a process of the run can be matched in this tier. */
static bool may_match(const matching *m, const tier_rule *by, size_t process)
{
    bool is_labelled = m->run_traits[process].hash[1] != GT_STR_NONE;
    return (!by->is_labelled || is_labelled) && (!by->is_uncounted || !m->run->counted[process]);
}

/* Matches processes that are alike in the traits of a tier. If several are, they are matched in the order of
 * the files, which is that of their process ids; such a match is not sure. */
static void match_tier(matching *m, const tier_rule *by)
{
    unsigned tier = by->traits;
    size_t runs = m->run->process_count, passes = m->pass->process_count, count = 0, capacity = 0;
    gt_map keys = {0};
    alike *groups = NULL;
    size_t *after = gt_alloc((runs + 1) * sizeof *after);
    for (size_t i = runs; i-- > 0;) {
        uint32_t *place = gt_map_put(&keys, key_of(&m->run_traits[i], tier), tier);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)count;
            GT_PUSH(groups, count, capacity, ((alike){0, 0, SIZE_MAX}));
        }
        alike *group = &groups[*place];
        group->of_run++;
        if (m->taken[i] || !may_match(m, by, i)) continue;
        after[i] = group->next;
        group->next = i;
    }
    for (size_t i = 0; i < passes && keys.count; i++) {
        uint32_t place = gt_map_get(&keys, key_of(&m->pass_traits[i], tier), tier);
        if (place != GT_MAP_NONE && m->pass->counted[i]) groups[place].of_pass++;
    }
    for (size_t i = 0; i < passes && keys.count; i++) {
        if (!m->pass->counted[i] || m->process_of[i] != NOT_MATCHED) continue;
        uint32_t place = gt_map_get(&keys, key_of(&m->pass_traits[i], tier), tier);
        if (place == GT_MAP_NONE || groups[place].next == SIZE_MAX) continue;
        alike *group = &groups[place];
        m->process_of[i] = (int64_t)group->next;
        m->taken[group->next] = true;
        m->matched++;
        if (group->of_run > 1 || group->of_pass > 1) m->unsure++;
        group->next = after[group->next];
    }
    gt_map_free(&keys);
    gt_free_all(groups, after);
}

/* Process ids help only if the processes of the pass have ids of the run, as in containers. If just some of
 * them do, that is chance. */
static bool has_same_pids(const matching *m)
{
    static const unsigned where = PLACE | LABEL | HOST | PID;
    gt_map keys = {0};
    bool same = true;
    for (size_t i = 0; i < m->run->process_count; i++)
        *gt_map_put(&keys, key_of(&m->run_traits[i], where), 0) = 0;
    for (size_t i = 0; same && i < m->pass->process_count; i++)
        same = !m->pass->counted[i] ||
               (keys.count && gt_map_get(&keys, key_of(&m->pass_traits[i], where), 0) != GT_MAP_NONE);
    gt_map_free(&keys);
    return same;
}

static void match_processes(matching *m)
{
    for (size_t i = 0; i < m->pass->process_count; i++) {
        m->process_of[i] = NOT_MATCHED;
        m->counted += m->pass->counted[i] > 0;
    }
    size_t first = has_same_pids(m) ? 0 : 1; /* only the first tier has the process ids */
    for (size_t t = first; t < GT_LENGTH(tiers) && m->matched < m->counted; t++) match_tier(m, &tiers[t]);
}

/* ---- matching of dispatches ---- */

/* Whether a dispatch id means another kernel in the pass than in the run. */
static bool has_other_order(const matching *m, size_t process)
{
    for (size_t i = m->pass->first[process]; i < m->pass->first[process + 1]; i++) {
        const fact *item = &m->pass->items[i];
        uint32_t place =
            gt_map_get(&m->run->places, (uint64_t)m->process_of[process], (uint64_t)item->dispatch);
        if (place != GT_MAP_NONE && m->run->items[place].name != item->name) return true;
    }
    return false;
}

/* Whether dispatches of a kernel have other ids in the pass than in the run: some that only the pass has, and
 * some that only the run has. Kernels that are not counted and not traced cause that, if their number or
 * place differs. If only one of both has more dispatches, the ids mean the same. */
static bool has_other_ids(const matching *m, size_t process)
{
    typedef struct use {
        size_t of_run, of_pass, of_both;
    } use;
    int64_t of = m->process_of[process];
    gt_map names = {0};
    use *uses = NULL;
    size_t count = 0, capacity = 0;
    bool other = false;
    for (size_t i = m->run->first[of]; i < m->run->first[of + 1]; i++) {
        const fact *item = &m->run->items[i];
        if (!is_compared(m->run, item)) continue;
        uint32_t *place = gt_map_put(&names, item->name, 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)count;
            GT_PUSH(uses, count, capacity, ((use){0, 0, 0}));
        }
        uses[*place].of_run++;
    }
    for (size_t i = m->pass->first[process]; count && i < m->pass->first[process + 1]; i++) {
        const fact *item = &m->pass->items[i];
        uint32_t place = gt_map_get(&names, item->name, 0);
        if (place == GT_MAP_NONE) continue;
        uint32_t same = gt_map_get(&m->run->places, (uint64_t)of, (uint64_t)item->dispatch);
        uses[place].of_pass++;
        uses[place].of_both += same != GT_MAP_NONE && is_compared(m->run, &m->run->items[same]);
    }
    for (size_t i = 0; i < count; i++)
        other = other || (uses[i].of_both < uses[i].of_pass && uses[i].of_both < uses[i].of_run);
    gt_map_free(&names);
    gt_free(uses);
    return other;
}

/* The dispatches of a process by kernel name: the n-th of each name. `seen` counts per name. */
static uint64_t nth_of_name(gt_map *seen, uint32_t name)
{
    uint32_t *count = gt_map_put(seen, name, 0);
    *count = *count == GT_MAP_NONE ? 0 : *count + 1;
    return *count;
}

/* Sets the ids of the run for the dispatches of a process of the pass, `ids` by place in the pass: the n-th
 * dispatch of a kernel is that of the run. Dispatches that the run does not have get new ids. */
static void match_by_name(const matching *m, size_t process, int64_t *ids)
{
    int64_t of = m->process_of[process], last = 0;
    gt_map seen = {0}, nth = {0};
    for (size_t i = m->run->first[of]; i < m->run->first[of + 1]; i++) {
        const fact *item = &m->run->items[i];
        last = item->dispatch > last ? item->dispatch : last;
        if (is_compared(m->run, item))
            *gt_map_put(&nth, item->name, nth_of_name(&seen, item->name)) = (uint32_t)i;
    }
    gt_map_free(&seen);
    for (size_t i = m->pass->first[process]; i < m->pass->first[process + 1]; i++) {
        uint32_t name = m->pass->items[i].name;
        uint64_t number = nth_of_name(&seen, name);
        uint32_t place = nth.count ? gt_map_get(&nth, name, number) : GT_MAP_NONE;
        if (place != GT_MAP_NONE)
            ids[i] = m->run->items[place].dispatch;
        else if (last < INT64_MAX)
            ids[i] = ++last;
    }
    gt_map_free(&seen);
    gt_map_free(&nth);
}

/* The ids of the run for all dispatches of the pass; the caller frees them. */
static int64_t *match_dispatches(const matching *m, size_t *reordered, size_t *renumbered)
{
    int64_t *ids = gt_alloc((m->pass->count + 1) * sizeof *ids);
    for (size_t i = 0; i < m->pass->count; i++) ids[i] = m->pass->items[i].dispatch;
    for (size_t p = 0; p < m->pass->process_count; p++) {
        if (m->process_of[p] == NOT_MATCHED) continue;
        bool other_order = has_other_order(m, p);
        if (!other_order && !has_other_ids(m, p)) continue;
        match_by_name(m, p, ids);
        *(other_order ? reordered : renumbered) += 1;
    }
    return ids;
}

/* ---- joining ---- */

gt_rocprof_passes *gt_rocprof_passes_new(gt_rocprof *run)
{
    gt_rocprof_passes *passes = gt_alloc_zero(1, sizeof *passes);
    passes->run = run;
    passes->facts = facts_of(run, run->strings, true);
    passes->traits = traits_of(&passes->facts, run, run->strings);
    return passes;
}

void gt_rocprof_passes_free(gt_rocprof_passes *passes)
{
    if (!passes) return;
    free_facts(&passes->facts);
    gt_free_all(passes->traits, passes);
}

/* Adds the processes of the pass that the run does not have, so that later passes can be matched with them.
 */
static void add_unmatched(gt_rocprof_passes *passes, const matching *m)
{
    facts *f = &passes->facts;
    size_t count = f->process_count + m->counted - m->matched;
    f->first = gt_realloc(f->first, (count + 1) * sizeof *f->first);
    f->counted = gt_realloc(f->counted, (count + 1) * sizeof *f->counted);
    passes->traits = gt_realloc(passes->traits, (count + 1) * sizeof *passes->traits);
    for (size_t p = 0; p < m->pass->process_count; p++) {
        if (!m->pass->counted[p] || m->process_of[p] != NOT_MATCHED) continue;
        size_t process = f->process_count++;
        for (size_t i = m->pass->first[p]; i < m->pass->first[p + 1]; i++) {
            fact item = m->pass->items[i];
            item.process = (int64_t)process;
            *gt_map_put(&f->places, process, (uint64_t)item.dispatch) = (uint32_t)f->count;
            GT_PUSH(f->items, f->count, f->capacity, item);
        }
        f->first[process + 1] = f->count;
        f->counted[process] = m->pass->counted[p];
        passes->traits[process] = m->pass_traits[p];
        m->process_of[p] = (int64_t)process;
    }
}

static void write_counters(const matching *m, gt_rocprof_writers *writers, gt_rocprof *pass,
                           const int64_t *ids)
{
    size_t count = gt_store_count(pass->counters);
    int64_t *processes = gt_store_ints(pass->counters, GT_COUNTER_PROCESS);
    int64_t *dispatches = gt_store_ints(pass->counters, GT_COUNTER_DISPATCH);
    for (size_t i = 0; i < count; i++) {
        uint32_t place = gt_map_get(&m->pass->places, (uint64_t)processes[i], (uint64_t)dispatches[i]);
        if (place == GT_MAP_NONE) gt_raise_internal("a counter without a process");
        processes[i] = m->process_of[processes[i]];
        dispatches[i] = ids[place];
    }
    gt_rocprof_merge_counters(writers, pass, processes, dispatches);
    gt_free_all(processes, dispatches);
}

static void warn_about(const matching *m, unsigned number, size_t reordered, size_t renumbered)
{
    size_t with_counters = 0, lacking = 0;
    for (size_t i = 0; i < m->run->process_count; i++) {
        with_counters += m->run->counted[i] > 0;
        lacking += m->run->counted[i] > 0 && !m->taken[i];
    }
    if (m->unsure)
        gt_warn(
            "counter pass %u: %zu of %zu processes cannot be told apart by their GPUs and kernels; they are "
            "matched with those of the first pass in order of their ids",
            number, m->unsure, m->counted);
    if (m->matched < m->counted)
        gt_warn(
            "counter pass %u: %zu of %zu processes are not in the first pass; their counters are included",
            number, m->counted - m->matched, m->counted);
    if (lacking)
        gt_warn("counter pass %u: no counters of %zu of the %zu processes of the first pass", number, lacking,
                with_counters);
    if (reordered)
        gt_warn(
            "counter pass %u: kernels of %zu processes ran in another order than in the first pass; their "
            "dispatches are matched per kernel name",
            number, reordered);
    if (renumbered)
        gt_warn(
            "counter pass %u: dispatches of %zu processes have other ids than in the first pass; they are "
            "matched per kernel name",
            number, renumbered);
}

void gt_rocprof_passes_join(gt_rocprof_passes *passes, gt_rocprof_writers *writers, gt_rocprof *pass,
                            unsigned number)
{
    gt_interner *strings = passes->run->strings;
    facts of_pass = facts_of(pass, strings, false);
    traits *pass_traits = traits_of(&of_pass, pass, strings);
    matching m = {.run = &passes->facts,
                  .pass = &of_pass,
                  .run_traits = passes->traits,
                  .pass_traits = pass_traits,
                  .process_of = gt_alloc((of_pass.process_count + 1) * sizeof *m.process_of),
                  .taken = gt_alloc_zero(passes->facts.process_count + 1, sizeof *m.taken)};
    match_processes(&m);
    size_t reordered = 0, renumbered = 0;
    int64_t *ids = match_dispatches(&m, &reordered, &renumbered);
    warn_about(&m, number, reordered, renumbered);
    add_unmatched(passes, &m);
    write_counters(&m, writers, pass, ids);
    gt_free_all(ids, m.process_of, m.taken, pass_traits);
    free_facts(&of_pass);
}

/* ---- counters of several passes ---- */

/* A counter of a dispatch. A pass in which the value of any hardware instance is not a number has no value.
 */
typedef struct value {
    size_t row;      /* its first one */
    size_t pass;     /* the last one */
    size_t passes;   /* that have a value, among those before this pass; after add_values among all */
    double sum, all; /* over the rows of this pass, and over all passes before */
} value;

static void end_pass(value *v)
{
    if (!isnan(v->sum)) {
        v->all += v->sum;
        v->passes++;
    }
    v->sum = 0;
}

static size_t add_values(const gt_store *counters, const size_t *ends, value **values)
{
    size_t rows = gt_store_count(counters), count = 0, capacity = 0, pass = 0;
    int64_t *processes = gt_store_ints(counters, GT_COUNTER_PROCESS);
    int64_t *dispatches = gt_store_ints(counters, GT_COUNTER_DISPATCH);
    uint32_t *names = gt_store_string_ids(counters, GT_COUNTER_NAME);
    double *numbers = gt_store_times(counters, GT_COUNTER_VALUE);
    gt_map of_dispatch = {0}, places = {0};
    for (size_t i = 0; i < rows; i++) {
        while (i >= ends[pass]) pass++;
        uint32_t *dispatch = gt_map_put(&of_dispatch, (uint64_t)processes[i], (uint64_t)dispatches[i]);
        if (*dispatch == GT_MAP_NONE) *dispatch = (uint32_t)of_dispatch.count;
        uint32_t *place = gt_map_put(&places, *dispatch, names[i]);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)count;
            GT_PUSH(*values, count, capacity, ((value){.row = i, .pass = pass}));
        }
        value *v = &(*values)[*place];
        if (v->pass != pass) end_pass(v);
        v->pass = pass;
        v->sum += numbers[i];
    }
    for (size_t i = 0; i < count; i++) end_pass(&(*values)[i]);
    gt_free_all(processes, dispatches, names, numbers);
    gt_map_free(&of_dispatch);
    gt_map_free(&places);
    return count;
}

static bool has_nan(const gt_store *counters)
{
    size_t count = gt_store_count(counters);
    double *numbers = gt_store_times(counters, GT_COUNTER_VALUE);
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) found = isnan(numbers[i]);
    gt_free(numbers);
    return found;
}

void gt_rocprof_average_passes(gt_rocprof *run, const size_t *ends, size_t count)
{
    if (!run->counters || !gt_store_count(run->counters)) return;
    bool change = has_nan(run->counters);
    if (count < 2 && !change) return;
    value *values = NULL;
    size_t value_count = add_values(run->counters, ends, &values);
    for (size_t i = 0; i < value_count; i++) change = change || values[i].passes > 1;
    if (change) {
        gt_store *averaged = gt_store_new(gt_counter_columns, GT_COUNTER_COLUMNS, run->strings);
        gt_store_writer *writer = gt_store_writer_new(gt_counter_columns, GT_COUNTER_COLUMNS, run->strings);
        for (size_t i = 0; i < value_count; i++) {
            if (!values[i].passes) continue;
            gt_store_cell cells[GT_COUNTER_COLUMNS];
            gt_store_get(run->counters, values[i].row, cells);
            cells[GT_COUNTER_VALUE].time = values[i].all / (double)values[i].passes;
            gt_store_writer_add(writer, (UINT64_C(1) << GT_COUNTER_COLUMNS) - 1, cells);
        }
        gt_store_append(averaged, gt_store_writer_take(writer));
        gt_store_writer_free(writer);
        gt_store_free(run->counters);
        run->counters = averaged;
    }
    gt_free(values);
}
