/* gzip files (RFC 1952): a sequence of members, each with a header, deflate data and a checksum.
 *
 * Truncated data is handed out as far as it goes; invalid data is an error. Zero bytes between and after
 * members are padding. */
#include "stream/unpack.h"
#include "stream/inflate.h"

#include <libdeflate.h>

enum { MAGIC_0 = 0x1f, MAGIC_1 = 0x8b, METHOD_DEFLATE = 8 };
enum { HEADER_CRC = 2, EXTRA_FIELD = 4, FILE_NAME = 8, COMMENT = 16, RESERVED_FLAGS = 0xe0 };

typedef enum stage { MEMBER_HEADER, MEMBER_DATA, MEMBER_CHECK, BETWEEN_MEMBERS, ENDED } stage;

typedef struct gzip_unpacker {
    gt_feed feed;
    stage stage;
    const char *damage;
    uint32_t crc, text_len; /* of the member so far, or of the header while it is read */
    size_t history_len;     /* how much of the end of the member's text `history` holds, for the next piece */
    const gt_inflater *inflater;
    void *inflate; /* its state */
    uint8_t history[GT_INFLATE_HISTORY];
} gzip_unpacker;

static bool gzip_recognises(const uint8_t *head, size_t len)
{
    return len >= 2 && head[0] == MAGIC_0 && head[1] == MAGIC_1;
}

static gt_unpacker *gzip_begin(gt_raw_input *stored)
{
    gzip_unpacker *z = gt_alloc(sizeof *z);
    z->stage = MEMBER_HEADER;
    z->damage = NULL;
    z->history_len = 0;
    z->inflater = gt_inflater_best();
    z->inflate = gt_alloc(z->inflater->state_size);
    gt_feed_begin(&z->feed, stored);
    return (gt_unpacker *)z;
}

static void gzip_end(gt_unpacker *unpacker)
{
    gzip_unpacker *z = (gzip_unpacker *)unpacker;
    gt_feed_end(&z->feed);
    gt_free_all(z->inflate, z);
}

static const char *gzip_damage(const gt_unpacker *unpacker)
{
    return ((const gzip_unpacker *)unpacker)->damage;
}

static bool invalid(const gzip_unpacker *z, const char *why, gt_error *error)
{
    return gt_fail(error, "%s: the gzip data is invalid at byte %llu: %s", z->feed.stored->path,
                   (unsigned long long)gt_feed_offset(&z->feed), why);
}

static bool ends_here(gzip_unpacker *z, const char *damage)
{
    z->stage = ENDED;
    z->damage = damage;
    return true;
}

static bool ends_early(gzip_unpacker *z)
{
    return ends_here(z, "the gzip data ends early");
}

/* Headers are read byte by byte, because they may have any length. */

static bool header_byte(gzip_unpacker *z, uint8_t *byte, gt_error *error)
{
    if (!gt_feed_ensure(&z->feed, 1, error)) return false;
    if (!gt_feed_len(&z->feed)) return ends_early(z);
    *byte = *z->feed.next++;
    z->crc = libdeflate_crc32(z->crc, byte, 1);
    return true;
}

static bool header_number(gzip_unpacker *z, unsigned bytes, uint32_t *number, gt_error *error)
{
    *number = 0;
    for (unsigned i = 0; i < bytes && z->stage != ENDED; i++) {
        uint8_t byte = 0;
        if (!header_byte(z, &byte, error)) return false;
        *number |= (uint32_t)byte << 8 * i;
    }
    return true;
}

static bool skip_bytes(gzip_unpacker *z, uint32_t len, gt_error *error)
{
    for (uint8_t byte; len && z->stage != ENDED; len--)
        if (!header_byte(z, &byte, error)) return false;
    return true;
}

static bool skip_text(gzip_unpacker *z, gt_error *error)
{
    for (uint8_t byte = 1; byte && z->stage != ENDED;)
        if (!header_byte(z, &byte, error)) return false;
    return true;
}

static bool read_header(gzip_unpacker *z, gt_error *error)
{
    uint32_t fixed, len, crc;
    z->crc = 0;
    if (!header_number(z, 4, &fixed, error) || !skip_bytes(z, 6, error)) return false;
    if (z->stage == ENDED) return true;
    unsigned method = fixed >> 16 & 0xff, flags = fixed >> 24;
    if (method != METHOD_DEFLATE) return invalid(z, "its compression method is not deflate", error);
    if (flags & RESERVED_FLAGS) return invalid(z, "its header has unknown flags", error);
    if (flags & EXTRA_FIELD && (!header_number(z, 2, &len, error) || !skip_bytes(z, len, error)))
        return false;
    if (flags & FILE_NAME && !skip_text(z, error)) return false;
    if (flags & COMMENT && !skip_text(z, error)) return false;
    if (flags & HEADER_CRC) {
        uint32_t expected = z->crc & 0xffff;
        if (!header_number(z, 2, &crc, error)) return false;
        if (z->stage != ENDED && crc != expected)
            return invalid(z, "its header's checksum does not match", error);
    }
    if (z->stage == ENDED) return true;
    z->stage = MEMBER_DATA;
    z->crc = z->text_len = 0;
    z->inflater->begin(z->inflate);
    return true;
}

/* `history` points to the oldest text of the member that is still before *out. */
static bool read_data(gzip_unpacker *z, const uint8_t *history, uint8_t **out, uint8_t *out_end,
                      gt_error *error)
{
    uint8_t *begin = *out;
    gt_inflate_result result =
        z->inflater->run(z->inflate, &z->feed.next, z->feed.end, z->feed.last, history, out, out_end);
    size_t len = (size_t)(*out - begin);
    z->crc = libdeflate_crc32(z->crc, begin, len);
    z->text_len += (uint32_t)len;
    switch (result) {
    case GT_INFLATE_FULL:
        return true;
    case GT_INFLATE_HUNGRY:
        return gt_feed_more(&z->feed, error);
    case GT_INFLATE_END:
        z->stage = MEMBER_CHECK;
        return true;
    case GT_INFLATE_CUT:
        return ends_early(z);
    default:
        return invalid(z, z->inflater->why(z->inflate), error);
    }
}

static bool check_member(gzip_unpacker *z, gt_error *error)
{
    if (!gt_feed_ensure(&z->feed, 8, error)) return false;
    if (gt_feed_len(&z->feed) < 8) return ends_early(z);
    uint32_t crc = 0, len = 0;
    for (unsigned i = 0; i < 4; i++) {
        crc |= (uint32_t)z->feed.next[i] << 8 * i;
        len |= (uint32_t)z->feed.next[4 + i] << 8 * i;
    }
    if (crc != z->crc) return invalid(z, "the checksum does not match", error);
    if (len != z->text_len) return invalid(z, "the length does not match", error);
    z->feed.next += 8;
    z->stage = BETWEEN_MEMBERS;
    return true;
}

static bool find_next_member(gzip_unpacker *z, gt_error *error)
{
    if (!gt_feed_skip_zeros(&z->feed, error) || !gt_feed_ensure(&z->feed, 2, error)) return false;
    size_t len = gt_feed_len(&z->feed);
    if (len == 0) return ends_here(z, NULL);
    if (len == 1 && *z->feed.next == MAGIC_0) return ends_early(z);
    if (!gzip_recognises(z->feed.next, len))
        return ends_here(z, "bytes that are not gzip follow the gzip data");
    z->stage = MEMBER_HEADER;
    return true;
}

static bool gzip_fill(gt_unpacker *unpacker, uint8_t *out, size_t room, size_t *got, gt_error *error)
{
    gzip_unpacker *z = (gzip_unpacker *)unpacker;
    uint8_t *at = out, *const end = out + room;
    const uint8_t *member = out - z->history_len; /* as much of the member's text as is available */
    memcpy(out - z->history_len, z->history, z->history_len);
    while (at < end && z->stage != ENDED) {
        bool going = true;
        switch (z->stage) {
        case MEMBER_HEADER:
            going = read_header(z, error);
            member = at;
            break;
        case MEMBER_DATA:
            going = read_data(z, member, &at, end, error);
            break;
        case MEMBER_CHECK:
            going = check_member(z, error);
            break;
        default:
            going = find_next_member(z, error);
        }
        if (!going) return false;
    }
    size_t have = (size_t)(at - member);
    z->history_len = have < sizeof z->history ? have : sizeof z->history;
    memcpy(z->history, at - z->history_len, z->history_len);
    *got = (size_t)(at - out);
    return true;
}

const gt_unpacker_kind gt_unpack_gzip = {gzip_recognises, gzip_begin, gzip_fill, gzip_damage, gzip_end};
