/* The devices of a PyTorch trace, and the device of each GPU event.
 *
 * A GPU event names its device in args.device. One that does not belongs to the device that other events of
 * its process name, which is the GPU's lane in the viewer; if none does, the process is the device. That
 * number alone does not identify a GPU where one trace holds several ranks (`gputally
 * fuse`, or traces merged by other programs): each rank may call its GPU device 0. So two events ran on the
 * same device if their device, their process and, if every GPU event has one, their rank are equal. */
#pragma once

#include "table/table.h"
#include "trace/pytorch/pytorch.h"

/* A trace with more is damaged; the sheets with rows per device are omitted then. */
enum { GT_DEVICES_MAX = 1 << 16 };

#define GT_NO_DEVICE         UINT32_MAX
#define GT_DEVICE_UNNUMBERED INT64_MIN

typedef struct gt_device {
    int64_t number; /* args.device, else the process id; GT_DEVICE_UNNUMBERED if neither ends in digits */
    int64_t rank;   /* GT_EVENT_NONE: not known */
    uint32_t process;
} gt_device;

/* In order of rank, number and process. */
typedef struct gt_devices {
    gt_device *items;
    size_t count;
    bool have_ranks;   /* the rank is part of the identity */
    bool need_process; /* rank and number do not tell all devices apart */
    uint32_t *of_row;  /* by row: the device of a GPU event, GT_NO_DEVICE for others. NULL if all GPU events
                          are of one device */
} gt_devices;

gt_devices gt_devices_find(const gt_event_view *events);
void gt_devices_free(gt_devices *devices);

/* The device of a GPU event. */
static inline uint32_t gt_device_of(const gt_devices *devices, size_t row)
{
    return devices->of_row ? devices->of_row[row] : 0;
}

/* Inserts the columns that identify a device in addition to its number, rank and pid, if they are needed and
 * the table lacks them, at this position. The cells are null. */
void gt_devices_add_columns(const gt_devices *devices, gt_table *table, size_t position);
/* Fills device, rank and pid in a range of rows. */
void gt_devices_fill(const gt_devices *devices, size_t device, gt_table *table, size_t first_row,
                     size_t end_row);
