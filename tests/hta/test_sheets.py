#!/usr/bin/env python3
"""Compares the sheets of --extra with the reference model in reference_sheets.py.

    python3 -m tests.hta.test_sheets --bin build/gputally

The traces are the fixtures, the example, synthetic traces, several ranks together and, if available, the PyTorch traces of
the conformance folder. The check case of the specification is a unit test (test_hta.c).
"""
import glob
import json
import math
import os
import random
import sys

from tests.hta import reference_sheets
from tests.common.harness import CONFORMANCE_TRACES, FIXTURES, ROOT, Case, not_large, read_csv, run, run_cases, seeds

NAMES = ["gemm", "void at::native::elementwise<1>", "ncclDevKernel_AllReduce", "void rcclGenericKernel<1>", "hipKernel",
         "Memcpy HtoD (Pageable -> Device)", "Memset (Device)", "dma_copy", "softmax_dma", "cross_device_reduce_1stage",
         "cudaFooLaunchKernel", "job_exe_1", "Stream Wait Event", "some Sync thing", "__amd_rocclr_copyBuffer.kd"]
CALLS = ["cudaLaunchKernel", "cudaLaunchKernelExC", "hipLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch",
         "cuLaunchKernel", "hipMemsetAsync", "cudaStreamSynchronize", "hipArray3DCreate", "cudaGraphAddMemcpyNode"]


def differs(cell, value):
    """Whether a cell differs from the value. Integers are printed as integers."""
    if isinstance(value, str):
        return cell != value
    if isinstance(value, float) and math.isnan(value):
        return cell != ""
    if cell == "":
        return True
    return not math.isclose(float(cell), value, rel_tol=1e-9, abs_tol=1e-9)


def compare(folder, wanted, identity=()):
    """wanted: sheet -> rows of all ranks. identity: columns after rank that identify a device."""
    problems = []
    for sheet, (headings, _) in reference_sheets.SHEETS.items():
        headings = headings[:1] + list(identity) + headings[1:]
        path = os.path.join(folder, sheet + ".csv")
        if not os.path.exists(path):
            if wanted[sheet]:
                problems.append(f"{sheet} is missing")
            continue
        found_headings, rows = read_csv(path)
        if found_headings != headings:
            problems.append(f"{sheet} has the columns {found_headings}")
        elif len(rows) != len(wanted[sheet]) or not rows:
            problems.append(f"{sheet} has {len(rows)} rows instead of {len(wanted[sheet])}")
        else:
            problems += [f"{sheet}: {row} instead of {expected}" for row, expected in zip(rows, wanted[sheet])
                         if any(differs(a, b) for a, b in zip(row, expected))][:2]
    return problems


def sheets_of(ranks, **options):
    """(sheet -> rows of all ranks, columns that identify a device)"""
    wanted = {sheet: [] for sheet in reference_sheets.SHEETS}
    sets, several = [], False
    preparing = {key: options[key] for key in ("hta_times", "last_step") if key in options}
    for rank, events in enumerate(ranks):
        prepared = reference_sheets.prepare(events, **preparing)
        if options.get("hta_times"):
            sets.append((rank, None, None, prepared, prepared))
            continue
        of_trace, more_devices = reference_sheets.sets_of_rows(events, prepared, rank)
        sets += [(*one, prepared) for one in of_trace]
        several |= more_devices
    identity = ["device"] * several + ["pid"] * any(pid is not None for _, _, pid, _, _ in sets)
    for rank, device, pid, prepared, trace in sets:
        cells = {"device": math.nan if device is None else device, "pid": math.nan if pid is None else pid}
        for sheet, (_, make) in reference_sheets.SHEETS.items():
            more = {"limit": options.get("limit", 1024), "trace": trace} if sheet == "queue_length_summary" else {}
            if sheet.startswith("idle"):
                more = {"hta_times": options.get("hta_times", False), "kernel_delay_us": options.get("delay", 30)}
            wanted[sheet] += [row[:1] + [cells[column] for column in identity] + row[1:]
                              for row in make(prepared, rank, **more)]
    return wanted, identity


def make_trace(seed, whole):
    made = random.Random(seed)
    number = (lambda low, high: made.randint(low, high)) if whole else \
        (lambda low, high: round(made.uniform(low, high), 3))
    events, streams = [], made.sample([0, 7, 20, 21, 4294967295, 1000000], made.randint(1, 4))
    clock = {stream: 0 for stream in streams}
    steps = made.choice([0, 1, 3])
    for step in range(steps):
        event = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                 "ts": number(step * 3000, step * 3000 + 5), "dur": number(2900, 2990)}
        events.append(event)
        if made.random() < 0.5:
            events.append({**event, "cat": "gpu_user_annotation", "ts": event["ts"] + number(1, 500), "pid": 0})
    for index in range(made.randint(0, 300)):
        call, stream, correlation = number(0, 9000), made.choice(streams), made.choice([index, index, index, 5])
        name = made.choice(NAMES)
        category = made.choice(["kernel"] * 6 + ["gpu_memcpy", "gpu_memset", "cuda_sync"])
        start = clock[stream] = max(clock[stream], call) + number(-3, 60)
        dur = number(0, 80)
        clock[stream] += dur
        args = {"correlation": correlation, "stream": made.choice([stream] * 12 + ["7", None, 7.5])}
        if made.random() < 0.1:
            del args["correlation"]
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": dur,
                       "args": args})
        if made.random() < 0.9:
            events.append({"ph": "X", "cat": made.choice(["cuda_runtime", "cuda_driver"]), "name": made.choice(CALLS),
                           "pid": 1, "tid": 1, "ts": call, "dur": number(0, 70), "args": {"correlation": correlation}})
        if made.random() < 0.2:
            events.append({"ph": "X", "cat": made.choice(["cpu_op", "python_function", "Trace", "overhead"]),
                           "name": "x", "pid": 1, "tid": 1, "ts": call, "dur": number(0, 20000),
                           "args": {"stream": 0} if made.random() < 0.3 else {}})
    events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": number(0, 50), "dur": number(1, 9)})
    events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": number(0, 5), "dur": 1})
    made.shuffle(events)
    return events


def device_and_process(event, device):
    event["pid"] = event["args"]["device"] = device


def device_alone(event, device):
    event["args"]["device"] = device


def process_alone(event, device):
    event["pid"] = 5 + device


def named_process(event, device):
    event["pid"] = f"GPU {device}"


def process_without_number(event, device):
    event["pid"] = "abc"[device]


def device_of_process(event, device):
    event["pid"], event["args"]["device"] = 40 + device, 0


def rank_of_fused(event, device):
    event["pid"], event["args"]["device"], event["args"]["rank"] = 40 + device, 0, 2 + device


PLACES = [device_and_process, device_alone, process_alone, named_process, process_without_number, device_of_process,
          rank_of_fused]


def spread(events, place, seed):
    """Moves the GPU events to three devices. One in ten has no device, as some memsets."""
    made = random.Random(seed)
    for event in events:
        if event["cat"] in reference_sheets.GPU_CATEGORIES + ("cuda_sync",):
            event.setdefault("args", {})
            place(event, made.randrange(3))
            if place is device_and_process and made.random() < 0.1:
                del event["args"]["device"]
    return events


def of_devices(binary, place, seed, arguments=(), **options):
    def check(folder):
        path = os.path.join(folder, "trace.json")
        with open(path, "w") as file:
            json.dump({"traceEvents": spread(make_trace(seed, whole=seed % 2), place, seed)}, file)
        return of_trace(binary, path, arguments, **options)(folder)
    return check


def of_trace(binary, path, arguments=(), **options):
    def check(folder):
        done = run([binary, "pytorch", path, "--extra", "--quiet", "--include_unlinked_kernels", "--output_csvs_dir",
                    "out", *arguments],
                   cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        return compare(os.path.join(folder, "out"), *sheets_of([reference_sheets.load(path)], **options))
    return check


def of_synthetic(binary, seed, arguments=(), **options):
    def check(folder):
        path = os.path.join(folder, "trace.json")
        with open(path, "w") as file:
            json.dump({"traceEvents": make_trace(seed, whole=seed % 2)}, file)
        return of_trace(binary, path, arguments, **options)(folder)
    return check


def by_external_id(binary, seed):
    """The sheets of a trace with external ids are those of the same trace with correlation ids."""
    def check(folder):
        path, events = os.path.join(folder, "trace.json"), make_trace(seed, whole=seed % 2)
        named = [{**e, "args": {{"correlation": "External id"}.get(key, key): value for key, value in e.get("args", {}).items()}}
                 for e in events]
        with open(path, "w") as file:
            json.dump({"traceEvents": named}, file)
        done = run([binary, "pytorch", path, "--extra", "--quiet", "--include_unlinked_kernels", "--output_csvs_dir", "out"],
                   cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        return compare(os.path.join(folder, "out"), *sheets_of([events]))
    return check


def steps_as_ops(binary, seed):
    """The sheets of a trace whose steps are ops, as some versions of PyTorch record them, are those of the same trace with
    annotations."""
    def check(folder):
        path, events = os.path.join(folder, "trace.json"), make_trace(seed, whole=seed % 2)
        changed = [{**e, "cat": "cpu_op"} if e["name"].startswith("ProfilerStep") and e["cat"] == "user_annotation" else e
                   for e in events]
        with open(path, "w") as file:
            json.dump({"traceEvents": changed}, file)
        done = run([binary, "pytorch", path, "--extra", "--quiet", "--include_unlinked_kernels", "--output_csvs_dir", "out"],
                   cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        return compare(os.path.join(folder, "out"), *sheets_of([events]))
    return check


def agrees_with_timeline(binary, path, seed=None):
    """temporal_breakdown and gpu_timeline of one report say the same of the same events: all GPU events, all steps."""
    def check(folder):
        trace = path or os.path.join(folder, "trace.json")
        if path is None:
            with open(trace, "w") as file:
                json.dump({"traceEvents": make_trace(seed, whole=seed % 2)}, file)
        done = run([binary, "pytorch", trace, "--extra", "--extra_last_step", "--quiet", "--include_unlinked_kernels",
                    "--output_csvs_dir", "out"], cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        _, rows = read_csv(os.path.join(folder, "out", "gpu_timeline.csv"))
        timeline = {kind: float(ms) * 1e3 for kind, ms, _ in rows}
        _, (row,) = read_csv(os.path.join(folder, "out", "temporal_breakdown.csv"))
        idle, compute, other, whole = (float(cell) for cell in row[1:5])
        wanted = {"idle_time": idle, "computation_time": compute, "total_time": whole, "busy_time": compute + other}
        problems = [f"gpu_timeline says {timeline[kind]} µs of {kind}, temporal_breakdown {value}"
                    for kind, value in wanted.items() if abs(timeline[kind] - value) > 1e-6 * max(1, whole)]
        return problems + ([f"negative time: {row}"] if min(idle, compute, other) < -1e-3 else [])
    return check


def of_ranks(binary, traces, threads, places=()):
    """All ranks in one collective report: the rows of one rank follow those of the one before. places: rank -> how its GPU
    events are spread over devices."""
    def check(folder):
        ranks = [reference_sheets.load(path) for path in traces] if traces else \
            [make_trace(100 + rank, whole=rank != 1) + [{"ph": "X", "cat": "kernel", "name": "ncclKernel", "ts": 5, "dur": 5, "pid": 0,
                                                         "tid": 3, "args": {"correlation": 1, "stream": 3}}] for rank in range(5)]
        for rank, events in enumerate(ranks):
            if rank in places:
                spread(events, places[rank], rank)
            with open(os.path.join(folder, f"rank{rank}_trace.json"), "w") as file:
                json.dump({"traceEvents": events}, file)
        done = run([binary, "collective", "--trace_dir", ".", "--world_size", str(len(ranks)), "--extra", "--quiet",
                    "--leave_out_mismatches", "--threads", str(threads), "--output_csvs_dir", "out"], cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        return compare(os.path.join(folder, "out"), *sheets_of(ranks))
    return check


def cases(binary):
    fixtures = sorted(glob.glob(os.path.join(FIXTURES, "pytorch", "*.json.gz")))
    for path in fixtures + [os.path.join(ROOT, "examples", "transformer_training.json.gz")]:
        yield Case(os.path.basename(path), of_trace(binary, path))
        yield Case(os.path.basename(path) + ", HTA, all steps", of_trace(
            binary, path, ("--extra_hta_times", "--extra_last_step"), hta_times=True, last_step=True))
        yield Case(os.path.basename(path) + ", compared with gpu_timeline", agrees_with_timeline(binary, path))
    for seed in seeds(40):
        yield Case(f"synthetic, seed {seed}", of_synthetic(binary, seed))
    for seed in seeds(40, 60):
        yield Case(f"synthetic with options, seed {seed}", of_synthetic(
            binary, seed, ("--extra_hta_times", "--extra_kernel_delay_us", "5", "--extra_max_queue_length", "3"),
            hta_times=True, delay=5, limit=3))
    for seed in seeds(80, 88):
        yield Case(f"synthetic, external ids, seed {seed}", by_external_id(binary, seed))
    for seed in seeds(88, 96):
        yield Case(f"synthetic, steps as ops, seed {seed}", steps_as_ops(binary, seed))
    for seed in seeds(60, 70):
        yield Case(f"synthetic compared with gpu_timeline, seed {seed}", agrees_with_timeline(binary, None, seed))
    for threads in (1, 3):
        yield Case(f"ranks, {threads} threads", of_ranks(binary, None, threads))
    for place in PLACES:
        for seed in range(70, 74):
            yield Case(f"several devices, {place.__name__}, seed {seed}", of_devices(binary, place, seed))
        yield Case(f"several devices, {place.__name__}, HTA", of_devices(binary, place, 74, ("--extra_hta_times",),
                                                                         hta_times=True))
    yield Case("ranks, one with several devices", of_ranks(binary, None, 3, {2: device_and_process}))
    yield Case("ranks, some with pids", of_ranks(binary, None, 2, {1: device_of_process, 2: device_and_process,
                                                                   4: process_without_number}))
    yield Case("ranks, some with pids, text first", of_ranks(binary, None, 2, {0: process_without_number,
                                                                               3: device_of_process}))
    traces = sorted(glob.glob(os.path.join(CONFORMANCE_TRACES, "h*__*.json.gz")) + glob.glob(os.path.join(CONFORMANCE_TRACES, "mi*__*.json.gz")))
    for path in not_large(traces):
        yield Case(os.path.basename(path) + ", HTA", of_trace(binary, path, ("--extra_hta_times",), hta_times=True))
    for path in not_large(sorted(glob.glob(os.path.join(CONFORMANCE_TRACES, "*.json.gz")))):
        if "rocprof" not in path:
            yield Case(os.path.basename(path) + ", compared with gpu_timeline", agrees_with_timeline(binary, path))
    ranks4 = sorted(glob.glob(os.path.join(CONFORMANCE_TRACES, "ranks4", "rank*_trace.json.gz")))
    if ranks4:
        yield Case("four real ranks", of_ranks(binary, ranks4, 2))
    else:
        print("skipped real traces: GPUTALLY_CONFORMANCE is not set")


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases, lambda binary, folder: (folder,)))
