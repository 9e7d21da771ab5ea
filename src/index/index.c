/* The index of a trace: its place, its state, and what is kept in it. */
#include "index/index.h"
#include "index/checksum.h"
#include "index/container.h"
#include "os/own.h"
#include "os/paths.h"

/* Adding a record to an index with this many first drops those that only save time. */
enum { RECORDS_MAX = 64, APPENDED_MAX = 16 << 20 };

struct gt_index {
    gt_index_policy policy;
    char *trace_path;       /* as given */
    char *target;           /* the file to write */
    gt_index_file *file;    /* NULL: there is none that can be used */
    gt_trace_identity seen; /* before anything was read; without its checksum */
    bool is_trace;          /* the path is that of the trace, and not of an index without it */
    unsigned opened;        /* how often, in addition to the first time */
};

/* ---- places ---- */

static bool has_magic(const char *path)
{
    char head[sizeof GT_INDEX_MAGIC - 1];
    int descriptor = gt_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return false;
    bool is = read(descriptor, head, sizeof head) == (ssize_t)sizeof head &&
              memcmp(head, GT_INDEX_MAGIC, sizeof head) == 0;
    close(descriptor);
    return is;
}

static char *absolute(const char *path)
{
    char *whole = realpath(path, NULL);
    return whole ? gt_adopt(whole) : gt_strdup(path);
}

/* NAME-HASH.gtindex: a folder may hold the indexes of traces with the same name. */
static char *name_in_folder(const char *folder, const char *trace_path)
{
    char *whole = absolute(trace_path);
    char *name = gt_format("%.180s-%016" PRIx64 GT_INDEX_SUFFIX, gt_path_name(whole),
                           gt_checksum(whole, strlen(whole)));
    char *path = gt_path_in(folder, name);
    gt_free(name);
    gt_free(whole);
    return path;
}

char *gt_index_cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') return gt_format("%s/gputally", cache);
    return home && home[0] == '/' ? gt_format("%s/.cache/gputally", home) : NULL;
}

static bool is_folder_name(const char *place)
{
    size_t len = strlen(place);
    return gt_path_is_folder(place) || (len && place[len - 1] == '/');
}

static char *next_to(const char *trace_path)
{
    return gt_format("%s" GT_INDEX_SUFFIX, trace_path);
}

static char *in_cache(const char *trace_path)
{
    char *cache = gt_index_cache_folder();
    char *path = cache ? name_in_folder(cache, trace_path) : NULL;
    gt_free(cache);
    return path;
}

/* Not if something of somebody else is there. */
static bool can_write_next_to(const char *trace_path)
{
    char *folder = gt_path_folder(trace_path), *near = next_to(trace_path);
    bool can = access(folder, W_OK | X_OK) == 0 && gt_own_may_replace(near);
    gt_free(near);
    gt_free(folder);
    return can;
}

static char *choose_target(const gt_index *index)
{
    const char *place = index->policy.place;
    if (place && is_folder_name(place)) return name_in_folder(place, index->trace_path);
    if (place) return gt_strdup(place);
    char *cached = can_write_next_to(index->trace_path) ? NULL : in_cache(index->trace_path);
    return cached ? cached : next_to(index->trace_path);
}

/* ---- opening ---- */

/* Why an index is not used. With --index auto it is replaced, which needs no warning. */
static void say_unused(const gt_index *index, const char *path, const char *why)
{
    if (index->policy.is_cache) return;
    bool before = gt_log_set_private(true);
    if (index->policy.mode == GT_INDEX_AUTO)
        gt_info("%s: %s; it is made again", path, why);
    else if (index->is_trace)
        gt_warn("%s: %s; it is not used (--index auto makes it again)", path, why);
    else
        gt_warn("%s: %s", path, why);
    gt_log_set_private(before);
}

static bool is_of_trace(gt_index *index, gt_index_file *file)
{
    const gt_trace_identity *noted = gt_index_file_identity(file);
    gt_trace_identity now = index->seen;
    if (now.size != noted->size) return false;
    if (gt_index_file_is_settled(file) && gt_trace_has_same_times(&now, noted)) return true;
    if (!gt_trace_add_checksum(index->trace_path, &now) || now.checksum != noted->checksum) return false;
    if (index->policy.mode == GT_INDEX_AUTO) gt_index_file_refresh(file, &now);
    return true;
}

/* Whether the user has named this file. */
static bool is_named(const gt_index *index, const char *path)
{
    const char *place = index->policy.place;
    return strcmp(path, index->trace_path) == 0 || (place && strcmp(path, place) == 0);
}

static gt_index_file *open_file(const gt_index *index, const char *path, gt_index_state *state)
{
    return is_named(index, path) ? gt_index_file_open(NULL, path, state)
                                 : gt_index_file_open_own(NULL, path, index->trace_path, state);
}

/* Opens the file if it is an index that can be used; says so if it is one that cannot. */
static bool try_file(gt_index *index, const char *path)
{
    static const char *const reasons[] = {
        [GT_INDEX_FOREIGN] = "index of another build of gputally",
        [GT_INDEX_DAMAGED] = "damaged index",
        [GT_INDEX_NOT_OURS] = "a link, or of another user, whom neither the folder nor the trace belongs to",
    };
    gt_index_state state;
    if (!path) return false;
    gt_index_file *file = open_file(index, path, &state);
    const char *why = state < GT_LENGTH(reasons) ? reasons[state] : NULL;
    if (state == GT_INDEX_SOUND && index->is_trace && !is_of_trace(index, file))
        why = "index of an earlier state of the trace, or of another trace";
    if (why) say_unused(index, path, why);
    if (state == GT_INDEX_SOUND && !why) {
        index->file = file;
        return true;
    }
    gt_index_file_close(file);
    return false;
}

static void find_file(gt_index *index)
{
    if (!index->is_trace) {
        try_file(index, index->trace_path);
    } else if (index->policy.place) {
        try_file(index, index->target);
    } else {
        char *near = next_to(index->trace_path), *cached = NULL;
        if (!try_file(index, near)) {
            cached = in_cache(index->trace_path);
            try_file(index, cached);
        }
        gt_free(near);
        gt_free(cached);
    }
}

/* Under the name that the command line gives it, and under the one in messages, which may be those of files.
 */
static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "standard input") == 0;
}

/* A database that is in use: its changes may be in a second file, which an index knows nothing of, or it may
 * be incomplete. */
static bool has_journal(const char *path)
{
    static const char *const endings[] = {"-wal", "-journal"};
    bool has = false;
    for (size_t i = 0; i < GT_LENGTH(endings); i++) {
        char *journal = gt_format("%s%s", path, endings[i]);
        has |= gt_path_is_file(journal);
        gt_free(journal);
    }
    return has;
}

gt_index *gt_index_open(const gt_index_policy *policy, const char *trace_path)
{
    gt_trace_identity seen;
    if (!policy || policy->mode == GT_INDEX_OFF || is_standard_input(trace_path)) return NULL;
    if (policy->open && strcmp(policy->open->trace_path, trace_path) == 0) {
        policy->open->opened++;
        return policy->open;
    }
    if (has_journal(trace_path) || !gt_trace_identify(trace_path, &seen)) return NULL;
    gt_index *index = gt_alloc_zero(1, sizeof *index);
    index->policy = *policy;
    index->trace_path = gt_strdup(trace_path);
    index->seen = seen;
    index->is_trace = !has_magic(trace_path);
    if (!index->is_trace) index->policy.mode = GT_INDEX_USE;
    index->target = choose_target(index);
    find_file(index);
    return index;
}

void gt_index_close(gt_index *index)
{
    if (!index || index->opened-- > 0) return;
    gt_index_file_close(index->file);
    gt_free(index->target);
    gt_free(index->trace_path);
    gt_free(index);
}

/* ---- finding ---- */

bool gt_index_find(const gt_index *index, const char *key, gt_image *image)
{
    bool damaged;
    if (!index || !index->file) return false;
    if (gt_index_file_find(index->file, key, image, &damaged)) return true;
    if (damaged) gt_index_reject(index);
    return false;
}

void gt_index_reject(const gt_index *index)
{
    say_unused(index, gt_index_file_path(index->file), "damaged index");
}

void gt_index_lend(const gt_index *index, gt_interner *strings)
{
    gt_interner_own(strings, gt_index_file_close, gt_index_file_hold(index->file));
}

/* ---- keeping ---- */

bool gt_index_keeps(const gt_index *index)
{
    return index && index->policy.mode == GT_INDEX_AUTO;
}

bool gt_index_contents(const gt_index *index, uint64_t *size, uint64_t *checksum)
{
    if (!index || !index->file) return false;
    *size = gt_index_file_identity(index->file)->size;
    *checksum = gt_index_file_identity(index->file)->checksum;
    return true;
}

const char *gt_index_path(const gt_index *index)
{
    return index && index->file ? gt_index_file_path(index->file) : NULL;
}

/* Whether the file is what a crash of the system may leave of an index: nothing, its first bytes, or zeros
 * under the name of an index. */
static bool is_rest_of_index(const char *path)
{
    static const char zeros[sizeof GT_INDEX_MAGIC - 1];
    char head[sizeof zeros];
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    int descriptor = gt_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return false;
    ssize_t len = read(descriptor, head, sizeof head);
    close(descriptor);
    if (len < 0) return false;
    if (len < (ssize_t)sizeof head && memcmp(head, GT_INDEX_MAGIC, (size_t)len) == 0) return true;
    size_t name = strlen(path), ending = strlen(".gtindex");
    return name > ending && strcmp(path + name - ending, ".gtindex") == 0 &&
           memcmp(head, zeros, (size_t)len) == 0;
}

/* Whether the file may be written: it must not exist, or be an index. */
static bool may_replace(const char *path)
{
    struct stat status;
    return (stat(path, &status) != 0 && errno == ENOENT) || has_magic(path) || is_rest_of_index(path);
}

static bool prepare_folder(const char *target, gt_error *error)
{
    char *folder = gt_path_folder(target);
    bool made = gt_path_is_folder(folder) || gt_path_make_folder(folder, error);
    gt_free(folder);
    return made;
}

static uint64_t image_bytes(const gt_image *image)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < image->count; i++) bytes += image->parts[i].len;
    return bytes;
}

/* Opens what was written, so that the next record is added to it. */
static void open_written(gt_index *index)
{
    gt_index_state state;
    gt_index_file *file = open_file(index, index->target, &state);
    if (!file) return;
    gt_index_file_close(index->file);
    index->file = file;
}

/* A new file with what the old one has. */
static bool write_file(gt_index *index, gt_index_kind kind, const char *key, const gt_image *image,
                       gt_error *error)
{
    gt_trace_identity now = index->seen;
    if (index->file)
        now.checksum = gt_index_file_identity(index->file)->checksum;
    else if (!gt_trace_add_checksum(index->trace_path, &now))
        return gt_fail(error, "%s: the trace changes, so there is no index of it", index->trace_path);
    if (!index->policy.is_cache && !may_replace(index->target))
        return gt_fail(error, "%s: not an index, so it is not replaced by one", index->target);
    bool drop = index->file && gt_index_file_records(index->file) >= RECORDS_MAX;
    char *whole = absolute(index->trace_path);
    bool written = prepare_folder(index->target, error) &&
                   gt_index_file_create(index->target, &(gt_index_new){NULL, whole, now, kind}, index->file,
                                        drop ? GT_INDEX_REPORT : NULL, key, image, error);
    gt_free(whole);
    return written;
}

static void warn_privately(const gt_index *index, const char *text)
{
    if (index->policy.is_cache) return;
    bool before = gt_log_set_private(true);
    gt_warn("%s", text);
    gt_log_set_private(before);
}

static bool keep(gt_index *index, gt_index_kind kind, const char *key, const gt_image *image, gt_error *error)
{
    gt_trace_identity now;
    if (!gt_trace_identify(index->trace_path, &now) || !gt_trace_has_same_times(&now, &index->seen))
        return gt_fail(error, "%s: the trace changes, so there is no index of it", index->trace_path);
    bool append = index->file && strcmp(gt_index_file_path(index->file), index->target) == 0 &&
                  gt_index_file_records(index->file) < RECORDS_MAX && image_bytes(image) <= APPENDED_MAX;
    return (append && gt_index_file_append(index->file, key, image)) ||
           write_file(index, kind, key, image, error);
}

bool gt_index_keep(gt_index *index, gt_index_kind kind, const char *key, const gt_image *image)
{
    gt_error error = {""};
    if (!gt_index_keeps(index)) return false;
    bool kept = keep(index, kind, key, image, &error);
    gt_index_tally *tally = index->policy.tally;
    if (tally) (*(kept ? &tally->kept : &tally->failed))++;
    if (kept)
        open_written(index);
    else
        warn_privately(index, error.text);
    return kept;
}

/* ---- an index instead of its trace ---- */

bool gt_index_is_alone(const gt_index *index)
{
    return index && !index->is_trace;
}

bool gt_index_fail_alone(const gt_index *index, const char *key, gt_error *error)
{
    return gt_fail(error, "%s: no %s in this index, and its trace is missing", index->trace_path, key);
}

bool gt_index_is_index(const char *path, char **trace)
{
    struct stat status;
    if (trace) *trace = NULL;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || !has_magic(path)) return false;
    size_t len = strlen(path), suffix = strlen(GT_INDEX_SUFFIX);
    if (!trace) return true;
    if (len > suffix && strcmp(path + len - suffix, GT_INDEX_SUFFIX) == 0) {
        *trace = gt_format("%.*s", (int)(len - suffix), path);
        if (gt_path_is_file(*trace)) return true;
        gt_free(*trace);
        *trace = NULL;
    }
    gt_index_state state;
    gt_index_file *file = gt_index_file_open(NULL, path, &state);
    if (file && gt_path_is_file(gt_index_file_trace(file))) *trace = gt_strdup(gt_index_file_trace(file));
    gt_index_file_close(file);
    return true;
}

bool gt_index_kind_of(const char *path, gt_index_kind *kind, gt_error *error)
{
    gt_index_state state;
    gt_index_file *file = gt_index_file_open(NULL, path, &state);
    if (!file)
        return gt_fail(error, "%s: %s, and its trace is missing", path,
                       state == GT_INDEX_FOREIGN ? "index of another build of gputally" : "damaged index");
    uint32_t number = gt_index_file_kind(file);
    gt_index_file_close(file);
    *kind = (gt_index_kind)number;
    return (number >= GT_INDEX_PYTORCH && number <= GT_INDEX_NSYS) ||
           gt_fail(error, "%s: damaged index, and its trace is missing", path);
}
