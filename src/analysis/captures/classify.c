/* What a capture trace is of. vLLM's have an annotation "capture_32_FULL" for each run of the model while it
 * captures (_dummy_run); then that says it all. Otherwise the mode follows from the number of graphs, and the
 * batch size from annotations if they agree, or is the first dimension that most inputs of ops have. */
#include "analysis/captures/captures.h"

#include "json/values.h"

const char *gt_capture_mode_name(gt_capture_mode mode)
{
    return mode == GT_CAPTURE_FULL ? "FULL" : "PIECEWISE";
}

/* ---- names ---- */

static bool skip(gt_str *text, const char *word)
{
    size_t len = strlen(word);
    if (!gt_str_starts_with(*text, word)) return false;
    *text = (gt_str){text->bytes + len, text->len - len};
    return true;
}

static bool read_number(gt_str *text, int64_t *number)
{
    static const int64_t MOST = INT64_C(1) << 52;
    size_t digits = 0;
    for (*number = 0; digits < text->len && gt_is_digit(text->bytes[digits]); digits++)
        if (*number < MOST) *number = *number * 10 + (text->bytes[digits] - '0');
    *text = (gt_str){text->bytes + digits, text->len - digits};
    return digits > 0;
}

/* vllm/v1/worker/gpu_model_runner.py(3380): _dummy_run */
static bool is_dummy_run(gt_str name)
{
    int64_t line;
    return skip(&name, "vllm/v1/worker/gpu_model_runner.py(") && read_number(&name, &line) &&
           skip(&name, "): _dummy_run");
}

/* capture_32_FULL */
static bool read_annotation(gt_str name, int64_t *batch, gt_str *mode)
{
    if (!skip(&name, "capture_") || !read_number(&name, batch) || !skip(&name, "_")) return false;
    const char *line_end = memchr(name.bytes, '\n', name.len);
    *mode = (gt_str){name.bytes, line_end ? (size_t)(line_end - name.bytes) : name.len};
    return true;
}

/* ---- the first dimension of most inputs ---- */

typedef struct dim_counts {
    gt_map places; /* from a dimension to an index */
    struct dim_count {
        int64_t dim;
        uint64_t count;
    } * items; /* in the order in which they were seen first */
    size_t count, capacity;
} dim_counts;

static void count_dims(dim_counts *d, const gt_value *dims, uint64_t times)
{
    for (uint32_t i = 0; gt_value_is_list(dims) && i < dims->count; i++) {
        const gt_value *first = gt_value_at(&dims->items[i], 0);
        if (!gt_value_is_list(&dims->items[i]) || first->type != GT_VALUE_INT) continue;
        uint32_t *place = gt_map_put(&d->places, (uint64_t)first->integer, 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)d->count;
            GT_PUSH(d->items, d->count, d->capacity, ((struct dim_count){first->integer, 0}));
        }
        d->items[*place].count += times;
    }
}

/* Each text of dimensions is parsed once, in the order of the file. */
static bool find_most_frequent(const gt_event_view *trace, int64_t *dim)
{
    uint32_t *texts = gt_store_string_ids(trace->store, GT_EVENT_INPUT_DIMS);
    uint32_t *times = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *times);
    dim_counts d = {0};
    gt_values *values = gt_values_new(trace->strings);
    for (size_t row = 0; row < trace->recorded; row++)
        if (trace->kind[row] == GT_KIND_CPU_OP) times[texts[row]]++;
    for (size_t row = 0; row < trace->recorded; row++) {
        uint32_t text = texts[row];
        if (trace->kind[row] != GT_KIND_CPU_OP || text == GT_STR_NONE || !times[text]) continue;
        count_dims(&d, gt_values_get(values, text), times[text]);
        times[text] = 0;
    }
    size_t best = 0;
    for (size_t i = 1; i < d.count; i++)
        if (d.items[i].count > d.items[best].count) best = i;
    bool found = d.count > 0;
    if (found) *dim = d.items[best].dim;
    gt_values_free(values);
    gt_map_free(&d.places);
    gt_free_all(d.items, times, texts);
    return found;
}

/* ---- what it is of ---- */

typedef struct annotations {
    size_t count, dummy_runs;
    uint32_t first; /* by start */
    bool agree;     /* on the batch size */
} annotations;

static annotations find_annotations(const gt_event_view *trace, gt_capture_kind *kind)
{
    annotations a = {.first = GT_NO_EVENT, .agree = true};
    int64_t batch;
    gt_str mode;
    for (uint32_t row = 0; row < trace->recorded; row++) {
        gt_str name = gt_event_name(trace, row);
        if (trace->kind[row] == GT_KIND_RUNTIME && gt_str_contains(name, "StreamBeginCapture"))
            kind->graphs++;
        if (is_dummy_run(name)) a.dummy_runs++;
        if (trace->kind[row] != GT_KIND_ANNOTATION || !read_annotation(name, &batch, &mode)) continue;
        if (a.count++) a.agree = a.agree && batch == kind->batch;
        if (a.first == GT_NO_EVENT || trace->start_us[row] < trace->start_us[a.first]) {
            a.first = row;
            kind->batch = batch;
        }
    }
    return a;
}

gt_capture_kind gt_capture_classify(const gt_event_view *trace)
{
    gt_capture_kind kind = {0};
    annotations a = find_annotations(trace, &kind);
    kind.mode = kind.graphs <= 1 ? GT_CAPTURE_FULL : GT_CAPTURE_PIECEWISE;
    kind.is_annotated = a.count && a.count == a.dummy_runs;
    kind.has_batch = a.count && (kind.is_annotated || a.agree);
    if (!kind.has_batch) kind.has_batch = find_most_frequent(trace, &kind.batch);
    int64_t batch;
    gt_str mode;
    if (kind.is_annotated && read_annotation(gt_event_name(trace, a.first), &batch, &mode))
        for (int m = 0; m < GT_CAPTURE_MODES; m++)
            if (gt_str_equals(mode, gt_capture_mode_name((gt_capture_mode)m))) kind.mode = (gt_capture_mode)m;
    return kind;
}
