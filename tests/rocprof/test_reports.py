#!/usr/bin/env python3
"""Unusual but valid traces: every output must agree with reference_sheets.py.

    python3 -m tests.rocprof.test_reports --bin build/gputally [--million N] [--only TEXT]

Each trace is reported as CSV, XLSX and SQLite in one run, and every cell of every sheet is compared. XLSX is read with
openpyxl. --million 0 skips the huge trace.
"""
import argparse
import json
import math
import os
import re
import sqlite3
import sys
import tempfile
import warnings
from typing import NamedTuple

from tests.cli.folder import OLD_NAME
from tests.common import harness
from tests.rocprof import generate_trace as rocprof_generator
from tests.rocprof import reference_sheets as rocprof_reference

XLSX_CELL_LIMIT = 32_767  # UTF-16 units
# Rows that tie in this column may be in any order: sheet -> (sort column, cumulative column)
TIES = {"kernel_summary": (9, 8), "kernel_summary_by_category": (2, 4)}


# ---- small hand-written traces ----


def symbol(kernel_id, **names):
    return {"kernel_id": kernel_id, **names}


def dispatch(start, end, kernel_id=1, number=1, stream=0, agent=5, thread=77, grid=(256, 1, 1), block=(64, 1, 1)):
    axes = lambda values: dict(zip("xyz", values))
    return {"thread_id": thread, "start_timestamp": start, "end_timestamp": end, "stream_id": {"handle": stream},
            "dispatch_info": {"agent_id": {"handle": agent}, "kernel_id": kernel_id, "dispatch_id": number,
                              "workgroup_size": axes(block), "grid_size": axes(grid)}}


def document(dispatches, symbols=(), copies=(), window=(0, 1_000_000), **more):
    return {"rocprofiler-sdk-tool": [{
        "metadata": {"init_time": window[0], "fini_time": window[1], "pid": 12},
        "kernel_symbols": list(symbols),
        "buffer_records": {"kernel_dispatch": list(dispatches),
                           "memory_copy": [{"start_timestamp": a, "end_timestamp": b} for a, b in copies], **more}}]}


def named(names, **more):
    """One kernel per name, of different lengths."""
    symbols = [symbol(i, truncated_kernel_name=name) for i, name in enumerate(names)]
    return document([dispatch(i * 9000, i * 9000 + 1000 + 7 * i * i, i, i) for i in range(len(names))], symbols,
                    window=(0, len(names) * 10_000), **more)


class Case(NamedTuple):
    name: str
    data: bytes
    options: dict = {}  # of rocprof_reference.sheets
    warns: str = ""  # text that standard error must contain; "" for empty
    xlsx: bool = True
    expect: object = None  # the document, if Python's json cannot read the data


def encoded(value, ascii_only=True):
    return json.dumps(value, ensure_ascii=ascii_only).encode()


def raw_controls(text):
    """JSON with every escape, except those of quote and backslash, written as the character itself."""
    plain = lambda m: m.group(0) if m.group(1) in '"\\' else json.loads(f'"{m.group(0)}"')
    return re.sub(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})', plain, text)


def small_cases():
    yield Case("smallest trace", b'{"rocprofiler-sdk-tool":[{"buffer_records":{}}]}', warns="No kernel events")
    yield Case("no dispatches, but copies", encoded(document([], copies=[(5, 9)])), warns="No kernel events")
    yield Case("one kernel", encoded(document([dispatch(1000, 5000)], [symbol(1, truncated_kernel_name="gemm")])))
    no_time = {"start_timestamp": 10, "end_timestamp": 10, "dispatch_info": {"kernel_id": 4}}
    yield Case("one kernel that took no time", encoded(
        {"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": [no_time]}}]}), {"bins": 2})
    yield Case("an empty record", encoded(document([{}])), warns="1 without a start or a duration")
    tiny = document(
        [dispatch(2000, 5000, 1, 1), dispatch(4000, 9000, 2, 2, stream=3), dispatch(20000, 20007, 9, 3),
         dispatch(30000, 31000, 1, 4, grid=(8, 8, 2)), dispatch(40000, 60000, 3, 5), dispatch(9000, 9005, 2, 6)],
        [symbol(1, truncated_kernel_name="Cijk_A.kd"),
         symbol(2, truncated_kernel_name="", formatted_kernel_name='fmt,2 "q"'),
         symbol(3, kernel_name="ncclDevKernel")],
        [(8000, 12000)], (1000, 101000))
    for topk in (None, 0, 1, 5, 6, 100, -1, -5, -6, -100):
        # The old name, which takes what is below 0, writes CSV files or a workbook.
        yield Case(f"tiny trace, topk {topk}", encoded(tiny), {"topk": topk, "bins": 4}, xlsx=(topk or 0) >= 0)
    for threshold in (0, 1, 4, 5, 20, 21, 1_000_000, 10**15):
        for bins in (1, 3, 7, 1000):
            yield Case(f"tiny trace, below {threshold} µs, {bins} bins", encoded(tiny),
                       {"threshold_us": threshold, "bins": bins})
    yield Case("symbols: the last of an id counts, names may be missing", encoded(document(
        [dispatch(i * 100, i * 100 + 50 + i, i, i) for i in range(8)],
        [symbol(0, truncated_kernel_name="first"), symbol(0, truncated_kernel_name="second"),
         symbol(1, truncated_kernel_name="", formatted_kernel_name="", kernel_name=""),
         symbol(2, truncated_kernel_name="", formatted_kernel_name=""), symbol(3), symbol(4, kernel_name="k"),
         symbol(5, formatted_kernel_name="f", kernel_name="k"), symbol(-6, kernel_name="minus six")])))
    yield Case("symbols after the records", b'{"rocprofiler-sdk-tool":[{"buffer_records":{"kernel_dispatch":[%s]},'
               b'"kernel_symbols":[{"truncated_kernel_name":"late","kernel_id":1}],'
               b'"metadata":{"fini_time":9,"init_time":1}}]}'
               % encoded(dispatch(2, 5)))
    yield Case("times at their limits", encoded(document(
        [dispatch(0, 1, number=1), dispatch(2**62, 2**62 + 1000, number=2), dispatch(5, 2**53 + 1, number=3)],
        window=(0, 2**62 + 5000))))
    yield Case("records that end before they start", encoded(document(
        [dispatch(5000, 4000, number=1), dispatch(100, 900, number=2), dispatch(700, 650, number=3)],
        window=(0, 9000))), warns="2 that end before they start")
    yield Case("a window of zero length", encoded(document([dispatch(0, 10)], window=(7, 7))))
    yield Case("a window that ends before it starts", encoded(document([dispatch(0, 10)], window=(9, 7))))
    yield Case("all kernels at the same time", encoded(document([dispatch(100, 200, number=i) for i in range(50)], [],
                                                      [(150, 250)] * 20)))
    yield Case("ties of many lengths", encoded(document(
        [dispatch(i * 10, i * 10 + i % 3, i % 7, i) for i in range(1, 2001)], window=(0, 30_000))), {"bins": 5})
    yield Case("large and negative numbers", encoded(document(
        [dispatch(1, 2, stream=2**63 - 1, agent=-1, thread=-2**63, number=2**62, grid=(0, -1, 2**40))])))


def name_cases():
    odd = rocprof_generator.ODD_NAMES
    yield Case("unusual names, escaped", encoded(named(odd)), warns="32,767|32767")
    yield Case("unusual names, as UTF-8", encoded(named(odd), False), warns="32,767|32767")
    yield Case("unusual names, control characters as they are", raw_controls(encoded(named(odd), False).decode()).encode(),
               warns="32,767|32767")
    for name in odd:
        if len(name) < XLSX_CELL_LIMIT / 2:
            yield Case(f"alone: {name[:30]!r}", encoded(named([name])))
    yield Case("unusual names, twice", encoded(named(odd[:30] + odd[:30])))
    yield Case("the same name under many ids", encoded(named(["same"] * 300)))
    yield Case("names that differ in their last letter", encoded(named(["k" * 300 + chr(65 + i) for i in range(60)])))
    many = 20_000 if harness.LONG else 4_000
    yield Case(f"{many} names", encoded(named([f"kernel_{i:05d}_{'ab'[i % 2] * (i % 50)}" for i in range(many)])))
    yield Case("every length of name from 0 to 300", encoded(named(["n" * i for i in range(301)])))
    yield Case("lone surrogates", encoded(named(["\ud800 high", "low \udc00", "\udc00\ud800", "end \ud83d"])),
               expect=named(["\ufffd high", "low \ufffd", "\ufffd\ufffd", "end \ufffd"]))
    bad = [(b"\xff", "\ufffd"), (b"caf\xe9 au lait", "caf\ufffd au lait"), (b"\xc3", "\ufffd"), (b"\x80x", "\ufffdx"),
           (b"x\xe2y\xf0z", "x\ufffdy\ufffdz"), (b"ok \xc3\xa9", "ok \u00e9")]
    holders = [f"@{i}@" for i in range(len(bad))]
    data = encoded(named(holders))
    for holder, (raw, _) in zip(holders, bad):
        data = data.replace(holder.encode(), raw)
    yield Case("invalid UTF-8", data, expect=named([meaning for _, meaning in bad]))
    yield Case("characters that XML forbids", encoded(named(["a\ufffeb", "c\uffffd", "plain"])))
    yield Case("NUL in a name", encoded(named(["a\0b", "\0", "c\0"])))


def generated_cases(folder):
    path = os.path.join(folder, "generated.json")
    for name, options, warns in (
            ("generated", dict(), ""), ("one GPU", dict(agents=1, dispatches=700), ""),
            ("eight GPUs", dict(agents=8, dispatches=9000 if harness.LONG else 3000, copies=300), ""),
            ("three processes", dict(processes=3, dispatches=400, api_calls=90), "process"),
            ("many symbols", dict(symbols=3000, dispatches=500), ""),
            ("no copies", dict(copies=0, dispatches=5), "")):
        rocprof_generator.write_trace(path, rocprof_generator.Options(**options))
        with open(path, "rb") as file:
            yield Case(name, file.read(), {"bins": 33, "threshold_us": 40}, warns)


# ---- reading the outputs ----

def unescape_xlsx(text):
    """Decodes the _xHHHH_ notation of the file format."""
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m.group(1), 16)), text)


def read_xlsx(path):
    """Sheets as {name: (headings, rows)} with Python values, and problems of the document."""
    import openpyxl
    warnings.filterwarnings("error", module="openpyxl")
    try:
        book = openpyxl.load_workbook(path)
    except Exception as error:
        return None, [f"openpyxl cannot read it: {type(error).__name__}: {str(error)[-200:]}"]
    sheets, problems = {}, []
    for sheet in book:
        rows = list(sheet.iter_rows())
        if sheet._hyperlinks or any(cell.data_type == "f" for row in rows for cell in row):
            problems.append(f"{sheet.title} contains links or formulas")
        values = [[unescape_xlsx(cell.value) if isinstance(cell.value, str) else cell.value for cell in row] for row in rows]
        sheets[sheet.title] = (values[0] if values and values[0] != [None] else [], values[1:])
    return sheets, problems


def read_sqlite(path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    problem = base.execute("pragma integrity_check").fetchone()[0]
    if problem != "ok":
        return None, [problem]
    sheets = {}
    for (name,) in base.execute("select name from sqlite_master where type = 'table'").fetchall():
        cursor = base.execute('select * from "%s"' % name.replace('"', '""'))
        sheets[name] = ([column[0] for column in cursor.description], [list(row) for row in cursor])
    base.close()
    return sheets, []


# ---- comparing ----


def same_number(expected, found):
    return math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-9)


def same_csv_cell(expected, found):
    """Also checks how numbers are written: integers without decimals, others with the fewest digits."""
    if expected is None:
        return found == ""
    if found == str(expected):
        return True
    if isinstance(expected, str) or not same_number(expected, float(found)):
        return False
    whole = re.fullmatch(r"-?\d+", found)
    return bool(whole) if isinstance(expected, int) and expected != 0 else bool(whole) or repr(float(found)) == found


def same_value(expected, found):
    if expected is None or isinstance(expected, str):
        return expected == found
    return isinstance(found, (int, float)) and same_number(expected, found)


def same_xlsx_value(expected, found):
    if not isinstance(expected, str):
        return same_value(expected, found)
    if expected == "":
        return found in (None, "")
    units = expected.encode("utf-16-le")
    if len(units) <= 2 * XLSX_CELL_LIMIT:
        return expected == found or re.sub("[\0\ufffe\uffff]", "\ufffd", expected) == found
    kept = found.encode("utf-16-le")  # truncated, perhaps with a mark at the end
    return len(kept) <= 2 * XLSX_CELL_LIMIT and len(kept) > 64_000 and kept[:64_000] == units[:64_000]


def in_tie_order(rows, sort_column, cumulative):
    """Rows with ties ordered by name, and separately the cumulative column, which does not depend on the order of ties."""
    rows = [list(row) for row in rows]
    running = [row.pop(cumulative) for row in rows]
    column = sort_column - (cumulative < sort_column)
    key = lambda row: (-round(float(row[column]), 9), row[0])
    in_order = all(float(a[column]) >= float(b[column]) - 1e-9 for a, b in zip(rows, rows[1:]))
    return sorted(rows, key=key) if in_order else rows, running


def differences(sheet, expected, found, same):
    (headings, rows), (found_headings, found_rows) = expected, found
    if list(headings) != list(found_headings):
        return [f"{sheet}: headings {found_headings}"]
    if len(rows) != len(found_rows):
        return [f"{sheet}: {len(found_rows)} rows, expected {len(rows)}"]
    if sheet in TIES and rows:
        rows, running = in_tie_order(rows, *TIES[sheet])
        found_rows, found_running = in_tie_order(found_rows, *TIES[sheet])
        rows, found_rows = rows + [[v] for v in running], found_rows + [[v] for v in found_running]
    for number, (row, found_row) in enumerate(zip(rows, found_rows)):
        if row == found_row:
            continue
        for column, (cell, found_cell) in enumerate(zip(row, found_row)):
            if not same(cell, found_cell):
                return [f"{sheet} row {number} column {column}: {str(found_cell)[:80]!r}, expected {str(cell)[:80]!r}"]
        if len(row) != len(found_row):
            return [f"{sheet} row {number} has {len(found_row)} cells"]
    return []


def compare(expected, found, same, skip_sheets_without_columns=False):
    wanted = {name: sheet for name, sheet in expected.items() if sheet[0] or not skip_sheets_without_columns}
    if list(found) != list(wanted):
        return [f"sheets are {list(found)}"]
    return [trouble for name in wanted for trouble in differences(name, wanted[name], found[name], same)]


def read_csvs(folder, names, allowed=frozenset()):
    extra = set(os.listdir(folder)) - {f"{name}.csv" for name in names} - allowed
    found = {name: harness.read_csv(os.path.join(folder, f"{name}.csv")) for name in names}
    return found, [f"unexpected: {extra}"] if extra else []


def command_for(program, path, folder, options, documents):
    given = {"threshold_us": "short_kernel_threshold_us", "bins": "short_kernel_histogram_bins", "topk": "topk_kernels"}
    command = [*program, "--profile_json_path", path, "--output_csvs_dir", os.path.join(folder, "csv"), "--kernel_details",
               "--short_kernel_study", "--no_extra_sheets", "--quiet"]
    for name, value in options.items():
        if value is not None:
            command += [f"--{given[name]}", str(value)]
    for option, name in documents:
        command += [option, os.path.join(folder, name)]
    return command


def check_case(binary, case, folder):
    path = os.path.join(folder, "odd_results.json")
    with open(path, "wb") as file:
        file.write(case.data)
    documents = [("--output_db", "report.db")] + ([("--output_xlsx_path", "report.xlsx")] if case.xlsx else [])
    program = [binary, "rocprof"]
    if (case.options.get("topk") or 0) < 0:  # a usage error; a Python slice under the old name
        refused = harness.run(command_for(program, path, folder, case.options, documents))
        if refused.code != 2 or "--topk_kernels: must be at least 0" not in refused.stderr or len(os.listdir(folder)) > 1:
            return [f"not refused: exit code {refused.code}: {refused.stderr[:300]}"]
        program = [os.path.join(os.path.dirname(binary), OLD_NAME)]
    outcome = harness.run(command_for(program, path, folder, case.options, documents))
    if outcome.problems() or outcome.code != 0:
        return outcome.problems() + [f"exit code {outcome.code}: {outcome.stderr[:300]}"]
    problems = []
    if bool(case.warns) != bool(outcome.stderr) or not re.search(case.warns, outcome.stderr):
        problems.append(f"standard error is {outcome.stderr[:200]!r}, not {case.warns!r}")
    read = rocprof_reference.run_of(case.expect or json.loads(case.data.decode(), strict=False))
    expected = rocprof_reference.sheets(read, **case.options)
    found, wrong = read_csvs(os.path.join(folder, "csv"), expected)
    problems += [f"csv: {t}" for t in wrong + compare(expected, found, same_csv_cell)]
    found, wrong = read_sqlite(os.path.join(folder, "report.db"))
    problems += [f"sqlite: {t}" for t in wrong or compare(expected, found, same_value, skip_sheets_without_columns=True)]
    if case.xlsx:
        found, wrong = read_xlsx(os.path.join(folder, "report.xlsx"))
        problems += [f"xlsx: {t}" for t in wrong or compare(expected, found, same_xlsx_value)]
    left = set(os.listdir(folder)) - {"odd_results.json", "csv", "report.db", "report.xlsx"}
    return problems + ([f"left files: {left}"] if left else [])


# ---- a huge trace ----


def check_million(binary, count, tally):
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        path = os.path.join(folder, "million_results.json")
        run = rocprof_generator.write_trace(path, rocprof_generator.Options(dispatches=count, copies=2000))
        outcome = harness.run(command_for([binary, "rocprof"], path, folder, {}, [("--output_db", "report.db")]))
        if outcome.problems() or outcome.code != 0:
            tally.add(f"{count} dispatches", outcome.problems() + [f"exit code {outcome.code}: {outcome.stderr[:300]}"])
            return
        expected = rocprof_reference.sheets(run)
        found, wrong = read_csvs(os.path.join(folder, "csv"), expected)
        tally.add(f"{count} dispatches, csv", wrong + compare(expected, found, same_csv_cell))
        del found
        found, wrong = read_sqlite(os.path.join(folder, "report.db"))
        tally.add(f"{count} dispatches, sqlite", wrong or compare(expected, found, same_value))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--million", type=int, default=250_000 if harness.LONG else 100_000, help="dispatches of the huge trace")
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        cases = [case for made in (small_cases(), name_cases(), generated_cases(folder)) for case in made
                 if options.only in case.name]
    check = lambda case, folder: check_case(binary, case, folder)
    harness.run_all(cases, check, tally)
    if options.million and not options.only:
        check_million(binary, options.million, tally)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
