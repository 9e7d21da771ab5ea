#!/usr/bin/env python3
"""A run into the folder of an earlier one, and a run one of whose processes was killed while it wrote its trace.

    python3 -m tests.run.test_earlier_runs --bin build/gputally [ONLY]
"""
import csv
import json
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


REPORTS = ("job_perf_report.xlsx", "job_perf_report.html")


def unreadable(p, *more):
    return ran(p.run(*traced("rocpd"), *more, *damaged(p, "_results.db", "all", 0.6, processes=1, dispatches=6)))


def test_old_reports_do_not_stay_if_the_trace_is_unreadable(binary):
    with Run(binary) as p:
        for wanted in ("auto", "rocprof"):
            sound(p)
            for name in REPORTS:
                assert os.path.exists(p.file(name)), p.tree()
            done = unreadable(p, "--report", wanted)
            for name in REPORTS:
                assert not os.path.exists(p.file(name)), name
                holds(done.stderr, f"{p.file(name)} of an earlier run is removed")
        done = sound(p)
        assert os.path.exists(p.file(REPORTS[0])) and "earlier run" not in done.stderr, done.stderr


def test_reports_that_are_not_of_the_earlier_run_stay(binary):
    """Of another name, changed since, not in the record, or if no report is asked for."""
    with Run(binary) as p:
        sound(p)
        ran(p.run(*traced("rocpd"), "--name", "other", *p.program(processes=1, dispatches=6)))
        unreadable(p)  # the record is that of the run "other"
        assert all(os.path.exists(p.file(name)) for name in REPORTS), p.tree()
        assert os.path.exists(p.file("other_perf_report.xlsx"))
        sound(p)
        with open(p.file(REPORTS[1]), "a") as file:
            file.write("<!-- mine -->")
        unreadable(p)
        assert os.path.exists(p.file(REPORTS[1])) and not os.path.exists(p.file(REPORTS[0])), p.tree()
        sound(p)
        unreadable(p, "--report", "none")
        assert all(os.path.exists(p.file(name)) for name in REPORTS), p.tree()
        sound(p)
        done = ran(p.run("--profiler", "none", "--name", "job", "--", "true"))
        assert all(os.path.exists(p.file(name)) for name in REPORTS), done.stderr


def test_old_samples_do_not_stay_if_nothing_can_be_sampled(binary):
    with Run(binary) as p:
        context = ("-c", '{"tools": [{"name": "gpu_info_power_profiler"}]}', "--name", "job", "--", "true")
        path, record = p.file("gpu_info_power_profiler_output.csv"), p.file("gputally_run.json")
        ran(p.run(*context))
        if os.path.exists(path):
            raise harness.Skipped("this machine has a GPU")
        with open(path, "w") as file:
            file.write("time,Power(Watt) GPU0\n1,2\n")
        ran(p.run(*context))
        assert os.path.exists(path)  # no record lists it
        listed = p.record()
        listed["files"].append({"path": path, "bytes": os.path.getsize(path), "kind": "csv"})
        with open(record, "w") as file:
            json.dump(listed, file)
        done = ran(p.run(*context))
        assert not os.path.exists(path), p.tree()
        holds(done.stderr, f"{path} of an earlier run is removed")


def test_a_damaged_record_removes_nothing(binary):
    with Run(binary) as p:
        for text in ("", "[", "[]", '{"name": "job", "files": 3}', '{"name": "job", "files": [1, {"path": 2}, {"path": "x"}]}',
                     '{"name": "job", "files": [{"path": "../x", "kind": "report", "bytes": -1}]}'):
            sound(p)
            with open(p.file("gputally_run.json"), "w") as file:
                file.write(text)
            unreadable(p)
            assert os.path.exists(p.file(REPORTS[0])), text


def test_latest_that_is_a_folder_gives_a_warning(binary):
    with Run(binary) as p:
        os.makedirs(p.file("rocprof_output", "latest"))
        done = sound(p)
        holds(done.stderr, p.file("rocprof_output", "latest") + " is not a link and is not changed: this run is in ")
        assert not os.path.islink(p.file("rocprof_output", "latest"))


def test_files_of_the_user_stay(binary):
    mine = ("trace.json", "rocprofv3_output_kernel_trace.csv")
    with Run(binary) as p:
        os.makedirs(p.file("rocprof_output"))
        for name in mine:
            with open(p.file("rocprof_output", name), "w") as file:
                file.write("mine")
        done = ran(p.run(*traced("csv json"), "--name", "job", *p.program(processes=2, dispatches=6)))
        for name in mine:
            equal(p.read("rocprof_output", name), "mine")
            holds(done.stderr, f"{p.file('rocprof_output', name)} is kept")
            os.remove(p.file("rocprof_output", name))
        for _ in range(2):  # its own are replaced without a word
            done = ran(p.run(*traced("csv json"), "--name", "job", *p.program(processes=2, dispatches=6)))
            assert "is kept" not in done.stderr, done.stderr
            equal(len(p.rows("rocprof_output", "rocprofv3_output_kernel_trace.csv")), 1 + 6 + 7)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
