/* Full parsing of records: walk the object key by key, look up each key in the tree of wanted paths, and note
 * where every value is, so that the next record of this shape can be read by comparison (learned.c). */
#include "input/json/record.h"
#include "json/scan.h"
#include "json/string.h"
#include "input/json/learned.h"

enum {
    MAX_STEPS = 160,       /* most values in a record that is worth learning */
    MAX_NUMBERS = 4,       /* most numbers of an unwanted object that are learned one by one, */
    MAX_NUMBERS_TEXT = 96, /* and most bytes of such an object */
    WATCH_RECORDS = 4096,  /* if of this many records ... */
    WATCH_MISSES = 1024,   /* ... this many were parsed in full, records are not alike, and learning pauses */
    REST_RECORDS = 65536,
};

/* The wanted paths as a tree of keys. */
typedef struct key_node {
    gt_str key;
    int field; /* -1: an object on the path to one */
    struct key_node *children, *next;
} key_node;

struct gt_record_reader {
    _Alignas(8) uint8_t scratch[GT_RECORD_SCRATCH];
    const void *context;
    gt_interner *meanings;
    const gt_field *fields;
    size_t field_count;
    gt_arena arena;
    key_node root;
    gt_json_interner *strings, *values;
    gt_learned *learned;
    gt_step steps[MAX_STEPS];
    size_t step_count;            /* more than MAX_STEPS: not worth learning */
    unsigned depth;               /* of the record in the document */
    gt_record_unwanted *unwanted; /* NULL: every record is wanted */
    gt_record_needed *needed;     /* NULL: every field is needed */
    gt_record_derived *derived;   /* NULL: no field is derived */
    size_t derived_field;
    uint64_t records, misses, watched_misses, rest_until;
};

static key_node *find_child(const key_node *parent, gt_str key)
{
    for (key_node *child = parent->children; child; child = child->next)
        if (child->key.len == key.len && child->key.bytes[0] == key.bytes[0] &&
            memcmp(child->key.bytes, key.bytes, key.len) == 0)
            return child;
    return NULL;
}

static void add_path(gt_record_reader *reader, const char *path, int field)
{
    key_node *at = &reader->root;
    for (const char *key = path, *slash; key; key = slash ? slash + 1 : NULL) {
        slash = strchr(key, '/');
        gt_str text = {key, slash ? (size_t)(slash - key) : strlen(key)};
        key_node *child = find_child(at, text);
        if (!child) {
            child = gt_arena_alloc(&reader->arena, sizeof *child);
            *child = (key_node){.key = text, .field = -1, .next = at->children};
            at->children = child;
        }
        at = child;
    }
    at->field = field;
}

gt_record_reader *gt_record_reader_new(const gt_field *fields, size_t count, gt_interner *strings)
{
    gt_record_reader *reader = gt_alloc_zero(1, sizeof *reader);
    reader->fields = fields;
    reader->field_count = count;
    reader->meanings = strings;
    reader->root.field = -1;
    for (size_t f = 0; f < count; f++)
        if (fields[f].path) add_path(reader, fields[f].path, (int)f);
    reader->strings = gt_json_interner_new(GT_INTERN_STRINGS, strings);
    reader->values = gt_json_interner_new(GT_INTERN_VALUES, strings);
    reader->learned = gt_learned_new(reader->strings, reader->values);
    return reader;
}

void gt_record_reader_drop(gt_record_reader *reader, gt_record_unwanted *unwanted)
{
    reader->unwanted = unwanted;
}

void gt_record_reader_need(gt_record_reader *reader, gt_record_needed *needed)
{
    reader->needed = needed;
}

void gt_record_reader_derive(gt_record_reader *reader, size_t field, gt_record_derived *derived)
{
    reader->derived = derived;
    reader->derived_field = field;
}

void gt_record_reader_free(gt_record_reader *reader)
{
    if (!reader) return;
    gt_learned_free(reader->learned);
    gt_json_interner_free(reader->strings);
    gt_json_interner_free(reader->values);
    gt_arena_free(&reader->arena);
    gt_free(reader);
}

uint64_t gt_record_reader_misses(const gt_record_reader *reader)
{
    return reader->misses;
}

gt_interner *gt_record_strings(const gt_record_reader *reader)
{
    return reader->meanings;
}

void *gt_record_scratch(gt_record_reader *reader)
{
    return reader->scratch;
}

void gt_record_set_context(gt_record_reader *reader, const void *context)
{
    reader->context = context;
}

const void *gt_record_context(const gt_record_reader *reader)
{
    return reader->context;
}

gt_str gt_record_view(const gt_record *record, size_t field)
{
    if (!(record->present >> field & 1)) return (gt_str){"", 0};
    return (gt_str){(const char *)record->text + record->views[field].begin, record->views[field].len};
}

uint32_t gt_record_decode(gt_record_reader *reader, gt_str raw)
{
    if (gt_json_string_is_plain(raw)) return gt_interner_add(reader->meanings, raw.bytes, raw.len);
    if (gt_json_string_bad_escape(raw)) return GT_STR_NONE;
    char *meaning = gt_alloc(raw.len * 3 + 1);
    uint32_t id = gt_interner_add(reader->meanings, meaning, gt_json_string_decode(raw, meaning));
    gt_free(meaning);
    return id;
}

/* ---- full parsing ---- */

static uint32_t place(const gt_json *json)
{
    return (uint32_t)(json->at - json->mark);
}

/* Words such as NaN are learned as part of the text. */
static bool is_named_number(const gt_json *json, uint32_t begin)
{
    const uint8_t *p = json->mark + begin;
    return *p == 'N' || *p == 'I' || (*p == '-' && p[1] == 'I');
}

/* `depth`: of the value in the document. */
static void note_step(gt_record_reader *reader, unsigned depth, gt_step step)
{
    step.depth = depth - reader->depth;
    if (reader->step_count < MAX_STEPS) reader->steps[reader->step_count] = step;
    reader->step_count++;
}

/* The record is not learned: the text alone does not show whether such a value is an integer. */
static bool mistyped_integer(gt_record_reader *reader, gt_record *record, int field)
{
    record->mistyped |= UINT64_C(1) << field;
    reader->step_count = MAX_STEPS + 1;
    return true;
}

/* Notes the numbers of an unwanted object such as {"handle":16} one by one: its keys are then compared and
 * its numbers skipped, or folded if they stay the same, which is several times faster than parsing the object
 * again in every record. `p` is at its bracket. False if it contains anything else or is long. */
static bool note_numbers(gt_record_reader *reader, const gt_json *json, const uint8_t *p)
{
    gt_step steps[MAX_NUMBERS];
    size_t count = 0;
    const uint8_t *end = json->at;
    if (end - p > MAX_NUMBERS_TEXT) return false;
    do {
        const uint8_t *key = gt_scan_space(p + 1, end);
        if (*key != '"' || count == MAX_NUMBERS) return false;
        const uint8_t *close = gt_scan_quote(key + 1, end);
        if (*close != '"') return false;
        const uint8_t *number = gt_scan_space(gt_scan_space(close + 1, end) + 1, end);
        const uint8_t *after = gt_scan_number(number);
        if (!after) return false;
        steps[count++] = (gt_step){.op = GT_STEP_SKIP_NUMBER,
                                   .field = -1,
                                   .begin = (uint32_t)(number - json->mark),
                                   .end = (uint32_t)(after - json->mark)};
        p = gt_scan_space(after, end);
    } while (*p == ',');
    for (size_t i = 0; i < count; i++) note_step(reader, json->depth + 1, steps[i]);
    return true;
}

/* Skips a value that is not wanted, or that is wanted but has the wrong type (field >= 0). */
static bool skip_value(gt_record_reader *reader, gt_json *json, gt_record *record, gt_json_type type,
                       int field)
{
    gt_step step = {.op = GT_STEP_CONSTANT, .field = field, .mistyped = field >= 0, .begin = place(json)};
    if (!gt_json_skip(json)) return false;
    step.end = place(json);
    if (type == GT_JSON_STRING) {
        step.op = GT_STEP_SKIP_STRING;
        step.begin++;
        step.end--;
    } else if (type == GT_JSON_NUMBER) {
        step.op = is_named_number(json, step.begin) ? GT_STEP_CONSTANT : GT_STEP_SKIP_NUMBER;
    } else if (type == GT_JSON_OBJECT || type == GT_JSON_ARRAY) {
        if (type == GT_JSON_OBJECT && field < 0 && note_numbers(reader, json, json->mark + step.begin))
            return true;
        step.op = GT_STEP_SKIP_CONTAINER;
        step.begin++;
    }
    if (field >= 0) record->mistyped |= UINT64_C(1) << field;
    note_step(reader, json->depth, step);
    return true;
}

static void set_value(gt_record_reader *reader, const gt_json *json, gt_record *record, gt_step step)
{
    record->cells[step.field] = step.cell;
    record->present |= UINT64_C(1) << step.field;
    note_step(reader, json->depth, step);
}

static bool number_to_int(const gt_json_number *number, int64_t *out)
{
    if (number->is_int) {
        *out = number->integer;
        return true;
    }
    if (!(fabs(number->real) < 9007199254740992.0) || number->real != rint(number->real)) return false;
    *out = (int64_t)number->real;
    return true;
}

static bool read_number_field(gt_record_reader *reader, gt_json *json, gt_record *record, int field)
{
    gt_step step = {.field = field, .begin = place(json)};
    gt_json_number number;
    if (!gt_json_read_number(json, &number)) return false;
    step.end = place(json);
    if (reader->fields[field].kind == GT_FIELD_TIME) {
        step.op = is_named_number(json, step.begin) ? GT_STEP_CONSTANT : GT_STEP_TIME;
        step.cell.time = number.real;
        record->integral |= (uint64_t)number.is_int << field;
    } else {
        step.op = GT_STEP_INT;
        if (!number_to_int(&number, &step.cell.integer)) return mistyped_integer(reader, record, field);
    }
    set_value(reader, json, record, step);
    return true;
}

/* Some writers put integers in quotes. */
static bool string_to_int(gt_str raw, int64_t *out)
{
    gt_json_number number;
    if (!gt_json_parse_number(raw, &number) || !number.is_int) return false;
    *out = number.integer;
    return true;
}

static bool read_string_field(gt_record_reader *reader, gt_json *json, gt_record *record, int field)
{
    gt_field_kind kind = reader->fields[field].kind;
    gt_step step = {.field = field, .begin = place(json) + 1};
    gt_str raw;
    if (!gt_json_string(json, &raw)) return false;
    step.end = place(json) - 1;
    if (kind == GT_FIELD_VIEW) {
        step.op = GT_STEP_VIEW;
        record->views[field].begin = step.begin;
        record->views[field].len = step.end - step.begin;
    } else if (kind == GT_FIELD_STRING) {
        step.op = reader->fields[field].few ? GT_STEP_CONSTANT : GT_STEP_TEXT;
        step.cell.text =
            gt_json_interner_decoded(reader->strings, gt_json_interner_add(reader->strings, raw));
    } else if (kind == GT_FIELD_INT) {
        if (!string_to_int(raw, &step.cell.integer)) return mistyped_integer(reader, record, field);
        step.op = GT_STEP_INT;
    } else {
        record->mistyped |= UINT64_C(1) << field;
        step.op = GT_STEP_SKIP_STRING;
        step.mistyped = true;
        note_step(reader, json->depth, step);
        return true;
    }
    set_value(reader, json, record, step);
    return true;
}

static bool read_json_field(gt_record_reader *reader, gt_json *json, gt_record *record, int field)
{
    gt_step step = {.op = GT_STEP_JSON, .field = field, .begin = place(json)};
    if (!gt_json_skip(json)) return false;
    step.end = place(json);
    gt_str raw = {(const char *)json->mark + step.begin, step.end - step.begin};
    step.cell.text = gt_json_interner_decoded(reader->values, gt_json_interner_add(reader->values, raw));
    set_value(reader, json, record, step);
    return true;
}

static bool read_field(gt_record_reader *reader, gt_json *json, gt_record *record, int field)
{
    gt_json_type type = gt_json_peek(json);
    gt_field_kind kind = reader->fields[field].kind;
    if (type == GT_JSON_NULL) return skip_value(reader, json, record, type, -1);
    if (kind == GT_FIELD_JSON) return read_json_field(reader, json, record, field);
    if (type == GT_JSON_STRING) return read_string_field(reader, json, record, field);
    if (type == GT_JSON_NUMBER && (kind == GT_FIELD_INT || kind == GT_FIELD_TIME))
        return read_number_field(reader, json, record, field);
    if (kind == GT_FIELD_INT && (type == GT_JSON_TRUE || type == GT_JSON_FALSE)) {
        gt_step step = {.op = GT_STEP_CONSTANT, .field = field, .cell.integer = type == GT_JSON_TRUE};
        if (!gt_json_literal(json)) return false;
        set_value(reader, json, record, step);
        return true;
    }
    return type != GT_JSON_NONE && skip_value(reader, json, record, type, field);
}

/* Keys with escapes are rare; only then the key is decoded. */
static key_node *find_key(const gt_json *json, const key_node *parent, gt_str raw)
{
    char meaning[256];
    if (json->escaped && raw.len * 3 <= sizeof meaning)
        raw = (gt_str){meaning, gt_json_string_decode(raw, meaning)};
    return find_child(parent, raw);
}

/* Descends only as deep as the wanted paths. */
static bool read_object(gt_record_reader *reader, gt_json *json, gt_record *record, const key_node *node)
{
    gt_str key;
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        const key_node *child = find_key(json, node, key);
        bool read;
        if (child && child->field >= 0) {
            read = read_field(reader, json, record, child->field);
        } else {
            gt_json_type type = gt_json_peek(json);
            if (child && type == GT_JSON_OBJECT) {
                read = read_object(reader, json, record, child);
            } else {
                if (child) record->not_object = true;
                read = type != GT_JSON_NONE && skip_value(reader, json, record, type, -1);
            }
        }
        if (!read) return false;
        if (json->at - json->mark > GT_JSON_MAX_VALUE)
            return gt_json_fail(json, "a record is larger than %d MiB", GT_JSON_MAX_VALUE >> 20);
    }
    return !json->failed;
}

static bool read_general(gt_record_reader *reader, gt_json *json, gt_record *record)
{
    reader->step_count = 0;
    reader->depth = json->depth;
    gt_json_set_mark(json);
    bool read;
    if (gt_json_peek(json) == GT_JSON_OBJECT) {
        read = read_object(reader, json, record, &reader->root);
    } else {
        record->not_object = true;
        read = gt_json_skip(json);
    }
    record->text = json->mark;
    gt_json_clear_mark(json);
    return read;
}

/* The first value after the last of these fields and of the `few` fields, which decide what is wanted.
 * GT_NOT_DECIDED if one of them is missing, because it may come later in a record that begins alike. */
static size_t step_after(const gt_record_reader *reader, uint64_t fields)
{
    for (size_t f = 0; f < reader->field_count; f++) fields |= (uint64_t)reader->fields[f].few << f;
    uint64_t missing = fields;
    size_t at = 0;
    for (size_t i = 0; i < reader->step_count; i++) {
        const gt_step *step = &reader->steps[i];
        if (step->field < 0 || !(fields >> step->field & 1)) continue;
        missing &= ~(UINT64_C(1) << step->field);
        at = i + 1;
    }
    if (missing) return GT_NOT_DECIDED;
    while (at < reader->step_count && reader->steps[at].op == GT_STEP_CONSTANT) at++;
    return at;
}

static gt_learned_stop find_stop(gt_record_reader *reader, const gt_record *record)
{
    if (record->dropped) return (gt_learned_stop){step_after(reader, 0), true};
    uint64_t needed = reader->needed ? reader->needed(record, reader) : UINT64_MAX;
    if (needed == UINT64_MAX) return (gt_learned_stop){GT_NOT_DECIDED, false};
    return (gt_learned_stop){step_after(reader, needed), false};
}

/* Puts the derived field after the fields that it follows from, as a part of the text there. */
static void learn_derived(gt_record_reader *reader, const gt_record *record)
{
    size_t at = step_after(reader, 0);
    if (at == GT_NOT_DECIDED || reader->step_count == MAX_STEPS) return;
    memmove(reader->steps + at + 1, reader->steps + at, (reader->step_count - at) * sizeof *reader->steps);
    reader->steps[at] = (gt_step){.op = GT_STEP_CONSTANT,
                                  .field = (int)reader->derived_field,
                                  .cell = record->cells[reader->derived_field]};
    reader->step_count++;
}

static void learn_record(gt_record_reader *reader, const gt_json *json, const gt_record *record)
{
    if (record->not_object || reader->step_count > MAX_STEPS) return;
    if (reader->derived) learn_derived(reader, record);
    gt_learned_add(reader->learned, record->text, (size_t)(json->at - record->text), reader->steps,
                   reader->step_count, find_stop(reader, record));
}

/* Learning pays off while records are alike; otherwise it pauses for a while. */
static void count_records(gt_record_reader *reader, size_t count)
{
    uint64_t before = reader->records;
    reader->records += count;
    if (before / WATCH_RECORDS == reader->records / WATCH_RECORDS) return;
    if (reader->misses - reader->watched_misses > WATCH_MISSES && reader->records > reader->rest_until)
        reader->rest_until = reader->records + REST_RECORDS;
    reader->watched_misses = reader->misses;
}

/* Decides what the `few` fields decide, unless the text that was learned did. */
static void judge_record(gt_record_reader *reader, gt_record *record)
{
    if (record->dropped) return;
    if (reader->derived && !(record->present >> reader->derived_field & 1)) {
        record->cells[reader->derived_field].integer = reader->derived(record, reader);
        record->present |= UINT64_C(1) << reader->derived_field;
    }
    record->dropped = reader->unwanted && reader->unwanted(record, reader);
}

static void begin_record(gt_record *record)
{
    record->present = record->mistyped = record->integral = 0;
    record->not_object = record->dropped = false;
}

bool gt_record_read(gt_record_reader *reader, gt_json *json, gt_record *record)
{
    bool resting = reader->records < reader->rest_until;
    count_records(reader, 1);
    begin_record(record);
    if (!resting) {
        const uint8_t *text = json->at;
        if (gt_learned_read(reader->learned, json, record)) {
            record->text = text;
            judge_record(reader, record);
            return true;
        }
        begin_record(record);
    }
    reader->misses++;
    if (!read_general(reader, json, record)) return false;
    judge_record(reader, record);
    if (!resting) learn_record(reader, json, record);
    return true;
}

size_t gt_record_skip_dropped(gt_record_reader *reader, gt_json *json, gt_str separator, uint64_t limit)
{
    uint64_t offset = gt_json_offset(json), left = (uint64_t)(json->end - json->at);
    if (reader->records < reader->rest_until || limit <= offset) return 0;
    if (left > limit - offset) left = limit - offset;
    size_t count = gt_learned_skip(reader->learned, json, separator, json->at + left);
    count_records(reader, count);
    return count;
}
