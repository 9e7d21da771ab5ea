/* Two forms of a line are known; how figures of several nodes become one is told by words in the metric's
 * name. */
#include "run/execute/performance.h"
#include "base/length.h"

#include <pthread.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

#define BLANKS "[[:space:]]"

static const char own_line[] =
    "performance:" BLANKS "+([+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?)(,?" BLANKS
    "*/[a-zA-Z]+" BLANKS "*,?|,)?" BLANKS "+([^[:space:],]+)";
static const char trainer_line[] = "train_samples_per_second['\"[:space:]:=]+([0-9][0-9.eE+-]*)";

static regex_t own, trainer;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void compile(void)
{
    regcomp(&own, own_line, REG_EXTENDED);
    regcomp(&trainer, trainer_line, REG_EXTENDED);
}

enum { LINE_MAX_BYTES = 4096 };

static const char *part(gt_arena *arena, const char *text, regmatch_t match)
{
    return gt_arena_bytes(arena, text + match.rm_so, (size_t)(match.rm_eo - match.rm_so));
}

bool gt_performance_find(gt_arena *arena, gt_str line, const char **number, const char **metric)
{
    regmatch_t match[6];
    char text[LINE_MAX_BYTES];
    const char *word = memmem(line.bytes, line.len, "per", 3); /* both forms have it: most lines end here */
    if (!word || line.len >= sizeof text) return false;
    memcpy(text, line.bytes, line.len);
    text[line.len] = 0;
    pthread_once(&once, compile);
    if (regexec(&own, text, GT_LENGTH(match), match, 0) == 0) {
        *number = part(arena, text, match[1]);
        *metric = part(arena, text, match[5]);
        return true;
    }
    if (regexec(&trainer, text, GT_LENGTH(match), match, 0) != 0) return false;
    *number = part(arena, text, match[1]);
    *metric = "samples_per_second";
    return true;
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
