#!/usr/bin/env python3
"""The JAX report of real profiles, compared with independent values: kernel times from another protobuf reader, flops of products
and convolutions from the shapes in the profiled programs.

    python3 -m tests.jax.test_fixtures --bin build/gputally
"""
import argparse
import csv
import glob
import gzip
import math
import os
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.jax import generate_xplane
from tests.jax.generate_xplane import first

# The sheet and its flops; fixtures/README.md lists the programs. For a convolution, the filter counts without its first two
# dimensions, and the first of the others counts as channels: here, of 128 x 3 x 3 x 64, only the last one.
FLOPS = {
    ("products", "op_gemm"): [2 * 1024 * 512 * 2048, 2 * 4 * 128 * 512 * 256],
    ("streams", "op_gemm"): [2 * 2048 * 1024 * 512],
    ("convolution", "op_conv"): [2 * (8 * 32 * 32 * 128) * 64],
}


def fields(data):
    return ((number, value) for number, value, _ in generate_xplane.fields(data))


def kernel_ps(data):
    """Picoseconds of kernels by GPU."""
    sums = {}
    for number, plane in fields(data):
        if number != 1 or not first(plane, 2, b"").startswith(b"/device:GPU:"):
            continue
        pid = 1 + first(plane, 1, 0)
        names = {first(entry, 1, 0): first(first(entry, 2, b""), 2, b"") for n, entry in fields(plane) if n == 4}
        for n, line in fields(plane):
            if n != 3 or not first(line, 2, b"").startswith(b"Stream"):
                continue
            for m, event in fields(line):
                name = names.get(first(event, 1, 0), b"").lower() if m == 4 else b"copy"
                if not name.startswith((b"copy", b"memcpy", b"memset")):
                    sums[pid] = sums.get(pid, 0) + max(1, first(event, 3, 0))
    return sums


def busy_ps(data):
    """Picoseconds in which a GPU was busy, and from its first start to its last end, by GPU."""
    times = {}
    for number, plane in fields(data):
        if number != 1 or not first(plane, 2, b"").startswith(b"/device:GPU:"):
            continue
        for n, line in fields(plane):
            if n == 3 and first(line, 2, b"").startswith(b"Stream #"):
                begin = first(line, 3, 0) * 1000
                for m, event in fields(line):
                    if m == 4:
                        start = begin + first(event, 2, 0)
                        times.setdefault(1 + first(plane, 1, 0), []).append((start, start + max(1, first(event, 3, 0))))
    sums = {}
    for pid, intervals in times.items():
        busy, until = 0, 0
        for start, end in sorted(intervals):
            busy += max(0, end - max(start, until))
            until = max(until, end)
        sums[pid] = (busy, until - min(intervals)[0])
    return sums


def sheet(folder, name):
    with open(os.path.join(folder, name + ".csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check(binary, path):
    title = os.path.basename(path).split(".")[0]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([binary, "jax", path, "--output_csvs_dir", out, "--quiet"], check=True, stderr=subprocess.DEVNULL)
        with gzip.open(path) as file:
            data = file.read()
        expected = kernel_ps(data)
        ms = {(int(row["gpu_pid"]), row["type"]): float(row["time ms"]) for row in sheet(out, "gpu_timeline")}
        for pid, (busy, total) in busy_ps(data).items():
            for name, ps in (("busy_time", busy), ("total_time", total), ("idle_time", total - busy)):
                assert math.isclose(ms[pid, name], ps / 1e9, rel_tol=1e-9), (pid, name, ms[pid, name], ps)
        found = {}
        for row in sheet(out, "kernel_launchers"):
            found[int(row["pid"])] = found.get(int(row["pid"]), 0) + round(float(row["total_direct_kernel_time"]) * 1e6)
        assert found == expected, (found, expected)
        total = sum(float(row["total_direct_kernel_time_ms"]) for row in sheet(out, "kernel_launchers_summary_by_category"))
        assert math.isclose(total, sum(expected.values()) / 1e9, rel_tol=1e-12), total
        for (fixture, name), flops in FLOPS.items():
            if fixture == title:
                got = sorted(float(row["GFLOPS_first"]) * 1e9 for row in sheet(out, name))
                assert [round(x) for x in got] == sorted(flops), (name, got)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    binary = harness.require_binary(parser.parse_args().bin)
    return harness.run_functions((os.path.basename(path), lambda path=path: check(binary, path))
                                 for path in sorted(glob.glob(os.path.join(harness.FIXTURES, "jax", "*.xplane.pb.gz"))))


if __name__ == "__main__":
    sys.exit(main())
