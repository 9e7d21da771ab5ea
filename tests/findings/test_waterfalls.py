#!/usr/bin/env python3
"""Waterfalls of `gputally compare`: the parts add up to the difference of the step times, and the largest is what was planted.

    python3 -m tests.findings.test_waterfalls --bin build/gputally [--only TEXT]

Sums are checked in whole nanoseconds, step times against reference_schedule.py. The traces are small ones made here, with
expected contributions by hand, random ones, the fixtures, and, where they exist, those of the conformance folder and of the
folder of faulty programs next to it.
"""
import csv
import glob
import json
import os
import sys

from tests.common.harness import CONFORMANCE_TRACES, FIXTURES, Case, files_under, run, run_cases, seeds
from tests.findings import reference_schedule, small_traces
from tests.findings.test_schedules import random_trace

FAULTS = os.path.join(os.path.dirname(os.path.dirname(CONFORMANCE_TRACES)), "faults")
# What the fault adds to the step of the healthy program: the largest contributions, of which the first is the largest of all.
PLANTED = {
    "data_stall": ["idle: data"],
    "python_busy": ["idle: python"],
    "cpu_roundtrip": ["idle: cpu_op", "copies: Memcpy DtoH"],
    "allocator_churn": ["idle: alloc"],
    "pageable_copy": ["copies: Memcpy HtoD"],
    "layout_copies": ["more calls: aten::copy_"],
    "fp32_gemm": ["slower: aten::mm", "slower: aten::addmm"],
    "odd_shapes": ["slower: aten::mm"],
    "math_attention": ["new: aten::bmm"],
    "recompute": ["more calls: aten::addmm", "more calls: aten::_cudnn_attention_forward"],
}
# Their programs are smaller than the healthy one, so that kernels become shorter, too; this is added.
SMALLER = {"launch_bound": "idle: launch", "slow_optimizer": "idle: launch", "host_sync": "idle: sync"}


# ---- running and reading ----

def ns(text):
    """A time in ms, as whole nanoseconds. Sheets have all digits of a float, so this is exact."""
    value = float(text) * 1e6
    assert abs(value - round(value)) < 1e-3, text
    return round(value)


def compare(binary, folder, a, b, *options, name="out"):
    return run([binary, "compare", a, b, "--names", "a", "b", "--output_csvs_dir", os.path.join(folder, name), "--no_progress",
                *options])


def sheet(folder, name, of="out"):
    with open(os.path.join(folder, of, name + ".csv"), newline="") as file:
        return list(csv.DictReader(file))


def waterfall(binary, folder, a, b, name="out"):
    """(rows, parts) of the waterfall of two traces."""
    done = compare(binary, folder, a, b, "--sheets", "waterfall", name=name)
    assert done.code == 0 and not done.problems(), done.stderr
    return sheet(folder, "waterfall", name), sheet(folder, "waterfall_parts", name)


def changes(rows):
    return [(row["contribution"], ns(row["delta_ms"])) for row in rows if row["kind"] != "step"]


def sum_problems(rows, parts):
    """Whether everything adds up, in whole nanoseconds."""
    found = []
    first, last = rows[0], rows[-1]
    a_ns, b_ns = ns(first["a_ms"]), ns(last["b_ms"])
    if first["kind"] != "step" or last["kind"] != "step":
        found.append("the step times are not the first and last row")
    now = a_ns
    for row in rows[1:-1]:
        now += ns(row["delta_ms"])
        if now != ns(row["cumulative_ms"]):
            found.append(f"{row['contribution']}: {row['cumulative_ms']} ms after it, expected {now} ns")
    if now != b_ns or ns(last["cumulative_ms"]) != b_ns:
        found.append(f"contributions lead from {a_ns} to {now} instead of {b_ns} ns")
    for column, total in (("a_ms", a_ns), ("b_ms", b_ns), ("delta_ms", b_ns - a_ns)):
        if sum(ns(part[column]) for part in parts) != total:
            found.append(f"parts: {column} adds up to {sum(ns(part[column]) for part in parts)} instead of {total} ns")
    for part in parts:
        effects = [part[column] for column in ("calls_ms", "speed_ms", "overlap_ms")]
        if all(effects) and sum(map(ns, effects)) != ns(part["delta_ms"]):
            found.append(f"part {part['what']}: {effects} is not {part['delta_ms']}")
    return found


def step_ns(path):
    facts = reference_schedule.facts(path)
    return (2 * facts["window_ns"] + facts["window_steps"]) // (2 * facts["window_steps"]) if facts["ops"] else None


def has_steps(path):
    return reference_schedule.facts(path)["used_steps"] > 0


def check_pair(binary, folder, a, b, with_reference=True):
    """Sums, mirror image, and both traces against themselves. Steps and whole traces are not compared."""
    if has_steps(a) != has_steps(b):
        done = compare(binary, folder, a, b, "--sheets", "waterfall")
        return [] if done.code == 1 and "is per step, but" in done.stderr else [f"exit code {done.code}: {done.stderr!r}"]
    rows, parts = waterfall(binary, folder, a, b)
    found = sum_problems(rows, parts)
    if with_reference:
        for path, cell in ((a, rows[0]["a_ms"]), (b, rows[-1]["b_ms"])):
            if ns(cell) != step_ns(path):
                found.append(f"step time of {os.path.basename(path)}: {cell} ms, expected {step_ns(path)} ns")
    mirrored, _ = waterfall(binary, folder, b, a, "mirrored")
    if sorted(-change for _, change in changes(mirrored)) != sorted(change for _, change in changes(rows)):
        found.append(f"not a mirror image: {changes(rows)} and {changes(mirrored)}")
    for path in (a, b):
        same, same_parts = waterfall(binary, folder, path, path, "same")
        if changes(same) or any(ns(part["delta_ms"]) for part in same_parts):
            found.append(f"{os.path.basename(path)} differs from itself: {changes(same)[:3]}")
    return found


# ---- traces made here ----

class Trace:
    """Steps of a launching thread and one stream; times in microseconds."""

    def __init__(self, steps=True):
        self.events, self.now, self.gpu, self.count, self.steps = [], 1000.0, 0.0, 0, steps

    def add(self, category, name, tid, start, dur, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 1 if tid < 100 else 0, "tid": tid, "ts": start,
                            "dur": dur, "args": args})

    def kernel(self, op, name, dur, dims=None, category="kernel"):
        """An op of 5 us that launches a kernel, which starts as soon as the stream is free."""
        self.count += 1
        self.gpu = max(self.gpu, self.now + 4)
        shapes = {"Input Dims": dims} if dims else {}
        self.add("cpu_op", op, 10, self.now, 5, **shapes)
        call = "cudaLaunchKernel" if category == "kernel" else "cudaMemcpyAsync"
        self.add("cuda_runtime", call, 10, self.now + 1, 2, correlation=self.count)
        self.add(category, name, 107, self.gpu, dur, correlation=self.count, stream=7, device=0)
        self.now += 6
        self.gpu += dur

    def step(self, work):
        """Runs work(self) as a step; the GPU is idle before the next one."""
        begin = self.now
        work(self)
        self.now = max(self.now, self.gpu) + 20
        if self.steps:
            self.add("user_annotation", f"ProfilerStep#{self.count}", 10, begin - 1, self.now - begin)
        self.now += 5

    def write(self, folder, name):
        path = os.path.join(folder, name + ".json")
        with open(path, "w") as file:
            json.dump({"traceEvents": self.events}, file)
        return path


def trace_of(folder, name, steps, work, with_steps=True):
    trace = Trace(with_steps)
    for _ in range(steps):
        trace.step(work)
    return trace.write(folder, name)


def without_idle(rows):
    return {row["contribution"]: ns(row["delta_ms"]) for row in rows if row["kind"] not in ("step", "idle")}


def expect(found, expected):
    return [] if found == expected else [f"found {found}, expected {expected}"]


# ---- cases ----

def kinds_traces(folder):
    """Two traces with each kind of contribution once."""
    def a(trace):
        trace.kernel("aten::mm", "gemm_a", 100)
        trace.kernel("aten::add", "add", 40)
        trace.kernel("aten::cat", "cat", 30)
        trace.kernel("aten::copy_", "Memcpy HtoD (Pinned -> Device)", 10, category="gpu_memcpy")
        trace.kernel("nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 50)

    def b(trace):
        trace.kernel("aten::mm", "gemm_b", 180)
        for _ in range(3):
            trace.kernel("aten::add", "add", 40)
        trace.kernel("aten::softmax", "softmax", 25)
        trace.kernel("aten::copy_", "Memcpy HtoD (Pageable -> Device)", 35, category="gpu_memcpy")
        trace.kernel("nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_TREE_LL(x)", 65)

    return trace_of(folder, "x", 4, a), trace_of(folder, "y", 4, b)


def check_kinds(binary, folder):
    """Each kind of contribution once. The last step of a trace is not in the window."""
    rows, parts = waterfall(binary, folder, *kinds_traces(folder))
    return sum_problems(rows, parts) + expect(without_idle(rows), {
        "slower: aten::mm": 80000, "more calls: aten::add": 80000, "vanished: aten::cat": -30000, "new: aten::softmax": 25000,
        "copies: Memcpy HtoD": 25000, "communication: AllReduce": 15000})


def check_shapes(binary, folder):
    """Two more calls with other, smaller tensors do not make the op faster. A larger batch changes all shapes: then it is
    slower."""
    def small(trace):
        trace.kernel("aten::copy_", "copy", 100, [[64, 64]])

    def more(trace):
        small(trace)
        trace.kernel("aten::copy_", "copy", 10, [[8, 8]])
        trace.kernel("aten::copy_", "copy", 10, [[8, 8]])

    def large(trace):
        trace.kernel("aten::copy_", "copy", 160, [[128, 64]])

    paths = [trace_of(folder, name, 3, work) for name, work in (("x", small), ("y", more), ("z", large))]
    first, _ = waterfall(binary, folder, paths[0], paths[1])
    second, _ = waterfall(binary, folder, paths[0], paths[2])
    return (expect(without_idle(first), {"more calls: aten::copy_": 20000})
            + expect(without_idle(second), {"slower: aten::copy_": 60000}))


def check_steps(binary, folder):
    """Traces of 3 and 8 equal steps differ by nothing but what the window cuts; a trace without steps is one."""
    def work(trace):
        trace.kernel("aten::mm", "gemm", 99.999)
        trace.kernel("aten::add", "add", 33.333)

    short, long = trace_of(folder, "short", 3, work), trace_of(folder, "long", 8, work)
    rows, parts = waterfall(binary, folder, short, long)
    found = sum_problems(rows, parts)
    if any(abs(change) > 1 for _, change in changes(rows)):
        found.append(f"equal steps differ: {changes(rows)}")
    plain, other = (trace_of(folder, f"plain{count}", count, work, with_steps=False) for count in (8, 1))
    for left, right, options, code in ((short, plain, ["--sheets", "waterfall"], 1), (plain, short, [], 0)):
        done = compare(binary, folder, left, right, *options, name="none")
        if done.code != code or "short.json is per step, but " not in done.stderr or "plain8.json has no steps" not in done.stderr:
            found.append(f"one step and a whole trace: exit code {done.code}, {done.stderr!r}")
        if os.path.exists(os.path.join(folder, "none", "waterfall.csv")):
            found.append("a waterfall of one step and a whole trace")
    rows, parts = waterfall(binary, folder, other, plain)
    found += sum_problems(rows, parts)
    if [rows[0]["contribution"], rows[-1]["contribution"]] != ["time of the window", "time of the window"]:
        found.append(f"names: {rows[0]['contribution']}, {rows[-1]['contribution']}")
    more_calls = {row["contribution"]: (row["a_calls"], row["b_calls"]) for row in rows if row["kind"] == "more_calls"}
    return found + expect(more_calls, {"more calls: aten::mm": ("1.0", "8.0"), "more calls: aten::add": ("1.0", "8.0")})


def check_devices(binary, folder):
    """The busiest GPU of each trace is compared. Which one that is stands in the first line, and a warning says if they differ."""
    for name, times in (("left", (5, 9)), ("right", (9, 5))):
        kernels = [small_traces.kernel(1000 + 10 * i, times[device], 2 * i + device, device=device) for i in range(4) for device in (0, 1)]
        small_traces.write(os.path.join(folder, f"{name}.json"), {"schemaVersion": 1, "traceEvents": kernels})
    found = []
    for other, device in (("left", 1), ("right", 0)):
        done = compare(binary, folder, *(os.path.join(folder, f"{name}.json") for name in ("left", other)))
        first = f"a, the baseline, against 1 other report; step times are those of GPU 1 of a, GPU {device} of b"
        if done.stdout.splitlines()[0] != first or ("right.json is that of GPU 0, its busiest device, but " in done.stderr) != (device == 0):
            found.append(f"{other}: {done.stdout.splitlines()[0]!r}, {done.stderr!r}")
    return found


def check_no_gpu(binary, folder):
    trace = trace_of(folder, "x", 3, lambda t: t.kernel("aten::mm", "gemm", 10))
    empty = Trace()
    empty.add("cpu_op", "aten::mm", 10, 0, 5)
    done = compare(binary, folder, trace, empty.write(folder, "empty"))
    found = [] if done.code == 1 else [f"exit code {done.code}"]
    if "empty.json" not in done.stderr or "no GPU events" not in done.stderr:
        found.append(f"error: {done.stderr!r}")
    return found + (["files were written"] if os.path.exists(os.path.join(folder, "out")) else [])


def check_gate(binary, folder):
    """Conditions on totals and rows: 100 us more than 169 us: the kernel, 25 us until the next step, and 4 us until its kernel."""
    a = trace_of(folder, "x", 3, lambda t: t.kernel("aten::mm", "gemm", 140))
    b = trace_of(folder, "y", 3, lambda t: t.kernel("aten::mm", "gemm", 240))
    found = []
    for condition, code in {
            "step_ms > 5%": 3, "step_ms > 0.0999": 3, "step_ms > 0.1001": 0, "step_ms > 100%": 0, "slower_ms > 50%": 3,
            "kernels_ms >= 0.1": 3, "faster_ms < 0": 0, "idle_ms > 0.001": 0, "idle_data_ms > 0": 0,
            "communication_ms > 0": 0, "waterfall.slower: * > 0.05": 3, "waterfall.'slower: aten::mm'.delta_ms > 1": 0,
    }.items():
        done = compare(binary, folder, a, b, "--sheets", "waterfall", "--fail_if", condition)
        rows = sheet(folder, "fail_if") if done.code in (0, 3) else []
        if done.code != code or bool(rows) != (code == 3):
            found.append(f"{condition}: exit code {done.code} with {len(rows)} rows, expected {code}: {done.stderr}")
    compare(binary, folder, a, b, "--sheets", "waterfall", "--fail_if", "slower_ms > 50%")
    row = sheet(folder, "fail_if")[0]
    if (row["row"], ns(row["diff"]), row["report"]) != ("slower_ms", 100000, "b"):
        found.append(f"row of fail_if: {row}")
    for condition, code, warning in (
            ("waterfall.'new: nothing' > 0", 0, "b has no contribution of this name, which counts as 0"),
            ("waterfall.'new: nothing' >= 0", 3, "b has no contribution of this name, which counts as 0"),
            ("waterfall.new: nothing <= 0", 3, "b has no contribution of this name, which counts as 0"),
            ("waterfall.new: * >= 0", 0, "b has no contribution that matches"),
            ("waterfall.'slower: aten::*' > 0.05", 0, "names in quotes are no patterns"),
            ("waterfall.slower: aten::* > 0.05", 3, None)):
        done = compare(binary, folder, a, b, "--sheets", "waterfall", "--fail_if", condition)
        if done.code != code or (warning not in done.stderr if warning else "contribution" in done.stderr):
            found.append(f"{condition}: exit code {done.code}, {done.stderr!r}")
    compare(binary, folder, a, b, "--sheets", "waterfall", "--fail_if", "waterfall.'new: nothing' >= 0")
    row = sheet(folder, "fail_if")[0]
    if (row["row"], ns(row["baseline"]), ns(row["variant"]), ns(row["diff"])) != ("new: nothing", 0, 0, 0):
        found.append(f"what does not exist is not 0: {row}")
    column = compare(binary, folder, a, b, "--sheets", "waterfall", "--fail_if", "waterfall.*.pct > 0")
    return found + ([] if column.code == 1 and "delta_ms" in column.stderr else [f"another column: {column.stderr!r}"])


def check_values(binary, folder):
    """A met condition shows what its total or row takes in both traces; percentages are of the step of the baseline."""
    a, b = kinds_traces(folder)
    steps = step_ns(a), step_ns(b)
    idle = steps[0] - 230000, steps[1] - 425000
    found = []
    for condition, values in {
            "step_ms > -1": steps, "kernels_ms > 0": (170000, 325000), "copies_ms > 0": (10000, 35000), "idle_ms > -1": idle,
            "communication_ms > 0.01": (50000, 65000), "new_ms > 9%": (0, 25000), "vanished_ms < 0": (30000, 0),
            "slower_ms > 0": (100000, 180000), "more_calls_ms > 0": (40000, 120000), "idle_data_ms >= 0": (0, 0),
            "waterfall.'slower: aten::mm' > 20%": (100000, 180000), "waterfall.'new: aten::softmax' > 0": (0, 25000),
            "waterfall.'communication: AllReduce' > 0": (50000, 65000),
    }.items():
        done = compare(binary, folder, a, b, "--sheets", "waterfall", "--fail_if", condition)
        rows = sheet(folder, "fail_if")
        if done.code != 3 or len(rows) != 1:
            found.append(f"{condition}: exit code {done.code} with {len(rows)} rows")
            continue
        row = rows[0]
        change = values[1] - values[0]
        if (ns(row["baseline"]), ns(row["variant"]), ns(row["diff"])) != (*values, change):
            found.append(f"{condition}: {row}, expected {values}")
        if abs(float(row["pct"]) - 100 * change / steps[0]) > 1e-9:
            found.append(f"{condition}: {row['pct']} %")
    return found


def check_documents(binary, folder):
    """JSON and Markdown say what the sheets say; a failure gives a JSON document with the error."""
    a = trace_of(folder, "x", 3, lambda t: t.kernel("aten::mm", "gemm|a", 140))
    b = trace_of(folder, "y", 3, lambda t: t.kernel("aten::mm", "gemm<b>", 240))
    json_path, md_path = os.path.join(folder, "c.json"), os.path.join(folder, "c.md")
    done = compare(binary, folder, a, b, "--output_json", json_path, "--output_md", md_path, "--fail_if", "step_ms > 1%")
    found = [] if done.code == 3 else [f"exit code {done.code}: {done.stderr}"]
    with open(json_path) as file:
        document = json.load(file)
    rows = sheet(folder, "waterfall")
    one = document["waterfalls"][0]
    if document["schema"] != "gputally-comparison/1" or document["baseline"] != {
            "name": "a", "file": "x.json", "is_trace": True, "verdict": "good", "distrust": None}:
        found.append(f"{document['schema']}, {document['baseline']}")
    if (one["report"], one["a_ms"], one["b_ms"]) != ("b", float(rows[0]["a_ms"]), float(rows[-1]["b_ms"])):
        found.append(f"waterfall of {one['report']}: {one['a_ms']}, {one['b_ms']}")
    if [(item["contribution"], ns(item["delta_ms"])) for item in one["contributions"]] != changes(rows):
        found.append(f"contributions: {one['contributions']}")
    if [item["row"] for item in document["fail_if"]] != ["step_ms"]:
        found.append(f"fail_if: {document['fail_if']}")
    if list(document["sheets"])[:3] != ["step_times", "waterfall", "waterfall_parts"] or len(document["sheets"]["waterfall"]["rows"]) != len(rows):
        found.append(f"sheets: {list(document['sheets'])}")
    with open(md_path, encoding="utf-8") as file:
        text = file.read()
    for expected in ("| slower: aten::mm | +0.100 | +59.2 | gemm\\|a → gemm\\<b\\> |", "Step time: 0.269 ms instead of 0.169 ms",
                     "- step\\_ms \\> 1%: step\\_ms of b, 0.269 instead of 0.169 (+0.100)"):
        if expected not in text:
            found.append(f"no {expected!r} in {text!r}")
    failed = compare(binary, folder, a, os.path.join(folder, "nothing.json"), "--output_json", json_path)
    with open(json_path) as file:
        error = json.load(file).get("error")
    return found + ([] if failed.code == 1 and error and "nothing.json" in error["message"] and error["exit"] == 1 else [f"{error}"])


def check_trust(binary, folder):
    """A trace that cannot be trusted is named, with the reason: here the launches were not recorded. Its report, too."""
    a = trace_of(folder, "x", 3, lambda t: t.kernel("aten::mm", "gemm", 140), with_steps=False)
    with open(a) as file:
        events = [event for event in json.load(file)["traceEvents"] if event["cat"] != "cuda_runtime"]
    bad = os.path.join(folder, "bad.json")
    with open(bad, "w") as file:
        json.dump({"traceEvents": events}, file)
    report, json_path, md_path = (os.path.join(folder, name) for name in ("r", "c.json", "c.md"))
    run([binary, "report", bad, "--output_csvs_dir", report, "--quiet"])
    reason, found = "3 of 3 GPU operations in the window have no recorded launch", []
    for of_bad, *options in ((bad, "--sheets", "waterfall"), (bad,), (report,)):
        done = compare(binary, folder, of_bad, a, "--output_json", json_path, "--output_md", md_path, *options)
        with open(json_path) as file:
            document = json.load(file)
        with open(md_path, encoding="utf-8") as file:
            text = file.read()
        if f"warning: {of_bad}: do not trust it: {reason}" not in done.stderr or done.stderr.count("do not trust") != 1:
            found.append(f"{of_bad} {options}: {done.stderr!r}")
        if document["baseline"]["verdict"] != "do not trust" or not document["baseline"]["distrust"].startswith(reason):
            found.append(f"{of_bad} {options}: {document['baseline']}")
        if document["reports"][0]["distrust"] or f"**Do not trust a**: {reason}" not in text:
            found.append(f"{of_bad} {options}: {document['reports']}, {text!r}")
    return found


def check_reports(binary, folder, a, b):
    """The sheets of comparing traces are those of comparing their reports, but for the waterfall, which then is by category;
    its step times are the same."""
    for name, path in (("ra", a), ("rb", b)):
        done = run([binary, "report", path, "--output_csvs_dir", os.path.join(folder, name), "--quiet"])
        assert done.code == 0, done.stderr
    compare(binary, folder, a, b, name="traces")
    found = []
    for name, left, right in (("reports", os.path.join(folder, "ra"), os.path.join(folder, "rb")),
                              ("mixed", a, os.path.join(folder, "rb"))):
        done = compare(binary, folder, left, right, name=name)
        if done.code != 0 or "the waterfall is by category" not in done.stderr:
            found.append(f"{name}: exit code {done.code}: {done.stderr}")
            continue
        rows = sheet(folder, "waterfall", name)
        found += sum_problems(rows, sheet(folder, "waterfall_parts", name))
        expected = sheet(folder, "waterfall", "traces")
        if (rows[0]["a_ms"], rows[-1]["b_ms"]) != (expected[0]["a_ms"], expected[-1]["b_ms"]):
            found.append(f"{name}: step times {rows[0]['a_ms']}, {rows[-1]['b_ms']}")
        for file in files_under(os.path.join(folder, "traces")):
            contents = [open(os.path.join(folder, which, file), "rb").read() for which in ("traces", name)]
            if not file.startswith("waterfall") and contents[0] != contents[1]:
                found.append(f"{name}: another {file}")
    return found


def check_damaged_balance(binary, folder):
    """A balance that does not add up gives no waterfall."""
    path = trace_of(folder, "x", 3, lambda t: t.kernel("aten::mm", "gemm", 140))
    out = os.path.join(folder, "r")
    run([binary, "report", path, "--output_csvs_dir", out, "--quiet"])
    balance = open(os.path.join(out, "balance.csv")).read()
    found = []
    for damage in (lambda text: text.replace("280000", "280001"), lambda text: text.replace("computation", "magic"),
                   lambda text: text.replace("ns,", "nanos,"), lambda text: text.replace("280000", "-5"), lambda text: ""):
        with open(os.path.join(out, "balance.csv"), "w") as file:
            file.write(damage(balance))
        done = compare(binary, folder, out, path)
        if done.code != 0 or "no waterfall: " not in done.stderr or damage(balance) == balance:
            continue_text = "the damage changes nothing" if damage(balance) == balance else done.stderr
            found.append(f"exit code {done.code}: {continue_text!r}")
    return found


def check_planted(binary, folder, fault, expected):
    healthy, faulty = (os.path.join(FAULTS, f"gpt_{name}.json.gz") for name in ("healthy", fault))
    found = check_pair(binary, folder, healthy, faulty)
    rows = changes(sheet(folder, "waterfall"))
    added = [name for name, change in rows if change > 0]
    if isinstance(expected, str):
        if expected not in added[:3]:
            found.append(f"{expected} is not among {rows[:4]}")
    elif rows[0][0] != expected[0] or added[:len(expected)] != expected:
        found.append(f"the largest are {rows[:4]}, expected {expected}")
    if fault == "data_stall" and "__getitem__" not in sheet(folder, "waterfall")[1]["b_detail"]:
        found.append(f"the cause is in {sheet(folder, 'waterfall')[1]['b_detail']!r}")
    return found


def check_jax(binary, folder):
    """Profiles of JAX have waterfalls of kernels, also against their reports, by category."""
    paths = [os.path.join(FIXTURES, "jax", name + ".xplane.pb.gz") for name in ("matmul", "training")]
    rows, parts = waterfall(binary, folder, *paths)
    found = sum_problems(rows, parts)
    if not any(part["part"] == "kernel" for part in parts):
        found.append("no kernels")
    report = os.path.join(folder, "r")
    run([binary, "report", paths[1], "--output_csvs_dir", report, "--quiet"])
    by_category, _ = waterfall(binary, folder, paths[0], report, "mixed")
    times = [(of[0]["a_ms"], of[-1]["b_ms"]) for of in (rows, by_category)]
    return found + expect(times[1], times[0])


def check_variants(binary, folder):
    """Several traces: one waterfall for each, and conditions on each."""
    paths = [trace_of(folder, name, 3, lambda t, dur=dur: t.kernel("aten::mm", "gemm", dur))
             for name, dur in (("x", 140), ("y", 240), ("z", 90))]
    done = run([binary, "compare", *paths, "--sheets", "waterfall", "--output_csvs_dir", os.path.join(folder, "out"), "--fail_if",
                "step_ms > 0"])
    rows, parts, met = (sheet(folder, name) for name in ("waterfall", "waterfall_parts", "fail_if"))
    found = [] if done.code == 3 and [row["report"] for row in met] == ["y"] else [f"exit code {done.code}: {met}"]
    for name, change in (("y", 100000), ("z", -50000)):
        own = [row for row in rows if row["report"] == name]
        found += sum_problems(own, [part for part in parts if part["report"] == name])
        if ns(own[-1]["b_ms"]) - ns(own[0]["a_ms"]) != change or own[0]["what"] != "x" or own[-1]["what"] != name:
            found.append(f"{name}: {own[0]}, {own[-1]}")
    headings = [line for line in done.stdout.splitlines() if line.startswith("Why ")]
    return found + expect(headings, ["Why y differs from x, in ms", "Why z differs from x, in ms"])


def check_threads(binary, folder, a, b):
    first, found = None, []
    for threads in ("1", "2", "8"):
        done = compare(binary, folder, a, b, "--threads", threads, name="t")
        now = done.code, done.stdout, done.stderr, [open(os.path.join(folder, "t", name), "rb").read()
                                                    for name in files_under(os.path.join(folder, "t"))]
        first = first or now
        if now != first or done.code != 0:
            found.append(f"{threads} threads: another result, exit code {done.code}")
    return found


def check_random(binary, folder, seed):
    paths = []
    for number in range(2):
        paths.append(os.path.join(folder, f"{number}.json"))
        with open(paths[-1], "w") as file:
            json.dump(random_trace(1000 * seed + number), file)
    if any(step_ns(path) is None for path in paths):
        done = compare(binary, folder, *paths)
        return [] if done.code == 1 and "no GPU events" in done.stderr else [f"exit code {done.code}: {done.stderr}"]
    return check_pair(binary, folder, *paths, with_reference=False)


def cases():
    yield Case("every kind", check_kinds)
    yield Case("shapes", check_shapes)
    yield Case("numbers of steps", check_steps)
    yield Case("devices", check_devices)
    yield Case("no GPU events", check_no_gpu)
    yield Case("conditions", check_gate)
    yield Case("values of conditions", check_values)
    yield Case("damaged balance", check_damaged_balance)
    yield Case("several variants", check_variants)
    yield Case("JAX", check_jax)
    yield Case("JSON and Markdown", check_documents)
    for seed in seeds(25):
        yield Case(f"random {seed}", check_random, seed)
    fixtures = sorted(glob.glob(os.path.join(FIXTURES, "pytorch", "*.json.gz")))
    for a, b in zip(fixtures, fixtures[1:] + fixtures[:1]):
        yield Case(f"fixtures {os.path.basename(a)} {os.path.basename(b)}", check_pair, a, b, False)
    training, recompute = (os.path.join(FIXTURES, "pytorch", name + ".json.gz") for name in ("training", "recompute"))
    yield Case("trust", check_trust)
    yield Case("reports", check_reports, training, recompute)
    yield Case("threads", check_threads, training, recompute)
    if os.path.isdir(FAULTS):
        for fault, expected in {**PLANTED, **SMALLER}.items():
            yield Case(f"planted {fault}", check_planted, fault, expected)
    real = sorted(path for path in glob.glob(os.path.join(CONFORMANCE_TRACES, "*.json.gz")) if "rocprof" not in path)
    for a, b in zip(real[::2], real[1::2]):
        yield Case(f"real {os.path.basename(a)} {os.path.basename(b)}", check_pair, a, b, False)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases()))
