/* Logs of libraries to command lines, and output of the programs to times. */
#include "batch/bench_commands.h"

#include "base/length.h"
#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *gt_bench_program(gt_bench bench)
{
    return bench == GT_BENCH_HIPBLASLT ? "hipblaslt-bench" : "MIOpenDriver";
}

bool gt_bench_command(gt_bench bench, const gt_bench_op *op, gt_buffer *out)
{
    return bench == GT_BENCH_HIPBLASLT ? gt_hipblaslt_command(op, out) : gt_miopen_command(op, out);
}

/* ---- lines ---- */

/* The next line of a text, without its end; `rest` moves behind it. False at the end. */
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

/* What stands in a line, digits behind it included where `with_number`, and what takes its place. In this
 * order. */
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

/* Lines that are no command line, which a program may print as well, are left out. */
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

/* The next field of a line with commas, without spaces around it; `rest` moves behind it. False at the end,
 * which is where `rest` has no bytes. */
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

/* The number in a field, the last one for SIZE_MAX; NaN where it is none. */
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

/* The place of a column in a line of headings; SIZE_MAX: it has none of that name. */
static size_t find_column(gt_str line, const char *name)
{
    gt_str field;
    for (size_t place = 0; next_field(&line, &field); place++)
        if (field.len == strlen(name) && memcmp(field.bytes, name, field.len) == 0) return place;
    return SIZE_MAX;
}

/* The last line but `before`; a text that ends in a line end has an empty line behind it. */
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

/* Headings, then the values in the line behind them; without headings, the last field of the line before the
 * three that name the solution. */
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
