/* The terminal summary of a PyTorch report. With findings it begins with them, and everything together takes
 * at most LINES_MAX lines: the tables get the rows that remain. Without, it is the timeline and longer
 * tables. */

#include "report/pytorch/graphs.h"

#include "base/printing.h"

enum { ROWS_SHOWN = 10 };

/* What the sheets of ops do not count; NULL if nothing, or if a warning has said it. The caller frees it. */
static char *left_out_text(const gt_linked_view *trace, const gt_pytorch_options *options)
{
    gt_left_out left_out = gt_pytorch_find_left_out(trace);
    if (!gt_left_out_any(&left_out)) return NULL;
    if (!options->include_unlinked_kernels && gt_gpu_share_any(left_out.unlinked)) return NULL;
    char text[GT_LEFT_OUT_TEXT_MAX];
    gt_left_out_describe(&left_out, text);
    return gt_strdup(text);
}

static void print_categories(const gt_terminal *terminal, const gt_table *categories)
{
    gt_terminal_heading(terminal, "Kernel time by op category");
    gt_summary_bars(terminal, categories, GT_COL_OP_CATEGORY, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
                    GT_COL_PERCENTAGE_PCT);
}

static const gt_terminal_column op_columns[] = {
    {GT_COL_PERCENTAGE_PCT, "share", 1, "%"},
    {GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, "total ms", 3, NULL},
    {GT_COL_COUNT_TITLE, "count", 0, NULL},
    {GT_COL_IS_RECOMPUTE, "recompute", 0, NULL},
    {GT_COL_NAME, "op", 0, NULL},
};

static void print_ops(const gt_terminal *terminal, const gt_table *ops)
{
    gt_terminal_heading(terminal, "Ops by kernel time");
    gt_summary_rows(terminal, ops, op_columns, GT_LENGTH(op_columns), ROWS_SHOWN);
}

/* The steps that count for a phase. */
typedef struct steps_shown {
    size_t count, mixed, guessed;
    double us;
} steps_shown;

static steps_shown steps_of_phase(const gt_table *steps, const char *phase)
{
    steps_shown shown = {0};
    const gt_column *counted = gt_table_column_of(steps, GT_COL_COUNTED_AS, GT_TYPE_STRING);
    const gt_column *phases = gt_table_column_of(steps, GT_COL_PHASE, GT_TYPE_STRING);
    const gt_column *evidence = gt_table_column_of(steps, GT_COL_EVIDENCE, GT_TYPE_STRING);
    const gt_column *times = gt_table_column_of(steps, GT_COL_GPU_TIME_US, GT_TYPE_FLOAT);
    for (size_t row = 0; row < steps->row_count; row++) {
        if (!gt_str_equals(gt_interner_get(steps->strings, counted->texts[row]), phase)) continue;
        shown.count++;
        shown.mixed += gt_str_equals(gt_interner_get(steps->strings, phases->texts[row]), "mixed");
        shown.guessed += gt_str_starts_with(gt_interner_get(steps->strings, evidence->texts[row]), "guess");
        shown.us += times->floats[row];
    }
    return shown;
}

/* The steps and the GPU time of each phase: "3 steps (1 mixed, 2 guessed), 0.360 ms of GPU time". */
static void print_phases(const gt_terminal *terminal, const gt_table *steps)
{
    static const char *const phases[] = {"prefill", "decode"};
    gt_terminal_heading(terminal, "Phases of inference, by steps");
    for (size_t p = 0; p < GT_LENGTH(phases); p++) {
        steps_shown shown = steps_of_phase(steps, phases[p]);
        fprintf(terminal->file, "  %-8s %6zu %s", phases[p], shown.count,
                shown.count == 1 ? "step" : "steps");
        if (shown.mixed) fprintf(terminal->file, " (%zu mixed", shown.mixed);
        if (shown.guessed) fprintf(terminal->file, "%s%zu guessed", shown.mixed ? ", " : " (", shown.guessed);
        fprintf(terminal->file, "%s, %.3f ms of GPU time\n", shown.mixed || shown.guessed ? ")" : "",
                shown.us / 1000);
    }
    double unknown_us = steps_of_phase(steps, "").us;
    if (unknown_us > 0)
        fprintf(terminal->file, "  unknown or outside all steps: %.3f ms of GPU time\n", unknown_us / 1000);
}

static void print_prefill(const gt_terminal *terminal, const gt_table *ops)
{
    gt_terminal_heading(terminal, "Ops of prefill by kernel time");
    gt_summary_rows(terminal, ops, op_columns, GT_LENGTH(op_columns), ROWS_SHOWN);
}

static void print_decode(const gt_terminal *terminal, const gt_table *ops)
{
    gt_terminal_heading(terminal, "Ops of decode by kernel time");
    gt_summary_rows(terminal, ops, op_columns, GT_LENGTH(op_columns), ROWS_SHOWN);
}

static void print_kernels(const gt_terminal *terminal, const gt_table *kernels)
{
    const gt_terminal_column columns[] = {
        {GT_COL_PERCENT_OF_KERNELS_TIME_PCT, "share", 1, "%"},
        {GT_COL_KERNEL_DURATION_US_SUM, terminal->utf8 ? "total µs" : "total us", 1, NULL},
        {GT_COL_KERNEL_DURATION_US_COUNT, "count", 0, NULL},
        {GT_COL_KERNEL_NAME, "kernel", 0, NULL},
    };
    gt_terminal_heading(terminal, "Kernels by time");
    gt_summary_rows(terminal, kernels, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

/* The number of devices whose events the timeline counts. */
static size_t count_devices(const gt_linked_view *trace, bool include_unlinked)
{
    gt_devices devices = gt_devices_find(&trace->events);
    uint8_t *counted = gt_alloc_zero(devices.count, 1);
    size_t count = 0;
    for (size_t row = 0; row < trace->count && devices.count > 1; row++) {
        uint32_t device = devices.of_row[row];
        if (device == GT_NO_DEVICE || counted[device]) continue;
        if (!include_unlinked && trace->parent[row] == GT_NO_EVENT) continue;
        counted[device] = 1;
        count++;
    }
    gt_free(counted);
    gt_devices_free(&devices);
    return count;
}

/* Counts of gt_summary_facts. */
enum { FACT_EVENTS, FACT_OPS, FACT_KERNELS, FACT_LAUNCHES, FACT_DEVICES };

static void print_timeline(const gt_terminal *terminal, const gt_summary_facts *facts,
                           const gt_table *timeline)
{
    size_t devices = (size_t)facts->counts[FACT_DEVICES];
    fputc('\n', terminal->file);
    if (devices > 1)
        gt_summary_timeline_of_devices(terminal, timeline, devices);
    else
        gt_summary_timeline(terminal, timeline);
}

static void print_gpu(FILE *out, const gt_gpu_arch *gpu)
{
    if (!gpu) return;
    gt_buffer text = {0};
    gt_gpu_arch_describe(gpu, &text);
    fprintf(out, "roofline: %s\n", gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

gt_summary_facts gt_pytorch_find_facts(const gt_pytorch_linked *linked, const gt_pytorch_options *options)
{
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_summary_facts facts = {
        .counts = {[FACT_EVENTS] = (int64_t)trace->uid_count, [FACT_LAUNCHES] = (int64_t)trace->link_count}};
    for (size_t row = 0; row < trace->count; row++) {
        facts.counts[FACT_KERNELS] += trace->kind[row] == GT_KIND_KERNEL;
        facts.counts[FACT_OPS] += trace->kind[row] == GT_KIND_CPU_OP;
    }
    facts.counts[FACT_DEVICES] = (int64_t)count_devices(trace, options->include_unlinked_kernels);
    gt_comm_uses uses = gt_pytorch_find_communication(trace, NULL);
    if (uses.count) facts.communication = gt_comm_uses_text(&uses);
    gt_comm_uses_free(&uses);
    facts.left_out = left_out_text(trace, options);
    return facts;
}

static void print_count(FILE *out, int64_t count, const char *one, const char *many, const char *after)
{
    fprintf(out, "%" PRId64 " %s%s", count, gt_noun((uint64_t)count, one, many), after);
}

static void print_facts(FILE *out, const gt_summary_facts *facts)
{
    print_count(out, facts->counts[FACT_EVENTS], "event", "events", ": ");
    print_count(out, facts->counts[FACT_OPS], "op", "ops", ", ");
    print_count(out, facts->counts[FACT_KERNELS], "kernel", "kernels", ", ");
    print_count(out, facts->counts[FACT_LAUNCHES], "launch", "launches", " linked\n");
    if (facts->communication) fprintf(out, "communication: %s\n", facts->communication);
    if (facts->left_out) fprintf(out, "%s; gpu_timeline includes it\n", facts->left_out);
}

static gt_terminal terminal_of(FILE *out, int width, bool utf8)
{
    gt_terminal terminal = gt_terminal_for(out);
    terminal.width = width > 0 ? (size_t)width : 0;
    terminal.utf8 = utf8;
    return terminal;
}

void gt_pytorch_print_summary(FILE *out, const gt_summary_facts *facts, const gt_pytorch_options *options,
                              const gt_table_list *tables, int width, bool utf8)
{
    static const gt_summary_part parts[] = {
        {GT_SHEET_GPU_TIMELINE_BY_DEVICE, gt_summary_devices},
        {GT_SHEET_OPS_SUMMARY_BY_CATEGORY, print_categories},
        {GT_SHEET_OPS_SUMMARY, print_ops},
        {GT_SHEET_INFERENCE_PHASES, print_phases},
        {GT_SHEET_OPS_SUMMARY_PREFILL, print_prefill},
        {GT_SHEET_OPS_SUMMARY_DECODE, print_decode},
        {GT_SHEET_KERNEL_SUMMARY, print_kernels},
    };
    gt_terminal terminal = terminal_of(out, width, utf8);
    print_facts(out, facts);
    print_gpu(out, options->gpu_arch);
    const gt_table *timeline = gt_table_list_find(tables, GT_SHEET_GPU_TIMELINE);
    if (timeline && timeline->row_count) print_timeline(&terminal, facts, timeline);
    gt_summary_parts(&terminal, tables, parts, GT_LENGTH(parts));
}

/* ---- with findings ---- */

enum {
    LINES_MAX = 60,
    FILE_LINES = 7, /* a blank line and the names of the files that are written */
    TABLE_LINES =
        3, /* of a table, in addition to its rows: a blank line, the heading and the names of columns */
    ROWS_MIN = 1,
    ROWS_MAX = 6,
    DEVICES_LISTED = 4,
};

/* A table that takes the lines that are left. */
typedef struct short_table {
    gt_sheet sheet;
    const char *heading;
    const gt_terminal_column *columns;
    size_t column_count;
} short_table;

/* The rows of the timeline that are not 0; the total always is one of them. */
static gt_table *timeline_in_short(const gt_table *timeline)
{
    const gt_column *times = gt_table_column_of(timeline, GT_COL_TIME_MS, GT_TYPE_FLOAT);
    gt_table *kept = gt_table_copy(timeline);
    uint8_t *keep = gt_alloc(timeline->row_count);
    for (size_t row = 0; row < timeline->row_count; row++) keep[row] = times->floats[row] > 0;
    gt_table_keep(kept, keep);
    gt_free(keep);
    return kept;
}

static bool has_roofline(const gt_table_list *tables)
{
    const gt_table *ops = gt_table_list_find(tables, GT_SHEET_UNIFIED_PERF_SUMMARY);
    return ops && ops->row_count && gt_table_find(ops, GT_COL_PCT_ROOFLINE_MEAN) != SIZE_MAX;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

static void print_short_table(const gt_terminal *terminal, const gt_table_list *tables,
                              const short_table *shown, size_t rows)
{
    const gt_table *table = gt_table_list_find(tables, shown->sheet);
    fputc('\n', terminal->file);
    gt_terminal_heading(terminal, shown->heading);
    gt_terminal_rows(terminal, table, shown->columns, shown->column_count, rows);
}

/* Kernels, ops and roofline. `lines` are what is left for them. */
static void print_short_tables(const gt_terminal *terminal, const gt_answers *answers, size_t lines)
{
    const gt_terminal_column kernel_columns[] = {
        {GT_COL_PERCENT_OF_KERNELS_TIME_PCT, "share", 1, "%"},
        {GT_COL_KERNEL_DURATION_US_SUM, terminal->utf8 ? "total µs" : "total us", 1, NULL},
        {GT_COL_KERNEL_DURATION_US_COUNT, "count", 0, NULL},
        {GT_COL_KERNEL_NAME, "kernel", 0, NULL},
    };
    static const gt_terminal_column roofline_columns[] = {
        {GT_COL_PERCENTAGE_PCT, "share", 1, "%"},       {GT_COL_PCT_ROOFLINE_MEAN, "of roofline", 1, "%"},
        {GT_COL_TFLOPS_PER_S_MEAN, "TFLOP/s", 1, NULL}, {GT_COL_TB_PER_S_MEAN, "TB/s", 2, NULL},
        {GT_COL_ROOFLINE_BOUND, "bound", 0, NULL},      {GT_COL_NAME, "op", 0, NULL},
        {GT_COL_INPUT_DIMS, "shapes", 0, NULL},
    };
    const short_table all[] = {
        {GT_SHEET_KERNEL_SUMMARY, "Kernels by time", kernel_columns, GT_LENGTH(kernel_columns)},
        {GT_SHEET_OPS_SUMMARY, "Ops by kernel time", op_columns, GT_LENGTH(op_columns)},
        {GT_SHEET_UNIFIED_PERF_SUMMARY, "Roofline of the heaviest ops", roofline_columns,
         GT_LENGTH(roofline_columns)},
    };
    const short_table *shown[GT_LENGTH(all)];
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(all); i++) {
        bool is_roofline = all[i].columns == roofline_columns;
        if (!gt_answers_sheet(answers, all[i].sheet) || (is_roofline && !has_roofline(answers->tables)))
            continue;
        shown[count++] = &all[i];
    }
    if (!count) return;
    size_t rows = lines / count > TABLE_LINES + ROWS_MIN ? lines / count - TABLE_LINES : ROWS_MIN;
    if (rows > ROWS_MAX) rows = ROWS_MAX;
    for (size_t i = 0; i < count; i++) print_short_table(terminal, answers->tables, shown[i], rows);
}

/* Which rates the roofline has, or why there is none. Names come from files: they may contain anything. */
static void print_rates(const gt_terminal *terminal, const gt_answers *answers)
{
    const char *rates = gt_answers_text(answers, "roofline"), *name = gt_answers_text(answers, "device");
    const char *option = "--gpu_arch_platform or --gpu_arch_json_path gives its rates";
    const char *text = *rates ? rates : name;
    gt_buffer shown = {0};
    gt_display_add(&shown, (gt_str){text, strlen(text)}, terminal->utf8);
    if (*rates)
        fprintf(terminal->file, "roofline: %s\n", gt_buffer_str(&shown).bytes);
    else if (strcmp(name, "unknown") == 0)
        fprintf(terminal->file, "no roofline: the trace does not name its GPU; %s\n", option);
    else
        fprintf(terminal->file, "no roofline: the peak rates of %s are unknown; %s\n",
                gt_buffer_str(&shown).bytes, option);
    gt_buffer_free(&shown);
}

/* What comes before the tables. */
static void print_beginning(const gt_terminal *terminal, const gt_summary_facts *facts,
                            const gt_answers *answers, const gt_answers_limits *limits)
{
    gt_answers_print(answers, terminal, limits);
    fputc('\n', terminal->file);
    print_facts(terminal->file, facts);
    print_rates(terminal, answers);
    gt_report_print_graphs(terminal->file, answers->tables);
    const gt_table *timeline = gt_answers_sheet(answers, GT_SHEET_GPU_TIMELINE);
    if (timeline) {
        gt_table *kept = timeline_in_short(timeline);
        print_timeline(terminal, facts, kept);
        gt_table_free(kept);
    }
    const gt_table *devices = gt_answers_sheet(answers, GT_SHEET_GPU_TIMELINE_BY_DEVICE);
    if (devices) {
        fputc('\n', terminal->file);
        gt_summary_first_devices(terminal, devices, DEVICES_LISTED);
    }
    const gt_table *phases = gt_answers_sheet(answers, GT_SHEET_INFERENCE_PHASES);
    if (phases) {
        fputc('\n', terminal->file);
        print_phases(terminal, phases);
    }
}

/* The same, to be printed or dropped later. */
static void keep_beginning(const gt_terminal *terminal, const gt_summary_facts *facts,
                           const gt_answers *answers, const gt_answers_limits *limits, gt_kept_print *kept)
{
    gt_terminal later = *terminal;
    gt_print_keep(kept, terminal->file);
    later.file = kept->file;
    print_beginning(&later, facts, answers, limits);
    gt_print_keep_end(kept);
}

/* In a narrow terminal lines are broken, so less is shown if it would leave no room for the tables. */
void gt_pytorch_print_answers(FILE *out, const gt_summary_facts *facts, const gt_answers *answers,
                              bool all_findings, int width, bool utf8)
{
    static const gt_answers_limits usual[] = {{3, 2, 3}, {3, 1, 2}, {3, 1, 1}, {3, 0, 1},
                                              {2, 0, 1}, {1, 0, 1}, {1, 0, 0}};
    static const gt_answers_limits everything = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    const size_t lines_max = LINES_MAX - FILE_LINES, tables_min = 3 * (TABLE_LINES + ROWS_MIN);
    gt_terminal terminal = terminal_of(out, width, utf8);
    gt_kept_print text;
    keep_beginning(&terminal, facts, answers, all_findings ? &everything : &usual[0], &text);
    for (size_t i = 1; i < GT_LENGTH(usual) && !all_findings; i++) {
        if (count_lines(text.bytes) + tables_min <= lines_max) break;
        gt_print_drop(&text);
        keep_beginning(&terminal, facts, answers, &usual[i], &text);
    }
    size_t used = count_lines(text.bytes);
    gt_print_kept(&text);
    print_short_tables(&terminal, answers, used < lines_max ? lines_max - used : 0);
}
