/* What rules have in common: texts, times per step, sites of idle time, and what they ask of points. */
#include "findings/rules.h"

/* ---- texts ---- */

static char *format_text(const char *format, va_list values)
{
    va_list again;
    va_copy(again, values);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = gt_alloc((size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, values);
    return text;
}

char *gt_rule_text(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *text = format_text(format, values);
    va_end(values);
    return text;
}

void gt_rule_evidence(gt_finding *finding, const char *format, ...)
{
    if (finding->evidence_count == GT_EVIDENCE_MAX) return;
    va_list values;
    va_start(values, format);
    finding->evidence[finding->evidence_count++] = format_text(format, values);
    va_end(values);
}

void gt_rule_evidence_up(gt_finding *finding, size_t at)
{
    for (size_t i = finding->evidence_count; i-- > at + 1;) {
        char *item = finding->evidence[i];
        finding->evidence[i] = finding->evidence[i - 1];
        finding->evidence[i - 1] = item;
    }
}

gt_number_text gt_rule_number(double number)
{
    gt_number_text text = {"under 0.1"};
    if (number > 0 && number < 0.05) return text; /* not none */
    bool is_whole = fabs(number - floor(number + 0.5)) < 0.05;
    snprintf(text.text, sizeof text.text, "%.*f", is_whole || number >= 10 ? 0 : 1, number);
    return text;
}

gt_number_text gt_rule_count(double number, const char *one, const char *many)
{
    gt_number_text text, digits = gt_rule_number(number);
    bool is_one = strcmp(digits.text, "1") == 0;
    snprintf(text.text, sizeof text.text, "%.24s %.38s", digits.text, is_one ? one : many);
    return text;
}

/* ---- times ---- */

double gt_rule_ms(const gt_rule_input *input, double window_ns)
{
    return window_ns / (double)input->schedule->window.steps / 1e6;
}

double gt_rule_idle_ms(const gt_rule_input *input, gt_cause cause)
{
    return gt_rule_ms(input, (double)input->idle->cause_ns[cause]);
}

double gt_rule_state_idle(const gt_rule_input *input, gt_finding *finding, gt_cause cause)
{
    finding->states_idle = true;
    finding->stated_idle_ns += (double)input->idle->cause_ns[cause] / (double)input->schedule->window.steps;
    return gt_rule_idle_ms(input, cause);
}

double gt_rule_host_ms(const gt_rule_input *input, gt_cause label)
{
    const gt_schedule *schedule = input->schedule;
    int64_t sum_ns = 0;
    for (size_t p = 0; p < schedule->point_count; p++) {
        const gt_host_point *point = &schedule->points[p];
        if (!gt_window_has_point(&schedule->window, point)) continue;
        if (!gt_replay_may_have(schedule, (uint32_t)p, label)) continue;
        for (size_t i = point->first_piece; i < (size_t)point->first_piece + point->piece_count; i++)
            if (schedule->pieces[i].label == label)
                sum_ns += schedule->pieces[i].end_ns - schedule->pieces[i].start_ns;
    }
    return gt_rule_ms(input, (double)sum_ns);
}

bool gt_rule_has_label(const gt_rule_input *input, gt_cause label)
{
    const gt_schedule *schedule = input->schedule;
    if (!gt_replay_may_have(schedule, GT_NONE, label)) return false;
    for (size_t i = 0; i < schedule->piece_count; i++)
        if (schedule->pieces[i].label == label && schedule->pieces[i].end_ns > schedule->pieces[i].start_ns)
            return true;
    return false;
}

gt_tally gt_rule_idle_sites(const gt_rule_input *input, gt_cause cause)
{
    gt_tally tally = {0};
    for (size_t i = 0; i < input->idle->piece_count; i++) {
        const gt_idle_piece *piece = &input->idle->pieces[i];
        if (i + GT_EVENTS_AHEAD < input->idle->piece_count && piece[GT_EVENTS_AHEAD].cause == cause)
            gt_event_prefetch(input->schedule, piece[GT_EVENTS_AHEAD].event);
        if (piece->cause != cause || piece->event == GT_NONE) continue;
        uint32_t site = gt_site_of_idle(input->schedule, piece->cause, piece->event);
        if (gt_site_is_known(input->schedule, site))
            gt_tally_add(&tally, site, (double)(piece->end_ns - piece->start_ns));
    }
    gt_tally_sort(&tally);
    return tally;
}

char *gt_rule_string(const gt_rule_input *input, uint32_t text)
{
    if (text == GT_STR_NONE || !gt_site_is_known(input->schedule, text)) return NULL;
    return gt_strdup(gt_interner_get(input->schedule->strings, text).bytes);
}

/* ---- points ---- */

bool *gt_rule_points_in_trips(const gt_schedule *schedule)
{
    bool *inside = gt_alloc_zero(schedule->point_count, sizeof *inside);
    for (size_t t = 0; t < schedule->trip_count; t++)
        for (size_t p = schedule->trips[t].first;
             p < schedule->point_count && p <= (size_t)schedule->trips[t].last + 1; p++)
            inside[p] = true;
    return inside;
}
