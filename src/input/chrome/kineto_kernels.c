/* Readers that keep only kernels of a PyTorch trace: the collectives of one rank, and the shortest and
 * longest instance per kernel name.
 *
 * Events of other categories are skipped without parsing their members, and strings that the kept kernels do
 * not use are never interned. So the collectives of a thousand ranks fit into memory. */
#include "input/chrome/kineto.h"
#include "input/chrome/chrome.h"

/* ---- collectives ---- */

/* The columns are those of all events; columns that are not listed here stay empty and take no memory. */
static const gt_field collective_fields[GT_EVENT_COLUMNS] = {
    [GT_EVENT_CATEGORY] = {"cat", GT_FIELD_STRING, true},
    [GT_EVENT_NAME] = {"name", GT_FIELD_VIEW, false},
    [GT_EVENT_START] = {"ts", GT_FIELD_TIME, false},
    [GT_EVENT_DURATION] = {"dur", GT_FIELD_TIME, false},
    [GT_EVENT_EXTERNAL_ID] = {"args/External id", GT_FIELD_INT, false},
    [GT_EVENT_CORRELATION] = {"args/correlation", GT_FIELD_INT, false},
    [GT_EVENT_STREAM] = {"args/stream", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_NAME] = {"args/Process Group Name", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_RANKS] = {"args/Process Group Ranks", GT_FIELD_JSON, false},
    [GT_EVENT_GROUP_SIZE] = {"args/Group size", GT_FIELD_INT, false},
    [GT_EVENT_COLLECTIVE] = {"args/Collective name", GT_FIELD_STRING, false},
    [GT_EVENT_DTYPE] = {"args/dtype", GT_FIELD_STRING, false},
    [GT_EVENT_IN_ELEMENTS] = {"args/In msg nelems", GT_FIELD_INT, false},
    [GT_EVENT_OUT_ELEMENTS] = {"args/Out msg nelems", GT_FIELD_INT, false},
    [GT_EVENT_IN_SPLIT] = {"args/In split size", GT_FIELD_JSON, false},
    [GT_EVENT_OUT_SPLIT] = {"args/Out split size", GT_FIELD_JSON, false},
};

static const double LARGEST_EXACT = 9007199254740992.0; /* 2^53: every smaller integer is a double */
static const uint64_t links = UINT64_C(1) << GT_EVENT_EXTERNAL_ID | UINT64_C(1) << GT_EVENT_CORRELATION;
static const uint64_t times = UINT64_C(1) << GT_EVENT_START | UINT64_C(1) << GT_EVENT_DURATION;

static bool is_not_kernel(const gt_record *record, gt_record_reader *reader)
{
    if (!(record->present >> GT_EVENT_CATEGORY & 1)) return true;
    gt_str category =
        gt_interner_get(gt_record_strings(reader), (uint32_t)record->cells[GT_EVENT_CATEGORY].text);
    return category.len != 6 || strcasecmp(category.bytes, "kernel") != 0; /* "Kernel": PyTorch 1.8 to 1.11 */
}

/* The kernel's name, valid until the next record is read. */
static gt_str name_of(const gt_record *record, gt_record_reader *reader)
{
    gt_str raw = gt_record_view(record, GT_EVENT_NAME);
    if (!memchr(raw.bytes, '\\', raw.len)) return raw;
    return gt_interner_get(gt_record_strings(reader), gt_record_decode(reader, raw));
}

/* Whether a time is written as an integer that a double represents exactly. */
static bool is_exact_integer(const gt_record *record, size_t field)
{
    return record->integral >> field & 1 && fabs(record->cells[field].time) <= LARGEST_EXACT;
}

static const char *check_times(gt_record *record)
{
    if ((record->present & times) != times) return "a collective has no 'ts' or no 'dur'";
    if (!isfinite(record->cells[GT_EVENT_START].time + record->cells[GT_EVENT_DURATION].time))
        return "a collective has a time out of range";
    record->cells[GT_EVENT_INTEGRAL].integer =
        (is_exact_integer(record, GT_EVENT_START) ? GT_INTEGRAL_START : 0) |
        (is_exact_integer(record, GT_EVENT_DURATION) ? GT_INTEGRAL_DURATION : 0);
    record->present |= UINT64_C(1) << GT_EVENT_INTEGRAL;
    return NULL;
}

/* A small cache, in the reader's scratch memory, because regular expressions are slow and a trace has few
 * kernel names: the decision for a name, by its length, its ends and a hash. */
typedef struct known_name {
    uint64_t hash;
    uint32_t len;
    bool known, communicates;
} known_name;

enum { KNOWN_NAMES = 64 };
_Static_assert(KNOWN_NAMES * sizeof(known_name) <= GT_RECORD_SCRATCH, "the known names must fit");

static uint64_t hash_of(gt_str name)
{
    uint64_t hash = gt_map_seed();
    for (size_t i = 0; i < name.len; i++) {
        hash = (hash ^ (uint8_t)name.bytes[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool is_collective(gt_str name, gt_record_reader *reader)
{
    const gt_comm_kernels *comm = gt_record_context(reader);
    if (!comm) return gt_is_communication(name);
    uint64_t hash = hash_of(name);
    known_name *known = (known_name *)gt_record_scratch(reader) + hash % KNOWN_NAMES;
    if (!known->known || known->hash != hash || known->len != (uint32_t)name.len)
        *known = (known_name){hash, (uint32_t)name.len, true, gt_comm_family(comm, name) != NULL};
    return known->communicates;
}

static const char *check_collective(gt_record *record, gt_record_reader *reader)
{
    gt_str name = name_of(record, reader);
    record->dropped = !((record->present | record->mistyped) & links) || !is_collective(name, reader);
    if (record->dropped) return NULL;
    const char *problem = check_times(record);
    if (problem) return problem;
    uint64_t bit = UINT64_C(1);
    if (!(record->present >> GT_EVENT_COLLECTIVE & 1)) {
        const char *collective = gt_collective_of_kernel(name);
        if (collective) {
            record->cells[GT_EVENT_COLLECTIVE].text =
                gt_interner_add_cstr(gt_record_strings(reader), collective);
            record->present |= bit << GT_EVENT_COLLECTIVE;
        }
    }
    record->present &= ~(links | bit << GT_EVENT_CATEGORY | bit << GT_EVENT_NAME);
    return NULL;
}

static const gt_record_format collective_format = {"event",
                                                   collective_fields,
                                                   gt_event_columns,
                                                   GT_EVENT_COLUMNS,
                                                   check_collective,
                                                   is_not_kernel,
                                                   NULL,
                                                   NULL,
                                                   NULL};

typedef struct rank_reader {
    gt_rank_events *events;
    const gt_comm_kernels *comm;
    gt_read_options options;
} rank_reader;

static bool read_collectives(void *context, gt_json *json)
{
    const rank_reader *r = context;
    gt_record_format format = collective_format;
    format.context = r->comm;
    return gt_records_read(json, &format, r->events->store, &r->options);
}

static bool read_rank_member(void *context, gt_json *json, gt_str key)
{
    const rank_reader *r = context;
    if (gt_str_equals(key, "deviceProperties")) return gt_chrome_count_devices(json, &r->events->devices);
    return gt_str_equals(key, "distributedInfo")
               ? gt_chrome_read_distributed(json, &r->events->distributed, NULL)
               : gt_chrome_read_base_time(json, key, r->events->store);
}

gt_rank_events *gt_kineto_read_collectives(gt_stream *stream, const gt_comm_kernels *comm, unsigned threads,
                                           gt_error *error)
{
    gt_rank_events *events = gt_alloc_zero(1, sizeof *events);
    events->strings = gt_interner_new();
    events->store = gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, events->strings);
    events->distributed = (gt_distributed_info){GT_EVENT_NONE, GT_EVENT_NONE};
    bool found = false;
    rank_reader r = {events, comm, {.threads = threads, .strict = true}};
    gt_json json;
    gt_json_begin(&json, stream, 0);
    bool read = gt_chrome_visit(&json, &(gt_chrome_visitor){&r, read_collectives, read_rank_member}, &found);
    events->events = gt_store_records(events->store);
    if (gt_chrome_accept(&json, read, found, events->events, GT_NOT_PYTORCH, &r.options, error))
        return events;
    gt_rank_events_free(events);
    return NULL;
}

void gt_rank_events_free(gt_rank_events *events)
{
    if (!events) return;
    gt_store_free(events->store);
    gt_interner_free(events->strings);
    gt_free(events);
}

/* Whether the trace has the member before its events; then the reader is at its value. */
static bool find_before_events(gt_json *json, gt_stream *stream, const char *name)
{
    gt_str key;
    gt_json_begin(json, stream, 0);
    if (gt_json_peek(json) != GT_JSON_OBJECT || !gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key) && !gt_str_equals(key, "traceEvents")) {
        if (gt_str_equals(key, name)) return true;
        if (!gt_json_skip(json)) return false;
    }
    return false;
}

size_t gt_kineto_count_devices(gt_stream *stream)
{
    gt_json json;
    size_t devices = 0;
    bool found =
        find_before_events(&json, stream, "deviceProperties") && gt_chrome_count_devices(&json, &devices);
    return found ? devices : 0;
}

gt_distributed_info gt_kineto_find_distributed(gt_stream *stream)
{
    gt_json json;
    gt_distributed_info none = {GT_EVENT_NONE, GT_EVENT_NONE}, info = none;
    bool found = find_before_events(&json, stream, "distributedInfo") &&
                 gt_chrome_read_distributed(&json, &info, NULL);
    return found ? info : none;
}

/* ---- the shortest and longest instance per kernel ---- */

enum { CATEGORY, NAME, START, DURATION, IS_WHOLE, FIELDS };

static const gt_field kernel_fields[FIELDS] = {
    [CATEGORY] = {"cat", GT_FIELD_STRING, true}, [NAME] = {"name", GT_FIELD_STRING, false},
    [START] = {"ts", GT_FIELD_TIME, false},      [DURATION] = {"dur", GT_FIELD_TIME, false},
    [IS_WHOLE] = {NULL, GT_FIELD_INT, false},
};

static const gt_store_column kernel_columns[FIELDS] = {
    [CATEGORY] = {GT_STORE_STRING, 0}, [NAME] = {GT_STORE_STRING, 0},  [START] = {GT_STORE_TIME, 0},
    [DURATION] = {GT_STORE_TIME, 0},   [IS_WHOLE] = {GT_STORE_INT, 0},
};

static const uint64_t needed = UINT64_C(1) << NAME | UINT64_C(1) << START | UINT64_C(1) << DURATION;

static bool is_other_category(const gt_record *record, gt_record_reader *reader)
{
    if (!(record->present >> CATEGORY & 1)) return true;
    gt_str category = gt_interner_get(gt_record_strings(reader), (uint32_t)record->cells[CATEGORY].text);
    return !gt_str_equals(category, "kernel");
}

static const char *check_kernel(gt_record *record, gt_record_reader *reader)
{
    (void)reader;
    record->dropped = (record->present & needed) != needed ||
                      !isfinite(record->cells[START].time + record->cells[DURATION].time);
    record->cells[IS_WHOLE].integer = record->integral >> DURATION & 1;
    record->present = needed | UINT64_C(1) << IS_WHOLE;
    return NULL;
}

static const gt_record_format kernel_format = {
    "event", kernel_fields, kernel_columns, FIELDS, check_kernel, is_other_category, NULL, NULL, NULL};

static void update(gt_kernel_extremes *extremes, const gt_kernel_instance *instance, bool first)
{
    if (first || instance->dur_us < extremes->shortest.dur_us) extremes->shortest = *instance;
    if (first || instance->dur_us >= extremes->longest.dur_us) extremes->longest = *instance;
}

static void find_extremes(gt_kernel_list *list, const gt_store *store)
{
    size_t names = gt_interner_count(list->strings), row = 0;
    uint32_t *of_name =
        gt_alloc_zero(names, sizeof *of_name); /* by string id: 1 + index in the list, 0: not seen yet */
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
        update(&list->items[*of - 1], &instance, first);
    }
    gt_store_scan_free(scan);
    gt_free_all(places, of_name);
}

gt_kernel_list *gt_kineto_read_kernels_stream(gt_stream *stream, const gt_read_options *options,
                                              gt_error *error)
{
    gt_kernel_list *list = gt_alloc_zero(1, sizeof *list);
    list->strings = gt_interner_new();
    gt_store *store = gt_store_new(kernel_columns, FIELDS, list->strings);
    bool read = gt_chrome_read_events(stream, &kernel_format, &(gt_record_stores){{store}, 1}, GT_NOT_PYTORCH,
                                      options, error);
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
    gt_free_all(list->items, list);
}

static bool matches(gt_str name, gt_str wanted, bool exact)
{
    return (exact ? name.len == wanted.len : name.len >= wanted.len) &&
           memcmp(name.bytes, wanted.bytes, wanted.len) == 0;
}

bool gt_kernel_list_find(const gt_kernel_list *list, gt_str name, bool exact, gt_kernel_instance *shortest,
                         gt_kernel_instance *longest)
{
    bool found = false;
    for (size_t i = 0; i < list->count; i++) {
        const gt_kernel_instance *low = &list->items[i].shortest, *high = &list->items[i].longest;
        if (!matches(gt_interner_get(list->strings, list->items[i].name), name, exact)) continue;
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
