/* The launcher among the ancestors, by what /proc says of them; see launcher.h. */
#include "procs/launcher.h"
#include "os/own.h"

#include <unistd.h>

enum { ANCESTORS_MAX = 64, PROCESSES_MAX = 1 << 24 };

/* ---- programs ---- */

static const struct {
    const char *name; /* also with an ending after a dot, as in "mpirun.openmpi" */
    gt_launcher_family family;
} launchers[] = {
    {"slurmstepd", GT_LAUNCHER_SLURM},      {"hydra_pmi_proxy", GT_LAUNCHER_MPICH},
    {"hydra_bstrap_pr", GT_LAUNCHER_MPICH}, /* hydra_bstrap_proxy of Intel MPI; the kernel keeps 15 bytes */
    {"pmi_proxy", GT_LAUNCHER_MPICH},       {"palsd", GT_LAUNCHER_MPICH},
    {"mpispawn", GT_LAUNCHER_MPICH},        {"orted", GT_LAUNCHER_OPEN_MPI},
    {"orterun", GT_LAUNCHER_OPEN_MPI},      {"prted", GT_LAUNCHER_OPEN_MPI},
    {"prterun", GT_LAUNCHER_OPEN_MPI},      {"prte", GT_LAUNCHER_OPEN_MPI},
    {"mpirun", GT_LAUNCHER_OPEN_MPI},       {"mpiexec", GT_LAUNCHER_OPEN_MPI},
};

static const char *const transparent[] = {
    "sh",      "bash",         "dash",    "ash",    "zsh",     "ksh",     "mksh",      "csh",
    "tcsh",    "fish",         "busybox", "env",    "numactl", "taskset", "time",      "nice",
    "ionice",  "chrt",         "timeout", "stdbuf", "setsid",  "nohup",   "apptainer", "singularity",
    "starter", "starter-suid", "appinit", "sinit",  "enroot",  "ld.so",
};

/* Whether a name of the kernel, which may be truncated to 15 bytes, is this program. */
static bool is_program(const char *name, const char *program)
{
    size_t len = strlen(program);
    return strncmp(name, program, len) == 0 && (name[len] == 0 || name[len] == '.');
}

static bool is_transparent(const char *name)
{
    for (size_t i = 0; i < GT_LENGTH(transparent); i++)
        if (is_program(name, transparent[i])) return true;
    return false;
}

static bool is_launcher(const char *name, gt_launcher_family *family)
{
    for (size_t i = 0; i < GT_LENGTH(launchers); i++) {
        if (!is_program(name, launchers[i].name)) continue;
        *family = launchers[i].family;
        return true;
    }
    return false;
}

/* ---- the environment ---- */

typedef struct variables {
    const char *size, *rank, *local_size;
    gt_launcher_family family;
} variables;

static const variables known[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", GT_LAUNCHER_OPEN_MPI},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", GT_LAUNCHER_MPICH},
    {"PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", GT_LAUNCHER_MPICH},
    {"PALS_SIZE", "PALS_RANKID", "PALS_LOCAL_SIZE", GT_LAUNCHER_MPICH},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", NULL, GT_LAUNCHER_SLURM},
};

static bool read_number(const gt_launcher_view *view, const char *name, size_t *number)
{
    const char *text = name ? view->variable(view->context, name) : NULL;
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    unsigned long value = strtoul(text, &end, 10);
    *number = value;
    return *end == 0 && value <= PROCESSES_MAX;
}

size_t gt_launcher_slurm_tasks(const char *text, size_t node)
{
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long tasks = strtoul(text, &end, 10), nodes = 1;
        if (end[0] == '(' && end[1] == 'x') {
            nodes = strtoul(end + 2, &end, 10);
            if (*end == ')') end++;
        }
        if (node < nodes) return tasks <= PROCESSES_MAX ? tasks : 0;
        node -= nodes;
        text = *end == ',' ? end + 1 : "";
    }
    return 0;
}

static size_t find_local_size(const gt_launcher_view *view, const variables *v)
{
    size_t local, node;
    if (read_number(view, v->local_size, &local)) return local;
    const char *tasks = view->variable(view->context, "SLURM_STEP_TASKS_PER_NODE");
    if (v->family != GT_LAUNCHER_SLURM || !tasks || !read_number(view, "SLURM_NODEID", &node)) return 0;
    return gt_launcher_slurm_tasks(tasks, node);
}

static bool read_variables(const gt_launcher_view *view, const variables *v, gt_procs_launcher *launcher)
{
    size_t size, rank;
    if (!read_number(view, v->size, &size) || !read_number(view, v->rank, &rank)) return false;
    if (size < 2 || rank >= size) return false;
    /* Open MPI has no PMI 1 and 2, which `srun --mpi=pmi2` gives. */
    launcher->mpich_first = v->family == GT_LAUNCHER_MPICH ||
                            (v->family == GT_LAUNCHER_SLURM && !view->variable(view->context, "PMIX_RANK") &&
                             view->variable(view->context, "PMI_RANK"));
    launcher->family = v->family;
    launcher->size = size;
    launcher->rank = rank;
    launcher->local_size = find_local_size(view, v);
    return true;
}

bool gt_launcher_assume(const gt_launcher_view *view, gt_procs_launcher *launcher)
{
    *launcher = (gt_procs_launcher){.name = "the launcher"};
    for (size_t i = 0; i < GT_LENGTH(known); i++)
        if (read_variables(view, &known[i], launcher)) return true;
    return false;
}

/* Programs named mpirun and mpiexec are of either family; the variables tell. Under SLURM, only its own
 * count: an `mpirun` further up may have left others. */
static bool read_environment(const gt_launcher_view *view, gt_launcher_family family,
                             gt_procs_launcher *launcher)
{
    for (size_t i = 0; i < GT_LENGTH(known); i++)
        if ((known[i].family == GT_LAUNCHER_SLURM) == (family == GT_LAUNCHER_SLURM) &&
            read_variables(view, &known[i], launcher))
            return true;
    return false;
}

/* ---- ancestors ---- */

/* The name of a process, and its parent: "17 (a name) S 16 ...". */
static bool read_process(const char *proc, pid_t pid, char *name, size_t size, pid_t *parent)
{
    char path[PATH_MAX], line[1024];
    snprintf(path, sizeof path, "%s/%ld/stat", proc, (long)pid);
    FILE *file = gt_fopen(path, "re");
    if (!file) return false;
    size_t len = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[len] = 0;
    char *begin = strchr(line, '('), *end = strrchr(line, ')');
    if (!begin || !end || end < begin || strlen(end) < 5) return false;
    *end = 0;
    snprintf(name, size, "%s", begin + 1);
    *parent = (pid_t)strtol(end + 4, NULL, 10);
    return true;
}

/* The path of the program that a process runs; of one of another user it is not known. */
static bool read_program(const char *proc, pid_t pid, char program[PATH_MAX])
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%ld/exe", proc, (long)pid);
    ssize_t len = readlink(path, program, PATH_MAX - 1);
    if (len <= 0) return false;
    program[len] = 0;
    return true;
}

/* A script has its own name, but runs the program of its shell. */
static bool is_transparent_process(const char *proc, pid_t pid, const char *name)
{
    char program[PATH_MAX];
    if (!read_program(proc, pid, program)) return is_transparent(name);
    const char *slash = strrchr(program, '/');
    return is_transparent(slash ? slash + 1 : program);
}

static void find_folder(const char *proc, pid_t pid, gt_procs_launcher *launcher)
{
    char program[PATH_MAX];
    if (!read_program(proc, pid, program)) return;
    char *slash = strrchr(program, '/');
    if (!slash || (size_t)(slash - program) >= sizeof launcher->folder) return;
    *slash = 0;
    snprintf(launcher->folder, sizeof launcher->folder, "%.500s", program);
}

bool gt_launcher_find(const gt_launcher_view *view, gt_procs_launcher *launcher)
{
    pid_t pid = view->parent, parent;
    *launcher = (gt_procs_launcher){0};
    gt_procs_launcher any;
    if (!gt_launcher_assume(view, &any)) return false; /* the usual case, without a look at /proc */
    for (size_t i = 0; i < ANCESTORS_MAX && pid > 0; i++, pid = parent) {
        gt_launcher_family family;
        char name[sizeof launcher->name];
        if (!read_process(view->proc, pid, name, sizeof name, &parent)) return false;
        if (is_launcher(name, &family)) {
            snprintf(launcher->name, sizeof launcher->name, "%s", name);
            find_folder(view->proc, pid, launcher);
            return read_environment(view, family, launcher);
        }
        if (!is_transparent_process(view->proc, pid, name)) return false;
    }
    return false;
}

static const char *own_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

gt_launcher_view gt_launcher_here(void)
{
    return (gt_launcher_view){.proc = "/proc", .parent = getppid(), .variable = own_variable};
}

/* ---- libraries ---- */

static void add_library(gt_library_list *list, const char *format, const char *folder, const char *name)
{
    if (list->count == GT_LAUNCHER_LIBRARIES) return;
    char *text = list->text[list->count];
    if (folder)
        snprintf(text, sizeof list->text[0], "%.512s/%s/%s", folder, format, name);
    else
        snprintf(text, sizeof list->text[0], "%s", name);
    list->names[list->count++] = text;
}

/* Where the linker finds them, and in the folders of the launcher's installation. */
static void add_libraries(gt_library_list *list, const gt_procs_launcher *launcher, const char *const *names)
{
    for (; *names; names++) {
        if (launcher->folder[0]) {
            add_library(list, "../lib", launcher->folder, *names);
            add_library(list, "../lib64", launcher->folder, *names);
        }
        add_library(list, "", NULL, *names);
    }
}

void gt_launcher_libraries(const gt_procs_launcher *launcher, const char *named, gt_library_list *list)
{
    static const char *const open_mpi[] = {"libmpi.so.40", NULL};
    static const char *const mpich[] = {"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", NULL};
    static const char *const standard[] = {"libmpi_abi.so.0", "libmpi_abi.so", NULL};
    *list = (gt_library_list){0};
    if (named) {
        snprintf(list->text[0], sizeof list->text[0], "%s", named);
        list->names[list->count++] = list->text[0];
        return;
    }
    add_libraries(list, launcher, launcher->mpich_first ? mpich : open_mpi);
    add_libraries(list, launcher, standard);
    if (launcher->family == GT_LAUNCHER_SLURM)
        add_libraries(list, launcher, launcher->mpich_first ? open_mpi : mpich);
}
