/* What a row says becomes a dispatch, a call, a copy, an agent, a counter's value or a row of statistics.
 * Names are looked up by their raw bytes, of which a file of a million rows has a few hundred. */
#include "input/rocprof/csv_row.h"
#include "os/paths.h"

#include <string.h>

/* ---- words ---- */

gt_str gt_csv_unescape(gt_csv_row *r, gt_str text)
{
    if (r->doubled && memmem(text.bytes, text.len, "\"\"", 2)) {
        r->undoubled.len = 0;
        for (size_t i = 0; i < text.len; i++) {
            gt_buffer_add(&r->undoubled, &text.bytes[i], 1);
            if (text.bytes[i] == '"' && i + 1 < text.len && text.bytes[i + 1] == '"') i++;
        }
        text = (gt_str){r->undoubled.bytes, r->undoubled.len};
    }
    return gt_utf8_is_valid(text) ? text : gt_utf8_repair(text, &r->repaired);
}

uint32_t gt_csv_intern_field(gt_csv_row *r, int slot, gt_str text)
{
    text = gt_csv_unescape(r, text);
    return r->words[slot] = gt_interner_add(r->run->strings, text.bytes, text.len);
}

/* ---- processes and kernels ---- */

static int64_t find_process(gt_csv_row *r)
{
    int64_t pid = r->present >> SLOT_PID & 1 ? r->cells[SLOT_PID].integer : -1;
    uint32_t guid =
        r->present >> SLOT_GUID & 1 ? gt_csv_interned_field(r, SLOT_GUID, r->texts[SLOT_GUID]) : GT_STR_NONE;
    if (pid == r->last_pid && guid == r->last_guid) return r->process;
    r->last_pid = pid;
    r->last_guid = guid;
    uint32_t *found = gt_map_put(&r->processes, guid ? 0 : (uint64_t)pid, guid);
    if (*found == GT_MAP_NONE) {
        gt_rocprof_process *source = &r->run->process[r->source->process];
        bool is_source = (pid == -1 && !guid) || pid == source->pid || (!r->source_named && source->pid == 0);
        if (is_source) {
            if (pid > 0) source->pid = pid;
            r->source_named = true;
            *found = (uint32_t)r->source->process;
        } else {
            gt_rocprof_process other = *source;
            other.pid = pid > 0 ? pid : 0;
            *found = (uint32_t)gt_rocprof_add_process(r->run, other);
        }
    }
    return r->process = *found;
}

static int32_t use_of(const gt_csv_row *r, int slot)
{
    int64_t value = r->cells[slot].integer;
    return r->present >> slot & 1 && value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static int64_t find_kernel(gt_csv_row *r)
{
    if (!(r->present >> SLOT_NAME & 1)) return GT_NO_KERNEL_ID;
    gt_str name = r->texts[SLOT_NAME];
    uint32_t raw = gt_interner_add(r->raw, name.bytes, name.len);
    while (r->known_count <= raw) GT_PUSH(r->known, r->known_count, r->known_capacity, (gt_csv_kernel){0});
    gt_kernel_use use = {use_of(r, SLOT_VGPRS), use_of(r, SLOT_ACCUM_VGPRS), use_of(r, SLOT_SGPRS), -1};
    gt_csv_kernel *known = &r->known[raw];
    if (known->text && memcmp(&known->use, &use, sizeof use) == 0) return known->kernel_id;
    if (!known->text && r->long_names) {
        gt_str whole = gt_csv_unescape(r, name);
        known->text = gt_interner_add(r->run->strings, whole.bytes, whole.len);
    }
    if (!known->text) known->text = gt_kernel_name_of_displayed(r->run->strings, gt_csv_unescape(r, name));
    known->use = use;
    return known->kernel_id = gt_kernel_names_add(r->run, known->text, use);
}

/* ---- records ---- */

static void set(gt_csv_row *r, int slot, int64_t value)
{
    r->cells[slot].integer = value;
    r->present |= UINT64_C(1) << slot;
}

static uint64_t columns_of(const gt_csv_row *r, size_t count)
{
    return r->present & ((UINT64_C(1) << count) - 1);
}

static void add_dispatch(gt_csv_row *r)
{
    set(r, GT_DISPATCH_PROCESS, find_process(r));
    set(r, GT_DISPATCH_KERNEL_ID, find_kernel(r));
    gt_rocprof_write_dispatch(r->writers, columns_of(r, GT_DISPATCH_COLUMNS), r->cells);
}

static void write_counter(gt_csv_row *r, int64_t process, int64_t kernel_id, uint64_t name, double value)
{
    gt_store_cell cells[GT_COUNTER_COLUMNS];
    cells[GT_COUNTER_PROCESS].integer = process;
    cells[GT_COUNTER_DISPATCH].integer =
        r->present >> GT_DISPATCH_ID & 1 ? r->cells[GT_DISPATCH_ID].integer : 0;
    cells[GT_COUNTER_KERNEL_ID].integer = kernel_id;
    cells[GT_COUNTER_NAME].text = name;
    cells[GT_COUNTER_VALUE].time = value;
    gt_store_writer_add(r->writers->counters, (UINT64_C(1) << GT_COUNTER_COLUMNS) - 1, cells);
}

static void add_counter(gt_csv_row *r)
{
    int64_t process = find_process(r), kernel_id = find_kernel(r);
    bool complete = r->present >> SLOT_COUNTER & 1 && r->present >> SLOT_VALUE & 1;
    if (r->writers->counters && complete)
        write_counter(r, process, kernel_id, r->cells[SLOT_COUNTER].text, r->cells[SLOT_VALUE].time);
    if (!r->source->kernels_from_counters) return;
    uint32_t *seen = gt_map_put(&r->counted, (uint64_t)process, (uint64_t)r->cells[GT_DISPATCH_ID].integer);
    if (*seen == GT_MAP_NONE) add_dispatch(r);
    *seen = 1;
}

static void add_old_result(gt_csv_row *r)
{
    add_dispatch(r);
    for (size_t i = 0; r->writers->counters && i < r->columns; i++)
        if (r->plan[i].kind == GT_CSV_WIDE)
            write_counter(r, r->cells[GT_DISPATCH_PROCESS].integer, r->cells[GT_DISPATCH_KERNEL_ID].integer,
                          r->plan[i].counter, r->wide[i]);
}

static void add_call(gt_csv_row *r)
{
    gt_str kind = gt_interner_get(r->run->strings, (uint32_t)r->cells[GT_CALL_KIND].text);
    if (!(r->present >> GT_CALL_KIND & 1)) kind = (gt_str){"", 0};
    gt_call_domain domain = gt_call_domain_of(kind);
    set(r, GT_CALL_DOMAIN, domain);
    set(r, GT_CALL_PROCESS, find_process(r));
    if (domain == GT_CALL_HIP || domain == GT_CALL_HSA) r->run->api_calls++;
    if (r->writers->calls) gt_store_writer_add(r->writers->calls, columns_of(r, GT_CALL_COLUMNS), r->cells);
}

static void add_copy(gt_csv_row *r)
{
    if (r->present >> SLOT_DIRECTION & 1)
        set(r, GT_COPY_DIRECTION, gt_copy_direction_of(r->texts[SLOT_DIRECTION]));
    set(r, GT_COPY_PROCESS, find_process(r));
    gt_rocprof_write_copy(r->writers, columns_of(r, GT_COPY_COLUMNS), r->cells);
}

static void add_agent(gt_csv_row *r)
{
    if (!r->writers->agents) return;
    /* Other files name agents by this number ("Agent 3"). */
    set(r, GT_AGENT_ID,
        r->present >> GT_AGENT_LOGICAL_NODE_ID & 1 ? r->cells[GT_AGENT_LOGICAL_NODE_ID].integer : 0);
    set(r, GT_AGENT_PROCESS, r->source->process);
    gt_store_writer_add(r->writers->agents, columns_of(r, GT_AGENT_COLUMNS), r->cells);
}

/* What a file of statistics is about is told by its name alone; one that is not named so is taken for
 * kernels. */
static int64_t stats_of(const gt_csv_row *r)
{
    const char *name = gt_path_name(r->path);
    for (int domain = 0; domain < GT_CALL_OTHER; domain++)
        if (strstr(name, gt_call_domain_name((gt_call_domain)domain))) return domain;
    if (strstr(name, "memory_copy")) return GT_STATS_COPIES;
    bool other =
        strstr(name, "domain") || strstr(name, "memory_allocation") || strstr(name, "scratch_memory");
    return other ? GT_STATS_OTHER : GT_STATS_KERNELS;
}

static void add_stats(gt_csv_row *r)
{
    int64_t of = stats_of(r);
    if (of == GT_STATS_OTHER || !(r->present >> SLOT_NAME & 1)) return;
    gt_str name = gt_csv_unescape(r, r->texts[SLOT_NAME]);
    gt_interner *strings = r->run->strings;
    set(r, GT_STATS_OF, of);
    r->cells[GT_STATS_NAME].text = of == GT_STATS_KERNELS ? gt_kernel_name_of_displayed(strings, name)
                                                          : gt_interner_add(strings, name.bytes, name.len);
    r->present |= UINT64_C(1) << GT_STATS_NAME;
    gt_rocprof_write_stats(r->writers, columns_of(r, GT_STATS_COLUMNS), r->cells);
}

gt_csv_adder *const gt_csv_adders[GT_CSV_KINDS] = {
    [GT_CSV_KERNELS] = add_dispatch, [GT_CSV_COUNTERS] = add_counter, [GT_CSV_CALLS] = add_call,
    [GT_CSV_COPIES] = add_copy,      [GT_CSV_AGENTS] = add_agent,     [GT_CSV_OLD_RESULTS] = add_old_result,
    [GT_CSV_STATS] = add_stats,
};
