"""Sweeps of traces whose truth is known, for `gputally sweep decide`.

Each rank runs `steps` marked steps (ProfilerStep). A step has GEMMs of two shapes one after another on stream 0, then an elementwise
kernel that fills the step up to its length, and an all-reduce on stream 2. Every second GEMM runs during an all-reduce and takes
`slowdown` times as long as the others. The length of a step is planted: `step_us(setting)` times noise of the run and of the step.
"""
import json
import os
import random

K1 = "Cijk_Alik_Bljk_BBS_BH_MT256x256x64_MI16x16x1"
K2 = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x1"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4>(int)"
SHAPES = {K1: [[512, 256], [256, 1024]], K2: [[2048, 512], [512, 512]]}
GEMM_US = {K1: 200.0, K2: 80.0}
GEMMS = 8               # of each kernel in a step
ELEMENTS = 4 * 1024 * 1024
EXPOSED_US = 150.0      # an all-reduce at the end of each step that nothing overlaps
REDUCE_BYTES = ELEMENTS * 2


def exposed_us():
    """In a step: the last all-reduce, and the microseconds before and after each GEMM that another one overlaps."""
    return EXPOSED_US + 2 * len(GEMM_US) * (GEMMS // 2)


class Writer:
    def __init__(self, rank):
        self.rank, self.events, self.number = rank, [], 0

    def step(self, number, start, end):
        self.events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 10, "tid": 10, "ts": start,
                            "dur": end - start, "args": {"External id": 900000 + number}})

    def kernel(self, op, arguments, name, launch, start, dur, stream, more=None):
        self.number += 1
        n = self.number
        self.events += [
            {"ph": "X", "cat": "cpu_op", "name": op, "pid": 10, "tid": 10, "ts": launch, "dur": 1.5,
             "args": {"External id": n, **arguments}},
            {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 10, "tid": 10, "ts": launch + 0.5, "dur": 0.5,
             "args": {"External id": n, "correlation": n}},
            {"ph": "s", "id": n, "pid": 10, "tid": 10, "ts": launch + 0.5, "cat": "ac2g", "name": "ac2g"},
            {"ph": "X", "cat": "kernel", "name": name, "pid": self.rank, "tid": stream, "ts": start, "dur": dur,
             "args": {"External id": n, "correlation": n, "device": self.rank, "stream": stream, **(more or {})}},
            {"ph": "f", "id": n, "pid": self.rank, "tid": stream, "ts": start, "cat": "ac2g", "name": "ac2g", "bp": "e"}]

    def all_reduce(self, launch, start, dur, ranks):
        self.kernel("record_param_comms", {}, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", launch, start, dur, 2,
                    {"Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": ELEMENTS, "Out msg nelems": ELEMENTS,
                     "Group size": ranks, "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))})


def shaped(dims):
    return {"Input Dims": dims, "Input type": ["c10::BFloat16"] * 2, "Input Strides": [[d[1], 1] for d in dims],
            "Concrete Inputs": ["", ""]}


def write_step(w, start, length, slowdown, noise, ranks):
    """One step on the GPU from `start` on, whose launches are 10 us earlier."""
    at, launch = start, start - 10.0

    def next_launch():
        nonlocal launch
        launch += 2.0
        return launch
    for kernel in K1, K2:
        for i in range(GEMMS):
            usual = GEMM_US[kernel] * noise()
            dur = usual * (slowdown if i % 2 else 1)
            if i % 2:
                w.all_reduce(next_launch(), at - 1, dur + 2, ranks)
            w.kernel("aten::mm", shaped(SHAPES[kernel]), kernel, next_launch(), at, dur, 0)
            at += dur + 5
    rest = start + length - at - EXPOSED_US - 10
    assert rest > 0, "the step is too short for its kernels"
    w.kernel("aten::mul", shaped([[512, 1024], [512, 1024]]), ELEMENTWISE, next_launch(), at, rest, 0)
    w.all_reduce(next_launch(), at + rest, EXPOSED_US, ranks)


def trace(rank, ranks, lengths, slowdown, noise, seed):
    """The last step only ends the one before it."""
    w, at, dice = Writer(rank), 1_000_000.0, random.Random(seed)
    for number, length in enumerate(lengths + [lengths[-1]]):
        w.step(number, at - 12, at + 400)
        write_step(w, at, length, slowdown, lambda: dice.lognormvariate(0, noise) if noise else 1.0, ranks)
        at += length
    return {"schemaVersion": 1, "deviceProperties": [{"id": i} for i in range(ranks)],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}, "traceEvents": w.events}


def lay_out(folder, step_us, repeats=5, steps=3, ranks=2, slowdown=lambda setting: 1.0, run_noise=0.01, step_noise=0.003,
            kernel_noise=0.02, seed=1, threads=(256, 512), channels=(28, 42)):
    """Writes all runs; step_us and slowdown map (threads, channels) to the truth."""
    dice = random.Random(seed)
    for repeat in range(1, repeats + 1):
        for t in threads:
            for c in channels:
                length = step_us((t, c)) * dice.lognormvariate(0, run_noise)
                lengths = [length * dice.lognormvariate(0, step_noise) for _ in range(steps)]
                place = [f"{t}thread", f"nccl_{c}channels", "torch_profiler"]
                for rank in range(ranks):
                    path = os.path.join(folder, *([f"repeat_{repeat}"] if repeat > 1 else []), *place, f"rank{rank}", "trace.json")
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "w", encoding="utf-8") as file:
                        json.dump(trace(rank, ranks, lengths, slowdown((t, c)), kernel_noise, seed * 1000 + rank + repeat * 10), file)
