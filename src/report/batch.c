/* The batch report, in the order of its sheets, and its page. */
#include "report/batch.h"

#include "base/guard.h"
#include "json/writer.h"
#include "page/page.h"
#include "page/words.h"
#include "report/collective.h"

static void print_line(FILE *out, const char *line)
{
    if (out) fprintf(out, "%s\n", line);
}

/* Adds a sheet that has rows. Frees one without rows and prints `line` instead, if given. Takes ownership of
 * the sheet. */
static void add_or_print(gt_table_list *tables, gt_table *sheet, FILE *out, const char *line)
{
    if (sheet->row_count) {
        gt_table_list_add(tables, sheet);
    } else {
        if (line) print_line(out, line);
        gt_table_free(sheet);
    }
}

/* ---- groups of ops ---- */

/* One line for all ranks and groups: in which ranks a group has no ops with shapes. */
static void print_without_shapes(const gt_batch_ranks *ranks, FILE *out)
{
    gt_buffer groups = {0};
    for (gt_batch_group group = 0; group < GT_BATCH_GROUPS; group++) {
        size_t count = 0;
        for (size_t place = 0; place < ranks->count; place++) count += !ranks->ops_found[group][place];
        char *part =
            gt_format("%s%s (%zu of %zu rank%s)", groups.len ? ", " : "", gt_batch_group_sheet(group).name,
                      count, ranks->count, ranks->count == 1 ? "" : "s");
        if (count) gt_buffer_add_cstr(&groups, part);
        gt_free(part);
    }
    if (groups.len)
        fprintf(out, "No performance metrics of these groups: %s; ensure profiler has record_shapes=True\n",
                gt_buffer_str(&groups).bytes);
    gt_buffer_free(&groups);
}

static void print_missing(const gt_batch_ranks *ranks, gt_batch_group group, FILE *out)
{
    const char *name = gt_batch_group_sheet(group).name;
    for (size_t place = 0; out && ranks->line_per_rank && place < ranks->count; place++)
        if (!ranks->ops_found[group][place])
            fprintf(
                out,
                "Failed to build performance metrics from group %s, ensure profiler has record_shapes=True\n",
                name);
    if (out && !ranks->ops[group].found)
        fprintf(out, "No events to summarize performance metrics from group %s\n", name);
    if (ranks->ops[group].found && !ranks->ops[group].rows)
        gt_warn("no model applies to any of the %zu ops of group %s; its sheet is omitted",
                ranks->ops[group].found, name);
}

static void add_groups(gt_batch_ranks *ranks, FILE *out, gt_table_list *tables)
{
    if (out && !ranks->line_per_rank) print_without_shapes(ranks, out);
    for (gt_batch_group group = 0; group < GT_BATCH_GROUPS; group++) {
        print_missing(ranks, group, out);
        gt_table *sheet = gt_batch_ops_sheet(&ranks->ops[group], group, &ranks->arguments[group]);
        if (sheet) gt_table_list_add(tables, sheet);
        gt_batch_ops_free(&ranks->ops[group]);
    }
}

/* ---- all sheets except those of collectives ---- */

static void add_breakdown(gt_table_list *tables, const gt_table *launchers, const gt_table *timelines)
{
    gt_buffer others = {0};
    size_t count;
    gt_table_list_add(tables, gt_batch_breakdown(launchers, timelines, &others, &count));
    if (count)
        gt_warn("%zu kernel launchers were assigned to the \"Other\" group: %s Check the "
                "grouped_breakdown_mapping to "
                "ensure all relevant kernel launchers are appropriately grouped.",
                count, gt_buffer_str(&others).bytes);
    gt_buffer_free(&others);
}

static void warn_about_unlinked(const gt_left_out *left_out)
{
    char text[GT_LEFT_OUT_TEXT_MAX];
    if (!gt_gpu_share_any(left_out->unlinked)) return;
    gt_unlinked_describe(left_out, text);
    gt_warn("%s; gpu_timelines and kernel_launchers do not count it, `gputally report` of a rank does", text);
}

void gt_batch_tables(gt_batch_ranks *ranks, FILE *out, gt_table_list *tables)
{
    warn_about_unlinked(&ranks->left_out);
    for (size_t i = 0; i < ranks->kernels.count; i++) gt_table_list_add(tables, ranks->kernels.items[i]);
    ranks->kernels.count = 0; /* `tables` owns them now */
    add_groups(ranks, out, tables);
    gt_table *launchers = gt_batch_launchers(ranks->parts[GT_BATCH_LAUNCHERS], ranks->count);
    gt_table *timelines = gt_batch_timelines(ranks->timelines, ranks->numbers, ranks->count, ranks->strings);
    gt_table_list_add(tables, launchers);
    gt_table_list_add(tables, timelines);
    gt_table_list_add(tables, ranks->parts[GT_BATCH_COUNTS]);
    ranks->parts[GT_BATCH_COUNTS] = NULL; /* `tables` owns it now */
    add_or_print(tables, gt_batch_unlinked(ranks->parts[GT_BATCH_UNLINKED]), out,
                 "No unlinked kernel events found.");
    add_or_print(tables, gt_batch_short_ops(ranks->parts[GT_BATCH_SHORT_OPS]), out,
                 "No short CPU ops found.");
    add_or_print(tables, gt_batch_calls(ranks->parts[GT_BATCH_CALLS]), out, NULL);
    add_breakdown(tables, launchers, timelines);
}

/* ---- collectives ---- */

static const gt_col all2allv_columns[] = {
    GT_COL_COLLECTIVE_ID,
    GT_COL_PROCESS_GROUP_NAME,
    GT_COL_PROCESS_GROUP_RANKS,
    GT_COL_COLLECTIVE_NAME,
    GT_COL_GROUP_SIZE,
    GT_COL_DTYPE,
    GT_COL_STREAM,
    GT_COL_TOTAL_DATA_COMMUNICATED_MB,
    GT_COL_TOTAL_NELEMS_COMMUNICATED,
    GT_COL_SKEW_IN_START_TIME,
    GT_COL_SKEW_IN_END_TIME,
};

static void add_named(gt_table_list *tables, gt_table *table, gt_sheet name)
{
    gt_table_rename(table, name);
    add_or_print(tables, table, NULL, NULL);
}

static void warn_of_mismatches(size_t count, const gt_error *error)
{
    if (count)
        gt_warn("data of the first rank used for %zu collective%s whose ranks disagree: %s", count,
                count == 1 ? "" : "s", error->text);
}

void gt_batch_collective_tables(gt_batch_ranks *ranks, gt_table_list *tables)
{
    gt_table *rows = ranks->parts[GT_BATCH_COLLECTIVES];
    if (!rows->row_count) return;
    ranks->parts[GT_BATCH_COLLECTIVES] = NULL; /* it becomes a sheet */
    gt_error error = {0};
    gt_aggregations mean = {0};
    if (!gt_aggregations_add(&mean, "mean", &error)) gt_raise_internal("%s", error.text);
    gt_collectives_align(rows, ranks->bases, ranks->count);
    bool by_order_alone = gt_collectives_number(rows);
    gt_collective_matches matches = gt_collective_match(rows);
    gt_collective_sync sync;
    size_t disagreeing;
    if (!gt_collective_sync_find(&sync, &matches, by_order_alone, GT_MISMATCH_KEEP, &error))
        gt_raise_internal("%s", error.text); /* mismatches are kept */
    warn_of_mismatches(sync.disagreeing, &error);
    gt_table *narrow = gt_collective_sync_table(&sync, false);
    gt_table *summary = gt_collective_sync_summary(narrow, &mean);
    bool wide = gt_collective_has_room(GT_SHEET_NCCL_IMPLICIT_SYNC_CAT_DETAILED, sync.count, matches.ranks,
                                       GT_SYNC_COLUMNS_PER_RANK);
    gt_table *detailed = gt_collective_sync_table(&sync, wide);
    gt_table *all2allv = gt_collective_all2allv(&matches, false, GT_MISMATCH_KEEP, &disagreeing, &error);
    warn_of_mismatches(disagreeing, &error);
    gt_collective_sync_free(&sync);
    gt_collective_matches_free(&matches);
    gt_table_select(all2allv, all2allv_columns, GT_LENGTH(all2allv_columns));
    add_named(tables, summary, GT_SHEET_SUMMARY_NCCL_IMPLICIT_SYNC_CAT);
    add_named(tables, rows, GT_SHEET_LONG);
    add_named(tables, narrow, GT_SHEET_NCCL_IMPLICIT_SYNC_CAT);
    add_named(tables, detailed, GT_SHEET_NCCL_IMPLICIT_SYNC_CAT_DETAILED);
    add_named(tables, all2allv, GT_SHEET_NCCL_ALL2ALLV);
}

/* ---- the page ---- */

/* Mean times of all ranks, in the order of the tiles. */
typedef enum batch_time { TOTAL, COMPUTATION, COMMUNICATION, COPIES, IDLE, BATCH_TIMES } batch_time;

static const struct {
    const char *type; /* of gpu_timelines */
    const char *id, *label;
} TIMES[BATCH_TIMES] = {
    [TOTAL] = {"total_time", "total", "time"},
    [COMPUTATION] = {"computation_time", "computation", "computation"},
    [COMMUNICATION] = {"exposed_comm_time", "communication", "exposed communication"},
    [COPIES] = {"exposed_memcpy_time", "copies", "exposed copies"},
    [IDLE] = {"idle_time", "idle", "GPU idle"},
};

/* Milliseconds; NaN where no rank has GPU events. */
static void read_times(const gt_table_list *tables, double ms[BATCH_TIMES])
{
    const gt_table *sheet = gt_table_list_find(tables, GT_SHEET_GPU_TIMELINES);
    for (size_t t = 0; t < BATCH_TIMES; t++) ms[t] = NAN;
    if (!sheet) return;
    const gt_column *types = gt_table_column(sheet, GT_COL_TYPE);
    const gt_column *means = gt_table_column(sheet, GT_COL_TIME_MS_AVG);
    for (size_t row = 0; row < sheet->row_count; row++)
        for (size_t t = 0; t < BATCH_TIMES; t++)
            if (gt_str_equals(gt_interner_get(sheet->strings, types->texts[row]), TIMES[t].type))
                ms[t] = gt_column_number(means, row);
}

static void add_sentence(gt_buffer *sentence, const double ms[BATCH_TIMES], size_t ranks)
{
    if (!(ms[TOTAL] > 0)) {
        gt_buffer_add_cstr(sentence, "No trace has work of a GPU.");
        return;
    }
    gt_buffer_add_cstr(sentence, ranks == 1 ? "The GPU is idle *" : "The GPUs are idle *");
    gt_words_add_share(sentence, ms[IDLE], ms[TOTAL]);
    gt_buffer_add_cstr(sentence, "* of *");
    gt_words_add_time(sentence, ms[TOTAL] * 1e6);
    gt_buffer_add_cstr(sentence, "*");
    if (ms[COMMUNICATION] > 0) {
        gt_buffer_add_cstr(sentence, ", and wait for communication *");
        gt_words_add_share(sentence, ms[COMMUNICATION], ms[TOTAL]);
        gt_buffer_add_cstr(sentence, "*");
    }
    if (ranks > 1) gt_buffer_add_format(sentence, ": the mean of %zu ranks", ranks);
    gt_buffer_add_cstr(sentence, ".");
}

static void put_tile(gt_json_writer *w, batch_time t, const double ms[BATCH_TIMES], size_t ranks)
{
    gt_buffer detail = {0};
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "id", TIMES[t].id);
    gt_json_put_cstr(w, "label", TIMES[t].label);
    gt_json_put_real(w, "value", ms[t]);
    gt_json_put_cstr(w, "unit", "ms");
    if (t == TOTAL) {
        gt_buffer_add_format(&detail, ranks == 1 ? "%zu rank" : "mean of %zu ranks", ranks);
    } else {
        gt_words_add_share(&detail, ms[t], ms[TOTAL]);
        gt_buffer_add_cstr(&detail, " of the time");
    }
    gt_json_put_cstr(w, "detail", gt_buffer_str(&detail).bytes);
    gt_json_close(w, '}');
    gt_buffer_free(&detail);
}

static void add_facts(const gt_table_list *tables, size_t ranks, gt_buffer *json)
{
    double ms[BATCH_TIMES];
    gt_json_writer w = {0};
    gt_buffer sentence = {0};
    read_times(tables, ms);
    add_sentence(&sentence, ms, ranks);
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "sentence", gt_buffer_str(&sentence).bytes);
    gt_json_put_open(&w, "tiles", '[');
    for (batch_time t = 0; t < BATCH_TIMES && ms[TOTAL] > 0; t++) put_tile(&w, t, ms, ranks);
    gt_json_close(&w, ']');
    gt_json_close(&w, '}');
    gt_buffer_add(json, w.text.bytes, w.text.len);
    gt_buffer_free(&sentence);
    gt_json_writer_free(&w);
}

void gt_batch_add_page(const gt_table_list *tables, size_t ranks, const char *title, const char *command,
                       gt_buffer *html)
{
    const gt_page_source source = {.label = title, .sheets = tables};
    gt_buffer facts = {0};
    add_facts(tables, ranks, &facts);
    gt_page_make(&(gt_page){.kind = GT_PAGE_BATCH,
                            .title = title,
                            .framework = "PyTorch",
                            .command = command,
                            .facts = gt_buffer_str(&facts).bytes,
                            .sources = &source,
                            .source_count = 1},
                 html);
    gt_buffer_free(&facts);
}
