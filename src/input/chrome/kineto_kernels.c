/* Reads a trace for its kernels: records of other categories are passed over by their brackets, of kernels
 * only name and times are kept. */
#include "input/chrome/kineto_kernels.h"
#include "base/memory.h"
#include "input/chrome/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CATEGORY, NAME, START, DURATION, IS_WHOLE, FIELDS };

static const gt_field fields[FIELDS] = {
    [CATEGORY] = {"cat", GT_FIELD_STRING, true}, [NAME] = {"name", GT_FIELD_STRING, false},
    [START] = {"ts", GT_FIELD_TIME, false},      [DURATION] = {"dur", GT_FIELD_TIME, false},
    [IS_WHOLE] = {NULL, GT_FIELD_INT, false},
};

static const gt_store_column columns[FIELDS] = {
    [CATEGORY] = {GT_STORE_STRING, 0}, [NAME] = {GT_STORE_STRING, 0},  [START] = {GT_STORE_TIME, 0},
    [DURATION] = {GT_STORE_TIME, 0},   [IS_WHOLE] = {GT_STORE_INT, 0},
};

static const uint64_t needed = UINT64_C(1) << NAME | UINT64_C(1) << START | UINT64_C(1) << DURATION;

static bool is_no_kernel(const gt_record *record, gt_record_reader *reader)
{
    if (!(record->present >> CATEGORY & 1)) return true;
    gt_str category = gt_interner_get(gt_record_strings(reader), (uint32_t)record->cells[CATEGORY].text);
    return !gt_str_equals(category, "kernel");
}

static const char *check(gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    record->dropped = (record->present & needed) != needed ||
                      !isfinite(record->cells[START].time + record->cells[DURATION].time);
    record->cells[IS_WHOLE].integer = record->integral >> DURATION & 1;
    record->present = needed | UINT64_C(1) << IS_WHOLE;
    return NULL;
}

static const gt_record_format format = {"event", fields, columns, FIELDS, check, is_no_kernel, NULL};

static void take(gt_kernel_extremes *extremes, const gt_kernel_instance *instance, bool first)
{
    if (first || instance->dur_us < extremes->shortest.dur_us) extremes->shortest = *instance;
    if (first || instance->dur_us >= extremes->longest.dur_us) extremes->longest = *instance;
}

static void find_extremes(gt_kernel_list *list, const gt_store *store)
{
    size_t names = gt_interner_count(list->strings), row = 0;
    uint32_t *of_name = gt_alloc_zero(names, sizeof *of_name); /* one more than the place in the list */
    uint32_t *places = gt_store_row_order(store);
    gt_store_scan *scan = gt_store_scan_new(store);
    gt_store_cell cells[FIELDS];
    list->items = gt_alloc(names * sizeof *list->items);
    for (; gt_store_scan_next(scan, cells); row++) {
        const gt_kernel_instance instance = {.dur_us = cells[DURATION].time,
                                             .start_us = cells[START].time,
                                             .place = places[row],
                                             .is_whole = cells[IS_WHOLE].integer};
        uint32_t *of = &of_name[cells[NAME].text];
        bool first = !*of;
        if (first) {
            *of = (uint32_t)++list->count;
            list->items[*of - 1].name = (uint32_t)cells[NAME].text;
        }
        take(&list->items[*of - 1], &instance, first);
    }
    gt_store_scan_free(scan);
    gt_free(places);
    gt_free(of_name);
}

gt_kernel_list *gt_kineto_read_kernels_stream(gt_stream *stream, const gt_read_options *options,
                                              gt_error *error)
{
    gt_kernel_list *list = gt_alloc_zero(1, sizeof *list);
    list->strings = gt_interner_new();
    gt_store *store = gt_store_new(columns, FIELDS, list->strings);
    bool read = gt_chrome_read_events(stream, &format, store, NULL,
                                      "not a PyTorch trace: it has no 'traceEvents'", options, error);
    if (read) find_extremes(list, store);
    gt_store_free(store);
    if (read) return list;
    gt_kernel_list_free(list);
    return NULL;
}

gt_kernel_list *gt_kineto_read_kernels(const char *path, const gt_read_options *options, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    gt_kernel_list *list = stream ? gt_kineto_read_kernels_stream(stream, options, error) : NULL;
    gt_stream_close(stream);
    return list;
}

void gt_kernel_list_free(gt_kernel_list *list)
{
    if (!list) return;
    gt_interner_free(list->strings);
    gt_free(list->items);
    gt_free(list);
}

static bool is_asked_for(gt_str name, gt_str asked, bool exact)
{
    return (exact ? name.len == asked.len : name.len >= asked.len) &&
           memcmp(name.bytes, asked.bytes, asked.len) == 0;
}

bool gt_kernel_list_find(const gt_kernel_list *list, gt_str name, bool exact, gt_kernel_instance *shortest,
                         gt_kernel_instance *longest)
{
    bool found = false;
    for (size_t i = 0; i < list->count; i++) {
        const gt_kernel_instance *low = &list->items[i].shortest, *high = &list->items[i].longest;
        if (!is_asked_for(gt_interner_get(list->strings, list->items[i].name), name, exact)) continue;
        if (!found || low->dur_us < shortest->dur_us ||
            (low->dur_us == shortest->dur_us && low->place < shortest->place))
            *shortest = *low;
        if (!found || high->dur_us > longest->dur_us ||
            (high->dur_us == longest->dur_us && high->place > longest->place))
            *longest = *high;
        found = true;
    }
    return found;
}
