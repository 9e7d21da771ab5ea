/* Two forms of a line are known; how figures of several nodes become one is told by words in the metric's
 * name. */
#include "run/execute/performance.h"
#include "base/length.h"
#include "compat/python_regex.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

static const char own_line[] = "(?a)performance:\\s+([+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
                               "(?:,?\\s*/[a-zA-Z]+\\s*,?|,)?\\s+([^\\s,]+)";
static const char trainer_line[] = "(?a)train_samples_per_second['\"\\s:=]+([0-9][0-9.eE+-]*)";

static gt_python_regex own, trainer;
static bool compiled;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void compile(void)
{
    gt_error ignored;
    compiled = gt_python_regex_compile(&own, own_line, &ignored) &&
               gt_python_regex_compile(&trainer, trainer_line, &ignored);
}

enum { LINE_MAX_BYTES = 4096 };

static bool search(const gt_python_regex *regex, gt_str line, gt_python_match *match)
{
    gt_error ignored; /* a line that takes too many steps has no figure */
    return gt_python_regex_search(regex, line, match, &ignored) && match->found;
}

bool gt_performance_find(gt_arena *arena, gt_str line, const char **number, const char **metric)
{
    const char *word = memmem(line.bytes, line.len, "per", 3); /* both forms have it: most lines end here */
    if (!word || line.len >= LINE_MAX_BYTES) return false;
    pthread_once(&once, compile);
    gt_python_match match = {0};
    bool is_own = compiled && search(&own, line, &match);
    bool found = is_own || (compiled && search(&trainer, line, &match));
    if (found) *number = gt_arena_bytes(arena, match.groups[1].bytes, match.groups[1].len);
    if (found)
        *metric =
            is_own ? gt_arena_bytes(arena, match.groups[2].bytes, match.groups[2].len) : "samples_per_second";
    gt_python_match_free(&match);
    return found;
}

/* ---- several nodes ---- */

typedef enum combining { SUM, MEAN, MOST } combining;

static const struct {
    combining how;
    const char *words; /* with blanks between them */
} rules[] = {
    {SUM,
     "throughput samples_per_second tokens_per_second images_per_second requests_per_second qps bandwidth "
     "ops_per_second samples/sec tokens/sec"},
    {MEAN,
     "latency time duration milliseconds seconds ttft tpot response_time accuracy precision recall f1 loss"},
    {MOST, "memory bytes ram vram gb mb"},
};

static combining combining_of(const char *metric)
{
    for (size_t i = 0; i < GT_LENGTH(rules); i++)
        for (const char *at = rules[i].words; *at;) {
            char word[64];
            size_t len = strcspn(at, " ");
            memcpy(word, at, len);
            word[len] = 0;
            if (strcasestr(metric, word)) return rules[i].how;
            at += len + (at[len] == ' ');
        }
    return SUM;
}

void gt_performances_add(gt_performances *figures, gt_arena *arena, const char *metric, double value)
{
    size_t i = 0;
    while (i < figures->count && strcmp(figures->items[i].metric, metric) != 0) i++;
    if (i == GT_PERFORMANCES_MAX) return;
    if (i == figures->count) {
        figures->items[i].metric = gt_arena_bytes(arena, metric, strlen(metric));
        figures->items[i].sum = 0;
        figures->items[i].most = value;
        figures->items[i].count = 0;
        figures->count++;
    }
    figures->items[i].sum += value;
    figures->items[i].count++;
    if (value > figures->items[i].most) figures->items[i].most = value;
}

void gt_performances_write(const gt_performances *figures, gt_json_writer *w, const char *key)
{
    gt_json_key(w, key);
    gt_json_open(w, '{');
    for (size_t i = 0; i < figures->count; i++) {
        combining how = combining_of(figures->items[i].metric);
        gt_json_key(w, figures->items[i].metric);
        gt_json_add_real(w, how == SUM    ? figures->items[i].sum
                            : how == MEAN ? figures->items[i].sum / (double)figures->items[i].count
                                          : figures->items[i].most);
    }
    gt_json_close(w, '}');
}
