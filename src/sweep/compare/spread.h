/* How much the times of GEMMs vary in one sweep, as data of pages (spread.c). */
#pragma once

#include "json/writer.h"
#include "sweep/gemm/gemm.h"

typedef struct gt_sweep_spread {
    gt_table_list sheets; /* the CSV file; empty without one */
    gt_table_list work;   /* GT_SHEET_PAGE_VARIANCE: the rows that plots use */
    size_t rows;          /* of the plots, in the file; 0: the sweep has no data */
    double median_us, mean_us, largest_us;
    gt_variance_rows variance; /* these rows; empty without a file */
} gt_sweep_spread;

/* Warns if the file has something but no rows that can be plotted. gt_sweep_spread_free in any case. */
void gt_sweep_spread_read(gt_sweep_spread *spread, const char *csv_path, gt_interner *strings);
void gt_sweep_spread_free(gt_sweep_spread *spread);

/* Adds a JSON object: sentence, tiles and notes of the page (page/web/README.md), and the axes besides
 * threads and channels, with the values of all sweeps in their order. */
void gt_sweep_spread_facts(const gt_sweep_spread *spreads, const char *const *labels, size_t count,
                           gt_buffer *json);
/* Only the axes, as a key of an object. */
void gt_sweep_spread_put_axes(gt_json_writer *w, const gt_sweep_spread *spreads, size_t count);
