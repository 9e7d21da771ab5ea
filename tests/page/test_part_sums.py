#!/usr/bin/env python3
"""Parts of the time on pages of real traces: they add up exactly, agree with the sheets, and with what the raw events say.

    python3 -m tests.page.test_part_sums --bin build/gputally [--only TEXT]

Traces are the fixtures, those of faulty programs, synthetic ones, and those of the conformance folder and of the folder faults
next to it, if they exist; of rocprofv3 and JAX the fixtures.
"""
import glob
import os
import re
import sys
from collections import defaultdict

from tests.common import harness
from tests.findings import small_traces, test_balance
from tests.page import pack

KINDS = ("computation", "exposed_communication", "exposed_copy")
CLASS_OF = {"communication": 1, "copy": 2}  # of categories of kernels; all others compute
SERVER_STEP = re.compile(r"execute_|step\[|prefill\[|decode\[")
LONGEST_PAGE = 4000


class Source:
    """The tables of a page as lists of dicts."""

    def __init__(self, path):
        page = pack.read_page(path)
        self.front, self.tables = page.front, page.tables[0]
        self.facts = {row["name"]: row["value"] for row in self.rows("page_facts")}

    def rows(self, name):
        return self.tables[name].records() if name in self.tables else []


def make_page(binary, folder, trace, *options):
    path = os.path.join(folder, "page.html")
    outcome = harness.run([binary, "report", trace, "--output_html", path, "--output_csvs_dir", os.path.join(folder, "csv"),
                           "--quiet", *options])
    assert outcome.code == 0 and not outcome.problems(), outcome
    return path


# ---- idle time ----

def check_idle(source):
    balance = {row["part"]: row["ns"] for row in source.rows("balance") if row["kind"] == "idle"}
    found, until = defaultdict(int), source.facts["window_start"]
    for row in source.rows("page_idle"):
        assert row["ns"] > 0 and row["start"] >= until, (row, until)
        until = row["start"] + row["ns"]
        found[row["cause"]] += row["ns"]
    assert until <= source.facts["window_end"]
    left_out = source.facts.get("idle_left_out") or 0
    if left_out:
        assert sum(found.values()) + left_out == sum(balance.values())
    else:
        assert found == balance, (dict(found), balance)


# ---- steps ----

def window_parts(source, rows):
    """(part, kind) to ns, of the steps in the window."""
    inside = {number for number, step in enumerate(source.rows("page_steps")) if step["in_window"]}
    sums = defaultdict(int)
    for row in rows:
        if row["step"] in inside:
            sums[row["part"], row["kind"]] += row["ns"]
    return sums


def check_steps(source):
    steps, rows = source.rows("page_steps"), source.rows("page_step_parts")
    assert steps and rows
    start, end = source.facts["window_start"], source.facts["window_end"]
    for one, other in zip(steps, steps[1:]):
        assert one["start"] + one["ns"] == other["start"] and one["ns"] > 0, (one, other)
    sums = defaultdict(int)
    for row in rows:
        assert row["ns"] > 0 and row["kind"] in (*KINDS, "idle"), row
        assert row["kind"] != "exposed_communication" or row["part"] == "communication", row
        assert row["kind"] != "exposed_copy" or row["part"] == "copy", row
        sums[row["step"]] += row["ns"]
        if row["part"] == "outside":
            assert row["kind"] == "idle" and not steps[row["step"]]["in_window"], row
    assert sums == {number: step["ns"] for number, step in enumerate(steps) if step["ns"]}
    for step in steps:
        assert step["in_window"] == (step["start"] >= start and step["start"] + step["ns"] <= end), step
    names = [step["name"] for step in steps]
    if all(name and name.startswith("ProfilerStep") for name in names) or names == [None]:
        inside = [step for step in steps if step["in_window"]]
        assert inside[0]["start"] == start and inside[-1]["start"] + inside[-1]["ns"] == end
        assert len(steps) == 1 or len(inside) == len(steps) - 1
        check_balance(source, window_parts(source, rows))
    else:
        assert all(SERVER_STEP.match(name) for name in names), names


def check_balance(source, found):
    """Busy time by kind and idle time by cause are those of the sheet."""
    expected, ours = defaultdict(int), defaultdict(int)
    for row in source.rows("balance"):
        if row["ns"]:
            expected[row["kind"], row["part"] if row["kind"] == "idle" else ""] += row["ns"]
    for (part, kind), ns in found.items():
        ours[kind, part if kind == "idle" else ""] += ns
    assert ours == expected, (dict(ours), dict(expected))


def uncovered(begin, end, covered, at):
    """The length of a span without what sorted disjoint spans cover of it; `at`: the first that may matter."""
    while at < len(covered) and covered[at][1] <= begin:
        at += 1
    length = end - begin
    for other in covered[at:]:
        if other[0] >= end:
            break
        length -= min(end, other[1]) - max(begin, other[0])
    return length, at


def union(spans):
    joined = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def busy_by_kind(events, begin, end):
    """Time of each class of events that no class before it covers."""
    covered, sums = [], {}
    for number, kind in enumerate(KINDS):
        own = union((max(begin, a), min(end, b)) for a, b, of in events if of == number and a < end and begin < b)
        total = at = 0
        for a, b in own:
            length, at = uncovered(a, b, covered, at)
            total += length
        covered = union([*covered, *own])
        sums[kind] = total
    return sums


def check_busy(source):
    """Steps against the events of the page, swept here."""
    if source.facts["gpu_kept"] != source.facts["gpu_events"]:
        return
    kernels = source.rows("page_kernels")
    judged = {number for number, lane in enumerate(source.rows("page_lanes")) if lane["judged"]}
    events = [(row["start"], row["start"] + row["ns"], CLASS_OF.get(kernels[row["kernel"]]["category"], 0))
              for row in source.rows("page_gpu") if row["lane"] in judged]
    found = defaultdict(lambda: dict.fromkeys(KINDS, 0))
    for row in source.rows("page_step_parts"):
        if row["kind"] != "idle":
            found[row["step"]][row["kind"]] += row["ns"]
    for number, step in enumerate(source.rows("page_steps")[:50]):
        expected = busy_by_kind(events, step["start"], step["start"] + step["ns"])
        assert found[number] == expected, (number, found[number], expected)


# ---- copies ----

def copy_kind(name):
    """Direction and kind of the names that CUDA and HIP give."""
    match = re.match(r"Memcpy (\w+)(?: \((\w+) -> (\w+)\))?", name)
    if name.startswith("Memset"):
        return "memset", "device"
    if not match or "Unknown" in name:
        return None
    direction, origin, target = match.group(1), match.group(2), match.group(3)
    kinds = {"H": "host", "D": "device", "P": "device"}
    origin = (origin or kinds.get(direction[0], "?")).lower()
    target = (target or kinds.get(direction[3:4], "?")).lower()
    if direction not in ("HtoD", "DtoH", "DtoD", "PtoP") or "?" in (origin, target):
        return None
    return direction, target if origin == "device" else origin


def events_of(raw):
    events = raw["traceEvents"] if isinstance(raw, dict) else raw
    return [event for event in events if isinstance(event, dict)]


def check_copies(source, raw):
    expected, all_known = defaultdict(lambda: [0, 0.0]), True
    for event in events_of(raw):
        if event.get("ph") != "X" or event.get("cat") not in ("gpu_memcpy", "gpu_memset") or "dur" not in event:
            continue
        kind = copy_kind(event["name"])
        if kind is None:
            all_known = False
            continue
        group = expected[(*kind, event.get("args", {}).get("bytes") or None)]
        group[0] += 1
        group[1] += float(event["dur"]) * 1e3
    found = {(row["direction"], row["kind"], row["bytes"]): (row["count"], row["ns"]) for row in source.rows("page_copies")}
    assert len(found) == len(source.rows("page_copies"))
    times = [row["ns"] for row in source.rows("page_copies")]
    assert times == sorted(times, reverse=True)
    if all_known and not any("rocclr_copy" in event.get("name", "") for event in events_of(raw)):
        assert found.keys() == expected.keys(), (found.keys(), dict(expected))
    for key, (count, ns) in expected.items():
        if all_known:
            assert found[key][0] == count and abs(found[key][1] - ns) <= count, (key, found[key], count, ns)


# ---- memory ----

def memory_of(raw):
    """Device to (time, allocated, reserved), by time, of the only process that uses it."""
    series = defaultdict(list)
    for event in events_of(raw):
        args = event.get("args", {})
        if event.get("name") == "[memory]" and event.get("cat") == "cpu_instant_event" and args.get("Device Type", 0) > 0:
            series[args["Device Id"]].append((float(event["ts"]), args["Total Allocated"], args["Total Reserved"]))
    return {device: sorted(points, key=lambda point: point[0]) for device, points in series.items()}


def check_memory(source, raw):
    expected, found = memory_of(raw), defaultdict(list)
    for row in source.rows("page_memory"):
        found[row["device"]].append((row["start"], row["allocated"], row["reserved"]))
    assert found.keys() == expected.keys()
    for device, points in expected.items():
        ours = found[device]
        assert len(ours) == len(points) if len(points) <= LONGEST_PAGE else 100 < len(ours) <= LONGEST_PAGE
        assert ours == sorted(ours, key=lambda point: point[0])
        if len(ours) == len(points):
            assert [point[1:] for point in ours] == [point[1:] for point in points]
        # Times count from the first event of the trace; a double of the time since 1970 has steps of up to 250 ns.
        zero = points[0][0] * 1e3 - ours[0][0]
        near = defaultdict(set)
        for time, *values in points:
            near[round((time * 1e3 - zero) / 1000)].add(tuple(values))
        for time, *values in ours:
            assert any(tuple(values) in near[round(time / 1000) + shift] for shift in (-1, 0, 1)), (device, time, values)
        for column in (1, 2):
            for extreme in (min, max):
                assert extreme(point[column] for point in ours) == extreme(point[column] for point in points)
        assert ours[-1][1:] == points[-1][1:]


# ---- evidence and peaks ----

def check_evidence(source):
    ranks = {row["rank"] for row in source.rows("findings")}
    calls, kernels = len(source.rows("page_calls")), len(source.rows("page_kernels"))
    sums = {(row["call"], row["kernel"]): row for row in source.rows("page_sums")}
    stretches = defaultdict(list)
    for row in source.rows("page_evidence"):
        assert row["finding"] in ranks, row
        assert (row["start"] is None) == (row["kernel"] is not None), row
        if row["start"] is None:
            assert (row["call"] is None or row["call"] < calls) and row["kernel"] < kernels
            whole = sums[row["call"], row["kernel"]]
            assert 0 < row["count"] <= whole["count"] and 0 <= row["ns"] <= whole["ns"], (row, whole)
        else:
            assert row["ns"] > 0 and 0 <= row["start"] and row["start"] + row["ns"] <= source.facts["end"], row
            stretches[row["finding"]].append((row["start"], row["ns"]))
    for found in stretches.values():
        assert len(found) <= 200
        assert all(a[0] + a[1] < b[0] for a, b in zip(found, found[1:]))


def check_peaks(source):
    rates = {row["precision"]: row["rate"] for row in source.rows("page_peaks")}
    for row in source.rows("unified_perf_summary"):
        spec = row.get("Compute Spec")
        if rates and spec and row.get("Roofline TFLOPS/s"):
            assert rates.get(spec, 0) >= row["Roofline TFLOPS/s"] * 0.999, (spec, rates, row)
    assert all(rate > 0 for rate in rates.values())


# ---- cases ----

def check_tables(source):
    check_idle(source)
    check_steps(source)
    check_busy(source)
    check_evidence(source)
    check_peaks(source)


def check_trace(binary, folder, path):
    raw = test_balance.gpu_trace(path)
    if raw is None:
        return []
    source = Source(make_page(binary, folder, path))
    check_tables(source)
    check_copies(source, raw)
    check_memory(source, raw)
    return []


def check_other(binary, folder, path):
    source = Source(make_page(binary, folder, path))
    if source.rows("page_gpu"):
        check_tables(source)
    assert not source.rows("page_memory")
    return []


def with_memory(trace, devices=2, per_device=3000):
    """Adds a saw of allocations, [memory] events as PyTorch 2 writes them."""
    events = []
    for i in range(per_device):
        for device in range(devices):
            args = {"Total Reserved": 1 << 30, "Total Allocated": 4096 * (1 + (i * 37 + device) % 500), "Bytes": 4096,
                    "Addr": 140000000000000 + i, "Device Id": device, "Device Type": 1, "Ev Idx": i}
            events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 100, "tid": 100,
                           "ts": small_traces.START_US + i * 3.5 + device, "args": args})
    return {**trace, "traceEvents": trace["traceEvents"] + events}


def check_small(binary, folder, devices, per_device):
    trace = with_memory(small_traces.training(), devices, per_device)
    path = small_traces.write(os.path.join(folder, "small.json"), trace)
    check_trace(binary, folder, path)
    source = Source(os.path.join(folder, "page.html"))
    assert [step["name"] for step in source.rows("page_steps")] == [f"ProfilerStep#{n}" for n in range(5)]
    step = {(row["part"], row["kind"]): row["ns"] for row in source.rows("page_step_parts") if row["step"] == 1}
    # 20 kernels of 30 us, which are products: the rest of the 2 ms is idle, most of it for data.
    assert step["GEMM", "computation"] == 600_000 and sum(step.values()) == 2_000_000, step
    return []


def check_index(binary, folder):
    """Pages from an index are those from the trace, also if a report without page wrote the index."""
    path = small_traces.write(os.path.join(folder, "small.json"), with_memory(small_traces.training(), 1, 100))
    pages = []
    for options in (["--index", "off"], ["--index", "auto", "--no_html"], [], ["--index", "auto"], [],
                    ["--include_call_stack"], ["--index", "off", "--include_call_stack"]):
        if "--no_html" in options:
            outcome = harness.run([binary, "report", path, "--output_csvs_dir", os.path.join(folder, "csv"), "--quiet", *options])
            assert outcome.code == 0, outcome
            continue
        source = Source(make_page(binary, folder, path, *options))
        pages.append((options, source.tables))
        assert len(source.rows("page_memory")) == 100, options
    assert all(tables == pages[0][1] for _, tables in pages[:4]), [options for options, _ in pages]
    assert pages[4][1] == pages[5][1]
    return []


HOSTILE = ["<script>alert(1)</script>", "</script><style>*{display:none}", "x" * 40000, "\u202egemm", "a\ud800b", "", "\0"]


def hostile_trace():
    """Steps of a server, copies, memory and kernels with names and numbers that no program should trust."""
    events, at = [], 1000.0
    for i in range(200):
        name = HOSTILE[i % len(HOSTILE)]
        step = f"execute_{i}_context_{i % 2}(sq{i}sk1sqsq1sqsk1)_generation_1(sq1sk1sqsq1sqsk{'9' * (i % 30)}1){name}"
        events.append(small_traces.host("user_annotation", step, at, 9.0))
        events.append(small_traces.host("cpu_op", name, at + 1, 5.0))
        events.append(small_traces.host("cuda_runtime", "cudaLaunchKernel", at + 2, 1.0, correlation=i + 1))
        kernel = small_traces.kernel(at + 4, [3.0, 0.0, 11.0, 1e-7][i % 4], i + 1, stream=i % 3, name=name)
        if i % 5 == 0:
            kernel.update(cat="gpu_memcpy", name=f"Memcpy {name} (Pageable -> {name})")
            kernel["args"]["bytes"] = [-1, 2**63 - 1, 2**53 + 1, 7, "7"][i // 5 % 5]
        events.append(kernel)
        args = {"Total Allocated": [i, -i, 2**62, 1.5, "8"][i % 5], "Total Reserved": 10, "Device Type": 1, "Device Id": i % 3 - 1}
        events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 100, "ts": at, "args": args})
        at += [10.0, 0.0, 1e-3, 25.0][i % 4]
    return {"traceEvents": events}


def check_hostile(binary, folder):
    path = small_traces.write(os.path.join(folder, "hostile.json"), hostile_trace())
    source = Source(make_page(binary, folder, path))
    check_tables(source)
    assert {row["phase"] for row in source.rows("page_steps")} == {"decode", "mixed"}
    assert all(isinstance(row["bytes"], (int, type(None))) for row in source.rows("page_copies"))
    found = [(row["device"], row["allocated"]) for row in source.rows("page_memory")]
    # Numbers may be strings, as everywhere in a trace.
    expected = [(i % 3 - 1, 8 if i % 5 == 4 else i) for i in range(200) if i % 5 in (0, 4) and i % 3 > 0]
    assert sorted(found) == sorted(expected), (found, expected)
    return []


def check_perfetto(binary, folder):
    """The same trace in Perfetto's format has the same memory, steps and idle time."""
    path = small_traces.write(os.path.join(folder, "small.json"), with_memory(small_traces.training(), 2, 100))
    converted = os.path.join(folder, "small.pftrace")
    outcome = harness.run([binary, "convert", path, converted, "--quiet"])
    assert outcome.code == 0, outcome
    json, perfetto = (Source(make_page(binary, folder, one)) for one in (path, converted))
    for name in ("page_memory", "page_steps", "page_step_parts", "page_idle", "page_copies"):
        assert json.rows(name) == perfetto.rows(name), name
    assert len(json.rows("page_memory")) == 200
    return []


OTHERS = [os.path.join(harness.FIXTURES, "rocprof", "tiny_results.json"),
          *sorted(glob.glob(os.path.join(harness.FIXTURES, "jax", "*.xplane.pb.gz"))),
          *sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "jax", "*", "*.xplane.pb")))]
CASES = [harness.Case("synthetic", check_small, 2, 3000), harness.Case("synthetic, much memory", check_small, 1, 9000),
         harness.Case("index", check_index), harness.Case("Perfetto", check_perfetto),
         harness.Case("hostile", check_hostile)]
CASES += [harness.Case(os.path.relpath(path, harness.ROOT), check_other, path) for path in OTHERS]
CASES += [harness.Case(os.path.relpath(path, harness.ROOT), check_trace, path) for path in test_balance.traces()]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
