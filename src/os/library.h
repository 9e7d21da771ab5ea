/* Optional libraries, which are loaded when they are needed. gputally-helper uses this file as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct gt_library_function {
    const char *name;
    void *place;      /* the address of a pointer to a function, which is set */
    bool is_optional; /* without it, the pointer is NULL */
} gt_library_function;

/* Loads a library and finds its functions; `mode` is that of dlopen. NULL if there is no such library or a
 * function is missing, which dlerror() then says. */
void *gt_library_open(const char *name, int mode, const gt_library_function *functions, size_t count);
