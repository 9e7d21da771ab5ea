/* How much memory of each device is allocated and reserved, over time? PyTorch records both after each
 * allocation and each release, if it profiles memory.
 *
 * A device has at most POINTS_MAX points. If there are more, its time is divided into slots of equal length,
 * and of each slot the points with the least and the most memory stay, and the last one, which holds until
 * the next slot that has any:
 *
 *     allocated     _          _              _    _
 *                 _| |_   ____| |           _| |_ | |
 *                |     |_|      |_   →     |    |_| |_
 *     slots      |         |         |     |         |         | */
#include "page/work_parts.h"

#include "schema/page.h"

enum { POINTS_MAX = 4000, KEPT = 5, SLOTS = POINTS_MAX / KEPT };
enum { DEVICES_MAX = 64 }; /* no machine has more, but a damaged file may */

/* Several processes may use a device; each has an allocator of its own. */
typedef struct memory_series {
    uint32_t process;
    int64_t device;
    size_t count, first; /* its events: order[first] ... */
    bool is_shown;
} memory_series;

typedef struct memory_table {
    const gt_page_work *work;
    gt_memory_events events;
    memory_series *series;
    size_t series_count, series_capacity;
    uint32_t *series_of; /* by event */
    uint32_t *order;     /* events by series, then by time */
    gt_table *table;
} memory_table;

/* In time of the page. */
static int64_t time_of(const memory_table *m, uint32_t event)
{
    const gt_schedule *schedule = m->work->schedule;
    double ns = (m->events.start_us[event] - schedule->base_us) * 1000 + 0.5;
    int64_t at = ns >= (double)schedule->limit_ns ? schedule->limit_ns : ns >= 0 ? (int64_t)ns : 0;
    at = gt_page_time(m->work, at);
    return at > 0 ? at : 0;
}

/* ---- series ---- */

static void find_series(memory_table *m)
{
    gt_map places = {0};
    m->series_of = gt_alloc(m->events.count * sizeof *m->series_of);
    for (size_t i = 0; i < m->events.count; i++) {
        memory_series found = {.process = m->events.process[i], .device = m->events.device[i]};
        uint32_t *place = gt_map_put(&places, found.process, (uint64_t)found.device);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)m->series_count;
            GT_PUSH(m->series, m->series_count, m->series_capacity, found);
        }
        m->series[*place].count++;
        m->series_of[i] = *place;
    }
    gt_map_free(&places);
}

/* Events are almost always in order of time already. */
static void order_events(memory_table *m)
{
    size_t count = m->events.count, end = 0;
    uint32_t *by_time = gt_alloc(count * sizeof *by_time);
    for (size_t i = 0; i < count; i++) by_time[i] = (uint32_t)i;
    gt_order_rows(by_time, count, m->events.start_us);
    for (size_t i = 0; i < m->series_count; i++) {
        m->series[i].first = end;
        end += m->series[i].count;
        m->series[i].count = 0;
    }
    m->order = gt_alloc(count * sizeof *m->order);
    for (size_t i = 0; i < count; i++) {
        memory_series *series = &m->series[m->series_of[by_time[i]]];
        m->order[series->first + series->count++] = by_time[i];
    }
    gt_free(by_time);
}

/* Of several processes that use a device the one with the most events is shown, the first of equal ones. */
static void choose_series(memory_table *m)
{
    gt_map places = {0};
    for (uint32_t i = 0; i < m->series_count; i++) {
        memory_series *series = &m->series[i];
        uint32_t *best = gt_map_put(&places, (uint64_t)series->device, 0);
        if (*best != GT_MAP_NONE && m->series[*best].count >= series->count) continue;
        if (*best != GT_MAP_NONE) m->series[*best].is_shown = false;
        series->is_shown = true;
        *best = i;
    }
    gt_map_free(&places);
}

/* ---- points ---- */

enum { DEVICE, START, ALLOCATED, RESERVED };

static void add_point(memory_table *m, uint32_t event)
{
    size_t row = gt_table_add_row(m->table);
    gt_table_set_int(m->table, DEVICE, row, m->events.device[event]);
    gt_table_set_int(m->table, START, row, time_of(m, event));
    gt_table_set_int(m->table, ALLOCATED, row, m->events.allocated[event]);
    gt_table_set_int(m->table, RESERVED, row, m->events.reserved[event]);
}

/* Adds the points of one slot: places [begin, end) of the order. */
static void add_slot(memory_table *m, size_t begin, size_t end)
{
    size_t kept[KEPT] = {begin, begin, begin, begin, end - 1};
    const int64_t *allocated = m->events.allocated, *reserved = m->events.reserved;
    for (size_t i = begin + 1; i < end; i++) {
        uint32_t event = m->order[i];
        if (allocated[event] < allocated[m->order[kept[0]]]) kept[0] = i;
        if (allocated[event] > allocated[m->order[kept[1]]]) kept[1] = i;
        if (reserved[event] < reserved[m->order[kept[2]]]) kept[2] = i;
        if (reserved[event] > reserved[m->order[kept[3]]]) kept[3] = i;
    }
    for (size_t next = begin; next < end;) { /* in order, each once */
        size_t first = end;
        for (size_t k = 0; k < KEPT; k++)
            if (kept[k] >= next && kept[k] < first) first = kept[k];
        if (first < end) add_point(m, m->order[first]);
        next = first + 1;
    }
}

/* The slot of a time between the first and the last of a series. */
static int64_t slot_of(int64_t ns, int64_t first_ns, int64_t last_ns)
{
    double share = (double)(ns - first_ns) / ((double)(last_ns - first_ns) + 1);
    return (int64_t)(share * SLOTS);
}

static void add_series(memory_table *m, const memory_series *series)
{
    size_t end = series->first + series->count;
    if (series->count <= POINTS_MAX) {
        for (size_t i = series->first; i < end; i++) add_point(m, m->order[i]);
        return;
    }
    int64_t first_ns = time_of(m, m->order[series->first]), last_ns = time_of(m, m->order[end - 1]);
    for (size_t begin = series->first, next; begin < end; begin = next) {
        int64_t slot = slot_of(time_of(m, m->order[begin]), first_ns, last_ns);
        for (next = begin + 1; next < end; next++)
            if (slot_of(time_of(m, m->order[next]), first_ns, last_ns) != slot) break;
        add_slot(m, begin, next);
    }
}

void gt_page_add_memory(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        [DEVICE] = {GT_COL_PAGE_DEVICE, GT_TYPE_INT},
        [START] = {GT_COL_PAGE_START, GT_TYPE_INT},
        [ALLOCATED] = {GT_COL_PAGE_ALLOCATED, GT_TYPE_INT},
        [RESERVED] = {GT_COL_PAGE_RESERVED, GT_TYPE_INT},
    };
    memory_table m = {.work = w};
    const gt_event_view *trace = w->schedule->trace;
    if (trace) m.events = gt_memory_events_unpack(trace->memory, trace->strings);
    if (m.events.count) {
        m.table = gt_table_new(GT_SHEET_PAGE_MEMORY, w->schedule->strings);
        gt_table_add_columns(m.table, heads, GT_LENGTH(heads));
        find_series(&m);
        order_events(&m);
        choose_series(&m);
        for (size_t i = 0, shown = 0; i < m.series_count && shown < DEVICES_MAX; i++)
            if (m.series[i].is_shown) add_series(&m, &m.series[i]), shown++;
        gt_table_list_add(tables, m.table);
    }
    gt_memory_events_free(&m.events);
    gt_free_all(m.series, m.series_of, m.order);
}
