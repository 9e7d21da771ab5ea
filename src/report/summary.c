/* Parts that the terminal summaries of several reports share. */
#include "report/summary.h"
#include "schema/columns.h"

void gt_summary_facts_free(gt_summary_facts *facts)
{
    gt_free_all(facts->communication, facts->left_out);
    *facts = (gt_summary_facts){0};
}

bool gt_summary_is_recompute(const gt_table *table, size_t row)
{
    size_t column = gt_table_find(table, GT_COL_IS_RECOMPUTE);
    return column != SIZE_MAX && gt_table_cell(table, column, row).integer;
}

void gt_summary_bars(const gt_terminal *terminal, const gt_table *table, gt_col label, gt_col time,
                     gt_col percent)
{
    const gt_column *labels = gt_table_column_of(table, label, GT_TYPE_STRING);
    const gt_column *times = gt_table_column_of(table, time, GT_TYPE_FLOAT);
    const gt_column *percents = gt_table_column(table, percent);
    gt_bar *bars = gt_alloc(table->row_count * sizeof *bars);
    gt_arena texts = {0};
    for (size_t row = 0; row < table->row_count; row++)
        bars[row] = (gt_bar){
            .label =
                gt_arena_format(&texts, "%s%s", gt_interner_get(table->strings, labels->texts[row]).bytes,
                                gt_summary_is_recompute(table, row) ? " (recompute)" : ""),
            .value = times->floats[row],
            .percent = percents->type == GT_TYPE_FLOAT ? percents->floats[row] : 0.0,
        };
    gt_terminal_bars(terminal, bars, table->row_count, "ms");
    gt_arena_free(&texts);
    gt_free(bars);
}

void gt_summary_timeline(const gt_terminal *terminal, const gt_table *timeline)
{
    gt_terminal_heading(terminal, "GPU timeline");
    gt_summary_bars(terminal, timeline, GT_COL_TYPE, GT_COL_TIME_MS, GT_COL_PERCENT);
}

void gt_summary_timeline_of_devices(const gt_terminal *terminal, const gt_table *timeline,
                                    size_t device_count)
{
    char heading[96];
    snprintf(heading, sizeof heading, "GPU timeline of %zu devices together (busy: at least one of them is)",
             device_count);
    gt_terminal_heading(terminal, heading);
    gt_summary_bars(terminal, timeline, GT_COL_TYPE, GT_COL_TIME_MS, GT_COL_PERCENT);
}

bool gt_summary_timeline_cell(const gt_table *timeline, const char *type, double *ms, double *percent)
{
    const gt_column *types = gt_table_column_of(timeline, GT_COL_TYPE, GT_TYPE_STRING), *times, *percents;
    times = gt_table_column_of(timeline, GT_COL_TIME_MS, GT_TYPE_FLOAT);
    percents = gt_table_column(timeline, GT_COL_PERCENT);
    for (size_t row = 0; row < timeline->row_count; row++) {
        if (!gt_str_equals(gt_interner_get(timeline->strings, types->texts[row]), type)) continue;
        *ms = times->floats[row];
        *percent = percents->type == GT_TYPE_FLOAT ? percents->floats[row] : 0.0;
        return true;
    }
    return false;
}

/* ---- devices ---- */

enum { DEVICES_SHOWN = 16 };

/* Rows of gpu_timeline_by_device that become columns; PyTorch and rocprofv3 have different ones. */
static const struct {
    const char *type, *header;
} device_shares[] = {
    {"busy_time", "busy"},
    {"computation_time", "compute"},
    {"kernel", "kernels"},
    {"exposed_comm_time", "comm"},
    {"exposed_memcpy_time", "copy"},
    {"memory", "copies"},
    {"idle_time", "idle"},
    {"idle", "idle"},
    {"micro_idle_time", "micro idle"},
    {"macro_idle_time", "macro idle"},
};

/* Whether two rows belong to the same timeline: all columns but those of the timeline itself are equal. */
static bool is_same_timeline(const gt_table *by_device, size_t a, size_t b)
{
    for (size_t i = 0; i < by_device->column_count; i++) {
        const gt_column *column = &by_device->columns[i];
        if (gt_column_is_null(column, a) != gt_column_is_null(column, b)) return false;
        if (gt_column_is_null(column, a)) continue;
        if (column->type == GT_TYPE_INT && column->ints[a] != column->ints[b]) return false;
        if (column->type == GT_TYPE_BOOL && column->bools[a] != column->bools[b]) return false;
        if (column->type == GT_TYPE_STRING && !gt_column_is(column, GT_COL_TYPE) &&
            column->texts[a] != column->texts[b])
            return false;
    }
    return true;
}

/* One row per timeline: the columns that identify it, then the shares and the total. */
static gt_table *device_lines(const gt_table *by_device)
{
    uint32_t *first = gt_alloc(by_device->row_count * sizeof *first);
    size_t count = 0;
    for (size_t row = 0; row < by_device->row_count; row++)
        if (!row || !is_same_timeline(by_device, row - 1, row)) first[count++] = (uint32_t)row;
    gt_table *lines = gt_table_copy_rows(by_device, first, count);
    const gt_column *types = gt_table_column_of(by_device, GT_COL_TYPE, GT_TYPE_STRING),
                    *times_ms = gt_table_column_of(by_device, GT_COL_TIME_MS, GT_TYPE_FLOAT),
                    *percents = gt_table_column_of(by_device, GT_COL_PERCENT, GT_TYPE_FLOAT);
    size_t total = gt_table_find(lines, GT_COL_TIME_MS);
    for (size_t i = 0; i < GT_LENGTH(device_shares); i++) {
        size_t share = SIZE_MAX, line = 0;
        for (size_t row = 0; row < by_device->row_count; row++) {
            gt_str type = gt_interner_get(by_device->strings, types->texts[row]);
            line += line + 1 < count && first[line + 1] == row;
            if (gt_str_equals(type, "total_time")) lines->columns[total].floats[line] = times_ms->floats[row];
            if (!gt_str_equals(type, device_shares[i].type)) continue;
            if (share == SIZE_MAX)
                share = gt_table_add_column(lines, gt_col_named(device_shares[i].header), GT_TYPE_FLOAT);
            gt_table_set_float(lines, share, line, percents->floats[row]);
        }
    }
    gt_free(first);
    return lines;
}

void gt_summary_devices(const gt_terminal *terminal, const gt_table *by_device)
{
    gt_summary_first_devices(terminal, by_device, DEVICES_SHOWN);
}

void gt_summary_first_devices(const gt_terminal *terminal, const gt_table *by_device, size_t max_devices)
{
    gt_table *lines = device_lines(by_device);
    gt_terminal_column *columns = gt_alloc(lines->column_count * sizeof *columns);
    size_t count = 0;
    for (size_t i = 0; i < lines->column_count; i++) {
        const gt_column *column = &lines->columns[i];
        if (gt_column_is(column, GT_COL_TYPE) || gt_column_is(column, GT_COL_PERCENT)) continue;
        gt_terminal_column shown = {gt_col_named(column->name), NULL, 1, "%"};
        if (gt_column_is(column, GT_COL_TIME_MS))
            shown = (gt_terminal_column){GT_COL_TIME_MS, "total ms", 3, NULL};
        else if (column->type != GT_TYPE_FLOAT)
            shown = (gt_terminal_column){gt_col_named(column->name), NULL, -1, NULL};
        columns[count++] = shown;
    }
    gt_terminal_heading(terminal, "GPU timeline by device (% of its total)");
    gt_summary_rows(terminal, lines, columns, count, max_devices);
    gt_free(columns);
    gt_table_free(lines);
}

/* ---- parts ---- */

void gt_summary_parts(const gt_terminal *terminal, const gt_table_list *tables, const gt_summary_part *parts,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const gt_table *table = gt_table_list_find(tables, parts[i].sheet);
        if (!table || !table->row_count) continue;
        fputc('\n', terminal->file);
        parts[i].print(terminal, table);
    }
}

void gt_summary_rows(const gt_terminal *terminal, const gt_table *table, const gt_terminal_column *columns,
                     size_t column_count, size_t max_rows)
{
    gt_terminal_rows(terminal, table, columns, column_count, max_rows);
    if (table->row_count > max_rows) fprintf(terminal->file, "and %zu more\n", table->row_count - max_rows);
}
