/* What the page says about changes between the first sweep and another one, which sweep/gate has found. */
#include "sweep/page/page.h"

#include "schema/columns.h"
#include "schema/page.h"

enum { OLD, NEW };

static void set(gt_table *table, gt_col name, size_t row, double value)
{
    gt_table_set_float(table, gt_table_find(table, name), row, value);
}

/* A setting as a row of the sheet recommendation. */
static void set_setting(gt_table *table, gt_col name, size_t row, const gt_decision *d, size_t setting)
{
    gt_table_set_int(table, gt_table_find(table, name), row, (int64_t)d->best.settings[setting].rank - 1);
}

void gt_sweep_page_changes(const gt_page_sweep *sweep, const gt_page_sweep *first, gt_table_list *work)
{
    static const gt_column_head columns[] = {{GT_COL_MEASURE, GT_TYPE_STRING},
                                             {GT_COL_SETTING, GT_TYPE_INT},
                                             {GT_COL_PAGE_BEFORE, GT_TYPE_INT},
                                             {GT_COL_OLD, GT_TYPE_FLOAT},
                                             {GT_COL_NEW, GT_TYPE_FLOAT},
                                             {GT_COL_CHANGE_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_CHANGE_LOW_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_CHANGE_HIGH_PCT, GT_TYPE_FLOAT},
                                             {GT_COL_P_SINGLE, GT_TYPE_FLOAT},
                                             {GT_COL_P_VALUE, GT_TYPE_FLOAT},
                                             {GT_COL_CHANGE_VERDICT, GT_TYPE_STRING}};
    const gt_sweep_changes *changes = sweep->answer->changes;
    gt_table *table = gt_table_new(GT_SHEET_PAGE_CHANGES, sweep->decision->measures->strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < changes->change_count; i++) {
        const gt_sweep_change *change = &changes->changes[i];
        const size_t *settings = changes->settings[change->setting].settings;
        if (change->kind == GT_MEASURE_BUS || settings[OLD] == SIZE_MAX || settings[NEW] == SIZE_MAX)
            continue;
        size_t row = gt_table_add_row(table);
        gt_table_set_cstr(table, gt_table_find(table, GT_COL_MEASURE), row,
                          gt_sweep_measure_names[change->kind]);
        set_setting(table, GT_COL_SETTING, row, sweep->decision, settings[NEW]);
        set_setting(table, GT_COL_PAGE_BEFORE, row, first->decision, settings[OLD]);
        set(table, GT_COL_OLD, row, change->old_value);
        set(table, GT_COL_NEW, row, change->new_value);
        set(table, GT_COL_CHANGE_PCT, row, change->change_pct.value);
        set(table, GT_COL_CHANGE_LOW_PCT, row, change->change_pct.low);
        set(table, GT_COL_CHANGE_HIGH_PCT, row, change->change_pct.high);
        set(table, GT_COL_P_SINGLE, row, change->p_single);
        set(table, GT_COL_P_VALUE, row, change->p_value);
        gt_table_set_cstr(table, gt_table_find(table, GT_COL_CHANGE_VERDICT), row,
                          gt_change_verdict_names[change->verdict]);
    }
    gt_table_list_add(work, table);
}

/* ---- in words ---- */

/* A label in a sentence whose bold words are between '*'. */
static void say_label(gt_buffer *text, const char *label)
{
    for (; *label; label++)
        if (*label == '*')
            gt_buffer_add_cstr(text, "\u2217");
        else
            gt_buffer_add(text, label, 1);
}

/* The setting whose step time changed the most, of those whose change is supported; SIZE_MAX: none. */
static size_t largest_change(const gt_sweep_changes *c)
{
    size_t largest = SIZE_MAX;
    for (size_t i = 0; i < c->setting_count; i++) {
        if (c->settings[i].verdict != GT_CHANGE_WORSE && c->settings[i].verdict != GT_CHANGE_BETTER) continue;
        double pct = fabs(c->changes[c->settings[i].step].change_pct.value);
        if (largest == SIZE_MAX || pct > fabs(c->changes[c->settings[largest].step].change_pct.value))
            largest = i;
    }
    return largest;
}

static void say_largest(const gt_page_sweep *sweep, size_t pair, gt_buffer *text)
{
    const gt_sweep_changes *c = sweep->answer->changes;
    gt_buffer_add_format(text, "; the largest change is *%+.1f %%* of ",
                         c->changes[c->settings[pair].step].change_pct.value);
    gt_decision_say_setting(sweep->decision, c->settings[pair].settings[NEW], true, text);
}

void gt_sweep_page_say_changes(const gt_page_sweep *sweep, const gt_page_sweep *first, gt_buffer *text)
{
    const gt_sweep_changes *c = sweep->answer->changes;
    size_t worse = gt_sweep_changes_count(c, GT_CHANGE_WORSE),
           better = gt_sweep_changes_count(c, GT_CHANGE_BETTER), largest = largest_change(c);
    gt_buffer_add_cstr(text, "From ");
    say_label(text, first->label);
    gt_buffer_add_cstr(text, " to ");
    say_label(text, sweep->label);
    if (!c->in_both)
        gt_buffer_add_cstr(text, ", nothing can be compared: they have no measured setting in common");
    else if (largest != SIZE_MAX)
        gt_buffer_add_format(text, ", *%zu of %zu settings are slower* and *%zu faster*", worse, c->in_both,
                             better);
    else if (gt_sweep_changes_count(c, GT_CHANGE_UNKNOWN) == c->in_both)
        gt_buffer_add_cstr(text, ", *nothing can be said* about changes: there is no spread to compare with");
    else
        gt_buffer_add_format(text, ", *no change is supported* in any of %zu settings", c->in_both);
    if (largest != SIZE_MAX) say_largest(sweep, largest, text);
    gt_buffer_add_cstr(text, ". ");
}
