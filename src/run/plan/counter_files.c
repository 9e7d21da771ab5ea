/* The counters that a profiler collects: from a file of its option -i, from a list that comes with gputally,
 * or from its option --pmc.
 *
 * Where rocprofv3-avail answers (counters.c), counters that this GPU does not have are named before anything
 * runs. A list that comes with gputally is then cut to those that exist and packed into as few passes as the
 * hardware takes; a file of the user is passed on as it is. */
#include "run/plan/plan.h"
#include "base/memory.h"
#include "os/paths.h"

#include <string.h>
#include <unistd.h>

enum { COUNTER_FILE_MAX_BYTES = 1 << 20 };

typedef struct counter_plan {
    const gt_counter_setup *setup;
    gt_arena *arena;
    gt_profiler *profiler;
    const gt_counter_file *list; /* that comes with gputally; NULL: the counters are the user's own */
    const char *source;          /* for messages: the file, or "--pmc" */
} counter_plan;

/* ---- what no GPU or only older ones have, where nobody can be asked ---- */

static void note_known_gaps(const counter_plan *c, gt_str text)
{
    gt_buffer unavailable = {0}, only_old = {0};
    gt_counters_unknown(text, &unavailable, &only_old);
    if (unavailable.len)
        gt_arg_list_add(c->arena, c->setup->notes,
                        gt_arena_format(c->arena,
                                        "no GPU has these counters; their passes give no values: %s",
                                        gt_buffer_str(&unavailable).bytes));
    if (only_old.len)
        gt_arg_list_add(c->arena, c->setup->notes,
                        gt_arena_format(c->arena, "only on gfx90a and older, not on gfx942 and gfx950: %s",
                                        gt_buffer_str(&only_old).bytes));
    gt_buffer_free(&unavailable);
    gt_buffer_free(&only_old);
}

/* ---- the counters of a pass ---- */

/* Adds the words of a line, separated by blanks or commas. */
static void add_words(gt_arena *arena, gt_arg_list *list, const char *text)
{
    static const char separators[] = " \t\r,";
    for (text += strspn(text, separators); *text; text += strspn(text, separators)) {
        size_t len = strcspn(text, separators);
        gt_arg_list_add(arena, list, gt_arena_bytes(arena, text, len));
        text += len;
    }
}

/* One string per line with "pmc:", as rocprofv3 reads it: the words after it, up to a '#'. */
static void read_passes(counter_plan *c, gt_str text)
{
    const char *end = text.bytes + text.len;
    for (const char *line = text.bytes; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        const char *mark = memmem(line, (size_t)(stop - line), "pmc:", 4);
        const char *comment = memchr(line, '#', (size_t)(stop - line));
        if (mark) {
            const char *last = comment ? comment : stop;
            mark += 4;
            gt_arg_list_add(c->arena, &c->profiler->counter_passes,
                            mark < last ? gt_arena_bytes(c->arena, mark + strspn(mark, " \t"),
                                                         (size_t)(last - mark) - strspn(mark, " \t"))
                                        : "");
        }
        line = stop + 1;
    }
}

/* ---- with rocprofv3-avail ---- */

static bool is_in(const gt_arg_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], word) == 0) return true;
    return false;
}

/* Sorts the counters of all passes into those that the GPU has and the others, each once. */
static void divide(const counter_plan *c, const gt_avail *avail, gt_arg_list *kept, gt_arg_list *missing)
{
    gt_arg_list all = {0};
    for (size_t i = 0; i < c->profiler->counter_passes.count; i++)
        add_words(c->arena, &all, c->profiler->counter_passes.items[i]);
    for (size_t i = 0; i < all.count; i++) {
        gt_arg_list *list = gt_avail_has(avail, all.items[i]) ? kept : missing;
        if (!is_in(list, all.items[i])) gt_arg_list_add(c->arena, list, all.items[i]);
    }
}

/* "A (instead: B), C" */
static const char *describe(const counter_plan *c, const gt_avail *avail, const gt_arg_list *missing)
{
    gt_buffer text = {0};
    for (size_t i = 0; i < missing->count; i++) {
        const char *instead = gt_avail_replacement(avail, missing->items[i]);
        gt_buffer_add_format(&text, "%s%.200s", i ? ", " : "", missing->items[i]);
        if (instead) gt_buffer_add_format(&text, " (instead: %s)", instead);
    }
    const char *kept = gt_arena_bytes(c->arena, text.bytes, text.len);
    gt_buffer_free(&text);
    return kept;
}

static void pack(counter_plan *c, gt_avail *avail, const gt_arg_list *kept)
{
    gt_buffer text = {0};
    gt_arg_list passes = {0};
    gt_avail_pack(avail, kept, &passes);
    for (size_t i = 0; i < passes.count; i++) gt_buffer_add_format(&text, "pmc: %s\n", passes.items[i]);
    c->profiler->counter_text = gt_arena_bytes(c->arena, text.bytes, text.len);
    c->profiler->counter_passes = passes;
    gt_arg_list_add(c->arena, c->setup->notes,
                    gt_arena_format(c->arena, "%zu counters in %zu %s on this GPU (%s)", kept->count,
                                    passes.count, passes.count == 1 ? "pass" : "passes", avail->gpu));
    gt_buffer_free(&text);
}

/* Compares the counters with those of the GPU. *asked: whether it could. False with an error if the GPU has
 * none of them, or if the user interrupted it. */
static bool check(counter_plan *c, bool *asked, gt_error *error)
{
    gt_avail avail;
    gt_arg_list kept = {0}, missing = {0};
    *asked = c->setup->rocprofv3 && gt_avail_ask(&avail, c->arena, c->setup->rocprofv3);
    if (!*asked) {
        if (c->setup->rocprofv3 && avail.interrupted) return gt_fail(error, "interrupted");
        if (c->setup->rocprofv3 && avail.path)
            gt_arg_list_add(c->arena, c->setup->notes,
                            "rocprofv3-avail lists no counters; they are not checked");
        return true;
    }
    if (!avail.gpu) avail.gpu = "unknown";
    divide(c, &avail, &kept, &missing);
    if (!kept.count && missing.count)
        return gt_fail(error, "tool %.200s: this GPU (%.100s) has none of the counters of %.300s: %.1500s",
                       c->setup->tool, avail.gpu, c->source, describe(c, &avail, &missing));
    if (missing.count)
        gt_arg_list_add(c->arena, c->list ? c->setup->notes : c->setup->warnings,
                        gt_arena_format(c->arena, "not on this GPU (%s), %s: %s", avail.gpu,
                                        c->list ? "left out" : "so these have no values",
                                        describe(c, &avail, &missing)));
    if (c->list) pack(c, &avail, &kept);
    return !avail.interrupted || gt_fail(error, "interrupted");
}

/* ---- files ---- */

static bool plan_text(counter_plan *c, gt_str text, gt_error *error)
{
    size_t in_comments;
    bool asked;
    gt_counter_passes(text, &in_comments);
    if (in_comments)
        gt_arg_list_add(c->arena, c->setup->notes,
                        gt_arena_format(c->arena,
                                        "%zu passes come from comment lines; rocprofv3 1.0 runs them without "
                                        "counters",
                                        in_comments));
    if (c->list) c->profiler->counter_text = gt_arena_bytes(c->arena, text.bytes, text.len);
    read_passes(c, text);
    if (!check(c, &asked, error)) return false;
    if (!asked) note_known_gaps(c, text);
    c->profiler->passes = c->profiler->counter_passes.count ? c->profiler->counter_passes.count : 1;
    return true;
}

/* Counts the jobs of a YAML file: items of the list under "jobs:", recognised by the indentation of the
 * first one. */
static size_t count_yaml_jobs(const char *text)
{
    const char *line = strstr(text, "jobs:");
    size_t jobs = 0, indent = 0;
    while (line && (line = strchr(line, '\n'))) {
        size_t blanks = strspn(++line, " ");
        if (line[blanks] != '-') continue;
        if (!jobs) indent = blanks;
        jobs += blanks == indent;
    }
    return jobs;
}

static bool plan_jobs(counter_plan *c, const char *path, gt_str text, gt_error *error)
{
    const char *dot = strrchr(path, '.');
    size_t jobs = 0;
    if (dot && strcmp(dot, ".json") == 0) {
        gt_error ignored;
        const gt_value *value = gt_settings_parse(c->arena, text, &ignored);
        jobs = value ? gt_value_get(value, "jobs")->count : 0;
    } else if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0)) {
        jobs = count_yaml_jobs(text.bytes);
    } else {
        return plan_text(c, text, error);
    }
    c->profiler->passes = jobs ? jobs : 1;
    return true;
}

bool gt_counters_plan_file(const gt_counter_setup *setup, gt_profiler *profiler, const char **path,
                           gt_error *error)
{
    counter_plan c = {.setup = setup, .arena = setup->arena, .profiler = profiler, .source = *path};
    gt_buffer text = {0};
    gt_error reason;
    bool ok = true;
    *path = gt_path_absolute(c.arena, setup->workdir, *path);
    if (access(*path, F_OK) != 0) c.list = gt_counter_file_find(*path);
    if (c.list) {
        gt_counter_file_add(c.list, &text);
        *path = gt_path_join(c.arena, gt_path_join(c.arena, profiler->output_dir, "counters"), c.list->name);
        profiler->counter_path = *path;
    } else {
        ok = gt_read_small_file(*path, COUNTER_FILE_MAX_BYTES, &text, &reason) ||
             gt_fail(error, "tool %.200s: cannot read its counters: %.700s", setup->tool, reason.text);
    }
    ok = ok && plan_jobs(&c, *path, gt_buffer_str(&text), error);
    gt_buffer_free(&text);
    return ok;
}

bool gt_counters_plan_names(const gt_counter_setup *setup, gt_profiler *profiler, const char *const *names,
                            size_t count, gt_error *error)
{
    counter_plan c = {.setup = setup, .arena = setup->arena, .profiler = profiler, .source = "--pmc"};
    gt_buffer line = {0};
    bool asked;
    for (size_t i = 0; i < count; i++) {
        gt_buffer_add_cstr(&line, i ? " " : "");
        gt_buffer_add_cstr(&line, names[i]);
    }
    gt_arg_list_add(c.arena, &profiler->counter_passes, gt_buffer_str(&line).bytes);
    gt_buffer_free(&line);
    return check(&c, &asked, error);
}
