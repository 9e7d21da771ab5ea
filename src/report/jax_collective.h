/* The report of the collectives of a JAX run: its sheets, and the summary on the terminal. */
#ifndef GT_REPORT_JAX_COLLECTIVE_H
#define GT_REPORT_JAX_COLLECTIVE_H

#include "analysis/jax/collectives.h"
#include "report/tables.h"

#include <stdio.h>

/* collective_events, collective_groups, collective_bandwidths, collective_types. */
void gt_jax_collective_tables(gt_jax_collectives *collectives, gt_table_list *tables);

void gt_jax_collective_print_summary(FILE *out, const gt_table_list *tables);

#endif
