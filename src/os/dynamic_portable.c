/* What dlopen and its relatives do in the portable program: they fail.
 *
 * glibc's dlopen in a static program loads only libraries that were built with exactly its version of glibc,
 * and crashes with others. SQLite refers to these functions for extensions, which gputally never loads. The
 * linker replaces all references to dlopen by __wrap_dlopen, and so on (--wrap, CMakeLists.txt). */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *library, const char *name);
int __wrap_dlclose(void *library);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *file, int mode)
{
    (void)file, (void)mode;
    return NULL;
}

void *__wrap_dlsym(void *library, const char *name)
{
    (void)library, (void)name;
    return NULL;
}

int __wrap_dlclose(void *library)
{
    (void)library;
    return -1;
}

char *__wrap_dlerror(void)
{
    static char text[] = "the portable program loads no libraries";
    return text;
}
