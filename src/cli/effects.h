/* Marks of the option tables that are checked after parsing: options without an effect, names of
 * outputs, file names with the wrong ending, and numbers that are too small. */
#pragma once

#include "cli/command.h"

/* Warns, in one line each, about given options that have no effect: those marked `unused`, and those whose
 * `needs` are not met. */
void gt_warn_without_effect(const gt_arguments *arguments);

/* False if a file name does not have the `ending` of its option. The old programs also accept ".xlsm" and
 * names without an ending, as openpyxl does. */
bool gt_check_endings(const gt_call *call, gt_error *error);

/* If a JSON, Markdown or CSV file is called "-", it gets standard output for its own: what else would be
 * printed there goes to standard error, and the call is quiet. The old programs take "-" for a name. */
void gt_claim_standard_output(gt_call *call);

/* False if the name of a file or folder to write is empty, as of a variable that is not set, or if "-" is
 * that of two files, or of one that is not text. The old programs take an empty name for none. */
bool gt_check_outputs(const gt_call *call, gt_error *error);

/* False if a number is below the `minimum` of its option. The old programs accept any. */
bool gt_check_minimums(const gt_call *call, gt_error *error);
