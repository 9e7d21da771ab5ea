/* How far the ids and times of each rank are shifted: reads the first trace, or all of them, and looks at the
 * ids. */
#include "transform/fuse_copy.h"

/* Fields whose ids are shifted. The first launch decides which of the last two is shifted. */
static const gt_fuse_member fields[] = {GT_FUSE_ID, GT_FUSE_PROCESS, GT_FUSE_CORRELATION,
                                        GT_FUSE_EXTERNAL_ID};
enum { FIELDS = GT_LENGTH(fields) };

typedef struct id_range {
    gt_wide_int largest[FIELDS]; /* 0 if all are negative */
    uint64_t first_seen[FIELDS]; /* number of the first event that has it as an integer, from 1; 0: none */
    uint64_t events;
    bool launch_seen, launch_has_correlation;
} id_range;

static bool is_launch(const gt_fuse_event *event)
{
    gt_str category = gt_fuse_event_value(event, GT_FUSE_CATEGORY);
    if (!gt_str_equals(category, "cuda_runtime") && !gt_str_equals(category, "cuda_driver")) return false;
    return gt_str_contains_nocase(gt_fuse_event_value(event, GT_FUSE_NAME), "launch");
}

static void note_ids(id_range *range, const gt_fuse_event *event)
{
    range->events++;
    for (size_t i = 0; i < FIELDS; i++) {
        gt_wide_int value;
        if (!gt_fuse_event_int(event, fields[i], &value)) continue;
        if (!range->first_seen[i]) range->first_seen[i] = range->events;
        if (value > range->largest[i]) range->largest[i] = value;
    }
    if (range->launch_seen || !is_launch(event)) return;
    range->launch_seen = true;
    range->launch_has_correlation = event->at[GT_FUSE_CORRELATION].end;
}

static bool note_ids_of_record(gt_fuse_walk *w)
{
    gt_fuse_event event;
    bool is_event;
    if (!gt_fuse_event_read(&w->json, &event, &is_event)) return false;
    if (is_event) note_ids(w->context, &event);
    gt_json_clear_mark(&w->json);
    return true;
}

/* 42 gives 1000: one digit more than needed, so that shifted ids are easy to read. */
static gt_wide_int multiplier_of(gt_wide_int largest)
{
    gt_wide_int multiplier = 10;
    for (; largest; largest /= 10) multiplier = gt_wide_times(multiplier, 10);
    return multiplier;
}

/* The fields that are shifted, in the order in which they first appear in the trace. */
static void plan_ids(gt_fuse_plan *p, const id_range *range)
{
    gt_fuse_change *change = &p->of_rank_one;
    gt_fuse_member other_link = range->launch_has_correlation ? GT_FUSE_EXTERNAL_ID : GT_FUSE_CORRELATION;
    bool planned[FIELDS] = {false};
    for (;;) {
        size_t next = FIELDS;
        for (size_t i = 0; i < FIELDS; i++) {
            if (planned[i] || !range->first_seen[i] || fields[i] == other_link) continue;
            if (next == FIELDS || range->first_seen[i] < range->first_seen[next]) next = i;
        }
        if (next == FIELDS) return;
        planned[next] = true;
        change->moved[change->moved_count].member = fields[next];
        change->moved[change->moved_count++].shift = multiplier_of(range->largest[next]);
    }
}

static void plan_times(gt_fuse_plan *p, char *const *paths, const gt_base_time *bases, size_t first,
                       size_t rank_count)
{
    p->shift_ns = gt_alloc_zero(rank_count, sizeof *p->shift_ns);
    for (size_t rank = first; rank < rank_count; rank++) {
        int64_t shift_ns;
        if (!paths[rank]) continue;
        if (bases[rank].known && bases[first].known &&
            !__builtin_sub_overflow(bases[rank].ns, bases[first].ns, &shift_ns))
            p->shift_ns[rank] = shift_ns;
        else
            gt_warn("rank %zu: no baseTimeNanoseconds in %s or in the first trace; times not aligned", rank,
                    paths[rank]);
    }
}

bool gt_fuse_plan_make(gt_fuse_plan *p, char *const *paths, size_t rank_count, const gt_fuse_options *options,
                       gt_error *error)
{
    id_range range = {0};
    size_t first = 0;
    bool planned = true;
    gt_base_time *bases = gt_alloc_zero(rank_count, sizeof *bases);
    *p = (gt_fuse_plan){0};
    while (!paths[first]) first++;
    for (size_t rank = first; rank < rank_count && planned; rank++) {
        gt_fuse_walk w;
        id_range unused = {0};
        if (!paths[rank]) continue;
        bool counts = rank == first || options->ids_of_all_ranks;
        planned = gt_fuse_walk_trace(&w, paths[rank], note_ids_of_record, counts ? &range : &unused, error) ||
                  options->keep_damaged;
        if (!planned) gt_fuse_name_rank(error, rank);
        bases[rank] = (gt_base_time){w.has_base_time, w.base_time_ns};
        if (!options->ids_of_all_ranks && !options->align_times) break;
    }
    plan_ids(p, &range);
    if (options->align_times && planned) plan_times(p, paths, bases, first, rank_count);
    gt_free(bases);
    return planned;
}

gt_fuse_change gt_fuse_plan_of_rank(const gt_fuse_plan *p, size_t rank)
{
    gt_fuse_change change = p->of_rank_one;
    change.rank = rank;
    for (size_t i = 0; i < change.moved_count; i++)
        change.moved[i].shift = gt_wide_times(change.moved[i].shift, rank);
    change.shift_ns = p->shift_ns ? p->shift_ns[rank] : 0;
    return change;
}

void gt_fuse_plan_free(gt_fuse_plan *p)
{
    gt_free(p->shift_ns);
}
