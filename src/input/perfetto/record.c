/* Events to records. The field of an annotation is looked up once per name: string ids are small numbers, so
 * an array by string id holds the result. The cells of process and thread are made once per track. */
#include "input/perfetto/record.h"
#include "input/json/interner.h"
#include "input/perfetto/packets.h"

enum { UNKNOWN = 0, UNWANTED = 1, FIELD = 2 }; /* the entry of a name; FIELD + f: it is field f */

typedef enum head { HEAD_PHASE, HEAD_CATEGORY, HEAD_NAME, HEAD_PID, HEAD_TID, HEAD_TS, HEAD_DUR, HEADS } head;
static const char *const head_paths[HEADS] = {"ph", "cat", "name", "pid", "tid", "ts", "dur"};
enum { PHASES = GT_PERFETTO_COUNTER + 2 };
static const char *const phases[PHASES] = {"X", "", "X", "i", "C", "b"};
enum { PHASE_ON_CUSTOM = PHASES - 1 };

typedef struct track_cells {
    bool is_known;
    int64_t pid, tid; /* that the strings were made from */
    uint32_t pid_text, tid_text;
} track_cells;

struct gt_perfetto_records {
    gt_perfetto *trace;
    const gt_field *fields;
    size_t count;
    int heads[HEADS]; /* field numbers, -1: not wanted */
    uint32_t phase_texts[PHASES];
    uint8_t *field_of_name; /* by string id */
    size_t name_count;
    track_cells *tracks;
    size_t track_count;
    gt_json_interner *values;  /* of JSON values */
    uint32_t *json_of_strings; /* by string id: the string as JSON; GT_STR_NONE: not made yet */
    size_t json_count;
    gt_buffer scratch;
};

gt_perfetto_records *gt_perfetto_records_new(gt_perfetto *trace, const gt_field *fields, size_t count)
{
    gt_perfetto_records *r = gt_alloc_zero(1, sizeof *r);
    gt_interner *strings = gt_perfetto_strings(trace);
    r->trace = trace;
    r->fields = fields;
    r->count = count;
    for (size_t h = 0; h < HEADS; h++) {
        r->heads[h] = -1;
        for (size_t f = 0; f < count; f++)
            if (fields[f].path && strcmp(fields[f].path, head_paths[h]) == 0) r->heads[h] = (int)f;
    }
    for (size_t i = 0; i < PHASES; i++) r->phase_texts[i] = gt_interner_add_cstr(strings, phases[i]);
    r->values = gt_json_interner_new(GT_INTERN_VALUES, strings);
    return r;
}

void gt_perfetto_records_free(gt_perfetto_records *r)
{
    if (!r) return;
    gt_json_interner_free(r->values);
    gt_buffer_free(&r->scratch);
    gt_free_all(r->field_of_name, r->json_of_strings, r->tracks, r);
}

double gt_perfetto_us(int64_t time_ns)
{
    enum { EXACT = 53 };
    if (time_ns < INT64_C(1) << EXACT && time_ns > -(INT64_C(1) << EXACT)) return (double)time_ns / 1000.0;
    return (double)(time_ns / 1000) + (double)(time_ns % 1000) / 1000.0;
}

/* ---- the event itself ---- */

static void set(gt_record *record, int field, gt_store_cell cell)
{
    if (field < 0) return;
    record->cells[field] = cell;
    record->present |= UINT64_C(1) << field;
}

static void set_text(gt_record *record, int field, uint32_t text)
{
    if (text != GT_STR_NONE) set(record, field, (gt_store_cell){.text = text});
}

static uint32_t text_of_int(gt_perfetto_records *r, int64_t value)
{
    char digits[GT_NUMBER_MAX];
    return gt_interner_add(gt_perfetto_strings(r->trace), digits, gt_print_int(digits, value));
}

static const track_cells *cells_of(gt_perfetto_records *r, uint32_t at)
{
    if (at >= r->track_count) {
        size_t count = (size_t)at + 1 + r->track_count / 2;
        r->tracks = gt_realloc(r->tracks, count * sizeof *r->tracks);
        memset(r->tracks + r->track_count, 0, (count - r->track_count) * sizeof *r->tracks);
        r->track_count = count;
    }
    track_cells *cells = &r->tracks[at];
    const gt_perfetto_track *track = gt_perfetto_track_of(r->trace, at);
    bool is_thread = track->kind == GT_TRACK_THREAD;
    if (cells->is_known && is_thread && cells->pid == track->pid && cells->tid == track->tid) return cells;
    int64_t pid = is_thread ? track->pid : gt_perfetto_pid(r->trace, at), tid = is_thread ? track->tid : pid;
    if (cells->is_known && cells->pid == pid && cells->tid == tid) return cells;
    *cells = (track_cells){true, pid, tid, text_of_int(r, pid), text_of_int(r, tid)};
    return cells;
}

static void set_id(const gt_perfetto_records *r, gt_record *record, head h, int64_t value, uint32_t text)
{
    int field = r->heads[h];
    if (field < 0) return;
    set(record, field,
        r->fields[field].kind == GT_FIELD_INT ? (gt_store_cell){.integer = value}
                                              : (gt_store_cell){.text = text});
}

void gt_perfetto_record_head(gt_perfetto_records *r, const gt_perfetto_event *event, gt_record *record)
{
    record->present = record->mistyped = record->integral = 0;
    record->dropped = record->not_object = false;
    bool is_thread = gt_perfetto_track_of(r->trace, event->track)->kind == GT_TRACK_THREAD;
    bool is_slice = event->type == GT_PERFETTO_BEGIN || event->type == GT_PERFETTO_COMPLETE;
    set_text(record, r->heads[HEAD_PHASE],
             r->phase_texts[is_slice && !is_thread ? PHASE_ON_CUSTOM : (int)event->type]);
    set_text(record, r->heads[HEAD_CATEGORY], event->category);
    set_text(record, r->heads[HEAD_NAME], event->name);
    const track_cells *cells = cells_of(r, event->track);
    set_id(r, record, HEAD_PID, cells->pid, cells->pid_text);
    set_id(r, record, HEAD_TID, cells->tid, cells->tid_text);
    set(record, r->heads[HEAD_TS], (gt_store_cell){.time = gt_perfetto_us(event->time_ns)});
    if (event->type == GT_PERFETTO_COMPLETE)
        set(record, r->heads[HEAD_DUR], (gt_store_cell){.time = gt_perfetto_us(event->dur_ns)});
}

/* ---- annotations ---- */

static uint8_t find_field(const gt_perfetto_records *r, uint32_t name)
{
    static const char prefix[] = "args/";
    gt_str text = gt_interner_get(gt_perfetto_strings(r->trace), name);
    for (size_t f = 0; f < r->count; f++) {
        const char *path = r->fields[f].path;
        if (!path || strncmp(path, prefix, sizeof prefix - 1) != 0) continue;
        path += sizeof prefix - 1;
        if (gt_str_equals(text, path)) return (uint8_t)(FIELD + f);
    }
    return UNWANTED;
}

static uint8_t learn_field(gt_perfetto_records *r, uint32_t name)
{
    if (name >= r->name_count) {
        size_t count = (size_t)name + 1 + r->name_count / 2;
        r->field_of_name = gt_realloc(r->field_of_name, count);
        memset(r->field_of_name + r->name_count, UNKNOWN, count - r->name_count);
        r->name_count = count;
    }
    return r->field_of_name[name] = find_field(r, name);
}

static inline uint8_t field_of(gt_perfetto_records *r, uint32_t name)
{
    return name < r->name_count && r->field_of_name[name] != UNKNOWN ? r->field_of_name[name]
                                                                     : learn_field(r, name);
}

static uint32_t json_of_value(gt_perfetto_records *r, const gt_note *note)
{
    r->scratch.len = 0;
    gt_note_add_json(r->trace, &r->scratch, note);
    memset(gt_buffer_reserve(&r->scratch, GT_STREAM_PAD), 0, GT_STREAM_PAD);
    uint32_t raw = gt_json_interner_add(r->values, (gt_str){r->scratch.bytes, r->scratch.len});
    return raw == GT_STR_NONE ? GT_STR_NONE : gt_json_interner_decoded(r->values, raw);
}

/* Strings repeat often: their JSON is made once. */
static uint32_t json_of(gt_perfetto_records *r, const gt_note *note)
{
    if (note->type != GT_NOTE_STRING) return json_of_value(r, note);
    uint32_t text = note->text_id ? note->text_id : gt_perfetto_intern(r->trace, note->text);
    if (text >= r->json_count) {
        size_t count = (size_t)text + 1 + r->json_count;
        r->json_of_strings = gt_realloc(r->json_of_strings, count * sizeof *r->json_of_strings);
        memset(r->json_of_strings + r->json_count, 0, (count - r->json_count) * sizeof *r->json_of_strings);
        r->json_count = count;
    }
    if (!r->json_of_strings[text]) r->json_of_strings[text] = json_of_value(r, note);
    return r->json_of_strings[text];
}

static void set_note(gt_perfetto_records *r, gt_record *record, int field, const gt_note *note)
{
    gt_store_cell cell = {0};
    bool fits = false;
    switch (r->fields[field].kind) {
    case GT_FIELD_INT:
        fits = gt_note_int(note, &cell.integer);
        break;
    case GT_FIELD_TIME:
        fits = gt_note_double(note, &cell.time);
        break;
    case GT_FIELD_STRING:
        fits = note->type == GT_NOTE_STRING;
        if (fits) cell.text = note->text_id ? note->text_id : gt_perfetto_intern(r->trace, note->text);
        break;
    case GT_FIELD_JSON:
        cell.text = json_of(r, note);
        fits = cell.text != GT_STR_NONE;
        break;
    default:
        break;
    }
    if (fits)
        set(record, field, cell);
    else
        record->mistyped |= UINT64_C(1) << field;
}

/* The fast path: an annotation with an interned name and an integer, as nearly all are. Returns its field and
 * sets the cell; -1 if it is another annotation. */
static inline int read_integer(gt_perfetto_records *r, const gt_interned *names, gt_str note,
                               gt_store_cell *cell)
{
    enum { /* the tags of varints */
           NAME_IID = GT_PF_NOTE_NAME_IID << 3,
           UINT = GT_PF_NOTE_UINT << 3,
           INT = GT_PF_NOTE_INT << 3
    };
    const uint8_t *at = (const uint8_t *)note.bytes, *end = at + note.len;
    uint64_t iid, value;
    if (note.len < 4 || *at++ != NAME_IID || !(at = gt_varint(at, end, &iid)) || at == end ||
        (*at != UINT && *at != INT))
        return -1;
    bool is_signed = *at++ == INT;
    if (gt_varint(at, end, &value) != end || (!is_signed && value > INT64_MAX)) return -1;
    cell->integer = (int64_t)value;
    uint8_t field = field_of(r, gt_interned_get(names, iid));
    if (field < FIELD) return -1;
    field = (uint8_t)(field - FIELD);
    return r->fields[field].kind == GT_FIELD_INT ? field : -1;
}

void gt_perfetto_record_args(gt_perfetto_records *r, const gt_perfetto_event *event, gt_record *record,
                             gt_perfetto_unknown_note *other, void *context)
{
    const gt_interned *names = gt_perfetto_note_names(r->trace);
    gt_proto notes = gt_proto_begin(event->notes);
    gt_str bytes;
    gt_note note;
    gt_store_cell cell;
    while (gt_perfetto_next_note_bytes(&notes, &bytes)) {
        int integer = read_integer(r, names, bytes, &cell);
        if (integer >= 0) {
            set(record, integer, cell);
            continue;
        }
        if (!gt_perfetto_read_note(r->trace, bytes, &note)) return;
        uint8_t field = field_of(r, note.name);
        if (field >= FIELD)
            set_note(r, record, field - FIELD, &note);
        else if (other)
            other(context, &note);
    }
}

void gt_perfetto_fill_durations(gt_store *store, size_t column, gt_slices *slices)
{
    size_t count = gt_store_count(store);
    const int64_t *dur_ns = gt_slices_finish(slices, count);
    double *dur_us = gt_alloc(count * sizeof *dur_us);
    for (size_t i = 0; i < count; i++)
        dur_us[i] = dur_ns[i] == GT_SLICE_OPEN ? (double)NAN : gt_perfetto_us(dur_ns[i]);
    gt_store_fill_times(store, column, dur_us);
    gt_free(dur_us);
}
