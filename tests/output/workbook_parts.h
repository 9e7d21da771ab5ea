/* Shared by the tests of workbooks: their parts, decompressed with zlib. */
#ifndef GT_TEST_WORKBOOK_PARTS_H
#define GT_TEST_WORKBOOK_PARTS_H

#include "output_help.h"

#include <zlib.h>

/* The text of one part, which the caller frees; NULL if there is none. Parts follow one another in the
 * archive, each after a header with its name and size. */
static inline char *find_part(const char *path, const char *part)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    unsigned char *archive = malloc(size);
    rewind(file);
    assert_int_equal(fread(archive, 1, size, file), size);
    fclose(file);
    for (size_t at = 0; memcmp(archive + at, "PK\3\4", 4) == 0;) {
        unsigned char *header = archive + at;
        uint64_t packed = 0, whole = 0;
        uint16_t name_len, extra_len;
        memcpy(&packed, header + 18, 4);
        memcpy(&whole, header + 22, 4);
        memcpy(&name_len, header + 26, 2);
        memcpy(&extra_len, header + 28, 2);
        if (extra_len > 0) { /* zip64: after the name, 2 bytes of kind, 2 of length, then the sizes */
            memcpy(&whole, header + 30 + name_len + 4, 8);
            memcpy(&packed, header + 30 + name_len + 12, 8);
        }
        unsigned char *data = header + 30 + name_len + extra_len;
        if (strlen(part) == name_len && memcmp(header + 30, part, name_len) == 0) {
            char *text = calloc(1, whole + 1);
            z_stream stream = {.next_in = data,
                               .avail_in = (uInt)packed,
                               .next_out = (void *)text,
                               .avail_out = (uInt)whole};
            assert_int_equal(inflateInit2(&stream, -MAX_WBITS), Z_OK);
            assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
            inflateEnd(&stream);
            free(archive);
            return text;
        }
        at = (size_t)(data + packed - archive);
    }
    free(archive);
    return NULL;
}

static inline char *unpack(const char *path, const char *part)
{
    char *text = find_part(path, part);
    if (!text) fail_msg("no part %s in %s", part, path);
    return text;
}

static inline void expect_in(const char *text, const char *expected)
{
    if (!strstr(text, expected)) fail_msg("no %s in %.3000s", expected, text);
}

static inline void expect_not_in(const char *text, const char *unexpected)
{
    if (strstr(text, unexpected)) fail_msg("%s in %.3000s", unexpected, text);
}

#endif
