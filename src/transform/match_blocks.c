/* Pairs blocks of steps of two traces:
 *
 *     step       0  1  2 | 3  4  5  6 | 7
 *     phase      decode  | mixed      | decode
 *     window 2   [0  1]    [3  4][5 6]  [7]       the rest of a longer sequence, 2, is in no window
 *
 * All pairs of windows of one phase and length are compared. Names that do not tell sequence lengths cannot
 * be compared, because all their steps would look equal. */
#include "transform/match_blocks.h"
#include "json/writer.h"
#include "transform/split_parts.h"

enum { LEAST_DECODE_STEPS = 2, MOST_DISTANCES = 4 };

const char *gt_match_phase_name(gt_match_phase phase)
{
    static const char *const names[GT_MATCH_PHASES] = {
        [GT_MATCH_DECODE] = "decode_only",
        [GT_MATCH_MIXED] = "prefilldecode",
        [GT_MATCH_PREFILL] = "prefill_only",
    };
    return names[phase];
}

/* ---- blocks ---- */

typedef struct block {
    gt_match_phase phase; /* GT_MATCH_PHASES: none of these */
    size_t begin, steps;
    size_t steps_before; /* of the whole sequence */
} block;

typedef struct side {
    gt_splitting trace;
    bool is_detailed; /* the names of the steps tell sequence lengths */
    block *blocks;
    size_t count, capacity;
} side;

static gt_match_phase phase_of(const gt_serving_step *step)
{
    bool generates = step->generation_requests > 0;
    if (gt_step_has_context(step)) return generates ? GT_MATCH_MIXED : GT_MATCH_PREFILL;
    return generates ? GT_MATCH_DECODE : GT_MATCH_PHASES;
}

static void add_windows(side *s, block whole, size_t window)
{
    if (whole.phase == GT_MATCH_PHASES ||
        whole.steps < (whole.phase == GT_MATCH_DECODE ? LEAST_DECODE_STEPS : 1))
        return;
    if (!window || whole.steps < window) window = whole.steps;
    for (size_t at = 0; at + window <= whole.steps; at += window)
        GT_PUSH(s->blocks, s->count, s->capacity,
                ((block){whole.phase, whole.begin + at, window, whole.steps}));
}

static void find_blocks(side *s, size_t window)
{
    block whole = {.phase = GT_MATCH_PHASES};
    for (size_t i = 0; i < s->trace.step_count; i++) {
        gt_match_phase phase = phase_of(&s->trace.steps[i]);
        if (phase != whole.phase) {
            add_windows(s, whole, window);
            whole = (block){.phase = phase, .begin = i};
        }
        whole.steps_before = ++whole.steps;
    }
    add_windows(s, whole, window);
}

static bool open_side(side *s, const char *path, const char *dir, const gt_match_options *options,
                      const gt_read_options *read, gt_error *error)
{
    if (!gt_splitting_open(&s->trace, path, dir, false, read, error)) return false;
    gt_str name = gt_interner_get(s->trace.events->strings, s->trace.spans[0].name);
    s->is_detailed = gt_step_name_kind(name) == GT_STEP_DETAILED;
    find_blocks(s, options->window_steps);
    return true;
}

static void close_side(side *s)
{
    gt_splitting_free(&s->trace);
    gt_free(s->blocks);
}

/* ---- matching ---- */

typedef struct pair {
    const block *blocks[2];
    double distances[MOST_DISTANCES];
    size_t distance_count;
    size_t with_phase,
        with_candidate; /* blocks of the first trace; with_candidate: of which the second has some */
} pair;

/* What is compared of two steps, the most important first. */
static size_t measures_of(const gt_serving_step *step, gt_match_phase phase, int64_t *measures)
{
    if (phase == GT_MATCH_DECODE) {
        measures[0] = step->generation_sum;
        measures[1] = step->generation_length;
        return 2;
    }
    measures[0] = step->context_requests;
    measures[1] = step->generation_requests;
    measures[2] = step->context_sum;
    measures[3] = step->generation_sum;
    return MOST_DISTANCES;
}

static size_t measure_distances(const side *sides, const block *a, const block *b, double *distances)
{
    size_t count = 0;
    for (size_t k = 0; k < MOST_DISTANCES; k++) distances[k] = 0;
    for (size_t i = 0; i < a->steps; i++) {
        int64_t of_a[MOST_DISTANCES], of_b[MOST_DISTANCES];
        count = measures_of(&sides[0].trace.steps[a->begin + i], a->phase, of_a);
        measures_of(&sides[1].trace.steps[b->begin + i], b->phase, of_b);
        for (size_t k = 0; k < count; k++) distances[k] += fabs((double)of_a[k] - (double)of_b[k]);
    }
    for (size_t k = 0; k < count; k++) distances[k] /= (double)a->steps;
    return count;
}

static size_t shorter_sequence(const block *const blocks[2])
{
    size_t a = blocks[0]->steps_before, b = blocks[1]->steps_before;
    return a < b ? a : b;
}

/* Less distant; of equally distant ones, from longer sequences, and then with more steps. */
static bool is_better(const pair *found, const pair *best)
{
    if (!best->blocks[0]) return true;
    for (size_t k = 0; k < found->distance_count; k++)
        if (found->distances[k] != best->distances[k]) return found->distances[k] < best->distances[k];
    size_t length = shorter_sequence(found->blocks), other = shorter_sequence(best->blocks);
    return length != other ? length > other : found->blocks[0]->steps > best->blocks[0]->steps;
}

/* Tries the blocks of the second trace; returns whether one has the length. */
static bool try_all(const side *sides, const block *a, pair *best)
{
    bool has_candidate = false;
    for (size_t i = 0; i < sides[1].count; i++) {
        const block *b = &sides[1].blocks[i];
        if (b->phase != a->phase || b->steps != a->steps) continue;
        pair found = {.blocks = {a, b}};
        found.distance_count = measure_distances(sides, a, b, found.distances);
        has_candidate = true;
        if (!is_better(&found, best)) continue;
        memcpy(best->blocks, found.blocks, sizeof found.blocks);
        memcpy(best->distances, found.distances, sizeof found.distances);
        best->distance_count = found.distance_count;
    }
    return has_candidate;
}

static pair best_pair(const side *sides, gt_match_phase phase)
{
    pair best = {.blocks = {NULL, NULL}};
    if (!sides[0].is_detailed) return best;
    for (size_t i = 0; i < sides[0].count; i++) {
        const block *a = &sides[0].blocks[i];
        if (a->phase != phase) continue;
        best.with_phase++;
        if (sides[1].is_detailed) best.with_candidate += try_all(sides, a, &best);
    }
    return best;
}

/* ---- match_report.json and .csv ---- */

typedef struct report {
    gt_json_writer json, notes;
    gt_buffer csv;
    int64_t count;
} report;

static const struct {
    const char *name, *column;
} means[] = {{"avg_context_requests", "avg_c_req"},
             {"avg_generation_requests", "avg_g_req"},
             {"avg_c_sq", "avg_c_sq"},
             {"avg_c_sk", "avg_c_sk"},
             {"avg_g_sq", "avg_g_sq"},
             {"avg_g_sk", "avg_g_sk"}};
enum { MEANS = sizeof means / sizeof *means };

static double rounded(double value, int decimals)
{
    char text[400];
    snprintf(text, sizeof text, "%.*f", decimals, value);
    return strtod(text, NULL);
}

static void means_of(const side *s, const block *b, double *values)
{
    double sums[MEANS] = {0};
    for (const gt_serving_step *t = s->trace.steps + b->begin; t < s->trace.steps + b->begin + b->steps;
         t++) {
        const int64_t of_step[MEANS] = {t->context_requests, t->generation_requests, t->context_sum,
                                        t->context_length,   t->generation_sum,      t->generation_length};
        for (size_t k = 0; k < MEANS; k++) sums[k] += (double)of_step[k];
    }
    for (size_t k = 0; k < MEANS; k++) values[k] = rounded(sums[k] / (double)b->steps, 3);
}

static void describe_steps(gt_json_writer *json, const side *s, const block *b)
{
    gt_json_put_open(json, "steps", '[');
    for (size_t i = b->begin; i < b->begin + b->steps; i++) {
        const gt_serving_step *step = &s->trace.steps[i];
        gt_json_open(json, '{');
        gt_json_put_int(json, "step", (int64_t)i);
        gt_json_key(json, "name");
        gt_json_add_string(json, gt_interner_get(s->trace.events->strings, s->trace.spans[i].name));
        gt_json_put_int(json, "num_context", step->context_requests);
        gt_json_put_int(json, "num_generation", step->generation_requests);
        gt_json_put_int(json, "c_sq", step->context_sum);
        gt_json_put_int(json, "c_sk", step->context_length);
        gt_json_put_int(json, "g_sq", step->generation_sum);
        gt_json_put_int(json, "g_sk", step->generation_length);
        gt_json_close(json, '}');
    }
    gt_json_close(json, ']');
}

static void describe_block(gt_json_writer *json, const char *key, const side *s, const block *b,
                           const char *path)
{
    double values[MEANS];
    means_of(s, b, values);
    gt_json_put_open(json, key, '{');
    gt_json_put_int(json, "block_index", b - s->blocks);
    gt_json_put_cstr(json, "trace", s->trace.base);
    gt_json_put_cstr(json, "output_path", path);
    for (size_t k = 0; k < MEANS; k++) gt_json_put_real(json, means[k].name, values[k]);
    gt_json_put_int(json, "start", (int64_t)b->begin);
    gt_json_put_int(json, "end", (int64_t)(b->begin + b->steps));
    gt_json_put_int(json, "num_steps", (int64_t)b->steps);
    gt_json_put_int(json, "original_num_steps", (int64_t)b->steps_before);
    gt_json_put_bool(json, "truncated", b->steps != b->steps_before);
    describe_steps(json, s, b);
    gt_json_close(json, '}');
}

static void add_real(gt_buffer *out, double value)
{
    char text[GT_NUMBER_MAX];
    gt_buffer_add(out, text, gt_print_double(text, value));
}

static void add_header(gt_buffer *csv)
{
    gt_buffer_add_cstr(csv, "match_id,phase,num_steps,distance");
    for (int i = 0; i < 2; i++) {
        static const char *const columns[] = {"trace", "block_index",        "start",
                                              "end",   "original_num_steps", "truncated"};
        const char *trace = i ? ",TraceB_" : ",TraceA_";
        for (size_t k = 0; k < GT_LENGTH(columns); k++)
            gt_buffer_add_cstr(csv, trace), gt_buffer_add_cstr(csv, columns[k]);
        for (size_t k = 0; k < MEANS; k++)
            gt_buffer_add_cstr(csv, trace), gt_buffer_add_cstr(csv, means[k].column);
        gt_buffer_add_cstr(csv, trace), gt_buffer_add_cstr(csv, "output_path");
    }
    gt_buffer_add_cstr(csv, "\n");
}

static void add_row(gt_buffer *csv, int64_t id, gt_match_phase phase, const pair *p, const side *sides,
                    const char *const *paths)
{
    char text[256];
    snprintf(text, sizeof text, "%" PRId64 ",%s,%zu,", id, gt_match_phase_name(phase), p->blocks[0]->steps);
    gt_buffer_add_cstr(csv, text);
    for (size_t k = 0; k < p->distance_count; k++) {
        if (k) gt_buffer_add_cstr(csv, "|");
        add_real(csv, rounded(p->distances[k], 6));
    }
    for (int i = 0; i < 2; i++) {
        const block *b = p->blocks[i];
        double values[MEANS];
        means_of(&sides[i], b, values);
        gt_buffer_add_cstr(csv, ",");
        gt_split_add_field(csv, sides[i].trace.base);
        snprintf(text, sizeof text, ",%zu,%zu,%zu,%zu,%s", (size_t)(b - sides[i].blocks), b->begin,
                 b->begin + b->steps, b->steps_before, b->steps != b->steps_before ? "True" : "False");
        gt_buffer_add_cstr(csv, text);
        for (size_t k = 0; k < MEANS; k++) gt_buffer_add_cstr(csv, ","), add_real(csv, values[k]);
        gt_buffer_add_cstr(csv, ",");
        gt_split_add_field(csv, paths[i]);
    }
    gt_buffer_add_cstr(csv, "\n");
}

static void describe_pair(report *r, gt_match_phase phase, const pair *p, const side *sides,
                          const char *const *paths)
{
    static const char *const keys[] = {"TraceA", "TraceB"};
    gt_json_open(&r->json, '{');
    gt_json_put_int(&r->json, "match_id", r->count);
    gt_json_put_cstr(&r->json, "phase", gt_match_phase_name(phase));
    gt_json_put_int(&r->json, "num_steps", (int64_t)p->blocks[0]->steps);
    gt_json_put_open(&r->json, "distance", '[');
    for (size_t k = 0; k < p->distance_count; k++) gt_json_add_real(&r->json, rounded(p->distances[k], 6));
    gt_json_close(&r->json, ']');
    for (int i = 0; i < 2; i++) describe_block(&r->json, keys[i], &sides[i], p->blocks[i], paths[i]);
    gt_json_close(&r->json, '}');
    add_row(&r->csv, r->count++, phase, p, sides, paths);
}

static void add_note(report *r, gt_match_phase phase, const pair *p, const side *sides)
{
    char *reason =
        !sides[0].is_detailed || !sides[1].is_detailed
            ? gt_format("the steps of trace %s do not tell sequence lengths",
                        sides[0].is_detailed ? "B" : "A")
            : gt_format("trace A has %zu %s of this phase, %zu of a length that trace B has too",
                        p->with_phase, gt_noun(p->with_phase, "block", "blocks"), p->with_candidate);
    gt_json_open(&r->notes, '{');
    gt_json_put_cstr(&r->notes, "phase", gt_match_phase_name(phase));
    gt_json_put_cstr(&r->notes, "reason", reason);
    gt_json_close(&r->notes, '}');
    gt_free(reason);
}

static bool write_report(report *r, gt_output *output, const char *dir, gt_error *error)
{
    gt_json_close(&r->json, ']');
    gt_json_close(&r->notes, ']');
    return gt_split_write_text(output, dir, "match_report.json", &r->json.text, error) &&
           gt_split_write_text(output, dir, "match_report.csv", &r->csv, error) &&
           gt_split_write_text(output, dir, "match_notes.json", &r->notes.text, error);
}

/* ---- all ---- */

/* The path of the block's trace, which the splitting owns. */
static const char *add_trace(side *s, gt_match_phase phase, const block *b, const size_t *indexes,
                             char letter)
{
    const char *name = gt_match_phase_name(phase);
    char *dir = gt_format("%s/%s", s->trace.dir, name);
    char *label = gt_format("%s_best_A%zu_B%zu_%c", name, indexes[0], indexes[1], letter);
    gt_splitting_add(&s->trace, (gt_step_range){b->begin, b->begin + b->steps}, dir, label);
    gt_free_all(dir, label);
    return s->trace.parts[s->trace.count - 1].path;
}

static gt_match match_phase(side *sides, gt_match_phase phase, report *r)
{
    pair p = best_pair(sides, phase);
    gt_match match = {.distance_count = p.distance_count};
    if (!p.blocks[0]) {
        add_note(r, phase, &p, sides);
        return match;
    }
    size_t indexes[2];
    const char *paths[2];
    for (int i = 0; i < 2; i++) {
        indexes[i] = (size_t)(p.blocks[i] - sides[i].blocks);
        match.begin[i] = p.blocks[i]->begin;
    }
    for (int i = 0; i < 2; i++) paths[i] = add_trace(&sides[i], phase, p.blocks[i], indexes, "AB"[i]);
    match.steps = p.blocks[0]->steps;
    memcpy(match.distances, p.distances, sizeof match.distances);
    describe_pair(r, phase, &p, sides, paths);
    return match;
}

bool gt_match_blocks(gt_output *output, const char *const paths[2], const char *dir,
                     const gt_match_options *options, const gt_read_options *read, gt_match *matches,
                     gt_error *error)
{
    side sides[2] = {0};
    report r = {.count = 0};
    gt_json_open(&r.json, '[');
    gt_json_open(&r.notes, '[');
    add_header(&r.csv);
    bool done = open_side(&sides[0], paths[0], dir, options, read, error) &&
                open_side(&sides[1], paths[1], dir, options, read, error) &&
                gt_output_add_folder(output, dir, error);
    for (size_t i = 0; done && i < options->phase_count; i++)
        matches[i] = match_phase(sides, options->phases[i], &r);
    for (int i = 0; done && options->extract && r.count && i < 2; i++)
        done = gt_splitting_write(&sides[i].trace, output, paths[i], read->threads, error);
    done = done && write_report(&r, output, dir, error);
    for (int i = 0; i < 2; i++) close_side(&sides[i]);
    gt_json_writer_free(&r.json);
    gt_json_writer_free(&r.notes);
    gt_buffer_free(&r.csv);
    return done;
}
