/* Stamps: from which input which files were written.
 *
 *     magic, build, then each preceded by its length: name, inputs, outputs, numbers, messages ...
 *     checksum of everything before it
 *
 * `inputs` is not only a checksum: it has options as text, and per file its path, size and checksum, so that
 * inputs that differ cannot look equal, unless files with different contents have equal checksums. `outputs`
 * has, per file, size, checksum and path; the path is relative to the folder of analyses (after the letter b)
 * if the file is below it, so that it is found from any current folder. */
#include "sweep/cache/cache.h"

#include "base/guard.h"
#include "index/build.h"
#include "index/checksum.h"
#include "os/own.h"
#include "os/paths.h"
#include "output/file.h"

#define MAGIC "GTSTAMP2"
enum { LARGEST_STAMP = 64 << 20, DEPTH_MAX = 8 };

/* ---- contents of files ---- */

typedef struct contents {
    uint64_t size, checksum;
} contents;

static bool read_contents(const char *path, contents *found)
{
    struct stat before, after;
    int descriptor = gt_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return false;
    bool read = fstat(descriptor, &before) == 0 && S_ISREG(before.st_mode) &&
                gt_checksum_file(descriptor, (uint64_t)before.st_size, &found->checksum) &&
                fstat(descriptor, &after) == 0 && before.st_size == after.st_size &&
                before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
                before.st_mtim.tv_nsec == after.st_mtim.tv_nsec;
    found->size = read ? (uint64_t)before.st_size : 0;
    close(descriptor);
    return read;
}

static void add_contents(gt_buffer *to, const char *path, contents found)
{
    gt_buffer_add_format(to, "%" PRIu64 " %016" PRIx64 " ", found.size, found.checksum);
    gt_buffer_add(to, path, strlen(path) + 1);
}

/* ---- inputs ---- */

/* A file as it was when it was added. Its contents are found when they are needed: after the work there may
 * be an index that knows them. */
typedef struct gt_stamp_file {
    char *path;
    struct stat status;
} gt_stamp_file;

void gt_stamp_add_text(gt_stamp *stamp, const char *text)
{
    gt_buffer_add(&stamp->options, text, strlen(text) + 1);
}

void gt_stamp_add_number(gt_stamp *stamp, int64_t number)
{
    gt_buffer_add_format(&stamp->options, "%" PRId64, number);
    gt_buffer_add(&stamp->options, "", 1);
}

void gt_stamp_add_file(gt_stamp *stamp, const char *path)
{
    gt_stamp_file file = {.path = gt_strdup(path)};
    if (stat(path, &file.status) != 0) stamp->is_unknown = true;
    GT_PUSH(stamp->files, stamp->file_count, stamp->file_capacity, file);
}

static void add_files(gt_stamp *stamp, const char *path, unsigned depth)
{
    gt_folder_list names = gt_list_folder(path);
    for (size_t i = 0; i < names.count; i++) {
        char *inside = gt_format("%s/%s", path, names.items[i]);
        if (!gt_path_is_folder(inside))
            gt_stamp_add_file(stamp, inside);
        else if (depth)
            add_files(stamp, inside, depth - 1);
        else
            stamp->is_unknown = true;
        gt_free(inside);
    }
    gt_folder_list_free(&names);
}

void gt_stamp_add_folder(gt_stamp *stamp, const char *path)
{
    add_files(stamp, path, DEPTH_MAX);
}

static bool is_unchanged(const gt_stamp_file *file)
{
    struct stat now;
    const struct stat *was = &file->status;
    return stat(file->path, &now) == 0 && now.st_size == was->st_size && now.st_ino == was->st_ino &&
           now.st_dev == was->st_dev && now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == was->st_mtim.tv_nsec && now.st_ctim.tv_sec == was->st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == was->st_ctim.tv_nsec;
}

/* Finds the contents of all files. */
static void complete(gt_stamp *stamp, const gt_sweep_cache *cache)
{
    if (stamp->inputs.len || stamp->is_unknown) return;
    gt_buffer_add_format(&stamp->inputs, "%zu ", stamp->options.len);
    gt_buffer_add(&stamp->inputs, stamp->options.bytes, stamp->options.len);
    for (size_t i = 0; i < stamp->file_count; i++) {
        const gt_stamp_file *file = &stamp->files[i];
        contents found = {0};
        gt_index *index = gt_sweep_cache_index(cache, file->path);
        bool known =
            gt_index_contents(index, &found.size, &found.checksum) || read_contents(file->path, &found);
        gt_index_close(index);
        if (!known || !is_unchanged(file)) stamp->is_unknown = true;
        add_contents(&stamp->inputs, file->path, found);
    }
}

gt_stamp gt_stamp_new(const char *step, const char *name, size_t message_count)
{
    gt_stamp stamp = {.step = step,
                      .messages = gt_alloc_zero(message_count + 1, sizeof *stamp.messages),
                      .message_count = message_count};
    gt_buffer_add(&stamp.name, name, strlen(name));
    return stamp;
}

void gt_stamp_free(gt_stamp *stamp)
{
    gt_buffer *buffers[] = {&stamp->name, &stamp->options, &stamp->inputs, &stamp->outputs};
    for (size_t i = 0; i < stamp->file_count; i++) gt_free(stamp->files[i].path);
    gt_free(stamp->files);
    for (size_t i = 0; i < GT_LENGTH(buffers); i++) gt_buffer_free(buffers[i]);
    for (size_t i = 0; i < stamp->message_count; i++) gt_buffer_free(&stamp->messages[i]);
    gt_free(stamp->messages);
    *stamp = (gt_stamp){0};
}

/* ---- reading ---- */

static char *file_of(const gt_stamp *stamp, const gt_sweep_cache *cache)
{
    return gt_format("%s%s-%016" PRIx64 ".stamp", cache->folder, stamp->step,
                     gt_checksum(stamp->name.bytes, stamp->name.len));
}

/* The next part of a stamp; false at its end. */
static bool next_part(gt_str *rest, gt_str *part)
{
    uint64_t len;
    if (rest->len < sizeof len) return false;
    memcpy(&len, rest->bytes, sizeof len);
    if (len > rest->len - sizeof len) return false;
    *part = (gt_str){rest->bytes + sizeof len, (size_t)len};
    rest->bytes += sizeof len + len;
    rest->len -= sizeof len + (size_t)len;
    return true;
}

static bool equals(const gt_buffer *buffer, gt_str text)
{
    return buffer->len == text.len && (!text.len || memcmp(buffer->bytes, text.bytes, text.len) == 0);
}

/* Whether a file has the contents that an entry of a list says. *path is the file; NULL: the entry is
 * damaged.
 */
static bool is_there(const char *entry, const char **path)
{
    char *end;
    contents noted = {.size = strtoull(entry, &end, 10)}, found;
    noted.checksum = strtoull(end, &end, 16);
    *path = *end == ' ' ? end + 1 : NULL;
    return *path && read_contents(*path, &found) && found.size == noted.size &&
           found.checksum == noted.checksum;
}

static bool are_there(const gt_buffer *outputs)
{
    const char *path;
    for (size_t at = 0; at < outputs->len; at += strlen(outputs->bytes + at) + 1)
        if (!is_there(outputs->bytes + at, &path)) return false;
    return true;
}

/* ---- paths of outputs ---- */

enum { BELOW = 'b', ELSEWHERE = 'e' };

/* Length of the path of the folder of analyses, with the slash. */
static size_t analysis_len(const gt_sweep_cache *cache)
{
    return strlen(cache->folder) - strlen(GT_SWEEP_CACHE_FOLDER "/");
}

static const char *path_of_entry(const char *entry)
{
    const char *space = strchr(entry, ' ');
    space = space ? strchr(space + 1, ' ') : NULL;
    return space ? space + 1 : NULL;
}

/* The list of outputs as it is kept. */
static void pack_outputs(const gt_sweep_cache *cache, const gt_buffer *outputs, gt_buffer *packed)
{
    size_t len = analysis_len(cache);
    for (size_t at = 0; at < outputs->len; at += strlen(outputs->bytes + at) + 1) {
        const char *entry = outputs->bytes + at, *path = path_of_entry(entry);
        bool below = strncmp(path, cache->folder, len) == 0;
        gt_buffer_add(packed, entry, (size_t)(path - entry));
        gt_buffer_add(packed, &(char){below ? BELOW : ELSEWHERE}, 1);
        if (below) path += len;
        gt_buffer_add(packed, path, strlen(path) + 1);
    }
}

static bool unpack_outputs(const gt_sweep_cache *cache, gt_str packed, gt_buffer *outputs)
{
    outputs->len = 0;
    if (packed.len && packed.bytes[packed.len - 1]) return false;
    for (size_t at = 0; at < packed.len; at += strlen(packed.bytes + at) + 1) {
        const char *entry = packed.bytes + at, *path = path_of_entry(entry);
        if (!path || (*path != BELOW && *path != ELSEWHERE)) return false;
        gt_buffer_add(outputs, entry, (size_t)(path - entry));
        if (*path == BELOW) gt_buffer_add(outputs, cache->folder, analysis_len(cache));
        gt_buffer_add(outputs, path + 1, strlen(path + 1) + 1);
    }
    return true;
}

/* The files of a stamp in use must not be removed because of another stamp that also has them. */
static void note_current(gt_sweep_cache *cache, const gt_buffer *outputs)
{
    gt_lock(&cache->mutex);
    for (size_t at = 0; at < outputs->len; at += strlen(outputs->bytes + at) + 1)
        gt_interner_add_cstr(cache->current, path_of_entry(outputs->bytes + at));
    gt_unlock(&cache->mutex);
}

/* The parts of a stamp that is whole, of whatever build. */
static bool open_stamp(gt_str text, uint64_t *build, gt_str *parts)
{
    static const size_t head = sizeof MAGIC - 1 + sizeof *build;
    uint64_t sum;
    if (text.len < head + sizeof sum || memcmp(text.bytes, MAGIC, sizeof MAGIC - 1) != 0) return false;
    memcpy(build, text.bytes + sizeof MAGIC - 1, sizeof *build);
    memcpy(&sum, text.bytes + text.len - sizeof sum, sizeof sum);
    *parts = (gt_str){text.bytes + head, text.len - head - sizeof sum};
    return sum == gt_checksum(text.bytes, text.len - sizeof sum);
}

static bool parse(gt_stamp *stamp, const gt_sweep_cache *cache, gt_str text)
{
    uint64_t build;
    gt_str rest, name, inputs, outputs, numbers, messages;
    if (!open_stamp(text, &build, &rest) || build != gt_build_number()) return false;
    if (!next_part(&rest, &name) || !equals(&stamp->name, name) || !next_part(&rest, &inputs) ||
        !equals(&stamp->inputs, inputs) || !next_part(&rest, &outputs) || !next_part(&rest, &numbers) ||
        numbers.len != sizeof stamp->numbers || !unpack_outputs(cache, outputs, &stamp->outputs) ||
        !are_there(&stamp->outputs))
        return false;
    for (size_t i = 0; i < stamp->message_count; i++) {
        if (!next_part(&rest, &messages) || !gt_captured_is_sound(messages)) return false;
        stamp->messages[i].len = 0;
        gt_buffer_add(&stamp->messages[i], messages.bytes, messages.len);
    }
    memcpy(stamp->numbers, numbers.bytes, numbers.len);
    return !rest.len;
}

static void note_use(gt_sweep_cache *cache, const char *path)
{
    gt_lock(&cache->mutex);
    gt_interner_add_cstr(cache->used, gt_path_name(path));
    gt_unlock(&cache->mutex);
}

bool gt_stamp_find(gt_stamp *stamp, gt_sweep_cache *cache)
{
    gt_error ignored;
    if (!cache) return false;
    char *path = file_of(stamp, cache);
    note_use(cache, path);
    if (cache->mode == GT_CACHE_RENEW || stamp->is_unknown) {
        gt_free(path);
        return false;
    }
    gt_buffer text = {0};
    bool found = gt_path_is_file(path) && gt_own_may_replace(path) &&
                 gt_read_small_file(path, LARGEST_STAMP, &text, &ignored);
    if (found) complete(stamp, cache);
    found = found && !stamp->is_unknown && parse(stamp, cache, gt_buffer_str(&text));
    for (size_t i = 0; i < stamp->message_count && !found; i++) stamp->messages[i].len = 0;
    if (!found) stamp->outputs.len = 0;
    note_current(cache, &stamp->outputs);
    gt_buffer_free(&text);
    gt_free(path);
    return found;
}

/* ---- removing ---- */

/* Whether a path is that of a file below the folder of analyses, in which the cache is, of a kind that steps
 * write. A stamp is not trusted: it may come from somebody else with the rest of the sweep. */
static bool may_remove(const gt_sweep_cache *cache, const char *path)
{
    static const char *const endings[] = {".xlsx", ".csv", ".png", ".yaml", ".txt"};
    size_t analysis = analysis_len(cache);
    const char *ending = strrchr(path, '.');
    if (!ending || strncmp(path, cache->folder, analysis) != 0 || strstr(path + analysis - 1, "/../"))
        return false;
    for (size_t i = 0; i < GT_LENGTH(endings); i++)
        if (strcmp(ending, endings[i]) == 0) return true;
    return false;
}

static bool is_current(gt_sweep_cache *cache, const char *path)
{
    gt_lock(&cache->mutex);
    bool found = gt_interner_find(cache->current, path, strlen(path)) != GT_STR_NONE;
    gt_unlock(&cache->mutex);
    return found;
}

static void remove_output(gt_sweep_cache *cache, const char *path)
{
    if (unlink(path) != 0) return;
    gt_lock(&cache->mutex);
    gt_interner_add_cstr(cache->removed, path);
    gt_unlock(&cache->mutex);
}

/* Removes the files of a stamp that no stamp in use has. */
static void remove_outputs(gt_sweep_cache *cache, const char *file)
{
    gt_error ignored;
    gt_buffer text = {0}, outputs = {0};
    uint64_t build;
    gt_str rest, part;
    if (gt_path_is_file(file) && gt_own_may_replace(file) &&
        gt_read_small_file(file, LARGEST_STAMP, &text, &ignored) &&
        open_stamp(gt_buffer_str(&text), &build, &rest) && next_part(&rest, &part) &&
        next_part(&rest, &part) && next_part(&rest, &part) && unpack_outputs(cache, part, &outputs))
        for (size_t at = 0; at < outputs.len; at += strlen(outputs.bytes + at) + 1) {
            const char *path = path_of_entry(outputs.bytes + at);
            if (may_remove(cache, path) && !is_current(cache, path) && is_there(outputs.bytes + at, &path))
                remove_output(cache, path);
        }
    gt_buffer_free(&outputs);
    gt_buffer_free(&text);
}

void gt_stamps_remove_unused(gt_sweep_cache *cache, const char *step)
{
    if (!cache || cache->mode == GT_CACHE_USE) return;
    gt_folder_list names = gt_list_folder(cache->folder);
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        size_t len = strlen(step);
        if (strncmp(name, step, len) != 0 || strlen(name) != len + strlen("-0123456789abcdef.stamp") ||
            name[len] != '-' || gt_interner_find(cache->used, name, strlen(name)) != GT_STR_NONE)
            continue;
        char *file = gt_format("%s%s", cache->folder, name);
        remove_outputs(cache, file);
        unlink(file);
        gt_free(file);
    }
    gt_folder_list_free(&names);
}

/* ---- writing ---- */

void gt_stamp_add_output(gt_stamp *stamp, const char *path)
{
    contents found = {0};
    if (!read_contents(path, &found)) stamp->is_unknown = true;
    add_contents(&stamp->outputs, path, found);
}

const char *gt_stamp_next_output(const gt_stamp *stamp, const char *path)
{
    size_t at = path ? (size_t)(path - stamp->outputs.bytes) + strlen(path) + 1 : 0;
    return at < stamp->outputs.len ? path_of_entry(stamp->outputs.bytes + at) : NULL;
}

static void add_part(gt_buffer *text, const void *bytes, size_t len)
{
    uint64_t length = len;
    gt_buffer_add(text, &length, sizeof length);
    if (len) gt_buffer_add(text, bytes, len);
}

void gt_stamp_keep(gt_stamp *stamp, gt_sweep_cache *cache)
{
    gt_error ignored;
    uint64_t build = gt_build_number(), sum;
    if (!cache || cache->mode == GT_CACHE_USE) return;
    complete(stamp, cache);
    for (size_t i = 0; i < stamp->file_count; i++) stamp->is_unknown |= !is_unchanged(&stamp->files[i]);
    if (stamp->is_unknown) return;
    gt_buffer text = {0}, packed = {0};
    pack_outputs(cache, &stamp->outputs, &packed);
    note_current(cache, &stamp->outputs);
    gt_buffer_add(&text, MAGIC, sizeof MAGIC - 1);
    gt_buffer_add(&text, &build, sizeof build);
    add_part(&text, stamp->name.bytes, stamp->name.len);
    add_part(&text, stamp->inputs.bytes, stamp->inputs.len);
    add_part(&text, packed.bytes, packed.len);
    gt_buffer_free(&packed);
    add_part(&text, stamp->numbers, sizeof stamp->numbers);
    for (size_t i = 0; i < stamp->message_count; i++)
        add_part(&text, stamp->messages[i].bytes, stamp->messages[i].len);
    sum = gt_checksum(text.bytes, text.len);
    gt_buffer_add(&text, &sum, sizeof sum);
    char *path = file_of(stamp, cache);
    remove_outputs(cache, path);
    gt_output *output = gt_output_new();
    if (gt_output_write_file(output, path, gt_buffer_str(&text), &ignored))
        gt_output_commit(output, &ignored);
    gt_output_free(output);
    gt_free(path);
    gt_buffer_free(&text);
}

void gt_stamps_note_files(gt_sweep_cache *cache, const char *step, const char *name, const char *const *paths,
                          size_t count)
{
    if (!cache) return;
    gt_stamp stamp = gt_stamp_new(step, name, 0);
    for (size_t i = 0; i < count; i++) gt_stamp_add_output(&stamp, paths[i]);
    gt_stamp_keep(&stamp, cache);
    gt_stamp_free(&stamp);
}
