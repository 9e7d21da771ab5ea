/* The embedded texts, and the policy with their hashes. */
#include "page/program.h"

#include "base/memory.h"
#include "output/text.h"

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
EMBED(gt_embedded_program, "program.js");
EMBED(gt_embedded_program_hash, "program.sha256");

gt_str gt_page_frame(void)
{
    return (gt_str){gt_embedded_frame, (size_t)(gt_embedded_frame_end - gt_embedded_frame)};
}

gt_str gt_page_style(void)
{
    return (gt_str){gt_embedded_style, (size_t)(gt_embedded_style_end - gt_embedded_style)};
}

gt_str gt_page_program(void)
{
    return (gt_str){gt_embedded_program, (size_t)(gt_embedded_program_end - gt_embedded_program)};
}

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
