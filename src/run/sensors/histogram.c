/* A counter belongs to the first class that has a pattern in its name. */
#include "run/sensors/histogram.h"
#include "base/length.h"
#include "base/log.h"
#include "input/sheets/csv_table.h"
#include "output/file.h"
#include "os/paths.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *patterns[3];
} classes[GT_HISTOGRAM_CLASSES] = {
    {"VALU", {"sq_insts_valu", "sq_active_inst_valu"}},
    {"SALU", {"sq_insts_salu"}},
    {"VMEM", {"sq_insts_vmem"}},
    {"SMEM", {"sq_insts_smem"}},
    {"WAITCNT", {"sq_wait_inst"}},
    {"BRANCH", {"sq_insts_branch"}},
};

/* The class of a counter; NULL for none. Names are compared in small letters, without blanks, '-' as '_'. */
static const char *class_of(const char *counter)
{
    char name[256];
    size_t len = 0;
    for (; *counter && len < sizeof name - 1; counter++)
        if (!isspace((unsigned char)*counter))
            name[len++] = *counter == '-' ? '_' : (char)tolower((unsigned char)*counter);
    name[len] = 0;
    for (size_t c = 0; c < GT_LENGTH(classes); c++)
        for (size_t p = 0; p < GT_LENGTH(classes[c].patterns) && classes[c].patterns[p]; p++)
            if (strstr(name, classes[c].patterns[p])) return classes[c].name;
    return NULL;
}

/* int(text), else int(float(text)), else 0. */
static __int128 value_of(const char *text)
{
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    if (end != text && !*end && errno == 0) return whole;
    double real = strtod(text, &end);
    while (isspace((unsigned char)*end)) end++;
    return end == text || *end || !isfinite(real) || fabs(real) > 1e37 ? 0 : (__int128)real;
}

static void add_value(gt_histogram *histogram, const char *name, const char *text)
{
    size_t i = 0;
    while (i < histogram->count && strcmp(histogram->names[i], name) != 0) i++;
    if (i == histogram->count) {
        histogram->names[i] = name;
        histogram->sums[i] = 0;
        histogram->count++;
    }
    __int128 sum;
    if (!__builtin_add_overflow(histogram->sums[i], value_of(text), &sum)) histogram->sums[i] = sum;
}

static const char *cell(const gt_table *table, size_t column, size_t row)
{
    const gt_column *c = &table->columns[column];
    return c->type == GT_TYPE_STRING ? gt_interner_get(table->strings, c->texts[row]).bytes : "";
}

static void add_long(gt_histogram *histogram, const gt_table *table, size_t name, size_t value)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const char *class = class_of(cell(table, name, row));
        if (class) add_value(histogram, class, cell(table, value, row));
    }
}

void gt_histogram_add(gt_histogram *histogram, const gt_table *table)
{
    size_t name = gt_table_find(table, GT_COL_COUNTER_NAME),
           value = gt_table_find(table, GT_COL_COUNTER_VALUE);
    if (name != SIZE_MAX && value != SIZE_MAX) {
        add_long(histogram, table, name, value);
        return;
    }
    for (size_t row = 0; row < table->row_count; row++)
        for (size_t c = 0; c < table->column_count; c++) {
            const char *class = class_of(table->columns[c].name);
            if (class) add_value(histogram, class, cell(table, c, row));
        }
}

static void add_integer(gt_buffer *text, __int128 value)
{
    char digits[48];
    size_t at = sizeof digits;
    bool negative = value < 0;
    unsigned __int128 rest = negative ? -(unsigned __int128)value : (unsigned __int128)value;
    do digits[--at] = (char)('0' + (int)(rest % 10));
    while (rest /= 10);
    if (negative) digits[--at] = '-';
    gt_buffer_add(text, digits + at, sizeof digits - at);
}

void gt_histogram_print(const gt_histogram *histogram, gt_buffer *text)
{
    gt_buffer_add_cstr(text, "{\n");
    for (size_t i = 0; i < histogram->count; i++) {
        gt_buffer_add_cstr(text, i ? ",\n\"" : "\"");
        gt_buffer_add_cstr(text, histogram->names[i]);
        gt_buffer_add_cstr(text, "\": ");
        add_integer(text, histogram->sums[i]);
    }
    gt_buffer_add_cstr(text, "\n}");
}

static void add_file(gt_histogram *histogram, const char *path)
{
    gt_error error;
    if (access(path, F_OK) != 0) return;
    gt_interner *strings = gt_interner_new();
    gt_table *table = gt_csv_table_read_as(path, GT_SHEET_COUNTERS, GT_READ_STRINGS, strings, &error);
    if (table)
        gt_histogram_add(histogram, table);
    else
        gt_warn("%s", error.text);
    if (table) gt_table_free(table);
    gt_interner_free(strings);
}

void gt_histogram_write(const char *folder, gt_arg_list *written, gt_arena *arena)
{
    gt_histogram histogram = {0};
    const char *path = gt_path_join(arena, folder, "instruction_histogram.json");
    add_file(&histogram, gt_path_join(arena, folder, "rocprofv3_output_counter_collection.csv"));
    add_file(&histogram, gt_path_join(arena, folder, "rocprofv3_output_domain_stats.csv"));
    if (!histogram.count) {
        unlink(path); /* that of an earlier run */
        return;
    }
    gt_buffer text = {0};
    gt_error error;
    gt_histogram_print(&histogram, &text);
    gt_output *output = gt_output_new();
    if (gt_output_whole_file(output, path, gt_buffer_str(&text), &error) && gt_output_commit(output, &error))
        gt_arg_list_add(arena, written, path);
    else
        gt_warn("%s", error.text);
    gt_output_free(output);
    gt_buffer_free(&text);
}
