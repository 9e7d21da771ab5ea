/* Zip archives as specified in PKWARE's APPNOTE: each part after a header that is completed when its sizes
 * are known, then a directory. ISA-L deflates at level 1: a workbook of 528,000 cells takes 0.07 s
 * (libxlsxwriter with zlib at level 6: 1.05 s) and is 40 % larger. The archive library minizip supports only
 * zlib. */
#include "output/xlsx/xlsx.h"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <zlib.h>

enum { LOCAL_HEADER = 30, DIRECTORY_HEADER = 46, HUGE_EXTRA = 20, DEFLATED = 8 };
enum { VERSION = 20, VERSION_HUGE = 45 }; /* of the format that a reader needs: 2.0, 4.5 */
enum { FIRST_DAY = 1 << 5 | 1 };          /* 1 January 1980, so that the same sheets give the same bytes */
#define NOT_HERE UINT32_MAX               /* the size is in the extra field */

typedef struct gt_zip_part {
    char *name;
    uint64_t at; /* offset of its header */
    gt_deflated bytes;
    bool huge;
} gt_zip_part;

typedef struct gt_zip_deflate {
    struct isal_zstream stream;
    uint8_t work[ISAL_DEF_LVL1_DEFAULT];
} gt_zip_deflate;

void gt_zip_begin(gt_zip *zip, gt_file *file)
{
    *zip =
        (gt_zip){.buffer = gt_alloc(GT_ZIP_BUFFER), .file = file, .deflate = gt_alloc(sizeof *zip->deflate)};
}

/* ---- headers ---- */

static char *put(char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) *to++ = (char)(unsigned char)(value >> 8 * i);
    return to;
}

static uint64_t in_header(const gt_zip_part *part, uint64_t size)
{
    return part->huge ? NOT_HERE : size;
}

/* The fields that both kinds of header have, from the version to the length of the name. */
static char *put_common_fields(char *to, const gt_zip_part *part)
{
    to = put(to, part->huge ? VERSION_HUGE : VERSION, 2);
    to = put(to, 0, 2); /* no flags */
    to = put(to, DEFLATED, 2);
    to = put(to, 0, 2); /* midnight */
    to = put(to, FIRST_DAY, 2);
    to = put(to, part->bytes.checksum, 4);
    to = put(to, in_header(part, part->bytes.packed), 4);
    to = put(to, in_header(part, part->bytes.whole), 4);
    return put(to, strlen(part->name), 2);
}

static char *put_huge_sizes(char *to, const gt_zip_part *part)
{
    to = put(to, 1, 2); /* kind of the extra field */
    to = put(to, 16, 2);
    to = put(to, part->bytes.whole, 8);
    return put(to, part->bytes.packed, 8);
}

static void write_out(gt_zip *zip, const void *bytes, size_t len)
{
    gt_file_write(zip->file, bytes, len);
    zip->size += len;
}

/* Overwrites bytes at `at`, which are in the buffer of the file or already in the file. */
static void overwrite(gt_zip *zip, uint64_t at, const char *bytes, size_t len)
{
    gt_file *file = zip->file;
    uint64_t flushed = zip->size - file->used;
    if (at >= flushed) {
        memcpy(file->buffer + (at - flushed), bytes, len);
        return;
    }
    gt_file_overwrite(file, at, bytes, len);
}

/* The header without the name; its length does not depend on the sizes. */
static size_t local_header(char *to, const gt_zip_part *part)
{
    char *end = put(to, 0x04034B50, 4);
    end = put_common_fields(end, part);
    end = put(end, part->huge ? HUGE_EXTRA : 0, 2);
    return (size_t)(end - to);
}

static void write_local_header(gt_zip *zip, const gt_zip_part *part)
{
    char header[LOCAL_HEADER + HUGE_EXTRA];
    write_out(zip, header, local_header(header, part));
    write_out(zip, part->name, strlen(part->name));
    if (part->huge) write_out(zip, header, (size_t)(put_huge_sizes(header, part) - header));
}

static void complete_local_header(gt_zip *zip, const gt_zip_part *part)
{
    char header[LOCAL_HEADER + HUGE_EXTRA];
    overwrite(zip, part->at, header, local_header(header, part));
    if (part->huge)
        overwrite(zip, part->at + LOCAL_HEADER + strlen(part->name), header,
                  (size_t)(put_huge_sizes(header, part) - header));
}

/* ---- parts ---- */

enum { MORE = NO_FLUSH, PIECE_ENDS = SYNC_FLUSH, STREAM_ENDS = -1 };

static void begin_stream(gt_zip *zip)
{
    struct isal_zstream *stream = &zip->deflate->stream;
    isal_deflate_init(stream);
    stream->level = 1;
    stream->level_buf = zip->deflate->work;
    stream->level_buf_size = sizeof zip->deflate->work;
    zip->done = (gt_deflated){0};
    zip->used = 0;
}

/* `then` is MORE, PIECE_ENDS or STREAM_ENDS. The output of a piece ends at a byte boundary, so that that of
 * another stream may follow. */
static void deflate_buffer(gt_zip *zip, int then)
{
    struct isal_zstream *stream = &zip->deflate->stream;
    zip->done.checksum = libdeflate_crc32(zip->done.checksum, zip->buffer, zip->used);
    zip->done.whole += zip->used;
    stream->next_in = (uint8_t *)zip->buffer;
    stream->avail_in = (uint32_t)zip->used;
    stream->end_of_stream = then == STREAM_ENDS;
    stream->flush = then == PIECE_ENDS ? SYNC_FLUSH : NO_FLUSH;
    do {
        char *room = gt_file_room(zip->file, GT_FILE_BUFFER / 4);
        size_t left = zip->file->capacity - zip->file->used;
        uint32_t free = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
        stream->next_out = (uint8_t *)room;
        stream->avail_out = free;
        isal_deflate(stream);
        size_t made = free - stream->avail_out;
        zip->file->used += made;
        zip->size += made;
        zip->done.packed += made;
    } while (stream->avail_in > 0 || (then == PIECE_ENDS && stream->avail_out == 0) ||
             (then == STREAM_ENDS && stream->internal_state.state != ZSTATE_END));
    zip->used = 0;
}

void gt_zip_flush(gt_zip *zip)
{
    deflate_buffer(zip, MORE);
}

static void end_part(gt_zip *zip)
{
    if (zip->count == 0) return;
    gt_zip_part *part = &zip->parts[zip->count - 1];
    if (!zip->in_pieces) deflate_buffer(zip, STREAM_ENDS);
    part->bytes = zip->done;
    complete_local_header(zip, part);
}

void gt_zip_begin_part(gt_zip *zip, const char *name, bool huge)
{
    end_part(zip);
    gt_zip_part part = {.name = gt_strdup(name), .at = zip->size, .huge = huge};
    GT_PUSH(zip->parts, zip->count, zip->capacity, part);
    write_local_header(zip, &part);
    begin_stream(zip);
    zip->in_pieces = false;
}

/* ---- pieces of a part ---- */

void gt_zip_begin_piece(gt_zip *piece)
{
    piece->file->used = 0;
    begin_stream(piece);
}

void gt_zip_end_piece(gt_zip *piece, bool last)
{
    deflate_buffer(piece, last ? STREAM_ENDS : PIECE_ENDS);
}

void gt_zip_add_piece(gt_zip *zip, const gt_zip *piece)
{
    const gt_deflated *added = &piece->done;
    zip->in_pieces = true;
    zip->done.checksum = (uint32_t)crc32_combine(zip->done.checksum, added->checksum, (z_off_t)added->whole);
    zip->done.whole += added->whole;
    zip->done.packed += added->packed;
    write_out(zip, piece->file->buffer, piece->file->used);
}

void gt_zip_free_piece(gt_zip *piece)
{
    gt_free_all(piece->deflate, piece->buffer);
    *piece = (gt_zip){0};
}

/* ---- writing ---- */

void gt_zip_write(gt_zip *zip, const void *bytes, size_t len)
{
    const char *from = bytes;
    while (len > 0) {
        size_t piece = len < GT_ZIP_BUFFER / 2 ? len : GT_ZIP_BUFFER / 2;
        memcpy(gt_zip_room(zip, piece), from, piece);
        zip->used += piece;
        from += piece;
        len -= piece;
    }
}

void gt_zip_add(gt_zip *zip, const char *text)
{
    gt_zip_write(zip, text, strlen(text));
}

/* ---- the directory ---- */

static void write_directory_entry(gt_zip *zip, const gt_zip_part *part)
{
    bool is_far = part->at >= NOT_HERE; /* beyond 4 GiB */
    size_t extra = (part->huge ? (size_t)HUGE_EXTRA : is_far ? 4u : 0u) + (is_far ? 8u : 0u);
    char entry[DIRECTORY_HEADER + HUGE_EXTRA + 8];
    char *end = put(entry, 0x02014B50, 4);
    end = put(end, part->huge || is_far ? VERSION_HUGE : VERSION, 2); /* made by */
    end = put_common_fields(end, part);
    end = put(end, extra, 2);
    end = put(put(end, 0, 2 + 2 + 2), 0, 4); /* no comment, on the first disk, no attributes */
    end = put(end, is_far ? NOT_HERE : part->at, 4);
    write_out(zip, entry, (size_t)(end - entry));
    write_out(zip, part->name, strlen(part->name));
    if (extra == 0) return;
    end = put(entry, 1, 2);
    end = put(end, extra - 4, 2);
    if (part->huge) end = put(put(end, part->bytes.whole, 8), part->bytes.packed, 8);
    if (is_far) end = put(end, part->at, 8);
    write_out(zip, entry, (size_t)(end - entry));
}

static void write_directory(gt_zip *zip)
{
    uint64_t at = zip->size;
    for (size_t i = 0; i < zip->count; i++) write_directory_entry(zip, &zip->parts[i]);
    uint64_t len = zip->size - at, count = zip->count;
    char record[56 + 20 + 22], *end = record;
    bool is_far = at >= NOT_HERE || count >= UINT16_MAX;
    if (is_far) {
        end = put(end, 0x06064B50, 4);
        end = put(end, 56 - 12, 8);
        end = put(put(end, VERSION_HUGE, 2), VERSION_HUGE, 2);
        end = put(end, 0, 8);
        end = put(put(end, count, 8), count, 8);
        end = put(put(end, len, 8), at, 8);
        end = put(end, 0x07064B50, 4);
        end = put(put(put(end, 0, 4), zip->size, 8), 1, 4);
    }
    uint64_t shown = is_far ? UINT16_MAX : count;
    end = put(put(end, 0x06054B50, 4), 0, 4);
    end = put(put(end, shown, 2), shown, 2);
    end = put(put(end, is_far ? NOT_HERE : len, 4), is_far ? NOT_HERE : at, 4);
    end = put(end, 0, 2);
    write_out(zip, record, (size_t)(end - record));
}

bool gt_zip_end(gt_zip *zip)
{
    end_part(zip);
    write_directory(zip);
    bool fits = true;
    for (size_t i = 0; i < zip->count; i++) {
        const gt_zip_part *part = &zip->parts[i];
        if (!part->huge && (part->bytes.whole >= NOT_HERE || part->bytes.packed >= NOT_HERE)) fits = false;
        gt_free(part->name);
    }
    gt_free_all(zip->parts, zip->deflate, zip->buffer);
    *zip = (gt_zip){0};
    return fits;
}
