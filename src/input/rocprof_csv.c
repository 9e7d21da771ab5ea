/* The CSV reader: the header turns into a plan, one step a column, and each row goes through the plan once.
 * Numbers go straight into the cells of the store that the file fills; names are looked up by their raw
 * bytes, of which a file of a million rows has a few hundred. */
#include "input/rocprof_csv.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/text.h"
#include "input/csv_scan.h"
#include "input/scan_number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a column's fields are. */
typedef enum field_kind {
    FIELD_SKIP,
    FIELD_INT,
    FIELD_AGENT, /* "Agent 3", "GPU 0" or 3: the number at its end */
    FIELD_REAL,
    FIELD_TEXT, /* a view into the row */
    FIELD_WORD, /* text that goes into the store as it is */
    FIELD_WIDE, /* of the old results.csv: a counter named by its column */
} field_kind;

/* Slots of a row: the columns of the store that the kind of file fills, then these. */
enum {
    SLOT_NAME = GT_STORE_MAX_COLUMNS - 8, /* Kernel_Name, Function */
    SLOT_VGPRS,
    SLOT_ACCUM_VGPRS,
    SLOT_SGPRS,
    SLOT_KERNEL_LDS,
    SLOT_DIRECTION,
    SLOT_PID,
    SLOT_GUID,
    SLOTS
};

typedef struct column_rule {
    const char *name; /* compared without case */
    field_kind kind;
    int slot;
} column_rule;

enum { MAX_FIELDS = 512, MAX_ROW = 64 * 1024 * 1024 };

#define GRID_AND_BLOCK                                                                                       \
    {"Grid_Size_X", FIELD_INT, GT_DISPATCH_GRID_X}, {"Grid_Size_Y", FIELD_INT, GT_DISPATCH_GRID_Y},          \
        {"Grid_Size_Z", FIELD_INT, GT_DISPATCH_GRID_Z},                                                      \
        {"Workgroup_Size_X", FIELD_INT, GT_DISPATCH_BLOCK_X},                                                \
        {"Workgroup_Size_Y", FIELD_INT, GT_DISPATCH_BLOCK_Y},                                                \
    {                                                                                                        \
        "Workgroup_Size_Z", FIELD_INT, GT_DISPATCH_BLOCK_Z                                                   \
    }

#define DISPATCH_RULES                                                                                       \
    {"Guid", FIELD_TEXT, SLOT_GUID}, {"Agent_Id", FIELD_AGENT, GT_DISPATCH_AGENT},                           \
        {"Queue_Id", FIELD_INT, GT_DISPATCH_QUEUE}, {"Stream_Id", FIELD_INT, GT_DISPATCH_STREAM},            \
        {"Thread_Id", FIELD_INT, GT_DISPATCH_THREAD}, {"Dispatch_Id", FIELD_INT, GT_DISPATCH_ID},            \
        {"Kernel_Name", FIELD_TEXT, SLOT_NAME}, {"Correlation_Id", FIELD_INT, GT_DISPATCH_CORRELATION},      \
        {"Start_Timestamp", FIELD_INT, GT_DISPATCH_START}, {"End_Timestamp", FIELD_INT, GT_DISPATCH_END},    \
        {"LDS_Block_Size", FIELD_INT, GT_DISPATCH_LDS_BYTES},                                                \
        {"Group_Segment_Size", FIELD_INT, GT_DISPATCH_LDS_BYTES},                                            \
        {"Scratch_Size", FIELD_INT, GT_DISPATCH_SCRATCH_BYTES},                                              \
        {"Private_Segment_Size", FIELD_INT, GT_DISPATCH_SCRATCH_BYTES},                                      \
        {"VGPR_Count", FIELD_INT, SLOT_VGPRS}, {"Accum_VGPR_Count", FIELD_INT, SLOT_ACCUM_VGPRS},            \
        {"SGPR_Count", FIELD_INT, SLOT_SGPRS}, {"Process_Id", FIELD_INT, SLOT_PID},                          \
    {                                                                                                        \
        "Pid", FIELD_INT, SLOT_PID                                                                           \
    }

static const column_rule kernel_rules[] = {DISPATCH_RULES, GRID_AND_BLOCK, {0}};

/* Counter rows go into a dispatch's slots; what is the counter's own lies behind them. */
enum { SLOT_COUNTER = GT_DISPATCH_COLUMNS, SLOT_VALUE };

static const column_rule counter_rules[] = {
    DISPATCH_RULES,
    {"Grid_Size", FIELD_INT, GT_DISPATCH_GRID_X},
    {"Workgroup_Size", FIELD_INT, GT_DISPATCH_BLOCK_X},
    {"Counter_Name", FIELD_WORD, SLOT_COUNTER},
    {"Counter_Value", FIELD_REAL, SLOT_VALUE},
    {0},
};

static const column_rule old_rules[] = {
    {"Index", FIELD_INT, GT_DISPATCH_ID},
    {"KernelName", FIELD_TEXT, SLOT_NAME},
    {"gpu-id", FIELD_INT, GT_DISPATCH_AGENT},
    {"queue-id", FIELD_INT, GT_DISPATCH_QUEUE},
    {"queue-index", FIELD_SKIP, 0},
    {"pid", FIELD_INT, SLOT_PID},
    {"tid", FIELD_INT, GT_DISPATCH_THREAD},
    {"grd", FIELD_INT, GT_DISPATCH_GRID_X},
    {"wgr", FIELD_INT, GT_DISPATCH_BLOCK_X},
    {"lds", FIELD_INT, GT_DISPATCH_LDS_BYTES},
    {"scr", FIELD_INT, GT_DISPATCH_SCRATCH_BYTES},
    {"arch_vgpr", FIELD_INT, SLOT_VGPRS},
    {"vgpr", FIELD_INT, SLOT_VGPRS},
    {"accum_vgpr", FIELD_INT, SLOT_ACCUM_VGPRS},
    {"sgpr", FIELD_INT, SLOT_SGPRS},
    {"fbar", FIELD_SKIP, 0},
    {"wave_size", FIELD_SKIP, 0},
    {"sig", FIELD_SKIP, 0},
    {"obj", FIELD_SKIP, 0},
    {"DispatchNs", FIELD_SKIP, 0},
    {"BeginNs", FIELD_INT, GT_DISPATCH_START},
    {"EndNs", FIELD_INT, GT_DISPATCH_END},
    {"CompleteNs", FIELD_SKIP, 0},
    {"DurationNs", FIELD_SKIP, 0},
    {0},
};

static const column_rule call_rules[] = {
    {"Guid", FIELD_TEXT, SLOT_GUID},
    {"Domain", FIELD_WORD, GT_CALL_KIND},
    {"Function", FIELD_WORD, GT_CALL_NAME},
    {"Process_Id", FIELD_INT, SLOT_PID},
    {"Thread_Id", FIELD_INT, GT_CALL_THREAD},
    {"Correlation_Id", FIELD_INT, GT_CALL_CORRELATION},
    {"Start_Timestamp", FIELD_INT, GT_CALL_START},
    {"End_Timestamp", FIELD_INT, GT_CALL_END},
    {0},
};

static const column_rule copy_rules[] = {
    {"Guid", FIELD_TEXT, SLOT_GUID},
    {"Direction", FIELD_TEXT, SLOT_DIRECTION},
    {"Stream_Id", FIELD_INT, GT_COPY_STREAM},
    {"Source_Agent_Id", FIELD_AGENT, GT_COPY_SOURCE},
    {"Destination_Agent_Id", FIELD_AGENT, GT_COPY_DESTINATION},
    {"Correlation_Id", FIELD_INT, GT_COPY_CORRELATION},
    {"Start_Timestamp", FIELD_INT, GT_COPY_START},
    {"End_Timestamp", FIELD_INT, GT_COPY_END},
    {0},
};

static const struct {
    const char *name;
    const char *needs[3]; /* columns that tell the kind; the first kind that has all of them is it */
    const column_rule *rules;
} kinds[GT_CSV_KINDS] = {
    [GT_CSV_UNKNOWN] = {"no file of rocprofv3", {0}, NULL},
    [GT_CSV_KERNELS] = {"a kernel trace", {"Kernel_Name", "Start_Timestamp", "Dispatch_Id"}, kernel_rules},
    [GT_CSV_COUNTERS] = {"a file of counters",
                         {"Counter_Name", "Counter_Value", "Dispatch_Id"},
                         counter_rules},
    [GT_CSV_CALLS] = {"a trace of API calls", {"Domain", "Function", "Start_Timestamp"}, call_rules},
    [GT_CSV_COPIES] = {"a trace of memory copies",
                       {"Direction", "Start_Timestamp", "End_Timestamp"},
                       copy_rules},
    [GT_CSV_AGENTS] = {"a list of agents", {"Node_Id", "Agent_Type", "Logical_Node_Id"}, NULL},
    [GT_CSV_OLD_RESULTS] = {"results.csv of rocprof", {"Index", "KernelName", "gpu-id"}, old_rules},
    [GT_CSV_STATS] = {"a file of statistics", {"Name", "Calls", "TotalDurationNs"}, NULL},
    [GT_CSV_OTHER] = {"a trace of allocations or samples", {0}, NULL},
};

/* Columns that only the files of GT_CSV_OTHER have. */
static const char *const other_columns[] = {"Allocation_Size", "Alloc_Flags", "Sample_Timestamp"};

const char *gt_rocprof_csv_kind_name(gt_csv_kind kind)
{
    return kinds[kind].name;
}

/* ---- the header ---- */

typedef struct header {
    gt_text names[MAX_FIELDS];
    size_t count;
    const uint8_t *rows; /* behind its line */
} header;

static const uint8_t *behind_line_end(const uint8_t *p, const uint8_t *end)
{
    if (p < end && *p == '\r') p++;
    return p < end && *p == '\n' ? p + 1 : p;
}

/* The names of the first line, which must be whole. */
static bool split_header(gt_text text, header *out)
{
    const uint8_t *p = (const uint8_t *)text.bytes, *end = p + text.len;
    if (text.len >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) p += 3;
    out->count = 0;
    for (;;) {
        bool quoted = p < end && *p == '"';
        const uint8_t *begin = p + quoted;
        const uint8_t *close = quoted ? gt_csv_closing_quote(begin, end, true) : gt_csv_plain_end(begin, end);
        if (!close || out->count == MAX_FIELDS) return false;
        out->names[out->count++] = (gt_text){(const char *)begin, (size_t)(close - begin)};
        p = close + quoted;
        if (*p != ',') break;
        p++;
    }
    out->rows = behind_line_end(p, end);
    return out->count > 1;
}

static bool same_name(gt_text a, const char *b)
{
    return strlen(b) == a.len && strncasecmp(a.bytes, b, a.len) == 0;
}

static bool has_column(const header *h, const char *name)
{
    for (size_t i = 0; i < h->count; i++)
        if (same_name(h->names[i], name)) return true;
    return false;
}

static gt_csv_kind kind_of(const header *h)
{
    if (has_column(h, "Counter_Name")) return GT_CSV_COUNTERS;
    for (int k = GT_CSV_UNKNOWN + 1; k < GT_CSV_OTHER; k++) {
        bool all = true;
        for (size_t i = 0; all && i < 3; i++) all = has_column(h, kinds[k].needs[i]);
        if (all) return (gt_csv_kind)k;
    }
    for (size_t i = 0; i < sizeof other_columns / sizeof *other_columns; i++)
        if (has_column(h, other_columns[i])) return GT_CSV_OTHER;
    return GT_CSV_UNKNOWN;
}

gt_csv_kind gt_rocprof_csv_kind(gt_text first_block)
{
    header h;
    return split_header(first_block, &h) ? kind_of(&h) : GT_CSV_UNKNOWN;
}

/* ---- the plan ---- */

typedef struct step {
    field_kind kind;
    int slot;
    uint32_t counter; /* of WIDE: its name's text id */
} step;

typedef struct known_name {
    uint32_t text; /* of the kernel's short name; GT_TEXT_NONE until it is first seen */
    gt_kernel_use use;
    int64_t kernel_id;
} known_name;

typedef struct reading {
    gt_rocprof_writers *writers;
    gt_rocprof *run;
    const gt_csv_source *source;
    const char *path;
    gt_csv_kind kind;
    bool doubled; /* quotes in quoted fields are doubled, as Python writes them */
    step plan[MAX_FIELDS];
    gt_text names[MAX_FIELDS]; /* of the header, for messages; copies in `arena` */
    gt_arena arena;
    gt_buffer undoubled, repaired;
    size_t columns;

    gt_strings *raw; /* kernel names as the file has them */
    known_name *known;
    size_t known_count, known_capacity;
    int64_t last_pid, process; /* of the row before */
    uint32_t last_guid;
    gt_map processes;      /* (pid, guid) to process */
    gt_map counted;        /* dispatches that counters were collected of */
    bool source_named;     /* the source's process has its pid */
    uint32_t words[SLOTS]; /* text ids of the row before, by slot */

    size_t row;
    uint64_t present;
    gt_cell cells[SLOTS];
    gt_text texts[SLOTS];
    double wide[MAX_FIELDS];
    gt_error *error;
} reading;

/* What a field's bytes mean: quotes that stand doubled for one are taken back, what is not UTF-8 is replaced.
 * Valid until it is asked for the next time. */
static gt_text meant(reading *r, gt_text text)
{
    if (r->doubled && memmem(text.bytes, text.len, "\"\"", 2)) {
        r->undoubled.len = 0;
        for (size_t i = 0; i < text.len; i++) {
            gt_buffer_add(&r->undoubled, &text.bytes[i], 1);
            if (text.bytes[i] == '"' && i + 1 < text.len && text.bytes[i + 1] == '"') i++;
        }
        text = (gt_text){r->undoubled.bytes, r->undoubled.len};
    }
    return gt_utf8_is_valid(text) ? text : gt_utf8_repair(text, &r->repaired);
}

/* Most words are that of the row before. */
static uint32_t word_of(reading *r, int slot, gt_text text)
{
    gt_text before = gt_strings_get(r->run->strings, r->words[slot]);
    if (r->words[slot] && before.len == text.len && memcmp(before.bytes, text.bytes, text.len) == 0)
        return r->words[slot];
    text = meant(r, text);
    return r->words[slot] = gt_strings_add(r->run->strings, text.bytes, text.len);
}

static step plan_of_agents(gt_text name)
{
    for (int i = 0; i < GT_AGENT_INFO_COLUMNS; i++) {
        int slot = GT_AGENT_INFO + i;
        if (same_name(name, gt_agent_info_names[i]))
            return (step){gt_agent_columns[slot].type == GT_STORE_TEXT ? FIELD_WORD : FIELD_INT, slot, 0};
    }
    return (step){FIELD_SKIP, 0, 0};
}

static step plan_of(reading *r, gt_text name)
{
    if (r->kind == GT_CSV_AGENTS) return plan_of_agents(name);
    for (const column_rule *rule = kinds[r->kind].rules; rule->name; rule++)
        if (same_name(name, rule->name)) return (step){rule->kind, rule->slot, 0};
    if (r->kind == GT_CSV_OLD_RESULTS && r->writers->counters)
        return (step){FIELD_WIDE, 0, word_of(r, SLOT_NAME, name)};
    return (step){FIELD_SKIP, 0, 0};
}

/* Columns whose cells the stores at hand would not keep need not be read. */
static bool is_kept(const reading *r, const step *s)
{
    bool dispatch = r->kind == GT_CSV_KERNELS || r->kind == GT_CSV_COUNTERS || r->kind == GT_CSV_OLD_RESULTS;
    if (dispatch && !(r->run->wanted & GT_WANT_DISPATCH_DETAILS))
        if ((s->slot >= GT_DISPATCH_BASIC_COLUMNS && s->slot < GT_DISPATCH_COLUMNS) ||
            (s->slot >= SLOT_VGPRS && s->slot <= SLOT_KERNEL_LDS))
            return false;
    if (r->kind == GT_CSV_COPIES && !(r->run->wanted & GT_WANT_COPY_DETAILS))
        if (s->slot >= GT_COPY_BASIC_COLUMNS && s->slot != SLOT_GUID) return false;
    return true;
}

static void make_plan(reading *r, const header *h)
{
    r->columns = h->count;
    r->doubled = same_name(h->names[0], "Guid");
    for (size_t i = 0; i < h->count; i++) {
        gt_text name = h->names[i];
        r->names[i] = (gt_text){gt_arena_bytes(&r->arena, name.bytes, name.len), name.len};
        r->plan[i] = plan_of(r, name);
        if (!is_kept(r, &r->plan[i])) r->plan[i].kind = FIELD_SKIP;
    }
}

/* ---- fields ---- */

static bool bad_field(reading *r, size_t column, gt_text text, const char *expected)
{
    return gt_fail(r->error, "row %zu: '%.*s' holds '%.*s' and not %s", r->row,
                   (int)(r->names[column].len < 100 ? r->names[column].len : 100), r->names[column].bytes,
                   (int)(text.len < 60 ? text.len : 60), text.bytes, expected);
}

/* An integer of 64 bits, with or without sign; those from 2^63 on keep their bits. */
static bool to_int(gt_text text, int64_t *out)
{
    uint64_t value = 0;
    bool negative = text.len && text.bytes[0] == '-';
    size_t at = negative;
    if (at == text.len || text.len - at > 20) return false;
    for (; at < text.len; at++) {
        unsigned digit = (unsigned)(uint8_t)text.bytes[at] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (negative && value > (uint64_t)INT64_MAX + 1) return false;
    *out = (int64_t)(negative ? 0 - value : value);
    return true;
}

static bool to_trailing_int(gt_text text, int64_t *out)
{
    size_t begin = text.len;
    while (begin && isdigit((unsigned char)text.bytes[begin - 1])) begin--;
    return to_int((gt_text){text.bytes + begin, text.len - begin}, out);
}

static bool to_real(gt_text text, double *out)
{
    char copy[64];
    if (!text.len || text.len >= sizeof copy) return false;
    memcpy(copy, text.bytes, text.len);
    copy[text.len] = 0;
    char *end;
    *out = strtod(copy, &end);
    return end == copy + text.len;
}

/* A field whose bytes are known. An empty one says nothing. */
static bool take(reading *r, size_t column, gt_text text)
{
    const step *s = &r->plan[column];
    int64_t integer;
    if (s->kind == FIELD_SKIP || !text.len) return true;
    switch (s->kind) {
    case FIELD_INT:
        if (!to_int(text, &integer)) return bad_field(r, column, text, "an integer of 64 bits");
        r->cells[s->slot].integer = integer;
        break;
    case FIELD_AGENT:
        if (!to_trailing_int(text, &integer)) return bad_field(r, column, text, "an agent's number");
        r->cells[s->slot].integer = integer;
        break;
    case FIELD_REAL:
        if (!to_real(text, &r->cells[s->slot].time)) return bad_field(r, column, text, "a number");
        break;
    case FIELD_WORD:
        r->cells[s->slot].text = word_of(r, s->slot, text);
        break;
    case FIELD_WIDE:
        return to_real(text, &r->wide[column]) || bad_field(r, column, text, "a number");
    default:
        r->texts[s->slot] = text;
    }
    r->present |= UINT64_C(1) << s->slot;
    return true;
}

/* ---- processes and kernels ---- */

static int64_t find_process(reading *r)
{
    int64_t pid = r->present >> SLOT_PID & 1 ? r->cells[SLOT_PID].integer : -1;
    uint32_t guid = r->present >> SLOT_GUID & 1 ? word_of(r, SLOT_GUID, r->texts[SLOT_GUID]) : GT_TEXT_NONE;
    if (pid == r->last_pid && guid == r->last_guid) return r->process;
    r->last_pid = pid;
    r->last_guid = guid;
    uint32_t *found = gt_map_put(&r->processes, guid ? 0 : (uint64_t)pid, guid);
    if (*found == GT_MAP_NONE) {
        gt_rocprof_process *source = &r->run->process[r->source->process];
        bool is_source = (pid == -1 && !guid) || pid == source->pid || (!r->source_named && source->pid == 0);
        if (is_source) {
            if (pid > 0) source->pid = pid;
            r->source_named = true;
            *found = (uint32_t)r->source->process;
        } else {
            gt_rocprof_process other = *source;
            other.pid = pid > 0 ? pid : 0;
            *found = (uint32_t)gt_rocprof_add_process(r->run, other);
        }
    }
    return r->process = *found;
}

static int32_t use_of(const reading *r, int slot)
{
    int64_t value = r->cells[slot].integer;
    return r->present >> slot & 1 && value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static int64_t find_kernel(reading *r)
{
    if (!(r->present >> SLOT_NAME & 1)) return GT_NO_KERNEL_ID;
    gt_text name = r->texts[SLOT_NAME];
    uint32_t raw = gt_strings_add(r->raw, name.bytes, name.len);
    while (r->known_count <= raw) GT_PUSH(r->known, r->known_count, r->known_capacity, (known_name){0});
    gt_kernel_use use = {use_of(r, SLOT_VGPRS), use_of(r, SLOT_ACCUM_VGPRS), use_of(r, SLOT_SGPRS), -1};
    known_name *known = &r->known[raw];
    if (known->text && memcmp(&known->use, &use, sizeof use) == 0) return known->kernel_id;
    if (!known->text) known->text = gt_kernel_name_of_displayed(r->run->strings, meant(r, name));
    known->use = use;
    return known->kernel_id = gt_kernel_names_add(r->run, known->text, use);
}

/* ---- rows ---- */

static void set(reading *r, int slot, int64_t value)
{
    r->cells[slot].integer = value;
    r->present |= UINT64_C(1) << slot;
}

static uint64_t columns_of(const reading *r, size_t count)
{
    return r->present & ((UINT64_C(1) << count) - 1);
}

static void add_dispatch(reading *r)
{
    set(r, GT_DISPATCH_PROCESS, find_process(r));
    set(r, GT_DISPATCH_KERNEL_ID, find_kernel(r));
    gt_rocprof_write_dispatch(r->writers, columns_of(r, GT_DISPATCH_COLUMNS), r->cells);
}

static void write_counter(reading *r, int64_t process, int64_t kernel_id, uint64_t name, double value)
{
    gt_cell cells[GT_COUNTER_COLUMNS];
    cells[GT_COUNTER_PROCESS].integer = process;
    cells[GT_COUNTER_DISPATCH].integer =
        r->present >> GT_DISPATCH_ID & 1 ? r->cells[GT_DISPATCH_ID].integer : 0;
    cells[GT_COUNTER_KERNEL_ID].integer = kernel_id;
    cells[GT_COUNTER_NAME].text = name;
    cells[GT_COUNTER_VALUE].time = value;
    gt_store_writer_add(r->writers->counters, (UINT64_C(1) << GT_COUNTER_COLUMNS) - 1, cells);
}

static void add_counter(reading *r)
{
    int64_t process = find_process(r), kernel_id = find_kernel(r);
    bool complete = r->present >> SLOT_COUNTER & 1 && r->present >> SLOT_VALUE & 1;
    if (r->writers->counters && complete)
        write_counter(r, process, kernel_id, r->cells[SLOT_COUNTER].text, r->cells[SLOT_VALUE].time);
    if (!r->source->kernels_from_counters) return;
    uint32_t *seen = gt_map_put(&r->counted, (uint64_t)process, (uint64_t)r->cells[GT_DISPATCH_ID].integer);
    if (*seen == GT_MAP_NONE) add_dispatch(r);
    *seen = 1;
}

static void add_old_result(reading *r)
{
    add_dispatch(r);
    for (size_t i = 0; r->writers->counters && i < r->columns; i++)
        if (r->plan[i].kind == FIELD_WIDE)
            write_counter(r, r->cells[GT_DISPATCH_PROCESS].integer, r->cells[GT_DISPATCH_KERNEL_ID].integer,
                          r->plan[i].counter, r->wide[i]);
}

static void add_call(reading *r)
{
    gt_text kind = gt_strings_get(r->run->strings, (uint32_t)r->cells[GT_CALL_KIND].text);
    if (!(r->present >> GT_CALL_KIND & 1)) kind = (gt_text){"", 0};
    gt_call_domain domain = gt_call_domain_of(kind);
    set(r, GT_CALL_DOMAIN, domain);
    set(r, GT_CALL_PROCESS, find_process(r));
    if (domain == GT_CALL_HIP || domain == GT_CALL_HSA) r->run->api_calls++;
    if (r->writers->calls) gt_store_writer_add(r->writers->calls, columns_of(r, GT_CALL_COLUMNS), r->cells);
}

static void add_copy(reading *r)
{
    if (r->present >> SLOT_DIRECTION & 1)
        set(r, GT_COPY_DIRECTION, gt_copy_direction_of(r->texts[SLOT_DIRECTION]));
    set(r, GT_COPY_PROCESS, find_process(r));
    gt_rocprof_write_copy(r->writers, columns_of(r, GT_COPY_COLUMNS), r->cells);
}

static void add_agent(reading *r)
{
    if (!r->writers->agents) return;
    /* Other files name agents by this number ("Agent 3"). */
    set(r, GT_AGENT_ID,
        r->present >> GT_AGENT_LOGICAL_NODE_ID & 1 ? r->cells[GT_AGENT_LOGICAL_NODE_ID].integer : 0);
    set(r, GT_AGENT_PROCESS, r->source->process);
    gt_store_writer_add(r->writers->agents, columns_of(r, GT_AGENT_COLUMNS), r->cells);
}

static void (*const adders[GT_CSV_KINDS])(reading *r) = {
    [GT_CSV_KERNELS] = add_dispatch, [GT_CSV_COUNTERS] = add_counter, [GT_CSV_CALLS] = add_call,
    [GT_CSV_COPIES] = add_copy,      [GT_CSV_AGENTS] = add_agent,     [GT_CSV_OLD_RESULTS] = add_old_result,
};

typedef enum row_end { ROW_WHOLE, ROW_CUT, ROW_BAD } row_end;

/* One field that is not a plain number: gives the place behind it, or NULL where the text ends before that.
 */
static const uint8_t *general_field(reading *r, const uint8_t *p, const uint8_t *end, bool last,
                                    gt_text *text)
{
    bool quoted = p < end && *p == '"';
    const uint8_t *begin = p + quoted;
    const uint8_t *close = quoted ? gt_csv_closing_quote(begin, end, r->doubled) : gt_csv_plain_end(p, end);
    if (!close && last && quoted && end > begin && end[-1] == '"')
        close = end - 1; /* no line end after the last row */
    if (!close && last && !quoted) close = end;
    if (!close) return NULL;
    *text = (gt_text){(const char *)begin, (size_t)(close - begin)};
    return close + quoted;
}

/* Reads the row at *at and moves behind it; `last`: nothing follows `end`. */
static row_end read_row(reading *r, const uint8_t **at, const uint8_t *end, bool last)
{
    const uint8_t *p = *at;
    r->present = 0;
    for (size_t column = 0;;) {
        const step *s = &r->plan[column];
        const uint8_t *behind = NULL;
        if (s->kind == FIELD_INT) {
            behind = gt_scan_int(p, &r->cells[s->slot].integer);
            if (behind && behind < end && gt_csv_ends_field(*behind))
                r->present |= UINT64_C(1) << s->slot;
            else
                behind = NULL;
        }
        if (!behind) {
            gt_text text;
            behind = general_field(r, p, end, last, &text);
            if (!behind) return ROW_CUT;
            if (!take(r, column, text)) return ROW_BAD;
        }
        p = behind;
        column++;
        bool more = p < end && *p == ',';
        if (more && column < r->columns) {
            p++;
            continue;
        }
        if (more) {
            gt_fail(r->error, "row %zu: more fields than the %zu of the first line", r->row, r->columns);
            return ROW_BAD;
        }
        if (column < r->columns) {
            if (p == end) return ROW_CUT;
            gt_fail(r->error, "row %zu: %zu fields, but the first line has %zu", r->row, column, r->columns);
            return ROW_BAD;
        }
        break;
    }
    if (p == end && !last) return ROW_CUT;
    *at = behind_line_end(p, end);
    return ROW_WHOLE;
}

/* The rows that are whole in a block; *at is behind them. */
static row_end read_rows(reading *r, const uint8_t **at, const uint8_t *end, bool last)
{
    while (*at < end) {
        if (**at == '\n' || **at == '\r') {
            *at += 1;
            continue;
        }
        row_end read = read_row(r, at, end, last);
        if (read != ROW_WHOLE) return read;
        adders[r->kind](r);
        r->row++;
    }
    return ROW_WHOLE;
}

static bool accept_cut(reading *r, const char *damage, const gt_read_options *options)
{
    const char *why = damage ? damage : "the last row is not whole";
    if (options->strict)
        return gt_fail(r->error, "the file ends early (%s), after %zu rows", why, r->row - 2);
    gt_warn("%s: the file ends early (%s): %zu rows were read, the rest is missing", r->path, why,
            r->row - 2);
    return true;
}

/* The first line, once it is whole; *at is behind it then. */
static bool begin(reading *r, gt_text text, const uint8_t **at)
{
    header h;
    if (!split_header(text, &h)) return false;
    r->kind = kind_of(&h);
    if (adders[r->kind]) make_plan(r, &h);
    *at = h.rows;
    r->row = 2;
    return true;
}

static bool read_blocks(reading *r, gt_stream *stream, const gt_read_options *options)
{
    const uint8_t *text = NULL, *at = NULL;
    size_t kept = 0;
    bool begun = false;
    for (;;) {
        size_t len;
        if (!gt_stream_next(stream, at, kept, &text, &len, r->error)) return false;
        bool last = len == kept;
        const uint8_t *end = text + len;
        at = text;
        if (!begun) {
            if (!begin(r, (gt_text){(const char *)text, len}, &at)) {
                kept = len;
                if (last || kept > MAX_ROW) return gt_fail(r->error, "the first line names no columns");
                continue;
            }
            if (r->kind == GT_CSV_UNKNOWN) return gt_fail(r->error, "this is %s", kinds[r->kind].name);
            if (!adders[r->kind]) return true;
            begun = true;
        }
        size_t rows = r->row;
        row_end read = read_rows(r, &at, end, last);
        if (read == ROW_BAD) return false;
        gt_progress_add(len - kept, r->row - rows);
        kept = (size_t)(end - at);
        if (last) {
            const char *damage = gt_stream_damage(stream);
            return (!kept && !damage) || accept_cut(r, damage, options);
        }
        if (kept > MAX_ROW) return gt_fail(r->error, "row %zu: longer than %d MB", r->row, MAX_ROW >> 20);
    }
}

static void finish(reading *r)
{
    gt_strings_free(r->raw);
    free(r->known);
    gt_map_free(&r->processes);
    gt_map_free(&r->counted);
    gt_arena_free(&r->arena);
    gt_buffer_free(&r->undoubled);
    gt_buffer_free(&r->repaired);
    free(r);
}

bool gt_rocprof_csv_read(gt_rocprof_writers *writers, gt_stream *stream, const gt_csv_source *source,
                         const gt_read_options *options, gt_error *error)
{
    reading *r = gt_alloc_zero(1, sizeof *r);
    r->writers = writers;
    r->run = writers->run;
    r->source = source;
    r->path = gt_stream_path(stream);
    r->error = error;
    r->raw = gt_strings_new();
    r->last_pid = INT64_MIN;
    r->process = source->process;
    gt_progress_begin(r->path, gt_stream_size(stream));
    bool read = read_blocks(r, stream, options);
    gt_progress_end();
    if (!read) gt_error_prefix(error, r->path);
    finish(r);
    return read;
}
