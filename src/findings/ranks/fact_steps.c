/* What is kept of the steps of one rank: when each began, and its number. */
#include "findings/ranks/chains.h"

#include "base/memory.h"
#include "schema/columns.h"

#include <ctype.h>

/* -1: the name has none. */
static int64_t number_of_step(const gt_schedule *s, size_t step)
{
    enum { DIGITS_MAX = 15 };
    gt_str name = gt_interner_get(s->strings, s->steps[step].name);
    int64_t number = 0;
    size_t digits = 0;
    while (digits < name.len && digits < DIGITS_MAX &&
           isdigit((unsigned char)name.bytes[name.len - 1 - digits]))
        digits++;
    for (size_t i = name.len - digits; i < name.len; i++) number = 10 * number + (name.bytes[i] - '0');
    return digits ? number : -1;
}

/* In ascending order, or they do not say which step it is. */
static void find_step_numbers(gt_rank_facts *f, const gt_schedule *s)
{
    if (!s->step_count) return;
    f->step_numbers = gt_alloc(s->step_count * sizeof *f->step_numbers);
    for (size_t i = 0; i < s->step_count; i++) {
        f->step_numbers[i] = number_of_step(s, i);
        if (f->step_numbers[i] > (i ? f->step_numbers[i - 1] : -1)) continue;
        gt_free(f->step_numbers);
        f->step_numbers = NULL;
        return;
    }
    f->step_number_count = s->step_count;
}

int64_t *gt_rank_facts_steps(const gt_rank_facts *const *facts, size_t rank_count, const gt_table *rows)
{
    if (!rows->row_count) return NULL;
    const int64_t *ranks = gt_table_column(rows, GT_COL_RANK)->ints;
    int64_t *steps = gt_alloc(rows->row_count * sizeof *steps);
    for (size_t row = 0, first = 0; row < rows->row_count; row++) {
        if (ranks[row] != ranks[first]) {
            first = row;
            gt_memory_poll();
        }
        bool is_known = ranks[row] >= 0 && (size_t)ranks[row] < rank_count && facts[ranks[row]] &&
                        facts[ranks[row]]->step_numbers;
        if (!is_known) {
            gt_free(steps);
            return NULL;
        }
        const gt_rank_facts *f = facts[ranks[row]];
        int32_t step = row - first < f->collective_count ? f->collectives[row - first].step : -1;
        bool has_step = step >= 0 && (size_t)step < f->step_number_count;
        steps[row] = has_step ? f->step_numbers[step] : GT_NO_STEP;
    }
    return steps;
}

/* Between the first ops of the steps. Without two steps the window is one. */
static void find_steps(gt_rank_facts *f, const gt_schedule *s)
{
    size_t count = s->used_step_count > 1 ? s->used_step_count - 1 : 1;
    f->step_times = gt_alloc(count * sizeof *f->step_times);
    f->step_count = count;
    for (size_t i = 0; i < count; i++) {
        gt_rank_step *step = &f->step_times[i];
        *step = (gt_rank_step){0, s->window.start_ns, s->window.end_ns};
        if (s->used_step_count) step->number = number_of_step(s, s->used_steps[i]);
        if (step->number < 0) step->number = (int64_t)i;
        if (i) step->start_ns = s->ops[s->steps[s->used_steps[i]].first_op].start_ns;
        if (i) step[-1].end_ns = step->start_ns;
    }
}

void gt_rank_facts_find_steps(gt_rank_facts *f, const gt_schedule *s)
{
    find_steps(f, s);
    find_step_numbers(f, s);
}
