/* rocprofv3 runs built record by record, for tests of reports. */
#ifndef GT_TEST_ROCPROF_RUN_H
#define GT_TEST_ROCPROF_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "base/memory.h"
#include "report/rocprof.h"

typedef struct dispatch {
    int64_t kernel_id, start, end, stream, id, grid[3], block[3], agent, thread;
} dispatch;

static inline void set(gt_store_cell *cells, uint64_t *present, size_t column, int64_t value)
{
    cells[column].integer = value;
    *present |= (uint64_t)1 << column;
}

static inline void add_dispatches(gt_rocprof *run, const dispatch *dispatches, size_t count)
{
    gt_store_writer *writer =
        gt_store_writer_new(gt_dispatch_columns, GT_DISPATCH_BASIC_COLUMNS, run->strings);
    for (size_t i = 0; i < count; i++) {
        const dispatch *d = &dispatches[i];
        gt_store_cell cells[GT_DISPATCH_BASIC_COLUMNS];
        uint64_t present = 0;
        if (d->kernel_id != GT_NO_KERNEL_ID) set(cells, &present, GT_DISPATCH_KERNEL_ID, d->kernel_id);
        set(cells, &present, GT_DISPATCH_START, d->start);
        set(cells, &present, GT_DISPATCH_END, d->end);
        set(cells, &present, GT_DISPATCH_STREAM, d->stream);
        set(cells, &present, GT_DISPATCH_ID, d->id);
        for (size_t axis = 0; axis < 3; axis++) { /* a size of 0 means that the record has none */
            if (d->grid[axis]) set(cells, &present, GT_DISPATCH_GRID_X + axis, d->grid[axis]);
            if (d->block[axis]) set(cells, &present, GT_DISPATCH_BLOCK_X + axis, d->block[axis]);
        }
        set(cells, &present, GT_DISPATCH_AGENT, d->agent);
        set(cells, &present, GT_DISPATCH_THREAD, d->thread);
        gt_store_writer_add(writer, present, cells);
    }
    gt_store_append(run->dispatches, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
}

static inline void add_copy(gt_rocprof *run, int64_t start, int64_t end)
{
    gt_store_writer *writer = gt_store_writer_new(gt_copy_columns, GT_COPY_BASIC_COLUMNS, run->strings);
    gt_store_cell cells[GT_COPY_BASIC_COLUMNS];
    uint64_t present = 0;
    set(cells, &present, GT_COPY_START, start);
    set(cells, &present, GT_COPY_END, end);
    gt_store_writer_add(writer, present, cells);
    gt_store_append(run->copies, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
}

static inline void name_kernel(gt_rocprof *run, int64_t kernel_id, const char *name)
{
    gt_kernel_names_set(run, kernel_id, gt_interner_add_cstr(run->strings, name));
}

static inline gt_rocprof_options all_sheets(void)
{
    gt_rocprof_options options = gt_rocprof_options_default();
    options.kernel_details = options.short_kernel_study = true;
    return options;
}

static inline gt_table_list sheets_of(gt_rocprof *run, gt_rocprof_options options)
{
    gt_table_list tables = {0};
    gt_error error;
    assert_true(gt_rocprof_tables(run, &options, &tables, &error));
    return tables;
}

static inline void free_all(gt_table_list *tables, gt_rocprof *run)
{
    gt_table_list_free(tables);
    gt_rocprof_free(run);
}

static inline void assert_close(double found, double expected)
{
    double size = fmax(fabs(found), fabs(expected));
    if (fabs(found - expected) > 1e-12 * size) fail_msg("%.17g is not %.17g", found, expected);
}

#endif
