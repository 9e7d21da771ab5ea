/* The report of the collectives of all ranks.
 *
 * Sheets: nccl_summary_implicit_sync, nccl_summary_long, nccl_summary_all2allv, nccl_all2allv_heatmap,
 * nccl_long, nccl_implicit_sync, nccl_all2allv, straggler_summary. The sheets of all_to_allv and of
 * stragglers are omitted if they have no rows; the heat map also if it is not requested. With the facts of
 * whole traces, overview, findings and rank_causes (findings/ranks/ranks.h) come first, and serving_rank_steps
 * if they are of a server. */
#pragma once

#include "findings/ranks/ranks.h"
#include "input/options.h"
#include "report/extra_sheets.h"

/* ---- reading: one trace per rank, in parallel; only the collectives are kept ---- */

typedef struct gt_rank_traces {
    gt_interner *strings; /* owned */
    gt_table *rows;       /* owned; see gt_collectives_of_rank; all ranks that could be read, by rank */
    size_t rank_count;
    char **problems;       /* by rank: why it could not be read, else NULL */
    size_t bad_count;      /* ranks with a problem */
    size_t events;         /* in all files */
    gt_table_list extra;   /* owned; the sheets of extra_sheets.h for these ranks, if requested */
    size_t devices;        /* number of GPUs in the first rank's trace; 0 if unknown */
    int64_t world_size;    /* the number of ranks that ran, by the traces; 0 if they do not say */
    double *apart_s;       /* owned; see gt_collectives_find_apart */
    gt_rank_facts **facts; /* by rank, in the arena; NULL: unknown */
    gt_arena facts_arena;  /* owned */
} gt_rank_traces;

/* What is kept of one rank's trace. */
typedef struct gt_rank_collectives {
    gt_interner *strings; /* owned */
    gt_table *rows;       /* owned; see gt_collectives_of_rank */
    gt_base_time base;
    gt_run_info run;
    size_t events;         /* in the file */
    gt_rank_facts *facts;  /* owned; for findings of all ranks; NULL: unknown */
    gt_extra_sheets extra; /* owned; with the same strings; empty if not requested */
} gt_rank_collectives;

/* Reads only the collectives of a trace: no facts, no extra sheets. */
gt_rank_collectives *gt_rank_collectives_read(const char *path, int64_t rank, const gt_comm_kernels *comm,
                                              unsigned threads, gt_error *error);
/* The collectives of a trace that was read for another report, before that report changes it; `run` is what
 * options->run got. They are the same that gt_kineto_read_collectives finds. NULL if only that reader can
 * say, because it rejects traces that others accept: those that are truncated, or have collectives without
 * times or with links of another type. The caller frees the result. */
gt_rank_collectives *gt_rank_collectives_of_trace(const gt_event_view *trace, const gt_run_info *run,
                                                  int64_t rank);
/* What findings about all ranks need of the same trace; `findings` are its own. */
void gt_rank_collectives_add_facts(gt_rank_collectives *collectives, const gt_event_view *trace,
                                   const gt_findings *findings);
/* The extra sheets of a trace become those of its collectives. Takes them over. */
void gt_rank_collectives_set_extra(gt_rank_collectives *collectives, gt_extra_sheets extra);
void gt_rank_collectives_free(gt_rank_collectives *collectives); /* NULL does nothing */

/* As an image (rank_image.c): all of it, facts and extra sheets included. Adds strings of these to the
 * strings of the collectives, which must stay until the image is freed. */
void gt_rank_collectives_save(const gt_rank_collectives *collectives, int64_t rank, gt_image *image);
/* The collectives of an image, which is not needed any longer then; they are safe to use, whatever the image
 * contains. NULL if it is damaged, or that of another rank. */
gt_rank_collectives *gt_rank_collectives_load(const gt_image *image, int64_t rank);
int64_t gt_rank_collectives_saved_rank(const gt_image *image); /* -1 if it is damaged */
/* The number of ranks that ran, by the trace; 0 if it does not say. */
int64_t gt_rank_collectives_saved_world_size(const gt_image *image);

typedef struct gt_rank_request {
    char *const *paths; /* by rank; NULL if the rank has no file: then problems[rank] is "rank N: no trace" */
    size_t rank_count;
    /* Makes the collectives of a rank with a path in another way than by reading those of its trace; NULL:
     * no. With comm_text, it reads the whole trace, extra sheets included. */
    gt_rank_collectives *(*load)(const void *context, size_t rank, gt_error *error);
    const void *load_context;
    gt_rank_collectives **ready; /* by rank: those of a rank that need not be read, which are taken, or NULL;
                                    NULL: all are read */
    const gt_comm_kernels *comm; /* which kernels are collectives; NULL: those of TraceLens */
    const gt_hta_options *extra; /* for the sheets of extra_sheets.h; NULL: not requested */
    unsigned threads;
    /* Which kernels are collectives, as text: then ranks may be read by other processes (input/files.h);
     * NULL: they may not. */
    const char *comm_text;
} gt_rank_request;

/* Reads each trace once; with `extra` completely. */
void gt_rank_traces_read(gt_rank_traces *traces, const gt_rank_request *request);
void gt_rank_traces_free(gt_rank_traces *traces);

/* ---- the sheets ---- */

typedef struct gt_collective_options {
    gt_aggregations aggregations; /* of the two summaries */
    int64_t world_size;
    int64_t ran_count;        /* ranks that ran, by the traces, if more than world_size; 0: unknown */
    int64_t gpus_per_node;    /* 0: unknown, and no columns node_id and node_span */
    double expected_bus_gbps; /* what large collectives should reach; 0: unknown */
    bool heatmap;
    bool leave_out_mismatches;   /* skip collectives whose ranks disagree; otherwise they are an error */
    const double *apart_s;       /* by rank, world_size of them; see gt_collectives_find_apart */
    gt_rank_facts *const *facts; /* by rank, world_size of them: also make the sheets overview, findings and
                                    rank_causes; NULL: not requested */
} gt_collective_options;

/* Adds the sheets made from the rows of all ranks; the rows become the sheet nccl_long. The tables must be
 * freed before the rows' strings. On failure nothing is added; the rows are freed in any case.
 *
 * A collective of which only one rank has a kernel counts in straggler_summary, as in TraceLens, although
 * that rank neither waited nor came last. If `stragglers` is not NULL, it gets that sheet without such
 * collectives and on one clock for the terminal, which the caller frees; without others it has no rows. */
bool gt_collective_tables(gt_table *rows, const gt_collective_options *options, gt_table_list *tables,
                          gt_table **stragglers, gt_error *error);

/* If ranks communicate in many small groups, a sheet with columns per rank is mostly empty: false, and a
 * warning, if it would be too large. */
enum { GT_SYNC_COLUMNS_PER_RANK = 3 };
bool gt_collective_has_room(gt_sheet sheet, size_t rows, int64_t ranks, int64_t columns);

/* ---- the page of all ranks (rank_page.c) ---- */

/* Borrows everything. */
typedef struct gt_ranks_page {
    const gt_table_list *sheets; /* those of gt_collective_tables */
    const char *const *pages;    /* by rank: its page, relative to this one; NULL: none */
    size_t rank_count;
    const char *title, *command; /* the folder; the command line */
    const char *folder;          /* the path of the folder, which the page does not show */
} gt_ranks_page;
void gt_ranks_add_page(const gt_ranks_page *page, gt_buffer *html);

/* `stragglers` is that of gt_collective_tables. */
void gt_collective_print_summary(FILE *out, const gt_table_list *tables, const gt_table *stragglers,
                                 int width, bool utf8);
