#!/usr/bin/env python3
"""Real servers with one planted fault each: it is the first finding, with its phase, place and gain, and what a comparison with the
healthy server says of decode steps. The truth was measured without a profiler. Skipped without the traces.

    python3 -m tests.serving.test_faults --bin build/gputally [--only TEXT]
"""
import csv
import json
import os
import sys

from tests.common import harness

FOLDER = os.path.normpath(os.path.join(harness.CONFORMANCE_TRACES, "..", "..", "serving", "faults"))

# {fault: (rule, phase, a part of the place, a part of the advice)}
FIRST = {
    "scheduler": ("decode_gap", "decode", "schedule_requests", "scheduler"),
    "detokenize": ("decode_gap", "decode", "detokenize", "asynchronously"),
    "host_sampling": ("decode_gap", "decode", "sample_on_host", "on the GPU"),
    "eager_decode": ("launch_bound", "decode", "decode -> ", "Capture decode"),
    "prefill_sync": ("host_sync", "prefill", "item()", ".item()"),
}


def path_of(fault):
    return os.path.join(FOLDER, f"srv_{fault}.json.gz")


def truth_of(fault):
    with open(os.path.join(FOLDER, "faults.json"), encoding="utf-8") as file:
        return json.load(file)[f"srv_{fault}"]


def run(*command):
    outcome = harness.run([str(word) for word in command])
    assert outcome.code == 0 and not outcome.problems(), outcome.stderr
    return outcome


def check_first(binary, folder, fault):
    out = os.path.join(folder, fault)
    run(binary, "report", path_of(fault), "--output_csvs_dir", out)
    with open(os.path.join(out, "findings.csv"), newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    rule, phase, place, advice = FIRST[fault]
    problems = [] if (first["id"], first["phase"]) == (rule, phase) else [f"first is {first['id']} in {first['phase']} steps"]
    if place not in first["where"] or advice not in first["advice"]:
        problems.append(f"{first['where']}: {first['advice']}")
    if phase == "decode":
        truth, gain = truth_of(fault), float(first["phase_gain_ms"])
        true_ms = truth["decode_ms"] - truth["repaired_decode_ms"]
        if not .75 * true_ms <= gain <= 1.25 * true_ms:
            problems.append(f"a gain of {gain} ms per decode step, measured {true_ms:.3f}")
    return problems


def check_change(binary, folder, fault):
    """What the comparison with the healthy server says of decode; launching from Python costs more while it is profiled."""
    out = os.path.join(folder, fault + ".json")
    run(binary, "compare", path_of("healthy"), path_of(fault), "--sheets", "waterfall", "--output_json", out)
    with open(out, encoding="utf-8") as file:
        row = next(row for row in json.load(file)["phase_changes"] if row["phase"] == "decode")
    truth = truth_of(fault)
    true_ms, most = truth["decode_ms"] - truth["repaired_decode_ms"], 2 if fault == "eager_decode" else 1.25
    if not .75 * true_ms - .1 <= row["delta_ms"] <= most * true_ms + .1:
        return [f"decode changed by {row['delta_ms']} ms, measured {true_ms:.3f}"]
    return [] if row["a_alike"] == row["a_steps"] == row["b_alike"] == row["b_steps"] == 96 else [str(row)]


def cases():
    for fault in FIRST:
        yield harness.Case(f"first finding: {fault}", check_first, fault)
        yield harness.Case(f"compared: {fault}", check_change, fault)


if __name__ == "__main__":
    if not os.path.isdir(FOLDER):
        print("skipped servers with planted faults: GPUTALLY_CONFORMANCE is not set, or the folder beside it is missing")
        sys.exit(harness.ALL_SKIPPED)
    sys.exit(harness.run_cases(__doc__.splitlines()[0], list(cases())))
