/* Where a profiler writes: what the user means by -d and -o, and what the profiler gets instead.
 *
 * Every run writes into a folder of its own, DIR/TIMESTAMP, so that no file of an earlier run is taken for
 * one of this; and every process gets names of its own, because any program may start others, and with one
 * name for all of them the last one to end would overwrite what the others wrote. publish.c makes the names
 * that the user expects.
 *
 * Both may come from the command line, from the variables ROCPROF_OUTPUT_PATH and ROCPROF_OUTPUT_FILE_NAME,
 * or from the jobs of a file of -i. rocprofv3 refuses a file that contradicts its command line, so of such a
 * file a copy without these two is used. */
#include "run/plan/plan.h"
#include "os/paths.h"

enum { JOBS_MAX_BYTES = 1 << 20 };

static const struct {
    const char *option, *written, *variable, *job_key;
} outputs[] = {
    {"output-directory", "-d", "ROCPROF_OUTPUT_PATH", "output_directory"},
    {"output-file", "-o", "ROCPROF_OUTPUT_FILE_NAME", "output_file"},
};

static const char *value_of(const gt_profiler_options *options, const char *name)
{
    const gt_profiler_option *option = gt_profiler_option_find(options, name);
    return option && option->value_count ? option->values[0] : NULL;
}

/* ---- from variables ---- */

static const char *variable(const gt_profiler_place *place, const char *name)
{
    const char *value = gt_settings_string(place->env, name);
    if (!value && !place->in_container) value = getenv(name);
    return value && *value ? value : NULL;
}

static void add_defaults(gt_arena *arena, gt_profiler_options *options, const gt_profiler_place *place)
{
    for (size_t i = 0; i < GT_LENGTH(outputs); i++) {
        const char *value = variable(place, outputs[i].variable);
        if (value && !value_of(options, outputs[i].option))
            gt_profiler_option_add(arena, options, outputs[i].written, value);
    }
}

/* ---- from jobs ---- */

/* A YAML file is not rewritten: only whether it has one of the keys is known. */
static const char *key_in_yaml(const char *text)
{
    for (size_t i = 0; i < GT_LENGTH(outputs); i++) {
        size_t len = strlen(outputs[i].job_key);
        for (const char *at = text; (at = strstr(at, outputs[i].job_key)); at += len) {
            const char *before = at;
            while (before > text && strchr(" -\t\"'{,", before[-1])) before--;
            bool is_first = before == text || before[-1] == '\n' || *before == '{' || *before == ',';
            const char *after = at + len + strspn(at + len, "\"' ");
            if (is_first && *after == ':') return outputs[i].job_key;
        }
    }
    return NULL;
}

static const gt_value *without_outputs(gt_arena *arena, const gt_value *job)
{
    const gt_value *rest = gt_settings_update(arena, &gt_value_missing, &gt_value_missing);
    for (uint32_t i = 0; i < job->count; i += 2) {
        const char *key = job->items[i].text.bytes;
        if (strcmp(key, outputs[0].job_key) != 0 && strcmp(key, outputs[1].job_key) != 0)
            rest = gt_settings_with(arena, rest, key, job->items[i + 1]);
    }
    return rest;
}

typedef struct job_file {
    gt_arena *arena;
    gt_profiler_options *options;
    const gt_profiler_place *place;
    const char *path;
    gt_arg_list *notes;
    gt_error *error;
} job_file;

/* Makes the values of all jobs options of the command line, as which they mean the same. *found: there are
 * some. */
static bool adopt(const job_file *f, const gt_value *jobs, bool *found)
{
    for (size_t i = 0; i < GT_LENGTH(outputs); i++) {
        const char *key = outputs[i].job_key, *all = value_of(f->options, outputs[i].option);
        bool is_given = all != NULL;
        for (uint32_t j = 0; j < jobs->count; j++) {
            const char *value =
                jobs->items[j].type == GT_VALUE_DICT ? gt_settings_string(&jobs->items[j], key) : NULL;
            if (!value) continue;
            *found = true;
            if (all && strcmp(all, value) != 0)
                return gt_fail(f->error, "tool %.200s: %.300s: %s is %.200s and %.200s; a run has only one",
                               f->place->tool, f->path, key, all, value);
            all = value;
        }
        if (!all || is_given) continue;
        gt_profiler_option_add(f->arena, f->options, outputs[i].written, all);
        gt_arg_list_add(
            f->arena, f->notes,
            gt_arena_format(f->arena, "%s: its %s is used as %s %s", f->path, key, outputs[i].written, all));
    }
    return true;
}

/* The file without folders and names. */
static const char *rewritten(gt_arena *arena, const gt_value *whole)
{
    const gt_value *jobs = gt_value_get(whole, "jobs"), *rest = &gt_value_missing;
    for (uint32_t i = 0; i < jobs->count; i++)
        rest = gt_settings_push(
            arena, rest,
            jobs->items[i].type == GT_VALUE_DICT ? *without_outputs(arena, &jobs->items[i]) : jobs->items[i]);
    gt_json_writer w = {0};
    gt_json_add_value(&w, gt_settings_with(arena, whole, "jobs", *rest));
    gt_str text = gt_buffer_str(&w.text);
    const char *kept = gt_arena_bytes(arena, text.bytes, text.len);
    gt_json_writer_free(&w);
    return kept;
}

/* *text: the contents of a file to use instead; NULL: the user's own. */
static bool adopt_jobs(const job_file *f, gt_str contents, const char **text)
{
    gt_error ignored;
    bool found = false;
    if (!gt_has_ending(f->path, ".json")) {
        const char *key = key_in_yaml(contents.bytes);
        return !key ||
               gt_fail(f->error, "tool %.200s: %.300s has %s; remove it, and use %s in the tool's cmd",
                       f->place->tool, f->path, key, strcmp(key, outputs[0].job_key) == 0 ? "-d" : "-o");
    }
    const gt_value *whole = gt_settings_parse(f->arena, contents, &ignored);
    const gt_value *jobs = whole ? gt_value_get(whole, "jobs") : &gt_value_missing;
    if (!gt_value_is_list(jobs)) return true; /* rocprofv3 says what is wrong with it */
    if (!adopt(f, jobs, &found)) return false;
    if (found) *text = rewritten(f->arena, whole);
    return true;
}

static bool read_jobs(const job_file *f, const char **text)
{
    const char *path = f->path ? gt_path_absolute(f->arena, f->place->workdir, f->path) : "";
    gt_buffer contents = {0};
    gt_error ignored;
    if (!gt_has_ending(path, ".json") && !gt_has_ending(path, ".yaml") && !gt_has_ending(path, ".yml"))
        return true;
    bool ok = !gt_read_small_file(path, JOBS_MAX_BYTES, &contents, &ignored) ||
              adopt_jobs(f, gt_buffer_str(&contents), text);
    gt_buffer_free(&contents);
    return ok;
}

/* ---- what the profiler gets ---- */

/* The length of the folders before the first one with a part that rocprofv3 replaces; the whole length if
 * there is none. */
static size_t fixed_length(const char *path)
{
    const char *key = strpbrk(path, "%{"), *env = strstr(path, "$ENV{");
    if (!key || (env && env < key)) key = env;
    if (!key) return strlen(path);
    while (key > path && key[-1] != '/') key--;
    return (size_t)(key - path);
}

/* -o /DIR/NAME means -d /DIR -o NAME, whatever -d says. */
static void split_absolute_name(gt_arena *arena, gt_profiler_options *options)
{
    gt_profiler_option *name = gt_profiler_option_find(options, "output-file");
    const char *given = name && name->value_count ? name->values[0] : "";
    if (given[0] != '/') return;
    gt_profiler_option *folder = gt_profiler_option_find(options, "output-directory");
    size_t fixed = gt_path_folder_len(given);
    if (fixed > fixed_length(given)) fixed = fixed_length(given);
    const char *dir = gt_arena_bytes(arena, given, fixed > 1 ? fixed - 1 : 1);
    if (folder)
        folder->values[0] = dir, folder->value_count = 1;
    else
        gt_profiler_option_add(arena, options, outputs[0].written, dir);
    gt_profiler_option_find(options, "output-file")->values[0] = given + fixed;
}

static void resolve_folder(gt_arena *arena, gt_profiler_options *options, const gt_profiler_place *place,
                           gt_profiler *profiler)
{
    gt_profiler_option *option = gt_profiler_option_find(options, "output-directory");
    const char *given = option && option->value_count ? option->values[0] : "rocprof_output";
    const char *path = gt_path_absolute(arena, place->named_base, given), *rest = "";
    if (strcmp(path, gt_path_join(arena, place->named_base, "rocprof_output")) == 0) {
        profiler->output_dir = place->run_dir;
        profiler->named_dir = gt_arena_bytes(arena, place->run_dir, gt_path_folder_len(place->run_dir) - 1);
    } else {
        size_t fixed = fixed_length(path);
        if (path[fixed]) rest = path + fixed;
        profiler->named_dir = gt_arena_bytes(arena, path, *rest && fixed > 1 ? fixed - 1 : fixed);
        profiler->output_dir = gt_path_join(arena, profiler->named_dir, place->timestamp);
    }
    const char *dir = *rest ? gt_path_join(arena, profiler->output_dir, rest) : profiler->output_dir;
    if (option) {
        option->values[0] = dir;
        option->value_count = 1;
    } else if (profiler->kind == GT_PROFILER_ROCPROFV3) { /* files of the older one are moved there later */
        gt_profiler_option_add(arena, options, outputs[0].written, dir);
    }
}

/* Whether rocprofv3 replaces a part of the name with something that differs between processes. */
static bool is_per_process(const char *name)
{
    static const char *const keys[] = {"%pid%", "{pid}", "%p",    "%rank%", "{rank}", "%r",
                                       "%nid%", "{nid}", "%env{", "$ENV{",  "%q{"};
    for (size_t i = 0; i < GT_LENGTH(keys); i++) {
        const char *at = strstr(name, keys[i]);
        bool is_short = strlen(keys[i]) == 2; /* not the beginning of a longer key, such as %ppid% */
        if (at && !(is_short && isalpha((unsigned char)at[2]))) return true;
    }
    return false;
}

static void resolve_name(gt_arena *arena, gt_profiler_options *options, const gt_profiler_place *place,
                         gt_profiler *profiler)
{
    gt_profiler_option *option = gt_profiler_option_find(options, "output-file");
    if (!option || !option->value_count || is_per_process(option->values[0])) return;
    profiler->file_name = option->values[0];
    option->values[0] = gt_arena_format(arena, "%s_%s", profiler->file_name,
                                        place->many_hosts ? "%hostname%_%pid%" : "%pid%");
}

bool gt_profiler_plan_output(gt_arena *arena, gt_profiler_options *options, const gt_profiler_place *place,
                             gt_profiler *profiler, gt_arg_list *notes, gt_error *error)
{
    const char *input = value_of(options, "input"), *text = NULL;
    const job_file file = {arena, options, place, input, notes, error};
    if (!read_jobs(&file, &text)) return false;
    add_defaults(arena, options, place);
    split_absolute_name(arena, options);
    resolve_folder(arena, options, place, profiler);
    if (profiler->kind == GT_PROFILER_ROCPROFV3) resolve_name(arena, options, place, profiler);
    if (!text) return true;
    profiler->counter_text = text;
    profiler->counter_path =
        gt_path_join(arena, gt_path_join(arena, profiler->output_dir, "counters"), gt_path_name(input));
    return true;
}
