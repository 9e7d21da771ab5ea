#!/usr/bin/env python3
"""Reports of Nsight Systems exports. The sheets of a small run are computed by hand, from the events in generate_export.small_run; those
of random exports in plain Python, from the definitions.

    python3 -m tests.nsys.test_reports --bin build/gputally [--only TEXT]
"""
import copy
import json
import os
import random
import shutil
import sqlite3
import sys

from tests.common import harness
from tests.nsys import generate_export as maker
from tests.nsys.generate_export import A, B, GRAPH, KERNEL, MEMCPY, MEMSET, RUNTIME
from tests.rocprof.checks import run_parts


def sheets(test, path, *options, command="nsys", code=0):
    """The outcome of a report and its sheets: {name: (headings, rows)}."""
    out = os.path.join(test.folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    outcome = harness.run([test.binary, command, path, "--output_csvs_dir", out, *options])
    found = {}
    if outcome.code == 0 and os.path.isdir(out):
        found = {name[:-4]: harness.read_csv(os.path.join(out, name)) for name in os.listdir(out) if name.endswith(".csv")}
    problems = outcome.problems()
    if outcome.code != code:
        problems.append(f"exit code {outcome.code}: {outcome.stderr[:300]}")
    return outcome, found, problems


def export(test, change=None, version=2026, name="export.sqlite"):
    run = maker.small_run(version)
    if change:
        change(run)
    return maker.write(run, os.path.join(test.folder, name), version)


def differs(found, sheet, expected, columns=None):
    """Compares rows with lists of numbers and texts; `columns` picks those to compare."""
    if sheet not in found:
        return [f"no sheet {sheet}"]
    headings, rows = found[sheet]
    at = [headings.index(name) for name in columns] if columns else range(len(headings))
    got = [[row[i] for i in at] for row in rows]
    wanted = [[repr(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in expected]
    if got == wanted:
        return []
    close = len(got) == len(wanted) and all(len(g) == len(w) and all(is_close(x, y) for x, y in zip(g, w)) for g, w in zip(got, wanted))
    return [] if close else [f"{sheet}: {got[:12]}, expected {wanted[:12]}"]


def is_close(a, b):
    try:
        return abs(float(a) - float(b)) <= 1e-9 * max(abs(float(a)), abs(float(b)), 1e-3)
    except ValueError:
        return a == b


# ---- the small run ----

TIMELINE = [["total_time", 0.02, 100.0], ["kernel", 0.00951, 47.55], ["memory", 0.00245, 12.25], ["busy_time", 0.01146, 57.3],
            ["idle", 0.00854, 42.7]]


def small_sheets(test):
    outcome, found, problems = sheets(test, export(test), "--kernel_details")
    problems += differs(found, "gpu_timeline", TIMELINE)
    problems += differs(found, "kernel_summary", [["gemm", 3, 4000 / 3 / 1000, 1.0, 0.0, 3.0, 0.004, "GEMM"],
                                                  ["reduce_sum", 1, 4.0, 4.0, 4.0, 4.0, 0.004, "Reduction"],
                                                  ["unknown_kernel_777", 1, 0.01, 0.01, 0.01, 0.01, 1e-05, "Other"]],
                        ["name", "Count", "Mean Kernel Time (µs)", "Median Kernel Time (µs)", "Min Kernel Time (µs)",
                         "Max Kernel Time (µs)", "Total Kernel Time (ms)", "Category"])
    problems += differs(found, "kernel_details",
                        [["reduce_sum", 4.0, 13, 1, 24, 1, 1, 512, 1, 1, 1, 502], ["gemm", 3.0, 7, 1, 8, 4, 1, 256, 1, 1, 0, 501],
                         ["gemm", 1.0, 7, 2, 2, 1, 1, 128, 1, 1, 0, 505], ["unknown_kernel_777", 0.01, 7, 4, 1, 1, 1, 32, 1, 1, 0, 0],
                         ["gemm", 0.0, 7, 3, 1, 1, 1, 32, 1, 1, 0, 501]])
    problems += differs(found, "cuda_api_summary",
                        [["cudaLaunchKernel", 3, 0.0006], ["cudaGraphLaunch", 1, 0.0005], ["cuMemAlloc_v2", 1, 0.0002],
                         ["cuLaunchKernel", 2, 0.00015], ["cudaMemcpyAsync", 2, 0.00015]], ["name", "Count", "Total Time (ms)"])
    problems += differs(found, "memory_copy_summary",
                        [["MEMORY_COPY_DEVICE_TO_HOST", 1, 0.001, 2000, 2.0], ["MEMORY_COPY_PEER_TO_PEER", 1, 0.001, 1000000, 1000.0],
                         ["MEMORY_COPY_HOST_TO_DEVICE", 1, 0.0002, 4096, 20.48],
                         ["MEMORY_COPY_UNIFIED_HOST_TO_DEVICE", 1, 0.0001, 65536, 655.36], ["MEMORY_SET", 1, 0.0001, 256, 2.56],
                         ["MEMORY_COPY_KIND_42", 1, 0.00005, 10, 0.2]],
                        ["name", "Count", "Total Time (ms)", "Total Bytes", "Bandwidth (GB/s)"])
    problems += differs(found, "nvtx_summary", [["step", 1, 0.0152], ["forward", 1, 0.0035], ["NCCL:ncclAllReduce", 2, 0.0008],
                                                ["h2d", 1, 0.0005]], ["name", "Count", "Total Time (ms)"])
    problems += differs(found, "nccl_api_summary", [["ncclAllReduce", 2, 0.0008, 0.4]],
                        ["name", "Count", "Total Time (ms)", "Mean Time (µs)"])
    problems += differs(found, "nccl_messages", [["ncclAllReduce", "0x1122334455667788", 4096, 2, 8192, 0.0008]])
    problems += differs(found, "cuda_graph_summary", [["graph_3", 1, 0.002]], ["name", "Count", "Total Time (ms)"])
    problems += differs(found, "osrt_summary", [["read", 1, 0.00025]], ["name", "Count", "Total Time (ms)"])
    problems += differs(found, "process_summary", [[0, A, 4, 0.00401, 401 / 8.01], [1, B, 1, 0.004, 400 / 8.01]])
    problems += differs(found, "agent_info", [[0, 0, "GPU", 32, 132, 0x1b00, 1980, "GH100", "NVIDIA", "NVIDIA H100 80GB HBM3"],
                                              [1, 1, "GPU", 32, 132, 0x4300, 1980, "GH100", "NVIDIA", "NVIDIA H100 80GB HBM3"]],
                        ["Node_Id", "Logical_Node_Id", "Agent_Type", "Wave_Front_Size", "Cu_Count", "Location_Id",
                         "Max_Engine_Clk_Fcompute", "Name", "Vendor_Name", "Product_Name"])
    # By hand: GPU 0 has the kernels and the graph of process 501 and its copies; GPU 1 reduce_sum, the memory that was set, and
    # the other end of the copy between GPUs.
    problems += differs(found, "gpu_timeline_by_device",
                        [[0, "kernel", 0.00601], [0, "memory", 0.00235], [1, "kernel", 0.004], [1, "memory", 0.0011]],
                        ["device", "type", "time ms"]) if not keep_rows(found, "gpu_timeline_by_device", "type", ("kernel", "memory")) else ["?"]
    for says in ("1 graph launch hides its kernels; profile with --cuda-graph-trace=node to see them", "NVTX ranges that never end: 1",
                 "nsys says: CUDA buffers [31m were dropped."):
        if says not in outcome.stderr:
            problems.append(f"does not say {says!r}: {outcome.stderr}")
    if "hunter2" in outcome.stdout + outcome.stderr + json.dumps(found) or "secret" in json.dumps(found):
        problems.append("shows what nobody asked for")
    test.tally.add("sheets of the small run", problems)


def keep_rows(found, sheet, column, values):
    headings, rows = found[sheet]
    at = headings.index(column)
    found[sheet] = headings, [row for row in rows if row[at] in values]


def versions(test):
    """Older exports lack columns and tables; what remains is the same."""
    _, newest, problems = sheets(test, export(test), "--kernel_details")
    for version, total, kernel in ((2021, 0.0175, 0.00751), (2022, 0.02, 0.00751), (2024, 0.02, 0.00951)):
        _, found, problems = sheets(test, export(test, version=version), "--kernel_details")
        problems += differs(found, "gpu_timeline", [["total_time", total], ["kernel", kernel], ["memory", 0.00245]], ["type", "time ms"]) \
            if not keep_rows(found, "gpu_timeline", "type", ("total_time", "kernel", "memory")) else []
        for sheet in ("kernel_summary", "kernel_summary_by_category", "cuda_api_summary", "memory_copy_summary", "nvtx_summary",
                      "nccl_api_summary", "osrt_summary", "process_summary"):
            if found.get(sheet) != newest[sheet]:
                problems.append(f"{sheet} differs")
        # Without the table of CUDA devices, the number that the process uses: both have device 0.
        problems += differs(found, "kernel_details", [[0, 502], [0, 501], [0, 505], [0, 0], [0, 501]], ["agent_id", "thread_id"])
        if "nccl_messages" in found or ("cuda_graph_summary" in found) != (version >= 2024):
            problems.append(f"sheets: {sorted(found)}")
        test.tally.add(f"an export of {version}", problems)


def kernel_names(test):
    path = export(test)
    for kind, expected in (("short", ["gemm", "reduce_sum", "unknown_kernel_777"]),
                           ("demangled", ["void reduce_sum(int)", "void gemm<float>(float*)", "void gemm<double>(double*)", "unknown_kernel_777"]),
                           ("mangled", ["void reduce_sum(int)", "_Z4gemmIfEvPf", "void gemm<double>(double*)", "unknown_kernel_777"])):
        outcome, found, problems = sheets(test, path, "--kernel_names", kind)
        problems += differs(found, "kernel_summary", [[name] for name in expected], ["name"])
        warns = "2 kernels have only 1" in outcome.stderr or "3 kernels have only 2" in outcome.stderr
        if warns != (kind == "short"):
            problems.append(f"warning about short names: {outcome.stderr}")
        test.tally.add(f"--kernel_names {kind}", problems)
    _, demangled, problems = sheets(test, path, "--kernel_names", "demangled")
    _, full, more = sheets(test, path, "--full_kernel_names")
    test.tally.add("--full_kernel_names is demangled", problems + more + ([] if demangled == full else ["differ"]))
    _, best, problems = sheets(test, path, command="report")
    test.tally.add("report: demangled names",
                   problems + differs(best, "kernel_summary", [row[:1] for row in demangled["kernel_summary"][1]], ["name"]))
    outcome = harness.run([test.binary, "nsys", path, "--kernel_names", "x"])
    test.tally.add("--kernel_names x", [] if outcome.code == 2 and "invalid choice: 'x'" in outcome.stderr else [outcome.stderr])


# ---- times ----

def profiled_time(test):
    def only(duration, shift=0):
        def change(run):
            run["ANALYSIS_DETAILS"] = [{"duration": duration}]
            for table in (KERNEL, MEMCPY, MEMSET, GRAPH):
                for row in run[table]:
                    row["start"] += shift
                    row["end"] += shift
        return change
    for name, change, total in (("the capture", only(20000), 0.02), ("the GPU's, of a capture that is too short", only(17999), 0.0175),
                                ("the capture that just holds", only(18000), 0.018), ("the GPU's, with negative times", only(20000, -600), 0.0175),
                                ("the GPU's, without a length", only(0), 0.0175), ("the GPU's, with a negative length", only(-5), 0.0175)):
        _, found, problems = sheets(test, export(test, change))
        keep_rows(found, "gpu_timeline", "type", ("total_time",))
        test.tally.add(f"total_time: {name}", problems + differs(found, "gpu_timeline", [[total]], ["time ms"]))


def odd_times(test):
    def change(run):
        run[KERNEL][1].update(start=6000, end=5000)  # ends before it starts: left out, as what lacks a time
        run[KERNEL].append({"start": 100, "globalPid": maker.global_pid(A), "shortName": 1})
        run[RUNTIME].append({"end": 5, "eventClass": 0, "globalTid": maker.global_tid(A, 1), "nameId": 6})
    outcome, found, problems = sheets(test, export(test, change))
    problems += differs(found, "kernel_summary", [["reduce_sum", 0.004], ["gemm", 0.003], ["unknown_kernel_777", 1e-05]],
                        ["name", "Total Kernel Time (ms)"])
    if "1 without an end (the first is dispatch 6), 1 that end before they start (the first is dispatch 2)" not in outcome.stderr:
        problems.append(outcome.stderr)
    test.tally.add("times that are odd", problems)


# ---- what is missing ----

def nothing(test):
    def keep(*tables):
        def change(run):
            for name in (KERNEL, MEMCPY, MEMSET, GRAPH, RUNTIME, "NVTX_EVENTS", "OSRT_API"):
                if name not in tables:
                    run[name] = []
        return change

    def drop(run):
        for name in list(run):
            if name not in ("META_DATA_EXPORT", "StringIds"):
                del run[name]
    headers = {"gpu_timeline": 0, "kernel_summary": 0, "kernel_summary_by_category": 0, "cuda_api_summary": 0, "memory_copy_summary": 0,
               "kernel_details": 0}
    for name, change, rows, says in (("no rows", keep(), headers, "nothing was recorded"), ("no tables", drop, headers, "nothing was recorded"),
                                     ("calls only", keep(RUNTIME), {**headers, "cuda_api_summary": 5}, "CUPTI_ACTIVITY_KIND_KERNEL is empty"),
                                     ("copies only", keep(MEMCPY), {**headers, "gpu_timeline": 5, "memory_copy_summary": 5}, "no kernels"),
                                     ("graphs only", keep(GRAPH), {**headers, "gpu_timeline": 5, "cuda_graph_summary": 1},
                                      "--cuda-graph-trace=node")):
        outcome, found, problems = sheets(test, export(test, change), "--kernel_details")
        for sheet, count in rows.items():
            if sheet not in found or len(found[sheet][1]) != count:
                problems.append(f"{sheet}: {found.get(sheet)}")
        if says not in outcome.stderr:
            problems.append(f"does not say {says!r}: {outcome.stderr}")
        if found.get("kernel_summary", ([], 0))[0][-2:] != ["Total Kernel Time (ms)", "Category"]:
            problems.append(f"columns of kernel_summary: {found.get('kernel_summary')}")
        test.tally.add(f"an export with {name}", problems)


def messages(test):
    def change(run):
        run["DIAGNOSTIC_EVENT"] = [{"severity": 3, "text": f"error number {i}"} for i in range(7)]
        run["META_DATA_EXPORT"][2]["value"] = "4.0.1"
    outcome, _, problems = sheets(test, export(test, change))
    shown = outcome.stderr.count("error number")
    if shown != 5 or "2 more errors" not in outcome.stderr:
        problems.append(f"{shown} errors shown: {outcome.stderr}")
    if "schema 4.0 is newer than what this version knows (3.x)" not in outcome.stderr:
        problems.append(outcome.stderr)
    test.tally.add("messages of nsys and a newer schema", problems)


def strings_without_key(test):
    """Programs that rewrite an export drop its keys, and store integers that may be absent as floating-point numbers."""
    _, expected, problems = sheets(test, export(test), "--kernel_details")
    path = export(test)
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE s (id INTEGER, value TEXT); INSERT INTO s SELECT * FROM StringIds ORDER BY id DESC; DROP TABLE StringIds;"
                     f"ALTER TABLE s RENAME TO StringIds; CREATE TABLE k (ours TEXT); DROP TABLE k; ALTER TABLE {KERNEL} ADD COLUMN ours TEXT;"
                     f"CREATE TABLE r AS SELECT * FROM {RUNTIME}; DROP TABLE {RUNTIME};"
                     f"CREATE TABLE {RUNTIME} (correlationId REAL, nameId REAL, globalTid INTEGER, start REAL, \"end\" INTEGER, eventClass INTEGER);"
                     f"INSERT INTO {RUNTIME} SELECT correlationId, nameId, globalTid, start, \"end\", eventClass FROM r")
    db.commit()
    db.close()
    _, found, more = sheets(test, path, "--kernel_details")
    test.tally.add("an export that was rewritten", problems + more + [f"{name} differs" for name in expected if found.get(name) != expected[name]])


# ---- payloads ----

def payloads(test):
    good = maker.payload(5, 1 << 20)
    for name, data, rows in (("a second payload behind it", good + b"\0" * 40, 1), ("no payload", None, 0), ("too short", good[:40], 0),
                             ("no header", good[:20], 0), ("another schema", maker.payload(5, 7, schema=3), 0), ("text", "no hexadecimal", 0),
                             ("hexadecimal of odd length", good.hex()[:-1], 0), ("with 0x", "0x" + good.hex(), 1), ("empty", b"", 0),
                             ("a negative size", maker.payload(5, (1 << 64) - 1), 0), ("too large", good + b"\0" * (200 << 10), 0)):
        def change(run, data=data):
            run["NVTX_EVENTS"] = [dict(row, binaryData=data) for row in run["NVTX_EVENTS"]]
        _, found, problems = sheets(test, export(test, change))
        expected = [["ncclAllReduce", "0x0000000000000005", 1 << 20, 2, 2 << 20, 0.0008]] if rows else None
        if rows:
            problems += differs(found, "nccl_messages", expected)
        elif "nccl_messages" in found:
            problems.append(f"nccl_messages: {found['nccl_messages']}")
        test.tally.add(f"NCCL payload: {name}", problems)

    def offsets(run):
        for row in run["NVTX_PAYLOAD_SCHEMA_ENTRIES"]:
            row["offset"] = 1 << 62 if row["idx"] == 1 else -8
    _, found, problems = sheets(test, export(test, offsets))
    test.tally.add("NCCL payload: fields outside", problems + (["read"] if "nccl_messages" in found else []))

    def order(run):
        sizes = ((1, 100, "B"), (1, 100, "B"), (2, 200, "A"), (9, 4000, "Z"), (1, 200, "A"))
        run["NVTX_EVENTS"] = [{"start": 0, "end": 1000, "eventType": 59, "globalTid": maker.global_tid(A, 1), "text": "nccl" + name,
                               "binaryData": maker.payload(communicator, size)} for communicator, size, name in sizes]
    _, found, problems = sheets(test, export(test, order))
    problems += differs(found, "nccl_messages", [["ncclZ", "0x0000000000000009", 4000, 1, 4000, 0.001], ["ncclA", "0x0000000000000001", 200, 1, 200, 0.001],
                                                 ["ncclA", "0x0000000000000002", 200, 1, 200, 0.001], ["ncclB", "0x0000000000000001", 100, 2, 200, 0.002]])
    test.tally.add("the order of nccl_messages", problems)


# ---- files ----

def refused(test):
    nvprof = os.path.join(test.folder, "nvprof.nvvp")
    other = os.path.join(test.folder, "other.sqlite")
    for path, sql in ((nvprof, "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (x)"),
                      (other, "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE kernels (start, \"end\")")):
        db = sqlite3.connect(path)
        db.executescript(sql)
        db.close()
    view = os.path.join(test.folder, "view.sqlite")
    db = sqlite3.connect(view)
    db.executescript("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE "
                     "r(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM r) SELECT start, start + 1 AS \"end\" FROM r")
    db.close()
    report = os.path.join(test.folder, "run one.nsys-rep")
    with open(report, "wb") as file:
        file.write(b"NVIDIA Tegra Profiler Report 2025@1@3@140-251335620677v0.\n\x0bLocal")
    text = os.path.join(test.folder, "a.json")
    with open(text, "w") as file:
        file.write("{}")
    for command in ("nsys", "report"):
        for name, path, says in (("nvprof", nvprof, "database of nvprof"), ("another database", other, "no tables of Nsight Systems"),
                                 ("an endless view", view, "no tables of Nsight Systems"),
                                 ("a report", report, "this is an Nsight Systems report (written by nsys 2025.1.3), which only nsys can read; export it "
                                  f"with: nsys export --type sqlite -o '{report}.sqlite' '{report}'\n"),
                                 ("JSON", text, "a.json: ")):
            outcome, _, problems = sheets(test, path, command=command, code=1)
            if says not in outcome.stderr or len(outcome.stderr.strip().split("\n")) != 1:
                problems.append(outcome.stderr)
            test.tally.add(f"{command} refuses {name}", problems)
    export(test, name="run one.sqlite")
    outcome, _, problems = sheets(test, report, code=1)
    if "; run one.sqlite next to it can be read as it is\n" not in outcome.stderr:
        problems.append(outcome.stderr)
    test.tally.add("a report whose export lies beside it", problems)
    path = export(test)
    for ending in ("-wal", "-journal"):
        with open(path + ending, "wb") as file:
            file.write(bytes(600))
        outcome, _, problems = sheets(test, path, code=1)
        os.remove(path + ending)
        test.tally.add(f"a {ending} file beside it", problems + ([] if "incomplete database" in outcome.stderr else [outcome.stderr]))
    outcome, _, problems = sheets(test, path, command="rocprof", code=1)
    test.tally.add("rocprof names the right command", problems + ([] if "use gputally nsys" in outcome.stderr else [outcome.stderr]))
    outcome = harness.run([test.binary, "convert", path, os.path.join(test.folder, "t.pftrace")])
    test.tally.add("convert says no", [] if outcome.code == 1 and "cannot be converted" in outcome.stderr else [outcome.stderr])


def folders(test):
    folder = os.path.join(test.folder, "captures", "node a")
    os.makedirs(folder)
    for name in ("b.sqlite", "a.sqlite"):
        export(test, name=os.path.join("captures", "node a", name))
    for name in ("a.nsys-rep", "c.nsys-rep"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"NVIDIA Tegra Profiler Report 2025@1@3@140-251335620677v0.\n")
    db = sqlite3.connect(os.path.join(folder, "other.sqlite"))
    db.execute("CREATE TABLE t (a)")
    db.close()
    out = os.path.join(test.folder, "reports")
    outcome = harness.run([test.binary, "report", os.path.join(test.folder, "captures"), "--output_csvs_dir", out])
    problems = outcome.problems() + ([] if outcome.code == 0 else [outcome.stderr])
    if sorted(os.listdir(out)) != ["a", "b"] or not os.path.isfile(os.path.join(out, "a", "kernel_summary.csv")):
        problems.append(f"{os.listdir(out)}")
    if "nsys-rep" in outcome.stderr:
        problems.append(outcome.stderr)
    test.tally.add("report of a folder", problems)
    for name in ("a.sqlite", "b.sqlite"):
        os.remove(os.path.join(folder, name))
    outcome = harness.run([test.binary, "report", os.path.join(test.folder, "captures")])
    says = "a.nsys-rep: this is an Nsight Systems report"
    test.tally.add("a folder of reports only", [] if outcome.code == 1 and says in outcome.stderr else [outcome.stderr])


# ---- other outputs ----

def trust(test):
    """By hand: GPU 0 runs four kernels, a graph and five copies. Three kernels, the graph and two copies have a call with their id in their
    process. The first of the two calls with id 12 launched its kernel; taken for the launch, the other one would be after it (T5)."""
    _, found, problems = sheets(test, export(test), command="report")
    headings, rows = found["trust"]
    texts = {row[headings.index("id")]: (row[headings.index("level")], row[headings.index("text")]) for row in rows}
    if not texts.get("T1", ("", ""))[1].startswith("4 of 10 GPU operations in the window have no recorded launch"):
        problems.append(f"T1: {texts.get('T1')}")
    for check in ("T2", "T5"):
        if texts.get(check, ("none",))[0] != "ok":
            problems.append(f"{check}: {texts.get(check)}")
    test.tally.add("launches in the verdict", problems)


def outputs(test):
    path = export(test)
    place = lambda name: os.path.join(test.folder, name)
    outcome = harness.run([test.binary, "report", path, "--output_xlsx_path", place("r.xlsx"), "--output_db", place("r.db"), "--output_json",
                           place("r.json"), "--output_html", place("r.html"), "--output_md", place("r.md")])
    problems = outcome.problems() + ([] if outcome.code == 0 else [outcome.stderr])
    if not problems:
        db = sqlite3.connect(place("r.db"))
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        db.close()
        with open(place("r.json"), encoding="utf-8") as file:
            answers = json.load(file)
        with open(place("r.html"), encoding="utf-8") as file:
            page = file.read()
        wanted = {"gpu_timeline", "kernel_summary", "cuda_api_summary", "nvtx_summary", "nccl_messages", "trust", "findings"}
        if not wanted <= tables or not wanted <= set(answers["sheets"]):
            problems.append(f"sheets: {sorted(tables)}, {sorted(answers['sheets'])}")
        if "Nsight Systems" not in page or "graph_3" not in json.dumps(answers["sheets"]["cuda_graph_summary"]):
            problems.append("the page does not name the profiler, or the JSON the graph")
    test.tally.add("report in all formats", problems)

    outcome = harness.run([test.binary, "compare", path, export(test, version=2022, name="older.sqlite"), "-o", place("c.xlsx")])
    test.tally.add("compare", outcome.problems() + ([] if outcome.code == 0 and os.path.isfile(place("c.xlsx")) else [outcome.stderr]))

    def quiet(run):  # nothing that a reader must warn of, so that the index may keep the export itself
        run["DIAGNOSTIC_EVENT"], run[GRAPH] = [], []
        run["NVTX_EVENTS"] = [row for row in run["NVTX_EVENTS"] if row["text"] != "open"]
    path = export(test, quiet, name="kept.sqlite")
    _, plain, problems = sheets(test, path, "--kernel_details", "--kernel_names", "demangled")
    indexed = harness.run([test.binary, "index", path])
    _, found, more = sheets(test, path, "--kernel_details", "--kernel_names", "demangled", "--index", "auto")
    _, again, most = sheets(test, path, "--kernel_details", "--kernel_names", "demangled", "--index", "auto")
    problems += more + most + ([] if indexed.code == 0 and plain == found == again else [f"sheets differ: {indexed.stderr}"])
    os.remove(path)
    _, alone, more = sheets(test, path + ".gtindex", "--kernel_details", "--kernel_names", "demangled")
    test.tally.add("index", problems + more + ([] if alone == plain else ["sheets of the index alone differ"]))


# ---- random exports ----

def random_export(rng):
    """Three processes that share correlation ids, with calls and kernels in any order."""
    run = maker.small_run()
    names = {100 + i: f"kernel_{rng.choice('abcd')}{i}" for i in range(12)}
    calls = {200 + i: f"cudaCall{i}" + rng.choice(("", "_v2", "_v3020")) for i in range(8)}
    run["StringIds"] = [{"id": i, "value": text} for i, text in {**names, **calls}.items()]
    pids = (900, 31, 77)
    run["TARGET_INFO_CUDA_DEVICE"] = [{"gpuId": 7 - i, "cudaId": 0, "pid": pid} for i, pid in enumerate(pids[:2])]
    run[KERNEL], run[RUNTIME], run["NVTX_EVENTS"], run[GRAPH], run[MEMSET] = [], [], [], [], []
    run[MEMCPY] = [{"start": rng.randrange(10 ** 6), "end": 10 ** 6 + rng.randrange(10 ** 6), "deviceId": 0, "bytes": rng.randrange(10 ** 9),
                    "copyKind": rng.randrange(16), "globalPid": maker.global_pid(rng.choice(pids))} for _ in range(60)]
    for number in range(400):
        start = rng.randrange(10 ** 9)
        run[KERNEL].append({"start": start, "end": start + rng.randrange(5000), "deviceId": rng.randrange(2), "streamId": rng.randrange(3),
                            "correlationId": rng.choice((None, 0, *range(1, 300))), "globalPid": maker.global_pid(rng.choice(pids)),
                            "shortName": rng.choice((None, *names)), "demangledName": rng.choice(list(names)), "gridId": number})
    for _ in range(900):
        start, pid = rng.randrange(10 ** 4), rng.choice(pids)
        run[RUNTIME].append({"start": start, "end": start + rng.randrange(300), "eventClass": rng.choice((0, 0, 0, 1, 67)),
                             "globalTid": maker.global_tid(pid, rng.randrange(1, 5)), "correlationId": rng.randrange(1, 300),
                             "nameId": rng.choice(list(calls))})
    return run


def reference_details(run):
    """{gridId: (name, duration, agent, thread)} of all kernels."""
    strings = {row["id"]: row["value"] for row in run["StringIds"]}
    gpus = {(row["pid"], row["cudaId"]): row["gpuId"] for row in run["TARGET_INFO_CUDA_DEVICE"]}
    launches = {}
    for at, row in enumerate(run[RUNTIME]):
        if row["eventClass"] == 67:
            continue
        key = row["globalTid"] >> 24, row["correlationId"]
        launches[key] = min(launches.get(key, (1 << 62, 0, 0)), (row["start"], at, row["globalTid"] & 0xFFFFFF))
    found = {}
    for row in run[KERNEL]:
        pid, name = (row["globalPid"] >> 24) & 0xFFFFFF, row["shortName"]
        launch = launches.get((row["globalPid"] >> 24, row["correlationId"]))
        found[row["gridId"]] = (strings[row["demangledName"] if name is None else name], row["end"] - row["start"],
                                gpus.get((pid, row["deviceId"]), row["deviceId"]), launch[2] if launch else 0)
    return found


COPIES = ("UNKNOWN HOST_TO_DEVICE DEVICE_TO_HOST HOST_TO_ARRAY ARRAY_TO_HOST ARRAY_TO_ARRAY ARRAY_TO_DEVICE DEVICE_TO_ARRAY DEVICE_TO_DEVICE "
          "HOST_TO_HOST PEER_TO_PEER UNIFIED_HOST_TO_DEVICE UNIFIED_DEVICE_TO_HOST UNIFIED_DEVICE_TO_DEVICE KIND_14 KIND_15").split()


def random_exports(test):
    for seed in range(6):
        run = random_export(random.Random(seed))
        path = maker.write(copy.deepcopy(run), os.path.join(test.folder, "random.sqlite"))
        _, found, problems = sheets(test, path, "--kernel_details")
        headings, rows = found["kernel_details"]
        at = [headings.index(name) for name in ("dispatch_id", "name", "Kernel duration (µs)", "agent_id", "thread_id")]
        got = {int(row[at[0]]): (row[at[1]], round(float(row[at[2]]) * 1000), int(row[at[3]]), int(row[at[4]])) for row in rows}
        expected = reference_details(run)
        problems += [f"kernel {key}: {got.get(key)}, expected {value}" for key, value in expected.items() if got.get(key) != value][:3]
        counts = {}
        strings = {row["id"]: row["value"] for row in run["StringIds"]}
        for row in run[RUNTIME]:
            if row["eventClass"] != 67:
                name = strings[row["nameId"]].replace("_v3020", "")
                counts[name] = counts.get(name, 0) + 1
        if {row[0]: int(row[1]) for row in found["cuda_api_summary"][1]} != counts:
            problems.append(f"calls: {found['cuda_api_summary'][1]}, expected {counts}")
        sizes = {}
        for row in run[MEMCPY]:
            name = "MEMORY_COPY_" + COPIES[row["copyKind"]]
            sizes[name] = sizes.get(name, 0) + row["bytes"]
        headings, rows = found["memory_copy_summary"]
        if {row[0]: int(row[headings.index("Total Bytes")]) for row in rows} != sizes:
            problems.append(f"copies: {rows}, expected {sizes}")
        processes = {}
        for row in run[KERNEL]:
            pid = (row["globalPid"] >> 24) & 0xFFFFFF
            processes[pid] = processes.get(pid, 0) + 1
        if [[int(cell) for cell in row[:3]] for row in found["process_summary"][1]] != [[i, pid, processes[pid]] for i, pid in enumerate(sorted(processes))]:
            problems.append(f"processes: {found['process_summary'][1]}, expected {processes}")
        test.tally.add(f"random export {seed}", problems)


if __name__ == "__main__":
    sys.exit(run_parts(__doc__, (small_sheets, versions, kernel_names, profiled_time, odd_times, nothing, messages, strings_without_key,
                                 payloads, refused, folders, trust, outputs, random_exports)))
