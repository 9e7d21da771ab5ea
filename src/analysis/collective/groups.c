/* Do different process groups have the same name?
 *
 * PyTorch names process groups by a counter of the process. If ranks are divided into groups at one place of
 * the program (split_group, DeviceMesh), each rank counts only the one that it is in, in some versions:
 *
 *     rank 0, 1    group "1" of ranks [0, 1]
 *     rank 2, 3    group "1" of ranks [2, 3]       another group
 *
 * Collectives are matched by the name of their group, so such groups get names of their own: 1:0 and 1:2,
 * with the first rank of each. This must not happen to groups on whose ranks the traces only disagree. Ranks
 * are in their own group, so lists of one group have a rank in common, and lists of several have none. */
#include "analysis/collective/internal.h"

#include "schema/columns.h"

/* A name and a list of ranks that occur together. */
typedef struct named_list {
    uint32_t name, list; /* string ids */
    uint32_t group;      /* number in gt_groups */
    uint32_t label;      /* string id of the name that it gets */
} named_list;

GT_ORDER_BY(by_name_and_group, named_list, GT_UP(name) GT_UP(group))

/* Mostly a name has one list, and this is all that happens. */
static bool has_name_with_two_lists(const gt_table *rows)
{
    const uint32_t *names = gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts;
    const uint32_t *lists = gt_table_column(rows, GT_COL_PROCESS_GROUP_RANKS)->texts;
    gt_map list_of = {0};
    bool found = false;
    for (size_t row = 0; row < rows->row_count && !found; row++) {
        bool is_as_before = row && names[row] == names[row - 1] && lists[row] == lists[row - 1];
        if (is_as_before || names[row] == GT_STR_NONE || lists[row] == GT_STR_NONE) continue;
        uint32_t *list = gt_map_put(&list_of, names[row], 0);
        if (*list == GT_MAP_NONE) *list = lists[row];
        found = *list != lists[row];
    }
    gt_map_free(&list_of);
    return found;
}

/* Whether no rank is in all lists. `first_ranks_differ`: the first rank of a list is that of no other. */
static bool are_different_groups(const gt_table *rows, const named_list *items, size_t count,
                                 bool *first_ranks_differ)
{
    gt_map lists_with = {0}, firsts = {0}; /* by rank: how many lists from the first on have it */
    gt_int_list ranks = {0};
    bool has_common = false;
    *first_ranks_differ = true;
    for (size_t i = 0; i < count; i++) {
        gt_int_list_read(&ranks, gt_interner_get(rows->strings, items[i].list));
        for (size_t k = 0; k < ranks.count; k++) {
            uint32_t *lists = gt_map_put(&lists_with, (uint64_t)ranks.items[k], 0);
            if (*lists == GT_MAP_NONE) *lists = 0;
            if (*lists == i) *lists = (uint32_t)i + 1;
            has_common |= i + 1 == count && *lists == count;
        }
        if (!ranks.count) continue;
        uint32_t *first = gt_map_put(&firsts, (uint64_t)ranks.items[0], 0);
        *first_ranks_differ &= *first == GT_MAP_NONE;
        *first = 0;
    }
    gt_int_list_free(&ranks);
    gt_map_free(&lists_with);
    gt_map_free(&firsts);
    return !has_common;
}

/* "1:0", or "1:0,1,2" with all ranks; as the JSON string that other names are at this point. */
static uint32_t new_label(const gt_table *rows, const named_list *item, bool with_first_rank_only)
{
    gt_str name = gt_interner_get(rows->strings, item->name);
    bool quoted = name.len > 1 && name.bytes[0] == '"' && name.bytes[name.len - 1] == '"';
    gt_int_list ranks = {0};
    gt_buffer label = {0};
    gt_int_list_read(&ranks, gt_interner_get(rows->strings, item->list));
    gt_buffer_add_cstr(&label, "\"");
    gt_buffer_add(&label, name.bytes + quoted, name.len - 2 * quoted);
    for (size_t i = 0; i < ranks.count && (!i || !with_first_rank_only); i++) {
        gt_buffer_add_cstr(&label, i ? "," : ":");
        gt_buffer_add_int(&label, ranks.items[i]);
    }
    gt_buffer_add_cstr(&label, "\"");
    uint32_t id = gt_interner_add(rows->strings, label.bytes, label.len);
    gt_buffer_free(&label);
    gt_int_list_free(&ranks);
    return id;
}

/* The names with lists of ranks; groups without one keep their names. */
static named_list *find_named_lists(const gt_table *rows, const gt_groups *groups, size_t *count)
{
    const uint32_t *names = gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts;
    const uint32_t *lists = gt_table_column(rows, GT_COL_PROCESS_GROUP_RANKS)->texts;
    named_list *items = gt_alloc((groups->count + 1) * sizeof *items);
    gt_int_list ranks = {0};
    *count = 0;
    for (size_t g = 0; g < groups->count; g++) {
        uint32_t row = groups->first_row[g];
        if (names[row] == GT_STR_NONE || lists[row] == GT_STR_NONE) continue;
        gt_int_list_read(&ranks, gt_interner_get(rows->strings, lists[row]));
        if (ranks.count) items[(*count)++] = (named_list){names[row], lists[row], (uint32_t)g, GT_STR_NONE};
    }
    gt_int_list_free(&ranks);
    if (*count) qsort(items, *count, sizeof *items, by_name_and_group);
    return items;
}

bool gt_all_groups_unknown(const gt_table *table)
{
    const uint32_t *groups = gt_table_column(table, GT_COL_PROCESS_GROUP_NAME)->texts;
    for (size_t row = 0; row < table->row_count; row++)
        if (groups[row] != GT_STR_NONE &&
            strcmp(gt_interner_get(table->strings, groups[row]).bytes, "Unknown_Group") != 0)
            return false;
    return true;
}

bool gt_ranks_have_one_stream(const gt_table *table)
{
    const int64_t *ranks = gt_table_column(table, GT_COL_RANK)->ints;
    const uint32_t *streams = gt_table_column(table, GT_COL_STREAM)->texts;
    uint32_t stream = GT_STR_NONE; /* the only stream of this rank so far */
    for (size_t row = 0; row < table->row_count; row++) {
        if (row && ranks[row] != ranks[row - 1]) stream = GT_STR_NONE;
        if (streams[row] == GT_STR_NONE) continue;
        if (stream != GT_STR_NONE && stream != streams[row]) return false;
        stream = streams[row];
    }
    return true;
}

static void name_by_kind(gt_table *rows)
{
    static const gt_col keys[] = {GT_COL_COLLECTIVE_NAME, GT_COL_GROUP_SIZE, GT_COL_IN_MSG_NELEMS};
    gt_groups kinds = gt_groups_find(rows, keys, GT_LENGTH(keys), (gt_group_options){.keep_nulls = true});
    uint32_t *labels = gt_alloc((kinds.count + 1) * sizeof *labels);
    const uint32_t *collectives = gt_table_column(rows, GT_COL_COLLECTIVE_NAME)->texts;
    for (size_t k = 0; k < kinds.count; k++) {
        uint32_t row = kinds.first_row[k];
        labels[k] = GT_STR_NONE;
        if (isnan(gt_column_number(gt_table_column(rows, GT_COL_GROUP_SIZE), row))) continue;
        gt_str name = gt_interner_get(rows->strings, collectives[row]);
        gt_buffer label = {0};
        gt_buffer_add_format(&label, "\"Unknown_Group:%s", name.bytes);
        gt_collective_type type = gt_collective_type_of(name.bytes);
        bool has_equal_sizes = type != GT_COLLECTIVE_OTHER && type != GT_COLLECTIVE_ALLTOALLV;
        for (size_t i = 1; i < GT_LENGTH(keys) - !has_equal_sizes; i++) {
            double number = gt_column_number(gt_table_column(rows, keys[i]), row);
            if (!isnan(number)) gt_buffer_add_format(&label, ":%.0f", number);
        }
        gt_buffer_add_cstr(&label, "\"");
        labels[k] = gt_interner_add(rows->strings, label.bytes, label.len);
        gt_buffer_free(&label);
    }
    uint32_t *names = gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts;
    for (size_t row = 0; row < rows->row_count; row++)
        if (labels[kinds.of_row[row]] != GT_STR_NONE) names[row] = labels[kinds.of_row[row]];
    gt_free(labels);
    gt_groups_free(&kinds);
}

void gt_collectives_separate_groups(gt_table *rows)
{
    static const gt_col keys[] = {GT_COL_PROCESS_GROUP_NAME, GT_COL_PROCESS_GROUP_RANKS};
    const int64_t *ranks = rows->row_count ? gt_table_column(rows, GT_COL_RANK)->ints : NULL;
    if (!ranks || ranks[0] == ranks[rows->row_count - 1]) return;
    if (gt_all_groups_unknown(rows) && !gt_ranks_have_one_stream(rows)) name_by_kind(rows);
    if (!has_name_with_two_lists(rows)) return;
    gt_groups groups = gt_groups_find(rows, keys, GT_LENGTH(keys), (gt_group_options){.keep_nulls = true});
    size_t count;
    named_list *items = find_named_lists(rows, &groups, &count);
    uint32_t *labels = gt_alloc((groups.count + 1) * sizeof *labels); /* by group; GT_STR_NONE: its name */
    for (size_t g = 0; g < groups.count; g++) labels[g] = GT_STR_NONE;
    for (size_t begin = 0, end; begin < count; begin = end) {
        bool with_first;
        for (end = begin; end < count && items[end].name == items[begin].name;) end++;
        if (!are_different_groups(rows, &items[begin], end - begin, &with_first)) continue;
        for (size_t i = begin; i < end; i++) labels[items[i].group] = new_label(rows, &items[i], with_first);
    }
    uint32_t *names = gt_table_column(rows, GT_COL_PROCESS_GROUP_NAME)->texts;
    for (size_t row = 0; row < rows->row_count; row++)
        if (labels[groups.of_row[row]] != GT_STR_NONE) names[row] = labels[groups.of_row[row]];
    gt_free_all(labels, items);
    gt_groups_free(&groups);
}
