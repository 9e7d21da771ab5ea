/* The collective report: sheets are made in the order of their dependencies and then listed in the order of
 * the workbook. */
#include "report/collective.h"
#include "report/summary.h"
#include "schema/columns.h"

enum {
    ROWS_SHOWN = 10,
    MOST_RANK_CELLS = 64 * 1024 * 1024, /* in the per-rank columns of a sheet: half a gigabyte */
    ALL2ALLV_COLUMNS_A_RANK = 10,
};

/* ---- the sheets ---- */

typedef struct sheets {
    gt_table *sync_summary, *long_summary, *all2allv_summary, *heatmap, *events, *sync, *all2allv,
        *stragglers;
    gt_table *shared_stragglers; /* not a sheet */
    gt_rank_findings *findings;
    gt_collective_unlike unlike;
    bool *is_uneven; /* by rank; see gt_ranks_input */
} sheets;

static gt_mismatch mismatch_of(const gt_collective_options *options)
{
    return options->leave_out_mismatches ? GT_MISMATCH_SKIP : GT_MISMATCH_FAIL;
}

bool gt_collective_has_room(gt_sheet sheet, size_t rows, int64_t ranks, int64_t columns)
{
    if (!rows || ranks * columns <= (int64_t)(MOST_RANK_CELLS / rows)) return true;
    gt_warn("%s: per-rank columns omitted (%zu rows for %lld ranks would be too large)", sheet.name, rows,
            (long long)ranks);
    return false;
}

static void warn_skipped(size_t count)
{
    if (count) gt_warn("collectives skipped because their ranks disagree: %zu", count);
}

/* straggler_summary of the collectives that several ranks have, usually all, on one clock. */
static gt_table *find_shared_stragglers(const gt_collective_sync *sync, const gt_table *of_all)
{
    const size_t *begins = sync->matches->begins;
    gt_collective_sync shared = {.matches = sync->matches};
    shared.collectives = gt_alloc(sync->count * sizeof *shared.collectives);
    for (size_t i = 0; i < sync->count; i++) {
        uint32_t collective = sync->collectives[i];
        if (begins[collective + 1] - begins[collective] > 1) shared.collectives[shared.count++] = collective;
    }
    double *offsets = gt_rank_clock_offsets(&shared);
    uint32_t *rows = gt_order_new(of_all->row_count);
    gt_table *stragglers = offsets || shared.count < sync->count
                               ? gt_collective_stragglers(&shared, offsets)
                               : gt_table_copy_rows(of_all, rows, of_all->row_count);
    gt_free_all(offsets, rows);
    gt_collective_sync_free(&shared);
    return stragglers;
}

/* Ranks share collectives, but none in which they wait for each other; or too few ranks can be compared. */
static void warn_not_compared(const gt_collective_matches *matches, const gt_ranks_input *input)
{
    enum { NAMES_SHOWN = 4 };
    uint32_t names[NAMES_SHOWN];
    size_t count = 0, shared = 0;
    gt_buffer list = {0};
    const gt_table *events = matches->events;
    for (size_t i = 0; i < matches->count; i++) shared += matches->begins[i + 1] - matches->begins[i] > 1;
    if (!shared) return;
    char *left_out = gt_ranks_all_left_out(input);
    if (left_out) {
        gt_warn("there is no report of all ranks: %s", left_out);
        gt_free(left_out);
        return;
    }
    const gt_column *column = gt_table_column(events, GT_COL_COLLECTIVE_NAME);
    for (size_t row = 0; row < events->row_count && count < NAMES_SHOWN; row++) {
        size_t i = 0;
        while (i < count && names[i] != column->texts[row]) i++;
        if (i < count || column->texts[row] == GT_STR_NONE) continue;
        gt_str name = gt_interner_get(events->strings, column->texts[row]);
        names[count++] = column->texts[row];
        gt_buffer_add_format(&list, "%s%.*s", i ? ", " : ": ", (int)name.len, name.bytes);
    }
    gt_warn("ranks are not compared: no two of them share an all-reduce, reduce-scatter, all-gather or "
            "all-to-all, and ranks can leave other collectives early (here%s)",
            list.len ? gt_buffer_str(&list).bytes : " are unknown");
    gt_buffer_free(&list);
}

static bool make_sync(sheets *s, const gt_collective_matches *matches, bool by_order_alone,
                      const gt_collective_options *options, gt_error *error)
{
    gt_collective_sync sync;
    if (!gt_collective_sync_find(&sync, matches, by_order_alone, mismatch_of(options), error)) return false;
    warn_skipped(sync.disagreeing);
    bool wide = gt_collective_has_room(GT_SHEET_NCCL_IMPLICIT_SYNC, sync.count, matches->ranks,
                                       GT_SYNC_COLUMNS_PER_RANK);
    gt_table *narrow = gt_collective_sync_table(&sync, false); /* the summary needs no per-rank columns */
    s->sync_summary = gt_collective_sync_summary(narrow, &options->aggregations);
    gt_table_free(narrow);
    s->sync = gt_collective_sync_table(&sync, wide);
    s->stragglers = gt_collective_stragglers(&sync, NULL);
    s->shared_stragglers = find_shared_stragglers(&sync, s->stragglers);
    if (options->facts) {
        const gt_ranks_input input = {.sync = &sync,
                                      .facts = (const gt_rank_facts *const *)options->facts,
                                      .rank_count = (size_t)options->world_size,
                                      .ran_count = (size_t)options->ran_count,
                                      .gpus_per_node = options->gpus_per_node,
                                      .expected_bus_gbps = options->expected_bus_gbps,
                                      .is_shifted = s->unlike.is_shifted,
                                      .lacks = s->unlike.lacks,
                                      .is_uneven = s->is_uneven,
                                      .apart_s = options->apart_s};
        s->findings = gt_ranks_find(&input);
        if (!s->findings && matches->ranks > 1) warn_not_compared(matches, &input);
    }
    gt_collective_sync_free(&sync);
    return true;
}

static bool make_all2allv(sheets *s, const gt_collective_matches *matches,
                          const gt_collective_options *options, gt_error *error)
{
    size_t skipped = 0, count = 0;
    for (size_t i = 0; i < matches->count; i++)
        count += gt_collective_match_type(matches, i) == GT_COLLECTIVE_ALLTOALLV;
    bool wide =
        gt_collective_has_room(GT_SHEET_NCCL_ALL2ALLV, count, matches->ranks, ALL2ALLV_COLUMNS_A_RANK);
    s->all2allv = gt_collective_all2allv(matches, wide, mismatch_of(options), &skipped, error);
    if (!s->all2allv) return false;
    warn_skipped(skipped);
    if (s->findings) s->findings->disagreeing += skipped;
    s->all2allv_summary = gt_collective_all2allv_summary(s->all2allv, &options->aggregations);
    if (options->heatmap) s->heatmap = gt_collective_all2allv_heatmap(s->events, options->world_size);
    return true;
}

static void add_nodes(const sheets *s, const gt_collective_options *options)
{
    gt_table *const tables[] = {s->long_summary, s->events,           s->sync,
                                s->all2allv,     s->all2allv_summary, s->stragglers};
    for (size_t i = 0; i < GT_LENGTH(tables); i++)
        gt_collective_add_nodes(tables[i], options->gpus_per_node, options->world_size);
}

/* Adds a sheet, or frees it if it has no rows and is optional. */
static void add_or_free(gt_table_list *list, gt_table *table, bool needed)
{
    if (table && (needed || table->row_count))
        gt_table_list_add(list, table);
    else
        gt_table_free(table);
}

static void free_sheets(const sheets *s)
{
    gt_table_list list = {0};
    gt_table *const all[] = {s->sync_summary, s->long_summary, s->all2allv_summary,
                             s->heatmap,      s->events,       s->sync,
                             s->all2allv,     s->stragglers,   s->shared_stragglers};
    for (size_t i = 0; i < GT_LENGTH(all); i++)
        if (all[i]) gt_table_list_add(&list, all[i]);
    gt_table_list_free(&list);
    gt_rank_findings_free(s->findings);
}

/* Turns the rows into nccl_long. Which ranks do not begin with the same collective as the others? */
static bool number_collectives(sheets *s, const gt_collective_options *options)
{
    size_t ranks = (size_t)options->world_size;
    const gt_rank_facts *const *facts = (const gt_rank_facts *const *)options->facts;
    if (!facts) return gt_collectives_number(s->events);
    s->unlike.is_shifted = gt_alloc_zero(ranks + 1, sizeof *s->unlike.is_shifted);
    s->unlike.lacks = gt_alloc_zero(ranks + 1, sizeof *s->unlike.lacks);
    s->is_uneven = gt_alloc_zero(ranks + 1, sizeof *s->is_uneven);
    int64_t *steps = gt_rank_facts_steps(facts, ranks, s->events);
    if (!steps) {
        bool *have_trace = gt_alloc_zero(ranks + 1, sizeof *have_trace);
        for (size_t r = 0; r < ranks; r++) have_trace[r] = facts[r] != NULL;
        gt_collectives_find_uneven(s->events, have_trace, ranks, s->is_uneven);
        gt_free(have_trace);
    }
    bool by_order_alone = gt_collectives_number_by_steps(s->events, steps, &s->unlike);
    gt_free(steps);
    return by_order_alone;
}

bool gt_collective_tables(gt_table *rows, const gt_collective_options *options, gt_table_list *tables,
                          gt_table **stragglers, gt_error *error)
{
    sheets s = {.events = rows};
    bool by_order_alone = number_collectives(&s, options);
    s.long_summary = gt_collectives_summary(rows);
    gt_collective_matches matches = gt_collective_match(rows);
    bool made = make_sync(&s, &matches, by_order_alone, options, error) &&
                make_all2allv(&s, &matches, options, error);
    gt_collective_matches_free(&matches);
    gt_free_all(s.unlike.is_shifted, s.unlike.lacks, s.is_uneven);
    if (!made) {
        free_sheets(&s);
        return false;
    }
    if (options->gpus_per_node) add_nodes(&s, options);
    if (s.findings && s.findings->other_runs)
        gt_warn("traces may be of different runs: between the same collectives, %s %s took another time than "
                "the others, and %s not compared with them",
                strpbrk(s.findings->other_runs, "-,") ? "ranks" : "rank", s.findings->other_runs,
                strpbrk(s.findings->other_runs, "-,") ? "are" : "is");
    if (s.findings) {
        gt_ranks_add_sheets(s.findings, rows->strings, tables);
        gt_rank_findings_free(s.findings);
    }
    if (options->facts)
        add_or_free(tables,
                    gt_serving_rank_steps((const gt_rank_facts *const *)options->facts,
                                          (size_t)options->world_size, rows->strings),
                    false);
    add_or_free(tables, s.sync_summary, true);
    add_or_free(tables, s.long_summary, true);
    add_or_free(tables, s.all2allv_summary, false);
    add_or_free(tables, s.heatmap, false);
    add_or_free(tables, s.events, true);
    add_or_free(tables, s.sync, true);
    add_or_free(tables, s.all2allv, false);
    add_or_free(tables, s.stragglers, false);
    if (stragglers)
        *stragglers = s.shared_stragglers;
    else
        gt_table_free(s.shared_stragglers);
    return true;
}

/* ---- terminal summary ---- */

static void print_collectives(const gt_terminal *terminal, const gt_table *summary)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_TOTAL_COMM_LATENCY_MS, "total ms", 3, NULL},
        {GT_COL_COUNT, NULL, 0, NULL},
        {GT_COL_FULL_MSG_SIZE_MB, "MB", 3, NULL},
        {GT_COL_BUS_BW_GB_PER_S_MEAN, "bus GB/s", 1, NULL},
        {GT_COL_DTYPE, NULL, 0, NULL},
        {GT_COL_COLLECTIVE_NAME, "collective", 0, NULL},
    };
    gt_terminal_heading(terminal, "Collectives by time, without waiting");
    gt_summary_rows(terminal, summary, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

static void print_stragglers(const gt_terminal *terminal, const gt_table *stragglers)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_RANK, NULL, 0, NULL},
        {GT_COL_PCT_ARRIVED_LAST, "came last", 1, "%"},
        {GT_COL_TIMES_ARRIVED_LAST, "times", 0, NULL},
        {GT_COL_TOTAL_WAIT_TIME_US, "waited us", 1, NULL},
        {GT_COL_TOTAL_NCCL_DUR_US, "in collectives us", 1, NULL},
    };
    gt_terminal_heading(terminal, "Ranks that the others wait for");
    gt_summary_rows(terminal, stragglers, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

/* By durations within each trace, so that clocks which differ change nothing. */
static void print_late_ranks(const gt_terminal *terminal, const gt_table *causes)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_RANK, NULL, 0, NULL},
        {GT_COL_LATE_MS, "late ms", 2, NULL},
        {GT_COL_BLAME_PCT, "of all waiting", 1, "%"},
        {GT_COL_LAST_PCT, "came last", 1, "%"},
        {GT_COL_WAIT_MS, "waits ms", 2, NULL},
    };
    uint32_t *order = gt_order_new(causes->row_count);
    gt_order_by_column(order, causes->row_count, gt_table_column(causes, GT_COL_LATE_MS), causes->strings,
                       true);
    gt_table *sorted = gt_table_copy_rows(causes, order, causes->row_count);
    gt_terminal_heading(terminal, "Ranks that the others wait for");
    gt_summary_rows(terminal, sorted, columns, GT_LENGTH(columns), ROWS_SHOWN);
    gt_table_free(sorted);
    gt_free(order);
}

void gt_collective_print_summary(FILE *out, const gt_table_list *tables, const gt_table *stragglers,
                                 int width, bool utf8)
{
    static const gt_summary_part parts[] = {{GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC, print_collectives}};
    gt_terminal terminal = gt_terminal_for(out);
    terminal.width = width > 0 ? (size_t)width : 0;
    terminal.utf8 = utf8;
    gt_summary_parts(&terminal, tables, parts, GT_LENGTH(parts));
    const gt_table *causes = gt_table_list_find(tables, GT_SHEET_RANK_CAUSES);
    if (!stragglers->row_count) return;
    fputc('\n', out);
    if (causes && causes->row_count)
        print_late_ranks(&terminal, causes);
    else
        print_stragglers(&terminal, stragglers);
}
