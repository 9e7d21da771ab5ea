/* What did a run run on? System, processor, GPUs with their clocks before and after the command, drivers, and
 * versions of what the command uses: as `machine` in the run record and as rows of NAME_env.csv. Something
 * that cannot be read is left out and never fails the run. */
#include "run/execute/machine.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/plan/secrets.h"
#include "schema/columns.h"

#include <sys/utsname.h>

extern char **environ;

/* Prefixes of the environment variables that are recorded. Others may contain secrets. */
static const char *const kept_variables[] = {"ROCM",    "HIP",    "HSA",     "ROCR",      "CUDA",    "NCCL",
                                             "RCCL",    "MIOPEN", "ROCBLAS", "HIPBLASLT", "ROCPROF", "OMP_",
                                             "GPU_MAX", "TORCH_", "SLURM_",  "MAD_"};

/* The text after the separator in the line of a file that starts with `key`; the whole first line if key
 * is NULL. */
static const char *line_of(gt_arena *arena, const char *path, const char *key, char separator)
{
    gt_buffer text = {0};
    gt_error ignored;
    const char *found = NULL;
    if (gt_read_small_file(path, 1 << 22, &text, &ignored)) {
        const char *line = gt_buffer_str(&text).bytes;
        while (line && *line && !found) {
            size_t len = strcspn(line, "\n");
            const char *value = line;
            if (key) value = strncmp(line, key, strlen(key)) == 0 ? memchr(line, separator, len) : NULL;
            if (value) {
                value += key ? 1 : 0;
                while (value < line + len && (isspace((unsigned char)*value) || *value == '"')) value++;
                size_t left = (size_t)(line + len - value);
                while (left && (isspace((unsigned char)value[left - 1]) || value[left - 1] == '"')) left--;
                found = gt_arena_bytes(arena, value, left);
            }
            line += len + (line[len] == '\n');
        }
    }
    gt_buffer_free(&text);
    return found;
}

/* ---- looking ---- */

struct gt_machine {
    const gt_plan *plan;
    struct utsname system; /* empty strings if unknown */
    const char *os, *cpu;
    long cores;
    double memory_bytes;
    gt_inventory *gpus;
    gt_gpu_clocks *start, *end; /* per GPU */
    const char *amd_driver, *nvidia_driver;
    const char *rocm, *cuda_driver, *cuda, *rccl, *nccl;
    const char *python, *profiler;
    gt_version packages[GT_VERSIONS_MAX];
    size_t package_count;
};

static const char *rocm_file(const gt_plan *plan, const char *name)
{
    const char *rocm = getenv("ROCM_PATH");
    return gt_path_join(plan->arena, rocm && *rocm ? rocm : "/opt/rocm", name);
}

/* Arm processors have no "model name"; lscpu has their names in a table of its own. */
static const char *cpu_name(gt_arena *arena)
{
    const char *name = line_of(arena, "/proc/cpuinfo", "model name", ':');
    const char *part = name ? NULL : line_of(arena, "/proc/cpuinfo", "CPU part", ':');
    return name   ? name
           : part ? gt_arena_format(arena, "implementer %s, part %s",
                                    line_of(arena, "/proc/cpuinfo", "CPU implementer", ':'), part)
                  : NULL;
}

static void look_for_versions(gt_machine *m)
{
    const gt_plan *plan = m->plan;
    m->amd_driver = line_of(plan->arena, gt_sysfs_path(plan->arena, "module/amdgpu/version"), NULL, 0);
    m->nvidia_driver = gt_inventory_nvidia_driver(m->gpus);
    if (!m->nvidia_driver)
        m->nvidia_driver = line_of(plan->arena, gt_sysfs_path(plan->arena, "module/nvidia/version"), NULL, 0);
    m->cuda_driver = gt_inventory_cuda_driver(m->gpus);
    if (plan->image) return; /* the rest is that of the image, which cannot be seen from here */
    m->rocm = line_of(plan->arena, rocm_file(plan, ".info/version"), NULL, 0);
    m->cuda = gt_versions_cuda(plan);
    m->rccl = gt_versions_library(plan, "librccl.so.1");
    m->nccl = gt_versions_library(plan, "libnccl.so.2");
    m->python = gt_versions_python(plan);
    m->package_count = gt_versions_packages(plan, m->python, m->packages);
}

gt_machine *gt_machine_look(const gt_plan *plan)
{
    gt_machine *m = gt_arena_alloc(plan->arena, sizeof *m);
    *m = (gt_machine){.plan = plan, .memory_bytes = NAN};
    if (uname(&m->system) != 0) m->system = (struct utsname){0};
    m->os = line_of(plan->arena, "/etc/os-release", "PRETTY_NAME", '=');
    m->cpu = cpu_name(plan->arena);
    m->cores = sysconf(_SC_NPROCESSORS_ONLN);
    const char *total = line_of(plan->arena, "/proc/meminfo", "MemTotal", ':');
    if (total) m->memory_bytes = strtod(total, NULL) * 1024;
    m->gpus = gt_inventory_open(plan->arena);
    size_t count = gt_inventory_count(m->gpus);
    m->start = gt_arena_alloc(plan->arena, (count + 1) * sizeof *m->start);
    m->end = gt_arena_alloc(plan->arena, (count + 1) * sizeof *m->end);
    for (size_t i = 0; i < count; i++) {
        m->start[i] = gt_inventory_clocks(m->gpus, i);
        m->end[i] = (gt_gpu_clocks){NAN, NAN};
    }
    look_for_versions(m);
    m->profiler = gt_versions_profiler(plan);
    return m;
}

void gt_machine_finish(gt_machine *m)
{
    for (size_t i = 0; i < gt_inventory_count(m->gpus); i++) m->end[i] = gt_inventory_clocks(m->gpus, i);
    gt_inventory_close(m->gpus);
}

/* ---- the run record ---- */

static void put_clocks(gt_json_writer *w, const char *key, gt_gpu_clocks clocks)
{
    gt_json_put_open(w, key, '{');
    gt_json_put_real(w, "core_mhz", clocks.core_mhz);
    gt_json_put_real(w, "memory_mhz", clocks.memory_mhz);
    gt_json_close(w, '}');
}

static void put_whole(gt_json_writer *w, const char *key, double number)
{
    gt_json_key(w, key);
    if (isfinite(number) && fabs(number) < 9e18)
        gt_json_add_int(w, (int64_t)number);
    else
        gt_json_add_cstr(w, NULL);
}

static void put_gpu(gt_json_writer *w, const gt_machine *m, size_t index)
{
    const gt_gpu_entry *gpu = gt_inventory_gpu(m->gpus, index);
    gt_json_open(w, '{');
    gt_json_put_int(w, "index", (int64_t)index);
    gt_json_put_cstr(w, "vendor", gpu->vendor);
    gt_json_put_cstr(w, "name", gpu->name);
    gt_json_put_cstr(w, "uuid", gpu->uuid);
    gt_json_put_cstr(w, "pci", gpu->pci);
    gt_json_put_cstr(w, "vbios", gpu->vbios);
    put_whole(w, "memory_bytes", gpu->memory_bytes);
    gt_json_put_real(w, "power_limit_w", gpu->power_limit_w);
    gt_json_key(w, "ecc");
    if (gpu->ecc < 0)
        gt_json_add_cstr(w, NULL);
    else
        gt_json_add_bool(w, gpu->ecc);
    gt_json_put_open(w, "clocks", '{');
    put_clocks(w, "max", gpu->max_clocks);
    put_clocks(w, "start", m->start[index]);
    put_clocks(w, "end", m->end[index]);
    gt_json_close(w, '}');
    gt_json_close(w, '}');
}

static void put_profiler(gt_json_writer *w, const gt_machine *m)
{
    gt_json_put_open(w, "profiler", '{');
    gt_json_put_cstr(w, "name", gt_profiler_kind_name(m->plan->profiler->kind));
    gt_json_put_cstr(w, "version", m->profiler);
    gt_json_close(w, '}');
}

void gt_machine_put(gt_json_writer *w, const gt_machine *m)
{
    gt_json_key(w, "machine");
    if (!m) {
        gt_json_add_cstr(w, NULL);
        return;
    }
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "host", m->system.nodename);
    gt_json_put_cstr(w, "kernel", m->system.release);
    gt_json_put_cstr(w, "architecture", m->system.machine);
    gt_json_put_cstr(w, "os", m->os);
    gt_json_put_cstr(w, "cpu", m->cpu);
    gt_json_put_int(w, "cores", m->cores);
    put_whole(w, "memory_bytes", m->memory_bytes);
    gt_json_put_open(w, "gpus", '[');
    for (size_t i = 0; i < gt_inventory_count(m->gpus); i++) put_gpu(w, m, i);
    gt_json_close(w, ']');
    gt_json_put_cstr(w, "amdgpu_driver", m->amd_driver);
    gt_json_put_cstr(w, "nvidia_driver", m->nvidia_driver);
    gt_json_put_cstr(w, "rocm", m->rocm);
    gt_json_put_cstr(w, "cuda_driver", m->cuda_driver);
    gt_json_put_cstr(w, "cuda", m->cuda);
    gt_json_put_cstr(w, "rccl", m->rccl);
    gt_json_put_cstr(w, "nccl", m->nccl);
    gt_json_put_cstr(w, "python", m->python);
    gt_json_put_open(w, "packages", '{');
    for (size_t i = 0; i < m->package_count; i++)
        gt_json_put_cstr(w, m->packages[i].name, m->packages[i].version);
    gt_json_close(w, '}');
    put_profiler(w, m);
    gt_json_close(w, '}');
}

/* ---- NAME_env.csv ---- */

typedef struct snapshot {
    gt_table *table;
    const gt_machine *machine;
    gt_arena *arena;
} snapshot;

static void add(snapshot *s, const char *section, const char *key, const char *value)
{
    if (!value || !*value) return;
    size_t row = gt_table_add_row(s->table);
    gt_table_set_cstr(s->table, 0, row, section);
    gt_table_set_cstr(s->table, 1, row, key);
    gt_table_set_cstr(s->table, 2, row, value);
}

static void add_system(snapshot *s)
{
    const gt_machine *m = s->machine;
    add(s, "os_information", "host", m->system.nodename);
    add(s, "os_information", "kernel", m->system.release);
    add(s, "os_information", "machine", m->system.machine);
    add(s, "os_information", "name", m->os);
    add(s, "cpu_information", "model", m->cpu);
    add(s, "cpu_information", "cores", gt_arena_format(s->arena, "%ld", m->cores));
    add(s, "memory_information", "total", line_of(s->arena, "/proc/meminfo", "MemTotal", ':'));
    add(s, "numa_balancing", "numa_balancing", line_of(s->arena, "/proc/sys/kernel/numa_balancing", NULL, 0));
}

static void add_gpu_fact(snapshot *s, size_t gpu, const char *what, const char *value)
{
    add(s, "gpu_information", gt_arena_format(s->arena, "GPU%zu %s", gpu, what), value);
}

static void add_gpu_number(snapshot *s, size_t gpu, const char *what, double number, const char *unit)
{
    if (isfinite(number)) add_gpu_fact(s, gpu, what, gt_arena_format(s->arena, "%.15g %s", number, unit));
}

static void add_gpu_facts(snapshot *s, size_t i)
{
    const gt_gpu_entry *gpu = gt_inventory_gpu(s->machine->gpus, i);
    add_gpu_fact(s, i, "name", gpu->name);
    add_gpu_fact(s, i, "uuid", gpu->uuid);
    add_gpu_fact(s, i, "pci", gpu->pci);
    add_gpu_fact(s, i, "vbios", gpu->vbios);
    add_gpu_number(s, i, "memory", gpu->memory_bytes, "bytes");
    add_gpu_number(s, i, "power limit", gpu->power_limit_w, "W");
    if (gpu->ecc >= 0) add_gpu_fact(s, i, "ecc", gpu->ecc ? "on" : "off");
    add_gpu_number(s, i, "core clock", s->machine->start[i].core_mhz, "MHz");
    add_gpu_number(s, i, "max core clock", gpu->max_clocks.core_mhz, "MHz");
    add_gpu_number(s, i, "memory clock", s->machine->start[i].memory_mhz, "MHz");
    add_gpu_number(s, i, "max memory clock", gpu->max_clocks.memory_mhz, "MHz");
}

static void add_gpus(snapshot *s)
{
    const gt_machine *m = s->machine;
    gt_gpu_list found = gt_gpus_find(s->arena); /* the first GPUs of the inventory, in the same order */
    for (size_t i = 0; i < gt_inventory_count(m->gpus); i++)
        add(s, "gpu_information", gt_arena_format(s->arena, "GPU%zu", i),
            i < found.count ? found.items[i].name : gt_inventory_gpu(m->gpus, i)->name);
    for (size_t i = 0; i < gt_inventory_count(m->gpus); i++) add_gpu_facts(s, i);
    add(s, "rocm_information", "version", m->rocm);
    add(s, "rocm_information", "driver", m->amd_driver);
    add(s, "rocm_information", "rccl", m->rccl);
    add(s, "nvidia_information", "driver", m->nvidia_driver);
    add(s, "nvidia_information", "cuda of the driver", m->cuda_driver);
    add(s, "nvidia_information", "cuda", m->cuda);
    add(s, "nvidia_information", "nccl", m->nccl);
    add(s, "python_packages", "python", m->python);
    for (size_t i = 0; i < m->package_count; i++)
        add(s, "python_packages", m->packages[i].name, m->packages[i].version);
    add(s, "profiler", gt_profiler_kind_name(m->plan->profiler->kind), m->profiler);
}

static void add_variables(snapshot *s)
{
    for (char **entry = environ; *entry; entry++)
        for (size_t i = 0; i < GT_LENGTH(kept_variables); i++) {
            if (strncmp(*entry, kept_variables[i], strlen(kept_variables[i])) != 0) continue;
            const char *equals = strchr(*entry, '=');
            if (equals) {
                const char *name = gt_arena_bytes(s->arena, *entry, (size_t)(equals - *entry));
                add(s, "rocm_env_variables", name, gt_secret_is_name(name) ? GT_SECRET_MASK : equals + 1);
            }
            break;
        }
}

bool gt_machine_write(const gt_machine *machine, gt_error *error)
{
    const gt_plan *plan = machine->plan;
    gt_interner *strings = gt_interner_new();
    char *name = gt_format("%s_env", plan->name);
    snapshot s = {
        .table = gt_table_new(gt_sheet_named(name), strings), .machine = machine, .arena = plan->arena};
    static const gt_col columns[] = {GT_COL_SECTION, GT_COL_KEY, GT_COL_VALUE};
    for (size_t i = 0; i < GT_LENGTH(columns); i++) gt_table_add_column(s.table, columns[i], GT_TYPE_STRING);
    add_system(&s);
    add_gpus(&s);
    add_variables(&s);
    gt_output *output = gt_output_new();
    bool ok = gt_output_csvs(output, plan->output_dir, &s.table, 1, error) && gt_output_commit(output, error);
    gt_output_free(output);
    gt_table_free(s.table);
    gt_interner_free(strings);
    gt_free(name);
    return ok;
}
