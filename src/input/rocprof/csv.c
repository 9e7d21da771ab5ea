/* The CSV reader: the header turns into a plan, one step a column, and each row goes through the plan once.
 * Numbers go straight into the cells of the store that the file fills; rocprof_csv_row.c makes records of the
 * rows. */
#include "input/rocprof/csv.h"
#include "base/log.h"
#include "base/progress.h"
#include "input/sheets/csv_scan.h"
#include "input/rocprof/csv_row.h"
#include "json/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROW = 64 * 1024 * 1024 };

/* ---- the plan ---- */

static gt_csv_step plan_of(gt_csv_row *r, gt_str name)
{
    gt_csv_step step = gt_csv_column(r->kind, name);
    if (step.kind == GT_CSV_WIDE) {
        if (r->writers->counters)
            step.counter = gt_csv_interned_field(r, SLOT_NAME, name);
        else
            step.kind = GT_CSV_SKIP;
    }
    return step;
}

/* Columns whose cells the stores at hand would not keep need not be read. */
static bool is_kept(const gt_csv_row *r, const gt_csv_step *s)
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

static void make_plan(gt_csv_row *r, const gt_csv_header *h)
{
    r->columns = h->count;
    r->doubled = gt_str_equals_nocase(h->names[0], "Guid");
    for (size_t i = 0; i < h->count; i++) {
        gt_str name = h->names[i];
        r->names[i] = (gt_str){gt_arena_bytes(&r->arena, name.bytes, name.len), name.len};
        r->plan[i] = plan_of(r, name);
        if (!is_kept(r, &r->plan[i])) r->plan[i].kind = GT_CSV_SKIP;
    }
}

/* ---- fields ---- */

/* As much of a text as a sentence can show. */
static int shown(gt_str text, size_t most)
{
    size_t len = 0;
    while (len < text.len && len < most && (unsigned char)text.bytes[len] >= ' ') len++;
    return (int)len;
}

static bool bad_field(gt_csv_row *r, size_t column, gt_str text, const char *expected)
{
    gt_str name = r->names[column];
    return gt_fail(r->error, "row %zu: '%.*s' holds '%.*s' and not %s", r->row, shown(name, 100), name.bytes,
                   shown(text, 60), text.bytes, expected);
}

/* An integer of 64 bits, with or without sign; those from 2^63 on keep their bits. */
static bool to_int(gt_str text, int64_t *out)
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

static bool to_trailing_int(gt_str text, int64_t *out)
{
    size_t begin = text.len;
    while (begin && isdigit((unsigned char)text.bytes[begin - 1])) begin--;
    return to_int((gt_str){text.bytes + begin, text.len - begin}, out);
}

static bool to_real(gt_str text, double *out)
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
static bool take(gt_csv_row *r, size_t column, gt_str text)
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
    case GT_CSV_INTERNED:
        r->cells[s->slot].text = gt_csv_interned_field(r, s->slot, text);
        break;
    case GT_CSV_WIDE:
        return to_real(text, &r->wide[column]) || bad_field(r, column, text, "a number");
    default:
        r->texts[s->slot] = text;
    }
    r->present |= UINT64_C(1) << s->slot;
    return true;
}

/* ---- rows ---- */

typedef enum row_end { ROW_WHOLE, ROW_CUT, ROW_BAD } row_end;

/* One field that is not a plain number: gives the place behind it, or NULL where the text ends before that.
 */
static const uint8_t *general_field(gt_csv_row *r, const uint8_t *p, const uint8_t *end, bool last,
                                    gt_str *text)
{
    bool quoted = p < end && *p == '"';
    const uint8_t *begin = p + quoted;
    const uint8_t *close = quoted ? gt_csv_closing_quote(begin, end, r->doubled) : gt_csv_plain_end(p, end);
    if (!close && last && quoted && end > begin && end[-1] == '"')
        close = end - 1; /* no line end after the last row */
    if (!close && last && !quoted) close = end;
    if (!close) return NULL;
    *text = (gt_str){(const char *)begin, (size_t)(close - begin)};
    return close + quoted;
}

/* Reads the row at *at and moves behind it; `last`: nothing follows `end`. */
static row_end read_row(gt_csv_row *r, const uint8_t **at, const uint8_t *end, bool last)
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
            gt_str text;
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
    *at = gt_csv_after_line_end(p, end);
    return ROW_WHOLE;
}

/* The rows that are whole in a block; *at is behind them. */
static row_end read_rows(gt_csv_row *r, const uint8_t **at, const uint8_t *end, bool last)
{
    while (*at < end) {
        if (**at == '\n' || **at == '\r') {
            *at += 1;
            continue;
        }
        row_end read = read_row(r, at, end, last);
        if (read != ROW_WHOLE) return read;
        gt_csv_adders[r->kind](r);
        r->row++;
    }
    return ROW_WHOLE;
}

static bool accept_cut(gt_csv_row *r, const char *damage, const gt_read_options *options)
{
    const char *why = damage ? damage : "the last row is not whole";
    if (options->strict)
        return gt_fail(r->error, "the file ends early (%s), after %zu rows", why, r->row - 2);
    gt_warn("%s: the file ends early (%s): %zu rows were read, the rest is missing", r->path, why,
            r->row - 2);
    return true;
}

/* The first line, once it is whole; *at is behind it then. */
static bool begin(gt_csv_row *r, gt_str text, const uint8_t **at)
{
    gt_csv_header h;
    if (!gt_csv_header_split(text, &h)) return false;
    r->kind = gt_csv_header_kind(&h);
    if (gt_csv_adders[r->kind]) make_plan(r, &h);
    *at = h.rows;
    r->row = 2;
    return true;
}

static bool read_blocks(gt_csv_row *r, gt_stream *stream, const gt_read_options *options)
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
            if (!begin(r, (gt_str){(const char *)text, len}, &at)) {
                kept = len;
                if (last || kept > MAX_ROW) return gt_fail(r->error, "the first line names no columns");
                continue;
            }
            if (r->kind == GT_CSV_UNKNOWN)
                return gt_fail(r->error, "this is %s", gt_rocprof_csv_kind_name(r->kind));
            if (!gt_csv_adders[r->kind]) return true;
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

static void finish(gt_csv_row *r)
{
    gt_interner_free(r->raw);
    gt_free(r->known);
    gt_map_free(&r->processes);
    gt_map_free(&r->counted);
    gt_arena_free(&r->arena);
    gt_buffer_free(&r->undoubled);
    gt_buffer_free(&r->repaired);
    gt_free(r);
}

bool gt_rocprof_csv_read(gt_rocprof_writers *writers, gt_stream *stream, const gt_csv_source *source,
                         const gt_read_options *options, gt_error *error)
{
    gt_csv_row *r = gt_alloc_zero(1, sizeof *r);
    r->writers = writers;
    r->run = writers->run;
    r->source = source;
    r->path = gt_stream_path(stream);
    r->error = error;
    r->raw = gt_interner_new();
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
