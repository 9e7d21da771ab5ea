/* Whether a run of a model succeeded, and the figures that it gave.
 *
 * madengine's rules: an error text in the log is a failure; otherwise a performance figure is a success;
 * otherwise a node that does not collect figures (MAD_COLLECT_METRICS=false) succeeded, and others failed. */
#include "run/models/models.h"
#include "os/paths.h"

/* ---- names of logs ---- */

/* The part of an image's name that names the log: the tag of "reg.io/x/y:ci-model_file", otherwise the whole
 * name without its digest. */
static const char *image_part(gt_arena *arena, const char *image)
{
    char *name = gt_arena_bytes(arena, image, strcspn(image, "@"));
    const char *slash = strrchr(name, '/'), *colon = strchr(slash ? slash : name, ':');
    if (colon && strncmp(colon + 1, "ci-", 3) == 0) return colon + 1;
    for (char *c = name; *c; c++)
        if (strchr("/:@", *c)) *c = '_';
    return name;
}

static const char *without(gt_arena *arena, const char *text, const char *piece)
{
    gt_buffer kept = {0};
    for (const char *at; (at = strstr(text, piece)); text = at + strlen(piece))
        gt_buffer_add(&kept, text, (size_t)(at - text));
    gt_buffer_add_cstr(&kept, text);
    return gt_buffer_move(&kept, arena);
}

const char *gt_model_log_name(gt_arena *arena, const gt_value *model, const char *image, const char *suffix)
{
    const char *name = gt_model_file_name(arena, model);
    if (!image) return gt_arena_format(arena, "%s%s.live.log", name, suffix);
    const char *part = without(arena, image_part(arena, image), "ci-");
    size_t len = strlen(name);
    if (strncasecmp(part, name, len) == 0 && part[len] == '_') part += len + 1;
    return gt_arena_format(arena, "%s_%s%s.live.log", name, part, suffix);
}

/* ---- results of a model that has several ---- */

bool gt_model_results(gt_arena *arena, const gt_value *model, const char *folder, gt_run_result *result)
{
    const char *name = gt_model_text(model, "multiple_results");
    if (!*name) return false;
    gt_error error;
    result->results_path = gt_path_join(arena, folder, gt_path_name(name));
    if (access(result->results_path, F_OK) != 0) {
        result->reason = gt_arena_format(arena, "no file %s with the results", name);
        result->results_path = NULL;
        return true;
    }
    const gt_value *rows = gt_csv_rows_read(arena, result->results_path, &error);
    static const char *const needed[] = {"model", "performance", "metric"};
    for (size_t i = 0; rows && i < GT_LENGTH(needed); i++)
        if (!rows->count || !gt_settings_has(&rows->items[0], needed[i]))
            rows = (gt_fail(&error, "%.300s: no column %s, or no rows", name, needed[i]), NULL);
    bool any = false;
    for (uint32_t i = 0; rows && i < rows->count; i++)
        any = any || *gt_model_text(&rows->items[i], "performance");
    if (rows && !any) rows = (gt_fail(&error, "%.300s: no row has a performance", name), NULL);
    if (rows)
        result->rows = rows;
    else
        result->reason = gt_arena_format(arena, "%s", error.text);
    return true;
}

/* ---- status ---- */

void gt_model_judge(gt_arena *arena, const gt_value *model, const gt_outcome *outcome, const char *folder,
                    gt_run_result *result)
{
    const char *collects = getenv("MAD_COLLECT_METRICS");
    bool is_worker = collects && strcasecmp(collects, "false") == 0;
    result->status = "FAILURE";
    result->performance = outcome->performance;
    result->metric = outcome->metric;
    bool several = gt_model_results(arena, model, folder, result);
    if (several) result->performance = result->metric = NULL;
    if (outcome->failed) {
        result->reason = outcome->reason ? outcome->reason : "the run failed";
        result->rows = NULL;
    } else if (several ? result->rows != NULL : result->performance != NULL) {
        result->status = "SUCCESS";
    } else if (is_worker) {
        result->status = "SUCCESS";
        result->reason = NULL;
    } else if (!several) {
        result->reason = "no performance figure in the log ('performance: NUMBER METRIC')";
    }
}
