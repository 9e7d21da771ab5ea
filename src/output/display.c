/* How wide is this text on a terminal, and what is left of it in so many cells? See display.h. */
#include "output/display.h"

#include "base/length.h"
#include "compat/python_repr.h"

#include <string.h>

typedef struct range {
    uint32_t first, last;
} range;

/* Marks that stand on the character before them. */
static const range combining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0900, 0x0902}, {0x093A, 0x093A}, {0x093C, 0x093C}, {0x0941, 0x0948}, {0x094D, 0x094D},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x20D0, 0x20FF}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};

/* East Asian characters and pictures. */
static const range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615}, {0x26A1, 0x26A1},
    {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E}, {0x3041, 0x33FF},
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};

static bool is_in(uint32_t code_point, const range *ranges, size_t count)
{
    for (size_t i = 0; i < count && ranges[i].first <= code_point; i++)
        if (code_point <= ranges[i].last) return true;
    return false;
}

static size_t cells_of(uint32_t code_point)
{
    if (code_point < 0x0300) return 1;
    if (is_in(code_point, combining, GT_LENGTH(combining))) return 0;
    return is_in(code_point, wide, GT_LENGTH(wide)) ? 2 : 1;
}

void gt_display_add(gt_buffer *buffer, gt_str text, bool utf8)
{
    const char *place = text.bytes, *end = text.bytes + text.len;
    while (place < end) {
        uint32_t code_point = gt_utf8_next(&place, end);
        if (!gt_is_printable(code_point)) {
            gt_python_add_escape(buffer, code_point);
        } else if (code_point < 0x80 || utf8) {
            gt_buffer_add_code_point(buffer, code_point);
        } else {
            gt_buffer_add_cstr(buffer, "?");
        }
    }
}

size_t gt_display_width(gt_str text)
{
    size_t width = 0;
    const char *place = text.bytes, *end = text.bytes + text.len;
    while (place < end) width += cells_of(gt_utf8_next(&place, end));
    return width;
}

/* Where the first `width` cells end; combining marks go with their character. */
static const char *after_cells(gt_str text, size_t width)
{
    const char *place = text.bytes, *end = text.bytes + text.len;
    size_t used = 0;
    while (place < end) {
        const char *next = place;
        used += cells_of(gt_utf8_next(&next, end));
        if (used > width) break;
        place = next;
    }
    return place;
}

/* Where the last cells begin, `width` or one less before a wide character; never at a combining mark. */
static const char *before_last_cells(gt_str text, size_t width)
{
    size_t left = gt_display_width(text);
    const char *place = text.bytes, *end = text.bytes + text.len;
    while (place < end) {
        const char *next = place;
        size_t cells = cells_of(gt_utf8_next(&next, end));
        if (left <= width && cells > 0) break;
        left -= cells;
        place = next;
    }
    return place;
}

void gt_display_add_cut(gt_buffer *buffer, gt_str text, size_t width, bool utf8)
{
    if (gt_display_width(text) <= width) {
        gt_buffer_add(buffer, text.bytes, text.len);
        return;
    }
    const char *mark = utf8 ? "…" : "...";
    size_t mark_width = utf8 ? 1 : 3;
    if (width <= mark_width) {
        gt_buffer_add(buffer, text.bytes, (size_t)(after_cells(text, width) - text.bytes));
        return;
    }
    size_t kept = width - mark_width;
    const char *head_end = after_cells(text, kept - kept / 2);
    const char *tail = before_last_cells(text, kept / 2);
    gt_buffer_add(buffer, text.bytes, (size_t)(head_end - text.bytes));
    gt_buffer_add_cstr(buffer, mark);
    gt_buffer_add(buffer, tail, (size_t)(text.bytes + text.len - tail));
}
