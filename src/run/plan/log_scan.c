/* Errors in the output of a command: many programs print a traceback and end with status 0. The rules are
 * madengine's: a line with one of the error texts is an error unless it also has a benign text. They apply to
 * models always, and to other commands if the context asks, because a plain command may print "FAILED" about
 * anything. */
#include "run/plan/plan.h"

static const char *const usual_errors[] = {"OutOfMemoryError",
                                           "HIP out of memory",
                                           "CUDA out of memory",
                                           "RuntimeError:",
                                           "AssertionError:",
                                           "ValueError:",
                                           "SystemExit",
                                           "failed (exitcode:",
                                           "Traceback (most recent call last)",
                                           "FAILED",
                                           "Exception:",
                                           "ImportError:",
                                           "ModuleNotFoundError:"};

static const char *const usual_benign[] = {"Failed to establish connection to the metrics exporter agent",
                                           "RpcError: Running out of retries to initialize the metrics agent",
                                           "Metrics will not be exported",
                                           "FutureWarning",
                                           "Opened result file:",
                                           "SQLite3 generation ::",
                                           "rocpd_op:",
                                           "rpd_tracer:",
                                           "[rocprofv3]"};

/* Messages of the profiler: a letter and a date of eight digits at the beginning, and the name of its file.
 */
static const struct {
    char level;
    const char *file;
} profiler_lines[] = {
    {'E', "generateRocpd.cpp"},
    {'E', "tool.cpp"},
    {'W', "simple_timer.cpp"},
    {'W', "generateRocpd.cpp"},
};

/* ---- what is searched ---- */

static const gt_value *setting(const gt_value *context, const gt_value *model, const char *key)
{
    const gt_value *own = gt_value_get(context, key);
    return own->type == GT_VALUE_MISSING ? gt_value_get(model, key) : own;
}

/* madengine's reading of a switch: numbers, true and false, and some words. */
static bool is_on(const gt_value *value, bool otherwise)
{
    static const char *const on[] = {"1", "true", "yes", "on"}, *const off[] = {"0", "false", "no", "off",
                                                                                ""};
    if (value->type == GT_VALUE_MISSING || value->type == GT_VALUE_NONE) return otherwise;
    if (value->type != GT_VALUE_STRING) return !gt_value_is_empty(value);
    const char *text = value->text.bytes + strspn(value->text.bytes, " \t\r\n");
    size_t len = strlen(text);
    while (len && strchr(" \t\r\n", text[len - 1])) len--;
    for (size_t i = 0; i < GT_LENGTH(on); i++)
        if (strlen(on[i]) == len && strncasecmp(text, on[i], len) == 0) return true;
    for (size_t i = 0; i < GT_LENGTH(off); i++)
        if (strlen(off[i]) == len && strncasecmp(text, off[i], len) == 0) return false;
    return otherwise;
}

static void add_texts(gt_arena *arena, gt_arg_list *list, const gt_value *texts)
{
    for (uint32_t i = 0; gt_value_is_list(texts) && i < texts->count; i++)
        if (texts->items[i].type == GT_VALUE_STRING && texts->items[i].text.len)
            gt_arg_list_add(arena, list, texts->items[i].text.bytes);
}

gt_log_scan gt_log_scan_make(gt_arena *arena, const gt_value *context, const gt_value *model)
{
    static const char *const keys[] = {"log_error_patterns", "log_error_pattern_scan",
                                       "log_error_benign_patterns"};
    gt_log_scan scan = {0};
    bool by_default = model->type == GT_VALUE_DICT || gt_settings_has(context, keys[0]);
    scan.is_on = is_on(setting(context, model, keys[1]), by_default);
    add_texts(arena, &scan.errors, setting(context, model, keys[0]));
    bool has_own = scan.errors.count;
    for (size_t i = 0; !has_own && i < GT_LENGTH(usual_errors); i++)
        gt_arg_list_add(arena, &scan.errors, usual_errors[i]);
    for (size_t i = 0; i < GT_LENGTH(usual_benign); i++)
        gt_arg_list_add(arena, &scan.benign, usual_benign[i]);
    add_texts(arena, &scan.benign, gt_value_get(model, keys[2]));
    add_texts(arena, &scan.benign, gt_value_get(context, keys[2]));
    return scan;
}

/* ---- searching ---- */

static bool has_text(gt_str line, const char *text)
{
    return memmem(line.bytes, line.len, text, strlen(text));
}

static bool is_of_profiler(gt_str line)
{
    size_t digits = 1;
    while (digits < line.len && digits < 9 && line.bytes[digits] >= '0' && line.bytes[digits] <= '9')
        digits++;
    for (size_t i = 0; digits == 9 && i < GT_LENGTH(profiler_lines); i++)
        if (line.bytes[0] == profiler_lines[i].level && has_text(line, profiler_lines[i].file)) return true;
    return false;
}

const char *gt_log_scan_find(const gt_log_scan *scan, gt_str line)
{
    const char *found = NULL;
    if (!scan->is_on || !line.len) return NULL;
    for (size_t i = 0; !found && i < scan->errors.count; i++)
        if (has_text(line, scan->errors.items[i])) found = scan->errors.items[i];
    for (size_t i = 0; found && i < scan->benign.count; i++)
        if (has_text(line, scan->benign.items[i])) found = NULL;
    return found && !is_of_profiler(line) ? found : NULL;
}
