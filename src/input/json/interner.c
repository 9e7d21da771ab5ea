/* Two tables: the raw strings, which are our own, and their decoded strings in the caller's interner;
 * `decoded` maps the ids of one to those of the other. */
#include "input/json/interner.h"
#include "base/memory.h"
#include "json/reader.h"
#include "json/string.h"

#include <stdlib.h>
#include <string.h>

struct gt_json_interner {
    gt_json_interner_kind kind;
    gt_interner *strings;
    gt_interner *raws;
    uint32_t *decoded; /* by raw id; GT_STR_NONE if not decoded yet */
    size_t capacity;
    char *scratch;
    size_t scratch_capacity;
};

gt_json_interner *gt_json_interner_new(gt_json_interner_kind kind, gt_interner *strings)
{
    gt_json_interner *intern = gt_alloc_zero(1, sizeof *intern);
    intern->kind = kind;
    intern->strings = strings;
    intern->raws = gt_interner_new();
    return intern;
}

void gt_json_interner_free(gt_json_interner *intern)
{
    if (!intern) return;
    gt_interner_free(intern->raws);
    gt_free(intern->decoded);
    gt_free(intern->scratch);
    gt_free(intern);
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
    if (id < intern->capacity && intern->decoded[id]) return id;
    size_t before = intern->capacity;
    intern->decoded = gt_grow(intern->decoded, &intern->capacity, id + 1, sizeof *intern->decoded);
    if (intern->capacity > before)
        memset(intern->decoded + before, 0, (intern->capacity - before) * sizeof *intern->decoded);
    intern->scratch = gt_grow(intern->scratch, &intern->scratch_capacity, raw.len * 3 + 1, 1);
    intern->decoded[id] =
        intern->kind == GT_INTERN_STRINGS ? decode_string(intern, raw) : decode_value(intern, raw);
    return intern->decoded[id] ? id : GT_STR_NONE;
}

gt_str gt_json_interner_raw(const gt_json_interner *intern, uint32_t raw_id)
{
    return gt_interner_get(intern->raws, raw_id);
}

uint32_t gt_json_interner_decoded(const gt_json_interner *intern, uint32_t raw_id)
{
    return intern->decoded[raw_id];
}
