/* Internal to src/page: where in the program host events happen, as paths of modules, functions, annotations
 * and ops. Many events share a path, so that what is known about a path is found out once. */
#pragma once

#include "page/work_parts.h"

/* A node of the tree of paths; a parent comes before its children. */
typedef struct gt_page_path {
    uint32_t parent; /* GT_NONE: the empty path, which is number 0 */
    uint32_t name;   /* string id */
    uint32_t prefix; /* the longest part of it, itself included, that is without ops at its end */
    uint8_t kind;    /* gt_page_node_kind */
    bool has_module;
} gt_page_path;

typedef struct gt_page_paths {
    gt_page_path *items;
    size_t count, capacity;
    gt_map children;    /* (parent, name), (kind, tag) -> path */
    uint32_t *of_event; /* by host event: its path */
} gt_page_paths;

/* The paths of all host events with launches; `all`: also of the others. */
gt_page_paths gt_page_paths_new(const gt_schedule *schedule, bool all);
void gt_page_paths_free(gt_page_paths *paths);

/* The path below another, or the empty one (0). A tag keeps paths apart that have the same names. */
uint32_t gt_page_paths_below(gt_page_paths *paths, uint32_t parent, uint8_t kind, uint32_t name,
                             uint32_t tag);

/* Makes the nodes of the paths that are `wanted`, one byte per path. Returns, by path, its node; GT_NONE for
 * the empty path. The caller frees it. */
uint32_t *gt_page_make_nodes(gt_page_work *w, const gt_page_paths *paths, const uint8_t *wanted);

void gt_page_add_nodes(const gt_page_work *w, gt_table_list *tables);
