/* For targets that write sheets: invariants of all tables. */
#ifndef GT_FUZZ_SOUND_TABLE_H
#define GT_FUZZ_SOUND_TABLE_H

#include "table/table.h"

#include <stdlib.h>

/* Every column has a cell in every row, and every string is in the table's string table. */
static void check_table(const gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++)
        for (size_t row = 0; row < table->row_count; row++)
            if (table->columns[c].type == GT_TYPE_STRING &&
                table->columns[c].texts[row] >= gt_interner_count(table->strings))
                abort();
}

#endif
