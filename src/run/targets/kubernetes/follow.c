/* A job is followed by asking for the job and its pods every few seconds: one answer has the state of all of
 * them, and a question that fails is asked again. A pod's output is followed from when its container has
 * started (kubectl.c). */
#include "run/targets/kubernetes/follow.h"
#include "os/clock.h"

static const double default_poll_s = 5, call_timeout_s = 90;
static const double no_pods_s = 10;          /* until it is asked why a job has no pods */
static const double lost_after_s = 600;      /* without an answer */
static const double removal_s = 240;         /* for pods to end after the job was deleted */
static const double last_output_s = 15;      /* for output after the job is over */
static const double collector_ready_s = 900; /* its image may have to be pulled on another machine */

typedef struct following {
    gt_kube_session *session;
    const gt_kubernetes *job;
    gt_kube_outcome *outcome;
    gt_arg_list said;     /* kinds of reasons for waiting that were shown */
    double answered_at_s; /* the last answer */
    double unpulled_s;    /* since when an image cannot be pulled; 0: it can */
    bool seen, warned, is_ending;
    size_t pods, living; /* pods, and those that have not ended */
    double began_at_s;
    bool is_still_pulling;
} following;

static double poll_s(void)
{
    const char *text = getenv("GPUTALLY_K8S_POLL_SECONDS");
    double seconds = text ? strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : default_poll_s;
}

static const char *keep(following *f, const char *text)
{
    return text ? gt_arena_format(f->session->arena, "%.700s", text) : NULL;
}

/* ---- answers ---- */

/* The job and the pods of the run; MISSING if there is no answer. The values are in `arena`. */
static const gt_value *ask(following *f, gt_arena *arena, const char *kinds)
{
    const char *selector = gt_arena_format(arena, "--selector=gputally-run=%s", f->job->id);
    const char *words[] = {"get", kinds, selector, "-o", "json", NULL};
    gt_kube_call call = {.words = words, .timeout_s = call_timeout_s};
    const gt_value *answer = &gt_value_missing;
    if (gt_kube_run(f->session, &call)) answer = gt_value_parse(arena, gt_buffer_str(&call.out));
    if (gt_value_is_list(gt_value_get(answer, "items"))) {
        f->answered_at_s = gt_clock_now_s();
        f->warned = false;
    } else {
        answer = &gt_value_missing;
        if (!f->warned) gt_warn("kubectl get: %s; trying again", gt_kube_reason(f->session, &call));
        f->warned = true;
    }
    gt_kube_call_free(&call);
    return answer;
}

static const char *name_of(const gt_value *item)
{
    return gt_settings_string(gt_value_get(item, "metadata"), "name");
}

static const gt_value *condition(const gt_value *item, const char *type, const char *status)
{
    const gt_value *list = gt_value_get(gt_value_get(item, "status"), "conditions");
    for (uint32_t i = 0; gt_value_is_list(list) && i < list->count; i++)
        if (gt_value_equals_cstr(gt_value_get(&list->items[i], "type"), type) &&
            gt_value_equals_cstr(gt_value_get(&list->items[i], "status"), status))
            return &list->items[i];
    return &gt_value_missing;
}

/* The state of the pod's only container: {"running": {...}} and so on. */
static const gt_value *container_state(const gt_value *pod)
{
    const gt_value *list = gt_value_get(gt_value_get(pod, "status"), "containerStatuses");
    return gt_value_is_list(list) && list->count ? gt_value_get(&list->items[0], "state") : &gt_value_missing;
}

static bool is_phase(const gt_value *pod, const char *phase)
{
    return gt_value_equals_cstr(gt_value_get(gt_value_get(pod, "status"), "phase"), phase);
}

/* "REASON: message", or what there is of it; NULL if there is nothing. */
static const char *describe(gt_arena *arena, const gt_value *state)
{
    const char *reason = gt_settings_string(state, "reason"), *text = gt_settings_string(state, "message");
    if (reason && text && *text) return gt_arena_format(arena, "%.100s: %.500s", reason, text);
    return reason ? reason : text;
}

/* ---- pods that wait ---- */

static bool is_any(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; text && i < count; i++)
        if (strcmp(text, list[i]) == 0) return true;
    return false;
}

/* Whether asking for this image again is pointless. */
static bool never_pulls(const char *message)
{
    static const char *const words[] = {
        "not found",    "manifest unknown",     "does not exist",         "denied",
        "unauthorized", "authorization failed", "authentication required"};
    for (size_t i = 0; message && i < GT_LENGTH(words); i++)
        if (strcasestr(message, words[i])) return true;
    return false;
}

/* Why a container waits can be hopeless: *fatal. */
static const char *waiting_reason(gt_arena *arena, const gt_value *pod, bool *fatal, bool *unpulled)
{
    static const char *const starting[] = {"ContainerCreating", "PodInitializing"};
    static const char *const hopeless[] = {"InvalidImageName", "ErrImageNeverPull",
                                           "CreateContainerConfigError", "CreateContainerError",
                                           "RunContainerError"};
    static const char *const pulling[] = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"};
    const gt_value *waiting = gt_value_get(container_state(pod), "waiting");
    const char *reason = gt_settings_string(waiting, "reason");
    if (reason && !is_any(reason, starting, GT_LENGTH(starting))) {
        *unpulled = is_any(reason, pulling, GT_LENGTH(pulling));
        *fatal = is_any(reason, hopeless, GT_LENGTH(hopeless)) ||
                 (*unpulled && never_pulls(gt_settings_string(waiting, "message")));
        return describe(arena, waiting);
    }
    return describe(arena, condition(pod, "PodScheduled", "False"));
}

static void fail_with(following *f, const char *reason)
{
    if (!f->outcome->reason) f->outcome->reason = reason;
    f->outcome->succeeded = false;
}

/* Shows each kind of reason once; pods of a job wait for the same things. */
static void check_waiting(following *f, gt_arena *arena, const gt_value *pod)
{
    bool fatal = false, unpulled = false;
    const char *reason = waiting_reason(arena, pod, &fatal, &unpulled), *name = name_of(pod);
    if (!reason) return;
    const char *kind = unpulled ? "image" : gt_arena_bytes(arena, reason, strcspn(reason, ":"));
    double limit_s = (double)gt_settings_int(f->job->k8s, "pull_timeout", 120);
    if (!is_any(kind, f->said.items, f->said.count)) {
        gt_arg_list_add(f->session->arena, &f->said, kind);
        gt_info("pod %s is waiting: %s", name, reason);
    }
    if (unpulled) {
        f->is_still_pulling = true;
        if (f->unpulled_s <= 0) f->unpulled_s = gt_clock_now_s();
        fatal = fatal || gt_clock_now_s() >= f->unpulled_s + limit_s;
    }
    if (fatal) fail_with(f, gt_arena_format(f->session->arena, "pod %s cannot start: %.600s", name, reason));
}

/* ---- pods ---- */

static gt_kube_pod *pod_of(following *f, const gt_value *item)
{
    const char *name = name_of(item);
    const gt_value *metadata = gt_value_get(item, "metadata");
    for (gt_kube_pod *pod = f->outcome->pods; pod; pod = pod->next)
        if (strcmp(pod->name, name) == 0) return pod;
    static const char key[] = "batch.kubernetes.io/job-completion-index";
    int64_t index = gt_settings_int(gt_value_get(metadata, "annotations"), key, 0);
    gt_kube_pod *pod = gt_arena_alloc(f->session->arena, sizeof *pod);
    *pod = (gt_kube_pod){.name = keep(f, name), .index = index, .next = f->outcome->pods};
    return f->outcome->pods = pod;
}

/* Why a pod failed: evicted, killed for memory, or the status of its command. */
static const char *failure_of(following *f, const gt_value *item)
{
    gt_arena *arena = f->session->arena;
    const gt_value *status = gt_value_get(item, "status");
    const gt_value *ended = gt_value_get(container_state(item), "terminated");
    const char *why = describe(arena, status), *reason = gt_settings_string(ended, "reason");
    int64_t code = gt_settings_int(ended, "exitCode", -1);
    if (why) return keep(f, why);
    if (code < 0) return "no exit status";
    if (reason && strcmp(reason, "Error") != 0)
        return gt_arena_format(arena, "exit status %" PRId64 " (%.100s)", code, reason);
    return gt_arena_format(arena, "exit status %" PRId64, code);
}

static void check_output(following *f, gt_kube_pod *pod)
{
    if (!pod->has_started) return;
    if (!pod->tail)
        pod->tail = gt_kube_tail_new(
            f->session, pod->name, "gputally",
            f->job->nodes > 1 ? gt_arena_format(f->session->arena, "node_%" PRId64, pod->index) : NULL);
    if (!pod->tail) {
        gt_warn_once("the output of some pods is not shown, because there are too many");
        return;
    }
    if (!gt_kube_tail_is_running(pod->tail) && !(pod->has_ended && gt_kube_tail_is_complete(pod->tail)))
        gt_kube_tail_start(f->session, pod->tail);
}

static void check_pod(following *f, gt_arena *arena, const gt_value *item)
{
    gt_kube_pod *pod = pod_of(f, item);
    const gt_value *state = container_state(item);
    const char *machine = gt_settings_string(gt_value_get(item, "spec"), "nodeName");
    bool has_failed = is_phase(item, "Failed"), was_over = pod->has_ended;
    if (machine && !pod->machine) pod->machine = keep(f, machine);
    pod->has_started =
        pod->has_started || gt_settings_has(state, "running") || gt_settings_has(state, "terminated");
    pod->has_ended = has_failed || is_phase(item, "Succeeded");
    f->pods++;
    f->living += !pod->has_ended;
    if (is_phase(item, "Pending") && !f->is_ending) check_waiting(f, arena, item);
    if (has_failed && !was_over) {
        pod->failure = failure_of(f, item);
        gt_warn("pod %s failed: %s", pod->name, pod->failure);
    }
    if (pod->has_ended && !was_over && pod->tail) gt_kube_tail_reopen(pod->tail);
    check_output(f, pod);
}

/* ---- the job ---- */

static const char *last_failure(const gt_kube_outcome *outcome)
{
    for (const gt_kube_pod *pod = outcome->pods; pod; pod = pod->next)
        if (pod->failure) return pod->failure;
    return NULL;
}

static void check_job(following *f, const gt_value *item)
{
    gt_kube_outcome *outcome = f->outcome;
    gt_arena *arena = f->session->arena;
    const gt_value *failed = condition(item, "Failed", "True");
    f->seen = true;
    if (condition(item, "Complete", "True")->type != GT_VALUE_MISSING) {
        outcome->is_over = outcome->succeeded = true;
    } else if (failed->type != GT_VALUE_MISSING) {
        const char *reason = gt_settings_string(failed, "reason"), *pod = last_failure(outcome);
        outcome->is_over = true;
        outcome->timed_out = reason && strcmp(reason, "DeadlineExceeded") == 0;
        if (outcome->timed_out)
            fail_with(f, gt_arena_format(arena, "timed out after %" PRId64 " s (active_deadline_seconds)",
                                         gt_settings_int(f->job->k8s, "active_deadline_seconds", 0)));
        else
            fail_with(f, gt_arena_format(arena, "%.100s%s%.500s", reason ? reason : "failed", pod ? ": " : "",
                                         pod ? pod : ""));
    }
}

/* A job without pods: the cluster refuses them, for example because of a quota or a security policy, and only
 * an event says so. Shown once. */
static void ask_why_no_pods(following *f)
{
    gt_arena arena = {0};
    const char *selector = gt_arena_format(&arena, "--field-selector=involvedObject.name=%s", f->job->name);
    const char *words[] = {"get", "events", selector, "-o", "json", NULL};
    gt_kube_call call = {.words = words, .timeout_s = call_timeout_s};
    const gt_value *items = &gt_value_missing;
    if (gt_kube_run(f->session, &call))
        items = gt_value_get(gt_value_parse(&arena, gt_buffer_str(&call.out)), "items");
    for (uint32_t i = 0; gt_value_is_list(items) && i < items->count; i++) {
        const char *text = describe(&arena, &items->items[i]);
        bool is_warning = gt_value_equals_cstr(gt_value_get(&items->items[i], "type"), "Warning");
        if (!is_warning || !text || is_any("no pods", f->said.items, f->said.count)) continue;
        gt_arg_list_add(f->session->arena, &f->said, "no pods");
        gt_warn("job %s has no pods: %s", f->job->name, text);
    }
    gt_kube_call_free(&call);
    gt_arena_free(&arena);
}

static void look(following *f)
{
    gt_arena arena = {0};
    const gt_value *items = gt_value_get(ask(f, &arena, "jobs.batch,pods"), "items");
    bool has_job = false;
    f->pods = f->living = 0;
    f->is_still_pulling = false;
    for (uint32_t i = 0; gt_value_is_list(items) && i < items->count; i++)
        if (gt_value_equals_cstr(gt_value_get(&items->items[i], "kind"), "Pod") && name_of(&items->items[i]))
            check_pod(f, &arena, &items->items[i]);
    if (!f->is_still_pulling) f->unpulled_s = 0;
    for (uint32_t i = 0; gt_value_is_list(items) && i < items->count; i++)
        if (gt_value_equals_cstr(gt_value_get(&items->items[i], "kind"), "Job")) {
            has_job = true;
            if (!f->is_ending) check_job(f, &items->items[i]);
        }
    bool answered = gt_value_is_list(items);
    if (answered && !has_job && f->seen && !f->is_ending) {
        f->outcome->is_over = true;
        fail_with(f, "the job was deleted");
    }
    if (has_job && !f->pods && !f->outcome->is_over && !f->is_ending &&
        gt_clock_now_s() > f->began_at_s + no_pods_s)
        ask_why_no_pods(f);
    if (answered && f->is_ending && !has_job && !f->living) f->outcome->is_over = true;
    gt_arena_free(&arena);
}

static void delete_job(following *f)
{
    const char *words[] = {"delete", "job", f->job->name, "--ignore-not-found", "--wait=false", NULL};
    gt_kube_call call = {.words = words, .timeout_s = call_timeout_s};
    if (!gt_kube_run(f->session, &call))
        gt_warn("cannot delete job %s: %s", f->job->name, gt_kube_reason(f->session, &call));
    gt_kube_call_free(&call);
}

/* The pods end by themselves within their grace period; a second signal does not wait for that. */
static void end_job(following *f)
{
    double until_s = gt_clock_now_s() + removal_s;
    unsigned seen = f->session->interrupts;
    f->is_ending = true;
    delete_job(f);
    while (!f->outcome->is_over && gt_clock_now_s() < until_s && f->session->interrupts == seen) {
        gt_kube_pause(f->session, poll_s());
        if (f->session->interrupts == seen) look(f);
    }
}

/* What the pods wrote last may arrive after the job is over. */
static void show_rest(following *f)
{
    double until_s = gt_clock_now_s() + last_output_s;
    unsigned seen = f->session->interrupts;
    bool open = true;
    while (open && gt_clock_now_s() < until_s && f->session->interrupts == seen) {
        open = false;
        for (gt_kube_pod *pod = f->outcome->pods; pod; pod = pod->next) {
            check_output(f, pod);
            open = open || (pod->tail && gt_kube_tail_is_running(pod->tail));
        }
        if (open) gt_kube_pause(f->session, 0.1);
    }
}

void gt_kube_follow(gt_kube_session *session, const gt_kubernetes *job, gt_kube_outcome *outcome)
{
    following f = {.session = session, .job = job, .outcome = outcome, .answered_at_s = gt_clock_now_s()};
    f.began_at_s = f.answered_at_s;
    while (!outcome->is_over && !outcome->reason && !outcome->is_lost && !session->interrupts) {
        look(&f);
        if (gt_clock_now_s() > f.answered_at_s + lost_after_s) {
            outcome->is_lost = true;
            fail_with(&f, "the cluster did not answer for 10 minutes");
        }
        if (!outcome->is_over && !outcome->reason && !outcome->is_lost) gt_kube_pause(session, poll_s());
    }
    if (session->interrupts && !outcome->is_over) {
        fail_with(&f, gt_arena_format(session->arena, "interrupted by signal %d (%s)", session->interrupted,
                                      strsignal(session->interrupted)));
        gt_info("interrupted: ending job %s; press Ctrl-C again to leave its results behind", job->name);
    }
    if (!outcome->is_over && !outcome->is_lost) end_job(&f);
    show_rest(&f);
}

bool gt_kube_await_collector(gt_kube_session *session, const gt_kubernetes *job, gt_error *error)
{
    gt_kube_outcome outcome = {0};
    following f = {.session = session, .job = job, .outcome = &outcome};
    const char *name = gt_arena_format(session->arena, "%s-results", job->name);
    double until_s = gt_clock_now_s() + collector_ready_s;
    unsigned seen = session->interrupts;
    bool ready = false, ended = false;
    while (!ready && !ended && !outcome.reason && gt_clock_now_s() < until_s && session->interrupts == seen) {
        gt_arena arena = {0};
        const gt_value *items = gt_value_get(ask(&f, &arena, "pods"), "items");
        for (uint32_t i = 0; gt_value_is_list(items) && i < items->count; i++) {
            const gt_value *pod = &items->items[i];
            if (!gt_value_equals_cstr(gt_value_get(gt_value_get(pod, "metadata"), "name"), name)) continue;
            ready = gt_settings_has(container_state(pod), "running");
            ended = is_phase(pod, "Failed") || is_phase(pod, "Succeeded");
            if (is_phase(pod, "Pending")) check_waiting(&f, &arena, pod);
        }
        gt_arena_free(&arena);
        if (!ready && !ended && !outcome.reason) gt_kube_pause(session, poll_s());
    }
    if (ready) return true;
    if (outcome.reason) return gt_fail(error, "%.900s", outcome.reason);
    return gt_fail(error, "pod %s %s", name,
                   session->interrupts != seen ? "is not awaited: interrupted"
                   : ended                     ? "ended at once"
                                               : "did not start");
}
