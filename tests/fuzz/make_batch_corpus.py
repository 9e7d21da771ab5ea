#!/usr/bin/env python3
"""Writes the seeds of the fuzz target of the batch report: small traces, two ranks separated by a NUL, or one for both.

    python3 -m tests.fuzz.make_batch_corpus        writes tests/fuzz/corpus/batch/
"""
import json
import os

from tests.fuzz.make_pytorch_corpus import BF, HERE, launch, op


def collective(ts, elements):
    return {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 9, "ts": ts, "dur": 4,
            "args": {"correlation": 99, "stream": 9, "Collective name": "allreduce", "In msg nelems": elements, "dtype": "Float",
                     "Group size": 2, "Process Group Name": "0"}}


def products():
    return [op("aten::addmm", 100, 50, [[8], [4, 6], [6, 8], [], []], [BF] * 3 + ["Scalar"] * 2, ["", "", "", "1", "1"]),
            *launch("gemm", 110, 200, 5, 1), *launch("transpose_", 120, 206, 2.5, 2),
            op("aten::bmm", 300, 20, [[2, 4, 6], [2, 6, 8]], [BF] * 2, ["", ""]), *launch("gemm", 310, 320, 50, 3)]


def others():
    return [op("aten::add", 100, 50, [[4, 6], [4, 6], []], [BF, "float", "Scalar"], ["", "", "1"]),
            *launch("add", 110, 200, 5, 1),
            op("aten::convolution", 200, 50, [[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []],
               [BF, BF, "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"],
               ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]),
            *launch("conv", 210, 300, 5, 2), op("triton_poi", 400, 9, args={"kernel_file": "k.py"}), *launch("poi", 402, 420, 1, 3),
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 7, "ts": 500, "dur": 3},
            {"ph": "X", "cat": "cuda_driver", "name": "cuLaunch", "pid": 1, "tid": 1, "ts": 5, "dur": 3}]


def main():
    text = lambda events: json.dumps({"traceEvents": events}, separators=(",", ":")).encode()
    seeds = {"products": text(products()), "others": text(others()), "two": text(products()) + b"\0" + text(others()),
             "collectives": text([collective(10, 64)] + products()) + b"\0" + text([collective(12, 32)])}
    folder = os.path.join(HERE, "corpus", "batch")
    os.makedirs(folder, exist_ok=True)
    for name, content in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
