/* Tables as an image (base/image.h), and back. */
#pragma once

#include "base/image.h"
#include "table/table.h"

/* Adds the tables. Their strings are collected in `strings`, an interner that the caller makes for them and
 * that must outlive the image. */
void gt_tables_save(gt_table *const *tables, size_t count, gt_interner *strings, gt_image *image);

/* The tables of an image in their order: calls add(context, table) for each, which then owns it. False if the
 * image is damaged; tables that were added before stay. String cells are ids of `strings`, which must be
 * those that were loaded from the same image. */
bool gt_tables_load(const gt_image *image, gt_interner *strings, void (*add)(void *context, gt_table *table),
                    void *context);
