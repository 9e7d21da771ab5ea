/* Compares our inflate with ISA-L's on one gzip file, both in the way that src/stream/gzip.c works: the
 * compressed file lies in memory, output goes piece by piece into one block, and history stays before it.
 *
 *     bench_inflate FILE.gz [ROUNDS]
 *
 * The two take turns; the best time of each counts. Prints "own M ms isal M ms ratio R bytes N best NAME":
 * the ratio is ISA-L's time over ours: above 1, ours is faster, and
 * NAME is the decoder that the program uses on this machine. Checksums are compared, not timed. */
#include "stream/inflate.h"

#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIECE = 1 << 20, PAD = 64 };

typedef struct outcome {
    double milliseconds;
    uint64_t bytes;
    uint32_t checksum;
} outcome;

static uint8_t block[GT_INFLATE_HISTORY + PIECE + PAD];

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A weak sum is enough: two decoders that differ by accident do not agree on it. */
static uint32_t add_checksum(uint32_t sum, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i += 61) sum = sum * 31 + bytes[i];
    return sum;
}

/* The end of a piece moves in front of the block, so that copies in the next piece can reach it. */
static size_t keep_history(size_t held, size_t written)
{
    size_t total = held + written, keep = total < GT_INFLATE_HISTORY ? total : GT_INFLATE_HISTORY;
    uint8_t *end = block + GT_INFLATE_HISTORY + written;
    memmove(block + GT_INFLATE_HISTORY - keep, end - keep, keep);
    return keep;
}

static bool run(const gt_inflater *inflater, const uint8_t *data, const uint8_t *end, outcome *out)
{
    void *state = malloc(inflater->state_size);
    if (!state) return false;
    inflater->begin(state);
    size_t held = 0;
    gt_inflate_result result = GT_INFLATE_FULL;
    for (*out = (outcome){0}; result == GT_INFLATE_FULL;) {
        uint8_t *at = block + GT_INFLATE_HISTORY;
        double begin = now_ms();
        result = inflater->run(state, &data, end, true, at - held, &at, at + PIECE);
        size_t written = (size_t)(at - block) - GT_INFLATE_HISTORY;
        out->milliseconds += now_ms() - begin;
        out->checksum = add_checksum(out->checksum, block + GT_INFLATE_HISTORY, written);
        out->bytes += written;
        begin = now_ms();
        held = keep_history(held, written);
        out->milliseconds += now_ms() - begin;
    }
    free(state);
    return result == GT_INFLATE_END;
}

/* Where the deflate data of a gzip member begins; 0 where this is not gzip. */
static size_t data_offset(const uint8_t *bytes, size_t len)
{
    struct isal_gzip_header header;
    struct inflate_state state;
    isal_inflate_init(&state);
    isal_gzip_header_init(&header);
    state.next_in = (uint8_t *)bytes;
    state.avail_in = (uint32_t)len;
    return isal_read_gzip_header(&state, &header) == ISAL_DECOMP_OK ? (size_t)(state.next_in - bytes) : 0;
}

static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) return NULL;
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = size > 0 ? malloc((size_t)size + PAD) : NULL;
    if (bytes) *len = fread(bytes, 1, (size_t)size, file);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc < 2) return fputs("usage: bench_inflate FILE.gz [ROUNDS]\n", stderr), 2;
    size_t len = 0;
    uint8_t *bytes = read_file(argv[1], &len);
    size_t offset = bytes ? data_offset(bytes, len) : 0;
    if (!offset) return fprintf(stderr, "bench_inflate: %s: not a gzip file\n", argv[1]), 1;
    outcome best_own = {0}, best_isal = {0}, own, isal;
    for (int round = 0, rounds = argc > 2 ? atoi(argv[2]) : 15; round < rounds; round++) {
        if (!run(&gt_inflater_own, bytes + offset, bytes + len, &own) ||
            !run(&gt_inflater_isal, bytes + offset, bytes + len, &isal))
            return fprintf(stderr, "bench_inflate: %s: cannot be decompressed\n", argv[1]), 1;
        if (own.bytes != isal.bytes || own.checksum != isal.checksum)
            return fprintf(stderr, "bench_inflate: %s: the two results differ\n", argv[1]), 1;
        if (!round || own.milliseconds < best_own.milliseconds) best_own = own;
        if (!round || isal.milliseconds < best_isal.milliseconds) best_isal = isal;
    }
    printf("own %.3f ms isal %.3f ms ratio %.3f bytes %llu best %s\n", best_own.milliseconds,
           best_isal.milliseconds, best_isal.milliseconds / best_own.milliseconds,
           (unsigned long long)best_own.bytes, gt_inflater_best()->name);
    free(bytes);
    return 0;
}
