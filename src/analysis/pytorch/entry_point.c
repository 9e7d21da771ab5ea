/* The entry point of an op: the function of the user's program that called it.
 *
 * Some ops are implemented by a Python function with the op's name, which is inside the op in the stack: that
 * is the entry point. Otherwise it is the nearest frame outside the op that is in a Python file and is not
 * one of PyTorch's wrappers. */
#include "analysis/pytorch/entry_point.h"
#include "base/length.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char *const wrapper_beginnings[] = {"<built-in", "pybind11_builtins", "nn.Module:"};

static const char *const wrapper_files[] = {
    "torch/_ops.py",       "torch/nn/modules/module.py",
    "torch/_tensor.py",    "torch/utils/_contextlib.py",
    "torch/functional.py", "torch/utils/_device.py",
    "torch/overrides.py",  "torch/_inductor/",
    "torch/_functorch/",   "torch/distributed/c10d_logger.py",
    "triton/backends/",
};

static const char *const wrapper_functions[] = {
    "__torch_function__", "_call_impl",    "_wrapped_call_impl",    "decorate_context",
    "dispatch_wrapper",   "wrapper",       "handle_torch_function", "custom_wrapper",
    "wrapper_custom",     "outer_wrapper",
};

static bool equal(gt_str a, gt_str b)
{
    return a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0;
}

static bool contains_ignoring_case(gt_str text, gt_str word)
{
    for (size_t i = 0; i + word.len <= text.len; i++)
        if (strncasecmp(text.bytes + i, word.bytes, word.len) == 0) return true;
    return false;
}

/* The part after the last separator; false if there is none. */
static bool after_last(gt_str text, const char *separator, gt_str *rest)
{
    size_t len = strlen(separator);
    for (size_t i = text.len; i-- > 0;) {
        if (i + len > text.len || memcmp(text.bytes + i, separator, len) != 0) continue;
        *rest = (gt_str){text.bytes + i + len, text.len - i - len};
        return true;
    }
    return false;
}

static bool is_wrapper(gt_str frame)
{
    for (size_t i = 0; i < GT_LENGTH(wrapper_beginnings); i++)
        if (strncmp(frame.bytes, wrapper_beginnings[i], strlen(wrapper_beginnings[i])) == 0) return true;
    for (size_t i = 0; i < GT_LENGTH(wrapper_files); i++)
        if (gt_str_contains(frame, wrapper_files[i])) return true;
    gt_str function;
    if (!after_last(frame, "): ", &function)) return false;
    for (size_t i = 0; i < GT_LENGTH(wrapper_functions); i++)
        if (strcmp(function.bytes, wrapper_functions[i]) == 0) return true;
    return false;
}

static size_t last_equal(gt_str name, const gt_str *frames, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (equal(frames[i], name)) return i;
    return SIZE_MAX;
}

/* Frames have no numbers after underscores (call_stacks.c), so the op's frame may lack the op's number. */
static gt_str without_number(gt_str name)
{
    size_t len = name.len;
    while (len && name.bytes[len - 1] >= '0' && name.bytes[len - 1] <= '9') len--;
    bool numbered = len < name.len && len && name.bytes[len - 1] == '_';
    return (gt_str){name.bytes, numbered ? len - 1 : name.len};
}

size_t gt_entry_point(gt_str op_name, const gt_str *frames, size_t count)
{
    size_t op = last_equal(op_name, frames, count);
    if (op == SIZE_MAX) op = last_equal(without_number(op_name), frames, count);
    if (op == SIZE_MAX) return SIZE_MAX;
    gt_str local = op_name;
    after_last(op_name, "::", &local);
    for (size_t i = op + 1; i < count; i++) {
        gt_str function = frames[i];
        after_last(frames[i], "): ", &function);
        if (gt_str_contains(frames[i], ".py") && contains_ignoring_case(function, local)) return i;
    }
    for (size_t i = op; i-- > 0;)
        if (gt_str_contains(frames[i], ".py") && !is_wrapper(frames[i])) return i;
    return SIZE_MAX;
}
