/* Our own streaming inflate (RFC 1951), for arm64; inflate.h says why it exists.
 *
 * A fast loop decodes while there is plenty of input and room; a careful one, which checks every bit, handles
 * both ends. Between two runs the state is that between two symbols. */
#include "stream/inflate.h"
#include "stream/huffman.h"

static const uint8_t code_length_order[GT_CODE_LENGTH_SYMBOLS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};

enum {
    LITLEN_MASK = (1 << GT_LITLEN_TABLE_BITS) - 1,
    DISTANCE_MASK = (1 << GT_DISTANCE_TABLE_BITS) - 1,
    COPY_SLACK = 64,
    FAST_TURN_INPUT = 16,             /* input bytes that a turn of the fast loop may look at: two refills */
    FAST_INPUT = FAST_TURN_INPUT + 8, /* and those that must be there to begin it */
    FAST_OUTPUT = 6 + 258 + COPY_SLACK, /* output bytes that a turn may write */
};

#define NOT_A_CODE_TEXT "a code is not one of the set"
#define TOO_FAR_TEXT    "a copy reaches back too far"

enum stage { BLOCK_HEADER, STORED, CODED, DONE };

/* Where a run stopped. */
typedef struct inflate_state {
    const char *why; /* after GT_INFLATE_INVALID: a few words, such as "a copy reaches back too far" */
    uint64_t bits;   /* input bits taken and not used yet: fewer than 8 between runs */
    unsigned bit_count;
    unsigned stage;
    gt_inflate_result result;
    bool final_block;
    uint32_t stored_left;                /* bytes of a stored block still to come */
    uint32_t match_left, match_distance; /* a copy that the output had no room for */
    uint32_t litlen[GT_LITLEN_TABLE_SIZE];
    uint32_t distance[GT_DISTANCE_TABLE_SIZE];
} inflate_state;

/* Input as a row of bits, the next one lowest. */
typedef struct bit_reader {
    const uint8_t *in, *in_end;
    uint64_t bits;
    unsigned count;
} bit_reader;

/* ---- Block headers ---- */

/* The steps below return whether to go on; where not, the state holds what to tell the caller. */

static bool stop(inflate_state *state, gt_inflate_result result)
{
    state->result = result;
    return false;
}

static bool invalid(inflate_state *state, const char *why)
{
    state->why = why;
    return stop(state, GT_INFLATE_INVALID);
}

/* At least 56 bits while the input lasts; those past its end are zero and not counted. */
static inline void fill_bits(bit_reader *r)
{
    for (; r->count < 56 && r->in < r->in_end; r->count += 8) r->bits |= (uint64_t)*r->in++ << r->count;
}

static inline uint32_t peek_bits(const bit_reader *r, unsigned from, unsigned n)
{
    return (uint32_t)(r->bits >> from & ((1ull << n) - 1));
}

/* Drops as many bits as the low byte of n says, fewer than 64: so an entry can be given as it is. Shifting
 * looks at the low 6 bits only, so that the mask costs nothing. */
static inline void drop_bits(bit_reader *r, uint32_t n)
{
    r->bits >>= n & GT_ENTRY_BITS_MASK;
    r->count -= (uint8_t)n;
}

static bool take_bits(bit_reader *r, unsigned n, uint32_t *value)
{
    fill_bits(r);
    if (r->count < n) return false;
    *value = peek_bits(r, 0, n);
    drop_bits(r, n);
    return true;
}

/* Gives the bytes back of which no bit was used. */
static void return_bytes(bit_reader *r)
{
    r->in -= r->count >> 3;
    r->count &= 7;
    r->bits &= (1u << r->count) - 1;
}

static bool read_code_lengths(inflate_state *state, bit_reader *r, const uint32_t *table, uint8_t *lengths,
                              unsigned symbols)
{
    static const struct {
        uint8_t extra_bits, least;
    } repeats[3] = {{2, 3}, {3, 3}, {7, 11}}; /* symbols 16 (the length before), 17 and 18 (zero) */

    for (unsigned at = 0; at < symbols;) {
        fill_bits(r);
        uint32_t entry = table[peek_bits(r, 0, GT_CODE_LENGTH_TABLE_BITS)];
        unsigned code_bits = entry & GT_ENTRY_BITS_MASK, symbol = entry >> GT_ENTRY_VALUE_SHIFT;
        unsigned extra_bits = symbol < 16 ? 0 : repeats[symbol - 16].extra_bits;
        if (r->count < code_bits + extra_bits) return stop(state, GT_INFLATE_CUT);
        unsigned times = symbol < 16 ? 1 : repeats[symbol - 16].least + peek_bits(r, code_bits, extra_bits);
        drop_bits(r, code_bits + extra_bits);
        if (symbol == 16 && at == 0) return invalid(state, "there is no code length to repeat");
        if (times > symbols - at) return invalid(state, "there are more code lengths than symbols");
        unsigned length = symbol < 16 ? symbol : symbol == 16 ? lengths[at - 1] : 0;
        memset(lengths + at, (int)length, times);
        at += times;
    }
    return true;
}

static bool read_dynamic_codes(inflate_state *state, bit_reader *r)
{
    uint32_t counts, length;
    if (!take_bits(r, 14, &counts)) return stop(state, GT_INFLATE_CUT);
    unsigned litlens = (counts & 31) + 257, distances = (counts >> 5 & 31) + 1,
             code_lengths = (counts >> 10) + 4;
    if (litlens > GT_LITLEN_SYMBOLS || distances > GT_DISTANCE_SYMBOLS)
        return invalid(state, "there are too many length or distance symbols");

    uint8_t lengths[GT_LITLEN_SYMBOLS + GT_DISTANCE_SYMBOLS] = {0};
    for (unsigned i = 0; i < code_lengths; i++) {
        if (!take_bits(r, 3, &length)) return stop(state, GT_INFLATE_CUT);
        lengths[code_length_order[i]] = (uint8_t)length;
    }
    uint32_t table[1 << GT_CODE_LENGTH_TABLE_BITS];
    if (!gt_huffman_code_lengths(table, lengths))
        return invalid(state, "a set of code lengths does not add up");

    if (!read_code_lengths(state, r, table, lengths, litlens + distances)) return false;
    if (!lengths[GT_END_OF_BLOCK]) return invalid(state, "a block has no end");
    if (!gt_huffman_litlens(state->litlen, lengths, litlens))
        return invalid(state, "a set of literal codes does not add up");
    if (!gt_huffman_distances(state->distance, lengths + litlens, distances))
        return invalid(state, "a set of distance codes does not add up");
    state->stage = CODED;
    return true;
}

static bool use_fixed_codes(inflate_state *state)
{
    uint8_t lengths[288];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    gt_huffman_litlens(state->litlen, lengths, 288);
    memset(lengths, 5, 32);
    gt_huffman_distances(state->distance, lengths, 32);
    state->stage = CODED;
    return true;
}

static bool read_stored_header(inflate_state *state, bit_reader *r)
{
    uint32_t len, complement;
    drop_bits(r, r->count & 7);
    if (!take_bits(r, 16, &len) || !take_bits(r, 16, &complement)) return stop(state, GT_INFLATE_CUT);
    if (len != (complement ^ 0xffff))
        return invalid(state, "a stored block's length does not match its complement");
    return_bytes(r);
    state->stored_left = len;
    state->stage = STORED;
    return true;
}

static bool read_block_header(inflate_state *state, bit_reader *r)
{
    uint32_t header;
    if (!take_bits(r, 3, &header)) return stop(state, GT_INFLATE_CUT);
    state->final_block = header & 1;
    switch (header >> 1) {
    case 0:
        return read_stored_header(state, r);
    case 1:
        return use_fixed_codes(state);
    case 2:
        return read_dynamic_codes(state, r);
    default:
        return invalid(state, "there is no such kind of block");
    }
}

static bool end_block(inflate_state *state)
{
    state->stage = state->final_block ? DONE : BLOCK_HEADER;
    return true;
}

/* ---- The fast loop ---- */

static inline uint64_t load_64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* Counts at least 56 bits, without a branch. All 64 are right: those above the count belong to bytes that are
 * not taken yet, and stay as they are when the same bytes are put over them again. */
static inline void refill_fast(bit_reader *r)
{
    r->bits |= load_64(r->in) << r->count;
    r->in += (63 - r->count) >> 3;
    r->count |= 56;
}

/* The entry for what comes next; the refill is not waited for, as enough of the last one is left. */
static inline uint32_t next_entry(bit_reader *r, const uint32_t *litlen)
{
    uint32_t entry = litlen[r->bits & LITLEN_MASK];
    refill_fast(r);
    return entry;
}

/* The value of a length or distance: its base and the extra bits after its code. */
static inline uint32_t take_value(bit_reader *r, uint32_t entry)
{
    uint64_t bits = r->bits & ((1ull << (uint8_t)entry) - 1);
    drop_bits(r, entry);
    return (entry >> GT_ENTRY_VALUE_SHIFT) +
           (uint32_t)(bits >> (entry >> GT_ENTRY_CODE_SHIFT & GT_ENTRY_CODE_MASK));
}

/* Writes two bytes and counts those that are literals. */
static inline uint8_t *put_literals(bit_reader *r, uint32_t entry, uint8_t *out)
{
    out[0] = (uint8_t)(entry >> GT_ENTRY_VALUE_SHIFT);
    out[1] = (uint8_t)(entry >> (GT_ENTRY_VALUE_SHIFT + 8));
    drop_bits(r, entry);
    return out + 1 + (entry / GT_ENTRY_PAIR & 1);
}

static inline uint32_t follow_link(bit_reader *r, const uint32_t *table, uint32_t entry)
{
    drop_bits(r, entry);
    return table[(entry >> GT_ENTRY_VALUE_SHIFT) +
                 peek_bits(r, 0, entry >> GT_ENTRY_CODE_SHIFT & GT_ENTRY_CODE_MASK)];
}

typedef uint8_t bytes_16 __attribute__((vector_size(16), aligned(1)));

static inline void copy_16(uint8_t *to, const uint8_t *from)
{
    *(bytes_16 *)to = *(const bytes_16 *)from;
}

static inline void copy_32(uint8_t *to, const uint8_t *from)
{
    bytes_16 low = *(const bytes_16 *)from, high = *(const bytes_16 *)(from + 16);
    *(bytes_16 *)to = low;
    *(bytes_16 *)(to + 16) = high;
}

/* Copies in whole steps, so writes up to COPY_SLACK bytes too many. */
static inline void copy_match(uint8_t *out, size_t distance, size_t len)
{
    const uint8_t *from = out - distance;
    const uint8_t *end = out + len;
    if (distance >= 32) {
        do {
            copy_32(out, from);
            copy_32(out + 32, from + 32);
            out += 64;
            from += 64;
        } while (out < end);
        return;
    }
    /* The bytes repeat: after each copy twice as many of them stand there. */
    for (; distance < 16; distance *= 2) {
        copy_16(out, from);
        out += distance;
    }
    for (; out < end; out += 16) copy_16(out, out - distance);
}

/* Decodes while there is plenty of input and room: to be called where there is. */
static inline __attribute__((always_inline)) bool decode_fast(inflate_state *state, bit_reader *reader,
                                                              const uint8_t *history, uint8_t **out_at,
                                                              const uint8_t *out_end)
{
    const uint32_t *const litlen = state->litlen, *const distances = state->distance;
    const uint8_t *const in_limit = reader->in_end - FAST_TURN_INPUT;
    const uint8_t *const out_limit = out_end - FAST_OUTPUT;
    bit_reader r = *reader;
    uint8_t *out = *out_at;
    bool going = true;

    refill_fast(&r);
    uint32_t entry = litlen[r.bits & LITLEN_MASK];
    while (r.in <= in_limit && out <= out_limit) {
        if (entry & GT_ENTRY_LITERAL) { /* three of these take 30 of the 56 bits at most */
            out = put_literals(&r, entry, out);
            entry = litlen[r.bits & LITLEN_MASK];
            if (entry & GT_ENTRY_LITERAL) {
                out = put_literals(&r, entry, out);
                entry = litlen[r.bits & LITLEN_MASK];
                if (entry & GT_ENTRY_LITERAL) {
                    out = put_literals(&r, entry, out);
                    entry = next_entry(&r, litlen);
                    continue;
                }
            }
            refill_fast(&r);
        }
        if (entry & (GT_ENTRY_LINK | GT_ENTRY_STOP)) {
            if (entry & GT_ENTRY_LINK) entry = follow_link(&r, litlen, entry);
            if (entry & GT_ENTRY_LITERAL) {
                out = put_literals(&r, entry, out);
                entry = next_entry(&r, litlen);
                continue;
            }
            if (entry & GT_ENTRY_STOP) {
                drop_bits(&r, entry);
                going = entry >> GT_ENTRY_VALUE_SHIFT == GT_END_OF_BLOCK ? end_block(state)
                                                                         : invalid(state, NOT_A_CODE_TEXT);
                break;
            }
        }
        uint32_t len = take_value(&r, entry); /* 20 bits at most, and the distance 28 */
        entry = distances[r.bits & DISTANCE_MASK];
        if (entry & (GT_ENTRY_LINK | GT_ENTRY_STOP)) {
            if (entry & GT_ENTRY_LINK) entry = follow_link(&r, distances, entry);
            if (entry & GT_ENTRY_STOP) {
                going = invalid(state, NOT_A_CODE_TEXT);
                break;
            }
        }
        uint32_t distance = take_value(&r, entry);
        if (distance > (size_t)(out - history)) {
            going = invalid(state, TOO_FAR_TEXT);
            break;
        }
        entry = next_entry(&r, litlen); /* before the copy, to be there when it is done */
        copy_match(out, distance, len);
        out += len;
    }
    *reader = r;
    return_bytes(reader);
    *out_at = out;
    return going;
}

#ifdef __x86_64__
/* With BMI2 a shift takes its count from any register and does not wait for flags. */
__attribute__((target("bmi2"))) static bool run_fast_bmi2(inflate_state *state, bit_reader *reader,
                                                          const uint8_t *history, uint8_t **out_at,
                                                          const uint8_t *out_end)
{
    return decode_fast(state, reader, history, out_at, out_end);
}
#endif

static bool run_fast(inflate_state *state, bit_reader *reader, const uint8_t *history, uint8_t **out_at,
                     const uint8_t *out_end)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("bmi2")) return run_fast_bmi2(state, reader, history, out_at, out_end);
#endif
    return decode_fast(state, reader, history, out_at, out_end);
}

/* ---- Near the ends ---- */

/* The entry for the bits from `from` on; moves it over the first table's bits where a second one is needed.
 */
static uint32_t look_up(const bit_reader *r, const uint32_t *table, unsigned table_bits, unsigned *from)
{
    uint32_t entry = table[peek_bits(r, *from, table_bits)];
    if (!(entry & GT_ENTRY_LINK)) return entry;
    *from += table_bits;
    return table[(entry >> GT_ENTRY_VALUE_SHIFT) +
                 peek_bits(r, *from, entry >> GT_ENTRY_CODE_SHIFT & GT_ENTRY_CODE_MASK)];
}

/* A copy as far as there is room. */
static uint8_t *copy_pending(inflate_state *state, uint8_t *out, const uint8_t *out_end)
{
    for (; state->match_left && out < out_end; state->match_left--, out++)
        *out = *(out - state->match_distance);
    return out;
}

/* One symbol, taken only if all its bits are there: at most 48, so one filling is enough. There is room for a
 * byte. */
static bool run_careful(inflate_state *state, bit_reader *r, const uint8_t *history, uint8_t **out)
{
    fill_bits(r);
    unsigned used = 0;
    uint32_t entry = look_up(r, state->litlen, GT_LITLEN_TABLE_BITS, &used);
    unsigned code_bits = entry >> GT_ENTRY_CODE_SHIFT & GT_ENTRY_CODE_MASK,
             extra_bits = (entry & GT_ENTRY_BITS_MASK) - code_bits;
    if (entry & GT_ENTRY_LITERAL) extra_bits = 0; /* of a pair, the first */
    if (used + code_bits + extra_bits > r->count) return stop(state, GT_INFLATE_CUT);
    if (entry & GT_ENTRY_LITERAL) {
        *(*out)++ = (uint8_t)(entry >> GT_ENTRY_VALUE_SHIFT);
        drop_bits(r, used + code_bits);
        return true;
    }
    if (entry & GT_ENTRY_STOP) {
        drop_bits(r, used + code_bits);
        return entry >> GT_ENTRY_VALUE_SHIFT == GT_END_OF_BLOCK ? end_block(state)
                                                                : invalid(state, NOT_A_CODE_TEXT);
    }
    uint32_t len = (entry >> GT_ENTRY_VALUE_SHIFT) + peek_bits(r, used + code_bits, extra_bits);
    used += code_bits + extra_bits;

    entry = look_up(r, state->distance, GT_DISTANCE_TABLE_BITS, &used);
    code_bits = entry >> GT_ENTRY_CODE_SHIFT & GT_ENTRY_CODE_MASK,
    extra_bits = (entry & GT_ENTRY_BITS_MASK) - code_bits;
    if (used + code_bits + extra_bits > r->count) return stop(state, GT_INFLATE_CUT);
    if (entry & GT_ENTRY_STOP) return invalid(state, NOT_A_CODE_TEXT);
    uint32_t distance = (entry >> GT_ENTRY_VALUE_SHIFT) + peek_bits(r, used + code_bits, extra_bits);
    if (distance > (size_t)(*out - history)) return invalid(state, TOO_FAR_TEXT);
    drop_bits(r, used + code_bits + extra_bits);
    state->match_left = len;
    state->match_distance = distance;
    return true;
}

static bool copy_stored(inflate_state *state, bit_reader *r, bool last, uint8_t **out, const uint8_t *out_end)
{
    if (!state->stored_left) return end_block(state);
    size_t input = (size_t)(r->in_end - r->in), room = (size_t)(out_end - *out), len = state->stored_left;
    if (!room) return stop(state, GT_INFLATE_FULL);
    if (!input) return stop(state, last ? GT_INFLATE_CUT : GT_INFLATE_HUNGRY);
    if (len > input) len = input;
    if (len > room) len = room;
    memcpy(*out, r->in, len);
    *out += len;
    r->in += len;
    state->stored_left -= (uint32_t)len;
    return true;
}

static bool run_coded(inflate_state *state, bit_reader *r, bool last, const uint8_t *history, uint8_t **out,
                      const uint8_t *out_end)
{
    *out = copy_pending(state, *out, out_end);
    size_t input = (size_t)(r->in_end - r->in), room = (size_t)(out_end - *out);
    if (!room) return stop(state, GT_INFLATE_FULL);
    if (input >= FAST_INPUT && room >= FAST_OUTPUT) return run_fast(state, r, history, out, out_end);
    if (input < FAST_INPUT && !last) return stop(state, GT_INFLATE_HUNGRY);
    return run_careful(state, r, history, out);
}

static void begin(void *memory)
{
    inflate_state *state = memory;
    state->bits = state->bit_count = 0;
    state->stage = BLOCK_HEADER;
    state->match_left = 0;
    state->why = NULL;
}

static gt_inflate_result run(void *memory, const uint8_t **in, const uint8_t *in_end, bool last,
                             const uint8_t *history, uint8_t **out, uint8_t *out_end)
{
    inflate_state *state = memory;
    bit_reader r = {*in, in_end, state->bits, state->bit_count};
    for (bool going = true; going;) {
        switch (state->stage) {
        case BLOCK_HEADER:
            if (!last && in_end - r.in < GT_INFLATE_LOOKAHEAD)
                going = stop(state, GT_INFLATE_HUNGRY);
            else
                going = read_block_header(state, &r);
            break;
        case STORED:
            going = copy_stored(state, &r, last, out, out_end);
            break;
        case CODED:
            going = run_coded(state, &r, last, history, out, out_end);
            break;
        default:
            drop_bits(&r, r.count & 7);
            going = stop(state, GT_INFLATE_END);
        }
    }
    return_bytes(&r);
    *in = r.in;
    state->bits = r.bits;
    state->bit_count = r.count;
    return state->result;
}

static const char *why(const void *memory)
{
    return ((const inflate_state *)memory)->why;
}

const gt_inflater gt_inflater_own = {"own", sizeof(inflate_state), begin, run, why};
