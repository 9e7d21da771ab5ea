/* The lines of a plane and their events. A line is read one window at a time; an event that is cut by the end
 * of a window is read again from the next one. */
#include "input/xla/plane.h"

enum {
    RELEASE_BYTES = 1 << 20,
    EVENT_KIND = 1 << 3 | GT_WIRE_VARINT, /* the first bytes of the fields of an XEvent */
    EVENT_OFFSET = 2 << 3 | GT_WIRE_VARINT,
    EVENT_DURATION = 3 << 3 | GT_WIRE_VARINT,
    EVENT_STAT = 4 << 3 | GT_WIRE_BYTES,
    LINE_EVENT = 4 << 3 | GT_WIRE_BYTES, /* of an XLine */
};

int64_t gt_xline_start_ps(const xline *line, int64_t offset_ps)
{
    int64_t sum;
    if (!__builtin_mul_overflow(line->timestamp_ns, 1000, &sum) &&
        !__builtin_add_overflow(sum, offset_ps, &sum))
        return sum;
    return line->timestamp_ns < 0 ? INT64_MIN : INT64_MAX;
}

/* ---- events ---- */

/* Adds the attributes of the kind that the event does not have itself. */
static void inherit(xattributes *own, const xattributes *kind)
{
    if (own->hlo_op == GT_STR_NONE) own->hlo_op = kind->hlo_op;
    if (own->hlo_module == GT_STR_NONE) own->hlo_module = kind->hlo_module;
    if (own->tf_op == GT_STR_NONE) own->tf_op = kind->tf_op;
    if (!own->has_program) own->program_id = kind->program_id, own->has_program = kind->has_program;
    if (!own->has_correlation)
        own->correlation = kind->correlation, own->has_correlation = kind->has_correlation;
    if (!own->has_group) own->group = kind->group, own->has_group = kind->has_group;
    if (!own->has_scope) own->scope = kind->scope, own->has_scope = kind->has_scope;
    if (!own->details_are_given) own->has_details = kind->has_details;
    own->has_graph |= kind->has_graph;
}

/* A field in an unusual encoding. */
static const uint8_t *read_odd_field(xplane *plane, const uint8_t *at, const uint8_t *end, xevent *event,
                                     uint64_t *kind)
{
    gt_proto proto = {at, end, false};
    gt_proto_field field;
    if (!gt_proto_next(&proto, &field)) return proto.damaged ? NULL : end;
    if (field.number == 1) *kind = (uint64_t)gt_proto_int(&field);
    if (field.number == 2) event->offset_ps = gt_proto_int(&field);
    if (field.number == 3) event->dur_ps = gt_proto_int(&field);
    if (field.number == 4 && field.wire == GT_WIRE_BYTES &&
        !gt_xplane_add_stat(plane, &event->attributes, field.bytes, field.bytes + field.value))
        return NULL;
    return proto.at;
}

/* Reads the event in [at, end); GT_WINDOW_PAD bytes after it must be readable. */
static bool read_event(xplane *plane, const uint8_t *at, const uint8_t *end, xevent *event)
{
    const uint8_t *limit = end + GT_WINDOW_PAD;
    uint64_t kind = 0, value;
    *event = (xevent){0};
    while (at && at < end) switch (*at) {
        case EVENT_KIND:
            at = gt_varint(at + 1, limit, &kind);
            break;
        case EVENT_OFFSET:
            at = gt_varint(at + 1, limit, &value);
            event->offset_ps = at ? (int64_t)value : 0;
            break;
        case EVENT_DURATION:
            at = gt_varint(at + 1, limit, &value);
            event->dur_ps = at ? (int64_t)value : 0;
            break;
        case EVENT_STAT:
            at = gt_varint(at + 1, limit, &value);
            if (!at || at > end || value > (uint64_t)(end - at)) return false;
            if (!xplane_skips_stat(plane, at, at + value) &&
                !gt_xplane_add_stat(plane, &event->attributes, at, at + value))
                return false;
            at += value;
            break;
        default:
            at = read_odd_field(plane, at, end, event, &kind);
        }
    if (at != end || !(event->kind = gt_xplane_kind(plane, (int64_t)kind))) return false;
    if (event->kind->has_attributes) inherit(&event->attributes, &event->kind->attributes);
    if (!event->dur_ps) event->dur_ps = 1; /* as in trace viewers */
    return true;
}

/* ---- lines ---- */

typedef struct line_head {
    int64_t id, display_id, timestamp_ns;
    gt_str name, display_name;
} line_head;

static gt_str copy(xplane *plane, gt_str from)
{
    return (gt_str){gt_arena_bytes(&plane->arena, from.bytes, from.len), from.len};
}

static void read_head_field(xplane *plane, line_head *head, const gt_proto_field *field)
{
    switch (field->number) {
    case 1:
        head->id = gt_proto_int(field);
        break;
    case 2:
        head->name = copy(plane, gt_proto_bytes(field));
        break;
    case 3:
        head->timestamp_ns = gt_proto_int(field);
        break;
    case 10:
        head->display_id = gt_proto_int(field);
        break;
    case 11:
        head->display_name = copy(plane, gt_proto_bytes(field));
        break;
    }
}

static xline line_of(const line_head *head)
{
    static const char skipped[] = "Async XLA Ops";
    gt_str shown = head->display_name.len ? head->display_name : head->name;
    return (xline){
        .timestamp_ns = head->timestamp_ns,
        .tid = (uint32_t)(uint64_t)(head->display_id ? head->display_id : head->id),
        .name = head->name,
        .shown_name = shown,
        .is_skipped = gt_str_equals(shown, skipped),
    };
}

/* Reads the complete fields in [at, end). Returns the start of the first incomplete one, NULL if the line is
 * damaged. */
static const uint8_t *read_fields(xplane *plane, const uint8_t *at, const uint8_t *end, line_head *head,
                                  const xvisitor *visitor)
{
    gt_proto proto = {at, end, false};
    gt_proto_field field;
    xevent event;
    for (const uint8_t *done = at;; done = proto.at) {
        if (!gt_proto_next(&proto, &field)) return proto.damaged ? done : proto.at;
        if (field.number != 4) {
            read_head_field(plane, head, &field);
            continue;
        }
        if (field.wire != GT_WIRE_BYTES) continue;
        if (!read_event(plane, field.bytes, field.bytes + field.value, &event)) return NULL;
        if (!event.kind->is_dropped) visitor->event(visitor->context, &event);
    }
}

static bool visit_line(xplane *plane, xfile *file, xrange rest, const xvisitor *visitor)
{
    line_head head = {.name = {"", 0}, .display_name = {"", 0}};
    uint64_t released = rest.begin;
    for (size_t want = 1; rest.begin < rest.end;) {
        gt_str shown;
        if (!gt_window_show(&file->window, rest.begin, want, &shown, file->error)) {
            file->failed = true;
            return false;
        }
        const uint64_t left = rest.end - rest.begin;
        const size_t most = want > RELEASE_BYTES ? want : RELEASE_BYTES;
        const size_t available = shown.len < most ? shown.len : most;
        const size_t len = available < left ? available : (size_t)left;
        const uint8_t *bytes = (const uint8_t *)shown.bytes;
        const uint8_t *done = read_fields(plane, bytes, bytes + len, &head, visitor);
        if (!done || (done == bytes && (len == left || len < want))) return false;
        want = done == bytes ? len * 2 : 1;
        rest.begin += (uint64_t)(done - bytes);
        if (rest.begin - released < RELEASE_BYTES) continue;
        gt_window_forget(&file->window, released, rest.begin);
        released = rest.begin;
    }
    xline line = line_of(&head);
    visitor->line(visitor->context, &line);
    return true;
}

bool gt_xplane_visit(xplane *plane, xfile *file, const xvisitor *visitor)
{
    xrange rest = plane->range;
    bool damaged = false;
    xfield field;
    while (gt_xfile_next(file, &rest, &field, &damaged))
        if (field.number == 3 && !visit_line(plane, file, field.body, visitor)) return false;
    return !damaged;
}
