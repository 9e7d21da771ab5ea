/* Both decoders compared with zlib: the same output, and the same verdict on data that is complete, cut or
 * invalid, wherever input and output are split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stream/inflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROOM = 1 << 20 };

typedef struct outcome {
    gt_inflate_result result;
    size_t len, used; /* bytes of output; bytes of input, for complete data */
    uint8_t *text;
} outcome;

static const gt_inflater *inflater; /* the decoder under test */
static void *state;
static uint8_t our_text[ROOM], zlib_text[ROOM];

static uint32_t random_state = 1;

static uint32_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* Raw deflate data, decompressed by zlib. */
static outcome by_zlib(const uint8_t *data, size_t len)
{
    z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)len, .next_out = zlib_text, .avail_out = ROOM};
    assert_int_equal(inflateInit2(&z, -15), Z_OK);
    int result = inflate(&z, Z_NO_FLUSH);
    outcome o = {GT_INFLATE_CUT, z.total_out, z.total_in, zlib_text};
    if (result == Z_STREAM_END)
        o.result = GT_INFLATE_END;
    else if (result == Z_DATA_ERROR)
        o.result = GT_INFLATE_INVALID;
    else if (!z.avail_out)
        o.result = GT_INFLATE_FULL;
    inflateEnd(&z);
    return o;
}

/* The same by our inflate: the first `first` bytes of input come alone, the output goes into pieces of
 * `piece` bytes. The input is copied to memory of its exact size, so that AddressSanitizer reports reads past
 * its end. */
static outcome by_us(const uint8_t *data, size_t len, size_t first, size_t piece)
{
    uint8_t *exact = malloc(len ? len : 1);
    if (len) memcpy(exact, data, len);
    const uint8_t *in = exact;
    uint8_t *out = our_text;
    bool last = first >= len;
    size_t shown = last ? len : first;
    inflater->begin(state);
    outcome o = {.text = our_text};
    for (;;) {
        uint8_t *end = (size_t)(our_text + ROOM - out) > piece ? out + piece : our_text + ROOM;
        o.result = inflater->run(state, &in, exact + shown, last, our_text, &out, end);
        assert_true(in <= exact + shown && out <= end);
        if (o.result == GT_INFLATE_HUNGRY) {
            assert_false(last);
            last = true;
            shown = len;
        } else if (o.result != GT_INFLATE_FULL || out == our_text + ROOM) {
            break;
        }
    }
    o.len = (size_t)(out - our_text);
    o.used = (size_t)(in - exact);
    free(exact);
    return o;
}

/* ISA-L promises less than ours on damaged data: at a cut it may hold back the last few bytes, and it accepts
 * some sets of codes that zlib rejects (the checksum of the file finds those). On complete data it must
 * agree. */
static void assert_same_or_laxer(outcome isal, outcome zlibs)
{
    if (zlibs.result == GT_INFLATE_INVALID) return;
    if (zlibs.result == GT_INFLATE_CUT && isal.result == GT_INFLATE_INVALID)
        return; /* see truncated_anywhere */
    assert_int_equal(isal.result, zlibs.result);
    assert_true(isal.len <= zlibs.len);
    assert_true(zlibs.result == GT_INFLATE_CUT ? zlibs.len - isal.len < 8 : zlibs.len == isal.len);
    assert_memory_equal(isal.text, zlibs.text, isal.len);
    if (isal.result == GT_INFLATE_END) assert_int_equal(isal.used, zlibs.used);
}

static void assert_same(outcome ours, outcome zlibs)
{
    if (inflater == &gt_inflater_isal) {
        assert_same_or_laxer(ours, zlibs);
        return;
    }
    assert_int_equal(ours.result, zlibs.result);
    assert_int_equal(ours.len, zlibs.len);
    assert_memory_equal(ours.text, zlibs.text, ours.len);
    if (ours.result == GT_INFLATE_END) assert_int_equal(ours.used, zlibs.used);
    if (ours.result == GT_INFLATE_INVALID) assert_non_null(inflater->why(state));
}

static gt_inflate_result compare(const uint8_t *data, size_t len)
{
    outcome zlibs = by_zlib(data, len);
    assert_same(by_us(data, len, len, ROOM), zlibs);
    return zlibs.result;
}

static size_t deflate_raw(uint8_t *out, const uint8_t *text, size_t len, int level, int strategy,
                          int flush_every)
{
    z_stream z = {.next_out = out, .avail_out = 2 * ROOM};
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, 8, strategy), Z_OK);
    for (size_t at = 0; flush_every && at + flush_every < len; at += flush_every) {
        z.next_in = (Bytef *)text + at;
        z.avail_in = flush_every;
        assert_int_equal(deflate(&z, at % 2 ? Z_SYNC_FLUSH : Z_FULL_FLUSH), Z_OK);
    }
    z.next_in = (Bytef *)text + z.total_in;
    z.avail_in = (uInt)(len - z.total_in);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

/* Data of several kinds, from incompressible to nothing but repetitions. */
enum { KINDS = 6 };

static void make_text(uint8_t *text, size_t len, int kind)
{
    for (size_t i = 0; i < len; i++) {
        uint32_t r = random_number();
        switch (kind) {
        case 0:
            text[i] = (uint8_t)r;
            break;
        case 1:
            text[i] = 'x';
            break;
        case 2:
            text[i] = "abcdefgh"[r % 8];
            break;
        case 3:
            text[i] = (uint8_t)__builtin_ctz(r | 1u << 30);
            break; /* very uneven frequencies: long codes */
        case 4:
            text[i] = i >= 40 && r % 16 ? text[i - 40] : (uint8_t)r;
            break;
        default:
            text[i] = i < 3 || r % 64 == 0 ? (uint8_t)r : text[i - 1 - r % (i < 31 ? i : 31)];
        }
    }
}

static uint8_t text_buffer[ROOM], data_buffer[2 * ROOM];

static void all_levels_and_sizes(void **unused)
{
    (void)unused;
    static const size_t sizes[] = {0,   1,   2,    3,     10,    257,   258,   259,   327,
                                   328, 329, 1000, 32767, 32768, 32769, 70000, 400000};
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED, Z_FILTERED};
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            make_text(text_buffer, sizes[s], kind);
            for (int level = 0; level <= 9; level++) {
                size_t len = deflate_raw(data_buffer, text_buffer, sizes[s], level, strategies[level % 5],
                                         level % 3 == 2 ? 1111 : 0);
                outcome ours = by_us(data_buffer, len, len, ROOM);
                assert_int_equal(ours.result, GT_INFLATE_END);
                assert_int_equal(ours.used, len);
                assert_int_equal(ours.len, sizes[s]);
                assert_memory_equal(ours.text, text_buffer, sizes[s]);
            }
        }
}

static void input_split_anywhere(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        make_text(text_buffer, 6000, kind);
        size_t len = deflate_raw(data_buffer, text_buffer, 6000, 6, Z_DEFAULT_STRATEGY, 700);
        for (size_t first = 0; first <= len; first++) {
            outcome ours = by_us(data_buffer, len, first, ROOM);
            assert_int_equal(ours.result, GT_INFLATE_END);
            assert_int_equal(ours.len, 6000);
            assert_memory_equal(ours.text, text_buffer, 6000);
        }
    }
}

static void output_split_anywhere(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++) {
        make_text(text_buffer, 3000, kind);
        size_t len = deflate_raw(data_buffer, text_buffer, 3000, 6, Z_DEFAULT_STRATEGY, 0);
        for (size_t piece = 1; piece <= 3001; piece++) {
            outcome ours = by_us(data_buffer, len, len, piece);
            assert_int_equal(ours.result, GT_INFLATE_END);
            assert_int_equal(ours.len, 3000);
            assert_memory_equal(ours.text, text_buffer, 3000);
        }
    }
}

/* Only the last GT_INFLATE_HISTORY bytes of output are kept before each piece, which has its own buffer. */
static void history_is_enough(void **unused)
{
    (void)unused;
    static uint8_t place[GT_INFLATE_HISTORY + 5000], kept[GT_INFLATE_HISTORY];
    make_text(text_buffer, 300000, 4);
    memcpy(text_buffer + 32768, text_buffer, 32768); /* copies from the maximum distance */
    size_t len = deflate_raw(data_buffer, text_buffer, 300000, 9, Z_DEFAULT_STRATEGY, 0), total = 0,
           kept_len = 0;
    const uint8_t *in = data_buffer;
    inflater->begin(state);
    for (gt_inflate_result result = GT_INFLATE_FULL; result == GT_INFLATE_FULL;) {
        uint8_t *begin = place + GT_INFLATE_HISTORY, *out = begin;
        memset(place, 0xee, sizeof place);
        memcpy(begin - kept_len, kept, kept_len);
        const uint8_t *history = begin - kept_len;
        result = inflater->run(state, &in, data_buffer + len, true, history, &out, begin + 5000);
        assert_true(result == GT_INFLATE_FULL || result == GT_INFLATE_END);
        assert_memory_equal(begin, text_buffer + total, out - begin);
        total += (size_t)(out - begin);
        kept_len = (size_t)(out - history) < sizeof kept ? (size_t)(out - history) : sizeof kept;
        memcpy(kept, out - kept_len, kept_len);
    }
    assert_int_equal(total, 300000);
}

static void truncated_anywhere(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < KINDS; kind++)
        for (int strategy = 0; strategy < 2; strategy++) {
            make_text(text_buffer, 1500, kind);
            size_t len =
                deflate_raw(data_buffer, text_buffer, 1500, 6, strategy ? Z_FIXED : Z_DEFAULT_STRATEGY, 400);
            for (size_t cut = 0; cut < len; cut++) {
                assert_int_equal(compare(data_buffer, cut), GT_INFLATE_CUT);
                assert_int_equal(by_us(data_buffer, cut, cut, ROOM).result, GT_INFLATE_CUT);
            }
        }
}

static void flipped_bits(void **unused)
{
    (void)unused;
    int verdicts[GT_INFLATE_INVALID + 1] = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        make_text(text_buffer, 4000, kind);
        size_t len = deflate_raw(data_buffer, text_buffer, 4000, 6, Z_DEFAULT_STRATEGY, kind == 2 ? 600 : 0);
        size_t step = len > 400 ? 7 : 1; /* each bit of the small ones */
        for (size_t bit = 0; bit < 8 * len; bit += step) {
            data_buffer[bit / 8] ^= (uint8_t)(1 << bit % 8);
            verdicts[compare(data_buffer, len)]++;
            data_buffer[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    /* every kind of verdict occurred */
    assert_true(verdicts[GT_INFLATE_END] > 10 && verdicts[GT_INFLATE_CUT] > 10 &&
                verdicts[GT_INFLATE_INVALID] > 10);
}

static void random_bytes(void **unused)
{
    (void)unused;
    for (int i = 0; i < 30000; i++) {
        size_t len = random_number() % 200;
        for (size_t k = 0; k < len; k++) data_buffer[k] = (uint8_t)random_number();
        if (len) data_buffer[0] = (uint8_t)((data_buffer[0] & ~7u) | (i % 4 ? 5 : 3)); /* coded blocks */
        compare(data_buffer, len);
    }
}

/* ---- Data made bit by bit ---- */

typedef struct bit_writer {
    uint8_t *bytes;
    size_t bits;
} bit_writer;

static void put(bit_writer *w, uint32_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++, w->bits++) {
        if (w->bits % 8 == 0) w->bytes[w->bits / 8] = 0;
        w->bytes[w->bits / 8] |= (uint8_t)((value >> i & 1) << w->bits % 8);
    }
}

static size_t written(const bit_writer *w)
{
    return (w->bits + 7) / 8;
}

/* Header of a dynamic block, lengths written one by one: each of 0..15 has a code of 4 bits, most significant
 * first. */
static void put_dynamic_header(bit_writer *w, const uint8_t *lengths, unsigned litlens, unsigned distances)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    put(w, 1 | 2 << 1, 3);
    put(w, litlens - 257, 5);
    put(w, distances - 1, 5);
    put(w, 19 - 4, 4);
    for (int i = 0; i < 19; i++) put(w, order[i] < 16 ? 4 : 0, 3);
    for (unsigned i = 0; i < litlens + distances; i++)
        for (int bit = 3; bit >= 0; bit--) put(w, lengths[i] >> bit & 1, 1);
}

/* Lengths of a set of codes without gaps: leaves are split at random until there are `leaves`. */
static void make_lengths(uint8_t *lengths, unsigned symbols, unsigned leaves, unsigned must_have)
{
    uint8_t depth[288] = {0};
    unsigned n = 1;
    while (n < leaves) {
        unsigned i = random_number() % 3 ? n - 1 : random_number() % n;
        if (depth[i] == 15) i = random_number() % n;
        if (depth[i] == 15) continue;
        depth[n++] = ++depth[i];
    }
    memset(lengths, 0, symbols);
    for (unsigned i = 0; i < n; i++) {
        unsigned symbol = i == n / 2 ? must_have : random_number() % symbols;
        while (lengths[symbol] || (i < n / 2 && symbol == must_have)) symbol = (symbol + 1) % symbols;
        lengths[symbol] = depth[i];
    }
}

/* Any set of codes, including long ones, after enough stored data that most distances are valid. */
static void random_codes(void **unused)
{
    (void)unused;
    size_t most = 0;
    bit_writer stored = {data_buffer, 0};
    put(&stored, 0, 8);
    put(&stored, 32768, 16);
    put(&stored, 32768 ^ 0xffff, 16);
    for (int k = 0; k < 32768; k += 4) put(&stored, random_number(), 32);
    for (int i = 0; i < 3000; i++) {
        bit_writer w = stored;
        uint8_t lengths[286 + 30];
        make_lengths(lengths, 286, 2 + random_number() % 285, 256);
        make_lengths(lengths + 286, 30, 2 + random_number() % 29, 0);
        if (i % 5 == 0) lengths[random_number() % 316] = random_number() % 16; /* usually not a valid set */
        put_dynamic_header(&w, lengths, 286, 30);
        for (int k = 0; k < 400; k++) put(&w, random_number(), 32);
        compare(data_buffer, written(&w));
        outcome o = by_us(data_buffer, written(&w), 33000, 777);
        if (o.len > most) most = o.len;
        assert_same(o, by_zlib(data_buffer, written(&w)));
    }
    assert_true(most > 40000); /* the fast loop was used */
}

/* Incomplete sets of codes, as RFC 1951 and zlib treat them. */
static void incomplete_code_sets(void **unused)
{
    (void)unused;
    static const struct {
        uint8_t distances[2]; /* lengths of the codes of distances 1 and 2 */
        uint8_t payload_bits;
        uint32_t payload;
        gt_inflate_result result;
    } cases[] = {
        /* literal 'a' is 0, the end is 10, a length of 3 is 11 */
        {{0, 0},
         3,
         0x2,
         GT_INFLATE_END}, /* no distance code: valid as long as there is no copy: a, end (0, 1 0) */
        {{0, 0}, 4, 0x6, GT_INFLATE_INVALID},  /* a, then a copy */
        {{1, 0}, 6, 0x16, GT_INFLATE_END},     /* one code of one bit: a, copy at distance 1, end */
        {{1, 0}, 4, 0xe, GT_INFLATE_INVALID},  /* the other bit is not a code */
        {{2, 0}, 6, 0x16, GT_INFLATE_INVALID}, /* one code, but of two bits */
        {{1, 1}, 6, 0x16, GT_INFLATE_END},     /* complete */
        {{1, 1}, 4, 0xe, GT_INFLATE_INVALID},  /* distance 2 after one byte */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t lengths[258 + 2] = {['a'] = 1, [256] = 2, [257] = 2};
        memcpy(lengths + 258, cases[i].distances, 2);
        bit_writer w = {data_buffer, 0};
        put_dynamic_header(&w, lengths, 258, 2);
        put(&w, cases[i].payload, cases[i].payload_bits);
        put(&w, 0, 32);
        assert_int_equal(compare(data_buffer, written(&w)), cases[i].result);
    }
    for (unsigned lone = 0; lone < 3; lone++) { /* the end of block alone: one bit is allowed, more are not */
        uint8_t lengths[257 + 1] = {[256] = (uint8_t)lone};
        bit_writer w = {data_buffer, 0};
        put_dynamic_header(&w, lengths, 257, 1);
        put(&w, 0, 32);
        assert_int_equal(compare(data_buffer, written(&w)), lone == 1 ? GT_INFLATE_END : GT_INFLATE_INVALID);
    }
}

/* Header fields out of range, by hand. */
static void bad_headers(void **unused)
{
    (void)unused;
    static const struct {
        uint8_t bytes[8];
        size_t len;
        gt_inflate_result result;
    } cases[] = {
        {{0x03, 0x00}, 2, GT_INFLATE_END},                   /* an empty block with the fixed codes */
        {{0x01, 0x00, 0x00, 0xff, 0xff}, 5, GT_INFLATE_END}, /* an empty stored block */
        {{0x01, 0x01, 0x00, 0xfe, 0xff, 'x'}, 6, GT_INFLATE_END},
        {{0x01, 0x01, 0x00, 0xfe, 0xff}, 5, GT_INFLATE_CUT},
        {{0x01, 0x01, 0x00, 0xff, 0xff, 'x'}, 6, GT_INFLATE_INVALID}, /* length and complement */
        {{0x07}, 1, GT_INFLATE_INVALID},                              /* block type 3 */
        {{0xf5, 0x00, 0x00}, 3, GT_INFLATE_INVALID},                  /* 287 literal and length symbols */
        {{0x05, 0x1f, 0x00}, 3, GT_INFLATE_INVALID},                  /* 32 distance symbols */
        {{0}, 0, GT_INFLATE_CUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(compare(cases[i].bytes, cases[i].len), cases[i].result);
}

static int use(const gt_inflater *chosen)
{
    inflater = chosen;
    free(state);
    state = malloc(chosen->state_size);
    return state ? 0 : -1;
}

static int use_own(void **unused)
{
    (void)unused;
    return use(&gt_inflater_own);
}

static int use_isal(void **unused)
{
    (void)unused;
    return use(&gt_inflater_isal);
}

static int free_state(void **unused)
{
    (void)unused;
    free(state);
    state = NULL;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_levels_and_sizes),  cmocka_unit_test(input_split_anywhere),
        cmocka_unit_test(output_split_anywhere), cmocka_unit_test(history_is_enough),
        cmocka_unit_test(truncated_anywhere),    cmocka_unit_test(flipped_bits),
        cmocka_unit_test(random_bytes),          cmocka_unit_test(random_codes),
        cmocka_unit_test(incomplete_code_sets),  cmocka_unit_test(bad_headers),
    };
    int failed = cmocka_run_group_tests_name("own", tests, use_own, free_state);
    return failed + cmocka_run_group_tests_name("ISA-L", tests, use_isal, free_state);
}
