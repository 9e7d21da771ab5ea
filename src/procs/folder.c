/* The work folder; see folder.h. */
#include "procs/folder.h"
#include "base/number.h"
#include "os/own.h"
#include "procs/part.h"
#include "index/checksum.h"
#include "index/index.h"
#include "os/paths.h"

#include <poll.h>
#include <sys/file.h>

#define TOP_NAME  ".gputally-parts-" /* and a random number */
#define LOCK_NAME "lock"
#define MARK_NAME ".gputally-crew"
#define NOTE_NAME ".gputally-note-"

enum { KEY_DIGITS = 16, FOLDERS_MAX = 64, SEEN_STEP_MS = 50, SEEN_STEPS = 200, NAME_PART_MAX = 150 };

/* ---- locks ---- */

typedef enum lock_result { LOCKED, WITHOUT_LOCKS, BUSY, IMPOSSIBLE } lock_result;

/* Whether the descriptor is that of the file which has this name now: its owner may have removed it. */
static bool is_named(int descriptor, const char *path)
{
    struct stat a, b;
    return fstat(descriptor, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static lock_result lock_folder(const char *folder, bool create, int *descriptor)
{
    char *path = gt_format("%s/" LOCK_NAME, folder);
    lock_result result = IMPOSSIBLE;
    for (;;) {
        if (create) mkdir(folder, 0777);
        *descriptor = gt_own_open(path, O_RDWR | O_CREAT, NULL);
        if (*descriptor < 0) break;
        bool is_locked = flock(*descriptor, LOCK_EX | LOCK_NB) == 0;
        bool is_busy = !is_locked && (errno == EWOULDBLOCK || errno == EINTR);
        bool is_current = is_named(*descriptor, path);
        result = is_locked ? LOCKED : is_busy ? BUSY : WITHOUT_LOCKS;
        if (!is_busy && is_current) break;
        close(*descriptor);
        *descriptor = -1;
        if (is_busy) break;
    }
    gt_free(path);
    return result;
}

/* ---- places ---- */

/* The folder in `top`, if it exists or can be made, and nobody else uses it. */
static bool open_in(gt_work_folder *folder, const char *top, const gt_work_folder_choice *choice)
{
    for (unsigned number = 1; number <= FOLDERS_MAX; number++) {
        char *path = number == 1
                         ? gt_format("%s/%s-%016" PRIx64, top, choice->command, choice->key)
                         : gt_format("%s/%s-%016" PRIx64 "-%u", top, choice->command, choice->key, number);
        bool exists = gt_own_is_folder(path);
        lock_result result =
            exists || choice->create ? lock_folder(path, choice->create, &folder->lock) : IMPOSSIBLE;
        if (result == LOCKED || result == WITHOUT_LOCKS) {
            folder->path = path;
            return true;
        }
        gt_free(path);
        if (result == IMPOSSIBLE) return false;
    }
    return false;
}

/* Folders of ours in `place` whose names begin with TOP_NAME, which nobody else can write to. */
static gt_folder_list list_tops(const char *place)
{
    gt_folder_list tops = {0};
    DIR *list = gt_opendir(place);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        struct stat found;
        if (strncmp(entry->d_name, TOP_NAME, strlen(TOP_NAME)) != 0) continue;
        char *path = gt_path_in(place, entry->d_name);
        bool is_ours = gt_own_is_folder(path) && lstat(path, &found) == 0 && found.st_uid == geteuid() &&
                       !(found.st_mode & (S_IWGRP | S_IWOTH));
        if (is_ours)
            GT_PUSH(tops.items, tops.count, tops.capacity, path);
        else
            gt_free(path);
    }
    if (list) closedir(list);
    if (tops.count) qsort(tops.items, tops.count, sizeof *tops.items, gt_by_cstr);
    return tops;
}

static char *make_top(const char *place)
{
    char number[GT_OWN_NAME];
    gt_own_random_name(number);
    char *top = gt_format("%s/" TOP_NAME "%s", place, number);
    if (mkdir(top, 0700) == 0) return top;
    gt_free(top);
    return NULL;
}

/* Opens the work folder in a folder of traces or the cache. Without one, folder->top is what else interrupted
 * starts of a command have left there. */
static void open_at(gt_work_folder *folder, const char *place, const gt_work_folder_choice *choice)
{
    gt_folder_list tops = list_tops(place);
    gt_work_folder_choice again = *choice;
    again.create = false;
    size_t used = tops.count;
    for (size_t i = 0; i < tops.count && used == tops.count; i++)
        if (open_in(folder, tops.items[i], &again)) used = i;
    if (used == tops.count && choice->create) {
        /* Another process group may just remove the first one. */
        char *top = tops.count && open_in(folder, tops.items[0], choice) ? gt_strdup(tops.items[0]) : NULL;
        if (!top) top = make_top(place);
        if (top && !folder->path && !open_in(folder, top, choice)) rmdir(top);
        gt_free(folder->top);
        folder->top = folder->path ? top : NULL;
        if (!folder->path) gt_free(top);
    } else if (tops.count && !folder->top) {
        folder->top = gt_strdup(tops.items[used < tops.count ? used : 0]);
    }
    gt_folder_list_free(&tops);
}

static bool open_default(gt_work_folder *folder, const gt_work_folder_choice *choice, gt_error *error)
{
    gt_error ignored;
    char *local = gt_path_folder(choice->trace), *cache = gt_index_cache_folder();
    open_at(folder, local, choice);
    if (!folder->path && cache && (!choice->create || gt_path_make_folder(cache, &ignored)))
        open_at(folder, cache, choice);
    bool opened =
        folder->path || !choice->create ||
        gt_fail(error, "%s: cannot be written; name a folder that all machines share with --partials", local);
    gt_free(local);
    gt_free(cache);
    return opened;
}

bool gt_work_folder_open(gt_work_folder *folder, const gt_work_folder_choice *choice, gt_error *error)
{
    *folder = (gt_work_folder){.command = choice->command, .lock = -1};
    if (!choice->named) return !choice->trace || open_default(folder, choice, error);
    if (!gt_path_is_folder(choice->named) && !gt_path_make_folder(choice->named, error)) return false;
    folder->path = gt_strdup(choice->named);
    return true;
}

void gt_work_folder_close(gt_work_folder *folder)
{
    if (folder->lock >= 0) close(folder->lock);
    gt_free(folder->path);
    gt_free(folder->top);
    *folder = (gt_work_folder){.lock = -1};
}

/* ---- removing ---- */

/* Only what this program makes: partials, also unfinished ones, the lock and the mark. */
static bool is_ours(const char *name)
{
    return strstr(name, GT_PART_SUFFIX) || strncmp(name, NOTE_NAME, strlen(NOTE_NAME)) == 0 ||
           strcmp(name, LOCK_NAME) == 0 || strcmp(name, MARK_NAME) == 0;
}

static void remove_folder(const char *path)
{
    DIR *list = gt_own_is_folder(path) ? gt_opendir(path) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (is_ours(entry->d_name)) unlinkat(dirfd(list), entry->d_name, 0);
    if (list) closedir(list);
    rmdir(path);
}

/* COMMAND-KEY or COMMAND-KEY-2. */
static bool is_of_command(const char *name, const char *command)
{
    size_t len = strlen(command);
    return strncmp(name, command, len) == 0 && name[len] == '-' &&
           strspn(name + len + 1, "0123456789abcdef") == KEY_DIGITS;
}

/* Folders that nobody uses. Without locks, that is unknown. */
static void remove_left(const char *top, const char *command)
{
    DIR *list = gt_opendir(top);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        int lock = -1;
        if (!is_of_command(entry->d_name, command)) continue;
        char *path = gt_format("%s/%s", top, entry->d_name);
        if (lock_folder(path, false, &lock) == LOCKED) remove_folder(path);
        if (lock >= 0) close(lock);
        gt_free(path);
    }
    if (list) closedir(list);
}

void gt_work_folder_remove(gt_work_folder *folder)
{
    if (folder->path && folder->top) remove_folder(folder->path);
    char *place = folder->top ? gt_path_folder(folder->top) : NULL;
    gt_folder_list tops = place ? list_tops(place) : (gt_folder_list){0};
    for (size_t i = 0; i < tops.count; i++) {
        remove_left(tops.items[i], folder->command);
        rmdir(tops.items[i]); /* fails if another command uses it */
    }
    gt_folder_list_free(&tops);
    gt_free(place);
    gt_work_folder_close(folder);
}

void gt_work_folder_abandon(gt_work_folder *folder)
{
    bool has_parts = false;
    DIR *list = folder->path && folder->top ? gt_opendir(folder->path) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list));)
        has_parts |= strstr(entry->d_name, GT_PART_SUFFIX) != NULL;
    if (list) closedir(list);
    if (!list || has_parts) return;
    remove_folder(folder->path);
    rmdir(folder->top);
}

/* ---- the mark ---- */

bool gt_work_folder_mark(const char *path, uint64_t number, gt_error *error)
{
    char *mark = gt_format("%s/" MARK_NAME, path);
    FILE *file = gt_own_fopen(mark, "w");
    bool written = file && fprintf(file, "%016" PRIx64 "\n", number) > 0;
    if (file) written = fclose(file) == 0 && written;
    if (!written) gt_fail(error, "%s: %s", mark, strerror(errno));
    gt_free(mark);
    return written;
}

static bool reads_mark(const char *path, uint64_t number)
{
    char *mark = gt_format("%s/" MARK_NAME, path);
    char text[32] = "";
    FILE *file = gt_own_fopen(mark, "r");
    bool is_read = file && fgets(text, sizeof text, file);
    if (file) fclose(file);
    gt_free(mark);
    return is_read && strtoull(text, NULL, 16) == number;
}

bool gt_work_folder_is_marked(const char *path, uint64_t number)
{
    for (unsigned i = 0; i < SEEN_STEPS; i++) {
        if (reads_mark(path, number)) return true;
        DIR *list = gt_opendir(path); /* has a network file system ask again */
        if (list) closedir(list);
        poll(NULL, 0, SEEN_STEP_MS);
    }
    return false;
}

void gt_work_folder_unmark(const char *path)
{
    char *mark = gt_format("%s/" MARK_NAME, path);
    unlink(mark);
    gt_free(mark);
}

/* ---- notes ---- */

/* It has a temporary name until it is whole. */
void gt_work_folder_leave_note(const char *path, uint64_t number, const char *text)
{
    char *note = gt_format("%s/" NOTE_NAME "%016" PRIx64, path, number);
    char random[GT_OWN_NAME];
    gt_own_random_name(random);
    char *unfinished = gt_format("%s-%s", note, random);
    FILE *file = gt_own_fopen(unfinished, "w");
    bool written = file && fputs(text, file) >= 0;
    if (file) written = fclose(file) == 0 && written;
    if (!written || rename(unfinished, note) != 0) unlink(unfinished);
    gt_free(unfinished);
    gt_free(note);
}

bool gt_work_folder_take_note(const char *path, uint64_t number, gt_error *text)
{
    char *note = gt_format("%s/" NOTE_NAME "%016" PRIx64, path, number);
    FILE *file = gt_own_fopen(note, "r");
    size_t len = file ? fread(text->text, 1, sizeof text->text - 1, file) : 0;
    text->text[len] = 0;
    if (file) {
        fclose(file);
        unlink(note);
    }
    gt_free(note);
    return file != NULL;
}

/* ---- names ---- */

/* NAME-HASH.gtpart: traces in several folders may have the same name. */
char *gt_work_folder_part(const char *path, const char *trace)
{
    gt_arena arena = {0};
    const char *whole = gt_path_absolute(&arena, gt_path_current(&arena), trace);
    char *part = gt_format("%s/%.*s-%016" PRIx64 GT_PART_SUFFIX, path, NAME_PART_MAX, gt_path_name(whole),
                           gt_checksum(whole, strlen(whole)));
    gt_arena_free(&arena);
    return part;
}
