/* Events of a trace as text: reading a trace event by event, and writing an event with other ids, names and
 * times. Used by `fuse` and by `sweep merge`.
 *
 * An event is copied as text, so numbers stay as they were written. Only ids and process ids are changed,
 * which are shifted by rank, and args gets the rank and the old values under names that end in "_raw". White
 * space between tokens is dropped, and non-ASCII characters are escaped. */
#pragma once

#include "json/reader.h"

/* ---- one event ---- */

/* Integers of traces: JSON allows more than 64 bits. */
typedef __int128 gt_wide_int;
/* No id that is read is larger, and any sum of it and a shift fits. */
#define GT_FUSE_ID_MAX ((gt_wide_int)((unsigned __int128)1 << 100))

/* Products that are known to fit; unsigned because checking signed ones needs a library that clang may
 * lack. */
static inline gt_wide_int gt_wide_times(gt_wide_int a, uint64_t b)
{
    return (gt_wide_int)((unsigned __int128)a * b);
}

/* The members of an event that are needed. Those of args are last. */
typedef enum gt_fuse_member {
    GT_FUSE_PHASE,
    GT_FUSE_CATEGORY,
    GT_FUSE_NAME,
    GT_FUSE_TIME,
    GT_FUSE_ID,
    GT_FUSE_PROCESS,
    GT_FUSE_THREAD,
    GT_FUSE_ARGS,
    GT_FUSE_CORRELATION,
    GT_FUSE_EXTERNAL_ID,
    GT_FUSE_RANK, /* this and the following: only if the trace was fused before */
    GT_FUSE_ID_RAW,
    GT_FUSE_PROCESS_RAW,
    GT_FUSE_CORRELATION_RAW,
    GT_FUSE_EXTERNAL_ID_RAW,
    GT_FUSE_MEMBERS
} gt_fuse_member;

typedef struct gt_fuse_event {
    const char *text; /* from '{' to '}'; valid until the reader advances */
    size_t len;
    bool is_empty, args_are_empty;
    struct {
        size_t begin, end; /* in the text; end is 0 if the event has no such member */
    } at[GT_FUSE_MEMBERS];
} gt_fuse_event;

/* Reads the element at the cursor. Returns false if the JSON is invalid; *is_event is false if the element
 * is not an object. The reader keeps a mark for the text of the event: call gt_json_clear_mark when done
 * with it. */
bool gt_fuse_event_read(gt_json *json, gt_fuse_event *event, bool *is_event);

/* A member as written, strings without their quotes; empty if there is none. */
gt_str gt_fuse_event_value(const gt_fuse_event *event, gt_fuse_member member);
/* The integer value of a member; false if it is absent or not an integer. */
bool gt_fuse_event_int(const gt_fuse_event *event, gt_fuse_member member, gt_wide_int *value);

/* The changes to the events of one rank. */
typedef struct gt_fuse_change {
    size_t rank;
    struct {
        gt_fuse_member member; /* GT_FUSE_ID, GT_FUSE_PROCESS, GT_FUSE_CORRELATION or GT_FUSE_EXTERNAL_ID */
        gt_wide_int shift;     /* added if it is an integer */
    } moved[3];
    size_t moved_count;
    int64_t shift_ns; /* added to the time */
} gt_fuse_change;

/* Appends the new text of the event to the buffer. */
void gt_fuse_event_write(const gt_fuse_event *event, const gt_fuse_change *change, gt_buffer *out);

/* New names for an event: another way to distinguish ranks. */
typedef struct gt_fuse_label {
    size_t rank;             /* becomes args.rank */
    const char *name_prefix; /* plain ASCII, added before the name */
    bool has_process;        /* the event gets this process and thread */
    int64_t process, thread;
    gt_wide_int id_shift; /* added to an id that is an integer */
} gt_fuse_label;

/* Appends the text of the event with the new names to the buffer. */
void gt_fuse_event_relabel(const gt_fuse_event *event, const gt_fuse_label *label, gt_buffer *out);

/* A member as written, including quotes; empty if there is none. */
gt_str gt_fuse_event_written(const gt_fuse_event *event, gt_fuse_member member);

void gt_buffer_add_wide_int(gt_buffer *buffer, gt_wide_int value);

/* ---- all events of a trace ---- */

typedef struct gt_fuse_walk {
    gt_json json;
    /* Called at each event, with the cursor on its first byte; advances past it. Returns false if the JSON
     * is invalid or if no more events are needed (has_stopped). */
    bool (*record)(struct gt_fuse_walk *walk);
    void *context;
    uint64_t events;
    int64_t base_time_ns; /* of the document, if has_base_time */
    bool found, has_base_time, has_stopped;
    uint64_t shown; /* bytes of the file that the progress line includes */
} gt_fuse_walk;

/* Returns false if the file is damaged; the error names the file, and `record` was called for the events
 * before the damage. Advances a progress line that the caller has started. */
bool gt_fuse_walk_trace(gt_fuse_walk *walk, const char *path, bool (*record)(gt_fuse_walk *), void *context,
                        gt_error *error);

/* Prefixes the message with "rank N: ". */
void gt_fuse_name_rank(gt_error *error, size_t rank);
