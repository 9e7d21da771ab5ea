/* Which kernels, copies and memsets does the trace have? One row per name, over all devices, with the exact
 * sum of their times and a histogram: quarters of powers of two are fine enough to see two modes. */
#include "page/work_parts.h"

#include "schema/page.h"
#include "trace/rocprof/rocprof.h"

enum { KERNELS_MAX = 20000 };

/* ---- rows ---- */

static void add_duration(gt_page_kernel *kernel, int64_t ns)
{
    kernel->ns = gt_page_add_ns(kernel->ns, ns);
    kernel->count++;
    if (ns < kernel->min_ns) kernel->min_ns = ns;
    if (ns > kernel->max_ns) kernel->max_ns = ns;
}

/* A trace with absurdly many names: those with the least time share the last row. */
static void join_shortest(gt_page_work *w)
{
    size_t count = w->kernel_count, kept = 0;
    int64_t *times = gt_alloc(count * sizeof *times);
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    for (size_t i = 0; i < count; i++) times[i] = w->kernels[i].ns;
    gt_page_largest largest = gt_page_largest_find(times, count, KERNELS_MAX - 1);
    gt_page_kernel rest = {.name = gt_interner_add_cstr(w->schedule->strings, "other kernels"),
                           .kind = GT_KIND_KERNEL,
                           .category = GT_CATEGORY_OTHER,
                           .min_ns = INT64_MAX};
    for (size_t i = 0; i < count; i++) {
        const gt_page_kernel kernel = w->kernels[i];
        bool keeps = gt_page_largest_keeps(&largest, kernel.ns);
        rows[i] = keeps ? (uint32_t)kept : KERNELS_MAX - 1;
        if (keeps) {
            w->kernels[kept++] = kernel;
            continue;
        }
        rest.ns = gt_page_add_ns(rest.ns, kernel.ns);
        rest.count += kernel.count;
        if (kernel.min_ns < rest.min_ns) rest.min_ns = kernel.min_ns;
        if (kernel.max_ns > rest.max_ns) rest.max_ns = kernel.max_ns;
    }
    w->kernels[KERNELS_MAX - 1] = rest;
    w->kernel_count = KERNELS_MAX;
    for (size_t i = 0; i < w->op_count; i++) w->op_kernel[i] = rows[w->op_kernel[i]];
    gt_free_all(times, rows);
}

void gt_page_find_kernels(gt_page_work *w)
{
    uint32_t *rows = gt_no_events(gt_interner_count(w->schedule->strings)); /* by string id of the name */
    size_t capacity = 0;
    w->op_kernel = gt_alloc(w->op_count * sizeof *w->op_kernel);
    for (size_t i = 0; i < w->op_count; i++) {
        gt_page_op op = gt_page_op_at(w, i);
        uint32_t *row = &rows[op.name];
        if (*row == GT_NO_EVENT) {
            *row = (uint32_t)w->kernel_count;
            gt_page_kernel kernel = {.name = op.name,
                                     .kind = op.kind,
                                     .category = GT_CATEGORY_OTHER,
                                     .communicates = op.communicates,
                                     .min_ns = INT64_MAX};
            GT_PUSH(w->kernels, w->kernel_count, capacity, kernel);
        }
        w->op_kernel[i] = *row;
        add_duration(&w->kernels[*row], op.end_ns - op.start_ns);
    }
    gt_free(rows);
    if (w->kernel_count > KERNELS_MAX) join_shortest(w);
}

/* ---- histograms ---- */

enum { QUARTERS = 4, BUCKETS = 64 * QUARTERS };

/* floor(4 * log2(ns)), exactly; 0 for 0 ns. The limits are 2^(63 + 1/4), 2^(63 + 1/2) and 2^(63 + 3/4),
 * rounded up to integers. */
static size_t bucket_of(int64_t ns)
{
    static const uint64_t limits[] = {UINT64_C(10968499650544839024), UINT64_C(13043817825332782213),
                                      UINT64_C(15511800964685064949)};
    if (ns < 1) return 0;
    unsigned zeros = (unsigned)__builtin_clzll((uint64_t)ns);
    uint64_t scaled = (uint64_t)ns << zeros;
    size_t quarter = 0;
    for (size_t i = 0; i < GT_LENGTH(limits); i++) quarter += scaled >= limits[i];
    return (63 - zeros) * QUARTERS + quarter;
}

/* Ops by kernel, so that one histogram at a time is enough. The caller frees both. */
static uint32_t *order_by_kernel(const gt_page_work *w, size_t **ends)
{
    uint32_t *order = gt_alloc(w->op_count * sizeof *order);
    size_t *next = gt_alloc_zero(w->kernel_count + 1, sizeof *next);
    for (size_t i = 0; i < w->kernel_count; i++) next[i + 1] = next[i] + (size_t)w->kernels[i].count;
    for (uint32_t i = 0; i < w->op_count; i++) order[next[w->op_kernel[i]]++] = i;
    *ends = next;
    return order;
}

static void add_histogram(const gt_page_work *w, gt_column *list, size_t row, const uint32_t *ops)
{
    const gt_page_kernel *kernel = &w->kernels[row];
    int64_t counts[BUCKETS] = {0};
    for (int64_t i = 0; i < kernel->count; i++) {
        gt_page_op op = gt_page_op_at(w, ops[i]);
        counts[bucket_of(op.end_ns - op.start_ns)]++;
    }
    gt_list_begin(list, row);
    for (size_t b = bucket_of(kernel->min_ns); b <= bucket_of(kernel->max_ns); b++)
        gt_list_push_int(list, counts[b]);
}

/* ---- the table ---- */

/* Names that say nothing: those of CUTLASS and CK, whose first template argument is the kernel. */
static bool is_generic(gt_str name)
{
    static const char *const words[] = {"Kernel", "Kernel2", "device_kernel", "kentry"};
    for (size_t i = 0; i < GT_LENGTH(words); i++)
        if (gt_str_equals(name, words[i])) return true;
    return false;
}

/* The first template argument after a part of the name, without its own arguments. */
static gt_str first_argument(gt_str name, gt_str part)
{
    const char *at = part.bytes + part.len, *end = name.bytes + name.len;
    if (at == end || *at != '<') return (gt_str){0};
    const char *begin = ++at;
    for (; at < end && *at != '<' && *at != ',' && *at != '>' && *at != '('; at++)
        if (*at == ':' || *at == ' ') begin = at + 1;
    return (gt_str){begin, (size_t)(at - begin)};
}

static bool is_identifier(gt_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!gt_is_letter(text.bytes[i]) && !gt_is_digit(text.bytes[i]) && text.bytes[i] != '_') return false;
    return text.len && !gt_is_digit(text.bytes[0]);
}

/* The identifier of a mangled name that begins at *at with its length, "4name"; empty if there is none. */
static gt_str next_identifier(gt_str name, size_t *at)
{
    enum { LONG = 1000 }; /* hostile names may have thousands of these */
    size_t begin = *at, len = 0;
    while (begin < name.len && gt_is_digit(name.bytes[begin]) && len < name.len)
        len = 10 * len + (size_t)(name.bytes[begin++] - '0');
    gt_str found = {name.bytes + begin, len};
    if (len > LONG || len > name.len - begin || !is_identifier(found)) return (gt_str){0};
    *at = begin + len;
    return found;
}

/* "kernel" of "_ZN2ck6kernelIfEEvT_": the last part of the function's name. Of a generic one, the first
 * template argument that has a name of its own. */
static gt_str mangled_name(gt_str name)
{
    enum { OWN_NAME = 4 };
    size_t at = gt_str_starts_with(name, "_ZN") ? 3 : gt_str_starts_with(name, "_Z") ? 2 : name.len;
    gt_str last = {0}, found;
    while ((found = next_identifier(name, &at)).len) last = found;
    if (!is_generic(last)) return last;
    for (size_t i = at; i < name.len; i++) {
        size_t place = i;
        if (!gt_is_digit(name.bytes[i]) || gt_is_digit(name.bytes[i - 1])) continue;
        found = next_identifier(name, &place);
        if (found.len >= OWN_NAME) return found;
    }
    return last;
}

/* Names of copies have no template arguments: "Memcpy HtoD (Pageable -> Device)". */
static uint32_t short_name(gt_interner *strings, const gt_page_kernel *kernel)
{
    gt_str name = gt_interner_get(strings, kernel->name);
    if (kernel->kind != GT_KIND_KERNEL) return kernel->name;
    gt_str found = mangled_name(name);
    if (!found.len) found = gt_kernel_short_name(name);
    gt_str argument = is_generic(found) ? first_argument(name, found) : (gt_str){0};
    if (argument.len) found = argument;
    if (!found.len || found.len == name.len) return kernel->name;
    return gt_interner_add(strings, found.bytes, found.len);
}

void gt_page_add_kernels(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_NAME, GT_TYPE_STRING},     {GT_COL_PAGE_SHORT, GT_TYPE_STRING},
        {GT_COL_PAGE_CATEGORY, GT_TYPE_STRING}, {GT_COL_PAGE_COUNT, GT_TYPE_INT},
        {GT_COL_PAGE_NS, GT_TYPE_INT},          {GT_COL_PAGE_MIN_NS, GT_TYPE_INT},
        {GT_COL_PAGE_MAX_NS, GT_TYPE_INT},      {GT_COL_PAGE_HISTOGRAM, GT_TYPE_LIST}};
    enum { NAME, SHORT, CATEGORY, COUNT, NS, MIN_NS, MAX_NS, HISTOGRAM };
    gt_table *table = gt_table_new(GT_SHEET_PAGE_KERNELS, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, w->kernel_count);
    size_t *ends;
    uint32_t *order = order_by_kernel(w, &ends);
    for (size_t i = 0; i < w->kernel_count; i++) {
        const gt_page_kernel *kernel = &w->kernels[i];
        gt_column *columns = table->columns;
        columns[NAME].texts[i] = kernel->name;
        columns[SHORT].texts[i] = short_name(table->strings, kernel);
        gt_table_set_cstr(table, CATEGORY, i, gt_category_name(kernel->category));
        columns[COUNT].ints[i] = kernel->count;
        columns[NS].ints[i] = kernel->ns;
        columns[MIN_NS].ints[i] = kernel->min_ns;
        columns[MAX_NS].ints[i] = kernel->max_ns;
        add_histogram(w, &columns[HISTOGRAM], i, order + ends[i] - kernel->count);
    }
    gt_free_all(order, ends);
    gt_table_list_add(tables, table);
}
