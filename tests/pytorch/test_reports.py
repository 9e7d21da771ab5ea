#!/usr/bin/env python3
"""PyTorch traces, real and synthetic: the sheets must agree with reference_sheets.py, in every kind of document.

    python3 -m tests.pytorch.test_reports --bin build/gputally [--million N] [--only TEXT]

The traces are the fixtures and the output of generate_trace.py with every option. Each is reported as CSV, XLSX and
SQLite in one run; the basic sheets are compared with reference_sheets.py cell by cell, and the other documents with the
CSV files. XLSX is read with openpyxl. --million 0 skips the huge trace.
"""
import argparse
import glob
import math
import os
import re
import sys
import tempfile
from typing import NamedTuple

from tests.common import harness
from tests.pytorch import generate_trace as pytorch_generator
from tests.rocprof import test_reports as rocprof_reports
from tests.pytorch import reference_sheets as pytorch_reference

# Sheets that are sorted by time: the key columns and the column that they are sorted by. Others are compared row by row.
SORTED = {"ops_summary_by_category": (("op category", "is_recompute"), "total_direct_kernel_time_ms"),
          "ops_summary": (("name", "is_recompute"), "total_direct_kernel_time_sum"),
          "kernel_summary": (("Parent op category", "Parent cpu_op", "Kernel name", "Kernel stream"), "Kernel duration (µs)_sum")}
CUMULATIVE = "Cumulative Percentage (%)"
# the only warnings allowed
WARNINGS = re.compile(r"(gputally: warning: (\d+ of \d+ ops are not in the sheets of their families|GPU time in no op sheet|"
                      r"\d+ records in the file, .* left out): .*\n)*")


class Case(NamedTuple):
    name: str
    path: str
    options: dict = {}  # of pytorch_reference.sheets
    documents: bool = True


# ---- the traces ----


def fixtures():
    for path in sorted(glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz"))):
        name = os.path.basename(path)[:-8]
        yield Case(name, path, {})
        yield Case(f"{name}, unlinked kernels, micro idle", path, {"include_unlinked_kernels": True, "micro_idle_thresh_us": 7,
                                                                   "short_kernel_threshold_us": 4, "short_kernel_histogram_bins": 9})
        if name in ("recompute", "training", "training_stack"):
            yield Case(f"{name}, recompute", path, {"detect_recompute": True})


def generated(folder):
    everything = dict(python_functions=True, graphs=True, collectives=True, odd_events=True)
    made = {
        "synthetic": dict(), "integers": dict(times="integer"), "mixed times": dict(times="mixed"), "dense": dict(layout="dense"),
        "indented": dict(layout="indented"), "array": dict(array_root=True), "old names": dict(old_names=True, times="integer"),
        "shuffled keys": dict(shuffle_keys=True), "one thread, one stream": dict(threads=1, streams=1),
        "many threads and streams": dict(threads=9, streams=11), "no shapes": dict(no_shapes=True),
        "graphs": dict(graphs=True), "collectives": dict(collectives=True), "frames": dict(python_functions=True),
        "unusual events": dict(odd_events=True), "unusual events, integers": dict(odd_events=True, times="integer"),
        "unusual events, mixed times": dict(odd_events=True, times="mixed", shuffle_keys=True, layout="dense"),
        "everything": everything, "everything, array, mixed": dict(everything, array_root=True, times="mixed", seed=9),
        "everything, old, shuffled": dict(everything, old_names=True, times="integer", shuffle_keys=True, layout="indented"),
        "everything, 20,000 events": dict(everything, events=20_000, seed=3),
    }
    for number, (name, options) in enumerate(made.items()):
        path = os.path.join(folder, f"made_{number}.json" + (".gz" if number % 4 == 3 else ""))
        pytorch_generator.write_trace(path, pytorch_generator.Options(**{"events": 3000 if harness.LONG else 1500, **options}))
        yield Case(name, path)
        if options.get("python_functions"):
            yield Case(f"{name}, recompute", path, {"detect_recompute": True}, documents=False)
        if options.get("odd_events"):
            yield Case(f"{name}, unlinked, micro idle", path, {"include_unlinked_kernels": True, "micro_idle_thresh_us": 20},
                       documents=False)


# ---- comparing ----


def same_cell(expected, found):
    """Compares numbers to 1e-9, integers, text and missing values exactly."""
    if expected is None:
        return found == ""
    if isinstance(expected, (str, bool)):
        return found == str(expected)
    whole = re.fullmatch(r"-?\d+", found) is not None
    return whole == isinstance(expected, int) and math.isclose(expected, float(found), rel_tol=1e-9, abs_tol=1e-9)


def row_problems(sheet, headings, expected, found):
    wrong = [(h, e, f) for h, e, f in zip(headings, expected, found) if h != CUMULATIVE and not same_cell(e, f)]
    return [f"{sheet} {expected[:3]}: {h!r} is {f!r}, not {e!r}" for h, e, f in wrong]


def sorted_problems(sheet, headings, expected, found):
    """Compares rows by their keys; then checks that they descend by time, ties in the expected order, and that percentages add up."""
    keys, by = SORTED[sheet]
    places = [headings.index(key) for key in keys if key in headings]
    text = lambda cell: "" if cell is None else str(cell)
    known = {tuple(text(row[p]) for p in places): (i, row) for i, row in enumerate(expected)}
    problems, before, running = [], None, 0.0
    for row in found:
        place, match = known.pop(tuple(row[p] for p in places), (None, None))
        if match is None:
            problems.append(f"{sheet}: unexpected row {row[:4]}")
            continue
        problems += row_problems(sheet, headings, match, row)
        here = (float(row[headings.index(by)]), -place)
        if before is not None and (here[0] > before[0] or (here[0] == before[0] and here[1] > before[1]
                                                           and expected[-here[1]][headings.index(by)] ==
                                                           expected[-before[1]][headings.index(by)])):
            problems.append(f"{sheet}: {row[:3]} comes after a row with less time")
        before = here
        if CUMULATIVE in headings:
            running += float(row[headings.index("Percentage (%)")])
            if not math.isclose(running, float(row[headings.index(CUMULATIVE)]), rel_tol=1e-9):
                problems.append(f"{sheet}: {row[:3]}: percentages so far are {running}")
    return problems + [f"{sheet}: no row {key}" for key in known]


def csv_problems(expected, out):
    problems = []
    for sheet, (headings, rows) in expected.items():
        path = os.path.join(out, sheet + ".csv")
        if not os.path.exists(path):
            problems.append(f"{sheet} is not written")
            continue
        found_headings, found = harness.read_csv(path)
        if found_headings != headings or len(found) != len(rows):
            problems.append(f"{sheet} has columns {found_headings} and {len(found)} rows, not {headings} and {len(rows)}")
        elif sheet in SORTED:
            problems += sorted_problems(sheet, headings, rows, found)
        else:
            problems += [t for e, f in zip(rows, found) for t in row_problems(sheet, headings, e, f)]
    extra = {name[:-4] for name in os.listdir(out)} & set(SORTED) - set(expected)
    return problems + [f"{sheet} is written" for sheet in extra]


def numbered(headings):
    """A database needs unique column names: the second of a name becomes name_2."""
    return [h if headings[:i].count(h) == 0 else f"{h}_{headings[:i].count(h) + 1}" for i, h in enumerate(headings)]


def document_problems(what, found, out, text_limit):
    """The other documents have the cells of the CSV files; a database has no table without columns."""
    names = sorted(name[:-4] for name in os.listdir(out))
    if what == "SQLite":
        names = [name for name in names if harness.read_csv(os.path.join(out, name + ".csv"))[0]]
    if sorted(found) != names:
        return [f"{what} has sheets {sorted(found)}, the CSV folder {names}"]
    problems = []
    for sheet in names:
        headings, rows = harness.read_csv(os.path.join(out, sheet + ".csv"))
        other_headings, other_rows = found[sheet]
        headings = numbered(headings) if what == "SQLite" else headings
        if (other_headings or [""]) != (headings or [""]) or len(other_rows) != len(rows):
            problems.append(f"{what} {sheet}: {other_headings} and {len(other_rows)} rows, not {headings} and {len(rows)}")
            continue
        for place, (row, other) in enumerate(zip(rows, other_rows)):
            wrong = [h for h, cell, value in zip(headings, row, other) if not same_value(cell, value, text_limit)]
            if wrong:
                problems.append(f"{what} {sheet} row {place}: {wrong} differ from the CSV file")
    return problems


def same_value(cell, value, text_limit):
    """A CSV cell and a value of another document."""
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return cell == str(value)
    if isinstance(value, str):
        return value == cell or (len(cell) > text_limit and cell.startswith(value[:text_limit - 10]))
    return {"True": 1, "False": 0}.get(cell) == value or math.isclose(float(cell), value, rel_tol=1e-15)


def report(binary, case, folder):
    out = os.path.join(folder, "csv")
    command = [binary, "pytorch", case.path, "--output_csvs_dir", out, "--quiet", "--enable_kernel_summary", "--short_kernel_study"]
    if case.documents:
        command += ["--output_db", os.path.join(folder, "report.db"), "--output_xlsx_path", os.path.join(folder, "report.xlsx")]
    for name, value in case.options.items():
        command += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return out, harness.run(command)


def check_case(binary, case, folder):
    out, outcome = report(binary, case, folder)
    problems = outcome.problems() + ([f"exit code {outcome.code}"] if outcome.code else [])
    if problems or not WARNINGS.fullmatch(outcome.stderr):
        return problems + [f"says {outcome.stderr[:300]!r}"]
    settings = {"enable_kernel_summary": True, "short_kernel_study": True, **case.options}
    problems = csv_problems(pytorch_reference.sheets(pytorch_reference.read(case.path), **settings), out)
    if case.documents:
        found, wrong = rocprof_reports.read_sqlite(os.path.join(folder, "report.db"))
        problems += wrong or document_problems("SQLite", found, out, sys.maxsize)
        found, wrong = rocprof_reports.read_xlsx(os.path.join(folder, "report.xlsx"))
        problems += wrong or document_problems("XLSX", found, out, rocprof_reports.XLSX_CELL_LIMIT)
    return problems


# ---- a huge trace ----


def check_million(binary, count, tally):
    """Counts in the report of a trace with many events."""
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        path = os.path.join(folder, "million.json")
        written = pytorch_generator.write_trace(path, pytorch_generator.Options(events=count, collectives=True, graphs=True))
        out, outcome = report(binary, Case("", path, documents=False), folder)
        problems = outcome.problems() + ([f"exit code {outcome.code}: {outcome.stderr[:300]}"] if outcome.code else [])
        if not problems:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            kernels, reduces = text.count('"cat": "kernel"'), text.count('"name": "c10d::allreduce_"')
            counted = lambda sheet, name: sum(int(row[h.index(name)]) for h, rows in
                                              [harness.read_csv(os.path.join(out, sheet + ".csv"))] for row in rows)
            if counted("kernel_summary", "Kernel duration (µs)_count") != kernels:
                problems.append(f"kernel_summary does not count {kernels} kernels")
            if counted("coll_analysis", "operation_count") != reduces:
                problems.append(f"coll_analysis does not count {reduces} collectives")
        tally.add(f"{written} events", problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--million", type=int, default=1_000_000 if harness.LONG else 300_000, help="events of the huge trace")
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        cases = [case for made in (fixtures(), generated(folder)) for case in made if options.only in case.name]
        harness.run_all(cases, lambda case, where: check_case(binary, case, where), tally)
    if options.million and not options.only:
        check_million(binary, options.million, tally)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
