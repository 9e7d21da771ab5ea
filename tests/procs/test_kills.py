#!/usr/bin/env python3
"""One process of a command that runs under MPI is killed at a random time, 6 times, or 50 times with LONG=1: never a wrong or
half-written report, and the next start gives the same bytes.

    python3 -m tests.procs.test_kills --bin build/gputally
"""
import sys

from tests.common import harness
from tests.procs import group


def test_kills(binary):
    print(group.kill_and_repeat(binary, 50 if harness.LONG else 6, seed=20))


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
