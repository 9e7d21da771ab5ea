#!/usr/bin/env python3
"""`gputally sweep decide` on whole sweeps with known truth (generate_decisions.py): what was planted must be found.

How often claims are right is tested in test_simulations.py, which simulates sweeps as measurements."""
import csv
import gzip
import json
import math
import os
import re
import shutil
import statistics
import sys

from tests.sweep import generate_decisions as generate
from tests.sweep.generate_sweep import read_workbook
from tests.common.harness import Case, files_under, run, run_cases

SHEETS = ["recommendation", "effects", "effect_means", "overlap_slowdown", "bandwidth_by_size", "outlier_runs"]


class Decision:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.problems = binary, folder, []

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def decide(self, *words, code=0):
        done = run([self.binary, "sweep", "decide", "s", *words], cwd=self.folder)
        self.problems += done.problems()
        self.same("exit code", done.code, code)
        return done

    def rows(self, sheet, folder="s/tracelens_analysis"):
        with open(self.path(folder, f"{sheet}.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def same(self, what, got, wanted):
        if got != wanted:
            self.problems.append(f"{what}: {got!r}, not {wanted!r}")

    def near(self, what, got, wanted, relative):
        if not math.isclose(float(got), wanted, rel_tol=relative):
            self.problems.append(f"{what}: {got}, not {wanted}")

    def holds(self, what, text, *parts):
        for part in parts:
            if part not in text:
                self.problems.append(f"{what} lacks {part!r}: {text!r}")


def truth(best, faster=0.03, base=6000.0):
    return lambda setting: base * (1 - faster if setting == best else 1)


def check_best(d):
    """A setting that is 5 % faster is found, with the lines that set it."""
    generate.lay_out(d.path("s"), truth((512, 28), 0.05))
    done = d.decide()
    d.holds("answer", done.stdout, "Use threads=512 channels=28: it is the best of 4 settings", "export RCCL_THREADS_PER_BLOCK=512\n",
            "export NCCL_MAX_NCHANNELS=28\n", "hours of every day")
    rows = d.rows("recommendation")
    d.same("first", (rows[0]["setting"], rows[0]["threads"], rows[0]["channels"], rows[0]["rank"]), ("512thread_28ch", "512", "28", "1"))
    d.same("told apart", [row["told_apart"] for row in rows], ["False", "True", "True", "True"])
    d.same("spread", {(row["spread"], row["measurements"]) for row in rows}, {("repeats", "5")})
    d.near("step", rows[0]["step_ms"], 6 * 0.95, 0.02)
    for row in rows[1:]:
        d.near("difference", row["difference_pct"], 100 * (1 / 0.95 - 1), 0.4)
        d.same("p", 0 <= float(row["p_single"]) <= float(row["p_value"]) < 0.015, True)
    d.near("exposed", rows[0]["exposed_comm_ms"], generate.exposed_us() / 1000, 0.001)
    book = read_workbook(d.path("s/tracelens_analysis/decision.xlsx"))
    d.same("sheets", list(book), SHEETS)
    saved = float(re.search(r"saves ([0-9.]+) %", done.stdout).group(1))
    hours = float(re.search(r"([0-9.]+) hours", done.stdout).group(1))
    d.near("hours", hours, saved * 0.24, 0.1)
    d.decide("--output_json", "a b.json", "--baseline", "256thread_42ch")
    with open(d.path("a b.json"), encoding="utf-8") as file:
        answer = json.load(file)
    d.same("JSON", {key: answer[key] for key in ("schema", "is_supported", "fastest", "baseline", "candidates", "spread")},
           {"schema": "gputally-sweep-decision/1", "is_supported": True, "baseline": "256thread_42ch", "candidates": ["512thread_28ch"],
            "spread": "repeats", "fastest": {"setting": "512thread_28ch", "values": {"threads": "512", "channels": "28"},
                                            "environment": {"RCCL_THREADS_PER_BLOCK": "512", "NCCL_MAX_NCHANNELS": "28"}}})
    steps = {row["setting"]: float(row["step_ms"]) for row in rows}
    d.near("saved", answer["saved_pct"], 100 * (1 - steps["512thread_28ch"] / steps["256thread_42ch"]), 1e-9)
    d.same("sheets of JSON", list(answer["sheets"]), SHEETS)
    named = d.decide("--baseline", "256thread_42ch")
    d.holds("baseline", named.stdout, "Compared with threads=256 channels=42, the fastest saves")
    d.holds("baseline", d.decide("--baseline", "512thread_28ch").stdout, "The setting used now is the fastest.")
    bad = d.decide("--baseline", "nothing", code=1)
    d.holds("unknown baseline", bad.stderr, "the sweep has no setting 'nothing'")


def check_no_difference(d):
    generate.lay_out(d.path("s"), truth(None), seed=7)
    done = d.decide()
    d.holds("answer", done.stdout, "No setting is supported as the best: 4 of 4 settings cannot be told apart",
            "# the fastest, not supported as the best\nexport RCCL_THREADS_PER_BLOCK=")
    d.same("told apart", {row["told_apart"] for row in d.rows("recommendation")}, {"False"})
    d.decide("--output_json", "out.json")
    with open(d.path("out.json"), encoding="utf-8") as file:
        answer = json.load(file)
    d.same("JSON", (answer["is_supported"], len(answer["candidates"])), (False, 4))


def check_agreement(d):
    """Channels do not matter, so two settings may be the best; what they have in common is said."""
    generate.lay_out(d.path("s"), lambda setting: 6000.0 * (0.95 if setting[0] == 512 else 1), seed=7)
    d.holds("answer", d.decide().stdout, "2 of 4 settings cannot be told apart: threads=512 channels=", ". All of them have threads=512.\n")


def check_step_times(d):
    """Step times of the sheet are geometric means of the runs' planted times; without noise they are exact."""
    generate.lay_out(d.path("s"), lambda s: 6000.0 + s[0] + s[1], repeats=2, run_noise=0, step_noise=0, kernel_noise=0)
    d.decide("--quiet")
    rows = d.rows("recommendation")
    d.same("order", [row["setting"] for row in rows], ["256thread_28ch", "256thread_42ch", "512thread_28ch", "512thread_42ch"])
    for row in rows:
        d.near("step", row["step_ms"], (6000 + int(row["threads"]) + int(row["channels"])) / 1000, 1e-6)
        d.near("GEMM", row["gemm_ms"], generate.GEMMS * sum(generate.GEMM_US.values()) / 1000, 1e-6)
        d.near("exposed", row["exposed_comm_ms"], generate.exposed_us() / 1000, 1e-6)
    effects = {row["term"]: row for row in d.rows("effects")}
    d.same("terms", list(effects), ["threads", "channels", "threads x channels", "error (repeats)"])
    logs = {(t, c): math.log(6000 + t + c) for t in (256, 512) for c in (28, 42)}
    by_threads = (logs[256, 28] + logs[256, 42] - logs[512, 28] - logs[512, 42]) / 4
    d.near("sum of squares", effects["threads"]["sum_of_squares"], 8 * by_threads ** 2, 1e-4)
    means = [row for row in d.rows("effect_means") if row["axis_1"] == "threads" and row["value_1"] == "256" and not row["axis_2"]]
    d.same("means", len(means), 1)
    d.near("mean", means[0]["step_ms"], math.exp((logs[256, 28] + logs[256, 42]) / 2) / 1000, 1e-6)


def check_overlap(d):
    """A planted slowdown of 1.1 to 1.4 is recovered within a tenth of what it adds, per setting and shape."""
    planted = {(256, 28): 1.1, (256, 42): 1.2, (512, 28): 1.3, (512, 42): 1.4}
    generate.lay_out(d.path("s"), truth(None, base=7000.0), slowdown=planted.get, repeats=2, steps=4)
    d.decide()
    rows = d.rows("overlap_slowdown")
    d.same("rows", len(rows), 8)
    for row in rows:
        wanted = planted[int(row["threads"]), int(row["channels"])]
        if abs(float(row["slowdown"]) - wanted) > 0.1 * (wanted - 1) + 0.004:
            d.problems.append(f"slowdown of {row['setting']}: {row['slowdown']}, not {wanted}")
        d.same("interval", float(row["slowdown_low"]) < wanted < float(row["slowdown_high"]), True)
        calls = 2 * 2 * 4 * generate.GEMMS // 2 # repeats, ranks, steps, half of the calls
        d.same("calls", (row["calls_with"], row["calls_without"], row["calls_partial"]), (str(calls), str(calls), "0"))
        usual = generate.GEMM_US[row["kernel_name"]]
        d.near("without", row["us_without"], usual, 0.02)
        d.near("cost", row["cost_ms"], (wanted - 1) * usual * generate.GEMMS / 2 / 1000, 0.1 if wanted > 1.15 else 0.2)
        d.same("shape", row["shape"].replace(" ", ""), str(generate.SHAPES[row["kernel_name"]]).replace(" ", ""))
    for row in d.rows("recommendation"):
        wanted = planted[int(row["threads"]), int(row["channels"])]
        if abs(float(row["gemm_slowdown"]) - wanted) > 0.1 * (wanted - 1):
            d.problems.append(f"GEMM slowdown of {row['setting']}: {row['gemm_slowdown']}, not {wanted}")


def check_bandwidth(d):
    generate.lay_out(d.path("s"), truth(None), repeats=1, kernel_noise=0, threads=(256,))
    d.decide()
    rows = d.rows("bandwidth_by_size")
    d.same("rows", [(row["setting"], row["collective"], row["count"]) for row in rows],
           [(f"256thread_{c}ch", "allreduce", str(4 * (2 * generate.GEMMS // 2 + 1))) for c in (28, 42)])
    # of the 9 all-reduces in a step, 4 take 202 us, 4 take 82 us, one 150 us; on 2 ranks a link carries 2 * 1/2 of the bytes
    for row in rows:
        d.near("size", row["message_mb"], generate.REDUCE_BYTES / 2 ** 20, 1e-9)
        d.near("latency", row["latency_us"], statistics.median([202.0] * 4 + [82.0] * 4 + [150.0]), 1e-6)


def check_one_run(d):
    """With one run per setting nothing is the best; the intervals are those of the steps, and effects are compared with each other."""
    generate.lay_out(d.path("s"), truth((256, 42), 0.05), repeats=1, steps=8, run_noise=0)
    done = d.decide("--output_json", "out.json")
    d.holds("answer", done.stdout, "No setting is supported as the best: 4 of 4 settings cannot be told apart.", "Each setting was run once, which does "
            "not show how much runs differ. Intervals are those of the steps of one run.\nAdd runs to threads=256 channels=42; threads=",
            ". Repeat the command line of `sweep run` with --more 4.\n", "# the fastest, not supported as the best\n")
    rows = d.rows("recommendation")
    d.same("first", rows[0]["setting"], "256thread_42ch")
    d.same("spread", {(row["spread"], row["measurements"], row["outliers"]) for row in rows}, {("steps", "8", "0")})
    d.same("claims", {(row["p_value"], row["p_single"], row["told_apart"]) for row in rows}, {("", "", "False")})
    with open(d.path("out.json"), encoding="utf-8") as file:
        answer = json.load(file)
    d.same("JSON", (answer["is_supported"], len(answer["candidates"])), (False, 4))
    d.same("more", [answer["more"]["settings"][0], len(answer["more"]["settings"]), answer["more"]["runs_needed"]], ["256thread_42ch", 3, None])
    d.same("error", d.rows("effects")[-1]["term"], "other interactions")


def check_outlier(d):
    """A disturbed run of a slow setting hides nothing; it is named with what differs: its node, and its longer GEMMs."""
    noise = {"run_noise": 0.003, "step_noise": 0.001}
    generate.lay_out(d.path("s"), truth((256, 42), 0.03), **noise)
    generate.lay_out(d.path("odd"), lambda setting: 9000.0, repeats=3, threads=(512,), channels=(28,), **noise)
    path = "repeat_3/512thread/nccl_28channels"
    shutil.rmtree(d.path("s", path))
    shutil.move(d.path("odd", path), d.path("s", path))
    points = [{"directory": f"s/{'' if r == 1 else f'repeat_{r}/'}{t}thread/nccl_{c}channels", "repeat": r, "status": "SUCCESS",
               "values": {"threads": str(t), "channels": str(c)}, "start": f"2026-01-02T03:0{r}:{t // 256 + c}+0000",
               "attempts": [{"status": "SUCCESS", "node": "n7" if (r, t, c) == (3, 512, 28) else "n1"}]}
              for r in range(1, 6) for t in (256, 512) for c in (28, 42)]
    with open(d.path("s/sweep.json"), "w", encoding="utf-8") as file:
        json.dump({"sweep": "s", "points": points}, file)
    done = d.decide()
    d.holds("answer", done.stdout, "Use threads=256 channels=42: it is the best of 4 settings",
            "1 run is far from the other runs of its setting and left out:\n  512thread_28ch_repeat_3: ", " % slower; only run on node n7; neither GEMMs "
            "nor exposed communication explain it\n")
    row, = d.rows("outlier_runs")
    d.same("outlier", (row["run"], row["node"], row["started"], row["left_out"]),
           ("512thread_28ch_repeat_3", "n7", "2026-01-02T03:03:30+0000", "True"))
    d.near("slower", row["slower_pct"], 50, 0.05)
    d.same("counted", [(r["measurements"], r["outliers"]) for r in d.rows("recommendation") if r["setting"] == "512thread_28ch"], [("5", "1")])
    for r in d.rows("recommendation"):
        d.near("step", r["step_ms"], 5.82 if r["setting"] == "256thread_42ch" else 6, 0.01)


def check_one_setting(d):
    """Nothing to compare: the files have headings only, except for the one setting."""
    generate.lay_out(d.path("s"), truth(None), threads=(256,), channels=(28,), repeats=2)
    d.holds("answer", d.decide().stdout, "Only one setting was measured.\n")
    d.same("rows", [len(d.rows(sheet)) for sheet in SHEETS], [1, 0, 0, 2, 1, 0])


def check_threads(d):
    """The same bytes with any number of threads."""
    generate.lay_out(d.path("s"), truth((256, 28)), repeats=2)
    files = {}
    for threads in "1", "2", "8":
        d.decide("--threads", threads, "-o", threads)
        files[threads] = {name: open(d.path(threads, name), "rb").read() for name in sorted(os.listdir(d.path(threads))) if name != ".gputally"}
    d.same("same bytes", files["1"] == files["2"] == files["8"], True)
    d.same("files", sorted(files["1"]), sorted([f"{name}.csv" for name in SHEETS] + ["decision.xlsx"]))


def check_damaged(d):
    """Runs without usable traces come last and are not told apart from anything."""
    generate.lay_out(d.path("s"), truth((256, 28), 0.05), repeats=1, steps=5)
    for rank in 0, 1:
        with open(d.path("s/512thread/nccl_42channels/torch_profiler", f"rank{rank}", "trace.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents": []}')
    done = run([d.binary, "sweep", "decide", "s"], cwd=d.folder)
    d.same("exit code", done.code, 0)
    d.holds("warning", done.stderr, "512thread_42ch rank 0: not measured")
    last = d.rows("recommendation")[-1]
    d.same("last", (last["setting"], last["step_ms"], last["p_value"], last["told_apart"], last["pareto_front"]),
           ("512thread_42ch", "", "", "False", "False"))
    for name in "256thread", "512thread":
        for c in 28, 42:
            for rank in 0, 1:
                path = d.path("s", name, f"nccl_{c}channels/torch_profiler", f"rank{rank}", "trace.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write('{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1e300, "dur": -5, "pid": 0, "tid": 0}]}')
    done = run([d.binary, "sweep", "decide", "s"], cwd=d.folder)
    d.same("no crash", done.code in (0, 1), True)


def check_missing_rank(d):
    """A setting that lacks a rank, or has only a part of its trace, is not ranked: its slow rank may be the missing one."""
    generate.lay_out(d.path("s"), truth((256, 28), 0.05), repeats=2)
    for repeat in "", "repeat_2/":
        shutil.rmtree(d.path("s", f"{repeat}256thread/nccl_28channels/torch_profiler/rank1"))
    done = d.decide()
    d.holds("warning", done.stderr, "256thread_28ch: not compared: there is no whole trace of rank 1")
    d.holds("answer", done.stdout, "1 setting is not compared: threads=256 channels=28 (there is no whole trace of rank 1).")
    d.same("no best", "Use threads=256 channels=28" in done.stdout, False)
    last = d.rows("recommendation")[-1]
    d.same("last", (last["setting"], last["step_ms"], last["pareto_front"], last["not_compared"]),
           ("256thread_28ch", "", "False", "there is no whole trace of rank 1"))
    path = d.path("s/512thread/nccl_28channels/torch_profiler/rank0/trace.json")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:len(text) // 2])
    done = d.decide()
    d.holds("cut off", done.stderr, "512thread_28ch: not compared: there is no whole trace of rank 0")
    d.same("other repeat", [row["measurements"] for row in d.rows("recommendation") if row["setting"] == "512thread_28ch"], ["1"])


def check_recorded_ranks(d):
    """If all runs were recorded on the same ranks only, they can be compared; a run of fewer processes is whole."""
    generate.lay_out(d.path("s"), truth((256, 28), 0.05), repeats=3)
    for folder, _, _ in list(os.walk(d.path("s"))):
        if os.path.basename(folder) == "rank1":
            shutil.rmtree(folder)
    done = d.decide()
    d.holds("answer", done.stdout, "Use threads=256 channels=28: it is the best of 4 settings")
    d.holds("warning", done.stderr, "traces of some of their ranks only")
    shutil.rmtree(d.path("s"))
    generate.lay_out(d.path("s"), truth(None), repeats=2, channels=(28,), threads=(256,))
    generate.lay_out(d.path("s"), truth(None, base=3000.0), repeats=2, channels=(28,), threads=(512,), ranks=1)
    done = d.decide()
    d.same("fewer processes", "not compared" in done.stderr + done.stdout, False)


def check_unmeasured_collectives(d):
    """Collectives without a bandwidth are counted in one hint."""
    generate.lay_out(d.path("s"), truth(None), repeats=1, threads=(256,), steps=2)
    for folder, _, files in os.walk(d.path("s")):
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text.replace('"allreduce"', '"broadcast"'))
    done = d.decide()
    # 2 settings, 2 steps and the one that ends them, 9 in each
    d.holds("hint", done.stderr, f"{2 * 3 * 9} collectives whose ranks need not wait for each other")
    d.same("rows", d.rows("bandwidth_by_size"), [])


def check_several_traces(d):
    """Of several traces of a rank, the first by name is used, which is said once."""
    generate.lay_out(d.path("s"), truth((256, 28), 0.05), repeats=2)
    d.decide()
    rows = d.rows("recommendation")
    for setting in "256thread/nccl_28channels", "512thread/nccl_42channels":
        for rank in 0, 1:
            folder = d.path("s", setting, f"torch_profiler/rank{rank}")
            shutil.copy(os.path.join(folder, "trace.json"), os.path.join(folder, "trace_step20.json"))
            os.rename(os.path.join(folder, "trace.json"), os.path.join(folder, "trace_step10.json"))
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                file.write("{}")  # not a trace by its name
    done = d.decide()
    d.same("warnings", [line for line in done.stderr.splitlines() if "more than one" in line],
           ["gputally: warning: 2 runs have more than one trace per rank; the first by name is used, such as "
            "s/256thread/nccl_28channels/torch_profiler/rank0/trace_step10.json"])
    d.same("rows", d.rows("recommendation"), rows)


def check_two_bases(d):
    """Steps are not compared with whole traces."""
    generate.lay_out(d.path("s"), truth(None), repeats=2, threads=(256,))
    generate.lay_out(d.path("s"), truth(None), repeats=2, threads=(512,), channels=(28,))
    for repeat in "", "repeat_2/":
        for rank in 0, 1:
            path = d.path("s", f"{repeat}512thread/nccl_28channels/torch_profiler/rank{rank}/trace.json")
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
            trace["traceEvents"] = [e for e in trace["traceEvents"] if not e["name"].startswith("ProfilerStep")]
            with open(path, "w", encoding="utf-8") as file:
                json.dump(trace, file)
    done = d.decide()
    d.holds("warning", done.stderr, "512thread_28ch: not compared: its traces do not have several marked steps, others do")
    d.same("rows", [(row["setting"], row["step_ms"] != "") for row in d.rows("recommendation")][2], ("512thread_28ch", False))
    for repeat in "", "repeat_2/":
        shutil.rmtree(d.path("s", f"{repeat}256thread/nccl_42channels"))
    d.holds("one of each", d.decide().stdout, "Only one setting can be compared.\n")


# Writes the traces of a run whose step time depends on the axis `mode`; fails for one of them.
PROGRAM = """
import json, os, random, sys
sys.path.insert(0, {tests!r})
from tests.sweep import generate_decisions as generate
mode, folder = os.environ["MODE"], sys.argv[1]
dice = random.Random(folder)
length = {times!r}[mode] * dice.lognormvariate(0, 0.005)
for rank in 0, 1:
    path = os.path.join(folder, f"rank{{rank}}", "trace.json")
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as file:
        json.dump(generate.trace(rank, 2, [length] * 3, 1.0, 0.01, rank), file)
sys.exit(3 if mode == "broken" else 0)
"""


def run_program(d, times, *options):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(d.path("program.py"), "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(tests=root, times=times))
    done = run([d.binary, "sweep", "run", "--output-dir", "s", "--delay", "0", "--repeat", "4", "--quiet", *options, "--", sys.executable,
                "program.py", "{profiler_dir}"], cwd=d.folder)
    d.same("run", (done.code, done.stderr), (0, ""))


def check_any_axis(d):
    """Axes, repeats and outcomes as `sweep run` records them; the lines to export name the axis' own variable."""
    times = {"+plain": 6000, "it's": 5500, "slow one": 6600, "broken": 5000}
    run_program(d, times, "--threads", "256", "--channels", "28", "--axis", "mode=" + ",".join(times), "--axis-env", "mode=MODE")
    done = run([d.binary, "sweep", "decide", "s"], cwd=d.folder)
    d.same("exit code", done.code, 0)
    d.holds("answer", done.stdout, "best of 3 settings", "export MODE='it'\\''s'\n", "export RCCL_THREADS_PER_BLOCK=256\n")
    d.holds("failed runs", done.stderr, "4 of 16 runs did not end well and are left out")
    rows = d.rows("recommendation")
    d.same("order", [row["mode"] for row in rows], ["it's", "'+plain", "slow one"])  # no formula
    d.same("repeats", {(row["spread"], row["measurements"], row["told_apart"]) for row in rows[1:]}, {("repeats", "4", "True")})
    d.same("terms", [row["term"] for row in d.rows("effects")], ["mode", "error (repeats)"])
    done = run([d.binary, "sweep", "decide", "s", "--include_failed"], cwd=d.folder)
    d.holds("included", done.stdout, "best of 4 settings", "mode=broken")
    table = [line.split() for line in done.stdout.splitlines()]
    heads = next((words for words in table if "status" in words), [])
    d.same("status in the terminal", (heads[-2:], sum("FAILED" in words for words in table), sum("SUCCESS" in words for words in table)),
           (["status", "mode"], 1, 3))
    d.same("status", [row["status"] for row in d.rows("recommendation")], ["FAILED", "SUCCESS", "SUCCESS", "SUCCESS"])
    for place in "repeat_2/mode_slow one", "mode_broken":  # of the latter it is known already that it is not used
        shutil.rmtree(d.path("s", place))
    done = run([d.binary, "sweep", "decide", "s"], cwd=d.folder)
    d.holds("removed", done.stderr, "warning: 1 of 16 runs in sweep.json ended well, but their folders are gone: repeat_2/mode_slow one/256thread/nccl_28channels\n")
    d.same("repeats", [row["measurements"] for row in d.rows("recommendation")], ["4", "4", "3"])


def check_full_disk(d):
    """The answer is given even if the page cannot be written; then there are no other files, either."""
    generate.lay_out(d.path("s"), truth(None), repeats=1)
    line = [d.binary, "sweep", "decide", "s", "--output_dir", "o", "--output_html", "page.html"]
    done = run(line, cwd=d.folder, file_size_limit=100_000)
    d.same("exit code", done.code, 1)
    d.holds("message", done.stderr, "page.html")
    d.same("files", [name for name in files_under(d.folder) if not name.startswith("s/") and ".gputally" not in name], [])
    whole = run(line, cwd=d.folder)
    d.same("answer", (len(done.stdout) > 100, done.stdout), (True, whole.stdout[:whole.stdout.index("\nwrote ")]))


def check_hostile_traces(d):
    """Odd names, shapes and times: no crash, and the others are still compared."""
    generate.lay_out(d.path("s"), truth(None), repeats=1)
    names = ["</script><script>alert(1)</script>gemm", "gemm" * 10000, "\u202egemm\u0000", "gemm\n\r\t,\""]
    for rank in 0, 1:
        path = d.path("s/256thread/nccl_28channels/torch_profiler", f"rank{rank}", "trace.json")
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        for i, event in enumerate(trace["traceEvents"]):
            if event.get("cat") == "kernel" and event["name"] in generate.GEMM_US:
                event["name"] = names[i % 4]
                if i % 7 == 0:
                    event["dur"] = [-1e30, 0, 1e300, None][i % 4]
                if i % 11 == 0:
                    del event["ts"]
            if event.get("cat") == "cpu_op" and i % 3 == 0:
                event["args"]["Input Dims"] = [[-1, 10 ** 30], "x", {"a": []}]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)
    done = run([d.binary, "sweep", "decide", "s"], cwd=d.folder)
    d.same("exit code", (done.code, "Sanitizer" in done.stderr, "runtime error" in done.stderr), (0, False, False))
    d.same("settings", len(d.rows("recommendation")), 4)
    d.same("other settings", len([row for row in d.rows("overlap_slowdown") if row["threads"] == "512"]), 4)


def write_kernels(path, kernels):
    """A CSV file of rocprofv3: kernels are name, start and end in microseconds."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write('"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
                   '"Start_Timestamp","End_Timestamp"\n')
        for i, (name, start, end) in enumerate(kernels, 1):
            file.write(f'"KERNEL_DISPATCH","Agent 4",1,0,7,{i},{i},"{name}",{i},{int(1000000 + start * 1000)},{int(1000000 + end * 1000)}\n')


def check_rocprof(d):
    """Traces of rocprofv3: the whole trace is the step; GEMMs and collectives are found by the names of kernels."""
    for t in 256, 512:
        for repeat in "", "repeat_2", "repeat_3":
            more = (t == 512) * 40 + len(repeat) / 8 * 0.5
            kernels = [(generate.K1, 0, 100), ("ncclDevKernel_Generic_1", 150, 250), (generate.K1, 160, 240), ("elementwise", 300, 400 + more)]
            write_kernels(d.path("s", repeat, f"{t}thread/nccl_28channels/rocprof_traces/host/77_kernel_trace.csv"), kernels)
    done = d.decide()
    d.holds("answer", done.stdout, "Use threads=256 channels=28: it is the best of 2 settings", "\"step\" is the whole trace")
    rows = d.rows("recommendation")
    d.same("rows", [(row["setting"], row["measurements"], row["bus_gb_s"]) for row in rows], [("256thread_28ch", "3", ""), ("512thread_28ch", "3", "")])
    d.near("step", rows[0]["step_ms"], (400 * 400.5 * 400.5) ** (1 / 3) / 1000, 1e-6)
    d.near("GEMM", rows[0]["gemm_ms"], 0.18, 1e-6)
    d.near("exposed", rows[0]["exposed_comm_ms"], 0.02, 1e-6)
    d.near("slowdown", rows[0]["gemm_slowdown"], 0.8, 1e-6)
    generate.lay_out(d.path("s"), truth(None), repeats=1, threads=(256,), channels=(28,))
    d.decide()
    d.same("torch.profiler first", [row["setting"] for row in d.rows("recommendation") if row["step_ms"]], ["256thread_28ch"])
    again = d.rows("recommendation")
    d.near("step of torch.profiler", again[0]["step_ms"], 6, 0.1)
    d.decide("--rocprof")
    d.same("as before", d.rows("recommendation"), rows)
    done = run([d.binary, "sweep", "compare", "s", "t"], cwd=d.folder)
    shutil.copytree(d.path("s/512thread"), d.path("t/512thread"))
    done = run([d.binary, "sweep", "compare", "s", "t"], cwd=d.folder)
    d.same("compared", (done.code, "traces of torch.profiler cannot be compared with those of rocprofv3" in done.stderr), (1, True))


def check_rocprof_names(d):
    """A GEMM is not compared with another one that has the same short name: 10 us with and without a collective, beside 100 us."""
    small, large = "void gemm_kernel<64, 64, float>(float*)", "void gemm_kernel<256, 256, __half>(__half*)"
    kernels = [(small, 0, 10), (large, 20, 120), ("ncclDevKernel_Generic_1", 150, 250), (small, 160, 170), (large, 270, 370)]
    for t in 256, 512:
        write_kernels(d.path("s", f"{t}thread/nccl_28channels/rocprof_traces/host/77_kernel_trace.csv"), kernels)
    d.decide()
    rows = d.rows("overlap_slowdown")
    d.same("kernels", [(row["kernel_name"], row["us_without"], row["us_with"]) for row in rows], [(small, "10.0", "10.0")] * 2)
    d.near("slowdown", d.rows("recommendation")[0]["gemm_slowdown"], 1, 1e-9)


def check_jax(d):
    """Profiles of JAX are found below the folder of a run; the latest is used."""
    fixtures = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures/jax")

    def place(mode, time, fixture):
        path = d.path("s", f"mode_{mode}", "plugins/profile", time, "host.xplane.pb")
        os.makedirs(os.path.dirname(path))
        with gzip.open(os.path.join(fixtures, f"{fixture}.xplane.pb.gz")) as packed, open(path, "wb") as file:
            shutil.copyfileobj(packed, file)
        with open(d.path("s", f"mode_{mode}", "run_output.log"), "w", encoding="utf-8"):
            pass  # as `sweep run` writes it
    place("a", "2026_02_01_00_00_00", "matmul")
    place("b", "2026_02_01_00_00_00", "training")
    d.decide()
    rows = d.rows("recommendation")
    d.same("settings", (sorted(row["setting"] for row in rows), all(float(row["step_ms"]) > 0 for row in rows)), (["mode_a", "mode_b"], True))
    place("a", "2026_01_01_00_00_00", "attention")
    d.decide()
    d.same("earlier profile", d.rows("recommendation"), rows)
    place("a", "2026_03_01_00_00_00", "attention")
    d.decide()
    d.same("later profile", d.rows("recommendation") == rows, False)


def run_check(binary, folder, check):
    d = Decision(binary, folder)
    check(d)
    return d.problems


CHECKS = (check_best, check_no_difference, check_agreement, check_step_times, check_overlap, check_bandwidth, check_one_run, check_outlier, check_one_setting, check_threads, check_damaged,
          check_missing_rank, check_recorded_ranks, check_several_traces, check_two_bases, check_any_axis, check_full_disk, check_hostile_traces, check_rocprof, check_rocprof_names, check_jax, check_unmeasured_collectives)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], [Case(check.__name__[6:].replace("_", " "), run_check, check) for check in CHECKS]))
