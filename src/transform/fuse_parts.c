/* Parts of a fused trace: the new text of each rank's events, made by the processes that share the work
 * (input/files.h).
 *
 * A part is a file in the work folder, because it is as large as a trace. It has the bytes that the events of
 * the rank have in the fused trace: pieces of the text are compressed one by one, and begin anew with each
 * rank. Only the comma before the first event depends on other ranks. It is there unless the rank is the
 * first with a trace; if no rank before it has an event, gt_fuse makes the text again.
 *
 * Every process plans the shifts of ids and times on its own, because all of them need the plan at the same
 * time. */
#include "transform/fuse.h"

#include "procs/part.h"
#include "input/files.h"
#include "output/written.h"

#include <unistd.h>

enum { HOST_MAX = 64 };

typedef struct job {
    gt_fuse_parts *parts;
    const gt_fuse_options *options;
    char *const *paths;
    bool gzip;
    size_t first; /* rank with a trace */
} job;

static void free_part(gt_fuse_part *part)
{
    gt_free(part->path);
    gt_fuse_processes_free(&part->processes);
    *part = (gt_fuse_part){0};
}

/* ---- one rank ---- */

/* Two processes may make the same part, so each has its own file. Its name is that of a partial, so that it
 * is removed with the work folder, except for the end. */
static char *choose_path(size_t rank)
{
    char host[HOST_MAX + 1] = "";
    gethostname(host, HOST_MAX);
    for (char *at = host; *at; at++)
        if (*at == '/') *at = '_';
    return gt_format("%s/rank%zu-%s-%d" GT_PART_SUFFIX "-events", gt_files_folder(), rank, host,
                     (int)getpid());
}

/* Lanes are as many as threads, so each has one. */
static bool write_part(const job *j, gt_fuse_part *part, size_t rank, gt_output *output)
{
    gt_fuse_copier c = {.options = j->options,
                        .paths = j->paths,
                        .continues = part->continues,
                        .change = gt_fuse_plan_of_rank(&j->parts->plan, rank),
                        .taken_rank = SIZE_MAX,
                        .result = &part->counts};
    c.file = gt_text_part_open(output, part->path, j->gzip, 1, &part->error);
    if (!c.file) return false;
    gt_fuse_copy_rank(&c, &part->base);
    gt_text_file_finish_pieces(c.file);
    gt_error closing;
    bool closed = gt_text_part_close(c.file, &part->facts, &closing);
    if (c.has_stopped)
        part->error = c.error;
    else if (!closed)
        part->error = closing;
    part->processes = c.processes;
    c.processes = (gt_fuse_processes){0};
    gt_fuse_copier_free(&c);
    return closed && !c.has_stopped && gt_output_commit(output, &part->error);
}

static bool make_part(void *context, size_t rank)
{
    const job *j = context;
    gt_fuse_part *part = &j->parts->ranks[rank];
    if (!j->paths[rank] || !gt_files_folder()) return true; /* the latter: gt_fuse does it */
    *part = (gt_fuse_part){.path = choose_path(rank), .continues = rank > j->first};
    gt_output *output = gt_output_new();
    bool made = write_part(j, part, rank, output);
    gt_output_free(output);
    if (made) return true;
    gt_free(part->path);
    part->path = NULL;
    return false;
}

/* ---- as images ---- */

static const char owner[] = "part";

enum {
    RANK,
    BYTES,
    TEXT_LEN,
    TEXT_CRC,
    BYTES_CRC,
    CONTINUES,
    RANKS,
    EVENTS_READ,
    EVENTS_WRITTEN,
    HAS_BASE,
    BASE_NS,
    NUMBERS
};

typedef struct saved_process {
    int64_t id_high;
    uint64_t id_low, has_gpu_work;
} saved_process;

static bool pack_part(void *context, size_t rank, gt_image *image)
{
    const job *j = context;
    const gt_fuse_part *part = &j->parts->ranks[rank];
    gt_image_add_text(image, owner, "error", part->error.text[0] ? part->error.text : NULL);
    if (!part->path) return part->error.text[0] != 0;
    const int64_t numbers[NUMBERS] = {[RANK] = (int64_t)rank,
                                      [BYTES] = (int64_t)part->facts.bytes,
                                      [TEXT_LEN] = (int64_t)part->facts.text_len,
                                      [TEXT_CRC] = part->facts.text_crc,
                                      [BYTES_CRC] = part->facts.bytes_crc,
                                      [CONTINUES] = part->continues,
                                      [RANKS] = (int64_t)part->counts.ranks,
                                      [EVENTS_READ] = (int64_t)part->counts.events_read,
                                      [EVENTS_WRITTEN] = (int64_t)part->counts.events_written,
                                      [HAS_BASE] = part->base.known,
                                      [BASE_NS] = part->base.ns};
    saved_process *processes = gt_alloc((part->processes.count + 1) * sizeof *processes);
    for (size_t i = 0; i < part->processes.count; i++) {
        const gt_fuse_process *from = &part->processes.items[i];
        processes[i] = (saved_process){(int64_t)(from->id >> 64), (uint64_t)from->id, from->has_gpu_work};
    }
    gt_written written = {0};
    gt_written_add_path(&written, part->path);
    gt_written_save(&written, image);
    gt_written_free(&written);
    gt_image_add_numbers(image, owner, "numbers", numbers, NUMBERS);
    gt_image_add_text(image, owner, "path", part->path);
    gt_image_give(image, owner, "processes", processes, part->processes.count * sizeof *processes);
    return true;
}

static bool load_processes(const job *j, gt_fuse_part *part, size_t rank, const gt_image *image)
{
    size_t count = 0;
    const saved_process *saved = gt_image_get(image, owner, "processes", sizeof *saved, &count);
    gt_fuse_change change = gt_fuse_plan_of_rank(&j->parts->plan, rank);
    for (size_t i = 0; saved && i < count; i++) {
        gt_wide_int id = (gt_wide_int)((unsigned __int128)saved[i].id_high << 64 | saved[i].id_low);
        if (id > GT_FUSE_ID_MAX || id < -GT_FUSE_ID_MAX) return false;
        gt_fuse_processes_find(&part->processes, &change, id)->has_gpu_work = saved[i].has_gpu_work != 0;
    }
    return saved && part->processes.count == count;
}

static bool load_part(const job *j, gt_fuse_part *part, size_t rank, const gt_image *image)
{
    const int64_t *numbers = gt_image_get_all(image, owner, "numbers", sizeof *numbers, NUMBERS);
    if (!numbers || numbers[RANK] != (int64_t)rank) return false;
    for (size_t i = BYTES; i < HAS_BASE; i++)
        if (numbers[i] < 0 || numbers[i] > INT64_MAX / 4) return false;
    if (!gt_image_get_text(image, owner, "path", &part->path) || !part->path) return false;
    part->facts = (gt_text_part){(uint64_t)numbers[BYTES], (uint64_t)numbers[TEXT_LEN],
                                 (uint32_t)numbers[TEXT_CRC], (uint32_t)numbers[BYTES_CRC]};
    part->continues = numbers[CONTINUES] != 0;
    part->counts = (gt_fuse_result){.ranks = (size_t)numbers[RANKS],
                                    .events_read = (uint64_t)numbers[EVENTS_READ],
                                    .events_written = (uint64_t)numbers[EVENTS_WRITTEN]};
    part->base = (gt_base_time){numbers[HAS_BASE] != 0, numbers[BASE_NS]};
    return load_processes(j, part, rank, image);
}

static bool unpack_part(void *context, size_t rank, const gt_image *image)
{
    const job *j = context;
    gt_fuse_part *part = &j->parts->ranks[rank];
    char *error = NULL;
    if (!gt_image_get_text(image, owner, "error", &error)) return false;
    if (error) gt_fail(&part->error, "%s", error);
    bool sound = error || load_part(j, part, rank, image);
    gt_free(error);
    if (!sound) free_part(part);
    return sound;
}

/* A failure may pass, such as a disk that was full; a part may have been removed since. */
static bool is_usable(void *context, size_t rank, const gt_image *image)
{
    (void)context;
    (void)rank;
    return gt_written_are_there(image);
}

static void drop_part(void *context, size_t rank)
{
    const job *j = context;
    free_part(&j->parts->ranks[rank]);
}

/* ---- all ranks ---- */

/* What the text of a rank depends on in addition to its trace. */
static char *key_of(const job *j, size_t rank_count)
{
    gt_buffer key = {0};
    const gt_fuse_options *o = j->options;
    const gt_fuse_plan *p = &j->parts->plan;
    gt_buffer_add_format(&key, "fuse %d%d of %zu from %zu, without", j->gzip, o->keep_damaged, rank_count,
                         j->first);
    for (size_t i = 0; i < o->dropped_count; i++)
        gt_buffer_add_format(&key, " %zu:%s", strlen(o->dropped[i]), o->dropped[i]);
    gt_buffer_add_cstr(&key, ", shifts");
    for (size_t i = 0; i < p->of_rank_one.moved_count; i++) {
        gt_buffer_add_format(&key, " %d:", (int)p->of_rank_one.moved[i].member);
        gt_buffer_add_wide_int(&key, p->of_rank_one.moved[i].shift);
    }
    for (size_t i = 0; p->shift_ns && i < rank_count; i++)
        gt_buffer_add_format(&key, " %lld", (long long)p->shift_ns[i]);
    return gt_buffer_take(&key);
}

gt_fuse_parts *gt_fuse_parts_make(const char *path, char *const *paths, size_t rank_count,
                                  const gt_fuse_options *options, gt_error *error)
{
    size_t len = strlen(path);
    gt_fuse_parts *parts = gt_alloc_zero(1, sizeof *parts);
    job j = {.parts = parts,
             .options = options,
             .paths = paths,
             .gzip = len >= 3 && strcmp(path + len - 3, ".gz") == 0};
    parts->ranks = gt_alloc_zero(rank_count, sizeof *parts->ranks);
    parts->count = rank_count;
    while (!paths[j.first]) j.first++;
    bool made = gt_fuse_plan_make(&parts->plan, paths, rank_count, options, error);
    if (made) {
        char *key = key_of(&j, rank_count);
        size_t failed = gt_files_work(&(gt_file_work){.paths = (const char *const *)paths,
                                                      .count = rank_count,
                                                      .one = "rank",
                                                      .many = "ranks",
                                                      .without_limit = true,
                                                      .work = make_part,
                                                      .context = &j,
                                                      .key = key,
                                                      .pack = pack_part,
                                                      .unpack = unpack_part,
                                                      .drop = drop_part,
                                                      .is_usable = is_usable});
        gt_free(key);
        made = failed == rank_count;
        if (!made) *error = parts->ranks[failed].error;
    }
    if (made) return parts;
    gt_fuse_parts_free(parts);
    return NULL;
}

void gt_fuse_parts_free(gt_fuse_parts *parts)
{
    if (!parts) return;
    for (size_t i = 0; i < parts->count; i++) free_part(&parts->ranks[i]);
    gt_free(parts->ranks);
    gt_fuse_plan_free(&parts->plan);
    gt_free(parts);
}
