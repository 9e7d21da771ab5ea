#!/usr/bin/env python3
"""The simulator of runs on many machines (scripts/simulate-scale): its model against figures computed by hand, and its prediction
for a run here against reality.

    python3 -m tests.scale.test_simulate --bin build/gputally
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from tests.common.harness import run_test_functions
from tests.procs import group

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "simulate-scale")
MOST = 2  # what docs/scale.md says about predictions: right within this factor
NO_COST = {name: 0 for name in ("start_s", "rank_s", "inflate_s_per_gb", "parse_s_per_gb", "row_s", "merge_rank_s", "merge_row_s",
                                "part_bytes", "part_row_bytes", "base_bytes", "work_bytes_per_byte", "merge_rank_bytes", "merge_row_bytes")}
ONE_MACHINE = ("--machines", "1", "--processes", "2", "--spread", "0", "--slow_share", "0", "--metadata_per_s", "1e15")


def simulate(*arguments, rates=None):
    with tempfile.TemporaryDirectory() as folder:
        if rates is not None:
            path = os.path.join(folder, "rates.json")
            with open(path, "w") as file:
                file.write(rates if isinstance(rates, str) else json.dumps(rates))
            arguments = (*arguments, "--rates", path)
        return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


def figure(done, label):
    assert done.returncode == 0, done.stderr
    found = re.search(rf"^  {re.escape(label)} +([\d.]+) (\w+)", done.stdout, re.M)
    assert found, f"{label!r} is not in\n{done.stdout}"
    return float(found[1]), found[2]


def test_reading_and_merging(_):
    # 4 traces of 1 GB that take 10 s each, 2 processes: 2 rounds. Process 0 merges 4 ranks of 5 collectives.
    done = simulate("--ranks", "4", "--gb", "1", "--collectives", "5", *ONE_MACHINE,
                    rates={**NO_COST, "start_s": 0.5, "parse_s_per_gb": 6, "inflate_s_per_gb": 4, "merge_rank_s": 1, "merge_row_s": 0.1})
    assert figure(done, "read, inflate, reduce") == (20.0, "s"), done.stdout
    assert figure(done, "merge in process 0") == (6.0, "s"), done.stdout
    assert figure(done, "all") == (26.5, "s"), done.stdout
    assert figure(done, "time per GB") == (6625.0, "ms"), done.stdout


def test_bandwidth_of_the_file_system(_):
    # 12 MB of JSON per MB of gzip: 4 * 83.3 MB at 0.01 GB/s for all; the CPU needs less.
    done = simulate("--ranks", "4", "--fs_gb_s", "0.01", *ONE_MACHINE, rates={**NO_COST, "parse_s_per_gb": 1})
    assert figure(done, "read, inflate, reduce") == (33.33, "s"), done.stdout
    assert figure(done, "bandwidth of the file system") == (33.33, "s"), done.stdout
    assert "from 1 machine: bandwidth of the file system" in done.stdout, done.stdout


def test_memory_of_process_0(_):
    # 10 MiB, and 1,000 ranks of 1 KiB and 10 collectives of 100 bytes.
    done = simulate("--ranks", "1000", "--collectives", "10", *ONE_MACHINE,
                    rates={**NO_COST, "base_bytes": 10 * 2**20, "merge_rank_bytes": 1024, "merge_row_bytes": 100})
    assert figure(done, "memory of a process") == (10.0, "MiB"), done.stdout
    assert figure(done, "memory of process 0") == (12.0, "MiB"), done.stdout


def test_a_slow_trace_is_given_out_again(_):
    # It would take 20 * 10 s. After 2 * 10 s the other process begins it again and needs 10 s.
    done = simulate("--ranks", "1", *ONE_MACHINE[:6], "--slow_share", "1", "--slow", "20", *ONE_MACHINE[8:],
                    rates={**NO_COST, "parse_s_per_gb": 10})
    assert figure(done, "read, inflate, reduce") == (30.0, "s"), done.stdout


def test_what_breaks_with_more_machines(_):
    # 1,000 s of CPU time on 16 cores per machine against 10 s of merging: the merge decides from 8 machines on.
    done = simulate("--ranks", "1000", "--spread", "0", "--slow_share", "0", "--metadata_per_s", "1e15", "--fs_gb_s", "1e9",
                    "--machine_gb_s", "1e9", rates={**NO_COST, "parse_s_per_gb": 1, "merge_rank_s": 0.01})
    assert done.returncode == 0, done.stderr
    assert "from 1 machine: cores" in done.stdout and "from 8 machines: merge in process 0" in done.stdout, done.stdout


def test_wrong_input(_):
    for rates in ("", "[1]", '{"start_s": "fast"}'):
        done = simulate(rates=rates)
        assert done.returncode == 1 and "no rates" in done.stderr and "Traceback" not in done.stderr, done.stderr
    for arguments in (("--ranks", "0"), ("--gb", "nan"), ("--packed", "0.5")):
        assert simulate(*arguments).returncode == 2, arguments
    done = simulate("--measure", "--bin", "/nowhere/gputally")
    assert done.returncode == 1 and "does not exist" in done.stderr, done.stderr


def test_prediction_of_a_run_here(binary):
    done = simulate("--measure", "--check", "--bin", binary)
    assert done.returncode == 0, done.stderr
    found = re.search(r"([\d.]+) s predicted, ([\d.]+) s measured", done.stdout)
    assert found, done.stdout
    factor = float(found[2]) / float(found[1])
    assert 1 / MOST <= factor <= MOST, found[0]


def test_speedup_is_measured(binary):
    """scripts/measure-speedup: a row per number of processes, and what process 0 does alone."""
    group.launcher("openmpi")
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "measure-speedup"), "--bin", binary, "--ranks", "3", "--mb", "0.2",
                           "--rounds", "1", "--processes", "1,2", "--launcher", " ".join(group.launcher("openmpi")[:-1])],
                          capture_output=True, text=True, check=False, env=group.environment())
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^\| (\d+) \| [\d.]+ s \|", done.stdout, re.M) == ["1", "2"], done.stdout
    found = re.search(r"process 0 alone: [\d.]+ s of CPU time, ([\d.]+) % of the work; .* and 16 at most ([\d.]+) times", done.stdout)
    assert found, done.stdout
    share = float(found[1]) / 100
    assert abs(1 / (share + (1 - share) / 16) - float(found[2])) < 0.2, done.stdout


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
