/* Asks SLURM about a job.
 *
 * Which program knows: `squeue` knows every job that waits or runs, and those that ended less than MinJobAge
 * seconds ago (300 by default); `scontrol show job` the same, with the exit code; `sacct` all jobs, but only
 * on clusters with accounting. When squeue does not answer, scontrol is asked; only the answer "no such job"
 * means that the job is over. Every option that a variable could set is given, and such variables are
 * removed. */
#include "run/targets/slurm_job.h"
#include "os/child.h"
#include "os/paths.h"
#include "os/shell_words.h"
#include "run/plan/context.h"

extern char **environ;

static const double call_timeout_s = 60;

/* ---- environment ---- */

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Settings that users and sites keep in variables, with the key of a context that overrides each. */
static const char *const kept[][2] = {
    {"SBATCH_ACCOUNT=", "account"}, {"SBATCH_PARTITION=", "partition"},
    {"SBATCH_QOS=", "qos"},         {"SBATCH_RESERVATION=", "reservation"},
    {"SBATCH_TIMELIMIT=", "time"},  {"SBATCH_CONSTRAINT=", "constraint"},
    {"SBATCH_CLUSTERS=", ""},       {"SBATCH_WCKEY=", ""},
    {"SBATCH_REQUEUE=", ""},        {"SBATCH_NO_REQUEUE=", ""},
};

static bool is_kept(const char *entry, const gt_value *settings)
{
    static const char *const always[] = {
        "SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_CLUSTERS=", "SLURM_JWT=", "SLURM_SACK_SOCKET="};
    static const char *const removed[] = {"SBATCH_",  "SQUEUE_", "SACCT_", "SCONTROL_",
                                          "SCANCEL_", "SLURM_",  "SINFO_", "SRUN_"};
    for (size_t i = 0; i < GT_LENGTH(always); i++)
        if (has_prefix(entry, always[i])) return true;
    for (size_t i = 0; i < GT_LENGTH(kept); i++)
        if (has_prefix(entry, kept[i][0])) return gt_value_is_empty(gt_value_get(settings, kept[i][1]));
    for (size_t i = 0; i < GT_LENGTH(removed); i++)
        if (has_prefix(entry, removed[i])) return false;
    return true;
}

const char *const *gt_slurm_environment(gt_arena *arena, const gt_value *slurm_settings)
{
    size_t count = 0, all = 0;
    while (environ[all]) all++;
    const char **list = gt_arena_alloc(arena, (all + 1) * sizeof *list);
    for (size_t i = 0; i < all; i++)
        if (is_kept(environ[i], slurm_settings)) list[count++] = environ[i];
    list[count] = NULL;
    return list;
}

/* ---- calls ---- */

typedef struct output {
    gt_buffer *text, *errors;
} output;

static bool keep_line(void *context, gt_child_stream stream, gt_str line)
{
    output *o = context;
    gt_buffer *to = stream == GT_CHILD_STDOUT ? o->text : o->errors;
    if (stream == GT_CHILD_STDERR && line.len) to->len = 0;                    /* the last line says most */
    if (line.len > 9 && memcmp(line.bytes, "CLUSTER: ", 9) == 0) return false; /* of --clusters */
    gt_buffer_add(to, line.bytes, line.len);
    if (stream == GT_CHILD_STDOUT) gt_buffer_add_cstr(to, "\n");
    return false;
}

bool gt_slurm_call(gt_slurm_job *job, const char *const *argv, gt_buffer *text)
{
    gt_buffer errors = {0};
    output lines = {text, &errors};
    gt_child_setup setup = {.argv = argv,
                            .environment = job->environment,
                            .silent = true,
                            .timeout_s = call_timeout_s,
                            .line = keep_line,
                            .line_context = &lines};
    gt_child_result result;
    gt_error error;
    text->len = 0;
    bool ran = gt_child_run(&setup, &result, &error);
    while (text->len && isspace((unsigned char)text->bytes[text->len - 1])) text->len--;
    gt_buffer_str(text);
    if (ran && result.interrupted) job->interrupted = result.interrupted;
    const char *problem = !ran               ? error.text
                          : result.timed_out ? "no answer within a minute"
                          : errors.len       ? gt_buffer_str(&errors).bytes
                                             : "no message";
    bool ok = ran && result.exit_code == 0 && !result.timed_out;
    bool is_named = has_prefix(problem, argv[0]); /* "sbatch: error: ..." */
    job->problem = ok ? ""
                      : gt_arena_format(job->arena, "%s%s%.300s", is_named ? "" : argv[0],
                                        is_named ? "" : ": ", problem);
    gt_buffer_free(&errors);
    return ok;
}

bool gt_slurm_call_about(gt_slurm_job *job, const char *const *words, size_t count, gt_buffer *text)
{
    const char *argv[12];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) argv[n++] = words[i];
    if (job->cluster) argv[n++] = gt_arena_format(job->arena, "--clusters=%s", job->cluster);
    argv[n] = NULL;
    return gt_slurm_call(job, argv, text);
}

const char *gt_slurm_missing_program(gt_arena *arena)
{
    static const char *const programs[] = {"sbatch", "squeue"};
    for (size_t i = 0; i < GT_LENGTH(programs); i++)
        if (!gt_path_search(arena, programs[i], getenv("PATH"))) return programs[i];
    return NULL;
}

bool gt_slurm_check_partition(gt_arena *arena, const gt_value *slurm_settings, gt_error *error)
{
    gt_slurm_job job = {.arena = arena, .environment = gt_slurm_environment(arena, slurm_settings)};
    const char *name = gt_settings_string(slurm_settings, "partition");
    if (!name || !*name || strchr(name, ',') || !gt_path_search(arena, "scontrol", getenv("PATH")))
        return true;
    gt_buffer text = {0};
    bool ok = gt_slurm_call(&job, (const char *[]){"scontrol", "show", "partition", name, NULL}, &text);
    /* other failures are not about the partition */
    ok = ok || !(strstr(gt_buffer_str(&text).bytes, "not found") || strstr(job.problem, "nvalid partition"));
    if (!ok) {
        bool listed =
            gt_slurm_call(&job, (const char *[]){"sinfo", "--noheader", "--format=%R", NULL}, &text);
        for (char *c = text.bytes; listed && *c; c++)
            if (*c == '\n') *c = ' ';
        gt_fail(error, "slurm.partition: this cluster has no partition '%.100s'%s%.600s", name,
                listed ? "; it has: " : "", listed ? text.bytes : "");
    }
    gt_buffer_free(&text);
    return ok;
}

bool gt_slurm_submit(gt_slurm_job *job, const char *const *arguments)
{
    gt_buffer text = {0};
    gt_arg_list argv = {0};
    gt_arg_list_add(job->arena, &argv, "sbatch");
    gt_arg_list_add(job->arena, &argv, "--parsable");
    for (; *arguments; arguments++) gt_arg_list_add(job->arena, &argv, *arguments);
    gt_arg_list_add(job->arena, &argv, "");
    argv.items[--argv.count] = NULL;
    bool done = gt_slurm_call(job, argv.items, &text) && text.len;
    if (done) {
        /* "12" or "12;cluster"; without --parsable, "Submitted batch job 12". */
        const char *line = strrchr(text.bytes, '\n'), *blank;
        line = line ? line + 1 : text.bytes;
        size_t len = strcspn(line, ";");
        if (line[len] == ';')
            job->cluster = gt_arena_bytes(job->arena, line + len + 1, strlen(line + len + 1));
        job->id = gt_arena_bytes(job->arena, line, len);
        if ((blank = strrchr(job->id, ' '))) job->id = blank + 1;
        done = *job->id && strspn(job->id, "0123456789") == strlen(job->id);
        if (!done) job->problem = "sbatch printed no job number";
    }
    gt_buffer_free(&text);
    return done;
}

/* ---- states ---- */

static const char *const active_states[] = {
    "PENDING",   "RUNNING",   "CONFIGURING",  "COMPLETING",  "SUSPENDED", "STOPPED", "RESIZING",
    "SIGNALING", "STAGE_OUT", "REQUEUE_HOLD", "REQUEUE_FED", "REQUEUED",  "REQUEUE", "SPECIAL_EXIT"};
static const char *const final_states[] = {"COMPLETED",     "CANCELLED", "FAILED",       "TIMEOUT",
                                           "NODE_FAIL",     "PREEMPTED", "BOOT_FAIL",    "DEADLINE",
                                           "OUT_OF_MEMORY", "REVOKED",   "LAUNCH_FAILED"};

bool gt_slurm_is_state(const char *answer, bool *is_final)
{
    char state[32];
    size_t len = strspn(answer, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    if (len >= sizeof state) return false;
    memcpy(state, answer, len);
    state[len] = 0;
    *is_final = gt_is_one_of(state, final_states, GT_LENGTH(final_states));
    return *is_final || gt_is_one_of(state, active_states, GT_LENGTH(active_states));
}

/* Takes the state of an answer. Returns false if it is not one that SLURM has. */
static bool take_state(gt_slurm_job *job, const char *source, const char *text, gt_slurm_answer *answer)
{
    bool final;
    if (!gt_slurm_is_state(text, &final)) return false;
    job->state = gt_arena_bytes(job->arena, text, strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"));
    job->source = source;
    *answer = final ? GT_SLURM_ENDED : GT_SLURM_WAITS;
    return true;
}

static void take_exit(gt_slurm_job *job, const char *text)
{
    char *end;
    long code = strtol(text, &end, 10);
    if (end == text || *end != ':') return;
    job->exit_code = (int)code;
    job->exit_signal = (int)strtol(end + 1, NULL, 10);
}

static bool says_gone(const char *problem)
{
    return strstr(problem, "Invalid job id") || strstr(problem, "Job not found");
}

/* ---- programs ---- */

static gt_slurm_answer ask_squeue(gt_slurm_job *job, gt_buffer *text)
{
    const char *words[] = {"squeue", "--noheader", gt_arena_format(job->arena, "--jobs=%s", job->id),
                           "--states=all", "--format=%T|%r"};
    gt_slurm_answer answer;
    if (!gt_slurm_call_about(job, words, GT_LENGTH(words), text))
        return says_gone(job->problem) ? GT_SLURM_GONE : GT_SLURM_SILENT;
    if (!text->len) return GT_SLURM_GONE;
    if (!take_state(job, "squeue", text->bytes, &answer)) {
        job->problem = gt_arena_format(job->arena, "squeue: unexpected answer '%.60s'", text->bytes);
        return GT_SLURM_SILENT;
    }
    const char *bar = strchr(text->bytes, '|');
    job->reason = gt_arena_bytes(job->arena, bar ? bar + 1 : "", bar ? strcspn(bar + 1, "\n") : 0);
    return answer;
}

/* The value of NAME= in the line of scontrol; "" if it is not there. No setting before JobState can contain
 * blanks: the name of the job is made without. */
static const char *field(const char *line, const char *name)
{
    const char *at = strstr(line, name);
    return at ? at + strlen(name) : "";
}

static gt_slurm_answer ask_scontrol(gt_slurm_job *job, gt_buffer *text)
{
    const char *words[] = {"scontrol", "--oneliner", "show", "job", job->id};
    gt_slurm_answer answer;
    if (!gt_slurm_call_about(job, words, GT_LENGTH(words), text))
        return says_gone(job->problem) ? GT_SLURM_GONE : GT_SLURM_SILENT;
    const char *line = gt_buffer_str(text).bytes, *reason = field(line, " Reason=");
    if (!take_state(job, "scontrol", field(line, " JobState="), &answer)) return GT_SLURM_GONE;
    job->reason = gt_arena_bytes(job->arena, reason, strcspn(reason, " "));
    if (answer == GT_SLURM_ENDED) take_exit(job, field(line, " ExitCode="));
    return answer;
}

static gt_slurm_answer ask_sacct(gt_slurm_job *job, gt_buffer *text)
{
    const char *words[] = {"sacct",         "--noheader",  gt_arena_format(job->arena, "--jobs=%s", job->id),
                           "--allocations", "--parsable2", "--format=State,ExitCode"};
    gt_slurm_answer answer = GT_SLURM_GONE;
    if (!gt_slurm_call_about(job, words, GT_LENGTH(words), text) || !text->len) return GT_SLURM_GONE;
    const char *line = strrchr(text->bytes, '\n'), *bar; /* after a restart there is one line per start */
    line = line ? line + 1 : text->bytes;
    line += strspn(line, " ");
    if (!take_state(job, "sacct", line, &answer)) return GT_SLURM_GONE;
    if ((bar = strchr(line, '|'))) take_exit(job, bar + 1);
    return answer;
}

gt_slurm_answer gt_slurm_ask(gt_slurm_job *job)
{
    gt_buffer text = {0};
    gt_slurm_answer answer = ask_squeue(job, &text);
    const char *problem = job->problem;
    if (answer != GT_SLURM_WAITS) {
        gt_slurm_answer second = ask_scontrol(job, &text);
        /* An answer of squeue is kept if scontrol has none. */
        if (second == GT_SLURM_WAITS || second == GT_SLURM_ENDED)
            answer = second;
        else if (answer == GT_SLURM_GONE)
            answer = ask_sacct(job, &text);
    }
    job->problem = answer == GT_SLURM_SILENT ? problem : "";
    gt_buffer_free(&text);
    return answer;
}

bool gt_slurm_stop(gt_slurm_job *job, bool script)
{
    gt_buffer text = {0};
    const char *words[] = {"scancel", "--signal=TERM", script ? "--batch" : job->id, job->id};
    bool ok = gt_slurm_call_about(job, words, script ? 4 : 3, &text);
    gt_buffer_free(&text);
    return ok;
}

bool gt_slurm_cancel(gt_slurm_job *job)
{
    gt_buffer text = {0};
    const char *words[] = {"scancel", job->id};
    bool ok = gt_slurm_call_about(job, words, GT_LENGTH(words), &text);
    gt_buffer_free(&text);
    return ok;
}
