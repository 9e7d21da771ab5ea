/* Where did the time of the window go?
 *
 * Every nanosecond of the window counts once. Busy time counts for one op (exclusive.h): computation is
 * complete, and communication and copies are what nothing hides. Idle time comes from the causes (idle.h).
 * What neither covers is the remainder, which is 0 if both agree on when the GPU was busy. Linear in ops. */
#include "findings/sheets.h"
#include "findings/exclusive.h"
#include "schema/columns.h"

static const char *const class_kinds[] = {[GT_OPS_COMPUTE] = "computation",
                                          [GT_OPS_COMMUNICATION] = "exposed_communication",
                                          [GT_OPS_MEMORY] = "exposed_copy"};

typedef struct part {
    uint32_t name; /* string id */
    int64_t ns;
} part;

/* The exclusive time of each class of ops by category. */
typedef struct work_times {
    int64_t ns[GT_OP_CLASSES][GT_CATEGORIES];
    int64_t busy_ns;
} work_times;

static work_times find_work(const gt_findings *f)
{
    const gt_schedule *s = f->schedule;
    work_times work = {0};
    int64_t *exclusive_ns = gt_ops_exclusive_ns(s);
    for (size_t i = 0; i < s->op_count; i++) {
        work.ns[gt_op_class_of(&s->ops[i])][f->categories[i]] += exclusive_ns[i];
        work.busy_ns += exclusive_ns[i];
    }
    gt_free(exclusive_ns);
    return work;
}

/* ---- the sheet ---- */

enum { PART, KIND, NS, MS, PCT };

typedef struct sheet_rows {
    gt_table *table;
    double window_ns;
} sheet_rows;

static void add_row(sheet_rows *rows, uint32_t name, const char *kind, int64_t ns)
{
    size_t row = gt_table_add_row(rows->table);
    gt_table_set_string(rows->table, PART, row, name);
    gt_table_set_cstr(rows->table, KIND, row, kind);
    gt_table_set_int(rows->table, NS, row, ns);
    gt_table_set_float(rows->table, MS, row, (double)ns / 1e6);
    gt_table_set_float(rows->table, PCT, row, rows->window_ns > 0 ? 100 * (double)ns / rows->window_ns : 0);
}

/* Parts in the order of their time; equal ones as they come. */
static void add_parts(sheet_rows *rows, const char *kind, part *parts, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        part moved = parts[i];
        size_t at = i;
        for (; at > 0 && parts[at - 1].ns < moved.ns; at--) parts[at] = parts[at - 1];
        parts[at] = moved;
    }
    for (size_t i = 0; i < count; i++)
        if (parts[i].ns) add_row(rows, parts[i].name, kind, parts[i].ns);
}

static void add_work(sheet_rows *rows, const char *kind, const int64_t ns[GT_CATEGORIES])
{
    part parts[GT_CATEGORIES];
    for (gt_category c = 0; c < GT_CATEGORIES; c++)
        parts[c] = (part){gt_interner_add_cstr(rows->table->strings, gt_category_name(c)), ns[c]};
    add_parts(rows, kind, parts, GT_CATEGORIES);
}

static void add_idle(sheet_rows *rows, const gt_findings *f)
{
    part parts[GT_CAUSES];
    for (int cause = 0; cause < GT_CAUSES; cause++)
        parts[cause] = (part){gt_interner_add_cstr(f->schedule->strings, gt_cause_name((gt_cause)cause)),
                              f->idle->cause_ns[cause]};
    add_parts(rows, "idle", parts, GT_CAUSES);
}

gt_table *gt_balance_sheet(const gt_findings *f)
{
    static const gt_column_head heads[] = {
        [PART] = {GT_COL_PART, GT_TYPE_STRING}, [KIND] = {GT_COL_KIND, GT_TYPE_STRING},
        [NS] = {GT_COL_NS, GT_TYPE_INT},        [MS] = {GT_COL_MS, GT_TYPE_FLOAT},
        [PCT] = {GT_COL_PCT, GT_TYPE_FLOAT},
    };
    gt_schedule *s = f->schedule;
    int64_t window_ns = s->window.end_ns - s->window.start_ns;
    sheet_rows rows = {gt_table_new(GT_SHEET_BALANCE, s->strings), (double)window_ns};
    gt_table_add_columns(rows.table, heads, GT_LENGTH(heads));
    work_times work = find_work(f);
    for (size_t class = 0; class < GT_OP_CLASSES; class ++)
        add_work(&rows, class_kinds[class], work.ns[class]);
    add_idle(&rows, f);
    add_row(&rows, gt_interner_add_cstr(s->strings, "remainder"), "remainder",
            window_ns - work.busy_ns - f->idle->total_ns);
    return rows.table;
}
