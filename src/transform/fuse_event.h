/* One event on its way from a rank's trace into the trace of all ranks: what is looked at, and what is
 * written of it.
 *
 * An event is copied as text, so numbers stay as they were written. Changed are only ids and process ids,
 * which are moved apart by rank, and what is added to its args: the rank, and the old values under names
 * ending in "_raw". White space between tokens is left out, and what is not ASCII is escaped. */
#ifndef GT_TRANSFORM_FUSE_EVENT_H
#define GT_TRANSFORM_FUSE_EVENT_H

#include "base/buffer.h"
#include "json/reader.h"

/* Integers of any length that traces use: as JSON allows more than 64 bits. */
typedef __int128 gt_wide_int;

/* Products that are known to fit; unsigned because checking signed ones needs a library that clang may lack.
 */
static inline gt_wide_int gt_wide_times(gt_wide_int a, uint64_t b)
{
    return (gt_wide_int)((unsigned __int128)a * b);
}

/* The values of an event that fusing asks for. Those of args come last. */
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
    GT_FUSE_RANK, /* this and the following: only where the trace was fused before */
    GT_FUSE_ID_RAW,
    GT_FUSE_PROCESS_RAW,
    GT_FUSE_CORRELATION_RAW,
    GT_FUSE_EXTERNAL_ID_RAW,
    GT_FUSE_MEMBERS
} gt_fuse_member;

typedef struct gt_fuse_event {
    const char *text; /* from '{' to '}'; good until the reader moves on */
    size_t len;
    bool is_empty, args_are_empty;
    struct {
        size_t begin, end; /* in the text; end is 0 where the event does not have it */
    } at[GT_FUSE_MEMBERS];
} gt_fuse_event;

/* Reads the element at the cursor. False where the JSON failed; *is_event is false where it is no object. The
 * reader keeps its mark for the event's text: gt_json_clear_mark once done with it. */
bool gt_fuse_event_read(gt_json *json, gt_fuse_event *event, bool *is_event);

/* A member as written, strings without their quotes; empty where there is none. */
gt_str gt_fuse_event_value(const gt_fuse_event *event, gt_fuse_member member);
/* The integer that a member is; false where it is absent or something else. */
bool gt_fuse_event_int(const gt_fuse_event *event, gt_fuse_member member, gt_wide_int *value);

/* What is done to the events of one rank. */
typedef struct gt_fuse_change {
    size_t rank;
    struct {
        gt_fuse_member member; /* GT_FUSE_ID, GT_FUSE_PROCESS, GT_FUSE_CORRELATION or GT_FUSE_EXTERNAL_ID */
        gt_wide_int shift;     /* added where it is an integer */
    } moved[3];
    size_t moved_count;
    int64_t shift_ns; /* added to the time */
} gt_fuse_change;

/* Adds the event's new text to the buffer. */
void gt_fuse_event_write(const gt_fuse_event *event, const gt_fuse_change *change, gt_buffer *out);

/* New names for an event: another way of telling ranks apart. */
typedef struct gt_fuse_label {
    size_t rank;             /* becomes args.rank */
    const char *name_prefix; /* plain ASCII, put before the name */
    bool has_process;        /* the event is given this process and thread */
    int64_t process, thread;
    gt_wide_int id_shift; /* added to an id that is an integer */
} gt_fuse_label;

/* Adds the event's text with the new names to the buffer. */
void gt_fuse_event_relabel(const gt_fuse_event *event, const gt_fuse_label *label, gt_buffer *out);

/* A member as it is written, quotes included; empty where there is none. */
gt_str gt_fuse_event_written(const gt_fuse_event *event, gt_fuse_member member);

void gt_buffer_add_wide_int(gt_buffer *buffer, gt_wide_int value);

#endif
