/* Fuzzes the XPlane reader, including the protobuf and HLO readers, and all sheets of the three reports. */
#include "input/xla/xplane.h"
#include "report/jax.h"
#include "quiet.h"

#include <stdlib.h>

/* Events are in the order of their ids, and every reference is valid. */
static void check(const gt_jax *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        if (i && gt_jax_uid(trace, i) <= gt_jax_uid(trace, i - 1)) abort();
        if (trace->line[i] >= trace->line_count || gt_jax_line_of(trace, i)->gpu >= trace->gpu_count) abort();
        if (trace->op[i] != GT_JAX_NONE && trace->op[i] >= trace->op_count) abort();
        if (trace->dur_ps[i] < 1) abort();
    }
}

static void make_others(const gt_jax *trace)
{
    static const char line[] =
        "%x = f32[8,4]{1,0} all-gather(%p), replica_groups={{0,1},{2,3}}, dimensions={0}, "
        "metadata={scheduling_name=\"all-gather.1\"}";
    gt_error error = {{0}};
    gt_table_list tables = {0};
    if (!gt_jax_analysis_tables(trace, true, &tables, &error) && !error.text[0]) abort();
    gt_table_list_free(&tables);
    gt_jax_collectives *collectives = gt_jax_collectives_new(8);
    gt_xla program = {.strings = gt_jax_collectives_strings(collectives)};
    gt_xla_dump_add_line(&program, (gt_str){line, sizeof line - 1});
    gt_jax_collectives_add(collectives, 0, "host", trace, &program);
    gt_jax_collective_tables(collectives, &tables);
    gt_table_list_free(&tables);
    gt_xla_free(&program);
    gt_jax_collectives_free(collectives);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    gt_error error = {{0}};
    gt_read_options options = {.threads = 1, .strict = data[0] & 1};
    gt_stream *stream = gt_stream_memory(data + 1, size - 1, data[0] & 2 ? 1 + data[0] : 0, &error);
    if (!stream) return 0;
    gt_jax *trace = gt_xplane_read_with_products(stream, data[0] & 8 ? "jit_" : NULL, &options, &error);
    gt_stream_close(stream);
    if (!trace) {
        if (!error.text[0]) abort(); /* a failure without a message */
        return 0;
    }
    check(trace);
    static const char *const keywords[] = {"jit"};
    gt_table_list tables = {0};
    gt_jax_options wanted = {keywords, (data[0] & 4) != 0};
    if (!gt_jax_tables(trace, &wanted, &tables, &error) && !error.text[0]) abort();
    gt_table_list_free(&tables);
    if (data[0] & 8) make_others(trace);
    gt_jax_free(trace);
    return 0;
}
