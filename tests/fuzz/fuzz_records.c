/* Fuzzes the record reader and its learned layouts. The input, twice in a row, is read as an array of events
 * in one piece and in small blocks, so that the learned path and the general one read the same records: both
 * must give the same columns. The first byte chooses the size of the blocks, and whether three threads read
 * them. */
#include "base/memory.h"
#include "base/team.h"
#include "input/json/records.h"
#include "compressed.h"

#include <stdlib.h>
#include <string.h>

enum { PHASE, NAME, TIME, COUNT, DEEP, SHAPE, LABEL, FIELDS };

static const gt_field fields[FIELDS] = {
    [PHASE] = {"ph", GT_FIELD_STRING, true},        [NAME] = {"name", GT_FIELD_STRING, false},
    [TIME] = {"ts", GT_FIELD_TIME, false},          [COUNT] = {"n", GT_FIELD_INT, false},
    [DEEP] = {"args/x/y", GT_FIELD_INT, false},     [SHAPE] = {"args/dims", GT_FIELD_JSON, false},
    [LABEL] = {"args/label", GT_FIELD_VIEW, false},
};
static const gt_store_column columns[FIELDS] = {
    [PHASE] = {GT_STORE_STRING, 0}, [NAME] = {GT_STORE_STRING, 0}, [TIME] = {GT_STORE_TIME, 0},
    [COUNT] = {GT_STORE_INT, 0},    [DEEP] = {GT_STORE_INT, 0},    [SHAPE] = {GT_STORE_STRING, 0},
    [LABEL] = {GT_STORE_STRING, 0},
};

typedef struct outcome {
    bool read;
    size_t count;
    int64_t *counts, *deeps;
    uint32_t *names, *shapes;
    double *times;
    gt_interner *strings;
    gt_store *store;
} outcome;

typedef struct records_call {
    gt_json *json;
    outcome *out;
    unsigned threads;
} records_call;

static void read_in_team(void *context)
{
    static const gt_record_format format = {"event", fields, columns, FIELDS, NULL, NULL, NULL, NULL};
    records_call *call = context;
    gt_read_options options = {.threads = call->threads};
    call->out->read = gt_records_read(call->json, &format, call->out->store, &options);
}

static outcome read_array(const uint8_t *data, size_t size, size_t block, unsigned threads)
{
    gt_error error;
    outcome o = {.strings = gt_interner_new()};
    o.store = gt_store_new(columns, FIELDS, o.strings);
    gt_stream *stream = gt_stream_memory(data, size, block, &error);
    if (stream) {
        gt_json json;
        gt_json_begin(&json, stream, 0);
        gt_team_run(threads, read_in_team, &(records_call){&json, &o, threads});
        gt_stream_close(stream);
    }
    o.count = gt_store_count(o.store);
    o.counts = gt_store_ints(o.store, COUNT);
    o.deeps = gt_store_ints(o.store, DEEP);
    o.names = gt_store_string_ids(o.store, NAME);
    o.shapes = gt_store_string_ids(o.store, SHAPE);
    o.times = gt_store_times(o.store, TIME);
    return o;
}

static void same_text(const outcome *a, uint32_t x, const outcome *b, uint32_t y)
{
    if (gt_str_compare(gt_interner_get(a->strings, x), gt_interner_get(b->strings, y)) != 0) abort();
}

static void free_outcome(outcome *o)
{
    free(o->counts);
    free(o->deeps);
    free(o->names);
    free(o->shapes);
    free(o->times);
    gt_store_free(o->store);
    gt_interner_free(o->strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || is_compressed(data + 1, size - 1)) return 0;
    outcome a = read_array(data + 1, size - 1, 0, 1),
            b = read_array(data + 1, size - 1, 1 + data[0] % 128, data[0] & 128 ? 3 : 1);
    if (a.read != b.read || a.count != b.count) abort();
    for (size_t i = 0; i < a.count; i++) {
        if (a.counts[i] != b.counts[i] || a.deeps[i] != b.deeps[i]) abort();
        if (memcmp(&a.times[i], &b.times[i], sizeof(double)) != 0) abort();
        same_text(&a, a.names[i], &b, b.names[i]);
        same_text(&a, a.shapes[i], &b, b.shapes[i]);
    }
    free_outcome(&a);
    free_outcome(&b);
    return 0;
}
