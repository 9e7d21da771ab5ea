/* The CSV reader: the header turns into a plan, one step a column, and each row goes through the plan once.
 * Numbers go straight into the cells of the store that the file fills; names are looked up by their raw
 * bytes, of which a file of a million rows has a few hundred. */
#include "input/rocprof_csv.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/text.h"
#include "input/csv_scan.h"
#include "input/rocprof_csv_columns.h"
#include "input/scan_number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROW = 64 * 1024 * 1024 };

/* ---- the plan ---- */

typedef struct known_name {
    uint32_t text; /* of the kernel's short name; GT_TEXT_NONE until it is first seen */
    gt_kernel_use use;
    int64_t kernel_id;
} known_name;

typedef struct reading {
    gt_rocprof_writers *writers;
    gt_rocprof *run;
    const gt_csv_source *source;
    const char *path;
    gt_csv_kind kind;
    bool doubled; /* quotes in quoted fields are doubled, as Python writes them */
    gt_csv_step plan[GT_CSV_MAX_FIELDS];
    gt_text names[GT_CSV_MAX_FIELDS]; /* of the header, for messages; copies in `arena` */
    gt_arena arena;
    gt_buffer undoubled, repaired;
    size_t columns;

    gt_strings *raw; /* kernel names as the file has them */
    known_name *known;
    size_t known_count, known_capacity;
    int64_t last_pid, process; /* of the row before */
    uint32_t last_guid;
    gt_map processes;      /* (pid, guid) to process */
    gt_map counted;        /* dispatches that counters were collected of */
    bool source_named;     /* the source's process has its pid */
    uint32_t words[SLOTS]; /* text ids of the row before, by slot */

    size_t row;
    uint64_t present;
    gt_cell cells[SLOTS];
    gt_text texts[SLOTS];
    double wide[GT_CSV_MAX_FIELDS];
    gt_error *error;
    bool long_names; /* gt_read_options */
} reading;

/* What a field's bytes mean: quotes that stand doubled for one are taken back, what is not UTF-8 is replaced.
 * Valid until it is asked for the next time. */
static gt_text meant(reading *r, gt_text text)
{
    if (r->doubled && memmem(text.bytes, text.len, "\"\"", 2)) {
        r->undoubled.len = 0;
        for (size_t i = 0; i < text.len; i++) {
            gt_buffer_add(&r->undoubled, &text.bytes[i], 1);
            if (text.bytes[i] == '"' && i + 1 < text.len && text.bytes[i + 1] == '"') i++;
        }
        text = (gt_text){r->undoubled.bytes, r->undoubled.len};
    }
    return gt_utf8_is_valid(text) ? text : gt_utf8_repair(text, &r->repaired);
}

/* Most words are that of the row before. */
static uint32_t word_of(reading *r, int slot, gt_text text)
{
    gt_text before = gt_strings_get(r->run->strings, r->words[slot]);
    if (r->words[slot] && before.len == text.len && memcmp(before.bytes, text.bytes, text.len) == 0)
        return r->words[slot];
    text = meant(r, text);
    return r->words[slot] = gt_strings_add(r->run->strings, text.bytes, text.len);
}

static gt_csv_step plan_of(reading *r, gt_text name)
{
    gt_csv_step step = gt_csv_column(r->kind, name);
    if (step.kind == GT_CSV_WIDE) {
        if (r->writers->counters)
            step.counter = word_of(r, SLOT_NAME, name);
        else
            step.kind = GT_CSV_SKIP;
    }
    return step;
}

/* Columns whose cells the stores at hand would not keep need not be read. */
static bool is_kept(const reading *r, const gt_csv_step *s)
{
    bool dispatch = r->kind == GT_CSV_KERNELS || r->kind == GT_CSV_COUNTERS || r->kind == GT_CSV_OLD_RESULTS;
    if (dispatch && !(r->run->wanted & GT_WANT_DISPATCH_DETAILS))
        if ((s->slot >= GT_DISPATCH_BASIC_COLUMNS && s->slot < GT_DISPATCH_COLUMNS) ||
            (s->slot >= SLOT_VGPRS && s->slot <= SLOT_KERNEL_LDS))
            return false;
    if (r->kind == GT_CSV_COPIES && !(r->run->wanted & GT_WANT_COPY_DETAILS))
        if (s->slot >= GT_COPY_BASIC_COLUMNS && s->slot != SLOT_GUID) return false;
    return true;
}

static void make_plan(reading *r, const gt_csv_header *h)
{
    r->columns = h->count;
    r->doubled = gt_text_is_in_any_case(h->names[0], "Guid");
    for (size_t i = 0; i < h->count; i++) {
        gt_text name = h->names[i];
        r->names[i] = (gt_text){gt_arena_bytes(&r->arena, name.bytes, name.len), name.len};
        r->plan[i] = plan_of(r, name);
        if (!is_kept(r, &r->plan[i])) r->plan[i].kind = GT_CSV_SKIP;
    }
}

/* ---- fields ---- */

/* As much of a text as a sentence can show. */
static int shown(gt_text text, size_t most)
{
    size_t len = 0;
    while (len < text.len && len < most && (unsigned char)text.bytes[len] >= ' ') len++;
    return (int)len;
}

static bool bad_field(reading *r, size_t column, gt_text text, const char *expected)
{
    gt_text name = r->names[column];
    return gt_fail(r->error, "row %zu: '%.*s' holds '%.*s' and not %s", r->row, shown(name, 100), name.bytes,
                   shown(text, 60), text.bytes, expected);
}

/* An integer of 64 bits, with or without sign; those from 2^63 on keep their bits. */
static bool to_int(gt_text text, int64_t *out)
{
    uint64_t value = 0;
    bool negative = text.len && text.bytes[0] == '-';
    size_t at = negative;
    if (at == text.len || text.len - at > 20) return false;
    for (; at < text.len; at++) {
        unsigned digit = (unsigned)(uint8_t)text.bytes[at] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (negative && value > (uint64_t)INT64_MAX + 1) return false;
    *out = (int64_t)(negative ? 0 - value : value);
    return true;
}

static bool to_trailing_int(gt_text text, int64_t *out)
{
    size_t begin = text.len;
    while (begin && isdigit((unsigned char)text.bytes[begin - 1])) begin--;
    return to_int((gt_text){text.bytes + begin, text.len - begin}, out);
}

static bool to_real(gt_text text, double *out)
{
    char copy[64];
    if (!text.len || text.len >= sizeof copy) return false;
    memcpy(copy, text.bytes, text.len);
    copy[text.len] = 0;
    char *end;
    *out = strtod(copy, &end);
    return end == copy + text.len;
}

/* A field whose bytes are known. An empty one says nothing. */
static bool take(reading *r, size_t column, gt_text text)
{
    const gt_csv_step *s = &r->plan[column];
    int64_t integer;
    if (s->kind == GT_CSV_SKIP || !text.len) return true;
    switch (s->kind) {
    case GT_CSV_INT:
        if (!to_int(text, &integer)) return bad_field(r, column, text, "an integer of 64 bits");
        r->cells[s->slot].integer = integer;
        break;
    case GT_CSV_AGENT:
        if (!to_trailing_int(text, &integer)) return bad_field(r, column, text, "an agent's number");
        r->cells[s->slot].integer = integer;
        break;
    case GT_CSV_REAL:
        if (!to_real(text, &r->cells[s->slot].time)) return bad_field(r, column, text, "a number");
        break;
    case GT_CSV_WORD:
        r->cells[s->slot].text = word_of(r, s->slot, text);
        break;
    case GT_CSV_WIDE:
        return to_real(text, &r->wide[column]) || bad_field(r, column, text, "a number");
    default:
        r->texts[s->slot] = text;
    }
    r->present |= UINT64_C(1) << s->slot;
    return true;
}

/* ---- processes and kernels ---- */

static int64_t find_process(reading *r)
{
    int64_t pid = r->present >> SLOT_PID & 1 ? r->cells[SLOT_PID].integer : -1;
    uint32_t guid = r->present >> SLOT_GUID & 1 ? word_of(r, SLOT_GUID, r->texts[SLOT_GUID]) : GT_TEXT_NONE;
    if (pid == r->last_pid && guid == r->last_guid) return r->process;
    r->last_pid = pid;
    r->last_guid = guid;
    uint32_t *found = gt_map_put(&r->processes, guid ? 0 : (uint64_t)pid, guid);
    if (*found == GT_MAP_NONE) {
        gt_rocprof_process *source = &r->run->process[r->source->process];
        bool is_source = (pid == -1 && !guid) || pid == source->pid || (!r->source_named && source->pid == 0);
        if (is_source) {
            if (pid > 0) source->pid = pid;
            r->source_named = true;
            *found = (uint32_t)r->source->process;
        } else {
            gt_rocprof_process other = *source;
            other.pid = pid > 0 ? pid : 0;
            *found = (uint32_t)gt_rocprof_add_process(r->run, other);
        }
    }
    return r->process = *found;
}

static int32_t use_of(const reading *r, int slot)
{
    int64_t value = r->cells[slot].integer;
    return r->present >> slot & 1 && value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static int64_t find_kernel(reading *r)
{
    if (!(r->present >> SLOT_NAME & 1)) return GT_NO_KERNEL_ID;
    gt_text name = r->texts[SLOT_NAME];
    uint32_t raw = gt_strings_add(r->raw, name.bytes, name.len);
    while (r->known_count <= raw) GT_PUSH(r->known, r->known_count, r->known_capacity, (known_name){0});
    gt_kernel_use use = {use_of(r, SLOT_VGPRS), use_of(r, SLOT_ACCUM_VGPRS), use_of(r, SLOT_SGPRS), -1};
    known_name *known = &r->known[raw];
    if (known->text && memcmp(&known->use, &use, sizeof use) == 0) return known->kernel_id;
    if (!known->text && r->long_names) {
        gt_text whole = meant(r, name);
        known->text = gt_strings_add(r->run->strings, whole.bytes, whole.len);
    }
    if (!known->text) known->text = gt_kernel_name_of_displayed(r->run->strings, meant(r, name));
    known->use = use;
    return known->kernel_id = gt_kernel_names_add(r->run, known->text, use);
}

/* ---- rows ---- */

static void set(reading *r, int slot, int64_t value)
{
    r->cells[slot].integer = value;
    r->present |= UINT64_C(1) << slot;
}

static uint64_t columns_of(const reading *r, size_t count)
{
    return r->present & ((UINT64_C(1) << count) - 1);
}

static void add_dispatch(reading *r)
{
    set(r, GT_DISPATCH_PROCESS, find_process(r));
    set(r, GT_DISPATCH_KERNEL_ID, find_kernel(r));
    gt_rocprof_write_dispatch(r->writers, columns_of(r, GT_DISPATCH_COLUMNS), r->cells);
}

static void write_counter(reading *r, int64_t process, int64_t kernel_id, uint64_t name, double value)
{
    gt_cell cells[GT_COUNTER_COLUMNS];
    cells[GT_COUNTER_PROCESS].integer = process;
    cells[GT_COUNTER_DISPATCH].integer =
        r->present >> GT_DISPATCH_ID & 1 ? r->cells[GT_DISPATCH_ID].integer : 0;
    cells[GT_COUNTER_KERNEL_ID].integer = kernel_id;
    cells[GT_COUNTER_NAME].text = name;
    cells[GT_COUNTER_VALUE].time = value;
    gt_store_writer_add(r->writers->counters, (UINT64_C(1) << GT_COUNTER_COLUMNS) - 1, cells);
}

static void add_counter(reading *r)
{
    int64_t process = find_process(r), kernel_id = find_kernel(r);
    bool complete = r->present >> SLOT_COUNTER & 1 && r->present >> SLOT_VALUE & 1;
    if (r->writers->counters && complete)
        write_counter(r, process, kernel_id, r->cells[SLOT_COUNTER].text, r->cells[SLOT_VALUE].time);
    if (!r->source->kernels_from_counters) return;
    uint32_t *seen = gt_map_put(&r->counted, (uint64_t)process, (uint64_t)r->cells[GT_DISPATCH_ID].integer);
    if (*seen == GT_MAP_NONE) add_dispatch(r);
    *seen = 1;
}

static void add_old_result(reading *r)
{
    add_dispatch(r);
    for (size_t i = 0; r->writers->counters && i < r->columns; i++)
        if (r->plan[i].kind == GT_CSV_WIDE)
            write_counter(r, r->cells[GT_DISPATCH_PROCESS].integer, r->cells[GT_DISPATCH_KERNEL_ID].integer,
                          r->plan[i].counter, r->wide[i]);
}

static void add_call(reading *r)
{
    gt_text kind = gt_strings_get(r->run->strings, (uint32_t)r->cells[GT_CALL_KIND].text);
    if (!(r->present >> GT_CALL_KIND & 1)) kind = (gt_text){"", 0};
    gt_call_domain domain = gt_call_domain_of(kind);
    set(r, GT_CALL_DOMAIN, domain);
    set(r, GT_CALL_PROCESS, find_process(r));
    if (domain == GT_CALL_HIP || domain == GT_CALL_HSA) r->run->api_calls++;
    if (r->writers->calls) gt_store_writer_add(r->writers->calls, columns_of(r, GT_CALL_COLUMNS), r->cells);
}

static void add_copy(reading *r)
{
    if (r->present >> SLOT_DIRECTION & 1)
        set(r, GT_COPY_DIRECTION, gt_copy_direction_of(r->texts[SLOT_DIRECTION]));
    set(r, GT_COPY_PROCESS, find_process(r));
    gt_rocprof_write_copy(r->writers, columns_of(r, GT_COPY_COLUMNS), r->cells);
}

static void add_agent(reading *r)
{
    if (!r->writers->agents) return;
    /* Other files name agents by this number ("Agent 3"). */
    set(r, GT_AGENT_ID,
        r->present >> GT_AGENT_LOGICAL_NODE_ID & 1 ? r->cells[GT_AGENT_LOGICAL_NODE_ID].integer : 0);
    set(r, GT_AGENT_PROCESS, r->source->process);
    gt_store_writer_add(r->writers->agents, columns_of(r, GT_AGENT_COLUMNS), r->cells);
}

/* What a file of statistics is about is told by its name alone; one that is not named so is taken for
 * kernels. */
static int64_t stats_of(const reading *r)
{
    const char *slash = strrchr(r->path, '/');
    const char *name = slash ? slash + 1 : r->path;
    for (int domain = 0; domain < GT_CALL_OTHER; domain++)
        if (strstr(name, gt_call_domain_name((gt_call_domain)domain))) return domain;
    if (strstr(name, "memory_copy")) return GT_STATS_COPIES;
    bool other =
        strstr(name, "domain") || strstr(name, "memory_allocation") || strstr(name, "scratch_memory");
    return other ? GT_STATS_OTHER : GT_STATS_KERNELS;
}

static void add_stats(reading *r)
{
    int64_t of = stats_of(r);
    if (of == GT_STATS_OTHER || !(r->present >> SLOT_NAME & 1)) return;
    gt_text name = meant(r, r->texts[SLOT_NAME]);
    gt_strings *strings = r->run->strings;
    set(r, GT_STATS_OF, of);
    r->cells[GT_STATS_NAME].text = of == GT_STATS_KERNELS ? gt_kernel_name_of_displayed(strings, name)
                                                          : gt_strings_add(strings, name.bytes, name.len);
    r->present |= UINT64_C(1) << GT_STATS_NAME;
    gt_rocprof_write_stats(r->writers, columns_of(r, GT_STATS_COLUMNS), r->cells);
}

static void (*const adders[GT_CSV_KINDS])(reading *r) = {
    [GT_CSV_KERNELS] = add_dispatch, [GT_CSV_COUNTERS] = add_counter, [GT_CSV_CALLS] = add_call,
    [GT_CSV_COPIES] = add_copy,      [GT_CSV_AGENTS] = add_agent,     [GT_CSV_OLD_RESULTS] = add_old_result,
    [GT_CSV_STATS] = add_stats,
};

typedef enum row_end { ROW_WHOLE, ROW_CUT, ROW_BAD } row_end;

/* One field that is not a plain number: gives the place behind it, or NULL where the text ends before that.
 */
static const uint8_t *general_field(reading *r, const uint8_t *p, const uint8_t *end, bool last,
                                    gt_text *text)
{
    bool quoted = p < end && *p == '"';
    const uint8_t *begin = p + quoted;
    const uint8_t *close = quoted ? gt_csv_closing_quote(begin, end, r->doubled) : gt_csv_plain_end(p, end);
    if (!close && last && quoted && end > begin && end[-1] == '"')
        close = end - 1; /* no line end after the last row */
    if (!close && last && !quoted) close = end;
    if (!close) return NULL;
    *text = (gt_text){(const char *)begin, (size_t)(close - begin)};
    return close + quoted;
}

/* Reads the row at *at and moves behind it; `last`: nothing follows `end`. */
static row_end read_row(reading *r, const uint8_t **at, const uint8_t *end, bool last)
{
    const uint8_t *p = *at;
    r->present = 0;
    for (size_t column = 0;;) {
        const gt_csv_step *s = &r->plan[column];
        const uint8_t *behind = NULL;
        if (s->kind == GT_CSV_INT) {
            behind = gt_scan_int(p, &r->cells[s->slot].integer);
            if (behind && behind < end && gt_csv_ends_field(*behind))
                r->present |= UINT64_C(1) << s->slot;
            else
                behind = NULL;
        }
        if (!behind) {
            gt_text text;
            behind = general_field(r, p, end, last, &text);
            if (!behind) return ROW_CUT;
            if (!take(r, column, text)) return ROW_BAD;
        }
        p = behind;
        column++;
        bool more = p < end && *p == ',';
        if (more && column < r->columns) {
            p++;
            continue;
        }
        if (more) {
            gt_fail(r->error, "row %zu: more fields than the %zu of the first line", r->row, r->columns);
            return ROW_BAD;
        }
        if (column < r->columns) {
            if (p == end) return ROW_CUT;
            gt_fail(r->error, "row %zu: %zu fields, but the first line has %zu", r->row, column, r->columns);
            return ROW_BAD;
        }
        break;
    }
    if (p == end && (!last || p[-1] == ',')) return ROW_CUT;
    *at = gt_csv_behind_line_end(p, end);
    return ROW_WHOLE;
}

/* The rows that are whole in a block; *at is behind them. */
static row_end read_rows(reading *r, const uint8_t **at, const uint8_t *end, bool last)
{
    while (*at < end) {
        if (**at == '\n' || **at == '\r') {
            *at += 1;
            continue;
        }
        row_end read = read_row(r, at, end, last);
        if (read != ROW_WHOLE) return read;
        adders[r->kind](r);
        r->row++;
    }
    return ROW_WHOLE;
}

static bool accept_cut(reading *r, const char *damage, const gt_read_options *options)
{
    const char *why = damage ? damage : "the last row is not whole";
    if (options->strict)
        return gt_fail(r->error, "the file ends early (%s), after %zu rows", why, r->row - 2);
    gt_warn("%s: the file ends early (%s): %zu rows were read, the rest is missing", r->path, why,
            r->row - 2);
    return true;
}

/* The first line, once it is whole; *at is behind it then. */
static bool begin(reading *r, gt_text text, const uint8_t **at)
{
    gt_csv_header h;
    if (!gt_csv_header_split(text, &h)) return false;
    r->kind = gt_csv_header_kind(&h);
    if (adders[r->kind]) make_plan(r, &h);
    *at = h.rows;
    r->row = 2;
    return true;
}

static bool read_blocks(reading *r, gt_stream *stream, const gt_read_options *options)
{
    const uint8_t *text = NULL, *at = NULL;
    size_t kept = 0;
    bool begun = false;
    for (;;) {
        size_t len;
        if (!gt_stream_next(stream, at, kept, &text, &len, r->error)) return false;
        bool last = len == kept;
        const uint8_t *end = text + len;
        at = text;
        if (!begun) {
            if (!begin(r, (gt_text){(const char *)text, len}, &at)) {
                kept = len;
                if (last || kept > MAX_ROW) return gt_fail(r->error, "the first line names no columns");
                continue;
            }
            if (r->kind == GT_CSV_UNKNOWN)
                return gt_fail(r->error, "this is %s", gt_rocprof_csv_kind_name(r->kind));
            if (!adders[r->kind]) return true;
            begun = true;
        }
        size_t rows = r->row;
        row_end read = read_rows(r, &at, end, last);
        if (read == ROW_BAD) return false;
        gt_progress_add(len - kept, r->row - rows);
        kept = (size_t)(end - at);
        if (last) {
            const char *damage = gt_stream_damage(stream);
            return (!kept && !damage) || accept_cut(r, damage, options);
        }
        if (kept > MAX_ROW) return gt_fail(r->error, "row %zu: longer than %d MB", r->row, MAX_ROW >> 20);
    }
}

static void finish(reading *r)
{
    gt_strings_free(r->raw);
    free(r->known);
    gt_map_free(&r->processes);
    gt_map_free(&r->counted);
    gt_arena_free(&r->arena);
    gt_buffer_free(&r->undoubled);
    gt_buffer_free(&r->repaired);
    free(r);
}

bool gt_rocprof_csv_read(gt_rocprof_writers *writers, gt_stream *stream, const gt_csv_source *source,
                         const gt_read_options *options, gt_error *error)
{
    reading *r = gt_alloc_zero(1, sizeof *r);
    r->writers = writers;
    r->run = writers->run;
    r->source = source;
    r->path = gt_stream_path(stream);
    r->error = error;
    r->raw = gt_strings_new();
    r->last_pid = INT64_MIN;
    r->process = source->process;
    gt_progress_begin(r->path, gt_stream_size(stream));
    r->long_names = options->long_names;
    bool read = read_blocks(r, stream, options);
    gt_progress_end();
    if (!read) gt_error_prefix(error, r->path);
    finish(r);
    return read;
}
