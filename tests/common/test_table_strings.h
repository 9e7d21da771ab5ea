/* One string table for all tables of a test program, created and freed with the group of tests. */
#ifndef TEST_TABLE_STRINGS_H
#define TEST_TABLE_STRINGS_H

#include "test_table_help.h"

static gt_interner *strings;

static int make_strings(void **state)
{
    (void)state;
    strings = gt_interner_new();
    return 0;
}

static int free_strings(void **state)
{
    (void)state;
    gt_interner_free(strings);
    return 0;
}

#endif
