/* Several files become one report all at once or not at all.
 *
 * Each file is written under a hidden name next to its final one and remembered, with the folders created for
 * it, in a list that gt_output_free removes from disk, newest first, unless the commit has emptied it.
 *
 * A program may want the same to happen when it ends early. It asks for a list of all outputs with
 * gt_output_watch; the library does not. The list and each output on it have a lock that a signal handler can
 * take: its holder has blocked the signals in question, so the handler never waits for its own thread.
 * Outputs that are written at the same time do not wait for each other. */
#include "procs/procs.h"
#include "output/leftovers.h"
#include "output/output.h"

#include "base/guard.h"
#include "os/own.h"
#include "os/paths.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum { NAME_MAX_BYTES = 200, ATTEMPTS_MAX = 100 }; /* of a document's name in its temporary name */

/* Something created on disk that is removed unless it is committed. */
typedef struct created {
    char *path;
    bool is_folder;
    struct created *older;
} created;

typedef struct document {
    char *path;      /* as the caller named it */
    char *target;    /* the same file with links resolved: what the commit renames to */
    char *temporary; /* where it is written until then; NULL: not created yet */
    mode_t mode;
    const char *points_to;                                /* of a link, borrowed; NULL: it is a file */
    enum { WAITING, RENAMED, EXCHANGED, REPLACED } state; /* within a commit */
    int descriptor; /* of what is sent instead of renamed, in a commit; -1: closed */
} document;

struct gt_output {
    document *documents;
    size_t document_count, document_capacity;
    size_t committed_count; /* documents that have their final names */
    created *newest;
    pthread_mutex_t creating; /* for `newest`, `leftovers` and the temporary names while files are created */
    gt_leftovers leftovers;   /* in the folder of the document added last */
    bool csv_safe, is_private;
    pid_t owner; /* a forked child does not clean up */
    bool is_listed;
    atomic_flag lock; /* of a listed output: for `newest` and what is on disk; taken after that of the list */
    gt_output *next;  /* on the list */
};

/* ---- the list of outputs ---- */

static bool is_watched;
static sigset_t watched_signals;
static void (*first_output)(void);
static pthread_once_t started = PTHREAD_ONCE_INIT;
static gt_output *listed;
static atomic_flag list_lock = ATOMIC_FLAG_INIT;

static void take(atomic_flag *lock)
{
    while (atomic_flag_test_and_set(lock)) sched_yield(); /* only a system call, also in a signal handler */
}

static void block_signals(sigset_t *before)
{
    pthread_sigmask(SIG_BLOCK, &watched_signals, before);
}

/* Only for outputs on the list; any other belongs to one thread and needs no lock. */
static void lock_output(gt_output *output, sigset_t *before)
{
    if (!output->is_listed) return;
    block_signals(before);
    take(&output->lock);
}

static void unlock_output(gt_output *output, const sigset_t *before)
{
    if (!output->is_listed) return;
    atomic_flag_clear(&output->lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Async-signal-safe. */
static void remove_created(const gt_output *output)
{
    for (const created *item = output->newest; item; item = item->older) {
        if (item->is_folder) {
            rmdir(item->path);
        } else {
            unlink(item->path);
        }
    }
}

static bool csv_safe_by_default;

void gt_output_default_csv_safe(bool safe)
{
    csv_safe_by_default = safe;
}

void gt_output_set_csv_safe(gt_output *output, bool safe)
{
    output->csv_safe = safe;
}

void gt_output_set_private(gt_output *output)
{
    output->is_private = true;
}

bool gt_output_is_csv_safe(const gt_output *output)
{
    return output ? output->csv_safe : csv_safe_by_default;
}

static int sent_to = -1;

void gt_output_send_to(int descriptor)
{
    sent_to = descriptor;
}

bool gt_output_is_sent(const char *path)
{
    return sent_to >= 0 && path && strcmp(path, "-") == 0;
}

void gt_output_watch(const gt_output_watcher *watcher)
{
    sigemptyset(&watched_signals);
    for (size_t i = 0; i < watcher->signal_count; i++) sigaddset(&watched_signals, watcher->signals[i]);
    first_output = watcher->first_output;
    is_watched = true;
}

static void start_watching(void)
{
    if (first_output) first_output();
}

void gt_output_remove_unfinished(void)
{
    take(&list_lock);
    for (gt_output *output = listed; output; output = output->next) {
        take(&output->lock);
        if (output->owner == getpid()) remove_created(output);
    }
}

static void free_output(void *output)
{
    gt_output_free(output);
}

gt_output *gt_output_new(void)
{
    gt_procs_meet();
    gt_output *output = gt_alloc_zero(1, sizeof *output);
    output->owner = getpid();
    output->is_listed = is_watched;
    output->csv_safe = csv_safe_by_default;
    pthread_mutex_init(&output->creating, NULL);
    if (is_watched) {
        pthread_once(&started, start_watching);
        sigset_t before;
        block_signals(&before);
        take(&list_lock);
        output->next = listed;
        listed = output;
        atomic_flag_clear(&list_lock);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    gt_guard_add(free_output, output);
    return output;
}

static void free_created(created *item)
{
    while (item) {
        created *older = item->older;
        gt_free_all(item->path, item);
        item = older;
    }
}

static void remove_from_list(gt_output *output)
{
    sigset_t before;
    block_signals(&before);
    take(&list_lock);
    gt_output **link = &listed;
    while (*link != output) link = &(*link)->next;
    *link = output->next;
    atomic_flag_clear(&list_lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gt_output_free(gt_output *output)
{
    if (!output) return;
    gt_guard_remove(output);
    sigset_t before;
    lock_output(output, &before);
    if (output->owner == getpid()) remove_created(output);
    free_created(output->newest);
    output->newest = NULL;
    unlock_output(output, &before);
    if (output->is_listed) remove_from_list(output);

    for (size_t i = 0; i < output->document_count; i++) {
        gt_free_all(output->documents[i].path, output->documents[i].target, output->documents[i].temporary);
    }
    gt_free(output->documents);
    gt_leftovers_free(&output->leftovers);
    pthread_mutex_destroy(&output->creating);
    gt_free(output);
}

static _Atomic(bool) ran_out_of_space;

bool gt_output_ran_out_of_space(void)
{
    return ran_out_of_space;
}

bool gt_fail_writing(gt_error *error, const char *path, int error_number)
{
    if (error_number == ENOSPC || error_number == EDQUOT) ran_out_of_space = true;
    return gt_fail(error, "cannot write %s: %s", path, strerror(error_number));
}

size_t gt_output_file_count(const gt_output *output)
{
    return output->document_count;
}

const char *gt_output_file_path(const gt_output *output, size_t index)
{
    return output->documents[index].path;
}

/* ---- creating folders and files ---- */

/* Creates a folder, a link or a new file and remembers it in the same locked step: a signal handler finds
 * either both or neither. Returns 0 or errno. */
static int create(gt_output *output, const char *path, bool is_folder, const char *points_to, mode_t mode)
{
    created *item = gt_alloc(sizeof *item);
    *item = (created){.path = gt_strdup(path), .is_folder = is_folder};

    sigset_t before;
    lock_output(output, &before);
    int descriptor = -1;
    int failure = 0;
    if (is_folder) {
        if (mkdir(path, mode) != 0) failure = errno;
    } else if (points_to) {
        if (symlink(points_to, path) != 0) failure = errno;
    } else {
        descriptor = gt_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (descriptor < 0) failure = errno;
    }
    if (!failure) {
        item->older = output->newest;
        output->newest = item;
    }
    unlock_output(output, &before);

    if (descriptor >= 0) close(descriptor);
    if (failure)
        free_created(item);
    else
        gt_path_share(path);
    return failure;
}

bool gt_output_add_folder(gt_output *output, const char *path, gt_error *error)
{
    struct stat found;
    if (!gt_own_is_path(path))
        return gt_fail(error, "cannot write to %s: it goes through a link of another user", path);
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) return true; /* the usual case */
    char *part = gt_strdup(path);
    int failure = 0;
    for (size_t end = 1; path[0]; end++) {
        if (path[end] && path[end] != '/') continue;
        part[end] = 0;
        if (stat(part, &found) != 0) {
            failure = create(output, part, true, NULL, 0777);
            if (failure == EEXIST) failure = 0; /* created by another process meanwhile */
        } else if (!S_ISDIR(found.st_mode)) {
            failure = ENOTDIR;
        }
        if (failure || !path[end]) break;
        part[end] = '/';
    }
    if (failure) gt_fail(error, "cannot create folder %s: %s", part, strerror(failure));
    gt_free(part);
    return !failure;
}

/* realpath whose result the caller frees with gt_free; NULL if the path cannot be resolved. */
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);
    if (!real && errno == ENOMEM) gt_raise("out of memory");
    return gt_adopt(real);
}

/* The path with the links of its folder resolved. The folder must exist. */
static char *resolve_folder(const char *path)
{
    char *folder = gt_path_folder(path), *real_folder = real_path(folder), *target = NULL;
    if (real_folder)
        target = gt_format("%s/%s", strcmp(real_folder, "/") ? real_folder : "", gt_path_name(path));
    gt_free(folder);
    gt_free(real_folder);
    return target ? target : gt_strdup(path);
}

/* The same with its own link resolved, unless the user has not named it: see may_replace. */
static char *resolve(const char *path)
{
    struct stat found;
    char *target = lstat(path, &found) == 0 && gt_own_is_named(path) ? real_path(path) : NULL;
    return target ? target : resolve_folder(path);
}

/* Whether a file may be written there. Sets the mode to that of the file it replaces. */
static bool may_replace(const gt_output *output, const char *path, const char *target, mode_t *mode,
                        gt_error *error)
{
    for (size_t i = 0; i < output->document_count; i++)
        if (strcmp(output->documents[i].target, target) == 0)
            return gt_fail(error, "cannot write %s: the report already has a file with this name", path);
    struct stat old;
    if (!gt_own_is_named(path) && !gt_own_may_replace(path))
        return gt_fail(error, "cannot write %s: %s; remove it, or name the output", path,
                       gt_own_reason(errno));
    if (stat(target, &old) != 0) return true;
    if (S_ISDIR(old.st_mode)) return gt_fail_writing(error, path, EISDIR);
    if (!S_ISREG(old.st_mode)) return gt_fail(error, "cannot write %s: not a regular file", path);
    if (access(target, W_OK) != 0) return gt_fail_writing(error, path, errno);
    *mode = old.st_mode & 0777;
    return true;
}

/* Creates a hidden file in the target's folder (leftovers.h). NULL with errno on failure. */
static char *create_temporary(gt_output *output, const document *planned)
{
    const char *target = planned->target;
    const char *name = gt_path_name(target);
    char *folder = gt_path_folder(target);
    char *temporary = NULL;
    int failure = EEXIST;
    gt_leftovers_remove(&output->leftovers, folder, name, NAME_MAX_BYTES);
    for (int attempt = 0; failure == EEXIST && attempt < ATTEMPTS_MAX; attempt++) {
        gt_free(temporary);
        temporary = gt_leftovers_name(folder, name, NAME_MAX_BYTES);
        failure = create(output, temporary, false, planned->points_to, planned->mode);
    }
    gt_free(folder);
    if (!failure) return temporary;
    gt_free(temporary);
    errno = failure;
    return NULL;
}

size_t gt_output_plan_file(gt_output *output, const char *path, gt_error *error)
{
    size_t len = strlen(path);
    if (len == 0) return gt_fail(error, "cannot write a file with an empty name"), SIZE_MAX;
    if (path[len - 1] == '/') return gt_fail_writing(error, path, EISDIR), SIZE_MAX;
    if (gt_output_is_sent(path)) {
        document sent = {.path = gt_strdup(path), .mode = 0600, .descriptor = -1};
        sent.target = gt_format("%s/gputally-output", gt_path_temporary_folder());
        GT_PUSH(output->documents, output->document_count, output->document_capacity, sent);
        return output->document_count - 1;
    }

    char *folder = gt_path_folder(path);
    bool has_folder = gt_output_add_folder(output, folder, error);
    gt_free(folder);
    if (!has_folder) return SIZE_MAX;

    document added = {.target = resolve(path), .mode = 0666, .descriptor = -1};
    if (!may_replace(output, path, added.target, &added.mode, error)) {
        gt_free(added.target);
        return SIZE_MAX;
    }
    if (output->is_private) added.mode = 0600;
    added.path = gt_strdup(path);
    GT_PUSH(output->documents, output->document_count, output->document_capacity, added);
    return output->document_count - 1;
}

const char *gt_output_create_file(gt_output *output, size_t number, gt_error *error)
{
    document *planned = &output->documents[number];
    gt_lock(&output->creating);
    planned->temporary = create_temporary(output, planned);
    int failure = errno;
    gt_unlock(&output->creating);
    if (!planned->temporary)
        gt_fail_writing(error, gt_output_is_sent(planned->path) ? planned->target : planned->path, failure);
    return planned->temporary;
}

void gt_output_make_executable(gt_output *output, size_t number)
{
    document *planned = &output->documents[number];
    planned->mode |= (planned->mode & 0444) >> 2;
}

bool gt_output_add_link(gt_output *output, const char *path, const char *points_to, gt_error *error)
{
    char *folder = gt_path_folder(path);
    bool has_folder = gt_output_add_folder(output, folder, error);
    gt_free(folder);
    if (!has_folder) return false;
    document added = {
        .path = gt_strdup(path), .target = resolve_folder(path), .points_to = points_to, .descriptor = -1};
    GT_PUSH(output->documents, output->document_count, output->document_capacity, added);
    return gt_output_create_file(output, output->document_count - 1, error) != NULL;
}

const char *gt_output_add_file(gt_output *output, const char *path, gt_error *error)
{
    size_t number = gt_output_plan_file(output, path, error);
    if (number == SIZE_MAX) return NULL;
    const char *temporary = gt_output_create_file(output, number, error);
    if (!temporary) { /* it is as if it had not been added */
        gt_free_all(output->documents[number].path, output->documents[number].target);
        output->document_count--;
    }
    return temporary;
}

/* ---- the commit ---- */

static int exchange(const char *a, const char *b)
{
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

/* An old file is exchanged with the new one, so that it can be restored; if the file system cannot do that,
 * it is replaced. What is sent later loses its name now: a reader that goes away ends the program. */
static bool place(document *item)
{
    struct stat old;
    if (!item->temporary) {
        errno = ENOENT;
        return false;
    }
    if (gt_output_is_sent(item->path)) {
        item->descriptor = gt_own_reopen(item->temporary, O_RDONLY);
        return item->descriptor >= 0 && unlink(item->temporary) == 0;
    }
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

static void undo(document *item)
{
    if (item->state == EXCHANGED) exchange(item->temporary, item->target);
    if (item->state == RENAMED) rename(item->target, item->temporary);
    item->state = WAITING;
    if (item->descriptor >= 0) close(item->descriptor);
    item->descriptor = -1;
}

/* Without the lock: a pipe may be full for as long as its reader likes. */
static bool send_document(document *item, gt_error *error)
{
    enum { STEP = 1 << 16 };
    char *bytes = gt_alloc(STEP);
    ssize_t n, sent;
    bool ok = true;
    while (ok && ((n = read(item->descriptor, bytes, STEP)) > 0 || (n < 0 && errno == EINTR)))
        for (ssize_t at = 0; ok && at<n; at += sent> 0 ? sent : 0) {
            sent = write(sent_to, bytes + at, (size_t)(n - at));
            ok = sent >= 0 || errno == EINTR;
        }
    int failure = ok && n == 0 ? 0 : errno;
    gt_free(bytes);
    close(item->descriptor);
    item->descriptor = -1;
    return !failure || gt_fail_writing(error, "to standard output", failure);
}

bool gt_output_commit(gt_output *output, gt_error *error)
{
    sigset_t before;
    lock_output(output, &before);
    size_t first = output->committed_count, placed = first;
    while (placed < output->document_count && place(&output->documents[placed])) placed++;
    int failure = errno;
    bool whole = placed == output->document_count;
    created *kept = NULL;
    if (whole) {
        for (size_t i = first; i < placed; i++)
            if (output->documents[i].state == EXCHANGED) unlink(output->documents[i].temporary);
        kept = output->newest;
        output->newest = NULL;
        output->committed_count = placed;
    } else {
        for (size_t i = placed; i > first; i--) undo(&output->documents[i - 1]);
    }
    unlock_output(output, &before);

    free_created(kept);
    bool sent = true;
    for (size_t i = first; whole && i < placed; i++)
        if (output->documents[i].descriptor >= 0) sent = send_document(&output->documents[i], error) && sent;
    return whole ? sent : gt_fail_writing(error, output->documents[placed].path, failure);
}
