/* Conditions of options ("needs" in the tables) are short expressions, for example:
 *
 *     extra                             --extra is given
 *     output_md_path,write_md           one of them is given
 *     rocprof&!rocprof_input            --rocprof is given, and --rocprof_input is not
 *     phase_detection_method=union      the option has this value, given or by default
 *     $GEMM_SIMULATOR_PATH              the environment variable is set
 *
 * '&' joins conditions that must all be met; ',' joins alternatives of one condition. An option that the
 * command does not have is ignored, because groups of options are shared between commands. */
#include "cli/effects.h"

#include "os/paths.h"
#include "output/output.h"

#include <signal.h>

/* ---- options without an effect ---- */

typedef struct term {
    bool negated, is_variable;
    char name[64], value[64]; /* value "": any */
} term;

/* Reads the term at *at and moves to the separator after it. */
static term next_term(const char **at)
{
    term t = {0};
    size_t len = strcspn(*at, ",&");
    const char *begin = *at, *end = begin + len;
    t.negated = begin < end && *begin == '!';
    t.is_variable = begin < end && *begin == '$';
    begin += t.negated || t.is_variable;
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    snprintf(t.name, sizeof t.name, "%.*s", (int)((equals ? equals : end) - begin), begin);
    if (equals) snprintf(t.value, sizeof t.value, "%.*s", (int)(end - equals - 1), equals + 1);
    *at = end;
    return t;
}

static bool is_met(const gt_arguments *arguments, const term *t)
{
    if (t->is_variable) return getenv(t->name) != NULL;
    const gt_option_value *value = gt_arguments_value(arguments, t->name);
    bool met = t->value[0] ? value->text && strcmp(value->text, t->value) == 0 : value->given;
    return met != t->negated;
}

static void add_alternative(gt_buffer *out, const term *t)
{
    const char *before = out->len ? " or " : t->negated ? "with " : "without ";
    char *text = t->is_variable ? gt_format("%s$%s", before, t->name)
                                : gt_format("%s--%s%s%s", before, t->name, t->value[0] ? " " : "", t->value);
    gt_buffer_add_cstr(out, text);
    gt_free(text);
}

/* The first condition that is not met, in words: "without --extra"; nothing if all are met. `own` is an
 * option that does not need itself. */
static void find_unmet(const gt_arguments *arguments, const char *needs, const char *own, gt_buffer *unmet)
{
    for (const char *at = needs; at && *at && !unmet->len; at += *at == '&') {
        bool met = false, any = false;
        for (;; at++) {
            term t = next_term(&at);
            bool exists = t.is_variable || gt_syntax_option(arguments->syntax, t.name);
            any = any || exists;
            met = met || strcmp(t.name, own) == 0 || (exists && is_met(arguments, &t));
            if (exists) add_alternative(unmet, &t);
            if (*at != ',') break;
        }
        if (met || !any) unmet->len = 0;
    }
}

static void check_option(const gt_arguments *arguments, const gt_option_group *group, const gt_option *option)
{
    if (option->unused) {
        gt_warn("--%s has no effect: %s", option->name, option->unused);
        return;
    }
    gt_buffer unmet = {0};
    find_unmet(arguments, group->needs, option->name, &unmet);
    if (!unmet.len) find_unmet(arguments, option->needs, option->name, &unmet);
    if (unmet.len) gt_warn("--%s has no effect %s", option->name, gt_buffer_str(&unmet).bytes);
    gt_buffer_free(&unmet);
}

void gt_warn_without_effect(const gt_arguments *arguments)
{
    for (gt_option_walk at = {.syntax = arguments->syntax}; gt_option_next(&at);)
        if (arguments->values[at.index].given) check_option(arguments, at.group, at.option);
}

/* ---- endings of file names ---- */

static bool has_ending(const char *path, const char *ending)
{
    size_t len = strlen(path), end = strlen(ending);
    return len >= end && strcasecmp(path + len - end, ending) == 0;
}

static bool is_accepted(const char *path, const char *ending, bool by_old_name)
{
    if (has_ending(path, ending)) return true;
    return by_old_name && (has_ending(path, ".xlsm") || !strchr(gt_path_name(path), '.'));
}

static bool is_listed(const char *path, const char *endings)
{
    for (const char *at = endings; *at; at += *at == ',') {
        char ending[16];
        size_t len = strcspn(at, ",");
        snprintf(ending, sizeof ending, "%.*s", (int)len, at);
        if (has_ending(path, ending)) return true;
        at += len;
    }
    return false;
}

bool gt_check_endings(const gt_call *call, gt_error *error)
{
    for (gt_option_walk at = {.syntax = call->arguments.syntax}; gt_option_next(&at);) {
        const gt_option *option = at.option;
        const gt_option_value *value = &call->arguments.values[at.index];
        const char *path = value->text;
        if (!option->ending || !value->given || !path || !*path) continue;
        if (option->ending[0] != '!' && !is_accepted(path, option->ending, call->by_old_name))
            return gt_fail(error, "argument --%s: %.300s: the name must end in %s", option->name, path,
                           option->ending);
        if (option->ending[0] == '!' && is_listed(path, option->ending + 1))
            return gt_fail(error, "argument --%s: %.300s: not the name of an SQLite database; use .db",
                           option->name, path);
    }
    return true;
}

/* ---- names of outputs ---- */

/* output_json, out, summary_output, write_configs */
static bool is_output(const gt_option *option)
{
    return option->kind == GT_OPTION_STRING &&
           (strncmp(option->name, "out", strlen("out")) == 0 || has_ending(option->name, "_output") ||
            strncmp(option->name, "write_", strlen("write_")) == 0);
}

/* Whether the file may be standard output: text, of which there is one. */
static bool may_be_sent(const gt_syntax *syntax, const gt_option *option)
{
    if (strcmp(option->name, "output_csvs_dir") == 0) return gt_syntax_option(syntax, "csv_sheets");
    return strncmp(option->name, "output_json", strlen("output_json")) == 0 ||
           strncmp(option->name, "output_md", strlen("output_md")) == 0;
}

static bool is_sent(const gt_call *call, const gt_option_walk *at)
{
    const char *path = call->arguments.values[at->index].text;
    return path && strcmp(path, "-") == 0 && may_be_sent(at->syntax, at->option);
}

void gt_claim_standard_output(gt_call *call)
{
    bool any = false;
    if (call->by_old_name || call->arguments.help || call->arguments.version) return;
    for (gt_option_walk at = {.syntax = call->arguments.syntax}; gt_option_next(&at);)
        any = any || is_sent(call, &at);
    int own = any ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    if (own < 0) return;
    gt_output_send_to(own);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL); /* a reader that has seen enough is no failure */
    for (gt_option_walk at = {.syntax = call->arguments.syntax}; gt_option_next(&at);)
        if (strcmp(at.option->name, "quiet") == 0) call->arguments.values[at.index].given = true;
}

/* The folder of CSV files has one sheet then. */
static bool check_sent(const gt_call *call, const gt_option *option, const char **before, gt_error *error)
{
    const char *other = *before;
    *before = option->name;
    if (other)
        return gt_fail(error, "argument --%s: standard output is already taken by --%s", option->name, other);
    if (strcmp(option->name, "output_csvs_dir") != 0) return true;
    const gt_option_value *sheets = gt_arguments_value(&call->arguments, "csv_sheets");
    return sheets->text_count == 1 ||
           gt_fail(error, "argument --%s: standard output takes one sheet; name it with --csv_sheets",
                   option->name);
}

bool gt_check_outputs(const gt_call *call, gt_error *error)
{
    const char *sent = NULL;
    if (call->by_old_name) return true;
    for (gt_option_walk at = {.syntax = call->arguments.syntax}; gt_option_next(&at);) {
        const gt_option *option = at.option;
        const gt_option_value *value = &call->arguments.values[at.index];
        if (!is_output(option) || !value->given) continue;
        bool is_folder = strcmp(option->metavar, "DIR") == 0;
        const gt_syntax *syntax = call->arguments.syntax;
        bool is_file = call->arguments.file_count && syntax->file_option &&
                       strcmp(syntax->file_option, option->name) == 0; /* given as DIR, not by the option */
        if (!*value->text)
            return gt_fail(error, "%s%s needs %s", is_file ? "" : "--",
                           is_file ? syntax->files : option->name,
                           is_folder ? "the name of a folder" : "a file name");
        if (is_sent(call, &at)) {
            if (!check_sent(call, option, &sent, error)) return false;
        } else if (strcmp(value->text, "-") == 0) {
            return gt_fail(error, "argument --%s: must be a %s, not standard output", option->name,
                           is_folder ? "folder" : "file");
        }
    }
    return true;
}

/* ---- numbers ---- */

bool gt_check_minimums(const gt_call *call, gt_error *error)
{
    if (call->by_old_name) return true;
    for (gt_option_walk at = {.syntax = call->arguments.syntax}; gt_option_next(&at);) {
        const gt_option *option = at.option;
        const gt_option_value *value = &call->arguments.values[at.index];
        if (!option->minimum || !value->given || value->number >= atoll(option->minimum)) continue;
        return gt_fail(error, "argument --%s: must be at least %s, got %" PRId64, option->name,
                       option->minimum, value->number);
    }
    return true;
}
