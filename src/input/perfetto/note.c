/* Annotations: a name and a value of one of a dozen types. The elements of lists and dicts are annotations
 * too. */
#include "input/perfetto/packets.h"
#include "json/string.h"
#include "json/number.h"

enum { DEPTH_MAX = 64 };

static void set_number(gt_note *note, gt_note_type type, const gt_proto_field *field)
{
    note->type = type;
    note->number = field->wire == GT_WIRE_BYTES ? 0 : field->value;
}

static void set_text(gt_note *note, gt_note_type type, gt_str text)
{
    note->type = type;
    note->text = text;
}

static bool read_fields(gt_perfetto *trace, gt_str bytes, gt_note *note)
{
    gt_proto message = gt_proto_begin(bytes);
    gt_proto_field field;
    *note = (gt_note){.message = bytes};
    while (gt_proto_next(&message, &field)) switch (field.number) {
        case GT_PF_NOTE_NAME_IID:
            note->name = gt_interned_get(gt_perfetto_note_names(trace), (uint64_t)gt_proto_int(&field));
            break;
        case GT_PF_NOTE_NAME:
            note->name = gt_perfetto_intern(trace, gt_proto_bytes(&field));
            break;
        case GT_PF_NOTE_BOOL:
            set_number(note, GT_NOTE_BOOL, &field);
            break;
        case GT_PF_NOTE_UINT:
            set_number(note, GT_NOTE_UINT, &field);
            break;
        case GT_PF_NOTE_INT:
            set_number(note, GT_NOTE_INT, &field);
            break;
        case GT_PF_NOTE_DOUBLE:
            set_number(note, GT_NOTE_DOUBLE, &field);
            break;
        case GT_PF_NOTE_POINTER:
            set_number(note, GT_NOTE_POINTER, &field);
            break;
        case GT_PF_NOTE_STRING:
            set_text(note, GT_NOTE_STRING, gt_proto_bytes(&field));
            break;
        case GT_PF_NOTE_STRING_IID:
            note->text_id = gt_interned_get(gt_perfetto_note_strings(trace), (uint64_t)gt_proto_int(&field));
            set_text(note, GT_NOTE_STRING, gt_interner_get(gt_perfetto_strings(trace), note->text_id));
            break;
        case GT_PF_NOTE_JSON:
            set_text(note, GT_NOTE_JSON, gt_proto_bytes(&field));
            break;
        case GT_PF_NOTE_NESTED:
            note->type = GT_NOTE_NESTED;
            note->message = gt_proto_bytes(&field);
            break;
        case GT_PF_NOTE_DICT:
            if (note->type == GT_NOTE_NONE) note->type = GT_NOTE_DICT;
            break;
        case GT_PF_NOTE_LIST:
            if (note->type == GT_NOTE_NONE) note->type = GT_NOTE_LIST;
            break;
        }
    return !message.damaged;
}

bool gt_perfetto_read_note(gt_perfetto *trace, gt_str bytes, gt_note *note)
{
    if (read_fields(trace, bytes, note)) return true;
    gt_perfetto_damage_note(trace);
    return false;
}

bool gt_perfetto_next_note(gt_perfetto *trace, gt_proto *notes, gt_note *note)
{
    gt_str bytes;
    return gt_perfetto_next_note_bytes(notes, &bytes) && gt_perfetto_read_note(trace, bytes, note);
}

/* ---- values ---- */

static double double_of(const gt_note *note)
{
    double value;
    memcpy(&value, &note->number, sizeof value);
    return value;
}

static bool int_of_double(double value, int64_t *out)
{
    if (!(value > -9.2e18 && value < 9.2e18)) return false;
    *out = (int64_t)value;
    return true;
}

bool gt_note_int(const gt_note *note, int64_t *value)
{
    gt_json_number number;
    switch (note->type) {
    case GT_NOTE_BOOL:
    case GT_NOTE_INT:
        *value = (int64_t)note->number;
        return true;
    case GT_NOTE_UINT:
        *value = (int64_t)note->number;
        return note->number <= INT64_MAX;
    case GT_NOTE_DOUBLE:
        return int_of_double(double_of(note), value);
    case GT_NOTE_STRING:
        if (!gt_json_parse_number(note->text, &number) || !number.is_int) return false;
        *value = number.integer;
        return true;
    default:
        return false;
    }
}

bool gt_note_double(const gt_note *note, double *value)
{
    switch (note->type) {
    case GT_NOTE_INT:
        *value = (double)(int64_t)note->number;
        return true;
    case GT_NOTE_UINT:
        *value = (double)note->number;
        return true;
    case GT_NOTE_DOUBLE:
        *value = double_of(note);
        return true;
    default:
        return false;
    }
}

/* ---- JSON ---- */

static void add_string(gt_buffer *out, gt_str text)
{
    gt_buffer scratch = {0};
    gt_json_string_add(out, text, &scratch);
    gt_buffer_free(&scratch);
}

static void add_double(gt_buffer *out, double value)
{
    char *room = gt_buffer_reserve(out, GT_NUMBER_MAX);
    if (isfinite(value))
        out->len += gt_print_double(room, value);
    else
        gt_buffer_add_cstr(out, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static void add_number(gt_buffer *out, const gt_note *note)
{
    char digits[32];
    if (note->type == GT_NOTE_POINTER)
        gt_buffer_add(
            out, digits,
            (size_t)snprintf(digits, sizeof digits, "\"0x%llx\"", (unsigned long long)note->number));
    else if (note->type == GT_NOTE_UINT)
        gt_buffer_add(out, digits,
                      (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)note->number));
    else if (note->type == GT_NOTE_BOOL)
        gt_buffer_add_cstr(out, note->number ? "true" : "false");
    else if (note->type == GT_NOTE_DOUBLE)
        add_double(out, double_of(note));
    else
        gt_buffer_add_int(out, (int64_t)note->number);
}

static void add_value(gt_perfetto *trace, gt_buffer *out, const gt_note *note, unsigned depth);

static void add_members(gt_perfetto *trace, gt_buffer *out, const gt_note *parent, unsigned depth)
{
    bool is_dict = parent->type == GT_NOTE_DICT, first = true;
    gt_proto message = gt_proto_begin(parent->message);
    gt_proto_field field;
    gt_note note;
    gt_buffer_add_cstr(out, is_dict ? "{" : "[");
    while (gt_proto_next(&message, &field)) {
        if (field.number != (is_dict ? GT_PF_NOTE_DICT : GT_PF_NOTE_LIST)) continue;
        if (!gt_perfetto_read_note(trace, gt_proto_bytes(&field), &note)) break;
        if (!first) gt_buffer_add_cstr(out, ",");
        first = false;
        if (is_dict) {
            add_string(out, gt_interner_get(gt_perfetto_strings(trace), note.name));
            gt_buffer_add_cstr(out, ":");
        }
        add_value(trace, out, &note, depth + 1);
    }
    gt_buffer_add_cstr(out, is_dict ? "}" : "]");
}

/* A NestedValue: a dict has a list of keys and a list of values. */
static void add_nested(gt_buffer *out, gt_proto message, unsigned depth)
{
    gt_proto keys = message, values = message;
    gt_proto_field field, key;
    int64_t type = 0;
    bool has_value = false, first = true;
    gt_proto whole = message;
    while (gt_proto_next(&whole, &field))
        if (field.number == GT_PF_NESTED_TYPE) type = gt_proto_int(&field);
    if ((type != GT_PF_NESTED_IS_DICT && type != GT_PF_NESTED_IS_LIST) || depth >= DEPTH_MAX) {
        while (!has_value && gt_proto_next(&message, &field)) {
            has_value = field.number >= GT_PF_NESTED_INT && field.number <= GT_PF_NESTED_STRING;
            if (field.number == GT_PF_NESTED_INT) gt_buffer_add_int(out, gt_proto_int(&field));
            if (field.number == GT_PF_NESTED_DOUBLE) add_double(out, gt_proto_double(&field));
            if (field.number == GT_PF_NESTED_BOOL)
                gt_buffer_add_cstr(out, gt_proto_int(&field) ? "true" : "false");
            if (field.number == GT_PF_NESTED_STRING) add_string(out, gt_proto_bytes(&field));
        }
        if (!has_value) gt_buffer_add_cstr(out, "null");
        return;
    }
    bool is_dict = type == GT_PF_NESTED_IS_DICT;
    gt_buffer_add_cstr(out, is_dict ? "{" : "[");
    while (gt_proto_next(&values, &field)) {
        if (field.number != (is_dict ? GT_PF_NESTED_DICT_VALUE : GT_PF_NESTED_LIST_VALUE)) continue;
        if (!first) gt_buffer_add_cstr(out, ",");
        first = false;
        if (is_dict) {
            bool found = false;
            while (!found && gt_proto_next(&keys, &key)) found = key.number == GT_PF_NESTED_KEY;
            add_string(out, found ? gt_proto_bytes(&key) : (gt_str){"", 0});
            gt_buffer_add_cstr(out, ":");
        }
        add_nested(out, gt_proto_message(&field), depth + 1);
    }
    gt_buffer_add_cstr(out, is_dict ? "}" : "]");
}

static void add_value(gt_perfetto *trace, gt_buffer *out, const gt_note *note, unsigned depth)
{
    switch (note->type) {
    case GT_NOTE_NONE: /* an empty list has no field at all */
        gt_buffer_add_cstr(out, "[]");
        break;
    case GT_NOTE_STRING:
        add_string(out, note->text);
        break;
    case GT_NOTE_JSON:
        gt_buffer_add(out, note->text.bytes, note->text.len);
        break;
    case GT_NOTE_LIST:
    case GT_NOTE_DICT:
        if (depth >= DEPTH_MAX)
            gt_buffer_add_cstr(out, "null");
        else
            add_members(trace, out, note, depth);
        break;
    case GT_NOTE_NESTED:
        add_nested(out, gt_proto_begin(note->message), depth);
        break;
    default:
        add_number(out, note);
    }
}

void gt_note_add_json(gt_perfetto *trace, gt_buffer *out, const gt_note *note)
{
    add_value(trace, out, note, 0);
}
