/* A Chrome trace, such as PyTorch's, as events of a timeline: read once, front to back, every argument kept.
 *
 * Slices are complete events (X) and pairs of begin and end (B, E); moments (i, I, R) and counters (C) stay
 * what they are; arrows (s, t, f) join the slices that begin where they do; metadata (M) names processes and
 * threads. Arguments that are arrays or objects stay JSON. Of the document's other members one mark is made.
 */
#include "transform/convert.h"

#include "base/length.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/progress.h"
#include "input/chrome/events.h"
#include "json/number.h"
#include "transform/convert_values.h"

#include <stdlib.h>
#include <string.h>

/* Perfetto's processes have numbers of 31 bits: texts get those at the end. Threads may have any. */
enum { FIRST_MADE_UP_NUMBER = 2000000000 };

typedef enum member { PHASE, CATEGORY, NAME, PROCESS, THREAD, TIME, DURATION, ID, ARGUMENTS, MEMBERS } member;

static const char *const member_names[MEMBERS] = {
    [PHASE] = "ph", [CATEGORY] = "cat", [NAME] = "name", [PROCESS] = "pid",   [THREAD] = "tid",
    [TIME] = "ts",  [DURATION] = "dur", [ID] = "id",     [ARGUMENTS] = "args"};

typedef struct open_slice {
    size_t number, below; /* of the event, and the slice that it lies in; SIZE_MAX for none */
} open_slice;

typedef struct conversion {
    gt_json json;
    gt_timeline *timeline;
    gt_interner *strings;
    gt_buffer raw[MEMBERS]; /* of the event in hand, as JSON; empty where it has none */
    gt_buffer about;        /* the document's other members: a JSON object up to its brace */
    gt_buffer text, padded;
    gt_map processes; /* text id of the raw pid to process */
    gt_map tracks;    /* (process, text id of the raw tid) to track */
    gt_map counters;  /* (process, text id of the name) to track */
    gt_map open;      /* track to the innermost slice begun with B */
    open_slice *slices;
    size_t slice_count, slice_capacity;
    uint32_t made_up; /* numbers given to texts */
    int64_t first_ns;
    gt_chrome_totals totals;
} conversion;

/* ---- values ---- */

/* The value at the cursor as its text. */
static bool read_raw(conversion *c, gt_buffer *out)
{
    gt_json *json = &c->json;
    gt_json_peek(json); /* passes white space */
    gt_json_set_mark(json);
    bool read = gt_json_skip(json);
    out->len = 0;
    if (read) gt_buffer_add(out, json->mark, (size_t)(json->at - json->mark));
    gt_json_clear_mark(json);
    return read;
}

static gt_str raw(conversion *c, member m)
{
    return (gt_str){c->raw[m].bytes, c->raw[m].len};
}

static uint32_t text_id(conversion *c, gt_str value)
{
    if (!value.len) return GT_STR_NONE;
    gt_str text = gt_raw_decode(value, &c->text);
    return gt_interner_add(c->strings, text.bytes, text.len);
}

/* ---- processes and tracks ---- */

/* A number that is one stays; anything else gets one, and its text is the name. */
static int64_t number_of(conversion *c, gt_str value, int64_t least, int64_t most, gt_str *name)
{
    int64_t number;
    bool is_number =
        !gt_raw_is_string(value) && gt_raw_int(value, &number) && number >= least && number <= most;
    *name = is_number ? (gt_str){"", 0} : gt_raw_decode(value, &c->text);
    return is_number ? number : FIRST_MADE_UP_NUMBER + (int64_t)c->made_up++;
}

static uint32_t process_of(conversion *c)
{
    gt_str value = raw(c, PROCESS), name;
    uint32_t *found = gt_map_put(&c->processes, gt_interner_add(c->strings, value.bytes, value.len), 0);
    if (*found == GT_MAP_NONE) {
        int64_t pid = number_of(c, value, -1, FIRST_MADE_UP_NUMBER - 1, &name); /* PyTorch uses -1 too */
        *found = gt_timeline_process(c->timeline, pid, name);
    }
    return *found;
}

static uint32_t track_of(conversion *c)
{
    gt_str value = raw(c, THREAD), name;
    uint32_t process = process_of(c);
    uint32_t *found = gt_map_put(&c->tracks, process, gt_interner_add(c->strings, value.bytes, value.len));
    if (*found == GT_MAP_NONE) {
        int64_t tid = number_of(c, value, GT_NO_TID + 1, INT64_MAX, &name);
        *found = gt_timeline_track(c->timeline, process, (gt_track_ask){GT_FORM_THREAD, tid, name});
    }
    return *found;
}

/* ---- arguments ---- */

/* JSON in memory that the reader may read behind. */
static gt_str padded(conversion *c, gt_str value)
{
    c->padded.len = 0;
    gt_buffer_add(&c->padded, value.bytes, value.len);
    memset(gt_buffer_reserve(&c->padded, GT_STREAM_PAD), 0, GT_STREAM_PAD);
    return (gt_str){c->padded.bytes, value.len};
}

static void note_value(conversion *c, uint32_t key, gt_str value)
{
    gt_raw_note(c->timeline, key, value, &c->text);
}

/* Calls `use` for each member of a JSON object; the value has at least one byte. */
static void each_member(conversion *c, gt_str object, void (*use)(conversion *c, uint32_t key, gt_str value))
{
    gt_json json;
    gt_str key;
    if (!object.len || object.bytes[0] != '{') return;
    gt_json_begin_str(&json, padded(c, object));
    if (!gt_json_enter_object(&json)) return;
    while (gt_json_next_key(&json, &key)) {
        key = gt_raw_decoded(key, &c->text);
        uint32_t id = gt_interner_add(c->strings, key.bytes, key.len);
        gt_json_peek(&json);
        const uint8_t *begin = json.at;
        if (!gt_json_skip(&json)) return;
        if (json.at > begin) use(c, id, (gt_str){(const char *)begin, (size_t)(json.at - begin)});
    }
}

/* ---- events ---- */

static size_t add_event(conversion *c, gt_timeline_kind kind, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < c->first_ns) c->first_ns = start_ns;
    gt_timeline_begin(c->timeline, kind, track_of(c), start_ns, end_ns, text_id(c, raw(c, CATEGORY)),
                      text_id(c, raw(c, NAME)));
    each_member(c, raw(c, ARGUMENTS), note_value);
    return gt_timeline_end(c->timeline);
}

static bool time_of_event(conversion *c, int64_t *ns)
{
    if (gt_raw_ns(raw(c, TIME), ns)) return true;
    c->totals.timeless++;
    return false;
}

static void add_complete(conversion *c)
{
    int64_t start, length = 0, end;
    if (!time_of_event(c, &start)) return;
    if (c->raw[DURATION].len) gt_raw_ns(raw(c, DURATION), &length);
    if (__builtin_add_overflow(start, length, &end)) end = INT64_MAX;
    add_event(c, GT_TIMELINE_SLICE, start, end);
}

static void add_mark(conversion *c)
{
    int64_t time;
    if (time_of_event(c, &time)) add_event(c, GT_TIMELINE_MARK, time, time);
}

static void add_begin(conversion *c)
{
    int64_t start;
    if (!time_of_event(c, &start)) return;
    uint32_t *innermost = gt_map_put(&c->open, track_of(c), 0);
    open_slice begun = {.below = *innermost == GT_MAP_NONE ? SIZE_MAX : *innermost};
    *innermost = (uint32_t)c->slice_count;
    begun.number = add_event(c, GT_TIMELINE_SLICE, start, start);
    GT_PUSH(c->slices, c->slice_count, c->slice_capacity, begun);
}

static void add_end(conversion *c)
{
    int64_t end;
    if (!time_of_event(c, &end)) return;
    uint32_t *innermost = gt_map_put(&c->open, track_of(c), 0);
    if (*innermost == GT_MAP_NONE) {
        c->totals.unpaired++;
        return;
    }
    const open_slice *ended = &c->slices[*innermost];
    gt_timeline_set_end(c->timeline, ended->number, end);
    *innermost = ended->below == SIZE_MAX ? GT_MAP_NONE : (uint32_t)ended->below;
}

/* Numbers of arrows count within a category. Those from a launch to the GPU keep theirs, which the launch's
 * correlation id is, too. */
static uint64_t arrow_kind(conversion *c)
{
    static const char *const launches[] = {"ac2g", "async_cpu_to_gpu", "async"};
    uint32_t category = text_id(c, raw(c, CATEGORY));
    gt_str text = gt_interner_get(c->strings, category);
    for (size_t i = 0; i < GT_LENGTH(launches); i++)
        if (gt_str_equals(text, launches[i])) return 0;
    return (uint64_t)category << 44;
}

static void add_arrow(conversion *c, bool arrives)
{
    int64_t time, id;
    if (!time_of_event(c, &time)) return;
    if (!gt_raw_int(raw(c, ID), &id)) id = text_id(c, raw(c, ID));
    gt_timeline_arrow(c->timeline, track_of(c), time, (uint64_t)id ^ arrow_kind(c), arrives);
}

/* One counter an argument that is a number. */
static void add_value(conversion *c, uint32_t key, gt_str value)
{
    gt_json_number number;
    int64_t time;
    if (!gt_json_parse_number(value, &number) || !gt_raw_ns(raw(c, TIME), &time)) return;
    gt_str name = gt_interner_get(c->strings, key);
    uint32_t event_name = text_id(c, raw(c, NAME));
    gt_str event = gt_interner_get(c->strings, event_name);
    char *both = gt_format("%.*s %.*s", (int)event.len, event.bytes, (int)name.len, name.bytes);
    uint32_t process = process_of(c), called = gt_interner_add_cstr(c->strings, both);
    uint32_t *track = gt_map_put(&c->counters, process, called);
    if (*track == GT_MAP_NONE)
        *track = gt_timeline_track(c->timeline, process,
                                   (gt_track_ask){GT_FORM_COUNTER, GT_NO_TID, {both, strlen(both)}});
    gt_timeline_begin(c->timeline, GT_TIMELINE_VALUE, *track, time, time, text_id(c, raw(c, CATEGORY)),
                      event_name);
    gt_timeline_value(c->timeline, number.real);
    gt_timeline_end(c->timeline);
    gt_free(both);
}

static void add_name(conversion *c, uint32_t key, gt_str value)
{
    gt_str of = gt_interner_get(c->strings, key), what = gt_raw_decode(raw(c, NAME), &c->text);
    bool names_process = gt_str_equals(what, "process_name") && gt_str_equals(of, "name");
    bool names_thread = gt_str_equals(what, "thread_name") && gt_str_equals(of, "name");
    bool labels_process = gt_str_equals(what, "process_labels") && gt_str_equals(of, "labels");
    uint32_t process = names_process || labels_process ? process_of(c) : 0;
    uint32_t track = names_thread ? track_of(c) : 0;
    gt_str name = gt_raw_decode(value, &c->text);
    if (names_process) gt_timeline_name_process(c->timeline, process, name);
    if (names_thread) gt_timeline_name_track(c->timeline, track, name);
    if (labels_process) gt_timeline_label_process(c->timeline, process, name);
}

static void use_event(conversion *c)
{
    gt_str phase = raw(c, PHASE);
    switch (phase.len == 3 ? phase.bytes[1] : 0) {
    case 'X':
        add_complete(c);
        break;
    case 'B':
        add_begin(c);
        break;
    case 'E':
        add_end(c);
        break;
    case 'i':
    case 'I':
    case 'R':
        add_mark(c);
        break;
    case 'C':
        each_member(c, raw(c, ARGUMENTS), add_value);
        break;
    case 's':
        add_arrow(c, false);
        break;
    case 't':
    case 'f':
        add_arrow(c, true);
        break;
    case 'M':
        each_member(c, raw(c, ARGUMENTS), add_name);
        break;
    default:
        c->totals.other++;
    }
}

/* ---- the document ---- */

static bool read_event(conversion *c)
{
    gt_str key;
    if (gt_json_peek(&c->json) != GT_JSON_OBJECT) return gt_json_skip(&c->json);
    for (int m = 0; m < MEMBERS; m++) c->raw[m].len = 0;
    if (!gt_json_enter_object(&c->json)) return false;
    while (gt_json_next_key(&c->json, &key)) {
        int m = 0;
        while (m < MEMBERS && !gt_str_equals(key, member_names[m])) m++;
        if (!(m < MEMBERS ? read_raw(c, &c->raw[m]) : gt_json_skip(&c->json))) return false;
    }
    if (c->json.failed) return false;
    c->totals.events++;
    gt_progress_add(0, 1);
    use_event(c);
    return true;
}

static bool read_events(conversion *c)
{
    if (!gt_json_enter_array(&c->json)) return false;
    while (gt_json_next_element(&c->json))
        if (!read_event(c)) return false;
    return !c->json.failed;
}

static bool read_document(conversion *c, bool *found)
{
    gt_str key;
    gt_buffer value = {0};
    bool read = true;
    if (gt_json_peek(&c->json) == GT_JSON_ARRAY) {
        *found = true;
        return read_events(c) && gt_json_finish(&c->json);
    }
    if (!gt_json_enter_object(&c->json)) return false;
    while (read && gt_json_next_key(&c->json, &key)) {
        if (gt_str_equals(key, "traceEvents")) {
            *found = true;
            read = read_events(c);
            continue;
        }
        if (gt_str_equals(key, "stackFrames")) { /* may be most of a file */
            read = gt_json_skip(&c->json);
            continue;
        }
        gt_buffer_add_cstr(&c->about, c->about.len ? ",\"" : "{\"");
        gt_buffer_add(&c->about, key.bytes, key.len);
        gt_buffer_add_cstr(&c->about, "\":");
        read = read_raw(c, &value);
        if (read) gt_buffer_add(&c->about, value.bytes, value.len);
    }
    gt_buffer_free(&value);
    return read && !c->json.failed && gt_json_finish(&c->json);
}

/* What the document says besides its events: GPUs, ranks, versions. */
static void add_properties(conversion *c)
{
    if (!c->about.len || c->first_ns == INT64_MAX) return;
    gt_buffer_add_cstr(&c->about, "}");
    uint32_t process =
        gt_timeline_process(c->timeline, FIRST_MADE_UP_NUMBER + c->made_up++, (gt_str){"trace", 5});
    uint32_t track =
        gt_timeline_track(c->timeline, process, (gt_track_ask){GT_FORM_QUEUE, GT_NO_TID, {"properties", 10}});
    gt_timeline_begin(c->timeline, GT_TIMELINE_MARK, track, c->first_ns, c->first_ns,
                      gt_interner_add_cstr(c->strings, "__metadata"),
                      gt_interner_add_cstr(c->strings, "trace properties"));
    each_member(c, gt_buffer_str(&c->about), note_value);
    gt_timeline_end(c->timeline);
}

bool gt_convert_chrome(gt_stream *stream, gt_timeline *timeline, const gt_read_options *options,
                       gt_chrome_totals *totals, gt_error *error)
{
    conversion c = {.timeline = timeline, .strings = gt_timeline_strings(timeline), .first_ns = INT64_MAX};
    bool found = false;
    gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_json_begin(&c.json, stream, 0);
    bool read = read_document(&c, &found);
    gt_progress_end();
    bool accepted =
        gt_chrome_accept(&c.json, read, found, c.totals.events, "it has no 'traceEvents'", options, error);
    if (accepted) add_properties(&c);
    *totals = c.totals;
    gt_buffer *buffers[] = {&c.about, &c.text, &c.padded};
    for (size_t i = 0; i < GT_LENGTH(buffers); i++) gt_buffer_free(buffers[i]);
    for (int m = 0; m < MEMBERS; m++) gt_buffer_free(&c.raw[m]);
    gt_map *maps[] = {&c.processes, &c.tracks, &c.counters, &c.open};
    for (size_t i = 0; i < GT_LENGTH(maps); i++) gt_map_free(maps[i]);
    gt_free(c.slices);
    return accepted;
}
