/* ISA-L's inflate (igzip) behind the interface of inflate.h, for x86-64.
 *
 * ISA-L keeps the history that copies reach back to in its own state, so `history` is not needed. It reads
 * input ahead of the symbol that it decodes; the bytes that it did not use are given back at the end. */
#include "stream/inflate.h"

#include <isa-l/igzip_lib.h>

typedef struct isal_state {
    const char *why;
    struct inflate_state inflate;
} isal_state;

static void begin(void *memory)
{
    isal_state *state = memory;
    state->why = NULL;
    isal_inflate_init(&state->inflate);
}

static gt_inflate_result invalid(isal_state *state, int result)
{
    state->why = result == ISAL_INVALID_BLOCK      ? "a block has an invalid header"
                 : result == ISAL_INVALID_LOOKBACK ? "a copy reaches back too far"
                                                   : "a code is not one of the set";
    return GT_INFLATE_INVALID;
}

/* ISA-L counts in 32 bits. */
static uint32_t limited(size_t len)
{
    return len < 1u << 30 ? (uint32_t)len : 1u << 30;
}

static gt_inflate_result run(void *memory, const uint8_t **in, const uint8_t *in_end, bool last,
                             const uint8_t *history, uint8_t **out, uint8_t *out_end)
{
    isal_state *state = memory;
    struct inflate_state *inflate = &state->inflate;
    (void)history;
    for (;;) {
        uint32_t in_len = limited((size_t)(in_end - *in)), out_len = limited((size_t)(out_end - *out));
        inflate->next_in = (uint8_t *)*in;
        inflate->avail_in = in_len;
        inflate->next_out = *out;
        inflate->avail_out = out_len;
        int result = isal_inflate(inflate);
        *in = inflate->next_in;
        *out = inflate->next_out;
        if (result < 0) return invalid(state, result);
        if (inflate->block_state == ISAL_BLOCK_FINISH) {
            *in -= inflate->read_in_length / 8;
            return GT_INFLATE_END;
        }
        if (*out == out_end) return GT_INFLATE_FULL;
        if (*in == in_end) return last ? GT_INFLATE_CUT : GT_INFLATE_HUNGRY;
    }
}

static const char *why(const void *memory)
{
    return ((const isal_state *)memory)->why;
}

const gt_inflater gt_inflater_isal = {"ISA-L", sizeof(isal_state), begin, run, why};
