/* What a user's extension of the report says about ops: models, categories and families of its own.
 *
 * The models run in the extension's process (extension/extension.h); this holds their results, by event.
 * Every function accepts NULL for "there is no extension". */
#pragma once

#include "model/model.h"

typedef struct gt_extension gt_extension;

/* Names of ops are string ids in `strings`, which is borrowed. */
gt_extension *gt_extension_new(gt_interner *strings);
void gt_extension_free(gt_extension *extension);

/* Adds an op with a model. `sheet` is the family's part of sheet names; `backward_category` may be empty. If
 * an op is added twice, the last one wins. */
void gt_extension_add_model(gt_extension *extension, gt_str op, gt_str sheet, gt_str category,
                            gt_str backward_category);
/* Adds an op with a category and no model. */
void gt_extension_add_category(gt_extension *extension, gt_str op, gt_str category);
/* Adds the result of a model for an event, or for its backward pass. Copies parameters and their strings. */
void gt_extension_add_result(gt_extension *extension, uint32_t row, bool backward,
                             const gt_model_result *result);

/* The model of an op; NULL if the extension has none. */
const gt_model *gt_extension_model(const gt_extension *extension, uint32_t name);
/* The category of an op; NULL if the extension has none. */
const char *gt_extension_category(const gt_extension *extension, uint32_t name);
/* NULL if the model had no result. */
const gt_model_result *gt_extension_result(const gt_extension *extension, uint32_t row, bool backward);
/* Families are those of gt_op_family, followed by those of the extension. */
size_t gt_extension_family_count(const gt_extension *extension);
const char *gt_extension_family_name(const gt_extension *extension, size_t family);

/* Numbers the results starting at `first` (gt_model_result.id) and returns how many there are. */
uint32_t gt_extension_number(gt_extension *extension, uint32_t first);
