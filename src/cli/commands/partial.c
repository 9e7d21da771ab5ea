/* `gputally partial`: writes what a report of all ranks needs of one trace to a file, which `gputally merge`
 * puts together with those of the other ranks. So the traces of a run can be read by separate jobs.
 *
 * A partial has everything that `report` and `collective` use of a rank: `merge` decides which of it is
 * shown. It is made as `gputally report` makes it, from the whole trace. */
#include "cli/commands/commands.h"

#include "cli/partials.h"
#include "cli/whole_rank.h"
#include "procs/part.h"
#include "input/files.h"
#include "os/paths.h"

static const gt_option partial_options[] = {
    {"output", GT_OPTION_STRING, "PATH", NULL,
     "write the partials into the folder PATH, or, if PATH ends in .gtpart, that of a single trace to the "
     "file PATH (default: TRACE.gtpart next to each trace)"},
    {"rank", GT_OPTION_INT, "N", NULL,
     "set the rank of a single trace (default: from the trace, else the file name, else the path)",
     .minimum = "0"},
    {"share", GT_OPTION_STRING, "I/N", NULL,
     "read only share I of N shares of the traces, 0/N to N-1/N, which are equally large: for N jobs with "
     "the same command"},
    {"rank_regex", GT_OPTION_STRING, "REGEX", GT_RANK_REGEX,
     "find the rank in the file name, or else in the path (Python syntax)", .needs = "!rank"},
};
static const gt_option_group partial_group = {"Partials", partial_options, GT_LENGTH(partial_options)};

const gt_syntax gt_partial_syntax = {
    .groups = {&partial_group, &gt_communication_group, &gt_extra_group, &gt_index_group,
               &gt_whole_files_group},
    .main_options = {"output", "rank", "share", "extra", "comm_kernels"},
    .files = "TRACE...",
    .file_endings = GT_PYTORCH_ENDINGS,
    .files_max = SIZE_MAX,
    .folders = true,
    .output_option = "output",
    .best_defaults = true,
};

/* ---- traces and their ranks ---- */

typedef struct item {
    char *trace, *part; /* paths; part is NULL if the trace has no rank */
    int64_t rank;
    bool made, reused, rank_in_name;
    gt_error error;
} item;

typedef struct job {
    const gt_call *call;
    gt_read_options read;
    item *items;
    size_t count, capacity;
    char *key, *options;
    uint64_t share, shares; /* shares is 0 without --share */
    bool quiet;
    gt_exit status;
} job;

static void add_item(job *j, const char *path, int64_t rank)
{
    item one = {.trace = gt_strdup(path), .rank = rank};
    GT_PUSH(j->items, j->count, j->capacity, one);
}

/* The rank of a trace that --rank or its folder does not tell: in its name or its path; -1 if there is none.
 */
static bool find_in_name(const gt_rank_regex *regex, item *one, gt_error *error)
{
    if (!gt_rank_regex_find(regex, gt_path_name(one->trace), &one->rank, error)) return false;
    if (!gt_is_rank(one->rank) && !gt_rank_regex_find(regex, one->trace, &one->rank, error)) return false;
    if (!gt_is_rank(one->rank)) one->rank = -1;
    return true;
}

/* Looks into the traces without a rank that is `known`: what they say counts if it fits
 * (cli/inputs/inputs.h), or for those without another. With --rank_regex, the user has said where to look
 * first. */
static void look_into_traces(job *j, const bool *known, bool by_names)
{
    const char **paths = gt_alloc(j->count * sizeof *paths);
    int64_t *ranks = gt_alloc(j->count * sizeof *ranks);
    size_t count = 0, at = 0;
    for (size_t i = 0; i < j->count; i++) {
        if (known[i]) continue;
        paths[count] = j->items[i].trace;
        ranks[count++] = j->items[i].rank;
    }
    gt_own_ranks_settle(paths, ranks, count, by_names);
    for (size_t i = 0; i < j->count; i++)
        if (!known[i]) j->items[i].rank = ranks[at++];
    gt_free_all(ranks, paths);
}

/* Whether the rank is the one in the file name, so that this name is unique among those of the partials. */
static bool note_name(const gt_rank_regex *regex, item *one, bool by_option, gt_error *error)
{
    int64_t named;
    if (!gt_rank_regex_find(regex, gt_path_name(one->trace), &named, error)) return false;
    one->rank_in_name = gt_is_rank(named) && named == one->rank;
    if (by_option && gt_is_rank(named) && !one->rank_in_name)
        gt_warn("%s: rank %" PRId64 " by its file name, but --rank says %" PRId64 ", which counts",
                one->trace, named, one->rank);
    return true;
}

static void fail_runs(const char *path, gt_trace_folder *found, gt_error *error)
{
    size_t count;
    gt_trace_folder *runs = gt_trace_folder_split(found, &count);
    char *which = runs ? gt_trace_runs_describe(runs, count) : NULL;
    if (runs)
        gt_fail(error, "%s: the traces in this folder are of %s; name the traces of one run", path, which);
    else
        gt_fail(error, "%s: the traces in this folder are not one per rank: %s", path, found->why_not);
    gt_free(which);
    gt_trace_runs_free(runs, count);
}

/* The traces of a folder are one per rank, or only one. */
static bool add_folder(job *j, const char *path, gt_error *error)
{
    gt_trace_folder found;
    gt_trace_folder_find(&found, path, true);
    bool usable = found.are_ranks || found.count == 1;
    for (size_t i = 0; usable && i < found.count; i++)
        add_item(j, found.paths[i], found.are_ranks ? found.ranks[i] : -1);
    for (size_t i = 0; usable && i < found.unreadable_count; i++) {
        gt_warn("%s; there is no partial of this trace", found.unreadable[i].problem);
        j->status = GT_EXIT_FAILED;
    }
    if (!usable && !found.count) gt_fail(error, "%s: no PyTorch traces in this folder", path);
    if (!usable && found.count) fail_runs(path, &found, error);
    gt_trace_folder_free(&found);
    return usable;
}

static bool add_items(job *j, gt_error *error)
{
    const gt_arguments *arguments = &j->call->arguments;
    for (size_t i = 0; i < arguments->file_count; i++) {
        const char *path = arguments->files[i];
        if (strcmp(path, "-") == 0) return gt_fail(error, "standard input has no partial; name a file");
        if (!gt_path_is_folder(path))
            add_item(j, path, -1);
        else if (!add_folder(j, path, error))
            return false;
    }
    return true;
}

static bool find_ranks(job *j, gt_error *error)
{
    const gt_arguments *arguments = &j->call->arguments;
    const gt_option_value *rank = gt_arguments_value(arguments, "rank");
    gt_rank_regex regex;
    if (rank->given && (j->count != 1 || !gt_is_rank(rank->number)))
        return gt_fail(error,
                       j->count != 1 ? "--rank needs exactly one trace" : "--rank must be between 0 and %d",
                       GT_RANKS_MAX - 1);
    if (!gt_rank_regex_compile(&regex, gt_arguments_string(arguments, "rank_regex"), "rank_regex", error))
        return false;
    bool *known = gt_alloc_zero(j->count, sizeof *known), found = true;
    if (rank->given) j->items[0].rank = rank->number;
    for (size_t i = 0; found && i < j->count; i++) {
        known[i] = j->items[i].rank >= 0;
        found = known[i] || find_in_name(&regex, &j->items[i], error);
    }
    if (found) look_into_traces(j, known, gt_arguments_value(arguments, "rank_regex")->given);
    for (size_t i = 0; found && i < j->count; i++)
        found = note_name(&regex, &j->items[i], rank->given, error);
    gt_free(known);
    gt_rank_regex_free(&regex);
    return found;
}

/* ---- shares ---- */

/* At most nine digits. */
static bool read_number(const char *digits, size_t len, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < len && i < 9 && gt_is_digit(digits[i]); i++)
        *number = *number * 10 + (uint64_t)(digits[i] - '0');
    return len && len <= 9 && strspn(digits, "0123456789") >= len;
}

/* An empty text, as of a variable that is not set, is an error: every job would read everything. */
static bool read_share(job *j, gt_error *error)
{
    const gt_option_value *share = gt_arguments_value(&j->call->arguments, "share");
    if (!share->given) return true;
    const char *text = share->text ? share->text : "", *slash = strchr(text, '/');
    if (slash && read_number(text, (size_t)(slash - text), &j->share) &&
        read_number(slash + 1, strlen(slash + 1), &j->shares) && j->share < j->shares)
        return true;
    return gt_fail(error, "--share needs I/N with I from 0 to N-1, got '%.40s'", text);
}

typedef struct sized {
    uint64_t bytes;
    size_t index;
} sized;

GT_ORDER_BY(largest_first, sized, GT_DOWN(bytes) GT_UP(index))

/* Keeps the traces of one share. All jobs find the same traces, so they agree: the largest go to shares 0, 1,
 * ..., N-1, the next ones to N-1, ..., 0, and so on. */
static void take_share(job *j)
{
    if (!j->shares) return;
    sized *order = gt_alloc(j->count * sizeof *order);
    for (size_t i = 0; i < j->count; i++) order[i] = (sized){gt_path_bytes(j->items[i].trace), i};
    if (j->count) qsort(order, j->count, sizeof *order, largest_first);
    bool *is_own = gt_alloc_zero(j->count, sizeof *is_own);
    for (size_t place = 0; place < j->count; place++) {
        uint64_t at = place % j->shares;
        is_own[order[place].index] = (place / j->shares % 2 ? j->shares - 1 - at : at) == j->share;
    }
    size_t kept = 0;
    for (size_t i = 0; i < j->count; i++) {
        if (is_own[i])
            j->items[kept++] = j->items[i];
        else
            gt_free(j->items[i].trace);
    }
    j->count = kept;
    if (!kept) gt_info("this share has no traces: there are fewer traces than shares");
    gt_free_all(order, is_own);
}

/* ---- names of partials ---- */

static bool is_part_name(const char *path)
{
    size_t len = strlen(path), suffix = strlen(GT_PART_SUFFIX);
    return len > suffix && strcmp(path + len - suffix, GT_PART_SUFFIX) == 0;
}

/* In a folder, traces may have the same name: run/rank0/trace.json, run/rank1/trace.json. */
static char *name_part(const item *one, const char *output)
{
    if (!output) return gt_format("%s" GT_PART_SUFFIX, one->trace);
    if (is_part_name(output)) return gt_strdup(output);
    const char *trace = gt_path_name(one->trace);
    char *name = one->rank_in_name ? gt_format("%s" GT_PART_SUFFIX, trace)
                                   : gt_format("rank%" PRId64 "-%s" GT_PART_SUFFIX, one->rank, trace);
    char *path = gt_path_in(output, name);
    gt_free(name);
    return path;
}

static bool name_parts(job *j, gt_error *error)
{
    const char *output = gt_arguments_string(&j->call->arguments, "output");
    bool is_file = output && is_part_name(output) && !gt_path_is_folder(output);
    if (is_file && j->count > 1)
        return gt_fail(error, "%s: one file for %zu traces; name a folder", output, j->count);
    if (output && !is_file && !gt_path_is_folder(output) && !gt_path_make_folder(output, error)) return false;
    for (size_t i = 0; i < j->count; i++)
        if (j->items[i].rank >= 0) j->items[i].part = name_part(&j->items[i], output);
    return true;
}

/* ---- one trace ---- */

/* Whether `merge` can use it: another build of this version may have written something else. */
static bool can_be_loaded(const gt_part *part, int64_t rank)
{
    gt_rank_collectives *c = gt_rank_collectives_load(gt_part_image(part), rank);
    gt_rank_collectives_free(c);
    return c != NULL;
}

/* The partial that is already there. False, with an error, if it must not be replaced. */
static bool look_at_old(const job *j, item *one)
{
    gt_part_state state;
    gt_part *old = gt_part_open(one->part, false, &state);
    if (!old) return true;
    bool is_of_trace = gt_path_is_same_file(gt_part_trace(old), one->trace);
    bool is_other = !is_of_trace && gt_path_is_file(gt_part_trace(old));
    if (is_other)
        gt_fail(&one->error, "%s: partial of another trace, %s; choose another --output for %s", one->part,
                gt_part_trace(old), one->trace);
    else
        one->reused = strcmp(gt_part_key(old), j->key) == 0 && can_be_loaded(old, one->rank) &&
                      gt_part_is_current(old, one->trace);
    gt_part_close(old);
    return !is_other;
}

static bool is_pytorch(gt_stream *stream, gt_error *error)
{
    gt_trace_format format;
    if (!gt_detect(stream, &format, error)) return false;
    if (format == GT_FORMAT_KINETO_JSON || format == GT_FORMAT_INDEX) return true;
    if (format == GT_FORMAT_EMPTY) return gt_fail(error, "%s: empty file", gt_stream_path(stream));
    return gt_fail(error, "%s: %s; partials are made of PyTorch traces", gt_stream_path(stream),
                   gt_format_name(format));
}

/* As report/rank_traces.c does: the reader of collectives decides whether the rank counts, and why not. */
static gt_rank_collectives *read_rank(const job *j, item *one)
{
    gt_hta_options ignored;
    gt_extra_sheets extra = {0};
    gt_interner *strings = gt_interner_new();
    bool is_read, extra_wanted = gt_extra_wanted(&j->call->arguments, &ignored);
    const gt_whole_rank whole = {.call = j->call,
                                 .read = &j->read,
                                 .path = one->trace,
                                 .rank = one->rank,
                                 .accepts = is_pytorch,
                                 .strings = strings};
    gt_rank_collectives *c = gt_whole_rank_read(&whole, &extra, &is_read, &one->error);
    if (!c && (is_read || !extra_wanted)) {
        gt_comm_kernels *comm = gt_communication_wanted(&j->call->arguments);
        gt_error error = {""};
        c = gt_rank_collectives_read(one->trace, one->rank, comm, j->read.threads, &error);
        if (!c && is_read) one->error = error;
        gt_comm_kernels_free(comm);
    }
    if (c)
        gt_rank_collectives_set_extra(c, extra);
    else
        gt_table_list_free(&extra.tables);
    gt_interner_free(strings);
    return c;
}

static bool write_part(const job *j, item *one, const gt_rank_collectives *c,
                       const gt_trace_identity *identity)
{
    gt_image image = {0};
    gt_part_new new = {.key = j->key, .trace_path = one->trace, .identity = *identity};
    gt_trace_identity now;
    bool same = gt_trace_identify(one->trace, &now) && gt_trace_has_same_times(&now, identity) &&
                gt_trace_add_checksum(one->trace, &new.identity);
    if (!same) return gt_fail(&one->error, "%s: the trace changes while it is read", one->trace);
    gt_rank_collectives_save(c, one->rank, &image);
    gt_partial_save_options(j->options, &image);
    bool written = gt_part_write(one->part, &new, &image, &one->error);
    gt_error why = one->error;
    if (!written && !gt_arguments_string(&j->call->arguments, "output"))
        gt_fail(&one->error, "%.900s; --output names another folder for it", why.text);
    gt_image_free(&image);
    return written;
}

static bool make_item(void *context, size_t index)
{
    const job *j = context;
    item *one = &j->items[index];
    gt_trace_identity identity;
    const char *about = gt_log_about(j->count > 1 ? one->trace : NULL);
    if (!gt_path_is_file(one->trace)) {
        gt_fail(&one->error, "%s: no such file", one->trace);
    } else if (!gt_trace_identify(one->trace, &identity)) {
        gt_fail(&one->error, "%s: not a regular file, so it has no partial", one->trace);
    } else if (!one->part) {
        gt_stream *stream = gt_stream_open(one->trace, &one->error);
        if (stream && is_pytorch(stream, &one->error))
            gt_fail(&one->error, "%s: neither its name nor the trace has a rank; use --rank N", one->trace);
        gt_stream_close(stream);
    } else if (look_at_old(j, one) && !one->reused) {
        gt_rank_collectives *c = read_rank(j, one);
        one->made = c && write_part(j, one, c, &identity);
        gt_rank_collectives_free(c);
    }
    gt_log_about(about);
    return true;
}

static void show_item(void *context, size_t index)
{
    job *j = context;
    const item *one = &j->items[index];
    if (!one->made && !one->reused) {
        fprintf(stderr, "gputally: %s\n", one->error.text);
        j->status = GT_EXIT_FAILED;
    } else if (!j->quiet) {
        printf("rank %" PRId64 ": %s %s (%.1f kB)\n", one->rank,
               one->made ? "wrote" : "up to date:", one->part, (double)gt_path_bytes(one->part) / 1e3);
    }
}

/* ---- all traces ---- */

/* Two traces for one file. */
static bool check_clashes(const job *j, gt_error *error)
{
    gt_interner *names = gt_interner_new();
    const item **owners = gt_alloc_zero(j->count + 2, sizeof *owners); /* ids begin at 2 */
    bool unique = true;
    for (size_t i = 0; unique && i < j->count; i++) {
        if (!j->items[i].part) continue;
        uint32_t id = gt_interner_add_cstr(names, j->items[i].part);
        if (owners[id])
            unique = gt_fail(error, "%s and %s have the same partial, %s; choose another --output",
                             owners[id]->trace, j->items[i].trace, j->items[i].part);
        owners[id] = &j->items[i];
    }
    gt_interner_free(names);
    gt_free(owners);
    return unique;
}

static void make_all(job *j)
{
    const char **paths = gt_alloc(j->count * sizeof *paths);
    for (size_t i = 0; i < j->count; i++) paths[i] = j->items[i].trace;
    j->read.is_part = j->count > 1;
    gt_files_work(&(gt_file_work){.paths = paths,
                                  .count = j->count,
                                  .one = "trace",
                                  .many = "traces",
                                  .work = make_item,
                                  .finish = show_item,
                                  .context = j});
    gt_free(paths);
}

gt_exit gt_cmd_partial(const gt_call *call)
{
    gt_error error = {""};
    job j = {.call = call, .quiet = gt_arguments_flag(&call->arguments, "quiet")};
    if (gt_communication_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    if (!gt_common_apply(call, &j.read, &error)) return gt_usage_error(call->program, "%s", error.text);
    if (!read_share(&j, &error)) return gt_usage_error(call->program, "%s", error.text);
    j.key = gt_partial_key(call);
    j.options = gt_partial_options(call);
    /* Ranks before shares: whether those in the traces fit depends on all of them. */
    bool found = add_items(&j, &error) && find_ranks(&j, &error);
    if (found) take_share(&j);
    if (found && name_parts(&j, &error) && check_clashes(&j, &error)) {
        make_all(&j);
    } else {
        fprintf(stderr, "gputally: %s\n", error.text);
        j.status = GT_EXIT_FAILED;
    }
    for (size_t i = 0; i < j.count; i++) {
        gt_free_all(j.items[i].trace, j.items[i].part);
    }
    gt_free_all(j.items, j.key, j.options);
    return j.status;
}
