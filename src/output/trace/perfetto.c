/* Perfetto protobuf (.pftrace), as read by ui.perfetto.dev and trace_processor: one sequence of packets,
 * names interned at its start, a begin and an end packet per slice, lanes as child tracks of their track. The
 * viewer draws tracks with the same name and parent as one. */
#include "output/trace/timeline_format.h"

#include "base/protobuf.h"
#include "trace/perfetto_fields.h"

enum { ONLY_SEQUENCE = 1, VARINT_MAX = 10 };

/* The tables of interned strings; a string has the same id in each table. */
enum { ROLE_CATEGORY, ROLE_NAME, ROLE_KEY, ROLE_WORD, ROLES };
static const unsigned interned_fields[ROLES] = {
    [ROLE_CATEGORY] = GT_PF_INTERNED_CATEGORIES,
    [ROLE_NAME] = GT_PF_INTERNED_NAMES,
    [ROLE_KEY] = GT_PF_INTERNED_NOTE_NAMES,
    [ROLE_WORD] = GT_PF_INTERNED_NOTE_STRINGS,
};

/* ---- protobuf encoding ---- */

static uint8_t *varint(uint8_t *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t *int_field(uint8_t *out, unsigned number, uint64_t value)
{
    return varint(varint(out, number << 3 | GT_WIRE_VARINT), value);
}

static uint8_t *fixed_field(uint8_t *out, unsigned number, uint64_t value)
{
    out = varint(out, number << 3 | GT_WIRE_FIXED64);
    for (unsigned i = 0; i < 8; i++) *out++ = (uint8_t)(value >> 8 * i);
    return out;
}

enum { FIELD_MAX = 2 * VARINT_MAX };

static uint8_t *room(gt_buffer *buffer, size_t need)
{
    return (uint8_t *)gt_buffer_reserve(buffer, need);
}

static void advance_to(gt_buffer *buffer, const uint8_t *end)
{
    buffer->len = (size_t)((const char *)end - buffer->bytes);
}

static void put_int(gt_buffer *buffer, unsigned number, uint64_t value)
{
    advance_to(buffer, int_field(room(buffer, FIELD_MAX), number, value));
}

static void put_fixed(gt_buffer *buffer, unsigned number, uint64_t value)
{
    advance_to(buffer, fixed_field(room(buffer, FIELD_MAX), number, value));
}

static void put_bytes(gt_buffer *buffer, unsigned number, const void *bytes, size_t len)
{
    advance_to(buffer, varint(varint(room(buffer, FIELD_MAX), number << 3 | GT_WIRE_BYTES), len));
    if (len) gt_buffer_add(buffer, bytes, len);
}

/* Strings of a trace may have any bytes; protobuf requires UTF-8. */
static void put_text(gt_buffer *buffer, unsigned number, gt_str text, gt_buffer *scratch)
{
    text = gt_utf8_repair(text, scratch);
    put_bytes(buffer, number, text.bytes, text.len);
}

static uint64_t bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- the body of an event ---- */

static uint32_t intern(gt_timeline *t, uint32_t text, unsigned role)
{
    if (text >= t->role_count) {
        size_t count = t->role_count;
        t->roles = gt_grow(t->roles, &t->role_count, (size_t)text + 1, 1);
        memset(t->roles + count, 0, t->role_count - count);
    }
    t->roles[text] |= (uint8_t)(1u << role);
    return text;
}

static void begin(gt_timeline *t, uint32_t category, uint32_t name)
{
    if (category) put_int(&t->body, GT_PF_EVENT_CATEGORY_IID, intern(t, category, ROLE_CATEGORY));
    if (name) put_int(&t->body, GT_PF_EVENT_NAME_IID, intern(t, name, ROLE_NAME));
}

static void flow(gt_timeline *t, uint64_t number, bool arrives)
{
    (void)arrives; /* the viewer uses the order of time */
    put_fixed(&t->body, GT_PF_EVENT_FLOW, number);
}

static void value(gt_timeline *t, double number)
{
    put_fixed(&t->body, GT_PF_EVENT_DOUBLE_VALUE, bits(number));
}

/* An annotation whose value is a number; it is short, so its length takes one byte. */
static void put_note(gt_timeline *t, uint32_t key, unsigned field, uint64_t number)
{
    uint8_t *out = room(&t->body, 3 * FIELD_MAX);
    out = varint(out, GT_PF_EVENT_NOTE << 3 | GT_WIRE_BYTES);
    uint8_t *length = out++;
    out = int_field(out, GT_PF_NOTE_NAME_IID, intern(t, key, ROLE_KEY));
    out = field == GT_PF_NOTE_DOUBLE ? fixed_field(out, field, number) : int_field(out, field, number);
    *length = (uint8_t)(out - length - 1);
    advance_to(&t->body, out);
}

static void put_long_note(gt_timeline *t, uint32_t key, unsigned field, gt_str text)
{
    uint8_t head[2 * FIELD_MAX], *end = int_field(head, GT_PF_NOTE_NAME_IID, intern(t, key, ROLE_KEY));
    text = gt_utf8_repair(text, &t->part);
    end = varint(varint(end, field << 3 | GT_WIRE_BYTES), text.len);
    size_t len = (size_t)(end - head);
    uint8_t *out = room(&t->body, FIELD_MAX + len);
    out = varint(varint(out, GT_PF_EVENT_NOTE << 3 | GT_WIRE_BYTES), len + text.len);
    memcpy(out, head, len);
    advance_to(&t->body, out + len);
    if (text.len) gt_buffer_add(&t->body, text.bytes, text.len);
}

static void add_note(gt_timeline *t, uint32_t key, gt_timeline_note note)
{
    switch (note.type) {
    case GT_TIMELINE_NOTE_INT:
        put_note(t, key, note.integer < 0 ? GT_PF_NOTE_INT : GT_PF_NOTE_UINT, (uint64_t)note.integer);
        break;
    case GT_TIMELINE_NOTE_UINT:
        put_note(t, key, GT_PF_NOTE_UINT, note.natural);
        break;
    case GT_TIMELINE_NOTE_DOUBLE:
        put_note(t, key, GT_PF_NOTE_DOUBLE, bits(note.real));
        break;
    case GT_TIMELINE_NOTE_BOOL:
        put_note(t, key, GT_PF_NOTE_BOOL, note.yes);
        break;
    case GT_TIMELINE_NOTE_STRING:
        put_long_note(t, key, GT_PF_NOTE_STRING, note.text);
        break;
    case GT_TIMELINE_NOTE_LITERAL:
        put_note(t, key, GT_PF_NOTE_STRING_IID, intern(t, note.word, ROLE_WORD));
        break;
    case GT_TIMELINE_NOTE_JSON:
        put_long_note(t, key, GT_PF_NOTE_JSON, note.text);
        break;
    }
}

/* ---- packets ---- */

/* Writes t->packet as one packet and clears it. */
static void write_packet(gt_timeline *t)
{
    uint8_t head[FIELD_MAX],
        *end = varint(varint(head, GT_PF_TRACE_PACKET << 3 | GT_WIRE_BYTES), t->packet.len);
    gt_timeline_put(t, head, (size_t)(end - head));
    gt_timeline_put(t, t->packet.bytes, t->packet.len);
    t->packet.len = 0;
}

/* A permutation of the 64-bit numbers: different numbers stay different. */
static uint64_t scatter(uint64_t number)
{
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
    number = (number ^ number >> 27) * 0x94D049BB133111EBu;
    return number ^ number >> 31;
}

static uint64_t process_uuid(uint32_t process)
{
    return scatter(UINT64_C(1) << 62 | process);
}

static uint64_t lane_uuid(uint32_t track, size_t lane)
{
    return scatter(((uint64_t)track + 1) << 28 | (lane & 0xFFFFFFF));
}

static void write_interned(gt_timeline *t, uint32_t first, uint32_t last, uint32_t flags)
{
    gt_buffer table = {0}, entry = {0};
    for (unsigned role = 0; role < ROLES; role++)
        for (uint32_t text = first; text < last; text++) {
            if (!(t->roles[text] >> role & 1)) continue;
            entry.len = 0;
            put_int(&entry, GT_PF_ENTRY_IID, text);
            put_text(&entry, GT_PF_ENTRY_STRING, gt_interner_get(t->strings, text), &t->part);
            put_bytes(&table, interned_fields[role], entry.bytes, entry.len);
        }
    put_int(&t->packet, GT_PF_PACKET_SEQUENCE_ID, ONLY_SEQUENCE);
    put_int(&t->packet, GT_PF_PACKET_SEQUENCE_FLAGS, flags);
    if (table.len) put_bytes(&t->packet, GT_PF_PACKET_INTERNED_DATA, table.bytes, table.len);
    write_packet(t);
    gt_buffer_free(&table);
    gt_buffer_free(&entry);
}

static void write_process(gt_timeline *t, uint32_t process)
{
    const gt_timeline_process_row *row = &t->processes[process];
    gt_buffer described = {0}, inner = {0};
    put_int(&inner, GT_PF_PROCESS_PID, (uint64_t)row->pid);
    if (row->name) put_text(&inner, GT_PF_PROCESS_NAME, gt_interner_get(t->strings, row->name), &t->part);
    if (row->label) put_text(&inner, GT_PF_PROCESS_LABELS, gt_interner_get(t->strings, row->label), &t->part);
    put_int(&described, GT_PF_TRACK_UUID, process_uuid(process));
    put_bytes(&described, GT_PF_TRACK_PROCESS, inner.bytes, inner.len);
    put_int(&t->packet, GT_PF_PACKET_SEQUENCE_ID, ONLY_SEQUENCE);
    put_bytes(&t->packet, GT_PF_PACKET_TRACK_DESCRIPTOR, described.bytes, described.len);
    write_packet(t);
    gt_buffer_free(&described);
    gt_buffer_free(&inner);
}

static void write_head(gt_timeline *t)
{
    enum { STRINGS_PER_PACKET = 1024 };
    uint32_t count = (uint32_t)t->role_count, flags = GT_PF_STATE_CLEARED | GT_PF_NEEDS_STATE;
    uint32_t first = 0;
    do {
        uint32_t last = count - first < STRINGS_PER_PACKET ? count : first + STRINGS_PER_PACKET;
        write_interned(t, first, last, flags);
        flags = GT_PF_NEEDS_STATE;
        first = last;
    } while (first < count);
    for (uint32_t process = 0; process < t->process_count; process++) write_process(t, process);
}

static void describe_thread(gt_timeline *t, const gt_timeline_track_row *row, gt_buffer *described)
{
    gt_buffer inner = {0};
    put_int(&inner, GT_PF_THREAD_PID, (uint64_t)t->processes[row->process].pid);
    put_int(&inner, GT_PF_THREAD_TID, (uint64_t)row->tid);
    if (row->name) put_text(&inner, GT_PF_THREAD_NAME, gt_interner_get(t->strings, row->name), &t->part);
    put_bytes(described, GT_PF_TRACK_THREAD, inner.bytes, inner.len);
    gt_buffer_free(&inner);
}

/* The first lane of a track with a thread id is that thread, and further lanes are its children. The lanes of
 * other tracks are siblings. */
static void describe(gt_timeline *t, uint32_t track, size_t lane)
{
    gt_timeline_track_row *row = &t->tracks[track];
    gt_buffer described = {0};
    bool is_thread = row->form != GT_FORM_COUNTER && row->tid != GT_NO_TID;
    if (lane > 0 && is_thread && !row->lanes[0].described) {
        row->lanes[0].described = true;
        describe(t, track, 0);
    }
    row->lanes[lane].id = lane_uuid(track, lane);
    put_int(&described, GT_PF_TRACK_UUID, row->lanes[lane].id);
    put_int(&described, GT_PF_TRACK_PARENT,
            is_thread && lane > 0 ? lane_uuid(track, 0) : process_uuid(row->process));
    if (is_thread && lane == 0) {
        describe_thread(t, row, &described);
    } else {
        gt_str name = row->name ? gt_interner_get(t->strings, row->name) : (gt_str){"overlapping", 11};
        put_text(&described, GT_PF_TRACK_NAME, name, &t->part);
    }
    if (row->form == GT_FORM_COUNTER) put_bytes(&described, GT_PF_TRACK_COUNTER, "", 0);
    put_int(&t->packet, GT_PF_PACKET_SEQUENCE_ID, ONLY_SEQUENCE);
    put_bytes(&t->packet, GT_PF_PACKET_TRACK_DESCRIPTOR, described.bytes, described.len);
    write_packet(t);
    gt_buffer_free(&described);
}

/* A packet of a track event: a few fields, then the body. */
static void write_event(gt_timeline *t, uint64_t uuid, unsigned type, int64_t time_ns, gt_str body)
{
    uint8_t head[2 * FIELD_MAX], *head_end = int_field(head, GT_PF_EVENT_TYPE, type);
    head_end = int_field(head_end, GT_PF_EVENT_TRACK, uuid);
    size_t head_len = (size_t)(head_end - head);
    uint8_t *out = room(&t->packet, 6 * FIELD_MAX);
    out = int_field(out, GT_PF_PACKET_TIMESTAMP, (uint64_t)time_ns);
    out = int_field(out, GT_PF_PACKET_SEQUENCE_ID, ONLY_SEQUENCE);
    out = int_field(out, GT_PF_PACKET_SEQUENCE_FLAGS, GT_PF_NEEDS_STATE);
    out = varint(varint(out, GT_PF_PACKET_TRACK_EVENT << 3 | GT_WIRE_BYTES), head_len + body.len);
    memcpy(out, head, head_len);
    advance_to(&t->packet, out + head_len);
    gt_buffer_add(&t->packet, body.bytes, body.len);
    write_packet(t);
}

static void write(gt_timeline *t, const gt_timeline_entry *entry, size_t lane, gt_str body)
{
    static const unsigned types[] = {[GT_TIMELINE_SLICE] = GT_PF_SLICE_BEGIN,
                                     [GT_TIMELINE_MARK] = GT_PF_INSTANT,
                                     [GT_TIMELINE_VALUE] = GT_PF_COUNTER};
    write_event(t, t->tracks[entry->track].lanes[lane].id, types[entry->kind], entry->start_ns, body);
}

static void write_end(gt_timeline *t, uint32_t track, size_t lane, int64_t end_ns)
{
    write_event(t, t->tracks[track].lanes[lane].id, GT_PF_SLICE_END, end_ns, (gt_str){"", 0});
}

const gt_timeline_writer gt_timeline_perfetto = {
    .begin = begin,
    .flow = flow,
    .value = value,
    .note = add_note,
    .write_head = write_head,
    .describe = describe,
    .write = write,
    .write_end = write_end,
};
