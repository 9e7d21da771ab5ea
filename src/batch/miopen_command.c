/* A convolution of PyTorch as MIOpenDriver runs it, forward. A convolution in one dimension is run as one in
 * two, of height 1. */
#include "batch/bench_commands.h"

#include "base/length.h"
#include "base/memory.h"
#include "json/values.h"

#include <string.h>

/* Inputs of aten::convolution. */
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, TRANSPOSED, OUTPUT_PADDING, GROUPS };
enum { MOST_DIMENSIONS = 3 };

static const struct {
    const char *type, *base;
} bases[] = {
    {"float", "conv"},
    {"c10::Half", "convfp16"},
    {"c10::BFloat16", "convbfp16"},
    {"signed char", "convint8"},
};

/* Sizes along depth, height and width, the last ones being used. */
typedef struct convolution {
    const char *base;
    size_t dimensions; /* 2 or 3 */
    int64_t batch, channels, outputs;
    int64_t input[MOST_DIMENSIONS], filter[MOST_DIMENSIONS];
    int64_t stride[MOST_DIMENSIONS], padding[MOST_DIMENSIONS], dilation[MOST_DIMENSIONS];
    bool transposed, input_last, filter_last; /* _last: channels are what lies side by side in memory */
    int64_t groups;
} convolution;

/* `count` whole numbers, the last ones of `out`; a list of one number stands for so many of them. */
static bool read_numbers(const gt_value *list, size_t from, size_t count, int64_t *out)
{
    if (!gt_value_is_list(list) || (list->count != from + count && list->count != 1)) return false;
    for (size_t i = 0; i < count; i++) {
        const gt_value *item = &list->items[list->count == 1 ? 0 : from + i];
        if (item->type != GT_VALUE_INT || item->integer < 0) return false;
        out[MOST_DIMENSIONS - count + i] = item->integer;
    }
    return true;
}

/* An argument that is no tensor: the trace has it as a text, "[1, 1]". */
static const gt_value *argument(gt_arena *arena, const gt_value *concrete, int place)
{
    const gt_value *value = gt_value_at(concrete, place);
    return value->type == GT_VALUE_STRING ? gt_value_parse(arena, value->text) : value;
}

static bool is_true(const gt_value *concrete, int place)
{
    const gt_value *value = gt_value_at(concrete, place);
    return gt_value_equals_cstr(value, "True") || gt_value_equals_cstr(value, "true") ||
           (value->type == GT_VALUE_BOOL && value->boolean);
}

static bool has_channels_last(const gt_value *dims, const gt_value *strides)
{
    const gt_value *channels = gt_value_at(dims, 1), *step = gt_value_at(strides, 1);
    return channels->type == GT_VALUE_INT && channels->integer > 1 && step->type == GT_VALUE_INT &&
           step->integer == 1;
}

static bool read_sizes(const gt_value *dims, const gt_value *strides, convolution *c, size_t *given)
{
    const gt_value *input = gt_value_at(dims, INPUT), *weight = gt_value_at(dims, WEIGHT);
    if (!gt_value_is_list(input) || input->count < 3 || input->count > 5) return false;
    *given = input->count - 2;
    c->dimensions = *given < 2 ? 2 : *given;
    int64_t outer[2] = {0};
    for (int i = 0; i < 2; i++) {
        const gt_value *size = gt_value_at(input, i), *of_filter = gt_value_at(weight, i);
        if (size->type != GT_VALUE_INT || size->integer < 1 || of_filter->type != GT_VALUE_INT) return false;
        outer[i] = of_filter->integer;
    }
    c->batch = input->items[0].integer;
    c->channels = input->items[1].integer;
    c->outputs = outer[c->transposed ? 1 : 0];
    c->input_last = has_channels_last(input, gt_value_at(strides, INPUT));
    c->filter_last = has_channels_last(weight, gt_value_at(strides, WEIGHT));
    return read_numbers(input, 2, *given, c->input) && weight->count == input->count &&
           read_numbers(weight, 2, *given, c->filter);
}

static bool read_convolution(const gt_bench_op *op, gt_arena *arena, convolution *c)
{
    const gt_value *dims = gt_value_parse(arena, op->dims), *strides = gt_value_parse(arena, op->strides);
    const gt_value *concrete = gt_value_parse(arena, op->concrete);
    const gt_value *type = gt_value_at(gt_value_parse(arena, op->types), INPUT);
    size_t given;
    for (size_t i = 0; i < GT_LENGTH(bases); i++)
        if (gt_value_equals_cstr(type, bases[i].type)) c->base = bases[i].base;
    for (size_t i = 0; i < MOST_DIMENSIONS; i++)
        c->input[i] = c->filter[i] = c->stride[i] = c->dilation[i] =
            1; /* of a height that the op does not have */
    c->transposed = is_true(concrete, TRANSPOSED);
    const gt_value *groups = argument(arena, concrete, GROUPS);
    c->groups = groups->type == GT_VALUE_INT ? groups->integer : 0;
    return c->base && c->groups > 0 && read_sizes(dims, strides, c, &given) &&
           read_numbers(argument(arena, concrete, STRIDE), 0, given, c->stride) &&
           read_numbers(argument(arena, concrete, PADDING), 0, given, c->padding) &&
           read_numbers(argument(arena, concrete, DILATION), 0, given, c->dilation);
}

/* One word for each dimension: depth where there is one, height, width. */
static void add_sizes(gt_buffer *out, const convolution *c, const int64_t *sizes, const char *const *names)
{
    for (size_t i = MOST_DIMENSIONS - c->dimensions; i < MOST_DIMENSIONS; i++)
        gt_buffer_add_format(out, " %s %lld", names[i], (long long)sizes[i]);
}

static void write_command(const convolution *c, gt_buffer *out)
{
    static const char *const input[] = {"--in_d", "-H", "-W"}, *const filter[] = {"--fil_d", "-y", "-x"},
                             *const padding[] = {"--pad_d", "-p", "-q"},
                             *const stride[] = {"--conv_stride_d", "-u", "-v"},
                             *const dilation[] = {"--dilation_d", "-l", "-j"};
    const char *layout = c->dimensions == 3 ? "NDHWC" : "NHWC";
    gt_buffer_add_format(out, "MIOpenDriver %s -n %lld -c %lld", c->base, (long long)c->batch,
                         (long long)c->channels);
    add_sizes(out, c, c->input, input);
    gt_buffer_add_format(out, " -k %lld", (long long)c->outputs);
    add_sizes(out, c, c->filter, filter);
    add_sizes(out, c, c->padding, padding);
    add_sizes(out, c, c->stride, stride);
    add_sizes(out, c, c->dilation, dilation);
    if (c->dimensions == 3) gt_buffer_add_cstr(out, " --spatial_dim 3");
    if (c->input_last) gt_buffer_add_format(out, " --in_layout %s", layout);
    if (c->filter_last) gt_buffer_add_format(out, " --fil_layout %s", layout);
    if (c->input_last || c->filter_last) gt_buffer_add_format(out, " --out_layout %s", layout);
    gt_buffer_add_format(out, " -m %s -g %lld -F 1 -t 1", c->transposed ? "trans" : "conv",
                         (long long)c->groups);
}

bool gt_miopen_command(const gt_bench_op *op, gt_buffer *out)
{
    gt_arena arena = {0};
    convolution c = {0};
    bool told = strcmp(op->name, "aten::convolution") == 0 && read_convolution(op, &arena, &c);
    if (told) write_command(&c, out);
    gt_arena_free(&arena);
    return told;
}
