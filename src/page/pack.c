/* Packs: strings first, then each column on its own, then directory and compression.
 *
 * Strings get numbers in the order of tables, columns and rows, and then by how many cells have them, so the
 * bytes do not depend on threads; everything else of a column needs nothing but its cells, so all threads of
 * the team encode columns. */
#include "page/pack.h"

#include "base/raise.h"
#include "base/team.h"
#include "json/string.h"
#include "output/text.h"
#include "table/operations.h"

#include <libdeflate.h>

/* ---- columns ----
 *
 *  * Measured on the 100,000 events that the page of a 55 MB trace has: in planes, deflate at level 1 gives
 * 378 kB in 6 ms. Variable-length integers gave 459 kB in 6 ms, and 426 kB in 11 ms at level 6. */

/* Columns of one table, elements of lists included: they follow their list. */
typedef struct packed_column {
    const gt_column *column;
    size_t rows;
    gt_interner *strings; /* of its table */
    uint32_t *numbers; /* STRING, and INT as strings: the number of each cell's string, 0 for null; owned */
    char code;
    unsigned width;
    gt_buffer bytes;
} packed_column;

enum { SAMPLE = 4096, FEW = 256 };

#define CODE_MAX (INT64_C(1) << 53) /* the largest code of u and d */

/* Of INT, BOOL and LIST columns. */
static bool is_null(const gt_column *column, size_t row)
{
    return column->nulls && column->nulls[row];
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static bool is_coded(int64_t value)
{
    return value >= -CODE_MAX / 2 && value < CODE_MAX / 2;
}

/* The code of INT cells: 'u', 'f', or 't' if a browser could not compute with one of them. */
static char code_of_ints(const packed_column *packed)
{
    char code = 'u';
    for (size_t row = 0; row < packed->rows; row++) {
        int64_t value = packed->column->ints[row];
        if (is_coded(value) || is_null(packed->column, row)) continue;
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

/* ---- planes ---- */

static unsigned planes_width(const uint64_t *numbers, size_t count)
{
    uint64_t bits = 0;
    unsigned width = 0;
    for (size_t i = 0; i < count; i++) bits |= numbers[i];
    for (; bits; bits >>= 8) width++;
    return width;
}

/* Appends numbers in planes of this width. */
static void add_planes(gt_buffer *out, const uint64_t *numbers, size_t count, unsigned width)
{
    char *to = gt_buffer_reserve(out, width * count);
    for (unsigned plane = 0; plane < width; plane++, to += count)
        for (size_t i = 0; i < count; i++) to[i] = (char)(unsigned char)(numbers[i] >> 8 * plane);
    out->len += width * count;
}

/* An estimate of the bytes that planes take after compression: of few numbers all, of many from how often
 * each byte occurs in a sample. */
static double packed_size(const uint64_t *numbers, size_t count)
{
    size_t stride = count / SAMPLE + 1, sampled = (count + stride - 1) / stride;
    unsigned width = planes_width(numbers, count);
    if (count < FEW) return (double)(width * count);
    double bits = 0;
    for (unsigned plane = 0; plane < width; plane++) {
        uint32_t counts[256] = {0};
        for (size_t i = 0; i < count; i += stride) counts[numbers[i] >> 8 * plane & 255]++;
        for (size_t byte = 0; byte < 256; byte++)
            if (counts[byte]) bits += counts[byte] * log2((double)sampled / counts[byte]);
    }
    return bits / 8 * (double)stride;
}

/* Writes the codes of a column. */
static void encode_codes(packed_column *packed, const uint64_t *codes)
{
    packed->width = planes_width(codes, packed->rows);
    add_planes(&packed->bytes, codes, packed->rows, packed->width);
}

/* ---- encoding ---- */

/* The codes of INT cells, or of FLOAT cells that are whole. False if a difference has no code. */
static bool find_codes(const packed_column *packed, bool by_difference, uint64_t *codes)
{
    const gt_column *column = packed->column;
    bool is_float = column->type == GT_TYPE_FLOAT;
    int64_t last = 0;
    for (size_t row = 0; row < packed->rows; row++) {
        codes[row] = 0;
        if (is_float ? isnan(column->floats[row]) : is_null(column, row)) continue;
        int64_t value = is_float ? (int64_t)column->floats[row] : column->ints[row];
        int64_t coded = value - last; /* at most 2^53 */
        if (!is_coded(coded)) return false;
        codes[row] = zigzag(coded) + 1;
        if (by_difference) last = value;
    }
    return true;
}

static void encode_whole(packed_column *packed)
{
    uint64_t *plain = gt_alloc(packed->rows * sizeof *plain);
    uint64_t *differences = gt_alloc(packed->rows * sizeof *differences);
    find_codes(packed, false, plain);
    if (find_codes(packed, true, differences) &&
        packed_size(differences, packed->rows) < packed_size(plain, packed->rows))
        packed->code = 'd';
    encode_codes(packed, packed->code == 'd' ? differences : plain);
    gt_free_all(differences, plain);
}

static void encode_floats(packed_column *packed)
{
    const gt_column *column = packed->column;
    uint64_t *numbers = gt_alloc(packed->rows * sizeof *numbers);
    for (size_t row = 0; row < packed->rows; row++) {
        double value = column->type == GT_TYPE_FLOAT ? column->floats[row]
                       : is_null(column, row)        ? NAN
                                                     : (double)column->ints[row];
        if (isnan(value)) value = NAN; /* one kind of NaN */
        memcpy(&numbers[row], &value, sizeof value);
    }
    packed->width = sizeof(double);
    add_planes(&packed->bytes, numbers, packed->rows, packed->width);
    gt_free(numbers);
}

static void encode_texts(packed_column *packed, const uint32_t *ranks)
{
    uint64_t *codes = gt_alloc(packed->rows * sizeof *codes);
    for (size_t row = 0; row < packed->rows; row++) codes[row] = ranks[packed->numbers[row]];
    encode_codes(packed, codes);
    gt_free(codes);
}

static void encode_bools(packed_column *packed)
{
    char *to = gt_buffer_reserve(&packed->bytes, packed->rows);
    for (size_t row = 0; row < packed->rows; row++)
        to[row] = (char)(is_null(packed->column, row) ? 2 : packed->column->bools[row] != 0);
    packed->bytes.len = packed->rows;
    packed->width = 1;
}

static void encode_lists(packed_column *packed)
{
    const gt_column *list = packed->column;
    uint64_t *codes = gt_alloc(packed->rows * sizeof *codes);
    for (size_t row = 0; row < packed->rows; row++)
        codes[row] = is_null(list, row) ? 0 : gt_list_end_of(list, row) - gt_list_begin_of(list, row) + 1;
    encode_codes(packed, codes);
    gt_free(codes);
}

/* Fills width and bytes, and turns the code 'u' into 'd' where differences are shorter. `ranks` has what a
 * cell contains, by the number of its string. */
static void encode_column(packed_column *packed, const uint32_t *ranks)
{
    switch (packed->code) {
    case 'u':
        encode_whole(packed);
        break;
    case 'f':
        encode_floats(packed);
        break;
    case 't':
        encode_texts(packed, ranks);
        break;
    case 'b':
        encode_bools(packed);
        break;
    default:
        encode_lists(packed);
    }
}

/* ---- packs ---- */

enum { DEFLATE_LEVEL = 1 };

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
    gt_interner *strings; /* the number of a string is its id here */
    uint32_t *ranks;      /* when the pack is written: 1 for the string that most cells have */
    uint32_t *by_rank;    /* numbers, that with rank 1 first */
    size_t rank_count;
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
    gt_buffer_add_format(out, ",\"code\":\"%c\",\"width\":%u,\"at\":%zu,\"size\":%zu", packed->code,
                         packed->width, *at, packed->bytes.len);
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

/* Numbers the strings anew: those that most cells have get the smallest numbers. */
static void rank_strings(gt_pack *pack)
{
    uint32_t count = gt_interner_count(pack->strings);
    int64_t *cells = gt_alloc_zero(count, sizeof *cells);
    for (size_t i = 0; i < pack->column_count; i++) {
        const packed_column *packed = &pack->columns[i];
        for (size_t row = 0; packed->numbers && row < packed->rows; row++) cells[packed->numbers[row]]++;
    }
    cells[GT_STR_NONE] = 0;
    pack->by_rank = gt_order_new(count);
    gt_order_by_ints(pack->by_rank, count, cells, NULL, true);
    pack->ranks = gt_alloc_zero(count, sizeof *pack->ranks);
    while (pack->rank_count < count && cells[pack->by_rank[pack->rank_count]] > 0) {
        uint32_t number = pack->by_rank[pack->rank_count++];
        pack->ranks[number] = (uint32_t)pack->rank_count;
    }
    gt_free(cells);
}

/* Returns the width of the lengths. */
static unsigned add_strings(const gt_pack *pack, gt_buffer *out)
{
    uint64_t *lengths = gt_alloc(pack->rank_count * sizeof *lengths);
    for (size_t i = 0; i < pack->rank_count; i++)
        lengths[i] = gt_interner_get(pack->strings, pack->by_rank[i]).len;
    unsigned width = planes_width(lengths, pack->rank_count);
    add_planes(out, lengths, pack->rank_count, width);
    for (size_t i = 0; i < pack->rank_count; i++) {
        gt_str text = gt_interner_get(pack->strings, pack->by_rank[i]);
        gt_buffer_add(out, text.bytes, text.len);
    }
    gt_free(lengths);
    return width;
}

/* The pack before compression. */
static gt_buffer join(gt_pack *pack)
{
    gt_buffer directory = {0}, strings = {0}, whole = {0};
    size_t at = 0;
    unsigned width = add_strings(pack, &strings);
    gt_buffer_add_cstr(&directory, "{\"tables\":[");
    for (size_t i = 0; i < pack->table_count; i++) {
        if (i) gt_buffer_add_cstr(&directory, ",");
        describe_table(pack, &pack->tables[i], &at, &directory);
    }
    gt_buffer_add_format(&directory, "],\"strings\":{\"count\":%zu,\"width\":%u,\"at\":%zu,\"size\":%zu}}",
                         pack->rank_count, width, at, strings.len);
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

static void encode(void *context, size_t index)
{
    const gt_pack *pack = context;
    encode_column(&pack->columns[index], pack->ranks);
}

void gt_pack_write(gt_pack *pack, gt_buffer *base64)
{
    rank_strings(pack);
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
    gt_free_all(pack->known, pack->ranks, pack->by_rank, pack->columns, pack->tables);
    gt_table_list_free(&pack->copies);
    gt_interner_free(pack->strings);
    gt_buffer_free(&pack->scratch);
    gt_buffer_free(&pack->longer);
    gt_free(pack);
}
