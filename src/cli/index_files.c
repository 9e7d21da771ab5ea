/* Index files on the command line: each is replaced by its trace, so that names of reports, messages and
 * checks are those of the trace. If the trace is missing, the index stands for it. */
#include "cli/index_files.h"

#include "index/index.h"
#include "os/paths.h"

/* Whether another argument is this trace itself, as with a pattern that both names match. */
static bool is_named(const gt_arguments *arguments, const char *trace)
{
    for (size_t i = 0; i < arguments->file_count; i++)
        if (gt_path_is_same_file(arguments->files[i], trace)) return true;
    return false;
}

/* Whether a command can use an index without its trace; says that it is used. */
static bool accept_alone(const gt_arguments *arguments, const char *path, gt_error *error)
{
    if (!gt_syntax_option(arguments->syntax, "index"))
        return gt_fail(error, "%s: an index whose trace is missing; this command needs the trace", path);
    if (!gt_arguments_flag(arguments, "quiet"))
        gt_info("%s: the trace of this index is missing, so whether it has changed is unknown", path);
    return true;
}

/* Replaces a path by its trace, which the arguments own, if it is that of an index. */
static bool resolve(gt_arguments *arguments, const char **path, gt_error *error)
{
    char *trace;
    if (!*path || !gt_index_is_index(*path, &trace)) return true;
    if (!trace) return accept_alone(arguments, *path, error);
    GT_PUSH(arguments->owned, arguments->owned_count, arguments->owned_capacity, trace);
    arguments->index_count++;
    arguments->index_path = *path;
    *path = trace;
    return true;
}

bool gt_arguments_resolve_indexes(gt_arguments *arguments, gt_error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < arguments->file_count; i++) {
        const char *given = arguments->files[i], *path = given;
        if (!resolve(arguments, &path, error)) return false;
        if (path != given && is_named(arguments, path)) continue;
        arguments->files[kept++] = path;
    }
    arguments->file_count = kept;
    const char *option = arguments->syntax->file_option;
    if (!option) return true;
    /* The value is in `arguments`, which are not const here. */
    gt_option_value *value = (gt_option_value *)(uintptr_t)gt_arguments_value(arguments, option);
    return resolve(arguments, &value->text, error);
}
