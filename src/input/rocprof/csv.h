/* Private to the reader of rocprofv3's CSV files: scanning of fields, and the meaning of columns.
 *
 * In the scanning functions `end` is the end of the available text; up to GT_SCAN_PAD bytes after it may be
 * read. A result of NULL means that the field does not end before `end`: the caller gets more text, or at the
 * end of the file uses the field as it is. */
#ifndef GT_INPUT_ROCPROF_CSV_H
#define GT_INPUT_ROCPROF_CSV_H

#include "base/interner.h"
#include "input/rocprof/readers.h"
#include "json/scan.h"

/* ---- fields ---- */

static inline bool gt_csv_ends_field(uint8_t byte)
{
    return byte == ',' || byte == '\n' || byte == '\r';
}

/* The first comma or line end at or after p. */
static inline const uint8_t *gt_csv_plain_end_scalar(const uint8_t *p, const uint8_t *end)
{
    while (p < end && !gt_csv_ends_field(*p)) p++;
    return p < end ? p : NULL;
}

static inline const uint8_t *gt_csv_plain_end(const uint8_t *p, const uint8_t *end)
{
#if GT_SCAN_VECTOR
    for (; p < end; p += 16) {
        gt_v16 v = gt_v16_load(p);
        gt_mask hit =
            gt_v16_mask(gt_v16_or(gt_v16_is(v, ','), gt_v16_or(gt_v16_is(v, '\n'), gt_v16_is(v, '\r'))));
        if (!hit) continue;
        p += gt_mask_first(hit);
        return p < end ? p : NULL;
    }
    return NULL;
#else
    return gt_csv_plain_end_scalar(p, end);
#endif
}

/* The first '"' at or after p, or `end`. */
static inline const uint8_t *gt_csv_next_quote_scalar(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p != '"') p++;
    return p;
}

static inline const uint8_t *gt_csv_next_quote(const uint8_t *p, const uint8_t *end)
{
#if GT_SCAN_VECTOR
    for (; p < end; p += 16) {
        gt_mask hit = gt_v16_mask(gt_v16_is(gt_v16_load(p), '"'));
        if (!hit) continue;
        p += gt_mask_first(hit);
        break;
    }
    return p < end ? p : end;
#else
    return gt_csv_next_quote_scalar(p, end);
#endif
}

/* From the byte after an opening quote: the quote that closes the field, which is the first one before a
 * comma or a line end. With `doubled`, two quotes stand for one and do not close the field. */
static inline const uint8_t *gt_csv_closing_quote(const uint8_t *p, const uint8_t *end, bool doubled)
{
    while ((p = gt_csv_next_quote(p, end)) < end) {
        const uint8_t *run = p;
        while (p < end && *p == '"') p++;
        if (p == end) return NULL;
        bool odd = (p - run) % 2 == 1;
        if (gt_csv_ends_field(*p) && (odd || !doubled)) return p - 1;
    }
    return NULL;
}

/* ---- columns (csv_columns.c) ---- */

enum { GT_CSV_MAX_FIELDS = 512 };

/* How the fields of a column are read. */
typedef enum gt_csv_field {
    GT_CSV_SKIP,
    GT_CSV_INT,
    GT_CSV_AGENT, /* "Agent 3", "GPU 0" or 3: a Logical_Node_Id */
    GT_CSV_REAL,
    GT_CSV_STRING,   /* a view into the row */
    GT_CSV_INTERNED, /* a string that is stored as it is */
    GT_CSV_WIDE,     /* of results.csv: a counter, named by its column */
} gt_csv_field;

/* A row has one slot per column of the store that the kind of file fills, and these, which need further work.
 */
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

/* Rows of counters fill the slots of a dispatch, and these after them. */
enum { SLOT_COUNTER = GT_DISPATCH_COLUMNS, SLOT_VALUE };

/* What the reader does with the fields of a column. */
typedef struct gt_csv_step {
    gt_csv_field kind;
    int slot;
    uint32_t counter; /* of WIDE: string id of its name */
} gt_csv_step;

typedef struct gt_csv_header {
    gt_str names[GT_CSV_MAX_FIELDS]; /* views into the text */
    size_t count;
    const uint8_t *rows; /* the byte after the header line */
} gt_csv_header;

/* Splits the first line into names; false if it is incomplete or not a header. */
bool gt_csv_header_split(gt_str text, gt_csv_header *header);
gt_csv_kind gt_csv_header_kind(const gt_csv_header *header);
/* How a column is read; GT_CSV_SKIP if it is not needed. */
gt_csv_step gt_csv_column(gt_csv_kind kind, gt_str name);
const uint8_t *gt_csv_after_line_end(const uint8_t *at, const uint8_t *end);

#endif
