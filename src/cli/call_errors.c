/* Errors of a call before any trace is read: options that make no sense, a folder without traces.
 *
 * They are printed. A call that asks for the JSON of a report also gets them there, so that a script finds
 * the reason where it looks for the result. */

#include "cli/common.h"
#include "cli/inputs/inputs.h"
#include "os/own.h"
#include "procs/procs.h"
#include "os/paths.h"
#include "report/report.h"

static gt_error usage; /* the last usage error */

gt_exit gt_usage_error(const char *program, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(usage.text, sizeof usage.text, format, args);
    va_end(args);
    va_start(args, format);
    fprintf(stderr, "%s: error: ", program);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nTry '%s --help'.\n", program);
    va_end(args);
    return GT_EXIT_USAGE;
}

static void write_document(const gt_answers *answers, const char *path)
{
    gt_error ignored;
    gt_output *output = gt_output_new();
    if (gt_answers_write_json(answers, output, path, &ignored)) gt_output_commit(output, &ignored);
    gt_output_free(output);
}

void gt_error_write(const char *path, const char *trace, const char *message, gt_exit exit)
{
    gt_error ignored;
    const gt_table_list none = {0};
    const gt_answers answers = {
        .trace = gt_trace_title(trace), .tables = &none, .error = message, .exit = (int)exit};
    if (!path || !gt_procs_is_first()) return;
    if (gt_check_not_input(path, trace, &ignored)) write_document(&answers, path);
}

/* ---- calls ---- */

/* A FILE of the call. */
typedef struct named_file {
    const char *path; /* "": the call names none */
    size_t traces;
    bool is_of_traces; /* a folder with several PyTorch traces */
} named_file;

/* How many traces there are decides whether the option is a file or a folder. Messages about them are of no
 * interest after an error of the call. */
static named_file look_at(const char *path)
{
    named_file file = {.path = path, .traces = 1};
    if (!gt_path_is_folder(path)) return file;
    gt_error ignored;
    gt_log_record messages = {0}, *before = gt_log_keep(&messages);
    gt_profile_list profiles = {0};
    gt_trace_folder found = {0};
    bool has_profiles = gt_report_find_traces(&profiles, path, &ignored);
    if (has_profiles)
        file.traces = profiles.count;
    else
        gt_trace_folder_find(&found, path, true);
    if (found.count + found.unreadable_count > 1) {
        file.traces = found.count + found.unreadable_count;
        file.is_of_traces = true;
    }
    gt_trace_folder_free(&found);
    gt_profiles_free(&profiles);
    gt_log_keep(before);
    gt_log_forget(&messages);
    return file;
}

/* Several traces of one folder have one file: the reason is the same. */
static char *label_of(const named_file *file, size_t folders)
{
    if (file->is_of_traces) return gt_all_ranks_label(file->path, folders > 1);
    return *file->path && file->traces == 1 ? NULL : gt_strdup("error");
}

static void write_for_files(const gt_call *call, const named_file *files, size_t count, const char *message,
                            gt_exit exit)
{
    size_t traces = 0, folders = 0;
    if (strcmp(gt_arguments_string(&call->arguments, call->arguments.syntax->error_option), "-") == 0) {
        gt_error_write("-", files[0].path, message, exit);
        return;
    }
    for (size_t i = 0; i < count; i++) traces += files[i].traces;
    for (size_t i = 0; i < count; i++) folders += files[i].is_of_traces;
    for (size_t i = 0; i < count; i++) {
        char *label = label_of(&files[i], folders);
        char *path = gt_answers_path(call, call->arguments.syntax->error_option, files[i].path, label, traces,
                                     ".findings.json");
        gt_error_write(path, files[i].path, message, exit);
        gt_free_all(path, label);
    }
}

/* Whether nothing is lost if the file is written: it does not exist, or an earlier call wrote it. */
static bool may_replace(const char *path)
{
    static const char begin[] = "{\n  \"schema\": \"gputally-";
    char found[sizeof begin];
    FILE *file = gt_output_is_sent(path) ? NULL : gt_fopen(path, "re");
    if (!file) return true;
    bool is_own = fread(found, sizeof begin - 1, 1, file) == 1 && memcmp(found, begin, sizeof begin - 1) == 0;
    fclose(file);
    return is_own;
}

/* Of all files together; never instead of one of them, nor of one that is in a folder of them, nor of a trace
 * that an option names. */
static void write_one(const gt_call *call, const char *message, gt_exit exit)
{
    const gt_arguments *arguments = &call->arguments;
    const char *path = gt_arguments_string(arguments, arguments->syntax->error_option);
    const char *ending = path ? strrchr(path, '.') : NULL;
    gt_error ignored;
    if (ending && arguments->syntax->file_endings && strcmp(ending + 1, arguments->syntax->file_endings) == 0)
        return;
    if (path && !arguments->syntax->files_max && !may_replace(path)) return;
    for (size_t i = 0; path && i < arguments->file_count; i++)
        if (!gt_check_not_input(path, arguments->files[i], &ignored)) return;
    gt_error_write(path, arguments->file_count ? arguments->files[0] : "", message, exit);
}

void gt_call_error_write(const gt_call *call, const char *message, gt_exit exit)
{
    const gt_arguments *arguments = &call->arguments;
    const char *option = arguments->syntax->error_option;
    if (!option || !gt_arguments_string(arguments, option) || !gt_procs_is_first()) return;
    if (arguments->syntax->one_report) {
        write_one(call, message, exit);
        return;
    }
    /* An argument that does not exist may belong to an unknown option. */
    named_file *files = gt_alloc((arguments->file_count + 1) * sizeof *files);
    size_t count = 0;
    for (size_t i = 0; i < arguments->file_count; i++)
        if (access(arguments->files[i], F_OK) == 0) files[count++] = look_at(arguments->files[i]);
    if (!count)
        files[count++] = (named_file){.path = arguments->file_count ? arguments->files[0] : "", .traces = 1};
    write_for_files(call, files, count, message, exit);
    gt_free(files);
}

void gt_usage_error_write(const gt_call *call)
{
    gt_call_error_write(call, usage.text, GT_EXIT_USAGE);
}
