/* One plane of a profile: the names that its events refer to by number, and what the stats of an event say.
 */
#ifndef GT_INPUT_XPLANE_PLANE_H
#define GT_INPUT_XPLANE_PLANE_H

#include "base/map.h"
#include "input/protobuf.h"
#include "trace/jax.h"

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

/* What the stats of an event say, texts as ids. */
typedef struct xattributes {
    uint32_t hlo_op, hlo_module, tf_op;
    uint64_t program_id, correlation;
    int64_t group, scope;
    bool has_program, has_correlation, has_group, has_scope, has_details, has_graph;
    gt_text hlo_proto; /* bytes, not a text */
} xattributes;

typedef struct xstat_name {
    gt_text name;
    uint32_t text; /* its id, once asked for */
    xstat_role role;
} xstat_name;

typedef struct xevent_kind {
    gt_text message;
    int64_t id;
    bool is_read; /* the fields below are */
    bool is_dropped;
    uint32_t name;          /* text, by which events are shown */
    xattributes attributes; /* of every event of this kind */
} xevent_kind;

/* Numbers to places in a list: dense ones by an array, others by a map. */
typedef struct xindex {
    uint32_t *dense;
    size_t dense_count, dense_capacity;
    gt_map sparse;
} xindex;

typedef struct xplane {
    gt_text message, name;
    int64_t id;
    gt_strings *strings; /* where texts go */
    xstat_name *stats;
    size_t stat_count, stat_capacity;
    xevent_kind *kinds;
    size_t kind_count, kind_capacity;
    xindex stat_index, kind_index;
    bool has_lines;
    bool has_role[XSTAT_HLO_PROTO + 1]; /* a stat of this role has a name here */
} xplane;

/* Name and id alone. False where the message is damaged. */
bool xplane_peek(xplane *plane, gt_text message);
/* The names of the plane. False where the message is damaged. */
bool xplane_open(xplane *plane, gt_strings *strings);
void xplane_read_only(xplane *plane, xstat_role role); /* passes over all other stats from here on */
void xplane_close(xplane *plane);

/* What events of this number are; an empty name where the plane does not tell. NULL where it is damaged. */
const xevent_kind *xplane_kind(xplane *plane, int64_t id);
/* Adds what one XStat says. False where it is read and damaged. */
bool xplane_add_stat(xplane *plane, xattributes *attributes, gt_proto stat);

#endif
