/* Edit-distance alignment of two lists, 64 cells of the cost table at a time.
 *
 * The cost table has a row per item of the first list and a column per item of the second; a cell is the
 * least number of edits between the two prefixes. For the lists a b c and a c:
 *
 *              a  c
 *           0  1  2
 *        a  1  0  1
 *        b  2  1  1        back from the lower right corner: c matches c, b is deleted, a matches a
 *        c  3  2  1
 *
 * The walk back needs one bit of a cell: is it one more than the cell above it? Then deleting is optimal.
 * Myers' bit-parallel algorithm computes this bit for a whole column from the bits of the column before (G.
 * Myers, A fast bit-vector algorithm for approximate string matching, 1999; here with costs 0, 1, 2, ...
 * along both edges). To save memory, only the columns of one block are kept; the walk back recomputes earlier
 * blocks from the columns saved between blocks.
 *
 * Common ends of the lists need no table: the walk back matches a common suffix directly, and with a common
 * prefix the table is that of the rest, while inside the prefix costs are the difference of the lengths. */
#include "analysis/diff/internal.h"

void gt_diff_ops_add(gt_diff_ops *ops, uint32_t i, uint32_t j)
{
    GT_PUSH(ops->items, ops->count, ops->capacity, ((gt_diff_op){i, j}));
}

void gt_diff_ops_add_parts(gt_diff_ops *ops, const gt_diff_ops *parts, const gt_row_list of[2])
{
    for (size_t k = 0; k < parts->count; k++) {
        gt_diff_op op = parts->items[k];
        gt_diff_ops_add(ops, op.i == GT_NO_INDEX ? op.i : of[0].items[op.i],
                        op.j == GT_NO_INDEX ? op.j : of[1].items[op.j]);
    }
}

enum { WORD_BITS = 64, WHOLE_TABLE_WORDS = 1 << 20 };

typedef struct align_table {
    const uint32_t *first, *second;
    size_t begin;         /* length of the common prefix */
    size_t rows, columns; /* items of each list between the common prefix and the common suffix */
    size_t words;         /* 64-bit words per column */

    /* Rows of each distinct item of the first list. */
    gt_map symbols;   /* from an item to its number among them, its symbol */
    uint32_t *places; /* rows, grouped by symbol: places[ends[symbol - 1]] to places[ends[symbol] - 1] */
    uint32_t *ends, *dense; /* dense: by symbol: its index in dense_bits, or GT_NO_INDEX */
    uint64_t *dense_bits;   /* NULL if there are none */
    uint64_t *equal;        /* bits of the current item if it is not dense; all 0 between columns */

    size_t block;      /* columns per block */
    uint64_t *between; /* by block: up and down before its first column */
    uint64_t *up,
        *down;         /* of the current column: cells that are one more, or one less, than the cell above */
    uint64_t *kept;    /* of the current block: `up` of each column */
    size_t kept_block; /* its number, SIZE_MAX for none */
} align_table;

/* ---- items of the first list ---- */

/* GT_NO_INDEX if the first list does not have the item. */
static uint32_t symbol_of(const align_table *t, uint32_t item)
{
    uint32_t symbol = gt_map_get(&t->symbols, item, 0);
    return symbol == GT_MAP_NONE ? GT_NO_INDEX : symbol;
}

static void number_items(align_table *t)
{
    t->ends = gt_alloc_zero(t->rows, sizeof *t->ends);
    t->places = gt_alloc(t->rows * sizeof *t->places);
    for (size_t row = 0; row < t->rows; row++) {
        uint32_t *symbol = gt_map_put(&t->symbols, t->first[t->begin + row], 0);
        if (*symbol == GT_MAP_NONE) *symbol = (uint32_t)t->symbols.count - 1;
        t->ends[*symbol]++;
    }
    for (size_t s = 0, sum = 0; s < t->symbols.count; s++) {
        size_t count = t->ends[s];
        t->ends[s] = (uint32_t)sum;
        sum += count;
    }
    for (size_t row = 0; row < t->rows; row++)
        t->places[t->ends[symbol_of(t, t->first[t->begin + row])]++] = (uint32_t)row;
}

static size_t first_place(const align_table *t, size_t symbol)
{
    return symbol ? t->ends[symbol - 1] : 0;
}

static void set_bits(const align_table *t, size_t symbol, uint64_t *bits)
{
    for (size_t k = first_place(t, symbol); k < t->ends[symbol]; k++)
        bits[t->places[k] / WORD_BITS] |= (uint64_t)1 << t->places[k] % WORD_BITS;
}

/* Items that are in more rows than a column has words get their bits once instead of for every column. There
 * are fewer than 64 such items. */
static void set_dense_bits(align_table *t)
{
    size_t count = 0;
    t->dense = gt_alloc(t->symbols.count * sizeof *t->dense);
    for (size_t s = 0; s < t->symbols.count; s++)
        t->dense[s] = t->ends[s] - first_place(t, s) > t->words ? (uint32_t)count++ : GT_NO_INDEX;
    if (!count) return;
    t->dense_bits = gt_alloc_zero(count * t->words, sizeof *t->dense_bits);
    for (size_t s = 0; s < t->symbols.count; s++)
        if (t->dense[s] != GT_NO_INDEX) set_bits(t, s, t->dense_bits + t->dense[s] * t->words);
}

/* ---- columns ---- */

/* From one column to the next. `equal` has the bits of the rows whose item equals the next column's. */
static void advance(uint64_t *up, uint64_t *down, const uint64_t *equal, size_t words)
{
    uint64_t more_above = 1, less_above = 0; /* along the upper edge costs grow by one per column */
    for (size_t w = 0; w < words; w++) {
        uint64_t same = equal[w];
        uint64_t vertical = same | down[w];
        same |= less_above;
        uint64_t horizontal = (((same & up[w]) + up[w]) ^ up[w]) | same;
        uint64_t more = down[w] | ~(horizontal | up[w]);
        uint64_t less = up[w] & horizontal;
        uint64_t more_below = more >> (WORD_BITS - 1), less_below = less >> (WORD_BITS - 1);
        more = more << 1 | more_above;
        less = less << 1 | less_above;
        up[w] = less | ~(vertical | more);
        down[w] = more & vertical;
        more_above = more_below;
        less_above = less_below;
    }
}

static void compute_column(align_table *t, size_t column)
{
    uint32_t symbol = symbol_of(t, t->second[t->begin + column]);
    if (symbol != GT_NO_INDEX && t->dense[symbol] != GT_NO_INDEX) {
        advance(t->up, t->down, t->dense_bits + t->dense[symbol] * t->words, t->words);
        return;
    }
    if (symbol != GT_NO_INDEX) set_bits(t, symbol, t->equal);
    advance(t->up, t->down, t->equal, t->words);
    if (symbol == GT_NO_INDEX) return;
    for (size_t k = first_place(t, symbol); k < t->ends[symbol]; k++) t->equal[t->places[k] / WORD_BITS] = 0;
}

/* Computes a block from the column saved before it, and keeps its columns. */
static void keep_block(align_table *t, size_t block)
{
    size_t bytes = t->words * sizeof *t->up, begin = block * t->block;
    size_t end = begin + t->block < t->columns ? begin + t->block : t->columns;
    memcpy(t->up, t->between + 2 * block * t->words, bytes);
    memcpy(t->down, t->between + (2 * block + 1) * t->words, bytes);
    for (size_t column = begin; column < end; column++) {
        compute_column(t, column);
        memcpy(t->kept + (column - begin) * t->words, t->up, bytes);
    }
    t->kept_block = block;
}

static size_t root_of(size_t number)
{
    size_t root = 1;
    while (root * root < number) root++;
    return root;
}

static void make_columns(align_table *t)
{
    size_t bytes = t->words * sizeof *t->up;
    t->block = t->columns * t->words <= WHOLE_TABLE_WORDS ? t->columns : root_of(t->columns);
    size_t blocks = (t->columns + t->block - 1) / t->block;
    t->between = gt_alloc(2 * blocks * t->words * sizeof *t->between);
    t->up = gt_alloc(t->words * sizeof *t->up);
    t->down = gt_alloc_zero(t->words, sizeof *t->down);
    t->equal = gt_alloc_zero(t->words, sizeof *t->equal);
    t->kept = gt_alloc(t->block * t->words * sizeof *t->kept);
    t->kept_block = SIZE_MAX;
    memset(t->up, 0xFF, bytes); /* along the left edge costs grow by one per row */
    for (size_t block = 0; block < blocks; block++) {
        memcpy(t->between + 2 * block * t->words, t->up, bytes);
        memcpy(t->between + (2 * block + 1) * t->words, t->down, bytes);
        if (block + 1 == blocks) break; /* the walk back starts with this block and computes it */
        for (size_t column = block * t->block; column < (block + 1) * t->block; column++)
            compute_column(t, column);
    }
}

/* ---- the walk back ---- */

/* Whether deleting item i - 1 of the first list is optimal when j items of the second are left. */
static bool deletes(align_table *t, size_t i, size_t j)
{
    if (i <= t->begin || j <= t->begin) return i > j;
    size_t row = i - t->begin - 1, column = j - t->begin - 1;
    size_t block = column / t->block;
    if (t->kept_block != block) keep_block(t, block);
    return t->kept[(column - block * t->block) * t->words + row / WORD_BITS] >> row % WORD_BITS & 1;
}

static void go_back(align_table *t, size_t i, size_t j, gt_diff_ops *ops)
{
    ops->count = 0;
    while (i || j) {
        gt_diff_op op = {GT_NO_INDEX, GT_NO_INDEX};
        if (i && j && t->first[i - 1] == t->second[j - 1])
            op = (gt_diff_op){(uint32_t)--i, (uint32_t)--j};
        else if (deletes(t, i, j))
            op.i = (uint32_t)--i;
        else
            op.j = (uint32_t)--j;
        GT_PUSH(ops->items, ops->count, ops->capacity, op);
    }
    for (size_t k = 0; k < ops->count / 2; k++) {
        gt_diff_op op = ops->items[k];
        ops->items[k] = ops->items[ops->count - 1 - k];
        ops->items[ops->count - 1 - k] = op;
    }
}

static void free_table(align_table *t)
{
    gt_free_all(t->places, t->ends, t->dense, t->dense_bits, t->equal, t->between, t->up, t->down, t->kept);
    gt_map_free(&t->symbols);
}

bool gt_align(uint64_t *cells_left, const uint32_t *first, size_t first_count, const uint32_t *second,
              size_t second_count, gt_diff_ops *ops)
{
    size_t rows = first_count, columns = second_count;
    align_table t = {.first = first, .second = second};
    while (rows && columns && first[rows - 1] == second[columns - 1]) rows--, columns--;
    while (rows && columns && first[t.begin] == second[t.begin]) t.begin++, rows--, columns--;
    t.rows = rows;
    t.columns = columns;
    if (rows && columns) {
        if ((uint64_t)rows > *cells_left / columns) return false;
        *cells_left -= (uint64_t)rows * columns;
        t.words = (rows + WORD_BITS - 1) / WORD_BITS;
        number_items(&t);
        set_dense_bits(&t);
        make_columns(&t);
    }
    go_back(&t, first_count, second_count, ops);
    free_table(&t);
    return true;
}
