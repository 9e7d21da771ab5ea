"""Finds the command lines of a Markdown document: blocks of shell, commands in blocks without a language, in backticks, values of "cmd" in
JSON, and blocks of Python.

A command line is complete with its continuation lines and open quotes. Comments and blank lines between commands are dropped.
"""
import json
import re
from typing import NamedTuple

FENCE = re.compile(r"^```(\w*)\s*$")
# What a line of a block without a language, or a text in backticks, must begin with to be a command.
PROGRAMS = re.compile(r"(python3?|bash|sh|pip3?|git|docker|cd|which|madengine|rocprof\w*|rocm-smi|TraceLens_\w+)(-\w+)?(?= |$)")


class CommandLine(NamedTuple):
    line: int      # of the document, from 1
    kind: str      # shell, inline, tool, python
    text: str      # as printed
    block: int     # of which block it is, from 0; -1: of none


def is_open(text):
    """Whether the command goes on: a backslash at the end, or a single or double quote without its partner."""
    quote, i = "", 0
    while i < len(text):
        c = text[i]
        if c == "\\" and quote != "'":
            i += 1
            if i == len(text):
                return True
        elif quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == "#" and (i == 0 or text[i - 1].isspace()):
            break
        i += 1
    return bool(quote)


def shell_commands(lines, first, block, any_command):
    """The commands of the lines of a block that begins at line `first`."""
    found, i = [], 0
    while i < len(lines):
        text, start = lines[i], i
        i += 1
        if not text.strip() or text.lstrip().startswith("#") or not (any_command or PROGRAMS.match(text)):
            continue
        while is_open(text) and i < len(lines):
            text += "\n" + lines[i]
            i += 1
        found.append(CommandLine(first + start, "shell", text, block))
    return found


def tool_commands(lines, first, block):
    """The values of "cmd"."""
    found = []
    for i, line in enumerate(lines):
        for value in re.findall(r'"cmd":\s*("(?:[^"\\]|\\.)*")', line):
            found.append(CommandLine(first + i, "tool", json.loads(value), block))
    return found


def command_lines(text):
    """The command lines of a document, in its order."""
    lines, found, i, block = text.splitlines(), [], 0, 0
    while i < len(lines):
        fence = FENCE.match(lines[i])
        if not fence:
            for code in re.findall(r"`([^`]+)`", lines[i]):
                if PROGRAMS.match(code) and " " in code:
                    found.append(CommandLine(i + 1, "inline", code, -1))
            i += 1
            continue
        end = next(k for k in range(i + 1, len(lines)) if lines[k].startswith("```"))
        inside, language = lines[i + 1:end], fence.group(1)
        if language in ("bash", "sh", "shell", "console", ""):
            found += shell_commands(inside, i + 2, block, bool(language))
        elif language == "json":
            found += tool_commands(inside, i + 2, block)
        elif language == "python":
            found.append(CommandLine(i + 2, "python", "\n".join(inside), block))
        block += 1
        i = end + 1
    return found
