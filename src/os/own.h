/* Opening files, and whose they are: what this program takes for its own in folders that others may write to.
 *
 * Some files are found or written without the user having named them: indexes, partials, work folders, what
 * is kept of a sweep, reports under their default names, temporary files. In a shared folder anybody may have
 * put something else there. So such a file, or folder,
 *
 *     - belongs to the user, to root, or to the owner of the folder that it is in (who could replace the
 * trace as well) or of the trace that it is about;
 *     - is not a link, nor a second name of another file if it is written to;
 *     - has a name that cannot be guessed, if it is temporary.
 *
 * docs/security.md says what follows from that for the user. */
#ifndef GT_OS_OWN_H
#define GT_OS_OWN_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- opening anything: open, fopen and opendir that begin again after a signal ---- */

int gt_open(const char *path, int flags, ...);
FILE *gt_fopen(const char *path, const char *mode);
DIR *gt_opendir(const char *path);

/* ---- what the user has named ---- */

/* For the command line: only paths that these arguments contain were named by the user, by themselves or as
 * the value of an option. The arguments stay where they are. Without this call, as in the library, all were.
 */
void gt_own_name_paths(char *const *arguments, size_t count);
bool gt_own_is_named(const char *path);

/* ---- what is ours ---- */

/* Whether a group works in the folder: it is writable for its group, and not for all as /tmp is. */
bool gt_own_is_shared(const struct stat *folder);
/* Whether a file or folder is ours, as far as that does not depend on a trace. */
bool gt_own_belongs(const struct stat *status, const struct stat *folder);

/* open() for a file of ours, of which a regular file is the only kind. `trace` is what it is about; NULL:
 * nothing. -1 with ELOOP if it is a link, with EPERM if it belongs to somebody else or, to be written, has
 * several names, and with EINVAL if it is no regular file. O_TRUNC takes effect after these checks. */
int gt_own_open(const char *path, int flags, const char *trace);
/* The same for a file that we have just created under a name that nobody could guess. It may belong to
 * somebody else: some network file systems say so of all files. */
int gt_own_reopen(const char *path, int flags);
/* fopen() for a file of ours, with mode "r" or "w". */
FILE *gt_own_fopen(const char *path, const char *mode);
/* Whether there is a folder under this name that is ours. If a foreign one is in the way, errno is EPERM, and
 * ELOOP for a link. */
bool gt_own_is_folder(const char *path);
/* Whether what is at `path` may be replaced, though the user has not named it: nothing, or a file of ours.
 * Otherwise errno says why, as for gt_own_open. */
bool gt_own_may_replace(const char *path);
/* Whether the folders of a path that the user has not named are no links, or links of the user or root. */
bool gt_own_is_path(const char *path);

/* "it is a link", "it belongs to another user": the message of an errno of these functions. */
const char *gt_own_reason(int error_number);

/* ---- names that nobody can guess ---- */

enum { GT_OWN_NAME = 17 };
void gt_own_random_name(char name[GT_OWN_NAME]); /* 16 hexadecimal digits and a NUL */

#endif
