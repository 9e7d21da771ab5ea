#!/usr/bin/env python3
"""A run into the folder of an earlier one, and a run one of whose processes was killed while it wrote its trace.

    python3 -m tests.run.test_earlier_runs --bin build/gputally [ONLY]
"""
import csv
import os
import sys

from tests.common import harness
from tests.run.launchers import PROGRAM, Run, tool
from tests.run.test_profiling_runs import equal, holds

# Runs hip_program.py, then damages files that it wrote: ALL or the last one of those with this ending, to this share of its size.
DAMAGE = """
import glob, os, subprocess, sys
ending, which, share, *words = sys.argv[1:]
subprocess.run([sys.executable, *words], check=True)
folder = os.environ["ROCPROF_OUTPUT_PATH"]
found = sorted(p for p in glob.glob(folder + "/**", recursive=True) if p.endswith(ending) and os.path.isfile(p))
for path in found if which == "all" else found[-1:]:
    os.truncate(path, int(os.path.getsize(path) * float(share)))
"""


def damaged(p, ending, which, share, **settings):
    script = p.file("..", "damage.py")
    with open(script, "w") as file:
        file.write(DAMAGE)
    words = [word for name, value in settings.items() for word in ("--" + name, str(value))]
    return ["--name", "job", "--", sys.executable, script, ending, which, str(share), PROGRAM, *words]


def traced(form):
    return "-c", tool(f"--kernel-trace --output-format {form}")


def ran(done):
    assert done.returncode == 0, done.stderr + done.stdout
    return done


def sound(p, form="rocpd"):
    return ran(p.run(*traced(form), "--name", "job", *p.program(processes=1, dispatches=6)))


def test_an_incomplete_last_row_is_not_merged(binary):
    with Run(binary) as p:
        done = ran(p.run(*traced("csv"), *damaged(p, "kernel_trace.csv", "last", 0.8, processes=3, dispatches=6)))
        merged = [p.file("rocprof_output", "latest", "kernel_trace.csv"),
                  p.file("rocprof_output", "rocprofv3_output_kernel_trace.csv")]
        for path in merged:
            with open(path, newline="") as file:
                header, *rows = csv.reader(file)
            assert {len(row) for row in rows} == {len(header)}, path
            assert len(rows) > 13, len(rows)  # 6 + 7 of the sound processes, and most of 8
            with open(path, "rb") as file:
                assert file.read().endswith(b"\n"), path
        lines = [line for line in done.stderr.splitlines() if "incomplete last row is left out" in line]
        assert len(lines) == 1 and "_kernel_trace.csv" in lines[0], done.stderr


def test_a_complete_last_row_without_a_line_end_is_merged(binary):
    with Run(binary) as p:
        script = p.file("..", "strip.py")
        with open(script, "w") as file:
            file.write(DAMAGE.replace("int(os.path.getsize(path) * float(share))", "os.path.getsize(path) - 1"))
        done = ran(p.run(*traced("csv"), "--name", "job", "--", sys.executable, script, "kernel_trace.csv", "all", "1", PROGRAM,
                         "--processes", "2", "--dispatches", "6"))
        equal(len(p.rows("rocprof_output", "latest", "kernel_trace.csv")), 1 + 6 + 7)
        assert "incomplete last row" not in done.stderr, done.stderr


def test_one_truncated_database_of_three_processes(binary):
    with Run(binary) as p:
        done = ran(p.run(*traced("rocpd"), *damaged(p, "_results.db", "last", 0.6, processes=3, dispatches=6)))
        equal(len(p.rows("rocprof_output", "latest", "kernel_trace.csv")) - 1 in (6 + 7, 6 + 8, 7 + 8), True)
        assert os.path.exists(p.file("job_perf_report.xlsx")) and "database truncated" in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
