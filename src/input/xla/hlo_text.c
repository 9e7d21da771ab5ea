/* Shapes from their messages, and the edits that readers of the module's text apply to each line. */
#include "input/xla/hlo_text.h"
#include "base/length.h"
#include "base/memory.h"
#include "base/protobuf.h"

#include <stdlib.h>
#include <string.h>

/* By their numbers in PrimitiveType. */
static const char *const element_types[] = {
    "invalid", "pred",   "s8",       "s16", "s32",   "s64",           "u8",         "u16",        "u32",
    "u64",     "f16",    "f32",      "f64", "tuple", "opaque",        "c64",        "bf16",       "token",
    "c128",    "f8e5m2", "f8e4m3fn", "s4",  "u4",    "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2",
    "u2",      "f8e4m3", "f8e3m4",   "s1",  "u1",    "f4e2m1fn",      "f8e8m0fnu",
};
enum { TUPLE = 13, DEPTH_MAX = 32, INDEX_EVERY = 5, ELEMENTS_MAX = 1 << 20 };

typedef struct shape {
    int64_t element_type;
    gt_proto_ints dimensions, dynamic;
    gt_str layout;
    bool has_layout;
} shape;

typedef struct layout {
    gt_proto_ints minor_to_major;
    int64_t element_bits, memory_space;
} layout;

static layout read_layout(gt_str message)
{
    layout l = {0};
    gt_proto proto = gt_proto_begin(message);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) switch (field.number) {
        case 1:
            gt_proto_add_ints(&l.minor_to_major, &field);
            break;
        case 7:
            l.element_bits = gt_proto_int(&field);
            break;
        case 8:
            l.memory_space = gt_proto_int(&field);
            break;
        }
    return l;
}

static void add_layout(gt_buffer *out, gt_str message)
{
    layout l = read_layout(message);
    gt_buffer_add_cstr(out, "{");
    for (size_t i = 0; i < l.minor_to_major.count; i++) {
        if (i) gt_buffer_add_cstr(out, ",");
        gt_buffer_add_int(out, l.minor_to_major.items[i]);
    }
    if (l.element_bits || l.memory_space) gt_buffer_add_cstr(out, ":");
    if (l.element_bits) {
        gt_buffer_add_cstr(out, "E(");
        gt_buffer_add_int(out, l.element_bits);
        gt_buffer_add_cstr(out, ")");
    }
    if (l.memory_space) {
        gt_buffer_add_cstr(out, "S(");
        gt_buffer_add_int(out, l.memory_space);
        gt_buffer_add_cstr(out, ")");
    }
    gt_buffer_add_cstr(out, "}");
    gt_free(l.minor_to_major.items);
}

static void add_array(gt_buffer *out, const shape *s)
{
    size_t known = GT_LENGTH(element_types);
    bool is_known = s->element_type >= 0 && (uint64_t)s->element_type < known;
    gt_buffer_add_cstr(out, element_types[is_known ? s->element_type : 0]);
    gt_buffer_add_cstr(out, "[");
    for (size_t i = 0; i < s->dimensions.count; i++) {
        if (i) gt_buffer_add_cstr(out, ",");
        if (i < s->dynamic.count && s->dynamic.items[i]) gt_buffer_add_cstr(out, "<=");
        gt_buffer_add_int(out, s->dimensions.items[i]);
    }
    gt_buffer_add_cstr(out, "]");
    if (s->has_layout && s->dimensions.count) add_layout(out, s->layout);
}

static shape read_shape(gt_str message)
{
    shape s = {0};
    gt_proto proto = gt_proto_begin(message);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) switch (field.number) {
        case 2:
            s.element_type = gt_proto_int(&field);
            break;
        case 3:
            gt_proto_add_ints(&s.dimensions, &field);
            break;
        case 5:
            s.layout = gt_proto_bytes(&field);
            s.has_layout = true;
            break;
        case 6:
            gt_proto_add_ints(&s.dynamic, &field);
            break;
        }
    return s;
}

static void add_shape(gt_buffer *out, gt_str message, int depth);

static void add_tuple(gt_buffer *out, gt_str message, int depth)
{
    gt_proto proto = gt_proto_begin(message);
    gt_proto_field field;
    size_t count = 0;
    gt_buffer_add_cstr(out, "(");
    while (gt_proto_next(&proto, &field) && count < ELEMENTS_MAX) {
        if (field.number != 4) continue;
        if (count) gt_buffer_add_cstr(out, ", ");
        if (count && count % INDEX_EVERY == 0) {
            gt_buffer_add_cstr(out, "/*index=");
            gt_buffer_add_int(out, (int64_t)count);
            gt_buffer_add_cstr(out, "*/");
        }
        add_shape(out, gt_proto_bytes(&field), depth + 1);
        count++;
    }
    gt_buffer_add_cstr(out, ")");
}

static void add_shape(gt_buffer *out, gt_str message, int depth)
{
    shape s = read_shape(message);
    if (s.element_type != TUPLE)
        add_array(out, &s);
    else if (depth < DEPTH_MAX)
        add_tuple(out, message, depth);
    gt_free(s.dimensions.items);
    gt_free(s.dynamic.items);
}

void gt_hlo_add_shape(gt_buffer *out, gt_str shape_proto)
{
    add_shape(out, shape_proto, 0);
}

void gt_hlo_add_squeezed(gt_buffer *out, gt_str text, bool before_percent)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.bytes[i], before = i ? text.bytes[i - 1] : 0,
             after = i + 1 < text.len ? text.bytes[i + 1] : 0;
        bool comma_stays = before == ',' && !(i >= 2 && text.bytes[i - 2] == ')');
        if (c == ',' && before == ')') continue;
        if (c == ' ' && comma_stays) continue;
        if (c == ' ' && after == '%' && before_percent) continue;
        gt_buffer_add(out, &c, 1);
    }
}

size_t gt_hlo_span(gt_str text, const char *others)
{
    size_t i = 0;
    for (; i < text.len; i++) {
        char c = text.bytes[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_plain && (!c || !strchr(others, c))) break;
    }
    return i;
}

bool gt_hlo_is_raw_config(gt_str config)
{
    if (!config.len || config.bytes[0] != '{') return false;
    int64_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < config.len; i++) {
        char c = config.bytes[i];
        if (c == '"' && (!i || config.bytes[i - 1] != '\\')) quoted = !quoted;
        if (quoted) continue;
        if (c == '{') depth++;
        if (c == '}' && --depth < 0) return false;
    }
    return depth == 0 && !quoted;
}
