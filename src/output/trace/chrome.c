/* Chrome's trace format, JSON: {"traceEvents": [...]}, as read by chrome://tracing, ui.perfetto.dev and most
 * scripts. A slice is one complete event ("ph": "X"); times are microseconds with three decimals. Each lane
 * is a separate thread because viewers drop overlapping slices of one thread. */
#include "output/trace/timeline_format.h"

#include "json/string.h"

enum { FIRST_FREE_TID = 100000000 }; /* above the thread ids of Linux, below those that reports skip */

/* ---- JSON ---- */

static void add_uint(gt_buffer *out, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    gt_buffer_add_cstr(out, text);
}

static void add_text_id(gt_timeline *t, gt_buffer *out, uint32_t text)
{
    gt_json_string_add(out, gt_interner_get(t->strings, text), &t->part);
}

/* JSON has no infinities and no NaN. */
static void add_double(gt_buffer *out, double value)
{
    if (isfinite(value))
        gt_buffer_add_double(out, value);
    else
        gt_buffer_add_cstr(out, isnan(value) ? "null" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

/* Adds nanoseconds, which are not negative, as microseconds. */
static void add_time(gt_buffer *out, int64_t ns)
{
    char *to = gt_buffer_reserve(out, GT_NUMBER_MAX + 4);
    size_t len = gt_print_int(to, ns / 1000);
    to[len] = '.';
    to[len + 1] = (char)('0' + ns / 100 % 10);
    to[len + 2] = (char)('0' + ns / 10 % 10);
    to[len + 3] = (char)('0' + ns % 10);
    out->len += len + 4;
}

/* ---- the body of an event ---- */

static void begin(gt_timeline *t, uint32_t category, uint32_t name)
{
    static const char *const phases[] = {[GT_TIMELINE_SLICE] = "\"ph\":\"X\"",
                                         [GT_TIMELINE_MARK] = "\"ph\":\"i\",\"s\":\"t\"",
                                         [GT_TIMELINE_VALUE] = "\"ph\":\"C\""};
    t->notes_begun = false;
    gt_buffer_add_cstr(&t->body, phases[t->entry.kind]);
    if (category) {
        gt_buffer_add_cstr(&t->body, ",\"cat\":");
        add_text_id(t, &t->body, category);
    }
    gt_buffer_add_cstr(&t->body, ",\"name\":");
    add_text_id(t, &t->body, name);
}

static void flow(gt_timeline *t, uint64_t number, bool arrives)
{
    char text[64];
    snprintf(text, sizeof text, ",\"bind_id\":\"0x%llx\",\"flow_%s\":true", (unsigned long long)number,
             arrives ? "in" : "out");
    gt_buffer_add_cstr(&t->body, text);
}

static void add_note(gt_timeline *t, uint32_t key, gt_timeline_note note)
{
    gt_buffer *out = &t->body;
    gt_buffer_add_cstr(out, t->notes_begun ? "," : ",\"args\":{");
    t->notes_begun = true;
    add_text_id(t, out, key);
    gt_buffer_add(out, ":", 1);
    switch (note.type) {
    case GT_TIMELINE_NOTE_INT:
        gt_buffer_add_int(out, note.integer);
        break;
    case GT_TIMELINE_NOTE_UINT:
        add_uint(out, note.natural);
        break;
    case GT_TIMELINE_NOTE_DOUBLE:
        add_double(out, note.real);
        break;
    case GT_TIMELINE_NOTE_BOOL:
        gt_buffer_add_cstr(out, note.yes ? "true" : "false");
        break;
    case GT_TIMELINE_NOTE_STRING:
        gt_json_string_add(out, note.text, &t->part);
        break;
    case GT_TIMELINE_NOTE_LITERAL:
        add_text_id(t, out, note.word);
        break;
    case GT_TIMELINE_NOTE_JSON:
        note.text = gt_utf8_repair(note.text, &t->part);
        gt_buffer_add(out, note.text.bytes, note.text.len);
        break;
    }
}

static void value(gt_timeline *t, double number)
{
    add_note(t, gt_interner_add_cstr(t->strings, "value"),
             (gt_timeline_note){GT_TIMELINE_NOTE_DOUBLE, .real = number});
}

static void end(gt_timeline *t)
{
    if (t->notes_begun) gt_buffer_add_cstr(&t->body, "}");
}

/* ---- the file ---- */

/* Writes t->packet as one event and clears it. */
static void write_event(gt_timeline *t)
{
    gt_timeline_put(t, t->written_one ? ",\n" : "\n", t->written_one ? 2 : 1);
    gt_timeline_put(t, t->packet.bytes, t->packet.len);
    t->packet.len = 0;
    t->written_one = true;
}

static void write_meta(gt_timeline *t, const char *what, int64_t pid, int64_t tid, uint32_t name)
{
    gt_buffer_add_cstr(&t->packet, "{\"ph\":\"M\",\"name\":\"");
    gt_buffer_add_cstr(&t->packet, what);
    gt_buffer_add_cstr(&t->packet, "\",\"pid\":");
    gt_buffer_add_int(&t->packet, pid);
    gt_buffer_add_cstr(&t->packet, ",\"tid\":");
    gt_buffer_add_int(&t->packet, tid);
    gt_buffer_add_cstr(&t->packet, strcmp(what, "process_labels") == 0 ? ",\"args\":{\"labels\":"
                                                                       : ",\"args\":{\"name\":");
    add_text_id(t, &t->packet, name);
    gt_buffer_add_cstr(&t->packet, "}}");
    write_event(t);
}

static void write_head(gt_timeline *t)
{
    static const char head[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    gt_timeline_put(t, head, sizeof head - 1);
    for (size_t i = 0; i < t->process_count; i++)
        if (t->processes[i].name) write_meta(t, "process_name", t->processes[i].pid, 0, t->processes[i].name);
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].tid != GT_NO_TID)
            *gt_map_put(&t->tids, (uint64_t)t->processes[t->tracks[i].process].pid,
                        (uint64_t)t->tracks[i].tid) = FIRST_FREE_TID;
}

/* A thread id that the process does not use; the last one is kept under GT_NO_TID. */
static uint64_t unused_tid(gt_timeline *t, uint64_t pid)
{
    uint32_t *last = gt_map_put(&t->tids, pid, (uint64_t)GT_NO_TID);
    uint32_t tid = *last == GT_MAP_NONE ? FIRST_FREE_TID : *last + 1;
    while (gt_map_get(&t->tids, pid, tid) != GT_MAP_NONE) tid++;
    *gt_map_put(&t->tids, pid, (uint64_t)GT_NO_TID) = tid;
    return tid;
}

static void describe(gt_timeline *t, uint32_t track, size_t lane)
{
    gt_timeline_track_row *row = &t->tracks[track];
    int64_t pid = t->processes[row->process].pid;
    bool keeps_number = lane == 0 && row->tid != GT_NO_TID;
    row->lanes[lane].id = keeps_number ? (uint64_t)row->tid : unused_tid(t, (uint64_t)pid);
    if (row->name && row->form != GT_FORM_COUNTER)
        write_meta(t, "thread_name", pid, (int64_t)row->lanes[lane].id, row->name);
}

static void write(gt_timeline *t, const gt_timeline_entry *entry, size_t lane, gt_str body)
{
    const gt_timeline_track_row *row = &t->tracks[entry->track];
    gt_buffer *out = &t->packet;
    gt_buffer_add(out, "{", 1);
    gt_buffer_add(out, body.bytes, body.len);
    gt_buffer_add_cstr(out, ",\"pid\":");
    gt_buffer_add_int(out, t->processes[row->process].pid);
    gt_buffer_add_cstr(out, ",\"tid\":");
    gt_buffer_add_int(out, (int64_t)row->lanes[lane].id);
    gt_buffer_add_cstr(out, ",\"ts\":");
    add_time(out, entry->start_ns);
    if (entry->kind == GT_TIMELINE_SLICE) {
        gt_buffer_add_cstr(out, ",\"dur\":");
        add_time(out, entry->end_ns - entry->start_ns);
    }
    gt_buffer_add(out, "}", 1);
    write_event(t);
}

static void write_tail(gt_timeline *t)
{
    gt_timeline_put(t, "\n]}\n", 4);
}

const gt_timeline_writer gt_timeline_chrome = {
    .begin = begin,
    .flow = flow,
    .value = value,
    .note = add_note,
    .end = end,
    .write_head = write_head,
    .describe = describe,
    .write = write,
    .write_tail = write_tail,
};
