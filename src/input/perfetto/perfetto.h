/* Reader of Perfetto traces (.pftrace): returns one track event after another.
 *
 *     gt_perfetto *trace = gt_perfetto_new(stream, strings);
 *     while (gt_perfetto_next(trace, &event)) ...
 *     if (gt_perfetto_accept(trace, kept, "events", options, error)) ...
 *     gt_perfetto_free(trace);
 *
 * A trace is a list of packets. Packets of one sequence share tables of interned names, default values and
 * clocks, which the reader keeps. Tracks say which process and thread an event belongs to. Packets are read
 * from the stream one by one, so memory grows with the number of names and tracks, not with the size of the
 * file.
 *
 * Annotations, the arguments of an event, are decoded only on request: events that the caller ignores cost
 * little. record.h turns events and their annotations into the records of a Chrome trace. */
#pragma once

#include "input/options.h"
#include "base/protobuf.h"
#include "trace/perfetto_fields.h"
#include "stream/stream.h"

typedef enum gt_perfetto_type {
    GT_PERFETTO_BEGIN, /* of a slice */
    GT_PERFETTO_END,
    GT_PERFETTO_COMPLETE, /* a slice in one event, with its duration in dur_ns */
    GT_PERFETTO_INSTANT,
    GT_PERFETTO_COUNTER,
} gt_perfetto_type;

typedef enum gt_track_kind {
    GT_TRACK_CUSTOM, /* also if the trace does not describe it */
    GT_TRACK_PROCESS,
    GT_TRACK_THREAD,
    GT_TRACK_COUNTER,
} gt_track_kind;

typedef struct gt_perfetto_track {
    uint64_t uuid, parent_uuid;
    gt_track_kind kind;
    bool described;   /* the trace has a descriptor of it */
    int64_t pid, tid; /* of processes and threads; 0 if unknown */
    uint32_t name;    /* of the process, thread or track; a string id */
    uint32_t label;   /* of a process: its second name */
} gt_perfetto_track;

typedef struct gt_perfetto_event {
    gt_perfetto_type type;
    uint32_t track;          /* for gt_perfetto_track_of */
    int64_t time_ns, dur_ns; /* dur_ns only of COMPLETE */
    uint32_t category, name; /* string ids; the first category if there are several */
    gt_str notes;            /* the bytes of the event that hold its annotations */
    const uint64_t *flows;   /* ids of flow arrows from or to the event; valid until the next event */
    size_t flow_count;
    double value; /* of COUNTER */
} gt_perfetto_event;

typedef struct gt_perfetto gt_perfetto;

/* Strings are interned in `strings`. The stream and `strings` must outlive the reader. */
gt_perfetto *gt_perfetto_new(gt_stream *stream, gt_interner *strings);
void gt_perfetto_free(gt_perfetto *trace);

/* Reads the next event; false at the end or on failure, which gt_perfetto_accept distinguishes. */
bool gt_perfetto_next(gt_perfetto *trace, gt_perfetto_event *event);

gt_interner *gt_perfetto_strings(const gt_perfetto *trace);
size_t gt_perfetto_track_count(const gt_perfetto *trace);
const gt_perfetto_track *gt_perfetto_track_of(const gt_perfetto *trace, uint32_t track);
/* The process id of a track or of its parents; 0 if the trace does not say. */
int64_t gt_perfetto_pid(const gt_perfetto *trace, uint32_t track);

/* Decides whether the result is a trace, once gt_perfetto_next has returned false. `kept` is the number of
 * records that the caller kept, and `what` names them ("events"). A truncated file is handled as
 * input/options.h describes; a damaged one is an error. Warns of events whose names are lost. */
bool gt_perfetto_accept(const gt_perfetto *trace, size_t kept, const char *what,
                        const gt_read_options *options, gt_error *error);

/* Whether a file that begins with these bytes is a Perfetto trace. */
bool gt_is_perfetto(gt_str first_bytes);

/* ---- annotations: named values of any type, like the arguments of a Chrome trace ---- */

typedef enum gt_note_type {
    GT_NOTE_NONE,
    GT_NOTE_BOOL,
    GT_NOTE_UINT,
    GT_NOTE_INT,
    GT_NOTE_DOUBLE,
    GT_NOTE_STRING,
    GT_NOTE_POINTER,
    GT_NOTE_JSON, /* JSON text */
    GT_NOTE_LIST,
    GT_NOTE_DICT,
    GT_NOTE_NESTED, /* the older encoding of lists and dicts */
} gt_note_type;

typedef struct gt_note {
    uint32_t name; /* string id */
    gt_note_type type;
    uint64_t number;  /* of BOOL to POINTER; the bits of a DOUBLE */
    gt_str text;      /* of STRING and JSON */
    uint32_t text_id; /* of a STRING that is interned; else GT_STR_NONE */
    gt_str message;   /* of LIST and DICT: the annotation itself; of NESTED: its value */
} gt_note;

/* Reads the next annotation of the event that was read last:
 *
 *     gt_proto notes = gt_proto_begin(event.notes);
 *     while (gt_perfetto_next_note(trace, &notes, &note)) ...
 *
 * A damaged annotation ends the loop and makes the reader fail. */
bool gt_perfetto_next_note(gt_perfetto *trace, gt_proto *notes, gt_note *note);
/* The same in two steps: find the bytes of the next annotation, then decode them. */
static inline bool gt_perfetto_next_note_bytes(gt_proto *notes, gt_str *bytes)
{
    gt_proto_field field;
    while (gt_proto_next(notes, &field)) {
        if (field.number != GT_PF_EVENT_NOTE) continue;
        *bytes = gt_proto_bytes(&field);
        return true;
    }
    return false;
}
bool gt_perfetto_read_note(gt_perfetto *trace, gt_str bytes, gt_note *note);

/* The value as an integer, by the rules of Python's int(): fractions are truncated, strings must be decimal
 * numbers. False if it has no such value. */
bool gt_note_int(const gt_note *note, int64_t *value);
bool gt_note_double(const gt_note *note, double *value);
/* Appends the value as JSON text without white space. */
void gt_note_add_json(gt_perfetto *trace, gt_buffer *out, const gt_note *note);
