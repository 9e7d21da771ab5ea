#!/usr/bin/env python3
"""What the page says about small traces: lanes, call paths, shapes, launches. Expected values are written by hand.

    python3 -m tests.page.test_work --bin build/gputally [--only TEXT]
"""
import csv
import json
import os
import sys

from tests.common import harness
from tests.findings import rocprof_runs
from tests.page.test_work_sums import check_host, make_page, records

KERNEL, STEP_US = "gemm_kernel", 1000.0


class Trace:
    """A PyTorch trace. Times are microseconds; ops launch one kernel each."""

    def __init__(self, process=10, thread=10):
        self.host, self.gpu, self.correlation, self.process, self.thread = [], [], 0, process, thread

    def event(self, category, name, start, duration, thread=None, process=None, **args):
        event = {"ph": "X", "cat": category, "name": name, "pid": process or self.process, "tid": thread or self.thread,
                 "ts": start, "dur": duration, "args": args}
        self.host.append(event)
        return event

    def launch(self, start, kernel=KERNEL, device=0, stream=7, thread=None, process=None, kernel_us=5.0):
        self.correlation += 1
        self.event("cuda_runtime", "cudaLaunchKernel", start, 2.0, thread, process, correlation=self.correlation)
        self.gpu.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": device, "tid": stream, "ts": start + 100, "dur": kernel_us,
                         "args": {"correlation": self.correlation, "stream": stream, "device": device}})

    def op(self, name, start, duration=10.0, launches=1, thread=None, sequence=None, dims=((8, 8),), **launch):
        args = {"Input Dims": [list(dim) for dim in dims]}
        if sequence is not None:
            args["Sequence number"] = sequence
        self.event("cpu_op", name, start, duration, thread, **args)
        for i in range(launches):
            self.launch(start + 1 + 2 * i, thread=thread, **launch)

    def python(self, name, start, duration, thread=None):
        self.event("python_function", name, start, duration, thread)

    def page(self, binary, folder, *more):
        path = os.path.join(folder, "trace.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [*more, *self.host, *self.gpu]}, file)
        tables, self.sheets = make_page(binary, path, folder)
        check_host(tables)
        return tables


def paths(tables):
    """Per call: (names of its path, op, shapes)."""
    nodes = records(tables, "page_nodes")

    def path(node):
        return () if node is None else path(nodes[node]["parent"]) + (nodes[node]["name"],)
    return [(path(call["node"]), call["op"], call["shapes"]) for call in records(tables, "page_calls")]


def kinds(tables):
    return {row["name"]: row["kind"] for row in records(tables, "page_nodes")}


def add_training_step(trace, number, begin):
    """main > Net > Linear > aten::linear > aten::addmm, a loss without a module, and the backward pass."""
    trace.event("user_annotation", f"ProfilerStep#{number}", begin, STEP_US - 10)
    trace.python("train.py(5): step", begin + 1, STEP_US - 20)
    trace.python("nn.Module: Net_0", begin + 2, 100)
    trace.python("torch/nn/modules/linear.py(100): forward", begin + 3, 90)
    trace.python("nn.Module: Linear_0", begin + 4, 80)
    trace.python("<built-in function linear>", begin + 5, 70)
    trace.event("cpu_op", "aten::linear", begin + 6, 60, **{"Input Dims": [[4, 8], [16, 8]], "Sequence number": 2 * number})
    trace.op("aten::addmm", begin + 10, 20, dims=((16,), (4, 8), (8, 16)))
    trace.op("aten::mse_loss", begin + 200)
    trace.event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 300, 50, thread=11,
                **{"Sequence number": 2 * number})
    trace.event("cpu_op", "AddmmBackward0", begin + 301, 45, thread=11, **{"Sequence number": 2 * number})
    trace.op("aten::mm", begin + 305, thread=11, dims=((4, 16), (16, 8)))
    trace.event("cpu_op", "autograd::engine::evaluate_function: SumBackward0", begin + 400, 50, thread=11)
    trace.op("aten::expand_copy", begin + 405, thread=11)


def check_paths(binary, folder):
    """Steps share one tree; modules hide functions; backward work belongs to the module of its forward op."""
    trace = Trace()
    for number in range(3):
        add_training_step(trace, number, 1000 + number * STEP_US)
    tables = trace.page(binary, folder)
    expected = [
        (("Net_0", "Linear_0", "aten::linear", "aten::addmm"), "aten::addmm", "((16,), (4, 8), (8, 16))"),
        (("train.py(5): step", "aten::mse_loss"), "aten::mse_loss", "((8, 8),)"),
        (("Net_0", "Linear_0", "AddmmBackward0", "aten::mm"), "aten::mm", "((4, 16), (16, 8))"),
        (("backward", "SumBackward0", "aten::expand_copy"), "aten::expand_copy", "((8, 8),)"),
    ]
    assert sorted(paths(tables)) == sorted(expected), paths(tables)
    assert {row["count"] for row in records(tables, "page_sums")} == {3}
    assert kinds(tables)["Net_0"] == "module" and kinds(tables)["aten::mm"] == "op" and kinds(tables)["backward"] == "annotation"
    assert kinds(tables)["train.py(5): step"] == "function"
    python = {call["op"]: call["python"] for call in records(tables, "page_calls")}
    assert python["aten::addmm"] == "train.py(5): step -> linear()", python
    assert python["aten::mm"] == "backward of train.py(5): step -> linear()", python
    assert {call["runtime"] for call in records(tables, "page_calls")} == {"cudaLaunchKernel"}
    return []


def check_annotations(binary, folder):
    """Ranges that differ in numbers only are one, others keep their names."""
    trace = Trace()
    for number in range(3):
        trace.event("user_annotation", f"iteration {number} of 3", 100 * number, 90)
        trace.event("user_annotation", "stage 2", 100 * number + 1, 80)
        trace.op("aten::mm", 100 * number + 5)
    tables = trace.page(binary, folder)
    assert paths(tables) == [(("iteration # of #", "stage 2", "aten::mm"), "aten::mm", "((8, 8),)")], paths(tables)
    return []


def check_sites(binary, folder):
    """The same op at two places of one function is two calls; in two steps it is one."""
    trace = Trace()
    for number in range(2):
        trace.python("train.py(5): step", 1000 * number, 900)
        for i, name in enumerate(("mul", "add")):
            trace.python(f"<built-in method {name} of Tensor object at 0x7f{number}{i}>", 1000 * number + 100 * i + 10, 50)
            trace.op("aten::mul", 1000 * number + 100 * i + 20)
    tables = trace.page(binary, folder)
    assert sorted(call["python"] for call in records(tables, "page_calls")) == \
        ["train.py(5): step -> add()", "train.py(5): step -> mul()"], records(tables, "page_calls")
    assert [row["count"] for row in records(tables, "page_sums")] == [2, 2]
    return []


def check_sheet(binary, folder):
    """Ops and shapes are those of unified_perf_summary: an op with a model takes all below it, and so does one that launches."""
    trace = Trace()
    trace.event("cpu_op", "aten::conv2d", 0, 100, **{"Input Dims": [[1, 3, 8, 8], [4, 3, 3, 3]]})
    trace.event("cpu_op", "aten::convolution", 1, 90, **{"Input Dims": [[1, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []]})
    trace.op("aten::cudnn_convolution", 10)
    trace.event("cpu_op", "my::outer", 200, 100, **{"Input Dims": [[7]]})
    trace.launch(210)
    trace.op("my::inner", 220)
    trace.event("cpu_op", "my::only_calls", 400, 100, **{"Input Dims": [[9]]})
    trace.op("my::launches", 410, launches=3, duration=20, kernel_us=1.5)
    tables = trace.page(binary, folder)
    found = {}
    calls = records(tables, "page_calls")
    for row in records(tables, "page_sums"):
        key = calls[row["call"]]["op"], calls[row["call"]]["shapes"]
        found[key] = found.get(key, 0) + row["ns"] / 1000
    with open(os.path.join(trace.sheets, "unified_perf_summary.csv"), encoding="utf-8", newline="") as file:
        sheet = {(row["name"], row["Input Dims"]): float(row["Kernel Time (µs)_sum"]) for row in csv.DictReader(file)}
    assert found == sheet, (found, sheet)
    assert set(name for name, _ in found) == {"aten::convolution", "my::outer", "my::launches"}, found
    return []


def check_devices(binary, folder):
    """Two devices and three streams; one process launches on both. Streams are ordered by device and number. Both devices are
    equally busy, so the first one is judged."""
    trace = Trace(process=5, thread=6)
    trace.op("aten::mm", 0, device=1, stream=13)
    trace.op("aten::mm", 100, device=1, stream=13)
    trace.op("aten::add", 200, device=0, stream=20)
    trace.op("aten::mul", 300, device=0, stream=9, thread=8)
    names = [{"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "trainer"}},
             {"ph": "M", "name": "thread_name", "pid": 5, "tid": 8, "args": {"name": "thread 8 (worker)"}}]
    tables = trace.page(binary, folder, *names)
    lanes = [(lane["group"], lane["label"], lane["device"], lane["judged"], lane["events"]) for lane in records(tables, "page_lanes")]
    assert lanes[:3] == [("GPU 0", "stream 9", 0, True, 1), ("GPU 0", "stream 20", 0, True, 1), ("GPU 1", "stream 13", 1, False, 2)], lanes
    assert [lane[:2] for lane in lanes[3:]] == [("trainer (5)", "thread 6"), ("trainer (5)", "thread 8 (worker)")], lanes
    calls = records(tables, "page_calls")
    events = [(row["lane"], row["start"], calls[row["call"]]["op"], row["launch"], row["launch_lane"])
              for row in records(tables, "page_gpu")]
    assert events == [(0, 401000, "aten::mul", 301000, 4), (1, 301000, "aten::add", 201000, 3),
                      (2, 101000, "aten::mm", 1000, 3), (2, 201000, "aten::mm", 101000, 3)], events
    return []


def check_processes(binary, folder):
    """Ids that two processes share say nothing about launches on another device."""
    trace = Trace(process=5, thread=5)
    for start in (0, 100, 200):
        trace.op("aten::mm", start)
    trace.gpu.append({**trace.gpu[0], "pid": 1, "name": "elsewhere", "args": {"correlation": 2, "stream": 7, "device": 1}})
    trace.event("cuda_runtime", "cudaLaunchKernel", 110, 2, thread=77, process=77, correlation=2)
    trace.event("cuda_runtime", "cudaLaunchKernel", 400, 2, thread=77, process=77, correlation=9)
    trace.gpu.append({**trace.gpu[1], "ts": 500, "args": {"correlation": 9, "stream": 7, "device": 0}})
    tables = trace.page(binary, folder)
    kernels = records(tables, "page_kernels")
    launches = {kernels[row["kernel"]]["name"]: row["launch"] for row in records(tables, "page_gpu")}
    assert launches["elsewhere"] is None and launches[KERNEL] is not None, launches
    groups = [lane["group"] for lane in records(tables, "page_lanes") if lane["kind"] == "thread"]
    assert groups == ["process 5", "process 77"], groups
    return []


def check_host_table(binary, folder):
    """Depths; an annotation may end after what is around it."""
    trace = Trace()
    trace.python("a.py(1): outer", 0, 100)
    trace.event("user_annotation", "late", 50, 100)
    trace.op("aten::mm", 60, 20)
    trace.op("aten::add", 160, 20)
    tables = trace.page(binary, folder)
    rows = [(row["name"], row["start"], row["ns"], row["depth"], row["kind"]) for row in records(tables, "page_host")]
    assert rows == [("a.py(1): outer", 0, 100000, 0, "python"), ("late", 50000, 100000, 1, "annotation"),
                    ("aten::mm", 60000, 20000, 2, "op"), ("cudaLaunchKernel", 61000, 2000, 3, "call"),
                    ("aten::add", 160000, 20000, 0, "op"), ("cudaLaunchKernel", 161000, 2000, 1, "call")], rows
    return []


def check_histograms(binary, folder):
    """Durations at the borders of buckets: from 2^(b/4) to 2^((b+1)/4) ns, and 0 in the first one."""
    trace, durations = Trace(), [*range(40), *(2 ** k + i for k in range(6, 30) for i in (-1, 0, 1)), 1217748085, 1217748086]
    for i, ns in enumerate(durations):
        trace.op("aten::mm", 10 * i, 5, kernel_us=ns / 1000)
    (kernel,) = records(trace.page(binary, folder), "page_kernels")
    # 1 is in bucket 0, 2 in 4, 3 in 6 (2^1.5 = 2.83), 4 in 8, 5 in 9 (2^2.25 = 4.76), 6 in 10 (2^2.5 = 5.66), 7 in 11 (2^2.75 = 6.73)
    assert kernel["histogram"][:13] == [2, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 2], kernel["histogram"]  # 12: 8 and 9
    assert sum(kernel["histogram"]) == kernel["count"] == len(durations) and kernel["ns"] == sum(durations)
    # 2^30.1815... is between 2^(120/4) and 2^(121/4) = 1276901416.98
    assert len(kernel["histogram"]) == 121 and kernel["histogram"][120] == 2 and (kernel["min_ns"], kernel["max_ns"]) == (0, 1217748086)
    return []


SHORT_NAMES = {
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(at::native::ReduceOp<float>)": "reduce_kernel",
    "void (anonymous namespace)::softmax_warp_forward<float, float, 7>(float*, int)": "softmax_warp_forward",
    "void cutlass::Kernel<cutlass_80_wmma_tensorop_bf16_s161616gemm>(Params)": "cutlass_80_wmma_tensorop_bf16_s161616gemm",
    "void cutlass::device_kernel<a::b::GemmUniversal<int, c<4> > >(P)": "GemmUniversal",
    "_ZN2ck16tensor_operation6kernelIfLi4EEEvT_": "kernel",
    "_Z9saxpy_gpuiPf": "saxpy_gpu",
    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_3abcE": "Rmsnorm2dFwd",
    "_ZN99999999999999999999999xI": "_ZN99999999999999999999999xI",
    "_Z": "_Z", "_ZN": "_ZN", "_ZN3abc": "abc", "Kernel": "Kernel", "Kernel<": "Kernel<", "<>": "<>",
    "triton_poi_fused_add_0": "triton_poi_fused_add_0",
}


def check_short_names(binary, folder):
    trace = Trace()
    for i, name in enumerate(SHORT_NAMES):
        trace.op("aten::mm", 10 * i, 5, kernel=name)
    found = {row["name"]: row["short"] for row in records(trace.page(binary, folder), "page_kernels")}
    assert found == SHORT_NAMES, {name: short for name, short in found.items() if SHORT_NAMES[name] != short}
    return []


def check_rocprof_run(binary, folder):
    """Two GPUs of a rocprofv3 run; calls launch on both."""
    run = rocprof_runs.Run()
    run.call("hipLaunchKernel", 0, 1000, correlation=1)
    run.call("hipLaunchKernel", 5000, 1000, correlation=2)
    run.kernel("long_kernel", 3000, 9000, stream=1, correlation=1)
    run.kernel("short_kernel", 7000, 500, stream=2, correlation=2, agent=rocprof_runs.OTHER_GPU)
    run.copy("HOST_TO_DEVICE", 20000, 100, 64, stream=1)
    tables, _ = make_page(binary, run.write(os.path.join(folder, "run_results.json")), folder)
    lanes = [(lane["group"], lane["label"], lane["judged"]) for lane in records(tables, "page_lanes")]
    assert lanes == [("GPU 2", "stream 1", True), ("GPU 3", "stream 2", False), ("host", "thread 7", False)], lanes
    kernels, calls = records(tables, "page_kernels"), records(tables, "page_calls")
    events = [(row["lane"], kernels[row["kernel"]]["name"], row["start"], row["launch"],
               None if row["call"] is None else calls[row["call"]]["runtime"]) for row in records(tables, "page_gpu")]
    assert events == [(0, "long_kernel", 3000, 0, "hipLaunchKernel"), (0, "Memcpy HtoD", 20000, None, None),
                      (1, "short_kernel", 7000, 5000, "hipLaunchKernel")], events
    return []


HOSTILE = ['"></script><script>alert(1)</script>', "\u202egnol", "x" * 40000, "a\u0000b", "", "nn.Module: ", "nn.Module:", "/", "0" * 300]


def check_hostile(binary, folder):
    """Names of any kind, absurd times and ids: a page comes out, and its sums are finite."""
    trace = Trace()
    for i, name in enumerate(HOSTILE):
        trace.python(name, 1000 * i, 500)
        trace.event("user_annotation", name, 1000 * i + 1, 400)
        trace.op(name, 1000 * i + 10, kernel=name, stream=name, device=name, dims=((2 ** 63,), (-1,)))
        trace.gpu[-1]["args"]["correlation"] = 10 ** 30 if i % 2 else trace.gpu[-1]["args"]["correlation"]
    for ts, dur in ((1e300, 5), (-1e300, 5), (5, -7), (5, 1e300), (0, 0), (1e15, 1e15)):
        trace.event("cpu_op", "aten::odd", ts, dur)
        trace.gpu.append({**trace.gpu[0], "ts": ts, "dur": dur, "name": "odd"})
    trace.gpu.append({key: value for key, value in trace.gpu[0].items() if key != "dur"})
    tables = trace.page(binary, folder)
    total = sum(row["ns"] for row in records(tables, "page_kernels"))
    assert total == sum(row["ns"] for row in records(tables, "page_sums")) and 0 < total < 2 ** 63
    assert all(row["ns"] >= 0 and row["start"] >= 0 for row in records(tables, "page_gpu") + records(tables, "page_host"))
    return []


def check_deep(binary, folder):
    """A hundred thousand events inside each other: the tree ends at some depth, the time is all there."""
    depth, trace = 100_000, Trace()
    for i in range(depth):
        trace.event("cpu_op", f"op{i % 3}", i, 2 * (depth - i))
    trace.launch(depth - 0.5)
    tables = trace.page(binary, folder)
    nodes = records(tables, "page_nodes")
    assert 100 <= len(nodes) <= 1000 and len(records(tables, "page_sums")) == 1
    assert max(row["depth"] for row in records(tables, "page_host")) == depth
    return []


def check_many_streams(binary, folder):
    """Of two thousand streams and threads, the ones with the fewest events share a lane or are left out."""
    trace = Trace()
    for i in range(2000):
        trace.op("aten::mm", 10 * i, 5, stream=i, thread=1000 + i, launches=2 if i < 100 else 1)
    tables = trace.page(binary, folder)
    lanes = records(tables, "page_lanes")
    streams = [lane for lane in lanes if lane["kind"] == "stream"]
    assert len(lanes) <= 1001 and sum(lane["events"] for lane in streams) == 2100 == sum(lane["kept"] for lane in streams)
    assert {f"stream {i}" for i in range(100)} <= {lane["label"] for lane in streams}
    starts = [row["start"] for row in records(tables, "page_gpu") if row["lane"] == len(streams) - 1]
    assert len(starts) > 1000 and starts == sorted(starts)
    facts = {row["name"]: row["value"] for row in records(tables, "page_facts")}
    assert facts["host_events"] > facts["host_kept"] > 0
    return []


def check_threads(binary, folder):
    """The same bytes for any number of threads."""
    trace = Trace()
    for number in range(20):
        add_training_step(trace, number, 1000 + number * STEP_US)
    path = os.path.join(folder, "trace.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": trace.host + trace.gpu}, file)
    pages = []
    for threads in ("1", "2", "7"):
        make_page(binary, path, folder, "--threads", threads)
        with open(os.path.join(folder, "out.html"), "rb") as file:
            pages.append(file.read().replace(b"--threads " + threads.encode(), b""))
    assert pages[0] == pages[1] == pages[2]
    return []


CASES = [harness.Case(name[6:].replace("_", " "), function) for name, function in list(globals().items()) if name.startswith("check_")
         and function.__module__ == __name__]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
