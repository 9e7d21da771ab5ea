/* The step of one trace as parts: exclusive time by op and kernel, exposed communication by collective,
 * exposed copies by direction, idle time by cause. Together they are the window, each instant once.
 *
 * A window of n steps is divided by n. So that the quotients still add up, the running sum is divided and
 * rounded, and a part gets the difference to the sum before it. */
#include "findings/waterfall/waterfall.h"

#include "analysis/categories.h"
#include "findings/exclusive.h"
#include "findings/schedule/sites.h"
#include "schema/columns.h"

/* ---- names ---- */

static bool is_hex_letter(char c)
{
    return c >= 'a' && c <= 'f';
}

/* Whether the last word of a name ("_" separates words) is a hash: at least 8 hexadecimal digits, of which
 * some are letters and some are not. */
static bool is_hash(gt_str word)
{
    size_t digits = 0, letters = 0;
    for (size_t i = 0; i < word.len; i++) {
        digits += gt_is_digit(word.bytes[i]);
        letters += is_hex_letter(word.bytes[i]);
    }
    return word.len >= 8 && digits && letters && digits + letters == word.len;
}

/* Triton's specialisation of arguments: "0d1d2de3c". */
static bool is_specialisation(gt_str word)
{
    size_t marks = 0;
    if (!word.len || !gt_is_digit(word.bytes[0])) return false;
    for (size_t i = 0; i < word.len; i++) {
        if (!gt_is_digit(word.bytes[i]) && !strchr("dec", word.bytes[i])) return false;
        marks += word.bytes[i] == 'd';
    }
    return marks >= 2;
}

static bool is_number(gt_str word)
{
    for (size_t i = 0; i < word.len; i++)
        if (!gt_is_digit(word.bytes[i])) return false;
    return word.len > 0;
}

/* Length without the last words that differ from run to run. */
static size_t stable_length(gt_str name)
{
    bool inductor = gt_str_starts_with(name, "triton_");
    size_t len = name.len;
    for (;;) {
        size_t begin = len;
        while (begin && name.bytes[begin - 1] != '_') begin--;
        gt_str word = {name.bytes + begin, len - begin};
        if (begin < 2 || !((inductor && is_number(word)) || is_specialisation(word) || is_hash(word)))
            return len;
        len = begin - 1;
    }
}

/* Tensile names a GEMM "Cijk_Ailk_Bljk_HHS_BH_MT128x64x32_...": the problem, then the solution. */
static size_t problem_length(gt_str name)
{
    for (const char *at = name.bytes; (at = strstr(at, "_MT")) != NULL; at++)
        if (gt_is_digit(at[3])) return (size_t)(at - name.bytes);
    return name.len;
}

uint32_t gt_kernel_normal_name(gt_interner *strings, uint32_t name)
{
    gt_str text = gt_interner_get(strings, name);
    size_t len = gt_str_starts_with(text, "Cijk_") ? problem_length(text) : stable_length(text);
    return len == text.len ? name : gt_interner_add(strings, text.bytes, len);
}

/* "AllReduce" for "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)": algorithm, type and version of the library
 * are not what is compared. "Memcpy HtoD" for "Memcpy HtoD (Pageable -> Device)". */
static uint32_t short_name(gt_interner *strings, gt_part_kind kind, gt_str name)
{
    static const char *const collectives[] = {"AllReduce", "ReduceScatter", "AllGather", "AllToAll",
                                              "SendRecv",  "Broadcast",     "Reduce"};
    for (size_t i = 0; kind == GT_PART_COMMUNICATION && i < GT_LENGTH(collectives); i++)
        if (gt_str_contains_nocase(name, collectives[i]))
            return gt_interner_add_cstr(strings, collectives[i]);
    const char *end = memchr(name.bytes, '(', name.len);
    size_t len = end && end > name.bytes ? (size_t)(end - name.bytes) : name.len;
    while (len && name.bytes[len - 1] == ' ') len--;
    return gt_interner_add(strings, name.bytes, len);
}

static bool contains_any(gt_str text, const char *const *parts)
{
    for (; *parts; parts++)
        if (gt_str_contains_nocase(text, *parts)) return true;
    return false;
}

/* ---- collecting ---- */

typedef struct collector {
    gt_step_parts *parts;
    const gt_schedule *schedule;
    gt_map by_trace;                  /* kind, op and name, as string ids of the trace, to the part */
    gt_map by_name;                   /* the same with string ids of the parts */
    gt_map shapes;                    /* part, dims and strides to the shape */
    uint32_t *dims, *strides, *types; /* by row of the trace; NULL: it has no rows */
    size_t row_count;
    uint8_t *op_is_counted; /* by host event */
    gt_categories *categories;
} collector;

/* "attention backward". GT_STR_NONE for categories in which one kernel cannot do what another one did, such
 * as "elementwise" and "other". */
static uint32_t category_of(collector *c, uint32_t op, uint32_t kernel)
{
    static const char *const backward[] = {"backward", "bwd", "bprop", NULL};
    bool has_op = op != GT_STR_EMPTY;
    gt_gpu_work work = {.name = kernel, .op = has_op ? op : (uint32_t)GT_STR_NONE};
    gt_category category = gt_categories_find(c->categories, &work);
    if (category > GT_CATEGORY_NORMALISATION) return GT_STR_NONE;
    bool is_backward = contains_any(gt_interner_get(c->schedule->strings, has_op ? op : kernel), backward);
    char *name = gt_format("%s%s", gt_category_name(category), is_backward ? " backward" : "");
    uint32_t id = gt_interner_add_cstr(c->parts->strings, name);
    gt_free(name);
    return id;
}

static uint32_t find_part(collector *c, gt_part_kind kind, uint32_t op, uint32_t name)
{
    gt_step_parts *parts = c->parts;
    uint32_t *place = gt_map_put(&c->by_name, (uint64_t)kind << 32 | op, name);
    if (*place == GT_MAP_NONE) {
        gt_step_part part = {.kind = (uint8_t)kind, .op = op, .name = name};
        *place = (uint32_t)parts->count;
        GT_PUSH(parts->items, parts->count, parts->capacity, part);
    }
    return *place;
}

static uint32_t copy_string(const collector *c, uint32_t id)
{
    return gt_interner_add_from(c->parts->strings, c->schedule->strings, id);
}

static uint32_t new_part(collector *c, gt_part_kind kind, uint32_t op, uint32_t name)
{
    gt_interner *strings = c->parts->strings;
    if (kind != GT_PART_KERNEL)
        return find_part(c, kind, GT_STR_EMPTY,
                         short_name(strings, kind, gt_interner_get(c->schedule->strings, name)));
    uint32_t own_op = copy_string(c, op), own_name = copy_string(c, name);
    uint32_t place = find_part(c, kind, own_op, own_name);
    gt_step_part *part = &c->parts->items[place];
    part->normal_name = gt_kernel_normal_name(strings, own_name);
    part->category = category_of(c, op, name);
    return place;
}

static uint32_t part_of(collector *c, const gt_gpu_op *op)
{
    static const gt_part_kind kinds[] = {[GT_OPS_COMPUTE] = GT_PART_KERNEL,
                                         [GT_OPS_COMMUNICATION] = GT_PART_COMMUNICATION,
                                         [GT_OPS_MEMORY] = GT_PART_COPY};
    gt_part_kind kind = kinds[gt_op_class_of(op)];
    uint32_t op_name = GT_STR_EMPTY;
    if (kind == GT_PART_KERNEL && op->host_op != GT_NONE) op_name = c->schedule->events[op->host_op].name;
    uint32_t *known = gt_map_put(&c->by_trace, (uint64_t)kind << 32 | op_name, op->name);
    if (*known == GT_MAP_NONE) *known = new_part(c, kind, op_name, op->name);
    return *known;
}

static gt_part_shape *shape_of(collector *c, uint32_t part, const gt_gpu_op *op)
{
    uint32_t row = op->host_op == GT_NONE ? GT_NONE : c->schedule->events[op->host_op].row;
    bool has_row = row < c->row_count;
    uint32_t dims = has_row ? c->dims[row] : GT_STR_NONE, strides = has_row ? c->strides[row] : GT_STR_NONE;
    gt_step_parts *parts = c->parts;
    uint32_t *place = gt_map_put(&c->shapes, part, (uint64_t)dims << 32 | strides);
    if (*place == GT_MAP_NONE) {
        gt_interner *strings = c->schedule->strings;
        char *text =
            gt_format("%s%s", gt_interner_get(strings, dims).bytes, gt_interner_get(strings, strides).bytes);
        gt_part_shape new = {.part = part, .shape = gt_interner_add_cstr(parts->strings, text)};
        if (has_row) new.types = copy_string(c, c->types[row]);
        *place = (uint32_t)parts->shape_count;
        GT_PUSH(parts->shapes, parts->shape_count, parts->shape_capacity, new);
        gt_free(text);
    }
    return &parts->shapes[*place];
}

/* How much of an op lies in the window. */
static int64_t inside_ns(const gt_step_window *window, const gt_gpu_op *op)
{
    int64_t start = op->start_ns > window->start_ns ? op->start_ns : window->start_ns;
    int64_t end = op->end_ns < window->end_ns ? op->end_ns : window->end_ns;
    return end > start ? end - start : 0;
}

static void collect_kernel(collector *c, uint32_t place, const gt_gpu_op *op, int64_t ns, bool starts)
{
    gt_part_shape *shape = shape_of(c, place, op);
    bool first = starts && (op->host_op == GT_NONE || !c->op_is_counted[op->host_op]);
    if (op->host_op != GT_NONE) c->op_is_counted[op->host_op] = 1;
    c->parts->items[place].op_calls += first;
    shape->ns += ns;
    shape->calls += starts;
    shape->op_calls += first;
}

static void collect_ops(collector *c)
{
    const gt_schedule *schedule = c->schedule;
    int64_t *exclusive_ns = gt_ops_exclusive_ns(schedule);
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        int64_t ns = inside_ns(&schedule->window, op);
        bool starts = gt_window_has(&schedule->window, op->start_ns);
        if (!ns && !starts) continue;
        uint32_t place = part_of(c, op);
        gt_step_part *part = &c->parts->items[place];
        part->ns += exclusive_ns[i];
        part->hidden_ns += ns - exclusive_ns[i];
        part->calls += starts;
        if (part->kind == GT_PART_KERNEL) collect_kernel(c, place, op, ns, starts);
    }
    gt_free(exclusive_ns);
}

/* Where in the program does most idle time of each cause come from? */
static void find_sites(collector *c, const gt_idle *idle, uint32_t *sites)
{
    gt_tally tallies[GT_CAUSES] = {{0}};
    uint32_t unknown = gt_site_of(c->schedule, GT_NONE);
    for (size_t i = 0; i < idle->piece_count; i++) {
        const gt_idle_piece *piece = &idle->pieces[i];
        uint32_t site = gt_site_of_idle(c->schedule, piece->cause, piece->event);
        if (site != unknown)
            gt_tally_add(&tallies[piece->cause], site, (double)(piece->end_ns - piece->start_ns));
    }
    for (gt_cause cause = 0; cause < GT_CAUSES; cause++) {
        gt_tally_sort(&tallies[cause]);
        sites[cause] = tallies[cause].item_count ? copy_string(c, tallies[cause].items[0].text) : GT_STR_NONE;
        gt_tally_free(&tallies[cause]);
    }
}

static void collect_idle(collector *c, const gt_idle *idle)
{
    uint32_t sites[GT_CAUSES];
    find_sites(c, idle, sites);
    for (gt_cause cause = 0; cause < GT_CAUSES; cause++) {
        if (!idle->cause_ns[cause]) continue;
        uint32_t name = gt_interner_add_cstr(c->parts->strings, gt_cause_name(cause));
        uint32_t place = find_part(c, GT_PART_IDLE, GT_STR_EMPTY, name); /* may move the parts */
        c->parts->items[place].ns += idle->cause_ns[cause];
        c->parts->items[place].site = sites[cause];
    }
}

/* ---- per step ---- */

static int64_t divide(int64_t ns, int64_t steps)
{
    return ns / steps + (ns % steps * 2 >= steps);
}

static void divide_parts(gt_step_parts *parts, int64_t window_ns)
{
    int64_t steps = (int64_t)parts->steps, sum = 0;
    for (size_t i = 0; i < parts->count; i++) {
        gt_step_part *part = &parts->items[i];
        int64_t before = divide(sum, steps);
        sum += part->ns;
        part->ns = divide(sum, steps) - before;
        part->hidden_ns = divide(part->hidden_ns, steps);
    }
    parts->step_ns = divide(window_ns, steps);
}

gt_step_parts *gt_step_parts_new(const gt_schedule *schedule, const gt_idle *idle)
{
    gt_step_parts *parts = gt_alloc_zero(1, sizeof *parts);
    parts->strings = gt_interner_new();
    parts->steps = schedule->window.steps ? schedule->window.steps : 1;
    parts->has_steps = schedule->used_step_count > 0;
    parts->has_calls = true;
    collector c = {.parts = parts, .schedule = schedule};
    c.op_is_counted = gt_alloc_zero(schedule->event_count, 1);
    c.categories = gt_categories_new(schedule->strings);
    if (schedule->trace) {
        c.row_count = gt_store_count(schedule->trace->store);
        c.dims = gt_store_string_ids(schedule->trace->store, GT_EVENT_INPUT_DIMS);
        c.strides = gt_store_string_ids(schedule->trace->store, GT_EVENT_INPUT_STRIDES);
        c.types = gt_store_string_ids(schedule->trace->store, GT_EVENT_INPUT_TYPES);
    }
    collect_ops(&c);
    collect_idle(&c, idle);
    divide_parts(parts, schedule->window.end_ns - schedule->window.start_ns);
    if (schedule->used_step_count > 1) parts->time_count = schedule->used_step_count - 1;
    parts->times_ns = gt_alloc((parts->time_count + 1) * sizeof *parts->times_ns);
    for (size_t i = 0; i < parts->time_count; i++) parts->times_ns[i] = gt_step_time_ns(schedule, i);
    gt_map_free(&c.by_trace);
    gt_map_free(&c.by_name);
    gt_map_free(&c.shapes);
    gt_free(c.op_is_counted);
    gt_categories_free(c.categories);
    gt_free_all(c.dims, c.strides, c.types);
    return parts;
}

void gt_step_parts_free(gt_step_parts *parts)
{
    if (!parts) return;
    gt_interner_free(parts->strings);
    gt_free_all(parts->items, parts->shapes, parts->times_ns, parts);
}

/* ---- from the sheets of a report ---- */

/* The step of a report as parts: its sheet balance has the nanoseconds of the window by category of kernels,
 * communication, copies and cause of idle time; the sheet overview has the number of steps. Both may have
 * been edited, so whatever does not fit makes the division impossible: a waterfall adds up or does not exist.
 */

static const struct {
    const char *name; /* in the column kind of balance */
    gt_part_kind kind;
} kinds[] = {
    {"computation", GT_PART_CATEGORY}, {"exposed_communication", GT_PART_COMMUNICATION},
    {"exposed_copy", GT_PART_COPY},    {"idle", GT_PART_IDLE},
    {"remainder", GT_PART_IDLE},
};

static const gt_column *find_column(const gt_table *sheet, gt_col name)
{
    size_t place = gt_table_find(sheet, name);
    return place == SIZE_MAX ? NULL : &sheet->columns[place];
}

static gt_str text_at(const gt_table *sheet, const gt_column *column, size_t row)
{
    return gt_interner_get(sheet->strings, column->texts[row]);
}

/* A whole number up to 2^53, which workbooks keep although they have only floats. */
static bool whole_number(const gt_column *column, size_t row, int64_t *value)
{
    const double largest = 9007199254740992;
    double number = gt_column_number(column, row);
    if (!(number >= 0 && number <= largest) || number != floor(number)) return false;
    *value = (int64_t)number;
    return true;
}

/* The fact with this name; false if there is none. */
static bool find_fact(const gt_table *overview, const char *name, int64_t *value)
{
    const gt_column *names = find_column(overview, GT_COL_NAME),
                    *values = find_column(overview, GT_COL_VALUE);
    if (!names || !values || names->type != GT_TYPE_STRING) return false;
    for (size_t row = 0; row < overview->row_count; row++)
        if (gt_str_equals(text_at(overview, names, row), name)) return whole_number(values, row, value);
    return false;
}

static bool add_row(gt_step_parts *parts, gt_str kind, gt_str name, int64_t ns)
{
    gt_step_part part = {.op = GT_STR_EMPTY, .ns = ns};
    for (size_t i = 0; i < GT_LENGTH(kinds); i++) {
        if (!gt_str_equals(kind, kinds[i].name)) continue;
        part.kind = (uint8_t)kinds[i].kind;
        part.name = gt_interner_add(parts->strings, name.bytes, name.len);
        if (ns) GT_PUSH(parts->items, parts->count, parts->capacity, part);
        return true;
    }
    return false;
}

static bool add_rows(gt_step_parts *parts, const gt_table *balance, int64_t window_ns)
{
    const gt_column *names = find_column(balance, GT_COL_PART), *kind = find_column(balance, GT_COL_KIND),
                    *times = find_column(balance, GT_COL_NS);
    double sum = 0;
    int64_t ns;
    if (!names || !kind || !times || names->type != GT_TYPE_STRING || kind->type != GT_TYPE_STRING)
        return false;
    for (size_t row = 0; row < balance->row_count; row++) {
        if (!whole_number(times, row, &ns) ||
            !add_row(parts, text_at(balance, kind, row), text_at(balance, names, row), ns))
            return false;
        sum += (double)ns;
    }
    return sum == (double)window_ns;
}

gt_step_parts *gt_step_parts_of_balance(const gt_table *balance, const gt_table *overview)
{
    int64_t steps, all_steps, window_ns;
    if (!find_fact(overview, "window_steps", &steps) || !find_fact(overview, "steps", &all_steps) ||
        !find_fact(overview, "window_ns", &window_ns) || steps < 1)
        return NULL;
    gt_step_parts *parts = gt_alloc_zero(1, sizeof *parts);
    parts->strings = gt_interner_new();
    parts->steps = (size_t)steps;
    parts->has_steps = all_steps > 0;
    if (add_rows(parts, balance, window_ns)) {
        divide_parts(parts, window_ns);
        return parts;
    }
    gt_step_parts_free(parts);
    return NULL;
}

/* ---- as an image ---- */

/* The parts of a step as an image (base/image.h), and back: a process that read a trace passes them to the
 * one that compares it with others.
 *
 * String ids are moved to those of the image, and afterwards to an interner of the loaded parts. What is
 * loaded may be anything: ids and indexes must exist, and the sums that the comparison makes of times and
 * calls must not overflow. */

static const char owner[] = "step";

enum { STEP_NS, STEPS, HAS_STEPS, HAS_CALLS, FACTS };

void gt_part_shape_move(gt_part_shape *shape, const gt_interner *from, gt_interner *to)
{
    shape->shape = gt_interner_add_from(to, from, shape->shape);
    shape->types = gt_interner_add_from(to, from, shape->types);
}

void gt_step_part_move(gt_step_part *part, const gt_interner *from, gt_interner *to)
{
    part->op = gt_interner_add_from(to, from, part->op);
    part->name = gt_interner_add_from(to, from, part->name);
    part->normal_name = gt_interner_add_from(to, from, part->normal_name);
    part->category = gt_interner_add_from(to, from, part->category);
    part->site = gt_interner_add_from(to, from, part->site);
}

void gt_step_parts_save(const gt_step_parts *parts, gt_interner *strings, gt_image *image)
{
    if (!parts) return;
    gt_step_part *items = gt_alloc_zero(parts->count + 1, sizeof *items);
    gt_part_shape *shapes = gt_alloc_zero(parts->shape_count + 1, sizeof *shapes);
    for (size_t i = 0; i < parts->count; i++) {
        items[i] = parts->items[i];
        gt_step_part_move(&items[i], parts->strings, strings);
    }
    for (size_t i = 0; i < parts->shape_count; i++) {
        shapes[i] = parts->shapes[i];
        gt_part_shape_move(&shapes[i], parts->strings, strings);
    }
    const int64_t facts[FACTS] = {[STEP_NS] = parts->step_ns,
                                  [STEPS] = (int64_t)parts->steps,
                                  [HAS_STEPS] = parts->has_steps,
                                  [HAS_CALLS] = parts->has_calls};
    gt_image_add_numbers(image, owner, "facts", facts, FACTS);
    gt_image_give(image, owner, "parts", items, parts->count * sizeof *items);
    gt_image_give(image, owner, "shapes", shapes, parts->shape_count * sizeof *shapes);
    gt_image_add(image, owner, "times", parts->times_ns, parts->time_count * sizeof *parts->times_ns);
}

/* ---- loading ---- */

/* Sums of everything that the comparison adds up. */
typedef struct sums {
    uint64_t ns, calls;
} sums;

enum { SUM_BITS = 60 };

static bool add_to(uint64_t *sum, uint64_t value)
{
    return !__builtin_add_overflow(*sum, value, sum) && *sum < (uint64_t)1 << SUM_BITS;
}

static uint64_t size_of(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static bool part_is_sound(const gt_step_part *part, uint32_t strings, sums *s)
{
    return part->kind <= GT_PART_IDLE && part->op < strings && part->name < strings &&
           part->normal_name < strings && part->category < strings && part->site < strings &&
           add_to(&s->ns, size_of(part->ns)) && add_to(&s->ns, size_of(part->hidden_ns)) &&
           add_to(&s->calls, part->calls) && add_to(&s->calls, part->op_calls);
}

static bool shape_is_sound(const gt_part_shape *shape, uint32_t strings, size_t parts, sums *s)
{
    return shape->part < parts && shape->shape < strings && shape->types < strings &&
           add_to(&s->ns, size_of(shape->ns)) && add_to(&s->calls, shape->calls) &&
           add_to(&s->calls, shape->op_calls);
}

static bool are_sound(const gt_step_parts *parts, uint32_t strings)
{
    sums s = {0};
    bool sound = add_to(&s.ns, size_of(parts->step_ns));
    for (size_t i = 0; sound && i < parts->count; i++) sound = part_is_sound(&parts->items[i], strings, &s);
    for (size_t i = 0; sound && i < parts->shape_count; i++)
        sound = shape_is_sound(&parts->shapes[i], strings, parts->count, &s);
    return sound;
}

static void *copy_of(const void *bytes, size_t count, size_t size)
{
    void *copy = gt_alloc((count + 1) * size);
    memcpy(copy, bytes, count * size);
    return copy;
}

bool gt_step_parts_load(const gt_image *image, const gt_interner *strings, gt_step_parts **parts)
{
    size_t count = 0, shape_count = 0, time_count = 0;
    int64_t facts[FACTS];
    const void *numbers = gt_image_get_all(image, owner, "facts", sizeof *facts, FACTS);
    const void *items = gt_image_get(image, owner, "parts", sizeof(gt_step_part), &count);
    const void *shapes = gt_image_get(image, owner, "shapes", sizeof(gt_part_shape), &shape_count);
    const void *times = gt_image_get(image, owner, "times", sizeof(double), &time_count);
    *parts = NULL;
    if (!numbers && !items && !shapes) return true;
    if (!numbers || !items || !shapes || !times) return false;
    memcpy(facts, numbers, sizeof facts);
    if (facts[STEPS] < 1 || facts[STEPS] >= (int64_t)1 << SUM_BITS) return false;
    gt_step_parts *loaded = gt_alloc_zero(1, sizeof *loaded);
    *loaded = (gt_step_parts){.items = copy_of(items, count, sizeof *loaded->items),
                              .count = count,
                              .capacity = count + 1,
                              .shapes = copy_of(shapes, shape_count, sizeof *loaded->shapes),
                              .shape_count = shape_count,
                              .shape_capacity = shape_count + 1,
                              .times_ns = copy_of(times, time_count, sizeof(double)),
                              .time_count = time_count,
                              .step_ns = facts[STEP_NS],
                              .steps = (size_t)facts[STEPS],
                              .has_steps = facts[HAS_STEPS] != 0,
                              .has_calls = facts[HAS_CALLS] != 0};
    if (!are_sound(loaded, gt_interner_count(strings))) {
        gt_step_parts_free(loaded);
        return false;
    }
    loaded->strings = gt_interner_new();
    for (size_t i = 0; i < count; i++) gt_step_part_move(&loaded->items[i], strings, loaded->strings);
    for (size_t i = 0; i < shape_count; i++) gt_part_shape_move(&loaded->shapes[i], strings, loaded->strings);
    *parts = loaded;
    return true;
}
