/* Models, categories, families and results of an extension, found by name or by event. */
#include "analysis/pytorch/extension.h"

struct gt_extension {
    gt_interner *strings;
    gt_arena arena;
    gt_model *models;
    size_t model_count, model_capacity;
    const char **categories;
    size_t category_count, category_capacity;
    const char **families; /* the extension's own */
    size_t family_count, family_capacity;
    gt_model_result *results;
    size_t result_count, result_capacity;
    gt_map model_of, category_of; /* by name */
    gt_map result_of;             /* by (row, backward) */
};

gt_extension *gt_extension_new(gt_interner *strings)
{
    gt_extension *e = gt_alloc_zero(1, sizeof *e);
    e->strings = strings;
    return e;
}

void gt_extension_free(gt_extension *e)
{
    if (!e) return;
    gt_arena_free(&e->arena);
    gt_free_all(e->models, e->categories, e->families, e->results);
    gt_map_free(&e->model_of);
    gt_map_free(&e->category_of);
    gt_map_free(&e->result_of);
    gt_free(e);
}

/* ---- adding ---- */

static const char *keep(gt_extension *e, gt_str text)
{
    return gt_arena_bytes(&e->arena, text.bytes, text.len);
}

static gt_op_family family_of(gt_extension *e, gt_str sheet)
{
    for (size_t family = GT_FAMILY_NONE + 1; family < gt_extension_family_count(e); family++) {
        const char *name = gt_extension_family_name(e, family);
        if (strlen(name) == sheet.len && memcmp(name, sheet.bytes, sheet.len) == 0)
            return (gt_op_family)family;
    }
    GT_PUSH(e->families, e->family_count, e->family_capacity, keep(e, sheet));
    return (gt_op_family)(GT_FAMILY_COUNT + e->family_count - 1);
}

void gt_extension_add_model(gt_extension *e, gt_str op, gt_str sheet, gt_str category,
                            gt_str backward_category)
{
    gt_model model = {.name = keep(e, op),
                      .family = family_of(e, sheet),
                      .category = keep(e, category),
                      .backward = GT_BACKWARD_KNOWN,
                      .uses = GT_USES_EXTENSION};
    if (backward_category.len) model.backward_category = keep(e, backward_category);
    *gt_map_put(&e->model_of, gt_interner_add(e->strings, op.bytes, op.len), 0) = (uint32_t)e->model_count;
    GT_PUSH(e->models, e->model_count, e->model_capacity, model);
    gt_extension_add_category(e, op, category);
}

void gt_extension_add_category(gt_extension *e, gt_str op, gt_str category)
{
    *gt_map_put(&e->category_of, gt_interner_add(e->strings, op.bytes, op.len), 0) =
        (uint32_t)e->category_count;
    GT_PUSH(e->categories, e->category_count, e->category_capacity, keep(e, category));
}

/* A deep copy. Recursion is safe: the parser limits how deep values nest. */
static gt_value copy_value(gt_extension *e, const gt_value *value)
{
    gt_value copy = *value;
    if (value->type == GT_VALUE_STRING || value->type == GT_VALUE_BIG) copy.text.bytes = keep(e, value->text);
    if (value->type != GT_VALUE_LIST && value->type != GT_VALUE_TUPLE && value->type != GT_VALUE_DICT)
        return copy;
    gt_value *items = gt_arena_alloc(&e->arena, value->count * sizeof *items);
    for (uint32_t i = 0; i < value->count; i++) items[i] = copy_value(e, &value->items[i]);
    copy.items = items;
    return copy;
}

void gt_extension_add_result(gt_extension *e, uint32_t row, bool backward, const gt_model_result *result)
{
    gt_model_result kept = *result;
    gt_parameter *parameters = gt_arena_alloc(&e->arena, result->parameter_count * sizeof *parameters);
    for (size_t i = 0; i < result->parameter_count; i++) {
        const char *name = result->parameters[i].name;
        parameters[i].name = keep(e, (gt_str){name, strlen(name)});
        parameters[i].value = copy_value(e, &result->parameters[i].value);
    }
    kept.parameters = parameters;
    *gt_map_put(&e->result_of, row, backward) = (uint32_t)e->result_count;
    GT_PUSH(e->results, e->result_count, e->result_capacity, kept);
}

uint32_t gt_extension_number(gt_extension *e, uint32_t first)
{
    if (!e) return 0;
    for (size_t i = 0; i < e->result_count; i++) e->results[i].id = first + (uint32_t)i;
    return (uint32_t)e->result_count;
}

/* ---- looking up ---- */

const gt_model *gt_extension_model(const gt_extension *e, uint32_t name)
{
    uint32_t found = e ? gt_map_get(&e->model_of, name, 0) : GT_MAP_NONE;
    return found == GT_MAP_NONE ? NULL : &e->models[found];
}

const char *gt_extension_category(const gt_extension *e, uint32_t name)
{
    uint32_t found = e ? gt_map_get(&e->category_of, name, 0) : GT_MAP_NONE;
    return found == GT_MAP_NONE ? NULL : e->categories[found];
}

const gt_model_result *gt_extension_result(const gt_extension *e, uint32_t row, bool backward)
{
    uint32_t found = e ? gt_map_get(&e->result_of, row, backward) : GT_MAP_NONE;
    return found == GT_MAP_NONE ? NULL : &e->results[found];
}

size_t gt_extension_family_count(const gt_extension *e)
{
    return GT_FAMILY_COUNT + (e ? e->family_count : 0);
}

const char *gt_extension_family_name(const gt_extension *e, size_t family)
{
    return family < GT_FAMILY_COUNT ? gt_op_family_name((gt_op_family)family)
                                    : e->families[family - GT_FAMILY_COUNT];
}
