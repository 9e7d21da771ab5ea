/* serving_rank_steps: what each rank of a server does in a step, a row per step and rank that has it:
 *
 *     step, rank                    equal steps of ranks have equal numbers: those of the first rank
 *     phase, requests, tokens       of the rank's own step
 *     span_us, busy_us, comm_us     as in serving_steps
 *     wait_us                       for the last rank: sum over its collectives of the time beyond that of
 * the rank whose kernel was the shortest, which came last dispatch_us, combine_us       kernels that send
 * tokens to experts, and back experts_us, imbalance         GEMMs of experts; experts_us / its mean over the
 * ranks peers                         ranks that take part in its collectives, itself included
 *
 * Which ranks share a collective is seen from what they run: tensor-parallel ranks have the same steps
 * (phase, requests, tokens, lengths) with the same collectives in the same order. Expert-parallel ranks have
 * steps of their own, and only share the kernels of dispatch and combine, if their collectives are in the
 * same order. Ranks that do neither are independent, and wait_us is empty.
 *
 * A profiler may start with another step on each rank, so the steps of a rank are moved by the number with
 * which most of them are those of the first rank. */
#include "findings/ranks/served.h"

#include "analysis/serving/cells.h"
#include "schema/columns.h"

/* ---- of one rank ---- */

static bool has_part(gt_str name, const char *part)
{
    return gt_str_contains_nocase(name, part);
}

static gt_served_use use_of(gt_str name)
{
    return has_part(name, "dispatch")  ? GT_SERVED_DISPATCH
           : has_part(name, "combine") ? GT_SERVED_COMBINE
                                       : GT_SERVED_PLAIN;
}

/* The kernels of experts and of communication; copies are no kernels. */
static void add_ops(gt_rank_facts *f, const gt_step_list *list, const gt_interner *strings,
                    const gt_listed_step *step, gt_served_step *served)
{
    for (size_t k = 0; k < step->op_count; k++) {
        const gt_listed_op *op = &list->ops[list->of_steps[step->first_op + k]];
        int64_t ns = op->end_ns - op->start_ns;
        if (op->class == GT_CLASS_MOE_GEMM) served->experts_ns += ns;
        if (op->class != GT_CLASS_COMM) continue;
        gt_served_comm comm = {gt_interner_add_from(f->strings, strings, op->name),
                               use_of(gt_interner_get(strings, op->name)), ns};
        GT_PUSH(f->served_comms, f->served_comm_count, f->served_comm_capacity, comm);
        served->comm_count++;
    }
}

static int64_t sum_known(int64_t a, int64_t b)
{
    return a < 0 && b < 0 ? GT_STEP_UNKNOWN : (a > 0 ? a : 0) + (b > 0 ? b : 0);
}

void gt_rank_served_find(gt_rank_facts *f, const gt_step_list *list, const gt_interner *strings)
{
    f->served = gt_alloc_zero(list->on_gpu_count, sizeof *f->served);
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        const gt_listed_step *step = &list->steps[list->on_gpu[i]];
        gt_served_step *served = &f->served[f->served_count++];
        *served = (gt_served_step){
            .span_ns = step->gpu_end_ns - step->gpu_start_ns,
            .busy_ns = step->busy_ns,
            .comm_ns = step->comm_ns,
            .requests = sum_known(step->said.context_requests, step->said.generation_requests),
            .tokens = sum_known(step->said.context_tokens, step->said.generation_tokens),
            .sk_sum = step->said.sk_sum,
            .phase = (uint32_t)step->phase,
            .first_comm = (uint32_t)f->served_comm_count};
        add_ops(f, list, strings, step, served);
    }
}

bool gt_rank_served_is_sound(const gt_rank_facts *f)
{
    for (size_t i = 0; i < f->served_count; i++) {
        const gt_served_step *s = &f->served[i];
        if (s->phase >= GT_SERVING_PHASES || (uint64_t)s->first_comm + s->comm_count > f->served_comm_count)
            return false;
    }
    for (size_t i = 0; i < f->served_comm_count; i++)
        if (f->served_comms[i].use >= GT_SERVED_USES) return false;
    return true;
}

/* ---- all ranks ---- */

/* How the steps of a rank go with those of the others. */
typedef struct served_rank {
    const gt_rank_facts *facts; /* NULL: it has no steps */
    uint64_t *orders;           /* by step: hash of the names of its collectives, in order; 0: none */
    size_t leader;              /* the first rank that has the same steps */
    int64_t shift;              /* its step i has the number i + shift */
    bool is_along;              /* its collectives are in the order of the first rank's */
} served_rank;

static const gt_served_step *step_of(const served_rank *rank, int64_t number)
{
    int64_t i = number - rank->shift;
    return rank->facts && i >= 0 && (uint64_t)i < rank->facts->served_count ? &rank->facts->served[i] : NULL;
}

static uint64_t order_of(const served_rank *rank, const gt_served_step *step)
{
    return rank->orders[step - rank->facts->served];
}

static uint64_t *find_orders(const gt_rank_facts *f)
{
    uint64_t *orders = gt_alloc_zero(f->served_count, sizeof *orders);
    uint32_t *names = gt_alloc((f->served_comm_count + 1) * sizeof *names);
    for (size_t i = 0; i < f->served_count; i++) {
        const gt_served_step *step = &f->served[i];
        for (uint32_t k = 0; k < step->comm_count; k++)
            names[k] = f->served_comms[step->first_comm + k].kernel;
        if (step->comm_count) orders[i] = gt_hash_bytes(names, step->comm_count * sizeof *names) | 1;
    }
    gt_free(names);
    return orders;
}

static bool same_work(const gt_served_step *x, const gt_served_step *y)
{
    return x->phase == y->phase && x->requests == y->requests && x->tokens == y->tokens &&
           x->sk_sum == y->sk_sum;
}

/* How many steps of two ranks go together if those of the second one are moved. */
typedef struct agreement {
    size_t both, along, like;
} agreement;

static agreement agree(const served_rank *a, served_rank *b, int64_t shift)
{
    agreement found = {0};
    b->shift = a->shift + shift;
    for (size_t i = 0; i < b->facts->served_count; i++) {
        const gt_served_step *y = &b->facts->served[i], *x = step_of(a, (int64_t)i + b->shift);
        if (!x) continue;
        bool along = b->orders[i] && order_of(a, x) == b->orders[i];
        found.both++;
        found.along += along;
        found.like += along && same_work(x, y);
    }
    return found;
}

/* Moves the steps of b to those of a as well as possible. */
static agreement move_steps(const served_rank *a, served_rank *b)
{
    enum { MOST_SHIFT = 8 };
    int64_t best = 0;
    agreement most = agree(a, b, 0);
    for (int64_t shift = 1; shift <= MOST_SHIFT; shift++)
        for (int64_t side = -1; side <= 1; side += 2) {
            agreement moved = agree(a, b, side * shift);
            if (moved.like + moved.along <= most.like + most.along) continue;
            most = moved;
            best = side * shift;
        }
    b->shift = a->shift + best;
    return most;
}

static bool is_most(size_t part, size_t whole)
{
    return whole && part * 10 >= 9 * whole;
}

/* Finds the leader of a rank among those before it. */
static void find_leader(served_rank *ranks, size_t number)
{
    served_rank *rank = &ranks[number];
    rank->leader = number;
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < number; i++) {
        if (!ranks[i].facts || ranks[i].leader != i) continue;
        if (first == SIZE_MAX) first = i;
        agreement found = move_steps(&ranks[i], rank);
        if (!is_most(found.like, found.both)) continue;
        rank->leader = i;
        rank->is_along = ranks[i].is_along;
        return;
    }
    rank->shift = 0;
    rank->is_along = true;
    if (first == SIZE_MAX) return;
    agreement found = move_steps(&ranks[first], rank);
    rank->is_along = is_most(found.along, found.both);
    if (!rank->is_along) rank->shift = 0;
}

/* Whether two ranks share a collective of a step that both have. */
static bool shares(const served_rank *a, const gt_served_step *x, const served_rank *b,
                   const gt_served_step *y, gt_served_use use)
{
    if (x->comm_count != y->comm_count || !order_of(a, x) || order_of(a, x) != order_of(b, y)) return false;
    if (a->leader == b->leader) return same_work(x, y);
    return use != GT_SERVED_PLAIN && a->is_along && b->is_along;
}

/* What a row says beyond its own step. */
typedef struct across {
    int64_t wait_ns;
    size_t peers;
    double experts_ns; /* sum over the ranks that share experts */
    size_t expert_ranks;
} across;

/* Compares the collectives of a step with those of another rank. */
static void compare(const served_rank *a, const gt_served_step *x, const served_rank *b,
                    const gt_served_step *y, int64_t *least_ns, across *found)
{
    bool is_peer = false, has_experts = false;
    for (uint32_t k = 0; k < x->comm_count; k++) {
        gt_served_use use = (gt_served_use)a->facts->served_comms[x->first_comm + k].use;
        if (!shares(a, x, b, y, use)) continue;
        int64_t ns = b->facts->served_comms[y->first_comm + k].ns;
        if (ns < least_ns[k]) least_ns[k] = ns;
        is_peer = has_experts = true;
    }
    found->peers += is_peer;
    if (!has_experts || x->experts_ns <= 0) return;
    found->experts_ns += (double)y->experts_ns;
    found->expert_ranks++;
}

static across look_across(const served_rank *ranks, size_t count, size_t number, const gt_served_step *x,
                          int64_t *least_ns)
{
    const served_rank *a = &ranks[number];
    int64_t step = (int64_t)(x - a->facts->served) + a->shift;
    across found = {0};
    for (uint32_t k = 0; k < x->comm_count; k++) least_ns[k] = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const gt_served_step *y = step_of(&ranks[i], step);
        if (y) compare(a, x, &ranks[i], y, least_ns, &found);
    }
    for (uint32_t k = 0; k < x->comm_count; k++)
        if (least_ns[k] != INT64_MAX)
            found.wait_ns += a->facts->served_comms[x->first_comm + k].ns - least_ns[k];
    return found;
}

/* ---- the sheet ---- */

static const gt_column_head columns[] = {
    {GT_COL_STEP, GT_TYPE_INT},         {GT_COL_RANK, GT_TYPE_INT},
    {GT_COL_PHASE, GT_TYPE_STRING},     {GT_COL_REQUESTS, GT_TYPE_INT},
    {GT_COL_TOKENS, GT_TYPE_INT},       {GT_COL_SPAN_US, GT_TYPE_FLOAT},
    {GT_COL_BUSY_US, GT_TYPE_FLOAT},    {GT_COL_COMM_US, GT_TYPE_FLOAT},
    {GT_COL_WAIT_US, GT_TYPE_FLOAT},    {GT_COL_DISPATCH_US, GT_TYPE_FLOAT},
    {GT_COL_COMBINE_US, GT_TYPE_FLOAT}, {GT_COL_EXPERTS_US, GT_TYPE_FLOAT},
    {GT_COL_IMBALANCE, GT_TYPE_FLOAT},  {GT_COL_PEERS, GT_TYPE_INT},
};

/* NaN: there are no such kernels. */
static double time_of_use(const gt_rank_facts *f, const gt_served_step *step, gt_served_use use)
{
    double ns = 0;
    for (uint32_t k = 0; k < step->comm_count; k++)
        if (f->served_comms[step->first_comm + k].use == use)
            ns += (double)f->served_comms[step->first_comm + k].ns;
    return ns > 0 ? ns : (double)NAN;
}

static void add_row(gt_table *table, const served_rank *ranks, size_t count, size_t number,
                    const gt_served_step *step, int64_t *spare)
{
    const gt_rank_facts *f = ranks[number].facts;
    across found = look_across(ranks, count, number, step, spare);
    gt_cells c = gt_cells_of_new_row(table);
    gt_table_set_int(table, c.column++, c.row, (int64_t)(step - f->served) + ranks[number].shift);
    gt_cells_count(&c, (int64_t)number);
    gt_cells_text(&c, gt_serving_phase_name((gt_serving_phase)step->phase));
    gt_cells_count(&c, step->requests);
    gt_cells_count(&c, step->tokens);
    gt_cells_us(&c, (double)step->span_ns);
    gt_cells_us(&c, (double)step->busy_ns);
    gt_cells_us(&c, (double)step->comm_ns);
    gt_cells_us(&c, found.peers > 1 ? (double)found.wait_ns : (double)NAN);
    gt_cells_us(&c, time_of_use(f, step, GT_SERVED_DISPATCH));
    gt_cells_us(&c, time_of_use(f, step, GT_SERVED_COMBINE));
    gt_cells_us(&c, step->experts_ns > 0 ? (double)step->experts_ns : (double)NAN);
    double mean = found.expert_ranks > 1 ? found.experts_ns / (double)found.expert_ranks : 0;
    gt_cells_number(&c, gt_share_of((double)step->experts_ns, mean), 4);
    gt_cells_count(&c, found.peers > 1 ? (int64_t)found.peers : 1);
}

static size_t most_collectives(const served_rank *ranks, size_t count)
{
    size_t most = 1;
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; ranks[r].facts && i < ranks[r].facts->served_count; i++)
            if (ranks[r].facts->served[i].comm_count > most) most = ranks[r].facts->served[i].comm_count;
    return most;
}

static void add_rows(gt_table *table, const served_rank *ranks, size_t count)
{
    int64_t first = INT64_MAX, end = INT64_MIN;
    int64_t *spare = gt_alloc(most_collectives(ranks, count) * sizeof *spare);
    for (size_t r = 0; r < count; r++) {
        if (!ranks[r].facts) continue;
        int64_t last = ranks[r].shift + (int64_t)ranks[r].facts->served_count;
        if (ranks[r].shift < first) first = ranks[r].shift;
        if (last > end) end = last;
    }
    for (int64_t number = first; number < end; number++)
        for (size_t r = 0; r < count; r++) {
            const gt_served_step *step = step_of(&ranks[r], number);
            if (step) add_row(table, ranks, count, r, step, spare);
        }
    gt_free(spare);
}

gt_table *gt_serving_rank_steps(const gt_rank_facts *const *facts, size_t count, gt_interner *strings)
{
    gt_table *table = gt_table_new(GT_SHEET_SERVING_RANK_STEPS, strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    served_rank *ranks = gt_alloc_zero(count, sizeof *ranks);
    size_t served = 0;
    for (size_t r = 0; r < count; r++) {
        if (!facts[r] || !facts[r]->served_count) continue;
        ranks[r].facts = facts[r];
        ranks[r].orders = find_orders(facts[r]);
        find_leader(ranks, r);
        served++;
    }
    if (served > 1) add_rows(table, ranks, count);
    for (size_t r = 0; r < count; r++) gt_free(ranks[r].orders);
    gt_free(ranks);
    return table;
}
