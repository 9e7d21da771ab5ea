/* Private to this folder: the XML files (parts) inside a zip archive, each read as a stream of elements and
 * text.
 *
 * The archive is not trusted: the uncompressed size of a part, the depth of its elements and the length of
 * its tags are limited, and document type declarations, which could define entities, are refused. Errors do
 * not name the archive. */
#pragma once

#include "base/base.h"

typedef struct gt_archive gt_archive;

gt_archive *gt_archive_open(const char *path, gt_error *error);
/* The same for bytes in memory, which must outlive the archive. */
gt_archive *gt_archive_memory(const void *bytes, size_t len, gt_error *error);
void gt_archive_close(gt_archive *archive);           /* may be NULL */
uint64_t gt_archive_bytes(const gt_archive *archive); /* its compressed size */
bool gt_archive_has(const gt_archive *archive, const char *part);

/* Called while a part is read, with names without namespace prefixes. A function that fails sets the error
 * and returns false, which ends the reading. */
typedef struct gt_xml_reader {
    void *context;
    bool (*begin)(void *context, const char *element, const char **attributes, gt_error *error);
    bool (*end)(void *context, const char *element, gt_error *error);
    bool (*text)(void *context, const char *bytes, size_t len, gt_error *error);
} gt_xml_reader;

/* The value of an attribute by its name without prefix; NULL if there is none. */
const char *gt_xml_attribute(const char **attributes, const char *name);

bool gt_archive_read(gt_archive *archive, const char *part, const gt_xml_reader *reader, gt_error *error);
