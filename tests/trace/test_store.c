/* The event store returns exactly the stored values, whatever widths its columns are packed to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/team.h"
#include "trace/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER, TEXT, TIME, COLUMNS, ROWS = 10000 };

static const gt_store_column columns[COLUMNS] = {
    [NUMBER] = {GT_STORE_INT, -5}, [TEXT] = {GT_STORE_STRING, 0}, [TIME] = {GT_STORE_TIME, 0}};

static uint64_t state = 99;

static uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1Du;
}

/* Values that need about this many bits; every style occurs in some segment. */
static int64_t number_of_bits(unsigned bits)
{
    if (bits == 0) return 42;
    if (bits >= 64) return (int64_t)random64();
    return (int64_t)(random64() & ((UINT64_C(1) << bits) - 1)) - 1000;
}

static double time_of_style(unsigned style)
{
    switch (style) {
    case 0:
        return (double)(int64_t)(random64() % 1000000000) / 1000.0; /* thousandths */
    case 1:
        return 5453458362131.0 + (double)(random64() % 1000000) / 1000.0; /* of an epoch, still exact */
    case 2:
        return 1718289123456789.0 + (double)(random64() % 8) / 4; /* too large for thousandths */
    case 3:
        return (double)random64() / 3.0; /* any digits */
    default:
        return style % 2 ? INFINITY : -0.0;
    }
}

static void cells_round_trip(void **unused)
{
    (void)unused;
    static const unsigned widths[] = {0, 3, 8, 15, 16, 31, 33, 63, 64};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (unsigned style = 0; style < 6; style++) {
            gt_interner *strings = gt_interner_new();
            gt_store *store = gt_store_new(columns, COLUMNS, strings);
            gt_store_writer *writer = gt_store_writer_new(columns, COLUMNS, strings);
            uint64_t *present = gt_alloc(ROWS * sizeof *present);
            gt_store_cell(*cells)[COLUMNS] = gt_alloc(ROWS * sizeof *cells);
            uint32_t *places = gt_alloc(ROWS * sizeof *places), place = 0;
            for (size_t i = 0; i < ROWS; i++) {
                for (; style && random64() % 3 == 0; place++) gt_store_writer_skip(writer, 1);
                places[i] = place++;
                present[i] = random64() % 16 ? 7 : random64() % 8;
                cells[i][NUMBER].integer = number_of_bits(widths[w]);
                cells[i][TEXT].text = 1 + (uint32_t)(random64() % 70000);
                cells[i][TIME].time = time_of_style(style);
                gt_store_writer_add(writer, present[i], cells[i]);
                if (i == 5000) gt_store_append(store, gt_store_writer_take(writer));
            }
            gt_store_append(store, gt_store_writer_take(writer));
            assert_int_equal(gt_store_count(store), ROWS);
            int64_t *numbers = gt_store_ints(store, NUMBER);
            uint32_t *texts = gt_store_string_ids(store, TEXT);
            double *times = gt_store_times(store, TIME);
            uint32_t *got_places = gt_store_row_order(store);
            assert_int_equal(gt_store_records(store), place);
            for (size_t i = 0; i < ROWS; i++) {
                assert_int_equal(got_places[i], places[i]);
                assert_int_equal(numbers[i], present[i] & 1 ? cells[i][NUMBER].integer : -5);
                assert_int_equal(texts[i], present[i] & 2 ? cells[i][TEXT].text : GT_STR_NONE);
                if (present[i] & 4)
                    assert_memory_equal(&times[i], &cells[i][TIME].time, sizeof(double));
                else
                    assert_true(isnan(times[i]));
            }
            for (size_t i = 0; i < ROWS; i++) { /* one by one too, in any order */
                size_t row = i * 7919 % ROWS;
                gt_store_cell got[COLUMNS];
                gt_store_get(store, row, got);
                assert_int_equal(got[NUMBER].integer, numbers[row]);
                assert_int_equal(got[TEXT].text, texts[row]);
                assert_memory_equal(&got[TIME].time, &times[row], sizeof(double));
            }
            free(numbers);
            free(texts);
            free(times);
            free(present);
            free(places);
            free(got_places);
            free(cells);
            gt_store_writer_free(writer);
            gt_store_free(store);
            gt_interner_free(strings);
        }
}

static void a_writer_sorts_its_rows(void **unused)
{
    (void)unused;
    gt_interner *strings = gt_interner_new();
    gt_store *store = gt_store_new(columns, COLUMNS, strings);
    gt_store_writer *writer = gt_store_writer_new(columns, COLUMNS, strings);
    double *keys = gt_alloc(ROWS * sizeof *keys);
    for (int64_t round = 0; round < 2; round++) { /* rows that were taken before keep their place */
        for (int64_t i = 0; i < ROWS; i++) {
            keys[i] = (double)((i * 7919 + 13) % ROWS / 2); /* each key twice */
            gt_store_cell cells[COLUMNS] = {[NUMBER].integer = round * ROWS + i,
                                            [TEXT].text = (uint64_t)i + 1,
                                            [TIME].time = keys[i] / 3};
            gt_store_writer_add(writer, i % 5 ? 7 : 5, cells);
        }
        gt_store_writer_sort(writer, keys);
        gt_store_append(store, gt_store_writer_take(writer));
    }
    int64_t *numbers = gt_store_ints(store, NUMBER);
    uint32_t *texts = gt_store_string_ids(store, TEXT);
    double *times = gt_store_times(store, TIME);
    for (int64_t i = 0; i < 2 * ROWS; i++) {
        int64_t was = numbers[i] - i / ROWS * ROWS;
        assert_true(was >= 0 && was < ROWS);
        assert_int_equal((was * 7919 + 13) % ROWS / 2, i % ROWS / 2);
        if (i % 2) assert_true(numbers[i] > numbers[i - 1]); /* the sort is stable */
        assert_int_equal(texts[i], was % 5 ? was + 1 : GT_STR_NONE);
        assert_true(times[i] == (double)(i % ROWS / 2) / 3);
    }
    free(numbers);
    free(texts);
    free(times);
    free(keys);
    gt_store_writer_free(writer);
    gt_store_free(store);
    gt_interner_free(strings);
}

static void constant_and_absent_columns_take_no_space(void **unused)
{
    (void)unused;
    gt_interner *strings = gt_interner_new();
    gt_store *store = gt_store_new(columns, COLUMNS, strings);
    gt_store_writer *writer = gt_store_writer_new(columns, COLUMNS, strings);
    gt_store_cell cells[COLUMNS] = {[NUMBER].integer = 123456789, [TIME].time = 1.5};
    for (size_t i = 0; i < ROWS; i++) gt_store_writer_add(writer, 1u << NUMBER | 1u << TIME, cells);
    gt_store_append(store, gt_store_writer_take(writer));
    assert_true(gt_store_bytes(store) < ROWS / 4); /* only the segment headers */
    gt_store_writer_free(writer);
    gt_store_free(store);
    gt_interner_free(strings);
}

static void strings_of_several_writers_get_the_ids_of_the_store(void **unused)
{
    (void)unused;
    gt_interner *strings = gt_interner_new();
    gt_store *store = gt_store_new(columns, COLUMNS, strings);
    for (int round = 0; round < 3; round++) {
        gt_interner *own = gt_interner_new();
        gt_store_writer *writer = gt_store_writer_new(columns, COLUMNS, own);
        for (int i = 0; i < 3000; i++) {
            char name[32];
            snprintf(name, sizeof name, "text %d", (i * (round + 3)) % 100); /* in another order each time */
            gt_store_cell cells[COLUMNS] = {[TEXT].text = gt_interner_add_cstr(own, name)};
            gt_store_writer_add(writer, 1u << TEXT, cells);
        }
        gt_store_append(store, gt_store_writer_take(writer));
        gt_store_adopt_strings(store, own);
        gt_store_writer_free(writer);
        gt_interner_free(own);
    }
    uint32_t *texts = gt_store_string_ids(store, TEXT);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3000; i++) {
            char name[32];
            snprintf(name, sizeof name, "text %d", (i * (round + 3)) % 100);
            assert_string_equal(gt_interner_get(strings, texts[round * 3000 + i]).bytes, name);
        }
    free(texts);
    gt_store_free(store);
    gt_interner_free(strings);
}

/* ---- on several threads ---- */

enum { MANY = 70000 };

static int64_t number_at(size_t row)
{
    return (int64_t)(row * 7919 % (row / 3000 % 2 ? 200 : 100000));
}

static gt_store *many_rows(gt_interner *strings)
{
    gt_store *store = gt_store_new(columns, COLUMNS, strings);
    gt_store_writer *writer = gt_store_writer_new(columns, COLUMNS, strings);
    for (size_t i = 0; i < MANY; i++) {
        if (i % 5 == 0) gt_store_writer_skip(writer, 1);
        gt_store_cell cells[COLUMNS] = {
            {.integer = number_at(i)}, {.text = 1 + i % 300}, {.time = (double)i / 8}};
        gt_store_writer_add(writer, 7, cells);
        if (i % 7001 == 0) gt_store_append(store, gt_store_writer_take(writer));
    }
    gt_store_append(store, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
    return store;
}

static void read_columns(void *context)
{
    const gt_store *store = context;
    int64_t *numbers = gt_store_ints(store, NUMBER);
    uint8_t *small = gt_store_small_ints(store, NUMBER);
    uint32_t *texts = gt_store_string_ids(store, TEXT), *places = gt_store_row_order(store);
    double *times = gt_store_times(store, TIME);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(numbers[i], number_at(i));
        assert_int_equal(small[i], number_at(i) & 0xFF);
        assert_int_equal(texts[i], 1 + i % 300);
        assert_int_equal(places[i], i + i / 5 + 1);
        assert_true(times[i] == (double)i / 8);
    }
    gt_free(numbers);
    gt_free(small);
    gt_free(texts);
    gt_free(places);
    gt_free(times);
}

static void columns_are_the_same_on_any_number_of_threads(void **unused)
{
    (void)unused;
    static const unsigned threads[] = {1, 2, 3, 8, 16};
    gt_interner *strings = gt_interner_new();
    gt_store *store = many_rows(strings);
    for (size_t i = 0; i < GT_LENGTH(threads); i++) gt_team_run(threads[i], read_columns, store);
    gt_store_free(store);
    gt_interner_free(strings);
}

static void parts_of_columns_can_be_read(void **unused)
{
    (void)unused;
    static const size_t borders[] = {0, 1, 2, 2047, 2048, 2049, 7001, 7002, 40000, MANY - 1, MANY};
    gt_interner *strings = gt_interner_new();
    gt_store *store = many_rows(strings);
    int64_t *numbers = gt_alloc(MANY * sizeof *numbers);
    for (size_t i = 0; i < GT_LENGTH(borders); i++)
        for (size_t k = i; k < GT_LENGTH(borders); k++) {
            gt_store_read_ints(store, NUMBER, borders[i], borders[k], numbers);
            for (size_t row = borders[i]; row < borders[k]; row++)
                assert_int_equal(numbers[row - borders[i]], number_at(row));
            if (borders[i] < MANY)
                assert_int_equal(gt_store_string_id(store, TEXT, borders[i]), 1 + borders[i] % 300);
        }
    gt_free(numbers);
    gt_store_free(store);
    gt_interner_free(strings);
}

/* How a store is made: `rows` rows in pieces of 1 to `piece` rows, with 0 to `gap` skipped events before each
 * of them. */
typedef struct store_shape {
    size_t rows, piece, gap;
} store_shape;

/* The shape's store, whose numbers are the positions of the rows, which `expected` gets as well. */
static gt_store *store_of_shape(store_shape shape, gt_interner *strings, uint32_t *expected)
{
    gt_store *store = gt_store_new(columns, COLUMNS, strings);
    gt_store_writer *writer = gt_store_writer_new(columns, COLUMNS, strings);
    uint32_t position = 0;
    for (size_t row = 0, piece_left = 0; row < shape.rows; row++) {
        for (size_t skipped = random64() % (shape.gap + 1); skipped; skipped--, position++)
            gt_store_writer_skip(writer, 1);
        gt_store_cell cells[COLUMNS] = {{.integer = position}, {.text = 1 + row % 300}};
        gt_store_writer_add(writer, 3, cells);
        expected[row] = position++;
        if (!piece_left) piece_left = 1 + random64() % shape.piece;
        if (!--piece_left) gt_store_append(store, gt_store_writer_take(writer));
    }
    gt_store_append(store, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
    return store;
}

static void check_row(const gt_store *store, size_t row, uint32_t position)
{
    gt_store_cell cells[COLUMNS];
    gt_store_get(store, row, cells);
    assert_int_equal(cells[NUMBER].integer, position);
    assert_int_equal(gt_store_position(store, row), position);
    assert_int_equal(gt_store_string_id(store, TEXT, row), 1 + row % 300);
}

static void rows_are_found_in_any_order(void **unused)
{
    (void)unused;
    static const store_shape shapes[] = {
        {0, 1, 0},        {1, 1, 0},       {1, 1, 100000},  {2048, 2048, 0},
        {2049, 1, 0},     {ROWS, ROWS, 0}, {ROWS, 1, 0},    {ROWS, 1, 3},
        {ROWS, 3, 1},     {ROWS, 2048, 0}, {ROWS, 5000, 1}, {ROWS, 5000, 300},
        {ROWS, 300, 300}, {300, 7, 70000}, {4096, 4096, 2}, {ROWS, 2 * ROWS, 5}};
    uint32_t *expected = gt_alloc(ROWS * sizeof *expected);
    for (size_t i = 0; i < GT_LENGTH(shapes); i++) {
        gt_interner *strings = gt_interner_new();
        size_t rows = shapes[i].rows;
        gt_store *store = store_of_shape(shapes[i], strings, expected);
        assert_int_equal(gt_store_count(store), rows);
        for (size_t row = rows; row-- > 0;) check_row(store, row, expected[row]);
        for (size_t n = 0; rows && n < ROWS; n++) {
            size_t row = random64() % rows;
            check_row(store, row, expected[row]);
        }
        gt_store_free(store);
        gt_interner_free(strings);
    }
    gt_free(expected);
}

static void dropped_columns_are_absent_and_free_their_memory(void **unused)
{
    (void)unused;
    gt_interner *strings = gt_interner_new();
    gt_store *store = many_rows(strings);
    size_t before = gt_store_bytes(store);
    gt_store_drop_columns(store, 1u << NUMBER | 1u << TEXT);
    assert_true(gt_store_bytes(store) < before - MANY * 2); /* numbers take 1 or 4 bytes, texts 2 */
    int64_t *numbers = gt_store_ints(store, NUMBER);
    uint32_t *texts = gt_store_string_ids(store, TEXT), *places = gt_store_row_order(store);
    double *times = gt_store_times(store, TIME);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(numbers[i], -5);
        assert_int_equal(texts[i], GT_STR_NONE);
        assert_int_equal(places[i], i + i / 5 + 1);
        assert_int_equal(gt_store_position(store, i), i + i / 5 + 1);
        assert_true(times[i] == (double)i / 8);
    }
    gt_free(numbers);
    gt_free(texts);
    gt_free(places);
    gt_free(times);
    gt_store_free(store);
    gt_interner_free(strings);
}

static void check_narrow(const int64_t *numbers, size_t count, unsigned width)
{
    gt_interner *strings = gt_interner_new();
    gt_store_writer *writer = gt_store_writer_new(columns, COLUMNS, strings);
    gt_store *store = gt_store_new(columns, COLUMNS, strings);
    for (size_t i = 0; i < count; i++) {
        gt_store_cell cells[COLUMNS] = {[NUMBER] = {.integer = numbers[i]}};
        gt_store_writer_add(writer, 1 << NUMBER, cells);
    }
    gt_store_append(store, gt_store_writer_take(writer));
    const size_t twice[] = {NUMBER, NUMBER};
    gt_narrow narrow = gt_store_narrow_ints(store, twice, 2);
    for (size_t c = 0; c < 2; c++) assert_int_equal(narrow.columns[c].width, width);
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    int64_t *values = gt_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) rows[i] = (uint32_t)(count - 1 - i);
    gt_store_release(store);
    assert_int_equal(gt_store_count(store), count);
    for (size_t c = 0; c < 2; c++) {
        memset(values, 0x5A, count * sizeof *values);
        gt_narrow_read(&narrow, c, rows, count, values);
        for (size_t i = 0; i < count; i++) assert_true(values[i] == numbers[count - 1 - i]);
    }
    gt_narrow_free(&narrow);
    gt_free(rows);
    gt_free(values);
    gt_store_writer_free(writer);
    gt_store_free(store);
    gt_interner_free(strings);
}

static void narrow_columns_have_the_same_values(void **unused)
{
    (void)unused;
    static int64_t numbers[ROWS];
    static const struct {
        unsigned bits, width;
    } styles[] = {{0, 0}, {7, 1}, {15, 2}, {31, 4}, {40, 8}, {64, 8}};
    for (size_t i = 0; i < GT_LENGTH(styles); i++) {
        for (size_t row = 0; row < ROWS; row++) numbers[row] = number_of_bits(styles[i].bits);
        check_narrow(numbers, ROWS, styles[i].width);
    }
    for (size_t row = 0; row < ROWS; row++) numbers[row] = row < ROWS / 2 ? INT64_MIN : INT64_MAX;
    check_narrow(numbers, ROWS, 8);
    for (size_t row = 0; row < ROWS; row++) numbers[row] = row < ROWS / 2 ? 5 : 260; /* of segments */
    check_narrow(numbers, ROWS, 1);
    check_narrow(numbers, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_round_trip),
        cmocka_unit_test(a_writer_sorts_its_rows),
        cmocka_unit_test(constant_and_absent_columns_take_no_space),
        cmocka_unit_test(strings_of_several_writers_get_the_ids_of_the_store),
        cmocka_unit_test(columns_are_the_same_on_any_number_of_threads),
        cmocka_unit_test(parts_of_columns_can_be_read),
        cmocka_unit_test(rows_are_found_in_any_order),
        cmocka_unit_test(dropped_columns_are_absent_and_free_their_memory),
        cmocka_unit_test(narrow_columns_have_the_same_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
