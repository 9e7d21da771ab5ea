/* Slices become the rows that their Chrome events would; flow ids become arrows, and the names of tracks
 * become metadata. Events are counted as they come, so that a row's uid is its slice's place among the
 * slices. */
#include "input/chrome/kineto.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/progress.h"
#include "input/chrome/kineto_fields.h"
#include "input/perfetto/record.h"

#include <stdlib.h>
#include <string.h>

typedef struct reading {
    gt_perfetto *trace;
    gt_perfetto_records *records;
    gt_interner *strings;
    gt_kineto_options keep;
    gt_store_writer *rows, *arrows;
    gt_slices *slices;
    gt_record record;
    uint8_t *kinds; /* by text id of a category: 1 + gt_event_kind, 0 where not asked for */
    size_t kind_count;
    uint32_t row_count;
} reading;

static gt_event_kind kind_of(reading *r, uint32_t category)
{
    if (category >= r->kind_count) {
        size_t count = (size_t)category + 1 + r->kind_count;
        r->kinds = gt_realloc(r->kinds, count);
        memset(r->kinds + r->kind_count, 0, count - r->kind_count);
        r->kind_count = count;
    }
    uint8_t *known = &r->kinds[category];
    if (!*known)
        *known = (uint8_t)(1 + gt_kineto_kind_of(gt_interner_get(r->strings, category), (gt_str){"X", 1}));
    return (gt_event_kind)(*known - 1);
}

static bool is_wanted(const reading *r, gt_event_kind kind)
{
    if (r->keep.every_event) return true;
    return kind != GT_KIND_OTHER && (kind != GT_KIND_PYTHON || r->keep.python_functions);
}

#define BIT(column) (UINT64_C(1) << (column))

/* ---- slices ---- */

static void add_arrows(reading *r, const gt_perfetto_event *event, gt_event_kind kind)
{
    bool starts = kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
    bool ends = kind == GT_KIND_KERNEL || kind == GT_KIND_MEMCPY || kind == GT_KIND_MEMSET;
    if (!starts && !ends) return;
    gt_store_cell cells[GT_EVENT_COLUMNS];
    memcpy(cells, r->record.cells, sizeof cells);
    cells[GT_EVENT_KIND].integer = starts ? GT_KIND_FLOW_START : GT_KIND_FLOW_END;
    for (size_t i = 0; i < event->flow_count; i++) {
        cells[GT_EVENT_FLOW].integer = (int64_t)event->flows[i];
        gt_store_writer_add(r->arrows,
                            BIT(GT_EVENT_KIND) | BIT(GT_EVENT_PROCESS) | BIT(GT_EVENT_THREAD) |
                                BIT(GT_EVENT_START) | BIT(GT_EVENT_FLOW),
                            cells);
    }
}

static void read_slice(reading *r, const gt_perfetto_event *event)
{
    gt_event_kind kind = kind_of(r, event->category);
    bool wanted = is_wanted(r, kind);
    uint32_t row = wanted ? r->row_count : GT_SLICE_UNWANTED;
    if (event->type == GT_PERFETTO_COMPLETE)
        gt_slices_complete(r->slices, row, event->dur_ns);
    else if (event->type == GT_PERFETTO_BEGIN)
        gt_slices_begin(r->slices, event->track, event->time_ns, row);
    if (!wanted) {
        gt_store_writer_pass(r->rows);
        return;
    }
    r->row_count++;
    gt_perfetto_record_head(r->records, event, &r->record);
    gt_perfetto_record_args(r->records, event, &r->record, NULL, NULL);
    r->record.cells[GT_EVENT_KIND].integer = kind;
    r->record.cells[GT_EVENT_INTEGRAL].integer = 0;
    uint64_t present = r->record.present | BIT(GT_EVENT_KIND) | BIT(GT_EVENT_INTEGRAL);
    present &= ~(BIT(GT_EVENT_CATEGORY) | BIT(GT_EVENT_PHASE) | BIT(GT_EVENT_DURATION) | BIT(GT_EVENT_FLOW) |
                 BIT(GT_EVENT_META_NAME) | BIT(GT_EVENT_META_LABELS));
    gt_store_writer_add(r->rows, present, r->record.cells);
    add_arrows(r, event, kind);
}

/* ---- names of processes and threads ---- */

static uint32_t number_text(reading *r, int64_t number)
{
    char digits[GT_NUMBER_MAX];
    return gt_interner_add(r->strings, digits, gt_print_int(digits, number));
}

static void add_metadata(reading *r, const gt_perfetto_track *track, const char *what, size_t column,
                         uint32_t text)
{
    if (text == GT_STR_NONE) return;
    gt_store_cell cells[GT_EVENT_COLUMNS];
    cells[GT_EVENT_KIND].integer = GT_KIND_METADATA;
    cells[GT_EVENT_NAME].text = gt_interner_add_cstr(r->strings, what);
    cells[GT_EVENT_PROCESS].text = number_text(r, track->pid);
    cells[GT_EVENT_THREAD].text = number_text(r, track->kind == GT_TRACK_THREAD ? track->tid : 0);
    cells[column].text = text;
    r->row_count++;
    gt_store_writer_add(r->rows,
                        BIT(GT_EVENT_KIND) | BIT(GT_EVENT_NAME) | BIT(GT_EVENT_PROCESS) |
                            BIT(GT_EVENT_THREAD) | BIT(column),
                        cells);
}

static void add_names(reading *r)
{
    for (size_t i = 0; i < gt_perfetto_track_count(r->trace); i++) {
        const gt_perfetto_track *track = gt_perfetto_track_of(r->trace, (uint32_t)i);
        if (track->kind == GT_TRACK_PROCESS) {
            add_metadata(r, track, "process_name", GT_EVENT_META_NAME, track->name);
            add_metadata(r, track, "process_labels", GT_EVENT_META_LABELS, track->label);
        } else if (track->kind == GT_TRACK_THREAD) {
            add_metadata(r, track, "thread_name", GT_EVENT_META_NAME, track->name);
        }
    }
}

/* ---- the trace ---- */

bool gt_kineto_read_perfetto(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                             gt_store *store, gt_store *arrows, gt_error *error)
{
    reading *r = gt_alloc_zero(1, sizeof *r);
    gt_perfetto_event event;
    r->strings = gt_store_strings(store);
    r->trace = gt_perfetto_new(stream, r->strings);
    r->records = gt_perfetto_records_new(r->trace, gt_kineto_fields, GT_EVENT_COLUMNS);
    r->keep = keep;
    r->rows = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, r->strings);
    r->arrows = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, r->strings);
    r->slices = gt_slices_new();
    if (!options->is_part) gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    while (gt_perfetto_next(r->trace, &event)) {
        if (event.type == GT_PERFETTO_END)
            gt_slices_end(r->slices, event.track, event.time_ns);
        else if (event.type != GT_PERFETTO_COUNTER)
            read_slice(r, &event);
    }
    if (!options->is_part) gt_progress_end();
    add_names(r);
    gt_store_append(store, gt_store_writer_take(r->rows));
    gt_store_append(arrows, gt_store_writer_take(r->arrows));
    gt_perfetto_fill_durations(store, GT_EVENT_DURATION, r->slices);
    bool read = gt_perfetto_accept(r->trace, gt_store_records(store), "events", options, error);
    gt_slices_free(r->slices);
    gt_store_writer_free(r->rows);
    gt_store_writer_free(r->arrows);
    gt_perfetto_records_free(r->records);
    gt_perfetto_free(r->trace);
    gt_free(r->kinds);
    gt_free(r);
    return read;
}
