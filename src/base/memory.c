/* Allocation that cannot fail from the caller's view, growable arrays by doubling, arenas of 64 KiB blocks.
 */
#include "base/memory.h"
#include "base/length.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr, "gputally: out of memory: %zu more bytes could not be had\n", size);
    exit(1);
}

void *gt_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p) out_of_memory(size);
    return p;
}

void *gt_alloc_zero(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p) out_of_memory(count * size);
    return p;
}

void *gt_realloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p) out_of_memory(size);
    return p;
}

char *gt_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(gt_alloc(size), text, size);
}

char *gt_format(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *text = gt_alloc((size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void *gt_grow(void *items, size_t *capacity, size_t need, size_t item_size)
{
    if (need <= *capacity) return items;
    size_t wanted = *capacity + *capacity / 2 + 8;
    if (wanted < need) wanted = need;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, item_size, &bytes)) out_of_memory(SIZE_MAX);
    *capacity = wanted;
    return gt_realloc(items, bytes);
}

void gt_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

struct gt_arena_block {
    struct gt_arena_block *before;
    char data[];
};

enum { ARENA_BLOCK_BYTES = 64 * 1024, ARENA_SLACK = 64 };

void *gt_arena_alloc(gt_arena *arena, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (!arena->blocks || (size_t)(arena->end - arena->next) < size) {
        size_t room = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
        struct gt_arena_block *block = gt_alloc(sizeof *block + room + ARENA_SLACK);
        block->before = arena->blocks;
        arena->blocks = block;
        arena->next = block->data;
        arena->end = block->data + room;
    }
    void *p = arena->next;
    arena->next += size;
    return p;
}

char *gt_arena_bytes(gt_arena *arena, const void *bytes, size_t len)
{
    char *copy = gt_arena_alloc(arena, len + 1);
    if (len) memcpy(copy, bytes, len);
    copy[len] = 0;
    return copy;
}

char *gt_arena_format(gt_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *text = gt_arena_alloc(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void gt_arena_free(gt_arena *arena)
{
    for (struct gt_arena_block *block = arena->blocks, *before; block; block = before) {
        before = block->before;
        free(block);
    }
    *arena = (gt_arena){0};
}

/* The limits of control groups, of version 2 and 1, as a container sees its own. */
static const char *const limit_files[] = {"/sys/fs/cgroup/memory.max",
                                          "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

uint64_t gt_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t limit = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
    for (size_t i = 0; i < GT_LENGTH(limit_files); i++) {
        FILE *file = fopen(limit_files[i], "re");
        unsigned long long bytes;
        if (file && fscanf(file, "%llu", &bytes) == 1 && bytes && (!limit || bytes < limit))
            limit = bytes; /* "max": none */
        if (file) fclose(file);
    }
    return limit;
}
