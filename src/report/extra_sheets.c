/* Makes the sheets of --extra per device and joins those of several ranks. */
#include "report/extra_sheets.h"

#include "analysis/pytorch/devices.h"
#include "schema/columns.h"

enum { DEVICE_COLUMN = 1, PID_COLUMN = 2 }; /* after rank */

/* ---- one trace ---- */

typedef gt_table *sheet_maker(const gt_hta_events *events, int64_t rank);

static sheet_maker *const makers[] = {
    gt_hta_temporal_breakdown,  gt_hta_comm_comp_overlap,    gt_hta_idle_time_breakdown,
    gt_hta_idle_interval_stats, gt_hta_queue_length_summary, gt_hta_launch_stats_summary,
};

/* The sets of rows of all devices; those of device d end before row ends[d]. */
static gt_table *make_sets(sheet_maker *make, const gt_hta_events *events, const size_t *begins,
                           size_t devices, int64_t rank, size_t *ends)
{
    gt_table *all = NULL;
    for (size_t d = 0; d < devices; d++) {
        gt_hta_events own = *events;
        own.kernels = events->count ? events->kernels + begins[d] : NULL;
        own.count = begins[d + 1] - begins[d];
        gt_table *table = make(&own, rank);
        if (all) {
            if (table->row_count) gt_table_append_same(all, table);
            gt_table_free(table);
        } else {
            all = table;
        }
        ends[d] = all->row_count;
    }
    return all;
}

static void add_device_column(gt_table *table)
{
    gt_table_move_column(table, gt_table_add_column(table, GT_COL_DEVICE, GT_TYPE_INT), DEVICE_COLUMN);
}

static gt_table *make_sheet(sheet_maker *make, const gt_hta_events *events, const gt_devices *devices,
                            const size_t *begins, int64_t rank)
{
    size_t *ends = gt_alloc(devices->count * sizeof *ends);
    gt_table *table = make_sets(make, events, begins, devices->count, rank, ends);
    add_device_column(table);
    if (devices->count > 1) {
        gt_devices_add_columns(devices, table, PID_COLUMN);
        for (size_t d = 0, first = 0; d < devices->count; first = ends[d++])
            gt_devices_fill(devices, d, table, first, ends[d]);
    } else if (devices->items[0].number != GT_DEVICE_UNNUMBERED) {
        for (size_t row = 0; row < table->row_count; row++)
            gt_table_set_int(table, DEVICE_COLUMN, row, devices->items[0].number);
    }
    gt_free(ends);
    return table;
}

static void make_sheets_by_device(const gt_event_view *trace, gt_hta_events *events, int64_t rank,
                                  gt_extra_sheets *sheets)
{
    gt_devices devices = gt_devices_find(trace);
    sheets->by_device = devices.count > 1;
    if (devices.count > GT_DEVICES_MAX) {
        gt_warn("the sheets of --extra are omitted: the trace has %zu devices (limit: %d)", devices.count,
                GT_DEVICES_MAX);
    } else if (devices.count) {
        size_t *begins = gt_alloc((devices.count + 1) * sizeof *begins);
        gt_hta_events_group(events, devices.of_row, devices.count, begins);
        for (size_t i = 0; i < GT_LENGTH(makers); i++)
            gt_table_list_add(&sheets->tables, make_sheet(makers[i], events, &devices, begins, rank));
        gt_free(begins);
    }
    gt_devices_free(&devices);
}

void gt_extra_make(const gt_event_view *trace, int64_t rank, const gt_hta_options *options,
                   gt_extra_sheets *sheets)
{
    *sheets = (gt_extra_sheets){0};
    gt_hta_events events = gt_hta_events_find(trace, options);
    if (events.count && !options->hta_times) {
        make_sheets_by_device(trace, &events, rank, sheets);
    } else {
        for (size_t i = 0; i < GT_LENGTH(makers); i++) {
            gt_table *table = makers[i](&events, rank);
            add_device_column(table);
            gt_table_list_add(&sheets->tables, table);
        }
    }
    if (events.without_last_step)
        gt_info("the sheets of --extra do not include the last profiler step, which is often incomplete; "
                "--extra_last_step includes it");
    gt_hta_events_free(&events);
}

/* ---- several ranks ---- */

static void add_pid(gt_table *table, gt_type type)
{
    gt_table_move_column(table, gt_table_add_column(table, GT_COL_PID, type), PID_COLUMN);
}

static void make_pid_string(gt_table *table)
{
    size_t text = gt_table_add_column(table, GT_COL_PID, GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++) {
        const gt_column *pid = &table->columns[PID_COLUMN];
        if (gt_column_is_null(pid, row)) continue;
        char *digits = gt_format("%" PRId64, pid->ints[row]);
        gt_table_set_cstr(table, text, row, digits);
        gt_free(digits);
    }
    gt_table_drop_column(table, PID_COLUMN);
    gt_table_move_column(table, text - 1, PID_COLUMN);
}

/* Gives both the column pid, of the same type, if one of them has it. */
static void match_pids(gt_table *a, gt_table *b)
{
    size_t pid_a = gt_table_find(a, GT_COL_PID), pid_b = gt_table_find(b, GT_COL_PID);
    if (pid_a == SIZE_MAX && pid_b == SIZE_MAX) return;
    if (pid_a == SIZE_MAX) add_pid(a, b->columns[pid_b].type);
    if (pid_b == SIZE_MAX) add_pid(b, a->columns[pid_a].type);
    gt_type type_a = a->columns[PID_COLUMN].type, type_b = b->columns[PID_COLUMN].type;
    if (type_a == type_b) return;
    make_pid_string(type_a == GT_TYPE_INT ? a : b);
}

void gt_extra_append(gt_extra_sheets *sheets, gt_extra_sheets *of_rank)
{
    sheets->by_device |= of_rank->by_device;
    if (!sheets->tables.count) {
        gt_table_list empty = sheets->tables;
        sheets->tables = of_rank->tables;
        of_rank->tables = empty;
    }
    for (size_t i = 0; i < of_rank->tables.count; i++) {
        match_pids(sheets->tables.items[i], of_rank->tables.items[i]);
        gt_table_append_same(sheets->tables.items[i], of_rank->tables.items[i]);
    }
    gt_table_list_free(&of_rank->tables);
}

/* ---- loaded sheets ---- */

static bool is_number(gt_type type)
{
    return type == GT_TYPE_INT || type == GT_TYPE_FLOAT;
}

/* Whether the columns are those of a new sheet, apart from pid. A time may be INT or FLOAT. */
static bool has_columns(const gt_table *table, const gt_table *expected)
{
    size_t pid = gt_table_find(table, GT_COL_PID), at = 0;
    if (!gt_table_is(table, gt_sheet_named(expected->name)) || (pid != SIZE_MAX && pid != PID_COLUMN))
        return false;
    for (size_t c = 0; c < table->column_count; c++) {
        const gt_column *column = &table->columns[c];
        if (column->shown || column->type == GT_TYPE_LIST) return false;
        if (c == pid) {
            if (column->type != GT_TYPE_INT && column->type != GT_TYPE_STRING) return false;
            continue;
        }
        if (at == expected->column_count) return false;
        const gt_column *wanted = &expected->columns[at++];
        if (strcmp(column->name, wanted->name) != 0) return false;
        bool is_time = is_number(column->type) && is_number(wanted->type) && c > PID_COLUMN;
        if (column->type != wanted->type && !is_time) return false;
    }
    return at == expected->column_count;
}

bool gt_extra_are_sound(const gt_extra_sheets *sheets)
{
    if (sheets->tables.count && sheets->tables.count != GT_LENGTH(makers)) return false;
    gt_interner *strings = gt_interner_new();
    const gt_hta_events none = {.strings = strings, .options = gt_hta_options_default()};
    bool sound = true;
    for (size_t i = 0; sound && i < sheets->tables.count; i++) {
        gt_table *expected = makers[i](&none, 0);
        add_device_column(expected);
        sound = has_columns(sheets->tables.items[i], expected);
        gt_table_free(expected);
    }
    gt_interner_free(strings);
    return sound;
}

gt_table_list gt_extra_finish(gt_extra_sheets *sheets)
{
    gt_table_list tables = sheets->tables;
    for (size_t i = 0; i < tables.count && !sheets->by_device; i++)
        gt_table_drop_column(tables.items[i], DEVICE_COLUMN);
    *sheets = (gt_extra_sheets){0};
    return tables;
}
