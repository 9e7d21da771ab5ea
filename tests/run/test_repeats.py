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
from tests.run.gpus import rocm_smi
from tests.run.test_one_report import WRITER, column, write
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


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(d, f), folder) for d, _, fs in os.walk(folder) for f in fs)


@test
def traces_of_the_same_name_in_several_folders(binary):
    """Each has a report of its own, listed once; nothing is left of the files that the step time is read from."""
    with Place(binary, "rocprofv3") as p:
        copies = "for d in a b c/d; do mkdir -p $d; cp '%s' $d/trace.pt.trace.json.gz; done; gunzip -c a/trace.pt.trace.json.gz >a/trace.pt.trace.json" % TRACE
        done = p.run("--tools", "rocprofv3_lightweight", "--repeat", "2", "--", "bash", "-c", copies)
        equal(done.returncode, 0)
        folder = p.file("repeats", os.listdir(p.file("repeats"))[0])
        for i in (1, 2):
            repeat = os.path.join(folder, f"repeat_{i}")
            reports = [f for f in files_below(repeat) if f.endswith("trace_perf_report.xlsx") or f.endswith("trace_2_perf_report.xlsx")]
            equal(reports, ["a/trace_2_perf_report.xlsx", "a/trace_perf_report.xlsx", "b/trace_perf_report.xlsx", "c/d/trace_perf_report.xlsx"])
            equal([f for f in files_below(repeat) if f.endswith(".findings.json")], [])
            with open(os.path.join(repeat, "gputally_run.json")) as f:
                listed = [os.path.relpath(file["path"], repeat) for file in json.load(f)["files"]]
            equal(sorted(f for f in listed if f.endswith("e_perf_report.xlsx") or f.endswith("_2_perf_report.xlsx")), reports)
        close(p.record()["repeats"]["profiled"]["step_ms"]["mean"], 15.939839)
        equal(p.run("--", "bash", "-c", copies).returncode, 0)  # a single run: beside the trace
        equal([f for f in files_below(p.work) if f.endswith("_perf_report.xlsx") and not f.startswith("repeats")], reports)


@test
def ranks_of_each_repeat(binary):
    """The second repeat writes to the same files; rank 1 is late in it, rank 0 in the first."""
    with Place(binary, "rocprofv3") as p:
        writer = write(os.path.join(p.path, "writer.py"), WRITER)
        line = (f"[ $GPUTALLY_REPEAT = repeat_1 ] && a=250 b=0 || a=0 b=250; python3 '{writer}' log/rank0.pt.trace.json 0 2 $a info; "
                f"python3 '{writer}' log/rank1.pt.trace.json 1 2 $b info")
        done = p.run("--tools", "rocprofv3_lightweight", "--repeat", "2", "--no_baseline", "--", "bash", "-c", line)
        equal(done.returncode, 0)
        folder = p.file("repeats", os.listdir(p.file("repeats"))[0])
        for i, late in ((1, [2, 0]), (2, [0, 2])):
            repeat = os.path.join(folder, f"repeat_{i}")
            ranks, = os.listdir(os.path.join(repeat, "ranks"))
            report = os.path.join(repeat, "ranks", ranks, "nccl_analysis_report.xlsx")
            equal([times for _, times in sorted(column(report, "straggler_summary", "rank", "times_arrived_last"))], late)
            equal([f for f in files_below(repeat) if f.endswith("_trace.json") or f.endswith(".findings.json")], [])
            with open(os.path.join(repeat, "gputally_run.json")) as f:
                listed = {os.path.basename(file["path"]) for file in json.load(f)["files"]}
            assert {"nccl_analysis_report.xlsx", "nccl_analysis_report.html", "rank1_trace_perf_report.xlsx"} <= listed, listed
        equal([f for f in files_below(p.file("log"))], ["rank0.pt.trace.json", "rank1.pt.trace.json"])


@test
def baselines_only_where_there_is_something_to_compare(binary):
    with Place(binary, "rocprofv3") as p:
        gpus = os.path.join(p.path, "gpus")
        with open(gpus, "w") as f:
            f.write("0,0,100,1,2,500\n")
        equal(p.run("--tools", "gpu_info_power_profiler", "--warmup", "1", "--repeat", "2", "--", *COMMAND, **rocm_smi(gpus)).returncode, 0)
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
def energy_of_counter_passes_is_divided(binary):
    """The counter of the GPU goes from 1000 to 1100 J during each run, whatever the number of passes."""
    with Place(binary, "rocprofv3") as p:
        with open(p.file("gpus"), "w") as f:
            f.write("0,0,100,1,2,1000\n0.2,0,100,1,2,1100\n")
        context = {"tools": [{"name": "gpu_info_power_profiler", "env_vars": {"POWER_DEVICE": "all", "POWER_SAMPLING_RATE": "0.1"}},
                             {"name": "rocprofv3_agent_counter"}]}
        done = p.run("-c", json.dumps(context), "--repeat", "1", "--no_baseline", "--report", "none", "--", "sleep", "0.3", **rocm_smi("gpus"))
        equal(done.returncode, 0)
        run, = p.record()["repeats"]["runs"]
        assert len(p.calls()) > 1
        close(run["energy_J"], 100 / len(p.calls()))


@test
def a_failed_run_ends_the_series(binary):
    with Place(binary, "rocprofv3") as p:
        command = ["bash", "-c", "echo x >> starts; [ $(wc -l < starts) -lt 4 ] || exit 9"]
        done = p.run("--tools", "rocprofv3_lightweight", "--warmup", "1", "--repeat", "5", "--", *command)
        equal((done.returncode, len(starts(p))), (3, 4))
        holds(done.stdout, "1 repeat: wall time ")
        row = [cell.value for cell in list(openpyxl.load_workbook(p.file("bash_run_summary.xlsx"))["repeat_runs"])[4]]
        equal((row[:4], row[7]), ([4, "baseline", 2, None], 9))
        record = p.record()
        equal((record["status"], record["exit_code"], len(record["repeats"]["runs"])), ("FAILURE", 9, 4))
        failed = record["repeats"]["runs"][-1]
        equal((failed["kind"], failed["number"], failed["exit_code"], failed["wall_s"]), ("baseline", 2, 9, None))
        equal((record["repeats"]["profiled"]["wall_s"]["count"], record["repeats"]["baseline"]["wall_s"]["count"]), (1, 1))
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
