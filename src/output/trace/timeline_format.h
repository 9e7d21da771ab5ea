/* The interface between the timeline and the formats that it is written in. Internal. */
#pragma once

#include "output/file.h"
#include "output/trace/timeline.h"

/* ---- lanes: tracks as viewers draw them ----
 *
 * Slices on one lane follow each other or are nested. A slice that partly overlaps another one goes to the
 * next lane. On a track without nesting, such as the stream of a GPU, slices on one lane only follow each
 * other. */

typedef struct gt_lanes {
    bool nests;
    struct gt_lane *nested; /* the first few lanes, whose slices may be nested */
    size_t nested_count, nested_capacity;
    int64_t *ends; /* of the further lanes: a binary tree over the end of the last slice on each */
    size_t count, leaves;
} gt_lanes; /* {.nests = ...} is empty */

/* The lane of the next slice, counted from 0. Slices must be ordered by start and, for equal starts, longest
 * first. `end` is not before `start`. */
size_t gt_lanes_place(gt_lanes *lanes, int64_t start, int64_t end);
void gt_lanes_free(gt_lanes *lanes);

/* ---- the timeline ---- */

typedef struct gt_timeline_process_row {
    int64_t pid;
    uint32_t name, label; /* string ids, also below; GT_STR_NONE: none */
} gt_timeline_process_row;

typedef struct gt_timeline_lane {
    uint64_t id; /* Perfetto's uuid, Chrome's tid */
    bool described;
    int64_t *open; /* ends of the slices that are open while the trace is written; only of nesting tracks */
    size_t open_count, open_capacity;
} gt_timeline_lane;

typedef struct gt_timeline_track_row {
    uint32_t process, name;
    gt_track_form form;
    int64_t tid;
    gt_lanes places;
    gt_timeline_lane *lanes;
    size_t lane_count, lane_capacity;
} gt_timeline_track_row;

/* An event; its body is in the temporary store. */
typedef struct gt_timeline_entry {
    int64_t start_ns, end_ns;
    uint64_t position; /* of the body in the store */
    uint32_t track;
    uint32_t kind;
} gt_timeline_entry;

/* One end of a flow arrow that was given separately from its slice. */
typedef struct gt_timeline_arrow_row {
    uint64_t flow;
    int64_t time_ns;
    uint32_t track;
    uint32_t next; /* arrow of the same track and time; GT_MAP_NONE: none */
    size_t owner;  /* index of the slice in `order` */
    bool arrives;
} gt_timeline_arrow_row;

/* The type of an argument, by the gt_timeline_note_* function that added it. */
typedef enum gt_timeline_note_type {
    GT_TIMELINE_NOTE_INT,
    GT_TIMELINE_NOTE_UINT,
    GT_TIMELINE_NOTE_DOUBLE,
    GT_TIMELINE_NOTE_BOOL,
    GT_TIMELINE_NOTE_STRING,
    GT_TIMELINE_NOTE_LITERAL,
    GT_TIMELINE_NOTE_JSON,
} gt_timeline_note_type;

typedef struct gt_timeline_note {
    gt_timeline_note_type type;
    union {
        int64_t integer;
        uint64_t natural;
        double real;
        bool yes;
        gt_str text;   /* of STRING and JSON */
        uint32_t word; /* of LITERAL */
    };
} gt_timeline_note;

typedef struct gt_timeline_writer gt_timeline_writer;

struct gt_timeline {
    const gt_timeline_writer *writer;
    gt_text_file *file;
    gt_temp_store *store;
    gt_interner *strings;
    gt_timeline_process_row *processes;
    size_t process_count, process_capacity;
    gt_timeline_track_row *tracks;
    size_t track_count, track_capacity;
    gt_timeline_entry *entries;
    size_t entry_count, entry_capacity;
    uint32_t *order; /* indices of the entries, sorted; set when all are there */
    gt_timeline_arrow_row *arrows;
    size_t arrow_count, arrow_capacity, next_arrow;
    gt_map arrow_places;     /* (track, time) to the latest arrow */
    gt_timeline_entry entry; /* the current event */
    gt_buffer body;          /* its body in the output format */
    gt_buffer packet, part;  /* scratch space */
    gt_buffer out;           /* not written to the file yet */
    uint8_t *roles;          /* Perfetto: the tables in which a string is interned, by string id */
    size_t role_count;
    gt_map tids; /* Chrome: thread ids in use, by pid */
    bool notes_begun, written_one;
    gt_timeline_totals totals;
};

/* One output format: how the body of an event is built, and how the file is written. */
struct gt_timeline_writer {
    void (*begin)(gt_timeline *t, uint32_t category, uint32_t name);
    void (*flow)(gt_timeline *t, uint64_t flow, bool arrives);
    void (*value)(gt_timeline *t, double value);
    void (*note)(gt_timeline *t, uint32_t key, gt_timeline_note note);
    void (*end)(gt_timeline *t); /* NULL: nothing to do */

    void (*write_head)(gt_timeline *t); /* before the first event: names, processes */
    void (*describe)(gt_timeline *t, uint32_t track, size_t lane); /* before the first event on a lane */
    void (*write)(gt_timeline *t, const gt_timeline_entry *entry, size_t lane, gt_str body);
    /* Writes the end of a slice; NULL if slices are written with their durations. */
    void (*write_end)(gt_timeline *t, uint32_t track, size_t lane, int64_t end_ns);
    void (*write_tail)(gt_timeline *t); /* NULL: nothing to do */
};

/* Writes to the file, through t->out. */
void gt_timeline_put(gt_timeline *t, const void *bytes, size_t len);

extern const gt_timeline_writer gt_timeline_perfetto, gt_timeline_chrome;
