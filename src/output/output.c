/* How do several files become a report all at once or not at all?
 *
 * Each is written under a hidden name beside its final one and remembered, with the folders made for it, in a
 * list that is removed newest first unless the commit has emptied it. All lists hang on one chain, which
 * exit() and the signals that end a program walk too. The chain has a lock that a signal handler can take:
 * its holder has blocked these signals, so the handler never waits for its own thread. */
#include "base/length.h"
#include "output/output.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING_SIGNALS = GT_LENGTH(ending_signals) };

/* Something made on disk that goes away unless it is committed. */
typedef struct made {
    char *path;
    bool is_folder;
    struct made *older;
} made;

typedef struct document {
    char *path;      /* as the caller named it */
    char *target;    /* the same file with links resolved: what the commit renames to */
    char *temporary; /* where it is written */
    enum { WAITING, RENAMED, EXCHANGED, REPLACED } state; /* within a commit */
} document;

struct gt_output {
    document *documents;
    size_t document_count, document_capacity;
    size_t committed_count; /* documents that have their final names */
    made *newest;
    pid_t owner; /* a forked child does not clean up */
    gt_output *next;
};

bool gt_fail_writing(gt_error *error, const char *path, int error_number)
{
    return gt_fail(error, "cannot write %s: %s", path, strerror(error_number));
}

/* ---- the chain of outputs ---- */

static gt_output *chain;
static atomic_flag chain_lock = ATOMIC_FLAG_INIT;

static sigset_t signal_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ENDING_SIGNALS; i++) sigaddset(&set, ending_signals[i]);
    return set;
}

static void lock_chain(sigset_t *before)
{
    sigset_t set = signal_set();
    pthread_sigmask(SIG_BLOCK, &set, before);
    while (atomic_flag_test_and_set(&chain_lock)) {
    }
}

static void unlock_chain(const sigset_t *before)
{
    atomic_flag_clear(&chain_lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Safe in a signal handler. */
static void remove_made(const gt_output *output)
{
    for (const made *item = output->newest; item; item = item->older) {
        if (item->is_folder) {
            rmdir(item->path);
        } else {
            unlink(item->path);
        }
    }
}

static void remove_chain(void)
{
    for (const gt_output *output = chain; output; output = output->next)
        if (output->owner == getpid()) remove_made(output);
}

static void remove_at_exit(void)
{
    sigset_t before;
    lock_chain(&before);
    remove_chain();
    unlock_chain(&before);
}

/* Keeps the lock, so that no thread makes another file before the signal ends the program. */
static void remove_on_signal(int number)
{
    int saved = errno;
    while (atomic_flag_test_and_set(&chain_lock)) {
    }
    remove_chain();
    signal(number, SIG_DFL);
    raise(number);
    errno = saved;
}

/* A handler that the program has set itself stays. */
static void watch_the_end(void)
{
    atexit(remove_at_exit);
    struct sigaction action = {.sa_handler = remove_on_signal, .sa_mask = signal_set()};
    for (size_t i = 0; i < ENDING_SIGNALS; i++) {
        struct sigaction old;
        if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ending_signals[i], &action, NULL);
    }
    /* Past a file-size limit a write should fail with EFBIG, and not kill the program. */
    struct sigaction old;
    if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL) signal(SIGXFSZ, SIG_IGN);
}

gt_output *gt_output_new(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_the_end);

    gt_output *output = gt_alloc_zero(1, sizeof *output);
    output->owner = getpid();
    sigset_t before;
    lock_chain(&before);
    output->next = chain;
    chain = output;
    unlock_chain(&before);
    return output;
}

static void free_made(made *item)
{
    while (item) {
        made *older = item->older;
        gt_free(item->path);
        gt_free(item);
        item = older;
    }
}

void gt_output_free(gt_output *output)
{
    if (!output) return;
    sigset_t before;
    lock_chain(&before);
    if (output->owner == getpid()) remove_made(output);
    gt_output **link = &chain;
    while (*link != output) link = &(*link)->next;
    *link = output->next;
    unlock_chain(&before);

    free_made(output->newest);
    for (size_t i = 0; i < output->document_count; i++) {
        gt_free(output->documents[i].path);
        gt_free(output->documents[i].target);
        gt_free(output->documents[i].temporary);
    }
    gt_free(output->documents);
    gt_free(output);
}

size_t gt_output_file_count(const gt_output *output)
{
    return output->document_count;
}
const char *gt_output_file_path(const gt_output *output, size_t index)
{
    return output->documents[index].path;
}

/* ---- making folders and files ---- */

/* Makes a folder, or a new file that `target` allows for, and remembers it in the same locked step: a signal
 * finds either both or neither. Returns 0 or errno. */
static int make(gt_output *output, const char *path, bool is_folder, mode_t mode)
{
    made *item = gt_alloc(sizeof *item);
    *item = (made){.path = gt_strdup(path), .is_folder = is_folder};

    sigset_t before;
    lock_chain(&before);
    int descriptor = -1;
    int failure = 0;
    if (is_folder) {
        if (mkdir(path, mode) != 0) failure = errno;
    } else {
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (descriptor < 0) failure = errno;
    }
    if (!failure) {
        item->older = output->newest;
        output->newest = item;
    }
    unlock_chain(&before);

    if (descriptor >= 0) close(descriptor);
    if (failure) free_made(item);
    return failure;
}

bool gt_output_add_folder(gt_output *output, const char *path, gt_error *error)
{
    char *part = gt_strdup(path);
    int failure = 0;
    for (size_t end = 1; path[0]; end++) {
        if (path[end] && path[end] != '/') continue;
        part[end] = 0;
        struct stat found;
        if (stat(part, &found) != 0) {
            failure = make(output, part, true, 0777);
            if (failure == EEXIST) failure = 0; /* made by someone else meanwhile */
        } else if (!S_ISDIR(found.st_mode)) {
            failure = ENOTDIR;
        }
        if (failure || !path[end]) break;
        part[end] = '/';
    }
    if (failure) gt_fail(error, "cannot make the folder %s: %s", part, strerror(failure));
    gt_free(part);
    return !failure;
}

/* The folder of the path, "." for a bare name. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return gt_strdup(".");
    return gt_format("%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* Where a file of that name really is: through the links of its folder and its own. Needs the folder to be
 * there. */
static char *resolve(const char *path)
{
    char *target = realpath(path, NULL);
    if (target) return target;
    char *folder = folder_of(path);
    char *real_folder = realpath(folder, NULL);
    gt_free(folder);
    if (!real_folder) return gt_strdup(path);
    const char *slash = strrchr(path, '/');
    target = gt_format("%s/%s", strcmp(real_folder, "/") ? real_folder : "", slash ? slash + 1 : path);
    gt_free(real_folder);
    return target;
}

/* May a file take this place? Fills the mode of the one it replaces. */
static bool may_replace(const gt_output *output, const char *path, const char *target, mode_t *mode,
                        gt_error *error)
{
    for (size_t i = 0; i < output->document_count; i++)
        if (strcmp(output->documents[i].target, target) == 0)
            return gt_fail(error, "cannot write %s: the report already has a file of this name", path);
    struct stat old;
    if (stat(target, &old) != 0) return true;
    if (S_ISDIR(old.st_mode)) return gt_fail_writing(error, path, EISDIR);
    if (!S_ISREG(old.st_mode)) return gt_fail(error, "cannot write %s: not a regular file", path);
    if (access(target, W_OK) != 0) return gt_fail_writing(error, path, errno);
    *mode = old.st_mode & 0777;
    return true;
}

/* Makes ".name.tmp-PID" in the target's folder; a number is added while that name is taken. NULL sets errno.
 */
static char *make_temporary(gt_output *output, const char *target, mode_t mode)
{
    const char *name = strrchr(target, '/');
    name = name ? name + 1 : target;
    char *folder = folder_of(target);
    char *temporary = NULL;
    int failure = EEXIST;
    for (int attempt = 0; failure == EEXIST && attempt < 1000; attempt++) {
        gt_free(temporary);
        char number[16] = "";
        if (attempt > 0) snprintf(number, sizeof number, "-%d", attempt);
        temporary = gt_format("%s/.%.200s.tmp-%d%s", folder, name, (int)getpid(), number);
        failure = make(output, temporary, false, mode);
    }
    gt_free(folder);
    if (!failure) return temporary;
    gt_free(temporary);
    errno = failure;
    return NULL;
}

const char *gt_output_add_file(gt_output *output, const char *path, gt_error *error)
{
    size_t len = strlen(path);
    if (len == 0) return gt_fail(error, "cannot write a file without a name"), NULL;
    if (path[len - 1] == '/') return gt_fail_writing(error, path, EISDIR), NULL;

    char *folder = folder_of(path);
    bool has_folder = gt_output_add_folder(output, folder, error);
    gt_free(folder);
    if (!has_folder) return NULL;

    char *target = resolve(path);
    mode_t mode = 0666;
    char *temporary = NULL;
    if (may_replace(output, path, target, &mode, error)) {
        temporary = make_temporary(output, target, mode);
        if (!temporary) gt_fail_writing(error, path, errno);
    }
    if (!temporary) {
        gt_free(target);
        return NULL;
    }
    document added = {.path = gt_strdup(path), .target = target, .temporary = temporary};
    GT_PUSH(output->documents, output->document_count, output->document_capacity, added);
    return temporary;
}

/* ---- the commit ---- */

static int exchange(const char *a, const char *b)
{
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

/* An old file changes places with the new one, so that it can be put back; where the file system cannot do
 * that, it is replaced. */
static bool place(document *item)
{
    struct stat old;
    bool replaces = lstat(item->target, &old) == 0;
    if (replaces && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (replaces && exchange(item->temporary, item->target) == 0) {
        item->state = EXCHANGED;
        return true;
    }
    if (rename(item->temporary, item->target) != 0) return false;
    item->state = replaces ? REPLACED : RENAMED;
    return true;
}

static void take_back(document *item)
{
    if (item->state == EXCHANGED) exchange(item->temporary, item->target);
    if (item->state == RENAMED) rename(item->target, item->temporary);
    item->state = WAITING;
}

bool gt_output_commit(gt_output *output, gt_error *error)
{
    sigset_t before;
    lock_chain(&before);
    size_t placed = output->committed_count;
    while (placed < output->document_count && place(&output->documents[placed])) placed++;
    int failure = errno;
    bool whole = placed == output->document_count;
    made *kept = NULL;
    if (whole) {
        for (size_t i = output->committed_count; i < placed; i++)
            if (output->documents[i].state == EXCHANGED) unlink(output->documents[i].temporary);
        kept = output->newest;
        output->newest = NULL;
        output->committed_count = placed;
    } else {
        for (size_t i = placed; i > output->committed_count; i--) take_back(&output->documents[i - 1]);
    }
    unlock_chain(&before);

    free_made(kept);
    return whole || gt_fail_writing(error, output->documents[placed].path, failure);
}
