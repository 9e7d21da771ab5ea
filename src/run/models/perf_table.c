/* perf.csv: one row per run of a model, with the columns of madengine; and the files next to it.
 *
 *     perf_entry.json, .csv              the last model
 *     perf_super.json, .csv              all runs, with "configs" and "multi_results" as objects
 *     perf_entry_super.json, .csv        the last model, likewise
 *
 * Runs in one folder may end at the same time, so a table is locked while it changes. The lock is on the file
 * itself. A row with the columns of the table is appended with one write; otherwise the table is written anew
 * under another name, which then replaces it: whoever waited for the lock notices and locks the new file. */
#include "run/models/models.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"

#include <sys/file.h>

enum { TABLE_MAX_BYTES = 1 << 30 };

const char *const gt_perf_columns[] = {
    "model",
    "n_gpus",
    "nnodes",
    "gpus_per_node",
    "training_precision",
    "pipeline",
    "args",
    "tags",
    "docker_file",
    "base_docker",
    "docker_sha",
    "docker_image",
    "git_commit",
    "machine_name",
    "deployment_type",
    "launcher",
    "gpu_architecture",
    "performance",
    "metric",
    "relative_change",
    "status",
    "build_duration",
    "test_duration",
    "dataname",
    "data_provider_type",
    "data_size",
    "data_download_duration",
    "build_number",
    "additional_docker_run_options",
};
const size_t gt_perf_column_count = GT_LENGTH(gt_perf_columns);

static const gt_value no_list = {.type = GT_VALUE_LIST}, no_dict = {.type = GT_VALUE_DICT};

/* ---- CSV ---- */

/* The next field: quotes are removed. Returns the text after it and its separator; *ends_row if that is a
 * line break or the end. */
static const char *next_field(gt_arena *arena, const char *at, const char *end, gt_value *field,
                              bool *ends_row)
{
    gt_buffer text = {0};
    bool quoted = at < end && *at == '"';
    if (quoted) at++;
    while (at < end) {
        if (quoted && *at == '"') {
            if (at + 1 < end && at[1] == '"') {
                at++;
            } else {
                quoted = false;
                at++;
                continue;
            }
        } else if (!quoted && (*at == ',' || *at == '\n' || *at == '\r')) {
            break;
        }
        gt_buffer_add(&text, at++, 1);
    }
    *ends_row = at == end || *at != ',';
    *field = (gt_value){.type = GT_VALUE_STRING,
                        .text = {gt_arena_bytes(arena, text.bytes ? text.bytes : "", text.len), text.len}};
    gt_buffer_free(&text);
    if (at < end && *at == '\r' && at + 1 < end && at[1] == '\n') at++;
    return at < end ? at + 1 : end;
}

typedef struct field_list {
    gt_value *items;
    size_t count, capacity;
} field_list;

static const char *next_row(gt_arena *arena, const char *at, const char *end, field_list *fields)
{
    bool ends = at == end;
    fields->count = 0;
    while (!ends) {
        gt_value field;
        at = next_field(arena, at, end, &field, &ends);
        GT_PUSH(fields->items, fields->count, fields->capacity, field);
    }
    return at;
}

static gt_value trimmed(gt_arena *arena, gt_str text)
{
    while (text.len && isspace((unsigned char)*text.bytes)) text.bytes++, text.len--;
    while (text.len && isspace((unsigned char)text.bytes[text.len - 1])) text.len--;
    return (gt_value){.type = GT_VALUE_STRING,
                      .text = {gt_arena_bytes(arena, text.bytes, text.len), text.len}};
}

/* The column names of a table, as a list of strings. */
static const gt_value *columns_of(gt_arena *arena, gt_str text)
{
    field_list fields = {0};
    next_row(arena, text.bytes, text.bytes + text.len, &fields);
    gt_value *items = gt_arena_alloc(arena, (fields.count + 1) * sizeof *items), *list;
    for (size_t i = 0; i < fields.count; i++) items[i] = trimmed(arena, fields.items[i].text);
    list = gt_arena_alloc(arena, sizeof *list);
    *list = (gt_value){.type = GT_VALUE_LIST, .count = (uint32_t)fields.count, .items = items};
    gt_free(fields.items);
    return list;
}

const gt_value *gt_csv_rows_read(gt_arena *arena, const char *path, gt_error *error)
{
    gt_buffer bytes = {0};
    if (!gt_read_small_file(path, TABLE_MAX_BYTES, &bytes, error)) {
        gt_buffer_free(&bytes);
        return NULL;
    }
    gt_str text = gt_buffer_str(&bytes);
    if (text.len >= 3 && memcmp(text.bytes, "\xEF\xBB\xBF", 3) == 0) text.bytes += 3, text.len -= 3;
    const gt_value *columns = columns_of(arena, text);
    field_list fields = {0}, rows = {0};
    const char *at = text.bytes, *end = text.bytes + text.len;
    at = next_row(arena, at, end, &fields);
    while (at < end) {
        at = next_row(arena, at, end, &fields);
        if (fields.count == 1 && !fields.items[0].text.len) continue; /* an empty line */
        gt_value *pairs = gt_arena_alloc(arena, (columns->count + 1) * 2 * sizeof *pairs);
        for (uint32_t i = 0; i < columns->count; i++) {
            pairs[2 * i] = columns->items[i];
            pairs[2 * i + 1] = i < fields.count ? trimmed(arena, fields.items[i].text) : gt_value_cstr("");
        }
        gt_value row = {.type = GT_VALUE_DICT, .count = columns->count * 2, .items = pairs};
        GT_PUSH(rows.items, rows.count, rows.capacity, row);
    }
    gt_value *items = gt_arena_alloc(arena, (rows.count + 1) * sizeof *items), *list;
    if (rows.count) memcpy(items, rows.items, rows.count * sizeof *items);
    list = gt_arena_alloc(arena, sizeof *list);
    *list = (gt_value){.type = GT_VALUE_LIST, .count = (uint32_t)rows.count, .items = items};
    gt_free(fields.items);
    gt_free(rows.items);
    gt_buffer_free(&bytes);
    return list;
}

static void add_cell(gt_buffer *csv, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        gt_buffer_add_cstr(csv, text);
        return;
    }
    gt_buffer_add_cstr(csv, "\"");
    for (; *text; text++) gt_buffer_add(csv, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    gt_buffer_add_cstr(csv, "\"");
}

/* An object or list is written as JSON in one line, a missing value as nothing. */
static void add_value(gt_arena *arena, gt_buffer *csv, const gt_value *value)
{
    if (value->type == GT_VALUE_MISSING || value->type == GT_VALUE_NONE) return;
    if (value->type != GT_VALUE_DICT && !gt_value_is_list(value)) {
        add_cell(csv, gt_settings_print(arena, value));
        return;
    }
    gt_json_writer w = {0};
    gt_json_add_value(&w, value);
    char *text = (char *)gt_buffer_str(&w.text).bytes, *to = text;
    for (const char *from = text; *from;) { /* the writer indents lines; strings have no line breaks */
        if (*from != '\n') {
            *to++ = *from++;
            continue;
        }
        from += 1 + strspn(from + 1, " ");
        if (to > text && to[-1] == ',') *to++ = ' ';
    }
    *to = 0;
    add_cell(csv, text);
    gt_json_writer_free(&w);
}

static void add_header(gt_buffer *csv, const gt_value *columns)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        gt_buffer_add_cstr(csv, i ? "," : "");
        add_cell(csv, columns->items[i].text.bytes);
    }
    gt_buffer_add_cstr(csv, "\n");
}

static void add_row(gt_arena *arena, gt_buffer *csv, const gt_value *columns, const gt_value *row)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        gt_buffer_add_cstr(csv, i ? "," : "");
        add_value(arena, csv, gt_value_get(row, columns->items[i].text.bytes));
    }
    gt_buffer_add_cstr(csv, "\n");
}

static bool has_column(const gt_value *columns, const char *name)
{
    for (uint32_t i = 0; i < columns->count; i++)
        if (gt_value_equals_cstr(&columns->items[i], name)) return true;
    return false;
}

/* The columns, and after them the keys of the rows that are not among them. */
static const gt_value *with_keys(gt_arena *arena, const gt_value *columns, const gt_value *rows)
{
    for (uint32_t r = 0; r < rows->count; r++)
        for (uint32_t i = 0; i < rows->items[r].count; i += 2)
            if (!has_column(columns, rows->items[r].items[i].text.bytes))
                columns = gt_settings_push(arena, columns, rows->items[r].items[i]);
    return columns;
}

/* ---- files that several processes change ---- */

/* Opens and locks the file, which is created if it is missing. It may be a link if the user named it. */
static int lock_file(const char *path, gt_error *error)
{
    for (;;) {
        int descriptor = gt_own_is_named(path) ? gt_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)
                                               : gt_own_open(path, O_RDWR | O_CREAT, NULL);
        if (descriptor < 0) return gt_fail(error, "cannot write %.300s: %s", path, gt_own_reason(errno)), -1;
        while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
        }
        struct stat ours, there;
        if (fstat(descriptor, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
            ours.st_dev == there.st_dev)
            return descriptor;
        close(descriptor); /* it was replaced meanwhile */
    }
}

static bool replace_file(const char *path, gt_str text, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool ok = gt_output_write_file(output, path, text, error) && gt_output_commit(output, error);
    gt_output_free(output);
    return ok;
}

static bool append(int descriptor, const char *path, gt_str text, gt_error *error)
{
    off_t end = lseek(descriptor, 0, SEEK_END);
    int failure = end < 0 ? errno : gt_write_fully(descriptor, text.bytes, text.len);
    if (!failure) return true;
    if (end >= 0 && ftruncate(descriptor, end) != 0) failure = failure ? failure : errno; /* no half rows */
    return gt_fail(error, "cannot write %.300s: %s", path, strerror(failure));
}

/* ---- perf.csv ---- */

bool gt_perf_check(gt_arena *arena, const char *path, gt_error *error)
{
    gt_buffer text = {0};
    bool ok = true;
    if (access(path, F_OK) == 0) {
        ok = gt_path_is_file(path) && gt_path_may_open(path) &&
             gt_read_small_file(path, TABLE_MAX_BYTES, &text, error);
        if (!ok && gt_path_is_folder(path)) gt_fail(error, "%.300s: is a folder", path);
    }
    if (ok && text.len && !has_column(columns_of(arena, gt_buffer_str(&text)), "model"))
        ok = gt_fail(error,
                     "%.300s: not a performance table (no column 'model'); name another file with --output",
                     path);
    gt_buffer_free(&text);
    return ok;
}

static const gt_value *standard_columns(gt_arena *arena)
{
    const gt_value *columns = &no_list;
    for (size_t i = 0; i < gt_perf_column_count; i++)
        columns = gt_settings_push(arena, columns, gt_value_cstr(gt_perf_columns[i]));
    return columns;
}

/* The text of the table with more columns: empty cells at the end of each row. */
static void widen(gt_arena *arena, gt_str old, uint32_t before, const gt_value *columns, gt_buffer *text)
{
    field_list fields = {0};
    const char *at = old.bytes, *end = old.bytes + old.len;
    at = next_row(arena, at, end, &fields);
    add_header(text, columns);
    while (at < end) {
        at = next_row(arena, at, end, &fields);
        if (fields.count == 1 && !fields.items[0].text.len) continue;
        for (uint32_t i = 0; i < columns->count; i++) {
            gt_buffer_add_cstr(text, i ? "," : "");
            if (i < before && i < fields.count) add_cell(text, fields.items[i].text.bytes);
        }
        gt_buffer_add_cstr(text, "\n");
    }
    gt_free(fields.items);
}

static bool add_to_table(gt_arena *arena, const char *path, const gt_value *rows, gt_error *error)
{
    int lock = lock_file(path, error);
    if (lock < 0) return false;
    gt_buffer old = {0}, text = {0};
    bool ok = gt_read_small_file(path, TABLE_MAX_BYTES, &old, error);
    gt_str table = gt_buffer_str(&old);
    const gt_value *before = ok && table.len ? columns_of(arena, table) : &no_list;
    const gt_value *columns = with_keys(arena, before->count ? before : standard_columns(arena), rows);
    bool is_new = !before->count, wider = !is_new && columns->count > before->count;
    if (is_new) add_header(&text, columns);
    if (wider) widen(arena, table, before->count, columns, &text);
    if (!is_new && !wider && table.bytes[table.len - 1] != '\n') gt_buffer_add_cstr(&text, "\n");
    for (uint32_t i = 0; i < rows->count; i++) add_row(arena, &text, columns, &rows->items[i]);
    if (ok)
        ok = wider ? replace_file(path, gt_buffer_str(&text), error)
                   : append(lock, path, gt_buffer_str(&text), error);
    gt_buffer_free(&old);
    gt_buffer_free(&text);
    close(lock);
    return ok;
}

/* ---- files next to it ---- */

static bool write_json(const char *path, const gt_value *value, gt_error *error)
{
    gt_json_writer w = {0};
    gt_json_add_value(&w, value);
    gt_buffer_add_cstr(&w.text, "\n");
    bool ok = replace_file(path, gt_buffer_str(&w.text), error);
    gt_json_writer_free(&w);
    return ok;
}

static bool write_csv(gt_arena *arena, const char *path, const gt_value *columns, const gt_value *rows,
                      gt_error *error)
{
    gt_buffer text = {0};
    columns = with_keys(arena, columns, rows);
    add_header(&text, columns);
    for (uint32_t i = 0; i < rows->count; i++) add_row(arena, &text, columns, &rows->items[i]);
    bool ok = replace_file(path, gt_buffer_str(&text), error);
    gt_buffer_free(&text);
    return ok;
}

/* Adds records to perf_super.json and writes the same as CSV while it is locked. The CSV file comes first:
 * once the other one is replaced, a run that waited locks the new one. A file that is not a list is not
 * touched. */
static bool add_to_list(gt_arena *arena, const char *path, const gt_value *records, gt_error *error)
{
    int lock = lock_file(path, error);
    if (lock < 0) return false;
    gt_buffer text = {0};
    const gt_value *list = &no_list;
    bool ok = gt_read_small_file(path, TABLE_MAX_BYTES, &text, error);
    if (ok && text.len) {
        list = gt_settings_parse(arena, gt_buffer_str(&text), error);
        ok = list && (gt_value_is_list(list) || list->type == GT_VALUE_DICT);
        if (!ok) gt_fail(error, "%.300s: not a list of runs; not changed", path);
        if (ok && list->type == GT_VALUE_DICT) list = gt_settings_push(arena, &no_list, *list);
    }
    for (uint32_t i = 0; ok && i < records->count; i++)
        list = gt_settings_push(arena, list, records->items[i]);
    ok = ok && write_csv(arena, "perf_super.csv", standard_columns(arena), list, error) &&
         write_json(path, list, error);
    gt_buffer_free(&text);
    close(lock);
    return ok;
}

/* ---- rows ---- */

static gt_value as_number(gt_arena *arena, const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (!*text || *end) return gt_settings_copy_string(arena, text);
    bool whole = !strpbrk(text, ".eEnNiIxX");
    errno = 0;
    long long integer = whole ? strtoll(text, &end, 10) : 0;
    return whole && !errno ? gt_value_int(integer) : gt_value_float(number);
}

/* The row of one result in perf.csv: all its columns override those of the model. */
static const gt_value *result_row(gt_arena *arena, const gt_value *row, const gt_value *result)
{
    const char *name =
        gt_arena_format(arena, "%s_%s", gt_model_text(row, "model"), gt_model_text(result, "model"));
    row = gt_settings_update(arena, row, result);
    row = gt_settings_with(arena, row, "model", gt_settings_copy_string(arena, name));
    return gt_settings_with(arena, row, "status",
                            gt_value_cstr(*gt_model_text(result, "performance") ? "SUCCESS" : "FAILURE"));
}

/* The record of one result in perf_super.json: figures that are no columns of perf.csv in multi_results. */
static const gt_value *result_record(gt_arena *arena, const gt_value *row, const gt_value *result)
{
    static const char *const own[] = {"model", "performance", "metric", "test_duration", "status"};
    const gt_value *record = row, *more = &no_dict;
    const char *name =
        gt_arena_format(arena, "%s_%s", gt_model_text(row, "model"), gt_model_text(result, "model"));
    const char *performance = gt_model_text(result, "performance");
    for (uint32_t i = 0; i < result->count; i += 2) {
        bool is_own = false;
        for (size_t k = 0; k < GT_LENGTH(own); k++)
            is_own = is_own || gt_value_equals_cstr(&result->items[i], own[k]);
        const char *text = result->items[i + 1].text.bytes;
        if (!is_own && *text)
            more = gt_settings_with(arena, more, result->items[i].text.bytes, as_number(arena, text));
    }
    record = gt_settings_with(arena, record, "model", gt_settings_copy_string(arena, name));
    record = gt_settings_with(arena, record, "performance", as_number(arena, performance));
    record = gt_settings_with(arena, record, "metric", gt_value_cstr(gt_model_text(result, "metric")));
    record = gt_settings_with(arena, record, "test_duration",
                              gt_value_cstr(gt_model_text(result, "test_duration")));
    record = gt_settings_with(arena, record, "status", gt_value_cstr(*performance ? "SUCCESS" : "FAILURE"));
    return gt_settings_with(arena, record, "multi_results", more->count ? *more : gt_value_none);
}

static const gt_value *super_record(gt_arena *arena, const gt_value *row, const gt_value *result)
{
    const gt_value *record = result ? result_record(arena, row, result)
                                    : gt_settings_with(arena, row, "multi_results", gt_value_none);
    return gt_settings_has(record, "configs") ? record
                                              : gt_settings_with(arena, record, "configs", gt_value_none);
}

bool gt_perf_add(gt_arena *arena, const char *path, const gt_value *row, const gt_value *results,
                 gt_error *error)
{
    const gt_value *rows = &no_list, *records = &no_list;
    uint32_t count = results ? results->count : 1;
    for (uint32_t i = 0; i < count; i++) {
        const gt_value *result = results ? &results->items[i] : NULL;
        rows = gt_settings_push(arena, rows, *(result ? result_row(arena, row, result) : row));
        records = gt_settings_push(arena, records, *super_record(arena, row, result));
    }
    const gt_value *columns = standard_columns(arena);
    return add_to_table(arena, path, rows, error) &&
           write_json("perf_entry.json", rows->count == 1 ? &rows->items[0] : rows, error) &&
           write_csv(arena, "perf_entry.csv", columns, rows, error) &&
           add_to_list(arena, "perf_super.json", records, error) &&
           write_json("perf_entry_super.json", records, error) &&
           write_csv(arena, "perf_entry_super.csv", columns, records, error);
}

void gt_perf_remove_entries(void)
{
    static const char *const files[] = {"perf_entry.json", "perf_entry.csv", "perf_entry_super.json",
                                        "perf_entry_super.csv"};
    for (size_t i = 0; i < GT_LENGTH(files); i++) unlink(files[i]);
}
