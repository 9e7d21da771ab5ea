#!/usr/bin/env python3
"""How often do gains come true? Measured over predicted gains of real programs, as the table of docs/findings.md.

    python3 -m tests.findings.calibration --bin build/gputally

The programs are those of test_faults: their step times were measured without the profiler, with the fault and after its repair.
"""
import argparse
import json
import os
import statistics
import tempfile

from tests.findings import test_faults


def ratios(binary):
    """{rule: [(measured / predicted, confidence, name)]}; repairs without a clear effect, and faults that are not found, do not count."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for traces in (test_faults.HERE, test_faults.SHARED, test_faults.SHARED_2):
            path = os.path.join(traces, "faults.json")
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as file:
                entries = json.load(file)
            for name, entry in entries.items():
                if entry["fault"] in test_faults.HEALTHY:
                    continue
                findings = test_faults.findings(binary, os.path.join(traces, name + ".json.gz"), folder)
                for fault, after in (entry.get("repaired_one_ms") or {entry["fault"]: entry["repaired_ms"]}).items():
                    gain = entry["step_ms"] - after
                    mine = next((f for f in findings if f["id"] in test_faults.IDS.get(fault, (fault,))), None)
                    if mine and gain > test_faults.MEASURABLE * entry["step_ms"]:
                        found.setdefault(mine["id"], []).append((gain / mine["gain_ms"], mine["confidence"], name))
    return found


def row(name, values):
    near, close = (sum(1 / most <= value <= most for value in values) for most in (4 / 3, 2))
    return f"| {name} | {len(values)} | {min(values):.2f} | {statistics.median(values):.2f} | {max(values):.2f} | {near} | {close} |"


def table(found):
    lines = ["| rule | programs | least | median | most | within 0.75 to 1.33 | within 0.5 to 2 |", "|---|---:|---:|---:|---:|---:|---:|"]
    lines += [row(f"`{rule}`", [value for value, *_ in found[rule]]) for rule in sorted(found)]
    every = sorted(value for values in found.values() for value, *_ in values)
    lines.append(row("all", every))
    cut = len(every) // 20
    lines.append(f"\nNine of ten lie between {every[cut]:.2f} and {every[-1 - cut]:.2f} times the predicted gain.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    print(table(ratios(parser.parse_args().bin)))


if __name__ == "__main__":
    main()
