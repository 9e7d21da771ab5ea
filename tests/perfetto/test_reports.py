#!/usr/bin/env python3
"""The three pftrace reports: check cases with known cells, and synthetic traces compared with reference_sheets.py. Each trace is
written as Chrome JSON and as protobuf (writer.py), plain and compressed; all must give the same sheets.

    python3 -m tests.perfetto.test_reports --bin build/gputally
"""
import argparse
import csv
import gzip
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.perfetto import reference_sheets as sheets
from tests.perfetto.writer import rocprof

OLD = "TraceLens_generate_perf_report_pftrace_"
tally = harness.Tally()


def check(title, truth, note=""):
    tally.add(title, [] if truth else [str(note) or "not as expected"])


def read(folder, sheet):
    with open(os.path.join(folder, sheet + ".csv"), newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))
    return (rows[0], rows[1:]) if rows and rows[0] else ([], [])


def same(cell, expected):
    if isinstance(expected, float):
        return cell != "" and math.isclose(float(cell), expected, rel_tol=1e-12, abs_tol=1e-15) and \
            ("." in cell or "e" in cell)
    return cell == str(expected)


def compare(title, got, expected):
    header, rows = got
    if header != expected[0]:
        return check(title, False, "headings %s instead of %s" % (header, expected[0]))
    if len(rows) != len(expected[1]):
        return check(title, False, "%d rows instead of %d" % (len(rows), len(expected[1])))
    for at, (row, wanted) in enumerate(zip(rows, expected[1])):
        for name, cell, value in zip(header, row, wanted):
            if not same(cell, value):
                return check(title, False, "row %d, %s: %r instead of %r" % (at, name, cell, value))
    check(title, True)


class Tool:
    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="gputally-pftrace-")
        self.binary = os.path.abspath(binary)
        for name in ("hip_api", "hip_activity", "memory_copy"):
            os.symlink(self.binary, os.path.join(self.folder, OLD + name))

    def run(self, report, path, *options, old=False):
        """The folder with the sheets."""
        out = tempfile.mkdtemp(dir=self.folder)
        program = [os.path.join(self.folder, OLD + report.replace("-", "_"))] if old else [self.binary, "pftrace-" + report]
        done = subprocess.run([*program, "--trace_path", path, "--output_csvs_dir", out, *options],
                              capture_output=True, text=True)
        if done.returncode:
            print(done.stdout, done.stderr)
        self.printed = done.stdout + done.stderr
        return out if done.returncode == 0 else None

    def messages(self, *arguments, **options):
        """What the program prints; under its old name, warnings are lines of its log on standard output."""
        self.run(*arguments, **options)
        return self.printed

    def forms(self, name, events, protobuf=True):
        """The trace in each format, as (format, path)."""
        base = os.path.join(self.folder, name)
        text = json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}).encode()
        files = {".json": text, ".json.gz": gzip.compress(text)}
        if protobuf:
            files[".pftrace"] = rocprof(events).bytes()
            files[".plain.pftrace"] = rocprof(events, plain=True).bytes()
            files[".packed.pftrace"] = rocprof(events).compressed()
            files[".pftrace.gz"] = gzip.compress(files[".pftrace"])
        for suffix, content in files.items():
            with open(base + suffix, "wb") as f:
                f.write(content)
        return [(suffix, base + suffix) for suffix in files]


# ---- the check cases of the specification (C7 to C11)

def event(cat, name, corr, begin, end, pid=100, tid=100, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": begin // 1000, "dur": (end - begin) // 1000,
            "args": {"begin_ns": begin, "end_ns": end, "delta_ns": end - begin, "corr_id": corr, **args}}


def kernel(name, corr, begin, end, agent, grid, **args):
    return event("kernel_dispatch", name, corr, begin, end, agent=agent, grid_size=grid, workgroup_size=64, VGPR_Count=8,
                 SGPR_Count=16, **args)


CASE = [
    event("hip_api", "hipModuleLaunchKernel", 1, 1000000, 1010000),
    event("hip_api", "hipModuleLaunchKernel", 2, 1100000, 1105000),
    event("hip_api", "hipMalloc", 3, 1200000, 1300000),
    event("hip_api", "hipMemcpyAsync", 4, 1400000, 1420000, tid=101),
    event("hip_api", "hipLaunchKernel", 5, 1500000, 1503000),
    kernel("Cijk_A.kd", 1, 1020000, 1070000, "Agent-2", 1024),
    kernel("Cijk_A.kd", 2, 1102000, 1140000, "Agent-2", 2048),
    kernel("redzone_checker_kernel.kd", 2, 1101000, 1101500, "Agent-2", 1),
    kernel("ncclDevKernel_1(ncclArgs)", 5, 1510000, 1610000, "Agent-3", 1),
    kernel("fusion_12", 5, 1520000, 1560000, "Agent-3", 1),
    event("memory_copy", "MEMORY_COPY_HOST_TO_DEVICE", 4, 1430000, 1440000, copy_bytes=4096, src_agent="Agent-0",
          dst_agent="Agent-2"),
]

API_ROWS = [
    "100,100,0,2,2,56500.0,56500.0,43000,70000,13500.0,7500.0,7500.0,5000,10000,2500.0,5000.0,5000.0,0,10000,5000.0,"
    "44000.0,44000.0,38000,50000,6000.0,hipModuleLaunchKernel,Cijk_A.kd",
    "100,100,1,1,1,110000.0,110000.0,110000,110000,0.0,3000.0,3000.0,3000,3000,0.0,7000.0,7000.0,7000,7000,0.0,"
    "100000.0,100000.0,100000,100000,0.0,hipLaunchKernel,ncclDevKernel_1(ncclArgs)",
]
KERNEL_ROW = "21.9%,50.000 \u03bcs,1,50.000 \u03bcs,50.000 \u03bcs,50.000 \u03bcs,50.000 \u03bcs,0 ns,   1024    1    1," \
    "     64    1    1,8,0,16,0,0,Cijk_A.kd,21.929824561403507,50000,50000.0,50000.0,50000,50000,0.0,1024,1,1,64,1,1"


def rows_of(folder, sheet):
    return [",".join(row) for row in read(folder, sheet)[1]]


def check_case(tool):
    for form, path in tool.forms("c7", CASE):
        rows = sorted(rows_of(tool.run("hip-api", path), "api_kernel_summary"))
        check("C7 " + form, rows == sorted(API_ROWS), rows)
        both = tool.run("hip-api", path, "--allow_multi_kernel_per_api", "--include_nonlaunch_apis")
        # In a protobuf trace, a thread other than the main one shows the process id.
        rows = rows_of(both, "api_kernel_summary")
        thread = "101" if "json" in form else "100"
        wanted = API_ROWS + [
            "100,100,0,1,0,0.0,0.0,0,0,0.0,100000.0,100000.0,100000,100000,0.0,0.0,0.0,0,0,0.0,0.0,0.0,0,0,0.0,hipMalloc,",
            "100,100,1,1,1,60000.0,60000.0,60000,60000,0.0,3000.0,3000.0,3000,3000,0.0,17000.0,17000.0,17000,17000,0.0,"
            "40000.0,40000.0,40000,40000,0.0,hipLaunchKernel,fusion_12",
            "100,%s,0,1,1,40000.0,40000.0,40000,40000,0.0,20000.0,20000.0,20000,20000,0.0,10000.0,10000.0,10000,10000,0.0,"
            "10000.0,10000.0,10000,10000,0.0,hipMemcpyAsync,MEMORY_COPY_HOST_TO_DEVICE" % thread]
        check("C7 all calls " + form, sorted(rows) == sorted(wanted), rows)

        out = tool.run("hip-activity", path, "--kernel_summary_exclude_rccl")
        summary = {(r[0], r[1]): r[2:] for r in read(out, "category_summary")[1]}
        check("C8 gemm " + form, summary["0", "gemm"][:2] == ["0.088", "2.0"], summary["0", "gemm"])
        check("C8 xla " + form, summary["1", "xla"][0] == "0.04")
        check("C8 rccl " + form, summary["1", "rccl"][0] == "0.1" and summary["1", "rccl"][2] == "2.5")
        check("C8 overlap " + form, summary["1", "overlapped_comm"][0] == "0.04")
        check("C8 no overlap " + form, summary["1", "non_overlapped_comm"][0] == "0.06")
        check("C8 mean " + form, summary["Avg", "rccl"][:2] == ["0.05", "0.5"])
        check("C8 kernel_summary " + form, rows_of(out, "kernel_summary")[0] == KERNEL_ROW, rows_of(out, "kernel_summary")[0])
        calls = rows_of(out, "hip_summary")
        check("C8 hip_summary " + form, calls[0].startswith("74.1%,100.000 \u03bcs,1,") and calls[0].endswith(
            "hipMalloc,74.07407407407408,100000,100000.0,100000.0,100000,100000,0.0"), calls[0])
        check("C8 short calls " + form, not any("hipLaunchKernel," in c for c in calls))
        check("C8 xla_top " + form, rows_of(out, "xla_top") == [
            "fusion_12,0.04,1,0.9876543209876543", "redzone_checker_kernel.kd,0.0005,1,0.012345679012345678"])
        check("C8 copies, old name " + form,
              rows_of(tool.run("memory-copy", path, old=True), "memory_copy_by_copy_bytes") == ["4096,h2d (GPU ?),1"])
        check("C8 copies " + form,
              rows_of(tool.run("memory-copy", path), "memory_copy_by_copy_bytes") == ["4096,h2d (GPU 2),1"])


def check_copies(tool):
    events = [{"ph": "X", "cat": "memory_copy", "name": "MEMORY_COPY_" + way, "ts": 1, "dur": 1, "pid": 1, "tid": 1,
               "args": {"copy_bytes": size, "src_agent": s, "dst_agent": d}}
              for way, size, s, d in (("HOST_TO_DEVICE", 20138, 0, 2), ("HOST_TO_DEVICE", 20138, 0, 2),
                                      ("DEVICE_TO_HOST", 4096, 1, 0), ("DEVICE_TO_DEVICE", 8192, 0, 1),
                                      ("HOST_TO_HOST", "5", 0, 0))]
    for form, path in tool.forms("c10", events):
        for old in (True, False):
            rows = rows_of(tool.run("memory-copy", path, old=old), "memory_copy_by_copy_bytes")
            check("C10 " + form, rows == ["5,other,1", "4096,d2h (GPU 1),1", "8192,d2d (GPU 0 -> GPU 1),1",
                                          "20138,h2d (GPU 2),2"], rows)


def check_times(tool):
    def device(name, **e):
        return {"cat": "kernel_dispatch", "name": name, "pid": 1, "tid": 1, **e}
    events = [device("a", ts=1, dur=2, args={"agent": "Agent-1"}),
              device("b", ts=9, dur=9, args={"agent": "Agent-1", "begin_ns": 1000, "delta_ns": 500})]
    for form, path in tool.forms("c11", events, protobuf=False):
        rows = rows_of(tool.run("hip-activity", path, "--min_event_ns", "0"), "xla_top")
        check("C11 activity " + form, rows == ["a,0.002,1,0.8", "b,0.0005,1,0.2"], rows)
    events = [{"cat": "hip_api", "name": "hipLaunchKernel", "ts": 1000.0, "dur": 10.0, "pid": 1, "tid": 1,
               "args": {"corr_id": 7}},
              {"cat": "kernel_dispatch", "name": "k", "ts": 1020.0, "dur": 50.0, "pid": 1, "tid": 1, "args": {"corr_id": 7}}]
    for form, path in tool.forms("c11b", events):
        header, rows = read(tool.run("hip-api", path), "api_kernel_summary")
        row = dict(zip(header, rows[0]))
        check("C11 calls " + form, [row[x + "Avg_ns"] for x in "AQKT"] == ["10000.0", "10000.0", "50000.0", "70000.0"], row)


# ---- synthetic traces compared with the reference model

KERNELS = ["Cijk_%d.kd", "ncclDevKernel_%d(x)", "void at::native::copy_%d<int>(float*) [clone .kd]", "fusion_%d",
           "kernel_func_%d", "FmhaFwd_%d", "aiter::fmha_bwd_%d", "transformer_engine_%d", "__amd_rocclr_fillBuffer%d.kd",
           "register_%d", "redzone_checker_kernel"]
CALLS = ["hipLaunchKernel", "hipModuleLaunchKernel", "hipMalloc", "hipExtLaunchMultiKernelMultiDevice", "hipMemset"]


def synthetic(seed, count):
    r = random.Random(seed)
    events, now = [], 5_000_000_000_000
    for corr in range(1, count):
        now += r.randrange(1, 60000)
        length = r.choice((500, 4999, 5000, 12345, 3000000))
        tid = r.choice((100, 100, 101))
        events.append(event("hip_api", r.choice(CALLS), corr, now, now + length, tid=tid, stream_ID=r.randrange(3),
                            operation=r.randrange(500, 503)))
        for _ in range(r.choice((0, 1, 1, 1, 2))):
            begin = now + r.randrange(0, 40000)
            name = r.choice(KERNELS)
            args = {"Accum_VGPR_Count": r.randrange(2), "LDS_Block_Size": r.choice((0, 512)), "Scratch_Size": 0}
            events.append(kernel(name % r.randrange(3) if "%" in name else name, corr, begin,
                                 begin + r.choice((1, 700, 5000, 40000, 250000)), "Agent-%d" % r.choice((4, 2, 9)),
                                 r.choice((64, 1024, 1 << 40)), **args))
        if r.random() < 0.3:
            way = r.choice(("HOST_TO_DEVICE", "DEVICE_TO_HOST", "DEVICE_TO_DEVICE", "HOST_TO_HOST"))
            events.append(event("memory_copy", "MEMORY_COPY_" + way, corr, now + 100, now + 900,
                                copy_bytes=r.choice((4, 4096, 1 << 33)), src_agent="Agent-%d" % r.randrange(3),
                                dst_agent="Agent-%d" % r.randrange(3)))
    return events


def as_converted(events):
    """The events in the order of Perfetto's conversion to JSON: thread tracks first, by time; on other tracks, the thread is the
    process."""
    def on_thread(e):
        return e["cat"] == "hip_api" and e["tid"] == e["pid"]
    ordered = [e for e in events if on_thread(e)] + [{**e, "tid": e["pid"]} for e in events if not on_thread(e)]
    return sorted(ordered, key=lambda e: (not on_thread(e), e["args"]["begin_ns"]))


def check_synthetic(tool):
    for seed, count in ((1, 40), (2, 400), (3, 1500)):
        events = synthetic(seed, count)
        for form, path in tool.forms("made%d" % seed, events):
            e = events if "json" in form else as_converted(events)
            title = "synthetic %d %s " % (seed, form)
            compare(title + "api", read(tool.run("hip-api", path), "api_kernel_summary"), sheets.api_kernel_summary(e))
            out = tool.run("hip-api", path, "--exclude_kernel_regex=", "--allow_multi_kernel_per_api",
                           "--include_nonlaunch_apis")
            compare(title + "api, all", read(out, "api_kernel_summary"), sheets.api_kernel_summary(e, None, True, True))
            activity = sheets.Activity(e)
            out = tool.run("hip-activity", path, "--hip_summary_group", "name+stream+op", "--kernel_summary_include_rccl")
            compare(title + "categories", read(out, "category_summary"), activity.category_summary())
            compare(title + "xla", read(out, "xla_top"), activity.xla_top())
            compare(title + "kernels", read(out, "kernel_summary"), activity.kernel_summary(rccl=True))
            compare(title + "calls", read(out, "hip_summary"), activity.hip_summary("name+stream+op"))
            activity = sheets.Activity(e, merge=True, min_ns=700, min_tid=100, max_tid=100)
            out = tool.run("hip-activity", path, "--merge_kernels", "--min_event_ns=700", "--min_tid=100", "--max_tid=100",
                           "--kernel_summary_group=name", "--kernel_summary_baseline=compute", "--top_xla=2")
            compare(title + "merged categories", read(out, "category_summary"), activity.category_summary())
            compare(title + "merged xla", read(out, "xla_top"), activity.xla_top(2))
            compare(title + "by name", read(out, "kernel_summary"),
                    activity.kernel_summary(baseline="compute", by_name=True))
            compare(title + "merged calls", read(out, "hip_summary"), activity.hip_summary())
            for old in (False, True):
                compare(title + "copies", read(tool.run("memory-copy", path, old=old), "memory_copy_by_copy_bytes"),
                        sheets.memory_copies(e, only_numbers=old))


def check_shares(tool):
    """Two GPUs, 5 % of their time in kernels other than RCCL's."""
    events = [kernel("fusion", 1, 0, 20000, "Agent-1", 1), kernel("Cijk_gemm", 2, 30000, 60000, "Agent-2", 1),
              kernel("ncclKernel_AllReduce", 3, 100000, 570000, "Agent-1", 1),
              kernel("void rcclGenericKernel<1>", 4, 100000, 580000, "Agent-2", 1),
              kernel("fusion", 5, 0, 4000, "Agent-1", 1)]  # shorter than --min_event_ns
    for form, path in tool.forms("shares", events):
        def shares(*options, old=False):
            header, rows = read(tool.run("hip-activity", path, *options, old=old), "kernel_summary")
            return [float(row[header.index("Time %")]) for row in rows]
        check("all kernels " + form, shares() == [48, 47, 3, 2], shares())
        check("of computation " + form, shares("--kernel_summary_baseline=compute") == [60, 40])
        check("without communication " + form, shares("--kernel_summary_exclude_rccl") == [3, 2])
        check("old name " + form, shares(old=True) == [3, 2])
        check("old name, all kernels " + form, shares("--kernel_summary_include_rccl", old=True) == [48, 47, 3, 2])
        header, rows = read(tool.run("hip-activity", path), "category_summary")
        for gpu in ("0", "1", "Avg"):
            of = {row[1]: row for row in rows if row[0] == gpu}
            names = [name for name in of if not name.endswith(("_comm", "_total", "rccl"))]
            compute, total = (header.index("Fraction of %s runtime" % what) for what in ("compute", "total"))
            sums = [sum(float(of[name][compute]) for name in names),
                    sum(float(of[name][total]) for name in names + ["rccl"])]
            check("fractions of GPU %s %s" % (gpu, form), all(math.isclose(x, 1) for x in sums), sums)
    for old, options, expected in ((False, [], False), (False, ["--kernel_summary_exclude_rccl"], True), (True, [], True),
                                   (False, ["--kernel_summary_baseline=compute"], False)):
        printed = tool.messages("hip-activity", path, *options, old=old)
        check("warning %s %s" % (old, options), ("communication kernels, which took 95.0% of the GPU time" in printed) == expected, printed)


def check_overlap(tool):
    """Check case C9 as a trace: 120 ns of overlap, although the communication lasts only 80."""
    events = [kernel("fusion", 1, 0, 100, "Agent-1", 1), kernel("fusion", 2, 50, 150, "Agent-1", 1),
              kernel("ncclKernel", 3, 60, 140, "Agent-1", 1)]
    for form, path in tool.forms("c9", events):
        rows = {r[1]: r for r in read(tool.run("hip-activity", path, "--min_event_ns=0"), "category_summary")[1]
                if r[0] == "0"}
        check("C9 " + form, float(rows["overlapped_comm"][2]) == 120 / 1e6)
        check("C9 rest " + form, float(rows["non_overlapped_comm"][2]) == -40 / 1e6)


MARKDOWN = """# ROCm Perfetto Trace Report

- Agents (GPUs): Agent-2
- Used FA v3 kernels detected: **0**

## Category Summary (per GPU)
| GPU ID   | Category            |   Total runtime (ms) |   Total count |   Fraction of compute runtime |   Fraction of total runtime |
|:---------|:--------------------|---------------------:|--------------:|------------------------------:|----------------------------:|
"""


def check_markdown(tool):
    events = [kernel("fusion_1", 1, 1000000, 1020000, "Agent-2", 7), kernel("fusion_2", 2, 1030000, 1030300, "Agent-2", 7),
              event("hip_api", "hipFree", 9, 1000, 2001000)]
    for form, path in tool.forms("md", events):
        target = os.path.join(tool.folder, "out.md")
        tool.run("hip-activity", path, "--output_md_path", target)
        with open(target, encoding="utf-8") as f:
            text = f.read()
        check("Markdown, its beginning " + form, text.startswith(MARKDOWN), text[:900])
        check("Markdown, XLA " + form, """## Top XLA Kernels (by time)
| Kernel | Total Time (ms) | Count | Fraction of XLA |
|---|---:|---:|---:|
| `fusion_1` | 0.02 | 1 | 98.52% |
| `fusion_2` | 0.00 | 1 | 1.48% |

### Kernel Summary Table
""" in text)
        check("Markdown, a row " + form, "| 0        | xla                 |                 0.02 |             1 |"
              "                             1 |                           1 |" in text)
        check("Markdown, its end " + form, text.endswith("""### HIP API Summary Table
| Time   | Total Time   |   Instances | Avg      | Med      | Min      | Max      | StdDev   | Name    |   Time % |   Total Time (ns) |   Avg (ns) |   Med (ns) |   Min (ns) |   Max (ns) |   StdDev (ns) |
|:-------|:-------------|------------:|:---------|:---------|:---------|:---------|:---------|:--------|---------:|------------------:|-----------:|-----------:|-----------:|-----------:|--------------:|
| 100.0% | 2.000 ms     |           1 | 2.000 ms | 2.000 ms | 2.000 ms | 2.000 ms | 0 ns     | hipFree |      100 |           2000000 |      2e+06 |      2e+06 |    2000000 |    2000000 |             0 |
"""), text[-900:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    tool = Tool(parser.parse_args().bin)
    try:
        for case in (check_case, check_copies, check_times, check_overlap, check_shares, check_synthetic, check_markdown):
            case(tool)
    finally:
        shutil.rmtree(tool.folder)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
