/* Perfetto events as the records of a Chrome trace, so that one table of fields (gt_field) serves both
 * formats:
 *
 *     ph         X on tracks of threads, b on others; i, C
 *     cat, name
 *     pid, tid   of the track; tid is the process id if the track is not a thread, as in Perfetto's own
 *                conversion to JSON
 *     ts, dur    microseconds; dur only of complete events, see gt_slices for the others
 *     args/X     the annotation X */
#pragma once

#include "input/json/record.h"
#include "input/perfetto/perfetto.h"

typedef struct gt_perfetto_records gt_perfetto_records;

/* The trace and the fields must outlive the result. */
gt_perfetto_records *gt_perfetto_records_new(gt_perfetto *trace, const gt_field *fields, size_t count);
void gt_perfetto_records_free(gt_perfetto_records *records);

/* Clears the record and sets the fields of the event itself. */
void gt_perfetto_record_head(gt_perfetto_records *records, const gt_perfetto_event *event, gt_record *record);

/* Sets the fields of the annotations. Annotations without a field are passed to `other`, which may be NULL.
 */
typedef void gt_perfetto_unknown_note(void *context, const gt_note *note);
void gt_perfetto_record_args(gt_perfetto_records *records, const gt_perfetto_event *event, gt_record *record,
                             gt_perfetto_unknown_note *other, void *context);

/* ---- durations of slices whose begin and end are separate events ----
 *
 * Slices of one track are nested: an end closes the slice that began last. Events may come out of order, so
 * the begins and ends of a track are collected until there are as many ends as begins. Then:
 *
 *   - if they came in order of time, the rule above holds;
 *   - if all begins came first and then all ends, the n-th end closes the n-th begin. Writers that go
 *     through columns write them so, and such slices may overlap: begins at 15 and 10, then ends at 25 and
 *     20, are the slices 15-25 and 10-20;
 *   - otherwise they are sorted by time.
 *
 * At equal times, slices that began earlier end before others begin. */

#define GT_SLICE_UNWANTED UINT32_MAX

typedef struct gt_slices gt_slices;

gt_slices *gt_slices_new(void);
void gt_slices_free(gt_slices *slices);

/* `row` is the result's index, from 0, each used once; GT_SLICE_UNWANTED if the duration is not needed. */
void gt_slices_begin(gt_slices *slices, uint32_t track, int64_t time_ns, uint32_t row);
void gt_slices_end(gt_slices *slices, uint32_t track, int64_t time_ns);
/* Adds a slice whose duration is known. */
void gt_slices_complete(gt_slices *slices, uint32_t row, int64_t dur_ns);

/* The durations of rows 0 to count - 1, GT_SLICE_OPEN if a slice has no end. Owned by `slices`. */
#define GT_SLICE_OPEN INT64_MIN
const int64_t *gt_slices_finish(gt_slices *slices, size_t count);

/* Nanoseconds in microseconds, rounded to the nearest double. */
double gt_perfetto_us(int64_t time_ns);

/* Fills a column of the store, whose rows are those of `slices`, with durations in microseconds. */
void gt_perfetto_fill_durations(gt_store *store, size_t column, gt_slices *slices);
