/* Command lines of hipblaslt-bench and MIOpenDriver, from the arguments of an op or from the log of a
 * library, and the times that these programs print. */
#include "batch/bench_commands.h"

/* ---- hipblaslt-bench ---- */

/* Positions of the operands among the op's inputs. */
static const struct {
    const char *name;
    int a, b, c; /* c: the bias or the matrix that is added; -1: none */
} ops[] = {
    {"aten::mm", 0, 1, -1},     {"aten::bmm", 0, 1, -1},        {"aten::addmm", 1, 2, 0},
    {"aten::baddbmm", 1, 2, 0}, {"aten::_scaled_mm", 0, 1, -1},
};

static const struct {
    const char *type, *bench, *compute, *result;
    bool scaled;
} types[] = {
    {"float", "f32_r", "f32_r", "f32_r", false},
    {"double", "f64_r", "f64_r", "f64_r", false},
    {"c10::Half", "f16_r", "f32_r", "f16_r", false},
    {"c10::BFloat16", "bf16_r", "f32_r", "bf16_r", false},
    {"signed char", "i8_r", "i32_r", "i32_r", false},
    {"c10::Float8_e4m3fn", "f8_r", "f32_r", "bf16_r", true},
    {"c10::Float8_e5m2", "bf8_r", "f32_r", "bf16_r", true},
    {"c10::Float8_e4m3fnuz", "f8_fnuz_r", "f32_r", "bf16_r", true},
    {"c10::Float8_e5m2fnuz", "bf8_fnuz_r", "f32_r", "bf16_r", true},
};
enum { NO_TYPE = GT_LENGTH(types) };

/* A matrix, or a batch of matrices. */
typedef struct matrix {
    int64_t batch, rows, columns; /* batch 0: a single matrix */
    int64_t batch_stride, leading;
    bool transposed;
    size_t type; /* row of the table above */
} matrix;

static bool read_numbers(const gt_value *list, int64_t *numbers, size_t count)
{
    if (!gt_value_is_list(list) || list->count != count) return false;
    for (size_t i = 0; i < count; i++) {
        if (list->items[i].type != GT_VALUE_INT || list->items[i].integer < 0) return false;
        numbers[i] = list->items[i].integer;
    }
    return true;
}

static size_t type_of(const gt_value *type)
{
    for (size_t i = 0; i < GT_LENGTH(types); i++)
        if (gt_value_equals_cstr(type, types[i].type)) return i;
    return NO_TYPE;
}

static int64_t at_least(int64_t value, int64_t least)
{
    return value < least ? least : value;
}

static bool read_matrix(const gt_value *dims, const gt_value *strides, matrix *m)
{
    int64_t sizes[3] = {0}, steps[3] = {0};
    size_t count = gt_value_is_list(dims) ? dims->count : 0;
    if (count < 2 || count > 3 || !read_numbers(dims, sizes, count)) return false;
    bool has_strides = read_numbers(strides, steps, count);
    int64_t last = steps[count - 1], before = steps[count - 2];
    m->rows = sizes[count - 2];
    m->columns = sizes[count - 1];
    m->batch = count == 3 ? sizes[0] : 0;
    if (m->rows < 1 || m->columns < 1 || (count == 3 && m->batch < 1)) return false;
    m->transposed = has_strides && last != 1 && before == 1;
    bool as_it_stands = has_strides && last == 1;
    m->leading = m->transposed  ? at_least(last, m->rows)
                 : as_it_stands ? at_least(before, m->columns)
                                : m->columns;
    if (count < 3) return true;
    m->batch_stride = steps[0];
    return m->transposed || as_it_stands || !__builtin_mul_overflow(m->rows, m->columns, &m->batch_stride);
}

typedef struct product {
    matrix a, b;
    int64_t result_stride; /* stride between the matrices of a batch */
    bool bias;             /* a vector that is added */
    double beta;           /* factor of a matrix that is added; 0: none */
    size_t bias_type;
} product;

/* The factor of the added tensor, argument 3, which the trace stores as "1" or "0."; 1 if it is unknown. */
static double beta_of(const gt_replay_op *op, gt_arena *arena)
{
    const gt_value *value = gt_value_at(gt_value_parse(arena, op->concrete), 3);
    char text[32] = "", *end;
    if (value->type == GT_VALUE_INT) return (double)value->integer;
    if (value->type != GT_VALUE_STRING || value->text.len >= sizeof text) return 1;
    memcpy(text, value->text.bytes, value->text.len);
    double beta = strtod(text, &end);
    return end > text && !*end && isfinite(beta) ? beta : 1;
}

static bool read_product(const gt_replay_op *op, gt_arena *arena, product *p)
{
    size_t kind = 0;
    while (kind < GT_LENGTH(ops) && strcmp(ops[kind].name, op->name) != 0) kind++;
    if (kind == GT_LENGTH(ops)) return false;
    const gt_value *dims = gt_value_parse(arena, op->dims), *strides = gt_value_parse(arena, op->strides);
    const gt_value *names = gt_value_parse(arena, op->types);
    if (!read_matrix(gt_value_at(dims, ops[kind].a), gt_value_at(strides, ops[kind].a), &p->a) ||
        !read_matrix(gt_value_at(dims, ops[kind].b), gt_value_at(strides, ops[kind].b), &p->b))
        return false;
    p->a.type = type_of(gt_value_at(names, ops[kind].a));
    p->b.type = type_of(gt_value_at(names, ops[kind].b));
    if (ops[kind].c >= 0) {
        const gt_value *added = gt_value_at(dims, ops[kind].c);
        double beta = beta_of(op, arena);
        p->bias = gt_value_is_list(added) && added->count == 1 && beta == 1;
        p->beta = p->bias ? 0 : beta;
        p->bias_type = type_of(gt_value_at(names, ops[kind].c));
    }
    return p->a.type != NO_TYPE && p->b.type != NO_TYPE && p->a.columns == p->b.rows &&
           p->a.batch == p->b.batch && !__builtin_mul_overflow(p->a.rows, p->b.columns, &p->result_stride);
}

static void write_command(const product *p, gt_buffer *out)
{
    const matrix *first = &p->b, *second = &p->a; /* names of the library */
    long long n = (long long)p->a.rows, m = (long long)p->b.columns;
    bool batched = p->a.batch > 0, scaled = types[first->type].scaled;
    const char *result = types[first->type].result;
    gt_buffer_add_format(out, "hipblaslt-bench --api_method c -m %lld -n %lld -k %lld", m, n,
                         (long long)p->a.columns);
    gt_buffer_add_format(out, " --lda %lld --ldb %lld --ldc %lld --ldd %lld", (long long)first->leading,
                         (long long)second->leading, m, m);
    gt_buffer_add_format(
        out, " --stride_a %lld --stride_b %lld --stride_c %lld --stride_d %lld",
        batched ? (long long)first->batch_stride : 0, batched ? (long long)second->batch_stride : 0,
        batched ? (long long)p->result_stride : 0, batched ? (long long)p->result_stride : 0);
    gt_buffer_add_format(out, " --alpha 1.000000 --beta %f", p->beta);
    gt_buffer_add_format(out, " --transA %c --transB %c", first->transposed ? 'T' : 'N',
                         second->transposed ? 'T' : 'N');
    gt_buffer_add_format(out, " --batch_count %lld --scaleA %d --scaleB %d",
                         batched ? (long long)p->a.batch : 1, scaled, scaled);
    if (p->bias) gt_buffer_add_format(out, " --bias_vector --bias_source d");
    gt_buffer_add_format(out, " --a_type %s --b_type %s --c_type %s --d_type %s", types[first->type].bench,
                         types[second->type].bench, result, result);
    const char *compute = types[first->type].compute;
    bool typed = p->bias && p->bias_type != NO_TYPE;
    gt_buffer_add_format(out, " --scale_type %s --bias_type %s", compute,
                         typed ? types[p->bias_type].bench : "f32_r");
    gt_buffer_add_format(
        out,
        " --compute_type %s --algo_method heuristic --requested_solution 1 --activation_type none "
        "--any_stride"
        " --rotating 512 --cold_iters 100 --iters 100 --flush --initialization trig_float --use_gpu_timer"
        " --print_kernel_info",
        compute);
}

static bool hipblaslt_command(const gt_replay_op *op, gt_buffer *out)
{
    gt_arena arena = {0};
    product p = {0};
    bool told = read_product(op, &arena, &p);
    if (told) write_command(&p, out);
    gt_arena_free(&arena);
    return told;
}

/* ---- MIOpenDriver ---- */

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

/* Sizes along depth, height and width; the last ones are used. */
typedef struct convolution {
    const char *base;
    size_t dimensions; /* 2 or 3 */
    int64_t batch, channels, outputs;
    int64_t input[MOST_DIMENSIONS], filter[MOST_DIMENSIONS];
    int64_t stride[MOST_DIMENSIONS], padding[MOST_DIMENSIONS], dilation[MOST_DIMENSIONS];
    int64_t output_padding[MOST_DIMENSIONS];  /* of a transposed convolution */
    bool transposed, input_last, filter_last; /* _last: the layout is channels-last */
    int64_t groups;
} convolution;

/* Reads `count` integers into the last elements of `out`; a list with one number applies to all of them. */
static bool read_conv_numbers(const gt_value *list, size_t from, size_t count, int64_t *out)
{
    if (!gt_value_is_list(list) || (list->count != from + count && list->count != 1)) return false;
    for (size_t i = 0; i < count; i++) {
        const gt_value *item = &list->items[list->count == 1 ? 0 : from + i];
        if (item->type != GT_VALUE_INT || item->integer < 0) return false;
        out[MOST_DIMENSIONS - count + i] = item->integer;
    }
    return true;
}

/* A non-tensor argument, which the trace stores as a string: "[1, 1]". */
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

/* Whether the strides grow in this order of the dimensions, without overlap. Dimensions of size 1 are
 * ignored: their strides address nothing, and frameworks write any number there. */
static bool has_order(const gt_value *dims, const gt_value *strides, const uint32_t *order)
{
    int64_t least = 1;
    for (uint32_t i = 0; i < dims->count; i++) {
        const gt_value *size = gt_value_at(dims, (int)order[i]),
                       *stride = gt_value_at(strides, (int)order[i]);
        if (size->type != GT_VALUE_INT || stride->type != GT_VALUE_INT || size->integer < 1) return false;
        if (size->integer == 1) continue;
        if (stride->integer < least || __builtin_mul_overflow(stride->integer, size->integer, &least))
            return false;
    }
    return true;
}

/* A tensor of batch, channels and up to three spatial dimensions. One that is contiguous too, such as the
 * weights (128, 256, 1, 1) with strides (256, 1, 1, 1), is not channels-last. */
static bool has_channels_last(const gt_value *dims, const gt_value *strides)
{
    uint32_t contiguous[2 + MOST_DIMENSIONS], last[2 + MOST_DIMENSIONS], rank = dims->count;
    if (!gt_value_is_list(dims) || rank < 3 || rank > GT_LENGTH(last)) return false;
    for (uint32_t i = 0; i < rank; i++) contiguous[i] = rank - 1 - i;
    last[0] = 1; /* channels, then width to depth, then the batch */
    for (uint32_t i = 1; i < rank - 1; i++) last[i] = rank - i;
    last[rank - 1] = 0;
    return has_order(dims, strides, last) && !has_order(dims, strides, contiguous);
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
    c->outputs = outer[0];
    if (c->transposed && __builtin_mul_overflow(outer[1], c->groups, &c->outputs)) return false;
    c->input_last = has_channels_last(input, gt_value_at(strides, INPUT));
    c->filter_last = has_channels_last(weight, gt_value_at(strides, WEIGHT));
    return read_conv_numbers(input, 2, *given, c->input) && weight->count == input->count &&
           read_conv_numbers(weight, 2, *given, c->filter);
}

static bool read_convolution(const gt_replay_op *op, gt_arena *arena, convolution *c)
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
    const gt_value *output_padding = argument(arena, concrete, OUTPUT_PADDING);
    return c->base && c->groups > 0 && read_sizes(dims, strides, c, &given) &&
           (!c->transposed || !gt_value_is_list(output_padding) || !output_padding->count ||
            read_conv_numbers(output_padding, 0, given, c->output_padding)) &&
           read_conv_numbers(argument(arena, concrete, STRIDE), 0, given, c->stride) &&
           read_conv_numbers(argument(arena, concrete, PADDING), 0, given, c->padding) &&
           read_conv_numbers(argument(arena, concrete, DILATION), 0, given, c->dilation);
}

/* Adds one option per dimension: depth if there is one, height, width. */
static void add_sizes(gt_buffer *out, const convolution *c, const int64_t *sizes, const char *const *names)
{
    for (size_t i = MOST_DIMENSIONS - c->dimensions; i < MOST_DIMENSIONS; i++)
        gt_buffer_add_format(out, " %s %lld", names[i], (long long)sizes[i]);
}

static void write_conv_command(const convolution *c, gt_buffer *out)
{
    static const char *const
        input[] = {"--in_d", "-H", "-W"},
        *const filter[] = {"--fil_d", "-y", "-x"}, *const padding[] = {"--pad_d", "-p", "-q"},
        *const stride[] = {"--conv_stride_d", "-u", "-v"}, *const dilation[] = {"--dilation_d", "-l", "-j"},
        *const output_padding[] = {"--trans_output_pad_d", "--trans_output_pad_h", "--trans_output_pad_w"};
    const char *layout = c->dimensions == 3 ? "NDHWC" : "NHWC";
    gt_buffer_add_format(out, "MIOpenDriver %s -n %lld -c %lld", c->base, (long long)c->batch,
                         (long long)c->channels);
    add_sizes(out, c, c->input, input);
    gt_buffer_add_format(out, " -k %lld", (long long)c->outputs);
    add_sizes(out, c, c->filter, filter);
    add_sizes(out, c, c->padding, padding);
    add_sizes(out, c, c->stride, stride);
    add_sizes(out, c, c->dilation, dilation);
    if (c->output_padding[0] || c->output_padding[1] || c->output_padding[2])
        add_sizes(out, c, c->output_padding, output_padding);
    if (c->dimensions == 3) gt_buffer_add_cstr(out, " --spatial_dim 3");
    if (c->input_last) gt_buffer_add_format(out, " --in_layout %s", layout);
    if (c->filter_last) gt_buffer_add_format(out, " --fil_layout %s", layout);
    if (c->input_last || c->filter_last) gt_buffer_add_format(out, " --out_layout %s", layout);
    gt_buffer_add_format(out, " -m %s -g %lld -F 1 -t 1", c->transposed ? "trans" : "conv",
                         (long long)c->groups);
}

static bool miopen_command(const gt_replay_op *op, gt_buffer *out)
{
    gt_arena arena = {0};
    convolution c = {0};
    bool told = strcmp(op->name, "aten::convolution") == 0 && read_convolution(op, &arena, &c);
    if (told) write_conv_command(&c, out);
    gt_arena_free(&arena);
    return told;
}

/* ---- command lines, logs and times ---- */

const char *gt_bench_program(gt_bench bench)
{
    return bench == GT_BENCH_HIPBLASLT ? "hipblaslt-bench" : "MIOpenDriver";
}

bool gt_bench_command(gt_bench bench, const gt_replay_op *op, gt_buffer *out)
{
    return bench == GT_BENCH_HIPBLASLT ? hipblaslt_command(op, out) : miopen_command(op, out);
}

/* ---- lines ---- */

/* The next line of a text, without its end; advances `rest` past it. Returns false at the end. */
static bool next_line(gt_str *rest, gt_str *line)
{
    if (!rest->len) return false;
    const char *end = memchr(rest->bytes, '\n', rest->len);
    line->bytes = rest->bytes;
    line->len = end ? (size_t)(end - rest->bytes) : rest->len;
    size_t taken = line->len + (end != NULL);
    rest->bytes += taken;
    rest->len -= taken;
    return true;
}

static const char *find_in(gt_str text, const char *part)
{
    return text.len ? memmem(text.bytes, text.len, part, strlen(part)) : NULL;
}

/* ---- hipBLASLt's log ---- */

static const char TAIL[] = " --flush --initialization trig_float --use_gpu_timer --print_kernel_info";

/* Text in a line, with the digits after it if `with_number`, and its replacement. In this order. */
static const struct {
    const char *from, *to;
    bool with_number, first_only;
} edits[] = {
    {"--algo_method index", "--algo_method heuristic", false, false},
    {"--solution_index ", "--requested_solution 1", true, true},
    {"--cold_iters ", "--cold_iters 100", true, false},
    {"--iters ", "--iters 100", true, false},
    {"--rotating ", "--rotating 512", true, false},
    {"--aux_type f32_r", "", false, false},
};

static void apply_edit(gt_buffer *line, size_t which)
{
    gt_buffer edited = {0};
    gt_str rest = gt_buffer_str(line);
    const char *found;
    bool done = false;
    while (!done && (found = find_in(rest, edits[which].from))) {
        size_t before = (size_t)(found - rest.bytes), len = strlen(edits[which].from);
        gt_buffer_add(&edited, rest.bytes, before);
        gt_buffer_add_cstr(&edited, edits[which].to);
        rest.bytes = found + len;
        rest.len -= before + len;
        for (; edits[which].with_number && rest.len && isdigit((unsigned char)*rest.bytes); rest.len--)
            rest.bytes++;
        done = edits[which].first_only;
    }
    gt_buffer_add(&edited, rest.bytes, rest.len);
    gt_buffer_free(line);
    *line = edited;
}

/* Drops lines that are not command lines, which a program may also print. */
static void edit_hipblaslt(gt_str log, gt_buffer *out)
{
    gt_str line;
    while (next_line(&log, &line)) {
        const char *command = find_in(line, "hipblaslt-bench ");
        if (!command) continue;
        gt_buffer edited = {0};
        gt_buffer_add(&edited, command, line.len - (size_t)(command - line.bytes));
        gt_buffer_add_cstr(&edited, TAIL);
        for (size_t i = 0; i < GT_LENGTH(edits); i++) apply_edit(&edited, i);
        gt_buffer_add(out, edited.bytes, edited.len);
        gt_buffer_add_cstr(out, "\n");
        gt_buffer_free(&edited);
    }
}

/* ---- MIOpen's log ---- */

static void edit_miopen(gt_str log, gt_buffer *out)
{
    static const char folder[] = "./bin/";
    gt_str line;
    while (next_line(&log, &line)) {
        if (!find_in(line, "[LogCmdConvolution]")) continue;
        for (const char *found; (found = find_in(line, folder));) {
            line.len -= (size_t)(found - line.bytes) + strlen(folder);
            line.bytes = found + strlen(folder);
        }
        gt_buffer_add(out, line.bytes, line.len);
        gt_buffer_add_cstr(out, "\n");
    }
}

void gt_bench_edit_log(gt_bench bench, gt_str log, gt_buffer *out)
{
    if (bench == GT_BENCH_HIPBLASLT)
        edit_hipblaslt(log, out);
    else
        edit_miopen(log, out);
}

/* ---- times ---- */

/* The next field of a comma-separated line, without spaces around it; advances `rest` past it. Returns
 * false at the end, where `rest` is empty. */
static bool next_field(gt_str *rest, gt_str *field)
{
    if (!rest->bytes) return false;
    const char *comma = rest->len ? memchr(rest->bytes, ',', rest->len) : NULL;
    *field = (gt_str){rest->bytes, comma ? (size_t)(comma - rest->bytes) : rest->len};
    *rest = (gt_str){comma ? comma + 1 : NULL, comma ? rest->len - field->len - 1 : 0};
    while (field->len && isspace((unsigned char)field->bytes[0])) field->bytes++, field->len--;
    while (field->len && isspace((unsigned char)field->bytes[field->len - 1])) field->len--;
    return true;
}

/* The number in a field, the last one for SIZE_MAX; NaN if it is not a number. */
static double number_in(gt_str line, size_t place)
{
    gt_str field = {"", 0};
    char digits[64], *end;
    size_t at = 0;
    while (at <= place && next_field(&line, &field)) at++;
    if ((place != SIZE_MAX && at <= place) || !field.len || field.len >= sizeof digits) return (double)NAN;
    memcpy(digits, field.bytes, field.len);
    digits[field.len] = 0;
    double number = strtod(digits, &end);
    return *end || !isfinite(number) ? (double)NAN : number;
}

/* The position of a column in a header line; SIZE_MAX: no such column. */
static size_t find_column(gt_str line, const char *name)
{
    gt_str field;
    for (size_t place = 0; next_field(&line, &field); place++)
        if (field.len == strlen(name) && memcmp(field.bytes, name, field.len) == 0) return place;
    return SIZE_MAX;
}

/* The line `before` lines above the last one; text that ends with a line end has an empty last line. */
static gt_str line_from_end(gt_str text, size_t before)
{
    gt_str line = {"", 0};
    for (size_t i = 0;; i++) {
        const char *end = text.len ? memrchr(text.bytes, '\n', text.len) : NULL;
        size_t start = end ? (size_t)(end - text.bytes) + 1 : 0;
        line = (gt_str){text.bytes + start, text.len - start};
        if (i == before) return line;
        if (!end) return (gt_str){"", 0};
        text.len = start - 1;
    }
}

/* A header, then the values in the next line; without header, the last field of the line above the three
 * lines about the solution. */
static double hipblaslt_time(gt_str output)
{
    gt_str rest = output, line;
    double time_us = (double)NAN;
    bool has_headings = false;
    while (next_line(&rest, &line)) {
        if (!find_in(line, "hipblaslt-Gflops")) continue;
        gt_str values = rest, next;
        size_t column = find_column(line, "us");
        has_headings = true;
        time_us = column != SIZE_MAX && next_line(&values, &next) ? number_in(next, column) : (double)NAN;
    }
    return has_headings ? time_us : number_in(line_from_end(output, 4), SIZE_MAX);
}

/* "stats: name, ..., timeMs" and "stats: fwd-conv3x3u1, ..., 0.083398". */
static double miopen_time(gt_str output)
{
    static const char mark[] = "stats:";
    gt_str line;
    size_t column = SIZE_MAX;
    double time_ms = (double)NAN;
    while (next_line(&output, &line)) {
        if (line.len < strlen(mark) || memcmp(line.bytes, mark, strlen(mark)) != 0) continue;
        if (find_in(line, "timeMs"))
            column = find_column(line, "timeMs");
        else
            time_ms = number_in(line, column);
    }
    return time_ms * 1000;
}

double gt_bench_time_us(gt_bench bench, gt_str output)
{
    return bench == GT_BENCH_HIPBLASLT ? hipblaslt_time(output) : miopen_time(output);
}
