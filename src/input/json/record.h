/* Reading many JSON objects of one kind: the events of a trace.
 *
 * A format says which values it wants as a table of paths; the reader gives each record's values in the
 * table's order. Objects of one kind from one producer look alike, so the reader learns the text between
 * their values: where a record goes as one before it went, a few comparisons of 16 to 128 bytes take the
 * place of white space, keys and punctuation (learned.c). Any other record takes the general way and teaches
 * the reader.
 *
 * Keys may come in any order, unknown ones are passed over, of duplicates the last counts. */
#ifndef GT_INPUT_JSON_RECORD_H
#define GT_INPUT_JSON_RECORD_H

#include "base/interner.h"
#include "json/reader.h"
#include "trace/store.h"

typedef enum gt_field_kind {
    GT_FIELD_INT,    /* an integer (1.0 is one); as the store's INT */
    GT_FIELD_TIME,   /* any number; as the store's TIME */
    GT_FIELD_STRING, /* a string, interned */
    GT_FIELD_JSON,   /* an array or object, or any other value, as its JSON text, interned */
    GT_FIELD_VIEW,   /* a string as a place in the record's text (gt_record_view); nothing of it is kept */
} gt_field_kind;

typedef struct gt_field {
    const char
        *path; /* keys from the record inwards, joined by '/': "args/External id"; NULL: never in the text */
    gt_field_kind kind;
    bool few; /* takes a handful of values that tell kinds of records apart: learned as part of the text */
} gt_field;

enum { GT_RECORD_MAX_FIELDS = GT_STORE_MAX_COLUMNS };

typedef struct gt_record {
    uint64_t present;  /* bit f: cells[f] holds field f's value */
    uint64_t mistyped; /* bit f: the record has field f, but of another type (null counts as absent) */
    uint64_t integral; /* bit f: TIME field f was written as an integer */
    bool dropped;      /* the record is not wanted (gt_record_reader_drop): its other members mean nothing */
    bool not_object;   /* the record, or a value on the way to a field, should be an object and is not */
    gt_store_cell cells[GT_RECORD_MAX_FIELDS];
    struct {
        uint32_t begin, len; /* of VIEW fields: raw bytes, counted from the record's first */
    } views[GT_RECORD_MAX_FIELDS];
    const uint8_t *text; /* the record's first byte; valid until the next record is read */
} gt_record;

/* Of a TEXT field; GT_STR_NONE where the record has none. */
static inline uint32_t gt_record_string(const gt_record *record, size_t field)
{
    return record->present >> field & 1 ? (uint32_t)record->cells[field].text : GT_STR_NONE;
}

typedef struct gt_record_reader gt_record_reader;

/* The fields and strings must outlive the reader. */
gt_record_reader *gt_record_reader_new(const gt_field *fields, size_t count, gt_interner *strings);
/* Says which records are not wanted, by their `few` fields alone (which must stand in the record itself, not
 * deeper): once they have been read, the rest of such a record is passed over by its brackets, unchecked. */
typedef bool gt_record_unwanted(const gt_record *record, gt_record_reader *reader);
void gt_record_reader_drop(gt_record_reader *reader, gt_record_unwanted *unwanted);
void gt_record_reader_free(gt_record_reader *reader);

/* Reads the value at the cursor, as gt_json_next_element leaves it. False where the JSON failed. */
bool gt_record_read(gt_record_reader *reader, gt_json *json, gt_record *record);

/* A VIEW field's raw bytes; empty where it is absent. */
gt_str gt_record_view(const gt_record *record, size_t field);
/* The text that a VIEW's raw bytes mean, escapes resolved; GT_STR_NONE where they are not sound. */
uint32_t gt_record_decode(gt_record_reader *reader, gt_str raw);

/* The strings that the reader interns into. */
gt_interner *gt_record_strings(const gt_record_reader *reader);
/* Room for a format's check to remember things in from record to record; zero at first. */
enum { GT_RECORD_SCRATCH = 1024 };
void *gt_record_scratch(gt_record_reader *reader);

/* How many records took the general way: for tests and benchmarks. */
uint64_t gt_record_reader_misses(const gt_record_reader *reader);

#endif
