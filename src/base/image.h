/* Images: the arrays of an object under names, for writing them to a file and using them again in place.
 *
 * An object that can be kept has two functions: `..._save` adds its arrays to an image without copying them,
 * and `..._load` makes the object from an image. The file that images are kept in is the business of
 * src/index. What is loaded comes from a file that anybody may have changed: a `..._load` function checks
 * every length, id and row number before it uses it.
 *
 *     gt_image_add(&image, "events", "rows", rows, count * sizeof *rows);
 *     ...
 *     const uint32_t *rows = gt_image_get(&image, "events", "rows", sizeof *rows, &count);
 */
#pragma once

#include "base/interner.h"

enum { GT_IMAGE_NAME_MAX = 40 };

/* One array. Its bytes follow each other in the file, but need not do so in memory. */
typedef struct gt_image_part {
    char name[GT_IMAGE_NAME_MAX]; /* "events/rows" */
    const void *bytes;            /* NULL if there are pieces */
    size_t len;                   /* of all bytes */
    gt_str *pieces;               /* owned */
    size_t piece_count;
    void *owned; /* freed with the image; NULL: the bytes belong to somebody else */
} gt_image_part;

typedef struct gt_image {
    gt_image_part *parts;
    size_t count, capacity;
} gt_image; /* {0} is the empty image */

void gt_image_free(gt_image *image);

/* ---- saving ---- */

/* Adds an array. It must stay where it is until the image is freed. */
void gt_image_add(gt_image *image, const char *owner, const char *name, const void *bytes, size_t len);
/* The same for an array that the image frees. */
void gt_image_give(gt_image *image, const char *owner, const char *name, void *bytes, size_t len);
/* The same for an array in pieces; the image frees the list, not the pieces. */
void gt_image_give_pieces(gt_image *image, const char *owner, const char *name, gt_str *pieces, size_t count);
/* Adds a copy of a few numbers. */
void gt_image_add_numbers(gt_image *image, const char *owner, const char *name, const int64_t *numbers,
                          size_t count);

/* Adds a copy of a string; NULL adds nothing. */
void gt_image_add_text(gt_image *image, const char *owner, const char *name, const char *text);

/* ---- loading ---- */

/* The array and the number of its items. NULL if there is none, or if its length is not a multiple of
 * item_size. An array without items is not NULL. */
const void *gt_image_get(const gt_image *image, const char *owner, const char *name, size_t item_size,
                         size_t *count);
/* The same for an array that must have `count` items. */
const void *gt_image_get_all(const gt_image *image, const char *owner, const char *name, size_t item_size,
                             size_t count);

/* A copy of a string, which the caller frees; NULL if there is none. False if it has a NUL inside. */
bool gt_image_get_text(const gt_image *image, const char *owner, const char *name, char **text);

/* ---- strings ---- */

/* The strings of an interner, and the interner of an image, whose strings stay where the image has them; NULL
 * if the image is damaged. */
void gt_strings_save(const gt_interner *strings, gt_image *image);
gt_interner *gt_strings_load(const gt_image *image);
