/* Memory: allocation that never returns NULL, heaps that track it, growable arrays and arenas.
 *
 * Running out of memory is not passed up as a gt_error, because every function would have to: gt_raise ends
 * the call or the program (base/guard.h). Everything allocated here is freed with gt_free, never with free:
 * in a guarded call a heap tracks the blocks. */
#ifndef GT_BASE_MEMORY_H
#define GT_BASE_MEMORY_H

#include "base/pages/pages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* For memory that is written once and seldom read: with a memory limit, the first to leave memory. */
void *gt_alloc_cold(size_t size);
void *gt_realloc(void *old, size_t size); /* if there is no memory, `old` stays as it is */
/* Gives up the end of a block, as far as that is possible without moving it. */
void gt_trim(void *block, size_t size);
void gt_free(void *block); /* also for blocks that malloc returned; NULL does nothing */
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
void gt_heap_rest(gt_heap *heap);    /* at the end of a call: returns what is kept for reuse to the system */
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

/* For programs, once, before the first allocation: large blocks are pages (base/pages/pages.h) instead of
 * malloc's. In guarded calls they always are. False if there is no memory. */
bool gt_memory_use_pages(void);
/* Limits the memory of this guarded call, or without one of the program, which uses pages then. */
void gt_memory_set_limit(const gt_pages_limits *limits);
uint64_t gt_memory_limit_set(void); /* its bytes; 0: none */
/* Keeps within the limit. Cheap; called between parts of long work. */
void gt_memory_poll(void);
/* The same for loops with short rounds: in every 16th. That many pages of different ranks are about as much
 * as may become resident in between. */
static inline void gt_memory_poll_at(size_t round)
{
    if (round % 16 == 0) gt_memory_poll();
}

/* For a program: blocks from 16 KiB on that this thread allocates from now on are outside memory, in a
 * temporary file, for what is kept of each of many traces. Their pages are resident while they are used, as
 * long as the process does not need more memory than it needs to read a trace. Returns the setting before.
 * Does nothing in a guarded call, or if the user has set a limit: that decides then. */
bool gt_memory_outside(bool on);

/* Copies bytes of one block. Of a block outside memory, no page becomes resident: for bytes that are far
 * apart, because the system maps 64 KiB at each access. */
void gt_memory_read(void *to, const void *from, size_t bytes);
bool gt_memory_is_outside(const void *block);

typedef enum gt_outside_rest {
    GT_OUTSIDE_KEPT,     /* after a trace */
    GT_OUTSIDE_ALL_READ, /* after all of them: what was kept to read more is given back, too */
    GT_OUTSIDE_END       /* all blocks are freed */
} gt_outside_rest;
/* Takes all such pages out of resident memory. */
void gt_memory_outside_rest(gt_outside_rest kind);

/* Returns freed memory to the system, after a step that needed much for a short time. Does nothing in a
 * guarded call, and nothing if many threads share the memory (gt_memory_touch_with) and it has no limit. */
void gt_memory_trim(void);
/* Returns freed large blocks to the system: before many small blocks are allocated, which cannot use their
 * memory again. Nothing if many threads share the memory, as above. */
void gt_memory_give_back(void);
/* A program that makes one thing in steps, each with its own code and its own large blocks: between two
 * steps, gt_memory_next_step returns freed large blocks and the pages of the program's code to the system, so
 * that only those of the next step are in memory. It does nothing in a guarded call, and nothing if the
 * program has not said that it works in steps. */
void gt_memory_in_steps(bool on);
void gt_memory_next_step(void);
/* The program has little left to do: from now on, its freed pages are not returned to the system one by one.
 */
void gt_memory_ends(void);

/* Says that many threads allocate, if there is a function: it is called with each large block of memory that
 * the system has not given pages yet, before it is given out: its bytes are 0 and stay so. And fewer freed
 * pages are returned to the system. For base/team.c. */
typedef void gt_touch_function(void *begin, size_t bytes);
void gt_memory_touch_with(gt_touch_function *function);

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

#endif
