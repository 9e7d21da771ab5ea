/* Numbers and tables as text in a given width.
 *
 * Everything is printed to terminal->file and depends only on the arguments, so the text is the same on every
 * machine; gt_terminal_for describes a real stream. */
#pragma once

#include "table/table.h"

typedef struct gt_terminal {
    FILE *file;
    size_t width; /* of the longest line, in character cells; at least 40 is used */
    bool utf8;    /* use block characters and '…' instead of '#' and "..." */
    bool colour;  /* use bold headings and coloured bars */
} gt_terminal;

/* Width: the terminal's, else $COLUMNS, else 100. UTF-8: by the locale's variables. Colour: a terminal,
 * $NO_COLOR unset or empty, $TERM not "dumb". */
gt_terminal gt_terminal_for(FILE *file);

/* The properties of a terminal as a short text, and back: from now on gt_terminal_for gives these, whatever
 * the stream. For a process that makes text which another one prints. False if it is no such text. */
enum { GT_TERMINAL_TEXT_MAX = 32 };
void gt_terminal_describe(const gt_terminal *terminal, char text[GT_TERMINAL_TEXT_MAX]);
bool gt_terminal_use(const char *text);

/* Prints a heading on its own line. */
void gt_terminal_heading(const gt_terminal *terminal, const char *text);

typedef struct gt_bar {
    const char *label;
    double value;
    double percent; /* length of the bar; 100 fills it, NaN draws none */
} gt_bar;

/* Prints one line per bar: "busy_time  ████▌      12.345 ms   45.2%". `unit` may be NULL or "". */
void gt_terminal_bars(const gt_terminal *terminal, const gt_bar *bars, size_t count, const char *unit);

typedef struct gt_terminal_column {
    gt_col column;      /* skipped if the table does not have it */
    const char *header; /* NULL: the name of the column */
    int decimals;       /* of a FLOAT; negative: exact numbers without thousands separators */
    const char *suffix; /* after each number ("%"); may be NULL */
    double least;       /* a smaller FLOAT is shown as "<" and this; 0: as it is */
} gt_terminal_column;

/* Prints the first `max_rows` rows below a line of headers: numbers right-aligned, text left-aligned, long
 * text shortened in the middle. Returns how many of the last columns do not fit. */
size_t gt_terminal_rows(const gt_terminal *terminal, const gt_table *table, const gt_terminal_column *columns,
                        size_t column_count, size_t max_rows);

/* ---- display width ---- */

/* Adds the text with control and invisible characters as escapes; without UTF-8, every other non-ASCII
 * character becomes '?'. */
void gt_display_add(gt_buffer *buffer, gt_str text, bool utf8);

/* Character cells that a text of gt_display_add takes: two for wide characters, none for combining ones. */
size_t gt_display_width(gt_str text);

/* Adds the text in at most `width` cells; the middle of a longer one is replaced by "…" (or "..."). */
void gt_display_add_cut(gt_buffer *buffer, gt_str text, size_t width, bool utf8);
