#!/usr/bin/env python3
"""Findings on simulated programs, whose repairs are simulated as well.

    python3 -m tests.findings.test_simulated --bin build/gputally [--only TEXT]
"""
import contextlib
import json
import sys

from tests.cli.folder import Folder
from tests.common import harness
from tests.findings import small_traces
from tests.findings.simulated_host import Program

IMAGE = 3 * 1024 * 1024 * 4
MASK = 1024 * 1024 * 4


def report(binary, program):
    """(findings by id, document, terminal)"""
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), program.trace())
        done = folder.sh("gputally report t.json --output_json out.json")
        assert done.returncode == 0 and not harness.SANITIZER.search(done.stderr), done
        with open(folder.file("out.json"), encoding="utf-8") as file:
            document = json.load(file)
    return {finding["id"]: finding for finding in document["findings"]}, document, done.stdout


# ---- round trips ----


def segmentation(steps=True, result=MASK, resized=None):
    """Resizes an image on the CPU, copies it to the GPU, and copies a result back; `resized` are the dims of the CPU op."""
    program = Program()
    with program.function("infer.py(1): <module>"):
        for number in range(6):
            with program.step(number) if steps else contextlib.nullcontext():
                with program.function("infer.py(10): load"), program.op("aten::_upsample_bilinear2d_aa", resized or [1, 3, 2000, 2000]):
                    program.host(4000)
                with program.function("infer.py(12): to_gpu"), program.op("aten::copy_", [1, 3, 1024, 1024]):
                    program.copy("HtoD (Pageable -> Device)", IMAGE)
                for _ in range(20):
                    program.matmul(200)
                with program.function("infer.py(20): to_cpu"), program.op("aten::copy_", [1, 1024, 1024]):
                    program.copy("DtoH (Device -> Pageable)", result)
            program.host(20)
    return program


def round_trip(steps):
    """Copies a tensor to the CPU, sorts it there in twice as many bytes, and copies it back."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(6):
            with program.step(number) if steps else contextlib.nullcontext():
                for _ in range(20):
                    program.matmul(50)
                with program.function("train.py(20): sort"):
                    with program.op("aten::to", [1024, 1024], kind="c10::BFloat16"):
                        program.copy("DtoH (Device -> Pageable)", MASK // 2)
                    with program.op("aten::sort", [1024, 1024]):
                        program.host(5000)
                    with program.op("aten::to", [1024, 1024]):
                        program.copy("HtoD (Pageable -> Device)", MASK)
            program.host(20)
    return program


def test_the_next_image_is_no_round_trip(binary):
    programs = [segmentation(), segmentation(result=IMAGE), segmentation(steps=False), segmentation(steps=False, result=IMAGE)]
    for program in programs:
        found, document, _ = report(binary, program)
        assert "cpu_roundtrip" not in found and "cpu_op" in found, document["findings"]
        assert abs(found["cpu_op"]["gain_ms"] - 4 * (1 if program.starts else 5)) < 0.1, found["cpu_op"]
        # All copies are pageable, and none belongs to another finding.
        counts = [text for text in found["pageable_copy"]["evidence"] if " x " in text]
        assert len(counts) == 2 and all(text.startswith("1 x" if program.starts else "6 x") for text in counts), counts


def test_round_trip(binary):
    for steps in (True, False):
        found, document, _ = report(binary, round_trip(steps))
        assert document["findings"][0]["id"] == "cpu_roundtrip", document["findings"]
        assert "pageable_copy" not in found, document["findings"]
        assert found["cpu_roundtrip"]["evidence"][0] == (
            "6 round trips device -> host -> device in the trace: on average 2.1 MB to the host and 4.2 MB back, copied in 1.05 ms"), found


# ---- synchronising calls ----


def layers_with_flags(reads, per_layer=8, host_us=35.0):
    """A model that launches slowly; each of 24 layers asks whether any element has a property."""
    program = Program()
    with program.function("serve.py(1): <module>"):
        for number in range(4):
            with program.step(number):
                for _ in range(24):
                    with program.function("model.py(20): forward"):
                        for _ in range(per_layer):
                            program.matmul(5, host_us)
                        if reads:
                            with program.function("model.py(31): route"):
                                program.item()
            program.host(20)
    return program


def norms(reads, python_us=0):
    """Training that reads the norm of each of 60 gradients, and then does something with it for `python_us`."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(4):
            with program.step(number):
                for _ in range(40):
                    program.matmul(30)
                with program.function("train.py(50): watch"):
                    for _ in range(60):
                        if reads:
                            program.host(5)
                            with program.op("aten::linalg_vector_norm", [1024]):
                                program.host(5)
                                program.launch(2, "reduce_kernel")
                                program.host(5)
                            program.item()
                        program.host(python_us)
                for _ in range(40):
                    program.matmul(30)
            program.host(20)
    return program


def test_flag_per_layer(binary):
    for per_layer, host_us in ((8, 35), (4, 35), (8, 20), (12, 35)):
        program = layers_with_flags(True, per_layer, host_us)
        gain = program.step_ms() - layers_with_flags(False, per_layer, host_us).step_ms()
        found, document, _ = report(binary, program)
        assert 0.7 * gain <= found["host_sync"]["gain_ms"] <= 1.1 * gain, (gain, found["host_sync"])
        assert found["launch_bound"]["gain_ms"] > 0.6 * document["model_step_ms"], document["findings"]
        causes = {cause["cause"]: cause["ms"] for cause in document["idle_causes"]}
        assert causes["sync"] <= gain and causes["launch"] > 0.8 * document["idle_ms"], causes
        assert not [text for text in found["host_sync"]["evidence"] if "tight loop" in text], found["host_sync"]


def test_loop_of_reads(binary):
    program = norms(True)
    gain = program.step_ms() - norms(False).step_ms()
    found, document, _ = report(binary, program)
    assert document["findings"][0]["id"] == "host_sync", document["findings"]
    assert 0.7 * gain <= found["host_sync"]["gain_ms"] <= 1.1 * gain, (gain, found["host_sync"])
    assert "4 tight loops of synchronising calls in the trace" in found["host_sync"]["evidence"], found["host_sync"]


def test_python_code_in_a_loop_of_reads(binary):
    program = norms(True, 300)
    gain = program.step_ms() - norms(False, 300).step_ms()
    found, document, _ = report(binary, program)
    assert document["findings"][0]["id"] == "python_busy", document["findings"]
    assert abs(found["python_busy"]["gain_ms"] - 18) < 0.5, found["python_busy"]
    assert found["host_sync"]["gain_ms"] <= 1.1 * gain, (gain, found["host_sync"])


# ---- what the terminal says ----


def logging(waits=True):
    """Reads a value at the end of each step, then logs it for 0.7 ms; `waits`: the GPU is still busy then."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(4):
            with program.step(number):
                for _ in range(40):
                    program.matmul(60 if waits else 2)
                with program.function("train.py(88): log"):
                    if not waits:
                        program.host(150)
                    program.item()
                    with program.function("train.py(90): write"):
                        program.host(700 if waits else 20)
                for _ in range(40):
                    program.matmul(60 if waits else 2)
            program.host(20)
    return program


def collective(names, other_us=0):
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(4):
            with program.step(number):
                for _ in range(40):
                    program.matmul(60)
                with program.function("train.py(70): reduce_metrics"), contextlib.ExitStack() as stack:
                    for name in names:
                        stack.enter_context(program.op(name))
                    program.host(7000)
                if other_us:
                    with program.op("aten::sort"):
                        program.host(other_us)
            program.host(20)
    return program


def shown(terminal, name):
    """The lines of a finding on the terminal, as one text."""
    lines = terminal.split("\n")
    first = next(i for i, line in enumerate(lines) if f" {name}: " in line)
    last = next(i for i in range(first + 1, len(lines)) if not lines[i].startswith(" "))
    return " ".join(line.strip() for line in lines[first:last])


def test_gain_is_explained_in_the_terminal(binary):
    found, _, terminal = report(binary, logging())
    text = shown(terminal, "host_sync")
    assert "the host waits" in text and "other idle time that the host causes" in text, text
    assert len([line for line in found["python_busy"]["evidence"] if ": 0.00 ms" in line]) == 0, found["python_busy"]
    assert "the GPU is idle for 0.70 ms per step meanwhile" in shown(terminal, "python_busy"), terminal


def test_no_zeros(binary):
    found, _, terminal = report(binary, logging(waits=False))
    assert "0.00 ms" not in " ".join(found["host_sync"]["evidence"]), found["host_sync"]
    assert "the gain is other idle time that the host causes" in shown(terminal, "host_sync"), terminal


def test_collectives_on_the_cpu(binary):
    for names in (["c10d::allreduce_", "gloo:all_reduce"], ["gloo:barrier"]):
        found, _, _ = report(binary, collective(names))
        assert found["cpu_op"]["title"] == "Collectives on the CPU hold up the GPU", found
        assert found["cpu_op"]["confidence"] == "medium" and "NCCL" in found["cpu_op"]["advice"], found
    for names, other_us in ((["aten::sort"], 0), (["c10d::allreduce_"], 9000)):
        found, _, _ = report(binary, collective(names, other_us))
        assert found["cpu_op"]["title"] == "Operators on the CPU hold up the GPU", found
        assert found["cpu_op"]["confidence"] == "high" and ".cpu()" not in found["cpu_op"]["advice"], found


def prefetching(copy_us, steps=6, kernels=40):
    """Each step's batch is copied on a second stream as soon as the one before it is; the step waits for it."""
    program = Program()
    copied = 0.0
    with program.function("train.py(1): <module>"):
        for number in range(steps):
            with program.step(number):
                with program.function("prefetch.py(5): preload"), program.op("aten::copy_", [1000, 1000]):
                    program.correlation += 1
                    copy = small_traces.kernel(max(program.now + 5, copied), max(copy_us, 1), program.correlation, stream=9, name="Memcpy HtoD (Pinned -> Device)")
                    copy.update(cat="gpu_memcpy")
                    copy["args"].update({"bytes": 300000000, "memory bandwidth (GB/s)": 25.0})
                    copied = copy["ts"] + copy["dur"]
                    program.on_gpu.append(copy)
                    program.call("cudaMemcpyAsync", program.now + 5, correlation=program.correlation)
                program.free = max(program.free, copied)
                for _ in range(kernels):
                    program.matmul(150)
            program.host(20)
    return program


def test_no_gain_beyond_the_remaining_work(binary):
    """A copy that is slower than the step: without it, the step takes what its kernels take."""
    program = prefetching(12000)
    truth = program.step_ms() - prefetching(0).step_ms()
    found, document, _ = report(binary, program)
    assert 0.75 < found["exposed_copy"]["gain_ms"] / truth < 1.33, (truth, document["findings"])
    # The window has the kernels of four of its five steps: those of the last one come after it.
    assert document["all_fixed_ms"] >= 40 * 0.15 * 4 / 5 - 0.01, document["all_fixed_ms"]


# ---- several devices ----


def two_loops(same_process, fault_us):
    """A loop on each of two GPUs. That on the second one, which has less to do, loads data for `fault_us`."""
    found, programs = [], []
    for device in (0, 1):
        program = Program()
        with program.function("train.py(1): <module>"):
            for number in range(6):
                with program.step(number), program.function(f"train.py({10 + device}): step"):
                    if device and fault_us:
                        with program.function(small_traces.LOADER):
                            program.host(fault_us)
                    for _ in range(40):
                        program.matmul(100 if device else 250)
                program.host(20)
        for event in program.on_host + program.on_gpu:
            event["tid"] += device
            event["pid"] = device if event["cat"] == "kernel" else 100 + device * (not same_process)
            if "correlation" in event["args"]:
                event["args"]["correlation"] += 100000 * device
            if event["cat"] == "kernel":
                event["args"]["device"] = device
        found += [event for event in program.on_host if not (same_process and device and event["name"].startswith("ProfilerStep"))] + program.on_gpu
        programs.append(program)
    return programs, {"schemaVersion": 1, "deviceProperties": [{"id": i, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0} for i in (0, 1)],
                      "traceEvents": found}


class Recorded:
    def __init__(self, trace):
        self.trace = lambda: trace


def test_all_devices_are_judged(binary):
    for same_process in (False, True):
        programs, trace = two_loops(same_process, 6000)
        truth = programs[1].step_ms() - two_loops(same_process, 0)[0][1].step_ms()
        found, document, _ = report(binary, Recorded(trace))
        assert document["findings"][0]["id"] == "data_stall" and document["no_rule"] is None, document["findings"]
        steps = 5 if same_process else 1  # without steps the gain is that of the whole trace, which begins with a kernel
        assert 0.9 * truth < found["data_stall"]["gain_ms"] / steps < 1.1 * truth, (truth, found["data_stall"])
        assert "(GPU 1)" in found["data_stall"]["title"] and "those of GPU 1 alone" in found["data_stall"]["evidence"][0], found["data_stall"]
        found, document, _ = report(binary, Recorded(two_loops(same_process, 0)[1]))
        assert not [f for f in document["findings"] if not f["hint"]], document["findings"]


# ---- clocks ----


def moved(program, us):
    """The same program, recorded by a profiler whose clock of the GPU is wrong."""
    for event in program.on_gpu:
        event["ts"] += us
    return program


def test_clocks_of_host_and_gpu(binary):
    programs = {"host_sync": lambda: layers_with_flags(True), "python_busy": lambda: norms(True, 300), "exposed_copy": lambda: prefetching(12000),
                "launch_bound": lambda: layers_with_flags(False, 8, 35.0), "cpu_roundtrip": lambda: round_trip(True)}
    for name, make in programs.items():
        found, document, _ = report(binary, make())
        assert "T22" not in [check["id"] for check in document["trust"]["checks"]], document["trust"]
        for us in (-200, -50, 50, 200):
            again, other, _ = report(binary, moved(make(), us))
            assert abs(again[name]["gain_ms"] / found[name]["gain_ms"] - 1) < 0.05, (name, us, found[name], again.get(name))
            assert other["findings"][0]["id"] == document["findings"][0]["id"], (name, us, other["findings"])
            check = [check for check in other["trust"]["checks"] if check["id"] == "T22"]
            # The start of an op tells nothing if the GPU is never idle; then nothing depends on the clocks either.
            assert not check or abs(check[0]["value"] - abs(us)) < 12 and check[0]["level"] == "warn", (us, check)
            assert check or name == "exposed_copy", (name, us, other["trust"])
            start = document["window_start_us"] if "window_start_us" in document else None
            assert start is None or abs(other["window_start_us"] - start - us) < 0.01, (start, other["window_start_us"])


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
