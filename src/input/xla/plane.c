/* Messages in the file, and the tables of a plane: event_metadata (kinds of events) and stat_metadata (names
 * of stats), and the values that refer to them by number. */
#include "input/xla/plane.h"

/* ---- messages: the tag and length of a field take at most twenty bytes ---- */

enum { HEAD_MAX = 20 };

static bool show(xfile *file, xrange range, size_t want, gt_str *shown)
{
    if (!gt_window_show(&file->window, range.begin, want, shown, file->error)) {
        file->failed = true;
        return false;
    }
    if (shown->len > range.end - range.begin) shown->len = (size_t)(range.end - range.begin);
    return true;
}

/* Groups, fixed bytes and fields with a large number: the general reader, with as much of the message as it
 * needs. */
static bool next_any(xfile *file, xrange *message, xfield *field, bool *damaged)
{
    for (size_t want = HEAD_MAX;; want = want < SIZE_MAX / 2 ? want * 2 : SIZE_MAX) {
        gt_str bytes;
        if (!show(file, *message, want, &bytes)) break;
        gt_proto proto = gt_proto_begin(bytes);
        gt_proto_field read;
        if (gt_proto_next_any(&proto, &read)) {
            const uint64_t begin = message->begin;
            *field = (xfield){.number = read.number, .wire = read.wire, .value = gt_proto_int(&read)};
            if (read.wire == GT_WIRE_BYTES) {
                field->body.begin = begin + (uint64_t)((const char *)read.bytes - bytes.bytes);
                field->body.end = field->body.begin + read.value;
            }
            message->begin = begin + (uint64_t)((const char *)proto.at - bytes.bytes);
            return true;
        }
        if (bytes.len < want || bytes.len == message->end - message->begin) { /* there are no more bytes */
            if (!proto.damaged) return false;
            break;
        }
    }
    *damaged = true;
    return false;
}

bool gt_xfile_next(xfile *file, xrange *message, xfield *field, bool *damaged)
{
    if (message->begin >= message->end) return false;
    gt_str head;
    if (!show(file, *message, HEAD_MAX, &head) || !head.len) { /* none: the file has shrunk */
        *damaged = true;
        return false;
    }
    const uint8_t *at = (const uint8_t *)head.bytes, *end = at + head.len, *after = NULL;
    const gt_wire wire = (gt_wire)(at[0] & 7);
    uint64_t value;
    if (at[0] >= 8 && at[0] < 0x80 && (wire == GT_WIRE_BYTES || wire == GT_WIRE_VARINT))
        after = gt_varint(at + 1, end, &value);
    if (!after) return next_any(file, message, field, damaged);
    const uint64_t body = message->begin + (uint64_t)(after - at), len = wire == GT_WIRE_BYTES ? value : 0;
    if (len > message->end - body) {
        *damaged = true;
        return false;
    }
    *field = (xfield){.number = at[0] >> 3, .wire = wire, .body = {body, body + len}};
    if (wire == GT_WIRE_VARINT) field->value = (int64_t)value;
    message->begin = body + len;
    return true;
}

bool gt_xfile_show(xfile *file, xrange range, gt_str *bytes)
{
    const uint64_t len = range.end - range.begin;
    return len <= SIZE_MAX && show(file, range, (size_t)len, bytes) && bytes->len == len;
}

bool gt_xfile_copy(xfile *file, xrange range, gt_arena *arena, gt_str *bytes)
{
    if (!gt_xfile_show(file, range, bytes)) return false;
    bytes->bytes = gt_arena_bytes(arena, bytes->bytes, bytes->len);
    return true;
}

/* ---- names ---- */

enum {
    DENSE_MAX = 1 << 20,
    STAT_NUMBER = 1 << 3 | GT_WIRE_VARINT, /* the first bytes of the fields of an XStat */
    STAT_UINT = 3 << 3 | GT_WIRE_VARINT,
    STAT_INT = 4 << 3 | GT_WIRE_VARINT,
    STAT_REFERENCE = 7 << 3 | GT_WIRE_VARINT,
};

static const struct {
    const char *name;
    xstat_role role;
} roles[] = {
    {"correlation_id", XSTAT_CORRELATION},
    {"hlo_op", XSTAT_HLO_OP},
    {"hlo_module", XSTAT_HLO_MODULE},
    {"program_id", XSTAT_PROGRAM},
    {"group_id", XSTAT_GROUP},
    {"scope_range_id", XSTAT_SCOPE},
    {"kernel_details", XSTAT_KERNEL_DETAILS},
    {"cuda_graph_exec_id", XSTAT_GRAPH},
    {"tf_op", XSTAT_TF_OP},
    {"Hlo Proto", XSTAT_HLO_PROTO},
};

/* Events of the framework that did not run on the device. */
static const char *const dropped[] = {
    "MemoryAllocation",
    "MemoryDeallocation",
    "PrefetchProduce",
    "PrefetchConsume",
    "ParallelInterleaveProduce",
    "ParallelInterleaveConsume",
    "ParallelInterleaveInitializeInput",
    "ParallelMapProduce",
    "ParallelMapConsume",
    "MapAndBatchProduce",
    "MapAndBatchConsume",
    "ParseExampleProduce",
    "ParseExampleConsume",
};

/* ---- numbers to indexes ---- */

static void index_put(xindex *index, int64_t id, uint32_t place)
{
    if (id < 0 || id >= DENSE_MAX) {
        *gt_map_put(&index->sparse, (uint64_t)id, 0) = place;
        return;
    }
    while (index->dense_count <= (size_t)id)
        GT_PUSH(index->dense, index->dense_count, index->dense_capacity, GT_MAP_NONE);
    index->dense[id] = place;
}

static uint32_t index_get(const xindex *index, int64_t id)
{
    if (id < 0 || id >= DENSE_MAX) return gt_map_get(&index->sparse, (uint64_t)id, 0);
    return (size_t)id < index->dense_count ? index->dense[id] : GT_MAP_NONE;
}

static void index_free(xindex *index)
{
    gt_free(index->dense);
    gt_map_free(&index->sparse);
    *index = (xindex){0};
}

/* ---- opening ---- */

bool gt_xplane_peek(xplane *plane, xfile *file, xrange range)
{
    *plane = (xplane){.range = range, .name = {"", 0}};
    bool damaged = false;
    xfield field;
    while (gt_xfile_next(file, &range, &field, &damaged)) {
        if (field.number == 1) plane->id = field.value;
        if (field.number == 2 && !gt_xfile_copy(file, field.body, &plane->arena, &plane->name)) return false;
        if (field.number == 3) plane->has_lines = true;
    }
    return !damaged;
}

/* An entry of a map field: its key and its value. */
static bool read_entry(xfile *file, xrange entry, int64_t *key, xrange *value)
{
    bool damaged = false;
    xfield field;
    *key = 0;
    *value = (xrange){entry.end, entry.end};
    while (gt_xfile_next(file, &entry, &field, &damaged)) {
        if (field.number == 1) *key = field.value;
        if (field.number == 2 && field.wire == GT_WIRE_BYTES) *value = field.body;
    }
    return !damaged;
}

/* The name in an XStatMetadata. */
static bool read_name(xplane *plane, xfile *file, xrange message, gt_str *name)
{
    bool damaged = false;
    xfield field;
    *name = (gt_str){"", 0};
    while (gt_xfile_next(file, &message, &field, &damaged))
        if (field.number == 2 && !gt_xfile_copy(file, field.body, &plane->arena, name)) return false;
    return !damaged;
}

static xstat_role role_of(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(roles); i++)
        if (gt_str_equals(name, roles[i].name)) return roles[i].role;
    return XSTAT_OTHER;
}

static bool add_stat_name(xplane *plane, xfile *file, xrange entry)
{
    int64_t id;
    xrange message;
    gt_str name;
    if (plane->stat_count == GT_MAP_NONE || !read_entry(file, entry, &id, &message) ||
        !read_name(plane, file, message, &name))
        return false;
    xstat_role role = role_of(name);
    plane->has_role[role] = true;
    index_put(&plane->stat_index, id, (uint32_t)plane->stat_count);
    GT_PUSH(plane->stats, plane->stat_count, plane->stat_capacity, ((xstat_name){name, GT_STR_NONE, role}));
    return true;
}

static bool add_kind(xplane *plane, xfile *file, xrange entry, bool is_held)
{
    xevent_kind kind = {0};
    if (plane->kind_count == GT_MAP_NONE || !read_entry(file, entry, &kind.id, &kind.range) ||
        (is_held && !gt_xfile_copy(file, kind.range, &plane->arena, &kind.message)))
        return false;
    index_put(&plane->kind_index, kind.id, (uint32_t)plane->kind_count);
    GT_PUSH(plane->kinds, plane->kind_count, plane->kind_capacity, kind);
    return true;
}

static void update_roles(xplane *plane)
{
    const xindex *index = &plane->stat_index;
    plane->role_count = index->dense_count;
    plane->roles = gt_realloc(plane->roles, plane->role_count + 1);
    for (size_t id = 0; id < plane->role_count; id++)
        plane->roles[id] =
            index->dense[id] == GT_MAP_NONE ? XSTAT_OTHER : (uint8_t)plane->stats[index->dense[id]].role;
}

bool gt_xplane_open(xplane *plane, xfile *file, gt_interner *strings, bool holds_kinds)
{
    plane->strings = strings;
    xrange rest = plane->range;
    bool damaged = false;
    xfield field;
    plane->property_count = 0;
    while (gt_xfile_next(file, &rest, &field, &damaged)) {
        if (field.number == 4 && !add_kind(plane, file, field.body, holds_kinds)) return false;
        if (field.number == 5 && !add_stat_name(plane, file, field.body)) return false;
        if (field.number == 6 && field.wire == GT_WIRE_BYTES && plane->property_count < XPLANE_PROPERTIES_MAX)
            plane->properties[plane->property_count++] = field.body;
    }
    update_roles(plane);
    return !damaged;
}

void gt_xplane_skip_stats(xplane *plane, const xstat_role *skipped, size_t count)
{
    for (size_t i = 0; i < plane->stat_count; i++)
        for (size_t j = 0; j < count; j++)
            if (plane->stats[i].role == skipped[j]) plane->stats[i].role = XSTAT_OTHER;
    update_roles(plane);
}

void gt_xplane_close(xplane *plane)
{
    gt_free_all(plane->stats, plane->kinds, plane->roles);
    index_free(&plane->stat_index);
    index_free(&plane->kind_index);
    gt_arena_free(&plane->arena);
    plane->stats = NULL;
    plane->kinds = NULL;
    plane->roles = NULL;
    plane->stat_count = plane->kind_count = plane->role_count = 0;
}

/* ---- stats ---- */

typedef struct xstat {
    uint64_t integer;
    bool is_integer;
    gt_str text;
    bool is_text;
    uint64_t reference;
    bool is_reference;
} xstat;

static bool read_stat(gt_proto proto, xstat *stat)
{
    *stat = (xstat){.text = {"", 0}};
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) switch (field.number) {
        case 3:
        case 4:
            stat->integer = (uint64_t)gt_proto_int(&field);
            stat->is_integer = true;
            break;
        case 5:
            stat->text = gt_proto_bytes(&field);
            stat->is_text = true;
            break;
        case 7:
            stat->reference = (uint64_t)gt_proto_int(&field);
            stat->is_reference = true;
            break;
        }
    return !proto.damaged;
}

static uint32_t intern(gt_interner *strings, gt_str text)
{
    gt_buffer repaired = {0};
    text = gt_utf8_repair(text, &repaired);
    uint32_t id = gt_interner_add(strings, text.bytes, text.len);
    gt_buffer_free(&repaired);
    return id;
}

/* The string id of a stat; GT_STR_NONE if it is not a string. */
static uint32_t text_of(xplane *plane, const xstat *stat)
{
    if (stat->is_text) return intern(plane->strings, stat->text);
    if (!stat->is_reference) return GT_STR_NONE;
    uint32_t place = index_get(&plane->stat_index, (int64_t)stat->reference);
    if (place == GT_MAP_NONE) return GT_STR_EMPTY;
    xstat_name *name = &plane->stats[place];
    if (name->text == GT_STR_NONE) name->text = intern(plane->strings, name->name);
    return name->text;
}

static bool is_empty(const xplane *plane, const xstat *stat)
{
    if (stat->is_text) return !stat->text.len;
    uint32_t place = index_get(&plane->stat_index, (int64_t)stat->reference);
    return !stat->is_reference || place == GT_MAP_NONE || !plane->stats[place].name.len;
}

static void set_text(xplane *plane, const xstat *stat, uint32_t *text)
{
    uint32_t id = text_of(plane, stat);
    if (id != GT_STR_NONE) *text = id;
}

static void set_integer(const xstat *stat, uint64_t *value, bool *has)
{
    if (!stat->is_integer) return;
    *value = stat->integer;
    *has = true;
}

static xstat_role role_at(const xplane *plane, uint64_t id)
{
    if (id < plane->role_count) return (xstat_role)plane->roles[id];
    uint32_t place = index_get(&plane->stat_index, (int64_t)id);
    return place == GT_MAP_NONE ? XSTAT_OTHER : plane->stats[place].role;
}

/* The fast path: one integer or reference after the number, as most stats are. */
static inline bool read_short_stat(const uint8_t *at, const uint8_t *end, xstat *stat)
{
    const bool is_integer = *at == STAT_UINT || *at == STAT_INT;
    uint64_t value;
    if ((!is_integer && *at != STAT_REFERENCE) || gt_varint(at + 1, end + GT_WINDOW_PAD, &value) != end)
        return false;
    *stat =
        (xstat){.integer = value, .reference = value, .is_integer = is_integer, .is_reference = !is_integer};
    return true;
}

/* The number of a stat's name, anywhere in the message; 0 if it has none. */
static uint64_t number_in(gt_proto proto)
{
    gt_proto_field field;
    while (gt_proto_next(&proto, &field))
        if (field.number == 1) return (uint64_t)gt_proto_int(&field);
    return 0;
}

bool gt_xplane_add_stat(xplane *plane, xattributes *a, const uint8_t *at, const uint8_t *end)
{
    uint64_t id = 0;
    const uint8_t *after = NULL;
    if (at < end && *at == STAT_NUMBER) after = gt_varint(at + 1, end + GT_WINDOW_PAD, &id);
    if (!after || after > end) {
        after = NULL;
        id = number_in((gt_proto){at, end, false});
    }
    const xstat_role role = role_at(plane, id);
    xstat stat;
    if (role == XSTAT_OTHER) return true;
    if (!(after && after < end && read_short_stat(after, end, &stat)) &&
        !read_stat((gt_proto){at, end, false}, &stat))
        return false;
    uint64_t number = 0;
    switch (role) {
    case XSTAT_OTHER:
        break;
    case XSTAT_CORRELATION:
        set_integer(&stat, &a->correlation, &a->has_correlation);
        break;
    case XSTAT_HLO_OP:
        set_text(plane, &stat, &a->hlo_op);
        break;
    case XSTAT_HLO_MODULE:
        set_text(plane, &stat, &a->hlo_module);
        break;
    case XSTAT_TF_OP:
        set_text(plane, &stat, &a->tf_op);
        break;
    case XSTAT_PROGRAM:
        set_integer(&stat, &a->program_id, &a->has_program);
        break;
    case XSTAT_GROUP:
        set_integer(&stat, &number, &a->has_group);
        a->group = (int64_t)number;
        break;
    case XSTAT_SCOPE:
        set_integer(&stat, &number, &a->has_scope);
        a->scope = (int64_t)number;
        break;
    case XSTAT_KERNEL_DETAILS:
        a->has_details = !is_empty(plane, &stat);
        a->details_are_given = true;
        break;
    case XSTAT_GRAPH:
        a->has_graph = true;
        break;
    case XSTAT_HLO_PROTO: /* bytes: see find_proto */
        break;
    }
    return true;
}

/* ---- the device ---- */

bool gt_xplane_device(xplane *plane, xfile *file, gt_jax_device *device)
{
    const struct {
        const char *name;
        uint32_t *text;
        uint64_t *number;
    } known[] = {
        {"gpu_device_name", &device->name, NULL},
        {"device_vendor", &device->vendor, NULL},
        {"core_count", NULL, &device->cores},
        {"clock_rate", NULL, &device->clock_khz},
        {"memory_size", NULL, &device->memory_bytes},
        {"compute_cap_major", NULL, &device->compute_major},
        {"compute_cap_minor", NULL, &device->compute_minor},
    };
    for (size_t i = 0; i < plane->property_count; i++) {
        gt_str bytes;
        xstat stat;
        bool ignored;
        if (!gt_xfile_show(file, plane->properties[i], &bytes)) return false;
        uint32_t place = index_get(&plane->stat_index, (int64_t)number_in(gt_proto_begin(bytes)));
        if (!read_stat(gt_proto_begin(bytes), &stat)) return false;
        for (size_t k = 0; place != GT_MAP_NONE && k < GT_LENGTH(known); k++) {
            if (!gt_str_equals(plane->stats[place].name, known[k].name)) continue;
            if (known[k].text)
                set_text(plane, &stat, known[k].text);
            else
                set_integer(&stat, known[k].number, &ignored);
        }
    }
    return true;
}

/* ---- kinds of events ---- */

/* Sets *bytes to the compiled module in a stat of the role XSTAT_HLO_PROTO. */
static void find_proto(const xplane *plane, gt_str stat, gt_str *bytes)
{
    gt_proto proto = gt_proto_begin(stat);
    gt_proto_field field;
    if (role_at(plane, number_in(proto)) != XSTAT_HLO_PROTO) return;
    while (gt_proto_next(&proto, &field))
        if (field.number == 6) *bytes = gt_proto_bytes(&field);
}

/* `offset`: of the message in the file. */
static bool read_kind(xplane *plane, xevent_kind *kind, gt_str message, uint64_t offset)
{
    gt_str name = {"", 0}, shown = {"", 0}, module = {"", 0};
    gt_proto proto = gt_proto_begin(message);
    gt_proto_field field;
    kind->is_read = true;
    while (gt_proto_next(&proto, &field)) {
        gt_str body = gt_proto_bytes(&field);
        if (field.number == 2) name = body;
        if (field.number == 4) shown = body;
        if (field.number != 5) continue;
        kind->has_attributes = true;
        const uint8_t *stat = (const uint8_t *)body.bytes;
        if (!gt_xplane_add_stat(plane, &kind->attributes, stat, stat + body.len)) return false;
        find_proto(plane, body, &module);
    }
    if (module.len) {
        kind->hlo_proto.begin = offset + (uint64_t)(module.bytes - message.bytes);
        kind->hlo_proto.end = kind->hlo_proto.begin + module.len;
    }
    for (size_t i = 0; i < GT_LENGTH(dropped); i++) kind->is_dropped |= gt_str_equals(name, dropped[i]);
    kind->name = intern(plane->strings, shown.len ? shown : name);
    return !proto.damaged;
}

bool gt_xplane_read_kind(xplane *plane, xfile *file, xevent_kind *kind)
{
    gt_str message;
    return gt_xfile_show(file, kind->range, &message) && read_kind(plane, kind, message, kind->range.begin);
}

const xevent_kind *gt_xplane_kind(xplane *plane, int64_t id)
{
    static const xevent_kind unknown = {.is_read = true, .name = GT_STR_EMPTY};
    uint32_t place = index_get(&plane->kind_index, id);
    if (place == GT_MAP_NONE) return &unknown;
    xevent_kind *kind = &plane->kinds[place];
    return kind->is_read || read_kind(plane, kind, kind->message, kind->range.begin) ? kind : NULL;
}
