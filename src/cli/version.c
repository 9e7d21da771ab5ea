/* `gputally --version --verbose`: which build this is, what it is made of, and what it would use on this
 * machine. For bug reports, and to see why two machines differ.
 *
 * Versions of libraries are those that are loaded now, where the library tells; otherwise those of the
 * headers. */
#include "cli/version.h"

#include "base/memory_limit.h"
#include "base/threads.h"
#include "commit.h"
#include "index/build.h"
#include "index/index.h"
#include "json/scan_set.h"
#include "os/library.h"
#include "os/paths.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <dlfcn.h>
#include <expat.h>
#include <libdeflate.h>
#include <pcre2.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <zlib.h>
#include <zstd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#if __has_include(<isa-l.h>)
#include <isa-l.h>
#endif

#ifndef GT_BUILD_TYPE
#define GT_BUILD_TYPE ""
#endif

static void print_row(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%-12s  %s\n", name, text);
}

/* ---- the build ---- */

static void print_build(FILE *out)
{
    gt_buffer text = {0};
#ifdef GT_PORTABLE
    gt_buffer_add_cstr(&text, "portable: one static file");
#else
    gt_buffer_add_cstr(&text, "normal: with shared libraries");
#endif
    if (GT_BUILD_TYPE[0]) gt_buffer_add_cstr(&text, ", " GT_BUILD_TYPE);
#if defined(__clang__)
    gt_buffer_add_cstr(&text, ", compiled by clang " __clang_version__);
#elif defined(__GNUC__)
    gt_buffer_add_cstr(&text, ", compiled by gcc " __VERSION__);
#endif
    if (GT_ADDRESS_SANITIZER) gt_buffer_add_cstr(&text, ", with AddressSanitizer");
    print_row(out, "commit", GT_COMMIT[0] ? GT_COMMIT : "unknown");
    print_row(out, "build", gt_buffer_str(&text).bytes);
    text.len = 0;
    gt_buffer_add_format(&text, "%016" PRIx64, gt_build_number());
    print_row(out, "build id", gt_build_number() ? gt_buffer_str(&text).bytes : "none");
    gt_buffer_free(&text);
}

/* ---- libraries ---- */

/* The version of Cairo if it can be loaded, as the first figure would load it. */
static void add_cairo(gt_buffer *text)
{
#ifdef GT_PORTABLE
    gt_buffer_add_cstr(text, "Cairo built in");
#else
    const char *(*version)(void);
    const gt_library_function functions[] = {{"cairo_version_string", &version, false}};
    if (gt_library_open("libcairo.so.2", RTLD_LAZY | RTLD_LOCAL, functions, 1))
        gt_buffer_add_format(text, "Cairo %s, loaded when the first figure is drawn", version());
    else
        gt_buffer_add_cstr(text, "Cairo is not installed: figures cannot be drawn");
#endif
}

static void print_libraries(FILE *out)
{
    gt_buffer text = {0};
    char pcre2[64] = "";
    pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    pcre2[strcspn(pcre2, " ")] = 0; /* a date follows */
    gt_buffer_add_format(&text, "zlib %s, libdeflate %s, zstd %s, SQLite %s, PCRE2 %s", zlibVersion(),
                         LIBDEFLATE_VERSION_STRING, ZSTD_versionString(), sqlite3_libversion(), pcre2);
    const char *expat = XML_ExpatVersion(); /* "expat_2.5.0" */
    gt_buffer_add_format(&text, ", Expat %s", strchr(expat, '_') ? strchr(expat, '_') + 1 : expat);
#ifdef ISAL_MAJOR_VERSION
    gt_buffer_add_format(&text, ", ISA-L %d.%d.%d", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION,
                         ISAL_PATCH_VERSION);
#endif
    print_row(out, "libraries", gt_buffer_str(&text).bytes);
    text.len = 0;
#ifdef __GLIBC__
    gt_buffer_add_format(&text, "glibc %s", gnu_get_libc_version());
#else
    gt_buffer_add_cstr(&text, "not glibc");
#endif
    print_row(out, "C library", gt_buffer_str(&text).bytes);
    text.len = 0;
    add_cairo(&text);
    print_row(out, "figures", gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

/* ---- the machine ---- */

/* Pools follow the limits of control groups and RLIMIT_DATA. That of addresses counts also what is reserved
 * and not used, so that nothing can be derived from it. */
static void add_address_limit(gt_buffer *text)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        gt_buffer_add_format(text, "; addresses are limited to %.1f GiB (ulimit -v), which is not followed",
                             (double)limit.rlim_cur / 0x1p30);
}

static void print_machine(FILE *out)
{
    struct utsname system;
    gt_buffer text = {0};
    if (uname(&system) == 0) {
        gt_buffer_add_format(&text, "%s %s, %s", system.sysname, system.release, system.machine);
        print_row(out, "system", gt_buffer_str(&text).bytes);
    }
    text.len = 0;
    gt_buffer_add_format(&text, "%s in use; usable:", gt_scan_set_name(gt_scan_set_chosen()));
    for (int set = 0; set < GT_SCAN_SETS; set++)
        if (gt_scan_set_is_usable((gt_scan_set)set))
            gt_buffer_add_format(&text, " %s", gt_scan_set_name((gt_scan_set)set));
    if (getenv("GPUTALLY_SIMD")) gt_buffer_add_cstr(&text, "; chosen by $GPUTALLY_SIMD");
    print_row(out, "instructions", gt_buffer_str(&text).bytes);
    text.len = 0;
    gt_memory_bound bound = gt_memory_bound_find(0);
    gt_buffer_add_format(&text, "%u", gt_memory_threads(bound, gt_threads_default()));
    print_row(out, "threads", gt_buffer_str(&text).bytes);
    text.len = 0;
    if (bound.bytes)
        gt_buffer_add_format(&text, "%.1f GiB (%s)", (double)bound.bytes / 0x1p30, bound.name);
    else
        gt_buffer_add_cstr(&text, "no limit set; --max_memory sets one");
    add_address_limit(&text);
    print_row(out, "memory", gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

/* The folder in which the first missing folder of a path would be made; it must be freed. */
static char *existing_part(const char *path)
{
    char *part = gt_strdup(path);
    struct stat status;
    while (stat(part, &status) != 0 && strcmp(part, "/") != 0 && strcmp(part, ".") != 0) {
        char *above = gt_path_folder(part);
        gt_free(part);
        part = above;
    }
    return part;
}

/* Says what is wrong with a folder. `made`: gputally makes it when it needs it. */
static void print_folder(FILE *out, const char *name, const char *path, bool made)
{
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, path);
    char *part = existing_part(path);
    bool missing = strcmp(part, path) != 0 && !gt_path_is_folder(path);
    if (missing && !made)
        gt_buffer_add_cstr(&text, " (does not exist)");
    else if (!gt_path_is_folder(part))
        gt_buffer_add_format(&text, " (%s is not a folder)", part);
    else if (access(part, W_OK | X_OK) != 0)
        gt_buffer_add_cstr(&text, missing ? " (does not exist and cannot be made)" : " (cannot be written)");
    else if (missing)
        gt_buffer_add_cstr(&text, " (does not exist yet)");
    print_row(out, name, gt_buffer_str(&text).bytes);
    gt_free(part);
    gt_buffer_free(&text);
}

static void print_paths(FILE *out)
{
    gt_arena arena = {0};
    const char *program = gt_path_program(&arena);
    char *cache = gt_index_cache_folder();
    print_row(out, "program", program ? program : "unknown");
    gt_arena_free(&arena);
    print_folder(out, "temporary", gt_path_temporary_folder(), false);
    if (cache)
        print_folder(out, "indexes", cache, true);
    else
        print_row(out, "indexes", "next to traces only: neither $XDG_CACHE_HOME nor $HOME is set");
    gt_free(cache);
}

void gt_version_print(FILE *out)
{
    fprintf(out, "gputally %s\n", GT_VERSION);
}

void gt_version_print_verbose(FILE *out)
{
    gt_version_print(out);
    print_build(out);
    print_libraries(out);
    print_machine(out);
    print_paths(out);
}
