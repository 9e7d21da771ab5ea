/* Which processes count as started by an MPI launcher: by their ancestors in a made-up /proc, and by
 * variables.
 */
#include "base/memory.h"
#include "procs/launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char proc[64];

static void add_process(int pid, const char *name, int parent)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d", proc, pid);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%d/stat", proc, pid);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%d (%s) S %d 1 1 0 -1\n", pid, name, parent);
    fclose(file);
}

/* Names from the parent of this process upwards. */
static void make_proc(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) add_process(100 - (int)i, names[i], i + 1 < count ? 99 - (int)i : 0);
}

static const char *look_up(void *context, const char *name)
{
    for (const char *const *pair = context; *pair; pair += 2)
        if (strcmp(*pair, name) == 0) return pair[1];
    return NULL;
}

static const char *const open_mpi[] = {
    "OMPI_COMM_WORLD_SIZE", "8", "OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_LOCAL_SIZE", "4", NULL};
static const char *const hydra[] = {"PMI_SIZE", "8", "PMI_RANK", "7", "MPI_LOCALNRANKS", "2", NULL};
static const char *const slurm[] = {"SLURM_STEP_NUM_TASKS",
                                    "5",
                                    "SLURM_PROCID",
                                    "4",
                                    "SLURM_NODEID",
                                    "2",
                                    "SLURM_STEP_TASKS_PER_NODE",
                                    "2(x2),1",
                                    "PMIX_RANK",
                                    "4",
                                    NULL};
static const char *const alone[] = {"SLURM_STEP_NUM_TASKS", "1", "SLURM_PROCID", "0", NULL};
static const char *const nothing[] = {NULL};
static const char *const damaged[] = {"OMPI_COMM_WORLD_SIZE",
                                      "8x",
                                      "OMPI_COMM_WORLD_RANK",
                                      "-1",
                                      "PMI_SIZE",
                                      "99999999999999999999",
                                      "PMI_RANK",
                                      "0",
                                      "SLURM_STEP_NUM_TASKS",
                                      "4",
                                      "SLURM_PROCID",
                                      "4",
                                      NULL};

static bool find(const char *const *variables, gt_procs_launcher *launcher)
{
    const gt_launcher_view view = {
        .proc = proc, .parent = 100, .variable = look_up, .context = (void *)(uintptr_t)variables};
    return gt_launcher_find(&view, launcher);
}

#define CHAIN(...)                                                                                           \
    do {                                                                                                     \
        const char *const names[] = {__VA_ARGS__};                                                           \
        make_proc(names, GT_LENGTH(names));                                                                  \
    } while (0)

static void finds_launchers(void **state)
{
    (void)state;
    gt_procs_launcher l;
    CHAIN("mpirun", "bash", "systemd");
    assert_true(find(open_mpi, &l));
    assert_int_equal(l.size, 8);
    assert_int_equal(l.rank, 3);
    assert_int_equal(l.local_size, 4);
    assert_string_equal(l.name, "mpirun");
    assert_false(l.mpich_first);
    CHAIN("mpirun.openmpi");
    assert_true(find(open_mpi, &l));
    CHAIN("hydra_pmi_proxy", "mpiexec.hydra");
    assert_true(find(hydra, &l));
    assert_int_equal(l.rank, 7);
    assert_int_equal(l.local_size, 2);
    assert_true(l.mpich_first);
    CHAIN("slurmstepd");
    assert_true(find(slurm, &l));
    assert_int_equal(l.size, 5);
    assert_int_equal(l.rank, 4);
    assert_int_equal(l.local_size, 1);
}

static void looks_through_transparent_programs(void **state)
{
    (void)state;
    gt_procs_launcher l;
    CHAIN("sh", "env", "numactl", "starter-suid", "bash", "timeout", "orted", "sshd");
    assert_true(find(open_mpi, &l));
    CHAIN("python3", "orted");
    assert_false(find(open_mpi, &l));
    CHAIN("bash", "python3.11", "bash", "slurmstepd");
    assert_false(find(slurm, &l));
    CHAIN("shfmt", "slurmstepd"); /* not a shell */
    assert_false(find(slurm, &l));
    CHAIN("my (odd) name", "slurmstepd");
    assert_false(find(slurm, &l));
    CHAIN("bash", "sshd", "systemd");
    assert_false(find(open_mpi, &l));
}

/* A script that names its shell or interpreter in its first line. */
static void looks_through_scripts_of_shells(void **state)
{
    (void)state;
    gt_procs_launcher l;
    char path[128];
    CHAIN("job.sh", "slurmstepd");
    snprintf(path, sizeof path, "%s/100/exe", proc);
    assert_int_equal(symlink("/usr/bin/bash", path), 0);
    assert_true(find(slurm, &l));
    assert_int_equal(unlink(path), 0);
    CHAIN("bash", "slurmstepd"); /* a Python program that calls itself so */
    assert_int_equal(symlink("/usr/bin/python3.11", path), 0);
    assert_false(find(slurm, &l));
    assert_int_equal(unlink(path), 0);
}

static void needs_several_processes(void **state)
{
    (void)state;
    gt_procs_launcher l;
    CHAIN("slurmstepd");
    assert_false(find(alone, &l));
    assert_false(find(nothing, &l));
    assert_false(find(damaged, &l));
    assert_false(find(open_mpi, &l)); /* left by an mpirun further up, and SLURM says nothing */
    CHAIN("mpirun");
    assert_false(find(slurm, &l)); /* of the job in which mpirun runs */
}

static void accepts_a_process_that_vanishes(void **state)
{
    (void)state;
    gt_procs_launcher l;
    const gt_launcher_view view = {
        .proc = proc, .parent = 4000, .variable = look_up, .context = (void *)(uintptr_t)open_mpi};
    assert_false(gt_launcher_find(&view, &l));
    assert_true(gt_launcher_assume(&view, &l));
    assert_int_equal(l.size, 8);
}

static void reads_tasks_per_node(void **state)
{
    (void)state;
    assert_int_equal(gt_launcher_slurm_tasks("2(x3),1", 0), 2);
    assert_int_equal(gt_launcher_slurm_tasks("2(x3),1", 2), 2);
    assert_int_equal(gt_launcher_slurm_tasks("2(x3),1", 3), 1);
    assert_int_equal(gt_launcher_slurm_tasks("2(x3),1", 4), 0);
    assert_int_equal(gt_launcher_slurm_tasks("7", 0), 7);
    assert_int_equal(gt_launcher_slurm_tasks("", 0), 0);
    assert_int_equal(gt_launcher_slurm_tasks("x", 0), 0);
    assert_int_equal(gt_launcher_slurm_tasks("2(x", 0), 0);
}

static void lists_libraries(void **state)
{
    (void)state;
    static gt_library_list list;
    gt_procs_launcher l = {.family = GT_LAUNCHER_OPEN_MPI, .folder = "/opt/mpi/bin"};
    gt_launcher_libraries(&l, NULL, &list);
    assert_string_equal(list.names[0], "/opt/mpi/bin/../lib/libmpi.so.40");
    assert_null(list.names[list.count]);
    l = (gt_procs_launcher){.family = GT_LAUNCHER_MPICH, .mpich_first = true};
    gt_launcher_libraries(&l, NULL, &list);
    assert_string_equal(list.names[0], "libmpi.so.12");
    gt_launcher_libraries(&l, "/x/libmpi.so", &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.names[0], "/x/libmpi.so");
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(proc, sizeof proc, "/tmp/gputally-proc-XXXXXX");
    return mkdtemp(proc) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    for (int pid = 80; pid <= 100; pid++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%d/stat", proc, pid);
        unlink(path);
        snprintf(path, sizeof path, "%s/%d", proc, pid);
        rmdir(path);
    }
    return rmdir(proc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_launchers),
        cmocka_unit_test(looks_through_transparent_programs),
        cmocka_unit_test(looks_through_scripts_of_shells),
        cmocka_unit_test(needs_several_processes),
        cmocka_unit_test(accepts_a_process_that_vanishes),
        cmocka_unit_test(reads_tasks_per_node),
        cmocka_unit_test(lists_libraries),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
