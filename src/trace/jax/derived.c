/* How many events does a profile viewer add to a GPU?
 *
 * A viewer draws lines of modules, name scopes, framework ops, XLA ops and source lines above the streams.
 * They are made from the kernels of the busiest stream: on each line a new event begins where the name
 * changes. For kernels of the ops a/b, a/b, a/c the line of name scopes has one event a, and below it b and
 * c. This file builds the lines event by event, as the viewer does, and only counts their events. */
#include "trace/jax/jax.h"

typedef enum derived_line {
    MODULES,
    NAME_SCOPES,
    FRAMEWORK_OPS,
    XLA_OPS,
    SOURCE_LINES,
    DERIVED_LINES
} derived_line;

/* When an event at level 0 of `line` ends, all open events of `dependent` end. */
static const struct {
    derived_line line, dependent;
} dependents[] = {{MODULES, NAME_SCOPES}, {MODULES, XLA_OPS}, {NAME_SCOPES, FRAMEWORK_OPS}};

enum { CHAIN_MAX = 64, PARTS_MAX = 256 };

typedef struct open_event {
    uint32_t name; /* GT_STR_NONE: none is open */
    bool has_group, has_scope;
    int64_t group, scope;
} open_event;

typedef struct level_list {
    open_event *items;
    size_t count, capacity;
} level_list;

typedef struct builder {
    const gt_jax *trace;
    gt_interner *names;
    level_list open[DERIVED_LINES];
    size_t count;
    gt_buffer text;
} builder;

static void close_levels(builder *b, derived_line line, size_t from)
{
    if (b->open[line].count > from) b->open[line].count = from;
    for (size_t i = 0; !from && i < GT_LENGTH(dependents); i++)
        if (dependents[i].line == line) close_levels(b, dependents[i].dependent, 0);
}

static bool continues(const open_event *open, const open_event *next)
{
    return open->name == next->name && open->has_group == next->has_group &&
           (!open->has_group || open->group == next->group) &&
           (!open->has_scope || !next->has_scope || open->scope == next->scope);
}

static void add_level(builder *b, derived_line line, size_t level, open_event next)
{
    level_list *open = &b->open[line];
    if (level < open->count && continues(&open->items[level], &next)) return;
    close_levels(b, line, level);
    GT_PUSH(open->items, open->count, open->capacity, next);
    b->count++;
}

static open_event named(builder *b, size_t event, gt_str name)
{
    const bool has_group = b->trace->flags[event] & GT_JAX_HAS_GROUP;
    return (open_event){.name = gt_interner_add(b->names, name.bytes, name.len),
                        .has_group = has_group,
                        .group = has_group ? b->trace->group[event] : 0};
}

/* ---- names ---- */

typedef struct part_list {
    gt_str items[PARTS_MAX];
    size_t count;
} part_list;

static part_list split(gt_str text, const char *separator)
{
    part_list parts = {.count = 0};
    size_t len = strlen(separator);
    while (parts.count + 1 < PARTS_MAX) {
        const char *at = text.len >= len ? memmem(text.bytes, text.len, separator, len) : NULL;
        if (!at) break;
        parts.items[parts.count++] = (gt_str){text.bytes, (size_t)(at - text.bytes)};
        text = (gt_str){at + len, text.len - (size_t)(at + len - text.bytes)};
    }
    parts.items[parts.count++] = text;
    return parts;
}

/* Whether a character is in a class, given as a string: "a" stands for all lower-case letters, "A" for all
 * upper-case letters, "0" for all digits, and any other character for itself. */
static bool in_class(char c, const char *class)
{
    for (; *class; class ++) {
        if (*class == 'a'   ? c >= 'a' && c <= 'z'
            : *class == 'A' ? c >= 'A' && c <= 'Z'
            : *class == '0' ? c >= '0' && c <= '9'
                            : c == *class)
            return true;
    }
    return false;
}

/* The length of the longest prefix that is one character of `first` and then any number of `rest`. */
static size_t match(gt_str text, const char *first, const char *rest)
{
    if (!text.len || !in_class(text.bytes[0], first)) return 0;
    size_t i = 1;
    while (i < text.len && in_class(text.bytes[i], rest)) i++;
    return i;
}

static bool is_jax_type(gt_str type)
{
    size_t len = match(type, "a_", "a0_");
    return len && (len == type.len || (type.bytes[len] == '[' && type.bytes[type.len - 1] == ']'));
}

static gt_str without_number(gt_str name)
{
    size_t i = name.len;
    while (i && in_class(name.bytes[i - 1], "0")) i--;
    if (i < name.len && i && name.bytes[i - 1] == '_') name.len = i - 1;
    return name;
}

static bool has_name_scope(gt_str op, gt_str type)
{
    if (match(op, "Aa0.", "Aa0_./>-") == op.len && op.len && match(type, "A_", "Aa0_") == type.len &&
        type.len)
        return true;
    part_list parts = split(op, "/");
    return is_jax_type(type.len ? type : without_number(parts.items[parts.count - 1])) || !type.len;
}

/* ---- lines ---- */

static void add_framework(builder *b, size_t event, gt_str full)
{
    const char *colon = full.len ? memchr(full.bytes, ':', full.len) : NULL;
    gt_str op = {full.bytes, colon ? (size_t)(colon - full.bytes) : full.len};
    gt_str type = colon ? (gt_str){colon + 1, full.len - op.len - 1} : (gt_str){"", 0};
    bool is_iterator = gt_str_equals(op, "Iterator");
    if (colon && !is_iterator && has_name_scope(op, type)) {
        part_list parts = split(op, "/");
        for (size_t i = 0; i + 1 < parts.count; i++)
            add_level(b, NAME_SCOPES, i, named(b, event, parts.items[i]));
        if (parts.count > 1) close_levels(b, NAME_SCOPES, parts.count - 1);
    }
    add_level(b, FRAMEWORK_OPS, 0, named(b, event, full));
}

static size_t chain_of(const gt_jax *trace, size_t event, const gt_jax_scopes *scopes,
                       int64_t chain[CHAIN_MAX])
{
    size_t count = 0;
    if (!(trace->flags[event] & GT_JAX_HAS_SCOPE)) return 0;
    chain[count++] = trace->scope[event];
    while (count < CHAIN_MAX) {
        uint32_t parent = gt_map_get(&scopes->parent, (uint64_t)chain[count - 1], 0);
        if (parent == GT_MAP_NONE) break;
        chain[count++] = scopes->ids[parent];
    }
    return count;
}

static gt_str print(builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static gt_str print(builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    va_end(args);
    b->text.len = 0;
    if (len > 0) gt_buffer_add(&b->text, text, (size_t)len);
    if (len >= 0) gt_free(text);
    return gt_buffer_str(&b->text);
}

static void add_module(builder *b, size_t event, const gt_jax_op *op, const int64_t *chain,
                       size_t chain_count)
{
    const char *module = gt_interner_get(b->trace->strings, op->hlo_module).bytes;
    open_event next =
        named(b, event,
              op->has_program ? print(b, "%s(%" PRIu64 ")", module, op->program_id) : print(b, "%s", module));
    next.has_scope = chain_count > 0;
    if (chain_count) next.scope = chain[chain_count - 1];
    add_level(b, MODULES, 0, next);
}

static void add_ops(builder *b, size_t event, const gt_jax_op *op, const int64_t *chain, size_t chain_count)
{
    part_list names = split(gt_interner_get(b->trace->strings, op->hlo_op), "::");
    const char *module = gt_interner_get(b->trace->strings, op->hlo_module).bytes;
    for (size_t i = 0; i < names.count; i++) {
        int len = (int)names.items[i].len;
        open_event next =
            named(b, event,
                  op->has_program ? print(b, "%" PRIu64 "/%.*s", op->program_id, len, names.items[i].bytes)
                                  : print(b, "%s/%.*s", module, len, names.items[i].bytes));
        next.has_scope = chain_count == names.count;
        if (next.has_scope) next.scope = chain[chain_count - 1 - i];
        add_level(b, XLA_OPS, i, next);
    }
    close_levels(b, XLA_OPS, names.count);
}

static void add_source(builder *b, size_t event, const gt_hlo_source *source)
{
    add_framework(b, event, print(b, "%s:%s", source->op_name.bytes, source->op_type.bytes));
    if (!source->file.len) return;
    const char *slash = memrchr(source->file.bytes, '/', source->file.len);
    const char *file = slash ? slash + 1 : source->file.bytes;
    add_level(b, SOURCE_LINES, 0, named(b, event, print(b, "%s:%" PRId64, file, source->line)));
}

static void add_event(builder *b, size_t event, const gt_jax_scopes *scopes)
{
    const gt_jax *trace = b->trace;
    if (!(trace->flags[event] & GT_JAX_IS_DESCRIBED) || trace->op[event] == GT_JAX_NONE) return;
    const gt_jax_op *op = &trace->ops[trace->op[event]];
    int64_t chain[CHAIN_MAX];
    size_t chain_count = chain_of(trace, event, scopes, chain);
    if (gt_interner_get(trace->strings, op->hlo_module).len) add_module(b, event, op, chain, chain_count);
    if (op->hlo_op != GT_STR_NONE) {
        add_ops(b, event, op, chain, chain_count);
        if (op->source.found) add_source(b, event, &op->source);
    } else if (gt_interner_get(trace->strings, op->tf_op).len) {
        add_framework(b, event, gt_interner_get(trace->strings, op->tf_op));
    }
}

/* ---- the busiest stream ---- */

static uint32_t busiest_line(const gt_jax *trace, const gt_jax_gpu *gpu)
{
    size_t *counts = gt_alloc_zero(trace->line_count, sizeof *counts);
    uint32_t busiest = GT_JAX_NONE;
    for (size_t i = gpu->begin; i < gpu->end; i++) counts[trace->line[i]]++;
    for (uint32_t line = 0; line < trace->line_count; line++) {
        const gt_jax_line *l = &trace->lines[line];
        if (!counts[line] || l->is_derived || l->is_counter) continue;
        bool more = busiest == GT_JAX_NONE || counts[line] > counts[busiest] ||
                    (counts[line] == counts[busiest] && l->tid < trace->lines[busiest].tid);
        if (more) busiest = line;
    }
    gt_free(counts);
    return busiest;
}

static int by_start_and_length(const void *left, const void *right, void *of)
{
    const gt_jax *trace = of;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (trace->start_ps[a] != trace->start_ps[b]) return trace->start_ps[a] < trace->start_ps[b] ? -1 : 1;
    if (trace->dur_ps[a] != trace->dur_ps[b]) return trace->dur_ps[a] < trace->dur_ps[b] ? -1 : 1;
    return (a > b) - (a < b);
}

size_t gt_jax_count_derived(const gt_jax *trace, const gt_jax_gpu *gpu, const gt_jax_scopes *scopes)
{
    uint32_t line = busiest_line(trace, gpu);
    if (line == GT_JAX_NONE) return 0;
    size_t *order = gt_alloc((gpu->end - gpu->begin) * sizeof *order), kept = 0;
    for (size_t i = gpu->begin; i < gpu->end; i++)
        if (trace->line[i] == line) order[kept++] = i;
    qsort_r(order, kept, sizeof *order, by_start_and_length, (void *)(uintptr_t)trace);

    builder b = {.trace = trace, .names = gt_interner_new()};
    for (size_t i = 0; i < kept; i++) add_event(&b, order[i], scopes);
    for (size_t i = 0; i < DERIVED_LINES; i++) gt_free(b.open[i].items);
    gt_buffer_free(&b.text);
    gt_interner_free(b.names);
    gt_free(order);
    return b.count;
}
