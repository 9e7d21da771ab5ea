/* What two sweeps ran on, and where that differs.
 *
 * sweep.json has, per call of `sweep run`, the machine with its GPUs, clocks, drivers and versions. If the
 * runs of a sweep come from several calls on different machines, a fact has all of their values. A sweep
 * without sweep.json has only what the first trace says before its events. */
#include "sweep/gate/gate.h"

#include "input/chrome/head.h"
#include "sweep/record.h"

enum { OLD, NEW };

/* ---- facts ---- */

/* The fact with this name, which is added if it is new. */
static gt_machine_fact *fact_named(gt_machine_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].name, name) == 0) return &facts->items[i];
    gt_machine_fact fact = {.name = gt_arena_bytes(&facts->arena, name, strlen(name))};
    GT_PUSH(facts->items, facts->count, facts->capacity, fact);
    return &facts->items[facts->count - 1];
}

/* Whether a list of values, "a; b", has this one. */
static bool has_value(const char *list, const char *value)
{
    size_t len = strlen(value);
    for (const char *at = list; at; at = strstr(at, "; ")) {
        at += at == list ? 0 : 2;
        if (strncmp(at, value, len) == 0 && (!at[len] || strncmp(at + len, "; ", 2) == 0)) return true;
    }
    return false;
}

static void add_value(gt_machine_facts *facts, const char *name, size_t which, const char *value)
{
    if (!value || !*value) return;
    gt_machine_fact *fact = fact_named(facts, name);
    const char *earlier = fact->values[which];
    if (earlier && has_value(earlier, value)) return;
    fact->values[which] = earlier ? gt_arena_format(&facts->arena, "%s; %s", earlier, value)
                                  : gt_arena_bytes(&facts->arena, value, strlen(value));
}

static double number_of(const gt_value *value)
{
    return value->type == GT_VALUE_INT     ? (double)value->integer
           : value->type == GT_VALUE_FLOAT ? value->number
                                           : NAN;
}

static void add_json(gt_machine_facts *facts, const char *name, size_t which, const gt_value *value)
{
    double number = number_of(value);
    if (value->type == GT_VALUE_STRING)
        add_value(facts, name, which, gt_value_copy(&facts->arena, value));
    else if (value->type == GT_VALUE_BOOL)
        add_value(facts, name, which, value->boolean ? "on" : "off");
    else if (isfinite(number))
        add_value(facts, name, which, gt_arena_format(&facts->arena, "%.15g", number));
}

/* ---- GPUs ---- */

/* "8 x AMD Instinct MI300X": each name with how many GPUs have it, in their order. */
static void add_gpus(gt_machine_facts *facts, size_t which, const gt_value *gpus)
{
    gt_buffer text = {0};
    for (uint32_t i = 0; i < gpus->count; i++) {
        const gt_value *name = gt_value_get(&gpus->items[i], "name");
        size_t same = 0;
        bool is_first = name->type == GT_VALUE_STRING;
        for (uint32_t k = 0; is_first && k < gpus->count; k++) {
            const gt_value *other = gt_value_get(&gpus->items[k], "name");
            bool equal = other->type == GT_VALUE_STRING && gt_str_compare(other->text, name->text) == 0;
            if (equal && k < i) is_first = false;
            same += equal;
        }
        if (is_first)
            gt_buffer_add_format(&text, "%s%zu x %.*s", text.len ? ", " : "", same, (int)name->text.len,
                                 name->text.bytes);
    }
    if (text.len) add_value(facts, "GPUs", which, gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

/* A number of all GPUs: "1980", or "1410 to 1980" if they differ. */
static void add_range(gt_machine_facts *facts, const char *name, size_t which, const gt_value *gpus,
                      const char *const path[3], const char *unit)
{
    double low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < gpus->count; i++) {
        const gt_value *value = &gpus->items[i];
        for (size_t k = 0; k < 3 && path[k]; k++) value = gt_value_get(value, path[k]);
        double number = number_of(value);
        if (!isfinite(number)) continue;
        low = fmin(low, number);
        high = fmax(high, number);
    }
    if (!(low <= high)) return;
    add_value(facts, name, which,
              low < high ? gt_arena_format(&facts->arena, "%.6g to %.6g %s", low, high, unit)
                         : gt_arena_format(&facts->arena, "%.6g %s", low, unit));
}

enum { GPUS_MAX = 4096 };

static void add_gpu_facts(gt_machine_facts *facts, size_t which, const gt_value *gpus)
{
    static const struct {
        const char *name, *path[3], *unit;
    } numbers[] = {
        {"GPU memory", {"memory_bytes"}, "bytes"},
        {"GPU power limit", {"power_limit_w"}, "W"},
        {"max core clock", {"clocks", "max", "core_mhz"}, "MHz"},
        {"max memory clock", {"clocks", "max", "memory_mhz"}, "MHz"},
        {"core clock at start", {"clocks", "start", "core_mhz"}, "MHz"},
        {"core clock at end", {"clocks", "end", "core_mhz"}, "MHz"},
        {"memory clock at start", {"clocks", "start", "memory_mhz"}, "MHz"},
        {"memory clock at end", {"clocks", "end", "memory_mhz"}, "MHz"},
    };
    if (!gt_value_is_list(gpus) || gpus->count > GPUS_MAX) return;
    add_gpus(facts, which, gpus);
    for (uint32_t i = 0; i < gpus->count; i++) {
        add_json(facts, "GPU firmware", which, gt_value_get(&gpus->items[i], "vbios"));
        add_json(facts, "GPU ECC", which, gt_value_get(&gpus->items[i], "ecc"));
    }
    for (size_t i = 0; i < GT_LENGTH(numbers); i++)
        add_range(facts, numbers[i].name, which, gpus, numbers[i].path, numbers[i].unit);
}

/* ---- sweep.json ---- */

static void add_machine(gt_machine_facts *facts, size_t which, const gt_value *machine)
{
    static const char *const keys[][2] = {
        {"host", "host"},
        {"cpu", "cpu"},
        {"cores", "cores"},
        {"os", "os"},
        {"kernel", "kernel"},
        {"architecture", "architecture"},
        {"amdgpu_driver", "amdgpu driver"},
        {"nvidia_driver", "nvidia driver"},
        {"rocm", "rocm"},
        {"cuda_driver", "cuda of the driver"},
        {"cuda", "cuda"},
        {"rccl", "rccl"},
        {"nccl", "nccl"},
        {"python", "python"},
    };
    const gt_value *packages = gt_value_get(machine, "packages"),
                   *profiler = gt_value_get(machine, "profiler");
    if (machine->type != GT_VALUE_DICT) return;
    add_gpu_facts(facts, which, gt_value_get(machine, "gpus"));
    for (size_t i = 0; i < GT_LENGTH(keys); i++)
        add_json(facts, keys[i][1], which, gt_value_get(machine, keys[i][0]));
    for (uint32_t i = 0; packages->type == GT_VALUE_DICT && i + 1 < packages->count && i < 1000; i += 2) {
        const char *name = gt_value_copy(&facts->arena, &packages->items[i]);
        if (name) add_json(facts, name, which, &packages->items[i + 1]);
    }
    add_json(facts, "profiler", which, gt_value_get(profiler, "version"));
}

enum { SESSIONS_MAX = 1000 };

static void add_record(gt_machine_facts *facts, size_t which, const gt_sweep *sweep)
{
    if (!sweep->record) return;
    const gt_value *sessions = gt_value_get(sweep->record->json, "sessions");
    for (uint32_t i = 0; gt_value_is_list(sessions) && i < sessions->count && i < SESSIONS_MAX; i++)
        add_machine(facts, which, gt_value_get(&sessions->items[i], "machine"));
}

/* ---- traces ---- */

static void add_head(gt_machine_facts *facts, size_t which, const char *path)
{
    gt_error ignored;
    gt_stream *stream = gt_stream_open(path, &ignored);
    if (!stream) return;
    gt_trace_head head = gt_kineto_read_head(stream, &facts->arena);
    const char *gpus =
        head.gpu ? gt_arena_format(&facts->arena, "%" PRId64 " x %s", head.gpus, head.gpu) : NULL;
    const struct {
        const char *name, *value;
    } values[] = {{"GPUs in traces", gpus},
                  {"cuda driver in traces", head.cuda_driver},
                  {"cuda runtime in traces", head.cuda_runtime},
                  {"hip driver in traces", head.hip_driver},
                  {"hip runtime in traces", head.hip_runtime},
                  {"pytorch in traces", head.pytorch},
                  {"backend in traces", head.backend},
                  {"nccl in traces", head.nccl},
                  {"ranks in traces", head.world_size}};
    for (size_t i = 0; i < GT_LENGTH(values); i++) add_value(facts, values[i].name, which, values[i].value);
    gt_stream_close(stream);
}

/* Of the first run that has a trace. */
static void add_traces(gt_machine_facts *facts, size_t which, const gt_sweep *sweep)
{
    bool found = false;
    for (size_t i = 0; i < sweep->count && !found; i++) {
        gt_sweep_traces traces = gt_sweep_torch_traces(sweep->configs[i].folder);
        found = traces.count > 0;
        if (found) add_head(facts, which, traces.items[0].path);
        gt_sweep_traces_free(&traces);
    }
}

/* ---- differences ---- */

/* Clocks at a moment vary by themselves: only more than a twentieth counts. */
static bool differ(const gt_machine_fact *fact)
{
    if (!fact->values[OLD] || !fact->values[NEW]) return false;
    if (strstr(fact->name, " clock at ")) {
        double a = strtod(fact->values[OLD], NULL), b = strtod(fact->values[NEW], NULL);
        return !(fabs(a - b) <= 0.05 * fmax(a, b));
    }
    return strcmp(fact->values[OLD], fact->values[NEW]) != 0;
}

void gt_machine_facts_find(gt_machine_facts *facts, const gt_sweep *old_sweep, const gt_sweep *new_sweep)
{
    const gt_sweep *sweeps[] = {old_sweep, new_sweep};
    *facts = (gt_machine_facts){0};
    for (size_t k = OLD; k <= NEW; k++) add_record(facts, k, sweeps[k]);
    for (size_t k = OLD; k <= NEW; k++) add_traces(facts, k, sweeps[k]);
    for (size_t i = 0; i < facts->count; i++) facts->items[i].differs = differ(&facts->items[i]);
}

void gt_machine_facts_free(gt_machine_facts *facts)
{
    gt_free(facts->items);
    gt_arena_free(&facts->arena);
    *facts = (gt_machine_facts){0};
}
