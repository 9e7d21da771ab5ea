/* Parses the options of inference phases. */
#include "cli/inputs/phase_options.h"
#include "base/length.h"

#include <stdio.h>
#include <string.h>

static const char *const plot_formats[] = {"png", "pdf", "svg"};
enum { PLOT_FORMATS = GT_LENGTH(plot_formats) };

static const char *method_name(size_t i)
{
    return gt_phase_method_name((gt_phase_method)i);
}

static const char *plot_format(size_t i)
{
    return plot_formats[i];
}

/* The index of the choice; `count` if it is none of them. */
static size_t choice_of(const char *text, const char *(*choice)(size_t), size_t count)
{
    size_t i = 0;
    while (i < count && (!text || strcmp(text, choice(i)) != 0)) i++;
    return i;
}

static gt_exit check_choice(const gt_call *call, const char *option, const char *(*choice)(size_t),
                            size_t count)
{
    const char *text = gt_arguments_value(&call->arguments, option)->text;
    if (!text || choice_of(text, choice, count) < count) return GT_EXIT_DONE;
    char list[256] = "";
    for (size_t i = 0, used = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", choice(i));
    return gt_usage_error(call->program, "argument --%s: invalid choice: '%.200s' (choose from %s)", option,
                          text, list);
}

gt_exit gt_phase_options_check(const gt_call *call)
{
    gt_exit checked = check_choice(call, "phase_detection_method", method_name, GT_PHASE_METHODS);
    return checked == GT_EXIT_DONE ? check_choice(call, "plot_format", plot_format, PLOT_FORMATS) : checked;
}

gt_phase_options gt_phase_options_read(const gt_arguments *arguments)
{
    const char *method = gt_arguments_value(arguments, "phase_detection_method")->text;
    return (gt_phase_options){
        .method = (gt_phase_method)choice_of(method, method_name, GT_PHASE_METHODS),
        .decode_threshold = gt_arguments_int(arguments, "decode_threshold"),
    };
}
