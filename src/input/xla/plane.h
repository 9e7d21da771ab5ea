/* One plane of a profile: the names that its events refer to by number, and what the stats of an event say.
 */
#ifndef GT_INPUT_XLA_PLANE_H
#define GT_INPUT_XLA_PLANE_H

#include "base/map.h"
#include "input/xla/file.h"
#include "trace/jax/jax.h"

/* Stats that are read. */
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

/* What the stats of an event say, texts as ids. Each is given or not, so that what an event says itself
 * stands before what its kind says. */
typedef struct xattributes {
    uint32_t hlo_op, hlo_module, tf_op; /* GT_STR_NONE: not given */
    bool has_program, has_correlation, has_group, has_scope, has_graph;
    bool has_details, details_are_given; /* they may be given, and empty */
    uint64_t program_id, correlation;
    int64_t group, scope;
} xattributes;

typedef struct xstat_name {
    gt_str name;
    uint32_t text; /* its id, once asked for */
    xstat_role role;
} xstat_name;

typedef struct xevent_kind {
    gt_str message; /* where the plane holds them */
    xrange range;   /* of the message */
    int64_t id;
    bool is_read; /* the fields below are */
    bool is_dropped, has_attributes;
    uint32_t name;          /* text, by which events are shown */
    xattributes attributes; /* of every event of this kind */
    xrange hlo_proto;       /* of a compiled module */
} xevent_kind;

/* Numbers to places in a list: dense ones by an array, others by a map. */
typedef struct xindex {
    uint32_t *dense;
    size_t dense_count, dense_capacity;
    gt_map sparse;
} xindex;

typedef struct xplane {
    xrange range;
    gt_str name;
    int64_t id;
    gt_arena arena;
    gt_interner *strings; /* where texts go */
    xstat_name *stats;
    size_t stat_count, stat_capacity;
    xevent_kind *kinds;
    size_t kind_count, kind_capacity;
    xindex stat_index, kind_index;
    uint8_t *roles; /* xstat_role by a stat's number, where that is dense */
    size_t role_count;
    bool has_lines;
    bool has_role[XSTAT_HLO_PROTO + 1]; /* a stat of this role has a name here */
} xplane;

/* Name and id alone. False where the message is damaged. */
bool xplane_peek(xplane *plane, xfile *file, xrange range);
/* The names of the plane. `holds_kinds`: the messages of the kinds of events, too, for xplane_kind. False
 * where the message is damaged. */
bool xplane_open(xplane *plane, xfile *file, gt_interner *strings, bool holds_kinds);
/* Passes over the stats of these roles from here on. */
void xplane_pass_over(xplane *plane, const xstat_role *roles, size_t count);
void xplane_close(xplane *plane);

/* What events of this number are; an empty name where the plane does not tell. NULL where it is damaged. */
const xevent_kind *xplane_kind(xplane *plane, int64_t id);
/* Reads a kind whose message the plane does not hold. False where it is damaged. */
bool xplane_read_kind(xplane *plane, xfile *file, xevent_kind *kind);

/* Whether the XStat in [at, end) is one that nobody reads, told from its first two bytes, which mostly hold
 * the number of its name. */
static inline bool xplane_passes_stat(const xplane *plane, const uint8_t *at, const uint8_t *end)
{
    return end - at >= 2 && at[0] == (1 << 3 | GT_WIRE_VARINT) && at[1] < 0x80 && at[1] < plane->role_count &&
           plane->roles[at[1]] == XSTAT_OTHER;
}

/* Adds what the XStat in [at, end) says. Up to GT_WINDOW_PAD bytes behind it may be read. False where it is
 * read and damaged. */
bool xplane_add_stat(xplane *plane, xattributes *attributes, const uint8_t *at, const uint8_t *end);

#endif
