/* `gputally completion`: the script that completes command lines in a shell. */
#include "cli/completion/completion.h"

#include "cli/commands/commands.h"
#include "output/file.h"

static const gt_option output_options[] = {
    {"output", GT_OPTION_STRING, "FILE", NULL, "write the script to FILE instead of standard output"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_completion_syntax = {
    .groups = {&output_group, &gt_messages_group},
    .main_options = {"output"},
    .files = "SHELL",
    .file_choices = "bash|zsh|fish",
    .files_max = 1,
    .output_option = "output",
};

static bool write_script(const char *shell, const char *path, gt_error *error)
{
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);
    if (!memory) return gt_fail(error, "%s: out of memory", path);
    gt_completion_script(memory, shell);
    bool kept = fclose(memory) == 0;
    gt_output *output = gt_output_new();
    bool written = kept && gt_output_write_file(output, path, (gt_str){text, len}, error) &&
                   gt_output_commit(output, error);
    gt_output_free(output);
    free(text);
    return written || (kept ? false : gt_fail(error, "%s: out of memory", path));
}

gt_exit gt_cmd_completion(const gt_call *call)
{
    const char *shell = call->arguments.files[0], *path = gt_arguments_string(&call->arguments, "output");
    gt_error error;
    if (!path) return gt_completion_script(stdout, shell) ? GT_EXIT_DONE : GT_EXIT_USAGE;
    if (write_script(shell, path, &error)) return GT_EXIT_DONE;
    fprintf(stderr, "gputally: %s\n", error.text);
    return GT_EXIT_FAILED;
}
