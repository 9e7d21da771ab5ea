#!/usr/bin/env python3
"""Exposed communication: its gain is what hiding it would bring, and 0 if something else limits the step.

    python3 -m tests.findings.test_overlap --bin build/gputally [--only TEXT]

The traces are simulated: one host thread, a compute stream and streams of collectives. The expected gain is the step time of
the run minus that of the same run in which collectives take no time.
"""
import json
import os
import sys

from tests.common import harness
from tests.findings import small_traces

CALL_US, LATENCY_US, GAP_US = 5.0, 6.0, 1.0
COMPUTE = 7
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


class Machine:
    def __init__(self):
        self.host_us, self.streams, self.correlation = 1e6, {}, 0
        self.host, self.gpu, self.firsts = [], [], []

    def spend(self, us, name):
        self.host.append(small_traces.host("user_annotation", name, self.host_us, us))
        self.host_us += us

    def launch(self, op, us, host_us, stream=COMPUTE, after=0.0, name="gemm"):
        """A kernel that also waits for the time `after`; the result is its end."""
        self.correlation += 1
        self.host.append(small_traces.host("cpu_op", op, self.host_us, host_us + CALL_US))
        call = self.host_us + host_us
        self.host.append(small_traces.host("cuda_runtime", "cudaLaunchKernel", call, CALL_US, correlation=self.correlation))
        self.host_us = call + CALL_US
        start = max(call + LATENCY_US, self.streams.get(stream, 0) + GAP_US, after)
        self.gpu.append(small_traces.kernel(start, us, self.correlation, stream=stream, name=name))
        self.streams[stream] = start + us
        return start + us

    def collective(self, us, host_us, after, stream=20):
        return self.launch("c10d::allreduce_", us, host_us, stream, after, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")

    def join(self, end):
        """Computation waits for a collective."""
        self.streams[COMPUTE] = max(self.streams[COMPUTE], end)

    def trace(self):
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0}],
                "traceEvents": self.host + self.gpu}


def gradients(machine, communication_us, data_us, host_us):
    """Four buckets of gradients are reduced beside the backward pass; the optimizer waits for the last one."""
    if data_us:
        machine.spend(data_us, LOADER)
    end = 0.0
    for layer in range(20):
        done = machine.launch("aten::mm", 100.0, host_us)
        if layer % 5 == 4:
            end = machine.collective(communication_us, host_us, done)
    machine.join(end)
    machine.launch("aten::_fused_adamw_", 50.0, host_us)


def layers(machine, communication_us, data_us, host_us):
    """Each layer waits for the collective of the one before it."""
    if data_us:
        machine.spend(data_us, LOADER)
    for _ in range(30):
        done = machine.launch("aten::mm", 60.0, host_us)
        machine.join(machine.collective(communication_us, host_us, done))


def pairs(machine, communication_us, data_us, host_us):
    """The same with two collectives at once."""
    if data_us:
        machine.spend(data_us, LOADER)
    for _ in range(30):
        done = machine.launch("aten::mm", 60.0, host_us)
        ends = [machine.collective(communication_us, host_us / 2, done, stream) for stream in (20, 21)]
        machine.join(max(ends))


def simulate(program, communication_us, data_us, host_us, steps=5):
    """The trace, and the time of a step in ms: from the first kernel of one to that of the next."""
    machine = Machine()
    firsts = []
    for number in range(steps):
        begin, before = machine.host_us, len(machine.gpu)
        program(machine, communication_us, data_us, host_us)
        firsts.append(machine.gpu[before]["ts"])
        machine.host.append(small_traces.host("user_annotation", f"ProfilerStep#{number}", begin, machine.host_us - begin))
        machine.host_us += 1
    return machine.trace(), (firsts[-1] - firsts[0]) / (steps - 1) / 1e3


def report(binary, folder, trace):
    path = small_traces.write(os.path.join(folder, "t.json"), trace)
    target = os.path.join(folder, "out.json")
    outcome = harness.run([binary, "report", path, "--output_json", target, "--no_html", "-q"])
    assert outcome.code == 0, outcome.stderr
    with open(target, encoding="utf-8") as file:
        return json.load(file)


def gain_of(document, name="exposed_comm"):
    return next((finding["gain_ms"] for finding in document["findings"] if finding["id"] == name), 0.0)


def what_if(document):
    sheet = document["sheets"]["what_if"]
    return {row[0]: dict(zip(sheet["columns"], row)) for row in sheet["rows"]}["overlapped_communication"]["gain_ms"]


def check_gain(binary, folder, program, communication_us, data_us, host_us, is_hidden):
    trace, step_ms = simulate(program, communication_us, data_us, host_us)
    truth = step_ms - simulate(program, 0.0, data_us, host_us)[1]
    assert (truth < 0.001) == is_hidden, truth
    document = report(binary, folder, trace)
    gain = gain_of(document)
    problems = []
    if abs(gain - truth) > 0.1 * step_ms:
        problems.append(f"gain {gain} instead of {truth:.3f} of {step_ms:.3f} ms")
    if abs(min(what_if(document), gain) - gain) > 1e-6:
        problems.append(f"gain {gain}, but what_if {what_if(document)}")
    if data_us and is_hidden and document["findings"][0]["id"] != "data_stall":
        problems.append(f"first is {document['findings'][0]['id']}")
    return problems


def check_without_launches(binary, folder):
    """Nobody knows what limits the host: the gain is the exposed time."""
    trace, _ = simulate(layers, 40.0, 4000.0, 5.0)
    document = report(binary, folder, trace)
    assert gain_of(document) == 0, document["findings"]
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event["cat"] in ("kernel", "user_annotation")]
    document = report(binary, folder, trace)
    sheet = document["sheets"]["balance"]
    parts = [dict(zip(sheet["columns"], row)) for row in sheet["rows"]]
    exposed = sum(part["ms"] for part in parts if part["kind"] == "exposed_communication")
    assert exposed > 1 and abs(gain_of(document) - exposed) < 1e-6, (exposed, document["findings"])
    return []


def cases():
    for program, communication_us, data_us, host_us, is_hidden in (
            (gradients, 1500.0, 0.0, 8.0, False), (gradients, 1500.0, 9000.0, 8.0, True), (gradients, 1500.0, 4000.0, 8.0, False),
            (layers, 40.0, 0.0, 5.0, False), (layers, 12.0, 0.0, 5.0, False), (layers, 40.0, 4000.0, 5.0, True),
            (layers, 40.0, 0.0, 80.0, True), (layers, 80.0, 0.0, 40.0, False), (pairs, 40.0, 0.0, 5.0, False)):
        name = f"{program.__name__}, communication {communication_us:.0f}, data {data_us:.0f}, host {host_us:.0f} us"
        yield harness.Case(name, check_gain, program, communication_us, data_us, host_us, is_hidden)
    yield harness.Case("without launches", check_without_launches)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], cases()))
