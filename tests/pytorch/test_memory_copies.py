#!/usr/bin/env python3
"""memory_copies of a PyTorch report, and `gputally pftrace-memory-copy` of a PyTorch trace, compared with the raw file.

    python3 -m tests.pytorch.test_memory_copies --bin build/gputally [--only TEXT]

The expected cells are computed here from the JSON, with the launches of reference_sheets.py. Traces are the fixtures, a
synthetic trace with every known name of a copy, and the conformance folder's if it exists.
"""
import collections
import glob
import json
import math
import os
import re
import sys

from tests.common import harness
from tests.pytorch import generate_trace
from tests.pytorch import reference_sheets as reference

NAMES = {  # direction and kind by hand
    "Memcpy HtoD (Pageable -> Device)": ("HtoD", "pageable"),
    "Memcpy HtoD (Pinned -> Device)": ("HtoD", "pinned"),
    "Memcpy HtoD (Host -> Device)": ("HtoD", "host"),
    "Memcpy DtoH (Device -> Pageable)": ("DtoH", "pageable"),
    "Memcpy DtoH (Device -> Pinned)": ("DtoH", "pinned"),
    "Memcpy DtoH (Device -> Host)": ("DtoH", "host"),
    "Memcpy DtoD (Device -> Device)": ("DtoD", "device"),
    "Memcpy DtoD": ("DtoD", "device"),
    "Memcpy PtoP (Device -> Device)": ("PtoP", "device"),
    "Memcpy HtoH (Pageable -> Pinned)": ("HtoH", "pageable -> pinned"),
    "Memcpy HtoH (Pinned -> Pinned)": ("HtoH", "pinned"),
    "Memcpy DtoD (Managed -> Device)": ("DtoD", "managed"),
    "Memcpy HtoA (Pinned -> Array)": ("HtoA", "pinned -> array"),
    "Memcpy (Device -> Pinned)": ("DtoH", "pinned"),
    "Memcpy Unknown (Unknown -> Unknown)": ("unknown", "unknown"),
    "CopyHostToDevice": ("HtoD", "host"),
    "CopyDeviceToHost": ("DtoH", "host"),
    "CopyDeviceToDevice": ("DtoD", "device"),
    "hipMemcpyHostToDevice": ("HtoD", "host"),
    "Memcpy": ("unknown", "unknown"),
    "": ("unknown", "unknown"),
    "Memcpy HtoD (Pinned": ("HtoD", "host"),
    "Memcpy HtoD () -> (": ("HtoD", "host"),
}
KERNELS = {  # kernels that are copies
    "MEMORY_COPY_HOST_TO_DEVICE": ("HtoD", "host"),
    "MEMORY_COPY_DEVICE_TO_HOST.kd": ("DtoH", "host"),
    "MEMORY_COPY_DEVICE_TO_DEVICE": ("DtoD", "device"),
    "__amd_rocclr_copyBuffer.kd": ("unknown", "unknown"),
    "__amd_rocclr_copyBufferRectAligned": ("unknown", "unknown"),
}
HEADINGS = ["direction", "kind", "Parent cpu_op", "Outermost cpu_op", "device", "count", "bytes known", "bytes", "time ms",
            "percent", "Bandwidth (GB/s)"]


# ---- the expected sheets ----


def copies_of(trace):
    return [i for i in trace.of_kind("memcpy", "kernel")
            if trace.kind[i] == "memcpy" or trace.events[i]["name"] in KERNELS]


def size_of(event):
    """An integer that is not negative, else None."""
    size = event.get("args", {}).get("bytes")
    return size if isinstance(size, int) and size >= 0 else None


def expected_rows(trace):
    groups = collections.OrderedDict()
    for i in copies_of(trace):
        event = trace.events[i]
        above = list(trace.ancestors(i))  # the call first
        ops = [trace.events[a]["name"] for a in above if trace.kind[a] == "cpu_op"]
        parent = ops[0] if ops else trace.events[above[0]]["name"] if above else None
        work = [name for name in ops if not name.startswith("ProfilerStep#")] or ops  # a step is no op, if there is one
        key = (*{**NAMES, **KERNELS}[event["name"]], parent, work[-1] if work else None, event["args"].get("device", event["pid"]))
        groups.setdefault(key, []).append(event)
    total = sum(event["dur"] for events in groups.values() for event in events)
    rows = []
    for key, events in groups.items():
        sized = [event for event in events if size_of(event) is not None]
        time, bytes_moved = sum(e["dur"] for e in events), sum(map(size_of, sized))
        sized_time = sum(e["dur"] for e in sized)
        rows.append([*key, len(events), len(sized), bytes_moved if sized else None, time / 1e3,
                     time / total * 100 if total else None, bytes_moved / sized_time / 1e3 if sized_time else None])
    return sorted(rows, key=lambda row: -row[HEADINGS.index("time ms")])  # stable


def same(expected, found):
    if expected is None:
        return found == ""
    if isinstance(expected, (str, int)):
        return found == str(expected)
    return math.isclose(expected, float(found), rel_tol=1e-9)


def sheet_problems(trace, out):
    path, rows = os.path.join(out, "memory_copies.csv"), expected_rows(trace)
    if not rows or not os.path.exists(path):
        return [] if not rows and not os.path.exists(path) else [f"{len(rows)} rows, sheet written: {os.path.exists(path)}"]
    headings, found = harness.read_csv(path)
    if headings != HEADINGS or len(found) != len(rows):
        return [f"columns {headings} and {len(found)} rows, not {HEADINGS} and {len(rows)}"]
    return [f"{have} is not {want}" for want, have in zip(rows, found) if not all(map(same, want, have))]


def counted_copies(trace):
    """Rows of memory_copy_by_copy_bytes; copies recorded as kernels are not among them."""
    shown = {"HtoD": "h2d (GPU {0})", "DtoH": "d2h (GPU {0})", "DtoD": "d2d (GPU {0} -> GPU {0})"}
    counts = collections.Counter()
    for i in trace.of_kind("memcpy"):
        event = trace.events[i]
        direction = shown.get(NAMES[event["name"]][0], "other").format(event["args"].get("device", "?"))
        size = event["args"].get("bytes")
        counts[size if isinstance(size, int) else None, direction] += 1
    ordered = sorted(counts.items(), key=lambda item: (item[0][0] is None, item[0][0] or 0, item[0][1]))
    return [["" if size is None else str(size), direction, str(count)] for (size, direction), count in ordered]


# ---- checks ----


def check_report(binary, folder, path, options=()):
    out = os.path.join(folder, "out")
    outcome = harness.run([binary, "pytorch", path, "--quiet", "--include_unlinked_kernels", "--output_csvs_dir", out, *options])
    problems = outcome.problems() + ([outcome.stderr[:300]] if outcome.code else [])
    return problems or sheet_problems(reference.Trace(reference.read(path)), out)


def check_pftrace(binary, folder, path):
    out = os.path.join(folder, "out")
    outcome = harness.run([binary, "pftrace-memory-copy", path, "--output_csvs_dir", out])
    problems = outcome.problems() + ([outcome.stderr[:300]] if outcome.code else [])
    headings, rows = harness.read_csv(os.path.join(out, "memory_copy_by_copy_bytes.csv"))
    expected = counted_copies(reference.Trace(reference.read(path)))
    if rows != expected:
        problems.append(f"rows {rows[:5]} are not {expected[:5]}")
    if ("memory_copies" if expected else "the trace has no memory copies") not in outcome.stderr:
        problems.append(f"says {outcome.stderr[:200]!r}")
    return problems


def write_names(folder, steps=False):
    """With `steps`, the names come in two steps that are recorded as ops, as some versions of PyTorch do. Each name four times: launched in nested ops, by a call outside all ops, without a launch, and without a size."""
    events, link, at = [], 0, 1000

    def host(category, name, start, dur, args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 9, "tid": 9, "ts": start, "dur": dur, "args": args})

    def copy(name, category, size, linked):
        nonlocal link
        link += 1
        args = {"device": 3, "stream": 7, "correlation": link, **({} if size is None else {"bytes": size})}
        if linked:
            host("cuda_runtime", "hipMemcpyAsync", at + 3, 2, {"correlation": link})
            flow = {"cat": "ac2g", "name": "ac2g", "id": link}
            events.append({"ph": "s", "pid": 9, "tid": 9, "ts": at + 3, **flow})
            events.append({"ph": "f", "pid": 3, "tid": 7, "ts": at + 50, "bp": "e", **flow})
        events.append({"ph": "X", "cat": category, "name": name, "pid": 3, "tid": 7, "ts": at + 50, "dur": 1 + link % 7 + link / 64,
                       "args": args})

    host("cuda_runtime", "hipLaunchKernel", 980, 2, {"correlation": 0})  # its ids link the calls to the GPU
    for number, name in enumerate([*NAMES, *KERNELS] * 2):
        category = "kernel" if name in KERNELS else "gpu_memcpy"
        host("cpu_op", f"aten::to_{number % 3}", at, 20, {})
        host("cpu_op", "aten::_to_copy", at + 1, 15, {})
        host("cpu_op", "aten::copy_", at + 2, 10, {})
        copy(name, category, 1000 * number, True)
        at += 100
        copy(name, category, 77, True)  # outside all ops
        at += 100
        copy(name, category, 12345, False)
        at += 100
        copy(name, category, None, number % 2 == 0)
        at += 100
    events.append({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "pid": 3, "tid": 7, "ts": at, "dur": 0,
                   "args": {"device": 3, "stream": 7, "bytes": 4}})
    events.append({"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 3, "tid": 7, "ts": at, "dur": 8,
                   "args": {"device": 3, "stream": 7, "bytes": 4}})
    if steps:
        half = 1000 + (at - 1000) // 2
        host("cpu_op", "ProfilerStep#7", 990, half - 991, {})
        host("cpu_op", "ProfilerStep#8", half - 1, at - half, {})
    path = os.path.join(folder, "names.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    return path


def check_names(binary, folder, check):
    return check(binary, folder, write_names(folder))


def check_steps(binary, folder):
    return check_report(binary, folder, write_names(folder, steps=True))


def check_made(binary, folder, **options):
    path = os.path.join(folder, "made.json")
    generate_trace.write_trace(path, generate_trace.Options(**{"events": 2500, **options}))
    return check_report(binary, folder, path)


def check_old_names(binary, folder):
    """The old programs write what they did; the second one warns."""
    path, problems = write_names(folder), []
    for name, option, sheet in (("TraceLens_generate_perf_report_pytorch", "--profile_json_path", "memory_copies"),
                                ("TraceLens_generate_perf_report_pftrace_memory_copy", "--trace_path", "memory_copy_by_copy_bytes")):
        link, out = os.path.join(folder, name), os.path.join(folder, "out " + sheet)
        os.symlink(binary, link)
        outcome = harness.run([link, option, path, "--output_csvs_dir", out])
        problems += outcome.problems()
        if sheet == "memory_copies":
            problems += ["memory_copies is written"] if os.path.exists(os.path.join(out, sheet + ".csv")) else []
        elif harness.read_csv(os.path.join(out, sheet + ".csv"))[1] or "the copies of a PyTorch trace are not counted" not in outcome.stderr:
            problems.append(f"{name} says {outcome.stderr[:200]!r}")
    return problems


def check_deep(binary, folder):
    """Many copies below many nested ops take linear time: 20,000 ops and as many copies."""
    count, events = 20_000, []
    for i in range(count):
        events.append({"ph": "X", "cat": "cpu_op", "name": f"op{i % 5}", "pid": 1, "tid": 1, "ts": i, "dur": 3 * count - 2 * i, "args": {}})
    call = {"ph": "X", "cat": "cuda_runtime", "name": "hipGraphLaunch", "pid": 1, "tid": 1, "ts": count, "dur": 1, "args": {"correlation": 5}}
    events.append(call)
    events += [{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "pid": 0, "tid": 7, "ts": 9 * count + i, "dur": 1,
                "args": {"device": 0, "correlation": 5, "bytes": 8}} for i in range(count)]
    path, out = os.path.join(folder, "deep.json"), os.path.join(folder, "out")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    outcome = harness.run([binary, "pytorch", path, "--quiet", "--output_csvs_dir", out])
    rows = harness.read_csv(os.path.join(out, "memory_copies.csv"))[1]
    wanted = ["DtoD", "device", f"op{(count - 1) % 5}", "op0", "0", str(count), str(count), str(8 * count), str(count / 1e3), "100.0", "0.008"]
    return outcome.problems() + ([f"rows are {rows}"] if rows != [wanted] else [])


def cases():
    real = sorted(glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz")))
    real += [path for path in harness.not_large(sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "*.json.gz"))))
             if re.search(r"mi250|nccl|resnet|owlv2|timesformer|Qwen", path)]
    for path in real:
        yield harness.Case(os.path.basename(path)[:-8], check_report, path)
        yield harness.Case(os.path.basename(path)[:-8] + ", pftrace-memory-copy", check_pftrace, path)
    yield harness.Case("all names", check_names, check_report)
    yield harness.Case("all names, pftrace-memory-copy", check_names, check_pftrace)
    yield harness.Case("steps that are recorded as ops", check_steps)
    yield harness.Case("synthetic", lambda *a: check_made(*a))
    yield harness.Case("synthetic, old names of categories", lambda *a: check_made(*a, old_names=True, times="integer"))
    yield harness.Case("synthetic, graphs", lambda *a: check_made(*a, graphs=True, streams=5, shuffle_keys=True))
    yield harness.Case("old names", check_old_names)
    yield harness.Case("many copies below many ops", check_deep)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
