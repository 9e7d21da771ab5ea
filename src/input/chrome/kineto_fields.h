/* What is read of a PyTorch event, whatever the format: for the readers of Kineto traces. */
#ifndef GT_INPUT_CHROME_KINETO_FIELDS_H
#define GT_INPUT_CHROME_KINETO_FIELDS_H

#include "input/json/record.h"
#include "trace/pytorch/pytorch.h"

extern const gt_field gt_kineto_fields[GT_EVENT_COLUMNS];

/* What category and phase say together. */
gt_event_kind gt_kineto_kind_of(gt_str category, gt_str phase);

#endif
