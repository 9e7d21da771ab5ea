/* The sheets of a report, kept in the index of its trace (index/index.h).
 *
 * A report depends only on the trace, the options and the program. The second time that the same report is
 * asked for, its sheets, what its summary shows of the trace, and the messages of the first time come from
 * the index, and the trace is not read. */
#pragma once

#include "index/index.h"
#include "report/summary.h"

/* Messages are repeated where they were given: when the trace is read, or when the sheets are made. */
typedef enum gt_kept_stage { GT_KEPT_READ, GT_KEPT_MADE, GT_KEPT_STAGES } gt_kept_stage;

typedef struct gt_kept {
    gt_index *index;
    char *key;         /* NULL: the report cannot be kept */
    const char *title; /* the trace's name in messages */
    /* What was found, or NULL and nothing. */
    gt_interner *strings;
    gt_table_list tables, page; /* the sheets, and the tables of the page */
    gt_summary_facts facts;
    /* The messages: of what was found, or captured so far. */
    gt_buffer messages[GT_KEPT_STAGES];
    gt_kept_stage stage;
    gt_log_listener listener;
} gt_kept;

/* Opens the index of the trace and looks for the report with this key (NULL: for none), or for one that has
 * the same and more (NULL: for none). `title` must outlive it. Call gt_kept_close in the end, also if there
 * is no index. */
void gt_kept_open(gt_kept *kept, const gt_index_policy *policy, const char *trace_path, const char *title,
                  const char *key, const char *key_with_more);
void gt_kept_close(gt_kept *kept);

static inline bool gt_kept_is_found(const gt_kept *kept)
{
    return kept->strings != NULL;
}

/* Gives the messages of a stage again. */
void gt_kept_repeat(const gt_kept *kept, gt_kept_stage stage);

/* Listens to the messages of a stage, between these two calls, if the report is to be kept. */
void gt_kept_listen(gt_kept *kept, gt_kept_stage stage);
void gt_kept_hush(gt_kept *kept);

/* Whether to call gt_kept_keep, which keeps a report. */
bool gt_kept_wants(const gt_kept *kept);
void gt_kept_keep(gt_kept *kept, gt_index_kind kind, const gt_table_list *tables, const gt_table_list *page,
                  const gt_summary_facts *facts);
