/* Fuzzes inflate: verdict and output must be those of zlib, wherever input and output are split. Also the
 * file layer: its result must not depend on the size of the blocks. Of ISA-L, which we use on x86-64 only,
 * just the output for valid data is compared.
 *
 * The first byte chooses between the two, and whether a thread reads ahead; the second sets the sizes, the
 * rest is the data. */
#include "base/team.h"
#include "stream/inflate.h"
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ROOM = 1 << 18 };

static uint8_t our_text[ROOM], zlib_text[ROOM];

static void expect(bool holds)
{
    if (!holds) abort();
}

/* zlib_text has the output of valid data. */
static void run_isal(const uint8_t *data, size_t len, size_t piece, bool is_valid, size_t wanted)
{
    static uint64_t state[1 << 15];
    const gt_inflater *inflater = &gt_inflater_isal;
    expect(sizeof state >= inflater->state_size);
    const uint8_t *in = data;
    uint8_t *out = our_text;
    gt_inflate_result result;
    inflater->begin(state);
    do {
        size_t room = (size_t)(our_text + ROOM - out);
        result =
            inflater->run(state, &in, data + len, true, our_text, &out, out + (room < piece ? room : piece));
    } while (result == GT_INFLATE_FULL && out < our_text + ROOM);
    if (result == GT_INFLATE_INVALID) expect(inflater->why(state) != NULL);
    if (is_valid && wanted < ROOM)
        expect(result == GT_INFLATE_END && (size_t)(out - our_text) == wanted &&
               memcmp(our_text, zlib_text, wanted) == 0);
}

static void compare_with_zlib(const uint8_t *data, size_t len, size_t piece, size_t first)
{
    static uint64_t state[1 << 13];
    const gt_inflater *inflater = &gt_inflater_own;
    expect(sizeof state >= inflater->state_size);
    z_stream z = {
        .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len, .next_out = zlib_text, .avail_out = ROOM};
    expect(inflateInit2(&z, -15) == Z_OK);
    int verdict = inflate(&z, Z_NO_FLUSH);
    size_t zlib_len = z.total_out, zlib_used = z.total_in;
    inflateEnd(&z);

    const uint8_t *in = data;
    uint8_t *out = our_text;
    bool last = first >= len;
    gt_inflate_result result;
    inflater->begin(state);
    for (;;) {
        size_t room = (size_t)(our_text + ROOM - out);
        result = inflater->run(state, &in, last ? data + len : data + first, last, our_text, &out,
                               out + (room < piece ? room : piece));
        if (result == GT_INFLATE_HUNGRY && !last)
            last = true;
        else if (result != GT_INFLATE_FULL || out == our_text + ROOM)
            break;
    }
    size_t our_len = (size_t)(out - our_text);
    expect(our_len == zlib_len && memcmp(our_text, zlib_text, our_len) == 0);
    run_isal(data, len, piece, verdict == Z_STREAM_END, zlib_len);
    if (our_len == ROOM)
        return; /* with a full output buffer, zlib continues to the end of the block and we do not */
    expect((result == GT_INFLATE_END) == (verdict == Z_STREAM_END));
    expect((result == GT_INFLATE_INVALID) == (verdict == Z_DATA_ERROR));
    if (result == GT_INFLATE_END) expect((size_t)(in - data) == zlib_used);
}

typedef struct reading {
    size_t len;
    uLong checksum;
    bool failed;
    const char *damage;
} reading;

static reading read_file(const uint8_t *data, size_t len, size_t block, size_t keep_most)
{
    gt_error error;
    const uint8_t *text = NULL;
    size_t text_len = 0, keep = 0;
    reading r = {0};
    gt_stream *stream = gt_stream_memory(data, len, block, &error);
    while (r.len < ROOM) {
        if (!gt_stream_next(stream, text ? text + text_len - keep : NULL, keep, &text, &text_len, &error))
            r.failed = true;
        if (r.failed || text_len == keep) break;
        r.checksum = adler32(r.checksum, text + keep, (uInt)(text_len - keep));
        r.len += text_len - keep;
        keep = text_len < keep_most ? text_len : keep_most;
    }
    if (!r.failed) r.damage = gt_stream_damage(stream);
    gt_stream_close(stream);
    return r;
}

typedef struct reading_call {
    const uint8_t *data;
    size_t len, block, keep;
    reading result;
} reading_call;

static void read_in_team(void *context)
{
    reading_call *c = context;
    c->result = read_file(c->data, c->len, c->block, c->keep);
}

static void compare_block_sizes(const uint8_t *data, size_t len, size_t block, size_t keep, unsigned threads)
{
    reading_call in_team = {.data = data, .len = len, .block = block, .keep = keep};
    gt_team_run(threads, read_in_team, &in_team);
    reading large = read_file(data, len, 0, 0), small = in_team.result;
    if (large.len >= ROOM || small.len >= ROOM) return; /* neither reached the end */
    expect(large.failed == small.failed);
    if (large.failed) return; /* small blocks before the failure were returned, a large one was not */
    expect(large.len == small.len && large.checksum == small.checksum && large.damage == small.damage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 2) return 0;
    size_t size = data[1] < 128 ? data[1] + 1u : (data[1] - 127u) * 300u;
    if (data[0] & 1)
        compare_block_sizes(data + 2, len - 2, size < 64 ? size + 64 : size, data[0], data[0] & 2 ? 2 : 1);
    else
        compare_with_zlib(data + 2, len - 2, size, (size_t)data[0] * 8);
    return 0;
}
