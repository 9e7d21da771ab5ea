/* The kernel symbols of rocprofv3's JSON: the names and resources of all kernels that a process has loaded.
 *
 * A process loads thousands of kernels and runs a few dozen of them, and their names are half of the file. So
 * only the places of each name in the file are kept while the symbols are read; once all dispatches are
 * known, the names of the kernels that ran are read from those places. Compressed files and pipes can be read
 * only once: there every name is kept until then (gt_rocprof_forget_unused_names removes the others). */
#include "input/rocprof/readers.h"
#include "input/json/records.h"
#include "json/string.h"

enum { WINDOW = 2 * 1024 }; /* bytes read at once, for names that are close together */

enum {
    SYMBOL_ID,
    SYMBOL_TRUNCATED,
    SYMBOL_FORMATTED,
    SYMBOL_NAME,
    SYMBOL_CHOSEN, /* the name, if it is kept; else the next two */
    SYMBOL_AT,     /* offset of the name's raw bytes in the file; -1: the symbol has no name */
    SYMBOL_LENGTH,
    SYMBOL_FULL,        /* hash of the full name, if the name is kept; 0: none. Else the next two */
    SYMBOL_FULL_AT,     /* offset of the full name's raw bytes in the file */
    SYMBOL_FULL_LENGTH, /* 0: there is none */
    SYMBOL_BASIC_COLUMNS,
    SYMBOL_VGPRS = SYMBOL_BASIC_COLUMNS, /* only with GT_WANT_DISPATCH_DETAILS */
    SYMBOL_ACCUM_VGPRS,
    SYMBOL_SGPRS,
    SYMBOL_LDS,
    SYMBOL_COLUMNS
};

static const gt_field symbol_fields[SYMBOL_COLUMNS] = {
    [SYMBOL_ID] = {"kernel_id", GT_FIELD_INT, false},
    [SYMBOL_TRUNCATED] = {"truncated_kernel_name", GT_FIELD_VIEW, false},
    [SYMBOL_FORMATTED] = {"formatted_kernel_name", GT_FIELD_VIEW, false},
    [SYMBOL_NAME] = {"kernel_name", GT_FIELD_VIEW, false},
    [SYMBOL_CHOSEN] = {NULL, GT_FIELD_STRING, false},
    [SYMBOL_AT] = {NULL, GT_FIELD_INT, false},
    [SYMBOL_LENGTH] = {NULL, GT_FIELD_INT, false},
    [SYMBOL_FULL] = {NULL, GT_FIELD_INT, false},
    [SYMBOL_FULL_AT] = {NULL, GT_FIELD_INT, false},
    [SYMBOL_FULL_LENGTH] = {NULL, GT_FIELD_INT, false},
    [SYMBOL_VGPRS] = {"arch_vgpr_count", GT_FIELD_INT, false},
    [SYMBOL_ACCUM_VGPRS] = {"accum_vgpr_count", GT_FIELD_INT, false},
    [SYMBOL_SGPRS] = {"sgpr_count", GT_FIELD_INT, false},
    [SYMBOL_LDS] = {"group_segment_size", GT_FIELD_INT, false},
};

static const gt_store_column symbol_columns[SYMBOL_COLUMNS] = {
    [SYMBOL_ID] = {GT_STORE_INT, 0},           [SYMBOL_TRUNCATED] = {GT_STORE_STRING, 0},
    [SYMBOL_FORMATTED] = {GT_STORE_STRING, 0}, [SYMBOL_NAME] = {GT_STORE_STRING, 0},
    [SYMBOL_CHOSEN] = {GT_STORE_STRING, 0},    [SYMBOL_AT] = {GT_STORE_INT, -1},
    [SYMBOL_LENGTH] = {GT_STORE_INT, 0},       [SYMBOL_FULL] = {GT_STORE_INT, 0},
    [SYMBOL_FULL_AT] = {GT_STORE_INT, 0},      [SYMBOL_FULL_LENGTH] = {GT_STORE_INT, 0},
    [SYMBOL_VGPRS] = {GT_STORE_INT, -1},       [SYMBOL_ACCUM_VGPRS] = {GT_STORE_INT, -1},
    [SYMBOL_SGPRS] = {GT_STORE_INT, -1},       [SYMBOL_LDS] = {GT_STORE_INT, -1},
};

struct gt_rocprof_symbols {
    gt_rocprof *run;
    const gt_read_options *options;
    gt_store **stores; /* one per key: if it is repeated, the last name of an id counts */
    size_t count, capacity;
};

gt_rocprof_symbols *gt_rocprof_symbols_new(gt_rocprof *run, const gt_read_options *options)
{
    gt_rocprof_symbols *symbols = gt_alloc_zero(1, sizeof *symbols);
    symbols->run = run;
    symbols->options = options;
    return symbols;
}

void gt_rocprof_symbols_free(gt_rocprof_symbols *symbols)
{
    if (!symbols) return;
    for (size_t i = 0; i < symbols->count; i++) gt_store_free(symbols->stores[i]);
    gt_free_all(symbols->stores, symbols);
}

/* ---- reading ---- */

/* What the check of a symbol needs to know. */
typedef struct naming {
    int forms[3];     /* the name is the first of these that is not empty */
    bool keeps_place; /* keep where the name is, instead of the name */
} naming;

static void set_int(gt_record *record, size_t field, int64_t value)
{
    record->cells[field].integer = value;
    record->present |= UINT64_C(1) << field;
}

/* Keeps where a name is; an empty one is not a place in the text. */
static void keep_place(gt_record *record, gt_str name, size_t at_field, size_t length_field)
{
    bool inside = name.len > 0;
    set_int(record, at_field,
            inside ? (int64_t)record->offset + (name.bytes - (const char *)record->text) : 0);
    set_int(record, length_field, (int64_t)name.len);
}

static const char *check_symbol(gt_record *record, gt_record_reader *reader)
{
    const naming *n = gt_record_context(reader);
    if (record->not_object) return "not an object";
    if (!(record->present >> SYMBOL_ID & 1)) return "kernel symbol without an integer 'kernel_id'";
    gt_str chosen = {"", 0};
    for (size_t i = 0; i < 3 && !chosen.len; i++) chosen = gt_record_view(record, (size_t)n->forms[i]);
    bool named = chosen.len || record->present >> SYMBOL_NAME & 1;
    gt_str full = gt_record_view(record, SYMBOL_FORMATTED);
    record->present &=
        ~(UINT64_C(1) << SYMBOL_TRUNCATED | UINT64_C(1) << SYMBOL_FORMATTED | UINT64_C(1) << SYMBOL_NAME);
    if (n->keeps_place) {
        if (full.len) keep_place(record, full, SYMBOL_FULL_AT, SYMBOL_FULL_LENGTH);
        if (named) keep_place(record, chosen, SYMBOL_AT, SYMBOL_LENGTH);
        return NULL;
    }
    if (full.len) set_int(record, SYMBOL_FULL, (int64_t)gt_kernel_name_hash(full));
    if (!named) return NULL;
    record->cells[SYMBOL_CHOSEN].text = gt_record_decode(reader, chosen);
    if (!record->cells[SYMBOL_CHOSEN].text) return "invalid escape in a kernel name";
    record->present |= UINT64_C(1) << SYMBOL_CHOSEN;
    return NULL;
}

bool gt_rocprof_symbols_read(gt_rocprof_symbols *symbols, gt_json *json)
{
    naming n = {.forms = {SYMBOL_TRUNCATED, SYMBOL_FORMATTED, SYMBOL_NAME},
                .keeps_place = gt_stream_seekable(json->stream)};
    if (symbols->options->full_names)
        memcpy(n.forms, (int[]){SYMBOL_FORMATTED, SYMBOL_NAME, SYMBOL_TRUNCATED}, sizeof n.forms);
    bool detailed = symbols->run->wanted & GT_WANT_DISPATCH_DETAILS;
    gt_record_format format = {.what = "kernel symbol",
                               .fields = symbol_fields,
                               .columns = symbol_columns,
                               .count = detailed ? SYMBOL_COLUMNS : SYMBOL_BASIC_COLUMNS,
                               .check = check_symbol,
                               .context = &n};
    gt_store *store = gt_store_new(format.columns, format.count, symbols->run->strings);
    GT_PUSH(symbols->stores, symbols->count, symbols->capacity, store);
    return gt_records_read(json, &format, store, symbols->options);
}

/* ---- which kernels ran ---- */

/* The ids of all symbols, ascending, and which of them are in use. */
typedef struct id_set {
    int64_t *ids;
    uint8_t *used;
    size_t count;
} id_set;

static id_set collect_ids(const gt_rocprof_symbols *symbols)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < symbols->count; i++) count += gt_store_count(symbols->stores[i]);
    id_set set = {.ids = gt_alloc(count * sizeof *set.ids)};
    for (size_t i = 0; i < symbols->count; i++) {
        size_t rows = gt_store_count(symbols->stores[i]);
        int64_t *ids = gt_store_ints(symbols->stores[i], SYMBOL_ID);
        if (rows) memcpy(set.ids + set.count, ids, rows * sizeof *ids);
        set.count += rows;
        gt_free(ids);
    }
    size_t ascending = 1;
    while (ascending < count && set.ids[ascending - 1] < set.ids[ascending]) ascending++;
    if (ascending < count) qsort(set.ids, count, sizeof *set.ids, gt_by_i64);
    for (size_t i = 0; i < count; i++)
        if (!kept || set.ids[kept - 1] != set.ids[i]) set.ids[kept++] = set.ids[i];
    set.count = kept;
    set.used = gt_alloc_zero(kept, 1);
    return set;
}

/* The index of an id, or SIZE_MAX. If the ids have no gaps, the usual case, the first guess is right. */
static size_t find_id(const id_set *set, int64_t id)
{
    if (!set->count || id < set->ids[0]) return SIZE_MAX;
    uint64_t guess = (uint64_t)id - (uint64_t)set->ids[0];
    if (guess < set->count && set->ids[guess] == id) return (size_t)guess;
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count && set->ids[low] == id ? low : SIZE_MAX;
}

typedef struct marking {
    id_set *set;
    const gt_store *store; /* dispatches or counters */
    size_t column;
} marking;

static void mark_range(void *context, size_t begin, size_t end)
{
    enum { BATCH = 1024 };
    const marking *m = context;
    int64_t ids[BATCH];
    for (; begin < end; begin += BATCH) {
        size_t count = end - begin < BATCH ? end - begin : BATCH;
        gt_store_read_ints(m->store, m->column, begin, begin + count, ids);
        for (size_t i = 0; i < count; i++) {
            if (i && ids[i] == ids[i - 1]) continue;
            size_t place = find_id(m->set, ids[i]);
            if (place == SIZE_MAX) continue;
            uint8_t *used = &m->set->used[place];
            if (!__atomic_load_n(used, __ATOMIC_RELAXED)) __atomic_store_n(used, 1, __ATOMIC_RELAXED);
        }
    }
}

static void mark_used(id_set *set, const gt_store *store, size_t column)
{
    if (!store || !gt_store_count(store)) return;
    marking m = {set, store, column};
    gt_parallel_ranges(gt_store_count(store), GT_ROCPROF_ROWS, mark_range, &m);
}

/* ---- naming them ---- */

/* Names are read in the order of the file, several at once if they are close together. */
typedef struct name_reader {
    const gt_stream *stream;
    gt_interner *strings;
    gt_buffer text, decoded;
    uint64_t begin; /* of the bytes in `text` */
} name_reader;

static bool load_name(name_reader *names, uint64_t at, size_t len, gt_error *error)
{
    size_t want = len > WINDOW ? len : WINDOW, got;
    names->text.len = 0;
    names->begin = at;
    gt_buffer_reserve(&names->text, want + GT_STREAM_PAD);
    if (!gt_stream_read_at(names->stream, at, names->text.bytes, want, &got, error)) return false;
    if (got < len) return gt_fail(error, "the file became shorter while it was read");
    names->text.len = got;
    memset(names->text.bytes + got, 0, GT_STREAM_PAD);
    return true;
}

/* The raw bytes of a name at a place of the file, until the next one is read. */
static bool read_raw(name_reader *names, uint64_t at, size_t len, gt_str *raw, gt_error *error)
{
    bool loaded = at >= names->begin && at + len <= names->begin + names->text.len;
    if (len && !loaded && !load_name(names, at, len, error)) return false;
    *raw = (gt_str){len ? names->text.bytes + (at - names->begin) : "", len};
    return true;
}

/* Interns the name at a place of the file. */
static bool read_name(name_reader *names, int64_t at, size_t len, uint32_t *text, gt_error *error)
{
    gt_str raw;
    *text = GT_STR_NONE;
    if (at < 0) return true;
    if (!read_raw(names, (uint64_t)at, len, &raw, error)) return false;
    if (!gt_json_string_is_plain(raw)) {
        gt_buffer_reserve(&names->decoded, len * 3 + 1);
        raw = (gt_str){names->decoded.bytes, gt_json_string_decode(raw, names->decoded.bytes)};
    }
    *text = gt_interner_add(names->strings, raw.bytes, raw.len);
    return true;
}

static int32_t register_count(const gt_store_cell *cells, size_t column)
{
    int64_t value = cells[column].integer;
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static bool add_name(gt_rocprof_symbols *symbols, name_reader *names, const gt_store_cell *cells,
                     gt_error *error)
{
    gt_rocprof *run = symbols->run;
    gt_kernel_use use = GT_KERNEL_USE_UNKNOWN;
    uint32_t text = (uint32_t)cells[SYMBOL_CHOSEN].text;
    uint64_t full = (uint64_t)cells[SYMBOL_FULL].integer;
    size_t full_len = (size_t)cells[SYMBOL_FULL_LENGTH].integer;
    if (full_len) { /* rocprofv3 writes it before the short name, which is then mostly loaded with it */
        gt_str raw;
        if (!read_raw(names, (uint64_t)cells[SYMBOL_FULL_AT].integer, full_len, &raw, error)) return false;
        full = gt_kernel_name_hash(raw);
    }
    if (!text &&
        !read_name(names, cells[SYMBOL_AT].integer, (size_t)cells[SYMBOL_LENGTH].integer, &text, error))
        return false;
    if (run->wanted & GT_WANT_DISPATCH_DETAILS)
        use = (gt_kernel_use){register_count(cells, SYMBOL_VGPRS), register_count(cells, SYMBOL_ACCUM_VGPRS),
                              register_count(cells, SYMBOL_SGPRS), register_count(cells, SYMBOL_LDS)};
    gt_kernel_names_set_use(run, cells[SYMBOL_ID].integer, text, use);
    gt_kernel_names_set_full(run, cells[SYMBOL_ID].integer, full);
    return true;
}

/* Names the kernels in use. */
static bool add_names(gt_rocprof_symbols *symbols, const gt_store *store, const id_set *set,
                      name_reader *names, gt_error *error)
{
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    int64_t *ids = gt_store_ints(store, SYMBOL_ID);
    bool done = true;
    for (size_t row = 0; done && row < gt_store_count(store); row++) {
        if (!set->used[find_id(set, ids[row])]) continue;
        gt_store_get(store, row, cells);
        done = add_name(symbols, names, cells, error);
    }
    gt_free(ids);
    return done;
}

bool gt_rocprof_symbols_finish(gt_rocprof_symbols *symbols, const gt_stream *stream, gt_error *error)
{
    id_set set = collect_ids(symbols);
    mark_used(&set, symbols->run->dispatches, GT_DISPATCH_KERNEL_ID);
    mark_used(&set, symbols->run->counters, GT_COUNTER_KERNEL_ID);
    name_reader names = {.stream = stream, .strings = symbols->run->strings};
    bool done = true;
    for (size_t i = 0; i < symbols->count && done; i++)
        done = add_names(symbols, symbols->stores[i], &set, &names, error);
    gt_buffer_free(&names.text);
    gt_buffer_free(&names.decoded);
    gt_free_all(set.ids, set.used);
    return done;
}
