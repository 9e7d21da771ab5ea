/* XML inside zip, with minizip and expat. libzip would do as well, but it loads a cryptography library, which
 * costs every run 1 ms at its start. expat parses piece by piece, so that a part is never in memory as a
 * whole. */
#include "input/sheets/xml_parts.h"
#include "base/guard.h"

#include <expat.h>
#include <minizip/unzip.h>
#include <sys/stat.h>

enum {
    PIECE_BYTES = 64 * 1024,
    DEPTH_MAX = 64, /* of nested elements; workbooks have about 8 */
    TAG_BYTES_MAX = 4 << 20,
    CASE_SENSITIVE = 1, /* how minizip compares names */
};
static const uint64_t part_bytes_max = (uint64_t)4 << 30;

struct gt_archive {
    unzFile zip;
    uint64_t len;
    const unsigned char *bytes; /* of an archive in memory */
    uint64_t at;
};

/* ---- an archive in memory, through minizip's file functions ---- */

static void *memory_open(void *archive, const void *name, int mode)
{
    (void)name, (void)mode;
    return archive;
}

static uLong memory_read(void *context, void *stream, void *to, uLong wanted)
{
    gt_archive *archive = stream;
    uint64_t left = archive->len - archive->at, len = wanted < left ? wanted : left;
    (void)context;
    memcpy(to, archive->bytes + archive->at, (size_t)len);
    archive->at += len;
    return (uLong)len;
}

static ZPOS64_T memory_tell(void *context, void *stream)
{
    (void)context;
    return ((gt_archive *)stream)->at;
}

static long memory_seek(void *context, void *stream, ZPOS64_T offset, int origin)
{
    gt_archive *archive = stream;
    uint64_t from = origin == SEEK_SET ? 0 : origin == SEEK_CUR ? archive->at : archive->len;
    (void)context;
    if (offset > archive->len - from) return -1;
    archive->at = from + offset;
    return 0;
}

static int memory_close(void *context, void *stream)
{
    (void)context, (void)stream;
    return 0;
}

/* ---- opening ---- */

static gt_archive *check_opened(gt_archive *archive, gt_error *error)
{
    if (archive->zip) return archive;
    gt_fail(error, "not a readable workbook (damaged zip archive)");
    gt_free(archive);
    return NULL;
}

gt_archive *gt_archive_open(const char *path, gt_error *error)
{
    gt_archive *archive = gt_alloc(sizeof *archive);
    struct stat status;
    uint64_t len = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    *archive = (gt_archive){.zip = unzOpen64(path), .len = len};
    return check_opened(archive, error);
}

gt_archive *gt_archive_memory(const void *bytes, size_t len, gt_error *error)
{
    gt_archive *archive = gt_alloc(sizeof *archive);
    *archive = (gt_archive){.bytes = bytes, .len = len};
    zlib_filefunc64_def functions = {
        .zopen64_file = memory_open,
        .zread_file = memory_read,
        .ztell64_file = memory_tell,
        .zseek64_file = memory_seek,
        .zclose_file = memory_close,
        .zerror_file = memory_close, /* returns 0: no errors */
        .opaque = archive,
    };
    archive->zip = unzOpen2_64("", &functions);
    return check_opened(archive, error);
}

void gt_archive_close(gt_archive *archive)
{
    if (!archive) return;
    unzClose(archive->zip);
    gt_free(archive);
}

uint64_t gt_archive_bytes(const gt_archive *archive)
{
    return archive->len;
}

bool gt_archive_has(const gt_archive *archive, const char *part)
{
    return unzLocateFile(archive->zip, part, CASE_SENSITIVE) == UNZ_OK;
}

/* ---- one part ---- */

typedef struct reading {
    const gt_xml_reader *reader;
    XML_Parser parser;
    unsigned depth;
    bool failed; /* the error is set */
    gt_error *error;
} reading;

static const char *without_prefix(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

const char *gt_xml_attribute(const char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (!strcmp(without_prefix(attributes[0]), name)) return attributes[1];
    return NULL;
}

static void stop_on_failure(reading *r, bool succeeded)
{
    if (succeeded) return;
    r->failed = true;
    XML_StopParser(r->parser, XML_FALSE);
}

/* expat may call once more after XML_StopParser. */
static void on_begin(void *context, const char *element, const char **attributes)
{
    reading *r = context;
    if (r->failed) return;
    if (++r->depth > DEPTH_MAX)
        stop_on_failure(r, gt_fail(r->error, "elements nested more than %d deep", DEPTH_MAX));
    else
        stop_on_failure(r,
                        r->reader->begin(r->reader->context, without_prefix(element), attributes, r->error));
}

static void on_end(void *context, const char *element)
{
    reading *r = context;
    if (r->failed) return;
    r->depth--;
    stop_on_failure(r, r->reader->end(r->reader->context, without_prefix(element), r->error));
}

static void on_text(void *context, const char *bytes, int len)
{
    reading *r = context;
    if (r->failed) return;
    stop_on_failure(r, r->reader->text(r->reader->context, bytes, (size_t)len, r->error));
}

static void on_doctype(void *context, const char *name, const char *system, const char *public, int internal)
{
    reading *r = context;
    (void)name, (void)system, (void)public, (void)internal;
    stop_on_failure(r, gt_fail(r->error, "unexpected document type declaration"));
}

static bool parse_piece(reading *r, const char *piece, size_t len, uint64_t total)
{
    if (total > part_bytes_max)
        return gt_fail(r->error, "uncompressed size exceeds %d GiB", (int)(part_bytes_max >> 30));
    if (XML_Parse(r->parser, piece, (int)len, len == 0) != XML_STATUS_OK)
        return r->failed ? false
                         : gt_fail(r->error, "line %lu: %s", XML_GetCurrentLineNumber(r->parser),
                                   XML_ErrorString(XML_GetErrorCode(r->parser)));
    /* The bytes that expat has not passed on yet are one tag, which it scans again with each piece. */
    uint64_t passed_on = (uint64_t)XML_GetCurrentByteIndex(r->parser);
    return len == 0 || total < passed_on + TAG_BYTES_MAX ||
           gt_fail(r->error, "tag longer than %d bytes", TAG_BYTES_MAX);
}

static bool parse_file(reading *r, unzFile file)
{
    char *piece = gt_alloc(PIECE_BYTES);
    uint64_t total = 0;
    int len;
    bool ok;
    do {
        len = unzReadCurrentFile(file, piece, PIECE_BYTES);
        total += len > 0 ? (uint64_t)len : 0;
        ok = len >= 0 ? parse_piece(r, piece, (size_t)len, total)
                      : gt_fail(r->error, "damaged compressed data");
    } while (ok && len > 0);
    gt_free(piece);
    return ok;
}

bool gt_archive_read(gt_archive *archive, const char *part, const gt_xml_reader *reader, gt_error *error)
{
    if (unzLocateFile(archive->zip, part, CASE_SENSITIVE) != UNZ_OK)
        return gt_fail(error, "%.200s: not found in the workbook", part);
    if (unzOpenCurrentFile(archive->zip) != UNZ_OK) return gt_fail(error, "%.200s: cannot decompress", part);
    reading r = {.reader = reader, .parser = XML_ParserCreate(NULL), .error = error};
    if (!r.parser) gt_raise("out of memory");
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    bool ok = parse_file(&r, archive->zip);
    XML_ParserFree(r.parser);
    int closed = unzCloseCurrentFile(archive->zip); /* checks the checksum */
    if (ok && closed != UNZ_OK) ok = gt_fail(error, "checksum mismatch");
    if (!ok) gt_error_prefix(error, part);
    return ok;
}
