/* The energy that each GPU took while the command ran: from the samples of its power, and from its own
 * counter where it has one. The counter also sees what happens between samples, so it is the figure that
 * counts. */
#include "run/execute/execute.h"
#include "analysis/rocprof/sheets.h"
#include "input/sheets/sheets.h"
#include "schema/columns.h"

void gt_energy_measure(const gt_plan *plan, const gt_sampler_plan *sampler, const gt_sampler_result *result,
                       gt_outcome *outcome)
{
    if (!result->has_file || !result->count) return;
    gt_interner *strings = gt_interner_new();
    gt_error error;
    gt_table *samples = gt_csv_table_read(sampler->file, GT_SHEET_SAMPLES, strings, &error), *summary = NULL;
    if (samples)
        summary = gt_gpu_samples_summary(samples, GT_SHEET_POWER_SUMMARY, true);
    else
        gt_warn("%s", error.text);
    outcome->energies = gt_arena_alloc(plan->arena, result->count * sizeof *outcome->energies);
    outcome->energy_count = result->count;
    for (size_t i = 0; i < result->count; i++) { /* columns of the file are in the order of the devices */
        bool has_row = summary && i < summary->row_count && summary->column_count > 6;
        outcome->energies[i] =
            (gt_gpu_energy){gt_arena_format(plan->arena, "GPU%zu", result->counted[i].device),
                            has_row ? summary->columns[6].floats[i] : NAN, result->counted[i].joules};
    }
    if (summary) gt_table_free(summary);
    if (samples) gt_table_free(samples);
    gt_interner_free(strings);
}

void gt_energy_write(const gt_outcome *outcome, gt_json_writer *w)
{
    double total = 0;
    size_t counted = 0, known = 0;
    gt_json_key(w, "energy");
    if (!outcome->energy_count) {
        gt_json_add_cstr(w, NULL);
        return;
    }
    gt_json_open(w, '{');
    gt_json_put_open(w, "gpus", '[');
    for (size_t i = 0; i < outcome->energy_count; i++) {
        const gt_gpu_energy *e = &outcome->energies[i];
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "gpu", e->gpu);
        gt_json_put_real(w, "energy_J", e->sampled_j);
        gt_json_put_real(w, "energy_counter_J", e->counted_j);
        gt_json_close(w, '}');
        double best = isfinite(e->counted_j) ? e->counted_j : e->sampled_j;
        if (isfinite(e->counted_j)) counted++;
        if (!isfinite(best)) continue;
        known++;
        total += best;
    }
    gt_json_close(w, ']');
    gt_json_put_real(w, "total_J", known ? total : NAN);
    gt_json_put_cstr(w, "total_from",
                     !known             ? NULL
                     : counted == known ? "counter"
                     : counted          ? "counter and samples"
                                        : "samples");
    gt_json_close(w, '}');
}

void gt_energy_add_column(const gt_outcome *outcome, gt_table *summary)
{
    bool has_counter = false;
    for (size_t i = 0; i < outcome->energy_count; i++)
        has_counter = has_counter || isfinite(outcome->energies[i].counted_j);
    if (!has_counter) return;
    size_t column = gt_table_add_column(summary, GT_COL_ENERGY_COUNTER_J, GT_TYPE_FLOAT);
    for (size_t i = 0; i < outcome->energy_count && i < summary->row_count; i++)
        gt_table_set_float(summary, column, i, outcome->energies[i].counted_j);
}
