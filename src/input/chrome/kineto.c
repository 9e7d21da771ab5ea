/* The Kineto reader: a table of wanted values, and which events to keep. */
#include "input/chrome/kineto.h"
#include "base/length.h"
#include "input/chrome/events.h"
#include "input/detect.h"
#include "input/chrome/kineto_fields.h"

#include <string.h>

const gt_field gt_kineto_fields[GT_EVENT_COLUMNS] = {
    [GT_EVENT_PHASE] = {"ph", GT_FIELD_STRING, true},
    [GT_EVENT_CATEGORY] = {"cat", GT_FIELD_STRING, true},
    [GT_EVENT_KIND] = {NULL, GT_FIELD_INT, false},
    [GT_EVENT_NAME] = {"name", GT_FIELD_STRING, false},
    [GT_EVENT_PROCESS] = {"pid", GT_FIELD_JSON, false},
    [GT_EVENT_THREAD] = {"tid", GT_FIELD_JSON, false},
    [GT_EVENT_START] = {"ts", GT_FIELD_TIME, false},
    [GT_EVENT_DURATION] = {"dur", GT_FIELD_TIME, false},
    [GT_EVENT_INTEGRAL] = {NULL, GT_FIELD_INT, false},
    [GT_EVENT_FLOW] = {"id", GT_FIELD_INT, false},
    [GT_EVENT_EXTERNAL_ID] = {"args/External id", GT_FIELD_INT, false},
    [GT_EVENT_CORRELATION] = {"args/correlation", GT_FIELD_INT, false},
    [GT_EVENT_STREAM] = {"args/stream", GT_FIELD_JSON, false},
    [GT_EVENT_SEQUENCE] = {"args/Sequence number", GT_FIELD_INT, false},
    [GT_EVENT_INPUT_DIMS] = {"args/Input Dims", GT_FIELD_JSON, false},
    [GT_EVENT_INPUT_TYPES] = {"args/Input type", GT_FIELD_JSON, false},
    [GT_EVENT_INPUT_STRIDES] = {"args/Input Strides", GT_FIELD_JSON, false},
    [GT_EVENT_CONCRETE_INPUTS] = {"args/Concrete Inputs", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_NAME] = {"args/Process Group Name", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_RANKS] = {"args/Process Group Ranks", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_SIZE] = {"args/Group size", GT_FIELD_INT, false},
    [GT_EVENT_COLLECTIVE] = {"args/Collective name", GT_FIELD_STRING, false},
    [GT_EVENT_DTYPE] = {"args/dtype", GT_FIELD_STRING, false},
    [GT_EVENT_IN_ELEMENTS] = {"args/In msg nelems", GT_FIELD_INT, false},
    [GT_EVENT_OUT_ELEMENTS] = {"args/Out msg nelems", GT_FIELD_INT, false},
    [GT_EVENT_IN_SPLIT] = {"args/In split size", GT_FIELD_JSON, false},
    [GT_EVENT_OUT_SPLIT] = {"args/Out split size", GT_FIELD_JSON, false},
    [GT_EVENT_KERNEL_FILE] = {"args/kernel_file", GT_FIELD_STRING, false},
    [GT_EVENT_META_NAME] = {"args/name", GT_FIELD_STRING, false},
    [GT_EVENT_META_LABELS] = {"args/labels", GT_FIELD_STRING, false},
};

static const struct {
    gt_str category;
    gt_event_kind kind; /* of flows: where the arrow starts; the phase tells its end */
} categories[] = {
    {{"python_function", 15}, GT_KIND_PYTHON},
    {{"cpu_op", 6}, GT_KIND_CPU_OP},
    {{"cuda_runtime", 12}, GT_KIND_RUNTIME},
    {{"cuda_driver", 11}, GT_KIND_DRIVER},
    {{"kernel", 6}, GT_KIND_KERNEL},
    {{"gpu_memcpy", 10}, GT_KIND_MEMCPY},
    {{"gpu_memset", 10}, GT_KIND_MEMSET},
    {{"cuda_sync", 9}, GT_KIND_SYNC},
    {{"ac2g", 4}, GT_KIND_FLOW_START},
    {{"async_cpu_to_gpu", 16}, GT_KIND_FLOW_START}, /* PyTorch before 1.13 */
    {{"async", 5}, GT_KIND_FLOW_START},             /* PyTorch 1.8 */
    {{"Operator", 8}, GT_KIND_CPU_OP},              /* these five: PyTorch 1.8 to 1.11 */
    {{"Runtime", 7}, GT_KIND_RUNTIME},
    {{"Kernel", 6}, GT_KIND_KERNEL},
    {{"Memcpy", 6}, GT_KIND_MEMCPY},
    {{"Memset", 6}, GT_KIND_MEMSET},
};

gt_event_kind gt_kineto_kind_of(gt_str category, gt_str phase)
{
    if (phase.len != 1) return GT_KIND_OTHER;
    if (phase.bytes[0] == 'M') return GT_KIND_METADATA;
    for (size_t i = 0; i < GT_LENGTH(categories); i++) {
        if (categories[i].category.len != category.len ||
            memcmp(categories[i].category.bytes, category.bytes, category.len) != 0)
            continue;
        if (categories[i].kind != GT_KIND_FLOW_START) return categories[i].kind;
        return phase.bytes[0] == 's'   ? GT_KIND_FLOW_START
               : phase.bytes[0] == 'f' ? GT_KIND_FLOW_END
                                       : GT_KIND_OTHER;
    }
    return gt_str_contains(category, "user_annotation") ? GT_KIND_ANNOTATION : GT_KIND_OTHER;
}

/* Kinds of categories and phases seen before, by their text ids. */
typedef struct known_kind {
    uint32_t category, phase; /* GT_STR_NONE where the event has none */
    uint8_t kind;
    bool known;
} known_kind;

enum { KNOWN_KINDS = 64 };
_Static_assert(KNOWN_KINDS * sizeof(known_kind) <= GT_RECORD_SCRATCH, "the known kinds must fit");

static gt_event_kind find_kind(const gt_record *record, gt_record_reader *reader)
{
    uint32_t category = gt_record_string(record, GT_EVENT_CATEGORY),
             phase = gt_record_string(record, GT_EVENT_PHASE);
    known_kind *known = (known_kind *)gt_record_scratch(reader) + (category * 5 + phase) % KNOWN_KINDS;
    if (!known->known || known->category != category || known->phase != phase) {
        const gt_interner *strings = gt_record_strings(reader);
        gt_event_kind kind =
            gt_kineto_kind_of(gt_interner_get(strings, category), gt_interner_get(strings, phase));
        *known = (known_kind){category, phase, (uint8_t)kind, true};
    }
    return known->kind;
}

/* The kind takes the place of category and phase. */
static const char *note_kind(gt_record *record, gt_record_reader *reader)
{
    uint64_t integral = record->integral;
    record->cells[GT_EVENT_KIND].integer = find_kind(record, reader);
    record->cells[GT_EVENT_INTEGRAL].integer = (integral >> GT_EVENT_START & 1 ? GT_INTEGRAL_START : 0) |
                                               (integral >> GT_EVENT_DURATION & 1 ? GT_INTEGRAL_DURATION : 0);
    record->present &= ~(UINT64_C(1) << GT_EVENT_CATEGORY | UINT64_C(1) << GT_EVENT_PHASE);
    record->present |= UINT64_C(1) << GT_EVENT_KIND | UINT64_C(1) << GT_EVENT_INTEGRAL;
    return NULL;
}

static bool is_of_no_use(const gt_record *record, gt_record_reader *reader)
{
    return find_kind(record, reader) == GT_KIND_OTHER;
}

static bool is_of_no_use_or_python(const gt_record *record, gt_record_reader *reader)
{
    gt_event_kind kind = find_kind(record, reader);
    return kind == GT_KIND_OTHER || kind == GT_KIND_PYTHON;
}

/* Arrows are as many as launches, and once those are linked nobody asks for them. */
static bool is_arrow(const gt_record *record)
{
    int64_t kind = record->cells[GT_EVENT_KIND].integer;
    return kind == GT_KIND_FLOW_START || kind == GT_KIND_FLOW_END;
}

bool gt_kineto_read_stores(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                           gt_store *store, gt_store *arrows, gt_error *error)
{
    gt_trace_format kind;
    if (!gt_detect(stream, &kind, error)) return false;
    if (kind == GT_FORMAT_PERFETTO)
        return gt_kineto_read_perfetto(stream, keep, options, store, arrows, error);
    gt_record_format format = {"event", gt_kineto_fields, gt_event_columns, GT_EVENT_COLUMNS, note_kind,
                               NULL,    is_arrow};
    if (!keep.every_event) format.unwanted = keep.python_functions ? is_of_no_use : is_of_no_use_or_python;
    return gt_chrome_read_events(stream, &format, store, arrows,
                                 "not a PyTorch trace: it has no 'traceEvents'", options, error);
}

gt_pytorch_read *gt_kineto_read_stream(gt_stream *stream, gt_kineto_options keep,
                                       const gt_read_options *options, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_store *store = gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, strings);
    gt_store *arrows = gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, strings);
    if (gt_kineto_read_stores(stream, keep, options, store, arrows, error))
        return gt_pytorch_new(store, arrows, strings, keep.python_functions || keep.every_event);
    gt_store_free(store);
    gt_store_free(arrows);
    gt_interner_free(strings);
    return NULL;
}

gt_pytorch_read *gt_kineto_read(const char *path, gt_kineto_options keep, const gt_read_options *options,
                                gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return NULL;
    gt_pytorch_read *trace = gt_kineto_read_stream(stream, keep, options, error);
    gt_stream_close(stream);
    return trace;
}
