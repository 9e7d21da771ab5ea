/* The sheets about all ranks.
 *
 *     overview     name, value, unit, text: one row per fact; names as in the overview of one trace
 *                  where they mean the same; busy_ms and idle_ms are means over ranks, verdict is that
 *                  of the worst trace
 *     findings     rank (place in the list), id, severity, confidence, hint, kind, title, where,
 *                  gain_ms, gain_pct, score, evidence (joined by "; "), advice, ranks ("5",
 *                  "0-3, 7", "all"), gain_alone_ms (without the repairs before it)
 *     trust        id, level, value, warn, fail, text, ranks: one row per check that some rank does not
 *                  pass; the figures are those of the worst rank, which the text names
 *     rank_causes  rank, node, step_ms, then what it is made of: compute_ms, exposed_comm_ms (without
 *                  waiting), exposed_wait_ms, idle_ms; idle_ms by cause: idle_launch_ms, ...; then
 *                  wait_ms (all of it, also hidden by computation), late_ms (than the median rank),
 *                  last_pct, blame_pct (of all waiting, that for this rank) */

#include "findings/ranks/across.h"
#include "findings/sheets.h"
#include "schema/columns.h"
#include "table/stats.h"

static gt_table *findings_sheet(const gt_rank_findings *found, gt_interner *strings)
{
    gt_table *sheet = gt_findings_sheet_new(strings);
    size_t column = gt_table_add_column(sheet, GT_COL_RANKS, GT_TYPE_STRING);
    size_t alone = gt_table_add_column(sheet, GT_COL_GAIN_ALONE_MS, GT_TYPE_FLOAT);
    for (size_t i = 0; i < found->count; i++) {
        const gt_run_finding *finding = &found->items[i];
        const gt_finding_row row = {.id = finding->id,
                                    .title = finding->title,
                                    .where = finding->where,
                                    .evidence = finding->evidence,
                                    .advice = finding->advice,
                                    .severity = finding->severity,
                                    .confidence = finding->confidence,
                                    .is_gpu = finding->is_gpu,
                                    .gain_ms = finding->gain_ns / 1e6,
                                    .gain_pct = finding->gain_pct,
                                    .score = finding->score / 1e6};
        size_t at = gt_findings_sheet_add(sheet, &row);
        gt_table_set_cstr(sheet, column, at, finding->ranks);
        gt_table_set_float(sheet, alone, at, finding->alone_ns / 1e6);
    }
    return sheet;
}

/* ---- rank_causes ---- */

enum { RANK, NODE, STEP, COMPUTE, EXPOSED, EXPOSED_WAIT, IDLE, FIXED_COLUMNS };
enum { WAIT, LATE, LAST, BLAME, LAST_COLUMNS };

static const gt_column_head fixed_columns[] = {
    [RANK] = {GT_COL_RANK, GT_TYPE_INT},
    [NODE] = {GT_COL_NODE, GT_TYPE_STRING},
    [STEP] = {GT_COL_STEP_MS, GT_TYPE_FLOAT},
    [COMPUTE] = {GT_COL_COMPUTE_MS, GT_TYPE_FLOAT},
    [EXPOSED] = {GT_COL_EXPOSED_COMM_MS, GT_TYPE_FLOAT},
    [EXPOSED_WAIT] = {GT_COL_EXPOSED_WAIT_MS, GT_TYPE_FLOAT},
    [IDLE] = {GT_COL_IDLE_MS, GT_TYPE_FLOAT},
};
static const gt_column_head last_columns[] = {
    [WAIT] = {GT_COL_WAIT_MS, GT_TYPE_FLOAT},
    [LATE] = {GT_COL_LATE_MS, GT_TYPE_FLOAT},
    [LAST] = {GT_COL_LAST_PCT, GT_TYPE_FLOAT},
    [BLAME] = {GT_COL_BLAME_PCT, GT_TYPE_FLOAT},
};

void gt_rank_set_node(const gt_rank_findings *found, size_t rank, gt_table *sheet, size_t column, size_t row)
{
    if (found->nodes_known && found->ranks[rank].facts)
        gt_table_set_cstr(sheet, column, row, found->node_names[found->ranks[rank].node]);
}

static void fill_rank(gt_table *sheet, const gt_rank_findings *found, size_t rank)
{
    const gt_rank_summary *from = &found->ranks[rank];
    const gt_rank_facts *facts = from->facts;
    size_t row = gt_table_add_row(sheet), last = FIXED_COLUMNS + GT_CAUSES;
    double waited = fmin(from->exposed_wait_ns, facts->exposed_ns);
    gt_table_set_int(sheet, RANK, row, (int64_t)rank);
    gt_rank_set_node(found, rank, sheet, NODE, row);
    gt_table_set_float(sheet, STEP, row, facts->step_ns / 1e6);
    gt_table_set_float(sheet, COMPUTE, row, facts->compute_ns / 1e6);
    gt_table_set_float(sheet, EXPOSED, row, (facts->exposed_ns - waited) / 1e6);
    gt_table_set_float(sheet, EXPOSED_WAIT, row, waited / 1e6);
    gt_table_set_float(sheet, IDLE, row, facts->idle_ns / 1e6);
    for (size_t i = 0; i < GT_CAUSES; i++)
        gt_table_set_float(sheet, FIXED_COLUMNS + i, row, facts->cause_ns[i] / 1e6);
    gt_table_set_float(sheet, last + WAIT, row, from->wait_ns / 1e6);
    gt_table_set_float(sheet, last + LATE, row, from->late_ns / 1e6);
    gt_table_set_float(sheet, last + LAST, row, from->last_pct);
    gt_table_set_float(sheet, last + BLAME, row, from->blame_pct);
}

static gt_table *causes_sheet(const gt_rank_findings *found, gt_interner *strings)
{
    gt_table *sheet = gt_table_new(GT_SHEET_RANK_CAUSES, strings);
    gt_table_add_columns(sheet, fixed_columns, FIXED_COLUMNS);
    for (size_t i = 0; i < GT_CAUSES; i++) {
        char *name = gt_format("idle_%s_ms", gt_cause_name((gt_cause)i));
        gt_table_add_column(sheet, gt_col_named(name), GT_TYPE_FLOAT);
        gt_free(name);
    }
    gt_table_add_columns(sheet, last_columns, LAST_COLUMNS);
    gt_table_reserve_together(sheet, found->rank_count);
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known) fill_rank(sheet, found, r);
    return sheet;
}

/* ---- overview ---- */

/* One rank is another one, or did not run with the others: what is said about all ranks is not about one run.
 */
static bool is_distrusted(gt_rank_left_out why)
{
    return why == GT_LEFT_OUT_COPY || gt_rank_is_of_other_run(why);
}

size_t gt_rank_nodes(const gt_rank_findings *found)
{
    bool *is_seen = gt_alloc_zero(found->node_count + 1, sizeof *is_seen);
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        if (!found->ranks[r].known) continue;
        count += !is_seen[found->ranks[r].node];
        is_seen[found->ranks[r].node] = true;
    }
    gt_free(is_seen);
    return count;
}

static gt_table *overview_sheet(const gt_rank_findings *found, gt_interner *strings)
{
    gt_table *sheet = gt_overview_new(strings);
    gt_trust_level trust = found->disagreeing ? GT_TRUST_WARN : GT_TRUST_OK;
    size_t known = 0, steps = 0;
    double busy = 0, idle = 0;
    const char *device = "unknown";
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        /* A trace that cannot be compared makes the others less certain. */
        gt_trust_level own = facts ? facts->trust : GT_TRUST_WARN;
        if (own > trust) trust = own;
        if (trust < GT_TRUST_WARN && (found->ranks[r].is_shifted || found->ranks[r].is_uneven ||
                                      found->ranks[r].lacks || found->ranks[r].left_out))
            trust = GT_TRUST_WARN;
        if (is_distrusted(found->ranks[r].left_out)) trust = GT_TRUST_FAIL;
        if (!found->ranks[r].known) continue;
        if (!known++ && *facts->device) device = facts->device;
        if (facts->steps > steps) steps = facts->steps;
        busy += facts->step_ns - facts->idle_ns;
        idle += facts->idle_ns;
    }
    /* Ranks wait for a delay in collectives, which keep the GPU busy. */
    double busy_ms = busy / 1e6 / (double)(known ? known : 1) + found->unfelt_ns / 1e6;
    gt_overview_add_text(sheet, "verdict", gt_trust_verdict(trust));
    gt_overview_add_text(sheet, "all_ranks", found->verdict);
    gt_overview_add_text(sheet, "device", device);
    gt_overview_add_number(sheet, "ranks", (double)known, "ranks");
    gt_overview_add_number(sheet, "nodes", found->nodes_known ? (double)gt_rank_nodes(found) : NAN, "nodes");
    gt_overview_add_text(sheet, "per", found->per);
    gt_overview_add_number(sheet, "window_steps", (double)steps, "steps");
    gt_overview_add_number(sheet, "step_ms", found->step_ns / 1e6, "ms");
    gt_overview_add_number(sheet, "model_step_ms", found->step_ns / 1e6, "ms"); /* what gain_pct refers to */
    gt_overview_add_number(sheet, "busy_ms", busy_ms, "ms");
    gt_overview_add_number(sheet, "idle_ms", idle / 1e6 / (double)(known ? known : 1), "ms");
    gt_overview_add_number(sheet, "wait_ms", found->wait_ns / 1e6, "ms");
    gt_overview_add_number(sheet, "all_fixed_ms", found->all_fixed_ns / 1e6, "ms");
    if (found->critical) gt_overview_add_text(sheet, "critical_path", found->critical);
    if (found->segments_left_out)
        gt_overview_add_number(sheet, "critical_path_left_out", (double)found->segments_left_out, "segments");
    if (found->uncounted)
        gt_overview_add_number(sheet, "matrix_uncounted", (double)found->uncounted, "kernels");
    return sheet;
}

/* ---- trust ---- */

/* A check that some ranks do not pass. */
typedef struct shared_check {
    gt_trust_check worst; /* its strings are those of the rank's facts */
    size_t worst_rank, count;
    bool *has_rank;
    bool differs; /* ranks have different sentences */
} shared_check;

typedef struct shared_checks {
    shared_check *items;
    size_t count, capacity;
} shared_checks;

static bool is_worse(const gt_trust_check *a, const gt_trust_check *b)
{
    return a->level != b->level ? a->level > b->level : a->value > b->value;
}

/* Traces have few checks. */
static void add_check(shared_checks *checks, const gt_rank_findings *found, size_t rank,
                      const gt_rank_check *from)
{
    const gt_rank_facts *facts = found->ranks[rank].facts;
    const gt_trust_check check = {.id = gt_rank_text(facts, from->id),
                                  .level = from->level,
                                  .value = from->value,
                                  .warn = from->warn,
                                  .fail = from->fail,
                                  .text = (char *)(uintptr_t)gt_rank_text(facts, from->text)};
    size_t i = 0;
    while (i < checks->count && strcmp(checks->items[i].worst.id, check.id) != 0) i++;
    if (i == checks->count) {
        shared_check new = {.worst = check,
                            .worst_rank = rank,
                            .has_rank = gt_alloc_zero(found->rank_count, sizeof *new.has_rank)};
        GT_PUSH(checks->items, checks->count, checks->capacity, new);
    }
    shared_check *shared = &checks->items[i];
    shared->count += !shared->has_rank[rank];
    shared->has_rank[rank] = true;
    shared->differs |= strcmp(check.text, shared->worst.text) != 0;
    if (!is_worse(&check, &shared->worst)) return;
    shared->worst = check;
    shared->worst_rank = rank;
}

/* By the number after the T. */
static int by_number(const void *a, const void *b)
{
    const shared_check *x = a, *y = b;
    return atoi(x->worst.id + 1) - atoi(y->worst.id + 1);
}

/* "rank 3: ...", "all ranks: ...", "ranks 0-2, 5 (figures of rank 2): ...". */
static char *check_text(const shared_check *check, const char *ranks)
{
    gt_buffer text = {0};
    if (check->count == 1)
        gt_buffer_add_format(&text, "rank %zu", check->worst_rank);
    else if (strcmp(ranks, "all") == 0)
        gt_buffer_add_cstr(&text, "all ranks");
    else
        gt_buffer_add_format(&text, "ranks %s", ranks);
    if (check->differs) gt_buffer_add_format(&text, " (figures of rank %zu)", check->worst_rank);
    gt_buffer_add_format(&text, ": %s", check->worst.text);
    return gt_buffer_take(&text);
}

/* T18, a check that traces themselves do not have: ranks about which nothing is known. */
static void add_missing(gt_table *sheet, size_t column, const gt_rank_findings *found)
{
    size_t count = 0;
    bool *is_missing = gt_alloc_zero(found->ran_count, sizeof *is_missing);
    for (size_t r = 0; r < found->ran_count; r++)
        count += is_missing[r] = r >= found->rank_count || !found->ranks[r].facts;
    if (count) {
        const gt_trust_check check = {
            .id = "T18", .level = GT_TRUST_WARN, .value = (double)count, .warn = 0, .fail = NAN};
        char *ranks = gt_rank_ranges(is_missing, found->ran_count);
        char *text = gt_format(
            "Nothing is known about %zu of %zu ranks: %s (no trace, or one that could not be read).", count,
            found->ran_count, ranks);
        gt_table_set_cstr(sheet, column, gt_trust_sheet_add(sheet, &check, text), ranks);
        gt_free(text);
        gt_free(ranks);
    }
    gt_free(is_missing);
}

/* T19, another one: do all traces have the same collectives? */
typedef enum unlike { UNEVEN, SHIFTED, LACKS } unlike;

static const char *const unlike_texts[] = {
    [UNEVEN] =
        "%zu of %zu ranks have other numbers of collectives than the rest: %s. Nothing says which ones "
        "are missing, so they are matched by their order; waiting, clock offsets and findings about "
        "ranks may be wrong.",
    [SHIFTED] = "The traces of %zu of %zu ranks begin with another step than the rest: %s. Collectives are "
                "matched by the numbers of steps.",
    [LACKS] = "The traces of %zu of %zu ranks lack collectives that others have in the same step: %s. The "
              "others of such a step are matched by when they end.",
};

static size_t find_unlike(const gt_rank_findings *found, unlike how, bool *is_unlike)
{
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_summary *rank = &found->ranks[r];
        bool is_one = how == UNEVEN ? rank->is_uneven : how == SHIFTED ? rank->is_shifted : rank->lacks;
        count += is_unlike[r] = rank->facts && is_one;
    }
    return count;
}

static void add_unlike(gt_table *sheet, size_t column, const gt_rank_findings *found, unlike how)
{
    bool *is_unlike = gt_alloc_zero(found->rank_count, sizeof *is_unlike);
    size_t count = find_unlike(found, how, is_unlike);
    if (count) {
        const gt_trust_check check = {
            .id = "T19", .level = GT_TRUST_WARN, .value = (double)count, .warn = 0, .fail = NAN};
        char *ranks = gt_rank_list(found, is_unlike);
        char *text = gt_format(unlike_texts[how], count, found->rank_count, ranks);
        gt_table_set_cstr(sheet, column, gt_trust_sheet_add(sheet, &check, text), ranks);
        gt_free(text);
        gt_free(ranks);
    }
    gt_free(is_unlike);
}

/* T20: ranks that are not compared. A copy fails, because nothing is known about one of the ranks, and so do
 * traces of other runs. */
static void add_left_out(gt_table *sheet, size_t column, const gt_rank_findings *found)
{
    for (gt_rank_left_out why = GT_COMPARED + 1; why < GT_LEFT_OUT_COUNT; why++) {
        char *ranks, *text;
        size_t count = gt_ranks_left_out(found, why, &ranks, &text);
        if (!count) continue;
        bool fails = is_distrusted(why);
        const gt_trust_check check = {.id = "T20",
                                      .level = fails ? GT_TRUST_FAIL : GT_TRUST_WARN,
                                      .value = (double)count,
                                      .warn = 0,
                                      .fail = fails ? 0 : NAN};
        char *sentence = gt_format("%c%s.", toupper((unsigned char)*text), text + 1);
        gt_table_set_cstr(sheet, column, gt_trust_sheet_add(sheet, &check, sentence), ranks);
        gt_free(sentence);
        gt_free(ranks);
        gt_free(text);
    }
}

/* T21: collectives that no analysis has. */
static void add_disagreeing(gt_table *sheet, size_t column, const gt_rank_findings *found)
{
    if (!found->disagreeing) return;
    const gt_trust_check check = {
        .id = "T21", .level = GT_TRUST_WARN, .value = (double)found->disagreeing, .warn = 0, .fail = NAN};
    char *ranks = gt_rank_list(found, found->has_disagreeing);
    char *text =
        gt_format("Collectives that are skipped because their ranks disagree on name, group or size: "
                  "%zu%s%s. Waiting, clock offsets and findings about ranks lack them and may be wrong.",
                  found->disagreeing, *ranks ? ", of ranks: " : "", ranks);
    gt_table_set_cstr(sheet, column, gt_trust_sheet_add(sheet, &check, text), ranks);
    gt_free(text);
    gt_free(ranks);
}

static gt_table *trust_sheet(const gt_rank_findings *found, gt_interner *strings)
{
    shared_checks checks = {0};
    for (size_t r = 0; r < found->rank_count; r++)
        for (size_t i = 0; found->ranks[r].facts && i < found->ranks[r].facts->check_count; i++)
            add_check(&checks, found, r, &found->ranks[r].facts->checks[i]);
    if (checks.count) qsort(checks.items, checks.count, sizeof *checks.items, by_number);
    gt_table *sheet = gt_trust_sheet_new(strings);
    size_t column = gt_table_add_column(sheet, GT_COL_RANKS, GT_TYPE_STRING);
    for (size_t i = 0; i < checks.count; i++) {
        char *ranks = gt_rank_list(found, checks.items[i].has_rank);
        char *text = check_text(&checks.items[i], ranks);
        size_t row = gt_trust_sheet_add(sheet, &checks.items[i].worst, text);
        gt_table_set_cstr(sheet, column, row, ranks);
        gt_free(text);
        gt_free(ranks);
        gt_free(checks.items[i].has_rank);
    }
    gt_free(checks.items);
    add_missing(sheet, column, found);
    for (unlike how = UNEVEN; how <= LACKS; how++) add_unlike(sheet, column, found, how);
    add_left_out(sheet, column, found);
    add_disagreeing(sheet, column, found);
    return sheet;
}

void gt_ranks_add_sheets(gt_rank_findings *findings, gt_interner *strings, gt_table_list *tables)
{
    gt_table_list_add(tables, overview_sheet(findings, strings));
    gt_table_list_add(tables, findings_sheet(findings, strings));
    gt_table_list_add(tables, trust_sheet(findings, strings));
    gt_table_list_add(tables, causes_sheet(findings, strings));
    for (size_t i = 0; i < findings->across.count; i++) gt_table_list_add(tables, findings->across.items[i]);
    findings->across.count = 0; /* the list has them */
}

/* ---- rank_steps, rank_step_times ---- */

/* rank_steps, rank_step_times: how long were the steps, and how do ranks differ in that?
 *
 * A step of a rank lasts from its first op until the first op of the next step, as in the window of findings.
 * Steps of different ranks are the same step if the profiler gave them the same number (ProfilerStep#5).
 *
 *     rank_steps        one row per step: over its ranks min, median, p95 and max, and which rank took
 *                       longest
 *     rank_step_times   one row per rank: over its steps mean, sample standard deviation, min, median and
 *                       max, and in how many steps it took longest
 *
 * Ranks leave the collectives of a step together, so that in most runs their steps are equally long, also if
 * one of them makes the others wait; who does is said in rank_causes and critical_path. */

typedef struct step_time {
    int64_t number;
    uint32_t rank;
    double ms;
} step_time;

static int by_step(const void *a, const void *b)
{
    const step_time *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->ms > y->ms) - (x->ms < y->ms);
}

static step_time *collect(const gt_rank_findings *found, size_t *count)
{
    step_time *times = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        bool has_steps = facts && facts->has_steps && !found->ranks[r].left_out;
        for (size_t i = 0; has_steps && i < facts->step_count; i++) {
            const gt_rank_step *step = &facts->step_times[i];
            step_time new = {step->number, (uint32_t)r, (double)(step->end_ns - step->start_ns) / 1e6};
            GT_PUSH(times, *count, capacity, new);
        }
    }
    if (*count) qsort(times, *count, sizeof *times, by_step);
    return times;
}

/* ---- rank_steps ---- */

enum { STEP_NUMBER, RANKS, MIN, MEDIAN, P95, MAX, SPREAD, SLOWEST, SLOWEST_NODE };

static const gt_column_head step_columns[] = {
    [STEP_NUMBER] = {GT_COL_STEP, GT_TYPE_INT},     [RANKS] = {GT_COL_RANKS, GT_TYPE_INT},
    [MIN] = {GT_COL_MIN_MS, GT_TYPE_FLOAT},         [MEDIAN] = {GT_COL_MEDIAN_MS, GT_TYPE_FLOAT},
    [P95] = {GT_COL_P95_MS, GT_TYPE_FLOAT},         [MAX] = {GT_COL_MAX_MS, GT_TYPE_FLOAT},
    [SPREAD] = {GT_COL_SPREAD_MS, GT_TYPE_FLOAT},   [SLOWEST] = {GT_COL_SLOWEST_RANK, GT_TYPE_INT},
    [SLOWEST_NODE] = {GT_COL_NODE, GT_TYPE_STRING},
};

/* Of several that took longest, the lowest rank. */
static const step_time *slowest_of(const step_time *times, size_t count)
{
    const step_time *slowest = times;
    for (size_t i = 1; i < count; i++)
        if (times[i].ms > slowest->ms) slowest = &times[i];
    return slowest;
}

static void add_step(gt_table *sheet, const gt_rank_findings *found, const step_time *times, size_t count,
                     double *values)
{
    static const double qs[] = {0, 0.5, 0.95, 1};
    double results[GT_LENGTH(qs)];
    const step_time *slowest = slowest_of(times, count);
    size_t row = gt_table_add_row(sheet), ranks = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = times[i].ms;
        ranks += !i || times[i].rank != times[i - 1].rank;
    }
    gt_quantiles(values, count, qs, GT_LENGTH(qs), results);
    gt_table_set_int(sheet, STEP_NUMBER, row, times->number);
    gt_table_set_int(sheet, RANKS, row, (int64_t)ranks);
    gt_table_set_float(sheet, MIN, row, results[0]);
    gt_table_set_float(sheet, MEDIAN, row, results[1]);
    gt_table_set_float(sheet, P95, row, results[2]);
    gt_table_set_float(sheet, MAX, row, results[3]);
    gt_table_set_float(sheet, SPREAD, row, results[3] - results[0]);
    gt_table_set_int(sheet, SLOWEST, row, slowest->rank);
    gt_rank_set_node(found, slowest->rank, sheet, SLOWEST_NODE, row);
}

/* ---- rank_step_times ---- */

enum { STEP_RANK, STEP_NODE, STEPS, MEAN, SD, RANK_MIN, RANK_MEDIAN, RANK_MAX, TIMES_SLOWEST };

static const gt_column_head rank_columns[] = {
    [STEP_RANK] = {GT_COL_RANK, GT_TYPE_INT},
    [STEP_NODE] = {GT_COL_NODE, GT_TYPE_STRING},
    [STEPS] = {GT_COL_STEPS, GT_TYPE_INT},
    [MEAN] = {GT_COL_MEAN_MS, GT_TYPE_FLOAT},
    [SD] = {GT_COL_SD_MS, GT_TYPE_FLOAT},
    [RANK_MIN] = {GT_COL_MIN_MS, GT_TYPE_FLOAT},
    [RANK_MEDIAN] = {GT_COL_MEDIAN_MS, GT_TYPE_FLOAT},
    [RANK_MAX] = {GT_COL_MAX_MS, GT_TYPE_FLOAT},
    [TIMES_SLOWEST] = {GT_COL_TIMES_SLOWEST, GT_TYPE_INT},
};

static void add_rank(gt_table *sheet, const gt_rank_findings *found, size_t rank, int64_t times_slowest)
{
    const gt_rank_facts *facts = found->ranks[rank].facts;
    static const double qs[] = {0, 0.5, 1};
    double results[GT_LENGTH(qs)], *values = gt_alloc(facts->step_count * sizeof *values);
    size_t count = facts->step_count, row = gt_table_add_row(sheet);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)(facts->step_times[i].end_ns - facts->step_times[i].start_ns) / 1e6;
    gt_quantiles(values, count, qs, GT_LENGTH(qs), results);
    gt_table_set_int(sheet, STEP_RANK, row, (int64_t)rank);
    gt_rank_set_node(found, rank, sheet, STEP_NODE, row);
    gt_table_set_int(sheet, STEPS, row, (int64_t)count);
    gt_table_set_float(sheet, MEAN, row, gt_mean(values, count));
    gt_table_set_float(sheet, SD, row, gt_std_pairwise(values, count, 1));
    gt_table_set_float(sheet, RANK_MIN, row, results[0]);
    gt_table_set_float(sheet, RANK_MEDIAN, row, results[1]);
    gt_table_set_float(sheet, RANK_MAX, row, results[2]);
    gt_table_set_int(sheet, TIMES_SLOWEST, row, times_slowest);
    gt_free(values);
}

void gt_rank_steps_add_sheets(const gt_rank_findings *found, gt_interner *strings, gt_table_list *tables)
{
    size_t count;
    step_time *times = collect(found, &count);
    double *values = gt_alloc(count * sizeof *values);
    int64_t *slowest = gt_alloc_zero(found->rank_count, sizeof *slowest);
    gt_table *steps = gt_table_new(GT_SHEET_RANK_STEPS, strings);
    gt_table *ranks = gt_table_new(GT_SHEET_RANK_STEP_TIMES, strings);
    gt_table_add_columns(steps, step_columns, GT_LENGTH(step_columns));
    gt_table_add_columns(ranks, rank_columns, GT_LENGTH(rank_columns));
    gt_table_reserve_together(ranks, found->rank_count);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin; end < count && times[end].number == times[begin].number;) end++;
        add_step(steps, found, times + begin, end - begin, values);
        slowest[slowest_of(times + begin, end - begin)->rank]++;
    }
    for (size_t r = 0; r < found->rank_count; r++) {
        const gt_rank_facts *facts = found->ranks[r].facts;
        if (facts && facts->has_steps && facts->step_count) add_rank(ranks, found, r, slowest[r]);
    }
    gt_table_list_add(tables, steps);
    gt_table_list_add(tables, ranks);
    gt_free(times);
    gt_free(values);
    gt_free(slowest);
}

/* ---- communication_matrix ---- */

/* communication_matrix: which kernels are counted, and what are its rows? How bytes are counted is in
 * analysis/collective/matrix.c.
 *
 * Counted are the collectives that a rank starts in its window, divided by the steps of it. A row is a rank;
 * in runs with more than RANKS_SHOWN ranks it is a node, or, if the nodes are not known or too many, one of
 * RANKS_SHOWN blocks of ranks that follow each other. */

enum { RANKS_SHOWN = 64, NODES_SHOWN = 256 };

/* By row of the table: 1 / steps, or 0 if it is not counted; and who receives a send. Rows are in order of
 * ranks. */
static double *find_weights(const gt_ranks_input *input, uint32_t *receivers)
{
    const gt_table *events = input->sync->matches->events;
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    double *weights = gt_alloc_zero(events->row_count, sizeof *weights);
    for (size_t row = 0, first = 0; row < events->row_count; row++) {
        if (ranks[row] != ranks[first]) first = row;
        const gt_rank_facts *facts =
            ranks[row] >= 0 && (size_t)ranks[row] < input->rank_count ? input->facts[ranks[row]] : NULL;
        receivers[row] = GT_NO_UNIT;
        if (!facts || row - first >= facts->collective_count) continue;
        if (facts->collectives[row - first].in_window) weights[row] = 1 / (double)facts->steps;
        uint32_t peer = facts->peers ? facts->peers[row - first] : GT_NONE;
        if (peer != GT_NONE && !gt_peer_receives(peer)) receivers[row] = peer;
    }
    return weights;
}

gt_table *gt_rank_matrix_sheet(const gt_rank_findings *found, const gt_ranks_input *input, size_t *uncounted)
{
    size_t ranks = found->rank_count, block = (ranks + RANKS_SHOWN - 1) / RANKS_SHOWN, count = ranks;
    bool by_node = ranks > RANKS_SHOWN && found->nodes_known && found->node_count <= NODES_SHOWN;
    uint32_t *units = gt_alloc(ranks * sizeof *units);
    char **names;
    for (size_t r = 0; r < ranks; r++)
        units[r] = by_node && !found->ranks[r].facts ? GT_NO_UNIT
                   : by_node                         ? (uint32_t)found->ranks[r].node
                                                     : (uint32_t)(ranks > RANKS_SHOWN ? r / block : r);
    if (by_node)
        count = found->node_count;
    else if (ranks > RANKS_SHOWN)
        count = (ranks + block - 1) / block;
    names = gt_alloc(count * sizeof *names);
    for (size_t u = 0; u < count; u++) {
        size_t last = (u + 1) * block < ranks ? (u + 1) * block - 1 : ranks - 1;
        if (by_node)
            names[u] = gt_strdup(found->node_names[u]);
        else if (ranks > RANKS_SHOWN && last > u * block)
            names[u] = gt_format("ranks %zu-%zu", u * block, last);
        else
            names[u] = gt_format("rank %zu", ranks > RANKS_SHOWN ? last : u);
    }
    uint32_t *receivers = gt_alloc(input->sync->matches->events->row_count * sizeof *receivers);
    double *weights = find_weights(input, receivers);
    gt_table *sheet = gt_collective_matrix(input->sync->matches->events,
                                           &(gt_matrix_request){.weights = weights,
                                                                .receivers = receivers,
                                                                .unit_of = units,
                                                                .names = (const char *const *)names,
                                                                .rank_count = ranks,
                                                                .unit_count = count},
                                           uncounted);
    for (size_t u = 0; u < count; u++) gt_free(names[u]);
    gt_free(names);
    gt_free(units);
    gt_free(weights);
    gt_free(receivers);
    return sheet;
}
