/* Applies an extension's reply (described in run.py) to the trace. The reply comes from a process that ran a
 * user's code, so every value is checked before it is used. */
#include "extension/extension.h"

#include "compat/python_repr.h"
#include "trace/pytorch/calls.h"
#include "trace/pytorch/tree_edit.h"

typedef struct reply_reader {
    gt_pytorch_linked *trace;
    const gt_linked_view *view; /* of the trace */
    gt_extension_reply *answer;
    gt_error *error;
    size_t events, rows;      /* before anything was added */
    size_t added;             /* number of new events */
    uint32_t *row_of;         /* by uid of existing events; GT_NO_EVENT if the event was not kept */
    const char *invalid_part; /* the first invalid part of the reply; NULL: none */
} reply_reader;

static void reject(reply_reader *a, const char *part)
{
    if (!a->invalid_part) a->invalid_part = part;
}

/* The row of an event; GT_NO_EVENT if it has none. */
static uint32_t row_of(const reply_reader *a, const gt_value *uid)
{
    if (uid->type != GT_VALUE_INT || uid->integer < 0) return GT_NO_EVENT;
    uint64_t number = (uint64_t)uid->integer;
    if (number < a->events) return a->row_of[number];
    return number - a->events < a->added ? (uint32_t)(a->rows + (number - a->events)) : GT_NO_EVENT;
}

static uint32_t intern(reply_reader *a, const gt_value *text)
{
    if (text->type != GT_VALUE_STRING) return GT_STR_NONE;
    return gt_interner_add(a->view->strings, text->text.bytes, text->text.len);
}

static double number_of(const gt_value *value)
{
    return value->type == GT_VALUE_FLOAT ? value->number
           : value->type == GT_VALUE_INT ? (double)value->integer
                                         : (double)NAN;
}

/* ---- the tree ---- */

static gt_new_row new_row(reply_reader *a, const gt_value *event)
{
    const gt_value *inputs = gt_value_get(event, "inputs"), *sequence = gt_value_at(inputs, 4);
    const gt_value *start = gt_value_get(event, "ts"), *dur = gt_value_get(event, "dur");
    gt_new_row row = {.name = intern(a, gt_value_get(event, "name")),
                      .lane = {.process = intern(a, gt_value_get(event, "pid")),
                               .thread = intern(a, gt_value_get(event, "tid"))},
                      .start_us = number_of(start),
                      .dur_us = number_of(dur),
                      .dims = intern(a, gt_value_at(inputs, 0)),
                      .types = intern(a, gt_value_at(inputs, 1)),
                      .strides = intern(a, gt_value_at(inputs, 2)),
                      .concrete = intern(a, gt_value_at(inputs, 3)),
                      .sequence = sequence->type == GT_VALUE_INT ? sequence->integer : GT_EVENT_NONE};
    if (start->type == GT_VALUE_INT) row.integral |= GT_INTEGRAL_START;
    if (dur->type == GT_VALUE_INT) row.integral |= GT_INTEGRAL_DURATION;
    if (row.name == GT_STR_NONE) reject(a, "added");
    return row;
}

static gt_new_row *new_rows(reply_reader *a, const gt_value *added)
{
    gt_new_row *rows = gt_alloc(added->count * sizeof *rows);
    for (uint32_t i = 0; i < a->added; i++) rows[i] = new_row(a, &added->items[i]);
    return rows;
}

static void read_parents(reply_reader *a, const gt_value *pairs, uint32_t *rows, uint32_t *parents)
{
    for (uint32_t i = 0; i < pairs->count; i++) {
        const gt_value *parent = gt_value_at(&pairs->items[i], 1);
        rows[i] = row_of(a, gt_value_at(&pairs->items[i], 0));
        parents[i] = row_of(a, parent);
        if (rows[i] == GT_NO_EVENT || (parents[i] == GT_NO_EVENT && parent->type != GT_VALUE_NONE))
            reject(a, "parents");
    }
}

/* Children without a row were not in the tree; they are ignored. */
static gt_row_list read_children(reply_reader *a, const gt_value *lists, uint32_t *callers, size_t *begins)
{
    gt_row_list children = {0};
    for (uint32_t i = 0; i < lists->count; i++) {
        const gt_value *list = gt_value_at(&lists->items[i], 1);
        callers[i] = row_of(a, gt_value_at(&lists->items[i], 0));
        begins[i] = children.count;
        if (callers[i] == GT_NO_EVENT || !gt_value_is_list(list)) {
            reject(a, "children");
            continue;
        }
        for (uint32_t c = 0; c < list->count; c++) {
            uint32_t child = row_of(a, &list->items[c]);
            if (child != GT_NO_EVENT) GT_PUSH(children.items, children.count, children.capacity, child);
        }
    }
    begins[lists->count] = children.count;
    return children;
}

/* Only host events can have parents and children in the call tree. */
static void check_hosts(reply_reader *a, const uint32_t *rows, size_t count, const char *part)
{
    for (size_t i = 0; i < count && !a->invalid_part; i++)
        if (rows[i] < a->rows && !gt_kind_is_host(a->view->kind[rows[i]])) reject(a, part);
}

static bool change_tree(reply_reader *a, const gt_value *document)
{
    const gt_value *added = gt_value_get(document, "added");
    const gt_value *pairs = gt_value_get(document, "parents");
    const gt_value *lists = gt_value_get(document, "children");
    a->added = added->count;
    gt_new_row *rows = new_rows(a, added);
    uint32_t *parent_of = gt_alloc(pairs->count * sizeof *parent_of);
    uint32_t *parents = gt_alloc(pairs->count * sizeof *parents);
    uint32_t *callers = gt_alloc(lists->count * sizeof *callers);
    size_t *begins = gt_alloc((lists->count + (size_t)1) * sizeof *begins);
    read_parents(a, pairs, parent_of, parents);
    gt_row_list children = read_children(a, lists, callers, begins);
    if (!a->invalid_part) check_hosts(a, parent_of, pairs->count, "parents");
    if (!a->invalid_part) check_hosts(a, callers, lists->count, "children");
    gt_rewiring rewiring = {rows,    a->added, parent_of,      parents,     pairs->count,
                            callers, begins,   children.items, lists->count};
    bool any = a->added || pairs->count || lists->count;
    bool done = !a->invalid_part && (!any || gt_tree_rewire(a->trace, &rewiring, a->error));
    a->answer->added = a->added;
    gt_free_all(rows, parent_of, parents, callers, begins, children.items);
    return done;
}

static void rename_events(reply_reader *a, const gt_value *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        uint32_t row = row_of(a, gt_value_at(&names->items[i], 0)),
                 name = intern(a, gt_value_at(&names->items[i], 1));
        if (row == GT_NO_EVENT || name == GT_STR_NONE)
            reject(a, "names");
        else
            gt_tree_rename(a->trace, row, name);
    }
}

/* ---- models ---- */

static void add_ops(reply_reader *a, const gt_value *models, const gt_value *categories)
{
    static const gt_str none = {"", 0};
    for (uint32_t i = 0; i < models->count; i++) {
        const gt_value *op = gt_value_at(&models->items[i], 0), *sheet = gt_value_at(&models->items[i], 1),
                       *category = gt_value_at(&models->items[i], 2),
                       *backward = gt_value_at(&models->items[i], 3);
        if (op->type != GT_VALUE_STRING || sheet->type != GT_VALUE_STRING ||
            category->type != GT_VALUE_STRING)
            reject(a, "models");
        else
            gt_extension_add_model(a->answer->extension, op->text, sheet->text, category->text,
                                   backward->type == GT_VALUE_STRING ? backward->text : none);
    }
    for (uint32_t i = 0; i < categories->count; i++) {
        const gt_value *op = gt_value_at(&categories->items[i], 0),
                       *category = gt_value_at(&categories->items[i], 1);
        if (op->type != GT_VALUE_STRING || category->type != GT_VALUE_STRING)
            reject(a, "categories");
        else
            gt_extension_add_category(a->answer->extension, op->text, category->text);
    }
}

/* Replaces {"tuple": [...]} by a tuple, recursively. */
static gt_value convert_tuples(gt_arena *arena, const gt_value *value)
{
    const gt_value *tuple = value->type == GT_VALUE_DICT ? gt_value_get(value, "tuple") : value;
    gt_value copy = *value;
    if (value->type == GT_VALUE_DICT && tuple->type == GT_VALUE_LIST) {
        copy = *tuple;
        copy.type = GT_VALUE_TUPLE;
    }
    if (copy.type != GT_VALUE_LIST && copy.type != GT_VALUE_TUPLE) return copy;
    gt_value *items = gt_arena_alloc(arena, copy.count * sizeof *items);
    for (uint32_t i = 0; i < copy.count; i++) items[i] = convert_tuples(arena, &copy.items[i]);
    copy.items = items;
    return copy;
}

static void add_result(reply_reader *a, gt_arena *arena, const gt_value *entry)
{
    uint32_t row = row_of(a, gt_value_at(entry, 0));
    const gt_value *spec = gt_value_at(entry, 4), *parameters = gt_value_at(entry, 5);
    gt_model_result result = {.outcome = GT_MODEL_VALUE,
                              .flops = number_of(gt_value_at(entry, 2)),
                              .bytes = number_of(gt_value_at(entry, 3))};
    if (row == GT_NO_EVENT) return; /* the event is not in the report */
    if (gt_value_at(entry, 1)->type != GT_VALUE_BOOL || spec->type != GT_VALUE_STRING ||
        isnan(result.flops) || !gt_value_is_list(parameters) || parameters->count > GT_MODEL_MAX_PARAMETERS) {
        reject(a, "results");
        return;
    }
    if (spec->text.len < GT_COMPUTE_SPEC_MAX) memcpy(result.compute_spec, spec->text.bytes, spec->text.len);
    gt_parameter named[GT_MODEL_MAX_PARAMETERS];
    for (uint32_t i = 0; i < parameters->count; i++) {
        const gt_value *name = gt_value_at(&parameters->items[i], 0);
        if (name->type != GT_VALUE_STRING) {
            reject(a, "results");
            return;
        }
        named[i].name = gt_arena_bytes(arena, name->text.bytes, name->text.len);
        named[i].value = convert_tuples(arena, gt_value_at(&parameters->items[i], 1));
    }
    result.parameters = named;
    result.parameter_count = parameters->count;
    gt_extension_add_result(a->answer->extension, row, gt_value_at(entry, 1)->boolean, &result);
}

/* ---- sheets ---- */

/* The narrowest type for all values of a column. As in pandas, a column of integers with nulls has floats. */
static gt_type type_of_column(const gt_value *cells, bool *widened)
{
    bool ints = true, numbers = true, bools = true, floats = false;
    for (uint32_t i = 0; i < cells->count; i++) {
        gt_value_type type = cells->items[i].type;
        ints = ints && type == GT_VALUE_INT;
        numbers = numbers && (type == GT_VALUE_INT || type == GT_VALUE_FLOAT || type == GT_VALUE_NONE);
        bools = bools && type == GT_VALUE_BOOL;
        floats = floats || type == GT_VALUE_FLOAT;
    }
    *widened = numbers && !ints && !floats;
    if (!cells->count) return GT_TYPE_STRING;
    return bools ? GT_TYPE_BOOL : ints ? GT_TYPE_INT : numbers ? GT_TYPE_FLOAT : GT_TYPE_STRING;
}

static void set_cell(gt_table *sheet, size_t column, size_t row, const gt_value *cell, gt_buffer *text)
{
    if (cell->type == GT_VALUE_NONE) return;
    switch (sheet->columns[column].type) {
    case GT_TYPE_INT:
        gt_table_set_int(sheet, column, row, cell->integer);
        break;
    case GT_TYPE_FLOAT:
        gt_table_set_float(sheet, column, row, number_of(cell));
        break;
    case GT_TYPE_BOOL:
        gt_table_set_bool(sheet, column, row, cell->boolean);
        break;
    default:
        gt_python_set_cell(sheet, column, row, cell, text);
    }
}

static void add_sheet(reply_reader *a, const gt_value *entry)
{
    const gt_value *name = gt_value_at(entry, 0), *titles = gt_value_at(entry, 1),
                   *columns = gt_value_at(entry, 2);
    bool fits = name->type == GT_VALUE_STRING && name->text.len &&
                !memchr(name->text.bytes, 0, name->text.len) && gt_value_is_list(titles) &&
                gt_value_is_list(columns) && titles->count == columns->count;
    uint32_t rows = fits && columns->count ? columns->items[0].count : 0;
    for (uint32_t c = 0; fits && c < columns->count; c++)
        fits = titles->items[c].type == GT_VALUE_STRING && gt_value_is_list(&columns->items[c]) &&
               columns->items[c].count == rows;
    if (!fits) {
        reject(a, "tables");
        return;
    }
    gt_buffer text = {0};
    gt_buffer_add(&text, name->text.bytes, name->text.len);
    gt_table *sheet = gt_table_new(gt_sheet_named(gt_buffer_str(&text).bytes), a->view->strings);
    for (uint32_t c = 0; c < columns->count; c++) {
        text.len = 0;
        gt_buffer_add(&text, titles->items[c].text.bytes, titles->items[c].text.len);
        bool widened;
        gt_type type = type_of_column(&columns->items[c], &widened);
        gt_table_add_column(sheet, gt_col_named(gt_buffer_str(&text).bytes), type);
        sheet->columns[c].widened = widened;
    }
    for (uint32_t row = 0; row < rows; row++) {
        gt_table_add_row(sheet);
        for (uint32_t c = 0; c < columns->count; c++)
            set_cell(sheet, c, row, &columns->items[c].items[row], &text);
    }
    gt_buffer_free(&text);
    GT_PUSH(a->answer->sheets, a->answer->sheet_count, a->answer->sheet_capacity, sheet);
}

/* ---- the document ---- */

static bool apply_all(reply_reader *a, gt_arena *arena, const gt_value *document)
{
    const gt_value *results = gt_value_get(document, "results");
    const gt_value *tables = gt_value_get(document, "tables");
    if (!change_tree(a, document)) return false;
    rename_events(a, gt_value_get(document, "names"));
    add_ops(a, gt_value_get(document, "models"), gt_value_get(document, "categories"));
    for (uint32_t i = 0; i < results->count; i++) add_result(a, arena, &results->items[i]);
    for (uint32_t i = 0; i < tables->count; i++) add_sheet(a, &tables->items[i]);
    return !a->invalid_part;
}

/* All parts are lists: run.py writes them even if the extension did nothing. */
static bool has_parts(const gt_value *document)
{
    static const char *const parts[] = {"added",  "parents", "children",   "names",
                                        "models", "results", "categories", "tables"};
    for (size_t i = 0; i < GT_LENGTH(parts); i++)
        if (gt_value_get(document, parts[i])->type != GT_VALUE_LIST) return false;
    return true;
}

/* A NUL would end the message, so "?" replaces it. */
static void fail_with_reason(gt_error *error, gt_str reason)
{
    char shown[sizeof error->text];
    size_t len = reason.len < sizeof shown ? reason.len : sizeof shown - 1;
    for (size_t i = 0; i < len; i++) shown[i] = reason.bytes[i] ? reason.bytes[i] : '?';
    shown[len] = 0;
    gt_fail(error, "%s", shown);
}

bool gt_extension_apply(gt_pytorch_linked *trace, gt_str text, gt_extension_reply *answer, gt_error *error)
{
    gt_arena arena = {0};
    const gt_value *document = gt_value_parse(&arena, text), *reason = gt_value_get(document, "error");
    const gt_linked_view *view = gt_pytorch_view(trace);
    reply_reader a = {.trace = trace,
                      .view = view,
                      .answer = answer,
                      .error = error,
                      .events = view->uid_count,
                      .rows = view->count};
    bool done = false;
    if (reason->type == GT_VALUE_STRING && reason->text.len) {
        fail_with_reason(error, reason->text);
    } else if (!has_parts(document)) {
        gt_fail(error, "it ended without a complete reply");
    } else {
        a.row_of = gt_alloc(view->uid_count * sizeof *a.row_of);
        memset(a.row_of, 0xFF, view->uid_count * sizeof *a.row_of);
        for (uint32_t row = 0; row < view->count; row++) a.row_of[gt_event_uid(&view->events, row)] = row;
        answer->extension = gt_extension_new(view->strings);
        done = apply_all(&a, &arena, document);
        if (a.invalid_part) gt_fail(error, "invalid reply, part \"%s\"", a.invalid_part);
        gt_free(a.row_of);
    }
    gt_arena_free(&arena);
    return done;
}
