/* Tables that decode the Huffman codes of deflate data (RFC 1951).
 *
 * A table is indexed by the next bits of input. One entry says all there is to do: the literal, or two of
 * them, or the base of a length or distance, and how many bits that takes. */
#pragma once

#include "base/base.h"

/* An entry: bits 0-7 how many input bits to drop, 8-11 how many of them are the code (for a pair: the first
 * literal's), 12-15 flags, 16-31 the value. */
enum {
    GT_ENTRY_BITS_MASK = 63,
    GT_ENTRY_CODE_SHIFT = 8,
    GT_ENTRY_CODE_MASK = 15,
    GT_ENTRY_LITERAL = 1 << 12,
    GT_ENTRY_PAIR = 1 << 13, /* with LITERAL: two of them, the first in the value's low byte */
    GT_ENTRY_LINK =
        1 << 14, /* a longer code: the value is the place of a second table, the code bits index it */
    GT_ENTRY_STOP = 1 << 15, /* the end of the block, or not a code */
    GT_ENTRY_VALUE_SHIFT = 16,
};

enum {
    GT_END_OF_BLOCK = 256,
    GT_LITLEN_SYMBOLS =
        286, /* of a dynamic block; the fixed codes have 288 and 32, the last two of each unused */
    GT_DISTANCE_SYMBOLS = 30,
    GT_CODE_LENGTH_SYMBOLS = 19,

    GT_CODE_LENGTH_TABLE_BITS = 7,
    GT_LITLEN_TABLE_BITS = 10,
    GT_DISTANCE_TABLE_BITS = 9,
    /* A table for n bits, followed by the tables for longer codes. One of these with 2^k entries serves at
     * least k + 1 symbols, k being at most 15 - n: 286 symbols need no more than 32 entries for each 6 of
     * them, 30 distances no more than 64 for each 7. */
    GT_LITLEN_TABLE_SIZE = (1 << GT_LITLEN_TABLE_BITS) + (286 / 6 + 1) * 32,
    GT_DISTANCE_TABLE_SIZE = (1 << GT_DISTANCE_TABLE_BITS) + (30 / 7 + 1) * 64,
};

/* Each takes the lengths of the codes, one a symbol (0: not used), and returns whether they make a set: no
 * bits may be without meaning. Where there is no code at all, or (for literals and distances) a single one of
 * one bit, the bits that mean nothing lead to an entry with GT_ENTRY_STOP and the value 0. */
bool gt_huffman_code_lengths(uint32_t table[1 << GT_CODE_LENGTH_TABLE_BITS], const uint8_t *lengths);
bool gt_huffman_litlens(uint32_t table[GT_LITLEN_TABLE_SIZE], const uint8_t *lengths, unsigned symbols);
bool gt_huffman_distances(uint32_t table[GT_DISTANCE_TABLE_SIZE], const uint8_t *lengths, unsigned symbols);
