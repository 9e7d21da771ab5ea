#!/usr/bin/env python3
"""What reports of Nsight Systems exports say in several places must be the same: the window of GPU work, names of ranges, kinds of memory.

    python3 -m tests.nsys.test_findings --bin build/gputally [--only TEXT]
"""
import json
import os
import re
import sqlite3
import sys

from tests.common import harness
from tests.nsys import generate_export as maker
from tests.nsys.generate_export import A, B, GRAPH, KERNEL, MEMCPY, RUNTIME
from tests.nsys.test_reports import differs, export, sheets
from tests.page import pack
from tests.rocprof.checks import run_parts

CAPTURE = 138_000_000_000


def long_capture(run):
    run["ANALYSIS_DETAILS"] = [{"duration": CAPTURE}]


# By hand, from the events of small_run: all GPUs work from 500 to 18000, GPU 1 from 5500 on.
ALL = (17500, 9510, 2450, 11460)
DEVICES = {0: (17500, 6010, 2350, 8360), 1: (12500, 4000, 1100, 5100)}


def rows_of(times, *before):
    total, kernel, memory, busy = times
    parts = (("total_time", total), ("kernel", kernel), ("memory", memory), ("busy_time", busy), ("idle", total - busy))
    return [[*before, name, ns / 1e6, 100 * ns / total] for name, ns in parts]


BY_DEVICE = [row for gpu, times in DEVICES.items() for row in rows_of(times, gpu)]


def unlike(where, got, expected):
    return [f"{where}: {problem}" for problem in differs({"rows": ([""] * len(expected[0]), got)}, "rows", expected)]


def sheet_of_page(table):
    names = [one for one in ("device", "type", "time ms", "percent") if one in table.names()]
    return [[str(cell) for cell in row] for row in zip(*(table.column(one) for one in names))]


def documents(test, path, name):
    """One report: its outcome and CSV sheets, problems, JSON, Markdown, page and database."""
    place = lambda ending: os.path.join(test.folder, name + ending)
    options = [option for key, ending in (("json", ".json"), ("md", ".md"), ("html", ".html"), ("db", ".db"))
               for option in (f"--output_{key}", place(ending))]
    outcome, found, problems = sheets(test, path, *options, command="report")
    with open(place(".json"), encoding="utf-8") as answers, open(place(".md"), encoding="utf-8") as markdown:
        return outcome, found, problems, json.load(answers), markdown.read(), pack.read_page(place(".html")), sqlite3.connect(place(".db"))


def windows(test):
    path = export(test, long_capture)
    outcome, found, problems, answers, markdown, page, db = documents(test, path, "windows")
    capture = {"name": "capture_ms", "value": "138000.0", "unit": "ms", "text": ""}

    def check(where, got, expected):
        problems.extend(unlike(where, got, expected))

    for sheet, expected in (("gpu_timeline", rows_of(ALL)), ("gpu_timeline_by_device", BY_DEVICE)):
        check("CSV", found[sheet][1], expected)
        check("page", sheet_of_page(page.tables[0][sheet]), expected)
        check("database", [[str(cell) for cell in row] for row in db.execute(f"SELECT * FROM {sheet}")], expected)
        check("JSON", [[str(cell) for cell in row] for row in answers["sheets"][sheet]["rows"]], expected)
    db.close()
    facts = {row[0]: row[1] for row in found["overview"][1]}
    if [float(facts.get(key, "nan")) for key in ("window_ns", "busy_ms", "idle_ms", "capture_ms")] != [17500, 0.00836, 0.00914, 138000]:
        problems.append(f"overview: {facts}")
    if dict(zip(found["overview"][0], found["overview"][1][-1])) != capture:
        problems.append(f"overview ends with {found['overview'][1][-1]}")
    if (answers["window_ns"], answers["busy_ms"], answers.get("capture_ms")) != (17500, 0.00836, 138000):
        problems.append(f"JSON: {answers['window_ns']}, {answers['busy_ms']}, {answers.get('capture_ms')}")
    tiles = {tile["id"]: tile for tile in page.front["facts"]["tiles"]}
    if abs(tiles["busy"]["value"] - 100 * 8360 / 17500) > 1e-9 or "the capture takes 138 s" not in tiles["step"]["detail"]:
        problems.append(f"tiles: {tiles}")
    words = " ".join(outcome.stdout.split())
    for text in ("GPU busy 0.01 (48%), idle 0.01; the capture takes 138000.00", "total_time █", "0.018 ms 100.0%", "0.011 ms 65.5%"):
        if text not in words:
            problems.append(f"the terminal does not say {text!r}: {words}")
    if not re.search(r"^ +0 +0\.018 +47\.8% .*\n +1 +0\.013 +40\.8% ", outcome.stdout, re.M):
        problems.append(f"the terminal's devices: {outcome.stdout}")
    for text in ("GPU busy 0.01 ms (48 %), idle 0.01 ms. The capture takes 138000.00 ms.", "| busy\\_time | 0.011 | 65.5 |"):
        if text not in markdown:
            problems.append(f"Markdown does not say {text!r}: {markdown[:300]}")
    test.tally.add("one window in all documents of a report", problems)


def windows_of_commands(test):
    """doctor, query and compare use the same window. `gputally nsys` keeps the capture in its sheets, but not on its page."""
    path, other = export(test, long_capture), export(test, name="other.sqlite")
    place = os.path.join(test.folder, "doctor.json")
    harness.run([test.binary, "doctor", path, "-o", place])
    with open(place, encoding="utf-8") as file:
        contents = json.load(file)["files"][0]["contents"]
    expected = {"busy_ms": 0.00836, "capture_ms": 138000}
    problems = [f"doctor: {contents}"] if {key: contents.get(key) for key in expected} != expected else []

    outcome = harness.run([test.binary, "query", "SELECT type, \"time ms\", percent FROM gpu_timeline", path, "--format", "csv"])
    lines = [line.split(",") for line in outcome.stdout.splitlines()[1:]]
    problems += unlike("query", lines, rows_of(ALL))

    out = os.path.join(test.folder, "compared")
    outcome = harness.run([test.binary, "compare", path, other, "--sheets", "gpu_timeline", "--output_csvs_dir", out])
    heads, rows = harness.read_csv(os.path.join(out, "gpu_timeline.csv"))
    changes = {row[heads.index("type")]: float(row[1]) for row in rows}
    if changes.get("total_time") != 0 or changes.get("idle") != 0:
        problems.append(f"compare: two captures of the same work differ: {rows}")

    page = os.path.join(test.folder, "old.html")
    _, found, more = sheets(test, path, "--output_html", page)
    problems += more
    if float(found["gpu_timeline"][1][0][1]) != CAPTURE / 1e6 or "overview" in found:
        problems.append(f"gputally nsys: {found['gpu_timeline']}")
    tables = pack.read_page(page).tables[0]
    problems += unlike("page of gputally nsys", sheet_of_page(tables["gpu_timeline"]), rows_of(ALL))
    problems += unlike("page of gputally nsys", sheet_of_page(tables["gpu_timeline_by_device"]), BY_DEVICE)
    test.tally.add("one window in all commands", problems)


def windows_of_index(test):
    """What an index keeps of one command is not shown by the other."""
    def quiet(run):  # nothing to warn of
        long_capture(run)
        run["DIAGNOSTIC_EVENT"], run[GRAPH] = [], []
        run["NVTX_EVENTS"] = [row for row in run["NVTX_EVENTS"] if row["text"] != "open"]
    path, problems = export(test, quiet, name="kept.sqlite"), []
    for command, total in (("report", "0.0175"), ("nsys", "138000.0"), ("report", "0.0175"), ("nsys", "138000.0")):
        _, found, more = sheets(test, path, "--index", "auto", command=command)
        problems += more + ([] if found["gpu_timeline"][1][0][1] == total else [f"{command}: {found['gpu_timeline']}"])
        if ("overview" in found) != (command == "report") or (command == "report" and "capture_ms" not in dict(row[:2] for row in found["overview"][1])):
            problems.append(f"{command}: {found.get('overview')}")
    if not os.path.isfile(path + ".gtindex"):
        problems.append("no index")
    test.tally.add("one window with an index", problems)


def unknown_capture(test):
    """Where the length of the capture is not known, nothing says one."""
    for name, change, version in (("nsys 2021", None, 2021), ("no length", lambda run: run.update(ANALYSIS_DETAILS=[]), 2026),
                                  ("work outside of it", lambda run: run.update(ANALYSIS_DETAILS=[{"duration": 17999}]), 2026)):
        outcome, found, problems = sheets(test, export(test, change, version), command="report")
        if "capture" in outcome.stdout or "capture_ms" in [row[0] for row in found["overview"][1]]:
            problems.append(outcome.stdout)
        if found["gpu_timeline"][1][0] != ["total_time", "0.0175", "100.0"]:
            problems.append(f"gpu_timeline: {found['gpu_timeline']}")
        test.tally.add(f"capture of unknown length: {name}", problems)


# ---- names of ranges ----

def ranges(*events):
    """[(name, ns, domain)] as NVTX ranges."""
    rows = [{"start": 10, "end": None, "eventType": 75, "globalTid": maker.global_tid(A, 501), "text": "NCCL", "domainId": 1},
            {"start": 11, "end": None, "eventType": 75, "globalTid": maker.global_tid(A, 501), "text": "torch", "domainId": 2}]
    for number, (name, ns, domain) in enumerate(events):
        rows.append({"start": 1000 * number, "end": 1000 * number + ns, "eventType": 59, "globalTid": maker.global_tid(A, 501), "text": name,
                     "domainId": domain})
    return lambda run: run.update(NVTX_EVENTS=rows)


def nccl_calls(test):
    """Functions of NCCL, and what else is in its domain; not the ranges that PyTorch puts around them."""
    path = export(test, ranges(("nccl:all_to_all, op_id = 7", 500, 0), ("nccl:all_to_all, op_id = 8", 400, 2), ("ncclAllReduce", 300, 0),
                               ("ncclAllReduce", 200, 1), ("barrier", 50, 1), ("nccl", 40, 0), ("nccl_test", 30, 0), ("ncclx", 20, 0)))
    for command in ("nsys", "report"):
        _, found, problems = sheets(test, path, command=command)
        problems += differs(found, "nccl_api_summary", [["ncclAllReduce", 2, 0.0005], ["barrier", 1, 0.00005]], ["name", "Count", "Total Time (ms)"])
        test.tally.add(f"calls of NCCL: {command}", problems)


OPS = (("aten::mm, seq = 5, op_id = 317126", 100, 0), ("aten::mm, op_id = 9", 200, 0), ("aten::mm", 300, 0),
       ("aten::mm, op_id = 3, sizes = [[2, 3], [3, 4]]", 50, 0), ("aten::mm, op_id = 4, sizes = [[2, 3], [3, 4]]", 60, 0),
       ("aten::mm, seq = 1, op_id = 4, sizes = [[2, 3], []], input_op_ids = [(3,0), (1,2)]", 70, 0), ("a, b, seq = 1, c", 80, 0),
       ("layer 3, op_id = 1", 90, 2), ("layer 4, op_id = 2", 95, 2), ("step, seq: 5", 7, 0), ("wait, seq = none", 4, 0), ("open, input_op_ids = [(1,2", 3, 0), ("op_id = 5", 6, 0), (", op_id = 5", 5, 0))


def names_of_ops(test):
    """PyTorch numbers each op. The rows of a report are about ops; `gputally nsys` shows the ranges as they are."""
    path = export(test, ranges(*OPS))
    _, found, problems = sheets(test, path, command="report")
    expected = [["aten::mm", 3, 0.0006], ["aten::mm, sizes = [[2, 3], [3, 4]]", 2, 0.00011], ["torch:layer 4", 1, 0.000095],
                ["torch:layer 3", 1, 0.00009], ["a, b, c", 1, 0.00008], ["aten::mm, sizes = [[2, 3], []]", 1, 0.00007],
                ["step, seq: 5", 1, 0.000007], ["op_id = 5", 1, 0.000006], ["", 1, 0.000005],
                ["wait, seq = none", 1, 0.000004], ["open, input_op_ids = [(1,2", 1, 0.000003]]
    problems += differs(found, "nvtx_summary", expected, ["name", "Count", "Total Time (ms)"])
    _, found, more = sheets(test, path)
    names = {row[0] for row in found["nvtx_summary"][1]}
    if names != {f"torch:{name}" if domain else name for name, _, domain in OPS}:
        problems.append(f"gputally nsys: {names}")
    test.tally.add("names of ops in nvtx_summary", problems + more)


def slow_host(run):
    """Kernels 10 ms apart, launched from ranges whose numbers differ: the host is late each time."""
    launches = range(1, 21)
    run[KERNEL] = [dict(run[KERNEL][0], start=10**7 * i + 6000, end=10**7 * i + 2 * 10**6, correlationId=i, gridId=i) for i in launches]
    run[RUNTIME] = [dict(run[RUNTIME][0], start=10**7 * i, end=10**7 * i + 5000, correlationId=i) for i in launches]
    run[MEMCPY], run["CUPTI_ACTIVITY_KIND_MEMSET"], run[GRAPH] = [], [], []
    run["NVTX_EVENTS"] = [{"start": 10**7 * i - 9 * 10**6, "end": 10**7 * i + 10**4, "eventType": 59, "globalTid": maker.global_tid(A, 501),
                           "text": f"load_batch, seq = {i}, op_id = {100 + i}"} for i in launches]
    run["ANALYSIS_DETAILS"] = [{"duration": 10**9}]


def evidence(test):
    outcome, found, problems, answers, markdown, page, db = documents(test, export(test, slow_host), "evidence")
    db.close()
    heads, rows = found["findings"]
    untraced = [dict(zip(heads, row)) for row in rows if row[heads.index("id")] == "host_untraced"]
    # By hand: 19 gaps of 8.006 ms; of the 8 ms without a record, the range covers 8 ms
    if not untraced or "load_batch" not in untraced[0]["where"] + untraced[0]["evidence"]:
        problems.append(f"host_untraced: {rows}")
    shown = {"terminal": outcome.stdout, "JSON": json.dumps(answers), "Markdown": markdown, "front": json.dumps(page.front), "CSV": json.dumps(found)}
    shown.update((name, json.dumps([list(map(str, table.column(one))) for one in table.names()])) for name, table in page.tables[0].items())
    problems += [f"{where} has the number of an op" for where, text in shown.items() if "op_id" in text or "seq =" in text]
    nodes = page.tables[0]["page_nodes"]
    if "load_batch" not in nodes.column("name"):
        problems.append(f"flame graph: {nodes.column('name')}")
    test.tally.add("names of ops in findings and flame graph", problems)


# ---- kinds of memory ----

def copies(*kinds):
    """Copies of 1 MB to the GPU (1) and back (2), each after a kernel, with kinds of memory (source, destination)."""
    def change(run):
        run[MEMCPY] = [{"start": 20000 + 10**5 * i, "end": 20000 + 10**5 * i + 9 * 10**4, "deviceId": 0, "streamId": 7, "correlationId": 500 + i,
                        "globalPid": maker.global_pid(A), "bytes": 10**6, "copyKind": direction, "srcKind": source, "dstKind": target}
                       for i, (direction, source, target) in enumerate(kinds)]
        run["ANALYSIS_DETAILS"] = []
    return change


def pageable(test):
    """Numbers of kinds: 0 pageable, 1 pinned, 2 device, 4 managed, 7 unknown."""
    for name, kinds, expected in (("to the GPU", [(1, 0, 2), (1, 0, 2)], "2 x HtoD (Pageable -> Device)"),
                                  ("to the host", [(2, 2, 0)], "1 x DtoH (Device -> Pageable)"),
                                  ("both", [(1, 0, 2), (2, 2, 0), (1, 0, 2), (1, 1, 2)], "2 x HtoD (Pageable -> Device); 1 x DtoH (Device -> Pageable)"),
                                  ("pinned", [(1, 1, 2), (2, 2, 1)], None), ("managed", [(1, 4, 2)], None), ("unknown", [(1, 7, 7)], None),
                                  ("no kinds", [(1, None, None)], None), ("numbers that are none", [(1, 99, -3)], None)):
        _, found, problems, _, _, page, db = documents(test, export(test, copies(*kinds)), "pageable")
        db.close()
        heads, rows = found["findings"]
        by_id = {row[heads.index("id")]: row[heads.index("evidence")] for row in rows}
        if ("pageable_copy" in by_id) != bool(expected) or (expected and not by_id["pageable_copy"].startswith(expected + "; ")):
            problems.append(f"findings: {by_id}")
        others = sum((0 not in kind[1:]) for kind in kinds)
        if ("exposed_copy" in by_id) != bool(others):
            problems.append(f"findings: {by_id}")
        known = {0: "pageable", 1: "pinned", 4: "managed"}
        wanted = {known.get(kind[1] if kind[0] == 1 else kind[2], "host") for kind in kinds}
        table = page.tables[0]["page_copies"]
        got = {kind for kind, direction in zip(table.column("kind"), table.column("direction")) if direction in ("HtoD", "DtoH")}
        if got != wanted:
            problems.append(f"memory on the page: {got}, expected {wanted}")
        test.tally.add(f"kinds of memory: {name}", problems)


if __name__ == "__main__":
    sys.exit(run_parts(__doc__, (windows, windows_of_commands, windows_of_index, unknown_capture, nccl_calls, names_of_ops, evidence, pageable)))
