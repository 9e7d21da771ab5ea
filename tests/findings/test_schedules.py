#!/usr/bin/env python3
"""Compares the ops, host events, points, steps and windows of schedules with the reference in reference_schedule.py.

    python3 -m tests.findings.test_schedules --bin build/debug/gputally

The schedules are what the unit test test_schedule prints, which is built beside the program. The traces are random ones, in
which events overlap in every way and ids are shared, and the real ones of the conformance folder and of the folder of faulty
programs next to it, where these exist.
"""
import glob
import json
import os
import random
import sys

from tests.common.harness import CONFORMANCE_TRACES, Case, not_large, run, run_cases, seeds
from tests.findings import reference_schedule

CALLS = ["cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "hipModuleLaunchKernel", "cudaMemcpyAsync", "cudaMemcpy",
         "cudaStreamSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize", "cudaThreadSynchronize", "cudaEventQuery",
         "cudaFree", "cudaFreeHost", "hipHostFree", "cuMemRelease", "cudaMalloc", "hipExtMallocWithFlags", "cudaHostAlloc",
         "cuModuleLoadData", "cuLibraryLoadData", "cudaStreamIsCapturing", "notcudaFree", "cudaDeviceGetAttribute"]
OPS = ["aten::linear", "aten::mm", "aten::to", "aten::view", "detach", "aten::softmax", "aten::relux", "CheckpointFunctionBackward",
       "autograd::engine::evaluate_function: AddmmBackward0", "autograd::engine::evaluate_function: X"]
FUNCTIONS = ["train.py(3): step", "torch/utils/data/dataloader.py(7): fetch", "torch/utils/checkpoint.py(12): recompute_fn",
             "torch/utils/checkpoint.py(12): unpack_hook", "torch/utils/checkpoint.py(x): backward", "<built-in method item>",
             "torch/utils/checkpoint.py(120): checkpoint", "enumerate(DataLoader)#X", "_MultiDataLoaderIter.py(1): __next__"]
NOTES = ["Optimizer.step#AdamW.step", "ProfilerStep#1", "ProfilerStep#2", "enumerate(DataLoader)#_Iter.__next__", "note"]
KERNELS = ["gemm", "ncclDevKernel_AllReduce", "void AllReduce_one_shot<1>", "elementwise"]


def random_trace(seed):
    """Many events in little time, so that they nest, overlap, and start and end together."""
    chance = random.Random(seed)
    span = chance.choice([400, 20000, 2000000])  # in units of 1 ns or 100 ns: few units, so that times are often equal
    unit = chance.choice([0.001, 0.1])
    events = []

    def add(category, name, pid, tid, args, longest):
        dur = chance.randrange(int(span * longest) + 1)
        events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
                       "ts": 1e6 + round(chance.randrange(span) * unit, 3), "dur": round(dur * unit, 3), "args": args})

    for _ in range(chance.randrange(5, 400)):
        tid, kind = chance.choice([11, 11, 12]), chance.random()
        if kind < 0.3:
            add("cpu_op", chance.choice(OPS), 10, tid, chance.choice([{}, {"Input Dims": [[2]]}]), 0.5)
        elif kind < 0.5:
            add("python_function", chance.choice(FUNCTIONS), 10, tid, {"Python id": 1}, 0.5)
        elif kind < 0.75:
            add(chance.choice(["cuda_runtime", "cuda_driver"]), chance.choice(CALLS), 10, tid,
                chance.choice([{}, {"correlation": chance.randrange(60)}]), 0.1)
        elif kind < 0.8:
            add("user_annotation", chance.choice(NOTES), 10, tid, {}, 0.6)
        elif kind < 0.82:
            add("gpu_user_annotation", "ProfilerStep#1", 0, 7, {}, 0.5)
        else:
            category = chance.choice(["kernel", "kernel", "gpu_memcpy", "gpu_memset"])
            args = {"stream": chance.choice([7, 20]), "device": chance.choice([0, 0, 0, 1]), "bytes": chance.choice([0, 100])}
            args.update(chance.choice([{}, {"External id": chance.randrange(60)}] + 6 * [{"correlation": chance.randrange(60)}]))
            add(category, chance.choice(KERNELS), args["device"], args["stream"], args, 0.05)
    return {"traceEvents": events}


def compare(binary, path):
    program = os.path.join(os.path.dirname(binary), "tests", "test_schedule")
    outcome = run([program, path])
    if outcome.code != 0:
        return outcome.problems() or [outcome.stderr.strip()]
    found, wanted = json.loads(outcome.stdout), reference_schedule.facts(path)
    return [f"{name}: {found[name]} instead of {wanted[name]}" for name in wanted if found[name] != wanted[name]]


def compare_random(binary, folder, seed):
    path = os.path.join(folder, "trace.json")
    with open(path, "w") as file:
        json.dump(random_trace(seed), file)
    return compare(binary, path)


def compare_real(binary, folder, path):
    return compare(binary, path)


def cases():
    for seed in seeds(60):
        yield Case(f"random {seed}", compare_random, seed)
    faults = os.path.join(os.path.dirname(os.path.dirname(CONFORMANCE_TRACES)), "faults")
    for path in not_large(sorted(glob.glob(os.path.join(CONFORMANCE_TRACES, "*.json.gz")) + glob.glob(os.path.join(faults, "*.json.gz")))):
        if not os.path.basename(path).startswith("rocprof"):
            yield Case(os.path.basename(path), compare_real, path)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases()))
