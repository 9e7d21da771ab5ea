#!/usr/bin/env python3
"""Damaged and foreign input: gputally must end in good order whatever the file holds.

    damage.py --bin build/gputally [--report rocprof|pytorch|jax] [--seed N] [--only TEXT] [--keep DIR]

Runs every case of damaged_inputs.py (rocprofv3), damaged_pytorch.py and damaged_jax.py. After every run: exit code 0 or 1, no signal, no
sanitizer report, within the time; on failure one sentence that names the file, and nothing in the output folder; on
success whole sheets with as many kernels as the case knows of. Then disks that fill up and names that are taken.
--keep DIR keeps the folders of failed cases.
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
    """One kind of report: its command, its traces, and what must be true of its sheets."""
    command: tuple
    cases: Callable  # (random numbers) -> cases
    trace: Callable  # () -> bytes of a sound trace
    sheet_troubles: Callable  # (folder, kernels that there may be) -> troubles
    disagreements: Callable  # (case, outcome, folder) -> troubles
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


def failure_troubles(outcome, path, out):
    lines = [line for line in outcome.stderr.split("\n") if line and not line.startswith("gputally: warning: ")]
    troubles = []
    if len(lines) != 1 or not lines[0].startswith("gputally: "):
        troubles.append(f"not one sentence on standard error: {outcome.stderr[:300]!r}")
    named = os.path.basename(path) if path != "-" else "standard input"
    if named not in outcome.stderr and os.path.basename(out) not in outcome.stderr:
        troubles.append(f"the message does not name {named}: {outcome.stderr[:300]!r}")
    return troubles


# Sheets that a trace gives where it has the records for them; a damaged one may have lost those.
EXTRA_FILES = {f"{sheet}.csv" for sheet in ("hip_api_summary", "hsa_api_summary", "marker_api_summary", "rccl_api_summary",
                                            "memory_copy_summary", "counters_by_kernel", "agent_info")}


def rocprof_sheet_troubles(out, rows):
    expected = {f"{sheet}.csv" for sheet in SHEETS}
    found = set(harness.files_under(out))
    if not expected <= found or found - expected - EXTRA_FILES:
        return [f"files are {found}"]
    troubles = []
    tables = {sheet: harness.read_csv(os.path.join(out, f"{sheet}.csv")) for sheet in SHEETS}
    for sheet, (headings, body) in tables.items():
        uneven = [row for row in body if len(row) != len(headings)]
        if uneven:
            troubles.append(f"{sheet}: a row of {len(uneven[0])} cells under {len(headings)} headings")
    kernels = len(tables["kernel_details"][1])
    if len(tables["gpu_timeline"][1]) != (5 if kernels else 0):
        troubles.append(f"gpu_timeline has {len(tables['gpu_timeline'][1])} rows for {kernels} kernels")
    if sum(int(row[1]) for row in tables["kernel_summary"][1]) != kernels:
        troubles.append("kernel_summary does not count every kernel")
    if rows is not None and kernels not in rows:
        troubles.append(f"{kernels} dispatches, expected {rows.start} to {rows.stop - 1}")
    return troubles


def holds_fractions(value):
    if isinstance(value, (list, dict)):
        return any(map(holds_fractions, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


def rocprof_disagreements(case, outcome, out):
    """Where Python's json refuses the text, we must fail or warn; where it reads a trace, the sheets must be its own."""
    try:
        document = json.loads(case.data.decode("utf-8", "replace"), strict=False)
    except ValueError as error:
        quiet = outcome.code == 0 and not harness.warns_of_cut(outcome.stderr)
        return [f"accepted, though Python says: {error}"] if quiet else []
    try:
        run = rocprof_reference.run_of(rocprof_reference.no_lone_surrogates(document))
        expected = rocprof_reference.sheets(run)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, ValueError):
        return []  # sound JSON, but no sound trace
    if outcome.code == 1:  # which numbers that are not whole, or do not fit, are in the way is for us to say
        fields = [field for d in run.dispatches for field in (*d[1:5], *d.grid, *d.block, d.agent, d.thread)]
        sound = all(type(field) is int and abs(field) < 2**62 for field in fields) and not holds_fractions(document)
        return [f"refused: {outcome.stderr.strip()[:200]}"] if sound else []
    found, extra = rocprof_reports.read_csvs(out, expected, EXTRA_FILES)
    return extra + rocprof_reports.compare(expected, found, rocprof_reports.same_csv_cell)


REPORTS = {
    "rocprof": Report(("rocprof", "--kernel_details", "--short_kernel_study"), rocprof_inputs.all_cases,
                      lambda: rocprof_inputs.Trace(dispatches=400, copies=3, seed=8).data, rocprof_sheet_troubles,
                      rocprof_disagreements),
    "pytorch": Report(("pytorch", *pytorch_inputs.OPTIONS), pytorch_inputs.all_cases,
                      lambda: pytorch_inputs.Trace(events=900, seed=8).data, pytorch_inputs.sheet_troubles,
                      pytorch_inputs.disagreements),
    "jax": Report(("jax", *jax_inputs.OPTIONS), jax_inputs.all_cases, lambda: jax_inputs.Trace("products", 20).data,
                  jax_inputs.sheet_troubles, None, "--profile_path"),
}


def check_case(binary, report, case, folder):
    out = os.path.join(folder, "out_5582")
    path, outcome = run_case(binary, report, case, folder, out)
    troubles = outcome.troubles()
    if troubles:
        return troubles + [outcome.stderr[:1500]]
    if outcome.code == 1:
        troubles += failure_troubles(outcome, path, out)
        if os.path.isdir(out) and os.listdir(out):
            troubles.append(f"left behind: {harness.files_under(out)}")
        if case.must in ("read", "pass", "cut"):
            troubles.append(f"failed: {outcome.stderr.strip()[:300]}")
    else:
        troubles += report.sheet_troubles(out, case.rows) + (case.check(out) if case.check else [])
        if case.must == "fail":
            troubles.append(f"succeeded; stderr {outcome.stderr[:200]!r}")
        if case.must == "pass" and outcome.stderr:
            troubles.append(f"has something to say: {outcome.stderr[:300]!r}")
        if case.must == "cut":
            troubles += cut_troubles(binary, report, case, folder, outcome)
    if case.must == "agree":
        troubles += report.disagreements(case, outcome, out)
    left = [name for name in os.listdir(folder) if not name.startswith(("input_7391", "out_5582", "strict_5582"))]
    return troubles + ([f"left beside the input: {left}"] if left else [])


def cut_troubles(binary, report, case, folder, outcome):
    troubles = []
    if not harness.warns_of_cut(outcome.stderr):
        troubles.append(f"no warning that says how much was read: {outcome.stderr[:300]!r}")
    out = os.path.join(folder, "strict_5582")
    path, strict = run_case(binary, report, case, folder, out, ("--strict",))
    troubles += [f"--strict: {trouble}" for trouble in strict.troubles()]
    if strict.code != 1:
        troubles.append(f"--strict: exit code {strict.code}")
    else:
        troubles += [f"--strict: {trouble}" for trouble in failure_troubles(strict, path, out)]
        if os.path.isdir(out) and os.listdir(out):
            troubles.append(f"--strict: left behind: {harness.files_under(out)}")
    return troubles


def check_documents(binary, report, tally):
    """XLSX and SQLite: a full disk or a folder in the way leaves nothing, and a former file as it was."""
    for option, name in (("--output_xlsx_path", "out_5582.xlsx"), ("--output_db", "out_5582.db")):
        for situation in ("no such folder can be made", "disk full", "disk full over an older file",
                          "a folder of that name"):
            with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
                source, target = os.path.join(folder, "in_results.json"), os.path.join(folder, name)
                with open(source, "wb") as file:
                    file.write(report.trace())
                if situation == "no such folder can be made":
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
                troubles = outcome.troubles() + ([] if outcome.code == 1 else [f"exit code {outcome.code}"])
                troubles += failure_troubles(outcome, source, target)
                if harness.files_under(folder) != before:
                    troubles.append(f"files are now {harness.files_under(folder)}")
                if situation == "disk full over an older file" and open(target, "rb").read() != b"older":
                    troubles.append("the older file was changed")
                tally.add(f"{report.command[0]} {option}: {situation}", troubles)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--report", choices=REPORTS, help="only this kind of report")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    parser.add_argument("--keep", help="keep the folders of failed cases here")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    tally = harness.Tally(options.keep)
    for name in [options.report] if options.report else REPORTS:
        report = REPORTS[name]
        cases = (case._replace(name=f"{name}, {case.name}") for case in report.cases(random.Random(options.seed)))
        cases = (case for case in cases if options.only in case.name)
        harness.run_all(cases, lambda case, folder: check_case(binary, report, case, folder), tally)
        if not options.only:
            check_documents(binary, report, tally)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
