/* Which ranks ran, and do they have the same collectives? Both by what the kernels of the ranks that have a
 * trace say: the size of their process group and the ranks in it.
 *
 * Collectives are matched by their position in the process group (sheets.h). If the trace of one rank begins
 * later, its kernels are matched with earlier ones of the other ranks, and all waiting times of the group are
 * wrong, although names and sizes agree:
 *
 *     rank 0    step 1   step 2   step 3
 *     rank 1             step 2   step 3      matched with steps 1 and 2 of rank 0
 *
 * So a group whose ranks have different numbers of kernels is worth a warning. Where steps are numbered,
 * these numbers say what belongs together (shifts.c). */
#include "analysis/collective/internal.h"

#include "schema/columns.h"

/* ---- how many ranks ran ---- */

/* PyTorch names ranks by small integers; anything else is damage. */
static int64_t plausible(int64_t count)
{
    return count <= GT_COLLECTIVE_RANKS_MAX ? count : 0;
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t gt_collectives_ranks_named(const gt_table *rows)
{
    static const gt_col keys[] = {GT_COL_PROCESS_GROUP_RANKS, GT_COL_GROUP_SIZE};
    int64_t count = 0;
    if (!rows->row_count) return 0;
    const gt_column *sizes = gt_table_column(rows, GT_COL_GROUP_SIZE);
    const gt_column *lists = gt_table_column(rows, GT_COL_PROCESS_GROUP_RANKS);
    gt_int_list ranks = {0};
    gt_groups groups = gt_groups_find(rows, keys, GT_LENGTH(keys), (gt_group_options){.keep_nulls = true});
    for (size_t g = 0; g < groups.count; g++) {
        uint32_t row = groups.first_row[g];
        if (!gt_column_is_null(sizes, row)) count = largest(count, plausible(sizes->ints[row]));
        gt_int_list_read(&ranks, gt_interner_get(rows->strings, lists->texts[row]));
        for (size_t i = 0; i < ranks.count; i++)
            if (ranks.items[i] < GT_COLLECTIVE_RANKS_MAX)
                count = largest(count, plausible(ranks.items[i] + 1));
    }
    gt_groups_free(&groups);
    gt_int_list_free(&ranks);
    return count;
}

/* ---- ranks with different numbers of collectives ---- */

/* A rank of a process group. */
typedef struct member {
    uint32_t group; /* string id of its name */
    int64_t rank;
    size_t count; /* of its kernels in the group */
    bool waits;   /* one of them is of a kind in which ranks wait for each other */
} member;

typedef struct members {
    member *items;
    size_t count, capacity;
} members;

GT_ORDER_BY(by_group_and_rank, member, GT_UP(group) GT_UP(rank))

GT_ORDER_BY(by_count_and_rank, member, GT_DOWN(count) GT_UP(rank))

/* The rank of a group of kernels. Kernels without a process group are of all ranks. */
static void add_own(members *all, const gt_table *rows, uint32_t row, size_t count)
{
    uint32_t name = gt_table_column(rows, GT_COL_COLLECTIVE_NAME)->texts[row];
    member one = {.group = gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts[row],
                  .rank = gt_table_column(rows, GT_COL_RANK)->ints[row],
                  .count = count};
    one.waits = one.group == GT_STR_NONE ||
                gt_collective_type_of(gt_interner_get(rows->strings, name).bytes) != GT_COLLECTIVE_OTHER;
    GT_PUSH(all->items, all->count, all->capacity, one);
}

/* The ranks that the kernels of a process group list, as far as they have a trace. */
static void add_listed(members *all, const gt_table *rows, uint32_t row, const bool *have_trace,
                       size_t rank_count)
{
    uint32_t list = gt_table_column(rows, GT_COL_PROCESS_GROUP_RANKS)->texts[row];
    member one = {.group = gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts[row]};
    gt_int_list ranks = {0};
    gt_int_list_read(&ranks, gt_interner_get(rows->strings, list));
    for (size_t i = 0; i < ranks.count; i++) {
        one.rank = ranks.items[i];
        if (one.rank >= (int64_t)rank_count || !have_trace[one.rank]) continue;
        GT_PUSH(all->items, all->count, all->capacity, one);
    }
    gt_int_list_free(&ranks);
}

/* Adds up the entries of the same rank and group. */
static void combine(members *all)
{
    size_t kept = 0;
    if (all->count) qsort(all->items, all->count, sizeof *all->items, by_group_and_rank);
    for (size_t i = 0; i < all->count; i++) {
        member *last = kept ? &all->items[kept - 1] : NULL;
        if (last && by_group_and_rank(last, &all->items[i]) == 0) {
            last->count += all->items[i].count;
            last->waits |= all->items[i].waits;
        } else {
            all->items[kept++] = all->items[i];
        }
    }
    all->count = kept;
}

/* Usually all ranks have the same list. It is read once and not once per rank, which would make as many
 * members as there are pairs of ranks. */
static void add_all_listed(members *all, const gt_table *rows, const bool *have_trace, size_t rank_count)
{
    static const gt_col keys[] = {GT_COL_PROCESS_GROUP_NAME, GT_COL_PROCESS_GROUP_RANKS};
    gt_groups groups = gt_groups_find(rows, keys, GT_LENGTH(keys), (gt_group_options){.keep_nulls = true});
    for (size_t g = 0; g < groups.count; g++)
        add_listed(all, rows, groups.first_row[g], have_trace, rank_count);
    gt_groups_free(&groups);
}

static members find_members(const gt_table *rows, const bool *have_trace, size_t rank_count)
{
    static const gt_col keys[] = {GT_COL_PROCESS_GROUP_NAME, GT_COL_RANK, GT_COL_COLLECTIVE_NAME};
    members all = {0};
    gt_groups groups = gt_groups_find(rows, keys, GT_LENGTH(keys), (gt_group_options){.keep_nulls = true});
    size_t *counts = gt_alloc_zero(groups.count, sizeof *counts);
    for (size_t row = 0; row < groups.row_count; row++) counts[groups.of_row[row]]++;
    bool has_unnamed = false;
    for (size_t g = 0; g < groups.count; g++) {
        uint32_t row = groups.first_row[g];
        add_own(&all, rows, row, counts[g]);
        has_unnamed |= gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts[row] == GT_STR_NONE;
    }
    for (size_t rank = 0; has_unnamed && rank < rank_count; rank++) {
        member one = {.group = GT_STR_NONE, .rank = (int64_t)rank, .waits = true};
        if (have_trace[rank]) GT_PUSH(all.items, all.count, all.capacity, one);
    }
    gt_free(counts);
    gt_groups_free(&groups);
    add_all_listed(&all, rows, have_trace, rank_count);
    combine(&all);
    return all;
}

static bool is_uneven_group(const member *ranks, size_t count)
{
    bool differ = false, waits = false;
    for (size_t i = 0; i < count; i++) {
        differ |= ranks[i].count != ranks[0].count;
        waits |= ranks[i].waits;
    }
    return differ && waits;
}

/* "ranks 0, 2 and 5 more have 4, rank 1 has 3"; sorts the ranks. */
static void print_counts(gt_buffer *out, member *ranks, size_t count)
{
    enum { RANKS_SHOWN = 8, COUNTS_SHOWN = 4 };
    qsort(ranks, count, sizeof *ranks, by_count_and_rank);
    for (size_t begin = 0, end, shown = 0; begin < count; begin = end, shown++) {
        for (end = begin; end < count && ranks[end].count == ranks[begin].count;) end++;
        if (shown == COUNTS_SHOWN) {
            gt_buffer_add_cstr(out, ", ...");
            return;
        }
        gt_buffer_add_cstr(out, begin ? ", " : "");
        gt_buffer_add_cstr(out, end - begin > 1 ? "ranks " : "rank ");
        for (size_t i = begin; i < end && i < begin + RANKS_SHOWN; i++) {
            char *rank = gt_format("%s%lld", i > begin ? ", " : "", (long long)ranks[i].rank);
            gt_buffer_add_cstr(out, rank);
            gt_free(rank);
        }
        char *more = end - begin > RANKS_SHOWN ? gt_format(" and %zu more", end - begin - RANKS_SHOWN) : NULL;
        char *has =
            gt_format("%s %s %zu", more ? more : "", end - begin > 1 ? "have" : "has", ranks[begin].count);
        gt_buffer_add_cstr(out, has);
        gt_free_all(more, has);
    }
}

/* The name without the quotes of its JSON. */
static gt_str name_of(const gt_table *rows, uint32_t group)
{
    gt_str name = gt_interner_get(rows->strings, group);
    bool quoted = name.len > 1 && name.bytes[0] == '"' && name.bytes[name.len - 1] == '"';
    return quoted ? (gt_str){name.bytes + 1, name.len - 2} : name;
}

static void warn_of_group(const gt_table *rows, member *ranks, size_t count, size_t others, bool by_steps)
{
    gt_buffer counts = {0};
    print_counts(&counts, ranks, count);
    gt_str name = name_of(rows, ranks[0].group);
    char *group = ranks[0].group == GT_STR_NONE ? gt_strdup("kernels without a process group")
                                                : gt_format("process group %.*s", (int)name.len, name.bytes);
    char *more =
        others ? gt_format(" (and so in %zu other group%s)", others, others > 1 ? "s" : "") : gt_strdup("");
    gt_warn("%.200s: different numbers of collectives: %s%s; they are matched by %s", group,
            gt_buffer_str(&counts).bytes, more,
            by_steps ? "the numbers of steps" : "their order, so waiting times may be wrong");
    gt_free_all(more, group);
    gt_buffer_free(&counts);
}

void gt_collectives_warn_uneven(gt_table *rows, const bool *have_trace, size_t rank_count, bool by_steps)
{
    if (!rows->row_count) return;
    gt_collectives_separate_groups(rows);
    members all = find_members(rows, have_trace, rank_count);
    size_t uneven = 0, first = 0, first_count = 0;
    for (size_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin; end < all.count && all.items[end].group == all.items[begin].group;) end++;
        if (!is_uneven_group(&all.items[begin], end - begin)) continue;
        /* ids depend on which thread is first, so the names decide */
        bool is_first = !uneven++ || strcmp(name_of(rows, all.items[begin].group).bytes,
                                            name_of(rows, all.items[first].group).bytes) < 0;
        if (!is_first) continue;
        first = begin;
        first_count = end - begin;
    }
    if (uneven) warn_of_group(rows, &all.items[first], first_count, uneven - 1, by_steps);
    gt_free(all.items);
}

/* The most frequent number of kernels, of several the largest; sorts the ranks. */
static size_t usual_count(member *ranks, size_t count)
{
    size_t most = 0, usual = 0;
    qsort(ranks, count, sizeof *ranks, by_count_and_rank);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && ranks[end].count == ranks[begin].count;) end++;
        if (end - begin <= most) continue;
        most = end - begin;
        usual = ranks[begin].count;
    }
    return usual;
}

void gt_collectives_find_uneven(gt_table *rows, const bool *have_trace, size_t rank_count, bool *is_uneven)
{
    if (!rows->row_count) return;
    gt_collectives_separate_groups(rows);
    members all = find_members(rows, have_trace, rank_count);
    for (size_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin; end < all.count && all.items[end].group == all.items[begin].group;) end++;
        if (!is_uneven_group(&all.items[begin], end - begin)) continue;
        size_t usual = usual_count(&all.items[begin], end - begin);
        for (size_t i = begin; i < end; i++)
            if (all.items[i].rank >= 0 && all.items[i].rank < (int64_t)rank_count)
                is_uneven[all.items[i].rank] |= all.items[i].count != usual;
    }
    gt_free(all.items);
}
