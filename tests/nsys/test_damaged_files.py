#!/usr/bin/env python3
"""Damaged and hostile exports of Nsight Systems: truncated, with flipped bits, cells of wrong types, huge values, odd schemas. gputally
must always end with 0 or 1, a failure is one message that names the file, and no incomplete output is left.

    python3 -m tests.nsys.test_damaged_files --bin build/gputally [--flips N] [--seed N]
"""
import argparse
import os
import random
import shutil
import sqlite3
import sys
import tempfile

from tests.common import harness
from tests.nsys import generate_export as maker
from tests.nsys.generate_export import GRAPH, KERNEL, MEMCPY, RUNTIME


class Damage:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.tally = os.path.abspath(binary), folder, harness.Tally()
        self.out = os.path.join(folder, "out_3317")

    def try_path(self, name, path, code=None, says=None, command="nsys", kernels=None):
        shutil.rmtree(self.out, ignore_errors=True)
        outcome = harness.run([self.binary, command, path, "--output_csvs_dir", self.out, "--quiet", "--kernel_details"])
        problems = outcome.problems()
        if code is not None and outcome.code != code:
            problems.append(f"exit code {outcome.code}: {outcome.stderr[:300]}")
        errors = [line for line in outcome.stderr.strip().split("\n") if not line.startswith("gputally: warning: ")]
        if outcome.code == 1:
            if len(errors) != 1 or not errors[0].startswith("gputally: ") or os.path.basename(path) not in errors[0]:
                problems.append(f"not one message that names the file: {outcome.stderr[:300]!r}")
            if os.path.isdir(self.out) and os.listdir(self.out):
                problems.append(f"left files: {os.listdir(self.out)}")
        if says and says not in outcome.stderr:
            problems.append(f"does not say {says!r}: {outcome.stderr[:300]!r}")
        if outcome.code == 0 and kernels is not None:
            _, rows = harness.read_csv(os.path.join(self.out, "kernel_details.csv"))
            if len(rows) != kernels:
                problems.append(f"{len(rows)} kernels, expected {kernels}")
        self.tally.add(name, problems)

    def try_sql(self, name, sql, **expected):
        """The small run after changes with SQL. With writable_schema even its schema can be changed."""
        path = maker.write(maker.small_run(), os.path.join(self.folder, "case.sqlite"))
        db = sqlite3.connect(path)
        db.executescript(sql)
        db.commit()
        db.close()
        for command in ("nsys", "report"):
            self.try_path(f"{name} ({command})", path, command=command, **expected)

    def try_bytes(self, name, data, **expected):
        path = os.path.join(self.folder, "case.sqlite")
        with open(path, "wb") as file:
            file.write(data)
        self.try_path(name, path, **expected)
        os.remove(path)


LARGEST, SMALLEST = 9223372036854775807, -9223372036854775808


def wrong_cells(damage):
    damage.try_sql("a zero byte in the name of a function", "UPDATE StringIds SET value = 'cuda' || char(0) || 'Launch_v7000' WHERE id = 6", code=0)
    damage.try_sql("text for a start", f"UPDATE {KERNEL} SET start = 'soon' WHERE rowid = 3", code=1,
                   says=f"table {KERNEL}, row 3: column start is text")
    damage.try_sql("a blob for a name", f"UPDATE {RUNTIME} SET nameId = x'00ff' WHERE rowid = 1", code=1,
                   says=f"table {RUNTIME}, row 1: column nameId is a blob")
    damage.try_sql("text in a row with another number", f"UPDATE {KERNEL} SET rowid = 70, streamId = 'x' WHERE rowid = 2", code=1,
                   says=f"table {KERNEL}, row 70: column streamId is text")
    damage.try_sql("a fraction for a device", f"UPDATE {MEMCPY} SET deviceId = 1.5", code=1, says="a fraction or too large")
    damage.try_sql("a number that is too large", f"UPDATE {MEMCPY} SET bytes = 1e300", code=1, says="a fraction or too large")
    damage.try_sql("text for a range's type", "UPDATE NVTX_EVENTS SET eventType = 'range'", code=1, says="table NVTX_EVENTS, row 1")
    damage.try_sql("text for a GPU", "UPDATE TARGET_INFO_GPU SET smCount = 'many'", code=1, says="table TARGET_INFO_GPU, row 1: column smCount")
    damage.try_sql("numbers for texts", "UPDATE NVTX_EVENTS SET text = 5; UPDATE StringIds SET value = 7; UPDATE META_DATA_EXPORT SET value = 3",
                   code=0, kernels=5)
    damage.try_sql("NULL everywhere", ";".join(f"UPDATE {table} SET {', '.join(chr(34) + name + chr(34) + ' = NULL' for name in maker.columns_of(table, 2026))}"
                                                for table in (KERNEL, MEMCPY, RUNTIME, GRAPH, "NVTX_EVENTS", "OSRT_API", "TARGET_INFO_GPU")),
                   code=0, kernels=0, says="without a start or a duration")
    damage.try_sql("invalid UTF-8 and odd names", "UPDATE StringIds SET value = CAST(x'ff3c2f7363726970743e00e2' AS TEXT) WHERE id < 9;"
                   "UPDATE NVTX_EVENTS SET text = '<script>' || char(8238) || printf('%.40000c', 'x')", code=0, kernels=5)


def missing_names(damage):
    """Calls without names are not calls that were not recorded."""
    damage.try_sql("names of calls that are missing", "DELETE FROM StringIds WHERE id BETWEEN 6 AND 11", code=0, kernels=5,
                   says="CUDA calls whose names the table StringIds does not have: 9; what they did is unknown")
    path = maker.write({**maker.small_run(), "StringIds": []}, os.path.join(damage.folder, "nameless.sqlite"))
    shown = " ".join(harness.run([damage.binary, "report", path, "--print"]).stdout.split())
    is_right = "the trace lacks the names of the host calls" in shown and "were not recorded" not in shown
    damage.tally.add("the verdict on missing names", [] if is_right else [shown[:600]])


def huge_values(damage):
    damage.try_sql("the largest times", f"UPDATE {KERNEL} SET start = {SMALLEST}, \"end\" = {LARGEST}", code=1, says="overflows 63 bits")
    damage.try_sql("durations whose sum overflows", f"UPDATE {KERNEL} SET start = 1, \"end\" = {LARGEST // 2}", code=1, says="overflows 63 bits")
    damage.try_sql("a graph that overflows", f"UPDATE {GRAPH} SET start = {SMALLEST}, \"end\" = {LARGEST}", code=1, says="overflows 63 bits")
    damage.try_sql("calls that overflow", f"UPDATE {RUNTIME} SET start = {SMALLEST}, \"end\" = {LARGEST}", code=1, says="overflows 63 bits")
    damage.try_sql("ranges that overflow", f"UPDATE NVTX_EVENTS SET start = {SMALLEST}, \"end\" = {LARGEST}", code=1, says="overflows 63 bits")
    damage.try_sql("one kernel at the end of time", f"UPDATE {KERNEL} SET start = {LARGEST} - 5, \"end\" = {LARGEST} WHERE rowid = 1", code=0, kernels=5)
    for value in (LARGEST, SMALLEST, -1):
        damage.try_sql(f"numbers of {value}", ";".join(
            f"UPDATE {table} SET {', '.join(f'{chr(34)}{name}{chr(34)} = {value}' for name in names.split())}" for table, names in (
                (KERNEL, "deviceId streamId correlationId globalPid shortName gridX gridY gridZ blockX blockY blockZ gridId staticSharedMemory "
                         "dynamicSharedMemory"),
                (MEMCPY, "deviceId streamId correlationId globalPid bytes copyKind srcDeviceId dstDeviceId"),
                (RUNTIME, "eventClass globalTid correlationId nameId"), (GRAPH, "deviceId graphId globalPid streamId"),
                ("NVTX_EVENTS", "globalTid endGlobalTid domainId"), ("TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid"),
                ("TARGET_INFO_GPU", "id cuDevice totalMemory clockRate smCount computeMajor computeMinor"),
                ("ANALYSIS_DETAILS", "duration"), ("NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId schemaId type"))), code=0, kernels=5)


def odd_schemas(damage):
    """Views, virtual tables and names of tables that are something else must never be read."""
    virtual = "CREATE VIRTUAL TABLE {name} USING fts4(start, value)"
    damage.try_sql("a virtual table for kernels", f"DROP TABLE {KERNEL}; {virtual.format(name=KERNEL)}", code=1,
                   says="CUPTI_ACTIVITY_KIND_KERNEL is a view or virtual table")
    damage.try_sql("a view for kernels", f"DROP TABLE {KERNEL}; CREATE VIEW {KERNEL} AS WITH RECURSIVE r(start) AS (SELECT 1 UNION ALL SELECT start + 1 "
                   "FROM r) SELECT start, start + 1 AS \"end\" FROM r", code=1, says="CUPTI_ACTIVITY_KIND_KERNEL is a view or virtual table")
    damage.try_sql("a view of somebody's own", f"CREATE VIEW longest AS SELECT * FROM {KERNEL} ORDER BY \"end\" - start", code=0, kernels=5)
    damage.try_sql("a view for strings", "ALTER TABLE StringIds RENAME TO s; CREATE VIEW StringIds AS SELECT * FROM s", code=1,
                   says="no tables of Nsight Systems")
    damage.try_sql("a table without row ids", f"ALTER TABLE {KERNEL} RENAME TO k; CREATE TABLE {KERNEL} (start INTEGER PRIMARY KEY, \"end\", shortName, "
                   f"globalPid) WITHOUT ROWID; INSERT INTO {KERNEL} SELECT start, \"end\", shortName, globalPid FROM k", code=0, kernels=5)
    damage.try_sql("a column that hides the row id", f"ALTER TABLE {KERNEL} ADD COLUMN rowid TEXT; ALTER TABLE {KERNEL} ADD COLUMN _rowid_ TEXT; "
                   f"ALTER TABLE {KERNEL} ADD COLUMN oid TEXT", code=0, kernels=5)
    damage.try_sql("a generated column", f"ALTER TABLE {KERNEL} ADD COLUMN localMemoryPerThread INTEGER GENERATED ALWAYS AS (1 / 0) VIRTUAL", code=0,
                   kernels=5)
    damage.try_sql("triggers and indexes", f"CREATE TRIGGER t AFTER INSERT ON {KERNEL} BEGIN DELETE FROM StringIds; END; CREATE INDEX i ON {KERNEL} "
                   "(\"end\" DESC, start)", code=0, kernels=5)
    damage.try_sql("strings with two columns as key", "CREATE TABLE s (id INTEGER, value TEXT, PRIMARY KEY (value, id)) WITHOUT ROWID; INSERT INTO s "
                   "SELECT * FROM StringIds; DROP TABLE StringIds; ALTER TABLE s RENAME TO StringIds", code=0, kernels=5)
    damage.try_sql("names of tables in other letters", f"ALTER TABLE {KERNEL} RENAME TO x; ALTER TABLE x RENAME TO cupti_activity_kind_kernel", code=0,
                   kernels=0)
    damage.try_sql("a schema that is no SQL", f"PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE TABLE nonsense' WHERE name = '{MEMCPY}'",
                   code=1)
    damage.try_sql("one page for two tables", "PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE "
                   f"name = 'StringIds') WHERE name = '{KERNEL}'")
    damage.try_sql("999 more columns", ";".join(f"ALTER TABLE {KERNEL} ADD COLUMN c{i} INTEGER" for i in range(900)), code=0, kernels=5)


def many_processes(damage):
    run = maker.small_run()
    run[KERNEL] = [{"start": i, "end": i + 1, "deviceId": i, "globalPid": maker.global_pid(i), "shortName": 1, "correlationId": i} for i in range(3000)]
    run["NVTX_EVENTS"] = [{"start": i, "end": i + 1, "eventType": kind, "globalTid": maker.global_tid(i % 3000, i), "domainId": i, "text": "d"}
                          for i in range(3000) for kind in (59, 75)]
    damage.try_path("3000 processes and domains", maker.write(run, os.path.join(damage.folder, "many.sqlite")), code=0, kernels=3000)


def bytes_of(damage, rng, flips):
    path = maker.write(maker.small_run(), os.path.join(damage.folder, "whole.sqlite"))
    with open(path, "rb") as file:
        data = file.read()
    for length in (0, 1, 15, 16, 17, 99, 100, 101, 511, 4095, 4096, 4097, len(data) // 2, len(data) - 4096, len(data) - 1):
        damage.try_bytes(f"truncated to {length} bytes", data[:length], code=1)
    for i in range(flips):
        copy = bytearray(data)
        for _ in range(rng.choice((1, 2, 8, 64))):
            copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)
        damage.try_bytes(f"flipped bits {i}", bytes(copy))
    for i in range(flips // 2):
        copy = bytearray(data)
        a, b = rng.randrange(len(data) // 4096), rng.randrange(len(data) // 4096)
        copy[a * 4096:a * 4096 + 4096] = data[b * 4096:b * 4096 + 4096] if i % 2 else rng.randbytes(4096)
        damage.try_bytes(f"another page {i}", bytes(copy))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/gputally")
    parser.add_argument("--flips", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gputally-damage-") as folder:
        damage = Damage(options.bin, folder)
        for part in (wrong_cells, missing_names, huge_values, odd_schemas, many_processes):
            part(damage)
        bytes_of(damage, random.Random(options.seed), options.flips)
        return damage.tally.finish()


if __name__ == "__main__":
    sys.exit(main())
