/* What the shared library does to the process that uses it: nothing.
 *
 * This program is linked with libgputally.so only. It makes and writes reports of all kinds of traces, in
 * four threads, with too little memory and on a full disk, and after every call compares the state of the
 * process with the state before: signal handlers, signal mask, environment, locale, current folder, umask,
 * limits, open descriptors, threads, and what was written to standard output and error.
 *
 * Running out of memory is tested as SQLite does it: malloc, mmap and their relatives are replaced here, and
 * allocation number N fails, for N = 1, 2, 3, ... (a sample of them if there are many), once alone and once
 * with all that follow. Each call must fail with a message or give the same report as without the failure,
 * must leave no memory behind, and the next call must succeed. This covers the allocations of SQLite, zlib,
 * zstd and libc, too.
 *
 * Expected reports are those of the same call without a failure; what they contain is tested elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gputally/gputally.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

extern char **environ;

/* ---- failing allocations ---- */

#if defined __SANITIZE_ADDRESS__
#define CAN_FAIL_ALLOCATIONS 0
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define CAN_FAIL_ALLOCATIONS 0
#endif
#endif
#ifndef CAN_FAIL_ALLOCATIONS
#ifdef __GLIBC__
#define CAN_FAIL_ALLOCATIONS 1
#else
#define CAN_FAIL_ALLOCATIONS 0
#endif
#endif

static atomic_bool counting;        /* allocations are counted, and the blocks followed */
static atomic_long allocation;      /* number of the last one */
static atomic_long failing_from;    /* number of the first that fails; 0: none does */
static atomic_bool failing_onwards; /* all after it fail, too */
static atomic_long failed_count;

enum { BLOCKS = 1 << 18 };
static void *blocks[BLOCKS]; /* in use and allocated while counting; linear probing */
static size_t block_count;
static atomic_long mapped; /* bytes, while counting */

#if CAN_FAIL_ALLOCATIONS
static atomic_flag blocks_lock = ATOMIC_FLAG_INIT;

/* Blocks of two functions of libc are not followed: what pthread_create allocates belongs to a stack, which
 * libc keeps for the next thread; and regcomp does not free everything when it fails. */
static _Thread_local bool is_in_libc;
static int (*create_thread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    is_in_libc = true;
    int result = create_thread(thread, attributes, run, argument);
    is_in_libc = false;
    return result;
}

static int (*compile_regex)(regex_t *, const char *, int);

int regcomp(regex_t *restrict regex, const char *restrict pattern, int flags)
{
    is_in_libc = true;
    int result = compile_regex(regex, pattern, flags);
    is_in_libc = false;
    return result;
}

static void find_libc_functions(void)
{
    *(void **)&create_thread = dlsym(RTLD_NEXT, "pthread_create");
    *(void **)&compile_regex = dlsym(RTLD_NEXT, "regcomp");
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *block);

static size_t home_of(const void *block)
{
    return (size_t)(((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 46) % BLOCKS;
}

static void lock_blocks(void)
{
    while (atomic_flag_test_and_set(&blocks_lock)) {
    }
}

static void follow(void *block)
{
    if (!block || is_in_libc || !atomic_load(&counting)) return;
    lock_blocks();
    if (block_count < BLOCKS / 2) {
        size_t at = home_of(block);
        while (blocks[at]) at = (at + 1) % BLOCKS;
        blocks[at] = block;
        block_count++;
    }
    atomic_flag_clear(&blocks_lock);
}

static void forget(void *block)
{
    if (!block || !atomic_load(&counting)) return;
    lock_blocks();
    size_t at = home_of(block);
    while (blocks[at] && blocks[at] != block) at = (at + 1) % BLOCKS;
    if (blocks[at]) {
        block_count--;
        blocks[at] = NULL;
        for (size_t next = (at + 1) % BLOCKS; blocks[next]; next = (next + 1) % BLOCKS) {
            void *moved = blocks[next];
            blocks[next] = NULL;
            size_t to = home_of(moved);
            while (blocks[to]) to = (to + 1) % BLOCKS;
            blocks[to] = moved;
        }
    }
    atomic_flag_clear(&blocks_lock);
}

static bool must_fail(void)
{
    if (!atomic_load(&counting)) return false;
    long number = atomic_fetch_add(&allocation, 1) + 1, from = atomic_load(&failing_from);
    bool fails = from && (number == from || (number > from && atomic_load(&failing_onwards)));
    if (fails) {
        atomic_fetch_add(&failed_count, 1);
        errno = ENOMEM;
    }
    return fails;
}

void *malloc(size_t size)
{
    if (must_fail()) return NULL;
    void *block = __libc_malloc(size);
    follow(block);
    return block;
}

void *calloc(size_t count, size_t size)
{
    if (must_fail()) return NULL;
    void *block = __libc_calloc(count, size);
    follow(block);
    return block;
}

void *realloc(void *old, size_t size)
{
    if (must_fail()) return NULL;
    forget(old);
    void *block = __libc_realloc(old, size);
    follow(block ? block : old);
    return block;
}

void free(void *block)
{
    forget(block);
    __libc_free(block);
}

/* Large blocks are mapped. */

static void count_mapped(long bytes)
{
    if (atomic_load(&counting)) atomic_fetch_add(&mapped, bytes);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
    if (must_fail()) return MAP_FAILED;
    long result = syscall(SYS_mmap, address, bytes, protection, flags, descriptor, offset);
    if (result == -1) return MAP_FAILED;
    count_mapped((long)bytes);
    return (void *)result;
}

int munmap(void *address, size_t bytes)
{
    int result = (int)syscall(SYS_munmap, address, bytes);
    if (result == 0) count_mapped(-(long)bytes);
    return result;
}

/* The library uses it only to move pages onto others of its own. */
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *target = va_arg(more, void *);
    va_end(more);
    assert_true(flags == (MREMAP_MAYMOVE | MREMAP_FIXED) && bytes == old_bytes);
    if (must_fail()) return MAP_FAILED;
    long result = syscall(SYS_mremap, old, old_bytes, bytes, flags, target);
    if (result == -1) return MAP_FAILED;
    count_mapped(-(long)bytes);
    return (void *)result;
}
#endif

static void start_counting(long first_failing, bool onwards)
{
    memset(blocks, 0, sizeof blocks);
    block_count = 0;
    atomic_store(&mapped, 0);
    atomic_store(&allocation, 0);
    atomic_store(&failed_count, 0);
    atomic_store(&failing_from, first_failing);
    atomic_store(&failing_onwards, onwards);
    atomic_store(&counting, true);
}

static void let_succeed(void)
{
    atomic_store(&failing_from, 0);
}

static void stop_counting(void)
{
    atomic_store(&counting, false);
}

/* ---- the state of the process ---- */

enum { SIGNALS = 65, DESCRIPTORS = 64 };

typedef struct process_state {
    struct sigaction actions[SIGNALS];
    sigset_t mask;
    mode_t umask_bits;
    char folder[4096], locale_name[256];
    uint64_t environment;
    struct rlimit limits[RLIM_NLIMITS];
    bool is_open[DESCRIPTORS];
    off_t printed[2]; /* to standard output and error */
    size_t threads;
} process_state;

static uint64_t add_to_hash(uint64_t hash, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3u;
    return hash;
}

static size_t count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static off_t size_of_descriptor(int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 ? status.st_size : -1;
}

static process_state *take_state(void)
{
    process_state *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int i = 1; i < SIGNALS; i++) sigaction(i, NULL, &s->actions[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    s->umask_bits = umask(022);
    umask(s->umask_bits);
    assert_non_null(getcwd(s->folder, sizeof s->folder));
    snprintf(s->locale_name, sizeof s->locale_name, "%s", setlocale(LC_ALL, NULL));
    for (char **variable = environ; *variable; variable++)
        s->environment = add_to_hash(s->environment, *variable, strlen(*variable) + 1);
    for (int i = 0; i < (int)RLIM_NLIMITS; i++) getrlimit((__rlimit_resource_t)i, &s->limits[i]);
    for (int i = 0; i < DESCRIPTORS; i++) s->is_open[i] = fcntl(i, F_GETFD) >= 0;
    for (int i = 0; i < 2; i++) s->printed[i] = size_of_descriptor(i + 1);
    s->threads = count_threads();
    return s;
}

/* A thread that was joined may be listed for a moment still. */
static void wait_for_threads(size_t count)
{
    for (int i = 0; i < 1000 && count_threads() > count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(count_threads(), count);
}

static void expect_state(process_state *before)
{
    wait_for_threads(before->threads);
    process_state *after = take_state();
    for (int i = 1; i < SIGNALS; i++) {
        assert_true(before->actions[i].sa_handler == after->actions[i].sa_handler);
        assert_int_equal(before->actions[i].sa_flags, after->actions[i].sa_flags);
        assert_memory_equal(&before->actions[i].sa_mask, &after->actions[i].sa_mask,
                            8); /* the kernel has 64 */
        assert_int_equal(sigismember(&before->mask, i), sigismember(&after->mask, i));
    }
    assert_int_equal(before->umask_bits, after->umask_bits);
    assert_string_equal(before->folder, after->folder);
    assert_string_equal(before->locale_name, after->locale_name);
    assert_true(before->environment == after->environment);
    assert_memory_equal(before->limits, after->limits, sizeof before->limits);
    assert_memory_equal(before->is_open, after->is_open, sizeof before->is_open);
    assert_memory_equal(before->printed, after->printed, sizeof before->printed);
    free(after);
    free(before);
}

/* While a test runs, standard output and error are files, whose sizes tell whether anything was printed. */
static int saved_outputs[2];

static int hide_outputs(void **state)
{
    (void)state;
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        char name[] = "/tmp/gputally-library-output-XXXXXX";
        int file = mkstemp(name);
        unlink(name);
        saved_outputs[i] = dup(i + 1);
        dup2(file, i + 1);
        close(file);
    }
    return 0;
}

static int show_outputs(void **state)
{
    (void)state;
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        char text[4096];
        ssize_t len = pread(i + 1, text, sizeof text, 0); /* what cmocka printed, if a test failed */
        dup2(saved_outputs[i], i + 1);
        close(saved_outputs[i]);
        if (len > 0 && write(2, text, (size_t)len) < 0) return 1;
    }
    return 0;
}

/* ---- traces ---- */

static char folder[] = "/tmp/gputally-library-XXXXXX";

/* A path in the scratch folder; eight of them are kept. */
static const char *in_folder(const char *name)
{
    static _Thread_local char paths[8][256];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static char *read_bytes(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct stat status;
    fstat(fileno(file), &status);
    char *bytes = malloc((size_t)status.st_size + 1);
    *len = fread(bytes, 1, (size_t)status.st_size, file);
    fclose(file);
    return bytes;
}

static void write_gzip(const char *path, const void *bytes, size_t len)
{
    gzFile file = gzopen(path, "wb1");
    assert_int_equal(gzwrite(file, bytes, (unsigned)len), len);
    assert_int_equal(gzclose(file), Z_OK);
}

static void write_zstd(const char *path, const void *bytes, size_t len)
{
    size_t room = ZSTD_compressBound(len);
    char *packed = malloc(room);
    size_t packed_len = ZSTD_compress(packed, room, bytes, len, 1);
    assert_false(ZSTD_isError(packed_len));
    write_bytes(path, packed, packed_len);
    free(packed);
}

/* A PyTorch trace: an aten::mm that launches a kernel, and a copy, again and again. */
static void write_pytorch_trace(const char *path, int repetitions)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}}",
          file);
    for (int i = 0; i < repetitions; i++) {
        int at = i * 100, link = 2 * i + 1;
        fprintf(
            file,
            ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":"
            "20,"
            "\"args\":{\"External id\":%d,\"Input Dims\":[[4,8],[8,%d]],\"Input type\":[\"c10::BFloat16\","
            "\"c10::BFloat16\"],\"Input Strides\":[[8,1],[2,1]],\"Concrete Inputs\":[\"\",\"\"]}}"
            ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipLaunchKernel\",\"pid\":1,\"tid\":1,"
            "\"ts\":%d,\"dur\":2,\"args\":{\"External id\":%d,\"correlation\":%d}}"
            ",\n{\"ph\":\"s\",\"id\":%d,\"pid\":1,\"tid\":1,\"ts\":%d,\"cat\":\"ac2g\",\"name\":\"ac2g\"}"
            ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"Cijk_%d\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":"
            "3,"
            "\"args\":{\"External id\":%d,\"correlation\":%d,\"device\":0,\"stream\":7}}"
            ",\n{\"ph\":\"f\",\"id\":%d,\"pid\":0,\"tid\":7,\"ts\":%d,\"cat\":\"ac2g\",\"name\":\"ac2g\","
            "\"bp\":\"e\"}",
            at, link, 2 + i % 5, at + 2, link, link, link, at + 2, i % 7, at + 30, link, link, link, at + 30);
    }
    fputs("]}\n", file);
    assert_int_equal(fclose(file), 0);
}

static int run_gputally(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && %s %s >/dev/null 2>&1", folder, GT_TEST_PROGRAM, arguments);
    return system(command);
}

static int make_traces(void **state)
{
    (void)state;
    size_t len;
    assert_non_null(mkdtemp(folder));
    char *json = read_bytes(GT_TEST_SOURCE "/tests/fixtures/rocprof/tiny_results.json", &len);
    write_bytes(in_folder("tiny_results.json"), json, len);
    write_gzip(in_folder("rocprof.json.gz"), json, len);
    write_zstd(in_folder("rocprof.json.zst"), json, len);
    mkdir(in_folder("run"), 0777);
    write_bytes(in_folder("run/1_results.json"), json, len);
    write_bytes(in_folder("cut.json"), json, len / 2);
    free(json);
    assert_int_equal(run_gputally("convert tiny_results.json rocprof.pftrace"), 0);
    assert_int_equal(run_gputally("convert tiny_results.json rocprof.db"), 0);
    write_pytorch_trace(in_folder("pytorch.json"), 20);
    write_pytorch_trace(in_folder("large.json"), 8200);
    assert_int_equal(run_gputally("convert pytorch.json pytorch.pftrace"), 0);
    json = read_bytes(in_folder("large.json"), &len);
    assert_true(len > 5 << 20); /* more than one thread reads it */
    write_gzip(in_folder("large.json.gz"), json, len);
    write_zstd(in_folder("large.json.zst"), json, len);
    free(json);
    char *profile = read_bytes(GT_TEST_SOURCE "/tests/fixtures/jax/products.xplane.pb.gz", &len);
    mkdir(in_folder("jax"), 0777);
    mkdir(in_folder("jax/plugins"), 0777);
    mkdir(in_folder("jax/plugins/profile"), 0777);
    mkdir(in_folder("jax/plugins/profile/2024"), 0777);
    write_bytes(in_folder("jax/plugins/profile/2024/host.xplane.pb.gz"), profile, len);
    mkdir(in_folder("hosts"), 0777);
    write_bytes(in_folder("hosts/a.xplane.pb.gz"), profile, len);
    write_bytes(in_folder("hosts/b.xplane.pb.gz"), profile, len);
    free(profile);
    mkdir(in_folder("out"), 0777);
    return 0;
}

static int remove_traces(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static size_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

/* ---- reports ---- */

typedef struct report_case {
    const char *trace;
    gputally_kind kind;
    const char *threads;
} report_case;

static const report_case cases[] = {
    {"tiny_results.json", GPUTALLY_ROCPROF, "1"},
    {"rocprof.json.gz", GPUTALLY_ROCPROF, "1"},
    {"rocprof.json.zst", GPUTALLY_ROCPROF, "1"},
    {"rocprof.pftrace", GPUTALLY_ROCPROF, "1"},
    {"rocprof.db", GPUTALLY_ROCPROF, "1"},
    {"run", GPUTALLY_ROCPROF, "1"},
    {"pytorch.json", GPUTALLY_PYTORCH, "1"},
    {"pytorch.pftrace", GPUTALLY_PYTORCH, "1"},
    {"jax", GPUTALLY_JAX, "1"},
};
static const report_case large_cases[] = {
    {"large.json", GPUTALLY_PYTORCH, "4"},
    {"large.json.gz", GPUTALLY_PYTORCH, "4"},
    {"large.json.zst", GPUTALLY_PYTORCH, "4"},
};
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* As many sheets as possible. */
static const char *const all_sheets[][2] = {
    {"kernel_details", "true"},
    {"short_kernel_study", "true"},
    {"all_processes", "true"},
    {"enable_kernel_summary", "true"},
    {"include_overlap_info", "true"},
    {"detect_recompute", "true"},
    {"include_call_stack", "true"},
    {"enable_pseudo_ops", "true"},
    {"gpu_arch_platform", "MI300X"},
    {"inference_phase_analysis", "true"},
    {"extra", "true"},
    {"micro_idle_thresh_us", "5"},
    {"page", "true"},
};

/* Makes the report with options that are set here; NULL and a message if anything fails. */
static gputally_report *make(const report_case *c, gputally_warning_handler *handler, void *context,
                             char error[GPUTALLY_ERROR_SIZE])
{
    gputally_options *options = gputally_options_new();
    snprintf(error, GPUTALLY_ERROR_SIZE, "out of memory");
    if (!options) return NULL;
    bool set = gputally_options_set(options, "threads", c->threads, error, GPUTALLY_ERROR_SIZE);
    for (size_t i = 0; i < LENGTH(all_sheets) && set; i++)
        set = gputally_options_set(options, all_sheets[i][0], all_sheets[i][1], error, GPUTALLY_ERROR_SIZE);
    if (handler) gputally_options_on_warning(options, handler, context);
    gputally_report *report =
        set ? gputally_report_make(in_folder(c->trace), options, error, GPUTALLY_ERROR_SIZE) : NULL;
    gputally_options_free(options);
    return report;
}

/* A hash of all names and cells; 0 if one could not be formatted. */
static uint64_t hash_report(const gputally_report *report)
{
    uint64_t hash = gputally_report_sheet_count(report);
    for (size_t i = 0; i < gputally_report_sheet_count(report); i++) {
        const gputally_sheet *sheet = gputally_report_sheet(report, i);
        hash = add_to_hash(hash, gputally_sheet_name(sheet), strlen(gputally_sheet_name(sheet)));
        for (size_t column = 0; column < gputally_sheet_column_count(sheet); column++) {
            const char *name = gputally_sheet_column_name(sheet, column);
            hash = add_to_hash(hash, name, strlen(name));
            for (size_t row = 0; row < gputally_sheet_row_count(sheet) && row < 100; row++) {
                char cell[256];
                size_t len = gputally_sheet_format(sheet, column, row, cell, sizeof cell);
                if (len == SIZE_MAX) return 0;
                hash = add_to_hash(hash, cell, strlen(cell));
            }
        }
    }
    return hash ? hash : 1;
}

/* Makes the report and writes it in each way. The hash of the report, 0 and a message on failure. */
static uint64_t make_and_write(const report_case *c, const char *out, char error[GPUTALLY_ERROR_SIZE])
{
    char path[512];
    gputally_report *report = make(c, NULL, NULL, error);
    if (!report) return 0;
    uint64_t hash = hash_report(report);
    if (!hash) snprintf(error, GPUTALLY_ERROR_SIZE, "out of memory");
    bool written = hash != 0;
    snprintf(path, sizeof path, "%s/csvs", out);
    written = written && gputally_report_write_csvs(report, path, error, GPUTALLY_ERROR_SIZE);
    snprintf(path, sizeof path, "%s/report.xlsx", out);
    written = written && gputally_report_write_xlsx(report, path, error, GPUTALLY_ERROR_SIZE);
    snprintf(path, sizeof path, "%s/report.db", out);
    written = written && gputally_report_write_sqlite(report, path, error, GPUTALLY_ERROR_SIZE);
    snprintf(path, sizeof path, "%s/report.html", out);
    written = written && gputally_report_write_html(report, path, error, GPUTALLY_ERROR_SIZE);
    gputally_report_free(report);
    return written ? hash : 0;
}

/* One message: something, on one line, without a full stop. */
static void expect_message(const char *error)
{
    size_t len = strlen(error);
    assert_true(len > 5 && len < GPUTALLY_ERROR_SIZE - 1);
    assert_null(strchr(error, '\n'));
    assert_true(error[len - 1] != '.');
}

/* ---- the tests ---- */

static void takes_every_kind_of_trace(void **state)
{
    (void)state;
    char error[GPUTALLY_ERROR_SIZE];
    process_state *before = take_state();
    for (size_t i = 0; i < LENGTH(cases) + LENGTH(large_cases); i++) {
        const report_case *c = i < LENGTH(cases) ? &cases[i] : &large_cases[i - LENGTH(cases)];
        gputally_report *report = make(c, NULL, NULL, error);
        if (!report) fail_msg("%s: %s", c->trace, error);
        assert_int_equal(gputally_report_kind(report), c->kind);
        const gputally_sheet *timeline = gputally_report_find_sheet(report, "gpu_timeline");
        assert_non_null(timeline);
        assert_true(gputally_sheet_row_count(timeline) > 3);
        gputally_report_free(report);
        expect_state(before);
        before = take_state();
    }
    expect_state(before);
}

/* The same run in another format has the same kernels. */
static void formats_agree(void **state)
{
    (void)state;
    char error[GPUTALLY_ERROR_SIZE];
    static const char *const traces[] = {"tiny_results.json", "rocprof.json.gz", "rocprof.json.zst",
                                         "rocprof.db",        "rocprof.pftrace", "run"};
    for (size_t i = 0; i < LENGTH(traces); i++) {
        gputally_report *report = gputally_report_make(in_folder(traces[i]), NULL, error, sizeof error);
        if (!report) fail_msg("%s: %s", traces[i], error);
        const gputally_sheet *kernels = gputally_report_find_sheet(report, "kernel_summary");
        assert_non_null(kernels);
        size_t count = gputally_sheet_find_column(kernels, "Count");
        int64_t dispatches = 0;
        for (size_t row = 0; row < gputally_sheet_row_count(kernels); row++)
            dispatches += gputally_sheet_int(kernels, count, row);
        assert_int_equal(gputally_sheet_row_count(kernels), 4);
        assert_int_equal(dispatches, 6); /* as test_api.c says */
        gputally_report_free(report);
    }
}

static void errors_are_messages(void **state)
{
    (void)state;
    char error[GPUTALLY_ERROR_SIZE];
    process_state *before = take_state();
    static const char *const wrong[][2] = {
        {"missing.json", "missing.json"},
        {"out", "no rocprofv3 files, JAX profile or nsys export; name a PyTorch trace itself"},
        {"hosts", "this folder has 2 traces; choose one, such as "},
        {"empty", "unsupported input"}};
    write_bytes(in_folder("empty"), "", 0);
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_null(gputally_report_make(in_folder(wrong[i][0]), NULL, error, sizeof error));
        expect_message(error);
        if (!strstr(error, wrong[i][1])) fail_msg("%s", error);
    }
    gputally_report *report = make(&cases[0], NULL, NULL, error);
    assert_non_null(report);
    assert_false(gputally_report_write_xlsx(report, "/dev/full", error, sizeof error));
    expect_message(error);
    assert_false(gputally_report_write_sqlite(report, "/proc/x/y.db", error, sizeof error));
    expect_message(error);
    gputally_report_free(report);
    expect_state(before);
}

/* ---- four threads ---- */

enum { THREADS = 4, ROUNDS = 3 };

typedef struct host_thread {
    pthread_t thread;
    const report_case *cases;
    size_t case_count;
    uint64_t expected[LENGTH(cases)];
    char cut_trace[64];
    size_t warnings, foreign_warnings, wrong;
} host_thread;

static void take_warning(void *context, const char *text)
{
    host_thread *t = context;
    t->warnings++;
    /* options of other reports are named, not the trace */
    t->foreign_warnings += !strstr(text, t->cut_trace) && !strstr(text, "has no effect on");
}

static void *use_library(void *context)
{
    host_thread *t = context;
    char error[GPUTALLY_ERROR_SIZE];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < t->case_count; i++) {
            gputally_report *report = make(&t->cases[i], NULL, NULL, error);
            t->wrong += !report || hash_report(report) != t->expected[i];
            gputally_report_free(report);
        }
        gputally_report *cut =
            make(&(report_case){t->cut_trace, GPUTALLY_ROCPROF, "2"}, take_warning, t, error);
        t->wrong += cut == NULL;
        gputally_report_free(cut);
    }
    return NULL;
}

static void four_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    char error[GPUTALLY_ERROR_SIZE];
    size_t len;
    char *cut = read_bytes(in_folder("cut.json"), &len);
    host_thread threads[THREADS] = {0};
    for (size_t t = 0; t < THREADS; t++) {
        snprintf(threads[t].cut_trace, sizeof threads[t].cut_trace, "cut%zu.json", t);
        write_bytes(in_folder(threads[t].cut_trace), cut, len);
        threads[t].cases = cases;
        threads[t].case_count = LENGTH(cases);
        for (size_t i = 0; i < LENGTH(cases); i++) {
            gputally_report *report = make(&cases[i], NULL, NULL, error);
            threads[t].expected[i] = hash_report(report);
            gputally_report_free(report);
        }
    }
    free(cut);
    process_state *before = take_state();
    for (size_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t].thread, NULL, use_library, &threads[t]), 0);
    for (size_t t = 0; t < THREADS; t++) pthread_join(threads[t].thread, NULL);
    for (size_t t = 0; t < THREADS; t++) {
        assert_int_equal(threads[t].wrong, 0);
        assert_true(threads[t].warnings >= ROUNDS);
        assert_int_equal(threads[t].warnings % ROUNDS, 0);
        assert_int_equal(threads[t].foreign_warnings, 0);
    }
    expect_state(before);
}

/* A handler may use the library itself. */
static void make_another(void *context, const char *text)
{
    (void)text;
    char error[GPUTALLY_ERROR_SIZE];
    uint64_t *hash = context;
    gputally_report *report = make(&cases[0], NULL, NULL, error);
    if (report) *hash = hash_report(report);
    gputally_report_free(report);
}

static void handlers_may_call_the_library(void **state)
{
    (void)state;
    char error[GPUTALLY_ERROR_SIZE];
    process_state *before = take_state();
    uint64_t hash = 0;
    gputally_report *report =
        make(&(report_case){"cut.json", GPUTALLY_ROCPROF, "1"}, make_another, &hash, error);
    assert_non_null(report);
    gputally_report_free(report);
    report = make(&cases[0], NULL, NULL, error);
    assert_true(hash == hash_report(report));
    gputally_report_free(report);
    expect_state(before);
}

/* ---- a full disk, and too little memory: in a child, whose limits are set ---- */

enum { NO_REPORT = 1 }; /* exit status of a child: there was no memory for a report, as expected */

static int run_in_child(void (*body)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) fail_msg("ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* In a child: prints what is not so and ends. */
#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (condition) break;                                                                                \
        fprintf(stderr, "line %d: not so: %s; error: %s\n", __LINE__, #condition, error);                    \
        _exit(99);                                                                                           \
    } while (0)

static volatile sig_atomic_t handled;

static void note_signal(int number)
{
    (void)number;
    handled = 1;
}

/* A file-size limit stands for the full disk. SIGXFSZ has its default action, which ends the process, or a
 * handler of the host, which must not run. */
static void write_past_limit(void)
{
    char error[GPUTALLY_ERROR_SIZE] = "";
    gputally_report *report = make(&cases[6], NULL, NULL, error);
    EXPECT(report);
    struct rlimit limits;
    getrlimit(RLIMIT_FSIZE, &limits);
    for (rlim_t size = 0; size <= 4096; size += 2048) {
        limits.rlim_cur = size;
        setrlimit(RLIMIT_FSIZE, &limits);
        const char *out = in_folder("out");
        char path[512];
        snprintf(path, sizeof path, "%s/csvs", out);
        EXPECT(!gputally_report_write_csvs(report, path, error, sizeof error) || size > 0);
        EXPECT(strstr(error, "File too large"));
        snprintf(path, sizeof path, "%s/r.xlsx", out);
        EXPECT(!gputally_report_write_xlsx(report, path, error, sizeof error));
        EXPECT(strstr(error, "File too large"));
        snprintf(path, sizeof path, "%s/r.db", out);
        EXPECT(!gputally_report_write_sqlite(report, path, error, sizeof error));
        EXPECT(strstr(error, "cannot write"));
        snprintf(path, sizeof path, "%s/r.html", out);
        EXPECT(!gputally_report_write_html(report, path, error, sizeof error));
        EXPECT(strstr(error, "File too large"));
        sigset_t pending;
        sigpending(&pending);
        EXPECT(!sigismember(&pending, SIGXFSZ));
    }
    gputally_report_free(report);
    EXPECT(!handled);
}

static void write_past_limit_with_handler(void)
{
    signal(SIGXFSZ, note_signal);
    write_past_limit();
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(write_past_limit), 0);
    assert_int_equal(run_in_child(write_past_limit_with_handler), 0);
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/csvs", in_folder("out")); /* a small sheet may fit */
    assert_int_equal(system(command), 0);
    assert_int_equal(count_entries(in_folder("out")), 0);
}

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t room; /* bytes of address space that are left */
static const report_case *limited_case;

/* The library fails for want of memory, and works when there is enough again. */
static void make_with_little_memory(void)
{
    char error[GPUTALLY_ERROR_SIZE] = "";
    struct rlimit limits, little;
    getrlimit(RLIMIT_AS, &limits);
    little = limits;
    little.rlim_cur = address_space() + room;
    setrlimit(RLIMIT_AS, &little);
    gputally_report *report = make(limited_case, NULL, NULL, error);
    setrlimit(RLIMIT_AS, &limits);
    EXPECT(report || strstr(error, "out of memory") || strstr(error, "Cannot allocate memory"));
    int status = report ? 0 : NO_REPORT;
    gputally_report_free(report);
    report = make(limited_case, NULL, NULL, error);
    EXPECT(report);
    gputally_report_free(report);
    _exit(status);
}

/* Comes first, so that the process has no freed memory to use. */
static void a_memory_limit_is_an_error(void **state)
{
    (void)state;
    if (!CAN_FAIL_ALLOCATIONS) skip();
    for (size_t i = 0; i < LENGTH(large_cases); i++) {
        size_t failures = 0, successes = 0;
        limited_case = &large_cases[i];
        for (room = 0; room < (size_t)1 << 30; room = room * 5 / 3 + (1 << 18)) {
            int status = run_in_child(make_with_little_memory);
            assert_true(status == 0 || status == NO_REPORT);
            failures += status == NO_REPORT;
            successes += status == 0;
        }
        assert_true(failures > 5);
        assert_true(successes > 0);
    }
}

/* ---- what the program has set for itself ---- */

/* A German locale, whose decimal point is a comma; made here, because few machines have one. */
static bool use_german(void)
{
    char command[512];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    if (system(command) != 0) return false;
    setenv("LOCPATH", folder, 1);
    bool set = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    unsetenv("LOCPATH");
    return set;
}

static void print_half(void *context, const char *text)
{
    (void)text;
    snprintf(context, 8, "%.1f", 0.5);
}

static gputally_report *make_with(const char *trace, const char *name, const char *value, char *half,
                                  char error[GPUTALLY_ERROR_SIZE])
{
    gputally_options *options = gputally_options_new();
    gputally_options_on_warning(options, half ? print_half : NULL, half);
    bool set = gputally_options_set(options, name, value, error, GPUTALLY_ERROR_SIZE);
    gputally_report *report =
        set ? gputally_report_make(in_folder(trace), options, error, GPUTALLY_ERROR_SIZE) : NULL;
    gputally_options_free(options);
    return report;
}

static void the_decimal_point_is_a_point(void **state)
{
    (void)state;
    static const char gpu[] = "{\"name\":\"X\",\"mem_bw_gbps\":5300.5,"
                              "\"max_achievable_tflops\":{\"matrix_bf16\":708.5}}";
    char error[GPUTALLY_ERROR_SIZE], half[2][8] = {"", ""};
    uint64_t hashes[2];
    char *workbooks[2];
    size_t lens[2];
    write_bytes(in_folder("gpu.json"), gpu, strlen(gpu));
    for (int german = 0; german < 2; german++) {
        if (german && !use_german()) skip();
        process_state *before = take_state();
        gputally_report *report =
            make_with("pytorch.json", "gpu_arch_json_path", in_folder("gpu.json"), NULL, error);
        if (!report) fail_msg("%s", error);
        hashes[german] = hash_report(report);
        assert_true(gputally_report_write_xlsx(report, in_folder("locale.xlsx"), error, sizeof error));
        gputally_report_free(report);
        gputally_report_free(make_with("cut.json", "strict", "false", half[german], error));
        expect_state(before);
        workbooks[german] = read_bytes(in_folder("locale.xlsx"), &lens[german]);
    }
    setlocale(LC_ALL, "");
    assert_true(hashes[0] == hashes[1]);
    assert_int_equal(lens[0], lens[1]);
    assert_memory_equal(workbooks[0], workbooks[1], lens[0]);
    assert_string_equal(half[0], "0.5");
    assert_string_equal(half[1], "0,5"); /* the handler is the program's */
    free(workbooks[0]);
    free(workbooks[1]);
}

static void make_with_extension(void)
{
    char error[GPUTALLY_ERROR_SIZE] = "";
    gputally_report *report =
        make_with("pytorch.json", "extension_file", in_folder("extension.py"), NULL, error);
    EXPECT(report);
    const gputally_sheet *sheet = gputally_report_find_sheet(report, "ops_summary");
    char category[32];
    gputally_sheet_format(sheet, gputally_sheet_find_column(sheet, "Categories"), 0, category,
                          sizeof category);
    EXPECT(strcmp(category, "['mine']") == 0);
    gputally_report_free(report);
}

/* The interpreter gets the question as 3 and a place for the answer as 4; 5 is the folder that it lists. All
 * others would be ours: the program's own are closed there. */
static void make_with_extension_listing_files(void)
{
    char error[GPUTALLY_ERROR_SIZE] = "";
    for (int i = 3; i < 1024; i++)
        if (fcntl(i, F_GETFD) >= 0) fcntl(i, F_SETFD, FD_CLOEXEC);
    EXPECT(make_with("pytorch.json", "extension_file", in_folder("files.py"), NULL, error));
}

static void make_with_wrong_extension(void)
{
    char error[GPUTALLY_ERROR_SIZE] = "";
    fclose(stderr); /* its traceback */
    EXPECT(!make_with("pytorch.json", "extension_file", in_folder("wrong.py"), NULL, error));
    EXPECT(*error);
}

static void make_with_extension_past_limit(void)
{
    char error[GPUTALLY_ERROR_SIZE] = "";
    struct rlimit limits;
    getrlimit(RLIMIT_FSIZE, &limits);
    limits.rlim_cur = 100;
    setrlimit(RLIMIT_FSIZE, &limits);
    EXPECT(!make_with("pytorch.json", "extension_file", in_folder("extension.py"), NULL, error));
    EXPECT(strstr(error, "File too large"));
}

static void make_with_extension_ignoring_children(void)
{
    signal(SIGCHLD, SIG_IGN);
    make_with_extension();
}

static void make_with_wrong_extension_ignoring_children(void)
{
    signal(SIGCHLD, SIG_IGN);
    make_with_wrong_extension();
}

static void extensions_run_in_any_program(void **state)
{
    (void)state;
    static const char extension[] = "op_category_extension = {'aten::mm': 'mine'}",
                      files[] = "import os\nassert set(os.listdir('/proc/self/fd')) <= set('012345')";
    if (system("python3 -c pass") != 0) skip();
    write_bytes(in_folder("extension.py"), extension, strlen(extension));
    write_bytes(in_folder("files.py"), files, strlen(files));
    write_bytes(in_folder("wrong.py"), "raise ValueError", strlen("raise ValueError"));
    assert_int_equal(run_in_child(make_with_extension), 0);
    assert_int_equal(run_in_child(make_with_extension_listing_files), 0);
    assert_int_equal(run_in_child(make_with_wrong_extension), 0);
    assert_int_equal(run_in_child(make_with_extension_past_limit), 0);
    assert_int_equal(run_in_child(make_with_extension_ignoring_children), 0);
    assert_int_equal(run_in_child(make_with_wrong_extension_ignoring_children), 0);
}

/* ---- signals of the program ---- */

static pthread_t handling_thread;
static volatile sig_atomic_t signals_here, signals_elsewhere;

static void count_signal(int number)
{
    (void)number;
    if (pthread_equal(pthread_self(), handling_thread))
        signals_here++;
    else
        signals_elsewhere++;
}

static void every_us(long us)
{
    struct itimerval timer = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* The simulator's output is read while signals arrive: without SA_RESTART, read fails with EINTR. */
static void simulate_among_signals(void)
{
    static const char script[] = "sleep 0.1\necho Time=12.5\n";
    char error[GPUTALLY_ERROR_SIZE] = "";
    write_bytes(in_folder("simulator.sh"), script, strlen(script));
    setenv("GEMM_SIMULATOR_PATH", in_folder("simulator.sh"), 1);
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGALRM, &action, NULL);
    gputally_options *options = gputally_options_new();
    EXPECT(gputally_options_set(options, "gpu_arch_platform", "MI300X", error, sizeof error));
    EXPECT(gputally_options_set(options, "python_path", "/bin/sh", error, sizeof error));
    every_us(10000);
    gputally_report *report = gputally_report_make(in_folder("pytorch.json"), options, error, sizeof error);
    every_us(0);
    EXPECT(report);
    EXPECT(gputally_report_find_sheet(report, "GEMM"));
    gputally_report_free(report);
    gputally_options_free(options);
}

static void signals_do_not_interrupt_a_simulation(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(simulate_among_signals), 0);
}

static void *make_among_signals(void *context)
{
    char *error = context;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    handling_thread = pthread_self();
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    int reports = CAN_FAIL_ALLOCATIONS ? 20 : 4; /* a report takes a second with sanitizers */
    for (int i = 0; i < reports; i++) gputally_report_free(make(&large_cases[i % 3], NULL, NULL, error));
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return NULL;
}

/* One thread of the program takes the signals; the library's do not. */
static void handle_in_one_thread(void)
{
    char error[GPUTALLY_ERROR_SIZE] = "";
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    pthread_t thread;
    every_us(200);
    EXPECT(pthread_create(&thread, NULL, make_among_signals, error) == 0);
    pthread_join(thread, NULL);
    every_us(0);
    EXPECT(signals_here > 10);
    EXPECT(!signals_elsewhere);
}

static void handlers_run_in_threads_of_the_program(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(handle_in_one_thread), 0);
}

/* ---- little stack ---- */

enum { THREAD_STACK = 256 << 10, LITTLE_STACK = 64 << 10 }; /* not every machine allows less */

static uint64_t hash_in_thread;

static __attribute__((noinline)) void *make_with_little_stack(void *context)
{
    volatile char used[THREAD_STACK - LITTLE_STACK];
    used[0] = 0;
    char error[GPUTALLY_ERROR_SIZE] = "";
    gputally_report *report = make(context, NULL, NULL, error);
    EXPECT(report);
    hash_in_thread = hash_report(report);
    EXPECT(gputally_report_write_csvs(report, in_folder("out/little"), error, sizeof error));
    EXPECT(gputally_report_write_xlsx(report, in_folder("out/little.xlsx"), error, sizeof error));
    EXPECT(gputally_report_write_sqlite(report, in_folder("out/little.db"), error, sizeof error));
    EXPECT(gputally_report_write_html(report, in_folder("out/little.html"), error, sizeof error));
    gputally_report_free(report);
    return (void *)(uintptr_t)used[0];
}

static const report_case *little_case;

static void use_little_stack(void)
{
    char error[GPUTALLY_ERROR_SIZE] = "";
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT(pthread_attr_setstacksize(&attributes, THREAD_STACK) == 0);
    pthread_t thread;
    EXPECT(pthread_create(&thread, &attributes, make_with_little_stack, (void *)(uintptr_t)little_case) == 0);
    pthread_join(thread, NULL);
    EXPECT(hash_in_thread);
}

static void a_small_stack_is_enough(void **state)
{
    (void)state;
    if (!CAN_FAIL_ALLOCATIONS) skip(); /* sanitizers need more */
    size_t len;
    char *trace = read_bytes(GT_TEST_SOURCE "/examples/transformer_training.json.gz", &len);
    write_bytes(in_folder("training.json.gz"), trace, len);
    free(trace);
    static const report_case training = {"training.json.gz", GPUTALLY_PYTORCH, "1"};
    for (size_t i = 0; i <= LENGTH(cases); i++) {
        little_case = i < LENGTH(cases) ? &cases[i] : &training;
        assert_int_equal(run_in_child(use_little_stack), 0);
    }
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/little*", in_folder("out"));
    assert_int_equal(system(command), 0);
}

/* ---- every allocation fails once ---- */

enum { SAMPLE = 30, LARGE_SAMPLE = 6 };

/* Allocation number N fails. False if there are fewer. */
static bool fail_at(const report_case *c, long number, bool onwards, uint64_t expected, long *errors)
{
    char error[GPUTALLY_ERROR_SIZE];
    process_state *before = take_state();
    start_counting(number, onwards);
    uint64_t hash = make_and_write(c, in_folder("out"), error);
    let_succeed();
    stop_counting();
    bool reached = atomic_load(&failed_count) > 0;
    if (!hash) expect_message(error);
    if (!hash && !reached) fail_msg("%s: %s", c->trace, error);
    if (hash && hash != expected) fail_msg("%s: another report when allocation %ld fails", c->trace, number);
    if (block_count)
        fail_msg("%s: %zu blocks are left when allocation %ld fails (%s)", c->trace, block_count, number,
                 error);
    if (atomic_load(&mapped))
        fail_msg("%s: %ld bytes stay mapped when allocation %ld fails", c->trace, atomic_load(&mapped),
                 number);
    expect_state(before);
    *errors += !hash;
    return reached;
}

static void fail_everywhere(const report_case *c, long sample)
{
    char error[GPUTALLY_ERROR_SIZE];
    uint64_t expected = 0;
    for (int i = 0; i < 3; i++) { /* libraries and libc allocate some things once */
        start_counting(0, false);
        expected = make_and_write(c, in_folder("out"), error);
        stop_counting();
        if (!expected) fail_msg("%s: %s", c->trace, error);
    }
    assert_int_equal(block_count, 0);
    assert_int_equal(atomic_load(&mapped), 0);
    long count = atomic_load(&allocation), step = count / sample + 1, tried = 0, errors = 0;
    for (long number = 1; number <= count; number += number < 50 && step < 20 ? 1 : step) {
        tried += fail_at(c, number, false, expected, &errors);
        tried += fail_at(c, number, true, expected, &errors);
    }
    assert_true(tried > sample);
    assert_true(errors > tried * 9 / 10); /* few can be done without */
    if (make_and_write(c, in_folder("out"), error) != expected) fail_msg("%s: %s", c->trace, error);
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s/csvs %s/report.*", in_folder("out"), in_folder("out"));
    assert_int_equal(system(command), 0);
    assert_int_equal(count_entries(in_folder("out")), 0); /* no temporary file is left */
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    if (!CAN_FAIL_ALLOCATIONS) skip();
    for (size_t i = 0; i < LENGTH(cases); i++) fail_everywhere(&cases[i], SAMPLE);
}

static void every_allocation_may_fail_in_any_thread(void **state)
{
    (void)state;
    if (!CAN_FAIL_ALLOCATIONS) skip();
    for (size_t i = 0; i < LENGTH(large_cases); i++) fail_everywhere(&large_cases[i], LARGE_SAMPLE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hide_outputs, show_outputs)

int main(void)
{
    setlocale(LC_ALL, "");
#if CAN_FAIL_ALLOCATIONS
    find_libc_functions();
#endif
    const struct CMUnitTest tests[] = {
        TEST(a_memory_limit_is_an_error),
        TEST(takes_every_kind_of_trace),
        TEST(formats_agree),
        TEST(errors_are_messages),
        TEST(four_threads_do_not_disturb_each_other),
        TEST(handlers_may_call_the_library),
        TEST(a_full_disk_is_an_error),
        TEST(the_decimal_point_is_a_point),
        TEST(extensions_run_in_any_program),
        TEST(signals_do_not_interrupt_a_simulation),
        TEST(handlers_run_in_threads_of_the_program),
        TEST(a_small_stack_is_enough),
        TEST(every_allocation_may_fail),
        TEST(every_allocation_may_fail_in_any_thread),
    };
    return cmocka_run_group_tests(tests, make_traces, remove_traces);
}
