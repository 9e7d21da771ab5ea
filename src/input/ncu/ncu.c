/* The reader of `ncu --csv`. A table begins with a line that starts with the column "ID" and has "Kernel
 * Name"; which other columns it has decides the layout. Every field is looked up by the name of its column,
 * because versions of ncu have different columns. */
#include "input/ncu/ncu.h"

typedef struct ncu_reader {
    gt_ncu *trace;
    const char *at, *end;
    gt_str *fields; /* of the current row */
    size_t field_count, field_capacity;
    gt_buffer repaired;
    gt_arena unquoted; /* fields with doubled quotes, until the row is done */
    /* the current table */
    gt_str *names; /* of all columns; point into the text */
    size_t name_count;
    uint32_t *metrics; /* per column: the metric in it; GT_STR_NONE: it describes the launch */
    uint32_t *units;
    size_t id, process, kernel, stream, grid, block, device; /* columns; SIZE_MAX: none */
    size_t section, metric, unit, value;                     /* of the layout with one metric per row */
    bool is_long, has_units;
    size_t skipped; /* lines that look like rows and are none */
    gt_error *error;
} ncu_reader;

/* ---- fields ---- */

/* A quoted field ends on its line. False if it does not. */
static bool read_quoted(ncu_reader *r, gt_str *field)
{
    const char *begin = ++r->at;
    bool doubled = false, closed = false;
    for (; r->at < r->end && *r->at != '\n' && !closed; r->at++) {
        if (*r->at != '"') continue;
        closed = r->at + 1 == r->end || r->at[1] != '"';
        doubled |= !closed;
        r->at += !closed;
    }
    if (!closed) return false;
    *field = (gt_str){begin, (size_t)(r->at - 1 - begin)};
    if (!doubled) return true;
    char *text = gt_arena_bytes(&r->unquoted, begin, field->len);
    size_t len = 0;
    for (size_t i = 0; i < field->len; i++) {
        text[len++] = begin[i];
        if (begin[i] == '"') i++;
    }
    *field = (gt_str){text, len};
    return true;
}

/* Reads one line as fields. False if a quote is not closed, as where the file was cut off. */
static bool read_row(ncu_reader *r)
{
    bool whole = true;
    r->field_count = 0;
    for (;;) {
        gt_str field = {r->at, 0};
        if (r->at < r->end && *r->at == '"') {
            whole = read_quoted(r, &field);
            if (!whole) break;
        }
        const char *begin = r->at; /* also what follows a closing quote, which is dropped */
        while (r->at < r->end && *r->at != ',' && *r->at != '\n') r->at++;
        if (field.bytes == begin) field.len = (size_t)(r->at - begin);
        if (field.len && field.bytes == begin && begin[field.len - 1] == '\r') field.len--;
        GT_PUSH(r->fields, r->field_count, r->field_capacity, field);
        if (r->at == r->end || *r->at == '\n') break;
        r->at++;
    }
    while (r->at < r->end && *r->at != '\n') r->at++;
    if (r->at < r->end) r->at++;
    return whole;
}

static void skip_line(ncu_reader *r)
{
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->at = end ? end + 1 : r->end;
}

static gt_str field_at(const ncu_reader *r, size_t column)
{
    return column < r->field_count ? r->fields[column] : (gt_str){"", 0};
}

static uint32_t intern(ncu_reader *r, gt_str text)
{
    text = gt_utf8_repair(text, &r->repaired);
    return gt_interner_add(r->trace->strings, text.bytes, text.len);
}

/* ---- numbers ---- */

double gt_ncu_number(gt_str text)
{
    char plain[64];
    size_t len = 0, end = 0;
    while (end < text.len && text.bytes[end] != ' ') end++;
    for (size_t i = 0; i < end; i++) {
        if (text.bytes[i] == ',') continue; /* between thousands */
        if (len + 1 == sizeof plain) return NAN;
        plain[len++] = text.bytes[i];
    }
    plain[len] = 0;
    /* strtod accepts more than ncu prints: hexadecimal numbers, names of infinity */
    if (!len || strspn(plain, "+-.0123456789eE") != len ||
        (end < text.len && text.bytes[end + 1 < text.len ? end + 1 : end] != '('))
        return NAN;
    char *stop;
    double number = strtod(plain, &stop);
    return *stop || !isfinite(number) ? NAN : number;
}

/* ---- tables ---- */

static bool starts_table(const char *line, const char *end)
{
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    size_t len = (size_t)((stop ? stop : end) - line);
    bool is_id = (len > 5 && memcmp(line, "\"ID\",", 5) == 0) || (len > 3 && memcmp(line, "ID,", 3) == 0);
    return is_id && memmem(line, len, "Kernel Name", 11);
}

static size_t column_named(const ncu_reader *r, const char *name)
{
    for (size_t i = 0; i < r->name_count; i++)
        if (gt_str_equals(r->names[i], name)) return i;
    return SIZE_MAX;
}

/* Columns that describe the launch; all others of the wide layout are metrics. */
static const char *const launch_columns[] = {
    "ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context",
    "Stream", "Block Size", "Grid Size",    "Device",    "CC",          "Invocations", "NVTX"};

static bool describes_launch(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(launch_columns); i++)
        if (gt_str_equals(name, launch_columns[i])) return true;
    return name.len == 0 || gt_str_starts_with(name, "thread Domain:") ||
           gt_str_starts_with(name, "Id:Domain:");
}

static void begin_table(ncu_reader *r)
{
    r->name_count = r->field_count;
    gt_free_all(r->names, r->metrics, r->units);
    r->names = gt_alloc((r->name_count + 1) * sizeof *r->names);
    r->metrics = gt_alloc_zero(r->name_count + 1, sizeof *r->metrics);
    r->units = gt_alloc_zero(r->name_count + 1, sizeof *r->units);
    for (size_t i = 0; i < r->name_count; i++) /* unquoted ones would not outlive their row */
        r->names[i] = gt_interner_get(r->trace->strings, intern(r, r->fields[i]));
    r->id = column_named(r, "ID");
    r->process = column_named(r, "Process ID");
    r->kernel = column_named(r, "Kernel Name");
    r->stream = column_named(r, "Stream");
    r->block = column_named(r, "Block Size");
    r->grid = column_named(r, "Grid Size");
    r->device = column_named(r, "Device");
    r->section = column_named(r, "Section Name");
    r->metric = column_named(r, "Metric Name");
    r->unit = column_named(r, "Metric Unit");
    r->value = column_named(r, "Metric Value");
    r->is_long = r->metric != SIZE_MAX && r->value != SIZE_MAX;
    r->has_units = r->is_long;
    for (size_t i = 0; i < r->name_count && !r->is_long; i++)
        if (!describes_launch(r->names[i])) r->metrics[i] = intern(r, r->names[i]);
}

/* ---- rows ---- */

static void add_value(ncu_reader *r, uint32_t section, uint32_t metric, uint32_t unit, gt_str text)
{
    gt_ncu *t = r->trace;
    gt_ncu_value value = {.launch = (uint32_t)(t->launch_count - 1),
                          .section = section,
                          .metric = metric,
                          .unit = unit,
                          .number = gt_ncu_number(text)};
    if (!text.len || gt_str_equals_nocase(text, "n/a") || gt_str_equals_nocase(text, "nan")) return;
    if (isnan(value.number)) value.text = intern(r, text);
    GT_PUSH(t->values, t->value_count, t->value_capacity, value);
}

static gt_ncu_launch launch_of(ncu_reader *r)
{
    double id = gt_ncu_number(field_at(r, r->id));
    return (gt_ncu_launch){.id = id >= 0 && id < 9e15 ? (int64_t)id : -1,
                           .process = intern(r, field_at(r, r->process)),
                           .device = intern(r, field_at(r, r->device)),
                           .stream = intern(r, field_at(r, r->stream)),
                           .kernel = intern(r, field_at(r, r->kernel)),
                           .grid = intern(r, field_at(r, r->grid)),
                           .block = intern(r, field_at(r, r->block))};
}

/* In the layout with one metric per row, the rows of a launch follow each other. */
static bool is_same_launch(const gt_ncu *t, const gt_ncu_launch *launch)
{
    const gt_ncu_launch *last = t->launch_count ? &t->launches[t->launch_count - 1] : NULL;
    return last && last->id == launch->id && last->process == launch->process &&
           last->kernel == launch->kernel && last->device == launch->device;
}

static bool add_row(ncu_reader *r)
{
    gt_ncu *t = r->trace;
    bool is_unit_row = !r->has_units && !field_at(r, r->id).len && !field_at(r, r->kernel).len;
    if (is_unit_row) {
        r->has_units = true;
        for (size_t i = 0; i < r->name_count; i++) r->units[i] = intern(r, field_at(r, i));
        return true;
    }
    if (isnan(gt_ncu_number(field_at(r, r->id))) || !field_at(r, r->kernel).len) {
        r->skipped++;
        return true;
    }
    if (t->value_count >= UINT32_MAX / 2) return gt_fail(r->error, "more than %u values", UINT32_MAX / 2);
    gt_ncu_launch launch = launch_of(r);
    if (!r->is_long || !is_same_launch(t, &launch))
        GT_PUSH(t->launches, t->launch_count, t->launch_capacity, launch);
    if (r->is_long) {
        gt_str metric = field_at(r, r->metric); /* empty in rows of rules */
        if (metric.len)
            add_value(r, r->section == SIZE_MAX ? GT_STR_NONE : intern(r, field_at(r, r->section)),
                      intern(r, metric), intern(r, field_at(r, r->unit)), field_at(r, r->value));
        return true;
    }
    for (size_t i = 0; i < r->name_count && i < r->field_count; i++)
        if (r->metrics[i]) add_value(r, GT_STR_NONE, r->metrics[i], r->units[i], r->fields[i]);
    return true;
}

/* ---- the file ---- */

static bool read_tables(ncu_reader *r)
{
    bool in_table = false;
    while (r->at < r->end) {
        bool begins = starts_table(r->at, r->end);
        bool is_row = in_table && (*r->at == '"' || isdigit((unsigned char)*r->at));
        if (!begins && !is_row) {
            skip_line(r);
            continue;
        }
        if (!read_row(r)) {
            r->skipped++;
        } else if (begins) {
            begin_table(r);
            in_table = true;
        } else if (!add_row(r)) {
            return false;
        }
        gt_arena_free(&r->unquoted);
        r->unquoted = (gt_arena){0};
    }
    return in_table || gt_fail(r->error, "no table of `ncu --csv`: no line with \"ID\" and \"Kernel Name\"");
}

bool gt_is_ncu_csv(gt_str text)
{
    for (const char *at = text.bytes, *end = text.bytes + text.len; at < end;) {
        if (starts_table(at, end)) return true;
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    return false;
}

bool gt_ncu_fail_report(const char *path, gt_error *error)
{
    return gt_fail(error,
                   "%.400s: this is a report of Nsight Compute, which only ncu can read; export it with: ncu "
                   "--import %.400s --csv --page raw > FILE.csv",
                   path, path);
}

gt_ncu *gt_ncu_read(gt_stream *stream, gt_error *error)
{
    gt_buffer text = {0};
    gt_ncu *trace = gt_alloc_zero(1, sizeof *trace);
    trace->strings = gt_interner_new();
    bool ok = gt_stream_read_all(stream, &text, error);
    gt_str all = gt_buffer_str(&text);
    ncu_reader r = {.trace = trace, .at = all.bytes, .end = all.bytes + all.len, .error = error};
    if (ok && all.len >= 4 && memcmp(all.bytes, "NVR", 4) == 0)
        ok = gt_ncu_fail_report(gt_stream_path(stream), error);
    else if (ok && !read_tables(&r))
        ok = false, gt_error_prefix(error, gt_stream_path(stream));
    if (ok && r.skipped)
        gt_warn("%s: %zu %s not part of a table, skipped", gt_stream_path(stream), r.skipped,
                gt_noun(r.skipped, "line is", "lines are"));
    gt_arena_free(&r.unquoted);
    gt_buffer_free(&r.repaired);
    gt_free_all(r.fields, r.names, r.metrics, r.units);
    gt_buffer_free(&text);
    if (ok) return trace;
    gt_ncu_free(trace);
    return NULL;
}

void gt_ncu_free(gt_ncu *trace)
{
    if (!trace) return;
    gt_interner_free(trace->strings);
    gt_free_all(trace->launches, trace->values, trace);
}
