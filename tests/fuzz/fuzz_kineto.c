/* Fuzzes the PyTorch reader, including compressed input, and call tree, launches and launchers. The first
 * byte chooses the options and the number of threads. */
#include "analysis/pytorch/launchers.h"
#include "base/team.h"
#include "input/chrome/head.h"
#include "input/chrome/kineto.h"
#include "quiet.h"

#include <stdlib.h>

/* The tree is consistent: parents open before their children, subtrees nest. */
static void check_tree(const gt_linked_view *trace)
{
    for (uint32_t row = 0; row < trace->count; row++) {
        uint32_t parent = trace->parent[row];
        if (parent == GT_NO_EVENT || !gt_kind_is_host(trace->kind[row])) continue;
        if (trace->preorder[parent] >= trace->preorder[row] ||
            trace->subtree_end[parent] < trace->subtree_end[row])
            abort();
    }
}

/* The readers of kernels only, of the devices, and of what is before the events. */
static void read_parts(const uint8_t *data, size_t size, size_t block, const gt_read_options *options)
{
    gt_error error = {{0}};
    gt_kernel_instance shortest, longest;
    gt_stream *stream = gt_stream_memory(data, size, block, &error);
    gt_kernel_list *kernels = stream ? gt_kineto_read_kernels_stream(stream, options, &error) : NULL;
    if (kernels && gt_kernel_list_find(kernels, (gt_str){"", 0}, false, &shortest, &longest) &&
        !(shortest.dur_us <= longest.dur_us))
        abort();
    gt_kernel_list_free(kernels);
    gt_stream_close(stream);
    stream = gt_stream_memory(data, size, block, &error);
    if (stream) gt_kineto_count_devices(stream);
    gt_stream_close(stream);
    stream = gt_stream_memory(data, size, block, &error);
    gt_arena arena = {0};
    if (stream) gt_kineto_read_head(stream, &arena);
    gt_arena_free(&arena);
    gt_stream_close(stream);
}

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static unsigned threads_of(const input *in)
{
    return in->data[0] & 64 ? 4 : 1;
}

static void run_input(void *context)
{
    const input *in = context;
    const uint8_t *data = in->data;
    size_t size = in->size;
    gt_error error = {{0}};
    gt_read_options options = {.threads = threads_of(in), .strict = data[0] & 1};
    gt_kineto_options keep = {.python_functions = data[0] & 2,
                              .every_event = data[0] & 4,
                              .frames = data[0] & 16,
                              .memory = data[0] & 32};
    size_t block = data[0] & 8 ? 1 + data[0] : 0;
    gt_stream *stream = gt_stream_memory(data + 1, size - 1, block, &error);
    if (!stream) return;
    gt_pytorch_read *events = gt_kineto_read_stream(stream, keep, &options, &error);
    gt_stream_close(stream);
    read_parts(data + 1, size - 1, block, &options);
    if (!events) {
        if (!error.text[0]) abort(); /* a failure without a message */
        return;
    }
    gt_pytorch_linked *trace = gt_pytorch_link(gt_pytorch_build_tree(events));
    check_tree(gt_pytorch_view(trace));
    size_t regions, marked;
    gt_pytorch_mark_recompute(trace, &regions, &marked);
    gt_launchers launchers = gt_launchers_find(gt_pytorch_view(trace));
    gt_launchers_free(&launchers);
    gt_pytorch_linked_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    if (size) gt_team_run(threads_of(&in), run_input, &in);
    return 0;
}
