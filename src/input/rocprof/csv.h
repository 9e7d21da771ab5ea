/* Private to the reader of rocprofv3's CSV files: scanning of fields, and the meaning of columns.
 *
 * In the scanning functions `end` is the end of the available text; up to GT_SCAN_PAD bytes after it may be
 * read. A result of NULL means that the field does not end before `end`: the caller gets more text, or at the
 * end of the file uses the field as it is. */
#pragma once

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

/* ---- rows (csv.c) ---- */

enum { GT_CSV_MAX_ROW = 64 * 1024 * 1024 };

/* A kernel, by its name as it is in the file. */
typedef struct gt_csv_kernel {
    uint32_t text; /* string id of its short name; GT_STR_NONE: not seen yet */
    gt_kernel_use use;
    int64_t kernel_id;
} gt_csv_kernel;

/* The current row, and what is kept from one row to the next. */
typedef struct gt_csv_row {
    gt_rocprof_writers *writers;
    gt_rocprof *run;
    const struct gt_csv_row *seed; /* of a chunk: the reader of the file, which does not change meanwhile */
    struct gt_csv_later *later;    /* of a chunk: what the run gets to know after it; else NULL */
    gt_csv_source *source;
    const char *path;
    gt_csv_kind kind;
    bool doubled; /* quotes in quoted fields are doubled, as Python's csv module writes them */
    gt_csv_step plan[GT_CSV_MAX_FIELDS];
    gt_str names[GT_CSV_MAX_FIELDS]; /* of the columns, for messages; copies in `arena` */
    gt_arena arena;
    gt_buffer unescaped, repaired;
    size_t columns;

    gt_interner *raw; /* kernel names as they are in the file */
    gt_csv_kernel *known;
    size_t known_count, known_capacity;
    int64_t last_pid, process; /* of the previous row */
    uint32_t last_guid;
    gt_map counted;           /* dispatches that already have a counter */
    uint32_t interned[SLOTS]; /* string ids of the previous row, by slot */

    size_t row;                     /* its number; the header is row 1 */
    uint64_t present;               /* one bit per slot that has a value */
    gt_store_cell cells[SLOTS];     /* numbers and interned strings */
    gt_str texts[SLOTS];            /* other strings */
    double wide[GT_CSV_MAX_FIELDS]; /* by column */
    gt_error *error;
    bool long_names; /* as in gt_read_options; also set by full_names */
    bool full_names;
    bool knows_subject;
    int64_t stats_subject; /* then: what the rows of a statistics file are about */
} gt_csv_row;

gt_csv_row *gt_csv_row_new(gt_rocprof_writers *writers, gt_csv_source *source,
                           const gt_read_options *options);
void gt_csv_row_free(gt_csv_row *row);

/* How reading a row ended. CUT: the text ends in it. BAD: with an error. */
typedef enum gt_csv_end { GT_CSV_ROW_COMPLETE, GT_CSV_ROW_CUT, GT_CSV_ROW_BAD } gt_csv_end;

/* Reads the complete rows that begin before `limit`, and moves *at to the next one. `last`: the file ends at
 * `end`. */
gt_csv_end gt_csv_read_rows(gt_csv_row *row, const uint8_t **at, const uint8_t *end, bool last,
                            const uint8_t *limit);
/* The process of the run with this pid (-1: none) or guid, a new one if needed. */
int64_t gt_csv_process(gt_csv_row *row, int64_t pid, uint32_t guid);
/* The id in the run of a kernel by its name in the file. *text is the string id of its short name;
 * GT_STR_NONE: not known yet. */
int64_t gt_csv_kernel_id(gt_csv_row *row, gt_str name, uint32_t *text, gt_kernel_use use);
/* From here on, several threads may look up agents. */
void gt_csv_source_prepare(gt_csv_source *source);

/* ---- one file on several threads (csv_chunks.c) ---- */

/* Whether the rest of the file, from a row at `offset` on, is worth several threads. */
bool gt_csv_chunks_pay(const gt_csv_row *row, const gt_stream *stream, uint64_t offset);
/* Reads rows into the run of `row` and returns the offset of the first row that is not read: the end of the
 * file, or a row before which something unusual comes. The caller reads on from there. */
uint64_t gt_csv_read_chunks(gt_csv_row *row, const gt_stream *stream, uint64_t offset);

/* For the rows of a chunk: numbers that stand for a process and a kernel until the chunk's turn. */
int64_t gt_csv_later_process(gt_csv_row *row, int64_t pid, uint32_t guid);
int64_t gt_csv_later_kernel(gt_csv_row *row, uint32_t raw, gt_kernel_use use);
