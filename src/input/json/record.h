/* Reading many JSON objects of one kind: the events of a trace.
 *
 * A format lists the values that it wants as a table of paths; the reader returns the values of each record
 * in the order of that table. Objects of one kind from one producer look alike, so the reader learns the text
 * between their values: if a record has the same shape as an earlier one, a few comparisons of 16 to 128
 * bytes replace parsing white space, keys and punctuation (see learned.h). Any other record is parsed in
 * full, and its shape is learned.
 *
 * Keys may come in any order, unknown ones are skipped, and the last of duplicates counts. */
#pragma once

#include "json/reader.h"
#include "trace/store.h"

typedef enum gt_field_kind {
    GT_FIELD_INT,    /* an integer (1.0 is one); as the store's INT */
    GT_FIELD_TIME,   /* any number; as the store's TIME */
    GT_FIELD_STRING, /* a string, interned */
    GT_FIELD_JSON,   /* an array or object, or any other value, as its JSON text, interned */
    GT_FIELD_VIEW,   /* a string as a range of the record's text (gt_record_view); it is not interned */
} gt_field_kind;

typedef struct gt_field {
    const char
        *path; /* keys from the record inwards, joined by '/': "args/External id"; NULL: never in the text */
    gt_field_kind kind;
    bool few; /* has only a few values, which distinguish kinds of records: learned as part of the text */
} gt_field;

enum { GT_RECORD_MAX_FIELDS = GT_STORE_MAX_COLUMNS };

typedef struct gt_record {
    uint64_t present;  /* bit f: cells[f] holds field f's value */
    uint64_t mistyped; /* bit f: the record has field f, but of another type (null counts as absent) */
    uint64_t integral; /* bit f: TIME field f was written as an integer */
    bool dropped;      /* the record is not wanted (gt_record_reader_drop): its other members are undefined */
    bool not_object;   /* the record, or a value on the way to a field, should be an object and is not */
    gt_store_cell cells[GT_RECORD_MAX_FIELDS];
    struct {
        uint32_t begin, len; /* of VIEW fields: a range of raw bytes, relative to the record's first byte */
    } views[GT_RECORD_MAX_FIELDS];
    const uint8_t *text; /* the record's first byte; valid until the next record is read */
    uint64_t offset;     /* its place in the (inflated) input; set by gt_records_read */
} gt_record;

/* The value of a STRING field; GT_STR_NONE if the record has none. */
static inline uint32_t gt_record_string(const gt_record *record, size_t field)
{
    return record->present >> field & 1 ? (uint32_t)record->cells[field].text : GT_STR_NONE;
}

typedef struct gt_record_reader gt_record_reader;

/* The fields and strings must outlive the reader. */
gt_record_reader *gt_record_reader_new(const gt_field *fields, size_t count, gt_interner *strings);
/* Decides which records are not wanted, from their `few` fields alone (which must be members of the record
 * itself, not deeper). Once these have been read, the rest of an unwanted record is skipped by its brackets,
 * without checks. */
typedef bool gt_record_unwanted(const gt_record *record, gt_record_reader *reader);
void gt_record_reader_drop(gt_record_reader *reader, gt_record_unwanted *unwanted);
/* Sets a field that is never in the text to a number that follows from the `few` fields. The number is
 * learned with them, so that this is not called for every record. */
typedef int64_t gt_record_derived(const gt_record *record, gt_record_reader *reader);
void gt_record_reader_derive(gt_record_reader *reader, size_t field, gt_record_derived *derived);
/* Decides, likewise, which fields of a record are needed: bit f for field f. Once all of them have been read,
 * the rest of the record is skipped, too. */
typedef uint64_t gt_record_needed(const gt_record *record, gt_record_reader *reader);
void gt_record_reader_need(gt_record_reader *reader, gt_record_needed *needed);
void gt_record_reader_free(gt_record_reader *reader);

/* Reads the value at the cursor, after gt_json_next_element. False if the JSON is invalid. */
bool gt_record_read(gt_record_reader *reader, gt_json *json, gt_record *record);

/* Skips records that gt_record_read would drop, from the one at the cursor on, if their shape is known, they
 * begin before the offset `limit`, and the next one follows after the bytes of `separator` in the current
 * block. The cursor stays at a record. Returns how many it skipped; where many records are dropped, this is
 * faster than reading one by one. The bytes must be readable up to the next multiple of 16. */
size_t gt_record_skip_dropped(gt_record_reader *reader, gt_json *json, gt_str separator, uint64_t limit);

/* The raw bytes of a VIEW field; empty if it is absent. */
gt_str gt_record_view(const gt_record *record, size_t field);
/* The decoded string of a VIEW's raw bytes, interned; GT_STR_NONE if an escape is invalid. */
uint32_t gt_record_decode(gt_record_reader *reader, gt_str raw);

/* The strings that the reader interns into. */
gt_interner *gt_record_strings(const gt_record_reader *reader);
/* Memory in which a format's check can keep state from record to record; zero at first. */
enum { GT_RECORD_SCRATCH = 1024 };
void *gt_record_scratch(gt_record_reader *reader);

/* What the format's check needs to know, if anything; not owned. */
void gt_record_set_context(gt_record_reader *reader, const void *context);
const void *gt_record_context(const gt_record_reader *reader);

/* How many records had to be parsed in full: for tests and benchmarks. */
uint64_t gt_record_reader_misses(const gt_record_reader *reader);
