/* Decompresses deflate data (RFC 1951) piece by piece, in constant memory.
 *
 * There are two decoders behind one interface, because neither is the right one on every machine. Time of
 * ISA-L over time of ours, `make bench`, on three traces:
 *
 *     arm64 (Neoverse V1)     2.5 to 3.9     ISA-L's assembly is for x86-64
 *     x86-64 (Xeon, AVX-512)  0.90 to 1.03   no gain, so the library is used there
 *
 * zlib is slower than both, and libdeflate, which is as fast, needs the whole file in memory.
 * gt_inflater_best() makes the choice. */
#pragma once

#include "base/base.h"

enum {
    GT_INFLATE_HISTORY = 32 * 1024, /* the furthest that a copy reaches back */
    GT_INFLATE_LOOKAHEAD = 1024,    /* input needed for progress, unless it is the last */
};

typedef enum gt_inflate_result {
    GT_INFLATE_FULL,    /* the output buffer is full */
    GT_INFLATE_HUNGRY,  /* fewer than GT_INFLATE_LOOKAHEAD bytes of input are left, and more follow */
    GT_INFLATE_END,     /* the data is complete; *in is just after it */
    GT_INFLATE_CUT,     /* the last input ends inside the data; all that it holds was written */
    GT_INFLATE_INVALID, /* not deflate data; gt_inflater.why says in what way */
} gt_inflate_result;

/* A decoder. The caller owns the state (state_size bytes, aligned for any type) and both buffers; a state
 * needs no clean-up and may be begun again. */
typedef struct gt_inflater {
    const char *name;
    size_t state_size;
    void (*begin)(void *state);
    /* Reads from *in, writes to *out, and advances both. `last` says that no input follows in_end; otherwise
     * input that was not used is passed again with more after it. `history` is the oldest byte of this data's
     * output that is still in memory before *out (*out itself at the beginning): keep GT_INFLATE_HISTORY
     * bytes of it. Bytes between the new *out and out_end may have been overwritten. */
    gt_inflate_result (*run)(void *state, const uint8_t **in, const uint8_t *in_end, bool last,
                             const uint8_t *history, uint8_t **out, uint8_t *out_end);
    const char *(*why)(const void *state); /* after GT_INFLATE_INVALID: a few words on what is wrong */
} gt_inflater;

extern const gt_inflater gt_inflater_own;  /* inflate.c */
extern const gt_inflater gt_inflater_isal; /* inflate_isal.c */

static inline const gt_inflater *gt_inflater_best(void)
{
#ifdef __x86_64__
    return &gt_inflater_isal;
#else
    return &gt_inflater_own;
#endif
}
