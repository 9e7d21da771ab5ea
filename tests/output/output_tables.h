/* Shared by the tests of table writers: a scratch folder and one string table for all tables. */
#ifndef GT_TEST_OUTPUT_TABLES_H
#define GT_TEST_OUTPUT_TABLES_H

#include "output_help.h"

#include "base/interner.h"

static gt_interner *strings;

static int begin(void **state)
{
    strings = gt_interner_new();
    return make_scratch(state);
}

static int end(void **state)
{
    gt_interner_free(strings);
    return remove_scratch(state);
}

#endif
