/* The Perfetto reader: takes packets from the stream, keeps the state of their sequences, and returns the
 * events.
 *
 * The names that an event refers to may come after the event in the same packet. So a packet is read in three
 * steps: collect its fields, apply names, defaults, clocks and tracks to the state, then read the event. */
#include "input/perfetto/perfetto.h"
#include "input/perfetto/packets.h"
#include "trace/pytorch/pytorch.h"

enum {
    PARENTS_MAX = 32,
    SEQUENCES_MAX = 1 << 16,
};

typedef enum table_kind { CATEGORIES, NAMES, NOTE_NAMES, NOTE_TEXTS, TABLES } table_kind;
static const uint32_t table_fields[TABLES] = {GT_PF_INTERNED_CATEGORIES, GT_PF_INTERNED_NAMES,
                                              GT_PF_INTERNED_NOTE_NAMES, GT_PF_INTERNED_NOTE_STRINGS};

typedef struct sequence {
    uint64_t id;
    gt_interned tables[TABLES];
    gt_clocks clocks;
    uint64_t default_clock, default_track;
    uint32_t thread_track; /* of a thread_descriptor */
    bool has_default_track, has_thread_track, is_valid;
} sequence;

typedef struct packet {
    uint64_t timestamp, clock, sequence, flags, pid;
    bool has_timestamp, has_event, has_pid;
    gt_str event, interned, defaults, track, process, thread, snapshot, compressed;
} packet;

struct gt_perfetto {
    gt_packets packets;
    gt_interner *strings;
    gt_buffer scratch;
    sequence *sequences;
    size_t sequence_count, sequence_capacity;
    gt_map sequence_of;
    sequence *current;
    gt_clocks clocks;
    uint64_t trace_clock;
    gt_tracks_list tracks;
    gt_proto_ints flows;
    gt_perfetto_event event; /* the last one read */
    size_t nameless;         /* events whose names were in lost packets */
};

/* ---- the reader ---- */

gt_perfetto *gt_perfetto_new(gt_stream *stream, gt_interner *strings)
{
    gt_perfetto *p = gt_alloc_zero(1, sizeof *p);
    gt_packets_begin(&p->packets, stream);
    p->strings = strings;
    p->trace_clock = GT_CLOCK_BOOTTIME;
    return p;
}

void gt_perfetto_free(gt_perfetto *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->sequence_count; i++) {
        for (size_t t = 0; t < TABLES; t++) gt_interned_free(&p->sequences[i].tables[t]);
        gt_free(p->sequences[i].clocks.items);
    }
    gt_free(p->sequences);
    gt_map_free(&p->sequence_of);
    gt_free(p->clocks.items);
    gt_tracks_free(&p->tracks);
    gt_packets_end(&p->packets);
    gt_buffer_free(&p->scratch);
    gt_free_all(p->flows.items, p);
}

gt_interner *gt_perfetto_strings(const gt_perfetto *p)
{
    return p->strings;
}

size_t gt_perfetto_track_count(const gt_perfetto *p)
{
    return p->tracks.count;
}

const gt_perfetto_track *gt_perfetto_track_of(const gt_perfetto *p, uint32_t track)
{
    return &p->tracks.items[track];
}

int64_t gt_perfetto_pid(const gt_perfetto *p, uint32_t track)
{
    const gt_perfetto_track *at = &p->tracks.items[track];
    for (size_t i = 0; i < PARENTS_MAX && !at->pid && at->parent_uuid; i++) {
        uint32_t parent = gt_map_get(&p->tracks.by_uuid, at->parent_uuid, 0);
        if (parent == GT_MAP_NONE) break;
        at = &p->tracks.items[parent];
    }
    return at->pid;
}

uint32_t gt_perfetto_intern(gt_perfetto *p, gt_str text)
{
    uint32_t found = gt_interner_find(p->strings, text.bytes, text.len);
    if (found != GT_STR_NONE) return found;
    text = gt_utf8_repair(text, &p->scratch);
    return gt_interner_add(p->strings, text.bytes, text.len);
}

const gt_interned *gt_perfetto_note_names(const gt_perfetto *p)
{
    return &p->current->tables[NOTE_NAMES];
}

const gt_interned *gt_perfetto_note_strings(const gt_perfetto *p)
{
    return &p->current->tables[NOTE_TEXTS];
}

void gt_perfetto_damage_note(gt_perfetto *p)
{
    if (!p->packets.failed) gt_packets_fail(&p->packets, "damaged annotation in the packet");
}

/* ---- packets ---- */

static bool read_fields(gt_str bytes, packet *out)
{
    gt_proto message = gt_proto_begin(bytes);
    gt_proto_field field;
    *out = (packet){0};
    while (gt_proto_next(&message, &field)) switch (field.number) {
        case GT_PF_PACKET_TIMESTAMP:
            out->timestamp = (uint64_t)gt_proto_int(&field);
            out->has_timestamp = true;
            break;
        case GT_PF_PACKET_TRACK_EVENT:
            out->event = gt_proto_bytes(&field);
            out->has_event = true;
            break;
        case GT_PF_PACKET_SEQUENCE_ID:
            out->sequence = (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_PACKET_SEQUENCE_FLAGS:
            out->flags |= (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_PACKET_STATE_CLEARED:
            out->flags |= gt_proto_int(&field) ? GT_PF_STATE_CLEARED : 0;
            break;
        case GT_PF_PACKET_CLOCK_ID:
            out->clock = (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_PACKET_TRUSTED_PID:
            out->pid = (uint64_t)gt_proto_int(&field);
            out->has_pid = true;
            break;
        case GT_PF_PACKET_INTERNED_DATA:
            out->interned = gt_proto_bytes(&field);
            break;
        case GT_PF_PACKET_DEFAULTS:
            out->defaults = gt_proto_bytes(&field);
            break;
        case GT_PF_PACKET_TRACK_DESCRIPTOR:
            out->track = gt_proto_bytes(&field);
            break;
        case GT_PF_PACKET_PROCESS_DESCRIPTOR:
            out->process = gt_proto_bytes(&field);
            break;
        case GT_PF_PACKET_THREAD_DESCRIPTOR:
            out->thread = gt_proto_bytes(&field);
            break;
        case GT_PF_PACKET_CLOCK_SNAPSHOT:
            out->snapshot = gt_proto_bytes(&field);
            break;
        case GT_PF_PACKET_COMPRESSED_PACKETS:
            out->compressed = gt_proto_bytes(&field);
            break;
        }
    return !message.damaged;
}

static sequence *find_sequence(gt_perfetto *p, uint64_t id)
{
    if (p->current && p->current->id == id) return p->current;
    uint32_t *place = gt_map_put(&p->sequence_of, id, 0);
    if (*place == GT_MAP_NONE) {
        if (p->sequence_count == SEQUENCES_MAX) return NULL;
        *place = (uint32_t)p->sequence_count;
        GT_PUSH(p->sequences, p->sequence_count, p->sequence_capacity, (sequence){.id = id});
    }
    return p->current = &p->sequences[*place];
}

static void clear_sequence(sequence *s)
{
    for (size_t t = 0; t < TABLES; t++) gt_interned_clear(&s->tables[t]);
    s->default_clock = 0;
    s->has_default_track = false;
    s->is_valid = true;
}

static bool read_name(gt_perfetto *p, gt_interned *table, gt_proto message)
{
    gt_proto_field field;
    uint64_t iid = 0;
    gt_str name = {"", 0};
    while (gt_proto_next(&message, &field)) {
        if (field.number == GT_PF_ENTRY_IID) iid = (uint64_t)gt_proto_int(&field);
        if (field.number == GT_PF_ENTRY_STRING) name = gt_proto_bytes(&field);
    }
    if (message.damaged) return false;
    gt_interned_set(table, iid, gt_perfetto_intern(p, name));
    return true;
}

static bool read_interned(gt_perfetto *p, sequence *s, gt_str bytes)
{
    gt_proto message = gt_proto_begin(bytes);
    gt_proto_field field;
    while (gt_proto_next(&message, &field))
        for (size_t t = 0; t < TABLES; t++)
            if (field.number == table_fields[t] && !read_name(p, &s->tables[t], gt_proto_message(&field)))
                return false;
    return !message.damaged;
}

static bool read_defaults(sequence *s, gt_str bytes)
{
    gt_proto message = gt_proto_begin(bytes), event;
    gt_proto_field field;
    while (gt_proto_next(&message, &field)) {
        if (field.number == GT_PF_DEFAULTS_CLOCK_ID) s->default_clock = (uint64_t)gt_proto_int(&field);
        if (field.number != GT_PF_DEFAULTS_TRACK_EVENT) continue;
        event = gt_proto_message(&field);
        while (gt_proto_next(&event, &field)) {
            if (field.number != GT_PF_EVENT_TRACK) continue;
            s->default_track = (uint64_t)gt_proto_int(&field);
            s->has_default_track = true;
        }
        if (event.damaged) return false;
    }
    return !message.damaged;
}

/* A ProcessDescriptor or ThreadDescriptor, which number the same fields differently. */
static bool read_owner(gt_perfetto *p, gt_perfetto_track *track, gt_proto message, bool is_thread)
{
    gt_proto_field field;
    while (gt_proto_next(&message, &field)) {
        if (field.number == (is_thread ? GT_PF_THREAD_PID : GT_PF_PROCESS_PID))
            track->pid = gt_proto_int(&field);
        if (field.number == GT_PF_THREAD_TID && is_thread) track->tid = gt_proto_int(&field);
        if (field.number == GT_PF_PROCESS_LABELS && !is_thread)
            track->label = gt_perfetto_intern(p, gt_proto_bytes(&field));
        if (field.number == (is_thread ? GT_PF_THREAD_NAME : GT_PF_PROCESS_NAME))
            track->name = gt_perfetto_intern(p, gt_proto_bytes(&field));
    }
    track->kind = is_thread ? GT_TRACK_THREAD : GT_TRACK_PROCESS;
    track->described = true;
    return !message.damaged;
}

static bool read_track(gt_perfetto *p, gt_str bytes)
{
    gt_proto message = gt_proto_begin(bytes);
    gt_proto_field field;
    gt_perfetto_track read = {.described = true};
    uint32_t name = GT_STR_NONE;
    bool ok = true;
    while (ok && gt_proto_next(&message, &field)) switch (field.number) {
        case GT_PF_TRACK_UUID:
            read.uuid = (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_TRACK_PARENT:
            read.parent_uuid = (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_TRACK_NAME:
        case GT_PF_TRACK_STATIC_NAME:
            name = gt_perfetto_intern(p, gt_proto_bytes(&field));
            break;
        case GT_PF_TRACK_PROCESS:
            if (read.kind != GT_TRACK_THREAD) ok = read_owner(p, &read, gt_proto_message(&field), false);
            break;
        case GT_PF_TRACK_THREAD:
            ok = read_owner(p, &read, gt_proto_message(&field), true);
            break;
        case GT_PF_TRACK_COUNTER:
            read.kind = GT_TRACK_COUNTER;
            break;
        }
    if (name && !read.name) read.name = name;
    if (message.damaged || !ok) return false;
    uint32_t track = gt_tracks_find(&p->tracks, read.uuid, 0);
    p->tracks.items[track] = read;
    return true;
}

/* Older packets describe the thread that the whole sequence belongs to. */
static bool read_sequence_thread(gt_perfetto *p, sequence *s, gt_str process, gt_str thread)
{
    s->thread_track = gt_tracks_find(&p->tracks, s->id, 1);
    s->has_thread_track = true;
    gt_perfetto_track *track = &p->tracks.items[s->thread_track];
    return (!process.len || read_owner(p, track, gt_proto_begin(process), false)) &&
           (!thread.len || read_owner(p, track, gt_proto_begin(thread), true));
}

static bool update_state(gt_perfetto *p, sequence *s, const packet *k)
{
    if (k->flags & GT_PF_STATE_CLEARED) clear_sequence(s);
    if (k->interned.len && !read_interned(p, s, k->interned)) return false;
    if (k->defaults.len && !read_defaults(s, k->defaults)) return false;
    if (k->snapshot.len &&
        !gt_clocks_snapshot(&p->clocks, &s->clocks, &p->trace_clock, gt_proto_begin(k->snapshot)))
        return false;
    if (k->track.len && !read_track(p, k->track)) return false;
    return (!k->process.len && !k->thread.len) || read_sequence_thread(p, s, k->process, k->thread);
}

static int64_t time_of(gt_perfetto *p, sequence *s, const packet *k)
{
    uint64_t id = k->clock ? k->clock : s->default_clock;
    if (!id || id == p->trace_clock) return (int64_t)k->timestamp;
    bool of_sequence = id >= GT_CLOCK_OF_SEQUENCE && id < GT_CLOCK_CUSTOM;
    gt_clock *clock = gt_clocks_find(of_sequence ? &s->clocks : &p->clocks, id);
    return clock ? gt_clock_time(clock, k->timestamp) : (int64_t)k->timestamp;
}

/* ---- events ---- */

static uint32_t track_of(gt_perfetto *p, sequence *s, const packet *k, const gt_raw_event *raw)
{
    int64_t phase = raw->phase;
    if (raw->has_id && (phase == 'b' || phase == 'e' || phase == 'n'))
        return gt_tracks_find(&p->tracks, raw->id, 2);
    if (!raw->has_track && !s->has_default_track && s->has_thread_track) return s->thread_track;
    uint32_t track = gt_tracks_find(&p->tracks, raw->has_track ? raw->track : s->default_track, 0);
    if (!p->tracks.items[track].described && k->has_pid) p->tracks.items[track].pid = (int64_t)k->pid;
    return track;
}

static uint32_t text_of(gt_perfetto *p, const gt_interned *table, uint64_t iid, gt_str text)
{
    return text.len ? gt_perfetto_intern(p, text) : iid ? gt_interned_get(table, iid) : GT_STR_NONE;
}

/* Reads the packet's event; *is_event is false if its type is skipped. */
static bool read_event(gt_perfetto *p, sequence *s, const packet *k, bool *is_event)
{
    static const gt_perfetto_type types[] = {0, GT_PERFETTO_BEGIN, GT_PERFETTO_END, GT_PERFETTO_INSTANT,
                                             GT_PERFETTO_COUNTER};
    gt_perfetto_event *event = &p->event;
    gt_raw_event raw = {0};
    *event = (gt_perfetto_event){0};
    p->flows.count = 0;
    *is_event = false;
    if (!gt_raw_event_read(&raw, k->event, &p->flows)) return false;
    event->notes = raw.notes;
    event->value = raw.value;
    if (raw.type > 0 && raw.type < (int64_t)(GT_LENGTH(types)))
        event->type = types[raw.type];
    else if (!gt_perfetto_type_of_phase(raw.phase, &event->type))
        return true;
    event->time_ns = time_of(p, s, k);
    if (__builtin_mul_overflow(raw.dur_us, 1000, &event->dur_ns)) event->dur_ns = 0;
    if (k->flags & GT_PF_NEEDS_STATE && !s->is_valid) {
        p->nameless++;
        return true;
    }
    event->track = track_of(p, s, k, &raw);
    event->category = text_of(p, &s->tables[CATEGORIES], raw.category_iid, raw.category);
    event->name = text_of(p, &s->tables[NAMES], raw.name_iid, raw.name);
    event->flows = (const uint64_t *)p->flows.items;
    event->flow_count = p->flows.count;
    *is_event = true;
    return true;
}

bool gt_perfetto_next(gt_perfetto *p, gt_perfetto_event *event)
{
    bool is_event = false, is_inner;
    gt_str bytes;
    packet k;
    while (!is_event && !p->packets.failed && gt_packets_next(&p->packets, &bytes, &is_inner)) {
        if (!read_fields(bytes, &k)) return gt_packets_fail(&p->packets, "damaged packet");
        if (k.compressed.len && !is_inner) {
            if (!gt_packets_inflate(&p->packets, k.compressed)) return false;
            continue;
        }
        sequence *s = find_sequence(p, k.sequence);
        if (!s) return gt_packets_fail(&p->packets, "too many packet sequences");
        if (!update_state(p, s, &k)) return gt_packets_fail(&p->packets, "damaged packet");
        if (k.has_event && !read_event(p, s, &k, &is_event))
            return gt_packets_fail(&p->packets, "damaged event in the packet");
    }
    *event = p->event;
    return is_event;
}

bool gt_perfetto_accept(const gt_perfetto *p, size_t kept, const char *what, const gt_read_options *options,
                        gt_error *error)
{
    const char *path = gt_stream_path(p->packets.stream), *damage = gt_stream_damage(p->packets.stream);
    if (p->packets.failed && !p->packets.truncated) {
        *error = p->packets.error;
        return false;
    }
    bool is_truncated = p->packets.truncated || damage;
    if (options->facts) options->facts->is_cut_off = is_truncated;
    if (is_truncated && !gt_accept_truncated(path, damage, kept, what, p->packets.offset, options, error))
        return false;
    if (p->nameless)
        gt_warn("%s: skipped %zu events: packets with their names were lost during recording", path,
                p->nameless);
    return true;
}
