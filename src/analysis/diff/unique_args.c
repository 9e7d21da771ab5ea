/* Sheet diff_stats_unique_args_summary: a group-by of diff_stats, an order in which every tie is decided by
 * the text of the cells, and the maps from ops to kernels.
 *
 * Before grouping, ops that do the same under different names get a common name. Under each common call, the
 * ops of one trace are compared with those of the other: if both have the same number of ops, they are
 * compared one by one; otherwise each op gets the first one of the other trace with which it has a common
 * name. For example aten::miopen_convolution and aten::convolution become "convolution", because one name,
 * after the last "::", is part of the other. */
#include "analysis/diff/internal.h"

/* ---- common names of ops ---- */

enum {
    ALIKE_CHARACTERS = 20, /* names with the same first characters, this many, belong together */
    TRIES_MAX = 1 << 24,   /* pairs of names compared, in total */
};

/* An op under a common call, in one trace. */
typedef struct use {
    uint32_t call, side, place; /* place: its number in the order of the rows, as call */
    uint32_t op;
} use;

/* The modules that contain an op, in one trace. */
typedef struct op_modules {
    uint32_t op, side;
    uint32_t module; /* the first */
    bool several;
} op_modules;

typedef struct naming {
    gt_interner *strings;
    use *uses; /* in the order of the common calls, sides and rows */
    size_t use_count, use_capacity;
    gt_map module_at; /* from an op to its index in modules */
    op_modules *modules;
    size_t module_count, module_capacity;
    gt_map visited; /* ops that were compared with others */
    gt_map names;   /* from an op to its common name */
    gt_row_list left[2];
    gt_buffer buffer;
    size_t tries;
} naming;

/* ---- ops and modules of diff_stats ---- */

GT_ORDER_BY(by_call_and_side, use, GT_UP(call) GT_UP(side) GT_UP(place))

/* Lists the distinct ops of each common call and side, in order of the rows. */
static void list_uses(naming *n, const gt_diff_stats *stats)
{
    const gt_column *ids = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_ID);
    const uint32_t *ops = gt_table_column(stats->table, GT_COL_CPU_OP_NAME)->texts;
    gt_map places = {0}, seen = {0};
    uint32_t calls = 0;
    for (size_t row = 0; row < stats->table->row_count; row++) {
        uint32_t id = gt_diff_node_at(ids, row);
        if (id == GT_NO_EVENT) continue;
        uint32_t *place = gt_map_put(&places, id, 0);
        if (*place == GT_MAP_NONE) *place = calls++;
        use u = {*place, stats->sides[row], (uint32_t)n->use_count, ops[row]};
        uint32_t *known = gt_map_put(&seen, (uint64_t)u.call << 1 | u.side, u.op);
        if (*known != GT_MAP_NONE) continue;
        *known = 1;
        GT_PUSH(n->uses, n->use_count, n->use_capacity, u);
    }
    if (n->use_count) qsort(n->uses, n->use_count, sizeof *n->uses, by_call_and_side);
    gt_map_free(&places);
    gt_map_free(&seen);
}

/* If both traces have an op, the modules of trace2 are used. */
static void list_modules(naming *n, const gt_diff_stats *stats)
{
    const uint32_t *ops = gt_table_column(stats->table, GT_COL_CPU_OP_NAME)->texts;
    const uint32_t *modules = gt_table_column(stats->table, GT_COL_NN_MODULE_PARENT)->texts;
    for (size_t row = 0; row < stats->table->row_count; row++) {
        uint32_t *at = gt_map_put(&n->module_at, ops[row], 0);
        op_modules new = {ops[row], stats->sides[row], modules[row], false};
        if (*at == GT_MAP_NONE) {
            *at = (uint32_t)n->module_count;
            GT_PUSH(n->modules, n->module_count, n->module_capacity, new);
            continue;
        }
        op_modules *known = &n->modules[*at];
        if (known->side < new.side)
            *known = new;
        else if (known->side == new.side)
            known->several |= known->module != new.module;
    }
}

/* ---- names ---- */

/* The part after the last "::". */
static gt_str after_colons(gt_str name)
{
    for (size_t at = name.len; at >= 2; at--)
        if (name.bytes[at - 1] == ':' && name.bytes[at - 2] == ':')
            return (gt_str){name.bytes + at, name.len - at};
    return name;
}

static bool has_part(gt_str name, gt_str part)
{
    return part.len == 0 || memmem(name.bytes, name.len, part.bytes, part.len) != NULL;
}

/* At most the first ALIKE_CHARACTERS characters. */
static gt_str beginning(gt_str name)
{
    const char *at = name.bytes, *end = name.bytes + name.len;
    for (size_t i = 0; i < ALIKE_CHARACTERS && at < end; i++) gt_utf8_next(&at, end);
    name.len = (size_t)(at - name.bytes);
    return name;
}

static uint32_t without_spaces(naming *n, uint32_t text)
{
    gt_str from = gt_interner_get(n->strings, text);
    if (!memchr(from.bytes, ' ', from.len)) return text;
    n->buffer.len = 0;
    for (size_t i = 0; i < from.len; i++)
        if (from.bytes[i] != ' ') gt_buffer_add(&n->buffer, from.bytes + i, 1);
    return gt_interner_add(n->strings, gt_buffer_str(&n->buffer).bytes, n->buffer.len);
}

static uint32_t only_module(const naming *n, uint32_t op)
{
    const op_modules *modules = &n->modules[gt_map_get(&n->module_at, op, 0)];
    return modules->several ? GT_STR_NONE : modules->module;
}

/* A string id; GT_STR_NONE if the ops have nothing in common. */
static uint32_t common_name(naming *n, uint32_t first, uint32_t second)
{
    gt_str a = after_colons(gt_interner_get(n->strings, first));
    gt_str b = after_colons(gt_interner_get(n->strings, second));
    if (has_part(b, a)) return gt_interner_add(n->strings, a.bytes, a.len);
    if (has_part(a, b)) return gt_interner_add(n->strings, b.bytes, b.len);
    if (gt_str_compare(beginning(a), beginning(b)) == 0) {
        n->buffer.len = 0;
        gt_buffer_add(&n->buffer, a.bytes, a.len);
        gt_buffer_add_cstr(&n->buffer, "/");
        gt_buffer_add(&n->buffer, b.bytes, b.len);
        return gt_interner_add(n->strings, n->buffer.bytes, n->buffer.len);
    }
    uint32_t module = only_module(n, first);
    return module != GT_STR_NONE && module == only_module(n, second) ? without_spaces(n, module)
                                                                     : GT_STR_NONE;
}

/* Gives both ops their common name, if they have one. */
static bool name_both(naming *n, uint32_t first, uint32_t second)
{
    uint32_t name = common_name(n, first, second);
    if (name == GT_STR_NONE) return false;
    *gt_map_put(&n->names, second, 0) = name;
    *gt_map_put(&n->names, first, 0) = name;
    return true;
}

/* ---- the ops of one common call ---- */

static bool all_visited(const naming *n, const use *uses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gt_map_get(&n->visited, uses[i].op, 0) == GT_MAP_NONE) return false;
    return true;
}

static void list_unequal(naming *n, size_t side, const use *uses, size_t count, const use *others,
                         size_t other_count)
{
    gt_map theirs = {0};
    for (size_t i = 0; i < other_count; i++) *gt_map_put(&theirs, others[i].op, 0) = 1;
    n->left[side].count = 0;
    for (size_t i = 0; i < count; i++)
        if (gt_map_get(&theirs, uses[i].op, 0) == GT_MAP_NONE)
            GT_PUSH(n->left[side].items, n->left[side].count, n->left[side].capacity, uses[i].op);
    gt_map_free(&theirs);
}

/* Each op of trace1 gets the first remaining op of trace2 that has a common name with it. */
static void name_unequal(naming *n, const use *first, size_t first_count, const use *second,
                         size_t second_count)
{
    list_unequal(n, 0, first, first_count, second, second_count);
    list_unequal(n, 1, second, second_count, first, first_count);
    gt_row_list *others = &n->left[1];
    for (size_t i = 0; i < n->left[0].count; i++)
        for (size_t j = 0; j < others->count && n->tries < TRIES_MAX; j++) {
            n->tries++;
            if (!name_both(n, n->left[0].items[i], others->items[j])) continue;
            memmove(others->items + j, others->items + j + 1,
                    (others->count - j - 1) * sizeof *others->items);
            others->count--;
            break;
        }
}

static void name_uses(naming *n, const use *uses, size_t count)
{
    size_t firsts = 0;
    while (firsts < count && uses[firsts].side == 0) firsts++;
    if (!firsts || firsts == count || all_visited(n, uses, count)) return;
    for (size_t i = 0; i < count; i++) *gt_map_put(&n->visited, uses[i].op, 0) = 1;
    if (2 * firsts != count) {
        name_unequal(n, uses, firsts, uses + firsts, count - firsts);
        return;
    }
    for (size_t i = 0; i < firsts; i++)
        if (uses[i].op != uses[firsts + i].op) name_both(n, uses[i].op, uses[firsts + i].op);
}

/* Replaces names in the column cpu_op_name of a summary of `stats` by common names, and removes the spaces
 * from nn_module_parent. */
static void use_common_names(gt_table *summary, const gt_diff_stats *stats)
{
    naming n = {.strings = summary->strings};
    list_uses(&n, stats);
    list_modules(&n, stats);
    for (size_t begin = 0, end; begin < n.use_count; begin = end) {
        for (end = begin; end < n.use_count && n.uses[end].call == n.uses[begin].call;) end++;
        name_uses(&n, n.uses + begin, end - begin);
    }
    uint32_t *ops = gt_table_column(summary, GT_COL_CPU_OP_NAME)->texts;
    uint32_t *modules = gt_table_column(summary, GT_COL_NN_MODULE_PARENT)->texts;
    for (size_t row = 0; row < summary->row_count; row++) {
        uint32_t name = gt_map_get(&n.names, ops[row], 0);
        if (name != GT_MAP_NONE) ops[row] = name;
        modules[row] = without_spaces(&n, modules[row]);
    }
    gt_map_free(&n.module_at);
    gt_map_free(&n.visited);
    gt_map_free(&n.names);
    gt_free_all(n.uses, n.modules, n.left[0].items, n.left[1].items);
    gt_buffer_free(&n.buffer);
}

/* ---- the summary ---- */

/* ---- groups ---- */

static bool is_key(const gt_column *column)
{
    static const gt_col others[] = {GT_COL_KERNEL_TIME, GT_COL_LOWEST_COMMON_ANCESTOR_ID, GT_COL_GPU_OP_UID};
    for (size_t i = 0; i < GT_LENGTH(others); i++)
        if (gt_column_is(column, others[i])) return false;
    return true;
}

static gt_table *group_rows(const gt_table *stats)
{
    static const gt_aggregate measures[] = {
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_OPERATION_COUNT},
        GT_AGGREGATE(KERNEL_TIME, MEAN),
        GT_AGGREGATE(KERNEL_TIME, SUM),
    };
    gt_col *keys = gt_alloc(stats->column_count * sizeof *keys);
    size_t count = 0;
    for (size_t c = 0; c < stats->column_count; c++)
        if (is_key(&stats->columns[c])) keys[count++] = gt_col_named(stats->columns[c].name);
    gt_table *table = gt_table_group(stats, keys, count, measures, GT_LENGTH(measures),
                                     (gt_group_options){.keep_nulls = true});
    gt_free(keys);
    gt_table_rename(table, GT_SHEET_DIFF_STATS_UNIQUE_ARGS_SUMMARY);
    gt_table_move_column(table, gt_table_find(table, GT_COL_OPERATION_COUNT), 1);
    return table;
}

/* ---- order ---- */

typedef struct ordering {
    const gt_table *table;
    const gt_column *sums;
} ordering;

static gt_str cell_text(const ordering *o, const gt_column *column, uint32_t row, char *digits)
{
    if (gt_column_is_null(column, row)) return (gt_str){"None", 4};
    switch (column->type) {
    case GT_TYPE_INT:
        return (gt_str){digits, gt_print_int(digits, column->ints[row])};
    case GT_TYPE_FLOAT:
        return (gt_str){digits, gt_print_double(digits, column->floats[row])};
    default:
        return gt_interner_get(o->table->strings, column->texts[row]);
    }
}

/* The largest sum first; ties by the text of the other cells from left to right. */
static int by_sum(const void *left, const void *right, void *context)
{
    const ordering *o = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double first = gt_column_number(o->sums, a), second = gt_column_number(o->sums, b);
    if (first != second) return first > second ? -1 : 1;
    for (size_t c = 0; c < o->table->column_count; c++) {
        const gt_column *column = &o->table->columns[c];
        char digits[2][GT_NUMBER_MAX];
        if (column == o->sums || (column->type == GT_TYPE_STRING && column->texts[a] == column->texts[b]))
            continue;
        int order = gt_str_compare(cell_text(o, column, a, digits[0]), cell_text(o, column, b, digits[1]));
        if (order) return order;
    }
    return (a > b) - (a < b);
}

static void sort_rows(gt_table *table)
{
    ordering o = {table, gt_table_column(table, GT_COL_KERNEL_TIME_SUM)};
    uint32_t *rows = gt_alloc(table->row_count * sizeof *rows);
    for (uint32_t i = 0; i < table->row_count; i++) rows[i] = i;
    qsort_r(rows, table->row_count, sizeof *rows, by_sum, &o);
    gt_table_take(table, rows, table->row_count);
    gt_free(rows);
}

/* ---- maps of ops ---- */

/* A kernel, or a module, of an op in one trace. */
typedef struct member {
    uint32_t op, source; /* op: its index among the ops; source: 0 or 1 */
    uint32_t text;
} member;

typedef struct members {
    member *items;
    size_t count, capacity;
    const gt_interner *strings;
} members;

static int by_place_and_text(const void *left, const void *right, void *context)
{
    const gt_interner *strings = context;
    const member *a = left, *b = right;
    if (a->op != b->op) return a->op < b->op ? -1 : 1;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    return gt_str_compare(gt_interner_get(strings, a->text), gt_interner_get(strings, b->text));
}

static void add_member(members *list, gt_map *seen, member m)
{
    uint32_t *known = gt_map_put(seen, (uint64_t)m.op << 1 | m.source, m.text);
    if (*known != GT_MAP_NONE) return;
    *known = 1;
    GT_PUSH(list->items, list->count, list->capacity, m);
}

/* The distinct strings of a column per op and source of the summary, in byte order. */
static members collect(const gt_table *summary, gt_col column, const uint32_t *op_places,
                       const uint8_t *sources)
{
    const uint32_t *texts = gt_table_column(summary, column)->texts;
    members list = {.strings = summary->strings};
    gt_map seen = {0};
    for (size_t row = 0; row < summary->row_count; row++)
        add_member(&list, &seen, (member){op_places[row], sources[row], texts[row]});
    gt_map_free(&seen);
    if (list.count)
        qsort_r(list.items, list.count, sizeof *list.items, by_place_and_text,
                (void *)(uintptr_t)summary->strings);
    return list;
}

static uint8_t *sources_of(const gt_table *table)
{
    const uint32_t *texts = gt_table_column(table, GT_COL_SOURCE)->texts;
    uint32_t second = gt_interner_add_cstr(table->strings, "trace2");
    uint8_t *sources = gt_alloc(table->row_count);
    for (size_t row = 0; row < table->row_count; row++) sources[row] = texts[row] == second;
    return sources;
}

/* Numbers the ops in the order first seen; *ops gets their names. */
static uint32_t *number_ops(const gt_table *summary, gt_row_list *ops)
{
    const uint32_t *names = gt_table_column(summary, GT_COL_CPU_OP_NAME)->texts;
    uint32_t *places = gt_alloc(summary->row_count * sizeof *places);
    gt_map seen = {0};
    for (size_t row = 0; row < summary->row_count; row++) {
        uint32_t *place = gt_map_put(&seen, names[row], 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)ops->count;
            GT_PUSH(ops->items, ops->count, ops->capacity, names[row]);
        }
        places[row] = *place;
    }
    gt_map_free(&seen);
    return places;
}

static gt_table *new_map(gt_sheet name, gt_interner *strings, bool with_modules)
{
    static const gt_column_head columns[] = {{GT_COL_CPU_OP_NAME, GT_TYPE_STRING},
                                             {GT_COL_SOURCE, GT_TYPE_STRING},
                                             {GT_COL_KERNELS, GT_TYPE_LIST},
                                             {GT_COL_NN_MODULE_PARENTS, GT_TYPE_LIST}};
    gt_table *table = gt_table_new(name, strings);
    gt_table_add_columns(table, columns, with_modules ? 4 : 3);
    for (size_t c = 2; c < table->column_count; c++) gt_list_of(&table->columns[c], GT_TYPE_STRING);
    return table;
}

static void fill_list(gt_table *table, gt_col column, size_t row, const members *list, size_t *at, member of)
{
    gt_column *cells = gt_table_column(table, column);
    gt_list_begin(cells, row);
    for (; *at < list->count && list->items[*at].op == of.op && list->items[*at].source == of.source; ++*at)
        gt_list_push_string(cells, list->items[*at].text);
}

/* One row per op and source. */
static gt_table *map_ops(const gt_table *summary)
{
    gt_row_list ops = {0};
    uint32_t *places = number_ops(summary, &ops);
    uint8_t *sources = sources_of(summary);
    members kernels = collect(summary, GT_COL_NAME, places, sources);
    members modules = collect(summary, GT_COL_NN_MODULE_PARENT, places, sources);
    gt_table *table = new_map(GT_SHEET_CPU_OP_MAP, summary->strings, true);
    for (size_t k = 0, m = 0; k < kernels.count;) {
        member of = kernels.items[k];
        size_t row = gt_table_add_row(table);
        gt_table_set_string(table, 0, row, ops.items[of.op]);
        gt_table_set_cstr(table, 1, row, of.source ? "trace2" : "trace1");
        fill_list(table, GT_COL_KERNELS, row, &kernels, &k, of);
        fill_list(table, GT_COL_NN_MODULE_PARENTS, row, &modules, &m, of);
    }
    gt_free_all(kernels.items, modules.items, places, sources, ops.items);
    return table;
}

/* The rows of one source, by name. */
static gt_table *map_of_source(const gt_table *both, size_t source, gt_sheet name)
{
    gt_table *table = gt_table_copy(both);
    const uint32_t *sources = gt_table_column(table, GT_COL_SOURCE)->texts;
    uint32_t wanted = gt_interner_add_cstr(table->strings, source ? "trace2" : "trace1");
    uint32_t *rows = gt_alloc(table->row_count * sizeof *rows);
    size_t count = 0;
    for (uint32_t row = 0; row < table->row_count; row++)
        if (sources[row] == wanted) rows[count++] = row;
    gt_order_by_strings(rows, count, gt_table_column(table, GT_COL_CPU_OP_NAME)->texts, table->strings,
                        false);
    gt_table_take(table, rows, count);
    gt_table_drop_column(table, gt_table_find(table, GT_COL_NN_MODULE_PARENTS));
    gt_table_drop_column(table, gt_table_find(table, GT_COL_SOURCE));
    gt_table_rename(table, name);
    gt_free(rows);
    return table;
}

/* ---- the sheet ---- */

static void drop_second(gt_table *table)
{
    uint8_t *drop = sources_of(table);
    for (size_t row = 0; row < table->row_count; row++) drop[row] = !drop[row];
    gt_table_keep(table, drop);
    gt_table_drop_column(table, gt_table_find(table, GT_COL_SOURCE));
    gt_free(drop);
}

gt_diff_summary gt_diff_summarize(const gt_diff_stats *stats)
{
    gt_diff_summary s = {.table = group_rows(stats->table)};
    sort_rows(s.table);
    gt_table *original = map_ops(s.table);
    s.op_maps[0] = map_of_source(original, 0, GT_SHEET_CPU_OP_MAP_TRACE1);
    s.op_maps[1] = map_of_source(original, 1, GT_SHEET_CPU_OP_MAP_TRACE2);
    gt_table_free(original);
    use_common_names(s.table, stats);
    s.op_map = map_ops(s.table);
    if (stats->identical) {
        drop_second(s.table);
        drop_second(s.op_map);
    }
    return s;
}
