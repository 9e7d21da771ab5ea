/* XML inside zip, by two libraries that Debian keeps up and that are fuzzed by their own projects: libzip,
 * which reads archives from memory as well as from files and checks their checksums (minizip, the
 * alternative, does neither by itself), and expat, which parses piece by piece, so that a part is never held
 * whole. */
#include "input/xml_parts.h"
#include "base/memory.h"

#include <expat.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

enum {
    PIECE_BYTES = 64 * 1024,
    DEEPEST = 64, /* elements within elements; workbooks have about 8 */
    LONGEST_TAG_BYTES = 4 << 20,
};
static const uint64_t part_bytes_max = (uint64_t)4 << 30;

struct gt_archive {
    zip_t *zip;
};

static gt_archive *archive_of(zip_t *zip, zip_error_t *reason, gt_error *error)
{
    gt_archive *archive = NULL;
    if (zip) {
        archive = gt_alloc(sizeof *archive);
        archive->zip = zip;
    } else {
        gt_fail(error, "not a workbook that can be read: %s", zip_error_strerror(reason));
    }
    zip_error_fini(reason);
    return archive;
}

gt_archive *gt_archive_open(const char *path, gt_error *error)
{
    int code = 0;
    zip_error_t reason;
    zip_t *zip = zip_open(path, ZIP_RDONLY, &code);
    zip_error_init_with_code(&reason, code);
    return archive_of(zip, &reason, error);
}

gt_archive *gt_archive_memory(const void *bytes, size_t len, gt_error *error)
{
    zip_error_t reason;
    zip_error_init(&reason);
    zip_source_t *source = zip_source_buffer_create(bytes, len, 0, &reason);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY, &reason) : NULL;
    if (source && !zip) zip_source_free(source);
    return archive_of(zip, &reason, error);
}

void gt_archive_close(gt_archive *archive)
{
    if (!archive) return;
    zip_discard(archive->zip);
    free(archive);
}

bool gt_archive_has(const gt_archive *archive, const char *part)
{
    return zip_name_locate(archive->zip, part, 0) >= 0;
}

/* ---- one part ---- */

typedef struct reading {
    const gt_xml_reader *reader;
    XML_Parser parser;
    unsigned depth;
    bool failed; /* the error has been filled */
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

static void stop_unless(reading *r, bool sound)
{
    if (sound) return;
    r->failed = true;
    XML_StopParser(r->parser, XML_FALSE);
}

/* expat may call once more after it was told to stop. */
static void on_begin(void *context, const char *element, const char **attributes)
{
    reading *r = context;
    if (r->failed) return;
    if (++r->depth > DEEPEST)
        stop_unless(r, gt_fail(r->error, "elements lie more than %d deep", DEEPEST));
    else
        stop_unless(r, r->reader->begin(r->reader->context, without_prefix(element), attributes, r->error));
}

static void on_end(void *context, const char *element)
{
    reading *r = context;
    if (r->failed) return;
    r->depth--;
    stop_unless(r, r->reader->end(r->reader->context, without_prefix(element), r->error));
}

static void on_text(void *context, const char *bytes, int len)
{
    reading *r = context;
    if (r->failed) return;
    stop_unless(r, r->reader->text(r->reader->context, bytes, (size_t)len, r->error));
}

static void on_doctype(void *context, const char *name, const char *system, const char *public, int internal)
{
    reading *r = context;
    (void)name, (void)system, (void)public, (void)internal;
    stop_unless(r, gt_fail(r->error, "a document type declaration, which workbooks never have"));
}

static bool parse_piece(reading *r, const char *piece, size_t len, uint64_t total)
{
    if (total > part_bytes_max)
        return gt_fail(r->error, "it inflates to more than %d GiB", (int)(part_bytes_max >> 30));
    if (XML_Parse(r->parser, piece, (int)len, len == 0) != XML_STATUS_OK)
        return r->failed ? false
                         : gt_fail(r->error, "line %lu: %s", XML_GetCurrentLineNumber(r->parser),
                                   XML_ErrorString(XML_GetErrorCode(r->parser)));
    /* What is fed and not yet handed out is one tag; expat would go through it again with each piece. */
    uint64_t handed_out = (uint64_t)XML_GetCurrentByteIndex(r->parser);
    return len == 0 || total < handed_out + LONGEST_TAG_BYTES ||
           gt_fail(r->error, "a tag is longer than %d bytes", LONGEST_TAG_BYTES);
}

static bool parse_file(reading *r, zip_file_t *file)
{
    char *piece = gt_alloc(PIECE_BYTES);
    uint64_t total = 0;
    zip_int64_t len;
    bool sound;
    do {
        len = zip_fread(file, piece, PIECE_BYTES);
        total += len > 0 ? (uint64_t)len : 0;
        sound = len >= 0 ? parse_piece(r, piece, (size_t)len, total)
                         : gt_fail(r->error, "%s", zip_error_strerror(zip_file_get_error(file)));
    } while (sound && len > 0);
    free(piece);
    return sound;
}

bool gt_archive_read(gt_archive *archive, const char *part, const gt_xml_reader *reader, gt_error *error)
{
    zip_file_t *file = zip_fopen(archive->zip, part, 0);
    if (!file) return gt_fail(error, "%.200s: %s", part, zip_strerror(archive->zip));
    reading r = {.reader = reader, .parser = XML_ParserCreate(NULL), .error = error};
    if (!r.parser) abort(); /* out of memory */
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    bool sound = parse_file(&r, file);
    if (!sound) gt_error_prefix(error, part);
    XML_ParserFree(r.parser);
    zip_fclose(file);
    return sound;
}
