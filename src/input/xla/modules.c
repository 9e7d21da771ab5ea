/* The compiled modules of a profile: finds the instruction of each op, by the program id or else by the
 * module's name.
 *
 * The runtime renumbers collectives that the compiler splits into a start and an end: an op "all-gather.12"
 * may have no instruction of that name. Then the numbers of all such ops of the module, sorted, stand for its
 * instructions "all-gather-start*", sorted by name. Example: ops all-gather.7 and all-gather.12 are the first
 * and the second start. */
#include "input/xla/plane.h"
#include "input/xla/hlo.h"

/* The collectives that are split and renumbered. */
static const char *const families[] = {"all-to-all", "reduce-scatter", "all-gather"};
enum { FAMILIES = GT_LENGTH(families) };

/* Instructions, sorted by name. */
typedef struct start_list {
    uint32_t *items;
    size_t count, capacity;
    bool is_made;
} start_list;

/* One module of the plane. */
typedef struct module {
    uint64_t program_id;
    xrange proto;
    gt_str name; /* in the plane's arena */
    gt_arena arena;
    gt_hlo *hlo; /* once it is needed */
    bool is_read;
    start_list starts[FAMILIES];
} module;

/* A renumbered collective, which has no instruction of its own name. */
typedef struct alias {
    uint32_t module;
    uint32_t family;
    uint64_t number;
} alias;

typedef struct modules {
    module *items;
    size_t count, capacity;
    gt_map by_program, by_entry,
        by_name; /* by_name: string id in `names` to the module with the lowest program id */
    gt_interner *names;
    alias *aliases; /* sorted, without duplicates */
    size_t alias_count, alias_capacity;
    xfile *file;
    gt_jax *trace;
} modules;

static gt_str text(const gt_jax *trace, uint32_t id)
{
    return gt_interner_get(trace->strings, id);
}

/* ---- modules ---- */

static void index_module(modules *list, uint64_t entry_id, uint32_t place)
{
    const module *m = &list->items[place];
    uint32_t *by_program = gt_map_put(&list->by_program, m->program_id, 0);
    uint32_t *by_entry = gt_map_put(&list->by_entry, entry_id, 0);
    uint32_t *by_name =
        gt_map_put(&list->by_name, gt_interner_add(list->names, m->name.bytes, m->name.len), 0);
    if (*by_program == GT_MAP_NONE) *by_program = place;
    if (*by_entry == GT_MAP_NONE) *by_entry = place;
    if (*by_name == GT_MAP_NONE || m->program_id < list->items[*by_name].program_id) *by_name = place;
}

static bool list_modules(modules *list, xplane *plane)
{
    for (size_t i = 0; i < plane->kind_count; i++) {
        xevent_kind *kind = &plane->kinds[i];
        gt_str proto;
        if (!gt_xplane_read_kind(plane, list->file, kind)) {
            if (list->file->failed) return false;
            continue;
        }
        if (kind->hlo_proto.begin == kind->hlo_proto.end) continue;
        if (!gt_xfile_show(list->file, kind->hlo_proto, &proto)) return false;
        gt_str name = gt_hlo_module_name(proto);
        module entry = {
            .program_id = kind->attributes.has_program ? kind->attributes.program_id : (uint64_t)kind->id,
            .proto = kind->hlo_proto,
            .name = {gt_arena_bytes(&plane->arena, name.bytes, name.len), name.len},
        };
        GT_PUSH(list->items, list->count, list->capacity, entry);
        index_module(list, (uint64_t)kind->id, (uint32_t)list->count - 1);
    }
    return true;
}

static const gt_hlo *read_module(modules *list, uint32_t place)
{
    if (place == GT_MAP_NONE) return NULL;
    module *m = &list->items[place];
    gt_error error;
    gt_str proto;
    if (m->is_read) return m->hlo;
    m->is_read = true;
    if (!gt_xfile_copy(list->file, m->proto, &m->arena, &proto)) return NULL;
    if (!(m->hlo = gt_hlo_read(proto, &error)))
        gt_warn("%.*s: %s; its ops have no compiler information",
                (int)(m->name.len < 200 ? m->name.len : 200), m->name.bytes, error.text);
    return m->hlo;
}

static uint32_t find_module(const modules *list, const gt_jax_op *op)
{
    uint32_t found = op->has_program ? gt_map_get(&list->by_program, op->program_id, 0) : GT_MAP_NONE;
    gt_str name = text(list->trace, op->hlo_module);
    if (found != GT_MAP_NONE || !name.len) return found;
    uint32_t id = gt_interner_find(list->names, name.bytes, name.len);
    return id == GT_STR_NONE ? GT_MAP_NONE : gt_map_get(&list->by_name, id, 0);
}

/* ---- collectives by number ---- */

/* Splits "all-gather.12" into family and number. */
static bool parse_numbered(gt_str op, uint32_t *family, uint64_t *number)
{
    for (uint32_t f = 0; f < FAMILIES; f++) {
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

static int by_name(const void *left, const void *right, void *hlo)
{
    return gt_str_compare(gt_hlo_name(hlo, *(const uint32_t *)left),
                          gt_hlo_name(hlo, *(const uint32_t *)right));
}

static void find_starts(start_list *list, const gt_hlo *hlo, const char *family, const char *ending)
{
    char begin[40];
    size_t len = (size_t)snprintf(begin, sizeof begin, "%s%s", family, ending);
    for (uint32_t i = 0; i < gt_hlo_count(hlo); i++) {
        gt_str name = gt_hlo_name(hlo, i);
        if (name.len >= len && memcmp(name.bytes, begin, len) == 0 && gt_hlo_has_record(hlo, i))
            GT_PUSH(list->items, list->count, list->capacity, i);
    }
    if (list->count) qsort_r(list->items, list->count, sizeof *list->items, by_name, (void *)(uintptr_t)hlo);
}

static const start_list *starts_of(module *m, uint32_t family)
{
    start_list *list = &m->starts[family];
    if (!list->is_made) find_starts(list, m->hlo, families[family], "-start");
    if (!list->is_made && !list->count) find_starts(list, m->hlo, families[family], "-done");
    list->is_made = true;
    return list;
}

GT_ORDER_BY(by_module_and_number, alias, GT_UP(module) GT_UP(family) GT_UP(number))

/* The instruction with the op's own name, if it has a record. */
static uint32_t find_instruction(const modules *list, const gt_hlo *hlo, const gt_jax_op *op)
{
    uint32_t instruction = gt_hlo_find(hlo, text(list->trace, op->hlo_op));
    return instruction != GT_HLO_NONE && gt_hlo_has_record(hlo, instruction) ? instruction : GT_HLO_NONE;
}

static void list_aliases(modules *list)
{
    for (size_t i = 0; i < list->trace->op_count; i++) {
        const gt_jax_op *op = &list->trace->ops[i];
        alias a;
        if (!parse_numbered(text(list->trace, op->hlo_op), &a.family, &a.number)) continue;
        a.module = find_module(list, op);
        const gt_hlo *hlo = read_module(list, a.module);
        if (hlo && find_instruction(list, hlo, op) == GT_HLO_NONE)
            GT_PUSH(list->aliases, list->alias_count, list->alias_capacity, a);
    }
    if (!list->alias_count) return;
    qsort(list->aliases, list->alias_count, sizeof *list->aliases, by_module_and_number);
    size_t kept = 1;
    for (size_t i = 1; i < list->alias_count; i++)
        if (by_module_and_number(&list->aliases[kept - 1], &list->aliases[i]) != 0)
            list->aliases[kept++] = list->aliases[i];
    list->alias_count = kept;
}

/* The index of the first alias that is not less than `wanted`. */
static size_t alias_place(const modules *list, alias wanted)
{
    size_t begin;
    GT_BISECT(begin, 0, list->alias_count, by_module_and_number(&list->aliases[begin], &wanted) < 0);
    return begin;
}

/* The instruction of a renumbered collective. */
static uint32_t find_collective(modules *list, uint32_t place, const gt_jax_op *op)
{
    alias a = {.module = place};
    if (!parse_numbered(text(list->trace, op->hlo_op), &a.family, &a.number)) return GT_HLO_NONE;
    const start_list *starts = starts_of(&list->items[place], a.family);
    if (!starts->count) return GT_HLO_NONE;
    size_t rank = alias_place(list, a) - alias_place(list, (alias){place, a.family, 0});
    return starts->items[rank < starts->count ? rank : starts->count - 1];
}

/* ---- records and sources ---- */

static void read_record(modules *list, gt_jax_op *op)
{
    uint32_t place = find_module(list, op);
    const gt_hlo *hlo = read_module(list, place);
    if (!hlo) return;
    uint32_t instruction = find_instruction(list, hlo, op);
    if (instruction == GT_HLO_NONE) instruction = find_collective(list, place, op);
    if (instruction == GT_HLO_NONE) return;
    gt_jax *trace = list->trace;
    op->record = (uint32_t)trace->record_count;
    GT_PUSH(trace->records, trace->record_count, trace->record_capacity,
            gt_hlo_record_of(hlo, instruction, trace->strings, &trace->arena));
}

static gt_str copy(gt_jax *trace, gt_str from)
{
    return (gt_str){gt_arena_bytes(&trace->arena, from.bytes, from.len), from.len};
}

/* Like viewers, which look up the module whose entry has the program id, and in it the innermost op. */
static void read_source(modules *list, gt_jax_op *op)
{
    if (!op->has_program) return;
    const gt_hlo *hlo = read_module(list, gt_map_get(&list->by_entry, op->program_id, 0));
    gt_str name = text(list->trace, op->hlo_op);
    for (size_t i = name.len; i-- > 1;)
        if (name.bytes[i] == ':' && name.bytes[i - 1] == ':') {
            name = (gt_str){name.bytes + i + 1, name.len - i - 1};
            break;
        }
    uint32_t instruction = hlo ? gt_hlo_find(hlo, name) : GT_HLO_NONE;
    if (instruction == GT_HLO_NONE) return;
    gt_hlo_source source = gt_hlo_source_of(hlo, instruction);
    op->source = (gt_hlo_source){copy(list->trace, source.op_name), copy(list->trace, source.op_type),
                                 copy(list->trace, source.file), source.line, true};
}

static void read_ops(modules *list)
{
    gt_jax *trace = list->trace;
    size_t named = 0, found = 0;
    list_aliases(list);
    for (size_t i = 0; i < trace->op_count; i++) {
        gt_jax_op *op = &trace->ops[i];
        if (op->hlo_op == GT_STR_NONE || op->hlo_op == GT_STR_EMPTY) continue;
        read_record(list, op);
        read_source(list, op);
        named++;
        found += op->record != GT_JAX_NONE;
    }
    if (found < named)
        gt_info("%zu of %zu ops not found in the compiled modules; no shapes for them", named - found, named);
}

/* ---- matrix products of a module ---- */

static uint32_t find_by_prefix(const modules *list, const char *prefix)
{
    uint32_t found = GT_MAP_NONE;
    size_t len = strlen(prefix);
    for (uint32_t i = 0; i < list->count; i++) {
        const module *m = &list->items[i];
        bool matches = m->name.len >= len && memcmp(m->name.bytes, prefix, len) == 0;
        if (matches && (found == GT_MAP_NONE || m->program_id < list->items[found].program_id)) found = i;
    }
    return found;
}

static void read_products(modules *list, const char *prefix)
{
    gt_jax *trace = list->trace;
    const gt_hlo *hlo = read_module(list, find_by_prefix(list, prefix));
    size_t count = 0;
    uint32_t *lines = hlo ? gt_hlo_lines(hlo, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (!gt_hlo_is_product(hlo, lines[i]) || !gt_hlo_has_record(hlo, lines[i])) continue;
        gt_str name = gt_hlo_name(hlo, lines[i]);
        gt_jax_product product = {gt_interner_add(trace->strings, name.bytes, name.len),
                                  gt_hlo_record_of(hlo, lines[i], trace->strings, &trace->arena)};
        GT_PUSH(trace->products, trace->product_count, trace->product_capacity, product);
    }
    gt_free(lines);
}

static void free_modules(modules *list)
{
    for (size_t i = 0; i < list->count; i++) {
        gt_hlo_free(list->items[i].hlo);
        gt_arena_free(&list->items[i].arena);
        for (size_t f = 0; f < FAMILIES; f++) gt_free(list->items[i].starts[f].items);
    }
    gt_free_all(list->items, list->aliases);
    gt_map_free(&list->by_program);
    gt_map_free(&list->by_entry);
    gt_map_free(&list->by_name);
    gt_interner_free(list->names);
}

bool gt_xplane_read_modules(xplane *metadata, xfile *file, const char *products_of, gt_jax *trace)
{
    modules list = {.trace = trace, .file = file, .names = gt_interner_new()};
    bool ok = gt_xplane_open(metadata, file, trace->strings, false) && list_modules(&list, metadata);
    if (ok) read_ops(&list);
    if (ok && products_of) read_products(&list, products_of);
    free_modules(&list);
    return ok && !file->failed;
}
