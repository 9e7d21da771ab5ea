/* Memory: allocation that never returns NULL, heaps that track it, growable arrays and arenas.
 *
 * Running out of memory is not passed up as a gt_error, because every function would have to: gt_raise ends
 * the call or the program (base/guard.h). Everything allocated here is freed with gt_free, never with free:
 * in a guarded call a heap tracks the blocks. */
#pragma once

/* The headers of the C library that most files need. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many elements an array has. */
#define GT_LENGTH(array) (sizeof(array) / sizeof *(array))

/* Whether this is a build with AddressSanitizer, which gcc and clang say differently. */
#if defined __SANITIZE_ADDRESS__
#define GT_ADDRESS_SANITIZER true
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define GT_ADDRESS_SANITIZER true
#endif
#endif
#ifndef GT_ADDRESS_SANITIZER
#define GT_ADDRESS_SANITIZER false
#endif

void *gt_alloc(size_t size); /* uninitialised; not NULL for size 0 either */
void *gt_alloc_zero(size_t count, size_t size);
void *gt_realloc(void *old, size_t size); /* if there is no memory, `old` stays as it is */
void gt_free(void *block);                /* also for blocks that malloc returned; NULL does nothing */
/* The same for several blocks: gt_free_all(names, counts). */
#define gt_free_all(...) gt_free_blocks((void *[]){__VA_ARGS__}, GT_LENGTH(((void *[]){__VA_ARGS__})))
void gt_free_blocks(void *const *blocks, size_t count);
char *gt_strdup(const char *text);
/* A formatted string that the caller frees. */
char *gt_format(const char *format, ...) __attribute__((format(printf, 1, 2), nonnull(1)));

/* Hands a block that libc allocated (realpath, getcwd, ...) to the heap of the guarded call. Returns it. */
void *gt_adopt(void *block);

/* A heap: the blocks that one guarded call, or several one after the other, have allocated and not freed. Its
 * functions return NULL instead of raising. */
typedef struct gt_heap gt_heap;
gt_heap *gt_heap_new(void);          /* NULL if there is no memory */
void gt_heap_clear(gt_heap *heap);   /* frees all blocks */
void gt_heap_free(gt_heap *heap);    /* the same, and the heap; NULL does nothing */
gt_heap *gt_heap_use(gt_heap *heap); /* tracks this thread's blocks from now on; returns the heap before */
size_t gt_heap_count(const gt_heap *heap); /* blocks in use, for tests */

/* Makes room for `need` items in a growable array: items = gt_grow(items, &capacity, need, sizeof *items). */
void *gt_grow(void *items, size_t *capacity, size_t need, size_t item_size);

/* Appends one value: GT_PUSH(list->items, list->count, list->capacity, value). */
#define GT_PUSH(items, count, capacity, value)                                                               \
    do {                                                                                                     \
        if ((count) == (capacity)) (items) = gt_grow((items), &(capacity), (count) + 1, sizeof *(items));    \
        (items)[(count)++] = (value);                                                                        \
    } while (0)

/* Sets `at` to the first of [begin, end) for which `is_before`, an expression with `at`, does not hold, or to
 * `end`. It holds for those before it and for no others:
 *
 *     GT_BISECT(at, 0, count, items[at].start_ns < ns); */
#define GT_BISECT(at, begin, end, is_before)                                                                 \
    do {                                                                                                     \
        size_t bisect_begin = (begin), bisect_end = (end);                                                   \
        while (bisect_begin < bisect_end) {                                                                  \
            (at) = (__typeof__(at))(bisect_begin + (bisect_end - bisect_begin) / 2);                         \
            if (is_before)                                                                                   \
                bisect_begin = (at) + 1;                                                                     \
            else                                                                                             \
                bisect_end = (at);                                                                           \
        }                                                                                                    \
        (at) = (__typeof__(at))bisect_begin;                                                                 \
    } while (0)

/* Limits the memory of this guarded call and later ones with its heap, or without a heap that of the program;
 * to be called before other threads allocate. A block that does not fit is raised as an error, which begins
 * with `name`. Only blocks of 4 KiB or more that are allocated here count. 0: no limit. */
void gt_memory_set_limit(uint64_t bytes, const char *name);
uint64_t gt_memory_limit_set(void); /* its bytes; 0: none */

/* For thread-local variables: their memory is there as soon as a thread is. By default, in a library that was
 * loaded with dlopen, it is allocated at their first use, and glibc ends the process if that fails. */
#define GT_THREAD_LOCAL __attribute__((tls_model("initial-exec")))

/* An arena: many small allocations with one owner, freed together. Up to 64 bytes after each may be read (not
 * written), so that loops may read 16 bytes at a time. */
typedef struct gt_arena {
    struct gt_arena_block *blocks;
    char *next, *end;
} gt_arena;

void *gt_arena_alloc(gt_arena *arena, size_t size);                   /* aligned to 8 bytes, uninitialised */
char *gt_arena_bytes(gt_arena *arena, const void *bytes, size_t len); /* a NUL-terminated copy */
char *gt_arena_format(gt_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gt_arena_free(gt_arena *arena);
