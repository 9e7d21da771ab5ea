/* What the hardware counted while each kernel ran, under every setting of a sweep: from what rocprofv3 wrote.
 */
#ifndef GT_SWEEP_COUNTERS_H
#define GT_SWEEP_COUNTERS_H

#include "input/options.h"
#include "report/tables.h"
#include "sweep/run/layout.h"

/* Adds All_Data, a row a setting and kernel: full_config, threads_num, thread_config, channels_num,
 * channel_config, Kernel_Name, Count (dispatches) and the mean of each counter; and for each counter
 * Pivot_<counter>, kernels by settings. Settings that cannot be read are warned of and left out. Fails where
 * none has counters. */
bool gt_sweep_counter_tables(const gt_sweep *sweep, const gt_read_options *read, gt_interner *strings,
                             gt_table_list *tables, gt_error *error);

#endif
