/* Fuzzes the handling of an extension's reply: any document, on a small trace. Either it is rejected, or the
 * sheets can be written. */
#include "analysis/pytorch/sheets.h"
#include "extension/extension.h"
#include "input/chrome/kineto.h"
#include "quiet.h"

#include <stdlib.h>
#include <string.h>

/* An op that calls an op that launches (events 0, 1, 2; flow events 3, 4; kernel 5), and another with its
 * launch (6 to 10). */
#define HOST(cat, name, ts, dur)                                                                             \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
    ","
#define INPUTS                                                                                               \
    "\"args\":{\"Input Dims\":[[4,8],[8,2]],\"Input type\":[\"float\",\"float\"],\"Sequence number\":1}},"
#define LAUNCH(id, ts, kernel_ts)                                                                            \
    HOST("cuda_runtime", "cudaLaunchKernel", ts, "2")                                                        \
    "\"args\":{\"correlation\":" id "}},"                                                                    \
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":" id ",\"pid\":1,\"tid\":1,\"ts\":" ts "},"     \
    "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":" id ",\"pid\":0,\"tid\":7,\"ts\":" kernel_ts   \
    "},"                                                                                                     \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k" id "\",\"pid\":0,\"tid\":7,\"ts\":" kernel_ts            \
    ",\"dur\":5,\"args\":{\"correlation\":" id ",\"stream\":7}}"
static const char text[] =
    "[" HOST("cpu_op", "aten::linear", "100", "50") INPUTS HOST("cpu_op", "aten::mm", "105", "40")
        INPUTS LAUNCH("1", "110", "200") "," HOST("cpu_op", "my::act", "300", "20")
            INPUTS LAUNCH("2", "305", "320") "]";

static void make_sheets(const gt_linked_view *trace, gt_extension *extension)
{
    gt_launchers launchers = gt_launchers_find(trace);
    gt_ops *ops = gt_ops_new(trace, &launchers, (gt_ops_options){.extension = extension});
    gt_table_free(gt_ops_summary(ops));
    gt_ops_free(ops);
    gt_perf *perf = gt_perf_new(trace, &launchers, NULL, (gt_perf_options){.extension = extension});
    gt_table_list sheets = {0};
    gt_op_sheets_make(perf, (gt_op_sheets_options){0}, &sheets);
    gt_table_list_free(&sheets);
    gt_unified *unified = gt_unified_new(perf, GT_STACKS_IN_COLUMNS);
    gt_table_free(gt_unified_summary(unified));
    gt_unified_free(unified);
    gt_perf_free(perf);
    gt_launchers_free(&launchers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gt_error error = {{0}};
    gt_read_options read = {.threads = 1};
    gt_stream *stream = gt_stream_memory((const uint8_t *)text, strlen(text), 0, &error);
    gt_pytorch_read *events = gt_kineto_read_stream(stream, (gt_kineto_options){0}, &read, &error);
    gt_stream_close(stream);
    if (!events) abort();
    gt_pytorch_linked *trace = gt_pytorch_link(gt_pytorch_build_tree(events));
    gt_extension_reply answer = {0};
    if (gt_extension_apply(trace, (gt_str){(const char *)data, size}, &answer, &error)) {
        make_sheets(gt_pytorch_view(trace), answer.extension);
    } else if (!error.text[0]) {
        abort();
    }
    for (size_t i = 0; i < answer.sheet_count; i++) gt_table_free(answer.sheets[i]);
    free(answer.sheets);
    gt_extension_free(answer.extension);
    gt_pytorch_linked_free(trace);
    return 0;
}
