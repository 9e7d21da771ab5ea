/* Cairo, loaded when the first figure is drawn: linking it, and the fifteen libraries that it needs, would
 * double the start time of every command. */
#include "output/figure/cairo.h"
#include "os/library.h"

#include <dlfcn.h>
#include <pthread.h>

static gt_cairo functions;
static gt_error failure;

static void load_once(void)
{
#define GT_ROW(name) {"cairo_" #name, &functions.name},
    static const gt_library_function rows[] = {GT_CAIRO_FUNCTIONS(GT_ROW)};
#undef GT_ROW
    if (!gt_library_open("libcairo.so.2", RTLD_NOW | RTLD_LOCAL, rows, GT_LENGTH(rows)))
        gt_fail(&failure, "cannot draw figures without Cairo (Debian package libcairo2): %.800s", dlerror());
}

const gt_cairo *gt_cairo_open(gt_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    if (!*failure.text) return &functions;
    *error = failure;
    return NULL;
}
