#!/usr/bin/env python3
"""Every record is accounted for: what is left out of a trace is counted by reason, warned of and judged by T23, the same on the
terminal, in JSON, in the sheet trust and on the page; and no total is negative.

    python3 -m tests.findings.test_account --bin build/gputally
"""
import gzip
import json
import os
import sqlite3
import sys

from tests.common import harness
from tests.findings import small_traces
from tests.jax import generate_xplane as xplane
from tests.nsys import generate_export
from tests.rocprof import generate_run


def report(binary, folder, path, *options):
    """(code, stdout, stderr, the JSON document)"""
    out = os.path.join(folder, "out")
    outcome = harness.run([binary, "report", path, "--output_csvs_dir", out, "--output_json", os.path.join(folder, "out.json"), *options])
    with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
        return outcome.code, outcome.stdout, outcome.stderr, json.load(file)


def check_of(document):
    return next(check for check in document["trust"]["checks"] if check["id"] == "T23")


def problems_of(binary, folder, path, level, texts):
    """T23 has this level and these texts wherever trust is shown, and no number of the timelines is negative."""
    code, stdout, stderr, document = report(binary, folder, path, "--strict_trust")
    found = check_of(document)
    problems = [] if found["level"] == level else [f"T23 is {found}"]
    problems += [f"{text!r} is not in {found['text']!r}" for text in texts if text not in found["text"]]
    if (code == 4) != (level == "fail" or document["trust"]["verdict"] == "do not trust"):
        problems.append(f"exit code {code} with {document['trust']['verdict']}")
    header, rows = harness.read_csv(os.path.join(folder, "out", "trust.csv"))
    if not any("T23" in row and found["text"] in row for row in rows):
        problems.append(f"the sheet trust has another text: {rows}")
    if level != "ok":
        if " ".join(found["text"].split()) not in " ".join(stdout.split()):
            problems.append(f"the terminal does not say {found['text']!r}")
        if found["text"].rstrip(".") not in stderr:
            problems.append(f"no warning: {stderr[:300]!r}")
    for sheet in ("gpu_timeline", "kernel_summary", "balance"):
        if os.path.exists(os.path.join(folder, "out", sheet + ".csv")):
            header, rows = harness.read_csv(os.path.join(folder, "out", sheet + ".csv"))
            problems += [f"negative in {sheet}: {row}" for row in rows if any(cell.startswith("-") for cell in row)]
    return problems


# ---- PyTorch ----

def pytorch(binary, folder, change, level, texts):
    trace = small_traces.training()
    change(trace["traceEvents"])
    return problems_of(binary, folder, small_traces.write(os.path.join(folder, "t.json"), trace), level, texts)


def kernels(events):
    return [event for event in events if isinstance(event, dict) and event.get("cat") == "kernel"]


def negative(count):
    def change(events):
        for event in kernels(events)[:count]:
            event["dur"] = -event["dur"]
    return change


def without(*keys):
    def change(events):
        event = kernels(events)[3]
        for key in keys:
            del event[key]
    return change


def add_odd(events):
    events[4:4] = [None, 7, [1, 2], {}, "text", True]


def add_twins(events):
    events.append(dict(kernels(events)[5]))
    events.append(dict(kernels(events)[6]))


def add_near_twins(events):
    """Other launch, other stream, other time: none of them is the same event."""
    first = kernels(events)[5]
    events.append({**first, "args": {**first["args"], "correlation": 777777}})
    events.append({**first, "tid": first["tid"] + 1})
    events.append({**first, "ts": first["ts"] + 0.5})


PYTORCH = [("whole", lambda events: None, "ok", [", 0 left out"]),
           ("negative durations", negative(1), "warn", ["1 left out: 1 that end before they start (the first is event "]),
           ("many negative durations", negative(3), "fail", ["3 left out: 3 that end before they start"]),
           ("a kernel without a start", without("ts"), "warn", ["1 without a start or a duration"]),
           ("a kernel without a phase", without("ph"), "warn", ["1 that are no events (not an object, or without phase or category) (the first is event "]),
           ("a kernel without a category", without("cat"), "warn", ["1 that are no events"]),
           ("null, numbers, lists", add_odd, "fail", ["6 left out: 6 that are no events (not an object, or without phase or category) (the first is event 5)"]),
           ("duplicates", add_twins, "fail", ["2 left out: 2 that are in the file twice"]),
           ("nearly duplicates", add_near_twins, "ok", [", 0 left out"])]


def same_totals(binary, folder):
    """What is left out changes no sum: with and without the odd records, the kernels' time is the same."""
    sums = []
    for name, change in (("whole", lambda events: None), ("odd", add_odd), ("twins", add_twins)):
        trace = small_traces.training()
        change(trace["traceEvents"])
        at = os.path.join(folder, name)
        os.mkdir(at)
        report(binary, at, small_traces.write(os.path.join(at, "t.json"), trace))
        sums.append(harness.read_csv(os.path.join(at, "out", "gpu_timeline.csv")))
    return [] if sums[0] == sums[1] == sums[2] else [f"{sums}"]


# ---- rocprofv3 and Nsight Systems ----

def shorten(run, fault, count):
    process = run[0]
    for i in range(count):
        d = process.dispatches[i * 3 + 2]
        start, end = {"no end": (d.start, 0), "no start": (0, d.end), "both 0": (0, 0), "swapped": (d.end, d.start)}[fault]
        process.dispatches[i * 3 + 2] = d._replace(start=start, end=end)
    return run


SAID = {"no end": "without an end", "no start": "without a start", "both 0": "without a start or a duration",
        "swapped": "that end before they start"}


def rocprof(binary, folder, kind, fault, count, level):
    run = shorten(generate_run.make_run(300, counted=False), fault, count)
    generate_run.write_all(run, folder, (kind,))
    paths = [os.path.join(folder, name) for name in harness.files_under(folder)]
    path = paths[0] if kind != "csv" else os.path.dirname(paths[0])
    return problems_of(binary, folder, path, level, [f"{count} left out: {count} {SAID[fault]} (the first is dispatch "])


def nsys(binary, folder, sql, level, text):
    path = generate_export.write(generate_export.small_run(), os.path.join(folder, "t.sqlite"))
    database = sqlite3.connect(path)
    database.executescript(sql)
    database.close()
    return problems_of(binary, folder, path, level, [text])


def negated(data, count, path=(1, 3, 4)):
    """A message of a profile with the durations of the first events of GPU planes negated: [bytes, how many are left to do]."""
    if not path:
        out = b"".join(xplane.encode(3 << 3) + xplane.encode(-value) if number == 3 else raw for number, value, raw in xplane.fields(data))
        return out, count - 1
    out = []
    for number, value, raw in xplane.fields(data):
        inside = number == path[0] and (len(path) < 3 or xplane.first(value, 2, b"").startswith(b"/device:GPU"))
        if inside and count:
            value, count = negated(value, count, path[1:])
            raw = xplane.counted(number, value)
        out.append(raw)
    return b"".join(out), count


def jax(binary, folder, count, level):
    with gzip.open(os.path.join(harness.FIXTURES, "jax", "training.xplane.pb.gz")) as file:
        data, rest = negated(file.read(), count)
    assert not rest, "the fixture has fewer events"
    path = os.path.join(folder, "t.xplane.pb")
    with open(path, "wb") as file:
        file.write(data)
    said = f"{count} left out: {count} that end before they start (the first is GPU event 1)" if count else ", 0 left out"
    return problems_of(binary, folder, path, level, [said])


def cases():
    for name, change, level, texts in PYTORCH:
        yield harness.Case(f"PyTorch: {name}", pytorch, change, level, texts)
    yield harness.Case("PyTorch: sums", same_totals)
    for kind in ("json", "csv", "rocpd"):
        for fault in SAID:
            yield harness.Case(f"rocprofv3 {kind}: {fault}", rocprof, kind, fault, 1, "warn")
        yield harness.Case(f"rocprofv3 {kind}: many", rocprof, kind, "no end", 20, "fail")
    table = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET"
    yield harness.Case("nsys: no end", nsys, f'{table} "end" = NULL WHERE rowid = 2', "fail", "1 without an end (the first is dispatch 2)")
    yield harness.Case("nsys: swapped", nsys, f'{table} "end" = start - 5 WHERE rowid = 2', "fail", "1 that end before they start")
    for count, level in ((0, "ok"), (1, "fail"), (3, "fail")):
        yield harness.Case(f"JAX: {count} negative durations", jax, count, level)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, list(cases())))
