#!/usr/bin/env python3
"""Fuzzing: every command that reads files is in a fuzz target, and every target has seeds.

    python3 -m tests.architecture.test_fuzz
"""
import glob
import os
import re
import sys

from tests.architecture.run import run_functions

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FUZZ = os.path.join(ROOT, "tests", "fuzz")
NOT_FUZZED = {"sweep", "sweep all"}  # it is only its steps


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def names_in(path):
    """The names of the rows of a table of commands."""
    return re.findall(r'^ +\{"([\w-]+)", (?:NULL|"[\w.]+"),', read(os.path.join(ROOT, path)), re.MULTILINE)


def test_every_command_is_fuzzed():
    commands = set(names_in("src/cli/commands.c")) | {"sweep " + name for name in names_in("src/cli/sweep/sweep.c")}
    assert len(commands) > 30, f"found only {sorted(commands)}"
    fuzzed = set()
    for path in glob.glob(os.path.join(FUZZ, "fuzz_command_*.c")):
        fuzzed |= set(re.findall(r'"([^"]+)"', re.search(r"commands\[\] = \{(.*?)\}", read(path), re.DOTALL).group(1)))
    assert commands - fuzzed == NOT_FUZZED, f"not fuzzed: {sorted(commands - fuzzed - NOT_FUZZED)}; fuzzed: {sorted(fuzzed & NOT_FUZZED)}"
    assert fuzzed <= commands, f"unknown: {sorted(fuzzed - commands)}"


def test_every_target_has_seeds():
    targets = {os.path.basename(path)[len("fuzz_"):-2] for path in glob.glob(os.path.join(FUZZ, "fuzz_*.c"))}
    seeded = {name for name in os.listdir(os.path.join(FUZZ, "corpus")) if os.listdir(os.path.join(FUZZ, "corpus", name))}
    assert targets <= seeded, f"without seeds: {sorted(targets - seeded)}"
    assert seeded <= targets, f"seeds of no target: {sorted(seeded - targets)}"


def test_coverage_rules_name_what_exists():
    for line in read(os.path.join(FUZZ, "coverage.txt")).splitlines():
        word, _, rest = line.partition(" ")
        if word in ("counts", "except"):
            name = rest.split()[0]
            assert os.path.exists(os.path.join(ROOT, name)), f"{name} does not exist"
        if word == "except":
            assert len(rest.split()) > 4, f"no reason: {line}"


if __name__ == "__main__":
    sys.exit(run_functions(globals()))
