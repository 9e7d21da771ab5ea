/* The writers of documents, in three steps, so that several documents can be written at the same time:
 *
 *     begin   creates the files, on the thread of the output; one document after the other
 *     run     makes and writes their contents, on any thread, with loops of its own
 *     end     gives warnings, returns the first failure and frees the writer; one after the other, in order
 *
 * Reports call gt_output_documents of output/output.h. */
#pragma once

#include "output/file.h"

typedef struct gt_document_writer {
    void *state;
    bool failed; /* a file could not be created; run and end must still be called */
    void (*run)(void *state);
    bool (*end)(void *state, gt_error *error); /* error NULL: a document before it failed, so be silent */
} gt_document_writer;

gt_document_writer gt_csv_writer_begin(gt_output *output, const gt_document *document,
                                       gt_table *const *tables, size_t count);
gt_document_writer gt_xlsx_writer_begin(gt_output *output, const gt_document *document,
                                        gt_table *const *tables, size_t count);
gt_document_writer gt_sqlite_writer_begin(gt_output *output, const gt_document *document,
                                          gt_table *const *tables, size_t count);
