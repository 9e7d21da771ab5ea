/* The key of a partial, and the options in it. */
#include "cli/partials.h"

#include "cli/common.h"
#include "index/checksum.h"
#include "os/shell_words.h"

enum { KEY_MAX = 3000, OPTIONS_MAX = 4096 };

char *gt_partial_key(const gt_call *call)
{
    const gt_option_value *set = gt_arguments_value(&call->arguments, "comm_kernels");
    const gt_option_value *regexes = gt_arguments_value(&call->arguments, "comm_kernel_regex");
    gt_hta_options extra;
    gt_buffer key = {0};
    gt_buffer_add_format(&key, "ranks, communication %s", set->given ? set->text : "all");
    for (size_t i = 0; i < regexes->text_count; i++) {
        gt_buffer_add_cstr(&key, " ");
        gt_shell_quote(&key, regexes->texts[i]);
    }
    if (gt_extra_wanted(&call->arguments, &extra))
        gt_buffer_add_format(&key, ", extra %d %d %" PRId64 " %" PRId64, extra.hta_times,
                             extra.include_last_step, extra.kernel_delay_us, extra.max_queue_length);
    gt_str text = gt_buffer_str(&key);
    char *copy = text.len <= KEY_MAX ? gt_strdup(text.bytes)
                                     : gt_format("ranks %016" PRIx64, gt_checksum(text.bytes, text.len));
    gt_buffer_free(&key);
    return copy;
}

char *gt_partial_options(const gt_call *call)
{
    gt_call without_files = *call;
    without_files.arguments.file_count = 0;
    char *line = gt_call_describe(&without_files, NULL);
    char *options = gt_strdup(line + strlen(call->program));
    gt_free(line);
    return options;
}

void gt_partial_save_options(const char *options, gt_image *image)
{
    size_t len = strlen(options);
    if (len > OPTIONS_MAX) len = 0;
    gt_image_add(image, "partial", "options", options, len);
}

char *gt_partial_load_options(const gt_image *image)
{
    size_t len = 0;
    const char *text = gt_image_get(image, "partial", "options", 1, &len);
    bool sound = text && len <= OPTIONS_MAX && (!len || text[0] == ' ');
    for (size_t i = 0; sound && i < len; i++) sound = (unsigned char)text[i] >= ' ';
    return sound ? gt_format("%.*s", (int)len, text) : gt_strdup("");
}
