/* The answer in words: which setting, how sure, what it is worth, and how to set it. */
#include "sweep/decide/decide.h"

#include "base/memory.h"
#include "os/shell_words.h"
#include "sweep/record.h"

#include <math.h>
#include <string.h>

enum { NAMES_MAX = 6, NAME_WIDTH_MAX = 80 };

static const gt_sweep_config *config_of(const gt_decision *d, size_t setting)
{
    return &d->measures->sweep->configs[d->measures->first_config[setting]];
}

/* "threads=256 channels=28" */
static void say_setting(const gt_decision *d, size_t setting, gt_buffer *text)
{
    const gt_sweep *sweep = d->measures->sweep;
    const gt_sweep_config *config = config_of(d, setting);
    bool any = false;
    for (size_t a = 0; a < sweep->axis_count; a++) {
        if (!config->values[a].value) continue;
        gt_buffer_add_format(text, "%s%.*s=%.*s", any ? " " : "", NAME_WIDTH_MAX, sweep->axes[a].name,
                             NAME_WIDTH_MAX, config->values[a].value);
        any = true;
    }
    if (!any) gt_buffer_add_format(text, "%.*s", NAME_WIDTH_MAX, config->setting);
}

static void say_candidates(const gt_decision *d, gt_buffer *text)
{
    const gt_best *best = &d->best;
    size_t named = 0;
    bool all = best->candidates == best->measured;
    gt_buffer_add_format(
        text,
        "No setting is supported as the best: %zu of %zu settings cannot be told apart from the fastest%s",
        best->candidates, best->measured, all ? "" : ", ");
    for (size_t r = 0; !all && r < best->measured && named < NAMES_MAX; r++) {
        if (!best->settings[best->order[r]].is_candidate) continue;
        if (named++) gt_buffer_add_format(text, "; ");
        say_setting(d, best->order[r], text);
    }
    if (!all && best->candidates > named)
        gt_buffer_add_format(text, "; and %zu more", best->candidates - named);
    gt_buffer_add_format(text, ".\n");
}

static void say_best(const gt_decision *d, gt_buffer *text)
{
    const gt_best *best = &d->best;
    const gt_standing *second = &best->settings[best->order[1]];
    gt_buffer_add_format(text, "Use ");
    say_setting(d, best->order[0], text);
    gt_buffer_add_format(
        text,
        ": it is the best of %zu settings, %.1f %% faster than the next (95 %% interval %.1f to %.1f %%, ",
        best->measured, 100 * (1 - 1 / second->to_best.ratio.value),
        100 * (1 - 1 / second->to_best.ratio.low), 100 * (1 - 1 / second->to_best.ratio.high));
    if (second->p < 0.0001)
        gt_buffer_add_format(text, "p < 0.0001).\n");
    else
        gt_buffer_add_format(text, "p = %.2g).\n", second->p);
}

static void say_spread(const gt_decision *d, gt_buffer *text)
{
    static const char *const sentences[] = {
        [GT_SPREAD_REPEATS] = "",
        [GT_SPREAD_STEPS] =
            "Each setting was run once: its spread is that of the steps of one run. It does not "
            "contain the differences between runs; use `sweep run --repeat`.\n",
        [GT_SPREAD_RANKS] =
            "Each setting was run once, without several marked steps: its spread is that of the "
            "ranks. It does not contain the differences between runs; use `sweep run "
            "--repeat`.\n",
        [GT_SPREAD_NONE] = "Each setting has one measurement: nothing can be said about their noise; use "
                           "`sweep run --repeat`.\n"};
    gt_buffer_add_cstr(text, sentences[d->spread]);
}

/* The setting of the middle rank. */
static size_t middle_setting(const gt_decision *d)
{
    return d->best.order[d->best.measured / 2];
}

/* What the fastest setting saves of the time of another one. */
static void say_worth(const gt_decision *d, size_t baseline, gt_buffer *text)
{
    bool is_given = baseline != SIZE_MAX;
    size_t other = is_given ? baseline : middle_setting(d);
    const gt_standing *standing = &d->best.settings[other];
    if (other == d->best.order[0] || !(standing->to_best.ratio.value > 1)) {
        if (is_given)
            gt_buffer_add_cstr(text, standing->to_best.ratio.value <= 1
                                         ? "The setting used now is the fastest.\n"
                                         : "The setting used now was not measured.\n");
        return;
    }
    double saved = 1 - 1 / standing->to_best.ratio.value;
    gt_buffer_add_format(text, "Compared with %s", is_given ? "" : "the median setting, ");
    say_setting(d, other, text);
    gt_buffer_add_format(
        text, ", the fastest saves %.1f %% of the step time: %.1f hours of every day of computing%s.\n",
        100 * saved, 24 * saved, standing->is_candidate ? ", but this difference is not supported" : "");
}

/* ---- environment ---- */

/* The variable of an axis: as sweep.json says, or the usual one. */
static const char *variable_of(const gt_sweep *sweep, const char *axis, gt_arena *arena)
{
    static const char *const usual[][2] = {{"threads", "RCCL_THREADS_PER_BLOCK"},
                                           {"channels", "NCCL_MAX_NCHANNELS"}};
    const gt_value *axes = sweep->record ? gt_value_get(sweep->record->json, "axes") : &gt_value_missing;
    for (uint32_t i = 0; gt_value_is_list(axes) && i < axes->count; i++)
        if (gt_value_equals_cstr(gt_value_get(&axes->items[i], "name"), axis))
            return gt_value_copy(arena, gt_value_get(&axes->items[i], "variable"));
    for (size_t i = 0; i < GT_LENGTH(usual); i++)
        if (strcmp(usual[i][0], axis) == 0) return usual[i][1];
    return NULL;
}

static bool is_variable_name(const char *name)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    return name && *name && strchr(first, *name) &&
           !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")];
}

static void say_environment(const gt_decision *d, gt_buffer *text)
{
    const gt_sweep *sweep = d->measures->sweep;
    const gt_sweep_config *config = config_of(d, d->best.order[0]);
    gt_arena arena = {0};
    gt_buffer_add_cstr(text, d->best.candidates == 1 ? "\n" : "\n# the fastest, not supported as the best\n");
    for (size_t a = 0; a < sweep->axis_count; a++) {
        const char *value = config->values[a].value, *name = variable_of(sweep, sweep->axes[a].name, &arena);
        if (!value) continue;
        if (is_variable_name(name))
            gt_buffer_add_format(text, "export %s=", name);
        else
            gt_buffer_add_format(text, "# no environment variable: %.*s=", NAME_WIDTH_MAX,
                                 sweep->axes[a].name);
        gt_shell_quote(text, value);
        gt_buffer_add_format(text, "\n");
    }
    gt_arena_free(&arena);
}

void gt_decision_say(const gt_decision *d, size_t baseline, gt_buffer *text)
{
    if (!d->best.measured) {
        gt_buffer_add_format(text, "No setting was measured.\n");
        return;
    }
    if (d->best.measured == 1)
        gt_buffer_add_format(text, "Only one setting was measured.\n");
    else if (d->best.candidates == 1)
        say_best(d, text);
    else
        say_candidates(d, text);
    say_worth(d, baseline, text);
    say_spread(d, text);
    if (!d->measures->has_steps)
        gt_buffer_add_format(
            text, "Not all traces have several marked steps: there, \"step\" is the whole trace. Call "
                  "profiler.step() after each step.\n");
    say_environment(d, text);
}
