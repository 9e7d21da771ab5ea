/* Sheets side by side: the columns of each report get its tag, the tables are joined one after the other by
 * their keys, and the differences are computed from the joined columns. */
#include "analysis/compare/compare.h"

#include "schema/columns.h"

const char *const gt_split_names[GT_SPLITS] = {"intersect", "only_baseline", "only_variant"};

/* ---- keys of the same type ---- */

static bool is_all_null(const gt_column *column, size_t rows)
{
    for (size_t row = 0; row < rows; row++)
        if (!gt_column_is_null(column, row)) return false;
    return true;
}

static bool is_number(gt_type type)
{
    return type == GT_TYPE_INT || type == GT_TYPE_FLOAT;
}

static uint32_t cell_as_string(gt_interner *strings, const gt_column *column, size_t row)
{
    char printed[GT_NUMBER_MAX];
    if (gt_column_is_null(column, row)) return GT_STR_NONE;
    if (column->type == GT_TYPE_STRING) return column->texts[row];
    if (column->type == GT_TYPE_BOOL)
        return gt_interner_add_cstr(strings, column->bools[row] ? "True" : "False");
    size_t len = column->type == GT_TYPE_INT ? gt_print_int(printed, column->ints[row])
                                             : gt_print_double(printed, column->floats[row]);
    return gt_interner_add(strings, printed, len);
}

static void convert_to_string(gt_table *table, size_t column)
{
    if (table->columns[column].type == GT_TYPE_STRING) return;
    char *name = gt_strdup(table->columns[column].name);
    size_t made = gt_table_add_column(table, gt_col_named(name), GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++)
        gt_table_set_string(table, made, row, cell_as_string(table->strings, &table->columns[column], row));
    gt_column before = table->columns[column];
    table->columns[column] = table->columns[made];
    table->columns[made] = before;
    gt_table_drop_column(table, made);
    gt_free(name);
}

/* Makes a key a STRING in all reports if its types do not compare: it is a number in one report and a string
 * in another, or one report has no value at all. */
static void align_key(gt_table *const *tables, size_t count, size_t key)
{
    bool comparable = true;
    gt_type first = tables[0]->columns[key].type;
    for (size_t i = 0; i < count; i++) {
        gt_type type = tables[i]->columns[key].type;
        comparable = comparable && (type == first || (is_number(type) && is_number(first)));
    }
    for (size_t i = 0; i < count && !comparable; i++) convert_to_string(tables[i], key);
}

/* ---- rows one to one ----
 *
 * The column GT_COL_PAIR becomes one more key of the join: the row's number in the baseline, and in a variant
 * that of its partner there. Rows without a partner get numbers that the baseline does not have. */

/* Columns of the baseline and of a variant that must agree. */
typedef struct pair_keys {
    size_t columns[2][GT_COMPARE_KEYS_MAX];
    size_t count;
} pair_keys;

static size_t find_tagged(const gt_table *table, const char *tag, gt_col column);

static pair_keys find_pair_keys(const gt_table *const tables[2], const char *const tags[2],
                                const gt_compare_rule *rule)
{
    pair_keys keys = {.count = 0};
    for (size_t i = 0; i < rule->finer_key_count && keys.count < GT_COMPARE_KEYS_MAX; i++) {
        size_t found[2];
        for (size_t side = 0; side < 2; side++)
            found[side] = find_tagged(tables[side], tags[side], rule->finer_keys[i]);
        if (found[0] == SIZE_MAX || found[1] == SIZE_MAX) continue;
        for (size_t side = 0; side < 2; side++) keys.columns[side][keys.count] = found[side];
        keys.count++;
    }
    return keys;
}

/* Numbers of both types that are equal give equal texts; strings are compared by their ids, because many rows
 * may share a long one. */
static void add_cell(gt_buffer *out, const gt_table *table, size_t column, size_t row)
{
    const gt_column *cells = &table->columns[column];
    char printed[GT_NUMBER_MAX];
    gt_str text = {"", 0};
    bool is_null = gt_column_is_null(cells, row);
    if (!is_null && cells->type == GT_TYPE_STRING)
        text = (gt_str){printed, gt_print_int(printed, cells->texts[row])};
    else if (!is_null)
        text = (gt_str){printed, gt_print_double(printed, gt_column_number(cells, row))};
    gt_buffer_add_format(out, "%d %zu ", is_null, text.len);
    gt_buffer_add(out, text.bytes, text.len);
}

/* What a row has in the keys and in the first `finer` finer ones, as a string id. */
static uint32_t key_of(gt_interner *strings, gt_buffer *text, const gt_table *table, size_t row,
                       size_t key_count, const size_t *columns, size_t finer)
{
    text->len = 0;
    for (size_t k = 0; k < key_count; k++) add_cell(text, table, k, row);
    for (size_t k = 0; k < finer; k++) add_cell(text, table, columns[k], row);
    return gt_interner_add(strings, text->bytes, text->len);
}

/* The rows of the baseline that wait for a partner, by key: the first one, and after each row the next. */
typedef struct waiting_rows {
    gt_map first;
    uint32_t *next;
} waiting_rows;

static void pair_stage(const gt_table *const tables[2], size_t key_count, const pair_keys *keys, size_t finer,
                       bool *is_taken, int64_t *partners)
{
    gt_interner *strings = gt_interner_new();
    gt_buffer text = {0};
    size_t rows = tables[0]->row_count;
    waiting_rows waiting = {.next = gt_alloc((rows + 1) * sizeof *waiting.next)};
    for (size_t row = rows; row-- > 0;) {
        if (is_taken[row]) continue;
        uint32_t key = key_of(strings, &text, tables[0], row, key_count, keys->columns[0], finer);
        uint32_t *first = gt_map_put(&waiting.first, key, 0);
        waiting.next[row] = *first;
        *first = (uint32_t)row;
    }
    for (size_t row = 0; row < tables[1]->row_count; row++) {
        if (partners[row] < (int64_t)rows) continue;
        uint32_t key = key_of(strings, &text, tables[1], row, key_count, keys->columns[1], finer);
        uint32_t *first = gt_map_put(&waiting.first, key, 0);
        if (*first == GT_MAP_NONE) continue;
        partners[row] = *first;
        is_taken[*first] = true;
        *first = waiting.next[*first];
    }
    gt_map_free(&waiting.first);
    gt_free(waiting.next);
    gt_buffer_free(&text);
    gt_interner_free(strings);
}

static void pair_rows(gt_table *const *tables, const char *const *tags, size_t count,
                      const gt_compare_rule *rule)
{
    for (size_t i = 0; i < count; i++) {
        size_t rows = tables[0]->row_count, column = gt_table_add_column(tables[i], GT_COL_PAIR, GT_TYPE_INT);
        int64_t *partners = gt_alloc((tables[i]->row_count + 1) * sizeof *partners);
        for (size_t row = 0; row < tables[i]->row_count; row++)
            partners[row] = (int64_t)(i ? rows + row : row);
        if (i) {
            const gt_table *const both[2] = {tables[0], tables[i]};
            pair_keys keys = find_pair_keys(both, (const char *const[2]){tags[0], tags[i]}, rule);
            bool *is_taken = gt_alloc_zero(rows + 1, sizeof *is_taken);
            for (size_t finer = keys.count + 1; finer-- > 0;)
                pair_stage(both, rule->key_count, &keys, finer, is_taken, partners);
            gt_free(is_taken);
        }
        for (size_t row = 0; row < tables[i]->row_count; row++)
            gt_table_set_int(tables[i], column, row, partners[row]);
        gt_free(partners);
    }
}

/* ---- joining ---- */

/* A copy with the keys first and the tag before all other column names. */
static gt_table *tagged_copy(const gt_compared *report, const gt_compare_rule *rule, gt_interner *strings)
{
    gt_table *table = gt_table_copy(report->table);
    if (table->strings != strings) gt_table_use_strings(table, strings);
    gt_column_index index = gt_column_index_new(table);
    size_t *order = gt_alloc(table->column_count * sizeof *order), count = 0;
    uint8_t *is_key = gt_alloc_zero(table->column_count, 1);
    for (size_t k = 0; k < rule->key_count; k++) {
        order[count] = gt_column_index_find(&index, rule->keys[k]);
        is_key[order[count++]] = 1;
    }
    for (size_t c = 0; c < table->column_count; c++)
        if (!is_key[c]) order[count++] = c;
    gt_table_arrange(table, order, count);
    gt_column_index_free(&index);
    gt_free_all(is_key, order);
    for (size_t c = rule->key_count; c < table->column_count; c++) {
        char *name = gt_format("%s::%s", report->tag, table->columns[c].name);
        gt_table_rename_column(table, c, gt_col_named(name));
        gt_free(name);
    }
    return table;
}

/* A join may have 16 cells per cell of all tables and per table, which no keys that are nearly unique need,
 * and these; fewer if cells have more than these bytes of text on average, but those that unique keys need. n
 * rows with equal keys on both sides would become n^2 rows. */
enum { CELLS_PER_CELL = 16, CELLS_OF_UNIQUE = 2, CELLS_AT_LEAST = 4 << 20, TEXT_BYTES = 64 };

static size_t text_bytes(const gt_table *table)
{
    size_t bytes = 0;
    for (size_t c = 0; c < table->column_count; c++)
        for (size_t row = 0; table->columns[c].type == GT_TYPE_STRING && row < table->row_count; row++) {
            uint32_t text = table->columns[c].texts[row];
            if (text != GT_STR_NONE) bytes += gt_interner_get(table->strings, text).len;
        }
    return bytes;
}

static size_t most_cells(gt_table *const *tables, size_t count)
{
    size_t cells = 1, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        cells += tables[i]->row_count * tables[i]->column_count;
        bytes += text_bytes(tables[i]);
    }
    size_t most = (cells * count * CELLS_PER_CELL + CELLS_AT_LEAST) / (bytes / cells / TEXT_BYTES + 1);
    size_t unique = cells * count * CELLS_OF_UNIQUE;
    return most > unique ? most : unique;
}

static gt_table *join_all(gt_table *const *tables, size_t count, const gt_compare_rule *rule, gt_error *error)
{
    gt_col *keys = gt_alloc((rule->key_count + 1) * sizeof *keys);
    for (size_t k = 0; k < rule->key_count; k++) keys[k] = rule->keys[k];
    keys[rule->key_count] = GT_COL_PAIR;
    gt_join join = {.kind = GT_JOIN_OUTER,
                    .keys = keys,
                    .key_count = rule->key_count + (rule->is_one_to_one ? 1 : 0),
                    .most_cells = most_cells(tables, count)};
    gt_table *joined = gt_table_copy(tables[0]);
    for (size_t i = 1; i < count && joined; i++) {
        gt_table *next = gt_table_join(joined, tables[i], &join, error);
        gt_table_free(joined);
        joined = next;
    }
    gt_free(keys);
    if (joined && rule->is_one_to_one) gt_table_drop_column(joined, gt_table_find(joined, GT_COL_PAIR));
    if (joined) gt_table_widen_ints(joined);
    return joined;
}

/* ---- differences ---- */

/* Whether both columns are INT and their difference fits an int64 in every row. */
static bool has_int_difference(const gt_column *base, const gt_column *variant, size_t rows)
{
    int64_t difference;
    if (base->type != GT_TYPE_INT || variant->type != GT_TYPE_INT) return false;
    for (size_t row = 0; row < rows; row++)
        if (gt_column_is_null(base, row) || gt_column_is_null(variant, row) ||
            __builtin_sub_overflow(variant->ints[row], base->ints[row], &difference))
            return false;
    return true;
}

static void fill_change(gt_table *table, size_t base, size_t variant, size_t diff, size_t pct)
{
    bool whole = table->columns[diff].type == GT_TYPE_INT;
    for (size_t row = 0; row < table->row_count; row++) {
        const gt_column *a = &table->columns[base], *b = &table->columns[variant];
        double from = gt_column_number(a, row), change = gt_column_number(b, row) - from;
        if (whole)
            gt_table_set_int(table, diff, row, b->ints[row] - a->ints[row]);
        else
            gt_table_set_float(table, diff, row, change);
        gt_table_set_float(table, pct, row, from == 0 ? NAN : 100.0 * change / from);
    }
}

static size_t add_named(gt_table *table, gt_col column, const char *tag, const char *change, gt_type type)
{
    char *name = gt_format("%s__%s_%s", column.name, tag, change);
    size_t index = gt_table_add_column(table, gt_col_named(name), type);
    gt_free(name);
    return index;
}

static size_t find_tagged(const gt_table *table, const char *tag, gt_col column)
{
    char *name = gt_format("%s::%s", tag, column.name);
    size_t index = gt_table_find(table, gt_col_named(name));
    gt_free(name);
    return index;
}

/* Adds the two columns of a change at the end; false if the reports do not both have numbers. */
static bool add_change(gt_merged *merged, size_t variant, gt_col column)
{
    gt_table *table = merged->table;
    size_t base = find_tagged(table, merged->tags[0], column);
    size_t other = find_tagged(table, merged->tags[variant], column);
    if (base == SIZE_MAX || other == SIZE_MAX) return false;
    if (!is_number(table->columns[base].type) || !is_number(table->columns[other].type)) return false;
    bool whole = has_int_difference(&table->columns[base], &table->columns[other], table->row_count);
    size_t diff =
        add_named(table, column, merged->tags[variant], "diff", whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    size_t pct = add_named(table, column, merged->tags[variant], "pct", GT_TYPE_FLOAT);
    fill_change(table, base, other, diff, pct);
    return true;
}

/* Adds all changes between the keys and the columns of the reports, and records the report of each column. */
static void add_changes(gt_merged *merged, const gt_compare_rule *rule, gt_table *const *tables)
{
    size_t *reports = NULL, count = 0, capacity = 0;
    for (size_t k = 0; k < rule->key_count; k++) GT_PUSH(reports, count, capacity, GT_KEY_COLUMN);
    for (size_t d = 0; d < rule->difference_count; d++)
        for (size_t variant = 1; variant < merged->report_count; variant++) {
            if (!add_change(merged, variant, rule->differences[d])) continue;
            for (int i = 0; i < 2; i++) {
                size_t last = merged->table->column_count - 1;
                gt_table_move_column(merged->table, i ? last : last - 1, count);
                GT_PUSH(reports, count, capacity, variant);
            }
        }
    for (size_t r = 0; r < merged->report_count; r++)
        for (size_t c = rule->key_count; c < tables[r]->column_count; c++)
            if (!gt_column_is(&tables[r]->columns[c], GT_COL_PAIR)) GT_PUSH(reports, count, capacity, r);
    merged->report_of_column = reports;
}

gt_merged *gt_compare_merge(gt_sheet name, const gt_compared *reports, size_t count,
                            const gt_compare_rule *rule, gt_error *error)
{
    gt_table **tables = gt_alloc_zero(count, sizeof *tables);
    gt_merged *merged = gt_alloc_zero(1, sizeof *merged);
    merged->tags = gt_alloc(count * sizeof *merged->tags);
    merged->report_count = count;
    for (size_t i = 0; i < count; i++) {
        merged->tags[i] = reports[i].tag;
        tables[i] = tagged_copy(&reports[i], rule, reports[0].table->strings);
    }
    for (size_t k = 0; k < rule->key_count; k++) align_key(tables, count, k);
    gt_compare_rule by = *rule;
    if (!by.is_one_to_one) merged->table = join_all(tables, count, &by, error);
    if (!merged->table && !by.is_one_to_one)
        gt_warn("sheet %s: so many rows have equal keys that %s; of such rows, the first of each report are "
                "compared with each other, then the second, and so on",
                name.name, error->text);
    if (!merged->table) {
        by.is_one_to_one = true;
        pair_rows(tables, merged->tags, count, &by);
        merged->table = join_all(tables, count, &by, error);
    }
    if (merged->table) {
        gt_table_rename(merged->table, name);
        add_changes(merged, rule, tables);
    }
    for (size_t i = 0; i < count; i++) gt_table_free(tables[i]);
    gt_free(tables);
    if (merged->table) return merged;
    gt_merged_free(merged);
    return NULL;
}

void gt_merged_free(gt_merged *merged)
{
    if (!merged) return;
    gt_table_free(merged->table);
    gt_free_all(merged->tags, merged->report_of_column, merged);
}

/* ---- columns and order ---- */

const gt_column *gt_merged_column(const gt_merged *merged, size_t report, gt_col column)
{
    size_t index = find_tagged(merged->table, merged->tags[report], column);
    return index == SIZE_MAX ? NULL : &merged->table->columns[index];
}

static void sort_descending(gt_table *table, const char *tag, gt_col column)
{
    char *name = gt_format("%s::%s", tag, column.name);
    gt_sort_key key = {gt_col_named(name), .descending = true};
    if (gt_table_find(table, gt_col_named(name)) != SIZE_MAX) gt_table_sort(table, &key, 1);
    gt_free(name);
}

void gt_merged_sort(gt_merged *merged, size_t report, gt_col column)
{
    sort_descending(merged->table, merged->tags[report], column);
}

/* ---- rows of both reports, or of one only ---- */

static bool keeps_report(gt_split_kind kind, size_t report, size_t variant)
{
    if (report == GT_KEY_COLUMN) return true;
    return (report == 0 && kind != GT_SPLIT_ONLY_VARIANT) ||
           (report == variant && kind != GT_SPLIT_ONLY_BASELINE);
}

static void keep_rows(gt_table *table, const gt_merged *merged, gt_split_kind kind, size_t variant,
                      gt_col column)
{
    static const struct {
        bool in_base, in_variant;
    } wanted[GT_SPLITS] = {{true, true}, {true, false}, {false, true}};
    const gt_column *base = gt_merged_column(merged, 0, column);
    const gt_column *other = gt_merged_column(merged, variant, column);
    uint8_t *keep = gt_alloc(table->row_count);
    for (size_t row = 0; row < table->row_count; row++)
        keep[row] = gt_column_is_null(base, row) != wanted[kind].in_base &&
                    gt_column_is_null(other, row) != wanted[kind].in_variant;
    gt_table_keep(table, keep);
    gt_free(keep);
}

gt_table *gt_compare_split(const gt_merged *merged, gt_sheet name, gt_split_kind kind, size_t variant,
                           gt_col column)
{
    gt_table *table = gt_table_copy(merged->table);
    gt_table_rename(table, name);
    keep_rows(table, merged, kind, variant, column);
    sort_descending(table, merged->tags[kind == GT_SPLIT_ONLY_VARIANT ? variant : 0], column);
    size_t *kept = gt_alloc(table->column_count * sizeof *kept), count = 0;
    for (size_t c = 0; c < table->column_count; c++)
        if (keeps_report(kind, merged->report_of_column[c], variant) &&
            !is_all_null(&table->columns[c], table->row_count))
            kept[count++] = c;
    gt_table_arrange(table, kept, count);
    gt_free(kept);
    gt_table_widen_ints(table);
    return table;
}
