/* What a user's extension of a report says of ops: models, categories and families of sheets of its own.
 *
 * Models are asked when the extension runs (extension/run.h); here are their answers, by event. Every
 * function takes NULL for "there is no extension". */
#ifndef GT_ANALYSIS_PYTORCH_EXTENSION_H
#define GT_ANALYSIS_PYTORCH_EXTENSION_H

#include "model/model.h"

typedef struct gt_extension gt_extension;

/* Names of ops are text ids of `strings`, which it borrows. */
gt_extension *gt_extension_new(gt_interner *strings);
void gt_extension_free(gt_extension *extension);

/* An op with a model; `sheet` is the family's name in names of sheets, `backward_category` may have no bytes.
 * The last word on an op counts. */
void gt_extension_add_model(gt_extension *extension, gt_str op, gt_str sheet, gt_str category,
                            gt_str backward_category);
/* An op that has a category and no model. */
void gt_extension_add_category(gt_extension *extension, gt_str op, gt_str category);
/* What a model says of an event, or of its backward pass. Parameters are copied, texts in them too. */
void gt_extension_add_result(gt_extension *extension, uint32_t row, bool backward,
                             const gt_model_result *result);

/* The model of an op; NULL where the extension has none. */
const gt_model *gt_extension_model(const gt_extension *extension, uint32_t name);
/* The category of an op; NULL where the extension does not say. */
const char *gt_extension_category(const gt_extension *extension, uint32_t name);
/* NULL where the model had nothing to say. */
const gt_model_result *gt_extension_result(const gt_extension *extension, uint32_t row, bool backward);
/* Families are gt_op_family, and behind these those of the extension. */
size_t gt_extension_family_count(const gt_extension *extension);
const char *gt_extension_family_name(const gt_extension *extension, size_t family);

/* Numbers the results from `first` on, as gt_model_result.id; how many there are. */
uint32_t gt_extension_number(gt_extension *extension, uint32_t first);

#endif
