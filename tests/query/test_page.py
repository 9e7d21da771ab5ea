#!/usr/bin/env python3
"""The commands of docs/query.md print what the page shows.

    python3 -m tests.query.test_page --bin build/gputally [TEXT]
"""
import os
import sys

from tests.common import harness
from tests.findings.test_cookbook import blocks, check
from tests.partial import generate_ranks


def lay_out(file):
    os.mkdir(file("run"))
    for rank in range(4):
        generate_ranks.write_trace(file(f"run/rank{rank}_trace.json"), rank, 4)


def test_page(binary):
    found = list(blocks("query.md"))
    assert len(found) == 6, [heading for heading, _, _ in found]
    for _, command, lines in found:
        check(binary, command, lines, lay_out)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
