/* What an export says about the capture: versions, messages, GPUs, processes. Tables that hold environment
 * variables or the output of the program are never read: they may be private. */
#include "input/nsys/reader.h"

enum { KNOWN_MAJOR = 3, MESSAGES_SHOWN = 5, MESSAGE_MAX = 400 };

/* ---- versions ---- */

static void check_version(const gt_nsys_reading *r, gt_str version)
{
    int major, minor;
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)(version.len < 31 ? version.len : 31), version.bytes);
    if (sscanf(text, "%9d.%9d", &major, &minor) == 2 && major > KNOWN_MAJOR)
        gt_warn("%s: schema %d.%d is newer than what this version knows (%d.x)", r->tables.sqlite.path, major,
                minor, KNOWN_MAJOR);
}

static bool read_versions(gt_nsys_reading *r)
{
    static const char *const tables[] = {"META_DATA_EXPORT", "EXPORT_META_DATA"};
    bool read = true;
    for (size_t i = 0; read && i < GT_LENGTH(tables); i++) {
        gt_nsys_rows rows;
        gt_nsys_begin(&rows, &r->tables, tables[i], GT_NSYS_COLUMNS("name", "value"), r->error);
        while (gt_nsys_next(&rows))
            if (gt_str_equals(gt_nsys_text(&rows, 0), "EXPORT_SCHEMA_VERSION"))
                check_version(r, gt_nsys_text(&rows, 1));
        read = gt_nsys_end(&rows);
    }
    return read;
}

/* ---- messages of nsys ---- */

/* One line of text that a terminal shows as it is. */
static void show_message(gt_nsys_reading *r, gt_str text)
{
    text = gt_utf8_repair(text, &r->strings.repaired);
    r->name.len = 0;
    const char *end = text.bytes + text.len;
    for (const char *place = text.bytes; place < end && r->name.len < MESSAGE_MAX;) {
        char bytes[4];
        uint32_t code = gt_utf8_next(&place, end);
        if (code < ' ' || (code >= 0x7F && code < 0xA0)) code = ' ';
        gt_buffer_add(&r->name, bytes, gt_utf8_put(bytes, code));
    }
    gt_warn("%s: nsys says: %s", r->tables.sqlite.path, gt_buffer_str(&r->name).bytes);
}

static bool read_messages(gt_nsys_reading *r)
{
    enum { SEVERITY_ERROR = 3 };
    gt_nsys_rows rows;
    size_t count = 0;
    gt_nsys_begin(&rows, &r->tables, "DIAGNOSTIC_EVENT", GT_NSYS_COLUMNS("severity", "text"), r->error);
    while (gt_nsys_next(&rows)) {
        if (gt_nsys_int_or(&rows, 0, 0) != SEVERITY_ERROR) continue;
        if (count++ < MESSAGES_SHOWN) show_message(r, gt_nsys_text(&rows, 1));
    }
    if (count > MESSAGES_SHOWN)
        gt_warn("%s: nsys has %zu more errors", r->tables.sqlite.path, count - MESSAGES_SHOWN);
    return gt_nsys_end(&rows);
}

/* ---- the capture ---- */

static bool read_duration(gt_nsys_reading *r)
{
    gt_nsys_rows rows;
    gt_nsys_begin(&rows, &r->tables, "ANALYSIS_DETAILS", GT_NSYS_COLUMNS("duration"), r->error);
    while (gt_nsys_next(&rows)) {
        int64_t duration = gt_nsys_int_or(&rows, 0, 0);
        r->duration = duration > r->duration ? duration : r->duration;
    }
    return gt_nsys_end(&rows);
}

static bool read_hostname(gt_nsys_reading *r)
{
    gt_nsys_rows rows;
    bool found = false;
    gt_nsys_begin(&rows, &r->tables, "TARGET_INFO_SYSTEM_ENV", GT_NSYS_COLUMNS("name", "value"), r->error);
    while (!found && gt_nsys_next(&rows)) {
        found = gt_str_equals(gt_nsys_text(&rows, 0), "Hostname") && gt_nsys_text(&rows, 1).len;
        if (found) r->run->hostname = gt_nsys_intern(&r->strings, gt_nsys_text(&rows, 1));
    }
    return gt_nsys_end(&rows);
}

/* ---- GPUs ---- */

static bool read_devices(gt_nsys_reading *r)
{
    gt_nsys_rows rows;
    gt_nsys_begin(&rows, &r->tables, "TARGET_INFO_CUDA_DEVICE", GT_NSYS_COLUMNS("gpuId", "cudaId", "pid"),
                  r->error);
    while (gt_nsys_next(&rows)) {
        int64_t gpu, cuda, pid;
        if (!gt_nsys_int(&rows, 0, &gpu) || !gt_nsys_int(&rows, 1, &cuda) || !gt_nsys_int(&rows, 2, &pid))
            continue;
        uint32_t *number = gt_map_put(&r->gpu_numbers, (uint64_t)pid, (uint64_t)cuda);
        if (*number != GT_MAP_NONE) continue;
        *number = (uint32_t)r->gpu_count;
        GT_PUSH(r->gpus, r->gpu_count, r->gpu_capacity, gpu);
    }
    return gt_nsys_end(&rows);
}

enum { ID, NAME, BUS, CHIP, CU_DEVICE, MEMORY, CLOCK, SMS, WARP, MAJOR, MINOR };
static const char *const gpu_columns[] = {
    "id",        "name",    "busLocation",    "chipName",     "cuDevice",    "totalMemory",
    "clockRate", "smCount", "threadsPerWarp", "computeMajor", "computeMinor"};

static void set_text(gt_nsys_reading *r, uint64_t *present, gt_store_cell *cells, int slot,
                     gt_nsys_rows *rows, int column)
{
    gt_str text = gt_nsys_text(rows, column);
    if (!text.len) return;
    cells[slot].text = gt_nsys_intern(&r->strings, text);
    *present |= UINT64_C(1) << slot;
}

/* "0000:1b:00.0" as the two numbers that the driver of AMD makes of it. */
static void set_location(uint64_t *present, gt_store_cell *cells, gt_str bus)
{
    unsigned domain, number, device, function;
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)(bus.len < 31 ? bus.len : 31), bus.bytes);
    if (sscanf(text, "%8x:%2x:%2x.%1x", &domain, &number, &device, &function) != 4) return;
    gt_nsys_put(present, cells, GT_AGENT_DOMAIN, domain);
    gt_nsys_put(present, cells, GT_AGENT_LOCATION_ID, (int64_t)(number << 8 | device << 3 | function));
}

/* Kernels refer to a GPU by its id if the export says which one a process uses, or else by the number that
 * CUDA gives it, which may be another one. */
static void add_gpu(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    gt_store_cell cells[GT_AGENT_COLUMNS];
    uint64_t present = 0;
    int64_t id = gt_nsys_int_or(rows, ID, 0), number = id, value, minor = gt_nsys_int_or(rows, MINOR, 0);
    if (!r->gpu_count) gt_nsys_int(rows, CU_DEVICE, &number);
    gt_nsys_put(&present, cells, GT_AGENT_ID, number);
    gt_nsys_put(&present, cells, GT_AGENT_PROCESS, 0);
    gt_nsys_put(&present, cells, GT_AGENT_NODE_ID, id);
    gt_nsys_put(&present, cells, GT_AGENT_LOGICAL_NODE_ID, number);
    gt_nsys_put(&present, cells, GT_AGENT_TYPE, gt_interner_add_cstr(r->run->strings, "GPU"));
    gt_nsys_put(&present, cells, GT_AGENT_VENDOR_NAME, gt_interner_add_cstr(r->run->strings, "NVIDIA"));
    set_text(r, &present, cells, GT_AGENT_NAME, rows, CHIP);
    set_text(r, &present, cells, GT_AGENT_PRODUCT_NAME, rows, NAME);
    set_location(&present, cells, gt_nsys_text(rows, BUS));
    if (gt_nsys_int(rows, MEMORY, &value)) gt_nsys_put(&present, cells, GT_AGENT_MEMORY, value);
    if (gt_nsys_int(rows, CLOCK, &value)) gt_nsys_put(&present, cells, GT_AGENT_CLOCK, value / 1000000);
    if (gt_nsys_int(rows, SMS, &value)) gt_nsys_put(&present, cells, GT_AGENT_CU_COUNT, value);
    if (gt_nsys_int(rows, WARP, &value)) gt_nsys_put(&present, cells, GT_AGENT_WAVE_SIZE, value);
    if (gt_nsys_int(rows, MAJOR, &value) && value >= 0 && value < 1000 && minor >= 0 && minor < 100)
        gt_nsys_put(&present, cells, GT_AGENT_VERSION, value * 10000 + minor * 100);
    gt_store_writer_add(r->writers->agents, present, cells);
}

static bool read_gpus(gt_nsys_reading *r)
{
    gt_nsys_rows rows;
    if (!r->writers->agents) return true;
    gt_nsys_begin(&rows, &r->tables, "TARGET_INFO_GPU", gpu_columns, GT_LENGTH(gpu_columns), r->error);
    while (gt_nsys_next(&rows)) add_gpu(r, &rows);
    return gt_nsys_end(&rows);
}

bool gt_nsys_read_info(gt_nsys_reading *r)
{
    return read_versions(r) && read_messages(r) && read_duration(r) && read_hostname(r) && read_devices(r) &&
           read_gpus(r);
}

/* ---- processes ---- */

/* The table has all processes of the machine: only the names of those with events are used. */
bool gt_nsys_name_processes(gt_nsys_reading *r)
{
    gt_nsys_rows rows;
    gt_nsys_begin(&rows, &r->tables, "PROCESSES", GT_NSYS_COLUMNS("globalPid", "name"), r->error);
    while (gt_nsys_next(&rows)) {
        int64_t global;
        if (!gt_nsys_int(&rows, 0, &global) || gt_nsys_is_null(&rows, 1)) continue;
        uint32_t number = gt_map_get(&r->process_numbers, (uint64_t)global >> 24, 0);
        if (number == GT_MAP_NONE || r->run->process[number].command != GT_STR_NONE) continue;
        r->run->process[number].command = gt_nsys_intern(&r->strings, gt_nsys_text(&rows, 1));
    }
    return gt_nsys_end(&rows);
}
