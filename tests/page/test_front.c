/* The facts of the first screen, from tables written by hand: the sentence in all its cases, tiles, bar and
 * notes. */
#include "test_table_strings.h"

#include "base/memory.h"
#include "json/values.h"
#include "page/front.h"
#include "page/measures.h"
#include "page/words.h"

/* ---- numbers in sentences ---- */

static void expect_words(gt_buffer *out, const char *wanted)
{
    assert_string_equal(gt_buffer_str(out).bytes, wanted);
    out->len = 0;
}

static void test_words(void **state)
{
    (void)state;
    gt_buffer out = {0};
    static const struct {
        double ns;
        const char *wanted;
    } times[] = {{0, "0 ns"},
                 {999, "999 ns"},
                 {1234, "1.23 \u00B5s"},
                 {9996, "10.0 \u00B5s"},
                 {77675026, "77.7 ms"},
                 {999499999, "999 ms"},
                 {1078288379, "1.08 s"},
                 {3.6e12, "3,600 s"},
                 {1e30, "1,000,000,000,000,000,000 s"}};
    for (size_t i = 0; i < GT_LENGTH(times); i++) {
        gt_words_add_time(&out, times[i].ns);
        expect_words(&out, times[i].wanted);
    }
    static const struct {
        double part;
        const char *wanted;
    } shares[] = {{0, "0 %"},           {1000, "100 %"}, {601, "60 %"},
                  {997, "99.7 %"},      {2, "0.2 %"},    {999.99, "over 99.9 %"},
                  {0.1, "under 0.1 %"}, {1042, "104 %"}, {9.4, "0.9 %"},
                  {9.6, "1 %"}};
    for (size_t i = 0; i < GT_LENGTH(shares); i++) {
        gt_words_add_share(&out, shares[i].part, 1000);
        expect_words(&out, shares[i].wanted);
    }
    gt_words_add_share(&out, 5, 0);
    expect_words(&out, "0 %");
    gt_words_add_count(&out, 0);
    expect_words(&out, "0");
    gt_words_add_count(&out, 1234567);
    expect_words(&out, "1,234,567");
    gt_buffer_free(&out);
}

/* ---- the sentence ---- */

static gt_page_part parts[8];

/* Measures with these parts, of a window with steps. Ends with a part without a name. */
static gt_page_measures measures_of(const gt_page_part *given, double window_steps)
{
    gt_page_measures m = {.parts = parts, .has_steps = window_steps > 0, .steps = window_steps};
    m.window_steps = window_steps > 0 ? window_steps : 1;
    for (; given->name; given++) {
        parts[m.part_count++] = *given;
        m.kind_ns[given->kind] += given->ns;
        m.window_ns += given->ns;
    }
    return m;
}

static void expect_sentence(const gt_page_measures *m, const char *wanted)
{
    gt_buffer out = {0};
    gt_page_add_sentence(m, &out);
    expect_words(&out, wanted);
    gt_buffer_free(&out);
}

static void test_idle_with_one_cause(void **state)
{
    (void)state;
    gt_page_measures m = measures_of((gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 61917639},
                                                      {GT_PART_IDLE, "data", 89964829},
                                                      {GT_PART_IDLE, "launch", 3467584},
                                                      {0}},
                                     2);
    expect_sentence(&m, "The GPU is idle *60 %* of a *77.7 ms* step: it waits for the data loader.");
}

static void test_idle_with_several_causes(void **state)
{
    (void)state;
    gt_page_measures m = measures_of((gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 700000},
                                                      {GT_PART_IDLE, "launch", 120000},
                                                      {GT_PART_IDLE, "sync", 100000},
                                                      {GT_PART_IDLE, "python", 80000},
                                                      {0}},
                                     1);
    expect_sentence(
        &m, "The GPU is idle *30 %* of a *1.00 ms* step, for several reasons; the largest: the host does "
            "not launch work fast enough.");
}

/* Exactly half of the idle time is most of it; a cause that has no words of its own is named. */
static void test_idle_at_the_limits(void **state)
{
    (void)state;
    gt_page_measures m = measures_of((gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 900},
                                                      {GT_PART_IDLE, "new_cause", 50},
                                                      {GT_PART_IDLE, "sync", 50},
                                                      {0}},
                                     1);
    expect_sentence(&m, "The GPU is idle *10 %* of a *1.00 \u00B5s* step: new_cause.");
}

static void test_idle_without_steps(void **state)
{
    (void)state;
    gt_page_measures m = measures_of((gt_page_part[]){{GT_PART_COMPUTATION, "other", 4000000000},
                                                      {GT_PART_COMMUNICATION, "communication", 232000000},
                                                      {GT_PART_IDLE, "unknown", 10890000000},
                                                      {0}},
                                     0);
    expect_sentence(&m, "The GPU is idle *72 %* of the window (*15.1 s*): the trace does not show why.");
}

static void test_communication(void **state)
{
    (void)state;
    gt_page_measures m = measures_of((gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 400},
                                                      {GT_PART_COMMUNICATION, "communication", 350},
                                                      {GT_PART_COPY, "copy", 100},
                                                      {GT_PART_IDLE, "launch", 150},
                                                      {0}},
                                     1);
    expect_sentence(&m, "Communication that nothing hides takes *35 %* of a *1.00 \u00B5s* step.");
}

static void test_copies(void **state)
{
    (void)state;
    gt_page_measures m = measures_of(
        (gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 900}, {GT_PART_COPY, "copy", 100}, {0}}, 1);
    expect_sentence(&m, "Copies that nothing hides take *10 %* of a *1.00 \u00B5s* step.");
}

static void test_busy(void **state)
{
    (void)state;
    gt_page_measures m = measures_of((gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 20000000},
                                                      {GT_PART_COMPUTATION, "elementwise", 10070000},
                                                      {GT_PART_IDLE, "device_gap", 930000},
                                                      {0}},
                                     1);
    m.roofline = (gt_page_roofline){
        .has_rates = true, .top_ideal_us = 6200, .top_kernel_us = 10000, .top_all_us = 12000};
    expect_sentence(
        &m, "The GPU works *97 %* of a *31.0 ms* step; most of it is matrix products, at *62 %* of the "
            "roofline.");
    m.roofline.top_all_us = 12600; /* less than four fifths have a model */
    expect_sentence(&m, "The GPU works *97 %* of a *31.0 ms* step; most of it is matrix products.");
    m.parts[0].ns = 15030000; /* of 30,070,000 busy ns */
    expect_sentence(&m, "The GPU works *97 %* of a *31.0 ms* step; the largest part is matrix products.");
}

static void test_nothing(void **state)
{
    (void)state;
    gt_page_measures m = measures_of((gt_page_part[]){{0}}, 0);
    expect_sentence(&m, "The trace has no GPU events.");
}

/* ---- facts ---- */

static void add_table(gt_table_list *list, const char *name, const char *text)
{
    gt_table *table = read_table(strings, text);
    gt_table_rename(table, gt_sheet_named(name));
    gt_table_list_add(list, table);
}

typedef struct case_tables {
    gt_table_list sheets, work;
    gt_arena arena;
} case_tables;

static const gt_value *facts_of(case_tables *c)
{
    gt_buffer json = {0};
    const gt_page_source source = {.label = "t", .sheets = &c->sheets, .work = &c->work};
    gt_page_add_facts(&source, &json);
    const char *copy = gt_arena_bytes(&c->arena, json.bytes, json.len);
    const gt_value *facts = gt_value_parse(&c->arena, (gt_str){copy, json.len});
    assert_int_equal(facts->type, GT_VALUE_DICT);
    gt_buffer_free(&json);
    return facts;
}

static void free_case(case_tables *c)
{
    gt_table_list_free(&c->sheets);
    gt_table_list_free(&c->work);
    gt_arena_free(&c->arena);
}

static void expect_text(const gt_value *object, const char *key, const char *wanted)
{
    const gt_value *value = gt_value_get(object, key);
    if (!wanted) {
        assert_int_equal(value->type, GT_VALUE_NONE);
        return;
    }
    assert_int_equal(value->type, GT_VALUE_STRING);
    if (!gt_str_equals(value->text, wanted))
        fail_msg("%s: %.*s, not %s", key, (int)value->text.len, value->text.bytes, wanted);
}

static double number_of(const gt_value *value)
{
    return value->type == GT_VALUE_INT ? (double)value->integer : value->number;
}

static const gt_value *tile_of(const gt_value *facts, const char *id)
{
    const gt_value *tiles = gt_value_get(facts, "tiles");
    for (uint32_t i = 0; i < tiles->count; i++)
        if (gt_value_equals_cstr(gt_value_get(gt_value_at(tiles, i), "id"), id)) return gt_value_at(tiles, i);
    fail_msg("no tile %s", id);
    return NULL;
}

static void expect_tile(const gt_value *facts, const char *id, double value, const char *unit,
                        const char *detail)
{
    const gt_value *tile = tile_of(facts, id);
    if (isnan(value))
        assert_int_equal(gt_value_get(tile, "value")->type, GT_VALUE_NONE);
    else
        assert_true(fabs(number_of(gt_value_get(tile, "value")) - value) < 1e-9 * (1 + fabs(value)));
    expect_text(tile, "unit", unit);
    expect_text(tile, "detail", detail);
}

static void expect_spark(const gt_value *facts, const char *id, const double *wanted, uint32_t count)
{
    const gt_value *spark = gt_value_get(tile_of(facts, id), "spark");
    assert_int_equal(spark->count, count);
    for (uint32_t i = 0; i < count; i++) assert_true(number_of(gt_value_at(spark, i)) == wanted[i]);
}

static void expect_bar(const gt_value *facts, const char *wanted)
{
    const gt_value *bar = gt_value_get(facts, "bar");
    gt_buffer text = {0};
    for (uint32_t i = 0; i < bar->count; i++) {
        const gt_value *part = gt_value_at(bar, i);
        gt_str name = gt_value_get(part, "part")->text, kind = gt_value_get(part, "kind")->text;
        gt_buffer_add_format(&text, "%s%.*s %.*s %lld", i ? ", " : "", (int)name.len, name.bytes,
                             (int)kind.len, kind.bytes, (long long)gt_value_get(part, "ns")->integer);
    }
    expect_words(&text, wanted);
    gt_buffer_free(&text);
}

#define OVERVIEW                                                                                             \
    "name:text value:float unit:text text:text\n"                                                            \
    "verdict - - good\ndevice - - NVIDIA_H200\nroofline - - H200\ndevice_count 2 - -\n"                      \
    "gpu_ops 12 - -\nper - - step\nsteps 3 - -\nwindow_steps 2 - -\nwindow_ns 2000000 - -\n"
#define BALANCE                                                                                              \
    "part:text kind:text ns:int\n"                                                                           \
    "attention computation 300000\nGEMM computation 600000\n"                                                \
    "communication exposed_communication 200000\ncopy exposed_copy 100000\n"                                 \
    "launch idle 650000\nsync idle 150000\nremainder remainder 0\n"

/* ---- the first finding ---- */

static void expect_repair(const gt_page_measures *m, const char *wanted)
{
    gt_buffer out = {0};
    gt_page_add_repair(m, &out);
    expect_words(&out, wanted);
    gt_buffer_free(&out);
}

/* The GPU waits for the data loader most, and the first finding is about that, or not. */
static void test_first_finding_of_an_idle_gpu(void **state)
{
    (void)state;
    gt_page_measures m = measures_of((gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 100},
                                                      {GT_PART_IDLE, "data", 500},
                                                      {GT_PART_IDLE, "cpu_op", 400},
                                                      {0}},
                                     1);
    expect_repair(&m, "");
    m.repair = (gt_page_repair){.id = "data_stall", .title = "Waits for data", .gain_pct = 40};
    expect_repair(&m, "");
    m.repair = (gt_page_repair){.id = "cpu_roundtrip", .title = "A *tensor* goes round", .gain_pct = 48};
    expect_repair(&m, " What to repair first, by gain and certainty, is something else: A tensor goes round "
                      "(about *48 %*).");
    m.repair = (gt_page_repair){.id = "new_rule", .title = "New", .is_gpu = true, .gain_pct = NAN};
    expect_repair(&m, " What to repair first, by gain and certainty, is something else: New.");
}

static void test_first_finding_of_a_busy_gpu(void **state)
{
    (void)state;
    gt_page_measures m =
        measures_of((gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 950}, {GT_PART_IDLE, "data", 50}, {0}}, 1);
    m.repair = (gt_page_repair){.id = "fp32_gemm", .title = "FP32", .is_gpu = true, .gain_pct = 40};
    expect_repair(&m, "");
    m.repair = (gt_page_repair){.id = "data_stall", .title = "Waits for data", .gain_pct = 4};
    expect_repair(
        &m, " What to repair first, by gain and certainty, is something else: Waits for data (about *4 %*).");
}

static void test_first_finding_of_copies(void **state)
{
    (void)state;
    gt_page_measures m = measures_of(
        (gt_page_part[]){{GT_PART_COMPUTATION, "GEMM", 600}, {GT_PART_COPY, "copy", 400}, {0}}, 1);
    m.repair = (gt_page_repair){.id = "pageable_copy", .title = "Pageable", .is_gpu = true, .gain_pct = 40};
    expect_repair(&m, "");
    m.repair.id = "exposed_comm";
    expect_repair(
        &m, " What to repair first, by gain and certainty, is something else: Pageable (about *40 %*).");
}

/* Hints are no findings. */
static void test_first_finding_of_sheets(void **state)
{
    (void)state;
    case_tables c = {0};
    add_table(&c.sheets, "overview", OVERVIEW);
    add_table(&c.sheets, "balance", BALANCE);
    add_table(
        &c.sheets, "findings",
        "rank:int id:text hint:bool kind:text title:text gain_pct:float\n"
        "1 host_sync true host Hint 70\n2 host_sync false host Waits 20\n3 fp32_gemm false gpu FP32 10\n");
    expect_text(
        facts_of(&c), "sentence",
        "The GPU is idle *40 %* of a *1.00 ms* step: the host does not launch work fast enough. What to "
        "repair first, by gain and certainty, is something else: Waits (about *20 %*).");
    free_case(&c);
}

/* The sentence that the page has after the first one, of findings in this order. */
static void expect_order(const char *rows, const char *wanted)
{
    case_tables c = {0};
    gt_buffer text = {0};
    add_table(&c.sheets, "overview", OVERVIEW);
    add_table(&c.sheets, "balance", BALANCE);
    gt_buffer_add_cstr(
        &text, "id:text hint:bool kind:text title:text gain_ms:float gain_pct:float confidence:text\n");
    gt_buffer_add_cstr(&text, rows);
    add_table(&c.sheets, "findings", gt_buffer_str(&text).bytes);
    gt_str sentence = gt_value_get(facts_of(&c), "sentence")->text;
    const char *second = strstr(sentence.bytes, "fast enough. ");
    assert_non_null(second);
    if (strncmp(second + 13, wanted, strlen(wanted)) != 0) fail_msg("%s", second);
    gt_buffer_free(&text);
    free_case(&c);
}

/* launch_bound stands after what has to be repaired before it, though it gains more with as much certainty.
 * 40 ms with medium confidence are worth 20, and so less than 30 with high confidence. */
static void test_the_order_is_said_as_it_is(void **state)
{
    (void)state;
    expect_order(
        "python_busy false host Python 75.9 8 high\nlaunch_bound false host Slow 315 40 high\n",
        "What to repair first, although it gains less, is something else, because no CUDA or HIP graph "
        "can contain it: Python (about *8 %*).");
    expect_order("python_busy false host Python 30 8 high\nlaunch_bound false host Slow 40 10 medium\n",
                 "What to repair first, by gain and certainty, is something else: Python (about *8 %*).");
    expect_order("python_busy false host Python 30 8 high\nfp32_gemm true gpu Hint 300 80 low\n",
                 "What to repair first, by gain and certainty, is something else: Python (about *8 %*).");
}

/* Copies that kernels make are computation, but they are copies; steps of a server are steps. */
static void test_what_the_trace_has(void **state)
{
    (void)state;
    case_tables c = {0};
    add_table(&c.sheets, "overview",
              "name:text value:float unit:text text:text\ngpu_ops 12 - -\nper - - trace\nsteps 0 - -\n"
              "window_steps 1 - -\nwindow_ns 1000000 - -\nempty_steps 2 - -\n");
    add_table(&c.sheets, "balance",
              "part:text kind:text ns:int\nGEMM computation 400000\ndata idle 600000\n");
    const gt_value *facts = facts_of(&c);
    expect_tile(facts, "step", 1, "ms", "the window; the trace has no step with GPU work");
    expect_text(facts, "step_note", "no step with GPU work");
    expect_text(facts, "limit", "the GPU is idle 60 % of the window (1.00 ms): it waits for the data loader");
    expect_tile(facts, "copies", 0, "ms", "no copies in this trace");
    add_table(&c.work, "page_steps", "name:text start:int ns:int in_window:bool\na 0 9 true\nb 9 9 true\n");
    add_table(&c.work, "page_copies", "direction:text count:int ns:int\nDtoD 3000 5\nmemset 153 5\n");
    facts = facts_of(&c);
    expect_tile(facts, "step", 1, "ms", "the window; the trace has 2 server steps");
    expect_text(facts, "step_note", "2 server steps");
    expect_tile(facts, "copies", 0, "ms", "kernels make 3,153 copies: computation");
    c.sheets.items[0]->columns[1].floats[5] = NAN; /* no steps are marked */
    gt_table_list_free(&c.work);
    expect_tile(facts_of(&c), "step", 1, "ms", "the window; the trace has no steps");
    free_case(&c);
}

/* From the sheets alone, as of a trace whose steps are not in the page. */
static void test_facts_of_sheets(void **state)
{
    (void)state;
    case_tables c = {0};
    add_table(&c.sheets, "overview", OVERVIEW);
    add_table(&c.sheets, "balance", BALANCE);
    add_table(&c.sheets, "unified_perf_summary",
              "name:text category:text operation_count:int kernel:float roofline:float\n"
              "mm GEMM 10 1000 40\nmm GEMM 5 500 -\nsdpa SDPA_fwd 1 500 100\nnothing GEMM 1 0 5\n");
    gt_table *ops = c.sheets.items[2];
    gt_table_rename_column(ops, 1, GT_COL("op category"));
    gt_table_rename_column(ops, 3, GT_COL("Kernel Time (µs)_sum"));
    gt_table_rename_column(ops, 4, GT_COL("Roofline Time (µs)_first"));
    const gt_value *facts = facts_of(&c);
    expect_text(facts, "sentence",
                "The GPU is idle *40 %* of a *1.00 ms* step: the host does not launch work fast enough.");
    expect_text(facts, "gpu", "NVIDIA_H200 \u00D7 2");
    expect_text(facts, "per", "step");
    expect_text(facts, "step_note", NULL);
    assert_int_equal(gt_value_get(facts, "steps")->integer, 3);
    expect_tile(facts, "step", 1, "ms", "mean of 2 steps");
    expect_tile(facts, "busy", 60, "%", "600 \u00B5s of a step");
    expect_tile(facts, "communication", 100, "\u00B5s", "10.0 % of a step");
    expect_tile(facts, "copies", 50, "\u00B5s", "5.0 % of a step");
    /* (10 x 40 + 1 x 100) / (1000 + 500) */
    expect_tile(facts, "roofline", 100.0 / 3, "%", "of ops with a model");
    expect_spark(facts, "step", NULL, 0);
    expect_bar(facts, "GEMM computation 600000, attention computation 300000, communication "
                      "exposed_communication 200000, copy exposed_copy 100000, launch idle 650000, sync idle "
                      "150000");
    assert_int_equal(gt_value_get(facts, "notes")->count, 0);
    free_case(&c);
}

#define STEPS                                                                                                \
    "name:text start:int ns:int in_window:bool\n"                                                            \
    "ProfilerStep#1 0 1200000 true\nProfilerStep#2 1200000 800000 true\nProfilerStep#3 2000000 5 false\n"
#define STEP_PARTS                                                                                           \
    "step:int part:text kind:text ns:int\n"                                                                  \
    "0 GEMM computation 700000\n0 communication exposed_communication 200000\n0 launch idle 300000\n"        \
    "1 GEMM computation 600000\n1 launch idle 200000\n2 GEMM computation 4\n2 outside idle 1\n"

static void test_facts_of_steps(void **state)
{
    (void)state;
    case_tables c = {0};
    add_table(&c.sheets, "overview", OVERVIEW);
    add_table(&c.work, "page_steps", STEPS);
    add_table(&c.work, "page_step_parts", STEP_PARTS);
    add_table(&c.work, "page_kernels", "category:text ns:int\nGEMM 1000000\ncopy 500\n");
    const gt_value *facts = facts_of(&c);
    expect_bar(facts,
               "GEMM computation 1300000, communication exposed_communication 200000, launch idle 500000");
    expect_spark(facts, "step", (double[]){1.2, 0.8}, 2);
    expect_spark(facts, "busy", (double[]){75, 75}, 2);
    expect_spark(facts, "communication", (double[]){200, 0}, 2);
    expect_tile(facts, "copies", 0, "ms", "no copies in this trace");
    expect_tile(facts, "roofline", NAN, "%", "no op has a model");
    free_case(&c);
}

/* Why the share of the roofline is unknown: rates help only where everything else is there. */
static void test_roofline_that_is_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *rows, *detail;
    } cases[] = {
        {"mm GEMM 10 0 ((2,2),(2,2)) 5\n", "kernels have no duration"},
        {"mm GEMM 10 0 - -\n", "kernels have no duration"},
        {"mm GEMM 10 100 - -\n", "no shapes in the trace: see record_shapes=True"},
        {"mm GEMM 10 100 ((2,2),(2,2)) -\n", "no op has a model"},
        {"mm GEMM 10 100 ((2,2),(2,2)) 5\nadd other 1 1 - -\n", "unknown rates: see --gpu_arch_platform"},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        case_tables c = {0};
        char *text =
            gt_format("name:text category:text operation_count:int kernel:float dims:text GFLOPS:float\n%s",
                      cases[i].rows);
        add_table(&c.sheets, "overview", OVERVIEW);
        add_table(&c.sheets, "balance", BALANCE);
        add_table(&c.sheets, "unified_perf_summary", text);
        gt_table *ops = c.sheets.items[2];
        gt_table_rename_column(ops, 1, GT_COL("op category"));
        gt_table_rename_column(ops, 3, GT_COL("Kernel Time (µs)_sum"));
        gt_table_rename_column(ops, 4, GT_COL("Input Dims"));
        expect_tile(facts_of(&c), "roofline", NAN, "%", cases[i].detail);
        gt_free(text);
        free_case(&c);
    }
}

/* Most time is in kernels that have another category than their op: nothing is said of its roofline. */
static void test_roofline_of_kernels_without_model(void **state)
{
    (void)state;
    case_tables c = {0};
    add_table(&c.sheets, "overview", OVERVIEW);
    add_table(&c.sheets, "balance", "part:text kind:text ns:int\nreduction computation 2000000\n");
    add_table(&c.sheets, "unified_perf_summary",
              "name:text category:text operation_count:int kernel:float roofline:float\n"
              "sum reduce 1 100 50\nsoftmax other 1 1900 -\n");
    gt_table *ops = c.sheets.items[2];
    gt_table_rename_column(ops, 1, GT_COL("op category"));
    gt_table_rename_column(ops, 3, GT_COL("Kernel Time (µs)_sum"));
    gt_table_rename_column(ops, 4, GT_COL("Roofline Time (µs)_first"));
    expect_text(
        facts_of(&c), "sentence",
        "The GPU works *100 %* of a *1.00 ms* step; most of it is reductions, at *50 %* of the roofline.");
    add_table(&c.work, "page_kernels", "category:text ns:int\nreduction 100000\nreduction 1900000\n");
    expect_text(facts_of(&c), "sentence",
                "The GPU works *100 %* of a *1.00 ms* step; most of it is reductions.");
    free_case(&c);
}

/* The balance is shown, whatever the steps cover. */
static void test_steps_that_are_incomplete(void **state)
{
    (void)state;
    case_tables c = {0};
    add_table(&c.sheets, "overview", OVERVIEW);
    add_table(&c.sheets, "balance", BALANCE);
    add_table(&c.work, "page_steps", STEPS);
    add_table(&c.work, "page_step_parts",
              "step:int part:text kind:text ns:int\n0 GEMM computation 700000\n"
              "99 GEMM computation 5\n- GEMM computation 6\n1 - idle 3\n");
    const gt_value *facts = facts_of(&c);
    assert_int_equal(gt_value_get(facts, "bar")->count, 6);
    free_case(&c);
}

/* --no_findings: everything from the tables of the page. */
static void test_facts_without_findings(void **state)
{
    (void)state;
    case_tables c = {0};
    add_table(&c.sheets, "gpu_timeline", "type:text time:float\ntotal_memcpy_time 5\ntotal_comm_time 0\n");
    gt_table_rename_column(c.sheets.items[0], 1, GT_COL("time ms"));
    add_table(&c.work, "page_facts",
              "name:text value:int\nwindow_start 500\nwindow_end 2000500\n"
              "gpu_events 1000000\ngpu_kept 250000\nhost_events 20\nhost_kept 7\n"
              "steps_left_out 1\nidle_left_out 1500\n");
    add_table(&c.work, "page_steps", STEPS);
    add_table(&c.work, "page_step_parts", STEP_PARTS);
    const gt_value *facts = facts_of(&c), *notes = gt_value_get(facts, "notes");
    expect_text(facts, "sentence",
                "The GPU is idle *25 %* of a *1.00 ms* step: the host does not launch work fast enough.");
    expect_text(facts, "gpu", NULL);
    expect_tile(facts, "copies", 0, "ms", "all copies are hidden by other work");
    expect_tile(facts, "roofline", NAN, "%", "no op has a model");
    assert_int_equal(notes->count, 4);
    assert_true(gt_value_equals_cstr(
        gt_value_at(notes, 0), "The timeline has 250,000 of 1,000,000 GPU events one by one; elsewhere it "
                               "shows bins of time. Sums are those of all events."));
    assert_true(gt_value_equals_cstr(gt_value_at(notes, 2), "1 step is not in the chart of steps."));
    free_case(&c);
}

/* A contradiction in the trace shows as a remainder, so that the bar still adds up. */
static void test_remainder(void **state)
{
    (void)state;
    case_tables c = {0};
    add_table(&c.sheets, "overview", OVERVIEW);
    add_table(&c.sheets, "balance",
              "part:text kind:text ns:int\nGEMM computation 1500000\nremainder remainder "
              "500000\n");
    expect_bar(facts_of(&c), "GEMM computation 1500000, remainder remainder 500000");
    free_case(&c);
}

static void test_no_tables(void **state)
{
    (void)state;
    case_tables c = {0};
    const gt_value *facts = facts_of(&c);
    expect_text(facts, "sentence", "The trace has no GPU events.");
    assert_int_equal(gt_value_get(facts, "tiles")->count, 0);
    expect_text(facts, "per", "trace");
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_idle_with_one_cause),
        cmocka_unit_test(test_idle_with_several_causes),
        cmocka_unit_test(test_idle_at_the_limits),
        cmocka_unit_test(test_idle_without_steps),
        cmocka_unit_test(test_communication),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_first_finding_of_an_idle_gpu),
        cmocka_unit_test(test_first_finding_of_a_busy_gpu),
        cmocka_unit_test(test_first_finding_of_copies),
        cmocka_unit_test(test_first_finding_of_sheets),
        cmocka_unit_test(test_the_order_is_said_as_it_is),
        cmocka_unit_test(test_what_the_trace_has),
        cmocka_unit_test(test_facts_of_sheets),
        cmocka_unit_test(test_facts_of_steps),
        cmocka_unit_test(test_roofline_that_is_unknown),
        cmocka_unit_test(test_roofline_of_kernels_without_model),
        cmocka_unit_test(test_steps_that_are_incomplete),
        cmocka_unit_test(test_facts_without_findings),
        cmocka_unit_test(test_remainder),
        cmocka_unit_test(test_no_tables),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
