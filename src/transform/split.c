/* Which steps go into which file, what the files are called, and what is said of them. */
#include "transform/split.h"

#include "analysis/serving/serving.h"
#include "base/log.h"
#include "base/length.h"
#include "base/memory.h"
#include "base/number.h"
#include "input/chrome/plain_events.h"
#include "output/file.h"
#include "output/text_file.h"
#include "transform/split_copy.h"
#include "transform/split_details.h"
#include "os/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct splitting {
    const gt_split_options *options;
    gt_plain_events *events;
    gt_step_span *spans;
    gt_serving_step *steps; /* one a span */
    size_t step_count;
    const char *dir;
    char *base; /* the trace's name without its endings */
    gt_split_part *parts;
    size_t count, capacity;
} splitting;

/* ---- names ---- */

static char *without(char *text, const char *word)
{
    for (char *at; (at = strstr(text, word));) memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
    return text;
}

static char *base_name(const char *path)
{
    return without(without(without(gt_strdup(gt_path_name(path)), ".pt.trace"), ".json.gz"), ".json");
}

/* A step's name as part of a file's: brackets and colons gone, no folder, not too long. */
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
    char *text = gt_strdup(gt_buffer_str(&out).bytes);
    gt_buffer_free(&out);
    return text;
}

/* ---- parts ---- */

static gt_split_part *add_part(splitting *s, size_t idx, char *path)
{
    GT_PUSH(s->parts, s->count, s->capacity, ((gt_split_part){.idx = idx, .path = path}));
    return &s->parts[s->count - 1];
}

static void add_steps(gt_split_part *part, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) GT_PUSH(part->steps, part->step_count, part->step_capacity, i);
}

static gt_step_mix mix_of(const splitting *s, const gt_split_part *part)
{
    gt_serving_step *steps = gt_alloc(part->step_count * sizeof *steps);
    for (size_t i = 0; i < part->step_count; i++) steps[i] = s->steps[part->steps[i]];
    gt_step_mix mix = gt_step_mix_of(steps, part->step_count);
    gt_free(steps);
    return mix;
}

/* label_prefill_0_prefilldecode_4_decode_28_bs64_conc64_base.json.gz */
static void name_by_mix(const splitting *s, gt_split_part *part, const char *dir, const char *label)
{
    gt_step_mix mix = part->mix = mix_of(s, part);
    part->path = gt_format("%s/%s_prefill_%zu_prefilldecode_%zu_decode_%zu_bs%lld_conc%lld_%s.json.gz", dir,
                           label, mix.prefill, mix.mixed, mix.decode, (long long)mix.batch_size,
                           (long long)mix.requests, s->base);
}

static void add_single_steps(splitting *s, gt_step_range range)
{
    for (size_t i = range.begin; i < range.end; i++) {
        gt_str name = gt_interner_get(s->events->strings, s->spans[i].name);
        char *step = file_name_of_step(name);
        gt_split_part *part =
            add_part(s, i, gt_format("%s/%s_annotation_iteration_%zu_%s.json.gz", s->dir, s->base, i, step));
        gt_free(step);
        add_steps(part, i, i + 1);
        part->mix = mix_of(s, part);
    }
}

/* One trace of all steps of a range that was asked for. */
static void add_range(splitting *s, gt_step_range range)
{
    gt_split_part *part = add_part(s, 0, NULL);
    add_steps(part, range.begin, range.end);
    char *label = gt_format("iterations_%zu_%zu", range.begin, range.end);
    name_by_mix(s, part, s->dir, label);
    gt_free(label);
}

/* How many of the steps have prefill where requests come and go as was meant, and how many steps show that.
 */
static gt_window_request wish_of(const gt_split_options *o)
{
    gt_window_request wish = {o->window_steps, NAN};
    if (!o->requests || isnan(o->output_tokens) || isnan(o->token_ratio)) return wish;
    double ratio = o->token_ratio < 0 ? 0 : o->token_ratio > 1 ? 1 : o->token_ratio;
    wish.share_of_prefill = (double)o->requests * 2 / (o->output_tokens * (1 + ratio));
    double least = ceil(1 / wish.share_of_prefill);
    if ((double)wish.steps < least && least < 1e9) {
        gt_info("at a share of %.4f of steps with prefill, %.0f steps are needed to show it, not %zu",
                wish.share_of_prefill, least, wish.steps);
        wish.steps = (size_t)least;
    }
    return wish;
}

static void add_windows(splitting *s, gt_step_range working, const gt_step_range *regions,
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
        gt_warn("no step has %lld requests at once, as --CONC says: the most are %lld",
                (long long)s->options->requests, (long long)most);
    for (size_t i = 0; i < GT_LENGTH(windows); i++) {
        gt_step_range window =
            gt_steady_window(s->steps + working.begin, regions, region_count, windows[i].kind,
                             windows[i].kind == GT_WINDOW_MIXED ? wish_of(s->options) : usual);
        if (window.begin >= window.end) {
            gt_info("no window for %s: there is no such step", windows[i].label);
            continue;
        }
        gt_split_part *part = add_part(s, 0, NULL);
        add_steps(part, working.begin + window.begin, working.begin + window.end);
        name_by_mix(s, part, s->dir, windows[i].label);
    }
}

/* Rows of steps of one phase; steps that do neither are passed over. */
static void add_phases(splitting *s, gt_step_range working, const gt_step_range *regions, size_t region_count)
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
        gt_free(dir);
        gt_free(label);
    }
}

static bool plan(splitting *s, const char *path, gt_error *error)
{
    const gt_split_options *o = s->options;
    gt_step_range working = {0, s->step_count};
    if (o->has_range) {
        working =
            (gt_step_range){o->range_begin, o->range_end < s->step_count ? o->range_end : s->step_count};
        if (working.begin >= working.end)
            return gt_fail(error, "%s: the trace has %zu steps, none of them from %zu on", path,
                           s->step_count, o->range_begin);
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

static void find_events(splitting *s, uint8_t *chosen)
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

/* rank_of: by event, its place among the chosen ones. */
static bool write_part(gt_output *output, const gt_split_part *part, gt_trace_copy *copy,
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
    put_cstr(file, &out, copy->behind.len ? "\n],\n" : "\n]");
    put(file, &out, gt_buffer_str(&copy->behind));
    put_cstr(file, &out, "}\n");
    gt_text_file_write(file, gt_buffer_str(&out));
    gt_buffer_free(&out);
    return gt_text_file_close(file, error);
}

static bool write_parts(splitting *s, gt_output *output, const char *path, unsigned threads, gt_error *error)
{
    size_t events = s->events->count;
    uint8_t *chosen = gt_alloc_zero(events, 1);
    find_events(s, chosen);
    uint32_t *rank_of = gt_alloc(events * sizeof *rank_of), rank = 0;
    for (size_t i = 0; i < events; i++) {
        rank_of[i] = rank;
        rank += chosen[i];
    }
    gt_trace_copy copy = {0};
    char *near_path = gt_format("%s/events", s->dir);
    bool done = gt_output_add_folder(output, s->dir, error) &&
                gt_trace_copy_make(&copy, path, near_path, chosen, events, error);
    for (size_t p = 0; done && p < s->count; p++)
        done = write_part(output, &s->parts[p], &copy, rank_of, threads, error);
    gt_trace_copy_free(&copy);
    gt_free(near_path);
    gt_free(rank_of);
    gt_free(chosen);
    return done && gt_split_write_details(output, s->dir, s->parts, s->count, s->steps, error);
}

/* ---- the whole ---- */

static gt_plain_events *read_events(const char *path, const gt_read_options *read, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    gt_plain_events *events = stream ? gt_plain_events_read(stream, read, error) : NULL;
    gt_stream_close(stream);
    return events;
}

static bool find_steps(splitting *s, const char *path, gt_error *error)
{
    s->spans = gt_step_spans_find(s->events, &s->step_count);
    if (!s->step_count)
        return gt_fail(
            error,
            "%s: no steps of an inference server: no annotation is named as vLLM, SGLang or ATOM name "
            "theirs",
            path);
    s->steps = gt_alloc(s->step_count * sizeof *s->steps);
    for (size_t i = 0; i < s->step_count; i++)
        s->steps[i] = gt_serving_step_of(gt_interner_get(s->events->strings, s->spans[i].name));
    return true;
}

static void splitting_free(splitting *s)
{
    for (size_t p = 0; p < s->count; p++) {
        gt_free(s->parts[p].path);
        gt_free(s->parts[p].steps);
        gt_free(s->parts[p].found.events);
    }
    gt_free(s->parts);
    gt_free(s->spans);
    gt_free(s->steps);
    gt_free(s->base);
    gt_plain_events_free(s->events);
}

bool gt_split(gt_output *output, const char *path, const char *dir, const gt_split_options *options,
              const gt_read_options *read, gt_split_result *result, gt_error *error)
{
    splitting s = {.options = options, .dir = dir, .base = base_name(path)};
    s.events = read_events(path, read, error);
    bool done = s.events && find_steps(&s, path, error) && plan(&s, path, error) &&
                (!s.count || write_parts(&s, output, path, read->threads, error));
    *result = (gt_split_result){s.events ? s.events->count : 0, s.step_count, s.count};
    splitting_free(&s);
    return done;
}
