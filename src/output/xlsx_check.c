/* Did the disk fill up while the workbook was put together?
 *
 * libxlsxwriter (1.1.4) writes each part to a temporary file without looking at what the writes return, and
 * then packs what arrived: on a full disk it reports success for a sheet that ends in the middle. So the
 * archive is read once more: each part must end by closing its first element. Takes about a twentieth of the
 * time of writing. */
#include "output/xlsx_check.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { KEPT = 256, HEADER_BYTES = 30, DEFLATED = 8 };
enum { METHOD_AT = 8, NAME_LENGTH_AT = 26, EXTRA_LENGTH_AT = 28 }; /* in a part's header */

/* The beginning and the end of a part. */
typedef struct part {
    char first[KEPT], last[KEPT];
    size_t first_len, last_len;
} part;

static void keep_ends(part *ends, const char *bytes, size_t len)
{
    if (ends->first_len < KEPT) {
        size_t taken = KEPT - ends->first_len < len ? KEPT - ends->first_len : len;
        memcpy(ends->first + ends->first_len, bytes, taken);
        ends->first_len += taken;
    }
    size_t fresh = len < KEPT ? len : KEPT;
    size_t old = ends->last_len < KEPT - fresh ? ends->last_len : KEPT - fresh;
    memmove(ends->last, ends->last + ends->last_len - old, old);
    memcpy(ends->last + old, bytes + len - fresh, fresh);
    ends->last_len = old + fresh;
}

/* "<?xml ...?><name ...> ... </name>", or a single element "<name .../>" that is short enough to be seen
 * whole. */
static bool closes_what_it_opens(const part *ends)
{
    const char *name = memmem(ends->first, ends->first_len, "?>", 2);
    if (!name) return false;
    const char *end = ends->first + ends->first_len;
    name += 2;
    while (name < end && (*name == '\n' || *name == '\r')) name++;
    if (name == end || *name != '<') return false;
    name++;
    size_t len = 0;
    while (name + len < end && !memchr(" />", name[len], 3)) len++;

    const char *last = ends->last + ends->last_len;
    while (last > ends->last && last[-1] == '\n') last--;
    if ((size_t)(last - ends->last) < len + 3) return false;
    return last[-1] == '>' && memcmp(last - 1 - len, name, len) == 0 && memcmp(last - 3 - len, "</", 2) == 0;
}

/* Inflates one part. Returns the bytes it took, 0 if it is damaged. */
static size_t inflate_part(const unsigned char *bytes, size_t len, part *ends)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return 0;
    char out[64 * 1024];
    int status = Z_OK;
    size_t left = len;
    stream.next_in = (unsigned char *)(uintptr_t)bytes;
    while (status == Z_OK) {
        if (stream.avail_in == 0 && left > 0) {
            stream.avail_in = left > 1 << 30 ? 1 << 30 : (unsigned)left;
            left -= stream.avail_in;
        }
        stream.next_out = (unsigned char *)out;
        stream.avail_out = sizeof out;
        status = inflate(&stream, Z_NO_FLUSH);
        size_t got = sizeof out - stream.avail_out;
        if (got > 0) keep_ends(ends, out, got);
    }
    size_t used = (size_t)(stream.next_in - bytes);
    inflateEnd(&stream);
    return status == Z_STREAM_END ? used : 0;
}

static size_t two_bytes(const unsigned char *p)
{
    return (size_t)p[0] | (size_t)p[1] << 8;
}

/* Parts follow one another, each after its header, up to the archive's directory. */
static bool parts_are_whole(const unsigned char *archive, size_t size)
{
    size_t at = 0;
    while (size - at >= HEADER_BYTES && memcmp(archive + at, "PK\3\4", 4) == 0) {
        const unsigned char *header = archive + at;
        at += HEADER_BYTES + two_bytes(header + NAME_LENGTH_AT) + two_bytes(header + EXTRA_LENGTH_AT);
        if (two_bytes(header + METHOD_AT) != DEFLATED || at >= size) return false;
        part ends = {.first_len = 0};
        size_t used = inflate_part(archive + at, size - at, &ends);
        if (used == 0 || !closes_what_it_opens(&ends)) return false;
        at += used;
    }
    return at > 0 && size - at >= 4 && memcmp(archive + at, "PK\1\2", 4) == 0;
}

bool gt_xlsx_is_whole(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    struct stat info;
    bool whole = false;
    if (fstat(descriptor, &info) == 0 && info.st_size > 0) {
        size_t size = (size_t)info.st_size;
        void *archive = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (archive != MAP_FAILED) {
            whole = parts_are_whole(archive, size);
            munmap(archive, size);
        }
    }
    close(descriptor);
    return whole;
}
