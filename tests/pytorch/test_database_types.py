#!/usr/bin/env python3
"""Types in SQLite databases and workbooks: integers are INTEGER, floats REAL, strings TEXT, missing values NULL.

    python3 -m tests.pytorch.test_database_types --bin build/gputally [NAME]

The sizes of matrix products are computed here from the `Input Dims` of the raw trace and compared with the database, values
and types. The other tests compare whole databases with the CSV files of the same report, in which a cell has only its text.
"""
import collections
import glob
import gzip
import json
import os
import re
import sqlite3
import sys
import tempfile

import openpyxl

from tests.common import harness

NUMBER = re.compile(r"-?(\d+(\.\d*)?(e[-+]?\d+)?|inf)")
# Names that may consist of digits, and numbers that may not fit 64 bits.
NAMES = {"Process Group Name", "Hive_Id", "batches"}  # the last: a list of numbers


# ---- a small trace ----


class Trace:
    def __init__(self):
        self.events, self.ts = [], 1000

    def event(self, **fields):
        self.events.append({"ph": "X", **fields})

    def op(self, name, dims, types=None, concrete=None):
        """An op that launches one kernel of 5 us."""
        self.ts += 100
        number = len(self.events)
        args = {"Input Dims": dims, "Input type": types or ["c10::BFloat16"] * len(dims), "External id": number,
                "Input Strides": [strides(shape) for shape in dims], "Concrete Inputs": concrete or [""] * len(dims)}
        self.event(cat="cpu_op", name=name, pid=1, tid=1, ts=self.ts, dur=50, args=args)
        self.event(cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=self.ts + 5, dur=5,
                   args={"correlation": number, "External id": number})
        flow = {"cat": "ac2g", "name": "ac2g", "id": number}
        self.events.append({"ph": "s", "pid": 1, "tid": 1, "ts": self.ts + 5, **flow})
        self.events.append({"ph": "f", "pid": 0, "tid": 7, "ts": self.ts + 20, "bp": "e", **flow})
        self.event(cat="kernel", name="k", pid=0, tid=7, ts=self.ts + 20, dur=5,
                   args={"correlation": number, "stream": 7, "device": 0, "External id": number})

    def write(self, folder):
        path = os.path.join(folder, "trace.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": self.events}, file)
        return path


def strides(shape):
    found, step = [], 1
    for size in reversed(shape):
        found.insert(0, step)
        step *= size
    return found


def products():
    trace = Trace()
    for m, n, k in ((9216, 512, 64), (128, 512, 64), (9216, 512, 64), (9001, 3, 5), (9000, 3, 5), (10, 9999, 7)):
        trace.op("aten::mm", [[m, k], [k, n]])
    trace.op("aten::addmm", [[512], [20000, 64], [64, 512], [], []])
    trace.op("aten::bmm", [[12, 10000, 64], [12, 64, 77]])
    return trace


# ---- running ----


def report(binary, path, folder, *options):
    """The database, the folder of CSV files and the workbook of one report."""
    database, sheets, book = (os.path.join(folder, name) for name in ("report.db", "sheets", "report.xlsx"))
    done = harness.run([binary, "report", path, "--output_db", database, "--output_csvs_dir", sheets, "--output_xlsx_path", book,
                        "--quiet", *options])
    assert done.code == 0, done.stderr
    return sqlite3.connect(database), sheets, book


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


# ---- matrix products, from the raw trace ----


def raw_products(path):
    """How often each product (name, B, M, N, K) occurs, from the shapes in the trace."""
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        document = json.load(file)
    found = collections.Counter()
    for event in document["traceEvents"] if isinstance(document, dict) else document:
        dims = event.get("args", {}).get("Input Dims")
        if not dims or event.get("ph") != "X":
            continue
        if event["name"] == "aten::mm":
            a, b = dims[0], dims[1]
            found["aten::mm", 1, a[0], b[1], a[1]] += 1
        elif event["name"] == "aten::addmm":
            a, b = dims[1], dims[2]
            found["aten::addmm", 1, a[0], b[1], a[1]] += 1
        elif event["name"] == "aten::bmm":
            a, b = dims[0], dims[1]
            found["aten::bmm", a[0], a[1], b[2], a[2]] += 1
    return found


def compare_products(database, expected):
    columns = [quoted("param: " + name) for name in "BMNK"]
    rows = database.execute(f"SELECT name, {', '.join(columns)}, name_count FROM GEMM "
                            "WHERE name IN ('aten::mm', 'aten::addmm', 'aten::bmm')").fetchall()
    found = collections.Counter()
    for *key, count in rows:
        assert all(type(size) is int for size in key[1:]), key
        found[tuple(key)] += count
    assert found == expected, f"{found} instead of {expected}"
    declared = {name: kind for _, name, kind, *_ in database.execute("PRAGMA table_info(GEMM)")}
    assert all(declared["param: " + name] == "INTEGER" for name in "BMNK"), declared


def test_sizes_of_products_are_integers(binary):
    with tempfile.TemporaryDirectory() as folder:
        path = products().write(folder)
        database, _, book = report(binary, path, folder)
        expected = raw_products(path)
        compare_products(database, expected)
        large = database.execute('SELECT name, "param: M" FROM GEMM WHERE "param: M" > 9000').fetchall()
        assert sorted(large) == [("aten::addmm", 20000), ("aten::bmm", 10000), ("aten::mm", 9001), ("aten::mm", 9216)], large
        biased = database.execute('SELECT name FROM GEMM WHERE "param: bias"').fetchall()
        assert biased == [("aten::addmm",)], biased

        rows = list(openpyxl.load_workbook(book)["GEMM"].iter_rows(values_only=True))
        at = [rows[0].index("param: " + name) for name in "BMNK"]
        in_book = {(row[rows[0].index("name")], *(row[column] for column in at)) for row in rows[1:]}
        assert in_book == set(expected), in_book


def test_sizes_of_products_in_real_traces(binary):
    paths = glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz"))
    paths += glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "*bert*.json.gz"))
    paths += glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "*Qwen1.5*.json.gz"))
    compared = 0
    for path in sorted(paths):
        expected = raw_products(path)
        if not expected:
            continue
        with tempfile.TemporaryDirectory() as folder:
            compare_products(report(binary, path, folder)[0], expected)
        compared += 1
    assert compared >= 4, compared


# ---- columns with gaps, and with values of several types ----


def test_integers_with_gaps(binary):
    """The scales of a block-scaled product are blocks of 128; aten::mm has no such parameter. CSV files show 128.0, as pandas
    prints integers in a column with gaps."""
    with tempfile.TemporaryDirectory() as folder:
        trace = products()
        trace.op("aiter::gemm_a8w8_blockscale_ck", [[64, 7168], [2048, 7168], [64, 56], [16, 56], [64, 2048]],
                 ["c10::Float8_e4m3fn"] * 2 + ["float"] * 2 + ["c10::BFloat16"])
        database, sheets, book = report(binary, trace.write(folder), folder)
        blocks = database.execute('SELECT DISTINCT name, typeof("param: block_k"), "param: block_k" FROM GEMM').fetchall()
        assert sorted(blocks) == [("aiter::gemm_a8w8_blockscale_ck", "integer", 128), ("aten::addmm", "null", None),
                                  ("aten::bmm", "null", None), ("aten::mm", "null", None)], blocks
        headings, rows = harness.read_csv(os.path.join(sheets, "GEMM.csv"))
        assert {row[headings.index("param: block_k")] for row in rows} == {"", "128.0"}
        compare_documents(database, sheets, book)


def parameters(rows):
    """{(op, UID): {parameter: cell}} of a sheet with heading."""
    headings, *rows = rows
    return {(row[0], str(row[headings.index("UID_first")])): {name: cell for name, cell in zip(headings, row) if name.startswith("param: ")} for row in rows}


def under_old_name(binary, folder, *options):
    """Calls the program by the name of TraceLens; returns the sheets of its workbook."""
    name, book = os.path.join(folder, "TraceLens_generate_perf_report_pytorch"), os.path.join(folder, "old.xlsx")
    os.symlink(binary, name)
    done = harness.run([name, *options, "--output_xlsx_path", book])
    assert done.code == 0, done.stderr
    return {sheet.title: [[cell.value for cell in row] for row in sheet] for sheet in openpyxl.load_workbook(book)}


def test_parameters_under_old_names(binary):
    """pandas makes parameters text (astype(str)): an absent one is nan, None stays None in a column of objects, integers beside an
    absent one are floats. Under our own name they are numbers and empty cells."""
    with tempfile.TemporaryDirectory() as folder:
        trace = products()
        trace.op("aiter::gemm_a8w8_blockscale_ck", [[64, 7168], [2048, 7168], [64, 56], [16, 56], [64, 2048]],
                 ["c10::Float8_e4m3fn"] * 2 + ["float"] * 2 + ["c10::BFloat16"])
        trace.op("aten::add", [[8, 4], [8, 4], []], ["float", "float", ""])
        path = trace.write(folder)
        sheets = under_old_name(binary, folder, "--profile_json_path", path)
        by_op = {op: cells for (op, _), cells in parameters(sheets["GEMM"]).items()}
        wanted = {"aten::bmm": ("10000", "12", "False", "nan"), "aten::addmm": ("20000", "1", "True", "nan"), "aiter::gemm_a8w8_blockscale_ck": ("64", "1", "False", "128.0")}
        for op, values in wanted.items():
            assert tuple(by_op[op]["param: " + name] for name in ("M", "B", "bias", "block_k")) == values, (op, by_op[op])
        add, = parameters(sheets["BinaryElementwise"]).values()
        assert (add["param: shape_in1"], add["param: stride_output"]) == ("(8, 4)", "None"), add
        own = report(binary, path, folder)[2]
        cells = [[cell.value for cell in row] for row in openpyxl.load_workbook(own)["GEMM"]]
        assert {type(row["param: M"]) for row in parameters(cells).values()} == {int}


def test_parameters_of_the_reference(binary):
    """The same cells as TraceLens wrote, byte for byte."""
    compared = 0
    for case in ("pt_norm_layers", "pt_mi300_bert", "pt_hta_mi250"):
        place = os.path.join(os.path.dirname(harness.CONFORMANCE_TRACES), "cases", case)
        if not os.path.isdir(place):
            raise harness.Skipped(f"no case {place}")
        with open(os.path.join(place, "case.json"), encoding="utf-8") as file:
            options = [word.format(traces=harness.CONFORMANCE_TRACES, out="-") for word in json.load(file)["args"][1:]]
        at = options.index("--output_csvs_dir")
        with tempfile.TemporaryDirectory() as folder:
            sheets = under_old_name(binary, folder, *options[:at], *options[at + 2:])
        for path in glob.glob(os.path.join(place, "expected", "*.csv")):
            headings, rows = harness.read_csv(path)
            if not any(name.startswith("param: ") for name in headings):
                continue
            wanted, got = parameters([headings, *rows]), parameters(sheets[os.path.basename(path)[:-4][:31]])
            for key in wanted.keys() & got.keys():
                assert got[key] == wanted[key], (case, path, key)
                compared += len(got[key])
    assert compared > 300, compared


def test_values_of_several_types(binary):
    """The bias of a gradient is [] or true, depending on whether there is one."""
    concrete = ["", "", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"]
    with tempfile.TemporaryDirectory() as folder:
        trace = Trace()
        for bias in ([], [16]):
            trace.op("aten::convolution_backward", [[2, 16, 8, 8], [2, 4, 8, 8], [16, 4, 1, 1], bias, [], [], [], [], [], [], []],
                     ["float", "float", "float", "", "", "", "", "", "", "", ""], concrete)
        database, sheets, book = report(binary, trace.write(folder), folder)
        found = database.execute('SELECT typeof("param: bias"), "param: bias", "param: groups" FROM CONV_bwd ORDER BY 1').fetchall()
        assert found == [("integer", 1, 1), ("text", "[]", 1)], found
        compare_documents(database, sheets, book)


EXTENSION = """
class Table:
    columns = ["mixed", "gaps", "numbers", "digits"]
    cells = {"mixed": [1, "1", 2.5, None, "x"], "gaps": [1, None, 3, None, 5], "numbers": [1, 2.5, None, 4, 5],
             "digits": ["1", "2", "3.5", "", "1e5"]}

    def __getitem__(self, name):
        class Column:
            @staticmethod
            def tolist():
                return Table.cells[name]
        return Column

def get_additional_dataframes_extension(tree):
    return {"own": Table()}
"""


def test_sheets_of_extensions(binary):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "own.py")
        with open(file, "w", encoding="utf-8") as out:
            out.write(EXTENSION)
        database, _, _ = report(binary, products().write(folder), folder, "--extension_file", file)
        columns = list(zip(*database.execute("SELECT mixed, gaps, numbers, digits FROM own").fetchall()))
        expected = [(1, "1", 2.5, None, "x"), (1, None, 3, None, 5), (1.0, 2.5, None, 4.0, 5.0), ("1", "2", "3.5", "", "1e5")]
        assert [[(type(cell), cell) for cell in column] for column in columns] == \
            [[(type(cell), cell) for cell in column] for column in expected], columns


# ---- whole documents ----


def check_cell(place, value, text):
    """A value of the database and its text in the CSV file."""
    if value is None:
        assert text in ("", "nan", "None"), f"{place}: NULL where the CSV file has {text}"
    elif isinstance(value, str):
        assert value == text, f"{place}: {value} where the CSV file has {text}"
        is_number = NUMBER.fullmatch(text) or text in ("True", "False")
        assert not is_number or place[1] in NAMES, f"{place}: the text {text}"
    elif text in ("True", "False"):
        assert value == (text == "True"), f"{place}: {value} where the CSV file has {text}"
    else:
        assert value == float(text), f"{place}: {value} where the CSV file has {text}"
        if isinstance(value, float):  # an integer may be printed as a float, but not the other way round
            assert "." in text or "e" in text or "inf" in text, f"{place}: REAL where the CSV file has {text}"


def compare_documents(database, sheets, book):
    names = [name for name, in database.execute("SELECT name FROM sqlite_schema")]
    assert names
    workbook = openpyxl.load_workbook(book, read_only=True)
    for name in names:
        headings, rows = harness.read_csv(os.path.join(sheets, name + ".csv"))
        found = database.execute(f"SELECT * FROM {quoted(name)}").fetchall()
        assert len(found) == len(rows), name
        for values, texts in zip(found, rows):
            for heading, value, text in zip(headings, values, texts):
                check_cell((name, heading), value, text)
        for row in list(workbook[name[:31]].iter_rows(values_only=True))[1:]:
            for heading, cell in zip(headings, row):
                is_text = isinstance(cell, str) and NUMBER.fullmatch(cell) and cell != "inf"
                assert not is_text or heading in NAMES, f"{name}, {heading}: the workbook has the text {cell}"


def test_documents_of_all_reports(binary):
    paths = sorted(glob.glob(os.path.join(harness.FIXTURES, "*", "*.*")))
    paths += sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "*[sS]glang*.json.gz")))[:1]
    paths = [path for path in paths if not path.endswith((".py", ".md", ".ops.json", ".truth.json"))]
    assert len(paths) > 15, paths
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            compare_documents(*report(binary, path, folder))


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
