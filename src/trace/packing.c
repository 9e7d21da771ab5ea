/* Choosing how to pack a column, and packing it. */
#include "trace/packing.h"

/* Marks absent times in a column of thousandths until place_absent replaces it. */
static const int64_t ABSENT = INT64_MAX;

/* Turns times into thousandths if that is exact for each of them; otherwise changes nothing. */
static bool to_thousandths(int64_t *cells, size_t rows)
{
    int64_t out[GT_SEGMENT_ROWS];
    int64_t bad = 0;
    for (size_t i = 0; i < rows; i++) {
        double time = gt_bits_time(cells[i]);
        bool small = fabs(time) < 9e12; /* times 1000 stays below 2^53; false for NaN */
        int64_t whole = small ? (int64_t)rint(time * 1000.0) : 0;
        bad |= small ? gt_time_bits((double)whole / 1000.0) != cells[i] : !isnan(time);
        out[i] = small ? whole : ABSENT;
    }
    if (bad) return false;
    memcpy(cells, out, rows * sizeof *cells);
    return true;
}

/* Gives absent times the value after the greatest one, so that they do not make the column wider. */
static int64_t place_absent(int64_t *cells, size_t rows)
{
    int64_t high = INT64_MIN;
    for (size_t i = 0; i < rows; i++)
        if (cells[i] != ABSENT && cells[i] > high) high = cells[i];
    if (high == INT64_MIN) return ABSENT; /* all are absent */
    for (size_t i = 0; i < rows; i++)
        if (cells[i] == ABSENT) cells[i] = high + 1;
    return high + 1;
}

gt_packed gt_plan_packing(int64_t *cells, size_t rows, gt_store_type type)
{
    gt_packed p = {0};
    if (type == GT_STORE_TIME && to_thousandths(cells, rows)) {
        p.thousandths = true;
        p.absent = place_absent(cells, rows);
    }
    int64_t low = cells[0], high = cells[0];
    for (size_t i = 1; i < rows; i++) {
        low = cells[i] < low ? cells[i] : low;
        high = cells[i] > high ? cells[i] : high;
    }
    uint64_t span = (uint64_t)high - (uint64_t)low;
    p.base = low;
    p.width = span == 0 ? 0 : span <= UINT8_MAX ? 1 : span <= UINT16_MAX ? 2 : span <= UINT32_MAX ? 4 : 8;
    return p;
}

#define PACK(type)                                                                                           \
    for (size_t i = 0; i < rows; i++) {                                                                      \
        type v = (type)((uint64_t)cells[i] - (uint64_t)base);                                                \
        memcpy(out + i * sizeof v, &v, sizeof v);                                                            \
    }

void gt_pack(const gt_packed *p, const int64_t *cells, size_t rows, uint8_t *data)
{
    int64_t base = p->base;
    unsigned width = p->width;
    uint8_t *out = data + p->start;
    if (width == 1)
        PACK(uint8_t)
    else if (width == 2)
        PACK(uint16_t)
    else if (width == 4)
        PACK(uint32_t)
    else if (width == 8)
        PACK(uint64_t)
}
