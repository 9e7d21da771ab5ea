/* Annotations of Perfetto events: named values of any type, as the arguments of a Chrome trace. */
#ifndef GT_INPUT_PERFETTO_NOTE_H
#define GT_INPUT_PERFETTO_NOTE_H

#include "base/buffer.h"
#include "input/perfetto/perfetto.h"
#include "trace/perfetto_fields.h"

typedef enum gt_note_type {
    GT_NOTE_NONE,
    GT_NOTE_BOOL,
    GT_NOTE_UINT,
    GT_NOTE_INT,
    GT_NOTE_DOUBLE,
    GT_NOTE_STRING,
    GT_NOTE_POINTER,
    GT_NOTE_JSON, /* a text that is JSON */
    GT_NOTE_LIST,
    GT_NOTE_DICT,
    GT_NOTE_NESTED, /* the older form of lists and dicts */
} gt_note_type;

typedef struct gt_note {
    uint32_t name; /* text id */
    gt_note_type type;
    uint64_t number;  /* of BOOL to POINTER; of DOUBLE its bits */
    gt_str text;      /* of TEXT and JSON */
    uint32_t text_id; /* of a TEXT that is interned; else GT_STR_NONE */
    gt_str message;   /* the annotation itself, of LIST and DICT; the value, of NESTED */
} gt_note;

/* Walks the annotations of the event read last:
 *
 *     gt_proto notes = gt_proto_begin(event.notes);
 *     while (gt_perfetto_next_note(trace, &notes, &note)) ...
 *
 * A damaged one ends the walk and fails the reader. */
bool gt_perfetto_next_note(gt_perfetto *trace, gt_proto *notes, gt_note *note);
/* The next one's bytes, and one's bytes taken apart: the two halves of it. */
static inline bool gt_perfetto_next_note_bytes(gt_proto *notes, gt_str *bytes)
{
    gt_proto_field field;
    while (gt_proto_next(notes, &field)) {
        if (field.number != GT_PF_EVENT_NOTE) continue;
        *bytes = gt_proto_bytes(&field);
        return true;
    }
    return false;
}
bool gt_perfetto_read_note(gt_perfetto *trace, gt_str bytes, gt_note *note);

/* The value as an integer, as Python's int() makes one: a fraction is cut off, text must be a decimal number.
 */
bool gt_note_int(const gt_note *note, int64_t *value);
bool gt_note_double(const gt_note *note, double *value);
/* Adds the value as JSON text without white space. */
void gt_note_add_json(gt_perfetto *trace, gt_buffer *out, const gt_note *note);

#endif
