/* Tables of command-line options, and the parser that reads a command line with them.
 *
 * The rules and the wording of usage errors are those of Python's argparse: --name value or --name=value, any
 * unambiguous prefix of a name, and "--" ends the options. '-' and '_' in names are equivalent. */
#pragma once

#include "compat/nearest.h"

typedef enum gt_option_kind {
    GT_OPTION_FLAG,
    GT_OPTION_INT,
    GT_OPTION_STRING,
    GT_OPTION_STRINGS, /* one or more values, up to the next option; repeatable */
    GT_OPTION_EACH,    /* one value per occurrence; also a list */
    GT_OPTION_MAYBE,   /* an optional value, after '=': --docker, --docker=IMAGE */
} gt_option_kind;

typedef struct gt_option {
    const char *name; /* without the dashes, words joined by '_' */
    gt_option_kind kind;
    const char *metavar; /* name of the value in help texts; NULL for flags */
    const char *initial; /* the default, as typed on the command line; NULL: none */
    const char *help;    /* starts with a verb, without full stop and default */
    const char *needs;   /* what it needs to have an effect, as in cli/effects.c; NULL: nothing */
    const char *unused;  /* why it never has an effect: help does not show it; NULL: it has */
    const char *ending;  /* what a file name must end in: ".xlsx"; must not: "!.csv,.json"; NULL: any */
    const char *minimum; /* the smallest valid number; not checked under an old name; NULL: none */
    const char
        *choices; /* the valid values, "short|demangled|mangled", which completion offers. With '|' at the
                     end, other values are valid, too; "@gpus|" is a list of cli/completion. NULL: any */
} gt_option;

typedef struct gt_option_group {
    const char *title; /* heading in help texts */
    const gt_option *options;
    size_t count;
    const char *needs; /* of all options of the group except those that it names; NULL: nothing */
} gt_option_group;

enum { GT_OPTION_GROUPS_MAX = 20, GT_OPTIONS_MAX = 96, GT_MAIN_OPTIONS_MAX = 5 };

/* A one-letter option: -t for --tags. Its value may follow directly or after "=", and flags may be combined:
 * -tVALUE, -t=VALUE, -rd. */
typedef struct gt_short_option {
    char letter;
    const char *option;
} gt_short_option;

/* A former name of an option, which still works but is not shown in help texts. */
typedef struct gt_option_alias {
    const char *old_name;
    const char *option;
} gt_option_alias;

/* The command line of a command: groups of options, and arguments without an option name ("files"). */
typedef struct gt_syntax {
    const gt_option_group *groups[GT_OPTION_GROUPS_MAX]; /* NULL after the last */
    const char *main_options[GT_MAIN_OPTIONS_MAX]; /* the options that help shows first, at least one; NULL
                                                      after the last */
    const gt_option_alias *aliases;                /* ends with {0}; NULL: none */
    const char *files;        /* as shown in help: "FILE", "FILE...", "[FILE...]"; "": no files */
    const char *file_choices; /* values of these arguments, as in gt_option.choices; NULL: files */
    const char *file_endings; /* of the files that completion offers, "json,json.gz"; NULL: all */
    const char *file_hint;    /* after "unrecognized arguments: FILE"; NULL: nothing */
    const char *file_option;  /* the option that a file is the value of; NULL: files are separate arguments */
    size_t files_max;
    bool folders;                         /* a file may be a folder; gt_trace_call.stream is NULL then */
    const char *output_option;            /* the option whose short form is -o */
    const char *error_option;             /* its file also gets errors of the call (command.h); NULL: none */
    bool one_report;                      /* about all files together */
    const gt_short_option *short_options; /* ends with {0}; NULL: only -o, -q and -V */
    bool is_command;                      /* the files are a command: options end at its first word */
    bool keeps_indexes;        /* an index file stays what it is, and is not replaced by its trace */
    bool best_defaults;        /* gt_report_options_best, not those of the reference */
    bool inference_defaults;   /* gt_report_options_inference, likewise */
    const char *report_ending; /* suffix of the default workbook name; NULL: "_perf_report.xlsx" */
} gt_syntax;

typedef struct gt_option_value {
    bool given;         /* on the command line, not only by default */
    const char *text;   /* NULL if there is neither a value nor a default */
    int64_t number;     /* of an INT option with a text */
    const char **texts; /* of a STRINGS or EACH option: all given values; text is the last one */
    size_t text_count, text_capacity;
} gt_option_value;

typedef struct gt_arguments {
    const gt_syntax *syntax;
    gt_option_value values[GT_OPTIONS_MAX]; /* in the order of the groups */
    const char **files;
    size_t file_count, file_capacity;
    char **owned; /* strings that replaced arguments (cli/index_files.h) */
    size_t owned_count, owned_capacity;
    const char *index_path; /* the last index file that was given instead of its trace; NULL: none */
    size_t index_count;     /* how many there were */
    bool help;              /* --help or -h was given; parsing stopped there */
    bool version;           /* --version or -V; likewise */
} gt_arguments;

/* Parses argv[0 .. argc-1], without the names of program and command. Returns false on a usage error; the
 * message names the argument. The strings of argv must outlive `arguments`. */
bool gt_arguments_parse(gt_arguments *arguments, const gt_syntax *syntax, int argc, char **argv,
                        gt_error *error);
void gt_arguments_free(gt_arguments *arguments);

/* The value of an option, which must be in the syntax. */
const gt_option_value *gt_arguments_value(const gt_arguments *arguments, const char *name);
bool gt_arguments_flag(const gt_arguments *arguments, const char *name);
int64_t gt_arguments_int(const gt_arguments *arguments, const char *name);
const char *gt_arguments_string(const gt_arguments *arguments, const char *name); /* NULL if empty */
/* The same for options that the command may lack, as if they were not given. */
bool gt_arguments_flag_if(const gt_arguments *arguments, const char *name);
const char *gt_arguments_string_if(const gt_arguments *arguments, const char *name);

/* A walk through the options of a syntax, in the order of gt_arguments.values:
 *
 *     for (gt_option_walk at = {.syntax = syntax}; gt_option_next(&at);)
 *         use(at.group, at.option, &arguments->values[at.index]); */
typedef struct gt_option_walk {
    const gt_syntax *syntax;
    const gt_option_group *group;
    const gt_option *option;
    size_t index;                  /* of the option's value */
    size_t group_index, row_index; /* of the option's group in the syntax; of the option in the group */
} gt_option_walk;
bool gt_option_next(gt_option_walk *at);

/* The letter of the short form of an option, or 0. */
char gt_syntax_short_option(const gt_syntax *syntax, const char *name);

/* The option with this name, or NULL. */
const gt_option *gt_syntax_option(const gt_syntax *syntax, const char *name);
/* Whether help shows the option first, among the main options. */
bool gt_syntax_is_main(const gt_syntax *syntax, const gt_option *option);
