/* The trace of each rank: three ways to find the files, the options that choose between them, and the
 * messages about missing files. */
#include "cli/inputs/inputs.h"

#include "os/own.h"
#include "os/paths.h"

/* ---- --rank_regex: the group with the rank, and its digits ---- */

/* "argument --rank_regex: 'rank(': missing ), unterminated subpattern at position 4" */
static bool fail_regex(const gt_rank_regex *regex, const gt_error *why, gt_error *error)
{
    return gt_fail(error, "argument --%s: '%.200s': %.200s", regex->option, regex->text, why->text);
}

bool gt_rank_regex_compile(gt_rank_regex *regex, const char *python, const char *option, gt_error *error)
{
    gt_error why;
    *regex = (gt_rank_regex){.option = option, .text = python ? python : ""};
    if (!gt_python_regex_compile(&regex->python, regex->text, &why)) return fail_regex(regex, &why, error);
    regex->group = gt_python_regex_group(&regex->python, "rank");
    if (!regex->group) regex->group = 1;
    if (regex->python.group_count) return true;
    gt_python_regex_free(&regex->python);
    gt_fail(&why, "no group for the rank number");
    return fail_regex(regex, &why, error);
}

void gt_rank_regex_free(gt_rank_regex *regex)
{
    gt_python_regex_free(&regex->python);
}

/* ASCII digits, like Python's int(); -1 for anything else. */
static int64_t number_of(gt_str digits)
{
    int64_t number = digits.len ? 0 : -1;
    for (size_t i = 0; i < digits.len && number >= 0; i++)
        number =
            gt_is_digit(digits.bytes[i]) && number < INT32_MAX ? number * 10 + (digits.bytes[i] - '0') : -1;
    return number;
}

bool gt_rank_regex_find(const gt_rank_regex *regex, const char *text, int64_t *rank, gt_error *error)
{
    gt_python_match match = {0};
    gt_error why;
    bool searched = gt_python_regex_search(&regex->python, (gt_str){text, strlen(text)}, &match, &why);
    *rank = searched && match.found ? number_of(match.groups[regex->group]) : -1;
    gt_python_match_free(&match);
    return searched || fail_regex(regex, &why, error);
}

/* Whether there is a trace: opening a pipe would wait for whoever writes to it. */
static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && gt_path_may_open(path);
}

static void set_count(gt_rank_files *files, size_t count)
{
    gt_free(files->paths);
    files->count = count;
    files->paths = gt_alloc_zero(count, sizeof *files->paths);
}

/* ---- the common folder ---- */

/* Like Python's os.path.abspath, except for "." and "..". */
static char *absolute(const char *path)
{
    if (path[0] == '/') return gt_strdup(path);
    char *here = getcwd(NULL, 0);
    char *whole = gt_format("%s/%s", here ? here : "", path);
    gt_free(here);
    return whole;
}

/* Cuts `common` to the leading names that both paths share. */
static void cut_to_common(char *common, const char *path)
{
    size_t whole = 0;
    for (size_t i = 0;; i++) {
        bool ends = !common[i] || common[i] == '/', other_ends = !path[i] || path[i] == '/';
        if (ends && other_ends) whole = i;
        if (common[i] != path[i] || !common[i]) break;
    }
    common[whole] = 0;
}

char *gt_common_folder(char *const *paths, size_t count)
{
    char *common = NULL;
    for (size_t i = 0; i < count; i++) {
        char *path = absolute(paths[i]);
        if (common) {
            cut_to_common(common, path);
            gt_free(path);
        } else {
            common = path;
        }
    }
    struct stat status;
    char *slash = common ? strrchr(common, '/') : NULL;
    if (slash && stat(common, &status) == 0 && !S_ISDIR(status.st_mode)) *slash = 0;
    if (common && !*common) strcpy(common, "/"); /* an absolute path has room for it */
    return common ? common : gt_strdup(".");
}

/* ---- folder and pattern ---- */

static const char *const endings[] = {"", ".gz", ".zst"};

/* The file with this name or, if the folder has it compressed, the compressed one. */
static char *in_folder(const char *folder, size_t rank)
{
    for (size_t i = 0; i < GT_LENGTH(endings); i++) {
        char *path = gt_format("%s/rank%zu_trace.json%s", folder, rank, endings[i]);
        if (exists(path)) return path;
        gt_free(path);
    }
    return gt_format("%s/rank%zu_trace.json", folder, rank);
}

/* Warns about the other files of a rank: all but the one that in_folder chose. */
static void warn_of_seconds(const char *folder, size_t rank, const char *taken)
{
    for (size_t i = 1; i < GT_LENGTH(endings); i++) {
        char *path = gt_format("%s/rank%zu_trace.json%s", folder, rank, endings[i]);
        if (strcmp(path, taken) != 0 && exists(path)) gt_trace_warn_second(path, gt_path_name(taken));
        gt_free(path);
    }
}

static char *by_pattern(const char *pattern, size_t rank)
{
    const char *star = strchr(pattern, '*');
    return gt_format("%.*s%zu%s", (int)(star - pattern), pattern, rank, star + 1);
}

static char *expected_path(const gt_rank_search *search, size_t rank)
{
    return search->folder ? in_folder(search->folder, rank) : by_pattern(search->pattern, rank);
}

/* The rank of a name that consists of the prefix, a number as gt_format prints it, and something that begins
 * with the suffix; -1 otherwise. */
static int64_t rank_of_name(const char *name, gt_str prefix, gt_str suffix)
{
    if (strncmp(name, prefix.bytes, prefix.len) != 0) return -1;
    const char *digits = name + prefix.len;
    size_t count = strspn(digits, "0123456789");
    if (strncmp(digits + count, suffix.bytes, suffix.len) != 0 || (digits[0] == '0' && count > 1)) return -1;
    int64_t rank = number_of((gt_str){digits, count});
    return rank < GT_RANKS_MAX ? rank : -1;
}

/* One more than the largest rank with a file. A rank without one below it is missing: a count that stopped
 * there would drop the others silently. */
static size_t count_by_name(const gt_rank_search *search)
{
    const char *pattern = search->folder ? "rank*_trace.json" : search->pattern;
    const char *star = strchr(pattern, '*'), *name = star;
    while (name > pattern && name[-1] != '/') name--;
    char *folder = search->folder    ? gt_strdup(search->folder)
                   : name == pattern ? gt_strdup(".")
                                     : gt_format("%.*s", (int)(name - pattern), pattern);
    gt_str prefix = {name, (size_t)(star - name)}, suffix = {star + 1, strcspn(star + 1, "/")};
    DIR *dir = gt_opendir(folder);
    struct dirent *entry;
    int64_t count = 1; /* without any file, so that the message names the missing rank 0 */
    while (dir && (entry = readdir(dir))) {
        int64_t rank = rank_of_name(entry->d_name, prefix, suffix);
        if (rank < count) continue;
        char *path = expected_path(search, (size_t)rank);
        if (exists(path)) count = rank + 1;
        gt_free(path);
    }
    if (dir) closedir(dir);
    gt_free(folder);
    return (size_t)count;
}

/* Files of ranks that --world_size excludes. */
static void warn_of_unread(const gt_rank_search *search, size_t begin, size_t end)
{
    enum { RANKS_SHOWN = 20 };
    gt_buffer ranks = {0};
    size_t count = 0;
    for (size_t rank = begin; rank < end; rank++) {
        char *path = expected_path(search, rank);
        char *number = gt_format("%s%zu", ranks.len ? ", " : "", rank);
        if (exists(path) && count++ < RANKS_SHOWN) gt_buffer_add_cstr(&ranks, number);
        gt_free_all(number, path);
    }
    gt_warn("--world_size %zu: the trace%s of rank%s %s%s %s not read", begin, count > 1 ? "s" : "",
            count > 1 ? "s" : "", gt_buffer_str(&ranks).bytes, count > RANKS_SHOWN ? ", ..." : "",
            count > 1 ? "are" : "is");
    gt_buffer_free(&ranks);
}

static bool find_by_name(gt_rank_files *files, const gt_rank_search *search, gt_error *error)
{
    const char *star = search->pattern ? strchr(search->pattern, '*') : NULL;
    if (search->pattern && (!star || strchr(star + 1, '*')))
        return gt_fail(error,
                       "trace_pattern must contain exactly one '*' character as a placeholder for rank id");
    size_t named = count_by_name(search);
    if (!search->world_size) set_count(files, named);
    if (named > files->count) warn_of_unread(search, files->count, named);
    enum { MISSING_NAMED = 3 };
    size_t missing = 0, last = 0;
    for (size_t rank = 0; rank < files->count; rank++) {
        char *path = expected_path(search, rank);
        if (exists(path)) {
            files->paths[rank] = path;
            if (search->folder) warn_of_seconds(search->folder, rank, path);
            continue;
        }
        last = rank;
        if (!search->allow_missing)
            gt_fail(error, "Expected trace file not found: %s", path);
        else if (missing++ < MISSING_NAMED)
            gt_warn("rank %zu: %s: file not found", rank, path);
        gt_free(path);
        if (!search->allow_missing) return false;
    }
    if (missing > MISSING_NAMED)
        gt_warn("%zu more %s no trace file; the last one is rank %zu", missing - MISSING_NAMED,
                gt_noun(missing - MISSING_NAMED, "rank has", "ranks have"), last);
    if (search->folder) {
        files->common_folder = gt_strdup(search->folder);
    } else {
        char *two[] = {by_pattern(search->pattern, 0), by_pattern(search->pattern, 1)};
        files->common_folder = gt_common_folder(two, 2);
        gt_free_all(two[0], two[1]);
    }
    return true;
}

/* ---- glob ---- */

/* The rank of each path; -1 if the path has none. */
static bool find_ranks(const gt_path_list *paths, const gt_rank_regex *regex, int64_t *ranks, gt_error *error)
{
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i];
        if (!gt_rank_regex_find(regex, gt_path_name(path), &ranks[i], error)) return false;
        if (ranks[i] < 0 && !gt_rank_regex_find(regex, path, &ranks[i], error)) return false;
    }
    return true;
}

static size_t count_by_glob(const int64_t *ranks, size_t path_count)
{
    int64_t count = 1;
    for (size_t i = 0; i < path_count; i++)
        if (ranks[i] >= count && ranks[i] < GT_RANKS_MAX) count = ranks[i] + 1;
    return (size_t)count;
}

/* Assigns each path to its rank. Returns the number of paths that have a rank. */
static size_t assign_ranks(gt_rank_files *files, const gt_path_list *paths, const int64_t *ranks)
{
    size_t with_rank = 0, beyond = 0;
    for (size_t i = 0; i < paths->count; i++) {
        int64_t rank = ranks[i];
        with_rank += rank >= 0;
        if (rank < 0) continue;
        if ((uint64_t)rank >= files->count)
            beyond++;
        else if (files->paths[rank])
            gt_warn("rank %lld: using %s, ignoring %s", (long long)rank, files->paths[rank], paths->items[i]);
        else
            files->paths[rank] = gt_strdup(paths->items[i]);
    }
    if (beyond) gt_warn("ignoring %zu files of ranks %zu and above", beyond, files->count);
    return with_rank;
}

static void list_missing(gt_buffer *out, const gt_rank_files *files)
{
    for (size_t rank = 0; rank < files->count; rank++) {
        if (files->paths[rank]) continue;
        char *number = gt_format("%s%zu", out->len ? ", " : "", rank);
        gt_buffer_add_cstr(out, number);
        gt_free(number);
    }
}

static bool check_missing(const gt_rank_files *files, bool allowed, gt_error *error)
{
    gt_buffer missing = {0};
    list_missing(&missing, files);
    const char *ranks = gt_buffer_str(&missing).bytes;
    bool complete = !missing.len;
    if (!complete && allowed)
        gt_warn("no trace for %s %.300s%s", strchr(ranks, ',') ? "ranks" : "rank", ranks,
                missing.len > 300 ? "..." : "");
    if (!complete && !allowed)
        gt_fail(error,
                "Missing ranks after glob resolution: [%.300s%s]. NcclAnalyser requires a complete rank set "
                "(0..%zu) for correct results.",
                ranks, missing.len > 300 ? "..." : "", files->count - 1);
    gt_buffer_free(&missing);
    return complete || allowed;
}

static bool find_by_glob(gt_rank_files *files, const gt_rank_search *search, gt_error *error)
{
    gt_rank_regex regex;
    if (!gt_rank_regex_compile(&regex, search->rank_regex, "rank_regex", error)) return false;
    gt_path_list paths = gt_path_pattern_find(search->glob);
    int64_t *ranks = gt_alloc_zero(paths.count, sizeof *ranks);
    bool found = paths.count || gt_fail(error, "No files matched --trace_glob: %s", search->glob);
    found = found && find_ranks(&paths, &regex, ranks, error);
    if (!search->world_size) set_count(files, count_by_glob(ranks, paths.count));
    if (found && !assign_ranks(files, &paths, ranks))
        found = gt_fail(error, "--trace_glob matched %zu file(s), but none matched --rank_regex '%.300s'",
                        paths.count, search->rank_regex);
    found = found && check_missing(files, search->allow_missing, error);
    if (found) files->common_folder = gt_common_folder(paths.items, paths.count);
    gt_path_list_free(&paths);
    gt_free(ranks);
    gt_rank_regex_free(&regex);
    return found;
}

bool gt_rank_files_find(gt_rank_files *files, const gt_rank_search *search, gt_error *error)
{
    *files = (gt_rank_files){0};
    set_count(files, search->world_size);
    bool found = search->glob ? find_by_glob(files, search, error) : find_by_name(files, search, error);
    if (!found) gt_rank_files_free(files);
    return found;
}

void gt_rank_files_free(gt_rank_files *files)
{
    for (size_t i = 0; i < files->count; i++) gt_free(files->paths[i]);
    gt_free_all(files->paths, files->common_folder);
    *files = (gt_rank_files){0};
}

void gt_rank_files_warn_missing(const gt_rank_files *files, const char *where, size_t world_size)
{
    enum { RANKS_SHOWN = 20 };
    size_t ran = files->count > world_size ? files->count : world_size, missing = 0;
    gt_buffer list = {0};
    for (size_t rank = 0; rank < ran; rank++) {
        if ((rank < files->count && files->paths[rank]) || missing++ >= RANKS_SHOWN) continue;
        char *number = gt_format("%s%zu", list.len ? ", " : "", rank);
        gt_buffer_add_cstr(&list, number);
        gt_free(number);
    }
    const char *ranks = gt_buffer_str(&list).bytes, *more = missing > RANKS_SHOWN ? ", ..." : "";
    if (missing && world_size)
        gt_warn(
            "%s: %zu ranks ran, traces of %zu: %s %s%s %s missing; waiting for %s is not counted as waiting",
            where, ran, ran - missing, missing > 1 ? "ranks" : "rank", ranks, more,
            missing > 1 ? "are" : "is", missing > 1 ? "them" : "it");
    else if (missing)
        gt_warn("%s: no trace for %s %s%s", where, missing > 1 ? "ranks" : "rank", ranks, more);
    gt_buffer_free(&list);
}

/* ---- options ---- */

gt_exit gt_rank_options_check(const gt_call *call, const char *none_given)
{
    static const char *const ways[] = {"trace_dir", "trace_pattern", "trace_glob"};
    const gt_arguments *arguments = &call->arguments;
    const char *given = NULL;
    for (size_t i = 0; i < GT_LENGTH(ways); i++) {
        if (!gt_arguments_value(arguments, ways[i])->given) continue;
        if (given || arguments->file_count)
            return gt_usage_error(call->program, "argument --%s: not allowed with %s%s", ways[i],
                                  given ? "argument --" : "FILE arguments", given ? given : "");
        given = ways[i];
    }
    if (given || arguments->file_count) return GT_EXIT_DONE;
    return gt_usage_error(call->program, "%s", none_given);
}

gt_rank_search gt_rank_options_read(const gt_arguments *arguments)
{
    return (gt_rank_search){
        .folder = gt_arguments_value(arguments, "trace_dir")->text,
        .pattern = gt_arguments_value(arguments, "trace_pattern")->text,
        .glob = gt_arguments_value(arguments, "trace_glob")->text,
        .rank_regex = gt_arguments_value(arguments, "rank_regex")->text,
        .world_size = (size_t)gt_arguments_value(arguments, "world_size")->number,
        .allow_missing = gt_arguments_flag(arguments, "allow_missing_ranks"),
    };
}
