/* Which runs are skipped, and what is recorded. */
#include "sweep/run/steps.h"
#include "base/memory.h"
#include "os/clock.h"
#include "os/paths.h"
#include "output/file.h"

#include <stdlib.h>
#include <string.h>

bool gt_runner_write_whole(const char *path, gt_buffer *text, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written =
        gt_output_write_file(output, path, gt_buffer_str(text), error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_buffer_free(text);
    return written;
}

/* sweep.json is rewritten after each point, so that it is complete whenever the sweep ends. With thousands of
 * short runs, that would take longer than the runs: then it is written less often. */
bool gt_runner_record(gt_runner *r, bool last, gt_error *error)
{
    static const double longest_s = 1, share = 10;
    gt_buffer text = {0};
    double now = gt_clock_now_s(), wait_s = share * r->record_s;
    r->is_unrecorded = true;
    if (!last && now < r->recorded + (wait_s < longest_s ? wait_s : longest_s)) return true;
    gt_run_json(&(gt_run_history){r->plan, r->outcomes, r->earlier, r->session.machine, r->started}, &text);
    if (!gt_runner_write_whole(r->record_path, &text, error)) return false;
    r->recorded = gt_clock_now_s();
    r->record_s = r->recorded - now;
    r->is_unrecorded = false;
    return true;
}

static void skip_point(gt_runner *r, size_t index, const gt_run_point *point, const char *why)
{
    char *title = gt_run_point_title(r->plan, index);
    gt_runner_log(r, "Skipping %s (%s)", title, why);
    r->outcomes[index].is_skipped = true;
    if (gt_sweep_record_point(r->earlier, point->place)->type == GT_VALUE_MISSING)
        r->outcomes[index].status = GT_RUN_SKIPPED;
    gt_free(title);
}

/* Without a record, it cannot be known how a run ended: then its folder counts, as for the script. */
bool gt_runner_is_skipped(const gt_runner_options *options, const gt_sweep_record *earlier,
                          const gt_run_point *point)
{
    if (!options->skip_existing) return false;
    const gt_value *recorded = gt_sweep_record_point(earlier, point->place);
    bool is_unknown =
        recorded->type == GT_VALUE_MISSING ||
        gt_value_equals_cstr(gt_value_get(recorded, "status"), gt_run_status_names[GT_RUN_SKIPPED]);
    return is_unknown ? gt_path_is_folder(point->folder) : gt_run_is_whole(earlier, point);
}

/* Runs that are to be run are PENDING in sweep.json from now on, also those that ended well before: if this
 * program is killed during a run, nobody takes what that has left for a whole output. */
bool gt_runner_choose(gt_runner *r, size_t *left, gt_error *error)
{
    *left = 0;
    for (size_t i = 0; i < r->runs; i++) {
        gt_run_point point = gt_run_point_make(r->plan, r->order[i]);
        bool is_queued = r->is_queued && r->is_queued[r->order[i]];
        if (is_queued || gt_runner_is_skipped(r->options, r->earlier, &point)) {
            skip_point(r, r->order[i], &point, is_queued ? "in the queue of SLURM" : "directory exists");
        } else {
            r->outcomes[r->order[i]].is_begun = true;
            ++*left;
        }
        gt_run_point_free(&point);
    }
    return gt_runner_record(r, true, error);
}
