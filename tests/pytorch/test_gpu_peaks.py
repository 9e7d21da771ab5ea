#!/usr/bin/env python3
"""Which rates of a GPU the PyTorch report uses, and that it says so.

    python3 -m tests.pytorch.test_gpu_peaks --bin build/gputally [NAME]

The trace has two products of 4096 x 4096 matrices, in bf16 and in fp64. Their times on an MI300X follow from AMD's published
rates (1307.4 and 163.4 TFLOP/s), from the achievable rate that AMD measured for bf16 (708), and from the figures of TraceLens
(708 and 81).
"""
import json
import os
import sys
import tempfile

from tests.common import harness

FLOPS = 2 * 4096 ** 3


def trace():
    events = []
    for number, kind in enumerate(("c10::BFloat16", "double"), 1):
        ts = 1000 * number
        args = {"Input Dims": [[4096, 4096]] * 2, "Input type": [kind] * 2, "Input Strides": [[4096, 1]] * 2,
                "Concrete Inputs": ["", ""], "External id": number}
        flow = {"cat": "ac2g", "name": "ac2g", "id": number}
        events += [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": ts, "dur": 50, "args": args},
                   {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": ts + 5, "dur": 5,
                    "args": {"correlation": number, "External id": number}},
                   {"ph": "s", "pid": 1, "tid": 1, "ts": ts + 5, **flow},
                   {"ph": "f", "pid": 0, "tid": 7, "ts": ts + 20, "bp": "e", **flow},
                   {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": ts + 20, "dur": 500,
                    "args": {"correlation": number, "stream": 7, "device": 0, "External id": number}}]
    return {"traceEvents": events}


def make_report(binary, command, *options, old_name=None, gpu="MI300X"):
    """The roofline times of the two products, and what the program printed."""
    with tempfile.TemporaryDirectory() as folder:
        path, sheets = os.path.join(folder, "trace.json"), os.path.join(folder, "sheets")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace(), file)
        program = [binary, command, path]
        if old_name:
            link = os.path.join(folder, old_name)
            os.symlink(binary, link)
            program = [link, "--profile_json_path", path]
        done = harness.run([*program, "--output_csvs_dir", sheets, "--gpu_arch_platform", gpu, *options])
        if done.code:
            return None, done
        headings, rows = harness.read_csv(os.path.join(sheets, "GEMM.csv"))
        kind, time = headings.index("Compute Spec"), headings.index("Roofline Time (µs)_first")
        return {row[kind]: float(row[time]) for row in rows}, done


def expect(binary, bf16, fp64, said, command, *options, **more):
    times, done = make_report(binary, command, *options, **more)
    for spec, tflops in (("matrix_bf16", bf16), ("matrix_fp64", fp64)):
        wanted = FLOPS / tflops / 1e6
        assert abs(times[spec] / wanted - 1) < 1e-9, f"{spec}: {times[spec]} us, not {wanted}"
    lines = [line for line in done.stdout.splitlines() if line.startswith("roofline: ")]
    assert lines == ([f"roofline: {said}"] if said else []), done.stdout


def test_report_uses_peak_rates(binary):
    expect(binary, 1307.4, 163.4, "MI300X, peak rates", "report")
    expect(binary, 1307.4, 163.4, "MI325X, peak rates", "report", gpu="amd instinct mi325x")


def test_pytorch_uses_the_rates_of_tracelens(binary):
    expect(binary, 708, 81, "MI300X, rates of TraceLens", "pytorch")
    expect(binary, 843, 97, "MI325X, rates of TraceLens", "pytorch", gpu="MI325X")
    expect(binary, 989.4, 66.9, "H100, peak rates", "pytorch", gpu="H100")


def test_old_name_uses_the_rates_of_tracelens_and_says_nothing(binary):
    expect(binary, 708, 81, None, None, old_name="TraceLens_generate_perf_report_pytorch")


def test_the_set_can_be_chosen(binary):
    some = "MI300X, achievable rates of matrix_fp16, matrix_bf16, matrix_fp8; peak rates of the rest"
    for command in ("report", "pytorch"):
        expect(binary, 1307.4, 163.4, "MI300X, peak rates", command, "--gpu_peaks", "peak")
        expect(binary, 708, 163.4, some, command, "--gpu_peaks", "achievable")
        expect(binary, 708, 81, "MI300X, rates of TraceLens", command, "--gpu_peaks", "tracelens")


def unnamed(binary, **properties):
    """The JSON of the report of a trace with such a device, and the first lines of terminal, Markdown and page."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"deviceProperties": [{"id": 0, "warpSize": 64, **properties}], **trace()}, file)
        outputs = [os.path.join(folder, name) for name in ("out.json", "out.md", "out.html")]
        done = harness.run([binary, "report", path, "--output_json", outputs[0], "--output_md", outputs[1], "--output_html", outputs[2]])
        assert done.code == 0, done
        texts = [open(output, encoding="utf-8").read() for output in outputs]
        return json.loads(texts[0]), done.stdout, texts[1], texts[2]


def test_amd_gpus_without_a_name(binary):
    """gfx 9.4 with 304 units and 206 GB is an MI300X; what several products have is named, and has no roofline."""
    document, screen, markdown, page = unnamed(binary, name="", computeMajor=9, computeMinor=4, numSms=304, totalGlobalMem=206141652992)
    assert (document["device"], document["device_by"]) == ("AMD Instinct MI300X", "properties"), document["device"]
    gemm = document["sheets"]["GEMM"]
    kind, time = (gemm["columns"].index(name) for name in ("Compute Spec", "Roofline Time (µs)_first"))
    times = {row[kind]: row[time] for row in gemm["rows"]}
    assert abs(times["matrix_bf16"] / (FLOPS / 1307.4 / 1e6) - 1) < 1e-9, times
    assert "roofline: MI300X, peak rates" in screen, screen
    for text in (screen, markdown, page):
        assert "AMD Instinct MI300X (by its properties)" in text, text[:1000]
    for properties, name in (({"computeMinor": 5, "numSms": 256, "totalGlobalMem": 309220868096}, "AMD Instinct MI350X or MI355X"),
                             ({"computeMinor": 4, "numSms": 304}, "AMD Instinct MI300X or MI325X"),
                             ({"computeMinor": 4, "numSms": 38, "totalGlobalMem": 206141652992}, "unknown"),
                             ({"computeMinor": 4, "numSms": 304, "totalGlobalMem": 206141652992, "warpSize": 32}, "unknown"),
                             ({"computeMinor": 4, "numSms": 304, "totalGlobalMem": 206141652992, "name": "Radeon"}, "Radeon")):
        document, screen = unnamed(binary, computeMajor=9, **properties)[:2]
        assert document["device"] == name and (document["device_by"] == "properties") == (" or " in name), (document["device"], name)
        assert "no roofline: " in screen, screen


def test_sets_and_names_that_do_not_exist(binary):
    done = make_report(binary, "report", "--gpu_peaks", "best")[1]
    assert done.code == 2 and "choose from peak, achievable, tracelens" in done.stderr, done
    done = make_report(binary, "report", "--gpu_peaks", "achievable", gpu="H100")[1]
    assert done.code == 1 and "no achievable rates are known for H100" in done.stderr, done
    done = make_report(binary, "report", gpu="MI1")[1]
    assert done.code == 2 and "argument --gpu_arch_platform: unknown GPU 'MI1'; known GPUs: A10, A100, " in done.stderr, done


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
