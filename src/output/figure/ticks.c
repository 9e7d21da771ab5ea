/* Tries round steps from small to large until the ticks are few enough; see ticks.h. */
#include "output/figure/ticks.h"
#include "base/length.h"

#include <math.h>
#include <stdio.h>

static const double ROUND_STEPS[] = {1, 2, 2.5, 5, 10};
static const double MOST_DIGITS = 1e9; /* larger numbers are written with an exponent */
enum { MOST_DECIMALS = 9 };

/* Multiples of the step in low .. high, counted from zero; a hair beyond an end counts as on it. */
static gt_ticks with_step(double low, double high, double step)
{
    double hair = 1e-9, first = ceil(low / step - hair), last = floor(high / step + hair);
    return (gt_ticks){
        .first = first * step, .step = step, .count = last < first ? 0 : (size_t)(last - first) + 1};
}

gt_ticks gt_ticks_of(double low, double high, size_t most)
{
    double range = high - low;
    if (!(range > 0) || !isfinite(range) || most == 0) return (gt_ticks){0};
    double exponent = floor(log10(range / (double)most));
    gt_ticks ticks = {0};
    for (size_t i = 0; i < 2 * GT_LENGTH(ROUND_STEPS); i++) {
        size_t round = i % GT_LENGTH(ROUND_STEPS);
        double power = exponent + (round == i ? 0 : 1);
        double step = power < 0 ? ROUND_STEPS[round] / pow(10, -power) : ROUND_STEPS[round] * pow(10, power);
        if (!(step > 0) || !(fabs(low) / step < 1e15) || !(fabs(high) / step < 1e15)) continue;
        ticks = with_step(low, high, step);
        double decimals = -power + (ROUND_STEPS[round] == 2.5) - (ROUND_STEPS[round] == 10);
        ticks.decimals = decimals > 0 ? (int)decimals : 0;
        if (ticks.count <= most) return ticks;
    }
    return (gt_ticks){0};
}

double gt_tick_value(const gt_ticks *ticks, size_t index)
{
    double value = ticks->first + (double)index * ticks->step;
    return fabs(value) < ticks->step / 1e6 ? 0 : value; /* not -0 or 1e-17 */
}

void gt_tick_text(const gt_ticks *ticks, size_t index, char text[GT_TICK_TEXT])
{
    double value = gt_tick_value(ticks, index);
    if (fabs(value) < MOST_DIGITS && ticks->decimals <= MOST_DECIMALS)
        snprintf(text, GT_TICK_TEXT, "%.*f", ticks->decimals, value);
    else
        snprintf(text, GT_TICK_TEXT, "%.6g", value);
}
