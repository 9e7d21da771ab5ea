/* Work divided among threads: each piece is done once, whatever the number of threads. */
#include "base/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PIECES = 1000 };

static void count(void *context, size_t index)
{
    atomic_int *counts = context;
    atomic_fetch_add(&counts[index], 1);
}

static void each_piece_is_done_once(void **state)
{
    (void)state;
    static const size_t pieces[] = {0, 1, 3, PIECES};
    static const unsigned threads[] = {0, 1, 2, 7};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            atomic_int counts[PIECES] = {0};
            gt_threads_each(pieces[p], threads[t], count, counts);
            for (size_t i = 0; i < PIECES; i++) assert_int_equal(atomic_load(&counts[i]), i < pieces[p]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_piece_is_done_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
