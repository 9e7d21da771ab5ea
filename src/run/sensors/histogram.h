/* Instructions by class, from the counters of a run: instruction_histogram.json. */
#ifndef GT_RUN_SENSORS_HISTOGRAM_H
#define GT_RUN_SENSORS_HISTOGRAM_H

#include "base/buffer.h"
#include "os/shell_words.h"
#include "table/table.h"

enum { GT_HISTOGRAM_CLASSES = 6 };

/* Sums in the order in which classes were first met. */
typedef struct gt_histogram {
    const char *names[GT_HISTOGRAM_CLASSES];
    __int128 sums[GT_HISTOGRAM_CLASSES];
    size_t count;
} gt_histogram;

/* Adds a table of counters, all cells text: one column a counter, or rocprofv3's Counter_Name and
 * Counter_Value. */
void gt_histogram_add(gt_histogram *histogram, const gt_table *table);
/* Adds it as JSON, one class a line. */
void gt_histogram_print(const gt_histogram *histogram, gt_buffer *text);

/* Reads rocprofv3_output_counter_collection.csv and ..._domain_stats.csv of a folder and writes the file
 * beside them; nothing where they hold no such counters. */
void gt_histogram_write(const char *folder, gt_arg_list *written, gt_arena *arena);

#endif
