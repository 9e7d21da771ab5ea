/* How is NVIDIA's nsys or ncu called? The tools `nsys` and `ncu` have options that suit our reports; those of
 * --profiler_args replace them, because nsys rejects an option that is given twice. Every capture gets a
 * folder of its own, and every file in it the names of host and process, so that no capture replaces another,
 * also if a launcher starts the profiler once per process. */
#include "run/plan/plan.h"
#include "os/paths.h"

#include <glob.h>

/* ---- the two programs ---- */

typedef struct nvidia_program {
    gt_profiler_kind kind;
    const char *name, *folder, *format;
    const char *output;            /* the option that names the report */
    const char *overwrite;         /* makes it replace a report */
    const char *short_names[4][2]; /* short options that replace those of the tool */
    const char *const *places;     /* folders where it is installed, after PATH; patterns, newest last */
    const char *package;           /* how users get it */
} nvidia_program;

static const char *const nsys_places[] = {"/usr/local/cuda/bin", "/opt/nvidia/nsight-systems/*/bin",
                                          "/opt/nvidia/nsight-systems-cli/*/bin", NULL};
static const char *const ncu_places[] = {"/usr/local/cuda/bin", "/opt/nvidia/nsight-compute/*", NULL};

static const nvidia_program programs[] = {
    {.kind = GT_PROFILER_NSYS,
     .name = "nsys",
     .folder = "nsys_output",
     .format = "sqlite",
     .output = "--output",
     .overwrite = "--force-overwrite=true",
     .short_names = {{"-o", "--output"}, {"-t", "--trace"}, {"-f", "--force-overwrite"}, {"-s", "--sample"}},
     .places = nsys_places,
     .package = "Nsight Systems (package nsight-systems-cli)"},
    {.kind = GT_PROFILER_NCU,
     .name = "ncu",
     .folder = "ncu_output",
     .format = "csv",
     .output = "--export",
     .overwrite = "--force-overwrite",
     .short_names = {{"-o", "--export"}, {"-f", "--force-overwrite"}},
     .places = ncu_places,
     .package = "Nsight Compute (package nsight-compute)"},
};

static const nvidia_program *program_of(gt_profiler_kind kind)
{
    return &programs[kind == GT_PROFILER_NCU];
}

bool gt_nvidia_is_called(const gt_arg_list *words)
{
    if (words->count && gt_path_is_named(words->items[0], "ncu")) return true;
    return words->count > 1 && gt_path_is_named(words->items[0], "nsys") &&
           strcmp(words->items[1], "profile") == 0;
}

bool gt_nvidia_is(const gt_profiler *profiler)
{
    return profiler->kind == GT_PROFILER_NSYS || profiler->kind == GT_PROFILER_NCU;
}

/* ---- where it is installed ---- */

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* The newest of the folders that the pattern matches and that have the program. */
static const char *search_places(gt_arena *arena, const char *program, const char *pattern)
{
    glob_t matches;
    const char *found = NULL;
    if (glob(pattern, GLOB_NOSORT, NULL, &matches) != 0) return NULL;
    qsort(matches.gl_pathv, matches.gl_pathc, sizeof *matches.gl_pathv, by_version);
    for (size_t i = matches.gl_pathc; i-- && !found;)
        found = gt_path_search(arena, program, matches.gl_pathv[i]);
    globfree(&matches);
    return found;
}

const char *gt_nvidia_search(gt_arena *arena, gt_profiler_kind kind)
{
    const nvidia_program *program = program_of(kind);
    const char *cuda = getenv("CUDA_HOME");
    const char *found = gt_path_search(arena, program->name, getenv("PATH"));
    if (!found && cuda && *cuda)
        found = gt_path_search(arena, program->name, gt_path_join(arena, cuda, "bin"));
    for (const char *const *place = program->places; *place && !found; place++)
        found = search_places(arena, program->name, *place);
    return found;
}

const char *gt_nvidia_missing(gt_arena *arena, gt_profiler_kind kind)
{
    const nvidia_program *program = program_of(kind);
    gt_buffer places = {0};
    for (const char *const *place = program->places; *place; place++) {
        gt_buffer_add_cstr(&places, ", ");
        gt_buffer_add_cstr(&places, *place);
    }
    const char *text =
        gt_arena_format(arena, "%s not found in PATH, $CUDA_HOME/bin%s; install %s or add its folder to PATH",
                        program->name, gt_buffer_str(&places).bytes, program->package);
    gt_buffer_free(&places);
    return text;
}

/* ---- options ---- */

/* The long name of the option that a word is or begins, without "=value"; NULL: not an option. */
static const char *long_name(gt_arena *arena, const nvidia_program *program, const char *word)
{
    if (word[0] != '-' || !word[1]) return NULL;
    if (word[1] != '-')
        for (size_t i = 0; i < GT_LENGTH(program->short_names) && program->short_names[i][0]; i++)
            if (strncmp(word, program->short_names[i][0], 2) == 0) return program->short_names[i][1];
    return gt_arena_bytes(arena, word, strcspn(word, "="));
}

/* The words of the option at `at`: two if its value is a word of its own. */
static size_t words_of(const gt_arg_list *words, size_t at)
{
    const char *word = words->items[at];
    bool joined = strchr(word, '=') || (word[1] != '-' && word[2]);
    return !joined && at + 1 < words->count && words->items[at + 1][0] != '-' ? 2 : 1;
}

/* ncu collects what --set, --section and --metrics name; one of them replaces the choice of the tool. */
static bool is_choice(const char *name)
{
    return strcmp(name, "--set") == 0 || strcmp(name, "--section") == 0 || strcmp(name, "--metrics") == 0;
}

static bool is_replaced(gt_arena *arena, const nvidia_program *program, const char *name,
                        const gt_arg_list *by)
{
    for (size_t i = 0; i < by->count; i++) {
        const char *other = long_name(arena, program, by->items[i]);
        if (!other) continue;
        if (strcmp(other, name) == 0) return true;
        if (program->kind == GT_PROFILER_NCU && is_choice(name) && is_choice(other)) return true;
    }
    return false;
}

/* The value of an output option, if the word at `at` is one: how many words it has is in *count. */
static const char *output_value(gt_arena *arena, const nvidia_program *program, const gt_arg_list *words,
                                size_t at, size_t *count)
{
    const char *name = long_name(arena, program, words->items[at]);
    if (!name || strcmp(name, program->output) != 0) return NULL;
    const char *word = words->items[at], *equals = strchr(word, '=');
    *count = words_of(words, at);
    if (*count == 2) return words->items[at + 1];
    return equals ? equals + 1 : word[1] != '-' ? word + 2 : "";
}

/* Adds options without those that name the report and allow to replace it, which are ours, and without those
 * that `by` has, too. */
static void add_options(gt_plan *plan, const nvidia_program *program, const gt_arg_list *words,
                        const gt_arg_list *by, gt_profiler *profiler, const char **output)
{
    for (size_t i = 0; i < words->count;) {
        size_t count = 1;
        const char *name = long_name(plan->arena, program, words->items[i]);
        const char *value = output_value(plan->arena, program, words, i, &count);
        if (value && *value) *output = value;
        bool dropped = value || (name && strcmp(name, "--force-overwrite") == 0);
        if (name && !value) {
            bool has_value = program->kind == GT_PROFILER_NSYS || strcmp(name, "--force-overwrite") != 0;
            count = has_value ? words_of(words, i) : 1;
            dropped = dropped || is_replaced(plan->arena, program, name, by);
        }
        for (size_t w = 0; w < count && !dropped; w++)
            gt_arg_list_add(plan->arena, &profiler->options, words->items[i + w]);
        i += count;
    }
}

/* The path of the report. Both programs replace %h by the host, %p by the process and %% by %. */
static const char *report_path(const gt_plan *plan, const gt_profiler *profiler, const char *name)
{
    bool many = plan->distributed.processes > 1 || plan->distributed.nodes > 1;
    gt_buffer path = {0};
    for (const char *c = profiler->output_dir; *c; c++)
        gt_buffer_add_cstr(&path, *c == '%' ? "%%" : (char[]){*c, 0});
    gt_buffer_add_cstr(&path, "/");
    gt_buffer_add_cstr(&path, name ? name : "%h_%p");
    if (name && many && !strchr(name, '%')) gt_buffer_add_cstr(&path, "_%h_%p");
    const char *result = gt_arena_bytes(plan->arena, path.bytes, path.len);
    gt_buffer_free(&path);
    return result;
}

/* ncu without a filter measures every kernel of the program, which may take hours. */
static void note_slow(gt_plan *plan, const nvidia_program *program, const gt_profiler *profiler)
{
    static const char *const filters[] = {"--launch-count",       "-c",
                                          "--kernel-name",        "-k",
                                          "--kernel-id",          "--nvtx-include",
                                          "--profile-from-start", "--range-filter"};
    if (program->kind != GT_PROFILER_NCU || profiler->own_cmd || !profiler->path || plan->capture.by_region)
        return;
    for (size_t i = 0; i < profiler->options.count; i++)
        for (size_t f = 0; f < GT_LENGTH(filters); f++)
            if (strncmp(profiler->options.items[i], filters[f], strlen(filters[f])) == 0) return;
    gt_arg_list_add(
        plan->arena, &plan->notes,
        "ncu runs every kernel several times; choose some with --profiler_args=\"--launch-count 100\"");
}

/* OUTPUT_DIR/nsys_output/TIMESTAMP, a folder that does not exist yet. */
static const char *choose_folder(const gt_plan *plan, const nvidia_program *program)
{
    const char *above = gt_path_join(plan->arena, plan->output_dir, program->folder);
    const char *folder = gt_path_join(plan->arena, above, plan->timestamp);
    for (int n = 2; access(folder, F_OK) == 0 && n < 1000; n++)
        folder = gt_path_join(plan->arena, above, gt_arena_format(plan->arena, "%s_%d", plan->timestamp, n));
    return folder;
}

void gt_nvidia_plan(gt_plan *plan, const gt_arg_list *words, const gt_arg_list *more,
                    const gt_profiler_place *place, gt_profiler *profiler)
{
    bool is_ncu = gt_path_is_named(words->items[0], "ncu");
    const nvidia_program *program = program_of(is_ncu ? GT_PROFILER_NCU : GT_PROFILER_NSYS);
    *profiler = (gt_profiler){.kind = program->kind, .passes = 1, .own_cmd = place->own_cmd};
    profiler->path = plan->image ? program->name : gt_nvidia_search(plan->arena, program->kind);
    profiler->output_dir = choose_folder(plan, program);
    size_t skipped = is_ncu ? 1 : 2;
    gt_arg_list own = {.items = words->items + skipped, .count = words->count - skipped};
    while (own.count && strcmp(own.items[own.count - 1], "--") == 0) own.count--; /* neither program has it */
    if (!is_ncu) gt_arg_list_add(plan->arena, &profiler->options, "profile");
    static const gt_arg_list none;
    const char *output = NULL;
    add_options(plan, program, &own, more, profiler, &output);
    add_options(plan, program, more, &none, profiler, &output);
    note_slow(plan, program, profiler);
    const char *path = report_path(plan, profiler, output ? gt_path_name(output) : NULL);
    if (output)
        gt_arg_list_add(
            plan->arena, &plan->notes,
            gt_arena_format(plan->arena, "%s of %s: written to %s", program->output, program->name, path));
    gt_arg_list_add(plan->arena, &profiler->options,
                    gt_arena_format(plan->arena, is_ncu ? "%s" : "%s=%s", program->output, path));
    if (is_ncu) gt_arg_list_add(plan->arena, &profiler->options, path);
    gt_arg_list_add(plan->arena, &profiler->options, program->overwrite);
    gt_arg_list_add(plan->arena, &profiler->formats, program->format);
}

/* ---- adapting to the installed program ---- */

static bool is_part_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool has_word(const char *text, const char *word, size_t len)
{
    for (const char *at = text; (at = memmem(at, strlen(at), word, len)); at += len)
        if ((at == text || !is_part_of_word(at[-1])) && !is_part_of_word(at[len])) return true;
    return false;
}

/* "--trace=cuda,nvtx,cudnn" without what the help does not list. */
static const char *fit_list(gt_plan *plan, const char *option, const char *help)
{
    const char *values = strchr(option, '=') + 1;
    gt_buffer kept = {0};
    gt_buffer_add(&kept, option, (size_t)(values - option));
    size_t start = kept.len;
    for (const char *at = values; *at;) {
        size_t len = strcspn(at, ",");
        if (has_word(help, at, len)) {
            if (kept.len > start) gt_buffer_add_cstr(&kept, ",");
            gt_buffer_add(&kept, at, len);
        } else {
            gt_arg_list_add(plan->arena, &plan->notes,
                            gt_arena_format(plan->arena, "this nsys cannot trace %.*s", (int)len, at));
        }
        at += len + (at[len] == ',');
    }
    const char *result = gt_arena_bytes(plan->arena, kept.bytes, kept.len);
    gt_buffer_free(&kept);
    return result;
}

void gt_nvidia_fit_help(gt_plan *plan, gt_profiler *profiler, const char *help, const gt_arg_list *users)
{
    if (profiler->own_cmd || profiler->kind != GT_PROFILER_NSYS || !strstr(help, "--trace")) return;
    gt_arg_list kept = {0};
    for (size_t i = 0; i < profiler->options.count; i++) {
        const char *option = profiler->options.items[i];
        size_t len = strcspn(option, "=");
        bool is_users = false;
        for (size_t u = 0; u < users->count; u++) is_users = is_users || strcmp(users->items[u], option) == 0;
        if (!is_users && strncmp(option, "--trace=", 8) == 0 && has_word(help, "nvtx", 4))
            option = fit_list(plan, option, help);
        if (is_users || strncmp(option, "--", 2) != 0 || has_word(help, option, len)) {
            gt_arg_list_add(plan->arena, &kept, option);
            continue;
        }
        gt_arg_list_add(
            plan->arena, &plan->notes,
            gt_arena_format(plan->arena, "this nsys has no %.*s; option dropped", (int)len, option));
    }
    profiler->options = kept;
}

const char *gt_nvidia_version(gt_arena *arena, const char *text)
{
    const char *at = strstr(text, "ersion "); /* "Version 2025.3.1.0 (build …)", "… version 2024.5.1.113-…" */
    if (!at) return NULL;
    at += strlen("ersion ");
    size_t len = strspn(at, "0123456789.");
    return len ? gt_arena_bytes(arena, at, len) : NULL;
}
