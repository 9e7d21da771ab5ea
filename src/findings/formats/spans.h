/* When are the devices of a trace busy, if their ops do not come by start? */
#pragma once

#include "findings/schedule/all_devices.h"

typedef struct gt_device_span {
    int64_t start, end;
    uint32_t device;
} gt_device_span;

/* {0} is empty. */
typedef struct gt_device_spans {
    gt_device_span *items;
    size_t count, capacity;
} gt_device_spans;

/* Adds the spans to the busy time of their devices, and frees them. */
void gt_device_spans_measure(gt_device_spans *spans, gt_busy_sum *by_device);
