#!/usr/bin/env python3
"""Reference model of the sheets of the rocprofv3 report, independent of the C code.

    python3 -m tests.rocprof.reference_sheets TRACE.json[.gz] [--threshold_us N] [--bins N] [--topk K]     prints the sheets as CSV

The tests compare gputally's CSV, XLSX and SQLite outputs with sheets(). Kernel times are integers in nanoseconds until the
last step, so that rounding is independent of the code under test. Units are those of the headings;
cumulative percentages follow the order of rows; ties keep the order of their first occurrence.
"""
import argparse
import csv
import gzip
import json
import math
import statistics
import sys
from fractions import Fraction
from typing import NamedTuple

# The first match wins; substrings of the name in lower case.
CATEGORIES = [
    ("GEMM", ("gemm", "matmul", "cijk")),
    ("Elementwise", ("elementwise",)),
    ("Reduction", ("reduce", "sum")),
    ("Convolution", ("conv",)),
    ("Normalization", ("norm",)),
    ("Attention", ("flash", "attn", "fmha")),
    ("Memory", ("copy", "memcpy")),
    ("COMM", ("rccl", "nccl")),
]

KERNEL_SUMMARY = ["name", "Count", "Mean Kernel Time (µs)", "Median Kernel Time (µs)", "Std Kernel Time (µs)",
                  "Min Kernel Time (µs)", "Max Kernel Time (µs)", "Percentage (%)", "Cumulative Percentage (%)",
                  "Total Kernel Time (ms)", "Category"]
KERNEL_SUMMARY_EMPTY = KERNEL_SUMMARY[:7] + ["Total Kernel Time (ms)", "Percentage (%)", "Cumulative Percentage (%)",
                                             "Category"]
BY_CATEGORY = ["op category", "Count", "total_direct_kernel_time_ms", "Percentage (%)", "Cumulative Percentage (%)"]
DETAILS = ["name", "Kernel duration (µs)", "stream", "dispatch_id", "grid_x", "grid_y", "grid_z", "block_x", "block_y",
           "block_z", "agent_id", "thread_id"]
SHORT_SUMMARY = ["name", "Short Kernel count", "Short Kernel duration (µs) sum", "Short Kernel duration (µs) mean",
                 "Short Kernel duration (µs) percent of total time"]
HISTOGRAM = ["bin_start", "bin_end", "count"]


class Dispatch(NamedTuple):
    name: str
    start: int
    end: int
    stream: int = 0
    dispatch_id: int = 0
    grid: tuple = (1, 1, 1)
    block: tuple = (1, 1, 1)
    agent: int = 0
    thread: int = 0


class Run:
    """One process of the trace; times in nanoseconds."""

    def __init__(self):
        self.init = self.fini = 0
        self.dispatches, self.copies = [], []


def symbol_name(symbols, kernel_id):
    unknown = f"unknown_kernel_{kernel_id}"
    symbol = symbols.get(kernel_id)
    if symbol is None:
        return unknown
    return (symbol.get("truncated_kernel_name") or symbol.get("formatted_kernel_name")
            or symbol.get("kernel_name", unknown))


def has_times(record):
    """What ends before it starts, or lacks one of the times, is left out (a start of 0 is none if the record is long)."""
    start, end = record.get("start_timestamp", 0), record.get("end_timestamp", 0)
    return (start or end) and start <= end and not (start == 0 and end > 10**9)


def run_of(document):
    """The Run of a decoded JSON document: the first process."""
    process = document["rocprofiler-sdk-tool"][0]
    records, metadata = process["buffer_records"], process.get("metadata", {})
    symbols = {symbol["kernel_id"]: symbol for symbol in process.get("kernel_symbols", [])}
    names, run = {}, Run()
    run.init, run.fini = metadata.get("init_time", 0), metadata.get("fini_time", 0)
    for record in filter(has_times, records.get("kernel_dispatch", [])):
        info = record.get("dispatch_info", {})
        kernel_id = info.get("kernel_id")
        if kernel_id not in names:
            names[kernel_id] = symbol_name(symbols, kernel_id)
        axes = lambda key: tuple(info.get(key, {}).get(axis, 1) for axis in "xyz")
        run.dispatches.append(Dispatch(
            names[kernel_id], record.get("start_timestamp", 0), record.get("end_timestamp", 0),
            record.get("stream_id", {}).get("handle", 0), info.get("dispatch_id", 0), axes("grid_size"),
            axes("workgroup_size"), info.get("agent_id", {}).get("handle", 0), record.get("thread_id", 0)))
    run.copies = [(copy.get("start_timestamp", 0), copy.get("end_timestamp", 0))
                  for copy in filter(has_times, records.get("memory_copy", []))]
    return run


def no_lone_surrogates(value):
    """The document with lone surrogates replaced by U+FFFD, as in UTF-8 output."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [no_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {no_lone_surrogates(key): no_lone_surrogates(item) for key, item in value.items()}
    return value


def read(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as file:
        text = file.read().decode("utf-8-sig", "replace")
    return run_of(no_lone_surrogates(json.loads(text, strict=False)))


def category(name):
    lower = name.lower()
    return next((found for found, parts in CATEGORIES if any(part in lower for part in parts)), "Other")


def covered_ns(intervals):
    """The length of the union. An interval that ends before it starts covers nothing, or counts with its negative length."""
    total, last_start, last_end = 0, None, None
    for start, end in sorted(intervals, key=lambda interval: interval[0]):
        if last_end is not None and start <= last_end:
            last_end = max(last_end, end)
        else:
            if last_end is not None:
                total += last_end - last_start
            last_start, last_end = start, end
    return total + (last_end - last_start if last_end is not None else 0)


def share(part, whole):
    return float(Fraction(part * 100, whole)) if whole > 0 else 0


def gpu_timeline(run):
    rows = []
    if run.dispatches:
        kernels = [(d.start, d.end) for d in run.dispatches]
        total, busy = run.fini - run.init, covered_ns(kernels + run.copies)
        parts = [("kernel", covered_ns(kernels)), ("memory", covered_ns(run.copies)), ("busy_time", busy),
                 ("idle", max(0, total - busy))]
        rows = [["total_time", total / 1e6, 100.0]] + [[kind, ns / 1e6, share(ns, total)] for kind, ns in parts]
    return ["type", "time ms", "percent"], rows


def times_by(run, key):
    groups = {}
    for dispatch in run.dispatches:
        groups.setdefault(key(dispatch), []).append(dispatch.end - dispatch.start)
    return groups


def std_us(times_ns):
    if len(times_ns) < 2:
        return None
    count, total = len(times_ns), sum(times_ns)
    variance = Fraction(sum(t * t for t in times_ns) * count - total * total, count * (count - 1))
    return math.sqrt(variance) / 1e3


def with_cumulative(rows, percent, cumulative):
    running = 0
    for row in rows:
        running += row[percent]
        row[cumulative] = running
    return rows


def kernel_summary(run):
    if not run.dispatches:
        return KERNEL_SUMMARY_EMPTY, []
    groups = sorted(times_by(run, lambda d: d.name).items(), key=lambda item: item[0].encode())
    grand = sum(sum(times) for _, times in groups)
    groups.sort(key=lambda item: -sum(item[1]))
    rows = [[name, len(times), sum(times) / len(times) / 1e3, statistics.median(times) / 1e3, std_us(times),
             min(times) / 1e3, max(times) / 1e3, share(sum(times), grand), None, sum(times) / 1e6, category(name)]
            for name, times in groups]
    return KERNEL_SUMMARY, with_cumulative(rows, 7, 8)


def kernel_summary_by_category(run):
    known = {}
    groups = sorted(times_by(run, lambda d: known.get(d.name) or known.setdefault(d.name, category(d.name))).items())
    grand = sum(sum(times) for _, times in groups)
    groups.sort(key=lambda item: -sum(item[1]))
    rows = [[name, len(times), sum(times) / 1e6, share(sum(times), grand), None] for name, times in groups]
    return BY_CATEGORY, with_cumulative(rows, 3, 4)


def kernel_details(run, topk=None):
    if not run.dispatches:
        return [], []
    longest = sorted(run.dispatches, key=lambda d: d.start - d.end)
    rows = [[d.name, (d.end - d.start) / 1e3, d.stream, d.dispatch_id, *d.grid, *d.block, d.agent, d.thread]
            for d in (longest if topk is None else longest[:topk])]
    return DETAILS, rows


def short_kernels_summary(run, threshold_us):
    groups = times_by(run, lambda d: d.name)
    grand = sum(sum(times) for times in groups.values())
    short = {name: [t for t in times if t < threshold_us * 1000] for name, times in groups.items()}
    rows = [[name, len(times), sum(times) / 1e3, sum(times) / len(times) / 1e3, share(sum(times), grand)]
            for name, times in short.items() if times]
    return SHORT_SUMMARY, sorted(rows, key=lambda row: (-row[2], row[0].encode()))


def short_kernel_histogram(run, threshold_us, bins):
    times = sorted(d.end - d.start for d in run.dispatches if d.end - d.start < threshold_us * 1000)
    if not times:
        return HISTOGRAM, []
    low, high = times[0] / 1e3, times[-1] / 1e3
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = (high - low) / bins
    edges = [i * step + low for i in range(bins)] + [high]
    counts, at = [0] * bins, 0
    for time in times:
        while at < bins - 1 and time / 1e3 >= edges[at + 1]:
            at += 1
        counts[at] += 1
    return HISTOGRAM, [[edges[i], edges[i + 1], counts[i]] for i in range(bins)]


def sheets(run, threshold_us=10, bins=100, topk=None):
    """Every sheet, in the report's order: name -> (headings, rows)."""
    return {
        "gpu_timeline": gpu_timeline(run),
        "kernel_summary": kernel_summary(run),
        "kernel_summary_by_category": kernel_summary_by_category(run),
        "kernel_details": kernel_details(run, topk),
        "short_kernels_summary": short_kernels_summary(run, threshold_us),
        "short_kernel_histogram": short_kernel_histogram(run, threshold_us, bins),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--threshold_us", type=int, default=10)
    parser.add_argument("--bins", type=int, default=100)
    parser.add_argument("--topk", type=int)
    options = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for name, (headings, rows) in sheets(read(options.trace), options.threshold_us, options.bins, options.topk).items():
        print(f"# {name}")
        writer.writerow(headings)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
