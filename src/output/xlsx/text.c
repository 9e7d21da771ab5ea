/* The text that a cell of a workbook can contain. XML forbids most control characters, and Excel has its own
 * escape for them, _x001B_, so a text that looks like such an escape is escaped itself. Excel allows at most
 * 32,767 characters. */
#include "output/xlsx/xlsx.h"

static const char cut_mark[] = " ... (cut)";

/* ---- what Excel accepts ---- */

/* Most texts can be written unchanged: printable ASCII that is not too long, without Excel's escape "_x". */
static bool is_plain(gt_str text)
{
    if (text.len > GT_EXCEL_CELL_CHARS) return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte < 0x20 || byte >= 0x7F) return false;
        if (byte == '_' && i + 1 < text.len && text.bytes[i + 1] == 'x') return false;
    }
    return true;
}

/* Whether the text continues with "_x001B_", which Excel would take for an escape. */
static bool looks_escaped(const char *place, const char *end)
{
    if (end - place < 7 || place[0] != '_' || place[1] != 'x' || place[6] != '_') return false;
    for (int i = 2; i < 6; i++)
        if (!isxdigit((unsigned char)place[i])) return false;
    return true;
}

static bool needs_escape(uint32_t code_point)
{
    return code_point < 0x20 && code_point != '\t' && code_point != '\n';
}

static void add_escape(gt_buffer *out, uint32_t code_point)
{
    static const char digits[] = "0123456789ABCDEF";
    char escape[] = "_x0000_";
    escape[4] = digits[code_point >> 4 & 15];
    escape[5] = digits[code_point & 15];
    gt_buffer_add_cstr(out, escape);
}

static gt_str make_acceptable(gt_str text, gt_buffer *out, bool *cut)
{
    size_t room = GT_EXCEL_CELL_CHARS, used = 0, fits_with_mark = 0;
    const char *place = text.bytes, *end = text.bytes + text.len;
    out->len = 0;
    while (place < end) {
        bool escape = looks_escaped(place, end);
        uint32_t code_point = gt_utf8_next(&place, end);
        if (code_point == 0 || code_point == 0xFFFE || code_point == 0xFFFF) code_point = GT_REPLACEMENT;
        used += escape ? 7 : code_point > 0xFFFF ? 2 : 1;
        if (used > room) {
            *cut = true;
            out->len = fits_with_mark;
            gt_buffer_add_cstr(out, cut_mark);
            break;
        }
        if (escape || needs_escape(code_point)) {
            add_escape(out, code_point);
        } else {
            gt_buffer_add_code_point(out, code_point);
        }
        if (used + strlen(cut_mark) <= room) fits_with_mark = out->len;
    }
    return gt_buffer_str(out);
}

gt_str gt_xlsx_acceptable(gt_str text, gt_buffer *scratch, bool *cut)
{
    return is_plain(text) ? text : make_acceptable(text, scratch, cut);
}

void gt_xlsx_legal_name(const char *name, gt_buffer *legal)
{
    gt_buffer valid = {0};
    gt_str text = gt_utf8_repair((gt_str){name, strlen(name)}, &valid);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        gt_buffer_add(legal, byte < 0x20 || strchr("[]:*?/\\'", byte) ? "_" : &text.bytes[i], 1);
    }
    if (text.len == 0) gt_buffer_add_cstr(legal, "Sheet");
    if (strcasecmp(name, "History") == 0) gt_buffer_add_cstr(legal, "_");
    gt_buffer_free(&valid);
}

/* ---- as XML ---- */

void gt_xlsx_write_escaped(gt_zip *zip, gt_str text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *escaped = gt_xml_entity(text.bytes[i]);
        if (!escaped) continue;
        gt_zip_write(zip, text.bytes + from, i - from);
        gt_zip_add(zip, escaped);
        from = i + 1;
    }
    gt_zip_write(zip, text.bytes + from, text.len - from);
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

void gt_xlsx_write_inline(gt_zip *zip, gt_str text)
{
    bool edges = text.len > 0 && (is_space(text.bytes[0]) || is_space(text.bytes[text.len - 1]));
    gt_zip_add(zip, edges ? "<is><t xml:space=\"preserve\">" : "<is><t>");
    gt_xlsx_write_escaped(zip, text);
    gt_zip_add(zip, "</t></is>");
}
