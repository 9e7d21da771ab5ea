#!/usr/bin/env python3
"""Crafted rocpd databases take time and memory in proportion to their size.

    python3 -m tests.rocprof.test_rocpd_work --bin build/gputally

Each case is made in two sizes, n and 4n. Linear work takes 4 times as long, quadratic work 16 times; at most 8 are allowed.
User time of the process is measured, so that other load on the machine does not count.
"""
import os
import resource
import sqlite3
import sys

from tests.common import harness
from tests.rocprof import checks

GROWTH_MAX = 8
SECONDS_FLOOR = 0.05  # shorter times are mostly those of starting the program
MEMORY_MAX = 700 << 20  # also under AddressSanitizer, which keeps 256 MB of freed memory and pads every block: 540 MB


def connect(path):
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    return database


def dispatch_columns():
    return "id INTEGER PRIMARY KEY, guid TEXT, pid INTEGER, start INTEGER, \"end\" INTEGER, dispatch_id INTEGER, event_id INTEGER"


def repeated_ids(path, n, with_guid):
    """n dispatches, copies and calls, all of one event id, which n events have."""
    database = connect(path)
    guid = ", guid TEXT" if with_guid else ""
    database.execute(f"CREATE TABLE rocpd_event (id INTEGER{guid}, stack_id INTEGER, category_id INTEGER)")
    database.execute(f"CREATE TABLE rocpd_kernel_dispatch ({dispatch_columns()})")
    database.execute('CREATE TABLE rocpd_memory_copy (guid TEXT, pid INTEGER, start INTEGER, "end" INTEGER, event_id INTEGER)')
    database.execute('CREATE TABLE rocpd_region (guid TEXT, pid INTEGER, start INTEGER, "end" INTEGER, event_id INTEGER)')
    event = [1, *(["g"] if with_guid else []), 7, 0]
    database.executemany(f"INSERT INTO rocpd_event VALUES ({', '.join('?' * len(event))})", ([*event] for _ in range(n)))
    database.executemany("INSERT INTO rocpd_kernel_dispatch VALUES (?, 'g', 5, ?, ?, ?, 1)",
                         ((i, 10 * i, 10 * i + 5, i) for i in range(1, n + 1)))
    for table in ("rocpd_memory_copy", "rocpd_region"):
        database.executemany(f"INSERT INTO {table} VALUES ('g', 5, ?, ?, 1)", ((10 * i, 10 * i + 5) for i in range(n)))
    database.commit()
    database.close()
    return n


def table_sets(path, n):
    """n sets of tables, each a process on a host of its own with one dispatch and two agents."""
    tables = {"string": "id INTEGER PRIMARY KEY, guid TEXT, string TEXT",
              "info_node": "id INTEGER PRIMARY KEY, guid TEXT, hostname TEXT",
              "info_process": "id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, init INTEGER, fini INTEGER",
              "info_agent": "id INTEGER PRIMARY KEY, guid TEXT, pid INTEGER, type TEXT, logical_index INTEGER",
              "event": "id INTEGER PRIMARY KEY, guid TEXT, stack_id INTEGER, category_id INTEGER",
              "kernel_dispatch": dispatch_columns()}
    database = connect(path)
    for i in range(n):
        guid = f"{i:08d}"
        for name, columns in tables.items():
            database.execute(f"CREATE TABLE rocpd_{name}_{guid} ({columns})")
        database.execute(f"INSERT INTO rocpd_info_node_{guid} VALUES (1, ?, ?)", (guid, f"host-{i}"))
        database.execute(f"INSERT INTO rocpd_info_process_{guid} VALUES (?, ?, 1, ?, 1, 1000000)", (i + 1, guid, i + 1))
        database.executemany(f"INSERT INTO rocpd_info_agent_{guid} VALUES (?, ?, ?, ?, ?)",
                             ((0, guid, i + 1, "CPU", 0), (1, guid, i + 1, "GPU", 1)))
        database.execute(f"INSERT INTO rocpd_kernel_dispatch_{guid} VALUES (1, ?, ?, 100, 200, 1, NULL)", (guid, i + 1))
    database.commit()
    database.close()
    return n


def run_timed(command):
    """(user seconds, outcome)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = harness.run(command)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done


def report(binary, path, out):
    """(user seconds, dispatches reported, outcome)"""
    seconds, done = run_timed([binary, "rocprof", path, "--output_csvs_dir", out])
    rows = harness.read_csv(os.path.join(out, "kernel_summary.csv"))[1] if done.code == 0 else []
    return seconds, sum(int(row[1]) for row in rows), done


def convert(binary, path, out):
    """(user seconds, dispatches in the database written, outcome); no dispatches if SQLite finds it damaged"""
    seconds, done = run_timed([binary, "convert", path, out + ".db"])
    if done.code != 0:
        return seconds, 0, done
    database = sqlite3.connect(out + ".db")
    sound = database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    dispatches = database.execute("SELECT COUNT(*) FROM rocpd_kernel_dispatch").fetchone()[0]
    database.close()
    return seconds, dispatches if sound else 0, done


def check(tally, binary, folder, name, make, n, measure):
    times = []
    for size in (n, 4 * n):
        path, out = os.path.join(folder, f"{name} {size}.db"), os.path.join(folder, "out")
        expected = make(path, size)
        seconds, dispatches, done = measure(binary, path, out)
        times.append(max(seconds, SECONDS_FLOOR))
        tally.add(f"{name}, {size}: runs", done.problems() + ([done.stderr] if done.code else []))
        tally.add(f"{name}, {size}: dispatches", [] if dispatches == expected else [f"{dispatches}, expected {expected}"])
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    tally.add(f"{name}: memory", [] if memory <= MEMORY_MAX else [f"{memory >> 20} MB"])
    growth = times[1] / times[0]
    print(f"{name}: {times[0]:.2f} s for {n}, {times[1]:.2f} s for {4 * n}")
    tally.add(f"{name}: growth", [] if growth <= GROWTH_MAX else [f"{times[0]:.2f} s and {times[1]:.2f} s: {growth:.1f} times"])


CASES = (("repeated event ids", lambda path, n: repeated_ids(path, n, True), 1000, report),
         ("repeated event ids without guid", lambda path, n: repeated_ids(path, n, False), 1000, report),
         ("table sets", table_sets, 250, report),
         ("table sets converted", table_sets, 100, convert))  # up to the 400 that a database can hold


def check_cases(test):
    for name, write, n, measure in CASES:
        check(test.tally, test.binary, test.folder, name, write, n, measure)


if __name__ == "__main__":
    sys.exit(checks.run_parts(__doc__, (check_cases,)))
