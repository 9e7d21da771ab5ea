#!/usr/bin/env python3
"""SQLite files whose pages lead to one leaf many times. SQLite reads them as tables of billions of rows; gputally must
end at once with one message, and never count a row twice.

    python3 -m tests.input.test_page_trees --bin build/gputally

The files are written by hand: a normal database is made, and the root page of a table becomes an interior page whose
children are interior pages with the same child in every cell, down to the old root, a leaf.
"""
import os
import resource
import sqlite3
import struct
import sys

from tests.common import harness
from tests.nsys import generate_export as nsys
from tests.rocprof import generate_run

INTERIOR = 5
CPU_SECONDS_MAX = 5  # on any machine, also with sanitizers; without bounds, it is days


def interior_page(page_size, child, cells):
    """An interior page of a table, whose cells and right-most pointer all name one child."""
    cell = struct.pack(">IB", child, 1)  # the key, 1, is a varint
    content = page_size - cells * len(cell)
    head = struct.pack(">BHHHBI", INTERIOR, 0, cells, content, 0, child)
    pointers = b"".join(struct.pack(">H", content + i * len(cell)) for i in range(cells))
    return (head + pointers).ljust(content, b"\0") + cell * cells


def share_leaf(path, table, levels, cells):
    """Puts `levels` interior pages with `cells` cells each above the only page of a table. Returns the rows that SQLite would read."""
    database = sqlite3.connect(path)
    (root,), (page_size,) = (database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone(),
                             database.execute("PRAGMA page_size").fetchone())
    rows, = database.execute(f'SELECT count(*) FROM "{table}"').fetchone()
    database.close()
    with open(path, "rb") as file:
        data = file.read()
    pages = [data[i:i + page_size] for i in range(0, len(data), page_size)]
    assert pages[root - 1][0] == 13 and root > 1, "the table has more than one page"
    child = len(pages) + 1
    pages.append(pages[root - 1])
    for _ in range(levels - 1):
        pages.append(interior_page(page_size, child, cells))
        child = len(pages)
    pages[root - 1] = interior_page(page_size, child, cells)
    data = bytearray(b"".join(pages))
    struct.pack_into(">I", data, 28, len(pages))
    with open(path, "wb") as file:
        file.write(data)
    return rows * (cells + 1) ** levels


def nsys_file(folder):
    return nsys.write(nsys.small_run(), os.path.join(folder, "trace.sqlite"))


def rocpd_file(folder):
    path = os.path.join(folder, "trace.db")
    generate_run.write_rocpd(generate_run.make_run(8), path)
    return path


def rocpd_without_key(folder):
    """Events whose ids may repeat: they are grouped before they are joined, so that their rows are counted by nobody."""
    path = rocpd_file(folder)
    table = full_name(path, "rocpd_event")
    database = sqlite3.connect(path)
    database.executescript(f'DROP VIEW rocpd_event; CREATE TABLE kept AS SELECT * FROM "{table}" LIMIT 3; DROP TABLE "{table}"; ALTER TABLE kept RENAME TO "{table}"')
    database.close()
    return path


def full_name(path, table):
    database = sqlite3.connect(path)
    names = [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if name.startswith(table)]
    database.close()
    return names[0]


def seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(binary, folder, make, table, levels, cells):
    path = make(folder)
    whole = harness.run([binary, "report", path, "--print", "--no_findings"])
    read = share_leaf(path, full_name(path, table), levels, cells)
    problems = [] if whole.code == 0 else [f"the database was not good before: {whole.stderr[:200]}"]
    for command in (["report", path, "--output_csvs_dir", os.path.join(folder, "out")], ["doctor", path],
                    ["query", "SELECT count(*) FROM gpu_timeline", path]):
        before = seconds_of_children()
        outcome = harness.run([binary, *command])
        used = seconds_of_children() - before
        if outcome.code == 0 or outcome.problems():
            problems.append(f"{command[0]} of {read} rows: exit code {outcome.code}, {outcome.problems()}")
        said = outcome.stdout + outcome.stderr
        if "damaged database" not in said or path not in said or (command[0] != "doctor" and said.count("damaged database") != 1):
            problems.append(f"{command[0]} does not say once that the database is damaged: {said[:300]!r}")
        if used > CPU_SECONDS_MAX and not harness.IS_SANITIZED:
            problems.append(f"{command[0]} took {used:.1f} s")
    if os.path.isdir(os.path.join(folder, "out")) and os.listdir(os.path.join(folder, "out")):
        problems.append("a report was written")
    return problems


def cases():
    tables = [(nsys_file, "CUPTI_ACTIVITY_KIND_KERNEL"), (nsys_file, "CUPTI_ACTIVITY_KIND_RUNTIME"), (rocpd_file, "rocpd_kernel_dispatch"),
              (rocpd_file, "rocpd_string"), (rocpd_file, "rocpd_region")]
    for make, table in tables:
        yield harness.Case(f"{table}: 582^4 leaves", check, make, table, 4, 582)
        yield harness.Case(f"{table}: one leaf twice", check, make, table, 1, 1)
    yield harness.Case("grouped events: 582^4 leaves", check, rocpd_without_key, "rocpd_event", 4, 582)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, list(cases())))
