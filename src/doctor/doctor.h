/* What is this file, how was it made, what is missing in it, and what can be done with it?
 *
 *     gt_diagnosis *found = gt_doctor_examine(path, &options);
 *     gt_diagnosis_print(found, &terminal);
 *     gt_diagnosis_free(found);
 *
 * A trace is examined by making its report in memory, so what is said about sheets and checks is true for the
 * whole file and costs what a report costs. Other files are recognised by their first bytes, and nothing of
 * them is ever executed. Files: examine.c (which kind of file), pytorch.c, runs.c (rocprofv3, Nsight Systems)
 * and jax.c (facts and gaps of a trace), report.c (sheets and checks), others.c (what gputally does not read,
 * and what it wrote itself), diagnosis.c, print.c, json.c. Folders are the command's (cli/commands). */
#pragma once

#include "input/options.h"
#include "json/writer.h"
#include "output/terminal.h"

#define GT_DOCTOR_SCHEMA "gputally-doctor/1"

/* Something that the file says: how it was made, or what it has. */
typedef enum gt_fact_group { GT_FACT_FILE, GT_FACT_MADE, GT_FACT_CONTENTS, GT_FACT_GROUPS } gt_fact_group;
typedef struct gt_fact {
    gt_fact_group group;
    const char *name; /* "record_shapes": the key in JSON */
    enum { GT_FACT_TEXT, GT_FACT_COUNT, GT_FACT_NUMBER, GT_FACT_BOOL } type;
    const char *text; /* of TEXT; of a NUMBER its unit, or NULL */
    double number;    /* of the others */
} gt_fact;

/* Something that the file does not have. */
typedef struct gt_missing_item {
    const char *id;     /* "shapes"; stable */
    const char *text;   /* "no input shapes" */
    const char *effect; /* what that costs; NULL: nothing to say */
    const char *fix;    /* the line to record it with, or what to do; NULL: nothing can be done */
} gt_missing_item;

/* A command, and whether it does something with the file. */
typedef struct gt_supported_command {
    const char *command; /* "report" */
    bool can;
    const char *text; /* what it does, or why not */
} gt_supported_command;

/* A check of the trust sheet that is not passed (findings/trust.h). */
typedef struct gt_failed_check {
    const char *id, *level, *text;
} gt_failed_check;

/* A sheet of the report; of one without rows or that is omitted, why. */
typedef struct gt_doctor_sheet {
    const char *name;
    size_t rows;
    const char *why;
} gt_doctor_sheet;

typedef struct gt_diagnosis {
    const char *path;
    const char *kind;      /* for scripts: "pytorch-trace"; the list is in docs/doctor.md */
    const char *what;      /* "PyTorch trace (Chrome JSON)" */
    bool usable;           /* a command of gputally can use it */
    const char *verdict;   /* of the trust checks; NULL: there are none */
    const char *problem;   /* why it is not usable, or what is wrong; NULL: nothing */
    const char *next;      /* the command line to type, quoted for a shell; NULL: none */
    const char *next_text; /* what that does, if it is not a report */
    const char *recording; /* how to record again so that nothing is missing; NULL: nothing is */
    gt_fact *facts;
    size_t fact_count, fact_capacity;
    gt_missing_item *missing;
    size_t missing_count, missing_capacity;
    gt_supported_command *commands;
    size_t command_count, command_capacity;
    gt_failed_check *checks;
    size_t check_count, check_capacity;
    gt_doctor_sheet *sheets;
    size_t sheet_count, sheet_capacity;
    const char **messages; /* what reading the file warned of */
    size_t message_count, message_capacity;
    struct gt_diagnosis **parts; /* of a folder: each file */
    size_t part_count, part_capacity;
    gt_arena strings;
} gt_diagnosis;

/* Examines a file, or a folder that rocprofv3 wrote. Never fails: what cannot be read is said in the result.
 * `options` are those of the command line: threads and strictness. */
gt_diagnosis *gt_doctor_examine(const char *path, const gt_read_options *options);
void gt_diagnosis_free(gt_diagnosis *found);

/* On the terminal: the verdict and the next command come first. `brief`: only these two lines, for one of
 * many. */
void gt_diagnosis_print(const gt_diagnosis *found, const gt_terminal *terminal);
void gt_diagnosis_print_brief(const gt_diagnosis *found, const gt_terminal *terminal);
/* One JSON object, with the parts of a folder. docs/doctor.md describes it. */
void gt_diagnosis_json(const gt_diagnosis *found, gt_json_writer *w);

/* ---- making one (diagnosis.c) ---- */

gt_diagnosis *gt_diagnosis_new(const char *path);
/* A copy of a formatted text, freed with the diagnosis. */
const char *gt_diagnosis_text(gt_diagnosis *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of bytes that may have NULs or invalid UTF-8, which are replaced, and only the first 200. */
const char *gt_diagnosis_string(gt_diagnosis *d, gt_str text);
void gt_diagnosis_is(gt_diagnosis *d, const char *kind, const char *what);

void gt_fact_add_text(gt_diagnosis *d, gt_fact_group group, const char *name, const char *text);
void gt_fact_add_count(gt_diagnosis *d, gt_fact_group group, const char *name, double count);
void gt_fact_add_number(gt_diagnosis *d, gt_fact_group group, const char *name, double value,
                        const char *unit);
void gt_fact_add_bool(gt_diagnosis *d, gt_fact_group group, const char *name, bool value);
const gt_fact *gt_fact_find(const gt_diagnosis *d, const char *name); /* NULL: none */

void gt_missing_add(gt_diagnosis *d, const char *id, const char *text, const char *effect, const char *fix);
bool gt_missing_exists(const gt_diagnosis *d, const char *id);
void gt_supported_command_add(gt_diagnosis *d, const char *command, bool can, const char *text);
/* A warning of a reader; each is kept once. */
void gt_diagnosis_warn(gt_diagnosis *d, const char *text);
/* "gputally report 'a b.json'": `words` before the path, `after` after it, which may be NULL. */
const char *gt_diagnosis_command(gt_diagnosis *d, const char *words, const char *path, const char *after);
