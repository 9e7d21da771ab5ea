/* The table of communication kernels.
 *
 * Names are matched as a whole only where they are telling: a compute kernel may also reduce, gather,
 * dispatch or combine. Most expressions therefore begin with OWN, which skips "void" and the namespaces, so
 * that they see the function's own name and neither its template arguments nor its parameters. TorchInductor
 * names its kernels after the ops that it fused (triton_poi_fused_add_all_reduce_0); OWN expressions do not
 * match them because none begins with triton. */
#include "trace/communication.h"

#include "base/guard.h"
#include "compat/python_regex.h"

#include <stdatomic.h>

#define OWN "^(?:void )?(?:(?:\\w+|\\(anonymous namespace\\))::)*"

/* The families are groups of one expression: their own groups must not capture. */
static const struct {
    const char *family, *regex;
} others[] = {
    /* github.com/deepseek-ai/DeepEP, also as ported by UCCL; deep_ep::layout only counts tokens */
    {"DeepEP", "^(?:void )?(?:deep_ep|uccl)::(?:\\w+::)*(?:intranode|internode|internode_ll|elastic)::"
               "|^_ZN\\d+deep_ep(?:\\d+legacy)?\\d+(?:intranode|internode|internode_ll|elastic)\\d"
               "|^(?:void )?hybrid_ep::"},
    /* github.com/ROCm/mori */
    {"MORI", OWN "(?:mori_)?Ep(?:Dispatch|Combine)\\w+|^(?:void )?mori::(?:collective|shmem|cco)::"},
    /* github.com/ppl-ai/pplx-garden */
    {"pplx-garden", OWN "a2a_(?:dispatch|combine)_(?:send|recv)_kernel"},
    /* kernels of the host library, and of PyTorch's extension */
    {"NVSHMEM",
     OWN "nvshmem[ix]?_\\w+|^_Z\\d+nvshmem|^(?:void )?c10d::nvshmem_extension::"
         "|" OWN "(?:barrier|sync|alltoall|broadcast|fcollect|rdxn|reducescatter)_on_stream_kernel"},
    {"rocSHMEM", OWN "rocshmem\\w*_\\w+|^(?:void )?rocshmem::"},
    /* github.com/microsoft/mscclpp: also the types of its channels, which only its kernels take */
    {"MSCCL++", "(?i:msccl)"},
    /* github.com/uxlfoundation/oneCCL: OpenCL and SYCL kernels */
    {"oneCCL", "(?i:\\boneccl)|^(?:typeinfo name for )?(?:\\w+::)*"
               "(?:(?:Allreduce|Allgatherv?|Reduce_?[Ss]catter|Alltoallv?)\\w*[Kk]ernel\\w*"
               "|(?:allreduce|allgatherv?|alltoallv?|reduce_scatter|reduce_read_write)_kernel_\\w*"
               "(?:int|float)\\d+_\\w+)"},
    /* github.com/pytorch/gloo: gloo/cuda.cu */
    {"Gloo", OWN "_Kernel_\\w+_cuda(?:Sum|Product|Min|Max)\\b"},
    /* github.com/pytorch/pytorch: torch/csrc/distributed/c10d/symm_mem */
    {"symmetric memory", "^(?:void )?c10d::(?:symmetric_memory|intra_node_comm)::"
                         "|" OWN "(?:multimem_\\w*(?:reduce|gather|scatter|broadcast)\\w*"
                         "|(?:one|two)_shot_\\w*(?:all_?reduce|reduce_?scatter)\\w*"
                         "|(?:put|wait)_signal_kernel\\b)|^_ZN4c10d16symmetric_memory"},
    /* vLLM, SGLang and AITER: kernels that take the signals of all ranks, and their names */
    {"custom all-reduce",
     "\\b(?:vllm|sglang|aiter)::RankSignals\\b|^(?:void )?(?:\\w+::)*quickreduce::|^_ZN11quickreduce"
     "|" OWN "(?:cross_device_\\w+|allreduce_prototype_\\w+|custom_all_reduce\\w*"
     "|mnnvl_lamport_\\w+|minimax_reduce_\\w*lamport\\w*|inkling_\\w*all_reduce\\w*)"
     "|^(?:void )?aiter::(?:allgather|reduce_scatter|ag_gfx|ar_gfx|ar_ll|rs_gfx"
     "|allReduceQuant)\\w*"},
    /* github.com/NVIDIA/TensorRT-LLM and github.com/flashinfer-ai/flashinfer */
    {"TensorRT-LLM", OWN "(?:(?i:(?:one|two)shot_?all_?reduce)\\w*"
                         "|(?:moe\\w+_)?allreduce_fusion_kernel\\w*"
                         "|moeA2A(?:Dispatch|Combine)\\w*|moeAllToAll\\w*)"},
    /* github.com/NVIDIA/TransformerEngine: comm_gemm_overlap/userbuffers */
    {"userbuffers", OWN "k?userbuffers_\\w+"},
    /* kernels that are named after a collective, whoever wrote them */
    {"other collectives",
     OWN "(?!\\w*(?i:gemm|matmul))_?(?:all_?reduce|all_?gatherv?|reduce_?scatter|all_?to_?allv?)"
         "(?:_\\w*)?_kernel\\w*"
         "|" OWN "(?!\\w*(?i:gemm|matmul))(?:All[Rr]educe|AllGather|ReduceScatter|AllToAll)\\w*Kernel\\w*"
         "|" OWN "(?!\\w*(?i:gemm|matmul|block|warp))\\w+_"
         "(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)_kernel\\b"},
};

/* The expressions take 100 microseconds per name, and hardly any kernel matches. So they are tried only on
 * names that contain one of these words, in any case; every name that an expression matches contains one.
 * Sorted. */
static const char *const hints[] = {
    "_on_stream_kernel",
    "_shot_",
    "a2a_",
    "ag_gfx",
    "all_gather",
    "all_reduce",
    "all_to",
    "allgather",
    "allreduce",
    "allto",
    "ar_gfx",
    "ar_ll",
    "cross_device_",
    "cudamax",
    "cudamin",
    "cudaproduct",
    "cudasum",
    "deep_ep",
    "epcombine",
    "epdispatch",
    "hybrid_ep",
    "intra_node_comm",
    "lamport",
    "moea2a",
    "mori::",
    "msccl",
    "multimem_",
    "oneccl",
    "quickreduce",
    "ranksignals",
    "reduce_read_write",
    "reduce_scatter",
    "reducescatter",
    "rs_gfx",
    "shmem",
    "signal_kernel",
    "symmetric_memory",
    "userbuffers",
};

/* Where hints may begin, so that the whole table is compared at few places of a name. */
typedef struct hint_index {
    uint8_t first[256];   /* by letter: the first hint that begins with it */
    uint32_t second[256]; /* by letter: a bit for each that comes after it in a hint: see letter_bit */
} hint_index;

/* The same for both cases of a letter. Others may share it. */
static uint32_t letter_bit(char letter)
{
    return UINT32_C(1) << (letter & 31);
}

static void index_hints(hint_index *index)
{
    for (size_t i = GT_LENGTH(hints); i-- > 0;) {
        uint8_t letter = (uint8_t)hints[i][0];
        uint8_t upper = letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
        index->first[letter] = index->first[upper] = (uint8_t)i;
        index->second[letter] |= letter_bit(hints[i][1]);
        index->second[upper] = index->second[letter];
    }
}

static bool has_hint(const hint_index *index, gt_str name)
{
    for (size_t at = 0; at + 1 < name.len; at++) {
        if (!(index->second[(uint8_t)name.bytes[at]] & letter_bit(name.bytes[at + 1]))) continue;
        size_t i = index->first[(uint8_t)name.bytes[at]];
        for (char letter = hints[i][0]; i < GT_LENGTH(hints) && hints[i][0] == letter; i++) {
            size_t len = strlen(hints[i]);
            if (len <= name.len - at && strncasecmp(name.bytes + at, hints[i], len) == 0) return true;
        }
    }
    return false;
}

/* One pass finds all three words: it stops only at a c, and checks the letters next to it. */
bool gt_is_communication(gt_str name)
{
    static const char reduce[] = "cross_device_reduce";
    const char *bytes = name.bytes;
    for (size_t i = 0; i + 2 < name.len; i++) {
        if ((bytes[i] | 32) != 'c') continue;
        char next = bytes[i + 1] | 32;
        if (next == 'c' && (bytes[i + 2] | 32) == 'l' && i > 0) {
            char before = bytes[i - 1] | 32;
            if (before == 'n' || before == 'r') return true;
        }
        if (next == 'r' && name.len - i >= sizeof reduce - 1 &&
            strncasecmp(bytes + i, reduce, sizeof reduce - 1) == 0)
            return true;
    }
    return false;
}

struct gt_comm_kernels {
    bool tracelens, others;
    hint_index hints;
    gt_python_regex table; /* of `others`: one group per family, so that a name is searched once */
    atomic_bool has_table; /* compiled when the first name with a hint is met: mostly there is none */
    pthread_mutex_t table_lock;
    struct own {
        const char *text;
        gt_python_regex regex;
    } * own; /* the user's expressions */
    size_t own_count, own_capacity;
    atomic_bool gave_up; /* a warning has been printed */
};

static void compile_table(gt_python_regex *table)
{
    gt_buffer text = {0};
    gt_error error;
    for (size_t i = 0; i < GT_LENGTH(others); i++) {
        gt_buffer_add_cstr(&text, i ? "|(" : "(");
        gt_buffer_add_cstr(&text, others[i].regex);
        gt_buffer_add_cstr(&text, ")");
    }
    gt_buffer_add(&text, "", 1);
    if (!gt_python_regex_compile(table, text.bytes, &error))
        gt_raise_internal("communication kernels: %s", error.text);
    gt_buffer_free(&text);
}

gt_comm_kernels *gt_comm_kernels_new(unsigned sets)
{
    gt_comm_kernels *comm = gt_alloc_zero(1, sizeof *comm);
    comm->tracelens = sets & GT_COMM_TRACELENS;
    comm->others = sets & GT_COMM_OTHERS;
    pthread_mutex_init(&comm->table_lock, NULL);
    index_hints(&comm->hints);
    return comm;
}

void gt_comm_kernels_free(gt_comm_kernels *comm)
{
    if (!comm) return;
    if (comm->has_table) gt_python_regex_free(&comm->table);
    pthread_mutex_destroy(&comm->table_lock);
    for (size_t i = 0; i < comm->own_count; i++) gt_python_regex_free(&comm->own[i].regex);
    gt_free_all(comm->own, comm);
}

bool gt_comm_kernels_add(gt_comm_kernels *comm, const char *regex, gt_error *error)
{
    struct own own = {.text = regex};
    if (!gt_python_regex_compile(&own.regex, regex, error)) return false;
    GT_PUSH(comm->own, comm->own_count, comm->own_capacity, own);
    return true;
}

bool gt_comm_regex_check(const char *regex, gt_error *error)
{
    gt_python_regex compiled;
    if (!gt_python_regex_compile(&compiled, regex, error)) return false;
    gt_python_regex_free(&compiled);
    return true;
}

static bool matches(gt_comm_kernels *comm, const gt_python_regex *regex, const char *text, gt_str name,
                    gt_python_match *match)
{
    gt_error error;
    if (gt_python_regex_search(regex, name, match, &error)) return match->found;
    if (!atomic_exchange(&comm->gave_up, true))
        gt_warn("%s: %s; such kernels are not counted as communication", text, error.text);
    return false;
}

static const gt_python_regex *table_of(gt_comm_kernels *comm)
{
    if (atomic_load_explicit(&comm->has_table, memory_order_acquire)) return &comm->table;
    gt_lock(&comm->table_lock);
    if (!comm->has_table) compile_table(&comm->table);
    atomic_store_explicit(&comm->has_table, true, memory_order_release);
    gt_unlock(&comm->table_lock);
    return &comm->table;
}

static const char *search(gt_comm_kernels *comm, gt_str name)
{
    gt_python_match match = {0};
    const char *family = NULL;
    for (size_t i = 0; i < comm->own_count && !family; i++)
        if (matches(comm, &comm->own[i].regex, comm->own[i].text, name, &match)) family = comm->own[i].text;
    if (!family && comm->others && has_hint(&comm->hints, name) &&
        matches(comm, table_of(comm), "communication kernels", name, &match)) {
        size_t i = 0;
        while (i + 1 < GT_LENGTH(others) && !match.groups[i + 1].bytes) i++;
        family = others[i].family;
    }
    gt_python_match_free(&match);
    return family;
}

const char *gt_comm_family(const gt_comm_kernels *comm, gt_str name)
{
    if (!comm || comm->tracelens) {
        if (gt_is_communication(name)) {
            bool custom = !gt_str_contains_nocase(name, "nccl") && !gt_str_contains_nocase(name, "rccl");
            return custom ? "custom all-reduce" : "NCCL or RCCL";
        }
    }
    return comm ? search((gt_comm_kernels *)(uintptr_t)comm, name) : NULL;
}

/* ---- how much of it there is ---- */

void gt_comm_uses_add(gt_comm_uses *uses, const char *family, size_t kernels, double ms)
{
    size_t i = 0;
    while (i < uses->count && strcmp(uses->items[i].family, family) != 0) i++;
    if (i == uses->count) GT_PUSH(uses->items, uses->count, uses->capacity, ((gt_comm_use){family, 0, 0}));
    uses->items[i].kernels += kernels;
    uses->items[i].ms += ms;
}

GT_ORDER_BY(by_time, gt_comm_use, GT_DOWN(ms) GT_UP_TEXT(family))

char *gt_comm_uses_text(gt_comm_uses *uses)
{
    gt_buffer text = {0};
    if (uses->count) qsort(uses->items, uses->count, sizeof *uses->items, by_time);
    for (size_t i = 0; i < uses->count; i++) {
        const gt_comm_use *use = &uses->items[i];
        char *part = gt_format("%s%.200s (%zu %s, %.3f ms)", i ? ", " : "", use->family, use->kernels,
                               use->kernels == 1 ? "kernel" : "kernels", use->ms);
        gt_buffer_add_cstr(&text, part);
        gt_free(part);
    }
    gt_buffer_add(&text, "", 1);
    return text.bytes;
}

void gt_comm_uses_free(gt_comm_uses *uses)
{
    gt_free(uses->items);
    *uses = (gt_comm_uses){0};
}

/* ---- names of collectives ----
 *
 * Names of collectives, as the frameworks and the kernels write them. */

static const struct {
    const char *name;
    gt_collective_type type;
} collectives[] = {
    {"allreduce", GT_COLLECTIVE_ALLREDUCE},
    {"allreduce_coalesced", GT_COLLECTIVE_ALLREDUCE},
    {"reducescatter", GT_COLLECTIVE_REDUCESCATTER},
    {"_reduce_scatter_base", GT_COLLECTIVE_REDUCESCATTER},
    {"reduce_scatter_tensor_coalesced", GT_COLLECTIVE_REDUCESCATTER},
    {"allgather", GT_COLLECTIVE_ALLGATHER},
    {"all_gather", GT_COLLECTIVE_ALLGATHER},
    {"_allgather_base", GT_COLLECTIVE_ALLGATHER},
    {"all_gather_into_tensor_coalesced", GT_COLLECTIVE_ALLGATHER},
    {"allgather_into_tensor_coalesced", GT_COLLECTIVE_ALLGATHER},
    {"all_to_all", GT_COLLECTIVE_ALLTOALL},
    {"all_to_allv", GT_COLLECTIVE_ALLTOALLV},
};

/* Kernels whose events do not name the collective: part of the kernel name, in any case, to the collective.
 */
static const struct {
    const char *part, *collective;
} kernels[] = {
    {"cross_device_reduce", "allreduce"},
};

gt_collective_type gt_collective_type_of(const char *collective)
{
    for (size_t i = 0; i < GT_LENGTH(collectives); i++)
        if (strcmp(collective, collectives[i].name) == 0) return collectives[i].type;
    return GT_COLLECTIVE_OTHER;
}

const char *gt_collective_of_kernel(gt_str kernel)
{
    for (size_t i = 0; i < GT_LENGTH(kernels); i++)
        if (gt_str_contains_nocase(kernel, kernels[i].part)) return kernels[i].collective;
    return NULL;
}
