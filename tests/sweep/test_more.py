#!/usr/bin/env python3
"""`gputally sweep run --more N`: more runs of the settings that `decide` cannot tell apart, also after an interruption.

With SLURM: test_slurm.py."""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from tests.common.harness import ROOT, WALL_SECONDS, Case, run, run_cases
from tests.sweep import generate_decisions

# Writes the trace of a run: batch 2 is 4 % faster than 1 and 3, and batch 4 is 10 % slower. Each run of a setting has another of five
# deviations, so that every second run is not the same. Waits while the file `wait` is there.
PROGRAM = f"""
import json, os, sys, time
sys.path.insert(0, {ROOT!r})
from tests.sweep import generate_decisions as generate
folder, batch = sys.argv[1], int(sys.argv[2])
repeat = int(folder.split("repeat_")[1].split("/")[0]) if "repeat_" in folder else 1
open("began", "a").write(folder + "\\n")
while os.path.exists("wait") and repeat > 1:
    time.sleep(0.02)
length = 6000 * {{1: 1, 2: 0.96, 3: 1.001, 4: 1.1}}[batch] * (1 + 0.002 * (-1, 1, 0, 2, -2)[(repeat + batch) % 5])
os.makedirs(folder + "/rank0")
json.dump(generate.trace(0, 1, [length * 1.001, length, length * 0.999], 1.0, 0.0, 3), open(folder + "/rank0/trace.json", "w"))
"""
GRID = ["--threads", "none", "--channels", "none", "--axis", "batch=1,2,3,4", "--axis_env", "batch=B", "--delay", "0", "--output_dir", "s"]
COMMAND = ["--", "python3", "program.py", "{profiler_dir}", "{batch}"]


class Sweep:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.problems = binary, folder, []
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, code=0, command=COMMAND):
        done = run([self.binary, "sweep", "run", *GRID, *words, *command], cwd=self.folder)
        self.same(f"exit code of {words}: {done.stdout} {done.stderr}", done.code, code)
        return done

    def decide(self):
        done = run([self.binary, "sweep", "decide", "s", "--output_json", "d.json"], cwd=self.folder)
        self.problems += done.problems()
        with open(self.path("d.json"), encoding="utf-8") as file:
            return done.stdout, json.load(file)

    def runs(self, status="SUCCESS"):
        """{batch: numbers of its repeats with this status}"""
        found = {}
        with open(self.path("s/sweep.json"), encoding="utf-8") as file:
            for point in json.load(file)["points"]:
                if point["status"] == status:
                    found.setdefault(int(point["values"]["batch"]), []).append(point["repeat"])
        return {batch: sorted(repeats) for batch, repeats in sorted(found.items())}

    def same(self, what, got, wanted):
        if got != wanted:
            self.problems.append(f"{what}: {got!r}, not {wanted!r}")

    def holds(self, what, text, *parts):
        self.problems += [f"{what} lacks {part!r}: {text!r}" for part in parts if part not in text]


def check_more(s):
    """From one run per setting to a decision: the fastest three get runs, the other one a second run, and nothing more is run when the best is known."""
    s.run()
    text, answer = s.decide()
    s.holds("one run each", text, "No setting is supported as the best", "Add runs to batch=2; batch=3; batch=1. Repeat the command line")
    s.same("supported", answer["is_supported"], False)
    s.same("what to add to", answer["more"], {"settings": ["batch_2", "batch_3", "batch_1"], "runs_needed": None})
    s.holds("dry run", s.run("--more", "4", "--dry_run").stdout, "# batch=2, repeat 5\n")
    s.holds("log", s.run("--more", "4", "--seed", "7").stdout, "13 more runs, in random order (seed 7)")
    s.same("runs", s.runs(), {1: [1, 2, 3, 4, 5], 2: [1, 2, 3, 4, 5], 3: [1, 2, 3, 4, 5], 4: [1, 2]})
    text, answer = s.decide()
    s.holds("answer", text, "Use batch=2: it is the best of 4 settings")
    s.same("supported", (answer["is_supported"], answer["more"]["settings"]), (True, []))
    s.holds("nothing to do", s.run("--more", "4").stdout, "Use batch=2", "Nothing to run: --more adds runs to settings that cannot be told apart.")
    s.same("no runs", len(s.runs()[2]), 5)


def check_interrupted(s):
    """Killed in the middle: the same command line runs what is left, and only that; the next one adds further runs."""
    s.run()
    with open(s.path("wait"), "w", encoding="utf-8"):
        pass
    os.remove(s.path("began"))
    process = subprocess.Popen([s.binary, "sweep", "run", *GRID, "--more", "1", *COMMAND], cwd=s.folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    until = time.monotonic() + WALL_SECONDS
    while not os.path.exists(s.path("began")) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.remove(s.path("wait"))
    s.same("left", s.runs("PENDING"), {1: [2], 2: [2], 3: [2], 4: [2]})
    s.run("--more", "1")
    s.same("continued", (s.runs(), s.runs("PENDING")), ({1: [1, 2], 2: [1, 2], 3: [1, 2], 4: [1, 2]}, {}))
    done = s.run("--more", "1", "--skip_existing", "--dry_run")
    s.same("one more", ("# batch=2, repeat 3\n" in done.stdout, done.stderr), (True, ""))


def check_single_run(s):
    """A run that something disturbed does not hide the best setting: what was run once is not told apart, however slow it was."""
    s.run("--repeat", "5")
    for repeat in range(2, 6):
        shutil.rmtree(s.path(f"s/repeat_{repeat}/batch_2"))
    with open(s.path("s/batch_2/torch_profiler/rank0/trace.json"), "w", encoding="utf-8") as file:
        length = 6000 * 0.96 * 1.3
        json.dump(generate_decisions.trace(0, 1, [length * 1.001, length, length * 0.999], 1.0, 0.0, 3), file)
    done = run([s.binary, "sweep", "decide", "s", "--output_json", "d.json"], cwd=s.folder)
    s.holds("answer", done.stdout, "No setting is supported as the best", "1 setting was run once and cannot be told apart: something may have disturbed that run.\n", "batch=2")
    with open(s.path("d.json"), encoding="utf-8") as file:
        answer = json.load(file)
    s.same("supported", (answer["is_supported"], "batch_2" in answer["candidates"], "batch_2" in answer["more"]["settings"]), (False, True, True))
    with open(s.path("s/tracelens_analysis/recommendation.csv"), newline="", encoding="utf-8") as file:
        row, = (row for row in csv.DictReader(file) if row["setting"] == "batch_2")
    s.same("claims", (row["p_value"], row["p_single"], row["told_apart"]), ("", "", "False"))


def check_gate(s):
    """What the gate says to do with single runs makes it say something, of all settings."""
    s.run()

    def gate():
        return run([s.binary, "sweep", "compare", "s", "s", "--fail_if", "step_ms > 1% significant"], cwd=s.folder)
    first = gate()
    s.same("refused", (first.code, "4 of 4 comparisons are with a single run" in first.stderr), (1, True))
    words = re.search("with (--repeat 5 --skip_existing)", first.stderr)[1].split()
    s.run(*words)
    s.same("runs", s.runs(), {batch: [1, 2, 3, 4, 5] for batch in (1, 2, 3, 4)})
    s.same("passed", gate().code, 0)


def check_failed_run(s):
    """A run that failed does not count: its number is used again."""
    s.run()
    with open(s.path("s/sweep.json"), encoding="utf-8") as file:
        record = json.load(file)
    points = [point for point in record["points"] if point["values"]["batch"] == "1"]
    record["points"].append({**points[0], "repeat": 2, "directory": "s/repeat_2/batch_1", "status": "FAILED", "exit_code": 1})
    record["repeats"] = 2
    with open(s.path("s/sweep.json"), "w", encoding="utf-8") as file:
        json.dump(record, file)
    s.run("--more", "1")
    s.same("runs", s.runs(), {1: [1, 2], 2: [1, 2], 3: [1, 2], 4: [1, 2]})


def check_errors(s):
    s.holds("no sweep", s.run("--more", "1", code=1).stderr, "s: has no sweep.json: --more adds runs to a sweep of `sweep run`")
    s.run()
    for words, code, command, message in (
            (("--more", "1"), 1, ["--", "python3", "program.py", "{profiler_dir}", "2"],
             "--more adds runs of the command of the sweep, which is: python3 program.py '{profiler_dir}' '{batch}'"),
            (("--more", "0"), 2, COMMAND, "argument --more: must be at least 1"),
            (("--more", "1", "--repeat", "2"), 2, COMMAND, "argument --more: not allowed with --repeat"),
            (("--more", "2000"), 2, COMMAND, "argument --more: must be at most")):
        s.holds(str(words), s.run(*words, code=code, command=command).stderr, message)
    done = run([s.binary, "sweep", "run", *GRID[:-2], "--more", "1", *COMMAND], cwd=s.folder)
    s.holds("no folder", done.stderr, "argument --more: needs --output_dir, the sweep to add runs to")
    other = [word.replace("1,2,3,4", "3,4") for word in GRID]
    done = run([s.binary, "sweep", "run", *other, "--more", "1", *COMMAND], cwd=s.folder)
    s.holds("another grid", done.stderr, "--more: batch_2 is not in the grid of this call; repeat the command line of the sweep")
    s.same("runs", s.runs(), {1: [1], 2: [1], 3: [1], 4: [1]})


def run_check(binary, folder, check):
    sweep = Sweep(binary, folder)
    check(sweep)
    return sweep.problems


CHECKS = (check_more, check_interrupted, check_single_run, check_gate, check_failed_run, check_errors)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], [Case(check.__name__[6:].replace("_", " "), run_check, check) for check in CHECKS]))
