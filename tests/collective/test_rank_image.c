/* What is kept of a rank, as an image and back: the report of all ranks is the same, cell by cell; a changed
 * image gives nothing, or something that is safe to use. */
#include "pytorch_trace.h"

#include "base/buffer.h"
#include "flat_image.h"
#include "report/collective.h"

#include <math.h>

enum { RANKS = 3, STEPS = 4 };

/* ---- a run: three steps that count, two collectives in each; rank 1 computes longer ---- */

static void collective(trace_text *t, const char *name, double launched, double start, double dur, int id)
{
    char args[512];
    call(t, "cuda_runtime", "cudaLaunchKernel", launched, 5, id);
    snprintf(args, sizeof args,
             "\"correlation\":%d,\"stream\":20,\"device\":0,\"Process Group Name\":\"default_pg\","
             "\"Process Group Ranks\":\"[0, 1, 2]\",\"Collective name\":\"%s\",\"Group size\":3,"
             "\"dtype\":\"Float\",\"In msg nelems\":1048576,\"Out msg nelems\":1048576,"
             "\"In split size\":\"[]\",\"Out split size\":\"[]\"",
             id, name);
    add_event(t,
              "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":20,"
              "\"ts\":%.15g,\"dur\":%.15g,\"args\":{%s}}",
              start, dur, args);
    arrow(t, id, 20);
}

static void step(trace_text *t, size_t rank, int number)
{
    char name[40];
    double at = 1000 + number * 3000.25;
    int id = number * 10 + 1;
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    host(t, "user_annotation", name, at, 3000, "");
    cpu(t, "aten::mm", at + 10, 30);
    call(t, "cuda_runtime", "cudaLaunchKernel", at + 20, 5, id);
    gpu(t, "kernel", "gemm <b>&\\\"x\\\"", at + 40, rank == 1 ? 900 : 600, id, 7);
    arrow(t, id, 7);
    collective(t, "allreduce", at + 60, at + 950 - (rank == 1 ? 0 : 300), rank == 1 ? 100 : 400, id + 1);
    collective(t, "allreduce", at + 80, at + 1600, 100, id + 2);
}

static gt_rank_collectives *make_rank(size_t rank)
{
    trace_text t = new_trace();
    for (int i = 0; i < STEPS; i++) step(&t, rank, i);
    gt_error error = {""};
    gt_run_info run = {0};
    const gt_read_options options = {.threads = 1, .strict = true, .run = &run};
    GT_PUSH(t.items, t.count, t.capacity, ']');
    gt_stream *stream = gt_stream_memory(t.items, t.count, 0, &error);
    gt_pytorch_read *trace =
        gt_kineto_read_stream(stream, (gt_kineto_options){.frames = true}, &options, &error);
    if (!trace) fail_msg("%s", error.text);
    const gt_event_view *view = gt_pytorch_read_view(trace);
    gt_rank_collectives *c = gt_rank_collectives_of_trace(view, &run, (int64_t)rank);
    assert_non_null(c);
    gt_findings *findings = gt_findings_find(view, &(gt_findings_options){0});
    gt_rank_collectives_add_facts(c, view, findings);
    assert_non_null(c->facts);
    gt_findings_free(findings);
    const gt_hta_options extra = gt_hta_options_default();
    gt_extra_make(view, (int64_t)rank, &extra, &c->extra);
    for (size_t i = 0; i < c->extra.tables.count; i++)
        gt_table_use_strings(c->extra.tables.items[i], c->strings);
    gt_pytorch_read_free(trace);
    gt_stream_close(stream);
    free(t.items);
    return c;
}

/* ---- its report ---- */

static void print_tables(FILE *out, const gt_table_list *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        const gt_table *table = tables->items[i];
        fprintf(out, "== %s\n", table->name);
        for (size_t c = 0; c < table->column_count; c++)
            fprintf(out, "%s:%d,", table->columns[c].name, table->columns[c].type);
        for (size_t row = 0; row < table->row_count; row++) {
            fputc('\n', out);
            for (size_t c = 0; c < table->column_count; c++) {
                print_cell(out, &table->columns[c], row, table->strings);
                fputc(',', out);
            }
        }
        fputc('\n', out);
    }
}

/* Takes the collectives. All sheets as text; the caller frees it. NULL if the ranks disagree. */
static char *report_of(gt_rank_collectives *ranks[RANKS])
{
    gt_rank_traces traces;
    char names[] = "a\0b\0c", *paths[RANKS] = {names, names + 2, names + 4}, *text;
    size_t size;
    gt_error error = {""};
    gt_table_list tables = {0};
    gt_rank_traces_read(
        &traces, &(gt_rank_request){.paths = paths, .rank_count = RANKS, .ready = ranks, .threads = 1});
    gt_collective_options options = {.world_size = RANKS, .gpus_per_node = 2, .facts = traces.facts};
    assert_true(gt_aggregations_add(&options.aggregations, "mean", &error));
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "%zu events, world size %lld\n", traces.events, (long long)traces.world_size);
    gt_table *rows = traces.rows;
    traces.rows = NULL;
    bool made = gt_collective_tables(rows, &options, &tables, NULL, &error);
    if (!made) assert_true(error.text[0]);
    print_tables(out, &tables);
    print_tables(out, &traces.extra);
    fclose(out);
    gt_table_list_free(&tables);
    gt_rank_traces_free(&traces);
    if (made) return text;
    free(text);
    return NULL;
}

static gt_image image_of(const gt_rank_collectives *c, size_t rank)
{
    gt_image image = {0};
    gt_rank_collectives_save(c, (int64_t)rank, &image);
    gt_image flat = flatten(&image);
    gt_image_free(&image);
    return flat;
}

/* ---- tests ---- */

static void same_report(void **state)
{
    (void)state;
    gt_rank_collectives *made[RANKS], *loaded[RANKS];
    for (size_t rank = 0; rank < RANKS; rank++) {
        made[rank] = make_rank(rank);
        gt_image image = image_of(made[rank], rank);
        assert_int_equal(gt_rank_collectives_saved_rank(&image), rank);
        assert_null(gt_rank_collectives_load(&image, (int64_t)rank + 1));
        loaded[rank] = gt_rank_collectives_load(&image, (int64_t)rank);
        assert_non_null(loaded[rank]);
        gt_image_free(&image); /* it is not needed any longer */
    }
    char *expected = report_of(made), *found = report_of(loaded);
    assert_non_null(expected);
    assert_non_null(strstr(expected, "== findings"));
    assert_non_null(strstr(expected, "rank 1"));
    assert_non_null(strstr(expected, "gemm <b>&\"x\""));
    assert_non_null(strstr(expected, "== temporal_breakdown"));
    assert_string_equal(found, expected);
    free(expected);
    free(found);
}

/* The same bytes when what was loaded is saved again. */
static void saves_again(void **state)
{
    (void)state;
    gt_rank_collectives *made = make_rank(2);
    gt_image first = image_of(made, 2);
    gt_rank_collectives *loaded = gt_rank_collectives_load(&first, 2);
    assert_non_null(loaded);
    assert_int_equal(loaded->rows->row_count, 2 * STEPS);
    assert_int_equal(loaded->facts->collective_count, 2 * STEPS);
    assert_int_equal(loaded->facts->kernel_count, made->facts->kernel_count);
    assert_int_equal(loaded->facts->finding_count, made->facts->finding_count);
    assert_int_equal(loaded->facts->check_count, made->facts->check_count);
    assert_int_equal(loaded->facts->step_count, STEPS - 1);
    assert_int_equal(loaded->facts->piece_count, made->facts->piece_count);
    assert_in_range(loaded->facts->piece_count, STEPS, SIZE_MAX);
    assert_int_equal(loaded->extra.tables.count, 6);
    gt_image second = image_of(loaded, 2);
    gt_rank_collectives *again = gt_rank_collectives_load(&second, 2);
    gt_image third = image_of(again, 2);
    assert_int_equal(second.count, first.count);
    for (size_t i = 0; i < second.count; i++) {
        assert_string_equal(second.parts[i].name, first.parts[i].name);
        assert_int_equal(third.parts[i].len, second.parts[i].len);
        assert_memory_equal(third.parts[i].bytes, second.parts[i].bytes, second.parts[i].len);
    }
    gt_rank_collectives_free(again);
    gt_rank_collectives_free(loaded);
    gt_rank_collectives_free(made);
    gt_image_free(&first);
    gt_image_free(&second);
    gt_image_free(&third);
}

static void without_facts_and_extra(void **state)
{
    (void)state;
    gt_rank_collectives *made = make_rank(0);
    gt_rank_facts_free(made->facts);
    made->facts = NULL;
    gt_table_list_free(&made->extra.tables);
    gt_image image = image_of(made, 0);
    gt_rank_collectives *loaded = gt_rank_collectives_load(&image, 0);
    assert_non_null(loaded);
    assert_null(loaded->facts);
    assert_int_equal(loaded->extra.tables.count, 0);
    gt_rank_collectives_free(loaded);
    gt_rank_collectives_free(made);
    gt_image_free(&image);
}

/* The report of three ranks, one of them from this image. */
static void use(const gt_image *image, size_t *accepted)
{
    gt_rank_collectives *ranks[RANKS] = {NULL, gt_rank_collectives_load(image, 1), NULL};
    if (!ranks[1]) return;
    (*accepted)++;
    ranks[0] = make_rank(0);
    ranks[2] = make_rank(2);
    free(report_of(ranks));
}

/* Every byte of small parts and some of the others, set to values that are wrong as lengths, ids and rows. */
static void damaged(void **state)
{
    (void)state;
    static const uint8_t values[] = {0xff, 0x80, 0x01, 0x00};
    gt_rank_collectives *made = make_rank(1);
    gt_image image = image_of(made, 1);
    size_t accepted = 0, tried = 0;
    for (size_t p = 0; p < image.count; p++) {
        gt_image_part *part = &image.parts[p];
        uint8_t *bytes = part->owned;
        size_t places = GT_ADDRESS_SANITIZER ? 29 : 100;
        size_t stride = part->len > 4 * places ? part->len / places : 1;
        for (size_t at = 0; at < part->len; at += stride) {
            uint8_t before = bytes[at];
            bytes[at] = values[tried++ % GT_LENGTH(values)];
            use(&image, &accepted);
            bytes[at] = before;
        }
        size_t whole = part->len; /* and parts that end early */
        for (size_t len = 0; len < whole; len += whole / 7 + 1) {
            part->len = len;
            use(&image, &accepted);
        }
        part->len = whole;
    }
    assert_in_range(accepted, 1, tried - 1);
    gt_rank_collectives_free(made);
    gt_image_free(&image);
}

/* What the model relies on. */
static void reject(gt_image *image, const char *name, size_t offset, const void *value, size_t len)
{
    for (size_t i = 0; i < image->count; i++) {
        gt_image_part *part = &image->parts[i];
        if (strcmp(part->name, name) != 0) continue;
        char before[8];
        assert_true(offset + len <= part->len);
        memcpy(before, (char *)part->owned + offset, len);
        memcpy((char *)part->owned + offset, value, len);
        assert_null(gt_rank_collectives_load(image, 1));
        memcpy((char *)part->owned + offset, before, len);
        return;
    }
    fail_msg("no part %s", name);
}

static void rejected_values(void **state)
{
    (void)state;
    enum { COLLECTIVE = 48, START = 8, END = 16, BASE = 32, LINK = 24, PARENT = 8, FIRST_PIECE = 12 };
    gt_rank_collectives *made = make_rank(1);
    gt_image image = image_of(made, 1);
    const int64_t far = INT64_MIN;
    const uint32_t itself = 3, none = 1000;
    const double nan = NAN;
    reject(&image, "facts/collectives", 3 * COLLECTIVE + BASE, &itself, sizeof itself); /* a cycle */
    reject(&image, "facts/collectives", 3 * COLLECTIVE + BASE, &none, sizeof none);
    reject(&image, "facts/collectives", START, &far, sizeof far); /* end - start overflows */
    reject(&image, "facts/collectives", END, &far, sizeof far);
    reject(&image, "facts/times", 0, &nan, sizeof nan);
    reject(&image, "facts/kernels", 0, &none, sizeof none);
    reject(&image, "facts/steps", START, &far, sizeof far);
    reject(&image, "facts/links", 3 * LINK + PARENT, &itself, sizeof itself); /* a cycle */
    reject(&image, "facts/links", 3 * LINK + PARENT, &none, sizeof none);
    reject(&image, "facts/links", 3 * LINK + FIRST_PIECE, &none, sizeof none);
    reject(&image, "facts/links", 0, &far, sizeof far);
    reject(&image, "facts/piece_names", 0, &none, sizeof none);
    reject(&image, "rank/numbers", 0, &far, sizeof far);
    gt_rank_collectives_free(made);
    gt_image_free(&image);
}

int main(void)
{
    gt_log_to(keep_warning);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_report),
        cmocka_unit_test(saves_again),
        cmocka_unit_test(without_facts_and_extra),
        cmocka_unit_test(damaged),
        cmocka_unit_test(rejected_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
