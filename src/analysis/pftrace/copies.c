/* memory_copy_by_copy_bytes: copies by size and direction. The name of the event says the direction. */
#include "analysis/pftrace/sheets.h"

#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdio.h>
#include <string.h>

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

gt_table *gt_pftrace_memory_copies(const gt_chrome *trace, bool only_numbers)
{
    static const gt_col keys[] = {GT_COL_COPY_BYTES, GT_COL_DIRECTION};
    static const gt_aggregate counted[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT}};
    gt_interner *strings = trace->strings;
    gt_table *copies = gt_table_new(GT_SHEET_COPIES, strings);
    gt_table_add_column(copies, GT_COL_COPY_BYTES, GT_TYPE_INT);
    gt_table_add_column(copies, GT_COL_DIRECTION, GT_TYPE_STRING);
    int64_t *bytes = gt_chrome_ints(trace, GT_CHROME_COPY_BYTES);
    uint32_t *categories = gt_chrome_strings(trace, GT_CHROME_CATEGORY),
             *names = gt_chrome_strings(trace, GT_CHROME_NAME);
    uint32_t *sources = gt_chrome_strings(trace, GT_CHROME_SOURCE);
    uint32_t *destinations = gt_chrome_strings(trace, GT_CHROME_DESTINATION);
    for (size_t i = 0; i < trace->count; i++) {
        if (bytes[i] == GT_CHROME_NONE || !is_copy(gt_interner_get(strings, categories[i]))) continue;
        size_t row = gt_table_add_row(copies);
        gt_table_set_int(copies, 0, row, bytes[i]);
        gt_table_set_string(copies, 1, row,
                            direction_of(strings, gt_interner_get(strings, names[i]),
                                         gt_interner_get(strings, sources[i]),
                                         gt_interner_get(strings, destinations[i]), only_numbers));
    }
    gt_free(bytes);
    gt_free(categories);
    gt_free(names);
    gt_free(sources);
    gt_free(destinations);
    gt_table *table = gt_table_group(copies, keys, GT_LENGTH(keys), counted, GT_LENGTH(counted),
                                     (gt_group_options){.sorted = true});
    gt_table_rename(table, GT_SHEET_MEMORY_COPY_BY_COPY_BYTES);
    gt_table_free(copies);
    return table;
}
