/* Partial files: what one process has made of one trace, kept for the process that puts the traces together.
 *
 * A partial holds one image (base/image.h) under a key, which says what was done with which options, and the
 * identity of the trace. It is tied to the version of the program and to the byte order, not to the build:
 * programs of the same commit for arm64 and x86-64 can use each other's partials. The file is that of an
 * index (index/container.h) with another magic, so it appears whole or not at all, and every section has a
 * checksum.
 *
 *     gt_part_write(path, &(gt_part_new){.key = key, .trace_path = trace, .identity = identity}, &image,
 * ...);
 *     ...
 *     gt_part *part = gt_part_open(path, false, &state);
 *     if (part && strcmp(gt_part_key(part), key) == 0) ... load from gt_part_image(part) ...
 *     gt_part_close(part);
 *
 * A partial is not trusted: whoever loads the image checks what is in it, and calls gt_part_describe with
 * GT_PART_DAMAGED if that is wrong. */
#pragma once

#include "base/image.h"
#include "index/identity.h"

#define GT_PART_SUFFIX ".gtpart"
#define GT_PART_MAGIC  "GTPART\r\n" /* a copy with changed line ends is noticed */

typedef enum gt_part_state {
    GT_PART_SOUND,
    GT_PART_MISSING, /* there is no such file, or it cannot be opened */
    GT_PART_NO_PART, /* a file of another kind */
    GT_PART_FOREIGN, /* another version of the program, format or byte order */
    GT_PART_DAMAGED,
    GT_PART_STALE,    /* its trace has changed since */
    GT_PART_NOT_OURS, /* a link, or of another user: see os/own.h */
} gt_part_state;

/* ---- writing ---- */

typedef struct gt_part_new {
    const char *key;
    const char *trace_path; /* as the user names it; its absolute path is noted */
    /* Of before the trace was read (gt_trace_identify). Without a checksum (0), a trace with other times
     * counts as changed. */
    gt_trace_identity identity;
} gt_part_new;

/* Replaces a partial, but no other file. On failure nothing is left. */
bool gt_part_write(const char *path, const gt_part_new *part, const gt_image *image, gt_error *error);

/* ---- reading ---- */

typedef struct gt_part gt_part;

/* Opens a partial. *state says how that went; NULL unless it is sound. Says nothing about its trace. One that
 * the user has not named must be ours. */
gt_part *gt_part_open(const char *path, bool is_named, gt_part_state *state);
void gt_part_close(gt_part *part); /* NULL does nothing */
/* All of them are valid until the partial is closed. */
const gt_image *gt_part_image(const gt_part *part);
const char *gt_part_key(const gt_part *part);
const char *gt_part_trace(const gt_part *part); /* the absolute path */

/* Whether the trace at this path is proved to be the one that was read, by its times or its checksum: then
 * nothing needs to be done again. */
bool gt_part_is_current(const gt_part *part, const char *trace_path);
/* Whether the trace is still at its path, and is not proved to be the one that was read. Only a trace whose
 * times differ, or that was written just before it was read, is read again. */
bool gt_part_is_stale(const gt_part *part);

/* Whether the file begins like a partial. */
bool gt_part_is_part(const char *path);
/* "run/rank3.json.gtpart: damaged partial; make it again with `gputally partial`". The caller frees it. */
char *gt_part_describe(const char *path, gt_part_state state);
