/* The parts of a step as an image (base/image.h), and back: a process that read a trace passes them to the
 * one that compares it with others.
 *
 * String ids are moved to those of the image, and afterwards to an interner of the loaded parts. What is
 * loaded may be anything: ids and indexes must exist, and the sums that the comparison makes of times and
 * calls must not overflow. */
#include "findings/waterfall/waterfall.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char owner[] = "step";

enum { STEP_NS, STEPS, HAS_STEPS, HAS_CALLS, FACTS };

static uint32_t move_id(uint32_t id, const gt_interner *from, gt_interner *to)
{
    gt_str text = gt_interner_get(from, id);
    return id == GT_STR_NONE ? GT_STR_NONE : gt_interner_add(to, text.bytes, text.len);
}

static void move_part(gt_step_part *part, const gt_interner *from, gt_interner *to)
{
    part->op = move_id(part->op, from, to);
    part->name = move_id(part->name, from, to);
    part->normal_name = move_id(part->normal_name, from, to);
    part->category = move_id(part->category, from, to);
    part->site = move_id(part->site, from, to);
}

void gt_step_parts_save(const gt_step_parts *parts, gt_interner *strings, gt_image *image)
{
    if (!parts) return;
    gt_step_part *items = gt_alloc_zero(parts->count + 1, sizeof *items);
    gt_part_shape *shapes = gt_alloc_zero(parts->shape_count + 1, sizeof *shapes);
    for (size_t i = 0; i < parts->count; i++) {
        items[i] = parts->items[i];
        move_part(&items[i], parts->strings, strings);
    }
    for (size_t i = 0; i < parts->shape_count; i++) {
        shapes[i] = parts->shapes[i];
        shapes[i].shape = move_id(shapes[i].shape, parts->strings, strings);
    }
    const int64_t facts[FACTS] = {[STEP_NS] = parts->step_ns,
                                  [STEPS] = (int64_t)parts->steps,
                                  [HAS_STEPS] = parts->has_steps,
                                  [HAS_CALLS] = parts->has_calls};
    gt_image_add_numbers(image, owner, "facts", facts, FACTS);
    gt_image_give(image, owner, "parts", items, parts->count * sizeof *items);
    gt_image_give(image, owner, "shapes", shapes, parts->shape_count * sizeof *shapes);
}

/* ---- loading ---- */

/* Sums of everything that the comparison adds up. */
typedef struct sums {
    uint64_t ns, calls;
} sums;

enum { SUM_BITS = 60 };

static bool add_to(uint64_t *sum, uint64_t value)
{
    return !__builtin_add_overflow(*sum, value, sum) && *sum < (uint64_t)1 << SUM_BITS;
}

static uint64_t size_of(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static bool part_is_sound(const gt_step_part *part, uint32_t strings, sums *s)
{
    return part->kind <= GT_PART_IDLE && part->op < strings && part->name < strings &&
           part->normal_name < strings && part->category < strings && part->site < strings &&
           add_to(&s->ns, size_of(part->ns)) && add_to(&s->ns, size_of(part->hidden_ns)) &&
           add_to(&s->calls, part->calls) && add_to(&s->calls, part->op_calls);
}

static bool shape_is_sound(const gt_part_shape *shape, uint32_t strings, size_t parts, sums *s)
{
    return shape->part < parts && shape->shape < strings && add_to(&s->ns, size_of(shape->ns)) &&
           add_to(&s->calls, shape->calls) && add_to(&s->calls, shape->op_calls);
}

static bool are_sound(const gt_step_parts *parts, uint32_t strings)
{
    sums s = {0};
    bool sound = add_to(&s.ns, size_of(parts->step_ns));
    for (size_t i = 0; sound && i < parts->count; i++) sound = part_is_sound(&parts->items[i], strings, &s);
    for (size_t i = 0; sound && i < parts->shape_count; i++)
        sound = shape_is_sound(&parts->shapes[i], strings, parts->count, &s);
    return sound;
}

static void *copy_of(const void *bytes, size_t count, size_t size)
{
    void *copy = gt_alloc((count + 1) * size);
    memcpy(copy, bytes, count * size);
    return copy;
}

bool gt_step_parts_load(const gt_image *image, const gt_interner *strings, gt_step_parts **parts)
{
    size_t count = 0, shape_count = 0;
    int64_t facts[FACTS];
    const void *numbers = gt_image_get_all(image, owner, "facts", sizeof *facts, FACTS);
    const void *items = gt_image_get(image, owner, "parts", sizeof(gt_step_part), &count);
    const void *shapes = gt_image_get(image, owner, "shapes", sizeof(gt_part_shape), &shape_count);
    *parts = NULL;
    if (!numbers && !items && !shapes) return true;
    if (!numbers || !items || !shapes) return false;
    memcpy(facts, numbers, sizeof facts);
    if (facts[STEPS] < 1 || facts[STEPS] >= (int64_t)1 << SUM_BITS) return false;
    gt_step_parts *loaded = gt_alloc_zero(1, sizeof *loaded);
    *loaded = (gt_step_parts){.items = copy_of(items, count, sizeof *loaded->items),
                              .count = count,
                              .capacity = count + 1,
                              .shapes = copy_of(shapes, shape_count, sizeof *loaded->shapes),
                              .shape_count = shape_count,
                              .shape_capacity = shape_count + 1,
                              .step_ns = facts[STEP_NS],
                              .steps = (size_t)facts[STEPS],
                              .has_steps = facts[HAS_STEPS] != 0,
                              .has_calls = facts[HAS_CALLS] != 0};
    if (!are_sound(loaded, gt_interner_count(strings))) {
        gt_step_parts_free(loaded);
        return false;
    }
    loaded->strings = gt_interner_new();
    for (size_t i = 0; i < count; i++) move_part(&loaded->items[i], strings, loaded->strings);
    for (size_t i = 0; i < shape_count; i++)
        loaded->shapes[i].shape = move_id(loaded->shapes[i].shape, strings, loaded->strings);
    *parts = loaded;
    return true;
}
