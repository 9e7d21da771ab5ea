/* Two readers of operand texts, which differ in what they accept: one for shapes, one for sizes in bytes. */
#include "analysis/jax/operands.h"
#include "base/length.h"
#include "base/buffer.h"

#include <string.h>

/* Bytes an element, for sizes. */
static const struct {
    const char *type;
    int64_t bytes;
} sizes[] = {
    {"f32", 4}, {"bf16", 2}, {"s32", 4},  {"fp16", 2},     {"u32", 4},
    {"f16", 2}, {"u64", 8},  {"pred", 1}, {"f8e4m3fn", 1}, {"f8e4m3fnuz", 1},
};

static size_t span_list(gt_str text, size_t at)
{
    size_t end = at;
    while (end < text.len && (gt_is_digit(text.bytes[end]) || text.bytes[end] == ',')) end++;
    return end - at;
}

/* "8,16": its numbers, which overflow to INT64_MAX. */
static size_t read_numbers(gt_str list, int64_t *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < list.len; i++) {
        if (!gt_is_digit(list.bytes[i])) continue;
        int64_t number = 0;
        for (; i < list.len && gt_is_digit(list.bytes[i]); i++)
            if (__builtin_mul_overflow(number, 10, &number) ||
                __builtin_add_overflow(number, (int64_t)(list.bytes[i] - '0'), &number))
                number = INT64_MAX / 16; /* grows no further */
        numbers[count++] = number;
    }
    return count;
}

/* The shape whose dimensions begin at this bracket. */
static bool tensor_at(gt_str text, size_t bracket, gt_arena *arena, gt_jax_tensor *tensor)
{
    size_t begin = bracket;
    while (begin && gt_is_digit(text.bytes[begin - 1])) begin--;
    size_t letters_end = begin;
    while (begin && gt_is_letter(text.bytes[begin - 1])) begin--;
    if (letters_end == bracket || begin == letters_end) return false;
    size_t dims_len = span_list(text, bracket + 1), layout = bracket + 1 + dims_len + 2;
    if (!dims_len || layout > text.len || memcmp(text.bytes + layout - 2, "]{", 2) != 0) return false;
    size_t layout_len = span_list(text, layout);
    if (!layout_len || layout + layout_len >= text.len || text.bytes[layout + layout_len] != '}')
        return false;
    int64_t *dims = gt_arena_alloc(arena, (dims_len + 1) * sizeof *dims);
    tensor->type = (gt_str){text.bytes + begin, bracket - begin};
    tensor->dim_count = read_numbers((gt_str){text.bytes + bracket + 1, dims_len}, dims);
    tensor->dims = dims;
    return true;
}

bool gt_jax_tensor_of(gt_str text, gt_arena *arena, gt_jax_tensor *tensor)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.bytes[i] == '[' && tensor_at(text, i, arena, tensor)) return true;
    return false;
}

gt_jax_tensors gt_jax_operands_of(const gt_jax *trace, const gt_hlo_record *record, gt_arena *arena)
{
    gt_jax_tensors tensors = {gt_arena_alloc(arena, (record->operand_count + 1) * sizeof(gt_jax_tensor)), 0};
    for (size_t i = 0; i < record->operand_count; i++)
        if (gt_jax_tensor_of(gt_interner_get(trace->strings, record->operands[i]), arena,
                             &tensors.items[tensors.count]))
            tensors.count++;
    return tensors;
}

void gt_jax_add_dims(gt_buffer *out, const gt_jax_tensor *tensor)
{
    gt_buffer_add_cstr(out, "(");
    for (size_t i = 0; i < tensor->dim_count; i++) {
        if (i) gt_buffer_add_cstr(out, ", ");
        gt_buffer_add_int(out, tensor->dims[i]);
    }
    gt_buffer_add_cstr(out, tensor->dim_count == 1 ? ",)" : ")");
}

/* ---- sizes ---- */

static int64_t element_bytes(gt_str type)
{
    for (size_t i = 0; i < GT_LENGTH(sizes); i++)
        if (gt_str_equals(type, sizes[i].type)) return sizes[i].bytes;
    return type.len >= 2 && (memcmp(type.bytes, "f8", 2) == 0 || memcmp(type.bytes, "s8", 2) == 0);
}

/* Bytes of one operand, 0 where it is a scalar or no shape; *is_unknown: its type is none that counts. */
static int64_t operand_bytes(gt_str text, bool *is_unknown)
{
    size_t type_len = 0;
    while (type_len < text.len && (gt_is_letter(text.bytes[type_len]) || gt_is_digit(text.bytes[type_len]) ||
                                   text.bytes[type_len] == '_'))
        type_len++;
    *is_unknown = false;
    if (!type_len || type_len == text.len || text.bytes[type_len] != '[') return 0;
    size_t end = type_len + 1 + span_list(text, type_len + 1);
    if (end == type_len + 1 || end == text.len || text.bytes[end] != ']') return 0;
    int64_t bytes = element_bytes((gt_str){text.bytes, type_len});
    *is_unknown = !bytes;
    for (size_t i = type_len + 1; i < end;) {
        size_t len = 0;
        while (i + len < end && gt_is_digit(text.bytes[i + len])) len++;
        int64_t dim = 1;
        if (len) read_numbers((gt_str){text.bytes + i, len}, &dim);
        if (__builtin_mul_overflow(bytes, dim, &bytes)) return 0;
        i += len + 1;
    }
    return bytes;
}

int64_t gt_jax_input_bytes(const gt_jax *trace, const gt_hlo_record *record, size_t *unknown)
{
    int64_t sum = 0;
    for (size_t i = 0; i < record->operand_count; i++) {
        bool is_unknown;
        int64_t bytes = operand_bytes(gt_interner_get(trace->strings, record->operands[i]), &is_unknown);
        *unknown += is_unknown;
        if (__builtin_add_overflow(sum, bytes, &sum)) sum = INT64_MAX;
    }
    return sum;
}
