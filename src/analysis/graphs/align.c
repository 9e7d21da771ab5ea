/* The worth of a pair, and the alignment of two sequences.
 *
 * Row i of the dynamic program is about the first i kernels, column j about the first j tokens. A cell needs
 * only the row before, so two rows are kept, and one byte per cell says where it came from. Columns further
 * from the diagonal than the band are not computed. Graphs repeat their layers, so there are far fewer
 * different kernels and tokens than pairs: the worth of each different pair is computed once. */
#include "analysis/graphs/align.h"

enum { SAME_LAUNCH = 6, SAME_NAME = 5, SAME_STEM = 4, SAME_CLASS = 3, NO_PAIR = -4 };

/* ---- the worth of a pair ---- */

static int worth_of_names(const gt_graph_facts *facts, const gt_graph_kernel *kernel,
                          const gt_graph_token *token)
{
    if (kernel->name == token->name) return kernel->grid == token->grid ? SAME_LAUNCH : SAME_NAME;
    gt_kernel_name a = gt_graph_kernel_name(facts->names, kernel->name);
    gt_kernel_name b = gt_graph_kernel_name(facts->names, token->name);
    if (a.stem == b.stem) return SAME_STEM;
    bool same_class = a.class == b.class && gt_class_is_strong(a.class);
    return same_class && !a.is_helper && !b.is_helper ? SAME_CLASS : NO_PAIR;
}

/* A helper is worth less: an op has one, and it may launch other kernels, too. */
int gt_graph_similarity(const gt_graph_facts *facts, const gt_graph_kernel *kernel,
                        const gt_graph_token *token)
{
    enum { MEMORY = 4, LEARNED = 5, LEARNED_HELPER = 3, BY_TABLE = 5, OP_CLASS = 4, OP_HELPER = 2, OPEN = 1 };
    if (token->name != GT_STR_NONE) return worth_of_names(facts, kernel, token);
    if (token->is_memory != kernel->is_memory) return NO_PAIR;
    if (kernel->is_memory) return MEMORY;
    gt_kernel_name name = gt_graph_kernel_name(facts->names, kernel->name);
    if (gt_stem_ops_has(facts->learned, name.stem, token->op))
        return name.is_helper ? LEARNED_HELPER : LEARNED;
    if (name.op == token->op) return BY_TABLE;
    uint8_t class = gt_graph_op_class(facts->names, token->op);
    if (class == name.class) return name.is_helper ? OP_HELPER : OP_CLASS;
    bool differs = class != GT_OP_CLASS_NONE && gt_class_is_strong(name.class);
    return differs || name.op != GT_STR_NONE ? NO_PAIR : OPEN;
}

/* ---- different kernels and tokens ---- */

typedef struct pairs {
    uint32_t *kernel_kind, *token_kind;   /* by kernel and token: which of the different ones it is */
    uint32_t *first_kernel, *first_token; /* by kind: the first of it */
    size_t kernel_kinds, token_kinds;
    int8_t *worth; /* by kind of kernel, then kind of token */
} pairs;

static void find_kernel_kinds(pairs *p, const gt_graph_kernel *kernels, size_t count)
{
    gt_map kinds = {0};
    p->kernel_kind = gt_alloc(count * sizeof *p->kernel_kind);
    p->first_kernel = gt_alloc(count * sizeof *p->first_kernel);
    for (size_t i = 0; i < count; i++) {
        uint32_t *kind =
            gt_map_put(&kinds, kernels[i].name, (uint64_t)kernels[i].grid << 1 | kernels[i].is_memory);
        if (*kind == GT_MAP_NONE) {
            *kind = (uint32_t)p->kernel_kinds;
            p->first_kernel[p->kernel_kinds++] = (uint32_t)i;
        }
        p->kernel_kind[i] = *kind;
    }
    gt_map_free(&kinds);
}

static void find_token_kinds(pairs *p, const gt_graph_token *tokens, size_t count)
{
    gt_map kinds = {0};
    p->token_kind = gt_alloc(count * sizeof *p->token_kind);
    p->first_token = gt_alloc(count * sizeof *p->first_token);
    for (size_t j = 0; j < count; j++) {
        const gt_graph_token *token = &tokens[j];
        uint64_t launch = (uint64_t)token->name << 32 | token->grid;
        uint32_t *kind = gt_map_put(&kinds, launch, (uint64_t)token->op << 1 | token->is_memory);
        if (*kind == GT_MAP_NONE) {
            *kind = (uint32_t)p->token_kinds;
            p->first_token[p->token_kinds++] = (uint32_t)j;
        }
        p->token_kind[j] = *kind;
    }
    gt_map_free(&kinds);
}

/* If there are more different pairs than this, their worth is not kept but computed where it is needed. */
enum { WORTH_MAX = 1 << 24 };

static pairs pairs_new(const gt_graph_facts *facts, const gt_graph_kernel *kernels, size_t kernel_count,
                       const gt_graph_token *tokens, size_t token_count)
{
    pairs p = {0};
    find_kernel_kinds(&p, kernels, kernel_count);
    find_token_kinds(&p, tokens, token_count);
    if (p.kernel_kinds > WORTH_MAX / p.token_kinds) return p;
    p.worth = gt_alloc(p.kernel_kinds * p.token_kinds);
    for (size_t a = 0; a < p.kernel_kinds; a++)
        for (size_t b = 0; b < p.token_kinds; b++)
            p.worth[a * p.token_kinds + b] =
                (int8_t)gt_graph_similarity(facts, &kernels[p.first_kernel[a]], &tokens[p.first_token[b]]);
    return p;
}

static void pairs_free(pairs *p)
{
    gt_free_all(p->kernel_kind, p->token_kind, p->first_kernel, p->first_token, p->worth);
}

/* ---- the dynamic program ---- */

/* Where a cell came from. The first one wins where several are worth the same. */
enum { PAIR, KERNEL_ALONE, TOKEN_ALONE };

/* Far below any sum of worths. */
#define UNREACHABLE (-1000000000)

/* No more cells than this: the band of longer sequences is narrower. */
enum { CELLS_MAX = 1 << 27, LEAST_BAND = 48 };

typedef struct program {
    const gt_graph_facts *facts;
    const gt_graph_kernel *kernels;
    const gt_graph_token *tokens;
    size_t kernel_count, token_count, band, width; /* columns of a row: at most */
    pairs pairs;
    int32_t *before, *now; /* by column */
    uint8_t *from;         /* by cell: row by row, from the first column of each */
} program;

/* The columns [first, last] of the row of kernel i. */
static size_t first_column(const program *p, size_t kernel)
{
    size_t middle = kernel * p->token_count / p->kernel_count;
    return middle > p->band ? middle - p->band : 0;
}

static size_t last_column(const program *p, size_t kernel)
{
    size_t middle = kernel * p->token_count / p->kernel_count;
    return p->token_count - middle > p->band ? middle + p->band : p->token_count;
}

static int worth(const program *p, const int8_t *row, size_t kernel, size_t token)
{
    if (row) return row[p->pairs.token_kind[token]];
    return gt_graph_similarity(p->facts, &p->kernels[kernel], &p->tokens[token]);
}

/* The cells of a kernel. `before` has UNREACHABLE in all columns that the row before does not have. */
static void fill_row(program *p, size_t kernel)
{
    const int8_t *row = NULL;
    if (p->pairs.worth) row = p->pairs.worth + p->pairs.kernel_kind[kernel] * p->pairs.token_kinds;
    int32_t alone = kernel + 1 < p->kernel_count ? 1 : 0, left = UNREACHABLE;
    size_t first = first_column(p, kernel), last = last_column(p, kernel);
    uint8_t *from = p->from + kernel * p->width;
    for (size_t j = first; j <= last; j++) {
        int32_t best = p->before[j] - 1;
        uint8_t way = KERNEL_ALONE;
        if (j > 0) {
            int gain = worth(p, row, kernel, j - 1);
            if (gain > 0 && p->before[j - 1] + gain >= best) {
                best = p->before[j - 1] + gain;
                way = PAIR;
            }
            if (left - alone > best) {
                best = left - alone;
                way = TOKEN_ALONE;
            }
        }
        p->now[j] = left = best;
        from[j - first] = way;
    }
}

/* Makes the row that was filled the one before. The columns that only the next row has become unreachable. */
static void next_row(program *p, size_t kernel)
{
    int32_t *filled = p->now;
    p->now = p->before;
    p->before = filled;
    if (kernel + 1 == p->kernel_count) return;
    size_t last = last_column(p, kernel), next = last_column(p, kernel + 1);
    for (size_t j = last + 1; j <= next; j++) filled[j] = UNREACHABLE;
    size_t first = first_column(p, kernel);
    if (first > 0) filled[first - 1] = UNREACHABLE;
}

/* Follows the cells back from the last row. */
static void trace_back(const program *p, size_t column, uint32_t *token_of)
{
    for (size_t i = p->kernel_count; i > 0;) {
        size_t first = first_column(p, i - 1);
        bool has_cell = column >= first && column <= last_column(p, i - 1);
        uint8_t way = has_cell ? p->from[(i - 1) * p->width + column - first] : KERNEL_ALONE;
        if (way == TOKEN_ALONE) {
            column--;
            continue;
        }
        token_of[--i] = way == PAIR ? (uint32_t)--column : GT_NO_TOKEN;
    }
}

static void choose_band(program *p)
{
    size_t n = p->kernel_count, m = p->token_count, longer = n > m ? n : m;
    p->band = (n > m ? n - m : m - n) + (longer / 8 > LEAST_BAND ? longer / 8 : LEAST_BAND);
    if (p->band > CELLS_MAX / (2 * n)) p->band = CELLS_MAX / (2 * n);
    p->width = 2 * p->band < m ? 2 * p->band + 1 : m + 1;
}

int64_t gt_graph_align(const gt_graph_facts *facts, const gt_graph_kernel *kernels, size_t kernel_count,
                       const gt_graph_token *tokens, size_t token_count, uint32_t *token_of)
{
    for (size_t i = 0; i < kernel_count; i++) token_of[i] = GT_NO_TOKEN;
    if (!kernel_count || !token_count) return 0;
    program p = {facts, kernels, tokens, kernel_count, token_count};
    choose_band(&p);
    p.pairs = pairs_new(facts, kernels, kernel_count, tokens, token_count);
    p.before = gt_alloc_zero(token_count + 1, sizeof *p.before);
    p.now = gt_alloc_zero(token_count + 1, sizeof *p.now);
    p.from = gt_alloc(kernel_count * p.width);
    for (size_t i = 0; i < kernel_count; i++) {
        fill_row(&p, i);
        next_row(&p, i);
    }
    size_t best = first_column(&p, kernel_count - 1), last = last_column(&p, kernel_count - 1);
    for (size_t j = best + 1; j <= last; j++)
        if (p.before[j] > p.before[best]) best = j;
    int64_t sum = p.before[best];
    trace_back(&p, best, token_of);
    pairs_free(&p.pairs);
    gt_free_all(p.before, p.now, p.from);
    return sum;
}

/* ---- is it the same model? ---- */

static bool is_skeleton_token(const gt_graph_facts *facts, const gt_graph_token *token)
{
    if (token->name == GT_STR_NONE) return gt_class_is_skeleton(gt_graph_op_class(facts->names, token->op));
    gt_kernel_name name = gt_graph_kernel_name(facts->names, token->name);
    return gt_class_is_skeleton(name.class) && !name.is_helper;
}

static bool is_skeleton_kernel(const gt_graph_facts *facts, const gt_graph_kernel *kernel)
{
    gt_kernel_name name = gt_graph_kernel_name(facts->names, kernel->name);
    return gt_class_is_skeleton(name.class) && !name.is_helper;
}

gt_graph_fit gt_graph_fit_of(const gt_graph_facts *facts, const gt_graph_kernel *kernels, size_t kernel_count,
                             const gt_graph_token *tokens, size_t token_count, const uint32_t *token_of)
{
    enum { FEW = 3 };
    gt_graph_fit fit = {0};
    uint8_t *used = gt_alloc_zero(token_count, 1);
    for (size_t i = 0; i < kernel_count; i++) {
        bool is_paired = token_of[i] != GT_NO_TOKEN, counts = is_skeleton_kernel(facts, &kernels[i]);
        if (is_paired) used[token_of[i]] = 1;
        fit.paired += is_paired;
        fit.kernels += counts;
        fit.paired_kernels += counts && is_paired;
    }
    for (size_t j = 0; j < token_count; j++) {
        bool counts = is_skeleton_token(facts, &tokens[j]);
        fit.tokens += counts;
        fit.paired_tokens += counts && used[j];
    }
    gt_free(used);
    if (fit.kernels < FEW || fit.tokens < FEW)
        fit.is_same_model = fit.paired * 5 >= 4 * kernel_count;
    else
        fit.is_same_model =
            fit.paired_kernels * 10 >= 9 * fit.kernels && fit.paired_tokens * 10 >= 9 * fit.tokens;
    return fit;
}
