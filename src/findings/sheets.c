/* The sheets of findings. All texts that users see of findings, in terminal, JSON and Markdown, are made from
 * these sheets.
 *
 *     overview     name, value, unit, text: one row per fact
 *     findings     rank, id, severity, confidence, hint, kind, title, where, gain_ms, gain_pct,
 *                  gain_low_ms, gain_high_ms (gain_ranges.c), score, evidence (joined by "; "), advice
 *     trust        id, level, value, warn, fail, text
 *     idle_causes  cause, ms, pct_of_step, pieces, top_site, top_site_ms; ms are per step
 *     idle_calls   cause, site, host_call, ms, pieces: the same by the host event that caused it
 *     idle_gaps    rank, start_ms (since base_us), duration_us, cause, op (that ends the gap), site,
 *                  host_call: the GAPS_SHOWN longest gaps
 *     balance      balance.c
 *     what_if      what_if.c */
#include "findings/sheets.h"
#include "findings/schedule/all_devices.h"
#include "schema/columns.h"

enum { GAPS_SHOWN = 100 };

static double ms_per_step(const gt_findings *f, double window_ns)
{
    return window_ns / 1e6 / (double)f->schedule->window.steps;
}

/* ---- overview ---- */

enum { FACT_NAME, FACT_VALUE, FACT_UNIT, FACT_TEXT };

gt_table *gt_overview_new(gt_interner *strings)
{
    static const gt_column_head heads[] = {
        [FACT_NAME] = {GT_COL_NAME, GT_TYPE_STRING},
        [FACT_VALUE] = {GT_COL_VALUE, GT_TYPE_FLOAT},
        [FACT_UNIT] = {GT_COL_UNIT, GT_TYPE_STRING},
        [FACT_TEXT] = {GT_COL_TEXT, GT_TYPE_STRING},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_OVERVIEW, strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    return sheet;
}

void gt_overview_add_number(gt_table *sheet, const char *name, double value, const char *unit)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, FACT_NAME, row, name);
    gt_table_set_float(sheet, FACT_VALUE, row, isfinite(value) ? value : NAN);
    gt_table_set_cstr(sheet, FACT_UNIT, row, unit);
}

void gt_overview_add_text(gt_table *sheet, const char *name, const char *text)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, FACT_NAME, row, name);
    gt_table_set_cstr(sheet, FACT_TEXT, row, text);
}

static double idle_sum_error_us(const gt_idle *idle)
{
    int64_t sum = 0;
    for (size_t i = 0; i < GT_CAUSES; i++) sum += idle->cause_ns[i];
    return fabs((double)(sum - idle->total_ns)) / 1e3;
}

/* The rates of roofline columns: "H200, peak rates". */
static void add_rates(gt_table *sheet, const gt_gpu_arch *arch)
{
    gt_buffer text = {0};
    if (arch) gt_gpu_arch_describe(arch, &text);
    gt_overview_add_text(sheet, "roofline", gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

/* Of a server: how many steps each phase has, and how long they take from end to end. Returns the mean of the
 * main phase; `otherwise` if there is only one step. */
static double add_phases(gt_table *sheet, const gt_step_list *list, double otherwise)
{
    double sums_ns[GT_SERVING_PHASES] = {0}, means_ms[GT_SERVING_PHASES] = {0};
    for (gt_serving_phase phase = 0; phase < GT_SERVING_PHASES; phase++) {
        size_t steps = 0, timed = 0;
        double took_ns = 0;
        for (size_t i = 0; i < list->on_gpu_count; i++) {
            const gt_listed_step *step = &list->steps[list->on_gpu[i]];
            if (step->phase != phase) continue;
            steps++;
            timed += step->has_interval;
            took_ns += (double)step->interval_ns;
        }
        if (!steps) continue;
        char name[48];
        snprintf(name, sizeof name, "steps_%s", gt_serving_phase_name(phase));
        gt_overview_add_number(sheet, name, (double)steps, "steps");
        snprintf(name, sizeof name, "step_ms_%s", gt_serving_phase_name(phase));
        if (!timed) continue;
        sums_ns[phase] = took_ns;
        means_ms[phase] = took_ns / (double)timed / 1e6;
        gt_overview_add_number(sheet, name, means_ms[phase], "ms");
    }
    gt_serving_phase main = gt_serving_main_phase(sums_ns);
    return sums_ns[main] > 0 ? means_ms[main] : otherwise;
}

static gt_table *overview_sheet(const gt_findings *f)
{
    const gt_schedule *s = f->schedule;
    gt_table *sheet = gt_overview_new(s->strings);
    gt_overview_add_text(sheet, "verdict", gt_trust_verdict(f->trust.verdict));
    if (s->is_capture) gt_overview_add_text(sheet, "contents", "graph capture");
    gt_overview_add_text(sheet, "device", *f->gpu.name ? f->gpu.name : "unknown");
    if (f->gpu.is_deduced) gt_overview_add_text(sheet, "device_by", "properties");
    add_rates(sheet, f->arch);
    gt_overview_add_number(sheet, "device_count", (double)s->device_count, "devices");
    if (s->device_count > 1) gt_overview_add_text(sheet, "judged_device", gt_schedule_place(s));
    gt_overview_add_number(sheet, "gpu_ops", (double)s->op_count, "ops");
    gt_overview_add_text(sheet, "per", f->per);
    gt_overview_add_number(sheet, "steps", (double)s->used_step_count, "steps");
    double step_ms = f->step_ns / 1e6;
    if (s->listed) step_ms = add_phases(sheet, s->listed, step_ms);
    gt_overview_add_number(sheet, "empty_steps", (double)gt_schedule_empty_steps(s), "steps");
    gt_overview_add_number(sheet, "window_steps", (double)s->window.steps, "steps");
    gt_overview_add_number(sheet, "window_start_us",
                           s->base_us + (double)gt_recorded_ns(s, s->window.start_ns) / 1e3, "us");
    gt_overview_add_number(sheet, "window_ns", (double)(s->window.end_ns - s->window.start_ns), "ns");
    if (s->used_step_count) gt_overview_add_number(sheet, "step_ms", step_ms, "ms");
    if (f->list->median_ns > 0)
        gt_overview_add_number(sheet, "median_step_ms", f->list->median_ns / 1e6, "ms");
    if (f->no_rule) gt_overview_add_text(sheet, "no_rule", f->no_rule);
    gt_overview_add_number(sheet, "recorded_ms", f->step_ns / 1e6, "ms");
    gt_overview_add_number(sheet, "busy_ms", f->busy_ns / 1e6, "ms");
    gt_overview_add_number(sheet, "idle_ms", f->idle_ns / 1e6, "ms");
    gt_overview_add_number(sheet, "model_step_ms", gt_replayed_ms(f->model_ns), "ms");
    gt_overview_add_number(sheet, "all_fixed_ms", gt_replayed_ms(f->list->all_fixed_ns), "ms");
    gt_overview_add_number(sheet, "replay_error_pct", f->replay_error_pct, "%");
    gt_overview_add_number(sheet, "overhead_python_us", s->python_cost_ns / 1e3, "us");
    gt_overview_add_number(sheet, "overhead_op_us", s->op_cost_ns / 1e3, "us");
    gt_overview_add_number(sheet, "launch_latency_us", (double)s->launch_ns / 1e3, "us");
    gt_overview_add_number(sheet, "idle_sum_error_us", idle_sum_error_us(f->idle), "us");
    return sheet;
}

/* ---- findings ---- */

enum {
    FINDING_RANK,
    FINDING_ID,
    FINDING_SEVERITY,
    FINDING_CONFIDENCE,
    FINDING_HINT,
    FINDING_KIND,
    FINDING_TITLE,
    FINDING_WHERE,
    FINDING_GAIN,
    FINDING_PCT,
    FINDING_LOW,
    FINDING_HIGH,
    FINDING_SCORE,
    FINDING_EVIDENCE,
    FINDING_ADVICE
};

gt_table *gt_findings_sheet_new(gt_interner *strings)
{
    static const gt_column_head heads[] = {
        [FINDING_RANK] = {GT_COL_RANK, GT_TYPE_INT},
        [FINDING_ID] = {GT_COL_ID, GT_TYPE_STRING},
        [FINDING_SEVERITY] = {GT_COL_SEVERITY, GT_TYPE_STRING},
        [FINDING_CONFIDENCE] = {GT_COL_CONFIDENCE, GT_TYPE_STRING},
        [FINDING_HINT] = {GT_COL_HINT, GT_TYPE_BOOL},
        [FINDING_KIND] = {GT_COL_KIND, GT_TYPE_STRING},
        [FINDING_TITLE] = {GT_COL_TITLE, GT_TYPE_STRING},
        [FINDING_WHERE] = {GT_COL_WHERE, GT_TYPE_STRING},
        [FINDING_GAIN] = {GT_COL_GAIN_MS, GT_TYPE_FLOAT},
        [FINDING_PCT] = {GT_COL_GAIN_PCT, GT_TYPE_FLOAT},
        [FINDING_LOW] = {GT_COL_GAIN_LOW_MS, GT_TYPE_FLOAT},
        [FINDING_HIGH] = {GT_COL_GAIN_HIGH_MS, GT_TYPE_FLOAT},
        [FINDING_SCORE] = {GT_COL_SCORE, GT_TYPE_FLOAT},
        [FINDING_EVIDENCE] = {GT_COL_EVIDENCE, GT_TYPE_STRING},
        [FINDING_ADVICE] = {GT_COL_ADVICE, GT_TYPE_STRING},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_FINDINGS, strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    return sheet;
}

size_t gt_findings_sheet_add(gt_table *sheet, const gt_finding_row *finding)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_int(sheet, FINDING_RANK, row, (int64_t)row + 1);
    gt_table_set_cstr(sheet, FINDING_ID, row, finding->id);
    gt_table_set_cstr(sheet, FINDING_SEVERITY, row, gt_severity_name(finding->severity));
    gt_table_set_cstr(sheet, FINDING_CONFIDENCE, row, gt_confidence_name(finding->confidence));
    gt_table_set_bool(sheet, FINDING_HINT, row, finding->confidence == GT_CONFIDENCE_LOW);
    gt_table_set_cstr(sheet, FINDING_KIND, row, finding->is_gpu ? "gpu" : "host");
    gt_table_set_cstr(sheet, FINDING_TITLE, row, finding->title);
    if (finding->where) gt_table_set_cstr(sheet, FINDING_WHERE, row, finding->where);
    gt_table_set_float(sheet, FINDING_GAIN, row, finding->gain_ms);
    gt_table_set_float(sheet, FINDING_PCT, row, finding->gain_pct);
    double whole_ms = finding->gain_pct > 0 ? 100 * finding->gain_ms / finding->gain_pct : finding->gain_ms;
    gt_gain_range range =
        gt_gain_range_find(finding->id, finding->confidence, finding->gain_ms, whole_ms, finding->error_ms);
    gt_table_set_float(sheet, FINDING_LOW, row, gt_replayed_ms(range.low * 1e6));
    gt_table_set_float(sheet, FINDING_HIGH, row, gt_replayed_ms(range.high * 1e6));
    gt_table_set_float(sheet, FINDING_SCORE, row, finding->score);
    gt_table_set_cstr(sheet, FINDING_EVIDENCE, row, finding->evidence);
    gt_table_set_cstr(sheet, FINDING_ADVICE, row, finding->advice);
    return row;
}

/* Joined by "; ", which no item contains: JSON has the items again. */
static void join_evidence(const gt_finding *finding, gt_buffer *text)
{
    text->len = 0;
    for (size_t i = 0; i < finding->evidence_count; i++) {
        if (i) gt_buffer_add_cstr(text, "; ");
        const char *item = finding->evidence[i];
        for (; *item; item++) gt_buffer_add(text, *item == ';' && item[1] == ' ' ? "," : item, 1);
    }
}

static gt_table *findings_sheet(const gt_findings *f)
{
    gt_buffer evidence = {0};
    gt_table *sheet = gt_findings_sheet_new(f->schedule->strings);
    bool has_phases = f->schedule->listed != NULL;
    size_t phase = has_phases ? gt_table_add_column(sheet, GT_COL_PHASE, GT_TYPE_STRING) : 0;
    size_t gain = has_phases ? gt_table_add_column(sheet, GT_COL_PHASE_GAIN_MS, GT_TYPE_FLOAT) : 0;
    for (size_t i = 0; i < f->list->shown; i++) {
        const gt_finding *finding = &f->list->items[i];
        join_evidence(finding, &evidence);
        const gt_finding_row row = {.id = finding->id,
                                    .title = finding->title,
                                    .where = finding->where,
                                    .evidence = gt_buffer_str(&evidence).bytes,
                                    .advice = finding->advice,
                                    .severity = finding->severity,
                                    .confidence = finding->confidence,
                                    .is_gpu = finding->is_gpu,
                                    .gain_ms = gt_replayed_ms(finding->gain_ns),
                                    .error_ms = fabs(f->replay_error_ns) / 1e6,
                                    .gain_pct = floor(finding->gain_pct * 100 + 0.5) / 100,
                                    .score = finding->score};
        size_t added = gt_findings_sheet_add(sheet, &row);
        if (!has_phases || !finding->phase) continue;
        gt_table_set_cstr(sheet, phase, added, finding->phase);
        gt_table_set_float(sheet, gain, added, gt_replayed_ms(finding->phase_gain_ns));
    }
    gt_buffer_free(&evidence);
    return sheet;
}

/* ---- trust ---- */

enum { CHECK_ID, CHECK_LEVEL, CHECK_VALUE, CHECK_WARN, CHECK_FAIL, CHECK_TEXT };

gt_table *gt_trust_sheet_new(gt_interner *strings)
{
    static const gt_column_head heads[] = {
        [CHECK_ID] = {GT_COL_ID, GT_TYPE_STRING},      [CHECK_LEVEL] = {GT_COL_LEVEL, GT_TYPE_STRING},
        [CHECK_VALUE] = {GT_COL_VALUE, GT_TYPE_FLOAT}, [CHECK_WARN] = {GT_COL_WARN, GT_TYPE_FLOAT},
        [CHECK_FAIL] = {GT_COL_FAIL, GT_TYPE_FLOAT},   [CHECK_TEXT] = {GT_COL_TEXT, GT_TYPE_STRING},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_TRUST, strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    return sheet;
}

size_t gt_trust_sheet_add(gt_table *sheet, const gt_trust_check *check, const char *text)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, CHECK_ID, row, check->id);
    gt_table_set_cstr(sheet, CHECK_LEVEL, row, gt_trust_level_name(check->level));
    gt_table_set_float(sheet, CHECK_VALUE, row, floor(check->value * 1000 + 0.5) / 1000);
    gt_table_set_float(sheet, CHECK_WARN, row, check->warn);
    gt_table_set_float(sheet, CHECK_FAIL, row, check->fail);
    gt_table_set_cstr(sheet, CHECK_TEXT, row, text);
    return row;
}

static gt_table *trust_sheet(const gt_findings *f)
{
    gt_table *sheet = gt_trust_sheet_new(f->schedule->strings);
    for (size_t i = 0; i < f->trust.count; i++)
        gt_trust_sheet_add(sheet, &f->trust.checks[i], f->trust.checks[i].text);
    return sheet;
}

/* ---- causes of idle time ---- */

/* The causes, that with the most time first. */
static void order_causes(const gt_idle *idle, uint8_t order[GT_CAUSES])
{
    for (uint8_t i = 0; i < GT_CAUSES; i++) {
        uint8_t at = i;
        for (; at > 0 && idle->cause_ns[order[at - 1]] < idle->cause_ns[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Idle time with the same cause, site and host call. */
typedef struct idle_call {
    uint8_t cause;
    uint8_t place;       /* of its cause in the order above */
    uint32_t site, call; /* string ids; GT_STR_NONE: none */
    int64_t ns;
    size_t pieces, first; /* where it was found first */
} idle_call;

typedef struct idle_calls {
    idle_call *items;
    size_t count, capacity;
} idle_calls;

/* Whether the place in the program says more than "operators were launched here". */
static bool has_site(uint8_t cause)
{
    return cause < GT_CAUSE_DEVICE_GAP && cause != GT_CAUSE_LAUNCH && cause != GT_CAUSE_PROFILER &&
           cause != GT_CAUSE_MODULE;
}

static uint32_t site_of(const gt_findings *f, const gt_idle_piece *piece)
{
    if (piece->event == GT_NONE || !has_site(piece->cause)) return GT_STR_NONE;
    uint32_t site = gt_site_of_idle(f->schedule, piece->cause, piece->event);
    return gt_site_is_known(f->schedule, site) ? site : GT_STR_NONE;
}

static uint32_t call_of(const gt_findings *f, const gt_idle_piece *piece)
{
    return piece->event == GT_NONE ? GT_STR_NONE : f->schedule->events[piece->event].name;
}

/* The causes with the most time first, then the calls; equal ones in the order of the trace. */
static int by_time(const void *a, const void *b)
{
    const idle_call *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static idle_calls find_calls(const gt_findings *f)
{
    idle_calls calls = {0};
    gt_map places = {0};
    uint8_t order[GT_CAUSES], place_of[GT_CAUSES];
    order_causes(f->idle, order);
    for (uint8_t i = 0; i < GT_CAUSES; i++) place_of[order[i]] = i;
    for (size_t i = 0; i < f->idle->piece_count; i++) {
        const gt_idle_piece *piece = &f->idle->pieces[i];
        if (i + GT_EVENTS_AHEAD < f->idle->piece_count)
            gt_event_prefetch(f->schedule, piece[GT_EVENTS_AHEAD].event);
        idle_call call = {.cause = piece->cause,
                          .place = place_of[piece->cause],
                          .site = site_of(f, piece),
                          .call = call_of(f, piece),
                          .first = calls.count};
        uint32_t *place = gt_map_put(&places, (uint64_t)call.cause << 32 | call.site, call.call);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)calls.count;
            GT_PUSH(calls.items, calls.count, calls.capacity, call);
        }
        calls.items[*place].ns += piece->end_ns - piece->start_ns;
        calls.items[*place].pieces++;
    }
    gt_map_free(&places);
    if (calls.count) qsort(calls.items, calls.count, sizeof *calls.items, by_time);
    return calls;
}

static gt_table *calls_sheet(const gt_findings *f, const idle_calls *calls)
{
    enum { CAUSE, SITE, CALL, MS, PIECES };
    static const gt_column_head heads[] = {
        [CAUSE] = {GT_COL_CAUSE, GT_TYPE_STRING},    [SITE] = {GT_COL_SITE, GT_TYPE_STRING},
        [CALL] = {GT_COL_HOST_CALL, GT_TYPE_STRING}, [MS] = {GT_COL_MS, GT_TYPE_FLOAT},
        [PIECES] = {GT_COL_PIECES, GT_TYPE_INT},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_IDLE_CALLS, f->schedule->strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    gt_table_reserve(sheet, calls->count);
    for (size_t i = 0; i < calls->count; i++) {
        const idle_call *call = &calls->items[i];
        size_t row = gt_table_add_row(sheet);
        gt_table_set_cstr(sheet, CAUSE, row, gt_cause_name(call->cause));
        gt_table_set_string(sheet, SITE, row, call->site);
        gt_table_set_string(sheet, CALL, row, call->call);
        gt_table_set_float(sheet, MS, row, ms_per_step(f, (double)call->ns));
        gt_table_set_int(sheet, PIECES, row, (int64_t)call->pieces);
    }
    return sheet;
}

/* The site with the most time of each cause. */
static void find_top_sites(const idle_calls *calls, uint32_t sites[GT_CAUSES], double ns[GT_CAUSES])
{
    gt_tally tallies[GT_CAUSES] = {0};
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].site != GT_STR_NONE)
            gt_tally_add(&tallies[calls->items[i].cause], calls->items[i].site, (double)calls->items[i].ns);
    for (size_t i = 0; i < GT_CAUSES; i++) {
        gt_tally_sort(&tallies[i]);
        sites[i] = tallies[i].item_count ? tallies[i].items[0].text : GT_STR_NONE;
        ns[i] = tallies[i].item_count ? tallies[i].items[0].sum : NAN;
        gt_tally_free(&tallies[i]);
    }
}

static gt_table *causes_sheet(const gt_findings *f, const idle_calls *calls)
{
    enum { CAUSE, MS, PCT, PIECES, SITE, SITE_MS };
    static const gt_column_head heads[] = {
        [CAUSE] = {GT_COL_CAUSE, GT_TYPE_STRING},    [MS] = {GT_COL_MS, GT_TYPE_FLOAT},
        [PCT] = {GT_COL_PCT_OF_STEP, GT_TYPE_FLOAT}, [PIECES] = {GT_COL_PIECES, GT_TYPE_INT},
        [SITE] = {GT_COL_TOP_SITE, GT_TYPE_STRING},  [SITE_MS] = {GT_COL_TOP_SITE_MS, GT_TYPE_FLOAT},
    };
    uint32_t sites[GT_CAUSES];
    double site_ns[GT_CAUSES];
    uint8_t order[GT_CAUSES];
    find_top_sites(calls, sites, site_ns);
    order_causes(f->idle, order);
    gt_table *sheet = gt_table_new(GT_SHEET_IDLE_CAUSES, f->schedule->strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    for (size_t i = 0; i < GT_CAUSES && f->idle->cause_ns[order[i]] > 0; i++) {
        uint8_t cause = order[i];
        double ns = (double)f->idle->cause_ns[cause];
        size_t row = gt_table_add_row(sheet);
        gt_table_set_cstr(sheet, CAUSE, row, gt_cause_name(cause));
        gt_table_set_float(sheet, MS, row, ms_per_step(f, ns));
        gt_table_set_float(sheet, PCT, row,
                           100 * ns / (double)(f->schedule->window.end_ns - f->schedule->window.start_ns));
        gt_table_set_int(sheet, PIECES, row, (int64_t)f->idle->cause_pieces[cause]);
        gt_table_set_string(sheet, SITE, row, sites[cause]);
        if (!isnan(site_ns[cause])) gt_table_set_float(sheet, SITE_MS, row, ms_per_step(f, site_ns[cause]));
    }
    return sheet;
}

/* ---- gaps ---- */

/* Longer gaps first, then earlier ones. */
static bool is_before(const gt_gap *gaps, uint32_t a, uint32_t b)
{
    int64_t long_a = gaps[a].end_ns - gaps[a].start_ns, long_b = gaps[b].end_ns - gaps[b].start_ns;
    return long_a != long_b ? long_a > long_b : a < b;
}

/* The longest gaps in order: a short sorted list, into which few of many gaps must be inserted. */
static size_t longest_gaps(const gt_idle *idle, uint32_t longest[GAPS_SHOWN])
{
    size_t count = 0;
    for (uint32_t gap = 0; gap < idle->gap_count; gap++) {
        if (count == GAPS_SHOWN && !is_before(idle->gaps, gap, longest[count - 1])) continue;
        size_t at = count < GAPS_SHOWN ? count++ : count - 1;
        for (; at > 0 && is_before(idle->gaps, gap, longest[at - 1]); at--) longest[at] = longest[at - 1];
        longest[at] = gap;
    }
    return count;
}

/* The longest piece of a gap that has the gap's cause. */
static const gt_idle_piece *main_piece(const gt_idle *idle, const gt_gap *gap)
{
    const gt_idle_piece *found = NULL;
    for (size_t i = gap->first_piece; i < (size_t)gap->first_piece + gap->piece_count; i++) {
        const gt_idle_piece *piece = &idle->pieces[i];
        if (piece->cause != gap->cause) continue;
        if (!found || piece->end_ns - piece->start_ns > found->end_ns - found->start_ns) found = piece;
    }
    return found;
}

static gt_table *gaps_sheet(const gt_findings *f)
{
    enum { RANK, START, DURATION, CAUSE, OP, SITE, CALL };
    static const gt_column_head heads[] = {
        [RANK] = {GT_COL_RANK, GT_TYPE_INT},
        [START] = {GT_COL_START_MS, GT_TYPE_FLOAT},
        [DURATION] = {GT_COL_DURATION_US, GT_TYPE_FLOAT},
        [CAUSE] = {GT_COL_CAUSE, GT_TYPE_STRING},
        [OP] = {GT_COL_OP, GT_TYPE_STRING},
        [SITE] = {GT_COL_SITE, GT_TYPE_STRING},
        [CALL] = {GT_COL_HOST_CALL, GT_TYPE_STRING},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_IDLE_GAPS, f->schedule->strings);
    gt_table_add_columns(sheet, heads, GT_LENGTH(heads));
    uint32_t longest[GAPS_SHOWN];
    size_t count = longest_gaps(f->idle, longest);
    for (size_t i = 0; i < count; i++) {
        const gt_gap *gap = &f->idle->gaps[longest[i]];
        const gt_idle_piece *piece = main_piece(f->idle, gap);
        size_t row = gt_table_add_row(sheet);
        gt_table_set_int(sheet, RANK, row, (int64_t)i + 1);
        gt_table_set_float(sheet, START, row, (double)gt_recorded_ns(f->schedule, gap->start_ns) / 1e6);
        gt_table_set_float(sheet, DURATION, row, (double)(gap->end_ns - gap->start_ns) / 1e3);
        gt_table_set_cstr(sheet, CAUSE, row, gt_cause_name(gap->cause));
        if (gap->op != GT_NONE) gt_table_set_string(sheet, OP, row, f->schedule->ops[gap->op].name);
        if (piece) gt_table_set_string(sheet, SITE, row, site_of(f, piece));
        if (piece) gt_table_set_string(sheet, CALL, row, call_of(f, piece));
    }
    return sheet;
}

void gt_findings_add_sheets(const gt_findings *f, gt_table_list *tables)
{
    idle_calls calls = find_calls(f);
    gt_table_list_add(tables, overview_sheet(f));
    gt_table_list_add(tables, findings_sheet(f));
    gt_table_list_add(tables, trust_sheet(f));
    gt_table_list_add(tables, causes_sheet(f, &calls));
    gt_table_list_add(tables, calls_sheet(f, &calls));
    gt_table_list_add(tables, gaps_sheet(f));
    gt_table_list_add(tables, gt_balance_sheet(f));
    gt_table_list_add(tables, gt_what_if_sheet(f));
    gt_free(calls.items);
}
