#!/usr/bin/env python3
"""Damaged CSV files and rocpd databases: truncated, with flipped bits, incomplete, hostile. gputally must always end with 0 or
1, a failure is one message that names the file, and no incomplete output is left.

    python3 -m tests.rocprof.test_damaged_files --bin build/gputally [--flips N] [--seed N]
"""
import argparse
import os
import random
import shutil
import sqlite3
import sys
import tempfile

from tests.common import harness
from tests.rocprof import generate_run as maker


class Damage:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.tally = os.path.abspath(binary), folder, harness.Tally()
        self.out = os.path.join(folder, "out_3317")

    def try_path(self, name, path, code=None, says=None, rows=None, arguments=()):
        shutil.rmtree(self.out, ignore_errors=True)
        outcome = harness.run([self.binary, "rocprof", path, "--output_csvs_dir", self.out, "--quiet", *arguments])
        problems = outcome.problems()
        if code is not None and outcome.code != code:
            problems.append(f"exit code {outcome.code}: {outcome.stderr[:300]}")
        if outcome.code == 1:
            lines = outcome.stderr.strip().split("\n")
            if len(lines) != 1 or not lines[0].startswith("gputally: ") or os.path.basename(path) not in lines[0]:
                problems.append(f"not one message that names the file: {outcome.stderr[:300]!r}")
            if os.path.isdir(self.out) and os.listdir(self.out):
                problems.append(f"left files: {os.listdir(self.out)}")
        if says and says not in outcome.stderr:
            problems.append(f"does not say {says!r}: {outcome.stderr[:300]!r}")
        if outcome.code == 0 and rows is not None:
            _, kernels = harness.read_csv(os.path.join(self.out, "kernel_summary.csv"))
            got = sum(int(row[1]) for row in kernels)
            if got != rows:
                problems.append(f"{got} dispatches, expected {rows}")
        self.tally.add(name, problems)

    def try_bytes(self, name, data, suffix, **expected):
        path = os.path.join(self.folder, "case" + suffix)
        with open(path, "wb") as file:
            file.write(data)
        self.try_path(name, path, **expected)
        os.remove(path)


def flipped(data, rng, count):
    data = bytearray(data)
    for _ in range(count):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def spliced(data, rng):
    """A range removed, repeated or moved."""
    a, b = sorted(rng.randrange(len(data)) for _ in range(2))
    return rng.choice((data[:a] + data[b:], data[:b] + data[a:], data[b:] + data[a:b] + data[:a]))


def damage_csv(damage, path, rng, flips):
    name = os.path.basename(path)
    with open(path, "rb") as file:
        data = file.read()
    header = data.index(b"\n") + 1
    for cut in sorted({rng.randrange(1, len(data)) for _ in range(40)} | {header - 1, header, len(data) - 1}):
        is_cut = cut > header and data[cut - 1:cut] == b","
        damage.try_bytes(f"{name} truncated to {cut}", data[:cut], ".csv")
        if is_cut:
            damage.try_bytes(f"{name} truncated to {cut}, strict", data[:cut], ".csv", code=1, arguments=("--strict",))
    for i in range(flips):
        damage.try_bytes(f"{name}, flips {i}", flipped(data, rng, 1 + i % 5), ".csv")
        damage.try_bytes(f"{name}, spliced {i}", spliced(data, rng), ".csv")
    damage.try_bytes(f"{name}, a quote never closed", data[:header] + b'"' + b"x" * 3_000_000, ".csv")
    damage.try_bytes(f"{name}, NULs", data[:header] + b"\0" * 5000 + b"\n", ".csv", code=1)


def damage_database(damage, path, rng, flips):
    with open(path, "rb") as file:
        data = file.read()
    for cut in (50, 99, 100, 4096, *(rng.randrange(101, len(data)) for _ in range(25))):
        damage.try_bytes(f"database truncated to {cut}", data[:cut], ".db", code=1)
    damage.try_bytes("database without its last page", data[:-4096], ".db", code=1, says="database truncated")
    for i in range(flips):
        damage.try_bytes(f"database, flips {i}", flipped(data, rng, 1 + i % 9), ".db")
        at = rng.randrange(1, len(data) // 4096) * 4096
        damage.try_bytes(f"database, page {at // 4096} zeroed", data[:at] + bytes(4096) + data[at + 4096:], ".db")


def edited(damage, path, *statements):
    copy = os.path.join(damage.folder, "edited.db")
    shutil.copyfile(path, copy)
    db = sqlite3.connect(copy)
    for statement in statements:
        db.executescript(statement)
    db.commit()
    db.close()
    return copy


def odd_databases(damage, path, process):
    suffix = "_" + maker.guid_of(process).replace("-", "_")
    count = len(process.dispatches)
    damage.try_path("as it is", path, code=0, rows=count)
    drop = lambda table: f'DROP VIEW IF EXISTS rocpd_{table}; DROP TABLE "rocpd_{table}{suffix}";'
    for table in ("event", "string", "info_process", "info_thread", "info_agent", "info_kernel_symbol", "region", "pmc_event",
                  "memory_copy"):
        damage.try_path(f"without rocpd_{table}", edited(damage, path, drop(table)), code=0, rows=count)
    damage.try_path("without dispatches", edited(damage, path, drop("kernel_dispatch")), code=1, says="no rocpd tables")
    view = 'CREATE VIEW "rocpd_kernel_dispatch%s" AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n'
    damage.try_path("a view that never ends", edited(damage, path, drop("kernel_dispatch"), view % suffix), code=1)
    damage.try_path("a view instead of events",
                    edited(damage, path, drop("event"), f'CREATE VIEW "rocpd_event{suffix}" AS SELECT 1 AS id'), code=0, rows=count)
    table = f'"rocpd_kernel_dispatch{suffix}"'
    damage.try_path("times that are not numbers", edited(damage, path, f"UPDATE {table} SET start = 'x', tid = x'00ff'"), rows=0)
    damage.try_path("times of NULL", edited(damage, path, f"UPDATE {table} SET start = NULL, \"end\" = NULL"), code=0, rows=0)  # left out
    damage.try_path("the largest times", edited(damage, path, f"UPDATE {table} SET start = -9223372036854775807, "
                                                "\"end\" = 9223372036854775807"), code=1)
    damage.try_path("foreign ids", edited(damage, path, f"UPDATE {table} SET kernel_id = 77, pid = 5, tid = 6, event_id = 99999"),
                    code=0, rows=count)
    damage.try_path("other guids", edited(damage, path, f"UPDATE {table} SET guid = 'other'"), code=0, rows=count)
    damage.try_path("invalid JSON", edited(damage, path, f"UPDATE \"rocpd_info_kernel_symbol{suffix}\" SET extdata = '[1'",
                                                f"UPDATE \"rocpd_info_agent{suffix}\" SET extdata = x'ff00'"), code=0, rows=count)
    damage.try_path("fewer columns", edited(damage, path, drop("kernel_dispatch"),
                                            f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, start, \"end\");"
                                            f"INSERT INTO {table} VALUES (1, 10, 30);"), code=0, rows=1)
    other = os.path.join(damage.folder, "other.db")
    for name, sql, says in (("another database", "CREATE TABLE t (a)", "no rocpd tables"),
                            ("rocmProfileData", "CREATE TABLE rocpd_op (id); CREATE TABLE rocpd_api (id)", "rocmProfileData")):
        db = sqlite3.connect(other)
        db.executescript(sql)
        db.close()
        damage.try_path(name, other, code=1, says=says)
        os.remove(other)
    shutil.copyfile(path, other)
    with open(other + "-journal", "wb") as file:
        file.write(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    damage.try_path("a journal next to it", other, code=1, says="incomplete database")
    os.remove(other + "-journal")
    before = sorted(os.listdir(damage.folder))
    damage.try_path("nothing is written next to it", other, code=0, rows=count)
    damage.tally.add("no files next to the database", [] if before == sorted(set(os.listdir(damage.folder)) - {"out_3317"}) or
                     "out_3317" in before else [f"{os.listdir(damage.folder)}"])


def few_descriptors(damage, run, rng):
    """A run among files that only have its names, looked at by more threads than files may be open."""
    folder = os.path.join(damage.folder, "few")
    shutil.copytree(run, folder)
    for number in range(1000):
        with open(os.path.join(folder, f"{number}0_kernel_trace.csv"), "wb") as file:
            file.write(rng.randbytes(20_000))
    printed = []
    for limit in ("1024", "5"):
        shutil.rmtree(damage.out, ignore_errors=True)
        outcome = harness.run(["/bin/sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh", damage.binary, "rocprof", folder,
                               "--output_csvs_dir", damage.out, "--quiet", "--threads", "8"])
        printed.append((outcome.code, outcome.stderr, sorted(harness.files_under(damage.out))))
    problems = [] if printed[0][0] == 0 and printed[0] == printed[1] else [f"{printed[0]} becomes {printed[1]}"[:600]]
    damage.tally.add("few file descriptors", problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/gputally")
    parser.add_argument("--flips", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="gputally-damage-") as folder:
        damage = Damage(options.bin, folder)
        run = maker.make_run(dispatches=40)
        maker.write_all(run, os.path.join(folder, "run"), ("csv", "rocpd"))
        inputs = os.path.join(folder, "run", "csv", maker.HOST)
        for name in sorted(os.listdir(inputs)):
            damage_csv(damage, os.path.join(inputs, name), rng, options.flips // 3)
        few_descriptors(damage, inputs, rng)
        database = os.path.join(folder, "run", "rocpd", maker.HOST, f"{run[0].pid}_results.db")
        odd_databases(damage, database, run[0])
        damage_database(damage, database, rng, options.flips)
        print(f"{damage.tally.passed} passed, {damage.tally.failed} failed")
        return 1 if damage.tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
