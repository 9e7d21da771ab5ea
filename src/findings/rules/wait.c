/* wait: does the launching thread wait for somebody else?
 *
 * A long call that waits (labels.c) computes nothing: neither faster Python nor fewer launches help. The
 * functions around the call say for whom. If most of it is input data, the finding is a data_stall. */
#include "findings/rules/rules_table.h"

enum { WORDS_MAX = 10, FUNCTIONS_MAX = 40 };

/* The first row whose words the functions around the call have, one of `words` and, if there are any, one of
 * `also`; the last row fits all. */
static const struct {
    const char *who, *words[WORDS_MAX], *also[WORDS_MAX], *advice;
} waits[] = {
    {"a collective on the CPU",
     {"torch/distributed", "torch\\distributed", "c10d", "gloo", "horovod", "mpi4py"},
     {NULL},
     "Reduce this value on the GPU with NCCL, combine several small collectives into one, or do it every N "
     "steps; if other ranks are late, look at those first."},
    {"input data",
     {"torch/utils/data", "prefetch", "loader", "Loader", "dataset", "data.py", "get_batch", "next_batch",
      "feed"},
     {NULL},
     "Fill the queue faster: more producers, a longer queue, cheaper decoding; check that producers do not "
     "wait for each other or for the GIL."},
    {"the next request",
     {"queue.py", "multiprocessing/queues", "multiprocessing/connection", "asyncio", "selectors.py"},
     {"serv", "Serv", "engine", "Engine", "request", "Request", "schedul", "Schedul", "llm", "LLM"},
     "The GPU waits for requests: nothing to repair in the model; send more requests at a time, or batch "
     "them."},
    {"a queue",
     {"queue.py", "multiprocessing/queues", "multiprocessing/connection", "asyncio", "selectors.py"},
     {NULL},
     "Find out why the other side of this queue is slow: more producers or a longer queue; if threads of "
     "this process feed it, the GIL limits them, so use processes."},
    {"another thread",
     {"concurrent/futures", ": result", ": join"},
     {NULL},
     "Start this work earlier and collect the result later, or do it every N steps."},
    {"another process",
     {"subprocess", "multiprocessing"},
     {NULL},
     "Start this work earlier and collect the result later, or use more processes."},
    {"a lock",
     {"acquire", ": __enter__"},
     {NULL},
     "See who holds this lock, and hold it for less time; background threads must not hold it while they "
     "copy or write."},
    {"something outside of the trace",
     {NULL},
     {NULL},
     "See what this call waits for, and start that earlier."},
};
enum { INPUT_DATA = 1, NOBODY = GT_LENGTH(waits) - 1 };

/* Whether a function at or above an event has one of these words. */
static bool any_has(const gt_schedule *s, uint32_t event, const char *const words[WORDS_MAX])
{
    for (int depth = 0; event != GT_NONE && depth < FUNCTIONS_MAX; depth++, event = s->events[event].parent) {
        gt_str name = gt_interner_get(s->strings, s->events[event].name);
        for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
            if (gt_str_contains(name, words[i])) return true;
    }
    return false;
}

/* The row that says for whom a call waits. */
static size_t find_row(const gt_schedule *s, uint32_t event)
{
    size_t row = 0;
    while (row < NOBODY && !(any_has(s, event, waits[row].words) &&
                             (!*waits[row].also || any_has(s, event, waits[row].also))))
        row++;
    return row;
}

/* Waiting time in the window by row; returns the row with the most. */
static size_t sum_waits(const gt_schedule *s, double sums[GT_LENGTH(waits)])
{
    size_t most = NOBODY;
    for (size_t i = 0; i < GT_LENGTH(waits); i++) sums[i] = 0;
    for (size_t p = 0; p < s->point_count; p++) {
        const gt_host_point *point = &s->points[p];
        if (!gt_window_has_point(&s->window, point) || !gt_replay_may_have(s, (uint32_t)p, GT_CAUSE_WAIT))
            continue;
        for (size_t i = point->first_piece; i < (size_t)point->first_piece + point->piece_count; i++) {
            const gt_piece *piece = &s->pieces[i];
            if (piece->label == GT_CAUSE_WAIT)
                sums[find_row(s, piece->event)] += (double)(piece->end_ns - piece->start_ns);
        }
    }
    for (size_t i = 0; i < GT_LENGTH(waits); i++)
        if (sums[i] > sums[most]) most = i;
    return most;
}

bool gt_rule_wait(const gt_rule_input *input, gt_finding *finding)
{
    if (!gt_rule_has_label(input, GT_CAUSE_WAIT)) return false;
    double sums[GT_LENGTH(waits)], idle_ms = gt_rule_state_idle(input, finding, GT_CAUSE_WAIT);
    size_t most = sum_waits(input->schedule, sums);
    finding->id = most == INPUT_DATA ? "data_stall" : "wait";
    finding->confidence = GT_CONFIDENCE_HIGH;
    finding->title =
        gt_rule_text("The launching thread waits %.2f ms per %s for %s; the GPU is idle for %.2f ms of it",
                     gt_rule_host_ms(input, GT_CAUSE_WAIT), input->per, waits[most].who, idle_ms);
    gt_tally sites = gt_rule_idle_sites(input, GT_CAUSE_WAIT);
    if (sites.item_count) finding->where = gt_rule_string(input, sites.items[0].text);
    for (size_t i = 0; i < GT_LENGTH(waits); i++)
        if (gt_rule_shows(gt_rule_ms(input, sums[i])))
            gt_rule_evidence(finding, "for %s: %.2f ms per %s", waits[i].who, gt_rule_ms(input, sums[i]),
                             input->per);
    for (size_t i = 0; i < sites.item_count && i < 2 && gt_rule_shows(gt_rule_ms(input, sites.items[i].sum));
         i++)
        gt_rule_evidence(finding, "%s: %.2f ms idle",
                         gt_interner_get(input->schedule->strings, sites.items[i].text).bytes,
                         gt_rule_ms(input, sites.items[i].sum));
    gt_tally_free(&sites);
    finding->advice = gt_rule_text("%s", waits[most].advice);
    gt_edit_remove_label(&finding->edit, input->schedule, GT_CAUSE_WAIT);
    return true;
}
