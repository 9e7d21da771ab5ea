/* `gputally split`: extracts steps of an inference server's trace. */
#include "cli/commands/commands.h"
#include "transform/split.h"

static const gt_option step_options[] = {
    {"iterations", GT_OPTION_STRING, "STEPS", "all",
     "extract these steps: all, one step (50) or a range (10:20, end excluded)", .choices = "all|"},
    {"store_single_iteration", GT_OPTION_FLAG, NULL, NULL, "write one trace per step"},
    {"find_steady_state", GT_OPTION_FLAG, NULL, NULL,
     "write three traces from the period with the most concurrent requests: mixed prefill and decode, decode "
     "only, prefill in every step"},
    {"divide_phases", GT_OPTION_FLAG, NULL, NULL,
     "write one trace per sequence of steps of one phase, into the folders prefilldecodemix and decode_only"},
};
static const gt_option_group step_group = {"Steps", step_options, GT_LENGTH(step_options)};

static const gt_option window_options[] = {
    {"num_steps", GT_OPTION_INT, "N", "32", "set the number of steps per steady-state trace"},
    {"CONC", GT_OPTION_INT, "N", NULL, "expect N concurrent requests; warns if the trace differs"},
    {"OSL", GT_OPTION_STRING, "TOKENS", NULL,
     "set the maximum output tokens per request; with --CONC and --R, gives the expected share of steps with "
     "prefill",
     .needs = "CONC&R"},
    {"R", GT_OPTION_STRING, "RATIO", NULL,
     "expect requests to generate R * OSL to OSL tokens; between 0 and 1", .needs = "CONC&OSL"},
};
static const gt_option_group window_group = {"Steady state", window_options, GT_LENGTH(window_options),
                                             .needs = "find_steady_state"};

static const gt_option output_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", NULL, "write the traces into DIR (created if missing; required)"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

static const gt_short_option short_options[] = {{'i', "iterations"}, {0}};

const gt_syntax gt_split_syntax = {
    .groups = {&step_group, &window_group, &output_group, &gt_common_group},
    .main_options = {"output_dir", "iterations", "store_single_iteration", "find_steady_state",
                     "divide_phases"},
    .files = "FILE",
    .file_endings = "json,json.gz,json.zst,sqlite",
    .files_max = 1,
    .output_option = "output_dir",
    .short_options = short_options,
};

static bool read_count(const char **text, size_t *count)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(*text, &end, 10);
    bool fits = **text >= '0' && **text <= '9' && !errno;
    *text = end;
    *count = (size_t)number;
    return fits;
}

static bool read_range(const char *text, gt_split_options *options, gt_error *error)
{
    if (!text)
        return gt_fail(error, "argument --iterations: expected all, a number, or a range such as 10:20");
    const char *at = text;
    if (strcmp(text, "all") == 0) return true;
    options->has_range = true;
    bool fits = read_count(&at, &options->range_begin);
    options->range_end = options->range_begin + 1;
    if (fits && *at == ':') fits = at++, read_count(&at, &options->range_end);
    if (fits && !*at && options->range_begin < options->range_end) return true;
    return gt_fail(error, "argument --iterations: %s: expected all, a number, or a range such as 10:20",
                   text);
}

static bool read_number(const gt_arguments *arguments, const char *name, double *number, gt_error *error)
{
    const char *text = gt_arguments_string(arguments, name);
    *number = NAN;
    if (!text) return true;
    char *end;
    *number = strtod(text, &end);
    return (end > text && !*end && isfinite(*number)) ||
           gt_fail(error, "argument --%s: invalid float value: '%s'", name, text);
}

static bool read_options(const gt_call *call, gt_split_options *options, gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    int64_t steps = gt_arguments_int(arguments, "num_steps");
    const gt_option_value *requests = gt_arguments_value(arguments, "CONC");
    *options = (gt_split_options){
        .single_steps = gt_arguments_flag(arguments, "store_single_iteration"),
        .steady_state = gt_arguments_flag(arguments, "find_steady_state"),
        .divide_phases = gt_arguments_flag(arguments, "divide_phases"),
        .requests = requests->given ? requests->number : 0,
    };
    if (!gt_arguments_string(arguments, "output_dir"))
        return gt_fail(error, "the following arguments are required: -o/--output-dir");
    if (steps < 1 || steps > 1000000000)
        return gt_fail(error, "argument --num_steps: must be at least 1, got %lld", (long long)steps);
    if (requests->given && requests->number < 1)
        return gt_fail(error, "argument --CONC: must be at least 1, got %lld", (long long)requests->number);
    options->window_steps = (size_t)steps;
    return read_range(gt_arguments_string(arguments, "iterations"), options, error) &&
           read_number(arguments, "OSL", &options->output_tokens, error) &&
           read_number(arguments, "R", &options->token_ratio, error) &&
           (!(options->output_tokens <= 0) || gt_fail(error, "argument --OSL: must be more than 0"));
}

static void show(const gt_split_result *result, const gt_output *output, const char *dir)
{
    printf("%zu %s, %zu %s\n", result->events, gt_noun(result->events, "event", "events"), result->steps,
           gt_noun(result->steps, "step", "steps"));
    if (!result->files)
        printf("nothing to do; use --store-single-iteration, --find-steady-state, --divide-phases or -i "
               "10:20\n");
    else
        gt_trace_show_files(stdout, output);
    printf("Done! Extracted %zu traces to %s\n", result->files, dir);
}

gt_exit gt_cmd_split(const gt_call *call)
{
    gt_error error;
    gt_read_options read;
    gt_split_options options;
    if (!call->arguments.file_count)
        return gt_usage_error(call->program, "the following arguments are required: trace_path");
    const char *path = call->arguments.files[0];
    if (!gt_common_apply(call, &read, &error) || !read_options(call, &options, &error))
        return gt_usage_error(call->program, "%s", error.text);
    if (strcmp(path, "-") == 0)
        return gt_usage_error(call->program,
                              "standard input is not possible because the trace is read twice");
    const char *dir = gt_arguments_string(&call->arguments, "output_dir");
    gt_output *output = gt_output_new();
    gt_split_result result;
    bool is_split = gt_split(output, path, dir, &options, &read, &result, &error);
    if (!is_split) gt_call_explain_format(call, path, &error);
    bool made = is_split && gt_output_commit(output, &error);
    if (made && !gt_arguments_flag(&call->arguments, "quiet")) show(&result, output, dir);
    gt_output_free(output);
    if (made) return GT_EXIT_DONE;
    fprintf(stderr, "gputally: %s\n", error.text);
    return GT_EXIT_FAILED;
}
