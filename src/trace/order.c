/* Natural merge sort: pairs of neighbouring runs are merged until one is left. */
#include "trace/order.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool comes_first(double a, double b)
{
    return a <= b || isnan(a);
}

void gt_order_rows(uint32_t *rows, size_t count, const double *times)
{
    uint32_t *spare = NULL;
    if (count < 2) return;
    for (;;) {
        size_t runs = 0, out = 0;
        for (size_t begin = 0; begin < count;) {
            size_t middle = begin + 1;
            while (middle < count && comes_first(times[rows[middle - 1]], times[rows[middle]])) middle++;
            if (begin == 0 && middle == count) {
                gt_free(spare);
                return;
            }
            if (!spare) spare = gt_alloc(count * sizeof *spare);
            size_t end = middle < count ? middle + 1 : middle;
            while (end < count && comes_first(times[rows[end - 1]], times[rows[end]])) end++;
            size_t a = begin, b = middle;
            while (a < middle || b < end)
                spare[out++] = b == end || (a < middle && comes_first(times[rows[a]], times[rows[b]]))
                                   ? rows[a++]
                                   : rows[b++];
            begin = end;
            runs++;
        }
        memcpy(rows, spare, count * sizeof *rows);
        if (runs <= 1) break;
    }
    gt_free(spare);
}

int gt_by_row(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}
