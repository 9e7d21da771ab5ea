/* Marks of the option tables that are checked after parsing: options without an effect, names of
 * outputs, file names with the wrong ending, and numbers that are too small. */
#ifndef GT_CLI_EFFECTS_H
#define GT_CLI_EFFECTS_H

#include "cli/command.h"

/* Warns, in one line each, about given options that have no effect: those marked `unused`, and those whose
 * `needs` are not met. */
void gt_warn_without_effect(const gt_arguments *arguments);

/* False if a file name does not have the `ending` of its option. The old programs also accept ".xlsm" and
 * names without an ending, as openpyxl does. */
bool gt_check_endings(const gt_call *call, gt_error *error);

/* False if the name of a file or folder to write is empty, as of a variable that is not set, or if that of a
 * file is "-": several files may be written, each whole or not at all. The old programs take an empty name
 * for none, and "-" for a name. */
bool gt_check_outputs(const gt_call *call, gt_error *error);

/* False if a number is below the `minimum` of its option. The old programs accept any. */
bool gt_check_minimums(const gt_call *call, gt_error *error);

#endif
