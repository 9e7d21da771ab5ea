/* Figures and tables for people, as text in a given width.
 *
 * Everything goes to terminal->file and depends on nothing but the arguments, so that the text is the same
 * wherever it is made; gt_terminal_for says what a real stream allows. */
#ifndef GT_OUTPUT_TERMINAL_H
#define GT_OUTPUT_TERMINAL_H

#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct gt_terminal {
    FILE *file;
    size_t width; /* in character cells; lines are no longer (a width below 40 counts as 40) */
    bool utf8;    /* block characters and '…'; else '#' and "..." */
    bool colour;  /* bold headings, coloured bars */
} gt_terminal;

/* Width: the terminal's, else $COLUMNS, else 100. UTF-8: by the locale's variables. Colour: a terminal,
 * $NO_COLOR unset or empty, $TERM not "dumb". */
gt_terminal gt_terminal_for(FILE *file);

/* A heading on a line of its own. */
void gt_terminal_heading(const gt_terminal *terminal, const char *text);

typedef struct gt_bar {
    const char *label;
    double value;
    double percent; /* the bar's length: 100 fills it; NaN draws none */
} gt_bar;

/* One line a bar: "busy_time  ████▌      12.345 ms   45.2%". `unit` may be NULL or "". */
void gt_terminal_bars(const gt_terminal *terminal, const gt_bar *bars, size_t count, const char *unit);

typedef struct gt_terminal_column {
    gt_col column;      /* the table's column; one that the table has not is left out */
    const char *header; /* what stands above it; NULL for the column's own name */
    int decimals;       /* of a FLOAT; below 0 numbers are shown exactly and without thousands separators */
    const char *suffix; /* after each number ("%"); may be NULL */
} gt_terminal_column;

/* The first `max_rows` rows under a line of headers: numbers right, text left, long text cut in the middle.
 */
void gt_terminal_rows(const gt_terminal *terminal, const gt_table *table, const gt_terminal_column *columns,
                      size_t column_count, size_t max_rows);

#endif
