#!/usr/bin/env python3
"""The number of threads changes nothing in the report of a rocprofv3 run, in every format.

    python3 -m tests.rocprof.test_threads --bin build/gputally [--only TEXT]

The files of two processes with 9,000 dispatches each are longer than what one thread reads at first, and debug builds cut the
rest into small parts. CSV files also have what the threads cannot know in advance: kernels and processes that come late,
line ends in names, damaged rows.
"""
import gzip
import os
import shutil
import sys

from tests.common import harness
from tests.rocprof import checks, generate_passes
from tests.rocprof import generate_run as maker
from tests.threads.test_equal import THREADS, problems

DISPATCHES = 9000
FORMATS = ("csv", "json", "rocpd", "pftrace")
REPORT = "--kernel_details --short_kernel_study --output_csvs_dir OUT/csv --output_db OUT/report.db"


class Test(checks.Checks):
    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.bin = self.binary  # as tests.threads names it
        self.two = maker.make_run(dispatches=DISPATCHES, processes=2, seed=5, counted=False)

    def compare(self, name, path, options=""):
        if self.wants(name):
            self.tally.add(name, problems(self, f"rocprof {path} {REPORT} {options}", os.path.join(self.folder, "out")))

    def compare_failures(self, name, path, text, options=""):
        """All numbers of threads give the same message, with this text."""
        said = []
        for threads in THREADS if self.wants(name) else ():
            done = harness.run([self.binary, "rocprof", path, *options.split(), "--output_csvs_dir",
                                os.path.join(self.folder, "out"), "--threads", str(threads), "--no_progress"])
            said.append((done.code, done.stderr))
        found = [] if len(set(said)) < 2 else [f"{set(said)}"]
        self.tally.add(name, found + [f"no {text!r} in {stderr!r}" for _, stderr in said[:1] if text not in stderr])


def check_formats(test):
    for kind in FORMATS:
        folder = os.path.join(test.folder, kind + "_run")
        maker.write_all(test.two, folder, (kind,))
        test.compare(f"{kind}, two processes", folder)
        test.compare(f"{kind}, full names", folder, "--full_kernel_names --topk_kernels 700")
        shutil.rmtree(folder)


def check_passes(test):
    for kind in FORMATS:
        folder = os.path.join(test.folder, kind + "_passes")
        generate_passes.Passes(ranks=4, passes=3, dispatches=40).write(folder, kind, True)
        test.compare(f"{kind}, counter passes", folder)


def check_json(test):
    folder = os.path.join(test.folder, "json")
    path = os.path.join(folder, "7_results.json")
    maker.write_json(test.two, path, indent=1)
    test.compare("both processes of a JSON file", folder)
    test.compare("the first process of a JSON file", path)
    packed = path + ".gz"
    with open(path, "rb") as file, gzip.open(packed, "wb", 1) as out:
        shutil.copyfileobj(file, out)
    os.unlink(path)
    test.compare("a compressed JSON file", packed)


def kernel_trace(test, name, change):
    """The path of the first process's kernel trace after change(lines)."""
    folder = os.path.join(test.folder, name, "node-a")
    maker.write_csv(test.two[0], os.path.join(folder, "900"), ("kernel_trace",))
    path = os.path.join(folder, "900_kernel_trace.csv")
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    change(lines)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("\n".join(lines) + "\n")
    return path


def rename_kernels(lines, row, name, every=1):
    """Gives rows from `row` on kernels of their own."""
    for i in range(row, len(lines), every):
        fields = lines[i].split('"')
        kernel = next(k for k, field in enumerate(fields) if any(known.formatted == field for known in maker.KERNELS))
        fields[kernel] = name.format(i % 50)
        lines[i] = '"'.join(fields)


def blank_lines(lines):
    for i in range(1, len(lines), 3):
        lines[i] += "\r\n\r\n" if i % 2 else "\r"


def check_csv(test):
    last = DISPATCHES // 2
    cases = {
        "late kernels": lambda lines: rename_kernels(lines, last, "void late::kernel_{}<int>(int)"),
        "other kernels in other places": lambda lines: rename_kernels(lines, last, "void other::kernel_{}()", 97),
        "line ends in names": lambda lines: rename_kernels(lines, last, "void a\nb::kernel_{}\n\"x\"()", 11),
        "blank lines": blank_lines,
    }
    for name, change in cases.items():
        path = kernel_trace(test, name.replace(" ", "_"), change)
        test.compare(f"CSV: {name}", path)
    folder = os.path.join(test.folder, "converted")
    maker.write_csv_converted(test.two, os.path.join(folder, "out"))
    test.compare("CSV: processes by guid", folder)


def check_damaged_csv(test):
    def damage(lines):
        lines[-700] = lines[-700].replace(",", ",x", 12)

    row = DISPATCHES + 1 - 700 + 1
    path = kernel_trace(test, "damaged", damage)
    test.compare_failures("CSV: damaged row", path, f"row {row}: ")
    path = kernel_trace(test, "truncated", lambda lines: None)
    os.truncate(path, os.path.getsize(path) - 60)
    test.compare("CSV: truncated", path)
    test.compare_failures("CSV: truncated, strict", path, f"after {DISPATCHES - 1} rows", "--strict")


PARTS = (check_formats, check_passes, check_json, check_csv, check_damaged_csv)

if __name__ == "__main__":
    sys.exit(checks.run_parts(__doc__, PARTS, Test))
