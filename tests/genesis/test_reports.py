#!/usr/bin/env python3
"""The Genesis report on synthetic captures: known cells, the files that it finds, and error messages.

    python3 -m tests.genesis.test_reports --bin build/gputally
"""
import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from tests.common import harness
from tests.perfetto.test_reports import CASE
from tests.perfetto.writer import rocprof

OLD = "TraceLens_generate_perf_report_genesis"
HEADER = ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name",
          "Correlation_Id", "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count",
          "Accum_VGPR_Count", "SGPR_Count", "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z", "Grid_Size_X",
          "Grid_Size_Y", "Grid_Size_Z"]
# Check case C12 of the specification.
KERNELS = [("__amd_rocclr_fillBufferAligned", 172352210005122, 172352210008687),
           ("runtime_get_memory_requirements", 172352210061004, 172352210062686),
           ("__amd_rocclr_copyBuffer", 172352210143326, 172352210149335),
           ("_kernel_solve_body_c424_0_kernel_0_range_for", 172471891336797, 172471894892116),
           ("kernel_step_2_c402_0_kernel_0_range_for", 172471895508391, 172471895631173)]
TIMELINE = [("total_time", 4.294376, 100.0), ("kernel", 3.678101, 85.64925381475679), ("memory", 0.0, 0.0),
            ("busy_time", 3.678101, 85.64925381475679), ("idle", 0.616275, 14.35074618524321)]
tally = harness.Tally()


def check(title, truth, note=""):
    tally.add(title, [] if truth else [str(note) or "not as expected"])


def csv_of(kernels):
    lines = [",".join('"%s"' % title for title in HEADER)]
    for i, (name, start, end) in enumerate(kernels, 1):
        lines.append('"KERNEL_DISPATCH","Agent 1",1,0,77,%d,%d,"%s",%d,%d,%d,0,0,8,0,16,64,1,1,256,1,1' %
                     (i, i, name, i, start, end))
    return "\n".join(lines) + "\n"


def json_of(kernels):
    return json.dumps({"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 1, "init_time": kernels[0][1] - 1000, "fini_time": kernels[-1][2] + 1000},
        "kernel_symbols": [{"kernel_id": i, "kernel_name": k[0]} for i, k in enumerate(kernels)],
        "buffer_records": {"kernel_dispatch": [
            {"start_timestamp": k[1], "end_timestamp": k[2], "dispatch_info": {"kernel_id": i}}
            for i, k in enumerate(kernels)]}}]})


class Capture:
    def __init__(self, work, binary, **files):
        self.folder, self.binary = tempfile.mkdtemp(dir=work), binary
        for name, content in files.items():
            path = os.path.join(self.folder, name.replace("__", "/").replace("DOT", "."))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(content if isinstance(content, bytes) else content.encode())

    def run(self, *options, old=False):
        """(exit code, standard output, standard error, sheets, summary)"""
        out = os.path.join(self.folder, "out")
        program = [self.binary, "genesis"]
        if old:
            program = [os.path.join(self.folder, OLD)]
            if not os.path.exists(program[0]):
                os.symlink(self.binary, program[0])
        done = subprocess.run([*program, "--capture-dir", self.folder, "--output-dir", out, "--output_csvs_dir",
                               os.path.join(out, "csvs"), *options], capture_output=True, text=True)
        sheets, summary = {}, ""
        if os.path.isdir(os.path.join(out, "csvs")):
            for name in os.listdir(os.path.join(out, "csvs")):
                with open(os.path.join(out, "csvs", name), newline="", encoding="utf-8") as f:
                    sheets[name[:-4]] = list(csv.DictReader(f))
        if os.path.isfile(os.path.join(out, "genesis_summary.md")):
            with open(os.path.join(out, "genesis_summary.md"), encoding="utf-8") as f:
                summary = f.read()
        self.workbook = os.path.join(out, "genesis_perf_report.xlsx")
        return done.returncode, done.stdout, done.stderr, sheets, summary


def near(text, value):
    return abs(float(text) - value) <= 1e-12 * abs(value)


def check_tables(title, sheets, steady):
    if steady:
        rows = [(r["type"], float(r["time ms"]), float(r["percent"])) for r in sheets["gpu_timeline"]]
        check(title + ": timeline", [r[0] for r in rows] == [t[0] for t in TIMELINE] and all(
            abs(r[i] - t[i]) <= 1e-12 * abs(t[i]) for r, t in zip(rows, TIMELINE) for i in (1, 2)), rows)
    first = sheets["kernel_summary"][0]
    check(title + ": kernel_summary", near(first["Mean Kernel Time (µs)"], 3555.319) and near(
        first["Median Kernel Time (µs)"], 3555.319) and near(first["Total Kernel Time (ms)"], 3.555319) and
        first["Category"] == "Rigid Body Solver" and first["name"] == KERNELS[3][0], first)
    categories = {r["op category"]: r for r in sheets["kernel_summary_by_category"]}
    check(title + ": solver", near(categories["Rigid Body Solver"]["Percentage (%)"], 96.36690079057135))
    check(title + ": integration", near(categories["Time Integration"]["Percentage (%)"], 3.328005394978041))
    check(title + ": memory", categories["Memory Ops (ROCm)"]["Count"] == "2" and "Runtime Init" in categories)


def check_case(work, binary):
    capture = Capture(work, binary, kernel_trace__kernel_kernel_traceDOTcsv=csv_of(KERNELS),
                      runDOTlog="noise\nwall_time=3.98s done\n", capture_manifestDOTjson=json.dumps(
                          {"timestamp": "20260529_181047", "n_envs": 4096, "num_steps": 100, "precision": "32"}))
    code, _, stderr, sheets, summary = capture.run()
    check("C12: exit code", code == 0 and stderr == "", stderr)
    check_tables("C12", sheets, True)
    check("C12: short kernels", [r["name"] for r in sheets["short_kernels_summary"]] ==
          ["__amd_rocclr_copyBuffer", "__amd_rocclr_fillBufferAligned", "runtime_get_memory_requirements"])
    check("C12: sheets", sorted(sheets) == ["gpu_timeline", "kernel_summary", "kernel_summary_by_category",
                                            "short_kernel_histogram", "short_kernels_summary"], sorted(sheets))
    check("C12: summary", summary.startswith("""# TraceLens Genesis Performance Report

Extension report for physics-simulation workloads (Genesis/Taichi-style kernels).

**Capture:** 20260529_181047 — n_envs=4096, steps=100, fp32

## GPU Timeline (timed benchmark window)

Steady-state window: `after_max_gap_119681.2ms` — 2 dispatches, **85.6%** GPU busy over 4.3 ms

> Full rocprof session idle (JIT/build) is excluded from this report.

- **total_time**: 4.29 ms (100.0%)
- **kernel**: 3.68 ms (85.6%)
- **memory**: 0.00 ms (0.0%)
- **busy_time**: 3.68 ms (85.6%)
- **idle**: 0.62 ms (14.4%)

## Kernel Categories

| op category       |   Count |   total_direct_kernel_time_ms |   Percentage (%) |   Cumulative Percentage (%) |
|:------------------|--------:|------------------------------:|-----------------:|----------------------------:|
| Rigid Body Solver |       1 |                      3.55532  |"""), summary)
    check("C12: kernels in the summary", """## Top 10 Kernels

| Kernel | Count | Total (ms) | % | Category |
|--------|-------|------------|---|----------|
| `_kernel_solve_body_c424_0_kernel_0_range_for` | 1 | 3.6 | 96.37 | Rigid Body Solver |
""" in summary)
    with zipfile.ZipFile(capture.workbook) as book:
        names = re.findall(r'<sheet [^>]*name="([^"]+)"', book.read("xl/workbook.xml").decode())
    check("C12: workbook", names == ["gpu_timeline", "kernel_summary", "kernel_summary_by_category", "short_kernels_summary",
                                     "short_kernel_histogram"], names)
    code, stdout, _, sheets, _ = capture.run("--kernel-details", "--no-short-kernel-study", "--keep-work", "--traceconv", "x",
                                             old=True)
    check("old name: exit code", code == 0)
    check("old name: log", "Auto-detected benchmark window 4.18s from run.log" in stdout, stdout)
    out = os.path.realpath(os.path.join(capture.folder, "out"))
    check("old name: last lines", stdout.endswith(
        f"\n\n=== Done ===\n  Excel   : {out}/genesis_perf_report.xlsx\n  Summary : {out}/genesis_summary.md\n"), stdout)
    check("details", len(sheets["kernel_details"]) == 5)
    check("no work folder", not os.path.exists(os.path.join(out, ".work")))


def check_sources(work, binary):
    # A CSV file of another name, in the folder itself, next to a JSON file that is ignored.
    capture = Capture(work, binary, **{"908_kernel_traceDOTcsv": csv_of(KERNELS), "908_resultsDOTjson": "no JSON"})
    code, _, stderr, sheets, summary = capture.run()
    check("another name: exit code", code == 0, stderr)
    check_tables("another name", sheets, True)
    check("no manifest", "**Capture:**" not in summary)
    # The JSON if there is no CSV: the timeline is that of the whole run.
    capture = Capture(work, binary, **{"908_resultsDOTjson": json_of(KERNELS)})
    code, _, stderr, sheets, summary = capture.run()
    check("JSON: exit code", code == 0, stderr)
    check_tables("JSON", sheets, False)
    check("JSON: timeline", near(sheets["gpu_timeline"][0]["time ms"],
                                 (KERNELS[-1][2] - KERNELS[0][1] + 2000) / 1e6), sheets["gpu_timeline"])
    check("JSON: summary", "Steady-state window: `n/a` — 0 dispatches, **0.0%** GPU busy over 0.0 ms" in summary)
    # With a pftrace.
    capture = Capture(work, binary, kernel_kernel_traceDOTcsv=csv_of(KERNELS), x_resultsDOTpftrace=rocprof(CASE).bytes(),
                      combined_manifestDOTjson='{"n_envs": null, "precision": 64, "num_steps": true}')
    code, _, stderr, sheets, summary = capture.run()
    check("pftrace: exit code", code == 0, stderr)
    check("pftrace: sheets", set(sheets) >= {"pftrace_hip_activity_category_s", "pftrace_hip_activity_xla_top",
                                             "pftrace_hip_activity_kernel_sum", "pftrace_hip_activity_hip_summar",
                                             "pftrace_memory_copy_memory_copy"}, sorted(sheets))
    check("pftrace: copies", sheets["pftrace_memory_copy_memory_copy"] ==
          [{"copy_bytes": "4096", "direction": "h2d (GPU 2)", "count": "1"}])
    check("pftrace: summary", "## Top HIP API (pftrace)\n\n| Time   | Total Time   |" in summary and
          summary.rstrip().split("\n")[-1].startswith("| 11.1%  | 15.000 "), summary[-600:])
    check("manifest", "**Capture:** %s — n_envs=None, steps=True, fp64\n" % os.path.basename(capture.folder) in summary, summary)
    sheets = capture.run(old=True)[3]
    check("pftrace: copies, old name", sheets["pftrace_memory_copy_memory_copy"][0]["direction"] == "h2d (GPU ?)")


def check_window(work, binary):
    """The busier of two windows counts; the fallback can be given."""
    kernels = [("a", 0, 1_000_000), ("b", 2_000_000_000, 2_000_001_000), ("c", 2_500_000_000, 2_500_001_000),
               ("d", 2_500_001_000, 2_500_400_000)]
    capture = Capture(work, binary, kernel_kernel_traceDOTcsv=csv_of(kernels))
    summary = capture.run("--steady-state-fallback-s", "0.2")[4]
    check("the last 0.2 s", "`last_0.2s` — 2 dispatches, **100.0%** GPU busy over 0.4 ms" in summary, summary)
    summary = capture.run("--steady-state-gap-ms=3000", "--steady-state-fallback-s", "10")[4]
    check("all of it", "`last_10.0s` — 4 dispatches, **0.1%** GPU busy over 2500.4 ms" in summary, summary)


def check_failures(work, binary):
    empty = Capture(work, binary, notes="")
    code, stdout, stderr, _, _ = empty.run()
    check("nothing to read", code == 1 and stderr == f"gputally: {empty.folder}: No kernel CSV or *_results.json found\n", stderr)
    check("nothing written", not os.path.exists(os.path.join(empty.folder, "out")))
    done = subprocess.run([binary, "genesis"], capture_output=True, text=True)
    check("no folder", done.returncode == 2 and "the following arguments are required: --capture-dir/--combined-run-dir"
          in done.stderr, done.stderr)
    done = subprocess.run([binary, "genesis", "/nonexistent"], capture_output=True, text=True)
    check("a missing folder", done.returncode == 1 and done.stderr == "gputally: /nonexistent: not a folder\n")
    done = subprocess.run([binary, "genesis", work, "--steady-state-gap-ms", "x"], capture_output=True, text=True)
    check("not a number", done.returncode == 2 and "argument --steady-state-gap-ms: invalid float value: 'x'" in done.stderr)
    short = Capture(work, binary, kernel_kernel_traceDOTcsv=csv_of([("a", 0, 10**9), ("b", 10**9, 3 * 10**9)]))
    code, _, stderr, _, _ = short.run("--steady-state-fallback-s", "0.5")
    check("an empty window", code == 1 and "no kernel starts within the last 0.5 s" in stderr, stderr)
    damaged = Capture(work, binary, kernel_kernel_traceDOTcsv=csv_of(KERNELS), x_resultsDOTpftrace=b"\x0a\x05hello")
    code, _, stderr, _, _ = damaged.run()
    check("a damaged pftrace", code == 1 and stderr.count("\n") == 1 and "x_results.pftrace" in stderr, stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    binary = os.path.abspath(parser.parse_args().bin)
    work = tempfile.mkdtemp(prefix="gputally-genesis-")
    try:
        for case in (check_case, check_sources, check_window, check_failures):
            case(work, binary)
    finally:
        shutil.rmtree(work)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
