/* What the numbers and names in a run mean: directions of copies, domains of calls and their sheets, and the
 * columns that only Nsight Systems fills. */
#include "trace/rocprof/rocprof.h"

const gt_store_column gt_graph_columns[GT_GRAPH_COLUMNS] = {
    [GT_GRAPH_START] = {GT_STORE_INT, 0},   [GT_GRAPH_END] = {GT_STORE_INT, 0},
    [GT_GRAPH_PROCESS] = {GT_STORE_INT, 0}, [GT_GRAPH_AGENT] = {GT_STORE_INT, 0},
    [GT_GRAPH_STREAM] = {GT_STORE_INT, 0},  [GT_GRAPH_CORRELATION] = {GT_STORE_INT, 0},
    [GT_GRAPH_ID] = {GT_STORE_INT, -1},
};

const gt_store_column gt_message_columns[GT_MESSAGE_COLUMNS] = {
    [GT_MESSAGE_NAME] = {GT_STORE_STRING, 0}, [GT_MESSAGE_COMMUNICATOR] = {GT_STORE_STRING, 0},
    [GT_MESSAGE_BYTES] = {GT_STORE_INT, 0},   [GT_MESSAGE_START] = {GT_STORE_INT, 0},
    [GT_MESSAGE_END] = {GT_STORE_INT, 0},
};

/* ---- directions and domains ---- */

static const char *const directions[GT_COPY_DIRECTIONS] = {
    [GT_COPY_UNKNOWN] = "MEMORY_COPY_NONE",
    [GT_COPY_HOST_TO_HOST] = "MEMORY_COPY_HOST_TO_HOST",
    [GT_COPY_HOST_TO_DEVICE] = "MEMORY_COPY_HOST_TO_DEVICE",
    [GT_COPY_DEVICE_TO_HOST] = "MEMORY_COPY_DEVICE_TO_HOST",
    [GT_COPY_DEVICE_TO_DEVICE] = "MEMORY_COPY_DEVICE_TO_DEVICE",
    [GT_COPY_HOST_TO_ARRAY] = "MEMORY_COPY_HOST_TO_ARRAY",
    [GT_COPY_ARRAY_TO_HOST] = "MEMORY_COPY_ARRAY_TO_HOST",
    [GT_COPY_ARRAY_TO_ARRAY] = "MEMORY_COPY_ARRAY_TO_ARRAY",
    [GT_COPY_ARRAY_TO_DEVICE] = "MEMORY_COPY_ARRAY_TO_DEVICE",
    [GT_COPY_DEVICE_TO_ARRAY] = "MEMORY_COPY_DEVICE_TO_ARRAY",
    [GT_COPY_PEER_TO_PEER] = "MEMORY_COPY_PEER_TO_PEER",
    [GT_COPY_UNIFIED_HOST_TO_DEVICE] = "MEMORY_COPY_UNIFIED_HOST_TO_DEVICE",
    [GT_COPY_UNIFIED_DEVICE_TO_HOST] = "MEMORY_COPY_UNIFIED_DEVICE_TO_HOST",
    [GT_COPY_UNIFIED_DEVICE_TO_DEVICE] = "MEMORY_COPY_UNIFIED_DEVICE_TO_DEVICE",
    [GT_COPY_SET] = "MEMORY_SET",
    [GT_COPY_NOT_KNOWN] = "MEMORY_COPY_UNKNOWN",
    [GT_COPY_OTHER_KIND] = "MEMORY_COPY_KIND",
};

const char *gt_copy_direction_name(gt_copy_direction direction)
{
    return directions[direction];
}

gt_copy_direction gt_copy_direction_of(gt_str name)
{
    for (int d = GT_COPY_HOST_TO_HOST; d <= GT_COPY_DEVICE_TO_DEVICE; d++) { /* those of rocprofv3 */
        const char *short_form = directions[d] + strlen("MEMORY_COPY_");
        if (gt_str_contains(name, short_form)) return (gt_copy_direction)d;
    }
    return GT_COPY_UNKNOWN;
}

const char *gt_memory_kind_name(int64_t kind)
{
    static const char *const kinds[] = {"Pageable", "Pinned",        "Device",        "Array",
                                        "Managed",  "Device Static", "Managed Static"};
    return kind >= 0 && kind < (int64_t)GT_LENGTH(kinds) ? kinds[kind] : NULL;
}

bool gt_copy_is_from_gpu(int64_t direction)
{
    switch (direction) {
    case GT_COPY_DEVICE_TO_HOST:
    case GT_COPY_DEVICE_TO_DEVICE:
    case GT_COPY_ARRAY_TO_HOST:
    case GT_COPY_ARRAY_TO_ARRAY:
    case GT_COPY_ARRAY_TO_DEVICE:
    case GT_COPY_DEVICE_TO_ARRAY:
    case GT_COPY_PEER_TO_PEER:
    case GT_COPY_UNIFIED_DEVICE_TO_HOST:
    case GT_COPY_UNIFIED_DEVICE_TO_DEVICE:
        return true;
    default:
        return false;
    }
}

bool gt_copy_is_to_gpu(int64_t direction)
{
    switch (direction) {
    case GT_COPY_HOST_TO_DEVICE:
    case GT_COPY_DEVICE_TO_DEVICE:
    case GT_COPY_HOST_TO_ARRAY:
    case GT_COPY_ARRAY_TO_ARRAY:
    case GT_COPY_ARRAY_TO_DEVICE:
    case GT_COPY_DEVICE_TO_ARRAY:
    case GT_COPY_PEER_TO_PEER:
    case GT_COPY_UNIFIED_HOST_TO_DEVICE:
    case GT_COPY_UNIFIED_DEVICE_TO_DEVICE:
    case GT_COPY_SET:
    case GT_COPY_NOT_KNOWN: /* Nsight Systems knows the GPU of every copy */
    case GT_COPY_OTHER_KIND:
        return true;
    default:
        return false;
    }
}

static const char *const domains[GT_CALL_DOMAINS] = {
    [GT_CALL_HIP] = "hip_api",
    [GT_CALL_HSA] = "hsa_api",
    [GT_CALL_MARKER] = "marker_api",
    [GT_CALL_RCCL] = "rccl_api",
    [GT_CALL_ROCDECODE] = "rocdecode_api",
    [GT_CALL_ROCJPEG] = "rocjpeg_api",
    [GT_CALL_OTHER] = "other_api",
    [GT_CALL_OSRT] = "osrt_api",
};

const char *gt_call_domain_name(gt_call_domain domain)
{
    return domains[domain];
}

gt_call_domain gt_call_domain_of(gt_str kind)
{
    for (int d = 0; d < GT_CALL_OTHER; d++) {
        size_t len = (size_t)(strchr(domains[d], '_') - domains[d]) + 1; /* "hip_" */
        if (kind.len > len && strncasecmp(kind.bytes, domains[d], len) == 0) return (gt_call_domain)d;
    }
    return GT_CALL_OTHER;
}

/* Names of functions are plain identifiers, names of kernels mostly are not. */
static bool is_identifier(gt_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.bytes[i]) && name.bytes[i] != '_') return false;
    return name.len > 0;
}

int64_t gt_stats_subject_of(gt_str name)
{
    static const struct {
        const char *begin;
        bool capital; /* follows, as in hipMalloc */
        int64_t subject;
    } names[] = {
        {"hip", true, GT_CALL_HIP},
        {"__hip", true, GT_CALL_HIP},
        {"hsa_", false, GT_CALL_HSA},
        {"ncclDevKernel", false, GT_STATS_KERNELS},
        {"ncclKernel", false, GT_STATS_KERNELS},
        {"nccl", true, GT_CALL_RCCL},
        {"rocDec", true, GT_CALL_ROCDECODE},
        {"rocJpeg", true, GT_CALL_ROCJPEG},
        {"CopyHostTo", true, GT_STATS_COPIES}, /* of rocprof */
        {"CopyDeviceTo", true, GT_STATS_COPIES},
        {"MEMORY_COPY_", false, GT_STATS_COPIES},
        {"MEMORY_ALLOCATION", false, GT_STATS_OTHER},
        {"SCRATCH_MEMORY", false, GT_STATS_OTHER},
        {"MEMORY_COPY", false, GT_STATS_OTHER}, /* a domain, like the next ones */
        {"KERNEL_DISPATCH", false, GT_STATS_OTHER},
        {"HIP_API", false, GT_STATS_OTHER},
        {"HSA_API", false, GT_STATS_OTHER},
        {"MARKER_API", false, GT_STATS_OTHER},
    };
    for (size_t i = 0; is_identifier(name) && i < GT_LENGTH(names); i++) {
        size_t len = strlen(names[i].begin);
        if (!gt_str_starts_with(name, names[i].begin)) continue;
        if (!names[i].capital || (name.len > len && isupper((unsigned char)name.bytes[len])))
            return names[i].subject;
    }
    return GT_STATS_KERNELS;
}

const char *gt_call_sheet(gt_recorder recorder, gt_call_domain domain)
{
    static const char *const sheets[GT_RECORDERS][GT_CALL_DOMAINS] = {
        [GT_RECORDER_ROCPROF] = {[GT_CALL_HIP] = "hip_api_summary",
                                 [GT_CALL_HSA] = "hsa_api_summary",
                                 [GT_CALL_MARKER] = "marker_api_summary",
                                 [GT_CALL_RCCL] = "rccl_api_summary",
                                 [GT_CALL_ROCDECODE] = "rocdecode_api_summary",
                                 [GT_CALL_ROCJPEG] = "rocjpeg_api_summary",
                                 [GT_CALL_OTHER] = "other_api_summary"},
        [GT_RECORDER_NSYS] = {[GT_CALL_HIP] = "cuda_api_summary",
                              [GT_CALL_MARKER] = "nvtx_summary",
                              [GT_CALL_RCCL] = "nccl_api_summary",
                              [GT_CALL_OSRT] = "osrt_summary"},
    };
    return sheets[recorder][domain];
}

/* ---- names ---- */

/* The length of ", seq = 5" or the like at the beginning of a text; 0: it begins otherwise. */
static size_t range_number(const char *text)
{
    static const char *const keys[] = {", seq = ", ", op_id = "};
    static const char ids[] = ", input_op_ids = [";
    for (size_t i = 0; i < GT_LENGTH(keys); i++) {
        size_t len = strlen(keys[i]);
        size_t digits = strncmp(text, keys[i], len) == 0 ? strspn(text + len, "0123456789") : 0;
        if (digits) return len + digits;
    }
    const char *end = strncmp(text, ids, strlen(ids)) == 0 ? strchr(text, ']') : NULL;
    return end ? (size_t)(end - text) + 1 : 0;
}

uint32_t gt_range_name(gt_interner *strings, uint32_t name)
{
    gt_str text = gt_interner_get(strings, name);
    const char *begin = text.bytes, *end = text.bytes + text.len;
    gt_buffer rest = {0};
    for (const char *at = begin; (at = memchr(at, ',', (size_t)(end - at))) != NULL;) {
        size_t number = range_number(at);
        if (number) gt_buffer_add(&rest, begin, (size_t)(at - begin));
        at += number ? number : 1;
        if (number) begin = at;
    }
    if (begin != text.bytes) {
        gt_buffer_add(&rest, begin, (size_t)(end - begin));
        name = gt_interner_add(strings, gt_buffer_str(&rest).bytes, rest.len);
    }
    gt_buffer_free(&rest);
    return name;
}

uint32_t gt_graph_name(gt_interner *strings, int64_t id)
{
    char name[32];
    if (id < 0) return gt_interner_add_cstr(strings, "graph");
    snprintf(name, sizeof name, "graph_%" PRId64, id);
    return gt_interner_add_cstr(strings, name);
}
