/* The answer in words: which setting, how sure, what it is worth, and how to set it.
 *
 * Each part is a function of its own: the terminal shows all of them one after another (gt_decision_say), the
 * page puts them in their places, with the words that matter between '*'. */
#include "sweep/decide/decide.h"

#include "os/shell_words.h"
#include "sweep/record.h"

enum { NAMES_MAX = 6, MARKED_NAMES_MAX = 2, NAME_WIDTH_MAX = 80 };

static const char *mark(bool marked)
{
    return marked ? "*" : "";
}

/* A name of the sweep. Where '*' marks bold words, those of the name are another character; control
 * characters, which would end a line, are never kept. */
static void say_name(const char *name, bool marked, gt_buffer *text)
{
    size_t len = strnlen(name, NAME_WIDTH_MAX);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7F)
            gt_buffer_add_cstr(text, "?");
        else if (marked && name[i] == '*')
            gt_buffer_add_cstr(text, "\u2217");
        else
            gt_buffer_add(text, &name[i], 1);
}

static const gt_sweep_config *config_of(const gt_decision *d, size_t setting)
{
    return &d->measures->sweep->configs[d->measures->first_config[setting]];
}

void gt_decision_say_setting(const gt_decision *d, size_t setting, bool marked, gt_buffer *text)
{
    const gt_sweep *sweep = d->measures->sweep;
    const gt_sweep_config *config = config_of(d, setting);
    bool any = false;
    for (size_t a = 0; a < sweep->axis_count; a++) {
        if (!config->values[a].value) continue;
        if (any) gt_buffer_add_cstr(text, " ");
        say_name(sweep->axes[a].name, marked, text);
        gt_buffer_add_cstr(text, "=");
        say_name(config->values[a].value, marked, text);
        any = true;
    }
    if (!any) say_name(config->setting, marked, text);
}

/* Whether all settings that may be the best have the same value of an axis, and others have not. */
static bool is_settled(const gt_decision *d, size_t axis)
{
    const gt_best *best = &d->best;
    const char *value = config_of(d, best->order[0])->values[axis].value;
    bool others = false;
    for (size_t r = 0; value && r < best->measured; r++) {
        const char *its = config_of(d, best->order[r])->values[axis].value;
        bool same = its && strcmp(its, value) == 0;
        if (best->settings[best->order[r]].is_candidate && !same) return false;
        others |= !same;
    }
    return value && others;
}

/* What can be used in any case: " All of them have precision=high." */
static void say_agreement(const gt_decision *d, bool marked, gt_buffer *text)
{
    const gt_sweep *sweep = d->measures->sweep;
    const gt_sweep_config *config = config_of(d, d->best.order[0]);
    size_t said = 0;
    for (size_t a = 0; a < sweep->axis_count; a++) {
        if (!is_settled(d, a)) continue;
        gt_buffer_add_cstr(text, said++ ? " " : " All of them have ");
        say_name(sweep->axes[a].name, marked, text);
        gt_buffer_add_cstr(text, "=");
        say_name(config->values[a].value, marked, text);
    }
    if (said) gt_buffer_add_cstr(text, ".");
}

static void say_candidates(const gt_decision *d, bool marked, gt_buffer *text)
{
    const gt_best *best = &d->best;
    size_t named = 0, most = marked ? MARKED_NAMES_MAX : NAMES_MAX;
    bool all = best->candidates == best->measured;
    gt_buffer_add_format(
        text, "No setting is supported as the best: %s%zu of %zu settings cannot be told apart%s%s",
        mark(marked), best->candidates, best->measured, mark(marked), all ? "" : ": ");
    for (size_t r = 0; !all && r < best->measured && named < most; r++) {
        if (!best->settings[best->order[r]].is_candidate) continue;
        if (named++) gt_buffer_add_format(text, "; ");
        gt_decision_say_setting(d, best->order[r], marked, text);
    }
    if (!all && best->candidates > named)
        gt_buffer_add_format(text, "; and %zu more", best->candidates - named);
    gt_buffer_add_format(text, ".");
    say_agreement(d, marked, text);
    gt_buffer_add_format(text, "\n");
}

static void say_best(const gt_decision *d, bool marked, gt_buffer *text)
{
    const gt_best *best = &d->best;
    const gt_standing *second = &best->settings[best->order[1]];
    gt_buffer_add_format(text, "Use %s", mark(marked));
    gt_decision_say_setting(d, best->order[0], marked, text);
    gt_buffer_add_format(
        text,
        "%s: it is the best of %zu settings, %s%.1f %% faster%s than the next (95 %% interval %.1f to %.1f "
        "%%, ",
        mark(marked), best->measured, mark(marked), 100 * (1 - 1 / second->to_best.ratio.value), mark(marked),
        100 * (1 - 1 / second->to_best.ratio.low), 100 * (1 - 1 / second->to_best.ratio.high));
    if (second->p < 0.0001)
        gt_buffer_add_format(text, "p < 0.0001).\n");
    else
        gt_buffer_add_format(text, "p = %.2g).\n", second->p);
}

/* How many settings cannot be compared with the others. */
static size_t left_out(const gt_decision *d)
{
    size_t count = 0;
    for (size_t s = 0; s < d->measures->setting_count; s++)
        count += gt_setting_left_out(d->measures, s) != NULL;
    return count;
}

/* Those that are left out, with the reason of the first. */
static void say_left_out(const gt_decision *d, gt_buffer *text)
{
    size_t count = left_out(d), first = 0;
    if (d->measures->is_partial)
        gt_buffer_add_cstr(text,
                           "No run has whole traces of all ranks, so the settings cannot be compared.\n");
    if (!count) return;
    while (!gt_setting_left_out(d->measures, first)) first++;
    gt_buffer_add_format(text, "%zu %s not compared: ", count, count == 1 ? "setting is" : "settings are");
    gt_decision_say_setting(d, first, false, text);
    gt_buffer_add_format(text, " (%s)%s.\n", gt_setting_left_out(d->measures, first),
                         count > 1 ? " and others" : "");
}

size_t gt_decision_undecided(const gt_decision *d, size_t settings[GT_UNDECIDED_MAX])
{
    size_t count = 0;
    if (d->best.candidates < 2) return 0;
    for (size_t r = 0; r < d->best.measured && count < GT_UNDECIDED_MAX; r++)
        if (d->best.settings[d->best.order[r]].is_candidate) settings[count++] = d->best.order[r];
    return count;
}

enum { WORTHWHILE_RUNS = 50, FIRST_RUNS = 4 };

/* "Add runs to threads=256 channels=28; ...: it takes about 9 of each." */
static void say_more(const gt_decision *d, gt_buffer *text)
{
    size_t settings[GT_UNDECIDED_MAX], count = gt_decision_undecided(d, settings);
    if (!count) return;
    double needed = 0;
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const gt_standing *standing = &d->best.settings[settings[i]];
        if (i && standing->runs_needed > needed) needed = standing->runs_needed;
        fewest = d->samples[settings[i]].runs < fewest ? d->samples[settings[i]].runs : fewest;
    }
    if (needed > WORTHWHILE_RUNS) {
        gt_buffer_add_format(
            text,
            "To tell the fastest %zu apart would take more than %d runs of each, if they differ as "
            "measured: use any of them.\n",
            count, WORTHWHILE_RUNS);
        return;
    }
    gt_buffer_add_cstr(text, "Add runs to ");
    for (size_t i = 0; i < count; i++) {
        if (i) gt_buffer_add_cstr(text, "; ");
        gt_decision_say_setting(d, settings[i], false, text);
    }
    size_t runs = needed > 0 ? (size_t)needed : fewest + FIRST_RUNS, more = runs > fewest ? runs - fewest : 1;
    if (needed > 0)
        gt_buffer_add_format(text, ": if they differ as measured, it takes about %zu of each", fewest + more);
    gt_buffer_add_format(text, ". Repeat the command line of `sweep run` with --more %zu.\n", more);
}

static bool is_run_once(const gt_decision *d, size_t setting)
{
    return d->spread != GT_SPREAD_REPEATS || d->samples[setting].runs == 1;
}

size_t gt_decision_run_once(const gt_decision *d, size_t *settings)
{
    size_t undecided[GT_UNDECIDED_MAX], known = gt_decision_undecided(d, undecided), count = 0;
    for (size_t r = 0; known && r < d->best.measured; r++) {
        size_t setting = d->best.order[r];
        bool is_other = is_run_once(d, setting);
        for (size_t i = 0; i < known; i++) is_other &= undecided[i] != setting;
        if (is_other) settings[count++] = setting;
    }
    return count;
}

static size_t count_run_once(const gt_decision *d)
{
    size_t count = 0;
    for (size_t r = 0; r < d->best.measured; r++) count += is_run_once(d, d->best.order[r]);
    return count;
}

void gt_decision_say_limits(const gt_decision *d, gt_buffer *text)
{
    static const char *const intervals[] = {
        [GT_SPREAD_STEPS] = " Intervals are those of the steps of one run.",
        [GT_SPREAD_RANKS] = " Intervals are those of the ranks of one run.",
        [GT_SPREAD_NONE] = NULL};
    say_left_out(d, text);
    size_t single = count_run_once(d);
    if (d->spread != GT_SPREAD_REPEATS && d->best.measured)
        gt_buffer_add_format(text, "Each setting was run once, which does not show how much runs differ.%s\n",
                             intervals[d->spread] ? intervals[d->spread] : "");
    else if (single)
        gt_buffer_add_format(
            text, "%zu %s run once and cannot be told apart: something may have disturbed that run.\n",
            single, single == 1 ? "setting was" : "settings were");
    gt_decision_say_outliers(d, text);
    if (!d->measures->is_partial) say_more(d, text);
    if (!d->measures->has_steps)
        gt_buffer_add_format(text,
                             "The traces do not have several marked steps: \"step\" is the whole trace. Call "
                             "profiler.step() after each step.\n");
}

size_t gt_decision_baseline(const gt_decision *d, size_t given)
{
    return given != SIZE_MAX ? given : d->best.order[d->best.measured / 2];
}

void gt_decision_say_worth(const gt_decision *d, size_t baseline, bool marked, gt_buffer *text)
{
    bool is_given = baseline != SIZE_MAX;
    size_t other = gt_decision_baseline(d, baseline);
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
    gt_decision_say_setting(d, other, marked, text);
    gt_buffer_add_format(
        text, ", the fastest saves %s%.1f %% of the step time: %.1f hours of every day%s of computing%s.\n",
        mark(marked), 100 * saved, 24 * saved, mark(marked),
        standing->is_candidate ? ", but this difference is not supported" : "");
}

/* ---- environment ---- */

const char *gt_decision_variable(const gt_sweep *sweep, const char *axis, gt_arena *arena)
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

/* A value that cannot be set stands in a comment, which a line end in the value must not end. */
static void say_comment(const char *axis, const char *value, gt_buffer *text)
{
    gt_buffer_add_cstr(text, "# no environment variable: ");
    say_name(axis, false, text);
    gt_buffer_add_cstr(text, "=");
    gt_buffer quoted = {0};
    gt_shell_quote(&quoted, value);
    for (size_t i = 0; i < quoted.len; i++)
        if (quoted.bytes[i] == '\n' || quoted.bytes[i] == '\r') quoted.bytes[i] = '?';
    gt_buffer_add(text, quoted.bytes, quoted.len);
    gt_buffer_add_cstr(text, "\n");
    gt_buffer_free(&quoted);
}

void gt_decision_say_environment(const gt_decision *d, gt_buffer *text)
{
    const gt_sweep *sweep = d->measures->sweep;
    const gt_sweep_config *config = config_of(d, d->best.order[0]);
    gt_arena arena = {0};
    if (d->best.candidates != 1) gt_buffer_add_cstr(text, "# the fastest, not supported as the best\n");
    for (size_t a = 0; a < sweep->axis_count; a++) {
        const char *value = config->values[a].value,
                   *name = gt_decision_variable(sweep, sweep->axes[a].name, &arena);
        if (!value) continue;
        if (!is_variable_name(name)) {
            say_comment(sweep->axes[a].name, value, text);
            continue;
        }
        gt_buffer_add_format(text, "export %s=", name);
        gt_shell_quote(text, value);
        gt_buffer_add_format(text, "\n");
    }
    gt_arena_free(&arena);
}

void gt_decision_say_verdict(const gt_decision *d, bool marked, gt_buffer *text)
{
    if (!d->best.measured)
        gt_buffer_add_format(text, "No setting was measured.\n");
    else if (d->best.measured == 1)
        gt_buffer_add_format(text, "Only one setting %s.\n",
                             left_out(d) ? "can be compared" : "was measured");
    else if (d->best.candidates == 1)
        say_best(d, marked, text);
    else
        say_candidates(d, marked, text);
}

void gt_decision_say(const gt_decision *d, size_t baseline, gt_buffer *text)
{
    gt_decision_say_verdict(d, false, text);
    if (!d->best.measured) return;
    gt_decision_say_worth(d, baseline, false, text);
    gt_decision_say_limits(d, text);
    gt_buffer_add_cstr(text, "\n");
    gt_decision_say_environment(d, text);
}
