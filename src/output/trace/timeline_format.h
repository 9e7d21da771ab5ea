/* Between the timeline and the formats it is written in. */
#ifndef GT_OUTPUT_TRACE_TIMELINE_FORMAT_H
#define GT_OUTPUT_TRACE_TIMELINE_FORMAT_H

#include "base/map.h"
#include "base/buffer.h"
#include "output/trace/lanes.h"
#include "output/temp_store.h"
#include "output/text_file.h"
#include "output/trace/timeline.h"

typedef struct gt_timeline_process_row {
    int64_t pid;
    uint32_t name, label; /* text ids here and below; GT_STR_NONE where there is none */
} gt_timeline_process_row;

typedef struct gt_timeline_lane {
    uint64_t id; /* Perfetto's uuid, Chrome's tid */
    bool described;
    int64_t *open; /* ends of the slices that are open while the trace is written; of nesting tracks */
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

/* An event on its way: the rest of it is in the spool. */
typedef struct gt_timeline_entry {
    int64_t start_ns, end_ns;
    uint64_t place; /* in the spool */
    uint32_t track;
    uint32_t kind;
} gt_timeline_entry;

/* One end of an arrow that was said apart from its slice. */
typedef struct gt_timeline_arrow_row {
    uint64_t flow;
    int64_t time_ns;
    uint32_t track;
    uint32_t next; /* of the same track and time; GT_MAP_NONE: none */
    size_t owner;  /* the slice's place in order */
    bool arrives;
} gt_timeline_arrow_row;

/* The value of a note, as gt_timeline_note_int and its like were given it. */
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
        gt_str text; /* of TEXT and JSON */
        uint32_t word;
    };
} gt_timeline_note;

typedef struct gt_timeline_writer gt_timeline_writer;

struct gt_timeline {
    const gt_timeline_writer *writer;
    gt_text_file *file;
    gt_temp_store *spool;
    gt_interner *strings;
    gt_timeline_process_row *processes;
    size_t process_count, process_capacity;
    gt_timeline_track_row *tracks;
    size_t track_count, track_capacity;
    gt_timeline_entry *entries;
    size_t entry_count, entry_capacity;
    uint32_t *order; /* numbers of entries, once all are there */
    gt_timeline_arrow_row *arrows;
    size_t arrow_count, arrow_capacity, next_arrow;
    gt_map arrow_places;     /* (track, time) to the arrow said last */
    gt_timeline_entry entry; /* the event being said */
    gt_buffer body;          /* what the format makes of it */
    gt_buffer packet, part;  /* work space */
    gt_buffer out;           /* not yet in the file */
    uint8_t *roles;          /* Perfetto: in which tables a text is interned, by text id */
    size_t role_count;
    gt_map tids; /* Chrome: those in use, by pid */
    bool notes_begun, written_one;
    gt_timeline_totals totals;
};

/* One format: how an event is said, and how all of it is written. */
struct gt_timeline_writer {
    void (*begin)(gt_timeline *t, uint32_t category, uint32_t name);
    void (*flow)(gt_timeline *t, uint64_t flow, bool arrives);
    void (*value)(gt_timeline *t, double value);
    void (*note)(gt_timeline *t, uint32_t key, gt_timeline_note note);
    void (*end)(gt_timeline *t); /* NULL where an event needs no closing */

    void (*write_head)(gt_timeline *t); /* before the first event: names, processes */
    void (*describe)(gt_timeline *t, uint32_t track, size_t lane); /* before the first event on a lane */
    void (*write)(gt_timeline *t, const gt_timeline_entry *entry, size_t lane, gt_str body);
    /* The end of a slice; NULL where its length says it. */
    void (*write_end)(gt_timeline *t, uint32_t track, size_t lane, int64_t end_ns);
    void (*write_tail)(gt_timeline *t); /* NULL where a file needs no closing */
};

/* Adds to the file, through t->out. */
void gt_timeline_put(gt_timeline *t, const void *bytes, size_t len);

extern const gt_timeline_writer gt_timeline_perfetto, gt_timeline_chrome;

#endif
