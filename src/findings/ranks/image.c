/* The facts of a rank as an image (base/image.h), and back, so that they can go from one process to another;
 * and those of many ranks in little memory.
 *
 * The facts are arrays, which the table below lists: they are saved as they are, except for strings, which
 * are ids of an interner that is saved with everything else of the rank. Their items have no padding, so that
 * the same facts are always the same bytes.
 *
 * A loaded image may contain anything. The model relies on what facts.c guarantees: the base of a collective
 * starts before it, so that following bases ends; times can be subtracted without overflow; numbers are
 * finite. All of it is checked here. Streams only say which collectives have the same one, so they are
 * numbered again, from 0: arrays by stream stay small. */
#include "findings/ranks/chains.h"
#include "findings/ranks/served.h"

static const char owner[] = "facts";

enum { STEPS, HAS_STEPS, END_BASE, TRUST, DEVICE, NODE, NUMBERS };

/* An array of the facts. Its items begin with `strings` ids, of which the one with the number `optional` may
 * be GT_STR_NONE. */
typedef struct fact_array {
    const char *name; /* in the image */
    size_t items, count, size;
    size_t strings, optional;
} fact_array;

#define ARRAY(name, items, count)                                                                            \
    name, offsetof(gt_rank_facts, items), offsetof(gt_rank_facts, count), sizeof *((gt_rank_facts *)0)->items
static const fact_array arrays[] = {
    {ARRAY("collectives", collectives, collective_count)},
    {ARRAY("peers", peers, peer_count)},
    {ARRAY("kernels", kernels, kernel_count), .strings = 2, .optional = 1},
    {ARRAY("steps", step_times, step_count)},
    {ARRAY("step_numbers", step_numbers, step_number_count)},
    {ARRAY("links", links, link_count)},
    {ARRAY("pieces", pieces, piece_count)},
    {ARRAY("piece_names", piece_names, piece_name_count), .strings = 1, .optional = SIZE_MAX},
    {ARRAY("findings", findings, finding_count), .strings = 5, .optional = 2},
    {ARRAY("checks", checks, check_count), .strings = 2, .optional = SIZE_MAX},
    {ARRAY("served", served, served_count)},
    {ARRAY("served_comms", served_comms, served_comm_count), .strings = 1, .optional = SIZE_MAX},
};

/* Whoever adds a member to the facts must save it, and check it when it is loaded. */
_Static_assert(sizeof(gt_rank_facts) == GT_RANK_TIMES * sizeof(double) + 272, "save the new member");
_Static_assert(sizeof(gt_rank_collective) == 48 && sizeof(gt_rank_link) == 24 && sizeof(gt_rank_step) == 24 &&
                   sizeof(gt_rank_kernel) == 24 && sizeof(gt_own_finding) == 40 &&
                   sizeof(gt_rank_check) == 40 && sizeof(gt_served_step) == 72 &&
                   sizeof(gt_served_comm) == 16,
               "items have no padding");

static void **items_of(const gt_rank_facts *f, const fact_array *array)
{
    return (void **)((uintptr_t)f + array->items);
}

static size_t *count_of(const gt_rank_facts *f, const fact_array *array)
{
    return (size_t *)((uintptr_t)f + array->count);
}

static void move_strings(const fact_array *array, void *items, size_t count, gt_interner *to,
                         const gt_interner *from)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *ids = (uint32_t *)((char *)items + i * array->size);
        for (size_t k = 0; k < array->strings; k++) ids[k] = gt_interner_add_from(to, from, ids[k]);
    }
}

void gt_rank_facts_free(gt_rank_facts *facts)
{
    if (!facts) return;
    for (size_t a = 0; a < GT_LENGTH(arrays); a++) gt_free(*items_of(facts, &arrays[a]));
    gt_free(facts->device);
    gt_free(facts->node);
    gt_interner_free(facts->strings);
    gt_free(facts);
}

/* ---- saving ---- */

void gt_rank_facts_save(const gt_rank_facts *f, gt_interner *strings, gt_image *image)
{
    const int64_t numbers[NUMBERS] = {[STEPS] = (int64_t)f->steps,
                                      [HAS_STEPS] = f->has_steps,
                                      [END_BASE] = f->end_base,
                                      [TRUST] = (int64_t)f->trust,
                                      [DEVICE] = gt_interner_add_cstr(strings, f->device),
                                      [NODE] = gt_interner_add_cstr(strings, f->node)};
    gt_image_add_numbers(image, owner, "numbers", numbers, NUMBERS);
    gt_image_add(image, owner, "times", f->times, sizeof f->times);
    for (size_t a = 0; a < GT_LENGTH(arrays); a++) {
        void *items = *items_of(f, &arrays[a]);
        size_t count = *count_of(f, &arrays[a]), bytes = count * arrays[a].size;
        if (!arrays[a].strings) {
            gt_image_add(image, owner, arrays[a].name, items, bytes);
            continue;
        }
        void *copy = gt_alloc(bytes);
        if (bytes) memcpy(copy, items, bytes);
        move_strings(&arrays[a], copy, count, strings, f->strings);
        gt_image_give(image, owner, arrays[a].name, copy, bytes);
    }
}

/* ---- loading ---- */

static bool is_string(const gt_interner *strings, uint64_t id)
{
    return id != GT_STR_NONE && id < gt_interner_count(strings);
}

/* Differences of two such times do not overflow. */
static bool is_time(int64_t ns)
{
    return ns <= INT64_MAX / 2 && ns >= -(INT64_MAX / 2);
}

/* An array without items is NULL. */
static bool load_array(gt_rank_facts *f, const fact_array *array, const gt_image *image,
                       const gt_interner *strings)
{
    size_t count = 0;
    const char *bytes = gt_image_get(image, owner, array->name, array->size, &count);
    if (!bytes || count >= GT_NONE) return false;
    if (!count) return true;
    void *items = *items_of(f, array) = gt_alloc(count * array->size);
    memcpy(items, bytes, count * array->size);
    *count_of(f, array) = count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *ids = (const uint32_t *)((char *)items + i * array->size);
        for (size_t k = 0; k < array->strings; k++)
            if (!is_string(strings, ids[k]) && !(k == array->optional && ids[k] == GT_STR_NONE)) return false;
    }
    move_strings(array, items, count, f->strings, strings);
    return true;
}

static bool are_collectives(gt_rank_facts *f)
{
    gt_map streams = {0};
    bool sound = !f->peer_count || f->peer_count == f->collective_count;
    for (size_t i = 0; sound && i < f->collective_count; i++) {
        gt_rank_collective *c = &f->collectives[i];
        bool has_base = c->base != GT_NONE;
        sound =
            is_time(c->ready_ns) && is_time(c->start_ns) && is_time(c->end_ns) && is_time(c->exposed_ns) &&
            c->in_window <= 1 &&
            (!has_base || (c->base < f->collective_count && f->collectives[c->base].start_ns < c->start_ns));
        if (c->stream == GT_NONE) continue;
        uint32_t *place = gt_map_put(&streams, c->stream, 0);
        if (*place == GT_MAP_NONE) *place = (uint32_t)streams.count - 1;
        c->stream = *place;
    }
    gt_map_free(&streams);
    return sound;
}

static bool are_steps(const gt_rank_facts *f)
{
    for (size_t i = 0; i < f->step_count; i++) {
        const gt_rank_step *step = &f->step_times[i];
        if (!is_time(step->number) || !is_time(step->start_ns) || !is_time(step->end_ns)) return false;
    }
    for (size_t i = 0; i < f->step_number_count; i++)
        if (!is_time(f->step_numbers[i])) return false;
    return true;
}

/* A chain goes back in time, so that following it ends. */
static bool is_link(const gt_rank_facts *f, size_t index, const gt_rank_link *l)
{
    bool has_parent = l->joins != GT_JOINS_NOTHING, is_end = index == f->collective_count;
    return is_time(l->from_ns) && l->joins <= GT_JOINS_CHAIN && l->piece_count <= UINT8_MAX &&
           (size_t)l->first_piece + l->piece_count <= f->piece_count &&
           (!has_parent || (l->parent < f->collective_count &&
                            (is_end || f->collectives[l->parent].start_ns < f->collectives[index].start_ns)));
}

static bool are_chains(const gt_rank_facts *f)
{
    if (f->link_count && f->link_count != f->collective_count + 1) return false;
    for (size_t i = 0; i < f->piece_count; i++)
        if (gt_piece_name(f->pieces[i]) >= f->piece_name_count ||
            gt_piece_kind(f->pieces[i]) >= GT_CHAIN_KINDS)
            return false;
    for (size_t i = 0; i < f->link_count; i++)
        if (!is_link(f, i, &f->links[i])) return false;
    return true;
}

static bool are_findings(const gt_rank_facts *f)
{
    for (size_t i = 0; i < f->kernel_count; i++)
        if (!isfinite(f->kernels[i].ns) || !isfinite(f->kernels[i].count)) return false;
    for (size_t i = 0; i < f->finding_count; i++)
        if (f->findings[i].confidence > GT_CONFIDENCE_HIGH || f->findings[i].is_gpu > 1 ||
            !isfinite(f->findings[i].gain_ns))
            return false;
    for (size_t i = 0; i < f->check_count; i++)
        if (f->checks[i].level > GT_TRUST_FAIL) return false;
    return true;
}

static bool load_numbers(gt_rank_facts *f, const gt_image *image, const gt_interner *strings)
{
    const int64_t *numbers = gt_image_get_all(image, owner, "numbers", sizeof *numbers, NUMBERS);
    const double *times = gt_image_get_all(image, owner, "times", sizeof *times, GT_RANK_TIMES);
    if (!times || !numbers || numbers[STEPS] < 1 || numbers[STEPS] > UINT32_MAX ||
        (uint64_t)numbers[HAS_STEPS] > 1 || (uint64_t)numbers[END_BASE] > GT_NONE ||
        (uint64_t)numbers[TRUST] > GT_TRUST_FAIL || !is_string(strings, (uint64_t)numbers[DEVICE]) ||
        !is_string(strings, (uint64_t)numbers[NODE]))
        return false;
    f->steps = (size_t)numbers[STEPS];
    f->has_steps = numbers[HAS_STEPS] != 0;
    f->end_base = (uint32_t)numbers[END_BASE];
    f->trust = (gt_trust_level)numbers[TRUST];
    f->device = gt_strdup(gt_interner_get(strings, (uint32_t)numbers[DEVICE]).bytes);
    f->node = gt_strdup(gt_interner_get(strings, (uint32_t)numbers[NODE]).bytes);
    memcpy(f->times, times, sizeof f->times);
    for (size_t i = 0; i < GT_RANK_TIMES; i++)
        if (!isfinite(f->times[i])) return false;
    return f->end_base == GT_NONE || f->end_base < f->collective_count;
}

gt_rank_facts *gt_rank_facts_load(const gt_image *image, const gt_interner *strings)
{
    gt_rank_facts *f = gt_alloc_zero(1, sizeof *f);
    f->strings = gt_interner_new();
    bool sound = true;
    for (size_t a = 0; sound && a < GT_LENGTH(arrays); a++) sound = load_array(f, &arrays[a], image, strings);
    if (sound && load_numbers(f, image, strings) && are_collectives(f) && are_steps(f) && are_chains(f) &&
        are_findings(f) && gt_rank_served_is_sound(f))
        return f;
    gt_rank_facts_free(f);
    return NULL;
}

/* ---- packing ----
 *
 * On their own, the facts of a rank are some dozens of small blocks with an interner of their own, mostly
 * overhead. Packed, those of all ranks are one after the other in an arena, with one interner for all of
 * them: ranks run the same program, so they have the same names, titles and advice. */

/* Nobody writes to texts of facts. */
static char *share_text(gt_interner *to, const char *text)
{
    return (char *)(uintptr_t)gt_interner_get(to, gt_interner_add_cstr(to, text)).bytes;
}

gt_rank_facts *gt_rank_facts_pack(gt_rank_facts *from, gt_arena *arena, gt_interner *strings)
{
    gt_rank_facts *f = gt_arena_alloc(arena, sizeof *f);
    *f = *from;
    f->strings = strings;
    for (size_t a = 0; a < GT_LENGTH(arrays); a++) {
        size_t count = *count_of(f, &arrays[a]);
        void **items = items_of(f, &arrays[a]);
        if (!count) *items = NULL;
        if (!count) continue;
        *items = gt_arena_alloc(arena, count * arrays[a].size);
        memcpy(*items, *items_of(from, &arrays[a]), count * arrays[a].size);
        move_strings(&arrays[a], *items, count, strings, from->strings);
    }
    f->device = share_text(strings, from->device);
    f->node = share_text(strings, from->node);
    gt_rank_facts_free(from);
    return f;
}
