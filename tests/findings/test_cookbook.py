#!/usr/bin/env python3
"""The commands of docs/cookbook.md print what the page shows.

    python3 -m tests.findings.test_cookbook --bin build/gputally [TEXT]

A block of the page is a command after "$ " and its output; "..." stands for any further lines.
"""
import argparse
import os
import re
import shutil
import sys

from tests.cli.folder import Folder
from tests.common import harness


def blocks(page="cookbook.md"):
    """(heading, command, lines) of the page; a heading may be followed by a paragraph."""
    with open(os.path.join(harness.ROOT, "docs", page), encoding="utf-8") as file:
        text = file.read()
    for heading, block in re.findall(r"^## ([^\n]*)\n\n(?:[^#`\n][^\n]*\n)*\n?```console\n(.*?)```$", text, re.M | re.S):
        command, *lines = block.splitlines()
        assert command.startswith("$ "), command
        yield heading, command[2:], lines


def check(binary, command, expected, lay_out=None):
    with Folder(binary) as folder:
        if lay_out:
            lay_out(folder.file)
        shutil.copytree(os.path.join(harness.ROOT, "examples"), folder.file("examples"))
        shutil.copytree(harness.FIXTURES, folder.file("tests/fixtures"))
        done = folder.sh(command + " 2>&1")
        lines = done.stdout.rstrip("\n").splitlines()
        if expected[-1] == "...":
            expected, lines = expected[:-1], lines[:len(expected) - 1]
        assert lines == expected, "\n".join([command, *lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("only", nargs="?", default="")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    found = list(blocks())
    assert len(found) == 12, [heading for heading, _, _ in found]
    return harness.run_functions([(heading, lambda c=command, e=lines: check(binary, c, e))
                                  for heading, command, lines in found if options.only in heading])


if __name__ == "__main__":
    sys.exit(main())
