/* A row of a CSV file on its way into the run: the reader fills it field by field, then what it says goes
 * into the store that the kind of file fills. */
#ifndef GT_INPUT_ROCPROF_CSV_ROW_H
#define GT_INPUT_ROCPROF_CSV_ROW_H

#include "base/map.h"
#include "base/memory.h"
#include "base/buffer.h"
#include "input/rocprof/csv_columns.h"

/* A kernel by its name as the file has it. */
typedef struct gt_csv_kernel {
    uint32_t text; /* of the kernel's short name; GT_STR_NONE until it is first seen */
    gt_kernel_use use;
    int64_t kernel_id;
} gt_csv_kernel;

/* The row in hand, and what is remembered from one row to the next. */
typedef struct gt_csv_row {
    gt_rocprof_writers *writers;
    gt_rocprof *run;
    const gt_csv_source *source;
    const char *path;
    gt_csv_kind kind;
    bool doubled; /* quotes in quoted fields are doubled, as Python writes them */
    gt_csv_step plan[GT_CSV_MAX_FIELDS];
    gt_str names[GT_CSV_MAX_FIELDS]; /* of the header, for messages; copies in `arena` */
    gt_arena arena;
    gt_buffer undoubled, repaired;
    size_t columns;

    gt_interner *raw; /* kernel names as the file has them */
    gt_csv_kernel *known;
    size_t known_count, known_capacity;
    int64_t last_pid, process; /* of the row before */
    uint32_t last_guid;
    gt_map processes;      /* (pid, guid) to process */
    gt_map counted;        /* dispatches that counters were collected of */
    bool source_named;     /* the source's process has its pid */
    uint32_t words[SLOTS]; /* text ids of the row before, by slot */

    size_t row;                     /* its number; the header is row 1 */
    uint64_t present;               /* a bit for each slot that has a value */
    gt_store_cell cells[SLOTS];     /* of numbers and words */
    gt_str texts[SLOTS];            /* of other texts */
    double wide[GT_CSV_MAX_FIELDS]; /* by column */
    gt_error *error;
    bool long_names; /* gt_read_options */
} gt_csv_row;

/* What a field's bytes mean: quotes that stand doubled for one are taken back, what is not UTF-8 is replaced.
 * Valid until it is asked for the next time. */
gt_str gt_csv_unescape(gt_csv_row *row, gt_str text);
/* The text id of a field of a slot; most are that of the row before. */
uint32_t gt_csv_intern_field(gt_csv_row *row, int slot, gt_str text);
static inline uint32_t gt_csv_interned_field(gt_csv_row *row, int slot, gt_str text)
{
    gt_str before = gt_interner_get(row->run->strings, row->words[slot]);
    if (row->words[slot] && before.len == text.len && memcmp(before.bytes, text.bytes, text.len) == 0)
        return row->words[slot];
    return gt_csv_intern_field(row, slot, text);
}

/* Adds the row to the run, by the kind of file; NULL of kinds that are not read. */
typedef void gt_csv_adder(gt_csv_row *row);
extern gt_csv_adder *const gt_csv_adders[GT_CSV_KINDS];

#endif
