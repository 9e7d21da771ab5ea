/* Converts a Chrome trace, also of PyTorch, to a timeline: every event that viewers draw, with all
 * arguments. */
#include "transform/convert.h"
#include "base/progress.h"
#include "input/chrome/chrome.h"
#include "json/string.h"

/* ---- JSON values as written in the trace ---- */

static bool raw_is_string(gt_str value)
{
    return value.len >= 2 && value.bytes[0] == '"';
}

static gt_str raw_decoded(gt_str inside, gt_buffer *room)
{
    if (gt_json_string_is_plain(inside)) return inside;
    room->len = 0;
    size_t len = gt_json_string_decode(inside, gt_buffer_reserve(room, 3 * inside.len + 1));
    return (gt_str){room->bytes, len};
}

static gt_str raw_decode(gt_str value, gt_buffer *room)
{
    if (!raw_is_string(value)) return value;
    return raw_decoded((gt_str){value.bytes + 1, value.len - 2}, room);
}

static bool raw_int(gt_str value, int64_t *number)
{
    gt_json_number read;
    value = gt_json_unquote(value);
    if (!value.len || !gt_json_parse_number(value, &read) || !read.is_int) return false;
    *number = read.integer;
    return true;
}

static bool raw_ns(gt_str value, int64_t *ns)
{
    if (!value.len) return false;
    gt_json_number number;
    const char *at = value.bytes, *end = value.bytes + value.len;
    bool minus = at < end && *at == '-';
    int64_t whole = 0;
    int decimals = -1;
    for (at += minus; at < end && decimals < 3; at++) {
        if (*at == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (*at < '0' || *at > '9' || whole > INT64_MAX / 10000) break;
        whole = whole * 10 + (*at - '0');
        decimals += decimals >= 0;
    }
    if (at == end && value.len > (size_t)minus) {
        for (int i = decimals < 0 ? 0 : decimals; i < 3; i++) whole *= 10;
        *ns = minus ? -whole : whole;
        return true;
    }
    if (!gt_json_parse_number(value, &number) || !(fabs(number.real) < 9e15)) return false;
    *ns = llrint(number.real * 1000.0);
    return true;
}

/* ---- notes ---- */

/* Unsigned 64-bit integers occur: addresses, hashes. */
static bool is_unsigned(gt_str word, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.bytes[i] < '0' || word.bytes[i] > '9') return false;
        if (__builtin_mul_overflow(*number, (uint64_t)10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(word.bytes[i] - '0'), number))
            return false;
    }
    return word.len > 0;
}

static void note_number(gt_timeline *timeline, uint32_t key, gt_str word)
{
    gt_json_number number;
    uint64_t large;
    if (!gt_json_parse_number(word, &number))
        gt_timeline_arg_json(timeline, key, word);
    else if (number.is_int)
        gt_timeline_arg_int(timeline, key, number.integer);
    else if (is_unsigned(word, &large))
        gt_timeline_arg_uint(timeline, key, large);
    else
        gt_timeline_arg_double(timeline, key, number.real);
}

static void raw_note(gt_timeline *timeline, uint32_t key, gt_str value, gt_buffer *room)
{
    switch (value.bytes[0]) {
    case '"':
        gt_timeline_arg_string(timeline, key, raw_decode(value, room));
        break;
    case '{':
    case '[':
        room->len = 0;
        gt_json_add_compact(room, value);
        gt_timeline_arg_json(timeline, key, (gt_str){room->bytes, room->len});
        break;
    case 't':
    case 'f':
        gt_timeline_arg_bool(timeline, key, value.bytes[0] == 't');
        break;
    case 'n':
        gt_timeline_arg_json(timeline, key, value);
        break;
    default:
        note_number(timeline, key, value);
    }
}

/* ---- events ---- */

/* Perfetto's process ids have 31 bits: strings get ids from the end of the range. Thread ids may be any
 * number. */
enum { FIRST_MADE_UP_NUMBER = 2000000000 };

typedef enum member { PHASE, CATEGORY, NAME, PROCESS, THREAD, TIME, DURATION, ID, ARGUMENTS, MEMBERS } member;

static const char *const member_names[MEMBERS] = {
    [PHASE] = "ph", [CATEGORY] = "cat", [NAME] = "name", [PROCESS] = "pid",   [THREAD] = "tid",
    [TIME] = "ts",  [DURATION] = "dur", [ID] = "id",     [ARGUMENTS] = "args"};

typedef struct open_slice {
    size_t number, below; /* of the event, and the enclosing slice; SIZE_MAX: none */
} open_slice;

typedef struct conversion {
    gt_json json;
    gt_timeline *timeline;
    gt_interner *strings;
    gt_buffer raw[MEMBERS]; /* of the current event, as JSON; empty: none */
    gt_buffer about;        /* the other members of the document: a JSON object without its closing brace */
    gt_buffer text, padded;
    gt_map processes; /* string id of the raw pid to process */
    gt_map tracks;    /* (process, string id of the raw tid) to track */
    gt_map counters;  /* (process, string id of the name) to track */
    gt_map open;      /* track to the innermost slice that began with B */
    open_slice *slices;
    size_t slice_count, slice_capacity;
    uint32_t made_up; /* ids given to strings */
    int64_t first_ns;
    gt_chrome_totals totals;
} conversion;

/* ---- values ---- */

/* The text of the value at the cursor. */
static bool read_raw(conversion *c, gt_buffer *out)
{
    gt_json *json = &c->json;
    gt_json_peek(json); /* skips white space */
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
    gt_str text = raw_decode(value, &c->text);
    return gt_interner_add(c->strings, text.bytes, text.len);
}

/* ---- processes and tracks ---- */

/* An integer is kept; anything else gets an id, and its text becomes the name. */
static int64_t number_of(conversion *c, gt_str value, int64_t least, int64_t most, gt_str *name)
{
    int64_t number;
    bool is_number = !raw_is_string(value) && raw_int(value, &number) && number >= least && number <= most;
    *name = is_number ? (gt_str){"", 0} : raw_decode(value, &c->text);
    return is_number ? number : FIRST_MADE_UP_NUMBER + (int64_t)c->made_up++;
}

static uint32_t process_of(conversion *c)
{
    gt_str value = raw(c, PROCESS), name;
    uint32_t *found = gt_map_put(&c->processes, gt_interner_add(c->strings, value.bytes, value.len), 0);
    if (*found == GT_MAP_NONE) {
        int64_t pid = number_of(c, value, -1, FIRST_MADE_UP_NUMBER - 1, &name); /* PyTorch also uses -1 */
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
        *found = gt_timeline_track(c->timeline, process, (gt_track_spec){GT_FORM_THREAD, tid, name});
    }
    return *found;
}

/* ---- arguments ---- */

/* JSON in memory, with padding that the reader may read. */
static gt_str padded(conversion *c, gt_str value)
{
    c->padded.len = 0;
    gt_buffer_add(&c->padded, value.bytes, value.len);
    memset(gt_buffer_reserve(&c->padded, GT_STREAM_PAD), 0, GT_STREAM_PAD);
    return (gt_str){c->padded.bytes, value.len};
}

static void note_value(conversion *c, uint32_t key, gt_str value)
{
    raw_note(c->timeline, key, value, &c->text);
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
        key = raw_decoded(key, &c->text);
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
    if (raw_ns(raw(c, TIME), ns)) return true;
    c->totals.timeless++;
    return false;
}

static void add_complete(conversion *c)
{
    int64_t start, length = 0, end;
    if (!time_of_event(c, &start)) return;
    if (c->raw[DURATION].len) raw_ns(raw(c, DURATION), &length);
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

/* Ids of arrows are unique within a category. Arrows from a launch to the GPU keep their id, which is also
 * the correlation id of the launch. */
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
    if (!raw_int(raw(c, ID), &id)) id = text_id(c, raw(c, ID));
    gt_timeline_arrow(c->timeline, track_of(c), time, (uint64_t)id ^ arrow_kind(c), arrives);
}

/* One counter per numeric argument. */
static void add_value(conversion *c, uint32_t key, gt_str value)
{
    gt_json_number number;
    int64_t time;
    if (!gt_json_parse_number(value, &number) || !raw_ns(raw(c, TIME), &time)) return;
    gt_str name = gt_interner_get(c->strings, key);
    uint32_t event_name = text_id(c, raw(c, NAME));
    gt_str event = gt_interner_get(c->strings, event_name);
    char *both = gt_format("%.*s %.*s", (int)event.len, event.bytes, (int)name.len, name.bytes);
    uint32_t process = process_of(c), called = gt_interner_add_cstr(c->strings, both);
    uint32_t *track = gt_map_put(&c->counters, process, called);
    if (*track == GT_MAP_NONE)
        *track = gt_timeline_track(c->timeline, process,
                                   (gt_track_spec){GT_FORM_COUNTER, GT_NO_TID, {both, strlen(both)}});
    gt_timeline_begin(c->timeline, GT_TIMELINE_VALUE, *track, time, time, text_id(c, raw(c, CATEGORY)),
                      event_name);
    gt_timeline_value(c->timeline, number.real);
    gt_timeline_end(c->timeline);
    gt_free(both);
}

static void add_name(conversion *c, uint32_t key, gt_str value)
{
    gt_str of = gt_interner_get(c->strings, key), what = raw_decode(raw(c, NAME), &c->text);
    bool names_process = gt_str_equals(what, "process_name") && gt_str_equals(of, "name");
    bool names_thread = gt_str_equals(what, "thread_name") && gt_str_equals(of, "name");
    bool labels_process = gt_str_equals(what, "process_labels") && gt_str_equals(of, "labels");
    uint32_t process = names_process || labels_process ? process_of(c) : 0;
    uint32_t track = names_thread ? track_of(c) : 0;
    gt_str name = raw_decode(value, &c->text);
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

/* ---- document ---- */

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
        if (gt_str_equals(key, "stackFrames")) { /* may be most of the file */
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

/* The other members of the document: GPUs, ranks, versions. */
static void add_properties(conversion *c)
{
    if (!c->about.len || c->first_ns == INT64_MAX) return;
    gt_buffer_add_cstr(&c->about, "}");
    uint32_t process =
        gt_timeline_process(c->timeline, FIRST_MADE_UP_NUMBER + c->made_up++, (gt_str){"trace", 5});
    uint32_t track = gt_timeline_track(c->timeline, process,
                                       (gt_track_spec){GT_FORM_QUEUE, GT_NO_TID, {"properties", 10}});
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
        gt_chrome_accept(&c.json, read, found, c.totals.events, "no 'traceEvents'", options, error);
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
