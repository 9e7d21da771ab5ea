/* Tasks of job arrays: how many an array may have, and what they do. One question to squeue is for all
 * tasks, however many there are. */
#include "run/targets/slurm_job.h"

enum { DEFAULT_MAX = 1001 };

size_t gt_slurm_array_max(gt_slurm_job *job)
{
    static const char key[] = "MaxArraySize";
    gt_buffer text = {0};
    const char *words[] = {"scontrol", "show", "config"};
    bool answered = gt_slurm_call_about(job, words, GT_LENGTH(words), &text);
    const char *at = answered ? strstr(gt_buffer_str(&text).bytes, key) : NULL; /* "MaxArraySize  = 1001" */
    size_t most = DEFAULT_MAX;
    if (at) {
        at += sizeof key - 1;
        at += strspn(at, " =");
        most = (size_t)strtoull(at, NULL, 10);
    }
    gt_buffer_free(&text);
    return most;
}

/* Moves *at after the next field, which it ends. */
static const char *next_field(char **at)
{
    char *field = *at;
    size_t len = strcspn(field, "|");
    *at = field + len + (field[len] == '|');
    field[len] = 0;
    return field;
}

/* "NAME|3|RUNNING|12|None"; false for a line that is none of a task. */
static bool read_task(char *line, gt_slurm_task *task)
{
    task->job_name = next_field(&line);
    const char *index = next_field(&line);
    task->state = next_field(&line);
    task->array = next_field(&line);
    task->reason = next_field(&line);
    if (!*index || strspn(index, "0123456789") != strlen(index)) return false;
    task->index = (size_t)strtoull(index, NULL, 10);
    return gt_slurm_is_state(task->state, &task->is_final);
}

bool gt_slurm_ask_tasks(gt_slurm_job *job, const char *job_names, gt_slurm_task **tasks, size_t *count)
{
    gt_buffer text = {0};
    const char *words[] = {"squeue",       "--noheader",
                           "--array",      gt_arena_format(job->arena, "--name=%s", job_names),
                           "--states=all", "--format=%j|%K|%T|%F|%r"};
    bool answered = gt_slurm_call_about(job, words, GT_LENGTH(words), &text);
    char *kept = gt_arena_bytes(job->arena, text.len ? text.bytes : "", text.len);
    size_t lines = 1;
    for (const char *c = kept; *c; c++) lines += *c == '\n';
    *tasks = gt_arena_alloc(job->arena, lines * sizeof **tasks);
    *count = 0;
    for (char *line = kept, *next; answered && line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        *count += read_task(line, &(*tasks)[*count]);
    }
    gt_buffer_free(&text);
    return answered;
}
