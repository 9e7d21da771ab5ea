/* The folder of what is kept of a sweep: its lock, its indexes, and messages. */
#include "sweep/cache/cache.h"

#include "os/own.h"
#include "procs/procs.h"
#include "index/build.h"
#include "os/paths.h"

#include <sys/file.h>

/* ---- opening ---- */

/* Where locks are not supported, as on some network file systems, processes are not kept apart. */
static int take_lock(const char *folder)
{
    char *path = gt_format("%slock", folder);
    int descriptor = gt_own_open(path, O_RDWR | O_CREAT, NULL);
    gt_path_share(path);
    if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        gt_info("%s: waiting for another process that analyses this sweep", path);
        while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    gt_free(path);
    return descriptor;
}

gt_sweep_cache *gt_sweep_cache_open(const char *analysis, gt_cache_mode mode)
{
    gt_error ignored;
    char *folder = gt_format("%s/" GT_SWEEP_CACHE_FOLDER "/", analysis);
    bool was_there = gt_path_is_folder(analysis), exists = gt_own_is_folder(folder);
    /* Of several processes that share the work, the first one has made the folder before the work begins, and
     * holds the lock for all. */
    bool is_first = gt_procs_is_first();
    if (!exists && mode != GT_CACHE_USE && is_first) gt_path_make_folder(folder, &ignored);
    if (!gt_build_number() || !gt_own_is_folder(folder)) {
        gt_free(folder);
        return NULL;
    }
    gt_sweep_cache *cache = gt_alloc_zero(1, sizeof *cache);
    *cache = (gt_sweep_cache){.folder = folder,
                              .mode = mode,
                              .lock = -1,
                              .is_new = !exists,
                              .is_alone = !was_there,
                              .used = gt_interner_new(),
                              .current = gt_interner_new(),
                              .removed = gt_interner_new()};
    pthread_mutex_init(&cache->mutex, NULL);
    cache->policy = (gt_index_policy){
        .mode = mode == GT_CACHE_USE ? GT_INDEX_USE : GT_INDEX_AUTO, .place = folder, .is_cache = true};
    if (mode != GT_CACHE_USE && is_first) cache->lock = take_lock(folder);
    return cache;
}

gt_sweep_cache *gt_sweep_cache_beside(const char *path, bool force)
{
    char *folder = gt_path_folder(path), *cache = gt_format("%s/" GT_SWEEP_CACHE_FOLDER, folder);
    gt_sweep_cache *found =
        gt_own_is_folder(cache) ? gt_sweep_cache_open(folder, force ? GT_CACHE_RENEW : GT_CACHE_KEEP) : NULL;
    gt_free(folder);
    gt_free(cache);
    return found;
}

/* Indexes of traces that were moved or removed would only take space. */
static void remove_old(const gt_sweep_cache *cache)
{
    gt_folder_list names = gt_list_folder(cache->folder);
    for (size_t i = 0; i < names.count; i++) {
        char *trace = NULL, *path = gt_format("%s%s", cache->folder, names.items[i]);
        if (gt_has_ending(names.items[i], GT_INDEX_SUFFIX) && gt_index_is_index(path, &trace) && !trace)
            unlink(path);
        gt_free(trace);
        gt_free(path);
    }
    gt_folder_list_free(&names);
}

static void remove_if_empty(const gt_sweep_cache *cache)
{
    gt_folder_list names = gt_list_folder(cache->folder);
    if (names.count == 1 && strcmp(names.items[0], "lock") == 0) {
        char *lock = gt_format("%slock", cache->folder), *analysis = gt_strdup(cache->folder);
        analysis[strlen(analysis) - strlen(GT_SWEEP_CACHE_FOLDER "/")] = 0;
        unlink(lock);
        rmdir(cache->folder);
        if (cache->is_alone) rmdir(analysis); /* fails if it has files */
        gt_free(lock);
        gt_free(analysis);
    }
    gt_folder_list_free(&names);
}

/* Removes the folders of removed files, up to the folder of analyses, that are empty now. Not earlier: until
 * all work is done, somebody may be about to write into them. */
static void remove_empty_folders(const gt_sweep_cache *cache)
{
    size_t analysis = strlen(cache->folder) - strlen(GT_SWEEP_CACHE_FOLDER "/");
    for (uint32_t i = 0; i < gt_interner_count(cache->removed); i++) {
        char *path = gt_strdup(gt_interner_get(cache->removed, i).bytes), *slash;
        while ((slash = strrchr(path, '/')) && (size_t)(slash - path) > analysis) {
            *slash = 0;
            if (rmdir(path) != 0 && errno != ENOENT) break;
        }
        gt_free(path);
    }
}

void gt_sweep_cache_close(gt_sweep_cache *cache)
{
    if (!cache) return;
    remove_empty_folders(cache);
    if (cache->mode != GT_CACHE_USE) remove_old(cache);
    if (cache->is_new) remove_if_empty(cache);
    if (cache->lock >= 0) close(cache->lock);
    pthread_mutex_destroy(&cache->mutex);
    gt_interner_free(cache->used);
    gt_interner_free(cache->current);
    gt_interner_free(cache->removed);
    gt_free(cache->folder);
    gt_free(cache);
}

/* ---- messages ---- */

static void hear(void *context, gt_message_kind kind, const char *text)
{
    gt_buffer *texts = context;
    gt_buffer_add(texts, &(char){(char)('0' + (int)kind)}, 1);
    gt_buffer_add(texts, text, strlen(text) + 1);
}

void gt_capture_begin(gt_captured_messages *captured)
{
    captured->listener = (gt_log_listener){.hear = hear, .context = &captured->texts};
    gt_log_listen(&captured->listener);
}

void gt_capture_end(gt_captured_messages *captured)
{
    gt_log_unlisten(&captured->listener);
}

bool gt_captured_is_sound(gt_str texts)
{
    if (texts.len && texts.bytes[texts.len - 1]) return false;
    for (size_t at = 0; at < texts.len; at += strlen(texts.bytes + at) + 1)
        if (texts.bytes[at] < '0' || texts.bytes[at] > '0' + GT_MESSAGE_INFO) return false;
    return true;
}

void gt_captured_repeat(gt_str texts)
{
    for (size_t at = 0; at < texts.len; at += strlen(texts.bytes + at) + 1)
        gt_log_repeat((gt_message_kind)(texts.bytes[at] - '0'), texts.bytes + at + 1);
}

/* ---- indexes ---- */

gt_index *gt_sweep_cache_index(const gt_sweep_cache *cache, const char *path)
{
    return cache ? gt_index_open(&cache->policy, path) : NULL;
}

bool gt_sweep_cache_find(const gt_sweep_cache *cache, const gt_index *index, const char *key, gt_image *image)
{
    return cache && cache->mode != GT_CACHE_RENEW && gt_index_find(index, key, image);
}
