#!/usr/bin/env python3
"""Converts a PyTorch Chrome trace to a Perfetto trace as PyTorch's own writer does: thread tracks, first the beginnings of all
slices and then all ends, every argument as an annotation, flow events as flow ids.

    python3 -m tests.perfetto.generate_pytorch IN.json[.gz] OUT.pftrace [--form columns|groups|nested]

columns   all slices in the order of the JSON file: all beginnings, then all ends
groups    the same for each category separately
nested    by time, each end in its place, as a recorder writes them; names interned. Slices that partly overlap others of
          their track cannot be expressed: use it only for traces without them
"""
import argparse
import gzip
import json
import sys

from tests.perfetto.writer import Writer, data, number


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        document = json.load(f)
    return document["traceEvents"] if isinstance(document, dict) else document


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def tracks_of(trace, events):
    """Descriptors of all processes and threads; (pid, tid) to track."""
    names, labels, threads = {}, {}, {}
    for e in events:
        if e.get("ph") == "M" and is_number(e.get("pid")):
            args = e.get("args", {})
            if e["name"] == "process_name":
                names[e["pid"]] = args.get("name", "")
            elif e["name"] == "process_labels":
                labels[e["pid"]] = args.get("labels", "")
            elif e["name"] == "thread_name" and is_number(e.get("tid")):
                threads[e["pid"], e["tid"]] = args.get("name", "")
    processes, tracks = {}, {}
    for e in events:
        pid, tid = e.get("pid"), e.get("tid")
        if e.get("ph") != "X" or not is_number(pid) or not is_number(tid):
            continue
        if pid not in processes:
            body = number(1, pid) + (data(6, names[pid]) if pid in names else b"")
            processes[pid] = trace.descriptor(data(3, body + (data(8, labels[pid]) if pid in labels else b"")))
        if (pid, tid) not in tracks:
            body = number(1, pid) + number(2, tid) + (data(5, threads[pid, tid]) if (pid, tid) in threads else b"")
            tracks[pid, tid] = trace.descriptor(data(4, body), processes[pid])
    return tracks


def slices_of(events):
    """(track key, begin, end, event, flow ids) of every slice, in file order."""
    arrows = {(e["ph"], e["id"], e["pid"], e["tid"]) for e in events
              if e.get("ph") in ("s", "f") and e.get("cat") in ("ac2g", "async_cpu_to_gpu")}
    slices = []
    for e in events:
        if e.get("ph") != "X" or not is_number(e.get("pid")) or not is_number(e.get("tid")):
            continue
        begin, dur = round(e["ts"] * 1000), round(e.get("dur", 0) * 1000)
        assert abs(begin / 1000 - e["ts"]) < 1e-3 and abs(dur / 1000 - e.get("dur", 0)) < 1e-9, e
        correlation = e.get("args", {}).get("correlation")
        flows = [correlation] if any((ph, correlation, e["pid"], e["tid"]) in arrows for ph in "sf") else []
        slices.append(((e["pid"], e["tid"]), begin, begin + dur, e, flows))
    return slices


def convert(events, form="columns"):
    trace = Writer(plain=form != "nested")
    tracks, slices = tracks_of(trace, events), slices_of(events)

    def begin(s):
        trace.event(tracks[s[0]], 1, s[1], s[3].get("cat", ""), s[3]["name"], s[3].get("args", {}), s[4])

    def end(s):
        trace.event(tracks[s[0]], 2, s[2])
    if form == "nested":
        # At equal times: ends of earlier slices, the innermost first; then beginnings, the longest first.
        edges = [(s[2], 0, -s[1], i, end, s) for i, s in enumerate(slices) if s[2] > s[1]]
        edges += [(s[1], 1, -s[2], i, begin, s) for i, s in enumerate(slices)]
        for _, _, _, _, write, s in sorted(edges, key=lambda x: x[:4]):
            write(s)
            if write is begin and s[2] == s[1]:
                end(s)
        return trace
    groups = [slices]
    if form == "groups":
        groups = [[s for s in slices if s[3].get("cat") == c] for c in dict.fromkeys(s[3].get("cat") for s in slices)]
    for group in groups:
        for s in group:
            begin(s)
        for s in group:
            end(s)
    return trace


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--form", default="columns", choices=["columns", "groups", "nested"])
    options = parser.parse_args()
    content = convert(load(options.source), options.form).bytes()
    with open(options.target, "wb") as f:
        f.write(gzip.compress(content) if options.target.endswith(".gz") else content)


if __name__ == "__main__":
    sys.exit(main())
