/* The state of the process group, for procs.c and task.c. */
#pragma once

#include "procs/procs.h"
#include "procs/link.h"
#include "procs/share.h"

#include <pthread.h>
#include <stdatomic.h>

/* Kinds of messages between processes: the first 32-bit number of each. */
typedef enum gt_procs_word {
    GT_PROCS_ARRIVED = 1, /* to 0: at the task; gt_procs_arrival */
    GT_PROCS_WELCOME,     /* from 0: the path of the work folder */
    GT_PROCS_ASK,         /* to 0: lanes without a file, whether the answer may wait */
    GT_PROCS_GIVE,        /* from 0: files; none: all are given out */
    GT_PROCS_DONE,        /* to 0: file, flags */
    GT_PROCS_OVER,        /* from 0: all files are done */
    GT_PROCS_LEFT,   /* to 0: ends or waits without having come to the task; gt_procs_leaving, what it printed
                      */
    GT_PROCS_FAILED, /* to 0: cannot go on; why */
    GT_PROCS_END,    /* from 0: leave; exit code */
} gt_procs_word;

enum { GT_PROCS_DONE_GOES_ON = 1, GT_PROCS_DONE_KEPT = 2, GT_PROCS_HOST_MAX = 256 };

typedef struct gt_procs_arrival {
    uint64_t build, command, what;
    uint32_t lanes;
    char host[GT_PROCS_HOST_MAX];
} gt_procs_arrival;

typedef struct gt_procs_leaving {
    uint64_t command;
    char host[GT_PROCS_HOST_MAX];
} gt_procs_leaving;

/* What process 0 knows of the others. */
typedef struct gt_procs_peer {
    bool has_arrived, is_waiting, has_left;
    uint32_t waiting_lanes;
    gt_procs_arrival arrival;
    gt_procs_leaving leaving;
    char *said; /* what it printed before it left; NULL: nothing */
} gt_procs_peer;

typedef struct gt_procs {
    bool is_member;     /* this process is one of several */
    bool size_is_known; /* from the launcher */
    gt_procs_launcher launcher;
    gt_procs_setup setup;
    gt_procs_link link;
    bool is_started, has_met;
    double begun_s, looked_s;
    int screen; /* standard error of the user; -1: unchanged */
    int hidden; /* a file without a name: what this process would have printed */
    atomic_bool is_ending;

    pthread_mutex_t sending;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t changed;
    bool is_ready; /* MPI has started */
    size_t rank, size;
    char library[256];
    gt_procs_peer *peers; /* by rank, in process 0 */

    /* the task */
    bool has_task, is_over;
    const gt_procs_task *task; /* in process 0 until it is over */
    gt_share *share;           /* in process 0 */
    bool *is_kept;             /* by file, in process 0: its result is in the folder */
    size_t file_count;
    char *folder;
    char *note;      /* of process 0; NULL: nothing */
    uint64_t mark;   /* of the folder */
    uint32_t *queue; /* files for the lanes of this process */
    size_t queue_first, queue_count, queue_capacity;
    size_t open_lanes, waiting_lanes;
    bool is_asking, is_empty;
    uint32_t named; /* the last slow file that was named */
    bool has_named;
} gt_procs;

extern gt_procs gt_this_group;

/* Sends a message of this kind with these bytes. */
void gt_procs_send(size_t rank, gt_procs_word word, const void *bytes, size_t len);
/* Ends all processes; process 0 prints the text. */
_Noreturn void gt_procs_abort(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Waits for the end of the process group, in processes other than the first. */
_Noreturn void gt_procs_wait_for_end(void);
const char *gt_procs_host(size_t rank); /* of another process, as far as process 0 knows */

/* What a process reports when it leaves. */
gt_procs_leaving gt_procs_describe_leaving(void);

/* task.c: a message about the task, and what is done regularly; the lock is held. */
void gt_procs_hear_task(size_t from, gt_procs_word word, const uint8_t *bytes, size_t len);
void gt_procs_tend_task(double now_s);
/* In process 0, if there is no task: ends all if one of the others runs another command. Waits for them, but
 * not for one that is very late. */
void gt_procs_check_others(void);
