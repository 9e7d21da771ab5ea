/* Ops to instructions: by the program's number, else by the module's name; collectives also by the number
 * that the runtime gave them. */
#include "input/xplane_modules.h"
#include "base/log.h"
#include "input/hlo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One entry of the plane. */
typedef struct module {
    int64_t entry_id;
    uint64_t program_id;
    gt_text proto, name;
    gt_hlo *hlo; /* once it was asked for */
    bool is_read;
} module;

typedef struct modules {
    module *items;
    size_t count, capacity;
    gt_jax *trace;
} modules;

/* Collectives that the compiler splits into a start and an end, and the runtime numbers anew. */
static const char *const families[] = {"all-to-all", "reduce-scatter", "all-gather"};

static gt_text text(const gt_jax *trace, uint32_t id)
{
    return gt_strings_get(trace->strings, id);
}

static void list_modules(modules *list, xplane *plane)
{
    for (size_t i = 0; i < plane->kind_count; i++) {
        const xevent_kind *kind = xplane_kind(plane, plane->kinds[i].id);
        if (!kind || !kind->attributes.hlo_proto.len) continue;
        gt_text proto = kind->attributes.hlo_proto;
        module entry = {
            kind->id, kind->attributes.has_program ? kind->attributes.program_id : (uint64_t)kind->id,
            proto,    gt_hlo_module_name(proto),
            NULL,     false};
        GT_PUSH(list->items, list->count, list->capacity, entry);
    }
}

static const gt_hlo *read_module(module *entry)
{
    gt_error error;
    if (!entry->is_read && !(entry->hlo = gt_hlo_read(entry->proto, &error)))
        gt_warn("%.*s: %s; its ops are shown without what the compiler said of them",
                (int)(entry->name.len < 200 ? entry->name.len : 200), entry->name.bytes, error.text);
    entry->is_read = true;
    return entry->hlo;
}

static module *find_module(modules *list, const gt_jax_op *op)
{
    module *found = NULL;
    for (size_t i = 0; i < list->count && op->has_program; i++)
        if (list->items[i].program_id == op->program_id) return &list->items[i];
    gt_text name = text(list->trace, op->hlo_module);
    for (size_t i = 0; i < list->count && name.len; i++) {
        module *entry = &list->items[i];
        if (gt_text_compare(entry->name, name) == 0 && (!found || entry->program_id < found->program_id))
            found = entry;
    }
    return found;
}

/* ---- collectives by number ---- */

/* "all-gather.12": the family and the number. */
static bool numbered(gt_text op, size_t *family, uint64_t *number)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        size_t len = strlen(families[f]);
        if (op.len < len + 2 || op.len > len + 19 || memcmp(op.bytes, families[f], len) != 0 ||
            op.bytes[len] != '.')
            continue;
        *number = 0;
        for (size_t i = len + 1; i < op.len; i++) {
            if (op.bytes[i] < '0' || op.bytes[i] > '9') return false;
            *number = *number * 10 + (uint64_t)(op.bytes[i] - '0');
        }
        *family = f;
        return true;
    }
    return false;
}

typedef struct start_list {
    const gt_hlo *hlo;
    uint32_t *items;
    size_t count, capacity;
} start_list;

static int by_name(const void *left, const void *right, void *hlo)
{
    return gt_text_compare(gt_hlo_name(hlo, *(const uint32_t *)left),
                           gt_hlo_name(hlo, *(const uint32_t *)right));
}

static start_list find_starts(const gt_hlo *hlo, const char *family, const char *ending)
{
    start_list list = {.hlo = hlo};
    char begin[40];
    size_t len = (size_t)snprintf(begin, sizeof begin, "%s%s", family, ending);
    for (uint32_t i = 0; i < gt_hlo_count(hlo); i++) {
        gt_text name = gt_hlo_name(hlo, i);
        if (name.len >= len && memcmp(name.bytes, begin, len) == 0 && gt_hlo_has_record(hlo, i))
            GT_PUSH(list.items, list.count, list.capacity, i);
    }
    if (list.count) qsort_r(list.items, list.count, sizeof *list.items, by_name, (void *)(uintptr_t)hlo);
    return list;
}

static bool has_key(const gt_hlo *hlo, gt_text name)
{
    uint32_t instruction = gt_hlo_find(hlo, name);
    return instruction != GT_HLO_NONE && gt_hlo_has_record(hlo, instruction);
}

/* How many different numbers of this family in the same module are below this one. */
static size_t rank_of(const modules *list, const gt_hlo *hlo, const gt_jax_op *op, size_t family,
                      uint64_t number)
{
    uint64_t *below = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < list->trace->op_count; i++) {
        const gt_jax_op *other = &list->trace->ops[i];
        size_t other_family;
        uint64_t other_number;
        gt_text name = text(list->trace, other->hlo_op);
        if (other->hlo_module != op->hlo_module || !numbered(name, &other_family, &other_number)) continue;
        if (other_family != family || other_number >= number || has_key(hlo, name)) continue;
        size_t j = 0;
        while (j < count && below[j] != other_number) j++;
        if (j == count) GT_PUSH(below, count, capacity, other_number);
    }
    free(below);
    return count;
}

static uint32_t find_collective(const modules *list, const gt_hlo *hlo, const gt_jax_op *op)
{
    size_t family;
    uint64_t number;
    if (!numbered(text(list->trace, op->hlo_op), &family, &number)) return GT_HLO_NONE;
    start_list starts = find_starts(hlo, families[family], "-start");
    if (!starts.count) {
        free(starts.items);
        starts = find_starts(hlo, families[family], "-done");
    }
    uint32_t found = GT_HLO_NONE;
    if (starts.count) {
        size_t rank = starts.count > 1 ? rank_of(list, hlo, op, family, number) : 0;
        found = starts.items[rank < starts.count ? rank : starts.count - 1];
    }
    free(starts.items);
    return found;
}

/* ---- records and sources ---- */

static void read_record(modules *list, gt_jax_op *op)
{
    module *entry = find_module(list, op);
    const gt_hlo *hlo = entry ? read_module(entry) : NULL;
    if (!hlo) return;
    uint32_t instruction = gt_hlo_find(hlo, text(list->trace, op->hlo_op));
    if (instruction != GT_HLO_NONE && !gt_hlo_has_record(hlo, instruction)) instruction = GT_HLO_NONE;
    if (instruction == GT_HLO_NONE) instruction = find_collective(list, hlo, op);
    if (instruction == GT_HLO_NONE) return;
    gt_jax *trace = list->trace;
    op->record = (uint32_t)trace->record_count;
    GT_PUSH(trace->records, trace->record_count, trace->record_capacity,
            gt_hlo_record_of(hlo, instruction, trace->strings, &trace->arena));
}

static gt_text copy(gt_jax *trace, gt_text from)
{
    return (gt_text){gt_arena_bytes(&trace->arena, from.bytes, from.len), from.len};
}

/* Viewers look for the module whose entry has the program's number, and there for the innermost op. */
static void read_source(modules *list, gt_jax_op *op)
{
    if (!op->has_program) return;
    gt_text name = text(list->trace, op->hlo_op);
    for (size_t i = name.len; i-- > 1;)
        if (name.bytes[i] == ':' && name.bytes[i - 1] == ':') {
            name = (gt_text){name.bytes + i + 1, name.len - i - 1};
            break;
        }
    for (size_t i = 0; i < list->count; i++) {
        if ((uint64_t)list->items[i].entry_id != op->program_id) continue;
        const gt_hlo *hlo = read_module(&list->items[i]);
        uint32_t instruction = hlo ? gt_hlo_find(hlo, name) : GT_HLO_NONE;
        if (instruction == GT_HLO_NONE) return;
        gt_hlo_source source = gt_hlo_source_of(hlo, instruction);
        op->source = (gt_hlo_source){copy(list->trace, source.op_name), copy(list->trace, source.op_type),
                                     copy(list->trace, source.file), source.line, true};
        return;
    }
}

void xplane_read_modules(xplane *metadata, gt_jax *trace)
{
    modules list = {.trace = trace};
    list_modules(&list, metadata);
    size_t named = 0, found = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        gt_jax_op *op = &trace->ops[i];
        if (op->hlo_op == GT_TEXT_NONE || op->hlo_op == GT_TEXT_EMPTY) continue;
        read_record(&list, op);
        read_source(&list, op);
        named++;
        found += op->record != GT_JAX_NONE;
    }
    if (found < named)
        gt_say(
            "%zu of %zu ops have no line of their own in the compiled modules: no shapes are known of them",
            named - found, named);
    for (size_t i = 0; i < list.count; i++) gt_hlo_free(list.items[i].hlo);
    free(list.items);
}
