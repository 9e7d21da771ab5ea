/* Private to this folder: the parts that the Perfetto reader is made of.
 *
 *     packets.c    packets from the stream, compressed ones inflated
 *     event.c      one track event, as it is in its packet
 *     state.c      interned names, clocks and tracks, which later packets refer to
 *     perfetto.c   the reader: packets to events, names looked up
 *     note.c       annotations of an event */
#pragma once

#include "input/perfetto/perfetto.h"

/* ---- packets ---- */

typedef struct gt_packets {
    gt_stream *stream;
    const uint8_t *block, *at, *end;
    uint64_t block_offset;
    uint64_t offset; /* of the packet that was read last */
    bool last_block, failed, truncated;
    gt_error error;
    gt_buffer inflated;
    gt_proto inner; /* the packets inside a compressed packet */
} gt_packets;

void gt_packets_begin(gt_packets *packets, gt_stream *stream);
void gt_packets_end(gt_packets *packets);

/* The bytes of the next packet, valid until the next call; false at the end or on failure. *is_inner: it
 * comes from inside a compressed packet, and so must not be compressed itself. */
bool gt_packets_next(gt_packets *packets, gt_str *bytes, bool *is_inner);
/* Inflates the packets in these bytes, which gt_packets_next returns next. */
bool gt_packets_inflate(gt_packets *packets, gt_str compressed);

/* Fails with "FILE: <what> at byte N", the position of the packet. */
bool gt_packets_fail(gt_packets *packets, const char *what);

/* The size in bytes of the varint in [at, end); 0 if it is truncated, -1 if it is invalid. */
int gt_peek_varint(const uint8_t *at, const uint8_t *end, uint64_t *value);

/* ---- events ---- */

/* A TrackEvent as it is in its packet: numbers that refer to names are not looked up yet. */
typedef struct gt_raw_event {
    int64_t type;
    uint64_t category_iid, name_iid, track;
    gt_str category, name;
    bool has_track, has_category;
    gt_str notes; /* the bytes that hold its annotations */
    double value;
    int64_t phase, dur_us; /* this and the following: of older writers */
    uint64_t id;
    bool has_id;
} gt_raw_event;

/* Reads an event in one pass into `event`, which must be zeroed. Annotations are skipped; flow ids are added
 * to `flows`. False if it is damaged. */
bool gt_raw_event_read(gt_raw_event *event, gt_str bytes, gt_proto_ints *flows);

/* The type for the phase of a Chrome event; false for phases that are neither slices nor instants. */
bool gt_perfetto_type_of_phase(int64_t phase, gt_perfetto_type *type);

/* ---- interned names: number to string id, cleared all at once ---- */

typedef struct gt_interned {
    struct {
        uint32_t text, generation;
    } * dense; /* by number; most writers count from 1 */
    size_t dense_count, dense_capacity;
    size_t set_count; /* names set so far, which limits the size of the array */
    gt_map sparse;
    uint32_t generation; /* entries of earlier generations are cleared */
} gt_interned;

void gt_interned_set(gt_interned *table, uint64_t iid, uint32_t text);
uint32_t gt_interned_get_sparse(const gt_interned *table, uint64_t iid);
/* GT_STR_NONE if there is none. */
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
    GT_CLOCK_OF_SEQUENCE = 64, /* the clocks from here on belong to a sequence ... */
    GT_CLOCK_CUSTOM = 128,     /* ... and those from here on to the trace again */
};

typedef struct gt_clock {
    uint64_t id;
    uint64_t last;     /* of incremental clocks: the last time, in units */
    uint64_t unit_ns;  /* nanoseconds per unit */
    uint64_t ahead_ns; /* added to get the time of the trace's clock; modulo 2^64 */
    bool is_incremental;
} gt_clock;

typedef struct gt_clocks {
    gt_clock *items;
    size_t count, capacity;
} gt_clocks;

/* The state of a clock, added if it is new. NULL if there are too many. */
gt_clock *gt_clocks_find(gt_clocks *clocks, uint64_t id);
/* Converts a packet's timestamp to the trace's clock. */
int64_t gt_clock_time(gt_clock *clock, uint64_t timestamp);
/* Reads a ClockSnapshot of a sequence. False if it is damaged. */
bool gt_clocks_snapshot(gt_clocks *of_trace, gt_clocks *of_sequence, uint64_t *trace_clock,
                        gt_proto snapshot);

/* ---- tracks ---- */

typedef struct gt_tracks_list {
    gt_perfetto_track *items;
    size_t count, capacity;
    gt_map by_uuid;
    bool has_last;
    uint64_t last_uuid; /* of the previous call ... */
    uint32_t last;      /* ... and its result */
} gt_tracks_list;

/* The track of an id, added if it is new. `space` separates kinds of ids; 0 is that of track uuids. */
uint32_t gt_tracks_find(gt_tracks_list *tracks, uint64_t uuid, uint64_t space);
void gt_tracks_free(gt_tracks_list *tracks);

/* ---- for annotations, of the event that was read last ---- */

/* The tables of names and strings that its annotations refer to by number. */
const gt_interned *gt_perfetto_note_names(const gt_perfetto *trace);
const gt_interned *gt_perfetto_note_strings(const gt_perfetto *trace);
uint32_t gt_perfetto_intern(gt_perfetto *trace, gt_str text); /* bytes that are not UTF-8 become U+FFFD */
void gt_perfetto_damage_note(gt_perfetto *trace); /* makes the reader fail: an annotation is damaged */
