/* Commands and options as sections of a man page, from the same tables as the help texts. A group of options
 * that several commands share is described once; the common options have their own section. */
#include "cli/help.h"
#include "cli/common.h"

#include <string.h>

static void print_text(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-' || *text == '\\') fputc('\\', out);
        fputc(*text == '\\' ? 'e' : *text, out);
    }
}

static void print_option(FILE *out, const gt_syntax *syntax, const gt_option *option)
{
    fputs(".TP\n.B", out);
    fputs(option->metavar ? "I \\-\\-" : " \\-\\-", out);
    print_text(out, option->name);
    char letter = gt_syntax_short_option(syntax, option->name);
    if (option->kind == GT_OPTION_MAYBE)
        fprintf(out, " \"[=%s]\"", option->metavar);
    else if (option->metavar)
        fprintf(out, " \" %s\"", option->metavar);
    if (letter) fprintf(out, option->metavar ? " \", \\-%c\"" : ", \\-%c", letter);
    fputc('\n', out);
    print_text(out, option->help);
    if (option->initial) {
        fputs(" (default: ", out);
        print_text(out, option->initial);
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

static void print_group(FILE *out, const gt_syntax *syntax, const gt_option_group *group)
{
    bool again = is_described(group);
    fputs(".PP\n", out);
    print_text(out, group->title);
    fputs(again ? ": as above.\n" : ":\n", out);
    for (size_t i = 0; i < group->count && !again; i++) print_option(out, syntax, &group->options[i]);
}

static void print_syntax(FILE *out, const gt_syntax *syntax)
{
    for (size_t i = 0; i < GT_MAIN_OPTIONS_MAX && syntax->main_options[i]; i++) {
        fputs(i ? ", \\-\\-" : ".PP\nMain options: \\-\\-", out);
        print_text(out, syntax->main_options[i]);
    }
    if (syntax->main_options[0]) fputs(".\n", out);
    for (size_t g = 0; g < GT_OPTION_GROUPS_MAX && syntax->groups[g]; g++)
        if (syntax->groups[g] != &gt_common_group) print_group(out, syntax, syntax->groups[g]);
}

static void print_command(FILE *out, const gt_command *command, const char *within)
{
    const gt_command *step = gt_command_steps(command);
    fprintf(out, ".SS \"gputally %s%s%s\" ", within, *within ? " " : "", command->name);
    fprintf(out, step ? "STEP [options]\n" : "[options] %s\n", step ? "" : command->syntax->files);
    print_text(out, command->description);
    fputc('\n', out);
    if (command->old_name) {
        fputs("Replaces\n.BR ", out);
        print_text(out, command->old_name);
        fputs(" .\n", out);
    }
    if (!step) print_syntax(out, command->syntax);
    for (; step && step->name; step++) print_command(out, step, command->name);
}

void gt_manual_print(FILE *out)
{
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; i < gt_command_count; i++) print_command(out, &gt_commands[i], "");
    fputs(".SH COMMON OPTIONS\n", out);
    for (size_t i = 0; i < gt_common_group.count; i++)
        print_option(out, gt_commands[0].syntax, &gt_common_group.options[i]);
}
