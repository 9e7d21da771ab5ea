/* The reader of rocprofv3's CSV files.
 *
 * The header becomes a plan, one step per column (csv_columns.c), and every row goes through the plan once.
 * Numbers go directly into the cells of the store that the kind of file fills. At the end of a row, the add_
 * function of its kind completes the record (process, kernel name, direction) and adds it to the run. */
#include "input/rocprof/csv.h"
#include "base/progress.h"
#include "os/paths.h"

/* ---- strings ---- */

/* The string that a field's bytes mean: doubled quotes become one, invalid UTF-8 is replaced. Valid until the
 * next call.
 */
static gt_str unescape(gt_csv_row *r, gt_str text)
{
    if (r->doubled && memmem(text.bytes, text.len, "\"\"", 2)) {
        r->unescaped.len = 0;
        for (size_t i = 0; i < text.len; i++) {
            gt_buffer_add(&r->unescaped, &text.bytes[i], 1);
            if (text.bytes[i] == '"' && i + 1 < text.len && text.bytes[i + 1] == '"') i++;
        }
        text = (gt_str){r->unescaped.bytes, r->unescaped.len};
    }
    return gt_utf8_is_valid(text) ? text : gt_utf8_repair(text, &r->repaired);
}

static uint32_t intern_field(gt_csv_row *r, int slot, gt_str text)
{
    text = unescape(r, text);
    return r->interned[slot] = gt_interner_add(r->run->strings, text.bytes, text.len);
}

/* The string id of a field; most are that of the previous row. */
static inline uint32_t interned_field(gt_csv_row *r, int slot, gt_str text)
{
    gt_str previous = gt_interner_get(r->run->strings, r->interned[slot]);
    if (r->interned[slot] && previous.len == text.len && memcmp(previous.bytes, text.bytes, text.len) == 0)
        return r->interned[slot];
    return intern_field(r, slot, text);
}

/* ---- processes and kernels ---- */

int64_t gt_csv_process(gt_csv_row *r, int64_t pid, uint32_t guid)
{
    uint32_t *found = gt_map_put(&r->source->processes, guid ? 0 : (uint64_t)pid, guid);
    if (*found == GT_MAP_NONE) {
        gt_rocprof_process *source = &r->run->process[r->source->process];
        bool is_source =
            (pid == -1 && !guid) || pid == source->pid || (!r->source->is_named && source->pid == 0);
        if (is_source) {
            if (pid > 0) source->pid = pid;
            if (pid > 0 || guid) r->source->is_named = true;
            *found = (uint32_t)r->source->process;
        } else {
            gt_rocprof_process other = *source;
            other.pid = pid > 0 ? pid : 0;
            *found = (uint32_t)gt_rocprof_add_process(r->run, other);
        }
    }
    gt_rocprof_process *process = &r->run->process[*found];
    if (pid > 0 && !process->pid) process->pid = pid; /* known by its guid so far */
    return *found;
}

/* The process of the row, by its pid or guid; rows without either belong to the process of the file. */
static int64_t find_process(gt_csv_row *r)
{
    int64_t pid = r->present >> SLOT_PID & 1 ? r->cells[SLOT_PID].integer : -1;
    uint32_t guid =
        r->present >> SLOT_GUID & 1 ? interned_field(r, SLOT_GUID, r->texts[SLOT_GUID]) : GT_STR_NONE;
    if (pid == r->last_pid && guid == r->last_guid) return r->process;
    r->last_pid = pid;
    r->last_guid = guid;
    return r->process = r->later ? gt_csv_later_process(r, pid, guid) : gt_csv_process(r, pid, guid);
}

static int32_t register_count(const gt_csv_row *r, int slot)
{
    int64_t value = r->cells[slot].integer;
    return r->present >> slot & 1 && value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

int64_t gt_csv_kernel_id(gt_csv_row *r, gt_str name, uint32_t *text, gt_kernel_use use)
{
    if (*text == GT_STR_NONE) {
        gt_str whole = unescape(r, name);
        if (r->long_names) {
            *text = gt_interner_add(r->run->strings, whole.bytes, whole.len);
        } else {
            *text = gt_kernel_name_of_displayed(r->run->strings, whole);
            gt_kernel_names_note(r->run, *text, gt_kernel_name_hash(whole));
        }
    }
    return gt_kernel_names_add(r->run, *text, use);
}

static bool same_use(const gt_kernel_use *a, const gt_kernel_use *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Names are looked up by their raw bytes: a file of a million rows has a few hundred of them. */
static int64_t find_kernel(gt_csv_row *r)
{
    if (!(r->present >> SLOT_NAME & 1)) return GT_NO_KERNEL_ID;
    gt_str name = r->texts[SLOT_NAME];
    gt_kernel_use use = {register_count(r, SLOT_VGPRS), register_count(r, SLOT_ACCUM_VGPRS),
                         register_count(r, SLOT_SGPRS), -1};
    if (r->seed) {
        uint32_t raw = gt_interner_find(r->seed->raw, name.bytes, name.len);
        if (raw && raw < r->seed->known_count && r->seed->known[raw].text &&
            same_use(&r->seed->known[raw].use, &use))
            return r->seed->known[raw].kernel_id;
    }
    uint32_t raw = gt_interner_add(r->raw, name.bytes, name.len);
    while (r->known_count <= raw) GT_PUSH(r->known, r->known_count, r->known_capacity, (gt_csv_kernel){0});
    gt_csv_kernel *known = &r->known[raw];
    if (known->text && same_use(&known->use, &use)) return known->kernel_id;
    known->use = use;
    if (r->later) {
        known->text = raw; /* of this table, as long as it is not GT_STR_NONE */
        return known->kernel_id = gt_csv_later_kernel(r, raw, use);
    }
    return known->kernel_id = gt_csv_kernel_id(r, name, &known->text, use);
}

/* ---- agents ---- */

void gt_csv_source_free(gt_csv_source *source)
{
    gt_map_free(&source->processes);
    gt_free_all(source->cpus.nodes, source->gpus.nodes);
}

/* NULL for other types. */
static gt_csv_agents *agents_of_type(gt_csv_source *source, gt_str type)
{
    return gt_str_equals(type, "GPU") ? &source->gpus : gt_str_equals(type, "CPU") ? &source->cpus : NULL;
}

static void sort_agents(gt_csv_agents *agents)
{
    size_t kept = 0;
    if (agents->count) qsort(agents->nodes, agents->count, sizeof *agents->nodes, gt_by_i64);
    for (size_t i = 0; i < agents->count; i++)
        if (!kept || agents->nodes[kept - 1] != agents->nodes[i]) agents->nodes[kept++] = agents->nodes[i];
    agents->count = kept;
    agents->is_sorted = true;
}

void gt_csv_source_prepare(gt_csv_source *source)
{
    if (!source->cpus.is_sorted) sort_agents(&source->cpus);
    if (!source->gpus.is_sorted) sort_agents(&source->gpus);
}

/* From the number in a label to the Logical_Node_Id: "Agent 3" has it, but "GPU 1", as rocprofv3 writes with
 * --agent-index type-relative, is the second GPU. Without a list of agents it stays 1. */
static int64_t agent_node(gt_csv_source *source, gt_str label, int64_t number)
{
    if (label.len < 3 || (label.bytes[0] != 'G' && label.bytes[0] != 'C')) return number;
    gt_csv_agents *agents = agents_of_type(source, (gt_str){label.bytes, 3});
    if (!agents) return number;
    if (!agents->is_sorted) sort_agents(agents);
    return number >= 0 && (uint64_t)number < agents->count ? agents->nodes[number] : number;
}

/* ---- records: one add_ function per kind of file ---- */

static void set(gt_csv_row *r, int slot, int64_t value)
{
    r->cells[slot].integer = value;
    r->present |= UINT64_C(1) << slot;
}

static uint64_t columns_of(const gt_csv_row *r, size_t count)
{
    return r->present & ((UINT64_C(1) << count) - 1);
}

static void add_dispatch(gt_csv_row *r)
{
    set(r, GT_DISPATCH_PROCESS, find_process(r));
    set(r, GT_DISPATCH_KERNEL_ID, find_kernel(r));
    gt_rocprof_write_dispatch(r->writers, columns_of(r, GT_DISPATCH_COLUMNS), r->cells);
}

static void write_counter(gt_csv_row *r, int64_t process, int64_t kernel_id, uint64_t name, double value)
{
    gt_store_cell cells[GT_COUNTER_COLUMNS];
    cells[GT_COUNTER_PROCESS].integer = process;
    cells[GT_COUNTER_DISPATCH].integer =
        r->present >> GT_DISPATCH_ID & 1 ? r->cells[GT_DISPATCH_ID].integer : 0;
    cells[GT_COUNTER_KERNEL_ID].integer = kernel_id;
    cells[GT_COUNTER_NAME].text = name;
    cells[GT_COUNTER_VALUE].time = value;
    cells[GT_COUNTER_AGENT].integer =
        r->present >> GT_DISPATCH_AGENT & 1 ? r->cells[GT_DISPATCH_AGENT].integer : -1;
    gt_store_writer_add(r->writers->counters, (UINT64_C(1) << GT_COUNTER_COLUMNS) - 1, cells);
}

static void add_counter(gt_csv_row *r)
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

static void add_old_result(gt_csv_row *r)
{
    add_dispatch(r);
    for (size_t i = 0; r->writers->counters && i < r->columns; i++)
        if (r->plan[i].kind == GT_CSV_WIDE)
            write_counter(r, r->cells[GT_DISPATCH_PROCESS].integer, r->cells[GT_DISPATCH_KERNEL_ID].integer,
                          r->plan[i].counter, r->wide[i]);
}

static void add_call(gt_csv_row *r)
{
    gt_str kind = gt_interner_get(r->run->strings, (uint32_t)r->cells[GT_CALL_KIND].text);
    if (!(r->present >> GT_CALL_KIND & 1)) kind = (gt_str){"", 0};
    gt_call_domain domain = gt_call_domain_of(kind);
    set(r, GT_CALL_DOMAIN, domain);
    set(r, GT_CALL_PROCESS, find_process(r));
    if (domain == GT_CALL_HIP || domain == GT_CALL_HSA) r->run->api_calls++;
    if (r->writers->calls) gt_store_writer_add(r->writers->calls, columns_of(r, GT_CALL_COLUMNS), r->cells);
}

static void add_copy(gt_csv_row *r)
{
    if (r->present >> SLOT_DIRECTION & 1)
        set(r, GT_COPY_DIRECTION, gt_copy_direction_of(r->texts[SLOT_DIRECTION]));
    set(r, GT_COPY_PROCESS, find_process(r));
    gt_rocprof_write_copy(r->writers, columns_of(r, GT_COPY_COLUMNS), r->cells);
}

static void add_agent(gt_csv_row *r)
{
    bool has_node = r->present >> GT_AGENT_LOGICAL_NODE_ID & 1, has_type = r->present >> GT_AGENT_TYPE & 1;
    int64_t node = has_node ? r->cells[GT_AGENT_LOGICAL_NODE_ID].integer : 0;
    gt_str type =
        gt_interner_get(r->run->strings, has_type ? (uint32_t)r->cells[GT_AGENT_TYPE].text : GT_STR_NONE);
    gt_csv_agents *same_type = agents_of_type(r->source, type);
    if (has_node && same_type) {
        GT_PUSH(same_type->nodes, same_type->count, same_type->capacity, node);
        same_type->is_sorted = false;
    }
    if (!r->writers->agents) return;
    set(r, GT_AGENT_ID, node); /* other files refer to agents by this number ("Agent 3") */
    set(r, GT_AGENT_PROCESS, r->source->process);
    gt_store_writer_add(r->writers->agents, columns_of(r, GT_AGENT_COLUMNS), r->cells);
}

/* Files of rocprofv3 say by their names what they are about. Others, such as results.hip_stats.csv of
 * rocprof, are about what their first row names. */
static int64_t stats_subject(const gt_csv_row *r, gt_str first)
{
    static const struct {
        const char *kind;
        int64_t subject;
    } kinds[] = {{"kernel_stats", GT_STATS_KERNELS},
                 {"memory_copy_stats", GT_STATS_COPIES},
                 {"memory_allocation_stats", GT_STATS_OTHER},
                 {"scratch_memory_stats", GT_STATS_OTHER},
                 {"domain_stats", GT_STATS_OTHER},
                 {"hip_api_stats", GT_CALL_HIP},
                 {"hsa_api_stats", GT_CALL_HSA},
                 {"marker_api_stats", GT_CALL_MARKER},
                 {"rccl_api_stats", GT_CALL_RCCL},
                 {"rocdecode_api_stats", GT_CALL_ROCDECODE},
                 {"rocjpeg_api_stats", GT_CALL_ROCJPEG}};
    const char *name = gt_path_name(r->path);
    for (size_t i = 0; i < GT_LENGTH(kinds); i++)
        if (strstr(name, kinds[i].kind)) return kinds[i].subject;
    return gt_stats_subject_of(first);
}

static void add_stats(gt_csv_row *r)
{
    if (!(r->present >> SLOT_NAME & 1)) return;
    gt_str name = unescape(r, r->texts[SLOT_NAME]);
    if (!r->knows_subject) r->stats_subject = stats_subject(r, name);
    r->knows_subject = true;
    int64_t subject = r->stats_subject;
    if (subject == GT_STATS_OTHER) return;
    gt_interner *strings = r->run->strings;
    set(r, GT_STATS_OF, subject);
    r->cells[GT_STATS_NAME].text = subject == GT_STATS_KERNELS && !r->full_names
                                       ? gt_kernel_name_of_displayed(strings, name)
                                       : gt_interner_add(strings, name.bytes, name.len);
    if (subject == GT_STATS_KERNELS && !r->full_names)
        gt_kernel_names_note(r->run, (uint32_t)r->cells[GT_STATS_NAME].text, gt_kernel_name_hash(name));
    r->present |= UINT64_C(1) << GT_STATS_NAME;
    gt_rocprof_write_stats(r->writers, columns_of(r, GT_STATS_COLUMNS), r->cells);
}

/* Without an instruction, the comment only gives an address. */
static void add_sample(gt_csv_row *r)
{
    if (!r->writers->samples) return;
    if (!(r->present >> GT_SAMPLE_INSTRUCTION & 1)) r->present &= ~(UINT64_C(1) << GT_SAMPLE_COMMENT);
    set(r, GT_SAMPLE_PROCESS, find_process(r));
    gt_store_writer_add(r->writers->samples, columns_of(r, GT_SAMPLE_COLUMNS), r->cells);
}

/* NULL: kinds that are not read. */
static void (*const add_row[GT_CSV_KINDS])(gt_csv_row *row) = {
    [GT_CSV_KERNELS] = add_dispatch, [GT_CSV_COUNTERS] = add_counter, [GT_CSV_CALLS] = add_call,
    [GT_CSV_COPIES] = add_copy,      [GT_CSV_AGENTS] = add_agent,     [GT_CSV_OLD_RESULTS] = add_old_result,
    [GT_CSV_STATS] = add_stats,      [GT_CSV_SAMPLES] = add_sample,
};

/* ---- the plan: one step per column ---- */

static gt_csv_step plan_of(gt_csv_row *r, gt_str name)
{
    gt_csv_step step = gt_csv_column(r->kind, name);
    if (step.kind == GT_CSV_WIDE) {
        if (r->writers->counters)
            step.counter = interned_field(r, SLOT_NAME, name);
        else
            step.kind = GT_CSV_SKIP;
    }
    return step;
}

/* Columns that the stores of this run do not have are skipped. */
static bool is_kept(const gt_csv_row *r, const gt_csv_step *s)
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

static void make_plan(gt_csv_row *r, const gt_csv_header *h)
{
    r->columns = h->count;
    r->doubled = gt_str_equals_nocase(h->names[0], "Guid");
    for (size_t i = 0; i < h->count; i++) {
        gt_str name = h->names[i];
        r->names[i] = (gt_str){gt_arena_bytes(&r->arena, name.bytes, name.len), name.len};
        r->plan[i] = plan_of(r, name);
        if (!is_kept(r, &r->plan[i])) r->plan[i].kind = GT_CSV_SKIP;
    }
}

/* ---- fields ---- */

/* The length of the part of a text that a message can show. */
static int shown_length(gt_str text, size_t most)
{
    size_t len = 0;
    while (len < text.len && len < most && (unsigned char)text.bytes[len] >= ' ') len++;
    return (int)len;
}

static bool bad_field(gt_csv_row *r, size_t column, gt_str text, const char *expected)
{
    gt_str name = r->names[column];
    return gt_fail(r->error, "row %zu: '%.*s' is '%.*s', expected %s", r->row, shown_length(name, 100),
                   name.bytes, shown_length(text, 60), text.bytes, expected);
}

/* A 64-bit integer, signed or unsigned; values from 2^63 on keep their bits. */
static bool to_int(gt_str text, int64_t *out)
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

static bool to_trailing_int(gt_str text, int64_t *out)
{
    size_t begin = text.len;
    while (begin && isdigit((unsigned char)text.bytes[begin - 1])) begin--;
    return to_int((gt_str){text.bytes + begin, text.len - begin}, out);
}

static bool to_real(gt_str text, double *out)
{
    char copy[64];
    if (!text.len || text.len >= sizeof copy) return false;
    memcpy(copy, text.bytes, text.len);
    copy[text.len] = 0;
    char *end;
    *out = strtod(copy, &end);
    return end == copy + text.len;
}

/* Stores a field by its bytes. An empty field has no value. */
static bool set_field(gt_csv_row *r, size_t column, gt_str text)
{
    const gt_csv_step *s = &r->plan[column];
    int64_t integer;
    if (s->kind == GT_CSV_WIDE && !text.len) r->wide[column] = (double)NAN; /* no value */
    if (s->kind == GT_CSV_SKIP || !text.len) return true;
    switch (s->kind) {
    case GT_CSV_INT:
        if (!to_int(text, &integer)) return bad_field(r, column, text, "a 64-bit integer");
        r->cells[s->slot].integer = integer;
        break;
    case GT_CSV_AGENT:
        if (!to_trailing_int(text, &integer)) return bad_field(r, column, text, "the number of an agent");
        r->cells[s->slot].integer = agent_node(r->source, text, integer);
        break;
    case GT_CSV_REAL:
        if (!to_real(text, &r->cells[s->slot].time)) return bad_field(r, column, text, "a number");
        break;
    case GT_CSV_INTERNED:
        r->cells[s->slot].text = interned_field(r, s->slot, text);
        break;
    case GT_CSV_WIDE:
        return to_real(text, &r->wide[column]) || bad_field(r, column, text, "a number");
    default:
        r->texts[s->slot] = text;
    }
    r->present |= UINT64_C(1) << s->slot;
    return true;
}

/* ---- rows ---- */

/* Reads a field that is not a plain number. Returns the byte after it, or NULL if the text ends before that.
 */
static const uint8_t *general_field(gt_csv_row *r, const uint8_t *p, const uint8_t *end, bool last,
                                    gt_str *text)
{
    bool quoted = p < end && *p == '"';
    const uint8_t *begin = p + quoted;
    const uint8_t *close = quoted ? gt_csv_closing_quote(begin, end, r->doubled) : gt_csv_plain_end(p, end);
    if (!close && last && quoted && end > begin && end[-1] == '"')
        close = end - 1; /* no line end after the last row */
    if (!close && last && !quoted) close = end;
    if (!close) return NULL;
    *text = (gt_str){(const char *)begin, (size_t)(close - begin)};
    return close + quoted;
}

/* Reads the row at *at and moves *at after it. `last`: the file ends at `end`. */
static gt_csv_end read_row(gt_csv_row *r, const uint8_t **at, const uint8_t *end, bool last)
{
    const uint8_t *p = *at;
    r->present = 0;
    for (size_t column = 0;;) {
        const gt_csv_step *s = &r->plan[column];
        const uint8_t *after = NULL;
        if (s->kind == GT_CSV_INT) {
            after = gt_scan_int(p, &r->cells[s->slot].integer);
            if (after && after < end && gt_csv_ends_field(*after))
                r->present |= UINT64_C(1) << s->slot;
            else
                after = NULL;
        }
        if (!after) {
            gt_str text;
            after = general_field(r, p, end, last, &text);
            if (!after) return GT_CSV_ROW_CUT;
            if (!set_field(r, column, text)) return GT_CSV_ROW_BAD;
        }
        p = after;
        column++;
        bool more = p < end && *p == ',';
        if (more && column < r->columns) {
            p++;
            continue;
        }
        if (more) {
            gt_fail(r->error, "row %zu: more fields than the %zu in the first line", r->row, r->columns);
            return GT_CSV_ROW_BAD;
        }
        if (column < r->columns) {
            if (p == end) return GT_CSV_ROW_CUT;
            gt_fail(r->error, "row %zu: %zu fields, but the first line has %zu", r->row, column, r->columns);
            return GT_CSV_ROW_BAD;
        }
        break;
    }
    if (p == end && (!last || p[-1] == ',')) return GT_CSV_ROW_CUT;
    *at = gt_csv_after_line_end(p, end);
    return GT_CSV_ROW_COMPLETE;
}

gt_csv_end gt_csv_read_rows(gt_csv_row *r, const uint8_t **at, const uint8_t *end, bool last,
                            const uint8_t *limit)
{
    while (*at < end) {
        if (**at == '\n' || **at == '\r') {
            *at += 1;
            continue;
        }
        if (*at >= limit) break;
        gt_csv_end read = read_row(r, at, end, last);
        if (read != GT_CSV_ROW_COMPLETE) return read;
        add_row[r->kind](r);
        r->row++;
    }
    return GT_CSV_ROW_COMPLETE;
}

static bool accept_cut(gt_csv_row *r, const char *damage, const gt_read_options *options)
{
    const char *why = damage ? damage : "incomplete last row";
    if (options->strict) return gt_fail(r->error, "truncated (%s) after %zu rows", why, r->row - 2);
    gt_warn("%s: truncated (%s): read %zu rows", r->path, why, r->row - 2);
    r->run->is_cut_off = true;
    return true;
}

/* Reads the first line if it is complete, and moves *at after it. */
static bool read_header(gt_csv_row *r, gt_str text, const uint8_t **at)
{
    gt_csv_header h;
    if (!gt_csv_header_split(text, &h)) return false;
    r->kind = gt_csv_header_kind(&h);
    if (add_row[r->kind]) make_plan(r, &h);
    *at = h.rows;
    r->row = 2;
    return true;
}

static bool read_blocks(gt_csv_row *r, gt_stream *stream, const gt_read_options *options)
{
    const uint8_t *text = NULL, *at = NULL;
    size_t kept = 0;
    uint64_t offset = 0; /* of `at` in the file */
    bool has_header = false, tried_chunks = false;
    for (;;) {
        size_t len;
        if (!gt_stream_next(stream, at, kept, &text, &len, r->error)) return false;
        bool last = len == kept;
        const uint8_t *end = text + len;
        at = text;
        if (!has_header) {
            if (!read_header(r, (gt_str){(const char *)text, len}, &at)) {
                kept = len;
                if (last || kept > GT_CSV_MAX_ROW)
                    return gt_fail(r->error, "no column names in the first line");
                continue;
            }
            if (r->kind == GT_CSV_UNKNOWN) return gt_fail(r->error, "%s", gt_rocprof_csv_kind_name(r->kind));
            if (!add_row[r->kind]) return true;
            has_header = true;
        }
        size_t rows = r->row;
        gt_csv_end read = gt_csv_read_rows(r, &at, end, last, end);
        if (read == GT_CSV_ROW_BAD) return false;
        gt_progress_add(len - kept, r->row - rows);
        kept = (size_t)(end - at);
        offset += (uint64_t)(at - text);
        if (last) {
            const char *damage = gt_stream_damage(stream);
            return (!kept && !damage) || accept_cut(r, damage, options);
        }
        if (kept > GT_CSV_MAX_ROW)
            return gt_fail(r->error, "row %zu is longer than %d MB", r->row, GT_CSV_MAX_ROW >> 20);
        if (!tried_chunks && gt_csv_chunks_pay(r, stream, offset)) {
            offset = gt_csv_read_chunks(r, stream, offset);
            gt_stream_move(stream, offset);
            at = NULL;
            kept = 0;
        }
        tried_chunks = true;
    }
}

gt_csv_row *gt_csv_row_new(gt_rocprof_writers *writers, gt_csv_source *source, const gt_read_options *options)
{
    gt_csv_row *r = gt_alloc_zero(1, sizeof *r);
    r->writers = writers;
    r->run = writers->run;
    r->source = source;
    r->raw = gt_interner_new();
    r->last_pid = INT64_MIN;
    r->process = source->process;
    r->long_names = options->long_names || options->full_names;
    r->full_names = options->full_names;
    return r;
}

void gt_csv_row_free(gt_csv_row *r)
{
    gt_interner_free(r->raw);
    gt_free(r->known);
    gt_map_free(&r->counted);
    gt_arena_free(&r->arena);
    gt_buffer_free(&r->unescaped);
    gt_buffer_free(&r->repaired);
    gt_free(r);
}

bool gt_rocprof_csv_read(gt_rocprof_writers *writers, gt_stream *stream, gt_csv_source *source,
                         const gt_read_options *options, gt_error *error)
{
    gt_csv_row *r = gt_csv_row_new(writers, source, options);
    r->path = gt_stream_path(stream);
    r->error = error;
    gt_progress_begin(r->path, gt_stream_size(stream));
    bool read = read_blocks(r, stream, options);
    gt_progress_end();
    if (!read) gt_error_prefix(error, r->path);
    gt_csv_row_free(r);
    return read;
}
