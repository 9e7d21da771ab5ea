/* A PyTorch trace as arrays: unpacks the columns that every analysis walks over, and names processes and
 * threads. */
#include "trace/pytorch/pytorch.h"
#include "base/length.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct gt_tracks {
    gt_map names; /* (process, thread) to an index below */
    gt_track_names *items;
    size_t count, capacity;
    uint32_t unknown;
};

/* Host and GPU events must have a time; the few that do not take no part. */
static void check_times(gt_pytorch *trace)
{
    size_t without = 0;
    for (size_t row = 0; row < trace->count; row++) {
        trace->end_us[row] = trace->start_us[row] + trace->dur_us[row];
        if ((gt_kind_is_host(trace->kind[row]) || gt_kind_is_gpu(trace->kind[row])) &&
            !isfinite(trace->end_us[row])) {
            trace->kind[row] = GT_KIND_OTHER;
            without++;
        }
    }
    if (without) gt_warn("%zu events without a start or a duration are left out", without);
}

static uint8_t *bytes_of(const gt_store *store, size_t column)
{
    int64_t *values = gt_store_ints(store, column);
    size_t count = gt_store_count(store);
    uint8_t *bytes = gt_alloc(count);
    for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)values[i];
    gt_free(values);
    return bytes;
}

static gt_track_names *track_of(struct gt_tracks *tracks, uint32_t process, uint32_t thread)
{
    uint32_t *at = gt_map_put(&tracks->names, process, thread);
    if (*at == GT_MAP_NONE) {
        gt_track_names unknown = {tracks->unknown, tracks->unknown, tracks->unknown};
        *at = (uint32_t)tracks->count;
        GT_PUSH(tracks->items, tracks->count, tracks->capacity, unknown);
    }
    return &tracks->items[*at];
}

/* Reads the metadata events; of several for one thread the last counts. */
static struct gt_tracks *read_tracks(gt_pytorch *trace)
{
    struct gt_tracks *tracks = gt_alloc_zero(1, sizeof *tracks);
    tracks->unknown = gt_interner_add_cstr(trace->strings, "Unknown");
    uint32_t *names = NULL, *labels = NULL;
    for (size_t row = 0; row < trace->count; row++) {
        if (trace->kind[row] != GT_KIND_METADATA) continue;
        if (!names) {
            names = gt_store_string_ids(trace->store, GT_EVENT_META_NAME);
            labels = gt_store_string_ids(trace->store, GT_EVENT_META_LABELS);
        }
        const char *what = gt_pytorch_name(trace, (uint32_t)row).bytes;
        gt_track_names *track = track_of(tracks, trace->process[row], trace->thread[row]);
        if (strcmp(what, "process_name") == 0 && names[row]) track->process_name = names[row];
        if (strcmp(what, "process_labels") == 0 && labels[row]) track->process_label = labels[row];
        if (strcmp(what, "thread_name") == 0 && names[row]) track->thread_name = names[row];
    }
    gt_free(names);
    gt_free(labels);
    return tracks;
}

gt_pytorch *gt_pytorch_new(gt_store *store, gt_store *arrows, gt_interner *strings, bool has_python)
{
    gt_pytorch *trace = gt_alloc_zero(1, sizeof *trace);
    trace->strings = strings;
    trace->store = store;
    trace->arrows = arrows;
    trace->count = trace->recorded = gt_store_count(store);
    trace->events = gt_store_records(store);
    trace->has_python = has_python;
    trace->uid = gt_store_row_order(store);
    trace->kind = bytes_of(store, GT_EVENT_KIND);
    trace->integral = bytes_of(store, GT_EVENT_INTEGRAL);
    trace->name = gt_store_string_ids(store, GT_EVENT_NAME);
    trace->start_us = gt_store_times(store, GT_EVENT_START);
    trace->dur_us = gt_store_times(store, GT_EVENT_DURATION);
    trace->end_us = gt_alloc(trace->count * sizeof *trace->end_us);
    trace->process = gt_store_string_ids(store, GT_EVENT_PROCESS);
    trace->thread = gt_store_string_ids(store, GT_EVENT_THREAD);
    check_times(trace);
    trace->gpu_only = !memchr(trace->kind, GT_KIND_CPU_OP, trace->count);
    trace->tracks = read_tracks(trace);
    return trace;
}

void gt_pytorch_free(gt_pytorch *trace)
{
    if (!trace) return;
    void *arrays[] = {trace->uid,          trace->kind,      trace->name,      trace->start_us,
                      trace->dur_us,       trace->end_us,    trace->integral,  trace->process,
                      trace->thread,       trace->parent,    trace->preorder,  trace->subtree_end,
                      trace->cpu_op_above, trace->launch_op, trace->recompute, trace->link_runtime,
                      trace->link_gpu,     trace->extra,     trace->late_roots};
    for (size_t i = 0; i < GT_LENGTH(arrays); i++) gt_free(arrays[i]);
    gt_map_free(&trace->tracks->names);
    gt_free(trace->tracks->items);
    gt_free(trace->tracks);
    gt_store_free(trace->store);
    gt_store_free(trace->arrows);
    gt_interner_free(trace->strings);
    gt_free(trace);
}

uint32_t *gt_no_events(size_t count)
{
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    memset(rows, 0xFF, count * sizeof *rows);
    return rows;
}

gt_str gt_pytorch_name(const gt_pytorch *trace, uint32_t row)
{
    return gt_interner_get(trace->strings, trace->name[row]);
}

gt_track_names gt_pytorch_track(const gt_pytorch *trace, uint32_t row)
{
    struct gt_tracks *tracks = trace->tracks;
    uint32_t zero = gt_interner_find(trace->strings, "0", 1);
    gt_track_names track = {tracks->unknown, tracks->unknown, tracks->unknown};
    uint32_t at = gt_map_get(&tracks->names, trace->process[row], zero);
    if (at != GT_MAP_NONE) {
        track.process_name = tracks->items[at].process_name;
        track.process_label = tracks->items[at].process_label;
    }
    at = gt_map_get(&tracks->names, trace->process[row], trace->thread[row]);
    if (at != GT_MAP_NONE) track.thread_name = tracks->items[at].thread_name;
    return track;
}

/* One pass for the three words: each has a c that few other letters stand beside. */
bool gt_is_communication(gt_str name)
{
    static const char reduce[] = "cross_device_reduce";
    const char *bytes = name.bytes;
    for (size_t i = 0; i + 2 < name.len; i++) {
        if ((bytes[i] | 32) != 'c') continue;
        char next = bytes[i + 1] | 32;
        if (next == 'c' && (bytes[i + 2] | 32) == 'l' && i > 0) {
            char before = bytes[i - 1] | 32;
            if (before == 'n' || before == 'r') return true;
        }
        if (next == 'r' && name.len - i >= sizeof reduce - 1 &&
            strncasecmp(bytes + i, reduce, sizeof reduce - 1) == 0)
            return true;
    }
    return false;
}
