/* A matrix product of PyTorch as hipblaslt-bench runs it.
 *
 * PyTorch's matrices are row by row and the library's column by column, so that C = A B becomes C' = B' A':
 * the library's first matrix is B. A matrix whose last stride is 1 is taken as it stands, one whose last but
 * one is 1 as transposed; any other is copied by PyTorch before, and is then as it stands. */
#include "batch/bench_commands.h"

#include "base/length.h"
#include "base/memory.h"
#include "json/values.h"

#include <string.h>

/* Where the operands stand among the op's inputs. */
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

/* A matrix, or a batch of them. */
typedef struct matrix {
    int64_t batch, rows, columns; /* batch 0: there is only one */
    int64_t batch_stride, leading;
    bool transposed;
    size_t type; /* of the table above */
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
    int64_t result_stride; /* of a batch */
    bool bias;             /* a vector that is added */
    bool adds;             /* a matrix that is added */
    size_t bias_type;
} product;

static bool read_product(const gt_bench_op *op, gt_arena *arena, product *p)
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
        p->bias = gt_value_is_list(added) && added->count == 1;
        p->adds = !p->bias;
        p->bias_type = type_of(gt_value_at(names, ops[kind].c));
    }
    return p->a.type != NO_TYPE && p->b.type != NO_TYPE && p->a.columns == p->b.rows &&
           p->a.batch == p->b.batch && !__builtin_mul_overflow(p->a.rows, p->b.columns, &p->result_stride);
}

static void write_command(const product *p, gt_buffer *out)
{
    const matrix *first = &p->b, *second = &p->a; /* the library's */
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
    gt_buffer_add_format(out, " --alpha 1.000000 --beta %d.000000", p->adds);
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

bool gt_hipblaslt_command(const gt_bench_op *op, gt_buffer *out)
{
    gt_arena arena = {0};
    product p = {0};
    bool told = read_product(op, &arena, &p);
    if (told) write_command(&p, out);
    gt_arena_free(&arena);
    return told;
}
