/* A table of wanted values; every event is kept, also one that is no object, so that places are those of the
 * file. */
#include "input/chrome/plain_events.h"

#include "input/chrome/events.h"
#include "trace/events.h"

static const gt_field fields[GT_PLAIN_COLUMNS] = {
    [GT_PLAIN_PHASE] = {"ph", GT_FIELD_STRING, true},
    [GT_PLAIN_CATEGORY] = {"cat", GT_FIELD_STRING, true},
    [GT_PLAIN_NAME] = {"name", GT_FIELD_STRING, false},
    [GT_PLAIN_PROCESS] = {"pid", GT_FIELD_JSON, false},
    [GT_PLAIN_THREAD] = {"tid", GT_FIELD_JSON, false},
    [GT_PLAIN_START] = {"ts", GT_FIELD_TIME, false},
    [GT_PLAIN_DURATION] = {"dur", GT_FIELD_TIME, false},
    [GT_PLAIN_INTEGRAL] = {NULL, GT_FIELD_INT, false},
    [GT_PLAIN_FLOW] = {"id", GT_FIELD_JSON, false},
    [GT_PLAIN_CORRELATION] = {"args/correlation", GT_FIELD_JSON, false},
};

static const gt_store_column columns[GT_PLAIN_COLUMNS] = {
    [GT_PLAIN_PHASE] = {GT_STORE_STRING, 0},  [GT_PLAIN_CATEGORY] = {GT_STORE_STRING, 0},
    [GT_PLAIN_NAME] = {GT_STORE_STRING, 0},   [GT_PLAIN_PROCESS] = {GT_STORE_STRING, 0},
    [GT_PLAIN_THREAD] = {GT_STORE_STRING, 0}, [GT_PLAIN_START] = {GT_STORE_TIME, 0},
    [GT_PLAIN_DURATION] = {GT_STORE_TIME, 0}, [GT_PLAIN_INTEGRAL] = {GT_STORE_INT, 0},
    [GT_PLAIN_FLOW] = {GT_STORE_STRING, 0},   [GT_PLAIN_CORRELATION] = {GT_STORE_STRING, 0},
};

static const char *note_integers(gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    int64_t bits = (record->integral >> GT_PLAIN_START & 1 ? GT_INTEGRAL_START : 0) |
                   (record->integral >> GT_PLAIN_DURATION & 1 ? GT_INTEGRAL_DURATION : 0);
    record->cells[GT_PLAIN_INTEGRAL].integer = bits;
    record->present |= UINT64_C(1) << GT_PLAIN_INTEGRAL;
    return NULL;
}

gt_plain_events *gt_plain_events_read(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    const gt_record_format format = {.what = "event",
                                     .fields = fields,
                                     .columns = columns,
                                     .count = GT_PLAIN_COLUMNS,
                                     .check = note_integers};
    gt_interner *strings = gt_interner_new();
    gt_store *store = gt_store_new(columns, GT_PLAIN_COLUMNS, strings);
    if (gt_chrome_read_events(stream, &format, store, NULL, "not a PyTorch trace: it has no 'traceEvents'",
                              options, error))
        return gt_plain_events_new(store, strings);
    gt_store_free(store);
    gt_interner_free(strings);
    return NULL;
}
