/* zstd files: a sequence of frames, decompressed by libzstd. Skippable frames are skipped; zero bytes between
 * and after frames are padding, as in gzip files. */
#include "stream/unpack.h"
#include "base/guard.h"

#include <zstd.h>
#include <zstd_errors.h>

static const uint8_t frame_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
static const uint8_t skippable_magic[4] = {0x50, 0x2a, 0x4d, 0x18}; /* the low 4 bits of the first are free */

typedef struct zstd_unpacker {
    gt_feed feed;
    ZSTD_DStream *zstd;
    bool between_frames, ended;
    const char *damage;
} zstd_unpacker;

static bool zstd_recognises(const uint8_t *head, size_t len)
{
    return len >= 4 && (memcmp(head, frame_magic, 4) == 0 || ((head[0] & 0xf0) == skippable_magic[0] &&
                                                              memcmp(head + 1, skippable_magic + 1, 3) == 0));
}

static gt_unpacker *zstd_begin(gt_raw_input *stored)
{
    zstd_unpacker *z = gt_alloc_zero(1, sizeof *z);
    gt_feed_begin(&z->feed, stored);
    z->zstd = ZSTD_createDStream();
    if (!z->zstd) gt_raise_out_of_memory(ZSTD_DStreamInSize());
    return (gt_unpacker *)z;
}

static void zstd_end(gt_unpacker *unpacker)
{
    zstd_unpacker *z = (zstd_unpacker *)unpacker;
    ZSTD_freeDStream(z->zstd);
    gt_feed_end(&z->feed);
    gt_free(z);
}

static const char *zstd_damage(const gt_unpacker *unpacker)
{
    return ((const zstd_unpacker *)unpacker)->damage;
}

static bool ends_here(zstd_unpacker *z, const char *damage)
{
    z->ended = true;
    z->damage = damage;
    return true;
}

static bool ends_early(zstd_unpacker *z)
{
    return ends_here(z, "the zstd data ends early");
}

static bool find_next_frame(zstd_unpacker *z, gt_error *error)
{
    if (!gt_feed_skip_zeros(&z->feed, error) || !gt_feed_ensure(&z->feed, 4, error)) return false;
    size_t len = gt_feed_len(&z->feed);
    if (len == 0) return ends_here(z, NULL);
    if (len < 4 && memcmp(z->feed.next, frame_magic, len) == 0) return ends_early(z);
    if (!zstd_recognises(z->feed.next, len))
        return ends_here(z, "bytes that are not zstd follow the zstd data");
    z->between_frames = false;
    return true;
}

static bool read_frame(zstd_unpacker *z, ZSTD_outBuffer *out, gt_error *error)
{
    ZSTD_inBuffer in = {z->feed.next, gt_feed_len(&z->feed), 0};
    size_t had = out->pos, result = ZSTD_decompressStream(z->zstd, out, &in);
    z->feed.next += in.pos;
    if (ZSTD_isError(result) && ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        gt_raise("out of memory");
    if (ZSTD_isError(result))
        return gt_fail(error, "%s: the zstd data is invalid near byte %llu: %s", z->feed.stored->path,
                       (unsigned long long)gt_feed_offset(&z->feed), ZSTD_getErrorName(result));
    z->between_frames = result == 0;
    if (result == 0 || out->pos > had || in.pos) return true;
    return z->feed.last ? ends_early(z) : gt_feed_more(&z->feed, error);
}

static bool zstd_fill(gt_unpacker *unpacker, uint8_t *text, size_t room, size_t *got, gt_error *error)
{
    zstd_unpacker *z = (zstd_unpacker *)unpacker;
    ZSTD_outBuffer out = {text, room, 0};
    while (out.pos < room && !z->ended) {
        bool going = z->between_frames ? find_next_frame(z, error) : read_frame(z, &out, error);
        if (!going) return false;
    }
    *got = out.pos;
    return true;
}

const gt_unpacker_kind gt_unpack_zstd = {zstd_recognises, zstd_begin, zstd_fill, zstd_damage, zstd_end};
