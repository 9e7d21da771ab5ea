/* Are transfers themselves slow? The transfer time of a collective is that of the rank which came last, so
 * no rank waits in it. It is compared with the first of these that shows slow transfers whose repair gains
 * something:
 *
 *     other process groups   that do the same with as many ranks, as many nodes and as much data
 *     other times            the same group with the same amount of data
 *     what the user expects  the bus bandwidth that a benchmark has measured, --expected_bus_gbps
 *     the kind of GPU        what its usual network reaches; a network can be built otherwise, so this is
 *                            less certain
 *
 * A link that is slow all the time slows all collectives of a ring by the same factor: then transfer times of
 * the same size hardly differ. If traffic of others disturbs the network, they do. So a smaller difference
 * counts if transfer times are even.
 *
 * Messages below 1 MiB are left out: their time is mostly latency. A send and its receive are compared as a
 * group of two ranks. */
#include "findings/ranks/find.h"

#include "schema/columns.h"

static const double LEAST_BYTES = 1 << 20, LEAST_BYTES_OF_GPU = 32 << 20; /* per link */
static const double LEAST_BYTES_OF_SEND = 8 << 20;                        /* instead of the latter */
static const double SLOWER_THAN_GROUPS = 1.25, SLOWER_THAN_TIMES = 1.5, SLOWER_THAN_GPU = 1.25;
static const double SLOWER_IF_EVEN = 1.07, EVEN = 0.03; /* median deviation from the median */
enum { LEAST_TIMES = 8 };

/* What the bus bandwidth (nccl-tests) of a large all-reduce is in the usual servers: eight GPUs per node with
 * one network card each, 400 Gbit/s (47 GB/s in practice) or 200 Gbit/s, and 80 % of that for messages of
 * some ten MiB. A group that has fewer ranks on a node has fewer cards. */
enum { USUAL_CARDS = 8 };
static const struct {
    const char *name; /* part of the device's name */
    double gbps;
} usual[] = {
    {"H100", 300}, {"H200", 300}, {"H800", 150},   {"GH200", 300},  {"B200", 300},   {"B300", 300},
    {"A100", 150}, {"A800", 150}, {"MI300X", 300}, {"MI325X", 300}, {"MI355X", 300}, {"MI250", 150},
};

/* ---- collectives of one kind ---- */

typedef struct kinds {
    uint32_t *kind_of, *group_of; /* by collective; GT_NONE: too small or of unknown size */
    size_t kind_count, group_count;
    uint32_t *kind_of_group;
    double *bytes; /* by collective: that each link carries */
} kinds;

/* Ranks of a node have numbers that follow each other. */
static size_t node_count(const gt_rank_model *model, size_t c, const size_t *node_of)
{
    size_t count = 1;
    for (size_t i = model->begins[c] + 1; i < model->begins[c + 1]; i++)
        count += node_of[model->entries[i].rank] != node_of[model->entries[i - 1].rank];
    return count;
}

/* The bytes that each link carries; NAN if they are unknown. */
static double link_bytes(const gt_rank_model *model, const gt_table *events, size_t c)
{
    if (!model->is_pair[c]) return gt_collective_link_bytes(events, model->rows[c]);
    return gt_column_number(gt_table_column(events, GT_COL_IN_MSG_SIZE_MB), model->rows[c]) * 1048576.0;
}

static uint32_t text_at(const gt_table *events, gt_col name, uint32_t row)
{
    const gt_column *column = gt_table_column(events, name);
    return column && column->type == GT_TYPE_STRING ? column->texts[row] : GT_STR_NONE;
}

/* If a rank has no trace, the others may have waited for it: then no duration is that of the transfer. */
static bool is_whole(const gt_rank_model *model, const gt_table *events, size_t c)
{
    double size = gt_column_number(gt_table_column(events, GT_COL_GROUP_SIZE), model->rows[c]);
    return model->is_pair[c] || !(size > (double)(model->begins[c + 1] - model->begins[c]));
}

static uint32_t id_of(gt_map *map, uint64_t a, uint64_t b, size_t *count)
{
    uint32_t *value = gt_map_put(map, a, b);
    if (*value == GT_MAP_NONE) *value = (uint32_t)(*count)++;
    return *value;
}

/* A kind: name, type, data, number of ranks, and whether they are on one node. */
static kinds find_kinds(const gt_rank_model *model, const gt_ranks_input *input, const size_t *node_of)
{
    const gt_table *events = input->sync->matches->events;
    kinds k = {
        gt_alloc(model->count * sizeof *k.kind_of),       gt_alloc(model->count * sizeof *k.group_of), 0, 0,
        gt_alloc(model->count * sizeof *k.kind_of_group), gt_alloc(model->count * sizeof *k.bytes)};
    gt_map sizes = {0}, maps = {0}, groups = {0};
    size_t size_count = 0;
    for (size_t c = 0; c < model->count; c++) {
        uint32_t row = model->rows[c];
        k.bytes[c] = link_bytes(model, events, c);
        k.kind_of[c] = k.group_of[c] = GT_NONE;
        if (!(k.bytes[c] >= LEAST_BYTES && k.bytes[c] < 1e18) || !is_whole(model, events, c)) continue;
        uint64_t names =
            (uint64_t)text_at(events, GT_COL_COLLECTIVE_NAME, row) << 32 | text_at(events, GT_COL_DTYPE, row);
        uint64_t ranks = model->begins[c + 1] - model->begins[c];
        uint32_t size = id_of(&sizes, names, (uint64_t)k.bytes[c], &size_count);
        k.kind_of[c] = id_of(&maps, size, ranks << 1 | (node_count(model, c, node_of) == 1), &k.kind_count);
        uint32_t group = text_at(events, GT_COL_PROCESS_GROUP_RANKS, row);
        if (group == GT_STR_NONE) group = text_at(events, GT_COL_PROCESS_GROUP_NAME, row);
        const gt_rank_entry *pair = &model->entries[model->begins[c]];
        uint64_t members = model->is_pair[c] ? (uint64_t)pair[0].rank << 32 | pair[1].rank : group;
        k.group_of[c] = id_of(&groups, k.kind_of[c], members, &k.group_count);
        k.kind_of_group[k.group_of[c]] = k.kind_of[c];
    }
    gt_map_free(&sizes);
    gt_map_free(&maps);
    gt_map_free(&groups);
    return k;
}

static void free_kinds(kinds *k)
{
    gt_free_all(k->kind_of, k->group_of, k->kind_of_group, k->bytes);
}

/* The lower median of the values of each key; keys of GT_NONE are skipped. The caller frees it. */
static double *medians_by(const uint32_t *keys, const double *values, size_t count, size_t key_count,
                          size_t *sizes)
{
    double *medians = gt_alloc(key_count * sizeof *medians), *sorted = gt_alloc(count * sizeof *sorted);
    size_t *begins = gt_alloc_zero(key_count + 2, sizeof *begins);
    for (size_t i = 0; i < count; i++)
        if (keys[i] != GT_NONE) begins[keys[i] + 2]++;
    for (size_t i = 2; i < key_count + 2; i++) begins[i] += begins[i - 1];
    for (size_t i = 0; i < count; i++)
        if (keys[i] != GT_NONE) sorted[begins[keys[i] + 1]++] = values[i];
    for (size_t i = 0; i < key_count; i++) {
        sizes[i] = begins[i + 1] - begins[i];
        medians[i] = gt_rank_median(sorted + begins[i], sizes[i]);
    }
    gt_free_all(begins, sorted);
    return medians;
}

/* ---- comparisons ---- */

typedef struct comparison {
    double *transfer_ns; /* by collective: if it were not slow */
    double excess_ns;    /* in all of them */
    gt_confidence confidence;
} comparison;

static void set_usual(const gt_rank_model *model, comparison *to, size_t c, double usual_ns)
{
    to->transfer_ns[c] = usual_ns;
    to->excess_ns += model->transfer_ns[c] - usual_ns;
}

static void compare_groups(const gt_rank_model *model, const kinds *k, comparison *to)
{
    size_t *times = gt_alloc_zero(k->group_count, sizeof *times);
    size_t *groups = gt_alloc_zero(k->kind_count, sizeof *groups);
    double *of_group = medians_by(k->group_of, model->transfer_ns, model->count, k->group_count, times);
    double *of_kind = medians_by(k->kind_of_group, of_group, k->group_count, k->kind_count, groups);
    to->confidence = GT_CONFIDENCE_HIGH;
    for (size_t c = 0; c < model->count; c++) {
        if (k->kind_of[c] == GT_NONE || groups[k->kind_of[c]] < 2) continue;
        double usual_ns = of_kind[k->kind_of[c]];
        if (of_group[k->group_of[c]] <= SLOWER_THAN_GROUPS * usual_ns || model->transfer_ns[c] <= usual_ns)
            continue;
        if (groups[k->kind_of[c]] < 3) to->confidence = GT_CONFIDENCE_MEDIUM;
        set_usual(model, to, c, usual_ns);
    }
    gt_free_all(times, groups, of_group, of_kind);
}

static void compare_times(const gt_rank_model *model, const kinds *k, comparison *to)
{
    size_t *times = gt_alloc_zero(k->group_count, sizeof *times);
    double *of_group = medians_by(k->group_of, model->transfer_ns, model->count, k->group_count, times);
    to->confidence = GT_CONFIDENCE_MEDIUM;
    for (size_t c = 0; c < model->count; c++) {
        if (k->group_of[c] == GT_NONE || times[k->group_of[c]] < LEAST_TIMES) continue;
        double usual_ns = of_group[k->group_of[c]];
        if (model->transfer_ns[c] > SLOWER_THAN_TIMES * usual_ns) set_usual(model, to, c, usual_ns);
    }
    gt_free_all(times, of_group);
}

static double usual_gbps_of(const gt_rank_model *model, const gt_ranks_input *input, size_t c)
{
    const int64_t *ranks = gt_table_column(input->sync->matches->events, GT_COL_RANK)->ints;
    const char *device = input->facts[ranks[model->rows[c]]]->device;
    for (size_t i = 0; i < GT_LENGTH(usual); i++)
        if (strstr(device, usual[i].name)) return usual[i].gbps;
    return NAN;
}

/* By group: whether the transfer times of its kind hardly differ. The caller frees it. */
static bool *find_even(const gt_rank_model *model, const kinds *k)
{
    size_t *times = gt_alloc_zero(k->group_count + 1, sizeof *times);
    double *of_group = medians_by(k->group_of, model->transfer_ns, model->count, k->group_count, times);
    double *deviations = gt_alloc((model->count + 1) * sizeof *deviations);
    for (size_t c = 0; c < model->count; c++)
        if (k->group_of[c] != GT_NONE)
            deviations[c] = fabs(model->transfer_ns[c] / of_group[k->group_of[c]] - 1);
    double *usual_deviation = medians_by(k->group_of, deviations, model->count, k->group_count, times);
    bool *is_even = gt_alloc_zero(k->group_count + 1, sizeof *is_even);
    for (size_t i = 0; i < k->group_count; i++) is_even[i] = times[i] > 1 && usual_deviation[i] < EVEN;
    gt_free_all(times, of_group, deviations, usual_deviation);
    return is_even;
}

/* The largest number of ranks on one node. */
static size_t ranks_per_node(const gt_rank_model *model, const size_t *node_of)
{
    size_t *counts = gt_alloc_zero(model->rank_count + 1, sizeof *counts), most = 1;
    for (size_t r = 0; r < model->rank_count; r++)
        if (gt_rank_entry_count(model, r) && ++counts[node_of[r]] > most) most = counts[node_of[r]];
    gt_free(counts);
    return most;
}

/* The part of the network cards of a node that a group has: it is that of its ranks on the node with most of
 * them. Within a node it needs none of them. */
static double part_of_cards(const gt_rank_model *model, size_t c, const size_t *node_of, size_t per_node)
{
    size_t most = 0, here = 0;
    for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
        bool is_next =
            i == model->begins[c] || node_of[model->entries[i].rank] != node_of[model->entries[i - 1].rank];
        here = is_next ? 1 : here + 1;
        if (here > most) most = here;
    }
    if (node_count(model, c, node_of) == 1) return 1;
    return most == 1 ? 1.0 / USUAL_CARDS : fmin(1, (double)most / (double)per_node);
}

/* With a known bandwidth: `expected_gbps`, or if that is 0, the usual one of the GPU. A transfer between two
 * ranks of a node does not use all links between them, so that it is not known how fast it should be. */
static void compare_known(const gt_rank_model *model, const gt_ranks_input *input, const kinds *k,
                          const size_t *node_of, double expected_gbps, comparison *to)
{
    size_t per_node = ranks_per_node(model, node_of);
    bool *is_even = find_even(model, k);
    to->confidence = expected_gbps > 0 ? GT_CONFIDENCE_HIGH : GT_CONFIDENCE_MEDIUM;
    for (size_t c = 0; c < model->count; c++) {
        double least_bytes = model->is_pair[c] ? LEAST_BYTES_OF_SEND : LEAST_BYTES_OF_GPU;
        if (k->kind_of[c] == GT_NONE || k->bytes[c] < least_bytes) continue;
        if (model->is_pair[c] && node_count(model, c, node_of) == 1) continue;
        double gbps = expected_gbps > 0 ? expected_gbps : usual_gbps_of(model, input, c);
        gbps *= part_of_cards(model, c, node_of, per_node);
        double usual_ns = k->bytes[c] / gbps; /* GB/s are bytes per ns */
        double least = is_even[k->group_of[c]] ? SLOWER_IF_EVEN : SLOWER_THAN_GPU;
        if (model->transfer_ns[c] > least * usual_ns) set_usual(model, to, c, usual_ns);
    }
    gt_free(is_even);
}

/* ---- the result ---- */

/* The bandwidth of the slow ones and of what they are compared with, and the ranks that take part. */
static void describe(const gt_rank_model *model, const gt_ranks_input *input, const kinds *k,
                     const comparison *from, gt_slow_links *found)
{
    double bytes = 0, ns = 0, usual_ns = 0, most = 0;
    size_t largest = 0;
    found->has_rank = gt_alloc_zero(model->rank_count, sizeof *found->has_rank);
    for (size_t c = 0; c < model->count; c++) {
        found->count += k->kind_of[c] != GT_NONE;
        if (from->transfer_ns[c] >= model->transfer_ns[c]) continue;
        found->slow_count++;
        bytes += k->bytes[c];
        ns += model->transfer_ns[c];
        usual_ns += from->transfer_ns[c];
        if (model->transfer_ns[c] - from->transfer_ns[c] > most) {
            most = model->transfer_ns[c] - from->transfer_ns[c];
            largest = c;
        }
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++)
            found->has_rank[model->entries[i].rank] = true;
    }
    found->bus_gbps = ns > 0 ? bytes / ns : 0;
    found->usual_gbps = usual_ns > 0 ? bytes / usual_ns : 0;
    found->slower = usual_ns > 0 ? ns / usual_ns - 1 : 0;
    const gt_table *events = input->sync->matches->events;
    uint32_t name = text_at(events, GT_COL_COLLECTIVE_NAME, model->rows[largest]);
    double mib = gt_column_number(gt_table_column(events, GT_COL_IN_MSG_SIZE_MB), model->rows[largest]);
    found->what = gt_format("%s of %.1f MiB", gt_interner_get(events->strings, name).bytes, mib);
}

/* What faster transfers would gain, with late ranks as they are or repaired, whichever is more. */
static double find_gain(const gt_rank_model *model, const gt_rank_repair *repaired, const double *transfer_ns)
{
    double most = 0;
    for (int all = 0; all < 2; all++) {
        gt_rank_repair with = all ? *repaired : (gt_rank_repair){0};
        double before = gt_rank_model_run(model, &with, NULL);
        with.transfer_ns = transfer_ns;
        most = fmax(most, before - gt_rank_model_run(model, &with, NULL));
    }
    return most;
}

bool gt_slow_links_find(const gt_rank_model *model, const gt_ranks_input *input,
                        const gt_rank_repair *repaired, double least_ns, gt_slow_links *found)
{
    enum { GROUPS, TIMES, EXPECTED, GPU, COMPARISONS };
    static const char *const names[] = {
        [GROUPS] = "in other process groups",
        [TIMES] = "at other times",
        [EXPECTED] = "expected",
        [GPU] = "in the usual network of this GPU",
    };
    kinds k = find_kinds(model, input, repaired->node_of);
    *found = (gt_slow_links){0};
    for (int i = 0; i < COMPARISONS && !found->transfer_ns; i++) {
        comparison to = {gt_alloc((model->count + 1) * sizeof *to.transfer_ns), 0, GT_CONFIDENCE_LOW};
        memcpy(to.transfer_ns, model->transfer_ns, model->count * sizeof *to.transfer_ns);
        if (i == GROUPS) compare_groups(model, &k, &to);
        if (i == TIMES) compare_times(model, &k, &to);
        /* Whoever says what to expect does not want to know what others have. */
        if (i == (input->expected_bus_gbps > 0 ? EXPECTED : GPU))
            compare_known(model, input, &k, repaired->node_of, input->expected_bus_gbps, &to);
        double gain_ns = to.excess_ns > 0 ? find_gain(model, repaired, to.transfer_ns) : 0;
        if (gain_ns >= least_ns && gain_ns > 0) {
            describe(model, input, &k, &to, found);
            found->transfer_ns = to.transfer_ns;
            found->confidence = to.confidence;
            found->compared_with = names[i];
            found->is_of_table = i == GPU;
        } else {
            gt_free(to.transfer_ns);
        }
    }
    free_kinds(&k);
    return found->transfer_ns != NULL;
}

void gt_slow_links_free(gt_slow_links *links)
{
    gt_free_all(links->transfer_ns, links->has_rank, links->what);
    *links = (gt_slow_links){0};
}

/* ---- the finding ---- */

/* Whose link is it? */
static const char *link_owner(const gt_rank_findings *found, const gt_slow_links *links)
{
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known && !links->has_rank[r])
            return "only these ranks are in slow collectives, so the link is one of theirs";
    return "all ranks are in slow collectives, so the traces do not tell whose link it is";
}

void gt_add_link_finding(gt_rank_findings *found, const gt_slow_links *links, double gain_ns, double alone_ns)
{
    const char *unless =
        links->is_of_table
            ? " If the network is built for less, give what nccl-tests reaches: --expected_bus_gbps."
            : "";
    gt_run_finding finding = {
        .id = gt_strdup("slow_link"),
        .title = gt_format("the network is slow: collectives take %.0f %% longer than %s and reach %.0f "
                           "instead of %.0f GB/s",
                           100 * links->slower, links->compared_with, links->bus_gbps, links->usual_gbps),
        .ranks = gt_rank_list(found, links->has_rank),
        .evidence = gt_format("%zu of %zu large collectives are slow, the slowest is %s; their transfer "
                              "itself is long, not the "
                              "waiting: ranks wait %.2f ms per %s; %s",
                              links->slow_count, links->count, links->what, found->wait_ns / 1e6, found->per,
                              link_owner(found, links)),
        .advice =
            gt_format("Run nccl-tests or rccl-tests between pairs of these nodes to find the slow link; "
                      "check its speed, error counters and routing.%s",
                      unless),
        .confidence = links->confidence,
        .is_gpu = true,
        .is_of_ranks = true,
        .gain_ns = gain_ns,
        .alone_ns = alone_ns,
    };
    if (found->nodes_known && strcmp(finding.ranks, "all") != 0)
        finding.where = gt_rank_list_nodes(found, links->has_rank);
    gt_add_run_finding(found, finding);
}
