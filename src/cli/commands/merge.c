/* `gputally merge`: the report of all ranks from the partials of their traces (`gputally partial`). It is the
 * one that `gputally report FOLDER` writes for all ranks; with --no_findings, that of `gputally collective`.
 *
 * A partial that cannot be used is treated as these commands treat a trace that cannot be read: `report`
 * names it, writes the report of the other ranks and fails; `collective` writes nothing, unless ranks may be
 * missing. */
#include "cli/commands/commands.h"

#include "cli/partials.h"
#include "procs/part.h"
#include "os/paths.h"
#include "os/shell_words.h"

#include <stdatomic.h>

static const gt_option input_options[] = {
    {"world_size", GT_OPTION_INT, "N", NULL,
     "set the number of ranks (default: up to the last rank with a partial; warns if more ranks ran)",
     .minimum = "1"},
    {"allow_missing_ranks", GT_OPTION_FLAG, NULL, NULL,
     "warn about ranks whose partial is missing or damaged and analyse the others; only with --no_findings, "
     "because otherwise this is the default",
     .needs = "no_findings"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option output_options[] = {
    GT_OUTPUT_OPTIONS(GT_COLLECTIVE_WORKBOOK " in the folder of the partials"),
    GT_RANKS_ANSWERS_OPTIONS,
    {"output_html", GT_OPTION_STRING, "PATH", NULL,
     "write the page to PATH (docs/page.md; default: " GT_COLLECTIVE_PAGE " next to the default workbook)"},
    {"no_html", GT_OPTION_FLAG, NULL, NULL, "write no page"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

static const gt_option findings_options[] = {
    {"all_findings", GT_OPTION_FLAG, NULL, NULL,
     "show all findings in the terminal, not only the first three", .needs = "!no_findings"},
    {"no_findings", GT_OPTION_FLAG, NULL, NULL,
     "write the report of gputally collective instead of that of gputally report: sheets without findings"},
};
static const gt_option_group findings_group = {"Findings", findings_options, GT_LENGTH(findings_options)};

const gt_syntax gt_merge_syntax = {
    .groups = {&input_group, &findings_group, &gt_collective_sheets_group, &output_group,
               &gt_whole_files_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_html", "world_size", "no_findings"},
    .files = "PARTIAL...",
    .file_endings = "gtpart",
    .files_max = SIZE_MAX,
    .folders = true,
    .output_option = "output_xlsx_path",
    .error_option = "output_json",
    .one_report = true,
};

/* ---- partials ---- */

typedef struct source {
    char *path;
    gt_part_state state;
    bool named; /* by the user, not found in a folder */
    int64_t rank, world_size;
    char *key, *options, *trace;
} source;

typedef struct sources {
    const gt_call *call;
    source *items;
    size_t count, capacity;
    char *folder; /* that was given; NULL: several, or files */
    size_t unusable;
    size_t ignored;              /* of ranks beyond --world_size */
    gt_rank_files files;         /* the partials by rank */
    const source **by_rank;      /* likewise */
    _Atomic size_t failed_loads; /* of partials whose contents are wrong */
    bool findings;
} sources;

static void add_source(sources *all, const char *path, bool named)
{
    source one = {.path = gt_strdup(path), .named = named, .rank = -1};
    GT_PUSH(all->items, all->count, all->capacity, one);
}

static bool add_folder(sources *all, const char *folder, gt_error *error)
{
    gt_path_list found = gt_path_pattern_find_below(folder, "*" GT_PART_SUFFIX);
    if (!found.count) {
        gt_path_list_free(&found);
        found = gt_path_pattern_find_below(folder, "**/*" GT_PART_SUFFIX);
    }
    for (size_t i = 0; i < found.count; i++) add_source(all, found.items[i], false);
    bool any = found.count > 0;
    gt_path_list_free(&found);
    return any || gt_fail(error,
                          "%s: no partials (*" GT_PART_SUFFIX
                          ") in this folder; `gputally partial TRACE...` makes them",
                          folder);
}

static bool add_sources(sources *all, gt_error *error)
{
    const gt_arguments *arguments = &all->call->arguments;
    for (size_t i = 0; i < arguments->file_count; i++) {
        const char *path = arguments->files[i];
        if (!gt_path_is_folder(path))
            add_source(all, path, true);
        else if (!add_folder(all, path, error))
            return false;
    }
    if (arguments->file_count == 1 && gt_path_is_folder(arguments->files[0]))
        all->folder = gt_strdup(arguments->files[0]);
    return true;
}

static void look_at(void *context, size_t index)
{
    source *one = &((sources *)context)->items[index];
    gt_part *part = gt_part_open(one->path, one->named, &one->state);
    if (!part) return;
    one->rank = gt_rank_collectives_saved_rank(gt_part_image(part));
    one->world_size = gt_rank_collectives_saved_world_size(gt_part_image(part));
    one->key = gt_strdup(gt_part_key(part));
    one->options = gt_partial_load_options(gt_part_image(part));
    one->trace = gt_strdup(gt_part_trace(part));
    if (one->rank < 0 || one->rank >= GT_RANKS_MAX)
        one->state = GT_PART_DAMAGED;
    else if (gt_part_is_stale(part))
        one->state = GT_PART_STALE;
    gt_part_close(part);
}

/* Names every partial that cannot be used. False if that ends the command. */
static bool accept_unusable(sources *all, gt_error *error)
{
    bool allowed = all->findings || gt_arguments_flag(&all->call->arguments, "allow_missing_ranks");
    for (size_t i = 0; i < all->count; i++) {
        const source *one = &all->items[i];
        if (one->state == GT_PART_SOUND) continue;
        char *text = gt_part_describe(one->path, one->state);
        all->unusable++;
        if (one->named && (one->state == GT_PART_MISSING || one->state == GT_PART_NO_PART)) {
            gt_fail(error, "%s", text);
            gt_free(text);
            return false;
        }
        if (allowed)
            gt_warn("%s: skipped", text);
        else if (all->unusable == 1)
            gt_fail(error, "%s, or use --allow_missing_ranks to continue without its rank", text);
        else
            gt_warn("%s", text);
        gt_free(text);
    }
    if (all->unusable && !allowed) return false;
    return all->unusable < all->count || gt_fail(error, "no partial can be used");
}

/* ---- do they belong together? ---- */

static const char *options_of(const source *one)
{
    return one->options[0] ? one->options + 1 : "no options";
}

static bool check_same_run(const sources *all, gt_error *error)
{
    const source *first = NULL, *sized = NULL;
    bool differs = false;
    for (size_t i = 0; i < all->count; i++) {
        const source *one = &all->items[i];
        if (one->state != GT_PART_SOUND) continue;
        if (!first) first = one;
        if (strcmp(one->key, first->key) != 0)
            return gt_fail(error,
                           "%.300s and %.300s were made with different options (%.200s; %.200s); make them "
                           "again with the same ones",
                           first->path, one->path, options_of(first), options_of(one));
        if (one->world_size <= 0) continue;
        if (!sized) sized = one;
        if (one->world_size == sized->world_size || differs) continue;
        differs = true;
        gt_warn("%s: %" PRId64 " ranks ran, but %" PRId64 " by %s; the partials may be of different runs",
                one->path, one->world_size, sized->world_size, sized->path);
    }
    return true;
}

static bool assign_ranks(sources *all, gt_error *error)
{
    const gt_option_value *world_size = gt_arguments_value(&all->call->arguments, "world_size");
    size_t count = world_size->given ? (size_t)world_size->number : 0;
    if (count > GT_RANKS_MAX) return gt_fail(error, "--world_size must be at most %d", GT_RANKS_MAX);
    for (size_t i = 0; i < all->count && !world_size->given; i++)
        if (all->items[i].state == GT_PART_SOUND && (size_t)all->items[i].rank >= count)
            count = (size_t)all->items[i].rank + 1;
    all->files.count = count;
    all->files.paths = gt_alloc_zero(count, sizeof *all->files.paths);
    all->by_rank = gt_alloc_zero(count, sizeof *all->by_rank);
    for (size_t i = 0; i < all->count; i++) {
        const source *one = &all->items[i];
        if (one->state != GT_PART_SOUND) continue;
        if ((size_t)one->rank >= count) {
            all->ignored++;
            continue;
        }
        const source *before = all->by_rank[one->rank];
        if (before && gt_path_is_same_file(before->path, one->path)) continue; /* named twice */
        if (before)
            return gt_fail(error,
                           "%s and %s are both partials of rank %" PRId64
                           "; name one of them, or if one is of "
                           "another rank N, make it again with `gputally partial --rank N`",
                           before->path, one->path, one->rank);
        all->by_rank[one->rank] = one;
        all->files.paths[one->rank] = gt_strdup(one->path);
    }
    if (all->ignored)
        gt_warn("ignoring %zu %s of ranks %zu and above", all->ignored,
                all->ignored == 1 ? "partial" : "partials", count);
    return all->ignored < all->count - all->unusable ||
           gt_fail(error, "no partial of ranks 0 to %zu", count - 1);
}

/* `report` names missing ranks when it has read the others, and knows how many ran. */
static bool accept_missing(const sources *all, gt_error *error)
{
    enum { RANKS_SHOWN = 20 };
    gt_buffer list = {0};
    size_t missing = 0;
    for (size_t rank = 0; rank < all->files.count && !all->findings; rank++)
        if (!all->files.paths[rank] && missing++ < RANKS_SHOWN)
            gt_buffer_add_format(&list, "%s%zu", list.len ? ", " : "", rank);
    char *ranks = gt_format("%s %s%s", missing > 1 ? "ranks" : "rank", gt_buffer_str(&list).bytes,
                            missing > RANKS_SHOWN ? ", ..." : "");
    bool allowed = gt_arguments_flag(&all->call->arguments, "allow_missing_ranks");
    if (missing && allowed) gt_warn("no partial of %s", ranks);
    if (missing && !allowed)
        gt_fail(error,
                "no partial of %s; make the missing ones with `gputally partial`, or use "
                "--allow_missing_ranks",
                ranks);
    gt_free(ranks);
    gt_buffer_free(&list);
    return !missing || allowed;
}

/* ---- loading ---- */

static gt_rank_collectives *load(const void *context, size_t rank, gt_error *error)
{
    sources *all = (sources *)(uintptr_t)context;
    const char *path = all->files.paths[rank];
    gt_part_state state;
    gt_part *part = gt_part_open(path, all->by_rank[rank]->named, &state);
    gt_rank_collectives *c = part ? gt_rank_collectives_load(gt_part_image(part), (int64_t)rank) : NULL;
    gt_part_close(part);
    if (c) return c;
    char *text = gt_part_describe(path, part ? GT_PART_DAMAGED : state);
    gt_fail(error, "%s", text);
    gt_free(text);
    all->failed_loads++;
    return NULL;
}

/* ---- the report ---- */

static gt_destinations choose_destinations(const sources *all)
{
    const gt_arguments *arguments = &all->call->arguments;
    gt_destinations to = gt_destinations_named(arguments);
    to.warn_of_earlier = true;
    to.with_charts = all->findings;
    if (to.xlsx_path || to.csvs_dir || to.db_path || gt_destinations_have_answers(&to)) return to;
    to.xlsx_path = gt_path_in(all->files.common_folder, GT_COLLECTIVE_WORKBOOK);
    if (all->findings && !gt_arguments_flag(arguments, "no_html"))
        to.html_path = gt_path_in(all->files.common_folder, GT_COLLECTIVE_PAGE);
    return to;
}

static bool check_not_partials(const sources *all, const gt_destinations *to, gt_error *error)
{
    const char *const outputs[] = {to->xlsx_path, to->db_path, to->json_path, to->md_path, to->html_path};
    for (size_t i = 0; i < GT_LENGTH(outputs); i++)
        for (size_t k = 0; outputs[i] && gt_path_is_file(outputs[i]) && k < all->count; k++)
            if (!gt_check_not_input(outputs[i], all->items[k].path, error)) return false;
    return true;
}

/* The page of a rank that `gputally report` wrote next to its trace, as seen from the page of all ranks; NULL
 * if there is none, or it is not in the folder of that page. */
static char *page_of(const source *one, const char *from)
{
    char *workbook = gt_default_xlsx_path(one->trace);
    char *page = gt_path_replace_extension(workbook, ".html"), *result = NULL;
    char *here = gt_path_folder(from), *folder = realpath(here, NULL), *whole = realpath(page, NULL);
    size_t len = folder ? strlen(folder) : 0;
    if (folder && whole && strncmp(folder, whole, len) == 0 && whole[len] == '/')
        result = gt_strdup(whole + len + 1);
    free(folder);
    free(whole);
    gt_free_all(here, page, workbook);
    return result;
}

/* The command that makes the same report from the traces: the same report has the same bytes. */
static char *describe_command(const sources *all)
{
    gt_buffer line = {0};
    const source *first = NULL;
    for (size_t rank = 0; !first; rank++) first = all->by_rank[rank];
    gt_buffer_add_cstr(&line, all->findings ? "gputally report " : "gputally collective");
    if (all->findings) gt_shell_quote(&line, gt_path_name(all->files.common_folder));
    gt_buffer_add_cstr(&line, first->options);
    return gt_buffer_take(&line);
}

static bool write_report(sources *all, unsigned threads, gt_error *error)
{
    gt_destinations to = choose_destinations(all);
    char **pages = gt_alloc_zero(all->files.count, sizeof *pages);
    bool linked = all->findings && to.html_path; /* `collective` knows no pages of ranks */
    for (size_t rank = 0; rank < all->files.count && linked; rank++)
        if (all->by_rank[rank]) pages[rank] = page_of(all->by_rank[rank], to.html_path);
    char *command = describe_command(all);
    const gt_merge_call merge = {.call = all->call,
                                 .files = &all->files,
                                 .load = load,
                                 .load_context = all,
                                 .pages = (const char *const *)pages,
                                 .command = command,
                                 .to = &to,
                                 .findings = all->findings,
                                 .threads = threads};
    bool made = check_not_partials(all, &to, error) && gt_collective_merge(&merge, error);
    for (size_t rank = 0; rank < all->files.count; rank++) gt_free(pages[rank]);
    gt_free_all(pages, command);
    gt_destinations_free(&to);
    return made;
}

static void free_sources(sources *all)
{
    for (size_t i = 0; i < all->count; i++) {
        gt_free_all(all->items[i].path, all->items[i].key, all->items[i].options, all->items[i].trace);
    }
    gt_free_all(all->items, all->folder, all->by_rank);
    gt_rank_files_free(&all->files);
}

static char *folder_of(const sources *all)
{
    if (all->folder) return gt_strdup(all->folder);
    char **paths = gt_alloc(all->count * sizeof *paths);
    for (size_t i = 0; i < all->count; i++) paths[i] = all->items[i].path;
    char *folder = gt_common_folder(paths, all->count);
    gt_free(paths);
    return folder;
}

gt_exit gt_cmd_merge(const gt_call *call)
{
    gt_error error = {""};
    gt_read_options read;
    sources all = {.call = call, .findings = !gt_arguments_flag(&call->arguments, "no_findings")};
    if (gt_arguments_flag(&call->arguments, "no_html") &&
        gt_arguments_string(&call->arguments, "output_html"))
        return gt_usage_error(call->program, "argument --no_html: not allowed with argument --output_html");
    if (!gt_common_apply(call, &read, &error)) return gt_usage_error(call->program, "%s", error.text);
    if (!gt_collective_check_sheets(&call->arguments, &error))
        return gt_usage_error(call->program, "%s", error.text);
    bool made = add_sources(&all, &error);
    if (made) gt_parallel_each(all.count, look_at, &all);
    made =
        made && accept_unusable(&all, &error) && check_same_run(&all, &error) && assign_ranks(&all, &error);
    if (made) all.files.common_folder = folder_of(&all);
    made = made && accept_missing(&all, &error) && write_report(&all, read.threads, &error);
    bool complete = !all.findings || (!all.unusable && !all.failed_loads);
    free_sources(&all);
    if (!made) fprintf(stderr, "gputally: %s\n", error.text);
    if (!made) gt_call_error_write(call, error.text, GT_EXIT_FAILED);
    return made && complete ? GT_EXIT_DONE : GT_EXIT_FAILED;
}
