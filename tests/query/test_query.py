#!/usr/bin/env python3
"""gputally query: the tables are those of reports, and the answers are what Python's sqlite3 gives for the same tables.

    python3 -m tests.query.test_query --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import ast
import csv
import io
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from tests.common import harness
from tests.common.harness import FIXTURES
from tests.partial import generate_ranks
from tests.rocprof import generate_run

EXAMPLES = os.path.join(harness.ROOT, "examples")
# Traces of several profilers, whose reports share some sheets with other columns.
KINDS = {"train.json.gz": "pytorch/training.json.gz", "collectives.json.gz": "pytorch/collectives.json.gz",
         "copies.json.gz": "pytorch/copies.json.gz", "tiny_results.json": "rocprof/tiny_results.json"}


class Place:
    """A folder for traces and outputs, in which commands run."""

    def __init__(self, binary):
        self.binary = binary
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="gputally-query-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def at(self, *names):
        return os.path.join(self.path, *names)

    def run(self, *words, code=0, **more):
        done = harness.run([self.binary, "query", *words], cwd=self.path, **more)
        assert done.code == code, (words, done.code, done.stdout[-500:], done.stderr[-1000:])
        return done

    def ask(self, sql, *words, code=0):
        """The answer as a list of objects."""
        done = self.run(sql, *words, "--format", "json", code=code)
        return json.loads(done.stdout)

    def report(self, trace):
        """The database that `gputally report` writes for one trace."""
        path = self.at("report-" + os.path.basename(trace) + ".db")
        done = harness.run([self.binary, "report", trace, "--no_html", "--output_db", path], cwd=self.path)
        assert done.code == 0, done.stderr
        return sqlite3.connect(path)

    def kinds(self):
        for name, source in KINDS.items():
            shutil.copy(os.path.join(FIXTURES, source), self.at(name))
        for source in sorted(os.listdir(os.path.join(FIXTURES, "jax"))):
            if source.endswith(".xplane.pb.gz"):
                shutil.copy(os.path.join(FIXTURES, "jax", source), self.at("j.xplane.pb.gz"))
                return [*KINDS, "j.xplane.pb.gz"]
        return list(KINDS)

    def ranks(self, count=4, folder="ranks", **more):
        os.makedirs(self.at(folder), exist_ok=True)
        for rank in range(count):
            generate_ranks.write_trace(self.at(folder, f"rank{rank}_trace.json"), rank, count, **more)
        return folder


def lists(value):
    """A value without tuples, as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [lists(item) for item in value]
    return {key: lists(item) for key, item in value.items()} if isinstance(value, dict) else value


def read_literal(text):
    """The list or dict that a cell of a sheet shows as Python does; None for other cells."""
    try:
        value = ast.literal_eval(text) if isinstance(text, str) and text[:1] in ("(", "[", "{") else None
    except (ValueError, SyntaxError):
        return None
    return lists(value)


def names_of(database):
    return [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def rows_of(database, table, *more):
    rows = database.execute(f'SELECT * FROM "{table}" {" ".join(more)}')
    return [column[0] for column in rows.description], rows.fetchall()


def same(found, cell):
    """Whether a table has the cell of a report: also of the same type, but lists as JSON. NaN does not occur."""
    literal = read_literal(cell)
    if literal is not None:
        return json.loads(found) == literal
    return type(found) is type(cell) and found == cell


# ---- the tables ----

def test_tables_are_those_of_reports(binary):
    """Every sheet of every trace, with every cell and its type, in the order of the traces; nothing else."""
    with Place(binary) as place:
        traces = place.kinds()
        place.run("SELECT 1", *traces, "--output_db", "joined.db", "-q")
        joined = sqlite3.connect(place.at("joined.db"))
        assert joined.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        left = {name: rows_of(joined, name)[1] for name in names_of(joined)}
        assert [row[:1] + row[2:] for row in left.pop("traces")] == [
            (name, name, "rocprof" if "results" in name else "jax" if "xplane" in name else "pytorch", None) for name in traces]
        shared = set()
        for trace in traces:
            own = place.report(trace)
            for table in names_of(own):
                columns, expected = rows_of(own, table)
                heads = rows_of(joined, table, "LIMIT 0")[0]
                assert heads[:2] == ["trace", "rank"], heads
                # A sheet's own column of this name gets a number.
                places = [heads.index(name + "_2" if name in ("trace", "rank") else name) for name in columns]
                for row in expected:
                    found = left[table].pop(0)
                    assert found[0] == trace and all(same(found[at], cell) for at, cell in zip(places, row)), (table, found, row)
                    others = [cell for at, cell in enumerate(found) if at > 1 and at not in places]
                    assert all(cell is None for cell in others), (table, found)
                    shared.update([table] if others else [])
        assert not any(left.values()), {name: rows[:2] for name, rows in left.items() if rows}
        assert "gpu_timeline" in names_of(joined) and shared, "no sheet has columns that only some traces have"


def test_lists_are_json(binary):
    """SQLite's JSON functions read every list, tuple and dict of every sheet, and nothing else is changed."""
    with Place(binary) as place:
        traces = place.kinds()
        more = ["--extra", "--include_overlap_info", "--short_kernel_study", "--include_call_stack", "--detect_recompute"]
        place.run("SELECT 1", *traces, *more, "--output_db", "joined.db", "-q")
        joined = sqlite3.connect(place.at("joined.db"))
        checked = set()
        for table in names_of(joined):
            columns, rows = rows_of(joined, table)
            for row in rows:
                for name, cell in zip(columns, row):
                    if read_literal(cell) is not None or (isinstance(cell, str) and cell[:2] in ("[[", "((", "{'", "('", "['", '["', '{"')):
                        json.loads(cell)
                        checked.add(name)
        assert {"Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Input dims", "Input Dims_first", "Categories",
                "perf_params", "param: stride_A", "kernel_details_summary", "kernel_details", "call_stack_full",
                "trunc_kernel_details"} <= checked, checked
        done = harness.run([binary, "report", "train.json.gz", "--output_csvs_dir", "csvs", "-q"], cwd=place.path)
        assert done.code == 0, done
        with open(place.at("csvs", "ops_unique_args.csv"), newline="") as file:
            expected = [(row["name"], ast.literal_eval(row["Input Dims"])) for row in csv.DictReader(file)]
        expected = [(name, dims) for name, dims in expected if not name.startswith(("aten::_foreach", "aten::cat"))]  # lists of shapes
        found = place.ask('SELECT name, json_extract("Input Dims", \'$[1][0]\') AS size, json_array_length("Input Dims") AS count FROM ops_unique_args '
                          "WHERE name NOT REGEXP '^aten::(_foreach|cat)'", "train.json.gz")
        assert [(row["name"], row["size"], row["count"]) for row in found] == [
            (name, dims[1][0] if len(dims) > 1 and dims[1] else None, len(dims)) for name, dims in expected], found


def test_declared_types(binary):
    """A column is declared with the type of its values; test_tables.c has columns with several types."""
    with Place(binary) as place:
        traces = place.kinds()
        place.run("SELECT 1", *traces, "--output_db", "joined.db", "-q")
        joined = sqlite3.connect(place.at("joined.db"))
        listed = {(row["table"], row["column"]): row["type"] for row in json.loads(place.run(*traces, "--format", "json").stdout)}
        for table in names_of(joined):
            for _, column, declared, *_ in joined.execute(f'PRAGMA table_info("{table}")').fetchall():
                types = {kind for kind, in joined.execute(f'SELECT DISTINCT typeof("{column}") FROM "{table}"')} - {"null"}
                names = {"integer": "INTEGER", "real": "REAL", "text": "TEXT"}
                expected = names[types.pop()] if types else declared
                assert declared == expected, (table, column, declared, types)
                assert listed.pop((table, column)) == (declared or None), (table, column)
        assert not listed, listed


def test_list_of_tables(binary):
    with Place(binary) as place:
        traces = place.kinds()
        rows = json.loads(place.run(*traces, "--format", "json").stdout)
        text = place.run(*traces).stdout
        place.run("SELECT 1", *traces, "--output_db", "joined.db", "-q")
        joined = sqlite3.connect(place.at("joined.db"))
        for table in names_of(joined):
            count, having = joined.execute(f'SELECT count(*), count(DISTINCT trace) FROM "{table}"').fetchone()
            listed = {(row["rows"], row["traces"] >= having) for row in rows if row["table"] == table}
            assert listed == {(count, True)}, (table, listed, count, having)
            assert f"{table}: {count} row" in text, table
        assert '"time ms" REAL' in text, "names are quoted as SQL needs it"
        assert max(map(len, text.splitlines())) <= 100


def test_sheets_on_request(binary):
    """Sheets that reports have only with an option are made if the query names them."""
    with Place(binary) as place:
        generate_run.write_all(generate_run.make_run(4), place.at("run"))
        traces = ["run/json", os.path.join(FIXTURES, "pytorch", "training.json.gz")]
        for table in "kernel_details", "short_kernels_summary", "temporal_breakdown", "launch_stats_summary":
            assert place.ask(f"SELECT count(*) AS n FROM {table}", *traces)[0]["n"], table
        listed = {row["table"] for row in json.loads(place.run(*traces, "--format", "json").stdout)}
        assert "kernel_details" not in listed
        rows = place.ask('SELECT * FROM kernel_details', *traces)
        own = json.loads(place.run("SELECT * FROM kernel_details", *traces, "--kernel_details", "--format", "json").stdout)
        assert rows == own


# ---- answers ----

QUERIES = (
    "SELECT * FROM gpu_timeline",
    'SELECT trace, sum("time ms") FROM gpu_timeline WHERE type = \'busy_time\' GROUP BY trace ORDER BY 2 DESC, 1',
    'SELECT a.trace, b.trace, a."time ms" - b."time ms" FROM gpu_timeline a JOIN gpu_timeline b ON a.type = b.type AND a.trace < b.trace',
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i, i % 7 = 0 OR NULL, 'x' || i FROM n",
    "SELECT name, count(*) FROM ops_summary GROUP BY name HAVING count(*) > 1 ORDER BY name",
    'SELECT "rank", rank_2, title FROM findings ORDER BY gain_ms DESC LIMIT 10',
    "SELECT CASE WHEN rowid % 3 = 0 THEN 'text' WHEN rowid % 3 = 1 THEN 1 ELSE 2.5 END AS mixed, NULL AS none FROM ops_summary",
    "SELECT * FROM gpu_timeline WHERE 0",
    "VALUES (9223372036854775807, -9223372036854775808, 0.1, 1e308, '', NULL, 'a\"b,c', 'line\nbreak', 'µ')",
)


def cell_text(value):
    """As in the CSV files of reports."""
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def test_answers(binary):
    """The same rows as Python's sqlite3 gives, in every format."""
    with Place(binary) as place:
        traces = place.kinds()
        place.run("SELECT 1", *traces, "--output_db", "joined.db", "-q")
        joined = sqlite3.connect(place.at("joined.db"))
        for sql in QUERIES:
            rows = joined.execute(sql)
            names = [column[0] for column in rows.description]
            expected = rows.fetchall()
            found = place.ask(sql, *traces)
            assert all(same(a, b) for x, y in zip(found, expected) for a, b in zip(x.values(), y)), sql
            assert len(found) == len(expected) and all(len(row) == len(names) for row in found), sql
            assert [json.loads(line) for line in place.run(sql, *traces, "--format", "jsonl").stdout.splitlines()] == found
            text = place.run(sql, *traces, "--format", "csv").stdout
            heads, *cells = csv.reader(io.StringIO(text, newline=""))
            assert [name for name, own in zip(heads, names) if name not in (own, own + "_2")] == [], (heads, names)
            assert cells == [[cell_text(cell) for cell in row] for row in expected], sql
            for name in "x.csv", "x.json", "x.jsonl", "x.md", "x.txt", "x.xlsx", "deep/er/x.db":
                done = place.run(sql, *traces, "-o", name)
                assert done.stdout == f"wrote {name} ({len(expected)} row{'s' * (len(expected) != 1)})\n", done.stdout
            with open(place.at("x.csv"), newline="") as file:
                assert file.read() == text
            with open(place.at("x.json")) as file:
                assert json.load(file) == found
            again = sqlite3.connect(place.at("deep/er/x.db"))
            assert all(same(a, b) for x, y in zip(rows_of(again, "result")[1], expected) for a, b in zip(x, y)), sql


def test_functions(binary):
    with Place(binary) as place:
        ranks = place.ranks()
        numbers = "(WITH n(x) AS (VALUES (1), (2.5), (10), (NULL), (4)) SELECT x FROM n)"
        row, = place.ask(f"SELECT median(x) a, percentile(x, 25) b, percentile(x, 100) c, stddev(x) d, median(NULL) e FROM {numbers}", ranks)
        assert row["a"] == 3.25 and row["b"] == 2.125 and row["c"] == 10 and abs(row["d"] - statistics.stdev([1, 2.5, 10, 4])) < 1e-14 and row["e"] is None
        names = place.ask("SELECT DISTINCT \"Kernel name\" AS k FROM kernel_summary WHERE k REGEXP '(?i)^NCCL.*(Gather|Reduce)' ORDER BY k", ranks)
        assert [row["k"] for row in names] == ["ncclDevKernel_AllGather_RING_LL", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"]
        assert place.ask("SELECT NULL REGEXP 'x' a, 'x' REGEXP NULL b, 'äb' REGEXP '^.b$' c", ranks) == [{"a": None, "b": None, "c": 1}]


def test_same_for_any_number_of_threads(binary):
    with Place(binary) as place:
        traces = [*place.kinds(), place.ranks()]
        outputs = set()
        for threads in "1", "3", "16":
            printed = place.run("SELECT * FROM ops_summary", *traces, "--threads", threads, "-o", "x.csv", "--output_db", "x.db")
            files = tuple(open(place.at(name), "rb").read() for name in ("x.csv", "x.db"))
            table = place.run("SELECT trace, rank, name FROM ops_summary", *traces, "--threads", threads).stdout
            outputs.add((printed.stdout, printed.stderr, table, files))
        assert len(outputs) == 1


# ---- traces ----

def test_order_and_names_of_traces(binary):
    """By rank in a folder; names are paths where file names are equal."""
    with Place(binary) as place:
        place.ranks(11)
        rows = place.ask("SELECT trace, rank FROM gpu_timeline GROUP BY trace ORDER BY min(rowid)", "ranks")
        assert [(row["trace"], row["rank"]) for row in rows] == [(f"rank{rank}_trace.json", rank) for rank in range(11)]
        place.ranks(2, "other")
        rows = place.ask("SELECT trace, rank, path FROM traces", "other", "ranks/rank1_trace.json")
        assert [(row["trace"], row["rank"]) for row in rows] == [
            ("other/rank0_trace.json", 0), ("other/rank1_trace.json", 1), ("ranks/rank1_trace.json", 1)]
        assert all(row["path"] == row["trace"] for row in rows)
        shutil.copy(place.at("ranks/rank7_trace.json"), place.at("unnamed.json"))  # the trace says its rank
        assert place.ask("SELECT rank FROM traces", "unnamed.json") == [{"rank": 7}]
        shutil.copytree(place.at("other"), place.at("nodes/node0"))
        shutil.copytree(place.at("other"), place.at("nodes/node1"))
        for rank in range(2):  # copies count once
            with open(place.at(f"nodes/node1/rank{rank}_trace.json"), "a", encoding="utf-8") as file:
                file.write("\n")
        rows = place.ask("SELECT rank FROM traces", "nodes")
        assert [row["rank"] for row in rows] == [0, 1, 0, 1]


def test_folder_of_two_profilers(binary):
    with Place(binary) as place:
        place.ranks(1, "mixed")
        shutil.copy(os.path.join(FIXTURES, "rocprof", "tiny_results.json"), place.at("mixed"))
        done = place.run("SELECT format FROM traces", "mixed", "--format", "csv")
        assert done.stdout == "format\nrocprof\n"
        assert done.stderr == ("gputally: warning: mixed: the query covers the rocprofv3 files; to include its PyTorch trace, name it: "
                               "mixed/rank0_trace.json\n"), done.stderr
        assert len(place.ask("SELECT trace FROM traces", "mixed", "mixed/rank0_trace.json")) == 2


def test_names_with_quotes(binary):
    with Place(binary) as place:
        name = "o\"ne's [trace]; --x.json"
        generate_ranks.write_trace(place.at(name), 0, 2)
        assert place.ask("SELECT DISTINCT trace FROM gpu_timeline", name) == [{"trace": name}]
        select = "SELECT is a file.json"
        generate_ranks.write_trace(place.at(select), 1, 2)
        rows = place.ask("SELECT DISTINCT trace FROM gpu_timeline", select, name)
        assert [row["trace"] for row in rows] == [select, name], "a file that exists is a trace, whatever its name"
        os.mkdir(place.at("it's"))
        assert place.run("SELECT trace FROM traces", name, "--output_db", "it's/a \"db\".db", "-o", "it's/a.csv", "-q").stdout == ""
        assert len(names_of(sqlite3.connect(place.at("it's/a \"db\".db")))) > 5


def test_standard_input_and_pipes(binary):
    with Place(binary) as place:
        place.ranks(1)
        with open(place.at("ranks/rank0_trace.json"), "rb") as file:
            done = place.run("SELECT type FROM gpu_timeline", "-", stdin_bytes=file.read())
        assert "busy_time" in done.stdout
        os.mkfifo(place.at("pipe"))
        feeder = subprocess.Popen(["sh", "-c", "cat ranks/rank0_trace.json > pipe"], cwd=place.path)
        assert "busy_time" in place.run("SELECT type FROM gpu_timeline", "pipe").stdout
        assert feeder.wait() == 0


def test_damaged_and_missing_traces(binary):
    """They are named, the rest is whole, and the exit status is 1."""
    with Place(binary) as place:
        place.ranks(4)
        whole = place.ask("SELECT * FROM gpu_timeline WHERE rank <> 2", "ranks")
        with open(place.at("ranks/rank2_trace.json"), "w") as file:
            file.write("not JSON")
        traces = [f"ranks/rank{rank}_trace.json" for rank in (0, 1, 2, 3)]
        for words in (["ranks"], traces):
            done = place.run("SELECT * FROM gpu_timeline", *words, "--format", "json", code=1)
            assert json.loads(done.stdout) == whole
            assert [line for line in done.stderr.splitlines() if "rank2_trace.json" in line], done.stderr
        os.remove(place.at("ranks/rank2_trace.json"))
        done = place.run("SELECT * FROM gpu_timeline", "ranks", "--format", "json")
        assert json.loads(done.stdout) == whole and done.stderr == "gputally: warning: ranks: no trace for rank 2\n", done.stderr
        os.remove(place.at("ranks/rank3_trace.json"))
        done = place.run("SELECT * FROM gpu_timeline", "ranks")
        assert done.stderr == "gputally: warning: ranks: no trace for ranks 2, 3\n", done.stderr
        generate_ranks.write_trace(place.at("ranks/rank3_trace.json"), 3, 4)
        done = place.run("SELECT * FROM gpu_timeline", *traces, "--format", "json", code=1)
        assert json.loads(done.stdout) == whole
        assert done.stderr == "gputally: ranks/rank2_trace.json: no such file or folder\n", done.stderr
        rows = place.ask("SELECT trace, format, error FROM traces WHERE error IS NOT NULL", *traces, code=1)
        assert rows == [{"trace": "rank2_trace.json", "format": None, "error": "ranks/rank2_trace.json: no such file or folder"}]
        done = place.run("SELECT 1", "nothing.json", code=1)
        assert done.stdout == "" and done.stderr.endswith("gputally: no trace could be read, so there is nothing to query\n")


def test_truncated_trace(binary):
    """Read up to its end with a warning, or with --strict not at all."""
    with Place(binary) as place:
        place.ranks(3, steps=20)
        path = place.at("ranks/rank1_trace.json")
        os.truncate(path, os.path.getsize(path) * 2 // 3)
        done = place.run("SELECT DISTINCT rank FROM gpu_timeline", "ranks", "--format", "csv")
        assert done.stdout == "rank\n0\n1\n2\n" and harness.warns_of_cut(done.stderr)
        done = place.run("SELECT DISTINCT rank FROM gpu_timeline", "ranks", "--format", "csv", "--strict", code=1)
        assert done.stdout == "rank\n0\n2\n" and "rank1_trace.json" in done.stderr


# ---- files that are written ----

def test_output_files(binary):
    with Place(binary) as place:
        place.ranks(2)
        sql = "SELECT * FROM gpu_timeline"
        first = place.run(sql, "ranks", "-o", "x.csv", "--output_db", "x.db")
        assert first.stdout == "wrote x.csv (16 rows)\nwrote x.db\n"
        before = [open(place.at(name), "rb").read() for name in ("x.csv", "x.db")]
        place.run(sql, "ranks", "-o", "x.csv", "--output_db", "x.db")  # again, into the same files
        assert before == [open(place.at(name), "rb").read() for name in ("x.csv", "x.db")]
        done = place.run("SELECT nothing FROM gpu_timeline", "ranks", "-o", "x.csv", "--output_db", "x.db", code=1)
        assert before == [open(place.at(name), "rb").read() for name in ("x.csv", "x.db")], "a query that fails changes no file"
        assert done.stdout == ""
        done = place.run(sql, "ranks", "--output_db", "ranks/rank0_trace.json", "--format", "csv", code=2)
        done = place.run(sql, "ranks", "-o", "ranks/rank0_trace.json", code=1)
        assert "output path is the input trace" in done.stderr
        done = place.run(sql, "ranks", "-o", "x.csv/y.csv", code=1)
        assert done.stderr.startswith("gputally: cannot create folder x.csv") and done.stdout == ""
        assert not [name for name in harness.files_under(place.path) if ".tmp-" in name]
        printed = place.run(sql, "ranks", "--output_db", "y.db", "--format", "csv")
        assert printed.stdout == before[0].decode() and printed.stderr == "gputally: wrote y.db\n"
        done = place.run(sql, "ranks", "-o", "x.csv", file_size_limit=100, code=1)
        assert "cannot write x.csv: File too large" in done.stderr and before[0] == open(place.at("x.csv"), "rb").read()


def test_partials(binary):
    """Kept partials serve other queries, too, and a changed trace is read again."""
    with Place(binary) as place:
        place.ranks(3)
        newest = max(os.stat(place.at("ranks", name)).st_ctime for name in os.listdir(place.at("ranks")))
        while time.time() < newest + 2.1:
            time.sleep(0.05)
        sqls = ["SELECT rank, count(*) FROM gpu_timeline GROUP BY rank", "SELECT name, rank FROM ops_summary", 'SELECT * FROM findings']
        plain = [place.run(sql, "ranks").stdout for sql in sqls]
        first = place.run(sqls[0], "ranks", "--partials", "kept").stdout
        times = {name: os.stat(place.at("kept", name)).st_mtime_ns for name in harness.files_under(place.at("kept"))}
        assert len([name for name in times if name.endswith(".gtpart")]) == 3, times
        assert [first] + [place.run(sql, "ranks", "--partials", "kept").stdout for sql in sqls[1:]] == plain
        assert times == {name: os.stat(place.at("kept", name)).st_mtime_ns for name in harness.files_under(place.at("kept"))}
        generate_ranks.write_trace(place.at("ranks/rank1_trace.json"), 1, 3, steps=9)
        assert place.run(sqls[1], "ranks", "--partials", "kept").stdout == place.run(sqls[1], "ranks").stdout
        for name in times:  # damaged ones are made again
            if name.endswith(".gtpart"):
                with open(place.at("kept", name), "r+b") as file:
                    file.seek(os.path.getsize(file.name) // 2)
                    file.write(b"damage")
        assert place.run(sqls[1], "ranks", "--partials", "kept").stdout == place.run(sqls[1], "ranks").stdout


def test_index(binary):
    """An index gives the same answers, also without its trace."""
    with Place(binary) as place:
        place.ranks(2)
        sql = "SELECT * FROM ops_summary"
        plain = place.run(sql, "ranks").stdout
        harness.run([binary, "index", "ranks/rank0_trace.json", "ranks/rank1_trace.json"], cwd=place.path)
        assert place.run(sql, "ranks").stdout == plain
        os.remove(place.at("ranks/rank0_trace.json"))
        found = place.run(sql, "ranks/rank0_trace.json.gtindex", "ranks/rank1_trace.json", "--format", "csv").stdout
        assert found.count("\n") == plain.count("\n")


# ---- statements ----

def test_nothing_is_written_by_sql(binary):
    """What could change a table, a file or the program is refused, and nothing appears."""
    with Place(binary) as place:
        place.ranks(1)
        before = harness.files_under(place.path)
        for sql in ("DROP TABLE traces", "DELETE FROM traces", "INSERT INTO traces VALUES (1,2,3,4,5)", "UPDATE traces SET rank = 5",
                    "CREATE TABLE x(y)", "CREATE TEMP TABLE x AS SELECT 1", "ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'", "BEGIN", "COMMIT",
                    "PRAGMA journal_mode = WAL", "PRAGMA writable_schema = 1", "SELECT load_extension('x')", "ANALYZE", "REINDEX",
                    "WITH x AS (SELECT 1) INSERT INTO traces SELECT 1,2,3,4,5", "WITH x AS (SELECT 1) DELETE FROM traces",
                    "WITH x AS (SELECT 1) UPDATE sqlite_master SET sql = ''", "SELECT * FROM pragma_journal_mode('wal')",
                    "SELECT writefile('x', 'y')", "SELECT readfile('ranks/rank0_trace.json')", "SELECT 1; DROP TABLE traces",
                    "SELECT fts3_tokenizer('simple')", "EXPLAIN DROP TABLE traces", "SELECT edit('x')"):
            done = place.run(sql, "ranks", "--output_db", "kept.db", code=1)
            assert done.stdout == "" and done.stderr.startswith("gputally: SQL") and done.stderr.count("\n") == 1, (sql, done.stderr)
            assert harness.files_under(place.path) == before, sql


def test_schema_can_be_asked(binary):
    with Place(binary) as place:
        place.ranks(1)
        rows = place.ask("SELECT name, type FROM pragma_table_info('gpu_timeline')", "ranks")
        assert rows[:3] == [{"name": "trace", "type": "TEXT"}, {"name": "rank", "type": "INTEGER"}, {"name": "type", "type": "TEXT"}]
        assert place.ask("SELECT count(*) n FROM sqlite_master WHERE name = 'ops_summary'", "ranks") == [{"n": 1}]
        assert place.ask("SELECT value FROM json_each('[1, 2]')", "ranks") == [{"value": 1}, {"value": 2}]


def test_sql_file(binary):
    with Place(binary) as place:
        place.ranks(1)
        with open(place.at("q.sql"), "w", encoding="utf-8-sig") as file:
            file.write("-- comment\n/* another; one */\nSELECT type\nFROM gpu_timeline;\n-- the end\n")
        assert place.run("--sql_file", "q.sql", "ranks").stdout.startswith("type\n")
        done = place.run("--sql_file", "q.sql", "SELECT 1", "ranks", code=2)
        assert "not allowed with SQL on the command line" in done.stderr
        with open(place.at("q.sql"), "w") as file:
            file.write("SELECT type\n  , tipe\nFROM gpu_timeline")
        done = place.run("--sql_file", "q.sql", "ranks", code=1)
        assert done.stderr == "gputally: SQL, line 2, column 5: no such column: tipe (did you mean type?)\n", done.stderr


def test_local_ranks_in_names(binary):
    """node1/rank0.json of rank 2: the same ranks whether the folder or its files are named."""
    with Place(binary) as place:
        for rank in range(4):
            os.makedirs(place.at("run", f"node{rank // 2}"), exist_ok=True)
            generate_ranks.write_trace(place.at("run", f"node{rank // 2}", f"rank{rank % 2}.json"), rank, 4)
        paths = [f"run/node{rank // 2}/rank{rank % 2}.json" for rank in range(4)]
        for words in ["run"], paths:
            done = place.run("SELECT path, rank FROM traces", *words, "--format", "csv")
            assert list(csv.reader(io.StringIO(done.stdout)))[1:] == [[path, str(rank)] for rank, path in enumerate(paths)], done
            assert not done.stderr, done.stderr
        done = place.run("SELECT rank FROM traces", *paths[2:], "--format", "csv")
        assert done.stdout.split() == ["rank", "2", "3"], done.stdout
        assert done.stderr == (f"gputally: warning: {paths[2]}: rank 0 by its file name, but rank 2 in the trace, and others "
                               "differ too; using the ranks in the traces\n"), done.stderr
        generate_ranks.write_trace(place.at("rank5.json"), 2, 4)  # two traces of rank 2: the names count
        done = place.run("SELECT rank FROM traces", paths[2], "rank5.json", "--format", "csv")
        assert done.stdout.split() == ["rank", "0", "5"] and "using the file names" in done.stderr, done


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


STOPPED = "gputally: SQL: stopped after 1 s (--timeout); ask for less, or allow more time\n"
LONG = "printf('%.30000000c', 'a')"
# One call of a function that SQLite does not interrupt. Each takes minutes.
UNINTERRUPTED = ["SELECT printf('" + 30 * "%.*c" + "'" + 30 * ", 2000000000, 'x'" + ")",
                 f"SELECT instr({LONG}, substr({LONG}, 1, 15000000) || 'b')",
                 f"SELECT * FROM traces WHERE instr({LONG}, substr({LONG}, 1, 15000000) || 'b')"]
TOO_LONG = ["SELECT zeroblob(2000000000)", "SELECT hex(randomblob(2000000000))", "SELECT replace(hex(zeroblob(30000000)), '0', '1234')",
            f"SELECT {LONG} || {LONG} || {LONG}"]


def test_functions_end_in_time(binary):
    """Queries that spend their time inside one function; files of the answer are removed."""
    with Place(binary) as place:
        place.ranks(2)
        for sql in UNINTERRUPTED:
            child = subprocess.Popen([binary, "query", sql, "ranks", "--timeout", "1", "-o", "x.csv", "--output_db", "x.db"],
                                     cwd=place.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                out, errors = child.communicate(timeout=20)
            finally:
                child.kill()
            assert child.returncode == 1 and not out and errors == STOPPED, (sql[:100], child.returncode, out, errors)
            assert os.listdir(place.path) == ["ranks"], os.listdir(place.path)
        for sql in TOO_LONG:
            done = place.run(sql, "ranks", code=1)
            assert done.stderr == "gputally: SQL: a value is longer than 64 MiB; ask for less of it\n", (sql, done.stderr)


def test_endless_queries_end(binary):
    with Place(binary) as place:
        place.ranks(2)
        done = place.run(ENDLESS, "ranks", "--timeout", "1", "-o", "x.csv", "--output_db", "x.db", code=1)
        assert done.stderr == STOPPED, done.stderr
        assert os.listdir(place.path) == ["ranks"]
        done = place.run(ENDLESS.replace("count(*)", "i"), "ranks", code=1)
        assert done.stderr == "gputally: SQL: more than 5000000 rows; use LIMIT, or --format csv, json or jsonl\n", done.stderr
        for number in signal.SIGINT, signal.SIGTERM:
            child = subprocess.Popen([binary, "query", ENDLESS, "ranks", "-o", "x.csv", "--output_db", "x.db"], cwd=place.path,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while not any(".tmp-" in name and "x.csv" in name for name in os.listdir(place.path)):  # the query runs
                assert child.poll() is None
                time.sleep(0.01)
            child.send_signal(number)
            out, errors = child.communicate(timeout=60)
            assert child.returncode == -number and not out, (child.returncode, out, errors)
            assert os.listdir(place.path) == ["ranks"], os.listdir(place.path)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
