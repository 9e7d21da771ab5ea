/* Files whose results come from partial files; see input/files.h.
 *
 *     one process, no work folder     not here
 *     one process                     results in the work folder are loaded, others made, and kept if the
 *                                     user has named the folder
 *     several processes               all make results that are missing, then process 0 loads all
 *
 * What was made is in the order of the files in any case, because base/many.h finishes them in that order. */
#include "input/file_parts.h"
#include "base/guard.h"
#include "base/many.h"
#include "base/team.h"
#include "os/own.h"
#include "procs/procs.h"
#include "procs/folder.h"
#include "procs/part.h"
#include "index/build.h"
#include "index/checksum.h"

#include <dirent.h>
#include <poll.h>

enum { SEEN_STEP_MS = 50, SEEN_STEPS = 200 }; /* until a file of another machine is visible: 10 s */

/* Of this run of the program; see input/files.h. */
static bool is_allowed;
static const char *named_folder, *command_name;
static gt_work_folder work_folder = {.lock = -1};
static const char *folder_in_use; /* while files are worked on; NULL: none */

typedef struct job {
    const gt_file_work *files;
    const gt_file_sizes *sizes;
    const char *folder;
    bool *is_kept;      /* by file: its partial is in the folder */
    gt_part **parts;    /* by file: open until it is finished */
    bool writes, waits; /* results that are made here are kept; partials may become visible later */
} job;

void gt_parts_allow(const char *command, const char *folder)
{
    is_allowed = true;
    command_name = command;
    named_folder = folder;
}

void gt_parts_look_for(const char *trace)
{
    gt_error ignored;
    gt_work_folder_choice choice = {.trace = trace, .command = command_name};
    if (is_allowed && !named_folder && !work_folder.path && !work_folder.top)
        gt_work_folder_open(&work_folder, &choice, &ignored);
}

void gt_parts_abandon(void)
{
    gt_work_folder_abandon(&work_folder);
}

void gt_parts_end(bool is_repeated)
{
    if (work_folder.path) gt_work_folder_unmark(work_folder.path);
    if (is_repeated)
        gt_work_folder_close(&work_folder);
    else
        gt_work_folder_remove(&work_folder);
    is_allowed = false;
    named_folder = command_name = NULL;
}

bool gt_parts_are_used(const gt_file_work *files)
{
    return is_allowed && files->key && files->count > 0;
}

bool gt_files_are_packed(void)
{
    return is_allowed && (named_folder || gt_procs_shares());
}

const char *gt_files_folder(void)
{
    return folder_in_use;
}

/* ---- images ---- */

static const char owner[] = "work";

static void save_state(gt_image *image, bool goes_on, const gt_log_record *messages)
{
    gt_image_add_numbers(image, owner, "goes_on", &(int64_t){goes_on}, 1);
    gt_log_record_save(messages, image);
}

static bool load_state(const gt_image *image, bool *goes_on, gt_log_record *messages)
{
    const int64_t *number = gt_image_get_all(image, owner, "goes_on", sizeof *number, 1);
    if (!number || !gt_log_record_load(messages, image)) return false;
    *goes_on = *number != 0;
    return true;
}

/* Does the work and keeps the result. *is_kept: whether it could be packed. False: it cannot be written. */
static bool make_part(const job *j, size_t index, gt_log_record *messages, bool *goes_on, bool *is_kept,
                      gt_error *error)
{
    const gt_file_work *files = j->files;
    gt_part_new part = {.key = files->key, .trace_path = files->paths[index]};
    bool has_identity = gt_trace_identify(files->paths[index], &part.identity);
    gt_log_record *before = gt_log_keep(messages);
    *goes_on = files->work(files->context, index);
    gt_log_keep(before);
    gt_image image = {0};
    *is_kept = has_identity && files->pack(files->context, index, &image);
    bool written = true;
    if (*is_kept) {
        save_state(&image, *goes_on, messages);
        char *path = gt_work_folder_part(j->folder, files->paths[index]);
        written = gt_part_write(path, &part, &image, error);
        gt_free(path);
    }
    gt_image_free(&image);
    return written;
}

/* Opens the partial of a file. What another machine has just written may not be visible yet. */
static gt_part *open_part(const job *j, size_t index)
{
    gt_part_state state;
    char *path = gt_work_folder_part(j->folder, j->files->paths[index]);
    gt_part *part = gt_part_open(path, false, &state);
    for (unsigned i = 0; j->waits && !part && state == GT_PART_MISSING && i < SEEN_STEPS; i++) {
        DIR *list = gt_opendir(j->folder); /* has a network file system ask again */
        if (list) closedir(list);
        poll(NULL, 0, SEEN_STEP_MS);
        part = gt_part_open(path, false, &state);
    }
    gt_free(path);
    if (part && strcmp(gt_part_key(part), j->files->key) == 0) return part;
    gt_part_close(part);
    return NULL;
}

/* ---- what is there ---- */

static bool is_usable(const gt_file_work *files, size_t index, const gt_part *part)
{
    return !files->is_usable || files->is_usable(files->context, index, gt_part_image(part));
}

static void find_part(void *context, size_t index)
{
    job *j = context;
    const char *path = j->files->paths[index];
    gt_part *part = path ? open_part(j, index) : NULL;
    j->is_kept[index] = part && gt_part_is_current(part, path) && is_usable(j->files, index, part);
    gt_part_close(part);
}

static uint64_t sum_of_list(const job *j)
{
    gt_buffer text = {0};
    gt_buffer_add(&text, j->files->key, strlen(j->files->key) + 1);
    for (size_t i = 0; i < j->files->count; i++) {
        const char *path = j->files->paths[i];
        gt_buffer_add_format(&text, "%s\n%llu\n", path ? path : "", (unsigned long long)j->sizes->sizes[i]);
    }
    uint64_t sum = gt_checksum(gt_buffer_str(&text).bytes, text.len);
    gt_buffer_free(&text);
    return sum;
}

/* Other builds of the program have other folders. */
static uint64_t key_of_folder(const gt_file_work *files)
{
    char *text = gt_format("%s %016llx", files->key, (unsigned long long)gt_build_number());
    uint64_t key = gt_checksum(text, strlen(text));
    gt_free(text);
    return key;
}

static void open_folder(job *j, bool create)
{
    gt_error error;
    const char *first = NULL;
    for (size_t i = 0; i < j->files->count && !first; i++) first = j->files->paths[i];
    gt_work_folder_choice choice = {.named = named_folder,
                                    .trace = first,
                                    .command = command_name,
                                    .key = key_of_folder(j->files),
                                    .create = create};
    if (!work_folder.path && !gt_work_folder_open(&work_folder, &choice, &error)) {
        if (create) gt_procs_fail("%s", error.text);
        gt_warn("%s; nothing is kept", error.text);
    }
    j->folder = work_folder.path;
    if (j->folder) gt_parallel_each(j->files->count, find_part, j);
}

/* ---- several processes ---- */

static void work_lane(void *context, size_t lane)
{
    job *j = context;
    gt_error error;
    (void)lane;
    for (size_t index; !gt_guard_has_failed() && gt_procs_next(&index);) {
        gt_log_record messages = {0};
        bool goes_on, is_kept;
        if (!make_part(j, index, &messages, &goes_on, &is_kept, &error)) gt_procs_fail("%s", error.text);
        gt_log_forget(&messages);
        j->files->drop(j->files->context, index);
        gt_procs_report(index, goes_on, is_kept);
    }
}

/* As many lanes as threads, or as there is memory for when the processes on this machine share it. */
static size_t count_lanes(const job *j)
{
    uint64_t limit = j->files->without_limit ? 0 : j->sizes->limit / gt_procs_local_size();
    return gt_many_at_once(j->sizes->memory, j->files->count, limit);
}

/* Files without a path, or that are no files, are the business of process 0. */
static void share_out(job *j)
{
    gt_procs_task task = {.what = sum_of_list(j),
                          .paths = j->files->paths,
                          .bytes = j->sizes->sizes,
                          .count = j->files->count,
                          .lanes = count_lanes(j),
                          .folder = j->folder,
                          .note = j->files->note};
    bool *is_done = gt_alloc(j->files->count * sizeof *is_done);
    gt_trace_identity ignored;
    for (size_t i = 0; i < j->files->count; i++)
        is_done[i] = j->is_kept[i] || !j->files->paths[i] || !gt_trace_identify(j->files->paths[i], &ignored);
    task.is_done = is_done;
    j->folder = folder_in_use = gt_procs_begin_task(&task);
    if (j->files->use_note) j->files->use_note(j->files->context, gt_procs_note());
    gt_parallel_each(task.lanes, work_lane, j);
    gt_procs_finish_task();
    for (size_t i = 0; i < j->files->count; i++) j->is_kept[i] |= !is_done[i] && gt_procs_has_kept(i);
    gt_free(is_done);
}

/* ---- process 0, or the only one ---- */

static bool load_part(job *j, size_t index, bool *goes_on)
{
    gt_log_record messages = {0};
    gt_part *part = open_part(j, index);
    bool loaded = part && load_state(gt_part_image(part), goes_on, &messages) &&
                  j->files->unpack(j->files->context, index, gt_part_image(part));
    if (loaded) {
        gt_log_replay(&messages);
        j->parts[index] = part;
        return true;
    }
    gt_log_forget(&messages);
    gt_part_close(part);
    return false;
}

static bool get_file(void *context, size_t index)
{
    job *j = context;
    bool goes_on, is_kept;
    gt_error error;
    if (j->is_kept[index] && load_part(j, index, &goes_on)) return goes_on;
    if (!j->writes || !j->files->paths[index]) return j->files->work(j->files->context, index);
    gt_log_record messages = {0};
    if (!make_part(j, index, &messages, &goes_on, &is_kept, &error))
        gt_warn_once("%s; it is not kept", error.text);
    gt_log_replay(&messages);
    return goes_on;
}

static void finish_file(void *context, size_t index)
{
    job *j = context;
    if (j->files->finish) j->files->finish(j->files->context, index);
    gt_part_close(j->parts[index]);
    j->parts[index] = NULL;
}

/* Makes what is missing, for later work; what cannot be kept is made then. */
static bool keep_file(void *context, size_t index)
{
    job *j = context;
    bool goes_on, is_kept;
    gt_error ignored;
    gt_log_record messages = {0};
    if (j->is_kept[index] || !j->files->paths[index]) return true;
    make_part(j, index, &messages, &goes_on, &is_kept, &ignored);
    gt_log_forget(&messages);
    j->files->drop(j->files->context, index);
    return true;
}

static void keep_all(job *j)
{
    if (!j->folder) return;
    gt_many_run(&(gt_many){.count = j->files->count,
                           .sizes = j->sizes->memory,
                           .limit = j->files->without_limit ? 0 : j->sizes->limit,
                           .work = keep_file,
                           .context = j});
}

size_t gt_parts_work(const gt_file_work *files, const gt_file_sizes *sizes)
{
    job j = {.files = files, .sizes = sizes};
    j.is_kept = gt_alloc_zero(files->count, sizeof *j.is_kept);
    j.parts = gt_alloc_zero(files->count, sizeof *j.parts);
    bool shares = gt_procs_shares();
    if (gt_procs_is_first()) open_folder(&j, shares || named_folder);
    if (shares) share_out(&j);
    folder_in_use = j.folder;
    j.waits = shares;
    if (!files->unpack) {
        if (!shares) keep_all(&j);
        folder_in_use = NULL;
        gt_free_all(j.parts, j.is_kept);
        return files->count;
    }
    j.writes = named_folder && j.folder;
    size_t end = gt_many_run(&(gt_many){.count = files->count,
                                        .sizes = shares ? NULL : sizes->memory,
                                        .limit = shares || files->without_limit ? 0 : sizes->limit,
                                        .work = get_file,
                                        .finish = finish_file,
                                        .context = &j});
    folder_in_use = NULL;
    for (size_t i = 0; i < files->count; i++) gt_part_close(j.parts[i]);
    gt_free_all(j.parts, j.is_kept);
    return end;
}
