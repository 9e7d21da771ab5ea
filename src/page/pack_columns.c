/* The cells of packed columns: which code a column gets, and its bytes.
 *
 * Measured on the 100,000 events that the page of a 55 MB trace has: in planes, deflate at level 1 gives 378
 * kB in 6 ms. Variable-length integers gave 459 kB in 6 ms, and 426 kB in 11 ms at level 6. */
#include "page/pack_columns.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { SAMPLE = 4096, FEW = 256 };

#define CODE_MAX (INT64_C(1) << 53) /* the largest code of u and d */

/* ---- which code ---- */

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

char gt_packed_code_of_ints(const gt_packed_column *packed)
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
char gt_packed_code_of_floats(const gt_packed_column *packed)
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

unsigned gt_planes_width(const uint64_t *numbers, size_t count)
{
    uint64_t bits = 0;
    unsigned width = 0;
    for (size_t i = 0; i < count; i++) bits |= numbers[i];
    for (; bits; bits >>= 8) width++;
    return width;
}

void gt_planes_add(gt_buffer *out, const uint64_t *numbers, size_t count, unsigned width)
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
    unsigned width = gt_planes_width(numbers, count);
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
static void encode_codes(gt_packed_column *packed, const uint64_t *codes)
{
    packed->width = gt_planes_width(codes, packed->rows);
    gt_planes_add(&packed->bytes, codes, packed->rows, packed->width);
}

/* ---- encoding ---- */

/* The codes of INT cells, or of FLOAT cells that are whole. False if a difference has no code. */
static bool find_codes(const gt_packed_column *packed, bool by_difference, uint64_t *codes)
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

static void encode_whole(gt_packed_column *packed)
{
    uint64_t *plain = gt_alloc(packed->rows * sizeof *plain);
    uint64_t *differences = gt_alloc(packed->rows * sizeof *differences);
    find_codes(packed, false, plain);
    if (find_codes(packed, true, differences) &&
        packed_size(differences, packed->rows) < packed_size(plain, packed->rows))
        packed->code = 'd';
    encode_codes(packed, packed->code == 'd' ? differences : plain);
    gt_free(differences);
    gt_free(plain);
}

static void encode_floats(gt_packed_column *packed)
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
    gt_planes_add(&packed->bytes, numbers, packed->rows, packed->width);
    gt_free(numbers);
}

static void encode_texts(gt_packed_column *packed, const uint32_t *ranks)
{
    uint64_t *codes = gt_alloc(packed->rows * sizeof *codes);
    for (size_t row = 0; row < packed->rows; row++) codes[row] = ranks[packed->numbers[row]];
    encode_codes(packed, codes);
    gt_free(codes);
}

static void encode_bools(gt_packed_column *packed)
{
    char *to = gt_buffer_reserve(&packed->bytes, packed->rows);
    for (size_t row = 0; row < packed->rows; row++)
        to[row] = (char)(is_null(packed->column, row) ? 2 : packed->column->bools[row] != 0);
    packed->bytes.len = packed->rows;
    packed->width = 1;
}

static void encode_lists(gt_packed_column *packed)
{
    const gt_column *list = packed->column;
    uint64_t *codes = gt_alloc(packed->rows * sizeof *codes);
    for (size_t row = 0; row < packed->rows; row++)
        codes[row] = is_null(list, row) ? 0 : gt_list_end_of(list, row) - gt_list_begin_of(list, row) + 1;
    encode_codes(packed, codes);
    gt_free(codes);
}

void gt_packed_encode(gt_packed_column *packed, const uint32_t *ranks)
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
