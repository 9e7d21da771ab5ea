/* Which runs are skipped, and what is recorded. */
#include "sweep/run/steps.h"
#include "os/clock.h"
#include "os/paths.h"
#include "output/file.h"

static bool write_text(const char *path, gt_buffer *text, bool is_private, gt_error *error)
{
    gt_output *output = gt_output_new();
    if (is_private) gt_output_set_private(output);
    bool written =
        gt_output_write_file(output, path, gt_buffer_str(text), error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_buffer_free(text);
    return written;
}

bool gt_runner_write_whole(const char *path, gt_buffer *text, gt_error *error)
{
    return write_text(path, text, false, error);
}

bool gt_runner_write_private(const char *path, gt_buffer *text, gt_error *error)
{
    return write_text(path, text, true, error);
}

bool gt_runner_write_json(const char *path, gt_json_writer *document, gt_error *error)
{
    gt_json_end_document(document);
    bool written = gt_runner_write_whole(path, &document->text, error);
    gt_json_writer_free(document);
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

enum { NAMES_SHOWN = 8 };

/* Runs of another command stay in the folder if this call does not run them. That is easily overlooked. */
static void warn_of_others(gt_runner *r, const gt_interner *begun)
{
    char *line = gt_run_plan_line(r->plan);
    const char *other = NULL;
    gt_arena arena = {0};
    gt_buffer names = {0};
    size_t count = 0;
    for (size_t i = 0; r->earlier && i < r->earlier->sorted_count; i++) {
        const gt_recorded_point *point = &r->earlier->sorted[i];
        const gt_value *command = gt_value_get(point->json, "command");
        if (command->type != GT_VALUE_STRING || gt_value_equals_cstr(command, line)) continue;
        if (gt_interner_find(begun, point->place, strlen(point->place)) != GT_STR_NONE) continue;
        if (!other) other = gt_value_copy(&arena, command);
        if (count <= NAMES_SHOWN)
            gt_buffer_add_format(&names, "%s%.200s", count ? ", " : "",
                                 count < NAMES_SHOWN ? point->place : "...");
        count++;
    }
    if (count) {
        char *text = gt_format("%zu run%s of another command (%.200s) %s not run again: %s; the other steps "
                               "use only runs of the newest command",
                               count, count == 1 ? "" : "s", other, count == 1 ? "is" : "are",
                               gt_buffer_str(&names).bytes);
        gt_warn("%s", text);
        fprintf(r->log, "[WARNING] %s\n", text);
        gt_free(text);
    }
    gt_buffer_free(&names);
    gt_arena_free(&arena);
    gt_free(line);
}

/* Runs that are to be run are PENDING in sweep.json from now on, also those that ended well before: if this
 * program is killed during a run, nobody takes what that has left for a whole output. */
bool gt_runner_choose(gt_runner *r, size_t *left, gt_error *error)
{
    gt_interner *begun = gt_interner_new();
    *left = 0;
    for (size_t i = 0; i < r->runs; i++) {
        gt_run_point point = gt_run_point_make(r->plan, r->order[i]);
        bool is_queued = r->is_queued && r->is_queued[r->order[i]];
        if (is_queued || gt_runner_is_skipped(r->options, r->earlier, &point)) {
            skip_point(r, r->order[i], &point, is_queued ? "in the queue of SLURM" : "directory exists");
        } else {
            r->outcomes[r->order[i]].is_begun = true;
            gt_interner_add_cstr(begun, point.place);
            ++*left;
        }
        gt_run_point_free(&point);
    }
    warn_of_others(r, begun);
    gt_interner_free(begun);
    return gt_runner_record(r, true, error);
}
