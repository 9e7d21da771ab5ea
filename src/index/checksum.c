/* Checksums: four independent lanes per chunk, then the checksum of the checksums of all chunks. */
#include "index/checksum.h"
#include "base/team.h"

#include <stdatomic.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

enum { LANES = 4 };

static const uint64_t seeds[LANES] = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                                      0xD6E8FEB86659FD93};

/* A bijection of the lane for any word, so that a change of one word always shows; the rotation brings the
 * high bits down, where the next product spreads them. */
static inline uint64_t step(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * 0x9FB21C651E98DF25;
    return lane << 29 | lane >> 35;
}

/* Words are read in the order of this machine's bytes: a file of the other order is rejected before. */
static uint64_t chunk_sum(const uint8_t *bytes, size_t len)
{
    uint64_t lanes[LANES], words[LANES];
    memcpy(lanes, seeds, sizeof lanes);
    size_t at = 0;
    for (; at + sizeof words <= len; at += sizeof words) {
        memcpy(words, bytes + at, sizeof words);
        for (size_t i = 0; i < LANES; i++) lanes[i] = step(lanes[i], words[i]);
    }
    memset(words, 0, sizeof words);
    if (at < len) memcpy(words, bytes + at, len - at);
    uint64_t sum = len;
    for (size_t i = 0; i < LANES; i++) sum = step(sum, step(lanes[i], words[i]));
    return sum ^ sum >> 32;
}

static uint64_t join(const uint64_t *sums, size_t count, uint64_t len)
{
    uint64_t sum = len;
    for (size_t i = 0; i < count; i++) sum = step(sum, sums[i]);
    return sum ^ sum >> 31;
}

typedef struct summing {
    const uint8_t *bytes; /* NULL: of the file */
    uint8_t *out;         /* where what is read stays; NULL: nowhere */
    int descriptor;
    uint64_t offset, len; /* in the file */
    uint64_t *sums;       /* by chunk */
    _Atomic bool failed;
} summing;

bool gt_read_fully(int descriptor, void *bytes, size_t len, uint64_t offset)
{
    uint8_t *out = bytes;
    while (len) {
        ssize_t got = pread(descriptor, out, len, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        out += got;
        offset += (uint64_t)got;
        len -= (size_t)got;
    }
    return true;
}

static void sum_chunk(void *context, size_t index)
{
    summing *s = context;
    uint64_t begin = (uint64_t)index * CHUNK;
    size_t len = s->len - begin < CHUNK ? (size_t)(s->len - begin) : CHUNK;
    if (s->bytes) {
        s->sums[index] = chunk_sum(s->bytes + begin, len);
        return;
    }
    if (s->failed) return;
    uint8_t *buffer = s->out ? s->out + begin : gt_alloc(len);
    if (gt_read_fully(s->descriptor, buffer, len, s->offset + begin))
        s->sums[index] = chunk_sum(buffer, len);
    else
        s->failed = true;
    if (!s->out) gt_free(buffer);
}

static uint64_t sum_all(summing *s)
{
    size_t count = (size_t)(s->len / CHUNK + (s->len % CHUNK != 0));
    s->sums = gt_alloc_zero(count, sizeof *s->sums);
    gt_parallel_each(count, sum_chunk, s);
    uint64_t sum = join(s->sums, count, s->len);
    gt_free(s->sums);
    return sum;
}

uint64_t gt_checksum(const void *bytes, size_t len)
{
    if (len <= CHUNK) {
        uint64_t one = len ? chunk_sum(bytes, len) : 0;
        return join(&one, len != 0, len);
    }
    return sum_all(&(summing){.bytes = bytes, .len = len});
}

bool gt_checksum_file(int descriptor, uint64_t len, uint64_t *sum)
{
    summing s = {.descriptor = descriptor, .len = len};
    *sum = sum_all(&s);
    return !s.failed;
}

bool gt_checksum_read(int descriptor, uint64_t offset, void *out, size_t len, uint64_t *sum)
{
    summing s = {.descriptor = descriptor, .out = out, .offset = offset, .len = len};
    *sum = sum_all(&s);
    return !s.failed;
}
