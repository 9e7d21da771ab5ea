/* The tables of a plane: event_metadata and stat_metadata, and values that are given by reference to them. */
#include "input/xplane_plane.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { DENSE_MAX = 1 << 20 };

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

/* Events that say what the framework did, not what ran. */
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

static bool is(gt_text text, const char *other)
{
    size_t len = strlen(other);
    return text.len == len && memcmp(text.bytes, other, len) == 0;
}

/* ---- numbers to places ---- */

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
    free(index->dense);
    gt_map_free(&index->sparse);
    *index = (xindex){0};
}

/* ---- opening ---- */

bool xplane_peek(xplane *plane, gt_text message)
{
    *plane = (xplane){.message = message, .name = {"", 0}};
    gt_proto proto = gt_proto_begin(message);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) {
        if (field.number == 1) plane->id = gt_proto_int(&field);
        if (field.number == 2) plane->name = gt_proto_bytes(&field);
        if (field.number == 3) plane->has_lines = true;
    }
    return !proto.damaged;
}

/* A map entry: its key and its value. */
static bool read_entry(gt_proto entry, int64_t *key, gt_text *value)
{
    gt_proto_field field;
    *key = 0;
    *value = (gt_text){"", 0};
    while (gt_proto_next(&entry, &field)) {
        if (field.number == 1) *key = gt_proto_int(&field);
        if (field.number == 2) *value = gt_proto_bytes(&field);
    }
    return !entry.damaged;
}

static gt_text name_in(gt_text message, uint32_t number, bool *damaged)
{
    gt_text name = {"", 0};
    gt_proto proto = gt_proto_begin(message);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field))
        if (field.number == number) name = gt_proto_bytes(&field);
    *damaged |= proto.damaged;
    return name;
}

static xstat_role role_of(gt_text name)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (is(name, roles[i].name)) return roles[i].role;
    return XSTAT_OTHER;
}

static bool add_stat_name(xplane *plane, gt_proto entry)
{
    int64_t id;
    gt_text message;
    bool damaged = !read_entry(entry, &id, &message);
    gt_text name = name_in(message, 2, &damaged);
    if (damaged || plane->stat_count == GT_MAP_NONE) return false;
    xstat_role role = role_of(name);
    plane->has_role[role] = true;
    index_put(&plane->stat_index, id, (uint32_t)plane->stat_count);
    GT_PUSH(plane->stats, plane->stat_count, plane->stat_capacity, ((xstat_name){name, GT_TEXT_NONE, role}));
    return true;
}

static bool add_kind(xplane *plane, gt_proto entry)
{
    xevent_kind kind = {0};
    if (!read_entry(entry, &kind.id, &kind.message) || plane->kind_count == GT_MAP_NONE) return false;
    index_put(&plane->kind_index, kind.id, (uint32_t)plane->kind_count);
    GT_PUSH(plane->kinds, plane->kind_count, plane->kind_capacity, kind);
    return true;
}

bool xplane_open(xplane *plane, gt_strings *strings)
{
    plane->strings = strings;
    gt_proto proto = gt_proto_begin(plane->message);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) {
        if (field.number == 4 && !add_kind(plane, gt_proto_message(&field))) return false;
        if (field.number == 5 && !add_stat_name(plane, gt_proto_message(&field))) return false;
    }
    return !proto.damaged;
}

void xplane_read_only(xplane *plane, xstat_role role)
{
    for (size_t i = 0; i < plane->stat_count; i++)
        if (plane->stats[i].role != role) plane->stats[i].role = XSTAT_OTHER;
}

void xplane_close(xplane *plane)
{
    free(plane->stats);
    free(plane->kinds);
    index_free(&plane->stat_index);
    index_free(&plane->kind_index);
    plane->stats = NULL;
    plane->kinds = NULL;
    plane->stat_count = plane->kind_count = 0;
}

/* ---- stats ---- */

typedef struct xstat {
    uint64_t integer;
    bool is_integer;
    gt_text text, bytes; /* with a length where given */
    bool is_text;
    uint64_t reference;
    bool is_reference;
} xstat;

static bool read_stat(gt_proto proto, xstat *stat)
{
    *stat = (xstat){.text = {"", 0}, .bytes = {"", 0}};
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
        case 6:
            stat->bytes = gt_proto_bytes(&field);
            break;
        case 7:
            stat->reference = (uint64_t)gt_proto_int(&field);
            stat->is_reference = true;
            break;
        }
    return !proto.damaged;
}

static uint32_t intern(gt_strings *strings, gt_text text)
{
    gt_buffer repaired = {0};
    text = gt_utf8_repair(text, &repaired);
    uint32_t id = gt_strings_add(strings, text.bytes, text.len);
    gt_buffer_free(&repaired);
    return id;
}

/* The text of a stat, NONE where it has none. */
static uint32_t text_of(xplane *plane, const xstat *stat)
{
    if (stat->is_text) return intern(plane->strings, stat->text);
    if (!stat->is_reference) return GT_TEXT_NONE;
    uint32_t place = index_get(&plane->stat_index, (int64_t)stat->reference);
    if (place == GT_MAP_NONE) return GT_TEXT_EMPTY;
    xstat_name *name = &plane->stats[place];
    if (name->text == GT_TEXT_NONE) name->text = intern(plane->strings, name->name);
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
    if (id != GT_TEXT_NONE) *text = id;
}

static void set_integer(const xstat *stat, uint64_t *value, bool *has)
{
    if (!stat->is_integer) return;
    *value = stat->integer;
    *has = true;
}

/* What a stat is; most begin with the number of their name, and most are none that is read. */
static xstat_role peek_role(const xplane *plane, gt_proto proto)
{
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) {
        if (field.number != 1) continue;
        uint32_t place = index_get(&plane->stat_index, gt_proto_int(&field));
        return place == GT_MAP_NONE ? XSTAT_OTHER : plane->stats[place].role;
    }
    uint32_t unnumbered = index_get(&plane->stat_index, 0);
    return unnumbered == GT_MAP_NONE ? XSTAT_OTHER : plane->stats[unnumbered].role;
}

bool xplane_add_stat(xplane *plane, xattributes *a, gt_proto proto)
{
    xstat_role role = peek_role(plane, proto);
    xstat stat;
    if (role == XSTAT_OTHER) return true;
    if (!read_stat(proto, &stat)) return false;
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
        break;
    case XSTAT_GRAPH:
        a->has_graph = true;
        break;
    case XSTAT_HLO_PROTO:
        a->hlo_proto = stat.bytes;
        break;
    }
    return true;
}

/* ---- kinds of events ---- */

static bool read_kind(xplane *plane, xevent_kind *kind)
{
    gt_text name = {"", 0}, shown = {"", 0};
    gt_proto proto = gt_proto_begin(kind->message);
    gt_proto_field field;
    kind->is_read = true;
    while (gt_proto_next(&proto, &field)) {
        if (field.number == 2) name = gt_proto_bytes(&field);
        if (field.number == 4) shown = gt_proto_bytes(&field);
        if (field.number == 5 && !xplane_add_stat(plane, &kind->attributes, gt_proto_message(&field)))
            return false;
    }
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) kind->is_dropped |= is(name, dropped[i]);
    kind->name = intern(plane->strings, shown.len ? shown : name);
    return !proto.damaged;
}

const xevent_kind *xplane_kind(xplane *plane, int64_t id)
{
    static const xevent_kind unknown = {.is_read = true, .name = GT_TEXT_EMPTY};
    uint32_t place = index_get(&plane->kind_index, id);
    if (place == GT_MAP_NONE) return &unknown;
    xevent_kind *kind = &plane->kinds[place];
    return kind->is_read || read_kind(plane, kind) ? kind : NULL;
}
