/* The reader of PyTorch profiler traces: which fields of an event are read, and which events are kept.
 *
 * One table of fields serves both formats, because PyTorch's Perfetto traces hold the arguments of the Chrome
 * trace as annotations of the same names. To read one more argument, add a column to trace/events.h, its type
 * to gt_event_columns in trace/events.c, and a row to gt_kineto_fields.
 *
 * Every event gets a kind (trace/events.h), which its category and phase determine. Events of no known kind
 * are skipped early, by their category alone, so that most of a trace is never parsed in detail. */
#include "input/chrome/kineto.h"
#include "base/progress.h"
#include "input/chrome/chrome.h"
#include "input/chrome/kineto_parts.h"
#include "input/detect.h"
#include "input/perfetto/record.h"
#include "trace/rocprof/rocprof.h"

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
    [GT_EVENT_DEVICE] = {"args/device", GT_FIELD_JSON, false},
    [GT_EVENT_RANK] = {"args/rank", GT_FIELD_INT, false},
    [GT_EVENT_BYTES] = {"args/bytes", GT_FIELD_INT, false},
    [GT_EVENT_GRID] = {"args/grid", GT_FIELD_JSON, false},
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
    [GT_EVENT_RECEIVER] = {"args/Dst Rank", GT_FIELD_INT, false},
    [GT_EVENT_SENDER] = {"args/Src Rank", GT_FIELD_INT, false},
    [GT_EVENT_KERNEL_FILE] = {"args/kernel_file", GT_FIELD_STRING, false},
    [GT_EVENT_META_NAME] = {"args/name", GT_FIELD_STRING, false},
    [GT_EVENT_META_LABELS] = {"args/labels", GT_FIELD_STRING, false},
    [GT_EVENT_ALLOCATED] = {"args/Total Allocated", GT_FIELD_INT, false},
    [GT_EVENT_RESERVED] = {"args/Total Reserved", GT_FIELD_INT, false},
    [GT_EVENT_MEMORY_TYPE] = {"args/Device Type", GT_FIELD_INT, false},
    [GT_EVENT_MEMORY_ID] = {"args/Device Id", GT_FIELD_INT, false},
    [GT_EVENT_LAUNCHED] = {"args/kernel", GT_FIELD_STRING, false},
};

/* Those that are wanted: ROCm writes the kernel's name into every launch, and few need it. */
static void choose_fields(gt_kineto_options keep, gt_field fields[GT_EVENT_COLUMNS])
{
    memcpy(fields, gt_kineto_fields, sizeof gt_kineto_fields);
    if (!keep.launched) fields[GT_EVENT_LAUNCHED].path = NULL;
}

static const struct {
    gt_str category;
    gt_event_kind kind; /* of flow events: the start; the phase distinguishes starts from ends */
} categories[] = {
    {{"python_function", 15}, GT_KIND_PYTHON},
    {{"cpu_op", 6}, GT_KIND_CPU_OP},
    {{"cuda_runtime", 12}, GT_KIND_RUNTIME},
    {{"cuda_driver", 11}, GT_KIND_DRIVER},
    {{"kernel", 6}, GT_KIND_KERNEL},
    {{"gpu_memcpy", 10}, GT_KIND_MEMCPY},
    {{"gpu_memset", 10}, GT_KIND_MEMSET},
    {{"cuda_sync", 9}, GT_KIND_SYNC},
    {{"cpu_instant_event", 17}, GT_KIND_MEMORY},
    {{"ac2g", 4}, GT_KIND_FLOW_START},
    {{"async_cpu_to_gpu", 16}, GT_KIND_FLOW_START}, /* PyTorch before 1.13 */
    {{"async", 5}, GT_KIND_FLOW_START},             /* PyTorch 1.8 */
    {{"Operator", 8}, GT_KIND_CPU_OP},              /* this and the next four: PyTorch 1.8 to 1.11 */
    {{"Runtime", 7}, GT_KIND_RUNTIME},
    {{"Kernel", 6}, GT_KIND_KERNEL},
    {{"Memcpy", 6}, GT_KIND_MEMCPY},
    {{"Memset", 6}, GT_KIND_MEMSET},
};

static gt_event_kind kind_of_event(gt_str category, gt_str phase)
{
    if (phase.len != 1) return GT_KIND_NO_EVENT;
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
    if (!category.len && phase.bytes[0] == 'X') return GT_KIND_NO_EVENT;
    if (gt_str_equals(category, "user_annotation")) return GT_KIND_ANNOTATION;
    return gt_str_contains(category, "user_annotation") ? GT_KIND_GPU_ANNOTATION : GT_KIND_OTHER;
}

/* ---- events in JSON ---- */

static int64_t derive_kind(const gt_record *record, gt_record_reader *reader)
{
    const gt_interner *strings = gt_record_strings(reader);
    const gt_kineto_options *keep = gt_record_context(reader);
    gt_event_kind kind = kind_of_event(gt_interner_get(strings, gt_record_string(record, GT_EVENT_CATEGORY)),
                                       gt_interner_get(strings, gt_record_string(record, GT_EVENT_PHASE)));
    bool is_unused = (kind == GT_KIND_MEMORY && !gt_kineto_has_memory(*keep)) ||
                     (kind == GT_KIND_NO_EVENT && keep->every_event);
    return is_unused ? GT_KIND_OTHER : kind;
}

static inline int64_t kind_of(const gt_record *record)
{
    return record->cells[GT_EVENT_KIND].integer;
}

/* Keeps the kind instead of category and phase. */
static const char *set_kind(gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    uint64_t integral = record->integral;
    record->cells[GT_EVENT_INTEGRAL].integer = (integral >> GT_EVENT_START & 1 ? GT_INTEGRAL_START : 0) |
                                               (integral >> GT_EVENT_DURATION & 1 ? GT_INTEGRAL_DURATION : 0);
    record->present &= ~(UINT64_C(1) << GT_EVENT_CATEGORY | UINT64_C(1) << GT_EVENT_PHASE);
    record->present |= UINT64_C(1) << GT_EVENT_INTEGRAL;
    return NULL;
}

#define BIT(column) (UINT64_C(1) << (column))

/* What is kept of a Python function that is no row. */
static const uint64_t frame_columns = BIT(GT_EVENT_NAME) | BIT(GT_EVENT_PROCESS) | BIT(GT_EVENT_THREAD) |
                                      BIT(GT_EVENT_START) | BIT(GT_EVENT_DURATION);

/* What is kept of a memory event. */
static const uint64_t memory_columns = BIT(GT_EVENT_NAME) | BIT(GT_EVENT_PROCESS) | BIT(GT_EVENT_START) |
                                       BIT(GT_EVENT_ALLOCATED) | BIT(GT_EVENT_RESERVED) |
                                       BIT(GT_EVENT_MEMORY_TYPE) | BIT(GT_EVENT_MEMORY_ID);

static uint64_t needed_of_frames(const gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    int64_t kind = kind_of(record);
    return kind == GT_KIND_PYTHON ? frame_columns : kind == GT_KIND_MEMORY ? memory_columns : UINT64_MAX;
}

static const char *set_kind_of_frames(gt_record *record, gt_record_reader *reader)
{
    set_kind(record, reader);
    if (kind_of(record) == GT_KIND_PYTHON) record->present &= frame_columns;
    if (kind_of(record) == GT_KIND_MEMORY) record->present &= memory_columns;
    return NULL;
}

/* The same if Python functions are rows. */
static uint64_t needed_of_memory(const gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    return kind_of(record) == GT_KIND_MEMORY ? memory_columns : UINT64_MAX;
}

static const char *set_kind_of_memory(gt_record *record, gt_record_reader *reader)
{
    set_kind(record, reader);
    if (kind_of(record) == GT_KIND_MEMORY) record->present &= memory_columns;
    return NULL;
}

static bool is_unused(const gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    return kind_of(record) == GT_KIND_OTHER;
}

static bool is_unused_or_python(const gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    int64_t kind = kind_of(record);
    return kind == GT_KIND_OTHER || kind == GT_KIND_PYTHON;
}

/* There are as many flow events as launches, and they are no longer needed once the launches are linked: they
 * get a store of their own, which is freed then. So do Python functions that are no rows, and memory events.
 */
enum { PLACE_EVENTS, PLACE_FLOWS, PLACE_MORE };

static size_t place_rows(const gt_record *record)
{
    int64_t kind = kind_of(record);
    return kind == GT_KIND_FLOW_START || kind == GT_KIND_FLOW_END ? PLACE_FLOWS : PLACE_EVENTS;
}

/* Which of the events that are no rows have a store says the name. */
static size_t place_frames(const gt_record *record)
{
    return kind_of(record) == GT_KIND_PYTHON ? PLACE_MORE : place_rows(record);
}

static size_t place_memory(const gt_record *record)
{
    return kind_of(record) == GT_KIND_MEMORY ? PLACE_MORE : place_rows(record);
}

static size_t place_frames_and_memory(const gt_record *record)
{
    return kind_of(record) == GT_KIND_MEMORY ? PLACE_MORE + 1 : place_frames(record);
}

/* ---- events in Perfetto's format ---- */

/* Slices become the rows that their Chrome events would be. Slices that are not kept are counted too, so that
 * the uid of a row is its position among all slices. */
typedef struct perfetto_reader {
    gt_field fields[GT_EVENT_COLUMNS];
    gt_perfetto *trace;
    gt_perfetto_records *records;
    gt_interner *strings;
    gt_kineto_options keep;
    gt_store_writer *rows, *flow_events, *frames, *memory;
    gt_slices *slices; /* of rows and frames together, in the order of the file */
    gt_record record;
    uint8_t *kinds; /* by string id of a category: 1 + gt_event_kind; 0: not looked up yet */
    size_t kind_count;
    uint32_t row_count;   /* of slices */
    uint32_t *frame_rows; /* which of these are frames */
    size_t frame_count, frame_capacity;
} perfetto_reader;

static gt_event_kind kind_of_category(perfetto_reader *r, uint32_t category)
{
    if (category >= r->kind_count) {
        size_t count = (size_t)category + 1 + r->kind_count;
        r->kinds = gt_realloc(r->kinds, count);
        memset(r->kinds + r->kind_count, 0, count - r->kind_count);
        r->kind_count = count;
    }
    uint8_t *known = &r->kinds[category];
    if (!*known)
        *known = (uint8_t)(1 + kind_of_event(gt_interner_get(r->strings, category), (gt_str){"X", 1}));
    return (gt_event_kind)(*known - 1);
}

static bool is_wanted(const perfetto_reader *r, gt_event_kind kind)
{
    if (r->keep.every_event) return true;
    return kind != GT_KIND_OTHER && kind < GT_KIND_NO_EVENT &&
           (kind != GT_KIND_PYTHON || r->keep.python_functions || r->frames);
}

/* Flow ids become flow events: from calls of the host, to what runs on the GPU. */
static void add_flow_events(perfetto_reader *r, const gt_perfetto_event *event, gt_event_kind kind)
{
    bool starts = kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
    bool ends = kind == GT_KIND_KERNEL || kind == GT_KIND_MEMCPY || kind == GT_KIND_MEMSET;
    if (!starts && !ends) return;
    gt_store_cell cells[GT_EVENT_COLUMNS];
    memcpy(cells, r->record.cells, sizeof cells);
    cells[GT_EVENT_KIND].integer = starts ? GT_KIND_FLOW_START : GT_KIND_FLOW_END;
    for (size_t i = 0; i < event->flow_count; i++) {
        cells[GT_EVENT_FLOW].integer = (int64_t)event->flows[i];
        gt_store_writer_add(r->flow_events,
                            BIT(GT_EVENT_KIND) | BIT(GT_EVENT_PROCESS) | BIT(GT_EVENT_THREAD) |
                                BIT(GT_EVENT_START) | BIT(GT_EVENT_FLOW),
                            cells);
    }
}

/* Memory events are instants: they are no rows, and have no duration. */
static void add_memory(perfetto_reader *r, const gt_perfetto_event *event)
{
    gt_perfetto_record_head(r->records, event, &r->record);
    gt_perfetto_record_args(r->records, event, &r->record, NULL, NULL);
    gt_store_writer_add(r->memory, r->record.present & memory_columns, r->record.cells);
}

static void read_slice(perfetto_reader *r, const gt_perfetto_event *event)
{
    gt_event_kind kind = kind_of_category(r, event->category);
    bool wanted = is_wanted(r, kind);
    uint32_t row = wanted ? r->row_count : GT_SLICE_UNWANTED;
    if (event->type == GT_PERFETTO_COMPLETE)
        gt_slices_complete(r->slices, row, event->dur_ns);
    else if (event->type == GT_PERFETTO_BEGIN)
        gt_slices_begin(r->slices, event->track, event->time_ns, row);
    bool is_frame = wanted && r->frames && kind == GT_KIND_PYTHON;
    if (!wanted || is_frame) gt_store_writer_skip(r->rows, 1);
    if (!is_frame && r->frames) gt_store_writer_skip(r->frames, 1);
    if (kind == GT_KIND_MEMORY && r->memory) add_memory(r, event);
    if (!wanted) return;
    if (is_frame) GT_PUSH(r->frame_rows, r->frame_count, r->frame_capacity, r->row_count);
    r->row_count++;
    gt_perfetto_record_head(r->records, event, &r->record);
    if (is_frame) {
        gt_store_writer_add(r->frames, r->record.present & frame_columns & ~BIT(GT_EVENT_DURATION),
                            r->record.cells);
        return;
    }
    gt_perfetto_record_args(r->records, event, &r->record, NULL, NULL);
    r->record.cells[GT_EVENT_KIND].integer = kind >= GT_KIND_NO_EVENT ? GT_KIND_OTHER : kind;
    r->record.cells[GT_EVENT_INTEGRAL].integer = 0;
    uint64_t present = r->record.present | BIT(GT_EVENT_KIND) | BIT(GT_EVENT_INTEGRAL);
    present &= ~(BIT(GT_EVENT_CATEGORY) | BIT(GT_EVENT_PHASE) | BIT(GT_EVENT_DURATION) | BIT(GT_EVENT_FLOW) |
                 BIT(GT_EVENT_META_NAME) | BIT(GT_EVENT_META_LABELS));
    gt_store_writer_add(r->rows, present, r->record.cells);
    add_flow_events(r, event, kind);
}

static uint32_t intern_number(perfetto_reader *r, int64_t number)
{
    char digits[GT_NUMBER_MAX];
    return gt_interner_add(r->strings, digits, gt_print_int(digits, number));
}

static void add_metadata(perfetto_reader *r, const gt_perfetto_track *track, const char *what, size_t column,
                         uint32_t text)
{
    if (text == GT_STR_NONE) return;
    gt_store_cell cells[GT_EVENT_COLUMNS];
    cells[GT_EVENT_KIND].integer = GT_KIND_METADATA;
    cells[GT_EVENT_NAME].text = gt_interner_add_cstr(r->strings, what);
    cells[GT_EVENT_PROCESS].text = intern_number(r, track->pid);
    cells[GT_EVENT_THREAD].text = intern_number(r, track->kind == GT_TRACK_THREAD ? track->tid : 0);
    cells[column].text = text;
    gt_store_writer_add(r->rows,
                        BIT(GT_EVENT_KIND) | BIT(GT_EVENT_NAME) | BIT(GT_EVENT_PROCESS) |
                            BIT(GT_EVENT_THREAD) | BIT(column),
                        cells);
}

/* The names of tracks become metadata events. */
static void add_track_names(perfetto_reader *r)
{
    for (size_t i = 0; i < gt_perfetto_track_count(r->trace); i++) {
        const gt_perfetto_track *track = gt_perfetto_track_of(r->trace, (uint32_t)i);
        if (track->kind == GT_TRACK_PROCESS) {
            add_metadata(r, track, "process_name", GT_EVENT_META_NAME, track->name);
            add_metadata(r, track, "process_labels", GT_EVENT_META_LABELS, track->label);
        } else if (track->kind == GT_TRACK_THREAD) {
            add_metadata(r, track, "thread_name", GT_EVENT_META_NAME, track->name);
        }
    }
}

/* Fills in the durations of all slices, those of frames and those of rows. */
static void fill_durations(perfetto_reader *r, gt_store *events, gt_store *frames)
{
    if (!frames) {
        gt_perfetto_fill_durations(events, GT_EVENT_DURATION, r->slices);
        return;
    }
    const int64_t *dur_ns = gt_slices_finish(r->slices, r->row_count);
    size_t count = gt_store_count(events), rows = 0, at = 0;
    double *dur_us = gt_alloc(count * sizeof *dur_us);
    double *frame_us = gt_alloc(r->frame_count * sizeof *frame_us);
    for (uint32_t slice = 0; slice < r->row_count; slice++) {
        double us = dur_ns[slice] == GT_SLICE_OPEN ? (double)NAN : gt_perfetto_us(dur_ns[slice]);
        if (at < r->frame_count && r->frame_rows[at] == slice)
            frame_us[at++] = us;
        else
            dur_us[rows++] = us;
    }
    while (rows < count) dur_us[rows++] = (double)NAN; /* names of tracks */
    gt_store_fill_times(events, GT_EVENT_DURATION, dur_us);
    gt_store_fill_times(frames, GT_EVENT_DURATION, frame_us);
    gt_free_all(dur_us, frame_us);
}

bool gt_kineto_read_perfetto(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                             gt_pytorch_stores *stores, gt_error *error)
{
    gt_read_options with_facts = *options;
    with_facts.facts = &stores->facts;
    perfetto_reader *r = gt_alloc_zero(1, sizeof *r);
    gt_perfetto_event event;
    r->strings = stores->strings;
    r->trace = gt_perfetto_new(stream, r->strings);
    choose_fields(keep, r->fields);
    r->records = gt_perfetto_records_new(r->trace, r->fields, GT_EVENT_COLUMNS);
    r->keep = keep;
    r->rows = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, r->strings);
    r->flow_events = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, r->strings);
    if (gt_kineto_has_frames(keep))
        r->frames = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, r->strings);
    if (gt_kineto_has_memory(keep))
        r->memory = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, r->strings);
    r->slices = gt_slices_new();
    if (!options->is_part) gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    while (gt_perfetto_next(r->trace, &event)) {
        if (event.type == GT_PERFETTO_END)
            gt_slices_end(r->slices, event.track, event.time_ns);
        else if (event.type != GT_PERFETTO_COUNTER)
            read_slice(r, &event);
    }
    if (!options->is_part) gt_progress_end();
    add_track_names(r);
    gt_store_append(stores->events, gt_store_writer_take(r->rows));
    gt_store_append(stores->flow_events, gt_store_writer_take(r->flow_events));
    if (r->frames) gt_store_append(stores->frames, gt_store_writer_take(r->frames));
    if (r->memory) gt_store_append(stores->memory, gt_store_writer_take(r->memory));
    fill_durations(r, stores->events, r->frames ? stores->frames : NULL);
    bool read = gt_perfetto_accept(r->trace, gt_store_records(stores->events), "events", &with_facts, error);
    gt_slices_free(r->slices);
    gt_store_writer_free(r->rows);
    gt_store_writer_free(r->flow_events);
    gt_store_writer_free(r->frames);
    gt_store_writer_free(r->memory);
    gt_free(r->frame_rows);
    gt_perfetto_records_free(r->records);
    gt_perfetto_free(r->trace);
    gt_free_all(r->kinds, r);
    return read;
}

/* ---- entry points ---- */

bool gt_kineto_read_stores(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                           gt_pytorch_stores *stores, gt_error *error)
{
    gt_read_options with_facts = *options;
    with_facts.facts = &stores->facts;
    gt_trace_format kind;
    if (!gt_detect(stream, &kind, error)) return false;
    if (kind == GT_FORMAT_NSYS_REPORT) return gt_detect_fail(stream, kind, error);
    if (kind == GT_FORMAT_PERFETTO) return gt_kineto_read_perfetto(stream, keep, options, stores, error);
    bool with_frames = gt_kineto_has_frames(keep), with_memory = gt_kineto_has_memory(keep);
    gt_field fields[GT_EVENT_COLUMNS];
    choose_fields(keep, fields);
    gt_record_format format = {.what = "event",
                               .fields = fields,
                               .columns = gt_event_columns,
                               .count = GT_EVENT_COLUMNS,
                               .check = with_frames   ? set_kind_of_frames
                                        : with_memory ? set_kind_of_memory
                                                      : set_kind,
                               .needed = with_frames   ? needed_of_frames
                                         : with_memory ? needed_of_memory
                                                       : NULL,
                               .place = with_frames && with_memory ? place_frames_and_memory
                                        : with_frames              ? place_frames
                                        : with_memory              ? place_memory
                                                                   : place_rows,
                               .derived = derive_kind,
                               .derived_field = GT_EVENT_KIND,
                               .context = &keep};
    if (!keep.every_event)
        format.unwanted = keep.python_functions || with_frames ? is_unused : is_unused_or_python;
    gt_record_stores into = {{stores->events, stores->flow_events}, PLACE_MORE};
    if (with_frames) into.items[into.count++] = stores->frames;
    if (with_memory) into.items[into.count++] = stores->memory;
    return gt_chrome_read_events(stream, &format, &into, GT_NOT_PYTORCH, &with_facts, error);
}

/* ---- entry points that use the index ---- */

/* Reads the trace, and keeps it if the reader had nothing to say about it: a report on a truncated trace
 * repeats the warning. */
static bool read_and_keep(gt_stream *stream, gt_index *index, gt_kineto_options keep,
                          const gt_read_options *options, gt_pytorch_stores *s, gt_run_info *run,
                          gt_error *error)
{
    gt_log_listener listener = {0};
    gt_read_options with_run = *options;
    if (gt_index_keeps(index) && gt_kineto_index_has_memory(keep))
        keep.memory = true; /* for the next command */
    *s = gt_pytorch_stores_new(gt_kineto_has_frames(keep), gt_kineto_has_memory(keep));
    *run = (gt_run_info){0};
    if (options->run || gt_index_keeps(index)) with_run.run = run;
    gt_log_listen(&listener);
    bool read = gt_kineto_read_stores(stream, keep, &with_run, s, error);
    gt_log_unlisten(&listener);
    if (read && gt_index_keeps(index) && !listener.count) gt_kineto_index_keep(index, keep, s, run);
    if (!read) gt_pytorch_stores_free(s);
    return read;
}

gt_pytorch_read *gt_kineto_read_stream(gt_stream *stream, gt_kineto_options keep,
                                       const gt_read_options *options, gt_error *error)
{
    gt_pytorch_stores s;
    gt_run_info run;
    gt_index *index =
        keep.every_event || keep.launched ? NULL : gt_index_open(options->index, gt_stream_path(stream));
    bool read = gt_kineto_index_find(index, keep, &s, &run);
    if (!read)
        read = gt_index_is_alone(index) ? gt_index_fail_alone(index, gt_kineto_index_missing(keep), error)
                                        : read_and_keep(stream, index, keep, options, &s, &run, error);
    gt_index_close(index);
    if (!read) return NULL;
    gt_stream_finish(stream);
    if (options->run) *options->run = run;
    return gt_pytorch_new(&s, gt_kineto_has_python_rows(keep));
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

/* ---- the profiler that wrote a Perfetto trace ---- */

static gt_perfetto_origin origin_of_category(gt_str category)
{
    if (gt_str_equals(category, "kernel_dispatch") || gt_str_equals(category, "memory_copy") ||
        gt_str_equals(category, "session"))
        return GT_ORIGIN_ROCPROF;
    for (int d = 0; d < GT_CALL_OTHER; d++)
        if (gt_str_equals(category, gt_call_domain_name((gt_call_domain)d))) return GT_ORIGIN_ROCPROF;
    gt_event_kind kind = kind_of_event(category, (gt_str){"X", 1});
    return kind == GT_KIND_OTHER || kind >= GT_KIND_NO_EVENT ? GT_ORIGIN_UNKNOWN : GT_ORIGIN_PYTORCH;
}

/* Reads up to the first event whose category only one profiler writes. */
static gt_perfetto_origin origin_in(gt_stream *stream)
{
    gt_interner *strings = gt_interner_new();
    gt_perfetto *trace = gt_perfetto_new(stream, strings);
    gt_perfetto_event event;
    gt_perfetto_origin origin = GT_ORIGIN_UNKNOWN;
    while (origin == GT_ORIGIN_UNKNOWN && gt_perfetto_next(trace, &event))
        if (event.category != GT_STR_NONE)
            origin = origin_of_category(gt_interner_get(strings, event.category));
    gt_perfetto_free(trace);
    gt_interner_free(strings);
    return origin;
}

bool gt_perfetto_find_origin(gt_stream *stream, gt_perfetto_origin *origin, gt_error *error)
{
    const uint8_t *text;
    size_t len;
    gt_error ignored;
    if (!gt_stream_peek(stream, &text, &len, error)) return false;
    gt_stream *part = gt_stream_memory(text, len, 0, error);
    if (!part) return false;
    *origin = origin_in(part);
    gt_stream_close(part);
    bool is_file = strcmp(gt_stream_path(stream), "standard input") != 0;
    gt_stream *whole =
        *origin == GT_ORIGIN_UNKNOWN && is_file ? gt_stream_open(gt_stream_path(stream), &ignored) : NULL;
    if (whole) *origin = origin_in(whole);
    gt_stream_close(whole);
    return true;
}
