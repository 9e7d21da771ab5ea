#!/usr/bin/env python3
"""`gputally sweep compare OLD NEW` on sweeps with known truth: changes, exit codes, what is missing, what the sweeps ran on.

How often a gate is wrong is tested in test_simulations.py, which simulates gates as measurements."""
import csv
import json
import math
import os
import shutil
import sys

from tests.sweep import generate_decisions as generate
from tests.sweep.generate_sweep import read_workbook
from tests.common.harness import Case, run, run_cases


class Gate:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.problems = binary, folder, []

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def lay_out(self, name, step_us=lambda s: 6000.0, **more):
        generate.lay_out(self.path(name), step_us, **{"repeats": 4, "steps": 2, **more})

    def compare(self, *words, code=0, sweeps=("old", "new")):
        done = run([self.binary, "sweep", "compare", *sweeps, *words], cwd=self.folder)
        self.same("exit code", done.code, code)
        self.same("sanitizers", "runtime error" in done.stderr or "Sanitizer" in done.stderr, False)
        return done

    def rows(self, sheet, folder="out"):
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


def check_regression(g):
    """One setting is 6 % slower, another one 6 % faster; a planted slowdown is a change of gemm_slowdown."""
    g.lay_out("old", run_noise=0.005)
    g.lay_out("new", lambda s: {(256, 28): 6360.0, (512, 42): 5640.0}.get(s, 6000.0), run_noise=0.005, seed=5,
              slowdown=lambda s: 1.3 if s == (512, 28) else 1.0)
    done = g.compare("--fail_if", "step_ms > 3% significant", "-o", "out", "--output_json", "out.json", "--output_md", "out.md", code=3)
    g.holds("answer", done.stdout, "4 settings in both sweeps: 1 worse, 1 better, 2 cannot be told apart.\nWorse:\n  256thread_28ch: step",
            "Better:\n  512thread_42ch: step", "gemm_slowdown: 1 worse and 0 better of 4 comparisons", "Met --fail_if conditions")
    settings = {row["setting"]: row for row in g.rows("sweep_settings")}
    g.same("verdicts", {name: row["verdict"] for name, row in settings.items()},
           {"256thread_28ch": "worse", "256thread_42ch": "not told apart", "512thread_28ch": "not told apart", "512thread_42ch": "better"})
    g.same("axes", (settings["512thread_42ch"]["threads"], settings["512thread_42ch"]["channels"]), ("512", "42"))
    worse = settings["256thread_28ch"]
    g.near("change", worse["change_pct"], 100 * (float(worse["new_step_ms"]) / float(worse["old_step_ms"]) - 1), 1e-9)
    g.same("interval", float(worse["change_low_pct"]) < 6 < float(worse["change_high_pct"]), True)
    changes = g.rows("sweep_changes")
    g.same("measures", [m for i, m in enumerate(row["measure"] for row in changes) if i % 4 == 0],
           ["step_ms", "exposed_comm_ms", "gemm_ms", "gemm_slowdown", "bus_gb_s"])
    slowdown = {row["setting"]: row for row in changes if row["measure"] == "gemm_slowdown"}
    g.near("slowdown", slowdown["512thread_28ch"]["new"], 1.3, 0.02)
    g.same("spread", {(row["spread"], row["measurements_old"], row["measurements_new"]) for row in changes}, {("repeats", "4", "4")})
    for row in changes:
        g.same("corrected", float(row["p_single"]) <= float(row["p_value"]) <= 1, True)
    met = g.rows("fail_if")
    g.same("met", [(row["row"], row["column"], row["condition"]) for row in met],
           [("256thread_28ch", "step_ms", "step_ms > 3% significant")])
    g.same("workbook", list(read_workbook(g.path("out/sweep_comparison.xlsx"))), ["sweep_settings", "sweep_changes", "sweep_machines", "fail_if"])
    with open(g.path("out.json"), encoding="utf-8") as file:
        answer = json.load(file)
    g.same("JSON", (answer["schema"], answer["gate"], answer["settings"]["worse"], answer["problem"]),
           ("gputally-sweep-comparison/1", "failed", ["256thread_28ch"], None))
    with open(g.path("out.md"), encoding="utf-8") as file:
        g.holds("Markdown", file.read(), "**Gate: failed**", "| 256thread\\_28ch | worse |")
    g.holds("passed", g.compare("--fail_if", "step_ms > 30% significant").stdout, "No --fail_if condition is met.")
    g.compare("--fail_if", "512*.step_ms > 3% significant")
    g.compare("--fail_if", "512*.step_ms > 3% significant", "--fail_if", "gemm_slowdown > 0.2 significant", code=3)
    g.compare("--fail_if", "step_ms < -3% significant", "--quiet", code=3)


def check_same(g):
    """A sweep compared with itself: no change, p = 1, no alarm."""
    g.lay_out("old", repeats=2)
    done = g.compare("--fail_if", "step_ms > 0% significant", "--fail_if", "step_ms > 0%", "-o", "out", sweeps=("old", "old"))
    g.holds("answer", done.stdout, "0 worse, 0 better, 4 cannot be told apart")
    g.same("changes", {(float(row["change_pct"]), float(row["p_value"])) for row in g.rows("sweep_changes")}, {(0.0, 1.0)})


def check_missing(g):
    """Settings of one sweep only, and runs that did not end well: said, and no green gate without --allow_missing."""
    g.lay_out("old", repeats=2)
    g.lay_out("new", repeats=2, channels=(28, 56))
    done = g.compare("-o", "out")
    g.holds("answer", done.stdout, "2 settings in both sweeps", "Missing in the new sweep: 256thread_42ch, 512thread_42ch\n",
            "Only in the new sweep: 256thread_56ch, 512thread_56ch\n")
    g.same("rows", [(row["setting"], row["verdict"]) for row in g.rows("sweep_settings")][1::2],
           [("256thread_42ch", "missing"), ("512thread_42ch", "missing"), ("512thread_56ch", "new")])
    done = g.compare("--fail_if", "step_ms > 50%", "--output_json", "out.json", code=1)
    g.holds("error", done.stderr, "2 settings of the old sweep are missing in the new one (--allow_missing ignores them)")
    with open(g.path("out.json"), encoding="utf-8") as file:
        g.same("JSON", json.load(file)["gate"], "not evaluated")
    g.compare("--fail_if", "step_ms > 50%", "--allow_missing")
    g.compare("--fail_if", "*_28ch.step_ms > 50%")
    g.compare("--fail_if", "256thread_56ch.step_ms > 50%", code=1)
    # all runs of a setting failed
    points = [{"directory": f"new/{'repeat_2/' if r else ''}{t}thread/nccl_28channels", "repeat": r + 1,
               "values": {"threads": str(t), "channels": "28"}, "status": "FAILED" if t == 256 else "SUCCESS"} for t in (256, 512) for r in (0, 1)]
    with open(g.path("new/sweep.json"), "w", encoding="utf-8") as file:
        json.dump({"sweep": "new", "points": points}, file)
    g.holds("failed", g.compare("--fail_if", "256thread_28ch.step_ms > 50%", code=1).stderr, "1 setting of the old sweep is missing in the new one (--allow_missing ignores it)")


def check_not_comparable(g):
    """Without the slow rank the new sweep looks better; steps and whole traces differ in any case. Neither gives a green gate."""
    g.lay_out("old", repeats=2, channels=(28,))
    g.lay_out("new", lambda s: 5000.0, repeats=2, channels=(28,))
    rank = "512thread/nccl_28channels/torch_profiler/rank1"
    for repeat in "", "repeat_2/":
        shutil.rmtree(g.path("new", repeat + rank))
    done = g.compare("--fail_if", "step_ms > 3%", "--allow_missing", "-o", "out", "--output_json", "out.json", code=1)
    g.holds("error", done.stderr, "512thread_28ch: not compared: there is no whole trace of rank 1",
            "--fail_if 'step_ms > 3%': '512thread_28ch' cannot be compared: in the new sweep, there is no whole trace of rank 1")
    g.holds("answer", done.stdout, "2 settings in both sweeps: 0 worse, 1 better, 0 cannot be told apart, 1 not comparable.",
            "Not comparable:\n  512thread_28ch: in the new sweep, there is no whole trace of rank 1\n")
    g.same("rows", [(row["setting"], row["verdict"]) for row in g.rows("sweep_settings")],
           [("256thread_28ch", "better"), ("512thread_28ch", "not comparable")])
    with open(g.path("out.json"), encoding="utf-8") as file:
        g.same("JSON", json.load(file)["settings"]["not comparable"], ["512thread_28ch"])
    g.compare("--fail_if", "256thread_28ch.step_ms > 3%")
    for repeat in "", "repeat_2/":
        shutil.rmtree(g.path("new", repeat + rank.replace("512", "256")))
    g.holds("all settings", g.compare("--fail_if", "step_ms > 3%", code=1).stderr, "in the new sweep, there is no trace of rank 1")
    shutil.rmtree(g.path("new"))
    g.lay_out("new", lambda s: 5000.0, repeats=2, channels=(28,))
    for folder, _, files in os.walk(g.path("new")):
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                trace = json.load(file)
            trace["traceEvents"] = [e for e in trace["traceEvents"] if e["name"] not in ("ProfilerStep#1", "ProfilerStep#2")]
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(trace, file)
    done = g.compare("--fail_if", "step_ms > 3%", code=1)
    g.holds("steps", done.stdout, "traces of the old sweep have several marked steps, those of the new sweep do not", "2 not comparable")


def check_one_run(g):
    """What was run once cannot be told from noise: `significant` is refused with what to do, whatever the steps are."""
    g.lay_out("old", repeats=1, steps=6, run_noise=0)
    g.lay_out("new", lambda s: 6600.0, repeats=1, steps=6, run_noise=0, seed=2)
    done = g.compare("-o", "out", "--fail_if", "step_ms > 5% significant", code=1)
    g.holds("answer", done.stdout, "0 worse, 0 better, 0 cannot be told apart, 4 run only once", "Each setting was run once, which does not show how much "
            "runs differ: no change can be told from noise. Repeat the command lines of both sweeps with --repeat 5 --skip_existing.\n")
    g.holds("error", done.stderr, "'significant' needs repeats, but 4 of 4 comparisons are with a single run, whose steps do not show how runs differ; "
            "repeat the command lines of both sweeps with --repeat 5 --skip_existing, or omit 'significant'")
    g.compare("--fail_if", "step_ms > 5%", code=3)
    g.same("claims", {(row["verdict"], row["p_value"], row["change_low_pct"]) for row in g.rows("sweep_changes")}, {("unknown", "", "")})
    spreads = {row["measure"]: (row["spread"], row["measurements_old"]) for row in g.rows("sweep_changes")}
    g.same("spreads", spreads, {"step_ms": ("steps", "6"), "exposed_comm_ms": ("steps", "6"), "gemm_ms": ("steps", "6"),
                                "gemm_slowdown": ("ranks", "2"), "bus_gb_s": ("calls", str(7 * 9))})
    exact = [row for row in g.rows("sweep_changes") if row["measure"] == "exposed_comm_ms"]
    g.near("exposed", exact[0]["old"], generate.exposed_us() / 1000, 1e-4)
    g.lay_out("short", repeats=1, steps=1, ranks=1)
    done = g.compare("--fail_if", "step_ms > 5% significant", code=1, sweeps=("short", "short"))
    g.holds("error", done.stderr, "4 of 4 comparisons are with a single run")
    # one of the sweeps has repeats
    g.lay_out("many", repeats=3, steps=2, seed=4)
    done = g.compare("--fail_if", "step_ms > 5% significant", code=1, sweeps=("many", "new"))
    g.holds("error", done.stderr, "'significant' needs repeats")
    g.compare("--fail_if", "step_ms > 5%", sweeps=("short", "short"))


def machine(rccl, torch, gpu, clock, start):
    gpus = [{"name": gpu, "vbios": "113-1", "power_limit_w": 750, "clocks": {"max": {"core_mhz": clock, "memory_mhz": 1300},
                                                                            "start": {"core_mhz": start}, "end": {"core_mhz": None}}}] * 2
    return {"host": "node1", "gpus": gpus, "amdgpu_driver": "6.10.5", "rocm": "6.3.0", "rccl": rccl, "packages": {"torch": torch}}


def check_machines(g):
    """What differs between the machines is said, from sweep.json and from the traces."""
    g.lay_out("old", repeats=2)
    g.lay_out("new", repeats=2)
    for name, sessions in (("old", [machine("2.20", "2.5", "MI300X", 2100, 130)]),
                           ("new", [machine("2.21", "2.5", "MI300X", 2100, 133), machine("2.22", "2.5", "MI325X", 2400, 133), None, 7])):
        with open(g.path(name, "sweep.json"), "w", encoding="utf-8") as file:
            json.dump({"sweep": name, "points": [], "sessions": [{"machine": m} for m in sessions]}, file)
    path = g.path("new/256thread/nccl_28channels/torch_profiler/rank0/trace.json")
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    trace = {"cuda_driver_version": 12080, "distributedInfo": {"backend": "nccl", "nccl_version": "2.21.5", "world_size": 2},
             "deviceProperties": [{"id": 0, "name": "AMD <b>Instinct</b>"}] * 2, "traceEvents": trace["traceEvents"]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)
    done = g.compare("-o", "out", "--output_md", "out.md")
    g.holds("answer", done.stdout, "The machines or their software differ:\n  GPUs: 2 x MI300X -> 2 x MI300X; 2 x MI325X\n",
            "  max core clock: 2100 MHz -> 2100 MHz; 2400 MHz\n", "  rccl: 2.20 -> 2.21; 2.22\n")
    rows = {row["fact"]: (row["old"], row["new"], row["differs"]) for row in g.rows("sweep_machines")}
    wanted = {"torch": ("2.5", "2.5", "False"), "rocm": ("6.3.0", "6.3.0", "False"), "core clock at start": ("130 MHz", "133 MHz", "False"),
              "nccl in traces": ("", "2.21.5", ""), "cuda driver in traces": ("", "12080", ""), "amdgpu driver": ("6.10.5", "6.10.5", "False"),
              "GPU power limit": ("750 W", "750 W", "False"), "ranks in traces": ("2", "2", "False"),
              "GPUs in traces": ("", "2 x AMD <b>Instinct</b>", "")}
    g.same("facts", {fact: rows.get(fact) for fact in wanted}, wanted)
    with open(g.path("out.md"), encoding="utf-8") as file:
        g.same("HTML", "<b>" in file.read(), False)


def check_axis_order(g):
    """Settings are those with the same values, whatever the order of the axes; hostile names are only text."""
    g.lay_out("plain", repeats=2, threads=(256,), channels=(28,))
    source = g.path("plain/256thread/nccl_28channels/torch_profiler")
    for name, places in (("old", ["mode_@a b/batch_8", "mode_<script>/batch_8"]), ("new", ["batch_8/mode_@a b", "batch_8/mode_<script>"])):
        for place in places:
            shutil.copytree(source, g.path(name, place, "torch_profiler"))
    done = g.compare("-o", "out", "--output_md", "out.md", "--output_json", "out.json")
    g.holds("answer", done.stdout, "2 settings in both sweeps")
    g.same("modes", {row["mode"] for row in g.rows("sweep_settings")}, {"'@a b", "<script>"})  # no formula
    with open(g.path("out.md"), encoding="utf-8") as file:
        g.same("HTML", "<script>" in file.read(), False)
    with open(g.path("out.json"), encoding="utf-8") as file:
        json.load(file)


def check_errors(g):
    g.lay_out("old", repeats=1, steps=2)
    g.lay_out("new", repeats=1, steps=2, channels=(1, 2))
    os.mkdir(g.path("empty"))
    for words, code, message in (((), 1, "the sweeps have no measured setting in common"),
                                 (("--fail_if", "nothing > 3%"), 2, "'nothing' is no measure (choose from step_ms"),
                                 (("--fail_if", "step_ms > 3% often"), 2, "is not [SETTING.]MEASURE OP NUMBER[%] [significant]"),
                                 (("--baseline", "x"), 2, "argument --baseline: not allowed with OLD NEW")):
        g.holds(str(words), g.compare(*words, code=code).stderr, message)
    g.holds("one sweep", g.compare(code=2, sweeps=("old",)).stderr, "two sweeps are compared, not 1")
    g.holds("no folder", g.compare(code=1, sweeps=("old", "nowhere")).stderr, "Sweep directory does not exist: nowhere")
    g.holds("no sweep", g.compare(code=1, sweeps=("empty", "old")).stderr, "empty")
    g.compare("-o", "out", code=1)
    g.same("no files after an error", os.path.exists(g.path("out")), False)


def check_threads(g):
    """The same bytes with any number of threads."""
    g.lay_out("old", repeats=2)
    g.lay_out("new", repeats=2, seed=9)
    files = {}
    for threads in "1", "2", "8":
        g.compare("--threads", threads, "-o", threads, "--output_json", f"{threads}/a.json", "--output_md", f"{threads}/a.md")
        files[threads] = {name: open(g.path(threads, name), "rb").read() for name in sorted(os.listdir(g.path(threads)))}
    g.same("same bytes", files["1"] == files["2"] == files["8"], True)


def run_check(binary, folder, check):
    g = Gate(binary, folder)
    check(g)
    return g.problems


CHECKS = (check_regression, check_same, check_missing, check_not_comparable, check_one_run, check_machines, check_axis_order, check_errors, check_threads)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], [Case(check.__name__[6:].replace("_", " "), run_check, check) for check in CHECKS]))
