/* Track events: reads the fields of one event in one pass. Names stay numbers and annotations stay bytes
 * here, because most callers drop most events before they look at either. */
#include "input/perfetto/packets.h"

enum { FLOWS_MAX = 1024 }; /* per event; further ones are ignored */

static void add_flow(gt_proto_ints *flows, const gt_proto_field *field)
{
    if (flows->count >= FLOWS_MAX) return;
    if (field->wire == GT_WIRE_BYTES && field->number >= GT_PF_EVENT_FLOW) { /* packed fixed64 */
        for (uint64_t i = 0; i + 8 <= field->value && flows->count < FLOWS_MAX; i += 8) {
            int64_t id;
            memcpy(&id, field->bytes + i, sizeof id);
            GT_PUSH(flows->items, flows->count, flows->capacity, id);
        }
        return;
    }
    gt_proto_add_ints(flows, field);
}

/* A LegacyEvent: the parts of a Chrome event that TrackEvent has no field for. */
static bool read_legacy(gt_proto message, gt_raw_event *out)
{
    gt_proto_field field;
    while (gt_proto_next(&message, &field)) switch (field.number) {
        case GT_PF_LEGACY_NAME_IID:
            out->name_iid = (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_LEGACY_PHASE:
            out->phase = gt_proto_int(&field);
            break;
        case GT_PF_LEGACY_DUR_US:
            out->dur_us = gt_proto_int(&field);
            break;
        case GT_PF_LEGACY_UNSCOPED_ID:
        case GT_PF_LEGACY_LOCAL_ID:
        case GT_PF_LEGACY_GLOBAL_ID:
            out->id = (uint64_t)gt_proto_int(&field);
            out->has_id = true;
            break;
        }
    return !message.damaged;
}

bool gt_perfetto_type_of_phase(int64_t phase, gt_perfetto_type *type)
{
    static const struct {
        char phase;
        gt_perfetto_type type;
    } types[] = {
        {'B', GT_PERFETTO_BEGIN},   {'E', GT_PERFETTO_END},     {'X', GT_PERFETTO_COMPLETE},
        {'b', GT_PERFETTO_BEGIN},   {'e', GT_PERFETTO_END},     {'I', GT_PERFETTO_INSTANT},
        {'i', GT_PERFETTO_INSTANT}, {'n', GT_PERFETTO_INSTANT},
    };
    for (size_t i = 0; i < GT_LENGTH(types); i++)
        if (types[i].phase == phase) {
            *type = types[i].type;
            return true;
        }
    return false;
}

/* Skips the annotations that follow directly, as long as they are short: the fast path of most events. */
static void skip_notes(gt_proto *event)
{
    enum { TAG = GT_PF_EVENT_NOTE << 3 | GT_WIRE_BYTES };
    const uint8_t *at = event->at, *end = event->end;
    while (end - at >= 2 && at[0] == TAG && at[1] < 0x80 && end - at - 2 >= at[1]) at += 2 + at[1];
    event->at = at;
}

bool gt_raw_event_read(gt_raw_event *raw, gt_str bytes, gt_proto_ints *flows)
{
    gt_proto message = gt_proto_begin(bytes);
    gt_proto_field field;
    const uint8_t *first_note = NULL, *after_notes = NULL;
    for (const uint8_t *at = message.at; gt_proto_next(&message, &field); at = message.at)
        switch (field.number) {
        case GT_PF_EVENT_NOTE:
            if (!first_note) first_note = at;
            skip_notes(&message);
            after_notes = message.at;
            break;
        case GT_PF_EVENT_TYPE:
            raw->type = gt_proto_int(&field);
            break;
        case GT_PF_EVENT_TRACK:
            raw->track = (uint64_t)gt_proto_int(&field);
            raw->has_track = true;
            break;
        case GT_PF_EVENT_NAME_IID:
            raw->name_iid = (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_EVENT_CATEGORY_IID:
            if (!raw->has_category) raw->category_iid = (uint64_t)gt_proto_int(&field);
            if (!raw->has_category && field.wire == GT_WIRE_BYTES && field.value &&
                gt_peek_varint(field.bytes, field.bytes + field.value, &raw->category_iid) <= 0)
                return false;
            raw->has_category = true;
            break;
        case GT_PF_EVENT_CATEGORY:
            if (!raw->has_category) raw->category = gt_proto_bytes(&field);
            raw->has_category = true;
            break;
        case GT_PF_EVENT_NAME:
            raw->name = gt_proto_bytes(&field);
            break;
        case GT_PF_EVENT_INT_VALUE:
            raw->value = (double)gt_proto_int(&field);
            break;
        case GT_PF_EVENT_DOUBLE_VALUE:
            raw->value = gt_proto_double(&field);
            break;
        case GT_PF_EVENT_FLOW:
        case GT_PF_EVENT_FLOW_END:
        case GT_PF_EVENT_OLD_FLOW:
        case GT_PF_EVENT_OLD_FLOW_END:
            add_flow(flows, &field);
            break;
        case GT_PF_EVENT_LEGACY:
            if (!read_legacy(gt_proto_message(&field), raw)) return false;
            break;
        }
    if (first_note) raw->notes = (gt_str){(const char *)first_note, (size_t)(after_notes - first_note)};
    return !message.damaged;
}
