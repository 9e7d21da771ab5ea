#!/usr/bin/env python3
"""The table of docs/sweep.md that says what each command of the pipeline's document does now: it has every command, and the tests that
it names exist. tests/links/test_seed_documents.py runs the commands. What needs the document is skipped without it."""
import glob
import os
import re
import sys

from tests.common import harness
from tests.links.command_lines import command_lines
from tests.run.test_profiling_runs import equal
from tests.run.seed_commands import SEEDS

HERE = os.path.dirname(os.path.abspath(__file__))


def rows():
    """[(lines, command, now, tested)]"""
    with open(os.path.join(harness.ROOT, "docs", "sweep.md"), encoding="utf-8") as file:
        section = file.read().split("\n## The pipeline's document, command by command\n")[1]
    found = [line.strip("| ").split(" | ") for line in section.splitlines() if re.match(r"\| \d", line)]
    return [([int(n) for n in lines.split(", ")], command.strip("`"), now, tested) for lines, command, now, tested in found]


def test_every_command_has_a_row(_):
    paths = glob.glob(os.path.join(SEEDS, "003_*.txt"))
    if not paths:
        raise harness.Skipped(f"no document 003 in {SEEDS}")
    with open(paths[0], encoding="utf-8") as file:
        commands = command_lines(file.read())
    printed = {c.line: " ".join(line.rstrip("\\").strip() for line in c.text.split("\n")) for c in commands}
    equal({n: command for lines, command, _, _ in rows() for n in lines}, printed)


def test_named_tests_exist(_):
    table, named = rows(), 0
    for _, command, now, tested in table:
        step = re.match(r"`sweep (\w+)`", now)
        equal((command, bool(step)), (command, tested != "–"))
        if not step:
            continue
        for program, cases in re.findall(r"`(test_\w+)`: ([^;]+)", tested):
            with open(os.path.join(HERE, program + ".py"), encoding="utf-8") as file:
                source = file.read()
            for case in cases.split(" / "):
                named += 1
                assert f'Case("{case}"' in source or "def check_" + case.replace(" ", "_") + "(" in source, f"{program} has no case {case!r}"
    assert len(table) >= 20 and named >= 20, (len(table), named)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
