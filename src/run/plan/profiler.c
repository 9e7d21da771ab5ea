/* Turns the options of a context into a call of the installed profiler. rocprofv3 gets them with absolute
 * paths and without options that it does not know; the legacy rocprof gets those that it has an equivalent
 * for. */
#include "run/plan/plan.h"
#include "os/paths.h"

typedef struct planner {
    gt_arena *arena;
    const gt_profiler_place *place;
    gt_profiler *profiler;
    gt_profiler_options options;
    gt_arg_list *notes, *warnings;
    gt_error *error;
} planner;

const char *gt_profiler_kind_name(gt_profiler_kind kind)
{
    static const char *const names[] = {"none", "rocprofv3", "rocprof", "rtl", "rpd", "nsys", "ncu"};
    return names[kind];
}

static void add_message(gt_arena *arena, gt_arg_list *list, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add_message(gt_arena *arena, gt_arg_list *list, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gt_arg_list_add(arena, list, text);
}

/* ---- choosing the program ---- */

static bool is_wrapper(const gt_arg_list *words)
{
    return words->count >= 2 &&
           (gt_path_is_named(words->items[0], "bash") || gt_path_is_named(words->items[0], "sh")) &&
           gt_path_is_named(words->items[1], "rocprof_wrapper.sh");
}

bool gt_profiler_is_called(const gt_arg_list *words)
{
    return is_wrapper(words) || (words->count && gt_path_is_named(words->items[0], "rocprofv3"));
}

static const char *search_profiler(gt_arena *arena, const char *program)
{
    const char *rocm = getenv("ROCM_PATH");
    const char *found = gt_path_search(arena, program, getenv("PATH"));
    if (!found && rocm && *rocm) found = gt_path_search(arena, program, gt_path_join(arena, rocm, "bin"));
    return found ? found : gt_path_search(arena, program, "/opt/rocm/bin");
}

static bool is_version(const char *text, int *major, int *minor, int *patch)
{
    return sscanf(text, "%3d.%3d.%3d", major, minor, patch) == 3;
}

/* The version of ROCm as major * 1000000 + minor * 1000, and as a string; 0 if unknown. */
static long rocm_version(planner *p, char *text, size_t size)
{
    const char *rocm = getenv("ROCM_PATH");
    gt_arena *arena = p->arena;
    const char *places[] = {"/opt/rocm", rocm && *rocm ? rocm : "/opt/rocm"};
    int major, minor, patch;
    bool found = p->place->rocm && is_version(p->place->rocm, &major, &minor, &patch);
    for (size_t i = 0; i < GT_LENGTH(places) && !found && !p->place->in_container; i++) {
        gt_buffer version = {0};
        gt_error ignored;
        found =
            gt_read_small_file(gt_path_join(arena, places[i], ".info/version"), 4096, &version, &ignored) &&
            is_version(gt_buffer_str(&version).bytes, &major, &minor, &patch);
        gt_buffer_free(&version);
    }
    if (!found) return 0;
    snprintf(text, size, "%d.%d.%d", major, minor, patch);
    return major * 1000000L + minor * 1000L + patch;
}

/* rocprofv3 if it is installed, whatever the version of ROCm; else the legacy rocprof, which a plain
 * "rocprofv3" does not fall back to. */
static void choose_program(planner *p, bool wrapper)
{
    gt_profiler *profiler = p->profiler;
    char version[64];
    profiler->kind = GT_PROFILER_ROCPROFV3;
    bool is_here = !p->place->in_container;
    profiler->path = is_here ? search_profiler(p->arena, "rocprofv3") : p->place->rocprofv3;
    if (profiler->path || !wrapper) return;
    const char *legacy = is_here ? search_profiler(p->arena, "rocprof") : p->place->rocprof;
    if (!legacy) return;
    profiler->kind = GT_PROFILER_ROCPROF;
    profiler->path = legacy;
    if (rocm_version(p, version, sizeof version) >= 7000000)
        add_message(p->arena, p->warnings, "ROCm %s detected but rocprofv3 not found, using legacy rocprof",
                    version);
}

/* ---- rocprofv3 ---- */

static const char *first_value(const gt_profiler_option *option)
{
    return option && option->value_count ? option->values[0] : NULL;
}

/* -i and --pmc. A file with the user's own definitions of counters has names that nobody can check. */
static bool resolve_counters(planner *p)
{
    gt_profiler_option *input = gt_profiler_option_find(&p->options, "input");
    const gt_profiler_option *names = gt_profiler_option_find(&p->options, "pmc");
    bool can_check = p->place->on_this_machine && p->profiler->kind == GT_PROFILER_ROCPROFV3 &&
                     !gt_profiler_option_find(&p->options, "extra-counters");
    gt_counter_setup setup = {.arena = p->arena,
                              .tool = p->place->tool,
                              .workdir = p->place->workdir,
                              .rocprofv3 = can_check ? p->profiler->path : NULL,
                              .notes = p->notes,
                              .warnings = p->warnings};
    if (first_value(input) && !gt_counters_plan_file(&setup, p->profiler, &input->values[0], p->error))
        return false;
    if (first_value(input) && p->profiler->counter_path) input->values[0] = p->profiler->counter_path;
    return !first_value(names) ||
           gt_counters_plan_names(&setup, p->profiler, names->values, names->value_count, p->error);
}

static void choose_formats(planner *p)
{
    const gt_profiler_option *option = gt_profiler_option_find(&p->options, "output-format");
    for (size_t i = 0; option && i < option->value_count; i++)
        gt_arg_list_add(p->arena, &p->profiler->formats, option->values[i]);
    if (!p->profiler->formats.count) gt_arg_list_add(p->arena, &p->profiler->formats, "rocpd");
}

/* Options that occur in configs but that no rocprofv3 has. */
static void drop_unknown_options(planner *p)
{
    gt_profiler_option *name = gt_profiler_option_find(&p->options, "perfetto-trace-filename");
    gt_profiler_option *counters = gt_profiler_option_find(&p->options, "counter-collection");
    if (name) {
        name->dropped = true;
        p->profiler->trace_name = first_value(name);
        add_message(p->arena, p->notes,
                    "rocprofv3 has no --perfetto-trace-filename; the trace is renamed to %s afterwards",
                    p->profiler->trace_name ? p->profiler->trace_name : "so");
    }
    if (counters) {
        counters->dropped = true;
        add_message(p->arena, p->notes, "rocprofv3 has no --counter-collection; -i and --pmc imply it");
    }
}

/* The preset requests stochastic sampling by time, which no GPU supports. */
static void fix_pc_sampling(planner *p)
{
    gt_profiler_option *method = gt_profiler_option_find(&p->options, "pc-sampling-method");
    const gt_profiler_option *unit = gt_profiler_option_find(&p->options, "pc-sampling-unit");
    if (p->place->own_cmd || !first_value(method) || !first_value(unit)) return;
    if (strcmp(method->values[0], "stochastic") != 0 || strcmp(unit->values[0], "time") != 0) return;
    method->values[0] = "host_trap";
    add_message(p->arena, p->notes,
                "sampling by time uses host_trap; stochastic sampling supports cycles only");
}

/* Of rocprofv3's formats, only these two have samples of the program counter. */
static bool holds_samples(const char *format)
{
    return strcasecmp(format, "csv") == 0 || strcasecmp(format, "json") == 0;
}

/* The preset of PC sampling requests a Perfetto trace alone. */
static void add_sample_format(planner *p)
{
    gt_profiler_option *option = gt_profiler_option_find(&p->options, "output-format");
    if (!gt_profiler_option_is_on(&p->options, "pc-sampling-beta-enabled")) return;
    for (size_t i = 0; option && i < option->value_count; i++)
        if (holds_samples(option->values[i])) return;
    if (p->place->own_cmd || !option) {
        add_message(p->arena, p->warnings,
                    "tool %.200s: this output format has no PC samples; add --output-format csv or json",
                    p->place->tool);
        return;
    }
    option->values[option->value_count++] = "csv"; /* there is space for one more */
    add_message(p->arena, p->notes, "added --output-format csv: a Perfetto trace has no PC samples");
}

/* madengine's documentation promises a database of each run (`*_results.db`), which none of its profiles
 * requests. Those that write Perfetto traces write one, too: not the lightweight one, nor PC sampling, whose
 * samples databases do not have. Versions before rocprofiler-sdk 1.0 cannot write one. */
static void add_database_format(planner *p)
{
    gt_profiler_option *option = gt_profiler_option_find(&p->options, "output-format");
    if (p->profiler->own_cmd || !first_value(option) || option->value_count != 1 ||
        strcmp(option->values[0], "pftrace") != 0 ||
        gt_profiler_option_is_on(&p->options, "pc-sampling-beta-enabled"))
        return;
    option->values[option->value_count++] = "rocpd";
    gt_arg_list_add(p->arena, &p->profiler->formats, "rocpd");
}

static void emit(planner *p, const char *word)
{
    gt_arg_list_add(p->arena, &p->profiler->options, word);
}

static void emit_all(planner *p)
{
    for (size_t i = 0; i < p->options.count; i++) {
        const gt_profiler_option *option = &p->options.items[i];
        if (option->dropped) continue;
        bool joined = option->takes == GT_TAKES_TRUTH && option->value_count;
        if (joined) { /* --hip-trace=false stays one word */
            char word[256];
            snprintf(word, sizeof word, "%.200s=%.50s", option->written, option->values[0]);
            emit(p, word);
        } else {
            emit(p, option->written);
            for (size_t v = 0; v < option->value_count; v++) emit(p, option->values[v]);
        }
    }
}

static bool plan_rocprofv3(planner *p)
{
    drop_unknown_options(p);
    fix_pc_sampling(p);
    add_sample_format(p);
    choose_formats(p);
    if (p->place->rocpd) add_database_format(p);
    if (!resolve_counters(p)) return false;
    emit_all(p);
    return true;
}

/* ---- legacy rocprof ---- */

static void emit_if_on(planner *p, const char *name, const char *legacy)
{
    gt_profiler_option *option = gt_profiler_option_find(&p->options, name);
    if (gt_profiler_option_is_on(&p->options, name)) {
        for (size_t i = 0; i < p->profiler->options.count; i++)
            if (strcmp(p->profiler->options.items[i], legacy) == 0)
                legacy = NULL, i = p->profiler->options.count - 1;
        if (legacy) emit(p, legacy);
    }
    if (option) option->dropped = true; /* already handled */
}

static void emit_value(planner *p, const char *name, const char *legacy, const char *ending)
{
    gt_profiler_option *option = gt_profiler_option_find(&p->options, name);
    if (!first_value(option)) return;
    char value[4096];
    snprintf(value, sizeof value, "%s%s", option->values[0], ending);
    emit(p, legacy);
    emit(p, value);
    option->dropped = true;
}

static void warn_of_dropped(planner *p)
{
    gt_buffer list = {0};
    for (size_t i = 0; i < p->options.count; i++) {
        if (p->options.items[i].dropped) continue;
        gt_buffer_add_cstr(&list, list.len ? ", " : "");
        gt_buffer_add_cstr(&list, p->options.items[i].written);
    }
    if (list.len)
        add_message(p->arena, p->warnings, "options unsupported by the legacy rocprof, dropped: %.800s",
                    gt_buffer_str(&list).bytes);
    gt_buffer_free(&list);
}

static bool plan_legacy(planner *p)
{
    drop_unknown_options(p);
    if (!resolve_counters(p)) return false;
    static const char *const api[] = {"hip-trace", "hsa-trace", "sys-trace", "runtime-trace"};
    bool has_api = false;
    for (size_t i = 0; i < GT_LENGTH(api); i++)
        has_api = has_api || gt_profiler_option_is_on(&p->options, api[i]);
    emit_if_on(p, "hip-trace", "--hip-trace");
    emit_if_on(p, "hsa-trace", "--hsa-trace");
    emit_if_on(p, "sys-trace", "--sys-trace");
    bool runtime = gt_profiler_option_is_on(&p->options, "runtime-trace");
    if (!has_api) {
        emit_if_on(p, "kernel-trace", "--hip-trace");
        emit_if_on(p, "memory-copy-trace", "--hip-trace");
    }
    gt_profiler_option *implied[] = {gt_profiler_option_find(&p->options, "kernel-trace"),
                                     gt_profiler_option_find(&p->options, "memory-copy-trace")};
    for (size_t i = 0; i < GT_LENGTH(implied); i++)
        if (implied[i]) implied[i]->dropped = true; /* included in an API trace */
    emit_if_on(p, "runtime-trace", "--hip-trace");
    if (runtime) emit(p, "--roctx-trace");
    emit_if_on(p, "marker-trace", "--roctx-trace");
    emit_if_on(p, "stats", "--stats");
    emit_value(p, "input", "-i", "");
    emit_value(p, "output-directory", "-d", "");
    emit_value(p, "output-file", "-o", ".csv");
    if (gt_profiler_option_is_on(&p->options, "truncate-kernels")) {
        emit(p, "--basenames");
        emit(p, "on");
        gt_profiler_option_find(&p->options, "truncate-kernels")->dropped = true;
    }
    warn_of_dropped(p);
    gt_arg_list_add(p->arena, &p->profiler->formats, "csv");
    return true;
}

bool gt_profiler_plan(gt_arena *arena, const gt_arg_list *words, const gt_profiler_place *place,
                      gt_profiler *profiler, gt_arg_list *notes, gt_arg_list *warnings, gt_error *error)
{
    *profiler = (gt_profiler){.passes = 1, .own_cmd = place->own_cmd};
    planner p = {.arena = arena,
                 .place = place,
                 .profiler = profiler,
                 .notes = notes,
                 .warnings = warnings,
                 .error = error};
    bool wrapper = is_wrapper(words);
    size_t first = wrapper ? 2 : 1, end = first;
    while (end < words->count && strcmp(words->items[end], "--") != 0) end++;
    if (end == words->count)
        add_message(arena, notes, "tool %.200s: added the missing separator -- at the end of its cmd",
                    place->tool);
    for (size_t i = end + 1; i < words->count; i++)
        gt_arg_list_add(arena, &profiler->before_app, words->items[i]);
    p.options = gt_profiler_options_parse(arena, words->items + first, end - first);
    choose_program(&p, wrapper);
    if (!gt_profiler_plan_output(arena, &p.options, place, profiler, notes, error)) return false;
    return profiler->kind == GT_PROFILER_ROCPROF ? plan_legacy(&p) : plan_rocprofv3(&p);
}

/* ---- adapting to the installed program ---- */

static bool help_names(const char *help, const char *option)
{
    size_t len = strlen(option);
    for (const char *at = help; (at = strstr(at, option)); at += len)
        if ((at == help || !strchr("-abcdefghijklmnopqrstuvwxyz", at[-1])) &&
            !strchr("-abcdefghijklmnopqrstuvwxyz", at[len] ? at[len] : ' '))
            return true;
    return false;
}

static bool is_in(const gt_arg_list *list, const char *option)
{
    size_t len = strlen(option);
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], option, len) == 0 && (!list->items[i][len] || list->items[i][len] == '='))
            return true;
    return false;
}

void gt_profiler_fit_help(gt_arena *arena, gt_profiler *profiler, const char *help, const gt_arg_list *users,
                          gt_arg_list *notes)
{
    if (profiler->own_cmd || profiler->kind != GT_PROFILER_ROCPROFV3 || !strstr(help, "--")) return;
    gt_profiler_options options =
        gt_profiler_options_parse(arena, profiler->options.items, profiler->options.count);
    planner p = {.arena = arena, .profiler = profiler, .options = options};
    for (size_t i = 0; i < options.count; i++) {
        gt_profiler_option *option = &options.items[i];
        if (strncmp(option->written, "--", 2) != 0 || help_names(help, option->written) ||
            is_in(users, option->written))
            continue;
        option->dropped = true;
        add_message(arena, notes, "this rocprofv3 has no %s; option dropped", option->written);
    }
    profiler->options = (gt_arg_list){0};
    if (strstr(help, "rocpd")) add_database_format(&p);
    emit_all(&p);
}

bool gt_profiler_is_noise(gt_profiler_kind kind, gt_str line)
{
    static const char *const v3[] = {"sql text value for value is empty. Using NULL instead"};
    static const char *const legacy[] = {"WARNING: We are phasing out", "roctracer/rocprofiler",
                                         "rocprofv2 in favor"};
    const char *const *texts = kind == GT_PROFILER_ROCPROFV3 ? v3 : legacy;
    size_t count = kind == GT_PROFILER_ROCPROFV3 ? GT_LENGTH(v3)
                   : kind == GT_PROFILER_ROCPROF ? GT_LENGTH(legacy)
                                                 : 0;
    for (size_t i = 0; i < count; i++)
        if (memmem(line.bytes, line.len, texts[i], strlen(texts[i]))) return true;
    return false;
}
