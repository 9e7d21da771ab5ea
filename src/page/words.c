/* Numbers in sentences. */
#include "page/words.h"

void gt_words_add_count(gt_buffer *out, uint64_t count)
{
    char text[32], *at = text + sizeof text;
    *--at = 0;
    for (unsigned digits = 0; digits == 0 || count; digits++, count /= 10) {
        if (digits && digits % 3 == 0) *--at = ',';
        *--at = (char)('0' + count % 10);
    }
    gt_buffer_add_cstr(out, at);
}

static void add_three_digits(gt_buffer *out, double value)
{
    if (value >= 999.5)
        gt_words_add_count(out, (uint64_t)fmin(round(value), 1e18));
    else
        gt_buffer_add_format(out, "%.*f", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value);
}

gt_time_unit gt_words_time_unit(double ns)
{
    static const gt_time_unit units[] = {{"ns", 1}, {"\u00B5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    size_t i = sizeof units / sizeof *units - 1;
    while (i > 0 && ns < 0.9995 * units[i].ns) i--;
    return units[i];
}

void gt_words_add_time(gt_buffer *out, double ns)
{
    static const char *const units[] = {"ns", "\u00B5s", "ms", "s"};
    size_t unit = 0;
    for (; unit < 3 && ns >= 999.5; unit++) ns /= 1e3;
    if (unit == 0)
        gt_buffer_add_format(out, "%.0f", ns);
    else
        add_three_digits(out, ns);
    gt_buffer_add_format(out, " %s", units[unit]);
}

void gt_words_add_share(gt_buffer *out, double part, double whole)
{
    double percent = whole > 0 ? 100 * part / whole : 0;
    if (percent <= 0 || percent >= 100 || (percent >= 0.95 && percent < 99.05))
        gt_buffer_add_format(out, "%.0f %%", percent);
    else if (percent >= 99.95)
        gt_buffer_add_cstr(out, "over 99.9 %");
    else if (percent < 0.05)
        gt_buffer_add_cstr(out, "under 0.1 %");
    else
        gt_buffer_add_format(out, "%.1f %%", percent);
}
