/* Fuzzes the PyTorch report: any trace, any options, all sheets. Two bytes before the trace choose the
 * options. */
#include "input/chrome/kineto.h"
#include "report/pytorch/pytorch.h"
#include "quiet.h"
#include "sound_table.h"

#include <stdlib.h>

static gt_pytorch_options choose(unsigned bits)
{
    gt_error error;
    gt_pytorch_options options = gt_pytorch_options_default();
    options.include_unlinked_kernels = bits & 1;
    options.kernel_summary = bits & 2;
    options.short_kernel_study = bits & 4;
    options.overlap_info = bits & 8;
    options.detect_recompute = bits & 16;
    options.call_stack = bits & 32;
    options.pseudo_ops = bits & 64;
    options.group_by_num_kernels = bits & 128;
    options.gpu_arch = bits & 256 ? gt_gpu_arch_find("MI300X", &error) : NULL;
    options.topk_roofline_ops = (gt_row_limit){bits & 512, 1};
    options.topk_ops = (gt_row_limit){bits & 1024, 1};
    options.first_occurrence = bits & 2048;
    options.split_idle = bits & 4096;
    options.extra = bits & 8192;
    options.extra_options = gt_hta_options_default();
    options.extra_options.hta_times = bits & 16384;
    options.extra_options.include_last_step = bits & 32768;
    options.phases = bits & 2;
    options.phase_options.method = (gt_phase_method)(bits % GT_PHASE_METHODS);
    return options;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    gt_error error = {{0}};
    gt_pytorch_options options = choose(data[0] | (unsigned)data[1] << 8);
    gt_kineto_options keep = {.python_functions = gt_pytorch_needs_python(&options)};
    gt_read_options read = {.threads = 1};
    gt_stream *stream = gt_stream_memory(data + 2, size - 2, 0, &error);
    if (!stream) return 0;
    gt_pytorch_read *events = gt_kineto_read_stream(stream, keep, &read, &error);
    gt_stream_close(stream);
    if (!events) return 0;
    gt_pytorch_linked *trace = gt_pytorch_link(gt_pytorch_build_tree(events));
    gt_table_list tables = {0};
    if (!gt_pytorch_tables(trace, &options, &tables, &error) && !error.text[0]) abort();
    for (size_t i = 0; i < tables.count; i++) check_table(tables.items[i]);
    gt_table_list_free(&tables);
    gt_pytorch_linked_free(trace);
    return 0;
}
