/* The MPI helper of this process (helper/helper.h) and the socket to it. */
#pragma once

#include "procs/launcher.h"
#include "procs/wire.h"

typedef struct gt_procs_link {
    int socket;
    int printed;  /* a file without a name: what MPI has printed */
    pid_t helper; /* 0: none, or its end was waited for */
} gt_procs_link;

/* Starts the helper, which begins to start MPI. */
bool gt_link_start(gt_procs_link *link, const gt_library_list *libraries, gt_error *error);

/* False if the helper has ended. Not for two threads at the same time. */
bool gt_link_send(const gt_procs_link *link, gt_wire_kind kind, size_t rank, const void *bytes, size_t len);

typedef enum gt_link_event { GT_LINK_FRAME, GT_LINK_NOTHING, GT_LINK_ENDED } gt_link_event;
/* The next frame, if one comes within this time. */
gt_link_event gt_link_receive(const gt_procs_link *link, int timeout_ms, gt_wire_frame *frame);

/* Waits for the end of the helper, and ends it after this time. Returns its status, as of waitpid. */
int gt_link_finish(gt_procs_link *link, int timeout_ms);

/* The last lines that MPI has printed, each after "MPI: ". */
void gt_link_add_printed(const gt_procs_link *link, gt_buffer *text);
