/* node_id is rank / gpus_per_node. node_span is intra_node where all ranks of the group have the same
 * node_id, else inter_node; "unknown" where the group does not tell its ranks. PyTorch cuts long lists of
 * ranks short: of a group whose known ranks are on one node, its size then tells whether the node has room
 * for all of it. */
#include "analysis/collective/nodes.h"
#include "analysis/collective/lists.h"
#include "analysis/collective/match.h"
#include "schema/columns.h"

#include <math.h>

static void add_ids(gt_table *table, int64_t gpus_per_node, int64_t world_size)
{
    size_t ranks = gt_table_find(table, GT_COL_RANK);
    if (ranks == SIZE_MAX) return;
    size_t nodes = gt_table_add_column(table, GT_COL_NODE_ID, GT_TYPE_INT);
    for (size_t row = 0; row < table->row_count; row++) {
        int64_t rank = table->columns[ranks].ints[row];
        if (rank < world_size) gt_table_set_int(table, nodes, row, rank / gpus_per_node);
    }
}

static const char *span_of(const gt_int_list *ranks, double group_size, int64_t gpus_per_node)
{
    if (!ranks->count) return "unknown";
    for (size_t i = 1; i < ranks->count; i++)
        if (ranks->items[i] / gpus_per_node != ranks->items[0] / gpus_per_node) return "inter_node";
    return ranks->cut && group_size > (double)gpus_per_node ? "inter_node" : "intra_node";
}

static void add_spans(gt_table *table, int64_t gpus_per_node)
{
    size_t texts = gt_table_find(table, GT_COL_PROCESS_GROUP_RANKS),
           sizes = gt_table_find(table, GT_COL_GROUP_SIZE);
    if (texts == SIZE_MAX) return;
    size_t spans = gt_table_add_column(table, GT_COL_NODE_SPAN, GT_TYPE_STRING);
    gt_int_list ranks = {0};
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t text = table->columns[texts].texts[row];
        if (!row || text != table->columns[texts].texts[row - 1])
            gt_int_list_read(&ranks, gt_interner_get(table->strings, text));
        double size = sizes == SIZE_MAX ? (double)NAN : gt_column_number(&table->columns[sizes], row);
        gt_table_set_cstr(table, spans, row, span_of(&ranks, size, gpus_per_node));
    }
    gt_int_list_free(&ranks);
}

void gt_collective_add_nodes(gt_table *table, int64_t gpus_per_node, int64_t world_size)
{
    if (!table->row_count) return;
    add_ids(table, gpus_per_node, world_size);
    add_spans(table, gpus_per_node);
    gt_table_widen_ints(table);
}
