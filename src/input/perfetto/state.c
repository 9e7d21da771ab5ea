/* The state between packets: interned names, clocks and tracks.
 *
 * Interned names are an array by number. Each entry has a generation, so that clearing the table only starts
 * a new generation. Numbers that are too large for the array go into a map. Clocks are few and searched
 * linearly. */
#include "input/perfetto/packets.h"

enum { DENSE_AT_LEAST = 64, DENSE_FACTOR = 8, CLOCKS_MAX = 256, SNAPSHOT_MAX = 64 };

void gt_interned_set(gt_interned *table, uint64_t iid, uint32_t text)
{
    table->set_count++;
    if (iid >= DENSE_AT_LEAST + DENSE_FACTOR * (uint64_t)table->set_count) {
        *gt_map_put(&table->sparse, iid, 0) = text;
        return;
    }
    if (iid >= table->dense_count) {
        table->dense = gt_grow(table->dense, &table->dense_capacity, (size_t)iid + 1, sizeof *table->dense);
        memset(table->dense + table->dense_count, 0,
               (table->dense_capacity - table->dense_count) * sizeof *table->dense);
        table->dense_count = table->dense_capacity;
    }
    table->dense[iid].text = text;
    table->dense[iid].generation = table->generation;
}

uint32_t gt_interned_get_sparse(const gt_interned *table, uint64_t iid)
{
    uint32_t text = gt_map_get(&table->sparse, iid, 0);
    return text == GT_MAP_NONE ? GT_STR_NONE : text;
}

void gt_interned_clear(gt_interned *table)
{
    table->generation++;
    gt_map_free(&table->sparse);
}

void gt_interned_free(gt_interned *table)
{
    gt_free(table->dense);
    gt_map_free(&table->sparse);
}

gt_clock *gt_clocks_find(gt_clocks *clocks, uint64_t id)
{
    for (size_t i = 0; i < clocks->count; i++)
        if (clocks->items[i].id == id) return &clocks->items[i];
    if (clocks->count == CLOCKS_MAX) return NULL;
    gt_clock clock = {.id = id, .unit_ns = 1};
    GT_PUSH(clocks->items, clocks->count, clocks->capacity, clock);
    return &clocks->items[clocks->count - 1];
}

int64_t gt_clock_time(gt_clock *clock, uint64_t timestamp)
{
    if (clock->is_incremental) timestamp = clock->last += timestamp;
    return (int64_t)(timestamp * clock->unit_ns + clock->ahead_ns);
}

static bool read_clock(gt_clock *clock, gt_proto message)
{
    gt_proto_field field;
    *clock = (gt_clock){.unit_ns = 1};
    while (gt_proto_next(&message, &field)) switch (field.number) {
        case GT_PF_CLOCK_ID:
            clock->id = (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_CLOCK_TIMESTAMP:
            clock->last = (uint64_t)gt_proto_int(&field);
            break;
        case GT_PF_CLOCK_IS_INCREMENTAL:
            clock->is_incremental = gt_proto_int(&field) != 0;
            break;
        case GT_PF_CLOCK_UNIT_NS:
            clock->unit_ns = gt_proto_int(&field) ? (uint64_t)gt_proto_int(&field) : 1;
            break;
        }
    return !message.damaged;
}

static gt_clocks *list_of(uint64_t id, gt_clocks *of_trace, gt_clocks *of_sequence)
{
    return id >= GT_CLOCK_OF_SEQUENCE && id < GT_CLOCK_CUSTOM ? of_sequence : of_trace;
}

bool gt_clocks_snapshot(gt_clocks *of_trace, gt_clocks *of_sequence, uint64_t *trace_clock, gt_proto snapshot)
{
    gt_clock read[SNAPSHOT_MAX];
    size_t count = 0;
    gt_proto_field field;
    while (gt_proto_next(&snapshot, &field)) {
        if (field.number == GT_PF_SNAPSHOT_CLOCK && count < SNAPSHOT_MAX &&
            !read_clock(&read[count++], gt_proto_message(&field)))
            return false;
        if (field.number == GT_PF_SNAPSHOT_TRACE_CLOCK && gt_proto_int(&field) > 0)
            *trace_clock = (uint64_t)gt_proto_int(&field);
    }
    /* All times of the snapshot are the same moment. Find it on the trace's clock: it is the trace clock's
     * own entry, or else that of the first clock, whose offset may be known from an earlier snapshot. */
    size_t known = 0;
    uint64_t now_ns = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_trace_clock = read[i].id == *trace_clock;
        if (!is_trace_clock && i) continue;
        gt_clock *clock = gt_clocks_find(list_of(read[i].id, of_trace, of_sequence), read[i].id);
        now_ns = read[i].last * read[i].unit_ns + (is_trace_clock || !clock ? 0 : clock->ahead_ns);
        known = i;
        if (is_trace_clock) break;
    }
    for (size_t i = 0; i < count; i++) {
        gt_clock *clock = gt_clocks_find(list_of(read[i].id, of_trace, of_sequence), read[i].id);
        if (!clock) continue;
        uint64_t ahead_ns = i == known && read[i].id != *trace_clock
                                ? clock->ahead_ns
                                : now_ns - read[i].last * read[i].unit_ns;
        *clock = read[i];
        clock->ahead_ns = ahead_ns;
    }
    return !snapshot.damaged;
}

uint32_t gt_tracks_find(gt_tracks_list *tracks, uint64_t uuid, uint64_t space)
{
    if (tracks->has_last && !space && tracks->last_uuid == uuid) return tracks->last;
    uint32_t *place = gt_map_put(&tracks->by_uuid, uuid, space);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)tracks->count;
        gt_perfetto_track track = {.uuid = uuid};
        GT_PUSH(tracks->items, tracks->count, tracks->capacity, track);
    }
    uint32_t found = *place;
    if (!space) {
        tracks->has_last = true;
        tracks->last_uuid = uuid;
        tracks->last = found;
    }
    return found;
}

void gt_tracks_free(gt_tracks_list *tracks)
{
    gt_free(tracks->items);
    gt_map_free(&tracks->by_uuid);
}
