/* A TrackEvent as it stands in its packet: numbers that stand for names are not looked up yet. */
#ifndef GT_INPUT_PERFETTO_EVENT_H
#define GT_INPUT_PERFETTO_EVENT_H

#include "input/perfetto/perfetto.h"

typedef struct gt_raw_event {
    int64_t type;
    uint64_t category_iid, name_iid, track;
    gt_str category, name;
    bool has_track, has_category;
    gt_str notes; /* the part that holds its annotations */
    double value;
    int64_t phase, dur_us; /* from here on: of older writers */
    uint64_t id;
    bool has_id;
} gt_raw_event;

/* One pass over the event, which must be zero; annotations are only passed by. Flow ids are added to `flows`.
 * False where it is damaged. */
bool gt_raw_event_read(gt_raw_event *event, gt_str bytes, gt_proto_ints *flows);

/* The type that a phase of a Chrome trace stands for; false for those that are no slices. */
bool gt_perfetto_type_of_phase(int64_t phase, gt_perfetto_type *type);

#endif
