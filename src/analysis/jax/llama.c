/* A language model on one GPU stream: how long does each stage of a layer take?
 *
 * The stage of an event comes from parts of its op's path or of its kernel's name; the first row of the table
 * that fits counts. An elementwise product without a stage that starts between the two matrix products of the
 * MLP is the gate of the MLP (swiglu_elementwise).
 *
 *     time of a layer   all events from its normalization to the next layer's, or to the end of the token
 *     time of a stage   the sum of its events / the number of layers
 *     time of a token   the sum of its layers; the mean over the tokens that have all layers */
#include "analysis/jax/llama.h"

#include "table/stats.h"

typedef enum stage {
    NORM_ATTN,
    Q_ADD,
    Q_GEMM,
    K_ADD,
    K_GEMM,
    V_ADD,
    V_GEMM,
    ATTN_CORE,
    OUT_GEMM,
    NORM_MLP,
    MLP_IN_GEMM,
    SWIGLU,
    MLP_OUT_GEMM,
    POST_GSU,
    OTHER
} stage;

const char *const gt_llama_stage_names[GT_LLAMA_STAGES] = {
    "norm_attn",    "q_add",     "q_gemm",   "k_add",    "k_gemm",      "v_add",
    "v_gemm",       "attn_core", "out_gemm", "norm_mlp", "mlp_in_gemm", "swiglu_elementwise",
    "mlp_out_gemm", "post_gsu",  "other",
};

static const char MLP_IN[] = "/mlp/in/dot_general", MLP_OUT[] = "/mlp/out/dot_general",
                  PRODUCT[] = "loop_multiply_fusion";

static const struct {
    const char *in_name, *in_path; /* one of the two; names are compared in any case */
    stage stage;
} stage_parts[] = {
    {"postgsu", NULL, POST_GSU},
    {NULL, "/norm_attn/", NORM_ATTN},
    {NULL, "/norm_mlp/", NORM_MLP},
    {NULL, "/attn/q/add", Q_ADD},
    {NULL, "/attn/k/add", K_ADD},
    {NULL, "/attn/v/add", V_ADD},
    {NULL, "/attn/q/dot_general", Q_GEMM},
    {NULL, "/attn/k/dot_general", K_GEMM},
    {NULL, "/attn/v/dot_general", V_GEMM},
    {NULL, "/attn/out/dot_general", OUT_GEMM},
    {NULL, MLP_IN, MLP_IN_GEMM},
    {NULL, MLP_OUT, MLP_OUT_GEMM},
    {NULL, "te_fused_attn_forward", ATTN_CORE},
    {"sdpa", NULL, ATTN_CORE},
    {"flash_fprop", NULL, ATTN_CORE},
    {"fmha_fwd", NULL, ATTN_CORE},
};

/* ---- names and paths ---- */

static const char *string_of(const gt_gpu_stream *stream, uint32_t id)
{
    return gt_interner_get(stream->strings, id).bytes;
}

static stage stage_of(const gt_gpu_stream *stream, const gt_stream_event *event)
{
    const char *name = string_of(stream, event->name), *path = string_of(stream, event->path);
    for (size_t i = 0; i < GT_LENGTH(stage_parts); i++)
        if (stage_parts[i].in_name ? strcasestr(name, stage_parts[i].in_name) != NULL
                                   : strstr(path, stage_parts[i].in_path) != NULL)
            return stage_parts[i].stage;
    return OTHER;
}

static bool is_product(const gt_gpu_stream *stream, const gt_stream_event *event)
{
    return strncmp(string_of(stream, event->name), PRODUCT, strlen(PRODUCT)) == 0 ||
           strcasestr(string_of(stream, event->hlo_op), PRODUCT);
}

static const char *read_digits(const char *at, int64_t *number)
{
    const char *begin = at;
    for (*number = 0; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, *at - '0', number))
            return NULL;
    return at > begin ? at : NULL;
}

/* The number of the block in ".../Transformer/block_3/..."; -1: none. */
static int64_t block_of(const char *path)
{
    static const char key[] = "/Transformer/block_";
    int64_t block;
    while ((path = strstr(path, key))) {
        path += strlen(key);
        const char *end = read_digits(path, &block);
        if (end && *end == '/') return block;
    }
    return -1;
}

/* The number after a word, in any case; -1: none. */
static int64_t number_after(const char *name, const char *word)
{
    int64_t number;
    while ((name = strcasestr(name, word))) {
        name += strlen(word);
        if (read_digits(name, &number)) return number;
    }
    return -1;
}

/* The last number before "u," in the list after "Kernel_traits<"; -1: none. */
static int64_t width_in(const char *name)
{
    static const char key[] = "Kernel_traits<";
    while ((name = strstr(name, key))) {
        int64_t found = -1, number;
        for (name += strlen(key); *name && *name != '>'; name++) {
            if (*name != ',') continue;
            const char *at = name + 1;
            while (*at == ' ' || *at == '\t') at++;
            at = read_digits(at, &number);
            if (!at || *at != 'u') continue;
            for (at++; *at == ' ' || *at == '\t';) at++;
            if (*at == ',') found = number;
        }
        if (found >= 0) return found;
    }
    return -1;
}

static void infer_sizes(const gt_gpu_stream *stream, gt_llama_summary *s)
{
    s->d_model = s->head_dim = s->post_gsu = -1;
    for (size_t i = 0; i < stream->count; i++) {
        const char *name = string_of(stream, stream->items[i].name);
        if (s->d_model < 0 && strstr(name, "ln_fwd_tuned_kernel")) s->d_model = width_in(name);
        if (s->head_dim < 0) s->head_dim = number_after(name, "hd");
        if (s->post_gsu < 0) s->post_gsu = number_after(name, "PostGSU");
    }
}

/* ---- tokens and layers ---- */

typedef struct time_list {
    double *items;
    size_t count, capacity;
} time_list;

static time_list find_tokens(const gt_gpu_stream *stream, const char *mark)
{
    time_list tokens = {0};
    for (size_t i = 0; i < stream->count; i++) {
        const char *path = string_of(stream, stream->items[i].path);
        if (strstr(path, "/Transformer/block_0/norm_attn/") && strstr(path, mark))
            GT_PUSH(tokens.items, tokens.count, tokens.capacity, stream->items[i].start_us);
    }
    return tokens;
}

/* The index of the first event of each block of a token. */
static gt_map find_blocks(const gt_gpu_stream *stream, double begin_us, double end_us)
{
    gt_map blocks = {0};
    for (size_t i = gt_gpu_stream_from(stream, begin_us);
         i < stream->count && stream->items[i].start_us < end_us; i++) {
        const char *path = string_of(stream, stream->items[i].path);
        int64_t block = strstr(path, "/norm_attn/") ? block_of(path) : -1;
        if (block < 0) continue;
        uint32_t *first = gt_map_put(&blocks, (uint64_t)block, 0);
        if (*first == GT_MAP_NONE) *first = (uint32_t)i;
    }
    return blocks;
}

static bool has_layers(const gt_map *blocks, gt_llama_range layers)
{
    if (layers.last - layers.first >= (int64_t)blocks->count) return false;
    for (int64_t b = layers.first; b <= layers.last; b++)
        if (gt_map_get(blocks, (uint64_t)b, 0) == GT_MAP_NONE) return false;
    return true;
}

/* Adds the events of a layer to the stages and returns their total time. */
static double add_layer(const gt_gpu_stream *stream, double begin_us, double end_us,
                        double stage_us[GT_LLAMA_STAGES])
{
    size_t begin = gt_gpu_stream_from(stream, begin_us), end = gt_gpu_stream_from(stream, end_us);
    const gt_stream_event *in = NULL, *out = NULL;
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        const gt_stream_event *e = &stream->items[i];
        if (!in && strstr(string_of(stream, e->path), MLP_IN)) in = e;
        if (!out && strstr(string_of(stream, e->path), MLP_OUT)) out = e;
    }
    for (size_t i = begin; i < end; i++) {
        const gt_stream_event *e = &stream->items[i];
        stage st = stage_of(stream, e);
        if (st == OTHER && in && out && e->start_us >= in->start_us + in->dur_us &&
            e->start_us < out->start_us && is_product(stream, e))
            st = SWIGLU;
        stage_us[st] += e->dur_us;
        sum += e->dur_us;
    }
    return sum;
}

static void note_incomplete(gt_llama_summary *s, int64_t token, size_t blocks)
{
    char line[96];
    snprintf(line, sizeof line, "token %" PRId64 ": incomplete blocks (have %zu); skipped in stage avg\n",
             token, blocks);
    gt_buffer_add_cstr(&s->notes, line);
}

static bool measure_layers(const gt_gpu_stream *stream, const time_list *tokens, gt_llama_range wanted,
                           gt_llama_range layers, gt_llama_summary *s)
{
    const gt_stream_event *last = &stream->items[stream->count - 1];
    size_t layer_count = 0, token_count = 0;
    double token_sum = 0;
    for (int64_t t = wanted.first; t <= wanted.last && t < (int64_t)tokens->count; t++) {
        double end_us = t + 1 < (int64_t)tokens->count ? tokens->items[t + 1] : last->start_us + last->dur_us;
        gt_map blocks = find_blocks(stream, tokens->items[t], end_us);
        if (has_layers(&blocks, layers)) {
            for (int64_t b = layers.first; b <= layers.last; b++) {
                uint32_t place = gt_map_get(&blocks, (uint64_t)b, 0),
                         next = gt_map_get(&blocks, (uint64_t)b + 1, 0);
                token_sum +=
                    add_layer(stream, stream->items[place].start_us,
                              next == GT_MAP_NONE ? end_us : stream->items[next].start_us, s->stage_us);
                layer_count++;
            }
            token_count++;
        } else {
            note_incomplete(s, t, blocks.count);
        }
        gt_map_free(&blocks);
    }
    for (size_t i = 0; i < GT_LLAMA_STAGES && layer_count; i++) {
        s->stage_us[i] /= (double)layer_count;
        s->layer_us += s->stage_us[i];
    }
    if (token_count) s->token_us = token_sum / (double)token_count;
    return layer_count > 0;
}

/* ---- totals ---- */

/* An event with its name or path. */
typedef struct named_event {
    uint32_t name;
    size_t place;
} named_event;

GT_ORDER_BY(by_name, named_event, GT_UP(name) GT_UP(place))

static bool is_before(const gt_llama_total *a, const gt_llama_total *b)
{
    return a->total_us != b->total_us ? a->total_us > b->total_us : a->first < b->first;
}

/* Inserts a total into the list of the `most` longest totals. */
static void keep_total(gt_llama_total *best, size_t *count, size_t most, gt_llama_total total)
{
    size_t at = *count;
    while (at && is_before(&total, &best[at - 1])) at--;
    if (at == most) return;
    if (*count < most) ++*count;
    memmove(&best[at + 1], &best[at], (*count - at - 1) * sizeof *best);
    best[at] = total;
}

static void find_totals(const gt_gpu_stream *stream, bool by_path, gt_llama_total *best, size_t *count,
                        size_t most)
{
    named_event *events = gt_alloc(stream->count * sizeof *events);
    double *durations = gt_alloc(stream->count * sizeof *durations);
    size_t used = 0;
    for (size_t i = 0; i < stream->count; i++) {
        uint32_t name = by_path ? stream->items[i].path : stream->items[i].name;
        if (name > GT_STR_EMPTY) events[used++] = (named_event){name, i};
    }
    qsort(events, used, sizeof *events, by_name);
    for (size_t begin = 0, end; begin < used; begin = end) {
        gt_llama_total total = {.name = events[begin].name, .first = events[begin].place};
        for (end = begin; end < used && events[end].name == events[begin].name; end++) {
            const double dur_us = stream->items[events[end].place].dur_us;
            durations[total.count++] = dur_us;
            total.total_us += dur_us;
        }
        total.average_us = total.total_us / (double)total.count;
        total.p90_us = gt_quantile(durations, total.count, 0.9);
        keep_total(best, count, most, total);
    }
    gt_free_all(durations, events);
}

bool gt_llama_summarize(const gt_gpu_stream *stream, const char *token_mark, gt_llama_range tokens,
                        gt_llama_range layers, gt_llama_summary *s, gt_error *error)
{
    *s = (gt_llama_summary){0};
    infer_sizes(stream, s);
    time_list starts = find_tokens(stream, token_mark);
    bool found = measure_layers(stream, &starts, tokens, layers, s);
    gt_free(starts.items);
    find_totals(stream, false, s->kernels, &s->kernel_count, GT_LLAMA_KERNELS);
    find_totals(stream, true, s->paths, &s->path_count, GT_LLAMA_PATHS);
    return found ||
           gt_fail(error,
                   "No complete token/layer windows found. Check token/layer range and norm_attn markers.");
}

void gt_llama_summary_free(gt_llama_summary *summary)
{
    gt_buffer_free(&summary->notes);
}
