/* Which hardware counters the GPUs of this machine have, and in how few passes they can be collected.
 *
 * rocprofv3 only warns of a counter that the GPU does not have, after it has run the program for it; and it
 * runs the program once per line of a counter file. rocprofv3-avail, which comes with it, knows both
 * beforehand:
 *
 *     rocprofv3-avail list --pmc                 the GPUs with the names of their counters
 *     rocprofv3-avail -d 0 pmc-check A B         fails if the hardware cannot count A and B at the same time
 *
 * The second is asked for one counter after the other: each goes into the first pass that has room for it.
 * The hardware has a number of registers per block (SQ, TCC, ...), so this gives as few passes as the fullest
 * block needs. A pass that has no room for one counter of a block is not asked for the next one of that
 * block; names begin with their block. */
#include "run/plan/plan.h"
#include "os/child.h"
#include "os/paths.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double ask_timeout_s = 60, pack_timeout_s = 180;

/* ---- asking ---- */

static bool collect_line(void *context, gt_child_stream stream, gt_str line)
{
    (void)stream;
    gt_buffer_add(context, line.bytes, line.len);
    gt_buffer_add_cstr(context, "\n");
    return false;
}

/* Runs rocprofv3-avail; false if it fails. */
static bool ask(gt_avail *avail, const char *const *words, size_t count, gt_buffer *answer)
{
    const char **argv = gt_arena_alloc(avail->arena, (count + 2) * sizeof *argv);
    argv[0] = avail->path;
    for (size_t i = 0; i < count; i++) argv[i + 1] = words[i];
    argv[count + 1] = NULL;
    gt_child_setup setup = {.argv = argv,
                            .silent = true,
                            .merge = true,
                            .timeout_s = ask_timeout_s,
                            .line = collect_line,
                            .line_context = answer};
    gt_child_result result;
    gt_error ignored;
    if (!gt_child_run(&setup, &result, &ignored)) return false;
    avail->interrupted = avail->interrupted || result.interrupted;
    return !result.timed_out && !result.interrupted && result.exit_code == 0;
}

/* ---- the list of counters ---- */

/* The value of a line "GPU   :   0", if it is one; else NULL. */
static const char *value_of(gt_arena *arena, const char *line, const char *key)
{
    size_t len = strlen(key);
    if (strncmp(line, key, len) != 0) return NULL;
    line += len + strspn(line + len, " \t");
    if (*line++ != ':') return NULL;
    line += strspn(line, " \t");
    size_t end = strlen(line);
    while (end && isspace((unsigned char)line[end - 1])) end--;
    return gt_arena_bytes(arena, line, end);
}

static bool is_counter_name(const char *word)
{
    if (!isalpha((unsigned char)*word)) return false;
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && *word != '_') return false;
    return true;
}

/* Adds the names of a line; a line with anything else has none. */
static void add_names(gt_avail *avail, char *line)
{
    size_t first = avail->names.count;
    for (char *rest = NULL, *word = strtok_r(line, " \t\r", &rest); word;
         word = strtok_r(NULL, " \t\r", &rest)) {
        if (is_counter_name(word)) {
            gt_arg_list_add(avail->arena, &avail->names, word);
            continue;
        }
        avail->names.count = first;
        return;
    }
}

/* GPU, Name and PMC of each GPU, then its counters in columns. */
static void parse_list(gt_avail *avail, char *text)
{
    bool in_names = false;
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *gpu = value_of(avail->arena, line, "GPU"), *name = value_of(avail->arena, line, "Name");
        if (gpu && !avail->device) avail->device = gpu;
        if (name && !avail->gpu) avail->gpu = name;
        bool is_heading = value_of(avail->arena, line, "PMC") != NULL;
        if (in_names && !gpu && !name && !is_heading) add_names(avail, line);
        in_names = is_heading || (in_names && !gpu);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool gt_avail_ask(gt_avail *avail, gt_arena *arena, const char *rocprofv3)
{
    static const char *const list[] = {"list", "--pmc"};
    *avail = (gt_avail){.arena = arena};
    avail->path = gt_path_join(arena, gt_arena_bytes(arena, rocprofv3, gt_path_folder_len(rocprofv3)),
                               "rocprofv3-avail");
    if (!gt_path_is_file(avail->path)) avail->path = gt_path_search(arena, "rocprofv3-avail", getenv("PATH"));
    if (!avail->path) return false;
    gt_buffer answer = {0};
    bool known = ask(avail, list, GT_LENGTH(list), &answer);
    gt_buffer_str(&answer);
    if (known) parse_list(avail, answer.bytes);
    gt_buffer_free(&answer);
    if (avail->names.count)
        qsort(avail->names.items, avail->names.count, sizeof *avail->names.items, by_name);
    return avail->names.count > 0;
}

/* "SQ_WAVES:device=0" and "TCC_HIT[3]" are about the counter before the mark. */
bool gt_avail_has(const gt_avail *avail, const char *counter)
{
    const char *name = gt_arena_bytes(avail->arena, counter, strcspn(counter, ":["));
    return avail->names.count &&
           bsearch(&name, avail->names.items, avail->names.count, sizeof *avail->names.items, by_name);
}

/* ---- replacements ---- */

/* Names that a GPU of another generation has for the same thing; those with a prefix are below. */
static const struct {
    const char *name, *instead;
    const char *needs[2];
} replacements[] = {
    {"L2CacheHit", "100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)", {"TCC_HIT_sum", "TCC_MISS_sum"}},
    {"L2CacheHitRate", "100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)", {"TCC_HIT_sum", "TCC_MISS_sum"}},
    {"L2CacheMiss", "TCC_MISS_sum", {"TCC_MISS_sum", NULL}},
    {"TCP_TCC_ATOMIC_REQ_sum",
     "TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum",
     {"TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum"}},
};

const char *gt_avail_replacement(const gt_avail *avail, const char *counter)
{
    static const char *const prefixes[][2] = {{"TCC_EA_", "TCC_EA0_"}, {"TCC_EA0_", "TCC_EA_"}};
    for (size_t i = 0; i < GT_LENGTH(prefixes); i++) {
        size_t len = strlen(prefixes[i][0]);
        if (strncmp(counter, prefixes[i][0], len) != 0) continue;
        const char *other = gt_arena_format(avail->arena, "%s%s", prefixes[i][1], counter + len);
        if (gt_avail_has(avail, other)) return other;
    }
    for (size_t i = 0; i < GT_LENGTH(replacements); i++) {
        bool has_all = strcmp(replacements[i].name, counter) == 0;
        for (size_t n = 0; has_all && n < GT_LENGTH(replacements[i].needs) && replacements[i].needs[n]; n++)
            has_all = gt_avail_has(avail, replacements[i].needs[n]);
        if (has_all) return replacements[i].instead;
    }
    return NULL;
}

/* ---- packing into passes ---- */

typedef struct pass {
    gt_arg_list counters, full_blocks;
} pass;

/* The part of a name before the first '_', which is its block of the hardware for most counters. */
static const char *block_of(gt_arena *arena, const char *counter)
{
    return gt_arena_bytes(arena, counter, strcspn(counter, "_"));
}

static bool is_in(const gt_arg_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], word) == 0) return true;
    return false;
}

/* Whether the hardware can count all of a pass and one more. */
static bool fits(gt_avail *avail, const pass *p, const char *counter)
{
    gt_arg_list words = {0};
    gt_buffer answer = {0};
    gt_arg_list_add(avail->arena, &words, "-d");
    gt_arg_list_add(avail->arena, &words, avail->device);
    gt_arg_list_add(avail->arena, &words, "pmc-check");
    for (size_t i = 0; i < p->counters.count; i++)
        gt_arg_list_add(avail->arena, &words, p->counters.items[i]);
    gt_arg_list_add(avail->arena, &words, counter);
    bool ok = ask(avail, words.items, words.count, &answer) &&
              gt_str_contains(gt_buffer_str(&answer), "can be collected together");
    gt_buffer_free(&answer);
    return ok;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void add_to_pass(gt_avail *avail, pass *passes, size_t *count, const char *counter, double end_s)
{
    const char *block = block_of(avail->arena, counter);
    for (size_t i = 0; avail->device && i < *count && !avail->interrupted && now_s() < end_s; i++) {
        if (is_in(&passes[i].full_blocks, block)) continue;
        if (fits(avail, &passes[i], counter)) {
            gt_arg_list_add(avail->arena, &passes[i].counters, counter);
            return;
        }
        gt_arg_list_add(avail->arena, &passes[i].full_blocks, block);
    }
    passes[*count] = (pass){0};
    gt_arg_list_add(avail->arena, &passes[(*count)++].counters, counter);
}

void gt_avail_pack(gt_avail *avail, const gt_arg_list *counters, gt_arg_list *passes)
{
    pass *all = gt_arena_alloc(avail->arena, (counters->count + 1) * sizeof *all);
    size_t count = 0;
    double end_s = now_s() + pack_timeout_s;
    for (size_t i = 0; i < counters->count; i++) add_to_pass(avail, all, &count, counters->items[i], end_s);
    for (size_t i = 0; i < count; i++) {
        gt_buffer line = {0};
        for (size_t n = 0; n < all[i].counters.count; n++) {
            gt_buffer_add_cstr(&line, n ? " " : "");
            gt_buffer_add_cstr(&line, all[i].counters.items[n]);
        }
        gt_arg_list_add(avail->arena, passes, gt_buffer_str(&line).bytes);
        gt_buffer_free(&line);
    }
}
