/* The kinds of file that writers fill: a buffered file, a long text that several threads produce, and a
 * temporary store without a name.
 *
 * Writes do not report failures: the first one is kept, later writes do nothing, and closing the file
 * (sealing the store) returns it. */
#pragma once

#include "output/output.h"

/* ---- one file of a report, written through a buffer ---- */

enum { GT_FILE_BUFFER = 256 * 1024 };

typedef struct gt_file {
    char *path; /* the final name, for error messages */
    int descriptor;
    int failure; /* errno of the first failed write, or 0 */
    size_t used, capacity;
    char *buffer;
    bool csv_safe;  /* of the output */
    bool in_memory; /* there is no file: all bytes stay in the buffer, which grows */
} gt_file;

/* The file must stay where it is until it is closed. */
bool gt_file_open(gt_file *file, gt_output *output, const char *path, gt_error *error);
void gt_file_flush(gt_file *file);
void gt_file_write(gt_file *file, const void *bytes, size_t len);
/* Overwrites bytes that were written before, at `offset` from the start of the file. */
void gt_file_overwrite(gt_file *file, uint64_t offset, const void *bytes, size_t len);
/* Writes the rest and closes the file. The file is closed and its memory freed even if this fails. */
bool gt_file_close(gt_file *file, gt_error *error);

/* The same without a file, for text that is written later: used bytes are in the buffer. Set used to 0 to
 * begin again. */
void gt_file_begin_memory(gt_file *file, bool csv_safe);
void gt_file_end_memory(gt_file *file);

/* Opens, writes and closes a file. */
bool gt_output_write_file(gt_output *output, const char *path, gt_str text, gt_error *error);

/* Room for `need` bytes, at most GT_FILE_BUFFER; the caller adds the number of bytes it wrote to file->used.
 */
static inline char *gt_file_room(gt_file *file, size_t need)
{
    if (file->capacity - file->used < need) gt_file_flush(file);
    return file->buffer + file->used;
}

static inline void gt_file_put(gt_file *file, char byte)
{
    *gt_file_room(file, 1) = byte;
    file->used++;
}

/* Writes all bytes. Returns 0 or errno. */
int gt_write_fully(int descriptor, const void *bytes, size_t len);
int gt_write_both(int descriptor, gt_str first, gt_str second); /* with one call, if that is possible */

/* ---- documents in pieces, made by all threads of the team and written in order ----
 *
 * The pieces depend on the document alone. Memory is a few pieces per thread; while pieces are made, those
 * before them are written. */

typedef struct gt_pieces {
    size_t count;
    size_t slot_size; /* of what `make` keeps from piece to piece, which begins as zeros */
    void (*make)(void *context, size_t index, void *slot);       /* on any thread */
    void (*take)(void *context, size_t index, const void *slot); /* in order, one at a time */
    void (*end)(void *slot);                                     /* for each slot, at the end */
    void *context;
    /* Other work, done among the pieces on any thread; it may take long without holding up the pieces. */
    size_t other_count;
    void (*make_other)(void *context, size_t index, void *slot);
} gt_pieces;

void gt_pieces_run(const gt_pieces *pieces);

/* How many rows of a sheet are one piece of about this many cells. */
size_t gt_rows_per_piece(size_t columns, size_t cells);

/* ---- a long text, produced and compressed by several threads ----
 *
 * The text is added in pieces. A thread of the file produces a piece and compresses it; pieces are written in
 * the order in which they were added. The file is compressed with gzip if its name ends in ".gz". The result
 * is one ordinary gzip member: each piece is deflated on its own and ends at a byte boundary. Memory is a few
 * pieces per thread, however long the text is. */

typedef struct gt_text_file gt_text_file;

typedef struct gt_text_file_job {
    /* Adds the text of a piece. Called on any thread. */
    void (*make)(void *piece, gt_buffer *text);
    /* Called when the text is complete, in order, on the caller's thread; returns whether to write it. */
    bool (*take)(void *piece);
} gt_text_file_job;

/* The output's commit gives the file its final name. NULL on failure. */
gt_text_file *gt_text_file_open(gt_output *output, const char *path, unsigned threads, gt_error *error);
void gt_text_file_add(gt_text_file *file, const gt_text_file_job *job, void *piece);
void gt_text_file_finish_pieces(gt_text_file *file); /* returns when all pieces added so far are written */
void gt_text_file_write(gt_text_file *file, gt_str text); /* copies the text */
/* Writes the rest and frees the file, even if this fails. */
bool gt_text_file_close(gt_text_file *file, gt_error *error);

/* A part of such a text in a file of its own, which another process puts into the text: the whole file has
 * the same bytes as if the pieces of the part had been added to it. */
typedef struct gt_text_part {
    uint64_t bytes;     /* in the file of the part */
    uint64_t text_len;  /* of the text, not compressed */
    uint32_t text_crc;  /* of the text */
    uint32_t bytes_crc; /* of the bytes in the file */
} gt_text_part;
/* `gzip`: it is a part of a compressed file. */
gt_text_file *gt_text_part_open(gt_output *output, const char *path, bool gzip, unsigned threads,
                                gt_error *error);
bool gt_text_part_close(gt_text_file *file, gt_text_part *part, gt_error *error);
/* Adds a part. If it is not what was written, closing the file fails. */
void gt_text_file_append(gt_text_file *file, const char *path, const gt_text_part *part);

/* ---- a temporary store: records are added one after another and later read in any order ----
 *
 * The file has no name and disappears with the program. It is read through a mapping whose pages are released
 * regularly, so memory stays small however large the store is. */

typedef struct gt_temp_store gt_temp_store;

/* Creates the store in the folder of `path`, which must exist. NULL on failure. */
gt_temp_store *gt_temp_store_open(const char *path, gt_error *error);
/* Adds a record; returns its position. */
uint64_t gt_temp_store_add(gt_temp_store *store, const void *bytes, size_t len);
/* Ends adding; from now on records can be read. */
bool gt_temp_store_seal(gt_temp_store *store, gt_error *error);
/* A record, valid until the next one is read. */
gt_str gt_temp_store_read(gt_temp_store *store, uint64_t position);
void gt_temp_store_close(gt_temp_store *store); /* NULL does nothing */
