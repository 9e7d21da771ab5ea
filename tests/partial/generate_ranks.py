"""Synthetic PyTorch traces of a data-parallel run, one per rank: steps with a GEMM and two collectives.

    from tests.partial.generate_ranks import write_ranks
    write_ranks(folder, 4)                    rank0_trace.json ... rank3_trace.json

Rank 1 computes longer, so that the others wait for it; clocks of ranks differ by seconds; the name of one kernel has
characters that HTML, JSON and shells treat specially.
"""
import gzip
import json
import os

BASE = 1751410836000000000
STEP_US = 4000.5


def launch(events, number, name, host_us, gpu_us, dur_us, stream, args=()):
    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": host_us,
                   "dur": 5, "args": {"correlation": number}})
    events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": gpu_us, "dur": dur_us,
                   "args": {"correlation": number, "stream": stream, "device": 0, **dict(args)}})
    for phase, pid, tid, at in (("s", 100, 100, host_us), ("f", 0, stream, gpu_us)):
        events.append({"ph": phase, "cat": "ac2g", "name": "ac2g", "id": number, "pid": pid, "tid": tid, "ts": at,
                       **({"bp": "e"} if phase == "f" else {})})


def collective(name, ranks, elements):
    return {"Collective name": name, "dtype": "Float", "In msg nelems": elements, "Out msg nelems": elements,
            "Group size": ranks, "Process Group Name": "default_pg",
            "Process Group Ranks": json.dumps(list(range(ranks))), "In split size": "[]", "Out split size": "[]"}


def trace(rank, ranks, steps=4, world_size=None):
    events = []
    for step in range(steps):
        at, number = 1000 + step * STEP_US, 10 * step + 1
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100, "tid": 100,
                       "ts": at, "dur": 4000, "args": {}})
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 100, "ts": at + 10, "dur": 40,
                       "args": {"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["float", "float"],
                                "External id": number}})
        compute = 1400 if rank == 1 else 900
        launch(events, number, "gemm <script>alert(1)</script> & \"'$(x)", at + 20, at + 50, compute, 7)
        arrives, leaves = at + 60 + compute, at + 60 + 1400 + 200
        launch(events, number + 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 60, arrives, leaves - arrives, 20,
               collective("allreduce", ranks, 1 << 20))
        launch(events, number + 2, "ncclDevKernel_AllGather_RING_LL", at + 80, leaves + 10, 150, 20,
               collective("_allgather_base", ranks, 1 << 18))
    return {"schemaVersion": 1, "baseTimeNanoseconds": BASE + rank * 3 * 10**9,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}, {"id": 1, "name": "NVIDIA H100 80GB HBM3"}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world_size or ranks},
            "traceEvents": events}


def write_trace(path, *arguments, **options):
    opened = gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w")
    with opened as file:
        json.dump(trace(*arguments, **options), file)


def write_ranks(folder, ranks, name="rank{}_trace.json", **options):
    os.makedirs(folder, exist_ok=True)
    for rank in range(ranks):
        path = os.path.join(folder, name.format(rank))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_trace(path, rank, ranks, **options)
