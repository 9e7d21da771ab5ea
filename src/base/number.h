/* Numbers to text and back, exactly: as Python's repr prints and as strtod reads; and their order. */
#pragma once

#include "base/interner.h"

enum { GT_NUMBER_MAX = 32 }; /* enough bytes for any printed number */

/* The shortest digits that read back as the same double, in the format of Python's repr: 1.0, 0.0001, 1e-05,
 * 1e+16, inf, -inf, nan. Returns the length; no NUL is written. */
size_t gt_print_double(char *out, double value);
size_t gt_print_int(char *out, int64_t value);

/* A number below GT_SHORT_NUMBERS with the byte `end` after it, without a branch: for columns in which one
 * number has two digits and the next one five. Eight bytes are written; returns how many of them count. */
enum { GT_SHORT_NUMBERS = 1000000, GT_SHORT_NUMBER_BYTES = 8 };
extern const char gt_three_digits[1000][4]; /* 000 to 999, each with a 0 byte after it */
static inline size_t gt_print_short(char *out, uint32_t value, char end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t high, low;
    memcpy(&high, gt_three_digits[value / 1000], sizeof high);
    memcpy(&low, gt_three_digits[value % 1000], sizeof low);
    uint64_t word = high | (uint64_t)low << 24; /* the first digit is in the lowest byte */
    unsigned zeros = (unsigned)__builtin_ctzll((word & 0x0f0f0f0f0f0fu) | UINT64_C(1) << 40) / 8;
    word = (word | (uint64_t)(unsigned char)end << 48) >> zeros * 8;
    memcpy(out, &word, sizeof word);
    return 7 - zeros;
#else
    size_t digits = gt_print_int(out, value);
    out[digits] = end;
    return digits + 1;
#endif
}

/* As strtod, for text that is not NUL-terminated. */
double gt_read_double(gt_str text);

/* Ascending order of plain numbers, for qsort and bsearch. */
int gt_by_u32(const void *left, const void *right);
int gt_by_i64(const void *left, const void *right);
int gt_by_double(const void *left, const void *right); /* without NaN */
int gt_by_cstr(const void *left, const void *right);   /* of char * */

/* Defines such a function for structs, by one member after the other:
 *
 *     GT_ORDER_BY(by_group_and_size, member, GT_UP(group) GT_DOWN(bytes)) */
#define GT_ORDER_BY(name, type, members)                                                                     \
    static int name(const void *left, const void *right)                                                     \
    {                                                                                                        \
        const type *a = left, *b = right;                                                                    \
        members return 0;                                                                                    \
    }
#define GT_UP(member)                                                                                        \
    if (a->member < b->member || a->member > b->member) return a->member < b->member ? -1 : 1;
#define GT_DOWN(member)                                                                                      \
    if (a->member < b->member || a->member > b->member) return a->member > b->member ? -1 : 1;
#define GT_UP_TEXT(member)                                                                                   \
    if (strcmp(a->member, b->member) != 0) return strcmp(a->member, b->member);

/* A double as an integer with the same bits, and back. */
static inline int64_t gt_bits_of_double(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double gt_double_of_bits(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* a * b; false if it does not fit. Like __builtin_mul_overflow, which clang supports for 128 bits only with
 * its own runtime library. */
static inline bool gt_multiply(__int128 a, __int128 b, __int128 *out)
{
    unsigned __int128 size_a = a < 0 ? -(unsigned __int128)a : (unsigned __int128)a,
                      size_b = b < 0 ? -(unsigned __int128)b : (unsigned __int128)b;
    bool is_negative = (a < 0) != (b < 0), is_small = !(size_a >> 63 | size_b >> 63);
    unsigned __int128 limit = ((unsigned __int128)1 << 127) - !is_negative;
    if (!is_small && size_a && size_b > limit / size_a) return false;
    *out = (__int128)((unsigned __int128)a * (unsigned __int128)b);
    return true;
}

/* The form of a noun for a count: gt_noun(1, "copy", "copies") is "copy". */
static inline const char *gt_noun(uint64_t count, const char *one, const char *more)
{
    return count == 1 ? one : more;
}

/* Whether a spreadsheet would compute a cell with this text, or takes it for text because of a ' before that,
 * which is how such cells are marked in CSV files: it begins with = + - @, a tab or a line break, does not
 * end there, and is not a number. With one ' before it, it remains one, so marks can be removed. */
bool gt_is_formula(gt_str text);
