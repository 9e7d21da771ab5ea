/* Simulated times: runs the user's GEMM simulator (model.h says how) and computes the time of attention from
 * the GEMMs of its tiles. Each command line runs only once. */
#include "base/guard.h"
#include "model/family.h"
#include "os/child.h"
#include "os/paths.h"

enum { MAX_ARGUMENTS = 32, MAX_OUTPUT_BYTES = 1 << 20 };

struct gt_simulator {
    const gt_gpu_arch *arch;
    const char *python;
    char *folder, *script; /* of the simulator; script NULL: it does not exist */
    int64_t timeout_s;     /* of one run; 0: none */
    bool gave_up;          /* a run took longer */
    gt_interner *commands; /* command lines that were run */
    double *times_us;      /* the times that they printed, by their ids; NaN: none; 0: not run yet */
    size_t times_count;
};

gt_simulator *gt_simulator_new(const gt_gpu_arch *arch, const char *python, int64_t timeout_s)
{
    const char *path = getenv("GEMM_SIMULATOR_PATH");
    if (!path || !arch) return NULL;
    gt_simulator *s = gt_alloc_zero(1, sizeof *s);
    s->arch = arch;
    s->timeout_s = timeout_s;
    s->python = python ? python : "python";
    s->folder = gt_path_folder(path);
    s->script = access(path, F_OK) == 0 ? gt_strdup(gt_path_name(path)) : NULL;
    s->commands = gt_interner_new();
    return s;
}

void gt_simulator_free(gt_simulator *s)
{
    if (!s) return;
    gt_free_all(s->folder, s->script);
    gt_interner_free(s->commands);
    gt_free_all(s->times_us, s);
}

/* ---- running ---- */

typedef struct running {
    gt_spawned child;
    int output; /* of the child */
} running;

/* Starts the command in the simulator's folder and connects its output to a pipe. */
static bool start(const gt_simulator *s, char *const *arguments, running *r)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    const int descriptors[] = {-1, ends[1], -1};
    bool started =
        gt_child_spawn((const char *const *)arguments, s->folder, descriptors, 3, s->script, &r->child) == 0;
    close(ends[1]);
    if (started)
        r->output = ends[0];
    else
        close(ends[0]);
    return started;
}

/* Called if an error is raised while the simulator runs. */
static void stop(void *context)
{
    running *r = context;
    close(r->output);
    gt_child_abandon(&r->child);
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* The first number after Time= that has digits before and after the point; NaN if there is none. */
static double printed_time(const char *output)
{
    for (const char *at = output; (at = strstr(at, "Time=")); at++) {
        const char *number = at + strlen("Time="), *point = number + count_digits(number);
        if (point > number && *point == '.' && count_digits(point + 1)) return strtod(number, NULL);
    }
    return (double)NAN;
}

static double run(gt_simulator *s, char *const *arguments)
{
    running r;
    if (!start(s, arguments, &r)) return (double)NAN;
    gt_guard_add(stop, &r);
    gt_buffer output = {0};
    gt_spawn_end end = gt_child_finish(&r.child, (double)s->timeout_s, r.output, &output, MAX_OUTPUT_BYTES);
    gt_guard_remove(&r);
    close(r.output);
    if (end.timed_out) {
        gt_warn("%s: the GEMM simulator has not finished after %" PRId64
                " s and was ended (--extension_timeout); it is not run again",
                s->script, s->timeout_s);
        s->gave_up = true;
    }
    double time_us = printed_time(gt_buffer_str(&output).bytes);
    gt_buffer_free(&output);
    return time_us;
}

/* ---- one GEMM ---- */

typedef struct simulated_gemm {
    int64_t B, M, N, K;
    const char *precision; /* NULL: unknown */
    bool one_unit;         /* use one compute unit */
    bool from_l1;          /* use the bandwidth of its cache */
} simulated_gemm;

typedef struct command_line {
    char *arguments[MAX_ARGUMENTS];
    size_t count;
} command_line;

static void add(command_line *line, const char *name, const char *value)
{
    line->arguments[line->count++] = gt_strdup(name);
    if (value) line->arguments[line->count++] = gt_strdup(value);
}

static void add_number(command_line *line, const char *name, double number)
{
    char text[GT_NUMBER_MAX + 1];
    bool whole = number == floor(number) && fabs(number) < 0x1p63;
    text[whole ? gt_print_int(text, (int64_t)number) : gt_print_double(text, number)] = 0;
    add(line, name, text);
}

static void write_command(const gt_simulator *s, const simulated_gemm *g, command_line *line)
{
    const gt_gpu_arch *arch = s->arch;
    double bandwidth = g->from_l1 ? arch->l1_bw_gbps : arch->mem_bw_gbps;
    if (g->one_unit && arch->num_cus != 1) bandwidth = rint(bandwidth / arch->num_cus);
    add(line, s->python, s->script);
    add_number(line, "-b", (double)g->B);
    add_number(line, "-m", (double)g->M);
    add_number(line, "-n", (double)g->N);
    add_number(line, "-k", (double)g->K);
    add(line, "--dtype", g->precision);
    add(line, "-d", "1");
    add(line, "-a", arch->name);
    if (arch->freq_mhz > 0) add_number(line, "--freq_mhz", arch->freq_mhz);
    if (g->one_unit) add(line, "--cus", "1");
    if (!isnan(arch->mem_bw_gbps)) add_number(line, "--hbm_bw", bandwidth);
}

/* The cached time of a command line. */
static double *time_slot(gt_simulator *s, const command_line *line)
{
    gt_buffer text = {0};
    for (size_t i = 0; i < line->count; i++)
        gt_buffer_add(&text, line->arguments[i], strlen(line->arguments[i]) + 1);
    uint32_t id = gt_interner_add(s->commands, text.bytes, text.len);
    gt_buffer_free(&text);
    if (id >= s->times_count) {
        size_t count = (size_t)id + 64;
        s->times_us = gt_realloc(s->times_us, count * sizeof *s->times_us);
        for (size_t i = s->times_count; i < count; i++) s->times_us[i] = 0;
        s->times_count = count;
    }
    return &s->times_us[id];
}

/* NaN if the simulator gives no result. */
static double simulate(gt_simulator *s, const simulated_gemm *g)
{
    if (!s->script || s->gave_up || !g->precision || !s->arch->name[0]) return (double)NAN;
    command_line line = {0};
    write_command(s, g, &line);
    double *time_us = time_slot(s, &line);
    if (*time_us == 0) *time_us = run(s, line.arguments);
    for (size_t i = 0; i < line.count; i++) gt_free(line.arguments[i]);
    return *time_us;
}

static int64_t parameter_size(const gt_model_result *result, const char *name)
{
    const gt_value *value = gt_model_parameter(result, name);
    return value->type == GT_VALUE_INT ? value->integer : 0;
}

static bool simulate_gemm(gt_simulator *s, const gt_model_result *result, double *simulated_us)
{
    simulated_gemm g = {
        .B = parameter_size(result, "B"), .M = parameter_size(result, "M"), .N = parameter_size(result, "N")};
    g.K = parameter_size(result, "K");
    g.precision = gt_type_precision(gt_value_at(gt_model_parameter(result, "dtype_A_B"), 0));
    *simulated_us = simulate(s, &g);
    return !isnan(*simulated_us);
}

/* ---- attention: each compute unit processes one tile of queries and keys at a time ---- */

enum { TILE = 128, ELEMENTWISE_OPS_PER_CYCLE = 256, LANES = 64 };
enum { GLOBAL_ATOMIC_NS = 400, LOCAL_ATOMIC_NS = 40 };

typedef struct tiling {
    double queries, keys;        /* per tile */
    double waves;                /* of tiles, one tile per compute unit */
    double scores_us, values_us; /* the two GEMMs: Q K^T and P V */
    double softmax_us;
    double memory_us; /* of all waves */
} tiling;

static double softmax_us(const gt_gpu_arch *arch, const tiling *t, int size, bool from_l1)
{
    double elements = t->queries * t->keys;
    double compute_us = 3 * elements / (arch->gemm_units_per_cu * ELEMENTWISE_OPS_PER_CYCLE) / arch->freq_mhz;
    double memory_us = 2 * elements * size / ((from_l1 ? arch->l1_bw_gbps : arch->mem_bw_gbps) * 1000);
    return fmax(compute_us, memory_us);
}

/* The tiles divide the queries, or in the backward pass the keys, if the implementation uses tiles. */
static tiling make_tiles(gt_simulator *s, const gt_model_result *result, bool backward, bool tiled,
                         double bytes)
{
    const gt_value *dtype = gt_value_at(gt_model_parameter(result, "dtype_A_B"), 0);
    int64_t n_q = parameter_size(result, "N_Q"), n_kv = parameter_size(result, "N_KV"),
            dim = parameter_size(result, "d_h_qk");
    int64_t split = backward ? n_kv : n_q, tile = tiled && split > TILE ? TILE : split;
    int64_t tile_q = backward ? n_q : tile, tile_kv = backward ? tile : n_kv;
    double tiles = ceil((double)split / (double)tile) * (double)parameter_size(result, "B") *
                   (double)parameter_size(result, "H_Q");
    tiling t = {.queries = (double)tile_q, .keys = (double)tile_kv, .waves = ceil(tiles / s->arch->num_cus)};
    simulated_gemm scores = {1, tile_q, tile_kv, dim, gt_type_precision(dtype), true, tiled};
    simulated_gemm values = {1, tile_q, dim, tile_kv, gt_type_precision(dtype), true, tiled};
    t.scores_us = t.waves * simulate(s, &scores);
    t.softmax_us = t.waves * softmax_us(s->arch, &t, gt_type_bytes(dtype), tiled);
    t.values_us = t.waves * simulate(s, &values);
    t.memory_us =
        bytes / (double)n_q / (double)n_kv * t.queries * t.keys / (s->arch->mem_bw_gbps * 1000) * t.waves;
    return t;
}

/* Gradients that several tiles contribute to are summed with atomic updates by the lanes of a wave. */
static double atomics_us(const tiling *t, int64_t dim)
{
    double updates = ceil((double)dim / LANES) * t->waves;
    return (GLOBAL_ATOMIC_NS * updates + LOCAL_ATOMIC_NS * (t->keys * updates)) / 1e3;
}

static double backward_us(const tiling *t, bool tiled, int64_t dim)
{
    double recomputed_us = tiled ? t->scores_us + t->values_us : 0;
    return recomputed_us + t->scores_us + t->values_us + t->values_us + t->values_us + t->softmax_us +
           atomics_us(t, dim) + t->memory_us;
}

static bool is_named(const gt_model *model, const char *a, const char *b)
{
    return strcmp(model->name, a) == 0 || strcmp(model->name, b) == 0;
}

static double simulate_attention(gt_simulator *s, const gt_model *model, const gt_model_result *result,
                                 bool backward)
{
    static const char flash_backward[] = "flash_attn::_flash_attn_backward";
    const gt_gpu_arch *arch = s->arch;
    int size = gt_type_bytes(gt_value_at(gt_model_parameter(result, "dtype_A_B"), 0));
    bool known =
        arch->num_cus > 0 && arch->gemm_units_per_cu > 0 && arch->freq_mhz > 0 && !isnan(arch->mem_bw_gbps);
    bool is_flash_backward = strcmp(model->name, flash_backward) == 0;
    bool tiled = is_named(model, "FlashAttnFunc", "flash_attn::_flash_attn_forward") ||
                 (backward && is_flash_backward);
    if (!known || !size || !parameter_size(result, "N_Q") || !parameter_size(result, "N_KV"))
        return (double)NAN;
    if (tiled && !(arch->l1_bw_gbps > 0)) return (double)NAN;
    /* The models count two bytes per element, except that of flash_backward, which uses the type. */
    double bytes = is_flash_backward && !backward ? result->bytes : result->bytes / 2 * size;
    tiling t = make_tiles(s, result, backward, tiled, bytes);
    if (backward) return backward_us(&t, tiled, parameter_size(result, "d_h_qk"));
    return t.scores_us + t.softmax_us + t.values_us + t.memory_us;
}

bool gt_simulator_time(gt_simulator *s, const gt_model *model, const gt_model_result *result, bool backward,
                       double *simulated_us)
{
    *simulated_us = (double)NAN;
    if (model->family == GT_FAMILY_GEMM) return simulate_gemm(s, result, simulated_us);
    if (model->family == GT_FAMILY_SDPA) *simulated_us = simulate_attention(s, model, result, backward);
    return true;
}
