/* What do late nodes share? Traces do not say which switch or rack a node is at, but names often do:
 *
 *     late      rack3-node07  rack3-node12
 *     others    rack1-node01  rack31-node02        "rack3" is in all late names and in no other
 *
 * The beginnings of names are compared, then their endings (node07.rack3.example.com). A part ends where a
 * letter, a digit and another character meet, so "rack3" is no part of "rack31-node02". */
#include "findings/ranks/find.h"

#include "table/stats.h"

enum { NAME_MAX_LEN = 255 }; /* of a host: longer names are none */

typedef enum class_of_char { LETTER, DIGIT, OTHER } class_of_char;

static class_of_char class_of(char c)
{
    return isalpha((unsigned char)c) ? LETTER : isdigit((unsigned char)c) ? DIGIT : OTHER;
}

/* The character at a distance from the beginning or from the end; NUL beyond. */
static char char_at(const char *name, size_t len, size_t at, bool from_end)
{
    if (at >= len) return 0;
    return from_end ? name[len - 1 - at] : name[at];
}

/* Whether a part of `at` characters is a whole one in this name. */
static bool is_whole(const char *name, size_t at, bool from_end)
{
    size_t len = strlen(name);
    if (!at || at >= len) return at == len;
    return class_of(char_at(name, len, at - 1, from_end)) != class_of(char_at(name, len, at, from_end));
}

static size_t common_length(const char *a, const char *b, bool from_end)
{
    size_t a_len = strlen(a), b_len = strlen(b), at = 0;
    while (at < a_len && at < b_len && char_at(a, a_len, at, from_end) == char_at(b, b_len, at, from_end))
        at++;
    return at;
}

/* Whether a name begins or ends with the first `len` characters of another. */
static bool has_part(const char *name, const char *other, size_t len, bool from_end)
{
    return common_length(name, other, from_end) >= len && is_whole(name, len, from_end);
}

/* Whether the first `len` characters of a late name are a part of all late names and of no other one. */
static bool is_shared(const gt_rank_findings *found, const bool *is_late, const char *name, size_t len,
                      bool from_end)
{
    for (size_t n = 0; n < found->node_count; n++)
        if (has_part(found->node_names[n], name, len, from_end) != is_late[n]) return false;
    return true;
}

/* The length of the shortest such part, up to the next separator if they share that, too: not "3.net" but
 * "r3.net". 0 if there is none. */
static size_t shared_length(const gt_rank_findings *found, const bool *is_late, const char *name,
                            bool from_end)
{
    size_t len = strlen(name), shortest = 0;
    for (size_t at = 1; at <= len; at++) {
        bool is_separator = at < len && class_of(char_at(name, len, at, from_end)) == OTHER;
        if (class_of(char_at(name, len, at - 1, from_end)) == OTHER) {
            if (shortest) break;
            continue;
        }
        if (!is_whole(name, at, from_end)) continue;
        if (is_shared(found, is_late, name, at, from_end)) {
            if (!shortest || is_separator) shortest = at;
            if (is_separator) break;
        } else if (shortest) {
            break;
        }
    }
    return shortest;
}

/* The part of the name that all late nodes have and no other one; NULL if there is none. *count becomes how
 * many are late. The caller frees it. */
static char *shared_place(const gt_rank_findings *found, const bool *is_late, size_t *count)
{
    size_t first = SIZE_MAX;
    *count = 0;
    for (size_t n = found->node_count; n-- > 0;) {
        if (strlen(found->node_names[n]) > NAME_MAX_LEN) return NULL;
        if (!is_late[n]) continue;
        first = n;
        (*count)++;
    }
    if (!found->nodes_named || *count < 2 || *count == found->node_count) return NULL;
    for (int from_end = 0; from_end < 2; from_end++) {
        const char *name = found->node_names[first];
        size_t len = shared_length(found, is_late, name, from_end);
        if (len) return gt_format("%.*s", (int)len, from_end ? name + strlen(name) - len : name);
    }
    return NULL;
}

void gt_add_shared_place(gt_rank_findings *found, const bool *is_late)
{
    size_t count;
    char *place = shared_place(found, is_late, &count);
    for (size_t i = 0; place && i < found->count; i++) {
        gt_run_finding *finding = &found->items[i];
        if (strcmp(finding->id, "slow_link") == 0) continue;
        gt_buffer evidence = {0};
        gt_buffer_add_cstr(&evidence, finding->evidence);
        gt_buffer_add_format(&evidence, "; %s %zu late nodes have ", count > 2 ? "all" : "the", count);
        gt_rank_add_item(&evidence, place);
        gt_buffer_add_cstr(&evidence, " in their names and no other node has, so look at what they share: "
                                      "switch, rack, power, cooling");
        gt_free(finding->evidence);
        finding->evidence = gt_buffer_take(&evidence);
    }
    gt_free(place);
}

/* ---- hosts ---- */

/* Whose host is slow?
 *
 * A slow host makes its rank late only if the GPU waits for launches; that is a straggler. Mostly the host
 * runs ahead of the GPU, and a host that launches at half the speed costs nothing. But it shows that
 * something is wrong with that machine (other processes, a low clock, wrong binding), and it will cost
 * something with smaller batches. So it is a finding of its own, with the gain that the model gives: about 0.
 *
 * The host time per launch of a rank is compared with that of the usual rank. A host is slow if its time is
 * longer by 5 %, by five standard errors of the mean, its own and the usual one (few launches can be alike by
 * chance), and by five times what hosts usually differ. */

static const double LEAST_SLOWER = 0.05, LEAST_ERRORS = 5, EQUALLY_SLOW = 0.85;
enum { LEAST_RANKS = 4 };

typedef struct slow_host {
    size_t rank;
    double slower; /* 0.5: a launch takes half as long again */
} slow_host;

GT_ORDER_BY(slowest_first, slow_host, GT_DOWN(slower) GT_UP(rank))

/* By how much hosts usually differ from the usual one, as a part of it. */
static double usual_difference(const gt_rank_findings *found, double usual_ns, size_t *known)
{
    gt_rank_value *values = gt_alloc((found->rank_count + 1) * sizeof *values);
    *known = 0;
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known)
            values[(*known)++] =
                (gt_rank_value){found->ranks[r].node, fabs(found->ranks[r].facts->launch_ns / usual_ns - 1)};
    double usual = gt_rank_usual(values, *known);
    gt_free(values);
    return usual;
}

/* The standard error of the time per launch of a usual host, and that of what is usual among so few. */
static double usual_error(const gt_rank_findings *found)
{
    double *values = gt_alloc((found->rank_count + 1) * sizeof *values), usual = 0;
    size_t count = 0;
    for (size_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known) values[count++] = found->ranks[r].facts->launch_error_ns;
    if (count) usual = gt_select(values, count, count / 2) * (1 + 1 / sqrt((double)count));
    gt_free(values);
    return usual;
}

static slow_host *find_slow(const gt_rank_findings *found, double usual_ns, const bool *has_finding,
                            size_t *count)
{
    slow_host *hosts = NULL;
    size_t capacity = 0, known;
    *count = 0;
    double least = fmax(LEAST_SLOWER, 5 * usual_difference(found, usual_ns, &known));
    least = fmax(least, LEAST_ERRORS * usual_error(found) / usual_ns);
    for (size_t r = 0; known >= LEAST_RANKS && r < found->rank_count; r++) {
        if (!found->ranks[r].known || has_finding[r]) continue;
        const gt_rank_facts *facts = found->ranks[r].facts;
        double slower = facts->launch_ns / usual_ns - 1;
        if (slower < fmax(least, LEAST_ERRORS * facts->launch_error_ns / usual_ns)) continue;
        GT_PUSH(hosts, *count, capacity, ((slow_host){r, slower}));
    }
    if (*count) qsort(hosts, *count, sizeof *hosts, slowest_first);
    return hosts;
}

void gt_slow_hosts_find(const gt_rank_findings *found, double usual_ns, const bool *has_finding,
                        gt_slow_hosts *list)
{
    size_t count;
    *list = (gt_slow_hosts){0};
    if (!(usual_ns > 0)) return;
    slow_host *hosts = find_slow(found, usual_ns, has_finding, &count);
    for (size_t begin = 0, end; begin < count && list->count < GT_SLOW_HOSTS_MAX; begin = end) {
        gt_slow_host_group *group = &list->items[list->count++];
        *group = (gt_slow_host_group){.rank = hosts[begin].rank,
                                      .slower = hosts[begin].slower,
                                      .launch_ns = found->ranks[hosts[begin].rank].facts->launch_ns,
                                      .usual_ns = usual_ns};
        group->has_rank = gt_alloc_zero(found->rank_count + 1, sizeof *group->has_rank);
        for (end = begin; end < count && hosts[end].slower >= EQUALLY_SLOW * hosts[begin].slower; end++)
            group->has_rank[hosts[end].rank] = true;
        group->count = end - begin;
    }
    gt_free(hosts);
}

void gt_slow_hosts_free(gt_slow_hosts *list)
{
    for (size_t i = 0; i < list->count; i++) gt_free(list->items[i].has_rank);
    *list = (gt_slow_hosts){0};
}

void gt_add_host_finding(gt_rank_findings *found, const gt_slow_host_group *group, double gain_ns,
                         double alone_ns)
{
    char *ranks = gt_rank_list(found, group->has_rank);
    const char *many = group->count > 1 ? "s" : "";
    bool is_free = gain_ns < 0.001 * found->step_ns;
    gt_run_finding finding = {
        .id = gt_strdup("slow_host"),
        .title = gt_format("the host%s of rank%s %s launch%s work %s%.0f %% slower than usual%s", many, many,
                           ranks, group->count > 1 ? "" : "es", group->count > 1 ? "up to " : "",
                           100 * group->slower,
                           is_free ? ", which costs nothing now because the GPU does not wait for it" : ""),
        .evidence = gt_format("rank %zu: %.1f against %.1f us per launch", group->rank,
                              group->launch_ns / 1e3, group->usual_ns / 1e3),
        .advice =
            gt_format("Look for other processes, a lower CPU clock or wrong CPU binding on the host%s of "
                      "%s rank%s.",
                      many, group->count > 1 ? "these" : "this", many),
        .ranks = ranks,
        .confidence = GT_CONFIDENCE_HIGH,
        .is_of_ranks = true,
        .gain_ns = gain_ns,
        .alone_ns = alone_ns,
    };
    if (found->nodes_known) finding.where = gt_rank_list_nodes(found, group->has_rank);
    gt_add_run_finding(found, finding);
}
