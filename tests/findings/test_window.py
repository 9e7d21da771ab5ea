#!/usr/bin/env python3
"""Which time is judged, and who is blamed for it: traces with one step, without steps, and with work between steps.

    python3 -m tests.findings.test_window --bin build/gputally [--only TEXT]

The traces are written event by event here, so the expected times follow from the calls of the test.
"""
import json
import os
import sys

from tests.common import harness
from tests.common.harness import Case, run, run_cases
from tests.findings import small_traces

CALL_US, LATENCY_US = 6.0, 5.0
LOADER = "torch/utils/data/dataloader.py(700): __next__"
FORWARD, LOG = "train.py(20): forward", "train.py(90): log"


class Program:
    """One thread and one stream: a kernel starts 5 us after its launch began, or when the kernel before it has ended."""

    def __init__(self, start_us=1e6):
        self.events, self.now, self.free, self.correlation, self.first_us = [], start_us, 0.0, 1, start_us

    def host(self, category, name, us):
        self.events.append(small_traces.host(category, name, self.now, us))
        self.now += us

    def python(self, name, us):
        self.host("python_function", name, us)

    def launch(self, count, kernel_us):
        for _ in range(count):
            at = self.now
            self.events.append(small_traces.host("cpu_op", "aten::mm", at, CALL_US + 4))
            self.events.append(small_traces.host("cuda_runtime", "cudaLaunchKernel", at + 2, CALL_US, correlation=self.correlation))
            self.free = max(self.free + 1, at + 2 + LATENCY_US)
            self.events.append(small_traces.kernel(self.free, kernel_us, self.correlation))
            self.free += kernel_us
            self.now += CALL_US + 4
            self.correlation += 1

    def call(self, name, us):
        self.events.append(small_traces.host("cuda_runtime", name, self.now, us, correlation=100000 + self.correlation))
        self.now += us

    def synchronise(self):
        self.call("cudaDeviceSynchronize", max(3, self.free + 3 - self.now))

    def step(self, number, start_us):
        """The step lasts from start_us until now."""
        self.events.append(small_traces.host("user_annotation", f"ProfilerStep#{number}", start_us, self.now - start_us))

    def write(self, folder, name="trace.json"):
        whole = small_traces.host("python_function", "train.py(1): <module>", self.first_us, self.now - self.first_us)
        return small_traces.write(os.path.join(folder, name), {
            "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0}],
            "traceEvents": [whole] + self.events})


def report(binary, folder, path, error_pct=0.01):
    """The JSON of the report. Its sums are checked, and that the sheets are about the same window."""
    output = os.path.join(folder, "out.json")
    done = run([binary, "report", path, "--output_json", output, "--no_html", "--quiet"])
    assert done.code == 0 and not done.problems(), done
    with open(output) as file:
        found = json.load(file)
    assert abs(found["replay_error_pct"]) < error_pct and found["idle_sum_error_us"] == 0, (found["replay_error_pct"], found["idle_sum_error_us"])
    assert abs(sum(c["ms"] for c in found["idle_causes"]) - found["idle_ms"]) < 1e-6, found["idle_causes"]
    assert abs(found["busy_ms"] + found["idle_ms"] - found["step_ms"]) < 1e-5
    assert found["model_step_ms"] <= 1.001 * found["step_ms"] and found["all_fixed_ms"] <= found["model_step_ms"], found["model_step_ms"]
    balance = found["sheets"]["balance"]
    at = balance["columns"].index("ns")
    assert sum(row[at] for row in balance["rows"]) == found["window_ns"], balance
    return found


def causes(found):
    return {cause["cause"]: cause["ms"] for cause in found["idle_causes"]}


def near(value, expected, by=0.05):
    return abs(value - expected) <= by


# ---- one step ----


def one_step(before_us, kernel_us, after_us, sync=False, earlier_us=0.0):
    """Loads data, launches 40 kernels and logs. The GPU may still execute an earlier step, whose launch was not recorded."""
    program = Program()
    start = program.now
    if earlier_us:
        program.events.append(small_traces.kernel(start - 10, earlier_us + 10, 99999))
        program.free = start + earlier_us
    program.python(LOADER, before_us)
    program.launch(40, kernel_us)
    if sync:
        program.synchronise()
    program.python(LOG, after_us)
    program.step(3, start)
    return program, start


def check_data_before_first_kernel(binary, folder):
    """The host loads data for 60 ms, and the GPU computes 30 ms, half of which would hide in the data loading of the next step:
    the step takes as long as on the host."""
    program, start = one_step(60000, 750, 10)
    found = report(binary, folder, program.write(folder))
    host_ms = (program.now - start) / 1e3
    assert near(found["step_ms"], host_ms, 0.001) and near(found["busy_ms"], 30, 0.001), found["step_ms"]
    assert near(causes(found)["data"], host_ms - 30), causes(found)
    first = found["findings"][0]
    assert first["id"] == "data_stall" and near(first["gain_ms"], host_ms - 30, 0.5), first


def check_work_after_last_kernel(binary, folder):
    """The host synchronises, then logs for 30 ms: that is a part of the step, too."""
    program, start = one_step(20000, 20, 30000, sync=True)
    found = report(binary, folder, program.write(folder))
    assert near(found["step_ms"], (program.now - start) / 1e3, 0.001), found["step_ms"]
    assert near(causes(found)["data"], 20) and near(causes(found)["python"], 30), causes(found)
    by_id = {finding["id"]: finding for finding in found["findings"]}
    assert near(by_id["python_busy"]["gain_ms"], 30, 0.5) and by_id["python_busy"]["where"].endswith(LOG), by_id["python_busy"]
    assert near(by_id["data_stall"]["gain_ms"], 20, 0.5), by_id["data_stall"]


def check_synchronisation_at_the_end(binary, folder):
    """Nothing shows what would follow it, so its gain is an assumption: the next 40 ms of data loading beside 20 ms of GPU work.
    Whoever ends a recording waits for all of the device."""
    program, start = one_step(40000, 500, 10, sync=True)
    for call, confidence, why in (("cudaDeviceSynchronize", "low", "recording ends"), ("cudaStreamSynchronize", "medium", "next step would begin")):
        next(event for event in program.events if "Synchronize" in event["name"])["name"] = call
        found = report(binary, folder, program.write(folder))
        sync = next(finding for finding in found["findings"] if finding["id"] == "host_sync")
        assert near(sync["gain_ms"], (program.now - start) / 1e3 - 40 - 0.4, 0.5) and sync["confidence"] == confidence, sync
        assert "all of it at the end of the only step: " in sync["evidence"][0] and why in sync["evidence"][0], sync["evidence"]


def check_gpu_bound_step(binary, folder):
    """The GPU needs longer than the host: the step is from its first to its last kernel."""
    program, _ = one_step(1000, 500, 10)
    found = report(binary, folder, program.write(folder))
    assert near(found["step_ms"], 40 * 0.5 + 39 * 0.001, 0.001), found["step_ms"]


def check_earlier_work(binary, folder):
    """The GPU executes an earlier step for 15 of the 20 ms in which the host loads data, and the host waits at the end of its own:
    only 5 ms of the data loading hold up the GPU."""
    program, start = one_step(20000, 200, 10, sync=True, earlier_us=15000)
    found = report(binary, folder, program.write(folder))
    assert near(found["step_ms"], (program.now - start) / 1e3 - 15, 0.001), found["step_ms"]
    assert near(causes(found)["data"], 5), causes(found)
    assert {c["id"]: c["level"] for c in found["trust"]["checks"]}["T1"] == "ok", found["trust"]


def check_launched_earlier(binary, folder):
    """The GPU has 9 ms of work left from before the step. Recording slows down its launch, too, so without that the host would
    begin the step earlier and wait longer at its end: the step itself does not take longer for it."""
    program = Program()
    program.launch(30, 300)
    start = program.now
    program.launch(20, 10)
    program.synchronise()
    program.step(3, start)
    found = report(binary, folder, program.write(folder))
    assert near(found["step_ms"], 20 * 0.011, 0.02) and near(found["model_step_ms"], found["step_ms"], 0.01), found["model_step_ms"]


def check_gate(binary, folder):
    """A regression before the first kernel is one: the step takes twice as long."""
    good = one_step(5000, 200, 10, sync=True)[0].write(folder, "good.json")
    bad = one_step(20000, 200, 10, sync=True)[0].write(folder, "bad.json")
    command = [binary, "compare", good, bad, "-o", os.path.join(folder, "out.xlsx"), "--fail_if", "step_ms > 3%"]
    done = run(command)
    assert done.code == 3, done
    assert "13.1" in done.stdout or "13.0" in done.stdout, done.stdout
    assert "28.1" in done.stdout or "28.0" in done.stdout, done.stdout


def cut_to_step(trace, number, earlier):
    """A trace as active=1 records it: one step, and if `earlier`, what the GPU has still to do for those before."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and "dur" in e and e.get("cat") != "Trace"]
    steps = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep"))
    begin, end = steps[number]
    launched = {e["args"]["correlation"]: e["ts"] for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")}
    kept = []
    for event in events:
        start, stop = event["ts"], event["ts"] + event["dur"]
        if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            at = launched.get(event["args"]["correlation"], 0)
            if begin <= at < end or (earlier and at < begin < stop):
                kept.append(event)
        elif begin <= start and stop <= end + 1 or (event["cat"] == "python_function" and start < begin and stop > end):
            kept.append(event)
    return {**trace, "traceEvents": kept}


def check_real_steps(binary, folder):
    """A step of a real trace on its own takes about as long as all of them on average, and has the same first finding."""
    for name in ("data_stall", "python_busy", "host_sync", "pageable_copy", "cpu_roundtrip"):
        path = os.path.join(FAULTS, f"gpt_{name}.json.gz")
        trace = small_traces.read(path)
        whole = report(binary, folder, small_traces.write(os.path.join(folder, "whole.json"), trace), 0.2)
        for earlier in (False, True):
            one = report(binary, folder, small_traces.write(os.path.join(folder, "one.json"), cut_to_step(trace, 1, earlier)), 0.2)
            assert 0.9 < one["step_ms"] / whole["step_ms"] < 1.1, (name, earlier, one["step_ms"], whole["step_ms"])
            gains = [(found["findings"][0]["id"], found["findings"][0]["gain_ms"]) for found in (one, whole)]
            assert gains[0][0] == gains[1][0] and 0.85 < gains[0][1] / gains[1][1] < 1.15, (name, earlier, gains)


# ---- no steps ----


def check_host_outside(binary, folder):
    """Without steps the window has only what the GPU was given. The report says if the host was recorded for long outside."""
    program = Program()
    program.launch(40, 60)
    program.synchronise()
    program.python(LOG, 300000)
    found = report(binary, folder, program.write(folder))
    check = {c["id"]: c for c in found["trust"]["checks"]}["T10"]
    assert check["level"] == "warn" and "0.01 ms before and 300.00 ms after the window" in check["text"], check
    program = Program()
    program.launch(40, 60)
    program.synchronise()
    found = report(binary, folder, program.write(folder))
    check = {c["id"]: c for c in found["trust"]["checks"]}["T10"]
    assert "The host was also recorded" not in check["text"], check


# ---- between steps ----


def between(work, steps=6):
    program = Program()
    for number in range(steps):
        start = program.now
        program.launch(40, 60)
        program.step(number, start)
        work(program)
    program.synchronise()
    return program


def check_python_between_steps(binary, folder):
    """5 ms of the program's own Python between two steps are not the profiler's; in its own functions they are."""
    found = report(binary, folder, between(lambda p: p.python("train.py(99): evaluate", 5000)).write(folder))
    idle = causes(found)
    assert idle.get("profiler", 0) < 0.05 and near(idle["python"], 5.4 - 2.44, 0.1), idle
    assert found["findings"][0]["id"] == "python_busy" and "evaluate" in found["findings"][0]["where"], found["findings"]
    found = report(binary, folder, between(lambda p: p.python("torch/profiler/profiler.py(800): step", 5000)).write(folder))
    idle = causes(found)
    assert near(idle["profiler"], 5.4 - 2.44, 0.1) and idle.get("python", 0) == 0 and not found["findings"], idle
    found = report(binary, folder, between(lambda p: p.python("torch/profiler/profiler.py(800): step", 100)).write(folder))
    assert "python" not in causes(found), causes(found)


def check_unknown_between_steps(binary, folder):
    """Without Python functions, 0.3 ms between two steps are the profiler's, but 4.6 ms are unknown."""
    for us, cause in ((2500, "untraced"), (300, "profiler")):
        program = between(lambda p: setattr(p, "now", p.now + 2100 + us))
        program.events = [e for e in program.events if e["cat"] != "python_function"]
        if cause == "profiler":  # the rest is inside the step
            for event in program.events:
                if event["name"].startswith("ProfilerStep"):
                    event["dur"] += 2100
        trace = {"schemaVersion": 1, "traceEvents": program.events}
        path = small_traces.write(os.path.join(folder, "trace.json"), trace)
        idle = causes(report(binary, folder, path))
        assert idle[cause] > 0.25 and idle.get("profiler", 0) < 0.35, (cause, idle)


def check_steps_as_ops(binary, folder):
    """Some versions of PyTorch record ProfilerStep as an op: it is a step all the same, and neither an op nor the host's work."""
    expected = None
    for category in ("user_annotation", "cpu_op", "Operator"):
        program = between(lambda p: p.python("train.py(99): evaluate", 5000))
        for event in program.events:
            if event["name"].startswith("ProfilerStep"):
                event["cat"] = category
        found = report(binary, folder, program.write(folder))
        # a step launches 40 kernels in 0.4 ms and evaluates for 5 ms; kernels take 60 us each, a microsecond apart
        assert (found["steps"], near(found["step_ms"], 5.4, 0.001), near(found["busy_ms"], 2.4, 0.001)) == (6, True, True), (category, found["steps"], found["step_ms"])
        assert near(causes(found)["python"], 5.4 - 2.44, 0.1), (category, causes(found))
        assert found["findings"][0]["id"] == "python_busy" and "evaluate" in found["findings"][0]["where"], (category, found["findings"])
        shown = (causes(found), found["findings"], found["trust"], found["sheets"]["steps"] if "steps" in found["sheets"] else None)
        expected = expected or shown
        assert shown == expected, (category, shown, expected)


# ---- what does not happen in every step ----


def steps_with(work, steps=7):
    """Steps of 40 kernels; work(program, number) is done in each of them."""
    program = Program()
    for number in range(steps):
        start = program.now
        program.launch(40, 60)
        work(program, number)
        program.step(number, start)
    program.synchronise()
    return program


def check_once(binary, folder):
    """60 ms in one of three steps, of which the queue hides a part, are not 18 ms in each; in all of them nothing is said. More steps: test_uneven."""
    found = report(binary, folder, steps_with(lambda p, n: p.python("train.py(77): save", 60000 if n == 1 else 50), 4).write(folder))
    first = found["findings"][0]
    assert first["id"] == "python_busy" and first["confidence"] == "medium" and first["severity"] == "high", first
    assert "with nearly all of the cost in 1 of 3 steps (5" in first["title"] and 54 / 3 < first["gain_ms"] < 60 / 3, first
    assert any("may be chance" in text for text in first["evidence"]), first
    for steps, often in ((7, range(7)), (4, (0, 2)), (3, (0,))):
        found = report(binary, folder, steps_with(lambda p, n: p.python("train.py(77): save", 20000 if n in often else 50), steps).write(folder))
        first = found["findings"][0]
        assert first["id"] == "python_busy" and first["confidence"] == "high" and "nearly all" not in first["title"], (steps, often, first)


def check_compiler(binary, folder):
    """Time in which torch.compile compiles has other advice."""
    def compiles(program, number):
        start = program.now
        program.python("sympy/core/basic.py(3): subs", 300000 if number == 1 else 5)
        if number == 1:
            program.events.insert(0, small_traces.host("python_function", "torch/_dynamo/convert_frame.py(500): __call__", start, 300000))
    first = report(binary, folder, steps_with(compiles, 4).write(folder))["findings"][0]
    assert first["id"] == "python_busy" and first["title"].startswith("torch.compile compiles and holds up the GPU"), first
    assert "mark_dynamic" in first["advice"] and "in 1 of 3 steps" in first["title"], first
    first = report(binary, folder, steps_with(compiles).write(folder))["findings"][0]
    assert first["id"] == "uneven_steps" and first["title"].endswith("recompilation") and "mark_dynamic" in first["advice"], first


# ---- calls per step ----


def check_calls_per_step(binary, folder):
    """There is one call per step, but the time from the first kernel of the first step to that of the last has those of all four."""
    program = Program()
    for number in range(4):
        start = program.now
        if number == 0:
            program.launch(20, 60)
        program.call("cudaMalloc", 3000)
        program.launch(40, 60)
        program.step(number, start)
    program.synchronise()
    found = report(binary, folder, program.write(folder))
    texts = " ".join(f["title"] + " ".join(f["evidence"]) for f in found["findings"])
    assert "1 x cudaMalloc per step" in texts and "allocated or freed 1 time per step" in texts, found["findings"]


# ---- how steps vary ----


def check_spreads(binary, folder):
    """T10 and T11 say by how much more time the longest takes than the shortest."""
    program = Program()
    for number in range(5):
        start = program.now
        program.launch(40, 200 if number == 2 else 50)
        program.synchronise()
        program.step(number, start)
    found = report(binary, folder, program.write(folder))
    texts = {c["id"]: c["text"] for c in found["trust"]["checks"]}
    assert texts["T10"].startswith("The longest step takes 293% more time than the shortest (8.05 and 2.05 ms)"), texts["T10"]
    assert "Kernels take 300% more time in one step than in another (8.00 and 2.00 ms)" in texts["T11"], texts["T11"]


FAULTS = os.path.join(harness.CONFORMANCE_TRACES, "..", "..", "faults")
TESTS = [check_data_before_first_kernel, check_work_after_last_kernel, check_synchronisation_at_the_end, check_gpu_bound_step, check_earlier_work, check_launched_earlier,
         check_gate, check_host_outside, check_python_between_steps, check_unknown_between_steps, check_steps_as_ops,
         check_once, check_compiler, check_calls_per_step, check_spreads]
if os.path.exists(FAULTS):
    TESTS.append(check_real_steps)


def check(binary, folder, test):
    """An assertion that fails is a problem."""
    try:
        test(binary, folder)
    except AssertionError as failed:
        return [f"{failed}"]
    return []


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], [Case(test.__name__.replace("check_", "").replace("_", " "), check, test) for test in TESTS]))
