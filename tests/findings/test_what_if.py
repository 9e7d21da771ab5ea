#!/usr/bin/env python3
"""gputally what-if on simulated programs, whose step under other conditions is simulated as well.

    python3 -m tests.findings.test_what_if --bin build/gputally [--only TEXT]
"""
import csv
import sys

from tests.cli.folder import Folder
from tests.common import harness
from tests.findings import small_traces
from tests.findings.simulated_host import Program


class Steps(Program):
    """Steps of matrix products and other kernels that keep the GPU busy, and a device of which all is known."""

    def __init__(self, gemm_us=200.0, other_us=100.0, reads=False, small_us=0.0, device="NVIDIA H200", grid=None, size=1024):
        super().__init__()
        self.device = device
        for number in range(5):
            with self.step(number):
                for _ in range(10):
                    self.matmul(gemm_us, size=size)
                    with self.op("aten::relu", [4096, 1024]):
                        self.launch(other_us, "relu_kernel")
                        self.on_gpu[-1]["args"]["grid"] = grid or [1024, 1, 1]
                    if small_us:
                        self.launch(small_us, "small_kernel")
                if reads:
                    self.item()
                    self.host(2000)

    def trace(self):
        trace = super().trace()
        trace["deviceProperties"][0].update(name=self.device, numSms=132)
        return trace


def ask(binary, program, options):
    """(result, rows of the sheet by part)"""
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), program.trace())
        done = folder.sh(f"gputally what-if t.json {options} --output_csvs_dir out --csv_sheets scenario")
        assert not harness.SANITIZER.search(done.stderr), done
        if done.returncode:
            return done, {}
        with open(folder.file("out/scenario.csv"), encoding="utf-8") as file:
            return done, {row["part"]: row for row in csv.DictReader(file)}


def predicted(binary, program, options):
    done, rows = ask(binary, program, options)
    assert done.returncode == 0, done
    step = rows["step"]
    assert float(step["then_low_ms"]) < float(step["then_ms"]) < float(step["then_high_ms"]), step
    return float(step["then_ms"])


def near(value, truth, most=0.01):
    assert abs(value - truth) <= most * truth, (value, truth)


def test_batch(binary):
    """Beyond 2 us all of a kernel grows; products of large matrices grow whole."""
    near(predicted(binary, Steps(), "--batch 2x"), Steps(400, 2 + 2 * 98).step_ms())
    near(predicted(binary, Steps(), "--batch 4"), Steps(800, 2 + 4 * 98).step_ms())
    # 33 of 132 multiprocessors are in use: four times as much fits beside it.
    near(predicted(binary, Steps(grid=[33, 1, 1]), "--batch 3x"), Steps(600, 100).step_ms())


def test_fix(binary):
    truth = Steps(reads=False).step_ms()
    for names in ("host_sync,python_busy,launch_bound,host_untraced", "all", "1,2"):
        done, rows = ask(binary, Steps(reads=True), f"--fix {names}")
        if done.returncode == 0:
            near(float(rows["step"]["then_ms"]), truth, 0.1)
    done, _ = ask(binary, Steps(reads=True), "--fix 1")
    assert done.returncode == 0 and "Repaired: 1. " in done.stdout, done
    everything, both = ask(binary, Steps(reads=True), "--fix all")[0], ask(binary, Steps(reads=True), "--fix 2,all")[0]
    assert everything.returncode == both.returncode == 0 and both.stdout == everything.stdout and "2. " in both.stdout, both


def test_gpu(binary):
    """H200 has 4.8 instead of 3.35 TB/s, and the same arithmetic."""
    on_h100 = Steps(device="NVIDIA H100 80GB HBM3")
    near(predicted(binary, on_h100, "--gpu H200"), Steps(200, 100 * 3.35 / 4.8).step_ms())
    near(predicted(binary, Steps(), "--gpu H100"), Steps(200, 100 * 4.8 / 3.35).step_ms())


def test_refusals(binary):
    """What was not measured, or was wrong by more than 25 %, has no answer."""
    cases = (("--gpu MI355X", 1, "from H100 to H200 and back only"), ("--gpu NOSUCH", 2, "unknown GPU"), ("--ranks 64", 2, "no measurements"),
             ("--batch 8x", 2, "possible are 1x to 4x"), ("--batch 0.5x", 2, "possible are 1x to 4x"), ("--batch two", 2, "expected a factor"),
             ("--batch nan", 2, "expected a factor"), ("", 2, "nothing changes"), ("--fix 99", 1, "neither the rank nor the name"),
             ("--fix all,nosuch", 1, "neither the rank nor the name"))
    for options, status, reason in cases:
        done, _ = ask(binary, Steps(), options)
        assert done.returncode == status and reason in done.stderr, (options, done)
    done, _ = ask(binary, Steps(reads=True), "--batch 2x")
    assert done.returncode == 1 and "the host would bound it" in done.stderr, done
    done, _ = ask(binary, Steps(10, 9, small_us=9), "--gpu H100")
    assert done.returncode == 1 and "kernels of less than 10 us" in done.stderr, done


def test_other_traces(binary):
    with Folder(binary) as folder:
        for text in ("{}", '{"traceEvents": []}', "[1"):
            with open(folder.file("t.json"), "w", encoding="utf-8") as file:
                file.write(text)
            done = folder.sh("gputally what-if t.json --batch 2x")
            assert done.returncode == 1 and done.stderr.startswith("gputally: t.json: "), done
        done = folder.sh("gputally what-if tiny_results.json --batch 2x")
        assert done.returncode == 1 and "what-if needs a PyTorch trace" in done.stderr, done


def cases():
    return [harness.Case(name[5:].replace("_", " "), lambda binary, folder, test=test: test(binary) or [])
            for name, test in globals().items() if name.startswith("test_")]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
