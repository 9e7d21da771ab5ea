/* The columns of rocprofv3's CSV files: which kind of file a header is of, and what each column is to the
 * reader. */
#ifndef GT_INPUT_ROCPROF_CSV_COLUMNS_H
#define GT_INPUT_ROCPROF_CSV_COLUMNS_H

#include "input/rocprof/csv.h"

enum { GT_CSV_MAX_FIELDS = 512 };

/* What a column's fields are. */
typedef enum gt_csv_field {
    GT_CSV_SKIP,
    GT_CSV_INT,
    GT_CSV_AGENT, /* "Agent 3", "GPU 0" or 3: the number at its end */
    GT_CSV_REAL,
    GT_CSV_STRING,   /* a view into the row */
    GT_CSV_INTERNED, /* text that goes into the store as it is */
    GT_CSV_WIDE,     /* of the old results.csv: a counter named by its column */
} gt_csv_field;

/* Slots of a row: the columns of the store that the kind of file fills, then these. */
enum {
    SLOT_NAME = GT_STORE_MAX_COLUMNS - 8, /* Kernel_Name, Function */
    SLOT_VGPRS,
    SLOT_ACCUM_VGPRS,
    SLOT_SGPRS,
    SLOT_KERNEL_LDS,
    SLOT_DIRECTION,
    SLOT_PID,
    SLOT_GUID,
    SLOTS
};

/* Counter rows go into a dispatch's slots; what is the counter's own lies behind them. */
enum { SLOT_COUNTER = GT_DISPATCH_COLUMNS, SLOT_VALUE };

/* What is done with a column's fields. */
typedef struct gt_csv_step {
    gt_csv_field kind;
    int slot;
    uint32_t counter; /* of WIDE: its name's text id */
} gt_csv_step;

typedef struct gt_csv_header {
    gt_str names[GT_CSV_MAX_FIELDS]; /* views into the text */
    size_t count;
    const uint8_t *rows; /* behind its line */
} gt_csv_header;

/* The names of the first line; false where it is not whole or no header. */
bool gt_csv_header_split(gt_str text, gt_csv_header *header);
gt_csv_kind gt_csv_header_kind(const gt_csv_header *header);
/* What a column of such a file is; GT_CSV_SKIP where it is of no use, GT_CSV_WIDE where the old results.csv
 * names a counter by it. */
gt_csv_step gt_csv_column(gt_csv_kind kind, gt_str name);
const uint8_t *gt_csv_after_line_end(const uint8_t *at, const uint8_t *end);

#endif
