/* The lines of a plane: one after another, each with its events in the order of the file. */
#ifndef GT_INPUT_XLA_LINES_H
#define GT_INPUT_XLA_LINES_H

#include "input/xla/plane.h"

/* What a line says of itself. */
typedef struct xline {
    int64_t timestamp_ns;
    uint32_t tid;
    gt_str name, shown_name; /* in the plane's arena */
    bool is_skipped;         /* a line whose events are those of other lines again */
} xline;

typedef struct xevent {
    const xevent_kind *kind;
    int64_t offset_ps, dur_ps;
    xattributes attributes;
} xevent;

typedef struct xvisitor {
    void *context;
    void (*event)(void *context, const xevent *event);
    void (*line)(void *context, const xline *line); /* behind the events of the line */
} xvisitor;

/* Shows each line of an open plane to the visitor. False where the plane is damaged or cannot be read. */
bool xplane_visit(xplane *plane, xfile *file, const xvisitor *visitor);

/* Picoseconds; sums that do not fit, which no real profile has, stay at the end of what does. */
int64_t xline_start_ps(const xline *line, int64_t offset_ps);

#endif
