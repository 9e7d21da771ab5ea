/* Which metrics of ncu are duration, utilisation, occupancy and so on? `--page raw` names metrics by their
 * internal names, `--page details` by labels that changed between versions; units are scaled unless base
 * units were asked for. Where a launch has several of them, the first in the table counts. */
#include "analysis/ncu/sheets.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef enum unit_kind { UNIT_ANY, UNIT_PERCENT, UNIT_TIME, UNIT_BYTES, UNIT_RATE } unit_kind;

/* Parts of figures, after the figures themselves. */
enum { DRAM_READ = GT_NCU_FIGURES, DRAM_WRITE, DRAM_RATE, SHARED_STATIC, SHARED_DYNAMIC, PARTS };

static const struct {
    int part;
    const char *metric;
    unit_kind unit;
} known[] = {
    {GT_NCU_DURATION_US, "gpu__time_duration.sum", UNIT_TIME},
    {GT_NCU_DURATION_US, "gpu__time_duration.avg", UNIT_TIME},
    {GT_NCU_DURATION_US, "Duration", UNIT_TIME},
    {GT_NCU_SM_PCT, "sm__throughput.avg.pct_of_peak_sustained_elapsed", UNIT_PERCENT},
    {GT_NCU_SM_PCT, "Compute (SM) Throughput", UNIT_PERCENT},
    {GT_NCU_SM_PCT, "Compute (SM) [%]", UNIT_PERCENT},
    {GT_NCU_SM_PCT, "SOL SM", UNIT_PERCENT},
    {GT_NCU_SM_PCT, "SM [%]", UNIT_PERCENT},
    {GT_NCU_MEMORY_PCT, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", UNIT_PERCENT},
    {GT_NCU_MEMORY_PCT, "Memory Throughput", UNIT_PERCENT},
    {GT_NCU_MEMORY_PCT, "Memory [%]", UNIT_PERCENT},
    {GT_NCU_MEMORY_PCT, "SOL Memory", UNIT_PERCENT},
    {GT_NCU_DRAM_PCT, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", UNIT_PERCENT},
    {GT_NCU_DRAM_PCT, "dram__throughput.avg.pct_of_peak_sustained_elapsed", UNIT_PERCENT},
    {GT_NCU_DRAM_PCT, "DRAM Throughput", UNIT_PERCENT},
    {GT_NCU_DRAM_BYTES, "dram__bytes.sum", UNIT_BYTES},
    {DRAM_READ, "dram__bytes_read.sum", UNIT_BYTES},
    {DRAM_READ, "dram__bytes_op_read.sum", UNIT_BYTES},
    {DRAM_WRITE, "dram__bytes_write.sum", UNIT_BYTES},
    {DRAM_WRITE, "dram__bytes_op_write.sum", UNIT_BYTES},
    {DRAM_RATE, "dram__bytes.sum.per_second", UNIT_RATE},
    {DRAM_RATE, "Memory Throughput", UNIT_RATE},
    {GT_NCU_OCCUPANCY_PCT, "sm__warps_active.avg.pct_of_peak_sustained_active", UNIT_PERCENT},
    {GT_NCU_OCCUPANCY_PCT, "Achieved Occupancy", UNIT_PERCENT},
    {GT_NCU_THEORETICAL_PCT, "sm__maximum_warps_per_active_cycle_pct", UNIT_PERCENT},
    {GT_NCU_THEORETICAL_PCT, "Theoretical Occupancy", UNIT_PERCENT},
    {GT_NCU_REGISTERS, "launch__registers_per_thread", UNIT_ANY},
    {GT_NCU_REGISTERS, "Registers Per Thread", UNIT_ANY},
    {GT_NCU_SHARED_BYTES, "launch__shared_mem_per_block", UNIT_BYTES},
    {SHARED_STATIC, "launch__shared_mem_per_block_static", UNIT_BYTES},
    {SHARED_STATIC, "Static Shared Memory Per Block", UNIT_BYTES},
    {SHARED_DYNAMIC, "launch__shared_mem_per_block_dynamic", UNIT_BYTES},
    {SHARED_DYNAMIC, "Dynamic Shared Memory Per Block", UNIT_BYTES},
    {GT_NCU_WAVES, "launch__waves_per_multiprocessor", UNIT_ANY},
    {GT_NCU_WAVES, "Waves Per SM", UNIT_ANY},
};

static_assert(GT_LENGTH(known) <= 64, "rows are bits of a number");

static double time_scale(gt_str unit)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"nsecond", 1e-3}, {"ns", 1e-3}, {"usecond", 1},  {"us", 1},
                 {"msecond", 1e3},  {"ms", 1e3},  {"second", 1e6}, {"s", 1e6}};
    for (size_t i = 0; i < GT_LENGTH(units); i++)
        if (gt_str_equals(unit, units[i].name)) return units[i].us;
    return NAN;
}

/* "Kbyte/block", "Gbyte/second": prefixes are powers of 1000. */
static double byte_scale(gt_str unit, bool per_second)
{
    double scale = 1;
    static const char prefixes[] = "KMGT";
    for (size_t i = 0; i < 4 && unit.len; i++)
        if (unit.bytes[0] == prefixes[i]) {
            scale = pow(1000, (double)i + 1);
            unit = (gt_str){unit.bytes + 1, unit.len - 1};
            break;
        }
    if (!gt_str_starts_with(unit, "byte")) return NAN;
    bool is_rate = gt_str_equals(unit, "byte/second") || gt_str_equals(unit, "byte/s");
    return is_rate == per_second ? scale : NAN;
}

/* What a number is multiplied with to be in our unit; NaN: a metric of the same name in another kind of unit.
 */
static double scale_of(gt_str unit, unit_kind kind)
{
    switch (kind) {
    case UNIT_PERCENT:
        return gt_str_equals(unit, "%") ? 1 : NAN;
    case UNIT_TIME:
        return time_scale(unit);
    case UNIT_BYTES:
        return byte_scale(unit, false);
    case UNIT_RATE:
        return byte_scale(unit, true);
    default:
        return 1;
    }
}

static void complete(double *parts)
{
    double read = parts[DRAM_READ], write = parts[DRAM_WRITE];
    if (isnan(parts[GT_NCU_DRAM_BYTES])) parts[GT_NCU_DRAM_BYTES] = read + write;
    if (isnan(parts[GT_NCU_DRAM_BYTES]))
        parts[GT_NCU_DRAM_BYTES] = parts[DRAM_RATE] * parts[GT_NCU_DURATION_US] / 1e6;
    double shared = parts[SHARED_STATIC] + parts[SHARED_DYNAMIC];
    if (!isnan(shared)) parts[GT_NCU_SHARED_BYTES] = shared; /* without what the driver adds */
}

double *gt_ncu_figures(const gt_ncu *trace)
{
    size_t names = gt_interner_count(trace->strings);
    uint64_t *rows = gt_alloc_zero(names + 1, sizeof *rows); /* per string: the rows of the table, as bits */
    for (size_t i = 0; i < GT_LENGTH(known); i++) {
        uint32_t id = gt_interner_find(trace->strings, known[i].metric, strlen(known[i].metric));
        if (id) rows[id] |= UINT64_C(1) << i;
    }
    double *figures = gt_alloc((trace->launch_count + 1) * GT_NCU_FIGURES * sizeof *figures);
    size_t v = 0;
    for (size_t launch = 0; launch < trace->launch_count; launch++) {
        double parts[PARTS];
        size_t found[PARTS]; /* row of the table that a part comes from */
        for (size_t i = 0; i < PARTS; i++) parts[i] = NAN, found[i] = SIZE_MAX;
        for (; v < trace->value_count && trace->values[v].launch == launch; v++) {
            const gt_ncu_value *value = &trace->values[v];
            for (uint64_t bits = rows[value->metric]; bits; bits &= bits - 1) {
                size_t row = (size_t)__builtin_ctzll(bits);
                double scale = scale_of(gt_interner_get(trace->strings, value->unit), known[row].unit);
                if (isnan(scale) || isnan(value->number) || row >= found[known[row].part]) continue;
                parts[known[row].part] = value->number * scale;
                found[known[row].part] = row;
            }
        }
        complete(parts);
        memcpy(figures + launch * GT_NCU_FIGURES, parts, GT_NCU_FIGURES * sizeof *parts);
    }
    gt_free(rows);
    return figures;
}
