/* The samples of the program counter in rocprofv3's JSON.
 *
 *     "strings": {"pc_sample_instructions": ["s_endpgm", ...], "pc_sample_comments": ["app.cpp:45", ...]}
 *     "buffer_records": {"pc_sample_host_trap": [{"record": {"dispatch_id": 1, ...}, "inst_index": 0}, ...],
 *                        "pc_sample_stochastic": [{"record": {..., "wave_issued": 0, "snapshot":
 *                                                  {"stall_reason": "..."}}, "inst_index": 0}, ...]}
 *
 * An instruction that rocprofv3 cannot decode has the index -1. Both kinds of records refer to the strings,
 * which may come before or after them, so they are joined at the end of the process. */
#include "input/rocprof/readers.h"
#include "input/json/records.h"
#include "json/string.h"

enum { RAW_DISPATCH, RAW_INDEX, RAW_ISSUED, RAW_REASON, RAW_COLUMNS };

static const gt_field raw_fields[RAW_COLUMNS] = {
    [RAW_DISPATCH] = {"record/dispatch_id", GT_FIELD_INT, false},
    [RAW_INDEX] = {"inst_index", GT_FIELD_INT, false},
    [RAW_ISSUED] = {"record/wave_issued", GT_FIELD_INT, false},
    [RAW_REASON] = {"record/snapshot/stall_reason", GT_FIELD_STRING, false},
};

static const gt_store_column raw_columns[RAW_COLUMNS] = {
    [RAW_DISPATCH] = {GT_STORE_INT, 0},
    [RAW_INDEX] = {GT_STORE_INT, -1},
    [RAW_ISSUED] = {GT_STORE_INT, -1},
    [RAW_REASON] = {GT_STORE_STRING, 0},
};

static const gt_record_format raw_format = {"PC sample", raw_fields, raw_columns, RAW_COLUMNS, NULL,
                                            NULL,        NULL,       NULL,        NULL};

typedef struct string_list {
    uint32_t *ids;
    size_t count, capacity;
} string_list;

enum { METHODS = 2 };
static const char *const method_keys[METHODS] = {"pc_sample_host_trap", "pc_sample_stochastic"};

struct gt_rocprof_samples {
    gt_rocprof *run;
    const gt_read_options *options;
    gt_store *raw[METHODS]; /* NULL if the file has none */
    string_list instructions, comments;
};

gt_rocprof_samples *gt_rocprof_samples_new(gt_rocprof *run, const gt_read_options *options)
{
    gt_rocprof_samples *samples = gt_alloc_zero(1, sizeof *samples);
    samples->run = run;
    samples->options = options;
    return samples;
}

void gt_rocprof_samples_free(gt_rocprof_samples *samples)
{
    if (!samples) return;
    for (size_t i = 0; i < METHODS; i++) gt_store_free(samples->raw[i]);
    gt_free_all(samples->instructions.ids, samples->comments.ids, samples);
}

/* Reads an array of strings; of a repeated key the last value counts. */
static bool read_strings(gt_rocprof_samples *samples, gt_json *json, string_list *list)
{
    list->count = 0;
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    if (!gt_json_enter_array(json)) return false;
    while (gt_json_next_element(json)) {
        uint32_t id = GT_STR_NONE;
        gt_str raw;
        if (gt_json_peek(json) != GT_JSON_STRING) {
            if (!gt_json_skip(json)) return false;
        } else {
            if (!gt_json_string(json, &raw)) return false;
            char *decoded = gt_alloc(raw.len * 3 + 1);
            id = gt_interner_add(samples->run->strings, decoded, gt_json_string_decode(raw, decoded));
            gt_free(decoded);
        }
        GT_PUSH(list->ids, list->count, list->capacity, id);
    }
    return !json->failed;
}

static bool read_records(gt_rocprof_samples *samples, gt_json *json, gt_store **store)
{
    if (gt_json_peek(json) != GT_JSON_ARRAY) return gt_json_skip(json);
    gt_store_free(*store);
    *store = gt_store_new(raw_columns, RAW_COLUMNS, samples->run->strings);
    return gt_records_read(json, &raw_format, *store, samples->options);
}

bool gt_rocprof_samples_read(gt_rocprof_samples *samples, gt_json *json, gt_str key, bool *read)
{
    for (size_t i = 0; i < METHODS; i++) {
        if (!gt_str_equals(key, method_keys[i])) continue;
        *read = read_records(samples, json, &samples->raw[i]);
        return true;
    }
    string_list *list = gt_str_equals(key, "pc_sample_instructions") ? &samples->instructions
                        : gt_str_equals(key, "pc_sample_comments")   ? &samples->comments
                                                                     : NULL;
    if (list) *read = read_strings(samples, json, list);
    return list != NULL;
}

static uint32_t string_at(const string_list *list, int64_t index)
{
    return index >= 0 && (uint64_t)index < list->count ? list->ids[index] : GT_STR_NONE;
}

/* As in CSV files, where an empty field has no value. */
static uint32_t not_empty(uint32_t id)
{
    return id == GT_STR_EMPTY ? GT_STR_NONE : id;
}

static void finish_method(gt_rocprof_samples *samples, const gt_store *raw, gt_store_writer *writer)
{
    size_t count = gt_store_count(raw);
    int64_t *dispatches = gt_store_ints(raw, RAW_DISPATCH), *indexes = gt_store_ints(raw, RAW_INDEX);
    int64_t *issued = gt_store_ints(raw, RAW_ISSUED);
    uint32_t *reasons = gt_store_string_ids(raw, RAW_REASON);
    for (size_t i = 0; i < count; i++) {
        gt_store_cell cells[GT_SAMPLE_COLUMNS];
        uint32_t instruction = not_empty(string_at(&samples->instructions, indexes[i]));
        cells[GT_SAMPLE_PROCESS].integer = 0;
        cells[GT_SAMPLE_DISPATCH].integer = dispatches[i];
        cells[GT_SAMPLE_INSTRUCTION].text = instruction;
        cells[GT_SAMPLE_COMMENT].text =
            instruction ? not_empty(string_at(&samples->comments, indexes[i])) : GT_STR_NONE;
        cells[GT_SAMPLE_ISSUED].integer = issued[i];
        cells[GT_SAMPLE_REASON].text = reasons[i];
        gt_store_writer_add(writer, (UINT64_C(1) << GT_SAMPLE_COLUMNS) - 1, cells);
    }
    gt_free_all(dispatches, indexes, issued, reasons);
}

void gt_rocprof_samples_finish(gt_rocprof_samples *samples)
{
    gt_rocprof *run = samples->run;
    gt_store_writer *writer = gt_store_writer_new(gt_sample_columns, GT_SAMPLE_COLUMNS, run->strings);
    for (size_t i = 0; i < METHODS; i++)
        if (samples->raw[i]) finish_method(samples, samples->raw[i], writer);
    gt_store_append(run->samples, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
}
