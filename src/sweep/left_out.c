/* Which runs of a sweep are not analysed: those that did not end well, and those of another command than the
 * newest. Each kind is named in one warning. */
#include "sweep/layout.h"
#include "sweep/record.h"

enum { NAMES_SHOWN = 8 };

/* ---- runs that did not end well ---- */

/* "2 FAILED, 1 TIMEOUT: 256thread_28ch, 256thread_42ch, ..." */
static void describe_failed(const gt_sweep *sweep, gt_buffer *text)
{
    size_t named = 0;
    for (gt_run_status status = GT_RUN_PENDING; status < GT_RUN_UNKNOWN; status++) {
        size_t count = 0;
        for (size_t i = 0; i < sweep->count; i++) count += sweep->configs[i].status == status;
        if (!count || !gt_run_has_failed(status)) continue;
        gt_buffer_add_format(text, "%s%zu %s", text->len ? ", " : "", count, gt_run_status_names[status]);
    }
    for (size_t i = 0; i < sweep->count && named <= NAMES_SHOWN; i++) {
        if (!gt_run_has_failed(sweep->configs[i].status)) continue;
        const char *before = named ? ", " : ": ";
        gt_buffer_add_format(text, "%s%.200s", before, named < NAMES_SHOWN ? sweep->configs[i].name : "...");
        named++;
    }
}

void gt_sweep_leave_out_failed(gt_sweep *sweep, bool include)
{
    if (!sweep->failed) return;
    gt_buffer text = {0};
    describe_failed(sweep, &text);
    if (include)
        gt_warn("%zu of %zu runs did not end well and are included, marked in the column status (%s)",
                sweep->failed, sweep->count, gt_buffer_str(&text).bytes);
    else
        gt_warn("%zu of %zu runs did not end well and are left out (%s); --include_failed includes them",
                sweep->failed, sweep->count, gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
    if (include) return;
    size_t kept = 0;
    for (size_t i = 0; i < sweep->count; i++)
        if (!gt_run_has_failed(sweep->configs[i].status)) sweep->configs[kept++] = sweep->configs[i];
    sweep->count = kept;
    sweep->failed = 0;
}

/* ---- runs of another command ---- */

/* The newest command that a run has; NULL if none is known. */
static const char *newest_command(gt_sweep *sweep)
{
    const gt_value *commands =
        sweep->record ? gt_value_get(sweep->record->json, "commands") : &gt_value_missing;
    const char *newest = NULL;
    gt_map used = {0}; /* the commands of the runs, by their addresses */
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->configs[i].command) *gt_map_put(&used, (uintptr_t)sweep->configs[i].command, 0) = 1;
    for (size_t i = gt_value_is_list(commands) ? commands->count : 0; i-- > 0 && !newest;) {
        const char *command = gt_value_copy(&sweep->arena, &commands->items[i]);
        if (command)
            command = gt_interner_get(sweep->strings, gt_interner_add_cstr(sweep->strings, command)).bytes;
        if (command && gt_map_get(&used, (uintptr_t)command, 0) == 1) newest = command;
    }
    gt_map_free(&used);
    return newest;
}

static bool is_of_other(const gt_sweep_config *config, const char *newest)
{
    return config->command && config->command != newest;
}

void gt_sweep_leave_out_other_commands(gt_sweep *sweep)
{
    const char *newest = newest_command(sweep), *other = NULL;
    gt_buffer names = {0};
    size_t kept = 0, left_out = 0;
    if (!newest) return;
    for (size_t i = 0; i < sweep->count; i++) {
        const gt_sweep_config *config = &sweep->configs[i];
        if (!is_of_other(config, newest)) {
            sweep->configs[kept++] = *config;
            continue;
        }
        if (!other) other = config->command;
        if (left_out <= NAMES_SHOWN)
            gt_buffer_add_format(&names, "%s%.200s", left_out ? ", " : "",
                                 left_out < NAMES_SHOWN ? config->name : "...");
        left_out++;
    }
    if (left_out)
        gt_warn(
            "%zu of %zu runs had another command (%.200s) than the newest runs (%.200s) and are left out: %s",
            left_out, sweep->count, other, newest, gt_buffer_str(&names).bytes);
    sweep->count = kept;
    sweep->failed = 0;
    for (size_t i = 0; i < kept; i++) sweep->failed += gt_run_has_failed(sweep->configs[i].status);
    gt_buffer_free(&names);
}
