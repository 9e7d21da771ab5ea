/* Parts of a report, each with its strings, sheets and error; see side_by_side.h. */
#include "table/side_by_side.h"

#include "base/many.h"
#include "base/team.h"

static void give_strings(void *context, size_t part)
{
    gt_side_parts *parts = context;
    bool shares = parts->in_turn || (part < 32 && parts->shares >> part & 1);
    parts->own[part] = shares ? parts->strings : gt_interner_copy(parts->strings);
}

void gt_side_parts_begin(gt_side_parts *parts)
{
    parts->own = gt_alloc(parts->count * sizeof *parts->own);
    parts->sheets = gt_alloc_zero(parts->count, sizeof *parts->sheets);
    parts->errors = gt_alloc_zero(parts->count, sizeof *parts->errors);
    gt_parallel_each(parts->count, give_strings, parts);
}

static size_t make_in_turn(size_t count, bool (*work)(void *context, size_t part), void *context)
{
    size_t part = 0;
    while (part < count && work(context, part)) part++;
    return part;
}

static size_t make_at_once(const gt_side_parts *parts, bool (*work)(void *context, size_t part),
                           void *context)
{
    uint64_t *sizes = gt_alloc(parts->count * sizeof *sizes);
    for (size_t i = 0; i < parts->count; i++) sizes[i] = 1;
    size_t failed = gt_many_run(&(gt_many){
        .count = parts->count, .sizes = sizes, .limit = parts->at_once, .work = work, .context = context});
    gt_free(sizes);
    return failed;
}

bool gt_side_parts_make(gt_side_parts *parts, bool (*work)(void *context, size_t part), void *context,
                        gt_error *error)
{
    size_t failed =
        parts->in_turn ? make_in_turn(parts->count, work, context) : make_at_once(parts, work, context);
    if (failed < parts->count) *error = parts->errors[failed];
    return failed == parts->count;
}

void gt_side_parts_take(gt_side_parts *parts, size_t part, gt_table_list *tables)
{
    gt_table_list *sheets = &parts->sheets[part];
    for (size_t i = 0; i < sheets->count; i++) {
        gt_table_use_strings(sheets->items[i], parts->strings);
        gt_table_list_add(tables, sheets->items[i]);
    }
    sheets->count = 0;
}

void gt_side_parts_end(gt_side_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        gt_table_list_free(&parts->sheets[i]);
        if (parts->own[i] != parts->strings) gt_interner_free(parts->own[i]);
    }
    gt_free_all(parts->own, parts->sheets, parts->errors);
}
