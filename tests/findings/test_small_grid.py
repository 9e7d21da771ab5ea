#!/usr/bin/env python3
"""Kernels of few blocks, and allocators that start cold, in simulated programs.

    python3 -m tests.findings.test_small_grid --bin build/gputally [--only TEXT]
"""
import sys

from tests.common import harness
from tests.findings import small_traces, test_simulated
from tests.findings.simulated_host import Program

UNITS = 132


class Grids(Program):
    """A program whose kernels have grids."""

    def trace(self):
        trace = super().trace()
        trace["deviceProperties"][0]["numSms"] = UNITS
        return trace

    def scan(self, us, grid, name="void scan_kernel<float>"):
        with self.op("aten::cumsum", [grid[0] if grid else 1, 65536]):
            self.host(6)
            self.launch(us, name)
            if grid:
                self.on_gpu[-1]["args"]["grid"] = grid
            self.host(6)


def train(us, grid, name="void scan_kernel<float>", other=False):
    program = Grids()
    with program.function("train.py(1): <module>"):
        for number in range(6):
            with program.step(number), program.function("train.py(10): step"):
                for _ in range(10):
                    program.matmul(100)
                    if us:
                        with program.function("model.py(40): scan"):
                            program.scan(us, grid, name)
                        if other:  # another stream works meanwhile
                            event = program.on_gpu[-1]
                            program.on_gpu.append(small_traces.kernel(event["ts"] + 1, us - 2, 900000 + program.correlation, stream=9))
                program.synchronise()
            program.host(20)
    return program


def check_gain(binary, folder, us, grid):
    """The gain is the time that the kernel would not take on all multiprocessors."""
    blocks = grid[0] * grid[1] * grid[2]
    truth = train(us, grid).step_ms() - train(max(us * blocks / UNITS, 5), [UNITS, 1, 1]).step_ms()
    found, document, _ = test_simulated.report(binary, train(us, grid))
    finding = found["small_grid"]
    assert abs(finding["gain_ms"] / truth - 1) < 0.02 and finding["confidence"] == "medium", (truth, finding)
    noun = "block" if blocks == 1 else "blocks"
    assert finding["title"].startswith(f"Kernels of {blocks} {noun} use {100 * blocks / UNITS:.0f}% of the {UNITS} multiprocessors: {us / 100:.2f} ms per step"), finding
    assert finding["where"] == "model.py(40): scan -> aten::cumsum" and finding["evidence"] == [f"model.py(40): scan -> aten::cumsum: {us / 100:.2f} ms with {blocks} {noun}"], finding
    return []


def check_none(binary, folder):
    """Enough blocks, short kernels, matrix kernels, company, no grid."""
    programs = {"17 blocks": train(200, [17, 1, 1]), "short": train(15, [1, 1, 1]), "matrices": train(200, [4, 1, 1], "cutlass_80_gemm"),
                "attention": train(200, [4, 1, 1], "flash_fwd_kernel"), "company": train(200, [1, 1, 1], other=True), "no grid": train(200, None),
                "strange": train(200, "many"), "zero": train(200, [0, 1, 1])}
    for name, program in programs.items():
        found, document, _ = test_simulated.report(binary, program)
        assert "small_grid" not in found, (name, document["findings"])
    return []


# ---- slow memory ----

VECTORIZED = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
NORM = "void at::native::vectorized_layer_norm_kernel<float, float>(int)"
TRITON = "triton_red_fused_add_mean_0"
MB = 1024 * 256  # floats


def move(kernels, steps=6):
    """Steps of matrix products and of these kernels: (name of the op, of the kernel, its tensors in MB, us)."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(steps):
            with program.step(number), program.function("train.py(10): step"):
                for _ in range(10):
                    program.matmul(100)
                for op, kernel, sizes, us in kernels:
                    with program.function("model.py(50): gather_rows"), program.op(op, *[[size * MB] for size in sizes]):
                        program.host(6)
                        program.launch(us, kernel)
                        program.host(6)
                    program.matmul(100)
            program.host(20)
    return program


def check_unified_memory(binary, folder, gb_per_s):
    """Large tensors at the rate of the bus, also where several such kernels look like a chain."""
    us = 3 * 64 * 1048576 / gb_per_s / 1e3
    slow, fast = (move([("aten::add", VECTORIZED, (64, 64), time)] * 2) for time in (us, 3 * 64 * 1048576 / 3840e3))
    truth = slow.step_ms() - fast.step_ms()
    first = test_simulated.report(binary, slow)[1]["findings"][0]
    assert first["id"] == "unified_memory" and abs(first["gain_ms"] / truth - 1) < 0.02, (truth, first)
    assert f"at {gb_per_s} GB/s" in first["title"] and first["where"] == "model.py(50): gather_rows -> aten::add" and "cudaMemPrefetchAsync" in first["advice"], first
    found, document, _ = test_simulated.report(binary, fast)
    assert "unified_memory" not in found, document["findings"]
    return []


def check_class(binary, folder, op, kernel):
    """One kernel of a class takes four times as long per byte as the others. Those set the measure: 50 % of the memory's rate."""
    at_half = 64 * 1048576 * (2 if kernel == NORM else 1) / 2400e3  # what it reads and writes, on an H200
    others = [(op, kernel, (64,), at_half)] * 9
    program, repaired = move(others + [(op, kernel, (64,), 4 * at_half)]), move(others + [(op, kernel, (64,), at_half)])
    found, document, _ = test_simulated.report(binary, program)
    finding, truth = found["low_efficiency"], program.step_ms() - repaired.step_ms()
    assert any(text.startswith(op) for text in finding["evidence"]) and finding["hint"], document["findings"]
    matrices = next((text for text in finding["evidence"] if text.startswith("aten::mm")), None)
    mine = next(float(text.split(": ")[1].split()[0]) for text in finding["evidence"] if text.startswith(op))
    assert matrices and 0.9 < mine / truth < 1.1, (truth, finding)
    return []


# ---- allocators ----


def allocate(steps, where, name="cudaMalloc", us=3000, function="model.py(5): forward", marked=True):
    """Steps of which some call the allocator five times."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(steps):
            def body():
                with program.function(function):
                    for _ in range(5):
                        if number in where:
                            program.call(name, program.now + us)
                        program.matmul(300)
                program.synchronise()
            if marked:
                with program.step(number):
                    body()
            else:
                body()
            program.host(20)
    return program


def check_cold_start(binary, folder):
    for marked in (True, False):
        found, document, _ = test_simulated.report(binary, allocate(8, (1,), marked=marked))
        assert "allocator_churn" not in found, document["findings"]
        finding = found.get("first_use") or found["uneven_steps"]
        assert "warm-up" in finding["advice"] or finding["id"] == "uneven_steps", document["findings"]
    finding = test_simulated.report(binary, allocate(8, (1,), marked=False))[0]["first_use"]
    assert finding["title"].startswith("The allocator gets memory for the first time inside the window: device memory is allocated"), finding
    return []


def check_churn(binary, folder):
    """Every step, several steps, or empty_cache: that is no first use."""
    for program in (allocate(8, range(8)), allocate(8, (1, 4, 6)), allocate(8, range(8), marked=False), allocate(8, (1,), "cudaFree", function="torch/cuda/memory.py(1): empty_cache", marked=False)):
        found, document, _ = test_simulated.report(binary, program)
        assert "first_use" not in found, document["findings"]
        assert "allocator_churn" in found or "uneven_steps" in found, document["findings"]
    return []


def cases():
    found = [harness.Case(f"{us} us, grid {grid}", check_gain, us, grid) for us, grid in
             ((200, [1, 1, 1]), (50, [2, 2, 1]), (1000, [16, 1, 1]), (20, [1, 1, 3]))]
    found += [harness.Case(f"unified memory at {rate} GB/s", check_unified_memory, rate) for rate in (8, 25, 55)]
    found += [harness.Case(f"slow {kernel[:30]}", check_class, op, kernel) for op, kernel in
              (("aten::native_layer_norm", NORM), ("aten::sum", "void at::native::reduce_kernel<512, 1>(int)"), (TRITON, TRITON))]
    return found + [harness.Case("no finding", check_none), harness.Case("cold start", check_cold_start), harness.Case("churn", check_churn)]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
