#!/usr/bin/env python3
"""gpu_sweep.sh, the sweep on a real GPU, with synthetic traces: it runs through, and its check fails where it should."""
import csv
import io
import os
import sys

from tests.common.harness import ROOT, Case, run, run_cases

SCRIPT = os.path.join(ROOT, "tests", "sweep", "gpu_sweep.sh")
CHECK = os.path.join(ROOT, "tests", "sweep", "gpu_sweep_check.py")


def edited(path, edit):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    changed = edit(text)
    assert changed != text, f"nothing to change in {path}: {text}"
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(changed)
    return text


def none_told_apart(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows({**row, "told_apart": "False"} for row in rows)
    return out.getvalue()


def check_script(binary, folder):
    sweep = os.path.join(folder, "a sweep")
    done = run([SCRIPT, "--without_gpu", binary, sweep], cwd=folder)
    problems = done.problems()
    if done.code or not done.stdout.endswith("all expectations are met\n"):
        return problems + [f"exit {done.code}: {done.stdout[-500:]} {done.stderr[-500:]}"]
    changes = [("tracelens_analysis/recommendation.csv", lambda t: t.replace(",4096,", ",4095,"), "FAILED the two fastest settings"),
               ("tracelens_analysis/recommendation.csv", none_told_apart, "FAILED the six other settings"),
               ("tracelens_analysis/effects.csv", lambda t: t.replace("allocator,", "x,").replace("size,", "allocator,").replace("\nx,", "\nsize,"),
                "FAILED the allocator explains"),
               ("sweep.json", lambda t: t.replace('"SUCCESS"', '"FAILED"', 1), "FAILED all 40 runs"),
               ("answer.txt", lambda t: t.replace("PRECISION=high", "PRECISION=highest"), "FAILED the answer says")]
    for name, edit, expected in changes:
        before = edited(os.path.join(sweep, name), edit)
        done = run([CHECK, sweep])
        if done.code != 1 or expected not in done.stdout:
            problems.append(f"{expected!r} is not in {done.stdout!r} {done.stderr!r}")
        edited(os.path.join(sweep, name), lambda _: before)
    again = run([SCRIPT, "--without_gpu", binary, sweep], cwd=folder)
    if again.code != 2 or "already holds a sweep" not in again.stderr:
        problems.append(f"second sweep in the folder: exit {again.code}, {again.stderr!r}")
    return problems


if __name__ == "__main__":
    sys.exit(run_cases(__doc__, [Case("script", check_script)]))
