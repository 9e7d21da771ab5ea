/* What Cairo and FreeType refer to but plots never use: without it, the portable program is a tenth smaller.
 *
 *   - FreeType's modules for other kinds of fonts. FT_Init_FreeType registers all of them; this registers
 * those that TrueType fonts need. The linker replaces the references (--wrap, cmake/Portable.cmake).
 *   - fontconfig, which Cairo asks for fonts by name. Figures select the embedded font instead, whose only
 * need is the glyph of a character.
 *   - Brotli, for compressed web fonts. */
#include <fontconfig/fontconfig.h>
#include <fontconfig/fcfreetype.h>
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_MODULE_H
#include <stdint.h>
#include <stdlib.h>

/* ---- FreeType ---- */

extern struct FT_MemoryRec_ *FT_New_Memory(void); /* ftsystem.c; FT_Init_FreeType uses it as well */
extern void FT_Done_Memory(struct FT_MemoryRec_ *memory);
extern const FT_Module_Class autofit_module_class, tt_driver_class, psnames_module_class, sfnt_module_class,
    ft_smooth_renderer_class;

FT_Error __wrap_FT_Init_FreeType(FT_Library *library);

FT_Error __wrap_FT_Init_FreeType(FT_Library *library)
{
    /* in the order of FT_Add_Default_Modules */
    static const FT_Module_Class *const modules[] = {&autofit_module_class, &tt_driver_class,
                                                     &psnames_module_class, &sfnt_module_class,
                                                     &ft_smooth_renderer_class};
    struct FT_MemoryRec_ *memory = FT_New_Memory();
    FT_Error status = memory ? FT_New_Library(memory, library) : FT_Err_Out_Of_Memory;
    for (size_t i = 0; status == 0 && i < sizeof modules / sizeof *modules; i++)
        status = FT_Add_Module(*library, modules[i]);
    return status;
}

/* ---- fontconfig ---- */

FcChar32 FcFreeTypeCharIndex(FT_Face face, FcChar32 character)
{
    return FT_Get_Char_Index(face, character);
}

/* Cairo calls the other functions only for fonts that were selected by name. */
#define GT_UNUSED(result, name, ...)                                                                         \
    result name(__VA_ARGS__)                                                                                 \
    {                                                                                                        \
        abort();                                                                                             \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
GT_UNUSED(FcConfig *, FcConfigGetCurrent, void)
GT_UNUSED(FcBool, FcConfigSubstitute, FcConfig *config, FcPattern *pattern, FcMatchKind kind)
GT_UNUSED(void, FcDefaultSubstitute, FcPattern *pattern)
GT_UNUSED(FcPattern *, FcFontMatch, FcConfig *config, FcPattern *pattern, FcResult *result)
GT_UNUSED(FcBool, FcInitBringUptoDate, void)
GT_UNUSED(FcBool, FcPatternAddBool, FcPattern *pattern, const char *object, FcBool value)
GT_UNUSED(FcBool, FcPatternAddDouble, FcPattern *pattern, const char *object, double value)
GT_UNUSED(FcBool, FcPatternAddInteger, FcPattern *pattern, const char *object, int value)
GT_UNUSED(FcBool, FcPatternAddString, FcPattern *pattern, const char *object, const FcChar8 *value)
GT_UNUSED(FcPattern *, FcPatternCreate, void)
GT_UNUSED(FcBool, FcPatternDel, FcPattern *pattern, const char *object)
GT_UNUSED(void, FcPatternDestroy, FcPattern *pattern)
GT_UNUSED(FcPattern *, FcPatternDuplicate, const FcPattern *pattern)
GT_UNUSED(FcResult, FcPatternGet, const FcPattern *pattern, const char *object, int id, FcValue *value)
GT_UNUSED(FcResult, FcPatternGetBool, const FcPattern *pattern, const char *object, int id, FcBool *value)
GT_UNUSED(FcResult, FcPatternGetFTFace, const FcPattern *pattern, const char *object, int id, FT_Face *value)
GT_UNUSED(FcResult, FcPatternGetInteger, const FcPattern *pattern, const char *object, int id, int *value)
GT_UNUSED(FcResult, FcPatternGetString, const FcPattern *pattern, const char *object, int id, FcChar8 **value)

/* ---- Brotli ---- */

int BrotliDecoderDecompress(size_t packed_len, const uint8_t *packed, size_t *len, uint8_t *bytes);

/* 0: the data cannot be decompressed. */
int BrotliDecoderDecompress(size_t packed_len, const uint8_t *packed, size_t *len, uint8_t *bytes)
{
    (void)packed_len, (void)packed, (void)len, (void)bytes;
    return 0;
}
