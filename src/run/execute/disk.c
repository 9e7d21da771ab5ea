/* Whether everything that a run should have written is on the disk. A profiler that finds the disk full may
 * well end with status 0, so that its files are incomplete without a sign of it. */
#include "run/execute/execute.h"
#include "output/output.h"

#include <sys/statvfs.h>

enum { FULL_BELOW = 64 * 1024 }; /* bytes: a disk with less is full for everything that a profiler writes */

bool gt_disk_free_bytes(const char *folder, uint64_t *bytes)
{
    struct statvfs status;
    if (statvfs(folder, &status) != 0 || !status.f_blocks) return false; /* some file systems do not tell */
    *bytes = (uint64_t)status.f_bavail * status.f_frsize;
    return true;
}

/* A rule of thumb, as documented: a busy process makes this many records (kernels, calls, copies) per second
 * ... */
static const double records_per_s = 20000;
/* ... and each takes this many bytes. */
static const struct {
    const char *format;
    double bytes;
} record_sizes[] = {{"rocpd", 250},   {"json", 600}, {"csv", 200},
                    {"pftrace", 150}, {"otf2", 100}, {"rpd", 250}};

double gt_disk_bytes_per_s(const gt_plan *plan)
{
    const gt_arg_list *formats = &plan->profiler->formats;
    int64_t processes = gt_settings_int(gt_value_get(plan->context, "distributed"), "nproc_per_node", 1);
    double bytes = 0;
    for (size_t i = 0; i < formats->count; i++)
        for (size_t k = 0; k < GT_LENGTH(record_sizes); k++)
            if (strcasecmp(formats->items[i], record_sizes[k].format) == 0) bytes += record_sizes[k].bytes;
    return bytes * records_per_s * (double)(processes > 1 ? processes : 1);
}

/* "1.5 GiB" */
static const char *size_text(gt_arena *arena, double bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < GT_LENGTH(units); unit++) bytes /= 1024;
    return gt_arena_format(arena, "%.3g %s", bytes, units[unit]);
}

bool gt_disk_check(const gt_plan *plan, gt_error *error)
{
    static const double unbounded_s = 600; /* a run without bounds is expected to take this long */
    uint64_t bytes;
    if (!gt_disk_free_bytes(plan->output_dir, &bytes)) return true;
    if (bytes < plan->min_free)
        return gt_fail(error, "only %s are free in %.500s; --min_free asks for %s",
                       size_text(plan->arena, (double)bytes), plan->output_dir,
                       size_text(plan->arena, (double)plan->min_free));
    const gt_capture_window *window = &plan->capture;
    double rate = gt_disk_bytes_per_s(plan), seconds = unbounded_s;
    if (window->seconds > 0)
        seconds = window->seconds;
    else if (gt_capture_is_bounded(window))
        return true; /* how long is not known */
    double expected = rate * seconds * (double)plan->profiler->passes;
    if (expected > (double)bytes)
        gt_warn("the trace may not fit: about %s per minute%s are expected, and %s are free in %s; see "
                "--capture_time",
                size_text(plan->arena, rate * 60), plan->profiler->passes > 1 ? " and pass" : "",
                size_text(plan->arena, (double)bytes), plan->output_dir);
    return true;
}

bool gt_disk_was_full(const char *folder)
{
    uint64_t bytes;
    return gt_output_ran_out_of_space() || (gt_disk_free_bytes(folder, &bytes) && bytes < FULL_BELOW);
}
