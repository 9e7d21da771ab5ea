/* Perfetto events as the records of a Chrome trace: the same table of wanted values (gt_field) serves both
 * formats.
 *
 *     ph         X on tracks of threads, b on others; i, C
 *     cat, name
 *     pid, tid   of the track; on a track that is no thread's, tid is the process's too, as Perfetto's own
 *                conversion to JSON has it
 *     ts, dur    microseconds; dur only of complete events (slices.h has the others')
 *     args/X     the annotation X */
#ifndef GT_INPUT_PERFETTO_RECORD_H
#define GT_INPUT_PERFETTO_RECORD_H

#include "input/perfetto/note.h"
#include "input/json/record.h"
#include "input/perfetto/slices.h"

typedef struct gt_perfetto_records gt_perfetto_records;

/* The fields must outlive it. */
gt_perfetto_records *gt_perfetto_records_new(gt_perfetto *trace, const gt_field *fields, size_t count);
void gt_perfetto_records_free(gt_perfetto_records *records);

/* Empties the record and fills what stands in the event itself. */
void gt_perfetto_record_head(gt_perfetto_records *records, const gt_perfetto_event *event, gt_record *record);

/* Adds what the annotations say. Those that no field wants go to `other`, which may be NULL. */
typedef void gt_perfetto_unknown_note(void *context, const gt_note *note);
void gt_perfetto_record_args(gt_perfetto_records *records, const gt_perfetto_event *event, gt_record *record,
                             gt_perfetto_unknown_note *other, void *context);

/* Nanoseconds as microseconds, to the nearest double. */
double gt_perfetto_us(int64_t time_ns);

/* Gives the events of a store, which are the rows of `slices`, their durations in microseconds. */
void gt_perfetto_fill_durations(gt_store *store, size_t column, gt_slices *slices);

#endif
