/* Reads a trace event by event, and writes single events with other ids, names and times. */
#include "transform/fuse_event.h"
#include "input/chrome/chrome.h"
#include "base/progress.h"
#include "json/string.h"

/* ---- all events of a trace ---- */

enum { PROGRESS_EVENTS = 4096 };

static void show_progress(gt_fuse_walk *w, uint64_t events)
{
    uint64_t consumed = gt_stream_consumed(w->json.stream);
    gt_progress_add(consumed - w->shown, events);
    w->shown = consumed;
}

static bool walk_events(gt_fuse_walk *w)
{
    w->found = true;
    if (!gt_json_enter_array(&w->json)) return false;
    while (gt_json_next_element(&w->json)) {
        if (!w->record(w)) return false;
        if (++w->events % PROGRESS_EVENTS == 0) show_progress(w, PROGRESS_EVENTS);
    }
    return !w->json.failed;
}

static bool read_base_time(gt_fuse_walk *w)
{
    gt_json_number number;
    if (gt_json_peek(&w->json) != GT_JSON_NUMBER) return gt_json_skip(&w->json);
    if (!gt_json_read_number(&w->json, &number)) return false;
    w->has_base_time = number.is_int;
    w->base_time_ns = number.integer;
    return true;
}

static bool walk_document(gt_fuse_walk *w)
{
    gt_json *json = &w->json;
    gt_str key;
    if (gt_json_peek(json) == GT_JSON_ARRAY) return walk_events(w) && gt_json_finish(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        bool read = gt_str_equals(key, "traceEvents")           ? walk_events(w)
                    : gt_str_equals(key, "baseTimeNanoseconds") ? read_base_time(w)
                                                                : gt_json_skip(json);
        if (!read) return false;
    }
    return !json->failed && gt_json_finish(json);
}

bool gt_fuse_walk_trace(gt_fuse_walk *w, const char *path, bool (*record)(gt_fuse_walk *), void *context,
                        gt_error *error)
{
    *w = (gt_fuse_walk){.record = record, .context = context};
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return false;
    gt_json_begin(&w->json, stream, 0);
    bool whole = walk_document(w) || w->has_stopped;
    if (!whole) {
        *error = w->json.error;
        gt_error_prefix(error, path);
    } else if (!w->found) {
        whole = gt_fail(error, "%s: " GT_NOT_PYTORCH, path);
    } else if (gt_stream_damage(stream) && !w->has_stopped) {
        whole = gt_fail(error, "%s: %s", path, gt_stream_damage(stream));
    }
    show_progress(w, w->events % PROGRESS_EVENTS);
    gt_stream_close(stream);
    return whole;
}

void gt_fuse_name_rank(gt_error *error, size_t rank)
{
    char title[32];
    snprintf(title, sizeof title, "rank %zu", rank);
    gt_error_prefix(error, title);
}

/* ---- one event ---- */

enum { MOST_PLACES = 9 };  /* after the decimal point, of a time that is shifted exactly */
enum { MOST_DIGITS = 28 }; /* of an integer that can be shifted: the shift of any rank fits, too */

static const struct {
    const char *key;
    gt_fuse_member member;
} event_keys[] =
    {
        {"ph", GT_FUSE_PHASE}, {"cat", GT_FUSE_CATEGORY}, {"name", GT_FUSE_NAME},  {"ts", GT_FUSE_TIME},
        {"id", GT_FUSE_ID},    {"pid", GT_FUSE_PROCESS},  {"tid", GT_FUSE_THREAD}, {"args", GT_FUSE_ARGS},
},
  args_keys[] = {
      {"correlation", GT_FUSE_CORRELATION},
      {"External id", GT_FUSE_EXTERNAL_ID},
      {"rank", GT_FUSE_RANK},
      {"id_raw", GT_FUSE_ID_RAW},
      {"pid_raw", GT_FUSE_PROCESS_RAW},
      {"correlation_raw", GT_FUSE_CORRELATION_RAW},
      {"External id_raw", GT_FUSE_EXTERNAL_ID_RAW},
};

static const struct {
    gt_fuse_member member, raw;
    const char *raw_key;
} raws[] = {
    {GT_FUSE_ID, GT_FUSE_ID_RAW, "id_raw"},
    {GT_FUSE_PROCESS, GT_FUSE_PROCESS_RAW, "pid_raw"},
    {GT_FUSE_CORRELATION, GT_FUSE_CORRELATION_RAW, "correlation_raw"},
    {GT_FUSE_EXTERNAL_ID, GT_FUSE_EXTERNAL_ID_RAW, "External id_raw"},
};

/* ---- reading ---- */

static gt_fuse_member find_event_key(gt_str key)
{
    if (key.len > 4) return GT_FUSE_MEMBERS;
    for (size_t i = 0; i < GT_LENGTH(event_keys); i++)
        if (gt_str_equals(key, event_keys[i].key)) return event_keys[i].member;
    return GT_FUSE_MEMBERS;
}

static gt_fuse_member find_args_key(gt_str key)
{
    for (size_t i = 0; i < GT_LENGTH(args_keys); i++)
        if (gt_str_equals(key, args_keys[i].key)) return args_keys[i].member;
    return GT_FUSE_MEMBERS;
}

static size_t offset(const gt_json *json)
{
    return (size_t)(json->at - json->mark);
}

/* Skips the value at the cursor and records its position. */
static bool note_value(gt_json *json, gt_fuse_event *event, gt_fuse_member member)
{
    if (member == GT_FUSE_MEMBERS) return gt_json_skip(json);
    if (gt_json_peek(json) == GT_JSON_NONE) return false;
    event->at[member].begin = offset(json);
    if (!gt_json_skip(json)) return false;
    event->at[member].end = offset(json);
    return true;
}

static bool read_args(gt_json *json, gt_fuse_event *event)
{
    gt_str key;
    for (size_t i = GT_FUSE_ARGS; i < GT_FUSE_MEMBERS; i++)
        event->at[i].end = 0; /* of duplicates, the last counts */
    if (gt_json_peek(json) != GT_JSON_OBJECT) return note_value(json, event, GT_FUSE_ARGS);
    event->at[GT_FUSE_ARGS].begin = offset(json);
    event->args_are_empty = true;
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        event->args_are_empty = false;
        if (!note_value(json, event, find_args_key(key))) return false;
    }
    event->at[GT_FUSE_ARGS].end = offset(json);
    return !json->failed;
}

bool gt_fuse_event_read(gt_json *json, gt_fuse_event *event, bool *is_event)
{
    gt_str key;
    gt_json_set_mark(json);
    *event = (gt_fuse_event){.is_empty = true};
    *is_event = gt_json_peek(json) == GT_JSON_OBJECT;
    if (!*is_event) return gt_json_skip(json);
    if (!gt_json_enter_object(json)) return false;
    while (gt_json_next_key(json, &key)) {
        gt_fuse_member member = find_event_key(key);
        event->is_empty = false;
        if (!(member == GT_FUSE_ARGS ? read_args(json, event) : note_value(json, event, member)))
            return false;
    }
    event->text = (const char *)json->mark;
    event->len = offset(json);
    return !json->failed;
}

gt_str gt_fuse_event_written(const gt_fuse_event *event, gt_fuse_member member)
{
    if (!event->at[member].end) return (gt_str){"", 0};
    return (gt_str){event->text + event->at[member].begin, event->at[member].end - event->at[member].begin};
}

gt_str gt_fuse_event_value(const gt_fuse_event *event, gt_fuse_member member)
{
    return gt_json_unquote(gt_fuse_event_written(event, member));
}

static bool read_int(gt_str word, gt_wide_int *value)
{
    bool negative = word.len && word.bytes[0] == '-';
    if (word.len <= negative || word.len > MOST_DIGITS) return false;
    gt_wide_int sum = 0;
    for (size_t i = negative; i < word.len; i++) {
        if (word.bytes[i] < '0' || word.bytes[i] > '9') return false;
        sum = gt_wide_times(sum, 10) + (word.bytes[i] - '0');
    }
    *value = negative ? -sum : sum;
    return true;
}

bool gt_fuse_event_int(const gt_fuse_event *event, gt_fuse_member member, gt_wide_int *value)
{
    return read_int(gt_fuse_event_written(event, member), value);
}

/* ---- writing ---- */

void gt_buffer_add_wide_int(gt_buffer *buffer, gt_wide_int value)
{
    char digits[48], *at = digits + sizeof digits;
    unsigned __int128 left = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    do *--at = (char)('0' + (int)(left % 10));
    while (left /= 10);
    if (value < 0) *--at = '-';
    gt_buffer_add(buffer, at, (size_t)(digits + sizeof digits - at));
}

/* A range of the text and its replacement; an insertion if the range is empty. */
typedef struct edit {
    size_t begin, end;
    size_t text_begin, text_end; /* in the texts */
} edit;

typedef struct edits {
    edit items[12]; /* three shifted ids, their three raw values, rank, time, and what is added to args */
    size_t count;
    gt_buffer texts;
} edits;

static void begin_edit(edits *e, size_t begin, size_t end)
{
    size_t place = e->count++;
    while (place && e->items[place - 1].begin > begin) { /* there are few */
        e->items[place] = e->items[place - 1];
        place--;
    }
    e->items[place] = (edit){begin, end, e->texts.len, SIZE_MAX};
}

static void end_edit(edits *e)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->items[i].text_end == SIZE_MAX) e->items[i].text_end = e->texts.len;
}

static void begin_member_edit(edits *e, const gt_fuse_event *event, gt_fuse_member member)
{
    begin_edit(e, event->at[member].begin, event->at[member].end);
}

static void move_ids(edits *e, const gt_fuse_event *event, const gt_fuse_change *change)
{
    for (size_t i = 0; i < change->moved_count; i++) {
        gt_wide_int value;
        gt_fuse_member member = change->moved[i].member;
        if (!change->moved[i].shift || !gt_fuse_event_int(event, member, &value)) continue;
        begin_member_edit(e, event, member);
        gt_buffer_add_wide_int(&e->texts, value + change->moved[i].shift);
        end_edit(e);
    }
}

/* Adds nanoseconds to a decimal number, exactly; to one with an exponent or many digits, in double
 * precision. */
static void add_shifted_time(gt_buffer *out, gt_str time, int64_t shift_ns)
{
    const char *point = memchr(time.bytes, '.', time.len);
    size_t fraction = point ? (size_t)(time.bytes + time.len - point) - 1 : 0,
           places = fraction > 3 ? fraction : 3;
    char digits[MOST_DIGITS + 1];
    gt_wide_int value;
    size_t whole = point ? (size_t)(point - time.bytes) : time.len;
    bool exact = places <= MOST_PLACES && whole + places <= MOST_DIGITS;
    if (exact) {
        memcpy(digits, time.bytes, whole);
        if (fraction) memcpy(digits + whole, point + 1, fraction);
        memset(digits + whole + fraction, '0', places - fraction);
    }
    if (!exact || !read_int((gt_str){digits, whole + places}, &value)) {
        gt_json_number number = {0};
        gt_json_parse_number(time, &number);
        double moved_us = number.real + (double)shift_ns / 1e3;
        if (isfinite(moved_us))
            gt_buffer_add_double(out, moved_us);
        else
            gt_buffer_add(out, time.bytes, time.len);
        return;
    }
    gt_wide_int scale = 1, shift = shift_ns;
    for (size_t i = 0; i < places; i++) scale = gt_wide_times(scale, 10);
    for (size_t i = 3; i < places; i++) shift = gt_wide_times(shift, 10);
    value += shift;
    if (value < 0) gt_buffer_add(out, "-", 1);
    if (value < 0) value = -value;
    gt_buffer_add_wide_int(out, value / scale);
    gt_buffer_add(out, ".", 1);
    for (gt_wide_int left = value % scale; scale > 1; left %= scale) {
        scale /= 10;
        char digit = (char)('0' + (int)(left / scale));
        gt_buffer_add(out, &digit, 1);
    }
}

static void shift_time(edits *e, const gt_fuse_event *event, int64_t shift_ns)
{
    gt_str time = gt_fuse_event_written(event, GT_FUSE_TIME);
    if (!shift_ns || !time.len || !(time.bytes[0] == '-' || (time.bytes[0] >= '0' && time.bytes[0] <= '9')))
        return;
    begin_member_edit(e, event, GT_FUSE_TIME);
    add_shifted_time(&e->texts, time, shift_ns);
    end_edit(e);
}

static size_t raw_of(gt_fuse_member member)
{
    size_t i = 0;
    while (raws[i].member != member) i++;
    return i;
}

/* Replaces the values of existing args; reports which are still to be added. */
static unsigned change_args(edits *e, const gt_fuse_event *event, const gt_fuse_change *change,
                            bool *add_rank)
{
    unsigned missing = 0;
    for (size_t i = 0; i < change->moved_count; i++) {
        gt_str old = gt_fuse_event_written(event, change->moved[i].member);
        gt_fuse_member raw = raws[raw_of(change->moved[i].member)].raw;
        if (!old.len) continue;
        if (!event->at[raw].end) {
            missing |= 1U << i;
            continue;
        }
        begin_member_edit(e, event, raw);
        gt_json_add_ascii(&e->texts, old);
        end_edit(e);
    }
    *add_rank = !event->at[GT_FUSE_RANK].end;
    if (*add_rank) return missing;
    begin_member_edit(e, event, GT_FUSE_RANK);
    gt_buffer_add_wide_int(&e->texts, (gt_wide_int)change->rank);
    end_edit(e);
    return missing;
}

/* "rank":1,"pid_raw":10 */
static void add_members(edits *e, const gt_fuse_event *event, const gt_fuse_change *change, bool rank,
                        unsigned missing, const char *comma)
{
    if (rank) {
        gt_buffer_add_cstr(&e->texts, comma);
        gt_buffer_add_cstr(&e->texts, "\"rank\":");
        gt_buffer_add_wide_int(&e->texts, (gt_wide_int)change->rank);
        comma = ",";
    }
    for (size_t i = 0; i < change->moved_count; i++) {
        if (!(missing >> i & 1)) continue;
        gt_str old = gt_fuse_event_written(event, change->moved[i].member);
        gt_buffer_add_cstr(&e->texts, comma);
        gt_buffer_add_cstr(&e->texts, "\"");
        gt_buffer_add_cstr(&e->texts, raws[raw_of(change->moved[i].member)].raw_key);
        gt_buffer_add_cstr(&e->texts, "\":");
        gt_json_add_ascii(&e->texts, old);
        comma = ",";
    }
}

static void complete_args(edits *e, const gt_fuse_event *event, const gt_fuse_change *change)
{
    bool rank;
    gt_str args = gt_fuse_event_written(event, GT_FUSE_ARGS);
    unsigned missing = change_args(e, event, change, &rank);
    if (args.len && args.bytes[0] == '{') {
        if (!rank && !missing) return;
        size_t place = event->at[GT_FUSE_ARGS].end - 1;
        begin_edit(e, place, place);
        add_members(e, event, change, rank, missing, event->args_are_empty ? "" : ",");
    } else if (!args.len || args.bytes[0] == 'n') { /* none, or null */
        size_t place = event->len - 1;
        if (args.len)
            begin_member_edit(e, event, GT_FUSE_ARGS);
        else
            begin_edit(e, place, place);
        if (!args.len) gt_buffer_add_cstr(&e->texts, event->is_empty ? "\"args\":" : ",\"args\":");
        gt_buffer_add_cstr(&e->texts, "{");
        add_members(e, event, change, rank, missing, "");
        gt_buffer_add_cstr(&e->texts, "}");
    } else {
        return; /* args that are not an object cannot be extended */
    }
    end_edit(e);
}

/* Writes the event with the recorded changes, and clears them. */
static void write_edited(const gt_fuse_event *event, edits *e, gt_buffer *out)
{
    size_t from = 0;
    for (size_t i = 0; i < e->count; i++) {
        gt_json_add_ascii(out, (gt_str){event->text + from, e->items[i].begin - from});
        gt_buffer_add(out, e->texts.bytes + e->items[i].text_begin,
                      e->items[i].text_end - e->items[i].text_begin);
        from = e->items[i].end;
    }
    gt_json_add_ascii(out, (gt_str){event->text + from, event->len - from});
    gt_buffer_free(&e->texts);
}

void gt_fuse_event_write(const gt_fuse_event *event, const gt_fuse_change *change, gt_buffer *out)
{
    edits e = {0};
    move_ids(&e, event, change);
    shift_time(&e, event, change->shift_ns);
    complete_args(&e, event, change);
    write_edited(event, &e, out);
}

/* ---- relabelling ---- */

/* Replaces a member with an integer, or adds it after all members. */
static void set_int(edits *e, const gt_fuse_event *event, gt_fuse_member member, const char *key,
                    int64_t value)
{
    size_t place = event->len - 1;
    bool there = event->at[member].end;
    if (there)
        begin_member_edit(e, event, member);
    else
        begin_edit(e, place, place);
    if (!there) gt_buffer_add_cstr(&e->texts, event->is_empty ? "\"" : ",\"");
    if (!there) gt_buffer_add_cstr(&e->texts, key);
    if (!there) gt_buffer_add_cstr(&e->texts, "\":");
    gt_buffer_add_wide_int(&e->texts, value);
    end_edit(e);
}

static void put_before_name(edits *e, const gt_fuse_event *event, const char *prefix)
{
    gt_str name = gt_fuse_event_written(event, GT_FUSE_NAME), raw = gt_fuse_event_value(event, GT_FUSE_NAME);
    if (!name.len || name.bytes[0] != '"') return;
    begin_member_edit(e, event, GT_FUSE_NAME);
    gt_buffer_add_cstr(&e->texts, "\"");
    gt_buffer_add_cstr(&e->texts, prefix);
    gt_json_raw_add_ascii(&e->texts, raw);
    gt_buffer_add_cstr(&e->texts, "\"");
    end_edit(e);
}

void gt_fuse_event_relabel(const gt_fuse_event *event, const gt_fuse_label *label, gt_buffer *out)
{
    edits e = {0};
    gt_fuse_change change = {.rank = label->rank, .moved = {{GT_FUSE_ID, label->id_shift}}, .moved_count = 1};
    put_before_name(&e, event, label->name_prefix);
    move_ids(&e, event, &change);
    if (label->has_process) {
        set_int(&e, event, GT_FUSE_PROCESS, "pid", label->process);
        set_int(&e, event, GT_FUSE_THREAD, "tid", label->thread);
    }
    change.moved_count = 0; /* the old id is not kept */
    complete_args(&e, event, &change);
    write_edited(event, &e, out);
}
