/* Partial files, in the container of indexes. */
#include "procs/part.h"

#include "commit.h"
#include "index/build.h"
#include "index/checksum.h"
#include "index/container.h"
#include "os/own.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_FORMAT = 1 };

struct gt_part {
    gt_index_file *file;
    gt_image image;
};

/* Images change between commits, too. The same commit makes the same ones on all processors; what is built
 * from changed sources counts as of a commit of its own. */
static gt_index_form form_of_parts(void)
{
    static const char version[] = GT_VERSION " " GT_COMMIT;
    uint64_t contents = gt_checksum(version, strlen(version));
    if (strstr(version, "changes")) contents ^= gt_build_number();
    return (gt_index_form){GT_PART_MAGIC, PART_FORMAT, contents, "partial"};
}

/* ---- writing ---- */

/* The first bytes of the file; how many there are. -1 if it cannot be read. */
static ssize_t read_magic(const char *path, char magic[sizeof GT_PART_MAGIC - 1])
{
    struct stat status;
    int descriptor = gt_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return -1;
    bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t len = is_file ? read(descriptor, magic, sizeof GT_PART_MAGIC - 1) : -1;
    close(descriptor);
    return len;
}

bool gt_part_is_part(const char *path)
{
    char magic[sizeof GT_PART_MAGIC - 1];
    return read_magic(path, magic) == (ssize_t)sizeof magic &&
           memcmp(magic, GT_PART_MAGIC, sizeof magic) == 0;
}

/* It must not exist, or be a partial, or what a crash of the system leaves of one: nothing, or its first
 * bytes. */
static bool may_replace(const char *path)
{
    struct stat status;
    char magic[sizeof GT_PART_MAGIC - 1];
    if (stat(path, &status) != 0 && errno == ENOENT) return true;
    ssize_t len = read_magic(path, magic);
    return len >= 0 && memcmp(magic, GT_PART_MAGIC, (size_t)len) == 0;
}

bool gt_part_write(const char *path, const gt_part_new *part, const gt_image *image, gt_error *error)
{
    gt_index_form form = form_of_parts();
    if (!may_replace(path)) return gt_fail(error, "%s: not a partial, so it is not replaced by one", path);
    char *whole = realpath(part->trace_path, NULL);
    whole = whole ? gt_adopt(whole) : gt_strdup(part->trace_path);
    const gt_index_new head = {.form = &form, .trace_path = whole, .identity = part->identity};
    bool written = gt_index_file_create(path, &head, NULL, NULL, part->key, image, error);
    gt_free(whole);
    return written;
}

/* ---- reading ---- */

static const gt_part_state states[] = {
    [GT_INDEX_SOUND] = GT_PART_SOUND,      [GT_INDEX_MISSING] = GT_PART_MISSING,
    [GT_INDEX_NO_INDEX] = GT_PART_NO_PART, [GT_INDEX_FOREIGN] = GT_PART_FOREIGN,
    [GT_INDEX_DAMAGED] = GT_PART_DAMAGED,  [GT_INDEX_NOT_OURS] = GT_PART_NOT_OURS,
};

gt_part *gt_part_open(const char *path, bool is_named, gt_part_state *state)
{
    gt_index_form form = form_of_parts();
    gt_index_state opened;
    gt_part part = {.file = is_named ? gt_index_file_open(&form, path, &opened)
                                     : gt_index_file_open_own(&form, path, NULL, &opened)};
    bool damaged = false;
    *state = states[opened];
    if (!part.file) return NULL;
    if (!gt_index_file_find(part.file, gt_index_file_key(part.file, 0), &part.image, &damaged)) {
        *state = GT_PART_DAMAGED;
        gt_index_file_close(part.file);
        return NULL;
    }
    gt_part *found = gt_alloc(sizeof *found);
    *found = part;
    return found;
}

void gt_part_close(gt_part *part)
{
    if (!part) return;
    gt_image_free(&part->image);
    gt_index_file_close(part->file);
    gt_free(part);
}

const gt_image *gt_part_image(const gt_part *part)
{
    return &part->image;
}

const char *gt_part_key(const gt_part *part)
{
    return gt_index_file_key(part->file, 0);
}

const char *gt_part_trace(const gt_part *part)
{
    return gt_index_file_trace(part->file);
}

/* ---- the trace ---- */

static bool has_same_contents(const char *trace_path, gt_trace_identity *now, const gt_trace_identity *noted)
{
    return noted->checksum && now->size == noted->size && gt_trace_add_checksum(trace_path, now) &&
           now->checksum == noted->checksum;
}

bool gt_part_is_current(const gt_part *part, const char *trace_path)
{
    const gt_trace_identity *noted = gt_index_file_identity(part->file);
    gt_trace_identity now;
    if (!gt_trace_identify(trace_path, &now)) return false;
    if (gt_index_file_is_settled(part->file) && gt_trace_has_same_times_elsewhere(&now, noted)) return true;
    return has_same_contents(trace_path, &now, noted);
}

bool gt_part_is_stale(const gt_part *part)
{
    const gt_trace_identity *noted = gt_index_file_identity(part->file);
    gt_trace_identity now;
    const char *trace = gt_part_trace(part);
    if (!gt_trace_identify(trace, &now) || gt_part_is_current(part, trace)) return false;
    bool may_be_same = now.size == noted->size && now.modified_ns == noted->modified_ns;
    bool is_compared = noted->checksum && access(trace, R_OK) == 0;
    return !may_be_same || is_compared;
}

/* ---- messages ---- */

char *gt_part_describe(const char *path, gt_part_state state)
{
    static const char *const what[] = {
        [GT_PART_SOUND] = "sound partial",
        [GT_PART_MISSING] = "no such partial, or it cannot be read",
        [GT_PART_NO_PART] = "not a partial of gputally",
        [GT_PART_FOREIGN] = "partial of another version of gputally",
        [GT_PART_DAMAGED] = "damaged partial",
        [GT_PART_NOT_OURS] = "a link, or partial of another user; name the file itself to use it",
        [GT_PART_STALE] = "stale partial: its trace has changed since",
    };
    bool again = state == GT_PART_FOREIGN || state == GT_PART_DAMAGED || state == GT_PART_STALE;
    return gt_format("%s: %s%s", path, what[state], again ? "; make it again with `gputally partial`" : "");
}
