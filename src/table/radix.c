/* Sorts 64-bit keys in linear time: looks for order first, then distributes by digits from the lowest, as few
 * as the spread of the keys needs. Where key and row fit into one word together, the words are moved and not
 * the pairs. */
#include "table/radix.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    INSERTION_MAX = 24,   /* up to here insertion is quicker than counting */
    WIDE_DIGIT_BITS = 11, /* 2,048 places to write to: they stay in the second-level cache */
    NARROW_DIGIT_BITS = 8,
    WIDE_DIGITS_FROM = 8192, /* keys; below, clearing the wide counters costs more than another pass */
};

typedef struct spread {
    uint64_t least, most;
    bool in_order;
} spread;

static spread look_over(const uint64_t *keys, size_t count)
{
    uint64_t least = keys[0], most = keys[0], falls = 0;
    for (size_t i = 1; i < count; i++) {
        if (keys[i] < least) least = keys[i];
        if (keys[i] > most) most = keys[i];
        falls |= keys[i] < keys[i - 1];
    }
    return (spread){least, most, falls == 0};
}

static void insertion_sort(uint64_t *keys, uint32_t *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        uint32_t row = rows[i];
        size_t at = i;
        for (; at && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
            rows[at] = rows[at - 1];
        }
        keys[at] = key;
        rows[at] = row;
    }
}

static unsigned bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* How many digits of how many bits cover `bits` bits. */
static void choose_digits(unsigned bits, size_t count, unsigned *passes, unsigned *digit_bits)
{
    unsigned widest = count < WIDE_DIGITS_FROM ? NARROW_DIGIT_BITS : WIDE_DIGIT_BITS;
    *passes = (bits + widest - 1) / widest;
    *digit_bits = (bits + *passes - 1) / *passes;
}

/* Counts the digits at `shift` and makes of the counts the place of each digit's first key. */
static void count_places(uint32_t *places, const uint64_t *keys, size_t count, unsigned shift,
                         unsigned digit_bits)
{
    uint64_t mask = ((uint64_t)1 << digit_bits) - 1;
    memset(places, 0, sizeof *places << digit_bits);
    for (size_t i = 0; i < count; i++) places[(keys[i] >> shift) & mask]++;
    uint32_t place = 0;
    for (size_t digit = 0; digit <= mask; digit++) {
        uint32_t here = places[digit];
        places[digit] = place;
        place += here;
    }
}

/* Key and row in one word, the row below. */
static void sort_words(uint64_t *keys, uint32_t *rows, size_t count, spread seen, unsigned row_bits,
                       bool keep_keys)
{
    unsigned passes, digit_bits, shift = row_bits;
    choose_digits(bits_of(seen.most - seen.least), count, &passes, &digit_bits);
    uint64_t digit_mask = ((uint64_t)1 << digit_bits) - 1, row_mask = ((uint64_t)1 << row_bits) - 1;
    uint32_t places[1 << WIDE_DIGIT_BITS];
    uint64_t *spare = gt_alloc(count * sizeof *spare), *from = keys, *to = spare;
    for (size_t i = 0; i < count; i++) keys[i] = (keys[i] - seen.least) << row_bits | rows[i];
    for (unsigned pass = 0; pass < passes; pass++, shift += digit_bits) {
        count_places(places, from, count, shift, digit_bits);
        for (size_t i = 0; i < count; i++) to[places[(from[i] >> shift) & digit_mask]++] = from[i];
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    for (size_t i = 0; i < count; i++) rows[i] = (uint32_t)(from[i] & row_mask);
    if (keep_keys)
        for (size_t i = 0; i < count; i++) keys[i] = (from[i] >> row_bits) + seen.least;
    gt_free(spare);
}

static void sort_pairs(uint64_t *keys, uint32_t *rows, size_t count, spread seen)
{
    unsigned passes, digit_bits, shift = 0;
    choose_digits(bits_of(seen.most - seen.least), count, &passes, &digit_bits);
    uint64_t mask = ((uint64_t)1 << digit_bits) - 1;
    uint32_t places[1 << WIDE_DIGIT_BITS];
    uint64_t *spare_keys = gt_alloc(count * sizeof *spare_keys), *from = keys, *to = spare_keys;
    uint32_t *spare_rows = gt_alloc(count * sizeof *spare_rows), *from_rows = rows, *to_rows = spare_rows;
    for (size_t i = 0; i < count; i++) keys[i] -= seen.least;
    for (unsigned pass = 0; pass < passes; pass++, shift += digit_bits) {
        count_places(places, from, count, shift, digit_bits);
        for (size_t i = 0; i < count; i++) {
            uint32_t place = places[(from[i] >> shift) & mask]++;
            to[place] = from[i];
            to_rows[place] = from_rows[i];
        }
        uint64_t *sorted = to;
        to = from;
        from = sorted;
        uint32_t *sorted_rows = to_rows;
        to_rows = from_rows;
        from_rows = sorted_rows;
    }
    if (from_rows != rows) memcpy(rows, from_rows, count * sizeof *rows);
    for (size_t i = 0; i < count; i++) keys[i] = from[i] + seen.least;
    gt_free(spare_keys);
    gt_free(spare_rows);
}

void gt_radix_sort(uint64_t *keys, uint32_t *rows, size_t count, bool keep_keys)
{
    if (count < 2) return;
    if (count <= INSERTION_MAX) {
        insertion_sort(keys, rows, count);
        return;
    }
    spread seen = look_over(keys, count);
    if (seen.in_order) return;
    uint32_t last_row = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i] > last_row) last_row = rows[i];
    unsigned row_bits = bits_of(last_row);
    if (bits_of(seen.most - seen.least) + row_bits <= 64)
        sort_words(keys, rows, count, seen, row_bits, keep_keys);
    else
        sort_pairs(keys, rows, count, seen);
}
