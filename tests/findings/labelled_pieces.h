/* Schedules written by hand whose host time is labelled, and what the labels should be. Include cmocka.h
 * before. */
#ifndef GT_TESTS_LABELLED_PIECES_H
#define GT_TESTS_LABELLED_PIECES_H

#include "small_schedule.h"

/* A piece as it should be: end (it starts where the one before it ends), label, event. */
typedef struct wanted_piece {
    int64_t end_us;
    gt_cause label;
    uint32_t event;
} wanted_piece;

static inline void assert_pieces(const small_schedule *s, uint32_t point, int64_t start_us,
                                 const wanted_piece *wanted, size_t count)
{
    const gt_host_point *p = &s->points[point];
    assert_int_equal(p->piece_count, count);
    for (size_t i = 0; i < count; i++) {
        const gt_piece *piece = &s->schedule.pieces[p->first_piece + i];
        assert_int_equal(piece->start_ns, start_us * 1000);
        assert_int_equal(piece->end_ns, wanted[i].end_us * 1000);
        assert_int_equal(piece->label, wanted[i].label);
        assert_int_equal(piece->event, wanted[i].event);
        start_us = wanted[i].end_us;
    }
    assert_int_equal(p->start_ns, start_us * 1000);
}

static inline void build(small_schedule *s)
{
    small_build(s);
    gt_build_labels(&s->schedule);
}

#endif
