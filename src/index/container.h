/* The index file: what was read from a trace, kept for the next command.
 *
 *     head      what the file is, of which trace, made by which build of the program
 *     record    a key, and an image (base/image.h) as named sections, each with its checksum
 *     record    ...
 *
 * Records are added at the end and never changed, so readers may read the file while another process adds to
 * it. A record whose writer was interrupted is recognised, and so is everything after it. Numbers are in the
 * byte order of the machine that wrote them; a file in another order is foreign.
 *
 * The file is not trusted: every length is checked, and so is the checksum of each section that is used. */
#pragma once

#include "base/image.h"
#include "index/identity.h"

#define GT_INDEX_MAGIC "GTINDEX\n"
enum {
    GT_INDEX_FORMAT = 1, /* of the file; images are tied to the build, see gt_build_number */
    GT_INDEX_PATH_MAX = 4096,
    GT_INDEX_KEY_MAX = 4096,
};

/* Other files are made in the same way: the partials of src/procs. They differ in what only the same program
 * can read. */
typedef struct gt_index_form {
    char magic[9];    /* of the file: 8 characters */
    uint32_t format;  /* of the file */
    uint64_t version; /* of what is in it: images of another version are foreign; 0: keep nothing */
    const char *what; /* in messages: "index" */
} gt_index_form;

/* Opened index files say why they cannot be used. */
typedef enum gt_index_state {
    GT_INDEX_SOUND,
    GT_INDEX_MISSING, /* there is no such file, or it cannot be opened */
    GT_INDEX_NO_INDEX,
    GT_INDEX_FOREIGN, /* another byte order, format or build of the program */
    GT_INDEX_DAMAGED,
    GT_INDEX_NOT_OURS, /* a link, or of another user: see os/own.h */
} gt_index_state;

typedef struct gt_index_file gt_index_file;

/* Opens an index file that the user has named, or one that must be ours (os/own.h), about `trace` or NULL.
 * *state says how that went; NULL unless it is sound. `form` is NULL for an index. */
gt_index_file *gt_index_file_open(const gt_index_form *form, const char *path, gt_index_state *state);
gt_index_file *gt_index_file_open_own(const gt_index_form *form, const char *path, const char *trace,
                                      gt_index_state *state);
/* Has the file stay in memory until gt_index_file_close was called once more. Returns it. */
gt_index_file *gt_index_file_hold(gt_index_file *file);
void gt_index_file_close(void *file); /* a gt_index_file; NULL does nothing */

const char *gt_index_file_path(const gt_index_file *file);
const char *gt_index_file_trace(const gt_index_file *file); /* the absolute path of the trace */
const gt_trace_identity *gt_index_file_identity(const gt_index_file *file);
/* Whether the trace was last changed long enough before the index was made for its times to prove that it is
 * still the same. */
bool gt_index_file_is_settled(const gt_index_file *file);
/* The kind of trace, as the caller of gt_index_file_create numbered it. */
uint32_t gt_index_file_kind(const gt_index_file *file);

/* The image of the last record with this key. Its arrays are valid until the file is closed. False if there
 * is none; then *damaged says whether there is one that is damaged. */
bool gt_index_file_find(gt_index_file *file, const char *key, gt_image *image, bool *damaged);
size_t gt_index_file_records(const gt_index_file *file); /* how many there are */
const char *gt_index_file_key(const gt_index_file *file, size_t record);

/* ---- writing ---- */

typedef struct gt_index_new {
    const gt_index_form *form; /* NULL: an index */
    const char *trace_path;    /* absolute */
    gt_trace_identity identity;
    uint32_t kind;
} gt_index_new;

/* Writes a file with the records of `old` (which may be NULL) that have other keys, and then this one.
 * Records whose keys begin with `dropped` (NULL: none) are left behind. The file has a temporary name until
 * it is complete, if it has a name at all, and then replaces `path`. */
bool gt_index_file_create(const char *path, const gt_index_new *head, const gt_index_file *old,
                          const char *dropped, const char *key, const gt_image *image, gt_error *error);
/* Notes other times of the same trace: after it was copied, or once they can prove that it is the same. */
void gt_index_file_refresh(const gt_index_file *file, const gt_trace_identity *identity);
/* Adds a small record to the end of the file, with one write. False if that fails, or if the file does not
 * end with a complete record. */
bool gt_index_file_append(const gt_index_file *file, const char *key, const gt_image *image);
