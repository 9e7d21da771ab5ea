/* Joins by grouping: the keys of both tables are concatenated and grouped; rows of the same group match. The
 * rows of each group are stored contiguously, so that finding all pairs takes linear time in their number. */
#include "table/operations.h"
#include "table/column.h"
#include "base/guard.h"

/* Rows of one table by group: those of group g are rows[ends[g - 1] .. ends[g]). */
typedef struct members {
    uint32_t *rows;
    size_t *ends;
} members;

static members members_new(const uint32_t *group_of_row, size_t row_count, size_t group_count)
{
    members m = {gt_alloc(row_count * sizeof *m.rows), gt_alloc_zero(group_count, sizeof *m.ends)};
    size_t total = 0;
    for (size_t row = 0; row < row_count; row++) m.ends[group_of_row[row]]++;
    for (size_t g = 0; g < group_count; g++) {
        size_t here = m.ends[g];
        m.ends[g] = total; /* start of the group; filling it moves this to its end */
        total += here;
    }
    for (size_t row = 0; row < row_count; row++) m.rows[m.ends[group_of_row[row]]++] = (uint32_t)row;
    return m;
}

static void members_free(members *m)
{
    gt_free_all(m->rows, m->ends);
}

static const uint32_t *members_of(const members *m, size_t group, size_t *count)
{
    size_t begin = group ? m->ends[group - 1] : 0;
    *count = m->ends[group] - begin;
    return m->rows + begin;
}

typedef struct work {
    gt_join_kind kind;
    size_t left_count; /* rows of the left table */
    gt_table *keys;    /* the key columns of the left rows, then those of the right rows */
    gt_groups groups;  /* of the rows of `keys` */
    members left, right;
    uint32_t *left_rows, *right_rows, *key_rows; /* of each row of the result */
    size_t count;
} work;

static gt_table *copy_keys(const gt_table *table, const gt_join *join)
{
    gt_table *keys = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t k = 0; k < join->key_count; k++) {
        gt_column column =
            gt_column_take(gt_table_column_near(table, join->keys[k], k), NULL, table->row_count);
        GT_PUSH(keys->columns, keys->column_count, keys->column_capacity, column);
    }
    keys->row_count = table->row_count;
    return keys;
}

static bool match_keys(work *w, const gt_table *left, const gt_table *right, const gt_join *join,
                       gt_error *error)
{
    w->keys = copy_keys(left, join);
    gt_table *right_keys = copy_keys(right, join);
    bool stacked = gt_table_append(w->keys, right_keys, error);
    gt_table_free(right_keys);
    if (!stacked) return false;
    gt_group_options options = {.keep_nulls = true, .sorted = join->kind == GT_JOIN_OUTER};
    w->groups = gt_groups_find(w->keys, join->keys, join->key_count, options);
    w->left = members_new(w->groups.of_row, left->row_count, w->groups.count);
    w->right = members_new(w->groups.of_row + left->row_count, right->row_count, w->groups.count);
    return true;
}

/* Counts the rows of the result and makes room for them. */
static bool make_room(work *w, size_t columns, size_t most_cells, gt_error *error)
{
    size_t total = 0, most_rows = GT_NO_ROW - 1;
    if (most_cells && most_cells / columns < most_rows) most_rows = most_cells / columns;
    for (size_t g = 0; g < w->groups.count; g++) {
        size_t left, right;
        members_of(&w->left, g, &left);
        members_of(&w->right, g, &right);
        total += left * right;
        if (w->kind != GT_JOIN_INNER && !right) total += left;
        if (w->kind == GT_JOIN_OUTER && !left) total += right;
        if (total > most_rows)
            return gt_fail(error, "joined tables would have more than %zu rows", most_rows);
    }
    w->left_rows = gt_alloc(total * sizeof *w->left_rows);
    w->right_rows = gt_alloc(total * sizeof *w->right_rows);
    w->key_rows = gt_alloc(total * sizeof *w->key_rows);
    return true;
}

static void add_pair(work *w, uint32_t left, uint32_t right)
{
    w->left_rows[w->count] = left;
    w->right_rows[w->count] = right;
    w->key_rows[w->count++] = left == GT_NO_ROW ? (uint32_t)(w->left_count + right) : left;
}

static void pair_left_row(work *w, uint32_t row)
{
    size_t count;
    const uint32_t *matches = members_of(&w->right, w->groups.of_row[row], &count);
    for (size_t i = 0; i < count; i++) add_pair(w, row, matches[i]);
    if (!count && w->kind != GT_JOIN_INNER) add_pair(w, row, GT_NO_ROW);
}

static void pair_rows(work *w)
{
    if (w->kind != GT_JOIN_OUTER) {
        for (size_t row = 0; row < w->left_count; row++) pair_left_row(w, (uint32_t)row);
        return;
    }
    for (size_t g = 0; g < w->groups.count; g++) {
        size_t left_count, right_count;
        const uint32_t *left = members_of(&w->left, g, &left_count);
        const uint32_t *right = members_of(&w->right, g, &right_count);
        for (size_t i = 0; i < left_count; i++) pair_left_row(w, left[i]);
        for (size_t i = 0; i < right_count && !left_count; i++) add_pair(w, GT_NO_ROW, right[i]);
    }
}

/* Adds the rows of a column to the result, with the suffix if `other` has a column of that name. */
static void add_column(gt_table *result, const gt_column *column, const uint32_t *rows, size_t count,
                       const gt_column_index *other, const char *suffix)
{
    gt_column taken = gt_column_take(column, rows, count);
    if (other && gt_column_index_find(other, gt_col_named(column->name)) != SIZE_MAX) {
        gt_free(taken.name);
        taken.name = gt_format("%s%s", column->name, suffix);
    }
    GT_PUSH(result->columns, result->column_count, result->column_capacity, taken);
}

static gt_table *make_result(const work *w, const gt_table *left, const gt_table *right, const gt_join *join)
{
    gt_table *result = gt_table_new(gt_sheet_named(left->name), left->strings);
    gt_column_index in_keys = gt_column_index_new(w->keys), in_left = gt_column_index_new(left),
                    in_right = gt_column_index_new(right);
    for (size_t c = 0; c < left->column_count; c++) {
        const gt_column *column = &left->columns[c];
        size_t key = gt_column_index_find(&in_keys, gt_col_named(column->name));
        if (key != SIZE_MAX)
            add_column(result, &w->keys->columns[key], w->key_rows, w->count, NULL, NULL);
        else
            add_column(result, column, w->left_rows, w->count, &in_right,
                       join->left_suffix ? join->left_suffix : "_x");
    }
    for (size_t c = 0; c < right->column_count; c++)
        if (gt_column_index_find(&in_keys, gt_col_named(right->columns[c].name)) == SIZE_MAX)
            add_column(result, &right->columns[c], w->right_rows, w->count, &in_left,
                       join->right_suffix ? join->right_suffix : "_y");
    gt_column_index_free(&in_keys);
    gt_column_index_free(&in_left);
    gt_column_index_free(&in_right);
    result->row_count = w->count;
    return result;
}

gt_table *gt_table_join(const gt_table *left, const gt_table *right, const gt_join *join, gt_error *error)
{
    GT_CHECK(join->key_count && left->row_count + right->row_count < GT_NO_ROW);
    gt_table *moved = NULL, *result = NULL;
    if (right->strings != left->strings) {
        moved = gt_table_copy(right);
        gt_table_use_strings(moved, left->strings);
        right = moved;
    }
    work w = {.kind = join->kind, .left_count = left->row_count};
    size_t columns = left->column_count + right->column_count;
    if (match_keys(&w, left, right, join, error) && make_room(&w, columns, join->most_cells, error)) {
        pair_rows(&w);
        result = make_result(&w, left, right, join);
    }
    gt_table_free(w.keys);
    gt_groups_free(&w.groups);
    members_free(&w.left);
    members_free(&w.right);
    gt_free_all(w.left_rows, w.right_rows, w.key_rows);
    gt_table_free(moved);
    return result;
}
