#!/usr/bin/env python3
"""PyTorch traces as Perfetto protobuf give the same sheets as the JSON: fixtures are converted in several forms by
generate_pytorch.py, which is independent of gputally.

    python3 -m tests.perfetto.test_pytorch_traces --bin build/gputally

UIDs are positions of events in the file, so they differ; the order of overlapping kernels depends on them and may differ too.
The forms have other numbers of records, which trust check T23 counts.
A Perfetto trace does not describe the GPU, so the JSON is read without deviceProperties.
"""
import argparse
import csv
import gzip
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.perfetto import generate_pytorch

FIXTURES = os.path.join(harness.FIXTURES, "pytorch")
OPTIONS = ["--enable_kernel_summary", "--short_kernel_study", "--detect_recompute", "--micro_idle_thresh_us", "5", "--quiet"]
UIDS = {"UID_first", "ex_UID"}
csv.field_size_limit(1 << 30)


def report(binary, command, path, folder, options=()):
    done = subprocess.run([binary, command, path, "--output_csvs_dir", folder, *OPTIONS, *options], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    sheets = {"warnings": [[done.stderr.replace(path, "")]]}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), newline="", encoding="utf-8") as f:
            rows = list(csv.reader(f))
        keep = [i for i, title in enumerate(rows[0]) if title not in UIDS]
        sheets[name] = [[row[i] for i in keep] for row in rows if row[0] != "T23"]
    shutil.rmtree(folder)
    return sheets


def without_devices(source, path):
    """Writes a copy of a JSON trace that does not describe its GPUs."""
    with gzip.open(source, "rb") as f:
        document = json.load(f)
    document.pop("deviceProperties", None)
    with gzip.open(path, "wt") as f:
        json.dump(document, f)


def close(a, b):
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-12)
    except ValueError:
        return a == b


def same_but_for_order(a, b):
    """Compares rows in any order, and sums added in any order."""
    a, b = sorted(a[1:]), sorted(b[1:])
    return len(a) == len(b) and all(len(r) == len(s) and all(map(close, r, s)) for r, s in zip(a, b))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    binary = os.path.abspath(parser.parse_args().bin)
    tally = harness.Tally()
    work = tempfile.mkdtemp(prefix="gputally-pytorch-pftrace-")
    out, path, plain = (os.path.join(work, name) for name in ("out", "t.pftrace", "t.json.gz"))

    def check(title, truth):
        tally.add(title, [] if truth else ["differs"])

    try:
        for name in ("training", "training_stack", "recompute", "graph", "streams", "collectives", "compiled", "no_shapes"):
            source = os.path.join(FIXTURES, name + ".json.gz")
            events = generate_pytorch.load(source)
            without_devices(source, plain)
            sheets_of = {command: report(binary, command, plain, out) for command in ("report", "pytorch")}
            check(f"{name}: findings only by report",
                  {"findings.csv", "trust.csv"} <= set(sheets_of["report"]) - set(sheets_of["pytorch"]))
            for form in ("columns", "groups", "nested"):
                command = "pytorch" if form == "groups" else "report"
                expected = sheets_of[command]
                content = generate_pytorch.convert(events, form).bytes()
                with open(path, "wb") as f:
                    f.write(gzip.compress(content) if form == "groups" else content)
                got = report(binary, command, path, out)
                check(f"{name}, {form}: sheets", sorted(got) == sorted(expected))
                for sheet in expected:
                    if form == "nested" and sheet not in ("warnings", "gpu_timeline.csv", "ops_summary.csv", "ops_summary_by_category.csv",
                                                          "kernel_summary.csv", "coll_analysis.csv"):
                        continue
                    equal = same_but_for_order if form == "nested" else list.__eq__
                    check(f"{name}, {form}: {sheet}", equal(expected[sheet], got.get(sheet, [[]])))
    finally:
        shutil.rmtree(work)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
