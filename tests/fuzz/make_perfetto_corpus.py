#!/usr/bin/env python3
"""Writes the seeds of the Perfetto fuzz target: small traces, one feature each.

    python3 -m tests.fuzz.make_perfetto_corpus        writes tests/fuzz/corpus/perfetto/

The first byte of each seed chooses options and the block size; see the target.
"""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
from tests.perfetto.writer import Writer, data, double, number
from tests.perfetto.test_reports import CASE, synthetic
from tests.perfetto.writer import rocprof


def write(name, content, option=0):
    folder = os.path.join(HERE, "corpus", "perfetto")
    os.makedirs(folder, exist_ok=True)
    for reader, title in enumerate(("walk", "report", "rocprof", "pytorch")):
        with open(os.path.join(folder, f"{name}_{title}"), "wb") as f:
            f.write(bytes([option | reader << 6]) + content)


def pytorch():
    trace = Writer(plain=True)
    process, gpu = trace.process(7), trace.process(0, "GPU 0")
    thread, stream = trace.thread(7, 8, process), trace.thread(0, 3, gpu)
    trace.event(thread, 1, 1000, "cpu_op", "aten::mm", {"External id": 5, "Input Dims": [[2, 3], []], "Input type": ["float", ""],
                                                        "Concrete Inputs": ["", "1"], "Sequence number": 3})
    trace.event(thread, 1, 1100, "cuda_runtime", "cudaLaunchKernel", {"correlation": 9}, [9])
    trace.event(stream, 1, 1200, "kernel", "gemm", {"correlation": 9, "stream": 3, "grid": [1, 1, 1]}, [9])
    for track, end in ((thread, 1150), (thread, 1300), (stream, 1500)):
        trace.event(track, 2, end)
    return trace.bytes()


def converted():
    """The additions of `gputally convert`: agents, sessions, positions of records."""
    trace = Writer()
    processes = [trace.process(pid) for pid in (9, 8)]
    tracks = [trace.track("t", process) for process in processes]
    for track in tracks:
        trace.event(track, 3, 10, "agent", "Agent-2", {"agent_id": 77, "Node_Id": 2, "Agent_Type": "GPU", "Name": "gfx942"})
        trace.slice(track, "session", "profiled run", 10, 900, {"begin_ns": 10, "end_ns": 900, "pid": 5, "hostname": "h"})
        for i in range(6):
            trace.slice(track, "kernel_dispatch", "k", 20 + i, 30 + i,
                        {"record": (5 * i + 3) % 6, "agent": "Agent-2", "agent_id": 77, "begin_ns": 20 + i, "end_ns": 30 + i, "SQ": 0.5})
        trace.slice(track, "memory_copy", "MEMORY_COPY_HOST_TO_DEVICE", 60, 70, {"record": 4, "src_agent_id": 7, "dst_agent": "Agent-2"})
        trace.slice(track, "hip_api", "hipFree", 80, 90, {"record": 3})
    return trace.bytes()


def legacy():
    trace = Writer(plain=True)
    thread = trace.thread(1, 1, trace.process(1))
    for phase in b"BEXIbensf":
        trace.event(thread, 0, 5000 + phase, "cat", "n", {}, extra=data(6, number(2, phase) + number(3, 4) + number(6, 77)))
    trace.packet(data(44, number(1, 3) + number(2, 4)) + number(8, 9), sequence=9)
    trace.packet(number(8, 10) + data(11, number(9, 1) + data(23, "x")), sequence=9)
    return trace.bytes()


def nested():
    """Annotations of the older nested form, and values of all kinds."""
    item = lambda body: data(4, body)
    trace = Writer(plain=True)
    track = trace.track("t", trace.process(1))
    dictionary = number(1, 1) + data(2, "k") + data(3, number(5, 7)) + data(2, "l") + data(3, data(8, "text")) + data(3, number(7, 1))
    array = number(1, 2) + item(double(6, 0.5)) + item(number(1, 1)) + item(dictionary) + item(b"")
    notes = [data(8, dictionary), data(8, array), data(8, number(5, 3)), number(7, 255), number(4, -5), double(5, float("inf")), number(2, 1),
             data(11, data(10, "x") + double(5, float("nan"))), data(12, b""), data(6, "text")]
    trace.event(track, 1, 10, "kernel_dispatch", "n", {}, extra=b"".join(data(4, data(10, f"n{i}") + note) for i, note in enumerate(notes)))
    trace.event(track, 2, 20)
    return trace.bytes()


def main():
    write("rocprof", rocprof(CASE).bytes())
    write("rocprof_plain", rocprof(CASE, plain=True).bytes(), 4)
    write("rocprof_packed", rocprof(CASE).compressed(), 8)
    write("rocprof_blocks", rocprof(synthetic(5, 12)).bytes(), 2)
    write("pytorch", pytorch())
    write("converted", converted())
    write("legacy", legacy(), 1)
    write("nested", nested())
    trace = Writer()
    track = trace.track("t", trace.process(1))
    trace.event(track, 1, 10, "c", "n", {"deep": {"a": [1, -2, 0.5, {"b": "x", "c": True}]}, "agent": "Agent-1"})
    trace.clear()
    trace.event(track, 2, 20, "c")
    trace.count(trace.counter_track("bytes", track), 30, 4096)
    write("clear", trace.bytes(), 16)


if __name__ == "__main__":
    main()
