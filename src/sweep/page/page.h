/* The page of one or several sweeps: which setting to use, and why.
 *
 *     page.c       the document
 *     facts.c      its front: what it says before any table is unpacked
 *     tables.c     the tables that only the page has (schema/page.h)
 *     changes.c    changes between sweeps: table and sentence
 *
 * The pages of `sweep html` are others: they replace those of a script (sweep/compare/page.c). */
#pragma once

#include "sweep/compare/spread.h"
#include "sweep/gate/gate.h"

/* One sweep of a page. Everything is borrowed. */
typedef struct gt_page_sweep {
    const char *label; /* for people: the name of its folder */
    const gt_decision *decision;
    const gt_table_list *sheets; /* those of gt_decision_add_sheets */
    size_t baseline;             /* setting; SIZE_MAX: the median one */
    const char *analysis;        /* folder of the other steps' output, from which the page shows GEMM variance
                                    and timelines if they are there; NULL: none */
    int64_t top;                 /* --top_k of `sweep top` */
    const gt_sweep_answer *answer; /* of a later sweep: its comparison with the first one */
} gt_page_sweep;

/* Adds the HTML page of one or several sweeps. `command` is the command line. */
void gt_sweeps_page(const gt_page_sweep *sweeps, size_t count, const char *command, gt_buffer *html);

/* ---- what the files share ---- */

/* Sentences about what the page leaves out. */
typedef struct gt_sweep_notes {
    char **items; /* owned */
    size_t count, capacity;
} gt_sweep_notes;

/* Adds the tables about the decision on one sweep. */
void gt_sweep_page_tables(const gt_page_sweep *sweep, gt_table_list *work, gt_sweep_notes *notes);
/* Adds the table of changes since the first sweep of the page. */
void gt_sweep_page_changes(const gt_page_sweep *sweep, const gt_page_sweep *first, gt_table_list *work);
/* The same in a sentence with bold words between '*'. */
void gt_sweep_page_say_changes(const gt_page_sweep *sweep, const gt_page_sweep *first, gt_buffer *text);

/* Adds a JSON object: sentence, tiles, notes, decisions, gate and the axes of `spreads`
 * (page/web/README.md). */
void gt_sweep_page_facts(const gt_page_sweep *sweeps, const gt_sweep_spread *spreads, size_t count,
                         const gt_sweep_notes *notes, gt_buffer *json);

/* Where names are in a list. */
typedef struct gt_name_index {
    gt_interner *names;
    size_t *places; /* by id */
} gt_name_index;

/* The settings of the decision, by row of the sheet recommendation. */
gt_name_index gt_name_index_settings(const gt_decision *decision);
/* Its runs, as in the list of the sweep. */
gt_name_index gt_name_index_runs(const gt_decision *decision);
size_t gt_name_index_find(const gt_name_index *index, gt_str name); /* SIZE_MAX: none */
void gt_name_index_free(gt_name_index *index);
