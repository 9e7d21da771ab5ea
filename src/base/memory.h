/* Memory that is there or ends the program with one sentence, growable arrays, and arenas.
 *
 * Running out of memory is the one failure that is not passed up as a gt_error: nothing sensible is left to
 * do. */
#ifndef GT_BASE_MEMORY_H
#define GT_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *gt_alloc(size_t size); /* uninitialised; never NULL, also for size 0 */
void *gt_alloc_zero(size_t count, size_t size);
void *gt_realloc(void *old, size_t size);
char *gt_strdup(const char *text);
char *gt_format(const char *format, ...)
    __attribute__((format(printf, 1, 2), nonnull(1))); /* the caller frees it */

/* Makes room for `need` elements in a growable array: items = gt_grow(items, &capacity, need, sizeof *items).
 */
void *gt_grow(void *items, size_t *capacity, size_t need, size_t item_size);

/* Appends one value: GT_PUSH(list->items, list->count, list->capacity, value). */
#define GT_PUSH(items, count, capacity, value)                                                               \
    do {                                                                                                     \
        if ((count) == (capacity)) (items) = gt_grow((items), &(capacity), (count) + 1, sizeof *(items));    \
        (items)[(count)++] = (value);                                                                        \
    } while (0)

/* Gives memory that was freed back to the system: after a step that needed much for a short time. */
void gt_memory_trim(void);

/* Bytes of memory that this process may use: what the machine has, or its control group allows; 0 where
 * neither says. */
uint64_t gt_memory_limit(void);

/* An arena: many small allocations with one owner, freed together. Up to 64 bytes behind each may be read
 * (not written), so that loops over 16 bytes at a time need not stop short. */
typedef struct gt_arena {
    struct gt_arena_block *blocks;
    char *next, *end;
} gt_arena;

void *gt_arena_alloc(gt_arena *arena, size_t size);                   /* aligned to 8 bytes, uninitialised */
char *gt_arena_bytes(gt_arena *arena, const void *bytes, size_t len); /* a copy with a NUL behind it */
char *gt_arena_format(gt_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gt_arena_free(gt_arena *arena);

#endif
