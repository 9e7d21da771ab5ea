/* A trace for a viewer: slices, marks and counters on tracks of processes, written as Perfetto protobuf or
 * Chrome JSON.
 *
 *     gt_timeline *timeline = gt_timeline_new(output, path, GT_TIMELINE_PERFETTO, threads, &error);
 *     uint32_t process = gt_timeline_process(timeline, pid, name);
 *     uint32_t track = gt_timeline_track(timeline, process, (gt_track_spec){...});
 *     gt_timeline_begin(timeline, GT_TIMELINE_SLICE, track, start_ns, end_ns, category, name);
 *     gt_timeline_arg_int(timeline, key, 7);
 *     gt_timeline_end(timeline);
 *     bool written = gt_timeline_finish(timeline, &totals, &error);
 *
 * Events may come in any order. Their contents are stored on disk until the end, when all events are sorted
 * by time and overlapping slices get separate lanes; memory is a few dozen bytes per event. Categories, names
 * and keys are ids in gt_timeline_strings. */
#pragma once

#include "output/output.h"

typedef enum gt_timeline_format { GT_TIMELINE_PERFETTO, GT_TIMELINE_CHROME } gt_timeline_format;

typedef enum gt_timeline_kind {
    GT_TIMELINE_SLICE,
    GT_TIMELINE_MARK,  /* an instant; its end is ignored */
    GT_TIMELINE_VALUE, /* of a counter; set by gt_timeline_value */
} gt_timeline_kind;

typedef enum gt_track_form {
    GT_FORM_THREAD,  /* of an operating system; slices nest */
    GT_FORM_QUEUE,   /* of a GPU; slices do not nest */
    GT_FORM_COUNTER, /* has values instead of slices */
} gt_track_form;

typedef struct gt_track_spec {
    gt_track_form form;
    int64_t tid; /* of threads, and of queues whose number is to be kept; GT_NO_TID: none */
    gt_str name;
} gt_track_spec;
#define GT_NO_TID INT64_MIN

typedef struct gt_timeline gt_timeline;

/* NULL if the file cannot be created. */
gt_timeline *gt_timeline_new(gt_output *output, const char *path, gt_timeline_format format, unsigned threads,
                             gt_error *error);
gt_interner *gt_timeline_strings(const gt_timeline *timeline);

uint32_t gt_timeline_process(gt_timeline *timeline, int64_t pid, gt_str name);
uint32_t gt_timeline_track(gt_timeline *timeline, uint32_t process, gt_track_spec ask);
/* Names may become known late. */
void gt_timeline_name_process(gt_timeline *timeline, uint32_t process, gt_str name);
void gt_timeline_label_process(gt_timeline *timeline, uint32_t process, gt_str label);
void gt_timeline_name_track(gt_timeline *timeline, uint32_t track, gt_str name);

/* One event: begin, any notes (arguments), end. A slice that ends before it starts is drawn with zero length.
 */
void gt_timeline_begin(gt_timeline *timeline, gt_timeline_kind kind, uint32_t track, int64_t start_ns,
                       int64_t end_ns, uint32_t category, uint32_t name);
/* Makes the event one end of a flow arrow; all events with the same number are connected. Call it before the
 * notes. */
void gt_timeline_flow(gt_timeline *timeline, uint64_t flow, bool arrives);
void gt_timeline_value(gt_timeline *timeline, double value);
void gt_timeline_arg_int(gt_timeline *timeline, uint32_t key, int64_t value);
void gt_timeline_arg_uint(gt_timeline *timeline, uint32_t key, uint64_t value);
void gt_timeline_arg_double(gt_timeline *timeline, uint32_t key, double value);
void gt_timeline_arg_bool(gt_timeline *timeline, uint32_t key, bool value);
void gt_timeline_arg_string(gt_timeline *timeline, uint32_t key, gt_str value);
void gt_timeline_arg_interned(gt_timeline *timeline, uint32_t key,
                              uint32_t value);                                /* a string that occurs often */
void gt_timeline_arg_json(gt_timeline *timeline, uint32_t key, gt_str value); /* any JSON value */
size_t gt_timeline_end(gt_timeline *timeline); /* returns the number of the event */
/* Sets the end of a slice that becomes known late. */
void gt_timeline_set_end(gt_timeline *timeline, size_t number, int64_t end_ns);
/* Like gt_timeline_flow, for the innermost slice that starts on the track at this time; may be called before
 * or after the slice is added. */
void gt_timeline_arrow(gt_timeline *timeline, uint32_t track, int64_t time_ns, uint64_t flow, bool arrives);

typedef struct gt_timeline_totals {
    size_t events, tracks; /* tracks as drawn */
    size_t extra_tracks;   /* tracks for slices that overlap others */
    size_t moved;          /* slices on these tracks */
    size_t loose;          /* arrow ends without a slice: dropped */
    size_t mended;         /* slices that end before they start or start before time 0 */
} gt_timeline_totals;

/* Writes everything and frees the timeline, even if this fails. gt_output_commit then gives the file its
 * final name. */
bool gt_timeline_finish(gt_timeline *timeline, gt_timeline_totals *totals, gt_error *error);
/* Frees a timeline without writing it. */
void gt_timeline_free(gt_timeline *timeline);
