/* The files that are shared out, in all processes; see procs.h.
 *
 * A lane is a thread of a process that works on one file at a time. The lanes of a process have one request
 * under way at a time, for as many files as there are idle lanes. When all files are given out, all lanes but
 * the last are closed, so that their threads help with the files that this process still works on. The last
 * one waits for files that take another process too long. */
#include "procs/folder.h"
#include "procs/state.h"
#include "base/progress.h"
#include "index/build.h"
#include "index/checksum.h"
#include "os/clock.h"

#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

enum { GIVEN_MAX = 1024, NAME_AFTER_S = 10, ARRIVE_S = 10, ARRIVE_LOOK_MS = 5 };

/* ---- the queue of this process ---- */

static void push(gt_procs *c, const uint32_t *files, size_t count)
{
    if (c->queue_first == c->queue_count) c->queue_first = c->queue_count = 0;
    for (size_t i = 0; i < count; i++) GT_PUSH(c->queue, c->queue_count, c->queue_capacity, files[i]);
}

const char *gt_procs_note(void)
{
    return gt_this_group.note ? gt_this_group.note : "";
}

bool gt_procs_has_kept(size_t index)
{
    return gt_this_group.is_kept && gt_this_group.is_kept[index];
}

/* ---- process 0 ---- */

/* Files for as many idle lanes. */
static size_t give(gt_procs *c, size_t process, size_t lanes, uint32_t files[GIVEN_MAX])
{
    double now_s = gt_clock_now_s();
    size_t count = 0, got;
    while (lanes-- > 0 && count + GT_SHARE_BATCH_MAX <= GIVEN_MAX &&
           (got = gt_share_give(c->share, process, now_s, files + count)) > 0)
        count += got;
    return count;
}

static void check_over(gt_procs *c)
{
    if (c->is_over || !gt_share_is_over(c->share)) return;
    c->is_over = true;
    for (size_t rank = 1; rank < c->size; rank++)
        if (c->peers[rank].has_arrived) gt_procs_send(rank, GT_PROCS_OVER, NULL, 0);
    pthread_cond_broadcast(&c->changed);
}

/* Answers the request of a process, unless it has to wait for a slow file. */
static void answer(gt_procs *c, size_t rank, bool may_wait)
{
    gt_procs_peer *peer = &c->peers[rank];
    uint32_t files[GIVEN_MAX];
    size_t count = give(c, rank, peer->waiting_lanes, files);
    peer->is_waiting = count == 0 && may_wait;
    if (!peer->is_waiting) gt_procs_send(rank, GT_PROCS_GIVE, files, count * sizeof *files);
}

static _Noreturn void refuse_command(const gt_procs *c, size_t rank, const char *host)
{
    gt_procs_abort(
        "process %zu on %s has another command line or current folder: all processes of %s must run the same "
        "command; GPUTALLY_MPI=off has each of them work alone",
        rank, host, c->launcher.name);
}

/* All processes must do the same with the same files. */
static void check_arrival(const gt_procs *c, size_t rank, const gt_procs_arrival *own)
{
    const gt_procs_arrival *other = &c->peers[rank].arrival;
    if (other->build != own->build)
        gt_procs_abort("process %zu on %s runs another version of gputally", rank, other->host);
    if (other->command != own->command) refuse_command(c, rank, other->host);
    /* Who comes late may see what process 0 has written, and nothing is left to do. */
    if (!c->is_over && other->what != own->what)
        gt_procs_abort(
            "process %zu on %s does not see the same traces: they must be on a file system that all "
            "machines share",
            rank, other->host);
}

static uint64_t command_sum(const gt_procs *c)
{
    gt_buffer text = {0};
    char folder[4096];
    if (getcwd(folder, sizeof folder)) gt_buffer_add(&text, folder, strlen(folder) + 1);
    for (int i = 0; i < c->setup.argc; i++)
        gt_buffer_add(&text, c->setup.argv[i], strlen(c->setup.argv[i]) + 1);
    uint64_t sum = gt_checksum(gt_buffer_str(&text).bytes, text.len);
    gt_buffer_free(&text);
    return sum;
}

static gt_procs_arrival describe(const gt_procs *c, const gt_procs_task *task)
{
    gt_procs_arrival arrival = {.build = gt_build_number(),
                                .command = command_sum(c),
                                .what = task->what,
                                .lanes = (uint32_t)task->lanes};
    gethostname(arrival.host, sizeof arrival.host - 1);
    return arrival;
}

/* Lanes of all processes. Those of a process that has not arrived are counted as many as those of process 0,
 * which begins before the others are there. */
static size_t count_threads(const gt_procs *c)
{
    size_t threads = 0;
    for (size_t rank = 0; rank < c->size; rank++)
        threads += c->peers[c->peers[rank].has_arrived ? rank : 0].arrival.lanes;
    return threads;
}

static void welcome(gt_procs *c, size_t rank)
{
    check_arrival(c, rank, &c->peers[0].arrival);
    gt_share_set_threads(c->share, count_threads(c));
    uint8_t message[GT_WIRE_BYTES_MAX];
    size_t len = strlen(c->folder) + 1, note_len = strlen(c->note) + 1;
    if (sizeof c->mark + len + note_len > sizeof message - sizeof(uint32_t))
        gt_procs_abort("%.100s...: too long a path", c->folder);
    memcpy(message, &c->mark, sizeof c->mark);
    memcpy(message + sizeof c->mark, c->folder, len);
    memcpy(message + sizeof c->mark + len, c->note, note_len);
    len += note_len;
    gt_procs_send(rank, GT_PROCS_WELCOME, message, sizeof c->mark + len);
    if (c->is_over) gt_procs_send(rank, GT_PROCS_OVER, NULL, 0);
}

static void hear_arrival(gt_procs *c, size_t rank, const uint8_t *bytes, size_t len)
{
    gt_procs_peer *peer = &c->peers[rank];
    if (len != sizeof peer->arrival) return;
    memcpy(&peer->arrival, bytes, len);
    peer->arrival.host[GT_PROCS_HOST_MAX - 1] = 0;
    peer->has_arrived = true;
    if (c->share) welcome(c, rank);
}

static void hear_done(gt_procs *c, size_t rank, const uint8_t *bytes, size_t len)
{
    uint32_t numbers[2];
    if (!c->share || len != sizeof numbers) return;
    memcpy(numbers, bytes, len);
    if (!gt_share_done(c->share, rank, numbers[0], numbers[1] & GT_PROCS_DONE_GOES_ON, gt_clock_now_s()))
        return;
    c->is_kept[numbers[0]] = numbers[1] & GT_PROCS_DONE_KEPT;
    if (c->task && rank > 0) gt_progress_add(c->task->bytes[numbers[0]], 0);
    check_over(c);
}

/* Nobody waits for a process that has come to another place. */
static void check_left(const gt_procs *c)
{
    for (size_t rank = 1; rank < c->size; rank++) {
        const gt_procs_peer *peer = &c->peers[rank];
        if (!peer->has_left) continue;
        if (peer->leaving.command != command_sum(c)) refuse_command(c, rank, peer->leaving.host);
        const char *said = peer->said;
        if (strncmp(said, "gputally: ", 10) == 0) said += 10;
        if (*said) gt_procs_abort("process %zu: %s", rank, said);
        gt_procs_abort(
            "process %zu has found other work than process 0: do all machines see the same traces?", rank);
    }
}

/* Says once per file that it keeps all from going on. */
static void name_slow(gt_procs *c, double now_s)
{
    gt_share_slow slow;
    if (!gt_share_is_empty(c->share) || !gt_share_slowest(c->share, now_s, &slow)) return;
    if (slow.seconds < NAME_AFTER_S || (c->has_named && c->named == slow.file)) return;
    c->has_named = true;
    c->named = slow.file;
    gt_info("waiting for %s: process %zu on %s has had it for %.0f s", c->task->paths[slow.file],
            slow.process, gt_procs_host(slow.process), slow.seconds);
}

void gt_procs_tend_task(double now_s)
{
    gt_procs *c = &gt_this_group;
    if (!c->share || !c->task) return;
    check_left(c);
    pthread_cond_broadcast(&c->changed); /* for those who wait for a time */
    if (c->is_over) return;
    name_slow(c, now_s);
    for (size_t rank = 1; rank < c->size; rank++)
        if (c->peers[rank].is_waiting) answer(c, rank, true);
}

/* ---- the other processes ---- */

static void hear_files(gt_procs *c, const uint8_t *bytes, size_t len)
{
    uint32_t files[GIVEN_MAX];
    size_t count = len / sizeof *files;
    if (count > GIVEN_MAX) return;
    memcpy(files, bytes, count * sizeof *files);
    push(c, files, count);
    c->is_asking = false;
    c->is_empty |= count == 0;
}

void gt_procs_hear_task(size_t from, gt_procs_word word, const uint8_t *bytes, size_t len)
{
    gt_procs *c = &gt_this_group;
    uint32_t numbers[2];
    if (c->rank == 0 && word == GT_PROCS_ARRIVED) hear_arrival(c, from, bytes, len);
    if (c->rank == 0 && word == GT_PROCS_DONE) hear_done(c, from, bytes, len);
    if (c->rank == 0 && word == GT_PROCS_ASK && len == sizeof numbers && c->share) {
        memcpy(numbers, bytes, len);
        c->peers[from].waiting_lanes = numbers[0];
        answer(c, from, numbers[1] != 0);
    }
    if (c->rank > 0 && word == GT_PROCS_WELCOME && len > sizeof c->mark && !bytes[len - 1] && !c->folder) {
        const char *folder = (const char *)bytes + sizeof c->mark;
        size_t folder_len = strlen(folder) + 1;
        memcpy(&c->mark, bytes, sizeof c->mark);
        c->note = gt_strdup(sizeof c->mark + folder_len < len ? folder + folder_len : "");
        c->folder = gt_strdup(folder);
    }
    if (c->rank > 0 && word == GT_PROCS_GIVE) hear_files(c, bytes, len);
    if (c->rank > 0 && word == GT_PROCS_OVER) c->is_over = true;
    pthread_cond_broadcast(&c->changed);
}

/* ---- all processes ---- */

bool gt_procs_shares(void)
{
    return gt_this_group.is_started && !gt_this_group.has_task;
}

static void begin_first(gt_procs *c, const gt_procs_task *task)
{
    c->peers[0].arrival = describe(c, task);
    c->peers[0].has_arrived = true;
    c->task = task;
    c->folder = gt_strdup(task->folder);
    c->note = gt_strdup(task->note ? task->note : "");
    gt_error error;
    if (getrandom(&c->mark, sizeof c->mark, 0) != sizeof c->mark) c->mark = (uint64_t)getpid();
    if (!gt_work_folder_mark(c->folder, c->mark, &error)) gt_procs_abort("%s", error.text);
    c->file_count = task->count;
    c->is_kept = gt_alloc_zero(task->count, sizeof *c->is_kept);
    c->share = gt_share_new(task->bytes, task->is_done, task->count, count_threads(c));
    for (size_t rank = 1; rank < c->size; rank++)
        if (c->peers[rank].has_arrived) welcome(c, rank);
    check_over(c);
}

const char *gt_procs_begin_task(const gt_procs_task *task)
{
    gt_procs *c = &gt_this_group;
    pthread_mutex_lock(&c->lock);
    c->has_task = true;
    c->open_lanes = task->lanes;
    while (!c->is_ready) pthread_cond_wait(&c->changed, &c->lock);
    if (c->rank == 0) {
        begin_first(c, task);
    } else {
        gt_procs_arrival arrival = describe(c, task);
        gt_procs_send(0, GT_PROCS_ARRIVED, &arrival, sizeof arrival);
        while (!c->folder) pthread_cond_wait(&c->changed, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    if (c->rank > 0 && !gt_work_folder_is_marked(c->folder, c->mark))
        gt_procs_fail(
            "does not see the work folder %s of process 0; name one that all machines share with --partials",
            c->folder);
    return c->folder;
}

/* Gets files for the idle lanes of this process; the lock is held. False if the lane should be closed. */
static bool refill(gt_procs *c)
{
    bool is_last = c->open_lanes == 1;
    if (c->rank == 0) {
        uint32_t files[GIVEN_MAX];
        size_t count = give(c, 0, c->waiting_lanes, files);
        push(c, files, count);
        if (count) return true;
        c->is_empty = true;
        if (!is_last) return false;
    } else {
        if (c->is_empty && !is_last) return false;
        if (!c->is_asking) {
            const uint32_t request[2] = {(uint32_t)c->waiting_lanes, c->is_empty};
            c->is_asking = true;
            gt_procs_send(0, GT_PROCS_ASK, request, sizeof request);
        }
    }
    pthread_cond_wait(&c->changed, &c->lock);
    return true;
}

bool gt_procs_next(size_t *index)
{
    gt_procs *c = &gt_this_group;
    pthread_mutex_lock(&c->lock);
    c->waiting_lanes++;
    bool is_open = true;
    while (is_open && c->queue_first == c->queue_count && !c->is_over) is_open = refill(c);
    c->waiting_lanes--;
    bool found = !c->is_over && c->queue_first < c->queue_count;
    if (found)
        *index = c->queue[c->queue_first++];
    else
        c->open_lanes--;
    pthread_mutex_unlock(&c->lock);
    return found;
}

void gt_procs_report(size_t index, bool goes_on, bool is_kept)
{
    gt_procs *c = &gt_this_group;
    const uint32_t numbers[2] = {(uint32_t)index, (goes_on ? GT_PROCS_DONE_GOES_ON : 0u) |
                                                      (is_kept ? GT_PROCS_DONE_KEPT : 0u)};
    if (c->rank > 0) {
        gt_procs_send(0, GT_PROCS_DONE, numbers, sizeof numbers);
        return;
    }
    pthread_mutex_lock(&c->lock);
    hear_done(c, 0, (const uint8_t *)numbers, sizeof numbers);
    pthread_mutex_unlock(&c->lock);
}

static size_t count_missing(const gt_procs *c)
{
    size_t count = 0;
    for (size_t rank = 1; rank < c->size; rank++) count += !c->peers[rank].has_arrived;
    return count;
}

/* Whether a process has neither come to the task nor left. */
static bool is_one_silent(const gt_procs *c)
{
    for (size_t rank = 1; rank < c->size; rank++)
        if (!c->peers[rank].has_arrived && !c->peers[rank].has_left) return true;
    return false;
}

void gt_procs_finish_task(void)
{
    gt_procs *c = &gt_this_group;
    if (c->rank > 0) gt_procs_wait_for_end();
    pthread_mutex_lock(&c->lock);
    while (!c->is_over) pthread_cond_wait(&c->changed, &c->lock);
    /* Little work may be done before the others are there. They are still checked, unless one is very late.
     */
    for (double end_s = gt_clock_now_s() + ARRIVE_S; count_missing(c) && gt_clock_now_s() < end_s;)
        pthread_cond_wait(&c->changed, &c->lock);
    c->task = NULL;
    pthread_mutex_unlock(&c->lock);
}

gt_procs_leaving gt_procs_describe_leaving(void)
{
    gt_procs_leaving leaving = {.command = command_sum(&gt_this_group)};
    gethostname(leaving.host, sizeof leaving.host - 1);
    return leaving;
}

void gt_procs_check_others(void)
{
    gt_procs *c = &gt_this_group;
    uint64_t command = command_sum(c);
    pthread_mutex_lock(&c->lock);
    for (double end_s = gt_clock_now_s() + ARRIVE_S; is_one_silent(c) && gt_clock_now_s() < end_s;) {
        pthread_mutex_unlock(&c->lock);
        poll(NULL, 0, ARRIVE_LOOK_MS);
        pthread_mutex_lock(&c->lock);
    }
    for (size_t rank = 1; rank < c->size; rank++) {
        const gt_procs_peer *peer = &c->peers[rank];
        if (peer->has_left && peer->leaving.command != command) refuse_command(c, rank, peer->leaving.host);
        if (peer->has_arrived && peer->arrival.command != command)
            refuse_command(c, rank, peer->arrival.host);
    }
    pthread_mutex_unlock(&c->lock);
}
