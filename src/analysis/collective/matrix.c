/* communication_matrix: how much data do ranks send to each other?
 *
 * The trace says what a collective is given, not how the library moves it. Counted is what has to be moved,
 * with S the full message (sync.c) and n the size of the group, in bytes that a rank sends to each other
 * rank:
 *
 *     all_to_allv                    its split size for that rank
 *     all-to-all                     S / n
 *     all-reduce                     2 S / n: a reduce-scatter, then an all-gather
 *     reduce-scatter, all-gather     S / n
 *     broadcast, reduce              S / n: the root is not in the trace, so all ranks share what it sends
 *     send                           all of it, to the rank that the trace names or the other one of a
 *                                    group of two; a receive is the same data
 *
 * A ring moves as much, but only between neighbours. Everything else, such as a send to an unknown rank, is
 * not counted.
 *
 * First the bytes per other rank are added up for each rank and group, then they are spread over the group:
 * so the time does not grow with the product of collectives and pairs. */
#include "analysis/collective/internal.h"

#include "schema/columns.h"

/* What a rank sends to each other rank of one group. */
typedef struct sender {
    uint32_t rank;
    double bytes;
} sender;

typedef struct group {
    uint32_t ranks_text; /* string id of the list of its ranks */
    sender *senders;     /* also with 0 bytes: all ranks that have a kernel of it */
    size_t count, capacity;
    size_t size; /* that its kernels say; 0: nothing */
} group;

typedef struct matrix {
    const gt_table *events;
    const gt_matrix_request *request;
    const gt_column *in_mb, *out_mb, *sizes;
    const uint32_t *names, *group_names, *group_ranks, *dtypes, *splits;
    group *groups;
    size_t group_count, group_capacity;
    gt_map group_of, sender_of; /* by string id of the name; by group and rank */
    double *cells;              /* bytes per step, units * units */
    gt_int_list list, ranks;
    size_t uncounted;
} matrix;

static gt_str string_of(const matrix *m, uint32_t id)
{
    return gt_interner_get(m->events->strings, id);
}

/* ---- one kernel ---- */

static uint32_t find_group(matrix *m, size_t row)
{
    uint32_t *place = gt_map_put(&m->group_of, m->group_names[row], 0);
    if (*place == GT_MAP_NONE) {
        double size = gt_column_number(m->sizes, row);
        group new = {.ranks_text = m->group_ranks[row],
                     .size = size >= 1 && size <= GT_COLLECTIVE_RANKS_MAX ? (size_t)size : 0};
        *place = (uint32_t)m->group_count;
        GT_PUSH(m->groups, m->group_count, m->group_capacity, new);
    }
    return *place;
}

static sender *find_sender(matrix *m, uint32_t number, uint32_t rank)
{
    group *g = &m->groups[number];
    uint32_t *place = gt_map_put(&m->sender_of, number, rank);
    if (*place == GT_MAP_NONE) {
        sender new = {.rank = rank};
        *place = (uint32_t)g->count;
        GT_PUSH(g->senders, g->count, g->capacity, new);
    }
    return &g->senders[*place];
}

static void add_cell(matrix *m, int64_t from, int64_t to, double bytes)
{
    const gt_matrix_request *request = m->request;
    if (from == to || to < 0 || (size_t)to >= request->rank_count || !isfinite(bytes)) return;
    if (request->unit_of[from] == GT_NO_UNIT || request->unit_of[to] == GT_NO_UNIT) return;
    m->cells[request->unit_of[from] * request->unit_count + request->unit_of[to]] += bytes;
}

/* False if the kernel does not say how much it sends to whom. */
static bool add_splits(matrix *m, size_t row, uint32_t rank, double weight)
{
    int bytes = gt_collective_dtype_bytes(string_of(m, m->dtypes[row]).bytes);
    gt_int_list_read(&m->list, string_of(m, m->splits[row]));
    if (!m->list.is_list || m->list.truncated || !bytes || !m->list.count) return false;
    double size = gt_column_number(m->sizes, row);
    if (size == size && size != (double)m->list.count) return false;
    gt_int_list_read(&m->ranks, string_of(m, m->group_ranks[row]));
    bool known = m->ranks.is_list && m->ranks.count == m->list.count;
    double elements = gt_column_number(m->in_mb, row) * 1048576 / bytes;
    double row_bytes = bytes * gt_collective_split_elements(&m->list, elements);
    for (size_t i = 0; i < m->list.count; i++)
        add_cell(m, rank, known ? m->ranks.items[i] : (int64_t)i,
                 (double)m->list.items[i] * row_bytes * weight);
    return true;
}

/* Bytes to each other rank of the group; NaN: unknown. */
static double bytes_to_each(const matrix *m, size_t row, double n)
{
    const char *name = string_of(m, m->names[row]).bytes;
    double in = gt_column_number(m->in_mb, row) * 1048576, out = gt_column_number(m->out_mb, row) * 1048576;
    switch (gt_collective_type_of(name)) {
    case GT_COLLECTIVE_ALLREDUCE:
        return 2 * in / n;
    case GT_COLLECTIVE_REDUCESCATTER:
    case GT_COLLECTIVE_ALLTOALL:
        return in / n;
    case GT_COLLECTIVE_ALLGATHER:
        return out / n;
    default:
        break;
    }
    if (strcmp(name, "send") == 0) return n == 2 ? in : NAN;
    bool is_even = strstr(name, "broadcast") || strcmp(name, "reduce") == 0;
    bool is_nothing = strcmp(name, "recv") == 0 || strcmp(name, "barrier") == 0;
    return is_even ? in / n : is_nothing ? 0 : NAN;
}

static void add_kernel(matrix *m, size_t row, uint32_t rank, double weight)
{
    const char *name = string_of(m, m->names[row]).bytes;
    if (gt_collective_type_of(name) == GT_COLLECTIVE_ALLTOALLV) {
        m->uncounted += !add_splits(m, row, rank, weight);
        return;
    }
    uint32_t to = m->request->receivers[row];
    if (to != GT_NO_UNIT && strcmp(name, "send") == 0) {
        double bytes = gt_column_number(m->in_mb, row) * 1048576;
        m->uncounted += !(bytes >= 0);
        add_cell(m, rank, to, bytes * weight);
        return;
    }
    uint32_t number = find_group(m, row);
    sender *from = find_sender(m, number, rank);
    double size = gt_column_number(m->sizes, row), bytes = bytes_to_each(m, row, size);
    if (bytes >= 0 && isfinite(bytes))
        from->bytes += bytes * weight;
    else
        m->uncounted++;
}

/* ---- groups ---- */

/* The ranks of a group: those that the kernels list, or those that have a kernel of it. Fills m->ranks. */
static void find_members(matrix *m, const group *g)
{
    gt_int_list_read(&m->ranks, string_of(m, g->ranks_text));
    if (m->ranks.is_list && !m->ranks.truncated && m->ranks.count == g->size) return;
    m->ranks.count = 0;
    for (size_t i = 0; i < g->count; i++)
        GT_PUSH(m->ranks.items, m->ranks.count, m->ranks.capacity, (int64_t)g->senders[i].rank);
}

/* `in_unit` is 0 for all units, before and after. */
static void spread_group(matrix *m, const group *g, size_t *in_unit, uint32_t *units)
{
    const gt_matrix_request *request = m->request;
    size_t count = 0;
    find_members(m, g);
    for (size_t i = 0; i < m->ranks.count; i++) {
        int64_t rank = m->ranks.items[i];
        if (rank < 0 || (size_t)rank >= request->rank_count) continue;
        uint32_t unit = request->unit_of[rank];
        if (unit != GT_NO_UNIT && !in_unit[unit]++) units[count++] = unit;
    }
    for (size_t i = 0; i < g->count; i++) {
        uint32_t from = request->unit_of[g->senders[i].rank];
        if (from == GT_NO_UNIT) continue;
        for (size_t k = 0; g->senders[i].bytes > 0 && k < count; k++) {
            size_t others = in_unit[units[k]] - (units[k] == from && in_unit[units[k]]);
            m->cells[from * request->unit_count + units[k]] += g->senders[i].bytes * (double)others;
        }
    }
    for (size_t k = 0; k < count; k++) in_unit[units[k]] = 0;
}

/* ---- the sheet ---- */

static gt_table *to_table(const matrix *m)
{
    const gt_matrix_request *request = m->request;
    gt_table *table = gt_table_new(GT_SHEET_COMMUNICATION_MATRIX, m->events->strings);
    size_t from = gt_table_add_column(table, GT_COL_FROM, GT_TYPE_INT);
    size_t name = gt_table_add_column(table, GT_COL_NAME, GT_TYPE_STRING);
    size_t first = table->column_count;
    for (size_t u = 0; u < request->unit_count; u++) {
        char *to = gt_format("to_%zu", u);
        gt_table_add_column(table, gt_col_named(to), GT_TYPE_FLOAT);
        gt_free(to);
    }
    for (size_t u = 0; u < request->unit_count; u++) {
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, from, row, (int64_t)u);
        gt_table_set_cstr(table, name, row, request->names[u]);
        for (size_t k = 0; k < request->unit_count; k++)
            gt_table_set_float(table, first + k, row, m->cells[u * request->unit_count + k] / 1048576);
    }
    return table;
}

gt_table *gt_collective_matrix(const gt_table *events, const gt_matrix_request *request, size_t *uncounted)
{
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    matrix m = {.events = events,
                .request = request,
                .in_mb = gt_table_column(events, GT_COL_IN_MSG_SIZE_MB),
                .out_mb = gt_table_column(events, GT_COL_OUT_MSG_SIZE_MB),
                .sizes = gt_table_column(events, GT_COL_GROUP_SIZE),
                .names = gt_table_column(events, GT_COL_COLLECTIVE_NAME)->texts,
                .group_names = gt_table_column(events, GT_COL_PROCESS_GROUP_NAME)->texts,
                .group_ranks = gt_table_column(events, GT_COL_PROCESS_GROUP_RANKS)->texts,
                .dtypes = gt_table_column(events, GT_COL_DTYPE)->texts,
                .splits = gt_table_column(events, GT_COL_IN_SPLIT_SIZE)->texts,
                .cells = gt_alloc_zero(request->unit_count * request->unit_count, sizeof *m.cells)};
    size_t *in_unit = gt_alloc_zero(request->unit_count, sizeof *in_unit);
    uint32_t *units = gt_alloc(request->unit_count * sizeof *units);
    for (size_t row = 0; row < events->row_count; row++)
        if (request->weights[row] > 0) add_kernel(&m, row, (uint32_t)ranks[row], request->weights[row]);
    for (size_t i = 0; i < m.group_count; i++) {
        spread_group(&m, &m.groups[i], in_unit, units);
        gt_free(m.groups[i].senders);
    }
    gt_table *table = to_table(&m);
    *uncounted = m.uncounted;
    gt_free_all(in_unit, units, m.cells, m.groups);
    gt_map_free(&m.group_of);
    gt_map_free(&m.sender_of);
    gt_int_list_free(&m.list);
    gt_int_list_free(&m.ranks);
    return table;
}
