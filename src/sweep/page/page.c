/* The document of the page: sheets, tables and facts of all sweeps. */
#include "sweep/page/page.h"

#include "page/page.h"

static void borrow(gt_table_list *all, const gt_table_list *tables)
{
    for (size_t i = 0; i < tables->count; i++) all->items[all->count++] = tables->items[i];
}

/* The sheets of a sweep on the page: those of the comparison and of the decision, then the rows of `sweep
 * top`. The list borrows its tables. */
static gt_table_list sheets_of(const gt_page_sweep *sweep, const gt_sweep_spread *spread)
{
    const gt_table_list none = {0}, *comparison = sweep->answer ? sweep->answer->tables : &none;
    size_t count = comparison->count + sweep->sheets->count + spread->sheets.count;
    gt_table_list all = {.items = gt_alloc((count + 1) * sizeof *all.items)};
    borrow(&all, comparison);
    borrow(&all, sweep->sheets);
    borrow(&all, &spread->sheets);
    return all;
}

static void read_spread(const gt_page_sweep *sweep, gt_sweep_spread *spread, gt_table_list *work)
{
    *spread = (gt_sweep_spread){0};
    if (!sweep->analysis) return;
    char *path =
        gt_format("%s/top%lld_gemm_kernels_time_variance.csv", sweep->analysis, (long long)sweep->top);
    gt_sweep_spread_read(spread, path, sweep->decision->measures->strings);
    for (size_t i = 0; i < spread->work.count; i++) gt_table_list_add(work, spread->work.items[i]);
    gt_free(spread->work.items);
    spread->work = (gt_table_list){0};
    gt_free(path);
}

void gt_sweeps_page(const gt_page_sweep *sweeps, size_t count, const char *command, gt_buffer *html)
{
    gt_page_source *sources = gt_alloc(count * sizeof *sources);
    gt_table_list *sheets = gt_alloc(count * sizeof *sheets), *work = gt_alloc_zero(count, sizeof *work);
    gt_sweep_spread *spreads = gt_alloc(count * sizeof *spreads);
    gt_sweep_notes notes = {0};
    gt_buffer facts = {0}, title = {0};
    for (size_t i = 0; i < count; i++) {
        gt_sweep_page_tables(&sweeps[i], &work[i], &notes);
        if (sweeps[i].answer) gt_sweep_page_changes(&sweeps[i], sweeps, &work[i]);
        read_spread(&sweeps[i], &spreads[i], &work[i]);
        sheets[i] = sheets_of(&sweeps[i], &spreads[i]);
        sources[i] = (gt_page_source){sweeps[i].label, &sheets[i], &work[i]};
        if (i) gt_buffer_add_cstr(&title, ", ");
        gt_buffer_add_cstr(&title, sweeps[i].label);
    }
    gt_sweep_page_facts(sweeps, spreads, count, &notes, &facts);
    gt_page_make(&(gt_page){.kind = GT_PAGE_SWEEP,
                            .title = gt_buffer_str(&title).bytes,
                            .command = command,
                            .facts = gt_buffer_str(&facts).bytes,
                            .sources = sources,
                            .source_count = count},
                 html);
    for (size_t i = 0; i < count; i++) {
        gt_free(sheets[i].items);
        gt_table_list_free(&work[i]);
        gt_sweep_spread_free(&spreads[i]);
    }
    for (size_t i = 0; i < notes.count; i++) gt_free(notes.items[i]);
    gt_free(notes.items);
    gt_buffer_free(&facts);
    gt_buffer_free(&title);
    gt_free_all(spreads, work, sheets, sources);
}
