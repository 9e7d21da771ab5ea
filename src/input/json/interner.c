/* Two tables: the raw strings, which are our own, and their decoded strings in the caller's interner; `items`
 * maps the ids of one to those of the other. */
#include "input/json/interner.h"
#include "json/reader.h"
#include "json/string.h"

gt_json_interner *gt_json_interner_new(gt_json_interner_kind kind, gt_interner *strings)
{
    gt_json_interner *intern = gt_alloc_zero(1, sizeof *intern);
    intern->kind = (int)kind;
    intern->strings = strings;
    intern->raws = gt_interner_new();
    return intern;
}

void gt_json_interner_free(gt_json_interner *intern)
{
    if (!intern) return;
    gt_interner_free(intern->raws);
    gt_free_all(intern->items, intern->scratch, intern);
}

static uint32_t decode_string(gt_json_interner *intern, gt_str raw)
{
    if (gt_json_string_is_plain(raw)) return gt_interner_add(intern->strings, raw.bytes, raw.len);
    if (gt_json_string_bad_escape(raw)) return GT_STR_NONE;
    size_t len = gt_json_string_decode(raw, intern->scratch);
    return gt_interner_add(intern->strings, intern->scratch, len);
}

static uint32_t decode_value(gt_json_interner *intern, gt_str raw)
{
    gt_json json;
    gt_json_begin_str(&json, raw);
    if (!gt_json_skip(&json) || !gt_json_finish(&json)) return GT_STR_NONE;
    size_t len = gt_json_compact(raw, intern->scratch);
    return gt_interner_add(intern->strings, intern->scratch, len);
}

uint32_t gt_json_interner_add(gt_json_interner *intern, gt_str raw)
{
    uint32_t id = gt_interner_add(intern->raws, raw.bytes, raw.len);
    if (id < intern->capacity && intern->items[id].decoded) return id;
    size_t before = intern->capacity;
    intern->items = gt_grow(intern->items, &intern->capacity, id + 1, sizeof *intern->items);
    if (intern->capacity > before)
        memset(intern->items + before, 0, (intern->capacity - before) * sizeof *intern->items);
    intern->scratch = gt_grow(intern->scratch, &intern->scratch_capacity, raw.len * 3 + 1, 1);
    uint32_t decoded =
        intern->kind == GT_INTERN_STRINGS ? decode_string(intern, raw) : decode_value(intern, raw);
    intern->items[id] = (gt_json_raw){gt_interner_get(intern->raws, id).bytes, (uint32_t)raw.len, decoded};
    return decoded ? id : GT_STR_NONE;
}
