/* What the report of a trace says about the trace: sheets with and without rows, the verdict, the checks that
 * are not passed. */
#include "doctor/parts.h"

enum { NAMES_SHOWN = 4 };

static void add_sheet(gt_diagnosis *d, const char *name, size_t rows, const char *why)
{
    gt_doctor_sheet sheet = {
        .name = gt_diagnosis_string(d, (gt_str){name, strlen(name)}), .rows = rows, .why = why};
    GT_PUSH(d->sheets, d->sheet_count, d->sheet_capacity, sheet);
}

bool gt_doctor_has_rows(const gt_inspection *p, gt_sheet sheet)
{
    const gt_table *table = gt_table_list_find(&p->report->tables, sheet);
    return table && table->row_count;
}

void gt_doctor_omitted(gt_inspection *p, gt_sheet sheet, const char *why)
{
    const gt_table *table = gt_table_list_find_any(&p->report->tables, sheet);
    if (!table) add_sheet(p->d, sheet.name, 0, why);
    for (size_t i = 0; table && i < p->d->sheet_count; i++)
        if (!p->d->sheets[i].rows && strcmp(p->d->sheets[i].name, sheet.name) == 0) p->d->sheets[i].why = why;
}

/* T7 and T8 are gaps with the same text; T0 is one, too. */
static bool is_gap(const gt_diagnosis *d, const char *id)
{
    static const struct {
        const char *check, *gap;
    } same[] = {{"T0", "gpu_events"}, {"T7", "shapes"}, {"T8", "stacks"}, {"T6", "end"}, {"T10", "steps"}};
    for (size_t i = 0; i < GT_LENGTH(same); i++)
        if (strcmp(id, same[i].check) == 0 && gt_missing_exists(d, same[i].gap)) return true;
    return false;
}

static void add_checks(gt_inspection *p, const gt_answers *answers)
{
    gt_diagnosis *d = p->d;
    const gt_table *trust = gt_answers_sheet(answers, GT_SHEET_TRUST);
    for (size_t row = 0; trust && row < trust->row_count; row++) {
        gt_failed_check check = {.id = gt_diagnosis_string(d, gt_answers_cell(trust, GT_COL_ID, row)),
                                 .level = gt_diagnosis_string(d, gt_answers_cell(trust, GT_COL_LEVEL, row))};
        bool is_failed = strcmp(check.level, "fail") == 0; /* the verdict needs a reason */
        if (strcmp(check.level, "ok") == 0 || (!is_failed && is_gap(d, check.id))) continue;
        gt_str text = gt_answers_cell(trust, GT_COL_TEXT, row);
        check.text = gt_arena_bytes(&d->strings, text.bytes, text.len);
        GT_PUSH(d->checks, d->check_count, d->check_capacity, check);
    }
}

static void add_number(gt_inspection *p, const gt_answers *answers, const char *name, const char *unit)
{
    double value = gt_answers_number(answers, name);
    if (!isfinite(value)) return;
    if (unit)
        gt_fact_add_number(p->d, GT_FACT_CONTENTS, name, value, unit);
    else
        gt_fact_add_count(p->d, GT_FACT_CONTENTS, name, value);
}

void gt_doctor_sheets(gt_inspection *p)
{
    const gt_answers answers = {.trace = p->report->title, .tables = &p->report->tables};
    const gt_table_list *tables = &p->report->tables;
    for (size_t i = 0; i < tables->count; i++) {
        size_t rows = tables->items[i]->row_count;
        add_sheet(p->d, tables->items[i]->name, rows,
                  rows                                              ? NULL
                  : strcmp(tables->items[i]->name, "findings") == 0 ? "none found"
                                                                    : "nothing of this kind was recorded");
    }
    if (!gt_answers_exist(tables)) return;
    p->d->verdict = gt_diagnosis_text(p->d, "%s", gt_answers_text(&answers, "verdict"));
    const char *device = gt_answers_text(&answers, "device");
    if (*device)
        gt_fact_add_text(p->d, GT_FACT_CONTENTS, "busiest_device",
                         gt_diagnosis_text(p->d, "%s%s", device, gt_answers_device_note(&answers)));
    add_number(p, &answers, "device_count", NULL);
    add_number(p, &answers, "steps", NULL);
    if (gt_answers_number(&answers, "steps") > 0) add_number(p, &answers, "step_ms", "ms");
    add_number(p, &answers, "busy_ms", "ms");
    add_number(p, &answers, "capture_ms", "ms");
    add_checks(p, &answers);
    if (p->report->kind == GT_TRACE_PYTORCH && gt_doctor_has_rows(p, GT_SHEET_OPS_SUMMARY) &&
        !*gt_answers_text(&answers, "roofline"))
        gt_missing_add(p->d, "roofline", "the peak rates of this GPU are unknown", "no roofline columns",
                       "gputally report --gpu_arch_platform NAME, or --gpu_arch_json_path FILE");
}

const char *gt_doctor_count_names(gt_diagnosis *d, const char *const *names, size_t count)
{
    const char *shown[NAMES_SHOWN];
    size_t counts[NAMES_SHOWN] = {0}, kinds = 0, others = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < kinds && strcmp(shown[k], names[i]) != 0) k++;
        if (k == NAMES_SHOWN) {
            others++;
            continue;
        }
        if (k == kinds) shown[kinds++] = names[i];
        counts[k]++;
    }
    gt_buffer text = {0};
    for (size_t k = 0; k < kinds; k++) {
        gt_buffer_add_format(&text, "%s%s", k ? ", " : "", shown[k]);
        if (counts[k] > 1) gt_buffer_add_format(&text, " (%zu)", counts[k]);
    }
    if (others) gt_buffer_add_format(&text, " and %zu others", others);
    gt_str bytes = gt_buffer_str(&text);
    const char *copy = gt_arena_bytes(&d->strings, bytes.bytes, bytes.len);
    gt_buffer_free(&text);
    return copy;
}
