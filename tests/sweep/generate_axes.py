"""Sweeps of any axes with small traces and known truth, for the page of `gputally sweep decide`.

A step of a run has, on stream 0, GEMMs of two shapes without and during an all-reduce, and a kernel that fills the step; on
stream 2, one collective per message size that nothing overlaps. There is no noise but what is planted: the step times of the
repeats of a setting are given.
"""
import json
import math
import os

from tests.sweep.generate_decisions import ELEMENTWISE, K1, K2, SHAPES, Writer, shaped

GEMM_US = {K1: 100.0, K2: 40.0}
GAP_US = 2.0


def message(w, name, nelems, launch, start, dur, ranks):
    w.kernel("record_param_comms", {}, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", launch, start, dur, 2,
             {"Collective name": name, "dtype": "BFloat16", "In msg nelems": nelems, "Out msg nelems": nelems, "Group size": ranks,
              "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))})


def step(w, start, length, slowdown, messages, ranks, calls):
    """messages: (collective, elements, microseconds)."""
    at, launch = start, start - 10.0
    for kernel, usual in GEMM_US.items():
        for i in range(2 * calls if slowdown else calls):
            dur = usual * (slowdown if i % 2 and slowdown else 1)
            launch += 0.01
            if i % 2 and slowdown:
                message(w, "allreduce", 1024, launch, at - 0.5, dur + 1, ranks)
                launch += 0.01
            w.kernel("aten::mm", shaped(SHAPES[kernel]), kernel, launch, at, dur, 0)
            at += dur + GAP_US
    for name, nelems, us in messages:
        launch += 0.01
        message(w, name, nelems, launch, at, us, ranks)
        at += us + GAP_US
    rest = start + length - at - 1
    assert rest > 0, "the step is too short for its kernels"
    w.kernel("aten::mul", shaped([[512, 1024], [512, 1024]]), ELEMENTWISE, launch + 0.01, at, rest, 0)


def trace(rank, ranks, lengths, slowdown, messages, calls):
    w, at = Writer(rank), 1_000_000.0
    for number, length in enumerate(list(lengths) + [lengths[-1]]):
        w.step(number, at - 12, at + 100)
        step(w, at, length, slowdown, messages, ranks, calls)
        at += length
    return {"schemaVersion": 1, "deviceProperties": [{"id": i} for i in range(ranks)],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}, "traceEvents": w.events}


def folder_of(names, values):
    parts = {"threads": "{}thread", "channels": "nccl_{}channels"}
    return os.path.join(*(parts.get(name, name.replace("/", "_") + "_{}").format(value) for name, value in zip(names, values)))


def grid(axes):
    points = [()]
    for values in axes.values():
        points = [point + (value,) for point in points for value in values]
    return points


def lay_out(folder, axes, times_us, slowdown=lambda setting: None, messages=lambda setting: [], ranks=1, steps=1, calls=1, leave_out=(),
            status=lambda setting, repeat: "SUCCESS", names_of_folders=None, record=True):
    """axes: {name: values as strings}, outermost first; times_us(setting): the step time of each repeat. Writes sweep.json."""
    names, runs = list(axes), []
    for i, setting in enumerate(grid(axes)):
        if setting in leave_out:
            continue
        for repeat, length in enumerate(times_us(setting), 1):
            place = names_of_folders[i] if names_of_folders else folder_of(names, setting)
            place = os.path.join(f"repeat_{repeat}", place) if repeat > 1 else place
            for rank in range(ranks):
                path = os.path.join(folder, place, "torch_profiler", f"rank{rank}", "trace.json")
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(trace(rank, ranks, [length] * steps, slowdown(setting), messages(setting), calls), file)
            runs.append({"values": dict(zip(names, setting)), "repeat": repeat, "directory": place, "status": status(setting, repeat)})
    if record:
        with open(os.path.join(folder, "sweep.json"), "w", encoding="utf-8") as file:
            json.dump({"sweep": "", "axes": [{"name": name, "values": list(values), "variable": f"SWEEP_{i}"} for i, (name, values) in
                                enumerate(axes.items())], "points": runs}, file)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))
