/* `gputally match-blocks`: pairs blocks of steps of two inference servers. */
#include "cli/commands/commands.h"
#include "transform/match_blocks.h"

static const gt_option step_options[] = {
    {"phases", GT_OPTION_STRING, "PHASES", "decode_only,prefilldecode",
     "match blocks of these phases, separated by commas: decode_only, prefilldecode, prefill_only"},
    {"num_steps", GT_OPTION_INT, "N", "16",
     "split longer sequences into blocks of N steps; 0: use whole sequences"},
};
static const gt_option_group step_group = {"Steps", step_options, GT_LENGTH(step_options)};

static const gt_option output_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the report and the traces of the pairs into DIR (created if missing; required)"},
    {"no_extract", GT_OPTION_FLAG, NULL, NULL, "write only the report, no traces"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

static const gt_short_option short_options[] = {{'o', "output_dir"}, {0}};

const gt_syntax gt_match_syntax = {
    .groups = {&step_group, &output_group, &gt_common_group},
    .main_options = {"output_dir", "phases", "num_steps", "no_extract"},
    .files = "TRACE_A TRACE_B",
    .file_endings = "json,json.gz,json.zst",
    .files_max = 2,
    .output_option = "output_dir",
    .short_options = short_options,
};

static bool add_phase(gt_match_options *options, gt_str word, gt_error *error)
{
    for (gt_match_phase phase = 0; phase < GT_MATCH_PHASES; phase++) {
        if (!gt_str_equals(word, gt_match_phase_name(phase))) continue;
        for (size_t i = 0; i < options->phase_count; i++)
            if (options->phases[i] == phase) return true;
        options->phases[options->phase_count++] = phase;
        return true;
    }
    return gt_fail(error, "argument --phases: %.*s: expected decode_only, prefilldecode or prefill_only",
                   (int)word.len, word.bytes);
}

static bool read_phases(const char *text, gt_match_options *options, gt_error *error)
{
    for (const char *at = text;; at++) {
        while (*at == ' ') at++;
        gt_str word = {at, strcspn(at, ", ")};
        if (!add_phase(options, word, error)) return false;
        at += word.len;
        while (*at == ' ') at++;
        if (!*at) return true;
    }
}

static bool read_options(const gt_call *call, gt_match_options *options, gt_error *error)
{
    int64_t steps = gt_arguments_int(&call->arguments, "num_steps");
    *options = (gt_match_options){
        .window_steps = steps > 0 ? (size_t)steps : 0,
        .extract = !gt_arguments_flag(&call->arguments, "no_extract"),
    };
    if (!gt_arguments_string(&call->arguments, "output_dir"))
        return gt_fail(error, "the following arguments are required: -o/--output-dir");
    return read_phases(gt_arguments_string(&call->arguments, "phases"), options, error);
}

static void show_match(const char *phase, const gt_match *match)
{
    static const char *const decode[] = {"new tokens", "sequence lengths"};
    static const char *const others[] = {"prompts", "requests that generate", "tokens of prompts",
                                         "new tokens"};
    if (!match->steps) {
        printf("%s: no pair, see match_notes.json\n", phase);
        return;
    }
    printf("%s: %zu %s, from step %zu of A and step %zu of B; mean difference of a step:", phase,
           match->steps, gt_noun(match->steps, "step", "steps"), match->begin[0], match->begin[1]);
    for (size_t i = 0; i < match->distance_count; i++)
        printf("%s %.6g %s", i ? "," : "", match->distances[i],
               (match->distance_count == GT_LENGTH(decode) ? decode : others)[i]);
    printf("\n");
}

gt_exit gt_cmd_match_blocks(const gt_call *call)
{
    gt_error error;
    gt_read_options read;
    gt_match_options options;
    gt_match matches[GT_MATCH_PHASES] = {0};
    const char *const *paths = (const char *const *)call->arguments.files;
    if (call->arguments.file_count < 2)
        return gt_usage_error(call->program, "the following arguments are required: trace_a, trace_b");
    if (!gt_common_apply(call, &read, &error) || !read_options(call, &options, &error))
        return gt_usage_error(call->program, "%s", error.text);
    if (strcmp(paths[0], "-") == 0 || strcmp(paths[1], "-") == 0)
        return gt_usage_error(call->program,
                              "standard input is not possible because the traces are read twice");
    gt_output *output = gt_output_new();
    bool made = gt_match_blocks(output, paths, gt_arguments_string(&call->arguments, "output_dir"), &options,
                                &read, matches, &error) &&
                gt_output_commit(output, &error);
    if (made && !gt_arguments_flag(&call->arguments, "quiet")) {
        for (size_t i = 0; i < options.phase_count; i++)
            show_match(gt_match_phase_name(options.phases[i]), &matches[i]);
        gt_trace_show_files(stdout, output);
    }
    gt_output_free(output);
    if (made) return GT_EXIT_DONE;
    fprintf(stderr, "gputally: %s\n", error.text);
    return GT_EXIT_FAILED;
}
