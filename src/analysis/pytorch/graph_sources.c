/* Times by group and source, added up and printed. */
#include "analysis/pytorch/graph_sources.h"

#include "schema/columns.h"

void gt_table_add_row_sources(gt_table *ops, const gt_linked_view *trace, const uint32_t *rows)
{
    if (!trace->graph_count) return;
    uint32_t *sources = gt_table_add_array(ops, GT_COL_GRAPH_SOURCE, GT_TYPE_STRING)->texts;
    for (size_t i = 0; i < ops->row_count; i++) sources[i] = gt_event_graph_source(trace, rows[i]);
}

/* The time of a group from one source. */
typedef struct source_time {
    uint32_t group, source;
    double us;
} source_time;

typedef struct source_times {
    source_time *items;
    size_t count, capacity;
    double *all_us; /* by group: also what has no source */
} source_times;

static source_times add_up(const gt_table *ops, const gt_groups *groups, gt_col time)
{
    source_times times = {.all_us = gt_alloc_zero(groups->count, sizeof *times.all_us)};
    const gt_column *sources = gt_table_column(ops, GT_COL_GRAPH_SOURCE), *us = gt_table_column(ops, time);
    gt_map places = {0};
    for (size_t row = 0; row < ops->row_count; row++) {
        uint32_t group = groups->of_row[row];
        double cell_us = gt_column_number(us, row);
        if (group == GT_NO_GROUP || !(cell_us >= 0)) continue;
        times.all_us[group] += cell_us;
        if (sources->texts[row] == GT_STR_NONE) continue;
        uint32_t *place = gt_map_put(&places, group, sources->texts[row]);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)times.count;
            source_time item = {group, sources->texts[row], 0};
            GT_PUSH(times.items, times.count, times.capacity, item);
        }
        times.items[*place].us += cell_us;
    }
    gt_map_free(&places);
    return times;
}

GT_ORDER_BY(by_group_and_time, source_time, GT_UP(group) GT_DOWN(us) GT_UP(source))

static void print_share(gt_buffer *text, gt_str source, double share)
{
    if (text->len) gt_buffer_add_cstr(text, "; ");
    gt_buffer_add(text, source.bytes, source.len);
    gt_buffer_add_format(text, " %.1f %%", 100 * share);
}

void gt_table_add_graph_sources(gt_table *sheet, const gt_table *ops, const gt_groups *groups, gt_col time)
{
    if (gt_table_find(ops, GT_COL_GRAPH_SOURCE) == SIZE_MAX) return;
    uint32_t *cells = gt_table_add_array(sheet, GT_COL_GRAPH_SOURCE, GT_TYPE_STRING)->texts;
    source_times times = add_up(ops, groups, time);
    gt_buffer text = {0};
    if (times.count) qsort(times.items, times.count, sizeof *times.items, by_group_and_time);
    for (size_t i = 0; i < times.count; i++) {
        const source_time *item = &times.items[i];
        double all_us = times.all_us[item->group];
        print_share(&text, gt_interner_get(ops->strings, item->source), all_us > 0 ? item->us / all_us : 0);
        if (i + 1 < times.count && times.items[i + 1].group == item->group) continue;
        cells[item->group] = gt_interner_add(sheet->strings, text.bytes, text.len);
        text.len = 0;
    }
    gt_buffer_free(&text);
    gt_free_all(times.items, times.all_us);
}
