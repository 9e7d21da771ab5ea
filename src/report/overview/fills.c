/* Colours of the charts: those that the page has in its light theme (page/web/colors.js), so that GEMM and
 * idle time look the same everywhere. Idle time is hatched: a grey and a direction per cause, and the largest
 * cause has the accent. */
#include "report/overview/overview.h"

static const uint32_t category_colors[GT_PAGE_CATEGORIES] = {
    [GT_PAGE_GEMM] = 0x0072b2,          [GT_PAGE_ATTENTION] = 0x56b4e9,   [GT_PAGE_CONVOLUTION] = 0x004d80,
    [GT_PAGE_NORMALISATION] = 0x009e73, [GT_PAGE_ELEMENTWISE] = 0x7fc8a9, [GT_PAGE_REDUCTION] = 0xb884c4,
    [GT_PAGE_OPTIMIZER] = 0xe69f00,     [GT_PAGE_OTHER] = 0x8a8f98,       [GT_PAGE_COMMUNICATION] = 0xd55e00,
    [GT_PAGE_COPY] = 0xe3d200,
};

/* Halfway to white. */
static uint32_t lighter(uint32_t color)
{
    return (color >> 1 & 0x7f7f7f) + 0x808080;
}

gt_chart_fill gt_overview_category_fill(gt_page_category category, size_t repetition)
{
    uint32_t color = category_colors[category];
    for (size_t i = 0; i < repetition && i < 2; i++) color = lighter(color);
    return (gt_chart_fill){.color = color};
}

enum { LIGHT_GREY, DARK_GREY, ACCENT };
static const struct {
    uint32_t ground, line;
} hatches[] = {
    [LIGHT_GREY] = {0xeceef0, 0xa9aeb6}, [DARK_GREY] = {0xd3d7dc, 0x8f959e}, [ACCENT] = {0xf9d9d3, 0xbf3b2b}};

static const struct {
    const char *cause;
    int grey;
    const char *pattern;
} causes[] = {
    {"launch", LIGHT_GREY, "ltUpDiag"},      {"sync", LIGHT_GREY, "ltDnDiag"},
    {"data", DARK_GREY, "ltUpDiag"},         {"cpu_op", DARK_GREY, "ltDnDiag"},
    {"python", LIGHT_GREY, "ltVert"},        {"untraced", LIGHT_GREY, "ltHorz"},
    {"alloc", DARK_GREY, "ltVert"},          {"module", DARK_GREY, "ltHorz"},
    {"copy", LIGHT_GREY, "openDmnd"},        {"profiler", DARK_GREY, "openDmnd"},
    {"device_gap", LIGHT_GREY, "lgGrid"},    {"dependency", DARK_GREY, "lgGrid"},
    {"device_wait", LIGHT_GREY, "dashVert"}, {"collective", DARK_GREY, "dashVert"},
};

gt_chart_fill gt_overview_cause_fill(gt_str cause, bool is_largest)
{
    for (size_t i = 0; i < GT_LENGTH(causes); i++) {
        if (!gt_str_equals(cause, causes[i].cause)) continue;
        int shade = is_largest ? ACCENT : causes[i].grey;
        return (gt_chart_fill){causes[i].pattern, hatches[shade].line, hatches[shade].ground};
    }
    return (gt_chart_fill){.color = hatches[is_largest ? ACCENT : LIGHT_GREY].ground};
}
