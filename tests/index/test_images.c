/* What is saved as an image is loaded again unchanged; an image with a changed byte gives nothing, or
 * something that is safe to use: ids that exist, ends that ascend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/team.h"
#include "flat_image.h"
#include "index/checksum.h"
#include "table/image.h"
#include "trace/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- stores ---- */

enum { NUMBER, TEXT, TIME, COLUMNS, ROWS = 5000 };
static const gt_store_column columns[COLUMNS] = {
    [NUMBER] = {GT_STORE_INT, -5}, [TEXT] = {GT_STORE_STRING, 0}, [TIME] = {GT_STORE_TIME, 0}};

static void add_rows(gt_store_writer *writer, gt_interner *strings, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        char text[32];
        snprintf(text, sizeof text, "name %zu", i % 300);
        gt_store_cell cells[COLUMNS] = {{.integer = (int64_t)(i * i)},
                                        {.text = gt_interner_add_cstr(strings, text)},
                                        {.time = i % 7 ? (double)i / 8 : (double)i * 1e300}};
        gt_store_writer_add(writer, i % 3 ? 7 : 5, cells);
        if (i % 5 == 0) gt_store_writer_skip(writer, 1);
    }
}

/* Two pieces, each with strings of its own, as two threads write them. */
static gt_store *make_store(gt_interner *strings)
{
    gt_store *store = gt_store_new(columns, COLUMNS, strings);
    gt_interner *own[2];
    for (size_t i = 0; i < 2; i++) {
        own[i] = gt_interner_new();
        if (i) gt_interner_add_cstr(own[i], "another first string");
        gt_store_writer *writer = gt_store_writer_new(columns, COLUMNS, own[i]);
        add_rows(writer, own[i], i * ROWS / 2, (i + 1) * ROWS / 2);
        gt_store_append(store, gt_store_writer_take(writer));
        gt_store_writer_free(writer);
    }
    for (size_t i = 0; i < 2; i++) {
        gt_store_adopt_strings(store, own[i]);
        gt_interner_free(own[i]);
    }
    gt_store_set_base_time(store, 1234567890123);
    return store;
}

static gt_image save(const gt_store *store, const gt_interner *strings)
{
    gt_image image = {0};
    gt_store_save(store, &image, "x");
    gt_strings_save(strings, &image);
    gt_image flat = flatten(&image);
    gt_image_free(&image);
    return flat;
}

static void check_same_store(const gt_store *a, const gt_store *b)
{
    gt_store_cell one[COLUMNS], other[COLUMNS];
    assert_int_equal(gt_store_count(a), gt_store_count(b));
    assert_int_equal(gt_store_records(a), gt_store_records(b));
    assert_int_equal(gt_store_base_time(a).ns, gt_store_base_time(b).ns);
    for (size_t row = 0; row < gt_store_count(a); row++) {
        gt_store_get(a, row, one);
        gt_store_get(b, row, other);
        assert_memory_equal(one, other, sizeof one);
        assert_int_equal(gt_store_position(a, row), gt_store_position(b, row));
    }
    uint32_t *places[2] = {gt_store_row_order(a), gt_store_row_order(b)};
    assert_memory_equal(places[0], places[1], gt_store_count(a) * sizeof **places);
    gt_free(places[0]);
    gt_free(places[1]);
}

static void round_trip(void *context)
{
    (void)context;
    gt_interner *strings = gt_interner_new();
    gt_store *store = make_store(strings);
    gt_image image = save(store, strings);
    gt_interner *loaded_strings = gt_strings_load(&image);
    assert_non_null(loaded_strings);
    assert_int_equal(gt_interner_count(loaded_strings), gt_interner_count(strings));
    gt_store *loaded = gt_store_load(&image, "x", columns, COLUMNS, loaded_strings, NULL);
    assert_non_null(loaded);
    check_same_store(store, loaded);
    assert_int_equal(gt_interner_find(loaded_strings, "name 17", 7), gt_interner_find(strings, "name 17", 7));
    assert_true(gt_store_ints_between(loaded, NUMBER, 0, (int64_t)ROWS * ROWS));
    assert_false(gt_store_ints_between(loaded, NUMBER, 1, (int64_t)ROWS * ROWS));
    gt_store_free(loaded);
    gt_interner_free(loaded_strings);
    gt_image_free(&image);
    gt_store_free(store);
    gt_interner_free(strings);
}

static void stores_are_the_same_after_loading(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 8, 16};
    for (size_t i = 0; i < GT_LENGTH(threads); i++) gt_team_run(threads[i], round_trip, NULL);
}

static void only_allowed_strings_are_loaded(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_store *store = make_store(strings);
    gt_image image = save(store, strings);
    uint8_t *allowed = gt_alloc(gt_interner_count(strings));
    memset(allowed, 1, gt_interner_count(strings));
    const uint8_t *by_column[COLUMNS] = {[TEXT] = allowed};
    gt_store *loaded = gt_store_load(&image, "x", columns, COLUMNS, strings, by_column);
    assert_non_null(loaded);
    gt_store_free(loaded);
    allowed[gt_interner_find(strings, "name 299", 8)] = 0;
    assert_null(gt_store_load(&image, "x", columns, COLUMNS, strings, by_column));
    gt_free(allowed);
    gt_image_free(&image);
    gt_store_free(store);
    gt_interner_free(strings);
}

/* Whatever is loaded, reading it touches only memory that it has (AddressSanitizer sees that), and string ids
 * exist. */
static void use_store(const gt_image *image)
{
    gt_interner *strings = gt_strings_load(image);
    if (!strings) return;
    gt_store *store = gt_store_load(image, "x", columns, COLUMNS, strings, NULL);
    if (store) {
        uint32_t *ids = gt_store_string_ids(store, TEXT), *places = gt_store_row_order(store);
        double *times = gt_store_times(store, TIME);
        for (size_t row = 0; row < gt_store_count(store); row++) {
            assert_true(ids[row] < gt_interner_count(strings));
            assert_true(places[row] < gt_store_records(store) && (!row || places[row] > places[row - 1]));
        }
        gt_free(ids);
        gt_free(places);
        gt_free(times);
    }
    gt_store_free(store);
    gt_interner_free(strings);
}

static void changed_bytes_are_noticed_or_harmless(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_store *store = make_store(strings);
    gt_image image = save(store, strings);
    for (size_t p = 0; p < image.count; p++) {
        uint8_t *bytes = image.parts[p].owned;
        size_t step = image.parts[p].len / 200 + 1;
        for (size_t at = 0; at < image.parts[p].len; at += step)
            for (unsigned change = 1; change < 256; change = change * 5 + 2) {
                bytes[at] ^= (uint8_t)change;
                use_store(&image);
                bytes[at] ^= (uint8_t)change;
            }
        size_t len = image.parts[p].len;
        for (size_t kept = 0; kept < len; kept += len / 20 + 1) {
            image.parts[p].len = kept;
            use_store(&image);
        }
        image.parts[p].len = len;
    }
    gt_image_free(&image);
    gt_store_free(store);
    gt_interner_free(strings);
}

/* ---- tables ---- */

static gt_table *make_table(gt_interner *strings)
{
    gt_table *table = gt_table_new(gt_sheet_named("sheet"), strings);
    size_t ints = gt_table_add_column(table, gt_col_named("ints"), GT_TYPE_INT);
    size_t floats = gt_table_add_column(table, gt_col_named("floats"), GT_TYPE_FLOAT);
    size_t texts = gt_table_add_column(table, gt_col_named("texts"), GT_TYPE_STRING);
    size_t bools = gt_table_add_column(table, gt_col_named("bools"), GT_TYPE_BOOL);
    size_t lists = gt_table_add_column(table, gt_col_named("lists"), GT_TYPE_LIST);
    gt_list_of(gt_list_of(&table->columns[lists], GT_TYPE_LIST), GT_TYPE_STRING);
    gt_table_set_headings(table, floats, "over", NULL);
    table->columns[lists].items_as_tuple = true;
    table->columns[bools].hidden = true;
    for (size_t row = 0; row < 6; row++) {
        gt_table_add_row(table);
        if (row == 3) continue; /* all null */
        gt_table_set_int(table, ints, row, INT64_MIN + (int64_t)row);
        gt_table_set_float(table, floats, row, row == 4 ? INFINITY : 0.1 * (double)row);
        gt_table_set_shown(table, texts, row, gt_interner_add_cstr(strings, row & 1 ? "64.0" : "x\ty"),
                           row & 1 ? GT_SHOWN_INT : GT_SHOWN_STRING);
        gt_table_set_bool(table, bools, row, row & 1);
        gt_list_begin(&table->columns[lists], row);
        for (size_t i = 0; i < row; i++) {
            gt_column *inner = gt_list_push_list(&table->columns[lists]);
            for (size_t k = 0; k < i; k++) gt_list_push_string(inner, gt_interner_add_cstr(strings, "deep"));
        }
    }
    return table;
}

static void check_same_column(const gt_column *a, const gt_column *b, size_t rows, const gt_interner *from,
                              const gt_interner *to)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->items_as_tuple, b->items_as_tuple);
    assert_int_equal(a->widened, b->widened);
    assert_int_equal(a->hidden, b->hidden);
    assert_int_equal(a->over != NULL, b->over != NULL);
    if (a->over) assert_string_equal(a->over, b->over);
    for (size_t row = 0; row < rows; row++) {
        assert_int_equal(gt_column_is_null(a, row), gt_column_is_null(b, row));
        if (gt_column_is_null(a, row)) continue;
        if (a->type == GT_TYPE_INT) assert_true(a->ints[row] == b->ints[row]);
        if (a->type == GT_TYPE_FLOAT) assert_memory_equal(&a->floats[row], &b->floats[row], sizeof(double));
        if (a->type == GT_TYPE_BOOL) assert_int_equal(a->bools[row], b->bools[row]);
        if (a->type == GT_TYPE_STRING)
            assert_string_equal(gt_interner_get(from, a->texts[row]).bytes,
                                gt_interner_get(to, b->texts[row]).bytes);
        if (a->shown) assert_int_equal(a->shown[row], b->shown[row]);
        if (a->type == GT_TYPE_LIST)
            assert_int_equal(gt_list_end_of(a, row) - gt_list_begin_of(a, row),
                             gt_list_end_of(b, row) - gt_list_begin_of(b, row));
    }
    if (a->type == GT_TYPE_LIST)
        check_same_column(a->items, b->items, rows ? gt_list_end_of(b, rows - 1) : 0, from, to);
}

typedef struct loaded_tables {
    gt_table *items[4];
    size_t count;
} loaded_tables;

static void take_table(void *context, gt_table *table)
{
    loaded_tables *tables = context;
    assert_true(tables->count < 4);
    tables->items[tables->count++] = table;
}

static void free_tables(loaded_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) gt_table_free(tables->items[i]);
}

static gt_image save_tables(gt_table *const *tables, size_t count)
{
    gt_image image = {0};
    gt_interner *strings = gt_interner_new();
    gt_tables_save(tables, count, strings, &image);
    gt_strings_save(strings, &image);
    gt_image flat = flatten(&image);
    gt_image_free(&image);
    gt_interner_free(strings);
    return flat;
}

static void tables_are_the_same_after_loading(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_interner_add_cstr(strings, "a string that no cell has");
    gt_table *tables[2] = {make_table(strings), gt_table_new(gt_sheet_named("empty"), strings)};
    gt_image image = save_tables(tables, 2);
    gt_interner *loaded_strings = gt_strings_load(&image);
    loaded_tables loaded = {0};
    assert_true(gt_tables_load(&image, loaded_strings, take_table, &loaded));
    assert_int_equal(loaded.count, 2);
    assert_string_equal(loaded.items[0]->name, "sheet");
    assert_string_equal(loaded.items[1]->name, "empty");
    assert_int_equal(loaded.items[0]->row_count, 6);
    for (size_t c = 0; c < tables[0]->column_count; c++) {
        assert_string_equal(tables[0]->columns[c].name, loaded.items[0]->columns[c].name);
        check_same_column(&tables[0]->columns[c], &loaded.items[0]->columns[c], 6, strings, loaded_strings);
    }
    free_tables(&loaded);
    gt_interner_free(loaded_strings);
    gt_image_free(&image);
    for (size_t i = 0; i < 2; i++) gt_table_free(tables[i]);
    gt_interner_free(strings);
}

static void changed_tables_are_noticed_or_harmless(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    gt_table *table = make_table(strings);
    gt_image image = save_tables(&table, 1);
    gt_interner *loaded_strings = gt_strings_load(&image);
    uint8_t *bytes = image.parts[0].owned;
    for (size_t at = 0; at < image.parts[0].len; at++)
        for (unsigned change = 1; change < 256; change = change * 3 + 1) {
            loaded_tables loaded = {0};
            bytes[at] ^= (uint8_t)change;
            gt_tables_load(&image, loaded_strings, take_table, &loaded);
            for (size_t i = 0; i < loaded.count; i++)
                gt_table_free(gt_table_copy(loaded.items[i])); /* reads all cells */
            free_tables(&loaded);
            bytes[at] ^= (uint8_t)change;
        }
    gt_interner_free(loaded_strings);
    gt_image_free(&image);
    gt_table_free(table);
    gt_interner_free(strings);
}

/* ---- checksums ---- */

static void checksums_see_every_bit(void **state)
{
    (void)state;
    enum { BYTES = (3 << 20) + 77 };
    uint8_t *bytes = gt_alloc_zero(BYTES, 1);
    uint64_t sum = gt_checksum(bytes, BYTES), of_file;
    for (size_t at = 0; at < BYTES; at = at * 2 + 1)
        for (unsigned bit = 0; bit < 8; bit += 7) {
            bytes[at] ^= (uint8_t)(1 << bit);
            assert_true(gt_checksum(bytes, BYTES) != sum);
            bytes[at] ^= (uint8_t)(1 << bit);
        }
    assert_true(gt_checksum(bytes, BYTES) == sum);
    assert_true(gt_checksum(bytes, BYTES - 1) != sum);
    assert_true(gt_checksum(bytes, 0) != gt_checksum(bytes, 1));
    FILE *file = tmpfile();
    assert_int_equal(fwrite(bytes, 1, BYTES, file), BYTES);
    fflush(file);
    assert_true(gt_checksum_file(fileno(file), BYTES, &of_file) && of_file == sum);
    assert_false(gt_checksum_file(fileno(file), BYTES + 1, &of_file));
    fclose(file);
    gt_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_are_the_same_after_loading),
        cmocka_unit_test(only_allowed_strings_are_loaded),
        cmocka_unit_test(changed_bytes_are_noticed_or_harmless),
        cmocka_unit_test(tables_are_the_same_after_loading),
        cmocka_unit_test(changed_tables_are_noticed_or_harmless),
        cmocka_unit_test(checksums_see_every_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
