#!/usr/bin/env python3
"""Compares `gputally fuse` with a reference model.

    python3 -m tests.fuse.test_traces --bin build/gputally

The ranks are synthetic (with unusual events), the fixtures and, if available, four ranks of the conformance folder. Numbers are
compared as they are written, so a changed digit is a failure. Damaged ranks must be named and leave no file.
"""
import glob
import gzip
import json
import math
import os
import random
import re
import sys

from tests.common.harness import CONFORMANCE_TRACES, FIXTURES, Case, files_under, run, run_cases

RANKS4 = os.path.join(CONFORMANCE_TRACES, "ranks4")
GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
REPLACED = ("process_name", "process_sort_index", "process_labels")


class Number(str):
    """A number as it was written; it is not equal to a string."""

    def __eq__(self, other):
        return isinstance(other, Number) and str(self) == str(other)

    __hash__ = str.__hash__

    def __repr__(self):
        return f"<{str(self)}>"


def load(path):
    opened = gzip.open(path, "rt", encoding="utf-8", errors="replace") if path.endswith(".gz") else \
        open(path, encoding="utf-8", errors="replace")
    with opened as file:
        return json.load(file, parse_int=Number, parse_float=Number, parse_constant=Number, strict=False)


def is_int(value):
    return isinstance(value, Number) and re.fullmatch(r"-?\d+", value) is not None


def events_of(document):
    return document if isinstance(document, list) else document["traceEvents"]


def links_by(events):
    for event in events:
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "launch" in event.get("name", "").lower():
            return "correlation" if "correlation" in event.get("args", {}) else "External id"
    return "External id"


def multipliers(lists):
    """Field -> multiplier, in the order of first occurrence."""
    key, largest = links_by(lists[0]), {}
    for events in lists:
        for event in events:
            args = event.get("args")
            for field, value in (("id", event.get("id")), ("pid", event.get("pid")),
                                 (key, args.get(key) if isinstance(args, dict) else None)):
                if is_int(value):
                    largest[field] = max(largest.get(field, 0), int(value))
    return key, {field: 10 ** (math.ceil(math.log10(most + 1)) + 1) for field, most in largest.items()}


def expected(lists, dropped=("Trace", "python_function"), all_ranks=False):
    key, by_field = multipliers(lists if all_ranks else lists[:1])
    out, processes = [], {}
    for rank, events in enumerate(lists):
        for event in events:
            if event.get("ph") == "M" and event.get("name") in REPLACED or event.get("cat") in dropped:
                continue
            event = dict(event)
            args = event["args"] = dict(event.get("args") or {})
            if event.get("ph") != "M" and is_int(event.get("pid")):
                found = processes.setdefault((rank, int(event["pid"])), False)
                processes[rank, int(event["pid"])] = found or event.get("cat") in GPU_CATEGORIES
            args["rank"] = Number(rank)
            for field, multiplier in by_field.items():
                holder = args if field == key else event
                if field not in holder:
                    continue
                args[field + "_raw"] = holder[field]
                if is_int(holder[field]):
                    holder[field] = Number(int(holder[field]) + rank * multiplier)
            out.append(event)
    for rank, pid in sorted(processes):
        gpu, moved = processes[rank, pid], Number(pid + rank * by_field.get("pid", 0))
        tail = {"ph": "M", "pid": moved, "tid": Number(0)}
        out.append({"name": "process_name", **tail, "args": {"name": f"RANK {rank} - {'GPU' if gpu else 'CPU'}"}})
        out.append({"name": "process_sort_index", **tail, "args": {"sort_index": Number(2 * rank + gpu)}})
    return out


def differences(found, wanted):
    problems = []
    if list(found) != ["traceEvents"]:
        problems.append(f"top-level keys {list(found)}")
    if len(found["traceEvents"]) != len(wanted):
        problems.append(f"{len(found['traceEvents'])} events instead of {len(wanted)}")
    for number, (one, other) in enumerate(zip(found["traceEvents"], wanted)):
        if one != other:
            problems.append(f"event {number} is {one!r}, not {other!r}")
            break
    return problems


# ---- synthetic ranks ----

def make_rank(rank, seed, events=400):
    """JSON of a trace with every unusual member that an event may have."""
    made, pick = random.Random(seed * 1000 + rank), []
    number = lambda: made.choice(["%d" % made.randrange(10**6), "%.3f" % (made.random() * 1e13), "1.50", "1E3", "-0.0",
                                  "12345678901234567890.25"])
    for index in range(events):
        correlation = 40 + index if rank == 0 else made.randrange(5000)
        text_pid = made.choice(['"Traces"', '"Spä\u6f22\U0001f600ns"', '"a\\"b\\u00e9"'])
        kinds = [
            '{"ph":"X","cat":"kernel","name":"k<%d>(int*)","pid":0,"tid":7,"ts":%s,"dur":%s,"args":'
            '{"correlation":%d,"External id":%d,"grid":[1, 2,  3]}}' % (index, number(), number(), correlation, index),
            '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":%d,"tid":8,"ts":%s,"args":{"correlation":%d}}'
            % (10 + rank, number(), correlation),
            '{ "name" : "no args" , "pid" : %d, "ts":\t%s, "id"\n: %d }' % (10 + made.randrange(3), number(), correlation),
            '{"ph":"X","cat":"python_function","name":"f.py(1): f","pid":77,"args":{}}',
            '{"ph":"X","cat":"Trace","name":"Trace","pid":"Spans","args":{"n":1}}',
            '{"ph":"i","name":"Iteration","pid":%s,"tid":%s,"ts":%s}' % (text_pid, text_pid, number()),
            '{"ph":"M","name":"%s","pid":%d,"args":{"name":"python"}}' % (made.choice(REPLACED), made.randrange(99)),
            '{"ph":"M","name":"thread_name","pid":%d,"tid":1,"args":{"name":"thread"}}' % (200 + rank),
            '{"ph":"X","cat":"gpu_memcpy","name":"copy","pid":3,"args":null,"id":-5}',
            '{"ph":"s","cat":"ac2g","name":"ac2g","id":"0x%x","pid":10}' % correlation,
            '{"ph":"f","cat":"ac2g","name":"ac2g","id":%d,"pid":10,"bp":"e"}' % correlation,
            '{"args":{"rank":99,"pid_raw":"x","note":"rank\\\\"},"pid":10,"cat":"cpu_op","name":"fused before"}',
            '{"pid":10,"args":{},"cat":"cpu_op","name":"\x01raw\ttab \\u0041\\n","big":123456789012345678901234567890}',
            '{"args":{"correlation":"text","External id":1.5},"pid":2.5,"id":null}',
            '{}',
        ]
        pick.append(made.choice(kinds) if index > 20 else kinds[index % len(kinds)])
    made.shuffle(pick)
    body = "[" + made.choice([",", ",\n  ", " , "]).join(pick) + "]"
    if made.random() < 0.2:
        return body
    return '{"schemaVersion":1,"deviceProperties":[{"id":0}],"traceEvents":' + body + ',"baseTimeNanoseconds":%d}' % \
        (10**18 + rank * 1234567)


def write_ranks(folder, seed, count, packed=False):
    paths = []
    for rank in range(count):
        path = os.path.join(folder, f"rank{rank}_trace.json" + (".gz" if packed else ""))
        with (gzip.open if packed else open)(path, "wb") as file:
            file.write(make_rank(rank, seed).encode())
        paths.append(path)
    return paths


# ---- cases ----

def fuse(binary, folder, *arguments):
    return run([binary, "fuse", "--quiet", *arguments], cwd=folder)


def same_as_python(binary, paths, arguments=(), output="merged_trace.json.gz", **options):
    def check(folder):
        done = fuse(binary, folder, *arguments, *paths)
        problems = done.problems() + ([done.stderr] if done.code else [])
        path = os.path.join(folder, output)
        if not problems and files_under(folder) != [output]:
            problems.append(f"files {files_under(folder)}")
        if not problems:
            problems = differences(load(path), expected([events_of(load(p)) for p in paths], **options))
        if not problems:
            with (gzip.open if output.endswith(".gz") else open)(path, "rb") as file:
                text = file.read()
            if not text.isascii() or re.search(rb"[^\n\x20-\x7e]", text):
                problems.append("the output is not ASCII")
        return problems
    return check


def synthetic(binary, seed, count, arguments=(), packed=False, **options):
    def check(folder):
        inputs, out = os.path.join(folder, "in"), os.path.join(folder, "out")
        os.mkdir(inputs), os.mkdir(out)
        return same_as_python(binary, write_ranks(inputs, seed, count, packed), arguments, **options)(out)
    return check


def found_by(binary, arguments, count=3):
    """All ways to name traces give the same result as naming them one by one."""
    def check(folder):
        paths = write_ranks(folder, 5, count)
        one = fuse(binary, folder, "-o", "one.json", *paths)
        other = fuse(binary, folder, "-o", "other.json", *arguments)
        if one.code or other.code:
            return [one.stderr + other.stderr]
        with open(os.path.join(folder, "one.json")) as a, open(os.path.join(folder, "other.json")) as b:
            return [] if a.read() == b.read() else ["the fused traces differ"]
    return check


def aligned(binary):
    """Times are shifted by the exact difference of base times; everything else is unchanged."""
    def check(folder):
        texts = ['{"traceEvents":[{"ph":"X","name":"a","pid":1,"ts":%s,"dur":2.5}],"baseTimeNanoseconds":%d}' % pair
                 for pair in (("100", 5000), ("4458676522706.202", 5001), ("7", 3500), ("0.12345", 6000), ("-1.5", 7000))]
        for rank, text in enumerate(texts):
            with open(os.path.join(folder, f"{rank}.json"), "w") as file:
                file.write(text)
        done = fuse(binary, folder, "--align_times", "-o", "out.json", *(f"{rank}.json" for rank in range(5)))
        if done.code:
            return [done.stderr]
        times = [str(e["ts"]) for e in load(os.path.join(folder, "out.json"))["traceEvents"] if e["ph"] == "X"]
        wanted = ["100", "4458676522706.203", "5.500", "1.12345", "0.500"]
        return [] if times == wanted else [f"times {times}"]
    return check


def damaged(binary, spoil, kept=None):
    """Rank 1 is damaged: exit code 1, its name and no file; with --allow_missing_ranks the others are fused."""
    def check(folder):
        paths = write_ranks(folder, 9, 3, packed=True)
        spoil(paths[1])
        before, problems = files_under(folder), []
        done = fuse(binary, folder, "-o", "out.json.gz", *paths)
        if done.code != 1 or "rank 1: " not in done.stderr or os.path.basename(paths[1]) not in done.stderr:
            problems.append(f"exit {done.code}: {done.stderr}")
        if files_under(folder) != before:
            problems.append(f"files {files_under(folder)}")
        done = fuse(binary, folder, "-o", "out.json.gz", "--allow_missing_ranks", *paths)
        if done.code != 0 or "rank 1: " not in done.stderr:
            return problems + [f"allowed, yet exit {done.code}: {done.stderr}"]
        found = [int(e["args"]["rank"]) for e in load(os.path.join(folder, "out.json.gz"))["traceEvents"]
                 if "rank" in e["args"]]
        if found.count(0) < 200 or found.count(2) < 200:
            problems.append("the complete ranks are missing")
        return problems
    return check


def cut(path):
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) // 2)


def flip(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        file.write(b"\xff\x00\xff\x00")


def overwrite(text):
    def spoil(path):
        with gzip.open(path, "wb") as file:
            file.write(text)
    return spoil


def by_own_ranks(binary, names, own, ranks, says=""):
    """FILEs in the order of the shell: `own` has the ranks in the traces (None: they name none), `ranks` those of the result."""
    def check(folder):
        problems = []
        for place, name in enumerate(names):
            os.makedirs(os.path.dirname(os.path.join(folder, name)) or folder, exist_ok=True)
            info = {} if own is None else {"distributedInfo": {"rank": own[place], "world_size": 16}}
            event = {"ph": "X", "cat": "kernel", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 1}
            with open(os.path.join(folder, name), "w") as file:
                json.dump({"schemaVersion": 1, **info, "traceEvents": [event]}, file)
        done = run([binary, "fuse", "-q", "-o", "out.json", *names], cwd=folder)
        if done.code or says not in done.stderr or (not says and done.stderr):
            problems.append(f"exit {done.code}: {done.stderr}")
        with open(os.path.join(folder, "out.json")) as file:
            found = {event["name"]: event["args"]["rank"] for event in json.load(file)["traceEvents"] if event["ph"] == "X"}
        wanted = dict(zip(names, ranks))
        return problems + ([] if found == wanted else [f"{found} instead of {wanted}"])
    return check


def no_room(binary):
    def check(folder):
        paths = write_ranks(folder, 3, 2)
        before = files_under(folder)
        done = run([binary, "fuse", "--quiet", "-o", "out.json", *paths], cwd=folder, file_size_limit=50000)
        problems = [] if done.code == 1 and "cannot write out.json" in done.stderr else [f"exit {done.code}: {done.stderr}"]
        return problems + ([] if files_under(folder) == before else [f"files {files_under(folder)}"])
    return check


def cases(binary):
    yield Case("two ranks", synthetic(binary, 1, 2))
    yield Case("five ranks, gzip", synthetic(binary, 2, 5, packed=True))
    for seed in range(10, 22):
        yield Case(f"synthetic, seed {seed}", synthetic(binary, seed, 3, ("--threads", str(seed % 4 + 1))))
    yield Case("python functions kept", synthetic(binary, 3, 2, ("--include_pyfunc",), dropped=("Trace",)))
    yield Case("other categories dropped", synthetic(binary, 3, 2, ("--leave_out", "kernel", "cpu_op", "--"),
                                                    dropped=("kernel", "cpu_op")))
    yield Case("ids of all ranks", synthetic(binary, 4, 3, ("--ids_of_all_ranks",), all_ranks=True))
    yield Case("plain output", synthetic(binary, 5, 2, ("-o", "x.json"), output="x.json"))
    yield Case("many blocks", synthetic(binary, 6, 40, ("--threads", "3")))
    yield Case("by folder", found_by(binary, ("--trace_dir", ".")))
    yield Case("by pattern", found_by(binary, ("--trace_pattern", "rank*_trace.json", "--world_size", "3")))
    yield Case("by search", found_by(binary, ("--trace_glob", "*.json",)))
    shell = [0, 1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9]
    by_name = [f"rank{rank}.json" for rank in shell]
    yield Case("ranks in the order of the shell", by_own_ranks(binary, by_name, shell, shell))
    yield Case("ranks in names alone", by_own_ranks(binary, by_name, None, shell))
    yield Case("names without ranks", by_own_ranks(binary, ["b.json", "a.json"], None, [0, 1]))
    yield Case("ranks in traces alone", by_own_ranks(binary, ["b.json", "a.json"], [7, 3], [7, 3]))
    yield Case("local ranks in names", by_own_ranks(binary, ["a/rank0.json", "a/rank1.json", "b/rank0.json", "b/rank1.json"],
                                                    [0, 1, 2, 3], [0, 1, 2, 3]))
    yield Case("traces of one rank", by_own_ranks(binary, ["rank1.json", "rank0.json"], [4, 4], [1, 0],
                                                  "rank 1 by its file name, but rank 4 in the trace"))
    yield Case("no ranks to tell them apart", by_own_ranks(
        binary, ["a/rank1.json", "b/rank1.json"], None, [0, 1],
        "a/rank1.json: rank 1 by the trace or its name, but rank 0 by its place among the arguments"))
    yield Case("aligned times", aligned(binary))
    yield Case("truncated rank", damaged(binary, cut))
    yield Case("flipped bytes", damaged(binary, flip))
    yield Case("not JSON", damaged(binary, overwrite(b'{"traceEvents":[{"ph":"X"},{"ph":}]}')))
    yield Case("no events", damaged(binary, overwrite(b'{"other":[]}')))
    yield Case("missing rank", damaged(binary, os.unlink))
    yield Case("a full disk", no_room(binary))
    fixtures = sorted(glob.glob(os.path.join(FIXTURES, "pytorch", "*.json.gz")))
    yield Case("fixtures as ranks", same_as_python(binary, fixtures))
    ranks4 = sorted(glob.glob(os.path.join(RANKS4, "rank*_trace.json.gz")))
    if ranks4:
        yield Case("four real ranks", same_as_python(binary, ranks4))
    else:
        print("skipped four real ranks: GPUTALLY_CONFORMANCE is not set")


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases, lambda binary, folder: (folder,)))
