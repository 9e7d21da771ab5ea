/* What can the GPU do at most? Its rates by unit and precision and that of its memory: those of the GPU that
 * the user chose, which the sheets' rooflines use, or else the published ones of the GPU that the trace
 * names. */
#include "page/work_parts.h"

#include "schema/page.h"

static void add_rate(gt_table *table, const char *precision, double rate)
{
    enum { PRECISION, RATE };
    if (!isfinite(rate) || rate <= 0) return;
    size_t row = gt_table_add_row(table);
    gt_table_set_cstr(table, PRECISION, row, precision);
    gt_table_set_float(table, RATE, row, rate);
}

void gt_page_add_peaks(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_PRECISION, GT_TYPE_STRING},
        {GT_COL_PAGE_RATE, GT_TYPE_FLOAT},
    };
    const gt_gpu_arch *arch = w->findings->arch;
    if (!arch) arch = gt_gpu_arch_of_device(w->findings->gpu.name);
    if (!arch) return;
    gt_table *table = gt_table_new(GT_SHEET_PAGE_PEAKS, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    for (size_t i = 0; i < arch->peaks_count; i++)
        add_rate(table, arch->peaks[i].spec, arch->peaks[i].tflops);
    add_rate(table, "memory", arch->mem_bw_gbps / 1e3);
    if (table->row_count)
        gt_table_list_add(tables, table);
    else
        gt_table_free(table);
}
