#!/usr/bin/env python3
"""Runs the command lines of a file cli_cases.txt and compares what they print, return and write with what the file says.

    python3 -m tests.cli.run_cases --bin build/gputally tests/AREA/cli_cases.txt [TEXT]     only cases with TEXT in the title

The head of tests/cli/cli_cases.txt explains how a case is written. Ends with "N passed, N failed".
"""
import argparse
import os
import re
import sys

from tests.cli.folder import Folder
from tests.common import harness


def read_cases(path):
    """[(title, command, [(key, text)])]"""
    cases, title = [], ""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line.startswith("#"):
                title = line[1:].strip()
            elif line.startswith("$ "):
                cases.append((f"{title} ({os.path.relpath(path, harness.ROOT)}:{number})", line[2:], []))
            elif line:
                key, _, text = line.partition(":")
                cases[-1][2].append((key, text[1:]))
    return cases


def matches(wanted, line):
    return re.fullmatch(".*".join(re.escape(part) for part in wanted.split("...")), line) is not None


def find_in_order(wanted, text):
    """The first wanted line that does not come after the one before it, or None."""
    lines = iter(text.splitlines())
    for w in wanted:
        if not any(matches(w, line) for line in lines):
            return w
    return None


def check_case(binary, command, expectations):
    with Folder(binary) as folder:
        r = folder.sh(command)
        shown = f"$ {command}\n[exit {r.returncode}]\n{r.stdout}[stderr]\n{r.stderr}"
        wanted = {key: [t for k, t in expectations if k == key] for key in ("exit", "out", "err", "files")}
        assert r.returncode == int(wanted["exit"][0] if wanted["exit"] else 0), f"wrong exit code\n{shown}"
        for stream, text in (("out", r.stdout), ("err", r.stderr)):
            if wanted[stream] == ["(nothing)"]:
                assert text == "", f"std{stream} is not empty\n{shown}"
                continue
            lost = find_in_order(wanted[stream], text)
            assert lost is None, f"std{stream} lacks: {lost}\n{shown}"
            if stream == "err" and r.returncode and wanted["err"]:
                assert len(text.splitlines()) == len(wanted["err"]), f"unexpected messages\n{shown}"
        assert not wanted["err"] == [] or r.stderr == "", f"stderr is not empty\n{shown}"
        if wanted["files"]:
            expected = sorted(wanted["files"][0].split()) if wanted["files"] != ["(none)"] else []
            assert folder.names() == expected, f"files are {folder.names()}\n{shown}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("cases")
    parser.add_argument("only", nargs="?", default="")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    return harness.run_functions((title, lambda command=command, expected=expected: check_case(binary, command, expected))
                                 for title, command, expected in read_cases(options.cases) if options.only in title)


if __name__ == "__main__":
    sys.exit(main())
