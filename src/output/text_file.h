/* A long text written front to back, made and compressed on several threads: as gzip where the file's name
 * ends in
 * ".gz", else as it is.
 *
 * The text comes in pieces. Each is made on one of the file's threads, compressed there, and written in the
 * order in which the pieces were added. Gzip made so is still one stream, as any program reads it: each piece
 * is deflated on its own and ended on a byte. Memory is a few pieces a thread, whatever the text's length. */
#ifndef GT_OUTPUT_TEXT_FILE_H
#define GT_OUTPUT_TEXT_FILE_H

#include "base/buffer.h"
#include "output/output.h"

typedef struct gt_text_file gt_text_file;

typedef struct gt_text_file_job {
    void (*make)(void *piece, gt_buffer *text); /* adds the text of a piece; on any thread */
    bool (*take)(
        void *piece); /* the piece is made; whether its text counts. In order, on the caller's thread */
} gt_text_file_job;

/* A file that the output's commit gives its name. NULL where it cannot be made. */
gt_text_file *gt_text_file_open(gt_output *output, const char *path, unsigned threads, gt_error *error);
void gt_text_file_add(gt_text_file *file, const gt_text_file_job *work, void *piece);
void gt_text_file_finish_pieces(gt_text_file *file); /* returns when all pieces added so far are written */
/* A text of the caller's own. Failures of writing are kept; closing tells. */
void gt_text_file_write(gt_text_file *file, gt_str text);
/* Writes what is left and frees the file, also when it fails. */
bool gt_text_file_close(gt_text_file *file, gt_error *error);

#endif
