#!/usr/bin/env python3
"""`gputally report` and `query` of a folder of ranks under `srun --mpi=pmix` on two nodes of a real SLURM: the same files as one process writes.

    python3 -m tests.procs.test_srun_commands --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import sys

from tests.common import harness
from tests.procs import group
from tests.procs.test_commands import Twins, damaged
from tests.procs.test_srun import variables


def check(binary, *words):
    env = variables()
    with Twins(binary, damaged) as twins:
        alone = twins.alone(*words)
        several = group.run(["srun", "--mpi=pmix", "-N2", "-n3", "--overcommit", binary, *words], twins.many, **env)
        twins.compare(alone, several, words, code=1)


def test_report_of_ranks(binary):
    check(binary, "report", "ranks", "--strict", "--output_csvs_dir", "csv", "--output_html", "html")


def test_query_of_ranks(binary):
    check(binary, "query", "SELECT * FROM kernel_summary", "ranks", "--strict", "--output_db", "x.db")


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
