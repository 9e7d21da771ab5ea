/* PyTorch traces in an index (index/index.h): the stores that the reader filled, and what the trace says
 * about its run, as an image, and back. What is loaded is checked as far as the analyses rely on the reader.
 */
#include "input/chrome/kineto_parts.h"

static const char *index_key(gt_kineto_options keep)
{
    return keep.python_functions        ? "PyTorch events and python functions"
           : gt_kineto_has_frames(keep) ? "PyTorch events and stack frames"
                                        : "PyTorch events";
}

const char *gt_kineto_index_missing(gt_kineto_options keep)
{
    keep.frames = false;
    return index_key(keep);
}

/* By string id: whether the string is one JSON value, as the strings of JSON fields must be. */
static uint8_t *find_json(const gt_interner *strings)
{
    uint32_t count = gt_interner_count(strings);
    uint8_t *is_json = gt_alloc_zero(count, 1);
    is_json[GT_STR_NONE] = 1;
    for (uint32_t id = GT_STR_EMPTY + 1; id < count; id++) {
        gt_json json;
        gt_json_begin_str(&json, gt_interner_get(strings, id));
        is_json[id] = gt_json_skip(&json) && gt_json_finish(&json);
    }
    return is_json;
}

/* Also checks what the reader guarantees: kinds that exist, and JSON where the analyses parse it. */
static bool load_stores(const gt_image *image, bool with_frames, bool with_memory, gt_pytorch_stores *s)
{
    s->strings = gt_strings_load(image);
    if (!s->strings) return false;
    uint8_t *is_json = find_json(s->strings);
    const uint8_t *allowed[GT_EVENT_COLUMNS] = {NULL};
    for (size_t c = 0; c < GT_EVENT_COLUMNS; c++)
        if (gt_kineto_fields[c].kind == GT_FIELD_JSON) allowed[c] = is_json;
    s->events = gt_store_load(image, "events", gt_event_columns, GT_EVENT_COLUMNS, s->strings, allowed);
    s->flow_events = gt_store_load(image, "flows", gt_event_columns, GT_EVENT_COLUMNS, s->strings, allowed);
    if (with_frames)
        s->frames = gt_store_load(image, "frames", gt_event_columns, GT_EVENT_COLUMNS, s->strings, allowed);
    if (with_memory)
        s->memory = gt_store_load(image, "memory", gt_event_columns, GT_EVENT_COLUMNS, s->strings, allowed);
    gt_free(is_json);
    return s->events && s->flow_events && (s->frames || !with_frames) && (s->memory || !with_memory) &&
           gt_store_ints_between(s->events, GT_EVENT_KIND, GT_KIND_OTHER, GT_KIND_NO_EVENT) &&
           gt_store_ints_between(s->flow_events, GT_EVENT_KIND, GT_KIND_FLOW_START, GT_KIND_FLOW_END) &&
           gt_store_ints_between(s->events, GT_EVENT_INTEGRAL, 0, GT_INTEGRAL_START | GT_INTEGRAL_DURATION);
}

/* What the trace says about its run. */
enum { RUN_RANK, RUN_WORLD_SIZE, RUN_DEVICES, RUN_IS_WHOLE, RUN_NUMBERS };

static bool load_run(const gt_image *image, gt_run_info *run)
{
    const int64_t *numbers = gt_image_get_all(image, "run", "numbers", sizeof *numbers, RUN_NUMBERS);
    if (!numbers) return false;
    *run = (gt_run_info){.distributed = {numbers[RUN_RANK], numbers[RUN_WORLD_SIZE]},
                         .devices = (size_t)numbers[RUN_DEVICES],
                         .is_whole = numbers[RUN_IS_WHOLE] != 0};
    return true;
}

/* Devices are kept as rows of numbers. Only whole traces are kept. */
enum {
    DEVICE_ID,
    DEVICE_MAJOR,
    DEVICE_MINOR,
    DEVICE_MEMORY,
    DEVICE_UNITS,
    DEVICE_NAME,
    DEVICE_IS_DEDUCED,
    DEVICE_NUMBERS
};

static bool load_devices(const gt_image *image, const gt_interner *strings, gt_trace_facts *facts)
{
    size_t count;
    const int64_t(*rows)[DEVICE_NUMBERS] = gt_image_get(image, "run", "devices", sizeof *rows, &count);
    if (!rows) return false;
    for (size_t i = 0; i < count; i++) {
        int64_t name = rows[i][DEVICE_NAME];
        if (name < 0 || name >= gt_interner_count(strings)) return false;
        gt_device_properties device = {.id = rows[i][DEVICE_ID],
                                       .compute_major = rows[i][DEVICE_MAJOR],
                                       .compute_minor = rows[i][DEVICE_MINOR],
                                       .memory_bytes = rows[i][DEVICE_MEMORY],
                                       .multiprocessors = rows[i][DEVICE_UNITS],
                                       .name = (uint32_t)name,
                                       .is_deduced = rows[i][DEVICE_IS_DEDUCED] != 0};
        GT_PUSH(facts->devices, facts->device_count, facts->device_capacity, device);
    }
    return true;
}

static void save_devices(gt_image *image, const gt_trace_facts *facts)
{
    int64_t(*rows)[DEVICE_NUMBERS] = gt_alloc(facts->device_count * sizeof *rows);
    for (size_t i = 0; i < facts->device_count; i++) {
        const gt_device_properties *device = &facts->devices[i];
        rows[i][DEVICE_ID] = device->id;
        rows[i][DEVICE_MAJOR] = device->compute_major;
        rows[i][DEVICE_MINOR] = device->compute_minor;
        rows[i][DEVICE_MEMORY] = device->memory_bytes;
        rows[i][DEVICE_UNITS] = device->multiprocessors;
        rows[i][DEVICE_NAME] = device->name;
        rows[i][DEVICE_IS_DEDUCED] = device->is_deduced;
    }
    gt_image_give(image, "run", "devices", rows, facts->device_count * sizeof *rows);
}

static bool load_host(const gt_image *image, const gt_interner *strings, gt_trace_facts *facts)
{
    const int64_t *host = gt_image_get_all(image, "run", "host", sizeof *host, 1);
    if (!host || *host < 0 || *host >= gt_interner_count(strings)) return false;
    facts->host = (uint32_t)*host;
    return true;
}

bool gt_kineto_load(const gt_image *image, bool with_frames, bool with_memory, gt_pytorch_stores *s,
                    gt_run_info *run)
{
    *s = (gt_pytorch_stores){0};
    bool loaded = load_run(image, run) && load_stores(image, with_frames, with_memory, s) &&
                  load_devices(image, s->strings, &s->facts) && load_host(image, s->strings, &s->facts);
    if (!loaded) gt_pytorch_stores_free(s);
    return loaded;
}

bool gt_kineto_index_find(const gt_index *index, gt_kineto_options keep, gt_pytorch_stores *s,
                          gt_run_info *run)
{
    gt_image image = {0};
    gt_kineto_options with_frames = {.frames = true};
    bool found = gt_index_find(index, index_key(keep), &image);
    if (!found && !gt_kineto_has_python_rows(keep))
        found = gt_index_find(index, index_key(with_frames), &image);
    if (!found) return false;
    bool loaded = gt_kineto_load(&image, gt_kineto_has_frames(keep),
                                 keep.memory && gt_kineto_index_has_memory(keep), s, run);
    gt_image_free(&image);
    if (loaded)
        gt_index_lend(index, s->strings);
    else
        gt_index_reject(index);
    return loaded;
}

void gt_kineto_index_keep(gt_index *index, gt_kineto_options keep, const gt_pytorch_stores *s,
                          const gt_run_info *run)
{
    gt_image image = {0};
    int64_t numbers[RUN_NUMBERS] = {[RUN_RANK] = run->distributed.rank,
                                    [RUN_WORLD_SIZE] = run->distributed.world_size,
                                    [RUN_DEVICES] = (int64_t)run->devices,
                                    [RUN_IS_WHOLE] = run->is_whole};
    gt_image_add_numbers(&image, "run", "numbers", numbers, RUN_NUMBERS);
    gt_strings_save(s->strings, &image);
    gt_store_save(s->events, &image, "events");
    gt_store_save(s->flow_events, &image, "flows");
    if (s->frames) gt_store_save(s->frames, &image, "frames");
    if (s->memory) gt_store_save(s->memory, &image, "memory");
    save_devices(&image, &s->facts);
    gt_image_add_numbers(&image, "run", "host", &(int64_t){s->facts.host}, 1);
    gt_index_keep(index, GT_INDEX_PYTORCH, index_key(keep), &image);
    gt_image_free(&image);
}
