/* The embedded texts, and the policy with their hashes. The portable program, which has a limit of size,
 * holds the page's program compressed. */
#include "page/program.h"

#include "base/raise.h"
#include "output/text.h"

#include <pthread.h>
#include <zstd.h>

#ifndef GT_PAGE_DIR
#define GT_PAGE_DIR "build/page"
#endif

#define EMBED(symbol, file)                                                                                  \
    __asm__(".pushsection .rodata\n" #symbol ":\n"                                                           \
            ".incbin \"" GT_PAGE_DIR "/" file "\"\n" #symbol "_end:\n"                                       \
            ".byte 0\n"                                                                                      \
            ".popsection\n");                                                                                \
    extern const char symbol[] __attribute__((visibility("hidden")));                                        \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))

EMBED(gt_embedded_frame, "page.html");
EMBED(gt_embedded_style, "style.css");
EMBED(gt_embedded_style_hash, "style.sha256");
#ifdef GT_PACKED_PROGRAM
EMBED(gt_embedded_program, "program.js.zst");
#else
EMBED(gt_embedded_program, "program.js");
#endif
EMBED(gt_embedded_program_hash, "program.sha256");

gt_str gt_page_frame(void)
{
    return (gt_str){gt_embedded_frame, (size_t)(gt_embedded_frame_end - gt_embedded_frame)};
}

gt_str gt_page_style(void)
{
    return (gt_str){gt_embedded_style, (size_t)(gt_embedded_style_end - gt_embedded_style)};
}

#ifdef GT_PACKED_PROGRAM
static gt_str unpacked; /* lives as long as the program, like an embedded text */

static void unpack_once(void)
{
    size_t len = (size_t)(gt_embedded_program_end - gt_embedded_program);
    unsigned long long size = ZSTD_getFrameContentSize(gt_embedded_program, len);
    char *text = size < 1 << 24 ? malloc(size) : NULL;
    if (text && ZSTD_decompress(text, size, gt_embedded_program, len) == size)
        unpacked = (gt_str){text, size};
}

gt_str gt_page_program(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, unpack_once);
    if (!unpacked.bytes) gt_raise_internal("the program of the page cannot be decompressed");
    return unpacked;
}
#else
gt_str gt_page_program(void)
{
    return (gt_str){gt_embedded_program, (size_t)(gt_embedded_program_end - gt_embedded_program)};
}
#endif

static unsigned hex_digit(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* Adds 64 hexadecimal digits as a source of the policy. */
static void add_hash(gt_buffer *out, const char *digits)
{
    unsigned char bytes[32];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(hex_digit(digits[2 * i]) << 4 | hex_digit(digits[2 * i + 1]));
    gt_buffer_add_cstr(out, "'sha256-");
    gt_html_add_base64(out, bytes, sizeof bytes);
    gt_buffer_add_cstr(out, "'");
}

void gt_page_add_policy(gt_buffer *out)
{
    gt_buffer_add_cstr(out, "default-src 'none'; script-src ");
    add_hash(out, gt_embedded_program_hash);
    gt_buffer_add_cstr(out, "; style-src ");
    add_hash(out, gt_embedded_style_hash);
    gt_buffer_add_cstr(out, "; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'");
}
