/* Finds the devices in one pass over the GPU events, in ranges that are merged in order, then sorts them. */
#include "analysis/pytorch/devices.h"

#include "json/string.h"
#include "schema/columns.h"
#include "trace/pytorch/event_rows.h"

enum { MOST_DIGITS = 18 };

/* 3 for 3, "3" and "GPU 3"; -1 for -1. */
static int64_t number_of(gt_str json)
{
    gt_str text = gt_json_unquote(json);
    size_t at = text.len;
    while (at && isdigit((unsigned char)text.bytes[at - 1])) at--;
    if (at == text.len || text.len - at > MOST_DIGITS) return GT_DEVICE_UNNUMBERED;
    int64_t number = 0;
    for (size_t i = at; i < text.len; i++) number = number * 10 + (text.bytes[i] - '0');
    return at == 1 && text.bytes[0] == '-' ? -number : number;
}

static bool is_integer(gt_str json)
{
    size_t digits = json.len && json.bytes[0] == '-';
    for (size_t i = digits; i < json.len; i++)
        if (!isdigit((unsigned char)json.bytes[i])) return false;
    return json.len > digits && json.len - digits <= MOST_DIGITS;
}

/* ---- order ---- */

typedef struct entry {
    gt_device device;
    int64_t process_number;
    uint32_t found; /* its position in the order of first appearance */
} entry;

#define COMPARE(x, y)                                                                                        \
    if ((x) != (y)) return (x) < (y) ? -1 : 1

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    COMPARE(a->device.rank, b->device.rank);
    bool a_unnumbered = a->device.number == GT_DEVICE_UNNUMBERED,
         b_unnumbered = b->device.number == GT_DEVICE_UNNUMBERED;
    COMPARE(a_unnumbered, b_unnumbered);
    COMPARE(a->device.number, b->device.number);
    COMPARE(a->process_number, b->process_number);
    COMPARE(a->found, b->found);
    return 0;
}

/* Returns the new place of each device; the caller frees it. */
static uint32_t *sort_devices(gt_devices *devices, const gt_event_view *events)
{
    entry *entries = gt_alloc(devices->count * sizeof *entries);
    uint32_t *places = gt_alloc(devices->count * sizeof *places);
    for (size_t i = 0; i < devices->count; i++) {
        gt_str process = gt_interner_get(events->strings, devices->items[i].process);
        entries[i] = (entry){devices->items[i], number_of(process), (uint32_t)i};
    }
    if (devices->count) qsort(entries, devices->count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < devices->count; i++) {
        const gt_device *before = i ? &entries[i - 1].device : NULL;
        gt_device device = entries[i].device;
        devices->items[i] = device;
        places[entries[i].found] = (uint32_t)i;
        if (device.number == GT_DEVICE_UNNUMBERED ||
            (before && before->rank == device.rank && before->number == device.number))
            devices->need_process = true;
    }
    gt_free(entries);
    return places;
}

/* ---- devices ---- */

/* What identifies a device. */
typedef struct identity {
    uint64_t place; /* process and device, as string ids */
    uint64_t rank;
} identity;

/* The devices of one range of events, in order of first appearance. */
typedef struct range_devices {
    identity *items;
    size_t count, capacity;
    uint32_t *places; /* in the list of all devices */
} range_devices;

typedef struct finder {
    const gt_event_view *events;
    uint32_t *rows; /* the GPU events */
    size_t count;
    uint32_t *numbers; /* by row: the JSON of args.device, GT_STR_NONE if it has none */
    int64_t *ranks;    /* by row */
    bool use_ranks;    /* they are part of the identity */
    gt_map named;      /* from process and rank to the JSON of the first device named there */
    range_devices *ranges;
    gt_devices *devices;
} finder;

static uint64_t rank_of(const finder *f, size_t row)
{
    return (uint64_t)(f->use_ranks ? f->ranks[row] : GT_EVENT_NONE);
}

static bool has_rank(const void *context, size_t i)
{
    const finder *f = context;
    return f->ranks[f->rows[i]] != GT_EVENT_NONE;
}

static bool has_number(const void *context, size_t i)
{
    const finder *f = context;
    return f->numbers[f->rows[i]] != GT_STR_NONE;
}

/* An event that names no device belongs to the one that others of its process and rank name, else the process
 * is the device. */
static void complete_numbers(finder *f)
{
    const gt_event_view *events = f->events;
    if (gt_holds_for_all(f->count, has_number, f)) return;
    for (size_t i = 0; i < f->count; i++) {
        uint32_t row = f->rows[i];
        if (!f->numbers[row]) continue;
        uint32_t *named = gt_map_put(&f->named, gt_event_process(events, row), rank_of(f, row));
        if (*named == GT_MAP_NONE) *named = f->numbers[row];
    }
    for (size_t i = 0; i < f->count; i++) {
        uint32_t row = f->rows[i];
        if (f->numbers[row]) continue;
        uint32_t process = gt_event_process(events, row);
        uint32_t named = gt_map_get(&f->named, process, rank_of(f, row));
        f->numbers[row] = named == GT_MAP_NONE ? process : named;
    }
}

/* Numbers the devices of a range of events. Most events have the device of the event before. */
static void find_range(void *context, size_t begin, size_t end)
{
    const finder *f = context;
    range_devices *r = &f->ranges[begin / GT_ROWS_GRAIN];
    gt_map known = {0};
    identity last = {0};
    uint32_t found = GT_NO_DEVICE;
    for (size_t i = begin; i < end; i++) {
        uint32_t row = f->rows[i];
        identity is = {(uint64_t)gt_event_process(f->events, row) << 32 | f->numbers[row], rank_of(f, row)};
        if (found == GT_NO_DEVICE || is.place != last.place || is.rank != last.rank) {
            uint32_t *number = gt_map_put(&known, is.place, is.rank);
            if (*number == GT_MAP_NONE) {
                *number = (uint32_t)r->count;
                GT_PUSH(r->items, r->count, r->capacity, is);
            }
            found = *number, last = is;
        }
        f->devices->of_row[row] = found;
    }
    gt_map_free(&known);
}

static void merge_ranges(finder *f, size_t range_count)
{
    gt_devices *devices = f->devices;
    gt_map known = {0};
    size_t capacity = 0;
    for (size_t range = 0; range < range_count; range++) {
        range_devices *r = &f->ranges[range];
        r->places = gt_alloc(r->count * sizeof *r->places);
        for (size_t i = 0; i < r->count; i++) {
            uint32_t *place = gt_map_put(&known, r->items[i].place, r->items[i].rank);
            if (*place == GT_MAP_NONE) {
                gt_str number = gt_interner_get(f->events->strings, (uint32_t)r->items[i].place);
                gt_device device = {number_of(number), (int64_t)r->items[i].rank,
                                    (uint32_t)(r->items[i].place >> 32)};
                *place = (uint32_t)devices->count;
                GT_PUSH(devices->items, devices->count, capacity, device);
            }
            r->places[i] = *place;
        }
    }
    gt_map_free(&known);
}

static void place_range(void *context, size_t begin, size_t end)
{
    const finder *f = context;
    const range_devices *r = &f->ranges[begin / GT_ROWS_GRAIN];
    for (size_t i = begin; i < end; i++) {
        uint32_t *device = &f->devices->of_row[f->rows[i]];
        *device = r->places[*device];
    }
}

static void find_all(finder *f)
{
    size_t range_count = gt_range_count(f->count, GT_ROWS_GRAIN);
    f->ranges = gt_alloc_zero(range_count, sizeof *f->ranges);
    f->devices->of_row = gt_no_events(f->events->count); /* GT_NO_DEVICE */
    gt_parallel_ranges(f->count, GT_ROWS_GRAIN, find_range, f);
    merge_ranges(f, range_count);
    uint32_t *sorted = sort_devices(f->devices, f->events);
    for (size_t range = 0; range < range_count; range++)
        for (size_t i = 0; i < f->ranges[range].count; i++)
            f->ranges[range].places[i] = sorted[f->ranges[range].places[i]];
    gt_free(sorted);
    gt_parallel_ranges(f->count, GT_ROWS_GRAIN, place_range, f);
    for (size_t range = 0; range < range_count; range++) {
        gt_free_all(f->ranges[range].items, f->ranges[range].places);
    }
    gt_free(f->ranges);
}

gt_devices gt_devices_find(const gt_event_view *events)
{
    gt_devices devices = {0};
    finder f = {.events = events, .devices = &devices};
    f.numbers = gt_store_string_ids(events->store, GT_EVENT_DEVICE);
    f.ranks = gt_store_ints(events->store, GT_EVENT_RANK);
    f.rows = gt_list_gpu_rows(events->kind, events->recorded, &f.count);
    devices.have_ranks = f.use_ranks = gt_holds_for_all(f.count, has_rank, &f);
    complete_numbers(&f);
    find_all(&f);
    if (devices.count < 2) {
        gt_free(devices.of_row);
        devices.of_row = NULL;
    }
    gt_map_free(&f.named);
    gt_free_all(f.rows, f.numbers, f.ranks);
    return devices;
}

void gt_devices_free(gt_devices *devices)
{
    gt_free_all(devices->items, devices->of_row);
    *devices = (gt_devices){0};
}

/* ---- columns ---- */

void gt_devices_add_columns(const gt_devices *devices, gt_table *table, size_t position)
{
    if (devices->have_ranks && gt_table_find(table, GT_COL_RANK) == SIZE_MAX)
        gt_table_move_column(table, gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT), position++);
    if (!devices->need_process) return;
    bool integers = true;
    for (size_t i = 0; i < devices->count && integers; i++)
        integers = is_integer(gt_interner_get(table->strings, devices->items[i].process));
    size_t column = gt_table_add_column(table, GT_COL_PID, integers ? GT_TYPE_INT : GT_TYPE_STRING);
    gt_table_move_column(table, column, position);
}

void gt_devices_fill(const gt_devices *devices, size_t device, gt_table *table, size_t first_row,
                     size_t end_row)
{
    const gt_device *d = &devices->items[device];
    size_t number = gt_table_find(table, GT_COL_DEVICE), rank = gt_table_find(table, GT_COL_RANK),
           pid = gt_table_find(table, GT_COL_PID);
    for (size_t row = first_row; row < end_row; row++) {
        if (d->number != GT_DEVICE_UNNUMBERED)
            gt_table_set_int(table, number, row, d->number);
        else
            gt_table_set_null(table, number, row);
        if (devices->have_ranks) gt_table_set_int(table, rank, row, d->rank);
        if (!devices->need_process) continue;
        gt_str process = gt_interner_get(table->strings, d->process);
        if (table->columns[pid].type == GT_TYPE_INT) {
            gt_table_set_int(table, pid, row, number_of(process));
        } else {
            gt_str text = gt_json_unquote(process);
            gt_table_set_string(table, pid, row, gt_interner_add(table->strings, text.bytes, text.len));
        }
    }
}
