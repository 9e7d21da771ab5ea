/* The functions of Cairo that figures use, wherever they come from.
 *
 * The normal program loads Cairo when the first figure is drawn (cairo.c). The portable program cannot
 * load libraries and contains Cairo, with a font (cairo_linked.c). */
#pragma once

#include "base/base.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

/* The functions that are used, without the prefix "cairo_". */
#define GT_CAIRO_FUNCTIONS(F)                                                                                \
    F(image_surface_create)                                                                                  \
    F(pdf_surface_create_for_stream)                                                                         \
    F(svg_surface_create_for_stream)                                                                         \
    F(surface_finish)                                                                                        \
    F(surface_status)                                                                                        \
    F(surface_destroy)                                                                                       \
    F(surface_flush)                                                                                         \
    F(image_surface_get_data)                                                                                \
    F(image_surface_get_stride)                                                                              \
    F(image_surface_get_width)                                                                               \
    F(image_surface_get_height)                                                                              \
    F(status_to_string)                                                                                      \
    F(create)                                                                                                \
    F(destroy)                                                                                               \
    F(status)                                                                                                \
    F(save)                                                                                                  \
    F(restore)                                                                                               \
    F(scale)                                                                                                 \
    F(translate)                                                                                             \
    F(rotate)                                                                                                \
    F(set_source_rgba)                                                                                       \
    F(set_line_width)                                                                                        \
    F(set_line_join)                                                                                         \
    F(set_dash)                                                                                              \
    F(new_path)                                                                                              \
    F(new_sub_path)                                                                                          \
    F(move_to)                                                                                               \
    F(line_to)                                                                                               \
    F(close_path)                                                                                            \
    F(rectangle)                                                                                             \
    F(arc)                                                                                                   \
    F(fill_preserve)                                                                                         \
    F(stroke)                                                                                                \
    F(paint)                                                                                                 \
    F(select_font_face)                                                                                      \
    F(set_font_size)                                                                                         \
    F(text_extents)                                                                                          \
    F(show_text)

typedef struct gt_cairo {
#define GT_CAIRO_FUNCTION(name) __typeof__(cairo_##name) *name;
    GT_CAIRO_FUNCTIONS(GT_CAIRO_FUNCTION)
#undef GT_CAIRO_FUNCTION
} gt_cairo;

/* NULL if Cairo is not installed. */
const gt_cairo *gt_cairo_open(gt_error *error);
