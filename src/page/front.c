/* The facts as JSON: sentence, tiles, bar, device, steps and notes. */
#include "page/front.h"

#include "analysis/serving/sheets.h"
#include "json/writer.h"
#include "model/arch.h"
#include "page/measures.h"
#include "page/words.h"
#include "schema/page.h"
#include "schema/sheets.h"

enum { SPARK_MAX = 1000 }; /* numbers of a spark line; of more steps, the largest of each stretch */

/* ---- tiles ---- */

static void put_text(gt_json_writer *w, const char *key, gt_buffer *text)
{
    gt_json_put_cstr(w, key, gt_buffer_str(text).bytes);
}

/* Four digits are more than a spark line shows. */
static void add_short_number(gt_json_writer *w, double value)
{
    char text[32];
    if (isfinite(value))
        gt_json_add_raw(w, (gt_str){text, (size_t)snprintf(text, sizeof text, "%.4g", value)});
    else
        gt_json_add_cstr(w, NULL);
}

static void put_spark(gt_json_writer *w, const double *values, size_t count)
{
    gt_json_put_open(w, "spark", '[');
    size_t shown = count < 2 ? 0 : count < SPARK_MAX ? count : SPARK_MAX;
    for (size_t i = 0; i < shown; i++) {
        double most = NAN;
        for (size_t at = i * count / shown; at < (i + 1) * count / shown; at++)
            if (!(values[at] <= most)) most = values[at];
        add_short_number(w, most);
    }
    gt_json_close(w, ']');
}

static void open_tile(gt_json_writer *w, const char *id, const char *label, double value, const char *unit)
{
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "id", id);
    gt_json_put_cstr(w, "label", label);
    gt_json_put_real(w, "value", value);
    gt_json_put_cstr(w, "unit", unit);
}

static void close_tile(gt_json_writer *w, gt_buffer *detail, double *spark, size_t spark_count)
{
    put_text(w, "detail", detail);
    put_spark(w, spark, spark_count);
    gt_json_close(w, '}');
    detail->len = 0;
    gt_free(spark);
}

/* Values of steps: (part or whole) divided by `by`, or by the step's time if that is 0. */
static double *step_values(const gt_page_measures *m, const double *values, double by)
{
    double *result = gt_alloc(m->step_count * sizeof *result);
    for (size_t i = 0; i < m->step_count; i++)
        result[i] = by > 0 ? values[i] / by : 100 * (1 - values[i] / m->step_ns[i]);
    return result;
}

/* What there is instead of steps with GPU work. */
static void add_step_note(const gt_page_measures *m, gt_buffer *out)
{
    if (m->server_steps > 0) {
        gt_words_add_count(out, (uint64_t)m->server_steps);
        gt_buffer_add_cstr(out, m->server_steps > 1 ? " server steps" : " server step");
    } else {
        gt_buffer_add_cstr(out, m->empty_steps > 0 ? "no step with GPU work" : "no steps");
    }
}

/* Of a server: "; medians: prefill 3.73 ms, decode 650 µs; 3,537 tokens/s". */
static void add_phases(const gt_table_list *sheets, gt_buffer *out)
{
    const gt_table *summary = gt_table_list_find(sheets, GT_SHEET_SERVING_SUMMARY);
    const char *before = "; medians: ";
    double tokens = 0;
    for (size_t row = 0; summary && row < summary->row_count; row++) {
        gt_phase_figures f;
        if (!gt_serving_phase_figures(summary, row, &f) || gt_str_equals(f.phase, "step")) continue;
        gt_buffer_add_format(out, "%s%.*s ", before, (int)f.phase.len, f.phase.bytes);
        gt_words_add_time(out, 1e6 * f.median_ms);
        if (f.generates && f.tokens_per_s > 0) tokens += f.tokens_per_s;
        before = ", ";
    }
    if (tokens > 0) {
        gt_buffer_add_cstr(out, "; ");
        gt_words_add_count(out, (uint64_t)(tokens + .5));
        gt_buffer_add_cstr(out, " tokens/s");
    }
}

static void add_step_tile(gt_json_writer *w, const gt_page_measures *m, const gt_table_list *sheets,
                          gt_buffer *detail)
{
    double step_ns = (double)m->window_ns / m->window_steps;
    gt_time_unit unit = gt_words_time_unit(step_ns);
    open_tile(w, "step", m->has_steps ? "step time" : "time", step_ns / unit.ns, unit.name);
    if (!m->has_steps) {
        gt_buffer_add_cstr(detail, "the window; the trace has ");
        add_step_note(m, detail);
    } else if (m->window_steps > 1) {
        gt_buffer_add_cstr(detail, "mean of ");
        gt_words_add_count(detail, (uint64_t)m->window_steps);
        gt_buffer_add_cstr(detail, " steps");
        add_phases(sheets, detail);
    } else {
        gt_buffer_add_cstr(detail, "one step");
    }
    if (m->capture_ms > 0) {
        gt_buffer_add_cstr(detail, "; the capture takes ");
        gt_words_add_time(detail, 1e6 * m->capture_ms);
    }
    close_tile(w, detail, step_values(m, m->step_ns, unit.ns), m->step_count);
}

static void add_busy_tile(gt_json_writer *w, const gt_page_measures *m, gt_buffer *detail)
{
    double busy_ns = (double)(m->window_ns - m->kind_ns[GT_PART_IDLE]);
    open_tile(w, "busy", "GPU busy", 100 * (busy_ns / (double)m->window_ns), "%");
    gt_words_add_time(detail, busy_ns / m->window_steps);
    gt_buffer_add_cstr(detail, m->has_steps ? " of a step" : " of the window");
    close_tile(w, detail, step_values(m, m->step_kind_ns[GT_PART_IDLE], 0), m->step_count);
}

static void add_exposed_tile(gt_json_writer *w, const gt_page_measures *m, gt_page_part_kind kind,
                             gt_buffer *detail)
{
    bool is_copy = kind == GT_PART_COPY;
    double ns = (double)m->kind_ns[kind] / m->window_steps;
    gt_time_unit unit = ns > 0 ? gt_words_time_unit(ns) : gt_words_time_unit(1e6);
    open_tile(w, is_copy ? "copies" : "communication",
              is_copy ? "exposed copies and memsets" : "exposed communication", ns / unit.ns, unit.name);
    if (ns > 0) {
        double percent = 100 * (double)m->kind_ns[kind] / (double)m->window_ns;
        gt_buffer_add_format(detail, percent >= 0.05 ? "%.1f %%" : "under 0.1 %%", percent);
        gt_buffer_add_cstr(detail, m->has_steps ? " of a step" : " of the window");
    } else if (m->total_ms[kind] > 0) {
        gt_buffer_add_format(detail, "all %s hidden by other work", is_copy ? "copies are" : "of it is");
    } else if (is_copy && m->copies > 0) {
        gt_buffer_add_cstr(detail, "kernels make ");
        gt_words_add_count(detail, (uint64_t)m->copies);
        gt_buffer_add_cstr(detail, m->copies > 1 ? " copies: computation" : " copy: computation");
    } else {
        gt_buffer_add_format(detail, "no %s in this trace", is_copy ? "copies" : "communication");
    }
    close_tile(w, detail, step_values(m, m->step_kind_ns[kind], unit.ns), m->step_count);
}

static const char *const roofline_lacks[] = {
    [GT_ROOFLINE_LACKS_DURATIONS] = "kernels have no duration",
    [GT_ROOFLINE_LACKS_SHAPES] = "no shapes in the trace: see record_shapes=True",
    [GT_ROOFLINE_LACKS_MODELS] = "no op has a model",
    [GT_ROOFLINE_LACKS_RATES] = "unknown rates: see --gpu_arch_platform",
};

static void add_roofline_tile(gt_json_writer *w, const gt_page_measures *m, gt_buffer *detail)
{
    const gt_page_roofline *r = &m->roofline;
    bool is_known = r->kernel_us > 0;
    open_tile(w, "roofline", "of the roofline", is_known ? 100 * r->ideal_us / r->kernel_us : NAN, "%");
    if (is_known && r->gpu_us > 0) {
        gt_buffer_add_cstr(detail, "of ops with a model: ");
        gt_words_add_share(detail, fmin(r->kernel_us, r->gpu_us), r->gpu_us);
        gt_buffer_add_cstr(detail, " of computation");
    } else if (is_known) {
        gt_buffer_add_cstr(detail, "of ops with a model");
    } else {
        gt_buffer_add_cstr(detail, roofline_lacks[r->lack]);
    }
    close_tile(w, detail, NULL, 0);
}

static void put_tiles(gt_json_writer *w, const gt_page_measures *m, const gt_table_list *sheets)
{
    gt_buffer detail = {0};
    gt_json_put_open(w, "tiles", '[');
    if (m->window_ns > 0) {
        add_step_tile(w, m, sheets, &detail);
        if (m->part_count) {
            add_busy_tile(w, m, &detail);
            add_exposed_tile(w, m, GT_PART_COMMUNICATION, &detail);
            add_exposed_tile(w, m, GT_PART_COPY, &detail);
        }
        add_roofline_tile(w, m, &detail);
    }
    gt_json_close(w, ']');
    gt_buffer_free(&detail);
}

/* ---- the bar ---- */

static void put_bar(gt_json_writer *w, const gt_page_measures *m)
{
    gt_json_put_open(w, "bar", '[');
    for (size_t i = 0; i < m->part_count; i++) {
        if (!m->parts[i].ns) continue;
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "part", m->parts[i].name);
        gt_json_put_cstr(w, "kind", gt_page_part_kind_name(m->parts[i].kind));
        gt_json_put_int(w, "ns", m->parts[i].ns);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

/* ---- what the page leaves out ---- */

/* A number of page_facts; 0 if there is none. */
static uint64_t page_fact(const gt_table_list *work, const char *name)
{
    const gt_table *facts = work ? gt_table_list_find(work, GT_SHEET_PAGE_FACTS) : NULL;
    for (size_t row = 0; facts && row < facts->row_count; row++) {
        uint32_t id = gt_table_column_of(facts, GT_COL_PAGE_NAME, GT_TYPE_STRING)->texts[row];
        double value = gt_column_number(gt_table_column(facts, GT_COL_PAGE_VALUE), row);
        if (gt_str_equals(gt_interner_get(facts->strings, id), name) && value > 0 && value < 0x1p53)
            return (uint64_t)value;
    }
    return 0;
}

static void put_notes(gt_json_writer *w, const gt_table_list *work)
{
    uint64_t gpu = page_fact(work, "gpu_events"), gpu_kept = page_fact(work, "gpu_kept");
    uint64_t host = page_fact(work, "host_events"), host_kept = page_fact(work, "host_kept");
    uint64_t steps = page_fact(work, "steps_left_out"), idle_ns = page_fact(work, "idle_left_out");
    gt_buffer note = {0};
    gt_json_put_open(w, "notes", '[');
    if (gpu > gpu_kept) {
        gt_buffer_add_cstr(&note, "The timeline has ");
        gt_words_add_count(&note, gpu_kept);
        gt_buffer_add_cstr(&note, " of ");
        gt_words_add_count(&note, gpu);
        gt_buffer_add_cstr(
            &note, " GPU events one by one; elsewhere it shows bins of time. Sums are those of all events.");
        gt_json_add_cstr(w, gt_buffer_str(&note).bytes);
    }
    note.len = 0;
    if (host > host_kept) {
        gt_buffer_add_cstr(&note, "The timeline has the ");
        gt_words_add_count(&note, host_kept);
        gt_buffer_add_cstr(&note, " longer ones of ");
        gt_words_add_count(&note, host);
        gt_buffer_add_cstr(&note, " host events.");
        gt_json_add_cstr(w, gt_buffer_str(&note).bytes);
    }
    note.len = 0;
    if (steps) {
        gt_words_add_count(&note, steps);
        gt_buffer_add_cstr(&note, steps == 1 ? " step is" : " steps are");
        gt_buffer_add_cstr(&note, " not in the chart of steps.");
        gt_json_add_cstr(w, gt_buffer_str(&note).bytes);
    }
    note.len = 0;
    if (idle_ns) {
        gt_words_add_time(&note, (double)idle_ns);
        gt_buffer_add_cstr(&note, " of idle time, in the shortest stretches, is not drawn in the timeline.");
        gt_json_add_cstr(w, gt_buffer_str(&note).bytes);
    }
    gt_json_close(w, ']');
    gt_buffer_free(&note);
}

/* ---- all facts ---- */

/* "NVIDIA H200", "AMD Instinct MI300X \u00D7 8" */
static void put_device(gt_json_writer *w, const gt_page_measures *m)
{
    gt_buffer text = {0};
    bool is_known = m->device && strcmp(m->device, "unknown") != 0;
    gt_buffer_add_cstr(&text, is_known ? m->device : "unknown GPU");
    if (is_known && m->device_is_deduced) gt_buffer_add_cstr(&text, GT_BY_PROPERTIES);
    if (m->device_count > 1) gt_buffer_add_format(&text, " \u00D7 %.0f", m->device_count);
    gt_json_put_cstr(w, "gpu", m->device || m->device_count > 1 ? gt_buffer_str(&text).bytes : NULL);
    gt_buffer_free(&text);
}

void gt_page_add_facts(const gt_page_source *source, gt_buffer *json)
{
    gt_page_measures m = gt_page_measures_find(source);
    gt_json_writer w = {0};
    gt_buffer sentence = {0}, limit = {0}, steps = {0};
    gt_json_open(&w, '{');
    gt_page_add_sentence(&m, &sentence);
    gt_page_add_repair(&m, &sentence);
    put_text(&w, "sentence", &sentence);
    gt_page_add_limit(&m, &limit);
    gt_json_put_cstr(&w, "limit", limit.len ? gt_buffer_str(&limit).bytes : NULL);
    put_tiles(&w, &m, source->sheets);
    put_bar(&w, &m);
    put_device(&w, &m);
    gt_json_put_int(&w, "steps", (int64_t)m.steps);
    gt_json_put_cstr(&w, "per", m.has_steps ? "step" : "trace");
    if (!m.has_steps) add_step_note(&m, &steps);
    gt_json_put_cstr(&w, "step_note", steps.len ? gt_buffer_str(&steps).bytes : NULL);
    put_notes(&w, source->work);
    gt_json_close(&w, '}');
    gt_buffer_add(json, w.text.bytes, w.text.len);
    gt_buffer_free(&sentence);
    gt_buffer_free(&limit);
    gt_buffer_free(&steps);
    gt_json_writer_free(&w);
    gt_page_measures_free(&m);
}
