/* The settings of a sweep: axes with their values, and the points of the grid that they span.
 *
 * Later axes vary faster. The last two are always threads and channels, so that each folder above them is a
 * sweep that all steps can read: ROOT/[axis...]/<T>thread/nccl_<C>channels. */
#ifndef GT_SWEEP_RUN_GRID_H
#define GT_SWEEP_RUN_GRID_H

#include "base/error.h"
#include "base/memory.h"

enum { GT_AXES_MAX = 16, GT_AXIS_VALUES_MAX = 1000, GT_POINTS_MAX = 10000 };

typedef struct gt_sweep_axis {
    const char *name;     /* "threads" */
    const char *variable; /* of the environment that holds the value; NULL: none */
    const char *folder;   /* of a point: "%sthread" */
    const char **values;
    size_t value_count;
} gt_sweep_axis;

typedef struct gt_sweep_grid {
    gt_sweep_axis axes[GT_AXES_MAX];
    size_t axis_count;
    gt_arena arena; /* of all texts */
} gt_sweep_grid;

/* The grid of the two axes that every sweep has. False where a value is no whole number or stands there
 * twice. */
bool gt_sweep_grid_begin(gt_sweep_grid *grid, const char *threads, const char *channels, gt_error *error);
void gt_sweep_grid_free(gt_sweep_grid *grid);

/* "NAME=v1,v2": a further axis, outside of threads; of an axis that is there, other values. */
bool gt_sweep_grid_add_axis(gt_sweep_grid *grid, const char *text, gt_error *error);
/* "NAME=VARIABLE" and "NAME=FORMAT" of an axis that is there. */
bool gt_sweep_grid_set_variable(gt_sweep_grid *grid, const char *text, gt_error *error);
bool gt_sweep_grid_set_folder(gt_sweep_grid *grid, const char *text, gt_error *error);

/* How many points; 0 where they are more than GT_POINTS_MAX. */
size_t gt_sweep_grid_points(const gt_sweep_grid *grid);
/* The value of an axis at a point. */
const char *gt_sweep_grid_value(const gt_sweep_grid *grid, size_t point, size_t axis);
/* The value of the axis of that name; NULL where there is none. */
const char *gt_sweep_grid_named(const gt_sweep_grid *grid, size_t point, const char *name, size_t name_len);
/* "ROOT/256thread/nccl_28channels"; the caller frees it. */
char *gt_sweep_grid_folder(const gt_sweep_grid *grid, size_t point, const char *root);

#endif
