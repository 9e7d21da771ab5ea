#!/usr/bin/env python3
"""Small PyTorch traces with their expected cells, computed by hand or taken from TraceLens.

    python3 -m tests.pytorch.test_cases --bin build/gputally [--only TEXT] [--show]      --show prints every sheet

A case is a file cases/NN_name.json: {"about": …, "runs": [{"name", "events", "options", "expect"}, …]}. Events are
shorthand, one list each, in file order after three metadata events, so that the first has UID 3:

    ["cpu", name, ts, dur]           cpu_op on process and thread 100, one float input of shape [4]; a fifth item replaces args
    ["L", kernel, ts, dur, kernel ts, kernel dur, id, stream]    hipLaunchKernel, its kernel on process 0, thread = stream, and
                                     the two flow events; stream 0 by default; a ninth item replaces fields of the kernel
    ["python", name, ts, dur]        python_function on process and thread 100
    ["event", {…}]                   an event, copied as it is

`expect` maps a sheet to its expected content; cells are compared as text of the CSV file:

    "rows": ["a,b", …]               exactly these rows, in order, as CSV
    "columns": {"c": […], …}         whole columns, in order
    "row": [{"where": {…}, "cells": {…}}]    the one row with these cells has those cells too
    "has": ["c", …], "lacks": ["c", …]       columns that exist, that do not exist
    "text": ["…"]                    substrings of the file
    null                             the sheet is not written

A run with "says" must print a warning with each of these texts (one text or a list); any other warning is a failure.
"""
import argparse
import csv
import glob
import json
import os
import sys
import tempfile

from tests.common import harness

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
FLOAT_INPUT = {"Input Dims": [[4]], "Input type": ["float"], "Input Strides": [[1]], "Concrete Inputs": [""]}
METADATA = [
    {"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "ts": 0, "args": {"name": "python3"}},
    {"ph": "M", "name": "process_labels", "pid": 100, "tid": 0, "ts": 0, "args": {"labels": "CPU"}},
    {"ph": "M", "name": "thread_name", "pid": 100, "tid": 100, "ts": 0, "args": {"name": "thread 100 (python3)"}},
]


def host(category, name, ts, dur, args):
    return {"ph": "X", "cat": category, "name": name, "pid": 100, "tid": 100, "ts": ts, "dur": dur, "args": args}


def cpu(name, ts, dur, args=FLOAT_INPUT):
    return [host("cpu_op", name, ts, dur, args)]


def python(name, ts, dur):
    return [host("python_function", name, ts, dur, {})]


def launch(kernel, ts, dur, kernel_ts, kernel_dur, link, stream=0, fields=None):
    work = {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": stream, "ts": kernel_ts, "dur": kernel_dur,
            "args": {"correlation": link, "stream": stream}, **(fields or {})}
    arrow = {"cat": "ac2g", "name": "ac2g", "id": link}
    return [host("cuda_runtime", "hipLaunchKernel", ts, dur, {"correlation": link}), work,
            {"ph": "s", "pid": 100, "tid": 100, "ts": ts, **arrow},
            {"ph": "f", "pid": 0, "tid": stream, "ts": kernel_ts, "bp": "e", **arrow}]


KINDS = {"cpu": cpu, "L": launch, "python": python, "event": lambda event: [event]}


def trace_of(run):
    events = [event for kind, *rest in run["events"] for event in KINDS[kind](*rest)]
    return {"schemaVersion": 1, "traceEvents": METADATA + events}


# ---- checks of a sheet ----


def as_csv(row):
    return next(csv.reader([row]))


def sheet_problems(sheet, expected, out):
    path = os.path.join(out, sheet + ".csv")
    if expected is None:
        return [f"{sheet} is written"] if os.path.exists(path) else []
    if not os.path.exists(path):
        return [f"{sheet} is not written"]
    headings, rows = harness.read_csv(path)
    problems = []
    if "rows" in expected and rows != [as_csv(row) for row in expected["rows"]]:
        problems.append(f"{sheet} rows are {rows}")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(headings)}
    for name, cells in expected.get("columns", {}).items():
        if columns.get(name) != cells:
            problems.append(f"{sheet} column {name!r} is {columns.get(name)}")
    for row in expected.get("row", []):
        problems += row_problems(sheet, row, [dict(zip(headings, cells)) for cells in rows])
    problems += [f"{sheet} has no column {name!r}" for name in expected.get("has", []) if name not in headings]
    problems += [f"{sheet} has a column {name!r}" for name in expected.get("lacks", []) if name in headings]
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    return problems + [f"{sheet} does not contain {piece!r}" for piece in expected.get("text", []) if piece not in text]


def row_problems(sheet, expected, rows):
    found = [row for row in rows if expected["where"].items() <= row.items()]
    if len(found) != 1:
        return [f"{sheet}: {len(found)} rows with {expected['where']}"]
    return [f"{sheet} {expected['where']}: {name!r} is {found[0].get(name)!r}, not {cell!r}"
            for name, cell in expected["cells"].items() if found[0].get(name) != cell]


# ---- running ----


def report(binary, run, folder):
    path, out = os.path.join(folder, "trace.json"), os.path.join(folder, "out")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace_of(run), file)
    outcome = harness.run([binary, "pytorch", path, "--output_csvs_dir", out, "--quiet", "--disable_coll_analysis",
                           *run.get("options", [])])
    return out, outcome


def check_run(binary, run):
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        out, outcome = report(binary, run, folder)
        problems = outcome.problems() + ([f"exit {outcome.code}: {outcome.stderr[:300]}"] if outcome.code else [])
        expected = run.get("says", [])
        expected = [expected] if isinstance(expected, str) else expected
        said = all(text in outcome.stderr for text in expected) and outcome.stderr.count("\n") == len(expected)
        if problems or not said:
            return problems + [f"says {outcome.stderr[:200]!r}"]
        return [t for sheet, expected in run["expect"].items() for t in sheet_problems(sheet, expected, out)]


def show(binary, run):
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        out, outcome = report(binary, run, folder)
        print(outcome.stderr, end="")
        for name in harness.files_under(out):
            with open(os.path.join(out, name), encoding="utf-8") as file:
                print(f"--- {name}\n{file.read()}", end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    parser.add_argument("--show", action="store_true", help="print the sheets")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    tally = harness.Tally()
    for path in sorted(glob.glob(os.path.join(CASES, "*.json"))):
        with open(path, encoding="utf-8") as file:
            case = json.load(file)
        for run in case["runs"]:
            name = f"{os.path.basename(path)[:-5]}, {run['name']}"
            if options.only not in name:
                continue
            if options.show:
                print(f"==== {name}")
                show(binary, run)
            tally.add(name, check_run(binary, run))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
