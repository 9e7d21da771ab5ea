#!/usr/bin/env python3
"""The library makes the sheets of `gputally report`: every sheet of every trace, cell by cell.

    python3 -m tests.library.test_same_sheets --bin build/gputally [TEXT]      only traces with TEXT in their name

Loads libgputally.so from the folder of the program. Without options, its report must have the sheets that the command writes as CSV
files, in the order of its database; each cell that gputally_sheet_format gives must be the one of the file. The traces are those
of this repository, synthetic ones of the other formats, and real ones where the conformance folder is.
"""
import argparse
import csv
import ctypes
import glob
import os
import sqlite3
import sys
import tempfile

from tests.common import harness
from tests.ncu import test_ncu
from tests.nsys import generate_export
from tests.rocprof import generate_run

SIZE_MAX = ctypes.c_size_t(-1).value
MOST_EVENTS_MB = 40  # of a real trace; larger ones have the same sheets and take minutes


def load(binary):
    lib = ctypes.CDLL(os.path.join(os.path.dirname(binary), "libgputally.so"))
    size, text, handle = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
    for name, result, arguments in (
            ("report_make", handle, (text, handle, text, size)), ("report_free", None, (handle,)),
            ("report_sheet_count", size, (handle,)), ("report_sheet", handle, (handle, size)),
            ("sheet_name", text, (handle,)), ("sheet_row_count", size, (handle,)), ("sheet_column_count", size, (handle,)),
            ("sheet_column_name", text, (handle, size)), ("sheet_format", size, (handle, size, size, text, size))):
        function = getattr(lib, "gputally_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


def cell(lib, sheet, column, row):
    text = ctypes.create_string_buffer(4096)
    length = lib.gputally_sheet_format(sheet, column, row, text, len(text))
    if SIZE_MAX > length >= len(text):
        text = ctypes.create_string_buffer(length + 1)
        lib.gputally_sheet_format(sheet, column, row, text, len(text))
    return text.raw[:length].decode()


def sheets_of_library(lib, path):
    """{name: (columns, rows)} in the order of the report; without a report, the error."""
    error = ctypes.create_string_buffer(1024)
    report = lib.gputally_report_make(path.encode(), None, error, len(error))
    if not report:
        return error.value.decode()
    sheets = {}
    for number in range(lib.gputally_report_sheet_count(report)):
        sheet = lib.gputally_report_sheet(report, number)
        columns = range(lib.gputally_sheet_column_count(sheet))
        names = [lib.gputally_sheet_column_name(sheet, column).decode() for column in columns]
        rows = [[cell(lib, sheet, column, row) for column in columns] for row in range(lib.gputally_sheet_row_count(sheet))]
        sheets[lib.gputally_sheet_name(sheet).decode()] = names, rows
    lib.gputally_report_free(report)
    return sheets


def sheets_of_command(binary, path, folder):
    """The same of `gputally report`, from its CSV files."""
    csvs, database = os.path.join(folder, "csvs"), os.path.join(folder, "report.db")
    done = harness.run([binary, "report", path, "--output_csvs_dir", csvs, "--output_db", database, "--no_html", "--quiet"])
    assert not done.problems(), (done.code, done.stderr)
    if done.code != 0:
        return done.stderr.removeprefix("gputally: ").removesuffix("\n")
    db = sqlite3.connect(database)
    order = [name for name, in db.execute("select name from sqlite_master where type = 'table' order by rowid")]
    db.close()
    sheets = {}
    for name in order + sorted(file[:-4] for file in os.listdir(csvs) if file[:-4] not in order):
        with open(os.path.join(csvs, name + ".csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        sheets[name] = rows[0] if rows else [], rows[1:]
    return sheets


def compare(binary, lib, path):
    with tempfile.TemporaryDirectory() as folder:
        expected = sheets_of_command(binary, path, folder)
    got = sheets_of_library(lib, path)
    if isinstance(expected, str):
        assert got == expected, (got, expected)
        return
    assert isinstance(got, dict), got
    assert len(expected) > 1, list(expected)
    assert list(got) == list(expected), f"\n     library {list(got)}\ncommand {list(expected)}"
    for name, (columns, rows) in expected.items():
        assert got[name][0] == columns, (name, got[name][0], columns)
        assert len(got[name][1]) == len(rows), (name, len(got[name][1]), len(rows))
        for number, (mine, row) in enumerate(zip(got[name][1], rows)):
            assert mine == row, (name, number, [pair for pair in zip(columns, mine, row) if pair[1] != pair[2]])


def synthetic_traces(folder):
    run = generate_run.make_run(dispatches=60)
    generate_run.write_all(run, folder)
    paths = [*glob.glob(f"{folder}/json/*/*.json"), *glob.glob(f"{folder}/rocpd/*/*.db"), *glob.glob(f"{folder}/pftrace/*/*.pftrace"),
             *glob.glob(f"{folder}/csv/*")]
    export = os.path.join(folder, "export.sqlite")
    generate_export.write(generate_export.small_run(), export)
    metrics = os.path.join(folder, "ncu.csv")
    with open(metrics, "w", encoding="utf-8") as file:
        file.write(test_ncu.raw({"gpu__time_duration.sum": "ns"}, (test_ncu.launch(0, "a"), "1500"), (test_ncu.launch(1, "b"), "7")))
    return [*paths, export, metrics]


def real_traces():
    found = [*glob.glob(f"{harness.FIXTURES}/*/*.gz"), *glob.glob(f"{harness.ROOT}/examples/*.json.gz"),
             *glob.glob(f"{harness.CONFORMANCE_TRACES}/**/*.gz", recursive=True),
             *glob.glob(f"{harness.CONFORMANCE_TRACES}/**/*.sqlite", recursive=True)]
    return [path for path in sorted(found) if os.path.getsize(path) < MOST_EVENTS_MB << 20]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("only", nargs="?", default="")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    if harness.IS_SANITIZED:
        print("skipped all: a sanitized library cannot be loaded by Python")
        return harness.ALL_SKIPPED
    lib = load(binary)
    with tempfile.TemporaryDirectory() as folder:
        paths = synthetic_traces(folder) + real_traces()
        return harness.run_functions([(path, lambda path=path: compare(binary, lib, path)) for path in paths if options.only in path])


if __name__ == "__main__":
    sys.exit(main())
