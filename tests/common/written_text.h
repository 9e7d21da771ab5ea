/* A string that a test writes piece by piece. */
#ifndef GT_TEST_WRITTEN_TEXT_H
#define GT_TEST_WRITTEN_TEXT_H

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct text {
    char *items;
    size_t count, capacity;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...)
{
    char piece[1024];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    for (int i = 0; i < len; i++) GT_PUSH(t->items, t->count, t->capacity, piece[i]);
}

#endif
