#!/usr/bin/env python3
"""Sheets with thousands of columns: `gputally compare` takes time in proportion to their number, and numbers equal names.

    python3 -m tests.compare.test_many_columns --bin build/gputally [--only TEXT]
"""
import os
import sys

from tests.common import harness, scaling

FIXED = ["name", "Kernel Time (µs)_sum"]
HEADINGS = {
    "equal names": lambda n: ["x"] * n,
    "equal parameters": lambda n: ["param: p"] * n,
    "different parameters": lambda n: [f"param: p{i}" for i in range(n)],
    "names that are taken": lambda n: [f"x.{i + 1}" for i in range(n)] + ["x"] * n,
    "different names": lambda n: [f"c{i}" for i in range(n)],
}


def write_report(folder, names, values):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "GEMM.csv"), "w") as file:
        file.write(",".join(FIXED + names) + "\n")
        file.write(",".join(["aten::mm", "1.5"] + values) + "\n")


def check_growth(binary, folder, kind):
    def command_for(n):
        names = HEADINGS[kind](n)
        for report in ("a", "b"):
            write_report(os.path.join(folder, f"{report}{n}"), names, ["1"] * len(names))
        return [binary, "compare", os.path.join(folder, f"a{n}"), os.path.join(folder, f"b{n}"), "--quiet",
                "--output_csvs_dir", os.path.join(folder, f"out{n}")]

    return scaling.growth_problems(command_for, 2000, limit=20)


def numbered(names):
    """pandas' names for equal columns, in plain Python: the first free number."""
    taken = []
    for name in names:
        unique, number = name, 1
        while unique in taken:
            unique, number = f"{name}.{number}", number + 1
        taken.append(unique)
    return taken


def check_names(binary, folder):
    names = ["x", "x", "x.1", "x", "", "x.1", "x.2", "y", "x", "y", "x.1.1", "x.1"]
    expected = numbered(FIXED + [name or f"Unnamed: {2 + i}" for i, name in enumerate(names)])
    for report in ("a", "b"):
        write_report(os.path.join(folder, report), names, [str(i) for i in range(len(names))])
    outcome = harness.run([binary, "compare", os.path.join(folder, "a"), os.path.join(folder, "b"), "--quiet",
                           "--output_csvs_dir", os.path.join(folder, "out")])
    headings, rows = harness.read_csv(os.path.join(folder, "out", "GEMM_intersect_b.csv"))
    problems = outcome.problems()
    for report in ("a", "b"):
        for place, name in enumerate(expected[2:]):
            column = f"{report}::{name}"
            if headings.count(column) != 1 or rows[0][headings.index(column)] != str(place):
                problems.append(f"{column} is not the column of {place}")
    return problems


CASES = [harness.Case(kind, check_growth, kind) for kind in HEADINGS] + [harness.Case("numbers of equal names", check_names)]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
