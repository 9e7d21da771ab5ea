/* The numbers of the first screen, from sheets and from the tables of schema/page.h. */
#include "page/measures.h"

#include "page/work.h"
#include "schema/columns.h"
#include "schema/page.h"

static const char *const kind_names[GT_PART_KINDS] = {[GT_PART_COMPUTATION] = "computation",
                                                      [GT_PART_COMMUNICATION] = "exposed_communication",
                                                      [GT_PART_COPY] = "exposed_copy",
                                                      [GT_PART_IDLE] = "idle",
                                                      [GT_PART_REMAINDER] = "remainder"};

const char *gt_page_part_kind_name(gt_page_part_kind kind)
{
    return kind_names[kind];
}

/* ---- cells ---- */

static const gt_table *find_table(const gt_table_list *list, gt_sheet name)
{
    return list ? gt_table_list_find(list, name) : NULL;
}

/* NaN if there is no such column, or no number. */
static double number_at(const gt_table *table, gt_col column, size_t row)
{
    size_t index = gt_table_find(table, column);
    if (index == SIZE_MAX) return NAN;
    gt_cell cell = gt_table_cell(table, index, row);
    return cell.is_null || (cell.type != GT_TYPE_INT && cell.type != GT_TYPE_FLOAT) ? NAN : cell.number;
}

/* NULL if there is no such column, or no string. */
static const char *text_at(const gt_table *table, gt_col column, size_t row)
{
    size_t index = gt_table_find(table, column);
    if (index == SIZE_MAX || table->columns[index].type != GT_TYPE_STRING) return NULL;
    uint32_t id = table->columns[index].texts[row];
    return id == GT_STR_NONE ? NULL : gt_interner_get(table->strings, id).bytes;
}

static bool flag_at(const gt_table *table, gt_col column, size_t row)
{
    size_t index = gt_table_find(table, column);
    return index != SIZE_MAX && gt_table_cell(table, index, row).integer != 0;
}

/* The row in which a column has this text; SIZE_MAX: none. */
static size_t row_of(const gt_table *table, gt_col column, const char *text)
{
    for (size_t row = 0; table && row < table->row_count; row++) {
        const char *found = text_at(table, column, row);
        if (found && strcmp(found, text) == 0) return row;
    }
    return SIZE_MAX;
}

static double fact(const gt_table *table, const char *name)
{
    size_t row = row_of(table, GT_COL_NAME, name);
    return row == SIZE_MAX ? NAN : number_at(table, GT_COL_VALUE, row);
}

static const char *text_fact(const gt_table *table, const char *name)
{
    size_t row = row_of(table, GT_COL_NAME, name);
    return row == SIZE_MAX ? NULL : text_at(table, GT_COL_TEXT, row);
}

/* Whole nanoseconds of a fact; 0 if there is none. */
static int64_t whole_ns(double ns)
{
    return ns > 0 && ns < 0x1p53 ? (int64_t)ns : 0;
}

/* ---- the window ---- */

/* Steps with a name: those of the window, or all. */
static size_t count_steps(const gt_table *steps, bool in_window)
{
    size_t count = 0;
    for (size_t row = 0; steps && row < steps->row_count; row++)
        count += text_at(steps, GT_COL_PAGE_NAME, row) &&
                 (!in_window || flag_at(steps, GT_COL_PAGE_IN_WINDOW, row));
    return count;
}

static void find_window(gt_page_measures *m, const gt_page_source *source)
{
    const gt_table *overview = find_table(source->sheets, GT_SHEET_OVERVIEW);
    const gt_table *facts = find_table(source->work, GT_SHEET_PAGE_FACTS);
    const gt_table *steps = find_table(source->work, GT_SHEET_PAGE_STEPS);
    if (overview) {
        const char *per = text_fact(overview, "per");
        m->window_ns = fact(overview, "gpu_ops") > 0 ? whole_ns(fact(overview, "window_ns")) : 0;
        m->has_steps = per && strcmp(per, "step") == 0;
        m->steps = fact(overview, "steps");
        m->empty_steps = fact(overview, "empty_steps");
        if (!m->has_steps) m->server_steps = (double)count_steps(steps, false);
        m->window_steps = fact(overview, "window_steps");
        m->device = text_fact(overview, "device");
        m->device_is_deduced = text_fact(overview, "device_by") != NULL;
        m->device_count = fact(overview, "device_count");
        m->capture_ms = fact(overview, "capture_ms");
        m->is_graph_capture = text_fact(overview, "contents") != NULL;
    } else {
        m->window_ns = whole_ns(fact(facts, "window_end") - fact(facts, "window_start"));
        m->window_steps = (double)count_steps(steps, true);
        m->has_steps = m->window_steps > 0;
        m->steps = m->has_steps ? (double)steps->row_count : 0;
    }
    if (!(m->window_steps >= 1)) m->window_steps = 1;
    if (!(m->steps >= 0)) m->steps = 0;
}

/* ---- parts ---- */

static gt_page_part_kind kind_of(const char *name)
{
    for (gt_page_part_kind kind = 0; name && kind < GT_PART_KINDS; kind++)
        if (strcmp(kind_names[kind], name) == 0) return kind;
    return GT_PART_REMAINDER;
}

static void add_part(gt_page_measures *m, gt_page_part_kind kind, const char *name, int64_t ns)
{
    for (size_t i = 0; i < m->part_count; i++)
        if (m->parts[i].kind == kind && strcmp(m->parts[i].name, name) == 0) {
            m->parts[i].ns += ns;
            return;
        }
    GT_PUSH(m->parts, m->part_count, m->part_capacity, ((gt_page_part){kind, name, ns}));
}

static int64_t sum_of_parts(const gt_page_measures *m)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->part_count; i++) sum += m->parts[i].ns;
    return sum;
}

static void add_parts_of_steps(gt_page_measures *m, const gt_table *steps, const gt_table *parts)
{
    for (size_t row = 0; row < parts->row_count; row++) {
        double step = number_at(parts, GT_COL_PAGE_STEP, row), ns = number_at(parts, GT_COL_PAGE_NS, row);
        const char *name = text_at(parts, GT_COL_PAGE_PART, row);
        if (!name || !(step >= 0 && step < (double)steps->row_count) || !(fabs(ns) < 0x1p53)) continue;
        if (flag_at(steps, GT_COL_PAGE_IN_WINDOW, (size_t)step))
            add_part(m, kind_of(text_at(parts, GT_COL_PAGE_KIND, row)), name, (int64_t)ns);
    }
}

static void add_parts_of_balance(gt_page_measures *m, const gt_table *balance)
{
    for (size_t row = 0; row < balance->row_count; row++) {
        const char *name = text_at(balance, GT_COL_PART, row);
        double ns = number_at(balance, GT_COL_NS, row);
        gt_page_part_kind kind = kind_of(text_at(balance, GT_COL_KIND, row));
        if (!name || !(fabs(ns) < 0x1p53) || ns == 0) continue;
        add_part(m, kind, name, (int64_t)ns);
    }
}

GT_ORDER_BY(by_kind_and_time, gt_page_part, GT_UP(kind) GT_DOWN(ns) GT_UP_TEXT(name))

/* Without the sheet balance, the parts of the steps, which do not cover a window with steps that were left
 * out. */
static void find_parts(gt_page_measures *m, const gt_page_source *source)
{
    const gt_table *steps = find_table(source->work, GT_SHEET_PAGE_STEPS);
    const gt_table *step_parts = find_table(source->work, GT_SHEET_PAGE_STEP_PARTS);
    const gt_table *balance = find_table(source->sheets, GT_SHEET_BALANCE);
    if (balance)
        add_parts_of_balance(m, balance);
    else if (steps && step_parts)
        add_parts_of_steps(m, steps, step_parts);
    int64_t rest_ns = m->window_ns - sum_of_parts(m);
    if (rest_ns && m->part_count) add_part(m, GT_PART_REMAINDER, "remainder", rest_ns);
    if (m->part_count) qsort(m->parts, m->part_count, sizeof *m->parts, by_kind_and_time);
    for (size_t i = 0; i < m->part_count; i++) m->kind_ns[m->parts[i].kind] += m->parts[i].ns;
}

/* ---- steps ---- */

static void find_steps(gt_page_measures *m, const gt_page_source *source)
{
    const gt_table *steps = find_table(source->work, GT_SHEET_PAGE_STEPS);
    const gt_table *parts = find_table(source->work, GT_SHEET_PAGE_STEP_PARTS);
    if (!steps || !parts) return;
    size_t *places = gt_alloc(steps->row_count * sizeof *places);
    for (size_t row = 0; row < steps->row_count; row++)
        places[row] = flag_at(steps, GT_COL_PAGE_IN_WINDOW, row) ? m->step_count++ : SIZE_MAX;
    m->step_ns = gt_alloc_zero(m->step_count, sizeof *m->step_ns);
    for (int kind = 0; kind < GT_PART_KINDS; kind++)
        m->step_kind_ns[kind] = gt_alloc_zero(m->step_count, sizeof *m->step_kind_ns[kind]);
    for (size_t row = 0; row < steps->row_count; row++)
        if (places[row] != SIZE_MAX) m->step_ns[places[row]] = number_at(steps, GT_COL_PAGE_NS, row);
    for (size_t row = 0; row < parts->row_count; row++) {
        double step = number_at(parts, GT_COL_PAGE_STEP, row), ns = number_at(parts, GT_COL_PAGE_NS, row);
        if (!(step >= 0 && step < (double)steps->row_count) || places[(size_t)step] == SIZE_MAX) continue;
        m->step_kind_ns[kind_of(text_at(parts, GT_COL_PAGE_KIND, row))][places[(size_t)step]] += ns;
    }
    gt_free(places);
}

/* ---- the roofline ---- */

/* Computation of the whole trace, in kernels of all devices; `only`: of this category. NULL: of all. */
static double computation_us(const gt_table *kernels, const char *only)
{
    double sum_ns = 0;
    for (size_t row = 0; kernels && row < kernels->row_count; row++) {
        const char *category = text_at(kernels, GT_COL_PAGE_CATEGORY, row);
        double ns = number_at(kernels, GT_COL_PAGE_NS, row);
        bool computes = category && strcmp(category, gt_category_name(GT_CATEGORY_COMMUNICATION)) != 0 &&
                        strcmp(category, gt_category_name(GT_CATEGORY_COPY)) != 0;
        if (computes && ns > 0 && (!only || strcmp(category, only) == 0)) sum_ns += ns;
    }
    return sum_ns / 1e3;
}

static gt_page_roofline_lack lack_of(const gt_table *ops)
{
    bool has_durations = false, has_shapes = false, has_models = false;
    if (!ops || !ops->row_count) return GT_ROOFLINE_LACKS_MODELS;
    for (size_t row = 0; row < ops->row_count; row++) {
        has_durations |= number_at(ops, GT_COL_KERNEL_TIME_US_SUM, row) > 0;
        has_shapes |= text_at(ops, GT_COL_INPUT_DIMS, row) != NULL;
        has_models |= number_at(ops, GT_COL_GFLOPS, row) > 0;
    }
    if (!has_durations) return GT_ROOFLINE_LACKS_DURATIONS;
    if (!has_shapes) return GT_ROOFLINE_LACKS_SHAPES;
    return has_models ? GT_ROOFLINE_LACKS_RATES : GT_ROOFLINE_LACKS_MODELS;
}

static void find_roofline(gt_page_measures *m, const gt_page_source *source)
{
    const gt_table *ops = find_table(source->sheets, GT_SHEET_UNIFIED_PERF_SUMMARY);
    gt_page_roofline *r = &m->roofline;
    const char *rates = text_fact(find_table(source->sheets, GT_SHEET_OVERVIEW), "roofline");
    bool has_times = ops && gt_table_find(ops, GT_COL_ROOFLINE_TIME_US_FIRST) != SIZE_MAX;
    r->has_rates = has_times || (rates && *rates);
    r->lack = lack_of(ops);
    const gt_table *kernels = find_table(source->work, GT_SHEET_PAGE_KERNELS);
    const char *top = m->part_count && m->parts[0].kind == GT_PART_COMPUTATION ? m->parts[0].name : "";
    for (size_t row = 0; has_times && row < ops->row_count; row++) {
        double ideal_us =
            number_at(ops, GT_COL_ROOFLINE_TIME_US_FIRST, row) * number_at(ops, GT_COL_OPERATION_COUNT, row);
        double kernel_us = number_at(ops, GT_COL_KERNEL_TIME_US_SUM, row);
        const char *category = text_at(ops, GT_COL_OP_CATEGORY, row);
        if (!(kernel_us > 0)) continue;
        bool has_model = isfinite(ideal_us) && ideal_us > 0;
        bool is_top =
            category &&
            strcmp(gt_category_name(gt_category_of_ops((gt_str){category, strlen(category)})), top) == 0;
        if (has_model) r->ideal_us += ideal_us;
        if (has_model) r->kernel_us += kernel_us;
        if (has_model && is_top) r->top_ideal_us += ideal_us;
        if (has_model && is_top) r->top_kernel_us += kernel_us;
        if (is_top) r->top_all_us += kernel_us;
    }
    /* A kernel may have another category than its op, and some have no op. */
    r->gpu_us = computation_us(kernels, NULL);
    r->top_all_us = fmax(r->top_all_us, computation_us(kernels, top));
}

/* ---- the first finding ---- */

/* The expected gain. The sheet's score is that, too, but lower where a finding stands after others. */
static double worth_at(const gt_table *findings, size_t row)
{
    const char *name = text_at(findings, GT_COL_CONFIDENCE, row);
    gt_confidence confidence = GT_CONFIDENCE_HIGH;
    while (name && confidence > GT_CONFIDENCE_LOW && strcmp(gt_confidence_name(confidence), name) != 0)
        confidence--;
    const char *id = text_at(findings, GT_COL_ID, row);
    return number_at(findings, GT_COL_GAIN_MS, row) * gt_gain_weight(id ? id : "", confidence);
}

static void find_repair(gt_page_measures *m, const gt_table_list *sheets)
{
    double first_ms = 0;
    const gt_table *findings = find_table(sheets, GT_SHEET_FINDINGS);
    for (size_t row = 0; findings && row < findings->row_count; row++) {
        const char *kind = text_at(findings, GT_COL_KIND, row);
        if (flag_at(findings, GT_COL_HINT, row)) continue;
        double worth_ms = worth_at(findings, row);
        if (m->repair.id) {
            m->repair.precedes_more |= worth_ms > 1.001 * first_ms;
            continue;
        }
        first_ms = worth_ms;
        m->repair = (gt_page_repair){.id = text_at(findings, GT_COL_ID, row),
                                     .title = text_at(findings, GT_COL_TITLE, row),
                                     .is_gpu = kind && strcmp(kind, "gpu") == 0,
                                     .gain_pct = number_at(findings, GT_COL_GAIN_PCT, row)};
    }
}

/* ---- all of it ---- */

static double timeline_ms(const gt_table *timeline, const char *type)
{
    size_t row = row_of(timeline, GT_COL_TYPE, type);
    return row == SIZE_MAX ? NAN : number_at(timeline, GT_COL_TIME_MS, row);
}

gt_page_measures gt_page_measures_find(const gt_page_source *source)
{
    gt_page_measures m = {0};
    const gt_table *timeline = find_table(source->sheets, GT_SHEET_GPU_TIMELINE);
    find_window(&m, source);
    find_repair(&m, source->sheets);
    if (m.window_ns > 0) {
        find_parts(&m, source);
        find_steps(&m, source);
        find_roofline(&m, source);
    }
    m.total_ms[GT_PART_COMMUNICATION] = timeline_ms(timeline, "total_comm_time");
    m.total_ms[GT_PART_COPY] = timeline_ms(timeline, "total_memcpy_time");
    const gt_table *copies = find_table(source->work, GT_SHEET_PAGE_COPIES);
    for (size_t row = 0; copies && row < copies->row_count; row++)
        m.copies += number_at(copies, GT_COL_PAGE_COUNT, row);
    return m;
}

void gt_page_measures_free(gt_page_measures *m)
{
    gt_free_all(m->parts, m->step_ns);
    for (int kind = 0; kind < GT_PART_KINDS; kind++) gt_free(m->step_kind_ns[kind]);
    *m = (gt_page_measures){0};
}
