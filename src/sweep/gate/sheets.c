/* Changes between two sweeps as sheets.
 *
 * sweep_settings, one row per setting of either sweep: setting, the value of each axis of the old sweep,
 * verdict (of the step time: worse, better, not told apart, unknown; or missing, new, not comparable),
 * old_step_ms, new_step_ms, change_pct with its 95 % interval, p_value.
 *
 * sweep_changes, one row per measure and setting of both sweeps, and for bus_gb_s per collective and message
 * size: measure, setting, collective, message_mb, verdict, old, new (geometric means; arithmetic ones if a
 * value is 0), change_pct with the 95 % interval of this one comparison, p_value (corrected for the number of
 * rows of the measure), p_single, spread, measurements_old, measurements_new.
 *
 * sweep_machines, one row per fact that is known of one of the machines: fact, old, new, differs (empty if
 * only one is known). */
#include "sweep/gate/gate.h"

#include "schema/columns.h"

enum { OLD, NEW };

static void set(gt_table *table, gt_col name, size_t row, double value)
{
    gt_table_set_float(table, gt_table_find(table, name), row, value);
}

static void set_count(gt_table *table, gt_col name, size_t row, size_t value)
{
    gt_table_set_int(table, gt_table_find(table, name), row, (int64_t)value);
}

static void set_text(gt_table *table, gt_col name, size_t row, const char *text)
{
    if (text) gt_table_set_cstr(table, gt_table_find(table, name), row, text);
}

static void set_change(gt_table *table, size_t row, const gt_sweep_change *change)
{
    set(table, GT_COL_CHANGE_PCT, row, change->change_pct.value);
    set(table, GT_COL_CHANGE_LOW_PCT, row, change->change_pct.low);
    set(table, GT_COL_CHANGE_HIGH_PCT, row, change->change_pct.high);
    set(table, GT_COL_P_VALUE, row, change->p_value);
}

/* ---- sweep_settings ---- */

/* The step time of a setting that only one sweep has, or that is not comparable. */
static double only_step(const gt_sweep_measures *m, size_t setting)
{
    gt_number_series steps = {0};
    for (size_t i = m->first_config[setting]; i < gt_setting_runs_end(m, setting); i++)
        gt_series_add(&steps, m->runs[i].step_ms);
    gt_log_sample sample = gt_log_sample_of(steps.items, steps.count);
    gt_free(steps.items);
    return exp(sample.mean);
}

/* Axes are added last, because the name of an axis may be that of another column. */
static void add_axes(gt_table *table, const gt_sweep_changes *c)
{
    const gt_sweep *old = c->sweeps[OLD]->sweep;
    for (size_t a = 0; a < old->axis_count; a++) {
        size_t column = gt_table_add_column(table, gt_col_named(old->axes[a].column), GT_TYPE_STRING);
        for (size_t i = 0; i < c->setting_count; i++) {
            size_t which = c->settings[i].settings[OLD] == SIZE_MAX ? NEW : OLD;
            const gt_sweep_measures *m = c->sweeps[which];
            size_t axis = gt_sweep_axis_named(m->sweep, old->axes[a].name);
            if (axis == SIZE_MAX) continue;
            const gt_sweep_config *config =
                &m->sweep->configs[m->first_config[c->settings[i].settings[which]]];
            if (config->values[axis].value) gt_table_set_cstr(table, column, i, config->values[axis].value);
        }
        gt_table_move_column(table, column, 1 + a);
    }
}

static gt_table *sweep_settings(const gt_sweep_changes *c)
{
    static const gt_column_head columns[] = {
        {GT_COL_SETTING, GT_TYPE_STRING},        {GT_COL_CHANGE_VERDICT, GT_TYPE_STRING},
        {GT_COL_OLD_STEP_MS, GT_TYPE_FLOAT},     {GT_COL_NEW_STEP_MS, GT_TYPE_FLOAT},
        {GT_COL_CHANGE_PCT, GT_TYPE_FLOAT},      {GT_COL_CHANGE_LOW_PCT, GT_TYPE_FLOAT},
        {GT_COL_CHANGE_HIGH_PCT, GT_TYPE_FLOAT}, {GT_COL_P_VALUE, GT_TYPE_FLOAT}};
    gt_table *table = gt_table_new(GT_SHEET_SWEEP_SETTINGS, c->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < c->setting_count; i++) {
        const gt_setting_pair *pair = &c->settings[i];
        size_t row = gt_table_add_row(table);
        set_text(table, GT_COL_SETTING, row, pair->name);
        set_text(table, GT_COL_CHANGE_VERDICT, row, gt_change_verdict_names[pair->verdict]);
        if (pair->step != SIZE_MAX) {
            set(table, GT_COL_OLD_STEP_MS, row, c->changes[pair->step].old_value);
            set(table, GT_COL_NEW_STEP_MS, row, c->changes[pair->step].new_value);
            set_change(table, row, &c->changes[pair->step]);
            continue;
        }
        for (size_t k = OLD; k <= NEW; k++)
            if (pair->settings[k] != SIZE_MAX)
                set(table, k == OLD ? GT_COL_OLD_STEP_MS : GT_COL_NEW_STEP_MS, row,
                    only_step(c->sweeps[k], pair->settings[k]));
    }
    add_axes(table, c);
    return table;
}

/* ---- sweep_changes ---- */

static gt_table *sweep_changes(const gt_sweep_changes *c)
{
    static const gt_column_head columns[] = {{GT_COL_MEASURE, GT_TYPE_STRING},
                                             {GT_COL_SETTING, GT_TYPE_STRING},
                                             {GT_COL_COLLECTIVE, GT_TYPE_STRING},
                                             {GT_COL_MESSAGE_MB, GT_TYPE_FLOAT},
                                             {GT_COL_CHANGE_VERDICT, GT_TYPE_STRING},
                                             {GT_COL_OLD, GT_TYPE_FLOAT},
                                             {GT_COL_NEW, GT_TYPE_FLOAT},
                                             {GT_COL_CHANGE_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_CHANGE_LOW_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_CHANGE_HIGH_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_P_VALUE, GT_TYPE_FLOAT},
                                             {GT_COL_P_SINGLE, GT_TYPE_FLOAT},
                                             {GT_COL_SPREAD, GT_TYPE_STRING},
                                             {GT_COL_MEASUREMENTS_OLD, GT_TYPE_INT},
                                             {GT_COL_MEASUREMENTS_NEW, GT_TYPE_INT}};
    gt_table *table = gt_table_new(GT_SHEET_SWEEP_CHANGES, c->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < c->change_count; i++) {
        const gt_sweep_change *change = &c->changes[i];
        size_t row = gt_table_add_row(table);
        set_text(table, GT_COL_MEASURE, row, gt_sweep_measure_names[change->kind]);
        set_text(table, GT_COL_SETTING, row, c->settings[change->setting].name);
        set_text(table, GT_COL_COLLECTIVE, row, change->collective);
        set(table, GT_COL_MESSAGE_MB, row, change->message_mb);
        set_text(table, GT_COL_CHANGE_VERDICT, row, gt_change_verdict_names[change->verdict]);
        set(table, GT_COL_OLD, row, change->old_value);
        set(table, GT_COL_NEW, row, change->new_value);
        set_change(table, row, change);
        set(table, GT_COL_P_SINGLE, row, change->p_single);
        set_text(table, GT_COL_SPREAD, row, change->spread);
        set_count(table, GT_COL_MEASUREMENTS_OLD, row, change->values[OLD].count);
        set_count(table, GT_COL_MEASUREMENTS_NEW, row, change->values[NEW].count);
    }
    return table;
}

void gt_sweep_changes_add_sheets(const gt_sweep_changes *c, gt_table_list *tables)
{
    gt_table_list_add(tables, sweep_settings(c));
    gt_table_list_add(tables, sweep_changes(c));
}

/* ---- sweep_machines ---- */

void gt_machine_facts_add_sheet(const gt_machine_facts *facts, gt_interner *strings, gt_table_list *tables)
{
    static const gt_column_head columns[] = {{GT_COL_FACT, GT_TYPE_STRING},
                                             {GT_COL_OLD, GT_TYPE_STRING},
                                             {GT_COL_NEW, GT_TYPE_STRING},
                                             {GT_COL_DIFFERS, GT_TYPE_BOOL}};
    gt_table *table = gt_table_new(GT_SHEET_SWEEP_MACHINES, strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < facts->count; i++) {
        const gt_machine_fact *fact = &facts->items[i];
        size_t row = gt_table_add_row(table);
        set_text(table, GT_COL_FACT, row, fact->name);
        set_text(table, GT_COL_OLD, row, fact->values[OLD]);
        set_text(table, GT_COL_NEW, row, fact->values[NEW]);
        if (fact->values[OLD] && fact->values[NEW])
            gt_table_set_bool(table, gt_table_find(table, GT_COL_DIFFERS), row, fact->differs);
    }
    gt_table_list_add(tables, table);
}
