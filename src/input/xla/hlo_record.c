/* The records of HLO instructions.
 *
 * TraceLens reads the printed text of a module line by line. Users compare with its reports, so a record here
 * is what TraceLens finds in the line of an instruction, including what it cuts off:
 *
 *     %name = SHAPE opcode(%operand, ...), custom_call_target="T", metadata={M}, backend_config=B
 *
 * So each part is first written as XLA prints it, then edited as the line reader edits it. */
#include "input/xla/hlo.h"

enum { INDEX_EVERY = 5 }; /* lists have a comment with the index before every fifth element */

static const char METADATA_CHARS[] = "_=\"()/ @.-";
static const char TARGET_CHARS[] = "_=\"()/ @.$-";
static const char CONFIG_CHARS[] = "_=\"()/ @.,:[]{}-";

/* A line without metadata is a record only if it contains one of these. */
static const char *const words[] = {
    "get-tuple-element", "bf16", "f8", "f16", "f32", "f64", "s32", "s64", "u32", "u64", "pred"};
/* The types of matrix products: the start of an operand's shape. */
static const char *const gemm_types[] = {"bf16", "f16", "f32", "f8", "fp8"};

/* ---- shapes as text: bf16[8,16]{1,0}, (f32[], s8[1024]{0}) ---- */

/* By their numbers in PrimitiveType. */
static const char *const element_types[] = {
    "invalid", "pred",   "s8",       "s16", "s32",   "s64",           "u8",         "u16",        "u32",
    "u64",     "f16",    "f32",      "f64", "tuple", "opaque",        "c64",        "bf16",       "token",
    "c128",    "f8e5m2", "f8e4m3fn", "s4",  "u4",    "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2",
    "u2",      "f8e4m3", "f8e3m4",   "s1",  "u1",    "f4e2m1fn",      "f8e8m0fnu",
};
enum { TUPLE = 13, DEPTH_MAX = 32, ELEMENTS_MAX = 1 << 20 };

typedef struct array_shape {
    int64_t element_type;
    gt_proto_ints dimensions, dynamic;
    gt_str layout;
    bool has_layout;
} array_shape;

typedef struct array_layout {
    gt_proto_ints minor_to_major;
    int64_t element_bits, memory_space;
} array_layout;

static array_layout read_layout(gt_str message)
{
    array_layout l = {0};
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
    array_layout l = read_layout(message);
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

static void add_array(gt_buffer *out, const array_shape *s)
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

static array_shape read_shape(gt_str message)
{
    array_shape s = {0};
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
    array_shape s = read_shape(message);
    if (s.element_type != TUPLE)
        add_array(out, &s);
    else if (depth < DEPTH_MAX)
        add_tuple(out, message, depth);
    gt_free_all(s.dimensions.items, s.dynamic.items);
}

/* ---- the edits of the line reader ---- */

/* Appends the text without commas after ")", without blanks after other commas and, with before_percent,
 * without blanks before "%". */
static void add_squeezed(gt_buffer *out, gt_str text, bool before_percent)
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

/* The length of the longest start of the text that has only letters, digits and characters of `others`. */
static size_t span_of(gt_str text, const char *others)
{
    size_t i = 0;
    for (; i < text.len; i++) {
        char c = text.bytes[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_plain && (!c || !strchr(others, c))) break;
    }
    return i;
}

/* Whether the text starts with "{" and its braces balance outside of quotes: such a config is printed as it
 * is. */
static bool is_raw_config(gt_str config)
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

/* ---- searching ---- */

static bool has(gt_str text, const char *part)
{
    return text.len && gt_str_contains(text, part);
}

static bool has_word(gt_str text)
{
    for (size_t i = 0; i < GT_LENGTH(words); i++)
        if (has(text, words[i])) return true;
    return false;
}

static void add(gt_buffer *out, gt_str text)
{
    if (text.len) gt_buffer_add(out, text.bytes, text.len);
}

/* ---- which instructions have a record ---- */

static bool has_metadata(const hlo_metadata *m)
{
    return m->op_type.len || m->op_name.len || m->source_file.len || m->scheduling_name.len;
}

static bool line_has_word(const gt_hlo *module, uint32_t index, const hlo_instruction *i)
{
    if (i->has_control_predecessors || has_word(i->opcode) || has_word(module->places[index].name) ||
        has_word(i->target) || has_word(i->config))
        return true;
    gt_buffer shape = {0};
    add_shape(&shape, i->shape, 0);
    bool found = has_word(gt_buffer_str(&shape));
    gt_buffer_free(&shape);
    for (size_t o = 0; !found && o < i->operands.count; o++) {
        uint32_t operand = gt_hlo_operand(module, index, i->operands.items[o]);
        found = operand != GT_HLO_NONE && has_word(module->places[operand].name);
    }
    for (size_t c = 0; !found && c < i->called.count; c++) {
        uint32_t called = gt_hlo_computation(module, i->called.items[c]);
        found = called != GT_HLO_NONE && has_word(module->computations[called].name);
    }
    return found;
}

bool gt_hlo_has_record(const gt_hlo *module, uint32_t index)
{
    if (gt_hlo_is_root(module, index) ||
        module->computations[module->places[index].computation].is_async_body)
        return false;
    hlo_instruction i = gt_hlo_decode(module, index);
    hlo_metadata m = gt_hlo_metadata(i.metadata);
    bool found = has_metadata(&m) || line_has_word(module, index, &i);
    gt_hlo_forget(&i);
    return found;
}

/* ---- output and operands ---- */

/* The shape as the line reader sees it; its output ends at the first blank. */
static void add_output(gt_buffer *out, const hlo_instruction *i)
{
    gt_buffer shape = {0};
    add_shape(&shape, i->shape, 0);
    add_squeezed(out, gt_buffer_str(&shape), false);
    gt_buffer_free(&shape);
}

static gt_str before_blank(gt_str text)
{
    const char *blank = text.len ? memchr(text.bytes, ' ', text.len) : NULL;
    if (blank) text.len = (size_t)(blank - text.bytes);
    return text;
}

typedef struct text_list {
    uint32_t *items;
    size_t count, capacity;
} text_list;

static void push(text_list *list, uint32_t text)
{
    GT_PUSH(list->items, list->count, list->capacity, text);
}

static bool record_output(const gt_hlo *module, uint32_t index, gt_buffer *out)
{
    out->len = 0;
    if (index == GT_HLO_NONE || !gt_hlo_has_record(module, index)) return false;
    hlo_instruction i = gt_hlo_decode(module, index);
    add_output(out, &i);
    out->len = before_blank(gt_buffer_str(out)).len;
    gt_hlo_forget(&i);
    return true;
}

/* An operand is replaced by its output, except every fifth one, which has a comment before it. */
static uint32_t operand_text(const gt_hlo *module, uint32_t operand, size_t number, gt_interner *strings)
{
    gt_buffer text = {0};
    gt_str name = operand == GT_HLO_NONE ? (gt_str){"", 0} : module->places[operand].name;
    bool commented = number && number % INDEX_EVERY == 0;
    if (commented || !record_output(module, gt_hlo_find(module, name), &text)) {
        char comment[40];
        text.len = 0;
        if (commented)
            gt_buffer_add(&text, comment, (size_t)snprintf(comment, sizeof comment, "/*index=%zu*/", number));
        gt_buffer_add_cstr(&text, "%");
        add(&text, name);
    }
    uint32_t id = gt_interner_add(strings, text.bytes, text.len);
    gt_buffer_free(&text);
    return id;
}

static void list_operands(const gt_hlo *module, uint32_t index, const hlo_instruction *i,
                          gt_interner *strings, text_list *list)
{
    char number[24];
    for (size_t o = 0; o < i->operands.count; o++)
        push(list, operand_text(module, gt_hlo_operand(module, index, i->operands.items[o]), o, strings));
    if (i->operands.count) return;
    bool is_parameter = gt_str_equals(i->opcode, "parameter");
    int len = is_parameter ? snprintf(number, sizeof number, "%lld", (long long)i->parameter_number) : 0;
    push(list, gt_interner_add(strings, number, (size_t)len));
}

static bool in_shape_class(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c && strchr("[]{,", c));
}

/* Lists what looks like a shape: from b, f or s to the next "}". If there is none, the parts between commas.
 */
static void list_shapes(gt_str piece, gt_interner *strings, text_list *list)
{
    for (size_t i = 0; i < piece.len; i++) {
        if (!piece.bytes[i] || !strchr("bfs", piece.bytes[i])) continue;
        size_t end = i + 1;
        while (end < piece.len && in_shape_class(piece.bytes[end])) end++;
        if (end == piece.len || piece.bytes[end] != '}') continue;
        push(list, gt_interner_add(strings, piece.bytes + i, end + 1 - i));
        i = end;
    }
    if (list->count) return;
    for (size_t begin = 0; begin <= piece.len;) {
        const char *comma = memchr(piece.bytes + begin, ',', piece.len - begin);
        size_t end = comma ? (size_t)(comma - piece.bytes) : piece.len;
        push(list, gt_interner_add(strings, piece.bytes + begin, end - begin));
        begin = end + 1;
    }
}

/* If the output has a blank (a tuple in a tuple), the line reader takes the word after it for the operands.
 */
static void list_second_word(gt_str shape, size_t first_len, gt_interner *strings, text_list *list)
{
    gt_str piece = before_blank((gt_str){shape.bytes + first_len + 1, shape.len - first_len - 1});
    const char *open = memchr(piece.bytes, '(', piece.len);
    if (open) piece = (gt_str){open + 1, piece.len - (size_t)(open + 1 - piece.bytes)};
    const char *close = piece.len ? memchr(piece.bytes, ')', piece.len) : NULL;
    if (close) piece.len = (size_t)(close - piece.bytes);
    list_shapes(piece, strings, list);
}

/* ---- attributes ---- */

static void add_attribute(gt_buffer *out, const char *name, gt_str value)
{
    if (!value.len) return;
    if (out->len) gt_buffer_add_cstr(out, " ");
    gt_buffer_add_cstr(out, name);
    gt_buffer_add_cstr(out, "=\"");
    for (size_t i = 0; i < value.len; i++) {
        if (value.bytes[i] == '"') gt_buffer_add_cstr(out, "\\"); /* where the line reader stops */
        gt_buffer_add(out, value.bytes + i, 1);
    }
    gt_buffer_add_cstr(out, "\"");
}

static uint32_t keep(gt_interner *strings, const char *key, gt_str text, const char *chars, bool squeeze)
{
    gt_buffer squeezed = {0}, kept = {0};
    if (squeeze) add_squeezed(&squeezed, text, true);
    if (squeeze) text = gt_buffer_str(&squeezed);
    gt_buffer_add_cstr(&kept, key);
    add(&kept, (gt_str){text.bytes, span_of(text, chars)});
    uint32_t id = gt_interner_add(strings, kept.bytes, kept.len);
    gt_buffer_free(&squeezed);
    gt_buffer_free(&kept);
    return id;
}

static uint32_t metadata_text(const hlo_metadata *m, gt_interner *strings)
{
    if (!has_metadata(m)) return GT_STR_NONE;
    gt_buffer text = {0};
    char line[40];
    add_attribute(&text, "op_type", m->op_type);
    add_attribute(&text, "op_name", m->op_name);
    add_attribute(&text, "source_file", m->source_file);
    if (m->source_line) {
        snprintf(line, sizeof line, "%ssource_line=%d", text.len ? " " : "", m->source_line);
        gt_buffer_add_cstr(&text, line);
    }
    if (m->has_profile_type) gt_buffer_add_cstr(&text, text.len ? " profile_type={" : "profile_type={");
    add_attribute(&text, "deduplicated_name", m->deduplicated_name);
    add_attribute(&text, "scheduling_name", m->scheduling_name);
    uint32_t id = keep(strings, "metadata={", gt_buffer_str(&text), METADATA_CHARS, true);
    gt_buffer_free(&text);
    return id;
}

static uint32_t target_text(gt_str target, gt_interner *strings)
{
    if (!target.len) return GT_STR_NONE;
    gt_buffer text = {0};
    add_attribute(&text, "custom_call_target", target);
    uint32_t id = keep(strings, "", gt_buffer_str(&text), TARGET_CHARS, false);
    gt_buffer_free(&text);
    return id;
}

/* ---- matrix products ---- */

static const char *type_of_shape(gt_str shape)
{
    for (size_t i = 0; i < GT_LENGTH(gemm_types); i++) {
        size_t len = strlen(gemm_types[i]);
        if (shape.len >= len && memcmp(shape.bytes, gemm_types[i], len) == 0) return gemm_types[i];
    }
    return NULL;
}

static uint32_t gemm_type(const gt_hlo *module, uint32_t index, const hlo_instruction *i,
                          gt_interner *strings)
{
    if (has(i->target, "f8")) return gt_interner_add_cstr(strings, "fp8");
    const char *common = NULL;
    gt_buffer output = {0};
    for (size_t o = 0; o < i->operands.count; o++) {
        uint32_t operand = gt_hlo_operand(module, index, i->operands.items[o]);
        const char *type =
            record_output(module, operand, &output) ? type_of_shape(gt_buffer_str(&output)) : NULL;
        if (!type || (common && strcmp(type, common) != 0)) {
            common = NULL;
            break;
        }
        common = type;
    }
    gt_buffer_free(&output);
    return common ? gt_interner_add_cstr(strings, common) : GT_STR_NONE;
}

gt_hlo_record gt_hlo_record_of(const gt_hlo *module, uint32_t index, gt_interner *strings, gt_arena *arena)
{
    hlo_instruction i = gt_hlo_decode(module, index);
    hlo_metadata m = gt_hlo_metadata(i.metadata);
    gt_buffer shape = {0};
    text_list operands = {0};
    add_output(&shape, &i);
    gt_str whole = gt_buffer_str(&shape), output = before_blank(whole);
    if (output.len < whole.len)
        list_second_word(whole, output.len, strings, &operands);
    else
        list_operands(module, index, &i, strings, &operands);
    gt_hlo_record record = {
        .output = gt_interner_add(strings, output.bytes, output.len),
        .operand_count = operands.count,
        .metadata = metadata_text(&m, strings),
        .custom_call_target = target_text(i.target, strings),
        .backend_config = is_raw_config(i.config)
                              ? keep(strings, "backend_config=", i.config, CONFIG_CHARS, true)
                              : GT_STR_NONE,
    };
    if (gt_hlo_is_product_call(i.target)) record.gemm_type = gemm_type(module, index, &i, strings);
    uint32_t *kept = gt_arena_alloc(arena, (operands.count + 1) * sizeof *kept);
    if (operands.count) memcpy(kept, operands.items, operands.count * sizeof *kept);
    record.operands = kept;
    gt_free(operands.items);
    gt_buffer_free(&shape);
    gt_hlo_forget(&i);
    return record;
}
