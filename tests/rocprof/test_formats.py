#!/usr/bin/env python3
"""One run in every format of rocprofv3 must give the same sheets, cell by cell, and the sheets must be right.

    rocprof_formats.py --bin build/gputally [--keep DIR]

The run is made up by make_rocprof_run.py, which shares nothing with the readers. The kernel sheets of the JSON format are
held against rocprof_sheets.py elsewhere (odd_traces.py); here the other formats are held against JSON, and the extra sheets
against figures computed from the run itself. Where protoc is there, it decodes the Perfetto file on its own.
"""
import argparse
import gzip
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.rocprof import generate_run as maker

KERNEL_SHEETS = ("kernel_summary", "kernel_summary_by_category", "kernel_details", "short_kernels_summary",
                 "short_kernel_histogram")
EXTRA_SHEETS = ("hip_api_summary", "hsa_api_summary", "marker_api_summary", "memory_copy_summary", "counters_by_kernel",
                "agent_info")
OPTIONS = ("--kernel_details", "--short_kernel_study", "--short_kernel_threshold_us", "20")


class Check:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.tally = binary, folder, harness.Tally()

    def report(self, name, path, *options, code=0):
        """(sheets by name as (headings, rows), outcome)"""
        out = os.path.join(self.folder, "out_" + name)
        shutil.rmtree(out, ignore_errors=True)
        done = harness.run([self.binary, "rocprof", path, "--output_csvs_dir", out, *OPTIONS, *options])
        troubles = done.troubles() + ([f"exit {done.code}: {done.stderr.strip()}"] if done.code != code else [])
        self.tally.add(f"{name}: runs", troubles)
        sheets = {}
        for file in sorted(os.listdir(out)) if os.path.isdir(out) else ():
            sheets[file[:-4]] = harness.read_csv(os.path.join(out, file))
        return sheets, done

    def same(self, name, expected, got, sheets, drop=()):
        for sheet in sheets:
            troubles = []
            if sheet not in expected or sheet not in got:
                troubles = ["not written"] if sheet in expected else []
            else:
                troubles = differences(without(expected[sheet], drop), without(got[sheet], drop))
            self.tally.add(f"{name}: {sheet}", troubles)

    def equal(self, name, expected, got):
        self.tally.add(name, [] if expected == got else [f"expected {expected!r}, got {got!r}"])


def without(sheet, drop):
    headings, rows = sheet
    keep = [i for i, h in enumerate(headings) if h not in drop]
    return [headings[i] for i in keep], [[row[i] for i in keep] for row in rows]


def differences(expected, got):
    if expected[0] != got[0]:
        return [f"columns {got[0]}, expected {expected[0]}"]
    if len(expected[1]) != len(got[1]):
        return [f"{len(got[1])} rows, expected {len(expected[1])}"]
    for number, (a, b) in enumerate(zip(expected[1], got[1])):
        for heading, x, y in zip(expected[0], a, b):
            if x != y:
                return [f"row {number + 1}, {heading}: {y!r}, expected {x!r}"]
    return []


# ---- what the extra sheets must hold ----


def close(text, value):
    return text == "" if value is None else abs(float(text) - value) <= 1e-12 * max(1.0, abs(value))


def summary_troubles(sheet, groups, sizes=None):
    """groups: name -> nanoseconds of each record; sizes: name -> bytes of each, or None where they are not known."""
    headings, rows = sheet
    expected_headings = ["name", "Count", "Total Time (ms)", "Mean Time (µs)", "Median Time (µs)", "Std Time (µs)",
                         "Min Time (µs)", "Max Time (µs)", "Percentage (%)", "Cumulative Percentage (%)"]
    if sizes is not None:
        expected_headings += ["Total Bytes", "Bandwidth (GB/s)"]
    if headings != expected_headings:
        return [f"columns {headings}"]
    order = sorted(groups, key=lambda n: (-sum(groups[n]), n))
    if [row[0] for row in rows] != order:
        return [f"rows {[row[0] for row in rows]}, expected {order}"]
    all_ns, running, troubles = sum(map(sum, groups.values())), 0.0, []
    for row in rows:
        ns = groups[row[0]]
        share = sum(ns) / all_ns * 100
        running += share
        values = [len(ns), sum(ns) / 1e6, statistics.mean(ns) / 1e3, statistics.median(ns) / 1e3,
                  statistics.stdev(ns) / 1e3 if len(ns) > 1 else None, min(ns) / 1e3, max(ns) / 1e3, share, running]
        if sizes is not None:
            known = sizes.get(row[0])
            values += [sum(known) if known else None, sum(known) / sum(ns) if known else None]
        troubles += [f"{row[0]}, {h}: {cell}, expected {value}" for h, cell, value in zip(headings[1:], row[1:], values)
                     if not close(cell, value)]
    return troubles


def by_name(records, name, value):
    groups = {}
    for record in records:
        groups.setdefault(name(record), []).append(value(record))
    return groups


def nanoseconds(record):
    return record.end - record.start


def counters_troubles(sheet, run):
    headings, rows = sheet
    if headings != ["name", "Count", *sorted(maker.COUNTERS)]:
        return [f"columns {headings}"]
    counted = by_name((d for p in run for d in p.dispatches if d.counters), lambda d: maker.KERNELS[d.kernel].truncated,
                      lambda d: d)
    if [row[0] for row in rows] != sorted(counted, key=str.encode):
        return [f"rows {[row[0] for row in rows]}"]
    troubles = []
    for row in rows:
        dispatches = counted[row[0]]
        means = {name: math.fsum(sum(d.counters[i]) for d in dispatches) / len(dispatches)
                 for i, name in enumerate(maker.COUNTERS)}
        values = [len(dispatches), *(means[name] for name in headings[2:])]
        troubles += [f"{row[0]}, {h}: {cell}, expected {v}" for h, cell, v in zip(headings[1:], row[1:], values)
                     if not close(cell, v)]
    return troubles


def check_extra(check, name, sheets, run, sizes=True):
    calls = [c for p in run for c in p.calls]
    for domain in ("hip_api", "hsa_api", "marker_api"):
        groups = by_name((c for c in calls if c.domain == domain), lambda c: c.name, nanoseconds)
        check.tally.add(f"{name}: {domain}_summary is right", summary_troubles(sheets[domain + "_summary"], groups))
    copies = [c for p in run for c in p.copies]
    direction = lambda c: maker.COPY_NAMES[c.direction]
    known = by_name(copies, direction, lambda c: c.size) if sizes else {}
    check.tally.add(f"{name}: memory_copy_summary is right",
                    summary_troubles(sheets["memory_copy_summary"], by_name(copies, direction, nanoseconds), known))
    check.tally.add(f"{name}: counters_by_kernel is right", counters_troubles(sheets["counters_by_kernel"], run))
    headings, rows = sheets["agent_info"]
    check.equal(f"{name}: agent_info columns", maker.AGENT_COLUMNS, headings)
    at = [headings.index(c) for c in ("Node_Id", "Agent_Type", "Name", "Cu_Count", "Hive_Id")]
    check.equal(f"{name}: agent_info", [[str(node), kind, agent, "304" if kind == "GPU" else "96",
                                         "17332996360099338395" if kind == "GPU" else "0"] for node, kind, agent in maker.AGENTS],
                [[row[i] for i in at] for row in rows])


# ---- the formats ----


def check_formats(check):
    run = maker.make_run(dispatches=240)
    folder = os.path.join(check.folder, "one")
    maker.write_all(run, folder)
    json_sheets, _ = check.report("json", os.path.join(folder, "json"))
    check_extra(check, "json", json_sheets, run)
    csv_sheets, _ = check.report("csv", os.path.join(folder, "csv"))
    check.same("csv as json", json_sheets, csv_sheets, KERNEL_SHEETS)
    check_extra(check, "csv", csv_sheets, run, sizes=False)
    check_timeline(check, "csv", csv_sheets, run)
    rocpd_sheets, _ = check.report("rocpd", os.path.join(folder, "rocpd", maker.HOST, f"{run[0].pid}_results.db"))
    check.same("rocpd as json", json_sheets, rocpd_sheets, ("gpu_timeline", *KERNEL_SHEETS, *EXTRA_SHEETS))
    check_extra(check, "rocpd", rocpd_sheets, run)
    check_details(check, json_sheets["kernel_details"], run[0])
    return run, folder


def check_timeline(check, name, sheets, run):
    """Without the profiler's own window, the total is from the first start to the last end on the GPU."""
    events = [e for p in run for e in (*p.dispatches, *p.copies)]
    total = (max(e.end for e in events) - min(e.start for e in events)) / 1e6
    check.tally.add(f"{name}: total_time", [] if abs(float(sheets["gpu_timeline"][1][0][1]) - total) < 1e-9 * total else
                    [f"{sheets['gpu_timeline'][1][0]}, expected {total}"])


def check_details(check, sheet, process):
    """kernel_details against the run itself: every dispatch once, with all its columns."""
    expected = sorted([maker.KERNELS[d.kernel].truncated, nanoseconds(d) / 1e3, d.stream, d.number, *d.grid, *d.block, d.agent,
                       d.thread] for d in process.dispatches)
    got = sorted([row[0], float(row[1]), *map(int, row[2:])] for row in sheet[1])
    check.equal("kernel_details holds every dispatch", expected, got)


def check_dialects(check, run):
    folder = os.path.join(check.folder, "dialects")
    full, _ = check.report("dialect_1.0", os.path.join(check.folder, "one", "csv"))
    maker.write_csv_old(run[0], os.path.join(folder, "old", maker.HOST, "900"))
    old, _ = check.report("dialect_0.5", os.path.join(folder, "old"))
    check.same("0.5 as 1.0", full, old, KERNEL_SHEETS, drop=("stream",))
    check.same("0.5 as 1.0", full, old, ("counters_by_kernel",))
    maker.write_csv_converted(run, os.path.join(folder, "new", "x"))
    new, _ = check.report("dialect_rocpd", os.path.join(folder, "new", "x_kernel_trace.csv"))
    check.same("rocpd convert as 1.0", full, new, ("kernel_summary", "kernel_summary_by_category"))
    rows = lambda sheets: sorted(sheets["kernel_details"][1])
    check.equal("rocpd convert: kernel_details", rows(full), rows(new))
    alone, _ = check.report("counters_alone", os.path.join(check.folder, "one", "csv", maker.HOST, "900_counter_collection.csv"))
    counted = [d for d in run[0].dispatches if d.counters]
    check.equal("counters alone: dispatches", len(counted), sum(int(row[1]) for row in alone["kernel_summary"][1]))
    check.same("counters alone", full, alone, ("counters_by_kernel",))


def check_processes(check):
    """Several processes become one report with a row each; merged and separate databases are the same run."""
    run = maker.make_run(dispatches=60, processes=3, seed=11)
    folder = os.path.join(check.folder, "three")
    maker.write_all(run, folder)
    maker.write_rocpd(run, os.path.join(folder, "merged.db"), newer=True)
    maker.write_json(run, os.path.join(folder, "all.json"))
    paths = {"json": "json", "csv": "csv", "rocpd": "rocpd", "merged": "merged.db"}
    sheets = {name: check.report("three_" + name, os.path.join(folder, path))[0] for name, path in paths.items()}
    sheets["all"] = check.report("three_all", os.path.join(folder, "all.json"), "--all_processes")[0]
    expected = [[str(i), str(p.pid), maker.HOST, "60"] for i, p in enumerate(run)]
    for name, got in sheets.items():
        check.equal(f"three processes, {name}", expected, [row[:4] for row in got["process_summary"][1]])
        check.same(f"three processes, {name} as rocpd", sheets["rocpd"], got, KERNEL_SHEETS)
        check_extra(check, f"three processes, {name}", got, run, sizes=name != "csv")
    first, done = check.report("three_first", os.path.join(folder, "all.json"))
    check.equal("JSON: the first process by default", 60, sum(int(row[1]) for row in first["kernel_summary"][1]))
    check.equal("and a warning", True, "3 processes" in done.stderr)


def check_side_by_side(check, run):
    """All formats of one run in one folder are one run, and not four."""
    folder = os.path.join(check.folder, "mixed", maker.HOST)
    maker.write_json(run, os.path.join(folder, f"{run[0].pid}_results.json"))
    maker.write_csv(run[0], os.path.join(folder, str(run[0].pid)))
    maker.write_rocpd(run, os.path.join(folder, f"{run[0].pid}_results.db"))
    mixed, _ = check.report("mixed", os.path.join(check.folder, "mixed"))
    check.equal("formats side by side", len(run[0].dispatches), sum(int(row[1]) for row in mixed["kernel_summary"][1]))


def check_passes(check):
    """Counter passes run the program again: dispatches of the first, counters of all."""
    run = maker.make_run(dispatches=40, seed=5)
    for number, kept in ((1, (0,)), (2, (1, 2))):
        prefix = os.path.join(check.folder, "passes", f"pmc_{number}", maker.HOST, str(run[0].pid + number))
        maker.write_csv(run[0], prefix, only=("agent_info", "kernel_trace", "counter_collection"))
        path = prefix + "_counter_collection.csv"
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
        names = [maker.COUNTERS[i] for i in kept]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line for i, line in enumerate(lines) if i == 0 or any(f'"{n}"' in line for n in names))
    sheets, _ = check.report("passes", os.path.join(check.folder, "passes"))
    check.equal("passes: dispatches", 40, sum(int(row[1]) for row in sheets["kernel_summary"][1]))
    check.tally.add("passes: counters", counters_troubles(sheets["counters_by_kernel"], run))


def check_pftrace(check):
    run = maker.make_run(dispatches=120, flat=True)
    folder = os.path.join(check.folder, "flat")
    maker.write_all(run, folder, ("json", "pftrace"))
    path = os.path.join(folder, "pftrace", maker.HOST, f"{run[0].pid}_results.pftrace")
    check_protoc(check, run[0], path)
    json_sheets, _ = check.report("flat_json", os.path.join(folder, "json"))
    sheets, _ = check.report("pftrace", path)
    check.same("pftrace as json", json_sheets, sheets, KERNEL_SHEETS)
    check.same("pftrace as json", json_sheets, sheets, [s for s in EXTRA_SHEETS if s != "agent_info"])
    check_timeline(check, "pftrace", sheets, run)


def check_protoc(check, process, path):
    """Another decoder reads as many packets, dispatches and names."""
    if not shutil.which("protoc"):
        print("protoc is not there: the Perfetto file is not decoded by it")
        return
    with open(path, "rb") as file:
        text = subprocess.run(["protoc", "--decode_raw"], stdin=file, capture_output=True, check=True).stdout.decode()
    records = len(process.dispatches) + len(process.copies) + len(process.calls)
    check.equal("protoc: packets", 7 + 2 * records, len(re.findall(r"^1 \{", text, re.M)))
    check.equal("protoc: slices begun", records, len(re.findall(r"^  11 \{\n    9: 1$", text, re.M)))
    for d in process.dispatches[:20]:
        check.equal(f"protoc: begin of dispatch {d.number}", True, f"3: {d.start}\n" in text)
    used = {maker.KERNELS[d.kernel].demangled for d in process.dispatches}
    octal = lambda name: "".join(chr(b) if 32 <= b < 127 else f"\\{b:03o}" for b in name.encode())
    check.equal("protoc: kernel names", True, all(f'2: "{octal(name)}"' in text for name in used))


def check_docs_rows(check):
    """Rows that AMD's documentation prints, and a file without a last line end."""
    folder = os.path.join(check.folder, "docs")
    os.makedirs(folder)
    path = os.path.join(folder, "counter_collection.csv")
    header = ",".join(f'"{c}"' for c in maker.COUNTER_COLUMNS)
    row = ('1,1,"Agent 1",1,15606,15606,1048576,17,"void addition_kernel<float>(float*, float const*, float const*, int, int)"'
           ',64,0,0,8,0,16,"SQ_WAVES",16384.000000,3200098838431081,3200098838483232')
    with open(path, "w", encoding="utf-8") as file:
        file.write(header + "\n" + row)
    sheets, done = check.report("docs", path)
    check.equal("docs row: counters", [["addition_kernel", "1", "16384.0"]], sheets["counters_by_kernel"][1])
    check.equal("docs row: details", [["addition_kernel", "52.151", "0", "1", "1048576", "1", "1", "64", "1", "1", "1", "15606"]],
                sheets["kernel_details"][1])
    check.equal("docs row: nothing to warn of", False, "warning" in done.stderr)


def check_stats(check):
    """Statistics alone give summaries without medians; beside a trace they are not needed."""
    folder = os.path.join(check.folder, "stats", maker.HOST)
    os.makedirs(folder)
    header = '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n'
    with open(os.path.join(folder, "7_hip_api_stats.csv"), "w", encoding="utf-8") as file:
        file.write(header + '"hipFree",12,1994421,166201.750000,0.6470,7790,1036046,299086.860470\n'
                   '"hipGetLastError",16,1270,79.375000,4.120e-04,50,440,96.295985\n'
                   '"hipOnce",1,30,30.000000,1.0e-05,30,30,0.00000000e+00\n')
    with open(os.path.join(folder, "7_kernel_stats.csv"), "w", encoding="utf-8") as file:
        file.write(header + '"void f<int>(int*)",2,3000,1500.000000,60.00,1000,2000,707.106781\n'
                   '"void f<float>(float*)",1,1000,1000.000000,20.00,1000,1000,0.00000000e+00\n'
                   '"Cijk_A",2,1000,500.000000,20.00,400,600,141.421356\n')
    sheets, done = check.report("stats", os.path.join(check.folder, "stats"))
    check.equal("stats: kernels", [["f", "3", repr(4000 / 3 / 1000), "", "", "1.0", "2.0", "80.0", "80.0", "0.004", "Other"],
                                   ["Cijk_A.kd", "2", "0.5", "", "0.141421356", "0.4", "0.6", "20.0", "100.0", "0.001", "GEMM"]],
                sheets["kernel_summary"][1])
    check.equal("stats: calls", [["hipFree", "12", "1.994421", "166.20175", "", repr(299086.860470 / 1000), "7.79", "1036.046"],
                                 ["hipGetLastError", "16", "0.00127", "0.079375", "", "0.096295985", "0.05", "0.44"],
                                 ["hipOnce", "1", "3e-05", "0.03", "", "", "0.03", "0.03"]],
                [row[:8] for row in sheets["hip_api_summary"][1]])
    check.equal("stats: a warning", True, "only statistics of kernels" in done.stderr)
    run = maker.make_run(dispatches=20)
    maker.write_csv(run[0], os.path.join(folder, "7"))
    sheets, _ = check.report("stats_beside", os.path.join(check.folder, "stats"))
    check.equal("stats beside a trace", 20, sum(int(row[1]) for row in sheets["kernel_summary"][1]))
    check.equal("stats beside a trace of calls", False, "hipFree" in [row[0] for row in sheets["hip_api_summary"][1]])


def check_quotes(check):
    """A quote closes a field only before a comma or the end of the line."""
    folder = os.path.join(check.folder, "quotes")
    os.makedirs(folder)
    path = os.path.join(folder, "kernel_trace.csv")
    header = ",".join(f'"{c}"' for c in maker.KERNEL_COLUMNS)
    tail = "1,{},{},0,0,8,0,16,64,1,1,256,1,1"
    names = ['say "hi" twice', 'lone " quote', "new\nline", 'comma, "q"']
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(header + "\r\n")
        for i, name in enumerate(names):
            file.write(f'"KERNEL_DISPATCH","Agent 2",1,0,7,{i},3,"{name}(int)",' + tail.format(1000 * i, 1000 * i + 1 + i) + "\r\n")
    sheets, _ = check.report("quotes", path)
    # the short name runs back to the last space
    check.equal("quotes", sorted(name.split(" ")[-1] for name in names), sorted(row[0] for row in sheets["kernel_details"][1]))


def check_old_rocprof(check):
    """results.csv of the rocprof before rocprofv3, with a column a counter."""
    folder = os.path.join(check.folder, "v1")
    os.makedirs(folder)
    path = os.path.join(folder, "results.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write("Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,"
                   "obj,SQ_WAVES,DispatchNs,BeginNs,EndNs,CompleteNs\n"
                   '0,"void add<float>(float*) [clone .kd]",2,0,0,41,42,1024,64,0,0,8,0,16,64,0x0,0x7f,16,1,1000,3500,4000\n'
                   '1,"void add<float>(float*) [clone .kd]",2,0,1,41,42,2048,64,0,0,8,0,16,64,0x0,0x7f,32,1,5000,6000,7000\n')
    sheets, _ = check.report("v1", path)
    check.equal("rocprof v1: details", [["add", "2.5", "0", "0", "1024", "1", "1", "64", "1", "1", "2", "42"],
                                        ["add", "1.0", "0", "1", "2048", "1", "1", "64", "1", "1", "2", "42"]],
                sheets["kernel_details"][1])
    check.equal("rocprof v1: counters", [["add", "2", "24.0"]], sheets["counters_by_kernel"][1])


def check_real_trace(check):
    """A real JSON trace, where it is there, with its dispatches re-expressed as a kernel trace: the same sheets."""
    path = os.path.join(harness.CONFORMANCE_TRACES,
                        "traces", "rocprof__908_results.json.gz")
    if not os.path.exists(path):
        print("no real trace is beside the project")
        return
    with gzip.open(path) as file:
        process = json.load(file)["rocprofiler-sdk-tool"][0]
    symbols = {s["kernel_id"]: s for s in process["kernel_symbols"]}

    def row(record):
        info = record["dispatch_info"]
        symbol = symbols[info["kernel_id"]]
        return ["KERNEL_DISPATCH", f"Agent {info['agent_id']['handle']}", info["queue_id"]["handle"],
                record["stream_id"]["handle"], record["thread_id"], info["dispatch_id"], info["kernel_id"],
                symbol["formatted_kernel_name"], record["correlation_id"]["internal"], record["start_timestamp"],
                record["end_timestamp"], info["group_segment_size"], info["private_segment_size"], symbol["arch_vgpr_count"],
                symbol["accum_vgpr_count"], symbol["sgpr_count"], *(info["workgroup_size"][a] for a in "xyz"),
                *(info["grid_size"][a] for a in "xyz")]

    converted = os.path.join(check.folder, "converted_kernel_trace.csv")
    maker.write_rows(converted, maker.KERNEL_COLUMNS, map(row, process["buffer_records"]["kernel_dispatch"]))
    expected, got = check.report("real_json", path)[0], check.report("real_csv", converted)[0]
    check.same("a real trace as CSV", expected, got, KERNEL_SHEETS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/gputally")
    parser.add_argument("--keep")
    options = parser.parse_args()
    folder = options.keep or tempfile.mkdtemp(prefix="gputally-formats-")
    os.makedirs(folder, exist_ok=True)
    check = Check(os.path.abspath(options.bin), folder)
    try:
        run, _ = check_formats(check)
        check_dialects(check, run)
        check_processes(check)
        check_side_by_side(check, run)
        check_passes(check)
        check_pftrace(check)
        check_docs_rows(check)
        check_stats(check)
        check_quotes(check)
        check_old_rocprof(check)
        check_real_trace(check)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{check.tally.passed} passed, {check.tally.failed} failed")
    return 1 if check.tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
