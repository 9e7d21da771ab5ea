/* CPython's set of small integers, whose hashes are the integers themselves. */
#include "compat/python_set.h"

enum {
    FIRST_SLOTS = 8,
    NEIGHBOURS = 9, /* tried after a slot, if the table has as many */
    SHIFT = 5,
    LARGE = 50000, /* larger sets grow by less */
};

enum { EMPTY = 0, DELETED = 1, FIRST_VALUE = 2 };

static void set_slots(gt_python_set *set, size_t count)
{
    if (set->capacity < count) {
        set->slots = gt_realloc(set->slots, count * sizeof *set->slots);
        set->capacity = count;
    }
    memset(set->slots, 0, count * sizeof *set->slots);
    set->mask = count - 1;
    set->filled = set->used = 0;
}

/* The slot of the entry, or the first empty one on the probe path. *deleted: the last deleted slot on that
 * path, NULL for none. */
static uint64_t *find(const gt_python_set *set, uint64_t entry, uint64_t **deleted)
{
    uint64_t mixed = entry - FIRST_VALUE;
    size_t at = mixed & set->mask;
    *deleted = NULL;
    for (;;) {
        size_t last = at + NEIGHBOURS <= set->mask ? at + NEIGHBOURS : at;
        for (size_t i = at; i <= last; i++) {
            if (set->slots[i] == EMPTY || set->slots[i] == entry) return &set->slots[i];
            if (set->slots[i] == DELETED) *deleted = &set->slots[i];
        }
        mixed >>= SHIFT;
        at = (at * 5 + 1 + mixed) & set->mask;
    }
}

static void grow(gt_python_set *set)
{
    size_t old_count = set->mask + 1, wanted = set->used * (set->used > LARGE ? 2 : 4), count = FIRST_SLOTS;
    while (count <= wanted) count *= 2;
    uint64_t *old = gt_alloc(old_count * sizeof *old), *deleted;
    memcpy(old, set->slots, old_count * sizeof *old);
    set_slots(set, count);
    for (size_t i = 0; i < old_count; i++) {
        if (old[i] < FIRST_VALUE) continue;
        *find(set, old[i], &deleted) = old[i];
        set->used++;
    }
    set->filled = set->used;
    gt_free(old);
}

void gt_python_set_add(gt_python_set *set, uint32_t value)
{
    if (!set->slots) set_slots(set, FIRST_SLOTS);
    uint64_t entry = (uint64_t)value + FIRST_VALUE, *deleted, *slot = find(set, entry, &deleted);
    if (*slot == entry) return;
    set->used++;
    if (deleted) {
        *deleted = entry;
        return;
    }
    *slot = entry;
    set->filled++;
    if (set->filled * 5 >= set->mask * 3) grow(set);
}

void gt_python_set_discard(gt_python_set *set, uint32_t value)
{
    if (!set->slots) return;
    uint64_t entry = (uint64_t)value + FIRST_VALUE, *deleted, *slot = find(set, entry, &deleted);
    if (*slot != entry) return;
    *slot = DELETED;
    set->used--;
}

size_t gt_python_set_slot(const gt_python_set *set, uint32_t value)
{
    uint64_t *deleted;
    return (size_t)(find(set, (uint64_t)value + FIRST_VALUE, &deleted) - set->slots);
}

void gt_python_set_clear(gt_python_set *set)
{
    if (set->slots) set_slots(set, FIRST_SLOTS);
}

void gt_python_set_free(gt_python_set *set)
{
    gt_free(set->slots);
    *set = (gt_python_set){0};
}
