/* Pieces of work side by side: the largest begins first, others in their order, results and messages come in
 * the order of the pieces, the limit holds, and the first piece that ends the work is the same on any number
 * of threads. */
#include "base/many.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/team.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { PIECES = 60 };

static const unsigned threads[] = {1, 2, 3, 8, 16};

static char printed[65536];

static void take_log(bool warning, const char *text)
{
    size_t used = strlen(printed);
    snprintf(printed + used, sizeof printed - used, "%s%s\n", warning ? "" : "info ", text);
}

typedef struct run {
    gt_many many;
    uint64_t sizes[PIECES];
    size_t first_bad; /* PIECES: none */
    atomic_size_t begun;
    atomic_uint_fast64_t together, most;
    size_t finished;
    size_t returned;
    bool wait; /* all pieces wait until this one has begun: */
    size_t awaited;
    atomic_bool awaited_has_begun, waited_in_vain;
} run;

static void spin(void)
{
    for (volatile int i = 0; i < 2000; i++) continue;
}

static void wait_for_awaited(run *r, size_t index)
{
    if (index == r->awaited) atomic_store(&r->awaited_has_begun, true);
    time_t begin = time(NULL);
    while (!atomic_load(&r->awaited_has_begun) && !atomic_load(&r->waited_in_vain)) {
        if (time(NULL) > begin + 10) atomic_store(&r->waited_in_vain, true);
        sched_yield();
    }
}

static bool work(void *context, size_t index)
{
    run *r = context;
    atomic_fetch_add(&r->begun, 1);
    if (r->wait) wait_for_awaited(r, index);
    uint64_t together = atomic_fetch_add(&r->together, r->sizes[index]) + r->sizes[index];
    uint64_t most = atomic_load(&r->most);
    while (together > most && !atomic_compare_exchange_weak(&r->most, &most, together)) continue;
    char file[32];
    snprintf(file, sizeof file, "rank%zu.json", index);
    const char *before = gt_log_about(file);
    gt_warn("cut at %zu", index);
    for (uint64_t i = 0; i < r->sizes[index]; i++) spin();
    if (index % 7 == 0) gt_info("%s: seventh %zu", file, index);
    gt_log_about(before);
    atomic_fetch_sub(&r->together, r->sizes[index]);
    return index < r->first_bad || index % 2 != r->first_bad % 2;
}

static void finish(void *context, size_t index)
{
    run *r = context;
    assert_int_equal(index, r->finished);
    r->finished++;
    gt_warn("finished %zu", index);
}

static void run_all(void *context)
{
    run *r = context;
    r->returned = gt_many_run(&r->many);
}

static run *new_run(uint64_t limit, size_t first_bad)
{
    run *r = gt_alloc_zero(1, sizeof *r);
    for (size_t i = 0; i < PIECES; i++) r->sizes[i] = 1 + i * 37 % 11;
    r->sizes[PIECES - 1] = 100; /* one huge piece, at the end */
    r->many = (gt_many){
        .count = PIECES, .sizes = r->sizes, .limit = limit, .work = work, .finish = finish, .context = r};
    r->first_bad = first_bad;
    return r;
}

/* The messages that pieces give one after the other. */
static void expect_messages(size_t pieces, bool last_is_finished)
{
    static char expected[sizeof printed];
    expected[0] = 0;
    for (size_t i = 0; i < pieces; i++) {
        size_t used = strlen(expected);
        used += (size_t)snprintf(expected + used, sizeof expected - used, "rank%zu.json: cut at %zu\n", i, i);
        if (i % 7 == 0)
            used += (size_t)snprintf(expected + used, sizeof expected - used,
                                     "info rank%zu.json: seventh %zu\n", i, i);
        if (i + 1 < pieces || last_is_finished)
            snprintf(expected + used, sizeof expected - used, "finished %zu\n", i);
    }
    assert_string_equal(printed, expected);
}

static void begin_log(void)
{
    printed[0] = 0;
    gt_log_to(take_log);
}

static void end_log(void)
{
    gt_log_end_repeats();
    gt_log_to(NULL);
}

static void results_come_in_order(void **state)
{
    (void)state;
    for (size_t t = 0; t < GT_LENGTH(threads); t++) {
        run *r = new_run(0, PIECES);
        begin_log();
        gt_team_run(threads[t], run_all, r);
        end_log();
        assert_int_equal(r->returned, PIECES);
        assert_int_equal(r->finished, PIECES);
        assert_int_equal(r->begun, PIECES);
        expect_messages(PIECES, true);
        gt_free(r);
    }
}

/* If it does not, the others wait for it in vain. */
static void the_largest_begins_first(void **state)
{
    (void)state;
    for (size_t t = 1; t < GT_LENGTH(threads); t++) {
        run *r = new_run(0, PIECES);
        r->wait = true;
        r->awaited = PIECES - 1;
        begin_log();
        gt_team_run(threads[t], run_all, r);
        end_log();
        assert_false(r->waited_in_vain);
        expect_messages(PIECES, true);
        gt_free(r);
    }
}

/* Otherwise all results but the first would be in memory until the end. */
static void pieces_of_nearly_the_same_size_begin_in_order(void **state)
{
    (void)state;
    for (size_t t = 1; t < GT_LENGTH(threads); t++) {
        run *r = new_run(0, PIECES);
        for (size_t i = 0; i < PIECES; i++) r->sizes[i] = 100 + i % 10; /* the first is among the smallest */
        r->wait = true;
        begin_log();
        gt_team_run(threads[t], run_all, r);
        end_log();
        assert_false(r->waited_in_vain);
        expect_messages(PIECES, true);
        gt_free(r);
    }
}

static void the_limit_holds(void **state)
{
    (void)state;
    static const uint64_t limits[] = {5, 100, 111, 130};
    for (size_t l = 0; l < GT_LENGTH(limits); l++)
        for (size_t t = 0; t < GT_LENGTH(threads); t++) {
            run *r = new_run(limits[l], PIECES);
            begin_log();
            gt_team_run(threads[t], run_all, r);
            end_log();
            assert_true(r->most <= (limits[l] < 100 ? 100 : limits[l])); /* the huge one runs alone */
            assert_int_equal(r->finished, PIECES);
            expect_messages(PIECES, true);
            gt_free(r);
        }
}

/* Pieces 20, 22, 24, ... fail; only the first of them counts, and nothing of the pieces after it is seen. */
static void the_first_failure_ends_the_work(void **state)
{
    (void)state;
    for (size_t t = 0; t < GT_LENGTH(threads); t++) {
        run *r = new_run(0, 20);
        begin_log();
        gt_team_run(threads[t], run_all, r);
        end_log();
        assert_int_equal(r->returned, 20);
        assert_int_equal(r->finished, 20);
        expect_messages(21, false);
        gt_free(r);
    }
}

typedef struct pile {
    atomic_size_t done, finished, most;
} pile;

static bool add_to_pile(void *context, size_t index)
{
    pile *p = context;
    (void)index;
    size_t waiting = atomic_fetch_add(&p->done, 1) + 1 - atomic_load(&p->finished);
    size_t most = atomic_load(&p->most);
    while (waiting > most && !atomic_compare_exchange_weak(&p->most, &most, waiting)) continue;
    return true;
}

static void take_from_pile(void *context, size_t index)
{
    pile *p = context;
    (void)index;
    nanosleep(&(struct timespec){.tv_nsec = 300 * 1000}, NULL);
    atomic_fetch_add(&p->finished, 1);
}

static void run_pile(void *context)
{
    gt_many_run(
        &(gt_many){.count = 10 * PIECES, .work = add_to_pile, .finish = take_from_pile, .context = context});
}

/* Results that wait for their turn are in memory, so there are few, however slow finishing is. */
static void results_do_not_pile_up(void **state)
{
    (void)state;
    for (size_t t = 1; t < 3; t++) {
        pile p = {0};
        gt_team_run(threads[t], run_pile, &p);
        assert_int_equal(p.finished, 10 * PIECES);
        assert_true(p.most <= 4 * threads[t]);
    }
}

static bool raise(void *context, size_t index)
{
    (void)context;
    gt_free(gt_alloc(100));
    gt_warn("piece %zu", index);
    if (index == 30) gt_raise("no luck");
    return true;
}

static void run_raising(void *context)
{
    (void)context;
    gt_many_run(&(gt_many){.count = PIECES, .work = raise});
}

static void run_in_team(void *context)
{
    gt_team_run(*(const unsigned *)context, run_raising, NULL);
}

static void ignore_warning(void *context, const char *text)
{
    (void)context;
    (void)text;
}

/* The call ends, and the heap frees what was kept. */
static void a_raised_error_ends_the_call(void **state)
{
    (void)state;
    for (size_t t = 0; t < GT_LENGTH(threads); t++) {
        gt_error error;
        gt_heap *heap = gt_heap_new();
        unsigned n = threads[t];
        assert_false(gt_guard_run(&(gt_guard_options){.heap = heap, .warning = ignore_warning}, run_in_team,
                                  &n, &error));
        assert_string_equal(error.text, "no luck");
        assert_int_equal(gt_heap_count(heap), 0);
        gt_heap_free(heap);
    }
}

static void nothing_to_do(void **state)
{
    (void)state;
    assert_int_equal(gt_many_run(&(gt_many){.work = raise}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_in_order),
        cmocka_unit_test(the_largest_begins_first),
        cmocka_unit_test(pieces_of_nearly_the_same_size_begin_in_order),
        cmocka_unit_test(the_limit_holds),
        cmocka_unit_test(the_first_failure_ends_the_work),
        cmocka_unit_test(results_do_not_pile_up),
        cmocka_unit_test(a_raised_error_ends_the_call),
        cmocka_unit_test(nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
