/* Describes the machine of a run as a table: system, processor, GPUs, drivers, and the variables that change
 * how GPU programs behave. */
#include "run/execute/execute.h"
#include "base/memory.h"
#include "os/paths.h"
#include "output/file.h"
#include "output/output.h"
#include "run/plan/secrets.h"
#include "run/sensors/sensors.h"
#include "schema/columns.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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

typedef struct snapshot {
    gt_table *table;
    gt_arena *arena;
} snapshot;

static void add(snapshot *s, const char *section, const char *key, const char *value)
{
    if (!value) return;
    size_t row = gt_table_add_row(s->table);
    gt_table_set_cstr(s->table, 0, row, section);
    gt_table_set_cstr(s->table, 1, row, key);
    gt_table_set_cstr(s->table, 2, row, value);
}

static void add_system(snapshot *s)
{
    struct utsname name;
    char text[64];
    if (uname(&name) == 0) {
        add(s, "os_information", "host", name.nodename);
        add(s, "os_information", "kernel", name.release);
        add(s, "os_information", "machine", name.machine);
    }
    add(s, "os_information", "name", line_of(s->arena, "/etc/os-release", "PRETTY_NAME", '='));
    add(s, "cpu_information", "model", line_of(s->arena, "/proc/cpuinfo", "model name", ':'));
    snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    add(s, "cpu_information", "cores", text);
    add(s, "memory_information", "total", line_of(s->arena, "/proc/meminfo", "MemTotal", ':'));
    add(s, "numa_balancing", "numa_balancing", line_of(s->arena, "/proc/sys/kernel/numa_balancing", NULL, 0));
}

static void add_gpus(snapshot *s)
{
    gt_gpu_list gpus = gt_gpus_find(s->arena);
    for (size_t i = 0; i < gpus.count; i++) {
        char key[32];
        snprintf(key, sizeof key, "GPU%zu", i);
        add(s, "gpu_information", key, gpus.items[i].name);
    }
    const char *rocm = getenv("ROCM_PATH");
    add(s, "rocm_information", "version",
        line_of(s->arena, gt_path_join(s->arena, rocm && *rocm ? rocm : "/opt/rocm", ".info/version"), NULL,
                0));
    add(s, "rocm_information", "driver", line_of(s->arena, "/sys/module/amdgpu/version", NULL, 0));
    add(s, "nvidia_information", "driver", line_of(s->arena, "/sys/module/nvidia/version", NULL, 0));
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

bool gt_machine_write(const gt_plan *plan, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    char *name = gt_format("%s_env", plan->name);
    snapshot s = {.table = gt_table_new(gt_sheet_named(name), strings), .arena = plan->arena};
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
