/* Where the folder of a run is, and where its reports are: below the run itself, or below the sweep that the
 * run is a setting of. */
#include "sweep/compare/compare.h"
#include "os/paths.h"

/* ---- the folder of a run ---- */

bool gt_has_rank_folders(const char *folder)
{
    gt_folder_list names = gt_list_folder(folder);
    bool found = false;
    for (size_t i = 0; i < names.count && !found; i++) {
        const char *at = names.items[i];
        int64_t rank;
        if (strncmp(at, "rank", 4) != 0) continue;
        at += at[4] == '_' ? 5 : 4;
        char *path = gt_format("%s/%s", folder, names.items[i]);
        found = gt_take_number(&at, &rank) && !*at && gt_path_is_folder(path);
        gt_free(path);
    }
    gt_folder_list_free(&names);
    return found;
}

char *gt_run_folder(const char *run, gt_error *error)
{
    char whole[PATH_MAX];
    if (!realpath(run, whole)) {
        gt_fail(error, "directory not found: %s", run);
        return NULL;
    }
    bool is_profiler = gt_path_is_named(whole, "torch_profiler") && gt_has_rank_folders(whole);
    return is_profiler ? gt_path_folder(whole) : gt_strdup(whole);
}

/* ---- where its reports are ---- */

/* Where the reports of a run are, and the prefix of their names. */
typedef struct place {
    char *folder;     /* with individual_reports and collective_reports */
    char *prefix;     /* of the rank reports: "perf_28ch_rank" */
    char *collective; /* name of the collective report */
    char *label;
    bool is_own; /* the folder is tracelens_analysis of the run itself */
} place;

static void free_place(place *p)
{
    gt_free_all(p->folder, p->prefix, p->collective, p->label);
}

/* Cuts off and returns the last part of a path that has no trailing '/'. */
static char *cut_last_part(char *path)
{
    char *slash = strrchr(path, '/');
    char *part = gt_strdup(slash ? slash + 1 : path);
    if (slash) *slash = 0;
    return part;
}

/* "nccl_28channels" in "256thread": the run is a setting of a sweep of threads and channels. */
static bool is_classic_setting(const char *threads, const char *channels)
{
    size_t len;
    size_t before = gt_folder_threads(threads);
    return before != SIZE_MAX && before && gt_folder_digits(channels, "nccl_", "channels", &len);
}

static bool has_reports(const char *folder)
{
    char *analysis = gt_format("%s/" GT_SWEEP_ANALYSIS, folder);
    bool found = gt_path_is_folder(analysis);
    gt_free(analysis);
    return found;
}

/* The nearest folder above the run with reports, if the folders between are those of axes. NULL: there is
 * none. The caller frees it. */
static char *reports_above(const char *whole_path)
{
    char *above = gt_strdup(whole_path);
    bool is_axis = true;
    while (is_axis && *above) {
        char *name = cut_last_part(above);
        is_axis = gt_folder_is_axis(name);
        gt_free(name);
        if (is_axis && has_reports(above)) return above;
    }
    gt_free(above);
    return NULL;
}

/* The folder of the sweep that the run is a setting of; NULL: the run is not in a sweep. The caller frees it.
 */
static char *sweep_above(const char *whole_path)
{
    char *above = gt_strdup(whole_path), *last = cut_last_part(above), *upper = cut_last_part(above);
    bool is_classic = is_classic_setting(upper, last);
    char *found = is_classic || !has_reports(whole_path) ? reports_above(whole_path) : NULL;
    gt_free_all(last, upper);
    if (found || !is_classic) {
        gt_free(above);
        return found;
    }
    return above; /* whose reports are missing */
}

/* A setting of a sweep, which may have any axes. */
static place place_in_sweep(const char *root, const char *whole_path)
{
    gt_sweep sweep;
    gt_sweep_begin(&sweep, root);
    gt_sweep_add(&sweep, root, whole_path + strlen(root) + 1);
    gt_sweep_finish(&sweep);
    const gt_sweep_config *config = &sweep.configs[0];
    bool is_top = strcmp(config->report_folder, ".") == 0;
    place p = {.folder = gt_format("%s/" GT_SWEEP_ANALYSIS "%s%s", root, is_top ? "" : "/",
                                   is_top ? "" : config->report_folder),
               .prefix = gt_format("perf_%s_rank", config->report_name),
               .collective = gt_format("collective_%s.xlsx", config->report_name),
               .label = gt_strdup(config->name)};
    if (gt_run_has_failed(config->status))
        gt_warn("%s: the run did not end well (%s)", config->name, gt_run_status_names[config->status]);
    gt_sweep_free(&sweep);
    return p;
}

/* "256thread_28ch" of SWEEP/256thread/nccl_28channels, like its reports in the sweep; else the folder name.
 */
static char *own_label(const char *whole_path)
{
    char *above = gt_strdup(whole_path), *last = cut_last_part(above), *upper = cut_last_part(above);
    size_t len = 0;
    const char *channels = gt_folder_digits(last, "nccl_", "channels", &len);
    char *label =
        is_classic_setting(upper, last) ? gt_format("%s_%.*sch", upper, (int)len, channels) : gt_strdup(last);
    gt_free_all(above, last, upper);
    return label;
}

static place own_place(const char *whole_path)
{
    return (place){.folder = gt_format("%s/" GT_SWEEP_ANALYSIS, whole_path),
                   .prefix = gt_strdup("perf_rank"),
                   .collective = gt_strdup("collective_all_ranks.xlsx"),
                   .label = own_label(whole_path),
                   .is_own = true};
}

/* Whether the run itself has reports. */
static bool has_own_reports(const char *whole_path)
{
    char *ranks = gt_format("%s/" GT_SWEEP_ANALYSIS "/individual_reports", whole_path),
         *collective = gt_format("%s/" GT_SWEEP_ANALYSIS "/collective_reports", whole_path);
    bool has = gt_path_is_folder(ranks) || gt_path_is_folder(collective);
    gt_free_all(ranks, collective);
    return has;
}

static place place_of(const char *whole_path, bool own_first)
{
    char *root = own_first && has_own_reports(whole_path) ? NULL : sweep_above(whole_path);
    place p = root ? place_in_sweep(root, whole_path) : own_place(whole_path);
    gt_free(root);
    return p;
}

GT_ORDER_BY(by_rank, gt_setting_report, GT_UP(rank))

static void add_ranks(gt_setting_reports *ranks, const char *folder, const char *prefix)
{
    gt_folder_list names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++) {
        const char *at = names.items[i];
        gt_setting_report report = {0};
        if (strncmp(at, prefix, strlen(prefix)) != 0) continue;
        at += strlen(prefix);
        if (!gt_take_number(&at, &report.rank) || strcmp(at, ".xlsx") != 0) continue;
        report.path = gt_format("%s/%s", folder, names.items[i]);
        report.file = gt_strdup(names.items[i]);
        GT_PUSH(ranks->items, ranks->count, ranks->capacity, report);
    }
    if (ranks->count) qsort(ranks->items, ranks->count, sizeof *ranks->items, by_rank);
    gt_folder_list_free(&names);
}

bool gt_run_reports_find(gt_run_reports *reports, const char *run, gt_reports_search search, gt_error *error)
{
    char *whole = gt_run_folder(run, error);
    *reports = (gt_run_reports){0};
    if (!whole) return false;
    place p = place_of(whole, search.own_first);
    char *individual = gt_format("%s/individual_reports", p.folder);
    add_ranks(&reports->ranks, individual, p.prefix);
    reports->label = gt_strdup(p.label);
    reports->folder_name = gt_strdup(gt_path_name(whole));
    reports->own_folder = p.is_own ? gt_strdup(p.folder) : NULL;
    reports->collective = gt_format("%s/collective_reports/%s", p.folder, p.collective);
    if (!gt_path_is_file(reports->collective)) {
        gt_free(reports->collective);
        reports->collective = NULL;
    }
    bool found = reports->ranks.count > 0 || (search.without_ranks && reports->collective);
    if (!found) gt_fail(error, "%s: no rank reports: no %s/%s<R>.xlsx", run, individual, p.prefix);
    gt_free_all(individual, whole);
    free_place(&p);
    return found;
}

bool gt_run_reports_in(gt_run_reports *reports, const char *folder, gt_error *error)
{
    *reports = (gt_run_reports){.label = gt_strdup(folder)};
    if (!gt_path_is_folder(folder)) return gt_fail(error, "Directory not found: %s", folder);
    add_ranks(&reports->ranks, folder, "perf_rank");
    return reports->ranks.count > 0 || gt_fail(error, "%s: no perf_rank<R>.xlsx", folder);
}

void gt_run_reports_free(gt_run_reports *reports)
{
    gt_setting_reports_free(&reports->ranks);
    gt_free_all(reports->collective, reports->label, reports->folder_name, reports->own_folder);
    *reports = (gt_run_reports){0};
}
