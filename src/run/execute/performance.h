/* The figure that a program prints of its own performance: "performance: 14164/s, samples_per_second". */
#ifndef GT_RUN_EXECUTE_PERFORMANCE_H
#define GT_RUN_EXECUTE_PERFORMANCE_H

#include "json/writer.h"
#include "run/plan/settings.h"

/* Looks at one line. The number is as written. Texts are in the arena. */
bool gt_performance_find(gt_arena *arena, gt_str line, const char **number, const char **metric);

enum { GT_PERFORMANCES_MAX = 64 };

/* Figures of several nodes by metric. */
typedef struct gt_performances {
    struct {
        const char *metric;
        double sum, most;
        size_t count;
    } items[GT_PERFORMANCES_MAX];
    size_t count;
} gt_performances;

void gt_performances_add(gt_performances *figures, gt_arena *arena, const char *metric, double value);
/* Adds {metric: value}: summed (throughputs), the mean (times, accuracies, losses) or the largest (memory),
 * by words in the metric's name. */
void gt_performances_write(const gt_performances *figures, gt_json_writer *w, const char *key);

#endif
