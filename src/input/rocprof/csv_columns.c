/* The columns of rocprofv3's CSV files: one table per kind of file, one row per column name.
 *
 * To read one more field: add its column name, how it is read, and the column of the store
 * that it fills to the table of its kind below. Nothing else is needed if the store has that column and the
 * value is stored as it is. A new column is a value of the enum in trace/rocprof/rocprof.h and a row in
 * trace/rocprof/rocprof.c; readers of other formats leave it absent until they fill it. A value that needs
 * further work gets a SLOT_ in csv.h instead, and the add_ function of its kind in csv.c uses it.
 *
 * To read one more kind of file: a value of gt_csv_kind (readers.h), an entry of `kinds` with its columns,
 * and an add_ function in csv.c. */
#include "input/rocprof/csv.h"

typedef struct column_rule {
    const char *name; /* case is ignored */
    gt_csv_field kind;
    int slot;
} column_rule;

#define GRID_AND_BLOCK                                                                                       \
    {"Grid_Size_X", GT_CSV_INT, GT_DISPATCH_GRID_X}, {"Grid_Size_Y", GT_CSV_INT, GT_DISPATCH_GRID_Y},        \
        {"Grid_Size_Z", GT_CSV_INT, GT_DISPATCH_GRID_Z},                                                     \
        {"Workgroup_Size_X", GT_CSV_INT, GT_DISPATCH_BLOCK_X},                                               \
        {"Workgroup_Size_Y", GT_CSV_INT, GT_DISPATCH_BLOCK_Y},                                               \
    {                                                                                                        \
        "Workgroup_Size_Z", GT_CSV_INT, GT_DISPATCH_BLOCK_Z                                                  \
    }

#define DISPATCH_RULES                                                                                       \
    {"Guid", GT_CSV_STRING, SLOT_GUID}, {"Agent_Id", GT_CSV_AGENT, GT_DISPATCH_AGENT},                       \
        {"Queue_Id", GT_CSV_INT, GT_DISPATCH_QUEUE}, {"Stream_Id", GT_CSV_INT, GT_DISPATCH_STREAM},          \
        {"Thread_Id", GT_CSV_INT, GT_DISPATCH_THREAD}, {"Dispatch_Id", GT_CSV_INT, GT_DISPATCH_ID},          \
        {"Kernel_Name", GT_CSV_STRING, SLOT_NAME}, {"Correlation_Id", GT_CSV_INT, GT_DISPATCH_CORRELATION},  \
        {"Start_Timestamp", GT_CSV_INT, GT_DISPATCH_START}, {"End_Timestamp", GT_CSV_INT, GT_DISPATCH_END},  \
        {"LDS_Block_Size", GT_CSV_INT, GT_DISPATCH_LDS_BYTES},                                               \
        {"Group_Segment_Size", GT_CSV_INT, GT_DISPATCH_LDS_BYTES},                                           \
        {"Scratch_Size", GT_CSV_INT, GT_DISPATCH_SCRATCH_BYTES},                                             \
        {"Private_Segment_Size", GT_CSV_INT, GT_DISPATCH_SCRATCH_BYTES},                                     \
        {"VGPR_Count", GT_CSV_INT, SLOT_VGPRS}, {"Accum_VGPR_Count", GT_CSV_INT, SLOT_ACCUM_VGPRS},          \
        {"SGPR_Count", GT_CSV_INT, SLOT_SGPRS}, {"Process_Id", GT_CSV_INT, SLOT_PID},                        \
    {                                                                                                        \
        "Pid", GT_CSV_INT, SLOT_PID                                                                          \
    }

static const column_rule kernel_rules[] = {DISPATCH_RULES, GRID_AND_BLOCK, {0}};

static const column_rule counter_rules[] = {
    DISPATCH_RULES,
    {"Grid_Size", GT_CSV_INT, GT_DISPATCH_GRID_X},
    {"Workgroup_Size", GT_CSV_INT, GT_DISPATCH_BLOCK_X},
    {"Counter_Name", GT_CSV_INTERNED, SLOT_COUNTER},
    {"Counter_Value", GT_CSV_REAL, SLOT_VALUE},
    {0},
};

static const column_rule old_results_rules[] = {
    {"Index", GT_CSV_INT, GT_DISPATCH_ID},
    {"KernelName", GT_CSV_STRING, SLOT_NAME},
    {"gpu-id", GT_CSV_INT, GT_DISPATCH_AGENT},
    {"queue-id", GT_CSV_INT, GT_DISPATCH_QUEUE},
    {"queue-index", GT_CSV_SKIP, 0},
    {"pid", GT_CSV_INT, SLOT_PID},
    {"tid", GT_CSV_INT, GT_DISPATCH_THREAD},
    {"grd", GT_CSV_INT, GT_DISPATCH_GRID_X},
    {"wgr", GT_CSV_INT, GT_DISPATCH_BLOCK_X},
    {"lds", GT_CSV_INT, GT_DISPATCH_LDS_BYTES},
    {"scr", GT_CSV_INT, GT_DISPATCH_SCRATCH_BYTES},
    {"arch_vgpr", GT_CSV_INT, SLOT_VGPRS},
    {"vgpr", GT_CSV_INT, SLOT_VGPRS},
    {"accum_vgpr", GT_CSV_INT, SLOT_ACCUM_VGPRS},
    {"sgpr", GT_CSV_INT, SLOT_SGPRS},
    {"fbar", GT_CSV_SKIP, 0},
    {"wave_size", GT_CSV_SKIP, 0},
    {"sig", GT_CSV_SKIP, 0},
    {"obj", GT_CSV_SKIP, 0},
    {"DispatchNs", GT_CSV_SKIP, 0},
    {"BeginNs", GT_CSV_INT, GT_DISPATCH_START},
    {"EndNs", GT_CSV_INT, GT_DISPATCH_END},
    {"CompleteNs", GT_CSV_SKIP, 0},
    {"DurationNs", GT_CSV_SKIP, 0},
    {0},
};

static const column_rule call_rules[] = {
    {"Guid", GT_CSV_STRING, SLOT_GUID},
    {"Domain", GT_CSV_INTERNED, GT_CALL_KIND},
    {"Function", GT_CSV_INTERNED, GT_CALL_NAME},
    {"Process_Id", GT_CSV_INT, SLOT_PID},
    {"Thread_Id", GT_CSV_INT, GT_CALL_THREAD},
    {"Correlation_Id", GT_CSV_INT, GT_CALL_CORRELATION},
    {"Start_Timestamp", GT_CSV_INT, GT_CALL_START},
    {"End_Timestamp", GT_CSV_INT, GT_CALL_END},
    {0},
};

static const column_rule copy_rules[] = {
    {"Guid", GT_CSV_STRING, SLOT_GUID},
    {"Direction", GT_CSV_STRING, SLOT_DIRECTION},
    {"Stream_Id", GT_CSV_INT, GT_COPY_STREAM},
    {"Source_Agent_Id", GT_CSV_AGENT, GT_COPY_SOURCE},
    {"Destination_Agent_Id", GT_CSV_AGENT, GT_COPY_DESTINATION},
    {"Correlation_Id", GT_CSV_INT, GT_COPY_CORRELATION},
    {"Start_Timestamp", GT_CSV_INT, GT_COPY_START},
    {"End_Timestamp", GT_CSV_INT, GT_COPY_END},
    {0},
};

static const column_rule stats_rules[] = {
    {"Name", GT_CSV_STRING, SLOT_NAME},
    {"Calls", GT_CSV_INT, GT_STATS_COUNT},
    {"TotalDurationNs", GT_CSV_INT, GT_STATS_TOTAL},
    {"MinNs", GT_CSV_INT, GT_STATS_MIN},
    {"MaxNs", GT_CSV_INT, GT_STATS_MAX},
    {"StdDev", GT_CSV_REAL, GT_STATS_STD},
    {0},
};

static const column_rule sample_rules[] = {
    {"Dispatch_Id", GT_CSV_INT, GT_SAMPLE_DISPATCH},
    {"Instruction", GT_CSV_INTERNED, GT_SAMPLE_INSTRUCTION},
    {"Instruction_Comment", GT_CSV_INTERNED, GT_SAMPLE_COMMENT},
    {"Wave_Issued_Instruction", GT_CSV_INT, GT_SAMPLE_ISSUED},
    {"Stall_Reason", GT_CSV_INTERNED, GT_SAMPLE_REASON},
    {"Process_Id", GT_CSV_INT, SLOT_PID},
    {0},
};

static const struct {
    const char *name;
    const char *needs[3]; /* columns that identify the kind; the first kind with all of them wins */
    const column_rule *rules;
} kinds[GT_CSV_KINDS] = {
    [GT_CSV_UNKNOWN] = {"not a rocprofv3 file", {0}, NULL},
    [GT_CSV_KERNELS] = {"kernel trace", {"Kernel_Name", "Start_Timestamp", "Dispatch_Id"}, kernel_rules},
    [GT_CSV_COUNTERS] = {"counter file", {"Counter_Name", "Counter_Value", "Dispatch_Id"}, counter_rules},
    [GT_CSV_CALLS] = {"API call trace", {"Domain", "Function", "Start_Timestamp"}, call_rules},
    [GT_CSV_COPIES] = {"memory copy trace", {"Direction", "Start_Timestamp", "End_Timestamp"}, copy_rules},
    [GT_CSV_AGENTS] = {"list of agents", {"Node_Id", "Agent_Type", "Logical_Node_Id"}, NULL},
    [GT_CSV_OLD_RESULTS] = {"results.csv of rocprof", {"Index", "KernelName", "gpu-id"}, old_results_rules},
    [GT_CSV_STATS] = {"statistics file", {"Name", "Calls", "TotalDurationNs"}, stats_rules},
    [GT_CSV_SAMPLES] = {"PC samples", {"Sample_Timestamp", "Dispatch_Id", "Instruction"}, sample_rules},
    [GT_CSV_OTHER] = {"trace of allocations", {0}, NULL},
};

/* Columns that only files of the kind GT_CSV_OTHER have. */
static const char *const other_columns[] = {"Allocation_Size", "Alloc_Flags", "Sample_Timestamp"};

const char *gt_rocprof_csv_kind_name(gt_csv_kind kind)
{
    return kinds[kind].name;
}

/* ---- the header ---- */

const uint8_t *gt_csv_after_line_end(const uint8_t *p, const uint8_t *end)
{
    if (p < end && *p == '\r') p++;
    return p < end && *p == '\n' ? p + 1 : p;
}

bool gt_csv_header_split(gt_str text, gt_csv_header *out)
{
    const uint8_t *p = (const uint8_t *)text.bytes, *end = p + text.len;
    if (text.len >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) p += 3;
    out->count = 0;
    for (;;) {
        bool quoted = p < end && *p == '"';
        const uint8_t *begin = p + quoted;
        const uint8_t *close = quoted ? gt_csv_closing_quote(begin, end, true) : gt_csv_plain_end(begin, end);
        if (!close || out->count == GT_CSV_MAX_FIELDS) return false;
        out->names[out->count++] = (gt_str){(const char *)begin, (size_t)(close - begin)};
        p = close + quoted;
        if (*p != ',') break;
        p++;
    }
    out->rows = gt_csv_after_line_end(p, end);
    return out->count > 1;
}

static bool has_column(const gt_csv_header *h, const char *name)
{
    for (size_t i = 0; i < h->count; i++)
        if (gt_str_equals_nocase(h->names[i], name)) return true;
    return false;
}

gt_csv_kind gt_csv_header_kind(const gt_csv_header *h)
{
    if (has_column(h, "Counter_Name")) return GT_CSV_COUNTERS;
    for (int k = GT_CSV_UNKNOWN + 1; k < GT_CSV_OTHER; k++) {
        bool all = true;
        for (size_t i = 0; all && i < 3; i++) all = has_column(h, kinds[k].needs[i]);
        if (all) return (gt_csv_kind)k;
    }
    for (size_t i = 0; i < GT_LENGTH(other_columns); i++)
        if (has_column(h, other_columns[i])) return GT_CSV_OTHER;
    return GT_CSV_UNKNOWN;
}

gt_csv_kind gt_rocprof_csv_kind(gt_str first_block)
{
    gt_csv_header h;
    return gt_csv_header_split(first_block, &h) ? gt_csv_header_kind(&h) : GT_CSV_UNKNOWN;
}

static gt_csv_step agent_column(gt_str name)
{
    for (int i = 0; i < GT_AGENT_INFO_COLUMNS; i++) {
        int slot = GT_AGENT_INFO + i;
        if (gt_str_equals_nocase(name, gt_agent_info_names[i]))
            return (gt_csv_step){
                gt_agent_columns[slot].type == GT_STORE_STRING ? GT_CSV_INTERNED : GT_CSV_INT, slot, 0};
    }
    return (gt_csv_step){GT_CSV_SKIP, 0, 0};
}

gt_csv_step gt_csv_column(gt_csv_kind kind, gt_str name)
{
    if (kind == GT_CSV_AGENTS) return agent_column(name);
    for (const column_rule *rule = kinds[kind].rules; rule->name; rule++)
        if (gt_str_equals_nocase(name, rule->name)) return (gt_csv_step){rule->kind, rule->slot, 0};
    return (gt_csv_step){kind == GT_CSV_OLD_RESULTS ? GT_CSV_WIDE : GT_CSV_SKIP, 0, 0};
}
