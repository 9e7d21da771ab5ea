/* Checks that exactly one way to find the traces of all ranks is given. */
#include "cli/inputs/rank_options.h"
#include "base/length.h"

gt_exit gt_rank_options_check(const gt_call *call, const char *none_given)
{
    static const char *const ways[] = {"trace_dir", "trace_pattern", "trace_glob"};
    const gt_arguments *arguments = &call->arguments;
    const char *given = NULL;
    for (size_t i = 0; i < GT_LENGTH(ways); i++) {
        if (!gt_arguments_value(arguments, ways[i])->given) continue;
        if (given || arguments->file_count)
            return gt_usage_error(call->program, "argument --%s: not allowed with %s%s", ways[i],
                                  given ? "argument --" : "FILE arguments", given ? given : "");
        given = ways[i];
    }
    if (given || arguments->file_count) return GT_EXIT_DONE;
    return gt_usage_error(call->program, "%s", none_given);
}

gt_rank_search gt_rank_options_read(const gt_arguments *arguments)
{
    return (gt_rank_search){
        .folder = gt_arguments_value(arguments, "trace_dir")->text,
        .pattern = gt_arguments_value(arguments, "trace_pattern")->text,
        .glob = gt_arguments_value(arguments, "trace_glob")->text,
        .rank_regex = gt_arguments_value(arguments, "rank_regex")->text,
        .world_size = (size_t)gt_arguments_value(arguments, "world_size")->number,
        .allow_missing = gt_arguments_flag(arguments, "allow_missing_ranks"),
    };
}
