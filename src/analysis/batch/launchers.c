/* Sheets of a batch report that compare or add up ranks: kernel_launchers, grouped_breakdown, gpu_timelines
 * and cuda_events_summary.
 *
 * kernel_launchers: time by launching op, over all ranks; the largest first, equal times by name:
 *
 *     count             launches of that name
 *     kernel_time_ms    sum of their own kernels' times
 *     pct, cum_pct      share of the sum of that column * 100, and its running total
 *     time_ms_avg       kernel_time_ms / ranks
 *     count_avg         count / ranks
 *
 * grouped_breakdown: Time (s) = sum of time_ms_avg of the group's ops / 1000; Comms and Memcpy are
 * time_ms_avg of total_comm_time and total_memcpy_time / 1000; Other is every launcher that is in no group;
 * Total is the sum of the lines above it, in which copies may count twice.
 *
 * gpu_timelines: the GPU timelines of all ranks side by side:
 *
 *     time_ms_<rank>, percent_<rank>    as in gpu_timeline, one pair per rank; two files of one rank have two
 *     time_ms_avg                       mean of the ranks' times
 *     time_ms_std                       standard deviation of the ranks' times, divided by n. TraceLens
 *                                       divides by n - 1 but counts the mean as one more value: the same
 *
 * A rank without a timeline has empty cells and does not count.
 *
 * cuda_events_summary: calls of the runtime and the driver by name, side by side for all ranks: how many, and
 * their shortest, longest and mean duration in microseconds. A rank without a call has empty cells. Two files
 * of one rank count as one. The columns are count_<rank>, min_dur_<rank>, max_dur_<rank>, mean_dur_<rank>; in
 * a workbook the measures are above the ranks. */
#include "analysis/batch/batch.h"

#include "analysis/sheet_parts.h"
#include "compat/python_repr.h"
#include "table/stats.h"

/* ---- kernel_launchers ---- */

gt_table *gt_batch_launchers_of_rank(const gt_linked_view *trace, const gt_launchers *launchers)
{
    gt_table *table = gt_table_new(GT_SHEET_KERNEL_LAUNCHERS, trace->strings);
    gt_table_add_rows(table, launchers->count);
    size_t name = gt_table_add_zeroed(table, GT_COL_NAME, GT_TYPE_STRING);
    for (size_t i = 0; i < launchers->count; i++)
        table->columns[name].texts[i] = trace->name[launchers->items[i].row];
    gt_table_add_direct_times(table, launchers);
    return table;
}

static void add_average(gt_table *table, gt_col column, size_t ranks, gt_col name)
{
    size_t from = gt_table_find(table, column), to = gt_table_add_zeroed(table, name, GT_TYPE_FLOAT);
    for (size_t row = 0; row < table->row_count; row++) {
        const gt_column *values = &table->columns[from];
        double value = values->type == GT_TYPE_INT ? (double)values->ints[row] : values->floats[row];
        table->columns[to].floats[row] = value / (double)ranks;
    }
}

gt_table *gt_batch_launchers(const gt_table *rows, size_t ranks)
{
    static const gt_col keys[] = {GT_COL_NAME};
    static const gt_aggregate sums[] = {
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT},
        {GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_GROUP_SUM, GT_COL_TOTAL_DIRECT_KERNEL_TIME}};
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME, true}};
    gt_table *sheet = gt_table_group(rows, keys, GT_LENGTH(keys), sums, GT_LENGTH(sums),
                                     (gt_group_options){.sorted = true});
    gt_table_rename(sheet, GT_SHEET_KERNEL_LAUNCHERS);
    gt_table_sort(sheet, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(sheet,
                             gt_table_add_ms(sheet, GT_COL_TOTAL_DIRECT_KERNEL_TIME, GT_COL_KERNEL_TIME_MS));
    gt_table_rename_column(sheet, gt_table_find(sheet, GT_COL_PERCENTAGE_PCT), GT_COL_PCT);
    gt_table_rename_column(sheet, gt_table_find(sheet, GT_COL_CUMULATIVE_PERCENTAGE_PCT), GT_COL_CUM_PCT);
    gt_table_drop_column(sheet, gt_table_find(sheet, GT_COL_TOTAL_DIRECT_KERNEL_TIME));
    add_average(sheet, GT_COL_KERNEL_TIME_MS, ranks, GT_COL_TIME_MS_AVG);
    add_average(sheet, GT_COL_COUNT, ranks, GT_COL_COUNT_AVG);
    return sheet;
}

/* ---- grouped_breakdown ---- */

typedef enum group {
    ATTENTION,
    GEMM,
    CONV,
    NORM,
    UPSAMPLE,
    PAD,
    ELEMENTWISE,
    CONCAT,
    MOE,
    TRITON,
    OTHER
} group;

static const char *const group_titles[] = {
    [ATTENTION] = "Attention",
    [GEMM] = "GEMM",
    [CONV] = "Conv",
    [NORM] = "Norm",
    [UPSAMPLE] = "UpSample",
    [PAD] = "Pad",
    [ELEMENTWISE] = "Elemwise",
    [CONCAT] = "Concat",
    [MOE] = "MoE",
    [TRITON] = "Triton",
};

/* GEMMs and elementwise ops are those of the sheets with these names. */
static const struct {
    group group;
    const char *launcher;
} members[] = {
    {ATTENTION, "aten::_cudnn_attention_forward"},
    {ATTENTION, "aten::_efficient_attention_forward"},
    {ATTENTION, "flash_attn::_flash_attn_forward"},
    {ATTENTION, "flash_attn::_flash_attn_varlen_forward"},
    {ATTENTION, "xFuserRingFlashAttnFunc"},
    {ATTENTION, "FlashAttnFunc"},
    {ATTENTION, "FlashAttnVarlenFunc"},
    {ATTENTION, "flash_attn_3::fwd"},
    {ATTENTION, "aiter::wrapper_mha_varlen_fwd"},
    {ATTENTION, "aiter::wrapper_fmha_v3_varlen_fwd"},
    {ATTENTION, "aiter::wrapper_fmha_v3_fwd"},
    {ATTENTION, "_vllm_fa3_C::fwd"},
    {ATTENTION, "vllm::unified_attention_with_output"},
    {ATTENTION, "vllm::flash_attn_varlen_func"},
    {ATTENTION, "aiter::paged_attention_v1"},
    {CONV, "aten::miopen_convolution"},
    {CONV, "aten::cudnn_convolution"},
    {NORM, "aten::native_group_norm"},
    {NORM, "aten::native_layer_norm"},
    {NORM, "_C::rms_norm"},
    {NORM, "_C::fused_add_rms_norm"},
    {UPSAMPLE, "aten::upsample_nearest3d"},
    {UPSAMPLE, "aten::upsample_nearest2d"},
    {UPSAMPLE, "aten::upsample_bicubic2d"},
    {UPSAMPLE, "aten::_upsample_nearest_exact2d"},
    {PAD, "aten::replication_pad3d"},
    {CONCAT, "aten::cat"},
    {MOE, "vllm::moe_forward"},
};
static const char TRITON_PREFIX[] = "triton_";

static group group_of(gt_str name)
{
    if (gt_batch_is_gemm(name)) return GEMM;
    if (gt_batch_is_elementwise(name)) return ELEMENTWISE;
    if (strncmp(name.bytes, TRITON_PREFIX, strlen(TRITON_PREFIX)) == 0) return TRITON;
    for (size_t i = 0; i < GT_LENGTH(members); i++)
        if (strcmp(members[i].launcher, name.bytes) == 0) return members[i].group;
    return OTHER;
}

/* The sum over a group, in seconds, added as numpy does. */
static double group_time(const gt_table *launchers, const group *groups, group wanted)
{
    const double *times_ms = gt_table_column(launchers, GT_COL_TIME_MS_AVG)->floats;
    double *of_group = gt_alloc(launchers->row_count * sizeof *of_group);
    size_t count = 0;
    for (size_t row = 0; row < launchers->row_count; row++)
        if (groups[row] == wanted) of_group[count++] = times_ms[row];
    double sum_ms = gt_sum_pairwise(of_group, count);
    gt_free(of_group);
    return sum_ms / 1000;
}

static double timeline_time(const gt_table *timelines, const char *type)
{
    const gt_column *types = gt_table_column(timelines, GT_COL_TYPE),
                    *times = gt_table_column(timelines, GT_COL_TIME_MS_AVG);
    for (size_t row = 0; row < timelines->row_count; row++)
        if (strcmp(gt_interner_get(timelines->strings, types->texts[row]).bytes, type) == 0)
            return gt_column_is_null(times, row) ? 0 : times->floats[row] / 1000;
    return 0;
}

static void add_line(gt_table *sheet, const char *title, double time_s, double *total_s)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, 0, row, title);
    gt_table_set_float(sheet, 1, row, time_s);
    *total_s += time_s;
}

static size_t list_others(const gt_table *launchers, const group *groups, gt_buffer *names)
{
    const uint32_t *texts = gt_table_column(launchers, GT_COL_NAME)->texts;
    size_t count = 0;
    for (size_t row = 0; row < launchers->row_count; row++) {
        if (groups[row] != OTHER) continue;
        gt_buffer_add_cstr(names, count++ ? ", " : "[");
        gt_python_add_repr(names, gt_interner_get(launchers->strings, texts[row]));
    }
    if (count) gt_buffer_add_cstr(names, "]");
    return count;
}

gt_table *gt_batch_breakdown(const gt_table *launchers, const gt_table *timelines, gt_buffer *others,
                             size_t *other_count)
{
    gt_table *sheet = gt_table_new(GT_SHEET_GROUPED_BREAKDOWN, launchers->strings);
    gt_table_add_column(sheet, GT_COL_GROUP_TITLE, GT_TYPE_STRING);
    gt_table_add_column(sheet, GT_COL_TIME_S, GT_TYPE_FLOAT);
    const uint32_t *names = gt_table_column(launchers, GT_COL_NAME)->texts;
    group *groups = gt_alloc(launchers->row_count * sizeof *groups);
    for (size_t row = 0; row < launchers->row_count; row++)
        groups[row] = group_of(gt_interner_get(launchers->strings, names[row]));
    double total_s = 0, ignored = 0;
    for (size_t i = 0; i < GT_LENGTH(group_titles); i++)
        add_line(sheet, group_titles[i], group_time(launchers, groups, (group)i), &total_s);
    add_line(sheet, "Comms", timeline_time(timelines, "total_comm_time"), &total_s);
    add_line(sheet, "Memcpy", timeline_time(timelines, "total_memcpy_time"), &total_s);
    add_line(sheet, "Other", group_time(launchers, groups, OTHER), &total_s);
    add_line(sheet, "Total", total_s, &ignored);
    *other_count = list_others(launchers, groups, others);
    gt_free(groups);
    return sheet;
}

/* ---- gpu_timelines ---- */

static const char *const types[] = {
    "computation_time", "exposed_comm_time", "exposed_memcpy_time", "busy_time",
    "idle_time",        "total_time",        "total_comm_time",     "total_memcpy_time",
};
enum { TYPES = GT_LENGTH(types) };

static void add_rank(gt_table *sheet, const gt_table *timeline, int64_t rank)
{
    static const struct {
        gt_col of_timeline;
        const char *stem;
    } columns[] = {{GT_COL_TIME_MS, "time_ms"}, {GT_COL_PERCENT, "percent"}};
    for (size_t i = 0; i < GT_LENGTH(columns); i++) {
        char *name = gt_format("%s_%lld", columns[i].stem, (long long)rank);
        size_t column = gt_table_add_column(sheet, gt_col_named(name), GT_TYPE_FLOAT);
        gt_free(name);
        const gt_column *from = timeline ? gt_table_column(timeline, columns[i].of_timeline) : NULL;
        for (size_t row = 0; from && row < TYPES; row++)
            sheet->columns[column].floats[row] = from->floats[row];
    }
}

static size_t first_time_column(size_t rank)
{
    return 1 + 2 * rank;
}

static void add_statistics(gt_table *sheet, size_t ranks)
{
    size_t average = gt_table_add_column(sheet, GT_COL_TIME_MS_AVG, GT_TYPE_FLOAT);
    size_t deviation = gt_table_add_column(sheet, GT_COL_TIME_MS_STD, GT_TYPE_FLOAT);
    double *times = gt_alloc((ranks + 1) * sizeof *times);
    for (size_t row = 0; row < TYPES; row++) {
        size_t count = 0;
        for (size_t i = 0; i < ranks; i++) {
            double time = sheet->columns[first_time_column(i)].floats[row];
            if (!isnan(time)) times[count++] = time;
        }
        if (!count) continue;
        times[count] = gt_mean(times, count);
        sheet->columns[average].floats[row] = times[count];
        sheet->columns[deviation].floats[row] = gt_std_pairwise(times, count + 1, 1);
    }
    gt_free(times);
}

gt_table *gt_batch_timelines(gt_table *const *timelines, const int64_t *ranks, size_t count,
                             gt_interner *strings)
{
    gt_table *sheet = gt_table_new(GT_SHEET_GPU_TIMELINES, strings);
    gt_table_add_column(sheet, GT_COL_TYPE, GT_TYPE_STRING);
    gt_table_add_rows(sheet, TYPES);
    for (size_t row = 0; row < TYPES; row++) gt_table_set_cstr(sheet, 0, row, types[row]);
    for (size_t i = 0; i < count; i++) add_rank(sheet, timelines[i], ranks[i]);
    add_statistics(sheet, count);
    return sheet;
}

/* ---- cuda_events_summary ---- */

static const gt_col keys[] = {GT_COL_NAME, GT_COL_CAT, GT_COL_RANK};
enum { NAME, CATEGORY, CALL_KEYS, RANK = CALL_KEYS };

static const gt_aggregate of_rank[] = {{GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT},
                                       {GT_COL_DUR, GT_GROUP_MIN, GT_COL_MIN_DUR},
                                       {GT_COL_DUR, GT_GROUP_MAX, GT_COL_MAX_DUR},
                                       {GT_COL_DUR, GT_GROUP_SUM, GT_COL_SUM_DUR}};
static const gt_aggregate of_files[] = {{GT_COL_COUNT, GT_GROUP_SUM, GT_COL_COUNT},
                                        {GT_COL_MIN_DUR, GT_GROUP_MIN, GT_COL_MIN_DUR},
                                        {GT_COL_MAX_DUR, GT_GROUP_MAX, GT_COL_MAX_DUR},
                                        {GT_COL_SUM_DUR, GT_GROUP_SUM, GT_COL_SUM_DUR}};
static const gt_column_head measures[] = {
    {GT_COL_COUNT, GT_TYPE_INT},
    {GT_COL_MIN_DUR, GT_TYPE_FLOAT},
    {GT_COL_MAX_DUR, GT_TYPE_FLOAT},
    {GT_COL_MEAN_DUR, GT_TYPE_FLOAT},
};

gt_table *gt_batch_calls_of_rank(const gt_event_view *trace, int64_t rank)
{
    enum { DURATION = RANK + 1 };
    gt_table *calls = gt_table_new(GT_SHEET_CUDA_EVENTS_SUMMARY, trace->strings);
    gt_table_add_column(calls, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(calls, GT_COL_CAT, GT_TYPE_STRING);
    gt_table_add_column(calls, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(calls, GT_COL_DUR, GT_TYPE_FLOAT);
    uint32_t runtime = gt_interner_add_cstr(trace->strings, "cuda_runtime");
    uint32_t driver = gt_interner_add_cstr(trace->strings, "cuda_driver");
    for (size_t row = 0; row < trace->count; row++) {
        if (trace->kind[row] != GT_KIND_RUNTIME && trace->kind[row] != GT_KIND_DRIVER) continue;
        size_t added = gt_table_add_row(calls);
        gt_table_set_string(calls, NAME, added, trace->name[row]);
        gt_table_set_string(calls, CATEGORY, added, trace->kind[row] == GT_KIND_RUNTIME ? runtime : driver);
        gt_table_set_int(calls, RANK, added, rank);
        gt_table_set_float(calls, DURATION, added, isnan(trace->dur_us[row]) ? 0 : trace->dur_us[row]);
    }
    gt_table *rows =
        gt_table_group(calls, keys, GT_LENGTH(keys), of_rank, GT_LENGTH(of_rank), (gt_group_options){0});
    gt_table_free(calls);
    return rows;
}

static void add_means(gt_table *table)
{
    size_t mean = gt_table_add_zeroed(table, GT_COL_MEAN_DUR, GT_TYPE_FLOAT);
    const int64_t *counts = gt_table_column(table, GT_COL_COUNT)->ints;
    const double *sums = gt_table_column(table, GT_COL_SUM_DUR)->floats;
    for (size_t row = 0; row < table->row_count; row++)
        table->columns[mean].floats[row] = sums[row] / (double)counts[row];
}

/* The distinct ranks, ascending, as a table with one column. */
static gt_table *find_ranks(const gt_table *table)
{
    return gt_table_group(table, &keys[RANK], 1, NULL, 0, (gt_group_options){.sorted = true});
}

static void add_measure(gt_table *sheet, const gt_table *all, const gt_groups *calls,
                        const gt_groups *of_ranks, const gt_table *ranks, size_t measure)
{
    size_t first = sheet->column_count;
    for (size_t i = 0; i < ranks->row_count; i++) {
        long long rank = (long long)ranks->columns[0].ints[i];
        char *name = gt_format("%s_%lld", measures[measure].name.name, rank),
             *under = gt_format("%lld", rank);
        size_t column = gt_table_add_column(sheet, gt_col_named(name), measures[measure].type);
        gt_table_set_headings(sheet, column, measures[measure].name.name, under);
        gt_free_all(name, under);
    }
    const gt_column *values = gt_table_column(all, measures[measure].name);
    for (size_t row = 0; row < all->row_count; row++) {
        size_t column = first + of_ranks->of_row[row];
        if (measures[measure].type == GT_TYPE_INT)
            gt_table_set_int(sheet, column, calls->of_row[row], values->ints[row]);
        else
            gt_table_set_float(sheet, column, calls->of_row[row], values->floats[row]);
    }
}

gt_table *gt_batch_calls(const gt_table *rows)
{
    const gt_group_options sorted = {.sorted = true};
    gt_table *all = gt_table_group(rows, keys, GT_LENGTH(keys), of_files, GT_LENGTH(of_files), sorted);
    add_means(all);
    gt_table *ranks = find_ranks(all);
    gt_groups calls = gt_groups_find(all, keys, CALL_KEYS, sorted),
              of_ranks = gt_groups_find(all, &keys[RANK], 1, sorted);
    gt_table *sheet = gt_table_group(all, keys, CALL_KEYS, NULL, 0, sorted);
    gt_table_rename(sheet, GT_SHEET_CUDA_EVENTS_SUMMARY);
    gt_table_set_headings(sheet, CATEGORY, NULL, "rank");
    for (size_t i = 0; i < GT_LENGTH(measures); i++) add_measure(sheet, all, &calls, &of_ranks, ranks, i);
    gt_groups_free(&calls);
    gt_groups_free(&of_ranks);
    gt_table_free(ranks);
    gt_table_free(all);
    return sheet;
}
