/* Writes a JSON document piece by piece, indented by two spaces: plans, records of runs, manifests.
 *
 *     gt_json_writer w = {0};
 *     gt_json_open(&w, '{');
 *     gt_json_key(&w, "name");
 *     gt_json_add_cstr(&w, "run");
 *     gt_json_close(&w, '}');
 *
 * A long document need not be in memory: with `take`, the text so far is handed over whenever there is much
 * of it, and gt_json_end_document hands over the rest. */
#pragma once

#include "json/values.h"

typedef struct gt_json_writer {
    gt_buffer text;
    int depth;
    bool after_value, after_key;
    gt_buffer scratch;
    void (*take)(void *context, gt_str text); /* NULL: all text stays in `text` */
    void *context;
} gt_json_writer;

void gt_json_open(gt_json_writer *w, char bracket); /* '{' or '[' */
void gt_json_close(gt_json_writer *w, char bracket);
void gt_json_key(gt_json_writer *w, const char *key);
void gt_json_add_cstr(gt_json_writer *w, const char *text); /* NULL: null */
void gt_json_add_int(gt_json_writer *w, int64_t number);
void gt_json_add_real(gt_json_writer *w, double number); /* null for NaN and infinity */
void gt_json_add_bool(gt_json_writer *w, bool boolean);
void gt_json_add_value(gt_json_writer *w, const gt_value *value); /* MISSING: null */
void gt_json_add_string(gt_json_writer *w, gt_str text);          /* repairs what is not UTF-8 */
void gt_json_add_raw(gt_json_writer *w, gt_str json);             /* a value that is JSON already */

/* A key with its value at once, or with the bracket that opens its value. */
void gt_json_put_open(gt_json_writer *w, const char *key, char bracket);
void gt_json_put_cstr(gt_json_writer *w, const char *key, const char *text);
void gt_json_put_int(gt_json_writer *w, const char *key, int64_t number);
void gt_json_put_real(gt_json_writer *w, const char *key, double number);
void gt_json_put_bool(gt_json_writer *w, const char *key, bool boolean);
void gt_json_put_value(gt_json_writer *w, const char *key, const gt_value *value);
void gt_json_put_cstrs(gt_json_writer *w, const char *key, const char *const *texts, size_t count);

/* Ends the document with a line break and, with `take`, hands over what is left of it. */
void gt_json_end_document(gt_json_writer *w);
void gt_json_writer_free(gt_json_writer *w);
