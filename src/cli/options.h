/* Command-line options as tables, and the parser that reads a command line by them.
 *
 * The rules are those that users of Python's argparse know: --name value or --name=value, unambiguous
 * beginnings of a name are enough, "--" ends the options, and the wording of what went wrong. '-' and '_' in
 * names are alike. */
#ifndef GT_CLI_OPTIONS_H
#define GT_CLI_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gt_option_kind {
    GT_OPTION_FLAG,
    GT_OPTION_INT,
    GT_OPTION_STRING,
    GT_OPTION_STRINGS, /* one or more values, up to the next option; given again, more of them */
    GT_OPTION_EACH,    /* one value each time it is given: a list, too */
    GT_OPTION_MAYBE,   /* a value only where it is written behind '=': --docker, --docker=IMAGE */
} gt_option_kind;

typedef struct gt_option {
    const char *name; /* without the dashes, words joined by '_' */
    gt_option_kind kind;
    const char *metavar; /* what stands for the value in help texts; NULL for flags */
    const char *initial; /* the default, as it would be typed; NULL for none */
    const char *help;
} gt_option;

typedef struct gt_option_group {
    const char *title; /* heading in help texts */
    const gt_option *options;
    size_t count;
} gt_option_group;

enum { GT_OPTION_GROUPS_MAX = 8, GT_OPTIONS_MAX = 64 };

/* One letter that stands for an option: -t for --tags. Its value may follow at once or behind "=", and flags
 * may stand together: -tVALUE, -t=VALUE, -rd. */
typedef struct gt_short_option {
    char letter;
    const char *option;
} gt_short_option;

/* What a command takes: groups of options, and files without an option name. */
typedef struct gt_syntax {
    const gt_option_group *groups[GT_OPTION_GROUPS_MAX]; /* NULL after the last */
    const char *files; /* as help texts say it: "FILE", "FILE...", "[FILE...]"; "" where it takes none */
    const char *file_option; /* the option that a file stands for; NULL where files stand for themselves */
    size_t files_max;
    bool folders;                   /* a file may be a folder of them: gt_trace_call.stream is NULL then */
    const char *output_option;      /* the option that -o stands for; NULL where there is none */
    const gt_short_option *letters; /* ends with {0}; NULL: none but -o */
    bool is_command; /* the files are a command: from its first word on nothing is an option of ours */
    const char *report_ending; /* of the workbook's name beside the trace; NULL: "_perf_report.xlsx" */
} gt_syntax;

typedef struct gt_option_value {
    bool given;         /* on the command line, not by default */
    const char *text;   /* NULL where there is neither a value nor a default */
    int64_t number;     /* of an INT option that has a text */
    const char **texts; /* of a TEXTS option: the values on the command line; text is the last of them */
    size_t text_count, text_capacity;
} gt_option_value;

typedef struct gt_arguments {
    const gt_syntax *syntax;
    gt_option_value values[GT_OPTIONS_MAX]; /* in the order of the groups */
    const char **files;
    size_t file_count, file_capacity;
    bool help; /* --help or -h was met: parsing stopped there */
} gt_arguments;

/* Reads argv[0 .. argc-1], which holds neither the program's nor the command's name. False where the line is
 * wrong; the sentence then names the argument. The texts of argv must outlive the arguments. */
bool gt_arguments_parse(gt_arguments *arguments, const gt_syntax *syntax, int argc, char **argv,
                        gt_error *error);
void gt_arguments_free(gt_arguments *arguments);

/* The value of an option that the syntax must have. */
const gt_option_value *gt_arguments_value(const gt_arguments *arguments, const char *name);
bool gt_arguments_flag(const gt_arguments *arguments, const char *name);
int64_t gt_arguments_int(const gt_arguments *arguments, const char *name);
const char *gt_arguments_string(const gt_arguments *arguments, const char *name); /* NULL where empty, too */

/* The letter of an option, 0 where it has none. */
char gt_syntax_short_option(const gt_syntax *syntax, const char *name);

#endif
