/* The facts of many ranks in little memory.
 *
 * On their own, the facts of a rank are some dozens of small blocks with an interner of their own, mostly
 * overhead. Packed, those of all ranks are one after the other in a few arenas, with one interner for all of
 * them: ranks run the same program, so they have the same names, titles and advice. The blocks of the arena
 * are large, so that with a limit of memory they can go to a temporary file (base/pages/pages.h). */
#include "findings/ranks/ranks.h"

#include "base/memory.h"

#include <string.h>

/* Whoever adds an array or a string to the facts must pack it. */
_Static_assert(sizeof(gt_rank_facts) == 2 * GT_CAUSES * sizeof(double) + 296, "pack the new member");

static void *copy(gt_arena *arena, const void *from, size_t count, size_t size)
{
    void *to = gt_arena_alloc(arena, count * size);
    if (count) memcpy(to, from, count * size);
    return to;
}

static uint32_t share(gt_interner *to, const gt_interner *from, uint32_t id)
{
    if (id == GT_STR_NONE) return id;
    gt_str text = gt_interner_get(from, id);
    return gt_interner_add(to, text.bytes, text.len);
}

/* Nobody writes to texts of facts. */
static char *share_text(gt_interner *to, const char *text)
{
    if (!text) return NULL;
    return (char *)(uintptr_t)gt_interner_get(to, gt_interner_add_cstr(to, text)).bytes;
}

gt_rank_facts *gt_rank_facts_pack(gt_rank_facts *from, gt_rank_facts_pool *pool, gt_interner *strings)
{
    gt_rank_facts *f = copy(&pool->facts, from, 1, sizeof *f);
    f->strings = strings;
    f->collectives = copy(&pool->collectives, from->collectives, f->collective_count, sizeof *f->collectives);
    if (from->receivers)
        f->receivers = copy(&pool->collectives, from->receivers, f->collective_count, sizeof *f->receivers);
    f->step_times = copy(&pool->others, from->step_times, f->step_count, sizeof *f->step_times);
    if (from->step_numbers)
        f->step_numbers =
            copy(&pool->others, from->step_numbers, f->step_number_count, sizeof *f->step_numbers);
    if (from->links) f->links = copy(&pool->chains, from->links, f->collective_count + 1, sizeof *f->links);
    f->pieces = copy(&pool->chains, from->pieces, f->piece_count, sizeof *f->pieces);
    f->piece_names = copy(&pool->chains, from->piece_names, f->piece_name_count, sizeof *f->piece_names);
    for (size_t i = 0; i < f->piece_name_count; i++)
        f->piece_names[i] = share(strings, from->strings, f->piece_names[i]);
    f->kernels = copy(&pool->others, from->kernels, f->kernel_count, sizeof *f->kernels);
    f->findings = copy(&pool->others, from->findings, f->finding_count, sizeof *f->findings);
    f->checks = copy(&pool->others, from->checks, f->check_count, sizeof *f->checks);
    for (size_t i = 0; i < f->kernel_count; i++) {
        f->kernels[i].kernel = share(strings, from->strings, f->kernels[i].kernel);
        f->kernels[i].op = share(strings, from->strings, f->kernels[i].op);
    }
    for (size_t i = 0; i < f->finding_count; i++) {
        gt_own_finding *finding = &f->findings[i];
        finding->id = share_text(strings, finding->id);
        finding->title = share_text(strings, finding->title);
        finding->where = share_text(strings, finding->where);
        finding->advice = share_text(strings, finding->advice);
        finding->evidence = share_text(strings, finding->evidence);
    }
    for (size_t i = 0; i < f->check_count; i++) {
        f->checks[i].id = share_text(strings, f->checks[i].id);
        f->checks[i].text = share_text(strings, f->checks[i].text);
    }
    f->device = share_text(strings, from->device);
    f->node = share_text(strings, from->node);
    gt_rank_facts_free(from);
    return f;
}

void gt_rank_facts_pool_free(gt_rank_facts_pool *pool)
{
    gt_arena_free(&pool->facts);
    gt_arena_free(&pool->collectives);
    gt_arena_free(&pool->chains);
    gt_arena_free(&pool->others);
}
