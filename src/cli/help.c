/* Help texts and the man page, from the table of commands and the tables of options.
 *
 * Help has two columns, wrapped to the width of the terminal. A command's help starts with its main options;
 * all others follow in their groups. In the man page, a group of options that several commands share is
 * described once, and the common options have their own section. */

#include "cli/common.h"

enum { NAME_COLUMN = 2, WIDTH_MIN = 50, WIDTH_MAX = 110 };

static size_t clamp_width(size_t width)
{
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

/* Prints a text from column `at` on and wraps it to `width`; further lines are indented. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent, size_t width)
{
    bool first = true;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (!first && at + 1 + len > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, len, out);
        at += len;
        text += len;
        text += strspn(text, " ");
        first = false;
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const char *name, const char *text, size_t indent, size_t width)
{
    size_t at = NAME_COLUMN + strlen(name);
    fprintf(out, "%*s%s", NAME_COLUMN, "", name);
    if (at + 2 > indent)
        fprintf(out, "\n%*s", (int)indent, "");
    else
        fprintf(out, "%*s", (int)(indent - at), "");
    print_wrapped(out, text, indent, indent, width);
}

/* "--output PATH, -o" */
static void option_label(char *out, size_t size, const gt_syntax *syntax, const gt_option *option)
{
    char letter = gt_syntax_short_option(syntax, option->name), suffix[] = {',', ' ', '-', letter, 0};
    bool maybe = option->kind == GT_OPTION_MAYBE;
    const char *before = maybe ? "[=" : option->metavar ? " " : "";
    snprintf(out, size, "--%s%s%s%s%s", option->name, before, option->metavar ? option->metavar : "",
             maybe ? "]" : "", letter ? suffix : "");
}

void gt_help_program(FILE *out, size_t width)
{
    width = clamp_width(width);
    fprintf(out, "gputally %s: performance reports from GPU profiler traces\n\n", GT_VERSION);
    fprintf(out, "Usage: gputally COMMAND [options]\n");
    size_t indent = 0;
    for (size_t i = 0; i < gt_command_count; i++)
        if (strlen(gt_commands[i].name) > indent) indent = strlen(gt_commands[i].name);
    indent += NAME_COLUMN + 2;
    for (size_t i = 0; i < gt_command_count; i++) {
        if (!i || strcmp(gt_commands[i].group, gt_commands[i - 1].group) != 0)
            fprintf(out, "\n%s:\n", gt_commands[i].group);
        print_row(out, gt_commands[i].name, gt_commands[i].summary, indent, width);
    }
    fprintf(out, "\n  gputally report FILE      most users need only this\n"
                 "  gputally help COMMAND     describe a command and its options\n"
                 "  gputally --version, -V    print the version; with --verbose also build, libraries, "
                 "instructions\n\n");
    print_wrapped(out,
                  "Options may be spelled with '_' or '-', as --option VALUE or --option=VALUE, and may be "
                  "abbreviated to an unambiguous prefix.",
                  0, 0, width);
    print_wrapped(out,
                  "Exit status: 0 success, 1 input or system error, 2 usage error, 3 a --fail_if condition "
                  "was met or the command of `run` failed, 4 invalid run context or, with --strict_trust, a "
                  "trace that cannot be trusted.",
                  0, 0, width);
}

static void help_steps(FILE *out, size_t width, const gt_command *command, const char *program)
{
    const gt_command *steps = gt_command_steps(command);
    fprintf(out, "Usage: %s STEP [options]\n\n", program);
    print_wrapped(out, command->description, 0, 0, width);
    fprintf(out, "\nSteps, in the usual order:\n");
    size_t indent = 0;
    for (const gt_command *step = steps; step->name; step++)
        if (strlen(step->name) > indent) indent = strlen(step->name);
    indent += NAME_COLUMN + 2;
    for (const gt_command *step = steps; step->name; step++)
        print_row(out, step->name, step->summary, indent, width);
    fprintf(out, "\n  %s STEP --help    describe a step and its options\n", program);
}

/* Whether the help line explains every value of a closed list. */
static bool explains_choices(const gt_option *option)
{
    const char *list = option->choices;
    if (!list || list[strlen(list) - 1] == '|') return true;
    for (const char *at = list; *at; at += *at == '|') {
        char value[64];
        size_t len = strcspn(at, "|");
        snprintf(value, sizeof value, "%.*s", (int)len, at);
        if (!strstr(option->help, value)) return false;
        at += len;
    }
    return true;
}

/* The help line, with the values that it does not explain: "...: path or pid". */
static void option_text(char *out, size_t size, const gt_option *option)
{
    snprintf(out, size, "%s", option->help);
    for (const char *at = option->choices; !explains_choices(option) && *at; at += *at == '|') {
        size_t len = strcspn(at, "|"), used = strlen(out);
        const char *before = at == option->choices ? ": " : at[len] ? ", " : " or ";
        snprintf(out + used, size - used, "%s%.*s", before, (int)len, at);
        at += len;
    }
}

static void print_option(FILE *out, const gt_syntax *syntax, const gt_option *option, size_t width)
{
    char label[128], text[640];
    option_label(label, sizeof label, syntax, option);
    option_text(text, sizeof text, option);
    size_t used = strlen(text);
    if (option->initial) snprintf(text + used, sizeof text - used, " (default: %s)", option->initial);
    print_row(out, label, text, width < 80 ? 24 : 38, width);
}

/* The options of a group that are not main options, with the title of the group. */
static void print_group(FILE *out, const gt_syntax *syntax, const gt_option_group *group, size_t width)
{
    bool any = false;
    for (size_t i = 0; i < group->count; i++) {
        if (group->options[i].unused || gt_syntax_is_main(syntax, &group->options[i])) continue;
        if (!any) fprintf(out, "\n%s:\n", group->title);
        any = true;
        print_option(out, syntax, &group->options[i], width);
    }
}

void gt_help_command(FILE *out, size_t width, const gt_command *command, const char *program)
{
    width = clamp_width(width);
    if (gt_command_steps(command)) {
        help_steps(out, width, command, program);
        return;
    }
    const gt_syntax *syntax = command->syntax;
    fprintf(out, "Usage: %s [options]%s%s\n\n", program, syntax->files[0] ? " " : "", syntax->files);
    print_wrapped(out, command->description, 0, 0, width);
    if (command->old_name && strcmp(command->old_name, program) != 0)
        fprintf(out, "\nReplaces %s.\n", command->old_name);
    if (syntax->main_options[0]) fprintf(out, "\nMain options:\n");
    for (size_t i = 0; i < GT_MAIN_OPTIONS_MAX && syntax->main_options[i]; i++)
        print_option(out, syntax, gt_syntax_option(syntax, syntax->main_options[i]), width);
    for (size_t g = 0; g < GT_OPTION_GROUPS_MAX && syntax->groups[g]; g++)
        print_group(out, syntax, syntax->groups[g], width);
}

/* ---- the man page, in roff ---- */

static void print_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-' || *text == '\\') fputc('\\', out);
        fputc(*text == '\\' ? 'e' : *text, out);
    }
}

static void print_manual_option(FILE *out, const gt_syntax *syntax, const gt_option *option)
{
    fputs(".TP\n.B", out);
    fputs(option->metavar ? "I \\-\\-" : " \\-\\-", out);
    print_roff(out, option->name);
    char letter = gt_syntax_short_option(syntax, option->name);
    if (option->kind == GT_OPTION_MAYBE)
        fprintf(out, " \"[=%s]\"", option->metavar);
    else if (option->metavar)
        fprintf(out, " \" %s\"", option->metavar);
    if (letter) fprintf(out, option->metavar ? " \", \\-%c\"" : ", \\-%c", letter);
    fputc('\n', out);
    char text[640];
    option_text(text, sizeof text, option);
    print_roff(out, text);
    if (option->initial) {
        fputs(" (default: ", out);
        print_roff(out, option->initial);
        fputc(')', out);
    }
    fputs(".\n", out);
}

enum { GROUPS_MAX = 256 };

/* Whether the group has been described before; marks it as described. */
static bool is_described(const gt_option_group *group)
{
    static const gt_option_group *described[GROUPS_MAX];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (described[i] == group) return true;
    if (count < GROUPS_MAX) described[count++] = group;
    return false;
}

static void print_manual_group(FILE *out, const gt_syntax *syntax, const gt_option_group *group)
{
    bool again = is_described(group), any = false;
    for (size_t i = 0; i < group->count; i++) any = any || !group->options[i].unused;
    if (!any) return;
    fputs(".PP\n", out);
    print_roff(out, group->title);
    fputs(again ? ": as above.\n" : ":\n", out);
    for (size_t i = 0; i < group->count && !again; i++)
        if (!group->options[i].unused) print_manual_option(out, syntax, &group->options[i]);
}

static void print_manual_options(FILE *out, const gt_syntax *syntax)
{
    for (size_t i = 0; i < GT_MAIN_OPTIONS_MAX && syntax->main_options[i]; i++) {
        fputs(i ? ", \\-\\-" : ".PP\nMain options: \\-\\-", out);
        print_roff(out, syntax->main_options[i]);
    }
    if (syntax->main_options[0]) fputs(".\n", out);
    for (size_t g = 0; g < GT_OPTION_GROUPS_MAX && syntax->groups[g]; g++)
        if (syntax->groups[g] != &gt_common_group) print_manual_group(out, syntax, syntax->groups[g]);
}

static void print_manual_command(FILE *out, const gt_command *command, const char *within)
{
    const gt_command *step = gt_command_steps(command);
    fprintf(out, ".SS \"gputally %s%s%s\" ", within, *within ? " " : "", command->name);
    const char *files = step ? "" : command->syntax->files;
    fprintf(out, "%s[options]%s%s\n", step ? "STEP " : "", files[0] ? " " : "", files);
    print_roff(out, command->description);
    fputc('\n', out);
    if (command->old_name) {
        fputs("Replaces\n.BR ", out);
        print_roff(out, command->old_name);
        fputs(" .\n", out);
    }
    if (!step) print_manual_options(out, command->syntax);
    for (; step && step->name; step++) print_manual_command(out, step, command->name);
}

void gt_manual_print(FILE *out)
{
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; i < gt_command_count; i++) print_manual_command(out, &gt_commands[i], "");
    fputs(".SH COMMON OPTIONS\n", out);
    for (size_t i = 0; i < gt_common_group.count; i++)
        print_manual_option(out, gt_commands[0].syntax, &gt_common_group.options[i]);
}
