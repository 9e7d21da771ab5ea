/* What `sweep report` says when all reports are written: settings without collectives, ranks without a trace,
 * and what could not be done. */
#include "sweep/report_job.h"

#include "input/chrome/kineto.h"

enum { NAMES_MAX = 4, RANKS_MAX = 1000000, RANKS_SHOWN = 20 };

/* One line for all settings: a sweep on one GPU has many of them. */
void gt_report_warn_without_collectives(const gt_report_job *j)
{
    gt_buffer names = {0};
    size_t count = 0;
    for (size_t i = 0; i < j->sweep->count; i++) {
        if (!j->settings[i].lacks_collectives) continue;
        if (count++ < NAMES_MAX)
            gt_buffer_add_format(&names, "%s%s", names.len ? ", " : "", j->sweep->configs[i].name);
    }
    if (count > NAMES_MAX) gt_buffer_add_format(&names, " and %zu more", count - NAMES_MAX);
    if (count && count == j->sweep->count && !j->options->profiler_folder)
        gt_warn("no collectives in the traces; no collective reports");
    else if (count)
        gt_warn("no collectives in the traces of %.*s; no collective report", (int)names.len, names.bytes);
    gt_buffer_free(&names);
}

/* ---- ranks without a trace ---- */

/* How many ranks ran, by the first trace or by the last rank with one. */
static int64_t count_ran(const gt_report_setting *s)
{
    gt_error ignored;
    gt_stream *stream = gt_stream_open(s->traces.items[0].path, &ignored);
    int64_t ran = stream ? gt_kineto_find_distributed(stream).world_size : 0;
    int64_t named = s->traces.items[s->traces.count - 1].rank + 1;
    gt_stream_close(stream);
    return ran > named && ran <= RANKS_MAX ? ran : named;
}

/* "8 ranks ran, traces of 7: rank 5 is missing"; NULL if each has one. The caller frees it. */
static char *describe_missing(const gt_report_setting *s)
{
    gt_buffer list = {0};
    int64_t ran = count_ran(s), missing = 0;
    size_t next = 0; /* traces are in the order of ranks */
    for (int64_t rank = 0; rank < ran; rank++) {
        while (next < s->traces.count && s->traces.items[next].rank < rank) next++;
        if (next < s->traces.count && s->traces.items[next].rank == rank) continue;
        if (missing++ < RANKS_SHOWN) gt_buffer_add_format(&list, "%s%" PRId64, list.len ? ", " : "", rank);
    }
    bool one = missing == 1;
    char *text = missing ? gt_format("%" PRId64 " ranks ran, traces of %" PRId64 ": %s %s%s %s missing", ran,
                                     ran - missing, one ? "rank" : "ranks", gt_buffer_str(&list).bytes,
                                     missing > RANKS_SHOWN ? ", ..." : "", one ? "is" : "are")
                         : NULL;
    gt_buffer_free(&list);
    return text;
}

/* One line for all settings from `first` on that lack the same ranks. */
static void warn_of_one(const gt_report_job *j, char **texts, size_t first)
{
    gt_buffer names = {0};
    size_t count = 0;
    for (size_t i = first; i < j->sweep->count; i++) {
        if (!texts[i] || strcmp(texts[i], texts[first]) != 0) continue;
        if (count++ < NAMES_MAX)
            gt_buffer_add_format(&names, "%s%s", names.len ? ", " : "", j->sweep->configs[i].name);
        if (i == first) continue;
        gt_free(texts[i]);
        texts[i] = NULL;
    }
    if (count > NAMES_MAX) gt_buffer_add_format(&names, " and %zu more", count - NAMES_MAX);
    gt_warn("%s: %s; the collective %s about the others", gt_buffer_str(&names).bytes, texts[first],
            count > 1 ? "reports are" : "report is");
    gt_buffer_free(&names);
}

void gt_report_warn_missing_ranks(const gt_report_job *j)
{
    char **texts = gt_alloc_zero(j->sweep->count, sizeof *texts);
    for (size_t i = 0; i < j->sweep->count; i++)
        if (j->settings[i].has_collective) texts[i] = describe_missing(&j->settings[i]);
    for (size_t i = 0; i < j->sweep->count; i++) {
        if (texts[i]) warn_of_one(j, texts, i);
        gt_free(texts[i]);
    }
    gt_free(texts);
}

/* ---- what could not be done ---- */

bool gt_sweep_totals_check(const gt_sweep_totals *totals, gt_error *error)
{
    char *failed =
        gt_format("%zu %s could not be written", totals->failed, totals->failed == 1 ? "report" : "reports");
    char *cut =
        gt_format("%zu %s could not be read whole", totals->cut, totals->cut == 1 ? "trace" : "traces");
    if (totals->failed || totals->cut)
        gt_fail(error, "%s%s%s", totals->failed ? failed : "", totals->failed && totals->cut ? ", and " : "",
                totals->cut ? cut : "");
    gt_free_all(failed, cut);
    return !totals->failed && !totals->cut;
}
