/* Pictures, drawn by Cairo (cairo.h). */
#include "output/figure/figure.h"

#include "output/figure/cairo.h"
#include "output/figure/png.h"
#include "output/file.h"

/* ---- pictures ---- */

static const double POINTS_PER_INCH = 72;
static const double ASCENT = 0.76,
                    LINE_HEIGHT = 1.0; /* as shares of the font size; the line includes descenders */
enum { SIDE_MAX = 32000 };             /* pixels; Cairo's own limit is 32767 */

struct gt_figure {
    const gt_cairo *cairo;
    gt_figure_format format;
    gt_buffer document; /* the file */
    cairo_surface_t *surface;
    cairo_t *context;
    double width, height;
};

const char *gt_figure_format_name(gt_figure_format format)
{
    static const char *const names[GT_FIGURE_FORMATS] = {
        [GT_FIGURE_PNG] = "png", [GT_FIGURE_PDF] = "pdf", [GT_FIGURE_SVG] = "svg"};
    return names[format];
}

static cairo_status_t keep_bytes(void *document, const unsigned char *bytes, unsigned len)
{
    gt_buffer_add(document, bytes, len);
    return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *new_surface(gt_figure *figure, double width, double height)
{
    const gt_cairo *cairo = figure->cairo;
    if (figure->format == GT_FIGURE_PDF)
        return cairo->pdf_surface_create_for_stream(keep_bytes, &figure->document, figure->width,
                                                    figure->height);
    if (figure->format == GT_FIGURE_SVG)
        return cairo->svg_surface_create_for_stream(keep_bytes, &figure->document, figure->width,
                                                    figure->height);
    return cairo->image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
}

gt_figure *gt_figure_new(double width_inches, double height_inches, int64_t dots_per_inch, gt_error *error)
{
    return gt_figure_new_as(GT_FIGURE_PNG, width_inches, height_inches, dots_per_inch, error);
}

gt_figure *gt_figure_new_as(gt_figure_format format, double width_inches, double height_inches,
                            int64_t dots_per_inch, gt_error *error)
{
    const gt_cairo *cairo = gt_cairo_open(error);
    if (!cairo) return NULL;
    double scale = format == GT_FIGURE_PNG ? (double)dots_per_inch : POINTS_PER_INCH,
           width = ceil(width_inches * scale), height = ceil(height_inches * scale);
    if (!(width <= SIDE_MAX && height <= SIDE_MAX)) {
        gt_fail(error, "cannot draw a figure of %.0f x %.0f pixels: at most %d per side", width, height,
                SIDE_MAX);
        return NULL;
    }
    gt_figure *figure = gt_alloc_zero(1, sizeof *figure);
    *figure = (gt_figure){
        .cairo = cairo,
        .format = format,
        .width = width_inches * POINTS_PER_INCH,
        .height = height_inches * POINTS_PER_INCH,
    };
    figure->surface = new_surface(figure, width, height);
    figure->context = cairo->create(figure->surface);
    cairo->scale(figure->context, scale / POINTS_PER_INCH, scale / POINTS_PER_INCH);
    cairo->set_source_rgba(figure->context, 1, 1, 1, 1);
    cairo->paint(figure->context);
    cairo->set_line_join(figure->context, CAIRO_LINE_JOIN_ROUND);
    return figure;
}

void gt_figure_free(gt_figure *figure)
{
    if (!figure) return;
    figure->cairo->destroy(figure->context);
    figure->cairo->surface_destroy(figure->surface);
    gt_buffer_free(&figure->document);
    gt_free(figure);
}

double gt_figure_width(const gt_figure *figure)
{
    return figure->width;
}

double gt_figure_height(const gt_figure *figure)
{
    return figure->height;
}

/* ---- writing ---- */

static gt_pixels pixels_of(const gt_figure *figure)
{
    const gt_cairo *cairo = figure->cairo;
    return (gt_pixels){.rows = cairo->image_surface_get_data(figure->surface),
                       .width = (uint32_t)cairo->image_surface_get_width(figure->surface),
                       .height = (uint32_t)cairo->image_surface_get_height(figure->surface),
                       .stride = (uint32_t)cairo->image_surface_get_stride(figure->surface)};
}

static cairo_status_t finish(gt_figure *figure)
{
    const gt_cairo *cairo = figure->cairo;
    cairo_status_t status = cairo->status(figure->context);
    if (status != CAIRO_STATUS_SUCCESS) return status;
    if (figure->format == GT_FIGURE_PNG) {
        cairo->surface_flush(figure->surface);
        gt_png_encode(&figure->document, pixels_of(figure));
    } else {
        cairo->surface_finish(figure->surface);
    }
    return cairo->surface_status(figure->surface);
}

bool gt_figure_write(gt_figure *figure, gt_output *output, const char *path, gt_error *error)
{
    const gt_cairo *cairo = figure->cairo;
    gt_file file;
    if (!gt_file_open(&file, output, path, error)) return false;
    cairo_status_t status = finish(figure);
    gt_file_write(&file, figure->document.bytes, figure->document.len);
    bool written = gt_file_close(&file, error);
    if (status != CAIRO_STATUS_SUCCESS)
        return gt_fail(error, "cannot draw %s: %s", path, cairo->status_to_string(status));
    return written;
}

/* ---- lines and areas ---- */

static void set_paint(gt_figure *figure, gt_paint paint)
{
    figure->cairo->set_source_rgba(figure->context, (paint.colour >> 16 & 255) / 255.0,
                                   (paint.colour >> 8 & 255) / 255.0, (paint.colour & 255) / 255.0,
                                   paint.alpha);
}

/* Paints the current path and clears it. */
static void paint_path(gt_figure *figure, gt_paint fill, gt_stroke edge)
{
    static const double dashes[] = {3.7, 1.6}; /* multiples of the line width */
    const gt_cairo *cairo = figure->cairo;
    cairo_t *context = figure->context;
    if (fill.alpha > 0) {
        set_paint(figure, fill);
        cairo->fill_preserve(context);
    }
    if (edge.paint.alpha > 0 && edge.width > 0) {
        double pattern[] = {dashes[0] * edge.width, dashes[1] * edge.width};
        set_paint(figure, edge.paint);
        cairo->set_line_width(context, edge.width);
        cairo->set_dash(context, pattern, edge.dashed ? 2 : 0, 0);
        cairo->stroke(context);
    }
    cairo->new_path(context);
}

static void add_path(gt_figure *figure, const gt_point *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            figure->cairo->line_to(figure->context, places[i].x, places[i].y);
        else
            figure->cairo->move_to(figure->context, places[i].x, places[i].y);
    }
}

void gt_figure_line(gt_figure *figure, const gt_point *places, size_t count, gt_stroke stroke)
{
    add_path(figure, places, count);
    paint_path(figure, (gt_paint){0}, stroke);
}

void gt_figure_area(gt_figure *figure, const gt_point *places, size_t count, gt_paint fill, gt_stroke edge)
{
    add_path(figure, places, count);
    figure->cairo->close_path(figure->context);
    paint_path(figure, fill, edge);
}

void gt_figure_rectangle(gt_figure *figure, gt_point corner, gt_point opposite, gt_paint fill, gt_stroke edge)
{
    figure->cairo->rectangle(figure->context, corner.x, corner.y, opposite.x - corner.x,
                             opposite.y - corner.y);
    paint_path(figure, fill, edge);
}

void gt_figure_circle(gt_figure *figure, gt_point centre, double radius, gt_paint fill, gt_stroke edge)
{
    figure->cairo->new_sub_path(figure->context);
    figure->cairo->arc(figure->context, centre.x, centre.y, radius, 0, 2 * M_PI);
    paint_path(figure, fill, edge);
}

/* ---- text ---- */

static void set_font(gt_figure *figure, gt_font font)
{
    figure->cairo->select_font_face(figure->context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                                    font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    figure->cairo->set_font_size(figure->context, font.size);
}

/* Cairo stops drawing at the first byte that is not UTF-8. */
static const char *repaired(const char *text, gt_buffer *scratch)
{
    gt_str valid = gt_utf8_repair((gt_str){text, strlen(text)}, scratch);
    return valid.bytes == text ? text : gt_buffer_str(scratch).bytes;
}

double gt_figure_text_width(gt_figure *figure, const char *text, gt_font font)
{
    gt_buffer scratch = {0};
    cairo_text_extents_t extents;
    set_font(figure, font);
    figure->cairo->text_extents(figure->context, repaired(text, &scratch), &extents);
    gt_buffer_free(&scratch);
    return extents.x_advance;
}

double gt_figure_text_height(gt_font font)
{
    return font.size * LINE_HEIGHT;
}

void gt_figure_text(gt_figure *figure, gt_point place, const char *text, gt_font font, gt_anchor anchor)
{
    const gt_cairo *cairo = figure->cairo;
    gt_buffer scratch = {0};
    double width = gt_figure_text_width(figure, text, font); /* also sets the font */
    cairo->save(figure->context);
    cairo->translate(figure->context, place.x, place.y);
    if (anchor.upwards) cairo->rotate(figure->context, -M_PI / 2);
    cairo->move_to(figure->context, -anchor.x * width,
                   ASCENT * font.size - anchor.y * gt_figure_text_height(font));
    set_paint(figure, font.paint);
    cairo->show_text(figure->context, repaired(text, &scratch));
    cairo->restore(figure->context);
    cairo->new_path(figure->context);
    gt_buffer_free(&scratch);
}
