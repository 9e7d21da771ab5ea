#!/usr/bin/env python3
"""Ranges that a program marks (record_function) are the place of idle time that nothing else explains.

    python3 -m tests.findings.test_ranges --bin build/gputally [--only TEXT]

A step of the traces runs 2 ms of host code that calls nothing, then launches 20 kernels of 30 us. Expected times are these.
"""
import json
import os
import sys

from tests.common import harness
from tests.findings import small_traces
from tests.findings.small_traces import host, kernel

CODE_US, KERNELS, KERNEL_US, OP_US = 2000.0, 20, 30.0, 12.0
STEP_US = CODE_US + KERNELS * OP_US + 100


def training(*ranges, stacks=False, code_us=CODE_US, steps=5):
    """Each range is (name, its start in the step, its length); the host code is from 10 to 10 + code_us. Stacks are
    those of another thread."""
    events, on_gpu, correlation = [], [], 1
    step_us = code_us + KERNELS * OP_US + 100
    for number in range(steps):
        begin = 1e6 + number * (step_us + 5)
        events.append(host("user_annotation", f"ProfilerStep#{number}", begin, step_us))
        events += [host("user_annotation", name, begin + start, length) for name, start, length in ranges]
        for i in range(KERNELS):
            at = begin + 10 + code_us + i * OP_US
            events.append(host("cpu_op", "aten::mm", at, OP_US - 1))
            events.append(host("cuda_runtime", "cudaLaunchKernel", at + 3, 4.0, correlation=correlation))
            on_gpu.append(kernel(at + 10 + i * (KERNEL_US + 1 - OP_US), KERNEL_US, correlation))
            correlation += 1
        if stacks:
            events.append({**host("python_function", "logger.py(3): run", begin, step_us), "tid": 200})
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0}],
            "traceEvents": events + on_gpu}


def report(binary, folder, trace):
    path = small_traces.write(os.path.join(folder, "t.json"), trace)
    target = os.path.join(folder, "out.json")
    outcome = harness.run([binary, "report", path, "--output_json", target, "--no_html"])
    assert outcome.code == 0, outcome.stderr
    with open(target, encoding="utf-8") as file:
        document = json.load(file)
    found = {finding["id"]: finding for finding in document["findings"]}
    return document, found["host_untraced"], outcome.stdout


def sites_of(document):
    """Of untraced idle time: the site and host call with their ms."""
    sheet = document["sheets"]["idle_calls"]
    rows = [dict(zip(sheet["columns"], row)) for row in sheet["rows"]]
    return {(row["site"], row["host_call"]): row["ms"] for row in rows if row["cause"] == "untraced"}


def unexplained_pct(document):
    return next(check["value"] for check in document["trust"]["checks"] if check["id"] == "T12")


def idle_ms(document):
    cause = next(cause for cause in document["idle_causes"] if cause["cause"] == "untraced")
    assert abs(sum(cause["ms"] for cause in document["idle_causes"]) - document["idle_ms"]) < 1e-6, document["idle_causes"]
    return cause["ms"], cause["top_sites"]


def check_named(binary, folder):
    document, found, text = report(binary, folder, training(("my_preprocess", 5, CODE_US)))
    idle, top = idle_ms(document)
    assert idle > 1 and abs(top[0]["ms"] - idle) < 0.02 and top[0]["site"] == "my_preprocess", (idle, top)
    assert found["where"] == "my_preprocess" and found["confidence"] == "medium", found
    assert found["title"] == f"Host code in the range my_preprocess holds up the GPU for {idle:.2f} ms per step", found["title"]
    assert found["evidence"][0].startswith("in the range my_preprocess: the GPU is idle for "), found["evidence"]
    assert "the range my_preprocess" in found["advice"] and "with_stack=True" in found["advice"], found["advice"]
    assert unexplained_pct(document) < 1 and "in my_preprocess\n" in text, (unexplained_pct(document), text)
    return []


def check_stacks(binary, folder):
    """A trace with Python functions needs no other one with them."""
    _, found, _ = report(binary, folder, training(("my_preprocess", 5, CODE_US), stacks=True))
    assert "the range my_preprocess" in found["title"] and "with_stack" not in found["advice"], found
    assert found["confidence"] == "medium", found
    _, found, _ = report(binary, folder, training(stacks=True))
    assert "with_stack" not in found["advice"] and "record_function" in found["advice"], found
    assert found["confidence"] == "low" and found["where"] is None, found
    return []


def check_unmarked(binary, folder):
    document, found, _ = report(binary, folder, training())
    assert found["where"] is None and "with_stack=True" in found["advice"], found
    assert found["title"].startswith("Host code that the trace does not show"), found["title"]
    assert unexplained_pct(document) > 40, unexplained_pct(document)
    return []


def check_innermost(binary, folder):
    document, found, _ = report(binary, folder, training(("outer", 5, CODE_US + 2), ("inner", 1000, CODE_US - 1000)))
    assert found["where"] == "inner" and "most of it in the range inner" in found["title"], found
    assert [item.split(":")[0] for item in found["evidence"][:2]] == ["in the range inner", "in the range outer"], found
    assert {("inner", "inner"), ("outer", "outer")} <= set(sites_of(document)), sites_of(document)
    return []


def check_whole_step(binary, folder):
    """It has the launches, too; around the steps or inside them."""
    for ranges in ([("iteration", 2, STEP_US - 4)], [("loop", -1e4, 1e5)]):
        document, found, _ = report(binary, folder, training(*ranges))
        assert found["where"] is None and "the range" not in found["title"], (ranges, found)
        assert {site for site, _ in sites_of(document)} == {None} and unexplained_pct(document) > 40, sites_of(document)
    document, found, _ = report(binary, folder, training(("iteration", 2, STEP_US - 4), ("my_preprocess", 5, CODE_US)))
    assert found["where"] == "my_preprocess", found
    return []


def check_long(binary, folder):
    """A range that is nearly all of a step, but launches nothing, is what the step waits for."""
    _, found, _ = report(binary, folder, training(("my_preprocess", 5, 50000.0), code_us=50000.0))
    assert found["where"] == "my_preprocess", found
    return []


def check_optimizer(binary, folder):
    """Annotations of optimizers stay sites, but are no ranges of the program."""
    document, found, _ = report(binary, folder, training(("Optimizer.zero_grad#AdamW.zero_grad", 5, CODE_US)))
    assert found["where"] is None and unexplained_pct(document) > 40, found
    name = "Optimizer.zero_grad#AdamW.zero_grad"
    assert (name, name) in sites_of(document), sites_of(document)
    document, found, _ = report(binary, folder, training(("update", 4, CODE_US + 2), (name, 5, CODE_US)))
    assert found["where"] == "update" and ("update", name) in sites_of(document), (found, sites_of(document))
    return []


def check_communication(binary, folder):
    """NCCL's range is around its launch; Gloo's is the time in which the host waits."""
    _, found, _ = report(binary, folder, training(("nccl:all_reduce", 5, CODE_US)))
    assert found["where"] == "nccl:all_reduce" and "straggler" in found["advice"], found
    document, _, _ = report(binary, folder, training(("gloo:all_reduce", 5, CODE_US)))
    first = document["findings"][0]
    assert (first["id"], first["where"]) == ("wait", "gloo:all_reduce") and "other ranks are late" in first["advice"], first
    return []


def check_long_name(binary, folder):
    """Texts have a part of a long name, `where` has all of it."""
    name = "é" * 300
    _, found, _ = report(binary, folder, training((name, 5, CODE_US)))
    assert found["where"] == name and "é" * 28 + "..." in found["title"] and name not in found["title"], found
    return []


CASES = [harness.Case(name[len("check_"):], function) for name, function in sorted(globals().items()) if name.startswith("check_")]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
