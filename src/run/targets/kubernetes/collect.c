/* From submitting a job to removing it. What must not be lost are the results: they are fetched before
 * anything is removed, and if that fails the claim is kept and named.
 *
 * They are fetched as a compressed tar archive through `kubectl exec`, not with `kubectl cp`: that leaves out
 * links, and hard links become empty files, while a profiler's folder has both. Compression also tells
 * whether the archive is whole. */
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/targets/kubernetes/follow.h"
#include "run/targets/kubernetes/parts.h"
#include "run/targets/nodes.h"

enum { FETCH_TRIES = 3 };
static const double short_call_s = 120, fetch_s = 24 * 3600.0;

typedef struct kube_run {
    const gt_plan *plan;
    const gt_kubernetes *job;
    gt_kube_session session;
    gt_kube_outcome outcome;
} kube_run;

static void say(const char *text)
{
    fprintf(stderr, "gputally: %s\n", text);
}

/* Runs kubectl; a failure is a message with what was tried. */
static bool call(kube_run *r, const char *what, const char *const *words)
{
    gt_kube_call c = {.words = words, .timeout_s = short_call_s};
    bool ok = gt_kube_run(&r->session, &c);
    if (!ok) say(gt_arena_format(r->plan->arena, "%s: %s", what, gt_kube_reason(&r->session, &c)));
    gt_kube_call_free(&c);
    return ok;
}

/* ---- submitting ---- */

/* A file that only the owner can read. */
static bool write_private(const char *path, const gt_buffer *text, gt_error *error)
{
    unlink(path);
    int file = gt_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int failure = file < 0 ? errno : gt_write_fully(file, text->bytes, text->len);
    if (file >= 0) close(file);
    return !failure || gt_fail(error, "cannot write %s: %s", path, strerror(failure));
}

/* `create`, not `apply`: that would keep a copy of the whole object, secrets included, in an annotation. Not
 * validated: an older cluster ignores fields that it does not know. */
static bool create(kube_run *r, const char *name, const gt_buffer *text, bool keep_file)
{
    gt_error error;
    const char *path = gt_path_join(r->plan->arena, r->job->results_dir, name);
    const char *words[] = {"create", "--validate=false", "-f", path, NULL};
    bool ok = write_private(path, text, &error);
    if (!ok) say(error.text);
    ok = ok && call(r, "kubectl create", words);
    if (!keep_file) unlink(path);
    return ok;
}

static bool submit(kube_run *r)
{
    gt_error error;
    if (!gt_path_make_folder(r->job->results_dir, &error)) {
        say(error.text);
        return false;
    }
    bool ok = !r->job->secret.len || create(r, "secret.yaml", &r->job->secret, false);
    ok = ok && !r->session.interrupts && create(r, "job.yaml", &r->job->text, true);
    if (!ok && !r->session.interrupts) say("the job could not be submitted");
    return ok;
}

/* ---- removing ---- */

static gt_arg_list object_list(kube_run *r, bool with_claim)
{
    gt_arena *arena = r->plan->arena;
    const char *name = r->job->name;
    gt_arg_list list = {0};
    gt_arg_list_add(arena, &list, gt_arena_format(arena, "job/%s", name));
    gt_arg_list_add(arena, &list, gt_arena_format(arena, "pod/%s-results", name));
    gt_arg_list_add(arena, &list, gt_arena_format(arena, "configmap/%s-config", name));
    if (r->job->secret.len) gt_arg_list_add(arena, &list, gt_arena_format(arena, "secret/%s-secrets", name));
    if (r->job->has_service) gt_arg_list_add(arena, &list, gt_arena_format(arena, "service/%s", name));
    if (r->job->claim_is_ours && with_claim)
        gt_arg_list_add(arena, &list, gt_arena_format(arena, "persistentvolumeclaim/%s", r->job->claim));
    return list;
}

/* Needs permission to delete only, not to list. */
static void remove_objects(kube_run *r, bool with_claim)
{
    gt_arena *arena = r->plan->arena;
    gt_arg_list words = {0}, objects = object_list(r, with_claim);
    static const char *const first[] = {"delete", "--ignore-not-found", "--wait=false"};
    for (size_t i = 0; i < GT_LENGTH(first); i++) gt_arg_list_add(arena, &words, first[i]);
    for (size_t i = 0; i < objects.count; i++) gt_arg_list_add(arena, &words, objects.items[i]);
    gt_arg_list_add(arena, &words, "");
    words.items[--words.count] = NULL;
    call(r, "not all objects of the run were removed", words.items);
}

/* How to remove what is kept. */
static void say_kept(kube_run *r, bool with_claim_only)
{
    gt_buffer line = {0};
    gt_arg_list objects = object_list(r, true);
    gt_shell_join(&line, r->job->kubectl.items, r->job->kubectl.count - 1); /* without the time limit */
    gt_buffer_add_cstr(&line, " delete ");
    if (with_claim_only)
        gt_shell_join(&line, objects.items + objects.count - 1, 1);
    else
        gt_shell_join(&line, objects.items, objects.count);
    gt_info("kept; to remove: %s", gt_buffer_str(&line).bytes);
    gt_buffer_free(&line);
}

/* ---- results ---- */

static bool fetch(kube_run *r, const char *collector)
{
    gt_arena *arena = r->plan->arena;
    const char *script = gt_arena_format(arena, "mkdir -p '/results/%s' && tar -czf - -C '/results/%s' .",
                                         r->job->name, r->job->name);
    const char *words[] = {
        "exec", "--request-timeout=0", collector, "-c", "results", "--", "/bin/sh", "-c", script, NULL};
    const char *tar[] = {"-xzof", "-", "-C", r->job->results_dir, NULL};
    bool ok = false;
    for (int i = 0; i < FETCH_TRIES && !ok && (i == 0 || !r->session.interrupts); i++) {
        gt_kube_call c = {.words = words, .timeout_s = fetch_s, .stoppable = true, .tar = tar};
        ok = gt_kube_run(&r->session, &c);
        if (!ok) gt_warn("fetching the results: %s", gt_kube_reason(&r->session, &c));
        gt_kube_call_free(&c);
    }
    return ok;
}

/* On a claim of the user, the folder of this run is removed once it was fetched. */
static void clear_claim(kube_run *r, const char *collector)
{
    const char *folder = gt_arena_format(r->plan->arena, "/results/%s", r->job->name);
    const char *words[] = {"exec", collector, "-c", "results", "--", "rm", "-rf", folder, NULL};
    call(r, "the results on the claim were not removed", words);
}

static const char *machine_of_results(const gt_kube_outcome *outcome)
{
    for (const gt_kube_pod *pod = outcome->pods; pod; pod = pod->next)
        if (pod->machine && pod->has_started && pod->index == 0) return pod->machine;
    return NULL;
}

static bool collect(kube_run *r, bool clear)
{
    gt_error error;
    gt_buffer pod = {0};
    const char *collector = gt_arena_format(r->plan->arena, "%s-results", r->job->name);
    gt_kube_make_collector(r->plan, r->job, machine_of_results(&r->outcome), &pod);
    bool ok = create(r, "results.yaml", &pod, false);
    gt_buffer_free(&pod);
    if (ok && !gt_kube_await_collector(&r->session, r->job, &error)) {
        say(error.text);
        ok = false;
    }
    ok = ok && fetch(r, collector);
    if (ok && clear && !r->job->claim_is_ours) clear_claim(r, collector);
    return ok;
}

static bool any_started(const gt_kube_outcome *outcome)
{
    for (const gt_kube_pod *pod = outcome->pods; pod; pod = pod->next)
        if (pod->has_started) return true;
    return false;
}

/* Combines the nodes' records. A node without one has the reason that Kubernetes gave for its pod. */
static bool summarise(kube_run *r)
{
    gt_error error;
    gt_kube_outcome *outcome = &r->outcome;
    gt_nodes nodes = gt_nodes_read(r->plan->arena, r->job->results_dir, (size_t)r->job->nodes);
    for (const gt_kube_pod *pod = outcome->pods; pod; pod = pod->next)
        if (pod->index >= 0 && (size_t)pod->index < nodes.count && !nodes.items[pod->index].reason &&
            strcmp(nodes.items[pod->index].status, "SUCCESS") != 0)
            nodes.items[pod->index].reason = pod->failure;
    bool all = gt_nodes_all_succeeded(&nodes);
    for (size_t i = 0; !all && i < nodes.count; i++)
        if (strcmp(nodes.items[i].status, "SUCCESS") != 0)
            gt_warn("node_%zu: %s%s%s", i, nodes.items[i].status, nodes.items[i].reason ? ": " : "",
                    nodes.items[i].reason ? nodes.items[i].reason : "");
    if (!all && !outcome->reason) outcome->reason = "not every node succeeded";
    const char *status = outcome->timed_out ? "TIMEOUT" : outcome->succeeded && all ? "SUCCESS" : "FAILURE";
    if (gt_nodes_write(r->plan->arena, &nodes, r->job->results_dir, r->job->name, r->plan->name, status,
                       outcome->reason, &error))
        gt_info("%s", r->job->results_dir);
    else
        gt_warn("%s", error.text);
    return all;
}

/* ---- all of it ---- */

/* Whether the results are here, or there are none. */
static bool follow_and_collect(kube_run *r, bool clear)
{
    gt_kube_outcome *outcome = &r->outcome;
    gt_info("job %s submitted", r->job->name);
    gt_kube_follow(&r->session, r->job, outcome);
    bool is_urgent = r->session.interrupts > 1; /* the second Ctrl-C */
    bool fetched = outcome->is_lost || is_urgent || !any_started(outcome)
                       ? !any_started(outcome) && !outcome->is_lost
                       : collect(r, clear);
    if (!fetched && outcome->succeeded) outcome->reason = "its results could not be fetched";
    bool all = summarise(r);
    outcome->succeeded = outcome->succeeded && fetched && all;
    if (!outcome->succeeded)
        say(gt_arena_format(r->plan->arena, "job %s failed: %s", r->job->name, outcome->reason));
    return fetched;
}

static void open_log(kube_run *r)
{
    const char *path = gt_path_join(r->plan->arena, r->job->results_dir,
                                    gt_arena_format(r->plan->arena, "%s.log", r->plan->name));
    r->session.log = gt_own_fopen(path, "w");
    if (!r->session.log) gt_warn("cannot write %s: %s", path, strerror(errno));
}

bool gt_kubernetes_run(const gt_plan *plan, gt_kubernetes *job, bool keep)
{
    kube_run r = {.plan = plan, .job = job, .session = {.arena = plan->arena, .kubectl = &job->kubectl}};
    gt_error error;
    if (!gt_path_search(plan->arena, "kubectl", getenv("PATH"))) {
        if (gt_kubernetes_write(job, &error))
            gt_fail(&error, "kubectl not found in PATH; wrote %s, submit it where kubectl is installed",
                    job->path);
        say(error.text);
        return false;
    }
    if (!gt_kube_open(&r.session, &error)) {
        say(error.text);
        return false;
    }
    bool fetched = true, submitted = submit(&r);
    if (submitted) {
        open_log(&r);
        fetched = follow_and_collect(&r, !keep);
    }
    bool keeps = keep || (!r.outcome.succeeded && submitted &&
                          !gt_settings_is_true(plan->context, "cleanup_on_failure", true));
    bool is_urgent = r.session.interrupts > 1;
    if (!keeps && !r.outcome.is_lost) remove_objects(&r, fetched || is_urgent);
    if (keeps || r.outcome.is_lost)
        say_kept(&r, false);
    else if (!fetched && !is_urgent && job->claim_is_ours)
        say_kept(&r, true);
    gt_kube_close(&r.session);
    if (r.session.log) fclose(r.session.log);
    return r.outcome.succeeded;
}
