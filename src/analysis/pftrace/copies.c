/* memory_copy_by_copy_bytes: copies by size and direction. The name of the event says the direction.
 *
 * PyTorch traces can have the same format, and other names for the same things: category gpu_memcpy, names
 * like "Memcpy HtoD (Pinned -> Device)", args.bytes and args.device. Their copies are counted too, also those
 * whose size is not known. */
#include "analysis/pftrace/sheets.h"

#include "schema/columns.h"
#include "trace/copy_names.h"

/* Parts of event names, in any case, and how the direction is shown: "h2d (GPU 3)", "d2d (GPU 1 -> GPU 3)".
 */
static const struct {
    const char *part, *prefix;
    bool shows_source, shows_destination;
} directions[] = {
    {"MEMORY_COPY_HOST_TO_DEVICE", "h2d", false, true},
    {"MEMORY_COPY_DEVICE_TO_HOST", "d2h", true, false},
    {"MEMORY_COPY_DEVICE_TO_DEVICE", "d2d", true, true},
};

static gt_str strip(gt_str text)
{
    static const char blanks[] = " \t\n\r\f\v";
    while (text.len && memchr(blanks, text.bytes[0], sizeof blanks - 1))
        text = (gt_str){text.bytes + 1, text.len - 1};
    while (text.len && memchr(blanks, text.bytes[text.len - 1], sizeof blanks - 1)) text.len--;
    return text;
}

static bool is_copy(gt_str category)
{
    return gt_str_equals_nocase(strip(category), "memory_copy");
}

/* In traces of PyTorch 1.8 to 1.11, and of later versions. */
static bool is_pytorch_copy(gt_str category)
{
    return gt_str_equals(category, "Memcpy") || gt_str_equals(category, "gpu_memcpy");
}

static void print_agent(char *out, size_t size, gt_str json, bool only_numbers)
{
    int64_t number = gt_chrome_agent_number(json, only_numbers);
    if (number < 0)
        snprintf(out, size, "?");
    else
        snprintf(out, size, "%lld", (long long)number);
}

static uint32_t direction_of(gt_interner *strings, gt_str name, gt_str source, gt_str destination,
                             bool only_numbers)
{
    char from[24], to[24], text[96];
    print_agent(from, sizeof from, source, only_numbers);
    print_agent(to, sizeof to, destination, only_numbers);
    for (size_t i = 0; i < GT_LENGTH(directions); i++) {
        if (!gt_str_contains_nocase(name, directions[i].part)) continue;
        bool both = directions[i].shows_source && directions[i].shows_destination;
        snprintf(text, sizeof text, "%s (GPU %s%s%s)", directions[i].prefix,
                 directions[i].shows_source ? from : to, both ? " -> GPU " : "", both ? to : "");
        return gt_interner_add_cstr(strings, text);
    }
    return gt_interner_add_cstr(strings, "other");
}

/* "h2d (GPU 0)", as above; the device is that on which PyTorch recorded the copy. */
static uint32_t direction_of_pytorch(gt_interner *strings, gt_str name, gt_str device)
{
    gt_copy_name read = gt_copy_name_read(name);
    char gpu[24];
    print_agent(gpu, sizeof gpu, device, false);
    char *text = NULL;
    if (strcmp(read.direction, "HtoD") == 0)
        text = gt_format("h2d (GPU %s)", gpu);
    else if (strcmp(read.direction, "DtoH") == 0)
        text = gt_format("d2h (GPU %s)", gpu);
    else if (strcmp(read.direction, "DtoD") == 0)
        text = gt_format("d2d (GPU %s -> GPU %s)", gpu, gpu);
    uint32_t id = gt_interner_add_cstr(strings, text ? text : "other");
    gt_free(text);
    return id;
}

gt_table *gt_pftrace_memory_copies(const gt_chrome *trace, bool as_tracelens)
{
    static const gt_col keys[] = {GT_COL_COPY_BYTES, GT_COL_DIRECTION};
    static const gt_aggregate counted[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT}};
    gt_interner *strings = trace->strings;
    gt_table *copies = gt_table_new(GT_SHEET_COPIES, strings);
    gt_table_add_column(copies, GT_COL_COPY_BYTES, GT_TYPE_INT);
    gt_table_add_column(copies, GT_COL_DIRECTION, GT_TYPE_STRING);
    int64_t *bytes = gt_chrome_ints(trace, GT_CHROME_COPY_BYTES),
            *pytorch_bytes = gt_chrome_ints(trace, GT_CHROME_BYTES);
    uint32_t *categories = gt_chrome_strings(trace, GT_CHROME_CATEGORY),
             *names = gt_chrome_strings(trace, GT_CHROME_NAME);
    uint32_t *sources = gt_chrome_strings(trace, GT_CHROME_SOURCE);
    uint32_t *destinations = gt_chrome_strings(trace, GT_CHROME_DESTINATION),
             *devices = gt_chrome_strings(trace, GT_CHROME_PYTORCH_DEVICE);
    for (size_t i = 0; i < trace->count; i++) {
        gt_str category = gt_interner_get(strings, categories[i]), name = gt_interner_get(strings, names[i]);
        uint32_t direction = GT_STR_NONE;
        if (bytes[i] != GT_CHROME_NONE && is_copy(category))
            direction = direction_of(strings, name, gt_interner_get(strings, sources[i]),
                                     gt_interner_get(strings, destinations[i]), as_tracelens);
        else if (!as_tracelens && is_pytorch_copy(category))
            direction = direction_of_pytorch(strings, name, gt_interner_get(strings, devices[i]));
        if (direction == GT_STR_NONE) continue;
        int64_t size = is_copy(category) ? bytes[i] : pytorch_bytes[i];
        size_t row = gt_table_add_row(copies);
        if (size != GT_CHROME_NONE) gt_table_set_int(copies, 0, row, size);
        gt_table_set_string(copies, 1, row, direction);
    }
    gt_free_all(bytes, pytorch_bytes, devices, categories, names, sources, destinations);
    gt_table *table = gt_table_group(copies, keys, GT_LENGTH(keys), counted, GT_LENGTH(counted),
                                     (gt_group_options){.sorted = true, .keep_nulls = true});
    gt_table_rename(table, GT_SHEET_MEMORY_COPY_BY_COPY_BYTES);
    gt_table_free(copies);
    return table;
}

bool gt_pftrace_has_pytorch_copies(const gt_chrome *trace)
{
    uint32_t *categories = gt_chrome_strings(trace, GT_CHROME_CATEGORY);
    bool found = false;
    for (size_t i = 0; i < trace->count && !found; i++)
        found = is_pytorch_copy(gt_interner_get(trace->strings, categories[i]));
    gt_free(categories);
    return found;
}
