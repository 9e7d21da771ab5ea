/* What each profiler can do:
 *
 *     rocprofv3   time: --collection-period; region: --selected-regions (roctxProfilerResume and
 *                 roctxProfilerPause); steps: --kernel-iteration-range, which counts the launches of each
 *                 kernel and bounds counters, not traces; attach: --pid, in newer versions
 *     nsys        time: --delay and --duration; region: --capture-range=cudaProfilerApi
 *     ncu         region: --profile-from-start off (cudaProfilerStart and cudaProfilerStop) */
#include "run/plan/capture.h"
#include "os/paths.h"

#include <signal.h>

/* ---- reading ---- */

enum { STEPS_MAX = 1000000 }; /* rocprofv3 keeps a set of all of them */

static bool parse_steps(const char *text, gt_capture_window *window, gt_error *error)
{
    char *end;
    errno = 0;
    long long first = strtoll(text, &end, 10), last = first;
    bool ok = end != text && text[0] != '-' && text[0] != '+';
    if (ok && *end == '-') {
        const char *from = end + 1;
        last = strtoll(from, &end, 10);
        ok = end != from && *from >= '0' && *from <= '9';
    }
    if (!ok || *end || errno || first < 1 || last < first || last > STEPS_MAX)
        return gt_fail(error, "--capture_steps: must be FIRST-LAST, counted from 1 (10-20), got '%.100s'",
                       text);
    window->first_step = first;
    window->last_step = last;
    return true;
}

static bool parse_time(const char *text, gt_capture_window *window, gt_error *error)
{
    char *end;
    double start = strtod(text, &end), seconds = 0;
    bool ok = end != text && *end == ':';
    if (ok) {
        const char *from = end + 1;
        seconds = strtod(from, &end);
        ok = end != from && !*end;
    }
    if (!ok || !(start >= 0) || !(seconds > 0) || start > 1e7 || seconds > 1e7)
        return gt_fail(error, "--capture_time: must be START:SECONDS (60:10), got '%.100s'", text);
    window->start_s = start;
    window->seconds = seconds;
    return true;
}

bool gt_capture_parse(const char *steps, const char *time, bool by_region, const char *attach,
                      gt_capture_window *window, gt_error *error)
{
    *window = (gt_capture_window){.by_region = by_region};
    if ((steps != NULL) + (time != NULL) + by_region > 1)
        return gt_fail(error, "only one of --capture_steps, --capture_time and --capture_region is possible");
    if (steps && !parse_steps(steps, window, error)) return false;
    if (time && !parse_time(time, window, error)) return false;
    if (!attach) return true;
    char *end;
    window->attach = strtoll(attach, &end, 10);
    if (*end || window->attach < 1 || window->attach > INT32_MAX)
        return gt_fail(error, "--attach: must be the number of a process, got '%.100s'", attach);
    return time ||
           gt_fail(error, "--attach: --capture_time START:SECONDS must say how long the process is recorded");
}

bool gt_capture_is_bounded(const gt_capture_window *window)
{
    return window->seconds > 0 || window->first_step || window->by_region;
}

/* ---- options ---- */

typedef struct adder {
    gt_arena *arena;
    const gt_capture_window *window;
    gt_arg_list *options, *notes;
    gt_error *error;
} adder;

static void add(adder *a, const char *word)
{
    gt_arg_list_add(a->arena, a->options, word);
}

static bool add_rocprofv3(adder *a, bool has_counters)
{
    const gt_capture_window *w = a->window;
    if (w->attach) {
        add(a, "--pid");
        add(a, gt_arena_format(a->arena, "%lld", (long long)w->attach));
        add(a, "--attach-duration-msec");
        add(a, gt_arena_format(a->arena, "%.0f", ceil(w->seconds * 1000)));
    } else if (w->seconds > 0) {
        add(a, "--collection-period");
        add(a, gt_arena_format(a->arena, "%.9g:%.9g:1", w->start_s, w->seconds));
        add(a, "--collection-period-unit");
        add(a, "sec");
    } else if (w->by_region) {
        add(a, "--selected-regions");
        gt_arg_list_add(
            a->arena, a->notes,
            "recorded between roctxProfilerResume(0) and roctxProfilerPause(0), which the program must call");
    } else if (!has_counters) {
        return gt_fail(a->error,
                       "--capture_steps: rocprofv3 can bound hardware counters by steps, but no trace; use "
                       "--capture_time, or --capture_region with roctxProfilerResume and roctxProfilerPause");
    } else {
        add(a, "--kernel-iteration-range");
        add(a, gt_arena_format(a->arena, "[%lld-%lld]", (long long)w->first_step, (long long)w->last_step));
        gt_arg_list_add(
            a->arena, a->notes,
            "--capture_steps: counters are collected at these launches of each kernel; the trace has all");
    }
    return true;
}

static bool add_nsys(adder *a)
{
    const gt_capture_window *w = a->window;
    if (w->first_step)
        return gt_fail(
            a->error,
            "--capture_steps: nsys cannot count steps; use --capture_time, or --capture_region with "
            "cudaProfilerStart and cudaProfilerStop");
    if (w->by_region) {
        add(a, "--capture-range=cudaProfilerApi");
        add(a, "--capture-range-end=stop");
        gt_arg_list_add(
            a->arena, a->notes,
            "recorded between cudaProfilerStart and cudaProfilerStop, which the program must call");
        return true;
    }
    add(a, gt_arena_format(a->arena, "--delay=%.0f", floor(w->start_s)));
    add(a, gt_arena_format(a->arena, "--duration=%.0f", ceil(w->seconds)));
    add(a, "--kill=none"); /* the program goes on when the time is over */
    return true;
}

static bool add_ncu(adder *a)
{
    if (!a->window->by_region)
        return gt_fail(
            a->error,
            "ncu cannot be bounded by time or steps; use --capture_region with cudaProfilerStart and "
            "cudaProfilerStop, or --launch-skip and --launch-count of ncu itself");
    add(a, "--profile-from-start");
    add(a, "off");
    gt_arg_list_add(a->arena, a->notes,
                    "recorded between cudaProfilerStart and cudaProfilerStop, which the program must call");
    return true;
}

bool gt_capture_add_options(gt_arena *arena, const gt_capture_window *window, const char *profiler,
                            bool has_counters, gt_arg_list *options, gt_arg_list *notes, gt_error *error)
{
    adder a = {arena, window, options, notes, error};
    bool is_rocprofv3 = strcmp(profiler, "rocprofv3") == 0;
    if (window->attach && !is_rocprofv3)
        return gt_fail(error, "--attach: %s cannot attach to a process", profiler);
    if (is_rocprofv3) return add_rocprofv3(&a, has_counters);
    if (strcmp(profiler, "nsys") == 0) return add_nsys(&a);
    if (strcmp(profiler, "ncu") == 0) return add_ncu(&a);
    return gt_fail(
        error,
        "%s cannot record a part of a run; --capture_steps, --capture_time and --capture_region need "
        "rocprofv3, nsys or ncu",
        profiler);
}

const char *gt_capture_missing(const gt_arg_list *options, const char *help)
{
    for (size_t i = 0; i < options->count; i++) {
        const char *option = options->items[i];
        if (strncmp(option, "--", 2) != 0) continue;
        size_t len = strcspn(option, "=");
        const char *at;
        char name[128];
        if (len >= sizeof name) continue;
        memcpy(name, option, len);
        name[len] = 0;
        for (at = strstr(help, name); at && (at[len] == '-' || (at[len] >= 'a' && at[len] <= 'z'));
             at = strstr(at + len, name)) {
        }
        if (!at) return option;
    }
    return NULL;
}

/* ---- the process to attach to ---- */

static bool has_variable(gt_str environment, const char *entry)
{
    for (size_t at = 0; at < environment.len; at += strlen(environment.bytes + at) + 1)
        if (strcmp(environment.bytes + at, entry) == 0) return true;
    return false;
}

bool gt_capture_check_process(gt_arena *arena, int64_t pid, gt_arg_list *warnings, gt_error *error)
{
    if (kill((pid_t)pid, 0) != 0)
        return gt_fail(error,
                       errno == EPERM ? "--attach: process %lld belongs to another user"
                                      : "--attach: there is no process %lld",
                       (long long)pid);
    gt_buffer text = {0};
    gt_error ignored;
    const char *path = gt_arena_format(arena, "/proc/%lld/environ", (long long)pid);
    if (gt_read_small_file(path, 1 << 22, &text, &ignored) &&
        !has_variable(gt_buffer_str(&text), "ROCP_TOOL_ATTACH=1"))
        gt_arg_list_add(
            arena, warnings,
            gt_arena_format(arena,
                            "process %lld was started without ROCP_TOOL_ATTACH=1 in its environment; "
                            "most versions of rocprofv3 cannot attach to it",
                            (long long)pid));
    text.len = 0;
    if (geteuid() != 0 && gt_read_small_file("/proc/sys/kernel/yama/ptrace_scope", 64, &text, &ignored) &&
        gt_buffer_str(&text).bytes[0] != '0')
        gt_arg_list_add(
            arena, warnings,
            "kernel.yama.ptrace_scope is not 0: this system allows only root to attach to a process");
    gt_buffer_free(&text);
    return true;
}
