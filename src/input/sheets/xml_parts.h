/* The XML files inside a zip archive, each read as a stream of elements and text.
 *
 * The archive is not trusted: what a part inflates to, the depth of its elements and the length of its tags
 * are limited, and document type declarations, the way to define entities, are refused. */
#ifndef GT_INPUT_SHEETS_XML_PARTS_H
#define GT_INPUT_SHEETS_XML_PARTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gt_archive gt_archive;

gt_archive *gt_archive_open(const char *path, gt_error *error);
/* The same over bytes in memory, which must outlive the archive. */
gt_archive *gt_archive_memory(const void *bytes, size_t len, gt_error *error);
void gt_archive_close(gt_archive *archive); /* NULL is fine */
bool gt_archive_has(const gt_archive *archive, const char *part);

/* What is called while a part is read; names come without their namespace's prefix. A function that returns
 * false has filled the error and ends the reading. */
typedef struct gt_xml_reader {
    void *context;
    bool (*begin)(void *context, const char *element, const char **attributes, gt_error *error);
    bool (*end)(void *context, const char *element, gt_error *error);
    bool (*text)(void *context, const char *bytes, size_t len, gt_error *error);
} gt_xml_reader;

/* The value of an attribute, by its name without prefix; NULL where there is none. */
const char *gt_xml_attribute(const char **attributes, const char *name);

bool gt_archive_read(gt_archive *archive, const char *part, const gt_xml_reader *reader, gt_error *error);

#endif
