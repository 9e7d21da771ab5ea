/* The command line as a report shows it (gt_call_describe), and as what results depend on (gt_call_key). */
#include "cli/command.h"

#include "os/paths.h"
#include "os/shell_words.h"
#include "report/report.h"

/* Whether the option changes the report, not only how it is made or written. */
static bool changes_report(const gt_option *option)
{
    static const char *const others[] = {"threads",     "max_memory",  "csv_safe",
                                         "no_csv_safe", "python_path", "extension_timeout"};
    static const char *const of_compare[] = {"names", "sheets", "fail_if"};
    for (size_t i = 0; i < GT_LENGTH(of_compare); i++)
        if (strcmp(option->name, of_compare[i]) == 0) return true;
    if (option->unused || !gt_report_option_exists(option->name)) return false;
    for (size_t i = 0; i < GT_LENGTH(others); i++)
        if (strcmp(option->name, others[i]) == 0) return false;
    return true;
}

static void add_value(gt_buffer *line, const gt_option *option, const char *value)
{
    bool is_path = option->metavar && (strstr(option->metavar, "PATH") || strstr(option->metavar, "FILE"));
    gt_buffer_add_cstr(line, " ");
    gt_shell_quote(line, is_path ? gt_path_name(value) : value);
}

static void add_option(gt_buffer *line, const gt_option *option, const gt_option_value *value)
{
    gt_buffer_add_format(line, " --%s", option->name);
    for (size_t i = 0; i < value->text_count; i++) add_value(line, option, value->texts[i]);
    if (!value->text_count && option->kind != GT_OPTION_FLAG && value->text)
        add_value(line, option, value->text);
}

/* The name of the trace, also if only its index is there. */
static void add_trace(gt_buffer *line, const char *path)
{
    const char *name = gt_path_name(path);
    size_t len = strlen(name), suffix = strlen(GT_INDEX_SUFFIX);
    if (len > suffix && strcmp(name + len - suffix, GT_INDEX_SUFFIX) == 0) len -= suffix;
    char *trace = gt_format("%.*s", (int)len, name);
    gt_buffer_add_cstr(line, " ");
    gt_shell_quote(line, trace);
    gt_free(trace);
}

char *gt_call_describe(const gt_call *call, const char *trace_path)
{
    gt_buffer line = {0};
    gt_buffer_add_cstr(&line, call->program);
    if (trace_path) add_trace(&line, trace_path);
    for (size_t i = 0; !trace_path && i < call->arguments.file_count; i++)
        add_trace(&line, call->arguments.files[i]);
    for (gt_option_walk at = {.syntax = call->arguments.syntax}; gt_option_next(&at);) {
        const gt_option_value *value = &call->arguments.values[at.index];
        if (value->given && changes_report(at.option)) add_option(&line, at.option, value);
    }
    return gt_buffer_take(&line);
}

/* ---- what results depend on ---- */

/* Options that change neither a result nor where it is written. */
static bool changes_nothing(const char *name)
{
    static const char *const names[] = {"threads", "max_memory", "no_progress", "partials"};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* A file that an option names may have other contents next time. Outputs are not inputs. */
static void add_file_facts(gt_buffer *key, const char *option, const char *path)
{
    struct stat status;
    if (strncmp(option, "output", strlen("output")) == 0 || stat(path, &status) != 0 ||
        !S_ISREG(status.st_mode))
        return;
    gt_buffer_add_format(key, " (%lld %lld.%09ld)", (long long)status.st_size,
                         (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

static void add_key_value(gt_buffer *key, const gt_option *option, const char *value)
{
    gt_buffer_add_cstr(key, " ");
    gt_shell_quote(key, value);
    add_file_facts(key, option->name, value);
}

char *gt_call_key(const gt_call *call)
{
    gt_buffer key = {0};
    char *folder = getcwd(NULL, 0);
    gt_buffer_add_cstr(&key, call->program);
    for (gt_option_walk at = {.syntax = call->arguments.syntax}; gt_option_next(&at);) {
        const gt_option_value *value = &call->arguments.values[at.index];
        if (!value->given || at.option->unused || changes_nothing(at.option->name)) continue;
        gt_buffer_add_format(&key, " --%s", at.option->name);
        for (size_t i = 0; i < value->text_count; i++) add_key_value(&key, at.option, value->texts[i]);
        if (!value->text_count && at.option->kind != GT_OPTION_FLAG && value->text)
            add_key_value(&key, at.option, value->text);
    }
    gt_buffer_add_format(&key, " in %s", folder ? folder : "?");
    free(folder);
    return gt_buffer_take(&key);
}
