/* Growing byte buffers, ASCII classes, and reading and repairing UTF-8. */
#pragma once

#include "base/interner.h"
#include "base/memory.h"

typedef struct gt_buffer {
    char *bytes;
    size_t len, capacity;
} gt_buffer;

char *gt_buffer_reserve(gt_buffer *buffer,
                        size_t need); /* room for `need` more bytes; the caller adds what it wrote to len */
void gt_buffer_add(gt_buffer *buffer, const void *bytes, size_t len);
void gt_buffer_add_cstr(gt_buffer *buffer, const char *text);
void gt_buffer_add_int(gt_buffer *buffer, int64_t value);
void gt_buffer_add_double(gt_buffer *buffer, double value); /* as gt_print_double */
void gt_buffer_add_format(gt_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gt_buffer_add_spaces(gt_buffer *buffer, size_t count);
void gt_buffer_add_code_point(gt_buffer *buffer, uint32_t code_point); /* as UTF-8 */
gt_str gt_buffer_str(gt_buffer *buffer);                               /* its bytes, NUL-terminated */
char *gt_buffer_take(gt_buffer *buffer); /* its bytes, NUL-terminated, which the caller frees; empties it */
char *gt_buffer_move(gt_buffer *buffer, gt_arena *arena); /* the same, but as a copy in the arena */
void gt_buffer_free(gt_buffer *buffer);

/* ASCII only, in every locale. */
static inline bool gt_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool gt_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool gt_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

enum { GT_REPLACEMENT = 0xFFFD };

/* The code point at *place, which moves past it. Invalid bytes give U+FFFD, one for each run that could have
 * been the beginning of a character, as Python's errors="replace" does. */
uint32_t gt_utf8_next(const char **place, const char *end);
size_t gt_utf8_put(char *out, uint32_t code_point); /* writes UTF-8, at most 4 bytes; returns how many */
bool gt_utf8_is_valid(gt_str text);
/* The text itself if it is valid, otherwise a repaired copy in `scratch`, which is emptied first. */
gt_str gt_utf8_repair(gt_str text, gt_buffer *scratch);
