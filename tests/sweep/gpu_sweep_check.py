#!/usr/bin/env python3
"""Compares the sweep of gpu_sweep.sh with what is known about its settings (gpu_sweep_program.py says why).

    gpu_sweep_check.py FOLDER        prints one line per expectation; exit status 1 if one is not met

FOLDER/answer.txt is what `gputally sweep decide` printed.
"""
import csv
import json
import os
import sys

EXPORT = "export MATMUL_PRECISION=high"


def rows_of(folder, name):
    with open(os.path.join(folder, "tracelens_analysis", name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_fast(row):
    return (row["size"], row["precision"]) == ("4096", "high")


def expectations(folder):
    """(what is expected, whether it is so, what was found)"""
    with open(os.path.join(folder, "sweep.json"), encoding="utf-8") as file:
        points = json.load(file)["points"]
    ended_well = sum(p["status"] == "SUCCESS" and len(p["attempts"]) == 1 for p in points)
    yield "all 40 runs ended well, at the first attempt", (ended_well, len(points)) == (40, 40), f"{ended_well} of {len(points)}"

    rows = rows_of(folder, "recommendation.csv")
    yield "8 settings are ranked, each measured by 5 repeats", [(r["spread"], r["measurements"]) for r in rows] == [("repeats", "5")] * 8, \
        f"{len(rows)} settings"
    found = ", ".join(r["setting"] for r in rows[:2])
    yield "the two fastest settings have size 4096 and precision high", all(map(is_fast, rows[:2])), found
    apart = [r["setting"] for r in rows if r["told_apart"] == "True"]
    slow = [r["setting"] for r in rows if not is_fast(r)]
    yield "the six other settings are told apart from the fastest", set(slow) <= set(apart), f"{len(set(slow) & set(apart))} of {len(slow)}"
    slower = min((float(r["difference_pct"]) for r in rows if not is_fast(r)), default=0)
    yield "... and at least 5 % slower", slower >= 5, f"{slower:.1f} %"

    effects = {r["term"]: r for r in rows_of(folder, "effects.csv")}
    for axis in "size", "precision":
        p = float(effects[axis]["p_value"])
        yield f"the {axis} has an effect (p below 0.001)", p < 0.001, f"p = {p:.2g}, {float(effects[axis]['share_pct']):.1f} % of the variance"
    share = float(effects["allocator"]["share_pct"])
    yield "the allocator explains less than 1 % of the variance", share < 1, f"{share:.4f} %"

    with open(os.path.join(folder, "answer.txt"), encoding="utf-8") as file:
        answer = file.read().splitlines()
    yield f"the answer says {EXPORT}", EXPORT in answer, answer[0] if answer else "no answer"


def main():
    failed = 0
    for what, is_met, found in expectations(sys.argv[1]):
        failed += not is_met
        print(f"{'ok    ' if is_met else 'FAILED'} {what}: {found}")
    print("all expectations are met" if not failed else f"{failed} expectations are not met")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
