#!/usr/bin/env python3
"""Repeats of a run: order, folders, figures, and what happens if one fails. The expected statistics come from Python's module
statistics; the profiler is a stand-in.

    python3 -m tests.run.test_repeats --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import math
import os
import statistics
import sys

import openpyxl

from tests.common import harness
from tests.run.test_profiling_runs import Place, equal, holds, run_tests

TESTS = []
TRACE = os.path.join(harness.FIXTURES, "pytorch", "training.json.gz")  # 15.939839 ms per step (docs/cookbook.md)

# Prints a figure that depends on the run, and notes whether it was profiled.
COMMAND = ["bash", "-c", """
n=$(cat starts 2>/dev/null | wc -l)
echo "$GPUTALLY_REPEAT ${ROCPROF_OUTPUT_PATH:+profiled}" >> starts
echo "performance: $((100 + n * n)) tokens_per_second"
"""]
T975 = {1: 12.706205, 2: 4.302653}


def test(function):
    TESTS.append(function)
    return function


def close(a, b):
    assert math.isclose(a, b, rel_tol=1e-5), (a, b)


def starts(p):
    return [line.split() for line in p.read("starts").splitlines()]


def sheet(p, name):
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(p.file("bash_run_summary.xlsx"))[name]]
    return [dict(zip(rows[0], row)) for row in rows[1:]]


@test
def order_and_folders(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_lightweight", "--warmup", "1", "--repeat", "3", "--", *COMMAND)
        equal(done.returncode, 0)
        expected = [["warmup_1"], ["repeat_1", "profiled"], ["baseline_1"], ["baseline_2"], ["repeat_2", "profiled"], ["repeat_3", "profiled"],
                    ["baseline_3"]]
        equal(starts(p), expected)
        folder = p.file("repeats", os.listdir(p.file("repeats"))[0])
        equal(sorted(os.listdir(folder)), sorted(names[0] for names in expected))
        for i in (1, 2, 3):
            files = os.listdir(os.path.join(folder, f"repeat_{i}"))
            assert {"bash.run.live.log", "gputally_run.json", "bash_perf_report.xlsx", "rocprof_output"} <= set(files), files
            equal(sorted(os.listdir(os.path.join(folder, f"baseline_{i}"))), ["bash.run.live.log", "gputally_run.json"])
        equal(p.run("--tools", "rocprofv3_lightweight", "--repeat", "2", "--", *COMMAND).returncode, 0)  # nothing is overwritten
        equal(len(os.listdir(p.file("repeats"))), 2)
        equal(len(starts(p)), 7 + 4)


@test
def figures(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_lightweight", "--warmup", "1", "--repeat", "3", "--", *COMMAND)
        equal(done.returncode, 0)
        profiled, baseline = [101, 116, 125], [104, 109, 136]  # runs 1, 4, 5 and 2, 3, 6 of the list above
        repeats = p.record()["repeats"]
        for kind, values in (("profiled", profiled), ("baseline", baseline)):
            s = repeats[kind]["performance"]
            equal(s["count"], 3)
            close(s["mean"], statistics.mean(values))
            equal(s["median"], statistics.median(values))
            close(s["std"], statistics.stdev(values))
            half = T975[2] * statistics.stdev(values) / math.sqrt(3)
            close(s["ci95_low"], statistics.mean(values) - half)
            close(s["ci95_high"], statistics.mean(values) + half)
        logs = [math.log(a / b) for a, b in zip(profiled, baseline)]
        half = T975[2] * statistics.stdev(logs) / math.sqrt(3)
        overhead = repeats["overhead_pct"]["performance"]
        close(overhead["mean"], 100 * (math.exp(statistics.mean(logs)) - 1))
        close(overhead["ci95_low"], 100 * (math.exp(statistics.mean(logs) - half) - 1))
        close(overhead["ci95_high"], 100 * (math.exp(statistics.mean(logs) + half) - 1))
        close(p.record()["performance"], statistics.mean(profiled))
        walls = [run["wall_s"] for run in repeats["runs"] if run["kind"] == "profiled"]
        close(repeats["profiled"]["wall_s"]["mean"], statistics.mean(walls))
        equal(repeats["typical"].rsplit("/", 1)[1], f"repeat_{walls.index(statistics.median(walls)) + 1}")
        rows = {(row["what"], row["runs"]): row for row in sheet(p, "repeats")}
        equal(list(rows), [(what, runs) for what in ("wall time", "performance") for runs in ("profiled", "baseline", "overhead")])
        equal(rows["performance", "profiled"]["unit"], "tokens_per_second")
        close(rows["performance", "overhead"]["ci95_high"], overhead["ci95_high"])
        equal([(row["kind"], row["performance"]) for row in sheet(p, "repeat_runs")],
              [("warmup", 100), ("profiled", 101), ("baseline", 104), ("baseline", 109), ("profiled", 116), ("profiled", 125), ("baseline", 136)])
        sentence = next(line for line in done.stdout.splitlines() if line.startswith("3 repeats: wall time "))
        for part in ("performance 114 tokens_per_second ± ", "; without the profiler ", "; overhead ", "intervals of 95 %"):
            holds(sentence, part)


@test
def step_times_of_the_commands_own_trace(binary):
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_lightweight", "--repeat", "2", "--", "cp", TRACE, "train.pt.trace.json.gz")
        equal(done.returncode, 0)
        step = p.record()["repeats"]["profiled"]["step_ms"]
        equal(step["count"], 2)
        close(step["mean"], 15.939839)
        equal((step["std"], step["ci95_low"]), (0, step["mean"]))
        folder = p.file("repeats", os.listdir(p.file("repeats"))[0])
        for i in (1, 2):
            assert os.path.exists(os.path.join(folder, f"repeat_{i}", "train_perf_report.xlsx"))
        assert not os.path.exists(p.file("train_perf_report.xlsx"))
        holds(done.stdout, "step time 15.94 ms")


@test
def baselines_only_where_there_is_something_to_compare(binary):
    with Place(binary, "rocprofv3") as p:
        gpus = os.path.join(p.path, "gpus")
        with open(gpus, "w") as f:
            f.write("0,0,100,1,2,500\n")
        equal(p.run("--tools", "gpu_info_power_profiler", "--warmup", "1", "--repeat", "2", "--", *COMMAND, GPUTALLY_SMI_FAKE=gpus).returncode, 0)
        equal(starts(p), [["warmup_1"], ["repeat_1"], ["repeat_2"]])
        repeats = p.record()["repeats"]
        equal((repeats["has_baseline"], repeats["overhead_pct"], repeats["profiled"]["energy_J"]["mean"]), (False, {}, 0))
        os.unlink(p.file("starts"))
        equal(p.run("--tools", "rocprofv3_lightweight", "--repeat", "2", "--no_baseline", "--", *COMMAND).returncode, 0)
        equal(starts(p), [["repeat_1", "profiled"], ["repeat_2", "profiled"]])


@test
def counter_passes_are_divided(binary):
    """Five passes are five runs of the command; the wall time is that of one."""
    with Place(binary, "rocprofv3") as p:
        done = p.run("--tools", "rocprofv3_agent_counter", "--repeat", "1", "--report", "none", "--", "sleep", "0.3")
        equal(done.returncode, 0)
        passes = len(p.calls())
        runs = {run["kind"]: run["wall_s"] for run in p.record()["repeats"]["runs"]}
        assert passes > 1 and 0.3 < runs["profiled"] < 0.3 * passes, (passes, runs)


@test
def a_failed_run_ends_the_series(binary):
    with Place(binary, "rocprofv3") as p:
        command = ["bash", "-c", "echo x >> starts; [ $(wc -l < starts) -lt 4 ] || exit 9"]
        done = p.run("--tools", "rocprofv3_lightweight", "--warmup", "1", "--repeat", "5", "--", *command)
        equal((done.returncode, len(starts(p))), (3, 4))
        record = p.record()
        equal((record["status"], record["exit_code"], len(record["repeats"]["runs"])), ("FAILURE", 9, 3))
        holds(record["reason"], "baseline_2: the command failed with exit status 9")
        for words in (["--repeat", "0"], ["--warmup", "-1"], ["--repeat", "100000"]):
            equal((words, p.run(*words, "--", "true").returncode), (words, 4))


@test
def a_folder_with_a_blank(binary):
    with Place(binary, "rocprofv3") as p:
        os.mkdir(p.file("out dir"))
        done = p.run("--tools", "rocprofv3_lightweight", "--repeat", "2", "--output_dir", "out dir", "--", *COMMAND)
        equal((done.returncode, len(starts(p))), (0, 4))
        record = json.loads(p.read("out dir", "gputally_run.json"))
        equal(len(record["repeats"]["runs"]), 4)
        assert os.path.exists(p.file("out dir", "bash_run_summary.xlsx"))


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
