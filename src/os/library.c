#include "os/library.h"

#include <dlfcn.h>
#include <string.h>

void *gt_library_open(const char *name, int mode, const gt_library_function *functions, size_t count)
{
    void *library = dlopen(name, mode);
    for (size_t i = 0; library && i < count; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function && !functions[i].is_optional) return NULL;
        memcpy(functions[i].place, &function, sizeof function);
    }
    return library;
}
