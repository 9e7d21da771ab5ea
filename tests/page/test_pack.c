/* Packs: every type of column, read back by a decoder of its own (zlib inflates, the rest is below) and
 * compared with tables written by hand. */
#include "test_table_strings.h"

#include "base/memory.h"
#include "base/team.h"
#include "json/values.h"
#include "page/pack.h"

#include <inttypes.h>
#include <zlib.h>

/* ---- a decoder ---- */

typedef struct pack_reader {
    uint8_t *bytes; /* inflated */
    size_t len;
    const uint8_t *payload;
    gt_arena arena;
    const gt_value *directory;
    char **texts;
} pack_reader;

static unsigned digit_of(char c)
{
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);
    assert_non_null(at);
    return (unsigned)(at - digits);
}

static uint8_t *decode_base64(gt_str text, size_t *len)
{
    uint8_t *bytes = malloc(text.len);
    *len = 0;
    assert_int_equal(text.len % 4, 0);
    for (size_t i = 0; i < text.len; i += 4) {
        unsigned padding = (text.bytes[i + 2] == '=') + (text.bytes[i + 3] == '=');
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++)
            bits = bits << 6 | (text.bytes[i + k] == '=' ? 0 : digit_of(text.bytes[i + k]));
        for (unsigned k = 0; k < 3 - padding; k++) bytes[(*len)++] = (uint8_t)(bits >> (16 - 8 * k));
    }
    return bytes;
}

static void inflate_pack(pack_reader *r, gt_str base64)
{
    size_t packed_len, room = 16 << 20;
    uint8_t *packed = decode_base64(base64, &packed_len);
    r->bytes = malloc(room);
    z_stream stream = {
        .next_in = packed, .avail_in = (uInt)packed_len, .next_out = r->bytes, .avail_out = (uInt)room};
    assert_int_equal(inflateInit2(&stream, -15), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    r->len = stream.total_out;
    inflateEnd(&stream);
    free(packed);
}

static int64_t field(const gt_value *object, const char *name)
{
    const gt_value *value = gt_value_get(object, name);
    assert_int_equal(value->type, GT_VALUE_INT);
    return value->integer;
}

/* Numbers in planes; *end is after them. */
static uint64_t *planes_of(pack_reader *r, const gt_value *place, size_t count, const uint8_t **end)
{
    const uint8_t *at = r->payload + field(place, "at");
    uint64_t *numbers = gt_arena_alloc(&r->arena, (count + 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = 0;
        for (int64_t plane = 0; plane < field(place, "width"); plane++)
            numbers[i] |= (uint64_t)at[(size_t)plane * count + i] << 8 * plane;
    }
    *end = at + (size_t)field(place, "width") * count;
    return numbers;
}

static pack_reader read_pack(gt_str base64)
{
    pack_reader r = {0};
    inflate_pack(&r, base64);
    uint32_t len = r.bytes[0] | r.bytes[1] << 8 | r.bytes[2] << 16 | (uint32_t)r.bytes[3] << 24;
    r.payload = r.bytes + 4 + len;
    r.directory = gt_value_parse(&r.arena, (gt_str){(const char *)r.bytes + 4, len});
    assert_int_equal(r.directory->type, GT_VALUE_DICT);
    const gt_value *place = gt_value_get(r.directory, "strings");
    size_t count = (size_t)field(place, "count");
    const uint8_t *at, *end = r.payload + field(place, "at") + field(place, "size");
    uint64_t *lengths = planes_of(&r, place, count, &at);
    r.texts = malloc((count + 1) * sizeof *r.texts);
    for (size_t i = 0; i < count; i++, at += lengths[i - 1])
        r.texts[i] = gt_arena_bytes(&r.arena, at, lengths[i]);
    assert_ptr_equal(at, end);
    assert_int_equal(end - r.bytes, r.len); /* nothing else */
    return r;
}

static void free_reader(pack_reader *r)
{
    free(r->bytes);
    free(r->texts);
    gt_arena_free(&r->arena);
}

/* ---- cells as text: as in test_table_help.h ---- */

static char **cells_of(pack_reader *r, const gt_value *column, size_t rows);

static char *double_text(pack_reader *r, double value)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (isnan(value))
        fputc('-', out);
    else
        print_float(out, value);
    fclose(out);
    char *copy = gt_arena_bytes(&r->arena, text, size);
    free(text);
    return copy;
}

static char *list_text(pack_reader *r, char **items, size_t count)
{
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, "[");
    for (size_t i = 0; i < count; i++) gt_buffer_add_format(&text, "%s%s", i ? "," : "", items[i]);
    gt_buffer_add_cstr(&text, "]");
    char *copy = gt_arena_bytes(&r->arena, text.bytes, text.len);
    gt_buffer_free(&text);
    return copy;
}

static char **lists_of(pack_reader *r, const gt_value *column, const uint64_t *codes, size_t rows)
{
    char **cells = gt_arena_alloc(&r->arena, (rows + 1) * sizeof *cells);
    uint64_t total = 0;
    for (size_t row = 0; row < rows; row++) total += codes[row] ? codes[row] - 1 : 0;
    char **items = cells_of(r, gt_value_get(column, "items"), total);
    for (size_t row = 0; row < rows; items += codes[row] ? codes[row] - 1 : 0, row++)
        cells[row] = codes[row] ? list_text(r, items, codes[row] - 1) : gt_arena_bytes(&r->arena, "-", 1);
    return cells;
}

static char *integer_text(pack_reader *r, uint64_t code, bool is_difference, int64_t *last)
{
    if (!code) return gt_arena_bytes(&r->arena, "-", 1);
    assert_true(code <= UINT64_C(1) << 53); /* what a browser can compute with */
    uint64_t bits = code - 1;
    int64_t value = bits % 2 ? -(int64_t)(bits / 2) - 1 : (int64_t)(bits / 2);
    *last = is_difference ? *last + value : value;
    return gt_arena_format(&r->arena, "%" PRId64, *last);
}

static char **cells_of(pack_reader *r, const gt_value *column, size_t rows)
{
    char code = gt_value_get(column, "code")->text.bytes[0];
    const uint8_t *end;
    const uint64_t *codes = planes_of(r, column, rows, &end);
    assert_ptr_equal(end, r->payload + field(column, "at") + field(column, "size"));
    if (code == 'l') return lists_of(r, column, codes, rows);
    char **cells = gt_arena_alloc(&r->arena, (rows + 1) * sizeof *cells);
    int64_t last = 0;
    for (size_t row = 0; row < rows; row++) {
        double number;
        memcpy(&number, &codes[row], sizeof number);
        if (code == 'f')
            cells[row] = double_text(r, number);
        else if (code == 'b')
            cells[row] = gt_arena_format(&r->arena, "%s", (const char *[]){"false", "true", "-"}[codes[row]]);
        else if (code == 't')
            cells[row] = codes[row] ? r->texts[codes[row] - 1] : gt_arena_bytes(&r->arena, "-", 1);
        else
            cells[row] = integer_text(r, codes[row], code == 'd', &last);
    }
    return cells;
}

/* ---- tests ---- */

static gt_str write_pack(const gt_table *table, size_t bytes_max, gt_buffer *base64)
{
    gt_pack *pack = gt_pack_new(bytes_max);
    gt_pack_add(pack, 3, table);
    gt_pack_write(pack, base64);
    gt_pack_free(pack);
    return gt_buffer_str(base64);
}

/* The codes of all columns, then the rows, each in a line. The caller frees it. */
static char *unpacked(const gt_table *table, size_t bytes_max)
{
    gt_buffer base64 = {0};
    pack_reader r = read_pack(write_pack(table, bytes_max, &base64));
    const gt_value *entry = gt_value_at(gt_value_get(r.directory, "tables"), 0);
    const gt_value *columns = gt_value_get(entry, "columns");
    assert_int_equal(field(entry, "source"), 3);
    assert_true(gt_value_equals_cstr(gt_value_get(entry, "name"), "test"));
    assert_int_equal(field(entry, "rows"), table->row_count);
    assert_int_equal(columns->count, table->column_count);
    char *text, **cells[16];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (uint32_t c = 0; c < columns->count; c++) {
        const gt_value *column = gt_value_at(columns, c);
        gt_str name = gt_value_get(column, "name")->text;
        assert_true(gt_str_equals(name, table->columns[c].name));
        fprintf(out, "%s%c", c ? " " : "", gt_value_get(column, "code")->text.bytes[0]);
        cells[c] = cells_of(&r, column, table->row_count);
    }
    for (size_t row = 0; row < table->row_count; row++)
        for (uint32_t c = 0; c < columns->count; c++) fprintf(out, "%c%s", c ? ' ' : '\n', cells[c][row]);
    fclose(out);
    free_reader(&r);
    gt_buffer_free(&base64);
    return text;
}

static void expect(gt_table *table, const char *wanted)
{
    char *found = unpacked(table, 0);
    assert_string_equal(found, wanted);
    free(found);
    gt_table_free(table);
}

static void test_every_type(void **state)
{
    (void)state;
    expect(read_table(strings, "i:int f:float s:text b:bool\n"
                               "5 0.5 gemm true\n"
                               "- - - -\n"
                               "-7 -1e300 gemm false\n"
                               "0 0 copy true\n"),
           "u f t b\n5 0.5 gemm true\n- - - -\n-7 -1e+300 gemm false\n0 0 copy true");
}

/* Starts of events, with a null and a step back. */
static void test_values_that_grow_are_differences(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "start:int\n");
    gt_buffer wanted = {0};
    gt_buffer_add_cstr(&wanted, "d");
    for (int64_t row = 0; row < 300; row++) {
        int64_t start = row == 200 ? 999 : 1000000 + row * row * 7 + row % 3;
        gt_table_add_row(table);
        if (row != 100) gt_table_set_int(table, 0, (size_t)row, start);
        if (row == 100)
            gt_buffer_add_cstr(&wanted, "\n-");
        else
            gt_buffer_add_format(&wanted, "\n%lld", (long long)start);
    }
    expect(table, gt_buffer_str(&wanted).bytes);
    gt_buffer_free(&wanted);
}

/* u holds codes up to 2^53: values from -2^52 to 2^52 - 1. Beyond that a double holds all integers up to
 * 2^53, and larger ones are strings. */
static void test_large_integers(void **state)
{
    (void)state;
    expect(read_table(strings, "i:int\n4503599627370495\n-4503599627370496\n-\n"),
           "u\n4503599627370495\n-4503599627370496\n-");
    expect(read_table(strings, "i:int\n4503599627370496\n-\n3\n"), "f\n4503599627370496\n-\n3");
    expect(read_table(strings, "i:int\n9007199254740992\n-9007199254740992\n"),
           "f\n9007199254740992\n-9007199254740992");
    expect(read_table(strings, "i:int\n9007199254740993\n-\n1\n"), "t\n9007199254740993\n-\n1");
    expect(read_table(strings, "i:int\n9223372036854775807\n-9223372036854775808\n"),
           "t\n9223372036854775807\n-9223372036854775808");
}

/* Differences of values that u holds may be too large themselves. */
static void test_large_differences(void **state)
{
    (void)state;
    expect(read_table(strings, "i:int\n-4503599627370496\n4503599627370495\n4503599627370495\n"),
           "u\n-4503599627370496\n4503599627370495\n4503599627370495");
}

static void test_floats(void **state)
{
    (void)state;
    expect(read_table(strings, "f:float\n3\n-\n-5\n1e15\n"), "u\n3\n-\n-5\n1000000000000000");
    expect(read_table(strings, "f:float\n-0.0\n1\n"), "f\n-0\n1");
    expect(read_table(strings, "f:float\ninf\n-inf\n-\n5e-324\n"), "f\ninf\n-inf\n-\n5e-324");
    expect(read_table(strings, "f:float\n1e16\n"), "f\n1e+16");
}

static void test_empty_tables(void **state)
{
    (void)state;
    expect(read_table(strings, "i:int f:float s:text b:bool l:list\n"), "u f t b l");
    expect(gt_table_new(GT_SHEET("test"), strings), "");
}

static void test_lists(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "i:list s:list ll:list\n");
    for (int row = 0; row < 4; row++) gt_table_add_row(table);
    gt_list_of(&table->columns[1], GT_TYPE_STRING);
    gt_list_of(gt_list_of(&table->columns[2], GT_TYPE_LIST), GT_TYPE_INT);
    gt_list_begin(&table->columns[0], 0);
    gt_list_push_int(&table->columns[0], 7);
    gt_list_push_null(&table->columns[0]);
    gt_list_push_int(&table->columns[0], -9);
    gt_list_begin(&table->columns[0], 1); /* filled, then null: its element must not show up elsewhere */
    gt_list_push_int(&table->columns[0], 666);
    gt_list_begin(&table->columns[0], 2);
    gt_list_begin(&table->columns[0], 3);
    gt_list_push_int(&table->columns[0], 8);
    gt_table_set_null(table, 0, 1);
    gt_list_begin(&table->columns[1], 3);
    gt_list_push_string(&table->columns[1], gt_interner_add_cstr(strings, "a"));
    gt_list_begin(&table->columns[2], 0);
    gt_list_push_int(gt_list_push_list(&table->columns[2]), 1);
    gt_column *inner = gt_list_push_list(&table->columns[2]);
    gt_list_push_int(inner, 2);
    gt_list_push_int(inner, 3);
    expect(table, "l l l\n[7,-,-9] - [[1],[2,3]]\n- - -\n[] - -\n[8] [a] -");
}

static void test_strings_that_show_values_keep_their_text(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "s:text\n-\nx\n");
    gt_table_set_shown(table, 0, 0, gt_interner_add_cstr(strings, "64.0"), GT_SHOWN_INT);
    expect(table, "t\n64.0\nx");
}

static void test_strings_of_several_interners(void **state)
{
    (void)state;
    gt_interner *others = gt_interner_new();
    gt_table *first = read_table(strings, "s:text\nx\ny\n"), *second = read_table(others, "s:text\nz\nx\n");
    gt_pack *pack = gt_pack_new(0);
    gt_buffer base64 = {0};
    gt_pack_add(pack, 0, first);
    gt_pack_add(pack, 1, second);
    gt_pack_write(pack, &base64);
    pack_reader r = read_pack(gt_buffer_str(&base64));
    const gt_value *tables = gt_value_get(r.directory, "tables");
    char **cells = cells_of(&r, gt_value_at(gt_value_get(gt_value_at(tables, 1), "columns"), 0), 2);
    assert_string_equal(cells[0], "z");
    assert_string_equal(cells[1], "x");
    assert_int_equal(field(gt_value_get(r.directory, "strings"), "count"), 3); /* x, y, z */
    free_reader(&r);
    gt_buffer_free(&base64);
    gt_pack_free(pack);
    gt_table_free(first);
    gt_table_free(second);
    gt_interner_free(others);
}

static void test_invalid_utf8_is_repaired(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "s:text\n-\n-\n");
    gt_table_set_string(table, 0, 0, gt_interner_add(strings, "a\xFF\xE2\x82z", 5));
    gt_table_set_string(table, 0, 1, gt_interner_add(strings, "</script><b>", 12));
    expect(table, "t\na\xEF\xBF\xBD\xEF\xBF\xBDz\n</script><b>");
}

static gt_table *long_strings(size_t len)
{
    gt_table *table = read_table(strings, "s:text\n-\nshort\n");
    char *text = malloc(len);
    memset(text, 'k', len);
    gt_table_set_string(table, 0, 0, gt_interner_add(strings, text, len));
    free(text);
    return table;
}

static void test_long_strings(void **state)
{
    (void)state;
    gt_table *table = long_strings(40000);
    char *found = unpacked(table, 0);
    assert_int_equal(strlen(found), strlen("t\n\nshort") + 40000);
    assert_int_equal(strspn(found + 2, "k"), 40000);
    free(found);
    found = unpacked(table, 4000);
    assert_int_equal(strspn(found + 2, "k"), 4000);
    assert_string_equal(found + 4002, "\u2026 [36000 more bytes]\nshort");
    free(found);
    gt_table_free(table);
}

/* A cut never divides a character, and is counted once per string. */
static void test_cuts(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "a:text b:text\n12345\u00B5s 12345\u00B5s\n123456 abc\n");
    char *found = unpacked(table, 6);
    assert_string_equal(found, "t t\n12345\u2026 [3 more bytes] 12345\u2026 [3 more bytes]\n123456 abc");
    free(found);
    gt_pack *pack = gt_pack_new(6);
    gt_pack_add(pack, 0, table);
    assert_int_equal(gt_pack_cut_count(pack), 1);
    gt_pack_free(pack);
    gt_table_free(table);
}

/* ---- threads ---- */

typedef struct same_bytes {
    const gt_table *table;
    gt_buffer base64;
} same_bytes;

static void write_in_team(void *context)
{
    same_bytes *job = context;
    write_pack(job->table, 0, &job->base64);
}

static void test_threads_change_nothing(void **state)
{
    (void)state;
    gt_table *table = read_table(strings, "a:int b:float c:text d:bool\n");
    for (int row = 0; row < 20000; row++) {
        char text[32];
        gt_table_add_row(table);
        snprintf(text, sizeof text, "name %u", random_below(500));
        gt_table_set_int(table, 0, (size_t)row, (int64_t)row * 1000 + random_below(900));
        gt_table_set_float(table, 1, (size_t)row, random_below(1000000) / 7.0);
        gt_table_set_cstr(table, 2, (size_t)row, text);
        gt_table_set_bool(table, 3, (size_t)row, random_below(2));
    }
    same_bytes one = {table, {0}}, four = {table, {0}};
    gt_team_run(1, write_in_team, &one);
    gt_team_run(4, write_in_team, &four);
    assert_int_equal(one.base64.len, four.base64.len);
    assert_memory_equal(one.base64.bytes, four.base64.bytes, one.base64.len);
    gt_buffer_free(&one.base64);
    gt_buffer_free(&four.base64);
    gt_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_values_that_grow_are_differences),
        cmocka_unit_test(test_large_integers),
        cmocka_unit_test(test_large_differences),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_empty_tables),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_strings_that_show_values_keep_their_text),
        cmocka_unit_test(test_strings_of_several_interners),
        cmocka_unit_test(test_invalid_utf8_is_repaired),
        cmocka_unit_test(test_long_strings),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
