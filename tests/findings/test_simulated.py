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


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
