#!/usr/bin/env python3
"""Simulated programs with a fault, whose truth is the same program without it, and healthy ones, in which nothing is severe.

    python3 -m tests.findings.test_truths --bin build/gputally [--only TEXT]

Waiting, threads in the background and clocks that differ are here; uneven steps, chains, small grids, allocators and advice have
tests of their own. The healthy programs are random ones and, where they exist, real ones. All are reported in one run.
"""
import glob
import itertools
import json
import os
import random
import subprocess
import sys

from tests.common import harness
from tests.findings import small_traces, test_background, test_faults, test_wait
from tests.findings.simulated_host import Program

LOOP = {"input data": (small_traces.LOADER,), "Python code": ("train.py(80): tokenize",)}  # functions around what a step begins with
IDS = {"input data": "data_stall", "Python code": "python_busy", "reading": "host_sync"}


def loop(functions=(), us=0, reads=0, steps=8):
    """Steps that do something for `us` and then launch 40 kernels; `reads` values are read between them, and one at the end."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(steps):
            with program.step(number), program.function("train.py(10): step"):
                if us:
                    inside(program, functions, us)
                for i in range(40):
                    program.matmul(100)
                    if reads and i % (40 // reads) == 0:
                        with program.function("model.py(9): check"):
                            program.item()
                program.synchronise()
            program.host(20)
    return program


def inside(program, functions, us):
    """Functions around each other; the innermost one takes `us`."""
    if not functions:
        return program.host(us)
    with program.function(functions[0]):
        inside(program, functions[1:], us)


def move_gpu(program, us):
    for event in program.on_gpu:
        event["ts"] += us
    return program


# ---- programs with a fault ----


def faults():
    """{name: (id, program, true gain in ms)}"""
    found, healthy = {}, loop().step_ms()
    for (who, (functions, _)), us in itertools.product(test_wait.WHO.items(), (600, 1500, 9000)):
        call = "<built-in function select>" if who.startswith("something") else test_wait.LOCK
        program = loop((*functions, call), us)
        found[f"waits {us} us for {who}"] = (IDS.get(who, "wait"), program, program.step_ms() - healthy)
    for (what, functions), busy_us, kernels in itertools.product(LOOP.items(), (2000, 16000), (0, 5)):
        program = loop(functions, 8000)
        truth = program.step_ms() - healthy
        found[f"{what} beside a writer of {busy_us} us and {kernels} kernels"] = (
            IDS[what], test_background.writer(program, test_background.STREAM, busy_us=busy_us, kernels=kernels), truth)
    for what, late_us in itertools.product((*LOOP, "reading"), (-300, -120, -60, -25, 60, 150, 300)):
        program = loop(reads=10) if what == "reading" else loop(LOOP[what], 9000)
        truth = program.step_ms() - healthy
        found[f"{what}, the GPU's clock {late_us} us late"] = (IDS[what], move_gpu(program, late_us), truth)
    return found


def check_fault(name, known, found):
    wanted, truth, first = known[0], known[2], found[0] if found else {"id": "nothing", "gain_ms": 0}
    least, most = (0.75, 1.33) if wanted == "host_sync" else (0.85, 1.15)  # what a writer copies meanwhile is no idle time
    if first["id"] != wanted or not least <= first["gain_ms"] / truth <= most:
        return [f"{name}: {first['id']} gains {first['gain_ms']} ms instead of {wanted} {truth:.3f}"]
    return []


# ---- healthy programs ----

GEMM = {26.7: 2048, 90.0: 3072, 214.0: 4096, 721.0: 6144}  # size by us: 65 % of the peak of an H200


def healthy(seed):
    """A training loop that keeps the GPU busy: what good programs do in any mix."""
    chance = random.Random(seed)

    def has(share=0.5):
        return chance.random() < share

    program, layers, gemm_us = Program(), chance.randint(12, 40), chance.choice(list(GEMM))
    host_us = min(gemm_us / 3, chance.uniform(5, 12))
    loads, logs, reads, grows, fused, overlaps = (has() for _ in range(6))
    with program.function("train.py(1): <module>"):
        for number in range(chance.randint(4, 12)):
            more = chance.uniform(0.8, 1.25) if grows else 1  # sequences of different lengths
            with program.step(number), program.function("train.py(10): step"):
                if loads:
                    inside(program, (small_traces.LOADER,), chance.uniform(20, 150))
                    program.copy("HtoD (Pinned -> Device)", 200000, 40, blocks=False)
                for i in range(layers):
                    program.matmul(gemm_us * more, host_us, GEMM[gemm_us])
                    with program.op("aten::native_layer_norm", [GEMM[gemm_us], 1024]):
                        program.launch(12, "vectorized_layer_norm_kernel")
                    if overlaps and i % 4 == 0:  # gradients are reduced on another stream meanwhile
                        program.on_gpu.append(small_traces.kernel(program.free - gemm_us / 2, gemm_us / 3, 800000 + program.correlation, 20,
                                                                  name="ncclDevKernel_AllReduce_Sum"))
                with program.function("Optimizer.step#AdamW.step"), program.op("aten::_fused_adamw_"):
                    for _ in range(1 if fused else 8):
                        program.launch(90, "multi_tensor_apply_kernel")
                if reads and number % 4 == 3:
                    program.item()
                if logs:
                    inside(program, ("train.py(90): log_metrics",), chance.uniform(10, 100))
            program.host(20)
    return test_background.writer(program, test_background.STREAM, copies=chance.randint(1, 5)) if has(0.3) else program


def real_ones():
    """Paths of traces of programs without a known fault."""
    traces = [path for folder in (test_faults.HERE, test_faults.SHARED, test_faults.SHARED_2) for path in glob.glob(os.path.join(folder, "*.json.gz"))
              if path.endswith(tuple(f"_{name}.json.gz" for name in test_faults.HEALTHY))]
    return traces + glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "inference__*.json.gz")) + glob.glob(
        os.path.join(harness.CONFORMANCE_TRACES, "torch_compile_*.json.gz"))


# ---- all of them ----


def report(binary, folder, paths):
    """{name of the trace: findings}"""
    out = os.path.join(folder, "out") + os.sep
    done = subprocess.run([binary, "report", *paths, "--output_json", out, "--json_sheets", "none", "-q"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not harness.SANITIZER.search(done.stderr), done.stderr
    found = {}
    for path in glob.glob(out + "*"):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path).split(".")[0]] = json.load(file)["findings"]
    return found


def check_faults(binary, folder):
    known = faults()
    paths = [small_traces.write(os.path.join(folder, f"fault_{i}.json"), program.trace()) for i, (_, program, _) in enumerate(known.values())]
    found = report(binary, folder, paths)
    assert len(found) == len(known) >= 50, (len(found), len(known))
    return [problem for i, name in enumerate(known) for problem in check_fault(name, known[name], found[f"fault_{i}"])]


def check_healthy(binary, folder):
    paths = [small_traces.write(os.path.join(folder, f"healthy_{seed}.json"), healthy(seed).trace()) for seed in range(40)] + real_ones()
    found = report(binary, folder, paths)
    assert len(found) == len(paths) >= 40, (len(found), len(paths))
    severe = {name: [(f["id"], f["gain_pct"]) for f in findings if f["severity"] == "high"] for name, findings in found.items()}
    return [f"{name}: {ids}" for name, ids in severe.items() if ids]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, [harness.Case("faults", check_faults), harness.Case("healthy", check_healthy)]))
