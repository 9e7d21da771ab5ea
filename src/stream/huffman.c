/* Building the tables: codes in order of length, the table doubled at each length; codes that are longer than
 * its index share second tables after it. */
#include "stream/huffman.h"

#define ENTRY(value, extra_bits) ((uint32_t)(value) << GT_ENTRY_VALUE_SHIFT | (extra_bits))
#define NOT_A_CODE               (ENTRY(0, 0) | GT_ENTRY_STOP)
#define LITERALS_1(n)            ENTRY(n, 0) | GT_ENTRY_LITERAL
#define LITERALS_4(n)            LITERALS_1(n), LITERALS_1(n + 1), LITERALS_1(n + 2), LITERALS_1(n + 3)
#define LITERALS_16(n)           LITERALS_4(n), LITERALS_4(n + 4), LITERALS_4(n + 8), LITERALS_4(n + 12)
#define LITERALS_64(n)           LITERALS_16(n), LITERALS_16(n + 16), LITERALS_16(n + 32), LITERALS_16(n + 48)

/* What a symbol means, to which the bits of its code are added. */

static const uint32_t litlen_entries[GT_LITLEN_SYMBOLS + 2] = {
    LITERALS_64(0),
    LITERALS_64(64),
    LITERALS_64(128),
    LITERALS_64(192),
    ENTRY(GT_END_OF_BLOCK, 0) | GT_ENTRY_STOP,
    ENTRY(3, 0),
    ENTRY(4, 0),
    ENTRY(5, 0),
    ENTRY(6, 0),
    ENTRY(7, 0),
    ENTRY(8, 0),
    ENTRY(9, 0),
    ENTRY(10, 0),
    ENTRY(11, 1),
    ENTRY(13, 1),
    ENTRY(15, 1),
    ENTRY(17, 1),
    ENTRY(19, 2),
    ENTRY(23, 2),
    ENTRY(27, 2),
    ENTRY(31, 2),
    ENTRY(35, 3),
    ENTRY(43, 3),
    ENTRY(51, 3),
    ENTRY(59, 3),
    ENTRY(67, 4),
    ENTRY(83, 4),
    ENTRY(99, 4),
    ENTRY(115, 4),
    ENTRY(131, 5),
    ENTRY(163, 5),
    ENTRY(195, 5),
    ENTRY(227, 5),
    ENTRY(258, 0),
    NOT_A_CODE,
    NOT_A_CODE,
};

static const uint32_t distance_entries[GT_DISTANCE_SYMBOLS + 2] = {
    ENTRY(1, 0),     ENTRY(2, 0),     ENTRY(3, 0),     ENTRY(4, 0),      ENTRY(5, 1),      ENTRY(7, 1),
    ENTRY(9, 2),     ENTRY(13, 2),    ENTRY(17, 3),    ENTRY(25, 3),     ENTRY(33, 4),     ENTRY(49, 4),
    ENTRY(65, 5),    ENTRY(97, 5),    ENTRY(129, 6),   ENTRY(193, 6),    ENTRY(257, 7),    ENTRY(385, 7),
    ENTRY(513, 8),   ENTRY(769, 8),   ENTRY(1025, 9),  ENTRY(1537, 9),   ENTRY(2049, 10),  ENTRY(3073, 10),
    ENTRY(4097, 11), ENTRY(6145, 11), ENTRY(8193, 12), ENTRY(12289, 12), ENTRY(16385, 13), ENTRY(24577, 13),
    NOT_A_CODE,      NOT_A_CODE,
};

static const uint32_t code_length_entries[GT_CODE_LENGTH_SYMBOLS] = {
    ENTRY(0, 0),  ENTRY(1, 0),  ENTRY(2, 0),  ENTRY(3, 0),  ENTRY(4, 0),  ENTRY(5, 0),  ENTRY(6, 0),
    ENTRY(7, 0),  ENTRY(8, 0),  ENTRY(9, 0),  ENTRY(10, 0), ENTRY(11, 0), ENTRY(12, 0), ENTRY(13, 0),
    ENTRY(14, 0), ENTRY(15, 0), ENTRY(16, 0), ENTRY(17, 0), ENTRY(18, 0),
};

enum { LONGEST_CODE = 15, ONE_CODE_BIT = 1 | 1 << GT_ENTRY_CODE_SHIFT };

/* A set of codes in order: by length, then by symbol. */
typedef struct code_set {
    const uint32_t *entries;
    uint16_t count[LONGEST_CODE + 1]; /* codes of each length */
    uint16_t symbols[GT_LITLEN_SYMBOLS + 2];
    unsigned used;
    int room; /* bit patterns of the longest length without meaning; negative where there are too many codes
               */
} code_set;

static void sort_codes(code_set *set, const uint32_t *entries, const uint8_t *lengths, unsigned symbols)
{
    uint16_t place[LONGEST_CODE + 1];
    memset(set->count, 0, sizeof set->count);
    for (unsigned s = 0; s < symbols; s++) set->count[lengths[s]]++;
    set->count[0] = 0;
    set->entries = entries;
    set->used = 0;
    set->room = 1;
    for (unsigned len = 1; len <= LONGEST_CODE; len++) {
        place[len] = (uint16_t)set->used;
        set->used += set->count[len];
        set->room = 2 * set->room - set->count[len];
    }
    for (unsigned s = 0; s < symbols; s++)
        if (lengths[s]) set->symbols[place[lengths[s]]++] = (uint16_t)s;
}

/* The code that follows, with its bits in the order of the input: the first one lowest. */
static unsigned next_code(unsigned code, unsigned len)
{
    unsigned bit = 1u << (len - 1);
    while (code & bit) bit >>= 1;
    return bit ? (code & (bit - 1)) | bit : 0;
}

/* How many bits index the second table for the codes that begin alike, of which the first has length `len`.
 */
static unsigned second_table_bits(const uint16_t *count_left, unsigned len, unsigned table_bits)
{
    int room = 1 << (len - table_bits);
    for (unsigned bits = len;; bits++, room *= 2) {
        room -= count_left[bits];
        if (room <= 0 || bits == LONGEST_CODE) return bits - table_bits;
    }
}

static void fill_second_tables(uint32_t *table, unsigned table_bits, code_set *set, unsigned code,
                               unsigned next)
{
    unsigned free_at = 1u << table_bits, index_mask = free_at - 1, shared = ~0u, bits = 0;
    uint32_t *second = table;
    for (unsigned len = table_bits + 1; len <= LONGEST_CODE; len++)
        for (; set->count[len]; set->count[len]--, code = next_code(code, len)) {
            if ((code & index_mask) != shared) {
                shared = code & index_mask;
                bits = second_table_bits(set->count, len, table_bits);
                second = table + free_at;
                table[shared] = ENTRY(free_at, table_bits) | bits << GT_ENTRY_CODE_SHIFT | GT_ENTRY_LINK;
                free_at += 1u << bits;
            }
            uint32_t entry = set->entries[set->symbols[next++]] + (len - table_bits) * ONE_CODE_BIT;
            for (unsigned i = code >> table_bits; i < 1u << bits; i += 1u << (len - table_bits))
                second[i] = entry;
        }
}

static void fill_table(uint32_t *table, unsigned table_bits, code_set *set)
{
    unsigned code = 0, next = 0;
    for (unsigned len = 1; len <= table_bits; len++) { /* at each length the table so far is there twice */
        memcpy(table + (1u << (len - 1)), table, sizeof *table << (len - 1));
        for (unsigned n = set->count[len]; n; n--, code = next_code(code, len))
            table[code] = set->entries[set->symbols[next++]] + len * ONE_CODE_BIT;
    }
    if (next < set->used) fill_second_tables(table, table_bits, set, code, next);
}

/* No code, or one of one bit, which is 0. */
static void fill_lone_code(uint32_t *table, unsigned table_bits, const code_set *set)
{
    for (unsigned i = 0; i < 1u << table_bits; i++) table[i] = NOT_A_CODE + ONE_CODE_BIT;
    if (!set->used) return;
    for (unsigned i = 0; i < 1u << table_bits; i += 2)
        table[i] = set->entries[set->symbols[0]] + ONE_CODE_BIT;
}

static bool build(uint32_t *table, unsigned table_bits, code_set *set, bool lone_code_allowed)
{
    bool lone = set->used == 1 && set->count[1] && lone_code_allowed;
    if (set->room == 0)
        fill_table(table, table_bits, set);
    else if (set->used == 0 || lone)
        fill_lone_code(table, table_bits, set);
    else
        return false;
    return true;
}

/* Where two literals' codes fit into the index together, one entry gives both. From the end: an entry looks
 * at one before it, which must still be single. */
static void pair_literals(uint32_t *table)
{
    for (unsigned i = 1u << GT_LITLEN_TABLE_BITS;
         i-- > 0;) { /* without branches, which no one could predict */
        uint32_t first = table[i], second = table[i >> (first & GT_ENTRY_BITS_MASK)];
        unsigned second_len = second & GT_ENTRY_BITS_MASK;
        uint32_t pair =
            second_len + GT_ENTRY_PAIR + (second >> GT_ENTRY_VALUE_SHIFT << (GT_ENTRY_VALUE_SHIFT + 8));
        bool fits = (first & GT_ENTRY_BITS_MASK) + second_len <= GT_LITLEN_TABLE_BITS;
        bool are_literals = first & second & GT_ENTRY_LITERAL;
        table[i] = first + ((fits & are_literals) ? pair : 0);
    }
}

bool gt_huffman_code_lengths(uint32_t table[1 << GT_CODE_LENGTH_TABLE_BITS], const uint8_t *lengths)
{
    code_set set;
    sort_codes(&set, code_length_entries, lengths, GT_CODE_LENGTH_SYMBOLS);
    return build(table, GT_CODE_LENGTH_TABLE_BITS, &set, false);
}

bool gt_huffman_litlens(uint32_t table[GT_LITLEN_TABLE_SIZE], const uint8_t *lengths, unsigned symbols)
{
    code_set set;
    sort_codes(&set, litlen_entries, lengths, symbols);
    if (!build(table, GT_LITLEN_TABLE_BITS, &set, true)) return false;
    pair_literals(table);
    return true;
}

bool gt_huffman_distances(uint32_t table[GT_DISTANCE_TABLE_SIZE], const uint8_t *lengths, unsigned symbols)
{
    code_set set;
    sort_codes(&set, distance_entries, lengths, symbols);
    return build(table, GT_DISTANCE_TABLE_BITS, &set, true);
}
