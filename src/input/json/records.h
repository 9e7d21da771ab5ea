/* An array of records into the event store, on all cores.
 *
 * Compressed input and pipes are parsed by one thread while another inflates. A plain file is cut into
 * chunks: each worker guesses where the first record of its chunk begins (the text between two records, seen
 * before, is looked for) and parses from there; a chunk counts only if the one before it ends exactly where
 * it began, else it is read again from the right place. So the result is the same as with one thread, in the
 * file's order. */
#ifndef GT_INPUT_JSON_RECORDS_H
#define GT_INPUT_JSON_RECORDS_H

#include "input/options.h"
#include "input/json/record.h"

typedef struct gt_record_format {
    const char *what; /* "event": for messages */
    const gt_field *fields;
    const gt_store_column *columns; /* one a field; VIEW fields have one too, which stays empty */
    size_t count;
    /* Looks at each record before it is stored: may complete its cells, and says in a few words what is wrong
     * with it (NULL: nothing). Called from several threads. May be NULL. */
    const char *(*check)(gt_record *record, gt_record_reader *reader);
    gt_record_unwanted *unwanted; /* records that are counted and not stored; may be NULL */
    bool (*aside)(
        const gt_record *record); /* records, as checked, that go into a store of their own; may be NULL */
} gt_record_format;

/* Reads the array at the cursor. False where the JSON failed; what was read before that is in the store. */
bool gt_records_read(gt_json *json, const gt_record_format *format, gt_store *store,
                     const gt_read_options *options);
/* The same with a second store of the same columns and strings for what the format puts aside. */
bool gt_records_read_two(gt_json *json, const gt_record_format *format, gt_store *store, gt_store *aside,
                         const gt_read_options *options);

#endif
