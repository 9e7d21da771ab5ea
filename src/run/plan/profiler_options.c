/* Options of rocprofv3 in a tool's cmd, and its lists of hardware counters. */
#include "run/plan/plan.h"
#include "os/paths.h"

/* ---- hardware counters ---- */

static const gt_counter_file files[] = {
    {"compute_bound.txt", "SQ_WAVES SQ_WAVE_CYCLES SQ_INSTS_VALU SQ_ACTIVE_INST_VALU SQ_INSTS_VALU_ADD_F32 "
                          "SQ_INSTS_VALU_MUL_F32 SQ_INSTS_VALU_FMA_F32 SQ_INSTS_VALU_TRANS_F32 SQ_INSTS_SALU "
                          "SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR SQ_WAIT_INST_ANY"},
    {"memory_bound.txt",
     "L2CacheHit L2CacheMiss L2CacheHitRate TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum "
     "TCP_TCC_ATOMIC_REQ_sum TCC_HIT_sum TCC_MISS_sum TCC_EA_RDREQ_32B_sum TCC_EA_WRREQ_64B_sum "
     "TCC_EA_RDREQ_LEVEL_sum TCC_EA_WRREQ_LEVEL_sum SQ_INSTS_SMEM SQ_LDS_BANK_CONFLICT"},
    {"communication_bound.txt",
     "TCC_EA_WRREQ_64B_sum TCC_EA_RDREQ_32B_sum TCC_ATOMIC_sum TCP_TCC_ATOMIC_REQ_sum "
     "SQ_WAIT_INST_ANY SQ_WAVES TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum"},
    {"full_profile.txt",
     "SQ_WAVES SQ_WAVE_CYCLES SQ_INSTS_VALU SQ_INSTS_SALU SQ_ACTIVE_INST_VALU L2CacheHit "
     "TCC_HIT_sum TCC_MISS_sum TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum TCC_EA_RDREQ_32B_sum "
     "TCC_EA_WRREQ_64B_sum SQ_WAIT_INST_ANY SQ_WAIT_INST_VALU SQ_LDS_BANK_CONFLICT"},
    {"instruction_mix.txt", "SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR SQ_WAIT_INST_ANY"},
};

static const char *const unavailable_names[] = {"L2CacheMiss", "L2CacheHitRate", "TCP_TCC_ATOMIC_REQ_sum",
                                                "SQ_WAIT_INST_VALU"};
static const char *const old_names[] = {"L2CacheHit", "TCC_EA_RDREQ_32B_sum", "TCC_EA_WRREQ_64B_sum",
                                        "TCC_EA_RDREQ_LEVEL_sum", "TCC_EA_WRREQ_LEVEL_sum"};

const gt_counter_file *gt_counter_file_find(const char *path)
{
    const char *name = gt_path_name(path);
    for (size_t i = 0; i < GT_LENGTH(files); i++)
        if (strcmp(files[i].name, name) == 0) return &files[i];
    return NULL;
}

void gt_counter_file_add(const gt_counter_file *file, gt_buffer *text)
{
    for (const char *at = file->counters; *at;) {
        size_t len = strcspn(at, " ");
        gt_buffer_add_cstr(text, "pmc: ");
        gt_buffer_add(text, at, len);
        gt_buffer_add_cstr(text, "\n");
        at += len + strspn(at + len, " ");
    }
}

/* The next line from *at on. */
static bool next_line(const char **at, const char *end, gt_str *line)
{
    if (*at == end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = (gt_str){*at, (size_t)((stop ? stop : end) - *at)};
    *at = stop ? stop + 1 : end;
    return true;
}

size_t gt_counter_passes(gt_str text, size_t *in_comments)
{
    const char *at = text.bytes, *end = at + text.len;
    size_t passes = 0;
    gt_str line;
    *in_comments = 0;
    while (next_line(&at, end, &line)) {
        const char *mark = memmem(line.bytes, line.len, "pmc:", 4);
        if (!mark) continue;
        passes++;
        *in_comments += memchr(line.bytes, '#', (size_t)(mark - line.bytes)) != NULL;
    }
    return passes;
}

static void add_if_named(gt_str word, const char *const *names, size_t count, gt_buffer *list)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) != word.len || memcmp(names[i], word.bytes, word.len) != 0) continue;
        if (list->len) gt_buffer_add_cstr(list, ", ");
        gt_buffer_add(list, word.bytes, word.len);
    }
}

void gt_counters_unknown(gt_str text, gt_buffer *unavailable, gt_buffer *only_old)
{
    const char *end = text.bytes + text.len;
    for (const char *at = text.bytes; at < end;) {
        const char *begin = at;
        while (at < end && (isalnum((unsigned char)*at) || *at == '_')) at++;
        if (at == begin) {
            at++;
            continue;
        }
        gt_str word = {begin, (size_t)(at - begin)};
        add_if_named(word, unavailable_names, GT_LENGTH(unavailable_names), unavailable);
        add_if_named(word, old_names, GT_LENGTH(old_names), only_old);
    }
}

/* ---- profiler options ---- */

static const struct {
    const char *name;
    const char *short_name; /* with its dash; NULL: none */
    gt_profiler_option_values takes;
} table[] = {
    {"input", "-i", GT_TAKES_ONE},
    {"output-file", "-o", GT_TAKES_ONE},
    {"output-directory", "-d", GT_TAKES_ONE},
    {"output-format", "-f", GT_TAKES_MANY},
    {"output-config", NULL, GT_TAKES_TRUTH},
    {"log-level", NULL, GT_TAKES_ONE},
    {"extra-counters", "-E", GT_TAKES_ONE},
    {"runtime-trace", "-r", GT_TAKES_TRUTH},
    {"sys-trace", "-s", GT_TAKES_TRUTH},
    {"hip-trace", NULL, GT_TAKES_TRUTH},
    {"marker-trace", NULL, GT_TAKES_TRUTH},
    {"kernel-trace", NULL, GT_TAKES_TRUTH},
    {"memory-copy-trace", NULL, GT_TAKES_TRUTH},
    {"memory-allocation-trace", NULL, GT_TAKES_TRUTH},
    {"scratch-memory-trace", NULL, GT_TAKES_TRUTH},
    {"hsa-trace", NULL, GT_TAKES_TRUTH},
    {"rccl-trace", NULL, GT_TAKES_TRUTH},
    {"kokkos-trace", NULL, GT_TAKES_TRUTH},
    {"rocdecode-trace", NULL, GT_TAKES_TRUTH},
    {"rocjpeg-trace", NULL, GT_TAKES_TRUTH},
    {"kfd-trace", NULL, GT_TAKES_TRUTH},
    {"hip-runtime-trace", NULL, GT_TAKES_TRUTH},
    {"hip-compiler-trace", NULL, GT_TAKES_TRUTH},
    {"hsa-core-trace", NULL, GT_TAKES_TRUTH},
    {"hsa-amd-trace", NULL, GT_TAKES_TRUTH},
    {"hsa-image-trace", NULL, GT_TAKES_TRUTH},
    {"hsa-finalizer-trace", NULL, GT_TAKES_TRUTH},
    {"kfd-page-migration-trace", NULL, GT_TAKES_TRUTH},
    {"kfd-page-mapping-trace", NULL, GT_TAKES_TRUTH},
    {"kfd-queue-trace", NULL, GT_TAKES_TRUTH},
    {"kfd-dropped-events-trace", NULL, GT_TAKES_TRUTH},
    {"pmc", NULL, GT_TAKES_MANY},
    {"pc-sampling-beta-enabled", NULL, GT_TAKES_TRUTH},
    {"pc-sampling-unit", NULL, GT_TAKES_ONE},
    {"pc-sampling-method", NULL, GT_TAKES_ONE},
    {"pc-sampling-interval", NULL, GT_TAKES_ONE},
    {"stats", NULL, GT_TAKES_TRUTH},
    {"summary", "-S", GT_TAKES_TRUTH},
    {"summary-per-domain", "-D", GT_TAKES_TRUTH},
    {"summary-groups", NULL, GT_TAKES_MANY},
    {"summary-output-file", NULL, GT_TAKES_ONE},
    {"summary-units", "-u", GT_TAKES_ONE},
    {"mangled-kernels", "-M", GT_TAKES_TRUTH},
    {"truncate-kernels", "-T", GT_TAKES_TRUTH},
    {"kernel-rename", NULL, GT_TAKES_TRUTH},
    {"kernel-include-regex", NULL, GT_TAKES_ONE},
    {"kernel-exclude-regex", NULL, GT_TAKES_ONE},
    {"kernel-iteration-range", NULL, GT_TAKES_MANY},
    {"collection-period", "-P", GT_TAKES_MANY},
    {"collection-period-unit", NULL, GT_TAKES_ONE},
    {"selected-regions", NULL, GT_TAKES_TRUTH},
    {"selected-regions-ref-count", NULL, GT_TAKES_TRUTH},
    {"profile-mpi-ranks", NULL, GT_TAKES_ONE},
    {"mpi-world-rank-variable", NULL, GT_TAKES_ONE},
    {"mpi-world-size-variable", NULL, GT_TAKES_ONE},
    {"perfetto-backend", NULL, GT_TAKES_ONE},
    {"perfetto-buffer-size", NULL, GT_TAKES_ONE},
    {"perfetto-buffer-fill-policy", NULL, GT_TAKES_ONE},
    {"perfetto-shmem-size-hint", NULL, GT_TAKES_ONE},
    {"list-avail", "-L", GT_TAKES_TRUTH},
    {"group-by-queue", NULL, GT_TAKES_TRUTH},
    {"preload", NULL, GT_TAKES_MANY},
    {"rocm-root", NULL, GT_TAKES_ONE},
    {"sdk-soversion", NULL, GT_TAKES_ONE},
    {"sdk-version", NULL, GT_TAKES_ONE},
    {"agent-index", "-A", GT_TAKES_ONE},
    {"disable-signal-handlers", NULL, GT_TAKES_TRUTH},
    {"minimum-output-data", NULL, GT_TAKES_ONE},
    {"process-sync", NULL, GT_TAKES_TRUTH},
    {"att", NULL, GT_TAKES_TRUTH},
    {"advanced-thread-trace", NULL, GT_TAKES_TRUTH},
    {"att-library-path", NULL, GT_TAKES_MANY},
    {"att-target-cu", NULL, GT_TAKES_ONE},
    {"att-simd-select", NULL, GT_TAKES_ONE},
    {"att-buffer-size", NULL, GT_TAKES_ONE},
    {"att-shader-engine-mask", NULL, GT_TAKES_ONE},
    {"att-gpu-index", NULL, GT_TAKES_ONE},
    {"att-perfcounters", NULL, GT_TAKES_ONE},
    {"att-perfcounter-ctrl", NULL, GT_TAKES_ONE},
    {"att-activity", NULL, GT_TAKES_ONE},
    {"att-serialize-all", NULL, GT_TAKES_TRUTH},
    {"att-consecutive-kernels", NULL, GT_TAKES_ONE},
    {"att-perfcounter-target-only", NULL, GT_TAKES_TRUTH},
    /* in no rocprofv3, but used in configs */
    {"perfetto-trace-filename", NULL, GT_TAKES_ONE},
    {"counter-collection", NULL, GT_TAKES_TRUTH},
};

static bool is_truth(const char *word, bool *value)
{
    static const char *const words[] = {"y", "yes", "t", "true",  "on",  "1",
                                        "n", "no",  "f", "false", "off", "0"};
    for (size_t i = 0; i < GT_LENGTH(words); i++) {
        if (strcasecmp(word, words[i]) != 0) continue;
        *value = i < GT_LENGTH(words) / 2;
        return true;
    }
    return false;
}

static void look_up(gt_profiler_option *option)
{
    const char *name = option->written;
    option->takes = GT_TAKES_UNKNOWN;
    option->name = name + strspn(name, "-");
    for (size_t i = 0; i < GT_LENGTH(table); i++) {
        bool is_short = table[i].short_name && strcmp(table[i].short_name, name) == 0;
        if (!is_short && (strncmp(name, "--", 2) != 0 || strcmp(table[i].name, name + 2) != 0)) continue;
        option->name = table[i].name;
        option->takes = table[i].takes;
        return;
    }
}

/* The number of following words that are values of the option. */
static size_t values_of(const gt_profiler_option *option, const char *const *words, size_t count)
{
    bool value;
    size_t n = 0;
    switch (option->takes) {
    case GT_TAKES_TRUTH:
        return count && is_truth(words[0], &value);
    case GT_TAKES_ONE:
        return count ? 1 : 0;
    default:
        while (n < count && words[n][0] != '-') n++;
        return n;
    }
}

/* The value that is part of the word: of --name=value, -n=value and, unless it is a truth, -nvalue. Sets the
 * name without it. NULL if there is none. */
static const char *value_in(gt_arena *arena, const char *word, const char **name)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    const char *equals = is_long                                       ? strchr(word, '=')
                         : word[0] == '-' && word[1] && word[2] == '=' ? word + 2
                                                                       : NULL;
    *name = word;
    if (equals) {
        *name = gt_arena_bytes(arena, word, (size_t)(equals - word));
        return equals + 1;
    }
    if (is_long || word[0] != '-' || !word[1] || !word[2]) return NULL;
    gt_profiler_option option = {.written = gt_arena_bytes(arena, word, 2)};
    look_up(&option);
    if (option.takes != GT_TAKES_ONE && option.takes != GT_TAKES_MANY) return NULL;
    *name = option.written;
    return word + 2;
}

gt_profiler_options gt_profiler_options_parse(gt_arena *arena, const char *const *words, size_t count)
{
    gt_profiler_options options = {.items = gt_arena_alloc(arena, (count + 1) * sizeof *options.items)};
    for (size_t i = 0; i < count;) {
        const char *word = words[i++], *name, *value = value_in(arena, word, &name);
        gt_profiler_option *option = &options.items[options.count++];
        *option = (gt_profiler_option){.written = name};
        look_up(option);
        size_t n = value ? 1 : word[0] == '-' ? values_of(option, words + i, count - i) : 0;
        option->values = gt_arena_alloc(arena, (n + 2) * sizeof *option->values); /* space for one more */
        for (size_t v = 0; v < n; v++) option->values[v] = value ? value : words[i + v];
        option->value_count = n;
        i += value ? 0 : n;
    }
    return options;
}

gt_profiler_option *gt_profiler_option_add(gt_arena *arena, gt_profiler_options *options, const char *written,
                                           const char *value)
{
    gt_profiler_option *items = gt_arena_alloc(arena, (options->count + 2) * sizeof *items);
    if (options->count) memcpy(items, options->items, options->count * sizeof *items);
    gt_profiler_option *option = &items[options->count++];
    *option = (gt_profiler_option){.written = written, .value_count = 1};
    look_up(option);
    option->values = gt_arena_alloc(arena, 2 * sizeof *option->values);
    option->values[0] = value;
    options->items = items;
    return option;
}

gt_profiler_option *gt_profiler_option_find(const gt_profiler_options *options, const char *name)
{
    for (size_t i = options->count; i--;)
        if (!options->items[i].dropped && strcmp(options->items[i].name, name) == 0)
            return &options->items[i];
    return NULL;
}

bool gt_profiler_option_is_on(const gt_profiler_options *options, const char *name)
{
    const gt_profiler_option *option = gt_profiler_option_find(options, name);
    bool value = true;
    if (option && option->value_count) is_truth(option->values[0], &value);
    return option && value;
}
