/* Cuts a trace of an inference server into traces of steps: chooses the steps and events of each file, sets
 * their text aside, and writes the files and their description. */
#include "transform/split_parts.h"
#include "analysis/serving/repetition.h"
#include "analysis/serving/step_list.h"
#include "base/progress.h"
#include "input/chrome/chrome.h"
#include "input/chrome/kineto.h"
#include "input/detect.h"
#include "json/string.h"
#include "os/paths.h"
#include "output/file.h"

/* ---- text of chosen events ---- */

typedef struct trace_copy {
    gt_temp_store *spool;
    uint64_t *places; /* of the chosen events, in the order of the file */
    size_t count, capacity;
    gt_buffer before, after; /* members of the document before and after its events: "key": value, ... */
} trace_copy;

typedef struct copying {
    gt_json json;
    trace_copy *copy;
    const uint8_t *chosen;
    size_t count, seen; /* events */
    uint64_t shown;     /* bytes that the progress line includes */
    bool found;
} copying;

/* Skips the value at the cursor and returns its text, valid until the reader advances. */
static bool value_text(gt_json *json, gt_str *text)
{
    gt_json_peek(json);
    gt_json_set_mark(json);
    bool read = gt_json_skip(json);
    *text = (gt_str){(const char *)json->mark, read ? (size_t)(json->at - json->mark) : 0};
    gt_json_clear_mark(json);
    return read;
}

static bool copy_events(copying *c)
{
    gt_str text;
    c->found = true;
    if (!gt_json_enter_array(&c->json)) return false;
    while (c->seen < c->count && gt_json_next_element(&c->json)) {
        if (!value_text(&c->json, &text)) return false;
        if (c->chosen[c->seen++]) {
            uint64_t place = gt_temp_store_add(c->copy->spool, text.bytes, text.len);
            GT_PUSH(c->copy->places, c->copy->count, c->copy->capacity, place);
        }
        if (c->seen % 4096 == 0) {
            uint64_t consumed = gt_stream_consumed(c->json.stream);
            gt_progress_add(consumed - c->shown, 4096);
            c->shown = consumed;
        }
    }
    return !c->json.failed && !gt_json_next_element(&c->json) && !c->json.failed;
}

static bool copy_member(copying *c, gt_str key)
{
    gt_buffer *to = c->found ? &c->copy->after : &c->copy->before;
    size_t begin = to->len;
    gt_buffer_add_cstr(to, to->len ? ",\n\"" : "\"");
    gt_buffer_add(to, key.bytes, key.len);
    gt_buffer_add_cstr(to, "\":");
    gt_str text;
    bool read = value_text(&c->json, &text);
    gt_buffer_add(to, text.bytes, text.len);
    if (!read) to->len = begin;
    return read;
}

static bool copy_document(copying *c)
{
    gt_str key;
    if (gt_json_peek(&c->json) == GT_JSON_ARRAY) return copy_events(c);
    if (!gt_json_enter_object(&c->json)) return false;
    while (gt_json_next_key(&c->json, &key)) {
        bool is_events = gt_str_equals(key, "traceEvents");
        if (!(is_events ? (c->found ? gt_json_skip(&c->json) : copy_events(c)) : copy_member(c, key)))
            return false;
    }
    return !c->json.failed;
}

static bool make_copy(trace_copy *copy, const char *path, const char *near_path, const uint8_t *chosen,
                      size_t count, gt_error *error)
{
    *copy = (trace_copy){.spool = gt_temp_store_open(near_path, error)};
    gt_stream *stream = copy->spool ? gt_stream_open(path, error) : NULL;
    if (!stream) return false;
    copying c = {.copy = copy, .chosen = chosen, .count = count};
    gt_progress_begin(path, gt_stream_size(stream));
    gt_json_begin(&c.json, stream, 0);
    bool done = copy_document(&c) || c.seen == count; /* the first pass has warned about truncation */
    gt_progress_end();
    if (!done) {
        *error = c.json.error;
        gt_error_prefix(error, path);
    }
    gt_stream_close(stream);
    return done && gt_temp_store_seal(copy->spool, error);
}

static void free_copy(trace_copy *copy)
{
    gt_temp_store_close(copy->spool);
    gt_free(copy->places);
    gt_buffer_free(&copy->before);
    gt_buffer_free(&copy->after);
}

/* ---- execution_details.json and .csv ---- */

__attribute__((format(printf, 2, 3))) static void print(gt_buffer *out, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    int len = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    gt_buffer_add(out, text, len < (int)sizeof text ? (size_t)len : sizeof text - 1);
}

static void print_time(gt_buffer *out, double us, bool is_integral)
{
    char text[GT_NUMBER_MAX];
    if (is_integral && fabs(us) < 0x1p53)
        gt_buffer_add(out, text, gt_print_int(text, (int64_t)us));
    else
        gt_buffer_add(out, text, gt_print_double(text, us));
}

/* ---- JSON ---- */

static void add_step(gt_buffer *out, const gt_serving_step *s)
{
    print(out, "      {\n        \"batch_size\": %" PRId64 ",\n        \"num_requests\": %" PRId64 ",\n",
          s->batch_size, gt_step_requests(s));
    print(out, "        \"context_requests\": %" PRId64 ",\n        \"context_sum\": %" PRId64 ",\n",
          s->context_requests, s->context_sum);
    print(out,
          "        \"generation_requests\": %" PRId64 ",\n        \"generation_sum\": %" PRId64 "\n      }",
          s->generation_requests, s->generation_sum);
}

static void describe_part(gt_buffer *out, const gt_split_part *part, const gt_serving_step *steps,
                          gt_buffer *scratch)
{
    const gt_step_events *found = &part->found;
    print(out, "  {\n    \"idx\": %zu,\n    \"output_path\": ", part->idx);
    gt_json_string_add(out, (gt_str){part->path, strlen(part->path)}, scratch);
    print(out,
          ",\n    \"event_count\": %zu,\n    \"num_gpu_events\": %zu,\n    \"gpu_duration\": ", found->count,
          found->gpu_events);
    print_time(out, found->gpu_us, found->is_integral);
    gt_buffer_add_cstr(out, ",\n    \"gpu_busy_duration\": ");
    print_time(out, found->gpu_busy_us, found->is_integral);
    gt_buffer_add_cstr(out, ",\n    \"steps\": [\n");
    for (size_t i = 0; i < part->step_count; i++) {
        add_step(out, &steps[part->steps[i]]);
        gt_buffer_add_cstr(out, i + 1 < part->step_count ? ",\n" : "\n");
    }
    print(out,
          "    ],\n    \"phase\": {\n      \"num_prefill\": %zu,\n      \"num_prefilldecode\": %zu,\n"
          "      \"num_decode\": %zu,\n      \"avg_bs\": %" PRId64 ",\n      \"avg_conc\": %" PRId64
          "\n    }\n  }",
          part->mix.prefill, part->mix.mixed, part->mix.decode, part->mix.batch_size, part->mix.requests);
}

/* ---- CSV ---- */

void gt_split_add_field(gt_buffer *out, const char *text)
{
    const char *quote = strpbrk(text, ",\"\r\n") ? "\"" : "";
    gt_buffer_add_cstr(out, quote);
    for (const char *at = text; *at; at++) {
        if (*at == '"') gt_buffer_add_cstr(out, "\"");
        gt_buffer_add(out, at, 1);
    }
    gt_buffer_add_cstr(out, quote);
}

static void add_row(gt_buffer *out, const gt_split_part *part, bool integral)
{
    const gt_step_events *found = &part->found;
    print(out, "%zu,", part->idx);
    gt_split_add_field(out, part->path);
    print(out, ",%zu,%zu,", found->count, found->gpu_events);
    print(out, integral ? "%.0f,%.0f" : "%.2f,%.2f", found->gpu_us, found->gpu_busy_us);
    print(out, ",%zu,%zu,%zu,%" PRId64 ",%" PRId64 ",%zu\n", part->mix.prefill, part->mix.mixed,
          part->mix.decode, part->mix.batch_size, part->mix.requests, part->step_count);
}

/* ---- files ---- */

bool gt_split_write_text(gt_output *output, const char *dir, const char *name, const gt_buffer *text,
                         gt_error *error)
{
    gt_file file;
    char *path = gt_format("%s/%s", dir, name);
    bool written = gt_file_open(&file, output, path, error);
    if (written) {
        gt_file_write(&file, text->bytes, text->len);
        written = gt_file_close(&file, error);
    }
    gt_free(path);
    return written;
}

static bool write_details(gt_output *output, const char *dir, const gt_split_part *parts, size_t count,
                          const gt_serving_step *steps, gt_error *error)
{
    gt_buffer json = {0}, csv = {0}, scratch = {0};
    bool integral = true;
    for (size_t p = 0; p < count; p++) integral = integral && parts[p].found.is_integral;
    gt_buffer_add_cstr(&json, "[\n");
    gt_buffer_add_cstr(&csv, "idx,output_path,event_count,num_gpu_events,gpu_duration,gpu_busy_duration,"
                             "phase_num_prefill,phase_num_prefilldecode,phase_num_decode,phase_avg_bs,"
                             "phase_avg_conc,num_steps\n");
    for (size_t p = 0; p < count; p++) {
        describe_part(&json, &parts[p], steps, &scratch);
        gt_buffer_add_cstr(&json, p + 1 < count ? ",\n" : "\n");
        add_row(&csv, &parts[p], integral);
    }
    gt_buffer_add_cstr(&json, "]");
    bool written = gt_split_write_text(output, dir, "execution_details.json", &json, error) &&
                   gt_split_write_text(output, dir, "execution_details.csv", &csv, error);
    gt_buffer_free(&json);
    gt_buffer_free(&csv);
    gt_buffer_free(&scratch);
    return written;
}

/* ---- choosing steps and writing files ---- */

/* ---- names ---- */

static char *remove_word(char *text, const char *word)
{
    for (char *at; (at = strstr(text, word));) memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
    return text;
}

static char *base_name(const char *path)
{
    char *name = remove_word(remove_word(gt_strdup(gt_path_name(path)), ".pt.trace"), ".json.gz");
    return remove_word(remove_word(name, ".json"), ".sqlite");
}

/* The name of a step as part of a file name: without brackets and colons, no folder, not too long. */
static char *file_name_of_step(gt_str name)
{
    enum { MOST_BYTES = 150 };
    gt_buffer out = {0};
    for (size_t i = 0; i < name.len && out.len < MOST_BYTES; i++) {
        char c = name.bytes[i];
        if (c == ')' || c == ':') continue;
        if (c == '/' || c == '(' || c == ' ' || (unsigned char)c < ' ') c = '_';
        gt_buffer_add(&out, &c, 1);
    }
    return gt_buffer_take(&out);
}

/* ---- parts ---- */

static gt_split_part *add_part(gt_splitting *s, size_t idx, char *path)
{
    GT_PUSH(s->parts, s->count, s->capacity, ((gt_split_part){.idx = idx, .path = path}));
    return &s->parts[s->count - 1];
}

static void add_steps(gt_split_part *part, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) GT_PUSH(part->steps, part->step_count, part->step_capacity, i);
}

static gt_step_mix mix_of(const gt_splitting *s, const gt_split_part *part)
{
    gt_serving_step *steps = gt_alloc(part->step_count * sizeof *steps);
    for (size_t i = 0; i < part->step_count; i++) steps[i] = s->steps[part->steps[i]];
    gt_step_mix mix = gt_step_mix_of(steps, part->step_count);
    gt_free(steps);
    return mix;
}

/* label_prefill_0_prefilldecode_4_decode_28_bs64_conc64_base.json.gz */
static void name_by_mix(const gt_splitting *s, gt_split_part *part, const char *dir, const char *label)
{
    gt_step_mix mix = part->mix = mix_of(s, part);
    part->path = gt_format("%s/%s_prefill_%zu_prefilldecode_%zu_decode_%zu_bs%lld_conc%lld_%s%s", dir, label,
                           mix.prefill, mix.mixed, mix.decode, (long long)mix.batch_size,
                           (long long)mix.requests, s->base, s->ending);
}

static void add_single_steps(gt_splitting *s, gt_step_range range)
{
    for (size_t i = range.begin; i < range.end; i++) {
        gt_str name = gt_interner_get(s->events->strings, s->spans[i].name);
        char *step = s->repeats ? gt_strdup("") : file_name_of_step(name);
        gt_split_part *part = add_part(s, i,
                                       gt_format("%s/%s_annotation_iteration_%zu%s%s%s", s->dir, s->base, i,
                                                 s->repeats ? "" : "_", step, s->ending));
        gt_free(step);
        add_steps(part, i, i + 1);
        part->mix = mix_of(s, part);
    }
}

void gt_splitting_add(gt_splitting *s, gt_step_range range, const char *dir, const char *label)
{
    gt_split_part *part = add_part(s, 0, NULL);
    add_steps(part, range.begin, range.end);
    name_by_mix(s, part, dir, label);
}

/* One trace with all steps of a requested range. */
static void add_range(gt_splitting *s, gt_step_range range)
{
    char *label = gt_format("iterations_%zu_%zu", range.begin, range.end);
    gt_splitting_add(s, range, s->dir, label);
    gt_free(label);
}

/* The expected share of steps with prefill for the given load, and the number of steps that represents it. */
static gt_window_request window_request(const gt_split_options *o)
{
    gt_window_request request = {o->window_steps, NAN};
    if (!o->requests || isnan(o->output_tokens) || isnan(o->token_ratio)) return request;
    double ratio = o->token_ratio < 0 ? 0 : o->token_ratio > 1 ? 1 : o->token_ratio;
    request.share_of_prefill = (double)o->requests * 2 / (o->output_tokens * (1 + ratio));
    double least = ceil(1 / request.share_of_prefill);
    if ((double)request.steps < least && least < 1e9) {
        gt_info("%.4f of the steps have prefill; %.0f steps are needed to represent that, not %zu",
                request.share_of_prefill, least, request.steps);
        request.steps = (size_t)least;
    }
    return request;
}

static void add_windows(gt_splitting *s, gt_step_range working, const gt_step_range *regions,
                        size_t region_count)
{
    static const struct {
        gt_window_kind kind;
        const char *label;
    } windows[] = {{GT_WINDOW_MIXED, "mixed_steady_state"},
                   {GT_WINDOW_DECODE, "decode_only_steady_state"},
                   {GT_WINDOW_WITH_PREFILL, "prefilldecode_steady_state"}};
    gt_window_request usual = {s->options->window_steps, NAN};
    int64_t most = 0;
    for (size_t i = working.begin; i < working.end; i++)
        most = gt_step_requests(&s->steps[i]) > most ? gt_step_requests(&s->steps[i]) : most;
    if (s->options->requests && most != s->options->requests)
        gt_warn("no step has %lld concurrent requests (--CONC); the maximum is %lld",
                (long long)s->options->requests, (long long)most);
    for (size_t i = 0; i < GT_LENGTH(windows); i++) {
        gt_step_range window =
            gt_steady_window(s->steps + working.begin, regions, region_count, windows[i].kind,
                             windows[i].kind == GT_WINDOW_MIXED ? window_request(s->options) : usual);
        if (window.begin >= window.end) {
            gt_info("no window for %s: no such step", windows[i].label);
            continue;
        }
        gt_splitting_add(s, (gt_step_range){working.begin + window.begin, working.begin + window.end}, s->dir,
                         windows[i].label);
    }
}

/* Sequences of steps of one phase; steps without prefill and decode are skipped. */
static void add_phases(gt_splitting *s, gt_step_range working, const gt_step_range *regions,
                       size_t region_count)
{
    static const char *const folders[] = {"prefilldecodemix", "decode_only"};
    size_t first = s->count, numbers[2] = {0};
    int phase = -1;
    for (size_t r = 0; r < region_count; r++)
        for (size_t i = working.begin + regions[r].begin; i < working.begin + regions[r].end; i++) {
            int is_decode = gt_step_has_context(&s->steps[i]) ? 0 : gt_step_is_decode(&s->steps[i]) ? 1 : -1;
            if (is_decode < 0) continue;
            if (is_decode != phase) add_part(s, (size_t)is_decode, NULL);
            phase = is_decode;
            add_steps(&s->parts[s->count - 1], i, i + 1);
        }
    for (size_t p = first; p < s->count; p++) {
        gt_split_part *part = &s->parts[p];
        const char *folder = folders[part->idx];
        gt_step_mix mix = mix_of(s, part);
        char *dir = gt_format("%s/%s", s->dir, folder);
        char *label = gt_format("%s_chunk%zu_steps%zu_bs%lld_conc%lld", folder, numbers[part->idx]++,
                                part->step_count, (long long)mix.batch_size, (long long)mix.requests);
        part->idx = 0;
        name_by_mix(s, part, dir, label);
        gt_free_all(dir, label);
    }
}

static bool plan(gt_splitting *s, const char *path, gt_error *error)
{
    const gt_split_options *o = s->options;
    gt_step_range working = {0, s->step_count};
    if (o->has_range) {
        working =
            (gt_step_range){o->range_begin, o->range_end < s->step_count ? o->range_end : s->step_count};
        if (working.begin >= working.end)
            return gt_fail(error, "%s: trace has %zu steps, none at or after %zu", path, s->step_count,
                           o->range_begin);
    }
    if (o->single_steps) add_single_steps(s, working);
    if (o->has_range && !o->single_steps && !o->steady_state && !o->divide_phases) add_range(s, working);
    if (!o->steady_state && !o->divide_phases) return true;
    size_t region_count = 1, length = working.end - working.begin;
    gt_step_range *regions = NULL, whole = {0, length};
    if (!o->has_range) regions = gt_steady_regions(s->steps, length, o->window_steps, &region_count);
    if (o->divide_phases)
        add_phases(s, working, regions ? regions : &whole, region_count);
    else
        add_windows(s, working, regions ? regions : &whole, region_count);
    gt_free(regions);
    return true;
}

/* ---- files ---- */

static void find_events(gt_splitting *s, uint8_t *chosen)
{
    gt_step_finder *finder = gt_step_finder_new(s->events);
    for (size_t p = 0; p < s->count; p++) {
        gt_split_part *part = &s->parts[p];
        gt_step_span *spans = gt_alloc(part->step_count * sizeof *spans);
        for (size_t i = 0; i < part->step_count; i++) spans[i] = s->spans[part->steps[i]];
        part->found = gt_step_finder_find(finder, spans, part->step_count);
        gt_free(spans);
        for (size_t i = 0; i < part->found.count; i++) chosen[part->found.events[i]] = 1;
    }
    gt_step_finder_free(finder);
}

static void put(gt_text_file *file, gt_buffer *out, gt_str text)
{
    if (out->len + text.len > GT_FILE_BUFFER && out->len) {
        gt_text_file_write(file, gt_buffer_str(out));
        out->len = 0;
    }
    gt_buffer_add(out, text.bytes, text.len);
}

static void put_cstr(gt_text_file *file, gt_buffer *out, const char *text)
{
    put(file, out, (gt_str){text, strlen(text)});
}

/* rank_of: per event, its position among the chosen ones. */
static bool write_part(gt_output *output, const gt_split_part *part, trace_copy *copy,
                       const uint32_t *rank_of, unsigned threads, gt_error *error)
{
    gt_text_file *file = gt_text_file_open(output, part->path, threads, error);
    if (!file) return false;
    gt_buffer out = {0};
    put_cstr(file, &out, "{");
    put(file, &out, gt_buffer_str(&copy->before));
    put_cstr(file, &out, copy->before.len ? ",\n\"traceEvents\":[" : "\"traceEvents\":[");
    for (size_t i = 0; i < part->found.count; i++) {
        put_cstr(file, &out, i ? ",\n" : "\n");
        put(file, &out, gt_temp_store_read(copy->spool, copy->places[rank_of[part->found.events[i]]]));
    }
    put_cstr(file, &out, copy->after.len ? "\n],\n" : "\n]");
    put(file, &out, gt_buffer_str(&copy->after));
    put_cstr(file, &out, "}\n");
    gt_text_file_write(file, gt_buffer_str(&out));
    gt_buffer_free(&out);
    return gt_text_file_close(file, error);
}

bool gt_splitting_write(gt_splitting *s, gt_output *output, const char *path, unsigned threads,
                        gt_error *error)
{
    size_t events = s->events->count;
    uint8_t *chosen = gt_alloc_zero(events, 1);
    find_events(s, chosen);
    if (s->export) {
        gt_free(chosen);
        bool written = gt_output_add_folder(output, s->dir, error);
        for (size_t p = 0; written && p < s->count; p++)
            written = gt_split_write_export(output, &s->parts[p], s->export, error);
        return written;
    }
    uint32_t *rank_of = gt_alloc(events * sizeof *rank_of), rank = 0;
    for (size_t i = 0; i < events; i++) {
        rank_of[i] = rank;
        rank += chosen[i];
    }
    trace_copy copy = {0};
    char *near_path = gt_format("%s/events", s->dir);
    bool done = gt_output_add_folder(output, s->dir, error) &&
                make_copy(&copy, path, near_path, chosen, events, error);
    for (size_t p = 0; done && p < s->count; p++)
        done = write_part(output, &s->parts[p], &copy, rank_of, threads, error);
    free_copy(&copy);
    gt_free_all(near_path, rank_of, chosen);
    return done;
}

/* ---- all files ---- */

static bool read_events(gt_splitting *s, const char *path, const gt_read_options *read, gt_error *error)
{
    gt_trace_format format;
    gt_stream *stream = gt_stream_open(path, error);
    s->ending = ".json.gz";
    if (stream && gt_detect(stream, &format, error)) {
        if (format == GT_FORMAT_SQLITE && gt_database_kind_of(path) == GT_DATABASE_NSYS) {
            s->ending = ".sqlite";
            s->export = gt_alloc_zero(1, sizeof *s->export);
            s->events = gt_nsys_events_read(s->export, path, error);
        } else {
            s->events = gt_plain_events_read(stream, read, error);
        }
    }
    gt_stream_close(stream);
    return s->events;
}

static gt_step_span span_of(const gt_splitting *s, const gt_linked_view *trace, gt_repeated_step step)
{
    const gt_event_view *events = &trace->events;
    gt_interner *strings = s->events->strings;
    double start_us = events->start_us[step.first];
    return (gt_step_span){
        .process = gt_interner_add_from(strings, trace->strings, gt_event_process(events, step.first)),
        .thread = gt_interner_add_from(strings, trace->strings, gt_event_thread(events, step.first)),
        .name = gt_interner_add_from(strings, trace->strings, events->name[step.first]),
        .start_us = start_us,
        .end_us = start_us + (gt_event_end_us(events, step.last) - start_us), /* rounded as TraceLens does */
    };
}

/* The steps of a trace without annotations: what its call tree repeats. */
static void find_repetitions(gt_splitting *s, gt_pytorch_linked *linked)
{
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_calls *calls = gt_calls_new(trace);
    gt_repetition found = gt_repetition_find(calls);
    s->repeats = found.count > 0;
    s->step_count = found.count;
    s->spans = gt_alloc(found.count * sizeof *s->spans);
    for (size_t i = 0; i < found.count; i++) s->spans[i] = span_of(s, trace, found.steps[i]);
    if (found.count)
        gt_info("no annotated steps; %zu repetitions of %zu %s of %s are taken for steps", found.count,
                found.period, gt_noun(found.period, "call", "calls"),
                gt_event_name(&trace->events, found.caller).bytes);
    gt_repetition_free(&found);
    gt_calls_free(calls);
}

/* A name in the form of vLLM for an inferred step, so that its phase is known. */
static uint32_t name_of(gt_interner *strings, const gt_listed_step *step)
{
    const gt_step_said *said = &step->said;
    bool is_prefill = step->phase == GT_SERVING_PREFILL || step->phase == GT_SERVING_MIXED;
    bool is_decode = gt_phase_generates(step->phase) || step->phase == GT_SERVING_MIXED;
    int64_t numbers[] = {said->context_requests, said->context_tokens, said->generation_requests,
                         said->generation_tokens};
    for (size_t i = 0; i < GT_LENGTH(numbers); i++) {
        bool is_of_phase = i < 2 ? is_prefill : is_decode;
        numbers[i] = !is_of_phase ? 0 : numbers[i] > 0 ? numbers[i] : 1;
    }
    char text[120];
    snprintf(text, sizeof text, "execute_context_%lld(%lld)_generation_%lld(%lld)", (long long)numbers[0],
             (long long)numbers[1], (long long)numbers[2], (long long)numbers[3]);
    return gt_interner_add_cstr(strings, text);
}

/* The steps that a report infers from the calls in which the host waits. */
static void find_inferred(gt_splitting *s, const gt_event_view *trace)
{
    gt_step_list *list = gt_step_list_find(trace);
    gt_interner *strings = s->events->strings;
    s->spans = gt_alloc(list->count * sizeof *s->spans);
    for (size_t i = 0; i < list->count; i++) {
        const gt_listed_step *step = &list->steps[i];
        if (!step->is_inferred) continue;
        gt_lane_ids lane = trace->lanes->ids[step->lane];
        s->spans[s->step_count++] =
            (gt_step_span){.process = gt_interner_add_from(strings, trace->strings, lane.process),
                           .thread = gt_interner_add_from(strings, trace->strings, lane.thread),
                           .name = name_of(strings, step),
                           .start_us = (double)(list->base_ns + step->host_start_ns) / 1e3,
                           .end_us = (double)(list->base_ns + step->host_end_ns) / 1e3};
    }
    if (s->step_count)
        gt_info(
            "no annotated steps; %zu steps are inferred from the calls in which the host waits for the GPU",
            s->step_count);
    gt_step_list_free(list);
}

static bool search_steps(gt_splitting *s, const char *path, const gt_read_options *read, gt_error *error)
{
    gt_pytorch_read *events =
        gt_kineto_read(path, (gt_kineto_options){.python_functions = true}, read, error);
    if (!events) return false;
    gt_pytorch_linked *trace = gt_pytorch_link(gt_pytorch_build_tree(events));
    find_repetitions(s, trace);
    if (!s->step_count) {
        gt_free(s->spans);
        find_inferred(s, &gt_pytorch_view(trace)->events);
    }
    gt_pytorch_linked_free(trace);
    return s->step_count || gt_fail(error,
                                    "%s: no inference steps found (no vLLM, SGLang or ATOM annotations, and "
                                    "nothing that repeats)",
                                    path);
}

void gt_splitting_free(gt_splitting *s)
{
    for (size_t p = 0; p < s->count; p++) {
        gt_free_all(s->parts[p].path, s->parts[p].steps, s->parts[p].found.events);
    }
    if (s->export) gt_nsys_export_close(s->export);
    gt_free_all(s->parts, s->spans, s->steps, s->base, s->export);
    gt_plain_events_free(s->events);
}

bool gt_splitting_open(gt_splitting *s, const char *path, const char *dir, bool may_repeat,
                       const gt_read_options *read, gt_error *error)
{
    *s = (gt_splitting){.dir = dir, .base = base_name(path)};
    if (!read_events(s, path, read, error)) return false;
    s->spans = gt_step_spans_find(s->events, &s->step_count);
    if (!s->step_count && may_repeat && !s->export) {
        gt_free(s->spans);
        if (!search_steps(s, path, read, error)) return false;
    }
    s->steps = gt_alloc((s->step_count + 1) * sizeof *s->steps);
    for (size_t i = 0; i < s->step_count; i++)
        s->steps[i] = gt_serving_step_of(gt_interner_get(s->events->strings, s->spans[i].name));
    return s->step_count || gt_fail(error, "%s: no inference steps found (no vLLM, SGLang or ATOM %s)", path,
                                    s->export ? "NVTX ranges" : "annotations");
}

bool gt_split(gt_output *output, const char *path, const char *dir, const gt_split_options *options,
              const gt_read_options *read, gt_split_result *result, gt_error *error)
{
    gt_splitting s;
    bool done = gt_splitting_open(&s, path, dir, true, read, error);
    s.options = options;
    done = done && plan(&s, path, error) &&
           (!s.count || (gt_splitting_write(&s, output, path, read->threads, error) &&
                         write_details(output, dir, s.parts, s.count, s.steps, error)));
    *result = (gt_split_result){s.events ? s.events->count : 0, s.step_count, s.count};
    gt_splitting_free(&s);
    return done;
}
