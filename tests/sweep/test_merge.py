#!/usr/bin/env python3
"""Compares `gputally sweep merge` with a reference model, on synthetic ranks, unusual events and, if available, the real ranks of the
conformance folder. Numbers are compared as they are written."""
import glob
import gzip
import json
import os
import random
import shutil
import sys

from tests.fuse.test_traces import RANKS4, load
from tests.common.harness import Case, files_under, run, run_cases

GPU = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"}
CPU = {"cpu_op", "cuda_runtime", "user_annotation", "fwdbwd"}
KEPT = GPU | {"cuda_runtime", "cuda_driver", "Kernel", "ac2g", "user_annotation", "fwdbwd", "cpu_instant_event"}


def is_integer(value):
    return str(value).lstrip("-").isdigit() and type(value) is not str


def merged_rank(events, rank, keep_ids):
    """The events of one rank as they should be written."""
    categories = {}
    for event in events:
        if "pid" in event and isinstance(event.get("cat"), str):
            categories.setdefault(repr(event["pid"]), set()).add(event["cat"])
    kind = {pid: "GPU" if found & GPU else "CPU" if found & CPU else None for pid, found in categories.items()}
    threads, counts, result = {}, {"GPU": 0, "CPU": 0}, []
    for event in events:
        if event.get("cat") not in KEPT or ("pid" in event and not kind.get(repr(event["pid"]))):
            continue
        event = dict(event)
        if "pid" in event:
            of = kind[repr(event["pid"])]
            key = (repr(event["pid"]), repr(event["tid"]) if "tid" in event else "<0>")
            if key not in threads:
                threads[key] = counts[of]
                counts[of] += 1
            event["pid"], event["tid"] = rank * 1000 + (500 if of == "CPU" else 0), threads[key]
        if not keep_ids and event["cat"] == "ac2g" and is_integer(event.get("id")):
            event["id"] = int(event["id"]) + rank * 2 ** 32
        if isinstance(event.get("args"), dict) or event.get("args") is None:
            event["args"] = {**(event.get("args") or {}), "rank": rank}
        if isinstance(event.get("name"), str):
            event["name"] = f"[R{rank}] {event['name']}"
        result.append(event)
    return result


def names_of(rank):
    for pid, name, place in ((rank * 1000, "GPU Stream", 2 * rank), (rank * 1000 + 500, "CPU/CUDA Runtime", 2 * rank + 1)):
        common = {"ph": "M", "cat": "__metadata", "pid": pid, "tid": 0, "ts": 0}
        yield {**common, "name": "process_name", "args": {"name": f"Rank {rank} - {name}"}}
        yield {**common, "name": "process_sort_index", "args": {"sort_index": place}}


def plain(value):
    """Numbers as text, so that a changed digit is found; computed integers equal integers from the file."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool) or type(value) is str:
        return value
    return ("number", str(value))


def expected(paths, count, keep_ids=False):
    result = []
    for rank in range(count):
        if rank in paths:
            document = load(paths[rank])
            events = document if isinstance(document, list) else document["traceEvents"]
            result += merged_rank([event for event in events if isinstance(event, dict)], rank, keep_ids)
    for rank in range(count):
        result += names_of(rank)
    return plain(result)


# ---- synthetic ranks ----

def kernel_of(rank, number, name, start, duration, stream):
    """An op, the launch of a kernel, the kernel, and the flow events between them."""
    return [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 10, "ts": start - 50.0, "dur": 20.0, "args": {"External id": number}},
            {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 10, "tid": 10, "ts": start - 40.0, "dur": 5.0,
             "args": {"correlation": number}},
            {"ph": "s", "id": number, "pid": 10, "tid": 10, "ts": start - 40.0, "cat": "ac2g", "name": "ac2g"},
            {"ph": "X", "cat": "kernel", "name": name, "pid": rank, "tid": stream, "ts": start, "dur": duration,
             "args": {"correlation": number, "stream": stream}},
            {"ph": "f", "id": number, "pid": rank, "tid": stream, "ts": start, "cat": "ac2g", "name": "ac2g", "bp": "e"}]


def sweep_rank(rank, threads=256, channels=28):
    """A rank of the sweep that is used to test the other steps."""
    base, factor = 1000000.0, threads / 256
    first, second = "Cijk_Alik_Bljk_BBS_BH_MT256x256x64_MI16x16x1", "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x1"
    collective = "ncclDevKernel_Generic_1(...)"
    kernels = [(first, 100, 100.0, 0), (first, 1100, 100 + factor * channels / 2 + rank, 0), (first, 2100, 110.0, 0),
               (second, 5100, 40.5, 0), (second, 6100, 60.25 + rank / 2 + channels / 7, 0), ("elementwise", 8000, 5.0, 0),
               (collective, 1050 + 2 * rank, 100.0 + channels, 2), (collective, 1200 + 2 * rank, 30.0, 2),
               (collective, 6000, 200 + threads / 10, 2)]
    events = [{"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "ts": 0.0, "args": {"name": "python"}},
              {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 10, "tid": 10, "ts": base - 10, "dur": 9000.0}]
    for number, (name, start, duration, stream) in enumerate(kernels):
        events += kernel_of(rank, number + 1, name, base + start, duration, stream)
    return events


def odd_rank(rank, seed):
    """Events with missing, escaped or wrongly typed members, and with process ids written in two ways."""
    chance, events = random.Random(seed * 1000 + rank), []
    pids, tids = [0, 7, "Spans", "7", 12345678901234567890, -1, 1.5], [0, 3, "stream 7", -2, None]
    names = ["k", "caf\u00e9 \u4e2d \"quoted\" \\ \n", "", "\U0001F600", "[R9] k"]
    categories = sorted(KEPT | {"cpu_op", "python_function", "Trace", "overhead"})
    for _ in range(200):
        event = {"ph": chance.choice("XXsfMi"), "name": chance.choice(names), "cat": chance.choice(categories), "pid": chance.choice(pids),
                 "tid": chance.choice(tids), "ts": chance.choice([0, 1.25, 1e15 + 0.125, -3]), "id": chance.choice([0, 5, "x", -9, 1.5]),
                 "args": chance.choice([{}, {"rank": 99, "a": [1, {"rank": 3}]}, None, {"id_raw": 4, "correlation": 2}, [1], "text"])}
        for key in list(event):
            if chance.random() < 0.15:
                del event[key]
        events.append(event)
    return events + [{}, 5, None, [{}]]


def write_rank(folder, rank, events, name="trace_step19.json", bare=False):
    os.makedirs(os.path.join(folder, f"rank{rank}"), exist_ok=True)
    path = os.path.join(folder, f"rank{rank}", name)
    document = events if bare else {"schemaVersion": 1, "traceEvents": events, "traceName": "x"}
    data = json.dumps(document, ensure_ascii=rank % 2 == 0, indent=rank % 3 or None).encode()
    with (gzip.open if name.endswith(".gz") else open)(path, "wb") as file:
        file.write(data)
    return path


# ---- checks ----

def merge(binary, folder, *options):
    return run([binary, "sweep", "merge", *options], cwd=folder)


def compare(path, wanted):
    got = plain(load(path)["traceEvents"])
    if got == wanted:
        return []
    for i, (one, other) in enumerate(zip(got, wanted)):
        if one != other:
            return [f"event {i}: {one}, not {other}"]
    return [f"{len(got)} events, not {len(wanted)}"]


def check_sweep(binary, folder):
    paths = {rank: write_rank(os.path.join(folder, "t"), rank, sweep_rank(rank)) for rank in range(3)}
    done = merge(binary, folder, "t", "-n", "3", "-o", "m.json")
    events = load(os.path.join(folder, "m.json"))["traceEvents"]
    problems = done.problems() + compare(os.path.join(folder, "m.json"), expected(paths, 3))
    # computed by hand: three times 18 GPU events and 19 CPU events, and twelve names
    problems += [] if len(events) == 123 else [f"{len(events)} events, not 123"]
    first = events[0]
    problems += [] if (first["name"], str(first["pid"]), str(first["tid"])) == ("[R0] ProfilerStep#2", "500", "0") else [str(first)]
    problems += [] if "rank 2: 18 GPU events, 19 CPU events" in done.stdout else [done.stdout]
    done = merge(binary, folder, "t", "--compat", "--output", "c.json.gz")
    with open(os.path.join(folder, "c.json.gz"), "rb") as file:
        problems += [] if file.read(2) == b"\x1f\x8b" else ["not gzip"]
    return problems + done.problems() + compare(os.path.join(folder, "c.json.gz"), expected(paths, 3, True))


def check_nothing(binary, folder):
    os.makedirs(os.path.join(folder, "t"))
    done = merge(binary, folder, "t")
    return done.problems() + compare(os.path.join(folder, "merged_gpu_trace_enhanced.json"), expected({}, 8)) + (
        [] if done.stderr.count("Skipping rank") == 8 else [done.stderr])


def check_odd(binary, folder, seed):
    names = ["trace_step19.json", "other.json", "x.json.gz", "trace_step19.json"]
    paths = {rank: write_rank(os.path.join(folder, "t"), rank, odd_rank(rank, seed), names[rank], bare=rank == 3) for rank in (0, 1, 2, 3)}
    done = merge(binary, folder, "t", "-o", "m.json", "-n", "6")
    return done.problems() + compare(os.path.join(folder, "m.json"), expected(paths, 6))


def check_damaged(binary, folder):
    """A damaged rank is skipped completely; the others are merged."""
    paths = {rank: write_rank(os.path.join(folder, "t"), rank, sweep_rank(rank)) for rank in range(4)}
    with open(paths[1], "r+b") as file:
        file.truncate(os.path.getsize(paths[1]) * 2 // 3)
    with open(paths[2], "w") as file:
        file.write('{"a": 1}')
    del paths[1], paths[2]
    done = merge(binary, folder, "t", "-o", "m.json")
    return done.problems() + compare(os.path.join(folder, "m.json"), expected(paths, 4)) + [
        f"no warning about rank {rank}: {done.stderr}" for rank in (1, 2) if f"rank {rank} skipped: t/rank{rank}" not in done.stderr]


def check_names(binary, folder):
    """Which of several traces in a rank's folder: trace_step19.json, else as the reports of a sweep choose, or the one named."""
    root = os.path.join(folder, "t")
    usual = write_rank(root, 0, sweep_rank(1), "other_trace.json")
    named = write_rank(root, 0, sweep_rank(5), "b.json")
    problems = []
    for options, path in (([], usual), (["--trace-name", "b.json"], named), (["--trace-name", "c.json"], None)):
        done = merge(binary, folder, "t", "-o", "m.json", *options)
        problems += done.problems() + compare(os.path.join(folder, "m.json"), expected({0: path} if path else {}, 1))
    step = write_rank(root, 0, sweep_rank(7))
    done = merge(binary, folder, "t", "-o", "m.json")
    return problems + done.problems() + compare(os.path.join(folder, "m.json"), expected({0: step}, 1))


def check_failure(binary, folder, options, code, message):
    write_rank(os.path.join(folder, "t"), 0, sweep_rank(0))
    done = merge(binary, folder, *options)
    left = files_under(folder)
    return ([] if done.code == code else [f"exit code {done.code}"]) + ([] if message in done.stderr else [done.stderr]) + (
        [f"left {left}"] if left != ["t/rank0/trace_step19.json"] else [])


def check_real(binary, folder):
    paths = {}
    for rank, path in enumerate(sorted(glob.glob(os.path.join(RANKS4, "*.json*")))):
        os.makedirs(os.path.join(folder, f"t/rank{rank}"))
        paths[rank] = shutil.copy(path, os.path.join(folder, f"t/rank{rank}"))
    done = merge(binary, folder, "t", "-o", "m.json")
    return done.problems() + compare(os.path.join(folder, "m.json"), expected(paths, len(paths)))


CASES = [
    Case("ranks of a sweep", check_sweep),
    Case("no traces", check_nothing),
    Case("damaged ranks", check_damaged),
    Case("names of traces", check_names),
    Case("no folder", check_failure, ["none"], 1, "gputally: directory not found: none"),
    Case("no arguments", check_failure, [], 2, "the following arguments are required: DIR"),
    Case("no ranks", check_failure, ["t", "-n", "0"], 2, "argument --num_ranks: must be between 1 and"),
    Case("over a trace", check_failure, ["t", "-o", "t/rank0/trace_step19.json"], 1, "trace_step19.json"),
] + [Case(f"unusual events {seed}", check_odd, seed) for seed in range(8)]
if glob.glob(os.path.join(RANKS4, "*.json*")):
    CASES.append(Case("real ranks", check_real))


if __name__ == "__main__":
    sys.exit(run_cases(__doc__, CASES))
