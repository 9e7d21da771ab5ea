#!/usr/bin/env python3
"""Writes the seeds of fuzz_page: small traces with limits that all of their events are in, some, and none.

    python3 -m tests.fuzz.make_page_corpus
"""
import json
import os

from tests.findings import small_traces
from tests.fuzz import make_pytorch_corpus as traces

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>(int)", "other\u2028",
         "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT1_", "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64", "x" * 4100, "</script>", "")


def steps():
    """Three steps with copies of all kinds, a second GPU, and memory events."""
    on_host, on_gpu, correlation = [], [], 1
    for number in range(3):
        more_host, more_gpu, correlation = small_traces.step(number, correlation, kernels=4)
        on_host += more_host
        on_gpu += more_gpu
    copies = ("Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)", "Memset (Device)", "Memcpy PtoP (Device -> Device)")
    for i, name in enumerate(copies * 2):
        kind = "gpu_memset" if name.startswith("Memset") else "gpu_memcpy"
        on_gpu.append({**small_traces.kernel(small_traces.START_US + 900 + 30 * i, 20.0, 1000 + i, stream=20, name=name), "cat": kind})
        on_gpu[-1]["args"]["bytes"] = 1 << 10 + i
    for i, name in enumerate(NAMES):
        on_gpu.append(small_traces.kernel(small_traces.START_US + 300 * i, 25.0, 2000 + i, device=1, name=name))
        on_host.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 100,
                        "ts": small_traces.START_US + 250 * i, "args": {"Device Type": 1, "Device Id": 0, "Bytes": 512 * i, "Total Allocated":
                                                                        4096 + 512 * i, "Total Reserved": 1 << 20}})
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}, {"id": 1, "name": "NVIDIA H200"}],
            "traceEvents": on_host + on_gpu}


def main():
    folder = os.path.join(HERE, "corpus", "page")
    os.makedirs(folder, exist_ok=True)
    for make in (steps, traces.mixture, traces.functions):
        for name, limits in (("all", (255, 255)), ("some", (4, 6)), ("none", (0, 0))):
            with open(os.path.join(folder, f"{make.__name__}_{name}"), "wb") as f:
                f.write(bytes(limits) + json.dumps(make(), separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
