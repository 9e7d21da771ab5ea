#!/usr/bin/env python3
"""Traces with several GPUs: gpu_timeline_by_device must agree with a reference model over the raw file.

    python3 -m tests.pytorch.test_devices --bin build/gputally [--only TEXT]

The expected rows of a device are those of reference_sheets.py for its events alone. Which events these are is decided here,
from the JSON: by rank, process and device. Traces are synthetic, with the devices of their GPU events changed, or several
ranks fused by `gputally fuse`.
"""
import glob
import json
import math
import os
import random
import re
import sys

from tests.common import harness
from tests.pytorch import generate_trace
from tests.pytorch import reference_sheets as reference

GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")


# ---- traces ----


def synthetic(folder, name="base.json", **options):
    path = os.path.join(folder, name)
    generate_trace.write_trace(path, generate_trace.Options(**{"events": 2500, "collectives": True, "odd_events": True, **options}))
    return path


def spread(path, place, devices=4, shuffle=False):
    """Moves the GPU events to several devices: place(event, device) changes pid and args. The flow events follow them."""
    document = reference.read(path)
    events, rng = document["traceEvents"], random.Random(7)
    tracks = {}  # (pid, tid) of a stream -> its device
    for event in events:
        if event.get("cat") in GPU_CATEGORIES and len(event["ph"]) == 1:
            device = tracks.setdefault((event["pid"], event["tid"]), len(tracks) % devices)
            event["_device"] = device
    for event in events:
        if event.get("cat") == "ac2g" and event["ph"] == "f" and (event["pid"], event["tid"]) in tracks:
            event["_device"] = tracks[event["pid"], event["tid"]]
    for event in events:
        if "_device" in event:
            place(event, event.pop("_device"))
    if shuffle:
        rng.shuffle(events)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


def one_process(event, device):
    """As PyTorch writes the GPUs of one process: the lane of a GPU is a process with its number."""
    event["pid"] = device
    if "args" in event:
        event["args"]["device"] = device


def only_lanes(event, device):
    event["pid"] = device
    event.get("args", {}).pop("device", None)


def named_lanes(event, device):
    event["pid"] = f"GPU {device}"
    event.get("args", {}).pop("device", None)


def unnumbered_lanes(event, device):
    event["pid"] = "gpu " + "abcd"[device]
    event.get("args", {}).pop("device", None)


def same_number(event, device):
    """Each process calls its GPU device 0."""
    event["pid"] = 90_000 + device
    if "args" in event:
        event["args"]["device"] = 0


def rank_of_collectives(event, device):
    """A rank that only some GPU events have does not identify a device."""
    one_process(event, device)
    if event.get("cat") == "kernel" and "nccl" in event["name"]:
        event["args"]["rank"] = 3


def ranks_without_processes(event, device):
    event["pid"] = 0
    if event.get("cat") != "ac2g":
        event.setdefault("args", {}).update(device=0, rank=device)


# ---- the expected sheet ----


def number_in(value):
    digits = re.search(r"\d+$", str(value))
    return int(digits.group()) if digits else None


def expected_sheet(path, **options):
    """(headings, rows), or None if fewer than two devices have events to count."""
    trace = reference.Trace(reference.read(path), python_functions=bool(options.get("detect_recompute")))
    gpu = trace.of_kind(*reference.GPU)
    args = {i: trace.events[i].get("args") or {} for i in gpu}
    ranked = all(isinstance(args[i].get("rank"), int) for i in gpu)
    rank_of = lambda i: args[i]["rank"] if ranked else -1
    lane = lambda i: (rank_of(i), trace.events[i].get("pid"))
    named, devices = {}, {}  # what the events of a lane call their device; the events of each device
    for i in reversed(gpu):
        if args[i].get("device") is not None:
            named[lane(i)] = args[i]["device"]
    for i in gpu:
        device = args[i].get("device")
        number = number_in(named.get(lane(i), trace.events[i].get("pid")) if device is None else device)
        devices.setdefault((rank_of(i), number, trace.events[i].get("pid")), []).append(i)
    unclear = len({key[:2] for key in devices}) < len(devices) or any(key[1] is None for key in devices)
    headings = ["device"] + ["rank"] * ranked + ["pid"] * unclear + ["type", "time ms", "percent"]
    headings += ["is_recompute"] * bool(options.get("detect_recompute"))
    recomputed = trace.recomputed() if options.get("detect_recompute") else set()
    rows, with_rows = [], 0
    first = {key: position for position, key in enumerate(devices)}
    order = lambda key: (key[0], key[1] is None, key[1] or 0, number_in(key[2]) or 0, first[key])
    for rank, number, pid in sorted(devices, key=order):
        chosen = [i for i in devices[rank, number, pid] if i in trace.parent or options.get("include_unlinked_kernels")]
        before = len(rows)
        for again in (False, True) if options.get("detect_recompute") else (None,):
            part = chosen if again is None else [i for i in chosen if (i in recomputed) == again]
            for row in reference.timeline_rows(trace, part, options.get("micro_idle_thresh_us")) if part else []:
                rows.append([number] + [rank] * ranked + [pid] * unclear + row + ([] if again is None else [again]))
        with_rows += len(rows) > before
    return (headings, rows) if with_rows > 1 else None


def same(expected, found):
    if expected is None:
        return found == ""
    if isinstance(expected, (str, bool)):
        return found == str(expected)
    if isinstance(expected, int):
        return found in (str(expected), f"{expected}.0")
    return math.isclose(expected, float(found), rel_tol=1e-9, abs_tol=1e-9)


def sheet_problems(expected, out):
    path = os.path.join(out, "gpu_timeline_by_device.csv")
    if expected is None or not os.path.exists(path):
        return [] if expected is None and not os.path.exists(path) else [f"sheet written: {os.path.exists(path)}"]
    headings, rows = harness.read_csv(path)
    if headings != expected[0] or len(rows) != len(expected[1]):
        return [f"columns {headings} and {len(rows)} rows, not {expected[0]} and {len(expected[1])}"]
    return [f"row {found} is not {wanted}" for wanted, found in zip(expected[1], rows)
            if not all(map(same, wanted, found))]


# ---- checks ----


def report(binary, path, folder, options=(), command="pytorch"):
    out = os.path.join(folder, "out")
    outcome = harness.run([binary, command, path, "--output_csvs_dir", out, *options])
    return out, outcome, outcome.problems() + ([outcome.stderr[:300]] if outcome.code else [])


def flags(options):
    return [part for name, value in options.items() for part in ([f"--{name}"] if value is True else [f"--{name}", str(value)])]


def compare(binary, folder, path, options, devices):
    """Compares the sheet with the reference model, which must have the devices that the case is about."""
    expected = expected_sheet(path, **options)
    found = len({tuple(row[:len(expected[0]) - 3 - ("is_recompute" in expected[0])]) for row in expected[1]}) if expected else 1
    out, outcome, problems = report(binary, path, folder, flags(options))
    if found != devices:
        problems.append(f"the model finds {found} devices")
    together = f"GPU timeline of {devices} devices together" in outcome.stdout
    if together != (devices > 1) or ("GPU timeline by device" in outcome.stdout) != (devices > 1):
        problems.append(f"the summary begins with {outcome.stdout[:200]!r}")
    return problems or sheet_problems(expected, out)


def check_spread(binary, folder, place, devices, options, shuffle=False, **generated):
    path = spread(synthetic(folder, **generated), place, shuffle=shuffle)
    return compare(binary, folder, path, options, devices)


def check_fused(binary, folder, options, ranks=3, **generated):
    """The fused trace of ranks that all call their GPU device 0."""
    paths = [synthetic(folder, f"rank{i}.json", seed=i, **generated) for i in range(ranks)]
    return check_fused_files(binary, folder, paths, options)


def check_fused_files(binary, folder, paths, options):
    fused = os.path.join(folder, "fused.json")
    outcome = harness.run([binary, "fuse", "-o", fused, *paths])
    return ([outcome.stderr] if outcome.code else []) or compare(binary, folder, fused, options, len(paths))


def check_absent(binary, folder, options, old_name=False):
    """One sheet less, and the summary still does not present several devices as one."""
    path = spread(synthetic(folder, streams=9), one_process)
    if old_name:
        link = os.path.join(folder, "TraceLens_generate_perf_report_pytorch")
        os.symlink(binary, link)
        out = os.path.join(folder, "out")
        outcome = harness.run([link, "--profile_json_path", path, "--output_csvs_dir", out])
        problems = outcome.problems() + (["says something new"] if "device" in outcome.stdout.replace(folder, "") else [])
    else:
        out, outcome, problems = report(binary, path, folder, options)
        if "GPU timeline of 4 devices together" not in outcome.stdout:
            problems.append("the summary presents 4 devices as one")
    return problems + sheet_problems(None, out)


def check_linear(binary, folder):
    """A trace in which every GPU event is a device of its own is damaged, but does not take long or fail."""
    events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": i, "tid": 0, "ts": i, "dur": 1, "args": {"device": i}}
              for i in range(70_000)]
    path = os.path.join(folder, "many.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    out, outcome, problems = report(binary, path, folder, ["--include_unlinked_kernels"])
    if "gpu_timeline_by_device omitted" not in outcome.stderr:
        problems.append(f"says {outcome.stderr[:300]!r}")
    return problems + sheet_problems(None, out)


def cases():
    everything = {"include_unlinked_kernels": True}
    wide = dict(streams=9, threads=3)
    yield harness.Case("one device", check_spread, lambda event, device: one_process(event, 0), 1, {}, False)
    yield harness.Case("four devices of one process", lambda *a: check_spread(*a, one_process, 4, {}, **wide))
    yield harness.Case("four devices, unlinked kernels", lambda *a: check_spread(*a, one_process, 4, everything, **wide))
    yield harness.Case("four devices, micro idle", lambda *a: check_spread(*a, one_process, 4, {"micro_idle_thresh_us": 9}, **wide))
    yield harness.Case("four devices, recompute", lambda *a: check_spread(*a, one_process, 4, {"detect_recompute": True},
                                                                         python_functions=True, **wide))
    yield harness.Case("four devices, events in any order", lambda *a: check_spread(*a, one_process, 4, everything, True, **wide))
    yield harness.Case("four devices, graphs, integers", lambda *a: check_spread(*a, one_process, 4, everything, graphs=True,
                                                                                times="integer", **wide))
    yield harness.Case("without args.device", lambda *a: check_spread(*a, only_lanes, 4, everything, **wide))
    yield harness.Case("named lanes", lambda *a: check_spread(*a, named_lanes, 4, everything, **wide))
    yield harness.Case("lanes without numbers", lambda *a: check_spread(*a, unnumbered_lanes, 4, everything, **wide))
    yield harness.Case("several processes, device 0 in each", lambda *a: check_spread(*a, same_number, 4, everything, **wide))
    yield harness.Case("a rank in some events", lambda *a: check_spread(*a, rank_of_collectives, 4, everything, **wide))
    yield harness.Case("ranks in one lane", lambda *a: check_spread(*a, ranks_without_processes, 4, everything, **wide))
    yield harness.Case("fused ranks", check_fused, {})
    yield harness.Case("fused ranks, unlinked kernels, micro idle", check_fused, {**everything, "micro_idle_thresh_us": 20})
    real = sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "ranks4", "*.gz")))
    if real:
        yield harness.Case("fused ranks, recorded", check_fused_files, real, {})
    yield harness.Case("--no_extra_sheets", check_absent, ["--no_extra_sheets"])
    yield harness.Case("old name", lambda *a: check_absent(*a, [], old_name=True))
    yield harness.Case("too many devices", check_linear)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
