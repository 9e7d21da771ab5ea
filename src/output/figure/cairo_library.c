/* Looks up Cairo's functions in its shared library, once; see cairo_library.h. */
#include "output/figure/cairo_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const char LIBRARY[] = "libcairo.so.2";

static gt_cairo functions;
static gt_error failure;
static bool loaded;

static bool look_up(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (!found) return gt_fail(&failure, "figures cannot be drawn: %s has no %s", LIBRARY, name);
    memcpy(function, &found, sizeof found);
    return true;
}

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        gt_fail(&failure, "figures cannot be drawn without the library Cairo (Debian: libcairo2): %.800s",
                dlerror());
        return;
    }
#define GT_LOOK_UP(name) &&look_up(library, "cairo_" #name, &functions.name)
    loaded = true GT_CAIRO_FUNCTIONS(GT_LOOK_UP);
#undef GT_LOOK_UP
}

const gt_cairo *gt_cairo_load(gt_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (loaded) return &functions;
    *error = failure;
    return NULL;
}
