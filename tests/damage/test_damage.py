#!/usr/bin/env python3
"""Damaged input and files of other kinds: gputally must handle any content.

    python3 -m tests.damage.test_damage --bin build/gputally [--report rocprof|pytorch|jax] [--seed N] [--only TEXT] [--keep DIR]

Runs every case of rocprof_inputs.py, pytorch_inputs.py and jax_inputs.py. After every run: exit code 0 or 1, no signal, no
sanitizer report, within the limits; on failure one message that names the file, and an empty output folder; on success
complete sheets with the expected number of kernels. Then full disks and output names that are in use. --keep DIR keeps the
folders of failed cases.
"""
import argparse
import json
import os
import random
import re
import sys
import tempfile
from typing import Callable, NamedTuple

from tests.damage import rocprof_inputs
from tests.damage import jax_inputs
from tests.damage import pytorch_inputs
from tests.common import harness
from tests.rocprof import test_reports as rocprof_reports
from tests.rocprof import reference_sheets as rocprof_reference

SHEETS = ["gpu_timeline", "kernel_summary", "kernel_summary_by_category", "kernel_details", "short_kernels_summary",
          "short_kernel_histogram"]


class Report(NamedTuple):
    """One kind of report: its command, its traces, and the checks of its sheets."""
    command: tuple
    cases: Callable  # (random numbers) -> cases
    trace: Callable  # () -> bytes of a valid trace
    sheet_problems: Callable  # (folder, possible numbers of kernels) -> problems
    disagreements: Callable  # (case, outcome, folder) -> problems
    file_option: str = "--profile_json_path"


def run_case(binary, report, case, folder, out, extra=()):
    path = os.path.join(folder, "input_7391_results" + case.suffix)
    if case.prepare:
        path = case.prepare(folder)
    elif not case.stdin:
        with open(path, "wb") as file:
            file.write(case.data)
    else:
        path = "-"
    command = [binary, report.command[0], report.file_option, path, "--output_csvs_dir", out, "--quiet",
               *report.command[1:], *case.arguments, *extra]
    outcome = harness.run(command, case.data if case.stdin else None, case.file_size_limit)
    return path, outcome


def failure_problems(outcome, path, out):
    lines = [line for line in outcome.stderr.split("\n") if line and not line.startswith("gputally: warning: ")]
    problems = []
    if len(lines) != 1 or not lines[0].startswith("gputally: "):
        problems.append(f"not one message on standard error: {outcome.stderr[:300]!r}")
    named = os.path.basename(path) if path != "-" else "standard input"
    if named not in outcome.stderr and os.path.basename(out) not in outcome.stderr:
        problems.append(f"the message does not name {named}: {outcome.stderr[:300]!r}")
    return problems


# The phases of inference are asked for, and the traces are of training.
EXPECTED_WARNING = "the trace looks like training"

# Sheets that need certain records, which a damaged trace may have lost.
EXTRA_FILES = {f"{sheet}.csv" for sheet in ("hip_api_summary", "hsa_api_summary", "marker_api_summary", "rccl_api_summary",
                                            "memory_copy_summary", "counters_by_kernel", "agent_info",
                                            "gpu_timeline_by_device")}


def rocprof_sheet_problems(out, rows):
    expected = {f"{sheet}.csv" for sheet in SHEETS}
    found = set(harness.files_under(out))
    if not expected <= found or found - expected - EXTRA_FILES:
        return [f"files are {found}"]
    problems = []
    tables = {sheet: harness.read_csv(os.path.join(out, f"{sheet}.csv")) for sheet in SHEETS}
    for sheet, (headings, body) in tables.items():
        uneven = [row for row in body if len(row) != len(headings)]
        if uneven:
            problems.append(f"{sheet}: a row of {len(uneven[0])} cells under {len(headings)} headings")
    kernels = len(tables["kernel_details"][1])
    if len(tables["gpu_timeline"][1]) != (5 if kernels else 0):
        problems.append(f"gpu_timeline has {len(tables['gpu_timeline'][1])} rows for {kernels} kernels")
    if sum(int(row[1]) for row in tables["kernel_summary"][1]) != kernels:
        problems.append("kernel_summary does not count every kernel")
    if rows is not None and kernels not in rows:
        problems.append(f"{kernels} dispatches, expected {rows.start} to {rows.stop - 1}")
    return problems


def holds_fractions(value):
    if isinstance(value, (list, dict)):
        return any(map(holds_fractions, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


def rocprof_disagreements(case, outcome, out):
    """If Python's json rejects the text, gputally must fail or warn; if it reads a trace, the sheets must agree."""
    try:
        document = json.loads(case.data.decode("utf-8", "replace"), strict=False)
    except ValueError as error:
        quiet = outcome.code == 0 and not harness.warns_of_cut(outcome.stderr)
        return [f"accepted, though Python says: {error}"] if quiet else []
    try:
        run = rocprof_reference.run_of(rocprof_reference.no_lone_surrogates(document))
        expected = rocprof_reference.sheets(run)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, ValueError):
        return []  # valid JSON, but not a valid trace
    if outcome.code == 1:  # gputally decides which fractions and large numbers are errors
        fields = [field for d in run.dispatches for field in (*d[1:5], *d.grid, *d.block, d.agent, d.thread)]
        valid = all(type(field) is int and abs(field) < 2**62 for field in fields) and not holds_fractions(document)
        return [f"refused: {outcome.stderr.strip()[:200]}"] if valid else []
    found, extra = rocprof_reports.read_csvs(out, expected, EXTRA_FILES)
    return extra + rocprof_reports.compare(expected, found, rocprof_reports.same_csv_cell)


REPORTS = {
    "rocprof": Report(("rocprof", "--kernel_details", "--short_kernel_study"), rocprof_inputs.all_cases,
                      lambda: rocprof_inputs.Trace(dispatches=400, copies=3, seed=8).data, rocprof_sheet_problems,
                      rocprof_disagreements),
    "pytorch": Report(("pytorch", *pytorch_inputs.OPTIONS), pytorch_inputs.all_cases,
                      lambda: pytorch_inputs.Trace(events=900, seed=8).data, pytorch_inputs.sheet_problems,
                      pytorch_inputs.disagreements),
    "jax": Report(("jax", *jax_inputs.OPTIONS), jax_inputs.all_cases, lambda: jax_inputs.Trace("products", 20).data,
                  jax_inputs.sheet_problems, None, "--profile_path"),
}


def check_case(binary, report, case, folder):
    out = os.path.join(folder, "out_5582")
    path, outcome = run_case(binary, report, case, folder, out)
    problems = outcome.problems()
    if problems:
        return problems + [outcome.stderr[:1500]]
    if outcome.code == 1:
        problems += failure_problems(outcome, path, out)
        if os.path.isdir(out) and os.listdir(out):
            problems.append(f"left files: {harness.files_under(out)}")
        if case.must in ("read", "pass", "cut"):
            problems.append(f"failed: {outcome.stderr.strip()[:300]}")
    else:
        problems += report.sheet_problems(out, case.rows) + (case.check(out) if case.check else [])
        if case.must == "fail":
            problems.append(f"succeeded; stderr {outcome.stderr[:200]!r}")
        messages = [line for line in outcome.stderr.splitlines() if EXPECTED_WARNING not in line]
        if case.must == "pass" and messages:
            problems.append(f"unexpected messages: {messages[:3]!r}")
        if case.must == "cut":
            problems += cut_problems(binary, report, case, folder, outcome)
    if case.must == "agree":
        problems += report.disagreements(case, outcome, out)
    left = [name for name in os.listdir(folder) if not name.startswith(("input_7391", "out_5582", "strict_5582"))]
    return problems + ([f"left files next to the input: {left}"] if left else [])


def cut_problems(binary, report, case, folder, outcome):
    problems = []
    if not harness.warns_of_cut(outcome.stderr):
        problems.append(f"no warning that says how much was read: {outcome.stderr[:300]!r}")
    out = os.path.join(folder, "strict_5582")
    path, strict = run_case(binary, report, case, folder, out, ("--strict",))
    problems += [f"--strict: {trouble}" for trouble in strict.problems()]
    if strict.code != 1:
        problems.append(f"--strict: exit code {strict.code}")
    else:
        problems += [f"--strict: {trouble}" for trouble in failure_problems(strict, path, out)]
        if os.path.isdir(out) and os.listdir(out):
            problems.append(f"--strict: left files: {harness.files_under(out)}")
    return problems


def check_documents(binary, report, tally):
    """XLSX and SQLite: a full disk or a folder of that name leaves no file, and an older file unchanged."""
    for option, name in (("--output_xlsx_path", "out_5582.xlsx"), ("--output_db", "out_5582.db")):
        for situation in ("the folder cannot be created", "disk full", "disk full over an older file",
                          "a folder of that name"):
            with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
                source, target = os.path.join(folder, "in_results.json"), os.path.join(folder, name)
                with open(source, "wb") as file:
                    file.write(report.trace())
                if situation == "the folder cannot be created":
                    target = os.path.join(source, name)
                elif situation == "a folder of that name":
                    os.mkdir(target)
                elif situation == "disk full over an older file":
                    with open(target, "wb") as file:
                        file.write(b"older")
                before = harness.files_under(folder)
                command = [binary, report.command[0], report.file_option, source, option, target, "--quiet"]
                outcome = harness.run(command,
                                      file_size_limit=2048 if situation.startswith("disk full") else None)
                problems = outcome.problems() + ([] if outcome.code == 1 else [f"exit code {outcome.code}"])
                problems += failure_problems(outcome, source, target)
                if harness.files_under(folder) != before:
                    problems.append(f"files are now {harness.files_under(folder)}")
                if situation == "disk full over an older file" and open(target, "rb").read() != b"older":
                    problems.append("the older file was changed")
                tally.add(f"{report.command[0]} {option}: {situation}", problems)


RANDOM = re.compile(r"bit \d+ of byte|truncated at|changed characters|(delete|double|random) \d+ at|move \d+ from|[0-9a-f]+ at \d+$"
                    r"|= (['\"]).*\2 \(\d+\)$")  # values of another type: each in some fields, and in each field some


def selected(cases):
    """Of the damage at random places and of values of another type, a sixth; the fuzz targets try far more of it."""
    number = 0
    for case in cases:
        is_random = RANDOM.search(case.name)
        number += bool(is_random)
        if harness.LONG or not is_random or number % 6 == 1:
            yield case


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--report", choices=REPORTS, help="only this kind of report")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    parser.add_argument("--keep", help="keep the folders of failed cases here")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    tally = harness.Tally(options.keep)
    for name in [options.report] if options.report else REPORTS:
        report = REPORTS[name]
        cases = (case._replace(name=f"{name}, {case.name}") for case in report.cases(random.Random(options.seed)))
        cases = (case for case in (cases if options.only else selected(cases)) if options.only in case.name)
        harness.run_all(cases, lambda case, folder: check_case(binary, report, case, folder), tally)
        if not options.only:
            check_documents(binary, report, tally)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
