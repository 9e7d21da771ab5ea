/* How the fields of a file without types become values. */
#ifndef GT_INPUT_SHEETS_READING_H
#define GT_INPUT_SHEETS_READING_H

typedef enum gt_cell_parsing {
    GT_READ_EXACT,   /* by the rules of pandas (cells.h), numbers as they are written */
    GT_READ_PANDAS,  /* the same, but real numbers are off in the last digits as those of pandas.read_csv are
                      */
    GT_READ_STRINGS, /* all text stays text; only empty fields are missing */
} gt_cell_parsing;

#endif
