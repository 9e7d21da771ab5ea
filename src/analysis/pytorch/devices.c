/* Finds the devices in one pass over the GPU events, then sorts them. */
#include "analysis/pytorch/devices.h"

#include "base/map.h"
#include "base/memory.h"
#include "json/string.h"
#include "schema/columns.h"

#include <ctype.h>
#include <stdlib.h>

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

static bool all_have_ranks(const gt_event_view *events, const int64_t *ranks)
{
    for (size_t row = 0; row < events->recorded; row++)
        if (gt_kind_is_gpu(events->kind[row]) && ranks[row] == GT_EVENT_NONE) return false;
    return true;
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

static void sort_devices(gt_devices *devices, const gt_event_view *events)
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
    for (size_t row = 0; row < events->count && devices->count > 1; row++)
        if (devices->of_row[row] != GT_NO_DEVICE) devices->of_row[row] = places[devices->of_row[row]];
    gt_free(entries);
    gt_free(places);
}

/* ---- devices ---- */

typedef struct finder {
    const gt_event_view *events;
    uint32_t *numbers; /* by row: the JSON of args.device, GT_STR_NONE if it has none */
    int64_t *ranks;    /* by row; NULL: not part of the identity */
    gt_map lanes;      /* from process and rank to the JSON of the first device named there */
    gt_map known;      /* from process, device and rank to the device's index */
} finder;

static uint64_t rank_of(const finder *f, size_t row)
{
    return (uint64_t)(f->ranks ? f->ranks[row] : GT_EVENT_NONE);
}

/* An event that names no device belongs to the one that others of its lane name, else the lane is the
 * device. */
static void complete_numbers(finder *f)
{
    const gt_event_view *events = f->events;
    bool complete = true;
    for (size_t row = 0; row < events->recorded && complete; row++)
        complete = !gt_kind_is_gpu(events->kind[row]) || f->numbers[row];
    if (complete) return;
    for (size_t row = 0; row < events->recorded; row++) {
        if (!gt_kind_is_gpu(events->kind[row]) || !f->numbers[row]) continue;
        uint32_t *lane = gt_map_put(&f->lanes, events->process[row], rank_of(f, row));
        if (*lane == GT_MAP_NONE) *lane = f->numbers[row];
    }
    for (size_t row = 0; row < events->recorded; row++) {
        if (!gt_kind_is_gpu(events->kind[row]) || f->numbers[row]) continue;
        uint32_t lane = gt_map_get(&f->lanes, events->process[row], rank_of(f, row));
        f->numbers[row] = lane == GT_MAP_NONE ? events->process[row] : lane;
    }
}

static void find_all(finder *f, gt_devices *devices)
{
    const gt_event_view *events = f->events;
    size_t capacity = 0;
    uint64_t last_place = 0, last_rank = 0;
    uint32_t last = GT_NO_DEVICE;
    for (size_t row = 0; row < events->count; row++) {
        devices->of_row[row] = GT_NO_DEVICE;
        if (!gt_kind_is_gpu(events->kind[row]) || row >= events->recorded) continue;
        uint64_t place = (uint64_t)events->process[row] << 32 | f->numbers[row], rank = rank_of(f, row);
        if (last == GT_NO_DEVICE || place != last_place || rank != last_rank) {
            uint32_t *known = gt_map_put(&f->known, place, rank);
            if (*known == GT_MAP_NONE) {
                gt_device device = {number_of(gt_interner_get(events->strings, f->numbers[row])),
                                    (int64_t)rank, events->process[row]};
                *known = (uint32_t)devices->count;
                GT_PUSH(devices->items, devices->count, capacity, device);
            }
            last = *known, last_place = place, last_rank = rank;
        }
        devices->of_row[row] = last;
    }
}

gt_devices gt_devices_find(const gt_event_view *events)
{
    finder f = {.events = events, .numbers = gt_store_string_ids(events->store, GT_EVENT_DEVICE)};
    int64_t *ranks = gt_store_ints(events->store, GT_EVENT_RANK);
    gt_devices devices = {.have_ranks = all_have_ranks(events, ranks)};
    if (devices.have_ranks) f.ranks = ranks;
    devices.of_row = gt_alloc(events->count * sizeof *devices.of_row);
    complete_numbers(&f);
    find_all(&f, &devices);
    gt_map_free(&f.lanes);
    gt_map_free(&f.known);
    gt_free(f.numbers);
    gt_free(ranks);
    sort_devices(&devices, events);
    return devices;
}

void gt_devices_free(gt_devices *devices)
{
    gt_free(devices->items);
    gt_free(devices->of_row);
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
