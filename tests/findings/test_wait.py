#!/usr/bin/env python3
"""Waiting is neither Python code nor launching: who is waited for, and what the repair gains, of small loops and of a real one.

    python3 -m tests.findings.test_wait --bin build/gputally
"""
import json
import os
import sys

from tests.common import harness
from tests.findings import small_traces

REAL = os.path.normpath(os.path.join(harness.CONFORMANCE_TRACES, "..", "..", "faults2"))
LOCK = "<built-in method acquire of _thread.lock object at 0x7f0000000000>"

# {who: (functions around the call, a part of the advice)}
WHO = {
    "a queue": (("queue.py(154): get",), "queue"),
    "the next request": (("engine.py(9): next_request", "queue.py(154): get"), "requests"),
    "another thread": (("concurrent/futures/_base.py(428): result",), "collect the result later"),
    "another process": (("subprocess.py(9): communicate",), "more processes"),
    "a lock": (("threading.py(12): __enter__",), "holds this lock"),
    "a collective on the CPU": (("torch/distributed/distributed_c10d.py(9): all_reduce",), "NCCL"),
    "input data": (("my_prefetch.py(9): next_item",), "Fill the queue faster"),
    "something outside of the trace": ((), "start that earlier"),
}
WAIT_US = 1500.0


def loop(functions, call, wait_us=WAIT_US):
    """Each step waits before its first kernel, below these functions."""
    trace = small_traces.training(5)
    for event in [event for event in trace["traceEvents"] if event["name"] == small_traces.LOADER]:
        event.update(name="train.py(44): wait_for_work", dur=wait_us + 20)
        for depth, name in enumerate((*functions, call)):
            trace["traceEvents"].append(small_traces.host("python_function", name, event["ts"] + 1 + depth, wait_us + 18 - 2 * depth))
    for event in trace["traceEvents"]:
        if event["cat"] in ("cpu_op", "cuda_runtime", "kernel"):
            event["ts"] += wait_us - small_traces.DATA_US + 30
    return trace


def findings(binary, path, out):
    outcome = harness.run([binary, "report", path, "--output_csvs_dir", out, "--output_json", out + ".json"])
    assert outcome.code == 0 and not outcome.problems(), outcome.stderr
    with open(out + ".json", encoding="utf-8") as file:
        return json.load(file)


def check_who(binary, folder, who):
    functions, advice = WHO[who]
    call = "<built-in function select>" if who.startswith("something") else LOCK
    path = small_traces.write(os.path.join(folder, "t.json"), loop(functions, call))
    document = findings(binary, path, os.path.join(folder, "out"))
    first, wanted = document["findings"][0], "data_stall" if who == "input data" else "wait"
    problems = [] if first["id"] == wanted and f"for {who};" in first["title"] and advice in first["advice"] else [str(first)]
    idle = {row["cause"]: row["ms"] for row in document["idle_causes"]}
    if idle["python"] > .05 or not 1.2 < idle["wait"] < 1.5:
        problems.append(str(idle))
    return problems


def check_short(binary, folder):
    """Under 200 us, and for functions that compute, nothing waits."""
    problems = []
    for name, call, wait_us in (("short", LOCK, 150.0), ("computes", "<built-in function sum>", WAIT_US)):
        path = small_traces.write(os.path.join(folder, name + "_trace.json"), loop((), call, wait_us))
        found = [row["id"] for row in findings(binary, path, os.path.join(folder, name))["findings"]]
        problems += [f"{name}: {found}"] if "wait" in found else []
    return problems


def check_real(binary, folder):
    """A training loop that waits for a queue: measured with and without, not profiled."""
    with open(os.path.join(REAL, "faults.json"), encoding="utf-8") as file:
        truth = json.load(file)["lm_queue_wait"]
    first = findings(binary, os.path.join(REAL, "lm_queue_wait.json.gz"), os.path.join(folder, "real"))["findings"][0]
    gain = truth["step_ms"] - truth["repaired_ms"]
    right = first["id"] == "wait" and "a queue" in first["title"] and .75 * gain < first["gain_ms"] < 1.25 * gain
    return [] if right else [f"measured {gain}: {first}"]


CASES = [harness.Case(who, check_who, who) for who in WHO] + [harness.Case("no wait", check_short)]
if os.path.isdir(REAL):
    CASES.append(harness.Case("a real loop", check_real))

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
