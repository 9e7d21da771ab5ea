/* Records of instructions.
 *
 * Reports of JAX profiles were first made by reading the printed text of a module line by line. Users compare
 * with those reports, so a record here is what that reading finds in a line, its cuts included:
 *
 *     %name = SHAPE opcode(%operand, ...), custom_call_target="T", metadata={M}, backend_config=B */
#include "base/length.h"
#include "input/xla/hlo_module.h"
#include "input/xla/hlo_text.h"

#include <stdio.h>
#include <stdlib.h>

enum { INDEX_EVERY = 5 };

static const char METADATA_CHARS[] = "_=\"()/ @.-";
static const char TARGET_CHARS[] = "_=\"()/ @.$-";
static const char CONFIG_CHARS[] = "_=\"()/ @.,:[]{}-";

/* A line without metadata is a record only where it holds one of these. */
static const char *const words[] = {
    "get-tuple-element", "bf16", "f8", "f16", "f32", "f64", "s32", "s64", "u32", "u64", "pred"};
/* Types of matrix products, as the beginning of an operand's shape. */
static const char *const gemm_types[] = {"bf16", "f16", "f32", "f8", "fp8"};

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
    gt_hlo_add_shape(&shape, i->shape);
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

/* The shape as the line reader sees it; what it takes for the output ends at the first blank. */
static void add_output(gt_buffer *out, const hlo_instruction *i)
{
    gt_buffer shape = {0};
    gt_hlo_add_shape(&shape, i->shape);
    gt_hlo_add_squeezed(out, gt_buffer_str(&shape), false);
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

/* An operand is replaced by what it puts out; every fifth has a comment in front, and is not. */
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

/* All that look like shapes in the piece: from b, f or s on to the next "}". */
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

/* Where the output has a blank (a tuple in a tuple), the word behind it is taken for the operands. */
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
        if (value.bytes[i] == '"') gt_buffer_add_cstr(out, "\\"); /* ends what is read of it */
        gt_buffer_add(out, value.bytes + i, 1);
    }
    gt_buffer_add_cstr(out, "\"");
}

static uint32_t keep(gt_interner *strings, const char *key, gt_str text, const char *chars, bool squeeze)
{
    gt_buffer squeezed = {0}, kept = {0};
    if (squeeze) gt_hlo_add_squeezed(&squeezed, text, true);
    if (squeeze) text = gt_buffer_str(&squeezed);
    gt_buffer_add_cstr(&kept, key);
    add(&kept, (gt_str){text.bytes, gt_hlo_span(text, chars)});
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
        .backend_config = gt_hlo_is_raw_config(i.config)
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
