/* Private to the reader of profiles: messages in the file, the tables of a plane, its lines, and compiled
 * modules.
 *
 *     XSpace             the file: a list of planes (xplane.c)
 *       XPlane           a GPU, the host, or metadata: tables of names and kinds (plane.c), and lines
 *         XLine          a stream or thread: a list of events (lines.c)
 *           XEvent       a kind, an offset, a duration and stats
 *             XStat      a named value; its name and long strings are given by number */
#pragma once

#include "base/protobuf.h"
#include "stream/window.h"
#include "trace/jax/jax.h"

/* ---- messages in the file: one field after another; bodies are skipped unless they are asked for ---- */

typedef struct xfile {
    gt_window window;
    gt_error *error;
    bool failed; /* reading failed; the error is set */
} xfile;

typedef struct xrange {
    uint64_t begin, end; /* byte offsets in the file */
} xrange;

typedef struct xfield {
    uint32_t number;
    gt_wire wire;
    int64_t value; /* of a varint */
    xrange body;   /* of bytes */
} xfield;

/* Reads the next field and moves message->begin after it. False at the end, and with *damaged set if the
 * message is damaged or the file cannot be read. */
bool gt_xfile_next(xfile *file, xrange *message, xfield *field, bool *damaged);

/* The bytes of a range, valid until the next call of any of these functions ... */
bool gt_xfile_show(xfile *file, xrange range, gt_str *bytes);
/* ... or copied into an arena. */
bool gt_xfile_copy(xfile *file, xrange range, gt_arena *arena, gt_str *bytes);

/* ---- one plane: the names that its events refer to by number, and the stats of events ---- */

/* The stats that are read. */
typedef enum xstat_role {
    XSTAT_OTHER,
    XSTAT_CORRELATION,
    XSTAT_HLO_OP,
    XSTAT_HLO_MODULE,
    XSTAT_PROGRAM,
    XSTAT_GROUP,
    XSTAT_SCOPE,
    XSTAT_KERNEL_DETAILS,
    XSTAT_GRAPH,
    XSTAT_TF_OP,
    XSTAT_HLO_PROTO,
} xstat_role;

/* The stats of an event, strings as ids. Whether each one is given is kept too, because a stat of the event
 * itself has precedence over the same stat of its kind. */
typedef struct xattributes {
    uint32_t hlo_op, hlo_module, tf_op; /* GT_STR_NONE: not given */
    bool has_program, has_correlation, has_group, has_scope, has_graph;
    bool has_details, details_are_given; /* may be given, but empty */
    uint64_t program_id, correlation;
    int64_t group, scope;
} xattributes;

typedef struct xstat_name {
    gt_str name;
    uint32_t text; /* its string id, once it is needed */
    xstat_role role;
} xstat_name;

typedef struct xevent_kind {
    gt_str message; /* if the plane holds the messages */
    xrange range;   /* of the message */
    int64_t id;
    bool is_read; /* the fields below are set */
    bool is_dropped, has_attributes;
    uint32_t name;          /* string id of the name to display */
    xattributes attributes; /* apply to every event of this kind */
    xrange hlo_proto;       /* of a compiled module */
} xevent_kind;

/* Numbers to indexes of a list: small numbers by an array, others by a map. */
typedef struct xindex {
    uint32_t *dense;
    size_t dense_count, dense_capacity;
    gt_map sparse;
} xindex;

enum { XPLANE_PROPERTIES_MAX = 32 }; /* those after them are not read */

typedef struct xplane {
    xrange range;
    gt_str name;
    int64_t id;
    gt_arena arena;
    gt_interner *strings; /* strings are interned here */
    xstat_name *stats;
    size_t stat_count, stat_capacity;
    xevent_kind *kinds;
    size_t kind_count, kind_capacity;
    xindex stat_index, kind_index;
    uint8_t *roles; /* xstat_role by the number of a stat, if that is small */
    size_t role_count;
    bool has_lines;
    bool has_role[XSTAT_HLO_PROTO + 1];       /* the plane has a stat of this role */
    xrange properties[XPLANE_PROPERTIES_MAX]; /* stats of the plane itself */
    size_t property_count;
} xplane;

/* Reads only name and id. False if the message is damaged. */
bool gt_xplane_peek(xplane *plane, xfile *file, xrange range);
/* Reads the names of stats and the kinds of events. `holds_kinds`: also copies the messages of the kinds, for
 * gt_xplane_kind. False if the message is damaged. */
bool gt_xplane_open(xplane *plane, xfile *file, gt_interner *strings, bool holds_kinds);
/* Sets what the stats of the plane of a GPU say. False if one is damaged or cannot be read. */
bool gt_xplane_device(xplane *plane, xfile *file, gt_jax_device *device);
/* Skips the stats of these roles from now on. */
void gt_xplane_skip_stats(xplane *plane, const xstat_role *roles, size_t count);
void gt_xplane_close(xplane *plane);

/* The kind with this number; one with an empty name if the plane has none. NULL if it is damaged. */
const xevent_kind *gt_xplane_kind(xplane *plane, int64_t id);
/* Reads a kind whose message the plane does not hold. False if it is damaged. */
bool gt_xplane_read_kind(xplane *plane, xfile *file, xevent_kind *kind);

/* Whether the XStat in [at, end) can be skipped. Decided by its first two bytes, which usually have the
 * number of its name. */
static inline bool xplane_skips_stat(const xplane *plane, const uint8_t *at, const uint8_t *end)
{
    return end - at >= 2 && at[0] == (1 << 3 | GT_WIRE_VARINT) && at[1] < 0x80 && at[1] < plane->role_count &&
           plane->roles[at[1]] == XSTAT_OTHER;
}

/* Adds the XStat in [at, end) to the attributes. Up to GT_WINDOW_PAD bytes after it may be read. False if it
 * is damaged.
 */
bool gt_xplane_add_stat(xplane *plane, xattributes *attributes, const uint8_t *at, const uint8_t *end);

/* ---- the lines of a plane ---- */

/* The header of a line. */
typedef struct xline {
    int64_t timestamp_ns;
    uint32_t tid;
    gt_str name, shown_name; /* in the plane's arena */
    bool is_skipped;         /* its events are repeated in other lines */
} xline;

typedef struct xevent {
    const xevent_kind *kind;
    int64_t offset_ps, dur_ps;
    xattributes attributes;
} xevent;

typedef struct xvisitor {
    void *context;
    void (*event)(void *context, const xevent *event);
    void (*line)(void *context, const xline *line); /* after the events of the line */
} xvisitor;

/* Passes the events and lines of an open plane to the visitor, in the order of the file. False if the plane
 * is damaged or cannot be read. */
bool gt_xplane_visit(xplane *plane, xfile *file, const xvisitor *visitor);

/* The start of an event in picoseconds; saturated if it does not fit, which happens in no real profile. */
int64_t gt_xline_start_ps(const xline *line, int64_t offset_ps);

/* ---- compiled modules (modules.c) ---- */

/* Sets the records and sources of trace->ops from the plane "/host:metadata", and trace->products from the
 * module whose name starts with `products_of`, unless that is NULL. Only modules that ops refer to are read;
 * a damaged module is skipped with a warning. False if the plane itself is damaged or cannot be read. */
bool gt_xplane_read_modules(xplane *metadata, xfile *file, const char *products_of, gt_jax *trace);
