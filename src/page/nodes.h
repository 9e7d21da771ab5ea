/* Internal to src/page: the tree of page_nodes, made from paths. */
#ifndef GT_PAGE_NODES_H
#define GT_PAGE_NODES_H

#include "page/paths.h"
#include "page/work_parts.h"

/* Makes the nodes of the paths that are `wanted`, one byte per path. Returns, by path, its node; GT_NONE for
 * the empty path. The caller frees it. */
uint32_t *gt_page_make_nodes(gt_page_work *w, const gt_page_paths *paths, const uint8_t *wanted);

void gt_page_add_nodes(const gt_page_work *w, gt_table_list *tables);

#endif
