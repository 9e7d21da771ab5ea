/* The PyTorch traces of a folder, and whether they are one trace per rank.
 *
 * Files count by their names (*.json, *.json.gz, *.json.zst) and their contents, so that reports in the same
 * folder are never taken for traces. If the folder itself has no trace, the folders in it are searched:
 * run/rank0/trace.json. The rank is in the trace, where PyTorch writes it before the events (own_ranks.c says
 * when that counts), or else in the file name or the path below the folder.
 *
 * A file with the name of a trace that cannot be read as one, for example because the disk was full, must not
 * vanish from a report on all ranks. Such a name has a rank or ends in "trace.json". Valid JSON of another
 * kind counts only if its name differs from that of a trace in nothing but numbers, or ends in "trace.json".
 */
#include "cli/inputs/inputs.h"

#include "input/chrome/kineto.h"
#include "input/detect.h"
#include "os/paths.h"

enum { DEPTH_MAX = 4, FOLDERS_MAX = 10000 };

static const char rank_in_name[] = GT_RANK_REGEX;

/* Length of the name without ".gz" or ".zst" if it is that of a JSON file; otherwise 0. */
static size_t json_length(const char *name)
{
    static const char *const packed[] = {".gz", ".zst", ""};
    size_t len = strlen(name);
    for (size_t i = 0; i < GT_LENGTH(packed); i++) {
        size_t end = strlen(packed[i]);
        if (len <= end || strcmp(name + len - end, packed[i]) != 0) continue;
        size_t rest = len - end;
        return rest > strlen(".json") && strncmp(name + rest - 5, ".json", 5) == 0 ? rest : 0;
    }
    return 0;
}

/* ---- formats ---- */

/* A file that may be a trace. */
typedef struct candidate {
    char *path;
    bool is_looked_at;
    bool detected;
    char *problem; /* owned; why not; NULL: it was */
    gt_trace_format format;
    gt_distributed_info own; /* of a trace */
    gt_log_record messages;
} candidate;

static void detect(candidate *file)
{
    file->is_looked_at = true;
    file->format = GT_FORMAT_UNKNOWN;
    gt_error error;
    gt_stream *stream = gt_detect_file(file->path, &file->format, &error);
    file->detected = stream;
    if (!file->detected) file->problem = gt_strdup(error.text);
    file->own = (gt_distributed_info){GT_EVENT_NONE, GT_EVENT_NONE};
    if (file->detected && file->format == GT_FORMAT_KINETO_JSON)
        file->own = gt_kineto_find_distributed(stream);
    gt_stream_close(stream);
}

/* Only regular files: others may block, and are opened only if their turn comes. */
static void look_ahead(void *context, size_t index)
{
    candidate *file = (candidate *)context + index;
    if (!file->path || !gt_path_is_regular(file->path)) return;
    gt_log_record *before = gt_log_keep(&file->messages);
    detect(file);
    gt_log_keep(before);
}

/* In byte order. Not gt_list_folder, which warns about every pipe and device, also those with other names. */
static gt_folder_list list_json_and_folders(const char *folder)
{
    gt_folder_list names = {0};
    DIR *dir = gt_open_folder(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        bool may_be_folder =
            entry->d_type == DT_DIR || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
        if (entry->d_name[0] != '.' && (may_be_folder || json_length(entry->d_name)))
            GT_PUSH(names.items, names.count, names.capacity, gt_strdup(entry->d_name));
    }
    if (dir) closedir(dir);
    if (names.count) qsort(names.items, names.count, sizeof *names.items, gt_by_cstr);
    return names;
}

/* The default names of what `fuse` and `sweep merge` write: all ranks in one trace. */
static bool is_merged(const char *name)
{
    static const char *const names[] = {"merged_trace.json", "merged_gpu_trace_enhanced.json"};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* vLLM writes one trace per worker and one of the process that takes requests, which uses no GPU:
 * HOST_PID.async_llm.TIME.pt.trace.json.gz. */
static bool is_of_front_end(const char *name)
{
    return strstr(name, ".async_llm.") != NULL;
}

/* ---- files that only look like traces ---- */

static bool has_rank(const char *text)
{
    for (const char *at = text; (at = strstr(at, "rank")); at += 4) {
        const char *digits = at + 4;
        if (*digits && strchr("[-_/", *digits)) digits++;
        if (gt_is_digit(*digits)) return true;
    }
    return false;
}

static bool ends_in_trace(const char *name)
{
    static const char ending[] = "trace.json";
    size_t len = json_length(name), end = strlen(ending);
    return len >= end && strncmp(name + len - end, ending, end) == 0;
}

/* Takes ownership of the path. */
static void keep_unreadable(gt_trace_folder *found, char *path, const char *problem, bool is_json)
{
    gt_unreadable_trace file = {path, gt_strdup(problem), is_json, -1};
    GT_PUSH(found->unreadable, found->unreadable_count, found->unreadable_capacity, file);
}

/* The file name with '#' in place of each number. */
static char *shape_of(const char *path)
{
    char *shape = gt_strdup(gt_path_name(path));
    size_t len = 0;
    for (const char *at = shape; *at; at++) {
        bool goes_on = gt_is_digit(*at) && len && shape[len - 1] == '#';
        if (!goes_on) shape[len++] = gt_is_digit(*at) ? '#' : *at;
    }
    shape[len] = 0;
    return shape;
}

static bool is_unlike_traces(const gt_unreadable_trace *file, char *const *shapes, size_t count)
{
    if (!file->is_json || ends_in_trace(gt_path_name(file->path))) return false;
    char *shape = shape_of(file->path);
    bool found = count && bsearch(&shape, shapes, count, sizeof *shapes, gt_by_cstr);
    gt_free(shape);
    return !found;
}

/* Drops JSON files that are not named like the traces. */
static void drop_other_json(gt_trace_folder *found)
{
    if (!found->unreadable_count) return;
    char **shapes = gt_alloc(found->count * sizeof *shapes);
    for (size_t i = 0; i < found->count; i++) shapes[i] = shape_of(found->paths[i]);
    if (found->count) qsort(shapes, found->count, sizeof *shapes, gt_by_cstr);
    size_t kept = 0;
    for (size_t i = 0; i < found->unreadable_count; i++) {
        gt_unreadable_trace file = found->unreadable[i];
        if (is_unlike_traces(&file, shapes, found->count)) {
            gt_free_all(file.path, file.problem);
        } else {
            found->unreadable[kept++] = file;
        }
    }
    found->unreadable_count = kept;
    for (size_t i = 0; i < found->count; i++) gt_free(shapes[i]);
    gt_free(shapes);
}

/* ---- search ---- */

/* Adds the file as a trace or, if only its name is that of a trace, as unreadable. Takes its path; `base` is
 * the length of the folder that is searched. */
static bool add_file(gt_trace_folder *found, candidate *file, size_t base)
{
    char *path = file->path;
    file->path = NULL;
    bool may_open = !gt_path_is_folder(path) && gt_path_may_open(path);
    if (may_open && !file->is_looked_at) {
        file->path = path;
        detect(file);
        file->path = NULL;
    }
    gt_log_replay(&file->messages);
    bool detected = may_open && file->detected;
    gt_trace_format format = detected ? file->format : GT_FORMAT_UNKNOWN;
    if (detected && format == GT_FORMAT_KINETO_JSON) {
        size_t place = found->count;
        GT_PUSH(found->own, place, found->own_capacity, file->own);
        GT_PUSH(found->paths, found->count, found->capacity, path);
        return true;
    }
    bool looks_like_trace = ends_in_trace(gt_path_name(path)) || has_rank(path + base);
    bool is_other_json = format == GT_FORMAT_OTHER_JSON;
    bool is_known = detected && !is_other_json && format != GT_FORMAT_UNKNOWN && format != GT_FORMAT_EMPTY;
    if (!may_open || is_known || !looks_like_trace) {
        gt_free(path);
        return false;
    }
    if (detected)
        file->problem =
            gt_format("%s: %s%s", path,
                      format == GT_FORMAT_EMPTY ? "" : "not a PyTorch trace: ", gt_format_name(format));
    keep_unreadable(found, path, file->problem, is_other_json);
    return false;
}

static void add_candidates(gt_trace_folder *found, const gt_folder_list *names, candidate *files, size_t base)
{
    const char *taken = NULL; /* the name before, if it is a trace */
    for (size_t i = 0; i < names->count; i++) {
        size_t len = json_length(names->items[i]);
        if (!len) continue;
        bool is_copy = taken && json_length(taken) == len && strncmp(taken, names->items[i], len) == 0;
        if (is_merged(names->items[i]))
            gt_info("%s: skipped, because its name is that of a merged trace", files[i].path);
        else if (is_of_front_end(names->items[i]))
            gt_info("%s: skipped, because it is of vLLM's front end, which uses no GPU", files[i].path);
        else if (is_copy)
            gt_trace_warn_second(files[i].path, taken);
        else if (add_file(found, &files[i], base))
            taken = names->items[i];
        gt_free_all(files[i].path, files[i].problem);
        gt_log_forget(&files[i].messages);
    }
}

/* Adds the traces directly in the folder. Of "t.json" and "t.json.gz", the first in byte order is taken. */
static void add_traces(gt_trace_folder *found, const char *folder, size_t base)
{
    gt_folder_list names = list_json_and_folders(folder);
    candidate *files = gt_alloc_zero(names.count, sizeof *files);
    for (size_t i = 0; i < names.count; i++)
        if (json_length(names.items[i])) files[i].path = gt_path_in(folder, names.items[i]);
    gt_parallel_each(names.count, look_ahead, files);
    add_candidates(found, &names, files, base);
    gt_free(files);
    gt_folder_list_free(&names);
}

/* Adds the traces in the folder or, if it has none, in the folders in it, at most `depth` levels deeper. */
static void search(gt_trace_folder *found, const char *folder, size_t base, int depth, size_t *folders)
{
    if (++*folders > FOLDERS_MAX) return;
    size_t before = found->count;
    add_traces(found, folder, base);
    if (found->count > before || depth == 0) return;
    gt_folder_list names = list_json_and_folders(folder);
    for (size_t i = 0; i < names.count; i++) {
        char *path = gt_path_in(folder, names.items[i]);
        if (gt_path_is_folder(path)) search(found, path, base, depth - 1, folders);
        gt_free(path);
    }
    gt_folder_list_free(&names);
}

/* ---- ranks ---- */

/* In the name of the file, or else in the path from `skip` on; -1: none. */
static int64_t find_in_name(const gt_rank_regex *regex, const char *path, size_t skip)
{
    gt_error ignored;
    int64_t rank = -1;
    if (gt_rank_regex_find(regex, gt_path_name(path), &rank, &ignored) && rank >= 0) return rank;
    return gt_rank_regex_find(regex, path + skip, &rank, &ignored) ? rank : -1;
}

static void find_in_names(gt_trace_folder *found, const char *folder)
{
    gt_error error;
    gt_rank_regex regex;
    size_t skip = strlen(folder);
    if (!gt_rank_regex_compile(&regex, rank_in_name, "rank_regex", &error)) return;
    for (size_t i = 0; i < found->count; i++) found->ranks[i] = find_in_name(&regex, found->paths[i], skip);
    for (size_t i = 0; i < found->unreadable_count; i++)
        found->unreadable[i].rank = find_in_name(&regex, found->unreadable[i].path, skip);
    gt_rank_regex_free(&regex);
}

static bool all_have_ranks(const gt_trace_folder *found)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->ranks[i] < 0 || found->ranks[i] >= GT_RANKS_MAX) return false;
    return true;
}

typedef struct ranked {
    int64_t rank;
    size_t index;
} ranked;

GT_ORDER_BY(by_rank, ranked, GT_UP(rank) GT_UP(index))

/* Whether each trace has its own rank; then the traces are put in the order of the ranks. Otherwise `why_not`
 * says in words what is wrong. */
static bool order_by_rank(gt_trace_folder *found)
{
    ranked *order = gt_alloc(found->count * sizeof *order);
    gt_free(found->why_not);
    found->why_not = NULL;
    for (size_t i = 0; i < found->count; i++) {
        order[i] = (ranked){found->ranks[i], i};
        bool usable = found->ranks[i] >= 0 && found->ranks[i] < GT_RANKS_MAX;
        if (!usable && !found->why_not) found->why_not = gt_format("%s has no rank", found->paths[i]);
    }
    qsort(order, found->count, sizeof *order, by_rank);
    for (size_t i = 1; i < found->count && !found->why_not; i++)
        if (order[i].rank == order[i - 1].rank)
            found->why_not = gt_format("%s and %s are both of rank %lld", found->paths[order[i - 1].index],
                                       found->paths[order[i].index], (long long)order[i].rank);
    if (!found->why_not) {
        char **paths = gt_alloc(found->count * sizeof *paths);
        for (size_t i = 0; i < found->count; i++) {
            paths[i] = found->paths[order[i].index];
            found->ranks[i] = order[i].rank;
        }
        memcpy(found->paths, paths, found->count * sizeof *paths);
        gt_free(paths);
    }
    gt_free(order);
    return !found->why_not;
}

/* The ranks in the traces, if those of the names are of no use and each trace has another one. */
static void fall_back_to_own(gt_trace_folder *found)
{
    int64_t *by_names = all_have_ranks(found) ? found->ranks : NULL;
    char *why_not = found->why_not;
    if (by_names) found->ranks = gt_alloc(found->count * sizeof *found->ranks);
    found->why_not = NULL;
    for (size_t i = 0; i < found->count; i++) found->ranks[i] = found->own[i].rank;
    found->are_ranks = order_by_rank(found);
    if (by_names && !found->are_ranks && !all_have_ranks(found)) { /* what the names say is known better */
        int64_t *in_traces = found->ranks;
        found->ranks = by_names;
        by_names = in_traces;
        char *other = found->why_not;
        found->why_not = why_not;
        why_not = other;
    }
    gt_free_all(by_names, why_not);
}

/* Uses the ranks in the traces if they fit. Then the rank in the name of a file that cannot be read means
 * nothing, if those of the others do not. */
static void prefer_own(gt_trace_folder *found)
{
    int64_t *named = gt_alloc(found->count * sizeof *named);
    bool differ = false;
    memcpy(named, found->ranks, found->count * sizeof *named);
    if (gt_own_ranks_take((const char *const *)found->paths, found->own, found->ranks, found->count))
        for (size_t i = 0; i < found->count; i++) differ |= named[i] >= 0 && named[i] != found->ranks[i];
    for (size_t i = 0; differ && i < found->unreadable_count; i++) found->unreadable[i].rank = -1;
    gt_free(named);
}

/* By its name, or else in the trace: as in fall_back_to_own, a name may say that traces are copies of one
 * rank. */
static int64_t likely_rank(const gt_trace_folder *found, size_t index)
{
    return found->ranks[index] >= 0 ? found->ranks[index] : found->own[index].rank;
}

/* Copies of a trace under other names would be taken for further traces of its rank. The shortest name is
 * likely the first one: "rank0_trace.json", not "rank0_copy_trace.json". */
static void drop_copies(gt_trace_folder *found)
{
    int64_t *ranks = gt_alloc((found->count + 1) * sizeof *ranks);
    for (size_t i = 0; i < found->count; i++) ranks[i] = likely_rank(found, i);
    bool any = found->count > 1 && !gt_ranks_are_unique(ranks, found->count);
    gt_free(ranks);
    if (!any) return;
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        bool is_copy = false;
        for (size_t k = 0; k < kept && !is_copy && likely_rank(found, i) >= 0; k++) {
            bool is_shorter = strlen(found->paths[i]) < strlen(found->paths[k]);
            size_t named = is_shorter ? i : k, other = is_shorter ? k : i;
            is_copy = likely_rank(found, k) == likely_rank(found, i) &&
                      gt_trace_warn_copy(found->paths[other], found->paths[named]);
            if (!is_copy || !is_shorter) continue;
            char *path = found->paths[k];
            found->paths[k] = found->paths[i];
            found->paths[i] = path;
        }
        if (is_copy) {
            gt_free(found->paths[i]);
            continue;
        }
        found->paths[kept] = found->paths[i];
        found->own[kept] = found->own[i];
        found->ranks[kept++] = found->ranks[i];
    }
    found->count = kept;
}

bool gt_trace_folder_has_ranks(const gt_trace_folder *found)
{
    bool all = found->count > 1;
    for (size_t i = 0; i < found->count && all; i++) all = likely_rank(found, i) >= 0;
    return all;
}

void gt_trace_folder_find(gt_trace_folder *found, const char *folder, bool also_below)
{
    size_t folders = 0;
    *found = (gt_trace_folder){0};
    search(found, folder, strlen(folder), also_below ? DEPTH_MAX : 0, &folders);
    drop_other_json(found);
    found->ranks = gt_alloc(found->count * sizeof *found->ranks);
    find_in_names(found, folder);
    drop_copies(found);
    if (found->count) prefer_own(found);
    found->are_ranks = found->count > 1 && order_by_rank(found);
    if (found->count > 1 && !found->are_ranks) fall_back_to_own(found);
}

bool gt_trace_folder_is_of_ranks(const gt_trace_folder *found)
{
    size_t count = 0;
    if (found->are_ranks || found->count > 1) return found->are_ranks;
    int64_t *ranks = gt_alloc((found->count + found->unreadable_count) * sizeof *ranks);
    for (size_t i = 0; i < found->count; i++) ranks[count++] = found->ranks[i];
    for (size_t i = 0; i < found->unreadable_count; i++) ranks[count++] = found->unreadable[i].rank;
    if (count) qsort(ranks, count, sizeof *ranks, gt_by_i64);
    bool differ = count > 1 && ranks[0] >= 0;
    for (size_t i = 1; i < count; i++) differ &= ranks[i] != ranks[i - 1];
    gt_free(ranks);
    return differ;
}

void gt_trace_folder_free(gt_trace_folder *found)
{
    for (size_t i = 0; i < found->count; i++) gt_free(found->paths[i]);
    for (size_t i = 0; i < found->unreadable_count; i++) {
        gt_free_all(found->unreadable[i].path, found->unreadable[i].problem);
    }
    gt_free_all(found->unreadable, found->paths, found->own, found->ranks, found->why_not, found->steps);
    *found = (gt_trace_folder){0};
}

void gt_trace_folder_warn_alone(const gt_trace_folder *found, const char *folder)
{
    gt_error error;
    gt_stream *stream = found->count == 1 ? gt_stream_open(found->paths[0], &error) : NULL;
    if (!stream) return;
    gt_distributed_info info = gt_kineto_find_distributed(stream);
    gt_stream_close(stream);
    if (info.world_size > 1 && info.world_size <= GT_RANKS_MAX)
        gt_warn("%s: %lld ranks ran, but the only trace is %s; no collective report", folder,
                (long long)info.world_size, found->paths[0]);
}

gt_rank_files gt_trace_folder_ranks(const gt_trace_folder *found, const char *folder)
{
    gt_rank_files files = {.count = (size_t)found->ranks[found->count - 1] + 1,
                           .common_folder = gt_strdup(folder)};
    files.paths = gt_alloc_zero(files.count, sizeof *files.paths);
    for (size_t i = 0; i < found->count; i++) files.paths[found->ranks[i]] = gt_strdup(found->paths[i]);
    return files;
}
