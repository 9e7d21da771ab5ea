/* Cairo, loaded when the first figure is drawn: linking it, and the fifteen libraries that it needs, would
 * double the start time of every command. */
#include "output/figure/cairo.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const char LIBRARY[] = "libcairo.so.2";

static gt_cairo functions;
static gt_error load_failure;
static bool is_loaded;

static bool find_function(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (!found) return gt_fail(&load_failure, "cannot draw figures: %s has no %s", LIBRARY, name);
    memcpy(function, &found, sizeof found);
    return true;
}

static void load_once(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        gt_fail(&load_failure, "cannot draw figures without Cairo (Debian package libcairo2): %.800s",
                dlerror());
        return;
    }
#define GT_FIND(name) &&find_function(library, "cairo_" #name, &functions.name)
    is_loaded = true GT_CAIRO_FUNCTIONS(GT_FIND);
#undef GT_FIND
}

const gt_cairo *gt_cairo_open(gt_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    if (is_loaded) return &functions;
    *error = load_failure;
    return NULL;
}
