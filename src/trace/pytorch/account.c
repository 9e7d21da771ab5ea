/* The account of a PyTorch trace: what is left out, and GPU events that are in the file twice, as happens
 * where traces are merged. Two events are the same if all is the same that the reader keeps in arrays, and
 * the launch: a stream does not execute one kernel twice at the same time.
 *
 * Equal events have equal hashes, so the hashes are divided among threads, and each finds its own. */
#include "trace/pytorch/state.h"

#include "base/team.h"
#include "trace/rows.h"

enum { PARTS = 16, ROWS_FOR_PARTS = 65536 };

void gt_state_leave_out(gt_pytorch_state *state, gt_account *account, gt_fault why, size_t row)
{
    /* Of what is no event, nothing is known, or it has a stream as work of a GPU. */
    bool is_gpu = why == GT_LEFT_NO_EVENT
                      ? !isfinite(state->start_us[row]) ||
                            gt_store_string_id(state->store, GT_EVENT_STREAM, row) != GT_STR_NONE
                      : gt_kind_is_gpu(state->kind[row]);
    gt_account_leave_out(account, why, "event", gt_store_position(state->store, row), is_gpu);
    state->kind[row] = GT_KIND_OTHER;
}

typedef struct twins {
    gt_pytorch_state *state;
    uint32_t *rows; /* of GPU events that take time */
    int64_t *correlations;
    uint64_t *hashes;
    size_t count, parts;
    gt_account accounts[PARTS];
} twins;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void hash_range(void *context, size_t begin, size_t end)
{
    twins *t = context;
    const gt_pytorch_state *s = t->state;
    gt_store_ints_at(s->store, GT_EVENT_CORRELATION, t->rows + begin, end - begin, t->correlations + begin);
    for (size_t i = begin; i < end; i++) {
        uint32_t row = t->rows[i];
        uint64_t hash = mix(bits_of(s->start_us[row]), bits_of(s->dur_us[row]));
        hash = mix(hash, (uint64_t)s->name[row] << 32 | gt_lane_of(&s->lanes, row));
        t->hashes[i] = mix(hash, (uint64_t)t->correlations[i]);
    }
}

static bool are_same(const twins *t, size_t i, size_t k)
{
    const gt_pytorch_state *s = t->state;
    uint32_t a = t->rows[i], b = t->rows[k];
    return s->start_us[a] == s->start_us[b] && s->dur_us[a] == s->dur_us[b] && s->name[a] == s->name[b] &&
           t->correlations[i] == t->correlations[k] && gt_lane_of(&s->lanes, a) == gt_lane_of(&s->lanes, b);
}

/* Of equal rows, the first in the file stays. */
static void find_twins(void *context, size_t part)
{
    twins *t = context;
    size_t own = 0, slots = 16;
    for (size_t i = 0; i < t->count; i++) own += t->hashes[i] % t->parts == part;
    while (slots < 2 * own) slots *= 2;
    uint32_t *table = gt_alloc_zero(slots, sizeof *table); /* 1 + an index of rows */
    for (size_t i = 0; i < t->count; i++) {
        if (t->hashes[i] % t->parts != part) continue;
        size_t at = (size_t)(t->hashes[i] >> 20) & (slots - 1);
        while (table[at] && !are_same(t, i, table[at] - 1)) at = (at + 1) & (slots - 1);
        if (table[at])
            gt_state_leave_out(t->state, &t->accounts[part], GT_LEFT_DUPLICATE, t->rows[i]);
        else
            table[at] = (uint32_t)i + 1;
    }
    gt_free(table);
}

/* Returns how many GPU events there were. */
static size_t leave_out_twins(gt_pytorch_state *state)
{
    twins t = {.state = state};
    size_t gpu = 0;
    for (size_t row = 0; row < state->count; row++) gpu += gt_kind_is_gpu(state->kind[row]);
    t.rows = gt_alloc((gpu + 1) * sizeof *t.rows);
    for (size_t row = 0; row < state->count; row++)
        if (gt_kind_is_gpu(state->kind[row]) && state->dur_us[row] > 0) t.rows[t.count++] = (uint32_t)row;
    t.correlations = gt_alloc((t.count + 1) * sizeof *t.correlations);
    t.hashes = gt_alloc((t.count + 1) * sizeof *t.hashes);
    t.parts = t.count > ROWS_FOR_PARTS ? PARTS : 1;
    gt_parallel_ranges(t.count, GT_ROWS_GRAIN, hash_range, &t);
    gt_parallel_each(t.parts, find_twins, &t);
    struct gt_left_out_count *all = &state->facts.account.left[GT_LEFT_DUPLICATE];
    for (size_t part = 0; part < t.parts; part++) {
        const struct gt_left_out_count *found = &t.accounts[part].left[GT_LEFT_DUPLICATE];
        uint64_t first = all->count && all->first < found->first ? all->first : found->first;
        bool is_any = found->count != 0;
        gt_account_add_left(&state->facts.account, &t.accounts[part]);
        if (is_any) all->first = first;
    }
    gt_free(t.rows);
    gt_free(t.correlations);
    gt_free(t.hashes);
    return gpu;
}

static size_t count_of(const gt_store *store)
{
    return store ? gt_store_count(store) : 0;
}

void gt_state_finish_account(gt_pytorch_state *state)
{
    gt_account *account = &state->facts.account;
    size_t gpu = leave_out_twins(state), unused = 0;
    for (size_t row = 0; row < state->count; row++) unused += state->kind[row] == GT_KIND_OTHER;
    size_t kept =
        state->count + count_of(state->flow_events) + count_of(state->frames) + count_of(state->memory);
    /* Flows of Perfetto traces have no uids. */
    account->records = kept > state->uid_count ? kept : state->uid_count;
    account->used = kept - unused;
    account->gpu_used = gpu - account->left[GT_LEFT_DUPLICATE].count;
    gt_account_warn(account);
}
