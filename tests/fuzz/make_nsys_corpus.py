#!/usr/bin/env python3
"""Writes the seeds of fuzz_nsys and fuzz_command_nsys, exports of several versions, whole and in parts; and of fuzz_command_report, folders
of them.

    python3 -m tests.fuzz.make_nsys_corpus        writes tests/fuzz/corpus/nsys/, command_nsys/ and command_report/nsys_*

The first byte of a seed of fuzz_nsys sets the options; see fuzz_nsys.c.
"""
import os
import sqlite3
import tempfile

from tests.fuzz import record_seeds
from tests.nsys import generate_export as maker

CORPUS = os.path.join(record_seeds.HERE, "corpus")
KEY, RAW, ALL, SOME = 64, 128, 1, 2


def write(target, name, data):
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def as_text(run):
    """Blobs are given as hexadecimal text, which changes to the seed do not destroy."""
    for row in run["NVTX_EVENTS"]:
        if isinstance(row.get("binaryData"), bytes):
            row["binaryData"] = row["binaryData"].hex()
    return run


def bytes_of(run, version=2026, sql=""):
    with tempfile.TemporaryDirectory() as folder:
        path = maker.write(run, os.path.join(folder, "e.sqlite"), version)
        db = sqlite3.connect(path)
        db.executescript(sql)
        db.close()
        with open(path, "rb") as file:
            return file.read()


def main():
    for version in (2021, 2022, 2024, 2026):
        whole = bytes_of(as_text(maker.small_run(version)), version)
        text = record_seeds.database_text(whole)
        write("nsys", f"whole_{version}", bytes([KEY | ALL]) + text)
        write("nsys", f"without_key_{version}", bytes([ALL | 4]) + text)
        write("command_nsys", f"whole_{version}", b"nsys\ne.sqlite\n--kernel_details\n--output_csvs_dir\nout\n@@@ db e.sqlite\n" + text)
    write("nsys", "basic", bytes([KEY]) + text)
    write("nsys", "some_mangled", bytes([KEY | SOME | 8]) + text)
    for table in (maker.KERNEL, maker.MEMCPY, maker.GRAPH, maker.RUNTIME, "NVTX_EVENTS", "OSRT_API"):
        run = as_text(maker.small_run())
        kept = {name: rows for name, rows in run.items() if name in (table, "StringIds", "NVTX_PAYLOAD_SCHEMA_ENTRIES")}
        write("nsys", "only_" + table.lower(), bytes([KEY | ALL]) + record_seeds.database_text(bytes_of(kept)))
    small = {name: rows for name, rows in maker.small_run().items() if name in (maker.KERNEL, maker.RUNTIME, "StringIds")}
    write("nsys", "bytes", bytes([RAW | ALL]) + bytes_of(small, sql="PRAGMA page_size = 512; VACUUM"))
    view = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start; CREATE TABLE OSRT_API (start)"
    write("nsys", "bytes_view", bytes([RAW]) + bytes_of({}, sql="PRAGMA page_size = 512;" + view))
    write("nsys", "newer", bytes([KEY]) + b"[StringIds]\nid\tvalue\n1\ta\n[META_DATA_EXPORT]\nname\tvalue\nEXPORT_PRODUCT_NAME\tNVIDIA Nsight Systems\n"
          b"EXPORT_SCHEMA_VERSION\t'4.1.0\n[DIAGNOSTIC_EVENT]\nseverity\ttext\n" + b"3\tlost\n" * 7)
    write("nsys", "nvprof", bytes([ALL]) + b"[StringTable]\n_id_\tvalue\n1\ta\n[CUPTI_ACTIVITY_KIND_KERNEL]\nstart\n1\n")
    for options in (["--kernel_names", "demangled", "--short_kernel_study"], ["--output_html", "p.html"], ["--no_extra_sheets", "--output_db", "o.db"]):
        words = "\n".join(["nsys", "e.sqlite", "--output_csvs_dir", "out", *options])
        write("command_nsys", options[0][2:], words.encode() + b"\n@@@ db e.sqlite\n" + text)
    write("command_nsys", "report", b"nsys\nr.nsys-rep\n--output_csvs_dir\nout\n@@@ file r.nsys-rep\nNVIDIA Tegra Profiler Report 2025@1@3@140v0.")
    report = b"NVIDIA Tegra Profiler Report 2025@1@3@140v0."
    write("command_report", "nsys_folder", b"report\nd\n--output_csvs_dir\nout\n@@@ db d/sub/e.sqlite\n" + text + b"\n@@@ file d/sub/e.nsys-rep\n" + report)
    write("command_report", "nsys_reports", b"report\nd\n--output_csvs_dir\nout\n@@@ file d/a.nsys-rep\n" + report + b"\n@@@ file d/b.qdrep\n" + report)
    write("command_report", "nsys_beside", b"report\ne.nsys-rep\n--output_csvs_dir\nout\n@@@ file e.nsys-rep\n" + report + b"\n@@@ db e.sqlite\n" + text)
    write("command_nsys", "json", b"nsys\nr.json\n--output_csvs_dir\nout\n@@@ file r.json\n{}")


if __name__ == "__main__":
    main()
