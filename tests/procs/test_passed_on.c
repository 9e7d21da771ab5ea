/* What a process leaves of a trace for the process that puts the traces together, as images and back: the
 * same afterwards; a changed image gives nothing, or something that is safe to use. */
#include "output_help.h"

#include "analysis/batch/batch.h"
#include "base/memory.h"
#include "base/printing.h"
#include "cli/trace_result.h"
#include "findings/waterfall/waterfall.h"
#include "flat_image.h"
#include "input/sheets/sheets.h"
#include "output/written.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/image.h"

#include <math.h>

static gt_image flatten_and_free(gt_image *image)
{
    gt_image flat = flatten(image);
    gt_image_free(image);
    return flat;
}

/* Sets bytes of each part to values that are wrong as lengths, ids and ends, and lets parts end early.
 * Returns how many of these images were accepted; all are tried with `use`. */
static size_t damage(gt_image *image, bool (*use)(const gt_image *image))
{
    static const uint8_t values[] = {0xff, 0x80, 0x01, 0x00, 0x1b};
    size_t accepted = 0, tried = 0;
    for (size_t p = 0; p < image->count; p++) {
        gt_image_part *part = &image->parts[p];
        uint8_t *bytes = part->owned;
        size_t whole = part->len, stride = whole > 400 ? whole / 97 : 1;
        for (size_t at = 0; at < whole; at += stride) {
            uint8_t before = bytes[at];
            bytes[at] = values[tried++ % GT_LENGTH(values)];
            if (bytes[at] == before) bytes[at] ^= 0x40;
            accepted += use(image);
            bytes[at] = before;
        }
        for (size_t len = 0; len < whole; len += whole / 7 + 1) {
            part->len = len;
            accepted += use(image);
        }
        part->len = whole;
    }
    return accepted;
}

/* ---- what is printed ---- */

/* Printed to a file, whose text the caller frees. */
static char *printed_text(gt_kept_print *kept)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    kept->to = out;
    gt_print_kept(kept);
    fclose(out);
    return text;
}

static gt_image image_of_print(const char *raw)
{
    gt_kept_print kept;
    gt_image image = {0};
    gt_print_keep(&kept, stdout);
    fputs("before ", kept.file);
    gt_print_raw(kept.file, raw, strlen(raw));
    fputs(" after\n", kept.file);
    gt_print_keep_end(&kept);
    gt_print_save(&kept, &image);
    gt_image flat = flatten_and_free(&image);
    gt_print_drop(&kept);
    return flat;
}

static void prints_the_same(void **state)
{
    (void)state;
    static const char *const allowed[] = {"\033[1mbold\033[0m \342\226\210\n", "", "plain"};
    for (size_t i = 0; i < GT_LENGTH(allowed); i++) {
        gt_kept_print loaded;
        char expected[64];
        gt_image image = image_of_print(allowed[i]);
        assert_true(gt_print_load(&loaded, stdout, &image));
        gt_image_free(&image);
        assert_int_equal(loaded.raw_count, 2);
        snprintf(expected, sizeof expected, "before %s after\n", allowed[i]);
        char *text = printed_text(&loaded);
        assert_string_equal(text, expected);
        free(text);
    }
}

static void prints_together_are_as_one_after_the_other(void **state)
{
    (void)state;
    gt_kept_print all = {0};
    static const char *const raw[] = {"\033[1mbold\033[0m", "", "plain"};
    for (size_t i = 0; i < GT_LENGTH(raw); i++) {
        gt_kept_print one;
        gt_print_keep(&one, stdout);
        fprintf(one.file, "%zu:", i);
        gt_print_raw(one.file, raw[i], strlen(raw[i]));
        fputs(";", one.file);
        gt_print_keep_end(&one);
        gt_print_join(&all, &one);
        assert_true(!one.bytes && !one.raw);
    }
    gt_print_join(&all, &(gt_kept_print){0});
    const size_t places[] = {2, 2 + strlen(raw[0]), 5 + strlen(raw[0]), 5 + strlen(raw[0])};
    assert_memory_equal(all.raw, places, sizeof places);
    all.to = stdout;
    char *text = printed_text(&all);
    assert_string_equal(text, "0:\033[1mbold\033[0m;1:;2:plain;");
    free(text);
}

/* Only colours may pass to the terminal unescaped. */
static void refuses_commands_to_the_terminal(void **state)
{
    (void)state;
    static const char *const refused[] = {"\033]0;title\007", "\033[2J",      "\033[1", "\033",    "\r",
                                          "\302\233",         "\342\200\256", "\377",   "\342\226"};
    for (size_t i = 0; i < GT_LENGTH(refused); i++) {
        gt_kept_print loaded;
        gt_image image = image_of_print(refused[i]);
        assert_false(gt_print_load(&loaded, stdout, &image));
        gt_image_free(&image);
    }
}

/* ---- files that were written ---- */

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(in_scratch(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void notices_changed_files(void **state)
{
    (void)state;
    gt_written written = {0};
    gt_image image = {0};
    put_file("a 'quoted'\n.xlsx", "one");
    put_file("b.html", "two");
    gt_written_add_path(&written, in_scratch("a 'quoted'\n.xlsx"));
    gt_written_add_path(&written, in_scratch("b.html"));
    gt_written_save(&written, &image);
    gt_image flat = flatten_and_free(&image);
    gt_written_free(&written);
    assert_true(gt_written_are_there(&flat));
    assert_int_equal(damage(&flat, gt_written_are_there), 0);
    put_file("b.html", "longer"); /* another size */
    assert_false(gt_written_are_there(&flat));
    unlink(in_scratch("b.html"));
    assert_false(gt_written_are_there(&flat));
    gt_image_free(&flat);

    gt_written_save(&(gt_written){0}, &image); /* no files at all */
    flat = flatten_and_free(&image);
    assert_true(gt_written_are_there(&flat));
    gt_image_free(&flat);
    assert_false(gt_written_are_there(&(gt_image){0}));
}

/* ---- the result of a trace ---- */

static bool load_result(const gt_image *image)
{
    gt_trace_result loaded = {0};
    bool sound = gt_trace_result_load(&loaded, -1, "a <b>", image);
    gt_trace_result_free(&loaded);
    return sound;
}

static void keeps_results_of_traces(void **state)
{
    (void)state;
    gt_trace_result made = {
        .made = true, .kinds = 2, .distrust = gt_strdup("cut off"), .error = gt_strdup("bad\xff")};
    gt_print_keep(&made.printed, stdout);
    fputs("summary\n", made.printed.file);
    gt_print_keep_end(&made.printed);
    gt_image image = {0};
    gt_trace_result_save(&made, -1, "a <b>", &image);
    gt_image flat = flatten_and_free(&image);
    gt_trace_result_free(&made);
    gt_trace_result loaded = {0};
    assert_false(gt_trace_result_load(&loaded, 0, "a <b>", &flat)); /* another rank or label */
    assert_false(gt_trace_result_load(&loaded, -1, "a", &flat));
    assert_false(gt_trace_result_load(&loaded, -1, NULL, &flat));
    assert_true(gt_trace_result_load(&loaded, -1, "a <b>", &flat));
    assert_true(loaded.made);
    assert_false(loaded.has_json || loaded.is_missing);
    assert_int_equal(loaded.kinds, 2);
    assert_string_equal(loaded.distrust, "cut off");
    assert_string_equal(loaded.error, "bad\xff");
    char *text = printed_text(&loaded.printed);
    assert_string_equal(text, "summary\n");
    free(text);
    gt_trace_result_free(&loaded);
    damage(&flat, load_result);
    gt_image_free(&flat);
}

/* ---- sheets of a report in memory ---- */

static bool load_sheets(const gt_image *image)
{
    gt_perf_sheets *loaded = gt_perf_sheets_load(image, "trace");
    gt_perf_sheets_close(loaded);
    return loaded != NULL;
}

static void keeps_sheets(void **state)
{
    (void)state;
    gt_image image = {0};
    gt_error error;
    gt_perf_sheets *made = gt_perf_sheets_memory("trace");
    gt_perf_sheets_add(made, GT_SHEET("first"), (gt_str){"x\n7\n", 4});
    gt_perf_sheets_add(made, GT_SHEET("second"), (gt_str){"", 0});
    gt_perf_sheets_add(made, GT_SHEET("third"), (gt_str){"y\n\"a\nb\"\n", 8});
    gt_perf_sheets_save(made, &image);
    gt_image flat = flatten_and_free(&image);
    gt_perf_sheets_close(made);
    gt_perf_sheets *loaded = gt_perf_sheets_load(&flat, "trace");
    assert_non_null(loaded);
    assert_true(gt_perf_sheets_has(loaded, GT_SHEET("second")));
    gt_interner *strings = gt_interner_new();
    gt_table *third = gt_perf_sheets_read(loaded, GT_SHEET("third"), strings, &error);
    assert_non_null(third);
    assert_int_equal(third->row_count, 1);
    assert_true(gt_str_equals(gt_table_cell(third, 0, 0).text, "a\nb"));
    gt_table_free(third);
    gt_interner_free(strings);
    gt_perf_sheets_close(loaded);
    damage(&flat, load_sheets);
    gt_image_free(&flat);
}

/* ---- parts of a step ---- */

static gt_step_parts *make_parts(void)
{
    gt_step_parts *parts = gt_alloc_zero(1, sizeof *parts);
    *parts = (gt_step_parts){.strings = gt_interner_new(), .step_ns = 30, .steps = 2, .has_steps = true};
    uint32_t unused = gt_interner_add_cstr(parts->strings, "unused"); /* so that ids move */
    uint32_t op = gt_interner_add_cstr(parts->strings, "aten::mm");
    uint32_t kernel = gt_interner_add_cstr(parts->strings, "gemm_7");
    uint32_t data = gt_interner_add_cstr(parts->strings, "data");
    assert_true(unused < op);
    gt_step_part gemm = {GT_PART_KERNEL, op, kernel, op, GT_STR_NONE, GT_STR_NONE, 20, 1, 4, 2};
    gt_step_part idle = {GT_PART_IDLE, GT_STR_EMPTY, data, GT_STR_EMPTY, GT_STR_NONE, op, 10, 0, 0, 0};
    gt_part_shape shape = {.shape = GT_STR_EMPTY, .types = GT_STR_EMPTY, .ns = 42, .calls = 4, .op_calls = 2};
    parts->times_ns = gt_alloc_zero(2, sizeof *parts->times_ns);
    parts->times_ns[parts->time_count++] = 30;
    GT_PUSH(parts->items, parts->count, parts->capacity, gemm);
    GT_PUSH(parts->items, parts->count, parts->capacity, idle);
    GT_PUSH(parts->shapes, parts->shape_count, parts->shape_capacity, shape);
    return parts;
}

static gt_step_parts *load_parts(const gt_image *image)
{
    gt_step_parts *parts = NULL;
    gt_interner *strings = gt_strings_load(image);
    if (strings && !gt_step_parts_load(image, strings, &parts)) assert_null(parts);
    gt_interner_free(strings);
    return parts;
}

/* Compares them with the parts that were saved. */
static bool use_parts(const gt_image *image)
{
    gt_step_parts *loaded = load_parts(image), *other = make_parts();
    gt_interner *strings = gt_interner_new();
    if (loaded) gt_waterfall_free(gt_waterfall_new(other, loaded, strings));
    bool sound = loaded != NULL;
    gt_interner_free(strings);
    gt_step_parts_free(loaded);
    gt_step_parts_free(other);
    return sound;
}

static void keeps_parts_of_a_step(void **state)
{
    (void)state;
    gt_step_parts *made = make_parts();
    gt_image image = {0};
    gt_interner *strings = gt_interner_new();
    gt_step_parts_save(made, strings, &image);
    gt_strings_save(strings, &image);
    gt_image flat = flatten_and_free(&image);
    gt_interner_free(strings);
    gt_step_parts_free(made);
    gt_step_parts *loaded = load_parts(&flat);
    assert_non_null(loaded);
    assert_int_equal(loaded->count, 2);
    assert_int_equal(loaded->shape_count, 1);
    assert_int_equal(loaded->step_ns, 30);
    assert_int_equal(loaded->time_count, 1);
    assert_true(loaded->times_ns[0] == 30);
    assert_int_equal(loaded->steps, 2);
    assert_true(loaded->has_steps && !loaded->has_calls);
    assert_true(gt_str_equals(gt_interner_get(loaded->strings, loaded->items[0].name), "gemm_7"));
    assert_true(gt_str_equals(gt_interner_get(loaded->strings, loaded->items[0].op), "aten::mm"));
    assert_int_equal(loaded->items[0].category, GT_STR_NONE);
    assert_int_equal(loaded->items[0].hidden_ns, 1);
    assert_int_equal(loaded->items[1].op, GT_STR_EMPTY);
    assert_true(gt_str_equals(gt_interner_get(loaded->strings, loaded->items[1].site), "aten::mm"));
    assert_int_equal(loaded->shapes[0].ns, 42);
    gt_step_parts_free(loaded);
    assert_true(damage(&flat, use_parts) > 0);
    gt_image_free(&flat);
}

/* ---- rows of a rank of a batch report ---- */

static gt_table *make_ops(gt_interner *strings)
{
    gt_table *rows = gt_table_new(GT_SHEET_OPS, strings);
    static const gt_column_head heads[] = {{GT_COL_NAME, GT_TYPE_STRING},
                                           {GT_COL_UID, GT_TYPE_INT},
                                           {GT_COL_INPUT_DIMS, GT_TYPE_STRING},
                                           {GT_COL_INPUT_TYPE, GT_TYPE_STRING},
                                           {GT_COL_INPUT_STRIDES, GT_TYPE_STRING},
                                           {GT_COL_CONCRETE_INPUTS, GT_TYPE_STRING},
                                           {GT_COL_GFLOPS, GT_TYPE_FLOAT},
                                           {GT_COL_DATA_MOVED_MB, GT_TYPE_FLOAT},
                                           {GT_COL_FLOPS_PER_BYTE, GT_TYPE_FLOAT},
                                           {GT_COL_TB_PER_S, GT_TYPE_FLOAT},
                                           {GT_COL_TFLOPS_PER_S, GT_TYPE_FLOAT},
                                           {GT_COL_KERNEL_TIME_US, GT_TYPE_FLOAT},
                                           {GT_COL_NON_DATA_MOV_KERNEL_TIME_US, GT_TYPE_FLOAT},
                                           {GT_COL_NON_DATA_MOV_TFLOPS_PER_S, GT_TYPE_FLOAT},
                                           {GT_COL_DIMS_AS_JSON, GT_TYPE_STRING},
                                           {GT_COL_TYPES_AS_JSON, GT_TYPE_STRING},
                                           {GT_COL_STRIDES_AS_JSON, GT_TYPE_STRING},
                                           {GT_COL_CONCRETE_INPUTS_AS_JSON, GT_TYPE_STRING},
                                           {GT_COL("param: M"), GT_TYPE_STRING}};
    gt_table_add_columns(rows, heads, GT_LENGTH(heads));
    for (size_t row = 0; row < 2; row++) {
        gt_table_add_row(rows);
        gt_table_set_cstr(rows, 0, row, "aten::mm");
        gt_table_set_int(rows, 1, row, 100 + (int64_t)row);
        gt_table_set_float(rows, 11, row, 2.5);
        gt_table_set_cstr(rows, 18, row, "i64");
    }
    return rows;
}

static void take_table(void *to, gt_table *table)
{
    gt_table **first = to;
    if (*first)
        gt_table_free(table);
    else
        *first = table;
}

/* Loads the ops and makes their sheet. Returns the kernels of both, or 0. */
static size_t sheet_of(const gt_image *image)
{
    gt_batch_ops ops[GT_BATCH_GROUPS] = {0};
    gt_interner *strings = gt_strings_load(image);
    size_t kernels = 0;
    bool sound = strings && gt_tables_load(image, strings, take_table, &ops[0].rows) &&
                 gt_batch_ops_load(ops, strings, image);
    if (sound) {
        gt_batch_ops all = {0};
        kernels = ops[0].kernels.kernel_count;
        gt_batch_ops_append(&all, &ops[0]);
        gt_table_free(gt_batch_ops_sheet(&all, GT_BATCH_GEMM, NULL));
        gt_batch_ops_free(&all);
    }
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) gt_batch_ops_free(&ops[i]);
    gt_interner_free(strings);
    return kernels;
}

static bool use_ops(const gt_image *image)
{
    return sheet_of(image) > 0;
}

static void keeps_ops_of_a_rank(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_batch_ops ops[GT_BATCH_GROUPS] = {{.rows = make_ops(strings), .found = 5}};
    uint32_t kernel = gt_interner_add_cstr(strings, "gemm");
    for (size_t i = 0; i < 3; i++) {
        gt_kernel_lists_push(&ops[0].kernels, (gt_kernel_detail){kernel, GT_STR_NONE, 1.5, NAN, 0, i == 0});
        if (i) gt_kernel_lists_close(&ops[0].kernels);
    }
    gt_image image = {0};
    gt_tables_save(&ops[0].rows, 1, strings, &image);
    gt_batch_ops_save(ops, &image);
    gt_strings_save(strings, &image);
    gt_image flat = flatten_and_free(&image);
    gt_batch_ops_free(&ops[0]);
    gt_interner_free(strings);
    assert_int_equal(sheet_of(&flat), 3);
    damage(&flat, use_ops);
    gt_image_free(&flat);
}

/* Rows of another sheet, or with other columns, are refused: sheets rely on their columns. */
static void refuses_rows_with_other_columns(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_table *rows = gt_table_new(GT_SHEET_SHORT_CPU_OP_COUNTS, strings);
    gt_table_add_column(rows, GT_COL_OP, GT_TYPE_STRING);
    assert_false(gt_batch_rows_are_sound(rows, GT_SHEET_SHORT_CPU_OP_COUNTS));
    gt_table_add_column(rows, GT_COL_COUNT, GT_TYPE_INT);
    assert_true(gt_batch_rows_are_sound(rows, GT_SHEET_SHORT_CPU_OP_COUNTS));
    assert_false(gt_batch_rows_are_sound(rows, GT_SHEET_CUDA_EVENTS_SUMMARY));
    gt_table_add_row(rows);
    gt_table_set_int(rows, 1, 0, INT64_MAX); /* cannot be added up */
    assert_false(gt_batch_rows_are_sound(rows, GT_SHEET_SHORT_CPU_OP_COUNTS));
    gt_table_set_int(rows, 1, 0, 12);
    assert_true(gt_batch_rows_are_sound(rows, GT_SHEET_SHORT_CPU_OP_COUNTS));
    gt_table_free(rows);
    gt_interner_free(strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_the_same),
        cmocka_unit_test(prints_together_are_as_one_after_the_other),
        cmocka_unit_test(refuses_commands_to_the_terminal),
        cmocka_unit_test_setup_teardown(notices_changed_files, make_scratch, remove_scratch),
        cmocka_unit_test(keeps_results_of_traces),
        cmocka_unit_test(keeps_sheets),
        cmocka_unit_test(keeps_parts_of_a_step),
        cmocka_unit_test(keeps_ops_of_a_rank),
        cmocka_unit_test(refuses_rows_with_other_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
