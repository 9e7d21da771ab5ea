/* A second report into the same folder replaces the CSV files of the sheets that it has. Those of other
 * sheets, for example gpu_timeline_by_device of a trace with several GPUs, would be taken for a part of it.
 * They are never removed: the folder may be meant for several reports. The same holds for ranks. */
#include "cli/earlier_sheets.h"

#include "model/model.h"
#include "os/own.h"
#include "os/paths.h"
#include "schema/sheets.h"
#include "trace/rocprof/rocprof.h"

/* The sheets of reports on traces, without those below that have composed names. */
static const gt_sheet sheets[] = {GT_SHEET_GPU_TIMELINE,
                                  GT_SHEET_GPU_TIMELINE_BY_DEVICE,
                                  GT_SHEET_KERNEL_LAUNCHERS,
                                  GT_SHEET_KERNEL_SUMMARY,
                                  GT_SHEET_NCCL_ALL2ALLV,
                                  GT_SHEET_NCCL_LONG,
                                  GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC,
                                  GT_SHEET_NCCL_SUMMARY_LONG,
                                  GT_SHEET_SHORT_KERNELS_SUMMARY,
                                  GT_SHEET_SHORT_KERNEL_HISTOGRAM,
                                  GT_SHEET_INFERENCE_PHASES,
                                  GT_SHEET_KERNEL_SUMMARY_DECODE,
                                  GT_SHEET_KERNEL_SUMMARY_PREFILL,
                                  GT_SHEET_MEMORY_COPIES,
                                  GT_SHEET_OPS_ALL,
                                  GT_SHEET_OPS_SUMMARY,
                                  GT_SHEET_OPS_SUMMARY_BY_CATEGORY,
                                  GT_SHEET_OPS_SUMMARY_DECODE,
                                  GT_SHEET_OPS_SUMMARY_PREFILL,
                                  GT_SHEET_OPS_UNIQUE_ARGS,
                                  GT_SHEET_OPS_UNIQUE_ARGS_KL_OVERLAP,
                                  GT_SHEET_SHORT_KERNELS_ALL_DETAILS,
                                  GT_SHEET_SHORT_KERNELS_HISTOGRAM,
                                  GT_SHEET_UNIFIED_PERF_SUMMARY,
                                  GT_SHEET_UNIFIED_PERF_SUMMARY_KL_OVERLAP,
                                  GT_SHEET_BALANCE,
                                  GT_SHEET_FINDINGS,
                                  GT_SHEET_IDLE_CALLS,
                                  GT_SHEET_IDLE_CAUSES,
                                  GT_SHEET_IDLE_GAPS,
                                  GT_SHEET_OVERVIEW,
                                  GT_SHEET_TRUST,
                                  GT_SHEET_WHAT_IF,
                                  GT_SHEET_COLL_ANALYSIS,
                                  GT_SHEET_NCCL_ALL2ALLV_HEATMAP,
                                  GT_SHEET_NCCL_IMPLICIT_SYNC,
                                  GT_SHEET_NCCL_SUMMARY_ALL2ALLV,
                                  GT_SHEET_STRAGGLER_SUMMARY,
                                  GT_SHEET_COMM_COMP_OVERLAP,
                                  GT_SHEET_IDLE_INTERVAL_STATS,
                                  GT_SHEET_IDLE_TIME_BREAKDOWN,
                                  GT_SHEET_LAUNCH_STATS_SUMMARY,
                                  GT_SHEET_QUEUE_LENGTH_SUMMARY,
                                  GT_SHEET_TEMPORAL_BREAKDOWN,
                                  GT_SHEET_AGENT_INFO,
                                  GT_SHEET_COUNTERS_BY_KERNEL,
                                  GT_SHEET_CUDA_API_SUMMARY,
                                  GT_SHEET_CUDA_GRAPH_SUMMARY,
                                  GT_SHEET_KERNEL_DETAILS,
                                  GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY,
                                  GT_SHEET_MEMORY_COPY_SUMMARY,
                                  GT_SHEET_NCCL_API_SUMMARY,
                                  GT_SHEET_NCCL_MESSAGES,
                                  GT_SHEET_NVTX_SUMMARY,
                                  GT_SHEET_OSRT_SUMMARY,
                                  GT_SHEET_PROCESS_SUMMARY,
                                  GT_SHEET_COLLECTIVE_BANDWIDTHS,
                                  GT_SHEET_COLLECTIVE_EVENTS,
                                  GT_SHEET_COLLECTIVE_GROUPS,
                                  GT_SHEET_COLLECTIVE_TYPES,
                                  GT_SHEET_DF_XLA_PERF,
                                  GT_SHEET_GEMMS,
                                  GT_SHEET_GEMMS_DETAILED,
                                  GT_SHEET_GPU_EVENTS_AVERAGES,
                                  GT_SHEET_GPU_EVENTS_CATEGORIZED_MEAN,
                                  GT_SHEET_KERNEL_LAUNCHERS_SUMMARY,
                                  GT_SHEET_KERNEL_LAUNCHERS_SUMMARY_BY_CATEGORY,
                                  GT_SHEET_KERNEL_LAUNCHERS_UNIQUE_ARGS,
                                  GT_SHEET_OP_CONV,
                                  GT_SHEET_OP_FA_BWD,
                                  GT_SHEET_OP_FA_FWD,
                                  GT_SHEET_OP_FA_V3,
                                  GT_SHEET_OP_GEMM,
                                  GT_SHEET_OP_TE,
                                  GT_SHEET_XLA_GROUPED,
                                  GT_SHEET_XLA_SUMMARY};

static bool is_family(gt_str name)
{
    static const char *const endings[] = {"_kl_overlap", "_fwd", "_bwd"};
    for (size_t i = 0; i < GT_LENGTH(endings); i++) {
        size_t end = strlen(endings[i]);
        if (name.len > end && memcmp(name.bytes + name.len - end, endings[i], end) == 0) name.len -= end;
    }
    for (int family = GT_FAMILY_NONE + 1; family < GT_FAMILY_COUNT; family++)
        if (gt_str_equals(name, gt_op_family_name((gt_op_family)family))) return true;
    return false;
}

/* hip_api_summary, ... */
static bool is_domain(gt_str name)
{
    size_t end = strlen("_summary");
    if (name.len <= end || memcmp(name.bytes + name.len - end, "_summary", end) != 0) return false;
    name.len -= end;
    for (int domain = 0; domain < GT_CALL_OTHER; domain++)
        if (gt_str_equals(name, gt_call_domain_name((gt_call_domain)domain))) return true;
    return false;
}

static bool is_sheet_file(const char *file)
{
    size_t len = strlen(file), end = strlen(".csv");
    if (len <= end || strcmp(file + len - end, ".csv") != 0) return false;
    gt_str name = {file, len - end};
    for (size_t i = 0; i < GT_LENGTH(sheets); i++)
        if (gt_str_equals(name, sheets[i].name)) return true;
    return is_family(name) || is_domain(name);
}

static bool is_written(const gt_output *output, const char *file)
{
    for (size_t i = 0; i < gt_output_file_count(output); i++)
        if (strcmp(gt_path_name(gt_output_file_path(output, i)), file) == 0) return true;
    return false;
}

void gt_warn_of_earlier_sheets(const char *folder, const gt_output *output)
{
    char **files = NULL;
    size_t count = 0, capacity = 0;
    DIR *dir = gt_opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (is_sheet_file(entry->d_name) && !is_written(output, entry->d_name))
            GT_PUSH(files, count, capacity, gt_strdup(entry->d_name));
    if (dir) closedir(dir);
    if (count) qsort(files, count, sizeof *files, gt_by_cstr);
    gt_buffer list = {0};
    for (size_t i = 0; i < count; i++) {
        gt_buffer_add_cstr(&list, i ? ", " : "");
        gt_buffer_add_cstr(&list, files[i]);
        gt_free(files[i]);
    }
    if (count)
        gt_warn("%s: has sheets of an earlier report, which are not part of this one: %s", folder,
                gt_buffer_str(&list).bytes);
    gt_buffer_free(&list);
    gt_free(files);
}

/* ---- ranks ---- */

enum { RANKS_NAMED = 8 };

/* The length of rankN if the name is rankN or begins with rankN.findings; 0: it is another one. */
static size_t rank_length(const char *name)
{
    size_t begin = strlen("rank"), digits = 0;
    if (strncmp(name, "rank", begin) == 0) digits = strspn(name + begin, "0123456789");
    const char *rest = name + begin + digits;
    return digits && (!*rest || strncmp(rest, ".findings.", 10) == 0) ? begin + digits : 0;
}

static int by_number(const void *a, const void *b)
{
    const char *first = *(char *const *)a, *second = *(char *const *)b;
    size_t first_len = strlen(first), second_len = strlen(second);
    if (first_len != second_len) return first_len < second_len ? -1 : 1;
    return strcmp(first, second);
}

static void sort_names(const char **names, size_t count)
{
    if (count) qsort(names, count, sizeof *names, by_number);
}

static void add_if_missing(const char ***earlier, size_t *count, size_t *capacity, char *rank,
                           const char *const *labels, size_t label_count)
{
    const char *key = rank;
    if (label_count && bsearch(&key, labels, label_count, sizeof *labels, by_number))
        gt_free(rank);
    else
        GT_PUSH(*earlier, *count, *capacity, rank);
}

static char *list_ranks(const char *const *ranks, size_t count)
{
    gt_buffer list = {0};
    size_t named = 0, different = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && strcmp(ranks[i - 1], ranks[i]) == 0)
            continue; /* rank4.findings.json and rank4.findings.md */
        different++;
        if (named == RANKS_NAMED) continue;
        gt_buffer_add_format(&list, "%s%s", named++ ? ", " : "", ranks[i]);
    }
    if (different > named) gt_buffer_add_format(&list, " and %zu more", different - named);
    return gt_buffer_take(&list);
}

void gt_warn_of_earlier_ranks(const char *folder, const char *const *labels, size_t count)
{
    const char **sorted = gt_alloc((count + 1) * sizeof *sorted), **earlier = NULL;
    size_t earlier_count = 0, capacity = 0;
    memcpy(sorted, labels, count * sizeof *sorted);
    sort_names(sorted, count);
    DIR *dir = gt_opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t len = rank_length(entry->d_name);
        if (len)
            add_if_missing(&earlier, &earlier_count, &capacity, gt_format("%.*s", (int)len, entry->d_name),
                           sorted, count);
    }
    if (dir) closedir(dir);
    sort_names(earlier, earlier_count);
    char *list = list_ranks(earlier, earlier_count);
    if (earlier_count)
        gt_warn("%s: has files of ranks of an earlier run, which are not part of this one: %s", folder, list);
    for (size_t i = 0; i < earlier_count; i++) gt_free((void *)(uintptr_t)earlier[i]);
    gt_free_all(list, earlier, sorted);
}
