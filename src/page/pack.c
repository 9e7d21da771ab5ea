/* Packs: string ids first, then each column on its own, then directory and compression.
 *
 * Strings get their numbers in the order of tables, columns and rows, so the bytes do not depend on threads;
 * everything else of a column needs nothing but its cells, so all threads of the team encode columns. */
#include "page/pack.h"

#include "base/memory.h"
#include "base/raise.h"
#include "base/team.h"
#include "json/string.h"
#include "output/text.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFLATE_LEVEL = 6, VARINT_MAX = 10 };

#define CODE_MAX (INT64_C(1) << 53) /* the largest code of u and d */

/* Columns of one table, elements of lists included: they follow their list. */
typedef struct packed_column {
    const gt_column *column;
    size_t rows;
    gt_interner *strings; /* of its table */
    uint32_t *numbers; /* STRING, and INT as strings: the number of each cell's string, 0 for null; owned */
    char code;
    gt_buffer bytes;
} packed_column;

typedef struct packed_table {
    size_t source;
    const gt_table *table;
    size_t begin, end; /* of its columns */
} packed_table;

/* The strings of one interner that a pack has. */
typedef struct known_strings {
    const gt_interner *from;
    uint32_t *numbers; /* by id; 0: not in the pack yet */
} known_strings;

struct gt_pack {
    size_t bytes_max, cut_count;
    packed_table *tables;
    size_t table_count, table_capacity;
    packed_column *columns;
    size_t column_count, column_capacity;
    gt_interner *strings; /* number n of the pack is its id: 1 is the empty string */
    known_strings *known;
    size_t known_count, known_capacity;
    gt_table_list copies; /* tables that were tidied up */
    gt_buffer scratch, longer;
};

gt_pack *gt_pack_new(size_t bytes_max)
{
    gt_pack *pack = gt_alloc_zero(1, sizeof *pack);
    pack->bytes_max = bytes_max;
    pack->strings = gt_interner_new();
    return pack;
}

/* ---- strings ---- */

/* "void kernel<...… [36,000 more bytes]" */
static gt_str cut(gt_pack *pack, gt_str text)
{
    size_t len = pack->bytes_max;
    while (len > 0 && (text.bytes[len] & 0xC0) == 0x80) len--; /* not inside a character */
    pack->longer.len = 0;
    gt_buffer_add(&pack->longer, text.bytes, len);
    gt_buffer_add_format(&pack->longer, "\u2026 [%zu more bytes]", text.len - len);
    return gt_buffer_str(&pack->longer);
}

static uint32_t number_of_text(gt_pack *pack, gt_str text)
{
    gt_str valid = gt_utf8_repair(text, &pack->scratch);
    bool is_long = pack->bytes_max && valid.len > pack->bytes_max;
    if (is_long) valid = cut(pack, valid);
    uint32_t before = gt_interner_count(pack->strings);
    uint32_t number = gt_interner_add(pack->strings, valid.bytes, valid.len);
    if (is_long && number == before) pack->cut_count++;
    return number;
}

/* The numbers of an interner's strings. Tables made together share one, so there are few. */
static uint32_t *known_of(gt_pack *pack, const gt_interner *from)
{
    for (size_t i = 0; i < pack->known_count; i++)
        if (pack->known[i].from == from) return pack->known[i].numbers;
    known_strings known = {from, gt_alloc_zero(gt_interner_count(from), sizeof(uint32_t))};
    GT_PUSH(pack->known, pack->known_count, pack->known_capacity, known);
    return known.numbers;
}

static void number_texts(gt_pack *pack, packed_column *packed)
{
    const uint32_t *ids = packed->column->texts;
    uint32_t *known = known_of(pack, packed->strings);
    packed->numbers = gt_alloc(packed->rows * sizeof *packed->numbers);
    for (size_t row = 0; row < packed->rows; row++) {
        uint32_t id = ids[row];
        if (id != GT_STR_NONE && !known[id])
            known[id] = number_of_text(pack, gt_interner_get(packed->strings, id));
        packed->numbers[row] = id == GT_STR_NONE ? 0 : known[id];
    }
}

/* Integers that a browser could not compute with, as texts. */
static void number_large_ints(gt_pack *pack, packed_column *packed)
{
    packed->numbers = gt_alloc(packed->rows * sizeof *packed->numbers);
    for (size_t row = 0; row < packed->rows; row++) {
        char text[32];
        int len = snprintf(text, sizeof text, "%" PRId64, packed->column->ints[row]);
        packed->numbers[row] =
            gt_column_is_null(packed->column, row) ? 0 : number_of_text(pack, (gt_str){text, (size_t)len});
    }
}

/* ---- which code ---- */

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static bool is_coded(int64_t value)
{
    return value >= -CODE_MAX / 2 && value < CODE_MAX / 2;
}

static char code_of_ints(const packed_column *packed)
{
    char code = 'u';
    for (size_t row = 0; row < packed->rows; row++) {
        int64_t value = packed->column->ints[row];
        if (is_coded(value) || gt_column_is_null(packed->column, row)) continue;
        if (value < -CODE_MAX || value > CODE_MAX) return 't';
        code = 'f';
    }
    return code;
}

/* Whole numbers are shorter as integers; NaN is null in both. -0.0 is not whole: it would lose its sign. */
static char code_of_floats(const packed_column *packed)
{
    for (size_t row = 0; row < packed->rows; row++) {
        double value = packed->column->floats[row];
        if (isnan(value)) continue;
        if (!(fabs(value) < (double)(CODE_MAX / 2)) || value != trunc(value) ||
            (value == 0 && signbit(value)))
            return 'f';
    }
    return packed->rows ? 'u' : 'f';
}

/* ---- encoding ---- */

static size_t varint_length(uint64_t value)
{
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7; /* 64 - clz bits, 7 per byte, rounded up */
}

static char *put_varint(char *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *to++ = (char)(unsigned char)(value | 0x80);
    *to++ = (char)value;
    return to;
}

/* A cell of an INT column, or of a FLOAT column of whole numbers. False: null. */
static bool whole_cell(const gt_column *column, size_t row, int64_t *value)
{
    if (gt_column_is_null(column, row)) return false;
    *value = column->type == GT_TYPE_INT ? column->ints[row] : (int64_t)column->floats[row];
    return true;
}

/* Whether differences take fewer bytes than values. */
static bool differences_are_shorter(const packed_column *packed)
{
    size_t plain = 0, different = 0;
    int64_t last = 0, value = 0;
    for (size_t row = 0; row < packed->rows; row++) {
        if (!whole_cell(packed->column, row, &value)) continue;
        int64_t difference = value - last; /* at most 2^53 */
        if (!is_coded(difference)) return false;
        plain += varint_length(zigzag(value) + 1);
        different += varint_length(zigzag(difference) + 1);
        last = value;
    }
    return different < plain;
}

static void encode_whole(packed_column *packed)
{
    if (differences_are_shorter(packed)) packed->code = 'd';
    bool by_difference = packed->code == 'd';
    char *begin = gt_buffer_reserve(&packed->bytes, packed->rows * VARINT_MAX), *to = begin;
    int64_t last = 0, value = 0;
    for (size_t row = 0; row < packed->rows; row++) {
        if (!whole_cell(packed->column, row, &value)) {
            *to++ = 0;
            continue;
        }
        to = put_varint(to, zigzag(by_difference ? value - last : value) + 1);
        last = value;
    }
    packed->bytes.len = (size_t)(to - begin);
}

static void encode_floats(packed_column *packed)
{
    const gt_column *column = packed->column;
    size_t rows = packed->rows;
    char *to = gt_buffer_reserve(&packed->bytes, rows * sizeof(double));
    for (size_t row = 0; row < rows; row++) {
        double value = column->type == GT_TYPE_FLOAT    ? column->floats[row]
                       : gt_column_is_null(column, row) ? NAN
                                                        : (double)column->ints[row];
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        for (size_t plane = 0; plane < sizeof bits; plane++)
            to[plane * rows + row] = (char)(unsigned char)(bits >> 8 * plane);
    }
    packed->bytes.len = rows * sizeof(double);
}

static void encode_texts(packed_column *packed)
{
    char *begin = gt_buffer_reserve(&packed->bytes, packed->rows * VARINT_MAX), *to = begin;
    for (size_t row = 0; row < packed->rows; row++) to = put_varint(to, packed->numbers[row]);
    packed->bytes.len = (size_t)(to - begin);
}

static void encode_bools(packed_column *packed)
{
    char *to = gt_buffer_reserve(&packed->bytes, packed->rows);
    for (size_t row = 0; row < packed->rows; row++)
        to[row] = (char)(gt_column_is_null(packed->column, row) ? 2 : packed->column->bools[row] != 0);
    packed->bytes.len = packed->rows;
}

static void encode_lists(packed_column *packed)
{
    const gt_column *list = packed->column;
    char *begin = gt_buffer_reserve(&packed->bytes, packed->rows * VARINT_MAX), *to = begin;
    for (size_t row = 0; row < packed->rows; row++)
        to = put_varint(to, gt_column_is_null(list, row)
                                ? 0
                                : gt_list_end_of(list, row) - gt_list_begin_of(list, row) + 1);
    packed->bytes.len = (size_t)(to - begin);
}

static void encode(void *context, size_t index)
{
    packed_column *packed = &((gt_pack *)context)->columns[index];
    switch (packed->code) {
    case 'u':
        encode_whole(packed);
        break;
    case 'f':
        encode_floats(packed);
        break;
    case 't':
        encode_texts(packed);
        break;
    case 'b':
        encode_bools(packed);
        break;
    default:
        encode_lists(packed);
    }
}

/* ---- adding ---- */

static void choose_code(gt_pack *pack, packed_column *packed)
{
    switch (packed->column->type) {
    case GT_TYPE_INT:
        packed->code = code_of_ints(packed);
        if (packed->code == 't') number_large_ints(pack, packed);
        break;
    case GT_TYPE_FLOAT:
        packed->code = code_of_floats(packed);
        break;
    case GT_TYPE_STRING:
        packed->code = 't';
        number_texts(pack, packed);
        break;
    case GT_TYPE_BOOL:
        packed->code = 'b';
        break;
    case GT_TYPE_LIST:
        packed->code = 'l';
        break;
    }
}

/* Cells of a LIST are ranges of its elements, one after the other. */
static size_t element_count(const gt_column *list, size_t rows)
{
    return rows ? gt_list_end_of(list, rows - 1) : 0;
}

/* Whether a cell became null after it was filled: its elements are still there, and must not be packed. */
static bool has_lost_elements(const gt_column *column, size_t rows)
{
    if (column->type != GT_TYPE_LIST) return false;
    for (size_t row = 0; row < rows; row++)
        if (gt_column_is_null(column, row) && gt_list_end_of(column, row) > gt_list_begin_of(column, row))
            return true;
    return has_lost_elements(column->items, element_count(column, rows));
}

static void add_column(gt_pack *pack, const gt_table *table, const gt_column *column, size_t rows)
{
    packed_column packed = {.column = column, .rows = rows, .strings = table->strings};
    choose_code(pack, &packed);
    GT_PUSH(pack->columns, pack->column_count, pack->column_capacity, packed);
    if (column->type == GT_TYPE_LIST) add_column(pack, table, column->items, element_count(column, rows));
}

void gt_pack_add(gt_pack *pack, size_t source, const gt_table *table)
{
    bool is_tidy = true;
    for (size_t c = 0; c < table->column_count; c++)
        is_tidy &= !has_lost_elements(&table->columns[c], table->row_count);
    if (!is_tidy) {
        gt_table_list_add(&pack->copies, gt_table_copy(table));
        table = pack->copies.items[pack->copies.count - 1];
    }
    packed_table packed = {.source = source, .table = table, .begin = pack->column_count};
    for (size_t c = 0; c < table->column_count; c++)
        add_column(pack, table, &table->columns[c], table->row_count);
    packed.end = pack->column_count;
    GT_PUSH(pack->tables, pack->table_count, pack->table_capacity, packed);
}

size_t gt_pack_cut_count(const gt_pack *pack)
{
    return pack->cut_count;
}

/* ---- the directory ---- */

static void add_name(gt_buffer *out, const char *key, const char *name, gt_buffer *scratch)
{
    gt_buffer_add_format(out, "\"%s\":", key);
    gt_json_string_add(out, (gt_str){name, strlen(name)}, scratch);
}

/* Describes column *index and, inside it, its elements. *index and *at move past both. */
static void describe_column(gt_pack *pack, size_t *index, size_t *at, gt_buffer *out)
{
    const packed_column *packed = &pack->columns[(*index)++];
    gt_buffer_add_cstr(out, "{");
    add_name(out, "name", packed->column->name ? packed->column->name : "", &pack->scratch);
    gt_buffer_add_format(out, ",\"code\":\"%c\",\"at\":%zu,\"size\":%zu", packed->code, *at,
                         packed->bytes.len);
    *at += packed->bytes.len;
    if (packed->code == 'l') {
        gt_buffer_add_cstr(out, ",\"items\":");
        describe_column(pack, index, at, out);
    }
    gt_buffer_add_cstr(out, "}");
}

static void describe_table(gt_pack *pack, const packed_table *packed, size_t *at, gt_buffer *out)
{
    gt_buffer_add_format(out, "{\"source\":%zu,", packed->source);
    add_name(out, "name", packed->table->name, &pack->scratch);
    gt_buffer_add_format(out, ",\"rows\":%zu,\"columns\":[", packed->table->row_count);
    for (size_t index = packed->begin; index < packed->end;) {
        if (index > packed->begin) gt_buffer_add_cstr(out, ",");
        describe_column(pack, &index, at, out);
    }
    gt_buffer_add_cstr(out, "]}");
}

static void add_strings(const gt_pack *pack, gt_buffer *out)
{
    uint32_t count = gt_interner_count(pack->strings);
    for (uint32_t id = GT_STR_EMPTY; id < count; id++) {
        char length[VARINT_MAX];
        char *end = put_varint(length, gt_interner_get(pack->strings, id).len);
        gt_buffer_add(out, length, (size_t)(end - length));
    }
    for (uint32_t id = GT_STR_EMPTY; id < count; id++) {
        gt_str text = gt_interner_get(pack->strings, id);
        gt_buffer_add(out, text.bytes, text.len);
    }
}

/* The pack before compression. */
static gt_buffer join(gt_pack *pack)
{
    gt_buffer directory = {0}, strings = {0}, whole = {0};
    size_t at = 0;
    add_strings(pack, &strings);
    gt_buffer_add_cstr(&directory, "{\"tables\":[");
    for (size_t i = 0; i < pack->table_count; i++) {
        if (i) gt_buffer_add_cstr(&directory, ",");
        describe_table(pack, &pack->tables[i], &at, &directory);
    }
    gt_buffer_add_format(&directory, "],\"strings\":{\"count\":%u,\"at\":%zu,\"size\":%zu}}",
                         gt_interner_count(pack->strings) - GT_STR_EMPTY, at, strings.len);
    char length[4];
    GT_CHECK(directory.len <= UINT32_MAX);
    for (size_t i = 0; i < sizeof length; i++) length[i] = (char)(unsigned char)(directory.len >> 8 * i);
    gt_buffer_reserve(&whole, sizeof length + directory.len + at + strings.len);
    gt_buffer_add(&whole, length, sizeof length);
    gt_buffer_add(&whole, directory.bytes, directory.len);
    for (size_t i = 0; i < pack->column_count; i++)
        gt_buffer_add(&whole, pack->columns[i].bytes.bytes, pack->columns[i].bytes.len);
    gt_buffer_add(&whole, strings.bytes, strings.len);
    gt_buffer_free(&directory);
    gt_buffer_free(&strings);
    return whole;
}

void gt_pack_write(gt_pack *pack, gt_buffer *base64)
{
    gt_parallel_each(pack->column_count, encode, pack);
    gt_buffer whole = join(pack);
    size_t room = libdeflate_deflate_compress_bound(NULL, whole.len);
    char *packed = gt_alloc(room);
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(DEFLATE_LEVEL);
    if (!compressor) gt_raise("out of memory");
    size_t len = libdeflate_deflate_compress(compressor, whole.bytes, whole.len, packed, room);
    libdeflate_free_compressor(compressor);
    GT_CHECK(len > 0);
    gt_buffer_free(&whole);
    gt_html_add_base64(base64, packed, len);
    gt_free(packed);
}

void gt_pack_free(gt_pack *pack)
{
    if (!pack) return;
    for (size_t i = 0; i < pack->column_count; i++) {
        gt_free(pack->columns[i].numbers);
        gt_buffer_free(&pack->columns[i].bytes);
    }
    for (size_t i = 0; i < pack->known_count; i++) gt_free(pack->known[i].numbers);
    gt_free(pack->known);
    gt_free(pack->columns);
    gt_free(pack->tables);
    gt_table_list_free(&pack->copies);
    gt_interner_free(pack->strings);
    gt_buffer_free(&pack->scratch);
    gt_buffer_free(&pack->longer);
    gt_free(pack);
}
