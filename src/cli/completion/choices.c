/* Values of options that are not written in the option tables, because other tables have them. */
#include "cli/completion/completion.h"

#include "model/arch.h"
#include "model/model.h"
#include "run/plan/context.h"
#include "run/plan/plan.h"

#include <string.h>

static void each_gpu(gt_choice_taker *take, void *context)
{
    size_t count;
    const gt_gpu_arch *gpus = gt_gpu_archs(&count);
    for (size_t i = 0; i < count; i++) take(context, gpus[i].name, "");
}

static void each_op(gt_choice_taker *take, void *context)
{
    size_t count;
    const gt_model *const *ops = gt_op_list(&count);
    for (size_t i = 0; i < count; i++) take(context, ops[i]->name, "");
}

static void each_tool(gt_choice_taker *take, void *context)
{
    for (size_t i = 0; i < gt_tool_count(); i++) take(context, gt_tool_name(i), gt_tool_purpose(i));
}

static void each_context(gt_choice_taker *take, void *context)
{
    for (size_t i = 0; i < gt_config_count; i++) take(context, gt_configs[i].name, gt_configs[i].purpose);
}

static const struct {
    const char *name;
    void (*each)(gt_choice_taker *take, void *context);
} lists[] = {{"@gpus", each_gpu}, {"@ops", each_op}, {"@tools", each_tool}, {"@contexts", each_context}};

static bool is_named(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

void gt_choices_each(const char *choices, gt_choice_taker *take, void *context)
{
    for (const char *at = choices; at && *at; at += *at == '|') {
        size_t len = strcspn(at, "|"), i = 0;
        while (i < GT_LENGTH(lists) && !is_named(lists[i].name, at, len)) i++;
        if (i < GT_LENGTH(lists)) {
            lists[i].each(take, context);
        } else if (len) {
            char value[64];
            snprintf(value, sizeof value, "%.*s", (int)len, at);
            take(context, value, "");
        }
        at += len;
    }
}
