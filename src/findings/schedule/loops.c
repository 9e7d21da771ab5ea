/* Which host work exists only because the program moves data to the CPU and back, or waits in a loop?
 *
 * A round trip is a large copy to the host, CPU ops on it, and a copy of as many elements back: all host work
 * between the copies belongs to the CPU ops.
 *
 *     |copy to host|  aten::sort on the CPU   launch ...  |copy to device|
 *                  |<---------------- cpu_op ------------>|
 *
 * A burst is a tight loop of synchronising calls from one site that does nothing but read values, and during
 * which the GPU has little to do: the host work of the loop, from one period before the first call on,
 * belongs to the synchronisation.
 *
 *     |norm|copy, wait|   |norm|copy, wait|   |norm|copy, wait|        one burst
 *     |mm|mm|mm|gt|copy, wait|   |mm|mm|mm|gt|copy, wait|   ...        none: mm does not make what is read
 *
 * In the second loop only the check right before each call exists for the value (rules/host_sync.c). */
#include "findings/schedule/build.h"
#include "findings/schedule/names.h"
#include "findings/schedule/sites.h"

#include "findings/shapes.h"
#include "table/stats.h"

enum { LARGE_COPY_BYTES = 65536 };
enum { TRIP_CPU_NS = 200000 };    /* a round trip has at least this much time in CPU ops */
enum { BURST_PAUSE_NS = 500000 }; /* calls of a burst are at most this far apart */
enum { BURST_CALLS = 3 };         /* it has at least this many */
/* What makes a value: at most so many points and ops, and few that do not check or reduce. */
enum { VALUE_POINTS = 64, VALUE_OPS = 8, VALUE_PARTS = 2 };

typedef struct burst {
    int64_t start_ns, end_ns;
} burst;

/* The synchronising points of each site: points[first[site]] to before points[first[site + 1]]. */
typedef struct sync_points {
    uint32_t *points, *sites; /* `sites`: the number of its site, by synchronising point */
    uint32_t *first;
    size_t count, point_capacity, site_capacity, site_count;
} sync_points;

/* The first op of a point that copies; NULL for other points. */
static const gt_gpu_op *copy_of(const gt_schedule *schedule, const gt_host_point *point)
{
    if (point->kind != GT_API_COPY || point->op_count == 0) return NULL;
    return &schedule->ops[schedule->point_ops[point->first_op]];
}

/* ---- round trips ---- */

typedef struct trip_search {
    gt_schedule *schedule;
    gt_shapes *shapes; /* NULL until they are needed */
    size_t capacity;
} trip_search;

/* What the host does between the two copies of a possible round trip. */
typedef struct trip_time {
    int64_t cpu_ns, work_ns; /* in CPU ops, and in other work */
    bool launches;
    bool has_shapes; /* some CPU op has */
    bool reads_copy; /* one of them takes as many elements as the first copy has */
} trip_time;

/* Whether so many bytes can be this many elements. */
static bool is_elements(double bytes, double elements)
{
    for (double size = 1; size <= 16; size *= 2)
        if (elements * size == bytes) return true;
    return false;
}

/* Whether a copy can have the elements of another, perhaps of another type. */
static bool is_same_data(int64_t bytes, int64_t other_bytes)
{
    double a = (double)bytes, b = (double)other_bytes;
    return a == b || a == 2 * b || a == 4 * b || b == 2 * a || b == 4 * a;
}

/* Looks at the shape of the CPU op of a piece. */
static void look_at_shape(trip_search *search, const gt_piece *piece, int64_t bytes, trip_time *time)
{
    const gt_schedule *schedule = search->schedule;
    uint32_t op = piece->event == GT_NONE ? GT_NONE : gt_op_above(schedule, piece->event), index;
    if (op == GT_NONE || !schedule->trace || time->reads_copy) return;
    if (!search->shapes) search->shapes = gt_shapes_new(schedule->trace);
    gt_shapes_find(search->shapes, &schedule->events[op].row, 1, &index);
    const gt_op_shape *shape = gt_shapes_get(search->shapes, index);
    if (!shape->has_dims) return;
    time->has_shapes = true;
    time->reads_copy = is_elements((double)bytes, shape->size);
}

/* Whether the data that one point copies to the host comes back with another: all points from `first` to
 * `last` are on one thread, in one step and copy as many elements, with enough time in CPU ops between. Those
 * take the data that was copied, if their shapes are known; otherwise, without steps, it is unknown whose
 * data comes back. NumPy and many short ops show no such time. They count if it is certain that the same data
 * comes back: as many bytes, in the same step, with no launch between. */
static bool is_trip(trip_search *search, size_t first, size_t last)
{
    const gt_schedule *schedule = search->schedule;
    const gt_host_point *begin = &schedule->points[first], *end = &schedule->points[last];
    int64_t bytes = copy_of(schedule, begin)->bytes, back_bytes = copy_of(schedule, end)->bytes;
    if (begin->step != end->step || !is_same_data(bytes, back_bytes)) return false;
    trip_time time = {0};
    for (size_t i = first; i <= last; i++) {
        const gt_host_point *point = &schedule->points[i];
        if (point->thread != end->thread) return false;
        time.launches |= point->kind == GT_API_LAUNCH;
        for (uint32_t k = 0; i > first && k < point->piece_count; k++) {
            const gt_piece *piece = &schedule->pieces[point->first_piece + k];
            int64_t ns = piece->end_ns - piece->start_ns;
            if (gt_is_host_work(piece->label)) time.work_ns += ns;
            if (piece->label != GT_CAUSE_CPU_OP) continue;
            time.cpu_ns += ns;
            look_at_shape(search, piece, bytes, &time);
        }
    }
    bool has_steps = begin->step >= 0;
    if (time.cpu_ns >= TRIP_CPU_NS && (time.has_shapes ? time.reads_copy : has_steps)) return true;
    return has_steps && bytes == back_bytes && !time.launches && time.cpu_ns + time.work_ns >= TRIP_CPU_NS;
}

static void find_trips(gt_schedule *schedule)
{
    trip_search search = {.schedule = schedule};
    size_t to_host = SIZE_MAX;
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_gpu_op *copy = copy_of(schedule, &schedule->points[i]);
        if (!copy || copy->bytes < LARGE_COPY_BYTES) continue;
        if (gt_name_has(schedule, copy->name, GT_NAME_TO_HOST)) {
            to_host = i;
        } else if (to_host != SIZE_MAX && gt_name_has(schedule, copy->name, GT_NAME_FROM_HOST)) {
            gt_round_trip trip = {(uint32_t)to_host, (uint32_t)i};
            if (is_trip(&search, to_host, i))
                GT_PUSH(schedule->trips, schedule->trip_count, search.capacity, trip);
            to_host = SIZE_MAX;
        }
    }
    gt_shapes_free(search.shapes);
}

static void label_trip(gt_schedule *schedule, const gt_round_trip *trip)
{
    for (size_t i = trip->first + (size_t)1; i <= trip->last; i++) {
        const gt_host_point *point = &schedule->points[i];
        for (uint32_t k = 0; k < point->piece_count; k++) {
            gt_piece *piece = &schedule->pieces[point->first_piece + k];
            if (gt_is_host_work(piece->label)) piece->label = GT_CAUSE_CPU_OP;
        }
    }
}

/* ---- sync sites ---- */

/* Synchronises: by its name, or as a small copy to the host that waits for its value. */
static bool synchronises(const gt_schedule *schedule, const gt_host_point *point)
{
    if (point->kind == GT_API_SYNC) return true;
    const gt_gpu_op *copy = copy_of(schedule, point);
    return copy && point->awaited != GT_NONE && copy->bytes < LARGE_COPY_BYTES &&
           gt_name_has(schedule, copy->name, GT_NAME_TO_HOST);
}

/* Sets the sites of synchronising points, and lists these points site by site. */
static sync_points find_sync_points(gt_schedule *schedule)
{
    sync_points list = {0};
    gt_map sites = {0};
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        point->sync_site = GT_STR_NONE;
        if (!synchronises(schedule, point)) continue;
        point->sync_site = gt_site_of_call(schedule, point->event);
        uint32_t *site = gt_map_put(&sites, point->sync_site, 0);
        if (*site == GT_MAP_NONE) *site = (uint32_t)list.site_count++;
        list.points = gt_grow(list.points, &list.point_capacity, list.count + 1, sizeof *list.points);
        list.sites = gt_grow(list.sites, &list.site_capacity, list.count + 1, sizeof *list.sites);
        list.points[list.count] = (uint32_t)i;
        list.sites[list.count++] = *site;
    }
    gt_map_free(&sites);

    /* Counting sort by site; the points of each stay in order. */
    list.first = gt_alloc_zero(list.site_count + 2, sizeof *list.first);
    uint32_t *sorted = gt_alloc(list.count * sizeof *sorted);
    for (size_t i = 0; i < list.count; i++) list.first[list.sites[i] + 2]++;
    for (size_t i = 2; i < list.site_count + 2; i++) list.first[i] += list.first[i - 1];
    for (size_t i = 0; i < list.count; i++) sorted[list.first[list.sites[i] + 1]++] = list.points[i];
    gt_free(list.points);
    list.points = sorted;
    return list;
}

/* ---- what makes a value ---- */

/* The ops between a synchronising call and the points before it, from the end on. */
typedef struct value_ops {
    uint32_t own, last; /* the op of the call; the one that was looked at last */
    size_t count, parts;
    bool has_check;
} value_ops;

/* Whether a point may launch something that only makes the value. */
static bool makes_value(const gt_schedule *schedule, const gt_host_point *point, value_ops *ops)
{
    const gt_gpu_op *copy = copy_of(schedule, point);
    if (copy && copy->bytes >= LARGE_COPY_BYTES) return false;
    if (point->sync_site != GT_STR_NONE || (point->kind != GT_API_LAUNCH && point->kind != GT_API_COPY))
        return true;
    uint32_t op = gt_outermost_op(schedule, point->event);
    if (op == GT_NONE) return false;
    if (op == ops->last || (op == ops->own && schedule->events[op].launches <= 1)) return true;
    ops->last = op;
    uint32_t name = schedule->events[op].name;
    if (gt_name_has(schedule, name, GT_NAME_NO_WORK)) return true;
    if (gt_name_has(schedule, name, GT_NAME_CHECK))
        ops->has_check = true;
    else if (gt_name_has(schedule, name, GT_NAME_PART_OF_CHECK))
        ops->parts++;
    else
        return false;
    return ++ops->count <= VALUE_OPS && ops->parts <= VALUE_PARTS;
}

/* The first of the points, from `least` on, that exist only for the value that synchronising point `sync`
 * reads. Without a check or reduction, what was computed is no such value. */
static size_t value_from(const gt_schedule *schedule, size_t sync, size_t least)
{
    const gt_host_point *points = schedule->points;
    value_ops ops = {.own = gt_outermost_op(schedule, points[sync].event), .last = GT_NONE};
    size_t from = sync;
    for (size_t i = sync; i-- > least && sync - i <= VALUE_POINTS;) {
        if (points[i].thread != points[sync].thread || !makes_value(schedule, &points[i], &ops)) break;
        if (!ops.parts || ops.has_check) from = i;
    }
    return from;
}

/* ---- bursts ---- */

typedef struct burst_search {
    gt_schedule *schedule;
    double *busy_ns; /* of all ops before each op; NULL until it is needed */
    double *periods; /* room for one per synchronising point */
    burst *bursts;
    size_t count, capacity;
} burst_search;

/* The first op that starts at `ns` or later. */
static size_t op_from(const gt_schedule *schedule, int64_t ns)
{
    size_t low;
    GT_BISECT(low, 0, schedule->op_count, schedule->ops[low].start_ns < ns);
    return low;
}

/* The durations of the ops that start in a time. */
static double busy_in(burst_search *search, burst time)
{
    const gt_schedule *schedule = search->schedule;
    if (!search->busy_ns) {
        search->busy_ns = gt_alloc((schedule->op_count + 1) * sizeof *search->busy_ns);
        search->busy_ns[0] = 0;
        for (size_t i = 0; i < schedule->op_count; i++)
            search->busy_ns[i + 1] = search->busy_ns[i] + (double)gt_op_ns(&schedule->ops[i]);
    }
    return search->busy_ns[op_from(schedule, time.end_ns)] -
           search->busy_ns[op_from(schedule, time.start_ns)];
}

/* The time of synchronising points, from one period before the first. */
static burst time_of(const burst_search *search, const uint32_t *points, size_t count)
{
    const gt_host_point *all = search->schedule->points;
    for (size_t i = 0; i + 1 < count; i++)
        search->periods[i] = (double)(all[points[i + 1]].start_ns - all[points[i]].start_ns);
    int64_t period = (int64_t)gt_select(search->periods, count - 1, (count - 1) / 2);
    return (burst){all[points[0]].start_ns - period, all[points[count - 1]].end_ns};
}

static bool is_mostly_idle(burst_search *search, burst time)
{
    return busy_in(search, time) < 0.5 * (double)(time.end_ns - time.start_ns);
}

/* Adds the burst of synchronising points with nothing but what makes their values between, if it is one. */
static void add_burst(burst_search *search, const uint32_t *points, size_t count)
{
    if (count < BURST_CALLS) return;
    const gt_schedule *schedule = search->schedule;
    burst found = time_of(search, points, count);
    size_t from = value_from(schedule, points[0], 0);
    if (from > 0) {
        const gt_host_point *other = &schedule->points[from - 1];
        uint32_t op = gt_outermost_op(schedule, other->event);
        int64_t end_ns = op == GT_NONE ? other->end_ns : schedule->events[op].end_ns;
        if (found.start_ns < end_ns) found.start_ns = end_ns;
    }
    if (is_mostly_idle(search, found)) GT_PUSH(search->bursts, search->count, search->capacity, found);
}

/* Adds the bursts of synchronising points of one site that are close to each other. */
static void add_bursts(burst_search *search, const uint32_t *points, size_t count)
{
    if (count < BURST_CALLS || !is_mostly_idle(search, time_of(search, points, count))) return;
    for (size_t i = 0, first = 0; i < count; i++) {
        size_t next = points[i] + (size_t)1;
        if (i + 1 < count && value_from(search->schedule, points[i + 1], next) == next) continue;
        add_burst(search, points + first, i + 1 - first);
        first = i + 1;
    }
}

static void find_bursts(burst_search *search, const sync_points *list)
{
    const gt_host_point *all = search->schedule->points;
    for (size_t site = 0; site < list->site_count; site++) {
        size_t first = list->first[site];
        for (size_t i = first; i < list->first[site + 1]; i++) {
            if (i + 1 < list->first[site + 1] &&
                all[list->points[i + 1]].start_ns - all[list->points[i]].end_ns <= BURST_PAUSE_NS)
                continue;
            add_bursts(search, list->points + first, i + 1 - first);
            first = i + 1;
        }
    }
}

GT_ORDER_BY(compare_bursts, burst, GT_UP(start_ns))

/* When a burst begins is only known to about a period, so a piece belongs to it or not as a whole. */
static bool is_mostly_after(const gt_piece *piece, int64_t ns)
{
    return piece->end_ns - ns >= ns - piece->start_ns;
}

/* Marks the points in bursts and gives their host work to the synchronisation. Of several bursts around a
 * point, the one that began first covers most. */
static void label_bursts(burst_search *search)
{
    gt_schedule *schedule = search->schedule;
    if (search->count > 1) qsort(search->bursts, search->count, sizeof *search->bursts, compare_bursts);
    size_t at = 0;
    for (size_t i = 0; i < schedule->point_count; i++) {
        gt_host_point *point = &schedule->points[i];
        while (at < search->count && search->bursts[at].end_ns < point->start_ns) at++;
        if (at == search->count) break;
        if (search->bursts[at].start_ns > point->start_ns) continue;
        point->flags |= GT_POINT_BURST;
        for (uint32_t k = 0; k < point->piece_count; k++) {
            gt_piece *piece = &schedule->pieces[point->first_piece + k];
            if (piece->label == GT_CAUSE_LAUNCH && is_mostly_after(piece, search->bursts[at].start_ns))
                piece->label = GT_CAUSE_SYNC;
        }
    }
}

void gt_build_loops(gt_schedule *schedule)
{
    find_trips(schedule);
    for (size_t i = 0; i < schedule->trip_count; i++) label_trip(schedule, &schedule->trips[i]);
    sync_points list = find_sync_points(schedule);
    burst_search search = {.schedule = schedule, .periods = gt_alloc(list.count * sizeof *search.periods)};
    /* Other profilers do not show where in the program a call is made: all of them would be one loop. */
    if (schedule->origin == GT_BY_PYTORCH) find_bursts(&search, &list);
    label_bursts(&search);
    schedule->burst_count = search.count;
    gt_free_all(search.busy_ns, search.periods, search.bursts, list.points, list.sites, list.first);
}
