/* The counters that a profiler collects: from a file of its option -i, from a list that comes with gputally,
 * or from its option --pmc.
 *
 * Where rocprofv3-avail answers, counters that this GPU does not have are named before anything
 * runs. A list that comes with gputally is then cut to those that exist and packed into as few passes as the
 * hardware takes; a file of the user is passed on as it is.
 *
 * rocprofv3 only warns of a counter that the GPU does not have, after it has run the program for it; and it
 * runs the program once per line of a counter file. rocprofv3-avail, which comes with it, knows both
 * beforehand:
 *
 *     rocprofv3-avail list --pmc                 the GPUs with the names of their counters
 *     rocprofv3-avail -d 0 pmc-check A B         fails if the hardware cannot count A and B at the same time
 *
 * The second is asked for one counter after the other: each goes into the first pass that has room for it.
 * The hardware has a number of registers per block (SQ, TCC, ...), so this gives as few passes as the fullest
 * block needs. A pass that has no room for one counter of a block is not asked for the next one of that
 * block; names begin with their block. */
#include "os/child.h"
#include "os/paths.h"
#include "run/plan/plan.h"

#include <time.h>

/* What rocprofv3-avail says about the first GPU of this machine. */
typedef struct counter_info {
    gt_arena *arena;
    const char *path;         /* of the program; NULL: not installed */
    const char *device, *gpu; /* its number and name, such as gfx942 */
    gt_arg_list names;        /* counters of all GPUs, sorted */
    bool interrupted;         /* by a signal */
} counter_info;

static const double ask_timeout_s = 60, pack_timeout_s = 180;

/* ---- asking ---- */

/* Runs rocprofv3-avail; false if it fails. */
static bool ask(counter_info *avail, const char *const *words, size_t count, gt_buffer *answer)
{
    const char **argv = gt_arena_alloc(avail->arena, (count + 2) * sizeof *argv);
    argv[0] = avail->path;
    for (size_t i = 0; i < count; i++) argv[i + 1] = words[i];
    argv[count + 1] = NULL;
    gt_child_setup setup = {.argv = argv,
                            .silent = true,
                            .merge = true,
                            .timeout_s = ask_timeout_s,
                            .line = gt_child_keep_line,
                            .line_context = answer};
    gt_child_result result;
    gt_error ignored;
    if (!gt_child_run(&setup, &result, &ignored)) return false;
    avail->interrupted = avail->interrupted || result.interrupted;
    return !result.timed_out && !result.interrupted && result.exit_code == 0;
}

/* ---- the list of counters ---- */

/* The value of a line "GPU   :   0", if it is one; else NULL. */
static const char *value_of(gt_arena *arena, const char *line, const char *key)
{
    size_t len = strlen(key);
    if (strncmp(line, key, len) != 0) return NULL;
    line += len + strspn(line + len, " \t");
    if (*line++ != ':') return NULL;
    line += strspn(line, " \t");
    size_t end = strlen(line);
    while (end && isspace((unsigned char)line[end - 1])) end--;
    return gt_arena_bytes(arena, line, end);
}

static bool is_counter_name(const char *word)
{
    if (!isalpha((unsigned char)*word)) return false;
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && *word != '_') return false;
    return true;
}

/* Adds the names of a line; a line with anything else has none. */
static void add_names(counter_info *avail, char *line)
{
    size_t first = avail->names.count;
    for (char *rest = NULL, *word = strtok_r(line, " \t\r", &rest); word;
         word = strtok_r(NULL, " \t\r", &rest)) {
        if (is_counter_name(word)) {
            gt_arg_list_add(avail->arena, &avail->names, word);
            continue;
        }
        avail->names.count = first;
        return;
    }
}

/* GPU, Name and PMC of each GPU, then its counters in columns. */
static void parse_list(counter_info *avail, char *text)
{
    bool in_names = false;
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *gpu = value_of(avail->arena, line, "GPU"), *name = value_of(avail->arena, line, "Name");
        if (gpu && !avail->device) avail->device = gpu;
        if (name && !avail->gpu) avail->gpu = name;
        bool is_heading = value_of(avail->arena, line, "PMC") != NULL;
        if (in_names && !gpu && !name && !is_heading) add_names(avail, line);
        in_names = is_heading || (in_names && !gpu);
    }
}

/* Asks the rocprofv3-avail next to this rocprofv3, or that in PATH; false if it gives no counters. */
static bool avail_ask(counter_info *avail, gt_arena *arena, const char *rocprofv3)
{
    static const char *const list[] = {"list", "--pmc"};
    *avail = (counter_info){.arena = arena};
    avail->path = gt_path_join(arena, gt_arena_bytes(arena, rocprofv3, gt_path_folder_len(rocprofv3)),
                               "rocprofv3-avail");
    if (!gt_path_is_file(avail->path)) avail->path = gt_path_search(arena, "rocprofv3-avail", getenv("PATH"));
    if (!avail->path) return false;
    gt_buffer answer = {0};
    bool known = ask(avail, list, GT_LENGTH(list), &answer);
    gt_buffer_str(&answer);
    if (known) parse_list(avail, answer.bytes);
    gt_buffer_free(&answer);
    if (avail->names.count)
        qsort(avail->names.items, avail->names.count, sizeof *avail->names.items, gt_by_cstr);
    return avail->names.count > 0;
}

/* "SQ_WAVES:device=0" and "TCC_HIT[3]" are about the counter before the mark. */
static bool avail_has(const counter_info *avail, const char *counter)
{
    const char *name = gt_arena_bytes(avail->arena, counter, strcspn(counter, ":["));
    return avail->names.count &&
           bsearch(&name, avail->names.items, avail->names.count, sizeof *avail->names.items, gt_by_cstr);
}

/* ---- replacements ---- */

/* Names that a GPU of another generation has for the same thing; those with a prefix are below. */
static const struct {
    const char *name, *instead;
    const char *needs[2];
} replacements[] = {
    {"L2CacheHit", "100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)", {"TCC_HIT_sum", "TCC_MISS_sum"}},
    {"L2CacheHitRate", "100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)", {"TCC_HIT_sum", "TCC_MISS_sum"}},
    {"L2CacheMiss", "TCC_MISS_sum", {"TCC_MISS_sum", NULL}},
    {"TCP_TCC_ATOMIC_REQ_sum",
     "TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum",
     {"TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum"}},
};

/* The counter of this GPU that counts the same, for messages; NULL: unknown. */
static const char *avail_replacement(const counter_info *avail, const char *counter)
{
    static const char *const prefixes[][2] = {{"TCC_EA_", "TCC_EA0_"}, {"TCC_EA0_", "TCC_EA_"}};
    for (size_t i = 0; i < GT_LENGTH(prefixes); i++) {
        size_t len = strlen(prefixes[i][0]);
        if (strncmp(counter, prefixes[i][0], len) != 0) continue;
        const char *other = gt_arena_format(avail->arena, "%s%s", prefixes[i][1], counter + len);
        if (avail_has(avail, other)) return other;
    }
    for (size_t i = 0; i < GT_LENGTH(replacements); i++) {
        bool has_all = strcmp(replacements[i].name, counter) == 0;
        for (size_t n = 0; has_all && n < GT_LENGTH(replacements[i].needs) && replacements[i].needs[n]; n++)
            has_all = avail_has(avail, replacements[i].needs[n]);
        if (has_all) return replacements[i].instead;
    }
    return NULL;
}

/* ---- packing into passes ---- */

typedef struct pass {
    gt_arg_list counters, full_blocks;
} pass;

/* The part of a name before the first '_', which is its block of the hardware for most counters. */
static const char *block_of(gt_arena *arena, const char *counter)
{
    return gt_arena_bytes(arena, counter, strcspn(counter, "_"));
}

static bool is_in(const gt_arg_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], word) == 0) return true;
    return false;
}

/* Whether the hardware can count all of a pass and one more. */
static bool fits(counter_info *avail, const pass *p, const char *counter)
{
    gt_arg_list words = {0};
    gt_buffer answer = {0};
    gt_arg_list_add(avail->arena, &words, "-d");
    gt_arg_list_add(avail->arena, &words, avail->device);
    gt_arg_list_add(avail->arena, &words, "pmc-check");
    for (size_t i = 0; i < p->counters.count; i++)
        gt_arg_list_add(avail->arena, &words, p->counters.items[i]);
    gt_arg_list_add(avail->arena, &words, counter);
    bool ok = ask(avail, words.items, words.count, &answer) &&
              gt_str_contains(gt_buffer_str(&answer), "can be collected together");
    gt_buffer_free(&answer);
    return ok;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void add_to_pass(counter_info *avail, pass *passes, size_t *count, const char *counter, double end_s)
{
    const char *block = block_of(avail->arena, counter);
    for (size_t i = 0; avail->device && i < *count && !avail->interrupted && now_s() < end_s; i++) {
        if (is_in(&passes[i].full_blocks, block)) continue;
        if (fits(avail, &passes[i], counter)) {
            gt_arg_list_add(avail->arena, &passes[i].counters, counter);
            return;
        }
        gt_arg_list_add(avail->arena, &passes[i].full_blocks, block);
    }
    passes[*count] = (pass){0};
    gt_arg_list_add(avail->arena, &passes[(*count)++].counters, counter);
}

/* Distributes counters to as few passes as possible; appends one string per pass. */
static void avail_pack(counter_info *avail, const gt_arg_list *counters, gt_arg_list *passes)
{
    pass *all = gt_arena_alloc(avail->arena, (counters->count + 1) * sizeof *all);
    size_t count = 0;
    double end_s = now_s() + pack_timeout_s;
    for (size_t i = 0; i < counters->count; i++) add_to_pass(avail, all, &count, counters->items[i], end_s);
    for (size_t i = 0; i < count; i++) {
        gt_buffer line = {0};
        for (size_t n = 0; n < all[i].counters.count; n++) {
            gt_buffer_add_cstr(&line, n ? " " : "");
            gt_buffer_add_cstr(&line, all[i].counters.items[n]);
        }
        gt_arg_list_add(avail->arena, passes, gt_buffer_str(&line).bytes);
        gt_buffer_free(&line);
    }
}

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

/* Sorts the counters of all passes into those that the GPU has and the others, each once. */
static void divide(const counter_plan *c, const counter_info *avail, gt_arg_list *kept, gt_arg_list *missing)
{
    gt_arg_list all = {0};
    for (size_t i = 0; i < c->profiler->counter_passes.count; i++)
        add_words(c->arena, &all, c->profiler->counter_passes.items[i]);
    for (size_t i = 0; i < all.count; i++) {
        gt_arg_list *list = avail_has(avail, all.items[i]) ? kept : missing;
        if (!is_in(list, all.items[i])) gt_arg_list_add(c->arena, list, all.items[i]);
    }
}

/* "A (instead: B), C" */
static const char *describe(const counter_plan *c, const counter_info *avail, const gt_arg_list *missing)
{
    gt_buffer text = {0};
    for (size_t i = 0; i < missing->count; i++) {
        const char *instead = avail_replacement(avail, missing->items[i]);
        gt_buffer_add_format(&text, "%s%.200s", i ? ", " : "", missing->items[i]);
        if (instead) gt_buffer_add_format(&text, " (instead: %s)", instead);
    }
    const char *kept = gt_arena_bytes(c->arena, text.bytes, text.len);
    gt_buffer_free(&text);
    return kept;
}

static void pack(counter_plan *c, counter_info *avail, const gt_arg_list *kept)
{
    gt_buffer text = {0};
    gt_arg_list passes = {0};
    avail_pack(avail, kept, &passes);
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
    counter_info avail;
    gt_arg_list kept = {0}, missing = {0};
    *asked = c->setup->rocprofv3 && avail_ask(&avail, c->arena, c->setup->rocprofv3);
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
