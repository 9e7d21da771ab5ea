/* Cairo as a part of the portable program, with DejaVu Sans.
 *
 * A static program cannot load libraries, and an empty system has neither fonts nor the settings of
 * fontconfig. So Cairo is linked, and text is drawn with a font that the program contains: DejaVu Sans,
 * regular and bold, the font that "sans-serif" means on Debian. It is compressed, because the two files are a
 * seventh of the program otherwise, and FreeType reads it from memory. Drawing plots without Cairo would need
 * a second rasteriser and second writers of PDF and SVG, whose plots would look different.
 *
 * What Cairo and FreeType could do with other fonts is not linked, which makes the program a tenth smaller:
 * this file has FreeType's modules for TrueType fonts only, and cmake/Portable.cmake names the functions of
 * fontconfig and Brotli that are never called. */
#include "output/figure/cairo.h"

#include <cairo-ft.h>
#include <fontconfig/fcfreetype.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_MODULE_H
#include <pthread.h>
#include <zstd.h>

/* The font files, compressed when gputally is built (cmake/Portable.cmake). */
#define EMBED(symbol, file)                                                                                  \
    __asm__(".pushsection .rodata." #symbol ",\"a\"\n.balign 16\n" #symbol ":\n"                             \
            ".incbin \"" GT_FONT_DIR "/" file "\"\n" #symbol "_end:\n"                                       \
            ".popsection\n");                                                                                \
    extern const char symbol[] __attribute__((visibility("hidden")));                                        \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))

EMBED(gt_font_regular, "DejaVuSans.ttf.zst");
EMBED(gt_font_bold, "DejaVuSans-Bold.ttf.zst");

typedef struct embedded_font {
    const char *begin, *end;
    cairo_font_face_t *face; /* NULL: it cannot be read */
} embedded_font;

enum { REGULAR, BOLD, FONTS };
static embedded_font fonts[FONTS] = {[REGULAR] = {gt_font_regular, gt_font_regular_end, NULL},
                                     [BOLD] = {gt_font_bold, gt_font_bold_end, NULL}};
static gt_error failure;

/* ---- what FreeType and Cairo refer to ---- */

extern struct FT_MemoryRec_ *FT_New_Memory(void); /* ftsystem.c; FT_Init_FreeType uses it as well */
extern const FT_Module_Class autofit_module_class, tt_driver_class, psnames_module_class, sfnt_module_class,
    ft_smooth_renderer_class;

FT_Error __wrap_FT_Init_FreeType(FT_Library *library);

/* In place of FT_Init_FreeType, which registers the modules for all kinds of fonts (--wrap). */
FT_Error __wrap_FT_Init_FreeType(FT_Library *library)
{
    /* in the order of FT_Add_Default_Modules */
    static const FT_Module_Class *const modules[] = {&autofit_module_class, &tt_driver_class,
                                                     &psnames_module_class, &sfnt_module_class,
                                                     &ft_smooth_renderer_class};
    struct FT_MemoryRec_ *memory = FT_New_Memory();
    FT_Error status = memory ? FT_New_Library(memory, library) : FT_Err_Out_Of_Memory;
    for (size_t i = 0; status == 0 && i < GT_LENGTH(modules); i++)
        status = FT_Add_Module(*library, modules[i]);
    return status;
}

/* The only function of fontconfig that Cairo calls for a font that was not selected by name. */
FcChar32 FcFreeTypeCharIndex(FT_Face face, FcChar32 character)
{
    return FT_Get_Char_Index(face, character);
}

/* ---- fonts ---- */

/* Both the file in memory and the face live as long as the program: Cairo may keep the face after the last
 * figure. */
static bool open_font(FT_Library library, embedded_font *font)
{
    size_t packed = (size_t)(font->end - font->begin);
    unsigned long long len = ZSTD_getFrameContentSize(font->begin, packed);
    FT_Face face;
    if (len > 1 << 24) return false; /* also what zstd returns for an error */
    void *file = malloc(len);
    if (!file || ZSTD_decompress(file, len, font->begin, packed) != len ||
        FT_New_Memory_Face(library, file, (FT_Long)len, 0, &face) != 0) {
        free(file);
        return false;
    }
    font->face = cairo_ft_font_face_create_for_ft_face(face, 0);
    return cairo_font_face_status(font->face) == CAIRO_STATUS_SUCCESS;
}

static void open_fonts(void)
{
    FT_Library library;
    bool is_open = FT_Init_FreeType(&library) == 0;
    for (size_t i = 0; is_open && i < FONTS; i++) is_open = open_font(library, &fonts[i]);
    if (!is_open) gt_fail(&failure, "cannot draw figures: the font cannot be read");
}

/* In place of cairo_select_font_face, which would ask fontconfig. The family is always "sans-serif".
 * In pixels, text is hinted as by the settings of Debian's fontconfig; in PDF and SVG it is not hinted at
 * all. */
static void select_embedded_font(cairo_t *context, const char *family, cairo_font_slant_t slant,
                                 cairo_font_weight_t weight)
{
    (void)family, (void)slant;
    cairo_set_font_face(context, fonts[weight == CAIRO_FONT_WEIGHT_BOLD ? BOLD : REGULAR].face);
    if (cairo_surface_get_type(cairo_get_target(context)) != CAIRO_SURFACE_TYPE_IMAGE) return;
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_SLIGHT);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(context, options);
    cairo_font_options_destroy(options);
}

#define cairo_select_font_face select_embedded_font

const gt_cairo *gt_cairo_open(gt_error *error)
{
#define GT_CAIRO_FUNCTION(name) .name = cairo_##name,
    static const gt_cairo functions = {GT_CAIRO_FUNCTIONS(GT_CAIRO_FUNCTION)};
#undef GT_CAIRO_FUNCTION
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_fonts);
    if (!*failure.text) return &functions;
    *error = failure;
    return NULL;
}
