/* In the build of `make mutants` only: which of the small changes to the program is in force. */
#ifndef GT_MUTANT_H
#define GT_MUTANT_H

/* Whether the change `id` is the one that GPUTALLY_MUTANT names. Notes that the place was reached. */
int gt_mutant_is(int id);

#define GT_MUTANT_ADD(id, amount) (gt_mutant_is(id) ? (amount) : 0)
#define GT_MUTANT_TIMES(id)       (gt_mutant_is(id) ? 2 : 1)
#define GT_MUTANT_SIGN(id)        (gt_mutant_is(id) ? -1 : 1)
#define GT_MUTANT_DROP(id, flag)  (gt_mutant_is(id) ? 0 : (flag))

#endif
