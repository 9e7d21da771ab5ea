/* The energy of samples, against integrals that were computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/rocprof/sheets.h"
#include "base/buffer.h"
#include "input/sheets/sheets.h"

static double energy_of(const char *rows)
{
    gt_buffer text = {0};
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_buffer_add_cstr(&text, "time,Power(Watt) GPU0,Power(Watt) GPU1\r\n");
    gt_buffer_add_cstr(&text, rows);
    gt_table *samples = gt_csv_table(gt_buffer_str(&text), GT_SHEET("samples"), strings, &error);
    assert_non_null(samples);
    gt_table *summary = gt_gpu_samples_summary(samples, GT_SHEET("power"), true);
    double joules = summary->columns[6].floats[0];
    gt_table_free(summary);
    gt_table_free(samples);
    gt_interner_free(strings);
    gt_buffer_free(&text);
    return joules;
}

#define AT(seconds, watts) "2025-01-31 12:00:0" seconds "," watts ",1.0\r\n"

static void missing_samples_take_no_energy_away(void **state)
{
    (void)state;
    /* 40 W and 42 W, 2 s apart; then 42 W and 40 W */
    assert_float_equal(
        energy_of(AT("0.0", "40.0") AT("1.0", "N/A") AT("2.0", "42.0") AT("3.0", "N/A") AT("4.0", "40.0")),
        82 + 82, 1e-6);
    /* missing at the beginning: 50 W from 0 s to 2 s; at the end: 70 W from 3 s to 5 s */
    assert_float_equal(
        energy_of(AT("0.0", "N/A") AT("2.0", "50.0") AT("3.0", "70.0") AT("4.0", "N/A") AT("5.0", "N/A")),
        100 + 60 + 140, 1e-6);
    /* a ramp from 0 W to 100 W in 4 s, at times with different distances */
    assert_float_equal(energy_of(AT("0.0", "0.0") AT("1.0", "25.0") AT("1.5", "37.5") AT("4.0", "100.0")),
                       200, 1e-6);
    assert_float_equal(energy_of(AT("0.0", "N/A") AT("1.0", "5.0")), 5, 1e-6);
    assert_float_equal(energy_of(AT("1.0", "5.0")), 0, 1e-9);
    /* a clock that is set back */
    assert_float_equal(energy_of(AT("5.0", "10.0") AT("6.0", "10.0") AT("2.0", "10.0") AT("3.0", "10.0")), 20,
                       1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing_samples_take_no_energy_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
