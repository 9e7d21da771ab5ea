#!/usr/bin/env python3
"""Findings of JAX profiles: expected values are computed here from the raw profiles.

    python3 -m tests.findings.test_jax --bin build/gputally [--only TEXT]

Profiles are the fixtures, one that is written here, and those of the conformance folder, if it exists.
"""
import glob
import gzip
import json
import os
import sys

from tests.common import harness
from tests.jax.generate_xplane import encode, fields

WAIT = "$api.py:2757 block_until_ready"
LATE_NS = 100_000  # an operation that starts later than this after its launch waited for the device
DEVICES = {"conv08": "AMD Instinct MI300X", "conv_legacy": "AMD Instinct MI300X", "te_fused_attn": "AMD Instinct MI355X",
           "synthetic": "unknown"}


# ---- raw profiles ----


def parts(message):
    found = {}
    for number, value, _ in fields(message):
        found.setdefault(number, []).append(value)
    return found


def text(values):
    return values[0].decode() if values else ""


def read_profile(path):
    """{plane: (GPU number, [(line, start_ps, end_ps, correlation)])} of all planes."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        space = parts(file.read())
    planes = {}
    for plane in (parts(message) for message in space.get(1, [])):
        stats = {}
        for entry in plane.get(5, []):
            entry = parts(entry)
            stats[entry.get(1, [0])[0]] = text(parts(entry[2][0]).get(2, [])) if 2 in entry else ""
        names = {}
        for entry in plane.get(4, []):
            entry = parts(entry)
            names[entry.get(1, [0])[0]] = text(parts(entry[2][0]).get(2, [])) if 2 in entry else ""
        events = []
        for index, line in enumerate(parts(message) for message in plane.get(3, [])):
            begin = line.get(3, [0])[0] * 1000
            for event in (parts(message) for message in line.get(4, [])):
                start = begin + event.get(2, [0])[0]
                ids = [parts(stat) for stat in event.get(4, [])]
                ids = [s.get(3, s.get(4, [None]))[0] for s in ids if stats.get(s.get(1, [0])[0]) == "correlation_id"]
                events.append((index, text(line.get(2, [])), line.get(1, [0])[0], start, start + event.get(3, [0])[0],
                               ids[0] if ids else None))
        planes[text(plane.get(2, []))] = events
    return planes


def rounded(ps):
    return (ps + 500) // 1000


def find_launches(planes):
    """When the host launched each id: the last call when sorted by thread and start."""
    launches = {}
    for _, _, thread, start, end, correlation in planes.get("/host:CPU", []):
        key = (thread, start, start - end)
        if correlation is not None and key >= launches.get(correlation, (key,))[0]:
            launches[correlation] = (key, start)
    return {correlation: rounded(start) for correlation, (_, start) in launches.items()}


def busy_time(events):
    """What runs side by side counts once."""
    until, busy = None, 0
    for start, end in sorted((start, end) for _, _, _, start, end, _ in events):
        begin = start if until is None else max(start, until)
        if end > begin:
            busy, until = busy + end - begin, end
    return busy


def measure(planes):
    """(GPUs with work, ops, window, idle time, idle time after ops were launched that were queued or started late) of the busiest GPU."""
    gpus = {name: [e for e in events if e[1].startswith("Stream")] for name, events in planes.items()
            if name.startswith("/device:GPU:")}
    gpus = {name: events for name, events in gpus.items() if events}
    busiest = max(gpus.values(), key=busy_time)
    launches = find_launches(planes)
    events = sorted((rounded(start), rounded(end), launches.get(correlation)) for _, _, _, start, end, correlation in busiest)
    until, idle, launched = events[0][0], 0, 0
    for start, end, launch in events:
        if start > until:
            idle += start - until
            if launch is not None and (launch <= until or start - launch > LATE_NS):
                launched += start - max(launch, until)
        until = max(until, end)
    return len(gpus), len(events), until - events[0][0], idle, launched


# ---- checks ----


def report(binary, folder, trace, *options):
    path = os.path.join(folder, "out.json")
    outcome = harness.run([binary, "report", trace, "--output_json", path, "--quiet", *options])
    assert outcome.code == 0 and not outcome.problems(), outcome
    with open(path) as file:
        return json.load(file)


def rows(document, sheet):
    found = document["sheets"][sheet]
    return [dict(zip(found["columns"], row)) for row in found["rows"]]


def check_profile(binary, folder, path):
    devices, ops, window, idle, launched = measure(read_profile(path))
    document = report(binary, folder, path)
    balance = rows(document, "balance")
    causes = {row["part"]: row["ns"] for row in balance if row["kind"] == "idle"}
    assert (document["device_count"], document["gpu_ops"]) == (devices, ops), (document["device_count"], document["gpu_ops"])
    assert document["window_ns"] == window == sum(row["ns"] for row in balance), (document["window_ns"], window)
    assert sum(causes.values()) == idle and document["idle_sum_error_us"] == 0, (causes, idle)
    assert [row["ns"] for row in balance if row["kind"] == "remainder"] == [0], balance
    found = sum(causes.get(cause, 0) for cause in ("device_gap", "dependency", "device_wait"))
    assert abs(found - launched) <= ops, (causes, launched)  # a launch is rounded twice
    ids = {check["id"] for check in document["trust"]["checks"]}
    assert {"T0", "T1", "T4", "T12", "T13"} <= ids and not ids & {"T3", "T7", "T8", "T9", "T11"}, ids
    name = os.path.basename(path).split(".")[0]
    if "fixtures" in path or name in DEVICES:
        assert document["device"] == DEVICES.get(name, "NVIDIA H200"), document["device"]
    return []


# ---- a profile of known kernels ----


def number(field, value):
    return encode(field << 3) + encode(value)


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return encode(field << 3 | 2) + encode(len(content)) + content


def plane(name, kinds, line_name, events, properties=()):
    """Events are (kind, start_ns, duration_ns, correlation)."""
    stats = ["correlation_id"] + [key for key, _ in properties]
    out = message(2, name)
    for i, kind in enumerate(kinds):
        out += message(4, number(1, i + 1) + message(2, number(1, i + 1) + message(2, kind)))
    for i, stat in enumerate(stats):
        out += message(5, number(1, i + 1) + message(2, number(1, i + 1) + message(2, stat)))
    for key, value in properties:
        stat = message(5, value) if isinstance(value, str) else number(3, value)
        out += message(6, number(1, stats.index(key) + 1) + stat)
    line = number(1, 14) + message(2, line_name)
    for kind, start, duration, correlation in events:
        line += message(4, number(1, kinds.index(kind) + 1) + number(2, start * 1000) + number(3, duration * 1000) +
                        (b"" if correlation is None else message(4, number(1, 1) + number(3, correlation))))
    return message(1, out + message(3, line))


def write_profile(path, kernels, launches, properties=(), waits=()):
    with open(path, "wb") as file:
        file.write(plane("/device:GPU:0", sorted({k[0] for k in kernels}), "Stream #14(Compute)", kernels, properties))
        if launches:
            calls = [("cuLaunchKernel", at, 3000, i) for i, at in launches]
            calls += [(WAIT, start, length, None) for start, length in waits]
            file.write(plane("/host:CPU", ["cuLaunchKernel", WAIT], "python3", calls))
    return path


def check_known(binary, folder):
    """A kernel, and then 100 of 4 us with gaps of 6 us. The first of these is launched 500 us late and starts 10 us later, the
    others are launched in time."""
    kernels = [("add", 20_000, 4000, 0)] + [("add", 534_000 + 10_000 * i, 4000, i + 1) for i in range(100)]
    launches = [(0, 10_000)] + [(i + 1, 524_000 + 20 * i) for i in range(100)]
    properties = (("gpu_device_name", "NVIDIA H100 80GB HBM3"), ("device_vendor", "Nvidia"), ("compute_cap_major", 9))
    path = write_profile(os.path.join(folder, "made.xplane.pb"), kernels, launches, properties)
    document = report(binary, folder, path)
    causes = {row["part"]: row["ns"] for row in rows(document, "balance") if row["kind"] == "idle"}
    assert causes == {"device_gap": 99 * 6000, "untraced": 500_000, "launch": 10_000}, causes
    assert document["device"] == "NVIDIA H100 80GB HBM3", document["device"]
    found = {finding["id"]: finding for finding in document["findings"]}
    assert abs(found["short_kernels"]["gain_ms"] - 99 * 4 / 1e3) < 1e-6, found["short_kernels"]
    assert "with_stack" not in found["host_untraced"]["advice"] and found["host_untraced"]["confidence"] == "medium"
    return []


def check_waits(binary, folder):
    """The first kernel ends at 24 us. The host waits from 12 to 30 us and launches the second one at 40 us; it starts at 42 us.
    Of the gap of 18 us, 6 us lie in the call. Without waiting the host would be 12 us earlier, and the gap 6 us long."""
    kernels = [("add", 5_000, 19_000, 1), ("add", 42_000, 4000, 2)]
    path = write_profile(os.path.join(folder, "made.xplane.pb"), kernels, [(1, 1_000), (2, 40_000)], waits=[(12_000, 18_000)])
    document = report(binary, folder, path)
    causes = {row["part"]: row["ns"] for row in rows(document, "balance") if row["kind"] == "idle"}
    assert causes == {"sync": 12_000, "launch": 6_000}, causes
    found = {finding["id"]: finding for finding in document["findings"]}["host_sync"]
    assert found["where"] == WAIT and found["confidence"] == "medium" and "block_until_ready" in found["advice"], found
    return []


def check_waits_of_others(binary, folder):
    """The host waits for 1 ms in which this GPU does nothing: a hint."""
    kernels = [("add", 20_000, 4000, 1), ("add", 1_042_000, 4000, 2)]
    path = write_profile(os.path.join(folder, "made.xplane.pb"), kernels, [(1, 10_000), (2, 1_040_000)], waits=[(30_000, 1_000_000)])
    found = {finding["id"]: finding for finding in report(binary, folder, path)["findings"]}
    assert found["host_sync"]["confidence"] == "low" and found["host_sync"]["hint"], found
    return []


def check_no_launches(binary, folder):
    kernels = [("add", 10_000 * i, 4000, i + 1) for i in range(10)] + [("add", 300_000, 4000, 11)]
    document = report(binary, folder, write_profile(os.path.join(folder, "made.xplane.pb"), kernels, []))
    causes = {row["part"]: row["ns"] for row in rows(document, "balance") if row["kind"] == "idle"}
    assert causes == {"device_gap": 9 * 6000, "unknown": 300_000 - 94_000}, causes
    levels = {check["id"]: check["level"] for check in document["trust"]["checks"]}
    assert levels == {"T0": "ok", "T1": "warn", "T4": "ok", "T6": "ok", "T10": "note", "T12": "warn", "T13": "ok", "T23": "ok"}, levels
    assert document["device"] == "unknown" and document["trust"]["verdict"] == "usable with care"
    return []


def check_early(binary, folder):
    """Kernels that start 2 ms before their launch: the clocks differ."""
    kernels = [("add", 10_000 * i, 4000, i + 1) for i in range(100)]
    launches = [(i + 1, 10_000 * i + 2_000_000) for i in range(100)]
    document = report(binary, folder, write_profile(os.path.join(folder, "made.xplane.pb"), kernels, launches))
    levels = {check["id"]: check["level"] for check in document["trust"]["checks"]}
    assert levels["T5"] == "fail" and document["trust"]["verdict"] == "do not trust", levels
    return []


def check_plain_commands(binary, folder):
    path = os.path.join(harness.ROOT, "tests", "fixtures", "jax", "training.xplane.pb.gz")
    for command in (["jax", path], ["report", path, "--no_findings"]):
        csvs = os.path.join(folder, command[0])
        outcome = harness.run([binary, *command, "--output_csvs_dir", csvs, "--quiet"])
        assert outcome.code == 0 and not outcome.problems(), outcome
        assert "gpu_timeline.csv" in os.listdir(csvs) and "overview.csv" not in os.listdir(csvs), os.listdir(csvs)
    return []


PROFILES = sorted(glob.glob(os.path.join(harness.ROOT, "tests", "fixtures", "jax", "*.xplane.pb.gz")) +
                  glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "jax", "*", "*.xplane.pb")))
CASES = [harness.Case(os.path.basename(path), check_profile, path) for path in PROFILES]
CASES += [harness.Case(function.__name__[len("check_"):], function)
          for function in (check_known, check_waits, check_waits_of_others, check_no_launches, check_early, check_plain_commands)]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
