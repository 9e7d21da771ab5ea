/* Reading the ranks of a batch report side by side (input/files.h). A thread reads a trace, makes its rows
 * and frees the trace; the rows are appended in the order of the ranks. */
#include "report/batch.h"

#include "analysis/collective/sheets.h"
#include "input/chrome/kineto.h"
#include "input/files.h"
#include "table/image.h"

/* The rows of one rank, before they are appended. */
typedef struct rank_rows {
    gt_table *parts[GT_BATCH_PARTS];
    gt_batch_ops ops[GT_BATCH_GROUPS];
    gt_table *kernels; /* NULL: not requested */
    gt_left_out left_out;
    gt_interner *strings; /* of all of these and the timeline; owned */
    size_t events;
    bool gpu_only;
    char *problem; /* owned; why the trace could not be read; NULL: it could */
} rank_rows;

typedef struct job {
    gt_batch_ranks *ranks;
    char *const *paths;
    const gt_read_options *options;
    bool all_kernels;
    rank_rows *rows; /* by position */
} job;

/* ---- one rank ---- */

/* If no GPU event is linked to a launch, the timeline includes all GPU events. */
static gt_table *make_timeline(const gt_linked_view *trace, const char *path, gt_left_out *left_out)
{
    gt_error error;
    gt_pytorch_timeline_options options = {0};
    gt_table *timeline = gt_pytorch_gpu_timeline(trace, options, &error);
    if (timeline) *left_out = gt_pytorch_find_left_out(trace);
    if (timeline) return timeline;
    options.include_unlinked = true;
    timeline = gt_pytorch_gpu_timeline(trace, options, &error);
    if (timeline)
        gt_warn("%s: no GPU event is linked to a launch; its timeline includes all GPU events", path);
    else
        gt_warn("%s: no GPU events, so no timeline", path);
    return timeline;
}

static void make_ops(const gt_linked_view *trace, const gt_launchers *launchers, rank_rows *rows)
{
    if (trace->gpu_only) return;
    gt_perf *perf = gt_perf_new(trace, launchers, NULL, (gt_perf_options){0});
    gt_batch_ops_of_rank(perf, rows->ops);
    gt_perf_free(perf);
}

static void make_rows(const job *j, size_t place, const gt_linked_view *trace, rank_rows *rows)
{
    int64_t number = j->ranks->numbers[place];
    gt_launchers launchers = gt_launchers_find(trace);
    gt_pytorch_kernels kernels = gt_pytorch_kernels_find(trace, NULL);
    make_ops(trace, &launchers, rows);
    rows->parts[GT_BATCH_LAUNCHERS] = gt_batch_launchers_of_rank(trace, &launchers);
    rows->parts[GT_BATCH_COUNTS] = gt_batch_kernel_counts_of_rank(trace, number);
    rows->parts[GT_BATCH_UNLINKED] = gt_batch_unlinked_of_rank(trace);
    rows->parts[GT_BATCH_SHORT_OPS] = gt_batch_short_ops_of_rank(&kernels);
    rows->parts[GT_BATCH_CALLS] = gt_batch_calls_of_rank(&trace->events, number);
    rows->parts[GT_BATCH_COLLECTIVES] = gt_collectives_of_rank(&trace->events, (int64_t)place);
    j->ranks->timelines[place] = make_timeline(trace, j->paths[place], &rows->left_out);
    if (j->all_kernels) rows->kernels = gt_batch_kernels_of_rank(&kernels, number);
    gt_pytorch_kernels_free(&kernels);
    gt_launchers_free(&launchers);
}

static void use_strings(rank_rows *rows, gt_table *timeline, gt_interner *strings)
{
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) gt_table_use_strings(rows->parts[i], strings);
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) gt_batch_ops_use_strings(&rows->ops[i], strings);
    if (timeline) gt_table_use_strings(timeline, strings);
    if (rows->kernels) gt_table_use_strings(rows->kernels, strings);
}

/* ---- append in order ---- */

static void free_rows(rank_rows *rows)
{
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) gt_table_free(rows->parts[i]);
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) gt_batch_ops_free(&rows->ops[i]);
    gt_table_free(rows->kernels);
    gt_interner_free(rows->strings);
    gt_free(rows->problem);
    *rows = (rank_rows){0};
}

/* Frees what is kept of a rank. */
static void drop_rank(void *context, size_t place)
{
    job *j = context;
    free_rows(&j->rows[place]);
    gt_table_free(j->ranks->timelines[place]);
    j->ranks->timelines[place] = NULL;
}

static void append_rank(void *context, size_t place)
{
    job *j = context;
    gt_batch_ranks *ranks = j->ranks;
    rank_rows *rows = &j->rows[place];
    use_strings(rows, ranks->timelines[place], ranks->strings);
    ranks->events += rows->events;
    ranks->gpu_only &= rows->gpu_only;
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) {
        if (ranks->parts[i]) {
            gt_table_append_same(ranks->parts[i], rows->parts[i]);
        } else {
            ranks->parts[i] = rows->parts[i];
            rows->parts[i] = NULL;
        }
    }
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) {
        ranks->ops_found[i][place] = rows->ops[i].found;
        gt_batch_ops_append(&ranks->ops[i], &rows->ops[i]);
    }
    if (rows->kernels) gt_table_list_add(&ranks->kernels, rows->kernels);
    rows->kernels = NULL;
    gt_left_out_add(&ranks->left_out, rows->left_out);
    free_rows(rows);
}

/* ---- rows of another process (input/files.h) ---- */

/* Tables of a rank in the order in which they are saved; those that it does not have are skipped. */
enum { OPS = GT_BATCH_PARTS, TIMELINE = OPS + GT_BATCH_GROUPS, KERNELS, SAVED_TABLES };

enum { EVENTS, GPU_ONLY, HAS_BASE, BASE_NS, TABLES, NUMBERS };

static gt_table **table_at(rank_rows *rows, gt_table **timeline, size_t at)
{
    if (at < OPS) return &rows->parts[at];
    if (at < TIMELINE) return &rows->ops[at - OPS].rows;
    return at == TIMELINE ? timeline : &rows->kernels;
}

static bool pack_rank(void *context, size_t place, gt_image *image)
{
    job *j = context;
    rank_rows *rows = &j->rows[place];
    gt_table *tables[SAVED_TABLES];
    size_t count = 0;
    int64_t numbers[NUMBERS] = {[EVENTS] = (int64_t)rows->events,
                                [GPU_ONLY] = rows->gpu_only,
                                [HAS_BASE] = j->ranks->bases[place].known,
                                [BASE_NS] = j->ranks->bases[place].ns};
    if (!rows->strings) return false; /* the trace could not be read: process 0 tries and says why */
    for (size_t i = 0; i < SAVED_TABLES; i++) {
        gt_table *table = *table_at(rows, &j->ranks->timelines[place], i);
        if (!table) continue;
        numbers[TABLES] |= 1 << i;
        tables[count++] = table;
    }
    gt_image_add_numbers(image, "rank", "numbers", numbers, NUMBERS);
    gt_image_add(image, "rank", "left_out", &rows->left_out, sizeof rows->left_out);
    gt_batch_ops_save(rows->ops, image);
    gt_tables_save(tables, count, rows->strings, image);
    gt_strings_save(rows->strings, image);
    return true;
}

static void add_table(void *list, gt_table *table)
{
    gt_table_list_add(list, table);
}

/* Gives each table to its owner. */
static bool take_tables(rank_rows *rows, gt_table **timeline, gt_table_list *tables, int64_t which)
{
    size_t taken = 0;
    for (size_t i = 0; i < SAVED_TABLES; i++) {
        if (!(which >> i & 1)) continue;
        if (taken == tables->count) return false;
        *table_at(rows, timeline, i) = tables->items[taken];
        tables->items[taken++] = NULL;
    }
    return taken == tables->count && !(which >> SAVED_TABLES);
}

static bool tables_are_sound(const rank_rows *rows, const gt_table *timeline, size_t place, bool all_kernels)
{
    static const gt_sheet sheets[GT_BATCH_PARTS] = {
        [GT_BATCH_LAUNCHERS] = GT_SHEET_KERNEL_LAUNCHERS,
        [GT_BATCH_COUNTS] = GT_SHEET_LINKED_AND_SHORT_KERNELS,
        [GT_BATCH_UNLINKED] = GT_SHEET_UNLINKED_SHORT_KERNELS_SUMMARY,
        [GT_BATCH_SHORT_OPS] = GT_SHEET_SHORT_CPU_OP_COUNTS,
        [GT_BATCH_CALLS] = GT_SHEET_CUDA_EVENTS_SUMMARY,
    };
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) {
        if (!rows->parts[i]) return false;
        if (i == GT_BATCH_COLLECTIVES ? !gt_collectives_are_sound(rows->parts[i], (int64_t)place)
                                      : !gt_batch_rows_are_sound(rows->parts[i], sheets[i]))
            return false;
    }
    return (!timeline || gt_batch_rows_are_sound(timeline, GT_SHEET_GPU_TIMELINE)) &&
           (rows->kernels != NULL) == all_kernels;
}

static bool load_rows(const job *j, size_t place, const gt_image *image, gt_interner *strings)
{
    rank_rows *rows = &j->rows[place];
    gt_table **timeline = &j->ranks->timelines[place];
    const int64_t *numbers = gt_image_get_all(image, "rank", "numbers", sizeof *numbers, NUMBERS);
    const gt_left_out *left_out = gt_image_get_all(image, "rank", "left_out", sizeof *left_out, 1);
    if (!numbers || !left_out || numbers[EVENTS] < 0 || numbers[TABLES] < 0) return false;
    gt_table_list tables = {0};
    bool sound = gt_tables_load(image, strings, add_table, &tables) &&
                 take_tables(rows, timeline, &tables, numbers[TABLES]) &&
                 tables_are_sound(rows, *timeline, place, j->all_kernels) &&
                 gt_batch_ops_load(rows->ops, strings, image);
    gt_table_list_free(&tables);
    if (!sound) return false;
    rows->strings = gt_interner_new(); /* so that the image can be freed */
    use_strings(rows, *timeline, rows->strings);
    rows->events = (size_t)numbers[EVENTS];
    rows->gpu_only = numbers[GPU_ONLY] != 0;
    rows->left_out = *left_out;
    j->ranks->bases[place] = (gt_base_time){numbers[HAS_BASE] != 0, numbers[BASE_NS]};
    return true;
}

static bool unpack_rank(void *context, size_t place, const gt_image *image)
{
    job *j = context;
    gt_interner *strings = gt_strings_load(image);
    bool sound = strings && load_rows(j, place, image, strings);
    if (!sound) drop_rank(j, place);
    gt_interner_free(strings);
    return sound;
}

/* ---- all ranks ---- */

/* The rows get strings of their own, so that the trace can be freed. False if it cannot be read: then there
 * is no report, and later ranks are not needed. */
static bool read_rank(void *context, size_t place)
{
    const job *j = context;
    rank_rows *rows = &j->rows[place];
    gt_read_options options = *j->options;
    options.is_part = true;
    const char *about = gt_log_about(j->ranks->count > 1 ? j->paths[place] : NULL);
    gt_error error;
    gt_pytorch_read *read = gt_kineto_read(j->paths[place], (gt_kineto_options){0}, &options, &error);
    gt_pytorch_linked *trace = read ? gt_pytorch_link(gt_pytorch_build_tree(read)) : NULL;
    if (trace) {
        const gt_linked_view *view = gt_pytorch_view(trace);
        make_rows(j, place, view, rows);
        rows->strings = gt_interner_new();
        use_strings(rows, j->ranks->timelines[place], rows->strings);
        rows->events = view->uid_count;
        rows->gpu_only = view->gpu_only;
        j->ranks->bases[place] = gt_store_base_time(view->store);
    }
    if (!trace) rows->problem = gt_strdup(error.text);
    gt_pytorch_linked_free(trace);
    gt_log_about(about);
    return trace != NULL;
}

/* What the rows of a rank depend on in addition to its trace. */
static const char *key_of(const job *j)
{
    static const char *const keys[] = {
        "batch",         "batch, kernels",         "batch, strict",         "batch, kernels, strict",
        "batch of many", "batch of many, kernels", "batch of many, strict", "batch of many, kernels, strict"};
    return keys[j->all_kernels + 2 * j->options->strict + 4 * (j->ranks->count > 1)];
}

static job begin(gt_batch_ranks *ranks, const gt_batch_request *request)
{
    size_t count = request->count;
    *ranks = (gt_batch_ranks){
        .strings = gt_interner_new(), .count = count, .numbers = request->numbers, .gpu_only = true};
    ranks->timelines = gt_alloc_zero(count, sizeof *ranks->timelines);
    ranks->bases = gt_alloc_zero(count, sizeof *ranks->bases);
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++)
        ranks->ops_found[i] = gt_alloc_zero(count, sizeof *ranks->ops_found[i]);
    return (job){.ranks = ranks,
                 .paths = request->paths,
                 .options = request->read,
                 .all_kernels = request->all_kernels,
                 .rows = gt_alloc_zero(count, sizeof(rank_rows))};
}

static void end(job *j)
{
    for (size_t i = 0; i < j->ranks->count; i++) free_rows(&j->rows[i]);
    gt_free(j->rows);
}

bool gt_batch_ranks_read(gt_batch_ranks *ranks, const gt_batch_request *request, gt_error *error)
{
    job j = begin(ranks, request);
    size_t failed = gt_files_work(&(gt_file_work){.paths = (const char *const *)request->paths,
                                                  .count = request->count,
                                                  .one = "rank",
                                                  .many = "ranks",
                                                  .work = read_rank,
                                                  .finish = append_rank,
                                                  .context = &j,
                                                  .key = key_of(&j),
                                                  .pack = pack_rank,
                                                  .unpack = unpack_rank,
                                                  .drop = drop_rank});
    if (failed < request->count) gt_fail(error, "%s", j.rows[failed].problem);
    end(&j);
    if (failed == request->count) return true;
    gt_batch_ranks_free(ranks);
    return false;
}

/* ---- the ranks of several folders ---- */

typedef struct folders {
    job *jobs;
    struct position {
        size_t folder, place;
    } * positions; /* by file */
} folders;

/* A trace that cannot be read concerns only its folder. */
static bool read_any(void *context, size_t index)
{
    const folders *f = context;
    read_rank(&f->jobs[f->positions[index].folder], f->positions[index].place);
    return true;
}

static bool pack_any(void *context, size_t index, gt_image *image)
{
    const folders *f = context;
    return pack_rank(&f->jobs[f->positions[index].folder], f->positions[index].place, image);
}

static void drop_any(void *context, size_t index)
{
    const folders *f = context;
    drop_rank(&f->jobs[f->positions[index].folder], f->positions[index].place);
}

/* Those of folders with the same key as the first one with several ranks, or else with one. */
void gt_batch_ranks_prepare(const gt_batch_request *requests, size_t count)
{
    folders f = {.jobs = gt_alloc_zero(count, sizeof *f.jobs)};
    gt_batch_ranks *ranks = gt_alloc_zero(count, sizeof *ranks);
    const char **paths = NULL, *key = NULL;
    size_t path_count = 0, path_capacity = 0, position_count = 0, position_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        f.jobs[i] = begin(&ranks[i], &requests[i]);
        if (!key || requests[i].count > 1) key = key_of(&f.jobs[i]);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t place = 0; key_of(&f.jobs[i]) == key && place < requests[i].count; place++) {
            struct position at = {i, place};
            GT_PUSH(paths, path_count, path_capacity, requests[i].paths[place]);
            GT_PUSH(f.positions, position_count, position_capacity, at);
        }
    }
    gt_files_work(&(gt_file_work){.paths = paths,
                                  .count = path_count,
                                  .one = "rank",
                                  .many = "ranks",
                                  .work = read_any,
                                  .context = &f,
                                  .key = key,
                                  .pack = pack_any,
                                  .drop = drop_any});
    for (size_t i = 0; i < count; i++) {
        end(&f.jobs[i]);
        gt_batch_ranks_free(&ranks[i]);
    }
    gt_free_all(f.jobs, f.positions, paths, ranks);
}

void gt_batch_ranks_free(gt_batch_ranks *ranks)
{
    for (size_t i = 0; i < GT_BATCH_PARTS; i++) gt_table_free(ranks->parts[i]);
    for (size_t i = 0; i < GT_BATCH_GROUPS; i++) {
        gt_batch_ops_free(&ranks->ops[i]);
        gt_free(ranks->ops_found[i]);
        gt_table_free(ranks->arguments[i]);
    }
    for (size_t i = 0; i < ranks->count; i++) gt_table_free(ranks->timelines[i]);
    gt_free_all(ranks->timelines, ranks->bases);
    gt_table_list_free(&ranks->kernels);
    gt_interner_free(ranks->strings);
    *ranks = (gt_batch_ranks){0};
}
