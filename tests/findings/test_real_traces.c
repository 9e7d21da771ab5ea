/* Schedules of real traces.
 *
 * What must hold for each: host time before points is filled with pieces, the causes of idle time add up
 * exactly, and a run without edits gives back the recorded step time. For the traces that reference_times.txt
 * names, the results are also compared with an independent computation. The fixtures are always there; other
 * traces are skipped where the folder of conformance cases is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "findings/idle.h"
#include "findings/replay.h"
#include "input/chrome/kineto.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct measured {
    gt_pytorch_read *read;
    gt_schedule *schedule;
    gt_idle *idle;
} measured;

static bool measure(const char *path, measured *m)
{
    gt_error error;
    gt_read_options options = {.threads = 1};
    m->read = gt_kineto_read(path, (gt_kineto_options){.frames = true}, &options, &error);
    if (!m->read) return false;
    m->schedule = gt_schedule_new(gt_pytorch_read_view(m->read));
    m->idle = gt_idle_find(m->schedule);
    return true;
}

static void measured_free(measured *m)
{
    gt_idle_free(m->idle);
    gt_schedule_free(m->schedule);
    gt_pytorch_read_free(m->read);
}

static void assert_pieces_fill_host_time(const gt_schedule *schedule)
{
    for (size_t i = 0; i < schedule->point_count; i++) {
        const gt_host_point *point = &schedule->points[i];
        int64_t reached = point->start_ns - point->before_ns;
        for (uint32_t k = 0; k < point->piece_count; k++) {
            const gt_piece *piece = &schedule->pieces[point->first_piece + k];
            assert_int_equal(piece->start_ns, reached);
            assert_true(piece->end_ns > piece->start_ns && piece->label < GT_CAUSE_DEVICE_GAP);
            reached = piece->end_ns;
        }
        if (point->before_ns > 0) assert_int_equal(reached, point->start_ns);
        assert_true(point->keep_before >= 0.3 && point->keep_before <= 1);
        assert_true(point->keep_own >= 0.5 && point->keep_own <= 1);
    }
}

/* The window is filled with ops and with gaps, and each gap with pieces. */
static void assert_causes_add_up(const gt_schedule *schedule, const gt_idle *idle)
{
    int64_t sum = 0, busy = 0, reached = schedule->window.start_ns;
    for (int i = 0; i < GT_CAUSES; i++) sum += idle->cause_ns[i];
    assert_int_equal(sum, idle->total_ns);
    sum = 0;
    for (size_t i = 0; i < idle->gap_count; i++) {
        int64_t piece_sum = 0;
        for (size_t k = 0; k < idle->gaps[i].piece_count; k++)
            piece_sum += idle->pieces[idle->gaps[i].first_piece + k].end_ns -
                         idle->pieces[idle->gaps[i].first_piece + k].start_ns;
        assert_int_equal(piece_sum, idle->gaps[i].end_ns - idle->gaps[i].start_ns);
        sum += piece_sum;
    }
    assert_int_equal(sum, idle->total_ns);
    for (size_t i = 0; i < schedule->op_count; i++) {
        int64_t start = schedule->ops[i].start_ns, end = schedule->ops[i].end_ns;
        if (start < reached) start = reached;
        if (end > schedule->window.end_ns) end = schedule->window.end_ns;
        if (end <= start) continue;
        busy += end - start;
        reached = end;
    }
    assert_int_equal(busy + sum, schedule->window.end_ns - schedule->window.start_ns);
}

static double recorded_step(const gt_schedule *schedule)
{
    return (double)(schedule->window.end_ns - schedule->window.start_ns) / (double)schedule->window.steps;
}

static double replay_error_pct(const gt_schedule *schedule)
{
    gt_replay_options alone = {.recorded = true, .gpu_alone = true};
    double step = recorded_step(schedule);
    return step > 0 ? 100 * (gt_replay_run(schedule, NULL, 0, alone, NULL) - step) / step : 0;
}

static void assert_sound(const measured *m)
{
    assert_pieces_fill_host_time(m->schedule);
    assert_causes_add_up(m->schedule, m->idle);
    assert_true(fabs(replay_error_pct(m->schedule)) < 0.2);
    if (m->schedule->stream_count == 1) assert_int_equal(m->idle->cause_ns[GT_CAUSE_DEPENDENCY], 0);
    assert_true(m->schedule->profiler_ns <= m->schedule->host_ns);
}

static void fixtures_are_sound(void **state)
{
    (void)state;
    DIR *folder = opendir(GT_TESTS "/fixtures/pytorch");
    assert_non_null(folder);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", GT_TESTS "/fixtures/pytorch", entry->d_name);
        measured m;
        if (!strstr(entry->d_name, ".json") || !measure(path, &m)) continue;
        assert_sound(&m);
        measured_free(&m);
        count++;
    }
    closedir(folder);
    assert_true(count > 0);
}

/* ---- compared with an independent computation ---- */

static double quantity(const measured *m, const char *name)
{
    const gt_schedule *schedule = m->schedule;
    double steps = (double)schedule->window.steps, idle_ms = (double)m->idle->total_ns / steps / 1e6;
    if (!strcmp(name, "step_ms")) return recorded_step(schedule) / 1e6;
    if (!strcmp(name, "idle_ms")) return idle_ms;
    if (!strcmp(name, "busy_ms")) return recorded_step(schedule) / 1e6 - idle_ms;
    if (!strcmp(name, "model_step_ms"))
        return gt_replay_run(schedule, NULL, 0, (gt_replay_options){0}, NULL) / 1e6;
    if (!strcmp(name, "replay_error_pct")) return replay_error_pct(schedule);
    if (!strcmp(name, "python_us")) return schedule->python_cost_ns / 1e3;
    if (!strcmp(name, "op_us")) return schedule->op_cost_ns / 1e3;
    if (!strcmp(name, "device_wait+dependency"))
        return quantity(m, "device_wait") + quantity(m, "dependency");
    for (int i = 0; i < GT_CAUSES; i++)
        if (!strcmp(name, gt_cause_name((gt_cause)i))) return (double)m->idle->cause_ns[i] / steps / 1e6;
    fail_msg("unknown quantity %s", name);
    return NAN;
}

/* Rounded figures differ by half a unit; causes by the rounding of times to ns and the beginnings of bursts.
 */
static double tolerance(const char *name, double expected)
{
    if (!strcmp(name, "replay_error_pct") || !strcmp(name, "python_us") || !strcmp(name, "op_us"))
        return 0.006;
    if (strstr(name, "_ms") && strcmp(name, "idle_ms") != 0) return 1e-4 * expected + 2e-5;
    return 5e-3 * expected + 1e-4;
}

static bool find_trace(const char *name, char *path, size_t size)
{
    const char *conformance = getenv("GPUTALLY_CONFORMANCE");
    if (!conformance || !*conformance) return false;
    static const char *const folders[] = {"traces", "../faults"};
    for (size_t i = 0; i < GT_LENGTH(folders); i++) {
        snprintf(path, size, "%s/%s/%s.json.gz", conformance, folders[i], name);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

static void results_agree_with_the_reference(void **state)
{
    (void)state;
    FILE *file = fopen(GT_TESTS "/findings/reference_times.txt", "r");
    assert_non_null(file);
    char line[512], trace[256], name[64], present[256] = "", path[4096];
    double expected;
    bool is_there = false;
    size_t compared = 0, wrong = 0;
    measured m;
    while (fgets(line, sizeof line, file)) {
        if (*line == '#') continue;
        assert_int_equal(sscanf(line, "%255s %63s %lf", trace, name, &expected), 3);
        if (strcmp(trace, present) != 0) {
            if (is_there) measured_free(&m);
            snprintf(present, sizeof present, "%s", trace);
            is_there = find_trace(trace, path, sizeof path);
            if (is_there) {
                assert_true(measure(path, &m));
                assert_sound(&m);
            }
        }
        if (!is_there) continue;
        double found = quantity(&m, name);
        compared++;
        if (fabs(found - expected) <= tolerance(name, expected)) continue;
        print_error("%s: %s is %g instead of %g\n", trace, name, found, expected);
        wrong++;
    }
    if (is_there) measured_free(&m);
    fclose(file);
    if (compared == 0) skip();
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixtures_are_sound),
        cmocka_unit_test(results_agree_with_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
