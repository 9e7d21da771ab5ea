/* The facts of a comparison: which of the two is slower and why, the key figures of both, and the conditions.
 *
 *     "after is *7.79 ms* (20 %) slower per step than before: more calls of aten::copy_ add *10.3 ms*,
 *      everything else saves 2.48 ms."
 *
 * Times are whole nanoseconds of the sheets waterfall and waterfall_parts, so what is said adds up. Without a
 * waterfall there is no common time to speak of, and the sentence says only that. */
#include "page/front.h"

#include "json/writer.h"
#include "output/terminal.h"
#include "page/measures.h"
#include "page/words.h"
#include "schema/columns.h"

enum { NAME_WIDTH = 60 };

/* ---- what the sheets say ---- */

static const char *text_at(const gt_table *sheet, gt_col column, size_t row)
{
    return gt_interner_get(sheet->strings, gt_table_column(sheet, column)->texts[row]).bytes;
}

static int64_t ns_at(const gt_table *sheet, gt_col column, size_t row)
{
    double ns = 1e6 * gt_column_number(gt_table_column(sheet, column), row);
    return fabs(ns) < 0x1p62 ? (int64_t)round(ns) : 0;
}

/* The times of a step of A and B. */
typedef struct pair_ns {
    int64_t a, b;
} pair_ns;

/* Those of all parts of a kind, such as "idle". */
static pair_ns sum_of(const gt_table *parts, const char *kind)
{
    pair_ns sum = {0, 0};
    for (size_t row = 0; row < parts->row_count; row++) {
        if (strcmp(text_at(parts, GT_COL_PART, row), kind) != 0) continue;
        sum.a += ns_at(parts, GT_COL_A_MS, row);
        sum.b += ns_at(parts, GT_COL_B_MS, row);
    }
    return sum;
}

/* The first row of the waterfall is the step of A, the last one that of B. */
static pair_ns whole_of(const gt_table *waterfall)
{
    return (pair_ns){ns_at(waterfall, GT_COL_A_MS, 0),
                     ns_at(waterfall, GT_COL_B_MS, waterfall->row_count - 1)};
}

static bool is_per_step(const gt_table *waterfall)
{
    return strcmp(text_at(waterfall, GT_COL_CONTRIBUTION, 0), "step time") == 0;
}

/* ---- the sentence ---- */

/* Words for a contribution, by its kind, with the verb in the plural or not. */
static const struct {
    const char *kind, *before, *after;
    bool is_plural;
} phrases[] = {
    {"new", "new calls of ", "", true},
    {"vanished", "vanished calls of ", "", true},
    {"more_calls", "more calls of ", "", true},
    {"fewer_calls", "fewer calls of ", "", true},
    {"slower", "slower calls of ", "", true},
    {"faster", "faster calls of ", "", true},
    {"overlap", "overlap of kernels (", ")", false},
    {"communication", "exposed communication (", ")", false},
    {"copies", "exposed copies (", ")", true},
    {"idle", "idle time (", ")", false},
    {"computation", "computation (", ")", false},
};

/* A name of a trace or a file: short, in one line, and nothing in it is bold. */
static void add_name(gt_buffer *out, const char *name)
{
    gt_buffer text = {0}, cut = {0};
    gt_display_add(&text, (gt_str){name, strlen(name)}, true);
    gt_display_add_cut(&cut, gt_buffer_str(&text), NAME_WIDTH, true);
    for (size_t i = 0; i < cut.len; i++)
        if (cut.bytes[i] != '*') gt_buffer_add(out, &cut.bytes[i], 1);
    gt_buffer_free(&text);
    gt_buffer_free(&cut);
}

/* The largest contribution that explains the difference, not the sum of small ones; 0: none does. */
static size_t reason_of(const gt_table *waterfall, int64_t delta_ns)
{
    size_t found = 0;
    int64_t most = 0;
    for (size_t row = 1; row + 1 < waterfall->row_count; row++) {
        int64_t ns = ns_at(waterfall, GT_COL_DELTA_MS, row);
        int64_t size = delta_ns < 0 ? -ns : ns;
        if (size <= most || strcmp(text_at(waterfall, GT_COL_KIND, row), "other") == 0) continue;
        most = size;
        found = row;
    }
    return found;
}

static void add_reason(gt_buffer *out, const gt_table *waterfall, int64_t delta_ns)
{
    size_t row = reason_of(waterfall, delta_ns), i = 0;
    const char *kind = text_at(waterfall, GT_COL_KIND, row);
    while (i < GT_LENGTH(phrases) && strcmp(phrases[i].kind, kind) != 0) i++;
    if (!row || i == GT_LENGTH(phrases)) return;
    int64_t ns = ns_at(waterfall, GT_COL_DELTA_MS, row), rest_ns = delta_ns - ns;
    gt_buffer_add_format(out, ": %s", phrases[i].before);
    add_name(out, text_at(waterfall, GT_COL_WHAT, row));
    gt_buffer_add_format(out, "%s %s%s *", phrases[i].after, ns < 0 ? "save" : "add",
                         phrases[i].is_plural ? "" : "s");
    gt_words_add_time(out, fabs((double)ns));
    gt_buffer_add_cstr(out, "*");
    if (!rest_ns) return;
    gt_buffer_add_format(out, ", everything else %s ", rest_ns < 0 ? "saves" : "adds");
    gt_words_add_time(out, fabs((double)rest_ns));
}

static void add_difference(gt_buffer *out, const gt_page_comparison *c, const gt_table *waterfall)
{
    pair_ns whole = whole_of(waterfall);
    int64_t delta_ns = whole.b - whole.a;
    const char *per = is_per_step(waterfall) ? " per step" : "";
    add_name(out, c->names[1]);
    if (!delta_ns) {
        gt_buffer_add_format(out, " takes *as long*%s as ", per);
        add_name(out, c->names[0]);
        gt_buffer_add_cstr(out, ": ");
        gt_words_add_time(out, (double)whole.a);
        gt_buffer_add_cstr(out, ".");
        return;
    }
    gt_buffer_add_cstr(out, " is *");
    gt_words_add_time(out, fabs((double)delta_ns));
    gt_buffer_add_cstr(out, "*");
    if (whole.a > 0) {
        gt_buffer_add_cstr(out, " (");
        gt_words_add_share(out, fabs((double)delta_ns), (double)whole.a);
        gt_buffer_add_cstr(out, ")");
    }
    gt_buffer_add_format(out, " %s%s than ", delta_ns > 0 ? "slower" : "faster", per);
    add_name(out, c->names[0]);
    add_reason(out, waterfall, delta_ns);
    gt_buffer_add_cstr(out, ".");
}

/* Whether the main phase has a change. */
static bool is_compared(const gt_table *phases)
{
    return !isnan(gt_column_number(gt_table_column(phases, GT_COL_PCT), 0));
}

/* A note, in which nothing is bold. */
static void add_note(gt_buffer *out, const char *note)
{
    for (; *note; note++)
        if (*note != '*') gt_buffer_add(out, note, 1);
}

/* Of servers, the first row of phase_changes: "Decode steps of after take *1.2 ms* (20 %) longer than those
 * of before with like batch and context. " */
static void add_main_phase(gt_buffer *out, const gt_page_comparison *c, const gt_table *phases)
{
    pair_ns ns = {ns_at(phases, GT_COL_A_MS, 0), ns_at(phases, GT_COL_B_MS, 0)};
    const char *name = text_at(phases, GT_COL_PHASE, 0), *note = text_at(phases, GT_COL_NOTE, 0);
    int64_t delta_ns = ns.b - ns.a;
    if (!is_compared(phases)) {
        gt_buffer_add_format(out, "The %s steps of ", name);
        add_name(out, c->names[1]);
        gt_buffer_add_cstr(out, " cannot be compared: ");
        add_note(out, note);
        gt_buffer_add_cstr(out, ". Over the steps of all phases, ");
        return;
    }
    gt_buffer_add_format(out, "%c%s steps of ", name[0] - 'a' + 'A', name + 1);
    add_name(out, c->names[1]);
    gt_buffer_add_cstr(out, " take *");
    if (delta_ns) {
        gt_words_add_time(out, fabs((double)delta_ns));
        gt_buffer_add_cstr(out, "* (");
        gt_words_add_share(out, fabs((double)delta_ns), (double)ns.a);
        gt_buffer_add_format(out, ") %s than those of ", delta_ns > 0 ? "longer" : "less");
    } else {
        gt_buffer_add_cstr(out, "as long* as those of ");
    }
    add_name(out, c->names[0]);
    gt_buffer_add_cstr(out, " with like batch and context");
    if (*note) gt_buffer_add_cstr(out, "; ");
    add_note(out, note);
    gt_buffer_add_cstr(out, ". Over the steps of all phases, ");
}

static void add_sentence(gt_buffer *out, const gt_page_comparison *c, const gt_table *waterfall)
{
    const gt_table *phases = gt_table_list_find(c->sheets, GT_SHEET_PHASE_CHANGES);
    for (size_t i = 0; i < 2; i++) {
        if (!c->distrust[i]) continue;
        gt_buffer_add_cstr(out, "*Do not trust* ");
        add_name(out, c->names[i]);
        gt_buffer_add_cstr(out, ". ");
    }
    if (waterfall) {
        if (phases) add_main_phase(out, c, phases);
        add_difference(out, c, waterfall);
        return;
    }
    gt_buffer_add_cstr(out, "The sheets of ");
    add_name(out, c->names[1]);
    gt_buffer_add_cstr(out, " are compared with those of ");
    add_name(out, c->names[0]);
    gt_buffer_add_cstr(out, "; there is no waterfall of their times.");
}

/* ---- tiles ---- */

static void add_tile(gt_json_writer *w, const char *id, const char *label, double before, double value,
                     const char *unit, gt_buffer *detail)
{
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "id", id);
    gt_json_put_cstr(w, "label", label);
    gt_json_put_real(w, "before", before);
    gt_json_put_real(w, "value", value);
    gt_json_put_cstr(w, "unit", unit);
    gt_json_put_cstr(w, "detail", gt_buffer_str(detail).bytes);
    gt_json_close(w, '}');
    detail->len = 0;
}

/* "+7.79 ms (+20.2 %)", "no change" */
static void add_time_tile(gt_json_writer *w, const char *id, const char *label, pair_ns ns)
{
    gt_buffer detail = {0};
    int64_t delta_ns = ns.b - ns.a;
    const char *sign = delta_ns < 0 ? "\u2212" : "+";
    gt_time_unit unit = gt_words_time_unit(ns.a || ns.b ? fmax((double)ns.a, (double)ns.b) : 1e6);
    if (delta_ns) {
        gt_buffer_add_cstr(&detail, sign);
        gt_words_add_time(&detail, fabs((double)delta_ns));
        double percent = 100 * fabs((double)delta_ns) / (double)ns.a;
        if (ns.a > 0 && percent < 1e4) gt_buffer_add_format(&detail, " (%s%.1f %%)", sign, percent);
    } else {
        gt_buffer_add_cstr(&detail, ns.a ? "no change" : "none");
    }
    add_tile(w, id, label, (double)ns.a / unit.ns, (double)ns.b / unit.ns, unit.name, &detail);
    gt_buffer_free(&detail);
}

static void add_share_tile(gt_json_writer *w, const char *id, const char *label, double before, double value)
{
    gt_buffer detail = {0};
    double change = value - before;
    if (fabs(change) < 0.05)
        gt_buffer_add_cstr(&detail, change == 0 ? "no change" : "changed by under 0.1 percentage points");
    else
        gt_buffer_add_format(&detail, "%s%.1f percentage points", change < 0 ? "\u2212" : "+", fabs(change));
    add_tile(w, id, label, before, value, "%", &detail);
    gt_buffer_free(&detail);
}

/* Only traces have what it takes. */
static void add_roofline_tile(gt_json_writer *w, const gt_page_comparison *c)
{
    double shares[2] = {NAN, NAN};
    for (size_t i = 0; i < 2; i++) {
        if (!c->sources[i].work) continue;
        gt_page_measures m = gt_page_measures_find(&c->sources[i]);
        if (m.roofline.kernel_us > 0) shares[i] = 100 * m.roofline.ideal_us / m.roofline.kernel_us;
        gt_page_measures_free(&m);
    }
    if (isfinite(shares[0]) && isfinite(shares[1]))
        add_share_tile(w, "roofline", "of the roofline", shares[0], shares[1]);
}

static void add_phase_tile(gt_json_writer *w, const gt_table *phases)
{
    char *label = gt_format("%s step", text_at(phases, GT_COL_PHASE, 0));
    add_time_tile(w, "phase", label, (pair_ns){ns_at(phases, GT_COL_A_MS, 0), ns_at(phases, GT_COL_B_MS, 0)});
    gt_free(label);
}

static void put_tiles(gt_json_writer *w, const gt_page_comparison *c, const gt_table *waterfall,
                      const gt_table *parts)
{
    const gt_table *phases = gt_table_list_find(c->sheets, GT_SHEET_PHASE_CHANGES);
    gt_json_put_open(w, "tiles", '[');
    if (waterfall && parts) {
        pair_ns whole = whole_of(waterfall), idle = sum_of(parts, "idle");
        if (phases && is_compared(phases)) add_phase_tile(w, phases);
        add_time_tile(w, "step",
                      phases                   ? "mean of all steps"
                      : is_per_step(waterfall) ? "step time"
                                               : "time",
                      whole);
        if (whole.a > 0 && whole.b > 0)
            add_share_tile(w, "busy", "GPU busy", 100 * (1 - (double)idle.a / (double)whole.a),
                           100 * (1 - (double)idle.b / (double)whole.b));
        pair_ns communication = sum_of(parts, "communication"), copies = sum_of(parts, "copy");
        if (communication.a || communication.b)
            add_time_tile(w, "communication", "exposed communication", communication);
        if (copies.a || copies.b) add_time_tile(w, "copies", "exposed copies and memsets", copies);
    }
    add_roofline_tile(w, c);
    gt_json_close(w, ']');
}

/* ---- conditions ---- */

/* How many rows of the sheet fail_if a condition has. */
static size_t times_met(const gt_table *met, const char *condition)
{
    size_t count = 0;
    for (size_t row = 0; met && row < met->row_count; row++)
        count += strcmp(text_at(met, GT_COL_CONDITION, row), condition) == 0;
    return count;
}

static void put_gates(gt_json_writer *w, const gt_page_comparison *c)
{
    const gt_table *met = gt_table_list_find(c->sheets, GT_SHEET_FAIL_IF);
    gt_json_put_open(w, "gates", '[');
    for (size_t i = 0; i < c->condition_count; i++) {
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "condition", c->conditions[i]);
        gt_json_put_int(w, "met", (int64_t)times_met(met, c->conditions[i]));
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

void gt_page_add_compare_facts(const gt_page_comparison *c, gt_buffer *json)
{
    const gt_table *waterfall = gt_table_list_find(c->sheets, GT_SHEET_WATERFALL);
    const gt_table *parts = gt_table_list_find(c->sheets, GT_SHEET_WATERFALL_PARTS);
    if (waterfall && waterfall->row_count < 2) waterfall = NULL;
    gt_json_writer w = {0};
    gt_buffer sentence = {0};
    gt_json_open(&w, '{');
    add_sentence(&sentence, c, waterfall);
    gt_json_put_cstr(&w, "sentence", gt_buffer_str(&sentence).bytes);
    put_tiles(&w, c, waterfall, parts);
    put_gates(&w, c);
    if (!waterfall) gt_json_put_cstr(&w, "why_no_waterfall", c->why_no_waterfall);
    gt_json_put_cstr(&w, "per", waterfall && !is_per_step(waterfall) ? "trace" : "step");
    gt_json_close(&w, '}');
    gt_buffer_add(json, w.text.bytes, w.text.len);
    gt_buffer_free(&sentence);
    gt_json_writer_free(&w);
}
