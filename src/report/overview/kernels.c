/* Which kernels take the most time? The sheets of kernels have a row per op, stream or launcher; here rows of
 * one kernel count together. Linear in rows. */
#include "report/overview/overview.h"

#include "schema/columns.h"
#include "trace/rocprof/rocprof.h"

enum { LABEL_MAX = 42 };

/* Where a report has its kernels. */
typedef struct kernel_source {
    gt_sheet sheet;
    gt_col name, time;
    gt_col op; /* no name: there is none */
    double ms_per_unit;
} kernel_source;

/* Of the sheets that a report may have; the columns decide which format it is of. */
static const kernel_source sources[] = {
    {.sheet = GT_SHEET_KERNEL_SUMMARY,
     .name = GT_COL_KERNEL_NAME,
     .time = GT_COL_KERNEL_DURATION_US_SUM,
     .op = GT_COL_PARENT_CPU_OP,
     .ms_per_unit = 1e-3},
    {.sheet = GT_SHEET_KERNEL_SUMMARY,
     .name = GT_COL_NAME,
     .time = GT_COL_TOTAL_KERNEL_TIME_MS,
     .ms_per_unit = 1},
    {.sheet = GT_SHEET_KERNEL_LAUNCHERS_SUMMARY,
     .name = GT_COL_NAME,
     .time = GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
     .ms_per_unit = 1},
};

/* All rows of one kernel. */
typedef struct kernel {
    uint32_t name; /* string id of the table */
    double ms, row_ms;
    size_t row; /* the one with the most time, which has row_ms */
} kernel;

typedef struct kernel_list {
    kernel *items;
    size_t count, capacity;
} kernel_list;

static bool has_columns(const gt_table *table, const kernel_source *source)
{
    size_t name = gt_table_find(table, source->name);
    return name != SIZE_MAX && table->columns[name].type == GT_TYPE_STRING &&
           gt_table_find(table, source->time) != SIZE_MAX;
}

static const gt_table *find_source(const gt_table_list *tables, const kernel_source **source)
{
    for (size_t i = 0; i < GT_LENGTH(sources); i++) {
        const gt_table *table = gt_table_list_find(tables, sources[i].sheet);
        if (!table || !has_columns(table, &sources[i])) continue;
        *source = &sources[i];
        return table;
    }
    return NULL;
}

static kernel_list find_kernels(const gt_table *table, const kernel_source *source)
{
    kernel_list kernels = {0};
    gt_map places = {0};
    const uint32_t *names = gt_table_column_of(table, source->name, GT_TYPE_STRING)->texts;
    const gt_column *times = gt_table_column(table, source->time);
    for (size_t row = 0; row < table->row_count; row++) {
        double ms = source->ms_per_unit * gt_column_number(times, row);
        if (!(ms > 0) || !isfinite(ms)) continue;
        uint32_t *place = gt_map_put(&places, names[row], 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)kernels.count;
            GT_PUSH(kernels.items, kernels.count, kernels.capacity, ((kernel){.name = names[row]}));
        }
        kernel *found = &kernels.items[*place];
        found->ms += ms;
        if (ms <= found->row_ms) continue;
        found->row_ms = ms;
        found->row = row;
    }
    gt_map_free(&places);
    return kernels;
}

/* Moves those with the most time to the front; equal ones stay in their order. Returns how many. */
static size_t select_top(kernel_list *kernels)
{
    size_t count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        kernel moved = kernels->items[i];
        if (!isfinite(moved.ms)) continue; /* absurd times may add up to this */
        if (count == GT_TOP_KERNELS && moved.ms <= kernels->items[count - 1].ms) continue;
        size_t at = count < GT_TOP_KERNELS ? count++ : count - 1;
        for (; at > 0 && kernels->items[at - 1].ms < moved.ms; at--)
            kernels->items[at] = kernels->items[at - 1];
        kernels->items[at] = moved;
    }
    return count;
}

/* A string cell; "" if there is none. */
static gt_str text_at(const gt_table *table, gt_col column, size_t row)
{
    size_t index = column.name ? gt_table_find(table, column) : SIZE_MAX;
    if (index == SIZE_MAX || table->columns[index].type != GT_TYPE_STRING) return (gt_str){"", 0};
    return gt_interner_get(table->strings, table->columns[index].texts[row]);
}

/* ---- labels ---- */

static bool is_taken(const gt_top_kernel *top, size_t count, const char *label)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(top[i].label, label) == 0) return true;
    return false;
}

static gt_str without_namespace(gt_str op)
{
    static const char aten[] = "aten::";
    size_t len = strlen(aten);
    if (op.len <= len || memcmp(op.bytes, aten, len) != 0) return op;
    return (gt_str){op.bytes + len, op.len - len};
}

static bool is_word(char c)
{
    return gt_is_letter(c) || gt_is_digit(c) || c == '_';
}

/* Adds template arguments without namespaces: "<at::native::(anonymous namespace)::foo, c10::Half>(int)"
 * gives
 * "<foo, Half>". Only as much of them as a label may need. */
static void add_arguments(gt_buffer *out, gt_str text)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t word = out->len; /* where the current word begins */
    int depth = 0;
    for (size_t i = 0; i < text.len && out->len < 4 * LABEL_MAX; i++) {
        gt_str rest = {text.bytes + i, text.len - i};
        if (gt_str_starts_with(rest, "::")) {
            out->len = word;
            i++;
        } else if (gt_str_starts_with(rest, anonymous)) {
            i += strlen(anonymous) - 1;
        } else {
            gt_buffer_add(out, rest.bytes, 1);
            if (!is_word(*rest.bytes)) word = out->len;
            depth += (*rest.bytes == '<') - (*rest.bytes == '>');
            if (depth <= 0) return;
        }
    }
}

/* The function's name with the beginning of its template arguments, which say what a kernel named "kernel"
 * does: "vectorized_elementwise_kernel<4, CUDAFunct...". */
static char *short_name(gt_arena *texts, gt_str name, size_t max)
{
    gt_str brief = gt_kernel_short_name(name);
    gt_buffer text = {0};
    const char *end = name.bytes + name.len, *after = brief.bytes + brief.len;
    if (!brief.len) brief = name;
    gt_buffer_add(&text, brief.bytes, brief.len);
    bool has_arguments = brief.len < max && after < end && *after == '<';
    if (has_arguments) add_arguments(&text, (gt_str){after, (size_t)(end - after)});
    char *label = gt_overview_line(texts, gt_buffer_str(&text), has_arguments ? SIZE_MAX / 2 : max);
    gt_buffer_free(&text);
    return has_arguments ? gt_overview_beginning(texts, label, max) : label;
}

/* If two kernels have the same name, the op tells them apart, or a number. */
static char *make_label(gt_arena *texts, const gt_top_kernel *top, size_t count, gt_str name, gt_str op)
{
    char *base = short_name(texts, name, LABEL_MAX), *label = base;
    if (!*base) base = label = gt_arena_format(texts, "(no name)");
    if (is_taken(top, count, label) && op.len)
        label = base = gt_arena_format(texts, "%s (%s)", short_name(texts, name, LABEL_MAX / 2),
                                       gt_overview_line(texts, without_namespace(op), LABEL_MAX / 2 - 3));
    for (size_t number = 2; is_taken(top, count, label); number++)
        label = gt_arena_format(texts, "%s #%zu", base, number);
    return label;
}

size_t gt_overview_top_kernels(const gt_table_list *tables, gt_arena *texts,
                               gt_top_kernel top[GT_TOP_KERNELS])
{
    const kernel_source *source = NULL;
    const gt_table *table = find_source(tables, &source);
    if (!table) return 0;
    kernel_list kernels = find_kernels(table, source);
    size_t count = select_top(&kernels);
    for (size_t i = 0; i < count; i++) {
        const kernel *found = &kernels.items[i];
        gt_str name = gt_interner_get(table->strings, found->name);
        gt_str op = text_at(table, source->op, found->row);
        top[i] = (gt_top_kernel){.label = make_label(texts, top, i, name, op),
                                 .ms = found->ms,
                                 .category = gt_category_named(text_at(table, GT_COL_CATEGORY, found->row))};
    }
    gt_free(kernels.items);
    return count;
}
