#!/usr/bin/env python3
"""The books balance: parts of the window and causes of idle time add up exactly, for every trace there is.

    python3 -m tests.findings.test_balance --bin build/gputally [--only TEXT]

Busy time of the window is computed here from the raw events. Traces are the fixtures, those of faulty programs, a
synthetic one, and those of the conformance folder and of the folder faults next to it, if they exist.
"""
import glob
import json
import os
import sys

from tests.common import harness
from tests.findings import small_traces

GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def report(binary, trace, folder):
    path = os.path.join(folder, "out.json")
    outcome = harness.run([binary, "report", trace, "--output_json", path, "--quiet"])
    assert outcome.code == 0 and not outcome.problems(), outcome
    with open(path) as file:
        return json.load(file)


def rows(document, sheet):
    found = document["sheets"][sheet]
    return [dict(zip(found["columns"], row)) for row in found["rows"]]


def busy_us(trace, begin, end):
    """The union of the GPU events of the busiest device between two times."""
    spans, by_device = {}, {}
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in GPU and "ts" in event:
            device = event.get("args", {}).get("device", event.get("pid"))
            start, duration = float(event["ts"]), float(event.get("dur", 0))
            spans.setdefault(device, []).append((start, start + duration))
            by_device[device] = by_device.get(device, 0) + duration
    busy, until = 0.0, begin
    device = max(by_device, key=by_device.get)
    for start, stop in sorted(spans[device]):
        start, stop = max(start, until), min(stop, end)
        if stop > start:
            busy += stop - start
            until = stop
    return busy, len(spans[device])


def check(document, raw):
    facts = {row["name"]: row["value"] for row in rows(document, "overview")}
    balance = rows(document, "balance")
    window, steps = document["window_ns"], document["window_steps"]
    assert all(isinstance(row["ns"], int) for row in balance), balance
    assert sum(row["ns"] for row in balance) == window, (sum(row["ns"] for row in balance), window)
    assert [row["ns"] for row in balance if row["kind"] == "remainder"] == [0], balance
    assert all(row["ns"] > 0 for row in balance if row["kind"] != "remainder"), balance
    idle = {row["part"]: row["ns"] for row in balance if row["kind"] == "idle"}
    causes = {row["cause"]: round(row["ms"] * 1e6 * steps) for row in rows(document, "idle_causes")}
    assert idle == causes, (idle, causes)
    calls = {}
    for row in rows(document, "idle_calls"):
        calls[row["cause"]] = calls.get(row["cause"], 0) + round(row["ms"] * 1e6 * steps)
    assert calls == causes, (calls, causes)
    assert document["idle_sum_error_us"] == 0
    assert round(document["idle_ms"] * 1e6 * steps) == sum(idle.values())
    assert abs(document["busy_ms"] + document["idle_ms"] - document["recorded_ms"]) < 1e-6
    begin = facts["window_start_us"]
    busy, count = busy_us(raw, begin, begin + window / 1e3)
    ours = (window - sum(idle.values())) / 1e3
    # Times are whole nanoseconds here, and a double of the time since 1970 has steps of up to 250 ns.
    assert abs(busy - ours) < 0.6 + 0.001 * count, (busy, ours)


def traces():
    found = sorted(glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz")))
    found += sorted(glob.glob(os.path.join(harness.ROOT, "tests", "findings", "traces", "*.json.gz")))
    found += sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "*.json.gz")))
    found += sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "*", "**", "*.json*"), recursive=True))
    found += sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "..", "..", "faults", "*.json.gz")))
    return harness.not_large(found)


def gpu_trace(path):
    """The trace, or None if the file is no PyTorch trace with GPU events."""
    try:
        trace = small_traces.read(path)
    except (ValueError, OSError):
        return None
    events = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(events, list) or not any(isinstance(e, dict) and e.get("cat") in GPU for e in events):
        return None
    return trace


def check_trace(binary, folder, path):
    raw = gpu_trace(path)
    if raw is not None:
        check(report(binary, path, folder), raw)
    return []


def check_small(binary, folder):
    return check_trace(binary, folder, small_traces.write(os.path.join(folder, "small.json"), small_traces.training()))


CASES = [harness.Case("synthetic", check_small)] + [harness.Case(os.path.relpath(path, harness.ROOT), check_trace, path) for path in traces()]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
