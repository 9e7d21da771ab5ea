/* Writes the page of several sweeps: charts that the page's program draws on one scale from the rows of
 * `sweep top` (spread.c), and a document with the PNG plots. Headings, classes and order of the document are
 * those of the Python script's page, so that scripts that look for them still work; the program moves its
 * parts into its sections. */
#include "sweep/compare/compare.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/text.h"
#include "page/page.h"
#include "sweep/compare/spread.h"

static const char PLOTS_FOLDER[] = "tracelens_analysis/plots";
enum { LARGEST_PLOT = 64 << 20, SWEEPS_A_ROW = 2 };

/* The parts of the document: which plots each has, and what the page's section asks for. Those of other axes
 * than threads and channels are only there if a sweep has some. */
static const struct {
    gt_variance_form form;
    gt_variance_kind kind; /* of the axis; of lines: GT_BY_OTHER for all pairs */
    const char *part, *heading, *alt;
} PARTS[] = {
    {GT_PLOT_BOXES, GT_BY_THREADS, "threads", "Variance by Thread Count", "Threads"},
    {GT_PLOT_BOXES, GT_BY_CHANNELS, "channels", "Variance by Channel Count", "Channels"},
    {GT_PLOT_BOXES, GT_BY_OTHER, "axes", "Variance by Other Axes", NULL},
    {GT_PLOT_BOXES, GT_BY_RANKS, "ranks", "Variance by Rank", "Ranks"},
    {GT_PLOT_VIOLINS, GT_BY_OTHER, "distribution", "Variance Distribution (Violin Plots)", "Violin"},
    {GT_PLOT_LINES, GT_BY_OTHER, "interaction", "Thread-Channel Interaction", "Interaction"},
};

/* The files that the last section lists per sweep. */
static const struct {
    const char *name, *path;
} DATA_FILES[] = {
    {"GEMM Variance CSV", NULL}, /* named after --top_k */
    {"TraceLens Reports", "tracelens_analysis"},
    {"Plots", PLOTS_FOLDER},
};

static const char TITLE[] = "GEMM Kernel Variance - Sweep Comparison";

static const char INTRODUCTION[] = "<div class=\"info-box\" data-part=\"introduction\">\n<p>Variance of GEMM "
                                   "kernel times, with the plots of "
                                   "each sweep side by side.</p>\n<p>A point is one group of equal GEMM "
                                   "calls of one rank; its time difference "
                                   "is that between the slowest and the fastest call.</p>\n</div>\n";

/* ---- files ---- */

/* The rows of `sweep top` of a sweep. */
static char *variance_file(const gt_compared_sweep *sweep, int64_t top)
{
    return gt_format("%s/tracelens_analysis/top%lld_gemm_kernels_time_variance.csv", sweep->path,
                     (long long)top);
}

/* The absolute path of a folder. If it does not exist yet, its last parts are used as given. */
static bool whole_path(const char *folder, char whole[PATH_MAX])
{
    if (realpath(*folder ? folder : ".", whole)) return true;
    if (strlen(folder) >= PATH_MAX) return false;
    const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
    char *parent = gt_format("%.*s", slash ? (int)(slash - folder) : 0, folder);
    bool found = *folder && whole_path(parent, whole);
    size_t used = found ? strlen(whole) : 0, len = strlen(name);
    gt_free(parent);
    if (!found || used + len + 2 > PATH_MAX) return false;
    if (len && strcmp(name, ".") != 0) snprintf(whole + used, PATH_MAX - used, "/%s", name);
    return true;
}

static char *relative_path(const char *from_folder, const char *to)
{
    char from[PATH_MAX], target[PATH_MAX];
    if (!whole_path(from_folder, from) || !realpath(to, target)) return NULL;
    size_t shared =
        0; /* end of the common part: the last '/' that both have, or the end of a name that both have */
    for (size_t i = 0;; i++) {
        bool from_ends = !from[i] || from[i] == '/', target_ends = !target[i] || target[i] == '/';
        if (from_ends && target_ends) shared = i;
        if (from[i] != target[i] || !from[i]) break;
    }
    gt_buffer path = {0};
    for (const char *at = from + shared; *at; at++)
        if (*at == '/' && at[1]) gt_buffer_add_cstr(&path, "../");
    const char *rest = target + shared;
    while (*rest == '/') rest++;
    gt_buffer_add_cstr(&path, *rest || path.len ? rest : ".");
    return gt_buffer_take(&path);
}

static bool read_file(FILE *file, gt_buffer *bytes)
{
    struct stat status;
    if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > LARGEST_PLOT)
        return false;
    size_t size = (size_t)status.st_size;
    bytes->len = fread(gt_buffer_reserve(bytes, size), 1, size, file);
    return bytes->len == size;
}

/* The bytes of an image; false if it cannot be read. */
static bool read_png(const char *path, gt_buffer *bytes)
{
    static const char signature[] = "\x89PNG\r\n\x1a\n";
    bytes->len = 0;
    FILE *file = gt_path_may_open(path) ? gt_fopen(path, "rb") : NULL;
    if (!file) return false;
    bool ok = read_file(file, bytes) && bytes->len > strlen(signature) &&
              memcmp(bytes->bytes, signature, strlen(signature)) == 0;
    fclose(file);
    return ok;
}

/* ---- sections ---- */

static void add_tagged(gt_buffer *page, const char *open, const char *text, const char *close)
{
    gt_buffer_add_cstr(page, open);
    gt_html_add_text(page, text);
    gt_buffer_add_cstr(page, close);
}

static void add_number(gt_buffer *page, const char *before, size_t number, const char *after)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%zu", number);
    gt_buffer_add_cstr(page, before);
    gt_buffer_add_cstr(page, digits);
    gt_buffer_add_cstr(page, after);
}

static void add_sweep_table(gt_buffer *page, const gt_compared_sweep *sweeps, size_t count)
{
    gt_buffer_add_cstr(page, "<hr>\n<h2>Sweep Information</h2>\n<table class=\"plain\" "
                             "data-part=\"sweeps\">\n<tr><th>Sweep</th><th>Label</th><th>Path</th></tr>\n");
    for (size_t i = 0; i < count; i++) {
        add_number(page, "<tr><td>Sweep ", i + 1, "</td>");
        add_tagged(page, "<td>", sweeps[i].label, "</td>");
        add_tagged(page, "<td>", sweeps[i].path, "</td></tr>\n");
    }
    gt_buffer_add_cstr(page, "</table>\n");
}

/* What the document shows: the sweeps, and the plots that any of them has. */
typedef struct shown_plot {
    gt_variance_form form;
    gt_variance_kind kind;
    const char *file, *title;
} shown_plot;

typedef struct shown {
    const gt_compared_sweep *sweeps;
    size_t count;
    shown_plot *plots;
    size_t plot_count, plot_capacity;
    gt_variance_plots *lists; /* of the sweeps, and a last one for sweeps without rows: they own the names */
    bool has_other_axes;
    gt_buffer scratch;
} shown;

static void show_plots(shown *s, const gt_variance_plots *plots, const gt_variance_rows *rows)
{
    static const gt_variance_kind classic[] = {GT_BY_THREADS, GT_BY_CHANNELS, GT_BY_RANKS};
    for (size_t i = 0; i < plots->count; i++) {
        const gt_variance_plot *plot = &plots->items[i];
        bool is_known = false;
        for (size_t k = 0; k < s->plot_count && !is_known; k++)
            is_known = strcmp(s->plots[k].file, plot->file) == 0;
        gt_variance_kind kind = plot->form != GT_PLOT_BOXES ? GT_BY_OTHER
                                : rows                      ? rows->axes[plot->axis].kind
                                                            : classic[plot->axis];
        shown_plot one = {plot->form, kind, plot->file, plot->title};
        s->has_other_axes |= plot->form == GT_PLOT_BOXES && kind == GT_BY_OTHER;
        if (!is_known) GT_PUSH(s->plots, s->plot_count, s->plot_capacity, one);
    }
}

static shown what_is_shown(const gt_compared_sweep *sweeps, size_t count, const gt_sweep_spread *spreads)
{
    shown s = {.sweeps = sweeps, .count = count, .lists = gt_alloc_zero(count + 1, sizeof *s.lists)};
    bool all_have_rows = true;
    for (size_t i = 0; i < count; i++) {
        all_have_rows = all_have_rows && spreads[i].rows;
        if (!spreads[i].rows) continue;
        s.lists[i] = gt_variance_plots_of(&spreads[i].variance);
        show_plots(&s, &s.lists[i], &spreads[i].variance);
    }
    if (!all_have_rows) {
        s.lists[count] = gt_variance_plots_of(NULL);
        show_plots(&s, &s.lists[count], NULL);
    }
    return s;
}

static void free_shown(shown *s)
{
    for (size_t i = 0; i <= s->count; i++) gt_variance_plots_free(&s->lists[i]);
    gt_free(s->lists);
    gt_free(s->plots);
    gt_buffer_free(&s->scratch);
}

static void add_plot(gt_buffer *page, shown *s, size_t sweep, const shown_plot *plot, const char *alt)
{
    char *path = gt_format("%s/%s/%s", s->sweeps[sweep].path, PLOTS_FOLDER, plot->file);
    if (read_png(path, &s->scratch)) {
        gt_buffer_add_cstr(page, "<td><img src=\"data:image/png;base64,");
        gt_html_add_base64(page, s->scratch.bytes, s->scratch.len);
        add_tagged(page, "\" alt=\"", alt ? alt : plot->title, "");
        add_number(page, " Sweep ", sweep + 1, "\"></td>\n");
    } else {
        gt_warn("no plot %s", path);
        add_tagged(page, "<td><div class=\"missing\">plot not available: ", plot->file, "</div></td>\n");
    }
    gt_free(path);
}

static void add_plot_rows(gt_buffer *page, shown *s, const shown_plot *plot, const char *alt)
{
    for (size_t first = 0; first < s->count; first += SWEEPS_A_ROW) {
        size_t end = first + SWEEPS_A_ROW < s->count ? first + SWEEPS_A_ROW : s->count;
        gt_buffer_add_cstr(page, "<tr>");
        for (size_t i = first; i < end; i++) add_tagged(page, "<th>", s->sweeps[i].label, "</th>");
        gt_buffer_add_cstr(page, "</tr>\n<tr>\n");
        for (size_t i = first; i < end; i++) add_plot(page, s, i, plot, alt);
        gt_buffer_add_cstr(page, "</tr>\n");
    }
}

/* The plots of one part, in one table; if there are several, each has a row with its title. */
static void add_part(gt_buffer *page, shown *s, size_t part)
{
    size_t count = 0;
    for (size_t i = 0; i < s->plot_count; i++)
        count += s->plots[i].form == PARTS[part].form && s->plots[i].kind == PARTS[part].kind;
    if (!count) return;
    bool is_pair = PARTS[part].form == GT_PLOT_LINES && s->has_other_axes;
    add_tagged(page, "<hr>\n<h2>", is_pair ? "Interaction of Axes" : PARTS[part].heading,
               "</h2>\n<table class=\"comparison-table\"");
    add_tagged(page, " data-part=\"", PARTS[part].part, "\">\n");
    for (size_t i = 0; i < s->plot_count; i++) {
        const shown_plot *plot = &s->plots[i];
        if (plot->form != PARTS[part].form || plot->kind != PARTS[part].kind) continue;
        if (count > 1) add_tagged(page, "<tr><th colspan=\"2\">", plot->title, "</th></tr>\n");
        add_plot_rows(page, s, plot, count > 1 ? NULL : PARTS[part].alt);
    }
    gt_buffer_add_cstr(page, "</table>\n");
}

static void add_data_file(gt_buffer *page, const gt_compared_sweep *sweep, size_t file, int64_t top,
                          const char *page_folder)
{
    char *path = DATA_FILES[file].path ? gt_format("%s/%s", sweep->path, DATA_FILES[file].path)
                                       : variance_file(sweep, top);
    char *link = relative_path(page_folder, path);
    gt_buffer_add_cstr(page, "<li>");
    if (link) {
        gt_buffer_add_cstr(page, "<a href=\"");
        gt_html_add_url(page, link);
        gt_buffer_add_cstr(page, "\">");
    }
    gt_html_add_text(page, DATA_FILES[file].name);
    gt_buffer_add_cstr(page, link ? "</a></li>\n" : "</li>\n");
    gt_free(link);
    gt_free(path);
}

static void add_data_section(gt_buffer *page, const gt_compared_sweep *sweeps, size_t count, int64_t top,
                             const char *page_folder)
{
    gt_buffer_add_cstr(
        page, "<hr>\n<h2>Data Files Information</h2>\n<div class=\"data-section\" data-part=\"files\">\n");
    for (size_t i = 0; i < count; i++) {
        add_number(page, "<h3>Sweep ", i + 1, ": ");
        add_tagged(page, "", sweeps[i].label, "</h3>\n<ul>\n");
        add_tagged(page, "<li>Path: ", sweeps[i].path, "</li>\n");
        for (size_t file = 0; file < GT_LENGTH(DATA_FILES); file++)
            add_data_file(page, &sweeps[i], file, top, page_folder);
        gt_buffer_add_cstr(page, "</ul>\n");
    }
    gt_buffer_add_cstr(page, "</div>\n");
}

static void add_document(gt_buffer *page, const gt_compared_sweep *sweeps, const gt_sweep_spread *spreads,
                         size_t count, int64_t top, const char *page_folder)
{
    shown s = what_is_shown(sweeps, count, spreads);
    add_tagged(page, "<div id=\"document\">\n<h1>", TITLE, "</h1>\n");
    gt_buffer_add_cstr(page, INTRODUCTION);
    add_sweep_table(page, sweeps, count);
    for (size_t part = 0; part < GT_LENGTH(PARTS); part++) add_part(page, &s, part);
    add_data_section(page, sweeps, count, top, page_folder);
    gt_buffer_add_cstr(page, "</div>\n");
    free_shown(&s);
}

/* ---- the page ---- */

static void read_spread(gt_sweep_spread *spread, const gt_compared_sweep *sweep, int64_t top,
                        gt_interner *strings)
{
    char *path = variance_file(sweep, top);
    gt_sweep_spread_read(spread, path, strings);
    gt_free(path);
}

void gt_comparison_page(gt_buffer *page, const gt_compared_sweep *sweeps, size_t count, int64_t top,
                        const char *page_folder)
{
    gt_interner *strings = gt_interner_new();
    gt_sweep_spread *spreads = gt_alloc(count * sizeof *spreads);
    gt_page_source *sources = gt_alloc(count * sizeof *sources);
    const char **labels = gt_alloc(count * sizeof *labels);
    gt_buffer document = {0}, facts = {0};
    for (size_t i = 0; i < count; i++) {
        read_spread(&spreads[i], &sweeps[i], top, strings);
        labels[i] = sweeps[i].label;
        sources[i] =
            (gt_page_source){.label = labels[i], .sheets = &spreads[i].sheets, .work = &spreads[i].work};
    }
    add_document(&document, sweeps, spreads, count, top, page_folder);
    gt_sweep_spread_facts(spreads, labels, count, &facts);
    gt_page_make(&(gt_page){.kind = GT_PAGE_SWEEP,
                            .title = TITLE,
                            .facts = gt_buffer_str(&facts).bytes,
                            .sources = sources,
                            .source_count = count,
                            .document = gt_buffer_str(&document).bytes},
                 page);
    for (size_t i = 0; i < count; i++) gt_sweep_spread_free(&spreads[i]);
    gt_buffer_free(&document);
    gt_buffer_free(&facts);
    gt_free(labels);
    gt_free(sources);
    gt_free(spreads);
    gt_interner_free(strings);
}
