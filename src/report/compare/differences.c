/* What makes two runs something else than the same program before and after a change, named before any time
 * is compared; and whether a few steps make the difference of two means.
 *
 *     differences   one row per variant and thing that differs
 *         report, what              GPU, batch, shapes, dtype, steps; phases of servers
 *         baseline, variant         what it is in either
 *         text                      how much of the time it is about
 *     step_times    one row per trace with steps: their number, mean_ms, median_ms, min_ms, max_ms, note.
 *                   Not of servers, whose steps differ by their work (phases.c)
 *
 * GPU and steps are in the sheet overview, which reports have, too. Shapes and types are those of the kernels
 * in the window of traces; only ops count that both traces have. */
#include "report/compare/compare.h"

#include "schema/columns.h"
#include "table/stats.h"

enum { REPORT, WHAT, BASELINE, VARIANT, TEXT };

static const double notable_share = 0.01; /* of the kernel time */

static void add_difference(gt_table *sheet, const char *report, const char *what, const char *a,
                           const char *b, const char *text)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, REPORT, row, report);
    gt_table_set_cstr(sheet, WHAT, row, what);
    gt_table_set_cstr(sheet, BASELINE, row, a);
    gt_table_set_cstr(sheet, VARIANT, row, b);
    gt_table_set_cstr(sheet, TEXT, row, text);
}

/* ---- facts of the sheet overview ---- */

static void compare_fact(gt_table *sheet, const gt_compare_report *a, const gt_compare_report *b,
                         const char *name, const char *what, const char *text)
{
    char *of_a = gt_compare_fact(a, name), *of_b = gt_compare_fact(b, name);
    bool known = of_a && of_b && strcmp(of_a, "unknown") != 0 && strcmp(of_b, "unknown") != 0;
    if (known && strcmp(of_a, of_b) != 0) add_difference(sheet, b->tag, what, of_a, of_b, text);
    gt_free_all(of_a, of_b);
}

/* ---- steps of servers ---- */

/* The number of steps of each phase as text, "30 prefill, 96 decode". */
static void count_phases(const gt_compare_report *report, double counts[GT_SERVING_PHASES], gt_buffer *text)
{
    for (gt_serving_phase phase = 0; phase < GT_SERVING_PHASES; phase++) {
        char *name = gt_format("steps_%s", gt_serving_phase_name(phase));
        char *count = gt_compare_fact(report, name);
        counts[phase] = count ? strtod(count, NULL) : 0;
        if (counts[phase] > 0)
            gt_buffer_add_format(text, "%s%.0f %s", text->len ? ", " : "", counts[phase],
                                 gt_serving_phase_name(phase));
        gt_free_all(name, count);
    }
}

/* Whether a phase has another share of the steps. */
static bool is_other_mix(const double a[GT_SERVING_PHASES], const double b[GT_SERVING_PHASES])
{
    static const double notable = 0.05;
    double of_a = 0, of_b = 0;
    bool differs = false;
    for (size_t i = 0; i < GT_SERVING_PHASES; i++) of_a += a[i], of_b += b[i];
    for (size_t i = 0; i < GT_SERVING_PHASES && of_a > 0 && of_b > 0; i++)
        differs = differs || fabs(a[i] / of_a - b[i] / of_b) > notable;
    return differs;
}

static void compare_phases(gt_table *sheet, const gt_compare_report *a, const gt_compare_report *b)
{
    if (a->served == GT_NOT_SERVED || b->served == GT_NOT_SERVED) return;
    double counts[2][GT_SERVING_PHASES];
    gt_buffer texts[2] = {0};
    count_phases(a, counts[0], &texts[0]);
    count_phases(b, counts[1], &texts[1]);
    if (is_other_mix(counts[0], counts[1]))
        add_difference(sheet, b->tag, "phases", gt_buffer_str(&texts[0]).bytes,
                       gt_buffer_str(&texts[1]).bytes,
                       "the waterfall is a mean over the steps of all phases, so it shows this, too; only "
                       "phase_changes compares like steps");
    gt_buffer_free(&texts[0]);
    gt_buffer_free(&texts[1]);
}

/* ---- what kernels of both traces work on ---- */

/* Kernel time by a key, in both traces. */
typedef struct work {
    uint32_t op, key; /* string ids of the sheet; key: dims, or a type */
    double ns[2];
} work;

typedef struct tally {
    work *items;
    size_t count, capacity;
    gt_map by_key;
    double ns[2];
} tally;

static void add_work(tally *t, uint32_t op, uint32_t key, size_t side, double ns)
{
    uint32_t *place = gt_map_put(&t->by_key, op, key);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)t->count;
        GT_PUSH(t->items, t->count, t->capacity, ((work){.op = op, .key = key}));
    }
    t->items[*place].ns[side] += ns;
    t->ns[side] += ns;
}

static void free_tally(tally *t)
{
    gt_free(t->items);
    gt_map_free(&t->by_key);
}

/* The list that begins at `text`: of dims and strides "[[8,3],[3]][[3,1],[1]]" the dims. */
static gt_str list_at(const char *text)
{
    size_t depth = 0, len = 0;
    while (text[len]) {
        depth += text[len] == '[';
        if (text[len++] == ']' && --depth == 0) break;
    }
    return (gt_str){text, len};
}

/* The first type in a list like ["long int","c10::BFloat16","Scalar"] that computes: "BFloat16". */
static uint32_t type_of(gt_str types, gt_interner *strings)
{
    static const char *const marks[] = {"loat", "Half", "double"};
    for (const char *at = strchr(types.bytes, '"'), *end; at && (end = strchr(at + 1, '"'));
         at = strchr(end + 1, '"')) {
        gt_str type = {at + 1, (size_t)(end - at - 1)};
        if (gt_str_starts_with(type, "c10::")) type = (gt_str){type.bytes + 5, type.len - 5};
        char *name = gt_format("%.*s", (int)type.len, type.bytes);
        bool computes = false;
        for (size_t i = 0; i < GT_LENGTH(marks); i++) computes = computes || strstr(name, marks[i]);
        uint32_t id = computes ? gt_interner_add_cstr(strings, name) : GT_STR_NONE;
        gt_free(name);
        if (id != GT_STR_NONE) return id;
    }
    return GT_STR_NONE;
}

static void collect(const gt_step_parts *parts, size_t side, gt_interner *strings, tally *shapes,
                    tally *types)
{
    for (size_t i = 0; i < parts->shape_count; i++) {
        const gt_part_shape *shape = &parts->shapes[i];
        gt_str dims = list_at(gt_interner_get(parts->strings, shape->shape).bytes);
        uint32_t type = type_of(gt_interner_get(parts->strings, shape->types), strings);
        if (type != GT_STR_NONE) add_work(types, GT_STR_EMPTY, type, side, (double)shape->ns);
        if (dims.len) {
            gt_str op = gt_interner_get(parts->strings, parts->items[shape->part].op);
            add_work(shapes, gt_interner_add(strings, op.bytes, op.len),
                     gt_interner_add(strings, dims.bytes, dims.len), side, (double)shape->ns);
        }
    }
}

/* ---- types ---- */

static const work *longest(const tally *t, size_t side)
{
    const work *best = NULL;
    for (size_t i = 0; i < t->count; i++)
        if (!best || t->items[i].ns[side] > best->ns[side]) best = &t->items[i];
    return best;
}

static void compare_types(gt_table *sheet, const char *report, const tally *types)
{
    if (!(types->ns[0] > 0) || !(types->ns[1] > 0)) return;
    const work *a = longest(types, 0), *b = longest(types, 1);
    if (a == b) return;
    char *text = gt_format("%.0f %% and %.0f %% of the kernel time whose dtype is known is of this one",
                           100 * a->ns[0] / types->ns[0], 100 * b->ns[1] / types->ns[1]);
    add_difference(sheet, report, "dtype", gt_interner_get(sheet->strings, a->key).bytes,
                   gt_interner_get(sheet->strings, b->key).bytes, text);
    gt_free(text);
}

/* ---- shapes ---- */

/* How two lists of dims differ: [[8,3,224],[64,3]] and [[16,3,224],[64,3]]. */
typedef struct change {
    double ratio;            /* of all sizes that differ; 0: none does yet; NaN: several */
    bool is_first, is_other; /* the first size of a tensor of three or more differs; another one does */
    gt_str a, b;             /* the first argument that differs: [8,3,224] */
} change;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void note_ratio(change *c, double ratio)
{
    c->ratio = c->ratio == 0 || fabs(c->ratio - ratio) < 1e-6 * ratio ? ratio : NAN;
}

static void end_argument(change *c, gt_str a, gt_str b, size_t sizes, unsigned differ)
{
    if (differ && (!c->a.len || (sizes >= 3 && !c->is_first))) c->a = a, c->b = b;
    if (sizes < 3) return;
    c->is_first = c->is_first || (differ & 1);
    c->is_other = c->is_other || (differ & ~1u);
}

/* False if the lists have other numbers of arguments or dimensions; then the first that differs is in `c`. */
static bool compare_dims(const char *a, const char *b, change *c)
{
    const char *begin_a = a, *begin_b = b, *whole_a = a, *whole_b = b;
    size_t depth = 0, size = 0;
    unsigned differ = 0;
    do {
        if (is_digit(*a) && is_digit(*b)) {
            char *end_a, *end_b;
            double of_a = strtod(a, &end_a), of_b = strtod(b, &end_b);
            if (of_a != of_b) {
                differ |= 1u << (size < 31 ? size : 31);
                note_ratio(c, of_a > 0 ? of_b / of_a : NAN);
            }
            a = end_a, b = end_b;
            continue;
        }
        if (*a != *b || !*a) {
            if (c->a.len) return false;
            c->a = list_at(depth > 1 ? begin_a : whole_a);
            c->b = list_at(depth > 1 ? begin_b : whole_b);
            return false;
        }
        depth += *a == '[';
        if (*a == '[') begin_a = a, begin_b = b, size = 0, differ = 0;
        size += *a == ',' && depth > 1;
        if (*a == ']' && depth > 1)
            end_argument(c, (gt_str){begin_a, (size_t)(a + 1 - begin_a)},
                         (gt_str){begin_b, (size_t)(b + 1 - begin_b)}, size + 1, differ);
        depth -= *a == ']';
        a++, b++;
    } while (depth);
    return true;
}

static bool is_own(const work *w, uint32_t op, size_t side)
{
    return w->op == op && w->ns[side] > 0 && !(w->ns[!side] > 0);
}

static int by_time(const void *a, const void *b)
{
    const work *x = a, *y = b;
    double of_x = x->ns[0] + x->ns[1], of_y = y->ns[0] + y->ns[1];
    return of_x < of_y ? 1 : of_x > of_y ? -1 : x->op < y->op ? -1 : x->op > y->op;
}

typedef struct summary {
    double changed[2]; /* kernel time of `ops` in shapes that only this side has */
    change all;        /* of all ops */
    change longest;    /* of the op with the most time; `op` is that one */
    uint32_t op;
    size_t ops;    /* both sides have shapes of their own */
    bool is_other; /* some lists have other lengths */
} summary;

/* The longest shape that only the baseline has, with one that only the variant has: if possible, one whose
 * sizes differ by one ratio. False if either has none. */
static bool find_pair(const tally *shapes, uint32_t op, const gt_interner *strings, change *best, bool *same)
{
    const work *a = NULL, *b = NULL;
    for (size_t i = 0; i < shapes->count; i++)
        if (is_own(&shapes->items[i], op, 0) && (!a || shapes->items[i].ns[0] > a->ns[0]))
            a = &shapes->items[i];
    for (size_t i = 0; a && i < shapes->count; i++) {
        const work *w = &shapes->items[i];
        change own = {0};
        if (!is_own(w, op, 1)) continue;
        bool same_form = compare_dims(gt_interner_get(strings, a->key).bytes,
                                      gt_interner_get(strings, w->key).bytes, &own);
        bool fits = same_form && isfinite(own.ratio), fitted = b && *same && isfinite(best->ratio);
        if (b && (fits == fitted ? w->ns[1] <= b->ns[1] : fitted)) continue;
        b = w, *best = own, *same = same_form;
    }
    return b != NULL;
}

static void add_op(summary *s, const tally *shapes, uint32_t op, const gt_interner *strings)
{
    change own;
    bool same_form = false;
    if (!find_pair(shapes, op, strings, &own, &same_form)) return;
    s->ops++;
    for (size_t i = 0; i < shapes->count; i++)
        for (size_t side = 0; side < 2; side++)
            if (is_own(&shapes->items[i], op, side)) s->changed[side] += shapes->items[i].ns[side];
    s->is_other = s->is_other || !same_form;
    if (own.ratio != 0) note_ratio(&s->all, own.ratio);
    s->all.is_first = s->all.is_first || own.is_first;
    s->all.is_other = s->all.is_other || own.is_other;
    bool is_plainer = own.is_first && !s->longest.is_first;
    if (own.a.len && (!s->longest.a.len || is_plainer)) s->longest = own, s->op = op;
}

static void add_shapes(gt_table *sheet, const char *report, const summary *s, const tally *shapes)
{
    bool is_batch = s->all.is_first && !s->all.is_other && !s->is_other && isfinite(s->all.ratio);
    char *a = gt_format("%.*s", (int)s->longest.a.len, s->longest.a.bytes);
    char *b = gt_format("%.*s", (int)s->longest.b.len, s->longest.b.bytes);
    const char *op = gt_interner_get(sheet->strings, s->op).bytes;
    double share = 100 * s->changed[1] / shapes->ns[1];
    char *text =
        is_batch ? gt_format("sizes are %.4g times as large in %zu ops, such as %s", s->all.ratio, s->ops, op)
                 : gt_format("%.0f %% of the variant's kernel time is in ops of both with shapes that the "
                             "baseline does not have, such as %s",
                             share, op);
    add_difference(sheet, report, is_batch ? "batch" : "shapes", a, b, text);
    gt_free_all(a, b, text);
}

static void compare_shapes(gt_table *sheet, const char *report, const tally *shapes)
{
    tally ops = {0}; /* of both */
    summary s = {0};
    for (size_t i = 0; i < shapes->count; i++)
        for (size_t side = 0; side < 2; side++)
            add_work(&ops, shapes->items[i].op, GT_STR_EMPTY, side, shapes->items[i].ns[side]);
    if (ops.count) qsort(ops.items, ops.count, sizeof *ops.items, by_time);
    for (size_t i = 0; i < ops.count; i++) {
        const work *op = &ops.items[i];
        double share = (op->ns[0] + op->ns[1]) / (shapes->ns[0] + shapes->ns[1]);
        if (op->ns[0] > 0 && op->ns[1] > 0 && share > notable_share)
            add_op(&s, shapes, op->op, sheet->strings);
    }
    /* Of both: an op that the variant calls with fewer shapes makes up for nothing. */
    bool is_notable =
        s.changed[0] > notable_share * shapes->ns[0] && s.changed[1] > notable_share * shapes->ns[1];
    if (is_notable) add_shapes(sheet, report, &s, shapes);
    free_tally(&ops);
}

/* ---- steps ---- */

/* A step, and by how much it is further from the median than others, to the side of the difference. */
typedef struct step_time {
    double beyond_ns;
    size_t step;
} step_time;

GT_ORDER_BY(furthest_first, step_time, GT_DOWN(beyond_ns) GT_UP(step))
GT_ORDER_BY(in_order, step_time, GT_UP(step))

/* "the difference to a is in 2 steps of 8: steps 4 and 8 take 22.000 to 23.000 ms, ..." */
static char *describe_odd(const gt_step_parts *own, const step_time *odd, size_t count, double mean_ns,
                          const char *against)
{
    enum { MOST_NAMED = 4 };
    gt_buffer text = {0};
    double least = INFINITY, most = 0;
    gt_buffer_add_format(&text, "the difference to %s is in ", against);
    if (count > 1)
        gt_buffer_add_format(&text, "%zu steps of %zu: steps", count, own->time_count);
    else
        gt_buffer_add_format(&text, "one step of %zu: step", own->time_count);
    for (size_t i = 0; i < count; i++) {
        double ns = own->times_ns[odd[i].step];
        least = fmin(least, ns);
        most = fmax(most, ns);
        if (i < MOST_NAMED) gt_buffer_add_format(&text, "%s %zu", i ? "," : "", odd[i].step + 1);
    }
    gt_buffer_add_format(&text, "%s take%s %.3f", count > MOST_NAMED ? " ..." : "", count > 1 ? "" : "s",
                         least / 1e6);
    if (count > 1) gt_buffer_add_format(&text, " to %.3f", most / 1e6);
    gt_buffer_add_format(&text, " ms, and without %s the mean is %.3f ms", count > 1 ? "them" : "it",
                         mean_ns / 1e6);
    return gt_buffer_take(&text);
}

/* NULL if the difference is in more than a quarter of the steps of `own`, or in none that is far from the
 * others. */
static char *find_odd_steps(const gt_step_parts *own, const gt_step_parts *other, const char *against)
{
    enum { STEPS_MIN = 3 };
    static const double most_left = 0.25, least_difference = 0.01, apart = 2;
    size_t count = own->time_count, most = count < 8 ? 1 : count / 4, odd = 0;
    if (count < STEPS_MIN || !other->time_count) return NULL;
    double of_other = gt_mean(other->times_ns, other->time_count),
           sum = gt_mean(own->times_ns, count) * (double)count;
    double difference = sum / (double)count - of_other, left = 1, median = gt_median(own->times_ns, count);
    if (fabs(difference) < least_difference * of_other) return NULL;
    step_time *steps = gt_alloc(count * sizeof *steps);
    for (size_t i = 0; i < count; i++)
        steps[i] = (step_time){difference > 0 ? own->times_ns[i] - median : median - own->times_ns[i], i};
    qsort(steps, count, sizeof *steps, furthest_first);
    while (odd < most && left >= most_left) {
        sum -= own->times_ns[steps[odd++].step];
        left = (sum / (double)(count - odd) - of_other) / difference;
    }
    bool is_found = left < most_left && steps[odd - 1].beyond_ns > apart * steps[odd].beyond_ns;
    qsort(steps, odd, sizeof *steps, in_order);
    char *text = is_found ? describe_odd(own, steps, odd, sum / (double)(count - odd), against) : NULL;
    gt_free(steps);
    return text;
}

static void add_times(gt_table *sheet, const gt_compare_report *report, const gt_compare_report *other)
{
    enum { REPORT_TAG, STEPS, MEAN, MEDIAN, MIN, MAX, NOTE };
    const gt_step_parts *parts = report->parts;
    if (!parts || !parts->time_count || report->served != GT_NOT_SERVED) return;
    size_t row = gt_table_add_row(sheet), count = parts->time_count;
    double least = parts->times_ns[0], most = least;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, parts->times_ns[i]);
        most = fmax(most, parts->times_ns[i]);
    }
    gt_table_set_cstr(sheet, REPORT_TAG, row, report->tag);
    gt_table_set_int(sheet, STEPS, row, (int64_t)count);
    gt_table_set_float(sheet, MEAN, row, (double)parts->step_ns / 1e6);
    gt_table_set_float(sheet, MEDIAN, row, gt_median(parts->times_ns, count) / 1e6);
    gt_table_set_float(sheet, MIN, row, least / 1e6);
    gt_table_set_float(sheet, MAX, row, most / 1e6);
    char *note = other && other->parts ? find_odd_steps(parts, other->parts, other->tag) : NULL;
    gt_table_set_cstr(sheet, NOTE, row, note ? note : "");
    gt_free(note);
}

/* ---- sheets ---- */

static const gt_column_head difference_columns[] = {{GT_COL_REPORT, GT_TYPE_STRING},
                                                    {GT_COL_WHAT, GT_TYPE_STRING},
                                                    {GT_COL_BASELINE, GT_TYPE_STRING},
                                                    {GT_COL_VARIANT, GT_TYPE_STRING},
                                                    {GT_COL_TEXT, GT_TYPE_STRING}};
static const gt_column_head time_columns[] = {
    {GT_COL_REPORT, GT_TYPE_STRING},   {GT_COL_STEPS, GT_TYPE_INT},    {GT_COL_MEAN_MS, GT_TYPE_FLOAT},
    {GT_COL_MEDIAN_MS, GT_TYPE_FLOAT}, {GT_COL_MIN_MS, GT_TYPE_FLOAT}, {GT_COL_MAX_MS, GT_TYPE_FLOAT},
    {GT_COL_NOTE, GT_TYPE_STRING}};

static void add_or_drop(gt_table_list *tables, gt_table *sheet, bool wanted)
{
    if (wanted)
        gt_table_list_add(tables, sheet);
    else
        gt_table_free(sheet);
}

void gt_compare_differences(const gt_compare_report *reports, size_t count, gt_interner *strings,
                            gt_table_list *tables)
{
    gt_table *differences = gt_table_new(GT_SHEET_DIFFERENCES, strings);
    gt_table *times = gt_table_new(GT_SHEET_STEP_TIMES, strings);
    gt_table_add_columns(differences, difference_columns, GT_LENGTH(difference_columns));
    gt_table_add_columns(times, time_columns, GT_LENGTH(time_columns));
    const gt_compare_report *base = &reports[0];
    bool has_several = false;
    add_times(times, base, count == 2 ? &reports[1] : NULL);
    for (size_t i = 1; i < count; i++) {
        tally shapes = {0}, types = {0};
        compare_fact(differences, base, &reports[i], "device", "GPU", "");
        for (size_t side = 0; base->parts && reports[i].parts && side < 2; side++)
            collect(side ? reports[i].parts : base->parts, side, strings, &shapes, &types);
        compare_shapes(differences, reports[i].tag, &shapes);
        compare_types(differences, reports[i].tag, &types);
        compare_fact(differences, base, &reports[i], "steps", "steps",
                     "the waterfall is per step, but other sheets have sums over all steps");
        compare_phases(differences, base, &reports[i]);
        add_times(times, &reports[i], base);
        free_tally(&shapes);
        free_tally(&types);
    }
    for (size_t i = 0; i < times->row_count; i++)
        has_several = has_several || gt_table_column(times, GT_COL_STEPS)->ints[i] > 1;
    add_or_drop(tables, differences, differences->row_count > 0);
    add_or_drop(tables, times, has_several);
}

/* ---- terminal ---- */

static void print_sheet(const gt_terminal *terminal, const char *heading, const gt_table *sheet,
                        const gt_terminal_column *columns, size_t count, gt_col sentence)
{
    if (!sheet) return;
    fputc('\n', terminal->file);
    gt_terminal_heading(terminal, heading);
    gt_terminal_rows(terminal, sheet, columns, count, SIZE_MAX);
    for (size_t row = 0; row < sheet->row_count; row++) {
        const char *text = gt_compare_text(sheet, sentence, row);
        if (*text) fprintf(terminal->file, "  %s: %s\n", gt_compare_text(sheet, GT_COL_REPORT, row), text);
    }
}

void gt_compare_print_differences(const gt_terminal *terminal, const gt_table_list *tables)
{
    static const gt_terminal_column of_differences[] = {{GT_COL_REPORT, NULL, 0, NULL},
                                                        {GT_COL_WHAT, NULL, 0, NULL},
                                                        {GT_COL_BASELINE, NULL, 0, NULL},
                                                        {GT_COL_VARIANT, NULL, 0, NULL}};
    static const gt_terminal_column of_times[] = {
        {GT_COL_REPORT, NULL, 0, NULL},  {GT_COL_STEPS, "measured", 0, NULL},
        {GT_COL_MEAN_MS, NULL, 3, NULL}, {GT_COL_MEDIAN_MS, NULL, 3, NULL},
        {GT_COL_MIN_MS, NULL, 3, NULL},  {GT_COL_MAX_MS, NULL, 3, NULL}};
    static const gt_terminal_column of_phases[] = {{GT_COL_REPORT, NULL, 0, NULL},
                                                   {GT_COL_PHASE, NULL, 0, NULL},
                                                   {GT_COL_A_STEPS, "A steps", 0, NULL},
                                                   {GT_COL_A_ALIKE, "alike", 0, NULL},
                                                   {GT_COL_B_STEPS, "B steps", 0, NULL},
                                                   {GT_COL_B_ALIKE, "alike", 0, NULL},
                                                   {GT_COL_A_MS, "A ms", 3, NULL},
                                                   {GT_COL_B_MS, "B ms", 3, NULL},
                                                   {GT_COL_PCT, "%", 1, "%"}};
    print_sheet(terminal, "Steps with like batch and context, by phase; A is the baseline",
                gt_table_list_find(tables, GT_SHEET_PHASE_CHANGES), of_phases, GT_LENGTH(of_phases),
                GT_COL_NOTE);
    print_sheet(terminal, "Not the same work: times differ for these reasons, too",
                gt_table_list_find(tables, GT_SHEET_DIFFERENCES), of_differences, GT_LENGTH(of_differences),
                GT_COL_TEXT);
    print_sheet(terminal, "Times of steps", gt_table_list_find(tables, GT_SHEET_STEP_TIMES), of_times,
                GT_LENGTH(of_times), GT_COL_NOTE);
}
