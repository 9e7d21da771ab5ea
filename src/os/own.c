/* Opening files, and whose they are; see own.h. */
#include "os/own.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- opening anything ---- */

static int open_in(int folder, const char *name, int flags, mode_t mode)
{
    int descriptor;
    do descriptor = openat(folder, name, flags, mode);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

int gt_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return open_in(AT_FDCWD, path, flags, mode);
}

FILE *gt_fopen(const char *path, const char *mode)
{
    FILE *file;
    do file = fopen(path, mode);
    while (!file && errno == EINTR);
    return file;
}

DIR *gt_opendir(const char *path)
{
    DIR *folder;
    do folder = opendir(path);
    while (!folder && errno == EINTR);
    return folder;
}

/* ---- what the user has named ---- */

/* The user's own words, which name files; NULL: every path was named by the caller. */
static char *const *words;
static size_t word_count;

void gt_own_name_paths(char *const *arguments, size_t count)
{
    words = arguments;
    word_count = count;
}

/* How many bytes both have, up to the end of a folder or of all of both. */
static size_t common_len(const char *path, const char *word)
{
    size_t same = 0, end = 0;
    for (; path[same] && path[same] == word[same]; same++)
        if (path[same] == '/') end = same;
    return (path[same] && path[same] != '/') || (word[same] && word[same] != '/') ? end : same;
}

/* How many bytes of the path are those of a path that the user has named: DIR/trace.json.gz names DIR, too.
 * Values also follow "--option=" and "-o". */
static size_t named_len(const char *path)
{
    size_t most = words ? 0 : strlen(path);
    for (size_t i = 0; i < word_count; i++) {
        const char *word = words[i], *value = strchr(word, '=');
        const char *parts[] = {word, value ? value + 1 : "", word[0] == '-' && word[1] ? word + 2 : ""};
        for (size_t k = 0; k < GT_LENGTH(parts); k++) {
            size_t len = common_len(path, parts[k]);
            if (len > most) most = len;
        }
    }
    return most;
}

bool gt_own_is_named(const char *path)
{
    return named_len(path) == strlen(path);
}

/* ---- what is ours ---- */

bool gt_own_is_shared(const struct stat *folder)
{
    return (folder->st_mode & (S_IWGRP | S_IWOTH | S_ISVTX)) == S_IWGRP;
}

bool gt_own_belongs(const struct stat *status, const struct stat *folder)
{
    return status->st_uid == geteuid() || status->st_uid == 0 || status->st_uid == folder->st_uid ||
           (gt_own_is_shared(folder) && status->st_gid == folder->st_gid);
}

static int fail_with(int descriptor, int reason)
{
    if (descriptor >= 0) close(descriptor);
    errno = reason;
    return -1;
}

enum { ATTEMPTS_MAX = 10 };

/* The part after the last '/': paths.h, which knows that, opens files by the functions of this file. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder of a path, open; its facts. */
static int open_folder_of(const char *path, struct stat *folder)
{
    size_t len = (size_t)(name_of(path) - path);
    char *name = gt_format("%.*s", len ? (int)len : 1, len ? path : ".");
    int descriptor = gt_open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int failure = descriptor < 0 || fstat(descriptor, folder) != 0 ? errno : 0;
    gt_free(name);
    return failure ? fail_with(descriptor, failure) : descriptor;
}

/* 0, or the reason why the open file is not ours. */
static int check_file(int descriptor, int flags, const struct stat *folder, const char *trace)
{
    struct stat found, about;
    if (fstat(descriptor, &found) != 0) return errno;
    if (!S_ISREG(found.st_mode)) return EINVAL;
    bool is_of_trace = trace && stat(trace, &about) == 0 && about.st_uid == found.st_uid;
    if (!gt_own_belongs(&found, folder) && !is_of_trace) return EPERM;
    return (flags & O_ACCMODE) != O_RDONLY && found.st_nlink > 1 ? EPERM : 0;
}

int gt_own_open(const char *path, int flags, const char *trace)
{
    struct stat folder;
    int in = open_folder_of(path, &folder);
    if (in < 0) return -1;
    const char *name = name_of(path);
    int how = (flags & ~(O_TRUNC | O_CREAT)) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    bool create = flags & O_CREAT, is_new = false;
    int descriptor = -1;
    /* What did not exist is ours, even if the file system gives it to somebody else. It may disappear again
     * before it is opened. */
    for (int attempt = 0; descriptor < 0 && attempt < (create ? ATTEMPTS_MAX : 1); attempt++) {
        if (create) descriptor = open_in(in, name, how | O_CREAT | O_EXCL, 0666);
        is_new = descriptor >= 0;
        if (!is_new && (!create || errno == EEXIST)) descriptor = open_in(in, name, how, 0);
        if (descriptor < 0 && errno != ENOENT) break;
    }
    int failure = descriptor < 0 ? errno : is_new ? 0 : check_file(descriptor, flags, &folder, trace);
    close(in);
    if (!failure && flags & O_TRUNC && ftruncate(descriptor, 0) != 0) failure = errno;
    return failure ? fail_with(descriptor, failure) : descriptor;
}

int gt_own_reopen(const char *path, int flags)
{
    struct stat found;
    int descriptor = gt_open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is =
        descriptor >= 0 && fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 1;
    return is || descriptor < 0 ? descriptor : fail_with(descriptor, EPERM);
}

FILE *gt_own_fopen(const char *path, const char *mode)
{
    int flags = mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
    int descriptor = gt_own_open(path, flags, NULL);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, mode) : NULL;
    if (descriptor >= 0 && !file) close(descriptor);
    return file;
}

/* What is at the path; links are not followed. */
static bool look_at(const char *path, struct stat *found, struct stat *folder)
{
    int in = open_folder_of(path, folder);
    bool is_there = in >= 0 && fstatat(in, name_of(path), found, AT_SYMLINK_NOFOLLOW) == 0;
    int failure = errno;
    if (in >= 0) close(in);
    errno = failure;
    return is_there;
}

static bool allow(const struct stat *found, const struct stat *folder)
{
    errno = S_ISLNK(found->st_mode) ? ELOOP : gt_own_belongs(found, folder) ? 0 : EPERM;
    return !errno;
}

bool gt_own_is_folder(const char *path)
{
    struct stat found, folder;
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') len--;
    char *trimmed = gt_format("%.*s", (int)len, path);
    bool is = look_at(trimmed, &found, &folder) && allow(&found, &folder);
    int failure = errno;
    gt_free(trimmed);
    errno = failure;
    if (is && !S_ISDIR(found.st_mode)) errno = ENOTDIR;
    return is && S_ISDIR(found.st_mode);
}

bool gt_own_may_replace(const char *path)
{
    struct stat found, folder;
    return !look_at(path, &found, &folder) || allow(&found, &folder);
}

bool gt_own_is_path(const char *path)
{
    bool is = true;
    size_t from = named_len(path);
    char *part = gt_strdup(path);
    for (size_t at = 1; *part && is; at++) {
        if (part[at] && part[at] != '/') continue;
        struct stat found;
        char was = part[at];
        part[at] = 0;
        is = at <= from || lstat(part, &found) != 0 || !S_ISLNK(found.st_mode) || found.st_uid == geteuid() ||
             found.st_uid == 0;
        part[at] = was;
        if (!was) break;
    }
    gt_free(part);
    return is;
}

const char *gt_own_reason(int error_number)
{
    return error_number == ELOOP    ? "it is a link"
           : error_number == EPERM  ? "it belongs to another user"
           : error_number == EINVAL ? "it is not a regular file"
                                    : strerror(error_number);
}

/* ---- names ---- */

void gt_own_random_name(char name[GT_OWN_NAME])
{
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        struct timespec now; /* only before the system has collected enough; O_EXCL still protects the file */
        clock_gettime(CLOCK_MONOTONIC, &now);
        number = (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid();
    }
    snprintf(name, GT_OWN_NAME, "%016llx", (unsigned long long)number);
}
