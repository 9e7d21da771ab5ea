/* What a process of a process group and its MPI helper (helper/mpi.c) send each other over their socket, and
 * what the helpers send to each other over MPI: frames, each a head and `len` bytes. */
#pragma once

#include <stdint.h>

enum {
    GT_WIRE_BYTES_MAX = 6144, /* in a frame, after its head */
    GT_WIRE_SOCKET = 100,     /* the helper's descriptor: a launcher has given it low numbers */
};

typedef enum gt_wire_kind {
    /* to the helper */
    GT_WIRE_SEND = 1, /* pass the bytes on to process `rank` */
    GT_WIRE_FINISH,   /* leave MPI and end; all processes do this */
    GT_WIRE_ABORT,    /* end the processes of all ranks; the bytes are the exit code, an int32_t */
    /* from the helper */
    GT_WIRE_READY,   /* MPI has started, this is process `rank`; the bytes: the number of processes, a
                        uint32_t, and the name of the library */
    GT_WIRE_FAILED,  /* MPI cannot be used: the bytes say why */
    GT_WIRE_MESSAGE, /* from process `rank`; also between helpers */
    GT_WIRE_DIED,    /* process `rank` has ended unexpectedly; also between helpers */
    GT_WIRE_LOST,    /* no contact with process `rank` for a minute */
    /* between helpers only */
    GT_WIRE_ALIVE,
    GT_WIRE_BYE, /* the last one, to process 0 */
} gt_wire_kind;

typedef struct gt_wire_head {
    uint32_t kind, rank, len;
} gt_wire_head;

typedef struct gt_wire_frame {
    gt_wire_head head;
    uint8_t bytes[GT_WIRE_BYTES_MAX];
} gt_wire_frame;
