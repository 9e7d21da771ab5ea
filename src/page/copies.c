/* Which copies were made, how large, and how long did they take? Copies and memsets of all devices by
 * direction, kind of memory and size. Kernels that are copies by their name count too, as in the sheet
 * memory_copies.
 *
 * A trace has few names of copies, so each is read once (trace/copy_names.h). Beyond ROWS_MAX rows, the sizes
 * with the least time are joined. */
#include "page/work_parts.h"

#include "schema/page.h"
#include "trace/copy_names.h"

enum { ROWS_MAX = 2000 };
enum { UNKNOWN = -1 };                             /* bytes */
static const int64_t BYTES_MAX = INT64_C(1) << 53; /* no copy has more, and the page computes with doubles */

typedef struct copy_group {
    uint32_t direction, kind; /* string ids */
    int64_t bytes;            /* of one copy */
    int64_t count, ns;
    int64_t window_count, window_ns; /* of these, in the window */
} copy_group;

typedef struct copy_groups {
    copy_group *items; /* in the order of their first copy, until they are sorted */
    size_t count, capacity;
    gt_map places; /* direction and kind; bytes */
} copy_groups;

/* What the name of a kernel of the page says; a direction of GT_STR_NONE: it is no copy. */
typedef struct copy_kind {
    uint32_t direction, kind;
} copy_kind;

static copy_kind read_kernel(gt_interner *strings, const gt_page_kernel *kernel)
{
    gt_str name = gt_interner_get(strings, kernel->name);
    if (kernel->kind == GT_KIND_MEMSET)
        return (copy_kind){gt_interner_add_cstr(strings, "memset"), gt_interner_add_cstr(strings, "device")};
    if (kernel->kind != GT_KIND_MEMCPY && !gt_is_copy_kernel(name)) return (copy_kind){0};
    gt_copy_name read = gt_copy_name_read(name);
    return (copy_kind){gt_interner_add_cstr(strings, read.direction),
                       gt_interner_add_cstr(strings, read.kind)};
}

static void add_to_group(copy_groups *groups, copy_group added)
{
    uint32_t *place =
        gt_map_put(&groups->places, (uint64_t)added.direction << 32 | added.kind, (uint64_t)added.bytes);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)groups->count;
        GT_PUSH(groups->items, groups->count, groups->capacity, added);
        return;
    }
    copy_group *group = &groups->items[*place];
    group->count += added.count;
    group->ns = gt_page_add_ns(group->ns, added.ns);
    group->window_count += added.window_count;
    group->window_ns = gt_page_add_ns(group->window_ns, added.window_ns);
}

static copy_group group_of(const gt_page_work *w, const gt_page_op *op, copy_kind kind)
{
    const gt_step_window *window = &w->schedule->window;
    int64_t bytes = op->bytes > 0 && op->bytes <= BYTES_MAX ? op->bytes : UNKNOWN;
    copy_group group = {kind.direction, kind.kind, bytes, 1, op->end_ns - op->start_ns, 0, 0};
    int64_t start_ns = op->start_ns > window->start_ns ? op->start_ns : window->start_ns;
    int64_t end_ns = op->end_ns < window->end_ns ? op->end_ns : window->end_ns;
    bool is_instant = group.ns == 0 && start_ns == op->start_ns && start_ns < window->end_ns;
    if (start_ns < end_ns || is_instant) {
        group.window_count = 1;
        group.window_ns = end_ns - start_ns;
    }
    return group;
}

static copy_groups find_groups(const gt_page_work *w)
{
    copy_groups groups = {0};
    bool any = false;
    copy_kind *kinds = gt_alloc(w->kernel_count * sizeof *kinds); /* by kernel */
    for (size_t i = 0; i < w->kernel_count; i++) {
        kinds[i] = read_kernel(w->schedule->strings, &w->kernels[i]);
        any |= kinds[i].direction != GT_STR_NONE;
    }
    for (size_t i = 0; i < w->op_count && any; i++) {
        copy_kind kind = kinds[w->op_kernel[i]];
        if (kind.direction == GT_STR_NONE) continue;
        gt_page_op op = gt_page_op_at(w, i);
        add_to_group(&groups, group_of(w, &op, kind));
    }
    gt_free(kinds);
    return groups;
}

/* The longest first. Equal ones by their strings, sizes and ids, so that the order is always the same. */
GT_ORDER_BY(by_time, copy_group, GT_DOWN(ns) GT_DOWN(bytes) GT_UP(direction) GT_UP(kind))

static void sort_groups(copy_groups *groups)
{
    if (groups->count) qsort(groups->items, groups->count, sizeof *groups->items, by_time);
}

/* Joins what has no row of its own with the copies of the same kind whose size is unknown. */
static void join_rest(copy_groups *groups)
{
    sort_groups(groups);
    if (groups->count <= ROWS_MAX) return;
    copy_groups joined = {0};
    for (size_t i = 0; i < groups->count; i++) {
        copy_group group = groups->items[i];
        if (i >= ROWS_MAX) group.bytes = UNKNOWN;
        add_to_group(&joined, group);
    }
    gt_free(groups->items);
    gt_map_free(&groups->places);
    *groups = joined;
    sort_groups(groups);
}

void gt_page_add_copies(const gt_page_work *w, gt_table_list *tables)
{
    enum { DIRECTION, KIND, BYTES, COUNT, NS, WINDOW_COUNT, WINDOW_NS };
    static const gt_column_head heads[] = {
        [DIRECTION] = {GT_COL_PAGE_DIRECTION, GT_TYPE_STRING},
        [KIND] = {GT_COL_PAGE_KIND, GT_TYPE_STRING},
        [BYTES] = {GT_COL_PAGE_BYTES, GT_TYPE_INT},
        [COUNT] = {GT_COL_PAGE_COUNT, GT_TYPE_INT},
        [NS] = {GT_COL_PAGE_NS, GT_TYPE_INT},
        [WINDOW_COUNT] = {GT_COL_PAGE_WINDOW_COUNT, GT_TYPE_INT},
        [WINDOW_NS] = {GT_COL_PAGE_WINDOW_NS, GT_TYPE_INT},
    };
    copy_groups groups = find_groups(w);
    join_rest(&groups);
    if (groups.count) {
        gt_table *table = gt_table_new(GT_SHEET_PAGE_COPIES, w->schedule->strings);
        gt_table_add_columns(table, heads, GT_LENGTH(heads));
        for (size_t i = 0; i < groups.count; i++) {
            const copy_group *group = &groups.items[i];
            size_t row = gt_table_add_row(table);
            gt_table_set_string(table, DIRECTION, row, group->direction);
            gt_table_set_string(table, KIND, row, group->kind);
            if (group->bytes != UNKNOWN) gt_table_set_int(table, BYTES, row, group->bytes);
            gt_table_set_int(table, COUNT, row, group->count);
            gt_table_set_int(table, NS, row, group->ns);
            gt_table_set_int(table, WINDOW_COUNT, row, group->window_count);
            gt_table_set_int(table, WINDOW_NS, row, group->window_ns);
        }
        gt_table_list_add(tables, table);
    }
    gt_free(groups.items);
    gt_map_free(&groups.places);
}
