/* Perfetto traces (.pftrace): a pull reader that gives one track event after another.
 *
 * A trace is a row of packets. Packets of one sequence share tables of interned names, default values and
 * clocks, all of which this reader keeps; tracks say which process and thread an event belongs to. Packets
 * are read through the stream one by one, so memory does not grow with the file, only with its names and
 * tracks.
 *
 * What an event's annotations say is read from its bytes on demand (perfetto_note.h): events that nobody
 * wants cost little. */
#ifndef GT_INPUT_PERFETTO_PERFETTO_H
#define GT_INPUT_PERFETTO_PERFETTO_H

#include "input/options.h"
#include "base/protobuf.h"
#include "stream/stream.h"

typedef enum gt_perfetto_type {
    GT_PERFETTO_BEGIN, /* of a slice */
    GT_PERFETTO_END,
    GT_PERFETTO_COMPLETE, /* a slice in one event: dur_ns says how long */
    GT_PERFETTO_INSTANT,
    GT_PERFETTO_COUNTER,
} gt_perfetto_type;

typedef enum gt_track_kind {
    GT_TRACK_CUSTOM, /* also where the trace does not say */
    GT_TRACK_PROCESS,
    GT_TRACK_THREAD,
    GT_TRACK_COUNTER,
} gt_track_kind;

typedef struct gt_perfetto_track {
    uint64_t uuid, parent_uuid;
    gt_track_kind kind;
    bool described;   /* the trace has said what it is */
    int64_t pid, tid; /* of processes and threads; 0 where unknown */
    uint32_t name;    /* of the process, thread or track; a text id */
    uint32_t label;   /* of a process: what else it is called */
} gt_perfetto_track;

typedef struct gt_perfetto_event {
    gt_perfetto_type type;
    uint32_t track;          /* gt_perfetto_track_of */
    int64_t time_ns, dur_ns; /* dur_ns only of COMPLETE */
    uint32_t category, name; /* text ids; the first category where there are several */
    gt_str notes;            /* the part of the event that holds its annotations */
    const uint64_t *flows;   /* ids of arrows from or to the event; valid until the next event */
    size_t flow_count;
    double value; /* of COUNTER */
} gt_perfetto_event;

typedef struct gt_perfetto gt_perfetto;
struct gt_interned;

/* Texts are interned in `strings`. Both must outlive the reader. */
gt_perfetto *gt_perfetto_new(gt_stream *stream, gt_interner *strings);
void gt_perfetto_free(gt_perfetto *trace);

/* The next event; false at the end and where reading failed: gt_perfetto_accept tells. */
bool gt_perfetto_next(gt_perfetto *trace, gt_perfetto_event *event);

gt_interner *gt_perfetto_strings(const gt_perfetto *trace);
size_t gt_perfetto_track_count(const gt_perfetto *trace);
const gt_perfetto_track *gt_perfetto_track_of(const gt_perfetto *trace, uint32_t track);
/* The process of a track, found through its parents; 0 where the trace does not say. */
int64_t gt_perfetto_pid(const gt_perfetto *trace, uint32_t track);

/* Names and texts that annotations refer to by number, in the sequence of the event read last
 * (perfetto_state.h). */
const struct gt_interned *gt_perfetto_note_names(const gt_perfetto *trace);
const struct gt_interned *gt_perfetto_note_strings(const gt_perfetto *trace);
uint32_t gt_perfetto_intern(gt_perfetto *trace, gt_str text); /* bytes that are not UTF-8 become U+FFFD */
void gt_perfetto_damage_note(gt_perfetto *trace); /* the event read last has a damaged annotation */

/* Once gt_perfetto_next has returned false: is what was read a trace? `kept` is how many records were kept,
 * `what` names them ("events"). Warns of an early end and of events whose names are lost; false where the
 * trace is damaged otherwise, or ends early and nothing was kept or options are strict. */
bool gt_perfetto_accept(const gt_perfetto *trace, size_t kept, const char *what,
                        const gt_read_options *options, gt_error *error);

/* Whether a file that begins with these bytes is one. */
bool gt_is_perfetto(gt_str first_bytes);

#endif
