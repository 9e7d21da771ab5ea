/* Help texts and the man page, made from the table of commands and the tables of options. */
#ifndef GT_CLI_HELP_H
#define GT_CLI_HELP_H

#include "cli/command.h"

#include <stdio.h>

void gt_help_program(FILE *out, size_t width);
void gt_help_command(FILE *out, size_t width, const gt_command *command, const char *program);

/* Prints the sections of the man page about commands and options, in roff. The build adds the parts written by
 * hand (docs/man). */
void gt_manual_print(FILE *out);

#endif
