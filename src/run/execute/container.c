/* A container that stays for several commands: started with a program that waits (cat), so that scripts and
 * the command run in it one after another with docker exec. */
#include "run/execute/execute.h"
#include "os/child.h"

#include <signal.h>
#include <unistd.h>

static const double docker_timeout_s = 120, pull_timeout_s = 7200;

static bool ask_docker(const char *const *argv, gt_buffer *text)
{
    return gt_child_ask((gt_child_setup){.argv = argv, .merge = true, .timeout_s = docker_timeout_s}, text);
}

typedef enum found_container { FOUND_NONE, FOUND_STALE, FOUND_IN_USE } found_container;

/* A container of this name: in use if the run that started it is still there; its process id is a label. */
static found_container find_container(const gt_plan *plan, gt_buffer *text)
{
    const char *argv[] = {plan->docker.items[0],
                          "inspect",
                          "-f",
                          "{{.State.Running}} {{index .Config.Labels \"gputally.pid\"}}",
                          plan->container,
                          NULL};
    if (!ask_docker(argv, text)) return FOUND_NONE;
    if (strncmp(text->bytes, "true ", 5) != 0) return FOUND_STALE;
    long pid = strtol(text->bytes + 5, NULL, 10);
    bool in_use = pid > 0 && pid != (long)getpid() && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
    return in_use ? FOUND_IN_USE : FOUND_STALE;
}

static void rename_container(gt_plan *plan)
{
    const char *name = gt_arena_format(plan->arena, "%s_%ld", plan->container, (long)getpid());
    for (size_t i = 0; i < plan->docker.count; i++)
        if (strcmp(plan->docker.items[i], "--name") == 0) {
            plan->docker.items[i + 1] = name;
            break;
        }
    plan->container = name;
}

/* Starts it; what docker said is in `text`. */
static bool start(gt_plan *plan, gt_child_result *result, gt_buffer *text, gt_error *error)
{
    gt_arg_list_add(plan->arena, &plan->docker, ""); /* space for the terminating NULL */
    plan->docker.items[--plan->docker.count] = NULL;
    /* the environment holds values that are not arguments */
    const char *const *environment = gt_plan_environment(plan);
    gt_child_setup setup = {.argv = plan->docker.items,
                            .environment = environment,
                            .log_path = plan->log_path,
                            .log_append = true,
                            .silent = true,
                            .merge = true,
                            .timeout_s = pull_timeout_s,
                            .line = gt_child_keep_line,
                            .line_context = text};
    text->len = 0;
    bool ok = gt_child_run(&setup, result, error);
    while (text->len && text->bytes[text->len - 1] == '\n') text->len--;
    gt_buffer_str(text);
    return ok;
}

bool gt_container_start(gt_plan *plan, gt_error *error)
{
    gt_buffer text = {0};
    gt_child_result result;
    found_container found = find_container(plan, &text);
    if (found == FOUND_IN_USE) rename_container(plan);
    if (found == FOUND_STALE) gt_docker_remove(plan); /* otherwise it may be one that was just started */
    bool ok = start(plan, &result, &text, error);
    if (ok && result.exit_code && strstr(text.bytes, "already in use")) { /* another run was faster */
        rename_container(plan);
        ok = start(plan, &result, &text, error);
    }
    if (ok && result.exit_code) {
        ok = gt_fail(error, "the container did not start (exit status %d): %.600s", result.exit_code,
                     gt_buffer_str(&text).bytes);
    }
    gt_buffer_free(&text);
    return ok;
}

void gt_container_give_files(const gt_plan *plan)
{
    gt_buffer line = {0}, text = {0};
    gt_buffer_add_cstr(&line, "chmod -R a+rwX -- ");
    gt_shell_quote(&line, gt_docker_path(plan, plan->workdir));
    for (size_t i = 0; i < plan->piece_count; i++) {
        const gt_profiler *profiler = plan->pieces[i].profiler;
        if (!profiler || !profiler->output_dir) continue;
        gt_buffer_add_cstr(&line, " ");
        gt_shell_quote(&line, profiler->output_dir);
    }
    gt_buffer_add_cstr(&line, " || true");
    ask_docker(gt_docker_exec(plan, gt_buffer_str(&line).bytes), &text);
    gt_buffer_free(&line);
    gt_buffer_free(&text);
}
