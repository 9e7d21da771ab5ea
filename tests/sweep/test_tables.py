#!/usr/bin/env python3
"""The steps of `gputally sweep` that write and combine tables, on synthetic sweeps (generate_sweep.py).

Expected values were computed from the rules by hand and with pandas, openpyxl and NumPy, as TraceLens uses them; none
comes from gputally."""
import csv
import glob
import gzip
import json
import math
import os
import random
import shutil
import sys

from tests.rocprof import generate_run
from tests.sweep import generate_sweep
from tests.common.harness import Case, files_under as all_files_under, run, run_cases
from tests.sweep.generate_sweep import K1, K2, read_workbook, write_workbook

TOP = "top5_gemm_kernels_time_variance"


def files_under(folder):
    """All but what is kept for the next analysis (test_incremental.py)."""
    return [name for name in all_files_under(folder) if ".gputally" not in name.split(os.sep)]


STEM = os.path.join("s", "tracelens_analysis", TOP)


class Sweep:
    """Runs the program in its own folder; `problems` collects the failed checks."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.problems = binary, folder, []

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def run(self, *words, code=0):
        done = run([self.binary, "sweep", *words], cwd=self.folder)
        self.problems += done.problems() if code != 2 else []
        if done.code != code:
            self.problems.append(f"{' '.join(words)}: exit code {done.code}, not {code}: {done.stderr}")
        if done.code and not all(line.startswith("gputally") or line.startswith("Try ") for line in done.stderr.splitlines()):
            self.problems.append(f"unexpected messages: {done.stderr}")
        return done

    def same(self, what, got, wanted):
        if got != wanted:
            self.problems.append(f"{what}: {got!r}, not {wanted!r}")

    def near(self, what, got, wanted):
        """Compares rows of text and numbers; numbers to 16 digits."""
        alike = len(got) == len(wanted) and all(
            (a == b) if not isinstance(b, (int, float)) or isinstance(b, bool) or a is None or isinstance(a, str)
            else math.isclose(a, b, rel_tol=1e-13) for a, b in zip(got, wanted))
        if not alike:
            self.problems.append(f"{what}: {got!r}, not {wanted!r}")

    def holds(self, what, text, *parts):
        for part in parts:
            if part not in text:
                self.problems.append(f"{what} lacks {part!r}: {text!r}")

    def csv(self, path):
        with open(self.path(path), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def lines(self, path):
        with open(self.path(path), newline="", encoding="utf-8") as file:
            return file.read()


def made_sweep(s, **how):
    generate_sweep.lay_out(s.path("s"), **how)
    before = {name: open(s.path("s", name), "rb").read() for name in files_under(s.path("s"))}
    done = s.run("report", "s")
    after = {name: open(s.path("s", name), "rb").read() for name in before if os.path.exists(s.path("s", name))}
    s.same("traces", before == after, True)
    return done


def top(s, *words, code=0):
    return s.run("top", "--base-path", "s/tracelens_analysis", *words, code=code)


# ---- the tiny sweep, step by step ----

FIRST_ROWS = [(512, 42, 1, K1, "100", "143", "43.0"), (512, 42, 0, K1, "100", "142", "42.0"),
              (512, 28, 1, K1, "100", "129", "29.0"), (512, 28, 0, K1, "100", "128", "28.0"),
              (256, 42, 1, K2, "40.5", "66.75", "26.25"), (512, 42, 1, K2, "40.5", "66.75", "26.25"),
              (256, 42, 0, K2, "40.5", "66.25", "25.75"), (512, 42, 0, K2, "40.5", "66.25", "25.75"),
              (256, 28, 1, K2, "40.5", "64.75", "24.25"), (512, 28, 1, K2, "40.5", "64.75", "24.25"),
              (256, 28, 0, K2, "40.5", "64.25", "23.75"), (512, 28, 0, K2, "40.5", "64.25", "23.75"),
              (256, 42, 1, K1, "100", "122", "22.0"), (256, 42, 0, K1, "100", "121", "21.0"),
              (256, 28, 1, K1, "100", "115", "15.0"), (256, 28, 0, K1, "100", "114", "14.0")]
OWN = ["threads", "channel", "rank", "kernel_name", "kernel_time_min_us", "kernel_time_max_us", "time_diff_us"]
SHEET_OF_2025 = """Concrete Inputs_first|Data Moved (MB)_first|FLOPS/Byte_first|GFLOPS_first|Input Dims_first|Input Strides_first|Input
 type_first|Kernel Time (µs)_max|Kernel Time (µs)_mean|Kernel Time (µs)_median|Kernel Time (µs)_min|Kernel Time (µs)_std|Kernel Time
 (µs)_sum|TB/s_max|TB/s_mean|TB/s_median|TB/s_min|TB/s_std|TFLOPS/s_max|TFLOPS/s_mean|TFLOPS/s_median|TFLOPS/s_min|TFLOPS/s_std|UID_first
|kernel_details__summarize_kernel_stats|name|name_count|param: B|param: K|param: M|param: N|param: bias|param: dtype_A_B|param: stride_A
|param: stride_B|param: transpose|trunc_kernel_details""".replace("\n", "").split("|")


def check_tiny_sweep(s):
    done = made_sweep(s)
    s.holds("report", done.stdout, "256thread: 2 channel settings, 16 individual reports, 2 collective reports",
            "Comparisons across threads: 16")
    s.same("messages", done.stderr, "")
    done = top(s, "--threads", "256", "512", "--channels", "28", "42", "--ranks", "0", "1", "--top-k", "5")
    s.holds("top", done.stdout, "Unique kernels: 2", "Average time difference: 25.8750", "Max time difference: 43.0000",
            "Min time difference: 14.0000", "1. threads=512, ch=42, rank=1, diff=43.0000us")
    text, rows = s.lines(f"{STEM}.csv"), s.csv(f"{STEM}.csv")
    s.same("lines end in CR LF", text.count("\r\n") == text.count("\n") == 17, True)
    s.same("rows", [tuple(row[c] for c in OWN) for row in rows], [tuple(map(str, row)) for row in FIRST_ROWS])
    s.same("columns", list(rows[0]), OWN + sorted(
        "col_" + c for c in SHEET_OF_2025 + ["Compute Spec", "process_label_first", "process_name_first", "thread_name_first"]))
    s.same("mean", rows[0]["col_Kernel Time (µs)_mean"], "117.6666666666667")
    s.same("TB/s", rows[0]["col_TB/s_mean"], "0.01595473156177156")
    check_timestamps_of_tiny_sweep(s)
    check_overlap_of_tiny_sweep(s)
    check_timeline_of_tiny_sweep(s)
    check_comms_of_tiny_sweep(s)
    check_comparison_of_tiny_sweep(s)


def check_timestamps_of_tiny_sweep(s):
    done = s.run("timestamps", "--input-csv", f"{STEM}.csv", "--base-path", "s")
    s.holds("timestamps", done.stdout, "Success rate: 100.0%")
    text, rows = s.lines(f"{STEM}_with_timestamps.csv"), s.csv(f"{STEM}_with_timestamps.csv")
    s.same("lines end in LF", text.count("\r"), 0)
    new = ["min_duration_timestamp_ms", "max_duration_timestamp_ms", "time_between_min_max_ms", "min_duration_found_us",
           "max_duration_found_us"]
    s.same("new columns", list(rows[0])[-5:], new)
    s.same("row 1", [rows[0][c] for c in new], ["1000.1", "1001.1", "1.0", "100.0", "143.0"])
    s.same("row 5", [rows[4][c] for c in new], ["1005.1", "1006.1", "1.0", "40.5", "66.75"])
    s.same("numbers as in pandas", [rows[0][c] for c in ("kernel_time_min_us", "col_TB/s_mean", "col_param: B", "col_param: bias")],
           ["100.0", "0.0159547315617715", "1", "False"])
    s.run("timestamps", "--input-csv", f"{STEM}.csv", "--base-path", "s", "--lossless", "--output-csv", "exact.csv")
    s.same("lossless", s.csv("exact.csv")[0]["col_TB/s_mean"], "0.01595473156177156")


def check_overlap_of_tiny_sweep(s):
    done = s.run("overlap", "--input-csv", f"{STEM}_with_timestamps.csv", "--tracelens-path", "s/tracelens_analysis")
    s.holds("overlap", done.stdout, "16 of 16", "allreduce: 16", "_allgather_base: 8", "Average of the largest overlaps: 84.0%")
    rows = s.csv(f"{STEM}_with_collective_overlap.csv")
    new = ["overlapping_collective_count", "overlapping_collective_names", "max_overlap_percentage", "max_overlap_collective",
           "total_overlap_duration_ms"]
    s.same("new columns", list(rows[0])[-5:], new)
    both, gather = "allreduce;allreduce", "_allgather_base"
    for row, wanted in ((1, ["2", both, "65.73426573430136", "allreduce", "0.12400000000002365"]),
                        (2, ["2", both, "64.78873239435532", "allreduce", "0.12199999999995725"]),
                        (5, ["1", gather, "99.9999999999346", gather, "0.06674999999995634"]),
                        (9, ["1", gather, "100.00000000000561", gather, "0.06475000000000364"]),
                        (16, ["2", both, "68.4210526315566", "allreduce", "0.09199999999998454"])):
        s.same(f"overlap of row {row}", [rows[row - 1][c] for c in new], wanted)


def check_timeline_of_tiny_sweep(s):
    s.run("timeline", "--sweep-dir", "s")
    s.run("timeline", "--sweep-dir", "s", "--geo-mean", "--quiet")
    book = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx"))
    s.same("sheets", list(book), ["All_Data", "Pivot_Time_ms", "Pivot_Percent", "Summary_By_Config"])
    data = book["All_Data"]
    s.same("headings", data[0], ("full_config", "threads_num", "thread_config", "channels_num", "channel_config", "num_ranks",
                                 "type", "time ms", "percent"))
    s.same("number of rows", len(data), 1 + 4 * 8)
    s.near("busy", data[1], ("256thread_28ch", 256, "256thread", 28, "28ch", 8, "busy_time", 0.6610999999999767, 8.363061353573393))
    s.near("computation", data[2][6:], ("computation_time", 0.439, 5.553447185325743))
    s.near("total", data[8][6:], ("total_time", 7.905, 100))
    s.near("summary", book["Summary_By_Config"][4], ("512thread_42ch", 512, 42, 8, 0.469, 0.2261999999999534, 0.6951999999999534,
                                                     7.209800000000047, 7.905))
    s.same("settings", book["Pivot_Time_ms"][0], ("type", "256thread_28ch", "256thread_42ch", "512thread_28ch", "512thread_42ch"))
    book = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_geomean.xlsx"))
    s.near("geometric mean", book["All_Data"][2][6:8], ("computation_time", 0.4389865456072185))
    s.near("of zeros", book["All_Data"][4][6:8], ("exposed_memcpy_time", 9.999999999999996e-11))


def check_comms_of_tiny_sweep(s):
    done = s.run("comms", "--sweep-dir", "s")
    s.holds("comms", done.stdout, "  OP_01:     0.003906 MB  (      2048 elements)  tiny_3.906KB", "OP_03: 256thread_28ch (225.60 us)")
    lines = s.lines("s/tracelens_analysis/nccl_master_all_configs.csv").splitlines()
    s.same("number of lines", len(lines), 13)
    s.same("columns", len(lines[0].split(",")), 36)
    s.same("first line", lines[1][:lines[1].index("0.1271565755208333") + 18],
           "OP_01,tiny_3.906KB,0.00390625,2048,256,256thread,28,28ch,256thread_28ch,allreduce,BFloat16,8,1,30.0,30.0,30.0,30.0,0.03,"
           "0.1271565755208333")
    s.same("its end", lines[1].endswith(",14,14,14,14,14,14,14,14,0,collective_28ch.xlsx"), True)
    rows = s.csv("s/tracelens_analysis/nccl_master_all_configs.csv")
    s.same("operations", [(r["operation_id"], r["operation_name"], r["full_config"]) for r in rows][::4],
           [("OP_01", "tiny_3.906KB", "256thread_28ch"), ("OP_02", "medium_2.00MB", "256thread_28ch"),
            ("OP_03", "large_1024.00MB", "256thread_28ch")])
    sheet = read_workbook(s.path("s/tracelens_analysis/nccl_master_all_configs.xlsx"))["NCCL_Data"]
    s.same("workbook", (len(sheet), sheet[1][0], sheet[1][34]), (13, "OP_01", 0))


def check_comparison_of_tiny_sweep(s):
    book = read_workbook(s.path("s/tracelens_analysis/comparisons/compare_28ch_rank0_across_threads.xlsx"))
    heads = book["gpu_timeline"][0]
    row = {r[0]: dict(zip(heads, r)) for r in book["gpu_timeline"][1:]}["computation_time"]
    for column, wanted in (("time ms__512thread_diff", 0.01399999999999996), ("time ms__512thread_pct", 3.227665706051863),
                           ("256thread::time ms", 0.43375), ("512thread::time ms", 0.44775)):
        if not math.isclose(row[column], wanted, rel_tol=1e-12):
            s.problems.append(f"comparison, {column}: {row[column]}, not {wanted}")
    s.same("sheets", set(book), {"gpu_timeline", "ops_summary"})


# ---- the report step ----

def check_report_is_that_of_the_single_commands(s):
    made_sweep(s, channels=(28,), threads=(256,))
    analysis = s.path("s/tracelens_analysis/256thread")
    run([s.binary, "pytorch", s.path("s/256thread/nccl_28channels/torch_profiler/rank3/customer_trace_step10.json"),
         "--include_unlinked_kernels", "--short_kernel_study", "--short_kernel_threshold_us", "50", "--enable_kernel_summary",
         "--output_xlsx_path", s.path("p.xlsx")])
    run([s.binary, "collective", "--trace_pattern", s.path("s/256thread/nccl_28channels/torch_profiler/rank*/customer_trace_step10.json"),
         "--world_size", "8", "--output_xlsx_path", s.path("c.xlsx")])
    for ours, theirs in (("individual_reports/perf_28ch_rank3.xlsx", "p.xlsx"), ("collective_reports/collective_28ch.xlsx", "c.xlsx")):
        s.same(ours, open(os.path.join(analysis, ours), "rb").read() == open(s.path(theirs), "rb").read(), True)


def check_traces_are_found(s):
    """Each rank's trace is in another place under another name; rank 10 is not rank 1; a second run gives the same result."""
    places = {0: "rank0/anything.json", 1: "rank_1/x_trace_y.json", 2: "rank_02/deep/down/t.json", 3: "rank3/trace/pt.trace.json",
              4: "job_rank4_trace.json", 5: "rank5/t.json.gz", 6: "rank6/customer_trace_a.json", 10: "rank10/trace.json"}
    for rank, place in places.items():
        generate_sweep.lay_out(s.path("s"), threads=(256, 512), channels=(28,), ranks=(rank,), place=place.replace(".gz", ""))
    for threads in (256, 512):
        folder = s.path("s", f"{threads}thread", "nccl_28channels", "torch_profiler")
        with open(os.path.join(folder, "rank5/t.json"), "rb") as plain, gzip.open(os.path.join(folder, "rank5/t.json.gz"), "wb") as packed:
            shutil.copyfileobj(plain, packed)
        os.remove(os.path.join(folder, "rank5/t.json"))
        for decoy in "rank6/a_trace.json", "rank6/b.json":  # the other name comes first
            with open(os.path.join(folder, decoy), "w", encoding="utf-8") as file:
                file.write("no trace")
    before = files_under(s.path("s"))
    done = s.run("report", "s")
    s.same("messages", done.stderr, "gputally: warning: 256thread_28ch, 512thread_28ch: 11 ranks ran, traces of 8: ranks 7, 8, 9 are "
           "missing; the collective reports are about the others\n")
    reports = [f"{kind}_28ch_rank{r}{end}" for r in places for kind, end in (("perf", ".xlsx"), ("compare", "_across_threads.xlsx"))]
    made = {os.path.basename(name) for name in files_under(s.path("s/tracelens_analysis"))}
    s.same("reports", made, set(reports) | {"collective_28ch.xlsx"})
    first = {name: open(s.path("s/tracelens_analysis", name), "rb").read() for name in files_under(s.path("s/tracelens_analysis"))}
    s.run("report", "s", "--threads", "1")
    again = {name: open(s.path("s/tracelens_analysis", name), "rb").read() for name in files_under(s.path("s/tracelens_analysis"))}
    s.same("a second run", first == again, True)
    s.same("traces", [n for n in files_under(s.path("s")) if not n.startswith("tracelens")], before)
    top(s, "--top-k", "1", "--quiet")
    s.same("ranks", sorted({int(row["rank"]) for row in s.csv(f"{STEM}.csv")}), sorted(places))
    done = s.run("timestamps", "--input-csv", f"{STEM}.csv", "--base-path", "s")
    s.holds("all traces are found again", done.stdout, "Success rate: 100.0%")


def check_damaged_traces_do_not_stop_the_others(s):
    generate_sweep.lay_out(s.path("s"), threads=(256,), channels=(28, 42), ranks=(0, 1, 2))
    folder = s.path("s/256thread/nccl_28channels/torch_profiler")
    whole = open(os.path.join(folder, "rank1/customer_trace_step10.json"), encoding="utf-8").read()
    with open(os.path.join(folder, "rank1/customer_trace_step10.json"), "w", encoding="utf-8") as file:
        file.write(whole[:len(whole) // 2])
    with open(os.path.join(folder, "rank2/customer_trace_step10.json"), "w", encoding="utf-8") as file:
        file.write("nothing of the sort")
    done = s.run("report", "s", code=1)
    s.holds("messages", done.stderr, "256thread_28ch rank 1: not in the collective report: ", "256thread_28ch rank 2: no report: ",
            "gputally: 1 report could not be written, and 1 trace could not be read whole\n")
    made = files_under(s.path("s/tracelens_analysis"))
    s.same("reports", made, sorted([f"256thread/collective_reports/collective_{c}ch.xlsx" for c in (28, 42)] +
                                   [f"256thread/individual_reports/perf_{c}ch_rank{r}.xlsx" for c in (28, 42) for r in (0, 1, 2)
                                    if (c, r) != (28, 2)]))
    ranks = {row[2] for row in read_workbook(s.path("s/tracelens_analysis/256thread/collective_reports/collective_28ch.xlsx"))["nccl_long"][1:]}
    s.same("ranks among the collectives", ranks, {0})
    shutil.rmtree(s.path("s/tracelens_analysis"))
    s.run("report", "s", "--strict", code=1)
    s.same("strict: no report of a truncated trace", os.path.exists(s.path("s/tracelens_analysis/256thread/individual_reports/perf_28ch_rank1.xlsx")), False)


def check_missing_ranks_are_named(s):
    """Also the last ones, which only distributedInfo tells; a setting that is kept from the last time is named again."""
    generate_sweep.lay_out(s.path("s"), threads=(256, 512), channels=(28, 42), ranks=range(8))
    shutil.rmtree(s.path("s/256thread/nccl_28channels/torch_profiler/rank1"))
    shutil.rmtree(s.path("s/512thread/nccl_28channels/torch_profiler/rank1"))
    shutil.rmtree(s.path("s/512thread/nccl_42channels/torch_profiler/rank7"))
    wanted = ["256thread_28ch, 512thread_28ch: {} ranks ran, traces of {}: {} missing; the collective reports are about the others",
              "512thread_42ch: {} ranks ran, traces of {}: {} missing; the collective report is about the others"]
    for threads in (1, 3, 3):
        done = s.run("report", "s", "--threads", str(threads))
        lines = [line for line in done.stderr.splitlines() if "missing" in line]
        s.same("warnings", lines, ["gputally: warning: " + wanted[0].format(8, 7, "rank 1 is"), "gputally: warning: " + wanted[1].format(8, 7, "rank 7 is")])
    path = s.path("s/256thread/nccl_42channels/torch_profiler/rank2/customer_trace_step10.json")
    with open(path, "r+", encoding="utf-8") as file:
        file.truncate(os.path.getsize(path) // 2)
    done = s.run("report", "s", code=1)
    s.holds("a truncated trace", done.stderr, "gputally: 1 trace could not be read whole\n")


def check_the_same_warning_comes_once(s):
    generate_sweep.lay_out(s.path("s"), ranks=(0, 1))
    for name in files_under(s.path("s")):
        with open(s.path("s", name), encoding="utf-8") as file:
            trace = json.load(file)
        trace["distributedInfo"]["world_size"] = 2
        for event in trace["traceEvents"]:
            for key in [key for key in event.get("args", {}) if key.startswith("Input ")]:
                del event["args"][key]
        with open(s.path("s", name), "w", encoding="utf-8") as file:
            json.dump(trace, file)
    lines = s.run("report", "s").stderr.splitlines()
    s.same("number of messages", len(lines), 2)
    begin, file, text = lines[0].split(": ", 3)[1:]
    s.same("the first names its file", (begin, file.endswith(".json")), ("warning", True))
    s.same("the second counts the others", lines[-1], f"gputally: warning: 7 more files: {text}")
    lines = s.run("top", "--base-path", "s/tracelens_analysis", code=1).stderr.splitlines()
    s.same("reports without GEMMs, once with a count", [line.split(" in ")[0] for line in lines],
           ["gputally: warning: GEMM sheet not found", "gputally: No data extracted!", "gputally: warning: 7 more files: GEMM sheet not found"])


def check_old_layout(s):
    """Scripts of 2025 find the columns at X, AG and AH."""
    generate_sweep.lay_out(s.path("s"), threads=(256,), channels=(28,), ranks=(0,))
    s.run("report", "s", "--report-layout", "2025.12")
    heads = read_workbook(s.path("s/tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx"))["GEMM"][0]
    s.same("number of columns", len(heads), 37)
    s.same("headings", (heads[0], heads[10], heads[23], heads[24], heads[32], heads[33], heads[35], heads[36]),
           ("name", "GFLOPS_first", "kernel_details__summarize_kernel_stats", "trunc_kernel_details", "Kernel Time (µs)_min",
            "Kernel Time (µs)_max", "name_count", "UID_first"))
    top(s, "--quiet")
    s.same("columns", list(s.csv(f"{STEM}.csv")[0]), OWN + ["col_" + c for c in SHEET_OF_2025])


def write_dispatches(s):
    """One kernel dispatch per process, as JSON without counters."""
    for threads in (256, 512):
        for pid in (998, 1001):
            folder = s.path("s", f"{threads}thread", "nccl_28channels", "rocprof_traces", "pass_1", "host")
            os.makedirs(folder, exist_ok=True)
            tool = {"metadata": {"pid": pid, "init_time": 0, "fini_time": 10**9, "node": {"hostname": "h"}},
                    "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": f"kernel_of_{pid}", "demangled_kernel_name": f"kernel_of_{pid}"}],
                    "buffer_records": {"kernel_dispatch": [
                        {"start_timestamp": 1000, "end_timestamp": 1000 + threads, "correlation_id": {"internal": 1, "external": 0}, "thread_id": 1,
                         "dispatch_info": {"kernel_id": 1, "dispatch_id": 1, "agent_id": {"handle": 1}, "queue_id": {"handle": 1},
                                           "workgroup_size": {"x": 1, "y": 1, "z": 1}, "grid_size": {"x": 1, "y": 1, "z": 1}}}]}}
            with open(os.path.join(folder, f"{pid}_results.json"), "w", encoding="utf-8") as file:
                json.dump({"rocprofiler-sdk-tool": [tool]}, file)


def check_rocprof(s):
    """Ranks are positions in the byte order of paths, or process ids; reports have no collectives."""
    write_dispatches(s)
    for words, first in (((), "kernel_of_1001"), (("--rank-order", "pid"), "kernel_of_998")):
        done = s.run("report", "s", "--rocprof", *words)
        s.holds("report", done.stdout, "256thread: 1 channel setting, 2 individual reports\n", "Comparisons across threads: 2")
        book = read_workbook(s.path("s/tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx"))
        s.same(f"rank 0 {words}", book["kernel_summary"][1][0], first)
    book = read_workbook(s.path("s/tracelens_analysis/comparisons/compare_28ch_rank0_across_threads.xlsx"))
    s.same("sheets", set(book), {"gpu_timeline", "kernel_summary"})
    s.run("timeline", "--sweep-dir", "s", "--quiet")
    heads, row = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx"))["Summary_By_Config"][:2]
    filled = [h for h, v in zip(heads, row) if v is not None]
    s.same("summary of rocprofv3", filled, ["full_config", "threads_num", "channels_num", "num_ranks", "busy_time_ms", "total_time_ms"])


COUNTER_HEADS = ["Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", "Grid_Size", "Kernel_Id", "Kernel_Name",
                 "Workgroup_Size", "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "Counter_Name",
                 "Counter_Value", "Start_Timestamp", "End_Timestamp"]


def counted(dispatch, kernel, counter, value):
    return [1, dispatch, "Agent 1", 1, 77, 77, 64, 1, kernel, 64, 0, 0, 8, 0, 16, counter, value, 1000 * dispatch, 1000 * dispatch + 10]


def check_counters(s):
    """Two settings; kernel b and counter SQ_WAVES only in one of them."""
    values = {"256thread": [counted(1, "a", "SQ_BUSY", 10), counted(2, "a", "SQ_BUSY", 20), counted(3, "b", "SQ_BUSY", 7),
                            counted(1, "a", "SQ_WAVES", 3)],
              "512thread": [counted(1, "a", "SQ_BUSY", 5)]}
    for threads, rows in values.items():
        folder = s.path("s", threads, "nccl_28channels", "rocprof_traces", "pass_1", "host")
        os.makedirs(folder)
        with open(os.path.join(folder, "77_counter_collection.csv"), "w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_NONNUMERIC).writerows([COUNTER_HEADS, *rows])
    os.makedirs(s.path("s/512thread/nccl_42channels"))
    done = s.run("all", "s", "--rocprof")
    s.holds("messages", done.stderr, "Skip 512thread_42ch - no rocprof_traces")
    s.holds("steps", done.stdout, "== report", "== timeline", "== counters\n3 rows, 2 counters")
    s.same("file", s.lines("s/tracelens_analysis/counters_all_configs.csv"),
           "full_config,threads_num,thread_config,channels_num,channel_config,Kernel_Name,Count,SQ_BUSY,SQ_WAVES\n"
           "256thread_28ch,256,256thread,28,28ch,a,2,15.0,3.0\n256thread_28ch,256,256thread,28,28ch,b,1,7.0,\n"
           "512thread_28ch,512,512thread,28,28ch,a,1,5.0,\n")
    book = read_workbook(s.path("s/tracelens_analysis/counters_all_configs.xlsx"))
    s.same("sheets", list(book), ["All_Data", "Pivot_SQ_BUSY", "Pivot_SQ_WAVES"])
    s.same("pivot", book["Pivot_SQ_BUSY"], [("Kernel_Name", "256thread_28ch", "512thread_28ch"), ("a", 15, 5), ("b", 7, None)])
    # Recorded again without counters, as with --stats: `all` skips the step and removes what it wrote, the step alone fails.
    for folder in glob.glob(s.path("s/*/*/rocprof_traces/pass_1/host")):
        shutil.rmtree(folder)
    write_dispatches(s)
    done = s.run("all", "s", "--rocprof")
    s.holds("skipped", done.stderr, "no counters in the traces; counters is skipped")
    s.same("nothing else", "rocprof_traces: no counters" in done.stderr, False)
    s.same("old files", glob.glob(s.path("s/tracelens_analysis/counters_all_configs.*")), [])
    s.holds("alone", s.run("counters", "--sweep-dir", "s", code=1).stderr, "no setting has counters; record them with a job file")
    shutil.rmtree(s.path("s/256thread"))
    shutil.rmtree(s.path("s/512thread/nccl_28channels"))
    s.holds("nothing", s.run("counters", "--sweep-dir", "s", code=1).stderr, "no setting has output of rocprofv3 that can be read")


TILES = ("gemm_kernel<64, 64, float>(float*)", "gemm_kernel<256, 256, __half>(__half*)")


def tile(full):
    return generate_run.Kernel("gemm_kernel", f"void {full}", f"void {full} [clone .kd]", 64, 0, 32, 1024)


def check_kernels_with_one_short_name(s):
    """Two kernels of different types, which only their full names tell apart, in all formats that have counters."""
    before, generate_run.KERNELS = generate_run.KERNELS, tuple(tile(full) for full in TILES)
    try:
        process = generate_run.make_run(dispatches=40)[0]
        formats = {"json": lambda stem: generate_run.write_json([process], stem + "_results.json"),
                   "csv": lambda stem: generate_run.write_csv(process, stem),
                   "rocpd": lambda stem: generate_run.write_rocpd([process], stem + "_results.db")}
        for threads, write in zip(("256", "512", "1024"), formats.values()):
            folder = s.path("s", f"{threads}thread", "nccl_28channels", "rocprof_traces", "pass_1", "host")
            os.makedirs(folder)
            write(os.path.join(folder, "900"))
    finally:
        generate_run.KERNELS = before
    expected = {}
    for number, full in enumerate(TILES):
        counts = [d.counters for d in process.dispatches if d.kernel == number and d.counters]
        means = [math.fsum(sum(c[i]) for c in counts) / len(counts) for i in range(len(generate_run.COUNTERS))]
        expected[f"void {full}"] = [len(counts), *(mean for _, mean in sorted(zip(generate_run.COUNTERS, means)))]
    s.run("counters", "--sweep-dir", "s")
    with open(s.path("s/tracelens_analysis/counters_all_configs.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for threads, form in zip(("256", "512", "1024"), formats):
        found = {row["Kernel_Name"]: [float(row[name]) for name in ("Count", *sorted(generate_run.COUNTERS))]
                 for row in rows if row["threads_num"] == threads}
        s.same(f"{form}: kernels", sorted(found), sorted(expected))
        for name, numbers in found.items():
            s.near(f"{form}: {name}", numbers, expected.get(name, []))

    # The reports of the step `report` are those of the replaced script: short names, and a warning.
    durations = {f"void {full}": sum(d.kernel == number for d in process.dispatches) for number, full in enumerate(TILES)}
    report = "s/tracelens_analysis/{}thread/individual_reports/perf_28ch_rank0.xlsx"
    done = s.run("report", "s", "--rocprof")
    s.holds("warning", done.stderr, "2 kernels have the same short name and share a row; --full_kernel_names keeps them apart")
    for option, wanted in (((), {"gemm_kernel": 40}), (("--full_kernel_names",), durations)):
        done = s.run("report", "s", "--rocprof", *option)
        for threads in ("256", "512", "1024"):
            head, *rows = read_workbook(s.path(report.format(threads)))["kernel_summary"]
            s.same(f"{threads} {option}", {row[0]: row[head.index("Count")] for row in rows}, wanted)
    s.same("no warning", "short name" in done.stderr, False)


# ---- all ----

def check_all_is_its_steps(s):
    """`all` writes the files of the steps; a step that fails prevents only the steps that read its rows."""
    made_sweep(s, ranks=(0, 1))
    shutil.copytree(s.path("s"), s.path("t"))
    top(s, "--top-k", "1", "--output-file", "top1_gemm_kernels_time_variance.csv")
    stem = "s/tracelens_analysis/top1_gemm_kernels_time_variance"
    s.run("yaml", "--input-csv", f"{stem}.csv")
    s.run("timestamps", "--input-csv", f"{stem}.csv", "--base-path", "s")
    s.run("overlap", "--input-csv", f"{stem}_with_timestamps.csv", "--tracelens-path", "s/tracelens_analysis")
    s.run("timeline", "--sweep-dir", "s")
    s.run("comms", "--sweep-dir", "s")
    s.run("decide", "s")
    shutil.rmtree(s.path("t/tracelens_analysis"))
    done = s.run("all", "t", "--top-k", "1", "--dpi", "40")
    s.same("order", [line for line in done.stdout.splitlines() if line.startswith("== ")],
           [f"== {step}" for step in ("report", "top", "yaml", "plot", "timestamps", "overlap", "timeline", "comms", "decide")])
    ours = {n: open(s.path("t/tracelens_analysis", n), "rb").read() for n in files_under(s.path("t/tracelens_analysis"))}
    steps = {n: open(s.path("s/tracelens_analysis", n), "rb").read() for n in files_under(s.path("s/tracelens_analysis"))}
    s.same("plots", len([n for n in ours if n.endswith(".png")]), 5)
    for name in steps:
        if name.startswith("rocprof_top5"):  # names the CSV file; that of `all` is named after --top-k
            s.same(name, ours[name.replace("top5", "top1")].split(b"\n")[3:], steps[name].split(b"\n")[3:])
        else:
            s.same(name, ours.get(name) == steps[name], True)
    done = s.run("all", "t", "--top-k", "0", code=1)
    s.holds("errors", done.stderr, "No data extracted!")
    s.same("steps left", [line for line in done.stdout.splitlines() if line.startswith("== ")],
           ["== report", "== top", "== timeline", "== comms", "== decide"])
    s.same("quiet", s.run("all", "t", "--quiet", "--dpi", "40").stdout, "")
    shutil.rmtree(s.path("t/tracelens_analysis"))
    s.run("all", "t", "-q", "--top-k", "1", "--dpi", "40", "-o", "elsewhere")
    s.same("files of -o", sorted(files_under(s.path("elsewhere"))), sorted(ours))
    s.same("nothing in the sweep", os.path.exists(s.path("t/tracelens_analysis")), False)
    for name in steps:
        if not name.startswith("rocprof_top5"):
            s.same(f"-o: {name}", open(s.path("elsewhere", name), "rb").read() == steps[name], True)
    s.holds("no sweep", s.run("all", "none", code=1).stderr, "Directory not found: none")


# ---- top: unusual sheets ----

DETAILS, MIN, MAX = "kernel_details__summarize_kernel_stats", "Kernel Time (µs)_min", "Kernel Time (µs)_max"


def gemm_report(s, rows, threads=256, channels=28, rank=0, heads=(DETAILS, MIN, MAX)):
    write_workbook(s.path(f"s/tracelens_analysis/{threads}thread/individual_reports/perf_{channels}ch_rank{rank}.xlsx"),
                   GEMM=[heads, *rows])


def check_top_of_odd_rows(s):
    gemm_report(s, [("[{'name': \"f<'a'>\"}]", 1, 9), ("[{'name': 'A', 'x': 1}, {'name': 'B'}]", 1, 4), ("[]", 1, 100),
                    ("[{'name':'C'}]", "2", "5"), ("[{'name': 'D'}]", "x", 5), ("[{'name': 'E'}]", None, 5),
                    ("[{'name':  'F'}]", 1, 4), (None, 1, 50), (7, 1, 50)])
    top(s)
    rows = s.csv(f"{STEM}.csv")
    s.same("rows", [(r["kernel_name"], r["kernel_time_min_us"], r["time_diff_us"]) for r in rows],
           [("A", "1", "3.0"), ("C", "2", "3.0"), ("F", "1", "3.0")])
    for k, wanted in ((1, ["A"]), (-1, ["A", "C"]), (99, ["A", "C", "F"])):
        top(s, f"--top-k={k}", "--output-file", "sub/dir/x.csv")
        s.same(f"top {k}", [r["kernel_name"] for r in s.csv("s/tracelens_analysis/sub/dir/x.csv")], wanted)
    for k in ("0", "-3", "-9"):
        s.holds("nothing left", top(s, f"--top-k={k}", code=1).stderr, "No data extracted!")


def check_top_of_odd_sheets(s):
    """Columns in any position; cells as Python prints them; of duplicate headings the last counts; missing sheets."""
    heads = (MAX, None, DETAILS, "x", MIN, "x", "Größe", 5)
    gemm_report(s, [(30.25, "lost", "[{'name': 'k, \"1\"'}]", 1, 1e16, 2.0, True, "a\nb")], heads=heads)
    gemm_report(s, [(4, 1, 2)], rank=1, heads=("a", MIN, MAX))
    write_workbook(s.path("s/tracelens_analysis/256thread/individual_reports/perf_28ch_rank2.xlsx"), other=[("a",)])
    with open(s.path("s/tracelens_analysis/256thread/individual_reports/perf_28ch_rank3.xlsx"), "w", encoding="utf-8") as file:
        file.write("no workbook")
    done = top(s, "--ranks", "0", "1", "2", "3", "4")
    s.holds("messages", done.stderr, f"Required column not found: '{DETAILS}'", "GEMM sheet not found in ", "rank3.xlsx", "File not found: ")
    s.same("number of messages", len(done.stderr.splitlines()), 4)
    s.same("file", s.lines(f"{STEM}.csv"), ",".join(OWN) + f",col_5,col_Größe,col_{MAX},col_{MIN},col_{DETAILS},col_x\r\n"
           '256,28,0,"k, ""1""",1e+16,30.25,-9999999999999970.0,"a\nb",True,30.25,1e+16,"[{\'name\': \'k, ""1""\'}]",2\r\n')


def check_top_with_missing_reports(s):
    made_sweep(s, threads=(256,), channels=(28,), ranks=(0,))
    done = top(s, "--threads", "256", "--channels", "28", "--ranks", "0", "9", "--top-k", "1")
    s.same("messages", len([line for line in done.stderr.splitlines() if "File not found: " in line]), 1)
    s.same("rows", [(r["kernel_name"], r["time_diff_us"]) for r in s.csv(f"{STEM}.csv")], [(K2, "23.75")])
    s.holds("no base path", s.run("top", "--base-path", "none", code=1).stderr, "Base path does not exist: none")
    s.holds("usage", s.run("top", "--base-path", "s", "--ranks", "x", code=2).stderr, "argument --ranks: invalid int value: 'x'")


# ---- timestamps and overlap: unusual rows ----

def write_trace(s, events, threads=256, channels=28, rank=0):
    path = s.path(f"s/{threads}thread/nccl_{channels}channels/torch_profiler/rank{rank}/t.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(events, file)


def write_csv(s, *lines, name="t.csv"):
    with open(s.path(name), "w", encoding="utf-8", newline="") as file:
        file.write("\n".join(lines) + "\n")


def check_timestamps_of_the_longest_kernel(s):
    """An op with two kernels: the one that takes most of its time is described, as in the job file, and its overlap with collectives."""
    write_trace(s, {"traceEvents": [{"cat": "kernel", "name": name, "ts": ts, "dur": dur}
                                    for name, ts, dur in (("K_small", 1000, 5), ("K_main", 2000, 90), ("K_small", 5000, 7), ("K_main", 6000, 95))]})
    write_csv(s, "threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us,longest_kernel_name", "256,28,0,K_small,95,102,K_main",
              "256,28,0,K_main,90,95,K_main", "256,28,0,K_small,5,7,K_unknown", "256,28,0,K_small,5,7,")
    done = s.run("timestamps", "--input-csv", "t.csv", "--base-path", "s")
    s.same("times of the op are not those of one of its kernels", "expected" in done.stderr, False)
    s.same("found", [[float(row[name]) for name in ("min_duration_timestamp_ms", "max_duration_timestamp_ms", "min_duration_found_us", "max_duration_found_us")]
                     for row in s.csv("t_with_timestamps.csv")], [[2, 6, 90, 95], [2, 6, 90, 95], [1, 5, 5, 7], [1, 5, 5, 7]])


def check_odd_timestamps(s):
    write_trace(s, {"traceEvents": [
        {"cat": "kernel", "name": "K_A", "ts": 5000000001.5, "dur": 10}, {"cat": "kernel", "name": "K_A_long", "ts": 5000000100, "dur": 7},
        {"cat": "kernel", "name": "K_A", "ts": 5000000200, "dur": 30, "ph": "X"}, {"cat": "kernel", "name": "K_A", "ts": 5000000300, "dur": 30},
        {"cat": "kernel", "name": "K_A", "ts": 5000000400}, {"cat": "Kernel", "name": "K_A", "ts": 5000000500, "dur": 99}]})
    write_trace(s, {"other": 1}, rank=7)
    write_csv(s, "threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us,time_diff_us,extra",
              "256,28,0,K_A,10,30,20.0,", "256,28,0,K_ZZ,10,30,20.0,NA", "512,28,0,K_A,10,30,20.0,x")
    done = s.run("timestamps", "--input-csv", "t.csv", "--base-path", "s")
    head = "threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us,time_diff_us,extra,min_duration_timestamp_ms," \
           "max_duration_timestamp_ms,time_between_min_max_ms,min_duration_found_us,max_duration_found_us\n"
    s.same("file", s.lines("t_with_timestamps.csv"), head + "256,28,0,K_A,10,30,20.0,,5000000.1,5000000.3,0.20000000018626451,7,30\n"
           "256,28,0,K_ZZ,10,30,20.0,,,,,,\n512,28,0,K_A,10,30,20.0,x,,,,,\n")
    s.holds("summary", done.stdout, "Success rate: 33.3%")
    s.same("warnings of durations", [l.split(": ")[-1] for l in done.stderr.splitlines() if "expected" in l], ["found 7.000us vs expected 10.000us"])
    s.run("timestamps", "--input-csv", "t.csv", "--base-path", "s", "--exact-name", "--quiet")
    s.same("exact names", s.csv("t_with_timestamps.csv")[0]["min_duration_found_us"], "10")
    s.run("timestamps", "--input-csv", "t_with_timestamps.csv", "--base-path", "s", "--output-csv", "again.csv", "--quiet")
    s.same("columns once more", list(s.csv("again.csv")[0]), head.strip().split(","))
    write_csv(s, "threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us", "256,28,7,K,1,2", "x,28,0,K,1,2", name="u.csv")
    done = s.run("timestamps", "--input-csv", "u.csv", "--base-path", "s")
    s.holds("not a trace", done.stderr, "Error reading ", "rank7/t.json: not a PyTorch trace")
    write_csv(s, "threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max_us", name="e.csv")
    s.holds("no rows", s.run("timestamps", "--input-csv", "e.csv", "--base-path", "s").stdout, "Success rate: nan%")


def check_odd_overlap(s):
    heads = ["a", "b", "rank", "d", "e", "Collective name"] + list("ghijklmno") + ["ts", "dur"]

    def rows(*collectives):
        return [heads, *([None, None, rank, None, None, name] + [None] * 9 + [ts, dur] for rank, name, ts, dur in collectives)]
    folder = "s/256thread/collective_reports"
    write_workbook(s.path(folder, "collective_28ch.xlsx"), nccl_long=rows(
        (0, "allreduce", 1950, 80), (0, "_allgather_base", 2020, 40), (0, "broadcast", 2100, 50), (0, "reduce", 1900, 100), (0, "zero", 2010, 0),
        (1, "allreduce", 2000, 100), (0, "_reduce_scatter_base", 2090, 100), (0, "ts0", 0, 5000), (None, "nobody", 2000, 100), (0, "later", 2000, None)))
    write_workbook(s.path(folder, "collective_42ch.xlsx"), other=[("a",)])
    moved = rows((0, None, 2000, 50), (0, "x", 2010, 50))
    moved[0] = ["?"] * 17  # found by position
    write_workbook(s.path(folder, "collective_56ch.xlsx"), nccl_long=moved)
    write_csv(s, "threads,channel,rank,kernel_name,kernel_time_max_us,max_duration_timestamp_ms,max_duration_found_us", "256,28,0,K,1,2.0,100",
              "256,28,1,K,1,2.0,100", "256,28,0,K,1,,", "256,42,0,K,1,2.0,100", "256,56,0,K,1,2.0,100", "512,28,0,K,1,2.0,100",
              name="t_with_timestamps.csv")
    done = s.run("overlap", "--input-csv", "t_with_timestamps.csv", "--tracelens-path", "s")
    s.holds("messages", done.stderr, "Collective report not found: s/512thread", "collective_42ch.xlsx: no sheet nccl_long", "1 rows without timestamp")
    lines = s.lines("t_with_collective_overlap.csv").splitlines()
    s.same("rows", [line.split(",100.0,")[-1].split(",,,", 1)[-1] if ",," in line[:30] else line.split(",100.0,")[-1] for line in lines[1:]], [
        "3,allreduce;_allgather_base;_reduce_scatter_base,40.000000000000036,_allgather_base,0.07000000000000028",
        "1,allreduce,100.00000000000009,allreduce,0.10000000000000009", "0,,0.0,,0.0", "0,,0.0,,0.0",
        lines[5].split(",100.0,")[-1], "0,,0.0,,0.0"])
    s.holds("found by position; a name is missing", lines[5], ",2,;x,")
    write_csv(s, "threads,channel,rank,kernel_name,kernel_time_max_us,max_duration_timestamp_ms", "256,28,1,K,100,2.0", name="plain.csv")
    s.run("overlap", "--input-csv", "plain.csv", "--tracelens-path", "s", "--quiet")
    s.same("the report's duration", s.csv("plain_with_collective_overlap.csv")[0]["overlapping_collective_count"], "1")
    other_clock = [row + [-5e6 if row[2] == 1 else 0] for row in rows((1, "allreduce", 2000 - 5e6, 100), (0, "allreduce", 2000, 40))]
    other_clock[0][-1] = "clock_offset_us"  # the report has moved rank 1 to the clock of rank 0
    write_workbook(s.path(folder, "collective_70ch.xlsx"), nccl_long=other_clock)
    write_csv(s, "threads,channel,rank,kernel_name,kernel_time_max_us,max_duration_timestamp_ms", "256,70,1,K,100,2.0", "256,70,0,K,100,2.0",
              name="clocks.csv")
    s.run("overlap", "--input-csv", "clocks.csv", "--tracelens-path", "s", "--quiet")
    s.same("times of the trace", [row["overlapping_collective_count"] for row in s.csv("clocks_with_collective_overlap.csv")], ["1", "1"])


# ---- timeline and comms: unusual reports ----

def check_odd_timeline(s):
    def timeline(threads, channels, rank, rows, sheet="gpu_timeline"):
        write_workbook(s.path(f"s/tracelens_analysis/{threads}thread/individual_reports/perf_{channels}ch_rank{rank}.xlsx"),
                       **{sheet: [("type", "time ms", "percent"), *rows]})
    for rank, x in enumerate((0.1, 0.2, 0.3)):
        timeline(1024, 112, rank, [("computation_time", x, 1), ("busy_time", 1 + x, 1), ("total_time", 2, 1), (None, 5, 5)])
    timeline(1024, 112, 3, [], sheet="other")
    timeline(1024, 28, 0, [("computation_time", 4, 1), ("idle_time", 6, 1)])
    timeline(256, 28, 10, [("computation_time", 5, 50)])
    timeline(256, 28, 2, [("computation_time", 7, None)])
    done = s.run("timeline", "--sweep-dir", "s")
    s.holds("messages", done.stderr, "perf_112ch_rank3.xlsx: no sheet gpu_timeline")
    book = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx"))
    s.near("first row", book["All_Data"][1], ("256thread_28ch", 256, "256thread", 28, "28ch", 2, "computation_time", 6, 50))
    s.same("settings in order", [row[0] for row in book["All_Data"][1:]], ["256thread_28ch"] + 2 * ["1024thread_28ch"] + 3 * ["1024thread_112ch"])
    s.near("three ranks", book["All_Data"][4][5:8], (4, "busy_time", 1.2))
    s.near("three ranks", book["All_Data"][5][5:8], (4, "computation_time", 0.2))
    s.same("pivot", book["Pivot_Time_ms"][0], ("type", "1024thread_112ch", "1024thread_28ch", "256thread_28ch"))
    s.same("types", [row[0] for row in book["Pivot_Time_ms"][1:]], ["busy_time", "computation_time", "idle_time", "total_time"])
    s.run("timeline", "--sweep-dir", "s", "--geo-mean", "--quiet")
    book = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_geomean.xlsx"))
    s.near("geometric mean", book["All_Data"][1][6:], ("computation_time", 5.916079783099615, None))
    s.same("a setting without percentages", book["Pivot_Percent"][0], ("type", "1024thread_112ch", "1024thread_28ch"))
    s.holds("no sweep", s.run("timeline", "--sweep-dir", "none", code=1).stderr, "Sweep directory does not exist: none")
    os.makedirs(s.path("empty/tracelens_analysis"))
    s.holds("no reports", s.run("timeline", "--sweep-dir", "empty", code=1).stderr, "no *thread directories")
    shutil.move(s.path("s/tracelens_analysis/256thread"), s.path("s/tracelens_analysis/manythread"))
    s.holds("no number", s.run("timeline", "--sweep-dir", "s", code=1).stderr, "no thread number")


STATISTICS = ("mean", "median", "min", "max")
COMMS = ["Collective name", "dtype", "In msg nelems", "Process Group Name", "Group size", "Full msg size (MB)"] + [
    f"{name}_{kind}" for name in ("comm_latency", "skew in start time", "skew in end time", "algo bw (GB/s)", "bus bw (GB/s)")
    for kind in STATISTICS] + ["count", "Total comm latency (ms)"]


def check_odd_comms(s):
    def report(threads, channels, *rows, heads=COMMS):
        filled = [[row.get(h, 1) for h in heads] for row in rows]
        write_workbook(s.path(f"s/tracelens_analysis/{threads}thread/collective_reports/collective_{channels}ch.xlsx"),
                       nccl_summary_implicit_sync=[heads + ["node_span"], *([*row, 9] for row in filled)])
    size = "Full msg size (MB)"
    report(256, 28, *({size: x, "Collective name": f"c{i}", "dtype": "F", "Process Group Name": "0"} for i, x in enumerate((100, 0.01, 99.999, 0.0095))))
    report(256, 112, {size: 100, "Collective name": "d", "dtype": "F", "Process Group Name": "tp", "count": 2.5},
           {size: None, "In msg nelems": None, "Collective name": "e", "dtype": "F", "Process Group Name": None})
    s.holds("comms", s.run("comms", "--sweep-dir", "s").stdout, "OP_05:          nan MB  (         - elements)  large_nanMB")
    rows = s.csv("s/tracelens_analysis/nccl_master_all_configs.csv")
    s.same("operations", [(r["operation_id"], r["operation_name"], r["Collective name"], r["source_file"]) for r in rows], [
        ("OP_01", "tiny_9.500KB", "c3", "collective_28ch.xlsx"), ("OP_02", "medium_0.01MB", "c1", "collective_28ch.xlsx"),
        ("OP_03", "medium_100.00MB", "c2", "collective_28ch.xlsx"), ("OP_04", "large_100.00MB", "c0", "collective_28ch.xlsx"),
        ("OP_04", "large_100.00MB", "d", "collective_112ch.xlsx"), ("OP_05", "large_nanMB", "e", "collective_112ch.xlsx")])
    s.same("groups", [r["Process Group Name"] for r in rows], ["0", "0", "0", "0", "tp", ""])
    s.same("integers among floats", [r["count"] for r in rows], ["1.0", "1.0", "1.0", "1.0", "2.5", "1.0"])
    s.same("no other columns", "node_span" in rows[0], False)
    report(512, 28, {}, heads=[h for h in COMMS if h != "dtype"])
    s.holds("a missing column", s.run("comms", "--sweep-dir", "s", code=1).stderr, "collective_28ch.xlsx", "no column 'dtype'")
    shutil.rmtree(s.path("s/tracelens_analysis/512thread"))
    for name in os.listdir(s.path("s/tracelens_analysis/256thread/collective_reports")):
        write_workbook(s.path("s/tracelens_analysis/256thread/collective_reports", name), other=[("a",)])
    s.holds("no data", s.run("comms", "--sweep-dir", "s", code=1).stderr, "No data was loaded")


# ---- damage ----

def check_damage(s):
    """Truncated and damaged inputs give error messages, never an incomplete file."""
    chance = random.Random(7)
    made_sweep(s, threads=(256,), channels=(28,), ranks=(0, 1))
    top(s, "--quiet")
    s.run("timestamps", "--input-csv", f"{STEM}.csv", "--base-path", "s", "--quiet")
    report = "s/tracelens_analysis/256thread/individual_reports/perf_28ch_rank0.xlsx"
    collective = "s/tracelens_analysis/256thread/collective_reports/collective_28ch.xlsx"
    trace = "s/256thread/nccl_28channels/torch_profiler/rank0/customer_trace_step10.json"
    stamped = f"{STEM}_with_timestamps.csv"
    steps = ((report, ["top", "--base-path", "s/tracelens_analysis"]), (report, ["timeline", "--sweep-dir", "s"]),
             (collective, ["comms", "--sweep-dir", "s"]),
             (collective, ["overlap", "--input-csv", stamped, "--tracelens-path", "s/tracelens_analysis", "--output-csv", "o.csv"]),
             (stamped, ["overlap", "--input-csv", stamped, "--tracelens-path", "s/tracelens_analysis", "--output-csv", "o.csv"]),
             (f"{STEM}.csv", ["yaml", "--input-csv", f"{STEM}.csv", "--output-yaml", "o.yaml"]),
             (f"{STEM}.csv", ["timestamps", "--input-csv", f"{STEM}.csv", "--base-path", "s", "--output-csv", "o.csv"]),
             (trace, ["timestamps", "--input-csv", "keep.csv", "--base-path", "s", "--output-csv", "o.csv"]),
             (trace, ["report", "s"]))
    shutil.copy(s.path(f"{STEM}.csv"), s.path("keep.csv"))
    for victim, words in steps:
        whole = open(s.path(victim), "rb").read()
        for attempt in range(16):
            bad = bytearray(whole)
            if attempt % 2:
                bad = bad[:chance.randrange(len(bad))]
            else:
                for _ in range(chance.randrange(1, 9)):
                    bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
            with open(s.path(victim), "wb") as file:
                file.write(bad)
            done = run([s.binary, "sweep", *words], cwd=s.folder)
            s.problems += [f"{words[0]} of a damaged {os.path.basename(victim)}: {t}" for t in done.problems()]
            if any(not line.startswith("gputally: ") for line in done.stderr.splitlines()) or (done.code and not done.stderr):
                s.problems.append(f"{words[0]}: unexpected messages: {done.stderr}")
            hidden = [name for name in files_under(s.folder) if os.path.basename(name).startswith(".")]
            s.same(f"{words[0]}: left files", hidden, [])
        with open(s.path(victim), "wb") as file:
            file.write(whole)


def run_check(binary, folder, check):
    sweep = Sweep(binary, folder)
    check(sweep)
    return sweep.problems


CHECKS = (
    check_tiny_sweep, check_report_is_that_of_the_single_commands, check_traces_are_found,
    check_damaged_traces_do_not_stop_the_others, check_missing_ranks_are_named, check_the_same_warning_comes_once, check_old_layout, check_rocprof,
    check_counters, check_kernels_with_one_short_name, check_all_is_its_steps, check_top_of_odd_rows, check_top_of_odd_sheets,
    check_top_with_missing_reports, check_timestamps_of_the_longest_kernel, check_odd_timestamps, check_odd_overlap, check_odd_timeline,
    check_odd_comms,
    check_damage
)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], [Case(check.__name__[6:].replace("_", " "), run_check, check) for check in CHECKS]))
