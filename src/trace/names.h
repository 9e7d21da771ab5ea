/* Which names begin with a word? Asked of each text once and not of each event. */
#ifndef GT_TRACE_NAMES_H
#define GT_TRACE_NAMES_H

#include "base/interner.h"

/* By text id: 1 where the text begins with `prefix`; NULL where none does. The caller frees it. */
uint8_t *gt_names_with_prefix(const gt_interner *strings, const char *prefix);

#endif
