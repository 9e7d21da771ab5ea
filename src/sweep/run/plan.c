/* The command and environment of each point of a grid, and the job files for rocprofv3 that gputally ships.
 */
#include "sweep/run/run.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/plan/secrets.h"

/* ---- command of a point ---- */

static const char *const REFERENCE_COMMAND[] = {"torchrun",   "--nproc_per_node",
                                                "{nproc}",    "train.py",
                                                "--config",   "{config}",
                                                "--override", "profiling.tensorboard=false",
                                                "--override", "training.output_dir={output_dir}"};

/* Set for every command, in addition to the variables of the axes. */
static const char *const FIXED_VARIABLES[] = {"HSA_ENABLE_SDMA=0", "PYTORCH_ROCM_PROFILER_ENABLE_TRACING=1"};

static const char SWEEP_VARIABLE[] = "GPUTALLY_SWEEP_DIR", OUTPUT_VARIABLE[] = "GPUTALLY_OUTPUT_DIR";

/* ---- placeholders ---- */

/* The value of a placeholder at a point; NULL if there is no such placeholder. */
static const char *placeholder_value(const gt_run_plan *plan, size_t point, const gt_run_point *made,
                                     const char *name, size_t len, char number[32])
{
    snprintf(number, 32, "%" PRId64, plan->nproc);
    const struct {
        const char *name, *value;
    } names[] = {{"output_dir", made->folder},
                 {"profiler_dir", made->profiler_folder},
                 {"config", plan->config},
                 {"nproc", number}};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (strlen(names[i].name) == len && memcmp(names[i].name, name, len) == 0) return names[i].value;
    return gt_sweep_grid_named(&plan->grid, point, name, len);
}

/* Appends the text with its placeholders replaced; returns false at the first unknown one. */
static bool fill_in(const gt_run_plan *plan, size_t point, const gt_run_point *made, const char *text,
                    gt_buffer *out, gt_error *error)
{
    for (const char *at = text; *at;) {
        if (*at != '{' || at[1] == '{') {
            gt_buffer_add(out, at, 1);
            at += *at == '{' ? 2 : 1;
            continue;
        }
        size_t len = strcspn(at + 1, "}");
        char number[32];
        const char *value = at[len + 1] ? placeholder_value(plan, point, made, at + 1, len, number) : NULL;
        if (!value)
            return gt_fail(error, "unknown placeholder '%.*s' in '%.200s'; write {{ for a literal brace",
                           len < 60 ? (int)len + 1 + (at[len + 1] != 0) : 60, at, text);
        gt_buffer_add_cstr(out, value);
        at += len + 2;
    }
    return true;
}

static const char *expand(const gt_run_plan *plan, size_t point, gt_run_point *made, const char *text)
{
    gt_buffer out = {0};
    gt_error ignored; /* the plan was checked */
    fill_in(plan, point, made, text, &out, &ignored);
    const char *kept = gt_arena_bytes(&made->arena, gt_buffer_str(&out).bytes, out.len);
    gt_buffer_free(&out);
    return kept;
}

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=");
}

static bool is_variable(const char *text, bool with_value)
{
    size_t len = name_length(text);
    return len && !isdigit((unsigned char)*text) && (text[len] == '=') == with_value;
}

static const char *const *command_of(const gt_run_plan *plan, size_t *count)
{
    *count = plan->command_count ? plan->command_count : GT_LENGTH(REFERENCE_COMMAND);
    return plan->command_count ? plan->command : REFERENCE_COMMAND;
}

bool gt_run_plan_check(const gt_run_plan *plan, gt_error *error)
{
    gt_run_point made = {.folder = "", .profiler_folder = ""};
    gt_buffer out = {0};
    size_t count;
    const char *const *words = command_of(plan, &count);
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) ok = fill_in(plan, 0, &made, words[i], &out, error);
    for (size_t i = 0; i < plan->environment_count && ok; i++) {
        const char *variable = plan->environment[i];
        ok = is_variable(variable, true) ? fill_in(plan, 0, &made, variable, &out, error)
                                         : gt_fail(error, "'%.200s' is not NAME=value", variable);
    }
    for (size_t i = 0; i < plan->unset_count && ok; i++)
        if (!is_variable(plan->unset[i], false))
            ok = gt_fail(error, "'%.200s' is not a valid variable name", plan->unset[i]);
    gt_buffer_free(&out);
    return ok;
}

/* Terminates the list with NULL. */
static void end_list(gt_run_point *made, gt_arg_list *list)
{
    gt_arg_list_add(&made->arena, list, "");
    list->items[--list->count] = NULL;
}

/* ---- environment ---- */

static bool same_variable(const char *a, const char *b)
{
    size_t len = name_length(a);
    return len == name_length(b) && memcmp(a, b, len) == 0;
}

static bool has_variable(const gt_arg_list *list, const char *variable)
{
    for (size_t i = 0; i < list->count; i++)
        if (same_variable(list->items[i], variable)) return true;
    return false;
}

static bool is_unset(const gt_run_plan *plan, const char *variable)
{
    for (size_t i = 0; i < plan->unset_count; i++)
        if (same_variable(plan->unset[i], variable)) return true;
    return false;
}

/* Sets a variable, replacing an earlier one with the same name. */
static void set_variable(const gt_run_plan *plan, gt_run_point *made, const char *variable)
{
    if (is_unset(plan, variable)) return;
    for (size_t i = 0; i < made->variables.count; i++)
        if (same_variable(made->variables.items[i], variable)) {
            made->variables.items[i] = gt_arena_bytes(&made->arena, variable, strlen(variable));
            return;
        }
    gt_arg_list_add(&made->arena, &made->variables, variable);
}

static void set_pair(const gt_run_plan *plan, gt_run_point *made, const char *name, const char *value)
{
    char *variable = gt_format("%s=%s", name, value);
    set_variable(plan, made, variable);
    gt_free(variable);
}

static void make_environment(const gt_run_plan *plan, size_t point, gt_run_point *made)
{
    const char *here = gt_path_current(&made->arena);
    for (size_t i = 0; i < plan->grid.axis_count; i++)
        if (plan->grid.axes[i].variable)
            set_pair(plan, made, plan->grid.axes[i].variable, gt_sweep_grid_value(&plan->grid, point, i));
    for (size_t i = 0; i < GT_LENGTH(FIXED_VARIABLES); i++) set_variable(plan, made, FIXED_VARIABLES[i]);
    set_pair(plan, made, SWEEP_VARIABLE, gt_path_absolute(&made->arena, here, plan->root));
    set_pair(plan, made, OUTPUT_VARIABLE, gt_path_absolute(&made->arena, here, made->folder));
    for (size_t i = 0; i < plan->environment_count; i++)
        set_variable(plan, made, expand(plan, point, made, plan->environment[i]));

    for (char **inherited = environ; *inherited; inherited++)
        if (!has_variable(&made->variables, *inherited) && !is_unset(plan, *inherited))
            gt_arg_list_add(&made->arena, &made->environment, *inherited);
    for (size_t i = 0; i < made->variables.count; i++)
        gt_arg_list_add(&made->arena, &made->environment, made->variables.items[i]);
    end_list(made, &made->environment);
}

/* ---- words ---- */

static void add_words(gt_run_point *made, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) gt_arg_list_add(&made->arena, &made->argv, words[i]);
}

/* Without a job file, current rocprofv3 writes only a database; request the formats that reports need. */
static void add_profiler(const gt_run_plan *plan, gt_run_point *made)
{
    if (plan->rocprof_input) {
        add_words(made,
                  (const char *[]){"rocprofv3", "-i", plan->rocprof_input, "-d", made->rocprof_folder, "--"},
                  6);
        return;
    }
    add_words(made, (const char *[]){"rocprofv3", "--kernel-trace"}, 2);
    if (plan->stats) add_words(made, (const char *[]){"--stats"}, 1);
    add_words(made, (const char *[]){"-d", made->rocprof_folder, "--output-format", "json", "csv", "--"}, 6);
}

static const char *path_below(gt_run_point *made, const char *name)
{
    return gt_path_join(&made->arena, made->folder, name);
}

/* ---- runs ---- */

size_t gt_run_count(const gt_run_plan *plan)
{
    return plan->picked ? plan->picked_count : gt_sweep_grid_points(&plan->grid) * plan->repeats;
}

size_t gt_run_repeat(const gt_run_plan *plan, size_t run)
{
    return plan->picked ? plan->picked[run].repeat : run / gt_sweep_grid_points(&plan->grid) + 1;
}

size_t gt_run_grid_point(const gt_run_plan *plan, size_t run)
{
    return plan->picked ? plan->picked[run].point : run % gt_sweep_grid_points(&plan->grid);
}

/* The next number of the generator splitmix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Random, so that a drift of the machine is not taken for an effect of a setting; without repeats, the order
 * of the grid, like that of the script. */
size_t *gt_run_order(const gt_run_plan *plan)
{
    size_t count = gt_run_count(plan), *order = gt_alloc(count * sizeof *order);
    uint64_t state = plan->seed;
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t i = count; plan->repeats > 1 && i > 1; i--) {
        size_t other = (size_t)(next_random(&state) % i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
    return order;
}

/* "256thread/nccl_28channels", "repeat_2/256thread/nccl_28channels" */
static const char *place_of(const gt_run_plan *plan, size_t run, gt_run_point *made)
{
    size_t repeat = gt_run_repeat(plan, run);
    char *above = repeat > 1 ? gt_format("repeat_%zu", repeat) : gt_strdup("");
    char *place = gt_sweep_grid_folder(&plan->grid, gt_run_grid_point(plan, run), above);
    const char *kept = gt_arena_bytes(&made->arena, place, strlen(place));
    gt_free_all(above, place);
    return kept;
}

gt_run_point gt_run_point_make(const gt_run_plan *plan, size_t run)
{
    gt_run_point made = {0};
    size_t point = gt_run_grid_point(plan, run), len = strlen(plan->root);
    made.place = place_of(plan, run, &made);
    made.folder = gt_arena_format(&made.arena, "%s%s%s", plan->root,
                                  len && plan->root[len - 1] != '/' ? "/" : "", made.place);
    made.profiler_folder = path_below(&made, "torch_profiler");
    if (plan->rocprof) {
        made.rocprof_folder = path_below(&made, "rocprof_traces");
        add_profiler(plan, &made);
        made.profiler_words = made.argv.count;
    }
    size_t count;
    const char *const *words = command_of(plan, &count);
    for (size_t i = 0; i < count; i++)
        gt_arg_list_add(&made.arena, &made.argv, expand(plan, point, &made, words[i]));
    end_list(&made, &made.argv);
    make_environment(plan, point, &made);
    return made;
}

void gt_run_point_free(gt_run_point *point)
{
    gt_arena_free(&point->arena);
    *point = (gt_run_point){0};
}

/* env -u NAME A=1 COMMAND, with secrets masked; the caller frees it. Without variables, only the command. */
static char *shown_line(gt_arena *arena, const gt_value *secrets, const gt_arg_list *unset,
                        const gt_arg_list *variables, const gt_arg_list *argv)
{
    gt_buffer line = {0};
    gt_arg_list hidden = gt_secrets_hide_variables(arena, secrets, variables);
    if (unset->count || variables->count) gt_buffer_add_cstr(&line, "env ");
    for (size_t i = 0; i < unset->count; i++) {
        gt_buffer_add_cstr(&line, "-u ");
        gt_shell_quote(&line, unset->items[i]);
        gt_buffer_add_cstr(&line, " ");
    }
    gt_shell_join(&line, hidden.items, hidden.count);
    if (hidden.count) gt_buffer_add_cstr(&line, " ");
    hidden = gt_secrets_hide_words(arena, secrets, argv);
    gt_shell_join(&line, hidden.items, hidden.count);
    return gt_buffer_take(&line);
}

void gt_run_point_print(gt_run_point *point, const gt_arg_list *unset, const gt_value *secrets)
{
    char *line = shown_line(&point->arena, secrets, unset, &point->variables, &point->argv);
    printf("%s\n", line);
    gt_free(line);
}

char *gt_run_point_title(const gt_run_plan *plan, size_t run)
{
    const gt_sweep_grid *grid = &plan->grid;
    gt_buffer title = {0};
    for (size_t k = 0; k < grid->axis_count; k++) {
        size_t axis = gt_sweep_grid_named_as(grid, k);
        const char *name = grid->axes[axis].name;
        if (k) gt_buffer_add_cstr(&title, ", ");
        gt_buffer_add_cstr(&title, strcmp(name, "threads") == 0    ? "THREADS"
                                   : strcmp(name, "channels") == 0 ? "CHANNELS"
                                                                   : name);
        gt_buffer_add_cstr(&title, "=");
        gt_buffer_add_cstr(&title, gt_sweep_grid_value(grid, gt_run_grid_point(plan, run), axis));
    }
    if (plan->repeats > 1) gt_buffer_add_format(&title, ", repeat %zu", gt_run_repeat(plan, run));
    return gt_buffer_take(&title);
}

/* ---- the command of all points ---- */

/* Adds a word in which only {config} and {nproc} are replaced: all points have the same. */
static void add_common(gt_arena *arena, gt_arg_list *words, const gt_run_plan *plan, const char *text)
{
    char number[32];
    gt_buffer word = {0};
    snprintf(number, sizeof number, "%" PRId64, plan->nproc);
    const char *const names[] = {"{config}", "{nproc}"}, *const values[] = {plan->config, number};
    for (const char *at = text; *at;) {
        size_t found = GT_LENGTH(names), len = at[0] == '{' && at[1] == '{' ? 2 : 1;
        for (size_t i = 0; i < GT_LENGTH(names) && len == 1; i++)
            if (strncmp(at, names[i], strlen(names[i])) == 0) found = i;
        if (found < GT_LENGTH(names))
            gt_buffer_add_cstr(&word, values[found]);
        else
            gt_buffer_add(&word, at, len);
        at += found < GT_LENGTH(names) ? strlen(names[found]) : len;
    }
    gt_arg_list_add(arena, words, gt_buffer_str(&word).bytes);
    gt_buffer_free(&word);
}

char *gt_run_plan_line(const gt_run_plan *plan)
{
    gt_arena arena = {0};
    gt_arg_list unset = {0}, variables = {0}, argv = {0};
    size_t count;
    const char *const *words = command_of(plan, &count);
    for (size_t i = 0; i < plan->unset_count; i++) add_common(&arena, &unset, plan, plan->unset[i]);
    for (size_t i = 0; i < plan->environment_count; i++)
        add_common(&arena, &variables, plan, plan->environment[i]);
    if (plan->rocprof) add_common(&arena, &argv, plan, "rocprofv3");
    if (plan->rocprof && plan->stats) add_common(&arena, &argv, plan, "--stats");
    if (plan->rocprof && plan->rocprof_input) {
        add_common(&arena, &argv, plan, "-i");
        add_common(&arena, &argv, plan, plan->rocprof_input);
    }
    if (plan->rocprof) add_common(&arena, &argv, plan, "--");
    for (size_t i = 0; i < count; i++) add_common(&arena, &argv, plan, words[i]);
    char *line = shown_line(&arena, plan->secrets, &unset, &variables, &argv);
    gt_arena_free(&arena);
    return line;
}

/* ---- job files for rocprofv3 ---- */

const char *const gt_rocprof_job_names[GT_ROCPROF_JOBS] = {"rocprof_cu_only.yaml", "rocprof_input.yaml"};

const char *const gt_rocprof_job_texts[GT_ROCPROF_JOBS] = {
    "# rocprofv3 -i FILE: how busy the compute units are in GEMMs. Few counters, so one pass is "
    "enough.\njobs:\n  - kernel_include_regex: \"(gemm|Cijk_.*)\"\n    kernel_trace: true\n    "
    "output_format: [json, csv] # needed for reports\n    pmc:\n      - SQ_BUSY_CU_CYCLES # cycles in which "
    "a compute unit was busy\n      - SQ_WAVES          # launched waves\n      - SQ_WAVE_CYCLES    # cycles "
    "in which waves were resident\n      - SQ_INSTS_MFMA     # matrix instructions\n",

    "# rocprofv3 -i FILE: many counters of GEMMs, with statistics and a trace for Perfetto.\njobs:\n  - "
    "kernel_include_regex: \"(gemm|Cijk_.*)\"\n    kernel_trace: true\n    stats: true # times only\n    "
    "output_format: [json, csv, pftrace]\n    sys_trace: false\n    advanced_thread_trace: false # true "
    "needs the thread trace decoder\n    pmc:\n      - SQ_WAVES\n      - SQ_INSTS_VALU\n      - "
    "SQ_INSTS_MFMA\n      - SQ_ACTIVE_INST_ANY\n      - SQ_BUSY_CYCLES\n      - SQ_BUSY_CU_CYCLES\n      - "
    "SQ_WAVE_CYCLES\n      - SQ_WAVES_RESTORED\n      - SQ_INSTS_LDS\n      - SQ_INSTS_SMEM\n      - "
    "SQ_INSTS_VMEM\n      - SQ_WAIT_INST_LDS\n      - SQ_INSTS_VSKIPPED\n      - SQ_THREAD_CYCLES_VALU\n",
};

bool gt_rocprof_jobs_write(const char *folder, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written = true;
    for (size_t i = 0; i < GT_ROCPROF_JOBS && written; i++) {
        char *path = gt_format("%s/%s", folder, gt_rocprof_job_names[i]);
        written = gt_output_write_file(
            output, path, (gt_str){gt_rocprof_job_texts[i], strlen(gt_rocprof_job_texts[i])}, error);
        gt_free(path);
    }
    written = written && gt_output_commit(output, error);
    gt_output_free(output);
    return written;
}
