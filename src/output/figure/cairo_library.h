/* Cairo, which draws the figures, loaded when the first one is drawn: linked in, it and the fifteen libraries
 * under it would double the time that every command takes to start. */
#ifndef GT_OUTPUT_FIGURE_CAIRO_LIBRARY_H
#define GT_OUTPUT_FIGURE_CAIRO_LIBRARY_H

#include "base/error.h"

#include <cairo.h>

/* The functions in use, by their names without "cairo_". */
#define GT_CAIRO_FUNCTIONS(F)                                                                                \
    F(image_surface_create)                                                                                  \
    F(surface_destroy)                                                                                       \
    F(surface_write_to_png_stream)                                                                           \
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

/* NULL where this machine has no Cairo. */
const gt_cairo *gt_cairo_load(gt_error *error);

#endif
