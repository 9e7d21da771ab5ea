/* `gputally discover`: lists the models of the current folder, or those that tags select. */
#include "cli/commands/commands.h"
#include "run/models/models.h"

static const gt_option options[] = {
    {"tags", GT_OPTION_EACH, "TAGS", NULL,
     "print the models that these tags select (comma-separated; repeatable), as JSON"},
    {"output", GT_OPTION_STRING, "FILE", NULL, "write the models to FILE as JSON instead of printing them"},
    {"verbose", GT_OPTION_FLAG, NULL, NULL, "print more", .unused = "there is nothing more to print"},
};
static const gt_option_group group = {"Models", options, GT_LENGTH(options)};

static const gt_short_option short_options[] = {{'t', "tags"}, {'v', "verbose"}, {0}};

const gt_syntax gt_discover_syntax = {
    .groups = {&group, &gt_messages_group},
    .main_options = {"tags"},
    .files = "",
    .output_option = "output",
    .short_options = short_options,
};

static void print_models(const gt_value *models, bool as_json)
{
    if (!as_json) {
        printf("Available Models (%u total):\n", models->count);
        for (uint32_t i = 0; i < models->count; i++)
            printf("  %s\n", gt_model_text(&models->items[i], "name"));
        return;
    }
    gt_json_writer w = {0};
    gt_json_add_value(&w, models);
    printf("Selected Models (%u models):\n%s\n", models->count, gt_buffer_str(&w.text).bytes);
    gt_json_writer_free(&w);
}

gt_exit gt_cmd_discover(const gt_call *call)
{
    gt_error error;
    gt_arena arena = {0};
    gt_arg_list tags = {0};
    const gt_option_value *given = gt_arguments_value(&call->arguments, "tags");
    gt_log_quiet(gt_arguments_flag(&call->arguments, "quiet"));
    for (size_t i = 0; i < given->text_count; i++) gt_tags_add(&arena, given->texts[i], &tags);
    const gt_value *models = NULL;
    bool ok = true;
    if (tags.count) {
        ok = gt_models_load(&arena, &tags, &models, &error);
    } else {
        gt_models_copy_folder(&arena);
        ok = gt_models_find(&arena, &models, &error);
    }
    const char *output = gt_arguments_string(&call->arguments, "output");
    if (ok && output)
        ok = gt_manifest_write(models, output, &error);
    else if (ok)
        print_models(models, tags.count > 0);
    if (!ok) fprintf(stderr, "gputally: Model discovery failed: %s\n", error.text);
    gt_arena_free(&arena);
    return ok ? GT_EXIT_DONE : call->by_old_name ? GT_EXIT_FAILED : GT_EXIT_BUILD; /* as `run` and `build` */
}
