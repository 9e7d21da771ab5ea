#!/usr/bin/env python3
"""Advice follows what is done at the site: loaders with workers, barriers, blocking launches.

    python3 -m tests.findings.test_advice --bin build/gputally [--only TEXT]
"""
import sys

from tests.common import harness
from tests.findings import small_traces, test_simulated
from tests.findings.simulated_host import Program


class Blocking(Program):
    """Each launch returns when its kernel has ended, as with CUDA_LAUNCH_BLOCKING=1."""

    def launch(self, us, name="ampere_bf16_gemm"):
        self.correlation += 1
        end = self.on_stream(small_traces.kernel(0, 0, self.correlation, name=name), us)
        self.call("cudaLaunchKernel", end + 4, correlation=self.correlation)


def loop(work, program=None, kernels=40, us=150):
    program = program or Program()
    with program.function("train.py(1): <module>"):
        for number in range(6):
            with program.step(number), program.function("train.py(10): step"):
                work(program)
                for _ in range(kernels):
                    program.matmul(us, 40)
            program.host(20)
    return program


def check_loader(binary, folder):
    """Who has workers is not told to use some."""
    for inner, wanted, unwanted in (("_try_get_data", "workers that are too slow", "num_workers > 0"), ("_next_data", "num_workers > 0", "too slow")):
        def fetch(program):
            with program.function(small_traces.LOADER), program.function(f"torch/utils/data/dataloader.py(1200): {inner}"):
                program.host(9000)
        first = test_simulated.report(binary, loop(fetch))[1]["findings"][0]
        assert first["id"] == "data_stall" and wanted in first["advice"] and unwanted not in first["advice"], first
    return []


def check_synchronisation(binary, folder):
    for call, wanted in (("<built-in function _cuda_synchronize>", "torch.cuda.Event"), ("<built-in method nonzero of Tensor object at 0x7f0000000000>", "torch.where"),
                         ("<built-in method item of Tensor object at 0x7f0000000000>", "Remove .item()")):
        def wait(program):
            for _ in range(10):
                program.matmul(150)
                with program.function(call):
                    program.synchronise()
        found = test_simulated.report(binary, loop(wait, kernels=10, us=30))[0]
        assert wanted in found["host_sync"]["advice"], found["host_sync"]

    def barrier(program):
        for _ in range(10):
            program.matmul(150)
            with program.function("torch/distributed/distributed_c10d.py(4000): barrier"), program.op("c10d::barrier"):
                program.synchronise()
    found = test_simulated.report(binary, loop(barrier, kernels=10, us=30))[0]
    assert "Remove the barrier" in found["host_sync"]["advice"], found["host_sync"]
    return []


def check_place(binary, folder):
    """Of calls that are made equally often, that which waits is named, not the one that is made first."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(6):
            with program.step(number):
                with program.function("train.py(5): begin"):
                    program.synchronise()
                for _ in range(40):
                    program.matmul(150)
                with program.function("train.py(9): read"):
                    program.synchronise()
            program.host(2000)
    finding = test_simulated.report(binary, program)[0]["host_sync"]
    assert finding["where"] == "train.py(9): read", finding
    return []


def check_blocking(binary, folder, us):
    """The gain is that of launches that do not wait."""
    blocking, usual = loop(lambda program: None, Blocking(), us=us), loop(lambda program: None, us=us)
    truth = blocking.step_ms() - usual.step_ms()
    first = test_simulated.report(binary, blocking)[1]["findings"][0]
    assert first["id"] == "launch_bound" and first["title"].startswith("Each launch waits until its kernel has ended"), first
    assert first["advice"] == "Unset CUDA_LAUNCH_BLOCKING." and 0.75 < first["gain_ms"] / truth < 1.33, (truth, first)
    found = test_simulated.report(binary, usual)[0]
    assert "launch_bound" not in found or "fast enough" in found["launch_bound"]["title"], found
    return []


def cases():
    found = [harness.Case(f"blocking launches of {us} us", check_blocking, us) for us in (60, 150, 1000)]
    return found + [harness.Case("loader", check_loader), harness.Case("synchronisation", check_synchronisation), harness.Case("place", check_place)]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
