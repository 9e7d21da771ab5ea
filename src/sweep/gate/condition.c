/* Conditions on the changes between two sweeps. A gate passes only if each condition was evaluated for all
 * settings that it is about and met by none. */
#include "sweep/gate/gate.h"

#include "schema/columns.h"

enum { OLD, NEW };

const char *const gt_gate_outcome_names[] = {"passed", "failed", "not evaluated"};

/* ---- parsing ---- */

/* Removes the last word if it is this one. */
static bool drop_word(char *text, const char *word)
{
    size_t len = strlen(text), word_len = strlen(word);
    while (len && strchr(" \t", text[len - 1])) text[--len] = 0;
    if (len <= word_len || strcmp(text + len - word_len, word) != 0) return false;
    if (!strchr(" \t%", text[len - word_len - 1])) return false;
    text[len - word_len] = 0;
    return true;
}

static bool find_kind(gt_sweep_condition *condition)
{
    for (condition->kind = 0; condition->kind < GT_MEASURES; condition->kind++)
        if (strcmp(condition->gate.column, gt_sweep_measure_names[condition->kind]) == 0) return true;
    return false;
}

bool gt_sweep_condition_parse(gt_sweep_condition *condition, const char *text, gt_error *error)
{
    *condition = (gt_sweep_condition){.text = gt_strdup(text), .given = text};
    condition->is_significant = drop_word(condition->text, "significant");
    if (condition->is_significant) drop_word(condition->text, "and");
    if (!gt_gate_parse_measure(&condition->gate, condition->text)) {
        gt_sweep_condition_free(condition);
        return gt_fail(error,
                       "'%.300s' is not [SETTING.]MEASURE OP NUMBER[%%] [significant], such as "
                       "step_ms > 3%% significant",
                       text);
    }
    condition->gate.condition = text;
    if (find_kind(condition)) return true;
    gt_fail(error,
            "'%.100s' is no measure (choose from step_ms, exposed_comm_ms, gemm_ms, gemm_slowdown, bus_gb_s)",
            condition->gate.column);
    gt_sweep_condition_free(condition);
    return false;
}

void gt_sweep_condition_free(gt_sweep_condition *condition)
{
    gt_gate_free(&condition->gate);
    gt_free(condition->text);
    condition->text = NULL;
}

/* ---- evaluation ---- */

gt_table *gt_sweep_gate_table(gt_interner *strings)
{
    static const gt_column_head columns[] = {{GT_COL_COLLECTIVE, GT_TYPE_STRING},
                                             {GT_COL_MESSAGE_MB, GT_TYPE_FLOAT},
                                             {GT_COL_P_VALUE, GT_TYPE_FLOAT}};
    gt_table *table = gt_gate_table(strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    return table;
}

static void evaluate(gt_sweep_condition *condition, const gt_sweep_changes *changes,
                     const gt_sweep_change *change, gt_table *met)
{
    const char *setting = changes->settings[change->setting].name;
    if (change->kind != condition->kind || !gt_gate_matches(&condition->gate, setting)) return;
    bool has_values = isfinite(change->old_value) && isfinite(change->new_value);
    if (!has_values || (condition->is_significant && isnan(change->p_value))) {
        condition->gate.rows_checked++;
        condition->unknown++;
        condition->missing_noise += has_values;
        return;
    }
    const gt_gate_values values = {.report = "new",
                                   .sheet = GT_SHEET_SWEEP_CHANGES.name,
                                   .row = setting,
                                   .column = gt_sweep_measure_names[change->kind],
                                   .baseline = change->old_value,
                                   .variant = change->new_value,
                                   .diff = change->new_value - change->old_value,
                                   .whole = change->old_value};
    if (condition->is_significant && !(change->p_value < GT_CHANGE_ALPHA)) {
        condition->gate.rows_checked++;
        condition->gate.values_checked++;
        return;
    }
    size_t before = met->row_count;
    gt_gate_compare(&condition->gate, &values, met);
    if (met->row_count == before) return;
    if (change->collective)
        gt_table_set_cstr(met, gt_table_find(met, GT_COL_COLLECTIVE), before, change->collective);
    gt_table_set_float(met, gt_table_find(met, GT_COL_MESSAGE_MB), before, change->message_mb);
    gt_table_set_float(met, gt_table_find(met, GT_COL_P_VALUE), before, change->p_value);
}

/* Why a condition says nothing; true if it says something. */
static bool is_evaluated(const gt_sweep_condition *condition, bool allow_missing, gt_error *error)
{
    const gt_gate *gate = &condition->gate;
    if (condition->missing && !allow_missing)
        return gt_fail(error,
                       "--fail_if '%.200s': %zu %s of the old sweep %s missing in the new one "
                       "(--allow_missing ignores %s)",
                       condition->given, condition->missing, condition->missing == 1 ? "setting" : "settings",
                       condition->missing == 1 ? "is" : "are", condition->missing == 1 ? "it" : "them");
    if (condition->unequal)
        return gt_fail(error, "--fail_if '%.200s': '%.100s' cannot be compared: %.300s", condition->given,
                       condition->unequal->name, condition->unequal->reason);
    if (!gate->rows_checked)
        return gt_fail(error, "--fail_if '%.200s': no setting of both sweeps has %s", condition->given,
                       gate->column);
    if (!condition->unknown) return true;
    if (condition->is_significant && condition->missing_noise == condition->unknown)
        return gt_fail(
            error,
            "--fail_if '%.200s': 'significant' needs repeats, but %zu of %zu comparisons are with a "
            "single run, whose steps do not show how runs differ; repeat the command lines of both sweeps "
            "with --repeat 5 --skip_existing, or omit 'significant'",
            condition->given, condition->unknown, gate->rows_checked);
    return gt_fail(
        error,
        "--fail_if '%.200s': %zu of %zu comparisons cannot be evaluated: a value is missing in one "
        "sweep",
        condition->given, condition->unknown, gate->rows_checked);
}

gt_gate_outcome gt_sweep_gate_check(gt_sweep_condition *conditions, size_t count,
                                    const gt_sweep_changes *changes, bool allow_missing, gt_table *met,
                                    gt_error *error)
{
    gt_gate_outcome outcome = GT_GATE_PASSED;
    for (size_t i = 0; i < count; i++) {
        gt_sweep_condition *condition = &conditions[i];
        for (size_t k = 0; k < changes->change_count; k++)
            evaluate(condition, changes, &changes->changes[k], met);
        for (size_t k = 0; k < changes->setting_count; k++) {
            const gt_setting_pair *pair = &changes->settings[k];
            if (!gt_gate_matches(&condition->gate, pair->name)) continue;
            condition->missing += pair->verdict == GT_CHANGE_MISSING;
            if (pair->verdict == GT_CHANGE_UNEQUAL && !condition->unequal) condition->unequal = pair;
        }
        if (outcome == GT_GATE_PASSED && !is_evaluated(condition, allow_missing, error))
            outcome = GT_GATE_UNEVALUATED;
    }
    return met->row_count ? GT_GATE_FAILED : outcome;
}
