/* Where the ticks of an axis stand: at round numbers (1, 2, 2.5 or 5 times a power of ten apart), as many as
 * fit. */
#ifndef GT_OUTPUT_FIGURE_TICKS_H
#define GT_OUTPUT_FIGURE_TICKS_H

#include <stddef.h>

typedef struct gt_ticks {
    double first, step;
    size_t count;
    int decimals; /* that tell two ticks apart */
} gt_ticks;

/* Ticks in low .. high, at most `most` of them. None where that is no range. */
gt_ticks gt_ticks_of(double low, double high, size_t most);
double gt_tick_value(const gt_ticks *ticks, size_t index);
enum { GT_TICK_TEXT = 48 };
void gt_tick_text(const gt_ticks *ticks, size_t index, char text[GT_TICK_TEXT]);

#endif
