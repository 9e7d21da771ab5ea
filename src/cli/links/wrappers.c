/* What is in a wrapper?
 *
 * A wrapper replaces itself with the program (exec), so that signals, exit status and standard streams are
 * the program's own. It starts the program at the path that `gputally links` recorded, or else the `gputally`
 * of PATH, for wrappers that were copied to another machine. Each works alone, because people copy single
 * scripts. Python wrappers need Python 3.6 and nothing else; shell wrappers need a POSIX shell and no other
 * program.
 *
 * Who starts a wrapper of a sweep step is told on a terminal what it is. The program itself says so if it is
 * started by an old name (cli/main.c). */
#include "cli/links/links.h"
#include "cli/command.h"
#include "os/paths.h"
#include "sweep/run/run.h"

static const char REMARK[] =
    GT_LINKS_MARK ", which replaces it when it runs again; `gputally links --remove` removes it.\n";

/* Whether the old name is what the program is called by, not arguments for it. */
static bool is_program_name(const char *starts)
{
    return !strchr(starts, ' ') && !gt_command_find(starts);
}

void gt_python_bytes(gt_buffer *text, const char *bytes)
{
    gt_buffer_add_cstr(text, "b\"");
    for (; *bytes; bytes++) {
        unsigned char c = (unsigned char)*bytes;
        if (c == '"' || c == '\\' || c < ' ' || c > '~')
            gt_buffer_add_format(text, "\\x%02x", c);
        else
            gt_buffer_add(text, bytes, 1);
    }
    gt_buffer_add_cstr(text, "\"");
}

/* "../.." for a path two folders deep; "." for one at the top. */
static void add_way_up(gt_buffer *text, const char *path)
{
    size_t depth = 0;
    for (; (path = strchr(path, '/')); path++) gt_buffer_add_cstr(text, depth++ ? "/.." : "..");
    if (!depth) gt_buffer_add_cstr(text, ".");
}

/* ["gputally", "sweep", "top"] */
static void add_python_arguments(gt_buffer *text, const char *starts)
{
    gt_buffer_add_cstr(text, "[\"");
    if (!is_program_name(starts)) gt_buffer_add_cstr(text, "gputally\", \"");
    for (; *starts; starts++) {
        if (*starts == ' ')
            gt_buffer_add_cstr(text, "\", \"");
        else
            gt_buffer_add(text, starts, 1);
    }
    gt_buffer_add_cstr(text, "\"]");
}

static void add_python(gt_buffer *text, const gt_old_name *name, const char *program)
{
    const char *file = gt_path_name(name->path);
    gt_buffer_add_format(text, "#!/usr/bin/env python3\n# %s", REMARK);
    gt_buffer_add_cstr(text, "import os\nimport signal\nimport sys\n\n"
                             "HERE = os.path.dirname(os.path.abspath(os.fsencode(__file__)))\n"
                             "PROGRAM = os.path.join(HERE, b\"");
    add_way_up(text, name->path);
    gt_buffer_add_cstr(text, "\", ");
    gt_python_bytes(text, program);
    gt_buffer_add_cstr(text, ")\nARGUMENTS = ");
    add_python_arguments(text, name->starts);
    gt_buffer_add_cstr(text, "\n\n\ndef main():\n    arguments = ARGUMENTS + sys.argv[1:]\n");
    if (!is_program_name(name->starts))
        gt_buffer_add_format(
            text,
            "    quiet = any(word == \"-q\" or len(word) > 2 and \"--quiet\".startswith(word) for word in "
            "arguments)\n"
            "    if sys.stderr and sys.stderr.isatty() and not quiet:\n"
            "        print(\"%s: this is gputally %s\", file=sys.stderr, flush=True)\n",
            file, name->starts);
    gt_buffer_add_format(
        text,
        "    for number in signal.SIGPIPE, signal.SIGXFSZ:  # ignored by Python, not by gputally\n"
        "        signal.signal(number, signal.SIG_DFL)\n"
        "    try:\n"
        "        os.execv(PROGRAM, arguments)\n"
        "    except OSError as problem:\n"
        "        reason = problem.strerror\n"
        "    try:\n"
        "        os.execvp(\"gputally\", arguments)\n"
        "    except OSError:\n"
        "        print(\"%s: cannot start {!a}: {}, and there is no gputally in PATH; run \"\n"
        "              \"`gputally links` again\".format(os.fsdecode(PROGRAM), reason), file=sys.stderr)\n"
        "        sys.exit(127)\n"
        "\n\nif __name__ == \"__main__\":\n    main()\n",
        file);
}

static void add_shell(gt_buffer *text, const gt_old_name *name, const char *program)
{
    const char *file = gt_path_name(name->path);
    gt_buffer_add_format(text, "#!/bin/sh\n# %sprogram=", REMARK);
    gt_shell_quote(text, program);
    gt_buffer_add_cstr(text, "\n");
    if (program[0] != '/') {
        gt_buffer_add_cstr(text, "case $0 in\n*/*) program=${0%/*}/");
        add_way_up(text, name->path);
        gt_buffer_add_cstr(text, "/$program ;;\n*) program=./");
        add_way_up(text, name->path);
        gt_buffer_add_cstr(text, "/$program ;;\nesac\n");
    }
    gt_buffer_add_format(text,
                         "if [ ! -f \"$program\" ] || [ ! -x \"$program\" ]; then\n"
                         "    command -v gputally >/dev/null || {\n"
                         "        printf '%%s\\n' \"%s: cannot start '$program', and there is no gputally in "
                         "PATH; run \\`gputally links\\` again\" >&2\n"
                         "        exit 127\n"
                         "    }\n"
                         "    program=gputally\n"
                         "fi\n"
                         "quiet=\n"
                         "for word; do\n"
                         "    case $word in -q | --q | --qu | --qui | --quie | --quiet) quiet=1 ;; esac\n"
                         "done\n"
                         "[ \"$quiet\" ] || [ ! -t 2 ] || echo \"%s: this is gputally %s\" >&2\n"
                         "exec \"$program\" %s \"$@\"\n",
                         file, file, name->starts, name->starts);
}

static void add_package(gt_buffer *text)
{
    gt_buffer_add_format(
        text,
        "\"\"\"Modules that start gputally. They have none of the functions of TraceLens itself."
        "\"\"\"\n# %s",
        REMARK);
}

static void add_job_file(gt_buffer *text, const char *path)
{
    gt_buffer_add_format(text, "# %s", REMARK);
    for (size_t i = 0; i < GT_ROCPROF_JOBS; i++)
        if (strcmp(gt_rocprof_job_names[i], gt_path_name(path)) == 0)
            gt_buffer_add_cstr(text, gt_rocprof_job_texts[i]);
}

void gt_old_name_text(gt_buffer *text, const gt_old_name *name, const char *program)
{
    switch (name->kind) {
    case GT_OLD_PYTHON:
        add_python(text, name, program);
        break;
    case GT_OLD_SHELL:
        add_shell(text, name, program);
        break;
    case GT_OLD_PACKAGE:
        add_package(text);
        break;
    case GT_OLD_JOB_FILE:
        add_job_file(text, name->path);
        break;
    case GT_OLD_LINK:
        break;
    }
}
