#!/usr/bin/env python3
"""Threads that launch work on the GPU and do not drive the steps: they cost nothing, and are in no finding.

    python3 -m tests.findings.test_background --bin build/gputally [--only TEXT]
"""
import itertools
import sys

from tests.common import harness
from tests.findings import small_traces, test_simulated
from tests.findings.simulated_host import Program

WRITER, STREAM = 300, 20
FETCH = small_traces.LOADER


def loop(slow_us=0, steps=8):
    """Steps that wait for input data for `slow_us`, then launch 30 kernels and read a value."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(steps):
            with program.step(number), program.function("train.py(10): step"):
                if slow_us:
                    with program.function(FETCH):
                        program.host(slow_us)
                for _ in range(30):
                    program.matmul(100)
                program.synchronise()
            program.host(20)
    return program


def writer(program, stream, thread=WRITER, copies=20, kernels=0, busy_us=2000.0, size=60000):
    """A thread that copies tensors to the host all the time, synchronises and then writes them: Python code that the step does not wait for."""
    at, end, correlation = program.starts[0], program.now, 500000
    while at + busy_us < end:
        program.on_host.append(dict(small_traces.host("python_function", "save.py(5): write", at, busy_us - 10), tid=thread))
        for i in range(copies + kernels):
            correlation += 1
            name = "cudaMemcpyAsync" if i < copies else "cudaLaunchKernel"
            program.on_host.append(dict(small_traces.host("cuda_runtime", name, at + 5 + 20 * i, 8, correlation=correlation), tid=thread))
            event = small_traces.kernel(at + 15 + 20 * i, size / 6000, correlation, stream=stream, name="Memcpy DtoH (Device -> Pageable)" if i < copies else "pack_kernel")
            if i < copies:
                event["cat"] = "gpu_memcpy"
                event["args"].update({"bytes": size, "memory bandwidth (GB/s)": 6.0})
            program.on_gpu.append(event)
        wait = at + 5 + 20 * (copies + kernels)
        program.on_host.append(dict(small_traces.host("cuda_runtime", "cudaStreamSynchronize", wait, 300), tid=thread))
        at += busy_us
    return program


def ids(document):
    return {finding["id"]: finding for finding in document["findings"]}


def check_free(binary, folder, copies, kernels):
    """A writer with its own stream changes no finding, whatever it does."""
    _, alone, _ = test_simulated.report(binary, loop())
    _, both, _ = test_simulated.report(binary, writer(loop(), STREAM, copies=copies, kernels=kernels))
    assert not [f for f in both["findings"] if f["severity"] == "high"], both["findings"]
    assert set(ids(both)) <= set(ids(alone)), (sorted(ids(alone)), sorted(ids(both)))
    assert abs(both["model_step_ms"] / alone["model_step_ms"] - 1) < 0.02, (both["model_step_ms"], alone["model_step_ms"])
    assert not [c for c in both["trust"]["checks"] if c["id"] in ("T1", "T2") and c["level"] != "ok"], both["trust"]
    assert [c["ms"] < 0.05 for c in both["idle_causes"] if c["cause"] == "unknown"] in ([], [True]), both["idle_causes"]
    return []


def check_fault(binary, folder, slow_us):
    """A fault of the loop is found with the gain that it has without the writer."""
    truth = loop(slow_us).step_ms() - loop().step_ms()
    for program in (loop(slow_us), writer(loop(slow_us), STREAM)):
        _, document, _ = test_simulated.report(binary, program)
        first = document["findings"][0]
        assert first["id"] == "data_stall" and 0.9 < first["gain_ms"] / truth < 1.1, (truth, document["findings"])
        assert "pageable_copy" not in ids(document), document["findings"]
    return []


def check_shared_stream(binary, folder):
    """A thread that launches on the stream of the steps drives them, too: its time counts. With its own stream, it does not."""
    for stream in (STREAM, 7):
        program = writer(loop(8000), stream, copies=1, busy_us=4000, size=6000000)
        _, document, _ = test_simulated.report(binary, program)
        assert ("save.py" in str(document["findings"])) == (stream == 7), (stream, document["findings"])
    return []


def check_awaited(binary, folder):
    """A thread that fetches data with its own stream drives the steps if these let their stream wait."""
    for waits in (False, True):
        program = writer(loop(8000), STREAM, copies=1, busy_us=4000, size=6000000)
        for event in [event for event in program.on_host if event["name"].startswith("ProfilerStep") and waits]:
            program.on_host.append(small_traces.host("cuda_runtime", "cudaStreamWaitEvent", event["ts"] + 8010, 2))
        _, document, _ = test_simulated.report(binary, program)
        assert ("save.py" in str(document["findings"])) == waits, (waits, document["findings"])
    return []


def check_held(binary, folder):
    """Launches that wait while the writer copies are neither first use nor launches that are slow."""
    program = writer(loop(), STREAM, copies=1, busy_us=16000, size=30000000)
    for event in [e for e in program.on_host if e["tid"] == WRITER and e["name"] == "cudaMemcpyAsync"]:
        event["dur"] = 5000
    launches = [e for e in program.on_host if e["tid"] != WRITER and e["name"] == "cudaLaunchKernel"]
    moved = 0
    for event in sorted(launches, key=lambda e: e["ts"]):  # the first launch in each copy waits for its end
        copy = next((c for c in program.on_host if c["tid"] == WRITER and c["name"] == "cudaMemcpyAsync" and c["ts"] <= event["ts"] < c["ts"] + 2000 and "held" not in c), None)
        if copy:
            copy["held"], late = True, copy["ts"] + 5000 - event["ts"]
            for other in program.on_host + program.on_gpu:
                if other["tid"] != WRITER and other["ts"] > event["ts"]:
                    other["ts"] += late
                elif other["tid"] != WRITER and other["ts"] <= event["ts"] < other["ts"] + other["dur"]:
                    other["dur"] += late
            moved += 1
    assert moved >= 1
    _, document, _ = test_simulated.report(binary, program)
    assert "first_use" not in ids(document) and not [f for f in document["findings"] if f["severity"] == "high"], document["findings"]
    return []


def check_no_steps(binary, folder):
    """Without steps and autograd, the thread that launches most drives."""
    program = writer(loop(5000), STREAM, copies=2)
    program.on_host = [event for event in program.on_host if not event["name"].startswith("ProfilerStep")]
    _, document, _ = test_simulated.report(binary, program)
    assert document["findings"][0]["id"] == "data_stall" and "pageable_copy" not in ids(document), document["findings"]
    return []


def cases():
    found = [harness.Case(f"{copies} copies, {kernels} kernels", check_free, copies, kernels) for copies, kernels in itertools.product((1, 20, 40), (0, 5))]
    found += [harness.Case(f"loading of {us} us", check_fault, us) for us in (8000, 20000, 40000)]
    return found + [harness.Case("shared stream", check_shared_stream), harness.Case("awaited", check_awaited), harness.Case("held", check_held), harness.Case("no steps", check_no_steps)]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
