/* An array of records into the event store, on all cores.
 *
 * Compressed input and pipes are parsed by one thread while another inflates. A plain file is cut into
 * chunks: each worker guesses where the first record of its chunk begins (it searches for the text between
 * two records, which was seen before) and parses from there. A chunk counts only if the previous one ends
 * exactly where it began; otherwise it is read again from the right place. So the result is the same as with
 * one thread, in the order of the file. */
#pragma once

#include "input/options.h"
#include "input/json/record.h"

typedef struct gt_record_format {
    const char *what; /* "event": for messages */
    const gt_field *fields;
    const gt_store_column *columns; /* one per field; VIEW fields have one too, which stays empty */
    size_t count;
    /* Called for each record before it is stored, from several threads: may complete its cells, and returns
     * in a few words what is wrong with it (NULL: nothing). May be NULL. */
    const char *(*check)(gt_record *record, gt_record_reader *reader);
    gt_record_unwanted *unwanted; /* records that are counted but not stored; may be NULL */
    /* Which of the stores a record goes into, after `check`: an index below gt_record_stores.count. NULL: all
     * go into the first. */
    size_t (*place)(const gt_record *record);
    const void *context;        /* for `check`: gt_record_context; may be NULL */
    gt_record_needed *needed;   /* the fields that `check` and the stores need; NULL: all */
    gt_record_derived *derived; /* of the field `derived_field`, before all others of these; NULL: none */
    size_t derived_field;
} gt_record_format;

/* Where records go. All stores have the format's columns and the same strings. */
enum { GT_RECORD_MAX_STORES = 4 };
typedef struct gt_record_stores {
    gt_store *items[GT_RECORD_MAX_STORES];
    size_t count;
} gt_record_stores;

/* Starts the threads for the arrays of a file if it is worth several, while the caller reads what is before
 * them. */
void gt_records_prepare(const gt_stream *stream, const gt_read_options *options);

/* Reads the array at the cursor. False if the JSON is invalid; everything read before that is in the store.
 */
bool gt_records_read(gt_json *json, const gt_record_format *format, gt_store *store,
                     const gt_read_options *options);
/* The same into several stores; in those that a record does not go into, it is only counted. */
bool gt_records_read_apart(gt_json *json, const gt_record_format *format, const gt_record_stores *stores,
                           const gt_read_options *options);
