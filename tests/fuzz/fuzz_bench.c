/* Fuzzes the commands of benchmark programs. Lines of the input: the op's name, dims, types, strides,
 * concrete inputs; the whole input is then read as a log and as the output of a program. A command is one
 * line that begins with its program's name. */
#include "batch/bench_commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static gt_str next_line(gt_str *rest)
{
    const char *end = rest->len ? memchr(rest->bytes, '\n', rest->len) : NULL;
    gt_str line = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->len};
    size_t used = line.len + (end != NULL);
    rest->bytes += used;
    rest->len -= used;
    return line;
}

static void check(gt_bench bench, const gt_replay_op *op)
{
    gt_buffer out = {0};
    bool has_command = gt_bench_command(bench, op, &out);
    if (has_command != (out.len > 0)) abort();
    const char *program = gt_bench_program(bench);
    if (has_command && (strncmp(gt_buffer_str(&out).bytes, program, strlen(program)) != 0 ||
                        memchr(out.bytes, '\n', out.len)))
        abort();
    gt_buffer_free(&out);
}

static void check_log(gt_bench bench, gt_str text)
{
    gt_buffer out = {0};
    gt_bench_edit_log(bench, text, &out);
    if (out.len && out.bytes[out.len - 1] != '\n') abort();
    gt_buffer_free(&out);
    double time_us = gt_bench_time_us(bench, text);
    if (isinf(time_us) && bench == GT_BENCH_HIPBLASLT) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"aten::mm", "aten::bmm", "aten::addmm", "aten::_scaled_mm",
                                        "aten::convolution"};
    gt_str rest = {(const char *)data, size};
    if (!size) return 0;
    gt_replay_op op = {.name = names[data[0] % 5]};
    next_line(&rest);
    op.dims = next_line(&rest);
    op.types = next_line(&rest);
    op.strides = next_line(&rest);
    op.concrete = next_line(&rest);
    for (gt_bench bench = GT_BENCH_HIPBLASLT; bench <= GT_BENCH_MIOPEN; bench++) {
        check(bench, &op);
        check_log(bench, (gt_str){(const char *)data, size});
    }
    return 0;
}
