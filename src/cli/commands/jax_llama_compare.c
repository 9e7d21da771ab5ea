/* `gputally jax-llama-compare`: a Markdown report on two Chrome traces of the same language model. */
#include "cli/commands/commands.h"
#include "input/chrome/chrome.h"
#include "output/file.h"

static const gt_option input_options[] = {
    {"rocm", GT_OPTION_STRING, "FILE", NULL,
     "read the Chrome trace of the AMD GPU (JSON, may be compressed; required)"},
    {"cuda", GT_OPTION_STRING, "FILE", NULL, "read the Chrome trace of the NVIDIA GPU (required)"},
    {"gpu", GT_OPTION_INT, "N", "0", "analyse GPU N, as in the traces' process names /device:GPU:N"},
    {"tokens", GT_OPTION_STRING, "A:B", "1:8", "analyse these tokens, both ends included; 0 is the first"},
    {"layers", GT_OPTION_STRING, "A:B", "0:31",
     "analyse these layers; tokens without all of them are skipped"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option output_options[] = {
    {"out", GT_OPTION_STRING, "PATH", NULL, "write the report to PATH instead of standard output"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_jax_llama_syntax = {
    .groups = {&input_group, &output_group, &gt_common_group},
    .main_options = {"rocm", "cuda", "out", "tokens", "layers"},
    .files = "",
    .files_max = 0,
    .output_option = "out",
};

/* Part of the path of the op that starts a token. */
static const char ROCM_MARK[] = "te_layernorm_forward", CUDA_MARK[] = "te_norm_forward_ffi";

/* ---- options ---- */

static bool read_bound(const char **at, int64_t *bound)
{
    char *end;
    while (**at == ' ') ++*at;
    if (**at < '0' || **at > '9') return false;
    *bound = strtoll(*at, &end, 10);
    *at = end;
    while (**at == ' ') ++*at;
    return *bound < INT32_MAX;
}

static bool read_range(const gt_arguments *arguments, const char *name, gt_llama_range *range,
                       gt_error *error)
{
    const char *given = gt_arguments_value(arguments, name)->text, *at = given;
    bool valid = read_bound(&at, &range->first) && *at++ == ':' && read_bound(&at, &range->last) && !*at;
    if (!valid) return gt_fail(error, "Bad range '%.200s', use a:b inclusive.", given);
    return range->last >= range->first || gt_fail(error, "Bad range '%.200s': end < start.", given);
}

/* ---- comparison ---- */

static bool summarise(const gt_call *call, const char *option, const char *mark, const gt_read_options *read,
                      gt_llama_pair *pair, gt_interner *strings, gt_llama_summary *summary, gt_error *error)
{
    const char *path = gt_arguments_string(&call->arguments, option);
    gt_stream *file = gt_stream_open(path, error);
    gt_gpu_stream stream = {0};
    if (!file) return false;
    bool valid =
        gt_gpu_stream_read(file, gt_arguments_int(&call->arguments, "gpu"), strings, read, &stream, error);
    if (valid && !gt_llama_summarize(&stream, mark, pair->tokens, pair->layers, summary, error)) {
        gt_error_prefix(error, path);
        valid = false;
    }
    gt_gpu_stream_free(&stream);
    gt_stream_close(file);
    return valid;
}

static bool write_report(const char *path, const gt_buffer *report, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written = gt_output_write_file(output, path, (gt_str){report->bytes, report->len}, error) &&
                   gt_output_commit(output, error);
    gt_output_free(output);
    return written;
}

static bool compare(const gt_call *call, const gt_read_options *read, gt_llama_pair *pair, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_llama_summary rocm = {0}, cuda = {0};
    gt_buffer report = {0};
    bool made = summarise(call, "rocm", ROCM_MARK, read, pair, strings, &rocm, error) &&
                summarise(call, "cuda", CUDA_MARK, read, pair, strings, &cuda, error);
    if (made) {
        const char *path = gt_arguments_string(&call->arguments, "out");
        *pair = (gt_llama_pair){&rocm, &cuda, pair->tokens, pair->layers, strings};
        gt_llama_compare(&report, pair);
        if (path) made = write_report(path, &report, error);
        if (!path) puts(gt_buffer_str(&report).bytes);
        if (made && path && !gt_arguments_flag(&call->arguments, "quiet")) printf("Wrote %s\n", path);
    }
    gt_buffer_free(&report);
    gt_llama_summary_free(&rocm);
    gt_llama_summary_free(&cuda);
    gt_interner_free(strings);
    return made;
}

gt_exit gt_cmd_jax_llama(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    gt_error error;
    gt_read_options read;
    gt_llama_pair pair = {0};
    bool has_both = gt_arguments_string(arguments, "rocm") && gt_arguments_string(arguments, "cuda");
    if (!has_both)
        return gt_usage_error(call->program, "the following arguments are required: --rocm, --cuda");
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    bool made = read_range(arguments, "tokens", &pair.tokens, &error) &&
                read_range(arguments, "layers", &pair.layers, &error) && compare(call, &read, &pair, &error);
    if (!made) fprintf(stderr, "gputally: %s\n", error.text);
    return made ? GT_EXIT_DONE : GT_EXIT_FAILED;
}
