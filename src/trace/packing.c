/* Choosing how to pack a column, and packing it. */
#include "trace/packing.h"

/* Marks absent times in a column of thousandths until place_absent replaces it. */
static const int64_t ABSENT = INT64_MAX;

/* Turns small times into thousandths, two at a time, as long as that is exact for each of them. Returns how
 * many. Adding and subtracting 1.5 * 2^52 rounds to an integer, as rint does. */
static size_t small_to_thousandths(const int64_t *cells, size_t rows, int64_t *out)
{
    typedef double times __attribute__((vector_size(16)));
    typedef int64_t integers __attribute__((vector_size(16)));
    const times round = {6755399441055744.0, 6755399441055744.0}, thousand = {1000.0, 1000.0};
    const times limit = {2e12, 2e12}; /* times 1000 stays below 2^51; false for NaN */
    size_t i = 0;
    for (; i + 2 <= rows; i += 2) {
        times time;
        memcpy(&time, cells + i, sizeof time);
        times whole = (time * thousand + round) - round;
        integers good = (time < limit) & (time > -limit) & ((integers)(whole / thousand) == (integers)time);
        if (!(good[0] & good[1])) break;
        integers number = __builtin_convertvector(whole, integers);
        memcpy(out + i, &number, sizeof number);
    }
    return i;
}

/* Turns times into thousandths if that is exact for each of them; otherwise changes nothing. */
static bool to_thousandths(int64_t *cells, size_t rows)
{
    int64_t out[GT_SEGMENT_ROWS];
    int64_t bad = 0;
    for (size_t i = small_to_thousandths(cells, rows, out); i < rows; i++) {
        double time = gt_double_of_bits(cells[i]);
        bool small = fabs(time) < 9e12; /* times 1000 stays below 2^53; false for NaN */
        int64_t whole = small ? (int64_t)rint(time * 1000.0) : 0;
        bad |= small ? gt_bits_of_double((double)whole / 1000.0) != cells[i] : !isnan(time);
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

/* The least and the greatest cell. Four of each, so that a comparison need not wait for the one before. */
static void find_range(const int64_t *cells, size_t rows, int64_t *least, int64_t *greatest)
{
    enum { LANES = 4 };
    int64_t low[LANES], high[LANES];
    for (size_t k = 0; k < LANES; k++) low[k] = high[k] = cells[0];
    size_t i = 0;
    for (; i + LANES <= rows; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            low[k] = cells[i + k] < low[k] ? cells[i + k] : low[k];
            high[k] = cells[i + k] > high[k] ? cells[i + k] : high[k];
        }
    for (; i < rows; i++) {
        low[0] = cells[i] < low[0] ? cells[i] : low[0];
        high[0] = cells[i] > high[0] ? cells[i] : high[0];
    }
    for (size_t k = 1; k < LANES; k++) {
        if (low[k] < low[0]) low[0] = low[k];
        if (high[k] > high[0]) high[0] = high[k];
    }
    *least = low[0];
    *greatest = high[0];
}

gt_packed gt_plan_packing(int64_t *cells, size_t rows, gt_store_type type)
{
    gt_packed p = {0};
    if (type == GT_STORE_TIME && to_thousandths(cells, rows)) {
        p.thousandths = true;
        p.absent = place_absent(cells, rows);
    }
    int64_t low, high;
    find_range(cells, rows, &low, &high);
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
