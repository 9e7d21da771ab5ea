/* What do names say? A table of words: which names that begin with them, contain them or are equal to them
 * get which bit. Names that words cannot describe have a function. */
#include "findings/schedule/names.h"

typedef enum match_how {
    IS,         /* one of the words */
    BEGINS,     /* begins with one of the words */
    BEGINS_API, /* the same after cuda, hip or cu */
    HAS,        /* contains one of the words */
    HAS_ANY_CASE,
} match_how;

/* ---- names that words cannot describe ---- */

static const char *find_text(gt_str name, const char *text)
{
    return memmem(name.bytes, name.len, text, strlen(text));
}

static gt_str rest_from(gt_str name, const char *at)
{
    return (gt_str){at, (size_t)(name.bytes + name.len - at)};
}

/* DataLoader ... __next__ */
static bool is_next_of_loader(gt_str name)
{
    const char *loader = find_text(name, "DataLoader");
    return loader && find_text(rest_from(name, loader + strlen("DataLoader")), "__next__");
}

/* torch/utils/checkpoint.py(123): followed by a function that repeats forward work. */
static bool is_checkpoint_function(gt_str name)
{
    static const char *const functions[] = {"recompute_fn", "unpack", "_run_fn_with_dynamo_disabled",
                                            "backward"};
    static const char file[] = "torch/utils/checkpoint.py(";
    const char *at = find_text(name, file), *end = name.bytes + name.len;
    if (!at) return false;
    at += strlen(file);
    const char *digits = at;
    while (at < end && isdigit((unsigned char)*at)) at++;
    if (at == digits || end - at < 3 || memcmp(at, "): ", 3) != 0) return false;
    gt_str function = rest_from(name, at + 3);
    for (size_t i = 0; i < GT_LENGTH(functions); i++)
        if (gt_str_starts_with(function, functions[i])) return true;
    return false;
}

static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

/* Whether the text at `at` is a whole folder of the path; `rest` is what its name may go on with. */
static bool is_folder(gt_str path, const char *at, const char *folder, bool open)
{
    const char *end = path.bytes + path.len;
    size_t len = strlen(folder);
    if ((size_t)(end - at) < len || memcmp(at, folder, len) != 0) return false;
    for (at += len; at < end; at++) {
        if (is_slash(*at)) return true;
        if (!open) return false;
    }
    return false;
}

/* <built-in method acquire of _thread.lock object at 0x...>. Functions of Python's own may compute. */
static bool is_waiting_call(gt_str name)
{
    static const char *const calls[] = {"acquire",
                                        "wait",
                                        "wait_for",
                                        "poll",
                                        "select",
                                        "recv",
                                        "recv_bytes",
                                        "recv_into",
                                        "accept",
                                        "join",
                                        "read",
                                        "readinto",
                                        "epoll",
                                        "get",
                                        "sem_wait",
                                        "futex",
                                        "monitored_barrier",
                                        "barrier"};
    static const char *const kinds[] = {"<built-in method ", "<built-in function "};
    for (size_t k = 0; k < GT_LENGTH(kinds); k++) {
        size_t skip = strlen(kinds[k]), len = 0;
        if (!gt_str_starts_with(name, kinds[k])) continue;
        gt_str call = {name.bytes + skip, name.len - skip};
        while (len < call.len && (isalnum((unsigned char)call.bytes[len]) || call.bytes[len] == '_')) len++;
        call.len = len;
        return gt_str_is_one_of(call, calls, GT_LENGTH(calls));
    }
    return false;
}

/* A file of PyTorch, wherever it is installed. */
static bool is_of_pytorch(gt_str name)
{
    for (const char *at = name.bytes, *end = at + name.len; at < end; at++)
        if (is_slash(*at) && is_folder(name, at + 1, "torch", false)) return true;
    return false;
}

/* A file in a folder of installed code. */
static bool is_installed(gt_str name)
{
    for (const char *at = name.bytes, *end = at + name.len; at < end; at++)
        if (is_slash(*at) &&
            (is_folder(name, at + 1, "torch", false) || is_folder(name, at + 1, "site-packages", false) ||
             is_folder(name, at + 1, "dist-packages", false) || is_folder(name, at + 1, "lib/python3", true)))
            return true;
    return false;
}

/* ---- the table ---- */

/* Either words or a function. */
static const struct {
    uint64_t bit;
    unsigned kinds; /* of events whose names are compared */
    match_how how;
    const char *words; /* separated by spaces */
    bool (*is)(gt_str name);
} patterns[] = {
    {GT_NAME_SYNC, GT_NAMES_CALL, BEGINS_API,
     "StreamSynchronize DeviceSynchronize EventSynchronize CtxSynchronize ThreadSynchronize", NULL},
    {GT_NAME_FREE, GT_NAMES_CALL, BEGINS, "cudaFree hipFree hipHostFree cuMemFree cuMemUnmap cuMemRelease",
     NULL},
    {GT_NAME_ALLOC, GT_NAMES_CALL, BEGINS,
     "cudaMalloc cudaHostAlloc cudaHostRegister hipMalloc hipExtMalloc hipHostMalloc hipHostRegister "
     "cuMemAlloc "
     "cuMemCreate cuMemMap cuMemSetAccess cuMemAddressReserve",
     NULL},
    {GT_NAME_COPY, GT_NAMES_CALL, HAS, "Memcpy", NULL},
    {GT_NAME_MODULE, GT_NAMES_CALL, HAS, "ModuleLoad LibraryLoad ModuleGetFunction cuLinkComplete", NULL},
    {GT_NAME_LAUNCH, GT_NAMES_CALL, HAS,
     "LaunchKernel LaunchCooperative GraphLaunch hipModuleLaunch hipExtModuleLaunch hipExtLaunch", NULL},
    {GT_NAME_HIP, GT_NAMES_CALL, BEGINS, "hip", NULL},

    {GT_NAME_DATA, GT_NAMES_PYTHON | GT_NAMES_NOTE, HAS, "torch/utils/data/ enumerate(DataLoader)",
     is_next_of_loader},
    {GT_NAME_OPTIMIZER, GT_NAMES_PYTHON | GT_NAMES_NOTE, BEGINS, "Optimizer.step#", NULL},
    {GT_NAME_RECOMPUTE, GT_NAMES_PYTHON | GT_NAMES_NOTE | GT_NAMES_OP, HAS, "CheckpointFunctionBackward",
     NULL},
    {GT_NAME_RECOMPUTE, GT_NAMES_PYTHON | GT_NAMES_NOTE, HAS, NULL, is_checkpoint_function},
    {GT_NAME_FRAMEWORK, GT_NAMES_PYTHON, BEGINS,
     "torch/ < nn.Module triton/ typing.py contextlib.py threading.py queue.py selectors.py", is_installed},
    {GT_NAME_FRAMEWORK, GT_NAMES_PYTHON, HAS, "torchinductor", NULL},
    {GT_NAME_FRAMEWORK, GT_NAMES_NOTE, BEGINS, "Optimizer.zero_grad#", NULL},
    {GT_NAME_INNER, GT_NAMES_PYTHON, BEGINS,
     "torch/ < nn.Module typing.py contextlib.py threading.py queue.py selectors.py functools.py",
     is_of_pytorch},
    {GT_NAME_INNER, GT_NAMES_PYTHON, HAS, "<listcomp> <lambda> <genexpr> <dictcomp>", NULL},
    {GT_NAME_INTERNAL, GT_NAMES_PYTHON, BEGINS, "<", NULL},
    {GT_NAME_BUILT_IN, GT_NAMES_PYTHON, BEGINS, "<built-in", NULL},
    {GT_NAME_WAIT, GT_NAMES_PYTHON, BEGINS, NULL, is_waiting_call},
    {GT_NAME_WAIT, GT_NAMES_NOTE, BEGINS, "gloo: mpi: ucc:", NULL},
    {GT_NAME_RUN_BACKWARD, GT_NAMES_PYTHON | GT_NAMES_NOTE, HAS, "run_backward", NULL},
    {GT_NAME_STEP, GT_NAMES_NOTE | GT_NAMES_OP, BEGINS, "ProfilerStep", NULL},
    {GT_NAME_LAYER, GT_NAMES_PYTHON, BEGINS, "nn.Module:", NULL},
    {GT_NAME_PROFILER, GT_NAMES_PYTHON, HAS, "torch/profiler/ torch/autograd/profiler", NULL},
    {GT_NAME_PROFILER, GT_NAMES_OP, BEGINS, "profiler::", NULL},
    {GT_NAME_COMPILER, GT_NAMES_PYTHON, HAS,
     "torch/_dynamo/convert_frame.py torch/_inductor/graph.py torch/_inductor/scheduler.py "
     "torch/_inductor/async_compile.py",
     NULL},

    {GT_NAME_BACKWARD, GT_NAMES_OP, BEGINS, "autograd::engine::evaluate_function", NULL},
    {GT_NAME_FORWARD_ONLY, GT_NAMES_OP, IS,
     "aten::linear aten::conv1d aten::conv2d aten::conv3d aten::layer_norm aten::batch_norm aten::group_norm "
     "aten::rms_norm aten::gelu aten::relu aten::relu_ aten::silu aten::scaled_dot_product_attention "
     "aten::embedding aten::dropout aten::max_pool2d aten::adaptive_avg_pool2d aten::softmax",
     NULL},
    {GT_NAME_NO_WORK, GT_NAMES_OP, IS,
     "aten::view aten::slice aten::narrow aten::as_strided aten::select aten::transpose aten::t "
     "aten::permute "
     "aten::expand aten::reshape aten::unsqueeze aten::squeeze aten::detach aten::detach_ aten::alias "
     "aten::empty aten::empty_strided aten::empty_like aten::resize_ aten::split aten::chunk aten::unbind "
     "aten::contiguous aten::to aten::item aten::_unsafe_view aten::flatten aten::view_as aten::set_ "
     "aten::lift_fresh aten::result_type aten::is_nonzero detach",
     NULL},
    {GT_NAME_AS_STRIDED, GT_NAMES_OP, IS, "aten::as_strided", NULL},
    {GT_NAME_CHECK, GT_NAMES_OP, IS,
     "aten::abs aten::all aten::allclose aten::amax aten::amin aten::any aten::count_nonzero aten::eq "
     "aten::equal aten::ge aten::gt aten::isclose aten::isfinite aten::isinf aten::isnan aten::le "
     "aten::linalg_norm aten::linalg_vector_norm aten::logical_and aten::logical_not aten::logical_or "
     "aten::lt aten::max aten::mean aten::min aten::ne aten::norm aten::sum",
     NULL},
    {GT_NAME_PART_OF_CHECK, GT_NAMES_OP, IS,
     "aten::add aten::argmax aten::argmin aten::bitwise_and aten::bitwise_not aten::bitwise_or aten::ceil "
     "aten::clamp aten::clone aten::div aten::exp aten::floor aten::index aten::log aten::log10 aten::log2 "
     "aten::masked_select aten::mul aten::neg aten::nonzero aten::pow aten::reciprocal aten::round "
     "aten::rsub "
     "aten::sign aten::sqrt aten::square aten::stack aten::std aten::sub aten::trunc aten::var aten::where",
     NULL},
    {GT_NAME_CPU_COLLECTIVE, GT_NAMES_OP, BEGINS, "c10d:: gloo: mpi: ucc:", NULL},

    {GT_NAME_COMMUNICATION, GT_NAMES_NOTE, BEGINS, "gloo: nccl: mpi: ucc: c10d::", NULL},
    {GT_NAME_COMMUNICATION, GT_NAMES_GPU, HAS_ANY_CASE,
     "nccl rccl cross_device_reduce allreduce all_reduce allgather reduce_scatter reducescatter deep_ep "
     "mscclpp one_shot two_shot_all",
     NULL},
    {GT_NAME_TO_HOST, GT_NAMES_GPU, HAS, "DtoH DeviceToHost", NULL},
    {GT_NAME_FROM_HOST, GT_NAMES_GPU, HAS, "HtoD HostToDevice", NULL},
    {GT_NAME_PAGEABLE, GT_NAMES_GPU, HAS, "Pageable", NULL},
    {GT_NAME_FUSED, GT_NAMES_GPU, HAS_ANY_CASE, "multi_tensor_apply fused foreach triton", NULL},
};

/* ---- matching ---- */

static bool has_word(gt_str name, match_how how, const char *word, size_t len)
{
    if (how == HAS || how == HAS_ANY_CASE) return memmem(name.bytes, name.len, word, len) != NULL;
    if (how == IS && name.len != len) return false;
    return name.len >= len && memcmp(name.bytes, word, len) == 0;
}

/* The name after the interface's own letters; `letters` is how many. */
static gt_str without_api(gt_str name, size_t letters)
{
    return (gt_str){name.bytes + letters, name.len - letters};
}

static bool has_word_of_api(gt_str name, const char *word, size_t len)
{
    static const char *const apis[] = {"cuda", "hip", "cu"};
    for (size_t i = 0; i < GT_LENGTH(apis); i++)
        if (gt_str_starts_with(name, apis[i]) &&
            has_word(without_api(name, strlen(apis[i])), BEGINS, word, len))
            return true;
    return false;
}

static bool has_any_word(gt_str name, match_how how, const char *words)
{
    for (const char *word = words; word && *word;) {
        size_t len = strcspn(word, " ");
        if (how == BEGINS_API ? has_word_of_api(name, word, len) : has_word(name, how, word, len))
            return true;
        word += len;
        word += *word == ' ';
    }
    return false;
}

enum { LOWER_MAX = 4096 }; /* names are compared in any case up to here */

static gt_str lower_case(gt_str name, char *out)
{
    size_t len = name.len < LOWER_MAX ? name.len : LOWER_MAX;
    for (size_t i = 0; i < len; i++) {
        char c = name.bytes[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    return (gt_str){out, len};
}

uint64_t gt_name_bits_of(gt_str name, unsigned kinds)
{
    char lower[LOWER_MAX];
    gt_str lowered = {0};
    uint64_t bits = 0;
    for (size_t i = 0; i < GT_LENGTH(patterns); i++) {
        if (!(patterns[i].kinds & kinds) || (bits & patterns[i].bit)) continue;
        bool any_case = patterns[i].how == HAS_ANY_CASE;
        if (any_case && !lowered.bytes) lowered = lower_case(name, lower);
        if (has_any_word(any_case ? lowered : name, patterns[i].how, patterns[i].words) ||
            (patterns[i].is && patterns[i].is(name)))
            bits |= patterns[i].bit;
    }
    return bits;
}

void gt_find_name_bits(gt_schedule *schedule, const uint8_t *seen, uint32_t count)
{
    uint64_t *bits = gt_alloc_zero(count, sizeof *bits);
    for (uint32_t id = 0; id < count; id++)
        if (id != GT_STR_NONE && seen[id])
            bits[id] = gt_name_bits_of(gt_interner_get(schedule->strings, id), seen[id]);
    schedule->name_bits = bits;
    schedule->name_count = count;
}
