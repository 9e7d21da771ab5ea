/* Messages of a profile where they lie in the file: one field after another, bodies passed over unless they
 * are asked for. */
#ifndef GT_INPUT_XLA_FILE_H
#define GT_INPUT_XLA_FILE_H

#include "base/memory.h"
#include "base/protobuf.h"
#include "stream/window.h"

typedef struct xfile {
    gt_window window;
    gt_error *error;
    bool failed; /* reading failed, and the error says so */
} xfile;

typedef struct xrange {
    uint64_t begin, end; /* of the file's bytes */
} xrange;

typedef struct xfield {
    uint32_t number;
    gt_wire wire;
    int64_t value; /* of a number */
    xrange body;   /* of counted bytes */
} xfield;

/* The next field of a message, which begins behind it from then on. False at the end, and with *damaged set
 * where the message is damaged or the file cannot be read. */
bool xfile_next(xfile *file, xrange *message, xfield *field, bool *damaged);

/* The bytes of a range: in the window, gone with the next call for any of them... */
bool xfile_show(xfile *file, xrange range, gt_str *bytes);
/* ... or in an arena. */
bool xfile_copy(xfile *file, xrange range, gt_arena *arena, gt_str *bytes);

#endif
