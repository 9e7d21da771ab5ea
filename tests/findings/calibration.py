#!/usr/bin/env python3
"""How often do gains come true? Measured over predicted gains of real programs, as the tables of docs/findings.md.

    python3 -m tests.findings.calibration --bin build/gputally FOLDER...

Each folder has traces and a faults.json: step times that were measured without the profiler, with the fault and after its repair.
The kinds of rules are those of src/findings/gain_ranges.c, whose ranges are the last columns of the second table.
"""
import argparse
import json
import math
import os
import re
import statistics
import tempfile

from tests.common import harness
from tests.findings import test_faults

# Student's t, one-sided 95 %, by degrees of freedom.
T95 = [math.nan, 6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729,
       1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697]


def repairs(entry, findings):
    """[(finding, measured gain in ms, predicted gain)] of what was repaired in one program; of servers, in a decode step."""
    if "decode_ms" in entry:
        first = next((f for f in findings if f.get("phase") == "decode"), None)
        return [(first, entry["decode_ms"] - entry["repaired_decode_ms"], first["phase_gain_ms"])] if first else []
    found = []
    for fault, after in (entry.get("repaired_one_ms") or {entry["fault"]: entry["repaired_ms"]}).items():
        mine = next((f for f in findings if f["id"] in test_faults.IDS.get(fault, (fault,))), None)
        if mine:
            found.append((mine, entry["step_ms"] - after, mine["gain_ms"]))
    return found


def measured_cases(binary, folders):
    """[(finding, measured / predicted, name)]; repairs without a clear effect, and faults that are not found, do not count."""
    cases = []
    with tempfile.TemporaryDirectory() as out:
        for traces in folders:
            with open(os.path.join(traces, "faults.json"), encoding="utf-8") as file:
                entries = json.load(file)
            for name, entry in entries.items():
                if entry["fault"] in test_faults.HEALTHY:
                    continue
                findings = test_faults.findings(binary, os.path.join(traces, name + ".json.gz"), out)
                for finding, gain, predicted in repairs(entry, findings):
                    if gain > test_faults.MEASURABLE * entry["step_ms"]:
                        cases.append((finding, gain / predicted, name))
    return cases


def kinds():
    """{rule: kind} of gain_ranges.c."""
    with open(os.path.join(harness.ROOT, "src", "findings", "gain_ranges.c"), encoding="utf-8") as file:
        return dict(re.findall(r'^    \{"(\w+)", (\w+)\},', file.read(), re.MULTILINE))


def kind_of(finding, kind_of_rule):
    kind = kind_of_rule[finding["id"]]
    return "OTHER" if kind == "KERNELS" and finding["confidence"] != "high" else kind


def interval(ratios):
    """(low, expected, high): a new ratio lies between the borders with a probability of nine in ten, if they are log-normal."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, freedom = statistics.mean(logs), len(logs) - 1
    reach = T95[min(freedom, len(T95) - 1)] * statistics.stdev(logs) * math.sqrt(1 + 1 / len(logs))
    return tuple(math.exp(mean + step) for step in (-reach, 0, reach))


def holds(finding, ratio):
    """Whether the range that the program gave has the measured gain."""
    return finding["gain_low_ms"] <= ratio * finding["gain_ms"] <= finding["gain_high_ms"]


def left_out(cases, kind_of_rule):
    """How many ratios lie in the interval of the other models' programs of their kind."""
    inside = 0
    for finding, ratio, name in cases:
        others = [other for f, other, n in cases if kind_of(f, kind_of_rule) == kind_of(finding, kind_of_rule) and n.split("_")[0] != name.split("_")[0]]
        low, _, high = interval(others)
        inside += low <= ratio <= high
    return inside


def rule_row(name, cases):
    values = [ratio for _, ratio, _ in cases]
    near, close = (sum(1 / most <= value <= most for value in values) for most in (4 / 3, 2))
    return (f"| {name} | {len(values)} | {min(values):.2f} | {statistics.median(values):.2f} | {max(values):.2f} | {near} | {close} | "
            f"{sum(holds(finding, ratio) for finding, ratio, _ in cases)} |")


def tables(cases):
    lines = ["| rule | programs | least | median | most | within 0.75 to 1.33 | within 0.5 to 2 | in the shown range |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for rule in sorted({finding["id"] for finding, *_ in cases}):
        lines.append(rule_row(f"`{rule}`", [case for case in cases if case[0]["id"] == rule]))
    lines += [rule_row("all", cases), "", "| kind | rules | programs | low | expected | high |", "|---|---|---:|---:|---:|---:|"]
    kind_of_rule = kinds()
    for kind in sorted(set(kind_of_rule.values())):
        mine = [(finding["id"], ratio) for finding, ratio, _ in cases if kind_of(finding, kind_of_rule) == kind]
        rules = ", ".join(f"`{rule}`" for rule in sorted({rule for rule, _ in mine}))
        lines.append(f"| {kind} | {rules} | {len(mine)} | " + " | ".join(f"{value:.2f}" for value in interval([ratio for _, ratio in mine])) + " |")
    return "\n".join([*lines, "", f"Predicted from other models: {left_out(cases, kind_of_rule)} of {len(cases)} in the range."])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("folders", nargs="*", default=[test_faults.HERE])
    options = parser.parse_args()
    print(tables(measured_cases(options.bin, options.folders)))


if __name__ == "__main__":
    main()
