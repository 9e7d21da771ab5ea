#!/usr/bin/env python3
"""What the page says about GPU and host agrees with the raw events, for every trace there is.

    python3 -m tests.page.test_work_sums --bin build/gputally [--only TEXT]

Traces are the fixtures, those of faulty programs, and those of the conformance folder and of the folder faults next to it,
if they exist.
"""
import collections
import glob
import os
import shutil
import sys

from tests.common import harness
from tests.page import pack, raw_events


def make_page(binary, trace, folder, *options):
    """(tables of the page, folder of the sheets), or None if there is no page."""
    page, sheets = os.path.join(folder, "out.html"), os.path.join(folder, "csv")
    outcome = harness.run([binary, "report", trace, "--output_html", page, "--output_csvs_dir", sheets, "--quiet", *options])
    assert outcome.code == 0 and not outcome.problems(), outcome
    return pack.read_page(page).tables[0], sheets


def records(tables, name):
    return tables[name].records() if name in tables else []


def kernels_of(tables):
    return [{**row, "name": row["name"][:raw_events.LONG]} for row in records(tables, "page_kernels")]


def bucket(ns):
    return (ns ** 4).bit_length() - 1 if ns else 0


def check_kernels(tables, raw):
    """Counts, sums, extremes and histograms of names, over all devices."""
    expected = {}
    for event in raw:
        expected.setdefault(event.name, []).append(event.ns)
    found = {row["name"]: row for row in kernels_of(tables)}
    assert set(found) == set(expected), (set(found) ^ set(expected))
    for name, durations in expected.items():
        row = found[name]
        assert (row["count"], row["ns"]) == (len(durations), sum(durations)), (name, row, sum(durations))
        assert (row["min_ns"], row["max_ns"]) == (min(durations), max(durations)), (name, row)
        first, counts = bucket(min(durations)), collections.Counter(map(bucket, durations))
        assert row["histogram"] == [counts[first + i] for i in range(bucket(max(durations)) - first + 1)], (name, row)


def check_sums(tables, raw):
    """All GPU time is in page_sums once, and kernels, calls and nodes are what it refers to."""
    sums, kernels = records(tables, "page_sums"), records(tables, "page_kernels")
    calls, nodes = records(tables, "page_calls"), records(tables, "page_nodes")
    assert sum(row["ns"] for row in sums) == sum(event.ns for event in raw)
    assert sum(row["count"] for row in sums) == len(raw)
    by_kernel = collections.Counter()
    for row in sums:
        by_kernel[row["kernel"]] += row["ns"]
        assert row["call"] is None or 0 <= row["call"] < len(calls), row
    assert [by_kernel[i] for i in range(len(kernels))] == [row["ns"] for row in kernels]
    assert len(set((row["call"], row["kernel"]) for row in sums)) == len(sums)
    assert len(set(map(tuple, (row.values() for row in calls)))) == len(calls), "calls agree in everything"
    assert all(row["parent"] is None or row["parent"] < i for i, row in enumerate(nodes)), "parents come first"
    assert len(set((row["parent"], row["kind"], row["name"]) for row in nodes)) == len(nodes)
    assert set(row["call"] for row in sums if row["call"] is not None) == set(range(len(calls))), "calls without work"


def check_gpu(tables, raw):
    """Each event is on the lane of its stream, at its time."""
    lanes, kernels = records(tables, "page_lanes"), kernels_of(tables)
    facts = {row["name"]: row["value"] for row in records(tables, "page_facts")}
    rows = records(tables, "page_gpu")
    assert facts["gpu_events"] == len(raw) and facts["gpu_kept"] == len(rows)
    assert [(row["lane"], row["start"]) for row in rows] == sorted((row["lane"], row["start"]) for row in rows)
    streams = [lane for lane in lanes if lane["kind"] == "stream"]
    assert sum(lane["events"] for lane in streams) == len(raw)
    if "exact_start" in facts:
        return
    kept = collections.Counter(row["lane"] for row in rows)
    assert [kept[i] for i in range(len(streams))] == [lane["kept"] for lane in streams] == [lane["events"] for lane in streams]
    first = min(event.start for event in raw)
    offset = min(row["start"] for row in rows) - first
    expected = sorted((event.name, event.start + offset, event.ns) for event in raw)
    assert sorted((kernels[row["kernel"]]["name"], row["start"], row["ns"]) for row in rows) == expected
    assert max(row["start"] + row["ns"] for row in rows) <= facts["end"]


def check_streams(tables, raw):
    """Labels of lanes, of traces that are not fused of several ranks."""
    lanes, kernels = records(tables, "page_lanes"), kernels_of(tables)
    if any(lane["group"].startswith("rank ") for lane in lanes) or len(lanes) > 400:
        return
    where = collections.Counter((f"GPU {event.device}", f"stream {event.stream}", event.name) for event in raw)
    found = collections.Counter((lanes[row["lane"]]["group"], lanes[row["lane"]]["label"], kernels[row["kernel"]]["name"])
                                for row in records(tables, "page_gpu"))
    assert len(records(tables, "page_gpu")) < len(raw) or where == found, (where - found, found - where)


def check_launches(tables, path):
    """A launch begins when a call with the event's correlation does."""
    events = raw_events.pytorch_events(path)
    base = min(raw_events.number(event["ts"]) for event in events)
    calls = collections.defaultdict(set)
    for event in events:
        if event["cat"] in ("cuda_runtime", "cuda_driver"):
            calls[(event.get("args") or {}).get("correlation")].add(raw_events.whole_ns(raw_events.number(event["ts"]) - base))
    of_event = collections.defaultdict(set)
    for event in raw_events.pytorch(path):
        of_event[event.start, event.ns, event.name] |= calls[event.correlation]
    kernels = kernels_of(tables)
    for row in records(tables, "page_gpu"):
        if row["launch"] is None:
            assert row["launch_lane"] is None
        else:
            assert row["launch"] in of_event[row["start"], row["ns"], kernels[row["kernel"]]["name"]], row
            assert row["call"] is not None, row


def check_host(tables):
    """At each depth events follow each other, and inside another event that is open."""
    lanes, rows = records(tables, "page_lanes"), records(tables, "page_host")
    reached, at = [], None
    kept = collections.Counter(row["lane"] for row in rows)
    for row in rows:
        if row["lane"] != at:
            at, reached, last = row["lane"], [], -1
        assert lanes[at]["kind"] == "thread" and row["start"] >= last and row["kind"] in ("op", "call", "python", "annotation"), row
        last = row["start"]
        del reached[row["depth"]:]
        assert len(reached) == row["depth"] and (not reached or reached[-1] > row["start"]), row
        reached.append(row["start"] + row["ns"])
    for i, lane in enumerate(lanes):
        if lane["kind"] == "thread":
            assert kept[i] == lane["kept"], lane
            assert (lane["kept"] < lane["events"]) == (lane["shorter"] is not None), lane


def check_all(tables, raw, is_pytorch):
    check_sums(tables, raw)
    check_gpu(tables, raw)
    check_host(tables)
    if is_pytorch:
        check_kernels(tables, raw)
        check_streams(tables, raw)


def check_pytorch(binary, folder, path):
    raw = raw_events.pytorch(path)
    if raw is None:
        return []
    tables, _ = make_page(binary, path, folder)
    check_all(tables, raw, True)
    check_launches(tables, path)
    return []


def check_rocprof(binary, folder, path):
    copy = shutil.copy(path, folder)
    raw = raw_events.rocprof(copy)
    tables, _ = make_page(binary, copy, folder)
    assert sum(row["ns"] for row in records(tables, "page_sums")) == sum(event.ns for event in raw)
    names = collections.Counter("copy" if row["name"].startswith("Memcpy") else "kernel"
                                for row in records(tables, "page_kernels") for _ in range(row["count"]))
    assert names == collections.Counter(event.name for event in raw), names
    check_sums(tables, raw)
    check_host(tables)
    return []


def check_jax(binary, folder, path):
    copy = os.path.join(folder, "profile.xplane.pb")
    with open(copy, "wb") as file:
        file.write(raw_events.read(path))
    raw = raw_events.jax(copy)
    tables, _ = make_page(binary, copy, folder)
    if "page_sums" not in tables:
        assert not raw, "no tables"
        return []
    check_all(tables, raw, False)
    check_kernels(tables, raw)
    return []


def find(*parts):
    return sorted(glob.glob(os.path.join(*parts), recursive=True))


def cases():
    shared, findings = harness.CONFORMANCE_TRACES, os.path.join(harness.ROOT, "tests", "findings", "traces")
    pytorch = find(harness.FIXTURES, "pytorch", "*.json.gz") + find(findings, "*.json.gz") + find(shared, "*.json.gz") + \
        find(shared, "ranks4", "*.json*") + find(shared, "inf_captures", "**", "*.json*") + \
        find(shared, "..", "..", "faults", "*.json.gz")
    rocprof = find(harness.FIXTURES, "rocprof", "*.json") + find(shared, "rocprof*.json.gz")
    jax = find(harness.FIXTURES, "jax", "*.gz") + find(shared, "jax", "*", "*.pb")
    return [harness.Case(os.path.relpath(path, harness.ROOT), check, path) for check, paths in
            ((check_pytorch, pytorch), (check_rocprof, rocprof), (check_jax, jax)) for path in harness.not_large(paths)]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
