/* CSV files that an earlier report has left in the folder of a report. */
#pragma once

#include "output/output.h"

/* Warns in one line about the files in the folder that have the name of a sheet and are not in the output,
 * which has been written. They stay. */
void gt_warn_of_earlier_sheets(const char *folder, const gt_output *output);

/* Warns in one line about the folders rankN and the files rankN.findings.* in the folder if none of the
 * labels is rankN: ranks that only an earlier run had. They stay. */
void gt_warn_of_earlier_ranks(const char *folder, const char *const *labels, size_t count);
