/* Slots are forked processes. Orders (numbers of runs) and replies (outcomes) go through pipes; a slot ends
 * when its pipe of orders is closed, and gets SIGTERM from the kernel if this program is killed. */
#include "sweep/run/slots.h"
#include "os/own.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct slot {
    pid_t pid;
    int orders, replies;
    size_t run; /* SIZE_MAX: idle */
    time_t started;
    bool is_dead;
} slot;

struct gt_slots {
    slot *items;
    size_t count;
};

static bool read_all(int descriptor, void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(descriptor, (char *)bytes + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static bool write_all(int descriptor, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = write(descriptor, (const char *)bytes + done, size - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        done += (size_t)put;
    }
    return true;
}

/* The process of a slot. Its group is another one than that of the terminal, so that a signal arrives once:
 * from here. */
__attribute__((noreturn)) static void be_slot(int orders, int replies, const char *gpus, gt_slot_run *run,
                                              void *context)
{
    size_t number;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int nothing = gt_open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    gt_slot_use_gpus(gpus);
    while (read_all(orders, &number, sizeof number)) {
        gt_run_outcome outcome = {0};
        run(context, number, &outcome);
        if (!write_all(replies, &outcome, sizeof outcome)) break;
    }
    _exit(0);
}

static void close_pipes(gt_slots *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        close(slots->items[i].orders);
        close(slots->items[i].replies);
    }
}

static bool start_slot(gt_slots *slots, size_t index, const char *gpus, gt_slot_run *run, void *context,
                       gt_error *error)
{
    int orders[2], replies[2];
    if (pipe2(orders, O_CLOEXEC) != 0) return gt_fail(error, "cannot start a slot: %s", strerror(errno));
    if (pipe2(replies, O_CLOEXEC) != 0) {
        close(orders[0]);
        close(orders[1]);
        return gt_fail(error, "cannot start a slot: %s", strerror(errno));
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close_pipes(slots, index); /* or the slots before would not see the end of their orders */
        close(orders[1]);
        close(replies[0]);
        be_slot(orders[0], replies[1], gpus, run, context);
    }
    close(orders[0]);
    close(replies[1]);
    slots->items[index] = (slot){.pid = pid, .orders = orders[1], .replies = replies[0], .run = SIZE_MAX};
    slots->count = index + 1;
    if (pid < 0) slots->items[index].is_dead = true;
    return pid > 0 || gt_fail(error, "cannot start a slot: %s", strerror(errno));
}

gt_slots *gt_slots_start(size_t count, const char *const *gpus, gt_slot_run *run, void *context,
                         gt_error *error)
{
    gt_slots *slots = gt_alloc_zero(1, sizeof *slots);
    slots->items = gt_alloc_zero(count, sizeof *slots->items);
    for (size_t i = 0; i < count; i++)
        if (!start_slot(slots, i, gpus[i], run, context, error)) {
            gt_slots_end(slots);
            return NULL;
        }
    return slots;
}

bool gt_slots_have_idle(const gt_slots *slots)
{
    for (size_t i = 0; i < slots->count; i++)
        if (slots->items[i].run == SIZE_MAX && !slots->items[i].is_dead) return true;
    return false;
}

bool gt_slots_give(gt_slots *slots, size_t run)
{
    for (size_t i = 0; i < slots->count; i++) {
        slot *s = &slots->items[i];
        if (s->run != SIZE_MAX || s->is_dead) continue;
        s->is_dead = !write_all(s->orders, &run, sizeof run);
        if (s->is_dead) continue;
        s->run = run;
        s->started = time(NULL);
        return true;
    }
    return false;
}

bool gt_slots_are_busy(const gt_slots *slots)
{
    for (size_t i = 0; i < slots->count; i++)
        if (slots->items[i].run != SIZE_MAX) return true;
    return false;
}

static void take_reply(slot *s, size_t *run, gt_run_outcome *outcome)
{
    *run = s->run;
    s->run = SIZE_MAX;
    if (read_all(s->replies, outcome, sizeof *outcome)) return;
    s->is_dead = true; /* somebody has killed it */
    *outcome = (gt_run_outcome){.status = GT_RUN_FAILED, .exit_code = 128 + SIGKILL};
    outcome->started = s->started;
    outcome->ended = time(NULL);
    outcome->seconds = (double)(outcome->ended - outcome->started);
    outcome->duration_s = outcome->ended - outcome->started;
}

bool gt_slots_wait(gt_slots *slots, size_t *run, gt_run_outcome *outcome)
{
    struct pollfd *places = gt_alloc(slots->count * sizeof *places);
    for (size_t i = 0; i < slots->count; i++)
        places[i] = (struct pollfd){.fd = slots->items[i].run == SIZE_MAX ? -1 : slots->items[i].replies,
                                    .events = POLLIN};
    int ready = gt_slots_are_busy(slots) ? poll(places, slots->count, 500) : 0;
    slot *ended = NULL;
    for (size_t i = 0; i < slots->count && ready > 0 && !ended; i++)
        if (places[i].revents) ended = &slots->items[i];
    gt_free(places);
    if (ended) take_reply(ended, run, outcome);
    return ended != NULL;
}

void gt_slots_signal(gt_slots *slots, int number)
{
    for (size_t i = 0; i < slots->count; i++)
        if (!slots->items[i].is_dead && slots->items[i].run != SIZE_MAX) kill(slots->items[i].pid, number);
}

void gt_slots_end(gt_slots *slots)
{
    close_pipes(slots, slots->count);
    for (size_t i = 0; i < slots->count; i++)
        while (slots->items[i].pid > 0 && waitpid(slots->items[i].pid, NULL, 0) < 0 && errno == EINTR) {
        }
    gt_free(slots->items);
    gt_free(slots);
}
