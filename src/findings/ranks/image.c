/* The facts of a rank as an image (base/image.h), and back, so that they can go from one process to another.
 *
 * Strings are ids of an interner that is saved with everything else of the rank. Structures are saved as
 * records without padding, so that the same facts are always the same bytes.
 *
 * A loaded image may contain anything. The model relies on what facts.c guarantees: the base of a collective
 * starts before it, so that following bases ends; times can be subtracted without overflow; numbers are
 * finite. All of it is checked here. Streams only say which collectives have the same one, so they are
 * numbered again, from 0: arrays by stream stay small. */
#include "findings/ranks/chains.h"

#include "base/map.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

static const char owner[] = "facts";

typedef struct saved_collective {
    int64_t ready_ns, start_ns, end_ns, exposed_ns;
    uint32_t base, stream;
    int32_t step;
    uint32_t in_window;
} saved_collective;

typedef struct saved_kernel {
    uint32_t kernel, op;
    double ns;
} saved_kernel;

typedef struct saved_finding {
    uint32_t id, title, where, advice, evidence; /* strings; where may be GT_STR_NONE */
    uint32_t confidence, is_gpu, unused;
    double gain_ns;
} saved_finding;

typedef struct saved_check {
    uint32_t id, text; /* strings */
    uint32_t level, unused;
    double value, warn, fail;
} saved_check;

typedef struct saved_link {
    int64_t from_ns;
    uint32_t parent, first_piece, piece_count, joins;
} saved_link;

typedef struct saved_step {
    int64_t number, start_ns, end_ns;
} saved_step;

enum { STEPS, HAS_STEPS, END_BASE, TRUST, DEVICE, NODE, NUMBERS };
enum {
    START,
    END,
    STEP,
    COMPUTE,
    EXPOSED,
    IDLE,
    LAUNCH,
    LAUNCH_ERROR,
    OWN_GAIN,
    CAUSE,
    GAP = CAUSE + GT_CAUSES
};
enum { TIMES = GAP + GT_CAUSES };

/* Whoever adds a member to the facts must save it, and check it when it is loaded. */
_Static_assert(sizeof(gt_rank_facts) == 2 * GT_CAUSES * sizeof(double) + 296, "save the new member");
_Static_assert(sizeof(gt_rank_collective) == sizeof(saved_collective), "save the new member");
_Static_assert(sizeof(gt_rank_link) == sizeof(saved_link), "save the new member");
_Static_assert(sizeof(gt_rank_step) == sizeof(saved_step), "save the new member");
_Static_assert(sizeof(gt_own_finding) == 56 && sizeof(gt_rank_kernel) == 16, "save the new member");

/* ---- saving ---- */

static uint32_t add_text(gt_interner *strings, const char *text)
{
    return text ? gt_interner_add_cstr(strings, text) : GT_STR_NONE;
}

static uint32_t copy_string(gt_interner *to, const gt_interner *from, uint32_t id)
{
    if (id == GT_STR_NONE) return GT_STR_NONE;
    gt_str text = gt_interner_get(from, id);
    return gt_interner_add(to, text.bytes, text.len);
}

static void save_collectives(const gt_rank_facts *f, gt_image *image)
{
    saved_collective *list = gt_alloc(f->collective_count * sizeof *list);
    for (size_t i = 0; i < f->collective_count; i++) {
        const gt_rank_collective *c = &f->collectives[i];
        list[i] = (saved_collective){c->ready_ns, c->start_ns, c->end_ns, c->exposed_ns,
                                     c->base,     c->stream,   c->step,   c->in_window};
    }
    gt_image_give(image, owner, "collectives", list, f->collective_count * sizeof *list);
    gt_image_add(image, owner, "receivers", f->receivers,
                 f->receivers ? f->collective_count * sizeof *f->receivers : 0);
}

static void save_kernels(const gt_rank_facts *f, gt_interner *strings, gt_image *image)
{
    saved_kernel *list = gt_alloc(f->kernel_count * sizeof *list);
    for (size_t i = 0; i < f->kernel_count; i++)
        list[i] = (saved_kernel){copy_string(strings, f->strings, f->kernels[i].kernel),
                                 copy_string(strings, f->strings, f->kernels[i].op), f->kernels[i].ns};
    gt_image_give(image, owner, "kernels", list, f->kernel_count * sizeof *list);
}

static void save_steps(const gt_rank_facts *f, gt_image *image)
{
    saved_step *list = gt_alloc(f->step_count * sizeof *list);
    for (size_t i = 0; i < f->step_count; i++)
        list[i] = (saved_step){f->step_times[i].number, f->step_times[i].start_ns, f->step_times[i].end_ns};
    gt_image_give(image, owner, "steps", list, f->step_count * sizeof *list);
    gt_image_add(image, owner, "step_numbers", f->step_numbers,
                 f->step_number_count * sizeof *f->step_numbers);
}

static void save_chains(const gt_rank_facts *f, gt_interner *strings, gt_image *image)
{
    size_t count = f->links ? f->collective_count + 1 : 0;
    uint32_t *names = gt_alloc(f->piece_name_count * sizeof *names);
    saved_link *links = gt_alloc(count * sizeof *links);
    for (size_t i = 0; i < count; i++) {
        const gt_rank_link *l = &f->links[i];
        links[i] = (saved_link){l->from_ns, l->parent, l->first_piece, l->piece_count, l->joins};
    }
    for (size_t i = 0; i < f->piece_name_count; i++)
        names[i] = copy_string(strings, f->strings, f->piece_names[i]);
    gt_image_give(image, owner, "links", links, count * sizeof *links);
    gt_image_add(image, owner, "pieces", f->pieces, f->piece_count * sizeof *f->pieces);
    gt_image_give(image, owner, "piece_names", names, f->piece_name_count * sizeof *names);
}

static void save_findings(const gt_rank_facts *f, gt_interner *strings, gt_image *image)
{
    saved_finding *list = gt_alloc(f->finding_count * sizeof *list);
    for (size_t i = 0; i < f->finding_count; i++) {
        const gt_own_finding *from = &f->findings[i];
        list[i] = (saved_finding){.id = add_text(strings, from->id),
                                  .title = add_text(strings, from->title),
                                  .where = add_text(strings, from->where),
                                  .advice = add_text(strings, from->advice),
                                  .evidence = add_text(strings, from->evidence),
                                  .confidence = (uint32_t)from->confidence,
                                  .is_gpu = from->is_gpu,
                                  .gain_ns = from->gain_ns};
    }
    gt_image_give(image, owner, "findings", list, f->finding_count * sizeof *list);
}

static void save_checks(const gt_rank_facts *f, gt_interner *strings, gt_image *image)
{
    saved_check *list = gt_alloc(f->check_count * sizeof *list);
    for (size_t i = 0; i < f->check_count; i++) {
        const gt_trust_check *from = &f->checks[i];
        list[i] = (saved_check){.id = add_text(strings, from->id),
                                .text = add_text(strings, from->text),
                                .level = (uint32_t)from->level,
                                .value = from->value,
                                .warn = from->warn,
                                .fail = from->fail};
    }
    gt_image_give(image, owner, "checks", list, f->check_count * sizeof *list);
}

void gt_rank_facts_save(const gt_rank_facts *f, gt_interner *strings, gt_image *image)
{
    const int64_t numbers[NUMBERS] = {[STEPS] = (int64_t)f->steps,
                                      [HAS_STEPS] = f->has_steps,
                                      [END_BASE] = f->end_base,
                                      [TRUST] = (int64_t)f->trust,
                                      [DEVICE] = add_text(strings, f->device),
                                      [NODE] = add_text(strings, f->node)};
    gt_image_add_numbers(image, owner, "numbers", numbers, NUMBERS);
    double *times = gt_alloc(TIMES * sizeof *times);
    times[START] = f->start_ns;
    times[END] = f->end_ns;
    times[STEP] = f->step_ns;
    times[COMPUTE] = f->compute_ns;
    times[EXPOSED] = f->exposed_ns;
    times[IDLE] = f->idle_ns;
    times[LAUNCH] = f->launch_ns;
    times[LAUNCH_ERROR] = f->launch_error_ns;
    times[OWN_GAIN] = f->own_gain_ns;
    memcpy(times + CAUSE, f->cause_ns, sizeof f->cause_ns);
    memcpy(times + GAP, f->gap_ns, sizeof f->gap_ns);
    gt_image_give(image, owner, "times", times, TIMES * sizeof *times);
    save_collectives(f, image);
    save_kernels(f, strings, image);
    save_steps(f, image);
    save_chains(f, strings, image);
    save_findings(f, strings, image);
    save_checks(f, strings, image);
}

/* ---- loading ---- */

/* What is loaded, and from where. */
typedef struct source {
    const gt_image *image;
    const gt_interner *strings;
    gt_rank_facts *facts;
} source;

static bool is_string(const source *from, uint64_t id)
{
    return id != GT_STR_NONE && id < gt_interner_count(from->strings);
}

static char *text_of(const source *from, uint64_t id)
{
    return gt_strdup(gt_interner_get(from->strings, (uint32_t)id).bytes);
}

/* A string of the facts, which have those that they need. */
static uint32_t keep(const source *from, uint32_t id)
{
    return copy_string(from->facts->strings, from->strings, id);
}

/* Differences of two such times do not overflow. */
static bool is_time(int64_t ns)
{
    return ns <= INT64_MAX / 2 && ns >= -(INT64_MAX / 2);
}

static bool is_collective(const saved_collective *list, size_t count, const saved_collective *c)
{
    bool has_base = c->base != GT_NONE;
    return is_time(c->ready_ns) && is_time(c->start_ns) && is_time(c->end_ns) && is_time(c->exposed_ns) &&
           c->in_window <= 1 && (!has_base || (c->base < count && list[c->base].start_ns < c->start_ns));
}

/* Any number will do: whoever uses them checks whether there is such a rank. */
static bool load_receivers(const source *from)
{
    gt_rank_facts *f = from->facts;
    size_t count = 0;
    const uint32_t *list = gt_image_get(from->image, owner, "receivers", sizeof *list, &count);
    if (!list || (count && count != f->collective_count)) return false;
    if (!count) return true;
    f->receivers = gt_alloc(count * sizeof *f->receivers);
    memcpy(f->receivers, list, count * sizeof *list);
    return true;
}

static bool load_collectives(const source *from)
{
    gt_rank_facts *f = from->facts;
    size_t count = 0;
    const saved_collective *list = gt_image_get(from->image, owner, "collectives", sizeof *list, &count);
    if (!list || count >= GT_NONE) return false;
    gt_map streams = {0};
    f->collectives = gt_alloc(count * sizeof *f->collectives);
    for (size_t i = 0; i < count && is_collective(list, count, &list[i]); i++) {
        const saved_collective *c = &list[i];
        uint32_t stream = GT_NONE;
        if (c->stream != GT_NONE) {
            uint32_t *place = gt_map_put(&streams, c->stream, 0);
            if (*place == GT_MAP_NONE) *place = (uint32_t)streams.count - 1;
            stream = *place;
        }
        f->collectives[f->collective_count++] = (gt_rank_collective){.ready_ns = c->ready_ns,
                                                                     .start_ns = c->start_ns,
                                                                     .end_ns = c->end_ns,
                                                                     .exposed_ns = c->exposed_ns,
                                                                     .base = c->base,
                                                                     .stream = stream,
                                                                     .step = c->step,
                                                                     .in_window = c->in_window != 0};
    }
    gt_map_free(&streams);
    return f->collective_count == count && load_receivers(from);
}

static bool load_kernels(const source *from)
{
    gt_rank_facts *f = from->facts;
    size_t count = 0;
    const saved_kernel *list = gt_image_get(from->image, owner, "kernels", sizeof *list, &count);
    if (!list) return false;
    f->kernels = gt_alloc(count * sizeof *f->kernels);
    f->kernel_capacity = count;
    for (size_t i = 0; i < count; i++) {
        if (!is_string(from, list[i].kernel) || !isfinite(list[i].ns) ||
            (list[i].op != GT_STR_NONE && !is_string(from, list[i].op)))
            return false;
        f->kernels[f->kernel_count++] =
            (gt_rank_kernel){keep(from, list[i].kernel), keep(from, list[i].op), list[i].ns};
    }
    return true;
}

static bool load_steps(const source *from)
{
    gt_rank_facts *f = from->facts;
    size_t count = 0;
    const saved_step *list = gt_image_get(from->image, owner, "steps", sizeof *list, &count);
    if (!list) return false;
    f->step_times = gt_alloc(count * sizeof *f->step_times);
    for (size_t i = 0; i < count; i++) {
        if (!is_time(list[i].number) || !is_time(list[i].start_ns) || !is_time(list[i].end_ns)) return false;
        f->step_times[f->step_count++] = (gt_rank_step){list[i].number, list[i].start_ns, list[i].end_ns};
    }
    const int64_t *numbers = gt_image_get(from->image, owner, "step_numbers", sizeof *numbers, &count);
    if (!numbers) return false;
    if (!count) return true;
    f->step_numbers = gt_alloc(count * sizeof *f->step_numbers);
    f->step_number_count = count;
    memcpy(f->step_numbers, numbers, count * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        if (!is_time(numbers[i])) return false;
    return true;
}

static bool load_pieces(const source *from)
{
    gt_rank_facts *f = from->facts;
    size_t count = 0, name_count = 0;
    const uint64_t *pieces = gt_image_get(from->image, owner, "pieces", sizeof *pieces, &count);
    const uint32_t *names = gt_image_get(from->image, owner, "piece_names", sizeof *names, &name_count);
    if (!pieces || !names) return false;
    f->piece_names = gt_alloc(name_count * sizeof *f->piece_names);
    for (size_t i = 0; i < name_count; i++) {
        if (!is_string(from, names[i])) return false;
        f->piece_names[f->piece_name_count++] = keep(from, names[i]);
    }
    f->pieces = gt_alloc(count * sizeof *f->pieces);
    for (size_t i = 0; i < count; i++) {
        if (gt_piece_name(pieces[i]) >= name_count || gt_piece_kind(pieces[i]) >= GT_CHAIN_KINDS)
            return false;
        f->pieces[f->piece_count++] = pieces[i];
    }
    return true;
}

/* A chain goes back in time, so that following it ends. */
static bool is_link(const gt_rank_facts *f, size_t index, const saved_link *l)
{
    bool has_parent = l->joins != GT_JOINS_NOTHING, is_end = index == f->collective_count;
    return is_time(l->from_ns) && l->joins <= GT_JOINS_CHAIN && l->piece_count <= UINT8_MAX &&
           (size_t)l->first_piece + l->piece_count <= f->piece_count &&
           (!has_parent || (l->parent < f->collective_count &&
                            (is_end || f->collectives[l->parent].start_ns < f->collectives[index].start_ns)));
}

static bool load_chains(const source *from)
{
    gt_rank_facts *f = from->facts;
    size_t count = 0;
    const saved_link *links = gt_image_get(from->image, owner, "links", sizeof *links, &count);
    if (!links || !load_pieces(from) || (count && count != f->collective_count + 1)) return false;
    if (count) f->links = gt_alloc(count * sizeof *f->links);
    for (size_t i = 0; i < count; i++) {
        const saved_link *l = &links[i];
        if (!is_link(f, i, l)) return false;
        f->links[i] =
            (gt_rank_link){l->from_ns, l->parent, l->first_piece, (uint8_t)l->piece_count, (uint8_t)l->joins};
    }
    return true;
}

static bool is_finding(const source *from, const saved_finding *one)
{
    return is_string(from, one->id) && is_string(from, one->title) && is_string(from, one->advice) &&
           is_string(from, one->evidence) && (one->where == GT_STR_NONE || is_string(from, one->where)) &&
           one->confidence <= GT_CONFIDENCE_HIGH && one->is_gpu <= 1 && isfinite(one->gain_ns);
}

static bool load_findings(const source *from)
{
    gt_rank_facts *f = from->facts;
    size_t count = 0;
    const saved_finding *list = gt_image_get(from->image, owner, "findings", sizeof *list, &count);
    if (!list) return false;
    f->findings = gt_alloc(count * sizeof *f->findings);
    for (size_t i = 0; i < count; i++) {
        if (!is_finding(from, &list[i])) return false;
        f->findings[f->finding_count++] =
            (gt_own_finding){.id = text_of(from, list[i].id),
                             .title = text_of(from, list[i].title),
                             .where = list[i].where == GT_STR_NONE ? NULL : text_of(from, list[i].where),
                             .advice = text_of(from, list[i].advice),
                             .evidence = text_of(from, list[i].evidence),
                             .confidence = (gt_confidence)list[i].confidence,
                             .is_gpu = list[i].is_gpu != 0,
                             .gain_ns = list[i].gain_ns};
    }
    return true;
}

/* The id of a check is borrowed: from the strings of the facts. */
static bool load_checks(const source *from)
{
    gt_rank_facts *f = from->facts;
    size_t count = 0;
    const saved_check *list = gt_image_get(from->image, owner, "checks", sizeof *list, &count);
    if (!list) return false;
    for (size_t i = 0; i < count; i++) {
        const saved_check *one = &list[i];
        if (!is_string(from, one->id) || !is_string(from, one->text) || one->level > GT_TRUST_FAIL)
            return false;
        gt_trust_check check = {.id = gt_interner_get(f->strings, keep(from, one->id)).bytes,
                                .level = (gt_trust_level)one->level,
                                .value = one->value,
                                .warn = one->warn,
                                .fail = one->fail,
                                .text = text_of(from, one->text)};
        GT_PUSH(f->checks, f->check_count, f->check_capacity, check);
    }
    return true;
}

static bool load_numbers(const source *from)
{
    gt_rank_facts *f = from->facts;
    const int64_t *numbers = gt_image_get_all(from->image, owner, "numbers", sizeof *numbers, NUMBERS);
    if (!numbers || numbers[STEPS] < 1 || numbers[STEPS] > UINT32_MAX || (uint64_t)numbers[HAS_STEPS] > 1 ||
        (uint64_t)numbers[END_BASE] > GT_NONE || (uint64_t)numbers[TRUST] > GT_TRUST_FAIL ||
        !is_string(from, (uint64_t)numbers[DEVICE]) || !is_string(from, (uint64_t)numbers[NODE]))
        return false;
    f->steps = (size_t)numbers[STEPS];
    f->has_steps = numbers[HAS_STEPS] != 0;
    f->end_base = (uint32_t)numbers[END_BASE];
    f->trust = (gt_trust_level)numbers[TRUST];
    f->device = text_of(from, (uint64_t)numbers[DEVICE]);
    f->node = text_of(from, (uint64_t)numbers[NODE]);
    return f->end_base == GT_NONE || f->end_base < f->collective_count;
}

static bool load_times(const source *from)
{
    gt_rank_facts *f = from->facts;
    const double *times = gt_image_get_all(from->image, owner, "times", sizeof *times, TIMES);
    for (size_t i = 0; times && i < TIMES; i++)
        if (!isfinite(times[i])) return false;
    if (!times) return false;
    f->start_ns = times[START];
    f->end_ns = times[END];
    f->step_ns = times[STEP];
    f->compute_ns = times[COMPUTE];
    f->exposed_ns = times[EXPOSED];
    f->idle_ns = times[IDLE];
    f->launch_ns = times[LAUNCH];
    f->launch_error_ns = times[LAUNCH_ERROR];
    f->own_gain_ns = times[OWN_GAIN];
    memcpy(f->cause_ns, times + CAUSE, sizeof f->cause_ns);
    memcpy(f->gap_ns, times + GAP, sizeof f->gap_ns);
    return true;
}

gt_rank_facts *gt_rank_facts_load(const gt_image *image, const gt_interner *strings)
{
    gt_rank_facts *f = gt_alloc_zero(1, sizeof *f);
    f->strings = gt_interner_new();
    const source from = {image, strings, f};
    if (load_collectives(&from) && load_numbers(&from) && load_times(&from) && load_kernels(&from) &&
        load_steps(&from) && load_chains(&from) && load_findings(&from) && load_checks(&from))
        return f;
    gt_rank_facts_free(f);
    return NULL;
}
