/* Internal to src/findings/ranks: what decided when each collective of a rank was ready?
 *
 * Back from the moment at which a collective is ready, something always decided why it was not earlier: a
 * kernel that ran, the launch of that kernel, the host that loaded data, the op that the host waited for.
 * This is the chain of the collective. Chains of one rank share most of their way, because a step's kernels
 * follow each other; so only what is new is kept, as a link:
 *
 *     kernels            | A | A | B | C | A |      D |
 *     collectives                X ready     Y ready        base: the last collective of the step before
 *     link of X          A 2x, B                            joins the end of the base
 *     link of Y          C, A                               joins the chain of X where B ends
 *
 * A link lasts from from_ns until its collective is ready. Its pieces are in order of time; equal ones are
 * one piece. Whatever is not in them is not known. */
#pragma once

#include "findings/ranks/ranks.h"

/* "compute", "host", ... */
const char *gt_chain_kind_name(gt_chain_kind kind);

/* Pieces are packed: there are many of them. */
enum { GT_PIECE_NS_BITS = 42, GT_PIECE_NAME_BITS = 14, GT_PIECE_KIND_BITS = 3, GT_PIECE_COUNT_BITS = 5 };

static inline int64_t gt_piece_ns(uint64_t piece)
{
    return (int64_t)(piece & ((1ULL << GT_PIECE_NS_BITS) - 1));
}
static inline uint32_t gt_piece_name(uint64_t piece) /* the place of its name in piece_names */
{
    return (uint32_t)(piece >> GT_PIECE_NS_BITS) & ((1U << GT_PIECE_NAME_BITS) - 1);
}
static inline gt_chain_kind gt_piece_kind(uint64_t piece)
{
    return (gt_chain_kind)((piece >> (GT_PIECE_NS_BITS + GT_PIECE_NAME_BITS)) &
                           ((1U << GT_PIECE_KIND_BITS) - 1));
}
static inline uint32_t gt_piece_count(uint64_t piece) /* ops; a larger number is not kept */
{
    return (uint32_t)(piece >> (64 - GT_PIECE_COUNT_BITS));
}

/* chains.c: fills links and pieces of the facts. `number` (by op: the collective that it is) and `before` (by
 * point: the last op launched before it that is no collective) are those of facts.c. */
void gt_rank_chains_find(gt_rank_facts *facts, const gt_schedule *schedule, const uint32_t *number,
                         const uint32_t *before);

/* When link `link` ends: its collective is ready, or the window ends. */
int64_t gt_rank_link_end(const gt_rank_facts *facts, size_t link);

/* The chain of a link between two times, backwards: calls `take` for each piece with the time that is left
 * when it begins and ends. Time of which nothing is known has GT_STR_NONE as name. `collective` is that whose
 * own time the piece is; else GT_NONE. `link` is where the piece is kept. */
typedef struct gt_chain_piece {
    int64_t from_ns, to_ns;
    gt_chain_kind kind;
    uint32_t name, count, collective, link; /* name: a string of the facts */
} gt_chain_piece;
typedef void gt_chain_taker(void *context, const gt_chain_piece *piece);
void gt_rank_chain_walk(const gt_rank_facts *facts, size_t link, int64_t from_ns, int64_t to_ns,
                        gt_chain_taker *take, void *context);
