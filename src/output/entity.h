/* Characters that have a meaning in XML and HTML. */
#ifndef GT_OUTPUT_ENTITY_H
#define GT_OUTPUT_ENTITY_H

#include <stddef.h>

/* What is written for a character; NULL where it stands for itself. */
static inline const char *gt_entity(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

#endif
