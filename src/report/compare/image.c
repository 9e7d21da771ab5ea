/* What is kept of a trace that is compared, as an image (base/image.h), and back: the process that read the
 * trace passes it to the one that compares.
 *
 * The sheets are the text of CSV files, as in memory; the tables of the page keep their types. One interner
 * has the strings of these tables and of the step's parts. */
#include "report/compare/compare.h"

#include "report/report.h"
#include "table/image.h"

static const char owner[] = "compared";

enum { ORIGIN, HAS_PAGE, PAGE_TABLES, FACTS };

static void save_page(const gt_report *kept, gt_interner *strings, gt_image *image)
{
    size_t sheets = kept->tables.count, count = sheets + kept->page.count;
    gt_table **all = gt_alloc((count + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = i < sheets ? kept->tables.items[i] : kept->page.items[i - sheets];
    gt_tables_save(all, count, strings, image);
    gt_free(all);
}

void gt_compare_save(gt_compare_report *report, gt_image *image)
{
    if (!report->is_trace) return;
    const gt_report *kept = report->kept;
    const int64_t facts[FACTS] = {[ORIGIN] = report->origin,
                                  [HAS_PAGE] = kept != NULL,
                                  [PAGE_TABLES] = kept ? (int64_t)kept->page.count : 0};
    gt_image_add_numbers(image, owner, "facts", facts, FACTS);
    gt_image_add_text(image, owner, "verdict", report->verdict);
    gt_image_add_text(image, owner, "judged", report->judged);
    gt_image_add_text(image, owner, "distrust", report->distrust);
    gt_perf_sheets_save(report->sheets, image);
    gt_interner_free(report->saved);
    report->saved = gt_interner_new();
    gt_step_parts_save(report->parts, report->saved, image);
    if (kept) save_page(kept, report->saved, image);
    gt_strings_save(report->saved, image);
}

/* ---- loading ---- */

static void add_table(void *list, gt_table *table)
{
    gt_table_list_add(list, table);
}

/* The tables get strings of their own, so that the image can be freed. */
static bool load_page(gt_compare_report *report, const gt_image *image, gt_interner *strings, int64_t page)
{
    gt_table_list all = {0};
    bool sound = gt_tables_load(image, strings, add_table, &all) && page >= 0 && (uint64_t)page <= all.count;
    if (!sound) {
        gt_table_list_free(&all);
        return false;
    }
    size_t sheets = all.count - (size_t)page;
    report->loaded.strings = gt_interner_new();
    for (size_t i = 0; i < all.count; i++) {
        gt_table_use_strings(all.items[i], report->loaded.strings);
        gt_table_list_add(i < sheets ? &report->loaded.sheets : &report->loaded.page, all.items[i]);
    }
    all.count = 0;
    gt_table_list_free(&all);
    return true;
}

bool gt_compare_load(gt_compare_report *report, const gt_image *image)
{
    const int64_t *facts = gt_image_get_all(image, owner, "facts", sizeof *facts, FACTS);
    gt_interner *strings = facts ? gt_strings_load(image) : NULL;
    bool sound = strings && facts[ORIGIN] >= 0 && facts[ORIGIN] <= GT_BY_NSYS &&
                 gt_image_get_text(image, owner, "verdict", &report->verdict) &&
                 gt_image_get_text(image, owner, "judged", &report->judged) &&
                 gt_image_get_text(image, owner, "distrust", &report->distrust) &&
                 gt_step_parts_load(image, strings, &report->parts) &&
                 (!facts[HAS_PAGE] || load_page(report, image, strings, facts[PAGE_TABLES])) &&
                 (report->sheets = gt_perf_sheets_load(image, report->path)) != NULL;
    if (sound) {
        report->origin = (gt_trace_origin)facts[ORIGIN];
        report->served = gt_compare_find_served(report);
    }
    gt_interner_free(strings);
    if (!sound) gt_compare_close(report);
    return sound;
}
