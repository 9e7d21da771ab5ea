/* The page of compared runs: the plots, embedded, with a sentence on each. Title, headings, their order and
 * the alternative texts are those of the page of the scripts that gputally replaces. */
#include "sweep/compare/run_plots.h"
#include "os/paths.h"

enum { LARGEST_PLOT = 64 << 20, ROWS_MAX = 1000 };

typedef struct page_plot {
    const char *name, *file, *alt, *text;
    const char *other_file; /* that the scripts' page asks for; NULL: none */
} page_plot;

static const page_plot OVERALL[] = {
    {"Percentage Change Overview", "improvement_chart.png", "Summary Chart",
     "By how many percent the mean time of each GPU metric changed.", NULL},
    {"Absolute Time Comparison", "abs_time_comparison.png", "Absolute Time Comparison",
     "The mean time of each GPU metric in each run.", NULL},
};
static const page_plot BY_RANK[] = {
    {"Performance Heatmap by Rank", "gpu_time_heatmap.png", "GPU Metric Percentage Change by Rank (HeatMap)",
     "The change of every metric on every rank, green where the test takes less time.", NULL},
    {"Total Time", "total_time_by_rank.png", "total_time by Rank",
     "The time from the first to the last GPU event of each rank.", NULL},
    {"Computation Time", "computation_time_by_rank.png", "computation_time by Rank",
     "The time in which each rank computes, with or without communication at the same time.", NULL},
    {"Communication Time", "total_comm_time_by_rank.png", "total_comm_time by Rank",
     "The time in which each rank runs collectives.", NULL},
    {"Idle Time", "idle_time_by_rank.png", "idle_time by Rank",
     "The time in which the GPU of each rank does nothing.", NULL},
    {"Detailed Percentage Change by Metric", "gpu_time_change_percentage_summary_by_rank.png",
     "gpu_time_change_percentage_summaryby_rank by Rank",
     "The change of each metric on every rank, positive where the test takes less time.",
     "gpu_time_change_percentage_summaryby_rank.png"},
};
static const page_plot COLLECTIVES[] = {
    {"NCCL Communication Latency", "NCCL_Communication_Latency_comparison.png",
     "NCCL Communication Latency Comparison", "The mean latency of each collective and message size.", NULL},
    {"NCCL Algorithm Bandwidth", "NCCL_Algorithm_Bandwidth_comparison.png",
     "NCCL Algorithm Bandwidth Comparison", "The bytes of the message per second of latency.", NULL},
    {"NCCL Bus Bandwidth", "NCCL_Bus_Bandwidth_comparison.png", "NCCL Bus Bandwidth Comparison",
     "The bytes per second that each GPU moves over its links.", NULL},
    {"NCCL Performance Percentage Change", "NCCL_Performance_Percentage_Change_comparison.png",
     "NCCL Performance Percentage Change Comparison",
     "The change of latency and bandwidths, positive where the test is better.", NULL},
    {"NCCL Total Communication Latency", "NCCL_Total_Communication_Latency_comparison.png",
     "NCCL Total Communication Latency Comparison",
     "The latency of each collective and message size, summed over its calls.", NULL},
};

static const struct {
    const char *heading;
    const page_plot *plots;
    size_t count;
} SECTIONS[] = {
    {"1. Overall GPU Metrics Comparison", OVERALL, GT_LENGTH(OVERALL)},
    {"2. Cross-Rank Performance Comparison", BY_RANK, GT_LENGTH(BY_RANK)},
    {"3. NCCL Collective Operations Analysis", COLLECTIVES, GT_LENGTH(COLLECTIVES)},
};

static const char HEAD[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Performance Analysis Report</title>\n<style>\n"
    "body { font-family: system-ui, sans-serif; line-height: 1.5; max-width: 62rem; margin: 0 auto; padding: "
    "1.5rem; color: #1f2328; background: #fff; }\n"
    "h1, h2, h3 { border-bottom: 1px solid #d8dee4; padding-bottom: .3rem; }\n"
    "img { max-width: 100%; height: auto; }\n"
    "p.note { color: #59636e; margin-top: 0; }\n"
    ".wide { overflow-x: auto; }\n"
    "table { border-collapse: collapse; font-size: .9rem; }\n"
    "th, td { border-bottom: 1px solid #d8dee4; padding: .2rem .7rem; text-align: right; }\n"
    "th:first-child, td:first-child { text-align: left; }\n"
    "td.better { color: #116329; }\ntd.worse { color: #a40e26; }\n"
    "@media print { h4 { break-after: avoid; } img { break-inside: avoid; } }\n"
    "</style>\n</head>\n<body>\n<h1>Performance Analysis Report</h1>\n";

static void add_tagged(gt_buffer *html, const char *open, const char *text, const char *close)
{
    gt_buffer_add_cstr(html, open);
    gt_html_add_text(html, text);
    gt_buffer_add_cstr(html, close);
}

/* ---- the table at the beginning ---- */

static const char *class_of(gt_cell cell)
{
    if (cell.type != GT_TYPE_STRING || cell.is_null) return "";
    return strcmp(cell.text.bytes, "Better") == 0  ? " class=\"better\""
           : strcmp(cell.text.bytes, "Worse") == 0 ? " class=\"worse\""
                                                   : "";
}

static void add_cell(gt_buffer *html, const gt_table *table, size_t column, size_t row)
{
    gt_cell cell = gt_table_cell(table, column, row);
    gt_buffer_add_format(html, "<td%s>", class_of(cell));
    if (cell.is_null)
        gt_buffer_add_cstr(html, "");
    else if (cell.type == GT_TYPE_STRING)
        gt_html_add_text(html, cell.text.bytes);
    else if (cell.type == GT_TYPE_INT)
        gt_buffer_add_int(html, cell.integer);
    else if (cell.type == GT_TYPE_FLOAT)
        gt_buffer_add_format(html, "%.2f", cell.number);
    gt_buffer_add_cstr(html, "</td>");
}

static void add_table(gt_buffer *html, const gt_table *table)
{
    gt_buffer_add_cstr(html, "<div class=\"wide\">\n<table>\n<tr>");
    for (size_t c = 0; c < table->column_count; c++)
        add_tagged(html, "<th>", table->columns[c].name, "</th>");
    gt_buffer_add_cstr(html, "</tr>\n");
    for (size_t row = 0; row < table->row_count && row < ROWS_MAX; row++) {
        gt_buffer_add_cstr(html, "<tr>");
        for (size_t c = 0; c < table->column_count; c++) add_cell(html, table, c, row);
        gt_buffer_add_cstr(html, "</tr>\n");
    }
    gt_buffer_add_cstr(html, "</table>\n</div>\n");
}

static void add_summary(gt_buffer *html, const gt_run_page *page)
{
    gt_buffer_add_cstr(html, "<h2>Executive Summary</h2>\n<p>Comparison of GPU performance metrics between ");
    if (page->run_count < 2) gt_buffer_add_cstr(html, "the baseline and the test");
    for (size_t i = 0; i < page->run_count && page->run_count >= 2; i++) {
        gt_buffer_add_cstr(html, i == 0 ? "the baseline " : i == 1 ? " and " : ", ");
        add_tagged(html, "<b>", page->runs[i], "</b>");
    }
    gt_buffer_add_cstr(html, ".</p>\n");
    if (page->table) add_table(html, page->table);
}

/* ---- plots ---- */

static bool is_wanted(const gt_run_page *page, const char *file)
{
    for (size_t i = 0; page->drawn && i < page->drawn->count; i++)
        if (strcmp(page->drawn->names[i], file) == 0) return true;
    return !page->drawn;
}

/* The bytes of a plot; false if there is none. */
static bool read_plot(const gt_run_page *page, const char *file, gt_buffer *bytes)
{
    static const char signature[] = "\x89PNG\r\n\x1a\n";
    gt_error error;
    if (!file || !is_wanted(page, file)) return false;
    char *path = gt_format("%s/%s", page->plots, file);
    bytes->len = 0;
    bool is_there = gt_path_is_file(path) && gt_path_may_open(path);
    bool is_read = is_there && gt_read_small_file(path, LARGEST_PLOT, bytes, &error);
    bool is_png =
        is_read && bytes->len > strlen(signature) && memcmp(bytes->bytes, signature, strlen(signature)) == 0;
    if (is_there && !is_png) gt_warn("%s: not a PNG file that can be read", path);
    gt_free(path);
    return is_png;
}

static bool add_plot(gt_buffer *html, const gt_run_page *page, const page_plot *plot, gt_buffer *bytes)
{
    if (!read_plot(page, plot->file, bytes) && !read_plot(page, plot->other_file, bytes)) return false;
    add_tagged(html, "<h4>", plot->name, "</h4>\n<img class=\"chart-image\" alt=\"");
    add_tagged(html, "", plot->alt, "\" src=\"data:image/png;base64,");
    gt_html_add_base64(html, bytes->bytes, bytes->len);
    add_tagged(html, "\">\n<p class=\"note\">", plot->text, "</p>\n");
    return true;
}

bool gt_run_page_make(gt_buffer *html, const gt_run_page *page, gt_error *error)
{
    gt_buffer bytes = {0};
    size_t shown = 0;
    gt_buffer_add_cstr(html, HEAD);
    add_summary(html, page);
    for (size_t i = 0; i < GT_LENGTH(SECTIONS); i++) {
        add_tagged(html, "<h3>", SECTIONS[i].heading, "</h3>\n");
        size_t before = shown;
        for (size_t k = 0; k < SECTIONS[i].count; k++)
            shown += add_plot(html, page, &SECTIONS[i].plots[k], &bytes);
        if (shown == before) gt_buffer_add_cstr(html, "<p class=\"note\">No plots.</p>\n");
    }
    gt_buffer_add_cstr(html, "</body>\n</html>\n");
    gt_buffer_free(&bytes);
    return shown > 0 || gt_fail(error, "%s: no plots of compared runs", page->plots);
}
