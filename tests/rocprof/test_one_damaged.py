#!/usr/bin/env python3
"""One damaged file among those of several processes: the others are reported, and a warning and the page say what is missing.

    python3 -m tests.rocprof.test_one_damaged --bin build/gputally [ONLY]
"""
import json
import os
import shutil
import sys
import tempfile

from tests.common import harness
from tests.rocprof import generate_run as maker

ENDINGS = {"rocpd": "results.db", "json": "results.json", "pftrace": "results.pftrace", "csv": "kernel_trace.csv"}


class Folder:
    """A folder with the files of three processes in one format."""

    def __init__(self, folder, kind, processes=3):
        self.run = maker.make_run(dispatches=40, processes=processes)
        maker.write_all(self.run, folder, (kind,))
        self.path, self.out, self.kind = os.path.join(folder, kind), os.path.join(folder, "out"), kind

    def file(self, process):
        return os.path.join(self.path, maker.HOST, f"{self.run[process].pid}_{ENDINGS[self.kind]}")

    def cut(self, process, share=0.6):
        path = self.file(process)
        os.truncate(path, int(os.path.getsize(path) * share))

    def replace(self, process, old, new):
        with open(self.file(process), "rb") as file:
            data = file.read()
        with open(self.file(process), "wb") as file:
            file.write(new(data) if callable(new) else data.replace(old, new))

    def report(self, binary, *arguments, command="rocprof"):
        shutil.rmtree(self.out, ignore_errors=True)
        outcome = harness.run([binary, command, self.path, "--output_csvs_dir", self.out, "--quiet", *arguments])
        assert not outcome.problems(), outcome.problems()
        return outcome

    def dispatches(self):
        _, rows = harness.read_csv(os.path.join(self.out, "kernel_summary.csv"))
        return sum(int(row[1]) for row in rows)

    def expected(self, *processes):
        return sum(len(self.run[i].dispatches) for i in processes)


def check_others(f, binary, says, process=1):
    """The other processes are reported, with a warning that names the file and the process."""
    others = [i for i in range(len(f.run)) if i != process]
    for command in ("rocprof", "report"):
        outcome = f.report(binary, command=command)
        assert outcome.code == 0, outcome.stderr
        assert f.dispatches() == f.expected(*others), (f.dispatches(), f.expected(*others))
        warnings = [line for line in outcome.stderr.splitlines() if f.file(process) in line]
        assert len(warnings) == 1 and says in warnings[0], outcome.stderr
        assert f"its records of process {f.run[process].pid} on {maker.HOST} are missing" in warnings[0], warnings
    strict = f.report(binary, "--strict")
    assert strict.code == 1 and f.file(process) in strict.stderr and not os.path.isdir(f.out), strict.stderr


def test_a_truncated_database(binary):
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "rocpd")
        f.cut(1)
        check_others(f, binary, "database truncated")


def test_the_first_database_is_truncated(binary):
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "rocpd")
        f.cut(0)
        check_others(f, binary, "database truncated", process=0)


def test_a_json_file_without_records(binary):
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "json")
        f.replace(1, None, lambda data: data[:data.index(b'"buffer_records"')])
        check_others(f, binary, "no kernel dispatches before that")


def test_a_broken_json_file(binary):
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "json")
        f.replace(1, b'"kernel_dispatch":', b'"kernel_dispatch"!')
        check_others(f, binary, "byte")


def test_a_broken_row_of_a_table(binary):
    """The rows before it are reported."""
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "csv")
        lines = open(f.file(1), "rb").read().splitlines(keepends=True)
        lines[11] = b"1,2,3\n"  # the 11th dispatch
        f.replace(1, None, lambda data: b"".join(lines))
        outcome = f.report(binary)
        assert outcome.code == 0, outcome.stderr
        assert f.dispatches() == f.expected(0, 2) + 10, f.dispatches()
        assert f"the records of process {f.run[1].pid} on {maker.HOST} after that are missing" in outcome.stderr, outcome.stderr
        assert f.report(binary, "--strict").code == 1


def test_a_damaged_page_of_a_database(binary):
    """Any page: the others are reported, and results do not depend on the number of threads."""
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "rocpd")
        data = open(f.file(1), "rb").read()
        for page in range(1, len(data) // 4096):
            f.replace(1, None, lambda _: data[:page * 4096] + b"\xff" * 4096 + data[page * 4096 + 4096:])
            sheets = []
            for threads in ("1", "4"):
                outcome = f.report(binary, "--threads", threads)
                assert outcome.code == 0, f"page {page}: {outcome.stderr}"
                assert f.expected(0, 2) <= f.dispatches() <= f.expected(0, 1, 2), f"page {page}: {f.dispatches()}"
                sheets.append({name: open(os.path.join(f.out, name), "rb").read() for name in sorted(os.listdir(f.out))})
            assert sheets[0] == sheets[1], f"page {page}"


def test_all_are_damaged(binary):
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "rocpd")
        for process in range(3):
            f.cut(process)
        outcome = f.report(binary)
        assert outcome.code == 1 and not os.path.isdir(f.out), outcome.stderr
        assert len(outcome.stderr.strip().splitlines()) == 1 and "database truncated" in outcome.stderr, outcome.stderr


def test_the_only_file_is_damaged(binary):
    for kind in ("rocpd", "json"):
        with tempfile.TemporaryDirectory() as folder:
            f = Folder(folder, kind, processes=1)
            f.cut(0, share=0.05)
            outcome = f.report(binary)
            assert outcome.code == 1 and f.file(0) in outcome.stderr, outcome.stderr


def test_one_of_two_nodes_is_damaged(binary):
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "rocpd", processes=2)
        for i, node in enumerate(("node_0", "node_1")):
            place = os.path.join(folder, "nodes", node, maker.HOST)
            os.makedirs(place)
            shutil.move(f.file(i), place)
        bad = os.path.join(place, os.path.basename(f.file(1)))
        os.truncate(bad, os.path.getsize(bad) // 2)
        f.path = os.path.join(folder, "nodes")
        outcome = f.report(binary)
        assert outcome.code == 0 and bad in outcome.stderr, outcome.stderr
        assert f.dispatches() == f.expected(0), f.dispatches()


def test_the_report_says_so(binary):
    with tempfile.TemporaryDirectory() as folder:
        f = Folder(folder, "rocpd")
        f.cut(1)
        page, trust = os.path.join(folder, "page.html"), os.path.join(f.out, "trust.csv")
        outcome = f.report(binary, "--output_html", page, command="report")
        assert outcome.code == 0, outcome.stderr
        assert f"its records of process {f.run[1].pid}" in open(page, encoding="utf-8").read()
        _, rows = harness.read_csv(trust)
        row = [row for row in rows if row[0] == "T6"]
        assert row and "Records are missing" in " ".join(row[0]) and "fail" in row[0], rows


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
