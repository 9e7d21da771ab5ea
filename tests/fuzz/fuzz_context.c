/* Fuzzes the reader of contexts, JSON or Python literals, and their plans: an accepted context gives an error
 * or a plan whose command line a shell can split; and the files for clusters that are made from a plan. */
#include "base/log.h"
#include "run/plan/context.h"
#include "run/plan/plan.h"
#include "run/targets/kubernetes/kubernetes.h"
#include "run/targets/targets.h"

#include <stdlib.h>
#include <string.h>

static void make_files(const gt_plan *plan)
{
    static const char *const options[] = {"--name", "it's"};
    gt_error error = {0};
    gt_slurm slurm;
    gt_slurm_request request = {
        .plan = plan, .gputally = "gputally", .run_options = options, .run_option_count = 2};
    if (!gt_slurm_make(&request, &slurm, &error) && !error.text[0]) abort();
    gt_buffer_free(&slurm.text);
    gt_kubernetes objects;
    error = (gt_error){0};
    gt_kubernetes_request pods = {plan, "image", options, 2, NULL};
    if (!gt_kubernetes_make(&pods, &objects, &error) && !error.text[0]) abort();
    gt_kubernetes_free(&objects);
}

static void ignore(bool warning, const char *text)
{
    (void)warning, (void)text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gt_log_to(ignore);
    gt_arena arena = {0};
    gt_error error = {0};
    char *text = gt_arena_bytes(&arena, data, size);
    const gt_value *context = gt_context_load(&arena, NULL, text, &error);
    if (!context && !error.text[0]) abort();
    const char *command[] = {"true", "it's"};
    gt_plan_request request = {.context = context,
                               .more_tools = &gt_value_missing,
                               .command = command,
                               .command_count = 2,
                               .target = "local",
                               .output_dir = "/tmp"};
    gt_plan plan;
    if (context && gt_plan_make(&arena, &request, &plan, &error)) {
        gt_json_writer w = {0};
        gt_json_open(&w, '{');
        gt_plan_write(&plan, &w);
        gt_json_close(&w, '}');
        if (!gt_settings_parse(&arena, gt_buffer_str(&w.text), &error) && !strstr(error.text, "more than"))
            abort();
        gt_json_writer_free(&w);
        make_files(&plan);
    }
    gt_arena_free(&arena);
    return 0;
}
