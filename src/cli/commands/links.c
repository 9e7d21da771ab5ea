/* `gputally links`: writes the names of the programs and scripts that gputally replaces into a folder, so
 * that command lines which use them run unchanged. */
#include "cli/commands/commands.h"
#include "cli/links/links.h"
#include "os/paths.h"
#include "os/shell_words.h"

#include <sys/auxv.h>

static const gt_option links_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", NULL, "write the old names into DIR (same as DIR)"},
    {"program", GT_OPTION_STRING, "PATH", NULL,
     "start the program at PATH (default: this one); a relative PATH is relative to DIR, so that both can be "
     "moved "
     "together",
     .needs = "!remove"},
    {"force", GT_OPTION_FLAG, NULL, NULL,
     "also replace files that gputally links has not written; they are kept in " GT_LINKS_ORIGINALS
     ", and --remove puts them back",
     .needs = "!remove"},
    {"remove", GT_OPTION_FLAG, NULL, NULL,
     "remove what gputally links has written, and put back what --force replaced"},
};
static const gt_option_group links_group = {"Links", links_options, GT_LENGTH(links_options)};

const gt_syntax gt_links_syntax = {
    .groups = {&links_group, &gt_messages_group},
    .main_options = {"output_dir", "program", "force", "remove"},
    .files = "DIR",
    .file_option = "output_dir",
    .files_max = 1,
    .folders = true,
    .output_option = "output_dir",
};

/* The path by which this program was started, absolute, or the path of its file. Links in it stay as they
 * are: /usr/local/bin/gputally is likely to exist after an update, what it points to is not. */
static const char *this_program(gt_arena *arena)
{
    const char *started = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    const char *file = gt_path_program(arena);
    if (started && (!file || gt_path_is_same_file(started, file)))
        return gt_path_absolute(arena, gt_path_current(arena), started);
    return file;
}

/* What to type next. */
static void show(const char *folder, const gt_links_result *result)
{
    gt_buffer quoted = {0};
    gt_shell_quote(&quoted, folder);
    const char *dir = gt_buffer_str(&quoted).bytes;
    printf("%zu old names in %s: %zu written, %zu already there\n", result->changed + result->unchanged,
           folder, result->changed, result->unchanged);
    if (result->originals)
        printf("%zu files were in the way and are kept in " GT_LINKS_ORIGINALS
               "; to put them back:\n  gputally "
               "links --remove %s\n",
               result->originals, dir);
    printf("\nTo use the commands and Python modules, type or add to your profile:\n"
           "  export PATH=%s:\"$PATH\" PYTHONPATH=%s\"${PYTHONPATH:+:$PYTHONPATH}\"\n",
           dir, dir);
    printf("To use the scripts (python scripts/...), start them in this folder:\n  cd %s\n", dir);
    gt_buffer_free(&quoted);
}

/* The program need not exist yet, but what exists must be one. */
static bool can_be_started(gt_arena *arena, const char *program, const char *folder, gt_error *error)
{
    const char *path = gt_path_absolute(arena, folder, program);
    struct stat status;
    bool can = true;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        can = gt_fail(error, "argument --program: %s is a folder", path);
    else if (stat(path, &status) == 0 && !(status.st_mode & 0111))
        can = gt_fail(error, "argument --program: %s is not a program", path);
    return can;
}

static bool write_links(const gt_call *call, gt_arena *arena, const char *folder, gt_error *error)
{
    const char *program = gt_arguments_string(&call->arguments, "program");
    if (!program) program = this_program(arena);
    if (!program)
        return gt_fail(error, "cannot find the path of this program (no /proc); name it with --program");
    if (!can_be_started(arena, program, folder, error)) return false;
    gt_links_result result;
    if (!gt_links_write(folder, program, gt_arguments_flag(&call->arguments, "force"), &result, error))
        return false;
    if (strchr(folder, ':')) gt_warn("%s: a folder with ':' in its name cannot be in PATH", folder);
    if (!gt_arguments_flag(&call->arguments, "quiet")) show(folder, &result);
    return true;
}

static bool remove_links(const gt_call *call, const char *folder, gt_error *error)
{
    gt_links_result result;
    if (!gt_links_remove(folder, &result, error)) return false;
    if (gt_arguments_flag(&call->arguments, "quiet")) return true;
    printf("removed %zu old names from %s%s\n", result.changed, folder,
           result.folder_removed ? ", and the folder, which is empty" : "");
    if (result.originals) printf("put back %zu files that were in the way\n", result.originals);
    if (result.unchanged) printf("%zu files of these names are not ours and stay\n", result.unchanged);
    return true;
}

gt_exit gt_cmd_links(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    const gt_option_value *program = gt_arguments_value(arguments, "program");
    if (program->given && !program->text[0])
        return gt_usage_error(call->program, "argument --program: must not be empty");
    gt_log_quiet(gt_arguments_flag(arguments, "quiet"));
    gt_arena arena = {0};
    gt_error error;
    const char *folder =
        gt_path_absolute(&arena, gt_path_current(&arena), gt_arguments_string(arguments, "output_dir"));
    bool done = gt_arguments_flag(arguments, "remove") ? remove_links(call, folder, &error)
                                                       : write_links(call, &arena, folder, &error);
    if (!done) fprintf(stderr, "gputally: %s\n", error.text);
    gt_arena_free(&arena);
    return done ? GT_EXIT_DONE : GT_EXIT_FAILED;
}
