/* What a Perfetto reader remembers from packet to packet: interned names, clocks and tracks. */
#ifndef GT_INPUT_PERFETTO_STATE_H
#define GT_INPUT_PERFETTO_STATE_H

#include "base/map.h"
#include "input/perfetto/perfetto.h"

/* ---- interned names: number to text id, cleared all at once ---- */

typedef struct gt_interned {
    struct {
        uint32_t text, generation;
    } * dense; /* by number; most writers count from 1 */
    size_t dense_count, dense_capacity;
    size_t set_count; /* names given so far, which bounds the array */
    gt_map sparse;
    uint32_t generation; /* entries of others are gone */
} gt_interned;

void gt_interned_set(gt_interned *table, uint64_t iid, uint32_t text);
uint32_t gt_interned_get_sparse(const gt_interned *table, uint64_t iid);
/* GT_STR_NONE where there is none. */
static inline uint32_t gt_interned_get(const gt_interned *table, uint64_t iid)
{
    if (iid < table->dense_count && table->dense[iid].generation == table->generation &&
        table->dense[iid].text)
        return table->dense[iid].text;
    return gt_interned_get_sparse(table, iid);
}
void gt_interned_clear(gt_interned *table);
void gt_interned_free(gt_interned *table);

/* ---- clocks ---- */

enum {
    GT_CLOCK_BOOTTIME = 6,
    GT_CLOCK_OF_SEQUENCE = 64, /* from here on clocks belong to a sequence ... */
    GT_CLOCK_CUSTOM = 128,     /* ... and from here on to the trace again */
};

typedef struct gt_clock {
    uint64_t id;
    uint64_t last;     /* of incremental clocks: the last time, in its units */
    uint64_t unit_ns;  /* nanoseconds a unit */
    uint64_t ahead_ns; /* what brings it to the clock of the trace; modulo 2^64 */
    bool is_incremental;
} gt_clock;

typedef struct gt_clocks {
    gt_clock *items;
    size_t count, capacity;
} gt_clocks;

/* The state of a clock, made where it is new. NULL where there are too many. */
gt_clock *gt_clocks_find(gt_clocks *clocks, uint64_t id);
/* A packet's timestamp in the clock of the trace. */
int64_t gt_clock_time(gt_clock *clock, uint64_t timestamp);
/* Reads a ClockSnapshot of a sequence. False where it is damaged. */
bool gt_clocks_snapshot(gt_clocks *of_trace, gt_clocks *of_sequence, uint64_t *trace_clock,
                        gt_proto snapshot);

/* ---- tracks ---- */

typedef struct gt_tracks_list {
    gt_perfetto_track *items;
    size_t count, capacity;
    gt_map by_uuid;
    bool has_last;
    uint64_t last_uuid; /* the one asked for last ... */
    uint32_t last;      /* ... and its place */
} gt_tracks_list;

/* The track of an id, made where it is new. `space` 0 is that of uuids. */
uint32_t gt_tracks_find(gt_tracks_list *tracks, uint64_t uuid, uint64_t space);
void gt_tracks_free(gt_tracks_list *tracks);

#endif
