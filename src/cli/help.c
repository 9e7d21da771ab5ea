/* Help texts: two columns, wrapped to the width. */
#include "cli/help.h"

#include <string.h>

enum { NAME_COLUMN = 2, NARROWEST = 50, WIDEST = 110 };

static size_t clamp_width(size_t width)
{
    return width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width;
}

/* Prints words from column `at` on, going to a new line, indented, before a word that would pass the width.
 */
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
    char letter = gt_syntax_short_option(syntax, option->name), behind[] = {',', ' ', '-', letter, 0};
    bool maybe = option->kind == GT_OPTION_MAYBE;
    const char *before = maybe ? "[=" : option->metavar ? " " : "";
    snprintf(out, size, "--%s%s%s%s%s", option->name, before, option->metavar ? option->metavar : "",
             maybe ? "]" : "", letter ? behind : "");
}

void gt_help_program(FILE *out, size_t width)
{
    width = clamp_width(width);
    fprintf(out, "gputally %s: performance reports from GPU profiler traces\n\n", GT_VERSION);
    fprintf(out, "Usage: gputally COMMAND [options]\n\nCommands:\n");
    size_t indent = 0;
    for (size_t i = 0; i < gt_command_count; i++)
        if (strlen(gt_commands[i].name) > indent) indent = strlen(gt_commands[i].name);
    indent += NAME_COLUMN + 2;
    for (size_t i = 0; i < gt_command_count; i++)
        print_row(out, gt_commands[i].name, gt_commands[i].summary, indent, width);
    fprintf(out, "\n  gputally report FILE      is all that most need\n"
                 "  gputally help COMMAND     describes a command and its options\n"
                 "  gputally --version        prints the version\n\n");
    print_wrapped(
        out,
        "Long options may be written with '_' or '-', as --option VALUE or --option=VALUE, and shortened as "
        "long as they stay unambiguous.",
        0, 0, width);
    fprintf(out,
            "Exit status: 0 done, 1 the input or the machine failed, 2 wrong usage, 3 a gate of compare was\n"
            "crossed or the command of run failed, 4 the context of run makes no sense.\n");
}

static void help_steps(FILE *out, size_t width, const gt_command *command, const char *program)
{
    const gt_command *steps = gt_command_steps(command);
    fprintf(out, "Usage: %s STEP [options]\n\n", program);
    print_wrapped(out, command->description, 0, 0, width);
    fprintf(out, "\nSteps, in their usual order:\n");
    size_t indent = 0;
    for (const gt_command *step = steps; step->name; step++)
        if (strlen(step->name) > indent) indent = strlen(step->name);
    indent += NAME_COLUMN + 2;
    for (const gt_command *step = steps; step->name; step++)
        print_row(out, step->name, step->summary, indent, width);
    fprintf(out, "\n  %s STEP --help    describes a step and its options\n", program);
}

void gt_help_command(FILE *out, size_t width, const gt_command *command, const char *program)
{
    width = clamp_width(width);
    if (gt_command_steps(command)) {
        help_steps(out, width, command, program);
        return;
    }
    const gt_syntax *syntax = command->syntax;
    fprintf(out, "Usage: %s [options] %s\n\n", program, syntax->files);
    print_wrapped(out, command->description, 0, 0, width);
    if (command->old_name && strcmp(command->old_name, program) != 0)
        fprintf(out, "\nStands in for %s.\n", command->old_name);
    size_t indent = width < 80 ? 24 : 38;
    for (size_t g = 0; g < GT_OPTION_GROUPS_MAX && syntax->groups[g]; g++) {
        const gt_option_group *group = syntax->groups[g];
        fprintf(out, "\n%s:\n", group->title);
        for (size_t i = 0; i < group->count; i++) {
            const gt_option *option = &group->options[i];
            char label[128], text[512];
            option_label(label, sizeof label, syntax, option);
            snprintf(text, sizeof text, "%s%s%s%s", option->help, option->initial ? " (default: " : "",
                     option->initial ? option->initial : "", option->initial ? ")" : "");
            print_row(out, label, text, indent, width);
        }
    }
}
